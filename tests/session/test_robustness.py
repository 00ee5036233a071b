"""Handlers that do not stop, sessions that end during the start, text in pieces."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import anyio.to_thread
import pytest
from tests.helpers import messages as saying
from tests.helpers.peer import SOON, Peer
from tests.helpers.sessions import SOME_CLI, connected, opened, options, session_with, soon

from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import CLIError, Error, SessionClosed
from claudewire.session import Session, SessionState, StateChanged, TextPieces
from claudewire.transport import Launch, Transport
from claudewire.wire import (
    Answer,
    APIMessage,
    AssistantMessage,
    CanUseTool,
    Event,
    McpSetServers,
    McpSetServersResult,
    Message,
    TextBlock,
)

pytestmark = pytest.mark.anyio


# --- handlers that do not stop --------------------------------------------------------------------


async def asked(peer: Peer, session: Session) -> None:
    """Have a turn wait for a permission, whose handler is at work."""
    await peer.hear_prompt()
    await peer.ask(CanUseTool(tool_name="Bash", input={"command": "ls"}, tool_use_id="toolu_1"))
    await soon(lambda: session.inbox.pending)


def stubborn(released: anyio.Event) -> Callable[[PermissionRequest], Awaitable[PermissionResult]]:
    async def decide(request: PermissionRequest) -> PermissionResult:
        with anyio.move_on_after(SOON, shield=True):
            await released.wait()
        return request.allow()

    return decide


async def test_close_does_not_wait_for_a_stubborn_handler(caplog: pytest.LogCaptureFixture) -> None:
    released = anyio.Event()
    async with connected(within=SOON / 2, on_permission=stubborn(released)) as (session, peer):
        session.send("hello")
        await asked(peer, session)
    assert "ignored its cancellation" in caplog.text
    released.set()


async def test_exit_does_not_wait_for_a_stubborn_handler() -> None:
    peer, released = Peer(), anyio.Event()
    session = await opened(peer, on_permission=stubborn(released))
    turn = session.send("hello")
    with anyio.fail_after(SOON / 2):
        await asked(peer, session)
        peer.exit(3)
        with pytest.raises(CLIError, match="exit code 3"):
            await turn
    released.set()


async def test_handler_may_close_its_session() -> None:
    peer = Peer()

    async def decide(request: PermissionRequest) -> PermissionResult:
        await session.close()
        return request.deny("It is over.")

    session = await opened(peer, on_permission=decide)
    turn = session.send("hello")
    with anyio.move_on_after(SOON) as scope:
        await peer.hear_prompt()
        await peer.ask(CanUseTool(tool_name="Bash", input={}, tool_use_id="toolu_1"))
        with pytest.raises(SessionClosed):
            await turn
    if scope.cancelled_caught:
        session._core.ended()  # else the handler would wait for ever, and the test with it
        pytest.fail("The session waits for the handler, which waits for the session")
    assert session.state == "closed"


# --- ends at the last moment ----------------------------------------------------------------------


async def test_session_closed_at_its_start_is_never_ready() -> None:
    peer = Peer()
    session = session_with(peer)
    received = session._core.received

    def close_at_the_answer(events: list[Event]) -> None:
        received(events)
        if any(isinstance(event, Answer) for event in events):
            session._core.close(now=True)

    session._core.received = close_at_the_answer  # type: ignore[method-assign]
    with session.events() as events, anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.welcome)
            with pytest.raises(SessionClosed):
                await session.start()
        await session.close()
        states = [it.new for it in events.take() if isinstance(it, StateChanged)]
    assert SessionState.READY not in states
    assert session.state == "closed"


async def test_exit_during_the_start_has_a_reason() -> None:
    peers = [Peer(), Peer()]
    waiting = iter(peers)

    async def connect(launch: Launch) -> Transport:
        return next(waiting).transport

    async def first(peer: Peer) -> None:
        await peer.welcome()
        await peer.answer(await peer.hear_request(McpSetServers), McpSetServersResult())

    async def second(peer: Peer) -> None:
        await peer.welcome()
        await peer.hear_request(McpSetServers)
        peer.exit(3)

    session = Session(options(cli=SOME_CLI), transport=connect)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first, peers[0])
            tasks.start_soon(second, peers[1])
            await session.start()
            await session.add_server({"command": "true"}, "other")
            with pytest.raises(Error) as failed:
                await session.restart()
    assert isinstance(failed.value, CLIError)
    assert failed.value.evidence is not None
    assert failed.value.evidence.exit_code == 3


# --- text in pieces ------------------------------------------------------------------------------


def whole(*texts: str) -> AssistantMessage:
    content = [TextBlock(text) for text in texts]
    message = APIMessage(id="m", model="m", role="assistant", content=list(content), usage=None)
    return AssistantMessage(message=message, uuid=saying.unique())


IN_PIECES = [saying.block_start(), saying.delta("A"), saying.block_start(), saying.delta("B")]


@pytest.mark.parametrize(
    ("messages", "text"),
    [
        ([*IN_PIECES, whole("A", "B")], ["A", "\n\nB"]),
        ([*IN_PIECES, whole("A"), whole("B")], ["A", "\n\nB"]),
        ([*IN_PIECES, whole("A"), whole("B, too")], ["A", "\n\nB", ", too"]),
        ([*IN_PIECES, whole("Not that.")], ["A", "\n\nB", "Not that."]),
        (
            [*IN_PIECES[:2], saying.delta("a"), *IN_PIECES[2:], whole("Aa", "B, too")],
            ["A", "a", "\n\nB", ", too"],
        ),
        ([*IN_PIECES[:2], whole("A"), *IN_PIECES[2:], whole("B")], ["A", "\n\nB"]),
    ],
)
def test_text_that_came_in_pieces_does_not_come_again(
    messages: list[Message], text: list[str]
) -> None:
    pieces = TextPieces()
    assert [piece for message in messages for piece in pieces.note(message)] == text
