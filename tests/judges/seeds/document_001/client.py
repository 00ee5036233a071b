"""A fake host that speaks the protocol of document 001, and is strict about the CLI.

Written from the text of document 001 alone; "line N" is a line of it.
Its arguments are `FLOW -- COMMAND…`; it prints one JSON object with the checks of that flow.
"""

from __future__ import annotations

import os
import queue
import uuid
from collections.abc import Callable
from typing import Any

import harness
from harness import WAIT, Json

QUIET = 1.0  # silence after which nothing more is expected
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
ARGUMENTS = ["--output-format", "stream-json", "--input-format", "stream-json"]  # lines 19-20
ARGUMENTS += ["--permission-prompt-tool", "stdio"]  # line 21
# A form: field -> a type, a nested form, a one-element list for "list of", or a literal text.
NULLABLE_TEXT = (str, type(None))
TOKENS: Json = {"input_tokens": int, "output_tokens": int}
CACHE: Json = {"cache_creation_input_tokens": int, "cache_read_input_tokens": int}
BLOCKS: Json = {"type": "message", "content": [dict]}
NAMED: Json = {"name": str, "description": str}
MESSAGE: Json = {"type": str, "uuid": str, "session_id": str, "message": BLOCKS}
CAPABILITIES: Json = {  # lines 176-191
    "commands": [NAMED],
    "output_style": str,
    "available_output_styles": [str],
    "models": [{"value": str, "display": str}],
    "account": dict,
}
SUGGESTION: Json = {"type": str, "action": str, "pattern": str, "scope": str}
REQUEST: Json = {  # lines 319-335
    "subtype": "can_use_tool",
    "tool_name": str,
    "input": dict,
    "tool_use_id": str,
    "permission_suggestions": [SUGGESTION],
    "blocked_path": NULLABLE_TEXT,
}
ENDED: Json = {"type": str, "subtype": str, "session_id": str}
FORMS: dict[str, tuple[str, Json]] = {
    "control_response": ("173-192", {"type": str, "request_id": str, "response": dict}),
    "session.created": ("202-205", {"type": str, "session_id": str}),
    "system/init": ("215-224", {**ENDED, "tools": [NAMED], "mcp_servers": list}),
    "system/compact_boundary": ("450", {"type": str, "subtype": str}),
    "assistant": ("234-251", {**MESSAGE, "model": str, "usage": {**TOKENS, **CACHE}}),
    "user": ("261-275", MESSAGE),
    "result/success": (
        "285-295",
        {**ENDED, "turn_count": int, "duration_seconds": (int, float), "usage": TOKENS},
    ),
    "result/error_*": ("301-306", {**ENDED, "error": str}),
    "callback.request": ("316-336", {"type": str, "request_id": str, "request": REQUEST}),
    "error": ("348-354", {"type": str, "error": {"code": str, "message": str}}),
}
BLOCK_FORMS: dict[str, tuple[str, Json]] = {
    "text": ("241", {"type": str, "text": str}),
    "tool_result": ("268-272", {"type": str, "tool_use_id": str, "content": (str, list)}),
}


def compare(value: Any, form: Any, path: str) -> list[str]:
    """The ways in which a value misses a form; it may have other fields."""
    if isinstance(form, str):
        return [] if value == form else [f"{path} is not {form!r}"]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{path} is not a list"]
        items = enumerate(value)
        return [it for n, each in items for it in compare(each, form[0], f"{path}[{n}]")]
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [f"{path} is not an object"]
        missing = [f"{path}.{name} is missing" for name in form if name not in value]
        there = {name: wanted for name, wanted in form.items() if name in value}
        wrong = [compare(value[name], wanted, f"{path}.{name}") for name, wanted in there.items()]
        return [*missing, *(it for each in wrong for it in each)]
    good = isinstance(value, form) and not isinstance(value, bool)
    return [] if good else [f"{path} has the wrong type: {type(value).__name__}"]


def form_name(line: Json) -> str:
    kind, subtype = str(line.get("type")), str(line.get("subtype"))
    if kind == "result" and subtype.startswith("error_"):
        return "result/error_*"  # line 454
    return f"{kind}/{subtype}" if kind in ("system", "result") else kind


def blocks_of(line: Json) -> list[Json]:
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    return [b for b in content if isinstance(b, dict)] if isinstance(content, list) else []


def allow(request: Json) -> Json:
    """Lines 137-142."""
    return {
        "behavior": "allow",
        "updated_input": request.get("input", {}),
        "updated_permissions": [],
        "tool_use_id": request.get("tool_use_id"),
    }


def remember(request: Json) -> Json:
    return {**allow(request), "updated_permissions": request.get("permission_suggestions", [])}


def deny(request: Json) -> Json:
    """Lines 155-159."""
    message, use = "User denied permission", request.get("tool_use_id")
    return {"behavior": "deny", "message": message, "tool_use_id": use}


class Host(harness.Driven):
    def __init__(self, flow: str, command: list[str]) -> None:
        more = ["--resume", RESUMED] if flow.startswith("resume") else []
        super().__init__([*command, *ARGUMENTS, "--cwd", os.getcwd(), *more])  # line 22
        self.flow = flow
        self.session_id: str | None = None
        self.ids: set[str] = set()
        self.decide: Callable[[Json], Json] = allow

    def next(self, timeout: float = WAIT) -> Json | None:
        """The next line; None for silence or the end of output."""
        try:
            return self.receive(timeout)
        except queue.Empty:
            return None

    def expect(self, name: str, rule: str) -> Json:
        line = self.next()
        seen = form_name(line) if line else None
        self.demand(f"{name} comes next", line is not None and seen == name, rule, seen)
        return line or {}

    # ---- judging one line ------------------------------------------------------------------

    def judge(self, line: Json) -> None:
        name = form_name(line)
        if name not in FORMS:
            self.check("the type is one of the document's", False, "lines 443-456", name)
            return
        where, form = FORMS[name]
        problems = compare(line, form, name)
        for block in blocks_of(line):
            problems += self.judge_block(block, name)
        self.check(f"form of {name}", not problems, f"lines {where}", problems or None)
        self.judge_ids(line)

    def judge_block(self, block: Json, path: str) -> list[str]:
        """Line 441 leaves other blocks to another file: only their `type` is judged."""
        kind = block.get("type")
        if not isinstance(kind, str):
            return [f"{path}: a block has no type"]
        if kind not in BLOCK_FORMS:
            return []
        return compare(block, BLOCK_FORMS[kind][1], f"{path}: block {kind}")

    def judge_ids(self, line: Json) -> None:
        session_id = line.get("session_id")
        if isinstance(session_id, str):
            self.session_id = self.session_id or session_id
            if session_id != self.session_id:
                self.check("one session id", False, "lines 204, 218, 237", session_id)
        own = line.get("uuid") or (line["type"] == "callback.request" and line.get("request_id"))
        if isinstance(own, str):
            if own in self.ids:
                self.check("ids are unique", False, "lines 236, 318", own)
            self.ids.add(own)

    # ---- parts of a conversation -----------------------------------------------------------

    def control(self, subtype: str, **more: Any) -> str:
        request_id = str(uuid.uuid4())
        request = {"subtype": subtype, **more}
        self.send({"type": "control_request", "request_id": request_id, "request": request})
        return request_id

    def open(self) -> None:
        """Lines 361-373."""
        request_id = self.control("initialize", mcp_servers={}, agents={}, hooks={})
        line = self.expect("control_response", "lines 366-370")
        same = line.get("request_id") == request_id
        self.check("control_response has the request's id", same, "line 175", line)
        problems = compare(line.get("response"), CAPABILITIES, "response")
        self.check("form of the initialize response", not problems, "lines 176-191", problems)
        self.expect("system/init", "lines 372-373")

    def prompt(self, content: Any, kind: str = "session.create") -> None:
        self.send({"type": kind, "message": {"role": "user", "content": content}})
        if kind == "session.create":
            self.expect("session.created", "lines 87, 378")

    def answer(self, line: Json) -> None:
        """Line 339: callback.response using the same request_id."""
        decision = self.decide(line.get("request") or {})
        response = {"subtype": "success", "request_id": line.get("request_id")}
        self.send({"type": "callback.response", "response": {**response, "response": decision}})

    def until_end(self, wanted: str = "result/success") -> list[Json]:
        """Read to the end of the turn: `result` (line 282), or `error` and then silence."""
        seen: list[Json] = []
        while True:
            failed = bool(seen) and seen[-1].get("type") == "error"
            line = self.next(QUIET if failed else WAIT)
            if line is None:
                self.demand("the turn ends with a result", failed, "lines 282, 384", "nothing came")
                return self.check_end(seen, wanted)
            seen.append(line)
            self.in_turn(line)
            if line.get("type") == "result":
                return self.check_end(seen, wanted)

    def in_turn(self, line: Json) -> None:
        if line.get("type") == "callback.request":
            self.answer(line)
        elif form_name(line) in ("system/init", "session.created", "control_response"):
            self.check("nothing of the opening within a turn", False, "lines 361-385", line)

    def check_end(self, seen: list[Json], wanted: str) -> list[Json]:
        names = [form_name(line) for line in seen]
        if wanted == "result/success":
            self.check("the turn ends with success", names[-1] == wanted, "line 385", names)
            said = "assistant" in names
            self.check("an assistant message comes before the result", said, "line 381", names)
        else:
            failed = names[-1] in ("error", "result/error_*")
            self.check("the turn ends with an error", failed, "lines 298, 343", names)
        return seen


# ---- flows -------------------------------------------------------------------------------------


def shutdown(host: Host) -> None:
    host.open()
    host.prompt("client:shutdown")
    host.until_end()
    code = host.close()
    host.check("the end of input ends the CLI with code 0", code == 0, "not said", code)


def only_open(host: Host) -> None:
    host.open()
    line = host.next(QUIET)
    host.check("nothing more comes before the first prompt", line is None, "line 375", line)


def turns(host: Host) -> None:
    host.open()
    host.prompt("one")
    host.until_end()
    host.prompt("two", "session.send")  # lines 91-105, 422-434
    host.until_end()


def tool_use(host: Host) -> None:
    host.open()
    host.prompt("client:tool_use")
    check_tool_result(host, host.until_end(), None)


def check_tool_result(host: Host, seen: list[Json], use: Any) -> None:
    """Lines 417-418: user (tool_result content)."""
    lines = [line for line in seen if line.get("type") == "user"]
    results = [b for line in lines for b in blocks_of(line) if b.get("type") == "tool_result"]
    found = [b for b in results if use is None or b.get("tool_use_id") == use]
    host.check("a user message has the tool's result", bool(found), "lines 417-418", results)


def permission(decide: Callable[[Json], Json]) -> Callable[[Host], None]:
    def flow(host: Host) -> None:
        host.decide = decide
        host.open()
        host.prompt(f"client:{host.flow}")
        seen = host.until_end()
        asked = [line for line in seen if line.get("type") == "callback.request"]
        host.demand("the CLI asks for permission", bool(asked), "line 393", None)
        for line in asked if decide is not deny else []:
            check_tool_result(host, seen, line["request"].get("tool_use_id"))
        if decide is remember:
            suggested = asked[0]["request"].get("permission_suggestions")
            host.check("the request has suggestions", bool(suggested), "line 326", suggested)

    return flow


def interrupt(host: Host) -> None:
    """Lines 109-123. A result may come before or after the control_response, or not at all."""
    host.open()
    host.prompt("client:interrupt")
    host.expect("assistant", "line 381")
    request_id = host.control("interrupt")
    after: list[str] = []
    answered = False
    while line := host.next(QUIET if answered else WAIT):
        if line.get("type") == "control_response":
            same = line.get("request_id") == request_id
            answered = host.check("the interrupt is answered", same, "line 123", line) or answered
        elif answered:
            after.append(form_name(line))
    host.demand("control_response came", answered, "line 123", None)
    stopped = [name for name in after if not name.startswith("result/")]
    host.check("the session stops processing", not stopped, "line 123", after)
    host.prompt("client:after_interrupt", "session.send")
    host.until_end()


def unknown_request(host: Host) -> None:
    """The document has no form for a refusal: an answer or silence, but the CLI lives on."""
    host.open()
    request_id = host.control("no_such_request")
    line = host.next(QUIET)
    kind = line.get("type") if line else None
    good = kind in (None, "error", "control_response")
    host.check("it is answered by an answer, an error, or silence", good, "lines 168, 343", line)
    if line and kind == "control_response":
        same = line.get("request_id") == request_id
        host.check("control_response has the request's id", same, "line 175", line)
    host.prompt("client:unknown_request")
    host.until_end()


def error(host: Host) -> None:
    host.open()
    content = "client:error"
    message = {"role": "user", "content": content}
    host.send({"type": "session.create", "message": message})  # maybe no session.created
    first = host.next()
    if first and first.get("type") == "session.created":
        host.until_end("error")
    else:
        failed = first is not None and first.get("type") == "error"
        host.check("session.created or error answers session.create", failed, "line 87", first)


def image(host: Host) -> None:
    """Lines 72-85."""
    source = {"type": "base64", "media_type": "image/png", "data": PNG}
    host.open()
    host.prompt([{"type": "text", "text": "client:image"}, {"type": "image", "source": source}])
    host.until_end()


def resume(kind: str) -> Callable[[Host], None]:
    """Line 30. Whether the first prompt is then a session.create is not said: one flow each."""

    def flow(host: Host) -> None:
        host.open()
        host.prompt(f"client:{host.flow}", kind)
        host.until_end()
        same = host.session_id == RESUMED
        host.check("the session id is the resumed one", same, "line 30", host.session_id)

    return flow


RESUMED = "6f1c0e6e-3f0c-4a55-9d3e-0d6f0c1a2b3c"
FLOWS: dict[str, Callable[[Host], None]] = {
    "open": only_open,
    "turns": turns,
    "tool_use": tool_use,
    "permission_allow": permission(allow),
    "permission_deny": permission(deny),
    "permission_remember": permission(remember),
    "interrupt": interrupt,
    "unknown_request": unknown_request,
    "error": error,
    "image": image,
    "resume": resume("session.send"),
    "resume_create": resume("session.create"),
    "shutdown": shutdown,
}


if __name__ == "__main__":
    harness.drive(FLOWS, Host)
