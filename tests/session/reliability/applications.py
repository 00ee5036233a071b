"""An application with one interface over async and blocking sessions."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

import anyio
from tests.session.reliability.simulations import LOOK

from claudewire import sync
from claudewire.errors import Error
from claudewire.launch import Connect
from claudewire.options import Options
from claudewire.session import Reply, Session, Turn
from claudewire.sync.portal import portal
from claudewire.wire import Event, SetModel, StreamEvent

AnyTurn = Turn[Any] | sync.Turn[Any]


class Application(ABC):
    """Uses one session.

    Blocking applications have coroutines too, which block instead of waiting.

    Attributes:
        session: the session.
        read: the messages that were read from turns.
    """

    def __init__(self, session: Session | sync.Session) -> None:
        self.session = session
        self.listener = session.events()
        self.read: list[Event] = []

    @abstractmethod
    async def open(self) -> None:
        """Open the session."""

    @abstractmethod
    async def close(self) -> None:
        """Close the session."""

    def send(self, prompt: str, **options: Any) -> Any:
        """Send a prompt."""
        return self.session.send(prompt, **options)

    @abstractmethod
    async def first(self, turn: Any) -> None:
        """Read until the turn streams."""

    @abstractmethod
    async def finish(self, turn: Any) -> Reply[Any]:
        """Read the rest of a turn, and wait for the reply."""

    @abstractmethod
    async def ask(self) -> None:
        """Ask for another model."""

    @abstractmethod
    async def read_unsolicited(self) -> None:
        """Read the unsolicited turns after the end."""

    @abstractmethod
    def at_most(self, seconds: float) -> AbstractContextManager[object]:
        """Raise a TimeoutError if something takes longer."""

    @abstractmethod
    async def pause(self) -> None:
        """Let a moment pass."""


class AsyncApplication(Application):
    """An application on asyncio or trio."""

    session: Session

    def __init__(self, options: Options, transport: Connect | None) -> None:
        super().__init__(Session(options, transport=transport))

    async def open(self) -> None:
        await self.session.start()

    async def close(self) -> None:
        await self.session.close()

    async def first(self, turn: Turn[Any]) -> None:
        async for message in turn:
            self.read.append(message)
            if isinstance(message, StreamEvent):
                break

    async def finish(self, turn: Turn[Any]) -> Reply[Any]:
        async for message in turn:
            self.read.append(message)
        return await turn

    async def ask(self) -> None:
        await self.session.request(SetModel("haiku"))

    async def read_unsolicited(self) -> None:
        async for turn in self.session.unsolicited:
            with suppress(Error):
                async for message in turn:
                    self.read.append(message)

    def at_most(self, seconds: float) -> AbstractContextManager[object]:
        return anyio.fail_after(seconds)

    async def pause(self) -> None:
        await anyio.sleep(LOOK)


class BlockingApplication(Application):
    """An application without async, in a thread."""

    session: sync.Session

    def __init__(self, options: Options, transport: Connect | None) -> None:
        super().__init__(sync.Session(Session(options, transport=transport), portal()))

    async def open(self) -> None:
        self.session._start()

    async def close(self) -> None:
        self.session.close()

    async def first(self, turn: sync.Turn[Any]) -> None:
        for message in turn:
            self.read.append(message)
            if isinstance(message, StreamEvent):
                break

    async def finish(self, turn: sync.Turn[Any]) -> Reply[Any]:
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
