"""A fake CLI that speaks the protocol of document 001, and is strict about its host.

Written from the text of document 001 alone; "line N" in comments and rules is a line of it.
Run as `python3 cli.py ARGS…`; README.md says what is judged and how unclear places are read.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import queue
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import harness
from harness import WAIT, Json, leave

PAUSE = 0.05  # seconds before the answer to initialize, to see whether the host waits for it
MISSING_SESSION = "no-such-session"  # `--resume` of this id leads to SESSION_NOT_FOUND

# Command line, lines 18-30: flag -> permitted values (None: any word).
REQUIRED: dict[str, tuple[str, ...] | None] = {
    "--output-format": ("stream-json",),
    "--input-format": ("stream-json",),
    "--permission-prompt-tool": ("stdio",),
    "--cwd": None,
}
OPTIONAL: dict[str, tuple[str, ...] | None] = {
    "--model": ("sonnet", "opus", "haiku"),
    "--permission-mode": ("default", "acceptEdits", "plan"),
    "--max-turns": None,
    "--resume": None,
}
FLAG_LINES = {
    "--output-format": "line 19: --output-format stream-json",
    "--input-format": "line 20: --input-format stream-json",
    "--permission-prompt-tool": "line 21: --permission-prompt-tool stdio",
    "--cwd": "line 22: --cwd <working-directory>",
    "--model": "line 26: --model <model> (sonnet, opus, haiku)",
    "--permission-mode": "line 27: --permission-mode <mode> (default, acceptEdits, plan)",
    "--max-turns": "line 28: --max-turns <n>",
    "--verbose": "line 29: --verbose",
    "--resume": "line 30: --resume <session-id>",
}


class Interrupted(Exception):
    """The host interrupted the running turn."""


@dataclass(frozen=True)
class Field:
    """A field of a form; what the document shows, but does not demand, may be missing."""

    kinds: tuple[type, ...]
    word: str
    is_required: bool = True


TEXT = Field((str,), "a string")
OBJECT = Field((dict,), "an object")
SHOWN_OBJECT = Field((dict,), "an object", False)
SHOWN_TEXT = Field((str,), "a string", False)
Form = dict[str, Field]

CONTROL: Form = {"type": TEXT, "request_id": TEXT, "request": OBJECT}  # lines 41-51
INITIALIZE: Form = {  # lines 44-50; line 46: "optional custom system prompt"
    "subtype": TEXT,
    "system_prompt": Field((str, type(None)), "a string", False),
    "mcp_servers": SHOWN_OBJECT,
    "agents": SHOWN_OBJECT,
    "hooks": SHOWN_OBJECT,
}
INTERRUPT: Form = {"subtype": TEXT}  # lines 117-119
PROMPT: Form = {"type": TEXT, "message": OBJECT}  # lines 63-69, 96-102
MESSAGE: Form = {"role": TEXT, "content": Field((str, list), "a string or a list of blocks")}
TEXT_BLOCK: Form = {"type": TEXT, "text": TEXT}  # line 80
IMAGE_BLOCK: Form = {"type": TEXT, "source": OBJECT}  # line 81
SOURCE: Form = {"type": TEXT, "media_type": TEXT, "data": TEXT}  # line 81
CALLBACK: Form = {"type": TEXT, "response": OBJECT}  # lines 132-134
ENVELOPE: Form = {"subtype": TEXT, "request_id": TEXT, "response": OBJECT}  # lines 134-137
ALLOW: Form = {  # lines 137-142; line 411 shows an answer of `behavior` alone
    "behavior": TEXT,
    "updated_input": SHOWN_OBJECT,
    "updated_permissions": Field((list,), "a list", False),
    "tool_use_id": SHOWN_TEXT,
}
DENY: Form = {"behavior": TEXT, "message": TEXT, "tool_use_id": SHOWN_TEXT}  # lines 155-159


@dataclass
class Prompt:
    kind: str
    text: str
    images: list[Json]
    line: Any = None


@dataclass
class Asked:
    """A callback.request that this process wrote."""

    request_id: str
    tool_use_id: str
    tool_input: Json
    regular: bool = True
    answer: Json | None = None  # the whole line that answered it

    def inner(self) -> Json:
        """What the host decided: `response.response` of its answer."""
        envelope = (self.answer or {}).get("response")
        inner = envelope.get("response") if isinstance(envelope, dict) else None
        return inner if isinstance(inner, dict) else {}


@dataclass
class Flags:
    values: dict[str, str] = field(default_factory=dict)
    verbose: bool = False


def refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def parse(raw: bytes) -> Any:
    return json.loads(raw.decode("utf-8"), parse_constant=refuse_constant)


def fresh() -> str:
    return str(uuid.uuid4())


class Peer:
    def __init__(self, argv: Sequence[str]) -> None:
        self.input = harness.stdin_lines()
        self.prompts: deque[Prompt] = deque()
        self.asked: dict[str, Asked] = {}
        self.host_ids: set[str] = set()
        self.line: Any = None  # the received line that is being judged
        self.start: Json | None = None  # the initialize request
        self.created = False
        self.busy = False
        self.turns = 0
        self.interrupt_style = "silent"
        harness.log("argv", argv=list(argv))
        self.flags = Flags()
        self.read_flags(list(argv))
        self.resumed = "--resume" in self.flags.values
        self.session_id = self.flags.values.get("--resume", fresh())

    def deviation(self, what: str, rule: str) -> bool:
        return harness.deviation(what, rule, self.line)

    # ---- command line (lines 14-30) --------------------------------------------------------

    def read_flags(self, words: list[str]) -> None:
        while words:
            name, joined, value = words.pop(0).partition("=")
            if name == "--verbose":
                self.flags.verbose = True
            elif name in REQUIRED or name in OPTIONAL:
                if not joined and words and not words[0].startswith("--"):
                    value = words.pop(0)
                self.take_flag(name, value)
        for name in REQUIRED:
            if name not in self.flags.values:
                self.deviation(f"the required flag {name} is missing", FLAG_LINES[name])

    def take_flag(self, name: str, value: str) -> None:
        permitted = REQUIRED.get(name) or OPTIONAL.get(name)
        if not value:
            self.deviation(f"{name} has no value", FLAG_LINES[name])
        elif permitted and value not in permitted:
            self.deviation(f"{name} has the value {value!r}", FLAG_LINES[name])
        elif name == "--cwd" and not os.path.isdir(value):
            self.deviation(f"--cwd {value!r} is no directory", FLAG_LINES[name])
        elif name == "--max-turns" and not (value.isdecimal() and int(value) > 0):
            self.deviation(f"--max-turns {value!r} is no positive number", FLAG_LINES[name])
        self.flags.values[name] = value

    # ---- reading ---------------------------------------------------------------------------

    def pump(self, timeout: float | None) -> bool:
        """Handle one received line; False when none came in time. End of input ends us."""
        try:
            raw = self.input.next(timeout)
        except queue.Empty:
            return False
        if raw is None:
            leave(0)
        self.receive(raw)
        return True

    def receive(self, raw: bytes) -> None:
        rule = "line 12: Each message is a single line of JSON followed by `\\n`"
        try:
            self.line = parse(raw)
        except ValueError as problem:
            self.line = raw.decode("utf-8", "replace")
            self.deviation(f"a line is not JSON in UTF-8: {problem}", f"line 9, {rule}")
            return self.complain("INVALID_JSON", str(problem))
        harness.log("rx", line=self.line)
        if not raw.endswith(b"\n"):
            self.deviation("the last line has no newline", rule)
        if not isinstance(self.line, dict):
            self.deviation("a line is not a JSON object", rule)
            return self.complain("INVALID_MESSAGE", "not an object")
        self.dispatch(self.line)

    def dispatch(self, line: Json) -> None:
        kind = line.get("type")
        if kind == "control_request":
            self.on_control(line)
        elif kind in ("session.create", "session.send"):
            self.on_prompt(line, kind)
        elif kind == "callback.response":
            self.on_callback(line)
        else:
            self.deviation(f"a message of type {kind!r}", "lines 34-162: Dart → CLI Messages")
            self.complain("UNKNOWN_MESSAGE", f"unknown type {kind!r}")

    def check(self, value: Any, path: str, form: Form, rule: str) -> bool:
        """Judge one object: missing fields, wrong types; unknown fields may be there."""
        if not isinstance(value, dict):
            return self.deviation(f"{path} is not an object", rule)
        good = True
        for name, wanted in form.items():
            if name in value and not isinstance(value[name], wanted.kinds):
                good = self.deviation(f"{path}{name} is not {wanted.word}", rule)
            elif name not in value and wanted.is_required:
                good = self.deviation(f"{path}{name} is missing", rule)
        return good

    # ---- control requests (lines 36-54, 109-123) -------------------------------------------

    def on_control(self, line: Json) -> None:
        good = self.check(line, "", CONTROL, "lines 41-51: control_request")
        if not good:
            return self.complain("INVALID_MESSAGE", "malformed control_request")
        self.judge_host_id(line["request_id"])
        subtype = line["request"].get("subtype")
        if subtype == "initialize":
            self.on_initialize(line)
        elif subtype == "interrupt":
            self.on_interrupt(line)
        else:
            rule = "lines 36, 109: control_request is (Initialize) or (Interrupt)"
            self.deviation(f"a control_request of subtype {subtype!r}", rule)
            self.complain("UNKNOWN_REQUEST", f"unknown subtype {subtype!r}")

    def judge_host_id(self, request_id: str) -> None:
        if request_id in self.host_ids:
            self.deviation(f"request_id {request_id!r} is used twice", 'line 43: "uuid"')
        self.host_ids.add(request_id)

    def on_initialize(self, line: Json) -> None:
        request = line["request"]
        self.check(request, "request.", INITIALIZE, "lines 44-50: initialize")
        if self.created:
            self.deviation("initialize after session.create", "lines 366-375: order")
        first, self.start = self.start is None, request
        time.sleep(PAUSE)
        if any(b'"session.' in early for early in self.input.pending()):
            self.deviation("a prompt before control_response", "lines 366-375: order")
        self.respond(line["request_id"], self.capabilities())
        if first:
            self.send(self.system("init"))

    def on_interrupt(self, line: Json) -> None:
        self.check(line["request"], "request.", INTERRUPT, "lines 117-119: interrupt")
        if self.busy and self.interrupt_style == "result_before":
            self.fail("error_interrupted", "Interrupted")
        self.respond(line["request_id"], {})  # line 123: control_response …
        if self.busy:
            raise Interrupted  # … "and the session stops processing"

    def respond(self, request_id: str, response: Json) -> None:
        self.send({"type": "control_response", "request_id": request_id, "response": response})

    def capabilities(self) -> Json:
        return {  # lines 176-191
            "commands": [
                {"name": "/help", "description": "Show help"},
                {"name": "/clear", "description": "Clear the conversation"},
            ],
            "output_style": "markdown",
            "available_output_styles": ["markdown", "json"],
            "models": [
                {"value": "sonnet", "display": "Sonnet (Fast)"},
                {"value": "opus", "display": "Opus (Powerful)"},
            ],
            "account": {"account_type": "pro", "email": "user@example.com"},
        }

    # ---- prompts (lines 58-105) ------------------------------------------------------------

    def on_prompt(self, line: Json, kind: str) -> None:
        rule = "lines 63-69: session.create" if kind == "session.create" else "lines 96-102"
        message = line.get("message")
        good = self.check(line, "", PROMPT, rule)
        good = good and self.check(message, "message.", MESSAGE, rule)
        if not good or not isinstance(message, dict):
            return self.complain("INVALID_MESSAGE", f"malformed {kind}")
        if message["role"] != "user":
            self.deviation(f"message.role is {message['role']!r}", 'line 66: "role": "user"')
        if self.start is None:
            self.deviation("a prompt before initialize", "lines 366-375: initialize comes first")
        prompt = self.read_content(kind, message["content"])
        prompt.line = line
        self.prompts.append(prompt)

    def read_content(self, kind: str, content: str | list[Any]) -> Prompt:
        if isinstance(content, str):
            return Prompt(kind, content, [])
        texts: list[str] = []
        images: list[Json] = []
        for index, block in enumerate(content):
            self.read_block(block, f"message.content[{index}].", texts, images)
        flow = [text for text in texts if text.startswith(("flow:", "client:"))]
        return Prompt(kind, flow[0] if flow else "\n".join(texts), images)

    def read_block(self, block: Any, path: str, texts: list[str], images: list[Json]) -> None:
        kind = block.get("type") if isinstance(block, dict) else None
        if kind == "text":
            if self.check(block, path, TEXT_BLOCK, "line 80: text block"):
                texts.append(block["text"])
        elif kind == "image":
            if self.check(block, path, IMAGE_BLOCK, "line 81: image block"):
                self.read_source(block["source"], path + "source.", images)
        else:
            self.deviation(f"{path}type is {kind!r}", "line 72: text + images")

    def read_source(self, source: Json, path: str, images: list[Json]) -> None:
        rule = 'line 81: "source": { "type": "base64", "media_type", "data" }'
        if not self.check(source, path, SOURCE, rule):
            return
        if source["type"] != "base64":
            self.deviation(f"{path}type is {source['type']!r}", rule)
        if not source["media_type"].startswith("image/"):
            self.deviation(f"{path}media_type is {source['media_type']!r}", rule)
        try:
            size = len(base64.b64decode(source["data"], validate=True))
        except (binascii.Error, ValueError):
            self.deviation(f"{path}data is not base64", rule)
            return
        images.append({"media_type": source["media_type"], "bytes": size})

    # ---- callback.response (lines 127-162, 339) --------------------------------------------

    def on_callback(self, line: Json) -> None:
        rule = "lines 131-145: callback.response"
        envelope = line.get("response")
        self.check(line, "", CALLBACK, rule)
        if not isinstance(envelope, dict):
            return
        asked = self.asked.get(str(envelope.get("request_id")))
        if asked is None or asked.regular:
            self.judge_envelope(envelope, asked, rule)
        if asked is None:
            what = f"request_id {envelope.get('request_id')!r} matches no callback.request"
            self.deviation(what, "line 339: using the same `request_id`")
        elif asked.answer is not None:
            self.deviation(f"{asked.request_id} is answered twice", "line 339: Must respond with")
        else:
            asked.answer = line

    def judge_envelope(self, envelope: Json, asked: Asked | None, rule: str) -> None:
        self.check(envelope, "response.", ENVELOPE, rule)
        if envelope.get("subtype") != "success":
            what = f"response.subtype is {envelope.get('subtype')!r}"
            self.deviation(what, 'line 135: "subtype": "success"')
        inner = envelope.get("response")
        if isinstance(inner, dict):
            self.judge_decision(inner, asked)

    def judge_decision(self, inner: Json, asked: Asked | None) -> None:
        path, behavior = "response.response.", inner.get("behavior")
        if behavior == "allow":
            self.check(inner, path, ALLOW, "lines 137-142: allow")
        elif behavior == "deny":
            self.check(inner, path, DENY, "lines 155-159: For denial")
        else:
            self.deviation(f"{path}behavior is {behavior!r}", "lines 138, 156: allow, deny")
        if asked and inner.get("tool_use_id", asked.tool_use_id) != asked.tool_use_id:
            self.deviation(f"{path}tool_use_id is not the request's", "lines 141, 325")
        remembered = inner.get("updated_permissions")
        for entry in remembered if isinstance(remembered, list) else []:
            if not isinstance(entry, dict):
                self.deviation(f"{path}updated_permissions holds a non-object", "line 140")

    # ---- writing ---------------------------------------------------------------------------

    def send(self, line: Json) -> None:
        harness.write(line)
        if self.flags.verbose:  # lines 10, 29: debug output goes to stderr
            print(f"debug: sent {line['type']}", file=sys.stderr, flush=True)

    def complain(self, code: str, message: str) -> None:
        """Lines 343-355: An error occurred."""
        self.send({"type": "error", "error": {"code": code, "message": message}})

    def system(self, subtype: str) -> Json:
        line: Json = {"type": "system", "subtype": subtype, "session_id": self.session_id}
        if subtype == "init":  # lines 214-225
            tools = {"Bash": "Execute bash commands", "Read": "Read file contents"}
            line["tools"] = [{"name": name, "description": tools[name]} for name in tools]
            line["mcp_servers"] = []
        return line

    def message(self, kind: str, blocks: list[Json]) -> Json:
        return {
            "type": kind,
            "uuid": fresh(),
            "session_id": self.session_id,
            "message": {"type": "message", "content": blocks},
        }

    def assistant(self, *blocks: Json) -> None:
        """Lines 233-252."""
        usage = {"input_tokens": 100, "output_tokens": 50}
        cache = {"cache_creation_input_tokens": 7, "cache_read_input_tokens": 3}
        model = self.flags.values.get("--model", "sonnet")
        line = self.message("assistant", list(blocks))
        self.send({**line, "model": model, "usage": {**usage, **cache}})

    def say(self, *texts: str) -> None:
        self.assistant(*({"type": "text", "text": text} for text in texts))

    def tool_result(self, tool_use_id: str, content: str) -> None:
        """Lines 260-276."""
        block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": content}
        self.send(self.message("user", [block]))

    def succeed(self) -> None:
        """Lines 284-296."""
        line = {"type": "result", "subtype": "success", "session_id": self.session_id}
        usage = {"input_tokens": 100, "output_tokens": 50}
        more = {"turn_count": self.turns, "duration_seconds": 5.2, "usage": usage}
        self.send({**line, **more})

    def fail(self, subtype: str, error: str) -> None:
        """Lines 300-307."""
        line = {"type": "result", "subtype": subtype, "session_id": self.session_id}
        self.send({**line, "error": error})

    # ---- asking and waiting ----------------------------------------------------------------

    def ask(self, command: str) -> Asked:
        """Lines 315-337: callback.request."""
        pattern = command.split()[0] + " *"
        rule = {"type": "bash", "action": "allow", "pattern": pattern, "scope": "session"}
        request: Json = {
            "subtype": "can_use_tool",
            "tool_name": "Bash",
            "input": {"command": command},
            "tool_use_id": fresh(),
            "permission_suggestions": [rule],
            "blocked_path": None,
        }
        return self.put(Asked(fresh(), request["tool_use_id"], {"command": command}), request)

    def put(self, asked: Asked, request: Json) -> Asked:
        self.asked[asked.request_id] = asked
        line = {"type": "callback.request", "request_id": asked.request_id, "request": request}
        self.send(line)
        return asked

    def wait(self, *asked: Asked) -> None:
        """Wait for the answers to these; with none given, wait for the interrupt."""
        limit = time.monotonic() + WAIT
        while not asked or any(each.answer is None for each in asked):
            if not self.pump(max(0.0, limit - time.monotonic())):
                self.give_up("line 339: Must respond with" if asked else "line 111: Interrupt")

    def give_up(self, rule: str) -> NoReturn:
        self.line = None
        self.deviation(f"the host did not answer within {WAIT:g} s", rule)
        leave(3)

    # ---- turns -----------------------------------------------------------------------------

    def serve(self) -> NoReturn:
        while True:
            while self.prompts:
                self.turn(self.prompts.popleft())
            self.pump(None)

    def turn(self, prompt: Prompt) -> None:
        name, self.line = flow_name(prompt.text), prompt.line
        if not self.open_session(prompt, name):
            return
        self.busy, self.interrupt_style = True, "silent"
        self.turns += 1
        try:
            self.run(name, prompt)
        except Interrupted:
            if self.interrupt_style == "result_after":
                self.fail("error_interrupted", "Interrupted")
        self.busy = False

    def open_session(self, prompt: Prompt, name: str | None) -> bool:
        """Lines 58-105: session.create once, session.send for what follows."""
        if prompt.kind == "session.create":
            if self.created:
                what = "session.create where a conversation exists"
                self.deviation(what, "line 93: session.send is the follow-up message")
            if name == "error_no_session":
                self.complain("SESSION_FAILED", "Session could not be created")
                return False
        elif not self.created and not self.resumed:
            what = "session.send where no conversation exists"
            self.deviation(what, "line 93: to an existing conversation")
        if self.session_id == MISSING_SESSION or not (
            prompt.kind == "session.create" or self.created or self.resumed
        ):
            self.complain("SESSION_NOT_FOUND", "Session not found")  # lines 351-352
            return False
        if prompt.kind == "session.create":
            self.send({"type": "session.created", "session_id": self.session_id})
        self.created = True
        return True

    def run(self, name: str | None, prompt: Prompt) -> None:
        if name is None:
            self.say(f"echo: {prompt.text}")
            return self.succeed()
        if name.startswith("failed_"):  # line 454: error_*
            return self.fail("error_" + name[7:], FAILURES.get(name, f"Turn failed: {name[7:]}"))
        report = FLOWS[name](self, prompt) if name in FLOWS else {"absent": True}
        if report is not None:
            self.say(harness.report(name, report))
            self.succeed()


# ---- flows: each gives the fields of its report, or None when it ended the turn itself ---------

FAILURES = {"failed_max_turns": "Maximum turns exceeded"}  # line 305
CLIENT_FLOWS = {  # what `client:NAME` of client.py needs; any other gets the flow "text"
    "error": "error_message",
    **{name: name for name in ("image", "interrupt", "tool_use")},
    **{f"permission_{name}": f"permission_{name}" for name in ("allow", "deny", "remember")},
}


def flow_name(text: str) -> str | None:
    if text.startswith("flow:"):
        return text.removeprefix("flow:").strip()
    if text.startswith("client:"):
        return CLIENT_FLOWS.get(text.removeprefix("client:"), "text")
    return None


def decision(asked: Asked) -> Json:
    """What the host decided, as this peer understands it."""
    inner = asked.inner()
    if inner.get("behavior") == "deny":
        return {"behavior": "deny", "message": inner.get("message")}
    if inner.get("behavior") != "allow":
        return {"behavior": None, "raw": asked.answer}
    effective = inner.get("updated_input") or asked.tool_input  # {}: line 139 shows no change
    remembered = inner.get("updated_permissions", [])
    return {"behavior": "allow", "input": effective, "remembered": remembered}


def permission(peer: Peer) -> tuple[Asked, Json]:
    """Lines 388-420: request, answer, and the tool's result when it was allowed."""
    asked = peer.ask("rm -r build")
    peer.wait(asked)
    report = decision(asked)
    if report["behavior"] == "allow":
        peer.tool_result(asked.tool_use_id, "ran")
    return asked, report


def plain(peer: Peer, prompt: Prompt) -> Json | None:
    return {}


def tool_use(peer: Peer, prompt: Prompt) -> Json | None:
    """The tool_use block's form is not in the document (line 441 sends elsewhere for it)."""
    use = fresh()
    peer.assistant({"type": "tool_use", "id": use, "name": "Bash", "input": {"command": "ls"}})
    peer.tool_result(use, "Command output...")
    return {}


def tool_result_only(peer: Peer, prompt: Prompt) -> Json | None:
    peer.say("running ls")
    peer.tool_result(fresh(), "Command output...")
    return {}


def permission_flow(peer: Peer, prompt: Prompt) -> Json | None:
    return permission(peer)[1]


def permission_remember(peer: Peer, prompt: Prompt) -> Json | None:
    asked, report = permission(peer)
    return {**report, "raw": asked.inner()}


def permission_parallel(peer: Peer, prompt: Prompt) -> Json | None:
    asked = [peer.ask(f"rm {name}") for name in "abc"]
    peer.wait(*asked)
    requests = {}
    for each in asked:
        report = {**decision(each), "command": each.tool_input["command"]}
        if report["behavior"] == "allow":
            peer.tool_result(each.tool_use_id, "ran")
        requests[each.tool_use_id] = report
    return {"requests": requests}


def irregular(peer: Peer, request: Json) -> Json | None:
    asked = peer.put(Asked(fresh(), "", {}, regular=False), request)
    peer.wait(asked)
    return {"answer": asked.answer}


def unknown_request(peer: Peer, prompt: Prompt) -> Json | None:
    return irregular(peer, {"subtype": "no_such_subtype"})


def malformed_request(peer: Peer, prompt: Prompt) -> Json | None:
    return irregular(peer, {"subtype": "can_use_tool"})


def interrupt(style: str) -> Callable[[Peer, Prompt], Json | None]:
    def flow(peer: Peer, prompt: Prompt) -> Json | None:
        peer.interrupt_style = style
        peer.say("working")
        peer.wait()
        return None

    return flow


def interrupt_permission(peer: Peer, prompt: Prompt) -> Json | None:
    peer.ask("rm -r build")
    peer.wait()
    return None


def error_message(peer: Peer, prompt: Prompt) -> Json | None:
    peer.complain("SESSION_NOT_FOUND", "Session not found")  # lines 348-354
    return None


def error_in_turn(peer: Peer, prompt: Prompt) -> Json | None:
    peer.say("working")
    return error_message(peer, prompt)


def error_then_result(peer: Peer, prompt: Prompt) -> Json | None:
    error_message(peer, prompt)
    peer.fail("error_session", "Session not found")
    return None


def error_then_goes_on(peer: Peer, prompt: Prompt) -> Json | None:
    error_message(peer, prompt)
    return {}


def image(peer: Peer, prompt: Prompt) -> Json | None:
    return {"images": prompt.images}


def session(peer: Peer, prompt: Prompt) -> Json | None:
    start = peer.start or {}
    known = ("subtype", "system_prompt", "mcp_servers")
    return {
        "session_id": peer.session_id,
        "resumed": peer.resumed,
        "system_prompt": start.get("system_prompt"),
        "mcp_servers": start.get("mcp_servers"),
        "cwd": peer.flags.values.get("--cwd"),
        "extra": {name: start[name] for name in start if name not in known},
    }


def flags(peer: Peer, prompt: Prompt) -> Json | None:
    return {"flags": peer.flags.values, "verbose": peer.flags.verbose}


def usage(peer: Peer, prompt: Prompt) -> Json | None:
    tokens = {"input_tokens": 100, "output_tokens": 50}
    return {"duration_seconds": 5.2, "turn_count": peer.turns, "usage": tokens}


def unicode_text(peer: Peer, prompt: Prompt) -> Json | None:
    """Lines 9, 12: UTF-8, and only a newline ends a line (U+2028 and U+0085 do not)."""
    peer.say('é 漢 🎉 \u2028 \u0085 \\ " \n end')
    return {}


def user_message(peer: Peer, prompt: Prompt) -> Json | None:
    peer.send(peer.message("user", [{"type": "text", "text": prompt.text}]))  # line 258
    return {}


def compact_boundary(peer: Peer, prompt: Prompt) -> Json | None:
    peer.say("before")
    peer.send(peer.system("compact_boundary"))  # line 450
    return {}


def debug_output(peer: Peer, prompt: Prompt) -> Json | None:
    """Line 10: Debug output goes to stderr; more of it than a pipe holds."""
    sys.stderr.write("debug: a line of forty letters or more..\n" * 5000)
    return {}


PERMISSION_FLOWS = ("permission_allow", "permission_deny", "permission_change")
FLOWS: dict[str, Callable[[Peer, Prompt], Json | None]] = {
    "text": plain,
    "tool_use": tool_use,
    "tool_result_only": tool_result_only,
    **dict.fromkeys(PERMISSION_FLOWS, permission_flow),
    "permission_remember": permission_remember,
    "permission_parallel": permission_parallel,
    "unknown_request": unknown_request,
    "malformed_request": malformed_request,
    "interrupt": interrupt("silent"),
    "interrupt_result": interrupt("result_after"),
    "interrupt_result_before": interrupt("result_before"),
    "interrupt_permission": interrupt_permission,
    "error_message": error_message,
    "error_no_session": error_message,
    "error_in_turn": error_in_turn,
    "error_then_result": error_then_result,
    "error_then_goes_on": error_then_goes_on,
    "image": image,
    "session": session,
    "flags": flags,
    "usage": usage,
    "unicode": unicode_text,
    "user_message": user_message,
    "compact_boundary": compact_boundary,
    "debug_output": debug_output,
}

if __name__ == "__main__":
    Peer(sys.argv[1:]).serve()
