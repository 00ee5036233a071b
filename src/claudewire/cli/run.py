"""`claudewire run`: one task."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from .errors import CommandError
from .exits import Exit
from .group import report as report_error
from .sections import SectionedCommand, SectionedOption
from .session_options import DURATION, session_arguments, session_options, transport_for

if TYPE_CHECKING:
    from ..content import Prompt
    from .reports import RunReport
    from .task import TaskRun
    from .views import View

__all__ = ["command"]


EXITS = (
    "Exit status: 0 done, 1 failed, 2 usage, 3 something was denied, 4 needs a person, 5 budget, "
    "6 usage limit, 7 no CLI, 8 stalled, 130 interrupted, 141 broken pipe."
)

_FILE = click.Path(dir_okay=False)
_DENIED = click.Choice(["fail", "ok"])

STALL = 300.0
"""Seconds of silence after which a task is given up: longer than a model thinks without a word."""


_option = partial(click.option, cls=SectionedOption)
_INPUT, _END, _OUTPUT = "Input", "When it ends", "Output"


@click.command(cls=SectionedCommand, epilog=EXITS)
@click.argument("prompt", nargs=-1)
@_option("--image", section=_INPUT, type=_FILE, multiple=True, help="Add an image to the prompt.")
@_option("--no-input", section=_INPUT, is_flag=True, help="Ask nobody: deny what needs a person.")
@session_options
@_option("--timeout", section=_END, type=DURATION, help="Give up after this time, such as 30m.")
@_option("--stall", section=_END, type=DURATION, help="Give up after this silence; default: 5m.")
@_option("--denied", section=_END, type=_DENIED, metavar="ok", help="Exit 0 if work was denied.")
@_option("--output", section=_OUTPUT, metavar="SCHEMA", help="Answer as JSON: a schema, or a file.")
@_option("--json", section=_OUTPUT, is_flag=True, help="One object at the end.")
@_option("--stream-json", section=_OUTPUT, is_flag=True, help="JSON lines.")
@_option("-q", "--quiet", section=_OUTPUT, is_flag=True, help="Only the answer.")
def command(prompt: tuple[str, ...], **given: Any) -> int:
    """Do one task: PROMPT, in which - stands for what stdin says.

    The answer goes to stdout, everything else to stderr. On a terminal you are asked before
    anything is done that no rule allows; without one it is denied.
    """
    import anyio

    form = form_of(given)
    work = prepare(prompt, form, given)
    report: RunReport = anyio.run(work.run)
    if form not in ("json", "stream-json"):
        tell(report, attended=work.nobody is None)
    return report.exit_code


def form_of(given: dict[str, Any]) -> str | None:
    """Return the form of the output that was asked for; None for the usual one.

    Raises:
        CommandError: several were.
    """
    forms = [it for it in ("json", "stream-json", "quiet") if given[it.replace("-", "_")]]
    if len(forms) > 1:
        words = " and ".join(f"--{form}" for form in forms)
        raise CommandError(f"{words} are different forms of output; give one of them")
    return forms[0] if forms else None


def tell(report: RunReport, *, attended: bool) -> None:
    """Say on stderr what went wrong, and what to do about it."""
    if report.error is not None:
        report_error([*report.error.message.splitlines(), report.error.advice])
    elif report.exit_code == Exit.STALLED:
        report_error(["The time is over: --timeout."])
    elif report.exit_code in (Exit.DENIED, Exit.NEEDS_PERSON) and not attended:
        report_error(_denied(report))


def _denied(report: RunReport) -> list[str]:
    tools = sorted({it.tool for it in report.decisions if it.by == "no terminal"})
    if not tools:
        return ["Something was denied by a rule.", "If that is fine, add --denied ok."]
    return [
        f"Something was denied, because no person can be asked here: {', '.join(tools)}.",
        "Allow it with --allow RULE, or run this in a terminal, where you are asked.",
    ]


def prepare(words: tuple[str, ...], form: str | None, given: dict[str, Any]) -> TaskRun:
    """Check what was given, and make the task of it.

    Raises:
        CommandError: it makes no sense.
        OptionsError: an option is not valid.
    """
    from ..options import Options, Patience
    from .task import Nobody, Task, TaskRun

    prompt = read_prompt(words, given["image"])
    arguments = session_arguments(given)
    if given["output"] is not None:
        arguments["output"] = read_schema(given["output"])
    stall = given["stall"] or STALL
    arguments["patience"] = Patience(first_token=stall, next_token=stall, action="interrupt")
    arguments["include_partial_messages"] = True
    options = Options(**arguments)
    view = make_view(form, structured=given["output"] is not None)
    nobody = None if has_person(given, form, view) else Nobody(options.policy)
    task = Task(
        prompt,
        options.replace(person=nobody),
        transport=transport_for(given["record"], options),
        timeout=given["timeout"],
        denied_ok=given["denied"] == "ok",
    )
    return TaskRun(task, view, nobody)


def has_person(given: dict[str, Any], form: str | None, view: View) -> bool:
    """Whether a person can be asked: one who can read the question and type an answer."""
    if given["no_input"] or form in ("json", "stream-json"):
        return False
    from .terminal_view import TerminalView

    return isinstance(view, TerminalView) and sys.stderr.isatty() and has_keyboard()


def has_keyboard() -> bool:
    """Whether something can be typed: at stdin, or at the terminal if stdin is something else."""
    if sys.stdin.isatty():
        return True
    try:
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def make_view(form: str | None, *, structured: bool = False) -> View:
    """Choose how the task is shown."""
    from .styles import is_rich
    from .views import JsonView, PlainView, QuietView, StreamJsonView

    if form == "json":
        return JsonView()
    if form == "stream-json":
        return StreamJsonView()
    if form == "quiet":
        return QuietView()
    if is_rich(sys.stderr) or is_rich(sys.stdout):
        from .terminal_view import TerminalView

        return TerminalView(structured=structured)
    return PlainView(structured=structured)


def read_prompt(words: tuple[str, ...], images: tuple[str, ...] = ()) -> Prompt:
    """Return the prompt: the words, with what stdin says in place of a dash.

    Raises:
        CommandError: there is none.
    """
    if not words and sys.stdin.isatty():
        raise CommandError(
            "There is no prompt.",
            advice='Write one: claudewire run "Summarise README.md"; or - to read it from stdin.',
        )
    text = " ".join(sys.stdin.read() if word == "-" else word for word in words or ("-",)).strip()
    if not text:
        raise CommandError("The prompt is empty.")
    if not images:
        return text
    from ..content import Image, Text

    return [Text(text), *(Image.of(path) for path in images)]


def read_schema(given: str) -> dict[str, Any]:
    """Read a JSON Schema: a file, or the schema itself.

    Raises:
        CommandError: it is not one.
    """
    import json
    from pathlib import Path

    try:
        is_inline = given.lstrip().startswith("{")
        found = json.loads(given if is_inline else Path(given).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--output {given}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"--output: this is not a JSON Schema: {error}") from error
    if not isinstance(found, dict):
        raise CommandError("--output: a JSON Schema is an object.")
    return found
