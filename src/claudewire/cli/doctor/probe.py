"""Starts the CLI and watches it: without a model, and without the user's configuration.

It runs in an empty folder, with a configuration folder of its own, no settings, a key that opens
nothing, and a scripted Messages API on this machine as its model.
"""

from __future__ import annotations

import io
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import anyio

from ...errors import Error
from ...hooks import Hooks
from ...launch import Connect
from ...options import Options, Timeouts
from ...people import PermissionRequest, PermissionResult, deny_everything
from ...recordings import Timeline
from ...session import Session
from ...simulator import SimulatedCLI
from ...tools import ToolServer
from ...transport import Launch, Recording, RecordingTransport, Transport, spawn
from ...wire import PreToolUseHookInput
from .report import Check
from .surroundings import SIMULATED, Surroundings, isolated

__all__ = ["probe", "real_turn"]

LONGEST = 90.0
"""Seconds for all of it. It usually takes three."""
START = 40.0
SLOW = 10.0
"""Seconds for a handshake after which a person would wonder."""

PROMPT, SERVER, TOOL = "Try it.", "doctor", "repeat"
COMMAND = "python3 -c 'print(1)'"
"""What no rule allows by itself, and nobody minds if it were run."""

_FAKE_KEY = "sk-ant-api03-this-key-is-fake-and-opens-nothing"
_ELSEWHERE = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")


class Seen:
    """What happened while the CLI ran.

    Attributes:
        order: who was called, in this order.
        called: with what the tool was called; None if it was not.
        api: how often the scripted API was asked.
        recording: all that went over the wire.
        started: how many seconds the start of the process took.
        closed: how many seconds the end took.
        error: what went wrong.
    """

    def __init__(self) -> None:
        self.order: list[str] = []
        self.called: str | None = None
        self.api: int = 0
        self.recording: io.BytesIO = io.BytesIO()
        self.started: float | None = None
        self.closed: float | None = None
        self.error: Exception | None = None

    def timeline(self) -> Timeline:
        """Read the recording."""
        return Timeline.of(Recording.load(self.recording.getvalue()))


async def probe(surroundings: Surroundings) -> list[Check]:
    """Start the CLI, and see whether it asks, calls hooks and calls tools."""
    try:
        from ...testing import APIScript, APIToolUse, ScriptedAPI
    except ModuleNotFoundError:
        words = "the scripted API needs h11"
        advice = "pip install 'claudewire[api]', and the handshake is tried as well."
        return [Check(name="handshake", status="skipped", message=words, advice=advice)]
    seen = Seen()
    script = APIScript(default="Done.").on(
        PROMPT,
        APIToolUse("Bash", {"command": COMMAND, "description": "A trial"}),
        APIToolUse(f"mcp__{SERVER}__{TOOL}", {"word": "hello"}),
        "Done.",
    )
    with tempfile.TemporaryDirectory(prefix="claudewire-doctor-") as folder:
        async with ScriptedAPI(script) as api:
            await _watch(surroundings, folder, api.url, seen)
            seen.api = len(api.turns)
    return [*_judge(seen)]


async def _watch(surroundings: Surroundings, folder: str, url: str, seen: Seen) -> None:
    options = Options(**_arguments(surroundings, folder, url, seen))
    try:
        with anyio.fail_after(LONGEST):
            async with Session(options, transport=_recorded(options, seen)) as session:
                await session.send(PROMPT)
                began = time.monotonic()
            seen.closed = round(time.monotonic() - began, 3)
    except (Error, OSError) as error:  # a TimeoutError is an OSError
        seen.error = error


def _arguments(surroundings: Surroundings, folder: str, url: str, seen: Seen) -> dict[str, Any]:
    hooks = Hooks()

    @hooks.pre_tool_use()
    def before_tools(event: PreToolUseHookInput) -> None:
        seen.order.append(f"hook {event.tool_name}")

    def decide(request: PermissionRequest) -> PermissionResult:
        seen.order.append(f"permission {request.tool_name}")
        if request.tool_name == "Bash":
            return request.deny("Only a trial: nothing is run.")
        return request.allow()

    def repeat(word: str) -> str:
        """Say a word back."""
        seen.called = word
        return word

    env = {**isolated(folder), **dict.fromkeys(_ELSEWHERE), "ANTHROPIC_BASE_URL": url}
    return {
        "cli": surroundings.cli,
        "cwd": folder,
        "env": {**env, "ANTHROPIC_API_KEY": _FAKE_KEY, "ANTHROPIC_AUTH_TOKEN": None},
        "setting_sources": (),
        "hooks": hooks,
        "on_permission": decide,
        "tools": [ToolServer(SERVER, [repeat])],
        "timeouts": Timeouts(start=START),
        "shared": True,
    }


def _recorded(options: Options, seen: Seen) -> Transport | Connect:
    if options.cli == SIMULATED:
        return RecordingTransport(SimulatedCLI(), seen.recording)

    async def connect(launch: Launch) -> Transport:
        began = time.monotonic()
        process = await spawn(launch)
        seen.started = round(time.monotonic() - began, 6)
        return RecordingTransport(process, seen.recording)

    return connect


# --- what it means -------------------------------------------------------------------------------


def _judge(seen: Seen) -> Iterator[Check]:
    timeline = seen.timeline() if seen.recording.getvalue() else None
    yield _handshake(seen, timeline)
    if timeline is None or seen.error is not None:
        return
    if not seen.api:
        words = "the CLI did not call the scripted API"
        yield Check(name="trial", status="skipped", message=f"{words}: it is simulated, perhaps")
        return
    yield _permission(seen)
    yield _hook(seen)
    yield _tool(seen)


def _handshake(seen: Seen, timeline: Timeline | None) -> Check:
    steps = [*_times(timeline, seen)] if timeline else []
    details = [f"{name}: {seconds:.3f} s" for name, seconds in steps]
    facts = {"steps": dict(steps)}
    answered = dict(steps).get("the answer to initialize")
    if seen.error is not None:
        return Check(
            name="handshake",
            status="problem",
            message=f"the trial session failed: {_message(seen.error)}",
            advice=getattr(seen.error, "advice", "") or "Start it by hand, and see what it says.",
            details=[*details, *_stderr(seen.error)],
            facts=facts,
        )
    if answered is None:
        words = "the CLI opens sessions without `initialize`, as an old one does"
        return Check(name="handshake", status="info", message=words, details=details, facts=facts)
    slow = answered > SLOW
    return Check(
        name="handshake",
        status="warning" if slow else "ok",
        message=f"the CLI was ready after {answered:.2f} s" + (", which is slow" if slow else ""),
        advice="A slow disk, a virus scanner, or a CLI that is started over the network?"
        if slow
        else "",
        details=details,
        seconds=answered,
        facts=facts,
    )


def _times(timeline: Timeline, seen: Seen) -> Iterator[tuple[str, float]]:
    """Yield what took how long, as far as it was seen."""
    if seen.started is not None:
        yield "the start of the process", seen.started
    heard = [it.t for it in timeline.steps if it.dir == "<"]
    if heard:
        yield "until it said something", heard[0]
    latencies = {
        it.name: (it.seconds, it.first)
        for it in reversed(timeline.exchanges)
        if it.seconds is not None
    }
    if "initialize" in latencies:
        yield "the answer to initialize", latencies["initialize"][0]
    if "turn" in latencies:
        seconds, first = latencies["turn"]
        if first is not None:
            yield "from the prompt to the first words", first
        yield "the whole turn", seconds
    if seen.closed is not None:
        yield "the end of the process", seen.closed


def _permission(seen: Seen) -> Check:
    if "permission Bash" in seen.order:
        words = "the CLI asks before it runs a command, and heeds the answer"
        return Check(name="permission", status="ok", message=words, details=seen.order)
    return Check(
        name="permission",
        status="problem",
        message="the CLI did not ask before it ran a command",
        advice="Managed settings may allow it. Sessions here cannot rely on handlers.",
        details=seen.order,
    )


def _hook(seen: Seen) -> Check:
    hooked = [it for it in seen.order if it.endswith(" Bash")]
    if hooked[:1] == ["hook Bash"]:
        words = "hooks of an application are called, and before anybody is asked"
        return Check(name="application hooks", status="ok", message=words)
    if "hook Bash" in hooked:
        words = "hooks are called, but after the question about the permission"
        return Check(name="application hooks", status="info", message=words, details=hooked)
    return Check(
        name="application hooks",
        status="problem",
        message="the CLI did not call a hook of the application",
        advice='Managed settings may disable hooks: look for "disableAllHooks".',
    )


def _tool(seen: Seen) -> Check:
    if seen.called == "hello":
        words = "functions of an application can be called as tools"
        return Check(name="application tools", status="ok", message=words)
    return Check(
        name="application tools",
        status="problem",
        message="the CLI did not call a tool of the application",
        advice="Managed settings may deny MCP servers: look for allowedMcpServers.",
        details=seen.order,
    )


def _message(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return f"it took more than {LONGEST:g} s"
    return str(getattr(error, "message", "") or error)


def _stderr(error: Exception) -> list[str]:
    evidence = getattr(error, "evidence", None)
    text = str(getattr(evidence, "stderr", ""))
    return [f"stderr: {line}" for line in text.strip().splitlines()[-5:]]


# --- a turn that costs something -----------------------------------------------------------------


async def real_turn(surroundings: Surroundings, *, longest: float = LONGEST) -> Check:
    """Ask the model for one word, with the user's own configuration and login."""
    options = Options(
        cli=surroundings.cli,
        cwd=str(surroundings.cwd),
        max_turns=1,
        persist_session=False,
        person=deny_everything("This was only a trial."),
    )
    began = time.monotonic()
    try:
        with anyio.fail_after(longest):
            async with Session(options) as session:
                reply = await session.send("Answer with the word OK, and nothing else.")
    except (Error, OSError) as error:
        return Check(
            name="real turn",
            status="problem",
            message=_message(error),
            advice=getattr(error, "advice", ""),
            details=_stderr(error),
        )
    seconds = round(time.monotonic() - began, 3)
    cost = f", {reply.cost_usd:.4f} USD" if reply.cost_usd is not None else ""
    words = " ".join(reply.text.split())[:60]
    return Check(
        name="real turn",
        status="ok",
        message=f"the model answered {words!r} after {seconds:.2f} s{cost}",
        seconds=seconds,
        facts={"cost_usd": reply.cost_usd, "text": words},
    )
