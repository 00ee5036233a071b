"""Replay: the recorded CLI answers again, as long as the application repeats its lines."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any, cast

import anyio
import pytest

from claudewire.errors import TransportClosed
from claudewire.recordings import (
    Direction,
    Match,
    Recording,
    RecordingEntry,
    ReplayMismatch,
    ReplayTransport,
    ReplayUnfinished,
)

SOON = 60

pytestmark = pytest.mark.anyio


def told(*lines: tuple[str, Any], **header: Any) -> Recording:
    """A recording: each line as text, bytes or JSON; None for the end, `("exit", n)`."""
    entries = []
    for index, (direction, line) in enumerate(lines):
        more: dict[str, Any] = {"t": float(index), "number": index + 2}
        if direction == "exit":
            more["exit"] = line
        else:
            more |= {"dir": cast("Direction", direction), "line": _bytes(line)}
        entries.append(RecordingEntry(**more))
    return Recording(tuple(entries), header)


def _bytes(line: Any) -> bytes | None:
    if line is None or isinstance(line, bytes):
        return line
    return (line if isinstance(line, str) else json.dumps(line)).encode()


def sent(line: Any) -> bytes:
    return (_bytes(line) or b"") + b"\n"


async def mismatch(recording: Recording, *lines: Any, match: Match = "strict") -> ReplayMismatch:
    """Send all lines, None for the end; the last one must be refused."""
    replay = ReplayTransport(recording, match=match)
    with anyio.fail_after(SOON):
        for line in lines[:-1]:
            await replay.send(sent(line))
        with pytest.raises(ReplayMismatch) as caught:
            await (replay.send_eof() if lines[-1] is None else replay.send(sent(lines[-1])))
    return caught.value


async def accepts(recording: Recording, *lines: Any, match: Match = "strict") -> bytes:
    """Send all lines and return the output of the CLI."""
    replay = ReplayTransport(recording, match=match)
    output = b""
    with anyio.fail_after(SOON):
        for line in lines:
            await replay.send(sent(line))
        await replay.send_eof()
        while data := await replay.receive():
            output += data
        await replay.aclose()
        replay.finish()
    return output


PROMPT = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "hi"}}
ASK = {"type": "control_request", "request_id": "p1", "request": {"subtype": "can_use_tool"}}
RESULT = {"type": "result", "subtype": "success", "user_message_uuid": "u1"}
LONG = "0d9cd9d4-6c11-4a5e-8a3b-0f2c7a1f9e01"

# --- playing -------------------------------------------------------------------------------------


async def test_cli_writes_each_line_after_those_sent_before_it() -> None:
    lines = [("<", "first"), (">", PROMPT), ("!", "warning"), ("<", ASK), (">", "yes")]
    ends = [("<", "last"), (">", None), ("<", None), ("exit", 3)]
    replay = ReplayTransport(told(*lines, *ends))
    with anyio.fail_after(SOON):
        assert await replay.receive() == b"first\n"
        with anyio.CancelScope() as scope:
            scope.cancel()
            await replay.receive()
        await replay.send(sent(PROMPT))
        assert await replay.receive() == sent(ASK)
        assert await replay.receive_stderr() == b"warning\n"
        await replay.send(b"ye")
        await replay.send(b"s\n")
        assert await replay.receive() == b"last\n"
        await replay.send_eof()
        assert await replay.receive() == await replay.receive_stderr() == b""
        assert await replay.wait() == await replay.wait() == 3
        replay.finish()
        with pytest.raises(TransportClosed):
            await replay.send(b"more\n")
        await replay.aclose()


async def test_waiting_calls_are_woken_when_the_application_sends() -> None:
    replay = ReplayTransport(told((">", "go"), ("<", "out"), ("!", "err"), ("exit", 0)))
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


async def test_closed_replay_names_the_lines_that_were_not_sent() -> None:
    replay = ReplayTransport(told(("<", "unread"), (">", "x"), ("exit", 1)))
    with anyio.fail_after(SOON):
        await replay.aclose()
        assert await replay.receive() == b""
        assert await replay.wait() is None
    with pytest.raises(ReplayUnfinished, match=r"1 recorded .* line 3 of .*: x") as caught:
        replay.finish()
    assert [entry.number for entry in caught.value.unsent] == [3]


# --- ids -----------------------------------------------------------------------------------------


async def test_ids_of_the_application_replace_the_recorded_ones() -> None:
    recording = told(
        (">", {"type": "control_request", "request_id": "r1", "hooks": [{"callbackIds": ["h0"]}]}),
        ("<", '{ "response":{"request_id": "r1","x":1}, "callback_id":"h0", "session_id":"s1" }'),
        (">", {**PROMPT, "uuid": LONG, "session_id": "s1"}),
        ("<", {"still_queued": [LONG, "other"], "path": f"/x/{LONG}.jsonl"}),
        (">", {"cancel": f"about {LONG}", "message_uuid": LONG, "request_id": "r1"}),
        ("<", RESULT),
    )
    mine = "my-own-id-for-this-message"
    output = await accepts(
        recording,
        {"type": "control_request", "request_id": "1", "hooks": [{"callbackIds": ["mine"]}]},
        {**PROMPT, "uuid": mine, "session_id": "s1"},
        {"cancel": f"about {mine}", "message_uuid": mine, "request_id": "1"},
    )
    assert output.splitlines() == [
        b'{ "response":{"request_id": "1","x":1}, "callback_id":"mine", "session_id":"s1" }',
        _bytes({"still_queued": [mine, "other"], "path": f"/x/{mine}.jsonl"}),
        _bytes(RESULT),
    ]


async def test_id_given_in_another_way_replaces_the_recorded_one() -> None:
    recording = told(("<", {"session_id": "then"}), (">", {"session_id": "then"}))
    replay = ReplayTransport(recording, ids={"then": "now"})
    with anyio.fail_after(SOON):
        assert await replay.receive() == sent({"session_id": "now"})
        await replay.send(sent({"session_id": "now"}))
        replay.finish()


@pytest.mark.parametrize(
    ("recorded", "wrong"),
    [
        ("p1", "p2"),  # the CLI asked as p1, and nobody else may be answered
        ("r1", "p1"),  # an id of the application that is one of the CLI's
        ("r1", "mine"),  # it stands for another one already
        ("u1", "other"),  # it has been called otherwise before
    ],
)
async def test_id_that_stands_for_another_is_a_mismatch(recorded: str, wrong: str) -> None:
    recording = told((">", PROMPT), ("<", ASK), (">", {"request_id": recorded}))
    error = await mismatch(recording, {**PROMPT, "uuid": "mine"}, {"request_id": wrong})
    assert error.path == "$.request_id"


# --- comparing -----------------------------------------------------------------------------------


async def test_mismatch_shows_its_place_and_both_sides() -> None:
    recording = told((">", PROMPT), ("<", ASK), (">", {"uuid": "u2", "a": [1, {"b": "then"}]}))
    error = await mismatch(
        recording, {**PROMPT, "uuid": "mine"}, {"a": [1, {"b": "now"}], "uuid": "v2"}
    )
    assert (error.number, error.path) == (4, "$.a[1].b")
    assert json.loads(error.expected or "")["uuid"] == "v2"
    assert str(error) == (
        'Line 4 of the recording: at $.a[1].b: "then" was recorded, "now" was sent'
    )


@pytest.mark.parametrize(
    ("recorded", "got", "reason"),
    [
        ({"a": 1}, {"a": True}, "at $.a: 1 was recorded, true was sent"),
        ({"a": None}, {}, "at $.a: null was recorded, nothing was sent"),
        ({}, {"a": None}, "at $.a: nothing was recorded, null was sent"),
        ([1, 2], [1], "at $.length: 2 was recorded, 1 was sent"),
        ("text", "other", 'at $: "text" was recorded, "other" was sent'),
        ({"a": "x" * 999 + "1"}, {"a": "x" * 999 + "2"}, 'xxx1" was recorded, …xxx'),
    ],
)
async def test_other_json_is_a_mismatch(recorded: Any, got: Any, reason: str) -> None:
    error = await mismatch(told((">", recorded)), got)
    assert reason in str(error)
    assert len(str(error)) < 600


async def test_more_or_fewer_lines_than_recorded_are_a_mismatch() -> None:
    error = await mismatch(told((">", "a")), "a", "b")
    assert error.number is None
    assert str(error).startswith("The end of the recording: the application had sent nothing more")
    error = await mismatch(told((">", "a"), (">", "b")), "a", None)
    assert (error.number, error.expected, error.got) == (3, "b", None)
    assert "ended its input instead of sending this" in str(error)


async def test_every_call_after_a_mismatch_raises_it() -> None:
    replay = ReplayTransport(told((">", "a"), ("<", "b")))
    errors: list[ReplayMismatch] = []

    async def note(call: Callable[[], Awaitable[object]]) -> None:
        with pytest.raises(ReplayMismatch) as caught:
            await call()
        errors.append(caught.value)

    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note, replay.receive)
            await anyio.wait_all_tasks_blocked()
            await note(lambda: replay.send(b"x\ny"))
        for call in (replay.wait, replay.send_eof, lambda: replay.send(b"a\n")):
            await note(call)
        await replay.aclose()
    with pytest.raises(ReplayMismatch) as caught:
        replay.finish()
    assert {*errors} == {caught.value}


async def test_loose_ignores_empty_and_new_fields() -> None:
    recorded = {"a": {"b": [{"c": None}]}, "d": False, "e": "", "f": []}
    got = {"a": {"b": [{"new": 0}]}, "more": {"x": [1]}}
    await accepts(told((">", recorded)), got, match="loose")
    await mismatch(told((">", recorded)), got)
    for before, after in (({"a": 0}, {}), ({"a": 1}, {"a": 2}), ({"a": [1]}, {"a": [1, 2]})):
        await mismatch(told((">", before)), after, match="loose")


async def test_loose_takes_lines_in_any_order_while_the_cli_is_silent() -> None:
    recording = told((">", "1"), (">", "2"), ("<", "a"), (">", "3"), (">", None))
    assert await accepts(recording, "2", "1", "3", match="loose") == b"a\n"
    await mismatch(recording, "2")
    assert (await mismatch(recording, "2", "3", match="loose")).number == 2


async def test_none_only_counts_lines() -> None:
    recording = told((">", {"request_id": "1"}), ("<", {"request_id": "1"}), (">", "x"))
    output = await accepts(recording, {"request_id": "9", "more": 1}, "y", "z", match="none")
    assert output == sent({"request_id": "9"})


async def test_secrets_match_their_placeholders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/mary")
    line = {"cwd": "~/x", "env": {"apiKey": "<key-2>"}, "who": "<email-7>"}
    recording = told((">", line), redacted=True)
    mine = {"cwd": "/home/mary/x", "env": {"apiKey": "mine"}, "who": "me@x.org"}
    await accepts(recording, mine)
    await accepts(recording, line)
    error = await mismatch(recording, {**mine, "cwd": "/home/mary/y"})
    assert error.path == "$.cwd"
    assert "mary" not in f"{error} {error.got}"
    await mismatch(Recording(recording.entries), mine)
