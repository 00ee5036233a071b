"""A simulated CLI process: its start and its reactions to input."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from .. import wire
from .actions import Write
from .engine import Engine
from .flags import is_uuid
from .mcp import connect_configured
from .model_output import bare_result
from .requests import give_title, handle
from .scheduler import Wait
from .turns import run_turn

NO_RESUME_VALUE = (
    "Error: --resume requires a valid session ID or session title when used with --print. "
    "Usage: claude -p --resume <session-id|title>"
)

CANCEL = "control_cancel_request"


class SimulatedProcess(Engine):
    """A simulated CLI process that plays a scenario."""

    def begin(self) -> None:
        """Print warnings; exit if the requested session cannot be used."""
        session, flags = self.session, self.session.flags
        for warning in flags.warnings:
            self.warn(warning)
        if session.taken:
            self.warn(f"Error: Session ID {flags.session_id} is already in use.")
            self.exit(1)
        elif flags.resume is not None and not session.resumed:
            error = session.not_resumable or _not_found(flags.resume)
            self.warn(error)
            if flags.output_format == "stream-json":
                self.send(bare_result(session, errors=[error], result_index=0))
            self.exit(1)
        else:
            if flags.name:
                give_title(self, flags.name)
            connect_configured(self)

    def turn(self, prompt: wire.UserMessage | None) -> Coroutine[Wait, Any, None]:
        """Play the scenario for a prompt."""
        return run_turn(self, self.scenario, prompt)

    def receive(self, event: wire.Event) -> None:
        """Handle input as far as the real CLI would understand it, and ignore the rest."""
        if isinstance(event, wire.EndOfStream):
            self.end_input()
        elif event.raw.get("type") == CANCEL and not self.session.persona.acknowledges:
            self._die(f"Error: Expected message type 'user' or 'control', got '{CANCEL}'")
        elif isinstance(event, wire.InvalidLine | wire.Malformed):
            self._refuse(event)
        elif isinstance(event, wire.UserMessage) and self._is_understood(event):
            self.receive_prompt(event)
        elif isinstance(event, wire.Request) and self._is_understood(event):
            handle(self, event)
        elif isinstance(event, wire.Request):
            self.connection.send(wire.Failure(event.id, ""))  # noted as answered, but not written
        elif isinstance(event, wire.Answer | wire.Failure) and self._is_understood(event):
            if self.session.flags.replay_user_messages:
                self.act(Write(event.line + b"\n"))
            self.resume(event)

    def _refuse(self, line: wire.InvalidLine | wire.Malformed) -> None:
        """Report a malformed line, exit, or ignore the line, as the CLI of the dialect does."""
        kind = line.raw.get("type")
        if isinstance(line, wire.InvalidLine) and self.behavior.reports_bad_lines:
            self.send(wire.ErrorMessage(error=wire.ErrorInfo("invalid_request", line.reason)))
        elif isinstance(line, wire.InvalidLine):
            self._die("Error parsing streaming input line: SyntaxError")
        elif self.behavior.is_released and kind in ("user", "control_request"):
            self._die(f"Error: Invalid {kind} message")

    def _die(self, text: str) -> None:
        self.warn(text)
        self.exit(1)

    def _is_understood(self, event: wire.Event) -> bool:
        """Whether the real CLI would understand an event.

        The connection understands every dialect. A simulated CLI that speaks only the real one must
        not, or an application would work with it and hang with the real CLI.
        """
        if self.dialect == wire.AUTO or not self.behavior.is_released:
            return True
        kind, response = event.raw.get("type"), event.raw.get("response")
        if isinstance(event, wire.UserMessage):
            return kind == "user"
        if isinstance(event, wire.Request):
            return kind == "control_request" and "request_id" in event.raw
        has_id = isinstance(response, dict) and bool(response.get("request_id"))
        return kind == "control_response" and has_id


def _not_found(wanted: str) -> str:
    if not wanted:
        return NO_RESUME_VALUE
    if is_uuid(wanted):
        return f"No conversation found with session ID: {wanted}"
    return (
        f'{NO_RESUME_VALUE}. Provided value "{wanted}" is not a UUID '
        "and does not match any session title."
    )
