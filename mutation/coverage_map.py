"""Which tests run which line: measured once, kept, and asked for each mutation."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import cache, cached_property
from pathlib import Path, PurePosixPath

from coverage import CoverageData

from mutation import KEPT, ROOT, SOURCE
from mutation.mutations import Mutation, package_of
from mutation.plugin import CONTEXT
from mutation.sandbox import Sandbox
from mutation.server import is_swappable

__all__ = [
    "IGNORED",
    "UNKNOWN",
    "CoverageMap",
    "assigned",
    "distance",
    "file_of",
    "lines_using",
    "make_map",
]

_LEFT_OUT = (
    "tests/real",
    "tests/peers",
    "tests/docs/test_types.py",  # only type checkers run there
    "tests/test_house.py",  # reads the sources, as they are written
    "tests/test_mutation.py",
)

IGNORED = [f"--ignore={it}" for it in _LEFT_OUT]
"""Arguments of pytest for what is never run."""

_READING = (
    "tests/docs/test_api_page.py",
    "tests/test_limits.py",
    "tests/test_surface.py",
    "tests/test_whole_types.py",
    "tests/wire/test_schema.py",
)
"""Which look at every module: at signatures, defaults, fields. They run few lines."""

_CHOSEN = "not unmeasured or hypothesis"
"""What covers the library: most of the rest runs the same lines, in programs or on trio."""

_DATA = KEPT / "coverage"
_DURATIONS = KEPT / "durations.json"
_SOURCES = KEPT / "source"

UNKNOWN = 0.5
"""Seconds that are assumed for a test that is newer than the map."""

_FEW = 20
"""Fewer tests that are known to run a function may not be all: see `_may_notice`."""

_MOST_TELLING = 4
"""How many files of tests come first because of the words in them."""

_BOUND = 3600.0
"""Seconds for the whole suite, measured: several times what it takes."""

_SETTINGS = f"""\
[run]
source = claudewire
data_file = %s
parallel = true
context = ${{{CONTEXT}-}}
patch = _exit, execv
"""


def make_map(jobs: int) -> str:
    """Run the suite in a sandbox and keep what each test ran; return the end of its output."""
    with Sandbox.open() as sandbox:
        data = sandbox.folder.parent / "coverage"
        settings = sandbox.folder.parent / "coveragerc"
        settings.write_text(_SETTINGS % data, encoding="utf-8")
        durations = sandbox.folder.parent / "durations.json"
        done = sandbox.run(
            *("python", "-m", "pytest", "-q", "-p", "mutation.plugin", "-p", "no:cacheprovider"),
            *("-n", str(jobs), "--dist", "loadgroup", f"--mutation-durations={durations}"),
            *("-m", _CHOSEN, *IGNORED),
            bound=_BOUND,
            HYPOTHESIS_PROFILE="fast",
            COVERAGE_PROCESS_START=str(settings),
        )
        combine = sandbox.run("coverage", "combine", "-q", f"--rcfile={settings}", bound=_BOUND)
        if combine.code != 0 or not durations.exists():
            raise SystemExit(f"The map could not be made:\n{done.output}\n{combine.output}")
        KEPT.mkdir(exist_ok=True)
        shutil.move(data, _DATA)
        shutil.move(durations, _DURATIONS)
        shutil.rmtree(_SOURCES, ignore_errors=True)
        shutil.copytree(sandbox.folder / SOURCE, _SOURCES)
    return "\n".join(done.output.splitlines()[-20:])


class CoverageMap:
    """The map that was made last."""

    def __init__(self) -> None:
        if not _DATA.exists():
            raise SystemExit("There is no map from lines to tests yet: run scripts/mutate --map")
        self.durations: dict[str, float] = json.loads(_DURATIONS.read_text(encoding="utf-8"))
        self._data = CoverageData(str(_DATA))
        self._data.read()
        self._files = {
            path.partition(f"/{SOURCE.as_posix()}/")[2]: path
            for path in self._data.measured_files()
        }
        self._lines = cache(self._lines_of)

    def _lines_of(self, file: str) -> dict[int, set[str]]:
        if file not in self._files:
            return {}
        contexts = self._data.contexts_by_lineno(self._files[file])
        now = _moved(_SOURCES / file, ROOT / SOURCE / file)
        return {now[line]: set(tests) for line, tests in contexts.items() if line in now}

    def adapt(self, collected: dict[str, bool]) -> None:
        """Forget tests that are gone, and add those that are newer than the map or never measured.

        On trio, only what is measured: elsewhere it does the same as on asyncio.
        """
        known = self.durations
        self.durations = {
            test: known.get(test, UNKNOWN)
            for test, is_measured in collected.items()
            if is_measured or test in known or "trio" not in test.partition("[")[2]
        }
        new = self.durations.keys() - known
        self._unmeasured = {test for test in new if not collected[test]}

    def _running(self, file: str, lines: Iterable[int] | None = None) -> set[str]:
        found = self._lines(file)
        wanted = found if lines is None else lines
        return self.durations.keys() & set().union(*(found.get(line, ()) for line in wanted))

    def at_import(self, mutation: Mutation) -> bool:
        """Say whether the changed line also runs before any test, when modules are imported."""
        lines = self._lines(mutation.identity.file)
        return any("" in lines.get(line, ()) for line in mutation.runs)

    def near(self, mutation: Mutation) -> list[str]:
        """Return the tests that run the changed line, the nearest first."""
        file = mutation.identity.file
        if not mutation.imported:
            return self._sorted(self._running(file, mutation.runs), mutation, file)
        # What runs at import is noted for no test, or for whichever imported it first.
        return self._sorted(self._may_notice(mutation), mutation, file)

    def wide(self, mutation: Mutation) -> list[str]:
        """Return all tests that may notice."""
        return self._sorted(self._may_notice(mutation), mutation)

    def _may_notice(self, mutation: Mutation) -> set[str]:
        file = mutation.identity.file
        found = set() if mutation.imported else self._running(file, mutation.body)
        near = 0 if len(found) >= _FEW else 1
        mirrored = {
            test
            for test, seconds in self.durations.items()
            if distance(test, file)
            <= (0 if test in self._unmeasured else 1 if seconds == UNKNOWN else near)
        }
        if not is_swappable(mutation):
            mirrored |= {test for test in self.durations if file_of(test) in _READING}
            mirrored |= self._using(mutation)
        # A process that is killed does not say what it has run.
        return (found or self._running(file)) | mirrored

    def _using(self, mutation: Mutation) -> set[str]:
        """Return the tests that run a function which uses what is changed, in whatever module.

        A table runs at import, and those who look into it run no line of its own module.
        """
        source = ROOT / SOURCE
        names = assigned((source / mutation.identity.file).read_text("utf-8"), mutation.line)
        found: set[str] = set()
        for path in source.rglob("*.py") if names else ():
            text = path.read_text(encoding="utf-8")
            if any(name in text for name in names):
                file = path.relative_to(source).as_posix()
                found |= self._running(file, lines_using(text, names))
        return found

    def _sorted(self, tests: set[str], mutation: Mutation, file: str | None = None) -> list[str]:
        """Sort by distance; then the fastest of each file, the next of each, and so on.

        Tests of one file often look at the same things. Files that mention what is changed come
        first: what runs at import, a row of a table for example, is run by every test.
        """
        telling = self._telling(mutation) if mutation.imported else set()
        ranks: Counter[str] = Counter()
        keys = {}
        for test in sorted(tests, key=self.durations.__getitem__):
            ranks[file_of(test)] += 1
            far = distance(test, file) if file else 0
            keys[test] = (-1 if file_of(test) in telling else far, ranks[file_of(test)])
        return sorted(keys, key=keys.__getitem__)

    def _telling(self, mutation: Mutation) -> set[str]:
        """Return the few files of tests that have the rarest of the words that are changed."""
        words = _words(mutation.identity.before)
        scores: Counter[str] = Counter()
        for word in words:
            files = [file for file, has in self._words.items() if word in has]
            scores.update(dict.fromkeys(files, len(self._words) // len(files) if files else 0))
        return {file for file, _ in scores.most_common(_MOST_TELLING)}

    @cached_property
    def _words(self) -> dict[str, set[str]]:
        files = {file_of(test) for test in self.durations}
        return {it: _words((ROOT / it).read_text(encoding="utf-8")) for it in files}


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_][\w-]{3,}", text))


def _moved(old: Path, new: Path) -> dict[int, int]:
    """Return where the lines of a file are now that were measured."""
    before, after = (it.read_text(encoding="utf-8").splitlines() for it in (old, new))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks()
    return {a + n: b + n for a, b, size in blocks for n in range(1, size + 1)}


def assigned(text: str, line: int) -> set[str]:
    """Return the names that a statement of a module at this line gives values to."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.lineno <= line <= _end(node):
            return {
                it.id
                for it in ast.walk(node)
                if isinstance(it, ast.Name) and isinstance(it.ctx, ast.Store)
            }
    return set()


def lines_using(text: str, names: set[str]) -> set[int]:
    """Return the lines of the functions that use one of these names."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            used = {it.id for it in ast.walk(node) if isinstance(it, ast.Name)}
            if not used.isdisjoint(names):
                found.update(range(node.lineno + 1, _end(node) + 1))
    return found


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def file_of(test: str) -> str:
    """Return the file of a test's id."""
    return test.partition("::")[0]


def distance(test: str, file: str) -> int:
    """Say how far a test is from a file: its own test file, the folder of its package, another.

    The tests of `people/inbox.py` are in `tests/people/test_inbox.py`.
    """
    path = PurePosixPath(file_of(test))
    stem = Path(file).stem.strip("_")
    if path.parts[1] not in (package_of(file), f"test_{stem}.py"):
        return 2
    return 0 if path.stem == f"test_{stem}" else 1
