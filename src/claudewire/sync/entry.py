"""The two ways in, without async: `open` for a conversation, `run` for a single answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ..options import Options
from ..session import TASKS_MAY_TAKE
from .session import Session

if TYPE_CHECKING:
    from typing import Unpack

    from ..content import Prompt
    from ..launch import Connect
    from ..options import OptionsDict, OptionsWithoutOutput
    from ..session import OutputT, Reply, TasksAtEnd
    from ..transport import Transport

__all__ = ["open", "run"]


@overload
def open(
    options: Options | None = None,
    *,
    output: type[OutputT],
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Session[OutputT]: ...


@overload
def open(
    options: Options | None = None,
    *,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Session[Any]: ...


def open(
    options: Options | None = None,
    *,
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Session[Any]:
    """Make a session; `with` or its `start` starts it.

        with claudewire.sync.open(model="sonnet", cwd="~/project") as claude:
            reply = claude.ask("Make the failing test pass")

    Args:
        options: what to ask for; the defaults if not given.
        output: the type of the output that is wanted; the session is then a `Session` of it.
        transport: what to talk over instead of a process of our own, or how to get it.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: they make no sense.
    """
    return Session((options or Options()).replace(**changes), transport=transport)


@overload
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output: type[OutputT],
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Reply[OutputT]: ...


@overload
def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Reply[Any]: ...


def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    timeout: float | None = None,
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Reply[Any]:
    """Start a CLI, ask it one thing, and give its reply.

        reply = claudewire.sync.run("Summarise README.md", allowed_tools=["Read"])
        print(reply.text, reply.cost_usd)

    A turn that did not succeed gives a reply all the same: see `reply.ok` and
    `reply.raise_for_error()`.

    Args:
        prompt: text, or a list of texts, images and documents.
        options: what to ask for; the defaults if not given.
        output: the type of the output that is wanted; `reply.output` is then of that type.
        tasks: what becomes of background tasks that are still running then: `wait` for them (for
            ten minutes at most, then stop them), `ignore` them, so that they die with the CLI, or
            `cancel` them at once.
        timeout: how many seconds the reply may take. Then the CLI is ended.
        transport: what to talk over instead of a process of our own, or how to get it.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: the options make no sense.
        CLIError: there is no CLI, or it is gone.
        OutputError: the output is not of the type that was asked for.
        TimeoutError: there was no reply in time.
    """
    with open(options, transport=transport, **changes) as session:
        reply = session.ask(prompt, timeout=timeout)
        session.finish_tasks(tasks, TASKS_MAY_TAKE)
        return reply
