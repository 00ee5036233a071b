"""All conversations on disk, for programs without async; `sessions` has the same for async ones."""

from __future__ import annotations

import builtins
import logging
import os
import re
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Self

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import Cause, CLIError
from ..options import Options
from ..tracking import Price, PriceTable, Totals
from .bundle import DAMAGED, Bundle, not_imported, read_bundle, renamed, write_bundle
from .entries import read_entry
from .export import ExportFormat, export_transcript, format_of
from .facts import SessionInfo, totals_of
from .files import (
    SUFFIX,
    StoreError,
    check_inside,
    config_folder,
    find_id,
    find_sessions,
    is_place,
    open_inside,
    project_folder,
    session_files,
)
from .forking import forked_files
from .index import Index, Place, default_index
from .query import Query, fold, parse_query
from .running import Running, who_runs
from .texts import ROLES, shown_text, texts_of
from .transcript import BlockingTranscript
from .trash import Trash, Trashed
from .writing import add_line, check_idle, encode_line, exclusive, new_file, steps

__all__ = ["BlockingSessions", "Hit"]

log: logging.Logger = logging.getLogger("claudewire.store")


AROUND = 80
"""Characters that are shown on each side of a word that was found."""

SWEPT_AFTER = 30
"""Days after which CLIs delete a transcript, unless their settings say otherwise."""

SOON = timedelta(days=7)
"""How long before that a warning is given."""

LONGEST_TITLE = 1_000


class Hit(Struct, frozen=True):
    """A line that a search has found.

    Attributes:
        session: the session that it is in.
        uuid: the line.
        role: who said it: `user`, `assistant` or `tool`.
        time: when.
        snippet: the text around the first word that was found.
        spans: where the words are in the snippet.
        rank: how well it fits; the smaller the better.
        agent: the id of the subagent that it belongs to.
    """

    session: SessionInfo
    uuid: str | None
    role: str
    time: str | None
    snippet: str
    spans: tuple[tuple[int, int], ...] = ()
    rank: float = 0.0
    agent: str | None = None


class BlockingSessions:
    """The conversations that the CLI keeps on disk.

    Args:
        config_dir: the CLI's folder; CLAUDE_CONFIG_DIR or `~/.claude` unless given.
        index: where the index is kept, which makes listing and searching fast; in the user's cache
            unless given. It can be deleted at any time.
        prices: what tokens cost, by model or the beginning of its name, instead of what the CLI
            wrote. Most CLIs write no cost at all.
        tool_output: whether the output of tools is searched, too. It is most of what there is.
    """

    def __init__(
        self,
        config_dir: str | os.PathLike[str] | None = None,
        *,
        index: str | os.PathLike[str] | None = None,
        prices: Mapping[str, Price] | None = None,
        tool_output: bool = False,
    ) -> None:
        given = None if config_dir is None else Path(config_dir).expanduser().absolute()
        self.config_dir: Path = given or config_folder()
        self._is_default = given is None
        self.root: Path = self.config_dir / "projects"
        path = default_index(self.config_dir) if index is None else Path(index).expanduser()
        self._trash = Trash(self.config_dir / "claudewire" / "trash", self.root)
        self._prices = prices
        self._index = Index(path, self.root, prices=prices, tool_output=tool_output)
        self._warned = False

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # --- finding ---------------------------------------------------------------------------------

    def list(
        self,
        *,
        project: str | os.PathLike[str] | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        text: str | None = None,
        tag: str | None = None,
        running: bool | None = None,
        waiting: bool | None = None,
        limit: int | None = None,
    ) -> builtins.list[SessionInfo]:
        """Return the sessions, the one that was last changed first.

        Args:
            project: a directory: sessions that worked in it or below, or in one of its git
                worktrees.
            since: only those in which something happened since then.
            until: only those that began before then.
            text: only those whose title or first prompt has this in it.
            tag: only those with this tag.
            running: only those that a process has open now, or only the others.
            waiting: only those that wait for a person, or only the others.
            limit: at most so many.
        """
        infos = [info for info in self._index.sessions() if info.prompts or info.replies]
        infos = self._with_status(infos)
        tests = [
            project is None or _in_project(project),
            since is None or _since(since.astimezone()),
            until is None or _until(until.astimezone()),
            text is None or (lambda info: _has_text(info, fold(text))),
            tag is None or (lambda info: info.tag == tag),
            running is None or (lambda info: (info.status != "ended") == running),
            waiting is None or (lambda info: (info.status == "waiting") == waiting),
        ]
        wanted = [test for test in tests if test is not True]
        chosen = [info for info in infos if all(test(info) for test in wanted)]
        chosen.sort(key=lambda info: info.modified, reverse=True)
        self._warn(infos)
        return chosen[: None if limit is None else max(0, limit)]

    def open(self, id: str) -> BlockingTranscript:
        """Open a session by its id, or by the beginning of it.

        Raises:
            StoreError: there is none, or several begin like this.
        """
        return BlockingTranscript(self.info(id), self.root)

    def info(self, id: str) -> SessionInfo:
        """Return what is known about a session, by its id or the beginning of it.

        Raises:
            StoreError: there is none, or several begin like this.
        """
        # A moved project can leave a copy behind: the newest counts.
        return self._with_status(self._copies(id)[-1:])[0]

    def _copies(self, id: str) -> builtins.list[SessionInfo]:
        """Return the session with this id, in each project that has it, the newest last."""
        infos = self._index.sessions()
        advice = "list() gives those that there are."
        whole = find_id(id, (info.id for info in infos), f"in {self.root}", advice)
        return sorted((it for it in infos if it.id == whole), key=lambda info: info.modified)

    def _with_status(self, infos: builtins.list[SessionInfo]) -> builtins.list[SessionInfo]:
        holders = who_runs((info.id for info in infos), self.config_dir)
        return [_held(info, holders.get(info.id)) for info in infos]

    def search(self, query: str, *, limit: int = 20) -> builtins.list[Hit]:
        """Find what was said; what fits best comes first.

        Args:
            query: words and "phrases" that must all be there; `-word` must not, `word*` is a
                beginning. Conditions are `role:user` (or assistant, tool), `project:shop`,
                `since:2026-11-01`, `until:7d`, `tool:Bash`.
            limit: at most so many.

        Raises:
            StoreError: the query is not valid.
        """
        parsed = parse_query(query)
        hits = (self._hit(place, parsed) for place in self._index.search(parsed, limit))
        return [hit for hit in hits if hit is not None]

    def _hit(self, place: Place, query: Query) -> Hit | None:
        try:
            with open_inside(place.path, self.root) as file:
                file.seek(place.offset)
                line = file.read(place.length)
        except StoreError:
            return None  # it was removed since
        entry, texts = read_entry(line), texts_of(line, tool_output=True)
        if texts is None:
            return None  # it was rewritten since
        snippet, spans = _snippet(shown_text(texts), query)
        return Hit(
            session=place.session,
            uuid=entry.uuid,
            role=ROLES[texts.role],
            time=entry.timestamp,
            snippet=snippet,
            spans=spans,
            rank=place.rank,
            agent=entry.agent_id,
        )

    def totals(self, infos: Iterable[SessionInfo] | None = None) -> dict[str, Totals]:
        """Add up what sessions have used, by model, each message once.

        A fork repeats the messages of its parent, so adding up the totals of sessions would count
        them twice.

        Args:
            infos: the sessions; all unless given.
        """
        chosen = self.list() if infos is None else [*infos]
        table = PriceTable(self._prices)
        for info in chosen:
            for model, used in info.usage.items():
                table.learn(model, used)
        return totals_of(self._index.used(info.path for info in chosen), table)

    # --- changing --------------------------------------------------------------------------------

    def rename(self, id: str, title: str) -> None:
        """Give a session a title.

        Raises:
            StoreError: there is no such session, or the title is empty.
            CLIError: a session of this library has it open; rename it there.
        """
        title = _one_line(title)
        if not title:
            raise StoreError("A title must not be empty", advice="Give it at least one letter.")
        self._note(id, {"type": "custom-title", "customTitle": title})

    def tag(self, id: str, tag: str | None) -> None:
        """Give a session a tag, or take it away with None.

        Raises:
            StoreError: there is no such session.
            CLIError: a session of this library has it open.
        """
        self._note(id, {"type": "tag", "tag": _one_line(tag or "")})

    def _note(self, id: str, entry: dict[str, Any]) -> None:
        info = self.info(id)
        with exclusive(info.id, self.config_dir):
            add_line(info.path, self.root, encode_line({**entry, "sessionId": info.id}))

    def delete(self, id: str) -> Trashed:
        """Move a session and its subagents to the trash, out of each project that has a copy of it.

        Raises:
            StoreError: there is no such session, or a CLI has it open.
            CLIError: a session of this library has it open.
        """
        *older, newest = self._copies(id)
        check_idle(newest.id, self.config_dir, "deleted")
        with exclusive(newest.id, self.config_dir):
            for copy in older:
                self._trash.put(copy)
            return self._trash.put(newest)

    def trash(self) -> builtins.list[Trashed]:
        """Return what is in the trash, the last first."""
        return self._trash.list()

    def restore(self, id: str) -> SessionInfo:
        """Take a session out of the trash, the last one with this id or one that begins like it.

        Raises:
            StoreError: it is not in the trash, or there is one with this id again.
        """
        trashed = self._trash.find(id)
        with exclusive(trashed.id, self.config_dir):
            self._trash.restore(trashed)
        return self.info(trashed.id)

    def empty_trash(self, *, older_than: timedelta = timedelta(0)) -> int:
        """Delete for good what has been in the trash for so long; return how many sessions."""
        return self._trash.empty(older_than)

    def fork(self, id: str, *, at: str | None = None, title: str | None = None) -> SessionInfo:
        """Make a new session that begins like another, with the subagents that it had by then.

        Args:
            id: the session.
            at: the uuid of the last line that is taken over; the whole conversation unless given.
            title: the title of the new session.

        Raises:
            StoreError: there is no such session or line.
        """
        source = self.open(id)
        new = str(uuid.uuid4())
        with steps(f"The session {source.id} cannot be forked") as step:
            for path, lines in forked_files(source, new, at, _one_line(title or "") or None):
                step.make(path, lines)
        return self.info(new)

    def resume(
        self, id: str, *, fork: bool = False, cwd: str | os.PathLike[str] | None = None
    ) -> Options:
        """Return options with which a session goes on: `claudewire.open(options)`.

        Args:
            id: the session.
            fork: go on in a new session, and leave this one as it is.
            cwd: the directory to work in, if the project was moved since. The transcript is copied
                to where the CLI looks for it then.

        Raises:
            StoreError: there is no such session, or its directory is no longer there.
            CLIError: a process has it open; the cause is `SESSION_IN_USE`.
        """
        info = self.info(id)
        if info.status != "ended" and not fork:
            raise CLIError(
                f"The session {info.id} is open already, in process {info.pid}",
                cause=Cause.SESSION_IN_USE,
                advice="Close it there, or resume a fork of it (fork=True).",
            )
        folder = Path(cwd or info.cwd or "").expanduser()
        if not (cwd or info.cwd) or not folder.is_dir():
            raise StoreError(
                f"The directory of the session {info.id}, {folder}, is not there",
                advice="Say where the project is now: resume(id, cwd=…).",
            )
        if cwd is not None:
            self._move_copy(info, project_folder(folder))
        env = {} if self._is_default else {"CLAUDE_CONFIG_DIR": str(self.config_dir)}
        return Options(resume=info.id, cwd=folder, fork_session=fork, env=env)

    def _move_copy(self, info: SessionInfo, folder: str) -> None:
        """Copy a session to the folder of another directory, unless it is there."""
        target = self.root / folder / f"{info.id}.jsonl"
        if target.exists():
            return
        with steps(f"The session {info.id} cannot be copied to {folder}") as step:
            for place, path in session_files(Path(info.path), self.root).items():
                if not (target.parent / place).exists():
                    step.copy(path, target.parent / place, self.root)

    # --- out and in ------------------------------------------------------------------------------

    def export(
        self,
        id: str,
        path: str | os.PathLike[str],
        *,
        format: ExportFormat | None = None,
        branch: str | None = None,
        redact: bool = True,
        tool_output: bool = True,
    ) -> Path:
        """Write a session into one file.

        Args:
            id: the session.
            path: the file: `.html` (to read, needs nothing else), `.md`, `.jsonl` (its lines) or
                `.zip` (everything, for `import_`). It must not exist.
            format: one of these, if the path does not say it.
            branch: a line on the branch to write; the current one unless given, and all lines for
                `jsonl`. Not for `zip`.
            redact: remove secrets, addresses and the name of the user.
            tool_output: with the output of tools, in HTML and Markdown.

        Raises:
            StoreError: there is no such session or line, the format is unknown, or the file exists.
        """
        target = Path(path).expanduser()
        chosen = format or format_of(target)
        transcript = self.open(id)
        if chosen == "zip":
            chunks = None
        else:
            chunks = export_transcript(
                transcript, chosen, branch=branch, redact=redact, tool_output=tool_output
            )
        try:
            if chunks is None:
                write_bundle(transcript, target, redact=redact)
            else:
                new_file(target, chunks)
        except FileExistsError:
            raise StoreError(
                f"{target} exists already", advice="Give another name, or remove it first."
            ) from None
        except (OSError, ValueError) as error:  # a path with a NUL in it is a ValueError
            raise StoreError(
                f"{target} cannot be written: {getattr(error, 'strerror', error)}",
                advice="Give another name, or make the folder writable.",
            ) from error
        return target

    def import_(
        self,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        new_id: bool = False,
    ) -> SessionInfo:
        """Take in a session that was exported as `.zip` or `.jsonl`, here or elsewhere.

        Args:
            path: the file.
            cwd: the directory that it shall belong to; the one it came from unless given.
            new_id: give it a new id, to have it beside the session that it was exported from.

        Raises:
            StoreError: the file is not what it should be, or there is a session with its id, in
                whatever project.
        """
        source = Path(path).expanduser()
        bundle = read_bundle(source)
        directory = cwd
        if cwd is None and bundle.cwd is not None and is_place(bundle.cwd):
            directory = bundle.cwd
        id = str(uuid.uuid4()) if new_id else bundle.id
        try:
            folder = bundle.folder if directory is None else project_folder(directory)
            target = self.root / folder / f"{id}.jsonl"
            check_inside(target.parent, self.root)
            with exclusive(id, self.config_dir):
                self._check_new(id, " or import this one under another id: new_id=True")
                self._unpack(bundle, target)
        except (*DAMAGED, ValueError) as error:  # a path with a NUL in it is a ValueError
            raise not_imported(source, error) from error
        return self.info(id)

    def _check_new(self, id: str, instead: str = "") -> None:
        found = next((it for it in find_sessions(self.root)[0] if it.id == id), None)
        if found is not None:
            raise StoreError(
                f"There is a session {id} already, in {found.folder}",
                advice=f"Delete that one first{instead}.",
            )

    def _unpack(self, bundle: Bundle, target: Path) -> None:
        with steps(f"The session {bundle.id} cannot be imported") as step:
            for name, chunks in bundle.agents():
                is_transcript = name.endswith(SUFFIX)
                lines = renamed(chunks, bundle.id, target.stem) if is_transcript else chunks
                step.make(target.with_suffix("") / name, lines)
            step.make(target, renamed(bundle.main(), bundle.id, target.stem))

    # --- the sweep -------------------------------------------------------------------------------

    @property
    def swept_after(self) -> timedelta:
        """After how long without a change the CLI deletes a transcript."""
        try:
            settings = msgspec.json.decode((self.config_dir / "settings.json").read_bytes())
            days = settings["cleanupPeriodDays"]
            return timedelta(days=float(days))
        except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError):
            return timedelta(days=SWEPT_AFTER)

    def expiring(self, within: timedelta = SOON) -> builtins.list[SessionInfo]:
        """Return the sessions that the CLI will delete soon, and that are in no archive."""
        return self._expiring(self._index.sessions(), within)

    def _expiring(
        self, infos: Iterable[SessionInfo], within: timedelta
    ) -> builtins.list[SessionInfo]:
        limit = time.time() - (self.swept_after - within).total_seconds()
        old = [info for info in infos if info.modified < limit and (info.prompts or info.replies)]
        return [info for info in old if not self._is_archived(info)]

    def _warn(self, infos: Iterable[SessionInfo]) -> None:
        """Say once that sessions will be deleted soon."""
        if self._warned:
            return
        self._warned = True
        soon = len(self._expiring(infos, SOON))
        if soon:
            log.warning(
                "The CLI deletes transcripts that have not changed for %d days, and %d of them will"
                " be that old within %d days; archive() keeps them, expiring() lists them",
                self.swept_after.days,
                soon,
                SOON.days,
            )

    def archive(self, *, older_than: timedelta = timedelta(days=20)) -> builtins.list[SessionInfo]:
        """Keep sessions that have not changed for so long, before the CLI deletes them.

        They are linked, or else copied, into a folder of their own inside `config_dir`, which the
        CLI does not touch. What has grown since it was archived is archived again. `archived` lists
        them and `unarchive` brings one back.
        """
        limit = time.time() - older_than.total_seconds()
        old = [info for info in self._index.sessions() if info.modified < limit]
        new = [info for info in old if not self._is_archived(info)]
        for info in new:
            self._keep(Path(info.path), self.root, self._archived(info), "archived")
        return new

    def _keep(self, main: Path, root: Path, target: Path, what: str) -> None:
        """Link or copy the files of a session, unless they are there and as long."""
        with steps(f"The session {main.stem} cannot be {what}") as step:
            for place, path in session_files(main, root).items():
                if not _is_kept(path, target.parent / place):
                    step.renew(path, target.parent / place, root)

    def _is_archived(self, info: SessionInfo) -> bool:
        """Whether all of a session is in the archive, as it is now."""
        main, kept = Path(info.path), self._archived(info)
        if not _is_kept(main, kept):
            return False
        # Looking for subagents takes long, and most sessions have none.
        files = session_files(main, self.root) if info.agents else {}
        return all(_is_kept(path, kept.parent / place) for place, path in files.items())

    @property
    def _archive(self) -> Path:
        return self.config_dir / "claudewire" / "archive" / "projects"

    def _archived(self, info: SessionInfo) -> Path:
        return self._archive / info.folder / f"{info.id}.jsonl"

    def archived(self) -> builtins.list[SessionInfo]:
        """Return the sessions in the archive, the one that was last changed first."""
        infos = Index(None, self._archive, prices=self._prices).sessions()
        return sorted(infos, key=lambda info: info.modified, reverse=True)

    def unarchive(self, id: str) -> SessionInfo:
        """Bring a session back from the archive, by its id or the beginning of it.

        Raises:
            StoreError: it is not in the archive, or there is one with this id.
        """
        here = find_sessions(self._archive)[0]
        advice = "archived() gives those that there are."
        id = find_id(id, (it.id for it in here), "in the archive", advice)
        found = max((it for it in here if it.id == id), key=lambda it: it.main.mtime_ns)
        self._check_new(id)
        main = Path(found.main.path)
        target = self.root / found.folder / main.name
        self._keep(main, self._archive, target, "brought back")
        for place in session_files(target, self.root):
            os.utime(target.parent / place)  # or the CLI would delete it at once
        return self.info(id)


def _is_kept(path: Path, copy: Path) -> bool:
    """Whether a file has a copy that is as long: transcripts only grow."""
    try:
        return copy.stat().st_size >= path.stat().st_size
    except OSError:
        return False


def _held(info: SessionInfo, holder: Running | None) -> SessionInfo:
    return info if holder is None else replace(info, status=holder.status, pid=holder.pid)


def _in_project(project: str | os.PathLike[str]) -> Any:
    """Make a test for sessions that worked in a directory, below it, or in its git worktrees."""
    try:
        path = os.path.realpath(os.path.expanduser(project))
    except ValueError as error:
        raise StoreError(f"{project!r} is not a path: {error}") from error
    places = {path, *_worktrees(path)}
    folders = {project_folder(place) for place in places}

    @cache  # many sessions have few directories
    def is_inside(cwd: str) -> bool:
        try:
            real = os.path.realpath(cwd)
        except ValueError:  # a line can say anything
            return False
        return any(real == it or real.startswith(it.rstrip(os.sep) + os.sep) for it in places)

    def test(info: SessionInfo) -> bool:
        return info.folder in folders or (info.cwd is not None and is_inside(info.cwd))

    return test


def _worktrees(path: str) -> Iterator[str]:
    """Find the worktrees of a git repository from its own files."""
    git = Path(path, ".git")
    with suppress(OSError):  # what cannot be read is not known
        if git.is_file():  # a worktree itself: its repository knows the others
            text = git.read_text(encoding="utf-8", errors="replace")
            found = re.match(r"gitdir: (.*?)/worktrees/[^/]+\s*$", text)
            git = Path(found[1]) if found else git
            yield str(git.parent)
        for entry in git.glob("worktrees/*/gitdir"):
            place = entry.read_text(encoding="utf-8", errors="replace").strip()
            yield os.path.realpath(os.path.dirname(place))


def _since(time: datetime) -> Callable[[SessionInfo], bool]:
    return lambda info: info.end is not None and info.end >= time


def _until(time: datetime) -> Callable[[SessionInfo], bool]:
    return lambda info: info.begin is not None and info.begin < time


def _has_text(info: SessionInfo, text: str) -> bool:
    return any(text in fold(it) for it in (info.title, info.first_prompt) if it)


def _one_line(text: str) -> str:
    """Make a text fit for a title: one line, nothing invisible, not too long."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(shown.split())[:LONGEST_TITLE]


def _snippet(text: str, query: Query) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Cut out what is around the first word that was found, and say where the words are."""
    shown = " ".join(text.split())
    words = [word for term in query.wanted for word in re.findall(r"[^\W_]+", fold(term.text))]
    found = [it for it in re.finditer(r"[^\W_]+", shown) if _is_one_of(it[0], words)]
    start = max(0, found[0].start() - AROUND) if found else 0
    end = start + 3 * AROUND
    before, after = "…" if start else "", "…" if end < len(shown) else ""
    move = len(before) - start
    spans = [(it.start() + move, it.end() + move) for it in found if it.end() <= end]
    return before + shown[start:end] + after, tuple(spans)


def _is_one_of(word: str, words: list[str]) -> bool:
    folded = fold(word)
    return any(folded == it or (len(it) > 1 and folded.startswith(it)) for it in words)
