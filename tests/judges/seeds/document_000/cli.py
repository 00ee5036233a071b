"""A fake `claude` CLI that speaks document 000 and is strict about what the host sends."""

from __future__ import annotations

import json
import os
import queue
import sys
import time
import uuid
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import forms
import harness
from harness import WAIT, Json, deviation, leave

SILENCE = min(10.0, WAIT)  # for requests that the document does not oblige a host to answer
EARLY = 0.1  # seconds between initialize and its answer, to catch a host that does not wait
MODEL = "claude-sonnet-4-5-20250929"
COMMAND = {"command": "rm -r build"}


def judge(form: forms.Form, line: Json) -> None:
    """Check a line against a form of the document, and log what differs."""
    for what, rule in forms.check(form, line):
        deviation(what, rule, line)


# ---- command line --------------------------------------------------------------------------


def is_sources(value: str) -> bool:
    return value == "" or all(s in ("user", "project", "local") for s in value.split(","))


def is_number(value: str) -> bool:
    try:
        return float(value) >= 0
    except ValueError:
        return False


# flag: (is the value right?, rule)
VALUE_FLAGS: dict[str, tuple[Callable[[str], bool], str]] = {
    "--output-format": (lambda v: v == "stream-json", "line 32: --output-format stream-json"),
    "--input-format": (lambda v: v == "stream-json", "line 33: --input-format stream-json"),
    "--model": (lambda v: v != "", "line 34: --model <model>"),
    "--permission-mode": (
        lambda v: v in ("default", "acceptEdits", "bypassPermissions", "plan"),
        "line 35: default, acceptEdits, bypassPermissions, plan",
    ),
    "--permission-prompt-tool": (lambda v: v == "stdio", "line 36: stdio"),
    "--setting-sources": (is_sources, "line 37: Comma-separated: user, project, local, or empty"),
    "--max-turns": (lambda v: v.isascii() and v.isdigit(), "line 41: --max-turns <n>"),
    "--max-budget-usd": (is_number, "line 42: --max-budget-usd <n>"),
    "--cwd": (lambda v: v != "", "line 43: --cwd <path>"),
    "--resume": (lambda v: v != "", "line 44: --resume <session-id>"),
}
REQUIRED = {
    "--output-format": "line 32: --output-format stream-json",
    "--input-format": "line 33: --input-format stream-json",
    "--permission-prompt-tool": "line 36: --permission-prompt-tool stdio",
    "--verbose": "line 38: Required for stream-json mode. Always included.",
}


def parse_arguments(argv: list[str]) -> dict[str, str]:
    """Read the command line of lines 19-44, logging what differs from it."""
    harness.log("argv", argv=argv)
    given: dict[str, str] = {}
    words = deque(argv)
    while words:
        word = words.popleft()
        name, equals, value = word.partition("=")
        if word == "--verbose":
            given[word] = ""
        elif name in VALUE_FLAGS:
            right, rule = VALUE_FLAGS[name]
            if not equals:
                value = words.popleft() if words and not words[0].startswith("--") else ""
            if name in given:
                deviation(f"{name} is given twice", rule, {"argv": argv})
            if not right(value):
                deviation(f"{name} has the value {value!r}", rule, {"argv": argv})
            given[name] = value
    for name, rule in REQUIRED.items():
        if name not in given:
            deviation(f"{name} is missing", rule, {"argv": argv})
    return given


# ---- the peer ------------------------------------------------------------------------------


@dataclass
class Request:
    """A control request of this CLI that waits for the host's answer."""

    kind: str  # "permission", "question", "question_free" or "loose"
    tool_use_id: str = ""
    input: Json = field(default_factory=dict)
    answer: Json | None = None  # the whole line of the host

    @property
    def decision(self) -> Json:
        """The inner response (lines 232, 260, 317), or {} where the host sent none."""
        outer = (self.answer or {}).get("response")
        inner = outer.get("response") if isinstance(outer, dict) else None
        return inner if isinstance(inner, dict) else {}

    @property
    def allowed(self) -> bool:
        return self.decision.get("behavior") == "allow"


class Peer:
    def __init__(self, flags: dict[str, str]) -> None:
        self.flags = flags
        # Line 497: "The CLI generates its own session_id"; line 44: --resume gives one.
        self.session_id = flags.get("--resume") or str(uuid.uuid4())
        self.cwd = flags.get("--cwd") or os.getcwd()
        self.input = harness.stdin_lines()
        self.prompts: deque[tuple[str, Json]] = deque()
        self.requests: dict[str, Request] = {}
        self.initialize: Json | None = None
        self.turns = 0

    # -- session --

    def run(self) -> NoReturn:
        while True:
            self.take(self.input.next(None))
            while self.prompts:
                prompt, line = self.prompts.popleft()
                self.turns += 1
                Turn(self, prompt, line).run()

    def take(self, raw: bytes | None) -> None:
        """Judge one received line and act on it; leave at the end of input."""
        if raw is None:
            leave(0)
        try:
            line = json.loads(raw.decode("utf-8"))
        except (ValueError, RecursionError):
            shown = raw.decode("utf-8", "replace").rstrip("\n")
            deviation("a line is not JSON", "line 9: JSON Lines over stdin/stdout", shown)
            return
        harness.log("rx", line=line)
        kind = line.get("type") if isinstance(line, dict) else None
        if kind == "control_request":
            self.on_request(line)
        elif kind == "control_response":
            self.on_response(line)
        elif kind == "user":
            self.on_prompt(line)
        else:
            rule = "lines 59, 129, 228: control_request, user, control_response"
            deviation(f"a line of type {kind!r} from the host", rule, line)

    def on_request(self, line: Json) -> None:
        request = line.get("request")
        subtype = request.get("subtype") if isinstance(request, dict) else None
        if subtype != "initialize":
            what = f"control_request with subtype {subtype!r}"
            deviation(what, "line 61: initialize is the host's only control_request", line)
            self.refuse(line, what)
        elif self.initialize is not None:
            judge(forms.INITIALIZE, line)
            deviation("initialize sent twice", "lines 150-152: initialize, once", line)
            self.refuse(line, "already initialized")
        else:
            judge(forms.INITIALIZE, line)
            self.initialize = line["request"]
            self.open_session(line.get("request_id"))

    def refuse(self, line: Json, why: str) -> None:
        """The document has no failing control_response; this form is made up (README.md)."""
        inner = {"subtype": "error", "request_id": line.get("request_id"), "error": why}
        harness.write({"type": "control_response", "response": inner})

    def open_session(self, request_id: Any) -> None:
        """Lines 150-152: answer initialize, then send the init message."""
        time.sleep(EARLY)
        for early in self.input.pending():
            rule = "line 489: Send initialize and wait for control_response"
            deviation("a line before the answer to initialize", rule, repr(early))
        response = {"subtype": "success", "request_id": request_id, "response": CAPABILITIES}
        harness.write({"type": "control_response", "response": response})
        harness.write(self.init_message())

    def told(self, name: str) -> Any:
        return (self.initialize or {}).get(name)

    def init_message(self) -> Json:
        servers = self.told("mcpServers")
        names = list(servers) if isinstance(servers, dict) else []
        return {
            "type": "system",
            "subtype": "init",
            "uuid": str(uuid.uuid4()),
            "session_id": self.session_id,
            "cwd": self.cwd,
            "tools": ["Task", "Bash", "Read", "Write", "Edit", "AskUserQuestion"],
            "mcp_servers": [{"name": name, "status": "connected"} for name in names],
            "model": MODEL,
            "permissionMode": self.flags.get("--permission-mode", "default"),
            "slash_commands": ["compact", "context", "cost"],
            "apiKeySource": "none",
            "claude_code_version": "2.1.17",
            "output_style": "default",
            "agents": ["Bash", "general-purpose", "Explore", "Plan"],
            "skills": [],
            "plugins": [],
        }

    def on_prompt(self, line: Json) -> None:
        judge(forms.PROMPT, line)
        if self.initialize is None:
            deviation("a prompt before initialize", "lines 150-154: initialize first", line)
        self.prompts.append((prompt_text(line), line))

    # -- answers to requests of this CLI --

    def on_response(self, line: Json) -> None:
        outer = line.get("response")
        request_id = outer.get("request_id") if isinstance(outer, dict) else None
        request = self.requests.get(request_id) if isinstance(request_id, str) else None
        if request is None:
            judge(forms.control_response(forms.DECISION), line)
            deviation("request_id matches no request", "line 231: matching-uuid", line)
        elif request.answer is not None:
            deviation("a request is answered twice", "lines 169-174: one answer each", line)
        else:
            request.answer = line
            if request.kind != "loose":
                self.judge_decision(request, line)

    def judge_decision(self, request: Request, line: Json) -> None:
        judge(forms.control_response(forms.DECISION), line)
        decision = request.decision
        tool_use_id = decision.get("toolUseID")
        if isinstance(tool_use_id, str) and tool_use_id != request.tool_use_id:
            deviation("toolUseID differs from the request's", "lines 250, 273: Must match", line)
        if request.allowed and request.kind != "permission":
            judge_answers(request, line)

    def ask(self, body: Json, request: Request) -> str:
        request_id = str(uuid.uuid4())
        self.requests[request_id] = request
        harness.write({"type": "control_request", "request_id": request_id, "request": body})
        return request_id

    def wait(self, requests: list[Request], seconds: float = WAIT) -> bool:
        """Handle lines until every request has its answer; False when the time is over."""
        end = time.monotonic() + seconds
        while any(request.answer is None for request in requests):
            try:
                self.take(self.input.next(max(0.0, end - time.monotonic())))
            except queue.Empty:
                return False
        return True


def prompt_text(line: Json) -> str:
    """The prompt's text. Line 132 has a string; of a list, the text blocks are read anyway."""
    message = line.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        texts = [b.get("text") for b in content if isinstance(b, dict) and b.get("type") == "text"]
        return "\n".join(t for t in texts if isinstance(t, str))
    return content if isinstance(content, str) else ""


def judge_answers(request: Request, line: Json) -> None:
    """Line 330: question text as the key, label (or a list of labels) as the value."""
    updated = request.decision.get("updatedInput")
    answers = updated.get("answers") if isinstance(updated, dict) else None
    if not isinstance(answers, dict):
        deviation("updatedInput.answers is not an object", "line 279: answers in it", line)
        return
    questions = {question["question"]: question for question in request.input["questions"]}
    for key, value in answers.items():
        if key not in questions:
            deviation(f"answer to {key!r}", "line 330: the question text as the key", line)
        else:
            judge_answer(questions[key], value, request.kind == "question_free", line)


def judge_answer(question: Json, value: Any, free: bool, line: Json) -> None:
    if question["multiSelect"]:
        right, rule = isinstance(value, list), "line 330: an array of selected labels"
    else:
        right, rule = isinstance(value, str), "line 330: the selected option label as the value"
    if not right:
        deviation(f"answer {value!r}", rule, line)
        return
    labels = [option["label"] for option in question["options"]]
    for chosen in value if isinstance(value, list) else [value]:
        if chosen not in labels and not free:
            deviation(f"{chosen!r} is no label of the question", rule, line)


# ---- turns and flows -----------------------------------------------------------------------

CAPABILITIES: Json = {  # lines 77-94
    "commands": [
        {"name": "compact", "description": "Compact the conversation", "argumentHint": "[text]"},
        {"name": "context", "description": "Show the context", "argumentHint": ""},
    ],
    "output_style": "default",
    "available_output_styles": ["default", "Explanatory", "Learning"],
    "models": [
        {"value": "default", "displayName": "Default (recommended)", "description": "Opus 4.5"},
        {"value": "sonnet", "displayName": "Sonnet", "description": "Sonnet 4.5"},
        {"value": "haiku", "displayName": "Haiku", "description": "Haiku 4.5"},
    ],
    "account": {
        "email": "user@example.com",
        "organization": "Org Name",
        "subscriptionType": "Claude Max",
    },
}
USAGE: Json = {
    "input_tokens": 200,
    "output_tokens": 100,
    "cache_creation_input_tokens": 1000,
    "cache_read_input_tokens": 500,
}
MODEL_USAGE: Json = {
    MODEL: {
        "inputTokens": 200,
        "outputTokens": 100,
        "cacheReadInputTokens": 500,
        "cacheCreationInputTokens": 1000,
        "costUSD": 0.05,
        "contextWindow": 200000,
    }
}
COST = 0.05
SUGGESTIONS: list[Json] = [
    {
        "type": "addRules",
        "rules": [{"toolName": "Bash", "ruleContent": rule}],
        "behavior": "allow",
        "destination": "session",
    }
    for rule in ("rm -r build", "rm:*")
]
COLOURS = ("Red", "Green", "Blue")


def question(text: str, header: str, labels: tuple[str, ...], multi: bool = False) -> Json:
    options = [{"label": lab, "description": f"Choose {lab.lower()}"} for lab in labels]
    return {"question": text, "header": header, "multiSelect": multi, "options": options}


class Turn:
    """One prompt: runs its flow, then sends the report and the result."""

    def __init__(self, peer: Peer, prompt: str, line: Json) -> None:
        self.peer = peer
        self.prompt = prompt
        self.line = line
        self.last_text = ""

    def run(self) -> None:
        kind, colon, name = self.prompt.partition(":")
        if colon and kind == "flow":
            self.run_flow(name)
        elif colon and kind == "client" and name in CLIENT_FLOWS:
            self.run_flow(CLIENT_FLOWS[name])
        else:
            self.say(f"echo: {self.prompt}")
            self.finish()

    def run_flow(self, name: str) -> None:
        if name in FLOWS:
            report = FLOWS[name](self)
            if report is None:  # the flow ended the turn in its own way
                return
        else:
            report = {"absent": True}
        self.say(harness.report(name, report))
        self.finish()

    # -- messages --

    def message(self, kind: str, message: Json, **more: Any) -> None:
        """A message in the form of lines 341-346 and 369-374."""
        line = {
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "session_id": self.peer.session_id,
            "parent_tool_use_id": None,
            "message": message,
        }
        harness.write({**line, **more})

    def assistant(self, *content: Json) -> None:
        message = {
            "model": MODEL,
            "id": "msg_" + uuid.uuid4().hex,
            "type": "message",
            "role": "assistant",
            "content": list(content),
            "stop_reason": None,
            "usage": USAGE,
        }
        self.message("assistant", message)

    def say(self, text: str) -> None:
        self.last_text = text
        self.assistant({"type": "text", "text": text})

    def use(self, tool: str, tool_input: Json) -> str:
        block = tool_use(tool, tool_input)
        self.assistant(block)
        return str(block["id"])

    def tool_result(self, tool_use_id: str, content: str, is_error: bool = False) -> None:
        block = {
            "type": "tool_result",
            "tool_use_id": tool_use_id,
            "content": content,
            "is_error": is_error,
        }
        out, err = ("", content) if is_error else (content, "")
        outcome = {"stdout": out, "stderr": err, "interrupted": False}
        self.message("user", {"role": "user", "content": [block]}, tool_use_result=outcome)

    def finish(self, subtype: str = "success") -> None:
        """Lines 396-431. The form of permission_denials' entries is not told, so none is sent."""
        failed = subtype != "success"
        harness.write(
            {
                "type": "result",
                "subtype": subtype,
                "uuid": str(uuid.uuid4()),
                "session_id": self.peer.session_id,
                "is_error": failed,
                "duration_ms": 5000,
                "duration_api_ms": 4500,
                "num_turns": self.peer.turns,
                "result": forms.FAILURES[subtype] if failed else self.last_text,
                "total_cost_usd": COST,
                "usage": USAGE,
                "modelUsage": MODEL_USAGE,
                "permission_denials": [],
            }
        )

    # -- permission --

    def request(self, tool: str, tool_use_id: str, request: Request, **more: Any) -> Request:
        body = {
            "subtype": "can_use_tool",
            "tool_name": tool,
            "input": request.input,
            "tool_use_id": tool_use_id,
        }
        request.tool_use_id = tool_use_id
        self.peer.ask({**body, **more}, request)
        return request

    def settle(self, requests: list[Request]) -> None:
        """Line 169: the CLI pauses here, until line 174."""
        if not self.peer.wait(requests):
            deviation("no answer to can_use_tool", "line 174: control_response (allow/deny)", {})
            leave(3)
        for request in requests:
            reason = request.decision.get("message")
            denied = reason if isinstance(reason, str) else "denied"
            content = "done" if request.allowed else denied
            self.tool_result(request.tool_use_id, content, not request.allowed)


def tool_use(tool: str, tool_input: Json) -> Json:
    tool_use_id = "toolu_" + uuid.uuid4().hex[:24]
    return {"type": "tool_use", "id": tool_use_id, "name": tool, "input": tool_input}


def understood(request: Request) -> Json:
    """What a permission answer means: lines 247-250 and 271-273."""
    decision = request.decision
    if request.allowed:
        return {
            "behavior": "allow",
            "input": decision.get("updatedInput", request.input),
            "remembered": decision.get("updatedPermissions", []),
        }
    if decision.get("behavior") == "deny":
        return {"behavior": "deny", "message": decision.get("message")}
    return {"behavior": None, "raw": request.answer}


# Each flow returns its report without "flow", or None when it has ended the turn itself.
Flow = Callable[[Turn], Json | None]


def text_flow(turn: Turn) -> Json:
    return {}


def tool_flow(turn: Turn) -> Json:
    turn.tool_result(turn.use("Bash", {"command": "ls"}), "file contents here...")
    return {}


def tool_error(turn: Turn) -> Json:
    turn.tool_result(turn.use("Bash", {"command": "ls"}), "ls: no such file", True)
    return {}


def permission(turn: Turn) -> Json:
    tool_use_id = turn.use("Bash", COMMAND)
    request = turn.request("Bash", tool_use_id, Request("permission", input=COMMAND))
    turn.settle([request])
    return understood(request)


def permission_remember(turn: Turn) -> Json:
    tool_use_id = turn.use("Bash", COMMAND)
    request = turn.request(
        "Bash",
        tool_use_id,
        Request("permission", input=COMMAND),
        permission_suggestions=SUGGESTIONS,
        blocked_path=os.path.join(turn.peer.cwd, "build"),
    )
    turn.settle([request])
    return understood(request)


def permission_parallel(turn: Turn) -> Json:
    blocks = [tool_use("Bash", {"command": f"rm {name}"}) for name in "abc"]
    turn.assistant(*blocks)
    requests = [
        turn.request("Bash", block["id"], Request("permission", input=block["input"]))
        for block in blocks
    ]
    turn.settle(requests)
    reports = {r.tool_use_id: {**r.input, **understood(r)} for r in requests}
    return {"requests": reports}


def question_flow(kind: str, *questions: Json) -> Flow:
    def flow(turn: Turn) -> Json:
        asked = {"questions": list(questions)}
        tool_use_id = turn.use("AskUserQuestion", asked)
        request = turn.request("AskUserQuestion", tool_use_id, Request(kind, input=asked))
        turn.settle([request])
        updated = request.decision.get("updatedInput")
        answers = updated.get("answers") if isinstance(updated, dict) else None
        pairs = answers.items() if isinstance(answers, dict) and request.allowed else []
        return {
            "answers": {key: val if isinstance(val, list) else [val] for key, val in pairs},
            "skipped": request.decision.get("behavior") == "deny",
            "raw": request.decision or request.answer,
        }

    return flow


def loose_request(body: Json) -> Flow:
    """A request that the document does not describe; a host may answer as it likes, or not."""

    def flow(turn: Turn) -> Json:
        request = Request("loose")
        turn.peer.ask(body, request)
        turn.peer.wait([request], SILENCE)
        return {"answer": request.answer}

    return flow


def failed(subtype: str) -> Flow:
    def flow(turn: Turn) -> None:
        turn.say("about to fail")
        turn.finish(subtype)

    return flow


def session(turn: Turn) -> Json:
    peer = turn.peer
    names = ("--model", "--permission-mode", "--setting-sources", "--max-turns", "--max-budget-usd")
    extra = {name[2:].replace("-", "_"): peer.flags.get(name) for name in names}
    extra["agents"] = peer.told("agents")
    extra["hooks"] = peer.told("hooks")
    extra["prompt_session_id"] = turn.line.get("session_id")
    return {
        "session_id": peer.session_id,
        "resumed": "--resume" in peer.flags,
        "system_prompt": peer.told("systemPrompt"),
        "mcp_servers": peer.told("mcpServers"),
        "cwd": peer.cwd,
        "extra": extra,
    }


def usage(turn: Turn) -> Json:
    return {"usage": USAGE, "total_cost_usd": COST, "modelUsage": MODEL_USAGE}


COLOUR = question("Which colour?", "Colour", COLOURS)
COLOUR_MULTI = question("Which colour?", "Colour", COLOURS, multi=True)
SIZE = question("Which size?", "Size", ("Small", "Large"))

FLOWS: dict[str, Flow] = {
    "text": text_flow,
    "tool_use": tool_flow,
    "tool_error": tool_error,
    "permission_allow": permission,
    "permission_deny": permission,
    "permission_change": permission,
    "permission_remember": permission_remember,
    "permission_parallel": permission_parallel,
    "question_single": question_flow("question", COLOUR),
    "question_multi": question_flow("question", COLOUR_MULTI),
    "question_two": question_flow("question", COLOUR, SIZE),
    "question_free": question_flow("question_free", COLOUR),
    "question_skipped": question_flow("question", COLOUR),
    "failed_max_turns": failed("error_max_turns"),
    "failed_execution": failed("error_during_execution"),
    "failed_max_budget": failed("error_max_budget_usd"),
    "unknown_request": loose_request({"subtype": "make_coffee", "sugar": True}),
    "malformed_request": loose_request({"subtype": "can_use_tool"}),
    "session": session,
    "usage": usage,
}

# What the prompts `client:FLOW` of client.py run; the others get a plain echo.
CLIENT_FLOWS = {
    "tool_use": "tool_use",
    "permission_allow": "permission_allow",
    "permission_deny": "permission_deny",
    "permission_remember": "permission_remember",
    "question_single": "question_single",
    "question_multi": "question_multi",
    "error": "failed_execution",
    "resume": "session",
}


if __name__ == "__main__":
    Peer(parse_arguments(sys.argv[1:])).run()
