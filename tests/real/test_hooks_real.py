"""Hooks with real CLIs: what the model was told, and what was done, shows that they were minded.

What a version does not mind is marked so; the mark fails when that is no longer true.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import msgspec
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.hooks import (
    Hook,
    Hooks,
    deny,
)
from claudewire.simulator import ARGV
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.wire import (
    Failure,
    Initialize,
    SetModel,
)

from .hooked import HookedHost, hooked
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

OLD, MIDDLE, _ = VERSIONS


def command(word: str) -> dict[str, str]:
    """A command that leaves a file, and that a CLI asks about."""
    return {"command": f'python3 -c \'open("{word}", "w").write("{word}"); print("{word}")\''}


MAKE = APIToolUse("Bash", command("made"), id="toolu_made")


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


def made(cage: Cage) -> list[str]:
    return sorted(path.name for path in cage.work.iterdir())


def before_bash(function: Callable[..., Any], **options: Any) -> Hooks:
    return Hooks.of({"PreToolUse": Hook(function, "Bash", **options)})


# --- before a tool -------------------------------------------------------------------------------


# --- after a tool --------------------------------------------------------------------------------


# --- prompts and ends ----------------------------------------------------------------------------


# --- failures ------------------------------------------------------------------------------------


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


async def test_a_change_of_model_is_prevented() -> None:
    hooks = Hooks.of({"PreModelSwitch": Hook(lambda _: deny("Too dear."), "claude-.*")})
    with opened() as cage:
        async with running(cage, NEWEST, hooks) as host:
            answer = await host.ask(SetModel("haiku"))
    assert isinstance(answer, Failure)
    assert "Too dear." in answer.error
