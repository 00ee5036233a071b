"""Calls the hooks of the SDK, and combines what they return."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import msgspec

from ..wire import HookCallback, HookInput, HookOutput, InformationalMessage, prepared
from .engine import Engine, Refused, StreamClosed, TimedOut
from .session import new_uuid

__all__ = ["HookCalls", "call_hooks"]

DEFAULT_TIMEOUT = 60.0


class HookCalls:
    """The outputs of all hooks of an event, combined."""

    def __init__(self) -> None:
        self.outputs: list[HookOutput] = []
        self.failed = ""
        self.called: list[dict[str, Any]] = []
        self.has_output: bool = False
        self.id: str = ""

    @property
    def specific(self) -> list[Any]:
        """The event-specific parts of the outputs."""
        return [it.hook_specific_output for it in self.outputs if it.hook_specific_output]

    @property
    def blocked(self) -> str | None:
        """Why the hooks block it, if they do."""
        for output in self.outputs:
            if output.decision == "block":
                return output.reason or "Blocked by a hook"
            specific = output.hook_specific_output
            if getattr(specific, "permission_decision", None) == "deny":
                return getattr(specific, "permission_decision_reason", None) or "Denied by a hook"
        return self.failed or None

    @property
    def approved(self) -> bool:
        """Whether a hook has allowed it, so that the user is not asked."""
        return any(getattr(it, "permission_decision", None) == "allow" for it in self.specific)

    @property
    def updated_input(self) -> dict[str, Any] | None:
        """The input as a hook has changed it."""
        inputs = [getattr(it, "updated_input", None) for it in self.specific]
        return next((it for it in inputs if it is not None), None)

    @property
    def context(self) -> str:
        """What the hooks add for the model to read."""
        texts = [getattr(it, "additional_context", None) for it in self.specific]
        return "\n".join(text for text in texts if text)

    @property
    def stopped(self) -> bool:
        """Whether a hook wants the turn to end here."""
        return any(output.continue_ is False for output in self.outputs)


async def call_hooks(engine: Engine, event: str, subject: str = "", **fields: Any) -> HookCalls:
    """Call the hooks that are registered for an event, and for this subject of it."""
    session, result = engine.session, HookCalls()
    tool_use_id = result.id = fields.get("tool_use_id") or new_uuid()
    for pattern, hook in session.configuration.hooks(event):
        if _matches(pattern, subject):
            await _run(engine, event, hook, _input(engine, event, fields), result)
    for matcher in (session.setup.hooks or {}).get(event, ()):
        if not _matches(matcher.matcher, subject):
            continue
        for callback_id in matcher.hook_callback_ids:
            result.called.append({"command": "callback"})
            body = HookCallback(callback_id, _input(engine, event, fields), tool_use_id)
            seconds = float(matcher.timeout or DEFAULT_TIMEOUT)
            await _call(engine, body, seconds, matcher.on_failure == "block", result)
    return result


async def _run(
    engine: Engine, event: str, hook: dict[str, Any], given: HookInput, result: HookCalls
) -> None:
    """Run a command that is a hook."""
    from .command_hooks import output_of, run_command
    from .jobs import run_blocking

    session, command = engine.session, str(hook.get("command"))
    if hook.get("type") != "command":
        return
    env = {**session.env, **session.configuration.env, "CLAUDE_PROJECT_DIR": session.cwd}
    seconds = float(hook.get("timeout") or DEFAULT_TIMEOUT)
    encoded = msgspec.json.encode(given)
    work = partial(run_command, command, encoded, env, session.cwd, seconds)
    outcome = await run_blocking(engine, work)
    result.called.append({"command": command, "durationMs": 0})
    result.has_output = result.has_output or bool(outcome.stdout or outcome.stderr)
    output = output_of(event, outcome)
    if output is not None:
        result.outputs.append(output)


def _matches(matcher: str | None, subject: str) -> bool:
    if not matcher or matcher == "*":
        return True
    if re.fullmatch(r"[\w|]+", matcher, re.ASCII):
        return subject in matcher.split("|")
    return re.search(matcher, subject) is not None


def _input(engine: Engine, event: str, fields: dict[str, Any]) -> HookInput:
    session = engine.session
    obj = {
        "hook_event_name": event,
        "session_id": session.id,
        "transcript_path": session.transcript,
        "cwd": session.cwd,
        "prompt_id": session.prompt_id,
        "permission_mode": session.mode,
        "effort": None if event == "UserPromptSubmit" else {"level": session.effort},
        **fields,
    }
    given = {key: value for key, value in obj.items() if value is not None}
    hook_input: HookInput = msgspec.convert(given, prepared(HookInput))
    return hook_input


async def _call(
    engine: Engine, body: HookCallback, seconds: float, block: bool, result: HookCalls
) -> None:
    try:
        output = await engine.ask(body, seconds=seconds)
    except TimedOut:
        result.failed = "The hook did not respond before its timeout"
    except StreamClosed:
        pass
    except Refused as error:
        _fail(engine, str(error))
        if block:
            result.failed = f"A hook failed: {error}"
    else:
        if isinstance(output, HookOutput):
            result.outputs.append(output)


def _fail(engine: Engine, error: str) -> None:
    """Warn about a hook that failed and go on, as the real CLI does."""
    engine.send(
        InformationalMessage(
            content=f"A hook callback failed: {error}",
            level="warning",
            tag="hook_callback_failed",
            **engine.session.stamp(),
        )
    )
