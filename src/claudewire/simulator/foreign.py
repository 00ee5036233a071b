"""What the real CLI makes of a line in another dialect or without its id: nothing, or too little.

The connection understands every dialect. A simulated CLI that speaks only its own must not, or an
application would work with it and hang with the real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..wire import Answer, Event, Failure, PermissionResultAllow, Request, UserMessage
from .actions import Write

if TYPE_CHECKING:
    from .engine import Engine

__all__ = ["as_heard"]

NO_ID = (
    b'{"type":"control_response","response":{"subtype":"error",'
    b'"error":"Invalid control request: request_id is missing"}}\n'
)


def as_heard(engine: Engine, event: Event) -> Event | None:
    """The event as the real CLI takes it; None if it does not."""
    if isinstance(event, UserMessage):
        return event if event.raw.get("type") == "user" else None
    if isinstance(event, Request):
        return event if _has_its_id(engine, event) else None
    return _answer(event) if isinstance(event, Answer | Failure) else event


def _has_its_id(engine: Engine, request: Request) -> bool:
    is_request = request.raw.get("type") == "control_request"
    if is_request and "request_id" in request.raw:
        return True
    engine.connection.send(Failure(request.id, ""))  # it is off the books, and not written
    if is_request and engine.session.persona.answers_nested_initialize:
        engine.act(Write(NO_ID))
    return False


def _answer(answer: Answer | Failure) -> Event | None:
    response = answer.raw.get("response")
    if answer.raw.get("type") != "control_response" or not isinstance(response, dict):
        return None
    if "subtype" not in response or not response.get("request_id"):
        return None
    if isinstance(answer, Answer) and isinstance(answer.body, PermissionResultAllow):
        # As it was written: the keys of its answers are not translated.
        given = response["response"].get("updatedInput")
        return replace(answer, body=replace(answer.body, updated_input=given))
    return answer
