"""The values of the fixtures of the pytest plugin: factories, and a log of the wire."""

from __future__ import annotations

import inspect
import os
import re
import zlib
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Generic, TypeGuard, TypeVar

from ..errors import Redactor
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

LINES = 200
"""The lines of one wire to keep: the cause of a failure is usually among the last."""

WIDEST = 400
"""Characters of a line to show: enough to recognise it."""

KEPT = 65536
"""Bytes of a line to search for secrets: many more than are shown, so that the shown part does not
end in half a secret."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

T = TypeVar("T", bound=Transport)

_LONGEST_NAME = 120
"""Characters of a test's name in the name of a file: systems take 255 bytes."""


class ScenarioFailed(Error):
    """A scenario raised an exception in a program that `claudewire_sim` has made."""


class NoRecording(Error):
    """The test should be replayed, but was never recorded."""


class _Factory:
    """The state of both factories. Paths of scenarios are relative to `base`."""

    def __init__(self, log: WireLog, *, base: Path, folder: Path, config: Path) -> None:
        self._log = log
        self._base = base
        self._folder = folder
        self._config = config
        self._made: list[SimulatedCLI] = []
        self._count = 0
        self._logs: list[Path] = []


class SimulatedCLIFactory(_Factory):
    """Makes simulated CLIs in this process, by default in `folder`, and logs their traffic."""

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
            cwd=self._folder if cwd is None else cwd,
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


class SimulatedProgramFactory(_Factory):
    """Makes simulated CLIs as programs in `folder`, for code that needs a path to `claude`."""

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


# --- the log of the wire --------------------------------------------------------------------------


class _Wire:
    """The last lines of one conversation."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._lines: deque[tuple[str, bytearray]] = deque(maxlen=LINES)
        self._open: dict[str, bytearray] = {}
        """The unfinished line of each direction."""

    def feed(self, direction: str, data: bytes) -> None:
        for piece in data.splitlines(keepends=True):
            line = self._open.setdefault(direction, bytearray())
            if not line:
                self._lines.append((direction, line))
            line += piece[: KEPT - len(line)]
            if piece.endswith(b"\n"):
                del self._open[direction]

    def show(self, redact: Callable[[str], str]) -> str:
        shown = []
        for direction, line in self._lines:
            text = redact(line.rstrip(b"\n").decode("utf-8", "backslashreplace"))
            text = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", text)
            text = text if len(text) <= WIDEST else f"{text[:WIDEST]}…"
            end = " (no newline yet)" if self._open.get(direction) is line else ""
            shown.append(f"{direction} {text}{end}")
        return "\n".join(shown)


class Watched(Generic[T]):
    """A transport that passes everything to another one, and logs it.

    Attributes:
        inner: the other transport.
    """

    def __init__(self, inner: T, wire: _Wire) -> None:
        self.inner = inner
        self._wire = wire

    async def send(self, data: bytes) -> None:
        """Write all of `data`."""
        self._wire.feed(">", data)  # first: the answer may arrive before `send` returns
        await self.inner.send(data)

    async def send_eof(self) -> None:
        """Close the peer's stdin."""
        self._wire.feed("=", b"end of input\n")
        await self.inner.send_eof()

    async def receive(self) -> bytes:
        """Wait for some bytes; `b""` when there will be no more."""
        data = await self.inner.receive()
        self._wire.feed("<", data)
        return data

    async def receive_stderr(self) -> bytes:
        """Wait for some bytes of stderr; `b""` when there will be no more."""
        data = await self.inner.receive_stderr()
        self._wire.feed("!", data)
        return data

    async def wait(self) -> int | None:
        """Wait until the peer has exited; return its exit status."""
        status = await self.inner.wait()
        self._wire.feed("=", f"exit {status}\n".encode())
        return status

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self.inner.aclose()


class WireLog:
    """Logs the wires of one test: `>` to the CLI, `<` from it, `!` its stderr.

    It keeps the last lines of each wire, and removes secrets when it shows them.
    """

    def __init__(self) -> None:
        self._wires: list[_Wire] = []
        self._files: list[Path] = []

    def watch(self, transport: T, name: str = "") -> Watched[T]:
        """Wrap a transport in one that logs its traffic."""
        wire = _Wire(name or type(transport).__name__)
        self._wires.append(wire)
        return Watched(transport, wire)

    def watch_file(self, path: str | os.PathLike[str]) -> None:
        """Add the log file of simulated CLIs, as `CLAUDEWIRE_SIM_LOG` names it."""
        self._files.append(Path(path))

    def sections(self) -> list[tuple[str, str]]:
        """Return the log for a report: a title and the lines of each wire that was used."""
        redactor = Redactor()
        wires = [*self._wires, *(wire for path in self._files for wire in _read(path))]
        shown = [(wire.name, wire.show(redactor)) for wire in wires]
        return [(f"wire: {name}", text) for name, text in shown if text]


def stderr_of_programs(path: Path) -> Iterator[str]:
    """Yield the stderr of simulated CLIs from their log."""
    for _, direction, data in _entries(path):
        if direction == "!":
            yield data.decode("utf-8", "backslashreplace")


def _entries(path: Path) -> Iterator[tuple[str, str, bytes]]:
    """Read the log of simulated CLIs: each line has a process, a direction and bytes."""
    text = path.read_text("ascii") if path.exists() else ""
    for line in text.split("\n")[:-1]:
        process, direction, data = line.split(" ")
        yield process, direction, bytes.fromhex(data)


def _read(path: Path) -> Iterator[_Wire]:
    wires: dict[str, _Wire] = {}
    for process, direction, data in _entries(path):
        wires.setdefault(process, _Wire(f"{path.stem}, process {process}")).feed(direction, data)
    yield from wires.values()
