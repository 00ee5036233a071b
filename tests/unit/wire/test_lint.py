"""The linter: its findings in recordings and in lines of one direction."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from conformance import Example, examples
from hypothesis import given
from hypothesis import strategies as st

from claudewire.wire import codec
from claudewire.wire.dialects import MODERN
from claudewire.wire.lint import CHECKS, Finding, lint

Line = dict[str, Any] | str
Spoken = tuple[str, Line]


def text(line: Line) -> str:
    return line if isinstance(line, str) else json.dumps(line)


def recording(*spoken: Spoken) -> bytes:
    records = [{"t": 0.5, "dir": dir, "line": text(line)} for dir, line in spoken]
    return "\n".join(map(json.dumps, records)).encode()


def codes(*spoken: Spoken) -> list[tuple[int, str]]:
    return [(finding.line, finding.code) for finding in lint(recording(*spoken))]


def request(id: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id, "request": body}


def answer(id: str, payload: Any = None) -> dict[str, Any]:
    response = {"subtype": "success", "request_id": id, "response": payload}
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


def mcp(id: str, message: dict[str, Any]) -> dict[str, Any]:
    return request(id, {"subtype": "mcp_message", "server_name": "calc", "message": message})


def hook(id: str, event: str) -> dict[str, Any]:
    input = {"hook_event_name": event, "tool_name": "Bash", "tool_input": {}}
    return request(id, {"subtype": "hook_callback", "callback_id": "h", "input": input})


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
    ("<", answer("a", {**ALLOWED, "toolUseID": "toolu_1"})),  # repeated by the CLI
    ("<", user([TOOL_RESULT])),
    ("<", {"type": "keep_alive"}),
    ("<", ""),
    ("<", RESULT),
]


# --- captures ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"", b""),
        (b'\n{"claudewire": 1, "cli": "2.1.325"}\n\n', b"\n"),
        (b"", b'\n{"t": 1, "dir": ">", "eof": true}\n{"t": 2, "exit": 0}\n'),
    ],
)
def test_good_conversation_has_no_findings(before: bytes, after: bytes) -> None:
    capture = before + recording(*CONVERSATION) + after
    assert lint(capture) == lint(before) == []


@pytest.mark.parametrize("line", ['{"t": 1, "dir": "<", "li', "[]", '{"line": 5, "eof": true}'])
def test_broken_record_is_an_error(line: str) -> None:
    finding = lint(recording(*CONVERSATION) + b"\n" + line.encode())[0]
    assert (finding.line, finding.severity, finding.code) == (15, "error", "not-a-record")


@pytest.mark.parametrize(
    ("finding", "line"),
    [
        (Finding(3, "info", "a-code", "a fact"), "3: info: a fact [a-code]"),
        (Finding(3, "error", "c", "m", "Do.", "legacy", "$.a"), "3:$.a: error: m [c] Do."),
        (Finding(3, "error", "c", "a\nb\x1b[31m\u2028"), "3: error: a\\nb\\x1b[31m\\u2028 [c]"),
    ],
)
def test_finding_reads_as_one_line(finding: Finding, line: str) -> None:
    assert str(finding) == line
    assert msgspec.json.decode(msgspec.json.encode(finding), type=Finding) == finding


def test_long_advice_is_shortened() -> None:
    assert len(str(Finding(1, "info", "c", "m", "x" * 10_000))) < 600


# --- lines ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("direction", "line", "code", "path"),
    [
        (">", "oops", "not-json", None),
        (">", "[]", "malformed", None),
        (">", {"type": "user", "message": {"role": "user"}}, "malformed", "$.message"),
        (">", user(isReplay="yes"), "misfit", "$.isReplay"),
        (">", {"subtype": "interrupt"}, "no-type", None),
        (">", {"type": "control_request", "request": INTERRUPT["request"]}, "no-request-id", None),
        ("<", {"type": "telepathy"}, "unknown", None),
        ("<", {"type": "system", "subtype": "telepathy"}, "unknown", None),
        ("<", request("x", {"subtype": "telepathy"}), "unknown", "$.request"),
        (">", user([{"type": "telepathy"}]), "unknown", "$.message.content[0]"),
    ],
)
def test_line_by_itself_is_checked(direction: str, line: Line, code: str, path: Any) -> None:
    found = lint(recording((direction, line)))
    assert (found[0].code, found[0].path) == (code, path)
    severity = "suspicious" if code == "unknown" and direction == ">" else CHECKS[code][0]
    assert found[0].severity == severity


@pytest.mark.parametrize(
    "line", [BASH, mcp("m", MCP), mcp("m", NOTIFICATION), answer("z"), cancel("z"), HELLO, RESULT]
)
def test_missing_direction_is_no_fault_of_a_line(line: Line) -> None:
    found = lint(text(line).encode())
    assert {it.code for it in found} <= {"unfinished-turn"}


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.id)
def test_documented_examples_in_other_dialects_are_outdated(example: Example) -> None:
    line = json.dumps(example.object).encode()
    _, dialect = codec.decode(line) or (None, MODERN)
    findings = lint(recording((example.direction, example.object)))
    found = [it for it in findings if it.severity == "outdated"]
    assert [it.code for it in found] == ([] if dialect is MODERN else [f"{dialect.name}-dialect"])
    for it in found:
        if example.object["type"] == "session.created":
            assert it.advice.startswith("Leave it out")
            continue
        modern = it.advice.removeprefix("In the modern form: ").encode()
        _, standard = codec.decode(modern) or (None, None)
        assert standard is MODERN


# --- requests, answers and turns -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("spoken", "expected"),
    [
        ([(">", INTERRUPT)], [(1, "unanswered")]),
        ([("<", BASH)], [(1, "unanswered")]),
        ([("<", mcp("m", NOTIFICATION))], [(1, "unanswered")]),
        ([("<", BASH), ("<", cancel("a"))], []),
        ([(">", answer("z"))], [(1, "unexpected")]),
        ([(">", INTERRUPT), ("<", answer("2")), ("<", answer("2"))], [(3, "unexpected")]),
        ([("<", BASH), ("<", cancel("a")), (">", answer("a", ALLOWED))], [(3, "unexpected")]),
        ([("<", cancel("z"))], [(1, "unexpected")]),
        ([("<", BASH), ("<", BASH), (">", answer("a", ALLOWED))], [(2, "unexpected")]),
        (
            [(">", INITIALIZE), (">", request("0", INITIALIZE["request"]))],
            [(1, "unanswered"), (2, "unexpected")],
        ),
        ([(">", PROMPT), ("<", HELLO), ("<", RESULT)], []),
        ([(">", PROMPT), ("<", HELLO)], [(1, "unfinished-turn")]),
        ([(">", PROMPT), (">", user(uuid="u2")), ("<", RESULT)], [(2, "unfinished-turn")]),
        ([("<", HELLO), ("<", HELLO)], [(1, "unfinished-turn")]),
    ],
)
def test_books_of_both_sides_are_kept(
    spoken: list[Spoken], expected: list[tuple[int, str]]
) -> None:
    assert codes(*spoken) == expected


def test_requests_from_before_the_capture_can_be_answered() -> None:
    first = answer("1", {})
    first["response"]["pending_permission_requests"] = [BASH]
    begin: list[Spoken] = [(">", INITIALIZE), ("<", first)]
    assert codes(*begin) == [(2, "unanswered")]
    assert codes(*begin, (">", answer("a", ALLOWED))) == []


ANSWERS = {"Which color?": "Red", "Which sizes?": "S, L"}


@pytest.mark.parametrize(
    ("asked", "payload", "expected"),
    [
        (BASH, ALLOWED, []),
        (BASH, allow(), ["no-updated-input"]),
        (BASH, allow(updatedInput=5), ["misfit", "no-updated-input"]),
        (BASH, {**ALLOWED, "toolUseID": "toolu_2"}, ["tool-use-id-mismatch"]),
        (BASH, deny(message="no"), []),
        (BASH, deny(), ["deny-without-message"]),
        (BASH, deny(message="no", interrupt=True), ["deny-interrupts"]),
        (BASH, {"behavior": "perhaps"}, ["unknown"]),
        (ASK, allow(updatedInput={"questions": QUESTIONS, "answers": ANSWERS}), []),
        (ASK, allow(updatedInput={"questions": QUESTIONS, "response": "Neither."}), []),
        (ASK, allow(), ["question-answers"]),
        (ASK, allow(updatedInput={"answers": ANSWERS}), ["question-answers"]),
        (ASK, allow(updatedInput={"answers": {"q_1": ["S"]}}), ["question-answers"] * 3),
        (ASK, allow(updatedInput={"answers": {"0": "Red"}}), ["envelope-dialect"]),
        (mcp("m", MCP), {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {}}}, []),
        (mcp("m", MCP), {"jsonrpc": "2.0", "id": 1, "result": {}}, ["no-mcp-response"]),
        (mcp("m", NOTIFICATION), {}, []),
        (hook("h", "PreToolUse"), {}, []),
        (request("o", {"subtype": "dance"}), {"any": "thing"}, []),
        (hook("h", "Stop"), {"hookSpecificOutput": {"hookEventName": "Stop"}}, []),
        (
            hook("h", "PreToolUse"),
            {"hookSpecificOutput": {"hookEventName": "Stop"}},
            ["hook-event-mismatch"],
        ),
    ],
)
def test_answer_of_the_host_is_checked(asked: Any, payload: Any, expected: list[str]) -> None:
    found = lint(recording(("<", asked), (">", answer(asked["request_id"], payload))))
    assert [it.code for it in found if it.line == 2] == expected


def test_answer_of_the_cli_is_not_held_to_rules_of_the_host() -> None:
    assert codes((">", mcp("m", MCP)), ("<", answer("m", {}))) == []


# --- anything at all -----------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from("<>"), st.sampled_from([it for _, it in CONVERSATION]))))
def test_any_order_of_lines_gives_findings(spoken: list[Spoken]) -> None:
    for finding in lint(recording(*spoken)):
        assert finding.message
        assert len(str(finding).splitlines()) == 1


@given(st.binary())
def test_any_bytes_give_findings(capture: bytes) -> None:
    lint(capture)
    lint(recording((">", capture.decode("latin-1"))))
