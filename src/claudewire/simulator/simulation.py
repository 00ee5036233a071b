"""A simulated CLI process: its configuration, its start, and its reactions to input."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from .. import wire
from ..errors import OptionsError
from .actions import Write
from .chat import Scenario
from .configuration import Configuration
from .demo import demo_agent
from .engine import Engine
from .flags import SUBCOMMANDS, EarlyExit, is_uuid, parse, run_subcommand
from .mcp import connect_configured
from .model_output import bare_result
from .personas import LATEST, persona
from .requests import give_title, handle
from .scheduler import Died, TimedOut, Wait
from .session import SimulatedSession
from .stored import SessionStore
from .turns import run_turn

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


# --- processes ------------------------------------------------------------------------------------

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
        if isinstance(line, wire.InvalidLine) and self.behavior.has_error_lines:
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


# --- text mode: a prompt on the command line or stdin, its answer on stdout -----------------------

FIRST_INPUT = "stdin"
"""The key for the first input."""

PATIENCE = 3.0
"""The seconds that the CLI waits for the first byte of stdin, which many programs leave open."""

NO_DATA = (
    "Warning: no stdin data received in 3s, proceeding without it. If piping from a slow command, "
    "redirect stdin explicitly: < /dev/null to skip, or wait longer."
)
NO_PROMPT = (
    "Error: Input must be provided either through stdin or as a prompt argument when using --print"
)


class TextProcess(SimulatedProcess):
    """A simulated CLI process with `--input-format text`: it answers one prompt and exits.

    It prints the answer as text. With `--output-format json` it prints the result as JSON, or with
    `--verbose` all messages; with `stream-json` each message is a line.
    """

    _input = b""

    def begin(self) -> None:
        """Start up and wait for stdin, with a limit."""
        self._messages: list[wire.Event] = []
        super().begin()
        if not self.exited:
            self.spawn(self._wait_for_input())

    async def _wait_for_input(self) -> None:
        try:
            await Wait(FIRST_INPUT, PATIENCE)
        except TimedOut:
            self.warn(NO_DATA)
            self._submit()

    def feed(self, data: bytes) -> None:
        """Take a part of the prompt; `b""` is its end."""
        if self.exited or self.input_ended:
            return
        with suppress(Died):
            self._input += data
            self.resume(wire.Answer(FIRST_INPUT, None))
            if not data:
                self._submit()

    def _submit(self) -> None:
        """Answer the prompt: the words of the command line, then those from stdin."""
        self.input_ended = True
        words = [self.session.flags.prompt, self._input.decode("utf-8", "replace")]
        prompt = "\n".join(filter(None, words))
        if prompt.strip():
            self.receive_prompt(wire.UserMessage.of(prompt))
        else:
            self.warn(NO_PROMPT)
            self.exit(1)

    def send(self, event: wire.Event) -> None:
        """Write a message, or keep it for the end."""
        form = self.session.flags.output_format
        if form == "stream-json":
            super().send(event)
        elif form == "json" or isinstance(event, wire.ResultMessage):
            self._messages.append(event)

    def exit(self, status: int) -> None:
        """Print the results, and end the process."""
        results = [it for it in self._messages if isinstance(it, wire.ResultMessage)]
        if results and not self.exited:
            if self.session.flags.output_format == "json":
                self._print_json(results[-1])
            else:
                texts = [self._as_text(it) for it in results]
                shown = list(filter(str.strip, texts)) or texts[-1:]
                self.act(Write("\n".join(shown).encode()))
        super().exit(status)

    def _as_text(self, result: wire.ResultMessage) -> str:
        flags = self.session.flags
        if result.subtype == "error_max_turns":
            return f"Error: Reached max turns ({flags.max_turns})"
        if result.subtype == "error_max_budget_usd":
            return f"Error: Exceeded USD budget ({flags.max_budget_usd})"
        if result.subtype != "success":
            return "Execution error"
        text = result.result or ""
        return text if text.endswith("\n") else f"{text}\n"

    def _print_json(self, result: wire.ResultMessage) -> None:
        """Print the result; with `--verbose`, all messages as a list."""
        last = replace(result, model_usage_since_last_result=None)
        if not self.session.flags.verbose:
            self.act(Write(self.connection.send(last)))
            return
        messages = (self.connection.send(each)[:-1] for each in [*self._messages[:-1], last])
        self.act(Write(b"[" + b",".join(messages) + b"]\n"))
