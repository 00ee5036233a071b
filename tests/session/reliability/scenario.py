"""The scenario of each phase, played in memory and in a process.

The client asks for another model in each phase. The fault hits the answer, or what comes next.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from claudewire.simulator.engine import Refused, StreamClosed
from claudewire.simulator.scheduler import Wait
from claudewire.wire import Elicitation, NotificationMessage

if TYPE_CHECKING:
    from claudewire.testing import Chat

NEWS = "something happened while nobody asked"
WORDS = "Grüße ☃ from a turn that is long enough to be cut in many places."


async def scenario(chat: Chat) -> None:
    """Play the turn of the prompt."""
    if "rest" in chat.text:
        await chat.say(WORDS)
        chat.engine.spawn(_news(chat))
    elif "stream" in chat.text:
        await _stream(chat)
    elif "tool" in chat.text:
        await chat.use("Bash", {"command": "true"}, result="done")
        await chat.say(WORDS)
    elif "work" in chat.text:
        chat.engine.spawn(_ask(chat))
        await chat.say(WORDS)
        await chat.sleep(600)
    else:
        await chat.say(WORDS)


async def _stream(chat: Chat) -> None:
    """Speak, wait until the client has said something as well, and go on."""
    chat.engine.spawn(_ask(chat))
    before = chat.session.model
    await chat.say(WORDS)
    while chat.session.model == before:
        await chat.sleep(0.005)
    await chat.say(WORDS)


async def _news(chat: Chat) -> None:
    """Say something between turns, and ask something."""
    await Wait(seconds=0.05)
    chat.emit(NotificationMessage(key="news", text=NEWS, session_id=chat.session.id))
    await _ask(chat)


async def _ask(chat: Chat) -> None:
    with suppress(Refused, StreamClosed):
        await chat.engine.ask(Elicitation("a server", "Who are you?", mode="form"))
