"""Messages, one class for each `type`; a prompt is one of them.

The kinds of `system` messages are in `system`; only their base is here.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from .base import UNKNOWN, Message, Number, Record, Unknown, nullable
from .blocks import Block, Content, blocks_of, text_of
from .stream import APIEvent, APIMessage, ContentBlockDelta, ErrorInfo, MessageParam, TextDelta
from .usage import ContextUsage, ModelUsage, RateLimitInfo, Usage, UsageReport


class HumanOrigin(Record, tag="human", tag_field="kind"):
    """A person typed it."""


class ChannelOrigin(Record, tag="channel", tag_field="kind"):
    """It came in over a channel that an MCP server provides."""

    server: str


class PeerOrigin(Record, tag="peer", tag_field="kind", rename="camel"):
    """Another session sent it."""

    from_: str = msgspec.field(name="from")
    from_mode: str | None = None
    """`bypass` or `prompting`."""
    name: str | None = None
    from_session: str | None = None
    sender_task_id: str | None = None
    body: str | None = None
    verified_peer_pid: Number | None = None


class TaskNotificationOrigin(Record, tag="task-notification", tag_field="kind", rename="camel"):
    """A task ended, or something scheduled came due."""

    subkind: str | None = None
    """`scheduled-trigger`, `peer-send-message`, `projects-relay` or `session-inbox`."""
    fire_reason: str | None = None
    run_id: str | None = None


class CoordinatorOrigin(Record, tag="coordinator", tag_field="kind"):
    """The session that coordinates this one sent it."""


class UnclassifiedOrigin(Record, tag="unclassified", tag_field="kind"):
    """The CLI does not know."""


class ObserverOrigin(Record, tag="observer", tag_field="kind", rename="camel"):
    """The message comes from an observer of the session."""

    from_: str = msgspec.field(name="from")
    sender_task_id: str | None = None


class AutoContinuationOrigin(Record, tag="auto-continuation", tag_field="kind"):
    """The CLI told the model to go on."""


class ObserverActivityOrigin(Record, tag="observer-activity", tag_field="kind"):
    """Events of the session, for an observer."""


class UnknownOrigin(Unknown, Record, tag=UNKNOWN, tag_field="kind"):
    """A kind of origin that this version does not know."""

    raw: dict[str, Any]


MessageOrigin = (
    HumanOrigin
    | ChannelOrigin
    | PeerOrigin
    | TaskNotificationOrigin
    | CoordinatorOrigin
    | UnclassifiedOrigin
    | ObserverOrigin
    | AutoContinuationOrigin
    | ObserverActivityOrigin
    | UnknownOrigin
)


class AssistantMessage(Message, tag="assistant", kw_only=True):
    """Text from the model, or a tool call.

    The CLI writes one line for each complete block: several lines may share a `message_id`, and
    only the last of them has the final usage.
    """

    message: APIMessage
    parent_tool_use_id: str | None = nullable()
    """The tool call that started the subagent of this; None in the main conversation."""
    error: str | None = None
    """Set when the API failed and the CLI speaks in the model's place: `rate_limit`, …"""
    is_api_error_message: bool | None = None
    api_error: str | None = None
    """The kind of error: `max_output_tokens`, `hook_denied`, … (2.1.325)."""
    api_error_status: int | None = None
    api_error_type: str | None = None
    request_id: str | None = None
    """The API's id of the request."""
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    resumed_from_incomplete_thinking: bool | None = None
    supersedes: list[str] | None = None
    """Uuids of earlier lines that this one replaces."""
    aborted: bool | None = None
    thinking_duration_ms: Number | None = None
    thinking_display: Any = None
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None
    timestamp: str | None = None
    context_usage: ContextUsage | None = None
    usage_report: UsageReport | None = None
    tool_use_meta: Any = None
    local_command_source: str | None = None
    """The output of a slash command that was answered without the model, as the CLI keeps it."""
    local_command_run: Any = None
    """That command: `command`, `args` and perhaps `plugin`."""
    local_command_outcome: Any = None

    @property
    def content(self) -> list[Block]:
        """The blocks of the message."""
        return blocks_of(self.message.content)

    @property
    def text(self) -> str:
        """The text of the message, without thinking and tool calls."""
        return text_of(self.message.content)

    @property
    def model(self) -> str | None:
        """The model; `<synthetic>` if the CLI speaks in its place."""
        return self.message.model

    @property
    def message_id(self) -> str | None:
        """The API's id of the message."""
        return self.message.id

    @property
    def usage(self) -> Usage | None:
        """The usage of the message so far."""
        return self.message.usage

    @property
    def stop_reason(self) -> str | None:
        """Why the model stopped; None while it has not."""
        return self.message.stop_reason


class UserMessage(Message, tag="user", kw_only=True):
    """A prompt, or a message of the CLI in the user's role: tool results above all."""

    message: MessageParam
    parent_tool_use_id: str | None = nullable()
    """The tool call that started the subagent which receives this."""
    is_replay: bool | None = msgspec.field(name="isReplay", default=None)
    """A repetition: the CLI repeats its input, or the beginning of the session."""
    is_synthetic: bool | None = msgspec.field(name="isSynthetic", default=None)
    tool_use_result: Any = None
    """The tool's full output, more than the model sees; a string for an error."""
    tool_result_meta: Any = None
    priority: str | None = None
    """`now`, `next` or `later`: where it goes in the queue."""
    origin: MessageOrigin | None = None
    should_query: bool | None = msgspec.field(name="shouldQuery", default=None)
    """False: add it to the conversation without a turn."""
    timestamp: str | None = None
    client_composed: bool | None = None
    """True: deliver it as it is, with mentions and slash commands unexpanded."""
    pasted_content: list[Content] | None = None
    inline_pastes: list[str] | None = None
    file_attachments: list[Any] | None = None
    agent_id: str | None = None
    subagent_type: str | None = None
    task_description: str | None = None

    @classmethod
    def of(cls, content: Content, **fields: Any) -> UserMessage:
        """Make a message in the user's role."""
        return cls(message=MessageParam("user", content), **fields)

    @property
    def content(self) -> Content:
        """A string or blocks."""
        return self.message.content

    @property
    def text(self) -> str:
        """The text of the message, without images and tool results."""
        return text_of(self.message.content)


class PermissionDenial(Record):
    """A tool call that was not allowed."""

    tool_name: str
    tool_use_id: str | None = None
    tool_input: dict[str, Any] | None = None


class DeferredToolUse(Record):
    """A tool call that a hook put off."""

    id: str
    name: str
    input: dict[str, Any]


class InvalidConfigFile(Record):
    """The configuration file that the CLI could not read."""

    path: str
    is_global: bool | None = None
    backup_searched: bool | None = None
    backup_path: str | None = None


class ResultMessage(Message, tag="result", kw_only=True):
    """The end of a turn; `ok` tells success from failure."""

    subtype: str
    """`success`, `error_during_execution`, `error_max_turns`, `error_max_budget_usd`, …"""
    is_error: bool | None = None
    """Also true with `success`, when the API failed."""
    result: str | None = None
    """The last text of the turn, or the text of the error."""
    structured_output: Any = None
    errors: list[str] | None = None
    api_error: str | None = None
    """See `AssistantMessage.api_error`."""
    api_error_status: int | None = None
    api_error_type: str | None = None
    stop_reason: str | UnsetType | None = UNSET
    """Why the model stopped; unset by CLIs that do not say so here."""
    terminal_reason: str | None = None
    """`completed`, `max_turns`, `api_error`, `aborted_tools`, `budget_exhausted`, …"""
    startup_failure_reason: str | None = None
    invalid_config_file: InvalidConfigFile | None = None

    num_turns: int | None = None
    total_cost_usd: float | None = None
    """The cost of the process since its start, by estimate."""
    usage: Usage | None = None
    """The usage of this turn, without subagents."""
    model_usage: dict[str, ModelUsage] | None = msgspec.field(name="modelUsage", default=None)
    """The usage of each model since the process was started."""
    model_usage_since_last_result: dict[str, ModelUsage] | None = None
    subagent_stats: Any = None
    permission_denials: list[PermissionDenial] | None = None
    deferred_tool_use: DeferredToolUse | None = None
    safety_stops: Any = None

    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    """The uuids of all user messages that this turn answers."""
    origin: MessageOrigin | None = None
    resume_reason: str | None = None
    local_command: str | None = None
    """The slash command that was answered without the model."""
    queued_turn_count: int | None = None
    result_index: int | None = None
    fast_mode_state: str | None = None
    """`off`, `cooldown` or `on`."""
    fast_mode_disabled_reason: str | None = None

    duration_ms: Number | None = None
    duration_api_ms: Number | None = None
    ttft_ms: Number | None = None
    ttft_stream_ms: Number | None = None
    time_to_request_ms: Number | None = None
    time_to_request_from_spawn_ms: Number | None = None
    first_request_input_tokens: int | None = None
    first_request_cache_read_input_tokens: int | None = None
    time_origin_ms: Number | None = None
    request_sent_wall_ms: Number | None = None
    first_content_frame_ms: Number | None = None
    first_stream_post_ms: Number | None = None
    first_stream_post_ack_ms: Number | None = None
    first_stream_post_queue_wait_ms: Number | None = None
    first_stream_post_queued_behind: str | None = None
    first_stream_post_wall_ms: Number | None = None
    first_text_post_ms: Number | None = None
    first_text_post_queue_wait_ms: Number | None = None
    first_text_post_queued_behind: str | None = None
    first_text_post_wall_ms: Number | None = None
    warm_spare_claimed: bool | None = None

    @property
    def ok(self) -> bool:
        """Whether the turn succeeded."""
        return self.subtype == "success" and not self.is_error and not self.was_aborted

    @property
    def was_aborted(self) -> bool:
        """Whether the turn was stopped: by an interrupt, or by a prompt that is more urgent.

        CLIs call it a success if a prompt with the priority `now` has stopped the turn.
        """
        return (self.terminal_reason or "").startswith("aborted")

    @property
    def text(self) -> str:
        """The last text of the turn; empty if there is none."""
        return self.result or ""


class StreamEvent(Message, tag="stream_event", kw_only=True):
    """A piece of a message while it is being written."""

    event: APIEvent
    parent_tool_use_id: str | None = nullable()
    ttft_ms: Number | None = None
    user_message_uuid: str | None = None
    user_message_uuids: list[str] | None = None
    resume_reason: str | None = None
    api_message_id: str | None = None
    thinking_display: Any = None
    owed_rows: Any = None
    abandoned_blocks: Any = None
    """Which blocks of a response that was cut short will not be completed."""

    @property
    def text(self) -> str:
        """The text that this event adds; empty if it adds something else."""
        event = self.event
        if isinstance(event, ContentBlockDelta) and isinstance(event.delta, TextDelta):
            return event.delta.text
        return ""


class SubagentRetry(Record):
    """A subagent asks the API again."""

    agent_id: str | None = None
    attempt: int | None = None
    max_retries: int | None = None
    retry_delay_ms: Number | None = None
    error_status: int | None = nullable()
    error_category: str | None = None


class ToolProgressMessage(Message, tag="tool_progress", kw_only=True):
    """A tool is still running."""

    tool_use_id: str
    tool_name: str | None = None
    parent_tool_use_id: str | None = nullable()
    elapsed_time_seconds: Number | None = None
    task_id: str | None = None
    heartbeat: bool | None = None
    subagent_type: str | None = None
    subagent_retry: SubagentRetry | None = None


class ToolUseSummaryMessage(Message, tag="tool_use_summary", kw_only=True):
    """The last tool calls, in a few words."""

    summary: str
    preceding_tool_use_ids: list[str] | None = None


class AuthStatusMessage(Message, tag="auth_status", kw_only=True):
    """The progress of signing in."""

    is_authenticating: bool | None = msgspec.field(name="isAuthenticating", default=None)
    output: list[str] | None = None
    error: str | None = None


class RateLimitEvent(Message, tag="rate_limit_event", kw_only=True):
    """The subscription came closer to its limit, or away from it."""

    rate_limit_info: RateLimitInfo


class PromptSuggestionMessage(Message, tag="prompt_suggestion", kw_only=True):
    """A likely next prompt. It comes after the result."""

    suggestion: str


class ConversationResetMessage(Message, tag="conversation_reset", kw_only=True):
    """The conversation was cleared and goes on under another id."""

    new_conversation_id: str
    trigger: str | None = None
    """`clear`, `plan_mode_exit`, `fresh_session` or `onboarding`."""
    user_message_uuid: str | None = None
    timestamp: str | None = None


class ActiveGoal(Record):
    """A goal that the model works towards until it is reached."""

    condition: str
    iterations: int | None = None
    set_at: Number | None = None
    tokens_at_start: int | None = None
    last_reason: str | None = None


class ActiveGoalMessage(Message, tag="active_goal", kw_only=True):
    """A goal was set; with None, removed."""

    value: ActiveGoal | None = nullable()


class CommandLifecycleMessage(Message, tag="command_lifecycle", kw_only=True):
    """The progress of a user message that had a uuid."""

    command_uuid: str | None = None
    state: str | None = None
    """`queued`, `started`, then `completed`, `cancelled`, `discarded` or `refused`."""

    @property
    def is_dropped(self) -> bool:
        """Whether no result will answer the message."""
        return self.state in ("cancelled", "discarded", "refused")


class TranscriptMirrorMessage(Message, tag="transcript_mirror", kw_only=True):
    """Lines that the CLI adds to a transcript, for a host that keeps a copy."""

    file_path: str | None = msgspec.field(name="filePath", default=None)
    entries: list[Any] | None = None


class KeepAlive(Message, tag="keep_alive", kw_only=True):
    """A sign of life."""


class ErrorMessage(Message, tag="error", kw_only=True):
    """The CLI did not understand its input."""

    error: ErrorInfo


class SessionCreatedMessage(Message, tag="session.created", kw_only=True):
    """The conversation was created. Only one dialect has this message."""


def _system() -> Literal["system"]:
    return "system"


class SystemMessage(Message, tag_field="subtype", kw_only=True):
    """News about the session rather than a part of the conversation."""

    type: Literal["system"] = msgspec.field(default_factory=_system)

    @property
    def subtype(self) -> str | None:
        """The kind of news: every class of system messages has its own."""
        return str(self.__struct_config__.tag)

    @property
    def data(self) -> dict[str, Any]:
        """The whole JSON object."""
        return self.raw


class UnknownMessage(Unknown, Message, tag=UNKNOWN, kw_only=True):
    """A message of a type that this version does not know. `data` is the whole JSON object."""

    data: dict[str, Any]

    @property
    def kind(self) -> str | None:
        """The `type`; None if it is missing or no string."""
        kind = self.data.get("type")
        return kind if isinstance(kind, str) else None


class UnknownSystemMessage(Unknown, SystemMessage, tag=UNKNOWN, kw_only=True):
    """A system message of a subtype that this version does not know."""

    data: dict[str, Any]

    @property
    def subtype(self) -> str | None:
        """The subtype; None if it is missing or no string."""
        subtype = self.data.get("subtype")
        return subtype if isinstance(subtype, str) else None


MESSAGES: tuple[type[Message], ...] = tuple(
    kind for kind in Message.__subclasses__() if kind not in (SystemMessage, UnknownMessage)
)
"""Every kind of message that its `type` alone tells apart."""
