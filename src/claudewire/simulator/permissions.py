"""Permissions: whether a tool may run.

`claudewire.policy` decides by rules, mode and folders, as the CLI does. The SDK is asked about
everything else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from .. import wire
from ..errors import OptionsError
from .engine import Engine, Interrupted, Refused, StreamClosed
from .hooks import call_hooks
from .mcp import call_tool
from .session import STRUCTURED_OUTPUT, WANT_A_PERSON, SimulatedSession

if TYPE_CHECKING:
    from ..policy import Decision as Verdict
    from ..policy import Rule

EDITS = frozenset({"Edit", "Write", "NotebookEdit"})

_FREE = """
Agent BashOutput CronCreate CronDelete CronList EnterPlanMode ExitWorktree KillShell ListAgents
ListMcpResourcesTool ReadMcpResourceTool ReportFindings ScheduleWakeup SendMessage StructuredOutput
Task TaskOutput TaskStop TodoWrite ToolSearch
"""
FREE = frozenset(_FREE.split())
"""Tools that run without permission."""

_MODES: tuple[wire.PermissionMode, ...] = ("acceptEdits", "bypassPermissions", "plan")

_ASKING = "EnterWorktree Monitor MultiEdit NotebookRead Skill SlashCommand Workflow"
UNLISTED = FREE | set(_ASKING.split())
"""Tools that scenarios may use although the simulated CLI does not list them."""

NO_STREAM = "Tool permission stream closed before response received"
DO_NOT_ASK = (
    "Permission to use {name} has been denied because Claude Code is running in don't ask mode."
)
NEEDS_APPROVAL = "This command requires approval"
CLOSED = "Tool permission request failed: AbortError: Stream closed"
INVALID = (
    "The canUseTool callback returned an invalid permission result. Expected {behavior: 'allow', "
    "updatedInput?: object} or {behavior: 'deny', message: string}. updatedPermissions may hold at "
    "most 4096 updates, rules and directories in all."
)
NO_INPUT = (
    "The canUseTool callback returned an invalid permission result: updatedInput is required "
    "when behavior is allow"
)


class Decision(NamedTuple):
    """Whether a tool runs, with which input, and the words for the model if it does not."""

    allowed: bool
    input: dict[str, Any]
    message: str = ""
    known: bool = True
    """Whether the tool exists."""


async def decide(
    engine: Engine,
    name: str,
    input: dict[str, Any],
    tool_use_id: str,
    *,
    agent_id: str | None = None,
    must_ask: bool = False,
) -> Decision:
    """Decide on one use of a tool; `must_ask` for one that no rule may allow."""
    session = engine.session
    if (error := _unavailable(session, name)) is not None:
        message = f"<tool_use_error>{error}</tool_use_error>"
        return Decision(False, input, message, known=False)
    verdict = _verdict(session, name, input)
    if verdict.behavior == "deny":
        return Decision(False, input, f"Permission to use {name} has been denied.")
    if verdict.allows and not must_ask:
        return Decision(True, input)
    if not session.can_ask or session.mode == "dontAsk":
        return _deny_unasked(engine, name, input, tool_use_id)
    if session.flags.permission_prompt_tool != "stdio":
        return await _ask_tool(engine, name, input, tool_use_id)
    return await _ask(engine, name, input, tool_use_id, agent_id)


def _unavailable(session: SimulatedSession, name: str) -> str | None:
    """Why the model cannot use a tool at all; None if it can."""
    if name == STRUCTURED_OUTPUT or name in session.tools():
        return None
    error = f"Error: No such tool available: {name}"
    if session.is_removed(name):
        return f"{error}. {name} is disabled for this session, in subagents as well as here."
    if name.startswith("mcp__"):  # an SDK that does not initialize names no servers
        server = name.split("__")[1]
        exists = session.setup.sdk_mcp_servers is None and server not in session.servers
    else:
        exists = session.flags.tools is None and name in UNLISTED
    return None if exists else error


# --- decisions by the policy ----------------------------------------------------------------------


def _verdict(session: SimulatedSession, name: str, input: dict[str, Any]) -> Verdict:
    # It takes as long to load as everything else, and many sessions use no tool.
    from ..policy import Policy

    policy = Policy(
        [*_rules(session, "allow"), *FREE],
        _rules(session, "ask"),
        _rules(session, "deny"),
        mode=next((it for it in _MODES if it == session.mode), "default"),
        cwd=session.cwd,
        home=session.env.get("HOME") or None,
        directories=[*session.configuration.folders, *session.added_folders],
    )
    return policy.decide(name, input)


def _rules(session: SimulatedSession, behavior: str) -> Iterator[Rule]:
    """Yield the rules; like the real CLI, ignore those that are invalid or can have no effect."""
    from ..policy import Policy, Rule

    for text, root, source in session.rules(behavior):
        with suppress(OptionsError):
            rule = Rule.parse(text, root=root, source=source)
            check: dict[str, Any] = {behavior: [rule], "cwd": session.cwd}
            Policy(**check)
            yield rule


def set_mode(engine: Engine, mode: str) -> None:
    """Change the permission mode; newer versions announce it."""
    engine.session.mode = mode
    if engine.session.persona.narrates:
        engine.tell(wire.StatusMessage, status=None, permission_mode=mode)


def _apply_update(engine: Engine, update: wire.PermissionUpdate) -> None:
    """Change rules, folders or the mode, as the answer to a permission request asks."""
    session = engine.session
    if isinstance(update, wire.SetMode):
        set_mode(engine, update.mode)
    elif isinstance(update, wire.AddDirectories):
        session.added_folders += update.directories
    elif isinstance(update, wire.AddRules | wire.ReplaceRules | wire.RemoveRules):
        given = [_written(rule) for rule in update.rules]
        known = session.added_rules.setdefault(update.behavior or "allow", [])
        if isinstance(update, wire.ReplaceRules):
            known.clear()
        kept = [it for it in known if it not in given]
        known[:] = kept if isinstance(update, wire.RemoveRules) else [*kept, *given]


def _written(rule: wire.PermissionRule) -> str:
    from ..policy import Rule

    return str(Rule(rule.tool_name, rule.rule_content))


# --- asking ---------------------------------------------------------------------------------------


def _subject(input: dict[str, Any]) -> str:
    """The command or the file that a tool is used on."""
    return str(input.get("command") or input.get("file_path") or input.get("path") or "")


def _deny_unasked(engine: Engine, name: str, input: dict[str, Any], tool_use_id: str) -> Decision:
    session, kind = engine.session, None
    if session.mode == "dontAsk":
        message, kind = DO_NOT_ASK.format(name=name), "mode"
    elif name == "Bash":
        message, kind = NEEDS_APPROVAL, "other"
    else:
        path = os.path.join(session.cwd, _subject(input))
        what = f"write to {path}" if name in EDITS else f"use {name}"
        message = f"Claude requested permissions to {what}, but you haven't granted it yet."
    engine.tell(
        wire.PermissionDeniedMessage,
        tool_name=name,
        tool_use_id=tool_use_id,
        decision_reason_type=kind,
        decision_reason=message if kind == "other" else None,
        message=message,
    )
    return Decision(False, input, message)


async def _ask(
    engine: Engine, name: str, input: dict[str, Any], tool_use_id: str, agent_id: str | None
) -> Decision:
    if engine.input_ended:
        return Decision(False, input, CLOSED)
    body = wire.CanUseTool(
        name,
        input,
        permission_suggestions=_suggestions(engine.behavior.suggests, name, input),
        tool_use_id=tool_use_id,
        agent_id=agent_id,
        **(_explanation(engine.session, name, input) if engine.session.persona.narrates else {}),
    )
    engine.set_state("requires_action")
    try:
        answer = await _answered(engine, body)
    except StreamClosed:
        return Decision(False, input, NO_STREAM)
    except Refused as error:
        return Decision(False, input, f"Tool permission request failed: Error: {error}")
    finally:
        engine.set_state("running")
    return _take(engine, answer, input)


async def _ask_tool(engine: Engine, name: str, input: dict[str, Any], tool_use_id: str) -> Decision:
    """Ask the tool of an MCP server that the command line names."""
    tool = engine.session.flags.permission_prompt_tool or ""
    if tool not in engine.session.tools():
        available = ", ".join(it for it in engine.session.tools() if it.startswith("mcp__"))
        message = (
            f"Error: MCP tool {tool} (passed via --permission-prompt-tool) not found. "
            f"Available MCP tools: {available or 'none'}"
        )
        return Decision(False, input, message)
    given = {"tool_name": name, "input": input, "tool_use_id": tool_use_id}
    answer = await call_tool(engine, tool, given, tool_use_id)
    try:
        said = msgspec.json.decode(
            answer["content"][0]["text"], type=wire.prepared(wire.PermissionResult)
        )
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError):
        return Decision(False, input, f"The answer of {tool} is not valid")
    return _take(engine, said, input)


def _explanation(session: SimulatedSession, name: str, input: dict[str, Any]) -> dict[str, Any]:
    """Return what newer CLIs tell the person who decides."""
    if name in WANT_A_PERSON:
        return {"display_name": name, "requires_user_interaction": True}
    if name.startswith("mcp__"):
        _, server, tool = name.split("__", 2)
        source = session.servers[server].source if server in session.servers else "sdk"
        return {
            "display_name": tool.title(),
            "mcp_server": wire.McpServerProvenance(server, source),
            "server_policy_ask_only": True,
        }
    description = input.get("description") or _subject(input) or None
    told: dict[str, Any] = {"display_name": name, "description": description}
    if name in EDITS:
        told["server_policy_ask_only"] = True
    elif name == "Bash":
        told |= {"decision_reason": NEEDS_APPROVAL, "decision_reason_type": "other"}
    return told


def _suggestions(form: str, name: str, input: dict[str, Any]) -> list[wire.PermissionUpdate] | None:
    if form == "patterns":
        rules = [wire.PermissionRule(name, it) for it in [_subject(input)] if it]
        return [wire.AddRules(rules, "allow", "session")] if rules else []
    if name in WANT_A_PERSON:
        return None
    if form == "hints":
        return [wire.PermissionHint("allow", f"Let {name} run")]
    if name in EDITS:
        return [wire.SetMode("acceptEdits", "session")]
    command = input.get("command")
    rule = wire.PermissionRule(name, command if isinstance(command, str) else None)
    return [wire.AddRules([rule], "allow", "localSettings")]


async def _answered(engine: Engine, body: wire.CanUseTool) -> Any:
    """Ask the SDK and, at the same time, its hooks: the first answer counts."""
    if "PermissionRequest" not in (engine.session.setup.hooks or ()):
        return await engine.ask(body)
    id = engine.put(body)
    hooks = engine.spawn(_ask_hooks(engine, id, body))
    try:
        return await engine.answer_to(id)
    finally:
        if hooks.key is not None:
            engine.settle(hooks.key, StreamClosed())


async def _ask_hooks(engine: Engine, id: str, body: wire.CanUseTool) -> None:
    hooks = await call_hooks(
        engine,
        "PermissionRequest",
        body.tool_name,
        tool_name=body.tool_name,
        tool_input=body.input,
        permission_suggestions=body.permission_suggestions,
    )
    for output in hooks.specific:
        if isinstance(output, wire.PermissionRequestHookSpecificOutput):
            engine.settle(id, wire.Answer(id, output.decision))


def _take(engine: Engine, answer: Any, input: dict[str, Any]) -> Decision:
    if isinstance(answer, wire.PermissionResultDeny):
        if answer.interrupt:
            raise Interrupted
        return Decision(False, input, answer.message or "Permission denied")
    if not isinstance(answer, wire.PermissionResultAllow):
        return Decision(False, input, INVALID)
    if answer.updated_input is None and engine.session.persona.needs_updated_input:
        return Decision(False, input, NO_INPUT)
    for update in answer.updated_permissions or ():
        _apply_update(engine, update)
    return Decision(True, input if answer.updated_input is None else answer.updated_input)


# --- questions to the user ------------------------------------------------------------------------


def told_of_answers(given: dict[str, Any]) -> str:
    """Return what the model reads when a question was answered.

    Raises:
        ValueError: the answer is invalid; the tool fails.
    """
    answers, notes = _object(given.get("answers")), _object(given.get("annotations"))
    if not isinstance(given.get("questions"), list):
        raise ValueError("updatedInput failed schema validation: `questions` is missing")
    if isinstance(given.get("response"), str):
        return f"The user responded: {given['response']}"
    told = []
    for question in map(_object, given["questions"]):
        text = str(question.get("question"))
        note, answer = _object(notes.get(text)), answers.get(text)
        if answer is None and "notes" not in note:
            continue  # the user skipped it
        chosen = ",".join(map(str, answer)) if isinstance(answer, list) else answer
        told.append(
            f'"{text}"="{chosen}"' if chosen is not None else f'"{text}"=(no option selected)'
        )
        told[-1] += f" selected preview:\n{note['preview']}" if "preview" in note else ""
        told[-1] += f" notes: {note['notes']}" if "notes" in note else ""
    if not told:
        return "The user did not answer the questions."
    if notes:
        return f"The user answered: {', '.join(told)}. Read the answers carefully."
    return (
        f"Your questions have been answered: {', '.join(told)}. "
        "You can now continue with these answers in mind."
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
