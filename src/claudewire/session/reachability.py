"""Which handlers and policies the CLI can ever ask, with the options of a session."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..approvals import ASK_TOOL, PLAN_TOOL
from ..errors import OptionsError
from ..options import Options
from ..policy import Explanation, Policy, explain, mode_in_settings

log: logging.Logger = logging.getLogger("claudewire.session")


def mode_of(options: Options) -> str | None:
    """Return the mode that the CLI starts in, as far as the options say."""
    if options.permission_mode is not None:
        return options.permission_mode
    given = None if options.remote and isinstance(options.settings, str) else options.settings
    return mode_in_settings(options.managed_settings) or mode_in_settings(given)


def explain_options(options: Options) -> Explanation:
    """Explain which tools can reach a person with these options, and which rules have no effect."""
    tools = options.builtin_tools if isinstance(options.builtin_tools, tuple) else None
    return replace(_explain(options, tools=tools), notes=tuple(_notes(options)))


def _explain(
    options: Options, *, tools: Sequence[str] | None, with_policy: bool = True
) -> Explanation:
    return explain(
        options.policy if with_policy and isinstance(options.policy, Policy) else None,
        allowed_tools=options.allowed_tools,
        disallowed_tools=(*options.disallowed_tools, *options.deny),
        permission_mode=mode_of(options),
        tools=tools,
    )


def _has_servers(options: Options) -> bool:
    return bool(options.tools or options.mcp_servers or options.mcp_config)


def _notes(options: Options) -> Iterator[str]:
    if isinstance(options.policy, Policy):
        yield from options.policy.problems
    elif options.policy is not None:
        yield "a policy that cannot be explained decides before a person is asked"
    if _has_servers(options):
        yield "about tools of MCP servers the CLI asks each time, unless a rule allows them"
    for kind in ("permission", "question", "plan"):
        if options.approver is None and getattr(options, f"on_{kind}") is None:
            yield f"no handler is registered for {kind}s, so the answer will be no"


def check_reachable(options: Options) -> None:
    """Refuse a handler or a policy that the CLI would never ask.

    Raises:
        OptionsError: there is one.
    """
    for reason in _why_unreachable(options):
        raise OptionsError(f"{reason}. Pass accept_shadowed=True if this is intended")
    for warning in _weak_denials(options):
        log.warning(warning)


def _why_unreachable(options: Options) -> Iterator[str]:
    mode, asks_nobody = mode_of(options), options.permission_prompts == "none"
    # The tools of MCP servers are not known here.
    known = isinstance(options.builtin_tools, tuple) and not _has_servers(options)
    tools = _explain(options, tools=options.builtin_tools if known else None).tools
    if options.on_permission is not None:
        others = [it for it in tools if it.tool not in (ASK_TOOL, PLAN_TOOL)]
        why = "; ".join(sorted({it.why for it in others})) or "there are no tools"
        if asks_nobody:
            yield "A permission handler would never be called: permission_prompts is none"
        elif all(it.reaches == "never" for it in others):
            yield f"A permission handler would never be called: {why}"
    elif options.policy is not None:
        given = "allow, ask and deny" if options.allow or options.ask or options.deny else "policy"
        if asks_nobody:
            yield f"{given} would never be asked: permission_prompts is none"
        elif mode in ("dontAsk", "bypassPermissions"):
            yield (
                f"{given} would never be asked: in the mode {mode} the CLI decides by its own "
                "rules, which are allowed_tools and disallowed_tools"
            )
    questions = {it.tool: it for it in explain_options(options).tools}
    for name, tool in (("on_question", ASK_TOOL), ("on_plan", PLAN_TOOL)):
        if getattr(options, name) is not None and tool not in questions:
            yield f"{name} would never be called: there is no {tool} among the tools"
        elif getattr(options, name) is not None and questions[tool].reaches == "never":
            yield f"{name} would never be called: {questions[tool].why}"


def _weak_denials(options: Options) -> Iterator[str]:
    """Yield a warning for each denied tool that the CLI may use without asking."""
    if not isinstance(options.policy, Policy):
        return
    reaches = {it.tool: it for it in _explain(options, tools=None, with_policy=False).tools}
    for rule in options.policy.deny:
        reach = reaches.get(rule.tool)
        if reach is None or not rule.for_every_use or reach.reaches == "always":
            continue
        if rule.tool not in (*options.disallowed_tools, *options.deny):
            yield (
                f"The policy denies {rule.tool}, but can only deny what the CLI asks about, and "
                f"{reach.why}. disallowed_tools=[{rule.tool!r}] denies every use"
            )
