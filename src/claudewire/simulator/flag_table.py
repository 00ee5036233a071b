"""The flags that the real CLI declares, hidden ones included, in the notation of its own parser.

`<x>` is a value that must follow, `[x]` one that may, `x...` one or more.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMMANDS", "OPTIONS", "VISIBLE", "Option", "suggestion"]

_SHOWN_BY_HELP = """
--add-dir <directories...>
--agent <agent>
--agents <json-or-file>
--allow-dangerously-skip-permissions
--allowedTools, --allowed-tools <tools...>
--append-system-prompt <prompt>
--autocompact <auto|tokens>
--ax-screen-reader
--bg, --background
--bare
--betas <betas...>
--brief
--chrome
--cloud [description|session_id|url]
-c, --continue
--dangerously-skip-permissions
-d, --debug [filter]
--debug-file <path>
--desktop
--disable-slash-commands
--disallowedTools, --disallowed-tools <tools...>
--effort <level>
--environment <environment_id>
--exclude-dynamic-system-prompt-sections
--fallback-model <model>
--file <specs...>
--fork-session
--forward-subagent-text
--from-pr [value]
-h, --help
--ide
--include-hook-events
--include-partial-messages
--input-format <format>
--json-schema <schema>
--max-budget-usd <amount>
--mcp-config <configs...>
--model <model>
-n, --name <name>
--no-chrome
--no-session-persistence
--output-format <format>
--permission-mode <mode>
--permission-prompts <target>
--plugin-dir <path>
--plugin-url <url>
-p, --print
--prompt-suggestions [value]
--remote-control [name]
--remote-control-session-name-prefix <prefix>
--replay-user-messages
--restricted
-r, --resume [value]
--safe-mode
--session-id <uuid>
--setting-sources <sources>
--settings <file-or-json>
--strict-mcp-config
--system-prompt <prompt>
--system-prompt-snapshot <on|off>
--teleport [session]
--tmux
--tools <tools...>
--verbose
-v, --version
-w, --worktree [name]
"""

_HIDDEN = """
--advisor <model>
--agent-color <color>
--agent-id <id>
--agent-name <name>
--agent-type <type>
--append-subagent-system-prompt <prompt>
--append-subagent-system-prompt-file <file>
--append-system-prompt-file <file>
--await-claim
--await-initialize
--channels <servers...>
--dangerously-load-development-channels <servers...>
-d2e, --debug-to-stderr
--deep-link-origin
--enable-auth-status
--enable-auto-mode
--init
--init-only
--maintenance
--managed-settings <json>
--managed-settings-in-initialize
--max-thinking-tokens <tokens>
--max-turns <turns>
--messaging-socket-path <path>
--parent-session-id <id>
--permission-prompt-tool <tool>
--plan-mode-instructions <instructions>
--plan-mode-required
--plugin-dir-no-mcp <path>
--prefill <text>
--project-config-root <dir>
--rc [name]
--remote [description|session_id|url]
--resume-drops-turn <message id>
--resume-session-at <message id>
--rewind-files <user-message-id>
--sdk-url <url>
--session-mirror
--system-prompt-file <file>
--task-budget <tokens>
--team-name <name>
--teammate-mode <mode>
--thinking <mode>
--thinking-display <display>
--workload <tag>
"""

_CHOICES = {
    "--input-format": ("text", "stream-json"),
    "--output-format": ("text", "json", "stream-json"),
    "--permission-mode": ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"),
    "--permission-prompts": ("host", "none"),
    "--prompt-suggestions": ("true", "false", "1", "0", "yes", "no", "on", "off"),
    "--system-prompt-snapshot": ("on", "off"),
    "--teammate-mode": ("auto", "tmux", "iterm2", "in-process"),
    "--thinking": ("enabled", "adaptive", "disabled"),
    "--thinking-display": ("summarized", "omitted", "highlights"),
}

_REPEATABLE = {"--plugin-dir", "--plugin-dir-no-mcp", "--plugin-url"}

_COMMANDS = """
agents attach auth auto-mode doctor gateway import install kill logs mcp plugin plugins purge
respawn rm setup-token stop ultrareview update upgrade
"""

COMMANDS = frozenset(_COMMANDS.split())
"""What the real CLI takes for a command, not a prompt, when it comes first."""


class Option(NamedTuple):
    """One flag.

    Attributes:
        declared: its spellings and its value, as error messages quote them.
        name: its long spelling.
        argument: its value, with the brackets; empty if it takes none.
        choices: the values it takes; empty if any will do.
        repeatable: whether each use of it adds to the ones before.
    """

    declared: str
    name: str
    argument: str
    choices: tuple[str, ...]
    repeatable: bool

    @property
    def variadic(self) -> bool:
        """Whether words that follow the value are more values."""
        return self.argument.endswith("...>")


VISIBLE: list[Option] = []
"""The flags that `--help` shows and that a misspelt flag is compared with."""

OPTIONS: dict[str, Option] = {}
"""Every flag under each of its spellings, `--help` excepted: it is looked at last."""


def _declare(table: str) -> list[Option]:
    options = []
    for line in table.strip().splitlines():
        name, _, argument = line.rpartition(", ")[2].partition(" ")
        repeatable = argument.endswith("...>") or name in _REPEATABLE
        option = Option(line, name, argument, _CHOICES.get(name, ()), repeatable)
        options.append(option)
        if name != "--help":
            spellings = line.removesuffix(argument).strip().split(", ")
            OPTIONS.update(dict.fromkeys(spellings, option))
    return options


VISIBLE.extend(_declare(_SHOWN_BY_HELP))
_declare(_HIDDEN)

# How far a misspelt flag may be from the one that was meant, and how alike they must be.
_MAX_EDITS = 3
_MIN_SIMILARITY = 0.4


def suggestion(word: str) -> str:
    """Give the line that asks whether another flag was meant; empty if none is like it."""
    if not word.startswith("--"):
        return ""
    edits = {}
    for option in VISIBLE:
        distance, longest = _edits(word[2:], option.name[2:]), max(len(word), len(option.name)) - 2
        if distance <= _MAX_EDITS and (longest - distance) / longest > _MIN_SIMILARITY:
            edits[option.name] = distance
    fewest = min(edits.values(), default=0)
    similar = sorted(name for name, distance in edits.items() if distance == fewest)
    if not similar:
        return ""
    return f"(Did you mean {'one of ' if similar[1:] else ''}{', '.join(similar)}?)\n"


def _edits(one: str, other: str) -> int:
    """Count insertions, deletions, replacements and swaps of neighbours."""
    if abs(len(one) - len(other)) > _MAX_EDITS:
        return _MAX_EDITS + 1
    before: list[int] = []
    above = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        row = [i]
        for j, b in enumerate(other, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, above = above, row
    return above[-1]
