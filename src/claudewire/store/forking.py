"""The lines of a fork: those of the conversation that it begins with, under a new id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .entries import BadLine, Entry
from .transcript import BlockingTranscript
from .writing import encode_line

__all__ = ["forked_lines"]


def forked_lines(
    source: BlockingTranscript, new: str, at: str | None, title: str | None
) -> Iterator[bytes]:
    """Yield the lines of a fork, up to and including the line `at`.

    Lines keep their uuids, as the CLI's own forks do, and say where they come from.

    Raises:
        StoreError: there is no such line.
    """
    if title is not None:
        yield encode_line({"type": "custom-title", "customTitle": title, "sessionId": new})
    for entry in source.conversation(at):
        if not isinstance(entry, BadLine):
            yield encode_line(_forked(entry, source.id, new))
        if at is not None and entry.uuid == at:
            return


def _forked(entry: Entry, old: str, new: str) -> dict[str, Any]:
    origin = {"sessionId": old, "messageUuid": entry.uuid}
    return {**entry.raw, "sessionId": new, "forkedFrom": origin}
