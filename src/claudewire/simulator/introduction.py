"""How the CLI introduces itself: its commands, tools, agents and models."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from .. import wire
from .engine import Engine
from .session import AGENTS, MODELS, SimulatedSession

COMMANDS = ("clear", "compact", "context", "cost", "init", "review")
CAPABILITIES = ("ask_user_question_unanswered_v1",)


def announce(engine: Engine, prompts: Sequence[wire.UserMessage] = ()) -> None:
    """Describe the session when it begins, or when a turn for these prompts begins."""
    init = init_message(engine.session, prompts)
    if engine.behavior.describes == "session":
        told = {name: f"Simulates {name}" for name in init.tools or ()}
        init = replace(init, tool_descriptions=told)
    engine.session.announced = True
    engine.send(init)


def init_message(
    session: SimulatedSession, prompts: Sequence[wire.UserMessage] = ()
) -> wire.InitMessage:
    """Return the description of the session with which each turn begins."""
    configured, persona = session.configuration, session.persona
    plugins = [
        wire.InitPlugin(it.name, it.path, source=f"{it.name}@inline", version=it.version)
        for it in configured.plugins
    ]
    return wire.InitMessage(
        cwd=session.cwd,
        additional_directories=configured.folders,
        tools=session.tools(),
        mcp_servers=[
            wire.InitMcpServer(name=name, status=it.status, source=it.source)
            for name, it in session.servers.items()
        ],
        model=session.model,
        permission_mode=session.mode,
        slash_commands=[*configured.slash_commands(), *COMMANDS],
        api_key_source="none",
        claude_code_version=persona.version,
        output_style=configured.settings.output_style,
        agents=list(session.agent_tools),
        skills=list(configured.skills),
        plugins=[*plugins, wire.InitPlugin("simulation", "builtin", source="simulation@builtin")],
        capabilities=list(CAPABILITIES if persona.introduces_itself else ()),
        user_message_uuids=named_prompts(session, prompts),
        **session.stamp(),
    )


def named_prompts(
    session: SimulatedSession, prompts: Sequence[wire.UserMessage]
) -> list[str] | None:
    """Return the uuids of prompts if messages name them."""
    uuids = [it.uuid for it in prompts if it.uuid is not None]
    return uuids if uuids and session.persona.names == "all" else None


def welcome(engine: Engine) -> wire.InitializeResult:
    """Describe the session, with the fields that the version has."""
    session = engine.session
    configured = session.configuration
    commands = [
        wire.SlashCommand(name, it.description, argument_hint="")
        for name, it in configured.slash_commands().items()
    ]
    commands += [wire.SlashCommand(name, "", argument_hint="", builtin=True) for name in COMMANDS]
    newer: dict[str, Any] = {}
    if session.persona.narrates:
        agents = [wire.AgentInfo(name, "A simulated agent", "inherit") for name in AGENTS]
        for found in (session.agents, configured.agents):
            agents += [wire.AgentInfo(name, it.description) for name, it in found.items()]
        newer = {"agents": agents, "pid": os.getpid(), "session_state": session.state}
        newer["current_permission_mode"] = session.mode
    if session.persona.introduces_itself:
        newer["claude_code_version"] = session.persona.version
        newer["capabilities"] = list(CAPABILITIES)
        newer["hook_on_failure_supported"] = True
    return wire.InitializeResult(
        commands=commands,
        output_style=configured.settings.output_style,
        available_output_styles=["default", "Explanatory", "Learning"],
        models=models(),
        account=wire.AccountInfo(
            token_source="none", api_key_source="none", api_provider="firstParty"
        ),
        **newer,
    )


def models() -> list[wire.ModelInfo]:
    """Return the models to choose from."""
    return [
        wire.ModelInfo(name, resolved_model=full, display_name=name.title(), description=full)
        for name, full in MODELS.items()
    ]
