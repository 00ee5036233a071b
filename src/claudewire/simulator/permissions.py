"""Decides whether a tool may run: by the mode, the rules, or the answer of the SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import msgspec

from ..wire import (
    ENVELOPE,
    SESSION,
    AddRules,
    CanUseTool,
    McpServerProvenance,
    PermissionDeniedMessage,
    PermissionHint,
    PermissionRequestHookSpecificOutput,
    PermissionResult,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionRule,
    PermissionUpdate,
    SetMode,
    StatusMessage,
    prepared,
)
from .engine import Engine, Interrupted, Refused, StreamClosed
from .hooks import call_hooks
from .mcp import call_tool
from .personas import Persona
from .session import STRUCTURED_OUTPUT, WANT_A_PERSON, SimulatedSession

__all__ = ["Decision", "decide", "rules", "set_mode", "told_of_answers"]

HARMLESS = frozenset({"Read", "Glob", "Grep", "LS", "TodoWrite", "Task"})
EDITS = frozenset({"Edit", "Write", "NotebookEdit"})

_OTHER_TOOLS = """
Agent BashOutput CronCreate CronDelete CronList EnterPlanMode EnterWorktree
ExitWorktree KillShell ListAgents ListMcpResourcesTool Monitor MultiEdit NotebookRead
ReadMcpResourceTool ReportFindings ScheduleWakeup SendMessage Skill SlashCommand TaskOutput TaskStop
ToolSearch Workflow
"""
OTHER_TOOLS = frozenset(_OTHER_TOOLS.split())
"""Tools that some real CLI has, and the simulated one does not list. A scenario may use them."""

NO_STREAM = "Tool permission stream closed before response received"
DO_NOT_ASK = (
    "Permission to use {name} has been denied because Claude Code is running in don't ask mode. "
    "IMPORTANT: You *may* attempt to accomplish this action using other tools that might naturally "
    "be used to accomplish this goal, e.g. using head instead of cat. But you *should not* attempt "
    "to work around this denial in malicious ways, e.g. do not use your ability to run tests to "
    "execute non-test actions. You should only try to work around this restriction in reasonable "
    "ways that do not attempt to bypass the intent behind this denial. If you believe this "
    "capability is essential to complete the user's request, STOP and explain to the user what you "
    "were trying to do and why you need this permission. Let the user decide how to proceed."
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
    """Whether a tool runs, with which input, and what the model is told if it does not."""

    allowed: bool
    input: dict[str, Any]
    message: str = ""
    source: str = "config"
    """What decided: `config`, `hook`, `user_temporary` or `user_reject`."""
    reason: str | None = None
    """Why the configuration decided so: `rule`, `mode`, `hook`, …"""
    known: bool = True
    """Whether there is such a tool at all."""

    def kept(self, tool: str) -> dict[str, Any]:
        """What the transcript tells of the decision."""
        kept: dict[str, Any] = {"decision": "accept" if self.allowed else "reject"}
        kept["source"] = self.source
        if self.reason is not None and self.reason != "other":
            kept["reasonType"] = self.reason
        if self.source == "user_temporary":
            kept["grantScope"] = "once"
        if self.source.startswith("user_"):
            kept["reasonCode"] = "bashMiss:no-rule-match" if tool == "Bash" else "unknown"
        elif self.reason == "mode" and not self.allowed:
            kept["reasonCode"] = "mode:dontAsk"
        elif self.reason == "hook" and not self.allowed:
            kept["reasonCode"] = "hook:PreToolUse"
        elif self.reason == "rule" and self.allowed:
            kept["ruleSource"] = "cliArg"
        return kept

    @property
    def meta(self) -> dict[str, Any]:
        """What is reported along with the tool's result."""
        if not self.known:
            return {}
        decision = {"decision": "accept" if self.allowed else "reject", "source": self.source}
        if self.reason is not None and not (self.allowed and self.reason == "other"):
            decision["reason_type"] = self.reason
        if self.allowed:
            return {"permission_decision": decision}
        unasked = self.source == "config" and self.reason is None
        kind = "user-rejected" if unasked else "permission-rule"
        return {"non_execution_kind": kind, "permission_decision": decision}


async def decide(
    engine: Engine,
    name: str,
    input: dict[str, Any],
    tool_use_id: str,
    agent_id: str | None = None,
) -> Decision:
    """Decide on one use of a tool, asking the SDK if nothing else decides."""
    session = engine.session
    if (error := _unavailable(session, name)) is not None:
        message = f"<tool_use_error>{error}</tool_use_error>"
        return Decision(False, input, message, known=False)
    if _matches_any(session.denied(), name, input):
        message = f"Permission to use {name} has been denied."
        return Decision(False, input, message, reason="rule")
    must_ask = name in WANT_A_PERSON or _matches_any(
        session.configuration.rules("ask"), name, input
    )
    reason = _allowed_by(engine, name, input)
    if reason is not None and not must_ask:
        return Decision(True, input, reason=reason)
    if not session.can_ask or session.mode == "dontAsk":
        return _deny_unasked(engine, name, input, tool_use_id)
    if session.flags.permission_prompt_tool != "stdio":
        return await _ask_tool(engine, name, input, tool_use_id)
    return await _ask(engine, name, input, tool_use_id, agent_id)


def _unavailable(session: SimulatedSession, name: str) -> str | None:
    """Why the model cannot use a tool at all; None if it can."""
    if name == STRUCTURED_OUTPUT or name in session.tools() or _is_elsewhere(session, name):
        return None
    error = f"Error: No such tool available: {name}"
    if name in session.denied():
        error += f". {name} is disabled for this session, in subagents as well as here."
    return error


def _is_elsewhere(session: SimulatedSession, name: str) -> bool:
    """Whether a tool exists, although the session does not list it."""
    if name in session.denied():
        return False
    if name.startswith("mcp__"):  # whoever does not initialize names no servers
        return session.setup.sdk_mcp_servers is None
    if name in WANT_A_PERSON:  # they exist, but there may be no person
        return name != "AskUserQuestion" or session.persona.asks_questions
    return session.flags.tools is None and name in OTHER_TOOLS


def _allowed_by(engine: Engine, name: str, input: dict[str, Any]) -> str | None:
    """What lets the tool run without asking: the mode, a rule, or that it is harmless."""
    session = engine.session
    if session.mode == "bypassPermissions":
        return "mode"
    if session.mode == "acceptEdits" and name in EDITS:
        return "mode"
    if _matches_any(filter(_may_allow, rules(session)), name, input):
        return "rule"
    return "other" if name in HARMLESS or name == STRUCTURED_OUTPUT else None


def rules(session: SimulatedSession) -> list[str]:
    """What may run without asking, in the notation of rules."""
    configured = session.configuration.rules("allow")
    added = (_written(rule) for rule in session.rules)
    return [*session.flags.allowed_tools, *configured, *added]


def _written(rule: tuple[str, str]) -> str:
    tool, content = rule
    return f"{tool}({content})" if content else tool


def _matches_any(rules: Any, name: str, input: dict[str, Any]) -> bool:
    return any(_matches(rule, name, input) for rule in rules or ())


def _may_allow(rule: str) -> bool:
    """Whether the real CLI lets a rule allow anything: a pattern must name the server."""
    tool = rule.partition("(")[0]
    return "*" not in tool or re.match(r"mcp__[^*]+?__", tool) is not None


def _is_about(tool: str, name: str) -> bool:
    """Whether the name in a rule is that of a tool, of its server, or a pattern of it."""
    if tool == name or (tool.startswith("mcp__") and name.startswith(f"{tool}__")):
        return True
    return "*" in tool and fnmatchcase(name, tool)


def _matches(rule: str, name: str, input: dict[str, Any]) -> bool:
    tool, _, content = rule.removesuffix(")").partition("(")
    if not _is_about(tool, name):
        return False
    subject = _subject(input)
    if content.endswith(":*"):
        prefix = content[:-2]
        return subject == prefix or subject.startswith(f"{prefix} ")
    return not content or fnmatchcase(subject, content)


def _subject(input: dict[str, Any]) -> str:
    """What the tool is used on: what rules match and what the user is shown."""
    return str(input.get("command") or input.get("file_path") or input.get("path") or "")


def _deny_unasked(engine: Engine, name: str, input: dict[str, Any], tool_use_id: str) -> Decision:
    message, reason, kind = _why_unasked(engine.session, name, input)
    engine.send(
        PermissionDeniedMessage(
            tool_name=name,
            tool_use_id=tool_use_id,
            decision_reason_type=kind,
            decision_reason=reason,
            message=message,
            **engine.session.stamp(),
        )
    )
    return Decision(False, input, message, reason="mode" if kind == "mode" else None)


def _why_unasked(
    session: SimulatedSession, name: str, input: dict[str, Any]
) -> tuple[str, str | None, str | None]:
    """What the model is told, the reason for the denial, and its type."""
    if session.mode == "dontAsk":
        return DO_NOT_ASK.format(name=name), None, "mode"
    if name == "Bash":
        return NEEDS_APPROVAL, NEEDS_APPROVAL, "other"
    path = os.path.join(session.cwd, _subject(input))
    what = f"write to {path}" if name in EDITS else f"use {name}"
    return f"Claude requested permissions to {what}, but you haven't granted it yet.", None, None


async def _ask(
    engine: Engine, name: str, input: dict[str, Any], tool_use_id: str, agent_id: str | None
) -> Decision:
    if engine.input_ended:
        return Decision(False, input, CLOSED, reason="other")
    persona = engine.session.persona
    body = CanUseTool(
        name,
        input,
        permission_suggestions=_suggestions(engine.speaks, name, input),
        tool_use_id=tool_use_id if persona.tool_use_id else None,
        agent_id=agent_id,
        **(_explanation(engine.session, name, input) if persona.narrates else {}),
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
    """Ask the tool of an MCP server that the command line names for that."""
    tool = engine.session.flags.permission_prompt_tool or ""
    _, _, rest = tool.partition("mcp__")
    server, _, own = rest.partition("__")
    if own not in [it.get("name") for it in engine.session.mcp_tools.get(server, ())]:
        available = ", ".join(it for it in engine.session.tools() if it.startswith("mcp__"))
        message = (
            f"Error: MCP tool {tool} (passed via --permission-prompt-tool) not found. "
            f"Available MCP tools: {available or 'none'}"
        )
        return Decision(False, input, message)
    given = {"tool_name": name, "input": input, "tool_use_id": tool_use_id}
    answer = await call_tool(engine, server, own, given, tool_use_id)
    try:
        said = msgspec.json.decode(answer["content"][0]["text"], type=prepared(PermissionResult))
    except (msgspec.MsgspecError, KeyError, IndexError, TypeError):
        return Decision(False, input, f"The answer of {tool} is not valid")
    return _take(engine, said, input)


def _explanation(session: SimulatedSession, name: str, input: dict[str, Any]) -> dict[str, Any]:
    """What the newest CLI tells the user who decides."""
    if name in WANT_A_PERSON:
        return {"display_name": name, "requires_user_interaction": True}
    if name.startswith("mcp__"):
        _, server, tool = name.split("__", 2)
        source = session.servers[server].source if server in session.servers else "sdk"
        return {
            "display_name": tool.title(),
            "mcp_server": McpServerProvenance(server, source),
            "server_policy_ask_only": True,
        }
    told: dict[str, Any] = {
        "display_name": name,
        "description": input.get("description") or _subject(input) or None,
    }
    if name in EDITS:
        told["server_policy_ask_only"] = True
    elif name == "Bash":
        told["decision_reason"] = NEEDS_APPROVAL
        told["decision_reason_type"] = "other"
    return told


async def _answered(engine: Engine, body: CanUseTool) -> Any:
    """Ask the SDK and, at the same time, its hooks: the first answer counts."""
    if "PermissionRequest" not in (engine.session.setup.hooks or ()):
        return await engine.ask(body)
    id = engine.put(body)
    hooks = engine.spawn(_ask_hooks(engine, id, body))
    try:
        return await engine.answer_to(id)
    finally:
        engine.give_up(hooks)


async def _ask_hooks(engine: Engine, id: str, body: CanUseTool) -> None:
    hooks = await call_hooks(
        engine,
        "PermissionRequest",
        body.tool_name,
        tool_name=body.tool_name,
        tool_input=body.input,
        permission_suggestions=body.permission_suggestions,
    )
    for output in hooks.specific:
        if isinstance(output, PermissionRequestHookSpecificOutput):
            engine.decide(id, output.decision)


def _take(engine: Engine, answer: Any, input: dict[str, Any]) -> Decision:
    if isinstance(answer, PermissionResultDeny):
        if answer.interrupt:
            raise Interrupted
        message = answer.message or "Permission denied"
        return Decision(False, input, message, source="user_reject")
    if not isinstance(answer, PermissionResultAllow):
        return Decision(False, input, INVALID)
    if answer.updated_input is None and engine.session.persona.needs_updated_input:
        return Decision(False, input, NO_INPUT)
    for update in answer.updated_permissions or ():
        _apply_update(engine, update)
    given = input if answer.updated_input is None else answer.updated_input
    return Decision(True, given, source="user_temporary")


def _apply_update(engine: Engine, update: PermissionUpdate) -> None:
    """Add a rule or change the mode, as the answer to a permission request asks."""
    session = engine.session
    if isinstance(update, AddRules) and update.behavior == "allow":
        session.rules += [(rule.tool_name, rule.rule_content or "") for rule in update.rules]
    elif isinstance(update, SetMode):
        set_mode(engine, update.mode)


def set_mode(engine: Engine, mode: str) -> None:
    """Change the permission mode; newer versions announce it."""
    engine.session.mode = mode
    if engine.session.persona.narrates:
        engine.send(StatusMessage(status=None, permission_mode=mode, **engine.session.stamp()))


def _suggestions(dialect: str, name: str, input: dict[str, Any]) -> list[PermissionUpdate] | None:
    if dialect == SESSION.name:
        pattern = _subject(input)
        return [AddRules([PermissionRule(name, pattern)], "allow", "session")] if pattern else []
    if name in WANT_A_PERSON:
        return None
    if dialect == ENVELOPE.name:
        return [PermissionHint("allow", f"Let {name} run")]
    if name in EDITS:
        return [SetMode("acceptEdits", "session")]
    command = input.get("command")
    rule = PermissionRule(name, command if isinstance(command, str) else None)
    return [AddRules([rule], "allow", "localSettings")]


# --- questions to the user ------------------------------------------------------------------------

UNANSWERED = "The user did not answer the questions."


def told_of_answers(persona: Persona, given: dict[str, Any]) -> str:
    """What the model is told when a question has been answered, by the version that asks.

    Raises:
        ValueError: the answer is not what this version expects; the tool fails.
    """
    answers = _object(given.get("answers"))
    if persona.passes_answers_on:
        pairs = ", ".join(f'"{text}"="{_joined(value)}"' for text, value in answers.items())
        return (
            f"User has answered your questions: {pairs}. "
            "You can now continue with the user's answers in mind."
        )
    asked = given.get("questions")
    if not isinstance(asked, list):
        raise ValueError("updatedInput failed schema validation: `questions` is missing")
    if isinstance(given.get("response"), str):
        return f"The user responded: {given['response']}"
    questions = [it for it in asked if isinstance(it, dict)]
    notes = _object(given.get("annotations"))
    pairs = ", ".join(_pairs(questions, answers, notes))
    if not pairs:
        return UNANSWERED
    if all(_is_plain(question, answers, notes) for question in questions):
        return (
            f"Your questions have been answered: {pairs}. "
            "You can now continue with these answers in mind."
        )
    return f"The user answered: {pairs}. Read the answers carefully."


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _pairs(
    questions: list[dict[str, Any]], answers: dict[str, Any], notes: dict[str, Any]
) -> Iterator[str]:
    """The answer to each question; skipped questions are left out."""
    for question in questions:
        text = question.get("question")
        note = _object(notes.get(text)) if isinstance(text, str) else {}
        if text not in answers and "notes" not in note:
            continue
        told = f'"{_joined(answers[text])}"' if text in answers else "(no option selected)"
        preview = f" selected preview:\n{note['preview']}" if "preview" in note else ""
        words = f" notes: {note['notes']}" if "notes" in note else ""
        yield f'"{text}"={told}{preview}{words}'


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _is_plain(question: dict[str, Any], answers: dict[str, Any], notes: dict[str, Any]) -> bool:
    """Whether only offered options were chosen, without notes."""
    text = question.get("question")
    if isinstance(text, str) and "notes" in _object(notes.get(text)):
        return False
    value = answers.get(text, [])  # type: ignore[arg-type]
    if not isinstance(value, list):
        value = str(value).split(", ") if question.get("multiSelect") else [str(value)]
    return set(value) <= {option.get("label") for option in question.get("options") or ()}
