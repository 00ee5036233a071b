"""Lines out of bytes."""

from __future__ import annotations

import tracemalloc

import pytest

from claudewire.wire import MAX_LINE, Lines, Oversize
from claudewire.wire.framing import HEAD


def split(*pieces: bytes, max_line: int = MAX_LINE) -> list[bytes | Oversize]:
    lines = Lines(max_line)
    found = [line for piece in pieces for line in lines.feed(piece)]
    return found + lines.end()


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([b"a\nb\n"], [b"a", b"b"]),
        ([b"a", b"b", b"\n"], [b"ab"]),
        ([b"a\nb"], [b"a", b"b"]),
        ([b"\n\n"], [b"", b""]),
        ([b"a\r\nb\rc\n"], [b"a\r", b"b\rc"]),
        (["a\u2028b\u0085c\n".encode()], ["a\u2028b\u0085c".encode()]),
        ([b"\xff\x00\xc3", b"\xa4\n"], [b"\xff\x00\xc3\xa4"]),
        ([], []),
    ],
)
def test_a_line_ends_at_a_newline_and_nowhere_else(
    pieces: list[bytes], expected: list[bytes]
) -> None:
    assert split(*pieces) == expected


def test_an_unfinished_line_is_counted_and_waits() -> None:
    lines = Lines()
    assert lines.feed(b"abc") == []
    assert lines.pending == 3
    assert lines.feed(b"d\n") == [b"abcd"]
    assert lines.pending == 0


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_a_line_that_is_too_long_gives_its_head_and_length_and_the_stream_goes_on(
    size: int,
) -> None:
    data = b"ok\n" + b"0123456789" * 10 + b"\nalso ok\n"
    pieces = [data[at : at + size] for at in range(0, len(data), size)]

    assert split(*pieces, max_line=20) == [b"ok", Oversize(b"0123456789" * 10, 100), b"also ok"]


def test_only_the_head_of_a_line_that_is_too_long_is_kept() -> None:
    lines = Lines(max_line=2 * HEAD)
    for _ in range(10):
        assert lines.feed(b"x" * HEAD) == []
    assert lines.pending == 10 * HEAD
    assert lines.feed(b"\nnext\n") == [Oversize(b"x" * HEAD, 10 * HEAD), b"next"]


@pytest.mark.parametrize("rest", [b"\n", b"", b"\nx\n"])
@pytest.mark.parametrize("cut", [0, 1, 4, 5])
def test_a_line_that_is_just_short_enough_is_whole(cut: int, rest: bytes) -> None:
    after: list[bytes | Oversize] = [b"x"] if b"x" in rest else []
    for data, line in ((b"12345", b"12345"), (b"123456", Oversize(b"123456", 6))):
        assert split(data[:cut], data[cut:] + rest, max_line=5) == [line, *after]
        assert split(data[:cut], data[cut:], rest, max_line=5) == [line, *after]


def test_a_line_that_is_too_long_takes_no_memory() -> None:
    lines, piece = Lines(max_line=1000), b"x" * 100_000
    tracemalloc.start()
    try:
        for _ in range(100):
            lines.feed(piece)
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size < 1_000_000


def test_a_last_line_that_is_too_long_is_told_at_the_end() -> None:
    assert split(b"123456", max_line=5) == [Oversize(b"123456", 6)]


def test_a_very_long_line_in_small_pieces_is_joined_once() -> None:
    pieces = 16 * 2**20 // 4096
    lines = Lines()
    for _ in range(pieces):
        assert lines.feed(b"x" * 4096) == []
    (line,) = lines.feed(b"\n")
    assert isinstance(line, bytes)
    assert len(line) == 16 * 2**20
