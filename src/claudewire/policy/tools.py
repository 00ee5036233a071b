"""The CLI's own tools, as far as rules need to know them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True)
class ToolFacts:
    """The facts about a tool.

    `kind` is the subject of its rules: `command`, `read`, `edit`, `fetch`, `agent`, `skill`, or
    nothing; `content` is the field of its input that they match. `asks` says whether the CLI asks
    before it runs, in its default mode and its working directory.
    """

    kind: str = ""
    content: str = ""
    asks: bool = True
    searches: bool = False


_FREE = (
    "BashOutput CronCreate CronDelete CronList EndConversation EnterPlanMode ExitWorktree KillShell"
    " ListAgents ListMcpResourcesTool PushNotification ReadMcpResourceTool RemoteTrigger"
    " ReportFindings ScheduleWakeup SendMessage SendUserFile TaskCreate TaskGet TaskList TaskOutput"
    " TaskStop TaskUpdate TodoWrite ToolSearch WaitForMcpServers"
)
_ASKING = (
    "Artifact AskUserQuestion EnterWorktree ExitPlanMode PowerShell ShareOnboardingGuide WebSearch"
    " Workflow"
)

KNOWN_TOOLS: dict[str, ToolFacts] = {
    **dict.fromkeys(("Bash", "Monitor"), ToolFacts("command", "command")),
    "Read": ToolFacts("read", "file_path", asks=False),
    "NotebookRead": ToolFacts("read", "notebook_path", asks=False),
    "LSP": ToolFacts("read", "filePath", asks=False),
    **dict.fromkeys(("Grep", "Glob", "LS"), ToolFacts("read", "path", False, searches=True)),
    **dict.fromkeys(("Edit", "Write", "MultiEdit"), ToolFacts("edit", "file_path")),
    "NotebookEdit": ToolFacts("edit", "notebook_path"),
    "WebFetch": ToolFacts("fetch", "url"),
    **dict.fromkeys(("Agent", "Task"), ToolFacts("agent", "subagent_type", asks=False)),
    "Skill": ToolFacts("skill", "skill"),
    **{name: ToolFacts(asks=False) for name in _FREE.split()},
    **{name: ToolFacts() for name in _ASKING.split()},
}
"""Tools that the CLI has or had."""

NEEDS_PERSON = frozenset({"AskUserQuestion", "ExitPlanMode"})
"""Tools that ask a person, so that a person must answer."""

OLD_TOOLS = frozenset({"BashOutput", "KillShell", "LS", "MultiEdit", "NotebookRead", "Task"})
"""Tools that newer CLIs no longer have."""

ALIASES = {"Task": "Agent"}
"""Older names of tools."""


def facts(tool: str) -> ToolFacts:
    """Return the facts about a tool; defaults for an unknown one."""
    return KNOWN_TOOLS.get(tool, ToolFacts())


_SYNONYMS = {
    **dict.fromkeys(
        ("cmd", "command", "exec", "execute", "sh", "shell", "terminal", "zsh"), "Bash"
    ),
    **dict.fromkeys(("cat", "readfile", "view"), "Read"),
    **dict.fromkeys(("create", "writefile"), "Write"),
    **dict.fromkeys(("editfile", "replace"), "Edit"),
    **dict.fromkeys(("curl", "fetch", "http", "web"), "WebFetch"),
    "search": "Grep",
    "subagent": "Agent",
}


def misspelt(tool: str) -> str | None:
    """Return the known tool whose name an unknown one resembles; None if it resembles none."""
    if tool in KNOWN_TOOLS or "*" in tool or re.match("mcp__[^_]", tool):
        return None
    if re.match("(?i)mcp_", tool):
        return "mcp__SERVER__TOOL"
    if tool.lower() in _SYNONYMS:
        return _SYNONYMS[tool.lower()]
    names = {name.lower(): name for name in KNOWN_TOOLS}
    close = get_close_matches(tool.lower(), names, cutoff=0.75)
    return names[close[0]] if close else None
