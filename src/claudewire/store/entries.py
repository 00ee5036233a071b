"""The lines of a transcript, one class for each `type`.

The rules are those of the wire: a known line is typed and keeps `raw`, an unknown type arrives as
`UnknownEntry`, a field that does not fit is left out and listed in `problems`, and a line that
cannot be read at all is a `BadLine`. Nothing raises, and `line` has the bytes as they are on disk.
Messages consist of the same blocks as those of a live turn.
"""

from __future__ import annotations

from typing import Any, Union, cast

import msgspec

from ..wire import (
    APIMessage,
    Block,
    Content,
    Event,
    MessageOrigin,
    MessageParam,
    ModelUsage,
    Number,
    ToolResultBlock,
    Unknown,
    blocks_of,
    fit,
    load,
    prepared,
    set_line,
    set_problems,
    text_of,
)

__all__ = [
    "ENTRIES",
    "APIRequestBlobEntry",
    "APIRequestEntry",
    "APIRequestShapeEntry",
    "AgentColorEntry",
    "AgentNameEntry",
    "AgentSettingEntry",
    "AiTitleEntry",
    "AssistantEntry",
    "AtisLatchEntry",
    "AttachmentEntry",
    "BadLine",
    "CompactMetadata",
    "ContentReplacementEntry",
    "CostStateEntry",
    "CustomTitleEntry",
    "Entry",
    "FileHistorySnapshotEntry",
    "LastPromptEntry",
    "ModeEntry",
    "PermissionModeEntry",
    "ProgressEntry",
    "QueueOperationEntry",
    "SummaryEntry",
    "SystemEntry",
    "TagEntry",
    "ToolsUsedEntry",
    "UnknownEntry",
    "UserEntry",
    "WorktreeStateEntry",
    "read_entry",
]

HEAD = 200
"""Bytes of a bad line that are shown: enough to see what it was."""


class Entry(Event, kw_only=True, tag_field="type", rename="camel"):
    """One line of a transcript.

    Attributes:
        uuid: names the line; None for lines that are not part of the conversation.
        parent_uuid: the line that this one follows. It may be missing, or come later in the file.
        session_id: the conversation. Lines that were copied from another one have the new id.
        timestamp: when it was written, in UTC.
        cwd: the working directory.
        git_branch: the branch that was checked out.
        version: the version of the CLI.
        is_sidechain: whether it belongs to a subagent.
        agent_id: which subagent.
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
    user_type: str | None = None
    entrypoint: str | None = None
    slug: str | None = None


class UserEntry(Entry, tag="user", kw_only=True):
    """What the user said, and what the CLI said in the user's place: tool results above all."""

    message: MessageParam
    is_meta: bool | None = None
    """The CLI wrote it for the model, not a person."""
    is_compact_summary: bool | None = None
    """It sums up the conversation that was compacted."""
    is_visible_in_transcript_only: bool | None = None
    permission_mode: str | None = None
    prompt_id: str | None = None
    prompt_source: str | None = None
    origin: MessageOrigin | None = None
    turn_origin: str | None = None
    turn_position: Any = None
    turn_attribution_key: str | None = None
    queue_skip_attachments: bool | None = None
    tool_use_result: Any = None
    """All that the tool returned; the model sees only the block."""
    source_tool_assistant_uuid: str | None = msgspec.field(
        name="sourceToolAssistantUUID", default=None
    )
    permission_decision: Any = None
    tool_denial_kind: str | None = None
    sandboxed: bool | None = None
    forked_from: Any = None

    @property
    def content(self) -> Content:
        """What is said: a string or blocks."""
        return self.message.content

    @property
    def blocks(self) -> list[Block]:
        """What is said, as blocks."""
        return blocks_of(self.message.content)

    @property
    def text(self) -> str:
        """The text, without images and tool results."""
        return text_of(self.message.content)

    @property
    def is_tool_result(self) -> bool:
        """Whether it has the result of a tool."""
        return any(isinstance(block, ToolResultBlock) for block in self.blocks)

    @property
    def is_prompt(self) -> bool:
        """Whether a person or a program said it to the model: it starts a turn."""
        if self.is_meta or self.is_compact_summary or self.is_tool_result:
            return False
        return not self.text.lstrip().startswith(_NOT_SAID)


_NOT_SAID = ("<local-command-", "<command-name>", "[Request interrupted", "<task-notification>")
"""How a text begins that the CLI wrote in the user's place."""


class AssistantEntry(Entry, tag="assistant", kw_only=True):
    """A block of what the model said. All lines with the same `message.id` are one message."""

    message: APIMessage
    request_id: str | None = None
    request_ref: str | None = None
    requested_model: str | None = None
    prompt_cache_requested: str | None = None
    api_block_index: int | None = None
    is_api_error_message: bool | None = None
    error: Any = None
    api_error: Any = None
    cost_usd: float | None = msgspec.field(name="costUSD", default=None)
    duration_ms: Number | None = None
    effort: str | None = None
    per_turn_effort: Any = None
    made_by: Any = None
    thinking_duration_ms: Number | None = None
    thinking_display: Any = None
    tool_input_stream_ms: Number | None = None
    attribution_agent: str | None = None
    forked_from: Any = None

    @property
    def blocks(self) -> list[Block]:
        """What is said, as blocks."""
        return blocks_of(self.message.content)

    @property
    def text(self) -> str:
        """The text, without thinking and tool calls."""
        return text_of(self.message.content)


class CompactMetadata(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """What compaction did."""

    trigger: str | None = None
    """`manual` or `auto`."""
    pre_tokens: int | None = None
    post_tokens: int | None = None
    duration_ms: Number | None = None
    preserved_segment: Any = None
    preserved_messages: Any = None
    cumulative_dropped_tokens: int | None = None


class SystemEntry(Entry, tag="system", kw_only=True):
    """Something that the CLI noted: that it compacted the conversation, an error, a command."""

    subtype: str | None = None
    content: Any = None
    level: str | None = None
    is_meta: bool | None = None
    logical_parent_uuid: str | None = None
    """The line before a compaction: the first line after it has no other parent."""
    compact_metadata: CompactMetadata | None = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    forked_from: Any = None

    @property
    def is_compaction(self) -> bool:
        """Whether the conversation was compacted here."""
        return self.subtype == "compact_boundary"


class AttachmentEntry(Entry, tag="attachment", kw_only=True):
    """What the CLI tells the model beside the prompts: files, reminders, its own settings."""

    attachment: Any = None
    rendered: Any = None
    rendered_role: str | None = None
    rendered_beside_tool_result: Any = None
    rendered_in_human_turn: Any = None
    forked_from: Any = None

    @property
    def kind(self) -> str | None:
        """What kind of attachment it is."""
        found = self.attachment.get("type") if isinstance(self.attachment, dict) else None
        return found if isinstance(found, str) else None


class ProgressEntry(Entry, tag="progress", kw_only=True):
    """What happened while a tool ran. It is not part of the conversation."""

    data: Any = None
    tool_use_id: str | None = msgspec.field(name="toolUseID", default=None)
    parent_tool_use_id: str | None = msgspec.field(name="parentToolUseID", default=None)


class SummaryEntry(Entry, tag="summary", kw_only=True):
    """A title that the CLI gave to a conversation, perhaps to one in another file."""

    summary: str | None = None
    leaf_uuid: str | None = None


class CustomTitleEntry(Entry, tag="custom-title", kw_only=True):
    """The title that a person gave; the last one counts."""

    custom_title: str | None = None


class AiTitleEntry(Entry, tag="ai-title", kw_only=True):
    """The title that the CLI gave; the last one counts."""

    ai_title: str | None = None


class TagEntry(Entry, tag="tag", kw_only=True):
    """A tag; the last one counts, and an empty one takes it away."""

    tag: str | None = None


class AgentNameEntry(Entry, tag="agent-name", kw_only=True):
    """The name of the session among others."""

    agent_name: str | None = None


class AgentColorEntry(Entry, tag="agent-color", kw_only=True):
    """The colour of the session among others."""

    agent_color: str | None = None


class AgentSettingEntry(Entry, tag="agent-setting", kw_only=True):
    """The agent that the session runs as."""

    agent_setting: Any = None


class ModeEntry(Entry, tag="mode", kw_only=True):
    """The mode of the session."""

    mode: str | None = None


class PermissionModeEntry(Entry, tag="permission-mode", kw_only=True):
    """The permission mode of the session."""

    permission_mode: str | None = None


class LastPromptEntry(Entry, tag="last-prompt", kw_only=True):
    """The last prompt, and the line at which the conversation goes on."""

    last_prompt: str | None = None
    leaf_uuid: str | None = None
    explicit: bool | None = None


class QueueOperationEntry(Entry, tag="queue-operation", kw_only=True):
    """A prompt was queued, or taken from the queue."""

    operation: str | None = None
    content: Any = None
    reason: str | None = None
    command_uuid: str | None = None
    delivery_id: str | None = None


class FileHistorySnapshotEntry(Entry, tag="file-history-snapshot", kw_only=True):
    """Which files were backed up before the model changed them."""

    message_id: str | None = None
    snapshot: Any = None
    is_snapshot_update: bool | None = None


class ContentReplacementEntry(Entry, tag="content-replacement", kw_only=True):
    """Content that was moved to a file because of its size."""

    replacements: Any = None


class WorktreeStateEntry(Entry, tag="worktree-state", kw_only=True):
    """The git worktree that the session works in."""

    worktree_session: Any = None


class ToolsUsedEntry(Entry, tag="tools-used", kw_only=True):
    """The tools that were used so far."""

    tools: list[str] | None = None


class AtisLatchEntry(Entry, tag="atis-latch", kw_only=True):
    """A setting of the CLI's own."""

    atis: Any = None


class APIRequestEntry(Entry, tag="api-request", kw_only=True):
    """A request to the API, without its messages."""

    id: str | None = None
    query_source: str | None = None
    shape_hash: str | None = None
    params: Any = None
    base: str | None = None
    keep: int | None = None
    tail: Any = None
    cache_control: Any = None
    request_digest: Any = None


class APIRequestBlobEntry(Entry, tag="api-request-blob", kw_only=True):
    """A message of a request to the API."""

    hash: str | None = None
    message: Any = None


class APIRequestShapeEntry(Entry, tag="api-request-shape", kw_only=True):
    """The system prompt and the tools of requests to the API."""

    shape_hash: str | None = None
    shape: Any = None


class CostStateEntry(Entry, tag="cost-state", kw_only=True):
    """What the conversation has cost so far, with all the processes that it was continued in."""

    total_cost_usd: float | None = msgspec.field(name="totalCostUSD", default=None)
    model_usage: dict[str, ModelUsage] | None = None
    total_api_duration: Number | None = msgspec.field(name="totalAPIDuration", default=None)
    total_api_duration_without_retries: Number | None = msgspec.field(
        name="totalAPIDurationWithoutRetries", default=None
    )
    total_tool_duration: Number | None = None
    total_duration: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    start_time: Number | None = None
    has_unknown_model_cost: bool | None = None


class UnknownEntry(Unknown, Entry, tag="\0", kw_only=True):
    """A type of line that this version does not know."""

    kind: str | None = None
    data: dict[str, Any] = {}


class BadLine(Entry, tag="\0bad", kw_only=True):
    """A line that cannot be read, and why. Its bytes are in `line`."""

    reason: str = ""
    length: int = 0

    @property
    def head(self) -> str:
        """How it begins."""
        return self.line[:HEAD].decode("utf-8", "replace")


ENTRIES: tuple[type[Entry], ...] = (
    UserEntry,
    AssistantEntry,
    SystemEntry,
    AttachmentEntry,
    ProgressEntry,
    SummaryEntry,
    CustomTitleEntry,
    AiTitleEntry,
    TagEntry,
    AgentNameEntry,
    AgentColorEntry,
    AgentSettingEntry,
    ModeEntry,
    PermissionModeEntry,
    LastPromptEntry,
    QueueOperationEntry,
    FileHistorySnapshotEntry,
    ContentReplacementEntry,
    WorktreeStateEntry,
    ToolsUsedEntry,
    AtisLatchEntry,
    APIRequestEntry,
    APIRequestBlobEntry,
    APIRequestShapeEntry,
    CostStateEntry,
)

_KINDS: dict[str, type[Entry]] = {cast("str", kind.__struct_config__.tag): kind for kind in ENTRIES}
_decode = msgspec.json.Decoder(prepared(Union[ENTRIES])).decode  # noqa: UP007 - the members are a tuple
_UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)


def read_entry(line: bytes) -> Entry:
    """Read one line, whatever it is."""
    try:
        entry: Entry = _decode(line)
    except _UNREADABLE:
        entry = _read_slowly(line)
    set_line(entry, line)
    return entry


def _read_slowly(line: bytes) -> Entry:
    """Read what does not fit the declared types, losing nothing."""
    try:
        data = load(line)
    except (ValueError, RecursionError) as error:
        return BadLine(reason=f"not JSON: {error}", length=len(line))
    if not isinstance(data, dict):
        return BadLine(reason=f"not a JSON object but {type(data).__name__}", length=len(line))
    kind = data.get("type")
    known = _KINDS.get(kind) if isinstance(kind, str) else None
    if known is None:
        return _unknown(data)
    try:
        entry, problems = fit(data, known)
    except (msgspec.ValidationError, RecursionError) as error:
        return _unknown(load(line), (str(error),))
    set_problems(entry, problems)
    return cast("Entry", entry)


def _unknown(data: dict[str, Any], problems: tuple[str, ...] = ()) -> UnknownEntry:
    names = ("uuid", "parentUuid", "sessionId", "timestamp", "cwd", "agentId")
    texts = {name: value for name in names if isinstance(value := data.get(name), str)}
    base = msgspec.convert(texts, prepared(_Names))
    kind = data.get("type")
    entry = UnknownEntry(
        kind=kind if isinstance(kind, str) else None,
        data=data,
        is_sidechain=data.get("isSidechain") is True or None,
        **msgspec.structs.asdict(base),
    )
    set_problems(entry, problems)
    return entry


class _Names(msgspec.Struct, rename="camel"):
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    agent_id: str | None = None
