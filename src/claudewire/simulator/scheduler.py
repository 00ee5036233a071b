"""Coroutines that run without an event loop.

A coroutine of the simulated CLI awaits only `Wait`: an answer, a time, or whichever comes first.
The same CLI therefore runs as a program and in memory on any event loop.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any


class TimedOut(Exception):
    """The answer did not come in time."""


class Died(GeneratorExit):
    """A fault ended the process: nothing after this point is carried out.

    A discarded coroutine may end with it, too, because it is a `GeneratorExit`.
    """


@dataclass(eq=False)
class Wait:
    """Await a value for a key, a number of seconds, or whichever comes first.

    Raises:
        TimedOut: there is a key, and the seconds passed first.
    """

    key: str | None = None
    seconds: float | None = None

    def __await__(self) -> Generator[Wait, Any, Any]:
        return (yield self)


@dataclass(eq=False)
class Task:
    """A running coroutine and its current wait."""

    coroutine: Coroutine[Wait, Any, None]
    then: Callable[[], None]
    wait: Wait | None = None
    deadline: float | None = None

    @property
    def key(self) -> str | None:
        """The key that it waits for."""
        return self.wait.key if self.wait is not None else None

    @property
    def pauses(self) -> bool:
        """Whether it only gives way to pending input."""
        return self.wait is not None and self.wait.key is None and not self.wait.seconds


class Scheduler:
    """Runs coroutines from one wait to the next."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.tasks: list[Task] = []
        self.stopped: bool = False

    def add(
        self, coroutine: Coroutine[Wait, Any, None], then: Callable[[], None] = lambda: None
    ) -> Task:
        """Add a coroutine, which `step` starts; `then` is called after its end."""
        task = Task(coroutine, then)
        self.tasks.append(task)
        return task

    def discard(self, task: Task) -> None:
        """End a coroutine that is not running right now."""
        self.tasks.remove(task)
        task.coroutine.close()

    def waiting_for(self, key: str) -> Task | None:
        """Return the task that waits for this key."""
        return next((task for task in self.tasks if task.key == key), None)

    def step(self, task: Task, value: Any = None, error: BaseException | None = None) -> None:
        """Run a coroutine until it waits again or ends."""
        if self.stopped or task not in self.tasks:
            return
        task.wait = task.deadline = None
        try:
            wait: object = task.coroutine.throw(error) if error else task.coroutine.send(value)
        except StopIteration:
            self.tasks.remove(task)
            task.then()
            return
        except Died:
            return
        if isinstance(wait, Wait):
            task.wait = wait
            task.deadline = None if wait.seconds is None else self._clock() + wait.seconds
            return
        words = (
            f"A scenario awaited {wait!r}. It runs without an event loop and can await only "
            "methods of its Chat, such as chat.sleep()."
        )
        self.step(task, error=TypeError(words))

    @property
    def due_in(self) -> float | None:
        """The seconds until `wake` has something to do; None if nothing is due."""
        deadlines = [task.deadline for task in self.tasks if task.deadline is not None]
        return max(0.0, min(deadlines) - self._clock()) if deadlines and not self.stopped else None

    def wake(self, *, pauses: bool = True) -> None:
        """Resume the tasks whose time has come, optionally without those that only give way."""
        now = self._clock()
        due = [task for task in self.tasks if task.deadline is not None and task.deadline <= now]
        for task in due:
            # A previous one may have changed what this one waits for.
            if task.deadline is None or task.deadline > now or (task.pauses and not pauses):
                continue
            self.step(task, error=TimedOut() if task.key is not None else None)
