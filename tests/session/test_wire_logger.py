"""The wire in `logging`: what is logged, when, and what is taken out."""

from __future__ import annotations

import logging

import pytest
from tests.helpers.sessions import echo, simulated

from claudewire.session.wire_logger import LINE, WireLogger
from claudewire.simulator import Chat
from claudewire.simulator.faults import StderrFlood
from claudewire.wire import Connection, Role, UserMessage

pytestmark = pytest.mark.anyio

WIRE = "claudewire.wire"
SECRET = "sk-ant-api03-1234567890"
SECRETS = 700 * f"{SECRET} "
"""Longer than what is shown of a line, and shorter when they are taken out."""


async def test_both_directions_and_stderr_are_logged_with_the_name_of_the_session(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    async with simulated(echo, faults=[StderrFlood(size=10, at=2)]) as claude:
        await claude.send("Hello")
    lines = [it.getMessage() for it in caplog.records if it.name == WIRE]
    assert lines[0].startswith(f'{claude.name} > {{"type":"control_request"')
    assert any(line.startswith(f'{claude.name} > {{"type":"user"') for line in lines)
    assert any(line.startswith(f'{claude.name} < {{"type":"result"') for line in lines)
    assert any(line.startswith(f"{claude.name} ! ") for line in lines)
    assert {it.levelno for it in caplog.records if it.name == WIRE} == {logging.DEBUG}


async def test_nothing_is_logged_unless_the_level_is_debug_and_it_may_change_at_any_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with simulated(echo) as claude:
        caplog.set_level(logging.INFO, WIRE)
        await claude.send("apples")
        assert [it for it in caplog.records if it.name == WIRE] == []
        caplog.set_level(logging.DEBUG, WIRE)
        await claude.send("pears")
    logged = caplog.text
    assert "apples" not in logged
    assert "pears" in logged


async def test_secrets_are_redacted_and_the_same_secret_has_the_same_placeholder(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def repeat(chat: Chat) -> None:
        await chat.say(chat.text)

    caplog.set_level(logging.DEBUG, WIRE)
    async with simulated(repeat) as claude:
        await claude.send(f"Is {SECRET} a key?")
    assert SECRET not in caplog.text
    said = [it.getMessage() for it in caplog.records if "a key?" in it.getMessage()]
    assert len(said) > 1
    assert all("Is <key-1> a key?" in line for line in said)


def test_a_long_line_is_cut_after_its_secrets_were_taken_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    edge = "x" * (LINE - len(SECRET) + 5)
    WireLogger("s").heard(f"{edge} {SECRET} {'y' * LINE}")
    (message,) = caplog.messages
    assert SECRET[:12] not in message
    assert message.endswith(" characters)")
    assert len(message) < LINE + 50


def test_what_was_made_here_has_no_line_to_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    WireLogger("s").received([UserMessage.of("Hello")])
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("x" * LINE, "x" * LINE),
        ("x" * (LINE + 1), f"{'x' * LINE}… ({LINE + 1} characters)"),
        ("x" * (2 * LINE + 1), f"{'x' * LINE}… ({2 * LINE + 1} characters)"),
        (  # no more than this is looked at, though there is place for more
            SECRETS + "y" * 2 * LINE,
            f"{700 * '<key-1> '}{'y' * (2 * LINE - len(SECRETS))}"
            f"… ({len(SECRETS) + 2 * LINE} characters)",
        ),
        (SECRETS, (700 * "<key-1> ").strip()),
        ("  ", None),
    ],
    ids=["whole", "long", "longer", "secrets first", "secrets", "blank"],
)
def test_so_much_of_a_line_is_logged(
    line: str, shown: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    WireLogger("s").heard(line)
    assert caplog.messages == ([] if shown is None else [f"s ! {shown}"])


def test_bytes_that_are_no_text_are_logged_as_far_as_they_are(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    logger = WireLogger("s")
    logger.sent(b"a\xffb\n")
    logger.received(Connection(Role.CLIENT).receive_data(b"c\xffd\n"))
    logger.heard("one\n\ntwo\n")
    assert caplog.messages == ["s > a\ufffdb", "s < c\ufffdd", "s ! one", "s ! two"]
