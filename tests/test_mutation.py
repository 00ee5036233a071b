"""Mutations are what their operator says, and only the copy of the library is changed."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import pytest
from mutation import ROOT, SOURCE, judged, run
from mutation.coverage_map import UNKNOWN, CoverageMap, assigned, distance, lines_using
from mutation.mutations import (
    Identity,
    Mutation,
    at_place,
    is_program,
    mutations,
    packages,
    sample,
    shares,
)  # fmt: skip
from mutation.run import Kept, Result, Status, Trial, report
from mutation.sandbox import Finished, Sandbox
from mutation.server import NO_TESTS, NOT_SWAPPED, Server, is_swappable, swap


def mutations_of(tmp_path: Path, code: str) -> list[Mutation]:
    path = tmp_path / "module.py"
    path.write_text(dedent(code), encoding="utf-8")
    return mutations(path, tmp_path)


def after(tmp_path: Path, code: str, operator: str) -> list[str]:
    found = mutations_of(tmp_path, code)
    return [it.identity.after for it in found if it.identity.operator == operator]


@pytest.mark.parametrize(
    ("operator", "code", "changed"),
    [
        ("comparison", "a < b", ["(a <= b)", "(a >= b)"]),
        ("comparison", "a is b in c", ["(a is not b in c)", "(a is b not in c)"]),
        ("boolean", "a and b", ["(a or b)"]),
        ("operand", "a or b or c", ["(b or c)", "(a or c)", "(a or b)"]),
        ("negation", "not a", ["(a)"]),
        ("arithmetic", "a + b", ["(a - b)"]),
        ("arithmetic", "a += b", ["a -= b"]),
        ("arithmetic", "int | None", []),
        ("condition", "a if b else c", ["a if (True) else c", "a if (False) else c"]),
        ("condition", "while True: a()", []),
        ("filtering", "[a for a in b if c]", ["[a for a in b if (True)]"]),
        ("constant", "a = 1", ["a = (2)"]),
        ("constant", "a = 1.5", ["a = (15.0)"]),
        ("constant", "a = True", ["a = (False)"]),
        ("constant", "a = 'b'", ["a = ('XXb')"]),
        ("constant", "a = b'c'", ["a = (b'XXc')"]),
        ("constant", "a = 'Words for a person.'", []),
        ("constant", "raise Error('b', 1)", []),
        ("constant", "log.warning('%s', 1)", []),
        ("constant", "if TYPE_CHECKING: a = 1", []),
        ("constant", "__all__ = ['a']", []),
        ("constant", "A = Literal['a']", []),
        ("constant", "a: Annotated[int, 1]", []),
        ("constant", "a = 1  # pragma: no cover", []),
        ("shield", "CancelScope(shield=True)", ["CancelScope(shield=(False))"]),
        ("keyword", "f(a, b=c)", ["(f(a))"]),
        ("call", "a = f(b)", ["a = (b)"]),
        ("call", "f(b)", []),
        ("default", "def f(a: int = 1): pass", ["def f(a: int = (2)): pass"]),
        ("statement", "f(\n    a\n)", ["pass"]),
        ("statement", "a.b = c", ["pass"]),
        ("statement", "a = b", []),
        ("statement", "raise a", ["pass"]),
        ("loop", "for a in b: c()", ["for a in (()): c()"]),
    ],
)
def test_an_operator_makes_these_changes(
    tmp_path: Path, operator: str, code: str, changed: list[str]
) -> None:
    assert after(tmp_path, code, operator) == changed


@pytest.mark.parametrize(
    ("operator", "body", "changed"),
    [
        ("awaiting", "await f()", ["pass"]),
        ("awaiting", "a = await f()", ["a = (None)"]),
        ("returning", "return a", ["return None"]),
        ("returning", "return None", []),
        ("constant", "'A docstring'", []),
    ],
)
def test_an_operator_makes_these_changes_in_a_function(
    tmp_path: Path, operator: str, body: str, changed: list[str]
) -> None:
    assert after(tmp_path, f"async def f():\n    {body}", operator) == changed


@pytest.mark.parametrize(
    ("operator", "caught", "changed"),
    [
        ("narrowed", "A", ["except (()):"]),
        ("narrowed", "(A, B)", ["except ((B,)):", "except ((A,)):"]),
        ("widened", "A", ["except (Exception):"]),
        ("widened", "Exception", ["except (BaseException):"]),
        ("widened", "BaseException", []),
    ],
)
def test_an_operator_changes_what_is_caught(
    tmp_path: Path, operator: str, caught: str, changed: list[str]
) -> None:
    assert after(tmp_path, f"try:\n    f()\nexcept {caught}:\n    g()", operator) == changed


def test_a_mutation_knows_its_function_and_the_lines_of_its_statement(tmp_path: Path) -> None:
    code = """
    class Car:
        def go(self):
            return drive(
                "€", 5
            )
    """
    (five,) = (it for it in mutations_of(tmp_path, code) if "(6)" in it.identity.after)
    assert five.identity == Identity("module.py", "Car.go", "constant", '"€", 5', '"€", (6)')
    assert (five.line, five.runs, five.body) == (5, range(4, 7), range(3, 7))
    assert not five.imported
    assert five.changed.decode() == dedent(code).replace("5", "(6)")


def test_what_runs_at_import_is_known_and_a_default_belongs_to_its_function(
    tmp_path: Path,
) -> None:
    found = mutations_of(tmp_path, "A = 1\ndef f(a=2):\n    '''Doc'''\n    a.b = 3\n")
    facts = {it.identity.before: (it.imported, it.runs) for it in found}
    assert facts == {
        "A = 1": (True, range(1, 2)),
        "def f(a=2):": (False, range(4, 5)),
        "a.b = 3": (False, range(4, 5)),
    }


def test_a_decorator_belongs_to_what_it_decorates(tmp_path: Path) -> None:
    code = "@data(frozen=True)\nclass A:\n    b = 1\n    @wrap(2)\n    def f(self): ..."
    found = mutations_of(tmp_path, code)
    assert {(it.identity.function, it.imported) for it in found} == {("A", True), ("A.f", True)}


def test_a_sample_is_taken_from_all_packages_and_again_with_the_same_seed() -> None:
    first, second = (sample(ROOT / SOURCE, 12, Random(5), "concurrency") for _ in range(2))
    assert [it.identity for it in first] == [it.identity for it in second]
    assert len({(it.identity.file, it.line) for it in first}) == 12
    assert all(map(is_program, first))
    assert {"wire", "content", "session"} <= packages(ROOT / SOURCE).keys()
    assert shares({"a": 70, "b": 25, "c": 5}, 11) == {"a": 8, "b": 3, "c": 0}


def test_a_place_is_a_file_or_some_of_its_lines() -> None:
    source = ROOT / SOURCE
    everything = at_place("_package.py", source)
    line = everything[0].line
    assert [it.line for it in everything] == [
        it.line for it in mutations(source / "_package.py", source)
    ]
    assert {it.line for it in at_place(f"_package.py:{line}", source)} == {line}
    some = at_place(f"_package.py:{line}-{line + 2}", source)
    assert {it.line for it in some} == {it.line for it in everything} & {line, line + 1, line + 2}


def test_every_process_in_a_sandbox_has_the_changed_library() -> None:
    version = (ROOT / SOURCE / "_package.py").read_bytes()
    changed = version + b"\nmutated = True\n"
    identity = Identity("_package.py", "the module", "constant", "", "")
    mutation = Mutation(identity, 1, range(1), range(1), imported=True, changed=changed)
    look = "import claudewire._package as it; print(hasattr(it, 'mutated'))"
    nested = (
        f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {look!r}], env={{}})"
    )
    with Sandbox.open() as sandbox:
        assert sandbox.run("python", "-c", look, bound=60) == (0, "False\n")
        with sandbox.changed(mutation):
            assert sandbox.run("python", "-c", look, bound=60) == (0, "True\n")
            assert sandbox.run("python", "-c", nested, bound=60) == (0, "True\n")
        assert sandbox.run("python", "-c", look, bound=60) == (0, "False\n")
    assert (ROOT / SOURCE / "_package.py").read_bytes() == version


def test_what_takes_too_long_is_ended() -> None:
    with Sandbox.open() as sandbox:
        done = sandbox.run("python", "-c", "import time; time.sleep(3600)", bound=0.1)
        assert done.code is None


FUNCTIONS = """
def outer(a, b=1):
    def inner():
        return a + b
    return inner()
"""


def functions_with(after: str) -> tuple[bool, Any]:
    names: dict[str, Any] = {}
    exec(compile(FUNCTIONS, "file", "exec", dont_inherit=True), names)
    return swap([names["outer"]], FUNCTIONS.encode(), after.encode()), names["outer"]


def test_a_function_gets_the_changed_code() -> None:
    swapped, outer = functions_with(FUNCTIONS.replace("a + b", "a - b"))
    assert swapped
    assert outer(4) == 3


def test_a_function_that_is_gone_cannot_be_changed() -> None:
    swapped, outer = functions_with("")
    assert not swapped
    assert outer(4) == 5


def test_a_pytest_that_has_imported_everything_runs_tests_with_a_change() -> None:
    test, file = "tests/concurrency/test_functions.py", "concurrency/functions.py"
    found = mutations(ROOT / SOURCE / file, ROOT / SOURCE)
    change = next(it for it in found if it.identity.before == "return returned")
    assert is_swappable(change)
    with Sandbox.open() as sandbox:
        server = Server(sandbox, "-p", "no:cacheprovider", test)
        try:
            assert server.run(["missing"], None, 60, 60).code == NO_TESTS
            assert server.run([test], "missing.py", 60, 60).code == NOT_SWAPPED
            with sandbox.changed(change):
                assert server.run([test], file, 60, 60).code == 1
            assert server.run([test], file, 60, 60).code == 0
            assert all(it.startswith(f"{test}::") for it in server.collected)
            suicide = change.changed.replace(b"return None", b"import os; os.killpg(0, 9)")
            with sandbox.changed(replace(change, changed=suicide)):
                assert server.run([test], file, 60, 60).code == -signal.SIGKILL
            assert server.run([test], file, 60, 60).code == 0
        finally:
            server.close()


def test_a_pytest_that_cannot_run_the_tests_is_not_left_running() -> None:
    with (
        Sandbox.open() as sandbox,
        pytest.raises(RuntimeError, match="unrecognized arguments: --no-such-option"),
    ):
        Server(sandbox, "-p", "no:cacheprovider", "--no-such-option")


def test_a_map_forgets_tests_that_are_gone_and_adds_those_that_are_new() -> None:
    known = CoverageMap.__new__(CoverageMap)
    known.durations = {"tests/a.py::gone": 1.0, "tests/a.py::old": 2.0, "tests/a.py::a[trio]": 3.0}
    known.adapt(
        {
            "tests/a.py::old": True,
            "tests/a.py::new": True,
            "tests/a.py::a[trio]": False,
            "tests/b.py::b[asyncio]": False,
            "tests/b.py::b[trio]": False,
        }
    )
    assert known.durations == {
        "tests/a.py::old": 2.0,
        "tests/a.py::new": UNKNOWN,
        "tests/a.py::a[trio]": 3.0,
        "tests/b.py::b[asyncio]": UNKNOWN,
    }


def test_a_test_that_is_never_measured_may_notice_what_changes_in_its_own_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = CoverageMap.__new__(CoverageMap)
    known.durations = {}
    monkeypatch.setattr(known, "_lines", lambda file: {}, raising=False)
    tests = {"tests/people/test_inbox.py::a": False, "tests/people/test_plans.py::b": False}
    known.adapt({**tests, "tests/people/test_plans.py::new": True})
    identity = Identity("people/inbox.py", "f", "statement", "f()", "pass")
    change = Mutation(identity, 1, range(1, 2), range(1, 2), imported=False, changed=b"")
    assert known.near(change) == []
    assert set(known.wide(change)) == {
        "tests/people/test_inbox.py::a",
        "tests/people/test_plans.py::new",
    }


TABLE = """\
from x import y
NAMES = (
    "a",
)
ONE, TWO = 1, 2

def look(name):
    return [it
            for it in NAMES]

class Other:
    async def add(self):
        return ONE

def name():
    "NAMES"
"""


@pytest.mark.parametrize(
    ("line", "names", "lines"),
    [
        (1, set(), set()),
        (3, {"NAMES"}, {8, 9}),
        (5, {"ONE", "TWO"}, {13}),
        (8, set(), set()),
    ],
)
def test_who_looks_into_a_table_may_notice_what_changes_in_it(
    line: int, names: set[str], lines: set[int]
) -> None:
    assert assigned(TABLE, line) == names
    assert lines_using(TABLE, names) == lines


def test_who_looks_into_a_table_is_found_in_another_module(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tools of early CLIs are named in the wire, and used for the command line."""
    known = CoverageMap.__new__(CoverageMap)
    known.durations = {"tests/launch/test_argv.py::a": 1.0, "tests/cli/test_run.py::b": 1.0}
    known._unmeasured = set()
    everything = {key: {"tests/launch/test_argv.py::a"} for key in range(1000)}
    lines = {"launch/argv.py": everything}
    monkeypatch.setattr(known, "_lines", lambda file: lines.get(file, {}), raising=False)
    text = (ROOT / SOURCE / "wire/versions.py").read_text(encoding="utf-8").splitlines()
    line = text.index('    "TodoWrite",') + 1
    identity = Identity("wire/versions.py", "the module", "constant", "", "")
    change = Mutation(identity, line, range(line, line), range(0), imported=True, changed=b"")
    assert known.wide(change) == ["tests/launch/test_argv.py::a"]


@pytest.mark.parametrize(
    ("test", "file", "far"),
    [
        ("tests/people/test_inbox.py::test", "people/inbox.py", 0),
        ("tests/test_content.py::test", "content.py", 0),
        ("tests/simulator/test_main.py::test", "simulator/__main__.py", 0),
        ("tests/people/test_plans.py::test", "people/inbox.py", 1),
        ("tests/wire/test_codec.py::test", "wire/types/blocks.py", 1),
        ("tests/session/test_inbox.py::test", "people/inbox.py", 2),
    ],
)
def test_the_tests_of_a_file_are_near(test: str, file: str, far: int) -> None:
    assert distance(test, file) == far


def result_of(identity: Identity, status: Status) -> Result:
    return Result(identity, 7, status, tests=3, possible=5, by="")


def test_a_mutation_is_undecided_when_its_time_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three tests the first passes, and the second has not ended."""
    bounds: list[float] = []

    class EndlessServer:
        def __init__(self, *arguments: object, **variables: str) -> None:
            self.collected = dict.fromkeys(known.durations, True)

        def run(self, tests: list[str], file: str, hang: float, bound: float) -> Finished:
            bounds.append(bound)
            (tmp_path / "running").write_text(tests[1], encoding="utf-8")
            return Finished(None, "")

    (tmp_path / "project" / SOURCE).mkdir(parents=True)
    (tmp_path / "project" / SOURCE / "a.py").touch()
    sandbox = Sandbox.__new__(Sandbox)
    sandbox.folder, sandbox.spared, sandbox._writes = tmp_path / "project", set(), 0
    known = CoverageMap.__new__(CoverageMap)
    known.durations = {"tests/a.py::b": 0.1, "tests/a.py::c": 0.2, "tests/a.py::d": 0.3}
    monkeypatch.setattr(known, "_lines", lambda file: {1: set(known.durations)}, raising=False)
    monkeypatch.setattr(run, "Server", EndlessServer)
    identity = Identity("a.py", "f", "statement", "f()", "pass")
    change = Mutation(identity, 1, range(1, 2), range(1, 2), imported=False, changed=b"")
    result = Trial(sandbox, known, bound=1000).result(change)
    assert result == Result(identity, 1, "undecided", 2, 3, "tests/a.py::c")
    assert not result.killed
    (bound,) = bounds
    assert bound <= 1000


class TestResults:
    KILLED, SURVIVED, UNDECIDED = (Identity("a.py", "f", "call", it, "") for it in "ksu")

    def test_are_kept_as_they_come_and_the_last_one_holds(self, tmp_path: Path) -> None:
        path = tmp_path / "new" / "results.jsonl"
        for status in ("survived", "killed"):
            Kept(path).add(result_of(self.KILLED, status))
        Kept(path).add(result_of(self.UNDECIDED, "undecided"))
        assert Kept(path).results == {
            self.KILLED: result_of(self.KILLED, "killed"),
            self.UNDECIDED: result_of(self.UNDECIDED, "undecided"),
        }

    def test_that_are_not_killed_can_be_tried_again_where_their_code_still_exists(
        self, tmp_path: Path
    ) -> None:
        found = mutations_of(tmp_path, "a = 1\nb = 2\nc = 3\n")
        kept = Kept(tmp_path / "results.jsonl")
        gone = Identity("module.py", "the module", "constant", "d = 4", "d = (5)")
        statuses: list[Status] = ["survived", "killed", "undecided", "survived"]
        for identity, status in zip([*(it.identity for it in found), gone], statuses, strict=True):
            kept.add(result_of(identity, status))
        assert kept.not_killed(tmp_path) == [found[0], found[2]]

    def test_that_are_undecided_count_neither_as_killed_nor_as_survivors(self) -> None:
        results = [
            result_of(self.KILLED, "killed"),
            result_of(self.SURVIVED, "survived"),
            result_of(self.UNDECIDED, "undecided"),
        ]
        lines = report(results, {}).splitlines()
        table = [it.split() for it in lines]
        assert ["all", "3", "1", "0", "1", "0", "1", "0", "1"] in table
        assert "    undecided: 3 of 5 tests were run" in lines
        assert lines[-1].endswith("survive and are not judged: 33.3 %; 1 were not decided")

    def test_that_are_kept_are_not_tried_again(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(run, "KEPT", tmp_path)
        tried: list[Identity] = []

        def interrupted(left: list[Mutation], *_: object) -> Any:
            for it in left[:2]:
                tried.append(it.identity)
                yield result_of(it.identity, "killed")
            raise KeyboardInterrupt

        monkeypatch.setattr(run, "tried", interrupted)
        command = ["--count", "4", "--package", "concurrency", "--seed", "5"]
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                run.main(command)
        assert len(set(tried)) == 4
        assert run.main(command) == 0
        assert "0 of 4 mutations survive" in capsys.readouterr().out
        assert len(tried) == 4


class TestAJudgement:
    IDENTITY = Identity("a.py", "f", "constant", "a = 'b' + \"'''\"", r"a = '\d'")

    def test_is_written_without_a_reason_and_refused_like_that(self) -> None:
        with pytest.raises(ValueError, match="each with a text"):
            judged.read(judged.written(self.IDENTITY))

    def test_is_read(self) -> None:
        text = judged.written(self.IDENTITY).replace('equivalent = ""', 'equivalent = "Because."')
        assert judged.read(text) == {self.IDENTITY: "Because."}

    def test_takes_a_survivor_out_of_the_rate(self) -> None:
        results = [result_of(self.IDENTITY, "survived")]
        assert "1 of 1 mutations survive and are not judged: 100.0 %" in report(results, {})
        assert "0 of 1 mutations" in report(results, {self.IDENTITY: "Because."})

    def test_of_this_project_names_code_that_exists(self) -> None:
        reasons = judged.read(judged.JUDGED.read_text(encoding="utf-8"))
        source = ROOT / SOURCE
        found = {
            it.identity
            for file in {identity.file for identity in reasons}
            for it in mutations(source / file, source)
        }
        assert json.dumps(sorted(reasons.keys() - found), indent=1) == "[]"
