"""The tasks of a link: some in a task group, and outside of it those that serve requests."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from itertools import count
from typing import TYPE_CHECKING, Any

import anyio
import anyio.abc

from ..concurrency import (
    FunctionExited,
    Signal,
    ends_the_caller,
    scope_type,
    spare_task,
    task_starter,
)

if TYPE_CHECKING:
    from ..concurrency import SpareTask

__all__ = ["TaskSet"]

NAME = "claudewire request"


class TaskSet:
    """The tasks of a link. Those that run code of an application may ignore their cancellation."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._numbers = count()
        self._unstarted: dict[int, Coroutine[Any, Any, None]] = {}
        self._detached: set[object] = set()
        """The scopes of those outside of the task group, which keep them: an event loop may not."""
        self._spare: SpareTask | None = None
        self._count = 0
        self._none_left: Signal | None = None
        """What is waited for when all of them were cancelled."""

    @property
    def is_cancelled(self) -> bool:
        """Whether all of them were cancelled."""
        return self._group.cancel_scope.cancel_called

    def new_scope(self, *, at_once: bool) -> anyio.CancelScope:
        """Return the scope for the next one that is started.

        Args:
            at_once: it may run at once, before this round of the event loop is over.
        """
        if at_once and self._spare is not None:
            if self._spare.is_free:
                return self._spare.scope
            if not self._spare.is_waiting:
                self._end_spare()  # when it has ended; the next one takes its place
        return scope_type()()

    def start(self, scope: anyio.CancelScope, coroutine: Coroutine[Any, Any, None]) -> None:
        """Start one outside of the task group, which takes a tenth of the time.

        It must raise nothing but its cancellation, and calls `ended` at its end.
        """
        self._count += 1
        self._detached.add(scope)
        spare = self._spare
        if spare is None and not self.is_cancelled:
            self._spare = spare = spare_task(NAME, coroutine, scope)
        elif spare is not None and spare.scope is scope:
            if not spare.begin(coroutine):
                self._spare = spare_task(NAME)  # or else it is used again
        else:
            spare = None
        if spare is None:
            task_starter(NAME)(_run_in(scope, coroutine))

    def ended(self, key: object = None) -> None:
        """Note that one of them has ended."""
        self._count -= 1
        self._detached.discard(key)
        if self._none_left is not None:
            self._none_left.notify()

    def start_soon(self, function: Callable[..., Coroutine[Any, Any, None]], *given: Any) -> None:
        """Start one more in the task group."""
        self._count += 1
        number = next(self._numbers)
        coroutine = self._unstarted[number] = self._run(number, function, *given)
        self._group.start_soon(lambda: coroutine)

    async def _run(
        self, number: int, function: Callable[..., Coroutine[Any, Any, None]], *given: Any
    ) -> None:
        del self._unstarted[number]
        try:
            await function(*given)
        except Exception:
            raise
        except BaseException as error:
            if ends_the_caller(error) or self.is_cancelled:
                raise
            # In a task of asyncio, SystemExit would end the event loop, and all sessions in it.
            raise FunctionExited(f"A task raised {type(error).__name__}") from error
        finally:
            self.ended()

    def close(self) -> None:
        """Close those that never ran: asyncio has cancelled them before, and anyio does not."""
        self._end_spare()
        for coroutine in self._unstarted.values():
            coroutine.close()
        self._unstarted.clear()

    async def cancel(self, timeout: float) -> bool:
        """Cancel all of them and wait for up to `timeout`; return whether they have ended."""
        if not self._count:
            return True
        self._group.cancel_scope.cancel()
        self._end_spare()
        self._none_left = ended = Signal()
        with anyio.move_on_after(timeout, shield=True):
            await ended.until(lambda: not self._count)
        return not self._count

    def _end_spare(self) -> None:
        if self._spare is not None:
            self._spare.end()
            self._spare = None


async def _run_in(scope: anyio.CancelScope, coroutine: Coroutine[Any, Any, None]) -> None:
    with scope:
        await coroutine
