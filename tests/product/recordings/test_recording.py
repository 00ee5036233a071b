"""Recording: all lines of a conversation are in the file, in order and without secrets."""

from __future__ import annotations

import errno
import io
import json
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.product.recordings.written import answered, asked, result, said, text, written

from claudewire import OptionsError
from claudewire.errors import TransportClosed
from claudewire.recordings import (
    Direction,
    Recording,
    RecordingEntry,
    RecordingError,
    RecordingTransport,
    read,
)
from claudewire.recordings.recorder import LARGE
from claudewire.transport import MemoryTransport, memory_pair
from claudewire.wire import Answer, AssistantMessage, InitializeResult, InvalidLine, ResultMessage

SOON = 60


def recording(sink: Any, **options: Any) -> tuple[RecordingTransport, MemoryTransport]:
    ours, theirs = memory_pair()
    return RecordingTransport(ours, sink, **{"redactor": False, **options}), theirs


def entries(sink: io.BytesIO) -> list[tuple[Direction | None, bytes | None]]:
    return [(entry.dir, entry.line) for entry in Recording.load(sink.getvalue())]


def content(*objects: Any) -> bytes:
    return b"".join(json.dumps(it).encode() + b"\n" for it in ({"claudewire": 1}, *objects))


# --- recording -----------------------------------------------------------------------------------


@pytest.mark.anyio
async def test_lines_are_recorded_in_their_order_and_bytes_pass_untouched() -> None:
    sink = io.BytesIO()
    app, cli = recording(sink, header={"cli_version": "2.1.325"})
    with anyio.fail_after(SOON):
        await app.send(b'{"a":1}\n{"b"')
        assert await cli.receive() == b'{"a":1}\n{"b"'
        await cli.send(b"one\nt")
        assert await app.receive() == b"one\nt"
        await app.send(b":2}\n")
        cli.send_stderr(b"cut \xff")
        assert await app.receive_stderr() == b"cut \xff"
        await cli.send(b"wo\n")
        assert await app.receive() == b"wo\n"
        await app.send_eof()
        cli.exit(3)
        assert await app.receive() == await app.receive_stderr() == await app.receive() == b""
        assert await app.wait() == await app.wait() == 3
        await app.aclose()
    lines = [json.loads(line) for line in sink.getvalue().splitlines()]
    times = [it.pop("t") for it in lines[1:]]
    assert times == sorted(times)
    assert lines == [
        {"claudewire": 1, "redacted": False, "cli_version": "2.1.325"},
        {"dir": ">", "line": '{"a":1}'},
        {"dir": "<", "line": "one"},
        {"dir": ">", "line": '{"b":2}'},
        {"dir": "<", "line": "two"},
        {"dir": ">", "eof": True},
        {"dir": "<", "eof": True},
        {"dir": "!", "line": "cut \udcff", "partial": True},
        {"dir": "!", "eof": True},
        {"exit": 3},
    ]


@pytest.mark.anyio
async def test_file_is_complete_after_each_line(tmp_path: Path) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_bytes(b"an older one")
    app, _ = recording(path)
    with anyio.fail_after(SOON):
        await app.send(b"one\ntw")
        assert Recording.load(path).lines(">") == [b"one"]
        await app.aclose()
    assert Recording.load(path).lines(">") == [b"one", b"tw"]


@pytest.mark.anyio
async def test_secrets_are_removed_unless_they_are_to_be_kept() -> None:
    argv = ["claude", "--api-key", "opaque", "api-key", "one"]
    for redactor in (True, False):
        sink = io.BytesIO()
        app, _ = recording(sink, header={"argv": argv}, redactor=redactor)
        await app.send(b'{"email":"a@b.org"}\n')
        shown = Recording.load(sink.getvalue())
        if redactor:
            assert shown.header["argv"] == ["claude", "--api-key", "<key-1>", "api-key", "one"]
            assert shown.lines(">") == [b'{"email":"<email-1>"}']
        else:
            assert shown.header == {"redacted": False, "argv": argv}
            assert shown.lines(">") == [b'{"email":"a@b.org"}']


@pytest.mark.anyio
async def test_cancelled_receive_loses_no_bytes() -> None:
    sink, data = io.BytesIO(), b"line\n" * 10_000
    app, cli = recording(sink)
    await cli.send(data)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(app.receive)
            await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()
        assert await app.receive() == data
        await app.aclose()
    assert len(entries(sink)) == 10_000


class FullOnce(io.BytesIO):
    """A disk that is full for one moment."""

    def __init__(self, lost: bytes) -> None:
        super().__init__()
        self._lost = lost

    def write(self, data: Any) -> int:
        if self._lost in data:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(data)


@pytest.mark.anyio
@pytest.mark.parametrize(("lost", "kept"), [(b"lost", 2), (b"claudewire", 0)])
async def test_full_disk_ends_the_recording_alone(
    caplog: pytest.LogCaptureFixture, lost: bytes, kept: int
) -> None:
    sink = FullOnce(lost)
    app, cli = recording(sink)
    for data in (b"one\n", b"lost\n", b"two\n"):
        await app.send(data)
        assert await cli.receive() == data
    assert isinstance(app.failure, OSError)
    await app.aclose()
    assert len(sink.getvalue().splitlines()) == kept
    assert caplog.messages == [f"The recording  is incomplete: {app.failure}"]
    with pytest.raises(TransportClosed):
        await cli.send(b"the transport is closed")


@pytest.mark.anyio
async def test_large_lines_are_recorded_in_order_outside_of_the_loop() -> None:
    sink, threads = io.BytesIO(), set[int]()

    def redact(text: str) -> str:
        if text.startswith("large"):
            threads.add(threading.get_ident())
        return text

    app, cli = recording(sink, redactor=redact)
    large, small = b"large" * LARGE, b"small"
    with anyio.fail_after(SOON):
        await cli.send(large + b"\n")
        await cli.send(small + b"\n")
        await cli.send_eof()
        received = b""
        while data := await app.receive():
            received += data
        cli.send_stderr(large)
        await cli.aclose()
        assert await app.receive_stderr() == large
        with anyio.CancelScope() as scope:
            scope.cancel()
            await app.send(large + b"\n")
        await app.aclose()
    assert received == large + b"\n" + small + b"\n"
    assert threading.get_ident() not in threads
    assert entries(sink) == [
        ("<", large),
        ("<", small),
        ("<", None),
        (">", large),
        ("!", large),
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("exists", [False, True])
async def test_only_this_user_can_read_a_recording(tmp_path: Path, exists: bool) -> None:
    path = tmp_path / "recording.jsonl"
    if exists:
        path.write_bytes(b"older and longer\n" * 10)
        path.chmod(0o644)
    await recording(path)[0].aclose()
    assert path.stat().st_mode & 0o777 == 0o600
    assert Recording.load(path).header == {"redacted": False}


def test_recording_is_not_written_through_a_link(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("important", encoding="utf-8")
    link.symlink_to(target)
    with pytest.raises(OptionsError, match=r"link cannot be written: .*symbolic links"):
        recording(link)
    assert target.read_text(encoding="utf-8") == "important"


# --- reading -------------------------------------------------------------------------------------


def test_recording_is_read_from_a_file_or_its_content(tmp_path: Path) -> None:
    data = content(
        {"t": 0.5, "dir": ">", "line": "a"},
        {"dir": "<", "line": "é\udcff", "partial": True},
        {"t": 1, "dir": "!", "eof": True},
        {"t": 2, "exit": -9, "new": "in a later version"},
    )
    path = tmp_path / "x.jsonl"
    path.write_bytes(data + b'{"t": 3, "di')  # the program ended here
    expected = (
        RecordingEntry(t=0.5, dir=">", line=b"a", number=2),
        RecordingEntry(t=0.5, dir="<", line="é".encode() + b"\xff", partial=True, number=3),
        RecordingEntry(t=1, dir="!", number=4),
        RecordingEntry(t=2, exit=-9, number=5),
    )
    assert Recording.load(path).entries == Recording.load(data).entries == expected
    assert [entry.eof for entry in expected] == [False, False, True, False]


@pytest.mark.parametrize(
    ("data", "number", "reason"),
    [
        (b"", 1, "no header"),
        (b'{"claudewire": 9}\n', 1, "version 9"),
        (b"[1]\n", 1, "expected an object"),
        (content() + b"hello\n", 2, "not JSON"),
        (content({"dir": "<"}), 2, '"dir" with one "line"'),
        (content({"dir": "?", "line": ""}), 2, "Invalid enum value"),
        (content({"t": "now", "exit": 1}), 2, "Expected `float | null`"),
    ],
)
def test_damaged_recording_is_refused_with_its_line(
    tmp_path: Path, data: bytes, number: int, reason: str
) -> None:
    with pytest.raises(RecordingError) as caught:
        Recording.load(data)
    assert caught.value.number == number
    assert reason in str(caught.value)
    path = tmp_path / "other.txt"
    path.write_bytes(data)
    with pytest.raises(OptionsError, match=r"other\.txt is not a recording, or is damaged") as info:
        read(path)
    assert "claudewire record" in info.value.advice


def test_plain_output_of_a_cli_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    lines = [json.dumps(it) for it in (said(text("Hi")), result())]
    path.write_text("\n\n".join(lines), encoding="utf-8")
    assert [(it.dir, it.text, it.number) for it in read(path)] == [
        ("<", lines[0], 1),
        ("<", lines[1], 3),
    ]
    with pytest.raises(OptionsError, match=r"nowhere cannot be read: No such file"):
        read(tmp_path / "nowhere")


def test_messages_are_those_that_the_application_got() -> None:
    recording = written(
        (0, ">", asked("1", "initialize")),
        (0, "<", answered("1", commands=[])),
        (0, "<", said(text("Hi"))),
        (0, "!", "a warning"),
        (0, "<", result()),
        (0, "<", "noise"),
    )
    answer, *others = recording.messages()
    assert isinstance(answer, Answer)
    assert isinstance(answer.body, InitializeResult)
    assert [type(event) for event in others] == [AssistantMessage, ResultMessage, InvalidLine]
    assert [event.line for event in recording.messages()] == recording.lines("<")
