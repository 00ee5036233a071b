"""An application with one interface over async and blocking sessions."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import anyio
from tests.session.reliability.simulations import LOOK

from claudewire import sync
from claudewire.errors import Error
from claudewire.launch import Connect
from claudewire.options import Options
from claudewire.session import Session
from claudewire.sync.portal import portal
from claudewire.wire import Event, SetModel, StreamEvent


class Application:
    """Uses one session, on asyncio or trio.

    Attributes:
        session: the session.
        read: the messages that were read from turns.
    """

    def __init__(self, options: Options, transport: Connect | None) -> None:
        self.session: Any = Session(options, transport=transport)
        self.listener = self.session.events()
        self.read: list[Event] = []

    async def open(self) -> None:
        await self.session.start()

    async def close(self) -> None:
        await self.session.close()

    def send(self, prompt: str, **options: Any) -> Any:
        return self.session.send(prompt, **options)

    async def first(self, turn: Any) -> None:
        """Read until the turn streams."""
        async for message in turn:
            self.read.append(message)
            if isinstance(message, StreamEvent):
                break

    async def finish(self, turn: Any) -> Any:
        """Read the rest of a turn, and wait for the reply."""
        async for message in turn:
            self.read.append(message)
        return await turn

    async def ask(self) -> None:
        """Ask for another model."""
        await self.session.request(SetModel("haiku"))

    async def read_unsolicited(self) -> None:
        """Read the unsolicited turns after the end."""
        async for turn in self.session.unsolicited:
            with suppress(Error):
                async for message in turn:
                    self.read.append(message)

    def at_most(self, seconds: float) -> AbstractContextManager[object]:
        """Raise a TimeoutError if something takes longer."""
        return anyio.fail_after(seconds)

    async def pause(self) -> None:
        """Let a moment pass."""
        await anyio.sleep(LOOK)


class BlockingApplication(Application):
    """Uses one blocking session, in a thread; its coroutines block instead of waiting."""

    def __init__(self, options: Options, transport: Connect | None) -> None:
        super().__init__(options, transport)
        self.session = sync.Session(self.session, portal())
        self.listener = self.session.events()

    async def open(self) -> None:
        self.session._start()

    async def close(self) -> None:
        self.session.close()

    async def first(self, turn: Any) -> None:
        for message in turn:
            self.read.append(message)
            if isinstance(message, StreamEvent):
                break

    async def finish(self, turn: Any) -> Any:
        for message in turn:
            self.read.append(message)
        return turn.reply()

    async def ask(self) -> None:
        self.session.request(SetModel("haiku"))

    async def read_unsolicited(self) -> None:
        for turn in self.session.unsolicited:
            with suppress(Error):
                for message in turn:
                    self.read.append(message)

    @contextmanager
    def at_most(self, seconds: float) -> Iterator[None]:
        """Raise a TimeoutError after a block that took longer; a hang shows outside."""
        end = time.monotonic() + seconds
        yield
        if time.monotonic() > end:
            raise TimeoutError

    async def pause(self) -> None:
        time.sleep(LOOK)  # noqa: ASYNC251
