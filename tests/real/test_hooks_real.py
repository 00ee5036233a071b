"""Hooks with real CLIs: what the model was told, and what was done, shows that they were minded.

What a version does not mind is marked so; the mark fails when that is no longer true.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.errors import CLIError
from claudewire.hooks import (
    Hook,
    HookContext,
    HookResult,
    Hooks,
    add_context,
    allow,
    block,
    change_input,
    change_output,
    deny,
    show,
    stop,
)
from claudewire.hooks.hook import FAILED
from claudewire.simulator import ARGV
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.wire import (
    Answer,
    Failure,
    Initialize,
    PreToolUseHookInput,
    ResultMessage,
    SetModel,
    StopHookInput,
    UserPromptSubmitHookInput,
)

from .hooked import HookedHost, hooked
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

OLD, MIDDLE, _ = VERSIONS


def not_minded(version: str, reason: str) -> Any:
    return pytest.param(version, marks=pytest.mark.xfail(reason=reason, raises=AssertionError))


def command(word: str) -> dict[str, str]:
    """A command that leaves a file, and that a CLI asks about."""
    return {"command": f'python3 -c \'open("{word}", "w").write("{word}"); print("{word}")\''}


MAKE = APIToolUse("Bash", command("made"), id="toolu_made")
ADD = APIToolUse("mcp__calc__add", {"a": 2, "b": 3}, id="toolu_add")


def opened(*replies: Any) -> Cage:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    return Cage(APIScript(*replies, default="I have nothing to add."))


@asynccontextmanager
async def running(
    cage: Cage, version: str, hooks: Hooks, **fields: Any
) -> AsyncIterator[HookedHost]:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    async with (
        started(cage.command([real_cli(version), *ARGV])) as process,
        hooked(process, hooks, **fields) as host,
    ):
        yield host


def told(cage: Cage, turn: int = -1) -> str:
    """All that the model was told with one request."""
    return json.dumps(cage.turns[turn].body)


def outcome(cage: Cage) -> str:
    """What the model was told about the only tool that it used."""
    (result,) = cage.turns[-1].tool_results
    return json.dumps(result)


def made(cage: Cage) -> list[str]:
    return sorted(path.name for path in cage.work.iterdir())


def before_bash(function: Callable[..., Any], **options: Any) -> Hooks:
    return Hooks.of({"PreToolUse": Hook(function, "Bash", **options)})


# --- before a tool -------------------------------------------------------------------------------


@pytest.mark.shows("002-26")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_is_denied(version: str) -> None:
    def guard(event: PreToolUseHookInput, context: HookContext) -> HookResult:
        assert event.tool_input == MAKE.input
        assert context.tool_use_id == "toolu_made"
        return deny("Not on a Friday.")

    with opened(MAKE, "Then not.") as cage:
        async with running(cage, version, before_bash(guard, on_failure="block_here")) as host:
            result = await host.turn("Make it.")
        assert made(cage) == []
    assert isinstance(result, ResultMessage)
    assert result.text == "Then not."
    assert "Not on a Friday." in outcome(cage)
    assert FAILED not in outcome(cage)
    assert host.asked == []


@pytest.mark.parametrize(
    "version",
    [not_minded(OLD, "uses the tool with the input that the model gave"), MIDDLE, NEWEST],
)
async def test_the_input_of_a_tool_is_changed(version: str) -> None:
    result = change_input(command("changed"))
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, before_bash(lambda _: result)) as host:
            await host.turn("Make it.")
        found = made(cage)
    # A hook that only changes the input has not allowed anything.
    assert [asked.input["command"] for asked in host.asked] == [command("changed")["command"]]
    assert found == ["changed"]
    assert "changed" in outcome(cage)


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_allowed_tool_is_not_asked_about(version: str) -> None:
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, before_bash(lambda _: allow("It is safe."))) as host:
            await host.turn("Make it.")
        assert made(cage) == ["made"]
    assert host.asked == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_who_denies_wins(version: str) -> None:
    hooks = before_bash(lambda _: allow())
    hooks.extend(before_bash(lambda _: deny("No.")))
    with opened(MAKE, "Then not.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
        assert made(cage) == []
    assert sorted(call.callback_id for call in host.called) == ["hook_0", "hook_1"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_is_not_used_when_the_turn_is_stopped_before_it(version: str) -> None:
    with opened(MAKE, "More.") as cage:
        async with running(cage, version, before_bash(lambda _: stop("Enough."))) as host:
            result = await host.turn("Make it.")
        assert made(cage) == []
    assert host.asked == []
    if version == NEWEST:
        assert isinstance(result, ResultMessage)
        assert result.raw["terminal_reason"] == "hook_stopped"
        assert len(cage.turns) == 1


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_matcher_means_the_same_to_all_versions(version: str) -> None:
    matchers = ["Bash", "Edit | Bash", "Bash,Edit", "^Ba", "as.$"]
    hooks = Hooks.of({"PreToolUse": [Hook(lambda _: None, matcher) for matcher in matchers]})
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
    assert len({call.callback_id for call in host.called}) == len(matchers)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_matcher_of_names_is_for_these_alone(version: str) -> None:
    names = ["Bas", "bash", "Edit", "mcp__calc__ad", "mcp__calc-b__add"]
    hooks = Hooks.of({"PreToolUse": [Hook(lambda _: deny("No."), name) for name in names]})
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
        assert made(cage) == ["made"]
    assert host.called == []


# --- after a tool --------------------------------------------------------------------------------


@pytest.mark.shows("002-26")
@pytest.mark.parametrize("version", VERSIONS)
async def test_context_is_added_after_a_tool(version: str) -> None:
    hooks = Hooks()

    @hooks.post_tool_use("Bash")
    async def look(event: object) -> HookResult:
        return add_context("The file is not in the index.")

    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
    assert "The file is not in the index." in told(cage)
    assert "made" in outcome(cage)


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_model_is_told_what_a_hook_has_against_a_tool(version: str) -> None:
    hooks = Hooks.of({"PostToolUse": lambda _: block("That was a mistake.")})
    with opened(MAKE, "Sorry.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
    assert "That was a mistake." in told(cage)


@pytest.mark.parametrize(
    "version",
    [
        not_minded(OLD, "tells the model the tool's own output"),
        not_minded(MIDDLE, "tells the model the tool's own output"),
        NEWEST,
    ],
)
async def test_the_output_of_a_tool_is_changed(version: str) -> None:
    hooks = Hooks.of(
        {"PostToolUse": lambda event: change_output({**event.tool_response, "stdout": "hidden"})}
    )
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
    assert "hidden" in outcome(cage)
    assert '"made"' not in outcome(cage)


@pytest.mark.parametrize(
    "version", [not_minded(OLD, "tells the model the tool's own output"), MIDDLE, NEWEST]
)
async def test_the_output_of_an_mcp_tool_is_changed(version: str) -> None:
    hooks = Hooks.of({"PostToolUse": lambda _: change_output("hidden")})
    with opened(ADD, "Done.") as cage:
        async with running(cage, version, hooks, sdk_mcp_servers=["calc"]) as host:
            await host.turn("Add.")
    assert "hidden" in outcome(cage)


# --- prompts and ends ----------------------------------------------------------------------------


@pytest.mark.shows("002-26")
@pytest.mark.parametrize("version", VERSIONS)
async def test_context_is_added_to_a_prompt(version: str) -> None:
    hooks = Hooks()

    @hooks.user_prompt_submit
    def look(event: UserPromptSubmitHookInput) -> HookResult:
        return add_context(f"He said: {event.prompt.upper()}")

    with opened("Hello.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("good day")
    assert "He said: GOOD DAY" in told(cage)


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_prompt_does_not_reach_the_model(version: str) -> None:
    hooks = Hooks.of({"UserPromptSubmit": lambda _: block("No secrets.")})
    with opened("Hello.") as cage:
        async with running(cage, version, hooks) as host:
            result = await host.turn("The password is 1234.")
    assert isinstance(result, ResultMessage)
    assert cage.turns == []


@pytest.mark.shows("002-26")
@pytest.mark.parametrize("version", VERSIONS)
async def test_the_model_goes_on_once_more(version: str) -> None:
    hooks = Hooks()
    active: list[bool | None] = []

    @hooks.stop
    def check(event: StopHookInput) -> HookResult | None:
        active.append(event.stop_hook_active)
        return None if event.stop_hook_active else block("The tests do not pass yet.")

    with opened("Finished.", "Now they pass.") as cage:
        async with running(cage, version, hooks) as host:
            result = await host.turn("Go on.")
    assert active == [False, True]
    assert "The tests do not pass yet." in told(cage, 1)
    assert isinstance(result, ResultMessage)
    assert result.text == "Now they pass."


# --- failures ------------------------------------------------------------------------------------


async def hang(event: object) -> None:
    await anyio.sleep_forever()


def fail(event: object) -> None:
    raise RuntimeError("the password is 1234")


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("function", [hang, fail])
async def test_a_tool_is_denied_when_its_hook_fails(
    version: str, function: Callable[..., Any]
) -> None:
    hooks = before_bash(function, timeout=0.2, on_failure="block_here")
    with opened(MAKE, "Then not.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
        assert made(cage) == []
    assert FAILED in outcome(cage)
    assert "1234" not in told(cage)
    assert host.asked == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_failing_hook_that_is_to_continue_leaves_things_as_they_were(version: str) -> None:
    hooks = Hooks.of({"PreToolUse": [Hook(hang, timeout=0.2), fail]})
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Make it.")
        assert made(cage) == ["made"]
    assert len(host.asked) == 1
    assert len(host.called) == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_prompt_is_blocked_when_its_hook_takes_too_long(version: str) -> None:
    hooks = Hooks.of({"UserPromptSubmit": Hook(hang, timeout=0.2, on_failure="block_here")})
    with opened("Hello.") as cage:
        async with running(cage, version, hooks) as host:
            await host.turn("Hello?")
    assert cage.turns == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_only_the_newest_can_block_when_it_gets_no_answer(version: str) -> None:
    hooks = before_bash(fail, on_failure="block")
    with opened() as cage:
        async with running(cage, version, hooks) as host:
            (info,) = [event.body for event in host.events if isinstance(event, Answer)]
    if version == NEWEST:
        hooks.check(info)
    else:
        with pytest.raises(CLIError, match="cannot block when a hook fails"):
            hooks.check(info)


# 1.0.128 withdraws as well, but only after a minute, whatever it is told.
@pytest.mark.parametrize("version", [MIDDLE, NEWEST])
async def test_a_hook_that_the_cli_withdraws_is_cancelled(version: str) -> None:
    gone = anyio.Event()

    async def wait(event: object) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            gone.set()

    hooks = before_bash(wait)
    (matcher,) = hooks.config()["PreToolUse"]
    setup = Initialize(hooks={"PreToolUse": [msgspec.structs.replace(matcher, timeout=1)]})
    with opened(MAKE, "Done.") as cage:
        async with running(cage, version, hooks, setup=setup) as host:
            await host.turn("Make it.")
            await gone.wait()
        # Left to itself, the newest denies, and older ones ask.
        assert made(cage) == ([] if version == NEWEST else ["made"])


# --- what only the newest has --------------------------------------------------------------------


async def test_a_permission_is_decided_by_a_hook() -> None:
    hooks = Hooks.of({"PermissionRequest": lambda _: deny("The hook says no.")})
    with opened(MAKE, "Then not.") as cage:
        async with running(cage, NEWEST, hooks) as host:
            host.leaves_open = True
            await host.turn("Make it.")
        assert made(cage) == []
    assert "The hook says no." in outcome(cage)


async def test_a_change_of_model_is_prevented() -> None:
    hooks = Hooks.of({"PreModelSwitch": Hook(lambda _: deny("Too dear."), "claude-.*")})
    with opened() as cage:
        async with running(cage, NEWEST, hooks) as host:
            answer = await host.ask(SetModel("haiku"))
    assert isinstance(answer, Failure)
    assert "Too dear." in answer.error


async def test_a_text_is_shown_in_place_of_the_models() -> None:
    with opened("Hello.") as cage:
        hooks = Hooks.of({"MessageDisplay": lambda _: show("Good day.")})
        async with running(cage, NEWEST, hooks) as host:
            result = await host.turn("Hello?")
    assert isinstance(result, ResultMessage)
    assert result.text == "Good day."
