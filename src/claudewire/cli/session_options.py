"""The options that `run` and `chat` share: which CLI, which conversation, what may be done."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .errors import CommandError
from .sections import SectionedOption

if TYPE_CHECKING:
    from ..launch import Connect
    from ..options import Options, OptionsDict
    from ..policy import Policy
    from ..transport import Launch

__all__ = ["DURATION", "session_arguments", "session_options", "transport_for"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "": 1.0}
_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([hms]?)")
_WHOLE = re.compile(r"\s*(?:(?:\d+(?:\.\d+)?\s*[hms]\s*)+|\d+(?:\.\d+)?\s*)")

DIALECTS = ("auto", "modern", "session", "legacy", "envelope")
MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto")


class Duration(click.ParamType[float]):
    """A time such as `90`, `90s`, `30m` or `1h30m`."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the seconds."""
        if isinstance(value, int | float):
            return float(value)
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value))
        if _WHOLE.fullmatch(value) is None or not seconds:
            self.fail(f"{value!r} is not a time; write 90s, 30m or 1h30m", param, ctx)
        return seconds


class Dollars(click.ParamType[float]):
    """An amount of money, `2` or `$2.50`."""

    name = "usd"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the dollars."""
        try:
            amount = float(str(value).removeprefix("$"))
        except ValueError:
            amount = 0.0
        if not 0 < amount < float("inf"):
            self.fail(f"{value!r} is not an amount; write 2 or $2.50", param, ctx)
        return amount


DURATION = Duration()
_FILE = click.Path(dir_okay=False)
_RULES = (
    ("allow", "Allow what a RULE covers: Read, 'Bash(git status:*)'."),
    ("ask", "Ask a person about what a RULE covers."),
    ("deny", "Deny what a RULE covers."),
)


def _option(section: str, *names: str, **how: Any) -> Callable[[FunctionT], FunctionT]:
    return click.option(*names, cls=SectionedOption, section=section, **how)


_MAY, _WHICH, _WITH = "What may be done", "Which conversation", "With what"

_OPTIONS = (
    *(
        _option(_MAY, f"--{name}", metavar="RULE", multiple=True, help=help)
        for name, help in _RULES
    ),
    _option(_MAY, "--policy", type=_FILE, help="A TOML file of such rules."),
    _option(
        _MAY, "--mode", type=click.Choice(MODES), metavar="MODE", help=f"One of {', '.join(MODES)}."
    ),
    _option(_MAY, "--max-turns", type=int, metavar="N", help="Calls of the model, at most."),
    _option(_MAY, "--budget", type=Dollars(), help="Dollars to spend, at most."),
    _option(_WHICH, "--resume", metavar="ID", help="Continue this conversation."),
    _option(_WHICH, "--continue", "latest", is_flag=True, help="Continue the latest one here."),
    _option(_WHICH, "--fork", is_flag=True, help="Leave the continued conversation as it is."),
    _option(_WITH, "--model", metavar="NAME", help="The model, such as sonnet."),
    _option(_WITH, "--cwd", type=click.Path(file_okay=False), help="The folder to work in."),
    _option(_WITH, "--cli", metavar="PATH", help="The program to drive, or 'simulated'."),
    _option(
        _WITH,
        "--dialect",
        type=click.Choice(DIALECTS),
        metavar="NAME",
        help="The form of the protocol; found out by default.",
    ),
    _option(_WITH, "--record", type=_FILE, help="Write what goes over the wire to a file."),
)


def session_options(function: FunctionT) -> FunctionT:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def session_arguments(given: dict[str, Any]) -> OptionsDict:
    """Make options of a session from what was given on the command line.

    Raises:
        CommandError: it makes no sense together.
        OptionsError: a rule or a file is not valid.
    """
    if given["fork"] and not (given["resume"] or given["latest"]):
        raise CommandError("--fork needs a conversation to begin from: add --resume or --continue")
    if given["resume"] and given["latest"]:
        raise CommandError("--resume and --continue name two conversations; give one of them")
    known: dict[str, Any] = {
        "cli": given["cli"],
        "cwd": given["cwd"],
        "dialect": given["dialect"],
        "fork_session": given["fork"] or None,
        "continue_conversation": given["latest"] or None,
        "max_turns": given["max_turns"],
        "model": given["model"],
        "permission_mode": given["mode"],
        "resume": given["resume"],
    }
    made: OptionsDict = {}
    made.update({name: value for name, value in known.items() if value is not None})  # type: ignore[typeddict-item]
    if given["budget"] is not None:
        from ..tracking import Budget

        made["budgets"] = [Budget(cost_usd=given["budget"])]
    _add_rules(made, given)
    return made


def _add_rules(made: OptionsDict, given: dict[str, Any]) -> None:
    rules = {name: given[name] for name in ("allow", "ask", "deny")}
    if given["policy"] is not None:
        made["policy"] = _with_rules(given["policy"], rules)
        # A policy sees only what the CLI asks about; a rule that is given here holds for all.
        made["disallowed_tools"] = given["deny"]
    else:
        made.update({name: value for name, value in rules.items() if value})  # type: ignore[typeddict-item]


def _with_rules(path: str, rules: dict[str, Iterable[str]]) -> Policy:
    from ..policy import Policy

    file = Policy.from_toml(path)
    return Policy(
        allow=(*file.allow, *rules["allow"]),
        ask=(*file.ask, *rules["ask"]),
        deny=(*file.deny, *rules["deny"]),
        default=file.default,
        directories=file.directories,
        mode=file.mode,
        case_sensitive=file.case_sensitive,
        protect=file.protect,
    )


def transport_for(record: str | None, options: Options) -> Connect | None:
    """Return what records the conversation to a file; None if it is not recorded.

    Raises:
        CommandError: the file cannot be written, or has something in it.
    """
    if record is None:
        return None
    path = Path(record)
    try:
        if path.is_file() and path.stat().st_size:
            advice = "Name another file, or remove this one first."
            raise CommandError(f"--record {record}: there is such a file already.", advice=advice)
        path.open("wb").close()
    except OSError as error:
        raise CommandError(f"--record {record}: {error.strerror}") from error
    return partial(_recorded, options, _files(path))


def _files(path: Path) -> Iterator[Path]:
    """Yield the file of each recording. One that is there is not replaced."""
    yield path
    numbered = (path.with_stem(f"{path.stem}-{number}") for number in count(2))
    yield from (file for file in numbered if not os.path.exists(file))


async def _recorded(options: Options, files: Iterator[Path], launch: Launch) -> Any:
    """Start the CLI; a second one, after `/fork`, has a recording of its own."""
    from ..transport import RecordingTransport, spawn

    file = next(files)
    header = {"argv": [*launch.argv]}
    if options.cli != "simulated":
        return RecordingTransport(await spawn(launch), file, header=header)
    from ..simulator import SimulatedCLI

    cli = SimulatedCLI(dialect="modern" if options.dialect == "auto" else options.dialect)
    cli.configure(launch)
    return RecordingTransport(cli, file, header=header)
