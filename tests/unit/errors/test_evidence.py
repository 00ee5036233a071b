"""Test the evidence of errors: last lines, end of stderr, exit, no secrets."""

from __future__ import annotations

import signal

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


def test_last_lines_of_both_directions_are_kept() -> None:
    log = EvidenceLog(("claude", "--verbose"), 42)
    log.note_received(received(*(f"word {number}" for number in range(LINES + 5))))
    log.note_received(received("after"))
    for number in range(LINES + 5):
        log.note_sent(b'{"number":%d}\n' % number)
    evidence = log.evidence()
    assert (evidence.argv, evidence.pid) == (("claude", "--verbose"), 42)
    assert len(evidence.received) == len(evidence.sent) == LINES
    assert evidence.sent[0] == '{"number":5}'
    assert "word 6" in evidence.received[0]
    assert "after" in evidence.received[-1]


def test_end_of_stderr_is_kept() -> None:
    log = EvidenceLog()
    for number in range(3000):
        log.note_stderr(b"%d%s\n" % (number, b"." * 100))
    everything = "".join(f"{number}{'.' * 100}\n" for number in range(3000))
    assert log.evidence().stderr == everything[-STDERR:]
    assert log.note_stderr("é".encode()[:1]) == ""
    assert log.note_stderr("é".encode()[1:]) == "é"


def test_evidence_has_no_secrets() -> None:
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
def test_error_says_how_the_cli_ended(
    status: int | None, code: int | None, signal_number: int | None, words: str
) -> None:
    evidence = EvidenceLog().evidence(status)
    assert (evidence.exit_code, evidence.signal) == (code, signal_number)
    assert how_it_ended(evidence) == words
    assert words in str(CLIError("It is gone", evidence=evidence))


def test_error_says_what_happened_and_what_to_do() -> None:
    evidence = Evidence(signal=signal.SIGKILL, stderr="out of memory\n")
    error = CLIError("It is gone", cause=Cause.KILLED, evidence=evidence, advice="Get more.")
    assert str(error) == "It is gone (killed by SIGKILL)\nstderr: out of memory\nGet more."
    assert str(SessionClosed("It is over")) == "It is over"
    assert CLINotFoundError("There is none", advice="Install it").cause is Cause.NOT_FOUND
    assert isinstance(RequestTimeout("Too late", request="x"), TimeoutError)


def test_kept_lines_are_bounded_in_bytes() -> None:
    log = EvidenceLog()
    for _ in range(LINES):
        log.note_received(received("x" * 1_000_000))
        log.note_sent(b"y" * 1_000_000)
        log.note_stderr(b"z" * 1_000_000)
    assert sum(len(line) for line in (*log._received, *log._sent)) <= 2 * LINES * 4 * LINE
    assert len(log._stderr) <= STDERR + MARGIN
    assert log.evidence().sent[0] == "y" * LINE + "…"


def test_secret_at_the_cut_of_a_line_is_hidden() -> None:
    log = EvidenceLog()
    log.note_sent(b"x" * (LINE - 20) + b" " + SECRET.encode() + b" " + b"y" * 10_000)
    (line,) = log.evidence().sent
    assert "sk-ant" not in line
