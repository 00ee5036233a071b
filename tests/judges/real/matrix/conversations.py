"""Conversations: new, continued, forked."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

from claudewire.errors import Cause, CLIError
from claudewire.wire import AssistantMessage

from .behaviour import alone
from .stage import Stage

TWO = {"a": ["First."], "b": ["Second."]}


def remembers(stage: Stage) -> bool:
    """Return whether the last request to the model has the first prompt."""
    return stage.prompt("a") in str(stage.turns[-1].messages)


@alone("A conversation has the id that was given")
async def given_id(stage: Stage) -> None:
    id = str(uuid4())
    async with stage.open(session_id=id) as session:
        await stage.ask()
        assert session.session_id == id


@alone("A conversation is resumed by its id", TWO)
async def resumed(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask("a")
        id = session.session_id
    async with stage.open(resume=id):
        assert (await stage.ask("b")).text == "Second."
        assert remembers(stage)


@alone("The latest conversation of a folder is continued", TWO, deviates=frozenset({"2.1.100"}))
async def continued(stage: Stage) -> None:
    async with stage.open():
        await stage.ask("a")
    async with stage.open(continue_conversation=True):
        assert (await stage.ask("b")).text == "Second."
        if not remembers(stage):
            stage.deviates("`--continue` begins a new conversation")


@alone("A fork begins with the conversation, and has another id", TWO)
async def forked(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask("a")
        id = session.session_id
    async with stage.open(resume=id, fork_session=True) as session:
        await stage.ask("b")
        assert remembers(stage)
        assert session.session_id != id


@alone("A conversation is resumed at an earlier message", {**TWO, "c": ["Third."]})
async def resumed_at(stage: Stage) -> None:
    async with stage.open() as session:
        turn = stage.send("a")
        await turn
        uuids = [it.uuid for it in turn.messages if isinstance(it, AssistantMessage)]
        await stage.ask("b")
        id = session.session_id
    async with stage.open(resume=id, resume_session_at=uuids[-1]):
        assert (await stage.ask("c")).text == "Third."
        assert remembers(stage)
        assert stage.prompt("b") not in str(stage.turns[-1].messages)


async def cause_of(stage: Stage, **options: Any) -> Cause:
    """Why a session cannot be opened, or its first turn fails."""
    try:
        async with stage.open(**options):
            await stage.ask()
    except CLIError as error:
        return error.cause
    raise AssertionError("It was opened")


@alone("An unknown conversation is not resumed, and the error says so")
async def unknown_id(stage: Stage) -> None:
    assert await cause_of(stage, resume=str(uuid4())) is Cause.SESSION_NOT_FOUND


@alone("An id that is taken is refused, and the error says so")
async def taken_id(stage: Stage) -> None:
    id = str(uuid4())
    async with stage.open(session_id=id):
        await stage.ask()
    assert await cause_of(stage, session_id=id) is Cause.SESSION_IN_USE


@alone("After a restart the conversation goes on", TWO)
async def restarted(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask("a")
        before = session.pid
        await session.restart()
        assert session.pid != before
        assert (await stage.ask("b")).text == "Second."
        assert remembers(stage)


@alone("What was told before a restart is known after it", TWO)
async def told_then_restarted(stage: Stage) -> None:
    async with stage.open() as session:
        await stage.ask("a")
        session.add_context("It rains")
        await session.restart()
        assert (await stage.ask("b")).text == "Second."
        assert "It rains" in str(stage.turns[-1].messages)


def options(stage: Stage) -> dict[str, Any]:
    """Each of these behaviours has its own options."""
    return {}
