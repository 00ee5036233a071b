"""`claudewire run`: what it prints where, and how it exits."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.running import Runner, Shown

from claudewire.cli import run as running
from claudewire.cli.errors import CommandError
from claudewire.cli.exits import Exit
from claudewire.cli.reports import Decided, ErrorReport, RunReport
from claudewire.cli.terminal_view import TerminalView
from claudewire.cli.views import PlainView, View
from claudewire.content import Image, Text


def test_the_answer_goes_to_stdout_and_the_rest_to_stderr(run: Runner, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n", encoding="utf-8")
    done = run("run", "--cli", "simulated", "Read notes.md")
    assert done.status == 0
    assert (
        done.out
        == "(simulation) I'll read notes.md.\n\nnotes.md has 1 line. It begins:\n- # Notes\n"
    )
    assert "+ Read notes.md: # Notes" in done.err
    assert "2 turns" in done.err


def test_what_no_rule_allows_is_denied_without_a_terminal(run: Runner, tmp_path: Path) -> None:
    done = run("run", "--cli", "simulated", "Write a.txt: hello")
    assert done.status == 3
    assert "No person can be asked" in done.err
    assert not (tmp_path / "a.txt").exists()


def test_a_rule_allows_what_it_covers(run: Runner, tmp_path: Path) -> None:
    done = run("run", "--cli", "simulated", "--allow", "Write", "Write a.txt: hello")
    assert done.status == 0
    assert (tmp_path / "a.txt").read_text(encoding="utf-8") == "hello\n"


def test_json_is_one_object(run: Runner) -> None:
    done = run("run", "--cli", "simulated", "--json", "Look around")
    report = json.loads(done.out)
    assert (report["outcome"], report["exit_code"]) == ("done", 0)
    assert done.err == ""


# --- parts of it ---------------------------------------------------------------------------------


def decided(tool: str, by: str) -> Decided:
    return Decided(kind="permission", tool=tool, answer="deny", by=by)


BY_NOBODY = [decided("Write", "no terminal"), decided("Bash", "no terminal"), decided("X", "rule")]
FAILED = ErrorReport(message="It failed.\nBadly.", advice="Try again.")
IT_FAILED = "error: It failed.\n       Badly.\n       Try again.\n"
BY_A_RULE = "error: Something was denied by a rule.\n       If that is fine, add --denied ok.\n"
NO_PERSON = (
    "error: Something was denied, because no person can be asked here: Bash, Write.\n"
    "       Allow it with --allow RULE, or run this in a terminal, where you are asked.\n"
)


@pytest.mark.parametrize(
    ("exit", "fields", "attended", "said"),
    [
        (Exit.DONE, {}, False, ""),
        (
            Exit.FAILED,
            {"error": FAILED},
            True,
            "error: It failed.\n       Badly.\n       Try again.\n",
        ),
        (Exit.STALLED, {}, True, "error: The time is over: --timeout.\n"),
        (Exit.DENIED, {}, True, ""),
        (Exit.DENIED, {}, False, BY_A_RULE),
        (Exit.NEEDS_PERSON, {"decisions": BY_NOBODY}, False, NO_PERSON),
        (Exit.DENIED, {"decisions": BY_NOBODY}, False, NO_PERSON),
        (Exit.NEEDS_PERSON, {"decisions": BY_NOBODY}, True, ""),
        (Exit.INTERRUPTED, {}, False, ""),
    ],
)
def test_what_went_wrong_is_told(
    exit: Exit,
    fields: dict[str, Any],
    attended: bool,
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    outcome: Any = exit.name.lower()
    running.tell(RunReport(outcome=outcome, exit_code=exit, **fields), attended=attended)
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("words", "form", "told"),
    [
        ([], None, [True]),
        (["--quiet"], "quiet", [True]),
        (["--json"], "json", []),
        (["--stream-json"], "stream-json", []),
    ],
)
@pytest.mark.parametrize("nobody", [None, "nobody"])
def test_a_report_that_is_printed_is_not_told_as_well(
    run: Runner,
    words: list[str],
    form: str | None,
    told: list[bool],
    nobody: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Any] = []
    report = RunReport(outcome="stalled", exit_code=8)

    async def work() -> RunReport:
        return report

    def prepare(prompt: tuple[str, ...], form: str | None, given: dict[str, Any]) -> Any:
        made.append((prompt, form))
        return SimpleNamespace(run=work, nobody=nobody)

    def tell(shown: RunReport, *, attended: bool) -> None:
        assert shown is report
        made.append(attended is (nobody is None))

    monkeypatch.setattr(running, "prepare", prepare)
    monkeypatch.setattr(running, "tell", tell)
    assert run("run", *words, "do", "it").status == 8
    assert made == [(("do", "it"), form), *told]


def test_two_forms_of_output_make_no_sense() -> None:
    given = {"json": True, "stream_json": True, "quiet": True}
    with pytest.raises(CommandError) as error:
        running.form_of(given)
    words = "--json and --stream-json and --quiet are different forms of output; give one of them"
    assert error.value.message == words


@pytest.mark.parametrize(
    ("no_input", "form", "is_shown", "is_terminal", "keyboard", "found"),
    [
        (False, None, True, True, True, True),
        (True, None, True, True, True, False),
        (False, "json", True, True, True, False),
        (False, "stream-json", True, True, True, False),
        (False, None, False, True, True, False),
        (False, None, True, False, True, False),
        (False, None, True, True, False, False),
    ],
)
def test_a_person_can_be_asked_who_can_read_and_type(
    no_input: bool,
    form: str | None,
    is_shown: bool,
    is_terminal: bool,
    keyboard: bool,
    found: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    view = TerminalView(Shown(), Shown()) if is_shown else View(Shown(), Shown())
    monkeypatch.setattr("sys.stderr", Shown() if is_terminal else io.StringIO())
    monkeypatch.setattr(running, "has_keyboard", lambda: keyboard)
    assert running.has_person({"no_input": no_input}, form, view) is found


def test_a_terminal_is_opened_only_to_see_whether_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[Any] = []

    def opened(path: str, flags: int) -> int:
        calls.append((path, flags))
        return 77

    monkeypatch.setattr("sys.stdin", io.StringIO())
    monkeypatch.setattr(os, "ctermid", lambda: "/dev/mine")
    monkeypatch.setattr(os, "open", opened)
    monkeypatch.setattr(os, "close", calls.append)
    assert running.has_keyboard()
    assert calls == [("/dev/mine", os.O_RDWR | os.O_NOCTTY), 77]


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize(("out", "err"), [(True, False), (False, True), (False, False)])
def test_a_terminal_anywhere_is_drawn_on(
    out: bool, err: bool, structured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", Shown() if out else io.StringIO())
    monkeypatch.setattr("sys.stderr", Shown() if err else io.StringIO())
    view: Any = running.make_view(None, structured=structured)
    assert type(view) is (TerminalView if out or err else PlainView)
    assert view._structured is structured


@pytest.mark.parametrize(
    ("words", "prompt"),
    [
        (("do", "it"), "do it"),
        (("-",), "from stdin"),
        ((), "from stdin"),
        (("say", "-", "twice"), "say  from stdin\n twice"),
    ],
)
def test_a_dash_stands_for_what_stdin_says(
    words: tuple[str, ...], prompt: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(" from stdin\n"))
    assert running.read_prompt(words) == prompt


def test_a_prompt_can_be_given_at_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", Shown())
    assert running.read_prompt(("do", "it")) == "do it"
    with pytest.raises(CommandError) as error:
        running.read_prompt(())
    assert error.value.message == "There is no prompt."
    assert error.value.advice.startswith("Write one: claudewire run ")


def test_images_come_after_the_words(tmp_path: Path) -> None:
    files = [str(tmp_path / f"{name}.png") for name in "ab"]
    for name in files:
        Path(name).write_bytes(b"\x89PNG\r\n\x1a\n")
    prompt: Any = running.read_prompt(("look",), tuple(files))
    assert prompt == [Text("look"), *(Image.of(name) for name in files)]


def test_a_schema_is_given_or_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("schema").write_text('{"title": "ä"}', encoding="utf-8")
    Path("list").write_text("[1]", encoding="utf-8")
    assert running.read_schema("schema") == {"title": "ä"}
    assert running.read_schema(' {"a": 1}') == {"a": 1}
    for given, words in (
        ("nowhere", "--output nowhere: No such file or directory"),
        ("list", "--output: a JSON Schema is an object."),
    ):
        with pytest.raises(CommandError) as error:
            running.read_schema(given)
        assert error.value.message == words
    with pytest.raises(CommandError, match="--output: this is not a JSON Schema: Expecting"):
        running.read_schema("{")
    with pytest.raises(
        CommandError, match="--output: this is not a JSON Schema: maximum recursion"
    ):
        running.read_schema('{"a":' * 100_000)
