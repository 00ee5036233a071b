"""Hold the tests to the requirements: each one is shown by a test, or says what it waits for.

A test names what it shows: `@pytest.mark.shows("000-12", "001-3")`. Collecting the tests is enough
to know all such names; whether the tests pass is for the test run to say. The state of things is
written to docs/conformance.md; with `--check` that file is compared and not written.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from conformance import DIALECTS, FOLDER
from conformance.flows import flow_lines

__all__ = [
    "CAPABILITIES",
    "JUDGES",
    "Collected",
    "Requirement",
    "faults",
    "form_faults",
    "judge_faults",
    "main",
    "read",
    "render",
]

CAPABILITIES = {
    "sessions": "starting, owning and ending the CLI's process",
    "simulator": "the CLI's role, as a program",
    "permissions": "deciding, with people in the loop",
    "tools": "in-process MCP servers and hooks",
}
"""What a requirement can wait for."""

JUDGES = {
    "real CLI": "a released `claude`, in a cage",
    "independent peer": "a program that was written from the document alone, in `tests/seeds`",
    "outside client": "an official SDK, as released",
    "own double": "only something of ours: the simulated CLI, or the connection itself",
}
"""Who finds out whether something is wrong, the best first: see `judge` in tests/conftest.py."""

REQUIRED = ("id", "seed", "section", "text")
OPTIONAL = ("waits", "note", "alone")

UNMARKED = ""
"""The id under which the map lists the tests that should show a requirement and show none."""

Shown = Mapping[str, Sequence[str]]
"""The tests that show each requirement, by its id."""


@dataclass(frozen=True)
class Requirement:
    """One thing that a document demands, in one sentence of ours."""

    id: str
    seed: str
    section: str
    text: str
    waits: str | None = None
    note: str | None = None
    alone: str | None = None
    """Why only something of ours judges it."""


@dataclass(frozen=True)
class Collected:
    """What the tests say of themselves: what each shows, and who judges it."""

    shown: Shown
    judges: Mapping[str, str] = field(default_factory=dict)

    def judge(self, id: str) -> str:
        """The best judge of a requirement; empty if no test shows it."""
        found = {self.judges.get(test, "own double") for test in self.shown.get(id, ())}
        return next((name for name in JUDGES if name in found), "")


class CollectionError(Exception):
    """The tests could not be collected; the text is what pytest said."""


def _entry_faults(name: str, entry: Mapping[str, Any]) -> Iterator[str]:
    for key in REQUIRED:
        if key not in entry:
            yield f"{name}: has no `{key}`"
    for key, value in entry.items():
        if key not in (*REQUIRED, *OPTIONAL):
            yield f"{name}: nobody knows the key `{key}`"
        elif not isinstance(value, str) or not value.strip():
            yield f"{name}: `{key}` must be a string that is not empty"
    waits = entry.get("waits")
    if isinstance(waits, str) and waits.strip() and waits not in CAPABILITIES:
        yield f"{name}: waits for `{waits}`, which is none of {', '.join(CAPABILITIES)}"


def read(manifest: str) -> tuple[list[Requirement], list[str]]:
    """Return the requirements of a manifest, and what is wrong with entries that are left out."""
    requirements: list[Requirement] = []
    wrong: list[str] = []
    for number, entry in enumerate(tomllib.loads(manifest).get("requirement", []), 1):
        found = list(_entry_faults(str(entry.get("id") or f"entry {number}"), entry))
        wrong += found
        if not found:
            requirements.append(Requirement(**entry))
    return requirements, wrong


def form_faults(requirements: Sequence[Requirement]) -> Iterator[str]:
    """Yield what is wrong with the ids: each is there once, and they count up without a gap."""
    counts = Counter(requirement.id for requirement in requirements)
    yield from (f"{id}: is there {count} times" for id, count in counts.items() if count > 1)
    seeds = list(dict.fromkeys(requirement.seed for requirement in requirements))
    for seed in seeds:
        if seed not in DIALECTS:
            yield f"{seed}: is none of the documents {', '.join(DIALECTS)}"
    if seeds != sorted(seeds):
        yield f"the documents are not in order: {', '.join(seeds)}"
    for seed in seeds:
        ids = dict.fromkeys(one.id for one in requirements if one.seed == seed)
        for number, id in enumerate(ids, 1):
            if id != f"{seed}-{number}":
                yield f"{id}: is out of order, {seed}-{number} was expected in its place"
                break  # the rest is shifted with it


def faults(requirements: Iterable[Requirement], shown: Shown) -> Iterator[str]:
    """Yield what is wrong between the requirements and the tests."""
    known = {requirement.id: requirement for requirement in requirements}
    for id, requirement in known.items():
        tests = functions(shown.get(id, ()))
        if requirement.waits is None and not tests:
            yield f"{id}: no test shows it, and it does not wait for anything"
        elif requirement.waits is not None and tests:
            yield f"{id}: waits for {requirement.waits}, but {tests[0]} shows it: remove `waits`"
    for id in sorted(shown.keys() - known.keys()):
        what = "does not say what it shows, or does not run"
        if id != UNMARKED:
            what = f"shows {id}, which does not exist"
        yield from (f"{test}: {what}" for test in functions(shown[id]))


def judge_faults(requirements: Iterable[Requirement], tests: Collected) -> Iterator[str]:
    """Yield which requirements only something of ours judges without a reason, or not any more."""
    for one in requirements:
        judge = tests.judge(one.id)
        if judge == "own double" and one.alone is None:
            yield f"{one.id}: only our own double judges it: say why in `alone`"
        elif one.alone is not None and judge not in ("", "own double"):
            yield f"{one.id}: is judged by others than our own double: remove `alone`"


def functions(tests: Iterable[str]) -> list[str]:
    """Return the test functions, each once, whatever they are called with."""
    return list(dict.fromkeys(test.partition("[")[0] for test in tests))


def summary(requirements: Sequence[Requirement], shown: Shown) -> str:
    """Say in one line how many requirements are shown and how many wait, and for what."""
    met = sum(one.waits is None and bool(shown.get(one.id)) for one in requirements)
    waiting = Counter(one.waits for one in requirements if one.waits is not None)
    line = f"{len(requirements)} requirements: {met} shown, {waiting.total()} wait"
    if waiting:
        per = (f"{name} {waiting[name]}" for name in CAPABILITIES if waiting[name])
        line += f" ({', '.join(per)})"
    missing = len(requirements) - met - waiting.total()
    return f"{line}, {missing} without a test" if missing else line


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _state(requirement: Requirement, shown: Shown) -> str:
    tests = functions(shown.get(requirement.id, ()))
    if tests:
        return "<br>".join(f"`{test.removeprefix('tests/')}`" for test in tests)
    return f"waits for {requirement.waits}" if requirement.waits else "no test yet"


def _table(requirements: Iterable[Requirement], tests: Collected) -> Iterator[str]:
    yield "| id | section | statement | judged by | shown by, or waits for | note |"
    yield "|---|---|---|---|---|---|"
    for one in requirements:
        state = _state(one, tests.shown)
        alone = f"Judged only by our own double: {one.alone}" if one.alone else None
        notes = " ".join(filter(None, (one.note, alone)))
        cells = (one.id, one.section, one.text, tests.judge(one.id), state, notes)
        yield f"| {' | '.join(map(_cell, cells))} |"


def _judged(requirements: Iterable[Requirement], tests: Collected) -> Iterator[str]:
    counts = Counter(tests.judge(one.id) for one in requirements)
    yield "| judged by | requirements | which is |"
    yield "|---|---|---|"
    for name, meaning in JUDGES.items():
        yield f"| {name} | {counts[name]} | {meaning} |"


def render(requirements: Sequence[Requirement], tests: Collected, flows: Iterable[str] = ()) -> str:
    """Return the text of docs/conformance.md; `flows` are the lines about the flows."""
    shown = tests.shown
    lines = [
        "# Conformance",
        "",
        "<!-- Written by scripts/conformance from conformance/requirements.toml and the tests. -->",
        "",
        "What the four protocol documents demand, one statement per line, and the tests that show",
        "each to hold (paths are below `tests/`). A statement that no test can show yet waits for",
        "the capability that will satisfy it. A note says where real CLIs differ from a document,",
        "which still defines its own dialect.",
        "",
        f"{summary(requirements, shown)}.",
        "",
        "| capability | what it is |",
        "|---|---|",
        *(f"| {name} | {meaning} |" for name, meaning in CAPABILITIES.items()),
        "",
        "A test is worth as much as its judge, the other side of the conversation. For each",
        "requirement the best one is named:",
        "",
        *_judged(requirements, tests),
        *flows,
    ]
    for seed in dict.fromkeys(one.seed for one in requirements):
        own = [one for one in requirements if one.seed == seed]
        title = f"## {seed}: the {DIALECTS.get(seed, 'unknown')} dialect"
        lines += ["", title, "", f"{summary(own, shown)}.", "", *_table(own, tests)]
    return "\n".join(lines) + "\n"


def collect(root: Path) -> Collected:
    """Ask pytest which test shows what, without running any.

    Raises:
        CollectionError: a test file could not be imported, or the like.
    """
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "map.json"
        command = [sys.executable, "-m", "pytest", "tests", "--collect-only", "-q"]
        command += ["-p", "no:cacheprovider", f"--rootdir={root}", f"--conformance-map={answer}"]
        run = subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", check=False)
        # 5: there are no tests, which is for the requirements to complain about.
        if run.returncode not in (0, 5):
            raise CollectionError(run.stdout + run.stderr)
        return collected(answer)


def collected(path: Path) -> Collected:
    """Read what pytest has written."""
    return Collected(**json.loads(path.read_text(encoding="utf-8")))


def _document_faults(path: Path, text: str, *, check: bool) -> Iterator[str]:
    old = path.read_text(encoding="utf-8") if path.exists() else None
    if check and old != text:
        yield f"docs/{path.name} is not up to date: run scripts/conformance and commit it"
    elif not check and old != text:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Check everything, say it in plain words, and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("--check", action="store_true", help="do not write the document")
    parser.add_argument(
        "--collected", type=Path, help="what pytest wrote with --conformance-map, to save time"
    )
    parser.add_argument("--root", type=Path, default=FOLDER.parent, help="root of the project")
    options = parser.parse_args(arguments)
    root: Path = options.root

    manifest = (root / "conformance" / "requirements.toml").read_text(encoding="utf-8")
    try:
        requirements, wrong = read(manifest)
        tests = collected(options.collected) if options.collected else collect(root)
    except tomllib.TOMLDecodeError as error:
        print(f"conformance/requirements.toml is not TOML: {error}")
        return 1
    except CollectionError as error:
        print(f"{error}\nthe tests could not be collected")
        return 1
    wrong += [*form_faults(requirements), *faults(requirements, tests.shown)]
    wrong += judge_faults(requirements, tests)
    document = root / "docs" / "conformance.md"
    text = render(requirements, tests, flow_lines() if root == FOLDER.parent else ())
    wrong += _document_faults(document, text, check=options.check)
    for fault in wrong:
        print(fault)
    print(summary(requirements, tests.shown) + (f"; {len(wrong)} faults" if wrong else ""))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
