"""A fake host that drives one flow of document 002 and is strict about what the CLI writes.

Its arguments are `FLOW -- COMMAND…`.
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import Any

import harness
from harness import WAIT, Json

BASE_FLAGS = ["--output-format", "stream-json", "--input-format", "stream-json", "--verbose"]
REASON = "Destructive commands are not permitted"  # line 163
TYPES = ("assistant", "user", "result", "system", "stream", "control")  # lines 51-66


class Host(harness.Driven):
    def __init__(self, flow: str, command: list[str]) -> None:
        self.flow = flow
        self.prompts: list[str] = []
        self.own_ids: set[str] = set()
        self.cli_ids: set[str] = set()
        self.session: str | None = None
        self.confirmations: dict[str, Json] = {}
        self.mcp_methods: list[str] = []
        self.turn: list[Json] = []  # the messages since the last prompt
        self.in_turn = False
        self.asks = flow.startswith("permission_")
        flags = BASE_FLAGS + (["--permission-prompt-tool", "stdio"] if self.asks else [])
        names = {"CLAUDE_CODE_ENTRYPOINT": "sdk-peer", "CLAUDE_AGENT_SDK_VERSION": "0.0.2"}
        super().__init__(command + flags, **names)

    def has(self, obj: Any, key: str, kind: type | tuple[type, ...], where: str, n: int) -> bool:
        value = obj.get(key) if isinstance(obj, dict) else None
        ok = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        return self.check(f"{where} has {key} of the right type", ok, f"line {n}", obj)

    # ---- input ----

    def until(self, done: Callable[[], bool], what: str, rule: str, wait: float = WAIT) -> bool:
        deadline = time.monotonic() + wait
        try:
            while not done() and self.receive(max(0.0, deadline - time.monotonic())) is not None:
                pass
        except queue.Empty:
            pass
        return self.check(what, done(), rule)

    # ---- validation of every line ----

    def judge(self, message: Json) -> None:
        kind = message.get("type")
        handlers: dict[Any, Callable[[Json], None]] = {
            "assistant": self.on_assistant,
            "user": self.on_user,
            "result": self.on_result,
            "system": self.on_system,
            "stream": self.on_stream,
            "control_response": self.on_response,
            "sdk_control_request": self.on_request,
            "control": self.on_control,
        }
        self.check("the message's type is known", kind in handlers, "line 49", message)
        if kind in TYPES and kind not in ("system", "control"):
            name = "messages of a turn come between the prompt and the result"
            self.check(name, self.in_turn, "lines 69-74", message)
        self.turn.append(message)
        if kind in handlers:
            handlers[kind](message)

    def same_session(self, message: Json) -> None:
        seen = message.get("session_id")
        self.session = self.session or seen
        self.check("the session_id stays the same", seen == self.session, "lines 72-74", message)

    def on_system(self, message: Json) -> None:
        self.has(message, "subtype", str, "system message", 72)
        if message.get("subtype") == "init" and self.has(message, "session_id", str, "init", 72):
            self.same_session(message)

    def on_assistant(self, message: Json) -> None:
        inits = [line for line in self.lines if is_init(line)]
        name = "system/init comes before the first assistant message"
        self.check(name, bool(inits), "lines 72-73", message)
        if not self.has(message, "message", dict, "assistant", 51):
            return
        if self.has(message["message"], "content", list, "assistant message", 52):
            for block in message["message"]["content"]:
                self.on_block(block)

    def on_block(self, block: Any) -> None:
        kind = block.get("type") if isinstance(block, dict) else None
        known = kind in ("text", "tool_use", "thinking")
        self.check("content blocks are text, tool_use or thinking", known, "line 52", block)
        if kind == "text":
            self.has(block, "text", str, "text block", 73)
        # The inner fields of tool_use and thinking blocks are not described (line 52).

    def on_user(self, message: Json) -> None:
        prompt = self.prompts[-1] if self.prompts else None
        ok = prompt is not None and prompt in strings(message)
        self.check("a user message echoes the prompt text", ok, "line 54", message)

    def on_result(self, message: Json) -> None:
        self.has(message, "total_cost_usd", (int, float), "result", 56)
        if self.has(message, "session_id", str, "result", 57):
            self.same_session(message)
        # Line 57 lists the tokens, the example of line 74 leaves them out: both are taken.
        for key in ("total_input_tokens", "total_output_tokens"):
            if key in message:
                self.has(message, key, int, "result", 57)
        self.in_turn = False

    def on_stream(self, message: Json) -> None:
        event = message.get("event")
        kind = event.get("type") if isinstance(event, dict) else event
        known = kind in ("delta", "tool_use_start")
        self.check("a stream event is delta or tool_use_start", known, "line 63", message)
        if kind == "delta":
            texts = [text for text in strings(message) if text not in ("stream", "delta")]
            self.check("a delta carries new text", bool(texts), "line 63", message)

    def on_control(self, message: Json) -> None:
        """Line 80 says type "control", the examples say otherwise: both are taken."""
        subtype = message.get("subtype")
        if "request" in message:
            self.on_request(message)
        elif "response" in message and subtype not in ("success", "error"):
            self.on_response(message)
        elif subtype in ("success", "error"):
            self.on_response({"response": message})
        else:
            self.on_request({"request": message})

    def on_response(self, message: Json) -> None:
        if not self.has(message, "response", dict, "control_response", 114):
            return
        body: Json = message["response"]
        ok = body.get("subtype") in ("success", "error")
        self.check("a response's subtype is success or error", ok, "lines 115, 296", message)
        if not self.has(body, "request_id", str, "control_response", 116):
            return
        request_id = body["request_id"]
        known = request_id in self.own_ids
        self.check("a response names a request of the SDK", known, "line 116", message)
        once = request_id not in self.confirmations
        self.check("a request is answered once", once, "line 109", message)
        if body.get("subtype") == "error":
            self.has(body, "error", str, "error response", 298)
        self.confirmations[request_id] = body

    # ---- requests of the CLI ----

    def on_request(self, message: Json) -> None:
        if not self.has(message, "request", dict, "sdk_control_request", 129):
            return
        request: Json = message["request"]
        if not self.has(request, "request_id", str, "sdk_control_request", 131):
            return
        request_id = request["request_id"]
        fresh = request_id not in self.cli_ids | self.own_ids
        self.check("request IDs are unique within the session", fresh, "line 335", message)
        self.cli_ids.add(request_id)
        subtype = request.get("subtype")
        known = subtype in ("permission", "mcp_message")
        self.check("the CLI's request is permission or mcp_message", known, "line 130", message)
        if subtype == "permission":
            self.on_permission(request)
        elif subtype == "mcp_message":
            self.on_mcp(request)
        else:
            self.refuse(request_id, "unknown subtype")

    def answer(self, request_id: str, response: Json | None) -> None:
        body: Json = {"subtype": "success", "request_id": request_id}
        if response is not None:
            body["response"] = response
        self.send({"type": "control_response", "response": body})

    def refuse(self, request_id: str, error: str) -> None:
        body = {"subtype": "error", "request_id": request_id, "error": error}
        self.send({"type": "control_response", "response": body})

    def on_permission(self, request: Json) -> None:
        name = "permission requests come only with --permission-prompt-tool stdio"
        self.check(name, self.asks, "line 123", request)
        ok = self.has(request, "tool_name", str, "permission request", 132)
        ok = self.has(request, "tool_input", dict, "permission request", 133) and ok
        if not ok:
            self.refuse(request["request_id"], "invalid request format")
        elif self.flow == "permission_allow":
            self.answer(request["request_id"], {"behavior": "allow"})
        else:
            self.answer(request["request_id"], {"behavior": "deny", "message": REASON})

    def on_mcp(self, request: Json) -> None:
        request_id = request["request_id"]
        ok = self.has(request, "server_name", str, "mcp_message", 180)
        if not (self.has(request, "message", dict, "mcp_message", 181) and ok):
            self.refuse(request_id, "invalid request format")
            return
        message: Json = request["message"]
        two = message.get("jsonrpc") == "2.0"
        self.check('the MCP message has "jsonrpc": "2.0"', two, "line 182", request)
        named = request["server_name"] == "calc" and self.flow == "mcp"
        self.check("MCP messages go to a declared server", named, "line 105", request)
        if not self.has(message, "method", str, "MCP message", 184) or not named:
            self.refuse(request_id, "invalid request format")
            return
        self.mcp_order(message["method"], request)
        if message["method"].startswith("notifications/"):
            self.check("a notification has no id", "id" not in message, "line 270", request)
            self.answer(request_id, None)  # line 271: the SDK should acknowledge it
        elif self.has(message, "id", (str, int), "MCP request", 183):
            result = self.mcp_result(message)
            wrapped = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            self.answer(request_id, {"mcp_response": wrapped})

    def mcp_order(self, method: str, request: Json) -> None:
        before = self.mcp_methods
        if method == "initialize":
            ok = not before
        elif method in ("notifications/initialized", "tools/list"):
            ok = "initialize" in before
        else:
            ok = {"initialize", "notifications/initialized", "tools/list"} <= set(before)
        name = "MCP order: initialize, notifications/initialized and tools/list, tools/call"
        self.check(name, ok, "lines 222, 270", {"before": list(before), "request": request})
        before.append(method)

    def mcp_result(self, message: Json) -> Json:
        if message["method"] == "initialize":
            info = {"name": "calc", "version": "1.0.0"}
            capabilities = {"tools": {"listChanged": False}}
            version = "2025-11-25"
            return {
                "protocolVersion": version,
                "capabilities": capabilities,
                "serverInfo": info,
            }
        if message["method"] == "tools/list":
            numbers = {"a": {"type": "number"}, "b": {"type": "number"}}
            schema = {"type": "object", "properties": numbers, "required": ["a", "b"]}
            return {"tools": [{"name": "add", "description": "Adds", "inputSchema": schema}]}
        return self.mcp_call(message)

    def mcp_call(self, message: Json) -> Json:
        self.check("the CLI calls tools/call", message["method"] == "tools/call", "line 184")
        params = message.get("params")
        ok = self.has(params, "name", str, "tools/call params", 186)
        ok = self.has(params, "arguments", dict, "tools/call params", 187) and ok
        arguments = params["arguments"] if ok and params else {}
        try:
            return tool_result(str(arguments["a"] + arguments["b"]), False)
        except (KeyError, TypeError) as error:
            return tool_result(f"bad arguments: {error!r}", True)  # line 303

    # ---- steps ----

    def request(self, number: int, body: Json) -> str:
        request_id = f"host_req_{number}"  # line 335: will not collide with the CLI's
        self.own_ids.add(request_id)
        whole = {"subtype": body["subtype"], "request_id": request_id, **body}
        self.send({"type": "control_request", "request": whole})
        return request_id

    def open(self) -> bool:
        """Lines 85-118: the initialization message and its confirmation."""
        hook = {"matcher": "*", "hook_callback_ids": ["hook_0"]}
        hooks = {"PreToolUse": [hook]} if self.flow == "hook" else {}
        servers = ["calc"] if self.flow == "mcp" else []
        body = {"subtype": "initialize", "hooks": hooks, "sdk_mcp_servers": servers}
        request_id = self.request(1, body)
        name = "the CLI answers the initialization message"
        if not self.until(lambda: request_id in self.confirmations, name, "line 109"):
            return False
        answer = self.confirmations[request_id]
        ok = answer.get("subtype") == "success"
        return self.check("the CLI confirms the initialization", ok, "line 115", answer)

    def prompt(self, text: str) -> None:
        # The document does not show the prompt's form; this one mirrors line 73.
        self.prompts.append(text)
        self.turn = []
        self.in_turn = True
        self.send({"type": "user", "message": {"role": "user", "content": text}})

    def finish(self) -> bool:
        return self.until(lambda: not self.in_turn, "a result completes the turn", "line 56")

    def blocks(self, kind: str) -> list[Json]:
        found: list[Json] = []
        for message in self.turn:
            inner = message.get("message")
            content = inner.get("content") if isinstance(inner, dict) else None
            if message.get("type") == "assistant" and isinstance(content, list):
                found += [b for b in content if isinstance(b, dict) and b.get("type") == kind]
        return found

    def requests(self, subtype: str) -> list[Json]:
        bodies = [m["request"] for m in self.lines if isinstance(m, dict) and "request" in m]
        return [b for b in bodies if isinstance(b, dict) and b.get("subtype") == subtype]


def is_init(line: Any) -> bool:
    return isinstance(line, dict) and (line.get("type"), line.get("subtype")) == ("system", "init")


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for one in value.values() for text in strings(one)]
    if isinstance(value, list):
        return [text for one in value for text in strings(one)]
    return []


def tool_result(text: str, is_error: bool) -> Json:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


# ---- flows ----


def run(host: Host) -> None:
    if not host.open() or host.flow == "open":
        return
    if host.flow == "unknown_request":
        unknown_request(host)
    texts = ["one", "two"] if host.flow == "turns" else [f"client:{host.flow}"]
    for text in texts:
        host.prompt(text)
        if host.flow == "shutdown":
            shutdown(host)
        elif host.flow == "error":
            error_turn(host)
        elif host.finish():
            after_turn(host)


def after_turn(host: Host) -> None:
    if host.flow in ("turns", "streaming", "permission_allow", "permission_deny", "mcp"):
        host.check("the answer has text", bool(host.blocks("text")), "line 51", host.turn)
    if host.flow == "streaming":
        kinds = [message.get("type") for message in host.turn]
        first = kinds.index("assistant") if "assistant" in kinds else len(kinds)
        ok = "stream" in kinds[:first]
        host.check("stream messages come before the full message", ok, "line 62", kinds)
    if host.flow in ("thinking", "tool_use"):
        found = bool(host.blocks(host.flow))
        host.check(f"the answer has a {host.flow} block", found, "line 52", host.turn)
    if host.asks:
        found = bool(host.requests("permission"))
        host.check("the CLI sent a permission request", found, "line 123", host.turn)
    if host.flow == "mcp":
        called = "tools/call" in host.mcp_methods
        host.check("the CLI called the tool", called, "line 171", host.mcp_methods)


def unknown_request(host: Host) -> None:
    request_id = host.request(2, {"subtype": "no_such_subtype"})
    name = "the CLI answers an unknown request"
    if host.until(lambda: request_id in host.confirmations, name, "line 290"):
        answer = host.confirmations[request_id]
        ok = answer.get("subtype") == "error"
        host.check("a protocol error has subtype error", ok, "line 290", answer)


def error_turn(host: Host) -> None:
    """Line 59: system messages report errors. Whether a result follows is left open."""

    def told() -> bool:
        return any(m.get("type") == "system" and not is_init(m) for m in host.turn)

    host.until(lambda: told() or not host.in_turn, "the CLI reacts to the prompt", "line 59")
    host.check("a system message reports the error", told(), "line 60", host.turn)


def shutdown(host: Host) -> None:
    """Lines 341-342: stdin is closed at once; the CLI finishes the pending work and exits."""
    code = host.close()
    host.check("pending work is finished", not host.in_turn, "line 341", host.turn)
    host.check("the exit code is 0", code == 0, "line 341", code)


FLOWS = """
open turns streaming thinking tool_use permission_allow permission_deny hook mcp unknown_request
error shutdown
"""

if __name__ == "__main__":
    harness.drive(dict.fromkeys(FLOWS.split(), run), Host)
