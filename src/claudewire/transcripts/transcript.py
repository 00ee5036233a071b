"""One session on disk: its lines, its conversation, its subagents, and a fork of it."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..wire import Block, ToolUseBlock
from .entries import AssistantEntry, BadLine, Entry, OtherEntry, SystemEntry, UserEntry
from .facts import SessionInfo
from .files import Line, StoreError, agent_files, contents, entries_of, lines_of, open_file
from .writing import encode_line

AT_ONCE = 1_000
"""Lines that are read at once while a transcript is followed."""


class AgentInfo(Struct, frozen=True):
    """A subagent of a session.

    Attributes:
        id: its id.
        path: its transcript.
        type: the kind of agent, `general-purpose` for example.
        description: the description of its task.
        tool_use_id: the tool call that started it.
        parent: the id of the subagent that started it; None if the main conversation did.
        depth: 1 for a subagent of the main conversation, 2 for one of those, and so on.
    """

    id: str
    path: str
    type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None
    parent: str | None = None
    depth: int = 1


class BranchInfo(Struct, frozen=True):
    """One way through a conversation.

    Attributes:
        leaf: the uuid of its last line.
        entries: the number of its lines.
        is_current: whether the CLI continues here.
    """

    leaf: str
    entries: int
    is_current: bool = False


class _Meta(Struct, rename="camel"):
    """The file in which newer CLIs describe a subagent."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None


_read_meta = msgspec.json.Decoder(_Meta).decode


class Transcript:
    """A session on disk. Its methods block, except `tail`.

    Attributes:
        info: the facts about it when it was opened.
    """

    def __init__(self, info: SessionInfo) -> None:
        self.info = info

    @property
    def id(self) -> str:
        """The id of the session."""
        return self.info.id

    @property
    def path(self) -> Path:
        """Its file."""
        return Path(self.info.path)

    # --- entries ---------------------------------------------------------------------------------

    def entries(self, *, agent: str | None = None) -> Iterator[Entry]:
        """Read all lines, from the first to the last; an unreadable line is a `BadLine`.

        Args:
            agent: the id of a subagent, to read its lines instead.

        Raises:
            StoreError: it cannot be opened, or there is no such subagent.
        """
        path = self.info.path
        if agent is not None:
            paths = [it.path for it in self._agent_files() if it.id == agent]
            if not paths:
                raise StoreError(f"The session {self.id} has no subagent {agent}")
            path = paths[0]
        yield from entries_of(path)

    def blocks(self) -> Iterator[Block]:
        """Read the blocks of the conversation: the same objects that live turns consist of."""
        for entry in self.conversation():
            if isinstance(entry, UserEntry | AssistantEntry):
                yield from entry.blocks

    async def tail(
        self, *, from_start: bool = False, poll: float = 0.2
    ) -> AsyncGenerator[Entry, None]:
        """Wait for new lines, and yield them; this never ends.

        With trio, leave it by `contextlib.aclosing`, as any async generator.

        Args:
            from_start: yield the existing lines first.
            poll: seconds between two looks at the file.
        """
        follower = await anyio.to_thread.run_sync(_Follower, self.path, from_start)
        while True:
            entries = await anyio.to_thread.run_sync(follower.read)
            for entry in entries:
                yield entry
            if not entries:
                await anyio.sleep(poll)

    # --- the conversation ------------------------------------------------------------------------

    def conversation(self, branch: str | None = None) -> Iterator[Entry]:
        """Read the lines of the main conversation, in its order and with the compacted lines.

        Args:
            branch: the uuid of a line: the branch that ends there, or goes through it. None for the
                branch that the CLI would continue.

        Raises:
            StoreError: there is no such line.
        """
        yield from self._entries_on(self._nodes(branch))

    def branches(self) -> list[BranchInfo]:
        """Return the ways through the conversation; the first is the one that is continued."""
        found = enumerate(self._tree().branches.items())
        return [BranchInfo(leaf, len(it), is_current=not index) for index, (leaf, it) in found]

    def _nodes(self, leaf: str | None) -> tuple[Node, ...]:
        tree = self._tree()
        if leaf is None:
            return next(iter(tree.branches.values()), ())
        try:
            return tree.branch(leaf)
        except KeyError:
            raise StoreError(
                f"The session {self.id} has no line {leaf}",
                advice="branches() lists the lines at which its branches end.",
            ) from None

    def _tree(self) -> Tree:
        with open_file(self.info.path) as file:
            return Tree(read_nodes(lines_of(file)))

    def _entries_on(self, nodes: Iterable[Node]) -> Iterator[Entry]:
        """Read the file once, without the progress of tools; a line waits for its parent."""
        offsets = [node.offset for node in nodes if node.kind != "progress"]
        chosen, ready, position = set(offsets), dict[int, Entry](), 0
        with open_file(self.info.path) as file:
            for line in lines_of(file):
                if line.offset in chosen:
                    ready[line.offset] = line.read()
                while position < len(offsets) and offsets[position] in ready:
                    yield ready.pop(offsets[position])
                    position += 1

    # --- subagents -------------------------------------------------------------------------------

    def agents(self) -> list[AgentInfo]:
        """Return the subagents, each after the one that started it."""
        agents = {it.id: it for it in self._agent_files()}
        if agents:
            self._find_starts(agents)
        for id in agents:
            depth, above, seen = 1, agents[id].parent, {id}
            while above in agents and above not in seen:
                seen.add(above)
                depth, above = depth + 1, agents[above].parent
            agents[id] = replace(agents[id], depth=depth)
        return sorted(agents.values(), key=lambda it: it.depth)

    def _agent_files(self) -> Iterator[AgentInfo]:
        for path in agent_files(self.path.with_suffix("")):
            try:
                meta = _read_meta(path.with_suffix(".meta.json").read_bytes())
            except (OSError, msgspec.MsgspecError):
                meta = _Meta()
            id = path.stem.removeprefix("agent-")
            yield AgentInfo(id, str(path), meta.agent_type, meta.description, meta.tool_use_id)

    def _find_starts(self, agents: dict[str, AgentInfo]) -> None:
        """Note the calls that started the subagents, and the subagents that made these calls."""
        by_call = {it.tool_use_id: it.id for it in agents.values()}
        makers: dict[str, str | None] = {self.info.path: None}
        makers |= {it.path: it.id for it in agents.values()}
        for path, maker in makers.items():
            for entry in entries_of(path):
                for id, call in _starts(entry, by_call):
                    if id in agents:
                        parent = maker if maker not in (None, id) else agents[id].parent
                        call = call or agents[id].tool_use_id
                        agents[id] = replace(agents[id], tool_use_id=call, parent=parent)

    # --- a fork ----------------------------------------------------------------------------------

    def forked_files(
        self, new: str, at: str | None, title: str | None
    ) -> Iterator[tuple[Path, Iterable[bytes]]]:
        """Yield the places of a fork's files, up to the line `at`, and contents; its lines last.

        Lines keep their uuids, as in the CLI's own forks, and name their origin.

        Raises:
            StoreError: there is no such line.
        """
        for agent in self._started_by(at):
            path = Path(agent.path)
            copy = new / path.relative_to(self.path.with_suffix(""))
            yield copy, (_forked(it, self.id, new) for it in entries_of(path))
            meta = path.with_suffix(".meta.json")
            if meta.is_file():
                yield copy.with_suffix(".meta.json"), contents(meta)
        yield Path(f"{new}.jsonl"), self._forked_lines(new, at, title)

    def _forked_lines(self, new: str, at: str | None, title: str | None) -> Iterator[bytes]:
        if title is not None:
            yield encode_line({"type": "custom-title", "customTitle": title, "sessionId": new})
        for entry in self._beginning(at):
            yield _forked(entry, self.id, new)

    def _beginning(self, at: str | None) -> Iterator[Entry]:
        nodes = self._nodes(at)
        end = next((index for index, it in enumerate(nodes, 1) if it.uuid == at), len(nodes))
        return self._entries_on(nodes[:end])

    def _started_by(self, at: str | None) -> list[AgentInfo]:
        """Find the subagents that were started up to a line, each after the one that started it."""
        calls = {block.id for entry in self._beginning(at) for block in _calls_in(entry)}
        taken: dict[str | None, AgentInfo] = {}
        for agent in self.agents():
            # No call starts a subagent that compacts, for example.
            is_known = agent.tool_use_id is None or agent.parent or agent.tool_use_id in calls
            if is_known and (agent.parent is None or agent.parent in taken):
                taken[agent.id] = agent
        return [*taken.values()]


def _forked(entry: Entry, old: str, new: str) -> bytes:
    if isinstance(entry, BadLine):
        return entry.line + b"\n"
    origin = {"sessionId": old, "messageUuid": entry.uuid}
    line: dict[str, Any] = {**entry.raw, "sessionId": new, "forkedFrom": origin}
    return encode_line(line)


def _calls_in(entry: Entry) -> list[ToolUseBlock]:
    blocks = entry.blocks if isinstance(entry, AssistantEntry) else []
    return [block for block in blocks if isinstance(block, ToolUseBlock)]


def _starts(entry: Entry, by_call: dict[str | None, str]) -> Iterator[tuple[str, str | None]]:
    """Yield the subagents that a line starts or reports on, with the calls for them."""
    for block in _calls_in(entry):
        if block.id in by_call:
            yield by_call[block.id], block.id
    if isinstance(entry, UserEntry) and isinstance(entry.tool_use_result, dict):
        agent = entry.tool_use_result.get("agentId")
        if isinstance(agent, str):
            results = [it.tool_use_id for it in entry.blocks if hasattr(it, "tool_use_id")]
            yield agent, results[0] if results else None


# --- following -----------------------------------------------------------------------------------


class _Follower:
    """Reads the lines added to a file since the last look; a replaced file from its beginning."""

    def __init__(self, path: Path, from_start: bool) -> None:
        self._path = path
        self._inode = 0
        self._offset = 0
        while not from_start and self.read():
            pass

    def read(self) -> list[Entry]:
        """Return some of the complete new lines; none if there are no more."""
        try:
            file = open_file(self._path)
        except StoreError:
            return []
        with file:
            found = os.fstat(file.fileno())
            if found.st_ino != self._inode or found.st_size < self._offset:
                self._inode, self._offset = found.st_ino, 0
            new = (line for line in lines_of(file, self._offset) if line.is_complete)
            lines = list(islice(new, AT_ONCE))
        if lines:
            self._offset = lines[-1].end
        return [line.read() for line in lines]


# --- the tree ------------------------------------------------------------------------------------


class Node(NamedTuple):
    """A line of the conversation, with the facts that decide on its place in the tree."""

    uuid: str
    parent: str | None
    offset: int
    kind: str
    is_prompt: bool = False
    calls_tool: bool = False
    is_logical: bool = False
    """Whether the parent is the last line before a compaction, which a fork does not copy."""


class Tree:
    """The lines of one file as a tree. Of several with one uuid the first counts.

    Lines name their parents, but the chain from the last line to the first is not the conversation:

    * results of tools that ran at the same time are children of different lines of one message;
    * progress of a tool can stand between a message and the next prompt, so that the tool's result
      and the model's answer are beside the chain;
    * after a compaction the chain starts anew, with a *logical* parent;
    * a parent can be missing, or come later in the file.

    Prompts divide a conversation: if someone went back and said something else, two prompts follow
    the same line. So a branch is the chain from its last line, and beside it everything that no
    prompt led to.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        for node in nodes:
            self._nodes.setdefault(node.uuid, node)
        self._parents = self._resolve()
        self._children: dict[str, list[Node]] = {}
        for node in self._nodes.values():
            parent = self._parents[node.uuid]
            if parent is not None:
                self._children.setdefault(parent, []).append(node)
        self._leads_to_prompt = self._marked()

    @property
    def branches(self) -> dict[str, tuple[Node, ...]]:
        """All ways through the conversation by their last line; the first one is continued."""
        # The CLI continues at a line of the conversation proper rather than at a note.
        said = [it for it in self._nodes.values() if it.kind in ("user", "assistant")]
        branches: dict[str, tuple[Node, ...]] = {}
        done: set[str] = set()
        for node in [*reversed(said), *reversed(self._nodes.values())]:
            if node.uuid not in done:
                branches[node.uuid] = self.branch(node.uuid)
                done.update(member.uuid for member in branches[node.uuid])
        return branches

    def branch(self, leaf: str) -> tuple[Node, ...]:
        """Return the lines of the branch that ends at a line, or goes through it."""
        chain = self._chain(self._nodes[leaf])
        members = {node.uuid: node for node in chain}
        for node, following in zip(chain, [*chain[1:], None], strict=True):
            # After a call only a result can follow, so a prompt there is no other way to go on.
            if following is None or not following.is_prompt or node.calls_tool:
                self._add_beside(node, members)
        return tuple(self._ordered(members))

    # --- parents ---------------------------------------------------------------------------------

    def _resolve(self) -> dict[str, str | None]:
        """Find the parent of each line; instead of a missing one, the line before in the file."""
        parents: dict[str, str | None] = {}
        before: str | None = None
        for node in self._nodes.values():
            parent = node.parent
            if parent is not None and parent not in (parents if node.is_logical else self._nodes):
                parent = before
            parents[node.uuid] = parent
            before = node.uuid
        return parents

    def _chain(self, node: Node) -> list[Node]:
        """Return a line and all before it, from the first on. A circle is cut."""
        chain, seen = [node], {node.uuid}
        parent = self._parents[node.uuid]
        while parent is not None and parent not in seen:
            seen.add(parent)
            chain.append(self._nodes[parent])
            parent = self._parents[parent]
        chain.reverse()
        return chain

    def _marked(self) -> set[str]:
        """Find the lines that are prompts or lead to one."""
        marked: set[str] = set()
        for node in self._nodes.values():
            uuid: str | None = node.uuid if node.is_prompt else None
            while uuid is not None and uuid not in marked:
                marked.add(uuid)
                uuid = self._parents[uuid]
        return marked

    # --- branches --------------------------------------------------------------------------------

    def _add_beside(self, node: Node, members: dict[str, Node]) -> None:
        """Add the lines after a line that no prompt led to."""
        waiting = list(self._children.get(node.uuid, ()))
        while waiting:
            child = waiting.pop()
            if child.uuid not in members and child.uuid not in self._leads_to_prompt:
                members[child.uuid] = child
                waiting += self._children.get(child.uuid, ())

    def _ordered(self, members: dict[str, Node]) -> Iterator[Node]:
        """Yield lines in the order of the file, but parents first."""
        given: set[str] = set()
        for node in sorted(members.values(), key=lambda node: node.offset):
            pending: list[Node] = []
            current: Node | None = node
            while current is not None and current.uuid not in given:
                given.add(current.uuid)
                pending.append(current)
                current = members.get(self._parents[current.uuid] or "")
            yield from reversed(pending)


def read_nodes(lines: Iterable[Line]) -> Iterator[Node]:
    """Yield the lines that are part of the main conversation."""
    for line in lines:
        entry = line.read()
        if entry.uuid is not None and not entry.is_sidechain:
            logical = entry.logical_parent_uuid if isinstance(entry, SystemEntry) else None
            yield Node(
                uuid=entry.uuid,
                parent=entry.parent_uuid or logical,
                offset=line.offset,
                kind=(entry.kind or "") if isinstance(entry, OtherEntry) else _tag(entry),
                is_prompt=isinstance(entry, UserEntry) and entry.is_prompt,
                calls_tool=isinstance(entry, AssistantEntry)
                and any(isinstance(it, ToolUseBlock) for it in entry.blocks),
                is_logical=entry.parent_uuid is None,
            )


def _tag(entry: Entry) -> str:
    return str(type(entry).__struct_config__.tag)
