"""A fake host that speaks the protocol of document 001, and is strict about the CLI.

Written from the text of document 001 alone; "line N" is a line of it.
`python3 client.py FLOW -- COMMAND…` drives one flow and prints one JSON object with its checks.
"""

from __future__ import annotations

import contextlib
import functools
import json
import operator
import os
import queue
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

Json = dict[str, Any]
LIMIT = 60.0  # no wait is longer
QUIET = 1.0  # silence after which nothing more is expected
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
ARGUMENTS = ["--output-format", "stream-json", "--input-format", "stream-json"]  # lines 19-20
ARGUMENTS += ["--permission-prompt-tool", "stdio"]  # line 21
ABSENT = {
    "streaming": "lines 443-456 name no partial message",
    "thinking": "line 241 shows text blocks only; line 441 sends elsewhere for the rest",
    "question_single": "line 455: callback.request is can_use_tool only; no questions",
    "question_multi": "line 455: callback.request is can_use_tool only; no questions",
    "hook": 'line 49: "hooks": {} without any form of a hook',
    "mcp": 'line 47: "mcp_servers": {} without any form of a server or call',
    "mode": "lines 36, 109: no control_request sets a mode (line 27 is a flag)",
}

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


class Stop(Exception):
    """The flow cannot go on; the failed check says why."""


def compare(value: Any, form: Any, path: str, extras: list[str]) -> list[str]:
    """The ways in which a value misses a form; fields beyond it go to extras."""
    if isinstance(form, str):
        return [] if value == form else [f"{path} is not {form!r}"]
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{path} is not a list"]
        items = [compare(each, form[0], f"{path}[{n}]", extras) for n, each in enumerate(value)]
        return functools.reduce(operator.iadd, items, [])
    if isinstance(form, dict):
        return compare_fields(value, form, path, extras)
    good = isinstance(value, form) and not isinstance(value, bool)
    return [] if good else [f"{path} has the wrong type: {type(value).__name__}"]


def compare_fields(value: Any, form: Json, path: str, extras: list[str]) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path} is not an object"]
    found: list[str] = []
    for name, wanted in form.items():
        if name in value:
            found += compare(value[name], wanted, f"{path}.{name}", extras)
        else:
            found.append(f"{path}.{name} is missing")
    extras += [f"{path}.{name}" for name in value if name not in form]
    return found


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


class Host:
    def __init__(self, flow: str, command: list[str]) -> None:
        self.flow = flow
        self.checks: list[Json] = []
        self.lines: list[Any] = []
        self.extras: list[str] = []
        self.session_id: str | None = None
        self.ids: set[str] = set()
        self.decide: Callable[[Json], Json] = allow
        self.inbox: queue.Queue[bytes | None] = queue.Queue()
        words = [*command, *ARGUMENTS, "--cwd", os.getcwd()]  # line 22
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe)
        threading.Thread(target=self.read_output, daemon=True).start()

    # ---- lines in and out ------------------------------------------------------------------

    def read_output(self) -> None:
        assert self.process.stdout
        for raw in self.process.stdout:
            self.inbox.put(raw)
        self.inbox.put(None)

    def check(self, name: str, ok: bool, rule: str, seen: Any = None) -> bool:
        self.checks.append({"name": name, "ok": ok, "rule": rule, "seen": seen})
        return ok

    def need(self, name: str, ok: bool, rule: str, seen: Any = None) -> None:
        if not self.check(name, ok, rule, seen):
            raise Stop

    def send(self, line: Json) -> None:
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as problem:
            self.need("the CLI reads its input", False, "line 8", str(problem))

    def receive(self, timeout: float = LIMIT) -> Json | None:
        """The next line, judged by itself; None for silence or the end of output."""
        limit = time.monotonic() + timeout
        while True:
            try:
                raw = self.inbox.get(timeout=max(0.0, limit - time.monotonic()))
            except queue.Empty:
                return None
            if raw is None:
                self.inbox.put(None)
                return None
            line = self.parse(raw)
            if line is not None:
                self.judge(line)
                return line

    def parse(self, raw: bytes) -> Json | None:
        try:
            line = json.loads(raw.decode("utf-8"))
        except ValueError:
            line = None
        self.lines.append(repr(raw) if line is None else line)
        good = isinstance(line, dict) and raw.endswith(b"\n")
        if not good:
            rule = "lines 9-12: one line of JSON in UTF-8 followed by \\n"
            self.check("every line of stdout is a JSON object", False, rule, repr(raw[:200]))
        return line if isinstance(line, dict) else None

    def expect(self, name: str, rule: str) -> Json:
        line = self.receive()
        seen = form_name(line) if line else None
        self.need(f"{name} comes next", line is not None and seen == name, rule, seen)
        return line or {}

    # ---- judging one line ------------------------------------------------------------------

    def judge(self, line: Json) -> None:
        name = form_name(line)
        if name not in FORMS:
            self.check("the type is one of the document's", False, "lines 443-456", name)
            return
        where, form = FORMS[name]
        problems = compare(line, form, name, self.extras)
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
            self.extras.append(f"{path}: block {kind}")
            return []
        return compare(block, BLOCK_FORMS[kind][1], f"{path}: block {kind}", self.extras)

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
        problems = compare(line.get("response"), CAPABILITIES, "response", self.extras)
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
            line = self.receive(QUIET if failed else LIMIT)
            if line is None:
                self.need("the turn ends with a result", failed, "lines 282, 384", "nothing came")
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

    def finish(self) -> int | None:
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        limit = time.monotonic() + LIMIT
        while self.receive(max(0.0, limit - time.monotonic())) is not None:
            pass
        try:
            return self.process.wait(max(0.1, limit - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.process.kill()
            return None


# ---- flows -------------------------------------------------------------------------------------


def simple(host: Host) -> None:
    host.open()
    host.prompt(f"client:{host.flow}")
    host.until_end()


def only_open(host: Host) -> None:
    host.open()
    line = host.receive(QUIET)
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
        host.need("the CLI asks for permission", bool(asked), "line 393", None)
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
    while line := host.receive(QUIET if answered else LIMIT):
        if line.get("type") == "control_response":
            same = line.get("request_id") == request_id
            answered = host.check("the interrupt is answered", same, "line 123", line) or answered
        elif answered:
            after.append(form_name(line))
    host.need("control_response came", answered, "line 123", None)
    stopped = [name for name in after if not name.startswith("result/")]
    host.check("the session stops processing", not stopped, "line 123", after)
    host.prompt("client:after_interrupt", "session.send")
    host.until_end()


def unknown_request(host: Host) -> None:
    """The document has no form for a refusal: an answer or silence, but the CLI lives on."""
    host.open()
    request_id = host.control("no_such_request")
    line = host.receive(QUIET)
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
    first = host.receive()
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
MORE_ARGUMENTS = {
    "mode": ["--permission-mode", "plan"],
    "resume": ["--resume", RESUMED],
    "resume_create": ["--resume", RESUMED],
}
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
    "shutdown": simple,
    **dict.fromkeys(ABSENT, simple),  # an ordinary turn: its forms are judged all the same
}


def main(arguments: list[str]) -> int:
    flow, command = "".join(arguments[:1]), arguments[2:]
    if flow not in FLOWS or arguments[1:2] != ["--"] or not command:
        print(f"usage: client.py FLOW -- COMMAND…; flows: {' '.join(FLOWS)}", file=sys.stderr)
        return 2
    ARGUMENTS.extend(MORE_ARGUMENTS.get(flow, []))
    host = Host(flow, command)
    with contextlib.suppress(Stop):
        FLOWS[flow](host)
    code = host.finish()
    if flow == "shutdown":
        host.check("the end of input ends the CLI with code 0", code == 0, "not said", code)
    answer: Json = {"flow": flow, "checks": host.checks, "lines": host.lines, "exit": code}
    if flow in ABSENT:
        answer["absent"] = ABSENT[flow]
    print(json.dumps({**answer, "extras": host.extras}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
