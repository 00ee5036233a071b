"""All conversations on disk: listed, searched, changed, exported, archived, continued.

The methods block, except `push`, `pull` and `mirror`. Async programs call them with
`anyio.to_thread.run_sync`; the work ends soon after such a call is cancelled.
"""

from __future__ import annotations

import builtins
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

import anyio.to_thread
import msgspec
from msgspec.structs import replace

from ..errors import Cause, CLIError, OptionsError
from ..options import Options
from ..tracking import Price, PriceTable, Totals
from .export import ExportFormat, export_session, open_bundle
from .facts import SessionInfo, usage_of
from .files import (
    StoreError,
    config_folder,
    contents,
    find_id,
    find_sessions,
    project_folder,
    running_sessions,
    session_files,
    who_runs,
)
from .index import Index, default_index
from .search import Hit, fold, parse_query
from .stores import Mirror, SessionStore, pull_session
from .transcript import Transcript
from .writing import (
    add_line,
    encode_line,
    exclusive,
    find_archived,
    is_archived,
    keep,
    make_files,
    remove,
)

SWEPT_AFTER = 30
"""Days after which CLIs delete a transcript, unless their settings say otherwise."""

LONGEST_TITLE = 1_000


class Transcripts:
    """The conversations that the CLI keeps on disk.

        with claudewire.Transcripts() as transcripts:
            for info in transcripts.list(limit=10):
                print(info.title)

    An `id` is that of a session, or the beginning of it. Methods raise a `StoreError` if there is
    no such session or a file cannot be read or written, and a `CLIError` whose cause is
    `SESSION_IN_USE` if they would change a session that a process has open.

    Args:
        config_dir: the CLI's folder; CLAUDE_CONFIG_DIR or `~/.claude` by default.
        index: the file of the index, which makes listing and searching fast; in the user's cache by
            default, or `:memory:`. It can be deleted at any time.
        prices: the prices of tokens, by model or the beginning of its name, instead of the costs
            that the CLI recorded. Most CLIs record none.
        tool_output: whether the output of tools is searched, too. It is most of a transcript.
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
        path = default_index(self.config_dir, tool_output=tool_output)
        if index is not None:
            path = None if index == ":memory:" else Path(index).expanduser()
        self._archive = self.config_dir / "claudewire" / "archive" / "projects"
        self._prices = prices
        self._index = Index(path, self.root, prices=prices, tool_output=tool_output)

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
        """Return the sessions, the last changed first.

        Args:
            project: a directory: sessions that worked in it or below, or in one of its git
                worktrees.
            since: only sessions with a line since then.
            until: only sessions that began before then.
            text: only sessions with this in their title or first prompt.
            tag: only sessions with this tag.
            running: only sessions that a process has open now, or only the others.
            waiting: only sessions that wait for a person, or only the others.
            limit: the maximum number.
        """
        infos = [info for info in self._index.sessions() if info.prompts or info.replies]
        is_inside = None if project is None else _in_project(project)
        begin, end = (None if it is None else it.astimezone() for it in (since, until))

        def is_chosen(info: SessionInfo) -> bool:
            return (
                (is_inside is None or is_inside(info))
                and (begin is None or (info.end is not None and info.end >= begin))
                and (end is None or (info.begin is not None and info.begin < end))
                and (
                    text is None
                    or fold(text) in fold(f"{info.title or ''}\n{info.first_prompt or ''}")
                )
                and (tag is None or info.tag == tag)
                and (running is None or (info.status != "ended") == running)
                and (waiting is None or (info.status == "waiting") == waiting)
            )

        chosen = _newest_first(filter(is_chosen, self._with_status(infos)))
        return chosen[: None if limit is None else max(0, limit)]

    def open(self, id: str) -> Transcript:
        """Open a session."""
        return Transcript(self.info(id))

    def info(self, id: str) -> SessionInfo:
        """Return the facts about a session."""
        return self._with_status(self._copies(id)[:1])[0]

    def _copies(self, id: str) -> builtins.list[SessionInfo]:
        """Return the session from each project, the newest first: a moved project leaves a copy."""
        infos = self._index.sessions()
        advice = "list() returns the existing ones."
        whole = find_id(id, (info.id for info in infos), f"in {self.root}", advice)
        return _newest_first(it for it in infos if it.id == whole)

    def _with_status(self, infos: builtins.list[SessionInfo]) -> builtins.list[SessionInfo]:
        holders = who_runs((info.id for info in infos), self.config_dir)
        found = ((info, holders.get(info.id)) for info in infos)
        return [it if by is None else replace(it, status=by.status, pid=by.pid) for it, by in found]

    def search(self, query: str, *, limit: int = 20) -> builtins.list[Hit]:
        """Search all conversations; the best match comes first.

        Args:
            query: words and "phrases" that must all be there; `-word` must not, `word*` matches a
                prefix. Conditions are `role:user` (or assistant, tool), `project:shop`,
                `since:2026-11-01`, `until:7d`, `tool:Bash`.
            limit: the maximum number of hits.

        Raises:
            StoreError: the query is invalid.
        """
        return self._index.search(parse_query(query), limit)

    def totals(self, infos: Iterable[SessionInfo] | None = None) -> dict[str, Totals]:
        """Add up the usage of sessions, by model, each message once.

        A fork repeats the messages of its parent, so adding up the totals of sessions would count
        them twice.

        Args:
            infos: the sessions; all by default.
        """
        chosen = self.list() if infos is None else [*infos]
        table = PriceTable(self._prices)
        for info in chosen:
            for model, used in info.usage.items():
                table.learn(model, used)
        return usage_of(self._index.calls(info.path for info in chosen), table)

    # --- changing --------------------------------------------------------------------------------

    def rename(self, id: str, title: str) -> None:
        """Give a session a title."""
        title = _one_line(title)
        if not title:
            raise StoreError("A title must not be empty", advice="Give it at least one letter.")
        self._note(id, {"type": "custom-title", "customTitle": title})

    def tag(self, id: str, tag: str | None) -> None:
        """Give a session a tag, or remove it with None."""
        self._note(id, {"type": "tag", "tag": _one_line(tag or "")})

    def _note(self, id: str, entry: dict[str, Any]) -> None:
        info = self.info(id)
        with exclusive(info.id, self.config_dir):
            add_line(info.path, encode_line({**entry, "sessionId": info.id}))

    def delete(self, id: str) -> None:
        """Move a session and its subagents to the archive, from each project that has a copy of it.

        `unarchive` brings it back, `purge` deletes it for good.
        """
        copies = self._copies(id)
        id = copies[0].id
        if (holder := running_sessions(self.config_dir).get(id)) is not None:
            raise StoreError(
                f"The session {id} cannot be deleted: process {holder.pid} has it open",
                advice="End that process first, or work with a fork.",
            )
        with exclusive(id, self.config_dir):
            for copy in copies:
                failed = f"The session {id} cannot be deleted"
                keep(Path(copy.path), self._archive / copy.folder, failed)
                remove(Path(copy.path), failed)
        with suppress(StoreError):  # else its words leave the index later
            self._index.sessions()

    def purge(self, id: str) -> None:
        """Delete an archived or deleted session for good."""
        for copy in find_archived(id, self._archive):
            remove(Path(copy.main.path), f"The session {copy.id} cannot be deleted")

    def fork(self, id: str, *, at: str | None = None, title: str | None = None) -> SessionInfo:
        """Make a new session that begins like another, with the subagents started by then.

        Args:
            id: the session.
            at: the uuid of the last line that is copied; the whole conversation by default.
            title: the title of the new session.
        """
        source = self.open(id)
        new = str(uuid.uuid4())
        files = source.forked_files(new, at, _one_line(title or "") or None)
        make_files(source.path.parent, files, f"The session {source.id} cannot be forked")
        return self.info(new)

    def resume(
        self, id: str, *, fork: bool = False, cwd: str | os.PathLike[str] | None = None
    ) -> Options:
        """Return options that continue a session: `claudewire.open(options)`.

        Args:
            id: the session.
            fork: continue in a new session, and leave this one unchanged.
            cwd: the directory to work in, if the project was moved. The transcript is copied to
                where the CLI looks for it.
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
                advice="Give the present place of the project: resume(id, cwd=…).",
            )
        if cwd is not None:
            self._move_copy(info, project_folder(folder))
        env = {} if self._is_default else {"CLAUDE_CONFIG_DIR": str(self.config_dir)}
        return Options(resume=info.id, cwd=folder, fork_session=fork, env=env)

    def _move_copy(self, info: SessionInfo, folder: str) -> None:
        """Copy a session to the folder of another directory, unless it is there."""
        target, main = self.root / folder, Path(info.path)
        if not (target / main.name).exists():
            files = (
                (place, contents(path))
                for place, path in session_files(main).items()
                if not (target / place).exists()
            )
            make_files(target, files, f"The session {info.id} cannot be copied to {folder}")

    # --- export and import -----------------------------------------------------------------------

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
            format: one of these, if the path does not tell.
            branch: a line on the branch to write; the current branch by default, and all lines for
                `jsonl`. Not for `zip`.
            redact: remove secrets, addresses and the name of the user.
            tool_output: with the output of tools, in HTML and Markdown.
        """
        target = Path(path).expanduser()
        export_session(
            self.open(id), target, format, branch=branch, redact=redact, tool_output=tool_output
        )
        return target

    def import_(
        self,
        path: str | os.PathLike[str],
        *,
        cwd: str | os.PathLike[str] | None = None,
        new_id: bool = False,
    ) -> SessionInfo:
        """Take in a session that was exported as `.zip`, here or elsewhere.

        Args:
            path: the file.
            cwd: the directory of the session; its former directory by default.
            new_id: give it a new id. Otherwise no session of any project may have its id.
        """
        with open_bundle(Path(path).expanduser()) as bundle:
            directory = cwd or (bundle.cwd if (bundle.cwd or "").startswith(("/", "~")) else None)
            id = str(uuid.uuid4()) if new_id else bundle.id
            target = self.root / ("imported" if directory is None else project_folder(directory))
            with exclusive(id, self.config_dir):
                self._check_new(id, " or import this one under another id: new_id=True")
                make_files(target, bundle.files(id), f"The session {bundle.id} cannot be imported")
        return self.info(id)

    def _check_new(self, id: str, instead: str = "") -> None:
        found = next((it for it in find_sessions(self.root) if it.id == id), None)
        if found is not None:
            raise StoreError(
                f"There is a session {id} already, in {found.folder}",
                advice=f"Delete that one first{instead}.",
            )

    # --- stores elsewhere ------------------------------------------------------------------------

    async def push(self, id: str, store: SessionStore, *, project_key: str | None = None) -> int:
        """Copy a session with its subagents into a store; return the number of new entries.

        Args:
            id: the session.
            store: any store for the official SDK, or one of `claudewire.transcripts`.
            project_key: the name of the project in the store; that of the session's folder by
                default.
        """
        info = await anyio.to_thread.run_sync(self.info, id)
        return await Mirror(self.root, info.id, store, project_key).copy()

    async def mirror(
        self, id: str, store: SessionStore, *, project_key: str | None = None, poll: float = 0.5
    ) -> None:
        """Copy a session into a store while it runs, until this call is cancelled.

        The last lines are copied then, too. Failures of the store are logged and retried.

        Args:
            id: the whole id; the session need not exist yet.
            store: any store for the official SDK, or one of `claudewire.transcripts`.
            project_key: the name of the project in the store; that of the session's folder by
                default.
            poll: seconds between two looks at the files.
        """
        await Mirror(self.root, id, store, project_key).run(poll)

    async def pull(
        self,
        id: str,
        store: SessionStore,
        *,
        cwd: str | os.PathLike[str],
        project_key: str | None = None,
    ) -> SessionInfo:
        """Write a session from a store to this disk, so that it can be resumed here.

        If it is here already, its missing lines are added.

        Args:
            id: the session.
            store: any store for the official SDK, or one of `claudewire.transcripts`.
            cwd: the directory to work in here.
            project_key: the name of the project in the store; that of the folder of `cwd` by
                default.

        Raises:
            StoreError: the store has no such session, or the one here has diverged.
        """
        folder = project_folder(cwd)
        await pull_session(self.config_dir, folder, id, store, project_key)
        return await anyio.to_thread.run_sync(self.info, id)

    # --- the archive -----------------------------------------------------------------------------

    @property
    def swept_after(self) -> timedelta:
        """The age at which the CLI deletes an unchanged transcript."""
        try:
            settings = msgspec.json.decode((self.config_dir / "settings.json").read_bytes())
            return timedelta(days=float(settings["cleanupPeriodDays"]))
        except (OSError, msgspec.MsgspecError, KeyError, TypeError, ValueError, OverflowError):
            return timedelta(days=SWEPT_AFTER)

    def expiring(self, within: timedelta = timedelta(days=7)) -> builtins.list[SessionInfo]:
        """Return the sessions that the CLI will delete soon, and that are in no archive."""
        old = self._older_than(self.swept_after - _age(within))
        return [info for info in old if info.prompts or info.replies]

    def archive(self, *, older_than: timedelta = timedelta(days=20)) -> builtins.list[SessionInfo]:
        """Keep sessions that have not changed for so long, before the CLI deletes them.

        They are linked, or else copied, into a folder inside `config_dir` that the CLI does not
        touch. A session that has grown since is archived again.
        """
        new = self._older_than(_age(older_than))
        for info in new:
            failed = f"The session {info.id} cannot be archived"
            keep(Path(info.path), self._archive / info.folder, failed)
        return new

    def _older_than(self, age: timedelta) -> builtins.list[SessionInfo]:
        """Return sessions that have not changed for so long, and are not archived."""
        limit = time.time() - age.total_seconds()
        old = [info for info in self._index.sessions() if info.modified < limit]
        return [info for info in old if not is_archived(Path(info.path), self._archive)]

    def archived(self) -> builtins.list[SessionInfo]:
        """Return the archived and deleted sessions, the last changed first."""
        return _newest_first(Index(None, self._archive, prices=self._prices).sessions())

    def unarchive(self, id: str) -> SessionInfo:
        """Bring an archived or deleted session back."""
        found = find_archived(id, self._archive)[0]
        self._check_new(found.id)
        main, target = Path(found.main.path), self.root / found.folder
        keep(main, target, f"The session {found.id} cannot be brought back")
        for place in session_files(main):
            os.utime(target / place)  # or the CLI would delete it at once
        return self.info(found.id)


def _age(given: timedelta) -> timedelta:
    if not isinstance(given, timedelta):
        raise OptionsError(f"An age must be a timedelta, got {given!r}. Give timedelta(days=…).")
    return given


def _newest_first(infos: Iterable[SessionInfo]) -> builtins.list[SessionInfo]:
    return sorted(infos, key=lambda info: info.modified, reverse=True)


def _in_project(project: str | os.PathLike[str]) -> Callable[[SessionInfo], bool]:
    """Make a test for sessions that worked in a directory, below it, or in its git worktrees."""
    path = os.path.realpath(os.path.expanduser(project))
    places = {path, *_worktrees(path)}
    folders = {project_folder(place) for place in places}

    @cache  # many sessions have few directories
    def is_inside(cwd: str) -> bool:
        real = Path(os.path.realpath(cwd))
        return any(real.is_relative_to(it) for it in places)

    return lambda info: info.folder in folders or (info.cwd is not None and is_inside(info.cwd))


def _worktrees(path: str) -> Iterator[str]:
    """Find the worktrees of a git repository from its own files."""
    git = Path(path, ".git")
    with suppress(OSError):
        if git.is_file():  # a worktree: its repository knows the others
            text = git.read_text(encoding="utf-8", errors="replace")
            found = re.match(r"gitdir: (.*?)/worktrees/[^/]+\s*$", text)
            git = Path(found[1]) if found else git
            yield str(git.parent)
        for entry in git.glob("worktrees/*/gitdir"):
            place = entry.read_text(encoding="utf-8", errors="replace").strip()
            yield os.path.realpath(os.path.dirname(place))


def _one_line(text: str) -> str:
    """Make a text fit for a title: one line, nothing invisible, not too long."""
    shown = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(shown.split())[:LONGEST_TITLE]
