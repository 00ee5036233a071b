"""What one end says, the other hears: everything, from either side, in every dialect."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DataObject, DrawFn
from msgspec import UNSET
from msgspec.structs import replace
from tests.helpers.examples import examples
from tests.helpers.strategies import json_values, records, texts

from claudewire.wire import (
    MESSAGES,
    REQUESTS,
    SYSTEM,
    AddRules,
    Answer,
    APIMessage,
    AssistantMessage,
    Block,
    Cancel,
    CanUseTool,
    Connection,
    ContentBlockDelta,
    Elicitation,
    Event,
    Failure,
    Initialize,
    InitializeResult,
    InitMessage,
    KeepAlive,
    Message,
    PermissionHint,
    PermissionResultAllow,
    PermissionRule,
    Question,
    QuestionOption,
    Request,
    RequestBody,
    RequestUserDialog,
    ResultMessage,
    Role,
    StreamEvent,
    TextBlock,
    UnknownBlock,
    UnknownDelta,
    UnknownMessage,
    UnknownRequest,
    UnknownStreamEvent,
    Usage,
    UserMessage,
    answer_type,
)
from claudewire.wire.dialects import DIALECTS
from claudewire.wire.types import cli_requests, host_requests

# There are many kinds, and each example is said in four dialects.
few = examples(0.2)
ids = texts.filter(bool)


def named(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else str(value.value)


MESSAGES_BY = [
    *[(Role.CLI, kind) for kind in (*MESSAGES, *SYSTEM.values())],
    *[(Role.CLIENT, kind) for kind in (UserMessage, KeepAlive)],
]
REQUESTS_BY = [
    *[(Role.CLI, body) for body in REQUESTS.values() if body.__name__ in cli_requests.__all__],
    *[(Role.CLIENT, body) for body in REQUESTS.values() if body.__name__ in host_requests.__all__],
    (Role.CLIENT, REQUESTS["mcp_message"]),
]


class Pair:
    """Two ends that speak the same dialect."""

    def __init__(self, dialect: str) -> None:
        self.ends = {role: Connection(role, dialect=dialect) for role in Role}

    def say(self, sender: Role, event: Event) -> list[Event]:
        return self.ends[sender.other].receive_data(self.ends[sender].send(event))


def assert_heard(dialect: str, said: Event, heard: list[Event]) -> None:
    (event,) = heard
    assert event.problems == ()
    assert type(event) is type(said)
    assert normal(dialect, event) == normal(dialect, said), (dialect, event.line)


# --- what a dialect cannot say -------------------------------------------------------------------


def normal(dialect: str, event: Event) -> Event:
    """Take away what the dialect makes no difference between."""
    match event:
        case ResultMessage():
            return normal_result(dialect, event)
        case AssistantMessage():
            return normal_assistant(dialect, event)
        case UserMessage():
            return normal_user(dialect, event)
        case Answer():
            return normal_answer(dialect, event)
        case InitMessage() if dialect == "session" and not event.tool_descriptions:
            return replace(event, tool_descriptions=None)  # they stand at the tools, or nowhere
    return event


def normal_result(dialect: str, result: ResultMessage) -> ResultMessage:
    if result.is_error is None:  # the subtype says it, and old CLIs leave it at that
        result = replace(result, is_error=result.subtype != "success")
    if dialect in ("session", "legacy") and result.stop_reason is None:  # they write no nulls
        result = replace(result, stop_reason=UNSET)
    return result


def normal_assistant(dialect: str, said: AssistantMessage) -> AssistantMessage:
    message = said.message
    if dialect == "modern":
        return said
    if message.stop_sequence is None:  # no nulls
        message = replace(message, stop_sequence=UNSET)
    if dialect == "envelope":  # content is always a list
        return replace(said, message=replace(message, content=said.content))
    message = replace(message, role="assistant")  # no role: the type says it
    if dialect == "session" and message.type is None:  # the type in the role's place
        message = replace(message, type="message")
    return replace(said, message=message)


def normal_user(dialect: str, said: UserMessage) -> UserMessage:
    if dialect == "session":  # no role: the type says it
        return replace(said, message=replace(said.message, role="user"))
    if dialect == "envelope":
        if isinstance(said.content, str):  # content is always a list
            said = replace(said, message=replace(said.message, content=[TextBlock(said.content)]))
        if not isinstance(said.tool_use_result, str | None):  # always a string
            said = replace(said, tool_use_result=json.dumps(said.tool_use_result))
    if dialect in ("modern", "envelope") and said.session_id is None:  # of a prompt, a string
        said = replace(said, session_id="")
    return said


def normal_answer(dialect: str, said: Answer) -> Answer:
    body = said.body
    if not isinstance(body, PermissionResultAllow) or said.request is None:
        return said
    if dialect == "envelope" and body.updated_input is None:  # an allow always has an input
        assert isinstance(said.request.body, CanUseTool)
        body = replace(body, updated_input=said.request.body.input)
    return replace(said, body=body)


# --- messages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("sender", "kind"), MESSAGES_BY, ids=named)
@few
@given(data=st.data())
def test_a_message_arrives_as_it_was_sent(
    sender: Role, kind: type[Message], data: DataObject
) -> None:
    message = data.draw(records(kind))
    for dialect in DIALECTS:
        assert_heard(dialect, message, Pair(dialect).say(sender, message))


@given(
    records(
        ResultMessage,
        subtype=st.sampled_from(["success", "error_max_turns"]),
        is_error=st.none() | st.booleans(),
        num_turns=st.none() | st.integers(0, 9),
        usage=st.none() | records(Usage),
        errors=st.none() | st.lists(texts, max_size=2),
    )
)
def test_a_result_arrives_as_it_was_sent(result: ResultMessage) -> None:
    for dialect in DIALECTS:
        assert_heard(dialect, result, Pair(dialect).say(Role.CLI, result))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_fractions_of_a_millisecond_arrive_nearly_as_they_were_sent(duration: float) -> None:
    result = ResultMessage(subtype="success", duration_ms=duration)
    for dialect in DIALECTS:
        (heard,) = Pair(dialect).say(Role.CLI, result)
        assert isinstance(heard, ResultMessage)
        assert heard.duration_ms == pytest.approx(duration, rel=1e-12, abs=1e-6)


@given(
    records(
        InitMessage,
        tools=st.none() | st.lists(st.sampled_from(["Bash", "Read", "Edit"])),
        tool_descriptions=st.none() | st.dictionaries(st.sampled_from(["Bash", "Read"]), texts),
    )
)
def test_the_descriptions_of_tools_arrive(init: InitMessage) -> None:
    for dialect in DIALECTS:
        assert_heard(dialect, init, Pair(dialect).say(Role.CLI, init))


@given(st.dictionaries(texts, json_values, max_size=3), st.sampled_from(Role))
def test_a_message_that_nobody_knows_arrives_as_it_was_sent(raw: dict[str, Any], by: Role) -> None:
    data = {**raw, "type": "news"}
    message = UnknownMessage(kind="news", data=data, **names_of(data))
    for dialect in DIALECTS:
        assert_heard(dialect, message, Pair(dialect).say(by, message))


@given(st.dictionaries(texts, json_values, max_size=3))
def test_what_nobody_knows_inside_a_message_arrives_as_it_was_sent(raw: dict[str, Any]) -> None:
    raw = {**raw, "type": "news"}
    blocks: list[Block] = [UnknownBlock(raw), TextBlock("text"), UnknownBlock(raw)]
    for message in (
        AssistantMessage(message=APIMessage("assistant", blocks)),
        UserMessage.of(blocks),
        StreamEvent(event=UnknownStreamEvent(raw)),
        StreamEvent(event=ContentBlockDelta(0, UnknownDelta(raw))),
    ):
        for dialect in DIALECTS:
            assert_heard(dialect, message, Pair(dialect).say(Role.CLI, message))


def names_of(data: dict[str, Any]) -> dict[str, str]:
    """What every message has: taken from unknown ones too, if it is of the right type."""
    return {key: data[key] for key in ("uuid", "session_id") if isinstance(data.get(key), str)}


# --- requests and answers ------------------------------------------------------------------------


@pytest.mark.parametrize(("sender", "kind"), REQUESTS_BY, ids=named)
@few
@given(data=st.data())
def test_a_request_arrives_and_can_be_withdrawn(
    sender: Role, kind: type[RequestBody[Any]], data: DataObject
) -> None:
    request = Request(id=data.draw(ids), body=data.draw(records(kind)))
    for dialect in DIALECTS:
        pair = Pair(dialect)
        assert_heard(dialect, request, pair.say(sender, request))
        assert_heard(dialect, Cancel(id=request.id), pair.say(sender, Cancel(id=request.id)))


@pytest.mark.parametrize(("sender", "kind"), REQUESTS_BY, ids=named)
@few
@given(data=st.data())
def test_an_answer_arrives_with_its_request(
    sender: Role, kind: type[RequestBody[Any]], data: DataObject
) -> None:
    request = Request(id=data.draw(ids), body=data.draw(records(kind)))
    answer = Answer(request.id, data.draw(records(answer_type(kind))), request)
    failure = Failure(request.id, data.draw(texts), data.draw(st.none() | texts), request)
    for dialect in DIALECTS:
        for said in (answer, failure):
            pair = Pair(dialect)
            pair.say(sender, request)
            assert_heard(dialect, said, pair.say(sender.other, said))


@given(
    records(
        CanUseTool,
        permission_suggestions=st.lists(
            records(
                AddRules,
                rules=st.lists(
                    records(
                        PermissionRule, tool_name=st.sampled_from(["Bash", "WebFetch", "mcp__a__b"])
                    ),
                    max_size=2,
                ),
                behavior=st.none() | st.sampled_from(["allow", "deny"]),
                destination=st.none() | st.sampled_from(["session", "userSettings", "cliArg"]),
            )
            | records(PermissionHint),
            max_size=3,
        ),
    )
)
def test_a_suggestion_arrives_as_it_was_sent(body: CanUseTool) -> None:
    request = Request(id="1", body=body)
    for dialect in DIALECTS:
        assert_heard(dialect, request, Pair(dialect).say(Role.CLI, request))


@given(st.dictionaries(texts.filter(lambda key: key != "request_id"), json_values, max_size=3))
def test_a_request_that_nobody_knows_arrives_as_it_was_sent(raw: dict[str, Any]) -> None:
    request = Request(id="1", body=UnknownRequest({**raw, "subtype": "favour"}))
    for dialect in DIALECTS:
        for sender in Role:
            assert_heard(dialect, request, Pair(dialect).say(sender, request))


@pytest.mark.parametrize(("sender", "kind"), REQUESTS_BY, ids=named)
@few
@given(data=st.data())
def test_an_answer_without_a_payload_arrives_as_an_empty_one(
    sender: Role, kind: type[RequestBody[Any]], data: DataObject
) -> None:
    request = Request(id="1", body=data.draw(records(kind)))
    try:
        nothing = msgspec.convert({}, answer_type(kind))
    except msgspec.ValidationError:
        nothing = None  # there is no empty one: it is a problem, and not an answer
    for dialect in DIALECTS:
        pair = Pair(dialect)
        pair.say(sender, request)
        (heard,) = pair.say(sender.other, Answer("1"))
        assert heard == Answer("1", nothing, request)
        assert bool(heard.problems) == (nothing is None)


questions = st.lists(
    st.builds(
        Question,
        texts,
        options=st.lists(st.builds(QuestionOption, texts), max_size=3),
        multi_select=st.booleans(),
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda question: question.question,
)


@given(questions, st.data())
def test_answers_to_questions_arrive(asked: list[Question], data: DataObject) -> None:
    # What else the input has is not repeated by an answer of the envelope dialect.
    input = {"questions": msgspec.to_builtins(asked)}
    request = Request(id="1", body=CanUseTool("AskUserQuestion", input))
    answers = {it.question: data.draw(choices(it)) for it in asked if data.draw(st.booleans())}
    said = Answer("1", PermissionResultAllow({**input, "answers": answers}), request)
    for dialect in DIALECTS:
        pair = Pair(dialect)
        pair.say(Role.CLI, request)
        (heard,) = pair.say(Role.CLIENT, said)
        assert isinstance(heard, Answer)
        given = heard.body.updated_input["answers"]
        for question, labels in given.items():  # a list where several were allowed
            given[question] = labels if isinstance(labels, str) else ", ".join(labels)
        assert heard == said


@st.composite
def choices(draw: DrawFn, question: Question) -> str:
    labels = [option.label for option in question.options]
    if not labels:
        return draw(texts)
    if question.multi_select:
        return ", ".join(draw(st.lists(st.sampled_from(labels), unique=True, min_size=1)))
    return draw(st.sampled_from(labels))


@given(
    st.lists(records(CanUseTool) | records(RequestUserDialog) | records(Elicitation), max_size=3),
    records(InitializeResult),
)
def test_requests_from_before_arrive_with_the_answer_to_initialize(
    bodies: list[Any], offered: InitializeResult
) -> None:
    # They are grouped by kind on the wire.
    kinds: list[type] = [CanUseTool, RequestUserDialog, Elicitation]
    bodies.sort(key=lambda body: kinds.index(type(body)))
    pending = tuple(Request(id=f"p{n}", body=body) for n, body in enumerate(bodies))
    initialize = Request(id="1", body=Initialize())
    for dialect in DIALECTS:
        pair = Pair(dialect)
        pair.say(Role.CLIENT, initialize)
        heard = pair.say(Role.CLI, Answer("1", offered, pending=pending))
        assert heard == [Answer("1", offered, initialize, pending), *pending]
