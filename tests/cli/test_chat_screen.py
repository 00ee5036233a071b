"""The terminal of a conversation, with a keyboard and an output in memory."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output.vt100 import Vt100_Output
from tests.people.asking import SOON

from claudewire.cli import chat_screen
from claudewire.cli.chat_screen import ChatScreen, Typed, _Question

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # which the line that is typed into needs


class Person:
    """Types into a screen, and sees what it shows."""

    def __init__(self, screen: ChatScreen, keyboard: Any, seen: io.StringIO, now: list[float]):
        self.screen = screen
        self.type = keyboard.send_text
        self.now = now
        self.interrupts = 0
        self.read: list[str] = []
        self.left = False
        self._seen = seen

    @property
    def seen(self) -> str:
        """All that was written so far."""
        return self._seen.getvalue()

    async def until(self, is_true: Callable[[], bool]) -> None:
        with anyio.fail_after(SOON):
            while not is_true():
                await anyio.lowlevel.checkpoint()

    async def prompted(self) -> None:
        """Wait until a prompt is being typed into."""
        await self.until(lambda: self.screen._running() is not None)

    async def reading(self) -> None:
        try:
            while True:
                self.read.append(await self.screen.read())
        except EOFError:
            self.left = True


@pytest.fixture
async def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Person]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "40")
    now = [100.0]
    monkeypatch.setattr(chat_screen, "monotonic", lambda: now[-1])
    seen = io.StringIO()
    monkeypatch.setattr(chat_screen, "sys", SimpleNamespace(stdout=seen))
    output = Vt100_Output(seen, lambda: Size(rows=24, columns=40), enable_cpr=False)
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=output):
        screen = ChatScreen(
            growing=lambda: ["one", "two", "three", "four", "five" * 20],
            status=lambda: "busy",
            settle=lambda: ["settled"],
            interrupted=lambda: setattr(made, "interrupts", made.interrupts + 1),
        )
        made = Person(screen, keyboard, seen, now)
        yield made


async def settled() -> None:
    """Let what was typed be taken."""
    for _ in range(50):
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def at_work(person: Person) -> AsyncIterator[None]:
    """Read prompts and write lines meanwhile."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(person.screen.run)
        tasks.start_soon(person.reading)
        await person.prompted()
        yield
        person.screen.close()
        await person.until(lambda: person.left)
        tasks.cancel_scope.cancel()


async def test_prompts_are_read_one_after_the_other_and_stay_to_be_seen(
    person: Person, tmp_path: Path
) -> None:
    async with at_work(person):
        person.type("hello\r")
        await person.until(lambda: len(person.read) == 1)
        person.type("two\x1b\rlines\r")
        await person.until(lambda: len(person.read) == 2)
    assert person.read == ["hello", "two\nlines"]
    assert "> hello\n" in person.seen
    assert "> two\n  lines\n" in person.seen
    remembered = (tmp_path / "claudewire" / "history").read_text(encoding="utf-8")
    assert "+hello\n" in remembered
    assert "+two\n+lines\n" in remembered


async def test_lines_are_written_above_the_prompt_and_without_one_at_once(person: Person) -> None:
    person.screen.print(["before"])
    person.screen.print([])
    await person.screen.flush()
    assert person.seen.endswith("before\n")
    async with at_work(person):
        person.screen.print(["meanwhile", "and more"])
        await person.until(lambda: "meanwhile\nand more\n" in person.seen.replace("\r", ""))
        person.type("still here\r")
        await person.until(lambda: person.read == ["still here"])
    assert person.seen.count("before") == 1


async def test_what_is_written_without_a_prompt_is_seen_at_once(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    monkeypatch.setattr(person._seen, "flush", lambda: flushed.append(person.seen))
    person.screen.print(["a line"])
    await person.screen.flush()
    assert flushed[-1].endswith("a line\n")


async def test_a_screen_on_which_nothing_is_printed_does_nothing(person: Person) -> None:
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(person.screen.run)
            person.screen.print(["a line"])
            await anyio.wait_all_tasks_blocked()  # never, if something goes round and round
            assert person.seen.endswith("a line\n")
            tasks.cancel_scope.cancel()


async def test_a_question_is_answered_before_anything_else_and_what_was_typed_is_kept(
    person: Person,
) -> None:
    async with at_work(person):
        person.type("and then")
        await person.until(lambda: person.screen._main.default_buffer.text == "and then")
        async with person.screen.asking():
            person.screen.show(["Is it good?"])
            answers: list[str] = []

            async def ask(text: str, several: bool) -> None:
                answers.append(await person.screen.type("", text=text, several=several))

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "ye", False)
                await person.until(lambda: person.screen._answers.app.is_running)
                person.screen.print(["later"])
                person.type("s\r")
                await person.until(lambda: person.screen._answers.default_buffer.text == "yes")
                await settled()
                assert answers == []  # Enter may have been meant for what was typed before
                person.now.append(person.now[-1] + 0.49)
                person.type("\r")
                await settled()
                assert answers == []
                person.now.append(person.now[-1] + 0.02)
                person.type("\r")
                await person.until(lambda: answers == ["yes"])
            assert "later" not in person.seen
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(ask, "", True)
                await person.until(lambda: person.screen._answers.app.is_running)
                person.now.append(person.now[-1] + 1)
                person.type("a\rb\x1b\r")
                await person.until(lambda: len(answers) == 2)
            person.screen.show(["Thanks."])
        await person.until(lambda: "later" in person.seen)
        await person.until(lambda: person.screen._main.app.is_running)
        person.type(" this\r")
        await person.until(lambda: person.read == ["and then this"])
    assert answers == ["yes", "a\nb"]
    places = [
        person.seen.index(it) for it in ("settled", "Is it good?", "> yes\n", "Thanks.", "later")
    ]
    assert places == sorted(places)


async def test_an_answer_begins_empty_and_ends_with_enter(person: Person) -> None:
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await person.screen.type(""))

    async with at_work(person), person.screen.asking(), anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await person.until(lambda: person.screen._answers.app.is_running)
        person.type("yes\r")
        await person.until(lambda: answers != [])
    assert answers == ["yes"]


async def test_ctrl_c_at_a_question_is_no_answer(person: Person) -> None:
    async with at_work(person), person.screen.asking(), anyio.create_task_group() as tasks:

        async def ask() -> None:
            with pytest.raises(EOFError):
                await person.screen.type("")

        tasks.start_soon(ask)
        await person.until(lambda: person.screen._answers.app.is_running)
        person.type("\x03")
    assert person.interrupts == 1
    assert person.read == []


async def test_a_question_that_is_withdrawn_leaves_the_prompt(person: Person) -> None:
    async with at_work(person):
        with anyio.CancelScope() as scope:
            async with person.screen.asking():
                person.screen.show(["Is it good?"])
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(person.screen.type, "")
                    await person.until(lambda: person.screen._answers.app.is_running)
                    person.screen._asked.append("No longer asked.")
                    scope.cancel()
        await person.until(lambda: person.screen._main.app.is_running)
        assert "No longer asked.\n" in person.seen.replace("\r", "")
        person.type("go on\r")
        await person.until(lambda: person.read == ["go on"])


async def test_ctrl_c_and_ctrl_d_at_the_prompt(person: Person) -> None:
    async with at_work(person):
        person.type("\x03")
        await person.until(lambda: person.interrupts == 1)
        person.type("\r \r\x15\x04")
        await person.until(lambda: person.left)
    assert person.read == []


# --- with a prompt that only notes what is done to it --------------------------------------------


class NotedApp:
    """Notes what is done to a prompt, in its order."""

    def __init__(self, calls: list[Any], *, running: bool = True, answers_cpr: bool = False):
        self.calls = calls
        self.is_running = running
        self.output = SimpleNamespace(
            responds_to_cpr=answers_cpr,
            write_raw=lambda text: calls.append(text),
            flush=lambda: calls.append("flush"),
        )
        self.renderer = SimpleNamespace(
            erase=lambda: calls.append("erase"),
            reset=lambda: calls.append("reset"),
            request_absolute_cursor_position=lambda: calls.append("where"),
            wait_for_cpr_responses=self._wait,
        )

    async def _wait(self) -> None:
        self.calls.append("wait")

    def invalidate(self) -> None:
        self.calls.append("draw")

    def exit(self, exception: BaseException) -> None:
        self.calls.append(type(exception))
        raise RuntimeError("it has just ended")


@pytest.mark.parametrize(("answers_cpr", "first"), [(False, []), (True, ["wait"])])
async def test_what_is_written_above_a_prompt_lets_it_be_drawn_again(
    person: Person, answers_cpr: bool, first: list[str]
) -> None:
    calls: list[Any] = []
    screen: Any = person.screen
    screen._main = SimpleNamespace(app=NotedApp(calls, answers_cpr=answers_cpr))
    await screen.flush()
    assert calls == []
    screen.print(["a", "b"])
    await screen.flush()
    assert calls == [*first, "erase", "a\nb\n", "flush", "reset", "where", "draw"]


async def test_a_prompt_that_has_just_ended_can_be_left(person: Person) -> None:
    screen: Any = person.screen
    for running in (True, False):
        main: list[Any] = []
        answers: list[Any] = []
        screen._main = SimpleNamespace(app=NotedApp(main, running=running))
        screen._answers = SimpleNamespace(app=NotedApp(answers, running=running))
        screen._leave(screen._main)
        screen.close()
        assert main == ([Typed, EOFError] if running else [])
        assert answers == ([EOFError] if running else [])


async def test_ctrl_c_is_not_taken_by_the_system_while_something_is_typed(person: Person) -> None:
    screen: Any = person.screen
    given: list[dict[str, Any]] = []

    class Prompts:
        app = NotedApp([], running=False)

        async def prompt_async(self, message: Any, **how: Any) -> str:
            assert message == screen._message
            given.append(how)
            return "typed"

    screen._main = screen._answers = Prompts()
    screen._draft = "a draft"
    assert await screen.read() == "typed"
    assert await screen.read() == "typed"
    assert given == [{"default": it, "handle_sigint": False} for it in ("a draft", "")]
    given.clear()
    question = screen._question = _Question("text", several=True)
    await screen._answer(question)
    assert given == [{"default": "text", "multiline": True, "handle_sigint": False}]
    assert (question.answer, screen._question) == ("typed", None)
    assert person.seen.count("> typed\n") == 3
