"""The lines of a transcript, one class for each `type`.

The rules are those of the wire: a line of the conversation is typed and keeps `raw`, other types
arrive as `OtherEntry`, a field of the wrong type is left out and listed in `problems`, and an
unreadable line is a `BadLine`. Nothing raises, and `line` has the bytes on disk. Messages consist
of the same blocks as those of a live turn.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from ..wire import (
    APIMessage,
    Block,
    Event,
    MessageParam,
    Oversize,
    ToolResultBlock,
    blocks_of,
    fit,
    load,
    prepared,
    set_line,
    set_problems,
    text_of,
)

NOT_A_PROMPT = ("<local-command-", "<command-name>", "[Request interrupted", "<task-notification>")
"""Beginnings of texts that the CLI wrote in the user's place."""


class Entry(Event, kw_only=True, tag_field="type", rename="camel"):
    """One line of a transcript.

    Attributes:
        uuid: names the line; None for lines that are not part of the conversation.
        parent_uuid: the line before this one. It may be missing, or come later in the file.
        session_id: the conversation. Lines copied from another one have the new id.
        timestamp: the time of the line, in UTC.
        cwd: the working directory.
        git_branch: the branch that was checked out.
        version: the version of the CLI.
        is_sidechain: whether it belongs to a subagent.
        agent_id: the subagent.
        forked_from: the session and line that a fork copied.
    """

    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    is_sidechain: bool | None = None
    agent_id: str | None = None
    forked_from: Any = None


class MessageEntry(Entry, kw_only=True):
    """A line with a message: a `UserEntry` or an `AssistantEntry`."""

    message: Any

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks."""
        return blocks_of(self.message.content)

    @property
    def text(self) -> str:
        """The text, without other blocks."""
        return text_of(self.message.content)


class UserEntry(MessageEntry, tag="user", kw_only=True):
    """A prompt, or a text of the CLI in the user's place: tool results above all."""

    message: MessageParam
    is_meta: bool | None = None
    """The CLI wrote it for the model, not a person."""
    is_compact_summary: bool | None = None
    """It sums up the conversation that was compacted."""
    tool_use_result: Any = None
    """The whole result of the tool; the model sees only the block."""

    @property
    def is_prompt(self) -> bool:
        """Whether a person or a program wrote it for the model: it starts a turn."""
        is_result = any(isinstance(block, ToolResultBlock) for block in self.blocks)
        if self.is_meta or self.is_compact_summary or is_result:
            return False
        return not self.text.lstrip().startswith(NOT_A_PROMPT)


class AssistantEntry(MessageEntry, tag="assistant", kw_only=True):
    """A block of the model's reply. All lines with the same `message.id` are one message."""

    message: APIMessage
    request_id: str | None = None
    is_api_error_message: bool | None = None
    cost_usd: float | None = msgspec.field(name="costUSD", default=None)


class SystemEntry(Entry, tag="system", kw_only=True):
    """A note of the CLI: a compaction, an error, a command."""

    subtype: str | None = None
    content: Any = None
    level: str | None = None
    logical_parent_uuid: str | None = None
    """The line before a compaction: the first line after it has no other parent."""
    compact_metadata: Any = None

    @property
    def is_compaction(self) -> bool:
        """Whether the conversation was compacted here."""
        return self.subtype == "compact_boundary"


class OtherEntry(Entry, tag="\0", kw_only=True):
    """A line of another type, which this version may not know: a title, an attachment, progress."""

    kind: str | None = None
    data: dict[str, Any] = {}


class BadLine(Entry, tag="\0bad", kw_only=True):
    """An unreadable line, and the reason. Its bytes are in `line`."""

    reason: str = ""
    length: int = 0


_KINDS: dict[str, type[Entry]] = {
    "user": UserEntry,
    "assistant": AssistantEntry,
    "system": SystemEntry,
}
_decode = msgspec.json.Decoder(prepared(UserEntry | AssistantEntry | SystemEntry)).decode
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


def read_entry(line: bytes | Oversize) -> Entry:
    """Read one line. Never raises."""
    if isinstance(line, Oversize):
        return BadLine(reason="longer than any line may be", length=line.length)
    try:
        entry: Entry = _decode(line)
    except _REFUSED:
        entry = _read_leniently(line)
    set_line(entry, line)
    return entry


def _read_leniently(line: bytes) -> Entry:
    """Read a line that does not fit the declared types, losing nothing."""
    try:
        data = load(line)
    except (ValueError, RecursionError) as error:
        return BadLine(reason=f"not JSON: {error}", length=len(line))
    if not isinstance(data, dict):
        return BadLine(reason=f"not a JSON object but {type(data).__name__}", length=len(line))
    kind = data.get("type")
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return _other(data)
    try:
        entry, problems = fit(data, known)
    except (msgspec.ValidationError, RecursionError) as error:
        return _other(load(line), (str(error),))
    set_problems(entry, problems)
    return cast("Entry", entry)


def _other(data: dict[str, Any], problems: tuple[str, ...] = ()) -> OtherEntry:
    kind = data.get("type")
    named = {it.name: data.get(it.encode_name) for it in msgspec.structs.fields(Entry)}
    texts: dict[str, Any] = {name: it for name, it in named.items() if isinstance(it, str)}
    entry = OtherEntry(
        kind=kind if isinstance(kind, str) else None,
        data=data,
        is_sidechain=data.get("isSidechain") is True or None,
        **{**texts, "forked_from": data.get("forkedFrom")},
    )
    set_problems(entry, problems)
    return entry
