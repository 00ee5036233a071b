"""The table of what runs beside the conversation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.api_messages import RECORDINGS, recorded, result, tool_result, whole
from tests.helpers.strategies import records

from claudewire.tracking import BackgroundTask, TaskTracker
from claudewire.wire import (
    AssistantMessage,
    BackgroundTasksChangedMessage,
    KeepAlive,
    Message,
    ResultMessage,
    SessionStateChangedMessage,
    SubagentRetry,
    TaskNotificationMessage,
    TaskPatch,
    TaskProgressMessage,
    TaskStartedMessage,
    TaskUpdatedMessage,
    TaskUsage,
    ToolProgressMessage,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from claudewire.wire import BackgroundTask as Listed


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


def table(*messages: Message) -> TaskTracker:
    tasks = TaskTracker()
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


def test_a_shell_in_the_background_runs_until_its_end_is_told() -> None:
    tasks = TaskTracker()
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
    assert not task.is_agent


def test_a_task_is_found_by_its_id_and_by_its_tool_call() -> None:
    tasks = table(*SHELL)
    assert tasks.get("b1") == tasks.get("t1") == only(tasks)
    assert tasks.get("b2") is None
    assert len(tasks) == 1


def test_a_task_is_a_snapshot_with_the_last_message_about_it() -> None:
    tasks = table(started("b1"))
    before = only(tasks)
    message = updated("b1", description="More")
    (after,) = tasks.note(message)
    assert (before.description, after.description) == ("", "More")
    assert after.last is message
    assert after.raw["task_id"] == "b1"
    assert BackgroundTask("x").raw == {}


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


ABOUT_A_TASK: list[tuple[list[Message], Message]] = [
    ([], started("a")),
    ([started("a")], started("a")),
    ([started("a")], TaskProgressMessage(task_id="a")),
    ([started("a")], updated("a", description="Look")),
    ([started("a")], updated("a", status="paused")),
    ([started("a")], notified("a")),
    ([started("a")], listed("a")),
    ([started("a")], ToolProgressMessage(tool_use_id="a", subagent_retry=SubagentRetry(attempt=2))),
    ([], whole(call("a"))),
    ([whole(call("a"))], whole("Hm.", agent="a")),
    ([], whole("Hm.", agent="a")),
    ([whole(call("a"))], tool_result("a")),
    ([whole(call("a"))], tool_result("a", tool_use_result={"backgroundTaskId": "b"})),
]


@pytest.mark.parametrize(("before", "message"), ABOUT_A_TASK)
def test_the_last_message_about_a_task_is_the_last_that_has_changed_it(
    before: list[Message], message: Message
) -> None:
    (task,) = table(*before).note(message)
    assert task.last is message
    assert task.raw == message.raw


def test_a_subagent_in_the_background_is_one_task_from_its_call_to_its_end() -> None:
    tasks = table(AGENT[0])
    assert (only(tasks).id, only(tasks).status) == ("t1", "pending")
    tasks.note(AGENT[1])
    seen = []
    for message in AGENT[2:]:
        tasks.note(message)
        seen.append((only(tasks).id, only(tasks).status))
    assert seen == [("a1", "running")] * 5 + [("a1", "completed")] * 3
    task = only(tasks)
    assert (task.subagent_type, task.description, task.is_agent) == ("explorer", "Look", True)
    assert (task.usage, task.last_tool, task.summary) == (TaskUsage(20, 1, 99), "Bash", "Found.")
    assert task.started == 1
    assert tasks.agents == [task]


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
def test_whatever_was_said_before_the_list_of_running_tasks_counts(
    before: list[Message], last: list[str]
) -> None:
    tasks = table(*(started(id, is_backgrounded=True) for id in "abcd"), *before, listed(*last))
    assert {task.id for task in tasks.running} == set(last)
    assert tasks.idle is (not last)


def test_a_task_in_the_foreground_is_in_no_list_and_runs_all_the_same() -> None:
    tasks = table(started("b1", is_backgrounded=False), listed("b2"), listed())
    assert states(tasks) == {"b1": "running", "b2": "ended"}


def test_a_task_that_was_put_in_the_background_is_in_the_list_from_then_on() -> None:
    tasks = table(
        started("b1", is_backgrounded=False), updated("b1", is_backgrounded=True), listed("b1")
    )
    assert only(tasks).background is True
    tasks.note(result())
    assert only(tasks).running
    tasks.note(listed())
    assert not only(tasks).running


def test_the_end_of_a_task_can_be_told_after_it_is_gone_from_the_list() -> None:
    tasks = table(listed("b1"), listed(), notified("b1", "failed", summary="Oh."))
    assert (only(tasks).status, only(tasks).summary) == ("failed", "Oh.")


# --- what is told in pieces ----------------------------------------------------------------------


@pytest.mark.parametrize("end", ["completed", "failed", "killed", "stopped", "cancelled"])
def test_an_update_alone_can_tell_the_end(end: str) -> None:
    tasks = table(started("b1"), updated("b1", status=end, error="Because"))
    assert (only(tasks).status, only(tasks).running, only(tasks).error) == (end, False, "Because")


@pytest.mark.parametrize("end", ["completed", "failed", "stopped", "evaporated", None])
def test_a_notification_is_the_end_whatever_its_word_for_it(end: str | None) -> None:
    tasks = table(started("b1"), notified("b1", end))
    assert (only(tasks).status, only(tasks).running) == (end or "ended", False)


def test_a_task_that_has_ended_as_pending_does_not_run_when_it_speaks() -> None:
    tasks = table(notified("a", "pending", tool_use_id="t1"), whole("Hm.", agent="t1"))
    assert (only(tasks).status, only(tasks).running) == ("pending", False)


def test_an_unknown_status_is_the_end_if_it_has_a_time() -> None:
    tasks = table(started("b1"), updated("b1", status="evaporating"))
    assert (only(tasks).status, only(tasks).running) == ("evaporating", True)
    tasks.note(updated("b1", status="evaporated", end_time=5))
    assert (only(tasks).status, only(tasks).running) == ("evaporated", False)
    assert not only(table(started("b2"), updated("b2", end_time=5))).running


def test_a_task_that_is_paused_has_not_ended() -> None:
    tasks = table(started("b1"), updated("b1", status="paused", end_time=5))
    assert (only(tasks).status, only(tasks).running) == ("paused", True)


def test_an_update_does_not_bring_back_what_has_ended() -> None:
    tasks = table(started("b1"), notified("b1"), updated("b1", status="running"))
    assert (only(tasks).status, only(tasks).running) == ("completed", False)
    assert list(tasks.note(TaskUpdatedMessage(task_id="b1"))) == []


def test_a_task_is_known_from_whatever_is_said_about_it_first() -> None:
    for message in (
        updated("b1", status="running"),
        TaskProgressMessage(task_id="b1", summary="Working"),
        listed("b1"),
    ):
        assert states(table(message)) == {"b1": "running"}
    assert states(table(notified("b1"))) == {"b1": "completed"}


def test_a_task_that_runs_again_is_the_same_task() -> None:
    tasks = table(started("a1", run_id="1"), notified("a1", run_id="1"), started("a1", run_id="2"))
    assert (only(tasks).status, only(tasks).running, only(tasks).run) == ("running", True, "2")


def test_what_is_said_about_an_earlier_run_does_not_count() -> None:
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


def test_a_beginning_that_is_told_twice_brings_nothing_back() -> None:
    tasks = table(started("a1", run_id="1"), notified("a1", run_id="1"), started("a1", run_id="1"))
    assert not only(tasks).running
    without_runs = table(started("a1"), notified("a1"), started("a1"))
    assert only(without_runs).running


# --- ends that are never told --------------------------------------------------------------------


def test_the_result_of_its_call_ends_a_task_in_the_foreground() -> None:
    tasks = table(started("b1", tool_use_id="t1", is_backgrounded=False), tool_result("t1"))
    assert states(tasks) == {"b1": "completed"}
    failed = table(
        started("b1", tool_use_id="t1", is_backgrounded=False), tool_result("t1", is_error=True)
    )
    assert states(failed) == {"b1": "failed"}


def test_the_end_of_the_turn_ends_what_the_turn_waited_for() -> None:
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


def test_what_a_subagent_in_the_background_waits_for_goes_on_after_the_turn() -> None:
    tasks = table(
        started("a1", tool_use_id="t1", is_backgrounded=True),
        whole(ToolUseBlock("t2", "Bash", {}), agent="t1", agent_id="a1"),
        started("b1", tool_use_id="t2", is_backgrounded=False),
        result(),
    )
    assert states(tasks) == {"a1": "running", "b1": "running"}
    assert tasks.children("a1") == [tasks.get("b1")]
    tasks.note(notified("a1"))
    tasks.note(result())
    assert not tasks.running


def test_a_process_that_is_gone_runs_nothing() -> None:
    tasks = table(
        SessionStateChangedMessage(state="running"), started("b1"), started("b2"), notified("b2")
    )
    assert states(tasks.restarted()) == {"b1": "lost"}
    assert states(tasks) == {"b1": "lost", "b2": "completed"}
    assert tasks.idle
    assert list(tasks.restarted()) == []


def test_what_is_gone_from_the_list_has_ended_whatever_else_was_said_of_it() -> None:
    tasks = table(listed("a", "b"), updated("a", is_backgrounded=False), listed("b"))
    assert states(tasks) == {"a": "ended", "b": "running"}


def test_a_task_that_was_forgotten_is_gone_from_the_list_without_a_word() -> None:
    tasks = TaskTracker(kept=0)
    tasks.note(listed("a"))
    tasks.note(notified("a"))
    assert list(tasks.note(listed())) == []


def test_a_list_of_a_process_that_is_gone_says_nothing_of_the_next() -> None:
    tasks = table(listed("a"))
    tasks.restarted()
    for message in (started("a", is_backgrounded=False), listed()):
        tasks.note(message)
    assert states(tasks) == {"a": "running"}


# --- subagents -----------------------------------------------------------------------------------


def test_an_older_cli_tells_of_a_subagent_only_by_its_call_and_the_result() -> None:
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
    "message", [whole(call("t1")), whole("Hm.", agent="t1")], ids=["called", "heard"]
)
def test_a_subagent_of_no_kind_is_of_the_general_one(message: Message) -> None:
    task = only(table(message))
    assert (task.subagent_type, task.kind) == ("general-purpose", "local_agent")


@pytest.mark.parametrize(
    ("output", "id", "kind"),
    [
        ({"backgroundTaskId": "b1", "stdout": ""}, "b1", "local_bash"),
        ({"status": "async_launched", "agentId": "a1"}, "a1", "local_agent"),
    ],
)
def test_what_an_older_cli_runs_in_the_background_is_known_but_never_ends(
    output: Any, id: str, kind: str
) -> None:
    tasks = table(tool_result("t1", tool_use_result=output), result())
    task = only(tasks)
    assert (task.id, task.kind, task.running, task.background) == (id, kind, True, True)
    # Nobody can wait for an end that is not told.
    assert not task.reported
    assert tasks.idle


@pytest.mark.parametrize(
    "output",
    [
        "Error: no",
        None,
        {"agentId": "a1"},
        {"agentId": 7, "status": "async_launched"},
        {"status": "async_launched"},
        {"backgroundTaskId": 7},
    ],
)
def test_other_results_start_no_task(output: Any) -> None:
    assert len(table(tool_result("t1", tool_use_result=output))) == 0


def test_of_several_results_in_one_line_it_is_not_known_which_has_started_a_task() -> None:
    output = {"backgroundTaskId": "b1"}
    message = UserMessage.of([ToolResultBlock("t1"), ToolResultBlock("t2")], tool_use_result=output)
    assert len(table(message)) == 0


def test_a_call_that_has_started_its_task_waits_no_longer() -> None:
    output = {"agentId": "a1", "status": "async_launched"}
    tasks = table(whole(call("t1", run_in_background=True)))
    assert only(tasks).status == "pending"
    (task,) = tasks.note(tool_result("t1", tool_use_result=output))
    assert (task.id, task.status, only(tasks)) == ("a1", "running", task)


@pytest.mark.parametrize(
    ("asked", "background"), [(True, True), (False, False), ("yes", None), (None, None)]
)
def test_only_a_call_that_says_so_runs_in_the_background(
    asked: Any, background: bool | None
) -> None:
    assert only(table(whole(call("t1", run_in_background=asked)))).background is background


def test_a_call_that_was_to_run_in_the_background_and_failed_has_ended() -> None:
    tasks = table(
        whole(call("t1", run_in_background=True)), tool_result("t1", "No.", is_error=True)
    )
    assert states(tasks) == {"t1": "failed"}


def test_a_task_that_ends_before_its_call_is_answered_has_ended() -> None:
    launched = tool_result("t1", tool_use_result={"backgroundTaskId": "b1"})
    tasks = table(started("b1", tool_use_id="t1", is_backgrounded=True), notified("b1"), launched)
    assert states(tasks) == {"b1": "completed"}


def test_subagents_of_subagents_are_their_children() -> None:
    tasks = table(
        whole(call("t1")),
        started("a1", tool_use_id="t1", is_backgrounded=False, task_type="local_agent"),
        whole(call("t2", name="Agent"), agent="t1", agent_id="a1"),
        started("a2", tool_use_id="t2", parent_task_id="a1", task_type="local_agent"),
        started("a3", parent_task_id="a2", task_type="local_agent"),
    )
    tree = {task.id: [child.id for child in tasks.children(task.id)] for task in tasks}
    assert tree == {"a1": ["a2"], "a2": ["a3"], "a3": []}
    assert [task.id for task in tasks.children()] == ["a1"]
    assert [task.id for task in tasks.agents] == ["a1", "a2", "a3"]


def test_a_task_that_learns_its_id_keeps_what_its_call_has_told() -> None:
    calling = whole(call("t1", subagent_type="explorer", run_in_background=True))
    tasks = table(calling, started("b1"), TaskProgressMessage(task_id="a1", tool_use_id="t1"))
    task = tasks.get("a1")
    assert task is not None
    assert task == tasks.get("t1")
    assert (task.id, task.tool_use_id, task.kind) == ("a1", "t1", "local_agent")
    assert (task.description, task.subagent_type, task.background) == ("Look", "explorer", True)
    assert [it.id for it in tasks] == ["a1", "b1"]  # it began with its call


def test_a_task_that_is_called_none_is_not_taken_for_one_without_a_call() -> None:
    assert states(table(started("None"), started("b"))) == {"None": "running", "b": "running"}


def test_an_end_that_says_no_more_leaves_what_is_known() -> None:
    usage = TaskUsage(10, 1, 59)
    tasks = table(
        started("a", ambient=True),
        TaskProgressMessage(task_id="a", usage=usage, summary="Looks"),
        notified("a", output_file="out", summary="Found"),
        notified("a", output_file=""),
    )
    task = only(tasks)
    assert (task.usage, task.summary, task.output_file) == (usage, "Found", "out")
    assert (task.ambient, task.status) == (True, "completed")


def test_a_task_that_was_known_by_its_id_and_by_its_call_keeps_what_both_have_told() -> None:
    tasks = table(
        whole(call("t1", subagent_type="explorer", run_in_background=True)),
        updated("a1", "run-1", status="running"),
        started("a1", tool_use_id="t1"),
    )
    task = only(tasks)
    assert (task.id, task.tool_use_id, task.run, task.kind) == ("a1", "t1", "run-1", "local_agent")
    assert (task.description, task.subagent_type, task.background) == ("Look", "explorer", True)


def test_children_that_knew_their_parent_by_its_call_learn_its_id() -> None:
    tasks = table(
        whole(call("t1")),
        whole(call("t2"), agent="t1"),
        started("a1", tool_use_id="t1", task_type="local_agent"),
    )
    assert [task.id for task in tasks.children("a1")] == ["t2"]


def test_the_parent_of_a_task_that_was_first_in_the_list_is_known_from_its_call() -> None:
    tasks = table(
        started("a1", tool_use_id="t1"),
        whole(call("t2", run_in_background=True), agent="t1"),
        listed("a1", "a2"),
        started("a2", tool_use_id="t2"),
    )
    assert [(task.id, task.parent, task.started) for task in tasks] == [
        ("a1", None, 1),
        ("a2", "a1", 2),
    ]


def test_a_subagent_whose_beginning_was_never_seen_is_known_when_it_speaks() -> None:
    message = whole("Hm.", agent="t1", agent_id="a1", task_description="Look")
    task = only(table(message))
    assert (task.id, task.tool_use_id, task.description) == ("a1", "t1", "Look")
    assert task.is_agent
    assert only(table(whole("Hm.", agent="t1"))).id == "t1"


def test_a_subagent_that_asks_the_api_again_says_so() -> None:
    retry = SubagentRetry(agent_id="a1", attempt=2, max_retries=10, retry_delay_ms=500)
    tasks = table(started("a1", tool_use_id="t1"))
    (task,) = tasks.note(ToolProgressMessage(tool_use_id="t9", subagent_retry=retry))
    assert task.retry == retry
    assert list(tasks.note(ToolProgressMessage(tool_use_id="t9", subagent_retry=retry))) == []
    (task,) = tasks.note(ToolProgressMessage(tool_use_id="t1"))
    assert task.retry is None
    unnamed = SubagentRetry(attempt=3)
    (task,) = tasks.note(
        ToolProgressMessage(tool_use_id="t9", task_id="a1", subagent_retry=unnamed)
    )
    assert task.retry == unnamed
    tasks.note(ToolProgressMessage(tool_use_id="t9", subagent_retry=retry))
    tasks.note(TaskProgressMessage(task_id="a1", summary="On"))
    assert only(tasks).retry is None
    tasks.note(notified("a1"))
    assert list(tasks.note(ToolProgressMessage(tool_use_id="t1", subagent_retry=retry))) == []
    assert list(tasks.note(ToolProgressMessage(tool_use_id="unknown"))) == []


# --- whether anything is under way ---------------------------------------------------------------


def test_ambient_tasks_are_no_activity() -> None:
    tasks = table(listed(Listed("m1", ambient=True)))
    assert tasks.idle
    assert [task.id for task in tasks.running] == ["m1"]


@pytest.mark.parametrize(
    ("state", "idle"), [("idle", True), ("running", False), ("requires_action", False)]
)
def test_the_session_says_itself_whether_it_is_idle(state: str, idle: bool) -> None:
    tasks = table(SessionStateChangedMessage(state=state))
    assert (tasks.idle, tasks.state) == (idle, state)
    assert TaskTracker().idle


# --- its size ------------------------------------------------------------------------------------


def test_of_the_tasks_that_ended_the_last_are_kept() -> None:
    tasks = TaskTracker(kept=3)
    tasks.note(started("long"))
    for number in range(10):
        tasks.note(started(f"b{number}", tool_use_id=f"t{number}"))
        tasks.note(notified(f"b{number}"))
    assert [task.id for task in tasks] == ["long", "b7", "b8", "b9"]
    assert tasks.get("t6") is None
    assert tasks.get("t7") == tasks.get("b7")


def test_a_tool_call_of_a_task_that_is_forgotten_may_start_another() -> None:
    tasks = TaskTracker(kept=0)
    for id in ("a", "b"):
        tasks.note(started(id, tool_use_id="t1"))
        assert tasks.get("t1") == only(tasks)
        tasks.note(notified(id))
        assert list(tasks) == []
    assert (tasks._names, tasks._names_of, tasks._children) == ({}, {}, {})


def test_a_long_session_keeps_200_tasks_and_not_every_call() -> None:
    tasks = TaskTracker()
    for number in range(3000):
        tasks.note(whole(ToolUseBlock(f"t{number}", "Bash", {}), agent="agent"))
        if number % 5 == 0:
            tasks.note(notified(f"b{number}"))
    assert len(tasks) == 201
    assert len(tasks._callers) == 1000


# --- anything ------------------------------------------------------------------------------------

ANY: Sequence[type[Message]] = (
    BackgroundTasksChangedMessage,
    TaskStartedMessage,
    TaskProgressMessage,
    TaskUpdatedMessage,
    TaskNotificationMessage,
    ToolProgressMessage,
    SessionStateChangedMessage,
    AssistantMessage,
    UserMessage,
    ResultMessage,
    KeepAlive,
)


@given(st.lists(st.sampled_from(ANY).flatmap(records), max_size=8))
def test_nothing_that_a_cli_says_can_break_the_table(messages: list[Message]) -> None:
    tasks = TaskTracker(kept=2)
    for message in messages:
        for task in tasks.note(message):
            assert task in tasks or not task.running
        assert len([task for task in tasks if not task.running]) <= 2
        assert [task for task in tasks.running if task.ended is not None] == []
    tasks.restarted()
    assert tasks.running == []
    assert tasks.idle


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_recorded_conversations_without_tasks_are_idle(path: Path) -> None:
    tasks = table(*recorded(path))
    assert list(tasks) == []
    assert tasks.idle


def test_results_in_one_line_end_their_calls() -> None:
    results = UserMessage.of([ToolResultBlock("t1"), ToolResultBlock("t2", is_error=True)])
    tasks = table(whole(call("t1"), call("t2")), results)
    assert states(tasks) == {"t1": "completed", "t2": "failed"}


# --- floods --------------------------------------------------------------------------------------


class Uncounted(TaskTracker):
    """Fails if all tasks are looked at."""

    def __iter__(self) -> Any:
        raise AssertionError("all tasks were looked at")


def test_a_message_is_noted_without_a_look_at_all_tasks() -> None:
    tasks = Uncounted(kept=2)
    for number in range(10):
        tasks.note(started(f"t{number}", tool_use_id=f"toolu_{number}"))
        tasks.note(whole(call(f"call_{number}")))
        tasks.note(started(f"a{number}", tool_use_id=f"call_{number}"))
        tasks.note(listed("b", f"b{number}"))
        tasks.note(notified(f"t{number}"))
    tasks.note(listed())
    assert not tasks.idle
    assert tasks.get("toolu_0") is None
    assert tasks.get("toolu_9") is None
    assert tasks.get("b") is not None


def test_only_so_many_running_tasks_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.tracking.tasks.RUNNING", 3)
    tasks = table(*(started(f"t{number}", tool_use_id=f"u{number}") for number in range(5)))
    assert states(tasks) == {"t2": "running", "t3": "running", "t4": "running"}
    assert tasks.get("u0") is None
    assert tasks.get("u2") is not None


def test_only_so_many_tasks_of_a_list_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.tracking.tasks.LISTED", 2)
    tasks = table(started("c", is_backgrounded=True), listed("a", "b", "c"))
    assert states(tasks) == {"c": "running", "a": "running", "b": "running"}
    assert states(table(listed("a", "b", "c"))) == {"a": "running", "b": "running"}


def test_only_so_many_calls_of_subagents_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.tracking.tasks.CALLS", 2)
    calls = [whole(call(f"t{number}", "Bash"), agent="t") for number in range(3)]
    others = [whole(call(f"u{number}", "Bash")) for number in range(3)]
    tasks = table(*calls, *others, *(started(f"a{it}", tool_use_id=f"t{it}") for it in range(3)))
    assert [(task.id, task.parent) for task in tasks] == [
        ("t", None),
        ("a0", None),
        ("a1", "t"),
        ("a2", "t"),
    ]


def test_nothing_is_kept_under_the_name_that_a_task_had_before() -> None:
    tasks = table(whole(call("toolu_1")), started("task-1", tool_use_id="toolu_1"))
    assert only(tasks).id == "task-1"
    assert tasks.get("toolu_1") is only(tasks)
    assert tasks._names_of == {"task-1": {"task-1", "toolu_1"}}


def test_tasks_that_name_each_other_as_their_parents_end_with_the_turn() -> None:
    first = whole(call("a"), call("b"))
    tasks = table(first)
    for id, parent in (("a", "b"), ("b", "a")):
        task = tasks.get(id)
        assert task is not None
        tasks._set(task, parent=parent)
    tasks.note(result())
    assert states(tasks) == {"a": "ended", "b": "ended"}


def test_what_a_task_that_goes_on_has_started_goes_on_with_it() -> None:
    tasks = table(
        started("a", is_backgrounded=True),
        started("b", parent_task_id="a", is_backgrounded=False),
        started("c", parent_task_id="b", is_backgrounded=False),
        started("d", is_backgrounded=False),
        started("e", parent_task_id="d", is_backgrounded=False),
        result(),
    )
    assert [task.id for task in tasks.running] == ["a", "b", "c"]


def test_what_a_task_has_started_that_is_over_ends_with_the_turn() -> None:
    tasks = table(
        started("a", is_backgrounded=True),
        started("b", parent_task_id="a", is_backgrounded=False),
        started("c", parent_task_id="b", is_backgrounded=False),
        notified("b"),
        result(),
    )
    assert [task.id for task in tasks.running] == ["a"]


def test_a_task_goes_on_with_the_one_that_is_its_parent_now() -> None:
    tasks = table(
        started("a", is_backgrounded=True),
        started("b", is_backgrounded=False),
        *(started(id, is_backgrounded=False) for id in "cde"),
        started("c", parent_task_id="a"),
        started("d", parent_task_id="a"),
        started("d", parent_task_id="b"),
        result(),
    )
    assert [task.id for task in tasks.running] == ["a", "c"]


def test_a_task_that_is_forgotten_is_nobodys_child() -> None:
    tasks = TaskTracker(kept=0)
    tasks.note(started("a", is_backgrounded=True))
    for id in "bcd":
        tasks.note(started(id, parent_task_id="a", is_backgrounded=False))
    tasks.note(notified("b"))
    tasks.note(notified("d"))
    tasks.note(result())
    assert [task.id for task in tasks.running] == ["a", "c"]


def test_nothing_is_kept_of_tasks_that_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.tracking.tasks.RUNNING", 3)
    tasks = TaskTracker(kept=0)
    for number in range(6):
        fields = {"parent_task_id": f"a{number - 1}", "is_backgrounded": True}
        tasks.note(started(f"a{number}", tool_use_id=f"t{number}", **fields))
        tasks.note(whole(call(f"c{number}")))
        tasks.note(listed(f"a{number}", f"c{number}"))
    tasks.restarted()
    assert [it for it in vars(tasks).values() if isinstance(it, dict | set) and it] == []
