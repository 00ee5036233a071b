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
* there is no `initialize`, and no `result`: see `rules`.
"""

from __future__ import annotations

import json
from typing import Any

from ..states import Role
from ..types.cli_requests import CanUseTool
from ..types.questions import Question, questions_of
from .base import Dialect, Find, Object, WriteContext, inside, renamed, without_nulls
from .modern import complete
from .rules import RULES

__all__ = ["ENVELOPE"]


# --- recognising ---------------------------------------------------------------------------------


def _recognises(obj: Object, find: Find) -> bool:
    kind = obj.get("type")
    if kind == "control_request":
        return isinstance(obj.get("message"), dict) or any(map(_is_hint, _suggestions(obj)))
    if kind == "assistant":
        return isinstance(obj.get("delta"), dict) and "message" not in obj
    return kind == "control_response" and _keyed_by_index(obj, find)


def _suggestions(obj: Object) -> list[Any]:
    suggestions = inside(obj, "request").get("permission_suggestions")
    return suggestions if isinstance(suggestions, list) else []


def _is_hint(item: Any) -> bool:
    return isinstance(item, dict) and "type" not in item and "behavior" in item


def _keyed_by_index(obj: Object, find: Find) -> bool:
    answers = inside(obj, "response", "response", "updatedInput", "answers")
    questions = _asked(obj, find)
    indices = {str(index) for index in range(len(questions))}
    texts = {question.question for question in questions}
    return bool(answers) and answers.keys() <= indices - texts


def _asked(obj: Object, find: Find) -> list[Question]:
    id = inside(obj, "response").get("request_id")
    return _questions(find(id) if isinstance(id, str) else None)


def _questions(request: Any) -> list[Question]:
    if isinstance(request, CanUseTool) and request.tool_name == "AskUserQuestion":
        return questions_of(request.input)
    return []


# --- reading -------------------------------------------------------------------------------------


def _read(obj: Object, find: Find) -> Object:
    kind = obj["type"]
    if kind == "assistant":
        return renamed({**obj, "type": "stream_event"}, {"delta": "event"})
    if kind == "control_response":
        return _read_answers(obj, find)
    if isinstance(obj.get("message"), dict):
        obj = {**obj, **obj["message"]}
        del obj["message"]
    return complete(_read_hints(obj))


def _read_hints(obj: Object) -> Object:
    suggestions = _suggestions(obj)
    if not suggestions:
        return obj
    typed = [{"type": "hint", **item} if _is_hint(item) else item for item in suggestions]
    return {**obj, "request": {**obj["request"], "permission_suggestions": typed}}


def _read_answers(obj: Object, find: Find) -> Object:
    questions = _asked(obj, find)
    outer = obj["response"]
    inner = outer["response"]
    given = inner["updatedInput"]
    answers = {questions[int(key)].question: value for key, value in given["answers"].items()}
    request = find(outer["request_id"])
    asked = request.input if isinstance(request, CanUseTool) else {}
    updated = {"questions": asked.get("questions"), **given, "answers": answers}
    return {**obj, "response": {**outer, "response": {**inner, "updatedInput": updated}}}


# --- writing -------------------------------------------------------------------------------------


def _write(obj: Object, context: WriteContext) -> Object:
    writer = _WRITERS.get(obj["type"])
    return writer(obj, context) if writer else obj


def _write_user(obj: Object, context: WriteContext) -> Object:
    obj = {**obj, "message": _in_blocks(obj["message"])}
    if context.sender is Role.CLIENT:
        return {"session_id": context.session_id, **obj}
    if not isinstance(obj.get("tool_use_result", ""), str):
        obj["tool_use_result"] = json.dumps(obj["tool_use_result"])
    return without_nulls(obj, "parent_tool_use_id")


def _in_blocks(message: Object) -> Object:
    if not isinstance(message["content"], str):
        return message
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def _write_assistant(obj: Object, context: WriteContext) -> Object:
    message = without_nulls(_in_blocks(obj["message"]), "stop_reason", "stop_sequence")
    return without_nulls({**obj, "message": message}, "parent_tool_use_id")


def _write_stream(obj: Object, context: WriteContext) -> Object:
    obj = renamed(without_nulls(obj, "parent_tool_use_id"), {"event": "delta"})
    return {**obj, "type": "assistant"}


def _write_request(obj: Object, context: WriteContext) -> Object:
    if context.sender is Role.CLIENT:
        return obj
    request = obj["request"]
    suggestions = _suggestions(obj)
    if suggestions:
        hints = [_write_hint(item) for item in suggestions]
        request = {**request, "permission_suggestions": hints}
    return {"type": "control_request", "message": {**obj, "request": request}}


def _write_hint(item: Any) -> Any:
    if not isinstance(item, dict) or item.get("type") != "hint" or "behavior" not in item:
        return item
    return {key: value for key, value in item.items() if key != "type"}


def _write_response(obj: Object, context: WriteContext) -> Object:
    obj = _with_input(obj, context)
    questions = _questions(context.request and context.request.body)
    answers = inside(obj, "response", "response", "updatedInput", "answers")
    index = {question.question: number for number, question in enumerate(questions)}
    by_number = {str(number) for number in index.values()}.isdisjoint(index)  # else: which is "0"?
    if not answers or not by_number or not answers.keys() <= index.keys():
        return obj
    outer = obj["response"]
    inner = outer["response"]
    rest = {key: value for key, value in inner["updatedInput"].items() if key != "questions"}
    by_index = {
        str(index[text]): _choices(value, questions[index[text]]) for text, value in answers.items()
    }
    inner = {**inner, "updatedInput": {**rest, "answers": by_index}}
    return {**obj, "response": {**outer, "response": inner}}


def _with_input(obj: Object, context: WriteContext) -> Object:
    """An allow has to say what the tool is to run with, changed or not."""
    decision = inside(obj, "response", "response")
    asked = context.request and context.request.body
    if decision.get("behavior") != "allow" or not isinstance(asked, CanUseTool):
        return obj
    decision = {"updatedInput": asked.input, **decision}
    return {**obj, "response": {**obj["response"], "response": decision}}


def _choices(value: Any, question: Question) -> Any:
    """Where several were allowed, the joined labels are taken apart again."""
    if not question.multi_select or not isinstance(value, str):
        return value
    labels = {option.label for option in question.options}
    parts = value.split(", ")
    return parts if set(parts) <= labels else [value]


_WRITERS: dict[str, Any] = {
    "user": _write_user,
    "assistant": _write_assistant,
    "stream_event": _write_stream,
    "control_request": _write_request,
    "control_response": _write_response,
}

ENVELOPE = Dialect("envelope", _recognises, _read, _write, RULES["envelope"])
