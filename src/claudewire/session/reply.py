"""The result of a turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from ..errors import TurnError
from ..tracking import Totals
from ..wire import AssistantMessage, PermissionDenial, ResultMessage, ToolUseBlock, UserMessage

if TYPE_CHECKING:
    import typing_extensions

    from ..tracking import Assembler
    from ..wire import Block, Message, ModelUsage, Usage

    # `Session`, `Turn` and `Reply` without brackets stand for any output. `typing.TypeVar` has
    # defaults only from Python 3.13 on; type checkers bring `typing_extensions` with them.
    OutputT = typing_extensions.TypeVar("OutputT", default=Any)
else:
    OutputT = TypeVar("OutputT")


class Reply(Generic[OutputT]):
    """The result of one turn, with what the model said on the way.

    Attributes:
        result: the CLI's own message at the end of the turn.
        messages: all messages of the turn, without the pieces of messages.
        output: the structured output, if one was asked for.
        totals: what the turn has used, subagents included: tokens and money, by estimate.
    """

    def __init__(self, result: ResultMessage, messages: tuple[Message, ...] = ()) -> None:
        self.result = result
        self.messages = messages
        self.totals: Totals = Totals()
        self.output: OutputT = cast("OutputT", None)

    def __repr__(self) -> str:
        said = self.text or "; ".join(self.result.errors or ())
        text = said if len(said) <= 60 else f"{said[:60]}…"
        return f"<Reply {self.result.subtype} {text!r}>"

    def __str__(self) -> str:
        return self.text

    @property
    def ok(self) -> bool:
        """Whether the turn did what it was asked to."""
        return self.result.ok

    @property
    def error(self) -> TurnError | None:
        """Why the turn did not succeed, with the cause as far as it is known; None if it did."""
        if self.ok:
            return None
        from ..errors import diagnose_result

        was_silent = not any(isinstance(it, UserMessage | AssistantMessage) for it in self.messages)
        found = diagnose_result(self.result, was_silent=was_silent)
        return TurnError(found.message, result=self.result, cause=found.cause, advice=found.advice)

    @property
    def retryable(self) -> bool:
        """Whether the turn has failed, and the same prompt may succeed later."""
        return self.error is not None and self.error.retryable

    @property
    def text(self) -> str:
        """The final text: the result that the CLI reports, else the last text of the model."""
        if self.result.result is not None:
            return self.result.result
        return next(reversed(self._assembled().message_texts), "")

    @property
    def blocks(self) -> list[Block]:
        """All blocks of the main conversation in this turn."""
        main = [live for live in self._assembled().blocks if live.agent is None]
        return [live.block for live in main if live.block is not None]

    @property
    def tool_uses(self) -> list[ToolUseBlock]:
        """All calls of tools in the main conversation."""
        return [block for block in self.blocks if isinstance(block, ToolUseBlock)]

    def _assembled(self) -> Assembler:
        from ..tracking import Assembler

        assembler = Assembler()
        for message in self.messages:
            assembler.note(message)
        return assembler

    @property
    def session_id(self) -> str | None:
        """The conversation, by which it can be resumed."""
        return self.result.session_id

    @property
    def usage(self) -> Usage | None:
        """What the main conversation used in this turn."""
        return self.result.usage

    @property
    def model_usage(self) -> dict[str, ModelUsage]:
        """What each model has used since the CLI was started."""
        return self.result.model_usage or {}

    @property
    def cost_usd(self) -> float | None:
        """What this turn has cost, by estimate; None if it is not known."""
        return self.totals.cost_usd

    @property
    def session_cost_usd(self) -> float | None:
        """What the session has cost so far, by the CLI's own estimate."""
        return self.result.total_cost_usd

    @property
    def duration(self) -> float | None:
        """How long the turn took, in seconds, as the CLI reports it."""
        return None if self.result.duration_ms is None else self.result.duration_ms / 1000

    @property
    def denials(self) -> list[PermissionDenial]:
        """The tool calls that were denied."""
        return self.result.permission_denials or []

    def raise_for_error(self) -> Reply[OutputT]:
        """Raise an error if the turn did not succeed, otherwise return the reply itself.

        Raises:
            TurnError: with the result and, if it can be found out, the cause.
        """
        if (error := self.error) is not None:
            raise error
        return self
