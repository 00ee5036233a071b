"""The conversation in a transcript: a tree of lines, and the branches in it.

Lines name their parents, but the chain from the last line to the first is not the conversation:

* results of tools that ran at the same time are children of different lines of one message;
* progress of a tool can stand between a message and the next prompt, so that the tool's result and
  the model's answer are beside the chain;
* after a compaction the chain starts anew, with a *logical* parent;
* a parent can be missing, or come later in the file.

What really divides a conversation is a prompt: if someone went back and said something else, two
prompts follow the same line. So a branch is the chain from its last line, and beside it everything
that no prompt led to.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from ..wire import prepared
from .entries import UserEntry
from .files import Line

__all__ = ["Branch", "Node", "Tree", "read_nodes"]


class Node(NamedTuple):
    """A line of the conversation: what its place in the tree depends on."""

    uuid: str
    parent: str | None
    offset: int
    kind: str
    is_prompt: bool = False
    is_sidechain: bool = False
    calls_tool: bool = False
    is_logical: bool = False
    """Whether the parent is the last line before a compaction, which a fork does not copy."""


class Branch(NamedTuple):
    """One way through a conversation."""

    leaf: str
    """The line at which it ends."""
    nodes: tuple[Node, ...]
    """Its lines, from the first to the last."""


class Tree:
    """The lines of one file as a tree.

    Args:
        nodes: the lines, in the order of the file. Of several with one uuid the first counts.

    Attributes:
        missing: uuids of parents that are in no line.
    """

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes: dict[str, Node] = {}
        for node in nodes:
            self._nodes.setdefault(node.uuid, node)
        self.missing: list[str] = []
        self._parents = self._resolve()
        self._children: dict[str, list[Node]] = {}
        for node in self._nodes.values():
            parent = self._parents[node.uuid]
            if parent is not None:
                self._children.setdefault(parent, []).append(node)
        self._leads_to_prompt = self._marked()

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def branches(self) -> list[Branch]:
        """All ways through the main conversation; the first is the one that is continued."""
        return list(
            self._branches([node for node in self._nodes.values() if not node.is_sidechain])
        )

    @property
    def sidechains(self) -> list[Branch]:
        """The conversations of subagents that are in the same file, as CLIs of 1.0 write them."""
        side = [node for node in self._nodes.values() if node.is_sidechain]
        found = list(self._branches(side))
        return sorted(found, key=lambda branch: branch.nodes[0].offset)

    def branch(self, leaf: str) -> Branch:
        """Return the branch that ends at a line, or goes through it.

        Raises:
            KeyError: there is no such line.
        """
        return self._branch(self._nodes[leaf])

    def _branches(self, nodes: Sequence[Node]) -> Iterator[Branch]:
        """Take the last line that is in no branch yet, until there is none."""
        # A line of the conversation proper goes before a note: that is where the CLI continues.
        said = [node for node in nodes if node.kind in ("user", "assistant")]
        done: set[str] = set()
        for node in [*reversed(said), *reversed(nodes)]:
            if node.uuid not in done:
                branch = self._branch(node)
                done.update(member.uuid for member in branch.nodes)
                yield branch

    # --- parents ---------------------------------------------------------------------------------

    def _resolve(self) -> dict[str, str | None]:
        """Find the parent of each line; instead of a missing one, the line before in the file."""
        parents: dict[str, str | None] = {}
        before: str | None = None
        for node in self._nodes.values():
            parent = node.parent
            if parent is not None and parent not in (parents if node.is_logical else self._nodes):
                if not node.is_logical:
                    self.missing.append(parent)
                parent = None if node.is_sidechain else before
            parents[node.uuid] = parent
            if not node.is_sidechain:
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

    def _branch(self, leaf: Node) -> Branch:
        chain = self._chain(leaf)
        members = {node.uuid: node for node in chain}
        for node, following in zip(chain, [*chain[1:], None], strict=True):
            # After a call only a result can follow, so a prompt there is no other way to go on.
            if following is None or not following.is_prompt or node.calls_tool:
                self._add_beside(node, members)
        return Branch(leaf.uuid, tuple(self._ordered(members)))

    def _add_beside(self, node: Node, members: dict[str, Node]) -> None:
        """Add what follows a line, as far as no prompt led to it."""
        waiting = list(self._children.get(node.uuid, ()))
        while waiting:
            child = waiting.pop()
            if child.uuid in members or child.uuid in self._leads_to_prompt:
                continue
            if child.is_sidechain == node.is_sidechain:
                members[child.uuid] = child
                waiting += self._children.get(child.uuid, ())

    def _ordered(self, members: dict[str, Node]) -> Iterator[Node]:
        """Give lines in the order of the file, but parents first."""
        given: set[str] = set()
        for node in sorted(members.values(), key=lambda node: node.offset):
            pending: list[Node] = []
            current: Node | None = node
            while current is not None and current.uuid not in given:
                given.add(current.uuid)
                pending.append(current)
                current = members.get(self._parents[current.uuid] or "")
            yield from reversed(pending)


# --- reading nodes -------------------------------------------------------------------------------


class _Message(Struct, gc=False):
    content: Raw = Raw()


class _Placed(Struct, gc=False, rename="camel"):
    """The few fields of a line that its place depends on."""

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    message: _Message | None = None


_place = msgspec.json.Decoder(prepared(_Placed)).decode
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError, TypeError)


def read_nodes(lines: Iterable[Line]) -> Iterator[Node]:
    """Yield the lines that are part of the conversation."""
    before = ""
    for found in lines:
        try:
            placed: Any = _place(found.line)  # type: ignore[arg-type]  # an oversize line is refused
        except _REFUSED:
            placed = _placed_slowly(found)
        if placed is not None and placed.uuid is not None:
            if placed.parent_uuid == before:  # as it mostly is: one string is enough for both
                placed.parent_uuid = before
            before = placed.uuid
            yield _node(placed, found)


def _placed_slowly(found: Line) -> _Placed | None:
    entry = found.read()
    raw = {key: value for key, value in entry.raw.items() if isinstance(value, str | bool)}
    if not isinstance(raw.get("type"), str) or not isinstance(raw.get("uuid"), str):
        return None
    names = ("type", "uuid", "parentUuid", "logicalParentUuid")
    texts = {name: raw[name] for name in names if isinstance(raw.get(name), str)}
    return msgspec.convert(
        {**texts, "isSidechain": raw.get("isSidechain") is True}, prepared(_Placed)
    )


def _node(placed: _Placed, found: Line) -> Node:
    content = b"" if placed.message is None else bytes(placed.message.content)
    return Node(
        uuid=placed.uuid or "",
        parent=placed.parent_uuid or placed.logical_parent_uuid,
        offset=found.offset,
        kind=sys.intern(placed.type),  # there are few kinds, and many lines
        is_prompt=placed.type == "user" and _is_prompt(placed, content, found),
        is_sidechain=placed.is_sidechain is True,
        calls_tool=placed.type == "assistant" and b'"tool_use"' in content,
        is_logical=placed.parent_uuid is None,
    )


def _is_prompt(placed: _Placed, content: bytes, found: Line) -> bool:
    if placed.is_meta or placed.is_compact_summary or b'"tool_result"' in content:
        return False
    if content[:1] == b'"' and content[:2] not in (b'"<', b'"['):
        return True
    entry = found.read()
    return isinstance(entry, UserEntry) and entry.is_prompt
