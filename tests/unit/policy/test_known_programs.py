"""The guard of the table of known programs: each name in it, used in ways that may be evasions."""

from __future__ import annotations

import pytest

from claudewire.policy import Policy
from claudewire.policy.shell.known import KNOWN

OPEN = Policy(
    ["Bash"],
    deny=["Bash(rm:*)", "Bash(git push:*)", "Read(./secret.txt)", "Edit(./kept/**)"],
    cwd="/work",
    home="/home/me",
    realpath=str,
)

PROJECT = "project format task targets build"
"""Kinds of programs that run the project's own code, with arguments that this code takes."""
WAYS = {
    "NAME rm x": "find awk build",
    "NAME 'r\"\"m x'": f"find awk shell source script then1 {PROJECT}",
    "NAME sh -c 'r\"\"m x'": "awk shell",
    "NAME -c 'r\"\"m x'": "project format",
    "NAME -e 'r\"\"m x'": "project format then1 shell",
    "NAME --exec='r\"\"m x' y": "project format",
    "NAME --command 'r\"\"m x'": "project format",
    "NAME x -- --exec='r\"\"m x'": f"awk source script {PROJECT}",
    "NAME . -exec sh -c 'r\"\"m x' {} +": "awk",
    "NAME --eval $X": "",
    "base64 -d x | NAME -": "find awk env then1",
    "cp x s; NAME ./s; ./s": "",
}
"""Ways to run another program, and the kinds of programs that are right to be allowed in them."""
TOOLS = """
    text none read inout look pattern search jq mark write copy revs paths changes args config patch
    clone url tar unzip test printf export sub
"""
"""Kinds of programs that run nothing. They may print or store the words of a command."""

READERS = "read look pattern search jq sed awk url revs paths tar find build then1"
FILES = {
    # One that is no file: code, a pattern, a URL, an image, a setting.
    "NAME secret.txt": "awk pattern find tar url then1 jq config",
    "NAME a secret.txt": "find tar url",
    "NAME -f secret.txt": "nl cut uniq curl pylint",
    "NAME -fsecret.txt": "nl cut uniq curl pylint",
    "NAME --file=secret.txt": "",
    "NAME --files-from=secret.txt": "",
    "NAME < secret.txt": "",
    "cd kept && NAME a > b": "",
    # Another file.
    "NAME -d @secret.txt": "read inout mark write copy unzip paths changes then1 pylint",
    "NAME HEAD:secret.txt": f"{READERS} inout mark write copy clone script shell source config",
    # `-o` is a format, or what it prints; then the file is read.
    "NAME -o kept/a": "column od hexdump grep egrep fgrep",
    "NAME -okept/a": "column",
    "NAME a kept/a": f"{READERS} format",
    "NAME -i s/a/b/ kept/a": "read look pattern search then url format revs then1",
    # It does not look into folders, or they are those of the project.
    "NAME -r .": "sort tail bat batcat xxd jq touch targets project format paths task then",
}
"""Ways to open a file, and the programs or kinds that are right to be allowed in them."""


def allowed(way: str) -> list[str]:
    return [
        name for name in KNOWN if OPEN.decide("Bash", {"command": way.replace("NAME", name)}).allows
    ]


@pytest.mark.parametrize("way", WAYS)
def test_known_program_runs_no_denied_one(way: str) -> None:
    expected = {*WAYS[way].split(), *TOOLS.split()}
    assert [name for name in allowed(way) if KNOWN[name].kind not in expected] == []


@pytest.mark.parametrize("way", FILES)
def test_known_program_opens_no_denied_file(way: str) -> None:
    expected = {*FILES[way].split(), "text", "none", "sub", "args", "test", "printf"}
    found = [name for name in allowed(way) if not {name, KNOWN[name].kind} & expected]
    assert found == []


def test_no_program_runs_what_the_line_wrote() -> None:
    for name, row in KNOWN.items():
        if row.kind in ("script", "targets", "project", "task", "format", "build"):
            for write in ("echo x > f", "cp a f", "curl -o f u", "sed -i s/a/b/ f", "tar xf a"):
                assert not OPEN.decide("Bash", {"command": f"{write}; {name} x"}).allows, name


@pytest.mark.parametrize("name", ["psql", "git filter-branch", "docker commit"])
def test_question_names_the_rule_that_would_allow(name: str) -> None:
    decision = OPEN.decide("Bash", {"command": f"{name} x"})
    assert decision.behavior == "ask"
    assert f"allow it with Bash({name}:*)" in decision.reason
    own = Policy(["Bash", f"Bash({name}:*)"], deny=["Bash(rm:*)"])
    assert own.decide("Bash", {"command": f"{name} x"}).allows
