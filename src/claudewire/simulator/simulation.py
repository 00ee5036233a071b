"""The configuration of a simulated CLI, and its start from a command line."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from .. import wire
from ..errors import OptionsError
from .chat import Scenario
from .cli import SimulatedProcess, TextProcess
from .configuration import Configuration
from .demo import demo_agent
from .flags import SUBCOMMANDS, EarlyExit, parse, run_subcommand
from .personas import LATEST, persona
from .session import SimulatedSession
from .stored import SessionStore

if TYPE_CHECKING:
    from .faults import Fault


MARK = "# Made by claudewire-sim."
"""The second line of a program that `write_program` has made."""


class Simulation(Struct, frozen=True):
    """How a simulated CLI behaves, independent of its command line.

    Attributes:
        scenario: plays the agent; None for the demo agent, which really works on files.
        version: the CLI version to play.
        dialect: the dialect to speak: that of the real CLI, another one by name, or `auto` for that
            of the SDK.
        faults: what goes wrong.
        strict: whether it refuses flags and settings that are not simulated, as with `--strict`.

    Raises:
        OptionsError: the version or the dialect is invalid.
    """

    scenario: Scenario | None = None
    version: str = LATEST.version
    dialect: str = wire.RELEASED
    faults: Sequence[Fault] = ()
    strict: bool = False

    def __post_init__(self) -> None:
        persona(self.version)
        if self.dialect not in (wire.AUTO, *wire.DIALECTS):
            known = ", ".join([wire.AUTO, *wire.DIALECTS])
            raise OptionsError(f"dialect must be one of {known}, not {self.dialect!r}")

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Simulation:
        """Read the configuration of the program from its environment.

        The variables are `CLAUDEWIRE_SIM_SCENARIO` (by default the file `claudewire-sim.toml` in
        the CLI's own folder, if there is one), `CLAUDEWIRE_SIM_VERSION`, `CLAUDEWIRE_SIM_DIALECT`,
        `CLAUDEWIRE_SIM_FAULTS` and `CLAUDEWIRE_SIM_STRICT`.

        Raises:
            ValueError: one of them is invalid.
        """
        scenario: Scenario | None = None
        faults: tuple[Fault, ...] = ()
        if where := env.get("CLAUDEWIRE_SIM_SCENARIO") or _scenario_file(env):
            from .scenario import load_scenario  # needs tomllib or runpy, which load slowly

            scenario = load_scenario(where)
        if named := env.get("CLAUDEWIRE_SIM_FAULTS"):
            from .faults import parse_faults  # only tests of failures need it

            faults = parse_faults(named)
        version = env.get("CLAUDEWIRE_SIM_VERSION") or LATEST.version
        dialect = env.get("CLAUDEWIRE_SIM_DIALECT") or wire.RELEASED
        return cls(scenario, version, dialect, faults, bool(env.get("CLAUDEWIRE_SIM_STRICT")))

    def engine(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
    ) -> SimulatedProcess:
        """Create a process.

        Raises:
            EarlyExit: the command line is not accepted, or asks for something that is printed.
        """
        plays, config = persona(self.version), _config_dir(env)
        # A word that is not UTF-8 has lone surrogates, which no message can carry.
        argv = [re.sub("[\ud800-\udfff]", "\ufffd", word) for word in argv]
        if argv and argv[0] in SUBCOMMANDS:
            raise run_subcommand(argv, config_dir=config or cwd, env=env, version=plays.version)
        behavior = wire.behavior_of(self.dialect)
        takes_folder = self.dialect == wire.AUTO or behavior.takes_folder
        flags = parse(argv, version=plays.version, takes_folder=takes_folder)
        cwd = os.path.abspath(os.path.join(cwd, flags.cwd or ""))
        configuration = Configuration(flags, cwd, config)
        # A person would have to approve the MCP servers of a project.
        servers = filter(os.path.exists, [os.path.join(cwd, ".mcp.json")])
        ignored = [*flags.unsimulated, *configuration.unsimulated(), *servers]
        note = f"claudewire-sim: accepted, but not simulated: {', '.join(ignored)}"
        strict = self.strict or flags.strict
        if ignored and strict:
            raise EarlyExit.error(note)
        warnings = (*flags.warnings, *configuration.problems, *([note] if ignored else ()))
        session = SimulatedSession(
            replace(flags, strict=strict, warnings=warnings),
            persona=plays,
            cwd=cwd,
            env=env,
            store=SessionStore(config, cwd, not flags.no_session_persistence) if config else None,
            branch=_branch(cwd),
            configuration=configuration,
        )
        # The documents of other dialects have no text mode.
        is_text = flags.input_format == "text" and behavior.is_released
        kind = TextProcess if is_text else SimulatedProcess
        scenario = self.scenario or demo_agent
        return kind(session, scenario, dialect=self.dialect, clock=clock, faults=self.faults)


def write_program(path: str | os.PathLike[str], variables: Mapping[str, str]) -> None:
    """Write a shell script that runs the simulated CLI with these variables."""
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    # -P: no module must come from the folder in which the program is started.
    command = shlex.join([sys.executable, "-P", "-m", "claudewire.simulator"])
    with open(path, "w", encoding="utf-8") as script:
        script.write(f'#!/bin/sh\n{MARK}\n{exports}exec {command} "$@"\n')
    os.chmod(path, 0o755)


def _config_dir(env: Mapping[str, str]) -> str | None:
    """Return the CLI's own folder; None if the environment names none."""
    folder = env.get("CLAUDE_CONFIG_DIR")
    if not folder and env.get("HOME"):
        folder = os.path.join(env["HOME"], ".claude")
    return folder or None


def _scenario_file(env: Mapping[str, str]) -> str | None:
    """Return the scenario in the CLI's own folder, for tools that filter the environment."""
    path = os.path.join(_config_dir(env) or "", "claudewire-sim.toml")
    return path if os.path.isabs(path) and os.path.exists(path) else None


def _branch(cwd: str) -> str:
    """Return the branch of a git repository, as transcripts name it; HEAD elsewhere."""
    try:
        with open(os.path.join(cwd, ".git", "HEAD"), encoding="utf-8") as file:
            ref = file.read().strip()
    except (OSError, ValueError):
        return "HEAD"
    return ref.removeprefix("ref: refs/heads/") if ref.startswith("ref:") else "HEAD"
