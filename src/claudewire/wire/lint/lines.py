"""What is wrong with a line by itself: its JSON, its shape, its dialect, its sender."""

from __future__ import annotations

import json
from collections.abc import Iterator

import msgspec

from .. import codec
from ..dialects import ENVELOPE, MODERN
from ..kinds import kind_of
from ..states import Kind, Role
from ..types.base import Event, Message
from ..types.cli_requests import CanUseTool, CLIRequest, McpMessage
from ..types.control import Cancel, Malformed, Noise, Request, Response
from ..types.messages import KeepAlive, SessionCreatedMessage, UnknownMessage, UserMessage
from ..types.requests import REQUESTS, Body, UnknownRequest
from .answers import mended
from .findings import (
    FACTS,
    Finding,
    Said,
    misfits,
    modern_line,
    quoted,
    send_instead,
    unknown_parts,
)

__all__ = ["asker", "lint_line", "sender_of"]

NAME = {Role.CLIENT: "the host", Role.CLI: "the CLI"}

_NEW_ID = "an-id-of-yours"
_OF_EITHER = Response | Cancel | KeepAlive | UnknownMessage
_PAYLOADS_OF_THE_HOST = frozenset({"behavior", "hookSpecificOutput", "mcp_response"})


# --- who said it ---------------------------------------------------------------------------------


def asker(body: Body) -> Role | None:
    """Who asks for this; None if both may, or it is unknown."""
    if isinstance(body, McpMessage | UnknownRequest):
        return None
    return Role.CLI if isinstance(body, CLIRequest) else Role.CLIENT


def sender_of(said: Said) -> Role | None:
    """Who must have said this, going by the line alone; None if it may have been either."""
    event, kind = said.event, said.raw.get("type")
    if isinstance(event, UserMessage):
        return _sender_of_user(event)
    if isinstance(event, Request):
        # An unknown request, or one that both may send, comes more often from a CLI.
        return Role.CLI if kind == "sdk_control_request" else asker(event.body) or Role.CLI
    if isinstance(event, Response):
        payload = getattr(event.response, "response", None)
        of_host = isinstance(payload, dict) and not _PAYLOADS_OF_THE_HOST.isdisjoint(payload)
        return Role.CLIENT if of_host or kind == "callback.response" else None
    if isinstance(event, UnknownMessage) and _is_bare_request(said):
        return Role.CLIENT
    known = isinstance(event, Message) and not isinstance(event, _OF_EITHER)
    return Role.CLI if known else None


def _sender_of_user(message: UserMessage) -> Role | None:
    said_by_cli = (message.is_replay, message.is_synthetic, message.parent_tool_use_id)
    if any(said_by_cli) or message.tool_use_result is not None:
        return Role.CLI
    content = message.content
    if not isinstance(content, str) and any(hasattr(block, "tool_use_id") for block in content):
        return Role.CLI
    # A CLI always names the line and the session; a host may.
    return None if message.uuid and message.session_id else Role.CLIENT


# --- what is wrong with it -----------------------------------------------------------------------


def lint_line(said: Said) -> Iterator[Finding]:
    """Look at a line without regard to the lines around it."""
    event = said.event
    if isinstance(event, Noise):
        yield _not_json(said, event.reason)
        return
    if isinstance(event, Malformed):
        yield _malformed(said, event)
        return
    yield from _strictly_json(said, event)
    yield from misfits(said, event.problems)
    if isinstance(event, UnknownMessage) and event.kind is None:
        yield _no_type(said)
    elif not event.problems:
        yield from unknown_parts(said, event)
    if said.dialect is not MODERN:
        yield _outdated(said)
    if isinstance(event, Request):
        yield from _request(said, event)
    elif isinstance(event, Message) and said.sender is Role.CLIENT:
        yield from _from_host(said, event)


def _not_json(said: Said, reason: str) -> Finding:
    if said.sender is Role.CLI:
        advice = "Something else writes to the CLI's stdout: a hook, a plugin, a shell profile."
    else:
        reason += f"; {FACTS['not-json']}"
        advice = "Write one JSON object on one line, with a newline at its end only."
    return said.finding("error", "not-json", reason, advice)


def _strictly_json(said: Said, event: Event) -> Iterator[Finding]:
    """Report what we read and a CLI would not: a control character inside a string."""
    if said.sender is Role.CLIENT:
        try:
            json.loads(event.line.decode("utf-8", "replace"))
        except json.JSONDecodeError as error:
            yield _not_json(said, f"not JSON: {error}")
        except (ValueError, RecursionError):
            pass  # a limit of ours, not a fault of the line


def _malformed(said: Said, event: Malformed) -> Finding:
    if event.path == "$" and event.reason.startswith("Expected `object`"):
        advice = "Every line is one JSON object with a `type`."
        return said.finding("error", "not-an-object", event.reason, advice)
    advice = "The whole line is lost. Send what the type of the message declares."
    return said.finding("error", "malformed", event.reason, advice, event.path)


def _is_bare_request(said: Said) -> bool:
    subtype = said.raw.get("subtype")
    return "type" not in said.raw and isinstance(subtype, str) and subtype in REQUESTS


def _no_type(said: Said) -> Finding:
    if _is_bare_request(said):
        message = f"a request without its frame: {FACTS['ignored']}"
        frame = {"type": "control_request", "request_id": _NEW_ID, "request": said.raw}
        framed = codec.build_request(frame)
        whole = None if framed and framed.problems else framed
        advice = send_instead(whole, "Put it into a `control_request`, with all of its fields.")
        return said.finding("outdated", "bare-request", message, advice)
    message = "no `type`, or one that is no string"
    if said.sender is Role.CLIENT:
        message += f": {FACTS['ignored']}"
    return said.finding("error", "no-type", message, "Every message says its `type`.")


def _request(said: Said, request: Request) -> Iterator[Finding]:
    if not request.id and said.dialect is MODERN:
        message = "a request without a request_id cannot be answered"
        if said.sender is Role.CLIENT:
            message += f": {FACTS['no-id']}"
        advice = "Put a `request_id` beside the `request`, and a different one each time."
        yield said.finding("error", "no-request-id", message, advice)
    if said.sender is not None and asker(request.body) not in (None, said.sender):
        yield _wrong_direction(said, said.sender, quoted(request.body.__struct_config__.tag))


def _from_host(said: Said, message: Message) -> Iterator[Finding]:
    if isinstance(message, Response | Cancel):
        return
    kind = kind_of(Role.CLIENT, message)
    if kind is Kind.OUTPUT:
        yield _wrong_direction(said, Role.CLIENT, quoted(said.raw.get("type")))
    elif kind is Kind.PROMPT and message.uuid is None and said.dialect is MODERN:
        text = "a user message without a uuid: no result can name it"
        advice = "Give each prompt a `uuid`; newer CLIs say with it which result answers which."
        yield said.finding("info", "no-uuid", text, advice)


def _wrong_direction(said: Said, sender: Role, what: str) -> Finding:
    message = f"{what} comes from {NAME[sender]}, but only {NAME[sender.other]} says that"
    return said.finding(
        "suspicious", "wrong-direction", message, "Is the direction recorded right?"
    )


# --- dialects ------------------------------------------------------------------------------------


def _outdated(said: Said) -> Finding:
    name = said.dialect.name
    message = f"written in the {name} dialect: {_reality(said)}"
    return said.finding("outdated", f"{name}-dialect", message, _modern_advice(said))


def _reality(said: Said) -> str:
    """What real CLIs do with a line in this dialect."""
    raw, kind = said.raw, said.raw.get("type")
    if said.sender is Role.CLI:
        return "no real CLI writes this"
    if kind not in codec.FRAMES:
        return FACTS["ignored"]
    if kind == "control_request":
        return FACTS["snake-case"] if "request_id" in raw else FACTS["no-id"]
    if said.dialect is ENVELOPE:
        return FACTS["keys"]
    return "real CLIs expect another form"


def _modern_advice(said: Said) -> str:
    event = said.event
    if isinstance(event, SessionCreatedMessage):
        return "Leave it out: the modern form has no such message."
    if said.sender is not Role.CLI:
        return send_instead(_modern(said), "Send it in the modern form.")
    line = modern_line(event) if isinstance(event, Message) else None
    return f"In the modern form: {line}" if line else ""


def _modern(said: Said) -> Message | None:
    event = said.event
    if isinstance(event, Request) and not event.id:
        return msgspec.structs.replace(event, id=_NEW_ID)
    asked = said.request.body if said.request else None
    if said.dialect is ENVELOPE and isinstance(event, Response) and isinstance(asked, CanUseTool):
        return mended(said, asked)
    return event if isinstance(event, Message) else None
