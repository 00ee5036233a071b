"""Whole conversations, over a screen in memory: all that is printed, in its order."""

from __future__ import annotations

import signal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.cli.conversations import Conversation, Step
from tests.helpers.kept import Kept

from claudewire.cli.chat_commands import COMMANDS
from claudewire.errors import CLIError
from claudewire.simulator.faults import ExitWith
from claudewire.testing import Chat

pytestmark = pytest.mark.anyio


async def test_a_conversation_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def status() -> None:
        chat.status()

    def growing() -> None:
        chat.growing()

    monkeypatch.chdir(tmp_path)
    steps: list[Step] = [
        *("…tokens", "/tasks", "hello", "…tokens", status, growing),
        *("/help", "/cost", "/context", "/model", "/model sonnet", "/mode", "/mode plan"),
        *("/mode fly", "/save", "/save talk.md", "/save talk.md", "/save no/talk.md", "/fly"),
        *("", "  ", "/", "/model  opus ", status),
        *("agents", "…tokens", "fail", "…tokens", "limit", "…tokens", "busy", "…tokens"),
        *("shell ls", "…tokens", "ask", "…tokens", "plan", "…tokens"),
        *("background", "…The build is done.", "/tasks", status),
        *("/cost now", "/fork", "…Talking to", status, "more", "…tokens", "/quit"),
        "never",
    ]
    answers = ["n not now", "1 2", "y"]
    options: Any = {"allow": ["Read"], "model": "haiku"}
    chat = Conversation(monkeypatch, *steps, answers=answers, prompt="markdown", **options)
    text = await chat.run()
    saved = anyio.Path(tmp_path, "talk.md")
    kept("chat.txt", text + await saved.read_text(encoding="utf-8"))


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
        "a queue": [
            *working,
            "hello " * 20,
            look,
            "more",
            look,
            press,
            "…said: more",
            "≈/help",
            look,
        ],
        "again": [*working, *stop, *working, *stop, press, "…again to leave"],
    }
    text = ""
    for name, steps in cases.items():
        chat = Conversation(monkeypatch, *steps, allow=["Read"])
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

    chat = Conversation(monkeypatch, "wait", "…Waiting now.", press, "…(closed)", allow=["Read"])
    text = await chat.run()
    assert "  - Ending the session. Press Ctrl-C again to kill it.\n" in text
    assert text.endswith("= <Exit.INTERRUPTED: 130>\n")


async def test_how_a_conversation_ends_is_as_it_was(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ""
    for frame in (1, 2, 5):
        chat = Conversation(monkeypatch, "hello", "…(closed)")
        chat.faults = [ExitWith(3, at=frame)]
        ordered = "<- ".join(sorted_lines(it) for it in (await chat.run()).split("<- "))
        text += f"# at frame {frame}\n{ordered}\n"
    kept("chat-ends.txt", text)


async def build(chat: Chat) -> None:
    chat.start_task("a build without an end")
    await chat.say("It is being built.")


async def test_what_runs_in_the_background_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> None:
        chat.status()

    chat = Conversation(monkeypatch, "x", "…tokens", look, "x", "…tokens", look)
    chat.scenario = build
    text = await chat.run()
    assert text.count(" · 1 in the background · ") == 1
    assert text.count(" · 2 in the background · ") == 1


async def test_ctrl_c_is_taken_also_where_nothing_is_typed(monkeypatch: pytest.MonkeyPatch) -> None:
    def send() -> None:
        signal.raise_signal(signal.SIGINT)

    chat = Conversation(monkeypatch, "hello", "…tokens", send, "…again to leave")
    assert "  - Press Ctrl-C again to leave.\n" in await chat.run()


@pytest.mark.parametrize(("outcome", "ends"), [("stopped", False), ("not_stopped", True)])
async def test_ctrl_c_counts_anew_only_after_a_turn_was_stopped(
    outcome: str, ends: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    async def interrupt(**given: object) -> Any:
        asked.append(given)
        return SimpleNamespace(outcome=outcome, cancelled=[], still_queued=[])

    def press() -> None:
        monkeypatch.setattr(chat.session.session, "interrupt", interrupt)
        chat.screen.print([f"<- Ctrl-C {len(asked)}"])
        chat.screen.interrupted()

    second = "…(closed)" if ends else "…stopped"
    steps = ("wait", "≈slow.txt", press, "…stopped", press, second)
    chat = Conversation(monkeypatch, *steps, allow=["Read"])
    assert ("Ending the session." in await chat.run()) is ends
    assert asked == [{"timeout": 10.0}] * (1 if ends else 2)


async def test_an_interrupt_that_fails_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[object] = []

    async def interrupt(**given: object) -> None:
        asked.append(given)
        raise CLIError("No answer.")

    def press() -> None:
        monkeypatch.setattr(chat.session.session, "interrupt", interrupt)
        chat.screen.interrupted()

    steps = ("wait", "≈slow.txt", press, "…could not be")
    chat = Conversation(monkeypatch, *steps, allow=["Read"])
    assert "  - It could not be interrupted: No answer.\n" in await chat.run()
    assert asked == [{"timeout": 10.0}]


async def test_a_conversation_without_a_session_does_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = Conversation(monkeypatch)
    assert (chat.screen.growing(), chat.screen.status()) == ([], "")
    assert [name for name, _ in chat.session._commands()] == [*COMMANDS]


async def test_commands_of_the_cli_are_offered_after_those_of_this_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = Conversation(monkeypatch)
    commands = [
        SimpleNamespace(name="review", description="r" * 61),
        SimpleNamespace(name="brief", description="b" * 60),
        SimpleNamespace(name="silent", description=None),
        SimpleNamespace(name="help", description="another help"),
        SimpleNamespace(name="odd\x1b", description="cannot be shown"),
    ]
    own = [(name, it.help) for name, it in COMMANDS.items()]
    theirs = [("/review", "r" * 59 + "…"), ("/brief", "b" * 60), ("/silent", "")]
    for info, more in [
        (None, []),
        (SimpleNamespace(commands=None), []),
        (SimpleNamespace(commands=commands), theirs),
    ]:
        chat.session.session = session = SimpleNamespace(cli_info=info)  # type: ignore[assignment]
        assert session is not None
        assert [*chat.session._commands()] == [*own, *more]


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ({"description": "a build", "summary": "b", "kind": "c"}, "a build (running)"),
        ({"summary": "b", "kind": "c"}, "b (running)"),
        ({"kind": "shell"}, "shell (running)"),
        ({}, " (running)"),
        ({"usage": SimpleNamespace(duration_ms=None)}, " (running)"),
        ({"usage": SimpleNamespace(duration_ms=90_000)}, " (running, 1 min 30 s)"),
    ],
)
async def test_a_task_says_what_it_is_and_how_long_it_took(
    task: dict[str, Any], words: str
) -> None:
    nothing = dict.fromkeys(("description", "summary", "kind", "usage"))
    tasks = [SimpleNamespace(id="t1", status="running", **{**nothing, **task})]
    said: list[str] = []
    chat: Any = SimpleNamespace(session=SimpleNamespace(tasks=tasks), say=said.append)
    await COMMANDS["/tasks"].run(chat, "")
    assert said == [f"t1: {words}"]


@pytest.mark.parametrize(
    ("total", "most", "words"),
    [
        (None, None, "0 of 0 tokens are in use."),
        (1000, None, "1,000 of 0 tokens are in use."),
        (1000, 4000, "1,000 of 4,000 tokens are in use (25%)."),
        (None, 4000, "0 of 4,000 tokens are in use (0%)."),
    ],
)
async def test_what_fills_the_context_is_said(
    total: int | None, most: int | None, words: str
) -> None:
    parts = [SimpleNamespace(name="Tools", tokens=2000), SimpleNamespace(name="Free", tokens=None)]
    said: list[str] = []

    async def usage() -> Any:
        return SimpleNamespace(total_tokens=total, max_tokens=most, categories=categories.pop(0))

    categories: list[Any] = [parts, None]
    chat: Any = SimpleNamespace(session=SimpleNamespace(get_context_usage=usage), say=said.append)
    while categories:
        await COMMANDS["/context"].run(chat, "")
    assert said == [words, "Tools: 2,000", "Free: 0", words]


async def test_each_model_is_listed_with_what_is_known_of_it() -> None:
    models = [
        SimpleNamespace(value="a", description="the first", display_name="A"),
        SimpleNamespace(value="b", description=None, display_name="B"),
        SimpleNamespace(value="c", description=None, display_name=None),
    ]
    said: list[str] = []
    for info in (SimpleNamespace(models=models), SimpleNamespace(models=None)):
        chat: Any = SimpleNamespace(session=SimpleNamespace(cli_info=info), say=said.append)
        await COMMANDS["/model"].run(chat, "")
    assert said == ["a: the first", "b: B", "c: ", "Which model? /model NAME"]


@pytest.mark.parametrize(("answered", "shown"), [("plan", "plan"), (None, "acceptEdits")])
async def test_the_mode_is_the_one_that_the_cli_says(answered: str | None, shown: str) -> None:
    async def set_mode(mode: str) -> Any:
        return SimpleNamespace(mode=answered)

    said: list[str] = []
    session = SimpleNamespace(set_permission_mode=set_mode)
    chat: Any = SimpleNamespace(session=session, say=said.append)
    await COMMANDS["/mode"].run(chat, "acceptEdits")
    assert said == [f"The permission mode is now {shown}."]


async def test_a_conversation_that_waits_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read() -> str:
        if not typed:
            await anyio.wait_all_tasks_blocked()  # never, if something goes round and round
            raise EOFError
        await chat.screen.until_seen("/help")
        return typed.pop()

    typed = ["hello"]
    chat = Conversation(monkeypatch)
    monkeypatch.setattr(chat.screen, "read", read)
    assert "You said: hello" in await chat.run()


async def test_time_is_counted_from_what_was_sent_last(monkeypatch: pytest.MonkeyPatch) -> None:
    def long_ago() -> None:
        chat.session._drawing.since -= 1000

    def look() -> None:
        chat.growing()

    async def think(chat: Chat) -> None:
        await chat.sleep(600)

    steps: tuple[Step, ...] = (long_ago, "first", "≈Ctrl-C", look, long_ago, look, "second", look)
    chat = Conversation(monkeypatch, *steps)
    chat.scenario = think
    grown = [it for it in (await chat.run()).split("\n") if it.startswith("~   ")]
    assert ["0 s" in it for it in grown] == [False, True, True]  # a queued one has not begun
