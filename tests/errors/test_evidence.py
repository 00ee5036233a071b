"""What an error can show: the last lines both ways, the end of stderr, how it ended, no secrets."""

from __future__ import annotations

import signal
from typing import Any

import pytest
from tests.helpers import messages as saying

from claudewire.errors import (
    Cause,
    CLIError,
    CLINotFoundError,
    Evidence,
    EvidenceLog,
    RequestTimeout,
    SessionClosed,
)
from claudewire.errors.evidence import LINE, LINES, MARGIN, STDERR
from claudewire.errors.exceptions import how_it_ended
from claudewire.wire import Connection, Event, Role

SECRET = "sk-ant-api03-" + "a" * 40


def received(*texts: str) -> list[Event]:
    cli, client = Connection(Role.CLI), Connection(Role.CLIENT)
    return [event for it in texts for event in client.receive_data(cli.send(saying.text(it)))]


def test_the_last_lines_are_kept_each_way() -> None:
    log = EvidenceLog(("claude", "--verbose"), 42)
    log.note_received(received(*(f"word {number}" for number in range(LINES + 5))))
    assert len(log.evidence().received) == LINES
    for number, event in enumerate(received(*(f"word {number}" for number in range(LINES + 5)))):
        log.note_received([event])
        log.note_sent(b'{"number":%d}\n' % number)
    evidence = log.evidence()
    assert (evidence.argv, evidence.pid) == (("claude", "--verbose"), 42)
    assert len(evidence.received) == len(evidence.sent) == LINES
    assert evidence.sent[0] == '{"number":5}'
    assert "word 24" in evidence.received[-1]


def test_the_last_of_many_lines_that_arrive_at_once_are_kept_with_what_follows() -> None:
    log = EvidenceLog()
    many = received(*(f"word {number}" for number in range(LINES + 5)))
    log.note_received(received("before"), 300)
    log.note_received(many, 300 * len(many))
    lines = log.evidence().received
    assert len(lines) == LINES
    assert "word 5" in lines[0]
    assert "word 24" in lines[-1]
    log.note_received(received("after"), 300)
    lines = log.evidence().received
    assert len(lines) == LINES
    assert "word 6" in lines[0]
    assert "word 24" in lines[-2]
    assert "after" in lines[-1]


def kept_bytes(line: bytes | tuple[bytes, int]) -> int:
    return len(line if isinstance(line, bytes) else line[0])


@pytest.mark.parametrize("size", [30_000_000, None])
def test_what_is_kept_of_many_long_lines_that_arrive_at_once_is_bounded(size: int | None) -> None:
    log = EvidenceLog()
    log.note_received(received(*["x" * 1_000_000] * (LINES + 5)), size)
    assert not log._uncut
    assert sum(map(kept_bytes, log._received)) <= LINES * 4 * LINE


def test_long_lines_are_cut() -> None:
    log = EvidenceLog()
    log.note_sent(b"x" * 1_000_000)
    (line,) = log.evidence().sent
    assert len(line) < LINE + 50
    assert "characters" in line


def test_lines_may_be_of_any_kind_of_bytes() -> None:
    log = EvidenceLog()
    line: Any = bytearray(b'{"number":1}')  # a transport of the application may give such
    log.note_sent(line)
    assert log.evidence().sent == ('{"number":1}',)


def test_blank_lines_are_not_shown() -> None:
    log = EvidenceLog()
    for line in (b"\n", b"a\n", b" \r\n", b""):
        log.note_sent(line)
    assert log.evidence().sent == ("a",)


def test_the_end_of_stderr_is_kept() -> None:
    log = EvidenceLog()
    for number in range(3000):
        log.note_stderr(b"%d%s\n" % (number, b"." * 100))
    everything = "".join(f"{number}{'.' * 100}\n" for number in range(3000))
    assert log.evidence().stderr == everything[-STDERR:]
    assert log.note_stderr("é".encode()[:1]) == ""
    assert log.note_stderr("é".encode()[1:]) == "é"


def test_secrets_are_taken_out() -> None:
    log = EvidenceLog(("claude", f"--key={SECRET}"))
    log.note_sent(f'{{"key":"{SECRET}"}}'.encode())
    log.note_received(received(SECRET))
    log.note_stderr(SECRET.encode())
    assert SECRET not in repr(log.evidence())


@pytest.mark.parametrize(
    ("status", "code", "signal_number", "words"),
    [
        (None, None, None, ""),
        (0, 0, None, "exit code 0"),
        (3, 3, None, "exit code 3"),
        (-9, None, 9, "killed by SIGKILL"),
        (-250, None, 250, "killed by signal 250"),
    ],
)
def test_how_it_ended_is_said_in_words(
    status: int | None, code: int | None, signal_number: int | None, words: str
) -> None:
    evidence = EvidenceLog().evidence(status)
    assert (evidence.exit_code, evidence.signal) == (code, signal_number)
    assert how_it_ended(evidence) == words
    assert words in str(CLIError("It is gone", evidence=evidence))


def test_an_error_says_what_happened_why_and_what_to_do() -> None:
    evidence = Evidence(signal=signal.SIGKILL, stderr="out of memory\n")
    error = CLIError("It is gone", cause=Cause.KILLED, evidence=evidence, advice="Get more.")
    assert str(error) == "It is gone (killed by SIGKILL)\nstderr: out of memory\nGet more."
    assert str(SessionClosed("It is over")) == "It is over"
    assert CLINotFoundError("There is none", advice="Install it").cause is Cause.NOT_FOUND
    assert isinstance(RequestTimeout("Too late", request="x"), TimeoutError)


def test_what_is_kept_is_bounded_in_bytes() -> None:
    log = EvidenceLog()
    for _ in range(LINES):
        log.note_received(received("x" * 1_000_000))
        log.note_sent(b"y" * 1_000_000)
        log.note_stderr(b"z" * 1_000_000)
    kept = [*log._received, *log._sent]
    assert sum(map(kept_bytes, kept)) <= 2 * LINES * 4 * LINE
    assert sum(map(len, log._stderr)) <= 2 * (STDERR + MARGIN)
    assert "of 1000000 bytes or more" in log.evidence().sent[0]


def test_a_private_key_that_the_end_of_stderr_has_only_a_part_of_is_not_shown() -> None:
    log = EvidenceLog()
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBg\n" * 100
    log.note_stderr((key + "-----END PRIVATE KEY-----\n").encode())
    log.note_stderr(b"." * (STDERR - 500))
    assert "MIIEvQIBADANBg" not in log.evidence().stderr


def test_a_secret_at_the_end_of_what_is_shown_of_a_line_is_not_shown() -> None:
    log = EvidenceLog()
    log.note_sent(b"x" * (LINE - 20) + b" " + SECRET.encode() + b" " + b"y" * 10_000)
    (line,) = log.evidence().sent
    assert "sk-ant" not in line


def test_a_line_that_is_shown_in_part_says_so_although_a_long_secret_is_taken_out() -> None:
    log = EvidenceLog()
    text = "x" * 1500 + " sk-ant-" + "a" * 1400 + " " + "y" * 2000
    log.note_sent(text.encode())
    (line,) = log.evidence().sent
    shown = f"{'x' * 1500} <key-1> {'y' * 91}"
    assert line == f"{shown}… (the first characters of {len(text)} bytes or more)"


@pytest.mark.parametrize(
    ("text", "is_whole"),
    [
        ("x" * LINE, True),
        ("x" * (LINE + 1), False),
        ("\U0001f600" * LINE, True),  # as many bytes as are kept
        ("\U0001f600" * LINE + "\n", False),
    ],
    ids=["short", "long", "short, of four bytes each", "long, of four bytes each"],
)
def test_a_line_is_shown_up_to_its_longest(text: str, is_whole: bool) -> None:
    log = EvidenceLog()
    log.note_sent(text.encode())
    cut = f"… (the first characters of {len(text.encode())} bytes or more)"
    assert log.evidence().sent == (text[:LINE] + ("" if is_whole else cut),)
