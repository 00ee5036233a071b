"""Requests of a CLI to decide in tests, and a router that decides them."""

from __future__ import annotations

import json
from typing import Any

import anyio

from claudewire.approvals import ApprovalRouter, Approvers, PermissionRequest
from claudewire.policy import Decision
from claudewire.wire import (
    Answer,
    CanUseTool,
    Connection,
    Elicitation,
    Request,
    RequestUserDialog,
    Role,
)

SOON = 60.0
"""Seconds within which everything here has long happened."""

RED = {"label": "Red", "description": "warm", "preview": "**red**"}
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [RED, {"label": "Green", "description": "calm"}],
    "multiSelect": False,
}
SIZES = {
    "question": "Which sizes?",
    "header": "Sizes",
    "options": [{"label": "S", "description": "small"}, {"label": "L", "description": "large"}],
    "multiSelect": True,
}


def use(tool: str, input: dict[str, Any], id: str = "1", **fields: Any) -> Request:
    """A request to use a tool."""
    fields = {"tool_use_id": "toolu_1", **fields}
    return Request(id=id, body=CanUseTool(tool, input, **fields))


def ask(*questions: dict[str, Any], id: str = "1") -> Request:
    """A request to ask the user."""
    return use(
        "AskUserQuestion", {"questions": list(questions)}, id, requires_user_interaction=True
    )


def plan(input: dict[str, Any]) -> Request:
    return use("ExitPlanMode", input, requires_user_interaction=True)


def form(schema: dict[str, Any] | None = None, **fields: Any) -> Request:
    return Request(id="1", body=Elicitation("crm", "Who is it?", requested_schema=schema, **fields))


def dialog(kind: str = "trust", payload: dict[str, Any] | None = None) -> Request:
    return Request(id="1", body=RequestUserDialog(kind, payload))


def permission(command: str = "make", id: str = "1", session: str = "") -> PermissionRequest:
    """A pending command."""
    return PermissionRequest(use("Bash", {"command": command}, id), session=session)


MAKE = use("Bash", {"command": "make"})


async def decide(request: Request = MAKE, **approvers: Any) -> Any:
    """Let a router decide a request, and return its first answer to the CLI."""
    router = ApprovalRouter(Approvers(**approvers), session="one", cwd="/srv")
    answers: list[Any] = []
    with anyio.fail_after(SOON), anyio.CancelScope() as scope:

        def early(answer: Any) -> None:
            answers.append(answer)
            scope.cancel()

        answers.append(await router.decide(request, early))
    return answers[0]


class Rules:
    """A policy that always decides the same, and notes its calls."""

    def __init__(self, behavior: Any, rule: Any = None, reason: str = "") -> None:
        self.decision = Decision(behavior, reason, rule)
        self.asked: list[Any] = []

    def decide(self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
        self.asked.append((tool_name, input, cwd))
        return self.decision


class BrokenPolicy:
    def decide(self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None) -> Any:
        raise RuntimeError("the rules are gone")


def received(line: dict[str, Any], dialect: str = "auto") -> tuple[Connection, Request]:
    """Receive a request as a CLI has written it."""
    connection = Connection(Role.CLIENT, dialect=dialect)
    (request,) = connection.receive_data(json.dumps(line).encode() + b"\n")
    assert isinstance(request, Request)
    return connection, request


def written(connection: Connection, request: Request, answer: Any) -> Any:
    """Return the line that answers a request."""
    return json.loads(connection.send(Answer(request.id, answer)))
