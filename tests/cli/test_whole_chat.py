"""Whole conversations, over a screen in memory: all that is printed, in its order."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from tests.cli.conversations import Conversation, Step
from tests.helpers.kept import Kept

from claudewire.cli.chat_commands import COMMANDS, ChatCommand, Leave, Reopen
from claudewire.cli.exits import Exit
from claudewire.cli.reports import Decided
from claudewire.cli.styles import Paint
from claudewire.errors import CLIError
from claudewire.session import SessionState
from claudewire.simulator.faults import ExitWith
from claudewire.testing import Chat
from claudewire.wire import CompactBoundaryMessage

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


# --- parts of a conversation by themselves --------------------------------------------------------


def told_by(chat: Conversation) -> list[str]:
    """Return what was printed since the last look."""
    lines = [it.strip() for it in chat.screen.printed if it]
    chat.screen.printed.clear()
    return lines


@pytest.mark.parametrize(
    ("cli", "version", "words"),
    [
        (None, None, "claude"),
        (None, "2.1.325", "claude 2.1.325"),
        ("simulated", None, "the simulated CLI"),
        ("simulated", "2.0.0", "the simulated CLI 2.0.0"),
    ],
)
async def test_it_says_whom_one_talks_to(
    cli: str | None, version: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Conversation(monkeypatch)
    for info in [SimpleNamespace(claude_code_version=version), *([] if version else [None])]:
        session: Any = SimpleNamespace(cli_info=info, options=SimpleNamespace(cli=cli))
        chat.session._greet(session)
        assert told_by(chat) == [f"- Talking to {words}. /help for help."]


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "/help"),
        ({"asked": "haiku"}, "haiku · /help"),
        ({"asked": "haiku", "model": "opus", "mode": "plan"}, "opus · plan · /help"),
        ({"mode": "a\x1b", "model": "b\x1b"}, "b\\x1b · a\\x1b · /help"),
        ({"running": 2, "cost": 0.5}, "2 in the background · $0.5000 · /help"),
        ({"turns": 1}, "Ctrl-C interrupts"),
        ({"turns": 2, "cost": 0.0}, "1 queued · $0.0000 · Ctrl-C interrupts"),
        ({"turns": 3}, "2 queued · Ctrl-C interrupts"),
    ],
)
async def test_the_line_at_the_bottom_says_how_the_session_is_doing(
    fields: dict[str, Any], line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Conversation(monkeypatch)
    known = {"model", "mode"} & fields.keys()
    init = SimpleNamespace(model=fields.get("model"), permission_mode=fields.get("mode"))
    session: Any = SimpleNamespace(
        init_message=init if known else None,
        ledger=SimpleNamespace(session=SimpleNamespace(cost_usd=fields.get("cost"))),
        options=SimpleNamespace(model=fields.get("asked")),
        tasks=SimpleNamespace(running=range(fields.get("running", 0))),
    )
    chat.session.session = session
    turns: list[Any] = [None] * fields.get("turns", 0)
    chat.session._turns = turns
    assert chat.screen.status() == line


@pytest.mark.parametrize(
    ("waiting", "words"),
    [(None, "Working"), ("FIRST_TOKEN", "Thinking"), ("something new", "Working")],
)
async def test_it_says_what_is_waited_for(
    waiting: str | None, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = Conversation(monkeypatch)
    found = waiting and SimpleNamespace(what=SimpleNamespace(name=waiting))
    chat.session.session = session = SimpleNamespace(waiting=found)  # type: ignore[assignment]
    assert session is not None
    assert chat.session._doing() == ""
    turns: list[Any] = [None]
    chat.session._turns = turns
    assert chat.session._doing() == words


class Ended:
    """A turn that has ended, with this reply or this error."""

    key = "t1"
    agent = None

    def __init__(self, outcome: Any) -> None:
        self._outcome = outcome

    async def iter_blocks(self) -> Any:
        block = {"kind": "text", "added": "Some words", "id": "b1", "agent": self.agent}
        yield SimpleNamespace(**block)

    def __await__(self) -> Any:
        yield from anyio.lowlevel.checkpoint().__await__()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        return self._outcome


def reply(error: Any = None, cost: float | None = None) -> Any:
    totals = SimpleNamespace(tokens=1234)
    return SimpleNamespace(error=error, cost_usd=cost, totals=totals, text="Some words")


FAILED, ADVISED = CLIError("It failed."), CLIError("It failed.", advice="Try again.")


@pytest.mark.parametrize("stopped", [False, True])
@pytest.mark.parametrize(
    ("outcome", "lines"),
    [
        (reply(), ["1,234 tokens · 0.0 s"]),
        (reply(cost=0.5), ["1,234 tokens · $0.5000 · 0.0 s"]),
        (reply(FAILED), ["- It failed.", "1,234 tokens · 0.0 s"]),
        (reply(ADVISED), ["- It failed. Try again.", "1,234 tokens · 0.0 s"]),
        (FAILED, ["- It failed."]),
    ],
)
async def test_how_a_turn_has_ended_is_told_unless_the_person_ended_it(
    outcome: Any, lines: list[str], stopped: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claudewire.cli.chat_session.monotonic", lambda: 5.0)
    chat = Conversation(monkeypatch)
    chat.session._stopped = {"t1"} if stopped else {"t2"}
    turn: Any = Ended(outcome)
    await chat.session._show_turn(turn)
    told_too = [it for it in lines if not (stopped and it.startswith("- "))]
    assert told_by(chat) == ["Some words", *told_too]
    said = [] if outcome is FAILED else [("claude", "Some words")]
    assert chat.session.transcript == said
    is_apart = chat.session._drawing.notice("Something else.")[0] == ""
    assert is_apart is (stopped or said != [])


async def test_what_a_subagent_says_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    chat = Conversation(monkeypatch)
    turn: Any = Ended(reply())
    turn.agent = "a1"
    await chat.session._show_blocks(turn)
    assert chat.session._drawing.end_text() == []


async def test_a_turn_by_itself_that_fails_is_only_the_end_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Broken(Ended):
        async def iter_blocks(self) -> Any:
            async for block in super().iter_blocks():
                yield block
            raise FAILED

    async def unsolicited() -> Any:
        yield Broken(None)
        yield Broken(None)

    chat = Conversation(monkeypatch)
    session: Any = SimpleNamespace(unsolicited=unsolicited())
    await chat.session._show_unsolicited(session)
    words = "- Something in the background has ended, and it goes on by itself."
    assert told_by(chat) == [words, "Some words", words, "Some words"]


async def test_files_are_completed_in_the_folder_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Conversation(monkeypatch).screen.completer._folder == str(tmp_path)
    assert Conversation(monkeypatch, cwd="/").screen.completer._folder == "/"


@pytest.mark.parametrize(
    ("state", "failure", "lines"),
    [
        ("FAILED", FAILED, ["error: It failed.", "(closed)"]),
        ("FAILED", ADVISED, ["error: It failed.", "Try again.", "(closed)"]),
        ("FAILED", None, ["(closed)"]),
        ("CLOSED", FAILED, ["(closed)"]),
    ],
)
async def test_when_the_cli_has_ended_it_is_left(
    state: str, failure: Any, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def events() -> Iterator[Any]:
        yield nothing()

    async def nothing() -> Any:
        for event in ("one", "two"):
            yield event

    chat = Conversation(monkeypatch)
    session: Any = SimpleNamespace(
        events=events, state=getattr(SessionState, state), failure=failure
    )
    await chat.session._watch(session)
    assert told_by(chat) == lines
    assert chat.session._exit == (Exit.NO_CLI if len(lines) > 1 else Exit.DONE)


async def test_the_third_ctrl_c_kills(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[Any] = []

    async def close(**how: Any) -> None:
        closed.append(how)

    chat = Conversation(monkeypatch)
    session: Any = SimpleNamespace(close=close)
    chat.session.session = session
    for turns, exit in (([None], Exit.INTERRUPTED), ([], Exit.DONE)):
        some: list[Any] = turns
        chat.session._turns = some
        await chat.session._close()
        assert chat.session._exit == exit
    await chat.session._kill()
    assert closed == [{}, {}, {"now": True}]
    ending = "- Ending the session. Press Ctrl-C again to kill it."
    assert told_by(chat) == [ending, "(closed)", ending, "(closed)", "(closed)"]


@pytest.mark.parametrize("error", [FAILED, KeyError("a defect")])
async def test_an_error_of_the_library_is_told_and_a_defect_is_raised(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: Any, **__: Any) -> None:
        raise error

    def send(text: str) -> None:
        raise error

    chat = Conversation(monkeypatch)
    held = chat.session
    session: Any = SimpleNamespace(send=send, interrupt=fail)
    held.session = session
    turn: Any = Ended(error)
    turns: list[Any] = [turn]

    async def sent() -> None:
        held.send("hello")

    async def interrupted() -> None:
        held._turns = turns
        await held._interrupt()

    steps: list[tuple[Any, str]] = [
        (lambda: held._run(ChatCommand("", fail), ""), "- It failed."),
        (sent, "- It failed."),
        (lambda: held._show_turn(turn), "- It failed."),
        (interrupted, "- It could not be interrupted: It failed."),
    ]
    for step, words in steps:
        if error is FAILED:
            await step()
            assert told_by(chat)[-1] == words
        else:
            with pytest.raises(KeyError):
                await step()
    assert held.transcript == []


async def test_a_conversation_goes_on_after_what_is_typed_and_ends_with_the_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken: list[str] = []

    async def take(text: str, session: Any) -> None:
        taken.append(text)
        if text == "bye":
            raise Leave

    for last in (["bye"], []):
        chat = Conversation(monkeypatch, " one ", "two", *last)
        monkeypatch.setattr(chat.session, "_take", take)
        session: Any = None
        await chat.session._read(session)
        assert taken == ["one", "two", *last]
        taken.clear()


async def test_the_help_fits_into_a_narrow_window() -> None:
    lines: list[str] = []
    screen = SimpleNamespace(paint=Paint(attributes=False), width=30, print=lines.extend)
    chat: Any = SimpleNamespace(screen=screen)
    await COMMANDS["/help"].run(chat, "")
    assert lines[:3] == ["", "  /help      lists the comm…", "  /model     changes the mo…"]
    assert lines[-4:] == [
        "  @file      names a file; …",
        "  Alt-Enter  begins a new l…",
        "  Ctrl-C     interrupts; tw…",
        "  Ctrl-D     leaves",
    ]


async def test_a_conversation_is_saved_whatever_was_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said: list[str] = []
    transcript = [("you", " a \ud800 "), ("claude", "ä\n")]
    chat: Any = SimpleNamespace(transcript=transcript, say=said.append)
    for path in ("~/talk.md", "~/talk.md", ""):
        await COMMANDS["/save"].run(chat, path)
    text = await anyio.Path(tmp_path, "talk.md").read_text(encoding="utf-8")
    assert text == "## you\n\na \\ud800\n\n## claude\n\nä\n"
    assert said == [
        "Written to ~/talk.md.",
        "~/talk.md was not written: File exists.",
        "Where to? /save FILE.md",
    ]


async def test_a_copy_goes_on_from_this_conversation_if_there_is_one() -> None:
    said: list[str] = []
    chat: Any = SimpleNamespace(session=SimpleNamespace(session_id=None), say=said.append)
    await COMMANDS["/fork"].run(chat, "")
    chat.session.session_id = "s1"
    with pytest.raises(Reopen) as again:
        await COMMANDS["/fork"].run(chat, "")
    assert again.value.changes == {
        "resume": "s1",
        "fork_session": True,
        "continue_conversation": False,
    }
    assert said == [
        "There is nothing to fork yet.",
        "This goes on in a copy; the original is s1.",
    ]


async def test_a_decision_is_noted_by_the_log_and_by_the_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chat = Conversation(monkeypatch)
    noted: list[Any] = []
    monkeypatch.setattr(chat.session._log, "decided", noted.append)
    monkeypatch.setattr(
        chat.session._drawing, "activity", lambda made, depth: noted.append((made, depth))
    )
    made = {"kind": "plan", "tool": "ExitPlanMode", "answer": "approve", "reason": ""}
    record: Any = SimpleNamespace(**made, decided_by="handler AskPerson", latency=0.5)
    chat.session._decided(record)
    decision = Decided(**made, by="person", seconds=0.5)
    assert noted == [decision, (decision, 0)]


async def test_what_is_worth_a_line_is_told_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def events() -> Iterator[Any]:
        yield several()

    async def several() -> Any:
        for event in (object(), CompactBoundaryMessage(), object()):
            yield event

    chat = Conversation(monkeypatch)
    session: Any = SimpleNamespace(events=events)
    await chat.session._show_notices(session)
    assert told_by(chat) == ["- The conversation was summarised to make room for more."]
