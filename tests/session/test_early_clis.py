"""Older CLIs are told in their own flags what they would ignore elsewhere, or are refused."""

from __future__ import annotations

import sys
from pathlib import Path
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


async def test_agents_reach_a_cli_that_is_a_process() -> None:
    given = options(
        cli=[sys.executable, "-m", "claudewire.simulator"],
        env={"CLAUDEWIRE_SIM_VERSION": "2.0.14"},
        agents=AGENTS,
    )
    with anyio.fail_after(SOON):
        async with Session(given) as session:
            assert (await session.send("hello")).ok
            assert session.init_message is not None
            assert "reviewer" in (session.init_message.agents or [])


@pytest.mark.parametrize("version", EARLY)
async def test_output_that_a_cli_would_ignore_is_an_error_before_the_first_turn(
    version: str,
) -> None:
    session = Session(
        options(cli=SOME_CLI, json_schema={"type": "object"}), transport=Host(version)
    )
    with anyio.fail_after(SOON), pytest.raises(CLIError, match="too old for output") as caught:
        await session.start()
    assert caught.value.cause is Cause.WRONG_VERSION
    assert caught.value.advice == "Use a CLI from 2.0.76 on."
    assert "control_response" in caught.value.evidence.received[0]


async def test_a_cli_that_cannot_be_started_again_is_too_old_for_agents() -> None:
    session = Session(options(agents=AGENTS), transport=SimulatedCLI(echo, version="2.0.14"))
    with anyio.fail_after(SOON), pytest.raises(CLIError, match="too old for agents"):
        await session.start()


async def test_all_that_a_cli_would_ignore_is_named_in_order() -> None:
    given: dict[str, Any] = {"append_system_prompt": "x", "remote": True}
    session = Session(
        options(agents=AGENTS, system_prompt=["one", "two"], title="x", **given),
        transport=SimulatedCLI(echo, version="2.0.14"),
    )
    names = "title, agents, append_system_prompt, system_prompt:"
    with anyio.fail_after(SOON), pytest.raises(CLIError, match=f"too old for {names}"):
        await session.start()


@pytest.mark.parametrize(
    ("given", "version", "is_too_old"),
    [
        ({"title": "x"}, "2.1.17", True),
        ({"title": "x"}, "2.1.100", True),  # it says no version, and refuses to when it is asked
        ({"title": "x"}, "2.1.197", False),  # it says its version when it is asked
        ({"title": "x"}, "2.1.325", False),
        ({"verbatim_prompts": True}, "2.1.197", True),
        ({"verbatim_prompts": True}, "2.1.250", False),
        ({"client_app": "mine/1"}, "2.0.76", True),
        ({"enable_file_checkpointing": True}, "2.0.76", False),
        ({"enable_file_checkpointing": True}, "2.0.14", True),
        ({"system_prompt": ["one", "two"]}, "2.1.197", False),
    ],
)
async def test_what_a_cli_would_ignore_is_an_error_before_the_first_turn(
    given: dict[str, Any], version: str, is_too_old: bool
) -> None:
    host = Host(version)
    session = Session(options(cli=SOME_CLI, **given), transport=host)
    with anyio.fail_after(SOON):
        if is_too_old:
            with pytest.raises(CLIError, match=f"too old for {next(iter(given))}") as caught:
                await session.start()
            assert caught.value.cause is Cause.WRONG_VERSION
        else:
            async with session:
                assert (await session.send("hello")).ok
    assert len(host.launches) == 1


@pytest.mark.parametrize(
    ("given", "version", "flag"),
    [
        (
            {"system_prompt": ["one", "two"], "remote": True},
            "2.1.100",
            "--system-prompt=one\n\ntwo",
        ),
        ({"system_prompt": "one", "remote": True}, "2.0.14", "--system-prompt=one"),
        ({"append_system_prompt": "x", "remote": True}, "1.0.128", "--append-system-prompt=x"),
    ],
)
async def test_a_prompt_that_a_cli_does_not_read_in_initialize_is_on_its_command_line(
    given: dict[str, Any], version: str, flag: str
) -> None:
    host = Host(version)
    with anyio.fail_after(SOON):
        async with Session(options(cli=SOME_CLI, **given), transport=host) as session:
            assert (await session.send("hello")).ok
    assert [flag in launch.argv for launch in host.launches] == [False, True]


async def test_blocks_of_a_prompt_are_one_file_for_a_cli_that_does_not_know_blocks() -> None:
    texts: list[str] = []

    class Reading(Host):
        def __call__(self, launch: Launch) -> Transport:
            flag = "--system-prompt-file="
            texts.extend(
                Path(word.removeprefix(flag)).read_text(encoding="utf-8")
                for word in launch.argv
                if word.startswith(flag)
            )
            return super().__call__(launch)

    given = options(cli=SOME_CLI, system_prompt=["one", "two"])
    with anyio.fail_after(SOON):
        async with Session(given, transport=Reading("2.1.17")) as session:
            assert (await session.send("hello")).ok
    assert texts == ["one\n\ntwo"]


class RefusingHost(Host):
    """Starts CLIs that do not know a flag."""

    flag = "--append-system-prompt-file"

    def __call__(self, launch: Launch) -> Transport:
        if not any(word.startswith(self.flag) for word in launch.argv):
            return super().__call__(launch)
        self.launches.append(launch)
        ours, theirs = memory_pair()
        theirs.send_stderr(f"error: unknown option '{self.flag}=/x'\n".encode())
        theirs.exit(1)
        return ours


class WithoutTools(RefusingHost):
    flag = "--tools"


@pytest.mark.parametrize(
    ("tools", "refused"),
    [
        (["Read", "Bash"], {"Write", "Edit"}),
        ([], {"Bash", "Edit", "Read", "Write"}),
        ("default", set()),
    ],
)
async def test_a_cli_that_cannot_be_told_its_tools_is_told_what_to_refuse(
    tools: Any, refused: set[str]
) -> None:
    host = WithoutTools("2.0.14")
    given = options(cli=SOME_CLI, builtin_tools=tools, agents=AGENTS)
    with anyio.fail_after(SOON):
        async with Session(given, transport=host) as session:
            assert (await session.send("hello")).ok
    assert len(host.launches) == 2  # what else it reads otherwise is written so at once
    flag = "--disallowedTools="
    words = host.launches[-1].argv
    found = {word.removeprefix(flag) for word in words if word.startswith(flag)}
    assert refused == found & {"Bash", "Edit", "Read", "Write"}
    assert bool(found - refused) is (tools != "default")  # there are others
    assert any(word.startswith("--agents=") for word in words)


class WithoutModels(RefusingHost):
    flag = "--model"


async def test_a_cli_that_refuses_any_other_flag_is_not_started_again() -> None:
    host = WithoutModels("2.0.14")
    given = options(cli=SOME_CLI, model="opus", agents=AGENTS, append_system_prompt="Be brief.")
    with anyio.fail_after(SOON), pytest.raises(CLIError, match="--model") as caught:
        await Session(given, transport=host).start()
    assert caught.value.cause is Cause.BAD_FLAG
    assert len(host.launches) == 1


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
