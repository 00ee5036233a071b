"""The options of a session, shared by `run` and `chat`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args

import click

from ..wire import AUTO, DIALECTS, RELEASED, PermissionMode
from .errors import CommandError

if TYPE_CHECKING:
    from ..launch import Connect
    from ..options import Options, OptionsDict
    from ..policy import Policy
    from ..transport import Launch, Transport

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

MODES = get_args(PermissionMode)

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}


def time(text: str) -> float:
    """Read a time such as `90`, `90s`, `30m` or `1h30m`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([hms]?)", text)
    seconds = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if "".join(f"{number}{unit}" for number, unit in parts) != text or not seconds:
        raise click.BadParameter(f"{text!r} is not a time; write 90s, 30m or 1h30m")
    return seconds


_FILE = click.Path(dir_okay=False)

_OPTIONS = (
    click.option(
        "--allow", metavar="RULE", multiple=True, help="Allow a tool: Read, 'Bash(git status:*)'."
    ),
    click.option("--ask", metavar="RULE", multiple=True, help="Ask a person about a tool."),
    click.option("--deny", metavar="RULE", multiple=True, help="Deny a tool."),
    click.option("--policy", type=_FILE, help="Read such rules from a TOML file."),
    click.option(
        "--mode",
        "permission_mode",
        type=click.Choice(MODES),
        metavar="MODE",
        help=f"One of {', '.join(MODES)}.",
    ),
    click.option(
        "--max-turns",
        type=click.IntRange(min=1),
        metavar="N",
        help="Maximum number of model calls.",
    ),
    click.option("--budget", type=float, metavar="USD", help="Maximum cost in dollars."),
    click.option("--resume", metavar="ID", help="Continue this conversation."),
    click.option(
        "--continue",
        "continue_conversation",
        is_flag=True,
        help="Continue the latest conversation here.",
    ),
    click.option("--fork", "fork_session", is_flag=True, help="Continue in a copy."),
    click.option("--model", metavar="NAME", help="The model, such as sonnet."),
    click.option("--cwd", type=click.Path(file_okay=False), help="The folder to work in."),
    click.option("--cli", metavar="PATH", help="The program to drive, or 'simulated'."),
    click.option(
        "--dialect",
        type=click.Choice((AUTO, *DIALECTS)),
        metavar="NAME",
        help="The dialect of the protocol; detected by default.",
    ),
    click.option("--record", type=_FILE, help="Record the session to a file."),
)


def session_options(function: FunctionT) -> FunctionT:
    """Add the options of a session to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def session_arguments(given: dict[str, Any]) -> OptionsDict:
    """Make options of a session from the arguments."""
    if given["resume"] and given["continue_conversation"]:
        raise CommandError("--resume and --continue exclude each other; give one of them")
    if given["fork_session"] and not (given["resume"] or given["continue_conversation"]):
        raise CommandError("--fork needs a conversation: add --resume or --continue")
    if given["model"] is not None and len(given["model"].split()) != 1:
        raise CommandError(f"--model must be one name, got {given['model']!r}")
    for name in ("allow", "ask", "deny"):
        for rule in given[name]:
            if "," in re.sub(r"\(.*\)", "", rule):
                advice = f"Repeat the option: --{name} Read --{name} Write."
                raise CommandError(f"--{name} takes one rule, got {rule!r}", advice=advice)
    from ..options import OptionsDict
    from ..tracking import Budget

    made: Any = {it: given[it] for it in OptionsDict.__annotations__ if given.get(it)}
    if given["budget"] is not None:
        made["budgets"] = [Budget(cost_usd=given["budget"])]
    if given["policy"] is not None:
        rules = {name: made.pop(name, ()) for name in ("allow", "ask", "deny")}
        made["policy"] = _with_rules(given["policy"], rules)
        # The CLI asks a policy about some tools only; a rule on the command line holds for all.
        made["disallowed_tools"] = given["deny"]
    return cast("OptionsDict", made)


def _with_rules(path: str, rules: dict[str, Iterable[str]]) -> Policy:
    """Add rules to the policy in a file."""
    from ..policy import Policy

    file: Any = Policy.from_toml(path)
    same = ("default", "directories", "mode", "case_sensitive", "protect")
    fields: dict[str, Any] = {name: getattr(file, name) for name in same}
    fields |= {name: (*getattr(file, name), *rules[name]) for name in rules}
    return Policy(**fields)


def connect_for(record: str | None, options: Options) -> Connect | None:
    """Return a function that starts the CLI and records it; None without a file."""
    if record is None:
        return None
    if os.path.lexists(record):
        advice = "Name another file, or remove this one first."
        raise CommandError(f"--record {record}: this file exists already.", advice=advice)
    return partial(_recorded, options, Path(record))


def unused(path: Path) -> Path:
    """Return a path at which there is nothing: with a number, if need be."""
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    return next(it for it in chain([path], numbered) if not os.path.lexists(it))


async def _recorded(options: Options, path: Path, launch: Launch) -> Transport:
    from ..recordings import RecordingTransport
    from ..transport import spawn

    if options.cli == "simulated":
        from ..simulator import SimulatedCLI

        dialect = RELEASED if options.dialect == AUTO else options.dialect
        transport: Transport = SimulatedCLI(dialect=dialect)  # the session starts it
    else:
        transport = await spawn(launch)
    return RecordingTransport(transport, path, header={"argv": [*launch.argv]})
