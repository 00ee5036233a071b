"""The output of the simulated model: API messages, block by block, streamed if asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from .. import wire
from .engine import Engine
from .session import SimulatedSession, new_id, timestamp
from .subagents import Subagent
from .transcript import Transcript

PIECE = 12
"""The characters in one delta: about as many as in a real one."""

PROMPT = 100
"""The invented number of input tokens of each model call."""

SIGNATURE = "c2ltdWxhdGVk"

API_ERRORS = {
    400: ("invalid_request_error", "unknown"),
    401: ("authentication_error", "authentication_failed"),
    403: ("permission_error", "authentication_failed"),
    404: ("not_found_error", "model_not_found"),
    413: ("request_too_large", "unknown"),
    429: ("rate_limit_error", "rate_limit"),
    529: ("overloaded_error", "server_error"),
}
"""The names of errors by HTTP status: those of the API, and those of the CLI."""


ERROR_WORDS = {"credit balance": "billing_error", "prompt is too long": "invalid_request"}
"""The names of the CLI for errors that their message tells apart."""


def api_error(status: int, message: str = "") -> tuple[str, str]:
    """Return the names of an error: that of the API by its status, and that of the CLI."""
    unknown = ("api_error", "server_error" if status >= 500 else "unknown")
    kind, error = API_ERRORS.get(status, unknown)
    known = (name for words, name in ERROR_WORDS.items() if words in message.lower())
    return kind, next(known, error)


class EndTurn(Exception):
    """The end of a turn with a result subtype, an error and a reason. Raised, it ends one early."""

    def __init__(self, subtype: str, error: str, terminal_reason: str | None) -> None:
        super().__init__(error)
        self.subtype = subtype
        self.error = error
        self.terminal_reason = terminal_reason


class ModelOutput:
    """The messages of one agent in one turn: of the main one, or a subagent."""

    def __init__(
        self, engine: Engine, prompt_uuids: Sequence[str] = (), agent: Subagent | None = None
    ) -> None:
        self.engine = engine
        self.session: SimulatedSession = engine.session
        self.agent = agent
        self.parent: str | None = None if agent is None else agent.tool_use_id
        main = engine.transcript
        self.transcript: Transcript = main if agent is None else main.of_agent(agent)
        self.calls: int = 0
        self.usage: wire.Usage = usage(0, 0)
        self.stop_reason: str | None = None
        names = engine.session.persona.names
        self._prompt_uuid = prompt_uuids[-1] if prompt_uuids and names != "none" else None
        self._turn_uuids = list(prompt_uuids) if prompt_uuids and names == "all" else None
        self._message: wire.APIMessage | None = None
        self._index = self._output = 0

    # --- what the model does ---------------------------------------------------------------------

    def text(self, text: str) -> None:
        """Say something."""
        self._block(wire.TextBlock(""), wire.TextDelta, text, wire.TextBlock(text))

    def thinking(self, text: str) -> None:
        """Think aloud."""
        start, whole = wire.ThinkingBlock("", ""), wire.ThinkingBlock(text, SIGNATURE)
        self._block(start, wire.ThinkingDelta, text, whole, wire.SignatureDelta(SIGNATURE))

    def tool_use(self, block: wire.ToolUseBlock) -> None:
        """Call a tool."""
        if self.agent is not None:
            self.agent.progress(block.name, block.input)
        written = msgspec.json.encode(block.input).decode()
        start = wire.ToolUseBlock(block.id, block.name, {})
        self._block(start, wire.InputJsonDelta, written, block)

    def fail(self, text: str, status: int) -> None:
        """Report an error of the API in place of the model's message."""
        if self.engine.behavior.errors == "error":
            return  # a separate message reports it
        self._announce()
        self.stop_reason = "stop_sequence"
        kind, error = api_error(status, text)
        self._send(
            replace(synthetic_message(text, self.stop_reason), stop_sequence=""),
            error=error,
            request_id=new_id("req"),
            is_api_error_message=True,
            api_error_status=status,
            api_error_type=kind,
        )

    def end_silently(self) -> None:
        """Send a message without content, for a dialect in which a message ends the turn."""
        opened = self._open()
        self._send(opened)
        self.close("end_turn")

    def close(self, stop_reason: str) -> None:
        """End the API message, if one is open, and count its costs."""
        if self._message is None:
            return
        output = self._output
        used = usage(PROMPT, output)
        self.transcript.complete(stop_reason, used)
        self._stream(wire.MessageDelta(wire.MessageChange(stop_reason, None), used))
        self._stream(wire.MessageStop())
        self._message = None
        self.stop_reason = stop_reason
        self.calls += 1
        whole = self.usage
        self.usage = usage((whole.input_tokens or 0) + PROMPT, (whole.output_tokens or 0) + output)
        self.session.spend(PROMPT, output)

    def check_limits(self) -> None:
        """End the turn if another model call would exceed a limit."""
        limit = self.session.flags.max_turns
        if limit and self.calls >= limit:
            text = f"Reached maximum number of turns ({limit})"
            raise EndTurn("error_max_turns", text, "max_turns")
        self.check_budget()

    def check_budget(self) -> None:
        """End the turn if the budget is spent, even by the last answer."""
        budget = self.session.flags.max_budget_usd
        if budget is not None and self.session.cost >= budget:
            text = f"Reached maximum budget (${budget:g})"
            raise EndTurn("error_max_budget_usd", text, "budget_exhausted")

    # --- messages --------------------------------------------------------------------------------

    def _open(self) -> wire.APIMessage:
        """Return the open API message; begin one if there is none."""
        if self._message is not None:
            return self._message
        self._announce()
        self._index = self._output = 0
        self._message = api_message(self.session.model, [])
        self._stream(wire.MessageStart(self._message))
        return self._message

    def _announce(self) -> None:
        """Announce a request to the API if the SDK asked for partial messages."""
        if self._streams and self.session.persona.narrates:
            uuids = self._turn_uuids
            self.engine.tell(wire.StatusMessage, status="requesting", user_message_uuids=uuids)

    def _block(
        self,
        start: wire.Block,
        kind: Callable[[str], wire.Delta],
        text: str,
        whole: wire.Block,
        *more: wire.Delta,
    ) -> None:
        """Send a block: its empty start, its text in deltas, and the whole of it."""
        opened, tokens = self._open(), max(1, len(text) // 4)
        self._stream(wire.ContentBlockStart(self._index, start))
        if isinstance(start, wire.ThinkingBlock) and self.session.persona.narrates:
            self.engine.tell(
                wire.ThinkingTokensMessage,
                estimated_tokens=tokens,
                estimated_tokens_delta=tokens,
                user_message_uuid=self._prompt_uuid,
            )
        pieces = (text[at : at + PIECE] for at in range(0, len(text), PIECE))
        for delta in (*map(kind, pieces), *more):
            self._stream(wire.ContentBlockDelta(self._index, delta))
        self._output += tokens
        self._send(replace(opened, content=[whole]))
        self._stream(wire.ContentBlockStop(self._index))
        self._index += 1

    def _send(self, message: wire.APIMessage, **fields: Any) -> None:
        said = wire.AssistantMessage(
            message=message,
            parent_tool_use_id=self.parent,
            **self.session.stamp(),
            timestamp=timestamp(),
            user_message_uuid=self._prompt_uuid,
            user_message_uuids=self._turn_uuids if self._prompt_uuid else None,
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

    def _is_forwarded(self, blocks: str | Sequence[wire.Block]) -> bool:
        """Whether the SDK gets it: newer CLIs forward only the tool uses of subagents."""
        session = self.session
        asked_for = session.flags.forward_subagent_text or session.setup.forward_subagent_text
        if self.agent is None or self.agent.in_background or asked_for:
            return True
        return not session.persona.narrates or isinstance(blocks[-1], wire.ToolUseBlock)

    # --- streams ---------------------------------------------------------------------------------

    @property
    def _streams(self) -> bool:
        """Whether the SDK asked for partial messages."""
        return self.session.flags.include_partial_messages and self.parent is None

    def _is_streamed(self, event: wire.APIEvent) -> bool:
        streams = self.engine.behavior.streams
        if self.parent is not None or streams == "if asked":
            return self._streams
        if isinstance(event, wire.ContentBlockDelta):
            return streams != "text" or isinstance(event.delta, wire.TextDelta)
        started = isinstance(event, wire.ContentBlockStart) and event.content_block
        return streams != "text" and isinstance(started, wire.ToolUseBlock)

    def _stream(self, event: wire.APIEvent) -> None:
        if not self._is_streamed(event):
            return
        assert self._message is not None
        first: dict[str, Any] = {}
        if isinstance(event, wire.MessageStart) and self._prompt_uuid:
            first = {"user_message_uuid": self._prompt_uuid, "user_message_uuids": self._turn_uuids}
        id = self._message.id
        self.engine.tell(wire.StreamEvent, event=event, api_message_id=id, **first)


# --- the parts of messages ------------------------------------------------------------------------


def api_message(model: str, content: list[wire.Block], **fields: Any) -> wire.APIMessage:
    """Return a message of the model."""
    return wire.APIMessage(
        "assistant",
        content,
        id=new_id("msg"),
        type="message",
        model=model,
        stop_sequence=None,
        usage=usage(PROMPT, 1),
        **fields,
    )


def synthetic_message(text: str, stop_reason: str) -> wire.APIMessage:
    """Return a message of the CLI itself in the model's place."""
    message = api_message("<synthetic>", [wire.TextBlock(text)], stop_reason=stop_reason)
    return replace(message, usage=replace(usage(0, 0), service_tier=None))


def usage(input_tokens: int, output_tokens: int) -> wire.Usage:
    """Return a report about the use of tokens."""
    return wire.Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        service_tier="standard",
    )


def bare_result(session: SimulatedSession, **fields: Any) -> wire.ResultMessage:
    """Return a result without a turn; `fields` replace its own."""
    empty: dict[str, Any] = {
        "subtype": "error_during_execution",
        "is_error": True,
        "num_turns": 0,
        "duration_ms": 0,
        "duration_api_ms": 0,
        "stop_reason": None,
        "total_cost_usd": 0.0,
        "usage": usage(0, 0),
        "model_usage": {},
        "permission_denials": [],
        **session.stamp(),
    }
    return wire.ResultMessage(**{**empty, **fields})
