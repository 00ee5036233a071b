"""The files of a fork: the conversation that it begins with and its subagents, under a new id."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..wire import ToolUseBlock
from .entries import AssistantEntry, BadLine, Entry
from .files import chunks_of, open_inside
from .transcript import AgentInfo, BlockingTranscript
from .writing import encode_line

__all__ = ["forked_files"]

Lines = Iterable[bytes]


def forked_files(
    source: BlockingTranscript, new: str, at: str | None, title: str | None
) -> Iterator[tuple[Path, Lines]]:
    """Yield the files of a fork up to and including the line `at`, the transcript itself last.

    Lines keep their uuids, as the CLI's own forks do, and say where they come from.

    Raises:
        StoreError: there is no such line.
    """
    taken = list(_started(source, at))
    target = source.path.with_name(f"{new}.jsonl")
    for agent in taken:
        path = Path(agent.path)
        if path != source.path:
            copy = target.with_suffix("") / source.place_of(agent)
            yield copy, (_line(it, source.id, new) for it in source.entries(agent=agent.id))
            meta = path.with_suffix(".meta.json")
            if meta.is_file():
                yield copy.with_suffix(".meta.json"), _bytes(meta, source.root)
    inside = [agent.id for agent in taken if agent.path == source.info.path]
    yield target, _lines(source, new, at, title, inside)


def _lines(
    source: BlockingTranscript, new: str, at: str | None, title: str | None, agents: list[str]
) -> Iterator[bytes]:
    if title is not None:
        yield encode_line({"type": "custom-title", "customTitle": title, "sessionId": new})
    for entry in source.beginning(at, agents):
        yield _line(entry, source.id, new)


def _bytes(path: Path, root: Path) -> Iterator[bytes]:
    with open_inside(path, root) as file:
        yield from chunks_of(file)


def _line(entry: Entry, old: str, new: str) -> bytes:
    if isinstance(entry, BadLine):
        return entry.line + b"\n"
    origin = {"sessionId": old, "messageUuid": entry.uuid}
    line: dict[str, Any] = {**entry.raw, "sessionId": new, "forkedFrom": origin}
    return encode_line(line)


# --- which subagents -----------------------------------------------------------------------------


def _started(source: BlockingTranscript, at: str | None) -> Iterator[AgentInfo]:
    """Find the subagents that were started up to a line, each after the one that started it."""
    calls: set[str] = set()
    end = ""
    for entry in source.beginning(at):
        calls.update(_calls(entry))
        end = max(end, entry.timestamp or "")
    taken: set[str] = set()
    for agent in source.agents():
        if _is_taken(agent, calls, taken) or (
            agent.tool_use_id is None and agent.parent is None and _began(source, agent) <= end
        ):
            taken.add(agent.id)
            yield agent


def _calls(entry: Entry) -> Iterator[str]:
    if isinstance(entry, AssistantEntry):
        yield from (block.id for block in entry.blocks if isinstance(block, ToolUseBlock))


def _is_taken(agent: AgentInfo, calls: set[str], taken: set[str]) -> bool:
    return agent.parent in taken if agent.parent is not None else agent.tool_use_id in calls


def _began(source: BlockingTranscript, agent: AgentInfo) -> str:
    """When a subagent began of which nobody knows who started it: one that compacts, say."""
    first = next(source.entries(agent=agent.id), None)
    return "" if first is None else first.timestamp or ""
