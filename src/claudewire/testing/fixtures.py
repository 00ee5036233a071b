"""The factories that the fixtures of the pytest plugin return, each for one test."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import Redact
from ..simulator import (
    LATEST,
    SCENARIO_FAILED,
    Scenario,
    SimulatedCLI,
    Simulation,
    load_scenario,
    script_from_toml,
)
from ..simulator import faults as cli_faults
from ..transport import Match, Recording, RecordingTransport, ReplayTransport, Transport
from ..wire import Error
from .api import ScriptSource
from .cage import Cage
from .wirelog import Watched, WireLog, written_to_stderr

__all__ = [
    "CageFactory",
    "NoRecording",
    "RecordingFactory",
    "ScenarioFailed",
    "SimulatedCLIFactory",
    "SimulatedProgramFactory",
    "recording_path",
]

LONGEST_NAME = 120
"""Characters of a test's name in the name of a file: systems take 255 bytes."""


class ScenarioFailed(Error):
    """A scenario raised an exception in a program that `claudewire_sim` has made."""


class SimulatedCLIFactory:
    """Makes simulated CLIs in this process, and logs their traffic.

    Args:
        log: where their traffic goes.
        base: the folder to which paths of scenario files are relative.
        cwd: the working directory, unless another is given.
        config: where sessions are kept, unless an environment is given.
    """

    def __init__(self, log: WireLog, *, base: Path, cwd: Path, config: Path) -> None:
        self._log = log
        self._base = base
        self._cwd = cwd
        self._config = config
        self._made: list[SimulatedCLI] = []

    def __call__(
        self,
        scenario: Scenario | str | os.PathLike[str] | None = None,
        *,
        argv: Sequence[str] = (),
        version: str = LATEST.version,
        dialect: str = "auto",
        faults: Sequence[cli_faults.Fault] | str = (),
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        may_raise: bool = False,
    ) -> Watched[SimulatedCLI]:
        """Make a simulated CLI, which is a transport.

        Args:
            scenario: an async function, the path of a file (relative to the test's folder), or the
                contents of a TOML file, recognised by a newline or an equals sign.
            argv: more flags.
            version: the CLI version to play.
            dialect: the dialect to speak.
            faults: what goes wrong, as objects or in the notation of `parse_faults`.
            cwd: its working directory; `tmp_path` unless given.
            env: its environment.
            may_raise: whether the scenario is meant to raise. Otherwise the test fails if it does,
                by a failed assertion for example.
        """
        if isinstance(scenario, str | os.PathLike):
            scenario = _load(scenario, self._base)
        cli = SimulatedCLI(
            scenario,
            argv=argv,
            version=version,
            dialect=dialect,
            faults=cli_faults.parse_faults(faults) if isinstance(faults, str) else faults,
            cwd=self._cwd if cwd is None else cwd,
            env={"CLAUDE_CONFIG_DIR": str(self._config)} if env is None else env,
        )
        if not may_raise:
            self._made.append(cli)
        return self._log.watch(cli)

    def finish(self, *, passed: bool) -> None:
        """Raise what the scenarios have raised; nothing if the test failed already."""
        for cli in self._made if passed else ():
            for error in cli.failures:
                raise error


class SimulatedProgramFactory:
    """Makes simulated CLIs as programs, for code that needs a path to `claude`.

    Args:
        log: where their traffic goes.
        base: the folder to which paths of scenario files are relative.
        folder: where to put them.
        config: where sessions are kept, unless an environment is given.
    """

    def __init__(self, log: WireLog, *, base: Path, folder: Path, config: Path) -> None:
        self._log = log
        self._base = base
        self._folder = folder
        self._config = config
        self._count = 0
        self._logs: list[Path] = []

    def __call__(
        self,
        scenario: str | os.PathLike[str] | None = None,
        *,
        version: str = LATEST.version,
        dialect: str = "auto",
        faults: str = "",
        env: Mapping[str, str] | None = None,
        may_raise: bool = False,
    ) -> Path:
        """Make a program and return its path.

        Args:
            scenario: a TOML file or `file.py:function`, relative to the test's folder; or the
                contents of a TOML file, recognised by a newline or an equals sign.
            version: the CLI version to play.
            dialect: the dialect to speak.
            faults: what goes wrong, in the notation of `parse_faults`.
            env: more environment variables for the program.
            may_raise: whether the scenario is meant to raise; see `SimulatedCLIFactory`.

        Raises:
            ValueError: an argument is invalid.
        """
        self._count += 1
        folder = self._folder / f"sim-{self._count}"
        folder.mkdir(parents=True)
        variables = {
            "CLAUDEWIRE_SIM_SCENARIO": self._file(scenario, folder),
            "CLAUDEWIRE_SIM_VERSION": version,
            "CLAUDEWIRE_SIM_DIALECT": dialect,
            "CLAUDEWIRE_SIM_FAULTS": faults,
        }
        Simulation.from_env(variables)  # so that errors are raised here
        log = folder / "claude.log"
        self._log.watch_file(log)
        if not may_raise:
            self._logs.append(log)
        variables |= {
            "CLAUDEWIRE_SIM_LOG": str(log),
            "CLAUDE_CONFIG_DIR": str(self._config),
            **(env or {}),
        }
        return _script(folder / "claude", variables)

    def _file(self, scenario: str | os.PathLike[str] | None, folder: Path) -> str:
        if scenario is None:
            return ""
        if _is_toml(scenario):
            file = folder / "scenario.toml"
            file.write_text(scenario, encoding="utf-8")
            return str(file)
        return os.path.join(self._base, scenario)

    def finish(self, *, passed: bool) -> None:
        """Check that no scenario has raised anything, unless the test failed already.

        Raises:
            ScenarioFailed: one has; the message has its traceback.
        """
        for log in self._logs if passed else ():
            for text in written_to_stderr(log):
                if text.startswith(SCENARIO_FAILED):
                    raise ScenarioFailed(text)


def _is_toml(given: str | os.PathLike[str]) -> TypeGuard[str]:
    """Whether it is the contents of a TOML file, and not the path of one or `file.py:function`."""
    if not isinstance(given, str) or "\n" in given:
        return isinstance(given, str)
    return "=" in given and not given.endswith(".toml") and ".py:" not in given


def _load(given: str | os.PathLike[str], base: Path) -> Scenario:
    if _is_toml(given):
        return script_from_toml(given)
    return load_scenario(os.path.join(base, given))


def _script(path: Path, variables: Mapping[str, str]) -> Path:
    exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    # -P, because a module must not come from the folder in which it is started.
    command = shlex.join([sys.executable, "-P", "-m", "claudewire.simulator"])
    path.write_text(f'#!/bin/sh\n{exports}exec {command} "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


class CageFactory:
    """Opens cages, and closes them all together."""

    def __init__(self) -> None:
        self._open = ExitStack()

    def __call__(
        self,
        script: ScriptSource | Path = (),
        *,
        env: Mapping[str, str] | None = None,
        keep: Sequence[str] = (),
    ) -> Cage:
        """Open a cage, with the arguments of `Cage`."""
        return self._open.enter_context(Cage(script, env=env, keep=keep))

    def close(self) -> None:
        """Close all of them."""
        self._open.close()


# --- recordings ----------------------------------------------------------------------------------


class NoRecording(Error):
    """The test should be replayed, but was never recorded."""


class RecordingFactory:
    """Records a test, or replays its recordings, one after the other.

    Args:
        log: where the traffic goes.
        path: the file of the first recording.
        scratch: a folder for unfinished recordings.
        record: whether to record instead of replaying.
    """

    def __init__(self, log: WireLog, *, path: Path, scratch: Path, record: bool) -> None:
        self._log = log
        self._path = path
        self._scratch = scratch
        self._record = record
        self._count = 0
        self._files = ExitStack()
        self._made: dict[Path, Path] = {}
        self._replays: list[ReplayTransport] = []

    async def __call__(
        self,
        live: Callable[[], Transport | Awaitable[Transport]],
        *,
        match: Match = "strict",
        speed: float | None = None,
        ids: Mapping[str, str] | None = None,
        redactor: Redact | bool = True,
        header: Mapping[str, Any] | None = None,
    ) -> Watched[RecordingTransport] | Watched[ReplayTransport]:
        """Return a transport: the live one, recorded, or a replay.

        A recording is kept if the test passes. A replay must have reached its end by then.

        Args:
            live: makes the real transport; called only for recording. It may be async.
            match: how closely the application has to repeat what it sent when recorded.
            speed: how fast to replay, as `ReplayTransport` takes it.
            ids: ids that differ from the recorded ones, as `ReplayTransport` takes them.
            redactor: removes secrets.
            header: more fields for the header of a recording.

        Raises:
            NoRecording: there is no recording to replay.
        """
        path = self._next_path()
        if not self._record:
            replay = ReplayTransport(
                _load_recording(path), speed=speed, match=match, ids=ids, redactor=redactor
            )
            self._replays.append(replay)
            return self._log.watch(replay)
        made = live()
        inner = await made if inspect.isawaitable(made) else made
        self._made[path] = self._scratch / path.name
        # Opened here, not by the transport, which the test may forget to close.
        sink = self._files.enter_context(self._made[path].open("wb"))
        return self._log.watch(RecordingTransport(inner, sink, header=header, redactor=redactor))

    def finish(self, *, passed: bool) -> None:
        """Keep the recordings, or check that all was replayed; do nothing if the test failed.

        Raises:
            ReplayUnfinished: the application sent more when it was recorded.
        """
        self._files.close()
        if not passed:
            return
        for path, made in self._made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.read_bytes())
        for replay in self._replays:
            replay.finish()

    def _next_path(self) -> Path:
        self._count += 1
        if self._count == 1:
            return self._path
        return self._path.with_name(f"{self._path.stem}-{self._count}.jsonl")


def _load_recording(path: Path) -> Recording:
    try:
        return Recording.load(path)
    except FileNotFoundError:
        advice = "Run `pytest --wire-record` with this test to make it."
        raise NoRecording(f"There is no recording {path}", advice=advice) from None


def recording_path(file: Path, test: str) -> Path:
    """The file of a test's recording: in `recordings`, next to the file of the test."""
    name = test.replace("::", ".").replace("[", "-").removesuffix("]")
    plain = re.sub(r"[^\w.,=+-]", "_", name)[:LONGEST_NAME]
    if plain != name:
        plain += f"-{zlib.crc32(name.encode()):08x}"  # different names may look the same by now
    return file.parent / "recordings" / file.stem / f"{plain}.jsonl"
