"""The parts of the command by themselves: durations, lines, marks, screens, notices."""

from __future__ import annotations

import io
import os
import pty
from datetime import datetime
from types import SimpleNamespace
from typing import Any, cast

import click
import msgspec
import pytest

from claudewire.cli.activity import ActivityLog, notice_of, subject_of
from claudewire.cli.errors import CommandError, as_options, describe_error, exit_for, message_of
from claudewire.cli.exits import Exit
from claudewire.cli.reports import Decided, Notice, RunReport, TextPiece, ToolEnded, ToolStarted
from claudewire.cli.screen import Screen, is_pipe, size_of
from claudewire.cli.session_options import DURATION
from claudewire.cli.styles import Paint, clip_painted, is_rich, painted_cells
from claudewire.cli.task import DOING
from claudewire.cli.text import clip, fold, safe, wrap
from claudewire.cli.views import (
    PlainView,
    ProgressLines,
    TextWriter,
    line_of,
    seconds_of,
    summary_of,
)
from claudewire.errors import BudgetExceeded, Cause, CLIError, Evidence, OptionsError, TurnStalled
from claudewire.options import WaitingFor
from claudewire.session import BudgetAlert, Stall
from claudewire.tracking import Alert, Budget
from claudewire.wire import APIRetryMessage, CompactBoundaryMessage, RateLimitEvent, RateLimitInfo


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("1h30m", 5400), (" 2 m ", 120), (3, 3)],
)
def test_times_are_written_as_people_do(text: Any, seconds: float) -> None:
    assert DURATION.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0", "m", "1d", "1h30", "-3s", "soon"])
def test_other_times_are_refused(text: str) -> None:
    with pytest.raises(click.UsageError):
        DURATION.convert(text, None, None)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.04, "0.0 s"),
        (59.9, "59.9 s"),
        (60, "1 min 00 s"),
        (61, "1 min 01 s"),
        (3599.9, "59 min 59 s"),
        (3600, "1 h 00 min"),
        (3700, "1 h 01 min"),
        (90_000, "25 h 00 min"),
    ],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert seconds_of(seconds) == words


def test_the_sum_leaves_out_what_is_not_known() -> None:
    report = RunReport(outcome="done", exit_code=0, turns=1, tokens=1234, seconds=2)
    assert summary_of(report) == "1 turn, 1,234 tokens, 2.0 s"


@pytest.mark.parametrize(
    ("error", "exit"),
    [
        (OptionsError("x"), Exit.USAGE),
        (BudgetExceeded("x"), Exit.BUDGET),
        (TurnStalled("x"), Exit.STALLED),
        (CLIError("x"), Exit.NO_CLI),
        (CLIError("x", cause=Cause.LIMIT_REACHED), Exit.LIMIT),
        (CLIError("x", cause=Cause.SESSION_IN_USE), Exit.USAGE),
    ],
)
def test_each_error_has_its_status(error: Any, exit: Exit) -> None:
    assert exit_for(error) is exit


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        ('Give cli=… or cli="simulated".', "Give --cli PATH or --cli simulated."),
        ("list() gives all.", "`claudewire sessions list` shows all."),
        ("archived() gives all.", "`claudewire sessions list --archived` shows all."),
        ("Call resume(id, cwd=…).", "Call --cwd DIR."),
        ("Go on elsewhere (fork=True).", "Go on elsewhere (--fork)."),
        ("Say which: format=….", "Say which: --format."),
        ("Try again.", "Try again."),
    ],
)
def test_advice_is_put_into_the_words_of_the_command_line(advice: str, words: str) -> None:
    assert as_options(advice) == words


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        *((it, f"--{it}") for it in ("cli", "cwd", "dialect", "model", "output", "resume")),
        ("max_turns", "--max-turns"),
        ("permission_mode", "--mode"),
        ("hooks", "hooks"),
    ],
)
def test_an_option_has_the_name_that_it_has_on_the_command_line(name: str, flag: str) -> None:
    assert message_of(OptionsError(f"{name} is wrong")) == f"{flag} is wrong"
    assert message_of(OptionsError(f"{name}s are wrong")) == f"{name}s are wrong"
    assert message_of(CLIError(f"{name} is wrong")) == f"{name} is wrong"


def test_a_part_of_an_option_is_named_after_it() -> None:
    assert message_of(OptionsError("output.a is wrong")) == "--output: a is wrong"


def test_an_error_says_what_happened_and_what_to_do() -> None:
    evidence = Evidence(stderr="one\ntwo\n")
    error = CLIError("It ended.", evidence=evidence, advice="Look at it.")
    lines = ["It ended.", "stderr: one", "stderr: two", "Look at it."]
    assert [*describe_error(error)] == lines
    assert [*describe_error(CommandError("No.", advice="Yes."))] == ["No.", "Yes."]
    assert [*describe_error(FileNotFoundError(2, "No such file", "a"))] == ["a: No such file"]
    assert [*describe_error(OSError("odd"))] == ["odd"]
    assert [*describe_error(OSError(5, "Broken"))] == ["Reading or writing failed: Broken"]
    much = CLIError("a\nb", evidence=Evidence(stderr="\n1\n2\n3\n4\n5\n6\n"), advice="c\nd")
    last = [f"stderr: {number}" for number in range(2, 7)]
    assert [*describe_error(much)] == ["a", "b", *last, "c", "d"]
    assert [*describe_error(CLIError("Give it.", advice="Give cli=…."))] == [
        "Give it.",
        "Give --cli PATH.",
    ]
    assert [*describe_error(ValueError("one\ntwo"))] == ["one", "two"]


def limit(**fields: Any) -> RateLimitEvent:
    return RateLimitEvent(rate_limit_info=RateLimitInfo(**fields))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (APIRetryMessage(error_status=None), "The API did not answer; asked again."),
        (
            APIRetryMessage(error_status=529, attempt=2, max_retries=9, retry_delay_ms=2000),
            "The API did not answer (529); asked again in 2 s, attempt 2 of 9.",
        ),
        (CompactBoundaryMessage(), "The conversation was summarised to make room for more."),
        (limit(status="allowed_warning", utilization=0.9), "The usage limit is near (90%)."),
        (
            limit(status="rejected", resets_at=1e9),
            f"The usage limit is reached. It resets at {datetime.fromtimestamp(1e9):%H:%M}.",
        ),
        (
            limit(status="allowed_warning", resets_at=1e9),
            f"The usage limit is near. It resets at {datetime.fromtimestamp(1e9):%H:%M}.",
        ),
        (Stall(WaitingFor.TOOL, 61, Evidence(), "warn"), "Nothing for 61 s: waiting for a tool."),
        (
            BudgetAlert(Alert(Budget(tokens=10), "tokens", "warning", 0.8, 8, 10)),
            "8 of 10 tokens",
        ),
    ],
)
def test_what_is_worth_a_line(event: object, words: str) -> None:
    notice = notice_of(event)
    assert notice is not None
    assert words in notice.text


@pytest.mark.parametrize("event", [limit(status="allowed"), "anything else"])
def test_what_is_not_worth_a_line(event: object) -> None:
    assert notice_of(event) is None


def test_a_decision_about_no_running_tool_changes_nothing() -> None:
    log = ActivityLog()
    log.decided(Decided(kind="permission", tool="Bash", answer="deny", by="rule"))
    assert log.depth("unknown") == 1


@pytest.mark.parametrize(
    ("input", "subject"),
    [({}, ""), ({"command": "ls\n-l"}, "ls -l"), ({"a": 1}, '{"a": 1}'), ({"path": "x"}, "x")],
)
def test_what_a_tool_is_about(input: dict[str, Any], subject: str) -> None:
    assert subject_of(input) == subject


def test_what_a_tool_is_about_is_in_the_first_of_these_fields() -> None:
    names = "command file_path notebook_path pattern url query path description prompt skill"
    input = {name: f"a {name}" for name in reversed(names.split())}
    for name in names.split():
        assert subject_of(input) == input.pop(name)


def test_every_wait_has_words() -> None:
    assert {it.name: DOING.get(it.name) for it in WaitingFor} == {
        "NOTHING": None,
        "START": "Starting",
        "FIRST_TOKEN": "Thinking",
        "NEXT_TOKEN": "Writing",
        "TOOL": "Using a tool",
        "PERSON": "Waiting for you",
        "ANSWER": None,
    }


def test_lines_about_tools_and_notices_are_not_too_long() -> None:
    tool = ToolEnded(id="1", name="T", ok=True, denied=False, seconds=1, summary="", text="")
    assert line_of(tool, "x" * 98) == f"+ T {'x' * 98}: 1.0 s"
    assert line_of(tool, "x" * 99) == f"+ T {'x' * 97}…: 1.0 s"
    assert line_of(tool) == "+ T: 1.0 s"
    form = Decided(kind="elicitation", tool="t", answer="", by="x")
    assert line_of(Notice(text="x" * 200)) == "x" * 200
    assert line_of(Notice(text="x" * 201)) == "x" * 199 + "…"
    for size, words in ((197, "a" * 197), (198, "a" * 196 + "…")):
        answered = msgspec.structs.replace(form, answer="a" * size)
        assert line_of(answered) == f"t: {words}"
    assert line_of(msgspec.structs.replace(form, kind="permission")) is None
    assert line_of(TextPiece(text="x", block="1")) is None


@pytest.mark.parametrize(
    ("pieces", "written"),
    [
        (["1:a", "1:b"], "ab\n"),
        (["1:a", "2:b"], "a\n\nb\n"),
        (["1:a\n", "2:b\n"], "a\n\nb\n"),
        (["1:a", "-", "2:b"], "a\n\nb\n"),
        (["1:a", "-", "1:b"], "a\nb\n"),
        (["-", "1:a", "-", "-"], "a\n"),
        ([], ""),
    ],
)
def test_a_blank_line_stands_between_two_blocks(pieces: list[str], written: str) -> None:
    out = io.StringIO()
    writer = TextWriter(out)
    for piece in [*pieces, "-"]:
        block, _, text = piece.partition(":")
        if block == "-":
            writer.end_line()
        else:
            writer.write(TextPiece(text=text, block=block))
    assert out.getvalue() == written


def test_a_subject_is_told_once() -> None:
    err = io.StringIO()
    lines = ProgressLines(err)
    tool = ToolEnded(id="1", name="T", ok=True, denied=False, seconds=1, summary="", text="")
    lines.show(ToolStarted(id="1", name="T", subject="a file", input={}), 0)
    for depth in (0, 2):
        lines.show(tool, depth)
    assert err.getvalue() == "+ T a file: 1.0 s\n    + T: 1.0 s\n"


class Other:
    """What a session says of a block that has changed."""

    def __init__(self, kind: str = "tool_use", **fields: Any) -> None:
        self.kind, self.id, self.agent, self.added = kind, "b", None, ""
        self.tool_use_id: str | None = "t1"
        self.complete, self.name, self.change = True, "Bash", "input"
        self.input: dict[str, Any] | None = {"command": "ls"}
        self.result: Any = None
        self.result_text = ""
        self.__dict__.update(fields)


def noted(log: ActivityLog, **fields: Any) -> list[Any]:
    return [*log.note(cast("Any", Other(**fields)))]


def test_each_tool_is_told_once_when_it_begins_and_once_when_it_ends() -> None:
    now = [100.0]
    log = ActivityLog(lambda: now[-1])
    assert noted(log, complete=False) == []
    assert noted(log, input=None) == []
    assert noted(log, tool_use_id=None) == []
    assert noted(log, kind="thinking") == []
    assert noted(log, kind="text") == []
    assert noted(log, change="result", complete=False) == []
    (started,) = noted(log)
    assert (started.id, started.name, started.subject) == ("t1", "Bash", "ls")
    assert noted(log) == []
    log.decided(Decided(kind="permission", tool="Bash", answer="allow", by="person", seconds=5))
    log.decided(Decided(kind="question", tool="Bash", answer="deny", by="person", seconds=50))
    log.decided(Decided(kind="permission", tool="Read", answer="deny", by="person", seconds=50))
    now.append(112.3456)
    (ended,) = noted(log, change="result", result_text="\none\n\ntwo\n")
    assert (ended.seconds, ended.ok, ended.denied, ended.summary) == (7.346, True, False, "2 lines")
    assert noted(log, tool_use_id="t1", change="result", complete=False) == []


@pytest.mark.parametrize("agent", [None, "t0"])
def test_what_is_told_of_a_tool_is_whole(agent: str | None) -> None:
    log = ActivityLog(lambda: 0.0)
    failed = SimpleNamespace(is_error=True)
    fields: dict[str, Any] = {"agent": agent, "name": None}
    assert noted(log, kind="text", added="Hm.", agent=agent) == [
        TextPiece(text="Hm.", block="b", agent=agent)
    ]
    assert noted(log, kind="server_tool_use", **fields) == [
        ToolStarted(id="t1", name="", subject="ls", input={"command": "ls"}, agent=agent)
    ]
    assert noted(log, change="result", result=failed, result_text="No.\nno", **fields) == [
        ToolEnded(
            id="t1",
            name="",
            ok=False,
            denied=False,
            seconds=0.0,
            summary="No.",
            text="No.\nno",
            agent=agent,
        )
    ]


def test_what_was_denied_is_the_last_that_waits() -> None:
    log = ActivityLog(lambda: 0.0)
    for id in ("t1", "t2"):
        noted(log, tool_use_id=id, kind="server_tool_use")
    log.decided(Decided(kind="permission", tool="Bash", answer="deny", by="rule"))
    failed = {"change": "result", "result": SimpleNamespace(is_error=True)}
    first, second = (
        noted(log, tool_use_id=id, result_text=text, **failed)[0]
        for id, text in (("t1", ""), ("t2", "no\nreally"))
    )
    assert (first.ok, first.denied, first.summary) == (False, False, "failed")
    assert (second.ok, second.denied, second.summary) == (False, True, "no")


def test_the_time_of_a_tool_is_never_negative() -> None:
    log = ActivityLog(lambda: 0.0)
    noted(log)
    log.decided(Decided(kind="permission", tool="Bash", answer="allow", by="person", seconds=5))
    assert noted(log, change="result")[0].seconds == 0.0


def test_subagents_in_subagents_are_deeper() -> None:
    log = ActivityLog()
    noted(log, tool_use_id="a1")
    noted(log, tool_use_id="a2", agent="a1")
    assert [log.depth(it) for it in (None, "a1", "a2", "x")] == [0, 1, 2, 1]
    noted(log, tool_use_id="a3", agent="a3")  # which no CLI should say
    assert log.depth("a3") == 4


@pytest.mark.parametrize(
    ("text", "summary"),
    [("x" * 200, "x" * 200), ("x" * 201, "x" * 199 + "…"), (" \n", ""), ("a\nb", "2 lines")],
)
def test_a_summary_fits_into_a_line(text: str, summary: str) -> None:
    log = ActivityLog()
    noted(log)
    assert noted(log, change="result", result_text=text)[0].summary == summary


def test_a_form_that_is_declined_has_a_line() -> None:
    declined = Decided(kind="elicitation", tool="crm", answer="decline", by="no terminal")
    assert line_of(declined) == "crm: decline"
    assert line_of(Notice(text="a\nb")) == "a b"
    ended = ToolEnded(
        id="1", name="Bash", ok=False, denied=True, seconds=1, summary="no", text="no"
    )
    assert line_of(ended, "ls") == "x Bash ls: denied, no, 1.0 s"
    view = PlainView(io.StringIO(), io.StringIO())
    view.note("careful")
    assert view.err.getvalue() == "careful\n"  # type: ignore[attr-defined]


# --- the screen ----------------------------------------------------------------------------------


def test_marks_and_styles_depend_on_what_can_be_shown() -> None:
    plain, rich = Paint(attributes=False, unicode=False), Paint(colour=False)
    assert (plain("ask", "x"), plain.mark("done")) == ("x", "+")
    assert (rich("ask", "x"), rich("ok", "x"), rich.mark("done")) == ("\x1b[1mx\x1b[0m", "x", "✓")
    assert clip_painted(rich("ask", "a long line"), 6) == "a lon…"
    assert painted_cells(rich("ask", "xy")) == 2
    assert not is_rich(io.StringIO(), {"TERM": "xterm"})
    ascii_stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    assert Paint.for_stream(ascii_stream, {}).mark("you") == ">"


@pytest.mark.parametrize(
    ("line", "width", "parts"),
    [
        ("", 3, [""]),
        ("abc", 3, ["abc"]),
        ("abcd", 3, ["abc", "d"]),
        ("abc", 1, ["a", "b", "c"]),
        ("日本", 1, ["日", "本"]),
        ("日本語", 4, ["日本", "語"]),
        ("a日本", 4, ["a日", "本"]),
        ("e\u0301e\u0301", 1, ["e\u0301", "e\u0301"]),
        ("a\tb", 4, ["a   ", "b"]),
        ("a\tb", 5, ["a   b"]),
    ],
)
def test_a_line_is_cut_where_it_does_not_fit(line: str, width: int, parts: list[str]) -> None:
    assert [*fold(line, width)] == parts


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("", 5, [""]),
        ("  ab  cd ", 5, ["ab cd"]),
        ("ab cde", 5, ["ab", "cde"]),
        ("abcdefg h", 5, ["abcde", "fg h"]),
        ("ab cdefgh", 5, ["ab", "cdefg", "h"]),
        ("日 本", 4, ["日", "本"]),
        ("日 本", 5, ["日 本"]),
    ],
)
def test_a_text_is_wrapped_at_its_blanks(text: str, width: int, lines: list[str]) -> None:
    assert wrap(text, width) == lines


@pytest.mark.parametrize(
    ("line", "width", "cut"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("abc", 2, "a…"),
        ("abc", 1, "a…"),
        ("abc", 0, "a…"),
        ("日本", 4, "日本"),
        ("日本", 3, "日…"),
        ("", 0, ""),
    ],
)
def test_a_line_that_is_too_long_ends_with_an_ellipsis(line: str, width: int, cut: str) -> None:
    assert clip(line, width) == clip_painted(line, width) == cut
    painted = Paint()("strong", line)
    assert clip_painted(painted, width) == (painted if cut == line else cut)


def test_at_most_four_marks_stand_on_a_character() -> None:
    assert safe("a" + "\u0301" * 4) == "a" + "\u0301" * 4
    assert safe("a" + "\u0301" * 5 + "b\u0301") == "a" + "\u0301" * 4 + "\\u0301" + "b\u0301"
    assert safe("a" + "\u20dd" * 5) == "a" + "\u20dd" * 4 + "\\u20dd"
    assert safe("a" + "\u05b0" * 5 + "b") == "a" + "\u05b0" * 4 + "\\u05b0b"  # of any script
    assert (safe("❯ x"), safe("\t\n~ ")) == ("\\u276f x", "\t\n~ ")


@pytest.mark.parametrize(
    ("is_terminal", "env", "attributes", "colour", "encoding", "unicode"),
    [
        (True, {"TERM": "xterm"}, True, True, "utf-8", True),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, True, False, "UTF8", True),
        (True, {"TERM": "xterm", "NO_COLOR": ""}, True, True, "latin-1", False),
        (True, {"TERM": "dumb"}, False, False, "utf-8", True),
        (True, {}, False, False, "utf-8", True),
        (False, {"TERM": "xterm"}, False, False, None, False),
    ],
)
def test_what_a_stream_can_show_is_found_out(
    is_terminal: bool,
    env: dict[str, str],
    attributes: bool,
    colour: bool,
    encoding: str | None,
    unicode: bool,
) -> None:
    stream: Any = SimpleNamespace(isatty=lambda: is_terminal, encoding=encoding)
    paint = Paint.for_stream(stream, env)
    assert (paint("strong", "x") != "x", paint("ok", "x") != "x") == (attributes, colour)
    assert (paint.mark("done") == "✓") is unicode
    assert is_rich(stream, env) is attributes
    assert paint("strong", "") == ""
    assert paint("", "x") == "x"
    with pytest.raises(KeyError):
        paint("nothing", "x")


def test_lines_that_stay_and_lines_that_change() -> None:
    out = io.StringIO()
    screen = Screen(out)
    screen.change(["working"])
    screen.change(["working"])  # the same again is not drawn
    screen.print(["done"])
    with screen.held():
        screen.change(["more"])
        screen.print(["later"])
        screen.print([])
        assert "later" not in out.getvalue()
    screen.change([])
    erase = "\r\x1b[J"
    assert out.getvalue() == (f"working{erase}done\nworking{erase}later\nmore{erase}")


def test_several_lines_are_erased_together_also_if_the_window_has_wrapped_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = io.StringIO()
    monkeypatch.setenv("COLUMNS", "60")
    screen = Screen(out)
    screen.change(["x" * 50, "y"])
    monkeypatch.setenv("COLUMNS", "30")
    screen.change([])
    assert out.getvalue().endswith("\r\x1b[2A\x1b[J")


def test_the_size_of_a_terminal_and_of_what_is_none() -> None:
    master, slave = pty.openpty()
    try:
        with os.fdopen(slave, "w", encoding="utf-8") as stream:
            assert not is_pipe(stream)
            assert size_of(stream)[0] >= 20  # one that does not know its size
    finally:
        os.close(master)
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb"), os.fdopen(writing, "w", encoding="utf-8") as stream:
        assert is_pipe(stream)
    assert not is_pipe(io.StringIO())


@pytest.mark.parametrize(
    ("known", "size"),
    [((50, 9), (50, 9)), ((5, 9), (20, 9)), ((0, 9), (33, 7)), ((50, 0), (33, 7))],
)
def test_a_terminal_that_does_not_know_its_size_has_the_usual_one(
    known: tuple[int, int], size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "33")
    monkeypatch.setenv("LINES", "7")
    monkeypatch.setattr(os, "get_terminal_size", lambda _: known)
    stream: Any = SimpleNamespace(fileno=lambda: 1)
    assert size_of(stream) == size
    monkeypatch.setenv("COLUMNS", "3")
    stream = io.StringIO()
    assert size_of(stream) == (20, 7)


def test_a_file_that_is_closed_is_no_pipe() -> None:
    with open(os.devnull, encoding="utf-8") as file:
        assert not is_pipe(file)
    assert not is_pipe(file)
    assert not is_pipe(io.StringIO())


@pytest.mark.parametrize(("rows", "count"), [(1, 1), (2, 1), (3, 1), (5, 3), (9, 4)])
def test_no_more_lines_change_than_fit(
    rows: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", str(rows))
    out = io.StringIO()
    Screen(out).change(["1", "2", "3", "x" * 20])
    assert out.getvalue() == "\n".join(["1", "2", "3", f"{'x' * 18}…"][-count:])


def test_what_cannot_change_is_not_drawn_and_what_is_held_comes_later() -> None:
    out = io.StringIO()
    Screen(out, live=False).change(["a"])
    assert out.getvalue() == ""
    screen = Screen(out)
    with screen.held():
        screen.change(["a"])
        screen.print(["b"])
        assert out.getvalue() == ""
    assert out.getvalue() == "b\na"
    with screen.held():
        screen.change(["c"])
    assert out.getvalue() == "b\na\r\x1b[Jc"


def test_a_notice_begins_a_line_where_the_answer_is_shown_too() -> None:
    one, other = io.StringIO(), io.StringIO()
    for out, err in ((one, one), (other, io.StringIO())):
        view = PlainView(out, err)
        view.show(TextPiece(text="It is written.", block="a"))
        view.show(Notice(text="The budget is used up."))
    assert one.getvalue() == "It is written.\nThe budget is used up.\n"
    assert other.getvalue() == "It is written."  # in a pipe the answer is not changed
