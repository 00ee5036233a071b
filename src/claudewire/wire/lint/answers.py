"""What is wrong with an answer, seen together with the request that it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from ..answers import answer_from
from ..dialects import ENVELOPE, Object
from ..states import Role
from ..types.base import Unknown
from ..types.cli_requests import CanUseTool, HookCallback, McpMessage
from ..types.control import Answer, ErrorResponse, Request, Response, SuccessResponse
from ..types.hook_outputs import HookOutput
from ..types.permissions import PermissionResultAllow, PermissionResultDeny
from ..types.questions import questions_of
from ..types.results import McpResponse
from .findings import FACTS, Finding, Said, misfits, quoted, send_instead, unknown_parts

__all__ = ["lint_answer", "mended"]

ASK = "AskUserQuestion"
PAYLOAD = "$.response.response"

_INDEX = re.compile(r"(q_)?\d+")
_BY_TEXT = "Give the original input back, plus `answers` keyed by the exact text of each question."


def lint_answer(said: Said, inner: SuccessResponse | ErrorResponse) -> Iterator[Finding]:
    """Look at what an answer says."""
    request = said.request or _stand_in(said, inner)
    answer = answer_from(inner, inner.request_id, request)
    if not isinstance(answer, Answer):
        return
    yield from misfits(said, answer.problems, PAYLOAD)
    if not answer.problems:
        yield from unknown_parts(said, answer.body, PAYLOAD)
        if said.sender is Role.CLIENT and request is not None:
            yield from _lint_body(said, answer.body, request)


def _stand_in(said: Said, inner: SuccessResponse | ErrorResponse) -> Request | None:
    """A request that such a decision may have answered, where the real one is not to be seen."""
    payload = inner.response if isinstance(inner, SuccessResponse) else None
    if not isinstance(payload, dict) or payload.get("behavior") not in ("allow", "deny"):
        return None
    given = payload.get("updatedInput")
    given = given if isinstance(given, dict) else {}
    body = CanUseTool(ASK if "answers" in given else "", given)
    return Request(id=inner.request_id, body=body)


def _lint_body(said: Said, body: Any, request: Request) -> Iterator[Finding]:
    rule = _RULES.get(type(body))
    return rule(said, body, request.body) if rule else iter(())


# --- permissions ---------------------------------------------------------------------------------


def _allow(said: Said, result: PermissionResultAllow, asked: CanUseTool) -> Iterator[Finding]:
    yield from _tool_use_id(said, result.tool_use_id, asked)
    if asked.tool_name == ASK:
        if said.dialect is not ENVELOPE:  # which is outdated as a whole
            yield from _questions(said, result.updated_input or {}, asked)
    elif result.updated_input is None:
        advice = "Always give `updatedInput`: the input of the request, if nothing is to change."
        if asked.input:
            advice = send_instead(_with_input(said, asked.input), advice)
        message = f"allow without updatedInput: {FACTS['no-input']}"
        yield said.finding("suspicious", "no-updated-input", message, advice, PAYLOAD)


def _deny(said: Said, result: PermissionResultDeny, asked: CanUseTool) -> Iterator[Finding]:
    yield from _tool_use_id(said, result.tool_use_id, asked)
    if not result.message:
        message = "deny without a message: the model is not told why"
        advice = "Give a `message`; it is what the model reads as the tool's error."
        yield said.finding("suspicious", "deny-without-message", message, advice, PAYLOAD)
    elif result.interrupt:
        message = f"deny with interrupt: {FACTS['interrupt']}"
        advice = "Leave out `interrupt` if the model is to go on and know the reason."
        path = f"{PAYLOAD}.interrupt"
        yield said.finding("suspicious", "deny-interrupts", message, advice, path)


def _tool_use_id(said: Said, given: str | None, asked: CanUseTool) -> Iterator[Finding]:
    if given is None or asked.tool_use_id is None or given == asked.tool_use_id:
        return
    message = f"toolUseID is {quoted(given)}, but {quoted(asked.tool_use_id)} was asked about"
    advice = "Copy `tool_use_id` of the request, or leave `toolUseID` out."
    yield said.finding(
        "suspicious", "tool-use-id-mismatch", message, advice, f"{PAYLOAD}.toolUseID"
    )


def _with_input(said: Said, input: Object) -> Response:
    """The same answer, with this input."""
    inner = cast("SuccessResponse", cast("Response", said.event).response)
    payload = {**inner.response, "updatedInput": input}
    return Response(response=msgspec.structs.replace(inner, response=payload))


# --- questions -----------------------------------------------------------------------------------


def _questions(said: Said, given: Object, asked: CanUseTool) -> Iterator[Finding]:
    path = f"{PAYLOAD}.updatedInput"
    answers = given.get("answers")
    if not isinstance(answers, dict) or not answers:
        if not given.get("response") and not given.get("annotations"):
            message = f"the questions are allowed but not answered: {FACTS['no-answers']}"
            yield said.finding("suspicious", "no-answers", message, _BY_TEXT, path)
        return
    advice = send_instead(mended(said, asked), _BY_TEXT)
    if "questions" not in given:
        message = f"answers without the questions: {FACTS['no-questions']}"
        yield said.finding("suspicious", "no-questions", message, advice, path)
    wrong = _wrong_keys(answers, asked)
    if wrong:
        keys = ", ".join(map(quoted, wrong))
        message = f"answers keyed by {keys}, which is no question's text: {FACTS['keys']}"
        yield said.finding("suspicious", "answer-keys", message, advice, f"{path}.answers")
    if any(isinstance(value, list) for value in answers.values()):
        message = f"a list of labels as an answer: {FACTS['list']}"
        yield said.finding("suspicious", "answer-list", message, advice, f"{path}.answers")


def _wrong_keys(answers: Object, asked: CanUseTool) -> list[str]:
    texts = {question.question for question in questions_of(asked.input)}
    if not texts:  # without the questions, only an index is surely wrong
        return [key for key in answers if _INDEX.fullmatch(key)]
    return [key for key in answers if key not in texts]


def mended(said: Said, asked: CanUseTool) -> Response | None:
    """The same answers, in the one form that every CLI understands; None if it cannot be told."""
    inner = cast("SuccessResponse", cast("Response", said.event).response)
    given = inner.response["updatedInput"]
    names: dict[str | None, str] = {}
    questions = questions_of(asked.input)
    for index, question in enumerate(questions):
        others = (str(index), f"q_{index}", question.header)
        names |= dict.fromkeys(others, question.question)
    names |= {question.question: question.question for question in questions}
    if not given["answers"].keys() <= names.keys():
        return None
    answers = {names[key]: _joined(value) for key, value in given["answers"].items()}
    return _with_input(said, {**asked.input, **given, "answers": answers})


def _joined(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


# --- MCP and hooks -------------------------------------------------------------------------------


def _mcp(said: Said, body: McpResponse, asked: McpMessage) -> Iterator[Finding]:
    if body.mcp_response is not None or "id" not in asked.message:
        return
    inner = cast("SuccessResponse", cast("Response", said.event).response)
    wrapped = None
    if isinstance(inner.response, dict) and "jsonrpc" in inner.response:
        payload = {"mcp_response": inner.response}
        wrapped = Response(response=msgspec.structs.replace(inner, response=payload))
    message = f"the answer to an MCP message is not in `mcp_response`: {FACTS['unwrapped']}"
    advice = send_instead(wrapped, "Put the JSON-RPC answer into `mcp_response`.")
    yield said.finding("suspicious", "no-mcp-response", message, advice, PAYLOAD)


def _hook(said: Said, output: HookOutput, asked: HookCallback) -> Iterator[Finding]:
    specific = output.hook_specific_output
    if specific is None or isinstance(specific, Unknown):
        return
    event = specific.__struct_config__.tag
    if isinstance(asked.input, Unknown):
        expected = asked.input.raw.get("hook_event_name")
    else:
        expected = asked.input.__struct_config__.tag
    if event != expected:
        message = f"output for the event {quoted(event)}, but the hook ran for {quoted(expected)}"
        advice = "Copy `hook_event_name` of the request's input into `hookEventName`."
        path = f"{PAYLOAD}.hookSpecificOutput.hookEventName"
        yield said.finding("suspicious", "hook-event-mismatch", message, advice, path)


_RULES: dict[type, Callable[[Said, Any, Any], Iterator[Finding]]] = {
    PermissionResultAllow: _allow,
    PermissionResultDeny: _deny,
    McpResponse: _mcp,
    HookOutput: _hook,
}
