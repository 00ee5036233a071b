"""The envelope dialect: a permission request wrapped in a `message`, answers keyed by index.

It differs from the modern form in this:

* a request of the CLI is wrapped once more: the whole request is the `message` of the line;
* partial output is an `assistant` line with a `delta` instead of a `message`;
* the answers to AskUserQuestion are keyed `"0"`, `"1"`, … without the questions, and a list where
  several were allowed;
* an allow always has an `updatedInput`;
* content is always a list of blocks, `session_id` of a prompt always a string;
* `tool_use_result` is a string;
* a permission suggestion is a hint for people: a behavior and a text;
* there is no `initialize`, and no `result`: see `behavior`.
"""

from __future__ import annotations

import json
from typing import Any

from ..states import Role
from ..types.cli_requests import CanUseTool, Question, questions_of
from .base import (
    Dialect,
    Find,
    Object,
    WriteContext,
    changed,
    inside,
    renamed,
    without,
    without_nulls,
)
from .behavior import BEHAVIORS


def _questions(body: Any) -> list[Question]:
    if isinstance(body, CanUseTool) and body.tool_name == "AskUserQuestion":
        return questions_of(body.input)
    return []


def _asked(obj: Object, find: Find) -> Any:
    id = inside(obj, "response").get("request_id")
    return find(id) if isinstance(id, str) else None


# --- recognising ---------------------------------------------------------------------------------


def _is_request(obj: Object, find: Find) -> bool:
    suggestions = inside(obj, "request").get("permission_suggestions")
    hints = suggestions if isinstance(suggestions, list) else []
    return isinstance(obj.get("message"), dict) or any(map(_is_hint, hints))


def _is_hint(item: Any) -> bool:
    return isinstance(item, dict) and "type" not in item and "behavior" in item


def _is_delta(obj: Object, find: Find) -> bool:
    return isinstance(obj.get("delta"), dict) and "message" not in obj


def _is_keyed_by_index(obj: Object, find: Find) -> bool:
    answers = inside(obj, "response", "response", "updatedInput", "answers")
    questions = _questions(_asked(obj, find))
    indices = {str(index) for index in range(len(questions))}
    texts = {question.question for question in questions}
    return bool(answers) and answers.keys() <= indices - texts


# --- reading -------------------------------------------------------------------------------------


def _read_delta(obj: Object, find: Find) -> Object:
    return renamed({**obj, "type": "stream_event"}, {"delta": "event"})


def _read_request(obj: Object, find: Find) -> Object:
    def read(request: Object) -> Object:
        return changed(request, "permission_suggestions", read_hint)

    def read_hint(item: Object) -> Object:
        return {"type": "hint", **item} if _is_hint(item) else item

    return changed({**without(obj, "message"), **inside(obj, "message")}, "request", read)


def _read_answers(obj: Object, find: Find) -> Object:
    asked = _asked(obj, find)
    questions = _questions(asked)
    outer = obj["response"]
    inner = outer["response"]
    given = inner["updatedInput"]
    answers = {questions[int(key)].question: value for key, value in given["answers"].items()}
    updated = {"questions": asked.input.get("questions"), **given, "answers": answers}
    return {**obj, "response": {**outer, "response": {**inner, "updatedInput": updated}}}


# --- writing -------------------------------------------------------------------------------------


def _in_blocks(message: Object) -> Object:
    if not isinstance(message["content"], str):
        return message
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _write_user(obj: Object, context: WriteContext) -> Object:
    obj = changed(obj, "message", _in_blocks)
    if context.sender is Role.CLIENT:
        return {"session_id": context.session_id, **obj}
    if not isinstance(obj.get("tool_use_result", ""), str):
        obj["tool_use_result"] = json.dumps(obj["tool_use_result"])
    return without_nulls(obj, "parent_tool_use_id")


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = without_nulls(_in_blocks(obj["message"]), "stop_reason", "stop_sequence")
    return without_nulls({**obj, "message": message}, "parent_tool_use_id")


def _write_delta(obj: Object, context: WriteContext) -> Object:
    obj = renamed(without_nulls(obj, "parent_tool_use_id"), {"event": "delta"})
    return {**obj, "type": "assistant"}


def _write_request(obj: Object, context: WriteContext) -> Object:
    def write(request: Object) -> Object:
        return changed(request, "permission_suggestions", write_hint)

    def write_hint(item: Object) -> Object:
        is_hint = item.get("type") == "hint" and "behavior" in item
        return without(item, "type") if is_hint else item

    if context.sender is Role.CLIENT:
        return obj
    return {"type": "control_request", "message": changed(obj, "request", write)}


def _write_response(obj: Object, context: WriteContext) -> Object:
    asked = context.request and context.request.body
    if not isinstance(asked, CanUseTool):
        return obj

    def write(decision: Object) -> Object:
        if decision.get("behavior") != "allow":
            return decision
        # An allow always has the input of the tool, changed or not.
        decision = {"updatedInput": asked.input, **decision}
        return changed(decision, "updatedInput", lambda it: _by_index(it, _questions(asked)))

    return changed(obj, "response", lambda it: changed(it, "response", write))


def _by_index(given: Object, questions: list[Question]) -> Object:
    index = {question.question: number for number, question in enumerate(questions)}
    answers = inside(given, "answers")
    is_clear = {str(number) for number in index.values()}.isdisjoint(index)  # else: which is "0"?
    if not answers or not is_clear or not answers.keys() <= index.keys():
        return given
    choices = {
        str(index[text]): _choices(value, questions[index[text]]) for text, value in answers.items()
    }
    return {**without(given, "questions"), "answers": choices}


def _choices(value: Any, question: Question) -> Any:
    """Take joined labels apart again, where several were allowed."""
    if not question.multi_select or not isinstance(value, str):
        return value
    labels = {option.label for option in question.options}
    parts = value.split(", ")
    return parts if set(parts) <= labels else [value]


ENVELOPE = Dialect(
    "envelope",
    BEHAVIORS["envelope"],
    marks={
        "control_request": _is_request,
        "assistant": _is_delta,
        "control_response": _is_keyed_by_index,
    },
    readers={
        "control_request": _read_request,
        "assistant": _read_delta,
        "control_response": _read_answers,
    },
    writers={
        "user": _write_user,
        "assistant": _write_assistant,
        "stream_event": _write_delta,
        "control_request": _write_request,
        "control_response": _write_response,
    },
)
