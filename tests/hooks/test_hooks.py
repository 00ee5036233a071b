"""Hooks: how they are registered, what they can say at each event, and what if they fail."""

from __future__ import annotations

import functools
import json
import logging
import math
import re
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import anyio
import msgspec
import pytest
from tests.helpers.clock import let_pass, time_by_hand
from tests.helpers.peer import SOON
from tests.hooks.hook_table import RESULTS, WITHOUT_MATCHER, expected
from tests.real.hooked import hooked
from tests.wire.test_hooks import BASE, INPUTS

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.hooks import (
    Hook,
    HookContext,
    HookResult,
    HookResultError,
    Hooks,
    OnFailure,
    add_context,
    allow,
    answer,
    ask,
    block,
    change_input,
    change_output,
    defer,
    deny,
    retry,
    set_fields,
    stop,
    tell_user,
)
from claudewire.hooks.events import EVENTS
from claudewire.hooks.hook import FAILED, NONSENSE
from claudewire.hooks.registry import HookEvent
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import (
    HOOK_EVENTS,
    AddRules,
    Answer,
    BaseHookInput,
    Connection,
    HookCallback,
    HookMatcher,
    HookOutput,
    InitializeResult,
    Interrupt,
    PermissionRule,
    PostToolUseHookInput,
    PreToolUseHookInput,
    Request,
    Role,
    StopHookInput,
    StopHookSpecificOutput,
    UnknownHookInput,
    UnknownHookSpecificOutput,
    UserMessage,
    UserPromptSubmitHookInput,
)

if TYPE_CHECKING:
    from claudewire.session import Session

pytestmark = pytest.mark.anyio


def nothing(event: object) -> None:
    """Have no opinion."""


def method(event: str) -> str:
    return "".join(f"_{it.lower()}" if it.isupper() else it for it in event)[1:]


def line(event: str, callback_id: str = "hook_0", **fields: Any) -> bytes:
    """What the CLI writes to call a hook."""
    told = {"hook_event_name": event, **BASE, **INPUTS[event], **fields}
    request = {"subtype": "hook_callback", "callback_id": callback_id, "input": told}
    body = {**request, "tool_use_id": "toolu_1"}
    message = {"type": "control_request", "request_id": "1", "request": body}
    return json.dumps(message).encode() + b"\n"


def callback(event: str, callback_id: str = "hook_0", **fields: Any) -> HookCallback:
    (request,) = Connection(Role.CLIENT).receive_data(line(event, callback_id, **fields))
    assert isinstance(request, Request)
    assert isinstance(request.body, HookCallback)
    assert request.problems == ()
    return request.body


async def answered(hooks: Hooks, event: str, **fields: Any) -> dict[str, Any]:
    """Let the CLI call the only hook, and give what it reads as the answer."""
    said, output = await written(hooks, event, **fields)
    assert msgspec.convert(said, HookOutput) == output
    return said


async def written(hooks: Hooks, event: str, **fields: Any) -> tuple[dict[str, Any], HookOutput]:
    """Let the CLI call the only hook, and give what is written, and what it was made of."""
    connection = Connection(Role.CLIENT)
    (request,) = connection.receive_data(line(event, **fields))
    assert isinstance(request, Request)
    assert isinstance(request.body, HookCallback)
    output = await hooks.serve(request.body)
    said: dict[str, Any] = json.loads(connection.send(Answer("1", output)))["response"]["response"]
    return said, output


def saying(event: str, said: object, **options: Any) -> Hooks:
    return Hooks.of({event: Hook(lambda _: said, **options)})


def own(event: str, **fields: Any) -> dict[str, Any]:
    """What only one event has, as the official SDK writes it."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


BLOCKED_WITHOUT_REASON = {"decision": "block", "reason": "Blocked by a hook."}


class Unwritable:
    """Something that JSON does not have."""


class NotToBeRead(dict[str, Any]):
    """A dictionary that fails when it is read."""

    def __init__(self) -> None:
        super().__init__(a=1)

    def __iter__(self) -> Any:
        raise SystemExit("no")


class NotToBeShown(NotToBeRead):
    """One that cannot be shown either."""

    def __repr__(self) -> str:
        raise SystemExit("never")


# --- what can be said at which event -------------------------------------------------------------


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_each_event_can_be_answered_in_its_own_ways_and_no_others(
    event: str, caplog: pytest.LogCaptureFixture
) -> None:
    said: dict[str, dict[str, Any]] = {}
    for name, result in RESULTS.items():
        caplog.clear()
        output = await answered(saying(event, result()), event)
        if not caplog.records:  # those that do not fit are logged
            said[name] = output
    assert said == expected(event)


def blocked(event: str, why: str) -> dict[str, Any]:
    """What the CLI is told at an event that is blocked; nothing if it cannot be."""
    blocks = json.dumps(expected(event).get("block", {})).replace("why", why)
    told: dict[str, Any] = json.loads(blocks)
    return told


@pytest.mark.parametrize("event", HOOK_EVENTS)
@pytest.mark.parametrize("said", [True, "deny", {"permissionDecision": "deny"}, HookResultError])
async def test_an_invalid_result_blocks_what_can_be_blocked_whatever_was_asked_for(
    event: str, said: object, caplog: pytest.LogCaptureFixture
) -> None:
    def contradict(_: object) -> HookResult:
        return allow() & deny("no")

    hook = Hook(contradict if said is HookResultError else lambda _: said, on_failure="continue")
    told = await answered(Hooks.of({event: hook}), event)
    goes_on = "stop_hook_active" in INPUTS[event]  # to block it is to go on
    assert told == ({} if goes_on else blocked(event, NONSENSE))
    assert "HookResultError" in caplog.text


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_a_hook_is_told_what_happened_in_the_type_of_its_event(event: str) -> None:
    told: list[object] = []
    hooks = Hooks()
    getattr(hooks, method(event))(told.append)
    assert [*hooks.config()] == [event]
    assert await answered(hooks, event) == {}
    (given,) = told
    assert isinstance(given, BaseHookInput)
    assert type(given).__name__ == f"{event}HookInput"
    assert msgspec.to_builtins(given) == {"hook_event_name": event, **BASE, **INPUTS[event]}


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_a_hook_that_must_block_does_or_is_refused(event: str) -> None:
    def fail(event: object) -> None:
        raise RuntimeError("secret")

    blocks = expected(event).get("block")
    if blocks is None:
        with pytest.raises(OptionsError, match=f"{event} cannot be blocked"):
            Hooks.of({event: Hook(fail, on_failure="block")})
        return
    for policy in ("block", "block_here"):
        hooks = Hooks.of({event: Hook(fail, on_failure=policy)})
        given = {"stop_hook_active": False} if "stop_hook_active" in INPUTS[event] else {}
        said = json.dumps(await answered(hooks, event, **given))
        assert said == json.dumps(blocks).replace("why", FAILED)


async def test_a_result_that_does_not_fit_its_event_is_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert await answered(saying("Stop", deny("no")), "Stop") == {}
    assert "Stop cannot be answered with deny" in caplog.text
    said = await answered(saying("PreToolUse", retry(), on_failure="block"), "PreToolUse")
    assert said["hookSpecificOutput"]["permissionDecision"] == "deny"
    assert "cannot set retry at PreToolUse" in caplog.text


@pytest.mark.parametrize(
    ("event", "result", "problem"),
    [
        ("SessionEnd", add_context("x"), "cannot give the model context at SessionEnd"),
        ("PermissionRequest", add_context("x"), "cannot give the model context"),
        ("SessionEnd", stop("x"), "cannot stop the turn"),
        ("PreModelSwitch", defer(), "cannot be answered with defer"),
        ("PermissionRequest", ask(), "cannot be answered with ask"),
        ("PermissionRequest", change_input({}), "cannot be answered with updated_input"),
        ("PermissionRequest", deny("x") & change_input({}), "cannot be answered with deny"),
        ("PermissionRequest", allow() & stop("x"), "cannot be answered with allow"),
        ("PermissionRequest", allow() & set_fields(retry=True), "cannot set retry"),
        ("Stop", set_fields(session_title="x"), "cannot set session_title at Stop"),
        ("UserPromptSubmit", set_fields(session_title=5), "cannot be written"),
        ("PreToolUse", change_input({"x": object()}), "cannot be written"),
        ("PreToolUse", "allow", "returns None, a result"),
        ("PreToolUse", {"decison": "block"}, "no 'decison' in the result of a hook; did you mean"),
        ("PreToolUse", {"permissionDecision": "deny"}, "There is no 'permissionDecision' in the"),
        ("PreToolUse", {"x": 1}, "no 'x' in the result of a hook; it can have continue, decision"),
        ("PreToolUse", {1: 1}, "There is no 1 in the result of a hook"),
        (
            "PreToolUse",
            {"decision": "deny"},
            ": decision must be one of block, approve, not 'deny'",
        ),
        ("PreToolUse", {"continue": "no"}, ": continue must be True or False, not 'no'"),
        ("PreToolUse", {"async_": 1}, ": async must be True or False, not 1"),
        ("PreToolUse", {"systemMessage": 5}, "cannot be written"),
        ("PreToolUse", {"async_": True, "decision": "block"}, "With `async` the CLI goes on"),
        ("PreToolUse", {"hookSpecificOutput": 5}, "must be a dictionary, not 5"),
        (
            "PreToolUse",
            own("PreToolUse", permissionDecision="no"),
            ": permissionDecision must be one of allow, deny, ask, defer, not 'no'",
        ),
        ("PreToolUse", own("PreToolUse", permisionDecision="deny"), "mean 'permissionDecision'?"),
        ("PreToolUse", own("PostToolUse"), "the output for PostToolUse, and the event is PreTool"),
        (
            "PreToolUse",
            {"hookSpecificOutput": {"hook_event_name": "Stop"}},
            "the output for Stop, and the event is PreToolUse",
        ),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "allow", "odd": 1}),
            "cannot set odd at PermissionRequest",
        ),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "allow", "interrupt": True}),
            "PermissionRequest cannot be answered with allow as it is given here",
        ),
        ("Stop", {"hookSpecificOutput": {"x": 1}}, "no 'x' in the hookSpecificOutput of Stop; it"),
        ("PreToolUse", NotToBeRead(), "{'a': 1} cannot be read: no"),
        ("PreToolUse", NotToBeShown(), "A NotToBeShown cannot be read: no"),
        ("PreToolUse", own("PreToolUse", updatedInput=[]), "cannot be written"),
        (
            "PreToolUse",
            {"decision": "block", **own("PreToolUse", permissionDecision="allow")},
            "cannot say both deny and allow",
        ),
        ("SessionEnd", own("SessionEnd", additionalContext="x"), "has no hookSpecificOutput"),
        ("SessionEnd", {"decision": "block"}, "SessionEnd cannot be answered with block"),
        ("PermissionRequest", own("PermissionRequest", decision="deny"), "must be a dictionary"),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"message": "x"}),
            ": behavior must be one of allow, deny, not None",
        ),
        ("PreToolUse", HookOutput(decision="deny"), "must be one of approve, block, not 'deny'"),
        ("PostToolUse", change_output(Unwritable()), "cannot be written"),
        ("PreToolUse", HookOutput(decision=5), "must be one of approve"),  # type: ignore[arg-type]
        (
            "PreToolUse",
            HookOutput(hook_specific_output=StopHookSpecificOutput("x")),
            "the output for Stop, and the event is PreToolUse",
        ),
    ],
)
async def test_it_says_what_is_wrong_with_a_result(
    event: str, result: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    await answered(saying(event, result), event)
    assert "HookResultError" in caplog.text
    assert problem in caplog.text


DENIED = {"permissionDecision": "deny", "permissionDecisionReason": "why"}
SETTING = {"type": "setMode", "mode": "plan", "destination": "session"}
SILENT = {"async": False, "terminalSequence": "x"}


@pytest.mark.parametrize(
    ("event", "given", "told"),
    [
        ("PreToolUse", {}, {}),
        ("PreToolUse", {"continue_": True, "decision": None}, {}),
        ("PreToolUse", own("PreToolUse", **DENIED), own("PreToolUse", **DENIED)),
        (
            "PreToolUse",
            own("PreToolUse", **DENIED, updatedInput=None, additionalContext=None),
            own("PreToolUse", **DENIED),
        ),
        ("PreToolUse", {"hookSpecificOutput": DENIED}, own("PreToolUse", **DENIED)),
        ("PreToolUse", {"decision": "block", "reason": "why"}, own("PreToolUse", **DENIED)),
        (
            "PreToolUse",
            {"decision": "block", "reason": "why", **own("PreToolUse", **DENIED)},
            own("PreToolUse", permissionDecision="deny", permissionDecisionReason="why"),
        ),
        ("PreToolUse", {"decision": "approve"}, own("PreToolUse", permissionDecision="allow")),
        (
            "PreToolUse",
            own("PreToolUse", permissionDecision="allow", updatedInput={"command": "pwd"}),
            own("PreToolUse", permissionDecision="allow", updatedInput={"command": "pwd"}),
        ),
        (
            "PreToolUse",
            own("PreToolUse", permissionDecision="ask", additionalContext="x"),
            own("PreToolUse", permissionDecision="ask", additionalContext="x"),
        ),
        (
            # A CLI that is only told to stop would run the tool first.
            "PreToolUse",
            {"continue_": False, "stopReason": "why"},
            {"continue": False, "stopReason": "why", **own("PreToolUse", **DENIED)},
        ),
        (
            "PostToolUse",
            {"continue": False, "systemMessage": "!", "suppressOutput": True},
            {
                "continue": False,
                "stopReason": "Stopped by a hook.",
                "systemMessage": "!",
                "suppressOutput": True,
            },
        ),
        (
            "PostToolUse",
            {"decision": "block", "reason": "why", **own("PostToolUse", additionalContext="x")},
            {"decision": "block", "reason": "why", **own("PostToolUse", additionalContext="x")},
        ),
        ("UserPromptSubmit", {"decision": "block"}, BLOCKED_WITHOUT_REASON),
        ("UserPromptSubmit", {"decision": "approve", "reason": "why"}, {}),
        ("Stop", {"decision": "block", "reason": "why"}, {"decision": "block", "reason": "why"}),
        ("Stop", {"async_": True, "asyncTimeout": 5}, {"async": True, "asyncTimeout": 5}),
        ("Notification", {"systemMessage": "x"}, {"systemMessage": "x"}),
        ("SessionEnd", own("SessionEnd"), {}),
        (
            "SessionStart",
            {"hook_specific_output": {"additional_context": "x", "session_title": "y"}},
            own("SessionStart", additionalContext="x", sessionTitle="y"),
        ),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "deny", "message": "why"}),
            own("PermissionRequest", decision={"behavior": "deny", "message": "why"}),
        ),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "deny", "interrupt": True}),
            own(
                "PermissionRequest",
                decision={"behavior": "deny", "message": "Stopped by a hook.", "interrupt": True},
            ),
        ),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"a": 1}}),
            own("PermissionRequest", decision={"behavior": "allow", "updatedInput": {"a": 1}}),
        ),
        ("PermissionRequest", own("PermissionRequest"), {}),
        (
            "PermissionRequest",
            own(
                "PermissionRequest",
                decision={"behavior": "deny", "message": "why", "interrupt": True},
            ),
            own(
                "PermissionRequest",
                decision={"behavior": "deny", "message": "why", "interrupt": True},
            ),
        ),
        (
            "PermissionRequest",
            {"decision": "approve", "systemMessage": "x"},
            {
                "systemMessage": "x",
                **own(
                    "PermissionRequest",
                    decision={"behavior": "allow", "updatedInput": {"command": "ls"}},
                ),
            },
        ),
        (
            "PermissionRequest",
            {"continue": False},
            own(
                "PermissionRequest",
                decision={"behavior": "deny", "message": "Stopped by a hook.", "interrupt": True},
            ),
        ),
        (
            "PreToolUse",
            {"hook_specific_output": {"hook_event_name": "PreToolUse", **DENIED}},
            own("PreToolUse", **DENIED),
        ),
        ("PreModelSwitch", {"decision": "block", "reason": "why"}, own("PreModelSwitch", **DENIED)),
        ("Stop", {"async": False, "reason": "why", "terminalSequence": "x"}, SILENT),
        ("Stop", {"async": True, "reason": "why"}, {"async": True}),
        (
            "PreToolUse",
            {"async": False, "decision": "block", "reason": "why"},
            {"async": False, **own("PreToolUse", **DENIED)},
        ),
        (
            "PreToolUse",
            {
                "decision": "block",
                "reason": "one",
                **own("PreToolUse", permissionDecision="deny", permissionDecisionReason="two"),
            },
            own("PreToolUse", permissionDecision="deny", permissionDecisionReason="one\ntwo"),
        ),
        (
            "Elicitation",
            own("Elicitation", action="accept", content={"a": 1}),
            own("Elicitation", action="accept", content={"a": 1}),
        ),
    ],
)
async def test_a_dictionary_of_the_official_sdk_is_understood(
    event: str, given: dict[str, Any], told: dict[str, Any]
) -> None:
    assert await answered(saying(event, given), event) == told


async def test_a_dictionary_may_change_the_rules() -> None:
    decision = {"behavior": "allow", "updatedPermissions": [SETTING]}
    silent = {"updatedInput": None, "interrupt": False}
    given = own("PermissionRequest", decision={**decision, **silent})
    said, _ = await written(saying("PermissionRequest", given), "PermissionRequest")
    input = {"updatedInput": {"command": "ls"}}
    assert said == own("PermissionRequest", decision={**decision, **input})


async def test_results_are_joined() -> None:
    result = allow("fine") & change_input({"command": "pwd"}) & add_context("a") & add_context("b")
    assert await answered(saying("PreToolUse", result & tell_user("!")), "PreToolUse") == {
        "systemMessage": "!",
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": "allow",
            "permissionDecisionReason": "fine",
            "updatedInput": {"command": "pwd"},
            "additionalContext": "a\nb",
        },
    }
    assert allow() & allow() == allow()
    assert retry() & retry() == retry()


def test_results_that_contradict_each_other_are_not_joined() -> None:
    with pytest.raises(HookResultError, match="both allow and deny"):
        allow() & deny("no")
    with pytest.raises(HookResultError, match="two values for updated_input"):
        change_input({"a": 1}) & change_input({"a": 2})


async def test_a_decision_without_a_reason_says_as_little_as_can_be() -> None:
    said = await answered(saying("PreToolUse", allow()), "PreToolUse")
    assert said["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
    }
    said = await answered(saying("PreToolUse", deny("")), "PreToolUse")
    assert said["hookSpecificOutput"]["permissionDecisionReason"] == "Blocked by a hook."
    assert (await answered(saying("Stop", block("")), "Stop"))["reason"] == "Blocked by a hook."


async def test_an_allow_may_change_the_input_and_the_rules() -> None:
    rules = [AddRules([PermissionRule("Bash")], "allow", "session")]
    result = allow() & change_input({"command": "pwd"}) & set_fields(updated_permissions=rules)
    said = await answered(saying("PermissionRequest", result), "PermissionRequest")
    assert said["hookSpecificOutput"]["decision"] == {
        "behavior": "allow",
        "updatedInput": {"command": "pwd"},
        "updatedPermissions": [
            {
                "type": "addRules",
                "rules": [{"toolName": "Bash"}],
                "behavior": "allow",
                "destination": "session",
            }
        ],
    }


async def test_an_mcp_server_may_be_answered_without_content() -> None:
    said = await answered(saying("Elicitation", answer("cancel")), "Elicitation")
    assert said == own("Elicitation", action="cancel")


async def test_the_output_of_an_mcp_tool_is_changed_under_both_its_names() -> None:
    hooks = saying("PostToolUse", change_output("x"))
    said = await answered(hooks, "PostToolUse", tool_name="mcp__calc__add")
    assert said["hookSpecificOutput"] == {
        "hookEventName": "PostToolUse",
        "updatedToolOutput": "x",
        "updatedMCPToolOutput": "x",
    }


async def test_a_tool_may_be_allowed_and_the_turn_stopped_after_it() -> None:
    said = await answered(saying("PreToolUse", allow() & stop("enough")), "PreToolUse")
    assert said["continue"] is False
    assert said["hookSpecificOutput"]["permissionDecision"] == "allow"


async def test_an_output_is_sent_as_it_is() -> None:
    output = HookOutput(async_=True, async_timeout=5)
    assert await answered(saying("Stop", output), "Stop") == {"async": True, "asyncTimeout": 5}


def of_event(event: str, **fields: Any) -> HookOutput:
    kind = EVENTS[event].output
    assert kind is not None
    return HookOutput(hook_specific_output=kind(**fields))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("event", "make", "told"),
    [
        *(
            ("Stop", lambda it: HookOutput(decision=it), {"decision": it})
            for it in ("approve", "block")
        ),
        *(
            (
                "PreToolUse",
                lambda it: of_event("PreToolUse", permission_decision=it),
                own("PreToolUse", permissionDecision=it),
            )
            for it in ("allow", "deny", "ask", "defer")
        ),
        *(
            (
                "Elicitation",
                lambda it: of_event("Elicitation", action=it),
                own("Elicitation", action=it),
            )
            for it in ("accept", "decline", "cancel")
        ),
    ],
)
async def test_an_output_may_have_the_words_that_the_cli_reads_and_no_others(
    event: str,
    make: Callable[[Any], HookOutput],
    told: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    (word,) = re.findall(r'"(\w+)"\}+$', json.dumps(told))
    assert await answered(saying(event, make(word)), event) == told
    assert caplog.messages == []
    await answered(saying(event, make(word.title())), event)
    assert f", not {word.title()!r}" in caplog.text


async def test_an_output_that_is_not_known_here_is_sent_as_it_is() -> None:
    raw = {"hookEventName": "Tomorrow", "odd": 1}
    output = HookOutput(hook_specific_output=UnknownHookSpecificOutput(raw))
    said, _ = await written(saying("Stop", output), "Stop")
    assert said == {"hookSpecificOutput": raw}


# --- registering ---------------------------------------------------------------------------------


def test_a_hook_is_registered_by_decorator_by_mapping_and_by_name() -> None:
    hooks = Hooks()

    @hooks.pre_tool_use("Bash|Edit", timeout=5)
    def one(event: PreToolUseHookInput) -> HookResult | None:
        return None

    @hooks.stop
    async def two(event: StopHookInput, context: HookContext) -> None: ...

    @hooks.pre_tool_use(on_failure="block")
    def three(event: PreToolUseHookInput) -> None: ...

    def four(event: UserPromptSubmitHookInput) -> None: ...

    hooks.add(UserPromptSubmitHookInput, four)

    # What is decorated stays what it was.
    assert one(PreToolUseHookInput("Bash", {})) is None

    mapped = Hooks.of(
        {
            "PreToolUse": [Hook(one, "Bash|Edit", timeout=5), Hook(three, on_failure="block")],
            "Stop": two,
            "UserPromptSubmit": (four,),
        }
    )
    assert {*mapped} == {*hooks}
    assert len(mapped) == 4
    assert Hooks.of(hooks) is hooks
    assert "PreToolUse" in repr(hooks)
    assert "one" in repr(hooks)
    assert repr(Hooks()) == "<Hooks: none>"


def test_an_attribute_registers_hooks_for_the_event_that_it_is_named_after() -> None:
    class Few(Hooks):
        user_prompt_submit: HookEvent[UserPromptSubmitHookInput] = HookEvent()
        stop: HookEvent[StopHookInput] = HookEvent()

    few = Few()
    few.stop(nothing)
    few.user_prompt_submit(timeout=5)(nothing)
    assert [(event, hook.timeout) for event, hook in few] == [("Stop", 50), ("UserPromptSubmit", 5)]
    assert Few.stop is vars(Few)["stop"]
    with pytest.raises((OptionsError, RuntimeError)):  # which Python 3.11 wraps

        class Odd(Hooks):
            stopp: HookEvent[StopHookInput] = HookEvent()


def test_the_cli_is_told_each_hook_with_its_own_limits() -> None:
    hooks = Hooks.of({"Stop": nothing, "PreToolUse": Hook(nothing, "Bash", 1.5, "block")})
    hooks.extend({"PreToolUse": nothing, "SubagentStop": Hook(nothing, on_failure="block")})
    assert hooks.config() == {
        "Stop": [HookMatcher(["hook_0"], timeout=60)],
        "PreToolUse": [
            # The CLI waits longer than the hook may take, so that a failure is told from here.
            HookMatcher(["hook_1"], matcher="Bash", timeout=12, on_failure="block"),
            HookMatcher(["hook_2"], timeout=60),
        ],
        # No CLI blocks here by itself.
        "SubagentStop": [HookMatcher(["hook_3"], timeout=60)],
    }
    assert Hooks().config() == {}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("PreToolUsed", "did you mean PreToolUse?"),
        ("pre_tool_use", "did you mean PreToolUse?"),
        ("stop", "did you mean Stop?"),
        ("STOP", "did you mean Stop?"),
        ("PRE-TOOL-USE", "did you mean PreToolUse?"),
        ("Subagentstop", "did you mean SubagentStop?"),
        ("zzz", "there are PreToolUse, PostToolUse"),
        (5, "there are PreToolUse"),
    ],
)
def test_an_event_that_does_not_exist_is_refused(name: Any, hint: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Hooks.of({name: nothing})
    assert hint in str(caught.value)
    with pytest.raises(OptionsError):
        Hooks().add(name, nothing)


@pytest.mark.parametrize("hooks", [[nothing], nothing, "Stop", None])
def test_hooks_that_are_no_mapping_are_refused(hooks: Any) -> None:
    with pytest.raises(OptionsError, match="must be a mapping"):
        Hooks.of(hooks)


@pytest.mark.parametrize("given", ["nothing", 5, None, {"matcher": "Bash"}])
def test_a_mapping_to_something_else_is_refused(given: Any) -> None:
    with pytest.raises(OptionsError, match="needs a function, a Hook, or a list"):
        Hooks.of({"Stop": given})


class Callable2:
    async def __call__(self, event: object, context: HookContext) -> HookResult:
        return add_context(f"{context.event} {context.callback_id} {context.tool_use_id}")


class Both:
    def bound(self, event: StopHookInput) -> None: ...

    def wrong(self) -> None: ...


def with_default(event: object, verbose: bool = False) -> None:
    assert verbose is False


def with_rest(event: object, *rest: object) -> None:
    assert rest == ()


def with_optional_context(event: object, context: HookContext | None = None) -> HookResult:
    assert context is not None
    return add_context(context.event)


def with_rest_and_option(event: object, *rest: object, more: bool = False) -> None:
    assert (rest, more) == ((), False)


def with_everything(*everything: object) -> None:
    assert len(everything) == 1


def without_parameters() -> None: ...


def with_three(event: object, context: object, more: object) -> None: ...


def with_keyword(event: object, *, more: object) -> None: ...


def with_two(more: object, event: object) -> HookResult:
    return add_context(str(more))


def yielding(event: object) -> Any:
    yield deny("never")


async def yielding_later(event: object) -> Any:
    yield deny("never")


@pytest.mark.parametrize(
    ("function", "context"),
    [
        (nothing, None),
        (with_default, None),
        (with_rest, None),
        (with_rest_and_option, None),
        (with_everything, None),
        (with_optional_context, "Stop"),
        (Callable2(), "Stop hook_0 None"),
        (functools.partial(with_two, "first"), "first"),
        (functools.partial(functools.partial(Callable2())), "Stop hook_0 None"),
        (Both().bound, None),
        (print, None),
        (vars, None),
    ],
)
async def test_a_function_is_called_with_what_it_takes(
    function: Callable[..., Any], context: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    said = await answered(Hooks.of({"Stop": function}), "Stop")
    assert said.get("hookSpecificOutput", {}).get("additionalContext") == context


async def test_what_hides_its_signature_is_called_with_its_input_alone() -> None:
    given: list[tuple[object, ...]] = []

    class Odd:
        __signature__ = "unknown"

        def __call__(self, *arguments: object) -> None:
            given.append(arguments)

    assert await answered(Hooks.of({"Stop": Odd()}), "Stop") == {}
    assert [len(it) for it in given] == [1]


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (without_parameters, "without_parameters() -> 'None' cannot be called that way"),
        (with_three, "with_three(event"),
        (functools.partial(with_three), "with_three(event"),
        (with_keyword, "with_keyword(event"),
        (Both().wrong, "Both.wrong()"),
        (yielding, "yielding yields"),
        (yielding_later, "yielding_later yields"),
        (Both, "Both is a class, not a function"),
        ("text", "'text' is not a function"),
        (None, "None is not a function"),
    ],
)
def test_a_function_that_cannot_be_called_so_is_refused_at_once(
    function: Any, problem: str
) -> None:
    with pytest.raises(OptionsError) as caught:
        Hooks().add("Stop", Hook(function))
    assert problem in str(caught.value)


def test_a_function_for_another_event_is_refused_at_once() -> None:
    def after(event: PostToolUseHookInput) -> None: ...

    def either(event: PostToolUseHookInput | PreToolUseHookInput) -> None: ...

    def any_event(event: BaseHookInput) -> None: ...

    def unresolvable(event: Nowhere) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    hooks = Hooks()
    with pytest.raises(OptionsError, match="takes a PostToolUseHookInput; at PreToolUse it gets"):
        hooks.add("PreToolUse", after)
    for function in (either, any_event, unresolvable):
        hooks.add("PreToolUse", function)
    assert len(hooks) == 3


@pytest.mark.parametrize("timeout", [0, -1, math.nan, math.inf, 10_000_000, "5", True, None])
def test_a_timeout_that_is_none_is_refused(timeout: Any) -> None:
    with pytest.raises(OptionsError, match="number of seconds"):
        Hooks.of({"Stop": Hook(nothing, timeout=timeout)})


def test_a_timeout_may_be_as_long_as_the_timers_of_the_cli_are() -> None:
    hooks = Hooks.of({"Stop": Hook(nothing, timeout=1_000_000)})
    assert hooks.config()["Stop"][0].timeout == 1_000_010
    with pytest.raises(OptionsError, match=r"up to 1,000,000, and not 1000000\.5"):
        Hooks.of({"Stop": Hook(nothing, timeout=1_000_000.5)})


def test_a_failure_policy_that_does_not_exist_is_refused() -> None:
    with pytest.raises(OptionsError, match="one of continue, block, block_here"):
        Hooks.of({"Stop": Hook(nothing, on_failure="deny")})  # type: ignore[arg-type]


# --- matchers ------------------------------------------------------------------------------------


def matcher_of(event: str, matcher: Any) -> str | None:
    hooks = Hooks.of({event: Hook(nothing, matcher)})
    return hooks.config()[event][0].matcher


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (None, None),
        ("", None),
        ("*", None),
        ("Bash", "Bash"),
        ("Bash|Edit", "Bash|Edit"),
        (" Bash | Edit ", "Bash|Edit"),
        ("Bash, Edit", "Bash|Edit"),
        ("mcp__calc__add", "mcp__calc__add"),
        ("mcp__my-calc__add", "^(?:mcp__my-calc__add)$"),
        ("mcp__calc__.*", "mcp__calc__.*"),
        ("^(?:Bash|Edit)$", "^(?:Bash|Edit)$"),
        ("(?<name>Bash)\\k<name>", "(?<name>Bash)\\k<name>"),
        ("(?<!Multi)Edit.*", "(?<!Multi)Edit.*"),
        (r"[+*]\+", r"[+*]\+"),
    ],
)
def test_a_matcher_is_sent_so_that_all_clis_understand_it(given: Any, sent: str | None) -> None:
    assert matcher_of("PreToolUse", given) == sent


@pytest.mark.parametrize(
    ("matcher", "problem"),
    [
        ("(", "not a regular expression"),
        ("a{99999999999999999999}.", "not a regular expression: "),
        ("(" * 2000 + "." + ")" * 2000, "not a regular expression: "),
        ("[a", "not a regular expression"),
        ("(?i)bash", "does not know `(?i`"),
        ("(?P<name>Bash)", "does not know `(?P`"),
        ("Bash.*+", "does not know `*+`"),
        (r"\ABash\Z", "does not know `\\A`"),
        ("(?#tools)Bash", "does not know `(?#`"),
        ("Bash(git push:*)", "looks like a permission rule"),
        ("Bash Edit", "No tool has a space in its name"),
        ("mcp__calc", "for all tools of the server write 'mcp__calc__.*'"),
        ("Bash|mcp__my-calc", "for all tools of the server"),
        (5, "must be a string, not 5"),
    ],
)
def test_a_matcher_that_would_never_match_is_refused(matcher: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        matcher_of("PreToolUse", matcher)
    assert problem in str(caught.value)
    with pytest.raises(OptionsError):
        Hooks().pre_tool_use(matcher)


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_only_some_events_take_a_matcher(event: str) -> None:
    assert matcher_of(event, "*") is None
    if event in WITHOUT_MATCHER:
        with pytest.raises(OptionsError, match=f"{event} takes no matcher"):
            matcher_of(event, "x")
    else:
        assert matcher_of(event, "x") == "x"
        assert EVENTS[event].matched in EVENTS[event].input.__struct_fields__


def test_what_is_matched_need_not_be_a_tool() -> None:
    assert matcher_of("FileChanged", ".env|my file (1)") == ".env|my file (1)"
    assert matcher_of("UserPromptExpansion", "a b") == "a b"
    assert matcher_of("Elicitation", "mcp__calc") == "mcp__calc"


# --- failures ------------------------------------------------------------------------------------


def failing(kind: str) -> Callable[..., Any]:
    async def raises(event: object) -> None:
        raise RuntimeError("the password is 1234")

    async def hangs(event: object) -> None:
        await anyio.sleep_forever()

    def raises_in_a_thread(event: object) -> None:
        raise RuntimeError("the password is 1234")

    async def gives_rubbish(event: object) -> int:
        return 5

    async def is_cancelled_elsewhere(event: object) -> None:
        raise anyio.get_cancelled_exc_class()

    functions: dict[str, Callable[..., Any]] = {
        "raises": raises,
        "raises in a thread": raises_in_a_thread,
        "hangs": hangs,
        "gives rubbish": gives_rubbish,
        "is cancelled elsewhere": is_cancelled_elsewhere,
    }
    return functions[kind]


# What is to hang has no time at all; what is to fail must not run out of it first.
SHORT = {True: 0.02, False: 50.0}
KINDS = ("raises", "raises in a thread", "hangs", "gives rubbish")


@pytest.mark.parametrize("kind", KINDS)
async def test_a_failing_hook_is_logged_and_not_told_to_the_model(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    hook = Hook(failing(kind), timeout=SHORT[kind == "hangs"], on_failure="block")
    with anyio.fail_after(60):
        said = await answered(Hooks.of({"PreToolUse": hook}), "PreToolUse")
    assert said["hookSpecificOutput"] == {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": NONSENSE if kind == "gives rubbish" else FAILED,
    }
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("claudewire.hooks", logging.ERROR)
    assert "this is blocked" in caplog.text
    assert ("1234" in caplog.text) == ("raises" in kind)
    assert ("did not return within 0.02 s" in caplog.text) == (kind == "hangs")


@pytest.mark.parametrize("kind", KINDS[:-1])
async def test_a_failing_hook_has_said_nothing_if_it_was_to_continue(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(60):
        hooks = Hooks.of({"PreToolUse": Hook(failing(kind), timeout=SHORT[kind == "hangs"])})
        assert await answered(hooks, "PreToolUse") == {}
    assert "the CLI goes on without it" in caplog.text


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_what_is_cancelled_by_somebody_else_has_failed() -> None:
    hooks = Hooks.of({"Stop": Hook(failing("is cancelled elsewhere"), on_failure="block")})
    assert (await answered(hooks, "Stop", stop_hook_active=False))["decision"] == "block"


@pytest.mark.parametrize(
    ("kind", "told"), [("raises", "RuntimeError: the password"), ("hangs", "took too long")]
)
async def test_the_model_is_told_the_error_if_that_is_wished(kind: str, told: str) -> None:
    timeout = SHORT[kind == "hangs"]
    hook = Hook(failing(kind), timeout=timeout, on_failure="block_here", show_error=True)
    with anyio.fail_after(60):
        said = await answered(Hooks.of({"UserPromptSubmit": hook}), "UserPromptSubmit")
    assert said["decision"] == "block"
    assert told in said["reason"]


async def test_a_hook_that_keeps_failing_does_not_keep_the_model_going() -> None:
    hooks = Hooks.of({"Stop": Hook(failing("raises"), on_failure="block")})
    assert (await answered(hooks, "Stop", stop_hook_active=False))["decision"] == "block"
    assert await answered(hooks, "Stop", stop_hook_active=True) == {}


async def test_what_a_hook_cannot_read_it_fails_at() -> None:
    async def look(event: PreToolUseHookInput) -> None:
        assert event.tool_name

    hooks = Hooks.of({"PreToolUse": Hook(look, on_failure="block")})
    unreadable = HookCallback("hook_0", UnknownHookInput({"hook_event_name": "PreToolUse"}))
    specific = (await hooks.serve(unreadable)).hook_specific_output
    assert getattr(specific, "permission_decision", None) == "deny"


async def test_a_hook_that_does_not_exist_cannot_be_called() -> None:
    with pytest.raises(LookupError, match="no hook hook_7"):
        await Hooks().serve(callback("Stop", "hook_7"))


# --- tasks and threads ---------------------------------------------------------------------------


async def test_hooks_run_at_the_same_time() -> None:
    here, there = anyio.Event(), anyio.Event()

    async def one(event: object) -> None:
        here.set()
        await there.wait()

    async def two(event: object) -> None:
        there.set()
        await here.wait()

    hooks = Hooks.of({"Stop": [one, two]})
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for id in ("hook_0", "hook_1"):
                tasks.start_soon(hooks.serve, callback("Stop", id))


async def test_plain_functions_run_in_threads_and_wait_for_no_other() -> None:
    both = threading.Barrier(50, timeout=60)
    hooks = Hooks.of({"Stop": lambda _: add_context(str(both.wait() >= 0))})
    outputs: list[HookOutput] = []

    async def serve() -> None:
        outputs.append(await hooks.serve(callback("Stop")))

    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(serve)
    assert len({str(output) for output in outputs}) == 1
    assert len(outputs) == 50


async def test_a_hook_is_cancelled_when_the_cli_withdraws_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began, ended = anyio.Event(), anyio.Event()
    contexts: list[HookContext] = []

    async def wait(event: object, context: HookContext) -> None:
        contexts.append(context)
        assert not context.cancelled
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    hooks = Hooks.of({"PreToolUse": Hook(wait, on_failure="block")})
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(hooks.serve, callback("PreToolUse"))
            await began.wait()
            tasks.cancel_scope.cancel()
    assert ended.is_set()
    assert caplog.messages == []  # that is no failure
    assert contexts[0].cancelled
    assert {contexts[0]: 1}[contexts[0]] == 1  # it can be a key
    assert contexts[0].tool_use_id == "toolu_1"
    assert contexts[0].session is None


async def test_a_hook_is_told_its_session() -> None:
    session = cast("Session", object())
    told: list[Session | None] = []

    async def look(event: object, context: HookContext) -> None:
        told.append(context.session)

    await Hooks.of({"Stop": look}).serve(callback("Stop"), session)
    assert told == [session]


@time_by_hand
@pytest.mark.parametrize("how", ["withdrawn", "too late"])
async def test_a_function_in_a_thread_can_see_that_nobody_waits(how: str) -> None:
    began, seen = threading.Event(), threading.Event()

    def watchful(event: object, context: HookContext) -> None:
        began.set()
        while not context.cancelled:
            pass
        seen.set()

    hooks = Hooks.of({"Stop": Hook(watchful, timeout=50)})
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(hooks.serve, callback("Stop"))
        assert await anyio.to_thread.run_sync(began.wait, SOON)
        if how == "withdrawn":
            tasks.cancel_scope.cancel()
        else:
            let_pass(50)
    assert await anyio.to_thread.run_sync(seen.wait, SOON)


# --- what the CLI has to support -----------------------------------------------------------------

ABLE = InitializeResult(hooks_applied=True, hook_on_failure_supported=True)


def with_policy(event: str, policy: OnFailure) -> Hooks:
    return Hooks.of({event: Hook(nothing, on_failure=policy)})


@pytest.mark.parametrize(
    "info",
    [
        None,
        InitializeResult(),
        InitializeResult(hooks_applied=True),
        InitializeResult(hooks_applied=False, hook_on_failure_supported=True),
    ],
)
def test_a_cli_that_cannot_block_on_failure_is_refused(info: InitializeResult | None) -> None:
    with pytest.raises(CLIError, match="cannot block when a hook fails, as nothing must") as caught:
        with_policy("PreToolUse", "block").check(info)
    assert caught.value.cause is Cause.WRONG_VERSION
    assert "block_here" in caught.value.advice
    with_policy("PreToolUse", "block_here").check(info)
    with_policy("PreToolUse", "continue").check(info)
    with_policy("Stop", "block").check(info)
    Hooks().check(info)


def test_a_cli_that_can_block_on_failure_is_taken() -> None:
    with_policy("PreToolUse", "block").check(ABLE)


def test_hooks_that_the_cli_has_not_taken_are_told_of(caplog: pytest.LogCaptureFixture) -> None:
    Hooks().check(InitializeResult(hooks_applied=False))
    for info in (None, InitializeResult(), ABLE):
        with_policy("Stop", "continue").check(info)
    assert caplog.messages == []
    with_policy("Stop", "continue").check(InitializeResult(hooks_applied=False))
    assert "none of them will be called" in caplog.text


# --- with a simulated CLI ------------------------------------------------------------------------


async def shell(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(outcome.text)


async def test_a_simulated_cli_minds_the_hooks() -> None:
    hooks = Hooks()
    seen: list[str] = []

    @hooks.pre_tool_use("Bash", on_failure="block")
    def guard(event: PreToolUseHookInput) -> HookResult:
        seen.append(event.tool_input["command"])
        return deny("Not today.")

    async with hooked(SimulatedCLI(shell), hooks) as host:
        result = await host.turn("Go on.")
    assert seen == ["make"]
    assert host.asked == []
    assert "Not today." in str(getattr(result, "result", ""))


async def test_a_guard_of_the_official_sdk_denies_and_a_misspelt_one_does_too() -> None:
    answers: list[Any] = [
        own("PreToolUse", permissionDecision="deny", permissionDecisionReason="Not today."),
        own("PreToolUse", permisionDecision="deny"),
    ]
    for guard, told in zip(answers, ["Not today.", NONSENSE], strict=True):
        async with hooked(SimulatedCLI(shell), saying("PreToolUse", guard)) as host:
            result = await host.turn("Go on.")
        assert host.asked == []
        assert told in str(getattr(result, "result", ""))


async def test_a_simulated_cli_withdraws_a_hook() -> None:
    gone = anyio.Event()

    async def hang(event: PreToolUseHookInput) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            gone.set()

    async with hooked(SimulatedCLI(shell), Hooks.of({"PreToolUse": hang})) as host:
        await host.send(UserMessage.of("Go on."))
        await host.until(lambda _: bool(host.called))
        await host.ask(Interrupt())
        with anyio.fail_after(60):
            await gone.wait()
