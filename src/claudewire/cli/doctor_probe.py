"""Start the CLI and watch it, without a model and without the user's configuration.

The CLI runs in an empty folder, with its own configuration folder, no settings, a key that opens
nothing, and a scripted Messages API on this machine as its model.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio

from ..approvals import PermissionRequest, deny_everything
from ..errors import Error
from ..hooks import Hooks
from ..options import Options, Timeouts
from ..session import Session
from ..tools import ToolServer
from ..wire import PreToolUseHookInput
from .errors import stderr_of
from .reports import Check

_LONGEST = 90.0
"""Seconds for the whole trial. It usually takes three."""
_SLOW = 10.0
"""Seconds after which a person would wonder about the start."""
_COMMAND = "python3 -c 'print(1)'"
"""A harmless command that no rule of the CLI allows."""
_FAKE_KEY = "sk-ant-api03-this-key-is-fake-and-opens-nothing"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")

_TRIALS = {
    "permission": (
        "permission Bash",
        "the CLI asks before it runs a command",
        "Managed settings may allow it. Sessions here cannot rely on handlers.",
    ),
    "application hooks": (
        "hook Bash",
        "the CLI calls hooks of an application",
        'Managed settings may disable hooks: look for "disableAllHooks".',
    ),
    "application tools": (
        "tool repeat",
        "the CLI calls functions of an application as tools",
        "Managed settings may deny MCP servers: look for allowedMcpServers.",
    ),
}
"""For each trial the call that it needs, its finding, and the advice if it fails."""


def isolated(folder: str) -> dict[str, str]:
    """Return environment variables that keep a CLI in a folder, and quiet."""
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
    return {"CLAUDE_CONFIG_DIR": str(Path(folder, "config")), **dict.fromkeys(quiet, "1")}


async def probe(cli: str | None) -> list[Check]:
    """Start the CLI, and check that it asks, calls hooks and calls tools."""
    try:
        from ..testing import APIScript, APIToolUse, ScriptedAPI
    except ModuleNotFoundError:
        advice = "pip install 'claudewire[api]' to test the start, too."
        return [Check("handshake", "skipped", "the scripted API needs h11", advice)]
    run = APIToolUse("Bash", {"command": _COMMAND, "description": "A trial"})
    repeat = APIToolUse("mcp__doctor__repeat", {"word": "hello"})
    calls: list[str] = []
    with tempfile.TemporaryDirectory(prefix="claudewire-doctor-") as folder:
        async with ScriptedAPI(APIScript(default="Done.").on("Try it.", run, repeat)) as api:
            handshake = await _handshake(_options(cli, folder, api.url, calls))
            is_simulated = not api.turns
    return [handshake, *(() if handshake.status == "problem" else _judge(calls, is_simulated))]


def _options(cli: str | None, folder: str, url: str, calls: list[str]) -> Options:
    """Make options for the trial, which notes the calls of handlers."""
    hooks = Hooks()

    @hooks.on("PreToolUse")
    def before_tools(event: PreToolUseHookInput) -> None:
        calls.append(f"hook {event.tool_name}")

    def decide(request: PermissionRequest) -> Any:
        calls.append(f"permission {request.tool_name}")
        if request.tool_name == "Bash":
            return request.deny("Only a trial: nothing is run.")
        return request.allow()

    def repeat(word: str) -> str:
        """Say a word back."""
        calls.append("tool repeat")
        return word

    env: dict[str, str | None] = {**isolated(folder), **dict.fromkeys(_PROXIES)}
    keys = {"ANTHROPIC_API_KEY": _FAKE_KEY, "ANTHROPIC_AUTH_TOKEN": None}
    return Options(
        cli=cli,
        cwd=folder,
        env={**env, **keys, "ANTHROPIC_BASE_URL": url},
        setting_sources=(),
        hooks=hooks,
        on_permission=decide,
        tools=[ToolServer("doctor", [repeat])],
        timeouts=Timeouts(start=_LONGEST / 2),
        shared=True,
    )


async def _handshake(options: Options) -> Check:
    """Hold the trial session, and time its steps."""
    times = [time.monotonic()]
    try:
        with anyio.fail_after(_LONGEST):
            async with Session(options) as session:
                times.append(time.monotonic())
                await session.send("Try it.")
                times.append(time.monotonic())
            times.append(time.monotonic())
    except (Error, OSError) as error:  # a TimeoutError is an OSError
        return _failed("handshake", error)
    ready, turn, end = (after - before for before, after in pairwise(times))
    details = [f"the turn: {turn:.3f} s", f"the end of the process: {end:.3f} s"]
    words = f"the CLI was ready after {ready:.2f} s"
    if ready > _SLOW:
        advice = "A slow disk, a virus scanner, or a CLI that starts over the network?"
        return Check("handshake", "warning", f"{words}, which is slow", advice, details)
    return Check("handshake", "ok", words, details=details)


def _judge(calls: list[str], is_simulated: bool) -> Iterator[Check]:
    if is_simulated:
        yield Check("trial", "skipped", "the CLI called no API: it is simulated")
        return
    for name, (needed, finding, advice) in _TRIALS.items():
        if needed in calls:
            yield Check(name, "ok", finding, details=calls)
        else:
            yield Check(name, "problem", f"not true: {finding}", advice, calls)


async def ask_model(cli: str | None, cwd: Path) -> Check:
    """Ask the model for one word, with the user's own configuration and login."""
    approver = deny_everything("This is only a trial.")
    own: dict[str, Any] = {"max_turns": 1, "persist_session": False, "approver": approver}
    began = time.monotonic()
    try:
        with anyio.fail_after(_LONGEST):
            async with Session(Options(cli=cli, cwd=str(cwd), **own)) as session:
                reply = await session.send("Answer with the word OK, and nothing else.")
    except (Error, OSError) as error:
        return _failed("real turn", error)
    cost = f", {reply.cost_usd:.4f} USD" if reply.cost_usd is not None else ""
    said = " ".join(reply.text.split())[:60]
    words = f"the model answered {said!r} after {time.monotonic() - began:.2f} s{cost}"
    return Check("real turn", "ok", words)


def _failed(name: str, error: Exception) -> Check:
    message = str(getattr(error, "message", "") or error)
    if isinstance(error, TimeoutError):
        message = f"the session took more than {_LONGEST:g} s"
    advice = getattr(error, "advice", "") or "Start the CLI by hand, and read its output."
    return Check(name, "problem", message, advice, stderr_of(error)[-5:])
