"""Nothing that a model, a file or a server says reaches a terminal as more than text."""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.cli.hostile import HOSTILE
from tests.cli.terminal import Terminal, opened

from claudewire.cli.activity import subject_of
from claudewire.cli.markdown import MarkdownStream, render_markdown
from claudewire.cli.reports import Notice, TextPiece, ToolEnded, ToolStarted
from claudewire.cli.styles import Paint, painted_cells
from claudewire.cli.terminal_view import Drawing
from claudewire.cli.text import cells, clip, fold, one_line, safe, wrap
from claudewire.cli.views import PlainView

HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
PLAIN = Paint(attributes=False)


def is_text(shown: str) -> bool:
    """Whether a terminal does nothing with it but show it, and can be given it."""
    shown.encode("utf-8")
    return all(it in "\n\t" or unicodedata.category(it) not in HIDDEN for it in shown)


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 60
    assert len({*HOSTILE}) == len(HOSTILE)


@pytest.mark.parametrize("text", HOSTILE, ids=lambda it: ascii(it)[:30])
def test_a_hostile_string_is_shown_and_not_obeyed(text: str) -> None:
    assert is_text(safe(text))
    assert is_text(one_line(text, 60))
    assert is_text("\n".join(render_markdown(text, 60, PLAIN)))
    drawing = Drawing(PLAIN, lambda: 60)
    tool = ToolStarted(id="1", name=text, subject=subject_of({"command": text}), input={})
    ended = ToolEnded(
        id="1", name=text, ok=False, denied=True, seconds=1, summary=one_line(text, 60), text=text
    )
    shown = [
        *drawing.text(TextPiece(text=text, block="1")),
        *drawing.activity(tool, 0),
        *drawing.changing("Working"),
        *drawing.activity(ended, 0),
        *drawing.activity(Notice(text=text), 0),
        *drawing.end_text(),
    ]
    assert all(map(is_text, shown))
    assert all(cells(line) < 60 for line in shown if "x" * 50 not in line)
    out, err = io.StringIO(), io.StringIO()
    PlainView(out, err).show(ended)
    assert is_text(err.getvalue())


@given(st.text(alphabet=st.characters(codec=None)), st.integers(10, 120))
def test_any_text_is_safe_and_fits(text: str, width: int) -> None:
    assert is_text(safe(text))
    assert safe(safe(text)) == safe(text)
    assert cells(one_line(text, width)) <= width
    assert cells(clip(safe(text).replace("\n", " ").replace("\t", " "), width)) <= width
    for line in safe(text).split("\n"):
        assert all(cells(part) <= max(width, 2) for part in fold(line, width))
        assert all(cells(part) <= width for part in wrap(line, width))


_PARTS = (
    *("**", "*", "`", "```", "\n", "- ", "1. ", "# ", "> ", "| a | b |\n", "|---|\n", "[x](y)"),
    *("word ", "a longer phrase of words ", "_", "__", "~~", "\\", "```python\n", "\t", "界"),
)
MARKDOWN = st.lists(
    st.sampled_from([*_PARTS, *HOSTILE[:5]]),
    max_size=30,
).map("".join)


@given(MARKDOWN, st.integers(12, 80), st.integers(1, 9))
@example("**a longer phrase of words [x](y)**", 12, 1)
@example("| a | b |\na longer phrase of words \n", 12, 1)
@example("```python\n\ta longer phrase of words", 27, 1)
@example("```python\n" + "x\t" * 6, 26, 1)
def test_markdown_is_the_same_in_whatever_pieces_it_comes(text: str, width: int, size: int) -> None:
    stream = MarkdownStream(width, PLAIN)
    lines: list[str] = []
    for start in range(0, len(text), size):
        lines += stream.feed(text[start : start + size])
        assert all(map(is_text, stream.growing))
    lines += stream.end()
    assert all(painted_cells(line) <= width for line in lines)
    assert all(map(is_text, lines))
    assert _letters(lines) == _letters(render_markdown(text, width, PLAIN))


def _letters(lines: Iterable[str]) -> str:
    return re.sub(r"[\s│•]", "", "".join(lines))


_SEQUENCE = re.compile(
    rb"\x1b(?:\[([?>=!]?)[0-9;:]*([ -/]*[@-~])|\][^\x07\x1b]*|[PX^_][^\x1b]*|([ -/]*[0-~]))"
)


def kinds_of(written: bytes) -> set[bytes]:
    """Return which kinds of sequences, and which control characters, were written."""
    kinds = {
        b"".join(it or b"" for it in found) or b"string" for found in _SEQUENCE.findall(written)
    }
    text = _SEQUENCE.sub(b"", written).decode("utf-8")
    return kinds | {it.encode() for it in text if not is_text(it)}


def play(terminal: Terminal) -> set[bytes]:
    """Answer everything that is asked; return which kinds of sequences were written."""
    for words, answer in (
        ("x no, and stop ❯", "y"),
        ("s skip ❯", "1"),
        ("x reject ❯", "y"),
        ("n decline ❯", "y"),
        ("Enter to leave it out ❯", ""),
    ):
        terminal.wait_for(words)
        terminal.enter(answer)
    assert terminal.wait_end() == 0
    return kinds_of(terminal.written)


def test_the_state_of_the_terminal_is_the_same_afterwards(sim: str, tmp_path: Path) -> None:
    arguments = ("run", "--cli", sim)
    with opened(*arguments, "harmless", cwd=tmp_path, rows=500) as usual:
        known = play(usual)
        modes = usual.screen.mode
    with opened(*arguments, "hostile", cwd=tmp_path, rows=1500) as terminal:
        assert play(terminal) <= known
        screen = terminal.screen
        assert (screen.mode, screen.title, screen.icon_name) == (modes, "", "")
        assert (screen.charset, screen.margins) == (usual.screen.charset, usual.screen.margins)
        assert not screen.cursor.hidden
        assert "rm -rf" not in terminal.text  # what an escape would have put into the clipboard
        assert "\\x1b]52;c;" in terminal.words
        assert "\\u202egnp.exe" in terminal.words
        forged = [line for line in terminal.text.splitlines() if line == "❯ y"]
        assert len(forged) == 3  # those that were typed
