"""`claudewire doctor`: checks that sessions work on this machine.

Some checks read files. The others start the CLI without a model and without the user's
configuration: in an empty folder, with its own configuration folder, no settings, a key that opens
nothing, and a scripted Messages API on this machine as its model.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .._package import __version__
from ..approvals import PermissionRequest
from ..errors import CLINotFoundError, Error
from ..hooks import Hooks
from ..launch import CLI_VARIABLE, find_cli
from ..options import Options, Timeouts
from ..session import Session
from ..tools import ToolServer
from ..wire import TESTED, PreToolUseHookInput, parse_version
from .console import put, stdout
from .errors import Exit, advice_of, stderr_of
from .reports import Check, DoctorReport, print_json
from .text import counted, safe


@click.command()
@click.option("--cli", metavar="PATH", help='The CLI to check; "simulated" for the built-in one.')
@click.option("--cwd", type=click.Path(file_okay=False, exists=True), help="The folder to check.")
@click.option("--no-start", is_flag=True, help="Read files only; start nothing.")
@click.option("-v", "--verbose", is_flag=True, help="Show all details.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(cli: str | None, cwd: str | None, no_start: bool, verbose: bool, as_json: bool) -> int:
    """Check that sessions work on this machine.

    The command starts the CLI with an empty configuration and a scripted model on this machine:
    that costs nothing, and neither uses nor changes your configuration. For a turn with the real
    model, use `claudewire run`. Exit status: 0 if all is well, 1 if there is a problem,
    7 if there is no CLI.
    """
    checks: list[Check] = []
    console, folder = stdout(), Path(cwd or ".").absolute()
    for check in _checks(cli, folder, no_start=no_start):
        checks.append(check)
        if not as_json:
            _show(console, check, verbose)
    problems = [it.name for it in checks if it.status == "problem"]
    if as_json:
        print_json(DoctorReport(ok=not problems, checks=checks))
    else:
        put(console, "", _sum(checks, problems))
    return Exit.NO_CLI if "cli" in problems else Exit.FAILED if problems else Exit.DONE


def _checks(cli: str | None, folder: Path, *, no_start: bool) -> Iterator[Check]:
    missing = False
    for check in Environment(cli, folder).checks():
        missing |= check.name == "cli" and check.status == "problem"
        yield check
    if not (missing or no_start):
        yield from anyio.run(_probe, cli)


_SIGNS = {
    "ok": ("✓", "ok"),
    "info": ("·", "dim"),
    "warning": ("!", "ask"),
    "problem": ("✗", "bad"),
    "skipped": ("-", "dim"),
}
"""For each status a mark and its style."""


def _show(console: Console, check: Check, verbose: bool) -> None:
    sign, style = _SIGNS[check.status]
    parts = [Text(safe(check.message))]
    if verbose or check.status in ("warning", "problem"):
        parts += [Text(safe(it), "dim") for it in check.details]
    parts += [Text(safe(check.advice), "code")] if check.advice else []
    table = Table.grid(padding=(0, 1, 0, 0))
    for column in ({}, {"width": 18, "style": "strong"}, {"max_width": console.width - 23}):
        table.add_column(**column)
    table.add_row(Text(f" {sign}", style), check.name, Text("\n").join(parts))
    console.print(table)


def _sum(checks: Sequence[Check], problems: Sequence[str]) -> Text:
    warnings = counted(sum(it.status == "warning" for it in checks), "warning")
    if problems:
        return Text(f"{counted(len(problems), 'problem')}, {warnings}", "bad")
    started = any(it.name == "handshake" and it.status == "ok" for it in checks)
    words = "Sessions work here" if started else "No problems found"
    return Text(f"{words}; {warnings}" if warnings[0] != "0" else words, "ok")


# --- files ---------------------------------------------------------------------------------------

_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
)
_MANAGED = {
    "darwin": "/Library/Application Support/ClaudeCode/managed-settings.json",
    "linux": "/etc/claude-code/managed-settings.json",
}


class Environment:
    """The place where a session would start."""

    def __init__(self, cli: str | None, cwd: Path) -> None:
        self._cli = cli
        self._cwd = cwd
        given = os.environ.get("CLAUDE_CONFIG_DIR")
        self._config = Path(given or Path.home() / ".claude")
        self._state = Path(given or Path.home()) / ".claude.json"
        self._settings: dict[Path, Any] = {}

    def checks(self) -> Iterator[Check]:
        """Make all checks. They write to no file."""
        system = f"Python {platform.python_version()}, {platform.system()}"
        yield Check("system", "ok", f"claudewire {__version__}, {system}")
        yield from self._program()
        yield self._configuration()
        yield self._files()
        yield self._login()
        yield self._trust()
        yield self._permissions()

    def _program(self) -> Iterator[Check]:
        """Find the CLI."""
        if self._cli == "simulated":
            yield Check("cli", "info", "the simulated CLI, inside claudewire")
            return
        try:
            command = find_cli(self._cli, os.environ)
        except CLINotFoundError as error:
            head, *details = error.message.splitlines()
            yield Check("cli", "problem", head, advice_of(error), details)
            return
        by_variable = os.environ.get(CLI_VARIABLE) and not self._cli
        how = f" (set by {CLI_VARIABLE})" if by_variable else ""
        yield Check("cli", "ok", " ".join(command) + how)

    def _configuration(self) -> Check:
        folder = next(it for it in (self._config, *self._config.parents) if os.path.exists(it))
        advice = "Make it yours (chown, chmod), or set CLAUDE_CONFIG_DIR."
        if not os.access(folder, os.W_OK | os.X_OK) or not os.path.isdir(folder):
            words = f"{folder} is not writable; the CLI would fail or hang silently"
            return Check("config", "problem", words, advice)
        words = "writable" if folder == self._config else "does not exist yet; can be created"
        return Check("config", "ok", f"{self._config}, {words}")

    def _files(self) -> Check:
        """Read all files; the other checks use them."""
        own, unreadable = self._cwd / ".claude", []
        places = (
            Path(_MANAGED.get(sys.platform, _MANAGED["linux"])),
            self._config / "settings.json",
            own / "settings.json",
            own / "settings.local.json",
            self._state,
        )
        for path in places:
            try:
                data = json.loads(path.read_text(encoding="utf-8") or "{}")
                self._settings[path] = data if isinstance(data, dict) else {}
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, ValueError) as error:
                unreadable.append(f"{path}: {error}")
        if unreadable:
            advice = "Repair the file, or move it away: the CLI ignores it or refuses to start."
            words = f"{counted(len(unreadable), 'file')} of the CLI cannot be read"
            return Check("settings", "problem", words, advice, unreadable)
        found = [str(path) for path in self._settings if path != self._state]
        words = counted(len(found), "settings file") if found else "no settings files"
        return Check("settings", "ok", words, details=found)

    def _values(self, *names: str) -> Iterator[tuple[Path, Any]]:
        """Yield a value of each file that has it."""
        for path, value in self._settings.items():
            for name in names:
                value = value.get(name) if isinstance(value, dict) else None
            if value:
                yield path, value

    def _login(self) -> Check:
        """Look for a login, never at its secret."""
        found = [f"the variable {name}" for name in _KEYS if os.environ.get(name)]
        found += [f"apiKeyHelper in {path}" for path, _ in self._values("apiKeyHelper")]
        if os.path.exists(self._config / ".credentials.json"):
            found.append("a login of `claude`")
        if found:
            return Check("login", "ok", ", ".join(found))
        if sys.platform == "darwin":
            return Check("login", "info", "none visible; the keychain is not checked")
        advice = "Log in with `claude` and /login, or set ANTHROPIC_API_KEY."
        return Check("login", "warning", "no login found", advice)

    def _trust(self) -> Check:
        for folder in map(str, (self._cwd, *self._cwd.parents)):
            if [*self._values("projects", folder, "hasTrustDialogAccepted")]:
                return Check("trust", "ok", f"{folder} is trusted")
        own = [*self._values("hooks"), *self._values("permissions", "allow")]
        if any(path.is_relative_to(self._cwd) for path, _ in own):
            words = f"{self._cwd} is not trusted, but has its own hooks or rules"
            advice = "Read its .claude folder: sessions obey it. setting_sources=[] ignores it."
            return Check("trust", "warning", words, advice)
        return Check("trust", "info", f"{self._cwd} is not trusted yet; sessions work anyway")

    def _permissions(self) -> Check:
        """Report the permissions that settings give without any policy, handler or person."""
        rules = [str(it) for _, allow in self._values("permissions", "allow") for it in allow]
        mode = next((str(it) for _, it in self._values("permissions", "defaultMode")), "default")
        if mode in ("bypassPermissions", "dontAsk", "auto"):
            words = f"settings start every session in the mode {mode}, which never asks"
            advice = 'Remove "defaultMode", or give sessions permission_mode="default".'
            return Check("permissions", "warning", words, advice, rules)
        if broad := [it for it in rules if it in ("Bash", "Bash(*)", "*", "Bash(:*)")]:
            words = f"settings allow every command without asking: {', '.join(broad)}"
            return Check("permissions", "warning", words, "Make the rule narrower.", rules)
        words = f"{counted(len(rules), 'rule')} of settings allow tools without asking"
        return Check("permissions", "ok", f"mode {mode}; {words}", details=rules)


def version_check(printed: str) -> Check:
    """Compare the version of the CLI with the tested ones."""
    version = parse_version(printed)
    if not version:
        return Check("version", "warning", f"the CLI names no version, but {printed!r}")
    if version < parse_version(TESTED[0]):
        words = f"{printed}: older than {TESTED[0]}, the oldest supported version"
        return Check("version", "warning", words, "Update it: claude update")
    if version > parse_version(TESTED[-1]):
        return Check("version", "info", f"{printed}: newer than the tested {TESTED[-1]}")
    return Check("version", "ok", printed)


# --- the trial -----------------------------------------------------------------------------------

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


def _isolated(folder: str) -> dict[str, str]:
    """Return environment variables that keep a CLI in a folder, and quiet."""
    quiet = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_TELEMETRY", "DISABLE_AUTOUPDATER")
    return {"CLAUDE_CONFIG_DIR": str(Path(folder, "config")), **dict.fromkeys(quiet, "1")}


async def _probe(cli: str | None) -> list[Check]:
    """Start the CLI, and check that it asks, calls hooks and calls tools."""
    from ..testing import APIScript, APIToolUse, ScriptedAPI  # slow to import

    run = APIToolUse("Bash", {"command": _COMMAND, "description": "A trial"})
    repeat = APIToolUse("mcp__doctor__repeat", {"word": "hello"})
    calls: list[str] = []
    with tempfile.TemporaryDirectory(prefix="claudewire-doctor-") as folder:
        async with ScriptedAPI(APIScript(default="Done.").on("Try it.", run, repeat)) as api:
            checks = await _handshake(_options(cli, folder, api.url, calls))
            is_simulated = not api.turns
    return checks if checks[0].status == "problem" else [*checks, *_judge(calls, is_simulated)]


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
        calls.append("tool repeat")
        return word

    env: dict[str, str | None] = {**_isolated(folder), **dict.fromkeys(_PROXIES)}
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


async def _handshake(options: Options) -> list[Check]:
    """Run the trial session, and time its start."""
    began = time.monotonic()
    try:
        with anyio.fail_after(_LONGEST):
            async with Session(options) as session:
                ready = time.monotonic() - began
                await session.send("Try it.")
                version = version_check(
                    str(getattr(session.init_message, "claude_code_version", ""))
                )
    except (Error, OSError) as error:  # a TimeoutError is an OSError
        return [_failed(error)]
    words, found = f"the CLI was ready after {ready:.2f} s", version_check(str(version))
    if ready > _SLOW:
        advice = "A slow disk, a virus scanner, or a CLI that starts over the network?"
        return [Check("handshake", "warning", f"{words}, which is slow", advice), found]
    return [Check("handshake", "ok", words), found]


def _judge(calls: list[str], is_simulated: bool) -> Iterator[Check]:
    if is_simulated:
        yield Check("trial", "skipped", "the CLI called no API: it is simulated")
        return
    for name, (needed, finding, advice) in _TRIALS.items():
        if needed in calls:
            yield Check(name, "ok", finding, details=calls)
        else:
            yield Check(name, "problem", f"not true: {finding}", advice, calls)


def _failed(error: Exception) -> Check:
    message = str(getattr(error, "message", "") or error)
    if isinstance(error, TimeoutError):
        message = f"the session took more than {_LONGEST:g} s"
    advice = getattr(error, "advice", "") or "Start the CLI by hand, and read its output."
    return Check("handshake", "problem", message, advice, stderr_of(error)[-5:])
