"""A fake host that speaks document 004 and is strict about what the CLI sends.

Its arguments are `FLOW -- COMMAND…`; comments of the form "line N" cite document 004.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable
from typing import Any

import harness
from harness import WAIT, Json

QUIET = 0.5  # a CLI that must wait (line 341) stays silent for this long
ARGUMENTS = [  # line 10
    *("--input-format", "stream-json", "--output-format", "stream-json"),
    *("--verbose", "--permission-prompt-tool", "stdio"),
]


def is_text(value: Any) -> bool:
    return isinstance(value, str)


class Client(harness.Driven):
    """Validates each line of the CLI."""

    def __init__(self, flow: str, command: list[str]) -> None:
        self.sent_ids: set[str] = set()  # our control requests
        self.request_ids: set[str] = set()  # the CLI's control requests
        self.tool_ids: set[str] = set()
        self.session_id: str | None = None
        self.echoes: list[list[Json]] = []  # prompts without an echo as yet
        super().__init__(command + ARGUMENTS)

    # -- sending

    def prompt(self, *texts: str) -> None:
        """Lines 24-37."""
        content: list[Json] = [{"type": "text", "text": text} for text in texts]
        self.echoes.append(content)
        line: Json = {"type": "user", "session_id": ""}
        line["message"] = {"role": "user", "content": content}
        self.send({**line, "parent_tool_use_id": None})

    def control(self, subtype: str) -> None:
        """Lines 52-58."""
        request_id = str(uuid.uuid4())
        self.sent_ids.add(request_id)
        line = {"type": "control_request", "request_id": request_id}
        self.send({**line, "request": {"subtype": subtype}})

    def answer(self, request: Json, fields: Json) -> None:
        """Lines 70-100; `request` as given by `request_of`."""
        inner = {**fields, "toolUseID": request["request"].get("tool_use_id")}
        outer = {"subtype": "success", "request_id": request.get("request_id"), "response": inner}
        self.send({"type": "control_response", "response": outer})

    # -- receiving

    def wait(self, done: Callable[[Json], bool], limit: float = WAIT) -> Json | None:
        """The first line for which `done` holds; None at the limit or the end of output."""
        end = time.monotonic() + limit
        try:
            while (line := self.receive(max(0.0, end - time.monotonic()))) is not None:
                if done(line):
                    return line
        except queue.Empty:
            pass
        return None

    def judge(self, line: Json) -> None:
        kinds: dict[str, Callable[[Json], None]] = {
            "assistant": self.judge_assistant,
            "control_request": self.judge_request,
            "control_response": self.judge_response,
            "user": self.judge_user,
            "error": self.judge_error,
        }
        kind = line.get("type")
        known = isinstance(kind, str) and kind in kinds
        self.check("Each type is one that the document has.", known, "lines 138-312", kind)
        if known:
            kinds[str(kind)](line)

    def judge_assistant(self, line: Json) -> None:
        rule = "lines 147-190"
        one = ("message" in line) != ("delta" in line)
        self.check("An assistant line has a message or a delta.", one, rule, line)
        name = "The echo of the prompt comes before the answer."
        self.check(name, not self.echoes, "line 262", self.echoes or None)
        if "delta" in line:
            self.judge_delta(line["delta"])
            return
        message = line.get("message")
        good = isinstance(message, dict) and message.get("role") == "assistant"
        self.check("message.role is assistant.", good, "line 153", message)
        if not isinstance(message, dict):
            return
        # Line 324 leaves out model, id, type, usage, session_id and uuid: optional.
        texts = [message.get(key, "") for key in ("model", "id")]
        texts += [line.get(key, "") for key in ("session_id", "uuid")]
        good = all(map(is_text, texts)) and message.get("type", "message") == "message"
        self.check("The optional fields have their types.", good, "lines 150-167", line)
        good = message.get("stop_reason") is None or is_text(message["stop_reason"])
        self.check("stop_reason is a string, null or absent.", good, "line 160", message)
        self.judge_usage(message.get("usage"))
        self.judge_session(line.get("session_id"))
        self.judge_blocks(message.get("content"))

    def judge_delta(self, delta: Any) -> None:
        outer = delta if isinstance(delta, dict) else {}
        part = outer.get("delta")
        inner: Json = part if isinstance(part, dict) else {}
        good = outer.get("type") == "content_block_delta" and type(outer.get("index")) is int
        good = good and inner.get("type") == "text_delta" and is_text(inner.get("text"))
        self.check("A delta has the documented form.", good, "lines 180-190", delta)

    def judge_usage(self, usage: Any) -> None:
        if usage is not None:
            counts = ("input_tokens", "output_tokens")
            good = isinstance(usage, dict) and all(type(usage.get(c)) is int for c in counts)
            self.check("usage has two token counts.", good, "lines 161-164", usage)

    def judge_session(self, session_id: Any) -> None:
        if is_text(session_id):
            self.session_id = self.session_id or session_id
            same = session_id == self.session_id
            self.check("The session_id stays the same.", same, "line 166", session_id)

    def judge_blocks(self, content: Any) -> None:
        good = isinstance(content, list) and all(isinstance(block, dict) for block in content)
        self.check("message.content is an array of blocks.", good, "line 154", content)
        for block in content if good else []:
            kind = block.get("type")
            known = kind in ("text", "tool_use")
            self.check("Content types are text and tool_use.", known, "lines 171-173", kind)
            if kind == "text":
                self.check("A text block has text.", is_text(block.get("text")), "line 157", block)
            elif kind == "tool_use" and is_text(block.get("id")):
                self.tool_ids.add(block["id"])  # the fields of the block are not documented

    def judge_request(self, line: Json) -> None:
        request = request_of(line)
        body, request_id = request["request"], request.get("request_id")
        inner_type = request.get("type") == "control_request"
        self.check("A nested request repeats its type.", inner_type, "line 201", line)
        good = is_text(request_id) and bool(request_id)
        rule = "line 202, line 329 (lines 231-257 leave it out)"
        self.check("A control request has a request_id.", good, rule, line)
        self.check("request_id is unique.", request_id not in self.request_ids, "line 202", line)
        self.request_ids.add(str(request_id))
        good = body.get("subtype") == "can_use_tool"
        self.check("The subtype is can_use_tool.", good, "line 222", body.get("subtype"))
        good = is_text(body.get("tool_name")) and isinstance(body.get("input"), dict)
        self.check("tool_name and input are there.", good, "lines 223-224", body)
        self.check("tool_use_id is there.", is_text(body.get("tool_use_id")), "line 226", body)
        self.tool_ids.add(str(body.get("tool_use_id")))
        self.judge_suggestions(body.get("permission_suggestions"))
        if body.get("tool_name") == "AskUserQuestion":
            self.judge_questions(body.get("input"))

    def judge_suggestions(self, hints: Any) -> None:
        if hints is not None:
            good = isinstance(hints, list) and all(
                isinstance(hint, dict) and is_text(hint.get("behavior")) for hint in hints
            )
            good = good and all(is_text(hint.get("message", "")) for hint in hints)
            name = "permission_suggestions have behavior and message."
            self.check(name, good, "lines 209-214, line 225", hints)

    def judge_questions(self, tool_input: Any) -> None:
        questions = tool_input.get("questions") if isinstance(tool_input, dict) else None
        good = isinstance(questions, list) and bool(questions) and all(map(is_question, questions))
        self.check("The questions have the documented form.", good, "lines 236-254", tool_input)

    def judge_response(self, line: Json) -> None:
        # The output section has no such message; line 341 may be read for both directions.
        response = line.get("response")
        request_id = response.get("request_id") if isinstance(response, dict) else None
        good = request_id in self.sent_ids
        self.check("A control response matches our request.", good, "line 74, line 341", line)

    def judge_user(self, line: Json) -> None:
        message = line.get("message")
        good = isinstance(message, dict) and message.get("role") == "user"
        content = message.get("content") if isinstance(message, dict) else None
        good = good and isinstance(content, list) and all(isinstance(b, dict) for b in content)
        self.check("A user line has role and content.", good, "lines 265-276, 284-296", line)
        if not isinstance(content, list):
            return
        if any(isinstance(b, dict) and b.get("type") == "tool_result" for b in content):
            self.judge_tool_result(line, content)
            return
        good = bool(self.echoes) and content == self.echoes[0]
        self.check("The echo repeats the prompt's content.", good, "lines 262-276", line)
        self.echoes = self.echoes[1:]

    def judge_tool_result(self, line: Json, content: list[Any]) -> None:
        for block in content:
            good = isinstance(block, dict) and block.get("type") == "tool_result"
            good = good and is_text(block.get("content")) and type(block.get("is_error")) is bool
            self.check("A tool result has its fields.", good, "lines 288-295", block)
            tool_id = block.get("tool_use_id") if good else None
            known = tool_id in self.tool_ids
            self.check("A tool result names a known tool use.", known, "line 293", block)
        good = is_text(line.get("tool_use_result"))
        self.check("tool_use_result is a string.", good, "line 297", line.get("tool_use_result"))

    def judge_error(self, line: Json) -> None:
        error = line.get("error")
        good = isinstance(error, dict) and is_text(error.get("type"))
        good = good and isinstance(error, dict) and is_text(error.get("message"))
        self.check("An error has type and message.", good, "lines 306-312", line)

    # -- steps of flows

    def wait_end(self, error_before: bool = False) -> Json | None:
        """Line 160: `end_turn`; an error (line 307) instead of it also ends the wait.

        Line 303: the CLI may send an error for what it was sent before, sooner or later.
        """
        ends = () if error_before else ("error",)
        line = self.wait(lambda line: is_end(line) or line.get("type") in ends)
        good = line is not None and is_end(line)
        self.check("The turn ends with stop_reason end_turn.", good, "line 160, line 324", line)
        self.check("The prompt is echoed.", not self.echoes, "line 262", self.echoes)
        return line

    def wait_request(self, tool: str | None = None) -> Json | None:
        line = self.wait(lambda line: line.get("type") == "control_request")
        ok = self.check("A permission request comes.", line is not None, "line 195")
        if not ok or line is None:
            return None
        request = request_of(line)
        name = request["request"].get("tool_name")
        self.check("It is for the expected tool.", tool in (None, name), "line 223", name)
        early = self.wait(lambda line: True, QUIET)
        self.check("The CLI waits for the response.", early is None, "line 341", early)
        return request


def request_of(line: Json) -> Json:
    """The control request, nested in `message` (lines 198-218) or flat (lines 231, 329)."""
    nested = line.get("message")
    inner = nested if isinstance(nested, dict) else line
    body = inner.get("request")
    return {**inner, "request": body if isinstance(body, dict) else {}}


def is_question(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("options"), list):
        return False
    texts = [value.get("question"), value.get("header")]
    for option in value["options"]:
        known = option if isinstance(option, dict) else {}
        texts += [known.get("label"), known.get("description")]
    return all(map(is_text, texts)) and type(value.get("multiSelect")) is bool


def is_end(line: Json) -> bool:
    message = line.get("message")
    return isinstance(message, dict) and message.get("stop_reason") == "end_turn"


def blocks_of(lines: list[Any], kind: str) -> list[Json]:
    """All content blocks of one type in assistant and user lines."""
    found: list[Json] = []
    for line in lines:
        message = line.get("message") if isinstance(line, dict) else None
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else []:
            if isinstance(block, dict) and block.get("type") == kind:
                found.append(block)
    return found


# ---------------------------------------------------------------- flows


def flow_open(client: Client) -> None:
    early = client.wait(lambda line: True, 2.0)
    client.check("Nothing comes before the first prompt.", early is None, "lines 317-324", early)
    alive = client.process.poll() is None
    client.check("The CLI waits for a prompt.", alive, "line 317", client.process.poll())


def flow_turns(client: Client) -> None:
    for text in ("one", "two"):
        client.prompt(text)
        client.wait_end()


def flow_streaming(client: Client) -> None:
    client.prompt("client:streaming")
    client.wait_end()
    lines = [line for line in client.lines if isinstance(line, dict)]
    deltas = [d for line in lines if isinstance(d := line.get("delta"), dict)]
    client.check("Partial updates come.", bool(deltas), "line 177")
    parts = [d["delta"].get("text") for d in deltas if isinstance(d.get("delta"), dict)]
    text = "".join(part for part in parts if isinstance(part, str))
    full = "".join(str(b.get("text")) for line in lines for b in own_text(line))
    client.check("The deltas are part of the full text.", text in full, "line 177", [text, full])


def own_text(line: Json) -> list[Json]:
    return blocks_of([line], "text") if line.get("type") == "assistant" else []


def flow_tool_use(client: Client) -> None:
    client.prompt("client:tool_use")
    client.wait_end()
    used = blocks_of(client.lines, "tool_use")
    client.check("A tool_use block comes.", bool(used), "line 173")
    results = blocks_of(client.lines, "tool_result")
    client.check("A tool result comes.", bool(results), "line 281")


def flow_allow(client: Client, flow: str) -> None:
    client.prompt(f"client:{flow}")
    request = client.wait_request()
    if request is None:
        return
    if flow == "permission_remember":
        hints = request["request"].get("permission_suggestions")
        client.check("Suggestions are there.", bool(hints), "lines 209-214", hints)
    tool_input = request["request"].get("input")
    client.answer(request, {"behavior": "allow", "updatedInput": tool_input})
    client.wait_end()


def flow_deny(client: Client) -> None:
    client.prompt("client:permission_deny")
    request = client.wait_request()
    if request is None:
        return
    before = len(client.lines)
    client.answer(request, {"behavior": "deny", "message": "User declined this operation"})
    client.wait_end()
    after = client.lines[before:]
    tool_id = request["request"].get("tool_use_id")
    results = [b for b in blocks_of(after, "tool_result") if b.get("tool_use_id") == tool_id]
    good = all(block.get("is_error") is True for block in results)
    client.check("The denied tool is not executed.", good, "line 342", results)
    client.check("The user is informed.", bool(blocks_of(after, "text")), "line 342", after)


def flow_question(client: Client, multi: bool) -> None:
    client.prompt("client:question_multi" if multi else "client:question_single")
    request = client.wait_request("AskUserQuestion")
    if request is None:
        return
    answers: Json = {}
    tool_input = request["request"].get("input")
    questions = tool_input.get("questions") if isinstance(tool_input, dict) else None
    for index, question in enumerate(questions if isinstance(questions, list) else []):
        if is_question(question):
            labels = [option["label"] for option in question["options"]]
            answers[str(index)] = labels[:2] if question["multiSelect"] else labels[0]
    kinds = {type(value) is list for value in answers.values()}
    client.check("multiSelect is as asked for.", multi in kinds, "line 251", tool_input)
    client.answer(request, {"behavior": "allow", "updatedInput": {"answers": answers}})
    client.wait_end()


def flow_interrupt(client: Client) -> None:
    client.prompt("client:interrupt")
    begun = client.wait(lambda line: line.get("type") == "assistant")
    client.check("The operation begins.", begun is not None, "line 144")
    client.control("interrupt")
    # Line 62 says only that the operation stops: an end_turn may come, or nothing.
    client.wait(is_end, 3.0)
    late = client.wait(lambda line: line.get("type") == "assistant", 1.0)
    client.check("Nothing more is said after the stop.", late is None, "line 62", late)


def flow_unknown_request(client: Client) -> None:
    client.control("no_such_subtype")
    client.prompt("client:unknown_request")
    client.wait_end(error_before=True)


def flow_malformed(client: Client) -> None:
    client.send("not json")
    client.prompt("client:malformed")
    client.wait_end(error_before=True)


def flow_error(client: Client) -> None:
    client.prompt("client:error")
    line = client.wait(lambda line: is_end(line) or line.get("type") == "error")
    good = line is not None and line.get("type") == "error"
    client.check("The error message comes.", good, "lines 303-312", line)


def flow_blocks(client: Client) -> None:
    client.prompt("client:blocks", "a second block")  # line 44: array of content blocks
    client.wait_end()


def flow_shutdown(client: Client) -> None:
    client.prompt("client:shutdown")
    client.wait_end()
    code = client.close()
    client.check("The CLI exits with 0 at the end of input.", code == 0, "an ordinary end", code)


FLOWS: dict[str, Callable[[Client], None]] = {
    "open": flow_open,
    "turns": flow_turns,
    "streaming": flow_streaming,
    "tool_use": flow_tool_use,
    "permission_allow": lambda client: flow_allow(client, "permission_allow"),
    "permission_deny": flow_deny,
    "permission_remember": lambda client: flow_allow(client, "permission_remember"),
    "question_single": lambda client: flow_question(client, False),
    "question_multi": lambda client: flow_question(client, True),
    "interrupt": flow_interrupt,
    "unknown_request": flow_unknown_request,
    "malformed": flow_malformed,
    "error": flow_error,
    "blocks": flow_blocks,
    "shutdown": flow_shutdown,
}


if __name__ == "__main__":
    harness.drive(FLOWS, Client)
