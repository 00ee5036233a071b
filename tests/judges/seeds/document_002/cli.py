"""A fake CLI that speaks the protocol of document 002 and is strict about what it receives.

Environment: the readings of places that the document leaves open (see README.md):
PEER_INIT  = query (default) | first | initialize | start: when system/init is written;
PEER_MCP   = lazy (default) | eager: when the MCP handshake is done;
PEER_ECHO  = 1: every prompt is echoed as a `user` message (line 54).
"""

from __future__ import annotations

import json
import os
import queue
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any, NoReturn

import harness
from harness import WAIT, Json, deviation, leave

VALUE_FLAGS = {
    "--output-format": "line 14: --output-format stream-json",
    "--input-format": "line 18: --input-format stream-json",
    "--model": "line 30: --model NAME",
    "--system-prompt": "line 31: --system-prompt TEXT",
    "--permission-mode": "line 32: --permission-mode MODE",
    "--permission-prompt-tool": "line 38: --permission-prompt-tool stdio",
    "--setting-sources": "line 42: --setting-sources, comma-separated user, project, local",
}
BARE_FLAGS = ("--verbose", "--no-session-persistence")  # lines 21 and 35
BASH_INPUT = {"command": "rm -r build"}
TYPE_NAMES = {str: "a string", dict: "an object", list: "a list", bool: "a boolean"}
ADD_ARGUMENTS = {"a": 2, "b": 3}


class EndOfInput(Exception):
    """Line 341: stdin was closed while a flow still waited for the host."""


def refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def has(obj: Json, key: str, kind: type, rule: str, line: Any, need: bool = True) -> bool:
    """True when obj[key] is there and of the right type; else a deviation (if needed)."""
    if key not in obj:
        return need and deviation(f"required field {key} is missing", rule, line)
    if not isinstance(obj[key], kind):
        return deviation(f"field {key} is not {TYPE_NAMES[kind]}", rule, line)
    return True


class Flags:
    """The command line as lines 9-45 describe it."""

    def __init__(self, argv: list[str]) -> None:
        self.values: dict[str, str] = {}
        self.bare: set[str] = set()
        harness.log("argv", argv=argv)
        self.parse(deque(argv))
        self.judge()

    def parse(self, words: deque[str]) -> None:
        while words:
            word = words.popleft()
            name, equals, value = word.partition("=")
            if name in VALUE_FLAGS:
                self.values[name] = value if equals else words.popleft() if words else ""
            elif word in BARE_FLAGS:
                self.bare.add(word)

    def judge(self) -> None:
        for name in ("--output-format", "--input-format"):
            self.expect(name, "stream-json", required=True)
        if "--verbose" not in self.bare:
            deviation("flag --verbose is missing", "line 21: --verbose flag is required", None)
        self.expect("--permission-prompt-tool", "stdio", required=False)
        for name in ("--model", "--permission-mode"):
            if self.values.get(name) == "":
                deviation(f"flag {name} has no value", VALUE_FLAGS[name], None)
        # An empty list is accepted: the document does not say that one source must be named.
        for source in filter(None, self.values.get("--setting-sources", "").split(",")):
            if source not in ("user", "project", "local"):
                rule = VALUE_FLAGS["--setting-sources"]
                deviation(f"unknown setting source {source!r}", rule, None)

    def expect(self, name: str, value: str, required: bool) -> None:
        seen = self.values.get(name)
        if seen != value and (required or seen is not None):
            deviation(f"flag {name} is {seen!r}, not {value!r}", VALUE_FLAGS[name], None)


class Cli:
    """One process, one session."""

    def __init__(self, argv: list[str]) -> None:
        self.flags = Flags(argv)
        self.session = str(uuid.uuid4())
        self.init_reading = os.environ.get("PEER_INIT", "query")
        self.input = harness.stdin_lines()
        self.ended = False
        self.lingers = False
        self.initialize: Json | None = None  # the host's initialization request
        self.jobs: deque[Callable[[], None]] = deque()
        self.host_ids: set[str] = set()
        self.own_ids: set[str] = set()
        self.open: dict[str, Json] = {}  # requests that wait for the host's answer
        self.answers: dict[str, Json] = {}
        self.counters: dict[str, int] = {}
        self.tools: dict[str, list[str] | None] = {}  # by server, after the handshake

    # ---- output ----

    def init(self) -> None:
        harness.write({"type": "system", "subtype": "init", "session_id": self.session})  # line 72

    def blocks(self, *blocks: Json) -> None:
        harness.write({"type": "assistant", "message": {"content": list(blocks)}})  # line 73

    def text(self, text: str) -> None:
        self.blocks({"type": "text", "text": text})

    def stream(self, event: Any, **fields: Any) -> None:
        harness.write({"type": "stream", "event": event, **fields})  # line 62

    def system_error(self, text: str) -> None:
        # Line 59: system messages serve error reporting; the form itself is not shown.
        message = {"type": "system", "subtype": "error", "error": text}
        harness.write({**message, "session_id": self.session})

    def result(self, cost: float = 0.001, sent: int = 10, got: int = 5) -> None:
        message = {"type": "result", "total_cost_usd": cost, "total_input_tokens": sent}
        harness.write(
            {**message, "total_output_tokens": got, "session_id": self.session}
        )  # line 56

    def report(self, flow: str, **fields: Any) -> None:
        self.text(harness.report(flow, fields))

    # ---- input ----

    def take(self, timeout: float | None) -> bool:
        """Handles one line of the host. False when the time is over or the input has ended."""
        if self.ended:
            return False
        try:
            line = self.input.next(timeout)
        except queue.Empty:
            return False
        if line is None:
            self.ended = True
            return False
        self.handle(line)
        return True

    def handle(self, raw: bytes) -> None:
        if not raw.endswith(b"\n"):
            what = "the last line does not end with a newline"
            deviation(what, "line 338: writes should be followed by a newline", None)
        if not raw.strip():
            return
        try:
            message = json.loads(raw.decode(), parse_constant=refuse_constant)
        except (ValueError, RecursionError):
            shown = raw[:2000].decode(errors="replace")
            rule = "line 339: each JSON message must be on a single line"
            deviation("the line is not JSON", rule, shown)
            return
        harness.log("rx", line=message)
        if not isinstance(message, dict):
            rule = "line 18: the CLI accepts JSON messages on stdin"
            deviation("the line is not a JSON object", rule, message)
            return
        self.dispatch(message)

    def dispatch(self, message: Json) -> None:
        kind = message.get("type")
        if kind == "user":
            self.on_prompt(message)
        elif kind == "control_request":
            self.on_request(message, inner="request")
        elif kind == "control_response":
            self.on_response(message, inner="response")
        elif kind == "control":
            self.on_control(message)
        else:
            what = f"message of type {kind!r} is not one that a host sends"
            deviation(what, "line 49: distinguished by the type field", message)

    def on_control(self, message: Json) -> None:
        """Line 80 says type "control"; the examples say otherwise. Both readings are taken."""
        if "request" in message:
            self.on_request(message, inner="request")
        elif "response" in message and message.get("subtype") not in ("success", "error"):
            self.on_response(message, inner="response")
        elif message.get("subtype") in ("success", "error"):
            self.on_response(message, inner=None)
        else:
            self.on_request(message, inner=None)

    def unwrap(self, message: Json, inner: str | None, rule: str) -> Json | None:
        if inner is None:
            return {key: value for key, value in message.items() if key != "type"}
        if not has(message, inner, dict, rule, message):
            return None
        body: Json = dict(message[inner])
        if "request_id" not in body and isinstance(message.get("request_id"), str):
            what = f"request_id stands beside {inner}, not inside it"
            deviation(what, rule, message)
            body["request_id"] = message["request_id"]
        return body

    # ---- prompts ----

    def on_prompt(self, message: Json) -> None:
        if self.initialize is None:
            rule = "line 85: when an SDK connects, it sends an initialization message"
            deviation("prompt before the initialization message", rule, message)
        text = self.prompt_text(message)
        if text is None:
            rule = "line 54: user messages contain the prompt text"
            deviation("the prompt has no text", rule, message)
            text = ""
        prompt: str = text
        self.jobs.append(lambda: self.turn(prompt))

    def prompt_text(self, message: Json) -> str | None:
        """The document never shows the host's prompt: every plausible place is read."""
        inner = message.get("message")
        if isinstance(inner, dict):
            return self.content_text(inner.get("content"))
        for key in ("message", "content", "text", "prompt"):
            if key in message:
                return self.content_text(message[key])
        return None

    def content_text(self, content: Any) -> str | None:
        if isinstance(content, str):
            return content
        if not isinstance(content, list):
            return None
        texts = [block.get("text") for block in content if isinstance(block, dict)]
        return "".join(text for text in texts if isinstance(text, str)) or None

    def turn(self, text: str) -> None:
        if self.init_reading == "query" or (
            self.init_reading == "first" and "turn" not in self.counters
        ):
            self.init()
        self.counters["turn"] = self.counters.get("turn", 0) + 1
        if os.environ.get("PEER_ECHO") == "1":
            self.echo(text)
        try:
            run_flow(self, text)
        except EndOfInput:
            self.result()

    def echo(self, text: str) -> None:
        harness.write({"type": "user", "message": {"content": [{"type": "text", "text": text}]}})

    # ---- control requests of the host ----

    def on_request(self, message: Json, inner: str | None) -> None:
        request = self.unwrap(message, inner, "line 91: request object with subtype, request_id")
        if request is None:
            return
        rule = "line 93: request_id inside request"
        if not has(request, "request_id", str, rule, message):
            return
        request_id: str = request["request_id"]
        if not self.fresh(request_id, message):
            self.refuse(request_id, "invalid request format")
        elif request.get("subtype") == "initialize":
            self.on_initialize(request, message)
        else:
            what = f"control request {request.get('subtype')!r} is not in the document"
            deviation(what, "line 92: initialize is the SDK's only request", message)
            self.refuse(request_id, f"unknown subtype {request.get('subtype')!r}")

    def fresh(self, request_id: str, message: Json) -> bool:
        used_by = "the host" if request_id in self.host_ids else "the CLI"
        if request_id in self.host_ids | self.own_ids:
            rule = "line 335: request IDs must be unique within a session"
            what = f"request_id {request_id!r} was used by {used_by} before"
            deviation(what, rule, message)
            return False
        self.host_ids.add(request_id)
        return True

    def refuse(self, request_id: str, error: str) -> None:
        body = {"subtype": "error", "request_id": request_id, "error": error}  # line 290
        harness.write({"type": "control_response", "response": body})

    def on_initialize(self, request: Json, message: Json) -> None:
        if self.initialize is not None:
            rule = "line 85: when an SDK connects, it sends an initialization message"
            deviation("a second initialization message", rule, message)
        if has(request, "hooks", dict, "line 94: hooks object", message, need=False):
            self.check_hooks(request["hooks"], message)
        rule = "line 97: sdk_mcp_servers is a list of names"
        listed = has(request, "sdk_mcp_servers", list, rule, message, need=False)
        if listed and not all(isinstance(name, str) for name in request["sdk_mcp_servers"]):
            deviation("sdk_mcp_servers holds something else", rule, message)
        body = {"subtype": "success", "request_id": request["request_id"]}  # lines 112-118
        harness.write({"type": "control_response", "response": body})
        if self.initialize is None and self.init_reading == "initialize":
            self.init()
        self.initialize = request
        if os.environ.get("PEER_MCP") == "eager":
            self.jobs.append(self.handshakes)

    def check_hooks(self, hooks: Json, line: Json) -> None:
        rule = "line 95: event: [{matcher, hook_callback_ids}]"
        for event, matchers in hooks.items():
            if not isinstance(matchers, list):
                deviation(f"hooks.{event} is not a list", rule, line)
                continue
            for entry in matchers:
                if not isinstance(entry, dict):
                    deviation(f"hooks.{event} holds a non-object", rule, line)
                    continue
                has(entry, "matcher", str, rule, line, need=False)
                listed = has(entry, "hook_callback_ids", list, rule, line)
                if listed and not all(isinstance(one, str) for one in entry["hook_callback_ids"]):
                    deviation("a hook callback id is not a string", rule, line)

    # ---- requests of the CLI and the host's answers ----

    def new_id(self, prefix: str) -> str:
        self.counters[prefix] = self.counters.get(prefix, -1) + 1
        return f"{prefix}_{self.counters[prefix]}"

    def new_request_id(self, prefix: str) -> str:
        while (name := self.new_id(prefix)) in self.host_ids:
            rule = "line 335: the SDK's IDs should not collide with CLI-generated IDs"
            deviation(f"the host took the CLI's id {name!r}", rule, None)
        self.own_ids.add(name)
        return name

    def ask(self, prefix: str, request: Json, kind: str = "sdk_control_request") -> str:
        request_id = self.new_request_id(prefix)
        body = {"subtype": request["subtype"], "request_id": request_id, **request}
        self.open[request_id] = body
        harness.write({"type": kind, "request": body})
        return request_id

    def wait(self, request_id: str) -> Json:
        """The host's `response` object. Line 218: after 60 seconds without it, a timeout."""
        deadline = time.monotonic() + WAIT
        while request_id not in self.answers:
            if not self.take(max(0.0, deadline - time.monotonic())):
                if self.ended:
                    raise EndOfInput
                what = f"no answer to {request_id} within {WAIT:g} s"
                deviation(what, "line 218: timeout after 60 seconds waiting", None)
                leave(3)
        return self.answers[request_id]

    def on_response(self, message: Json, inner: str | None) -> None:
        response = self.unwrap(message, inner, "line 114: response object, subtype, request_id")
        rule = "line 116: request_id inside response"
        if response is None or not has(response, "request_id", str, rule, message):
            return
        request_id = response["request_id"]
        if request_id in self.answers:
            deviation(f"{request_id!r} was answered twice", rule, message)
            return
        if request_id not in self.open:
            deviation(f"{request_id!r} matches no request", rule, message)
            return
        if self.check_response(response, self.open[request_id], message):
            del self.open[request_id]
            self.answers[request_id] = response

    def check_response(self, response: Json, request: Json, line: Json) -> bool:
        """False when the document says that the CLI does not receive this answer."""
        if response.get("subtype") == "error":
            has(response, "error", str, "line 298: error text", line)
            return True
        if response.get("subtype") != "success":
            rule = "line 115 and 296: subtype is success or error"
            deviation(f"response subtype {response.get('subtype')!r}", rule, line)
            return True
        if is_notification(request):
            return True  # line 270: acknowledged; the form of it is not shown
        if is_permission(request):
            if has(response, "response", dict, "line 146: response object", line):
                self.check_permission(response["response"], line)
            return True
        if is_mcp(request):
            return self.check_mcp(response, request, line)
        rule = 'line 290: protocol errors are answered with subtype "error"'
        deviation("an invalid request was answered with success", rule, line)
        return True

    def check_permission(self, decision: Json, line: Json) -> None:
        behavior = decision.get("behavior")
        if behavior not in ("allow", "deny"):
            rule = "line 138: an allow or deny decision"
            deviation(f"behavior is {behavior!r}", rule, line)
        if behavior == "deny":
            has(decision, "message", str, "line 153: include a reason", line)
            if decision.get("message") == "":
                deviation("the reason is empty", "line 153: include a reason", line)

    def check_mcp(self, response: Json, request: Json, line: Json) -> bool:
        rule = "line 217: the mcp_response wrapper is required"
        if not has(response, "response", dict, rule, line):
            return False
        if not has(response["response"], "mcp_response", dict, rule, line):
            return False
        wrapped: Json = response["response"]["mcp_response"]
        if wrapped.get("jsonrpc") != "2.0":
            deviation("jsonrpc is not 2.0", 'line 205: "jsonrpc": "2.0"', line)
        if wrapped.get("id") != request["message"]["id"]:
            what = f"JSON-RPC id {wrapped.get('id')!r} is not the request's"
            deviation(what, 'line 206: "id": "msg_1" as in the request', line)
        if "error" in wrapped:
            return True
        if has(wrapped, "result", dict, "line 207: result object", line):
            self.check_mcp_result(wrapped["result"], request["message"]["method"], line)
        return True

    def check_mcp_result(self, result: Json, method: str, line: Json) -> None:
        if method == "initialize":
            self.check_capabilities(result, line)
        elif method == "tools/list":
            rule = "line 271: tools/list to enumerate available tools"
            has(result, "tools", list, rule, line)
            if not all(isinstance(name, str) for name in tool_names(result)):
                deviation("a tool has no name", rule, line)
        else:
            rule = "line 208: content is a list of blocks with a type"
            listed = has(result, "content", list, rule, line)
            if listed and not all(isinstance(b, dict) and "type" in b for b in result["content"]):
                deviation("a content block has no type", rule, line)
            has(result, "isError", bool, "line 209: isError", line, need=False)

    def check_capabilities(self, result: Json, line: Json) -> None:
        rule = "line 242: the SDK responds with server capabilities"
        has(result, "protocolVersion", str, rule, line)
        has(result, "capabilities", dict, rule, line)
        if has(result, "serverInfo", dict, rule, line):
            has(result["serverInfo"], "name", str, rule, line)
            has(result["serverInfo"], "version", str, rule, line)

    # ---- MCP ----

    def servers(self) -> list[Any]:
        listed = (self.initialize or {}).get("sdk_mcp_servers")
        return listed if isinstance(listed, list) else []

    def mcp(self, server: str, method: str, params: Json | None, prefix: str = "msg") -> str:
        message: Json = {"jsonrpc": "2.0"}
        if not method.startswith("notifications/"):
            message["id"] = self.new_id(prefix)
        message["method"] = method
        if params is not None:
            message["params"] = params
        request = {"subtype": "mcp_message", "server_name": server, "message": message}
        return self.ask("mcp", request)

    def handshakes(self) -> None:
        """Lines 222-272: with each SDK server, before tools are called; once per server."""
        for server in self.servers():
            if server not in self.tools:
                self.tools[server] = self.handshake(server)

    def handshake(self, server: str) -> list[str] | None:
        first = self.wait(self.mcp(server, "initialize", {}, prefix="init"))
        self.expect_result(first, "line 242: the SDK responds with server capabilities")
        self.mcp(server, "notifications/initialized", None)
        listed = self.wait(self.mcp(server, "tools/list", None))
        result = self.expect_result(listed, "line 271: tools/list to enumerate available tools")
        return None if result is None else sorted(map(str, tool_names(result)))

    def expect_result(self, response: Json, rule: str) -> Json | None:
        wrapped = mcp_body(response)
        if wrapped is None or not isinstance(wrapped.get("result"), dict):
            deviation("an error was answered where a result is due", rule, response)
            return None
        result: Json = wrapped["result"]
        return result

    # ---- life ----

    def run(self) -> NoReturn:
        if self.init_reading == "start":
            self.init()
        while self.jobs or not self.ended:
            if self.jobs:
                self.jobs.popleft()()
            else:
                self.take(None)
        if self.lingers:  # line 342: the host may have to send SIGTERM
            time.sleep(600)
        leave(0)


def is_notification(request: Json) -> bool:
    message = request.get("message")
    return isinstance(message, dict) and "id" not in message


def is_permission(request: Json) -> bool:
    return request["subtype"] == "permission" and "tool_name" in request


def is_mcp(request: Json) -> bool:
    return request["subtype"] == "mcp_message" and "message" in request


def mcp_body(response: Json) -> Json | None:
    inner = response.get("response")
    body = inner.get("mcp_response") if isinstance(inner, dict) else None
    return body if isinstance(body, dict) else None


def tool_names(result: Json) -> list[Any]:
    tools = result.get("tools")
    if not isinstance(tools, list):
        return []
    return [tool.get("name") if isinstance(tool, dict) else None for tool in tools]


# ---- flows ----


def run_flow(cli: Cli, text: str) -> None:
    if text.startswith("flow:"):
        name = text.removeprefix("flow:")
        flow = FLOWS.get(name, absent)
    elif text.startswith("client:"):
        name = text.removeprefix("client:")
        flow = plain if name == "unknown_request" else CLIENT_FLOWS.get(name, plain)
    else:
        cli.text(f"echo: {text}")
        cli.result()
        return
    if not flow(cli, name):
        cli.result()


Flow = Callable[[Cli, str], bool | None]  # True: the flow itself ended the turn


def plain(cli: Cli, name: str) -> None:
    cli.report(name)


def absent(cli: Cli, name: str) -> None:
    cli.report(name, absent=True)


def streaming(cli: Cli, name: str) -> None:
    for part in ("Hello, ", "streamed ", "world"):
        if name == "streaming_object":  # the other reading of line 62: event is an object
            cli.stream({"type": "delta", "text": part})
        else:
            cli.stream("delta", text=part)
    cli.text("Hello, streamed world")
    cli.report(name, text="Hello, streamed world")


def thinking(cli: Cli, name: str) -> None:
    cli.blocks({"type": "thinking", "thinking": "Let me think."})
    cli.report(name)


def tool_use(cli: Cli, name: str) -> None:
    # No tool result follows: the document does not say how one is written.
    block_id = cli.new_id("toolu")
    cli.stream("tool_use_start", id=block_id, name="Bash")
    block = {"type": "tool_use", "id": block_id, "name": "Bash", "input": {"command": "ls"}}
    cli.blocks(block)
    cli.report(name)


def ask_permission(cli: Cli, tool_input: Json, kind: str = "sdk_control_request") -> str:
    request = {"subtype": "permission", "tool_name": "Bash", "tool_input": tool_input}
    return cli.ask("perm", request, kind)


def understood(response: Json, tool_input: Json) -> Json:
    if response.get("subtype") == "error":
        return {"behavior": "error", "message": response.get("error")}
    inner = response.get("response")
    decision: Json = inner if isinstance(inner, dict) else {}
    behavior = decision.get("behavior")
    if behavior == "allow":
        return {"behavior": "allow", "input": tool_input}
    return {"behavior": behavior, "message": decision.get("message")}


def asks_host(cli: Cli, name: str) -> bool:
    """Line 123: permission requests come only with --permission-prompt-tool stdio."""
    if cli.flags.values.get("--permission-prompt-tool") == "stdio":
        return True
    cli.report(name, asked=False)
    return False


def permission(cli: Cli, name: str) -> None:
    if asks_host(cli, name):
        kind = "control" if name == "control_type" else "sdk_control_request"
        answer = cli.wait(ask_permission(cli, BASH_INPUT, kind))
        cli.report(name, **understood(answer, BASH_INPUT))


def permission_parallel(cli: Cli, name: str) -> None:
    if asks_host(cli, name):  # the document has no tool use id: reported by command
        inputs = [{"command": f"rm {letter}"} for letter in "abc"]
        ids = [ask_permission(cli, one) for one in inputs]
        answers = [cli.wait(request_id) for request_id in ids]
        pairs = zip(inputs, answers, strict=True)
        cli.report(name, requests={one["command"]: understood(got, one) for one, got in pairs})


def hooks_registered(cli: Cli, name: str) -> None:
    cli.report(name, hooks=(cli.initialize or {}).get("hooks"))


def declared(cli: Cli, name: str) -> bool:
    cli.handshakes()
    if "calc" not in cli.servers():
        cli.report(name, declared=False)
        return False
    return True


def mcp_list(cli: Cli, name: str) -> None:
    if declared(cli, name):
        cli.report(name, tools=cli.tools.get("calc"))


def call_fields(response: Json) -> Json:
    if response.get("subtype") == "error":
        return {"form": "control_error", "is_error": True, "result": response.get("error")}
    body = mcp_body(response) or {}
    if "error" in body:
        error = body["error"]
        text = error.get("message") if isinstance(error, dict) else error
        return {"form": "jsonrpc_error", "is_error": True, "result": text}
    result = body["result"] if isinstance(body.get("result"), dict) else {}
    content = result["content"] if isinstance(result.get("content"), list) else []
    texts = [str(b["text"]) for b in content if isinstance(b, dict) and "text" in b]
    is_error = result.get("isError", False)
    return {"form": "result", "is_error": is_error, "result": "".join(texts)}


CALLS: dict[str, tuple[str, Json]] = {
    "mcp_call": ("add", ADD_ARGUMENTS),
    "mcp": ("add", ADD_ARGUMENTS),
    "mcp_tool_error": ("fail", {}),
    "mcp_unknown_tool": ("no_such_tool", {}),
}


def mcp_call(cli: Cli, name: str) -> None:
    if not declared(cli, name):
        return
    tool, arguments = CALLS[name]
    call_id = cli.mcp("calc", "tools/call", {"name": tool, "arguments": arguments})
    response = cli.wait(call_id)
    fields = call_fields(response)
    proper = fields["form"] == "result" and fields["is_error"] is True
    if name == "mcp_tool_error" and not proper:
        rule = "line 303: tool errors are successful responses with error content"
        deviation("a tool error was not answered with isError true", rule, response)
    cli.report(name, **fields)


def error_message(cli: Cli, name: str) -> bool:
    if name == "error_in_turn":
        cli.text("working")
    cli.system_error("something went wrong")
    if name != "error_bare":  # reading: the error alone, without the completion message
        cli.result()
    return True


BAD_REQUESTS: dict[str, Json] = {
    "unknown_request": {"subtype": "no_such_subtype"},
    "malformed_request": {"subtype": "permission"},
}


def bad_request(cli: Cli, name: str) -> None:
    cli.report(name, answer=cli.wait(cli.ask("bad", BAD_REQUESTS[name])))


def late_init(cli: Cli, name: str) -> None:
    cli.text("working")
    cli.init()
    cli.report(name)


def session(cli: Cli, name: str) -> None:
    values = cli.flags.values
    initialize = cli.initialize or {}
    extra: Json = {flag: values[flag] for flag in sorted(values)}
    extra.update(dict.fromkeys(cli.flags.bare, True))
    extra["hooks"] = initialize.get("hooks")
    for variable in ("CLAUDE_CODE_ENTRYPOINT", "CLAUDE_AGENT_SDK_VERSION", "CLAUDE_CONFIG_DIR"):
        extra[variable] = os.environ.get(variable)
    told = {"mcp_servers": initialize.get("sdk_mcp_servers"), "cwd": os.getcwd()}
    prompt = values.get("--system-prompt")
    ids = {"session_id": cli.session, "resumed": False}
    cli.report(name, **ids, **told, system_prompt=prompt, extra=extra)


def usage(cli: Cli, name: str) -> bool:
    tokens = {"total_input_tokens": 11, "total_output_tokens": 22}
    cli.report(name, total_cost_usd=0.25, **tokens)
    cli.result(0.25, 11, 22)
    return True


def result_short(cli: Cli, name: str) -> bool:
    cli.report(name)
    harness.write({"type": "result", "total_cost_usd": 0.001, "session_id": cli.session})  # line 74
    return True


def user_echo(cli: Cli, name: str) -> None:
    cli.echo(f"flow:{name}")
    cli.report(name)


def linger(cli: Cli, name: str) -> None:
    """Line 342: a CLI that does not exit at the end of input and needs SIGTERM."""
    cli.lingers = True
    cli.report(name)


FLOWS: dict[str, Flow] = {
    "text": plain,
    **dict.fromkeys(("streaming", "streaming_object"), streaming),
    **dict.fromkeys(("permission_allow", "permission_deny", "control_type"), permission),
    **dict.fromkeys([name for name in CALLS if name != "mcp"], mcp_call),
    **dict.fromkeys(("error_message", "error_in_turn", "error_bare"), error_message),
    **dict.fromkeys(BAD_REQUESTS, bad_request),
    "thinking": thinking,
    "tool_use": tool_use,
    "permission_parallel": permission_parallel,
    "hooks_registered": hooks_registered,
    "mcp_list": mcp_list,
    "late_init": late_init,
    "session": session,
    "usage": usage,
    "result_short": result_short,
    "user_echo": user_echo,
    "linger": linger,
}
CLIENT_FLOWS: dict[str, Flow] = {**FLOWS, "mcp": mcp_call, "error": error_message}


if __name__ == "__main__":
    Cli(sys.argv[1:]).run()
