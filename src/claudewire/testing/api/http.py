"""The server's end of one HTTP connection: a request, its response, the next request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import anyio
import anyio.abc
import h11

__all__ = ["HTTPConnection", "HTTPRequest"]

_RECEIVED = 65536
"""Bytes that are read at a time; conversations with images are long."""


class HTTPRequest(NamedTuple):
    """What a client asked, complete."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HTTPConnection:
    """One connection, for as many requests as the client likes to make."""

    def __init__(self, stream: anyio.abc.ByteStream) -> None:
        self._stream = stream
        self._http = h11.Connection(h11.SERVER)

    async def receive(self) -> HTTPRequest | None:
        """Wait for a request; None when the client has closed the connection.

        Raises:
            h11.RemoteProtocolError: this is no HTTP.
        """
        if self._http.our_state is h11.DONE:
            self._http.start_next_cycle()
        head, body = None, b""
        while True:
            event = await self._next_event()
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage) and head is not None:
                return _request(head, body)
            else:
                return None

    async def _next_event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._http.they_are_waiting_for_100_continue:
                await self._send(h11.InformationalResponse(status_code=100, headers=[]))
            self._http.receive_data(await self._receive())
        return event  # type: ignore[return-value]

    async def _receive(self) -> bytes:
        try:
            return await self._stream.receive(_RECEIVED)
        except anyio.EndOfStream:
            return b""

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin a response. Without a length in the headers it is sent in chunks."""
        await self._send(h11.Response(status_code=status, headers=list(headers.items())))

    async def send(self, data: bytes) -> None:
        """Send some of the body."""
        await self._send(h11.Data(data=data))

    async def end(self) -> None:
        """Complete the response."""
        await self._send(h11.EndOfMessage())

    async def until_they_leave(self) -> None:
        """Wait, and say nothing, until the client closes the connection."""
        while await self._receive():
            pass

    async def _send(self, event: h11.Event) -> None:
        if data := self._http.send(event):
            await self._stream.send(data)


def _request(head: h11.Request, body: bytes) -> HTTPRequest:
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}
    return HTTPRequest(head.method.decode("ascii"), head.target.decode("latin-1"), headers, body)
