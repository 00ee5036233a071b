"""What can be found out without starting a session. Nothing here writes to a file."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ..._package import __version__
from ...errors import CLINotFoundError
from ...launch import CLI_VARIABLE, find_cli
from ...options import MEASURED
from ...wire import parse_version
from ..errors import as_options
from ..wire.lines import counted
from .report import Check, Status

__all__ = ["SIMULATED", "Surroundings", "isolated"]

SIMULATED = "simulated"
VERSION_TIMEOUT = 20.0
SWEPT_AFTER = 30
"""Days after which the CLI deletes a transcript, unless `cleanupPeriodDays` says otherwise."""
SOON = 7
"""Days before that when one should know."""
LITTLE_SPACE = 100 * 2**20
_DAY = 86400.0
_KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
)
_ASKS_NOBODY = {"bypassPermissions", "dontAsk", "auto"}


def isolated(folder: str) -> dict[str, str]:
    """Return variables with which a CLI keeps to a folder, and is quiet."""
    return {
        "CLAUDE_CONFIG_DIR": str(Path(folder, "config")),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


@dataclass(frozen=True)
class Settings:
    """One settings file of the CLI.

    Attributes:
        scope: user, project, local or managed.
        path: where it is.
        data: what it says; empty if it cannot be read.
        problem: why it cannot be read.
    """

    scope: str
    path: Path
    data: dict[str, Any] = field(default_factory=dict)
    problem: str = ""

    @classmethod
    def read(cls, scope: str, path: Path) -> Settings | None:
        """Read a file; None if there is none."""
        try:
            data = json.loads(path.read_text(encoding="utf-8") or "{}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RecursionError) as error:
            return cls(scope, path, problem=str(error))
        if not isinstance(data, dict):
            return cls(scope, path, problem="it is not a JSON object")
        return cls(scope, path, data)

    def part(self, name: str) -> dict[str, Any]:
        """Return an object in the settings; empty if it is none."""
        value = self.data.get(name)
        return value if isinstance(value, dict) else {}

    def rules(self, behaviour: str) -> list[str]:
        """Return the permission rules of one list."""
        value = self.part("permissions").get(behaviour)
        return [it for it in value if isinstance(it, str)] if isinstance(value, list) else []


@dataclass(frozen=True)
class Surroundings:
    """Where a session would be started.

    Attributes:
        env: the environment.
        cwd: the folder.
        cli: the CLI that was asked for; None for the one that is found.
    """

    env: Mapping[str, str]
    cwd: Path
    cli: str | None = None

    @cached_property
    def home(self) -> Path:
        """The home of the user."""
        return Path(self.env.get("HOME") or Path.home())

    @cached_property
    def config(self) -> Path:
        """Where the CLI keeps its configuration and the transcripts."""
        given = self.env.get("CLAUDE_CONFIG_DIR")
        return Path(given) if given else self.home / ".claude"

    @cached_property
    def state(self) -> Path:
        """The file in which the CLI remembers what it has been told, such as trust."""
        is_given = bool(self.env.get("CLAUDE_CONFIG_DIR"))
        return (self.config if is_given else self.home) / ".claude.json"

    @cached_property
    def command(self) -> tuple[str, ...]:
        """The command that starts the CLI.

        Raises:
            CLINotFoundError: there is none.
        """
        return find_cli(self.cli, self.env)

    @cached_property
    def settings(self) -> list[Settings]:
        """All settings files that there are."""
        managed = "/etc/claude-code/managed-settings.json"
        if sys.platform == "darwin":
            managed = "/Library/Application Support/ClaudeCode/managed-settings.json"
        places = {
            "managed": Path(managed),
            "user": self.config / "settings.json",
            "project": self.cwd / ".claude" / "settings.json",
            "local": self.cwd / ".claude" / "settings.local.json",
        }
        found = (Settings.read(scope, path) for scope, path in places.items())
        return [it for it in found if it is not None]

    # --- the checks ------------------------------------------------------------------------------

    def checks(self) -> Iterator[Check]:
        """Look at everything."""
        yield self.system()
        yield from self.program()
        yield self.configuration()
        yield self.login()
        yield self.trust()
        yield from self.settings_files()
        yield self.permission_order()
        yield self.hooks()
        yield self.sweep()
        yield self.search()

    def system(self) -> Check:
        """Say what this is."""
        python = platform.python_version()
        words = f"claudewire {__version__}, Python {python}, {platform.system()}"
        if sys.platform == "win32":
            advice = "Use Linux, macOS or WSL."
            message = f"{words}: no CLI can be started on Windows"
            return Check(name="system", status="problem", message=message, advice=advice)
        return Check(name="system", status="ok", message=words)

    def program(self) -> Iterator[Check]:
        """Find the CLI, and ask for its version."""
        if self.cli == SIMULATED:
            yield Check(name="cli", status="info", message="the simulated CLI, inside claudewire")
            return
        try:
            command = self.command
        except CLINotFoundError as error:
            head, *details = error.message.splitlines()
            yield Check(
                name="cli",
                status="problem",
                message=head,
                advice=as_options(error.advice),
                details=details,
            )
            return
        how = f" ({CLI_VARIABLE} says so)" if self.env.get(CLI_VARIABLE) and not self.cli else ""
        others = [str(it) for it in self._others(Path(command[-1]))]
        details = [f"there is another one, which is not used: {it}" for it in others]
        message = f"{' '.join(command)}{how}"
        facts = {"command": [*command], "others": others}
        yield Check(name="cli", status="ok", message=message, details=details, facts=facts)
        yield self.version()

    def _others(self, used: Path) -> Iterator[Path]:
        entries = [it for it in self.env.get("PATH", "").split(os.pathsep) if it]
        found = dict.fromkeys(Path(it, "claude").absolute() for it in entries)
        for path in found:
            if os.access(path, os.X_OK) and path.is_file() and not _is_same(path, used):
                yield path

    def version(self) -> Check:
        """Ask the CLI for its version, with a configuration of its own."""
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="claudewire-doctor-") as folder:
            env = {**self.env, **isolated(folder)}
            try:
                done = subprocess.run(
                    [*self.command, "--version"],
                    env=env,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    timeout=VERSION_TIMEOUT,
                )
            except (OSError, subprocess.TimeoutExpired) as error:
                advice = "Try it yourself: it should print its version and exit."
                words = f"`--version` failed: {error}"
                return Check(name="version", status="problem", message=words, advice=advice)
        seconds = round(time.monotonic() - began, 3)
        return _judged(done, seconds)

    def configuration(self) -> Check:
        """Look whether the CLI can write where it has to."""
        folder, checked = self.config, self.config
        while not os.path.exists(checked):  # which is False if it may not be looked for
            checked = checked.parent
        facts = {"config": str(folder), "state": str(self.state)}
        advice = f"Make it yours (chown, chmod), or set CLAUDE_CONFIG_DIR. It is {folder}."
        if not os.access(checked, os.W_OK | os.X_OK) or not os.path.isdir(checked):
            message = f"{checked} cannot be written, so the CLI fails or hangs without a word"
            return Check(
                name="config", status="problem", message=message, advice=advice, facts=facts
            )
        if os.path.exists(self.state) and not os.access(self.state, os.R_OK | os.W_OK):
            message = f"{self.state} cannot be read and written"
            return Check(
                name="config", status="problem", message=message, advice=advice, facts=facts
            )
        free = shutil.disk_usage(checked).free
        if free < LITTLE_SPACE:
            message = f"only {free // 2**20} MiB are free where {folder} is"
            return Check(
                name="config",
                status="warning",
                message=message,
                advice="Free some space: a transcript that cannot be written is lost.",
                facts=facts,
            )
        words = "" if os.path.exists(folder) else ", which does not exist yet"
        message = f"{folder}{words}, can be written"
        return Check(name="config", status="ok", message=message, facts=facts)

    def login(self) -> Check:
        """Look which login there is; never what it is."""
        names = [name for name in _KEYS if self.env.get(name)]
        helpers = [it.scope for it in self.settings if it.data.get("apiKeyHelper")]
        found = [f"the variable {name}" for name in names]
        found += [f"apiKeyHelper of the {scope} settings" for scope in helpers]
        if os.path.exists(self.config / ".credentials.json"):
            found.append("a login of `claude`")
        facts = {"variables": names, "helpers": helpers}
        if found:
            return Check(name="login", status="ok", message=", ".join(found), facts=facts)
        if sys.platform == "darwin":
            message = "none is visible, and the keychain is not looked into"
            return Check(name="login", status="info", message=message, facts=facts)
        return Check(
            name="login",
            status="warning",
            message="no login was found",
            advice="Log in with `claude` and /login, or set ANTHROPIC_API_KEY.",
            facts=facts,
        )

    def trust(self) -> Check:
        """Look whether the CLI was told to trust this folder."""
        try:
            state = json.loads(self.state.read_text(encoding="utf-8"))
        except FileNotFoundError:
            state = {}
        except (OSError, ValueError, RecursionError) as error:
            return Check(
                name="trust",
                status="problem",
                message=f"{self.state} cannot be read: {error}",
                advice="Repair it, or move it away: the CLI then starts anew, and asks again.",
            )
        projects = state.get("projects") if isinstance(state, dict) else None
        trusted = [it for it in (self.cwd, *self.cwd.parents) if _is_trusted(projects, str(it))]
        facts = {"trusted": bool(trusted)}
        if trusted:
            return Check(name="trust", status="ok", message=f"{trusted[0]} is trusted", facts=facts)
        message = f"nobody has told the CLI to trust {self.cwd}"
        ours = [it for it in self.settings if it.scope in ("project", "local")]
        if any(it.data.get("hooks") or it.rules("allow") for it in ours):
            advice = "Read its .claude folder: a session obeys it. setting_sources=[] ignores it."
            message += ", and it brings hooks or rules of its own"
            return Check(
                name="trust", status="warning", message=message, advice=advice, facts=facts
            )
        message += "; a session does not ask, and works all the same"
        return Check(name="trust", status="info", message=message, facts=facts)

    def settings_files(self) -> Iterator[Check]:
        """Look whether the settings can be read."""
        for it in self.settings:
            if it.problem:
                yield Check(
                    name="settings",
                    status="problem",
                    message=f"the {it.scope} settings {it.path} cannot be read: {it.problem}",
                    advice="Repair the file: the CLI ignores it or refuses to start.",
                )
        fine = [f"{it.scope}: {it.path}" for it in self.settings if not it.problem]
        message = counted(len(fine), "settings file") if fine else "there are no settings files"
        yield Check(name="settings", status="ok", message=message, details=fine)

    def permission_order(self) -> Check:
        """Say who decides about tools, in which order, and what is never asked."""
        allow = [rule for it in self.settings for rule in it.rules("allow")]
        modes = [it.part("permissions").get("defaultMode") for it in self.settings]
        mode = next((str(it) for it in modes if it), "default")
        details = [
            "1. hooks, which can deny or allow",
            f"2. deny and ask rules of settings ({self._count('deny')} and {self._count('ask')})",
            f"3. allow rules of settings ({len(allow)}): nobody is asked",
            f"4. the mode ({mode})",
            "5. a policy of the session, then its handler or a person; without one: no",
        ]
        facts = {"mode": mode, "allow": allow}
        if mode in _ASKS_NOBODY:
            return Check(
                name="permissions",
                status="warning",
                message=f"the settings start every session in the mode {mode}, which asks nobody",
                advice='Remove "defaultMode", or give sessions permission_mode="default".',
                details=details,
                facts=facts,
            )
        broad = [rule for rule in allow if rule in ("Bash", "Bash(*)", "*", "Bash(:*)")]
        if broad:
            return Check(
                name="permissions",
                status="warning",
                message=f"settings allow every command: {', '.join(broad)}",
                advice="Policies and handlers are not asked about it. Make the rule narrower.",
                details=details,
                facts=facts,
            )
        words = f"{counted(len(allow), 'rule')} of settings allow something without asking"
        message = f"mode {mode}; {words if allow else 'settings allow nothing without asking'}"
        return Check(name="permissions", status="ok", message=message, details=details, facts=facts)

    def _count(self, behaviour: str) -> int:
        return sum(len(it.rules(behaviour)) for it in self.settings)

    def hooks(self) -> Check:
        """Say which hooks of settings run beside those of an application."""
        off = [it.scope for it in self.settings if it.data.get("disableAllHooks") is True]
        if off:
            return Check(
                name="hooks",
                status="warning",
                message=f"the {off[0]} settings disable all hooks, also those of applications",
                advice='Remove "disableAllHooks" from the settings.',
            )
        events = {f"{it.scope}: {event}" for it in self.settings for event in it.part("hooks")}
        if not events:
            return Check(name="hooks", status="ok", message="settings have no hooks of their own")
        message = f"settings have hooks for {counted(len(events), 'event')}; sessions run them, too"
        return Check(name="hooks", status="info", message=message, details=sorted(events))

    def sweep(self) -> Check:
        """Say when the CLI deletes the oldest transcripts."""
        days = self._swept_after()
        files = [*(self.config / "projects").glob("*/*.jsonl")]
        times = sorted(_modified(path) for path in files)
        if not times:
            message = f"no transcripts yet; the CLI deletes them after {days:g} days"
            return Check(name="sweep", status="ok", message=message, facts={"days": days})
        ends = [it + days * _DAY for it in times]
        soon = [it for it in ends if it < time.time() + SOON * _DAY]
        first = time.strftime("%Y-%m-%d", time.localtime(ends[0]))
        facts = {"days": days, "transcripts": len(times), "soon": len(soon), "first": first}
        if not soon:
            message = f"{counted(len(times), 'transcript')}; the first is deleted on {first}"
            return Check(name="sweep", status="ok", message=message, facts=facts)
        return Check(
            name="sweep",
            status="warning",
            message=f"the CLI deletes {len(soon)} of {len(times)} transcripts within {SOON} days, "
            f"from {first} on: they have not changed for {days:g} days",
            advice='Keep them: claudewire sessions archive; or set "cleanupPeriodDays".',
            facts=facts,
        )

    def _swept_after(self) -> float:
        for it in self.settings:
            days = it.data.get("cleanupPeriodDays")
            if isinstance(days, int | float) and not isinstance(days, bool):
                return days
        return SWEPT_AFTER

    def search(self) -> Check:
        """Look whether SQLite can search in texts."""
        database = sqlite3.connect(":memory:")
        try:
            database.execute("create virtual table t using fts5(x)")
        except sqlite3.OperationalError:
            message = "SQLite has no FTS5, so searching in transcripts is slow"
            return Check(name="search", status="info", message=message)
        finally:
            database.close()
        words = f"SQLite {sqlite3.sqlite_version} with FTS5"
        return Check(name="search", status="ok", message=words)


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _judged(done: subprocess.CompletedProcess[bytes], seconds: float) -> Check:
    printed = done.stdout.decode("utf-8", "replace").strip()
    version = parse_version(printed)
    facts = {"printed": printed, "measured": [*MEASURED]}
    if done.returncode or not version:
        stderr = done.stderr.decode("utf-8", "replace").strip().splitlines()
        return Check(
            name="version",
            status="problem",
            message=f"`--version` exits with {done.returncode} and prints no version",
            advice="This may be no claude CLI, or one for another system.",
            details=[printed, *stderr[-5:]],
            facts=facts,
        )
    oldest, newest = MEASURED[0], MEASURED[-1]
    status: Status = "ok"
    message, advice = printed, ""
    if version < parse_version(oldest):
        status, message = "warning", f"{printed}: older than any that was tried ({oldest})"
        advice = "Update it: npm install -g @anthropic-ai/claude-code"
    elif version > parse_version(newest):
        status, message = "info", f"{printed}: newer than what was tried ({newest})"
    return Check(
        name="version",
        status=status,
        message=message,
        advice=advice,
        seconds=seconds,
        facts=facts,
    )


def _is_trusted(projects: Any, folder: str) -> bool:
    project = projects.get(folder) if isinstance(projects, dict) else None
    return isinstance(project, dict) and project.get("hasTrustDialogAccepted") is True


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
