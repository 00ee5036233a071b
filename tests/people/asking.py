"""Requests as a CLI puts them, to be decided in tests."""

from __future__ import annotations

import json
from typing import Any

from claudewire.people import PermissionRequest
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


def permission(command: str = "make", id: str = "1", **where: Any) -> PermissionRequest:
    """A command that waits to be allowed."""
    return PermissionRequest(use("Bash", {"command": command}, id), **where)


def heard(line: dict[str, Any], dialect: str = "auto") -> tuple[Connection, Request]:
    """Receive a request as a CLI has written it."""
    connection = Connection(Role.CLIENT, dialect=dialect)
    (request,) = connection.receive_data(json.dumps(line).encode() + b"\n")
    assert isinstance(request, Request)
    return connection, request


def written(connection: Connection, request: Request, answer: Any) -> Any:
    """What is written as the answer to a request."""
    return json.loads(connection.send(Answer(request.id, answer)))
