"""All that commands print, and how they exit: see tests/helpers/kept.py."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from datetime import datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import click
import pytest
from tests.cli.running import Done, Runner
from tests.helpers.kept import Kept, normal
from tests.recordings.test_html_page import talk
from tests.recordings.written import asked, prompt, refused, result, returned, said, used, written
from tests.store.made import MAIN, PLAIN, Writer, conversation

from claudewire.cli.commands import COMMANDS
from claudewire.cli.group import command as group
from claudewire.cli.markdown import MarkdownStream
from claudewire.cli.reports import (
    Activity,
    Decided,
    ErrorReport,
    Notice,
    RunReport,
    TextPiece,
    ToolEnded,
    ToolStarted,
)
from claudewire.cli.sessions import view
from claudewire.cli.styles import _MARKS, _STYLES, Paint
from claudewire.cli.terminal_view import Drawing, TerminalView
from claudewire.cli.views import JsonView, PlainView, QuietView, StreamJsonView, View
from claudewire.cli.wire.lines import LineView, latency_table
from claudewire.recordings import Timeline
from claudewire.store import BlockingSessions

RECORDINGS = Path(__file__).resolve().parents[1] / "recordings"


def told(done: Done, *words: str) -> str:
    """Return a command, what it printed, what it said on stderr, and its status."""
    errors = "".join(f"! {line}\n" for line in done.err.splitlines())
    return f"$ claudewire {' '.join(words)}\n{done.out}{errors}= exit {done.status}\n"


VARYING = [
    (re.compile(r"\b\d+(\.\d+)? (ms|s)\b"), "0 s"),
    (re.compile(r'("seconds": ?)[\d.]+'), r"\g<1>0"),
]
"""What takes a different time with each run."""


def without_times(text: str) -> str:
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return text


@pytest.fixture
def folder(run: Runner, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run, with recordings and conversations."""
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("HOME", "/nowhere")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(run.folder / "cache"))
    (run.folder / "talk.jsonl").write_bytes(talk().dump())
    for version in ("2.1.17", "2.1.325"):
        data = (RECORDINGS / f"{version}-work.jsonl").read_bytes()
        (run.folder / f"{version}.jsonl").write_bytes(data)
    (run.folder / "x.txt").write_text("hello\n", encoding="utf-8")
    return run.folder


def all_told(run: Runner, folder: Path, lines: str, *, terminal: bool = False) -> str:
    """Run commands, a line for each."""
    given = lines.strip().splitlines()
    texts = [told(run(*line.split(), terminal=terminal), line) for line in given]
    return normal("".join(texts), folder=folder)


GROUP = ("archive", "export", "list", "resume", "search", "show", "tail")


def test_all_help_is_as_it_was(kept: Kept, run: Runner, folder: Path) -> None:
    lines = ["--help", *(f"{it} --help" for it in COMMANDS)]
    lines += [f"sessions {it} --help" for it in GROUP]
    kept("help.txt", all_told(run, folder, "\n".join(lines)))


def declared(name: str, command: click.Command) -> Iterator[str]:
    """Yield what a command takes, a line for each parameter."""
    yield f"{name} {command.context_settings or ''}".rstrip()
    for it in command.params:
        facts = {key: getattr(it, key, None) for key in ("multiple", "required", "is_flag")}
        facts |= {"nargs": it.nargs if it.nargs != 1 else None, **vars(it.type)}
        shown = [f"{key}={facts[key]}" for key in sorted(facts) if facts[key] not in (None, False)]
        yield " ".join([f"    {it.name}", *it.opts, type(it.type).__name__, *shown])
    for subname, subcommand in vars(command).get("commands", {}).items():
        yield from declared(f"{name} {subname}", subcommand)


def test_all_parameters_of_commands_are_as_they_were(kept: Kept) -> None:
    context = click.Context(group, info_name="claudewire")
    commands = {name: group.get_command(context, name) for name in COMMANDS}
    lines = [*declared("claudewire", group)]
    for name, it in commands.items():
        assert it is not None
        lines += declared(name, it)
    kept("parameters.txt", "".join(f"{line}\n" for line in lines))


WRONG = """
nothing
rn
run --json --quiet x
run --timeout soon x
run --stall 0 x
run --budget much x
run --budget 0 x
run --output none.json x
run --output x.txt x
run --output [1] x
run --image none.png x
run --mode odd x
run --max-turns 0 x
run --allow Bash( x
run --policy none.toml x
run --policy x.txt x
run --cli nowhere x
run --resume a --continue x
run --fork x
run --denied no x
run
chat
show
show none.jsonl
show x.txt
show talk.jsonl --only nothing
show talk.jsonl --html no/where.html
diff talk.jsonl
diff talk.jsonl x.txt
lint none.jsonl
replay x.txt
replay talk.jsonl --speed -1
record
record -o no/where.jsonl -- true
schema Nothing
completion csh
sessions nothing
sessions --config-dir none list --since soon
sessions --config-dir none show x
sessions --config-dir none search
sessions --config-dir none export x y.txt
sessions --config-dir none list -n 0
sessions --config-dir none archive --restore x
doctor --nothing
"""


def test_what_is_said_of_wrong_command_lines_is_as_it_was(
    kept: Kept, run: Runner, folder: Path
) -> None:
    kept("wrong.txt", all_told(run, folder, WRONG))


WIRE = """
show talk.jsonl
show talk.jsonl --raw --no-latencies
show talk.jsonl --json
show talk.jsonl --findings --grep a
show 2.1.325.jsonl --only request --only message
diff 2.1.17.jsonl 2.1.325.jsonl --latencies
diff talk.jsonl 2.1.325.jsonl
diff talk.jsonl talk.jsonl
diff talk.jsonl talk.jsonl --json
lint talk.jsonl
lint talk.jsonl --strict --json
lint x.txt --to-cli
lint x.txt --from-cli
lint 2.1.325.jsonl
replay talk.jsonl --speed 0
replay talk.jsonl --speed 0 --grep result
schema --list
schema StatusMessage
completion bash
"""


def test_what_commands_say_of_recordings_is_as_it_was(
    kept: Kept, run: Runner, folder: Path
) -> None:
    kept("recordings.txt", all_told(run, folder, WIRE))


SEEN = """
show talk.jsonl --raw
show 2.1.325.jsonl --only request --only message
show 2.1.325.jsonl --only exit --grep exit
diff 2.1.17.jsonl 2.1.325.jsonl --latencies
diff talk.jsonl 2.1.325.jsonl --values
diff talk.jsonl other.jsonl --values --times
diff other.jsonl talk.jsonl --json
lint 2.1.17.jsonl
lint x.txt --from-cli
replay talk.jsonl --speed 0 --grep a
replay x.txt
show no/such/file/with/a/name/that/is/quite/long/for/a/terminal.jsonl
sessions --config-dir config list
sessions --config-dir config list --json
sessions --config-dir config show {MAIN}
sessions --config-dir config search zebrafish --tools
"""


@pytest.mark.parametrize("columns", [24, 50, 78])
def test_what_is_seen_on_a_terminal_is_as_it_was(
    kept: Kept, run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setattr(view, "datetime", Later)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    other = talk().dump().replace(b"Hello", b"Goodbye").splitlines(keepends=True)
    (folder / "other.jsonl").write_bytes(b"".join(other[:5] + other[6:]))
    conversation(folder / "config", MAIN).model("\tA tab, `code` and **more**.")
    lines = SEEN if columns == 78 else SEEN.replace(" --json", "")
    text = all_told(run, folder, lines.format(MAIN=MAIN), terminal=True)
    kept(f"seen-{columns}.txt", text.replace("\x1b", "\\e"))


SESSIONS = f"""
list
list --json
list retries --project /project
list --since 2026-01-01 -n 1
list --waiting
list --running
list --tag x
list --expiring
list --archived
show {MAIN}
show 0000
show {MAIN} --json
show {PLAIN} --branch u2
search zebra
search zebrafish --tools
search retries --json
search nothing
export {MAIN} out.md
export {MAIN} out.jsonl --no-tool-output
export {MAIN} out.html
export {MAIN} out --format md --keep-secrets
export {MAIN} out.odd
archive --older-than 100000
archive --json
"""


def test_what_commands_say_of_conversations_is_as_it_was(
    kept: Kept, run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "datetime", Later)
    config = folder / "config"
    conversation(config, MAIN)
    other = Writer(config, PLAIN, cwd="/other")
    other.user("One question")
    other.model("One answer.", {"type": "thinking", "thinking": "Hm.", "signature": "s"})
    other.call("Edit", file_path="a.py", old_string="a", new_string="b")
    other.result("failed", toolUseResult="Error: failed")
    lines = [f"sessions --config-dir config {line}" for line in SESSIONS.strip().splitlines()]
    text = all_told(run, folder, "\n".join(lines))
    text += (folder / "out.md").read_text(encoding="utf-8")
    kept("sessions.txt", text)


class Later(datetime):
    """Has a time two hours after that of the conversations."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Later:
        return cls(2026, 11, 17, 12, 0, 30, tzinfo=tz)


# --- a task ---------------------------------------------------------------------------------------

TASKS = """
run --cli {sim} say hello
run --cli {sim} shell make
run --cli {sim} --json --allow Bash shell make
run --cli {sim} --json ask
run --cli {sim} --json --deny Bash shell make
run --cli {sim} --json --denied ok edit
run --cli {sim} --quiet fail
run --cli {sim} --json limit
run --cli {sim} --json turns
run --cli {sim} --json budget
run --cli {sim} busy
run --cli {sim} agents
run --cli {sim} --output {{}} output
run --cli simulated --no-input list the files
"""


def test_what_tasks_print_is_as_it_was(kept: Kept, run: Runner, folder: Path, sim: str) -> None:
    text = all_told(run, folder, TASKS.format(sim=sim)).replace(sim, "sim")
    kept("tasks.txt", without_times(text))


LONG = "A long sentence that does not fit into the width of the terminal, and goes on. " * 3
ACTIVITIES: list[tuple[Activity, int]] = [
    (TextPiece(text="I look", block="1"), 0),
    (TextPiece(text=" around.\n\n- one\n- two\n", block="1"), 0),
    (ToolStarted(id="t1", name="Bash", subject="ls -la", input={"command": "ls -la"}), 0),
    (ToolStarted(id="t2", name="Read", subject=LONG, input={"file_path": LONG}, agent="t1"), 1),
    (
        ToolEnded(
            id="t2", name="Read", ok=True, denied=False, seconds=0.04, summary="3 lines", text="x"
        ),
        1,
    ),
    (
        ToolEnded(
            id="t1", name="Bash", ok=False, denied=False, seconds=75.0, summary="failed", text="no"
        ),
        0,
    ),
    (ToolStarted(id="t3", name="Task", subject="", input={}), 0),
    (ToolEnded(id="t3", name="Task", ok=True, denied=True, seconds=4000, summary="", text=""), 0),
    (Decided(kind="permission", tool="Bash", answer="deny", by="rule", reason="Bash(rm *)"), 0),
    (Decided(kind="question", tool="Which?", answer="skipped", by="no terminal", seconds=1.5), 0),
    (Notice(text="The API is busy."), 0),
    (TextPiece(text="The end.", block="2"), 0),
    (TextPiece(text="Of a subagent.", block="3", agent="t1"), 1),
]


def ended(id: str, name: str, summary: str, **fields: Any) -> ToolEnded:
    given = {"ok": True, "denied": False, "seconds": 0.5, "text": "", **fields}
    return ToolEnded(id=id, name=name, summary=summary, **given)


def decided(kind: str, by: str = "person") -> Decided:
    return Decided(kind=kind, tool="Bash", answer="allow", by=by)


ASKED: list[tuple[Activity, int]] = [
    (ToolStarted(id="q1", name="AskUserQuestion", subject="Which?", input={}), 0),
    (decided("question"), 0),
    (ended("q1", "AskUserQuestion", "answered"), 0),
    (ended("q2", "AskUserQuestion", "not asked"), 0),
    (decided("plan"), 0),
    (ended("q3", "ExitPlanMode", "approved"), 0),
    (ended("q4", "ExitPlanMode", "not asked", denied=True), 0),
    (decided("permission"), 0),
    (ended("q5", "ExitPlanMode", "a permission is no plan"), 0),
    (decided("plan", by="rule"), 0),
    (ended("q6", "ExitPlanMode", "a rule is no person"), 0),
    (decided("plan"), 0),
    (ended("q7", "Bash", "this one was not asked"), 0),
    (TextPiece(text="Some text. ", block="5"), 0),
    (decided("question"), 0),
    (ToolStarted(id="a1", name="Agent", subject="Look", input={}), 1),
    (TextPiece(text="\n", block="5"), 0),
    (TextPiece(text="Some text.\n\n", block="6"), 0),
    (ToolStarted(id="n1", name="mcp__server__a_tool_with_a_long_name", subject=LONG, input={}), 2),
    (ended("n1", "mcp__server__a_tool_with_a_long_name", LONG, ok=False), 2),
    (ended("n2", "Bash", ""), 0),
]
REPORTS = [
    RunReport(outcome="done", exit_code=0, text="All.", session_id="s", model="m", seconds=1.0),
    RunReport(outcome="done", exit_code=0, output={"a": 1}, turns=1, tokens=1, cost_usd=0.5),
    RunReport(
        outcome="failed",
        exit_code=1,
        error=ErrorReport(message="No", cause="billing", advice="Pay", retryable=True),
        turns=3,
        tokens=12345,
        cost_usd=0.00001,
        seconds=3700.5,
        decisions=[Decided(kind="plan", tool="Plan", answer="approve", by="person")],
    ),
]


def viewed(view: View, report: RunReport) -> str:
    for activity, depth in ACTIVITIES:
        view.show(activity, depth)
    view.note("A note.")
    view.finish(report)
    parts = [it.getvalue() for it in (view.out, view.err) if isinstance(it, io.StringIO)]
    return f"{parts[0]}---\n{parts[1]}"


def test_what_each_view_shows_is_as_it_was(kept: Kept) -> None:
    text = ""
    for report in REPORTS:
        views = [kind(io.StringIO(), io.StringIO()) for kind in (QuietView, JsonView, PlainView)]
        views.append(PlainView(io.StringIO(), io.StringIO(), structured=True))
        if report is REPORTS[0]:
            views.append(StreamJsonView(io.StringIO(), io.StringIO()))
        text += "".join(f"# {type(it).__name__}\n{viewed(it, report)}\n" for it in views)
    kept("views.txt", text)


PAINTS = {
    "plain": Paint(attributes=False, unicode=False),
    "unicode": Paint(attributes=False),
    "coloured": Paint(),
}


def test_all_styles_and_marks_are_as_they_were(kept: Kept) -> None:
    paints = [Paint(), Paint(colour=False), Paint(attributes=False, unicode=False)]
    lines = [f"{name} {[paint(name, 'x') for paint in paints]}" for name in _STYLES]
    lines += [f"{name} {[paint.mark(name) for paint in paints]}" for name in _MARKS]
    kept("styles.txt", "".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("name", PAINTS)
def test_what_is_drawn_is_as_it_was(kept: Kept, name: str) -> None:
    kept(f"drawn-{name}.txt", drawn(PAINTS[name], 60))


@pytest.mark.parametrize("width", [5, 18, 33])
def test_what_is_drawn_in_a_narrow_window_is_as_it_was(kept: Kept, width: int) -> None:
    kept(f"drawn-narrow-{width}.txt", drawn(PAINTS["unicode"], width))


def drawn(paint: Paint, width: int) -> str:
    """Return what is drawn, with what changes after each activity, when time has passed."""
    times = [0.0]
    drawing = Drawing(paint, lambda: width, lambda: times[-1])
    lines: list[str] = []
    for activity, depth in [*ACTIVITIES, *ASKED]:
        times.append(times[-1] + 10)
        if isinstance(activity, TextPiece):
            lines += drawing.text(activity)
        else:
            lines += drawing.activity(activity, depth)
        for seconds in (0.9, 0.1, 2.4):
            times.append(times[-1] + seconds)
            drawing.frame += 1
            lines += [f"    ~ {line}" for line in drawing.changing("Thinking")]
        lines += [f"    = {line}" for line in drawing.changing("")]
    lines += [*drawing.end_text(), *drawing.notice("A note that is told."), *drawing.notice(LONG)]
    drawing.fresh()
    lines += [*drawing.changing("Writing"), *drawing.notice("Another.")]
    for report in REPORTS:
        lines += drawing.text(TextPiece(text="Not ended", block=str(report.turns)))
        lines += drawing.summary(report)
    return "".join(f"{line!r}\n" for line in lines)


class Terminal(io.StringIO):
    """A terminal in memory, of this name among all that is written."""

    encoding = "utf-8"

    def __init__(self, name: str, log: list[str], *, is_terminal: bool = True) -> None:
        super().__init__()
        self._name = name
        self._log = log
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal

    def write(self, text: str) -> int:
        self._log.append(f"{self._name} {text!r}")
        return len(text)

    def flush(self) -> None:
        if not self._log[-1].endswith("."):
            self._log[-1] += "."


PLACES = {"both": (True, True), "only the answer": (True, False), "only the rest": (False, True)}


@pytest.mark.parametrize("structured", [False, True])
def test_what_a_terminal_shows_of_a_task_is_as_it_was(
    kept: Kept, structured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    log: list[str] = []

    async def ask(view: TerminalView) -> None:
        view.show(TextPiece(text="Before a question", block="7"))
        async with view.asking():
            view.out.write("(asking)")
            view.note("What comes meanwhile.")
            view.show(ToolStarted(id="l", name="Read", subject="late", input={}))
            view.out.write("(answered)")
        view.show(ended("l", "Read", "done"))

    for name, (out, err) in PLACES.items():
        for report in REPORTS:
            log.append(f"# {name}")
            view = TerminalView(
                Terminal("out", log, is_terminal=out),
                Terminal("err", log, is_terminal=err),
                structured=structured,
            )
            view.doing = lambda: "Thinking"
            if report is REPORTS[0]:
                for activity, depth in ACTIVITIES:
                    view.show(activity, depth)
                anyio.run(ask, view)
            view.show(TextPiece(text="The end", block="8"))
            view.note("A note.")
            view.finish(report)
    text = "".join(f"{line}\n" for line in log)
    kept(f"terminal-{'output' if structured else 'text'}.txt", text)


def test_a_tool_ends_a_line_of_the_answer_and_a_notice_elsewhere_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    log: list[str] = []
    view = TerminalView(Terminal("out", log), Terminal("err", log, is_terminal=False))
    view.show(TextPiece(text="Half a ", block="1"))
    view.show(Notice(text="Meanwhile."))
    view.show(TextPiece(text="line", block="1"))
    view.show(ToolStarted(id="1", name="Bash", subject="ls", input={}))
    lines = [it for it in log if it.endswith("\\n'.")]
    assert lines == ["err 'Meanwhile.\\n'.", "out 'Half a line\\n'."]


def test_a_terminal_says_how_long_it_has_waited_since_something_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    log: list[str] = []

    async def ask(view: TerminalView) -> None:
        async with view.asking():
            pass

    def check(view: TerminalView, happens: Callable[[], object]) -> None:
        view.drawing.since -= 1000
        assert " 1000 s" in view.drawing.changing("Thinking")[-1]
        happens()
        assert " s" not in view.drawing.changing("Waiting")[-1]

    for out in (True, False):
        view = TerminalView(Terminal("out", log, is_terminal=out), Terminal("err", log))
        check(view, partial(view.show, TextPiece(text="a\n\n", block="1")))
        check(view, partial(anyio.run, ask, view))


ODD = written(
    (5, ">", asked("1", "initialize")),
    (5.5, "<", refused("1", "no")),
    (6, ">", asked("2", "a\x1b[31m")),
    (7, ">", prompt("Hello")),
    (8, "<", said(used("t1", "Bash", command="ls"))),
    (9, "<", said(used("t1", "Bash", command="ls"))),
    (10, "<", returned("t1", "a")),
    (11, "<", "noise"),
    (12, "<", {**result("All of it."), "is_error": "no"}),
    (13, "!", "an error"),
    exit=1,
)


def test_lines_of_odd_recordings_in_narrow_windows_are_as_they_were(kept: Kept) -> None:
    timeline = Timeline.of(ODD)
    text = ""
    for name, width in [("coloured", 60), ("plain", 10_000), *(("plain", it) for it in NARROW)]:
        view = LineView(timeline, PAINTS[name], width)
        shown = [view.line(it) for it in timeline.steps]
        shown += latency_table(timeline.latencies(), PAINTS[name], width)
        text += "".join(f"{line!r}\n" for line in [width, *shown])
    kept("odd-lines.txt", text)


NARROW = (20, 31, 32, 33, 34, 35, 36, 37, 44, 62)


def test_what_is_shown_in_colours_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    timeline = Timeline.of(talk())
    shown = [LineView(timeline, PAINTS["coloured"], 70).line(it) for it in timeline.steps]
    shown += latency_table(timeline.latencies(), PAINTS["coloured"], 70)
    conversation(tmp_path, MAIN).model("\tA tab, `code` and **more**.")
    with BlockingSessions(tmp_path, index=tmp_path / "index.db") as sessions:
        told = view.SessionView(PAINTS["coloured"], 70)
        shown += [line for it in sessions.open(MAIN).entries() for line in told.entry(it)]
    kept("coloured.txt", "".join(f"{line!r}\n" for line in shown))


MARKDOWN = """# One
## Two *em*
### Three

A paragraph with **bold**, *em*, _em_, __strong__, ~~gone~~, `code`, [label](http://a), <http://b>,
a \\* star and a line\\
break. ***Both*** and **not closed.

- one
  - two, which is so long that it has to be wrapped into several lines
- [ ] open
- [x] done
1. first
2. second

> A quote with **bold** words that is longer than a line of this terminal.
> - in it

---

```python
def f(x: int) -> str:
    return "a"  # why
```

~~~
plain code
~~~

| a | b | long |
|---|:-:|-----:|
| 1 | `2` | **3** |
| äöü | 日本 | x |

The end"""


@pytest.mark.parametrize("name", PAINTS)
def test_what_becomes_of_markdown_is_as_it_was(kept: Kept, name: str) -> None:
    lines = []
    for width in (30, 80):
        stream = MarkdownStream(width, PAINTS[name])
        for at in range(0, len(MARKDOWN), 40):
            lines += stream.feed(MARKDOWN[at : at + 40])
            lines += [f"    ~ {line}" for line in stream.growing]
        lines += stream.end()
    kept(f"markdown-{name}.txt", "".join(f"{line!r}\n" for line in lines))


def test_what_becomes_of_markdown_in_windows_of_all_sizes_is_as_it_was(kept: Kept) -> None:
    lines = []
    for width in (*range(10, 30, 3), 47, 60, 100):
        for size in (5, 13):
            stream = MarkdownStream(width, PAINTS["plain"])
            for at in range(0, len(MARKDOWN), size):
                lines += stream.feed(MARKDOWN[at : at + size])
            lines += stream.end()
    kept("markdown-sizes.txt", "".join(f"{line}\n" for line in lines))
