"""A host with hooks: each call of one is served in a task of its own, as a session does it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc

from claudewire.hooks import Hooks
from claudewire.transport import Transport
from claudewire.wire import (
    Answer,
    Cancel,
    CanUseTool,
    Event,
    HookCallback,
    Initialize,
    PermissionResultAllow,
    Request,
)

from .host import Host, serve_calculator


class HookedHost(Host):
    """Allows every tool that it is asked about, unless it `leaves_open` such questions."""

    def __init__(self, transport: Transport, hooks: Hooks, tasks: anyio.abc.TaskGroup) -> None:
        super().__init__(transport, self._allow, serve_calculator)
        self.asked: list[CanUseTool] = []
        self.leaves_open = False
        self.called: list[HookCallback] = []
        self._hooks = hooks
        self._tasks = tasks
        self._scopes: dict[str, anyio.CancelScope] = {}

    def _allow(self, asked: CanUseTool) -> PermissionResultAllow | None:
        self.asked.append(asked)
        return None if self.leaves_open else PermissionResultAllow(asked.input)

    async def _react(self, event: Event) -> None:
        if isinstance(event, Request) and isinstance(event.body, HookCallback):
            self.called.append(event.body)
            scope = self._scopes[event.id] = anyio.CancelScope()
            self._tasks.start_soon(self._serve, event.id, event.body, scope)
        elif isinstance(event, Cancel) and event.id in self._scopes:
            self._scopes[event.id].cancel()
        else:
            await super()._react(event)

    async def _serve(self, id: str, callback: HookCallback, scope: anyio.CancelScope) -> None:
        with scope:
            output = await self._hooks.serve(callback)
            if id in self.connection.owed:
                await self.send(Answer(id, output))


@asynccontextmanager
async def hooked(
    transport: Transport, hooks: Hooks, *, setup: Initialize | None = None, **fields: Any
) -> AsyncIterator[HookedHost]:
    """Open a conversation with hooks, and end it with the context."""
    setup = setup or Initialize(hooks=hooks.config(), **fields)
    with anyio.fail_after(60):
        async with anyio.create_task_group() as tasks:
            host = HookedHost(transport, hooks, tasks)
            await host.start(setup)
            yield host
            await host.end()
            tasks.cancel_scope.cancel()
