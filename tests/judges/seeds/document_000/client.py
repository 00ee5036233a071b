"""A fake host that speaks document 000 and is strict about what a CLI sends.

Its arguments are `FLOW -- COMMAND…`; it prints one JSON object with the checks of that flow.
"""

from __future__ import annotations

import os
import queue
import uuid
from collections.abc import Callable
from typing import Any

import forms
import harness
from harness import WAIT, Json

PAUSE = 0.3  # seconds in which nothing may come (line 169: "CLI pauses here")
# Line 101 has init before the first prompt. PEER_INIT=turn: it is known to come within turns, and
# everything else is judged all the same.
INIT_LATER = os.environ.get("PEER_INIT") == "turn"
RESUMED = "11111111-2222-4333-8444-555555555555"

# The forms of lines by their type: lines 70-122, 187-214, 338-425.
LINE_FORMS: dict[str, forms.Form] = {
    "control_response": forms.INITIALIZED,
    "system": forms.SYSTEM_INIT,
    "assistant": forms.ASSISTANT,
    "user": forms.TOOL_RESULTS,
    "control_request": forms.CAN_USE_TOOL,
    "result": forms.RESULT,
}

Answerer = Callable[[Json], Json]  # the request's body → the inner response


# The command line of lines 20-27.
ARGUMENTS = [
    *("--output-format", "stream-json", "--input-format", "stream-json", "--model", "sonnet"),
    *("--permission-mode", "default", "--permission-prompt-tool", "stdio"),
    *("--setting-sources", "user,project,local", "--verbose"),
]


class Host(harness.Driven):
    def __init__(self, flow: str, command: list[str]) -> None:
        more = ["--resume", RESUMED] if flow == "resume" else []
        super().__init__([*command, *ARGUMENTS, *more])
        self.held: list[Json] = []  # lines that came in a pause, still to be handled
        self.session_id = ""
        self.seen_ids: set[str] = set()
        self.own_requests: set[str] = set()  # requests of ours whose answer has no known form

    # -- lines --

    def judge(self, line: Json) -> None:
        kind, number = line.get("type"), len(self.lines)
        form = LINE_FORMS.get(kind) if isinstance(kind, str) else None
        name = f"line {number} ({kind}) has the document's form"
        if form is None:
            self.check(name, False, f"types known: {', '.join(LINE_FORMS)}", kind)
            return
        if kind == "control_response" and answered_id(line) in self.own_requests:
            self.check(name, True, "line 9: the document has no form for this answer", line)
            return
        if kind == "system" and INIT_LATER:
            self.session_id = str(line.get("session_id"))
        wrong = forms.check(form, line)
        rule = wrong[0][1] if wrong else "lines 53-424: forms"
        self.check(name, not wrong, rule, [what for what, _ in wrong])
        if kind in ("assistant", "user", "result") and self.session_id:
            same = line.get("session_id") == self.session_id
            rule = "line 139: The CLI uses its internal session from initialization"
            self.check(f"line {number} has the session's id", same, rule, line.get("session_id"))

    def expect(self, name: str, rule: str) -> Json:
        """The next line; the flow stops if none comes."""
        try:
            line = self.receive()
        except queue.Empty:
            line = None
            name += " (nothing came in time)"
        if line is None:
            self.demand(name, False, rule)
        assert line is not None
        return line

    # -- session --

    def open(self, **settings: Any) -> Json:
        """Lines 150-152: initialize, its answer, the init message. Returns the latter."""
        request_id = str(uuid.uuid4())
        values = {"systemPrompt": "", "mcpServers": {}, "agents": {}, "hooks": {}, **settings}
        request = {"subtype": "initialize", **values}
        self.send({"request_id": request_id, "type": "control_request", "request": request})
        answer = self.expect("initialize is answered", "line 151: control_response (success)")
        kind = answer.get("type")
        first = "the first line is the answer to initialize"
        self.demand(first, kind == "control_response", "lines 150-151", kind)
        same = answered_id(answer) == request_id
        self.check("the answer has the request's id", same, "line 76", answered_id(answer))
        if INIT_LATER:
            return {}
        init = self.expect("the init message comes", "line 101: After control_response")
        named = (init.get("type"), init.get("subtype"))
        rule = "line 101: After control_response, the CLI sends a system message"
        self.demand("the second line is system init", named == ("system", "init"), rule, named)
        session_id = init.get("session_id")
        self.session_id = session_id if isinstance(session_id, str) else ""
        return init

    def prompt(self, text: str) -> None:
        self.send(
            {
                "type": "user",
                "message": {"role": "user", "content": text},
                "parent_tool_use_id": None,
                "session_id": self.session_id,
            }
        )

    def turn(self, text: str, answerer: Answerer | None = None) -> list[Json]:
        """One prompt up to its result (lines 154-158, 166-178); returns the turn's lines."""
        self.prompt(text)
        got: list[Json] = []
        while not got or got[-1].get("type") != "result":
            ends = "the turn ends with a result"
            line = self.held.pop(0) if self.held else self.expect(ends, "line 158: result")
            got.append(line)
            if line.get("type") == "control_request":
                self.answer(line, got, answerer or allow)
        self.judge_turn(got)
        return got

    def answer(self, line: Json, before: list[Json], answerer: Answerer) -> None:
        """Judge a permission request and answer it (lines 169-174)."""
        body = line.get("request")
        if not isinstance(body, dict) or body.get("subtype") != "can_use_tool":
            return  # the form check has told this already
        request_id = line.get("request_id")
        fresh = isinstance(request_id, str) and request_id not in self.seen_ids
        self.check("the request has an id of its own", fresh, "line 192: uuid", request_id)
        self.seen_ids.add(str(request_id))
        use = next((b for b in blocks(before) if b.get("id") == body.get("tool_use_id")), None)
        rule = "lines 167-169: assistant (with tool_use), then control_request"
        self.check("the request follows its tool_use block", use is not None, rule, use)
        if use is not None:
            same = (use.get("name"), use.get("input")) == (body.get("tool_name"), body.get("input"))
            self.check("tool_use and request agree", same, "lines 218-220: Correlation ID", body)
        self.pause()
        inner = {"toolUseID": body.get("tool_use_id"), **answerer(body)}
        response = {"subtype": "success", "request_id": request_id, "response": inner}
        self.send({"type": "control_response", "response": response})

    def pause(self) -> None:
        """Line 169: the CLI pauses. Nothing but further permission requests may come."""
        early: list[Json] = []
        try:
            while (line := self.receive(PAUSE)) is not None:
                early.append(line)
        except queue.Empty:
            pass
        self.held += early
        calm = all(line.get("type") == "control_request" for line in early)
        rule = "line 169: CLI pauses here"
        self.check("the CLI pauses for the answer", calm, rule, early or None)

    def judge_turn(self, got: list[Json]) -> None:
        uses = {str(b.get("id")) for b in blocks(got)}
        results = {str(b.get("tool_use_id")) for b in blocks(got, "user", "tool_result")}
        self.check("tool results name earlier tool uses", results <= uses, "line 379", None)
        result = got[-1]
        if result.get("subtype") == "success":
            rule = "lines 155-156, 176: a tool_result for each tool_use"
            self.check("every tool use has its result", uses <= results, rule, sorted(uses))
            last = (texts(got) or [None])[-1]
            same = last == result.get("result")
            rule = "lines 467-470: result repeats the final text"
            self.check("result is the last text", same, rule, [last, result.get("result")])
            ok = result.get("is_error") is False
            self.check("success is no error", ok, "line 401", result.get("is_error"))

    def success(self, got: list[Json]) -> None:
        subtype = got[-1].get("subtype")
        self.check("the turn succeeds", subtype == "success", "line 428", subtype)


def answered_id(line: Json) -> Any:
    inner = line.get("response")
    return inner.get("request_id") if isinstance(inner, dict) else None


def blocks(lines: list[Json], sender: str = "assistant", kind: str = "tool_use") -> list[Json]:
    """The content blocks of one kind in the messages of one sender."""
    found: list[Json] = []
    for line in lines:
        message = line.get("message")
        content = message.get("content") if isinstance(message, dict) else None
        if line.get("type") == sender and isinstance(content, list):
            found += [b for b in content if isinstance(b, dict) and b.get("type") == kind]
    return found


def texts(lines: list[Json]) -> list[Any]:
    return [block.get("text") for block in blocks(lines, "assistant", "text")]


# ---- answers -------------------------------------------------------------------------------


def allow(body: Json) -> Json:
    """Lines 232-239."""
    return {"behavior": "allow", "updatedInput": body.get("input"), "updatedPermissions": []}


def deny(body: Json) -> Json:
    """Lines 260-264."""
    return {"behavior": "deny", "message": "User declined this operation"}


def remember(body: Json) -> Json:
    """Line 249: Permission rules to add (from suggestions)."""
    return {**allow(body), "updatedPermissions": body.get("permission_suggestions", [])}


def choose(body: Json) -> Json:
    """Line 330: the label, or an array of labels for multiSelect."""
    answers: Json = {}
    asked = body.get("input")
    for question in asked.get("questions", []) if isinstance(asked, dict) else []:
        labels = [option["label"] for option in question["options"]]
        answers[question["question"]] = labels[:2] if question["multiSelect"] else labels[0]
    return {"behavior": "allow", "updatedInput": {"answers": answers}}


# ---- flows ---------------------------------------------------------------------------------


def flow_open(host: Host) -> None:
    host.open()


def flow_turns(host: Host) -> None:
    host.open()
    for text in ("one", "two"):
        got = host.turn(text)
        host.success(got)
        host.check(f"{text!r} is answered with text", bool(texts(got)), "line 157", texts(got))


def flow_tool_use(host: Host) -> None:
    host.open()
    got = host.turn("client:tool_use")
    host.success(got)
    order = [("tool_use" if blocks([line]) else line.get("type")) for line in got]
    ok = "tool_use" in order and "user" in order[order.index("tool_use") :]
    host.check("tool_use, then its result", ok, "lines 155-156", order)
    tail = order[len(order) - 1 - order[::-1].index("user") :] if "user" in order else []
    host.check("text after the tool's result", "assistant" in tail, "line 157", order)


def permission_flow(name: str, answerer: Answerer) -> Callable[[Host], None]:
    def flow(host: Host) -> None:
        asked: list[Json] = []

        def note(body: Json) -> Json:
            asked.append(body)
            return answerer(body)

        host.open()
        got = host.turn(f"client:{name}", note)
        host.success(got)
        host.check("the CLI asked for permission", bool(asked), "line 169", len(asked))
        if name == "permission_remember":
            offered = [body.get("permission_suggestions") for body in asked]
            host.check("suggestions are offered", any(offered), "line 221", offered)
        if name.startswith("question"):
            judge_questions(host, name, asked)
        if name == "permission_deny":
            shown = [b.get("content") for b in blocks(got, "user", "tool_result")]
            host.check("a tool_result follows a denial", bool(shown), "lines 174-176", shown)

    return flow


def judge_questions(host: Host, name: str, asked: list[Json]) -> None:
    tools = [body.get("tool_name") for body in asked]
    host.check("AskUserQuestion asks", "AskUserQuestion" in tools, "line 289", tools)
    inputs = [b["input"] for b in asked if isinstance(b.get("input"), dict)]
    multi = [q.get("multiSelect") for i in inputs for q in i.get("questions", [])]
    wanted = name == "question_multi"
    host.check(f"a question has multiSelect {wanted}", wanted in multi, "lines 295, 330", multi)


def flow_error(host: Host) -> None:
    host.open()
    result = host.turn("client:error")[-1]
    subtype = result.get("subtype")
    rule = "lines 429-431: error_max_turns, error_during_execution, error_max_budget_usd"
    host.check("the turn fails", subtype in forms.FAILURES, rule, subtype)


def flow_unknown_request(host: Host) -> None:
    """The document does not say what follows; an answer must match, and turns must go on."""
    host.open()
    request_id = str(uuid.uuid4())
    host.own_requests.add(request_id)
    request = {"subtype": "make_coffee"}
    host.send({"request_id": request_id, "type": "control_request", "request": request})
    try:
        answer = host.receive(min(5.0, WAIT))
        ok = answer is not None and answered_id(answer) == request_id
        host.check("what comes is an answer to the request", ok, "line 9: unified", answer)
    except queue.Empty:
        pass
    host.success(host.turn("client:unknown_request"))


def flow_resume(host: Host) -> None:
    """Line 44. Whether the id stays (line 44) or is new (line 497) is open: not judged."""
    host.open()
    host.success(host.turn("client:resume"))


def flow_shutdown(host: Host) -> None:
    host.open()
    host.success(host.turn("client:shutdown"))
    before = len(host.lines)
    code = host.close()
    host.check("exit code 0 at the end of input", code == 0, "document silent", code)
    late = host.lines[before:]
    host.check("nothing comes outside of a turn", not late, "lines 154-158", late)


FLOWS: dict[str, Callable[[Host], None]] = {
    "open": flow_open,
    "turns": flow_turns,
    "tool_use": flow_tool_use,
    "permission_allow": permission_flow("permission_allow", allow),
    "permission_deny": permission_flow("permission_deny", deny),
    "permission_remember": permission_flow("permission_remember", remember),
    "question_single": permission_flow("question_single", choose),
    "question_multi": permission_flow("question_multi", choose),
    "error": flow_error,
    "unknown_request": flow_unknown_request,
    "resume": flow_resume,
    "shutdown": flow_shutdown,
}

if __name__ == "__main__":
    harness.drive(FLOWS, Host)
