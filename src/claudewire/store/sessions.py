"""The conversations that the CLI keeps on disk: found, read, searched, changed.

Reading and writing happens in threads, so that the event loop is never blocked; what was started
there ends soon after the caller was cancelled.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ParamSpec, TypeVar

import anyio
import anyio.to_thread

from ..options import Options
from ..tracking import Price, Totals
from ..wire import Block
from .blocking import BlockingSessions, Hit
from .entries import Entry
from .export import ExportFormat
from .facts import SessionInfo
from .follow import Follower
from .mirroring import Mirror, fetch_session, push_session
from .stores import SessionStore
from .transcript import AgentInfo, BlockingTranscript, BranchInfo, Finding
from .trash import Trashed

__all__ = ["Sessions", "Transcript"]

P = ParamSpec("P")
T = TypeVar("T")


AT_ONCE = 100
"""Entries that are read in one go in a thread: more would make a cancellation wait."""


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a blocking function in a thread."""
    return await anyio.to_thread.run_sync(partial(function, *args, **kwargs))


async def iterated(iterator: Iterator[T]) -> AsyncGenerator[T, None]:
    """Go through what a blocking iterator gives, in threads."""
    try:
        while batch := await in_thread(_batch, iterator):
            for item in batch:
                yield item
    finally:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _batch(iterator: Iterator[T]) -> list[T]:
    return list(islice(iterator, AT_ONCE))


class Transcript:
    """A session on disk: its entries, its conversation, its subagents.

    Args:
        blocking: the same for programs without async.
    """

    def __init__(self, blocking: BlockingTranscript) -> None:
        self._blocking = blocking

    @property
    def info(self) -> SessionInfo:
        """What was known about the session when it was opened."""
        return self._blocking.info

    @property
    def id(self) -> str:
        """The id of the session."""
        return self._blocking.id

    @property
    def path(self) -> Path:
        """Its file."""
        return self._blocking.path

    def entries(self, *, agent: str | None = None) -> AsyncGenerator[Entry, None]:
        """Read all lines, from the first to the last; one that cannot be read is a `BadLine`.

        Args:
            agent: the id of a subagent, to read its lines instead.

        Raises:
            StoreError: it cannot be opened, or there is no such subagent.
        """
        return iterated(self._blocking.entries(agent=agent))

    def conversation(self, branch: str | None = None) -> AsyncGenerator[Entry, None]:
        """Read the lines of the main conversation, in its order and with what compaction left out.

        Args:
            branch: the uuid of a line: the branch that ends there, or goes through it. None for the
                one that the CLI would continue.

        Raises:
            StoreError: there is no such line.
        """
        return iterated(self._blocking.conversation(branch))

    def blocks(self) -> AsyncGenerator[Block, None]:
        """Read the blocks of the conversation: the same objects that live turns consist of."""
        return iterated(self._blocking.blocks())

    async def branches(self) -> list[BranchInfo]:
        """Return the ways through the conversation; the first is the one that is continued."""
        return await in_thread(self._blocking.branches)

    async def agents(self) -> list[AgentInfo]:
        """Return the subagents, each after the one that started it."""
        return await in_thread(self._blocking.agents)

    async def findings(self) -> list[Finding]:
        """Read everything and tell what is not as it should be. Nothing of it stops reading."""
        return await in_thread(lambda: list(self._blocking.findings()))

    async def tail(
        self, *, from_start: bool = False, poll: float = 0.2
    ) -> AsyncGenerator[Entry, None]:
        """Wait for lines that are added, and give them; it never ends by itself.

        With trio, leave it by `contextlib.aclosing`, as any async generator.

        Args:
            from_start: give the lines first that are there already.
            poll: seconds between two looks at the file.
        """
        follower = Follower(self.path, from_start=from_start)
        try:
            while True:
                entries = await in_thread(follower.read)
                for entry in entries:
                    yield entry
                if not entries:
                    await anyio.sleep(poll)
        finally:
            follower.close()


class Sessions:
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
        self._blocking = BlockingSessions(
            config_dir, index=index, prices=prices, tool_output=tool_output
        )

    @property
    def config_dir(self) -> Path:
        """The CLI's folder."""
        return self._blocking.config_dir

    async def close(self) -> None:
        """Close the index."""
        await in_thread(self._blocking.close)

    async def __aenter__(self) -> Sessions:
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.close()

    # --- finding ---------------------------------------------------------------------------------

    async def list(
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
        return await in_thread(
            self._blocking.list,
            project=project,
            since=since,
            until=until,
            text=text,
            tag=tag,
            running=running,
            waiting=waiting,
            limit=limit,
        )

    async def open(self, id: str) -> Transcript:
        """Open a session by its id, or by the beginning of it.

        Raises:
            StoreError: there is none, or several begin like this.
        """
        return Transcript(await in_thread(self._blocking.open, id))

    async def info(self, id: str) -> SessionInfo:
        """Return what is known about a session, by its id or the beginning of it.

        Raises:
            StoreError: there is none, or several begin like this.
        """
        return await in_thread(self._blocking.info, id)

    async def search(self, query: str, *, limit: int = 20) -> builtins.list[Hit]:
        """Find what was said; what fits best comes first.

        Args:
            query: words and "phrases" that must all be there; `-word` must not, `word*` is a
                beginning. Conditions are `role:user` (or assistant, tool), `project:shop`,
                `since:2026-11-01`, `until:7d`, `tool:Bash`.
            limit: at most so many.

        Raises:
            StoreError: the query is not valid.
        """
        return await in_thread(self._blocking.search, query, limit=limit)

    async def totals(self, infos: Iterable[SessionInfo] | None = None) -> dict[str, Totals]:
        """Add up what sessions have used, by model, each message once.

        A fork repeats the messages of its parent, so adding up the totals of sessions would count
        them twice.

        Args:
            infos: the sessions; all unless given.
        """
        return await in_thread(self._blocking.totals, infos)

    # --- changing --------------------------------------------------------------------------------

    async def rename(self, id: str, title: str) -> None:
        """Give a session a title.

        Raises:
            StoreError: there is no such session, or the title is empty.
            CLIError: a session of this library has it open; rename it there.
        """
        await in_thread(self._blocking.rename, id, title)

    async def tag(self, id: str, tag: str | None) -> None:
        """Give a session a tag, or take it away with None.

        Raises:
            StoreError: there is no such session.
            CLIError: a session of this library has it open.
        """
        await in_thread(self._blocking.tag, id, tag)

    async def delete(self, id: str) -> Trashed:
        """Move a session and its subagents to the trash, out of each project that has a copy of it.

        Raises:
            StoreError: there is no such session, or a CLI has it open.
            CLIError: a session of this library has it open.
        """
        return await in_thread(self._blocking.delete, id)

    async def trash(self) -> builtins.list[Trashed]:
        """Return what is in the trash, the last first."""
        return await in_thread(self._blocking.trash)

    async def restore(self, id: str) -> SessionInfo:
        """Take a session out of the trash, the last one with this id or one that begins like it.

        Raises:
            StoreError: it is not in the trash, or there is one with this id again.
        """
        return await in_thread(self._blocking.restore, id)

    async def empty_trash(self, *, older_than: timedelta = timedelta(0)) -> int:
        """Delete for good what has been in the trash for so long; return how many sessions."""
        return await in_thread(self._blocking.empty_trash, older_than=older_than)

    async def fork(
        self, id: str, *, at: str | None = None, title: str | None = None
    ) -> SessionInfo:
        """Make a new session that begins like another, with the subagents that it had by then.

        Args:
            id: the session.
            at: the uuid of the last line that is taken over; the whole conversation unless given.
            title: the title of the new session.

        Raises:
            StoreError: there is no such session or line.
        """
        return await in_thread(self._blocking.fork, id, at=at, title=title)

    async def resume(
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
        return await in_thread(self._blocking.resume, id, fork=fork, cwd=cwd)

    # --- out and in ------------------------------------------------------------------------------

    async def export(
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
        return await in_thread(
            self._blocking.export,
            id,
            path,
            format=format,
            branch=branch,
            redact=redact,
            tool_output=tool_output,
        )

    async def import_(
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
        return await in_thread(self._blocking.import_, path, cwd=cwd, new_id=new_id)

    # --- stores elsewhere ------------------------------------------------------------------------

    async def push(self, id: str, store: SessionStore, *, project_key: str | None = None) -> int:
        """Copy a session with its subagents into a store; return how many entries were new.

        Args:
            id: the session.
            store: any store for the official SDK, or one of `claudewire.store`.
            project_key: the name of the project in the store; that of the session's folder unless
                given.

        Raises:
            StoreError: there is no such session, or the store has another one with its id.
        """
        return await push_session(self._blocking, id, store, project_key=project_key)

    async def mirror(
        self, id: str, store: SessionStore, *, project_key: str | None = None, poll: float = 0.5
    ) -> None:
        """Copy a session into a store while it runs, until this call is cancelled.

        What is new then is still copied. What the store refuses is logged, and given again later.

        Args:
            id: the session. It need not exist yet.
            store: any store for the official SDK, or one of `claudewire.store`.
            project_key: the name of the project in the store; that of the session's folder unless
                given.
            poll: seconds between two looks at the files.
        """
        await Mirror(self._blocking, id, store, project_key=project_key).run(poll=poll)

    async def pull(
        self,
        id: str,
        store: SessionStore,
        *,
        cwd: str | os.PathLike[str],
        project_key: str | None = None,
    ) -> SessionInfo:
        """Write a session that is in a store to this disk, so that it can be resumed here.

        If it is here already, what it lacks is added.

        Args:
            id: the session.
            store: any store for the official SDK, or one of `claudewire.store`.
            cwd: the directory to work in here.
            project_key: the name of the project in the store; that of the folder of `cwd` unless
                given.

        Raises:
            StoreError: the store has no such session, or the one here has gone another way.
            CLIError: a process has the session open here.
        """
        return await fetch_session(self._blocking, store, id, cwd=cwd, project_key=project_key)

    # --- the sweep -------------------------------------------------------------------------------

    @property
    def swept_after(self) -> timedelta:
        """After how long without a change the CLI deletes a transcript."""
        return self._blocking.swept_after

    async def expiring(self, within: timedelta = timedelta(days=7)) -> builtins.list[SessionInfo]:
        """Return the sessions that the CLI will delete soon, and that are in no archive."""
        return await in_thread(self._blocking.expiring, within)

    async def archive(
        self, *, older_than: timedelta = timedelta(days=20)
    ) -> builtins.list[SessionInfo]:
        """Keep sessions that have not changed for so long, before the CLI deletes them.

        They are linked, or else copied, into a folder of their own inside `config_dir`, which the
        CLI does not touch. What has grown since it was archived is archived again. `archived` lists
        them and `unarchive` brings one back.
        """
        return await in_thread(self._blocking.archive, older_than=older_than)

    async def archived(self) -> builtins.list[SessionInfo]:
        """Return the sessions in the archive, the one that was last changed first."""
        return await in_thread(self._blocking.archived)

    async def unarchive(self, id: str) -> SessionInfo:
        """Bring a session back from the archive, by its id or the beginning of it.

        Raises:
            StoreError: it is not in the archive, or there is one with this id.
        """
        return await in_thread(self._blocking.unarchive, id)
