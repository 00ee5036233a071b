"""The conversation in a transcript: a tree of lines, and the branches in it.

Lines name their parents, but the chain from the last line to the first is not the conversation:

* results of tools that ran at the same time are children of different lines of one message;
* progress of a tool can stand between a message and the next prompt, so that the tool's result and
  the model's answer are beside the chain;
* after a compaction the chain starts anew, with a *logical* parent;
* a parent can be missing, or come later in the file.

Prompts divide a conversation: if someone went back and said something else, two prompts follow the
same line. So a branch is the chain from its last line, and beside it everything that no prompt led
to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..wire import ToolUseBlock
from .entries import AssistantEntry, Entry, OtherEntry, SystemEntry, UserEntry
from .files import Line


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
    """The lines of one file as a tree. Of several with one uuid the first counts."""

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
        """Return the lines of the branch that ends at a line, or goes through it.

        Raises:
            KeyError: there is no such line.
        """
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
