"""A coroutine that runs at once, up to where it first waits; a task goes on with it from there.

Most handlers decide without waiting for anything. A task for each of them takes another round of
the event loop, and a cancel scope that is entered and left: as long as all else that is done for a
request. So a task is kept that waits, with its scope entered, and lends itself to the coroutine. If
that does not wait, the task goes on waiting, for the next one. The task may have been started for
a coroutine as any other task, and wait after its end if that has not waited. Only asyncio can do
that.
"""

from __future__ import annotations

import asyncio
from asyncio.tasks import _enter_task, _leave_task
from collections.abc import Coroutine, Generator
from contextvars import Context, copy_context
from types import coroutine as awaitable
from typing import Any, NamedTuple

import anyio

from .detached import scope_type

__all__ = ["SpareTask"]


_NOT_BEGUN = object()


class _Begun(NamedTuple):
    """A coroutine, what it waits for if it has begun, and the context that it runs in."""

    context: Context
    coroutine: Coroutine[Any, Any, None]
    waits_for: Any = _NOT_BEGUN


class SpareTask:
    """A task that waits for a coroutine, and can be used by one after the other until one waits.

    Args:
        name: of the task.
        first: runs in the task before all others, and not at once.
        scope: cancels it; a new one if none is given.

    Attributes:
        scope: cancels the coroutine. A task whose scope was cancelled must not be used again.
        task: the task, to be kept until the coroutine has ended.
    """

    def __init__(
        self,
        name: str,
        first: Coroutine[Any, Any, None] | None = None,
        scope: anyio.CancelScope | None = None,
    ) -> None:
        self.scope: anyio.CancelScope = scope or scope_type()()
        self._loop = asyncio.get_running_loop()
        self._wake = self._loop.create_future()
        self._has_waited = False
        self._begun: _Begun | None = None
        # In a context of its own: the task may be there for much longer.
        begun = None if first is None else _Begun(copy_context(), first)
        self.task: asyncio.Task[None] = self._loop.create_task(self._run(begun), name=name)

    @property
    def is_waiting(self) -> bool:
        """Whether it waits for a coroutine, and was not cancelled."""
        return self._has_waited and not self._wake.done()

    @property
    def is_free(self) -> bool:
        """Whether a coroutine can begin here and now: it waits, and this is in no other task."""
        is_waiting = self._has_waited and not self._wake.done()
        return is_waiting and asyncio.current_task(self._loop) is None

    def begin(self, coroutine: Coroutine[Any, Any, None]) -> bool:
        """Run a coroutine up to where it first waits.

        It must raise nothing but its cancellation.

        Returns:
            whether it has ended, and another can begin here. Otherwise this task, which goes on
            with it if it has not ended, is no longer a spare one.
        """
        context = copy_context()  # as for a task of its own
        _enter_task(self._loop, self.task)
        try:
            waits_for = context.run(coroutine.send, None)
        except (StopIteration, asyncio.CancelledError):
            return not (self._wake.done() or self.scope.cancel_called)  # it may cancel the task
        finally:
            _leave_task(self._loop, self.task)
        self._begun = _Begun(context, coroutine, waits_for)
        if not self._wake.done():  # or else it has cancelled itself
            self._wake.set_result(None)
        return False

    def end(self) -> None:
        """End it, unless it is used."""
        if not self._wake.done():
            self._wake.set_result(None)

    async def _run(self, first: _Begun | None) -> None:
        with self.scope:
            if first is not None:
                has_waited = await _go_on(first)
                first = None
                # What it has left behind, such as a timer that cancels its task, is for no other.
                if has_waited or self.scope.cancel_called or _is_being_cancelled():
                    return
            self._has_waited = True
            error = None
            try:
                await self._wake
            except asyncio.CancelledError as cancelled:
                if self._begun is None:
                    raise
                error = cancelled
            if self._begun is not None:
                await _go_on(self._begun, error)


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()  # an eager task is here before its creator knows it
    return task is not None and task.cancelling() > 0


@awaitable
def _go_on(begun: _Begun, error: BaseException | None = None) -> Generator[Any, Any, bool]:
    """Go on with a coroutine, or begin it, as `await` does; return whether it has waited."""
    run, coroutine, waits_for = begun.context.run, begun.coroutine, begun.waits_for
    has_waited = False
    try:
        if waits_for is _NOT_BEGUN:
            waits_for = run(coroutine.send, None)
        elif error is not None:
            waits_for = run(coroutine.throw, error)
        while True:
            has_waited = True
            try:
                sent = yield waits_for
            except GeneratorExit:
                run(coroutine.close)
                raise
            except BaseException as thrown:
                waits_for = run(coroutine.throw, thrown)
            else:
                waits_for = run(coroutine.send, sent)
    except StopIteration:
        return has_waited
