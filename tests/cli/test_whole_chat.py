"""Whole conversations, over a screen in memory: all that is printed, in its order."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.cli.scenes import scene
from tests.helpers.kept import Kept, normal
from tests.people.asking import SOON

from claudewire.cli import chat_session
from claudewire.cli.chat_session import ChatSession
from claudewire.cli.styles import Paint
from claudewire.options import Options
from claudewire.simulator import SimulatedCLI
from claudewire.simulator.faults import ExitWith
from claudewire.transport import Launch

pytestmark = pytest.mark.anyio

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


class Chat:
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
        self.faults: list[Any] = []
        given = Options(include_partial_messages=True, **options)
        self.session = ChatSession(given, self._connect, prompt)
        self.screen: Any = self.session.screen

    async def _connect(self, launch: Launch) -> SimulatedCLI:
        cli = SimulatedCLI(scene, faults=self.faults)
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


async def test_a_conversation_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    steps: list[Step] = [
        *("…tokens", "/tasks", "hello", "…tokens", lambda: chat.status(), lambda: chat.growing()),
        *("/help", "/cost", "/context", "/model", "/model sonnet", "/mode", "/mode plan"),
        *("/mode fly", "/save", "/save talk.md", "/save talk.md", "/save no/talk.md", "/fly"),
        *("", "  ", "/", "/model  opus ", lambda: chat.status()),
        *("agents", "…tokens", "fail", "…tokens", "limit", "…tokens", "busy", "…tokens"),
        *("shell ls", "…tokens", "ask", "…tokens", "plan", "…tokens"),
        *("background", "…The build is done.", "/tasks", lambda: chat.status()),
        *("/cost now", "/fork", "…Talking to", lambda: chat.status(), "more", "…tokens", "/quit"),
        "never",
    ]
    answers = ["n not now", "1 2", "y"]
    options: Any = {"allow": ["Read"], "model": "haiku"}
    chat = Chat(monkeypatch, *steps, answers=answers, prompt="markdown", **options)
    text = await chat.run()
    text += Path("talk.md").read_text(encoding="utf-8")
    kept("chat.txt", text)


async def test_interrupts_of_a_conversation_are_as_they_were(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press() -> None:
        chat.screen.print(["<- Ctrl-C"])
        chat.screen.interrupted()

    def look() -> None:
        chat.growing()
        chat.status()

    working: list[Step] = ["wait", "≈slow.txt", look]
    stop: list[Step] = [press, "…stopped", "…tokens"]
    cases: dict[str, list[Step]] = {
        "nothing runs": [
            press,
            "…again to leave",
            "/x",
            press,
            "…again to leave",
            press,
            "…(closed)",
        ],
        "a turn": [*working, *stop, look, press, "…again to leave"],
        "a queue": [*working, "hello", look, "more", look, press, "…said: more", "≈/help", look],
        "again": [*working, *stop, *working, *stop, press, "…again to leave"],
    }
    text = ""
    for name, steps in cases.items():
        chat = Chat(monkeypatch, *steps, allow=["Read"])
        ordered = "<- ".join(sorted_lines(it) for it in (await chat.run()).split("<- "))
        text += f"# {name}\n{ordered}\n"
    kept("chat-interrupts.txt", text)


def sorted_lines(text: str) -> str:
    """Sort lines that come from different tasks, in any order, after what was typed."""
    first, _, rest = text.partition("\n")
    return "\n".join([first, *sorted(filter(None, rest.split("\n"))), ""])


@pytest.mark.parametrize("presses", [2, 3])
async def test_ctrl_c_again_ends_a_session_that_works(
    presses: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press() -> None:
        for _ in range(presses):
            chat.screen.interrupted()

    chat = Chat(monkeypatch, "wait", "…Waiting now.", press, "…(closed)", allow=["Read"])
    text = await chat.run()
    assert "  - Ending the session. Press Ctrl-C again to kill it.\n" in text
    assert text.endswith("= <Exit.INTERRUPTED: 130>\n")


async def test_how_a_conversation_ends_is_as_it_was(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ""
    for frame in (1, 2, 5):
        chat = Chat(monkeypatch, "hello", "…(closed)")
        chat.faults = [ExitWith(3, at=frame)]
        ordered = "<- ".join(sorted_lines(it) for it in (await chat.run()).split("<- "))
        text += f"# at frame {frame}\n{ordered}\n"
    kept("chat-ends.txt", text)
