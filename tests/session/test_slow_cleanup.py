"""The CLI gets its answer in time, even if a function of the application cleans up slowly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.peer import Peer
from tests.helpers.sessions import connected

from claudewire import Hook, Tool
from claudewire.wire import (
    Answer,
    Body,
    CanUseTool,
    Elicitation,
    HookCallback,
    McpMessage,
    PreToolUseHookInput,
    RequestUserDialog,
)

pytestmark = [pytest.mark.anyio, simulated_time]

LIMIT = 1.0
CLEANUP = 100.0
QUESTION = {"questions": [{"question": "Which?", "header": "Which", "options": []}]}


class Slow:
    """Takes its time, and even more when it is cancelled."""

    def __init__(self) -> None:
        self.has_cleaned_up = anyio.Event()

    async def __call__(self, given: Any = None) -> Any:
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(CLEANUP)
                self.has_cleaned_up.set()


def call(slow: Slow) -> dict[str, Any]:
    async def work() -> None:
        await slow()

    return {"tools": [Tool(work, timeout=LIMIT)]}


def decide(name: str) -> Any:
    return lambda slow: {name: slow, "decide_within": LIMIT}


HOOK_INPUT = PreToolUseHookInput(tool_name="Bash", tool_input={})
CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work"}}

CASES: dict[str, tuple[Callable[[Slow], dict[str, Any]], Body]] = {
    "on_permission": (decide("on_permission"), CanUseTool("Bash", {}, "toolu_1")),
    "on_question": (decide("on_question"), CanUseTool("AskUserQuestion", QUESTION, "toolu_1")),
    "on_plan": (decide("on_plan"), CanUseTool("ExitPlanMode", {"plan": "Go."}, "toolu_1")),
    "on_elicitation": (decide("on_elicitation"), Elicitation("server", "Who?", mode="form")),
    "on_dialog": (decide("on_dialog"), RequestUserDialog("trust", {})),
    "approver": (decide("approver"), CanUseTool("Bash", {}, "toolu_1")),
    "hooks": (
        lambda slow: {"hooks": {"PreToolUse": Hook(slow, timeout=LIMIT)}},
        HookCallback("hook_0", HOOK_INPUT),
    ),
    "tools": (call, McpMessage("claudewire", CALL)),
}


@pytest.mark.parametrize("name", CASES)
async def test_cli_is_answered_before_the_cleanup_of_a_handler(name: str) -> None:
    make, body = CASES[name]
    slow = Slow()
    async with connected(within=10 * CLEANUP, **make(slow)) as (_, peer):
        assert await seconds_to_answer(peer, body) == pytest.approx(LIMIT, abs=0.01)
        assert not slow.has_cleaned_up.is_set()
        await slow.has_cleaned_up.wait()


async def test_answer_from_the_inbox_does_not_wait_for_the_handler() -> None:
    slow = Slow()
    async with connected(within=10 * CLEANUP, on_permission=slow) as (session, peer):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(seconds_to_answer, peer, CanUseTool("Bash", {}, "toolu_1"))
            await anyio.sleep(LIMIT)
            began = anyio.current_time()
            session.inbox.pending[0].withdraw()
        assert anyio.current_time() == began
        await slow.has_cleaned_up.wait()


async def seconds_to_answer(peer: Peer, body: Body) -> float:
    began = anyio.current_time()
    id = await peer.ask(body)
    await peer.hear(Answer, where=lambda answer: answer.id == id)
    return anyio.current_time() - began
