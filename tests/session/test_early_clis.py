"""CLIs up to 2.0.14 are told in their own flags what they would ignore elsewhere."""

from __future__ import annotations

from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import SOME_CLI, echo, options, soon

from claudewire.errors import Cause, CLIError
from claudewire.options import Agent
from claudewire.session import Session, Turn
from claudewire.testing import SimulatedCLI
from claudewire.transport import Launch, Transport, memory_pair

pytestmark = pytest.mark.anyio

AGENTS = {"reviewer": Agent(description="Reviews.", prompt="You review.")}
EARLY = ["1.0.128", "2.0.14"]


class Host:
    """Starts simulated CLIs of one version."""

    def __init__(self, version: str) -> None:
        self.version = version
        self.launches: list[Launch] = []

    def __call__(self, launch: Launch) -> Transport:
        self.launches.append(launch)
        return SimulatedCLI(echo, version=self.version)


@pytest.mark.parametrize(
    ("version", "starts"), [*((version, 2) for version in EARLY), ("2.0.76", 1), ("2.1.325", 1)]
)
async def test_agents_reach_every_cli(version: str, starts: int) -> None:
    host = Host(version)
    session = Session(options(cli=SOME_CLI, agents=AGENTS), transport=host)
    with anyio.fail_after(SOON):
        async with session:
            assert (await session.send("hello")).ok
            assert session.init_message is not None
            assert "reviewer" in (session.init_message.agents or [])
    assert len(host.launches) == starts
    has_flag = any(word.startswith("--agents=") for word in host.launches[-1].argv)
    assert has_flag is (version in EARLY)


@pytest.mark.parametrize("version", EARLY)
async def test_output_that_a_cli_would_ignore_is_an_error_before_the_first_turn(
    version: str,
) -> None:
    session = Session(
        options(cli=SOME_CLI, json_schema={"type": "object"}), transport=Host(version)
    )
    with anyio.fail_after(SOON), pytest.raises(CLIError, match="too old for output") as caught:
        await session.start()
    assert caught.value.cause is Cause.REFUSED


async def test_a_cli_that_cannot_be_started_again_is_too_old_for_agents() -> None:
    session = Session(options(agents=AGENTS), transport=SimulatedCLI(echo, version="2.0.14"))
    with anyio.fail_after(SOON), pytest.raises(CLIError, match="too old for agents"):
        await session.start()


class RefusingHost(Host):
    """Starts CLIs that do not know a flag."""

    def __call__(self, launch: Launch) -> Transport:
        flag = "--append-system-prompt-file"
        if not any(word.startswith(flag) for word in launch.argv):
            return super().__call__(launch)
        self.launches.append(launch)
        ours, theirs = memory_pair()
        theirs.send_stderr(f"error: unknown option '{flag}=/x'\n".encode())
        theirs.exit(1)
        return ours


async def test_a_prompt_in_a_file_is_said_in_words_to_a_cli_that_refuses_the_file() -> None:
    host = RefusingHost("2.0.14")
    session = Session(options(cli=SOME_CLI, append_system_prompt="Be brief."), transport=host)
    turns: list[Turn[Any]] = []

    async def send() -> None:
        await soon(lambda: host.launches)
        turns.append(session.send("hello"))  # it waits for the CLI that can be used

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            await session.start()
        assert (await turns[0]).ok
        await session.close()
    assert len(host.launches) == 2
    assert "--append-system-prompt=Be brief." in host.launches[-1].argv


async def test_turns_that_waited_for_a_cli_that_cannot_be_used_fail_with_its_error() -> None:
    host = RefusingHost("2.0.14")
    session = Session(options(cli=SOME_CLI, append_system_prompt="Be brief."), transport=host)
    session._core.transport = refused = host(Launch(("--append-system-prompt-file",), {}))
    assert refused is not None
    turns: list[Turn[Any]] = []

    async def send() -> None:
        await soon(lambda: session._core.is_starting)
        turns.append(session.send("hello"))

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send)
            with pytest.raises(CLIError, match="append-system-prompt-file"):
                await session.start()
        with pytest.raises(CLIError, match="append-system-prompt-file"):
            await turns[0]
