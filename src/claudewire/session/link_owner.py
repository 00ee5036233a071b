"""What a link needs of those it belongs to: one that is told what happens, one that answers."""

from __future__ import annotations

from typing import Any, Protocol

from ..wire import Answer, Event, Failure, Request

__all__ = ["LinkOwner", "Responder"]


class LinkOwner(Protocol):
    """Is told what happens on a link. Its methods must not wait."""

    def received(self, event: Event) -> None:
        """Note a message of the CLI, or another event of the wire."""

    def received_output(self, events: list[Any]) -> bool:
        """Note events all at once, if they are output of a turn, which comes in great numbers.

        Returns:
            False if they have to be told one by one, and nothing was noted.
        """
        ...

    def asked(self) -> None:
        """Note that the CLI has been asked something."""

    def answered(self) -> None:
        """Note that a request of the CLI was answered, or is no longer served."""

    def heard(self, stderr: str) -> None:
        """Note what the CLI wrote to stderr."""

    def ended(self) -> None:
        """Note that all output was read and the process has exited."""

    def failed(self, error: BaseException) -> None:
        """Note that an event could not be handled, or a task beside the reader has failed."""


class Responder(Protocol):
    """Answers the requests of the CLI."""

    def serve(self, request: Request) -> Any:
        """Return the answer or its body, or else a coroutine function that returns it.

        That runs in a task, which is cancelled when the CLI withdraws the request.
        """

    def withdrawn(self, id: str) -> None:
        """Note that the CLI no longer wants the answer to a request."""

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Return a negative answer; with a reason, unless there is a decision already."""
