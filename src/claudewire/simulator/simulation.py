"""The complete simulated CLI: how it starts, how it handles input, how it is configured."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ..wire import (
    AUTO,
    DIALECTS,
    ENVELOPE,
    MODERN,
    SESSION,
    Answer,
    EndOfStream,
    ErrorInfo,
    ErrorMessage,
    Event,
    Failure,
    Initialize,
    Malformed,
    Noise,
    PermissionResultAllow,
    Request,
    ResultMessage,
    UserMessage,
)
from .actions import Write
from .configuration import Configuration, is_configured, read_configuration, wrong_files
from .engine import Engine, Fault, Wait
from .flags import COMMANDS, EarlyExit, Flags, is_uuid, parse
from .mcp import connect_configured
from .opening import give_title, open_session
from .personas import LATEST, Persona, persona
from .session import SimulatedSession
from .stored import SessionStore
from .unsimulated import note, unsimulated

if TYPE_CHECKING:
    from .chat import Chat, Scenario

__all__ = ["SimulatedProcess", "Simulation"]

NO_RESUME_VALUE = (
    "Error: --resume requires a valid session ID or session title when used with --print. "
    "Usage: claude -p --resume <session-id|title>"
)

CANCEL = "control_cancel_request"

HEAD = 200
"""Characters of a line that are shown."""

NO_ID = (
    b'{"type":"control_response","response":{"subtype":"error",'
    b'"error":"Invalid control request: request_id is missing"}}\n'
)


class SimulatedProcess(Engine):
    """A simulated CLI process that plays a scenario. Its other arguments are those of `Engine`."""

    def __init__(
        self,
        session: SimulatedSession,
        scenario: Scenario,
        *,
        dialect: str,
        clock: Callable[[], float],
        faults: Sequence[Fault],
    ) -> None:
        super().__init__(session, dialect=dialect, clock=clock, faults=faults)
        self.scenario = scenario

    def begin(self) -> None:
        """Print warnings; exit if the requested session cannot be used."""
        flags = self.session.flags
        for warning in flags.warnings:
            self.warn(warning)
        if self.session.taken:
            self.warn(f"Error: Session ID {flags.session_id} is already in use.")
            self.exit(1)
        elif flags.resume is not None and not self.session.resumed:
            error = self.session.not_resumable or _not_found(flags.resume)
            self.warn(error)
            if flags.output_format == "stream-json":
                self.send(_failed_start(self.session, error))
            self.exit(1)
        else:
            if flags.name:
                self.session.title = flags.name
                give_title(self, flags.name)
            connect_configured(self)

    def turn(self, prompt: UserMessage | None) -> Coroutine[Wait, Any, None]:
        """Play the scenario for a prompt."""
        from .turns import run_turn  # not before it is needed: the program starts fast

        return run_turn(self, self.scenario, prompt)

    def receive(self, event: Event) -> None:
        """Handle what was sent, as far as the real CLI would understand it."""
        understood = self._understood(event)
        if isinstance(understood, Answer | Failure):
            if self.session.flags.replay_user_messages:
                self.act(Write(understood.line + b"\n"))
            self.resume(understood)
        elif isinstance(understood, UserMessage):
            self._receive_user(understood)
        elif isinstance(understood, Request):
            self._answer(understood)
        elif event.raw.get("type") == CANCEL and not self.session.persona.takes_cancel:
            self.warn(f"Error: Expected message type 'user' or 'control', got '{CANCEL}'")
            self.exit(1)
        elif isinstance(understood, EndOfStream):
            self.end_input()
        elif isinstance(understood, Noise) and self.speaks in (SESSION.name, ENVELOPE.name):
            self.send(ErrorMessage(error=ErrorInfo("invalid_request", understood.reason)))
        elif isinstance(understood, Noise):
            self._refuse_line(understood.line, "SyntaxError")
        elif isinstance(understood, Malformed) and self.speaks == MODERN.name:
            self._refuse(understood)
        # Everything else is silently ignored, as by the real CLI.

    def _receive_user(self, message: UserMessage) -> None:
        if message.message.role == "user" or self.speaks != MODERN.name:
            self.receive_prompt(message)
        else:
            self._refuse_role(message.raw.get("message"))

    def _refuse(self, line: Malformed) -> None:
        """End, or ignore a line, as the real CLI does with one of the wrong shape."""
        kind, message = line.raw.get("type"), line.raw.get("message")
        if line.line.strip() == b"null":
            self._refuse_line(line.line, "TypeError")
        elif kind == "control_request" and not isinstance(line.raw.get("request"), dict):
            self.warn("Error: Missing request on control_request")
            self.exit(1)
        elif kind == "user" and _role(message) == "user":
            self.receive_prompt(UserMessage.of(""))  # whatever it contains is no text
        elif kind == "user":
            self._refuse_role(message)

    def _refuse_line(self, line: bytes, error: str) -> None:
        text = line.decode("utf-8", "replace")
        if self.session.persona.narrates:
            kind = re.match(r'\s*\{\s*"type"\s*:\s*"(\w+)"', text)
            about = f"(type={kind[1] if kind else 'unknown'}, {len(text)} chars): {error}"
            self.warn(f"Error parsing streaming input line {about}")
        else:
            self.warn(f"Error parsing streaming input line: {text[:HEAD]}: {error}")
        self.exit(1)

    def _refuse_role(self, message: object) -> None:
        self.warn(f"Error: Expected message role 'user', got '{_role(message)}'")
        self.exit(1)

    def _answer(self, request: Request) -> None:
        if isinstance(request.body, Initialize):
            open_session(self, request, request.body)
            return
        from .requests import handle  # not before it is needed: the program starts fast

        handle(self, request)

    def _understood(self, event: Event) -> Event | None:
        """The event as the real CLI understands it; None if it ignores it.

        The connection understands every dialect. A simulated CLI that speaks only its own must
        not, or an application would work with it and hang with the real one.
        """
        has_id = not isinstance(event, Answer | Failure) or b"request_id" in event.line
        is_modern = self.connection.their_dialect is MODERN and has_id
        if self.dialect != MODERN.name or is_modern:
            return event
        if isinstance(event, UserMessage):
            return event if event.raw.get("type") == "user" else None
        if isinstance(event, Request):
            return event if self._has_its_id(event) else None
        return _modern_answer(event) if isinstance(event, Answer | Failure) else event

    def _has_its_id(self, request: Request) -> bool:
        is_request = request.raw.get("type") == "control_request"
        if is_request and "request_id" in request.raw:
            return True
        self.connection.send(Failure(request.id, ""))  # recorded as answered, but not written
        if is_request and self.session.persona.answers_nested_initialize:
            self.act(Write(NO_ID))
        return False


def _role(message: object) -> str:
    """The role of a message, as JavaScript writes it."""
    role = message.get("role") if isinstance(message, dict) else None
    return role if isinstance(role, str) else "undefined"


def _not_found(wanted: str) -> str:
    if not wanted:
        return NO_RESUME_VALUE
    if is_uuid(wanted):
        return f"No conversation found with session ID: {wanted}"
    return (
        f'{NO_RESUME_VALUE}. Provided value "{wanted}" is not a UUID '
        "and does not match any session title."
    )


def _failed_start(session: SimulatedSession, error: str) -> ResultMessage:
    from .model_output import turn_usage  # not before it is needed: the program starts fast

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
        **session.stamp(),
    )


def _modern_answer(answer: Answer | Failure) -> Event | None:
    response = answer.raw.get("response")
    if answer.raw.get("type") != "control_response" or not isinstance(response, dict):
        return None
    if "subtype" not in response or not response.get("request_id"):
        return None
    if isinstance(answer, Answer) and isinstance(answer.body, PermissionResultAllow):
        # As it was written: the keys of its answers are not translated.
        given = response["response"].get("updatedInput")
        return replace(answer, body=replace(answer.body, updated_input=given))
    return answer


# --- how it is set up -----------------------------------------------------------------------------


class Simulation(NamedTuple):
    """How a simulated CLI behaves, independent of its command line.

    Attributes:
        scenario: what the agent does; None for the demo agent, which really works on files.
        version: the CLI version to play, one of `PERSONAS`.
        dialect: the dialect to speak: `modern` is that of the real CLI, `auto` that of the SDK.
        faults: what goes wrong.
        strict: whether it refuses flags and settings that are not simulated, as with `--strict`.
    """

    scenario: Scenario | None = None
    version: str = LATEST.version
    dialect: str = MODERN.name
    faults: Sequence[Fault] = ()
    strict: bool = False

    @classmethod
    def from_env(cls, env: Mapping[str, str]) -> Simulation:
        """Read the configuration of the program from its environment.

        `CLAUDEWIRE_SIM_SCENARIO` a TOML file, or `file.py:function`; without it, the file
        `claudewire-sim.toml` in the CLI's own folder, if there is one; `CLAUDEWIRE_SIM_VERSION`;
        `CLAUDEWIRE_SIM_DIALECT`; `CLAUDEWIRE_SIM_FAULTS` as `parse_faults` understands it;
        `CLAUDEWIRE_SIM_STRICT`, which counts if it is not empty.

        Raises:
            ValueError: one of them is invalid.
        """
        scenario: Scenario | None = None
        faults: tuple[Fault, ...] = ()
        if where := env.get("CLAUDEWIRE_SIM_SCENARIO") or _scenario_file(env):
            from .scenario import load_scenario

            scenario = load_scenario(where)
        if env.get("CLAUDEWIRE_SIM_FAULTS"):
            from .faults import parse_faults

            faults = parse_faults(env["CLAUDEWIRE_SIM_FAULTS"])
        version = env.get("CLAUDEWIRE_SIM_VERSION") or LATEST.version
        dialect = env.get("CLAUDEWIRE_SIM_DIALECT") or MODERN.name
        if dialect not in (AUTO, *DIALECTS):
            known = ", ".join([AUTO, *DIALECTS])
            raise ValueError(f"Unknown dialect {dialect!r}; the dialects are {known}")
        strict = bool(env.get("CLAUDEWIRE_SIM_STRICT"))
        return cls(scenario, persona(version).version, dialect, faults, strict)

    def engine(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        clock: Callable[[], float],
    ) -> SimulatedProcess | EarlyExit:
        """Create a process; an `EarlyExit` if the command line is not accepted."""
        plays = persona(self.version)
        # A word that is not UTF-8 arrives with lone surrogates, which no message can carry.
        argv = [re.sub("[\ud800-\udfff]", "\ufffd", word) for word in argv]
        if argv and argv[0] in COMMANDS and (done := _subcommand(argv, cwd, env, plays)):
            return done
        may_be_session = self.dialect in (AUTO, SESSION.name)
        flags = parse(argv, version=plays.version, sessions=may_be_session)
        if isinstance(flags, EarlyExit):
            return flags
        cwd = os.path.abspath(os.path.join(cwd, flags.cwd or ""))
        config = _config_dir(env)
        flags = replace(flags, strict=self.strict or flags.strict)
        configuration = _configuration(flags, cwd, config)
        ignored = list(unsimulated(flags, cwd))
        error = wrong_files(flags, cwd, checks_agents=plays.narrates)
        error = error or (configuration.error if configuration else None)
        if error is not None:
            return EarlyExit(1, stderr=f"Error: {error}\n")
        if configuration is not None:
            ignored += configuration.unsimulated()
            flags = replace(flags, warnings=(*flags.warnings, *configuration.problems))
        if ignored:
            if flags.strict:
                return EarlyExit(1, stderr=f"{note(ignored)}\n")
            flags = replace(flags, warnings=(*flags.warnings, note(ignored)))
        enabled = not flags.no_session_persistence
        store = SessionStore(config, cwd, enabled) if config else None
        branch = _branch(cwd) if store else "HEAD"
        session = SimulatedSession(
            flags,
            persona=plays,
            cwd=cwd,
            env=env,
            store=store,
            branch=branch,
            configuration=configuration,
        )
        kind = _text_process() if self._reads_text(flags) else SimulatedProcess
        return kind(
            session,
            self.scenario or _demo_agent,
            dialect=self.dialect,
            clock=clock,
            faults=_fresh(self.faults),
        )

    def _reads_text(self, flags: Flags) -> bool:
        """Whether the prompt is text; the documents of other dialects have no such mode."""
        return flags.input_format == "text" and self.dialect in (AUTO, MODERN.name)


async def _demo_agent(chat: Chat) -> None:
    from .demo import demo_agent  # not before it is needed: the program starts fast

    await demo_agent(chat)


def _text_process() -> type[SimulatedProcess]:
    from .text_mode import TextProcess  # not before it is needed: the program starts fast

    return TextProcess


def _config_dir(env: Mapping[str, str]) -> str | None:
    """Where conversations are kept and settings are: nowhere if the environment does not say."""
    folder = env.get("CLAUDE_CONFIG_DIR")
    if not folder and env.get("HOME"):
        folder = os.path.join(env["HOME"], ".claude")
    return folder or None


def _subcommand(
    argv: Sequence[str], cwd: str, env: Mapping[str, str], plays: Persona
) -> EarlyExit | None:
    from .subcommands import run_subcommand  # not before it is needed: the program starts fast

    return run_subcommand(
        argv, cwd=cwd, config_dir=_config_dir(env), env=env, version=plays.version
    )


def _scenario_file(env: Mapping[str, str]) -> str | None:
    """The scenario in the CLI's own folder, for where the environment is filtered."""
    if (folder := _config_dir(env)) is None:
        return None
    path = os.path.join(folder, "claudewire-sim.toml")
    return path if os.path.exists(path) else None


def _configuration(flags: Flags, cwd: str, config_dir: str | None) -> Configuration | None:
    """What files and flags configure; None if there are none."""
    if not is_configured(flags, cwd, config_dir):
        return None
    return read_configuration(flags, cwd, config_dir)


def _branch(cwd: str) -> str:
    """The git branch of a folder, as transcripts name it; HEAD if there is none."""
    while True:
        try:
            with open(os.path.join(cwd, ".git", "HEAD"), encoding="utf-8") as file:
                ref = file.read().strip()
        except (OSError, ValueError):
            above = os.path.dirname(cwd)
            if above == cwd:
                return "HEAD"
            cwd = above
        else:
            return ref.removeprefix("ref: refs/heads/") if ref.startswith("ref:") else "HEAD"


def _fresh(faults: Sequence[Fault]) -> Sequence[Fault]:
    """Copies for one engine, since faults count frames."""
    if not faults:
        return ()
    from copy import deepcopy

    return deepcopy(list(faults))
