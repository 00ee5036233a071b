"""Hooks: registration, outputs at each event, failures, matchers and cancellation."""

from __future__ import annotations

import functools
import json
import logging
import threading
from collections.abc import Callable
from typing import Any, cast

import anyio
import msgspec
import pytest
from tests.helpers.clock import let_pass, time_by_hand
from tests.helpers.peer import SOON
from tests.helpers.sessions import options
from tests.session.hooks.hook_table import RESULTS, WITHOUT_MATCHER, expected
from tests.unit.wire import samples

from claudewire.errors import Cause, CLIError, OptionsError
from claudewire.hooks import Hook, HookContext, HookResult, Hooks
from claudewire.session import Session
from claudewire.testing import Chat, SimulatedCLI
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
    PermissionRule,
    PreToolUseHookInput,
    Request,
    Role,
    StopHookInput,
    StopHookSpecificOutput,
    UnknownHookInput,
    UserPromptSubmitHookInput,
)

BASE = {it: text for it, text in samples.full(BaseHookInput).items() if it != "hook_event_name"}
INPUTS: dict[str, dict[str, Any]] = {
    str(kind.__struct_config__.tag): {
        key: value for key, value in samples.full(kind).items() if key not in BASE
    }
    for kind in samples.STRUCTS
    if issubclass(kind, BaseHookInput)
}
for _event, _fields in INPUTS.items():
    _fields["hook_event_name"] = _event
    if "tool_input" in _fields:
        _fields["tool_input"] = {"command": "ls"}

pytestmark = pytest.mark.anyio

FAILED = "A hook of the application failed, so this was blocked."
INVALID = "A hook of the application returned an invalid result, so this was blocked."


def nothing(event: object) -> None:
    """Have no opinion."""


def callback(event: str, peer: Connection | None = None, **fields: Any) -> HookCallback:
    """Return the request of a CLI that calls the first hook."""
    given = {"hook_event_name": event, **BASE, **INPUTS[event], **fields}
    body = {"subtype": "hook_callback", "callback_id": "hook_0", "input": given}
    message = {
        "type": "control_request",
        "request_id": "1",
        "request": {**body, "tool_use_id": "toolu_1"},
    }
    (request,) = (peer or Connection(Role.CLIENT)).receive_data(
        json.dumps(message).encode() + b"\n"
    )
    assert isinstance(request, Request)
    assert isinstance(request.body, HookCallback)
    return request.body


async def answered(hooks: Hooks, event: str, **fields: Any) -> dict[str, Any]:
    """Let a CLI call the only hook, and return the answer that it reads."""
    peer = Connection(Role.CLIENT)
    output = await hooks.serve(callback(event, peer, **fields))
    line = peer.send(Answer("1", output))
    answer: dict[str, Any] = json.loads(line)["response"]["response"]
    return answer


def returning(event: str, value: object, **settings: Any) -> Hooks:
    return Hooks.of({event: Hook(lambda _: value, **settings)})


def own(event: str, **fields: Any) -> dict[str, Any]:
    """Return an output that only one event has, as the official SDK spells it."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}


def keeps_going(event: str) -> bool:
    """Whether blocking the event makes the model go on."""
    return "stop_hook_active" in INPUTS[event]


# --- outputs at each event -----------------------------------------------------------------------


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_each_event_has_its_own_answers_and_no_others(
    event: str, caplog: pytest.LogCaptureFixture
) -> None:
    found: dict[str, dict[str, Any]] = {}
    for name, result in RESULTS.items():
        caplog.clear()
        output = await answered(returning(event, result), event)
        if not caplog.records:  # unsuitable results are logged
            found[name] = output
    assert found == expected(event)


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_an_invalid_result_blocks_whatever_on_failure_says(
    event: str, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = json.dumps(expected(event).get("block", {})).replace("why", INVALID)
    for value in ("deny", {"permissionDecision": "deny"}):
        output = await answered(returning(event, value), event)
        assert output == ({} if keeps_going(event) else json.loads(blocked))
    assert "HookResultError" in caplog.text


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_a_failing_hook_that_must_block_does_or_is_refused(event: str) -> None:
    blocks = expected(event).get("block")
    if blocks is None:
        with pytest.raises(OptionsError, match=f"{event} cannot be blocked"):
            Hooks.of({event: Hook(raises, on_failure="block")})
        return
    given = {"stop_hook_active": False} if keeps_going(event) else {}
    for setting in ("block", "block_here"):
        output = await answered(Hooks.of({event: Hook(raises, on_failure=setting)}), event, **given)
        assert json.dumps(output) == json.dumps(blocks).replace("why", FAILED)


@pytest.mark.parametrize("event", HOOK_EVENTS)
async def test_a_hook_gets_the_input_of_its_event(event: str) -> None:
    received: list[object] = []
    assert await answered(Hooks.of({event: received.append}), event) == {}
    (given,) = received
    assert isinstance(given, BaseHookInput)
    assert type(given).__name__ == f"{event}HookInput"
    assert msgspec.to_builtins(given) == {"hook_event_name": event, **BASE, **INPUTS[event]}


@pytest.mark.parametrize(
    ("event", "result", "problem"),
    [
        ("SessionEnd", HookResult(context="x"), "cannot set additional_context at SessionEnd"),
        ("SessionEnd", HookResult(stop="x"), "SessionEnd cannot stop the turn"),
        ("Stop", HookResult("deny"), "Stop cannot be answered with deny"),
        ("PermissionRequest", HookResult("allow", stop="x"), "cannot be answered with"),
        ("UserPromptSubmit", HookResult(session_title=5), "Expected `str | null`, got `int`"),
        ("PreToolUse", "allow", "returns None, a HookResult"),
        ("PreToolUse", {"decison": "block"}, "no 'decison' in the result of a hook; did you mean"),
        ("PreToolUse", {"decision": "deny"}, "must be one of approve, block, not 'deny'"),
        ("PreToolUse", {"async_": True, "decision": "block"}, "With `async` the CLI ignores"),
        ("PreToolUse", {"hookSpecificOutput": 5}, "must be a dictionary, not 5"),
        ("PreToolUse", own("PreToolUse", permisionDecision="deny"), "mean 'permissionDecision'?"),
        ("PreToolUse", own("PostToolUse"), "the output for PostToolUse, and the event is PreTool"),
        (
            "PreToolUse",
            {"decision": "block", **own("PreToolUse", permissionDecision="allow")},
            "cannot be answered with `decision: block` like this",
        ),
        ("SessionEnd", own("SessionEnd", additionalContext="x"), "has no hookSpecificOutput"),
        ("SessionEnd", {"decision": "block"}, "SessionEnd cannot be answered with `decision"),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "allow", "odd": 1}),
            "There is no 'odd' in the decision",
        ),
        (
            "PreToolUse",
            HookOutput(hook_specific_output=StopHookSpecificOutput("x")),
            "the output for Stop, and the event is PreToolUse",
        ),
    ],
)
async def test_the_log_names_the_problem_of_a_result(
    event: str, result: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    await answered(returning(event, result), event)
    assert "HookResultError" in caplog.text
    assert problem in caplog.text


SET_MODE = {"type": "setMode", "mode": "plan", "destination": "session"}
DENIED = {"permissionDecision": "deny", "permissionDecisionReason": "why"}
RULE = {"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"}


@pytest.mark.parametrize(
    ("event", "given", "output"),
    [
        ("PreToolUse", {}, {}),
        ("PreToolUse", own("PreToolUse", **DENIED), None),
        ("PreToolUse", {"decision": "block", "reason": "why"}, None),
        (
            "PreToolUse",
            own("PreToolUse", permissionDecision="ask", additionalContext="x", updatedInput=None),
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
            {"decision": "block", "reason": "why", **own("PostToolUse", additionalContext="x")},
            None,
        ),
        ("Stop", {"async_": True, "asyncTimeout": 5}, {"async": True, "asyncTimeout": 5}),
        (
            "PermissionRequest",
            own("PermissionRequest", decision={"behavior": "deny", "message": "why"}),
            None,
        ),
        (
            "PermissionRequest",
            own(
                "PermissionRequest",
                decision={"behavior": "allow", "updatedPermissions": [SET_MODE]},
            ),
            own(
                "PermissionRequest",
                decision={
                    "behavior": "allow",
                    "updatedInput": {"command": "ls"},
                    "updatedPermissions": [SET_MODE],
                },
            ),
        ),
    ],
)
async def test_a_dictionary_of_the_official_sdk_works(
    event: str, given: dict[str, Any], output: dict[str, Any] | None
) -> None:
    expected_output = given if output is None else output
    assert await answered(returning(event, given), event) == expected_output


@pytest.mark.parametrize(
    ("event", "result", "output"),
    [
        (
            "PreToolUse",
            HookResult("allow", "a", updated_input={"command": "pwd"}, context="b", message="!"),
            {
                "systemMessage": "!",
                **own(
                    "PreToolUse",
                    permissionDecision="allow",
                    permissionDecisionReason="a",
                    updatedInput={"command": "pwd"},
                    additionalContext="b",
                ),
            },
        ),
        ("Stop", HookResult("block"), {"decision": "block", "reason": "Blocked by a hook."}),
        (
            "PreToolUse",
            HookResult("allow", stop="enough"),
            {
                "continue": False,
                "stopReason": "enough",
                **own("PreToolUse", permissionDecision="allow"),
            },
        ),
        (
            "PermissionRequest",
            HookResult("allow", updated_permissions=[AddRules([PermissionRule("Bash")], "allow")]),
            own(
                "PermissionRequest",
                decision={
                    "behavior": "allow",
                    "updatedInput": {"command": "ls"},
                    "updatedPermissions": [RULE],
                },
            ),
        ),
    ],
)
async def test_a_result_becomes_the_output_of_its_event(
    event: str, result: object, output: dict[str, Any]
) -> None:
    assert await answered(returning(event, result), event) == output


async def test_the_output_of_an_mcp_tool_changes_under_both_names() -> None:
    hooks = returning("PostToolUse", HookResult(updated_tool_output="x"))
    output = await answered(hooks, "PostToolUse", tool_name="mcp__calc__add")
    assert output == own("PostToolUse", updatedToolOutput="x", updatedMCPToolOutput="x")


# --- registration --------------------------------------------------------------------------------


def test_hooks_are_registered_by_decorator_mapping_and_class() -> None:
    hooks = Hooks()

    @hooks.on("PreToolUse", "Bash|Edit", timeout=5, on_failure="block")
    def one(event: PreToolUseHookInput) -> HookResult | None:
        return None

    @hooks.on(StopHookInput)
    async def two(event: StopHookInput, context: HookContext) -> None: ...

    def three(event: UserPromptSubmitHookInput) -> None: ...

    hooks.add("UserPromptSubmit", three)
    assert one(PreToolUseHookInput("Bash", {})) is None  # a decorated function is unchanged

    mapped = Hooks.of(
        {
            "PreToolUse": [Hook(one, "Bash|Edit", timeout=5, on_failure="block")],
            "Stop": two,
            "UserPromptSubmit": (three,),
        }
    )
    assert [*mapped] == [*hooks]
    assert len(mapped) == 3


def test_the_cli_gets_each_hook_with_its_settings() -> None:
    hooks = Hooks.of({"Stop": nothing, "PreToolUse": Hook(nothing, "Bash", 1.5, "block")})
    hooks.add("SubagentStop", Hook(nothing, on_failure="block"))
    assert hooks.config() == {
        "Stop": [HookMatcher(["hook_0"], timeout=60)],
        # The CLI waits longer than the hook may take, so that a failure is noticed here.
        "PreToolUse": [HookMatcher(["hook_1"], matcher="Bash", timeout=12, on_failure="block")],
        # No CLI blocks here.
        "SubagentStop": [HookMatcher(["hook_2"], timeout=60)],
    }


class Object:
    async def __call__(self, event: object, context: HookContext) -> HookResult:
        return HookResult(context=f"{context.event} {context.callback_id} {context.tool_use_id}")


def without_parameters() -> None: ...


def with_three(event: object, context: object, more: object) -> None: ...


def yielding(event: object) -> Any:
    yield None


@pytest.mark.parametrize(
    ("hooks", "problem"),
    [
        ({"pre_tool_use": nothing}, "did you mean PreToolUse?"),
        ({"zzz": nothing}, "there are PreToolUse, PostToolUse"),
        ([nothing], "must be a mapping"),
        ({"Stop": {"matcher": "Bash"}}, "needs a function, a Hook, or a list"),
        ({"Stop": Hook(nothing, timeout=0)}, "number of seconds"),
        ({"Stop": Hook(nothing, timeout=10_000_000)}, "number of seconds up to 1,000,000"),
        ({"Stop": Hook(nothing, on_failure=cast("Any", "deny"))}, "one of continue, block"),
        ({"Stop": without_parameters}, "The hook without_parameters must be a function of its"),
        ({"Stop": with_three}, "missing a required argument"),
        ({"Stop": yielding}, "yielding yields"),
        ({"Stop": Object}, "Object is a class, not a function"),
    ],
)
def test_invalid_hooks_are_refused(hooks: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        Hooks.of(hooks)
    assert problem in str(caught.value)


def with_default(event: object, verbose: bool = False) -> None:
    assert verbose is False


def with_optional_context(event: object, context: HookContext | None = None) -> HookResult:
    assert context is not None
    return HookResult(context=context.event)


def with_two(more: object, event: object) -> HookResult:
    return HookResult(context=str(more))


@pytest.mark.parametrize(
    ("function", "context"),
    [
        (with_default, None),
        (with_optional_context, "Stop"),
        (Object(), "Stop hook_0 None"),
        (functools.partial(with_two, "first"), "first"),
        (vars, None),
    ],
)
async def test_a_function_gets_a_context_if_it_takes_one(
    function: Callable[..., Any], context: str | None
) -> None:
    output = await answered(Hooks.of({"Stop": function}), "Stop")
    assert output.get("hookSpecificOutput", {}).get("additionalContext") == context


# --- matchers ------------------------------------------------------------------------------------


def matcher_of(event: str, matcher: Any) -> str | None:
    hooks = Hooks.of({event: Hook(nothing, matcher)})
    return hooks.config()[event][0].matcher


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ("*", None),
        ("Bash|Edit", "Bash|Edit"),
        (" Bash , Edit ", "Bash|Edit"),
        ("mcp__my-calc__add", "^(?:mcp__my-calc__add)$"),
        ("mcp__calc__.*", "mcp__calc__.*"),
        ("(?<name>Bash)\\k<name>", "(?<name>Bash)\\k<name>"),
        ("(?<!Multi)Edit.*", "(?<!Multi)Edit.*"),
    ],
)
def test_a_matcher_is_spelled_for_all_clis(given: Any, sent: str | None) -> None:
    assert matcher_of("PreToolUse", given) == sent


@pytest.mark.parametrize(
    ("matcher", "problem"),
    [
        ("(", "not a regular expression"),
        ("(?i)bash", "does not know `(?i`"),
        ("(?P<name>Bash)", "does not know `(?P`"),
        ("Bash(git push:*)", "looks like a permission rule"),
        ("Bash Edit", "No tool has a space in its name"),
        ("Bash|mcp__calc", "for all tools of the server write 'mcp__calc__.*'"),
        (5, "must be a string, not 5"),
    ],
)
def test_a_matcher_that_would_never_match_is_refused(matcher: Any, problem: str) -> None:
    with pytest.raises(OptionsError) as caught:
        matcher_of("PreToolUse", matcher)
    assert problem in str(caught.value)


@pytest.mark.parametrize("event", HOOK_EVENTS)
def test_only_some_events_take_a_matcher(event: str) -> None:
    assert matcher_of(event, "*") is None
    if event in WITHOUT_MATCHER:
        with pytest.raises(OptionsError, match=f"{event} takes no matcher"):
            matcher_of(event, "x")
    else:
        assert matcher_of(event, "x") == "x"


def test_matchers_of_files_and_commands_may_have_spaces() -> None:
    assert matcher_of("FileChanged", ".env|my file (1)") == ".env|my file (1)"
    assert matcher_of("UserPromptExpansion", "a b") == "a b"
    assert matcher_of("Elicitation", "mcp__calc") == "mcp__calc"


# --- failures ------------------------------------------------------------------------------------


def raises(event: object) -> None:
    raise RuntimeError("the password is 1234")


async def raises_async(event: object) -> None:
    raise RuntimeError("the password is 1234")


async def hangs(event: object) -> None:
    await anyio.sleep_forever()


async def is_cancelled_elsewhere(event: object) -> None:
    raise anyio.get_cancelled_exc_class()


@pytest.mark.parametrize(
    ("function", "timeout", "logged"),
    [
        (raises, 50, "1234"),
        (raises_async, 50, "1234"),
        (hangs, 0.02, "did not return within 0.02 s"),
        (is_cancelled_elsewhere, 50, "is_cancelled_elsewhere failed"),
    ],
)
async def test_a_failing_hook_blocks_if_it_must_and_is_logged(
    function: Any, timeout: float, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    with anyio.fail_after(SOON):
        hooks = Hooks.of({"PreToolUse": Hook(function, timeout=timeout)})
        assert await answered(hooks, "PreToolUse") == {}
        assert "the CLI goes on without it" in caplog.text
        caplog.clear()
        hooks = Hooks.of({"PreToolUse": Hook(function, timeout=timeout, on_failure="block")})
        output = await answered(hooks, "PreToolUse")
    assert output == own("PreToolUse", permissionDecision="deny", permissionDecisionReason=FAILED)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("claudewire.hooks", logging.ERROR)
    assert "this is blocked" in caplog.text
    assert logged in caplog.text


@pytest.mark.parametrize(
    ("function", "timeout", "shown"),
    [(raises, 50, "RuntimeError: the password"), (hangs, 0.02, "took too long")],
)
async def test_the_model_gets_the_error_with_show_error(
    function: Any, timeout: float, shown: str
) -> None:
    hook = Hook(function, timeout=timeout, on_failure="block_here", show_error=True)
    with anyio.fail_after(SOON):
        output = await answered(Hooks.of({"UserPromptSubmit": hook}), "UserPromptSubmit")
    assert output["decision"] == "block"
    assert shown in output["reason"]


async def test_a_failing_stop_hook_blocks_only_once() -> None:
    hooks = Hooks.of({"Stop": Hook(raises, on_failure="block")})
    assert (await answered(hooks, "Stop", stop_hook_active=False))["decision"] == "block"
    assert await answered(hooks, "Stop", stop_hook_active=True) == {}


async def test_a_guard_fails_at_an_input_of_the_wrong_shape() -> None:
    async def look(event: PreToolUseHookInput) -> None:
        assert event.tool_name

    hooks = Hooks.of({"PreToolUse": Hook(look, on_failure="block")})
    unreadable = HookCallback("hook_0", UnknownHookInput({"hook_event_name": "PreToolUse"}))
    specific = (await hooks.serve(unreadable)).hook_specific_output
    assert getattr(specific, "permission_decision", None) == "deny"


# --- tasks and threads ---------------------------------------------------------------------------


async def test_plain_hooks_run_at_once_in_threads() -> None:
    both = threading.Barrier(50, timeout=SOON)
    hooks = Hooks.of({"Stop": lambda _: HookResult(context=str(both.wait()))})
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for _ in range(50):
                tasks.start_soon(hooks.serve, callback("Stop"))


@time_by_hand
@pytest.mark.parametrize("how", ["withdrawn", "too late"])
async def test_a_hook_in_a_thread_sees_that_it_was_cancelled(how: str) -> None:
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


# --- support of the CLI --------------------------------------------------------------------------

ABLE = InitializeResult(hooks_applied=True, hook_on_failure_supported=True)
BLOCKING = Hooks.of({"PreToolUse": Hook(nothing, on_failure="block")})


@pytest.mark.parametrize(
    "info",
    [
        None,
        InitializeResult(hooks_applied=True),
        InitializeResult(hooks_applied=False, hook_on_failure_supported=True),
    ],
)
def test_a_cli_that_cannot_block_on_failure_is_refused(info: InitializeResult | None) -> None:
    with pytest.raises(CLIError, match="cannot block when a hook fails, as nothing must") as caught:
        BLOCKING.check(info)
    assert caught.value.cause is Cause.WRONG_VERSION
    assert "block_here" in caught.value.advice
    Hooks.of({"PreToolUse": Hook(nothing, on_failure="block_here")}).check(info)
    Hooks.of({"Stop": Hook(nothing, on_failure="block")}).check(info)


def test_hooks_that_the_cli_refused_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    BLOCKING.check(ABLE)
    assert caplog.messages == []
    Hooks.of({"Stop": nothing}).check(InitializeResult(hooks_applied=False))
    assert "none of them will be called" in caplog.text


# --- sessions ------------------------------------------------------------------------------------


async def shell(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say(outcome.text)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (HookResult("deny", "Not today."), "Not today."),
        (
            own("PreToolUse", permissionDecision="deny", permissionDecisionReason="Not today."),
            "Not today.",
        ),
        (own("PreToolUse", permisionDecision="deny"), INVALID),
    ],
)
async def test_a_denial_reaches_the_model_before_any_handler(value: object, reason: str) -> None:
    hooks = returning("PreToolUse", value, matcher="Bash")
    session = Session(
        options(hooks=hooks, on_permission=pytest.fail), transport=SimulatedCLI(shell)
    )
    with anyio.fail_after(SOON):
        async with session:
            assert reason in (await session.ask("Go on.")).text


async def test_an_interrupt_cancels_a_running_hook_without_a_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    began, ended = anyio.Event(), anyio.Event()
    contexts: list[HookContext] = []

    async def hang(event: PreToolUseHookInput, context: HookContext) -> None:
        contexts.append(context)
        assert not context.cancelled
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    hooks = {"PreToolUse": Hook(hang, on_failure="block")}
    session = Session(options(hooks=hooks), transport=SimulatedCLI(shell))
    with anyio.fail_after(SOON):
        async with session:
            session.send("Go on.")
            await began.wait()
            await session.interrupt()
            await ended.wait()
    (context,) = contexts
    assert context.cancelled
    assert context.tool_use_id
    assert context.session is session
    assert [it for it in caplog.records if it.name == "claudewire.hooks"] == []
