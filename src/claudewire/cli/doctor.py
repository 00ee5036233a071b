"""`claudewire doctor`: checks that sessions work on this machine.

Here are the command and the checks that read files; `doctor_probe` starts the CLI.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import click
from rich.console import Console
from rich.text import Text

from .._package import __version__
from ..errors import CLINotFoundError
from ..launch import CLI_VARIABLE, find_cli
from ..wire import TESTED, parse_version
from .console import put, stdout, wrapped
from .doctor_probe import ask_model, isolated, probe
from .errors import Exit, advice_of
from .reports import Check, DoctorReport, print_json
from .text import counted


@click.command()
@click.option("--cli", metavar="PATH", help='The CLI to check; "simulated" for the built-in one.')
@click.option("--cwd", type=click.Path(file_okay=False, exists=True), help="The folder to check.")
@click.option("--no-start", is_flag=True, help="Read files only; start nothing but --version.")
@click.option("--real-turn", is_flag=True, help="Also ask the model for one word.")
@click.option("-v", "--verbose", is_flag=True, help="Show all details.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    cli: str | None, cwd: str | None, no_start: bool, real_turn: bool, verbose: bool, as_json: bool
) -> int:
    """Check that sessions work on this machine.

    The command starts the CLI with its own configuration and a scripted model on this machine: that
    spends nothing, and neither uses nor changes your configuration. Only --real-turn calls the
    model, with your login. Exit status: 0 without a problem, 1 with one, 7 without CLI.
    """
    checks: list[Check] = []
    console, folder = stdout(), Path(cwd or ".").absolute()
    for check in _checks(cli, folder, no_start=no_start, real_turn=real_turn):
        checks.append(check)
        if not as_json:
            _show(console, check, verbose)
    problems = [it.name for it in checks if it.status == "problem"]
    if as_json:
        print_json(DoctorReport(ok=not problems, checks=checks))
    else:
        put(console, "", _sum(checks, problems))
    return Exit.NO_CLI if "cli" in problems else Exit.FAILED if problems else Exit.DONE


def _checks(cli: str | None, folder: Path, *, no_start: bool, real_turn: bool) -> Iterator[Check]:
    missing = False
    for check in Environment(cli, folder).checks():
        missing |= check.name in ("cli", "version") and check.status == "problem"
        yield check
    if missing:
        return
    if not no_start:
        yield from anyio.run(probe, cli)
    if real_turn:
        yield anyio.run(ask_model, cli, folder)


def _show(console: Console, check: Check, verbose: bool) -> None:
    marks = {
        "ok": ("✓", "+", "ok"),
        "info": ("·", "-", "dim"),
        "warning": ("!", "!", "ask"),
        "problem": ("✗", "x", "bad"),
        "skipped": ("-", "-", "dim"),
    }
    rich, plain, style = marks[check.status]
    indent = 22
    room = console.width - indent - 1
    lines = wrapped(check.message, room)
    if verbose or check.status in ("warning", "problem"):
        lines += [line for it in check.details for line in wrapped(it, room, "dim")]
    lines += wrapped(check.advice, room, "code") if check.advice else []
    mark = (plain if console.options.ascii_only else rich, style)
    head = Text.assemble(" ", mark, " ", (f"{check.name:<18}", "strong"), " ")
    put(console, head + lines[0], *(Text(" " * indent) + line for line in lines[1:]))


def _sum(checks: Sequence[Check], problems: Sequence[str]) -> Text:
    warnings = counted(sum(it.status == "warning" for it in checks), "warning")
    if problems:
        return Text(f"{counted(len(problems), 'problem')}, {warnings}", "bad")
    started = any(it.name == "handshake" and it.status == "ok" for it in checks)
    words = "Sessions work here" if started else "No problems found"
    return Text(f"{words}; {warnings}" if warnings[0] != "0" else words, "ok")


# --- files ---------------------------------------------------------------------------------------

_SWEPT_AFTER = 30.0
"""Days after which the CLI deletes a transcript, unless `cleanupPeriodDays` says otherwise."""
_SOON = 7
"""Days before the deletion from which to warn."""
_DAY = 86400.0
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
        self._unreadable: list[str] = []

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
        yield self._hooks()
        yield self._sweep()

    def _program(self) -> Iterator[Check]:
        """Find the CLI, and get its version with an empty configuration."""
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
        yield _version([*command, "--version"])

    def _configuration(self) -> Check:
        folder = self._config
        while not os.path.exists(folder):
            folder = folder.parent
        words = ""
        if not os.access(folder, os.W_OK | os.X_OK) or not os.path.isdir(folder):
            words = f"{folder} is not writable; the CLI would fail or hang silently"
        elif os.path.exists(self._state) and not os.access(self._state, os.R_OK | os.W_OK):
            words = f"{self._state} is not readable and writable"
        if words:
            advice = "Make it yours (chown, chmod), or set CLAUDE_CONFIG_DIR."
            return Check("config", "problem", words, advice)
        words = "writable" if folder == self._config else "does not exist yet; can be created"
        return Check("config", "ok", f"{self._config}, {words}")

    def _files(self) -> Check:
        """Read all files; the other checks use them."""
        managed = Path(_MANAGED.get(sys.platform, _MANAGED["linux"]))
        own = self._cwd / ".claude"
        places = (
            self._config / "settings.json",
            own / "settings.json",
            own / "settings.local.json",
        )
        for path in (managed, *places, self._state):
            try:
                data = json.loads(path.read_text(encoding="utf-8") or "{}")
            except (FileNotFoundError, NotADirectoryError):
                continue
            except (OSError, ValueError) as error:
                self._unreadable.append(f"{path}: {error}")
                continue
            self._settings[path] = data if isinstance(data, dict) else {}
        if self._unreadable:
            advice = "Repair the file, or move it away: the CLI ignores it or refuses to start."
            words = f"{counted(len(self._unreadable), 'file')} of the CLI cannot be read"
            return Check("settings", "problem", words, advice, self._unreadable)
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
        """Check whether the CLI trusts this folder."""
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
        words = words if rules else "settings allow no tool without asking"
        return Check("permissions", "ok", f"mode {mode}; {words}", details=rules)

    def _hooks(self) -> Check:
        for path, _ in self._values("disableAllHooks"):
            words = f"{path} disables all hooks, also those of applications"
            return Check("hooks", "warning", words, 'Remove "disableAllHooks" from it.')
        events = [f"{path}: {', '.join(hooks)}" for path, hooks in self._values("hooks")]
        if not events:
            return Check("hooks", "ok", "no hooks in settings")
        return Check("hooks", "info", "sessions run the hooks of settings, too", details=events)

    def _sweep(self) -> Check:
        """Report when the CLI deletes the oldest transcripts."""
        days = next((float(it) for _, it in self._values("cleanupPeriodDays")), _SWEPT_AFTER)
        files = (self._config / "projects").glob("*/*.jsonl")
        ends = sorted(path.lstat().st_mtime + days * _DAY for path in files)
        if not ends:
            return Check("sweep", "ok", f"no transcripts; the CLI deletes them after {days:g} days")
        first = time.strftime("%Y-%m-%d", time.localtime(ends[0]))
        soon = sum(it < time.time() + _SOON * _DAY for it in ends)
        if not soon:
            words = f"{counted(len(ends), 'transcript')}; the CLI deletes the first on {first}"
            return Check("sweep", "ok", words)
        words = f"the CLI deletes {soon} of {len(ends)} transcripts within {_SOON} days"
        advice = 'Keep them: claudewire sessions archive; or set "cleanupPeriodDays".'
        return Check("sweep", "warning", f"{words}, from {first} on", advice)


def _version(command: list[str]) -> Check:
    """Compare the version of the CLI with the tested ones."""
    try:
        with tempfile.TemporaryDirectory(prefix="claudewire-doctor-") as folder:
            done = subprocess.run(
                command,
                env={**os.environ, **isolated(folder)},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=20.0,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check("version", "problem", f"`--version` failed: {error}")
    printed = done.stdout.decode("utf-8", "replace").strip()
    version = parse_version(printed)
    if done.returncode or not version:
        words = f"`--version` exits with {done.returncode} and prints no version"
        advice = "Try it yourself: it should print its version and exit."
        details = [printed, *done.stderr.decode("utf-8", "replace").splitlines()]
        return Check("version", "problem", words, advice, details)
    if version < parse_version(TESTED[0]):
        words = f"{printed}: older than {TESTED[0]}, the oldest supported version"
        return Check("version", "warning", words, "Update it: claude update")
    if version > parse_version(TESTED[-1]):
        return Check("version", "info", f"{printed}: newer than the tested {TESTED[-1]}")
    return Check("version", "ok", printed)
