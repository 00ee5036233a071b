"""The wire log of a test: its content, and how it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from claudewire.testing import WireLog
from claudewire.transport import memory_pair

pytestmark = pytest.mark.anyio


async def test_log_joins_lines_and_escapes_control_characters() -> None:
    log = WireLog()
    app, cli = memory_pair()
    watched = log.watch(app)
    await watched.send(b"one\ntw")
    await cli.send(b"\x1b[1m\xff\n")
    await watched.receive()
    await watched.send(b"o\nhalf")
    ((_, text),) = log.sections()
    assert text.splitlines() == ["> one", "> two", "< \\x1b[1m\\xff", "> half (no newline yet)"]


async def test_log_keeps_the_last_lines_and_the_head_of_a_long_one() -> None:
    log = WireLog()
    app, _ = memory_pair()
    watched = log.watch(app)
    for number in range(300):
        await watched.send(b"%d\n" % number)
    await watched.send(b"x" * 100_000 + b"\n")
    ((_, text),) = log.sections()
    lines = text.splitlines()
    assert len(lines) == 200
    assert lines[0] == "> 101"
    assert lines[-1] == f"> {'x' * 400}…"


def test_log_of_programs_is_shown_by_process(tmp_path: Path) -> None:
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
