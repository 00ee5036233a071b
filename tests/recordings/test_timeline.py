"""A recording as a timeline: every line is there, named, and paired with what answers it."""

from __future__ import annotations

import json
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.strategies import json_values
from tests.recordings.written import (
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

from claudewire import OptionsError
from claudewire.recordings import Timeline, read
from claudewire.transport import Direction, Recording, RecordingEntry

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
def test_every_line_of_a_real_conversation_is_named_and_summarised(path: Path) -> None:
    recording = read(path)
    timeline = Timeline.of(recording)
    assert [step.entry for step in timeline.steps] == list(recording.entries)
    assert all(step.name and step.name != "unknown" for step in timeline.steps if not strays(step))
    assert all("\n" not in step.summary for step in timeline.steps)
    unfinished = [it for it in timeline.exchanges if it.end is None]
    assert not unfinished, unfinished


def strays(step: Any) -> bool:
    return type(step.event).__name__ == "Stray"


def test_each_kind_of_line_is_named_by_what_it_is() -> None:
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
        ("bad line", "noise"),
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


def test_the_ends_of_streams_and_an_unknown_status_are_said_in_words() -> None:
    entries = [RecordingEntry(dir=it) for it in (">", "<", "!")]
    timeline = Timeline.of(Recording([*entries, RecordingEntry()]))
    assert [step.summary for step in timeline.steps] == [
        "the application has ended its input",
        "the CLI has closed its output",
        "the CLI has closed its stderr",
        "the CLI has exited with status unknown",
    ]
    assert Timeline.of(Recording()).seconds == 0.0


INIT = {
    "type": "system",
    "subtype": "init",
    "session_id": "s",
    "model": "m",
    "permissionMode": "plan",
    "cwd": "/p",
    "tools": ["Bash"],
}
MCP = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}}
HOOK = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {},
    "session_id": "s",
    "transcript_path": "/t",
    "cwd": "/p",
}
DELTA = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}
BEGUN = {"type": "content_block_start", "index": 0, "content_block": text("")}


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (
            said(text("Good\n morning"), used("t", "Bash", command="ls")),
            'Good morning | Bash {"command": "ls"}',
        ),
        (said(used("t", "Bash", command="écho")), 'Bash {"command": "écho"}'),
        (said({"type": "thinking", "thinking": "Hm"}), "(thinking) Hm"),
        (said({"type": "never_seen"}), "(never_seen)"),
        (returned("t", "5"), "result: 5"),
        (returned("t", [text("a"), text("b")], is_error=True), "error: a | b"),
        (returned("t", None), "result:"),
        (result("Yes", num_turns=2, total_cost_usd=0.5), "Yes · turns: 2 · cost: 0.5000 USD"),
        (result("", errors=["one", "two"]), "one, two"),
        (result("", terminal_reason="max_turns"), "max_turns"),
        (
            result("", errors=[], terminal_reason=None, num_turns=0, total_cost_usd=0),
            ("turns: 0 · cost: 0.0000 USD"),
        ),
        (result("Yes", errors=["no"], terminal_reason="x"), "Yes"),
        (INIT, "m, plan, /p, 1 tools"),
        ({**INIT, "tools": []}, "m, plan, /p, 0 tools"),
        ({key: it for key, it in INIT.items() if key != "tools"}, "m, plan, /p"),
        ({"type": "stream_event", "event": DELTA, "session_id": "s"}, "Hi"),
        ({"type": "stream_event", "event": BEGUN, "session_id": "s"}, "text"),
        ({"type": "stream_event", "event": {"type": "message_stop"}, "session_id": "s"}, ""),
        ({"type": "later", "uuid": "u", "of": "use"}, '{"of": "use"}'),
        (
            asked("1", "can_use_tool", tool_name="Bash", input={"command": "ls"}),
            'Bash {"command": "ls"}',
        ),
        (asked("1", "mcp_message", server_name="calc", message=MCP), "calc: tools/call add"),
        (asked("1", "mcp_message", server_name="c", message={"id": 1}), "c: an answer"),
        (
            asked("1", "mcp_message", server_name="c", message={**MCP, "params": []}),
            "c: tools/call",
        ),
        (
            asked(
                "1", "hook_callback", callback_id="h2", input={**HOOK, "hook_event_name": "Stop"}
            ),
            ("Stop h2"),
        ),
        (asked("1", "hook_callback", callback_id="h1", input=HOOK), "PreToolUse Bash h1"),
        (asked("1", "never_seen", of="use"), '{"of": "use"}'),
        (
            {"type": "control_cancel_request", "request_id": "9"},
            "request 9 (no request with this id is waiting)",
        ),
        ("[]", "Expected `object`, got `list`: []"),
    ],
)
def test_a_line_says_in_a_few_words_what_it_is_about(line: Any, shown: str) -> None:
    assert summary(line) == shown


def test_answers_say_what_was_answered() -> None:
    form = asked("1", "elicitation", mcp_server_name="m", message="Who?")
    yes = answered("1", action="accept", content={"name": "Ann"})
    no = answered("2", action="decline")
    timeline = Timeline.of(
        written(
            (0, "<", form),
            (0, ">", yes),
            (0, "<", {**form, "request_id": "2"}),
            (0, ">", no),
            (0, ">", asked("3", "set_permission_mode", mode="plan")),
            (0, "<", answered("3", mode="plan")),
            (0, ">", asked("4", "interrupt")),
            (
                0,
                "<",
                {"type": "control_response", "response": {"subtype": "success", "request_id": "4"}},
            ),
        )
    )
    told = [step.summary for step in timeline.steps if step.kind == "answer"]
    assert told == ['accept {"name": "Ann"}', "decline", '{"mode": "plan"}', "ok"]


def test_a_summary_is_one_line_of_limited_length() -> None:
    assert summary(said(text("long\n" * 1000))) == ("long " * 80)[:399] + "…"
    assert [summary("x" * length, "!") for length in (400, 401)] == ["x" * 400, "x" * 399 + "…"]


def test_the_linter_comments_on_the_lines_that_it_means() -> None:
    # With an empty line between them: a line of the file is not an index.
    lines = written((0, ">", asked("1", "initialize")), (0, "<", "Debugger attached.")).dump()
    timeline = Timeline.of(Recording.load(lines.replace(b"\n", b"\n\n")))
    assert [finding.code for finding in timeline.steps[0].findings] == ["unanswered"]
    assert [finding.code for finding in timeline.steps[1].findings] == ["not-json"]
    assert len(timeline.findings) == 2


# --- exchanges -----------------------------------------------------------------------------------


def test_a_request_is_paired_with_its_answer_its_refusal_or_its_withdrawal() -> None:
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


def test_a_turn_lasts_from_the_prompt_to_its_result_and_a_tool_to_what_it_returned() -> None:
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
    assert timeline.exchanges[0].first == 0.5


def test_a_result_that_names_its_prompts_ends_those() -> None:
    timeline = Timeline.of(
        written(
            (0, ">", prompt("1", uuid="a")),
            (1, ">", prompt("2", uuid="b")),
            (2, ">", prompt("3", uuid="c")),
            (3, "<", result(user_message_uuids=["b", "c"])),
            (4, "<", result(user_message_uuid="a")),
        )
    )
    assert [(it.start, it.end) for it in timeline.exchanges] == [(0, 4), (1, 3), (2, 3)]


def test_latencies_are_counted_by_name_with_the_longest_first() -> None:
    lines: list[Any] = []
    for number, seconds in enumerate([1, 2, 6]):
        lines.append((0, ">", asked(f"a{number}", "mcp_status")))
        lines.append((seconds, "<", answered(f"a{number}")))
    timeline = Timeline.of(written(*lines, (0, ">", asked("b", "interrupt"))))
    assert [astuple(it) for it in timeline.latencies()] == [
        ("request", "mcp_status", ">", 3, 0, 2, 6),
        ("request", "interrupt", ">", 1, 1, None, None),
    ]


# --- files ---------------------------------------------------------------------------------------


def test_what_a_cli_has_written_to_a_file_can_be_read_too(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(
        "\n".join(json.dumps(it) for it in (INIT, said(text("Hi")), result(), "")), encoding="utf-8"
    )
    timeline = Timeline.of(read(path))
    assert [step.name for step in timeline.steps][:3] == [
        "system/init",
        "assistant",
        "result/success",
    ]
    assert {step.dir for step in timeline.steps} == {"<"}
    assert [step.entry.number for step in timeline.steps][:3] == [1, 2, 3]


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"[1]\n", b'{"claudewire": 9}\n', b"\xff\xfe"]
)
def test_a_file_that_is_no_recording_is_refused_with_advice(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.txt"
    path.write_bytes(content)
    with pytest.raises(OptionsError, match=r"other\.txt is not a recording, or is damaged") as info:
        read(path)
    assert "claudewire record" in info.value.advice


def test_a_file_that_cannot_be_read_is_an_error_that_names_it(tmp_path: Path) -> None:
    class Named:
        def __fspath__(self) -> str:
            return str(tmp_path / "nowhere.jsonl")

    for path in (tmp_path / "nowhere.jsonl", Named()):
        with pytest.raises(OptionsError) as caught:
            read(path)
        assert str(caught.value) == (
            f"{tmp_path}/nowhere.jsonl cannot be read: No such file or directory"
        )


# --- whatever is in it ---------------------------------------------------------------------------

_lines = st.one_of(
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.tuples(
        st.sampled_from(["user", "assistant", "control_request", "control_response"]), json_values
    )
    .map(lambda it: {"type": it[0], "message": it[1], "request": it[1], "response": it[1]})
    .map(lambda value: json.dumps(value).encode()),
)
_entries = st.builds(
    lambda direction, line: RecordingEntry(dir=direction, line=line),
    st.sampled_from(["<", ">", "!"]),
    _lines,
)


@given(st.lists(_entries, max_size=8))
def test_no_line_whatever_it_says_keeps_the_others_from_being_read(
    entries: list[RecordingEntry],
) -> None:
    timeline = Timeline.of(Recording(entries))
    assert [step.entry for step in timeline.steps] == entries
    assert all(isinstance(step.summary, str) for step in timeline.steps)
    timeline.latencies()


def test_what_was_never_answered_comes_last() -> None:
    recording = written(
        (0, ">", asked("1", "set_model")),
        (0, ">", asked("2", "interrupt")),
        (0.5, "<", answered("2")),
    )
    assert [it.name for it in Timeline.of(recording).latencies()] == ["interrupt", "set_model"]


def test_a_message_without_a_type_is_unknown() -> None:
    (step,) = Timeline.of(written((0, "<", {"type": ""}))).steps
    assert step.name == "unknown"


def test_a_result_that_names_no_prompt_ends_the_first_that_waits() -> None:
    recording = written((0, ">", prompt("a")), (1, ">", prompt("b")), (3, "<", result("x")))
    ended = [(it.start, it.end, it.seconds) for it in Timeline.of(recording).exchanges]
    assert ended == [(0, 2, 3), (1, None, None)]
