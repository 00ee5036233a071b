"""Lines out of bytes."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.wire import MAX_LINE, Lines, Oversize
from claudewire.wire.framing import HEAD

# Bytes in which lines are short and often empty.
streams = st.lists(
    st.sampled_from([b"\n", b"\r", b"", b"{}", b"\xff"]) | st.binary(max_size=9)
).map(b"".join)


@st.composite
def chunks(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """Cut bytes into pieces: now and then one by one."""
    if draw(st.booleans()):
        return [data[index : index + 1] for index in range(len(data))]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def split(pieces: list[bytes], max_line: int = MAX_LINE) -> list[bytes | Oversize]:
    lines = Lines(max_line)
    return [line for piece in pieces for line in lines.feed(piece)] + lines.end()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"\n"], [b"ab"]),
        ([b"a\r\nb\rc\n"], [b"a\r", b"b\rc"]),
        (["a\u2028b\u0085c\n".encode()], ["a\u2028b\u0085c".encode()]),
        ([], []),
    ],
)
def test_line_ends_at_a_newline_only(pieces: list[bytes], expected: list[bytes]) -> None:
    assert split(pieces) == expected


@given(streams, st.integers(0, 12) | st.just(MAX_LINE), st.data())
def test_lines_do_not_depend_on_chunks(data: bytes, most: int, more: st.DataObject) -> None:
    *complete, last = data.split(b"\n")
    expected = [
        line if len(line) <= most else Oversize(line[:HEAD], len(line))
        for line in ([*complete, last] if last else complete)
    ]
    assert split(more.draw(chunks(data)), most) == expected


def test_unfinished_line_is_counted() -> None:
    lines = Lines()
    assert (lines.feed(b"abc"), lines.pending) == ([], 3)
    assert (lines.feed(b"d\n"), lines.pending) == ([b"abcd"], 0)


def test_too_long_line_keeps_its_head_and_takes_no_memory() -> None:
    lines, piece = Lines(max_line=2 * HEAD), b"x" * 100_000
    tracemalloc.start()
    try:
        for _ in range(100):
            assert lines.feed(piece) == []
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 1_000_000
    assert lines.feed(b"\nnext\n") == [Oversize(b"x" * HEAD, 10_000_000), b"next"]


def test_long_line_in_small_pieces_is_whole() -> None:
    lines = Lines()
    for _ in range(4096):
        assert lines.feed(b"x" * 4096) == []
    (line,) = lines.feed(b"\n")
    assert line == b"x" * 16 * 2**20
