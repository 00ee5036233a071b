"""The factories that the fixtures of the pytest plugin return, each for one test."""

from __future__ import annotations

import inspect
import os
import re
import zlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TypeGuard

from ..recordings import Match, Recording, RecordingTransport, ReplayTransport
from ..simulator import (
    LATEST,
    SCENARIO_FAILED,
    Scenario,
    SimulatedCLI,
    Simulation,
    load_scenario,
    script_from_toml,
    write_program,
)
from ..simulator import faults as cli_faults
from ..transport import Transport
from ..wire import Error
from .cage import Cage
from .wirelog import Watched, WireLog, stderr_of_programs

_LONGEST_NAME = 120
"""Characters of a test's name in the name of a file: systems take 255 bytes."""


class ScenarioFailed(Error):
    """A scenario raised an exception in a program that `claudewire_sim` has made."""


class NoRecording(Error):
    """The test should be replayed, but was never recorded."""


class SimulatedCLIFactory:
    """Makes simulated CLIs in this process, and logs their traffic.

    Paths of scenario files are relative to `base`; sessions are kept in `config`.
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
            faults: the faults to play, as objects or in the notation of `parse_faults`.
            cwd: its working directory; `tmp_path` unless given.
            env: its environment.
            may_raise: whether the scenario may raise. Otherwise the test fails if it does, by a
                failed assertion for example.
        """
        if isinstance(scenario, str | os.PathLike):
            scenario = _scenario(scenario, self._base)
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
        """Raise the exception of a scenario; do nothing if the test failed already."""
        for cli in self._made if passed else ():
            for error in cli.failures:
                raise error


class SimulatedProgramFactory:
    """Makes simulated CLIs as programs, for code that needs a path to `claude`.

    Paths of scenario files are relative to `base`; sessions are kept in `config`.
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
            faults: the faults to play, in the notation of `parse_faults`.
            env: more environment variables for the program.
            may_raise: whether the scenario may raise; see `SimulatedCLIFactory`.

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
        places = {"CLAUDEWIRE_SIM_LOG": str(log), "CLAUDE_CONFIG_DIR": str(self._config)}
        write_program(folder / "claude", {**variables, **places, **(env or {})})
        return folder / "claude"

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
            for text in stderr_of_programs(log):
                if text.startswith(SCENARIO_FAILED):
                    raise ScenarioFailed(text)


def _is_toml(given: str | os.PathLike[str]) -> TypeGuard[str]:
    """Return whether this is the contents of a TOML file, not a path or `file.py:function`."""
    if not isinstance(given, str) or "\n" in given:
        return isinstance(given, str)
    return "=" in given and not given.endswith(".toml") and ".py:" not in given


def _scenario(given: str | os.PathLike[str], base: Path) -> Scenario:
    if _is_toml(given):
        return script_from_toml(given)
    return load_scenario(os.path.join(base, given))


CageFactory = Callable[..., Cage]
"""Opens a cage, with the arguments of `Cage`. The fixture closes it."""


class RecordingFactory:
    """Records a test, or replays its recordings; the first one is at `path`."""

    def __init__(self, log: WireLog, *, path: Path, record: bool) -> None:
        self._log = log
        self._path = path
        self._record = record
        self._count = 0
        self._made: dict[Path, tuple[BytesIO, RecordingTransport]] = {}
        self._replays: list[ReplayTransport] = []

    async def __call__(
        self, live: Callable[[], Transport | Awaitable[Transport]], *, match: Match = "strict"
    ) -> Watched[RecordingTransport] | Watched[ReplayTransport]:
        """Return a transport: the live one, recorded, or a replay.

        A recording is kept if the test passes. A replay must have reached its end by then.

        Args:
            live: makes the real transport; called only for recording. It may be async.
            match: how closely the application has to repeat the recorded lines.

        Raises:
            NoRecording: there is no recording to replay.
        """
        self._count += 1
        number = "" if self._count == 1 else f"-{self._count}"
        path = self._path.with_stem(f"{self._path.stem}{number}")
        if not self._record:
            replay = ReplayTransport(_load(path), match=match)
            self._replays.append(replay)
            return self._log.watch(replay)
        opened = live()
        inner = await opened if inspect.isawaitable(opened) else opened
        made = BytesIO()
        recorder = RecordingTransport(inner, made)
        self._made[path] = made, recorder
        return self._log.watch(recorder)

    def finish(self, *, passed: bool) -> None:
        """Keep the recordings, or check that all was replayed; do nothing if the test failed.

        Raises:
            ReplayUnfinished: the application sent more when it was recorded.
        """
        if not passed:
            return
        for path, (made, recorder) in self._made.items():
            if recorder.failure is not None:
                raise recorder.failure
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made.getvalue())
        for replay in self._replays:
            replay.finish()


def _load(path: Path) -> Recording:
    try:
        return Recording.load(path)
    except FileNotFoundError:
        advice = "Run `pytest --wire-record` with this test to make it."
        raise NoRecording(f"There is no recording {path}", advice=advice) from None


def recording_path(file: Path, test: str) -> Path:
    """Return the file of a test's recording: in `recordings`, next to the file of the test."""
    name = test.replace("::", ".").replace("[", "-").removesuffix("]")
    plain = re.sub(r"[^\w.,=+-]", "_", name)[:_LONGEST_NAME]
    if plain != name:
        plain += f"-{zlib.crc32(name.encode()):08x}"  # different names may have become the same
    return file.parent / "recordings" / file.stem / f"{plain}.jsonl"
