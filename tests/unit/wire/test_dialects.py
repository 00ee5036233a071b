"""The dialects: recognised by their marks, spoken by name or as heard, translated both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from claudewire.wire import (
    DIALECTS,
    AccountInfo,
    AddRules,
    Answer,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Connection,
    ContentBlockStart,
    Event,
    Failure,
    HookMatcher,
    Initialize,
    InitializeResult,
    InitMessage,
    Interrupt,
    InterruptResult,
    ModelInfo,
    PermissionResultAllow,
    PermissionRule,
    Request,
    ResultMessage,
    Role,
    State,
    StreamEvent,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
    behavior_of,
)
from claudewire.wire.dialects import MODERN, recognise
from claudewire.wire.dialects.base import Dialect
from claudewire.wire.dialects.session import SESSION

each_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda it: it.name)


def hear(connection: Connection, *objs: Any) -> list[Event]:
    return connection.receive_data(b"".join(json.dumps(obj).encode() + b"\n" for obj in objs))


def request(**fields: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": "1", "request": fields}


def permission(id: str, **fields: Any) -> dict[str, Any]:
    return {
        **request(subtype="can_use_tool", tool_name="Bash", input={}, **fields),
        "request_id": id,
    }


def ends(dialect: str) -> tuple[Connection, Connection]:
    return Connection(Role.CLIENT, dialect=dialect), Connection(Role.CLI, dialect=dialect)


def decision(connection: Connection, id: str, allow: PermissionResultAllow) -> Any:
    return json.loads(connection.send(Answer(id, allow)))["response"]["response"]


# --- recognising ---------------------------------------------------------------------------------


def hooks(*matchers: Any) -> dict[str, Any]:
    return request(subtype="initialize", hooks={"Stop": list(matchers)})


def said(**message: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"type": "message", "content": [], **message}}


def answers(**given: str) -> dict[str, Any]:
    inner = {"behavior": "allow", "updatedInput": {"answers": given}}
    response = {"subtype": "success", "request_id": "q", "response": inner}
    return {"type": "control_response", "response": response}


OLD, NEW = {"hook_callback_ids": ["h"]}, {"hookCallbackIds": ["h"]}
QUESTIONS = CanUseTool("AskUserQuestion", {"questions": [{"question": "?"}, {"question": "1"}]})
INIT = {"type": "system", "subtype": "init"}
SUGGESTED = {"behavior": "allow"}


@pytest.mark.parametrize(
    ("dialect", "line"),
    [
        ("legacy", {"type": "sdk_control_request"}),
        ("legacy", {"type": "stream"}),
        ("legacy", {"type": "control"}),
        ("legacy", {"type": "result", "total_output_tokens": 1}),
        ("modern", {"type": "result", "usage": {"input_tokens": 1}}),
        ("legacy", {"type": "control_request", "request": {"request_id": "1"}}),
        ("modern", request(request_id="1")),
        ("modern", {"type": "control_request", "request": "odd"}),
        ("legacy", request(sdk_mcp_servers=[])),
        ("modern", request(sdk_mcp_servers=[], sdkMcpServers=[])),
        ("legacy", hooks("odd", NEW, OLD)),
        ("modern", hooks({**OLD, **NEW})),
        ("modern", request(hooks={"Stop": 5, "Setup": {"a": OLD}})),
        ("session", {"type": "session.send"}),
        ("session", {"type": "callback.response"}),
        ("session", {"type": "control_response", "request_id": "1", "response": {"a": 1}}),
        ("modern", {"type": "control_response", "response": {"subtype": "error"}}),
        ("session", request(subtype="initialize", system_prompt="Hi")),
        ("modern", request(subtype="another", system_prompt="Hi")),
        ("session", {**INIT, "tools": ["Bash", {"name": "Read"}]}),
        ("modern", {**INIT, "tools": {"name": {}}}),
        ("modern", {"type": "system", "subtype": "another", "tools": [{"name": "Read"}]}),
        ("session", {**said(role="assistant"), "model": "m"}),
        ("session", said()),
        ("modern", said(model="m")),
        ("session", {**said(), "type": "user"}),
        ("modern", {**said(role="user"), "type": "user"}),
        ("session", {"type": "result", "duration_seconds": 1}),
        ("session", {"type": "result", "error": "It failed"}),
        ("session", {"type": "error", "error": {"code": "ODD"}}),
        ("modern", {"type": "error", "error": "code"}),
        ("envelope", {**request(subtype="can_use_tool"), "message": {}}),
        ("envelope", request(permission_suggestions=["odd", SUGGESTED])),
        ("modern", request(permission_suggestions=[{"type": "addRules", **SUGGESTED}])),
        ("modern", request(permission_suggestions=SUGGESTED)),
        ("envelope", {"type": "assistant", "delta": {"type": "content_block_stop"}}),
        ("modern", {**said(role="assistant"), "delta": {"type": "content_block_stop"}}),
        ("envelope", answers(**{"0": "Yes"})),
        ("modern", answers(**{"1": "Yes"})),  # the text of a question
        ("modern", answers(**{"2": "Yes"})),
        ("modern", answers()),
        ("modern", {"type": "control_response", "response": {"request_id": []}}),
        ("modern", {"type": []}),
        ("modern", {}),
    ],
    ids=str,
)
def test_line_is_recognised_by_its_marks(dialect: str, line: dict[str, Any]) -> None:
    assert recognise(line, {"q": QUESTIONS}.get).name == dialect


def test_answers_by_index_are_a_mark_only_if_questions_were_asked() -> None:
    for asked in ({}, {"q": CanUseTool("Bash", QUESTIONS.input)}):
        assert recognise(answers(**{"0": "Yes"}), asked.get) is MODERN


@each_dialect
def test_no_dialect_is_mistaken_for_another_during_a_turn(dialect: Dialect) -> None:
    cli = Connection(Role.CLI, dialect=dialect)
    inner = APIMessage("assistant", [TextBlock("hi")], type="message", model="m", usage=Usage())
    for event in (
        Request(id="p", body=CanUseTool("Bash", {})),
        AssistantMessage(message=inner),
        UserMessage.of([ToolResultBlock("t", "done")]),
        ResultMessage(subtype="success", is_error=False),
    ):
        connection = Connection(Role.CLIENT)
        connection.receive_data(cli.send(event))
        assert connection.dialect in (dialect, MODERN)
        assert connection.behavior is connection.dialect.behavior


# --- which dialect is spoken ---------------------------------------------------------------------


def test_unknown_dialect_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must be one of auto, .* got 'klingon'"):
        Connection(Role.CLIENT, dialect="klingon")


@each_dialect
def test_connection_answers_in_the_dialect_it_hears(dialect: Dialect) -> None:
    cli, connection = Connection(Role.CLI, dialect=dialect), Connection(Role.CLIENT)
    body = CanUseTool("Bash", {"command": "ls"}, tool_use_id="t")
    (heard,) = connection.receive_data(cli.send(Request(id="p", body=body)))
    assert isinstance(heard, Request)
    assert heard.body == body
    allow = PermissionResultAllow({"command": "ls -l"}, tool_use_id="t")
    written = connection.send(Answer("p", allow))
    assert (b"callback.response" in written) is (dialect is SESSION)
    (answer,) = cli.receive_data(written)
    assert isinstance(answer, Answer)
    assert answer.body == allow


def test_cli_answers_a_client_in_the_clients_dialect() -> None:
    cli, connection = Connection(Role.CLI), Connection(Role.CLIENT, dialect="session")
    cli.receive_data(connection.send(UserMessage.of("one")))
    message = AssistantMessage(message=APIMessage("assistant", [], model="m", type="message"))
    assert json.loads(cli.send(message))["model"] == "m"
    assert b"session.send" in connection.send(UserMessage.of("two"))
    hear(cli, request(subtype="interrupt"))
    written = json.loads(cli.send(Answer("1", InterruptResult([]))))
    assert written == {
        "type": "control_response",
        "request_id": "1",
        "response": {"still_queued": []},
    }


def test_first_initialize_is_understood_by_a_legacy_cli_too() -> None:
    body = Initialize(
        hooks={"PreToolUse": [HookMatcher(["h"], matcher="Bash")]}, sdk_mcp_servers=["calc"]
    )
    connection = Connection(Role.CLIENT)
    opening = connection.new_request(body)
    written = json.loads(connection.send(opening))
    assert written["request_id"] == written["request"]["request_id"] == opening.id
    assert written["request"]["sdkMcpServers"] == written["request"]["sdk_mcp_servers"] == ["calc"]
    (matcher,) = written["request"]["hooks"]["PreToolUse"]
    assert matcher["hookCallbackIds"] == matcher["hook_callback_ids"] == ["h"]
    cli = Connection(Role.CLI)
    (heard,) = hear(cli, written)
    assert isinstance(heard, Request)
    assert heard.body == body
    assert cli.dialect is MODERN


def test_initialize_for_a_known_peer_has_no_second_names() -> None:
    heard = Connection(Role.CLIENT)
    hear(heard, {"type": "error", "error": {"code": "ODD", "message": "session"}})
    for connection in (heard, Connection(Role.CLIENT, dialect="modern")):
        written = json.loads(connection.send(connection.new_request(Initialize())))
        assert "request_id" not in written["request"]


@pytest.mark.parametrize(
    ("error", "dialect"),
    [
        ({"type": "invalid_request", "message": "No"}, "envelope"),
        ({"code": "X", "message": "No"}, "session"),
    ],
)
def test_error_for_initialize_tells_the_dialect(error: Any, dialect: str) -> None:
    host = Connection(Role.CLIENT)
    host.send(Request(id="i", body=Initialize()))
    (failure,) = hear(host, {"type": "error", "error": error})
    assert isinstance(failure, Failure)
    assert (failure.error, host.our_state) == ("No", State.NEW)
    assert host.dialect is DIALECTS[dialect]


OPENED = {"subtype": "success", "request_id": "i"}
FLAT = {"type": "control_response", "request_id": "i", "response": {}}
VERSION = {"claude_code_version": "2.1.327"}


@pytest.mark.parametrize(
    ("line", "dialect"),
    [
        ({"type": "control_response", "response": {**OPENED, "response": VERSION}}, "modern"),
        ({"type": "control_response", "response": {**OPENED, "response": {}}}, "modern"),
        ({"type": "control_response", "response": OPENED}, "legacy"),
        (FLAT, "session"),
        ({"type": "system", "subtype": "init", **VERSION}, "modern"),
    ],
    ids=json.dumps,
)
def test_answer_to_initialize_decides_the_dialect_for_good(line: Any, dialect: str) -> None:
    host = Connection(Role.CLIENT)
    host.send(Request(id="i", body=Initialize()))
    for stray in STRAY[:-2]:  # the last two would be answers
        hear(host, stray)
        assert host.dialect is MODERN
    hear(host, line)
    for stray in STRAY:
        hear(host, stray)
        assert host.dialect is DIALECTS[dialect]


STRAY: tuple[dict[str, Any], ...] = (
    {"type": "session.created", "session_id": "x"},
    {"type": "callback.request", "request_id": "p", "request": {"subtype": "new"}},
    {"type": "sdk_control_request", "request": {"subtype": "new", "request_id": "p"}},
    {"type": "control_request", "message": {"type": "control_request", "request_id": "q"}},
    {"type": "control_response", "request_id": "x"},
    {"type": "callback.response", "response": {"request_id": "x"}},
    {"type": "stream", "event": "delta", "delta": "hi"},
    {"type": "control", "subtype": "interrupt", "request_id": "c"},
    {"type": "assistant", "delta": {"type": "text_delta", "text": "hi"}},
    {"type": "session.send", "message": {"role": "user", "content": "hi"}},
    {"type": "error", "message": "x"},
    {"type": "error", "error": {"type": "overloaded", "message": "x"}},
    {"type": "error", "error": {"code": "E", "message": "x"}},
)
ANSWERED = {"type": "control_response", "response": {**OPENED, "response": {}}}
MEANT = (
    {**said(role="assistant", model="m", usage={"input_tokens": 1}), "uuid": "a"},
    {**said(role="user"), "type": "user", "uuid": "u"},
    {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1, "usage": {}},
    {"type": "result", "subtype": "success", "duration_ms": 1},
    {"type": "system", "subtype": "init", "tools": ["Bash"], "model": "m", **VERSION},
    {"type": "system", "subtype": "status", "status": None},
    {"type": "stream_event", "event": {"type": "message_stop"}},
    {**permission("p1", tool_use_id="t"), "uuid": "x"},
    {"type": "control_response", "response": {**OPENED, "request_id": "o", "response": {}}},
    {"type": "keep_alive"},
)
FIELDS = """
turn_count duration_seconds error total_input_tokens total_output_tokens delta event message request
request_id response tool_input tool_use hook_callback_ids sdk_mcp_servers system_prompt mcp_servers
updated_input updated_permissions tool_use_id decision_classification pattern scope action display
account_type code model usage tools description content content_block index data text answers
"""


def opened_host() -> Connection:
    host = Connection(Role.CLIENT)
    host.send(Request(id="i", body=Initialize()))
    hear(host, ANSWERED)
    host.send(Request(id="o", body=Interrupt()))
    return host


def with_field(obj: Any, field: str, value: Any) -> Iterator[Any]:
    """Yield copies of an object with one field more, at each place that does not have it."""
    if field not in obj:
        yield {**obj, field: value}
    for key, inner in obj.items():
        if isinstance(inner, dict) and key not in ("input", "updatedInput"):
            yield from ({**obj, key: it} for it in with_field(inner, field, value))


@pytest.mark.parametrize("value", ["", None, 1, {"type": "x"}, [{"name": "x"}]], ids=repr)
@pytest.mark.parametrize("meant", MEANT, ids=lambda it: it["type"])
def test_field_of_another_dialect_changes_nothing(meant: Any, value: Any) -> None:
    untouched = opened_host()
    (expected,) = hear(untouched, meant)
    following = [UserMessage.of("next"), untouched.new_request(Interrupt())]
    written = [untouched.send(it) for it in following]
    for field in FIELDS.split():
        for line in with_field(meant, field, value):
            host = opened_host()
            (event,) = hear(host, line)
            assert type(event) is type(expected)
            if field in event.extra:
                assert event == expected
            assert [host.send(it) for it in following] == written


@pytest.mark.parametrize("stray", STRAY, ids=json.dumps)
def test_stray_line_of_another_dialect_changes_nothing(stray: dict[str, Any]) -> None:
    untouched, host = opened_host(), opened_host()
    for it in (untouched, host):
        it.send(UserMessage.of("one"))
    events = hear(host, stray)
    assert host.asked.keys() == {"o"}
    assert (host.unanswered_prompts, host.our_state) == (1, State.READY)
    for request in events:
        if isinstance(request, Request):
            answer = json.loads(host.send(Failure(request.id, "no")))
            assert answer["type"] == "control_response"
            assert answer["response"]["subtype"] == "error"
    following = [UserMessage.of("next"), Request(id="n", body=Interrupt())]
    assert [host.send(it) for it in following] == [untouched.send(it) for it in following]


# --- turns ---------------------------------------------------------------------------------------


def stopped(reason: str | None, **fields: Any) -> AssistantMessage:
    inner = APIMessage("assistant", "hi", stop_reason=reason)
    return AssistantMessage(message=inner, **fields)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_result_or_stop_reason_ends_a_turn(dialect: str) -> None:
    behavior = behavior_of(dialect)
    assert behavior.ends_turn(ResultMessage(subtype="success"))
    assert not behavior.ends_turn(UserMessage.of("hello"))
    for reason in ("end_turn", "max_tokens", "something new"):
        assert behavior.ends_turn(stopped(reason)) is not behavior.has_results
        assert not behavior.ends_turn(stopped(reason, parent_tool_use_id="toolu_1"))
    for going_on in (None, "tool_use", "pause_turn"):
        assert not behavior.ends_turn(stopped(going_on))
    assert behavior.has(InitMessage()) is (dialect != "envelope")
    assert behavior.has(ResultMessage(subtype="success")) is behavior.has_results


def test_turn_without_a_result_is_over_for_both() -> None:
    client, cli = ends("envelope")
    cli.receive_data(client.send(UserMessage.of("hello")))
    client.receive_data(cli.send(stopped(None)))
    hear(client, {"type": "assistant", "delta": {"type": "message_stop"}})
    assert (client.their_state, cli.our_state) == (State.BUSY, State.BUSY)
    client.receive_data(cli.send(stopped("end_turn")))
    assert (client.their_state, cli.our_state) == (State.IDLE, State.IDLE)
    assert (client.unanswered_prompts, cli.unanswered_prompts) == (0, 0)


@pytest.mark.parametrize(
    ("heard", "next"),
    [
        ([{"type": "keep_alive"}], "session.send"),
        ([{"type": "error", "error": {"code": "X", "message": "No"}}], "session.create"),
        (
            [
                {"type": "session.created", "session_id": "s"},
                {"type": "error", "error": {"code": "X", "message": "No"}},
            ],
            "session.send",
        ),
    ],
)
def test_next_prompt_creates_a_conversation_that_failed(heard: list[Any], next: str) -> None:
    host = Connection(Role.CLIENT, dialect="session")
    assert json.loads(host.send(UserMessage.of("one")))["type"] == "session.create"
    hear(host, *heard)
    assert json.loads(host.send(UserMessage.of("two")))["type"] == next


# --- the session dialect -------------------------------------------------------------------------


@pytest.mark.parametrize("dialect", ["auto", "session"])
@pytest.mark.parametrize("body", [{"subtype": "make_coffee"}, {"subtype": "can_use_tool"}, {}])
def test_every_callback_is_answered_by_a_callback(dialect: str, body: dict[str, Any]) -> None:
    for answer in (Answer("c", {"some": "thing"}), Failure("c", "no")):
        connection = Connection(Role.CLIENT, dialect=dialect)
        hear(connection, {"type": "callback.request", "request_id": "c", "request": body})
        written = json.loads(connection.send(answer))
        assert written["type"] == "callback.response"
        assert written["response"]["request_id"] == "c"


@pytest.mark.parametrize(
    ("rule", "short"),
    [
        (
            AddRules([PermissionRule("Bash", "git *")], "allow", "projectSettings"),
            {"type": "bash", "action": "allow", "pattern": "git *", "scope": "project"},
        ),
        (
            AddRules([PermissionRule("WebFetch", "x")], "deny", "session"),
            {
                "type": "addRules",
                "rules": [{"toolName": "WebFetch", "ruleContent": "x"}],
                "behavior": "deny",
                "destination": "session",
            },
        ),
    ],
)
def test_rule_is_written_in_the_short_form_where_it_fits(rule: AddRules, short: Any) -> None:
    client, cli = ends("session")
    asked = CanUseTool("Bash", {}, permission_suggestions=[rule])
    line = cli.send(Request(id="p", body=asked))
    assert json.loads(line)["request"]["permission_suggestions"] == [short]
    (heard,) = client.receive_data(line)
    assert isinstance(heard, Request)
    assert heard.body == asked
    assert decision(client, "p", PermissionResultAllow({}, [rule]))["updated_permissions"] == [
        short
    ]


def test_pending_request_is_answered_by_its_kind() -> None:
    connection = Connection(Role.CLIENT, dialect="session")
    opening = connection.new_request(Initialize())
    connection.send(opening)
    flat = {"type": "control_response", "request_id": opening.id, "response": {}}
    hear(connection, {**flat, "pending_permission_requests": [permission("p")]})
    written = json.loads(connection.send(Answer("p", PermissionResultAllow({}))))
    assert written["type"] == "callback.response"


def test_session_payloads_have_names_of_their_own() -> None:
    client, cli = ends("session")
    opening = client.new_request(Initialize())
    cli.receive_data(client.send(opening))
    offer = InitializeResult(
        models=[ModelInfo("opus", display_name="Opus")],
        account=AccountInfo(subscription_type="max"),
    )
    line = cli.send(Answer(opening.id, offer))
    written = json.loads(line)["response"]
    assert written["models"] == [{"value": "opus", "display": "Opus"}]
    assert written["account"] == {"account_type": "max"}
    (answer,) = client.receive_data(line)
    assert isinstance(answer, Answer)
    assert answer.body == offer


@pytest.mark.parametrize("payload", ["text", None, {"models": ["opus"], "account": "max"}])
def test_session_payload_of_another_shape_is_kept(payload: Any) -> None:
    connection = Connection(Role.CLIENT, dialect="session")
    connection.send(Request(id="i", body=Initialize()))
    (event,) = hear(
        connection, {"type": "control_response", "request_id": "i", "response": payload}
    )
    assert isinstance(event, Answer)
    assert event.raw["response"] == payload


@pytest.mark.parametrize(
    ("result", "fields"),
    [
        (ResultMessage(subtype="success", duration_ms=5200), {"duration_seconds": 5.2}),
        (
            ResultMessage(subtype="success", is_error=True, result="No"),
            {"subtype": "error_during_execution", "error": "No"},
        ),
        (
            ResultMessage(subtype="error_max_turns", is_error=True, errors=["One", "Two"]),
            {"subtype": "error_max_turns", "error": "One\nTwo"},
        ),
    ],
)
def test_session_result_counts_in_seconds_and_has_one_error(
    result: ResultMessage, fields: dict[str, Any]
) -> None:
    client, cli = ends("session")
    line = cli.send(result)
    assert json.loads(line) == {"type": "result", "subtype": "success", **fields}
    (heard,) = client.receive_data(line)
    assert isinstance(heard, ResultMessage)
    assert heard.duration_ms == result.duration_ms
    assert heard.is_error is bool(result.is_error)


# --- the legacy dialect --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        {"event": "delta", "delta": "hi"},
        {"event": "delta", "delta": {"text": "hi"}},
        {"event": "delta", "content": "hi"},
        {"event": "delta", "data": {"text": "hi"}},
        {"event": {"type": "delta", "text": "hi"}},
        {
            "event": {
                "type": "content_block_delta",
                "index": 0,
                "delta": {"type": "text_delta", "text": "hi"},
            }
        },
    ],
    ids=json.dumps,
)
def test_text_of_a_legacy_delta_is_found_wherever_it_is(line: dict[str, Any]) -> None:
    (event,) = hear(Connection(Role.CLIENT), {"type": "stream", **line, "session_id": "s"})
    assert isinstance(event, StreamEvent)
    assert (event.text, event.session_id, event.problems) == ("hi", "s", ())


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_use": {"id": "toolu_1", "name": "Bash"}},
        {"tool_use_id": "toolu_1", "tool_name": "Bash"},
    ],
)
def test_start_of_a_legacy_tool_use_is_read(fields: dict[str, Any]) -> None:
    line = {"type": "stream", "event": "tool_use_start", **fields}
    (heard,) = hear(Connection(Role.CLIENT), line)
    assert isinstance(heard, StreamEvent)
    assert heard.event == ContentBlockStart(0, ToolUseBlock("toolu_1", "Bash", {}))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"type": "control", "subtype": "interrupt", "request_id": "1"}, Request),
        ({"type": "control", "request": {"subtype": "interrupt", "request_id": "1"}}, Request),
        ({"type": "control", "subtype": "success", "request_id": "i"}, Answer),
        ({"type": "control", "response": {"subtype": "error", "request_id": "i"}}, Failure),
    ],
)
def test_legacy_control_is_a_request_or_an_answer(line: dict[str, Any], kind: type) -> None:
    connection = Connection(Role.CLIENT)
    connection.send(Request(id="i", body=Initialize()))
    (event,) = hear(connection, line)
    assert type(event) is kind


@pytest.mark.parametrize("usage", [None, Usage(3), Usage(3, 5, 7)])
def test_legacy_result_has_totals(usage: Usage | None) -> None:
    client, cli = ends("legacy")
    line = cli.send(ResultMessage(subtype="success", usage=usage))
    assert json.loads(line).get("total_input_tokens") == (usage and 3)
    (result,) = client.receive_data(line)
    assert isinstance(result, ResultMessage)
    assert result.usage == usage


# --- the envelope dialect ------------------------------------------------------------------------

ASKED = CanUseTool(
    "AskUserQuestion",
    {
        "questions": [
            {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]},
            {"question": "All?", "options": [{"label": "C"}, {"label": "D"}], "multiSelect": True},
        ]
    },
)


@pytest.mark.parametrize(
    ("answers", "by_index"),
    [
        ({"Which?": "A", "All?": "C, D"}, {"0": "A", "1": ["C", "D"]}),
        ({"All?": "other, words"}, {"1": ["other, words"]}),
        ({"All?": ["C"]}, {"1": ["C"]}),
        ({"Whose?": "A"}, None),
    ],
)
def test_envelope_answers_are_keyed_by_index(answers: Any, by_index: Any) -> None:
    client, cli = ends("envelope")
    client.receive_data(cli.send(Request(id="q", body=ASKED)))
    allow = PermissionResultAllow({**ASKED.input, "answers": answers})
    written = decision(client, "q", allow)["updatedInput"]
    assert written == ({"answers": by_index} if by_index else {**ASKED.input, "answers": answers})


def test_bare_question_after_an_envelope_is_answered_by_index() -> None:
    connection = Connection(Role.CLIENT)
    hear(connection, {"type": "assistant", "delta": {"type": "content_block_stop", "index": 0}})
    asked = permission("q")
    asked["request"] |= {
        "tool_name": "AskUserQuestion",
        "input": {"questions": [{"question": "?"}]},
    }
    hear(connection, asked)
    allow = PermissionResultAllow({**asked["request"]["input"], "answers": {"?": "Yes"}})
    assert decision(connection, "q", allow)["updatedInput"] == {"answers": {"0": "Yes"}}


def test_envelope_decisions_about_other_tools() -> None:
    client, cli = ends("envelope")
    for id in ("1", "2"):
        client.receive_data(cli.send(Request(id=id, body=CanUseTool("Bash", {"command": "ls"}))))
    assert decision(client, "1", PermissionResultAllow())["updatedInput"] == {"command": "ls"}
    assert json.loads(client.send(Answer("2", {"behavior": "deny"})))["response"]["response"] == {
        "behavior": "deny"
    }
    written = json.loads(client.send(client.new_request(Initialize())))
    assert written["type"] == "control_request"
