"""The table of what runs beside the conversation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import result, tool_result, whole

from claudewire.tracking import BackgroundTask, TaskTable
from claudewire.wire import BackgroundTask as Listed
from claudewire.wire import (
    BackgroundTasksChangedMessage,
    Message,
    SessionStateChangedMessage,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ToolUseBlock,
)


def started(id: str, **fields: Any) -> TaskStartedMessage:
    return TaskStartedMessage(task_id=id, **fields)


def updated(id: str, run_id: str | None = None, **patch: Any) -> TaskUpdatedMessage:
    return TaskUpdatedMessage(task_id=id, run_id=run_id, patch=TaskPatch(**patch))


def notified(id: str, status: str | None = "completed", **fields: Any) -> TaskNotificationMessage:
    return TaskNotificationMessage(task_id=id, status=status, **fields)


def listed(*tasks: Listed | str) -> BackgroundTasksChangedMessage:
    items = [Listed(it) if isinstance(it, str) else it for it in tasks]
    return BackgroundTasksChangedMessage(tasks=items)


def call(id: str, name: str = "Task", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id, name, {"description": "Look", "prompt": "…", **input})


def table(*messages: Message) -> TaskTable:
    tasks = TaskTable()
    for message in messages:
        tasks.note(message)
    return tasks


def only(tasks: Iterable[BackgroundTask]) -> BackgroundTask:
    (task,) = tasks
    return task


def states(tasks: Iterable[BackgroundTask]) -> dict[str, str]:
    return {task.id: task.status for task in tasks}


# --- what a new CLI says -------------------------------------------------------------------------

# As CLI 2.1.325 says it of a shell in the background.
SHELL: list[Message] = [
    SessionStateChangedMessage(state="running"),
    whole(ToolUseBlock("t1", "Bash", {"command": "sleep 1", "run_in_background": True})),
    listed(Listed("b1", "run-1", "local_bash", None, "Nap")),
    started(
        "b1",
        run_id="run-1",
        tool_use_id="t1",
        description="Nap",
        is_backgrounded=True,
        task_type="local_bash",
    ),
    tool_result("t1", tool_use_result={"stdout": "", "backgroundTaskId": "b1"}),
    result(),
    SessionStateChangedMessage(state="idle"),
    updated("b1", "run-1", status="killed", end_time=1.0),
    notified("b1", "stopped", run_id="run-1", tool_use_id="t1", summary="Nap", output_file="o"),
    listed(),
]


def test_background_shell_runs_until_its_end_is_reported() -> None:
    tasks = TaskTable()
    idle = []
    for message in SHELL:
        tasks.note(message)
        idle.append(tasks.idle)
    # The session is idle before its task is.
    assert idle == [False, False, False, False, False, False, False, True, True, True]
    task = only(tasks)
    assert (task.id, task.kind, task.description) == ("b1", "local_bash", "Nap")
    assert (task.status, task.running, task.background, task.reported) == (
        "stopped",
        False,
        True,
        True,
    )
    assert (task.tool_use_id, task.parent, task.output_file) == ("t1", None, "o")


def test_task_is_a_snapshot_with_its_last_message() -> None:
    tasks = table(started("b1"))
    before = only(tasks)
    message = updated("b1", description="More")
    (after,) = tasks.note(message)
    assert (before.description, after.description) == ("", "More")
    assert after.last is message


# As CLI 2.1.325 says it of a subagent in the background.
AGENT: list[Message] = [
    whole(call("t1", subagent_type="explorer", run_in_background=True)),
    listed(Listed("a1", "run-1", "local_agent", "explorer", "Look")),
    started("a1", run_id="run-1", tool_use_id="t1", is_backgrounded=True, task_type="local_agent"),
    tool_result("t1", tool_use_result={"status": "async_launched", "agentId": "a1"}),
    result(),
    TaskProgressMessage(
        task_id="a1",
        run_id="run-1",
        tool_use_id="t1",
        description="Running ls",
        usage=TaskUsage(10, 1, 59),
        last_tool_name="Bash",
    ),
    whole("Found.", agent="t1", agent_id="a1"),
    updated("a1", "run-1", status="completed", end_time=1.0),
    notified("a1", run_id="run-1", summary="Found.", usage=TaskUsage(20, 1, 99)),
    listed(),
]


def test_background_subagent_is_one_task_from_call_to_end() -> None:
    tasks = table(AGENT[0])
    assert (only(tasks).id, only(tasks).status) == ("t1", "pending")
    tasks.note(AGENT[1])
    seen = []
    for message in AGENT[2:]:
        tasks.note(message)
        seen.append((only(tasks).id, only(tasks).status))
    assert seen == [("a1", "running")] * 5 + [("a1", "completed")] * 3
    task = only(tasks)
    assert (task.subagent_type, task.description) == ("explorer", "Look")
    assert (task.usage, task.last_tool, task.summary) == (TaskUsage(20, 1, 99), "Bash", "Found.")
    assert task.started == 1


@given(
    st.lists(
        st.one_of(
            st.lists(st.sampled_from("abcd"), unique=True, max_size=4).map(
                lambda ids: listed(*ids)
            ),
            st.builds(
                started, st.sampled_from("abcd"), is_backgrounded=st.sampled_from([None, True])
            ),
            st.builds(notified, st.sampled_from("abcd")),
            st.builds(updated, st.sampled_from("abcd"), status=st.sampled_from(["running", "x"])),
        ),
        max_size=12,
    ),
    st.lists(st.sampled_from("abcd"), unique=True, max_size=4),
)
def test_list_of_background_tasks_overrides_all_earlier_messages(
    before: list[Message], last: list[str]
) -> None:
    tasks = table(*(started(id, is_backgrounded=True) for id in "abcd"), *before, listed(*last))
    assert {task.id for task in tasks.running} == set(last)
    assert tasks.idle is (not last)


# --- partial reports -----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["completed", "killed"])
def test_update_with_a_final_status_ends_the_task(end: str) -> None:
    tasks = table(started("b1"), updated("b1", status=end, error="Because"))
    assert (only(tasks).status, only(tasks).running, only(tasks).error) == (end, False, "Because")


@pytest.mark.parametrize("end", ["completed", "evaporated", None])
def test_notification_ends_the_task_with_any_status(end: str | None) -> None:
    tasks = table(started("b1"), notified("b1", end))
    assert (only(tasks).status, only(tasks).running) == (end or "ended", False)


def test_resumed_task_is_the_same_task() -> None:
    tasks = table(started("a1", run_id="1"), notified("a1", run_id="1"), started("a1", run_id="2"))
    assert (only(tasks).status, only(tasks).running, only(tasks).run) == ("running", True, "2")


def test_message_about_an_earlier_run_is_ignored() -> None:
    tasks = table(started("a1", run_id="1"), started("a1", run_id="2"))
    for late in (
        notified("a1", run_id="1"),
        updated("a1", "1", status="failed"),
        TaskProgressMessage(task_id="a1", run_id="1", summary="Old"),
        started("a1", run_id="1", description="Old"),
    ):
        assert list(tasks.note(late)) == []
    assert only(tasks).running
    tasks.note(notified("a1", run_id="2"))
    assert not only(tasks).running


# --- ends that are never told --------------------------------------------------------------------


def test_tool_result_ends_a_foreground_task() -> None:
    tasks = table(started("b1", tool_use_id="t1", is_backgrounded=False), tool_result("t1"))
    assert states(tasks) == {"b1": "completed"}
    failed = table(
        started("b1", tool_use_id="t1", is_backgrounded=False), tool_result("t1", is_error=True)
    )
    assert states(failed) == {"b1": "failed"}


def test_end_of_the_turn_ends_its_foreground_tasks() -> None:
    tasks = table(
        started("fore", is_backgrounded=False),
        started("back", is_backgrounded=True),
        started("unknown"),
        whole(call("t1")),
        result(),
    )
    assert states(tasks) == {
        "fore": "ended",
        "back": "running",
        "unknown": "running",
        "t1": "ended",
    }


def test_task_of_a_background_subagent_outlives_the_turn() -> None:
    tasks = table(
        started("a1", tool_use_id="t1", is_backgrounded=True),
        whole(ToolUseBlock("t2", "Bash", {}), agent="t1", agent_id="a1"),
        started("b1", tool_use_id="t2", is_backgrounded=False),
        result(),
    )
    assert states(tasks) == {"a1": "running", "b1": "running"}
    assert only(it for it in tasks if it.parent == "a1").id == "b1"
    tasks.note(notified("a1"))
    tasks.note(result())
    assert not tasks.running


def test_restart_ends_all_tasks() -> None:
    tasks = table(
        SessionStateChangedMessage(state="running"), started("b1"), started("b2"), notified("b2")
    )
    assert states(tasks.restarted()) == {"b1": "lost"}
    assert states(tasks) == {"b1": "lost", "b2": "completed"}
    assert tasks.idle
    assert list(tasks.restarted()) == []


# --- subagents -----------------------------------------------------------------------------------


def test_unreported_subagent_is_known_by_its_call_and_result() -> None:
    # As CLIs 1.0.128 and 2.1.17 do.
    tasks = table(whole(call("t1", subagent_type="explorer")))
    assert (only(tasks).id, only(tasks).status) == ("t1", "pending")
    (task,) = tasks.note(whole(ToolUseBlock("t2", "Bash", {}), agent="t1"))
    assert (task.status, task.reported, task.subagent_type) == ("running", False, "explorer")
    assert list(tasks.note(whole("Hm.", agent="t1"))) == []
    tasks.note(tool_result("t2", agent="t1"))
    assert only(tasks).running
    tasks.note(tool_result("t1"))
    assert states(tasks) == {"t1": "completed"}


@pytest.mark.parametrize(
    ("output", "id", "kind"),
    [
        ({"backgroundTaskId": "b1", "stdout": ""}, "b1", "local_bash"),
        ({"status": "async_launched", "agentId": "a1"}, "a1", "local_agent"),
    ],
)
def test_unreported_background_task_never_ends(output: Any, id: str, kind: str) -> None:
    tasks = table(tool_result("t1", tool_use_result=output), result())
    task = only(tasks)
    assert (task.id, task.kind, task.running, task.background) == (id, kind, True, True)
    # Nobody can wait for an end that is not told.
    assert not task.reported
    assert tasks.idle


def test_subagents_of_subagents_are_their_children() -> None:
    tasks = table(
        whole(call("t1")),
        started("a1", tool_use_id="t1", is_backgrounded=False, task_type="local_agent"),
        whole(call("t2", name="Agent"), agent="t1", agent_id="a1"),
        started("a2", tool_use_id="t2", parent_task_id="a1", task_type="local_agent"),
        started("a3", parent_task_id="a2", task_type="local_agent"),
    )
    assert {task.id: task.parent for task in tasks} == {"a1": None, "a2": "a1", "a3": "a2"}


def test_task_that_gets_its_id_keeps_the_facts_of_its_call() -> None:
    calling = whole(call("t1", subagent_type="explorer", run_in_background=True))
    tasks = table(calling, started("b1"), TaskProgressMessage(task_id="a1", tool_use_id="t1"))
    task = tasks.get("a1")
    assert task is not None
    assert task == tasks.get("t1")
    assert (task.id, task.tool_use_id, task.kind) == ("a1", "t1", "local_agent")
    assert (task.description, task.subagent_type, task.background) == ("Look", "explorer", True)
    assert [it.id for it in tasks] == ["a1", "b1"]  # it began with its call


# --- whether anything is under way ---------------------------------------------------------------


def test_ambient_task_is_no_activity() -> None:
    tasks = table(listed(Listed("m1", ambient=True)))
    assert tasks.idle
    assert [task.id for task in tasks.running] == ["m1"]


@pytest.mark.parametrize(
    ("state", "idle"), [("idle", True), ("running", False), ("requires_action", False)]
)
def test_reported_session_state_decides_idle(state: str, idle: bool) -> None:
    tasks = table(SessionStateChangedMessage(state=state))
    assert (tasks.idle, tasks.state) == (idle, state)
    assert TaskTable().idle


# --- its size ------------------------------------------------------------------------------------


def test_tasks_outlive_the_turn_with_the_task_that_started_them() -> None:
    tasks = table(
        started("a", is_backgrounded=True),
        started("b", parent_task_id="a", is_backgrounded=False),
        started("c", parent_task_id="b", is_backgrounded=False),
        started("d", is_backgrounded=False),
        started("e", parent_task_id="d", is_backgrounded=False),
        result(),
    )
    assert [task.id for task in tasks.running] == ["a", "b", "c"]
