"""The first minute with the `claudewire` command, on any machine.

Each step prints a command and runs it in a temporary folder: with an installed `claude`, otherwise
with the agent inside claudewire, which needs no account and no network. Without a terminal nothing
is asked and no key is needed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import claudewire

SIMULATED = "simulated"
POEM = "an old silent pond\na frog jumps into the pond\nsplash! silence again\n"
EDIT = "Replace an old with a new in haiku.txt"


class Step(NamedTuple):
    """A command, an explanation, and its possible exit statuses."""

    words: str
    arguments: Sequence[str]
    expected: frozenset[int] = frozenset({0})
    needs_person: bool = False


STEPS = (
    Step("One task. The answer is on stdout, everything else on stderr.", ["run", "Look around"]),
    Step(
        "Without a rule or a person, a tool is denied, and the exit status says so (3).",
        ["run", "--no-input", EDIT],
        frozenset({3}),
    ),
    Step(
        "At a terminal you are asked, and see the changes.\n"
        "Type y and Enter to allow them, or n and a reason.",
        ["run", EDIT],
        frozenset({0, 3}),
        needs_person=True,
    ),
    Step(
        "A rule can allow it, too.",
        ["run", "--allow", "Edit", "Replace frog with cat in haiku.txt"],
    ),
    Step("The same for a program: one JSON object.", ["run", "--json", "Read haiku.txt"]),
    Step("And now talk to it. /help helps, Ctrl-D leaves.", ["chat"], needs_person=True),
)


def main() -> int:
    """Run the steps; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="scripts/demo", description=__doc__)
    parser.add_argument("--cli", help="the CLI to drive instead: a path, or 'simulated'")
    cli = parser.parse_args().cli or shutil.which("claude") or SIMULATED
    which = "the agent inside claudewire" if cli == SIMULATED else cli
    attended = sys.stdin.isatty() and sys.stdout.isatty()
    say(f"claudewire {claudewire.__version__}, with {which}.")
    if not attended:
        say("There is no terminal here, so nothing is asked.")
    with tempfile.TemporaryDirectory(prefix="claudewire-demo-") as folder:
        Path(folder, "haiku.txt").write_text(POEM, encoding="utf-8")
        Path(folder, "notes.md").write_text("# Notes\n\nFrogs jump.\n", encoding="utf-8")
        steps = [step for step in STEPS if attended or not step.needs_person]
        for number, step in enumerate(steps, 1):
            if not show(step, f"{number} of {len(steps)}", cli, folder):
                return 1
    say("\nThat was it. `claudewire --help` lists the commands; docs/command.md has the rest.")
    return 0


def show(step: Step, number: str, cli: str, folder: str) -> bool:
    """Explain a step and run it; return whether its status is expected."""
    say(f"\n{bold(f'{number}.')} {step.words}")
    name, *rest = step.arguments
    given = ["claudewire", name, *(["--cli", cli] if cli == SIMULATED else []), *rest]
    say(bold(f"$ {shlex.join(given)}\n"))
    command = [sys.executable, "-m", "claudewire", name, "--cli", cli, *rest]
    source = None if sys.stdin.isatty() else subprocess.DEVNULL
    status = subprocess.run(command, cwd=folder, stdin=source, check=False).returncode
    if status:
        say(f"(exit status {status})")
    return status in step.expected or cli != SIMULATED


def say(text: str) -> None:
    print(text, flush=True)


def bold(text: str) -> str:
    plain = not sys.stdout.isatty() or os.environ.get("NO_COLOR")
    return text if plain else f"\033[1m{text}\033[0m"


if __name__ == "__main__":
    sys.exit(main())
