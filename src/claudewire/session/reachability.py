"""Which handlers and policies the CLI can ever ask, with the options of a session.

It needs the grammar of rules, so it is loaded only for sessions that have a handler or a policy.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..errors import OptionsError
from ..options import Options
from ..people import ASK_TOOL, PLAN_TOOL, Inbox
from ..policy import Explanation, Policy, ToolReach, explain, mode_in_settings, why_unreachable
from .requests import people_of

__all__ = ["check_reachable", "explain_options", "mode_of"]

log: logging.Logger = logging.getLogger("claudewire.session")


def explain_options(options: Options) -> Explanation:
    """Explain which tools can ever reach a person with these options, and what shadows what."""
    policy = options.policy if isinstance(options.policy, Policy) else None
    explanation = explain(policy, hooks=bool(options.hooks), **_rules(options))
    questions = {it.tool: it for it in _questions(options)}
    tools = tuple(questions.get(it.tool, it) for it in explanation.tools)
    return replace(explanation, tools=tools, notes=(*explanation.notes, *_notes(options)))


def _questions(options: Options) -> Iterator[ToolReach]:
    """Explain what happens to questions: of a policy, only the rules that deny them count."""
    deny = options.policy.deny if isinstance(options.policy, Policy) else ()
    for fate in explain(Policy(deny=deny), **_rules(options)).tools:
        if fate.tool in (ASK_TOOL, PLAN_TOOL):
            yield fate


def _rules(options: Options) -> dict[str, Any]:
    """Collect the rules that the CLI decides by."""
    return {
        "allowed_tools": options.allowed_tools,
        "disallowed_tools": (*options.disallowed_tools, *options.deny),
        "permission_mode": mode_of(options),
        "tools": options.builtin_tools if isinstance(options.builtin_tools, tuple) else None,
    }


def mode_of(options: Options) -> str | None:
    """Return the mode that the CLI starts in, as far as the options say."""
    if options.permission_mode is not None:
        return options.permission_mode
    given = None if options.remote and isinstance(options.settings, str) else options.settings
    return mode_in_settings(options.managed_settings) or mode_in_settings(given)


def _has_servers(options: Options) -> bool:
    """Whether there are MCP servers, whose tools are not known here."""
    return bool(options.tools or options.mcp_servers or options.mcp_config)


def _notes(options: Options) -> Iterator[str]:
    if options.policy is not None and not isinstance(options.policy, Policy):
        yield "a policy that cannot be explained decides before a person is asked"
    if _has_servers(options):
        yield "about tools of MCP servers the CLI asks each time, unless a rule allows them"
    people = people_of(options, Inbox())
    for kind in ("permission", "question", "plan"):
        if not people.can_decide(kind):
            yield f"no handler is registered for {kind}s, so the answer will be no"


def check_reachable(options: Options) -> None:
    """Refuse a handler or a policy that would never be asked, and so controls nothing.

    Raises:
        OptionsError: there is one.
    """
    reasons = [_why_no_policy(options), _why_no_permission(options), *_why_no_question(options)]
    for reason in filter(None, reasons):
        raise OptionsError(f"{reason}. Pass accept_shadowed=True if this is intended")
    for warning in _weak_denials(options):
        log.warning(warning)


def _weak_denials(options: Options) -> Iterator[str]:
    """Yield a warning for each denied tool that the CLI may use without asking."""
    if not isinstance(options.policy, Policy):
        return
    reaches = {it.tool: it for it in explain(None, **_rules(options)).tools}
    for rule in options.policy.deny:
        reach = reaches.get(rule.tool)
        if reach is None or not rule.for_every_use or reach.reaches == "always":
            continue
        if rule.tool not in (*options.disallowed_tools, *options.deny):
            yield (
                f"The policy denies {rule.tool}, but can only deny what the CLI asks about, and "
                f"{reach.why}. disallowed_tools=[{rule.tool!r}] denies every use"
            )


def _why_no_policy(options: Options) -> str | None:
    """Return why the policy would never be asked; None if it would, or if there is none."""
    if options.policy is None or options.on_permission is not None:
        return None
    given = "allow, ask and deny" if options.allow or options.ask or options.deny else "policy"
    if options.permission_prompts == "none":
        return f"{given} would never be asked: permission_prompts is none"
    if (mode := mode_of(options)) in ("dontAsk", "bypassPermissions"):
        return (
            f"{given} would never be asked: in the mode {mode} the CLI decides "
            "by its own rules, which are allowed_tools and disallowed_tools"
        )
    return None


def _why_no_permission(options: Options) -> str | None:
    if options.on_permission is None:
        return None
    if options.permission_prompts == "none":
        return "A permission handler would never be called: permission_prompts is none"
    policy = options.policy if isinstance(options.policy, Policy) else None
    rules = _rules(options)
    if _has_servers(options):
        rules["tools"] = None  # there may be something to ask about
    return why_unreachable(policy, **rules)


def _why_no_question(options: Options) -> Iterator[str]:
    if options.on_question is None and options.on_plan is None:
        return
    fates = {it.tool: it for it in _questions(options)}
    for name, tool in (("on_question", ASK_TOOL), ("on_plan", PLAN_TOOL)):
        if getattr(options, name) is None:
            continue
        if tool not in fates:
            yield f"{name} would never be called: there is no {tool} among the tools"
        elif fates[tool].reaches == "never":
            yield f"{name} would never be called: {fates[tool].why}"
