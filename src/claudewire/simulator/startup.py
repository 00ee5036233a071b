"""The first moment of a simulated CLI: what it warns of, and why it may not start at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..wire import ResultMessage
from .flag_values import is_uuid
from .full_messages import turn_usage
from .state import new_uuid

if TYPE_CHECKING:
    from .engine import Engine
    from .state import Session

__all__ = ["begin"]

USAGE = (
    "Error: --resume requires a valid session ID or session title when used with --print. "
    "Usage: claude -p --resume <session-id|title>"
)

NO_TEXT = (
    "claudewire-sim: a prompt on the command line is not simulated; "
    "prompts are read from stdin with --input-format=stream-json"
)


def begin(engine: Engine) -> None:
    """Say what is odd about the flags; end at once if there is nothing to be had."""
    session = engine.session
    for warning in session.flags.warnings:
        engine.warn(warning)
    wanted = session.flags.session_id
    if session.flags.prompt is not None and session.flags.input_format == "text":
        engine.warn(NO_TEXT)
        engine.exit(1)
    elif wanted and session.taken:
        engine.warn(f"Error: Session ID {wanted} is already in use.")
        engine.exit(1)
    elif session.flags.resume is not None and not session.resumed:
        error = _lost(session.flags.resume)
        engine.warn(error)
        engine.send(_failed(session, error))
        engine.exit(1)


def _lost(wanted: str) -> str:
    if not wanted:
        return USAGE
    if is_uuid(wanted):
        return f"No conversation found with session ID: {wanted}"
    return f'{USAGE}. Provided value "{wanted}" is not a UUID and does not match any session title.'


def _failed(session: Session, error: str) -> ResultMessage:
    return ResultMessage(
        subtype="error_during_execution",
        is_error=True,
        num_turns=0,
        duration_ms=0,
        duration_api_ms=0,
        stop_reason=None,
        total_cost_usd=0.0,
        usage=turn_usage(0, 0),
        result_index=0,
        model_usage={},
        permission_denials=[],
        errors=[error],
        uuid=new_uuid(),
        session_id=session.id,
    )
