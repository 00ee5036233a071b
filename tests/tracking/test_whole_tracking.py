"""What is kept of long conversations, whole: see tests/helpers/kept.py.

The conversations are made up, of few names, so that in them nearly everything meets everything:
tasks that are known by several names, run again or are forgotten, messages that are torn or come
twice, processes that end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec
import pytest
from tests.helpers.api_messages import event, result, start, tool_result, whole
from tests.helpers.kept import Kept, compact

from claudewire.tracking import Assembler, BackgroundTask, LiveBlock, TaskTracker, UsageTracker
from claudewire.wire import (
    APIMessage,
    APIRetryMessage,
    BackgroundTasksChangedMessage,
    Block,
    CompactBoundaryMessage,
    CompactionBlock,
    CompactionDelta,
    CompactMetadata,
    ContentBlockDelta,
    ContentBlockStart,
    ContentBlockStop,
    ConversationResetMessage,
    Delta,
    InputJsonDelta,
    Message,
    MessageChange,
    MessageDelta,
    MessageStart,
    ModelRefusalFallbackMessage,
    ModelUsage,
    ResultMessage,
    SessionStateChangedMessage,
    SignatureDelta,
    SubagentRetry,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    ToolProgressMessage,
    ToolResultBlock,
    ToolUseBlock,
    Usage,
    UserMessage,
)
from claudewire.wire import BackgroundTask as Listed

T = TypeVar("T")


class Dice:
    """Chooses, always in the same way."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def __call__(self, *options: T) -> T:
        self._state = (self._state * 1103515245 + 12345) % 2**31
        return options[(self._state >> 16) % len(options)]


def shown(value: Any) -> str:
    """Write a struct with the fields that are not as usual."""
    usual = {it.name: it.default for it in msgspec.structs.fields(type(value))}
    fields = {name: getattr(value, name) for name in value.__struct_fields__}
    told = {
        name: msgspec.to_builtins(it)
        for name, it in fields.items()
        if name not in ("last", "raw", "line", "subtype") and it not in (None, usual.get(name))
    }
    return f"{type(value).__name__} {compact(told)}"


NOTHING: dict[str, Any] = {}


# --- tasks ---------------------------------------------------------------------------------------


def of_tasks(dice: Dice) -> Message:
    id, call, run = dice("a", "b", "c", "d"), dice("t1", "t2", "a"), dice(None, "r1", "r2")
    common: dict[str, Any] = {"task_id": id, "run_id": run}
    usage = dice(None, TaskUsage(10, 1, 59))
    makers: tuple[Callable[[], Message], ...] = (
        lambda: TaskStartedMessage(
            **common,
            tool_use_id=dice(None, call),
            description=dice("", "Nap"),
            subagent_type=dice(None, "explorer"),
            is_backgrounded=dice(None, True, False),
            task_type=dice(None, "local_bash"),
            parent_task_id=dice(None, "a", "b", "t1"),
            ambient=dice(False, False, True),
        ),
        lambda: TaskUpdatedMessage(
            **common,
            patch=TaskPatch(
                status=dice(None, "running", "paused", "completed", "odd"),
                description=dice(None, "More"),
                end_time=dice(None, 1.0),
                error=dice(None, "It broke"),
                is_backgrounded=dice(None, True, False),
            ),
        ),
        lambda: TaskProgressMessage(
            **common,
            tool_use_id=dice(None, call),
            description=dice("", "Running ls"),
            usage=usage,
            last_tool_name=dice(None, "Bash"),
            summary=dice(None, "Looks"),
            subagent_type=dice(None, "planner"),
        ),
        lambda: TaskNotificationMessage(
            **common,
            tool_use_id=dice(None, call),
            status=dice(None, "completed", "failed"),
            usage=usage,
            summary=dice("", "Done"),
            output_file=dice("", "out"),
            ambient=dice(False, True),
        ),
        lambda: BackgroundTasksChangedMessage(
            tasks=[
                Listed(
                    it,
                    run_id=dice(None, "r1"),
                    task_type=dice("local_bash", "local_agent"),
                    subagent_type=dice(None, "explorer"),
                    description=dice("", "Listed"),
                    parent_task_id=dice(None, "b"),
                    ambient=dice(False, True),
                )
                for it in dice((), (id,), ("a", "b"), ("d", "c", "a"))
            ]
        ),
        lambda: ToolProgressMessage(
            tool_use_id=call,
            task_id=dice(None, id),
            subagent_retry=dice(None, SubagentRetry(agent_id=dice(id, "t1"), attempt=2)),
        ),
        lambda: whole(
            *dice(
                [ToolUseBlock(call, "Task", {"description": "Look"})],
                [ToolUseBlock(call, "Agent", {"run_in_background": dice(True, False, None)})],
                [ToolUseBlock(call, "Bash", {}), ToolUseBlock("t3", "Task", {})],
                [ToolUseBlock("t4", "Bash", {})],
            ),
            agent=dice(None, "t1", "t2"),
            **dice(
                NOTHING, {"agent_id": id, "subagent_type": "judge", "task_description": "Judge"}
            ),
        ),
        lambda: tool_result(
            call,
            is_error=dice(None, True),
            tool_use_result=dice(
                None,
                {"backgroundTaskId": id},
                {"agentId": id, "status": "async_launched"},
                {"agentId": id, "status": "completed"},
            ),
        ),
        lambda: UserMessage.of([ToolResultBlock("t1"), ToolResultBlock("t2", is_error=True)]),
        result,
        lambda: SessionStateChangedMessage(state=dice("running", "requires_action", "idle")),
    )
    return dice(*makers, *makers[:2])()


def of_table(tasks: TaskTracker) -> str:
    states = [f"{it.id}={it.status}" for it in tasks]
    names = {id: it.id for id in ("a", "t1", "t2", "t3") if (it := tasks.get(id)) is not None}
    agents, main = [it.id for it in tasks.agents], [it.id for it in tasks.children()]
    return f"  {' '.join(states)}; {names} {agents} {main} {'idle' if tasks.idle else 'busy'}"


def said_of_tasks(seed: int) -> Iterator[str]:
    dice, tasks = Dice(seed), TaskTracker(kept=2)
    yield f"--- {seed}"
    for number in range(12):
        changed: Sequence[BackgroundTask]
        if number == 8 and seed % 3 == 0:
            changed = tasks.restarted()
            yield "restarted"
        elif number % 5 == 4:
            id = dice("a", "t1", "c")
            changed = tasks.stopped(id)
            yield f"stopped {id}"
        else:
            message = of_tasks(dice)
            changed = tasks.note(message)
            yield shown(message)
        yield from (f"  {shown(it)}" for it in changed)
        yield of_table(tasks)


def test_tasks_are_as_they_were(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in (("RUNNING", 3), ("LISTED", 2), ("CALLS", 2)):
        monkeypatch.setattr(f"claudewire.tracking.tasks.{name}", limit)
    kept("tasks.txt", "\n".join(line for seed in range(36) for line in said_of_tasks(seed)) + "\n")


# --- blocks --------------------------------------------------------------------------------------

BLOCKS: tuple[Block, ...] = (
    TextBlock("Hello there"),
    TextBlock(""),
    ThinkingBlock("Hm, so", signature="s"),
    ToolUseBlock("t1", "Bash", {"command": "ls"}),
    ToolUseBlock("t2", "Read", {}),
    CompactionBlock("In short"),
)
PIECES: tuple[Delta, ...] = (
    TextDelta("Hello "),
    TextDelta("there"),
    ThinkingDelta("Hm, "),
    ThinkingDelta("so"),
    SignatureDelta("s"),
    InputJsonDelta('{"command": '),
    InputJsonDelta('"ls"}'),
    CompactionDelta("In short", "secret"),
)
BEGINNINGS: tuple[Block, ...] = (
    TextBlock(""),
    TextBlock("Well. "),
    ThinkingBlock("", signature="early"),
    ToolUseBlock("t1", "Bash", {}),
    CompactionBlock(),
)


def of_blocks(dice: Dice) -> Message:
    agent, index, name = dice(None, None, "t9"), dice(0, 0, 1), dice(None, None, "m1", "m2")
    id = dice("m1", "m2", None)
    makers: tuple[Callable[[], Message], ...] = (
        lambda: start(id or "m3", agent),
        lambda: event(ContentBlockStart(index, dice(*BEGINNINGS)), agent, name),
        lambda: event(ContentBlockDelta(index, dice(*PIECES)), agent, name),
        lambda: event(ContentBlockDelta(index, dice(*PIECES)), agent, name),
        lambda: event(ContentBlockStop(index), agent, name),
        lambda: whole(
            *dice(BLOCKS[:1], BLOCKS[2:4], BLOCKS[3:4], BLOCKS[4:6], BLOCKS[1:3]),
            id=id,
            agent=agent,
            model=dice("opus", "opus", "<synthetic>"),
            uuid=dice("u1", "u2", None),
            aborted=dice(None, None, True),
            supersedes=dice(None, None, ["u1"], ["u2", "u3"]),
        ),
        lambda: tool_result(dice("t1", "t2"), tool_use_result=dice(None, {"stdout": "a"})),
        lambda: UserMessage.of([ToolResultBlock("t1", "one"), ToolResultBlock("t2", "two")]),
        lambda: ModelRefusalFallbackMessage(retracted_message_uuids=["u1"]),
        result,
    )
    return dice(*makers[:6], *makers)()


def of_block(live: LiveBlock) -> str:
    parts = (live.text, live.input_json, live.input, live.result_text, live.output, live.added)
    place = f"{live.agent}/{live.message_id}/{live.index}"
    states = [it for it in ("complete", "aborted", "confirmed") if getattr(live, it)]
    block = None if live.block is None else msgspec.to_builtins(live.block)
    return f"  {live!r} {place} {live.change} {states} {compact([*parts, live.name, block])}"


def said_of_blocks(seed: int) -> Iterator[str]:
    dice, assembler = Dice(seed), Assembler()
    yield f"--- {seed}"
    for _ in range(12):
        message = of_blocks(dice)
        changed = list(assembler.note(message))
        yield f"{shown(message)[:150]}"
        yield from map(of_block, changed)
    yield f"{[it.id for it in assembler.blocks]} {assembler.message_texts}"


def test_blocks_are_as_they_were(kept: Kept) -> None:
    text = "\n".join(line for seed in range(50) for line in said_of_blocks(seed))
    kept("blocks.txt", text + "\n")


# --- usage ---------------------------------------------------------------------------------------


SAID: tuple[Block, ...] = (TextBlock("Hello."), ToolUseBlock("t1", "Task", {}))


def of_usage(dice: Dice, so_far: list[int]) -> Message:
    agent, model = dice(None, None, "t1"), dice("opus", "haiku", "opus[1m]")
    id = dice("m1", "m2", "m3", None)
    so_far[0] += dice(0, 7, 40)
    usage = dice(None, Usage(input_tokens=dice(5, 50), output_tokens=so_far[0]))
    used = ModelUsage(
        input_tokens=so_far[0] + 10,
        output_tokens=so_far[0],
        cache_read_input_tokens=dice(0, 3),
        cost_usd=dice(None, so_far[0] / 64),
        context_window=dice(None, 200_000),
        canonical_model=dice(None, "canonical"),
    )
    report = {"agentId": "x", "usage": {"input_tokens": 9, "output_tokens": 2}}
    makers: tuple[Callable[[], Message], ...] = (
        lambda: event(
            MessageStart(APIMessage("assistant", [], id=id, model=model, usage=usage)), agent
        ),
        lambda: event(MessageDelta(MessageChange("end_turn"), usage=usage), agent, id),
        lambda: whole(
            dice(*SAID),
            id=id,
            agent=agent,
            model=dice(model, model, "canonical", "<synthetic>"),
            usage=usage,
            uuid=dice(None, "u1"),
        ),
        lambda: tool_result(
            "t1", tool_use_result=dice(report, {**report, "resolvedModel": "haiku"}, {})
        ),
        lambda: result(
            dice(None, {model: used}, {model: used, "other": used}),
            usage=usage,
            total_cost_usd=dice(None, so_far[0] / 32),
        ),
        lambda: APIRetryMessage(attempt=2, max_retries=10, retry_delay_ms=500),
        lambda: CompactBoundaryMessage(
            compact_metadata=dice(None, CompactMetadata(trigger="auto", post_tokens=77))
        ),
        lambda: ConversationResetMessage(new_conversation_id="other"),
    )
    return dice(*makers[:5], *makers)()


def of_ledger(ledger: UsageTracker, turns: Sequence[str]) -> Iterator[str]:
    sums = {
        "session": ledger.session,
        "main": ledger.main,
        **{f"turn {it}": ledger.turn(it) for it in turns},
        **ledger.models,
        **{f"agent {id}": it for id, it in ledger.agents.items()},
    }
    for name, it in sums.items():
        tokens = (it.input_tokens, it.output_tokens, it.cache_read_tokens, it.cache_creation_tokens)
        about = "about " if it.estimated else ""
        yield f"  {name}: {about}{tokens} ${it.cost_usd}, {it.turns} turns, {it.calls} calls"
    yield f"  {shown(ledger.context)} {ledger.context.fill} {ledger.retry} {ledger.changes}"


def said_of_usage(seed: int) -> Iterator[str]:
    dice, ledger, so_far, turn = Dice(seed), UsageTracker(), [0], 1
    yield f"--- {seed}"
    for number in range(9):
        if number == 6 and seed % 3 == 0:
            ledger.restarted()
            yield "restarted"
            if seed % 2:
                so_far[0] = 1
        message = of_usage(dice, so_far)
        ledger.note(message, dice(None, str(turn), str(turn), str(turn)))
        yield shown(message)
        turn += isinstance(message, ResultMessage)
        if number % 3 == 2:
            yield from of_ledger(ledger, ("1", "2"))


def test_usage_is_as_it_was(kept: Kept) -> None:
    kept("usage.txt", "\n".join(line for seed in range(40) for line in said_of_usage(seed)) + "\n")
