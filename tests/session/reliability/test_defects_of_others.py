"""Defects of other libraries that drive the same CLI do not occur here.

The defects were measured on the official Python SDK 0.2.182; `docs/comparison.md` lists them. P1 to
P8 are probes of a running program, 1 to 22 are points of its code. Other test files show those that
are missing here.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from tests.helpers import messages as saying
from tests.helpers import programs
from tests.helpers.cancellation import WAYS, Operation, at_every_point
from tests.helpers.peer import SOON, Peer
from tests.helpers.processes import PATIENCE, death
from tests.helpers.sessions import connected, options

import claudewire
from claudewire import (
    AssistantMessage,
    Cause,
    CLIError,
    Error,
    PermissionRequest,
    PermissionResult,
    PermissionResultAllow,
    RequestError,
    ResultMessage,
    Session,
    SessionState,
    Timeouts,
    ToolResultBlock,
    TurnState,
    UnknownMessage,
    UnsupportedRequest,
    UserMessage,
)
from claudewire.policy import DecisionRecord
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    GetSettings,
    Initialize,
    InvalidLine,
    Malformed,
    McpStatus,
    Oversize,
)

pytestmark = pytest.mark.anyio

BASH = {"command": "ls"}
UNHURRIED = Timeouts(start=PATIENCE, request=PATIENCE, exit=PATIENCE, drain=PATIENCE)
"""For programs that obey, on a busy machine."""


def line(type: str, **fields: Any) -> bytes:
    """Return a line of a CLI, unchecked."""
    return json.dumps({"type": type, **fields}, ensure_ascii=False).encode() + b"\n"


def result(text: str = "done", **fields: Any) -> bytes:
    return line("result", subtype="success", is_error=False, result=text, **fields)


def with_cli(cli: Transport, **changes: Any) -> Session:
    return claudewire.open(options(**changes), transport=cli)


def with_program(command: list[str], **changes: Any) -> Session:
    return claudewire.open(cli=command, **{"timeouts": UNHURRIED, **changes})


async def turn_of(session: Session, peer: Peer, *lines: bytes) -> claudewire.Turn[Any]:
    """Play a whole turn in which the CLI writes these lines."""
    turn = session.send("go")
    await peer.hear_prompt()
    await peer.write(b"".join(lines) + result())
    await turn
    return turn


def told(messages: tuple[Any, ...]) -> list[Any]:
    """Return the results of tools that the model got."""
    users = [it for it in messages if isinstance(it, UserMessage)]
    blocks = [block for it in users if isinstance(it.content, list) for block in it.content]
    return [block.content for block in blocks if isinstance(block, ToolResultBlock)]


# --- P3, 3: long lines ----------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1_200_000, 20_000_000])
async def test_long_line_arrives_and_the_next_turn_is_complete(size: int) -> None:
    async def agent(chat: Chat) -> None:
        await chat.say("x" * size if chat.text == "much" else "little")

    with anyio.fail_after(PATIENCE):
        async with with_cli(SimulatedCLI(agent)) as session:
            assert (await session.send("much")).text == "x" * size
            turn = session.send("and now")
            said = [it.text async for it in turn if isinstance(it, AssistantMessage)]
            assert said == ["little"]
            assert (await turn).text == "little"


async def test_line_over_max_line_is_an_event() -> None:
    """The limit counts bytes, not characters."""
    async with connected(max_line=1000) as (session, peer):
        short = line("note", text="ü" * 400)
        long = line("note", text="ü" * 600)
        assert len(short.decode()) < len(long.decode()) < 1000 < len(long)
        turn = await turn_of(session, peer, short, long)
        unknown, *_ = turn.messages
        assert isinstance(unknown, UnknownMessage)
        (oversize,) = [it for it in session.notices if isinstance(it, Oversize)]
        assert oversize.length == len(long) - 1
        assert oversize.head.startswith(b'{"type": "note"')
        assert (await turn_of(session, peer)).state is TurnState.DONE


# --- P6, P7, 2, 4, 5, 6, 7, 8: nothing on the wire is lost or fatal -------------------------------


async def test_message_of_an_unknown_type_is_delivered() -> None:
    unknown: dict[str, Any] = {"type": "from_the_future", "uuid": "u", "depth": [1, 2]}
    known = {"type": "tool_progress", "tool_use_id": "t", "tool_name": "Bash"}
    async with connected() as (session, peer):
        events = session.events()
        turn = await turn_of(session, peer, line(**unknown), line(**known))
        future, progress, _ = turn.messages
        assert isinstance(future, UnknownMessage)
        assert future.raw == unknown
        assert progress.raw["tool_use_id"] == "t"
        assert [it async for it in turn] == list(turn.messages)
        assert future in events.take()


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (b'{"type":"assistant","message":{"role":"assis\n', InvalidLine),
        (b'{"type":"assistant"}\n', Malformed),
        (b"{not JSON}\n", InvalidLine),
        (b"[1, 2]\n", Malformed),
        (b"\xff\xfe\n", InvalidLine),
    ],
)
async def test_malformed_line_is_an_event_and_the_turn_goes_on(
    bad: bytes, kind: type[InvalidLine | Malformed]
) -> None:
    word = line("assistant", message={"role": "assistant", "content": "word"})
    async with connected() as (session, peer):
        turn = await turn_of(session, peer, word, bad, word)
        assert [type(it) for it in turn.messages] == [
            AssistantMessage,
            AssistantMessage,
            ResultMessage,
        ]
        (notice,) = session.notices
        assert isinstance(notice, kind)
        assert notice.head == bad[:-1]
        assert notice.reason
        assert (await turn_of(session, peer, word)).state is TurnState.DONE


# --- P8, 9, 10: the end of the process ------------------------------------------------------------


@pytest.mark.parametrize(("backend", "how"), WAYS)
def test_cancelled_close_ends_the_process(backend: str, how: str) -> None:
    """The process ignores the end of its input and SIGTERM."""
    timeouts = Timeouts(start=PATIENCE, exit=0.05, terminate=0.05, drain=0.05)

    async def try_it(cancel: Callable[[Operation], Awaitable[bool]]) -> bool:
        session = await with_program(programs.NEVER_ENDS, timeouts=timeouts).start()
        assert session.pid is not None
        pid, begun = session.pid, []

        async def close() -> None:
            begun.append(True)
            await session.close()

        reached = await cancel(close)
        if begun:  # a task may be cancelled before it has done anything
            await death(pid)
        await session.close()
        assert session.state is SessionState.CLOSED
        return reached

    points = anyio.run(at_every_point, try_it, how, backend=backend)
    assert points >= 1


# --- 12, 13, 37: requests -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "kind"), [("not_found", RequestError), ("unsupported_request", UnsupportedRequest)]
)
async def test_refused_request_is_an_error_with_its_code(
    code: str, kind: type[RequestError]
) -> None:
    async with connected() as (session, peer):
        async with anyio.create_task_group() as tasks:

            async def refuse() -> None:
                await peer.refuse(await peer.hear_request(McpStatus), "there is none", code)

            tasks.start_soon(refuse)
            with pytest.raises(Error, match="there is none") as caught:
                await session.mcp_status()
        assert type(caught.value) is kind
        assert isinstance(caught.value, RequestError)
        assert (caught.value.request, caught.value.code) == ("mcp_status", code)


async def test_request_of_a_cancelled_caller_is_withdrawn() -> None:
    async with connected() as (session, peer):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(session.request, GetSettings())
            request = await peer.hear_request(GetSettings)
            tasks.cancel_scope.cancel()
        assert (await peer.hear(Cancel)).id == request.id
        # A late answer does no harm.
        success = {"subtype": "success", "request_id": request.id, "response": {}}
        await peer.write(line("control_response", response=success))
        assert (await turn_of(session, peer)).state is TurnState.DONE


async def test_refusal_without_an_id_answers_the_only_request() -> None:
    """The newest CLI answers a malformed `initialize` this way."""
    peer = Peer()
    session = with_cli(peer.transport)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:

            async def refuse() -> None:
                await peer.hear_request(Initialize)
                error = {"subtype": "error", "error": "this is no opening"}
                await peer.write(line("control_response", response=error))

            tasks.start_soon(refuse)
            with pytest.raises(CLIError, match="this is no opening") as caught:
                await session.start()
    assert caught.value.cause is Cause.REFUSED


# --- 20: permissions ------------------------------------------------------------------------------


async def test_denial_that_stops_the_turn_keeps_its_reason() -> None:
    """The CLI does not pass the reason to the model; the audit has it."""
    records: list[DecisionRecord] = []

    async def agent(chat: Chat) -> None:
        if chat.text == "go":
            await chat.use("Bash", BASH)
        await chat.say("I go on")

    async def decide(request: PermissionRequest) -> PermissionResult:
        return request.deny("not on a Sunday", stop=True)

    with anyio.fail_after(SOON):
        async with with_cli(
            SimulatedCLI(agent), on_permission=decide, audit=records.append
        ) as session:
            turn = session.send("go")
            reply = await turn
            assert reply.result.subtype == "error_during_execution"
            assert not reply.ok
            assert [it.tool_name for it in reply.denials] == ["Bash"]
            assert "not on a Sunday" not in str(told(turn.messages))
            assert not [it for it in turn.messages if getattr(it, "text", "") == "I go on"]
            assert (await session.send("and now")).text == "I go on"
    assert [it.reason for it in records] == ["not on a Sunday"]


# --- other reports -------------------------------------------------------------


async def test_run_serves_requests_after_its_result() -> None:
    """A background task ends, and the idle CLI starts a turn."""
    peer = Peer()
    replies: list[str] = []
    decided: list[str] = []

    async def decide(request: PermissionRequest) -> PermissionResult:
        decided.append(request.tool_name)
        return request.allow()

    async def run() -> None:
        reply = await claudewire.run("go", options(on_permission=decide), transport=peer.transport)
        replies.append(reply.text)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            await peer.welcome()
            await peer.hear_prompt()
            await peer.say(saying.state("running"), saying.task_started("t1"))
            await peer.say(saying.result("I wait for it"), saying.state("idle"))
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            await peer.say(saying.task_ended("t1"))
            for _ in range(50):
                await anyio.lowlevel.checkpoint()
            await peer.say(saying.state("running"), saying.init())
            await peer.ask(CanUseTool("Bash", BASH, tool_use_id="toolu_1"))
            assert isinstance((await peer.hear(Answer)).body, PermissionResultAllow)
            assert replies == []
            await peer.say(saying.wake_up_result(), saying.state("idle"))
            await peer.hear_end()
            peer.exit()
    assert (replies, decided) == (["I wait for it"], ["Bash"])
