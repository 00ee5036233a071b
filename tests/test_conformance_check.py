"""The conformance check finds each fault that it is there to find."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import pytest
from conformance import DIALECTS, FOLDER, examples
from conformance.check import (
    Collected,
    Requirement,
    faults,
    form_faults,
    judge_faults,
    main,
    read,
    render,
)

ROOT = FOLDER.parent


def requirement(id: str, waits: str | None = None) -> Requirement:
    return Requirement(id, id[:3], "Section", f"Statement {id}.", waits)


def entry(**fields: str) -> str:
    return "[[requirement]]\n" + "".join(f'{key} = "{value}"\n' for key, value in fields.items())


class TestTheManifest:
    def test_is_read_in_order(self) -> None:
        first = entry(id="000-1", seed="000", section="S", text="T.")
        second = entry(id="000-2", seed="000", section="S", text="T.", waits="tools", note="N.")
        assert read(first + second) == (
            [
                Requirement("000-1", "000", "S", "T."),
                Requirement("000-2", "000", "S", "T.", "tools", "N."),
            ],
            [],
        )

    def test_may_be_empty(self) -> None:
        assert read("") == ([], [])

    @pytest.mark.parametrize(
        ("wrong", "fault"),
        [
            (entry(id="000-1", seed="000", section="S"), "000-1: has no `text`"),
            (entry(seed="000", section="S", text="T."), "entry 1: has no `id`"),
            (
                entry(id="000-1", seed="000", section="S", text="T.", wait="tools"),
                "000-1: nobody knows the key `wait`",
            ),
            (
                entry(id="000-1", seed="000", section="S", text=" "),
                "000-1: `text` must be a string that is not empty",
            ),
            (
                entry(id="000-1", seed="000", section="S", text="T.", waits="luck"),
                "000-1: waits for `luck`, which is none of sessions, simulator, permissions, tools",
            ),
        ],
    )
    def test_entry_that_is_not_well_formed_is_left_out(self, wrong: str, fault: str) -> None:
        assert read(wrong) == ([], [fault])

    @pytest.mark.parametrize(
        ("ids", "expected"),
        [
            (["000-1", "000-2", "001-1"], []),
            (["000-1", "000-1", "000-2"], ["000-1: is there 2 times"]),
            (["000-1", "000-3"], ["000-3: is out of order, 000-2 was expected in its place"]),
            (["000-2", "000-1"], ["000-2: is out of order, 000-1 was expected in its place"]),
            (["001-1", "000-1"], ["the documents are not in order: 001, 000"]),
            (["003-1"], ["003: is none of the documents 000, 001, 002, 004"]),
        ],
    )
    def test_ids_are_unique_and_in_order(self, ids: list[str], expected: list[str]) -> None:
        assert list(form_faults([requirement(id) for id in ids])) == expected

    def test_id_has_to_belong_to_its_document(self) -> None:
        stray = Requirement("001-1", "000", "S", "T.")
        assert list(form_faults([stray])) == [
            "001-1: is out of order, 000-1 was expected in its place"
        ]


class TestTheTests:
    def test_requirement_that_is_shown_or_waits_is_fine(self) -> None:
        both = [requirement("000-1"), requirement("000-2", waits="sessions")]
        assert list(faults(both, {"000-1": ["tests/test_a.py::test_b"]})) == []

    def test_requirement_without_a_test(self) -> None:
        assert list(faults([requirement("000-1")], {})) == [
            "000-1: no test shows it, and it does not wait for anything"
        ]

    def test_requirement_that_waits_no_longer(self) -> None:
        waiting = requirement("000-1", waits="tools")
        assert list(faults([waiting], {"000-1": ["tests/test_a.py::test_b[1]"]})) == [
            "000-1: waits for tools, but tests/test_a.py::test_b shows it: remove `waits`"
        ]

    def test_mark_that_names_nothing(self) -> None:
        tests = ["tests/test_a.py::test_b[1]", "tests/test_a.py::test_b[2]"]
        assert list(faults([], {"009-1": tests})) == [
            "tests/test_a.py::test_b: shows 009-1, which does not exist"
        ]

    def test_conformance_test_without_a_mark(self) -> None:
        assert list(faults([], {"": ["tests/test_a.py::test_b"]})) == [
            "tests/test_a.py::test_b: does not say what it shows, or does not run"
        ]


class TestTheJudges:
    def test_only_our_own_double_needs_a_reason(self) -> None:
        tests = Collected({"000-1": ["a"], "000-2": ["b"]}, {"a": "real CLI", "b": "own double"})
        reasoned = Requirement("000-2", "000", "S", "T.", alone="Nobody else can.")
        assert list(judge_faults([requirement("000-1"), reasoned], tests)) == []
        assert list(judge_faults([requirement("000-2")], tests)) == [
            "000-2: only our own double judges it: say why in `alone`"
        ]

    def test_reason_that_is_no_longer_needed(self) -> None:
        tests = Collected({"000-1": ["a"]}, {"a": "independent peer"})
        reasoned = Requirement("000-1", "000", "S", "T.", alone="Nobody else can.")
        assert list(judge_faults([reasoned], tests)) == [
            "000-1: is judged by others than our own double: remove `alone`"
        ]


class TestTheDocument:
    def test_has_a_line_for_each_requirement(self) -> None:
        noted = Requirement("001-1", "001", "A | B", "Statement.", "tools", "A note.")
        tests = ["tests/test_a.py::test_b[1]", "tests/test_a.py::test_b[2]", "tests/c.py::test_d"]
        judges = {tests[0]: "own double", tests[2]: "independent peer"}
        collected = Collected({"000-1": tests}, judges)
        text = render([requirement("000-1"), requirement("000-2"), noted], collected)
        assert "3 requirements: 1 shown, 1 wait (tools 1), 1 without a test.\n" in text
        assert "## 000: the modern dialect\n" in text
        shown = "`test_a.py::test_b`<br>`c.py::test_d`"
        assert f"| 000-1 | Section | Statement 000-1. | independent peer | {shown} |  |\n" in text
        assert "| 000-2 | Section | Statement 000-2. |  | no test yet |  |\n" in text
        assert "## 001: the session dialect\n" in text
        assert "| 001-1 | A \\| B | Statement. |  | waits for tools | A note. |\n" in text


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project, all of whose requirements are shown or wait."""
    (tmp_path / "conformance").mkdir()
    (tmp_path / "conformance" / "requirements.toml").write_text(
        entry(id="000-1", seed="000", section="S", text="T.", alone="It is so small.")
        + entry(id="000-2", seed="000", section="S", text="T.", alone="It is so small.")
        + entry(id="000-3", seed="000", section="S", text="T.", waits="tools"),
        encoding="utf-8",
    )
    (tmp_path / "tests" / "conformance").mkdir(parents=True)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests")
    shutil.copytree(ROOT / "tests" / "helpers", tmp_path / "tests" / "helpers")
    (tmp_path / "tests" / "conformance" / "test_requirements_it.py").write_text(
        "import pytest\n"
        "pytestmark = pytest.mark.shows('000-1')\n"
        "@pytest.mark.shows('000-2')\n"
        "@pytest.mark.parametrize('x', [1, 2])\n"
        "def test_it(x): raise NotImplementedError\n",
        encoding="utf-8",
    )
    return tmp_path


class TestTheCommand:
    def test_writes_the_document_and_then_agrees_with_it(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["--root", str(project)]
        assert main([*arguments, "--check"]) == 1
        assert not (project / "docs").exists()
        assert main(arguments) == 0
        assert main([*arguments, "--check"]) == 0
        document = (project / "docs" / "conformance.md").read_text(encoding="utf-8")
        assert document.count("`conformance/test_requirements_it.py::test_it`") == 2
        assert capsys.readouterr().out.splitlines() == [
            "docs/conformance.md is not up to date: run scripts/conformance and commit it",
            "3 requirements: 2 shown, 1 wait (tools 1); 1 faults",
            "3 requirements: 2 shown, 1 wait (tools 1)",
            "3 requirements: 2 shown, 1 wait (tools 1)",
        ]

    def test_finds_tests_that_name_nothing_or_do_not_run(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "tests" / "conformance" / "test_requirements_it.py").write_text(
            "import pytest\n"
            "def test_unmarked(): pass\n"
            "@pytest.mark.skip\n"
            "@pytest.mark.shows('000-1')\n"
            "def test_skipped(): pass\n",
            encoding="utf-8",
        )
        (project / "tests" / "test_other.py").write_text(
            "import pytest\n"
            "def test_elsewhere_needs_no_mark(): pass\n"
            "@pytest.mark.shows('000-2', '000-9')\n"
            "def test_marked(): pass\n",
            encoding="utf-8",
        )
        assert main(["--root", str(project)]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "000-1: no test shows it, and it does not wait for anything",
            "tests/conformance/test_requirements_it.py::test_unmarked: "
            "does not say what it shows, or does not run",
            "tests/conformance/test_requirements_it.py::test_skipped: "
            "does not say what it shows, or does not run",
            "tests/test_other.py::test_marked: shows 000-9, which does not exist",
            "3 requirements: 1 shown, 1 wait (tools 1), 1 without a test; 4 faults",
        ]

    def test_says_when_tests_cannot_be_collected(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "tests" / "test_broken.py").write_text("import nowhere\n", encoding="utf-8")
        assert main(["--root", str(project)]) == 1
        assert capsys.readouterr().out.endswith("the tests could not be collected\n")

    def test_says_when_the_manifest_is_not_toml(
        self, project: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (project / "conformance" / "requirements.toml").write_text("[[", encoding="utf-8")
        assert main(["--root", str(project)]) == 1
        assert capsys.readouterr().out.startswith("conformance/requirements.toml is not TOML: ")


class TestTheExamples:
    def test_are_complete(self) -> None:
        counts = Counter(example.seed for example in examples())
        assert counts == {"000": 13, "001": 16, "002": 14, "004": 16}

    @pytest.mark.parametrize("seed", DIALECTS)
    def test_are_numbered_and_say_who_speaks(self, seed: str) -> None:
        own = examples(seed)
        assert [one.id for one in own] == [f"{seed}-ex-{n:02}" for n in range(1, len(own) + 1)]
        assert {one.dialect for one in own} == {DIALECTS[seed]}
        assert {one.direction for one in own} == {"<", ">"}
        assert all(isinstance(one.object["type"], str) for one in own)


def test_manifest_of_the_project_is_well_formed() -> None:
    text = (FOLDER / "requirements.toml").read_text(encoding="utf-8")
    requirements, wrong = read(text)
    assert wrong == []
    assert list(form_faults(requirements)) == []
    assert {one.seed for one in requirements} == set(DIALECTS)
