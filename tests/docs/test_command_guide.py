"""The page about the command: what it shows is what happens, and its tables are complete.

A line of a `console` fence that begins with `$ ` is run, without a terminal; what follows is what
it prints, stdout and stderr in their order. `…` stands for the rest of a line.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.protocol_examples import DOCS, names, table

from claudewire.cli import Exit
from claudewire.cli.chat_commands import COMMANDS

PAGE = "command.md"
SOON = 60


def examples() -> Iterator[tuple[str, str]]:
    """Yield each command of the page, and what it prints."""
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    for fence in re.findall(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", fence, flags=re.MULTILINE)[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


EXAMPLES = [*examples()]


@pytest.mark.parametrize(("command", "printed"), EXAMPLES, ids=[it[0][:50] for it in EXAMPLES])
def test_a_command_prints_what_the_page_says(tmp_path: Path, command: str, printed: str) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n\nFrogs jump.\n", encoding="utf-8")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SOON,
    )
    shown = done.stdout + (f"(exit status {done.returncode})\n" if done.returncode else "")
    pattern = re.escape(printed).replace("…", "[^\n]*")
    assert re.fullmatch(pattern, shown), shown


def test_the_table_of_statuses_is_complete() -> None:
    told = {
        int(status): names(word)[0] for status, word, _ in table(PAGE, "| status | outcome | |")
    }
    assert told == {int(it): it.name.lower() for it in Exit}


def test_the_table_of_commands_is_complete() -> None:
    told = [names(row[0])[0] for row in table(PAGE, "| command | |")]
    assert told == [*COMMANDS]


def test_every_option_of_run_is_explained() -> None:
    from claudewire.cli.run import command

    page = (DOCS / PAGE).read_text(encoding="utf-8")
    options = [it for parameter in command.params for it in parameter.opts if it[:2] == "--"]
    assert [it for it in options if it not in page] == []
