"""Check that each requirement has a test, or a reason for its absence.

A test names what it shows: `@pytest.mark.shows("000-12", "001-3")`. Collecting the tests is enough
to know all such names. `--write` writes the table of requirements and tests.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from conformance import DIALECTS, FOLDER
from conformance.flows import flow_lines

JUDGES = {
    "real CLI": "a released `claude`, in a cage",
    "independent peer": "a program written from the document alone, in `tests/judges/seeds`",
    "outside client": "an official SDK, as released",
    "own double": "only something of ours: the simulated CLI, or the connection itself",
}
"""The parties that would notice a fault, the best first: see `judge` in tests/conftest.py."""

HEAD = """\
# Conformance

<!-- Written by scripts/conformance from conformance/requirements.toml and the tests. -->

The requirements of the four protocol documents, and the tests that show them (paths are below
`tests/`). A note says where real CLIs differ from a document, which still defines its dialect. A
test is worth as much as its judge, the other side of the conversation; the best one is named.

{summary}.

| judged by | requirements | which is |
|---|---|---|
{judges}
"""


class Requirement(NamedTuple):
    """One demand of a document, in one sentence of ours."""

    id: str
    section: str
    text: str
    note: str
    alone: str
    """The reason why only something of ours judges it."""
    unshown: str


class Tests(NamedTuple):
    """The tests that show each requirement, and the judge of each test."""

    shown: Mapping[str, Sequence[str]]
    judges: Mapping[str, str]

    def functions(self, id: str) -> list[str]:
        """Return the test functions, each once, whatever their parameters are."""
        return list(dict.fromkeys(test.partition("[")[0] for test in self.shown.get(id, ())))

    def judge(self, id: str) -> str:
        """Return the best judge of a requirement; empty if no test shows it."""
        found = {self.judges.get(test, "own double") for test in self.shown.get(id, ())}
        return next((name for name in JUDGES if name in found), "")


def read() -> list[Requirement]:
    """Read the requirements."""
    data = tomllib.loads((FOLDER / "requirements.toml").read_text(encoding="utf-8"))
    remarks = [data.pop(name) for name in ("notes", "alone", "unshown")]
    return [
        Requirement(id, section, text, *(them.pop(id, "") for them in remarks))
        for seed, sections in data.items()
        for section, texts in sections.items()
        for id, text in ((f"{seed}-{number}", text) for number, text in texts.items())
    ]


def faults(requirements: Sequence[Requirement], tests: Tests) -> Iterator[str]:
    """Yield contradictions between the requirements and the tests."""
    counts = Counter(it.id.partition("-")[0] for it in requirements)
    expected = {f"{seed}-{number + 1}" for seed in counts for number in range(counts[seed])}
    yield from (f"{id}: the numbers have a gap here" for id in expected - {*_ids(requirements)})
    for one in requirements:
        judge = tests.judge(one.id)
        if bool(judge) == bool(one.unshown):
            yield f"{one.id}: no test shows it" if not judge else f"{one.id}: remove `unshown`"
        if (judge == "own double") != bool(one.alone):
            yield f"{one.id}: judged by {judge or 'nobody'}; add or remove `alone`"
    for id in sorted(tests.shown.keys() - {*_ids(requirements)}):
        yield from (f"{test}: shows {id or 'nothing'}" for test in tests.functions(id))


def _ids(requirements: Sequence[Requirement]) -> list[str]:
    return [it.id for it in requirements]


def render(requirements: Sequence[Requirement], tests: Tests) -> str:
    """Return the page."""
    counts = Counter(tests.judge(it.id) for it in requirements)
    judges = "\n".join(f"| {name} | {counts[name]} | {it} |" for name, it in JUDGES.items())
    lines = [HEAD.format(summary=summary(requirements, tests), judges=judges), *flow_lines()]
    for seed, dialect in DIALECTS.items():
        lines += ["", f"## {seed}: the {dialect} dialect", ""]
        lines += ["| id | section | statement | judged by | shown by | note |", "|---" * 6 + "|"]
        for one in requirements:
            if one.id.startswith(seed):
                shown = "<br>".join(f"`{it[6:]}`" for it in tests.functions(one.id))
                notes = " ".join(filter(None, (one.note, one.alone, one.unshown)))
                cells = (*one[:3], tests.judge(one.id), shown, notes)
                lines.append(f"| {' | '.join(it.replace('|', chr(92) + '|') for it in cells)} |")
    return "\n".join(lines) + "\n"


def summary(requirements: Sequence[Requirement], tests: Tests) -> str:
    """Count the requirements that tests show."""
    shown = sum(bool(tests.judge(it.id)) for it in requirements)
    return f"{len(requirements)} requirements: {shown} shown, {len(requirements) - shown} not"


def collect(path: Path) -> None:
    """Let pytest write which test shows what, without running any."""
    command = [sys.executable, "-m", "pytest", "tests", "--collect-only", "-q"]
    command += ["-p", "no:cacheprovider", f"--conformance-map={path}"]
    run = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, text=True, check=False)
    if run.returncode:
        raise SystemExit(f"{run.stdout}{run.stderr}\nthe tests could not be collected")


def merged(paths: Sequence[Path]) -> Tests:
    """Read the maps of several runs as one."""
    shown: defaultdict[str, list[str]] = defaultdict(list)
    judges: dict[str, str] = {}
    for path in paths:
        found = json.loads(path.read_text(encoding="utf-8"))
        judges |= found["judges"]
        for id, names in found["shown"].items():
            shown[id] += names
    return Tests(shown, judges)


def main(arguments: Sequence[str] | None = None) -> int:
    """Check everything and return the exit status."""
    parser = argparse.ArgumentParser(prog="scripts/conformance", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table to this file")
    parser.add_argument(
        "--collected", type=Path, nargs="+", help="the files of pytest's --conformance-map"
    )
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        paths = options.collected or [Path(folder) / "map.json"]
        if options.collected is None:
            collect(paths[0])
        tests = merged(paths)
    requirements = read()
    if options.write:
        options.write.parent.mkdir(parents=True, exist_ok=True)
        options.write.write_text(render(requirements, tests), encoding="utf-8")
    wrong = list(faults(requirements, tests))
    print(*wrong, f"{summary(requirements, tests)}; {len(wrong)} faults", sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
