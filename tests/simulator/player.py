"""Plays a conversation with the engine of the simulated CLI, and writes all that it does.

There is no event loop and no time: the clock is moved to what is due next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.helpers.kept import compact, normal
from tests.helpers.talk import Handler, allow, calculator

from claudewire.simulator import ARGV, Fault, Scenario, Simulation, actions
from claudewire.simulator.flags import EarlyExit
from claudewire.simulator.stored import append_entries
from claudewire.wire import (
    Answer,
    Body,
    CanUseTool,
    Connection,
    Event,
    Failure,
    Initialize,
    McpMessage,
    Request,
    Role,
    UserMessage,
)

ID = "11111111-1111-4111-8111-111111111111"


class Player:
    """An application that says things, answers requests, and writes down what the CLI does.

    Args:
        scenario: what the agent does.
        cwd: its folder; its own configuration is in `config` beside it.
        argv: its flags.
        serve: what answers each kind of request; without one the request waits.
        env: more variables.
        others: more for `Simulation`.
    """

    def __init__(
        self,
        scenario: Scenario | None,
        cwd: Path,
        *,
        argv: Sequence[str] = (),
        serve: Mapping[type, Handler] | None = None,
        env: Mapping[str, str] | None = None,
        version: str = "2.1.325",
        dialect: str = "modern",
        faults: Sequence[Fault] = (),
        strict: bool = False,
        flags: Sequence[str] = ARGV,
    ) -> None:
        self.lines: list[str] = []
        self.serve: dict[type, Handler] = {CanUseTool: allow, McpMessage: calculator}
        self.serve.update(serve or {})
        self._cwd = cwd
        self._config = cwd.parent / "config"
        self._time = 0.0
        self._unread = b""
        self._connection = Connection(Role.CLIENT, dialect=dialect)
        simulation = Simulation(scenario, version, dialect, faults, strict)
        env = {"CLAUDE_CONFIG_DIR": str(self._config), **(env or {})}
        started = simulation.engine(
            [*flags, *argv], cwd=str(cwd), env=env, clock=lambda: self._time
        )
        self._ended = isinstance(started, EarlyExit)
        if isinstance(started, EarlyExit):
            self.note("<", started.stdout)
            self.note("!", started.stderr)
            self.note("=", f"exit {started.status}")
        else:
            self.engine = started
            self.engine.start()
            self._go_on()

    # --- what the application does ---------------------------------------------------------------

    def ask(self, *bodies: Body) -> None:
        for body in bodies:
            self.say(self._connection.new_request(body))

    def turn(self, *texts: str, **fields: Any) -> None:
        for text in texts:
            self.say(UserMessage.of(text, **fields))

    def say(self, event: Event) -> None:
        self.feed(self._connection.send(event))

    def feed(self, data: bytes) -> None:
        if not self._ended:
            self.engine.feed(data)
            self._go_on()

    def catch_up(self, body: Any = None) -> None:
        """Answer what waits: with this, or with what answers it now."""
        for request in list(self._connection.owed.values()):
            if body is not None:
                self.engine.feed(self._connection.send(Answer(request.id, body)))
            elif type(request.body) in self.serve:
                self._answer(request)
        self._go_on()

    @property
    def owed(self) -> list[str]:
        """The ids of the requests that wait for an answer."""
        return list(self._connection.owed)

    def end(self) -> None:
        self.feed(b"")
        if not self._ended:
            self.engine.close()

    # --- what the CLI does -----------------------------------------------------------------------

    def _go_on(self) -> None:
        """Carry out what the CLI does, until it waits for the application."""
        while not self._ended:
            done = self.engine.take()
            for action in done:
                self._do(action)
            if done:
                continue
            if (due := self.engine.due_in) is None:
                return
            self._time += due
            self.engine.wake()

    def _do(self, action: actions.Action) -> None:
        match action:
            case actions.Write(data):
                self._hear(data)
            case actions.WriteError(data):
                self.note("!", data.decode())
            case actions.Append(path, entries):
                append_entries(path, entries)
                name = Path(path).relative_to(self._config)
                for entry in entries:
                    self.note("@", f"{'/'.join(name.parts[2:])} {compact(entry)}")
            case actions.Run(key):
                self.engine.finish(key, action())
            case actions.Exit(status):
                self.note("=", f"exit {status}")
                self._ended = True
            case _:
                self.note("=", repr(action))

    def _hear(self, data: bytes) -> None:
        lines = (self._unread + data).split(b"\n")
        self._unread = lines.pop()
        for line in lines:
            self.note("<", _shown(line))
        for event in self._connection.receive_data(data):
            if isinstance(event, Request) and type(event.body) in self.serve:
                self._answer(event)

    def _answer(self, request: Request) -> None:
        try:
            body = self.serve[type(request.body)](request.body)
        except Exception as error:
            self.engine.feed(self._connection.send(Failure(request.id, str(error))))
        else:
            if body is not NotImplemented:  # which stands for no answer at all
                self.engine.feed(self._connection.send(Answer(request.id, body)))

    def note(self, sign: str, text: str) -> None:
        self.lines += [f"{sign} {line}" for line in text.splitlines()]

    @property
    def text(self) -> str:
        """All that the CLI has done, a line for each."""
        if self._unread:
            self.note("<", f"{self._unread!r} without a newline")
            self._unread = b""
        places = {"config": self._config, "cwd": self._cwd}
        text = normal("".join(f"{line}\n" for line in self.lines), **places)
        return text.replace(ID, "<session>")


def _shown(line: bytes) -> str:
    """Return a line of JSON in a uniform way, and any other as it is."""
    try:
        return compact(json.loads(line))
    except ValueError:
        return repr(line)


def played(scenario: Scenario | None, cwd: Path, *prompts: str, **options: Any) -> str:
    """Return all that the CLI does in turns with these prompts, after `initialize`."""
    opening = options.pop("opening", Initialize())
    player = Player(scenario, cwd, **options)
    player.ask(opening)
    player.turn(*prompts)
    player.end()
    return player.text


Case = Callable[[Path], str]
