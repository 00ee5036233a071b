"""Entry points: `open` for a conversation, `run` for a single answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ..options import Options, check_options
from .session import Session, TasksAtEnd, check_tasks

if TYPE_CHECKING:
    from typing import Unpack

    from ..content import Prompt
    from ..launch import Connect
    from ..options import OptionsDict, OptionsWithoutOutput
    from ..transport import Transport
    from .reply import OutputT, Reply
    from .session import TasksAtEnd

TASKS_MAY_TAKE = 600.0
"""For how many seconds `run` waits for background tasks, before it stops them."""


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
    """Create a session; `async with` or `await` starts it.

        async with claudewire.open(model="sonnet", cwd="~/project") as claude:
            reply = await claude.send("Make the failing test pass")

    Args:
        options: what to ask for; the defaults if not given.
        output: the type of the output; the session is then a `Session[output]`.
        transport: what to talk over instead of a process, or how to get it.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option is not valid.
    """
    given = Options(**changes) if options is None else check_options(options).replace(**changes)
    return Session(given, transport=transport)


@overload
async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    output: type[OutputT],
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsWithoutOutput],
) -> Reply[OutputT]: ...


@overload
async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Unpack[OptionsDict],
) -> Reply[Any]: ...


async def run(
    prompt: Prompt,
    options: Options | None = None,
    *,
    tasks: TasksAtEnd = "wait",
    transport: Transport | Connect | None = None,
    **changes: Any,
) -> Reply[Any]:
    """Start a CLI, send it one prompt, and return the reply.

        reply = await claudewire.run("Summarise README.md", allow=["Read"])
        print(reply.text, reply.cost_usd)

    A turn that did not succeed has a reply too: see `reply.ok` and `reply.raise_for_error()`.

    Args:
        prompt: text, or a list of text, images and documents.
        options: what to ask for; the defaults if not given.
        output: the type of the output; `reply.output` is then of that type.
        tasks: what to do with background tasks that are still running then: `wait` for them (for
            ten minutes at most, then stop them), `ignore` them, so that they end with the CLI, or
            `cancel` them at once.
        transport: what to talk over instead of a process, or how to get it.
        changes: single options, instead of those in `options`.

    Raises:
        OptionsError: an option is not valid.
        CLIError: the CLI was not found, or has exited.
        OutputError: the output is not of the type that was asked for.
    """
    from ..content import to_content

    check_tasks(tasks)
    to_content(prompt)  # before a CLI is started for it
    async with open(options, transport=transport, **changes) as session:
        reply = await session.ask(prompt)
        await session._finish_tasks(tasks, TASKS_MAY_TAKE)
        return reply
