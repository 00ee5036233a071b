"""A fake `claude` CLI that speaks document 004 and is strict about what it receives.

Comments of the form "line N" cite document 004. What the document leaves open is in README.md.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import queue
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import harness
from harness import WAIT, Json, deviation, leave

SHORT_WAIT = min(5.0, WAIT)  # for answers that the document does not promise
DEFAULT_MODEL = "claude-sonnet-4-5-20250929"  # line 150
VALUE_FLAGS = {  # line 10: flag -> required value (None: any value)
    "--input-format": "stream-json",
    "--output-format": "stream-json",
    "--permission-prompt-tool": "stdio",
    "--model": None,
}
COMMAND_RULE = "line 10: claude --input-format stream-json --output-format stream-json --verbose …"


class Interrupted(Exception):
    """The host has interrupted the current operation (line 62)."""


# ---------------------------------------------------------------- command line (line 10)


def parse_args(argv: list[str]) -> Json:
    """The values of the flags that line 10 names; deviations for missing or wrong ones."""
    harness.log("argv", argv=argv)
    seen: Json = {}
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        if word == "--verbose":
            seen[word] = True
        elif flag in VALUE_FLAGS:
            seen[flag] = value if equals else rest.pop(0) if rest else ""
            wanted = VALUE_FLAGS[flag]
            if seen[flag] != wanted if wanted else not seen[flag] or seen[flag].startswith("-"):
                deviation(f"{flag} is {seen[flag]!r}", COMMAND_RULE, argv)
    for flag in [*VALUE_FLAGS, "--verbose"]:
        if flag not in seen and flag != "--model":  # line 10: [--model <MODEL>] is optional
            deviation(f"{flag} is missing", COMMAND_RULE, argv)
    return seen


# ---------------------------------------------------------------- received lines


@dataclass
class Check:
    """Validates one received line."""

    line: Any

    def need(self, ok: bool, what: str, rule: str) -> bool:
        return ok or deviation(what, rule, self.line)


def check_user(check: Check, line: Json) -> list[Json] | None:
    """The content blocks of a user message (lines 24-45), None if it cannot be used."""
    check.need(
        isinstance(line.get("session_id"), str),
        "user.session_id is not a string",
        "line 42: `session_id`: String (can be empty)",
    )
    parent = line.get("parent_tool_use_id")
    check.need(
        parent is None or isinstance(parent, str),
        "user.parent_tool_use_id is neither null nor a string",
        "line 45: Optional tool context (usually `null`)",
    )
    message = line.get("message")
    if not isinstance(message, dict):
        check.need(False, "user.message is not an object", 'line 27: "message": {')
        return None
    check.need(
        message.get("role") == "user",
        'user.message.role is not "user"',
        'line 43: `message.role`: Always `"user"`',
    )
    return check_content(check, message.get("content"))


def check_content(check: Check, content: Any) -> list[Json] | None:
    rule = "line 44: `message.content`: Array of content blocks (typically text)"
    if isinstance(content, str):
        check.need(False, "message.content is a string, not an array", rule)
        return [{"type": "text", "text": content}]
    if not check.need(isinstance(content, list) and bool(content), "no content blocks", rule):
        return None
    blocks: list[Json] = []
    for index, block in enumerate(content):
        path = f"message.content[{index}]"
        if not check.need(isinstance(block, dict), f"{path} is not an object", rule):
            continue
        if check_block(check, path, block):
            blocks.append(block)
    return blocks or None


def check_block(check: Check, path: str, block: Json) -> bool:
    if block.get("type") == "text":
        good = isinstance(block.get("text"), str)
        return check.need(good, f"{path}.text is not a string", 'line 32: "text": "Hello, …"')
    good = check.need(
        isinstance(block.get("type"), str),
        f"{path}.type is not a string",
        'line 31: "type": "text"',
    )
    # Line 44 says "typically text": other blocks may exist, their form is not in the document.
    return good


def check_control_request(check: Check, line: Json, used_ids: set[str]) -> bool:
    """True for a usable interrupt request (lines 52-62)."""
    request_id = line.get("request_id")
    rule = 'line 54: "request_id": "unique-request-id"'
    if check.need(isinstance(request_id, str) and bool(request_id), "no request_id", rule):
        check.need(request_id not in used_ids, "the request_id was used before", rule)
        used_ids.add(str(request_id))
    request = line.get("request")
    if not isinstance(request, dict):
        return check.need(False, "control_request.request is not an object", "line 55: request")
    return check.need(
        request.get("subtype") == "interrupt",
        f"control request of the subtype {request.get('subtype')!r}",
        'line 61-62: Supported subtypes: "interrupt"',
    )


@dataclass
class Request:
    """One control request of this CLI."""

    tool: str
    tool_input: Json
    request_id: str
    tool_use_id: str
    loose: bool = False  # the document does not say what the host answers
    state: str = "open"  # open, answered, withdrawn
    raw: Json | None = None
    answer: Json = field(default_factory=dict)

    def done(self) -> bool:
        return self.state == "answered"


def check_answer(check: Check, request: Request, outer: Json) -> Json:
    """The permission answer (lines 70-136) inside a control response."""
    check.need(
        outer.get("subtype") == "success",
        f"response.subtype is {outer.get('subtype')!r}",
        'line 73: "subtype": "success"',
    )
    inner = outer.get("response")
    if not isinstance(inner, dict):
        check.need(False, "response.response is not an object", 'line 75: "response": {')
        return {}
    behavior = inner.get("behavior")
    check.need(
        behavior in ("allow", "deny"),
        f"behavior is {behavior!r}",
        'line 104: `behavior`: `"allow"` or `"deny"`',
    )
    check.need(
        inner.get("toolUseID") == request.tool_use_id,
        f"toolUseID is {inner.get('toolUseID')!r}, not {request.tool_use_id!r}",
        "line 107: `toolUseID`: Must match the `tool_use_id` from the control request",
    )
    if behavior == "allow":
        check_allow(check, request, inner)
    else:
        check_deny(check, inner)
    return inner


def check_deny(check: Check, inner: Json) -> None:
    good = isinstance(inner.get("message", ""), str)
    check.need(good, "message is not a string", "line 105: `message`: Optional string")


def check_allow(check: Check, request: Request, inner: Json) -> None:
    check.need("message" not in inner, "allow with a message", "line 105: only for deny behavior")
    updated = inner.get("updatedInput")
    if not isinstance(updated, dict):
        rule = 'line 106: `updatedInput`: Required when behavior is "allow"'
        check.need(False, "allow without an updatedInput object", rule)
    elif request.tool == "AskUserQuestion":
        # Line 106 also says "contains the tool input": the questions may come back unchanged.
        check_answers(check, request.tool_input["questions"], updated.get("answers"))


def check_answers(check: Check, questions: list[Json], answers: Any) -> None:
    if not isinstance(answers, dict):
        rule = "line 122: updatedInput.answers; line 106: contains the user's answers"
        check.need(False, "updatedInput.answers is not an object", rule)
        return
    known = {str(index): question for index, question in enumerate(questions)}
    for key, value in answers.items():
        rule = 'line 134: Keys are question indices as strings ("0", "1", etc.)'
        if not check.need(key in known, f"answer key {key!r} is no question index", rule):
            continue
        if known[key]["multiSelect"]:
            good = isinstance(value, list) and all(isinstance(item, str) for item in value)
            rule = "line 136: Multi-select: Array of strings"
        else:
            good = isinstance(value, str)
            rule = "line 135: Single-select: String value"
        check.need(good, f"the answer {key!r} is {value!r}", rule)


def normal_answers(questions: list[Json], answers: Any) -> Json:
    """{question text: [labels or free text]}, keys that fit no question as they are."""
    texts = {str(index): question["question"] for index, question in enumerate(questions)}
    result: Json = {}
    for key, value in answers.items() if isinstance(answers, dict) else []:
        result[str(texts.get(key, key))] = value if isinstance(value, list) else [value]
    return result


# ---------------------------------------------------------------- the session


@dataclass
class Turn:
    """One prompt and the flow that it chooses."""

    name: str  # as in the prompt, for the report
    flow: str  # without the suffix _flat or _nested
    nested: bool | None  # the form of control requests, None: the usual one
    text: str
    blocks: list[Json]
    session_id: Any


class Peer:
    """One process, one session."""

    def __init__(self, argv: list[str]) -> None:
        self.flags = parse_args(argv)
        self.session_id = str(uuid.uuid4())
        self.input = harness.stdin_lines()
        self.backlog: list[Turn] = []
        self.requests: dict[str, Request] = {}
        self.used_ids: set[str] = set()
        self.busy = False
        self.interrupt_id: str | None = None

    def run(self) -> None:
        if self.flags.get("--verbose"):  # line 343: debugging output on stderr
            print("[debug] peer of document 004 is ready", file=sys.stderr, flush=True)
        while True:
            if self.backlog:
                self.run_turn(self.backlog.pop(0))
            else:
                self.pump(None)

    # -- receiving

    def pump(self, limit: float | None) -> bool:
        """Handles one received line; False if none came within the limit."""
        try:
            raw = self.input.next(limit)
        except queue.Empty:
            return False
        if raw is None:
            leave(0)
        self.receive(raw)
        return True

    def receive(self, raw: bytes) -> None:
        text = raw.decode("utf-8", errors="replace")
        try:
            line = json.loads(raw)
        except ValueError:
            line = text
        harness.log("rx", line=line)
        check = Check(line)
        check.need(raw.endswith(b"\n"), "no newline at the end", "line 340: must end with \\n")
        rule = "line 13: one JSON object per line; line 339: single-line JSON"
        if not isinstance(line, dict):
            check.need(False, "the line is not a JSON object", rule)
            self.send_error("the line is not a JSON object")
        elif line.get("type") == "user":
            self.on_user(check, line)
        elif line.get("type") == "control_request":
            self.on_control_request(check, line)
        elif line.get("type") == "control_response":
            self.on_control_response(check, line)
        else:
            what = f"message of the unknown type {line.get('type')!r}"
            check.need(False, what, "lines 19, 47, 64: user, control_request, control_response")
            self.send_error(what)

    def on_user(self, check: Check, line: Json) -> None:
        blocks = check_user(check, line)
        if blocks is None:
            self.send_error("the user message has no usable content")
            return
        # Line 262: it echoes it back.
        harness.write({"type": "user", "message": {"role": "user", "content": blocks}})
        self.backlog.append(make_turn(blocks, line.get("session_id")))

    def on_control_request(self, check: Check, line: Json) -> None:
        if not check_control_request(check, line, self.used_ids):
            self.send_error("unsupported control request")
        elif self.busy:
            self.interrupt_id = str(line.get("request_id"))

    def on_control_response(self, check: Check, line: Json) -> None:
        outer = line.get("response")
        if not isinstance(outer, dict):
            rule = 'line 72: "response": {'
            check.need(False, "control_response.response is not an object", rule)
            self.send_error("the control response has no response")
            return
        request = self.match(check, outer.get("request_id"))
        if request is None:
            return
        request.raw = line
        request.answer = {} if request.loose else check_answer(check, request, outer)
        request.state = "answered"

    def match(self, check: Check, request_id: Any) -> Request | None:
        rule = 'line 74: "request_id": "matching-request-id"'
        anonymous = self.requests.get("")
        if anonymous is not None and anonymous.state == "open":
            return anonymous
        request = self.requests.get(request_id) if isinstance(request_id, str) else None
        if request is None:
            check.need(False, f"request_id {request_id!r} matches no request", rule)
            return None
        answered_once = check.need(not request.done(), f"{request_id} is answered twice", rule)
        return request if answered_once else None

    def wait(self, done: Callable[[], bool], what: str, limit: float | None = None) -> bool:
        """Handles lines until done; without a limit the answer is owed (exit code 3)."""
        end = time.monotonic() + (WAIT if limit is None else limit)
        while not done():
            left = end - time.monotonic()
            if left <= 0 or not self.pump(left):
                if limit is not None:
                    return False
                rule = "line 341: wait for response before continuing"
                deviation(f"no {what} within {WAIT:g} s", rule, None)
                leave(3)
            if self.interrupt_id is not None:
                raise Interrupted
        return True

    # -- sending

    def say(self, content: str | list[Json], end: bool = False, usage: Json | None = None) -> None:
        """A full assistant message (lines 147-168)."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        message: Json = {
            "model": self.flags.get("--model") or DEFAULT_MODEL,
            "id": fresh("msg_"),
            "type": "message",
            "role": "assistant",
            "content": blocks,
            "stop_reason": "end_turn" if end else None,
            "usage": usage or {"input_tokens": 100, "output_tokens": 50},
        }
        outer = {"session_id": self.session_id, "uuid": str(uuid.uuid4())}
        harness.write({"type": "assistant", "message": message, **outer})

    def send_error(self, message: str) -> None:
        """Lines 306-312: what the CLI may send for malformed input."""
        error = {"type": "invalid_request", "message": message}
        harness.write({"type": "error", "error": error})

    def use_tool(self, command: str) -> str:
        """An assistant message with a tool_use block (line 173; its fields are not shown)."""
        tool_use_id = fresh("toolu_")
        block = {"type": "tool_use", "id": tool_use_id, "name": "Bash"}
        self.say([{**block, "input": {"command": command}}])
        return tool_use_id

    def tool_result(self, tool_use_id: str, output: str, is_error: bool = False) -> None:
        """Lines 284-298."""
        block = {"type": "tool_result", "content": output, "is_error": is_error}
        message = {"role": "user", "content": [{**block, "tool_use_id": tool_use_id}]}
        summary = f"Error: {output}" if is_error else "Success"
        harness.write({"type": "user", "message": message, "tool_use_result": summary})

    def send_request(self, body: Json, nested: bool, **options: Any) -> Request:
        """A control request, nested in `message` (lines 198-218) or flat (lines 231, 329)."""
        request_id = options.get("request_id", fresh("req_"))
        inner: Json = {"type": "control_request", "request_id": request_id, "request": body}
        if not request_id:  # lines 231-257 show a request without an id
            del inner["request_id"]
        request = Request(
            tool=body.get("tool_name", ""),
            tool_input=body.get("input", {}),
            request_id=request_id,
            tool_use_id=body.get("tool_use_id", ""),
            loose=options.get("loose", False),
        )
        self.requests[request_id] = request
        harness.write({"type": "control_request", "message": inner} if nested else inner)
        return request

    def can_use(self, tool: str, tool_input: Json, tool_use_id: str, **more: Any) -> Json:
        """The body of a permission request (lines 203-216)."""
        body = {"subtype": "can_use_tool", "tool_name": tool, "input": tool_input}
        return {**body, **more, "tool_use_id": tool_use_id}

    # -- turns

    def run_turn(self, turn: Turn) -> None:
        self.busy, self.interrupt_id = True, None
        flow = FLOWS.get(turn.flow)
        try:
            if turn.name == "":
                self.say(f"echo: {turn.text}", end=True)
            elif flow is None:
                self.report(turn, {"absent": True})
            else:
                self.report(turn, flow(self, turn))
        except Interrupted:
            self.withdraw()
            self.report(turn, {"interrupted": True})
        self.busy = False

    def withdraw(self) -> None:
        for request in self.requests.values():
            if request.state == "open":
                request.state = "withdrawn"

    def report(self, turn: Turn, fields: Json | None) -> None:
        if fields is None:
            return
        self.say(harness.report(turn.name, fields), end=True)


def fresh(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


def make_turn(blocks: list[Json], session_id: Any) -> Turn:
    texts = [block["text"] for block in blocks if block.get("type") == "text"]
    name = next((t.removeprefix("flow:") for t in texts if t.startswith("flow:")), "")
    asked = next((t.removeprefix("client:") for t in texts if t.startswith("client:")), "")
    asked = CLIENT_FLOWS.get(asked, asked)
    name = name or (asked if asked in FLOWS else "")
    flow, nested = name, None
    for suffix, form in (("_flat", False), ("_nested", True)):
        if name.endswith(suffix) and name.removesuffix(suffix) in FLOWS:
            flow, nested = name.removesuffix(suffix), form
    return Turn(name, flow, nested, "\n".join(texts), blocks, session_id)


# ---------------------------------------------------------------- flows


def flow_text(peer: Peer, turn: Turn) -> Json:
    peer.say("Some text.")
    return {}


def flow_text_short(peer: Peer, turn: Turn) -> None:
    """The short assistant form of line 324, without model, id, type, usage, session_id, uuid."""
    text = harness.report(turn.name, {})
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    harness.write({"type": "assistant", "message": {**message, "stop_reason": "end_turn"}})


def flow_streaming(peer: Peer, turn: Turn) -> Json:
    text = "Hello, streamed world"
    for part in ("Hello, ", "streamed ", "world"):  # lines 180-190
        delta = {"type": "text_delta", "text": part}
        outer = {"type": "content_block_delta", "index": 0, "delta": delta}
        harness.write({"type": "assistant", "delta": outer})
    peer.say(text)
    return {"text": text}


def flow_tool_use(peer: Peer, turn: Turn) -> Json:
    peer.tool_result(peer.use_tool("ls"), "README.md")
    return {}


def flow_tool_error(peer: Peer, turn: Turn) -> Json:
    peer.tool_result(peer.use_tool("ls"), "ls: failed", is_error=True)
    return {}


def ask_bash(peer: Peer, turn: Turn, command: str, nested: bool, **more: Any) -> Request:
    tool_use_id = peer.use_tool(command)
    body = peer.can_use("Bash", {"command": command}, tool_use_id, **more)
    return peer.send_request(body, nested)


def settle(peer: Peer, request: Request) -> Json:
    """What the answer means, and what the CLI does then."""
    answer = request.answer
    result: Json = {"behavior": answer.get("behavior")}
    if answer.get("behavior") == "allow":
        peer.tool_result(request.tool_use_id, "done")
        return {**result, "input": answer.get("updatedInput")}
    # Line 342: a denied tool is not executed (so no tool result, line 281), the user is informed.
    peer.say(f"{request.tool} was denied.")
    return {**result, "message": answer.get("message")}


def flow_permission(peer: Peer, turn: Turn) -> Json:
    request = ask_bash(peer, turn, "rm -r build", turn.nested is not False)
    peer.wait(request.done, "answer to the permission request")
    return settle(peer, request)


def flow_permission_remember(peer: Peer, turn: Turn) -> Json:
    hints = [  # lines 209-214: only hints for the UI (line 225); nothing can be remembered
        {"behavior": "allow", "message": "Safe to run"},
        {"behavior": "deny", "message": "Deletes files"},
    ]
    nested = turn.nested is not False
    request = ask_bash(peer, turn, "rm -r build", nested, permission_suggestions=hints)
    peer.wait(request.done, "answer to the permission request")
    return {**settle(peer, request), "remembered": [], "raw": request.answer}


def flow_permission_sequence(peer: Peer, turn: Turn) -> Json:
    """Three requests one after the other (line 341 forbids three at once)."""
    results = []
    for command in ("rm a", "rm b", "rm c"):
        request = ask_bash(peer, turn, command, turn.nested is not False)
        peer.wait(request.done, "answer to the permission request")
        results.append({"asked": command, **settle(peer, request)})
    return {"requests": results}


def flow_example(peer: Peer, turn: Turn) -> Json:
    """Lines 317-335 word for word: `end_turn` first, then the permission request."""
    peer.say("2 + 2 = 4", end=True)
    body = peer.can_use("Bash", {"command": "date"}, fresh("toolu_"))
    request = peer.send_request(body, nested=False)
    peer.wait(request.done, "answer to the permission request")
    return settle(peer, request)


def question(text: str, header: str, labels: list[str], multi: bool) -> Json:
    options = [{"label": label, "description": f"Choose {label}"} for label in labels]
    return {"question": text, "header": header, "options": options, "multiSelect": multi}


def questions_of(flow: str) -> list[Json]:
    colours = ["Red", "Green", "Blue"]
    first = question("Which colour?", "Colour", colours, flow == "question_multi")
    second = question("Which size?", "Size", ["Small", "Large"], False)
    return [first, second] if flow == "question_two" else [first]


def flow_question(peer: Peer, turn: Turn) -> Json:
    questions = questions_of(turn.flow)
    body = peer.can_use("AskUserQuestion", {"questions": questions}, fresh("toolu_"))
    # Lines 231-257 show the flat form and leave the id out; line 329 has it.
    request = peer.send_request(body, turn.nested is True)
    peer.wait(request.done, "answer to the question")
    updated = request.answer.get("updatedInput")
    answers = updated.get("answers") if isinstance(updated, dict) else None
    normal = normal_answers(questions, answers)
    skipped = request.answer.get("behavior") != "allow" or not normal
    return {"answers": normal, "skipped": skipped, "raw": request.answer}


def wait_loose(peer: Peer, request: Request, what: str) -> Json:
    if not peer.wait(request.done, what, SHORT_WAIT):
        request.state = "withdrawn"
    return {"answer": request.raw}


def flow_question_without_id(peer: Peer, turn: Turn) -> Json:
    """Lines 231-257 to the letter: a request without a request_id."""
    tool_input = {"questions": questions_of(turn.flow)}
    body = peer.can_use("AskUserQuestion", tool_input, fresh("toolu_"))
    request = peer.send_request(body, turn.nested is True, request_id="", loose=True)
    return wait_loose(peer, request, "answer to the question")


def flow_unknown_request(peer: Peer, turn: Turn) -> Json:
    body = {"subtype": "no_such_subtype", "tool_use_id": fresh("toolu_")}
    request = peer.send_request(body, turn.nested is not False, loose=True)
    return wait_loose(peer, request, "answer to the unknown request")


def flow_malformed_request(peer: Peer, turn: Turn) -> Json:
    request = peer.send_request({"subtype": "can_use_tool"}, turn.nested is not False, loose=True)
    return wait_loose(peer, request, "answer to the malformed request")


def flow_interrupt(peer: Peer, turn: Turn) -> Json:
    peer.say("working")
    peer.wait(lambda: False, "interrupt")
    return {}


def flow_interrupt_answered(peer: Peer, turn: Turn) -> Json:
    """Line 341 read for both directions: the interrupt gets a control response."""
    try:
        flow_interrupt(peer, turn)
    except Interrupted:
        answer: Json = {"subtype": "success", "request_id": peer.interrupt_id, "response": {}}
        harness.write({"type": "control_response", "response": answer})
    return {"interrupted": True}


def flow_interrupt_silent(peer: Peer, turn: Turn) -> None:
    """Line 62 read strictly: the operation stops, nothing more comes."""
    with contextlib.suppress(Interrupted):
        flow_interrupt(peer, turn)


def flow_interrupt_permission(peer: Peer, turn: Turn) -> Json:
    request = ask_bash(peer, turn, "rm -r build", turn.nested is not False)
    interrupted = False
    try:
        peer.wait(request.done, "interrupt")
        peer.wait(lambda: False, "interrupt", SHORT_WAIT)
    except Interrupted:
        interrupted = True
        peer.withdraw()
    return {"interrupted": interrupted, "answered": request.done()}


def flow_error_message(peer: Peer, turn: Turn) -> None:
    peer.send_error("Description of what went wrong")


def flow_error_in_turn(peer: Peer, turn: Turn) -> None:
    peer.say("Some text.")
    peer.send_error("Description of what went wrong")


def flow_image(peer: Peer, turn: Turn) -> Json:
    return {"images": [image_of(b) for b in turn.blocks if b.get("type") == "image"]}


def image_of(block: Json) -> Json:
    """Line 44 allows other blocks without a form, so the media type and data may be anywhere."""
    source = block.get("source")
    places = [source, block] if isinstance(source, dict) else [block]
    found = {key: value for place in reversed(places) for key, value in place.items()}
    names = ("media_type", "mediaType", "mimeType", "mime_type")
    media_type = next((found[name] for name in names if name in found), None)
    try:
        size = len(base64.b64decode(found["data"], validate=True))
    except (KeyError, TypeError, ValueError, binascii.Error):
        return {"media_type": media_type, "bytes": None}
    return {"media_type": media_type, "bytes": size}


def flow_session(peer: Peer, turn: Turn) -> Json:
    extra = {"model": peer.flags.get("--model"), "prompt_session_id": turn.session_id}
    told = {"system_prompt": None, "mcp_servers": None, "cwd": os.getcwd(), "extra": extra}
    return {"session_id": peer.session_id, "resumed": False, **told}


def flow_model_flag(peer: Peer, turn: Turn) -> Json:
    return {"model": peer.flags.get("--model")}  # line 10: only at the start


def flow_usage(peer: Peer, turn: Turn) -> Json:
    usage = {"input_tokens": 1234, "output_tokens": 56}  # lines 161-164, no cost
    peer.say("Some text.", usage=usage)
    return {"usage": usage}


def flow_big(peer: Peer, turn: Turn) -> Json:
    peer.say("x" * 3_000_000)
    return {}


FLOWS: dict[str, Callable[[Peer, Turn], Json | None]] = {
    "text": flow_text,
    "text_short": flow_text_short,
    "streaming": flow_streaming,
    "tool_use": flow_tool_use,
    "tool_error": flow_tool_error,
    "permission_allow": flow_permission,
    "permission_deny": flow_permission,
    "permission_change": flow_permission,
    "permission_remember": flow_permission_remember,
    "permission_sequence": flow_permission_sequence,
    "example": flow_example,
    "question_single": flow_question,
    "question_multi": flow_question,
    "question_two": flow_question,
    "question_free": flow_question,
    "question_skipped": flow_question,
    "question_without_id": flow_question_without_id,
    "unknown_request": flow_unknown_request,
    "malformed_request": flow_malformed_request,
    "interrupt": flow_interrupt,
    "interrupt_answered": flow_interrupt_answered,
    "interrupt_silent": flow_interrupt_silent,
    "interrupt_permission": flow_interrupt_permission,
    "error_message": flow_error_message,
    "error_in_turn": flow_error_in_turn,
    "image": flow_image,
    "session": flow_session,
    "model_flag": flow_model_flag,
    "usage": flow_usage,
    "big": flow_big,
}
# Prompts `client:NAME` of client.py whose flow has another name here.
CLIENT_FLOWS = {"error": "error_message", "unknown_request": "text"}


if __name__ == "__main__":
    Peer(sys.argv[1:]).run()
