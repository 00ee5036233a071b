"""The log of the wire: both directions and stderr, without secrets, cut to a length."""

from __future__ import annotations

import logging

import pytest
from tests.helpers.sessions import echo, simulated

from claudewire.session.log import LINE, WireLogger
from claudewire.simulator import Chat
from claudewire.simulator.faults import StderrFlood

pytestmark = pytest.mark.anyio

WIRE = "claudewire.wire"
SECRET = "sk-ant-api03-1234567890"


async def test_both_directions_and_stderr_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    async with simulated(echo, faults=[StderrFlood(size=10, at=2)]) as claude:
        await claude.send("Hello")
    lines = [it.getMessage() for it in caplog.records if it.name == WIRE]
    assert lines[0].startswith(f'{claude.name} > {{"type":"control_request"')
    assert any(line.startswith(f'{claude.name} > {{"type":"user"') for line in lines)
    assert any(line.startswith(f'{claude.name} < {{"type":"result"') for line in lines)
    assert any(line.startswith(f"{claude.name} ! ") for line in lines)
    assert {it.levelno for it in caplog.records if it.name == WIRE} == {logging.DEBUG}


async def test_level_of_the_log_may_change_at_any_time(caplog: pytest.LogCaptureFixture) -> None:
    async with simulated(echo) as claude:
        caplog.set_level(logging.INFO, WIRE)
        await claude.send("apples")
        assert [it for it in caplog.records if it.name == WIRE] == []
        caplog.set_level(logging.DEBUG, WIRE)
        await claude.send("pears")
    logged = caplog.text
    assert "apples" not in logged
    assert "pears" in logged


async def test_same_secret_has_the_same_placeholder(caplog: pytest.LogCaptureFixture) -> None:
    async def repeat(chat: Chat) -> None:
        await chat.say(chat.text)

    caplog.set_level(logging.DEBUG, WIRE)
    async with simulated(repeat) as claude:
        await claude.send(f"Is {SECRET} a key?")
    assert SECRET not in caplog.text
    said = [it.getMessage() for it in caplog.records if "a key?" in it.getMessage()]
    assert len(said) > 1
    assert all("Is <key-1> a key?" in line for line in said)


def test_long_line_is_cut_after_redaction(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, WIRE)
    edge = "x" * (LINE - len(SECRET) + 5)
    WireLogger("s").stderr(f"{edge} {SECRET} {'y' * LINE}")
    (message,) = caplog.messages
    assert SECRET[:12] not in message
    assert message.endswith(" characters)")
    assert len(message) < LINE + 50
