"""Every example of the guides runs, and prints the output on its page."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from scripts.docs import ROOT, documents, problems_of
from tests.product.docs import snippets
from tests.product.docs.pages import (
    DOCS,
    SOON,
    Fence,
    Shown,
    fences,
    names,
    pages,
    printed,
    prose,
    run,
    shown,
    text_of,
    write_files,
)

from claudewire.testing import Cage

NO_CAGE = Cage.unavailable()

ELSEWHERE = {"migration.md", "protocol.md", "protocol-reference.md", "testing.md"}
"""Pages with their own tests."""

SHOWN = [it for page in pages() if page not in ELSEWHERE for it in shown(page)]
TESTS = [it.code for it in SHOWN if it.code.info.startswith("test_")]
PROGRAMS = [it for it in SHOWN if it.code.info and it.code not in TESTS]
SNIPPETS = [it for it in SHOWN if not it.code.info]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder inside a home directory."""
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.mark.parametrize("path", documents(), ids=lambda it: it.relative_to(ROOT).as_posix())
def test_page_has_valid_links_and_snippets(path: Path) -> None:
    assert problems_of(path) == []


def test_readme_links_every_page() -> None:
    linked = {*re.findall(r"\(docs/([\w-]+\.md)\)", text_of("../README.md"))}
    assert linked == {page.name for page in DOCS.glob("*.md")}


@pytest.mark.parametrize("it", PROGRAMS, ids=[it.code.name for it in PROGRAMS])
def test_program_prints_the_output_on_its_page(it: Shown, folder: Path) -> None:
    write_files(it.code.page, folder)
    command = [sys.executable, "-W", "error", it.code.info]
    assert printed(command, folder, input="y\n") == it.output


@pytest.mark.parametrize("code", TESTS, ids=[it.name for it in TESTS])
def test_test_of_a_page_passes(code: Fence, folder: Path) -> None:
    write_files(code.page, folder)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", code.info]
    out = printed(command, folder)
    assert " passed" in out
    assert " skipped" not in out


@cache
def output_of_snippets(page: str, place: Path) -> dict[int, str]:
    """Run the snippets of a page once; return the output of each by its line."""
    folder = place / "work"
    folder.mkdir(exist_ok=True)
    write_files(page, folder)
    codes = [it.code for it in SNIPPETS if it.code.page == page]
    command = [sys.executable, "-W", "error", snippets.__file__]
    outputs = printed(command, folder, input=json.dumps([fence.code for fence in codes]))
    return dict(zip([fence.line for fence in codes], json.loads(outputs), strict=True))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {page: tmp_path_factory.mktemp("page") for page in pages()}


@pytest.mark.parametrize(
    "it",
    # One process of the test run has all snippets of a page.
    [pytest.param(it, marks=pytest.mark.xdist_group(it.code.page)) for it in SNIPPETS],
    ids=[it.code.name for it in SNIPPETS],
)
def test_snippet_prints_the_output_on_its_page(it: Shown, places: dict[str, Path]) -> None:
    assert output_of_snippets(it.code.page, places[it.code.page])[it.code.line] == it.output


# --- commands ------------------------------------------------------------------------------------

CONSOLE = [
    part.partition("\n")[::2]
    for fence in fences("command.md")
    if fence.language == "console"
    for part in re.split(r"^\$ ", fence.code, flags=re.MULTILINE)[1:]
]


@pytest.mark.parametrize(("command", "output"), CONSOLE, ids=[it[0][:50] for it in CONSOLE])
def test_command_prints_the_output_on_its_page(folder: Path, command: str, output: str) -> None:
    (folder / "notes.md").write_text("# Notes\n\nFrogs jump.\n", encoding="utf-8")
    done = run(["bash", "-c", f"({command}) 2>&1"], folder)
    out = done.stdout + (f"(exit status {done.returncode})\n" if done.returncode else "")
    pattern = re.escape(output).replace("…", "[^\n]*")
    assert re.fullmatch(pattern, out), out


def shell(command: str, folder: Path) -> str:
    program = next(word for word in command.split() if "=" not in word)
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if "/" not in program and shutil.which(program, path=search) is None:
        pytest.skip(f"There is no {program}")
    done = run(["sh", "-c", f"{command} 2>&1"], folder)
    assert done.returncode == 0, done.stdout
    return done.stdout


GUIDE = "testing.md"
COMMANDS = [fence for fence in fences(GUIDE) if fence.language == "sh"]


@pytest.mark.parametrize("fence", COMMANDS, ids=lambda fence: str(fence.code.split()[-1]))
def test_command_of_the_testing_guide_passes(fence: Fence, folder: Path) -> None:
    write_files(GUIDE, folder)
    for command in fence.code.splitlines():
        assert " skipped" not in shell(command, folder).replace("# skipped 0", "")
    if "--wire-record" in fence.code:
        (made,) = (folder / "recordings").rglob("*.jsonl")
        assert str(made.relative_to(folder)) in names(prose(GUIDE))


STAND_IN = """\
#!{python} -I
import json, os, sys, urllib.request

prompt = {{"role": "user", "content": sys.argv[sys.argv.index("-p") + 1]}}
tools = [{{"name": "Read", "input_schema": {{"type": "object"}}}}]
body = {{"model": "m", "max_tokens": 32000, "tools": tools, "messages": [prompt]}}
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, json.dumps(body).encode())
request.add_header("content-type", "application/json")
print(json.load(urllib.request.urlopen(request))["content"][0]["text"])
"""
"""In place of a real CLI: asks the API once."""


@pytest.mark.skipif(NO_CAGE is not None, reason=f"No cage: {NO_CAGE}")
def test_example_with_a_cage_passes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_files(GUIDE, folder)
    claude = folder / "claude"
    claude.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    claude.chmod(0o700)
    monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
    assert "1 passed" in shell("pytest -p no:cacheprovider test_offline.py", folder)


@pytest.mark.parametrize("tool", ["node", "go", "bash"])
def test_test_of_a_tool_passes_in_any_language(folder: Path, tool: str) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"There is no {tool}")
    page = "test-your-tool.md"
    commands = [fence.code.strip() for fence in fences(page) if fence.language == "sh"]
    write_files(page, folder)
    assert commands[0] == "pip install claudewire"
    shell(commands[1], folder)
    assert shell(commands[2], folder) == "app.py has one line: x = 1\n"
    for command in commands:
        if command.startswith(tool):
            assert "ok" in shell(command, folder)
    killed = subprocess.run(
        ["sh", "-c", commands[-1]],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        encoding="utf-8",
        timeout=SOON,
    )
    assert "it was killed" in killed.stdout
