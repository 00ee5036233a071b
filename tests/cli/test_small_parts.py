"""What the command decides before a session is opened, and what it says after one."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import click
import pytest

from claudewire.cli import run
from claudewire.cli.doctor import leftovers, surroundings
from claudewire.cli.errors import CommandError
from claudewire.cli.exits import Exit
from claudewire.cli.reports import RunReport, TextPiece
from claudewire.cli.session_options import Dollars, _files, _recorded
from claudewire.cli.sessions.view import SessionView, _place
from claudewire.cli.styles import Paint
from claudewire.cli.task import Task, TaskRun, receipt_words
from claudewire.cli.views import JsonView, PlainView, QuietView, StreamJsonView, View
from claudewire.cli.wire import tap
from claudewire.cli.wire.reports import print_json
from claudewire.options import Options
from claudewire.people import Field
from claudewire.store.entries import read_entry
from claudewire.transport import Launch, Recording

PLAIN = Paint(attributes=False, unicode=False)


@pytest.mark.parametrize(("text", "dollars"), [("2", 2.0), ("$2.50", 2.5)])
def test_an_amount_is_written_with_or_without_its_sign(text: str, dollars: float) -> None:
    assert Dollars().convert(text, None, None) == dollars


@pytest.mark.parametrize("text", ["", "much", "0", "-1", "inf", "nan"])
def test_other_amounts_are_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not an amount"):
        Dollars().convert(text, None, None)


def test_the_end_of_the_time_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    report = RunReport(outcome="stalled", exit_code=Exit.STALLED)
    run.tell(report, attended=True)
    assert capsys.readouterr().err == "error: The time is over: --timeout.\n"


def test_without_a_terminal_there_is_no_keyboard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr(os, "ctermid", lambda: "/no/such/terminal")
    assert not run.has_keyboard()
    monkeypatch.setattr(os, "ctermid", lambda: os.devnull)
    assert run.has_keyboard()
    monkeypatch.setattr(os, "ctermid", lambda: "/no/such/terminal")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    assert run.has_keyboard()


def test_nobody_is_waited_for_at_a_terminal_without_a_prompt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    with pytest.raises(CommandError, match="There is no prompt"):
        run.read_prompt(())
    monkeypatch.setattr("sys.stdin", io.StringIO(" \n"))
    with pytest.raises(CommandError, match="The prompt is empty"):
        run.read_prompt(("-",))


@pytest.mark.parametrize(
    ("given", "words"),
    [("[1]", "No such file"), ("{", "not a JSON Schema"), ("list", "is an object")],
)
def test_a_schema_that_is_none_is_refused(
    given: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("list").write_text("[1]", encoding="utf-8")
    with pytest.raises(CommandError, match=words):
        run.read_schema(given)


@pytest.mark.parametrize(
    ("form", "kind"),
    [("json", JsonView), ("stream-json", StreamJsonView), ("quiet", QuietView), (None, PlainView)],
)
def test_each_form_has_its_view(
    form: str | None, kind: type[View], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    assert type(run.make_view(form)) is kind


def test_a_view_that_shows_nothing_lets_questions_be_asked() -> None:
    async def ask() -> None:
        async with View(io.StringIO(), io.StringIO()).asking():
            asked.append(True)

    asked: list[bool] = []
    anyio.run(ask)
    assert asked == [True]


def test_what_is_not_utf_8_is_replaced_wherever_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    odd = "\udcff"
    print_json({odd: odd, "list": [odd, [odd], {odd: [odd]}], "rest": [1, None, True, "ä"]})
    assert json.loads(capsys.readouterr().out) == {
        "?": "?",
        "list": ["?", ["?"], {"?": ["?"]}],
        "rest": [1, None, True, "ä"],
    }


def test_without_an_answer_nothing_is_written() -> None:
    out = io.StringIO()
    QuietView(out, io.StringIO()).finish(RunReport(outcome="stalled", exit_code=1))
    view = PlainView(out, io.StringIO(), structured=True)
    view.show(TextPiece(text="not the output", block="a"))
    assert out.getvalue() == ""


@pytest.mark.parametrize(
    ("structured", "agent", "output", "written"),
    [
        (False, None, None, "Hi\n"),
        (False, None, {"n": 1}, "Hi\n"),  # only a task that asks for output shows it
        (False, "toolu_1", None, ""),  # what subagents say is not the answer
        (True, None, None, ""),
        (True, None, {"n": 1}, '{\n  "n": 1\n}\n'),
        (True, "toolu_1", {"n": 1}, '{\n  "n": 1\n}\n'),
    ],
)
def test_plain_text_is_the_answer_alone(
    structured: bool, agent: str | None, output: object, written: str
) -> None:
    out = io.StringIO()
    view = PlainView(out, io.StringIO(), structured=structured)
    view.show(TextPiece(text="Hi", block="a", agent=agent))
    view.finish(RunReport(outcome="done", exit_code=0, text="Hi", output=output))
    assert out.getvalue() == written


@pytest.mark.parametrize(("typed", "value"), [("3", 3), ("2.5", 2.5), ("three", "three")])
def test_what_is_no_number_is_left_to_the_field_to_refuse(typed: str, value: object) -> None:
    field = Field("n", "number", "N", "", True, (), None, {})
    assert field.parse(typed) == value


@pytest.mark.parametrize(
    ("outcome", "cancelled", "queued", "words"),
    [
        ("stopped", [], [], "The turn was stopped."),
        ("was_over", ["a"], [], "The turn had ended already. Dropped from the queue: 1."),
        ("not_stopped", [], ["a", "b"], "The turn has not stopped. Still queued: 2."),
        ("withdrawn", [], [], "The prompt was taken back before it began."),
        ("nothing_running", [], [], "No turn was running."),
    ],
)
def test_an_interrupt_says_what_it_did(
    outcome: str, cancelled: list[str], queued: list[str], words: str
) -> None:
    receipt: Any = SimpleNamespace(outcome=outcome, cancelled=cancelled, still_queued=queued)
    assert receipt_words(receipt) == words


@pytest.mark.parametrize(
    ("status", "done"),
    [
        (0, [0]),
        (3, [3]),
        (None, [1]),
        (-signal.SIGKILL, [("kill", 77, signal.SIGKILL)]),
        (
            -signal.SIGTERM,
            [("signal", signal.SIGTERM, signal.SIG_DFL), ("kill", 77, signal.SIGTERM)],
        ),
    ],
)
def test_it_ends_as_the_cli_has_ended(
    status: int | None, done: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []
    monkeypatch.setattr(signal, "signal", lambda *given: made.append(("signal", *given)))
    monkeypatch.setattr(os, "getpid", lambda: 77)
    monkeypatch.setattr(os, "kill", lambda *given: made.append(("kill", *given)))
    returned = tap.die_as(status)
    assert (made or [returned]) == done


def test_a_file_that_is_gone_is_read_as_empty_and_is_no_leftover(tmp_path: Path) -> None:
    assert leftovers._read(tmp_path / "gone") == b""
    old, new = tmp_path / "claudewire-old", tmp_path / "claudewire-new"
    old.mkdir()
    new.mkdir()
    long_ago = time.time() - leftovers.OLD - 60
    os.utime(old, (long_ago, long_ago))
    assert [*leftovers._old_folders(tmp_path)] == [old]


def test_a_folder_that_vanishes_meanwhile_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "glob", lambda *_: iter([tmp_path / "claudewire-gone"]))
    assert [*leftovers._old_folders(tmp_path)] == []


def test_files_that_are_not_there_are_not_the_same(tmp_path: Path) -> None:
    assert not surroundings._is_same(tmp_path / "one", tmp_path / "other")
    assert surroundings._is_same(tmp_path, tmp_path / ".")
    before = time.time()
    assert surroundings._modified(tmp_path / "one") >= before


@pytest.mark.parametrize(
    ("cwd", "shown"), [(None, ""), ("{home}", "~"), ("{home}/a", "~/a"), ("{home}a", "{home}a")]
)
def test_a_folder_is_shortened_by_the_home(
    cwd: str | None, shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    given = None if cwd is None else cwd.format(home=tmp_path)
    assert _place(given) == shown.format(home=tmp_path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{ broken", "  a line that cannot be read"),
        (b'{"type":"assistant","message":{"role":"assistant","content":"hi"}}', "  hi"),
    ],
)
def test_a_line_of_a_transcript_says_something_to_a_person(line: bytes, words: str) -> None:
    assert words in [*SessionView(PLAIN, 80).entry(read_entry(line))]


def test_a_module_that_is_missing_and_not_optional_is_a_defect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from claudewire.cli import entry, group

    def broken(_: object) -> int:
        raise ModuleNotFoundError("No module named 'x'", name="x")

    monkeypatch.setattr(group, "execute", broken)
    with pytest.raises(ModuleNotFoundError):
        entry.main(["run"])
    assert "x" not in sys.modules


@pytest.mark.parametrize("outcome", ["was_over", "nothing_running"])
def test_a_turn_that_is_over_is_not_told_when_the_time_is(outcome: str) -> None:
    async def interrupt(**_: object) -> Any:
        return SimpleNamespace(outcome=outcome, cancelled=[], still_queued=[])

    err, task = io.StringIO(), Task("x", Options())
    work = TaskRun(task, PlainView(io.StringIO(), err))
    session: Any = SimpleNamespace(interrupt=interrupt)
    anyio.run(partial(work._stop, session, in_time=False))
    assert err.getvalue() == ""
    anyio.run(work._stop, session)
    assert err.getvalue() != ""


@pytest.mark.anyio
async def test_each_interrupt_goes_further_than_the_one_before() -> None:
    done: list[str] = []

    async def interrupt(**given: object) -> Any:
        done.append(f"interrupt {given}")
        return SimpleNamespace(outcome="stopped", cancelled=[], still_queued=[])

    async def close(*, now: bool = False) -> None:
        done.append("kill" if now else "close")

    err = io.StringIO()
    work = TaskRun(Task("x", Options()), PlainView(io.StringIO(), err))
    work._scope = scope = anyio.CancelScope()
    work._session = cast("Any", SimpleNamespace(interrupt=interrupt, close=close))
    for _ in range(4):
        await work.interrupt()
        assert scope.cancel_called
    assert done == ["interrupt {'queued': 'cancel', 'timeout': 10.0}", "close", "kill", "kill"]
    assert err.getvalue().splitlines() == [
        "Interrupting. Press Ctrl-C again to end the CLI.",
        "The turn was stopped.",
        "Ending the CLI. Press Ctrl-C again to kill it.",
    ]
    assert work._outcome() is Exit.INTERRUPTED


@pytest.mark.anyio
async def test_an_interrupt_before_there_is_a_session_ends_the_task() -> None:
    work = TaskRun(Task("x", Options()), PlainView(io.StringIO(), io.StringIO()))
    work._scope = anyio.CancelScope()
    await work.interrupt()
    assert work._scope.cancel_called
    assert work._outcome() is Exit.INTERRUPTED


def test_a_second_recording_replaces_none_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "a-2.jsonl").touch()
    files = _files(tmp_path / "a.jsonl")
    assert [next(files).name for _ in range(3)] == ["a.jsonl", "a-3.jsonl", "a-4.jsonl"]


def test_a_recording_says_how_the_cli_was_started(tmp_path: Path) -> None:
    async def main() -> None:
        launch = Launch(("claude", "--verbose"), {})
        files = _files(tmp_path / "a.jsonl")
        await (await _recorded(Options(cli="simulated"), files, launch)).aclose()

    anyio.run(main)
    header = Recording.load(tmp_path / "a.jsonl").header
    assert header["argv"] == ["claude", "--verbose"]
