"""What the simulated model writes: API messages, block by block, streamed if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from ..wire import (
    APIEvent,
    APIMessage,
    AssistantMessage,
    Block,
    CacheCreation,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    Delta,
    InputJsonDelta,
    MessageChange,
    MessageDelta,
    MessageStart,
    MessageStop,
    OutputTokensDetails,
    ServerToolUsage,
    SignatureDelta,
    StatusMessage,
    StreamEvent,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ThinkingTokensMessage,
    ToolUseBlock,
    Usage,
    nullable,
)
from .engine import Engine
from .session import new_id, new_uuid, timestamp
from .subagents import Subagent
from .transcript import Transcript

__all__ = ["API_ERRORS", "PROMPT", "EndTurn", "ModelOutput", "synthetic_message", "turn_usage"]

PIECE = 12
"""Characters in one delta: about as many as in a real one."""

PROMPT = 100
"""The input tokens of each call of the model, which is a guess."""

SHOWN = "updates"
"""How much of its thoughts the model shows, as the CLI calls it."""


API_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
"""What the API calls its errors, by HTTP status."""


class EndTurn(Exception):
    """How a turn ends: with this result subtype, for this reason. Raised, it ends one early."""

    def __init__(self, subtype: str, error: str, terminal_reason: str | None) -> None:
        super().__init__(error)
        self.subtype = subtype
        self.error = error
        self.terminal_reason = terminal_reason


class ModelOutput:
    """The messages of one agent in one turn: the main one, or a subagent."""

    def __init__(
        self, engine: Engine, prompt_uuids: list[str], agent: Subagent | None = None
    ) -> None:
        self.engine = engine
        self.agent = agent
        self.parent: str | None = None if agent is None else agent.run.tool_use_id
        main = engine.transcript
        self.transcript: Transcript = main if agent is None else main.of_agent(agent.run)
        self.calls: int = 0
        self.usage: Usage = turn_usage(0, 0)
        self._used = (0, 0)
        self.stop_reason: str | None = None
        names = engine.session.persona.names
        self._prompt_uuid = prompt_uuids[-1] if prompt_uuids and names != "none" else None
        self._turn_uuids = prompt_uuids if prompt_uuids and names == "all" else None
        self._message: APIMessage | None = None
        self._index = 0
        self._output = 0

    def text(self, text: str) -> None:
        """Say something."""
        deltas: list[Delta] = [TextDelta(piece) for piece in pieces(text)]
        self._block(TextBlock(""), deltas, TextBlock(text), text)

    def thinking(self, text: str) -> None:
        """Think aloud."""
        deltas: list[Delta] = [ThinkingDelta(piece) for piece in pieces(text)]
        deltas.append(SignatureDelta("c2ltdWxhdGVk"))
        whole = ThinkingBlock(text, signature="c2ltdWxhdGVk")
        self._block(ThinkingBlock("", signature=""), deltas, whole, text)

    def tool_use(self, block: ToolUseBlock) -> None:
        """Call a tool."""
        written = msgspec.json.encode(block.input).decode()
        start = ToolUseBlock(block.id, block.name, {})
        self._block(start, [InputJsonDelta(piece) for piece in pieces(written)], block, written)

    def fail(self, text: str, status: int) -> None:
        """Report an error of the API in place of the model's message."""
        if self.engine.manner.errors == "error":
            return  # it is told by a message of its own
        self._announce()
        self.stop_reason = "stop_sequence"
        message = synthetic_message(TextBlock(text), self.stop_reason, "")
        kinds = {429: "rate_limit", 529: "overloaded"}
        self._send(
            message,
            error=kinds.get(status, "server_error" if status >= 500 else "unknown"),
            request_id=new_id("req"),
            is_api_error_message=True,
            api_error_status=status,
            api_error_type=API_ERRORS.get(status, "api_error"),
        )

    def end_silently(self) -> None:
        """Send a message without content, for a dialect in which a message ends the turn."""
        self._open()
        opened = self._message
        assert opened is not None
        self._send(FullMessage("assistant", [], opened.id, "message", opened.model))
        self.close("end_turn")

    def close(self, stop_reason: str) -> None:
        """End the API message, if one is open, and count what it cost."""
        if self._message is None:
            return
        tokens = api_usage(PROMPT, self._output)
        self.transcript.complete(stop_reason, turn_usage(PROMPT, self._output))
        self._stream(MessageDelta(MessageChange(stop_reason, None), tokens))
        self._stream(MessageStop())
        self._message = None
        self.stop_reason = stop_reason
        self.calls += 1
        self._spend()

    def check_limits(self) -> None:
        """End the turn if another call of the model would exceed a limit."""
        session = self.engine.session
        limit = session.flags.max_turns
        if limit and self.calls >= limit:
            self.transcript.attach(
                "max_turns_reached", maxTurns=limit, turnCount=limit + 1, exitCommitted=False
            )
            text = f"Reached maximum number of turns ({limit})"
            raise EndTurn("error_max_turns", text, "max_turns")
        self.check_budget()

    def check_budget(self) -> None:
        """End the turn if the budget is spent, also with its last answer."""
        session = self.engine.session
        budget = session.flags.max_budget_usd
        if budget is not None and session.cost >= budget:
            text = f"Reached maximum budget (${budget:g})"
            raise EndTurn("error_max_budget_usd", text, "budget_exhausted")

    def _spend(self) -> None:
        cost = (PROMPT * 3 + self._output * 15) / 1_000_000
        taken, given = self._used
        self._used = (taken + PROMPT, given + self._output)
        self.usage = turn_usage(*self._used)
        self.engine.session.spend(PROMPT, self._output, cost)

    def _block(self, start: Block, deltas: list[Delta], whole: Block, text: str) -> None:
        if self._message is None:
            self._open()
        self._stream(ContentBlockStart(self._index, start))
        if isinstance(start, ThinkingBlock) and self.engine.session.persona.narrates:
            self._count_thoughts(text)
        for delta in deltas:
            self._stream(ContentBlockDelta(self._index, delta))
        self._output += max(1, len(text) // 4)
        self._say(whole)
        self._stream(ContentBlockStop(self._index))
        self._index += 1

    def _count_thoughts(self, text: str) -> None:
        tokens = max(1, len(text) // 4)
        self.engine.send(
            ThinkingTokensMessage(
                estimated_tokens=tokens,
                estimated_tokens_delta=tokens,
                user_message_uuid=self._prompt_uuid,
                **self.engine.session.stamp(),
            )
        )

    def _announce(self) -> None:
        """Announce a request to the API, if the SDK asked for partial messages."""
        session = self.engine.session
        if self._streams and session.persona.narrates:
            self.engine.send(
                StatusMessage(
                    status="requesting",
                    user_message_uuids=self._turn_uuids,
                    **session.stamp(),
                )
            )

    def _open(self) -> None:
        self._announce()
        self._message = APIMessage(
            "assistant",
            [],
            id=new_id("msg"),
            type="message",
            model=self.engine.session.model,
            stop_sequence=None,
            usage=api_usage(PROMPT, 1),
        )
        self._index = self._output = 0
        self._stream(MessageStart(self._message))

    def _say(self, block: Block) -> None:
        opened = self._message
        assert opened is not None
        message = FullMessage(
            "assistant",
            [block],
            id=opened.id,
            type="message",
            model=opened.model,
            stop_sequence=None,
            usage=opened.usage,
        )
        self._send(message, **_aside(block))

    def _send(self, message: APIMessage, **fields: Any) -> None:
        said = AssistantMessage(
            message=message,
            parent_tool_use_id=self.parent,
            **self.engine.session.stamp(),
            timestamp=timestamp(),
            user_message_uuid=self._prompt_uuid,
            user_message_uuids=self._prompt_uuids,
            **fields,
            **({} if self.agent is None else self.agent.fields),
        )
        if said.is_api_error_message:
            self.transcript.failed(said)
        else:
            self.transcript.said(said)
        if self._is_forwarded(message.content):
            self.engine.send(said)
        self._prompt_uuid = None  # only the first message of a turn names the prompt

    def _is_forwarded(self, blocks: str | Sequence[Block]) -> bool:
        """Whether the SDK hears it: of what subagents say, newer CLIs forward only tool uses."""
        session = self.engine.session
        asked_for = session.flags.forward_subagent_text or session.setup.forward_subagent_text
        if self.agent is None or self.agent.in_background or asked_for:
            return True
        return not session.persona.narrates or isinstance(blocks[-1], ToolUseBlock)

    @property
    def _streams(self) -> bool:
        """Whether the SDK asked for partial messages."""
        return self.engine.session.flags.include_partial_messages and self.parent is None

    @property
    def _prompt_uuids(self) -> list[str] | None:
        return self._turn_uuids if self._prompt_uuid else None

    def _stream(self, event: APIEvent) -> None:
        if self.parent is not None or not self.engine.manner.streams_event(event, self._streams):
            return
        assert self._message is not None
        first: dict[str, Any] = {}
        if isinstance(event, MessageStart):
            first = {"ttft_ms": 0, "thinking_display": SHOWN}
            if self._prompt_uuid:
                first["user_message_uuid"] = self._prompt_uuid
                first["user_message_uuids"] = self._prompt_uuids
                first["owed_rows"] = []
        elif _is_thinking(event):
            first = {"thinking_display": SHOWN}
        self.engine.send(
            StreamEvent(
                event=event,
                **self.engine.session.stamp(),
                api_message_id=self._message.id,
                **first,
            )
        )


def _is_thinking(event: APIEvent) -> bool:
    if isinstance(event, ContentBlockStart):
        return isinstance(event.content_block, ThinkingBlock)
    return isinstance(event, ContentBlockDelta) and isinstance(event.delta, ThinkingDelta)


def _aside(block: Block) -> dict[str, Any]:
    """Fields of the message that the CLI adds for a block."""
    if isinstance(block, ThinkingBlock):
        return {"thinking_duration_ms": 0, "thinking_display": SHOWN}
    if isinstance(block, ToolUseBlock) and block.name.startswith("mcp__"):
        _, server, tool = block.name.split("__", 2)
        names = {"display_name": tool.title(), "server_display_name": server, "tool_name": tool}
        return {"tool_use_meta": [{"id": block.id, **names}]}
    return {}


def pieces(text: str) -> list[str]:
    """Cut a string into the pieces of a stream of deltas."""
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


# --- as the newest CLI writes it: with `null` where there is nothing to say -----------------------


class FullUsage(Usage):
    """A usage report that the CLI makes itself."""

    output_tokens_details: OutputTokensDetails | None = nullable()
    service_tier: str | None = nullable()
    inference_geo: str | None = nullable()
    iterations: Any = nullable()
    speed: str | None = nullable()
    fallback_credit: Any = nullable()


class FullMessage(APIMessage):
    """A message of the model, as the CLI passes it on."""

    context_management: Any = nullable()


class SyntheticMessage(FullMessage):
    """A message of the CLI in place of one of the model."""

    stop_details: Any = nullable()
    container: Any = nullable()
    diagnostics: Any = nullable()


def synthetic_message(block: Block, stop_reason: str, stop_sequence: str | None) -> APIMessage:
    """What the CLI itself says in the model's place."""
    return SyntheticMessage(
        "assistant",
        [block],
        id=new_uuid(),
        type="message",
        model="<synthetic>",
        stop_reason=stop_reason,
        stop_sequence=stop_sequence,
        usage=_full_usage(0, 0),
    )


def api_usage(input_tokens: int, output_tokens: int) -> Usage:
    """The usage of a message, as the API reports it."""
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        service_tier="standard",
    )


def turn_usage(input_tokens: int, output_tokens: int) -> Usage:
    """The usage of a turn."""
    return _full_usage(
        input_tokens,
        output_tokens,
        output_tokens_details=OutputTokensDetails(0),
        service_tier="standard",
        inference_geo="",
        iterations=[],
        speed="standard",
    )


def _full_usage(input_tokens: int, output_tokens: int, **details: Any) -> Usage:
    return FullUsage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        cache_creation=CacheCreation(0, 0),
        server_tool_use=ServerToolUsage(0, 0),
        **details,
    )
