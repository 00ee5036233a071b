"""`show`, `diff`, `lint` and `schema`: what is printed, as text and as JSON."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.cli.running import Runner, Shown
from tests.recordings.test_html_page import HOSTILE, hostile, talk
from tests.recordings.written import asked, prompt, result, returned, said, text, used, written

from claudewire.cli.styles import Paint
from claudewire.cli.text import cells
from claudewire.cli.wire import lint as linting
from claudewire.cli.wire.lines import LineView, duration, latency_table, put
from claudewire.recordings import Timeline
from claudewire.transport import Recording
from claudewire.wire.lint import Finding

FOLDER = Path(__file__).resolve().parents[2] / "recordings"
OLD, NEW = (str(FOLDER / f"{it}-work.jsonl") for it in ("2.1.17", "2.1.325"))
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(talk().dump())
    return path


def saved(folder: Path, name: str, recording: Recording) -> str:
    path = folder / name
    path.write_bytes(recording.dump())
    return str(path)


# --- show ----------------------------------------------------------------------------------------


def test_show_prints_a_line_for_each_line_and_how_long_things_took(run: Runner, file: Path) -> None:
    done = run("show", str(file))
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[1] == "12 lines · 3.60 s"
    assert lines[3].split() == ["0.000", "->", "initialize"]
    assert lines[8].endswith('{"behavior": "allow", "updatedInput": {"command": "ls"}} (2.00 s)')
    assert any(it.split() == ["tool", "Bash", "CLI", "1", "2.20", "s", "2.20", "s"] for it in lines)
    assert lines[-1].startswith("1 finding: claudewire lint ")


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--only", "request"], ["initialize", "can_use_tool"]),
        (["--grep", "UPDATEDinput"], ["answer"]),
        (["--findings"], ["noise"]),
        (["--only", "stderr", "--only", "exit"], ["stderr", "exit"]),
    ],
)
def test_show_can_be_told_which_lines(
    run: Runner, file: Path, options: list[str], names: list[str]
) -> None:
    out = run("show", str(file), "--no-latencies", *options).out
    shown = [line.split()[2] for line in out.splitlines() if re.match(r" +\d", line)]
    assert shown == names


def test_show_raw_adds_the_lines_themselves(run: Runner, file: Path) -> None:
    assert '"request_id": "1"' in run("show", str(file), "--raw").out


def test_show_json_fits_its_schema_and_pairs_answers(run: Runner, file: Path) -> None:
    report = checked(run("show", str(file), "--json").out, "show")
    answer = next(it for it in report["lines"] if it["name"] == "can_use_tool" and it["took"])
    assert (answer["line"], answer["answers"], answer["took"]) == (7, 6, 2.0)


def test_a_line_that_ends_several_things_took_as_long_as_the_longest(
    run: Runner, tmp_path: Path
) -> None:
    both = [returned(id, "x")["message"]["content"][0] for id in ("b", "a")]
    ends = {"type": "user", "message": {"role": "user", "content": both}}
    first, second = said(used("a", "A")), said(used("b", "B"))
    recording = written((1, "<", first), (1.12345678, "<", second), (4, "<", ends))
    file = saved(tmp_path, "a.jsonl", recording)
    lines = checked(run("show", file, "--json").out, "show")["lines"]
    assert [it["seconds"] for it in lines] == [0.0, 0.123457, 3.0]
    assert (lines[2]["took"], lines[2]["answers"]) == (3.0, 2)
    assert "(3.00 s)" in run("show", file).out


def test_show_html_writes_a_page(run: Runner, file: Path, tmp_path: Path) -> None:
    done = run("show", str(file), "--html", "page.html")
    assert (done.status, done.out) == (0, "")
    assert "Wrote page.html" in done.err
    assert (tmp_path / "page.html").read_text("utf-8") == run("show", str(file), "--html", "-").out


def test_a_page_that_cannot_be_written_is_an_error_with_advice(run: Runner, file: Path) -> None:
    done = run("show", str(file), "--html", "nowhere/page.html")
    assert done.status == 2
    assert "nowhere/page.html cannot be written: No such file or directory" in done.err
    assert "Name a file in a folder that exists" in done.err


@pytest.mark.parametrize("command", ["show", "replay"])
def test_what_is_no_recording_is_an_error_with_advice(run: Runner, command: str) -> None:
    (run.folder / "x.txt").write_text("hello", encoding="utf-8")
    done = run(command, "x.txt")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error: x.txt is not a recording, or is damaged.")
    assert "claudewire record" in done.err


def test_an_empty_recording_is_shown(run: Runner, tmp_path: Path) -> None:
    assert "0 lines" in run("show", saved(tmp_path, "none.jsonl", Recording())).out


@pytest.mark.parametrize("command", [["show", "--raw"], ["replay", "--speed", "0"], ["lint"]])
def test_hostile_text_is_printed_and_steers_nothing(
    run: Runner, tmp_path: Path, command: list[str]
) -> None:
    name, *options = command
    out = run(name, saved(tmp_path, "hostile.jsonl", hostile()), *options).out
    assert not STEERS.search(out)
    if name != "lint":
        assert r"\x1b]0;broken\x07\x1b[2J" in out


def test_hostile_text_in_a_comparison_steers_nothing(run: Runner, tmp_path: Path) -> None:
    before = saved(
        tmp_path, "a.jsonl", written((0, "<", {**result(), **dict.fromkeys(HOSTILE, 1)}))
    )
    after = saved(tmp_path, "b.jsonl", written((0, "<", result("".join(HOSTILE)))))
    done = run("diff", before, after, "--values", "--latencies")
    assert done.status == 1
    assert not STEERS.search(done.out)
    assert r"\u202egnp.exe\u2066" in done.out


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for recording in (talk(), hostile(), Recording.load(OLD)):
        timeline = Timeline.of(recording)
        view = LineView(timeline, Paint(attributes=False), width)
        lines = [view.line(step) for step in timeline.steps]
        lines += latency_table(timeline.latencies(), Paint(attributes=False), width)
        assert max(map(cells, lines)) <= width


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "never"), (0.0004, "0.4 ms"), (0.05, "50 ms"), (1.234, "1.23 s"), (61.5, "1 min 1 s")],
)
def test_how_long_it_took_is_said_briefly(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


class Stdout(io.StringIO):
    """Can write only what an encoding has, and notes when it is flushed."""

    def __init__(self, encoding: str | None) -> None:
        super().__init__()
        self._encoding = encoding
        self.seen = ""

    @property
    def encoding(self) -> str | None:  # type: ignore[override]
        return self._encoding

    def flush(self) -> None:
        self.seen = self.getvalue()


@pytest.mark.parametrize(
    ("encoding", "shown"), [("ascii", "a\\u2192\nb\n"), ("utf-8", "a→\nb\n"), (None, "a→\nb\n")]
)
def test_what_stdout_cannot_write_is_escaped(
    encoding: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdout = Stdout(encoding)
    monkeypatch.setattr("sys.stdout", stdout)
    put("a→", "b")
    assert stdout.seen == shown


# --- diff ----------------------------------------------------------------------------------------


def test_diff_of_the_same_says_so_and_exits_with_0(run: Runner, file: Path) -> None:
    done = run("diff", str(file), str(file))
    assert (done.status, done.out) == (0, "Nothing differs but ids and times.\n")


def test_diff_of_two_versions_names_new_fields_and_lines(run: Runner) -> None:
    done = run("diff", OLD, NEW)
    assert done.status == 1
    assert "    + $.mcp_servers[].source  string" in done.out.splitlines()
    assert "    ~ $.message.content  array -> array|string" in done.out.splitlines()
    assert "+ < system/status  0 -> 1" in done.out.splitlines()
    assert "Add --values to see them." in done.out


def test_diff_can_show_values_and_latencies(run: Runner, tmp_path: Path) -> None:
    before = saved(tmp_path, "a.jsonl", written((0, "<", result("One", a=1)), (0, ">", prompt(""))))
    after = saved(tmp_path, "b.jsonl", written((0, "<", result("Two", b=1)), (0, "!", "new")))
    out = run("diff", before, after, "--values", "--latencies").out
    assert '    $.result\n      - "One"\n      + "Two"\n' in out
    assert "- line 3: > user" in out
    assert "+ line 3: ! stderr   new" in out
    assert "  turn turn: never -> -\n" in out
    (latency,) = checked(run("diff", before, after, "--json").out, "diff")["latencies"]
    assert (latency["kind"], latency["name"], latency["after"]) == ("turn", "turn", None)


def test_diff_json_fits_its_schema(run: Runner) -> None:
    done = run("diff", OLD, NEW, "--json")
    report = checked(done.out, "diff")
    assert (done.status, report["same"]) == (1, False)
    assert any(it["name"] == "system/status" and it["before"] == 0 for it in report["kinds"])
    assert any(it["values"] for it in report["lines"])


# --- lint ----------------------------------------------------------------------------------------


def test_lint_exits_with_1_if_something_is_wrong(run: Runner, tmp_path: Path) -> None:
    noisy = saved(tmp_path, "a.jsonl", written((0, ">", "not JSON")))
    done = run("lint", noisy)
    assert (done.status, done.err) == (1, "1 error\n")
    noisier = saved(tmp_path, "c.jsonl", written((0, ">", "not JSON"), (0, ">", "nor this")))
    assert run("lint", noisier).err == "2 errors\n"
    fine = saved(tmp_path, "b.jsonl", written((0, ">", prompt("x", uuid="u")), (0, "<", result())))
    done = run("lint", fine)
    assert (done.status, done.out, done.err) == (0, "", "Nothing to complain about.\n")


def test_lint_strict_fails_for_what_is_suspicious_too(run: Runner, tmp_path: Path) -> None:
    file = saved(tmp_path, "a.jsonl", written((0, ">", asked("1", "initialize"))))
    assert run("lint", file).status == 0
    done = run("lint", file, "--strict")
    assert done.status == 1
    assert done.out.startswith("2: suspicious: the CLI never answers this request [unanswered]")
    assert done.err == "1 suspicious\n"


@pytest.mark.parametrize(
    ("severity", "statuses"),
    [("error", (1, 1)), ("outdated", (0, 1)), ("suspicious", (0, 1)), ("info", (0, 0))],
)
def test_lint_fails_for_some_severities_and_for_more_if_it_is_strict(
    run: Runner, severity: Any, statuses: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def found(content: bytes, *, direction: str | None) -> list[Finding]:
        given.append((content, direction))
        return [Finding(1, severity, "code", "words")] * 2 + [Finding(2, "info", "code", "words")]

    monkeypatch.setattr(linting, "lint", found)
    (run.folder / "a.jsonl").write_bytes(b"x")
    usual, strict = run("lint", "a.jsonl"), run("lint", "a.jsonl", "--strict", "--from-cli")
    assert (usual.status, strict.status) == statuses
    counts = "3 info" if severity == "info" else f"2 {severity}, 1 info"
    assert usual.err == counts.replace("2 error,", "2 errors,") + "\n"
    assert given == [(b"x", None), (b"x", "<")]


def test_lint_has_a_style_for_each_severity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("sys.stdout", out := Shown())
    severities: tuple[Any, ...] = ("error", "outdated", "suspicious", "info")
    linting._print([Finding(1, it, "code", "words") for it in severities])
    marks = [line.split()[1] for line in out.getvalue().splitlines()]
    codes = {"error": "31", "outdated": "1;35", "suspicious": "1;35", "info": "2"}
    assert marks == [f"\x1b[{codes[it]}m{it}:\x1b[0m" for it in severities]


def test_lint_json_fits_its_schema(run: Runner) -> None:
    report = checked(run("lint", OLD, "--json").out, "lint")
    assert {it["code"] for it in report["findings"]} == {"no-uuid", "duplicate-answer"}


def test_lint_takes_plain_lines_of_a_direction(run: Runner) -> None:
    (run.folder / "sent.jsonl").write_text(json.dumps(said(text("Hi"))) + "\n", encoding="utf-8")
    assert run("lint", "sent.jsonl", "--from-cli").status == 0
    assert run("lint", "sent.jsonl", "--to-cli", "--strict").status == 1


def test_lint_of_a_file_that_is_not_there_is_an_error(run: Runner) -> None:
    done = run("lint", "nowhere.jsonl")
    assert done.status == 2
    assert "nowhere.jsonl cannot be read: No such file or directory" in done.err


# --- schema --------------------------------------------------------------------------------------


@pytest.mark.unmeasured
@pytest.mark.parametrize("name", ["result", "system/init", "can_use_tool", "ResultMessage"])
def test_schema_of_anything_on_the_wire_can_be_named(run: Runner, name: str) -> None:
    schema = json.loads(run("schema", name).out)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert name in run("schema", "--list").out.split()


def test_schema_describes_every_line(run: Runner) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(run("schema").out))
    validator.validate(result())


@pytest.mark.parametrize(
    ("name", "advice"), [("resul", "Did you mean result?"), ("zzzzz", "--list prints all names.")]
)
def test_a_name_that_is_unknown_is_an_error_with_advice(
    run: Runner, name: str, advice: str
) -> None:
    done = run("schema", name)
    assert done.status == 2
    assert f"There is nothing called '{name}' on the wire." in done.err
    assert advice in done.err


# --- schemas of what is printed ------------------------------------------------------------------


def checked(out: str, name: str) -> dict[str, Any]:
    """Check that JSON fits the schema that is committed for it."""
    from tests.cli.wire.printed import SCHEMAS

    report: dict[str, Any] = json.loads(out)
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    return report
