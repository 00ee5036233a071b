"""Conversations over a screen in memory, with a person who takes one step after the other."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.cli.scenes import scene
from tests.helpers.kept import normal
from tests.people.asking import SOON

from claudewire.cli import chat_session
from claudewire.cli.chat_session import ChatSession
from claudewire.cli.styles import Paint
from claudewire.options import Options
from claudewire.simulator import SimulatedCLI
from claudewire.transport import Launch

Step = str | Callable[[], Any]
"""What a person types, or waits for, or does."""


class MemoryScreen:
    """A terminal in memory, with a person who takes one step after the other, then leaves."""

    width = 70
    steps: Sequence[Step] = ()
    answers: Sequence[str] = ()
    paint = Paint(attributes=False, unicode=False)

    def __init__(self, *, growing: Any, status: Any, settle: Any, interrupted: Any, completer: Any):
        self.growing, self.status, self.settle = growing, status, settle
        self.interrupted = interrupted
        self.completer = completer
        self.printed: list[str] = []
        self._steps = [*self.steps]
        self._answers = [*self.answers]
        self._changed = anyio.Event()
        self._is_closed = False

    def print(self, lines: Sequence[str]) -> None:
        self.printed += lines
        self._note()

    def _note(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    show = print

    async def run(self) -> None:
        await anyio.sleep_forever()

    async def flush(self) -> None:
        pass

    async def read(self) -> str:
        """Take the next step that types something; each other one is taken before."""
        while self._steps and not self._is_closed:
            step = self._steps.pop(0)
            if not isinstance(step, str):
                step()
            elif step.startswith("…"):
                await self.until(step[1:])
            elif step.startswith("≈"):
                await self.until_seen(step[1:])
            else:
                self.print([f"<- {step}"])
                return step
        raise EOFError

    async def until(self, words: str) -> None:
        """Wait until words were printed after what was typed last."""
        while True:
            last = [at for at, line in enumerate(self.printed) if line.startswith("<- ")]
            since = self.printed[last[-1] if last else 0 :]
            if self._is_closed or any(words in line for line in since):
                return
            await self._changed.wait()

    async def until_seen(self, words: str) -> None:
        """Wait until words are in what is under way, or in the line at the bottom."""
        while words not in " ".join([*self.growing(), self.status()]):
            await anyio.lowlevel.checkpoint()

    def close(self) -> None:
        self.printed.append("(closed)")
        self._is_closed = True
        self._note()

    @asynccontextmanager
    async def asking(self) -> AsyncIterator[None]:
        self.print(self.settle())
        yield

    async def type(self, prompt: str, *, text: str = "", several: bool = False) -> str:
        typed = self._answers.pop(0)
        self.print([f"<- {typed} (after {prompt!r})"])
        return typed


class Conversation:
    """A conversation with scenes of the simulated CLI."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        *steps: Step,
        answers: Sequence[str] = (),
        prompt: str = "",
        **options: Any,
    ) -> None:
        patch.setattr(chat_session, "ChatScreen", MemoryScreen)
        patch.setattr(MemoryScreen, "steps", steps)
        patch.setattr(MemoryScreen, "answers", answers)
        self.scenario: Any = scene
        self.faults: list[Any] = []
        given = Options(include_partial_messages=True, **options)
        self.session = ChatSession(given, self._connect, prompt)
        self.screen: Any = self.session.screen

    async def _connect(self, launch: Launch) -> SimulatedCLI:
        cli = SimulatedCLI(self.scenario, faults=self.faults)
        cli.configure(launch)
        return cli

    def status(self) -> None:
        """Print the line at the bottom."""
        self.screen.print([f"[{self.screen.status()}]"])

    def growing(self) -> None:
        """Print what is under way."""
        self.screen.print([f"~ {line}" for line in self.screen.growing()])

    async def run(self) -> str:
        with anyio.fail_after(SOON):
            status = await self.session.run()
        return told([*self.screen.printed, f"= {status!r}"])


VARYING = [
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "0 s"),
    (re.compile(r"[\d,]+ tokens"), "N tokens"),
    (re.compile(r"[\d,]+ of [\d,]+ tokens are in use \(\d+%\)"), "some tokens are in use"),
    (re.compile(r"tokens read, [\d,]+ written"), "tokens read, N written"),
    (re.compile(r"\$\d+\.\d+"), "$0"),
]


TASK = re.compile(r"- [0-9a-f]{8}: ")


def told(lines: Sequence[str]) -> str:
    text = "".join(f"{line}\n" for line in lines)
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return normal(TASK.sub("- <task>: ", text))
