"""The application in each flow of the documents.

The CLI's part is in `document_*/cli.py`: a prompt `flow:NAME` begins it, and its last text reports
what the CLI understood. Here is the other side, through the public API of sessions.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.judges.seeds.documents import DOCUMENTS
from tests.judges.seeds.hosts import Flow, Host, Json, Plan, command, refuse

import claudewire
from claudewire import AssistantMessage, TextBlock, wire

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
BUILD = {"command": "rm -r build"}
COLOUR, SIZE = "Which colour?", "Which size?"

Decide = Callable[[claudewire.PermissionRequest], claudewire.PermissionResult]
Answers = Callable[[claudewire.QuestionRequest], claudewire.PermissionResult]


@dataclass(frozen=True)
class Spec:
    """One flow.

    Attributes:
        play: what the application does, and the checks.
        documents: those that have it.
        decide: its answer to permissions.
        answer: its answer to questions.
        together: how many permissions are open at the same time.
        fresh: the session is not shared with other flows.
    """

    play: Flow
    documents: tuple[str, ...]
    decide: Decide = refuse
    answer: Answers = refuse
    together: int = 1
    fresh: bool = False

    def plan(self) -> Plan:
        return Plan(self.decide, self.answer, self.together)


FLOWS: dict[str, Spec] = {}
ALL = " ".join(DOCUMENTS)


def flow(
    name: str, documents: str = ALL, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(play: Callable[..., Any]) -> Callable[..., Any]:
        FLOWS[name] = Spec(play, tuple(documents.split()), **more)
        return play

    return register


HERE = Path(__file__).resolve().parent


# --- helpers -------------------------------------------------------------------------------------


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


def texts_of(reply: claudewire.Reply) -> list[str]:
    return [
        block.text
        for message in reply.messages
        if isinstance(message, AssistantMessage)
        for block in message.message.content
        if isinstance(block, TextBlock)
    ]


def parsed(text: str, name: str) -> Json:
    assert text.startswith("report:"), text
    report: Json = json.loads(text.removeprefix("report:"))
    assert report.pop("flow") == name
    assert "absent" not in report, "the CLI does not have this flow"
    return report


async def ask(host: Host, prompt: Any) -> claudewire.Reply:
    reply: claudewire.Reply = await host.session.send(prompt)
    return reply


async def reported(host: Host, name: str) -> tuple[Json, claudewire.Reply]:
    """Play the CLI's part of a flow; return its report and the reply."""
    reply = await ask(host, f"flow:{name}")
    assert reply.ok
    assert texts_of(reply)[-1] == reply.text
    return parsed(reply.text, name), reply


async def still_works(host: Host) -> None:
    assert (await ask(host, "still there?")).text == "echo: still there?"


def blocks(reply: claudewire.Reply, kind: type[Any]) -> list[Any]:
    contents = [
        message.message.content
        for message in reply.messages
        if isinstance(message, AssistantMessage | claudewire.UserMessage)
    ]
    return [
        block
        for content in contents
        if not isinstance(content, str)
        for block in content
        if isinstance(block, kind)
    ]


def simple(name: str, documents: str, *texts: str) -> None:
    """A flow in which the CLI only says something."""

    @flow(name, documents)
    async def play(host: Host) -> None:
        report, reply = await reported(host, name)
        assert report == {}
        assert texts_of(reply)[:-1] == list(texts)


# --- opening and turns ---------------------------------------------------------------------------


@flow("opening", fresh=True)
async def opening(host: Host) -> None:
    await host.open()
    assert parsed((await ask(host, "flow:text")).text, "text") == {}
    assert host.session.session_id is not None
    assert host.session.state == "ready"
    what_is_offered = {"000": offered_by_000, "001": offered_by_001}.get(host.document.number)
    if what_is_offered is not None:
        what_is_offered(host.session.cli_info, host.session.init_message)
    await host.close()


def offered_by_000(info: wire.InitializeResult, init: wire.InitMessage) -> None:
    assert [(it.name, it.argument_hint) for it in info.commands or []] == [
        ("compact", "[text]"),
        ("context", ""),
    ]
    assert (info.models or [])[1].display_name == "Sonnet"
    assert info.output_style == "default"
    assert info.available_output_styles == ["default", "Explanatory", "Learning"]
    assert info.account is not None
    assert (info.account.email, info.account.organization, info.account.subscription_type) == (
        "user@example.com",
        "Org Name",
        "Claude Max",
    )
    assert "AskUserQuestion" in (init.tools or [])
    assert (init.permission_mode, init.api_key_source) == ("default", "none")
    assert init.slash_commands == ["compact", "context", "cost"]
    assert init.claude_code_version == "2.1.17"


def offered_by_001(info: wire.InitializeResult, init: wire.InitMessage) -> None:
    assert [it.name for it in info.commands or []] == ["/help", "/clear"]
    assert [it.display_name for it in info.models or []] == ["Sonnet (Fast)", "Opus (Powerful)"]
    assert info.available_output_styles == ["markdown", "json"]
    assert info.account is not None
    assert info.account.email == "user@example.com"
    assert init.tools == ["Bash", "Read"]
    assert (init.tool_descriptions or {})["Bash"] == "Execute bash commands"


def reading(name: str, **env: str) -> None:
    """Another reading of document 002, which does not say when something comes."""

    @flow(name, "002", fresh=True)
    async def play(host: Host) -> None:
        await host.open(env=env)
        assert (await ask(host, "one")).text == "echo: one"
        report, _ = await reported(host, "mcp_call")
        assert report["result"] == "5"
        await host.close()


reading("init_before_everything", PEER_INIT="start")
reading("init_after_initialize", PEER_INIT="initialize")
reading("init_once", PEER_INIT="first")
reading("servers_at_the_start", PEER_MCP="eager")
reading("prompts_echoed", PEER_ECHO="1")


@flow("run", fresh=True)
async def run(host: Host) -> None:
    reply = await host.run("flow:text")
    assert parsed(reply.text, "text") == {}
    assert reply.session_id is not None


@flow("turns")
async def turns(host: Host) -> None:
    sent = [host.session.send(text) for text in ("one", "two", "three")]
    said = [(await turn).text for turn in sent]
    assert said == ["echo: one", "echo: two", "echo: three"]


@flow("text")
async def text(host: Host) -> None:
    report, reply = await reported(host, "text")
    assert report == {}
    assert reply.session_id == host.session.session_id


simple("text_short", "004")
simple("result_short", "002")
simple("unicode", "001", 'é 漢 🎉 \u2028 \u0085 \\ " \n end')
simple("debug_output", "001")


async def stream(host: Host, name: str) -> None:
    turn = host.session.send(f"flow:{name}")
    pieces = [text async for text in turn.iter_text()]
    reply = await turn
    assert parsed(reply.text, name) == {"text": "Hello, streamed world"}
    assert pieces[:3] == ["Hello, ", "streamed ", "world"]
    assert "".join(pieces) == f"Hello, streamed world\n\n{reply.text}"


for _name, _documents in (("streaming", "002 004"), ("streaming_object", "002")):
    flow(_name, _documents)(lambda host, name=_name: stream(host, name))


@flow("thinking", "002")
async def thinking(host: Host) -> None:
    report, reply = await reported(host, "thinking")
    assert report == {}
    assert [it.thinking for it in blocks(reply, claudewire.ThinkingBlock)] == ["Let me think."]


# --- tools and permissions -----------------------------------------------------------------------


@flow("tool_use")
async def tool_use(host: Host) -> None:
    report, reply = await reported(host, "tool_use")
    assert report == {}
    (use,) = reply.tool_uses
    assert (use.name, use.input) == ("Bash", {"command": "ls"})
    if host.document.number != "002":  # it does not say how a result is written
        (result,) = blocks(reply, claudewire.ToolResultBlock)
        assert result.tool_use_id == use.id
        assert not result.is_error


@flow("tool_error", "000 004")
async def tool_error(host: Host) -> None:
    report, reply = await reported(host, "tool_error")
    assert report == {}
    (result,) = blocks(reply, claudewire.ToolResultBlock)
    assert result.is_error


@flow("tool_result_only", "001")
async def tool_result_only(host: Host) -> None:
    _, reply = await reported(host, "tool_result_only")
    assert len(blocks(reply, claudewire.ToolResultBlock)) == 1


def allow(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    assert (request.tool_name, request.input) == ("Bash", BUILD)
    return request.allow()


def deny(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    return request.deny("no, thank you")


def change(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    return request.allow(input={"command": "rm -r build/tmp"})


def permission(name: str, documents: str, decide: Decide, **is_told: Any) -> None:
    @flow(name, documents, decide=decide)
    async def play(host: Host) -> None:
        report, _ = await reported(host, name)
        assert report == report | is_told
        assert len(host.plan.asked) == 1


_DENIED = {"behavior": "deny", "message": "no, thank you"}
permission("permission_allow", ALL, allow, behavior="allow", input=BUILD)
permission("permission_deny", ALL, deny, **_DENIED)
_CHANGED = {"command": "rm -r build/tmp"}
permission("permission_change", "000 001 004", change, behavior="allow", input=_CHANGED)
permission("permission_allow_flat", "004", allow, behavior="allow", input=BUILD)
permission("control_type", "002", allow, behavior="allow", input=BUILD)


def remember(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    assert request.suggestions
    assert all(suggestion.describe() for suggestion in request.suggestions)
    return request.allow(remember=0)


@flow("permission_remember", "000 001", decide=remember)
async def permission_remember(host: Host) -> None:
    report, _ = await reported(host, "permission_remember")
    rules = {
        "000": {
            "type": "addRules",
            "rules": [{"toolName": "Bash", "ruleContent": "rm -r build"}],
            "behavior": "allow",
            "destination": "session",
        },
        "001": {"type": "bash", "action": "allow", "pattern": "rm *", "scope": "session"},
    }
    assert report["remembered"] == [rules[host.document.number]]


def show_hints(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    assert len(request.suggestions) == 2
    assert "Safe to run" in request.suggestions[0].describe()
    return request.allow()


@flow("permission_hints", "004", decide=show_hints)
async def permission_hints(host: Host) -> None:
    report, _ = await reported(host, "permission_remember")
    assert report["behavior"] == "allow"
    assert set(report["raw"]) == {"behavior", "updatedInput", "toolUseID"}


def each_its_own(request: claudewire.PermissionRequest) -> claudewire.PermissionResult:
    letter = request.input["command"][-1]
    return request.deny(f"not {letter}") if letter == "b" else request.allow()


def check_each(requests: Json) -> None:
    by_command = {it.get("command", key): it["behavior"] for key, it in requests.items()}
    assert by_command == {"rm a": "allow", "rm b": "deny", "rm c": "allow"}


@flow("permission_parallel", "000 001 002", decide=each_its_own, together=3)
async def permission_parallel(host: Host) -> None:
    report, _ = await reported(host, "permission_parallel")
    check_each(report["requests"])


@flow("permission_sequence", "004", decide=each_its_own)
async def permission_sequence(host: Host) -> None:
    report, _ = await reported(host, "permission_sequence")
    check_each({it["asked"]: it for it in report["requests"]})


@flow("example", "004", decide=lambda request: request.allow())
async def example(host: Host) -> None:
    """Lines 317-335 word for word: `end_turn`, and then a permission."""
    reply = await ask(host, "flow:example")
    assert reply.ok
    await still_works(host)
    (request,) = host.plan.asked
    assert request.input == {"command": "date"}


# --- questions -----------------------------------------------------------------------------------


def question(name: str, answer: Answers, answers: Json | None, documents: str = "000 004") -> None:
    @flow(name, documents, answer=answer)
    async def play(host: Host) -> None:
        report, _ = await reported(host, name)
        assert report["answers"] == (answers or {})
        assert report["skipped"] == (answers is None)
        assert host.plan.asked[0].questions[0].question == COLOUR


question("question_single", lambda it: it.answer("Green"), {COLOUR: ["Green"]})
question(
    "question_two", lambda it: it.answer({0: "Red", 1: "Large"}), {COLOUR: ["Red"], SIZE: ["Large"]}
)
question("question_free", lambda it: it.answer(other="Teal"), {COLOUR: ["Teal"]})
question("question_skipped", lambda it: it.skip(), None)


@flow("question_multi", "000 004", answer=lambda it: it.answer(["Red", "Blue"]))
async def question_multi(host: Host) -> None:
    report, _ = await reported(host, "question_multi")
    joined = host.document.number == "000"
    assert report["answers"] == {COLOUR: ["Red, Blue"] if joined else ["Red", "Blue"]}


@flow("question_multi_lists", "000", answer=lambda it: it.answer(["Red", "Blue"]), fresh=True)
async def question_multi_lists(host: Host) -> None:
    await host.open(answer_form="lists")
    report, _ = await reported(host, "question_multi")
    assert report["answers"] == {COLOUR: ["Red", "Blue"]}
    await host.close()


@flow("question_without_id", "004", answer=lambda it: it.answer("Green"))
async def question_without_id(host: Host) -> None:
    report, _ = await reported(host, "question_without_id")
    inner = report["answer"]["response"]["response"]
    assert inner["updatedInput"]["answers"] == {"0": "Green"}


# --- hooks and servers ---------------------------------------------------------------------------


@flow("hooks_registered", "002")
async def hooks_registered(host: Host) -> None:
    report, _ = await reported(host, "hooks_registered")
    (entry,) = report["hooks"]["PreToolUse"]
    assert entry["matcher"] == "Bash"
    assert len(entry["hook_callback_ids"]) == 1


def server(name: str, **told: Any) -> None:
    @flow(f"mcp_{name}", "002")
    async def play(host: Host) -> None:
        report, _ = await reported(host, f"mcp_{name}")
        assert report == report | told


@flow("mcp_handshake", "002", fresh=True)
async def mcp_handshake(host: Host) -> None:
    """Lines 251-262: the values of the handshake."""
    await host.open()
    await reported(host, "mcp_list")
    await host.close()
    said = [json.loads(line) for line in read(str(host.log)).splitlines()]
    inner = [
        line["line"]["response"]["response"]["mcp_response"]["result"]
        for line in said
        if line["kind"] == "rx" and "protocolVersion" in json.dumps(line)
    ]
    (result,) = inner
    assert result["protocolVersion"] == "2025-11-25"
    assert not result["capabilities"]["tools"].get("listChanged", False)
    assert result["serverInfo"]["name"] == "calc"


server("list", tools=["add", "fail"])
server("call", form="result", is_error=False, result="5")
server("tool_error", form="result", is_error=True)
server("unknown_tool", is_error=True)


# --- interrupts, failures, errors ----------------------------------------------------------------


async def stopped(host: Host, turn: Any) -> None:
    """An interrupted turn ends, one way or the other, and the session goes on."""
    with contextlib.suppress(claudewire.TurnError):
        await turn
    await still_works(host)


def interrupted(name: str, documents: str) -> None:
    @flow(name, documents)
    async def play(host: Host) -> None:
        turn = host.session.send(f"flow:{name}")
        async for message in turn:
            if isinstance(message, AssistantMessage):
                break
        receipt = await host.session.interrupt()
        assert receipt.turn is not None
        await stopped(host, turn)


interrupted("interrupt", "001 004")
interrupted("interrupt_result", "001")
interrupted("interrupt_result_before", "001")
interrupted("interrupt_answered", "004")
interrupted("interrupt_silent", "004")


@flow("interrupt_permission", "001 004", together=2)
async def interrupt_permission(host: Host) -> None:
    """The permission stays open, because a second one must arrive first."""
    turn = host.session.send("flow:interrupt_permission")
    await host.was_asked.wait()
    await host.session.interrupt()
    await stopped(host, turn)


def failed(name: str, documents: str, subtype: str) -> None:
    @flow(name, documents)
    async def play(host: Host) -> None:
        reply = await ask(host, f"flow:{name}")
        assert not reply.ok
        assert reply.result.subtype == subtype
        with pytest.raises(claudewire.TurnError):
            reply.raise_for_error()
        await still_works(host)


failed("failed_max_turns", "000 001", "error_max_turns")
failed("failed_execution", "000", "error_during_execution")
failed("failed_max_budget", "000", "error_max_budget_usd")
failed("failed_any", "001", "error_any")


def error(name: str, documents: str) -> None:
    """An error ends the turn, or is part of it; the prompt after it has its own reply."""

    @flow(name, documents, fresh=name == "error_no_session")
    async def play(host: Host) -> None:
        if host.session is None:
            await host.open()
        with contextlib.suppress(claudewire.TurnError):
            await ask(host, f"flow:{name}")
        await still_works(host)


error("error_message", "001 002 004")
error("error_in_turn", "001 002 004")
error("error_no_session", "001")
error("error_then_result", "001")
error("error_then_goes_on", "001")


@flow("request_refused")
async def request_refused(host: Host) -> None:
    """A request that the document does not have is refused, and that is told at once."""
    with pytest.raises(claudewire.RequestError) as raised:
        await host.session.request(wire.SetPermissionMode("plan"))
    assert not isinstance(raised.value, claudewire.RequestTimeout)
    await still_works(host)


# --- content and the unexpected ------------------------------------------------------------------


@flow("image", "001 004", fresh=True)
async def image(host: Host) -> None:
    await host.open()
    reply = await ask(host, ["flow:image", claudewire.image(PNG)])
    assert parsed(reply.text, "image") == {
        "images": [{"media_type": "image/png", "bytes": len(PNG)}]
    }
    await host.close()


def is_refusal(answer: Json | None, number: str) -> bool:
    """Any refusal will do where a document has none; 004 lets a host be silent."""
    if answer is None:
        return number == "004"
    if number == "001":
        return bool(answer["type"] == "callback.response")
    return "error" in json.dumps(answer) or "deny" in json.dumps(answer)


def strange(name: str, documents: str = ALL) -> None:
    @flow(name, documents)
    async def play(host: Host) -> None:
        report, _ = await reported(host, name)
        assert is_refusal(report["answer"], host.document.number), report


strange("unknown_request")
strange("malformed_request")


@flow("late_init", "002")
async def late_init(host: Host) -> None:
    report, _ = await reported(host, "late_init")
    assert report == {}
    await still_works(host)


@flow("compact_boundary", "001")
async def compact_boundary(host: Host) -> None:
    _, reply = await reported(host, "compact_boundary")
    assert any(isinstance(it, wire.CompactBoundaryMessage) for it in reply.messages)


@flow("echoes", "001 002 004")
async def echoes(host: Host) -> None:
    """A prompt that comes back is no answer, and begins no turn."""
    name = {"001": "user_message", "002": "user_echo", "004": "text"}[host.document.number]
    await reported(host, name)
    await still_works(host)


@flow("big", "004")
async def big(host: Host) -> None:
    report, reply = await reported(host, "big")
    assert report == {}
    assert texts_of(reply)[0] == "x" * 3_000_000


@flow("usage")
async def usage(host: Host) -> None:
    report, reply = await reported(host, "usage")
    if host.document.number == "002":
        told = report["total_input_tokens"], report["total_output_tokens"]
        assert reply.session_cost_usd == report["total_cost_usd"] == 0.25
    else:
        told = report["usage"]["input_tokens"], report["usage"]["output_tokens"]
    if host.document.number == "004":  # each message has its own
        assert told == (1234, 56)
        assert reply.totals.input_tokens >= 1234
    else:
        assert reply.usage is not None
        assert (reply.usage.input_tokens, reply.usage.output_tokens) == told


# --- what a session is started with --------------------------------------------------------------


@flow("flags", fresh=True)
async def flags(host: Host) -> None:
    """The flags that a document has arrive as it has them."""
    number = host.document.number
    of_documents: dict[str, Json] = {
        "000": {"max_budget_usd": 1.5},
        "002": {"persist_session": False, "env": {"CLAUDE_CONFIG_DIR": "/nowhere"}},
    }
    own = of_documents.get(number, {})
    common: Json = {"model": "opus", "permission_mode": "plan", "max_turns": 3}
    await host.open(setting_sources=["user"], **common, **own)
    name = {"001": "flags", "004": "model_flag"}.get(number, "session")
    report, _ = await reported(host, name)
    if number == "000":
        expected = {"model": "opus", "permission_mode": "plan", "setting_sources": "user"}
        assert report["extra"] == report["extra"] | expected | {
            "max_turns": "3",
            "max_budget_usd": "1.5",
        }
    elif number == "001":
        wanted = {"--model": "opus", "--permission-mode": "plan", "--max-turns": "3"}
        assert report["flags"] == report["flags"] | wanted
    elif number == "002":
        wanted = {"--model": "opus", "--permission-mode": "plan", "--setting-sources": "user"}
        assert report["extra"] == report["extra"] | wanted
        assert report["extra"]["--no-session-persistence"]
        assert report["extra"]["CLAUDE_CONFIG_DIR"] == "/nowhere"
        assert report["extra"]["CLAUDE_CODE_ENTRYPOINT"]
        assert report["extra"]["CLAUDE_AGENT_SDK_VERSION"]
    else:
        assert report["model"] == "opus"
    await host.close()


@flow("session_id", fresh=True)
async def session_id(host: Host) -> None:
    """The host learns the id, and says it where the document wants it said."""
    await host.open()
    report, _ = await reported(host, "session")
    assert host.session.session_id == report["session_id"]
    assert not report["resumed"]
    second, _ = await reported(host, "session")
    assert second["session_id"] == report["session_id"]
    if host.document.number == "000":
        assert second["extra"]["prompt_session_id"] == report["session_id"]
    await host.close()


@flow("system_prompt", "000 001 002", fresh=True)
async def system_prompt(host: Host) -> None:
    await host.open(system_prompt="Speak Latin.")
    report, _ = await reported(host, "session")
    assert report["system_prompt"] == "Speak Latin."
    await host.close()


@flow("mcp_servers", "000 001", fresh=True)
async def mcp_servers(host: Host) -> None:
    config: Json = {"files": {"type": "stdio", "command": "files", "args": ["--here"]}}
    await host.open(mcp_servers=config)
    report, _ = await reported(host, "session")
    assert report["mcp_servers"] == config
    await host.close()


@flow("working_directory", fresh=True)
async def working_directory(host: Host) -> None:
    is_session = host.document.dialect == "session"  # it is told only by its flag, see DECIDED
    await host.open(cwd=HERE)
    is_auto = host.session.options.dialect == "auto"
    report, _ = await reported(host, "session")
    assert report["cwd"] == (None if is_session and is_auto else str(HERE))
    await host.close()


@flow("resume", "000 001", fresh=True)
async def resume(host: Host) -> None:
    known = "0b0d4b3e-5f1c-4b62-8d52-5b6e2d1b8f55"
    await host.open(resume=known)
    report, _ = await reported(host, "session")
    assert report["resumed"]
    assert report["session_id"] == host.session.session_id == known
    await still_works(host)
    await host.close()


@flow("resume_of_nothing", "001", fresh=True)
async def resume_of_nothing(host: Host) -> None:
    """Lines 351-352: SESSION_NOT_FOUND."""
    with pytest.raises(claudewire.Error, match="not found"):
        await host.run("flow:text", resume="no-such-session")


# --- the end -------------------------------------------------------------------------------------

REMEMBERS = ["/bin/sh", "-c", '"$@"; echo $? >"$PEER_LOG.status"', "sh"]
"""A shell that notes how the program ended; not if it was itself ended by a signal."""


@flow("shutdown", fresh=True)
async def shutdown(host: Host) -> None:
    """The end of input is enough: the CLI exits by itself."""
    await host.open(cli=[*REMEMBERS, *command(host.document)])
    await reported(host, "text")
    await host.close()
    assert host.session.state == "closed"
    assert read(f"{host.log}.status") == "0\n"


@flow("linger", "002", fresh=True)
async def linger(host: Host) -> None:
    """Line 342: SIGTERM after a timeout, if the CLI does not exit."""
    await host.open(timeouts=claudewire.Timeouts(exit=0.1))
    await reported(host, "linger")
    await host.close()
    assert host.session.state == "closed"
