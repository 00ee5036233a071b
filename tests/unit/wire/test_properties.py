"""Any bytes: nothing raises, nothing is lost, chunks do not matter."""

from __future__ import annotations

import json
from functools import cache
from random import Random

import pytest
from fuzz.corpus import Line, corpus, listener
from fuzz.mutate import mutated
from fuzz.wire import hear, main, say_again
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.examples import examples
from tests.helpers.strategies import json_values
from tests.unit.wire.test_framing import chunks, streams

from claudewire.wire import Event, Role
from claudewire.wire.dialects import DIALECTS

both_roles = pytest.mark.parametrize("role", Role)
randoms = st.randoms(use_true_random=False)


@cache
def lines_for(role: Role) -> list[Line]:
    return [line for line in corpus() if line.reader is role]


@st.composite
def conversations(draw: st.DrawFn, role: Role) -> bytes:
    """Lines for one side: good, broken, or no lines at all."""
    random = draw(randoms)
    good = st.sampled_from(lines_for(role)).map(lambda line: line.data)
    broken = st.builds(lambda: mutated(random, lines_for(role)))
    return b"\n".join(draw(st.lists(good | broken | streams, max_size=6)))


def events_of(role: Role, pieces: list[bytes], max_line: int) -> list[Event]:
    connection = listener(role, max_line=max_line)
    heard = [event for piece in pieces if piece for event in connection.receive_data(piece)]
    return heard + connection.receive_data(b"")


@both_roles
@given(data=st.data())
def test_events_do_not_depend_on_chunks(role: Role, data: st.DataObject) -> None:
    stream = data.draw(conversations(role))
    max_line = data.draw(st.sampled_from([200, 2**20]))
    whole = events_of(role, [stream], max_line)
    pieces = events_of(role, data.draw(chunks(stream)), max_line)
    assert pieces == whole
    assert [event.line for event in pieces] == [event.line for event in whole]


@both_roles
@given(data=st.binary() | json_values.map(lambda value: json.dumps(value).encode()))
def test_good_line_arrives_after_any_bytes(role: Role, data: bytes) -> None:
    hear(role, data)


@both_roles
@examples(4)
@given(random=randoms)
def test_heard_events_can_be_sent_or_are_refused(role: Role, random: Random) -> None:
    events = hear(role, mutated(random, lines_for(role)))
    for dialect in DIALECTS:
        say_again(role, events, dialect)


def test_thousands_of_broken_lines_raise_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--lines", "5000", "--seed", "7"]) == 0
    assert "no exception, all sentinels arrived" in capsys.readouterr().out
