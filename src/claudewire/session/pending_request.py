"""A request to the CLI that waits for its answer, and for how long it can be told to wait."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Final, Literal, cast

from ..concurrency import Flag
from ..errors import Evidence, RequestError, TransportClosed, UnsupportedRequest
from ..wire import Answer, Failure, UnknownRequest

__all__ = ["DEFAULT", "PendingRequest", "Timeout", "name_of"]

UNSUPPORTED = "unsupported_request"
"""The CLI's code for a request that it does not know."""


class _Default(Enum):
    DEFAULT = "default"


DEFAULT: Final = _Default.DEFAULT
"""The timeout that the session was opened with."""

Timeout = float | None | Literal[_Default.DEFAULT]
"""Seconds, None to wait without limit, or `DEFAULT`."""


def name_of(body: object) -> str:
    """Return the subtype of a request."""
    if isinstance(body, UnknownRequest):
        return str(body.raw.get("subtype"))
    return str(type(cast("Any", body)).__struct_config__.tag)


class PendingRequest:
    """A request to the CLI that waits for its answer; None if there will be none."""

    __slots__ = ("answer", "settled")

    def __init__(self) -> None:
        self.settled: Flag = Flag()
        self.answer: Answer | Failure | None = None

    def settle(self, answer: Answer | Failure | None) -> None:
        """Set the answer and wake the caller."""
        self.answer = answer
        self.settled.set()

    def body(self, name: str, evidence: Callable[[], Evidence]) -> Any:
        """Return what was answered.

        Args:
            name: of the request, for errors.
            evidence: returns what is known about the CLI, for errors, too.

        Raises:
            UnsupportedRequest: the CLI does not know the request.
            RequestError: the CLI refused.
            TransportClosed: the CLI has exited without an answer.
        """
        answer = self.answer
        if isinstance(answer, Answer):
            return answer.body
        if answer is None:
            raise TransportClosed(f"The CLI has exited without an answer to {name!r}")
        is_unknown = answer.code == UNSUPPORTED or answer.error.startswith("Unsupported control")
        kind = UnsupportedRequest if is_unknown else RequestError
        text = f"This CLI does not know {name!r}" if is_unknown else f"The CLI refused {name!r}"
        raise kind(f"{text}: {answer.error}", request=name, code=answer.code, evidence=evidence())
