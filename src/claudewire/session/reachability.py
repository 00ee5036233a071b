"""Which handlers and policies the CLI can ever ask, with the options of a session."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from ..approvals import ASK_TOOL, PLAN_TOOL
from ..errors import OptionsError
from ..options import Options
from ..policy import Policy, ToolReach, mode_in_settings

log: logging.Logger = logging.getLogger("claudewire.session")


def mode_of(options: Options) -> str | None:
    """Return the mode that the CLI starts in, as far as the options say."""
    if options.permission_mode is not None:
        return options.permission_mode
    given = None if options.remote and isinstance(options.settings, str) else options.settings
    return mode_in_settings(options.managed_settings) or mode_in_settings(given)


def explain_options(options: Options) -> dict[str, ToolReach]:
    """Explain which tools can reach a person with these options."""
    return _explain(options, options.policy)


def _explain(options: Options, policy: object, *more_tools: str) -> dict[str, ToolReach]:
    tools = options.builtin_tools
    return (policy if isinstance(policy, Policy) else Policy()).explain(
        tools=(*tools, *more_tools) if isinstance(tools, tuple) else None,
        allowed_tools=options.allowed_tools,
        disallowed_tools=(*options.disallowed_tools, *options.deny),
        permission_mode=mode_of(options),
    )


def check_reachable(options: Options) -> None:
    """Refuse a handler or a policy that the CLI would never ask."""
    for reason in _why_unreachable(options):
        raise OptionsError(f"{reason}. Pass accept_shadowed=True if this is intended")
    denials = options.policy.deny if isinstance(options.policy, Policy) else ()
    elsewhere = (*options.disallowed_tools, *options.deny)
    reaches = _explain(options, None) if denials else {}
    for rule in denials:
        reach = reaches.get(rule.tool)
        if reach is None or not rule.for_every_use or rule.tool in elsewhere:
            continue
        if reach.reaches != "always":
            log.warning(
                "The policy denies %s, but can only deny what the CLI asks about, and %s. "
                "disallowed_tools=[%r] denies every use",
                *(rule.tool, reach.why, rule.tool),
            )


def _why_unreachable(options: Options) -> Iterator[str]:
    mode, asks_nobody = mode_of(options), options.permission_prompts == "none"
    has_servers = options.tools or options.mcp_servers or options.mcp_config
    # The tools of MCP servers are not known here, so one stands for all.
    others = ["mcp__server__tool"] if has_servers else []
    tools = _explain(options, options.policy, *others)
    if options.on_permission is not None:
        uses = [tools[it] for it in tools if it not in (ASK_TOOL, PLAN_TOOL)]
        why = "; ".join(sorted({it.why for it in uses})) or "there are no tools"
        if asks_nobody:
            yield "A permission handler would never be called: permission_prompts is none"
        elif all(it.reaches == "never" for it in uses):
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
    for name, tool in (("on_question", ASK_TOOL), ("on_plan", PLAN_TOOL)):
        if getattr(options, name) is not None and tool not in tools:
            yield f"{name} would never be called: there is no {tool} among the tools"
        elif getattr(options, name) is not None and tools[tool].reaches == "never":
            yield f"{name} would never be called: {tools[tool].why}"
