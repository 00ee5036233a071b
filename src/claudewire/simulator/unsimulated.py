"""What the simulated CLI accepts as the real one does, but does not act on.

A test must not pass because an option had no effect. So the CLI names such options on stderr when
it starts, and with `--strict` it refuses to start. Flags that only change what the model is told
or what a terminal shows are not named: here they have no effect to simulate.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from .flags import Flags

__all__ = ["FLAGS", "WITHOUT_EFFECT", "note", "unsimulated"]

_NAMES = """
advisor agent agent-id agent-name agent-type autocompact await-claim background bare brief channels
chrome cloud dangerously-load-development-channels debug-file debug-to-stderr desktop
disable-slash-commands enable-auth-status enable-auto-mode environment fallback-model file from-pr
ide include-hook-events init init-only maintenance managed-settings managed-settings-in-initialize
messaging-socket-path plan-mode-required plugin-dir-no-mcp plugin-url prefill project-config-root rc
remote remote-control restricted rewind-files safe-mode sdk-url task-budget team-name teammate-mode
teleport tmux worktree
"""

FLAGS = frozenset(_NAMES.split())
"""Flags that make the real CLI do something else, without their dashes."""

_HARMLESS = """
agent-color append-subagent-system-prompt append-subagent-system-prompt-file append-system-prompt
append-system-prompt-file ax-screen-reader betas debug deep-link-origin
exclude-dynamic-system-prompt-sections max-thinking-tokens no-chrome parent-session-id
plan-mode-instructions remote-control-session-name-prefix system-prompt system-prompt-file
system-prompt-snapshot thinking thinking-display workload
"""

WITHOUT_EFFECT = frozenset(_HARMLESS.split())
"""Flags that only change what the model is told or what a terminal shows."""


def note(names: list[str]) -> str:
    """The line that says so."""
    return f"claudewire-sim: accepted, but not simulated: {', '.join(names)}"


def unsimulated(flags: Flags, cwd: str) -> Iterator[str]:
    """Name the flags and the files that have no effect.

    Args:
        flags: how the CLI was called.
        cwd: its working directory.
    """
    absent = (None, False, ())
    given = {it for it in FLAGS if getattr(flags, it.replace("-", "_"), None) not in absent}
    for name in sorted(given | FLAGS.intersection(flags.others)):
        yield f"--{name}"
    if flags.permission_prompts != "host":
        yield f"--permission-prompts={flags.permission_prompts}"
    if os.path.exists(os.path.join(cwd, ".mcp.json")):
        yield os.path.join(cwd, ".mcp.json")  # a person has to approve it
