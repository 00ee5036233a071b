"""What is read and written in every dialect, whole: see tests/helpers/kept.py.

`whole/dialects.txt` has each line as it came, what was read in it, and how that is written by the
CLI (`<`) and by the host (`>`): in the modern form, and in all dialects if it came in that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tests.helpers.kept import Kept, compact
from tests.wire.test_lint import QUESTIONS, allow, answer, can_use, deny, failure, hook, mcp
from tests.wire.test_lint import request as asked

from claudewire.wire import (
    DIALECTS,
    MODERN,
    CanUseTool,
    GetBinaryVersion,
    Malformed,
    Message,
    Request,
    Response,
    Role,
    codec,
)
from claudewire.wire.dialects import WriteContext
from claudewire.wire.types.requests import Body

NUMBERED = [{"question": "0", "options": [{"label": "x"}]}, {"question": "1"}]
WAITING: dict[str, Body] = {
    "q": CanUseTool("AskUserQuestion", {"questions": QUESTIONS, "more": 1}),
    "n": CanUseTool("AskUserQuestion", {"questions": NUMBERED}),
    "a": CanUseTool("Bash", {"command": "ls", "questions": QUESTIONS}, tool_use_id="t"),
    "v": GetBinaryVersion(),
}
"""What waits for an answer."""


def frame(kind: str, **fields: Any) -> dict[str, Any]:
    return {"type": kind, **fields}


def said(kind: str, content: Any = "hi", **message: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"role": kind, "content": content, **message}}


def roleless(kind: str, **message: Any) -> dict[str, Any]:
    return {"type": kind, "message": {"type": "message", "content": [], **message}}


def streamed(event: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "parent_tool_use_id": None, **fields}


def suggesting(*suggestions: Any, kind: str = "control_request") -> dict[str, Any]:
    body = can_use("Bash", {"command": "ls"}, permission_suggestions=list(suggestions))
    return {"type": kind, "request_id": "p", "request": body}


def adding(tool: str = "Bash", to: str = "session", **rule: Any) -> dict[str, Any]:
    rules = [{"toolName": tool, "ruleContent": "ls *", **rule}]
    return {"type": "addRules", "rules": rules, "behavior": "allow", "destination": to}


def decided(id: str, decision: Any, kind: str = "callback.response") -> dict[str, Any]:
    return {**answer(id, decision), "type": kind}


EMPTY: dict[str, Any] = {}
SHORT = {"type": "bash", "action": "allow", "pattern": "ls *", "scope": "user"}
HINT = {"behavior": "allow", "text": "Always allow ls"}
HOOKS = {"Stop": [{"hookCallbackIds": ["h"], "matcher": "*"}]}
DELTA = {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "x"}}
CALL = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "num_turns": 1}
USED = {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": 9}

SESSION: list[Any] = [
    *(
        frame(f"session.{it}", message={"role": "user", "content": "hi"})
        for it in ("create", "send")
    ),
    *(frame("session.create"), frame("session.created", session_id="s"), frame("session.other")),
    *(suggesting(it, kind="callback.request") for it in (SHORT, {**SHORT, "scope": 5}, HINT, "x")),
    suggesting({"pattern": "x"}, adding(), kind="callback.request"),
    suggesting("pattern", 5, kind="callback.request"),
    *(frame("callback.request", request_id="c", request=it) for it in ({}, 5, {"subtype": "x"})),
    decided("a", allow(updated_input={"a": 1}, updated_permissions=[SHORT, "x"], tool_use_id="t")),
    decided("a", allow(updated_permissions="x", decision_classification="y", updatedInput={})),
    *(decided("a", it) for it in (None, 5, deny(message="no"))),
    *(frame("callback.response", response=it) for it in (5, failure("a")["response"])),
    *(
        frame("control_response", request_id="v", response=it)
        for it in ({}, None, 5, {"subtype": "odd"}, {"subtype": "success", "request_id": "v"})
    ),
    frame(
        "control_response",
        request_id="v",
        response={"models": [{"display": "Opus"}, "x"], "account": {"account_type": "pro"}},
        pending_permission_requests=[],
        other=1,
    ),
    frame("control_response", request_id="v", response={"models": "x", "account": "y"}),
    asked("1", {"subtype": "initialize", "system_prompt": "Be brief.", "mcp_servers": {}}),
    asked("1", {"subtype": "initialize", "system_prompt": "a", "systemPrompt": "b"}),
    asked("1", {"subtype": "interrupt", "system_prompt": "a"}),
    *(
        frame("system", subtype=kind, tools=tools)
        for kind, tools in (
            ("init", [{"name": "Bash", "description": "Runs"}, "Read", {"description": "?"}]),
            ("init", [{"name": "Bash"}]),
            ("init", [{"name": 5, "description": "x"}]),
            ("init", ["Bash"]),
            ("init", "Bash"),
            ("status", [{"name": "Bash"}]),
        )
    ),
    {**roleless("assistant"), "model": "m", "usage": USED},
    *(roleless("assistant"), roleless("assistant", model="m"), roleless("assistant", role="x")),
    {**said("assistant"), "model": "m"},
    {**said("assistant"), "usage": USED},
    *(roleless("user"), {**said("user"), "model": "m"}, frame("user", message={"content": "x"})),
    *(
        {"type": "result", "subtype": "success", **it}
        for it in (
            {"turn_count": 2},
            {"duration_seconds": 1.5},
            {"duration_seconds": 0.0001},
            {"duration_seconds": 1e300},
            {"duration_seconds": "long"},
            {"error": "It failed"},
            {"error": {"a": 1}},
            {"turn_count": 2, "num_turns": 3, "error": None},
        )
    ),
    *(frame("error", error=it) for it in ({"code": "X", "message": "no"}, "no", {"type": "x"}, 5)),
]
LEGACY: list[Any] = [
    frame("control_request", request={"subtype": "interrupt", "request_id": "r"}),
    {**asked("1", {"subtype": "interrupt", "request_id": "r"})},
    *(
        frame("sdk_control_request", request={"subtype": "permission", "tool_name": "Bash", **it})
        for it in ({"tool_input": {"a": 1}, "request_id": "r"}, {"input": EMPTY}, {"tool_input": 5})
    ),
    *(frame("sdk_control_request", request_id="o", request=it) for it in ({"subtype": "x"}, 5)),
    *(
        asked("1", {"subtype": "initialize", **it})
        for it in (
            {"sdk_mcp_servers": ["calc"]},
            {"sdk_mcp_servers": ["a"], "sdkMcpServers": ["b"]},
            {"hooks": {"Stop": [{"hook_callback_ids": ["h"]}, 5], "Odd": 5}},
            {"hooks": {"Stop": [{"hook_callback_ids": ["h"], "hookCallbackIds": ["i"]}]}},
            {"hooks": 5},
        )
    ),
    *(
        frame("stream", **it)
        for it in (
            {"event": "delta", "delta": {"type": "text_delta", "text": "x"}, "index": 2},
            {"event": "delta", "delta": {"text": "x"}},
            {"event": "delta", "delta": "x"},
            {"event": "delta", "data": {"text": "x"}, "session_id": "s"},
            {"event": "delta", "content": "x"},
            {"event": "delta"},
            {"event": "tool_use_start", "id": "t", "name": "Bash", "input": {"a": 1}},
            {"event": "tool_use_start", "tool_use_id": "t", "tool_name": "Bash"},
            {"event": "tool_use_start", "tool_use": {"id": "t"}, "index": 3},
            {"event": "tool_use_start"},
            {"event": "content_block_stop", "index": 1, "other": 2},
            {"event": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": USED},
            {"event": {"type": "delta", "text": "x"}},
            {"event": {"type": "tool_use_start", "id": "t"}},
            {"event": DELTA},
            {"event": 5},
            {},
        )
    ),
    *(
        frame("control", **it)
        for it in (
            {"subtype": "success", "request_id": "v", "response": {}},
            {"subtype": "error", "request_id": "v", "error": "no"},
            {"response": {"subtype": "success", "request_id": "v"}},
            {"request": {"subtype": "interrupt", "request_id": "r"}},
            {"subtype": "interrupt", "request_id": "r"},
            {"subtype": "interrupt"},
            {"subtype": "odd", "request_id": "r"},
        )
    ),
    *(
        {"type": "result", **it}
        for it in (
            {"total_input_tokens": 5, "total_output_tokens": 7},
            {**RESULT, "total_input_tokens": 5, "usage": {"output_tokens": 3}},
            {"total_input_tokens": 5, "usage": {"input_tokens": 1, "other": 2}, "is_error": True},
            {"total_output_tokens": 7, "usage": 5, "subtype": "error_max_turns"},
        )
    ),
]
ENVELOPE: list[Any] = [
    frame("control_request", message=asked("r", can_use("Bash", {}))),
    *(frame("control_request", message=it, request_id="r") for it in (EMPTY, 5)),
    *(suggesting(*it) for it in ((HINT, adding()), (HINT,), ({"type": "hint", **HINT},), ("x",))),
    *(frame("assistant", delta=it) for it in (DELTA, {}, 5)),
    {**said("assistant"), "delta": DELTA},
    *(
        answer(id, allow(updatedInput={"answers": answers, "x": 1}))
        for id in ("q", "n", "a", "other")
        for answers in (
            {"0": "Red"},
            {"0": "Red", "1": ["S"]},
            {"2": "x"},
            {"Which color?": "x"},
            {},
        )
    ),
    answer("q", allow(updatedInput={"answers": {"0": "Red"}, "questions": []})),
]
OF_MODERN: list[Any] = [
    *(frame("user", message={"content": "hi"}), frame("user", message=5), frame("assistant")),
    *(frame("assistant", message={"content": []}), frame("control_request", request={})),
    frame("control_request", request={"subtype": "interrupt"}),
    *(
        {"type": "result", **it}
        for it in (
            {},
            {"is_error": True},
            {"is_error": False},
            {"subtype": "error_max_turns"},
            {"subtype": "success", "is_error": True},
        )
    ),
    *(said("user"), {**said("user"), "session_id": "mine", "parent_tool_use_id": "t", "uuid": "u"}),
    said("user", [{"type": "text", "text": "hi"}]),
    *({**said("user"), "tool_use_result": it} for it in ("text", {"stdout": "x"}, None)),
    said("assistant", stop_reason=None, stop_sequence=None, id="m1", model="m", usage=USED),
    {**said("assistant", type="message", stop_reason="end_turn"), "parent_tool_use_id": "t"},
    *(streamed(it, uuid="u") for it in (DELTA, {**DELTA, "other": 1}, {"type": "message_stop"})),
    *(streamed(frame("content_block_start", index=0, content_block=it)) for it in (CALL, {})),
    *(streamed(it) for it in (frame("delta", index=0), frame("odd", index=1), {"index": 1})),
    *(suggesting(adding(to=it)) for it in ("session", "userSettings", "projectSettings", "odd")),
    suggesting(adding("WebFetch"), adding(other=1), frame("setMode", mode="plan")),
    suggesting(),
    *(asked("r", it) for it in (can_use("Bash", {}, blocked_path="/x"), {"subtype": "x"})),
    *(
        mcp("m", {"id": 1}),
        hook("h", "Stop"),
        failure("v"),
        failure("a"),
        answer("v"),
        answer("v", {}),
    ),
    asked(
        "1",
        {
            "subtype": "initialize",
            "hooks": HOOKS,
            "systemPrompt": "a",
            "sdkMcpServers": ["s"],
            "mcpServers": {},
        },
    ),
    *(answer("v", it) for it in ({"subtype": "success"}, {"version": "2"}, [EMPTY], "x")),
    answer("v", {"models": [{"displayName": "x"}], "account": {"subscriptionType": "pro"}}),
    *(
        answer("a", it)
        for it in (allow(), allow(updatedInput={}), deny(message="no", toolUseID="t"))
    ),
    answer("a", allow(updatedPermissions=[adding("Read", "userSettings"), adding("WebFetch")])),
    answer("a", allow(updatedPermissions=[adding(other=1), adding(to="elsewhere")])),
    *(
        answer("q", allow(updatedInput={"questions": QUESTIONS, "answers": it}))
        for it in (
            {"Which color?": "Red", "Which sizes?": "S, L"},
            {"Which sizes?": "S, XL"},
            {"Which sizes?": ["S"]},
            {"Which color?": "Red, Blue"},
            {"Who?": "x"},
        )
    ),
    answer("n", allow(updatedInput={"answers": {"0": "x"}})),
    *(
        frame("system", subtype="init", tools=tools, tool_descriptions=words)
        for tools, words in ((["A", "B"], {"A": "x"}), (["A"], {"B": "x"}), ([], {}), (["A"], {}))
    ),
    {**RESULT, "duration_ms": 1500, "stop_reason": None, "usage": USED, "errors": []},
    *({**RESULT, "is_error": it, "errors": ["x"]} for it in (True, False)),
    {**RESULT, "subtype": "error_max_turns", "is_error": True, "errors": ["x", "y"]},
    {**RESULT, "usage": {"input_tokens": 5}, "stop_reason": "end_turn"},
    {**RESULT, "usage": {}},
    frame("error", error={"type": "x", "message": "no"}),
    frame("unheard", request_id="", other=1),
]


def written(event: Message, request: Request | None) -> Iterator[str]:
    """Yield how a message is written in all dialects, but for what is the same as before."""
    seen: set[bytes] = set()
    for name, dialect in {"modern": MODERN, **DIALECTS}.items():
        for role, mark in ((Role.CLI, "<"), (Role.CLIENT, ">")):
            context = WriteContext(role, mark == ">", request, "s")
            line = codec.encode(event, dialect, context)
            if line not in seen:
                seen.add(line)
                yield f"  {mark} {name} {line.decode().rstrip()}"


def lines() -> Iterator[str]:
    for obj in (*SESSION, *LEGACY, *ENVELOPE, *OF_MODERN):
        line = json.dumps(obj)
        event, dialect = codec.decode(line.encode(), WAITING.get)
        yield compact(obj)
        problems = event.reason if isinstance(event, Malformed) else "; ".join(event.problems)
        yield f"  {dialect.name} {type(event).__name__} {problems}".rstrip()
        if isinstance(event, Message):
            id = event.response.request_id if isinstance(event, Response) else ""
            body = WAITING.get(id)
            forms = written(event, None if body is None else Request(id=id, body=body))
            # What came in another dialect is of interest in the modern one.
            yield from forms if dialect is MODERN else islice(forms, 1)


def test_what_is_read_and_written_in_every_dialect_is_as_it_was(kept: Kept) -> None:
    kept("dialects.txt", "".join(f"{line}\n" for line in lines()))
