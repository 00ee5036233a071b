"""Hooks: those of the SDK, and the commands that settings configure, which really run."""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import suppress
from functools import partial
from typing import Any

import msgspec

from .. import wire
from .engine import Engine, Refused, StreamClosed
from .scheduler import TimedOut
from .session import new_uuid

DEFAULT_TIMEOUT = 60.0

BLOCKS = 2
"""The exit status with which a command blocks the event."""


class HookCalls:
    """The outputs of all hooks of an event, combined."""

    def __init__(self) -> None:
        self.outputs: list[wire.HookOutput] = []
        self.failed = ""

    @property
    def specific(self) -> list[Any]:
        """The event-specific parts of the outputs."""
        return [it.hook_specific_output for it in self.outputs if it.hook_specific_output]

    @property
    def blocked(self) -> str | None:
        """Why the hooks block the event, if they do."""
        for output in self.outputs:
            if output.decision == "block":
                return output.reason or "Blocked by a hook"
            specific = output.hook_specific_output
            if getattr(specific, "permission_decision", None) == "deny":
                return getattr(specific, "permission_decision_reason", None) or "Denied by a hook"
        return self.failed or None

    @property
    def permission(self) -> str | None:
        """The permission decision of the hooks: `ask` counts more than `allow`."""
        decisions = self._all("permission_decision")
        return next((it for it in ("ask", "allow") if it in decisions), None)

    @property
    def updated_input(self) -> dict[str, Any] | None:
        """The input as a hook changed it."""
        return next(iter(self._all("updated_input")), None)

    @property
    def context(self) -> str:
        """The text that the hooks add for the model."""
        return "\n".join(filter(None, self._all("additional_context")))

    def _all(self, field: str) -> list[Any]:
        values = (getattr(it, field, None) for it in self.specific)
        return [value for value in values if value is not None]

    @property
    def stopped(self) -> bool:
        """Whether a hook ends the turn."""
        return any(output.continue_ is False for output in self.outputs)


async def call_hooks(engine: Engine, event: str, subject: str = "", **fields: Any) -> HookCalls:
    """Call the hooks that are registered for an event and its subject, such as a tool."""
    session, calls = engine.session, HookCalls()
    tool_use_id = fields.get("tool_use_id") or new_uuid()
    for pattern, hook in session.configuration.hooks(event):
        if hook.get("type") == "command" and _matches(pattern, subject):
            given = _input(engine, event, fields)
            output = await engine.run_blocking(partial(_run, engine, event, hook, given))
            calls.outputs += [] if output is None else [output]
    for matcher in (session.setup.hooks or {}).get(event, ()):
        for id in matcher.hook_callback_ids if _matches(matcher.matcher, subject) else ():
            body = wire.HookCallback(id, _input(engine, event, fields), tool_use_id)
            seconds = float(matcher.timeout or DEFAULT_TIMEOUT)
            await _call(engine, body, seconds, matcher.on_failure == "block", calls)
    return calls


def _matches(matcher: str | None, subject: str) -> bool:
    if not matcher or matcher == "*":
        return True
    if re.fullmatch(r"[\w|]+", matcher, re.ASCII):
        return subject in matcher.split("|")
    return re.search(matcher, subject) is not None


def _input(engine: Engine, event: str, fields: dict[str, Any]) -> wire.HookInput:
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
    hook_input: wire.HookInput = msgspec.convert(given, wire.prepared(wire.HookInput))
    return hook_input


async def _call(
    engine: Engine, body: wire.HookCallback, seconds: float, block: bool, calls: HookCalls
) -> None:
    """Call a hook of the SDK. If it fails, warn and go on, as the real CLI does."""
    try:
        output = await engine.ask(body, seconds=seconds)
    except TimedOut:
        calls.failed = "The hook did not respond before its timeout"
    except StreamClosed:
        return
    except Refused as error:
        told = {"content": f"A hook callback failed: {error}", "level": "warning"}
        engine.tell(wire.InformationalMessage, tag="hook_callback_failed", **told)
        calls.failed = f"A hook failed: {error}" if block else ""
    else:
        calls.outputs += [output] if isinstance(output, wire.HookOutput) else []


# --- commands -------------------------------------------------------------------------------------


def _run(
    engine: Engine, event: str, hook: dict[str, Any], given: wire.HookInput
) -> wire.HookOutput | None:
    """Run a shell command that is a hook. It blocks."""
    session = engine.session
    env = {**session.env, **session.configuration.settings.env, "CLAUDE_PROJECT_DIR": session.cwd}
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", str(hook.get("command"))],
            input=msgspec.json.encode(given),
            capture_output=True,
            env={"PATH": os.defpath, **env},
            cwd=session.cwd,
            timeout=float(hook.get("timeout") or DEFAULT_TIMEOUT),
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    stdout, stderr = (it.decode("utf-8", "replace").strip() for it in (done.stdout, done.stderr))
    return _output_of(event, done.returncode, stdout, stderr)


def _output_of(event: str, status: int, stdout: str, stderr: str) -> wire.HookOutput | None:
    """Return the output that a command gives by its exit status and its words."""
    if status == BLOCKS:
        return wire.HookOutput(decision="block", reason=stderr or "No stderr output")
    if status != 0 or not stdout:
        return None
    if stdout.startswith("{"):
        with suppress(msgspec.DecodeError):
            return msgspec.json.decode(stdout, type=wire.prepared(wire.HookOutput))
    elif event == "UserPromptSubmit":
        context = wire.UserPromptSubmitHookSpecificOutput(additional_context=stdout)
        return wire.HookOutput(hook_specific_output=context)
    return None
