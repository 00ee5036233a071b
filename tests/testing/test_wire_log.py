"""The wire log of a test: what it keeps, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from claudewire.simulator import SimulatedCLI
from claudewire.testing import wirelog
from claudewire.testing.fixtures import _is_toml, recording_path
from claudewire.testing.wirelog import WireLog, _Wire, written_to_stderr


def same(text: str) -> str:
    return text


def test_lines_are_put_together_by_direction() -> None:
    wire = _Wire("a")
    assert wire.show(same) == ""
    wire.feed(">", b"")
    wire.feed(">", b"one\ntw")
    wire.feed("<", b"half")
    wire.feed(">", b"o\n\nthree\n")
    wire.tell("end")
    wire.feed("<", b" a line")
    assert wire.show(same).splitlines() == [
        "> one",
        "> two",
        "< half a line (no newline yet)",
        "> ",
        "> three",
        "= end",
    ]


def test_what_a_terminal_would_act_upon_is_shown_as_an_escape() -> None:
    wire = _Wire("a")
    wire.feed("<", b"\x1b[1m\x00\x7f\xc2\x9f\xff\t \xc2\xa0\n")
    assert wire.show(same) == "< \\x1b[1m\\x00\\x7f\\x9f\\xff\\x09 \xa0"


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (400, "x" * 400),
        (401, "x" * 400 + "… (401 bytes)"),
        (65536, "x" * 400 + "… (65536 bytes)"),
        (65537, "x" * 400 + "… (65537 bytes)"),
    ],
)
def test_a_long_line_is_cut(size: int, shown: str) -> None:
    wire = _Wire("a")
    wire.feed(">", b"x" * size + b"\n")
    assert wire.show(same) == f"> {shown}"


def test_a_line_of_which_a_part_is_not_kept_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wirelog, "KEPT", 5)
    wire = _Wire("a")
    for piece in (b"abc", b"def", b"g\n", b"12345\n"):
        wire.feed(">", piece)
    assert wire.show(same).splitlines() == ["> abcde… (7 bytes)", "> 12345"]


@pytest.mark.parametrize(("lines", "left_out"), [(200, 0), (201, 1), (250, 50)])
def test_the_last_lines_are_kept(lines: int, left_out: int) -> None:
    wire = _Wire("a")
    wire.feed(">", b"".join(b"%d\n" % number for number in range(lines)))
    shown = wire.show(same).splitlines()
    head = [f"({left_out} earlier lines are left out)"] if left_out else []
    assert shown == [*head, *(f"> {number}" for number in range(left_out, lines))]


@pytest.mark.anyio
async def test_everything_that_passes_is_logged() -> None:
    log = WireLog()
    unused = log.watch(SimulatedCLI(), "unused")
    watched = log.watch(SimulatedCLI())
    await watched.send(b"no JSON\n")
    await watched.send_eof()
    out = b""
    while data := await watched.receive():
        out += data
    err = await watched.receive_stderr()
    status = await watched.wait()
    await watched.aclose()
    await unused.aclose()
    ((title, text),) = log.sections()
    assert title == "wire: SimulatedCLI"
    assert text.splitlines()[:2] == ["> no JSON", "= end of input"]
    assert text.splitlines()[-1] == f"= exit {status}"
    assert ("< " in text, "! " in text) == (bool(out), bool(err))


def test_the_log_of_programs_is_shown_by_process(tmp_path: Path) -> None:
    file = tmp_path / "claude.log"
    log = WireLog()
    log.watch_file(file)
    assert log.sections() == []
    lines = [f"7 > {b'a'.hex()}", f"8 > {b'b'.hex()}", f"7 ! {b'bad'.hex()}", f"7 > {b'c'.hex()}"]
    file.write_text("".join(f"{line}\n" for line in lines) + "7 > 6", encoding="ascii")
    assert log.sections() == [
        ("wire: claude, process 7", "> ac (no newline yet)\n! bad (no newline yet)"),
        ("wire: claude, process 8", "> b (no newline yet)"),
    ]
    assert [*written_to_stderr(file)] == ["bad"]
    assert [*written_to_stderr(tmp_path / "none")] == []


def test_a_secret_is_removed_also_where_it_was_first_used() -> None:
    log = WireLog()
    for name in ("one", "two"):
        wire = _Wire(name)
        log._wires.append(wire)
        wire.feed(">", b"hunter2-hunter2-hunter2\n" if name == "one" else b"")
    log._wires[1].feed("<", b'{"password": "hunter2-hunter2-hunter2"}\n')
    assert "hunter2" not in "".join(text for _, text in log.sections())


@pytest.mark.parametrize(
    ("given", "is_toml"),
    [
        ("a\n", True),
        ('default = "x"', True),
        ("scenario.toml", False),
        ("a=b.toml", False),
        ("a=b.py:function", False),
        ("words", False),
        (Path("a=b"), False),
    ],
)
def test_the_contents_of_a_file_are_told_from_its_path(given: str | Path, is_toml: bool) -> None:
    assert _is_toml(given) is is_toml


@pytest.mark.parametrize(
    ("test", "name"),
    [
        ("test_a", "test_a"),
        ("Test::test_a[x]", "Test.test_a-x"),
        ("test_a[x-1,2=3+4.5]", "test_a-x-1,2=3+4.5"),
        ("test_a[a b]", "test_a-a_b-44dbfdc9"),
        ("x" * 120, "x" * 120),
        ("x" * 121, "x" * 120 + "-"),
    ],
)
def test_a_recording_is_named_after_its_test(test: str, name: str) -> None:
    path = recording_path(Path("/tests/test_it.py"), test)
    assert path.parent == Path("/tests/recordings/test_it")
    assert path.name.startswith(name)
    assert path.name == f"{name}.jsonl" or len(path.stem) == 129
