"""What an MCP server wants to know from the user, and dialogs that the CLI wants to be shown.

async def on_elicitation(request: ElicitationRequest) -> ElicitationResult:
    return request.accept({"name": "Ada"})
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

import msgspec

from ..wire import (
    DialogCancelled,
    DialogCompleted,
    DialogResult,
    Elicitation,
    ElicitationResult,
    Request,
    RequestUserDialog,
)
from .forms import Choice, Field, Form
from .pending import AnswerError, Clock, Pending, PendingKind

__all__ = [
    "Choice",
    "DialogHandler",
    "DialogRequest",
    "ElicitationHandler",
    "ElicitationRequest",
    "Field",
    "Form",
]


class ElicitationRequest(Pending[ElicitationResult]):
    """An MCP server asks the user to fill in a form, or to visit a page.

    Attributes:
        body: the request as it came.
        server: the name of the server.
        message: what it says.
        form: what there is to be filled in; without fields when a page is to be visited.
        url: the page; None for a form.
    """

    kind: ClassVar[PendingKind] = "elicitation"
    actions: ClassVar[tuple[str, ...]] = ("accept", "decline", "cancel")

    def __init__(self, request: Request, *, session: str = "", clock: Clock | None = None) -> None:
        body = request.body
        if not isinstance(body, Elicitation):
            raise TypeError(f"{type(body).__name__} is no elicitation")
        super().__init__(
            request.id,
            title=body.title or f"{body.mcp_server_name}: {body.message}",
            session=session,
            clock=clock,
        )
        self.body = body
        self.server: str = body.mcp_server_name
        self.message: str = body.message
        self.url: str | None = body.url
        self.form: Form = Form(body.requested_schema, body.property_order)

    def accept(self, content: Mapping[str, Any] | None = None) -> ElicitationResult:
        """Give what was asked for.

        Args:
            content: a value for each field, by its name; what is left out has its default.

        Raises:
            AnswerError: it does not fit the form; nothing has been answered.
        """
        if content is not None and not isinstance(content, Mapping):
            raise AnswerError(f"The answer to a form is an object, and not {content!r}")
        whole = self.form.check(content or {})
        filled = whole if whole or self.url is None else None
        return self._give(ElicitationResult("accept", filled))

    def decline(self) -> ElicitationResult:
        """Say no: the server does not get it."""
        return self._give(ElicitationResult("decline"))

    def cancel(self) -> ElicitationResult:
        """Say neither yes nor no: the form was closed."""
        return self._give(ElicitationResult("cancel"))

    def no(self, reason: str) -> ElicitationResult:
        """Make a no. There is no place for the reason."""
        return ElicitationResult("decline")

    def fit(self, answer: object) -> ElicitationResult:
        """Check that something is an answer, and that it fits the form."""
        if not isinstance(answer, ElicitationResult):
            raise TypeError(f"{answer!r} is no answer to an elicitation")
        if answer.action == "accept":
            self.form.check(answer.content or {})
        return answer

    def describe(self) -> dict[str, Any]:
        """All that there is to show, as JSON has it."""
        return super().describe() | {
            "server": self.server,
            "message": self.message,
            "url": self.url,
            "fields": [field.describe() for field in self.form.fields],
        }


class DialogRequest(Pending[DialogResult]):
    """The CLI wants the user to be shown a dialog, of a kind that the host has said it knows.

    Attributes:
        body: the request as it came.
        dialog_kind: what kind of dialog.
        payload: what it is about.
    """

    kind: ClassVar[PendingKind] = "dialog"
    actions: ClassVar[tuple[str, ...]] = ("complete", "dismiss")

    def __init__(self, request: Request, *, session: str = "", clock: Clock | None = None) -> None:
        body = request.body
        if not isinstance(body, RequestUserDialog):
            raise TypeError(f"{type(body).__name__} is no dialog")
        super().__init__(
            request.id,
            title=f"Dialog: {body.dialog_kind}",
            session=session,
            clock=clock,
        )
        self.body = body
        self.dialog_kind: str = body.dialog_kind
        self.payload: dict[str, Any] = body.payload or {}

    def complete(self, result: object = None) -> DialogResult:
        """Say what the user has done in the dialog.

        Raises:
            AnswerError: it cannot be written as JSON; nothing has been answered.
        """
        try:
            plain = msgspec.to_builtins(result)
            msgspec.json.encode(plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise AnswerError(f"This result cannot be written as JSON: {error}") from None
        return self._give(DialogCompleted(plain))

    def dismiss(self) -> DialogResult:
        """Say that the user has left the dialog."""
        return self._give(DialogCancelled())

    def no(self, reason: str) -> DialogResult:
        """Make a no. There is no place for the reason."""
        return DialogCancelled()

    def fit(self, answer: object) -> DialogResult:
        """Check that something is an answer."""
        if not isinstance(answer, DialogCompleted | DialogCancelled):
            raise TypeError(f"{answer!r} is no answer to a dialog")
        return answer

    def describe(self) -> dict[str, Any]:
        """All that there is to show, as JSON has it."""
        return super().describe() | {"dialog_kind": self.dialog_kind, "payload": self.payload}


ElicitationHandler = Callable[
    [ElicitationRequest], ElicitationResult | Awaitable[ElicitationResult | None] | None
]
"""Answers for the user: a function or a coroutine function. A plain function runs in a thread."""

DialogHandler = Callable[[DialogRequest], DialogResult | Awaitable[DialogResult | None] | None]
"""Shows dialogs: a function or a coroutine function. A plain function runs in a thread."""
