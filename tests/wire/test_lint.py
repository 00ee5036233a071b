"""The linter: each rule, where it applies and where it does not."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from conformance import Example, examples
from hypothesis import given
from hypothesis import strategies as st

from claudewire.wire import UserMessage, codec
from claudewire.wire.dialects import MODERN
from claudewire.wire.lint import lint
from claudewire.wire.lint.findings import (
    FACTS,
    QUOTED,
    Finding,
    modern_line,
    quoted,
    send_instead,
)

Line = dict[str, Any] | str
Spoken = tuple[str, Line]


def text(line: Line) -> str:
    return line if isinstance(line, str) else json.dumps(line)


def recording(*spoken: Spoken) -> bytes:
    """A recording of both directions, without a header."""
    records = [{"t": 0.5, "dir": dir, "line": text(line)} for dir, line in spoken]
    return "\n".join(map(json.dumps, records)).encode()


def bare(*lines: Line) -> bytes:
    return "\n".join(map(text, lines)).encode()


def codes(findings: Iterable[Finding]) -> list[tuple[int, str]]:
    return [(finding.line, finding.code) for finding in findings]


def only(capture: bytes, direction: str | None = None) -> Finding:
    (finding,) = lint(capture, direction=direction)
    return finding


def request(id: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id, "request": body}


def answer(id: str, payload: Any = None) -> dict[str, Any]:
    response = {"subtype": "success", "request_id": id, "response": payload}
    return {"type": "control_response", "response": response}


def failure(id: str) -> dict[str, Any]:
    response = {"subtype": "error", "request_id": id, "error": "no"}
    return {"type": "control_response", "response": response}


def can_use(tool: str, input: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"subtype": "can_use_tool", "tool_name": tool, "input": input, **more}


def cancel(id: str) -> dict[str, Any]:
    return {"type": "control_cancel_request", "request_id": id}


def allow(**more: Any) -> dict[str, Any]:
    return {"behavior": "allow", **more}


def deny(**more: Any) -> dict[str, Any]:
    return {"behavior": "deny", **more}


def user(content: Any = "hello", **more: Any) -> dict[str, Any]:
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"type": "assistant", "message": {"role": "assistant", "content": list(blocks)}}


def sent_instead(finding: Finding) -> Any:
    head, _, line = finding.advice.partition(": ")
    assert head == "Send instead"
    return json.loads(line)


INITIALIZE = request("1", {"subtype": "initialize"})
INTERRUPT = request("2", {"subtype": "interrupt"})
BASH = request("a", can_use("Bash", {"command": "ls"}, tool_use_id="toolu_1"))
ALLOWED = allow(updatedInput={"command": "ls"})
PROMPT = user(uuid="u1")
HELLO = assistant({"type": "text", "text": "hello"})
RESULT = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}
TOOL_RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}
QUESTIONS = [
    {"question": "Which color?", "header": "Color", "options": [{"label": "Red"}]},
    {"question": "Which sizes?", "multiSelect": True, "options": [{"label": "S"}, {"label": "L"}]},
]
ASK = request("q", can_use("AskUserQuestion", {"questions": QUESTIONS}))
MCP: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
NOTIFICATION = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def mcp(id: str, message: dict[str, Any]) -> dict[str, Any]:
    return request(id, {"subtype": "mcp_message", "server_name": "calc", "message": message})


def hook(id: str, event: str) -> dict[str, Any]:
    input = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {}}
    return request(id, {"subtype": "hook_callback", "callback_id": "h", "input": input})


# --- captures ------------------------------------------------------------------------------------

CONVERSATION: list[Spoken] = [
    (">", INITIALIZE),
    ("<", mcp("m1", NOTIFICATION)),
    (">", answer("m1", {"mcp_response": {"jsonrpc": "2.0", "result": {}}})),
    ("<", answer("1", {"commands": []})),
    ("!", "a warning, which is not JSON"),
    (">", PROMPT),
    ("<", HELLO),
    ("<", BASH),
    (">", answer("a", {**ALLOWED, "toolUseID": "toolu_1"})),
    ("<", user([TOOL_RESULT])),
    ("<", {"type": "keep_alive"}),
    ("<", RESULT),
]


def test_a_good_conversation_gives_nothing_to_say() -> None:
    assert lint(recording(*CONVERSATION)) == []


def test_a_recording_may_have_a_header_and_blank_lines() -> None:
    header = json.dumps({"claudewire": 1, "cli": "2.1.325"}).encode()
    capture = b"\n".join([b"", header, b"", recording(*CONVERSATION), b""])
    assert lint(capture) == []


def test_a_header_of_another_recorder_is_known_by_the_record_after_it() -> None:
    assert lint(b'{"version": 3}\n' + recording((">", PROMPT), ("<", RESULT))) == []


@pytest.mark.parametrize(
    ("first", "is_header"),
    [
        ({"version": 3}, True),
        ({"claudewire": 1, "t": 0}, True),
        ({}, False),
        ({"dir": "?", "version": 3}, False),
        ({"line": "?", "version": 3}, False),
        ({"type": "?", "claudewire": 1}, False),
    ],
)
def test_what_has_a_field_of_a_record_or_a_message_is_no_header(
    first: dict[str, Any], is_header: bool
) -> None:
    found = lint(json.dumps(first).encode() + b"\n" + recording((">", PROMPT), ("<", RESULT)))
    assert (found == []) == is_header


def test_a_header_alone_is_an_empty_recording() -> None:
    assert lint(b'{"claudewire": 1}\n') == []


@pytest.mark.parametrize("capture", [b"", b"\n\n", "", [], [b" "]])
def test_nothing_gives_nothing(capture: Any) -> None:
    assert lint(capture) == []


def test_a_capture_may_be_text_or_lines_of_either_kind() -> None:
    capture = recording(*CONVERSATION, ("<", "oops"))
    lines = capture.splitlines(keepends=True)
    forms: list[Any] = [capture, capture.decode(), lines, iter([it.decode() for it in lines])]
    assert [codes(lint(form)) for form in forms] == [[(13, "not-json")]] * 4


def test_an_empty_line_inside_a_recording_is_passed_over() -> None:
    assert lint(recording(("<", ""), *CONVERSATION)) == []


def test_a_recording_may_say_how_it_ended() -> None:
    ends = b'\n{"t": 1, "dir": ">", "eof": true}\n{"t": 2, "exit": 0}\n'
    assert lint(recording(*CONVERSATION) + ends) == []


@pytest.mark.parametrize(
    "line",
    ['{"t": 1, "dir": "<", "li', "[]", '{"dir": "?", "line": "{}"}', '{"line": 5, "eof": true}'],
)
def test_a_broken_record_is_an_error(line: str) -> None:
    finding = lint(recording(*CONVERSATION) + b"\n" + line.encode())[0]
    assert (finding.line, finding.severity, finding.code) == (13, "error", "not-a-record")


def test_there_is_no_third_direction() -> None:
    with pytest.raises(ValueError, match="'>' and '<'"):
        lint(b"", direction="!")


def test_findings_come_in_the_order_of_the_lines() -> None:
    capture = recording((">", INITIALIZE), ("<", BASH), (">", "oops"))
    assert codes(lint(capture)) == [(1, "unanswered"), (2, "unanswered"), (3, "not-json")]


# --- findings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        (Finding(3, "info", "a-code", "what it is"), "3: info: what it is [a-code]"),
        (Finding(3, "error", "c", "m", "Do.", "legacy", "$.a"), "3:$.a: error: m [c] Do."),
        (Finding(3, "error", "c", "a\nb\x1b[31m\u2028"), "3: error: a\\nb\\x1b[31m\\u2028 [c]"),
    ],
)
def test_a_finding_reads_as_one_line(finding: Finding, line: str) -> None:
    assert str(finding) == line


def test_long_advice_is_shortened_only_when_it_is_read() -> None:
    finding = Finding(1, "info", "c", "m", "x" * 10_000)
    assert len(str(finding)) < 600
    assert str(finding).endswith("…")
    assert msgspec.json.decode(msgspec.json.encode(finding), type=Finding) == finding


@pytest.mark.parametrize(("length", "is_whole"), [(QUOTED, True), (QUOTED + 1, False)])
def test_a_text_is_quoted_as_far_as_it_is_needed(length: int, is_whole: bool) -> None:
    given = "x" * (length - len('""'))
    shown = quoted(given)
    assert len(shown) == QUOTED
    assert shown == (f'"{given}"' if is_whole else f'"{given}'[: QUOTED - 1] + "…")


def test_a_message_that_cannot_be_written_has_no_modern_line() -> None:
    message = UserMessage.of("what JSON cannot say", tool_use_result=object())
    assert modern_line(message) is None
    assert send_instead(message, "other words") == "other words"


# --- lines that are invalid ----------------------------------------------------------------------


@pytest.mark.parametrize("direction", [">", None])
@pytest.mark.parametrize("line", ["oops", '{"a": NaN}', "{", '{"a": 1} {"b": 2}'])
def test_what_is_not_json_ends_a_real_cli(line: str, direction: str | None) -> None:
    finding = only(bare(line), direction)
    assert (finding.severity, finding.code) == ("error", "not-json")
    assert FACTS["not-json"] in finding.message


def test_what_is_not_json_from_the_cli_was_written_by_something_else() -> None:
    finding = only(b"oops", "<")
    assert finding.code == "not-json"
    assert FACTS["not-json"] not in finding.message


def test_a_control_character_inside_a_string_is_read_by_us_but_not_by_the_cli() -> None:
    line = '{"type":"user","uuid":"u","message":{"role":"user","content":"a\tb"}}'
    assert only(line.encode(), ">").code == "not-json"
    assert codes(lint(line.encode(), direction="<")) == [(1, "unfinished-turn")]


def test_bytes_that_are_no_text_hide_nothing_else() -> None:
    line = b'{"type":"user","uuid":"u","message":{"role":"user","content":"\xff%s"}}'
    assert lint(line % b"", direction=">") == []
    assert only(line % b"\t", ">").code == "not-json"


def test_a_number_that_python_refuses_to_read_is_not_the_fault_of_the_line() -> None:
    line = text(user(uuid="u", extra="?")).replace('"?"', "9" * 5000)
    assert lint(line.encode(), direction=">") == []


def test_a_line_that_python_can_hardly_read_is_not_the_fault_of_the_line() -> None:
    # Somewhere near the limit we can read it, and what looks at it more strictly cannot.
    limit = sys.getrecursionlimit()
    for depth in range(limit // 2, limit + 10):
        line = text(user(uuid="u", extra="?")).replace('"?"', "[" * depth + "]" * depth)
        assert {code for _, code in codes(lint(line.encode(), direction=">"))} <= {"not-json"}


@pytest.mark.parametrize("line", ["[]", "1", "null", '"type"'])
def test_every_line_is_an_object(line: str) -> None:
    assert only(line.encode(), ">").code == "not-an-object"


@pytest.mark.parametrize(
    ("line", "path", "words"),
    [
        ({"type": "user"}, None, "missing required field `message`"),
        ({"type": "user", "message": {"role": "user"}}, "$.message", "missing required field"),
        ({**INTERRUPT, "request_id": 5}, "$.request_id", "Expected `str`"),
    ],
)
def test_a_known_message_that_lacks_what_it_needs_is_malformed(
    line: Line, path: str | None, words: str
) -> None:
    finding = only(bare(line), ">")
    assert (finding.severity, finding.code, finding.path) == ("error", "malformed", path)
    assert words in finding.message


@pytest.mark.parametrize(("direction", "word"), [("<", "newer"), (">", "declared")])
def test_a_field_that_does_not_fit_is_named_with_its_path(direction: str, word: str) -> None:
    found = lint(bare(user(uuid="u", isReplay="yes")), direction=direction)[0]
    assert (found.severity, found.code, found.path) == ("error", "misfit", "$.isReplay")
    assert "Expected `bool" in found.message
    assert word in found.advice


def test_a_misfit_in_the_payload_of_an_answer_has_the_path_of_the_line() -> None:
    capture = recording(("<", BASH), (">", answer("a", {"behavior": "allow", "updatedInput": 5})))
    assert only(capture).path == "$.response.response.updatedInput"


def test_an_answer_without_a_decision_does_not_fit() -> None:
    finding = only(recording(("<", BASH), (">", answer("a", {}))))
    assert (finding.code, finding.path) == ("misfit", "$.response.response")
    assert "behavior" in finding.message


@pytest.mark.parametrize("line", [{"a": 1}, {"type": 5}, {"subtype": "init"}, {"subtype": []}])
def test_a_line_without_a_type_is_an_error(line: Line) -> None:
    assert only(bare(line), "<").code == "no-type"
    assert FACTS["ignored"] in only(bare(line), ">").message


def test_a_request_without_its_frame_was_said_by_the_host() -> None:
    """So both sides are in the capture, and what the CLI asked has had its chance."""
    assert codes(lint(bare(BASH))) == []
    found = codes(lint(bare(BASH, {"subtype": "interrupt"})))
    assert found == [(1, "unanswered"), (2, "bare-request")]


@pytest.mark.parametrize("line", [{"type": "news"}, {"a": 1}])
def test_a_message_that_nobody_knows_may_come_from_either_side(line: Line) -> None:
    """So nothing shows that the host is in the capture, and could have answered."""
    assert (1, "unanswered") not in codes(lint(bare(BASH, line)))


def test_objects_of_another_kind_are_no_recording_however_many_there_are() -> None:
    assert codes(lint(bare({"a": 1}, {"a": 2}))) == [(1, "no-type"), (2, "no-type")]


@pytest.mark.parametrize("id", [{}, {"request_id": ""}])
def test_a_request_needs_an_id(id: dict[str, str]) -> None:
    line = {"type": "control_request", "request": {"subtype": "interrupt"}, **id}
    finding = only(bare(line), ">")
    assert (finding.severity, finding.code) == ("error", "no-request-id")
    assert FACTS["no-id"] in finding.message
    theirs = {"type": "control_request", "request": BASH["request"]}
    assert FACTS["no-id"] not in only(bare(theirs), "<").message


# --- lines of other dialects ---------------------------------------------------------------------


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_of_the_documented_examples_those_in_another_dialect_are_outdated(
    example: Example,
) -> None:
    line = json.dumps(example.object).encode()
    dialect = codec.decode(line).dialect
    found = [it for it in lint(line, direction=example.direction) if it.severity == "outdated"]

    assert [it.dialect for it in found] == ([] if dialect is MODERN else [dialect.name])
    for it in found:
        assert it.code == f"{dialect.name}-dialect"
        if it.advice.startswith(("Send instead: ", "In the modern form: ")):
            modern = it.advice.partition(": ")[2].encode()
            assert codec.decode(modern).dialect is MODERN
            assert not [each for each in lint(modern) if each.severity in ("error", "outdated")]
        else:
            assert example.object["type"] == "session.created"


OLD_INITIALIZE = {
    "type": "control_request",
    "request": {
        "subtype": "initialize",
        "request_id": "r1",
        "hooks": {"PreToolUse": [{"matcher": "*", "hook_callback_ids": ["h"]}]},
    },
}
STATUS = {"subtype": "mcp_status", "request_id": "r"}
OLD_DECISION = {"subtype": "success", "request_id": "a", "response": allow(updated_input={})}


@pytest.mark.parametrize(
    ("line", "dialect", "fact", "instead"),
    [
        (
            {"type": "session.create", "message": {"role": "user", "content": "hi"}},
            "session",
            "ignored",
            {**user("hi"), "parent_tool_use_id": None, "session_id": ""},
        ),
        (
            {"type": "callback.response", "response": OLD_DECISION},
            "session",
            "ignored",
            answer("a", allow(updatedInput={})),
        ),
        (
            {"type": "sdk_control_request", "request": STATUS},
            "legacy",
            "ignored",
            request("r", {"subtype": "mcp_status"}),
        ),
        (
            {"type": "control", "subtype": "interrupt"},
            "legacy",
            "ignored",
            request("an-id-of-yours", {"subtype": "interrupt"}),
        ),
        (
            OLD_INITIALIZE,
            "legacy",
            "no-id",
            request(
                "r1",
                {
                    "subtype": "initialize",
                    "hooks": {"PreToolUse": [{"matcher": "*", "hookCallbackIds": ["h"]}]},
                },
            ),
        ),
        (
            request("1", {"subtype": "initialize", "system_prompt": "Be brief."}),
            "session",
            "snake-case",
            request("1", {"subtype": "initialize", "systemPrompt": "Be brief."}),
        ),
    ],
)
def test_an_outdated_line_comes_with_what_happens_to_it_and_what_to_send(
    line: Line, dialect: str, fact: str, instead: Line
) -> None:
    finding = only(bare(line), ">")
    assert (finding.severity, finding.dialect) == ("outdated", dialect)
    assert FACTS[fact] in finding.message
    assert sent_instead(finding) == instead


def test_answers_keyed_by_index_are_outdated_and_mended() -> None:
    given = allow(updatedInput={"answers": {"0": "Red", "1": ["S", "L"]}})
    finding = only(recording(("<", ASK), (">", answer("q", given))))
    assert (finding.code, finding.dialect) == ("envelope-dialect", "envelope")
    assert FACTS["keys"] in finding.message
    updated = sent_instead(finding)["response"]["response"]["updatedInput"]
    assert updated == {
        "questions": QUESTIONS,
        "answers": {"Which color?": "Red", "Which sizes?": "S, L"},
    }


def test_a_flat_answer_of_the_host_is_outdated() -> None:
    line = {"type": "control_response", "request_id": "a", "response": ALLOWED}
    finding = only(bare(line), ">")
    assert finding.code == "session-dialect"
    assert finding.message == "written in the session dialect: real CLIs expect another form"
    assert sent_instead(finding) == answer("a", ALLOWED)


def test_what_the_cli_says_in_another_dialect_is_shown_in_the_modern_one() -> None:
    line = {"type": "result", "subtype": "success", "turn_count": 1}
    finding = only(bare(line), "<")
    assert finding.code == "session-dialect"
    assert finding.message == "written in the session dialect: no real CLI writes this"
    modern = json.loads(finding.advice.removeprefix("In the modern form: "))
    assert modern == {k: v for k, v in RESULT.items() if k in modern}


def test_a_message_without_a_modern_counterpart_is_to_be_left_out() -> None:
    finding = only(b'{"type": "session.created", "session_id": "s"}')
    assert finding.advice.startswith("Leave it out")


def test_a_request_without_its_frame_is_ignored_by_real_clis() -> None:
    for direction in (">", None):
        finding = only(b'{"subtype": "interrupt"}', direction)
        assert (finding.severity, finding.code) == ("outdated", "bare-request")
        assert FACTS["ignored"] in finding.message
        assert sent_instead(finding) == request("an-id-of-yours", {"subtype": "interrupt"})


def test_a_request_without_its_frame_and_its_fields_gets_words() -> None:
    assert only(b'{"subtype": "can_use_tool"}').advice.startswith("Put it into")


@pytest.mark.parametrize("depth", [600, 800])
def test_a_request_without_its_frame_may_be_nested_too_deeply_to_be_framed(depth: int) -> None:
    # A key that is no text makes the reader look at every part of it.
    line = rb'{"subtype":"interrupt","\ud800":1,"x":%b%b}' % (b"[" * depth, b"]" * depth)
    assert only(line, ">").code == "bare-request"


# --- what this version does not know -------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "code", "path"),
    [
        ({"type": "telepathy"}, "unknown-message", None),
        ({"type": "system", "subtype": "telepathy"}, "unknown-system-message", None),
        (request("x", {"subtype": "telepathy"}), "unknown-request", "$.request"),
        (assistant({"type": "telepathy"}), "unknown-block", "$.message.content[0]"),
        (hook("x", "Telepathy"), "unknown-hook-input", "$.request.input"),
    ],
)
def test_what_nobody_knows_is_reported_in_passing(line: Line, code: str, path: Any) -> None:
    finding = lint(bare(line), direction="<")[0]
    assert (finding.severity, finding.code, finding.path) == ("info", code, path)
    assert "elepathy" in finding.message
    assert "newer" in finding.advice


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ({"type": "telepathy"}, "unknown-message", FACTS["ignored"]),
        (request("x", {"subtype": "telepathy"}), "unknown-request", FACTS["unsupported"]),
        (user([{"type": "telepathy"}], uuid="u"), "unknown-block", "no CLI"),
    ],
)
def test_what_nobody_knows_is_suspicious_if_the_host_says_it(
    line: Line, code: str, words: str
) -> None:
    finding = only(bare(line), ">")
    assert (finding.severity, finding.code) == ("suspicious", code)
    assert words in finding.message


def test_what_nobody_knows_is_reported_in_the_order_of_the_line() -> None:
    blocks = [{"type": "telepathy"}, {"type": "text", "text": "hi"}, {"type": "telekinesis"}]
    line = {**user(blocks, uuid="u"), "origin": {"kind": "telepath"}}
    found = [(it.code, it.path) for it in lint(bare(line), direction="<")]
    assert [it for it in found if it[0].startswith("unknown")] == [
        ("unknown-block", "$.message.content[0]"),
        ("unknown-block", "$.message.content[2]"),
        ("unknown-origin", "$.origin"),
    ]


# --- requests and answers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ([(">", INTERRUPT)], [(1, "unanswered")]),
        ([("<", BASH)], [(1, "unanswered")]),
        ([("<", hook("h", "PreToolUse"))], [(1, "unanswered")]),
        ([("<", mcp("m", MCP))], [(1, "unanswered")]),
        ([("<", mcp("m", NOTIFICATION))], [(1, "unanswered-notification")]),
        ([("<", BASH), ("<", cancel("a"))], []),
        ([("<", BASH), (">", failure("a"))], []),
        ([(">", answer("z"))], [(1, "unknown-answer")]),
        ([(">", INTERRUPT), ("<", answer("2")), ("<", answer("2"))], [(3, "duplicate-answer")]),
        (
            [("<", BASH), (">", answer("a", ALLOWED)), (">", answer("a", ALLOWED))],
            [(3, "duplicate-answer")],
        ),
        ([("<", BASH), ("<", cancel("a")), (">", answer("a", ALLOWED))], [(3, "late-answer")]),
        ([("<", cancel("z"))], [(1, "unknown-cancel")]),
        ([("<", BASH), (">", answer("a", ALLOWED)), ("<", cancel("a"))], []),
        (
            [("<", BASH), (">", answer("a", ALLOWED)), ("<", cancel("a")), (">", answer("a"))],
            [(4, "misfit"), (4, "duplicate-answer")],
        ),
        (
            [("<", BASH), (">", answer("a", ALLOWED)), ("<", BASH), (">", answer("a", ALLOWED))],
            [(3, "duplicate-id")],
        ),
        ([("<", BASH), (">", request("a", {"subtype": "interrupt"}))], [(1, ""), (2, "")]),
    ],
)
def test_the_books_of_both_sides_are_kept(
    spoken: list[Spoken], expected: list[tuple[int, str]]
) -> None:
    found = codes(lint(recording(*spoken)))
    assert found == [(line, code or "unanswered") for line, code in expected]


@pytest.mark.parametrize("direction", [">", "<"])
def test_what_the_other_side_did_is_not_guessed_from_one_side(direction: str) -> None:
    ours = [INITIALIZE, {**INITIALIZE, "request_id": "0"}, INTERRUPT, answer("z")]
    theirs = [BASH, mcp("m", NOTIFICATION), answer("z")]
    assert lint(bare(*(ours if direction == ">" else theirs)), direction=direction) == []


def test_an_echo_of_the_hosts_own_answer_is_no_answer() -> None:
    given = answer("a", ALLOWED)
    assert lint(recording(("<", BASH), (">", given), ("<", given))) == []


def test_an_echo_is_told_from_an_answer_to_a_request_with_the_same_id() -> None:
    ours, echo = request("a", {"subtype": "interrupt"}), answer("a", ALLOWED)
    begin: list[Spoken] = [("<", BASH), (">", echo), (">", ours), ("<", echo)]
    assert codes(lint(recording(*begin))) == [(3, "unanswered")]
    assert lint(recording(*begin, ("<", answer("a", {"still_queued": []})))) == []


def test_an_answer_without_an_id_is_for_the_only_request_there_is() -> None:
    nameless = {"type": "control_response", "response": {"subtype": "error", "error": "no"}}
    one: list[Spoken] = [(">", OLD_INITIALIZE), ("<", nameless)]
    assert codes(lint(recording(*one))) == [(1, "legacy-dialect"), (2, "answer-without-id")]
    two: list[Spoken] = [(">", INITIALIZE), (">", INTERRUPT), ("<", nameless)]
    assert codes(lint(recording(*two))) == [
        (1, "unanswered"),
        (2, "unanswered"),
        (3, "answer-without-id"),
    ]


def test_a_host_that_answers_without_an_id_is_told_to_copy_it() -> None:
    nameless = {"type": "control_response", "response": {"subtype": "success", "response": ALLOWED}}
    finding = only(recording(("<", BASH), (">", nameless)))
    assert finding.code == "answer-without-id"
    assert finding.advice.startswith("Copy")


def test_requests_that_waited_before_the_capture_began_can_be_answered() -> None:
    first = answer("1", {})
    first["response"]["pending_permission_requests"] = [BASH]
    begin: list[Spoken] = [(">", INITIALIZE), ("<", first)]
    assert codes(lint(recording(*begin))) == [(2, "unanswered")]
    assert lint(recording(*begin, (">", answer("a", ALLOWED)))) == []


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ([(">", PROMPT), (">", INITIALIZE)], [(2, "initialize-not-first")]),
        ([(">", {"type": "keep_alive"}), (">", INITIALIZE)], []),
        ([(">", INITIALIZE), (">", request("0", INITIALIZE["request"]))], []),
    ],
)
def test_initialize_comes_first(spoken: list[Spoken], expected: list[tuple[int, str]]) -> None:
    assert codes(lint(bare(*(line for _, line in spoken)), direction=">")) == expected


def test_a_second_initialize_must_wait_for_the_first() -> None:
    second = request("0", INITIALIZE["request"])
    waits: list[Spoken] = [(">", INITIALIZE), ("<", failure("1"))]
    assert lint(recording(*waits, (">", second), ("<", answer("0")))) == []
    hurries: list[Spoken] = [(">", INITIALIZE), (">", second)]
    both: list[Spoken] = [*hurries, ("<", answer("1")), ("<", answer("0"))]
    assert codes(lint(recording(*both))) == [(2, "initialize-pending")]


@pytest.mark.parametrize(
    ("line", "direction"),
    [(BASH, ">"), (INITIALIZE, "<"), (RESULT, ">"), (HELLO, ">")],
)
def test_some_things_are_said_by_one_side_only(line: Line, direction: str) -> None:
    assert only(bare(line), direction).code == "wrong-direction"


@pytest.mark.parametrize("direction", [">", "<"])
def test_both_sides_may_send_an_mcp_message(direction: str) -> None:
    assert lint(bare(mcp("m", MCP)), direction=direction) == []


# --- prompts and turns ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (user(), [(1, "no-uuid")]),
        (PROMPT, []),
        (user(shouldQuery=False), []),
    ],
)
def test_a_prompt_without_a_uuid_cannot_be_told_from_others(
    line: Line, expected: list[tuple[int, str]]
) -> None:
    assert codes(lint(bare(line), direction=">")) == expected


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ([(">", PROMPT), ("<", HELLO), ("<", RESULT)], []),
        ([(">", PROMPT)], [1]),
        ([(">", PROMPT), ("<", HELLO)], [1]),
        ([("<", HELLO)], [1]),
        ([(">", PROMPT), ("<", RESULT), ("<", HELLO), ("<", HELLO)], [3]),
        ([(">", PROMPT), (">", user(uuid="u2")), ("<", RESULT)], [2]),
        ([(">", PROMPT), (">", user(uuid="u2")), ("<", RESULT), ("<", RESULT)], []),
    ],
)
def test_a_turn_ends_with_a_result(spoken: list[Spoken], expected: list[int]) -> None:
    found = lint(recording(*spoken))
    assert codes(found) == [(line, "unfinished-turn") for line in expected]


# --- what an answer says -------------------------------------------------------------------------


def test_an_allow_has_the_input() -> None:
    finding = only(recording(("<", BASH), (">", answer("a", allow()))))
    assert (finding.severity, finding.code) == ("suspicious", "no-updated-input")
    assert FACTS["no-input"] in finding.message
    assert sent_instead(finding) == answer("a", ALLOWED)


def test_an_allow_without_input_is_seen_without_the_request_too() -> None:
    finding = only(bare(answer("a", allow())), ">")
    assert finding.code == "no-updated-input"
    assert finding.advice.startswith("Always")
    assert lint(bare(answer("a", {"behavior": "completed"})), direction=">") == []


@pytest.mark.parametrize("decision", [ALLOWED, deny(message="no")])
@pytest.mark.parametrize(("id", "expected"), [("toolu_1", 0), ("toolu_2", 1)])
def test_the_tool_use_id_is_that_of_the_request(
    decision: dict[str, Any], id: str, expected: int
) -> None:
    found = lint(recording(("<", BASH), (">", answer("a", {**decision, "toolUseID": id}))))
    assert codes(found) == [(2, "tool-use-id-mismatch")] * expected


@pytest.mark.parametrize(
    ("decision", "expected"),
    [
        (deny(message="no"), []),
        (deny(), ["deny-without-message"]),
        (deny(message=""), ["deny-without-message"]),
        (deny(message="no", interrupt=True), ["deny-interrupts"]),
        (deny(message="no", interrupt=False), []),
    ],
)
def test_a_denial_says_why(decision: dict[str, Any], expected: list[str]) -> None:
    found = lint(recording(("<", BASH), (">", answer("a", decision))))
    assert [it.code for it in found] == expected


def test_a_decision_that_nobody_knows_is_named() -> None:
    finding = only(recording(("<", BASH), (">", answer("a", {"behavior": "perhaps"}))))
    assert (finding.severity, finding.code) == ("suspicious", "unknown-permission-result")
    assert "perhaps" in finding.message


ANSWERS = {"Which color?": "Red", "Which sizes?": "S, L"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"questions": QUESTIONS, "answers": ANSWERS}, []),
        ({"questions": QUESTIONS, "answers": {"Which color?": "Mauve"}}, []),
        ({"questions": QUESTIONS, "answers": {}, "response": "Neither."}, []),
        ({"questions": QUESTIONS, "annotations": {"Which color?": {"unanswered": "skipped"}}}, []),
        (None, ["no-answers"]),
        ({"questions": QUESTIONS}, ["no-answers"]),
        ({"questions": QUESTIONS, "answers": {}}, ["no-answers"]),
        ({"answers": ANSWERS}, ["no-questions"]),
        ({"questions": QUESTIONS, "answers": {"q_0": "Red"}}, ["answer-keys"]),
        ({"questions": QUESTIONS, "answers": {"Color": "Red"}}, ["answer-keys"]),
        ({"questions": QUESTIONS, "answers": {"Who?": "Red"}}, ["answer-keys"]),
        ({"questions": QUESTIONS, "answers": {"Which sizes?": ["S", "L"]}}, ["answer-list"]),
        ({"answers": {"q_1": ["S", "L"]}}, ["no-questions", "answer-keys", "answer-list"]),
    ],
)
def test_questions_are_answered_by_their_text(given: Any, expected: list[str]) -> None:
    decision = allow() if given is None else allow(updatedInput=given)
    found = lint(recording(("<", ASK), (">", answer("q", decision))))
    assert [it.code for it in found] == expected


@pytest.mark.parametrize("key", ["1", "q_1", "Which sizes?"])
def test_answers_are_mended_if_anybody_can_tell_what_they_mean(key: str) -> None:
    decision = allow(updatedInput={"answers": {key: ["S", "L"]}})
    finding = lint(recording(("<", ASK), (">", answer("q", decision))))[0]
    mended = {"questions": QUESTIONS, "answers": {"Which sizes?": "S, L"}}
    assert sent_instead(finding) == answer("q", allow(updatedInput=mended))


@pytest.mark.parametrize("key", ["Who?", "", "2"])
def test_an_answer_to_nothing_that_was_asked_cannot_be_mended(key: str) -> None:
    decision = allow(updatedInput={"questions": QUESTIONS, "answers": {key: "me"}})
    finding = only(recording(("<", ASK), (">", answer("q", decision))))
    assert "exact text" in finding.advice


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"questions": QUESTIONS, "answers": ANSWERS}, []),
        ({"answers": ANSWERS}, ["no-questions"]),
        ({"answers": {"0": "Red"}}, ["no-questions", "answer-keys"]),
        ({"questions": QUESTIONS, "answers": {"0": "Red"}}, ["answer-keys"]),
    ],
)
def test_answers_are_looked_at_without_the_request_too(given: Any, expected: list[str]) -> None:
    found = lint(bare(answer("q", allow(updatedInput=given))), direction=">")
    assert [it.code for it in found] == expected


@pytest.mark.parametrize("payload", [{"jsonrpc": "2.0", "id": 1, "result": {}}, {}, None])
def test_an_mcp_answer_is_wrapped(payload: Any) -> None:
    finding = only(recording(("<", mcp("m", MCP)), (">", answer("m", payload))))
    assert finding.code == "no-mcp-response"
    assert FACTS["unwrapped"] in finding.message
    if payload:
        assert sent_instead(finding) == answer("m", {"mcp_response": payload})


@pytest.mark.parametrize(
    ("message", "payload"),
    [(MCP, {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {}}}), (NOTIFICATION, {})],
)
def test_a_wrapped_mcp_answer_is_right_and_a_notification_needs_none(
    message: dict[str, Any], payload: Any
) -> None:
    assert lint(recording(("<", mcp("m", message)), (">", answer("m", payload)))) == []


@pytest.mark.parametrize(
    ("asked", "event", "expected"),
    [
        ("PreToolUse", None, []),
        ("PreToolUse", "PreToolUse", []),
        ("PreToolUse", "PostToolUse", ["hook-event-mismatch"]),
        ("PreToolUse", "PreTooluse", ["unknown-hook-specific-output"]),
        ("Telepathy", "PreToolUse", ["unknown-hook-input", "hook-event-mismatch"]),
    ],
)
def test_the_output_of_a_hook_names_its_event(asked: str, event: Any, expected: list[str]) -> None:
    payload = {"hookSpecificOutput": {"hookEventName": event}} if event else {}
    found = lint(recording(("<", hook("h", asked)), (">", answer("h", payload))))
    assert [it.code for it in found] == expected


@pytest.mark.parametrize("asked", ["PreToolUse", "Telepathy"])
def test_output_for_another_event_is_told_with_both_events(asked: str) -> None:
    payload = {"hookSpecificOutput": {"hookEventName": "PostToolUse"}}
    finding = lint(recording(("<", hook("h", asked)), (">", answer("h", payload))))[-1]
    assert f'for the event "PostToolUse", but the hook ran for "{asked}"' in finding.message


def test_what_the_cli_answers_is_not_held_to_the_rules_of_the_host() -> None:
    capture = recording((">", mcp("m", MCP)), ("<", answer("m", {})))
    assert lint(capture) == []


def test_an_answer_of_no_special_kind_is_just_an_answer() -> None:
    form = request("e", {"subtype": "elicitation", "mcp_server_name": "s", "message": "m"})
    assert lint(recording(("<", form), (">", answer("e", {"action": "cancel"})))) == []


# --- directions that are inferred ----------------------------------------------------------------


def test_the_directions_of_bare_lines_are_inferred() -> None:
    lines = [line for dir, line in CONVERSATION if dir != "!"]
    assert lint(bare(*lines)) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (user(), ["no-uuid"]),
        (user([{"type": "text", "text": "hi"}]), ["no-uuid"]),
        (user(uuid="u", session_id="s"), []),
        (user([TOOL_RESULT]), ["unfinished-turn"]),
        (user(isReplay=True), []),
        (user(tool_use_result={}), ["unfinished-turn"]),
        ({"type": "telepathy"}, ["unknown-message"]),
        (request("x", {"subtype": "telepathy"}), ["unknown-request"]),
        ({"type": "keep_alive"}, []),
        (cancel("z"), []),
        (answer("z", {"still_queued": []}), []),
        (failure("z"), []),
        (answer("z", deny()), ["deny-without-message"]),
        (mcp("m", MCP), []),
        ({"type": "callback.response", "response": failure("z")["response"]}, ["session-dialect"]),
        (
            {"type": "sdk_control_request", "request": STATUS},
            ["legacy-dialect", "wrong-direction"],
        ),
    ],
)
def test_a_line_alone_may_tell_who_said_it(line: Line, expected: list[str]) -> None:
    assert [it.code for it in lint(bare(line))] == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([INTERRUPT, BASH, answer("2"), answer("a", ALLOWED)], []),
        ([INTERRUPT, BASH, cancel("a"), answer("2")], []),
        ([INTERRUPT, BASH, answer("2")], [(2, "unanswered")]),
        # The last may be an echo, or a second answer.
        ([INTERRUPT, BASH, answer("2"), answer("a", ALLOWED), answer("a", ALLOWED)], []),
        # Both sides use the same id: only what is said tells who says it.
        (
            [BASH, request("a", {"subtype": "interrupt"}), answer("a", ALLOWED), answer("a")],
            [],
        ),
    ],
)
def test_an_answer_goes_the_other_way_than_its_request(
    lines: list[Line], expected: list[tuple[int, str]]
) -> None:
    assert codes(lint(bare(*lines))) == expected


# --- anything at all -----------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
KNOWN = st.sampled_from([*(line for _, line in CONVERSATION), *(it.object for it in examples())])


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A known line with one of its values replaced."""
    line = draw(KNOWN)
    if isinstance(line, str):
        return line
    copy = json.loads(json.dumps(line))
    here = copy
    while True:
        key = draw(st.sampled_from(sorted(here)))
        if isinstance(here[key], dict) and here[key] and draw(st.booleans()):
            here = here[key]
        else:
            here[key] = draw(JSON)
            return json.dumps(copy)


@given(st.lists(st.tuples(st.sampled_from("<>"), damaged())), st.sampled_from([None, "<", ">"]))
def test_no_damage_to_a_line_makes_the_linter_fail(
    spoken: list[Spoken], direction: str | None
) -> None:
    for capture in (recording(*spoken), bare(*(line for _, line in spoken))):
        for finding in lint(capture, direction=direction):
            assert finding.message
            assert len(str(finding).splitlines()) == 1


@given(st.binary())
def test_no_bytes_make_the_linter_fail(capture: bytes) -> None:
    lint(capture)
    lint(capture, direction=">")


def test_no_depth_makes_the_linter_fail() -> None:
    for depth in (10, 500, 900, 990, 10_000):
        line = text(user("?", extra=1)).replace("1", "[" * depth + "]" * depth)
        lint(line.encode(), direction=">")
