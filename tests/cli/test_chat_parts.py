"""The parts of a conversation on a terminal by themselves: completion, history, keys."""

from __future__ import annotations

import asyncio
import math
import stat
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.history import InMemoryHistory
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import DummyOutput

from claudewire.cli import chat
from claudewire.cli.chat_commands import COMMANDS as CHAT_COMMANDS
from claudewire.cli.chat_commands import _cost
from claudewire.cli.chat_screen import ChatCompleter, ChatScreen, _Question, history_file
from claudewire.cli.chat_session import ChatSession
from claudewire.cli.errors import CommandError
from claudewire.cli.reports import Decided, RunReport, TextPiece, ToolEnded
from claudewire.cli.styles import Paint
from claudewire.cli.terminal_view import Drawing
from claudewire.tracking import Totals

COMMANDS = [("/help", "list the commands"), ("/hooks", "list the hooks"), ("/model", "choose")]


def completed(typed: str, folder: Path) -> list[str]:
    completer = ChatCompleter(lambda: COMMANDS, str(folder))
    return [it.text for it in completer.get_completions(Document(typed), CompleteEvent())]


def test_commands_are_completed_at_the_beginning_alone(tmp_path: Path) -> None:
    assert completed("/h", tmp_path) == ["/help", "/hooks"]
    assert completed("/", tmp_path) == ["/help", "/hooks", "/model"]
    assert completed("/x", tmp_path) == []
    assert completed("say /h", tmp_path) == []
    assert completed("/h ", tmp_path) == []


def test_files_are_completed_after_an_at_sign(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for name in ("docs/a.md", "docs/b.md", "dark.py", ".hidden", "d\x1b.py"):
        (tmp_path / name).touch()
    assert completed("look at @d", tmp_path) == ["@dark.py", "@docs/"]
    assert completed("look at @docs/", tmp_path) == ["@docs/a.md", "@docs/b.md"]
    assert completed("look at @", tmp_path) == ["@dark.py", "@docs/"]
    assert completed("look at @.h", tmp_path) == ["@.hidden"]
    for nowhere in ("missing", "dark.py", "a\0", "\ud800"):
        assert completed(f"look at @{nowhere}/a", tmp_path) == []
    assert completed("look at @d ", tmp_path) == []
    assert completed("look at @docs/a", tmp_path) == ["@docs/a.md"]
    assert completed("/help @da", tmp_path) == ["@dark.py"]
    assert completed("", tmp_path) == []


def test_a_completion_replaces_what_was_typed_and_a_command_says_what_it_does(
    tmp_path: Path,
) -> None:
    (tmp_path / "dark.py").touch()
    completer = ChatCompleter(lambda: COMMANDS, str(tmp_path))
    for typed, text, size, meaning in (
        ("/mo", "/model", 3, "choose"),
        ("look at @dar", "@dark.py", 4, ""),
    ):
        (found,) = completer.get_completions(Document(typed), CompleteEvent())
        assert (found.text, found.start_position) == (text, -size)
        assert found.display_meta_text == meaning


def test_no_more_than_fifty_files_are_offered(tmp_path: Path) -> None:
    for number in range(51):
        (tmp_path / f"f{number:02}").touch()
    assert completed("@f", tmp_path) == [f"@f{number:02}" for number in range(50)]


def test_prompts_are_remembered_where_only_the_user_can_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = history_file()
    assert path == tmp_path / "claudewire" / "history"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert history_file() == path


@pytest.mark.parametrize("given", [None, ""])
def test_prompts_are_remembered_in_the_home_of_the_user(
    tmp_path: Path, given: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME")
    if given is not None:
        monkeypatch.setenv("XDG_STATE_HOME", given)
    assert history_file() == tmp_path / ".local" / "state" / "claudewire" / "history"


def test_prompts_are_not_remembered_where_there_is_no_place_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert history_file() is None


def test_how_it_is_typed_into(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    completer = ChatCompleter(lambda: COMMANDS, str(tmp_path))
    with create_app_session(output=DummyOutput()):
        screen, forgetful = (made_screen(completer) for _ in made_in(tmp_path, monkeypatch))
    main: Any = screen._main
    answers: Any = screen._answers
    for prompts in (main, answers):
        assert prompts.refresh_interval == 0.25
        assert prompts.app.erase_when_done
        assert prompts.bottom_toolbar == screen._toolbar
        assert prompts.style.style_rules == [("bottom-toolbar", "noreverse"), ("prompt", "bold")]
    assert (main.completer, main.complete_while_typing, main.multiline) == (completer, False, True)
    assert main.prompt_continuation(3, 0, 0) == "   "
    assert main.history.filename == str(tmp_path / "claudewire" / "history")
    assert isinstance(forgetful._main.history, InMemoryHistory)
    assert isinstance(answers.history, InMemoryHistory)


def made_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Go through a state with a place for prompts, and one without."""
    yield
    (folder / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "file"))
    yield


def made_screen(completer: ChatCompleter | None = None) -> ChatScreen:
    return ChatScreen(
        growing=lambda: ["one", "two"],
        status=lambda: "busy",
        settle=list,
        interrupted=lambda: None,
        completer=completer,
    )


class Buffer:
    """Notes what a key does to what was typed."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.done: list[str] = []

    def newline(self) -> None:
        self.done.append("newline")

    def validate_and_handle(self) -> None:
        self.done.append("taken")


@pytest.fixture
def screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatScreen]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield made_screen()


def pressed(screen: ChatScreen, *keys: Keys, text: str = "") -> list[str]:
    buffer = Buffer(text)
    [binding] = [it for it in screen._keys().bindings if it.keys == keys]
    binding.handler(cast("Any", SimpleNamespace(current_buffer=buffer)))
    return buffer.done


ENTER = (Keys.ControlM,)
ESCAPE_ENTER = (Keys.Escape, Keys.ControlM)


def test_enter_sends_what_was_typed_and_escape_enter_begins_a_line(screen: ChatScreen) -> None:
    assert pressed(screen, *ENTER, text="hi") == ["taken"]
    assert pressed(screen, *ENTER, text="  ") == []
    assert pressed(screen, *ESCAPE_ENTER, text="hi") == ["newline"]


def test_in_an_answer_of_several_lines_enter_begins_a_line(screen: ChatScreen) -> None:
    screen._question = question = _Question("", several=True)
    question.counts_from = 0.0
    assert pressed(screen, *ENTER, text="hi") == ["newline"]
    assert pressed(screen, *ESCAPE_ENTER, text="hi") == ["taken"]


def test_an_empty_answer_is_one_but_not_at_once(screen: ChatScreen) -> None:
    screen._question = question = _Question("", several=False)
    question.counts_from = math.inf
    assert pressed(screen, *ENTER) == []
    question.counts_from = 0.0
    assert pressed(screen, *ENTER) == ["taken"]


def test_ctrl_c_at_a_question_interrupts_and_leaves_it(screen: ChatScreen) -> None:
    calls: list[object] = []
    screen._interrupted = lambda: calls.append("interrupted")
    app = SimpleNamespace(exit=lambda exception: calls.append(type(exception)))
    for asking, expected in ((False, ["interrupted"]), (True, ["interrupted", EOFError])):
        calls.clear()
        [binding] = [
            it for it in screen._keys(asking=asking).bindings if it.keys == (Keys.ControlC,)
        ]
        binding.handler(cast("Any", SimpleNamespace(app=app)))
        assert calls == expected


def test_what_grows_is_shown_above_the_prompt_unless_something_is_asked(
    screen: ChatScreen,
) -> None:
    assert screen._message().value.startswith("one\ntwo\n")
    assert "busy" in screen._toolbar().value
    screen._is_asking = True
    assert "one" not in screen._message().value


def test_what_is_too_long_for_the_window_is_cut(
    screen: ChatScreen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "30")
    for size, shown in ((29, "x" * 29), (30, "x" * 28 + "…")):
        screen._status = lambda size=size: "x" * size  # type: ignore[misc]
        screen._growing = lambda size=size: ["1", "2", "3", "4", "x" * size]  # type: ignore[misc]
        assert screen._toolbar().value == screen.paint("dim", shown)
        assert screen._message().value == f"2\n3\n4\n{shown}\n{screen.paint.mark('you')} "


def test_what_turns_goes_on_with_each_look() -> None:
    drawing = Drawing(Paint(), lambda: 60)
    chat: Any = SimpleNamespace(_drawing=drawing, _doing=lambda: "Working")
    looks = [tuple(ChatSession._growing(chat)) for _ in range(3)]
    assert len(set(looks)) == 3


def test_a_question_that_nobody_was_asked_is_told_as_any_tool() -> None:
    ended = ToolEnded(
        id="1", name="ExitPlanMode", ok=False, denied=True, seconds=0, summary="no", text=""
    )
    lines = Drawing(Paint(attributes=False), lambda: 60).activity(ended, 0)
    assert lines == ["  ✗ ExitPlanMode · denied: no · 0.0 s"]


def test_text_that_comes_after_the_window_has_changed_has_its_new_width() -> None:
    width = 60
    drawing = Drawing(Paint(attributes=False), lambda: width)
    words = "one two three four five six seven eight nine ten eleven twelve"
    assert drawing.text(TextPiece(text=f"{words}\n", block="a")) == [words[:55], words[56:]]
    width = 30
    assert drawing.text(TextPiece(text=f"{words}\n", block="a")) == [
        "one two three four five six",
        "seven eight nine ten eleven",
        "twelve",
    ]
    width = 3  # it is drawn as if there were more
    lines = drawing.text(TextPiece(text="one two three\n", block="a"))
    assert lines == ["one two", "three"]


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([], ""),
        (["allow", "answered", "accept"], ""),
        (["deny", "allow"], " · 1 denied"),
        (["deny", "decline", "skipped", "allow"], " · 3 denied"),
    ],
)
def test_the_summary_counts_what_was_denied(answers: list[str], words: str) -> None:
    decisions = [Decided(kind="permission", tool="Bash", answer=it, by="person") for it in answers]
    report = RunReport(outcome="done", exit_code=0, turns=1, tokens=5, decisions=decisions)
    summary = f"1 turn · 5 tokens · 0.0 s{words}"
    assert Drawing(Paint(attributes=False), lambda: 60).summary(report) == ["", summary]


@pytest.mark.parametrize(("turns", "words"), [(1, "1 turn."), (2, "2 turns.")])
def test_the_cost_counts_turns_as_people_do(turns: int, words: str) -> None:
    said: list[str] = []
    ledger = SimpleNamespace(models={}, session=Totals(turns=turns))
    chat: Any = SimpleNamespace(session=SimpleNamespace(ledger=ledger), say=said.append)
    anyio.run(_cost, chat, "")
    assert said == [f"Together: 0 tokens, not known, {words}"]


def test_the_model_is_changed_and_that_is_said() -> None:
    said: list[str] = []
    changed: list[str] = []

    async def set_model(name: str) -> None:
        changed.append(name)

    chat: Any = SimpleNamespace(
        session=SimpleNamespace(set_model=set_model, cli_info=None), say=said.append
    )
    for name in ("opus", ""):
        anyio.run(CHAT_COMMANDS["/model"].run, chat, name)
    assert changed == ["opus"]
    assert said == ["The model is now opus.", "Which model? /model NAME"]


@pytest.mark.parametrize(("stdin", "stdout"), [(True, True), (True, False), (False, True)])
def test_a_conversation_needs_a_terminal(
    stdin: bool, stdout: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Noted:
        def __init__(self, *given: Any) -> None:
            made.extend(given)

        async def run(self) -> int:
            asyncio.get_running_loop()  # the line that is typed into needs it
            return 7

    def stream(is_terminal: bool) -> Any:
        return SimpleNamespace(isatty=lambda: is_terminal, flush=lambda: None)

    monkeypatch.setattr("claudewire.cli.chat_session.ChatSession", Noted)
    monkeypatch.setattr("sys.stdin", stream(stdin))
    monkeypatch.setattr("sys.stdout", stream(stdout))
    words = ["--model", "opus", "--record", str(tmp_path / "a.jsonl"), "say", "hello"]
    if not (stdin and stdout):
        with pytest.raises(CommandError) as error:
            chat.command.main(words, "chat", standalone_mode=False)
        assert error.value.message.startswith("A conversation needs a terminal")
        assert error.value.advice == "For one task without a terminal there is `claudewire run`."
        return
    assert chat.command.main(words, "chat", standalone_mode=False) == 7
    options, transport, prompt = made
    assert (options.model, options.include_partial_messages) == ("opus", True)
    assert prompt == "say hello"
    assert transport is not None
