"""Replay: the recorded CLI answers again, as long as the application does what it had done."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import pytest
import trio
import trio.testing
from hypothesis import example, given
from hypothesis import strategies as st

from claudewire.errors import TransportClosed
from claudewire.transport import (
    Direction,
    Match,
    Recording,
    RecordingEntry,
    RecordingTransport,
    ReplayMismatch,
    ReplayTransport,
    ReplayUnfinished,
    memory_pair,
)
from claudewire.wire import Connection, Error, Role

SOON = 60

pytestmark = pytest.mark.anyio


def told(*said: tuple[str, Any], **header: Any) -> Recording:
    """A recording: each line as text, bytes or JSON; None for the end, `("exit", n)`."""
    entries = []
    for index, (direction, line) in enumerate(said):
        more: dict[str, Any] = {"t": float(index), "number": index + 2}
        if direction == "exit":
            entries.append(RecordingEntry(exit=line, **more))
        else:
            entries.append(
                RecordingEntry(dir=cast("Direction", direction), line=_bytes(line), **more)
            )
    return Recording(tuple(entries), header)


def _bytes(line: Any) -> bytes | None:
    if line is None or isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


def sent(line: Any) -> bytes:
    return (_bytes(line) or b"") + b"\n"


async def mismatch(recording: Recording, *lines: Any, match: Match = "strict") -> ReplayMismatch:
    """Send all lines; the last one must be refused."""
    replay = ReplayTransport(recording, match=match)
    with anyio.fail_after(SOON):
        for line in lines[:-1]:
            await replay.send(sent(line))
        with pytest.raises(ReplayMismatch) as caught:
            await (replay.send_eof() if lines[-1] is None else replay.send(sent(lines[-1])))
    return caught.value


async def accepts(recording: Recording, *lines: Any, match: Match = "strict") -> bytes:
    """Send all lines and give all that the CLI says."""
    replay = ReplayTransport(recording, match=match)
    said = b""
    with anyio.fail_after(SOON):
        for line in lines:
            await replay.send(sent(line))
        await replay.send_eof()
        while data := await replay.receive():
            said += data
        await replay.aclose()
        replay.finish()
    return said


PROMPT = {
    "type": "user",
    "uuid": "u1",
    "message": {"role": "user", "content": "hi"},
    "parent_tool_use_id": None,
}
ASK = {"type": "control_request", "request_id": "p1", "request": {"subtype": "can_use_tool"}}
ANSWER = {
    "type": "control_response",
    "response": {"subtype": "success", "request_id": "p1", "response": {"behavior": "allow"}},
}
RESULT = {"type": "result", "subtype": "success", "user_message_uuid": "u1"}


# --- playing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["a line", "the end"])
async def test_who_waits_already_gets_what_follows_on_what_is_sent(how: str) -> None:
    line = PROMPT if how == "a line" else None
    replay = ReplayTransport(told((">", line), ("<", "last"), ("!", "warning"), ("exit", 3)))
    heard: list[object] = []

    async def hear(wait: Callable[[], Awaitable[object]]) -> None:
        heard.append(await wait())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for wait in (replay.receive, replay.receive_stderr, replay.wait):
                tasks.start_soon(hear, wait)
            await anyio.wait_all_tasks_blocked()
            assert heard == []
            await (replay.send_eof() if line is None else replay.send(sent(line)))
            await anyio.wait_all_tasks_blocked()
            assert sorted(map(str, heard)) == ["3", "b'last\\n'", "b'warning\\n'"]
            tasks.cancel_scope.cancel()
    await replay.aclose()


async def test_the_cli_says_each_line_only_after_what_was_sent_before_it() -> None:
    replay = ReplayTransport(
        told(
            ("<", "first"),
            (">", PROMPT),
            ("!", "warning"),
            ("<", ASK),
            (">", ANSWER),
            ("<", RESULT),
            (">", None),
            ("<", "last"),
            ("<", None),
            ("!", None),
            ("exit", 3),
        )
    )
    with anyio.fail_after(SOON):
        assert await replay.receive() == b"first\n"
        with anyio.move_on_after(0) as scope:
            await anyio.wait_all_tasks_blocked()
            await replay.receive()
        assert scope.cancelled_caught
        await replay.send(sent(PROMPT))
        assert await replay.receive() == sent(ASK)
        assert await replay.receive_stderr() == b"warning\n"
        assert [entry.number for entry in replay.unplayed] == [6, 7, 9]
        await replay.send(sent(ANSWER)[:9])
        await replay.send(sent(ANSWER)[9:])
        assert await replay.receive() == sent(RESULT)
        await replay.send_eof()
        await replay.send_eof()
        assert [await replay.receive(), await replay.receive()] == [b"last\n", b""]
        assert await replay.receive_stderr() == b""
        assert await replay.wait() == await replay.wait() == 3
        replay.finish()
        await replay.aclose()
    assert replay.unplayed == ()


async def is_cancelled(call: Callable[[], Awaitable[object]]) -> bool:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await call()
    return scope.cancelled_caught


async def test_what_is_cancelled_neither_sends_nor_loses_anything() -> None:
    lines = (("<", "first"), (">", PROMPT), (">", ANSWER), (">", None), ("<", None))
    replay = ReplayTransport(told(*lines))
    with anyio.fail_after(SOON):
        assert await is_cancelled(replay.receive)
        assert await replay.receive() == b"first\n"
        assert await is_cancelled(lambda: replay.send(sent("something else")))
        await replay.send(sent(PROMPT))
        assert await is_cancelled(replay.send_eof)
        await replay.send(sent(ANSWER))
        await replay.send_eof()
        assert await is_cancelled(replay.send_eof)  # also when there is nothing left to do
        assert await is_cancelled(replay.aclose)
        assert await replay.receive() == b""
        replay.finish()


async def test_a_waiting_reader_is_woken_when_the_application_has_sent() -> None:
    replay = ReplayTransport(
        told((">", "go"), ("<", "out"), ("!", "err"), ("exit", 0), (">", None), ("<", None))
    )
    got: list[object] = []

    async def take(call: Callable[[], Awaitable[object]]) -> None:
        got.append(await call())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for call in (replay.receive, replay.receive_stderr, replay.wait):
                tasks.start_soon(take, call)
            await anyio.wait_all_tasks_blocked()
            assert not got
            await replay.send(b"go\n")
    assert sorted(map(repr, got)) == ["0", "b'err\\n'", "b'out\\n'"]


async def test_at_the_end_of_the_recording_everything_ends_even_if_that_was_not_recorded() -> None:
    replay = ReplayTransport(told(("<", "only")))
    with anyio.fail_after(SOON):
        assert [await replay.receive(), await replay.receive()] == [b"only\n", b""]
        assert await replay.receive_stderr() == b""
        assert await replay.wait() is None
        await replay.send_eof()
        replay.finish()


async def test_a_recorded_end_of_output_ends_only_that() -> None:
    replay = ReplayTransport(told(("<", None), (">", "x"), ("!", "y")))
    with anyio.fail_after(SOON):
        assert await replay.receive() == b""
        await replay.send(b"x\n")
        assert await replay.receive_stderr() == b"y\n"


async def test_a_last_line_without_a_newline_comes_without_one() -> None:
    entries = (
        RecordingEntry(dir=">", line=b"half", partial=True),
        RecordingEntry(dir="<", line=b"\xff{", partial=True),
    )
    with anyio.fail_after(SOON):
        replay = ReplayTransport(Recording(entries))
        await replay.send(b"half")
        await replay.aclose()
        replay.finish()
        replay = ReplayTransport(Recording(entries))
        await replay.send(b"half")
        await replay.send_eof()
        assert await replay.receive() == b"\xff{"


async def test_closing_wakes_all_that_wait_and_then_nothing_can_be_sent() -> None:
    replay = ReplayTransport(told(("<", "unread"), (">", "x"), ("exit", 1)))
    got: list[object] = []

    async def take(call: Callable[[], Awaitable[object]]) -> None:
        got.append(await call())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(take, replay.receive_stderr)
            tasks.start_soon(take, replay.wait)
            await anyio.wait_all_tasks_blocked()
            await replay.aclose()
        await replay.aclose()
        assert sorted(map(repr, got)) == ["None", "b''"]
        assert await replay.receive() == b""
        with pytest.raises(TransportClosed):
            await replay.send(b"x\n")
        await replay.send_eof()
        with pytest.raises(ReplayUnfinished, match=r"1 recorded .* line 3 of .*: x") as caught:
            replay.finish()
    assert [entry.number for entry in caught.value.unsent] == [3]
    assert isinstance(caught.value, Error)


async def test_nothing_can_follow_the_end_of_input() -> None:
    replay = ReplayTransport(told((">", None), ("<", "x")))
    with anyio.fail_after(SOON):
        await replay.send_eof()
        with pytest.raises(TransportClosed):
            await replay.send(b"x\n")
        assert await replay.receive() == b"x\n"


# --- time ----------------------------------------------------------------------------------------


def in_virtual_time(main: Callable[[], Awaitable[None]]) -> None:
    """Run it with a clock that jumps to whatever is waited for."""
    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


def test_in_real_time_lines_come_after_the_recorded_pauses() -> None:
    async def main() -> None:
        recording = told(("<", "a"), ("<", "b"), (">", "x"), (">", "y"), ("!", "c"), ("exit", 0))
        replay = ReplayTransport(recording, speed=1.0)
        start = anyio.current_time()

        def elapsed() -> float:
            return anyio.current_time() - start

        with anyio.fail_after(60):
            assert (await replay.receive(), elapsed()) == (b"a\n", 0)
            await replay.send(b"x\ny\n")  # earlier than recorded; it makes nothing come earlier
            assert [entry.text for entry in replay.unplayed] == ["b", "c"]
            assert (await replay.receive(), elapsed()) == (b"b\n", 1)
            assert (await replay.receive_stderr(), elapsed()) == (b"c\n", 2)
            assert (await replay.wait(), elapsed()) == (0, 3)

    in_virtual_time(main)


def test_pauses_count_from_when_the_application_spoke_and_what_is_late_delays_nothing() -> None:
    async def main() -> None:
        replay = ReplayTransport(told((">", "x"), ("<", "a"), ("!", "b"), ("<", "c")), speed=0.5)
        with anyio.fail_after(60):
            await anyio.sleep(10)
            start = anyio.current_time()
            await replay.send(b"x\n")
            await anyio.sleep(3)  # nobody looks
            assert await replay.receive() == b"a\n"
            assert anyio.current_time() - start == 3
            assert await replay.receive() == b"c\n"
            assert anyio.current_time() - start == 6
            assert await replay.receive_stderr() == b"b\n"

    in_virtual_time(main)


def test_pauses_count_from_when_the_application_spoke_late() -> None:
    async def main() -> None:
        replay = ReplayTransport(told(("<", "a"), (">", "x"), ("<", "b")), speed=1.0)
        with anyio.fail_after(60):
            start = anyio.current_time()
            assert await replay.receive() == b"a\n"
            await anyio.sleep(10)
            await replay.send(b"x\n")
            assert await replay.receive() == b"b\n"
            assert anyio.current_time() - start == 11

    in_virtual_time(main)


async def test_a_reader_that_waits_in_real_time_is_woken_by_the_application() -> None:
    replay = ReplayTransport(told((">", "x"), ("<", "a"), ("!", "b"), ("exit", 0)), speed=1000.0)
    got: list[object] = []

    async def take(call: Callable[[], Awaitable[object]]) -> None:
        got.append(await call())

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            for call in (replay.wait, replay.receive_stderr, replay.receive):
                tasks.start_soon(take, call)
            await anyio.wait_all_tasks_blocked()
            await replay.send(b"x\n")
    assert sorted(map(repr, got)) == ["0", "b'a\\n'", "b'b\\n'"]


def test_the_first_line_comes_as_long_after_the_start_as_it_was_recorded() -> None:
    async def main() -> None:
        entries = (
            RecordingEntry(t=0.25, dir="<", line=b"a"),
            RecordingEntry(t=2.0, dir="<", line=b"b"),
            RecordingEntry(t=1.5, dir="<", line=b"c"),  # a clock that was set back
            RecordingEntry(t=2.0, exit=0),
        )
        replay = ReplayTransport(Recording(entries), speed=0.5)
        start = anyio.current_time()
        heard: list[tuple[bytes, float]] = []
        with anyio.fail_after(60):
            while data := await replay.receive():
                heard.append((data, anyio.current_time() - start))
            heard.append((b"", anyio.current_time() - start))
        assert heard == [(b"a\n", 0.5), (b"b\nc\n", 4.0), (b"", 5.0)]

    in_virtual_time(main)


@pytest.mark.parametrize("speed", [0, -1.0, float("nan")])
async def test_a_speed_that_leads_nowhere_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="speed"):
        ReplayTransport(told(), speed=speed)


async def test_a_match_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="strict, loose or none"):
        ReplayTransport(told(), match="fuzzy")  # type: ignore[arg-type]


# --- ids -----------------------------------------------------------------------------------------


async def test_ids_of_the_application_stand_in_the_place_of_the_recorded_ones() -> None:
    long = "0d9cd9d4-6c11-4a5e-8a3b-0f2c7a1f9e01"
    recording = told(
        (">", {"type": "control_request", "request_id": "r1", "request": {"callback": "r1"}}),
        ("<", '{ "response":{"request_id": "r1","x":"r1"}, "session_id":"s1" }'),
        (">", {**PROMPT, "uuid": long, "session_id": "s1"}),
        ("<", {"still_queued": [long, "other"], "path": f"/x/{long}.jsonl", "text": f"({long})"}),
        (">", {"cancel": f"about {long}", "message_uuid": long, "request_id": "r1"}),
        ("<", RESULT),
    )
    mine = "my-own-id-for-this-message"
    said = await accepts(
        recording,
        {"type": "control_request", "request_id": "9", "request": {"callback": "r1"}},
        {**PROMPT, "uuid": mine, "session_id": "s1"},
        {"cancel": f"about {mine}", "message_uuid": mine, "request_id": "9"},
    )
    assert said.splitlines() == [
        b'{ "response":{"request_id": "9","x":"r1"}, "session_id":"s1" }',
        _bytes({"still_queued": [mine, "other"], "path": f"/x/{mine}.jsonl", "text": f"({mine})"}),
        _bytes(RESULT),
    ]


async def test_callbacks_are_known_by_the_names_of_now() -> None:
    recording = told(
        (">", {"request_id": "1", "hooks": [{"hookCallbackIds": ["h_0", "h_1"]}]}),
        ("<", {"request_id": "2", "request": {"callback_id": "h_1"}}),
    )
    said = await accepts(recording, {"request_id": "1", "hooks": [{"hookCallbackIds": ["a", "b"]}]})
    assert said == sent({"request_id": "2", "request": {"callback_id": "b"}})


async def test_ids_may_change_places() -> None:
    recording = told(
        (">", {"request_id": "1", "a": 1}),
        (">", {"request_id": "2", "a": 2}),
        ("<", {"request_id": "1"}),
        ("<", {"request_id": "2"}),
    )
    said = await accepts(recording, {"request_id": "2", "a": 1}, {"request_id": "1", "a": 2})
    assert said == sent({"request_id": "2"}) + sent({"request_id": "1"})


async def test_ids_that_the_cli_was_told_otherwise_can_be_given() -> None:
    recording = told(("<", {"session_id": "then"}), (">", {"session_id": "then"}))
    replay = ReplayTransport(recording, ids={"then": "now"})
    with anyio.fail_after(SOON):
        assert await replay.receive() == sent({"session_id": "now"})
        await replay.send(sent({"session_id": "now"}))
        replay.finish()


@pytest.mark.parametrize(
    ("name", "many"),
    [
        ("request_id", False),
        ("uuid", False),
        ("parentUuid", False),
        ("uuids", True),
        ("session_id", False),
        ("message_id", False),
        ("callback_id", False),
        ("hookCallbackIds", True),
        ("still_queued", True),
        ("cancelled", True),
    ],
)
async def test_what_has_the_name_of_an_id_holds_one(name: str, many: bool) -> None:
    def holding(id: str) -> dict[str, Any]:
        return {name: [id] if many else id, "text": id, f"{name}s_text": "then"}

    recording = told((">", {name: "then"}), ("<", holding("then")))
    said = await accepts(recording, {name: "now"})
    assert json.loads(said) == {**holding("now"), "text": "then"}


async def test_what_the_cli_wrote_to_stderr_makes_no_ids() -> None:
    recording = told(("!", {"uuid": "u1"}), (">", PROMPT), ("<", RESULT))
    said = await accepts(recording, {**PROMPT, "uuid": "mine"})
    assert said == sent({**RESULT, "user_message_uuid": "mine"})


async def test_ids_of_lines_that_come_in_another_order_are_those_of_the_application() -> None:
    lines = [{"uuid": f"then-{name}", "is": name} for name in "abc"]
    recording = told(*((">", line) for line in lines), ("<", {"uuids": ["then-a", "then-b"]}))
    mine = [{"uuid": f"now-{name}", "is": name} for name in "cba"]
    said = await accepts(recording, *mine, match="loose")
    assert said == sent({"uuids": ["now-a", "now-b"]})


async def test_an_id_of_the_application_that_the_cli_repeats_stays_one_of_the_application() -> None:
    recording = told(
        (">", {"request_id": "r1", "a": 1}),
        ("<", {"request_id": "r1"}),
        (">", {"request_id": "r2", "a": 2}),
        ("<", {"request_id": "r2"}),
    )
    said = await accepts(recording, {"request_id": "9", "a": 1}, {"request_id": "r1", "a": 2})
    assert said == sent({"request_id": "9"}) + sent({"request_id": "r1"})


async def test_a_text_may_still_have_the_id_of_then() -> None:
    long = "0d9cd9d4-6c11-4a5e-8a3b-0f2c7a1f9e01"
    recording = told((">", {"uuid": long}), (">", {"text": f"about {long}"}))
    for now in (long, "my-own-id-for-this-message"):
        await accepts(recording, {"uuid": "my-own-id-for-this-message"}, {"text": f"about {now}"})


@pytest.mark.parametrize(
    ("recorded", "wrong"),
    [
        ("p1", "p2"),  # the CLI asked as p1, and nobody else may be answered
        ("r1", "p1"),  # an id of the application that is one of the CLI's
        ("r1", "mine"),  # it stands for another one already
        ("u1", "other"),  # it has been called otherwise before
        ("", "r1"),
        ("r1", ""),
    ],
)
async def test_an_id_that_stands_for_another_one_is_a_mismatch(recorded: str, wrong: str) -> None:
    recording = told((">", PROMPT), ("<", ASK), (">", {"request_id": recorded}))
    error = await mismatch(recording, {**PROMPT, "uuid": "mine"}, {"request_id": wrong})
    assert error.path == "$.request_id"


# --- comparing -----------------------------------------------------------------------------------


async def test_the_first_difference_is_shown() -> None:
    recording = told(
        (">", PROMPT),
        ("<", ASK),
        (">", {"type": "x", "uuid": "u2", "a": {"list": [1, {"b": "then"}]}, "z": "same"}),
    )
    error = await mismatch(
        recording,
        {**PROMPT, "uuid": "mine"},
        {"z": "same", "type": "x", "a": {"list": [1, {"b": "now"}]}, "uuid": "v2"},
    )
    assert error.number == 4
    assert error.path == "$.a.list[1].b"
    assert error.expected is not None
    assert json.loads(error.expected)["uuid"] == "v2"
    assert error.got is not None
    assert str(error) == (
        'Line 4 of the recording: at $.a.list[1].b: "then" was recorded, "now" was sent\n'
        "--- recorded\n"
        "+++ sent\n"
        "@@ -3,7 +3,7 @@\n"
        '     "list": [\n'
        "       1,\n"
        "       {\n"
        '-        "b": "then"\n'
        '+        "b": "now"\n'
        "       }\n"
        "     ]\n"
        "   },"
    )
    assert isinstance(error, Error)


@pytest.mark.parametrize(
    ("recorded", "got", "path", "reason"),
    [
        ({"a": 1}, {"a": 2}, "$.a", "1 was recorded, 2 was sent"),
        ({"a": 1}, {"a": True}, "$.a", "1 was recorded, true was sent"),
        ({"a": "1"}, {"a": 1}, "$.a", '"1" was recorded, 1 was sent'),
        ({"a": {}}, {"a": []}, "$.a", "{} was recorded, [] was sent"),
        ({"a": None}, {}, "$.a", "null was recorded, nothing was sent"),
        ({}, {"a": None}, "$.a", "nothing was recorded, null was sent"),
        ([1, 2], [1], "$", "2 items were recorded, 1 were sent"),
        ({"uuid": "a"}, {"uuid": 1}, "$.uuid", '"a" was recorded, 1 was sent'),
        ("text", "other", "$", '"text" was recorded, "other" was sent'),
        ("text", {"a": 1}, "$", '"text" was recorded'),
        ("x" * 999, "y", "$", "x… was recorded"),
        ("[" * 100_000, "[", "$", '[… was recorded, "[" was sent'),
        ({"a": "x" * 999 + "1"}, {"a": "x" * 999 + "2"}, "$.a", 'xxx1" was recorded, …xxx'),
        ({"a": "x" * 999 + "1"}, {"a": "x" * 999 + "2"}, "$.a", 'xxx2"\n }'),
    ],
)
async def test_what_is_not_the_same_json_is_a_mismatch(
    recorded: Any, got: Any, path: str, reason: str
) -> None:
    error = await mismatch(told((">", recorded)), got)
    assert error.path == path
    assert reason in str(error)
    assert max(map(len, str(error).splitlines()[1:])) < 200


@pytest.mark.parametrize(
    ("recorded", "got"),
    [
        ('{"a":1,"b":2}', ' {"b": 2.0, "a": 1}\r'),
        ('{"a":"\\u00e9"}', '{"a":"é"}'),
        (b"\xff not JSON", b"\xff not JSON"),
        ("", ""),
    ],
)
async def test_how_a_line_is_laid_out_does_not_matter(recorded: Any, got: Any) -> None:
    await accepts(told((">", recorded)), got)


async def test_to_send_more_or_less_than_recorded_is_a_mismatch() -> None:
    error = await mismatch(told((">", "a")), "a", "b")
    assert error.number is None
    assert str(error).startswith("The end of the recording: the application had sent nothing more")
    error = await mismatch(told((">", "a"), (">", None), ("<", "x")), "a", "b")
    assert (error.number, error.expected, error.got) == (3, None, "b")
    error = await mismatch(told((">", {**PROMPT, "uuid": "u1"})), None)
    assert (error.number, error.got, error.path) == (2, None, "$")
    assert "ended its input instead of sending this" in str(error)
    recording = told((">", {"uuid": "then"}), (">", {"message_uuid": "then"}))
    error = await mismatch(recording, {"uuid": "now"}, None)
    assert error.expected == json.dumps({"message_uuid": "now"})


async def test_the_first_mismatch_stays_although_more_was_left_unfinished() -> None:
    replay = ReplayTransport(told((">", "a")))
    with anyio.fail_after(SOON):
        with pytest.raises(ReplayMismatch) as caught:
            await replay.send(b"b\nc")
        await replay.aclose()
    with pytest.raises(ReplayMismatch) as again:
        replay.finish()
    assert again.value is caught.value


async def test_after_a_mismatch_everybody_hears_of_it() -> None:
    replay = ReplayTransport(told((">", "a"), ("<", "b")))
    errors: list[ReplayMismatch] = []

    async def note(call: Callable[[], Awaitable[object]]) -> None:
        with pytest.raises(ReplayMismatch) as caught:
            await call()
        errors.append(caught.value)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note, replay.receive)
            tasks.start_soon(note, replay.wait)
            await anyio.wait_all_tasks_blocked()
            await note(lambda: replay.send(b"x\n"))
        for call in (replay.receive_stderr, replay.send_eof, lambda: replay.send(b"a\n")):
            await note(call)
        with pytest.raises(ReplayMismatch) as caught:
            replay.finish()
        await replay.aclose()
        assert await replay.receive() == b""
    assert {*errors, caught.value} == {errors[0]}
    assert len(errors) == 6


async def test_what_was_left_unfinished_at_the_close_counts() -> None:
    replay = ReplayTransport(told((">", "a")))
    with anyio.fail_after(SOON):
        await replay.send(b"b")
        await replay.aclose()
    with pytest.raises(ReplayMismatch):
        replay.finish()


# --- looser matches ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("recorded", "got"),
    [
        ({"a": 1}, {"a": 1, "new": {"b": 2}}),
        ({"a": 1, "b": None, "c": False, "d": "", "e": [], "f": {}}, {"a": 1}),
        ({"a": {"b": [{"c": None}]}}, {"a": {"b": [{"d": 0}]}}),
    ],
)
async def test_loose_leaves_out_what_says_nothing_and_what_is_new(recorded: Any, got: Any) -> None:
    await accepts(told((">", recorded)), got, match="loose")
    await mismatch(told((">", recorded)), got)


@pytest.mark.parametrize(
    ("recorded", "got"),
    [({"a": 1}, {}), ({"a": 0}, {}), ({"a": 1}, {"a": 2}), ({"a": [1]}, {"a": [1, 2]}), ("a", "b")],
)
async def test_loose_is_not_blind(recorded: Any, got: Any) -> None:
    await mismatch(told((">", recorded)), got, match="loose")


async def test_loose_takes_lines_in_any_order_while_the_cli_is_silent() -> None:
    recording = told(
        ("<", "a"), (">", "1"), (">", "2"), (">", "3"), ("<", "b"), (">", "4"), (">", None)
    )
    replay = ReplayTransport(recording, match="loose")
    with anyio.fail_after(SOON):
        await replay.send(b"2\n3\n")
        assert await replay.receive() == b"a\n"
        assert [entry.text for entry in replay.unplayed] == ["1", "b", "4"]
        await replay.send(b"1\n")
        assert await replay.receive() == b"b\n"
        await replay.send(b"4\n")
        await replay.send_eof()
        replay.finish()
    await mismatch(recording, "2")
    error = await mismatch(recording, "2", "4", match="loose")
    assert error.number == 3
    await mismatch(recording, "1", "2", "3", "4", "5", match="loose")


async def test_none_only_counts() -> None:
    recording = told((">", {"request_id": "1"}), ("<", {"request_id": "1"}), (">", "x"), ("<", "y"))
    replay = ReplayTransport(recording, match="none")
    with anyio.fail_after(SOON):
        await replay.send(sent({"request_id": "9", "more": True}))
        assert await replay.receive() == sent({"request_id": "9"})
        replay.finish()
        await replay.send(b"whatever\nand more\n")
        assert await replay.receive() == b"y\n"
    with anyio.fail_after(SOON):
        replay = ReplayTransport(recording, match="none", speed=1000.0)
        await replay.send_eof()
        said = b""
        while data := await replay.receive():
            said += data
        assert said == sent({"request_id": "1"}) + b"y\n"


# --- secrets -------------------------------------------------------------------------------------


async def test_secrets_of_now_match_those_that_were_taken_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", "/home/mary")
    line = {"cwd": "~/x", "env": {"apiKey": "<key-2>"}, "who": "<email-7> and <email-1>"}
    recording = told(("<", "<email-1>"), (">", line), redacted=True)
    mine = {"cwd": "/home/mary/x", "env": {"apiKey": "mine"}, "who": "me@x.org and <email-1>"}
    await accepts(recording, mine)
    await accepts(recording, line)
    error = await mismatch(recording, {**mine, "cwd": "/home/mary/y"})
    assert "mary" not in str(error)
    assert error.path == "$.cwd"
    error = await mismatch(recording, mine, "me@x.org")
    assert error.got == "<email-1>"
    await mismatch(Recording(recording.entries), mine)


async def test_another_redactor_can_be_given() -> None:
    recording = told((">", {"a": "***"}))
    replay = ReplayTransport(recording, redactor=lambda text: text.replace("b", "***"))
    with anyio.fail_after(SOON):
        await replay.send(sent({"a": "b"}))
        replay.finish()


async def test_what_was_recorded_with_a_secret_may_be_sent_with_it() -> None:
    recording = told((">", {"a": "b"}))
    replay = ReplayTransport(recording, redactor=lambda text: text.replace("b", "***"))
    with anyio.fail_after(SOON):
        await replay.send(sent({"a": "b"}))
        replay.finish()


async def test_nothing_is_taken_out_if_that_is_refused() -> None:
    recording = told((">", {"who": "<email-1>"}), redacted=True)
    replay = ReplayTransport(recording, redactor=False)
    with anyio.fail_after(SOON), pytest.raises(ReplayMismatch, match=r"me@x\.org"):
        await replay.send(sent({"who": "me@x.org"}))


# --- there and back ------------------------------------------------------------------------------

_lines = st.lists(
    st.tuples(
        st.sampled_from([">", "<", "!"]),
        st.one_of(
            st.binary(max_size=6).map(lambda data: data.replace(b"\n", b"")),
            st.fixed_dictionaries(
                {"uuid": st.text("ab", max_size=2), "x": st.text(max_size=3)}
            ).map(lambda obj: json.dumps(obj).encode()),
        ),
    ),
    max_size=12,
)


async def _record(lines: list[tuple[str, bytes]]) -> Recording:
    sink = io.BytesIO()
    ours, cli = memory_pair()
    app = RecordingTransport(ours, sink, redactor=False)
    for direction, line in lines:
        if direction == ">":
            await app.send(line + b"\n")
        elif direction == "<":
            await cli.send(line + b"\n")
            await app.receive()
        else:
            cli.send_stderr(line + b"\n")
            await app.receive_stderr()
    await app.send_eof()
    cli.exit(7)
    await app.receive()
    await app.receive_stderr()
    await app.wait()
    await app.aclose()
    return Recording.load(sink.getvalue())


async def _repeat(recording: Recording, sink: io.BytesIO) -> None:
    """Do again what an application did, and record that."""
    replay = ReplayTransport(recording)
    app = RecordingTransport(replay, sink, redactor=False)
    due = {"<": 0, "!": 0}
    for entry in recording:
        if entry.dir is None:
            assert await app.wait() == entry.exit
        elif entry.dir == ">":
            await (app.send_eof() if entry.line is None else app.send(entry.data))
        else:
            due[entry.dir] += len(entry.data) if entry.line is not None else 0
            read = app.receive if entry.dir == "<" else app.receive_stderr
            while due[entry.dir] > 0:
                due[entry.dir] -= len(await read())
            if entry.line is None:
                assert await read() == b""
    replay.finish()
    assert replay.unplayed == ()
    await app.aclose()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@example([(">", b"NaN")])
@given(_lines)
def test_a_recording_of_a_replay_is_the_recording(
    backend: str, lines: list[tuple[str, bytes]]
) -> None:
    async def there_and_back() -> None:
        with anyio.fail_after(SOON):
            first = await _record(lines)
            sink = io.BytesIO()
            await _repeat(first, sink)
        second = Recording.load(sink.getvalue())
        assert second.lines(">") == first.lines(">")
        assert second.lines("<") == first.lines("<")
        assert second.lines("!") == first.lines("!")

    anyio.run(there_and_back, backend=backend)


async def test_typed_messages_of_a_replay_are_those_of_the_recording_byte_for_byte() -> None:
    initialize = {
        "type": "control_request",
        "request_id": "r1",
        "request": {"subtype": "initialize"},
    }
    recording = told(
        (">", initialize),
        ("<", '{"type":"control_response","response":{"subtype":"success","request_id":"r1"}}'),
        (">", {**PROMPT, "session_id": ""}),
        (
            "<",
            '{ "type" : "assistant","message":{"role":"assistant","content":[]},"x":"\\u00e9"}',
        ),
        ("<", '{"subtype":"success","num_turns":1,"type":"result"}'),
    )
    replay, client = ReplayTransport(recording), Connection(Role.CLIENT, dialect="modern")
    cli = Connection(Role.CLI)
    events = []
    with anyio.fail_after(SOON):
        for line in recording.lines(">"):
            for event in cli.receive_data(line + b"\n"):
                await replay.send(client.send(event))
            events += client.receive_data(await replay.receive())
    assert events == recording.messages()
    assert [event.line for event in events] == recording.lines("<")
    assert [event.raw for event in events] == [json.loads(line) for line in recording.lines("<")]
