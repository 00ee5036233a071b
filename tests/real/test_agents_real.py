"""Agents with real CLIs: what the model was called with shows what an agent was given."""

from __future__ import annotations

from typing import Any

import anyio
import msgspec
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not

from claudewire.errors import CLIError
from claudewire.options import Agent, check_agents
from claudewire.simulator import ARGV
from claudewire.testing.api import APIRequest, APIScript, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.wire import AgentDefinition, Answer, Initialize, PermissionResultAllow

from .host import Host, serve_calculator
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

OLD, MIDDLE, _ = VERSIONS

REVIEWER = Agent(
    description="Reviews what was done.",
    prompt="You are the reviewer of this house.",
    tools=["Read", "mcp__calc__add"],
    model="haiku",
    mcp_servers=["calc"],
    max_turns=3,
    effort="low",
)
AGENTS = {"reviewer": REVIEWER.definition()}
HAND_OVER = APIToolUse(
    "Task",
    {"description": "Review", "prompt": "Review this, please.", "subagent_type": "reviewer"},
    id="toolu_review",
)


async def talk(version: str, cage: Cage, *flags: str, **setup: Any) -> Any:
    """Have the model hand something over to an agent; give what the CLI says of itself."""
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    with anyio.fail_after(60):
        async with started(cage.command([real_cli(version), *ARGV, *flags])) as process:
            host = Host(process, lambda it: PermissionResultAllow(it.input), serve_calculator)
            answer = await host.ask(Initialize(sdk_mcp_servers=["calc"], **setup))
            await host.turn("Go on.")
            await host.end()
    assert isinstance(answer, Answer)
    return answer.body


def opened() -> Cage:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    script = APIScript(default="Done.")
    return Cage(script.on("Review this", "It is fine.").on("Go on", HAND_OVER, "Done."))


def asked_by_reviewer(cage: Cage) -> APIRequest:
    found = [request for request in cage.turns if "Review this" in request.prompt]
    assert found
    return found[0]


NOT_FOUND = "does not look for agents in initialize: the tool says that there is no such agent"


@pytest.mark.parametrize(
    ("version", "how"),
    [
        *((version, "flag") for version in VERSIONS),
        pytest.param(
            OLD,
            "initialize",
            marks=pytest.mark.xfail(reason=NOT_FOUND, raises=AssertionError),
        ),
        (MIDDLE, "initialize"),
        (NEWEST, "initialize"),
    ],
)
async def test_an_agent_gets_its_prompt_its_model_and_its_tools(version: str, how: str) -> None:
    with opened() as cage:
        flag = f"--agents={msgspec.json.encode(AGENTS).decode()}"
        if how == "flag":
            info = await talk(version, cage, flag)
        else:
            info = await talk(version, cage, agents=AGENTS)
    check_agents(AGENTS, info)
    body = asked_by_reviewer(cage).body
    assert "You are the reviewer of this house." in str(body["system"])
    assert "haiku" in body["model"]
    tools = {tool["name"] for tool in body["tools"]} - {"DeferredToolPlaceholder"}
    assert tools == {"Read", "mcp__calc__add"}


@pytest.mark.parametrize(
    "wrong", [{"memory": "nowhere"}, {"max_turns": 0}, {"effort": "huge"}, {"description": ""}]
)
async def test_a_wrong_agent_takes_all_others_with_it(wrong: dict[str, Any]) -> None:
    # What `Agent` refuses, the newest CLI drops without a word, and all others too.
    bad = AgentDefinition(**{"description": "d", "prompt": "p", **wrong})
    with opened() as cage:
        info = await talk(NEWEST, cage, agents={**AGENTS, "bad": bad})
    with pytest.raises(CLIError, match="has not taken the agents reviewer, bad"):
        check_agents(["reviewer", "bad"], info)
