"""The first request, `initialize`: what the simulated CLI says of itself.

Most hosts wait for this answer before anything else, so the program loads no more than it needs for
it: what turns and other requests are made of comes later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from .. import wire
from .engine import Engine
from .mcp import connect_all
from .session import MODELS, SimulatedSession

__all__ = ["AGENTS", "COMMANDS", "STYLES", "give_title", "models", "open_session"]

COMMANDS = ["compact", "context", "cost", "clear", "init", "review"]
ALIASES = {"clear": ["reset", "new"]}
AGENTS = ["general-purpose", "Explore", "Plan"]
STYLES = ("default", "Explanatory", "Learning")


def open_session(engine: Engine, request: wire.Request, body: wire.Initialize) -> None:
    """Answer, and connect to the in-process servers; no turn begins before that is done."""
    engine.session.setup = body
    if body.title is not None and engine.session.persona.narrates:
        give_title(engine, body.title)
    engine.hold()
    announces = engine.manner.init == "opening"
    # It comes after the answer, even if there is no server to wait for.
    ready = partial(engine.defer, partial(_announce, engine)) if announces else engine.release
    first = engine.session.persona.meets_servers_first
    if first:
        connect_all(engine, ready)
    engine.send(wire.Answer(request.id, _welcome(engine), pending=None if announces else ()))
    if not first:
        connect_all(engine, ready)


def give_title(engine: Engine, title: str) -> None:
    """Keep the title of the session, and tell the SDK."""
    engine.transcript.rename(title)
    kind = "session_title_changed"
    told = {"type": "system", "subtype": kind, "title": title, **engine.session.stamp()}
    engine.send(wire.UnknownSystemMessage(subtype=kind, data=told))


def _announce(engine: Engine) -> None:
    from .turns import announce  # not before it is needed: the program starts fast

    announce(engine)
    engine.release()


def _welcome(engine: Engine) -> wire.InitializeResult:
    """Describe the session, as far as the version does."""
    session, persona = engine.session, engine.session.persona
    bare = wire.InitializeResult(
        commands=[
            *_configured_commands(session),
            *(
                wire.SlashCommand(
                    name, "", argument_hint="", aliases=ALIASES.get(name), builtin=True
                )
                for name in COMMANDS
            ),
        ],
        output_style=session.configuration.style,
        available_output_styles=list(STYLES),
        models=models(),
        account=wire.AccountInfo(
            token_source="none", api_key_source="none", api_provider="firstParty"
        ),
    )
    if persona.welcome == "bare":
        return bare
    named = [wire.AgentInfo(name, it.description) for name, it in session.agents.items()]
    agents = [wire.AgentInfo(name, "A simulated agent", "inherit") for name in AGENTS]
    files = session.configuration.agents
    named += [wire.AgentInfo(name, it.description, it.model) for name, it in files.items()]
    with_agents = replace(bare, agents=[*agents, *named], pid=os.getpid())
    if persona.welcome == "agents":
        return with_agents
    with_state = replace(
        with_agents,
        hooks_applied=True if session.setup.hooks else None,
        fast_mode_state="off",
        fast_mode_disabled_reason="sdk_opt_in_required",
        current_permission_mode=session.mode,
        session_state=session.state,
        analytics_disabled=True,
        ide_rc_auto_enable_gate=False,
        remote_control_auto_enable=False,
        remote_control_auto_on_by_default=False,
    )
    if persona.welcome == "state":
        return with_state
    return replace(
        with_state,
        hook_on_failure_supported=True,
        claude_code_version=persona.version,
        capabilities=list(persona.capabilities),
        feedback_mode=wire.FeedbackMode("disabled"),
        user_output_styles_dir=f"{session.env.get('CLAUDE_CONFIG_DIR', '~/.claude')}/output-styles",
        other_hook_ask_outranks_host=True,
        remote_control_available=False,
        remote_control_auto_connect_default=False,
    )


def _configured_commands(session: SimulatedSession) -> Iterator[wire.SlashCommand]:
    for name, it in session.configuration.slash_commands().items():
        yield wire.SlashCommand(name, it.told, argument_hint=it.hint)


def models() -> list[wire.ModelInfo]:
    """The models to choose from."""
    return [
        wire.ModelInfo(
            name,
            resolved_model=full,
            display_name=name.title(),
            description=full,
            supports_effort=True,
            supported_effort_levels=["low", "medium", "high", "xhigh", "max"],
            supports_adaptive_thinking=True,
            supports_fast_mode=True if "opus" in full else None,
            supports_auto_mode=True,
            supports_thinking_off=False,
        )
        for name, full in MODELS.items()
    ]
