"""A recording as a timeline: every line is there, named, and paired with what answers it."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from tests.product.recordings.written import (
    answered,
    asked,
    prompt,
    refused,
    result,
    returned,
    said,
    text,
    used,
    written,
)

from claudewire.recordings import Direction, Recording, Timeline, read

FOLDER = Path(__file__).resolve().parent
FILES = sorted(FOLDER.glob("*.jsonl"))


def names(timeline: Timeline) -> list[tuple[str, str]]:
    return [(step.kind, step.name) for step in timeline.steps]


def spans(timeline: Timeline) -> list[tuple[str, str, int, int | None, float | None]]:
    return [(it.kind, it.name, it.start, it.end, it.seconds) for it in timeline.exchanges]


def summary(line: Any, direction: Direction = "<") -> str:
    return Timeline.of(written((0.0, direction, line))).steps[0].summary


# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_lines_of_real_conversations_are_named_and_paired(path: Path) -> None:
    recording = read(path)
    timeline = Timeline.of(recording)
    assert [step.entry for step in timeline.steps] == list(recording.entries)
    assert all(step.name and step.name != "unknown" for step in timeline.steps if not strays(step))
    assert all("\n" not in step.summary for step in timeline.steps)
    unfinished = [it for it in timeline.exchanges if it.end is None]
    assert not unfinished, unfinished


def strays(step: Any) -> bool:
    return type(step.event).__name__ == "UnexpectedMessage"


def test_lines_are_named_by_their_kind() -> None:
    timeline = Timeline.of(
        written(
            (0.0, ">", asked("1", "initialize")),
            (0.1, "<", answered("1")),
            (0.2, "!", "a warning"),
            (0.3, "<", "not JSON"),
            (0.4, "<", {"type": "assistant"}),
            (0.5, "<", {"type": "news_of_tomorrow", "x": 1}),
            (0.6, "<", asked("2", "something_new", y=2)),
            (0.7, ">", refused("2", "What is that?")),
            (0.8, "<", {"type": "control_cancel_request", "request_id": "2"}),
            (0.9, "<", ""),
            exit=3,
        )
    )
    assert names(timeline) == [
        ("request", "initialize"),
        ("answer", "initialize"),
        ("stderr", "stderr"),
        ("bad line", "not JSON"),
        ("bad line", "malformed"),
        ("message", "news_of_tomorrow"),
        ("request", "something_new"),
        ("failure", "something_new"),
        ("cancel", "cancel"),
        ("bad line", "empty"),
        ("exit", "exit"),
    ]
    assert timeline.steps[2].summary == "a warning"
    assert timeline.steps[7].summary == "What is that?"
    assert timeline.steps[-1].summary == "the CLI has exited with status 3"
    assert timeline.seconds == pytest.approx(0.9)


INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "s",
    "model": "m",
    "permissionMode": "plan",
    "cwd": "/p",
    "tools": ["Bash"],
}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            said(text("Good\n morning"), used("t", "Bash", command="ls")),
            'Good morning | Bash {"command": "ls"}',
        ),
        (said({"type": "thinking", "thinking": "Hm"}), "(thinking) Hm"),
        (said({"type": "never_seen"}), "(never_seen)"),
        (returned("t", "5"), "result: 5"),
        (returned("t", [text("a"), text("b")], is_error=True), "error: a | b"),
        (result("Yes", num_turns=2, total_cost_usd=0.5), "Yes · turns: 2 · cost: 0.5000 USD"),
        (result("", errors=["one", "two"]), "one, two"),
        (result("", terminal_reason="max_turns"), "max_turns"),
        (INIT, "m, plan, /p, 1 tools"),
        ({"type": "stream_event", "event": DELTA, "session_id": "s"}, "Hi"),
        ({"type": "stream_event", "event": {"type": "message_stop"}, "session_id": "s"}, ""),
        ({"type": "later", "uuid": "u", "of": "use"}, '{"of": "use"}'),
        (
            asked("1", "can_use_tool", tool_name="Bash", input={"command": "ls"}),
            'Bash {"command": "ls"}',
        ),
        (asked("1", "never_seen", of="use"), '{"of": "use"}'),
        (
            {"type": "control_cancel_request", "request_id": "9"},
            "request 9 (no request with this id is waiting)",
        ),
    ],
)
def test_summary_tells_the_content_of_a_line(line: Any, shown: str) -> None:
    assert summary(line) == shown


def test_summary_is_one_short_line() -> None:
    assert summary(said(text("long\n" * 1000))) == ("long " * 80)[:399] + "…"
    assert [summary("x" * length, "!") for length in (400, 401)] == ["x" * 400, "x" * 399 + "…"]


def test_findings_belong_to_their_lines() -> None:
    # With an empty line between them: a line of the file is not an index.
    lines = written((0, ">", asked("1", "initialize")), (0, "<", "Debugger attached.")).dump()
    timeline = Timeline.of(Recording.load(lines.replace(b"\n", b"\n\n")))
    assert [finding.code for finding in timeline.steps[0].findings] == ["unanswered"]
    assert [finding.code for finding in timeline.steps[1].findings] == ["not-json"]
    assert len(timeline.findings) == 2


# --- exchanges -----------------------------------------------------------------------------------


def test_request_is_paired_with_its_answer_or_withdrawal() -> None:
    timeline = Timeline.of(
        written(
            (0.0, ">", asked("1", "initialize")),
            (0.5, "<", answered("1")),
            (1.0, "<", asked("2", "can_use_tool", tool_name="A", input={})),
            # Ids of the two sides have nothing to do with each other.
            (1.5, ">", asked("2", "interrupt")),
            (1.75, "<", answered("2")),
            (2.0, ">", refused("2", "no")),
            (3.0, "<", asked("3", "can_use_tool", tool_name="B", input={})),
            (3.25, "<", {"type": "control_cancel_request", "request_id": "3"}),
            (4.0, ">", asked("5", "interrupt")),
            (4.5, "<", answered("unheard of")),
        )
    )
    assert spans(timeline) == [
        ("request", "initialize", 0, 1, 0.5),
        ("request", "can_use_tool", 2, 5, 1.0),
        ("request", "interrupt", 3, 4, 0.25),
        ("request", "can_use_tool", 6, 7, 0.25),
        ("request", "interrupt", 8, None, None),
    ]
    assert [it.by for it in timeline.exchanges] == [">", "<", ">", "<", ">"]
    assert sorted(timeline.endings()) == [1, 4, 5, 7]


def test_turns_and_tools_last_until_their_results() -> None:
    timeline = Timeline.of(
        written(
            (0.0, ">", prompt("Note this", shouldQuery=False)),
            (1.0, ">", prompt("Go")),
            (1.5, "<", said(used("t1", "Bash"), used("t2", "Read"))),
            (2.0, "<", returned("t2", "x")),
            (2.5, "<", returned("t1", "x")),
            (2.6, "<", returned("t9", "of no tool")),
            (3.0, "<", result()),
            (4.0, ">", prompt("And on")),
            (5.0, "<", said(used("t3", "Bash"))),
        )
    )
    assert spans(timeline) == [
        ("turn", "turn", 1, 6, 2.0),
        ("tool", "Read", 2, 3, 0.5),
        ("tool", "Bash", 2, 4, 1.0),
        ("turn", "turn", 7, None, None),
        ("tool", "Bash", 8, None, None),
    ]


def test_latencies_are_counted_by_name_the_longest_first() -> None:
    lines: list[Any] = []
    for number, seconds in enumerate([1, 2, 6]):
        lines.append((0, ">", asked(f"a{number}", "mcp_status")))
        lines.append((seconds, "<", answered(f"a{number}")))
    timeline = Timeline.of(written(*lines, (0, ">", asked("b", "interrupt"))))
    assert [astuple(it) for it in timeline.latencies()] == [
        ("request", "mcp_status", ">", 3, 0, 2, 6),
        ("request", "interrupt", ">", 1, 1, None, None),
    ]
