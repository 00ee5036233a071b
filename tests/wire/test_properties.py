"""What holds for any bytes whatever: nothing raises, nothing is lost, chunks do not matter."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest
from fuzz.corpus import Line, corpus, listener
from fuzz.mutate import mutated
from fuzz.wire import fuzz, hear, main, say_again
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.examples import examples
from tests.helpers.strategies import json_values

from claudewire.wire import Connection, Event, KeepAlive, Lines, Malformed, Noise, Oversize, Role
from claudewire.wire.dialects import DIALECTS
from claudewire.wire.framing import HEAD


@cache  # not when the module is imported: every worker of every run does that
def lines_for(role: Role) -> list[Line]:
    return [line for line in corpus() if line.reader is role]


roles = st.sampled_from(Role)
randoms = st.randoms(use_true_random=False)
# Bytes in which lines are short and often empty.
streams = st.lists(
    st.sampled_from([b"\n", b"\r", b"", b"{}", b"\xff"]) | st.binary(max_size=9)
).map(b"".join)


@st.composite
def conversations(draw: st.DrawFn, role: Role) -> bytes:
    """Lines that this side may hear: good, broken, or no lines at all."""
    random = draw(randoms)
    good = st.sampled_from(lines_for(role)).map(lambda line: line.data)
    broken = st.builds(lambda: mutated(random, lines_for(role)))
    return b"\n".join(draw(st.lists(good | broken | streams, max_size=6)))


@st.composite
def chunks(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The same bytes in pieces: now and then one by one."""
    if draw(st.booleans()):
        return [data[index : index + 1] for index in range(len(data))]
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


def lines_of(pieces: list[bytes], max_line: int = 2**20) -> list[bytes | Oversize]:
    lines = Lines(max_line)
    complete = [line for piece in pieces for line in lines.feed(piece)]
    return complete + lines.end()


def events_of(role: Role, pieces: list[bytes], max_line: int = 2**20) -> list[Event]:
    connection = listener(role, max_line=max_line)
    heard = [event for piece in pieces if piece for event in connection.receive_data(piece)]
    return heard + connection.receive_data(b"")


# --- framing -------------------------------------------------------------------------------------


@given(streams, st.data())
def test_lines_are_what_stands_between_newlines(data: bytes, more: st.DataObject) -> None:
    *complete, last = data.split(b"\n")
    expected = [*complete, last] if last else complete
    assert lines_of(more.draw(chunks(data))) == expected


@given(streams, st.integers(0, 12), st.data())
def test_only_a_line_that_is_too_long_is_not_delivered(
    data: bytes, most: int, more: st.DataObject
) -> None:
    *complete, last = data.split(b"\n")
    expected = [
        line if len(line) <= most else Oversize(line[:HEAD], len(line))
        for line in ([*complete, last] if last else complete)
    ]
    assert lines_of(more.draw(chunks(data)), most) == expected


@given(st.integers(HEAD - 5, 3 * HEAD), st.integers(0, 3 * HEAD), st.data())
def test_of_a_line_that_is_too_long_the_head_is_kept(
    length: int, most: int, more: st.DataObject
) -> None:
    line = bytes(index % 251 for index in range(length)).replace(b"\n", b".")
    expected = line if length <= most else Oversize(line[:HEAD], length)
    assert lines_of(more.draw(chunks(line + b"\n.")), most) == [
        expected,
        b"." if most else Oversize(b".", 1),
    ]


# --- any bytes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("role", Role)
@given(data=st.data())
def test_the_same_bytes_give_the_same_events_in_any_chunks(role: Role, data: st.DataObject) -> None:
    stream = data.draw(conversations(role))
    max_line = data.draw(st.sampled_from([200, 2**20]))
    whole = events_of(role, [stream], max_line)
    pieces = events_of(role, data.draw(chunks(stream)), max_line)
    assert pieces == whole
    assert [event.line for event in pieces] == [event.line for event in whole]


@pytest.mark.parametrize("role", Role)
@given(data=st.binary())
def test_after_any_bytes_a_good_line_arrives(role: Role, data: bytes) -> None:
    hear(role, data)


@pytest.mark.parametrize("role", Role)
@given(value=json_values)
def test_after_any_json_a_good_line_arrives(role: Role, value: object) -> None:
    hear(role, json.dumps(value).encode())


@pytest.mark.parametrize("role", Role)
@examples(4)
@given(random=randoms)
def test_after_any_broken_line_a_good_line_arrives(role: Role, random: Random) -> None:
    hear(role, mutated(random, lines_for(role)))


@pytest.mark.parametrize("role", Role)
@examples(4)
@given(random=randoms)
def test_whatever_was_heard_can_be_said_or_is_refused(role: Role, random: Random) -> None:
    events = hear(role, mutated(random, lines_for(role)))
    for dialect in DIALECTS:
        say_again(role, events, dialect)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"hello", Noise),
        (b"{", Noise),
        (b"[" * 100_000, Noise),
        (b"\xff", Noise),
        (b"NaN", Noise),
        (b"[1]", Malformed),
        (b'"text"', Malformed),
        (b"9" * 5000, Malformed),
    ],
    ids=lambda it: it[:10] if isinstance(it, bytes) else it.__name__,
)
def test_what_is_no_object_has_a_line_and_an_empty_raw(
    line: bytes, kind: type[Noise | Malformed]
) -> None:
    (event,) = Connection(Role.CLIENT).receive_data(line + b"\n")
    assert isinstance(event, kind)
    assert event.line == line
    assert event.raw == {}


def test_a_number_of_any_length_can_be_looked_at() -> None:
    line = b'{"type":"keep_alive","count":%s}' % (b"9" * 5000)
    (event,) = Connection(Role.CLIENT).receive_data(line + b"\n")
    assert isinstance(event, KeepAlive)
    assert event.raw["count"] == float("inf")


# --- the fuzzer itself ---------------------------------------------------------------------------


def test_five_thousand_broken_lines(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lines", "5000", "--seed", "7"]) == 0
    assert "5,000 mutated lines, no exception, 50 sentinels all arrived" in capsys.readouterr().out


def test_a_run_ends_when_its_time_is_over() -> None:
    assert fuzz(5000, seed=1, seconds=0).lines == 100


def test_what_fails_is_shown_as_small_as_it_can_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus()  # made once for all tests, by connections that are sound
    receive = Connection.receive_data

    def fragile(self: Connection, data: bytes) -> list[Event]:
        if b"type" in data.partition(b"\n")[0] and b"keep_alive" not in data:
            raise KeyError("type")
        return receive(self, data)

    monkeypatch.setattr(Connection, "receive_data", fragile)
    assert main(["--lines", "500", "--seed", "7"]) == 1
    assert capsys.readouterr().out.endswith("failed: KeyError: 'type'\nb'type'\n")
