"""The programs of the migration page: for the official SDK, for claudewire, and their output."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.product.docs.pages import SOON, Fence, fences

PAGE = "migration.md"
RUNNER = Path(__file__).with_name("run_programs.py")

SCENARIO = """
default = "You said: {prompt}"

[[turn]]
match = "tidy up"
steps = [
    { use = "Bash", input = { command = "rm -rf build" }, result = "the build folder is gone" },
    { say = "Bash said: {result}" },
]

[[turn]]
match = "add it up"
steps = [
    { call = "calc", tool = "add", arguments = { a = 2.5, b = 3 } },
    { say = "The sum is {result}" },
]

[[turn]]
match = "build"
steps = [{ say = "Building." }, { sleep = 3600 }]
"""


class Pair(NamedTuple):
    """A program for the official SDK, the same for claudewire, and the output of both."""

    official: Fence
    ours: Fence
    output: str


def pairs() -> Iterator[Pair]:
    found = [*fences(PAGE)]
    for index, fence in enumerate(found):
        if fence.info.startswith("official/"):
            ours, output = found[index + 1 : index + 3]
            assert fence.info == f"official/{ours.info}"
            assert output.language == "text"
            yield Pair(fence, ours, output.code)


def write(programs: Sequence[Fence], folder: Path) -> list[str]:
    """Write programs and the scenario to a folder; return the paths of the programs."""
    (folder / "scenario.toml").write_text(SCENARIO, encoding="utf-8")
    paths = [folder / Path(program.info).name for program in programs]
    for path, program in zip(paths, programs, strict=True):
        path.write_text(program.code, encoding="utf-8")
    return [str(path) for path in paths]


def outputs(command: Sequence[Any], folder: Path, **env: str) -> list[str]:
    """Return the output of each program."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert done.returncode == 0, done.stderr
    printed: list[str] = json.loads(done.stdout)
    return printed
