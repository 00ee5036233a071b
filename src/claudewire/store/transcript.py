"""One session on disk: its entries, its conversation, its subagents.

The blocking half; `Transcript` in `sessions` is the same for async programs.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec import Struct

from ..wire import Block, ToolUseBlock
from .entries import AssistantEntry, BadLine, Entry, UnknownEntry, UserEntry
from .facts import SessionInfo
from .files import StoreError, agent_files, entries_of, lines_of, loose_agents, open_inside
from .follow import Follower
from .tree import Branch, Node, Tree, read_nodes

__all__ = ["AgentInfo", "BlockingTranscript", "BranchInfo", "Finding"]


class AgentInfo(Struct, frozen=True):
    """A subagent of a session.

    Attributes:
        id: its id; for CLIs of 1.0, the uuid of its first line.
        path: its transcript; for CLIs of 1.0, that of the session.
        type: what kind of agent it is, `general-purpose` for example.
        description: what it was started for.
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
        entries: how many lines it has.
        is_current: whether the CLI continues here.
    """

    leaf: str
    entries: int
    is_current: bool = False


class Finding(Struct, frozen=True):
    """Something in a transcript that is not as it should be.

    Attributes:
        path: the file.
        kind: `bad line`, `unknown type`, `unknown form` or `missing parent`.
        detail: what exactly.
        offset: where in the file, in bytes; None if it is not in one place.
    """

    path: str
    kind: str
    detail: str
    offset: int | None = None


class _Meta(Struct, rename="camel"):
    """What newer CLIs write about a subagent."""

    agent_type: str | None = None
    description: str | None = None
    tool_use_id: str | None = None


_read_meta = msgspec.json.Decoder(_Meta).decode


class BlockingTranscript:
    """A session on disk.

    Args:
        info: what is known about it.
        root: the folder of the projects.

    Attributes:
        info: what was known about it when it was opened.
        root: the folder of the projects.
    """

    def __init__(self, info: SessionInfo, root: Path) -> None:
        self.info = info
        self.root = root

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
        """Read all lines, from the first to the last; one that cannot be read is a `BadLine`.

        Args:
            agent: the id of a subagent, to read its lines instead.

        Raises:
            StoreError: it cannot be opened, or there is no such subagent.
        """
        if agent is None:
            yield from self._read(self.info.path)
            return
        info = next((it for it in self.agents() if it.id == agent), None)
        if info is None:
            raise StoreError(f"The session {self.id} has no subagent {agent}")
        if info.path != self.info.path:
            yield from self._read(info.path)
            return
        yield from self._sidechain(agent)

    def _read(self, path: str) -> Iterator[Entry]:
        with open_inside(path, self.root) as file:
            yield from entries_of(file)

    def blocks(self) -> Iterator[Block]:
        """Read the blocks of the conversation: the same objects that live turns consist of."""
        for entry in self.conversation():
            if isinstance(entry, UserEntry | AssistantEntry):
                yield from entry.blocks

    def tail(self, *, from_start: bool = False, poll: float = 0.2) -> Iterator[Entry]:
        """Wait for lines that are added, and give them; it never ends by itself.

        Args:
            from_start: give the lines first that are there already.
            poll: seconds between two looks at the file.
        """
        with closing(Follower(self.path, from_start=from_start)) as follower:
            while True:
                entries = follower.read()
                yield from entries
                if not entries:
                    time.sleep(poll)

    # --- the conversation ------------------------------------------------------------------------

    def conversation(self, branch: str | None = None) -> Iterator[Entry]:
        """Read the lines of the main conversation, in its order and with what compaction left out.

        Args:
            branch: the uuid of a line: the branch that ends there, or goes through it. None for the
                one that the CLI would continue.

        Raises:
            StoreError: there is no such line.
        """
        tree = self._tree()
        found = tree.branches if branch is None else [self._branch(tree, branch)]
        yield from self._entries_on(found[0].nodes if found else ())

    def beginning(self, at: str | None = None, agents: Collection[str] = ()) -> Iterator[Entry]:
        """Read the lines of the main conversation up to and including one of them.

        Args:
            at: the uuid of that line; None for the whole conversation.
            agents: ids of subagents in the same file that are read, too, as CLIs of 1.0 write them.

        Raises:
            StoreError: there is no such line.
        """
        tree = self._tree()
        found = tree.branches[:1] if at is None else [self._branch(tree, at)]
        nodes = [node for branch in found for node in branch.nodes]
        if at is not None:
            nodes = nodes[: 1 + next(n for n, node in enumerate(nodes) if node.uuid == at)]
        side = [it for it in tree.sidechains if it.nodes[0].uuid in agents]
        inside = sorted((node.offset, node) for branch in side for node in branch.nodes)
        order: list[Node] = []
        for node in nodes:
            while inside and inside[0][0] < node.offset:
                order.append(inside.pop(0)[1])
            order.append(node)
        order += [node for _, node in inside]
        yield from self._entries_on(order)

    def branches(self) -> list[BranchInfo]:
        """Return the ways through the conversation; the first is the one that is continued."""
        found = self._tree().branches
        return [
            BranchInfo(it.leaf, len(it.nodes), is_current=index == 0)
            for index, it in enumerate(found)
        ]

    def _branch(self, tree: Tree, leaf: str) -> Branch:
        try:
            return tree.branch(leaf)
        except KeyError:
            raise StoreError(
                f"The session {self.id} has no line {leaf}",
                advice="branches() lists the lines at which its branches end.",
            ) from None

    def _tree(self) -> Tree:
        with open_inside(self.info.path, self.root) as file:
            return Tree(read_nodes(lines_of(file)))

    def _entries_on(self, nodes: Sequence[Node]) -> Iterator[Entry]:
        """Read the lines of a branch, without the progress of tools."""
        return self._in_order([node.offset for node in nodes if node.kind != "progress"])

    def _in_order(self, offsets: list[int]) -> Iterator[Entry]:
        """Read the file once; a line that comes before its parent waits for it."""
        chosen, ready, position = set(offsets), dict[int, Entry](), 0
        with open_inside(self.info.path, self.root) as file:
            for line in lines_of(file):
                if line.offset in chosen:
                    ready[line.offset] = line.read()
                while position < len(offsets) and offsets[position] in ready:
                    yield ready.pop(offsets[position])
                    position += 1

    def _sidechain(self, uuid: str) -> Iterator[Entry]:
        """Read the subagent in the session's own file that begins with a line."""
        for branch in self._tree().sidechains:
            if branch.nodes[0].uuid == uuid:
                yield from self._entries_on(branch.nodes)

    def place_of(self, agent: AgentInfo) -> Path:
        """Return where the file of a subagent is in a folder that is the session's own."""
        path, beside = Path(agent.path), self.path.with_suffix("")
        inside = path.is_relative_to(beside)
        return path.relative_to(beside) if inside else Path("subagents", path.name)

    # --- subagents -------------------------------------------------------------------------------

    def agents(self) -> list[AgentInfo]:
        """Return the subagents, each after the one that started it."""
        found = {it.id: it for it in [*self._agents_in_files(), *self._agents_inside()]}
        started = self._who_started(found.values())
        found = {id: msgspec.structs.replace(it, **started.get(id, {})) for id, it in found.items()}
        made = [msgspec.structs.replace(it, depth=_depth(it, found)) for it in found.values()]
        return sorted(made, key=lambda it: it.depth)

    def _agents_in_files(self) -> Iterator[AgentInfo]:
        folder = Path(self.info.path).with_suffix("")
        stamps = agent_files(str(folder), str(self.root))
        inside = sorted(Path(it.path) for it in stamps)
        named = [path for path in inside if path.name.startswith("agent-")]
        for path in [*named, *loose_agents(self.path, self.root)]:
            meta = _meta(path.with_suffix(".meta.json"), self.root)
            id = path.stem.removeprefix("agent-")
            yield AgentInfo(id, str(path), meta.agent_type, meta.description, meta.tool_use_id)

    def _agents_inside(self) -> Iterator[AgentInfo]:
        """Find the subagents that CLIs of 1.0 write into the session's own file."""
        for branch in self._tree().sidechains:
            yield AgentInfo(branch.nodes[0].uuid, self.info.path)

    def _who_started(self, agents: Iterable[AgentInfo]) -> dict[str, dict[str, str]]:
        """Find the calls that started the subagents, where nothing else says it."""
        agents = list(agents)
        files = {it.path: it.id for it in agents if it.path != self.info.path}
        paths: dict[str, str | None] = {self.info.path: None, **files}
        started: dict[str, dict[str, str]] = {}
        by_call = {it.tool_use_id: it.id for it in agents}
        by_prompt = {self._first_text(it): it.id for it in agents if it.path == self.info.path}
        for path, parent in paths.items() if agents else ():
            for entry in self._read(path):
                for agent, call in _starts(entry, by_call, by_prompt):
                    facts = started.setdefault(agent, {})
                    facts |= {"tool_use_id": call} if call else {}
                    if parent is not None and parent != agent:
                        facts["parent"] = parent
        return started

    def _first_text(self, agent: AgentInfo) -> str:
        first = next(self._sidechain(agent.id), None)
        return first.text if isinstance(first, UserEntry) else ""

    # --- findings --------------------------------------------------------------------------------

    def findings(self) -> Iterator[Finding]:
        """Read everything and tell what is not as it should be. Nothing of it stops reading."""
        paths = [self.info.path, *(it.path for it in self.agents())]
        for path in dict.fromkeys(paths):
            with open_inside(path, self.root) as file:
                for line in lines_of(file):
                    yield from _findings_in(line.read(), path, line.offset)
        for uuid in self._tree().missing:
            yield Finding(self.info.path, "missing parent", f"no line has the uuid {uuid}")


def _findings_in(entry: Entry, path: str, offset: int) -> Iterator[Finding]:
    if isinstance(entry, BadLine):
        yield Finding(path, "bad line", f"{entry.reason}: {entry.head}", offset)
    elif isinstance(entry, UnknownEntry) and not entry.problems:
        yield Finding(path, "unknown type", str(entry.kind), offset)
    for problem in entry.problems:
        yield Finding(path, "unknown form", problem, offset)


def _starts(
    entry: Entry, by_call: dict[str | None, str], by_prompt: dict[str, str]
) -> Iterator[tuple[str, str | None]]:
    """Yield which subagents a line starts, or reports about, and the call for it."""
    if isinstance(entry, AssistantEntry):
        for block in entry.blocks:
            if isinstance(block, ToolUseBlock):
                agent = by_call.get(block.id) or by_prompt.get(str(block.input.get("prompt")))
                if agent is not None:
                    yield agent, block.id
    elif isinstance(entry, UserEntry) and isinstance(entry.tool_use_result, dict):
        agent = entry.tool_use_result.get("agentId")
        if isinstance(agent, str):
            results = [it for it in entry.blocks if hasattr(it, "tool_use_id")]
            yield agent, results[0].tool_use_id if results else None


def _depth(agent: AgentInfo, agents: dict[str, AgentInfo]) -> int:
    depth, seen = 1, {agent.id}
    while agent.parent is not None and agent.parent in agents and agent.parent not in seen:
        agent = agents[agent.parent]
        seen.add(agent.id)
        depth += 1
    return depth


def _meta(path: Path, root: Path) -> _Meta:
    try:
        with open_inside(path, root) as file:
            return _read_meta(file.read())
    except (OSError, StoreError, msgspec.MsgspecError):
        return _Meta()
