"""Recordings: what goes through is written down, whole and without secrets, and can be read."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.errors import TransportClosed
from claudewire.transport import (
    Direction,
    MemoryTransport,
    Recording,
    RecordingEntry,
    RecordingTransport,
    memory_pair,
)
from claudewire.transport import RecordingError as Refused
from claudewire.transport.recording import Recorder
from claudewire.wire import (
    Answer,
    AssistantMessage,
    Error,
    InitializeResult,
    Noise,
    Request,
    ResultMessage,
    Stray,
)

pytestmark = pytest.mark.usefixtures("no_file_left_open")

SOON = 60


def ticks() -> Callable[[], float]:
    """A clock that counts how often it is read."""
    now = iter(range(100, 10_000))
    return lambda: float(next(now))


def recorded(sink: io.BytesIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in sink.getvalue().split(b"\n")[:-1]]


def recording(
    sink: io.BytesIO | Path | str, **options: Any
) -> tuple[RecordingTransport, MemoryTransport]:
    ours, theirs = memory_pair()
    options = {"redactor": False, "clock": ticks(), **options}
    return RecordingTransport(ours, sink, **options), theirs


def content(*objects: Any) -> bytes:
    lines = [{"claudewire": 1}, *objects]
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


# --- recording -----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_bytes_pass_untouched_and_lines_are_recorded_in_the_order_they_were_seen() -> None:
    sink = io.BytesIO()
    app, cli = recording(sink, header={"cli_version": "2.1.325"})
    with anyio.fail_after(SOON):
        await app.send(b'{"a":1}\n{"b"')
        assert await cli.receive() == b'{"a":1}\n{"b"'
        await cli.send(b"one\nt")
        assert await app.receive() == b"one\nt"
        await app.send(b":2}\n")
        cli.send_stderr(b"oh\n")
        assert await app.receive_stderr() == b"oh\n"
        await cli.send(b"wo\n")
        assert await app.receive() == b"wo\n"
        await app.send_eof()
        assert await cli.receive() == b":2}\n"
        assert await cli.receive() == b""
        cli.exit(3)
        assert await app.receive() == await app.receive_stderr() == await app.receive() == b""
        assert await app.wait() == await app.wait() == 3
        await app.aclose()
    assert recorded(sink) == [
        {"claudewire": 1, "redacted": False, "cli_version": "2.1.325"},
        {"t": 1.0, "dir": ">", "line": '{"a":1}'},
        {"t": 2.0, "dir": "<", "line": "one"},
        {"t": 3.0, "dir": ">", "line": '{"b":2}'},
        {"t": 4.0, "dir": "!", "line": "oh"},
        {"t": 5.0, "dir": "<", "line": "two"},
        {"t": 6.0, "dir": ">", "eof": True},
        {"t": 7.0, "dir": "<", "eof": True},
        {"t": 8.0, "dir": "!", "eof": True},
        {"t": 9.0, "exit": 3},
    ]


@pytest.mark.anyio
async def test_a_last_line_without_a_newline_is_marked() -> None:
    sink = io.BytesIO()
    app, cli = recording(sink)
    with anyio.fail_after(SOON):
        await app.send(b"half")
        await app.send_eof()
        await cli.send(b"\xff\xc3")
        await app.receive()
        await cli.send_eof()
        await app.receive()
        cli.send_stderr(b"cut")
        await app.receive_stderr()
        await app.aclose()
    assert recorded(sink)[1:] == [
        {"t": 1.0, "dir": ">", "line": "half", "partial": True},
        {"t": 2.0, "dir": ">", "eof": True},
        {"t": 3.0, "dir": "<", "line": "\udcff\udcc3", "partial": True},
        {"t": 4.0, "dir": "<", "eof": True},
        {"t": 5.0, "dir": "!", "line": "cut", "partial": True},
    ]


@pytest.mark.anyio
async def test_the_file_is_complete_after_each_line_and_closed_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"an older one")
    app, cli = recording(path)
    with anyio.fail_after(SOON):
        assert len(Recording.load(path)) == 0
        await app.send(b"one\ntw")
        assert Recording.load(str(path)).lines(">") == [b"one"]
        await app.send(b"o\n")
        assert Recording.load(path).lines(">") == [b"one", b"two"]
        await app.aclose()
        await app.aclose()
        before = path.read_bytes()
        for call in (app.receive, app.receive_stderr, app.wait, app.send_eof):
            await call()
        with pytest.raises(TransportClosed):
            await app.send(b"late\n")
        assert path.read_bytes() == before
        assert await cli.receive() == b"one\ntwo\n"


@pytest.mark.anyio
async def test_a_file_that_was_given_stays_open() -> None:
    sink = io.BytesIO()
    app, _ = recording(sink)
    with anyio.fail_after(SOON):
        await app.aclose()
    assert not sink.closed


@pytest.mark.anyio
async def test_a_send_that_fails_was_still_tried() -> None:
    sink = io.BytesIO()
    app, cli = recording(sink)
    cli.exit(1)
    with anyio.fail_after(SOON):
        with pytest.raises(TransportClosed):
            await app.send(b"x\n")
    assert Recording.load(sink.getvalue()).lines(">") == [b"x"]


def test_secrets_are_redacted_unless_that_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/samuel")
    header = {
        "argv": ["claude", "--api-key", "opaque", "--x", "/home/samuel/y"],
        "cwd": "/home/samuel",
    }
    line = '{"cwd":"/home/samuel","email":"a@b.org"}'
    shown = {}
    for redactor in (True, False, str.upper):
        sink = io.BytesIO()
        recorder = Recorder(sink, header={} if redactor is str.upper else header, redactor=redactor)
        recorder.feed(">", line.encode() + b"\n")
        shown[redactor] = Recording.load(sink.getvalue())
    assert shown[True].header == {
        "redacted": True,
        "argv": ["claude", "--api-key", "<key-1>", "--x", "~/y"],
        "cwd": "~",
    }
    assert shown[True].lines(">") == [b'{"cwd":"~","email":"<email-1>"}']
    assert shown[False].header == {"redacted": False, **header}
    assert shown[False].lines(">") == [line.encode()]
    assert shown[str.upper].lines(">") == [line.upper().encode()]


def test_an_argument_is_a_secret_only_behind_an_option_that_says_so() -> None:
    sink = io.BytesIO()
    argv = ("api-key", "one", "--api-key", "two", "three", "-x", "four")
    Recorder(sink, header={"argv": argv, "about": "argv"})
    shown = ["api-key", "one", "--api-key", "<key-1>", "three", "-x", "four"]
    assert Recording.load(sink.getvalue()).header == {
        "redacted": True,
        "argv": shown,
        "about": "argv",
    }


def test_a_secret_of_several_lines_is_redacted_in_each_direction_by_itself() -> None:
    sink = io.BytesIO()
    recorder = Recorder(sink)
    recorder.feed("!", b"-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\n")
    recorder.feed("<", b"MIIEvQIBADANBgkqhkiG\n")
    recorder.feed("!", b"-----END PRIVATE KEY-----\ndone\n")
    shown = Recording.load(sink.getvalue())
    assert b"MIIE" not in b"".join(shown.lines("!"))
    assert shown.lines("!")[-1] == b"done"
    assert shown.lines("<") == [b"MIIEvQIBADANBgkqhkiG"]


def test_time_is_kept_in_microseconds() -> None:
    sink, times = io.BytesIO(), iter([100.0, 100.123456789, 101.9999996])
    recorder = Recorder(sink, clock=lambda: next(times))
    recorder.feed("<", b"a\n")
    recorder.exit(0)
    assert [it["t"] for it in recorded(sink)[1:]] == [0.123457, 2.0]


def test_time_is_kept_by_the_machine_unless_told() -> None:
    sink = io.BytesIO()
    recorder = Recorder(sink)
    recorder.exit(None)
    (entry,) = Recording.load(sink.getvalue())
    assert entry.t >= 0
    assert (entry.dir, entry.exit) == (None, None)


# --- reading -------------------------------------------------------------------------------------

ENTRIES = (
    {"t": 0.5, "dir": ">", "line": "a"},
    {"dir": "<", "line": "é\udcff", "partial": True},
    {"t": 1, "dir": "!", "eof": True},
    {"t": 2, "exit": -9, "new": "in some later version"},
)


def test_a_recording_is_read_from_a_file_its_content_or_its_lines(tmp_path: Path) -> None:
    data = content(*ENTRIES)
    path = tmp_path / "x.jsonl"
    path.write_bytes(data)
    expected = Recording(
        (
            RecordingEntry(t=0.5, dir=">", line=b"a", number=2),
            RecordingEntry(t=0.5, dir="<", line=b"\xc3\xa9\xff", partial=True, number=3),
            RecordingEntry(t=1, dir="!", number=4),
            RecordingEntry(t=2, exit=-9, number=5),
        )
    )
    for source in (path, str(path), data, data[:-1], data.splitlines(), data.decode().split("\n")):
        assert Recording.load(source) == expected
    assert len(expected) == 4
    assert list(expected) == list(expected.entries)
    assert [entry.eof for entry in expected] == [False, False, True, False]
    assert [entry.data for entry in expected][:2] == [b"a\n", b"\xc3\xa9\xff"]


def test_empty_lines_do_not_count_but_are_counted() -> None:
    data = b'\n{"claudewire":1}\n\n{"dir":">","line":"a"}\n'
    assert [entry.number for entry in Recording.load(data)] == [4]


def test_a_line_without_a_time_has_that_of_the_line_before_it() -> None:
    lines = ['{"claudewire":1}', '{"dir":">","line":"a"}', '{"t":2,"exit":0}', '{"exit":0}']
    assert [entry.t for entry in Recording.load(lines)] == [0.0, 2, 2]


def test_half_a_line_at_the_end_is_left_out() -> None:
    data = content(*ENTRIES)
    for cut in range(len(content()) + 1, len(data)):
        whole = data[: cut + 1].count(b"\n") - 1  # a newline says only that a line is whole
        assert len(Recording.load(data[:cut])) == whole
    assert len(Recording.load(content() + b"[" * 100_000)) == 0


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b"", 1, "no header"),
        (b"garbage", 1, "no header"),
        (b"garbage\n", 1, "not JSON"),
        (b"[1]\n", 1, "expected an object"),
        (b"[" * 100_000 + b"\n", 1, "not JSON"),
        (b'{"dir": ">", "line": "x"}\n', 1, "no header"),
        (b'{"claudewire": 2}\n', 1, "version 2"),
        (content() + b"nope\n" + content(), 2, "not JSON"),
        (content({"t": "1", "exit": 0}), 2, '"t" must be a number'),
        (content({"t": True, "exit": 0}), 2, '"t" must be a number'),
        (content({"t": float("nan"), "exit": 0}), 2, '"t" must be a number'),
        (content({"exit": 0}, {"exit": "1"}), 3, '"exit" must be a whole number'),
        (content({"exit": True}), 2, '"exit" must be a whole number'),
        (content({"line": "x"}), 2, '"dir" must be'),
        (content({"dir": ["<"], "line": "x"}), 2, '"dir" must be'),
        (content({"dir": "<"}), 2, '"line" must be a string'),
        (content({"dir": "<", "line": "a\nb"}), 2, "without a newline"),
        (content({"dir": "<", "line": "\ud800"}), 2, "not what bytes can be read as"),
    ],
)
def test_what_is_no_recording_is_refused_with_the_line(
    data: bytes, number: int, reason: str
) -> None:
    with pytest.raises(Refused, match=f"Line {number} of the recording: .*{reason}") as caught:
        Recording.load(data)
    assert caught.value.number == number
    assert reason in caught.value.reason
    assert isinstance(caught.value, Error)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({}, {}),
        ({"cut": 7, "partial": True}, {"cut": 7, "partial": True}),
        ({"cut": "many", "partial": 1}, {}),
        ({"cut": True, "partial": "yes"}, {}),
        ({"cut": None, "partial": None, "eof": 1}, {}),
        ({"cut": 1.5, "eof": "yes"}, {}),
        ({"eof": True, "cut": 7}, {"line": None}),
        ({"line": ""}, {"line": b""}),
    ],
)
def test_what_has_another_type_than_it_must_have_says_nothing(
    given: dict[str, Any], kept: dict[str, Any]
) -> None:
    (entry,) = Recording.load(content({"t": 1, "dir": "<", "line": "a", **given}))
    assert entry == RecordingEntry(**{"t": 1, "dir": "<", "line": b"a", "number": 2, **kept})


def test_a_file_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Recording.load(tmp_path / "missing")


# --- messages ------------------------------------------------------------------------------------

TALK: list[tuple[Direction, Any]] = [
    (">", {"type": "control_request", "request_id": "r1", "request": {"subtype": "initialize"}}),
    (
        "<",
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "r1", "response": {"commands": []}},
        },
    ),
    (">", {"type": "user", "message": {"role": "user", "content": "hi"}, "uuid": "u1"}),
    ("!", "a warning"),
    (
        "<",
        {
            "type": "control_request",
            "request_id": "p1",
            "request": {"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"}},
        },
    ),
    (
        ">",
        {
            "type": "control_response",
            "response": {
                "subtype": "success",
                "request_id": "p1",
                "response": {"behavior": "allow", "updatedInput": {"command": "ls"}},
            },
        },
    ),
    ("<", {"type": "assistant", "message": {"role": "assistant", "content": [], "model": "m"}}),
    ("<", {"type": "result", "subtype": "success", "num_turns": 1, "session_id": "s"}),
    (
        "<",
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "r1", "response": {}},
        },
    ),
    ("<", "not JSON"),
    # What is written to stderr asks nothing.
    ("!", {"type": "control_request", "request_id": "e1", "request": {"subtype": "initialize"}}),
    (
        "<",
        {
            "type": "control_response",
            "response": {"subtype": "success", "request_id": "e1", "response": {}},
        },
    ),
]


def talk() -> Iterator[RecordingEntry]:
    for t, (direction, said) in enumerate(TALK):
        text = said if isinstance(said, str) else json.dumps(said)
        yield RecordingEntry(t=float(t), dir=direction, line=text.encode())
    yield RecordingEntry(t=99.0, dir="<")


def test_what_the_cli_wrote_can_be_had_as_the_application_would_have_got_it() -> None:
    told = Recording(tuple(talk()))
    events = told.messages()
    kinds = [Answer, Request, AssistantMessage, ResultMessage, Stray, Noise, Stray]
    assert [type(event) for event in events] == kinds
    assert [event.line for event in events] == told.lines("<")
    answer = events[0]
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, InitializeResult)


# --- there and back ------------------------------------------------------------------------------

_directions: st.SearchStrategy[Direction] = st.sampled_from([">", "<", "!"])


@given(st.lists(st.tuples(_directions, st.binary(max_size=8)), max_size=20), st.booleans())
def test_every_byte_can_be_read_again(chunks: list[tuple[Direction, bytes]], ends: bool) -> None:
    sink = io.BytesIO()
    recorder = Recorder(sink, redactor=False)
    for direction, chunk in chunks:
        recorder.feed(direction, chunk)
    if ends:
        recorder.end("<")
    recorder.close()
    loaded = Recording.load(sink.getvalue())
    for direction in (">", "<", "!"):
        sent = b"".join(chunk for one, chunk in chunks if one == direction)
        entries = [e for e in loaded if e.dir == direction and e.line is not None]
        assert b"".join(entry.data for entry in entries) == sent
        assert not any(entry.partial for entry in entries[:-1])
    assert loaded.dump() == sink.getvalue()


# --- who can read it -----------------------------------------------------------------------------


@pytest.mark.parametrize("exists", [False, True])
def test_only_this_user_can_read_a_recording(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "recording.jsonl"
    if exists:
        path.write_bytes(b"something longer that was there before, and is overwritten\n" * 10)
        path.chmod(0o644)
    Recorder(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert Recording.load(path).header == {"redacted": True}


def test_a_recording_is_not_written_through_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("important", encoding="utf-8")
    link.symlink_to(target)
    with pytest.raises(OSError, match="not written through a symbolic link") as caught:
        Recorder(link)
    assert (caught.value.errno, caught.value.filename) == (errno.ELOOP, str(link))
    assert target.read_text(encoding="utf-8") == "important"


def test_a_file_of_another_user_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text("theirs", encoding="utf-8")
    monkeypatch.setattr("os.geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(PermissionError, match="belongs to another user") as caught:
        Recorder(path)
    assert caught.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "theirs"


def test_a_file_that_cannot_be_opened_is_reported_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=os.strerror(errno.EISDIR)):
        Recorder(tmp_path)
    with pytest.raises(ValueError, match="null"):
        Recorder("a\0b")


def test_what_is_no_file_can_be_recorded_to_and_keeps_its_mode(tmp_path: Path) -> None:
    """Not a device: with a fault, and as root, the test would change it for the whole system."""
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o644)
    before = path.stat().st_mode
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        Recorder(path).close()
    finally:
        os.close(reader)
    assert path.stat().st_mode == before


# --- how much there can be -----------------------------------------------------------------------


def test_of_an_endless_line_only_the_beginning_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claudewire.transport.recording.LONGEST", 10_000)
    sink = io.BytesIO()
    recorder = Recorder(sink)
    recorder.feed("<", b"sk-ant-12345 ")
    for _ in range(100):
        recorder.feed("<", b"x" * 1000)
        buffer = recorder._lines["<"]._buffer
        assert buffer is not None
        assert sys.getsizeof(buffer) <= 11_000
    recorder.feed("<", b"\nnext\n")
    recorder.close()
    _, long, after = recorded(sink)
    assert (long["cut"], after["line"]) == (100_013, "next")
    assert long["line"].startswith("<key-1> xxx")
    assert len(long["line"]) < 2000
    entry, _ = Recording.load(sink.getvalue()).entries
    assert entry.cut == 100_013
    assert json.loads(entry.dump())["cut"] == 100_013


def threads_of(redacted: list[int]) -> Callable[[str], str]:
    """A redactor that remembers in which threads it was used."""

    def redact(text: str) -> str:
        redacted.append(threading.get_ident())
        return text

    return redact


@pytest.mark.anyio
async def test_much_is_looked_through_in_a_thread_and_little_at_once() -> None:
    sink, threads = io.BytesIO(), list[int]()
    transport, peer = recording(sink, redactor=threads_of(threads))
    threads.clear()
    await peer.send(b"little\n")
    assert await transport.receive() == b"little\n"
    much = b"much\n" * 10_000
    await peer.send(much)
    assert await transport.receive() == much
    await peer.send(b"x" * 100_000)
    assert await transport.receive() == b"x" * 100_000
    here = threading.get_ident()
    assert threads[0] == here
    assert here not in threads[1:]
    await transport.aclose()
    assert [it["line"] for it in recorded(sink)[1:4]] == ["little", "much", "much"]
    assert len(recorded(sink)) == 10_003


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("chunks", "in_thread"),
    [
        ([b"x" * 8191 + b"\n"], False),
        ([b"x" * 8192 + b"\n"], True),
        ([b"x" * 8000, b"x" * 191 + b"\n"], False),
        ([b"x" * 8000, b"x" * 192 + b"\n"], True),
        ([b"x" * 8000 + b"\n", b"x" * 8000 + b"\n"], False),
    ],
)
async def test_how_much_is_much(chunks: list[bytes], in_thread: bool) -> None:
    sink, threads = io.BytesIO(), list[int]()
    transport, peer = recording(sink, redactor=threads_of(threads))
    threads.clear()
    with anyio.fail_after(SOON):
        for chunk in chunks:
            await peer.send(chunk)
            assert await transport.receive() == chunk
        await transport.aclose()
    assert {it != threading.get_ident() for it in threads} == {in_thread}
    assert b"".join(it + b"\n" for it in Recording.load(sink.getvalue()).lines("<")) == b"".join(
        chunks
    )


class Slow:
    """A redactor that does not go on until it may."""

    def __init__(self) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()

    def __call__(self, text: str) -> str:
        if text == "slow":
            self.begun.set()
            assert self.may_go_on.wait(SOON)
        return text


@pytest.mark.anyio
async def test_what_is_sent_meanwhile_is_sent_at_once_and_recorded_in_its_place() -> None:
    sink, slow = io.BytesIO(), Slow()
    transport, peer = recording(sink, redactor=slow)
    data = b"slow\n" + b"fast\n" * 2000
    await peer.send(data)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(transport.receive)
            await anyio.to_thread.run_sync(slow.begun.wait)
            await transport.send(b"answer\n")
            assert await peer.receive() == b"answer\n"
            slow.may_go_on.set()
        await transport.aclose()
    lines = [it["line"] for it in recorded(sink)[1:]]
    assert lines == ["slow", *["fast"] * 2000, "answer"]


@pytest.mark.anyio
async def test_what_is_recorded_later_has_the_time_at_which_it_came() -> None:
    sink, slow, now = io.BytesIO(), Slow(), [0.0]
    transport, peer = recording(sink, redactor=slow, clock=lambda: now[0])
    await peer.send(b"slow\n" + b"fast\n" * 2000)
    now[0] = 1.0
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(transport.receive)
            await anyio.to_thread.run_sync(slow.begun.wait)
            now[0] = 2.0
            await transport.send(b"answer\n")
            peer.send_stderr(b"warning\n")
            await transport.receive_stderr()
            now[0] = 3.0
            slow.may_go_on.set()
        await transport.send(b"more\n")
        await transport.aclose()
    times = [(it["line"], it["t"]) for it in recorded(sink)[1:]]
    assert times[:2] == [("slow", 1.0), ("fast", 1.0)]
    assert times[2000:] == [("fast", 1.0), ("answer", 2.0), ("warning", 2.0), ("more", 3.0)]


@pytest.mark.anyio
async def test_a_recording_is_finished_although_its_end_is_cancelled() -> None:
    sink, slow = io.BytesIO(), Slow()
    transport, peer = recording(sink, redactor=slow)
    await peer.send(b"slow\n" + b"fast\n" * 2000)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(transport.receive)
            await anyio.to_thread.run_sync(slow.begun.wait)
            group.cancel_scope.cancel()
        async with anyio.create_task_group() as group:
            group.start_soon(transport.aclose)
            await anyio.wait_all_tasks_blocked()
            group.cancel_scope.cancel()
            slow.may_go_on.set()
        assert len(recorded(sink)) == 2002
        with pytest.raises(TransportClosed):
            await peer.send(b"more")


@pytest.mark.anyio
async def test_nothing_is_lost_if_the_reader_is_cancelled_meanwhile() -> None:
    sink, slow = io.BytesIO(), Slow()
    transport, peer = recording(sink, redactor=slow)
    data = b"slow\n" + b"fast\n" * 2000
    await peer.send(data)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as group:
            group.start_soon(transport.receive)
            await anyio.to_thread.run_sync(slow.begun.wait)
            group.cancel_scope.cancel()
        assert await transport.receive() == data
        async with anyio.create_task_group() as group:
            group.start_soon(transport.aclose)  # which waits until all of it is recorded
            slow.may_go_on.set()
    assert len(recorded(sink)) == 2002


@pytest.mark.anyio
async def test_a_recording_that_cannot_be_written_in_a_thread_is_an_error_from_then_on() -> None:
    failures = count(1)

    def broken(text: str) -> str:
        if text == "x":
            raise RuntimeError(f"no disk {next(failures)}")
        return text

    transport, peer = recording(io.BytesIO(), redactor=broken)
    await peer.send(b"x\n" * 10_000)
    with pytest.raises(RuntimeError, match=r"no disk 1$"):
        await transport.receive()
    assert next(failures) == 4  # each piece was tried
    with pytest.raises(RuntimeError, match=r"no disk 1$"):
        await transport.send(b"more")
    with pytest.raises(RuntimeError, match=r"no disk 1$"):
        await transport.aclose()


class FullOnce(io.BytesIO):
    """A disk that is full for one moment."""

    def write(self, data: Any) -> int:
        if b"lost" in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.anyio
async def test_nothing_is_recorded_after_what_could_not_be() -> None:
    sink = FullOnce()
    transport, peer = recording(sink)
    await transport.send(b"one\n")
    for data in (b"lost\n", b"two\n"):
        with pytest.raises(OSError, match="No space left"):
            await transport.send(data)
    await peer.send(b"three\n" * 10_000)
    with pytest.raises(OSError, match="No space left"):
        await transport.receive()
    with pytest.raises(OSError, match="No space left"):
        await transport.send_eof()
    with pytest.raises(OSError, match="No space left"):
        await transport.aclose()
    assert [it["line"] for it in recorded(sink)[1:]] == ["one"]
    with pytest.raises(TransportClosed):
        await peer.send(b"more")
