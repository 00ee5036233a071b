"""The guide to testing: its examples run, and its tables say what there is."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.docs.protocol_examples import Fence, fences, names, prose, table

from claudewire import simulator
from claudewire.simulator.faults import FAULTS, Fault
from claudewire.simulator.scenario import _VERBS
from claudewire.testing import PERSONAS, pytest_plugin
from claudewire.testing.cage import Cage

GUIDE = "testing.md"
NO_CAGE = Cage.unavailable()
SOON = 240
"""Seconds: only what hangs takes so long, however busy the machine."""

COMMANDS = [fence for fence in fences(GUIDE) if fence.language == "sh"]


def run(command: str, folder: Path) -> str:
    """Run a command as a reader would, with nothing of the suite around it."""
    program = next(word for word in command.split() if "=" not in word)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if shutil.which(program, path=search) is None:
        pytest.skip(f"There is no {program}")
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTEST", "CLAUDE", "NODE"))
    }
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=folder,
        env={**kept, "PATH": search, "HOME": str(folder / "home")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=SOON,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """All files of the guide, together."""
    for fence in fences(GUIDE):
        if "." in fence.info:
            (tmp_path / fence.info).write_text(fence.code, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("fence", COMMANDS, ids=lambda fence: fence.code.split()[-1])
def test_the_commands_of_the_guide_do_what_it_says(fence: Fence, folder: Path) -> None:
    for command in fence.code.splitlines():
        out = run(command, folder)
        assert " skipped" not in out.replace("# skipped 0", "")
    if "--wire-record" in fence.code:
        (made,) = (folder / "recordings").rglob("*.jsonl")
        assert str(made.relative_to(folder)) in prose(GUIDE)
    else:
        assert not (folder / "home").exists()  # nothing was kept where it would stay


STAND_IN = """\
#!{python} -I
import json, os, sys, urllib.request

prompt = {{"role": "user", "content": sys.argv[sys.argv.index("-p") + 1]}}
tools = [{{"name": "Read", "input_schema": {{"type": "object"}}}}]
body = {{"model": "m", "max_tokens": 32000, "tools": tools, "messages": [prompt]}}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode())
request.add_header("content-type", "application/json")
request.add_header("x-api-key", os.environ["ANTHROPIC_API_KEY"])
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
"""
"""In place of a real CLI: asks the API one thing."""


@pytest.mark.skipif(NO_CAGE is not None, reason=f"No cage: {NO_CAGE}")
def test_the_example_with_a_cage_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = folder / "bin"
    programs.mkdir()
    claude = programs / "claude"
    claude.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    claude.chmod(0o700)
    monkeypatch.setenv("PATH", os.pathsep.join([str(programs), os.environ["PATH"]]))
    assert "1 passed" in run("pytest -p no:cacheprovider test_offline.py", folder)


def test_there_are_five_complete_examples() -> None:
    assert [fence.code.split()[-1] for fence in COMMANDS] == [
        "test_review.py",
        "test_summary.py",
        "json",
        "ask.test.mjs",
        "test_live.py",
    ]


def shown(fault: type[Fault]) -> str:
    """The call that makes a fault, with what it has by default."""
    arguments = [
        f"*{name}" if parameter.kind is parameter.VAR_POSITIONAL else f"{name}={parameter.default}"
        for name, parameter in inspect.signature(fault).parameters.items()
        if name != "at"
    ]
    # Nobody would read the lines in a table.
    return f"{fault.__name__}({'lines' if 'lines=' in str(arguments) else ', '.join(arguments)})"


def test_the_table_of_faults_is_complete() -> None:
    assert table(GUIDE, "| name | class | what happens |") == [
        [f"`{name}`", f"`{shown(fault)}`", inspect.cleandoc(fault.__doc__ or "").split("\n")[0]]
        for name, fault in FAULTS.items()
    ]


def cell(value: Any) -> str:
    if isinstance(value, frozenset | tuple):
        return str(len(value))
    words: dict[Any, str] = {True: "yes", False: "no", None: "all"}
    return words.get(value, str(value))


def test_the_table_of_versions_is_complete() -> None:
    rows = table(GUIDE, f"| | {' | '.join(PERSONAS)} |")
    told = {names(row[0])[0]: row[1:] for row in rows}
    plays = list(PERSONAS.values())
    assert told == {
        name: [cell(getattr(each, name)) for each in plays]
        for name in plays[0]._fields
        if name != "version"
    }


def test_the_table_of_verbs_is_complete() -> None:
    rows = table(GUIDE, "| verb | what it does | other keys |")
    assert {names(verb)[0]: tuple(names(beside)) for verb, _, beside in rows} == {
        verb: (*(field for field in needed if field != verb), *optional)
        for verb, (_, needed, optional) in _VERBS.items()
    }


def test_the_table_of_fixtures_is_complete() -> None:
    told = [names(row[0])[0] for row in table(GUIDE, "| fixture | gives |")]
    hooks = {name for name in pytest_plugin.__all__ if name.startswith("pytest_")}
    assert set(told) == set(pytest_plugin.__all__) - hooks


def test_every_variable_of_the_executable_is_told() -> None:
    told = {names(row[0])[0] for row in table(GUIDE, "| variable | |")}
    folder = Path(inspect.getfile(simulator)).parent
    code = "".join((folder / f"{name}.py").read_text("utf-8") for name in ("process", "simulation"))
    assert told == set(re.findall(r'"(CLAUDEWIRE_SIM_\w+)"', code))
