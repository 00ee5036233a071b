"""Round trips: each event, from either side, in every dialect."""

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
    CLIRequest,
    Connection,
    ContentBlockDelta,
    Elicitation,
    ErrorMessage,
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
    SessionCreatedMessage,
    StreamEvent,
    TextBlock,
    UnknownBlock,
    UnknownDelta,
    UnknownMessage,
    UnknownRequest,
    UnknownStreamEvent,
    UserMessage,
    answer_type,
    behavior_of,
)
from claudewire.wire.dialects import DIALECTS

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
    *[(Role.CLI, body) for body in REQUESTS.values() if issubclass(body, CLIRequest)],
    *[(Role.CLIENT, body) for body in REQUESTS.values() if not issubclass(body, CLIRequest)],
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


# --- differences that a dialect cannot express ---------------------------------------------------


def normal(dialect: str, event: Event) -> Event:
    """Remove differences that the dialect cannot express."""
    match event:
        case ResultMessage():
            return normal_result(dialect, event)
        case AssistantMessage():
            return normal_assistant(dialect, event)
        case UserMessage():
            return normal_user(dialect, event)
        case Answer():
            return normal_answer(dialect, event)
        case InitMessage() if dialect == "session":
            words = {it: text for it, text in (event.tool_descriptions or {}).items() if text}
            named = {it: text for it, text in words.items() if it in (event.tools or ())}
            has_tools = event.tools is not None  # the descriptions stand beside them
            return replace(event, tool_descriptions=(named if has_tools else words) or None)
    return event


def normal_result(dialect: str, result: ResultMessage) -> ResultMessage:
    if result.is_error is None:  # the subtype says it
        result = replace(result, is_error=result.subtype != "success")
    if dialect in ("session", "legacy") and result.stop_reason is None:  # they write no nulls
        result = replace(result, stop_reason=UNSET)
    if dialect != "session":
        return result
    if result.is_error and result.subtype == "success":  # an error has one text, and a subtype
        result = replace(result, subtype="error_during_execution")
    texts = result.errors if result.errors or result.result is None else [result.result]
    return replace(result, is_error=None, result=None, errors=["\n".join(texts or ())])


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
def test_message_arrives_as_sent(sender: Role, kind: type[Message], data: DataObject) -> None:
    message = data.draw(records(kind))
    for dialect in DIALECTS:
        if kind not in (ErrorMessage, SessionCreatedMessage) or behavior_of(dialect).has(message):
            assert_heard(dialect, message, Pair(dialect).say(sender, message))


@given(st.dictionaries(texts, json_values, max_size=3), st.sampled_from(Role))
def test_unknown_message_arrives_as_sent(raw: dict[str, Any], by: Role) -> None:
    data = {**raw, "type": "news"}
    message = UnknownMessage(data=data, **names_of(data))
    for dialect in DIALECTS:
        assert_heard(dialect, message, Pair(dialect).say(by, message))


@given(st.dictionaries(texts, json_values, max_size=3))
def test_unknown_part_of_a_message_arrives_as_sent(raw: dict[str, Any]) -> None:
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
    """Return the common fields of a message, which unknown ones have too."""
    return {key: data[key] for key in ("uuid", "session_id") if isinstance(data.get(key), str)}


# --- requests and answers ------------------------------------------------------------------------


@pytest.mark.parametrize(("sender", "kind"), REQUESTS_BY, ids=named)
@few
@given(data=st.data())
def test_request_arrives_and_can_be_withdrawn(
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
def test_answer_arrives_with_its_request(
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
def test_suggestion_arrives_as_sent(body: CanUseTool) -> None:
    request = Request(id="1", body=body)
    for dialect in DIALECTS:
        assert_heard(dialect, request, Pair(dialect).say(Role.CLI, request))


@given(st.dictionaries(texts.filter(lambda key: key != "request_id"), json_values, max_size=3))
def test_unknown_request_arrives_as_sent(raw: dict[str, Any]) -> None:
    request = Request(id="1", body=UnknownRequest({**raw, "subtype": "favour"}))
    for dialect in DIALECTS:
        for sender in Role:
            assert_heard(dialect, request, Pair(dialect).say(sender, request))


@pytest.mark.parametrize(("sender", "kind"), REQUESTS_BY, ids=named)
@few
@given(data=st.data())
def test_answer_without_a_payload_arrives_empty(
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
        assert isinstance(heard, Answer)
        assert heard.body == nothing or heard.problems


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
def test_open_requests_arrive_with_the_first_answer(
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
