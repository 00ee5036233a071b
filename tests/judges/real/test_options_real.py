"""Real CLIs take every flag that options become, and options have their effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.every_option import SINCE, alone, every_option
from tests.helpers.real_clis import NEWEST, VERSIONS

from claudewire.errors import CLIError, OptionsError
from claudewire.options import Options, check_agents
from claudewire.session import Session
from claudewire.wire import AgentDefinition, Initialize, parse_version

from .sessions import caged, open_cage, real_session

pytestmark = [pytest.mark.anyio, pytest.mark.real]

APART = {"cli", "remote", "cwd", "resume", "continue_conversation", "worktree", "extra_args"}
"""Options without a flag, or whose example needs something that is missing here."""
EXCLUSIVE = {"restricted", "allow_dangerously_skip_permissions"}
"""Options that the CLI refuses together."""


def groups(examples: dict[str, Any], version: str) -> list[dict[str, Any]]:
    """Put the options that a version knows into as few sessions as they allow."""
    found: list[dict[str, Any]] = []
    for name in examples:
        given = alone(examples, name)
        if APART & set(given) or parse_version(SINCE.get(name)) > parse_version(version):
            continue
        for group in found:
            if {*group, *given} >= EXCLUSIVE:
                continue
            try:
                Options(**group, **given)
            except OptionsError:
                continue
            group |= given
            break
        else:
            found.append(dict(given))
    return found


@pytest.mark.parametrize("version", VERSIONS)
async def test_cli_takes_every_flag_it_should_know(version: str, tmp_path: Path) -> None:
    with open_cage(version) as cage:
        folder = cage.work / "files"
        folder.mkdir()
        taken: set[str] = set()
        for group in groups(every_option(folder), version):
            async with Session(caged(cage, version, **group)) as session:
                assert session.cli_info is not None
            taken |= set(group)
    assert {"system_prompt", "mcp_servers", "settings", "setting_sources"} <= taken


async def test_small_options_have_their_effect() -> None:
    options: dict[str, Any] = {
        "task_budget": 20_000,
        "client_app": "example/1.0",
        "permission_mode": "plan",
        "plan_mode_instructions": "MARK-PLAN",
        "builtin_tools": ["Write", "Bash"],
        "managed_settings": {"permissions": {"deny": ["Bash"]}},
        "exclude_dynamic_sections": True,
    }
    async with real_session(NEWEST, **options) as (session, cage):
        assert (await session.ask("hello")).ok
        work = str(cage.work)
    (request, *_) = cage.turns
    assert request.body["output_config"]["task_budget"]["total"] == 20_000
    assert "client-app/example/1.0" in request.headers["user-agent"]
    assert "MARK-PLAN" in json.dumps(request.messages)
    assert "Write" in request.tools
    assert {"Edit", "Bash"}.isdisjoint(request.tools)
    assert work not in json.dumps(request.body["system"])


@pytest.mark.parametrize("wrong", [{"memory": "nowhere"}, {"max_turns": 0}, {"description": ""}])
async def test_wrong_agent_makes_the_cli_drop_all(wrong: dict[str, Any]) -> None:
    # The reason why `Agent` checks its fields: the CLI reports nothing.
    good = AgentDefinition("Reviews", "You review.")
    agents = {"good": good, "bad": AgentDefinition(**{"description": "d", "prompt": "p", **wrong})}
    async with real_session(NEWEST) as (session, _):
        info = await session.request(Initialize(agents=agents))
    with pytest.raises(CLIError, match="has not taken the agents good, bad"):
        check_agents(["good", "bad"], info)
