"""`claudewire run`: one task."""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from ..errors import Error
from .commands import report
from .errors import CommandError, Exit
from .session_options import connect_for, session_arguments, session_options, time

if TYPE_CHECKING:
    from ..content import Prompt
    from .reports import Form, RunReport
    from .terminal_view import Interrupt, TextView

EXITS = (
    "Exit status: 0 done, 1 failed, 2 usage, 3 denied, 4 needs a person, 5 budget, "
    "6 usage limit, 7 no CLI, 8 stalled, 130 interrupted, 141 broken pipe."
)

STALL = 300.0
"""Seconds of silence that end a task: longer than a model thinks before its first word."""

LONGEST_INPUT = 32_000_000
"""Characters of stdin: the API takes no longer prompt."""

_FILE = click.Path(dir_okay=False)
_FORMS = ("json", "stream-json", "quiet")


@click.command(epilog=EXITS)
@click.argument("prompt", nargs=-1)
@click.option("--image", type=_FILE, multiple=True, help="Add an image to the prompt.")
@click.option("--no-input", is_flag=True, help="Never ask; deny all requests that need a person.")
@session_options
@click.option("--timeout", type=time, help="Stop after this time, such as 30m.")
@click.option("--stall", type=time, help="How long the CLI may be silent; default: 5m.")
@click.option(
    "--denied",
    type=click.Choice(["fail", "ok"]),
    metavar="ok",
    help="Exit with 0 even if a tool was denied.",
)
@click.option("--output", metavar="SCHEMA", help="Answer as JSON: a schema, or a file.")
@click.option("--json", is_flag=True, help="Print one JSON object at the end.")
@click.option("--stream-json", is_flag=True, help="Print JSON lines.")
@click.option("-q", "--quiet", is_flag=True, help="Print only the answer.")
def command(prompt: tuple[str, ...], **given: Any) -> int:
    """Run one task. A `-` in PROMPT is replaced by stdin.

    The answer goes to stdout, everything else to stderr. On a terminal the command asks you before
    the CLI does anything that no rule allows; elsewhere it denies such actions.
    """
    form = _form_of(given)
    try:
        return _run(prompt, form, given)
    except (CommandError, Error) as error:  # before the task
        if form in ("json", "stream-json"):
            from .reports import DataView, failed

            DataView(form).finish(failed(error))
        raise


def _run(prompt: tuple[str, ...], form: Form, given: dict[str, Any]) -> int:
    import anyio

    from ..options import Options, StallTimeouts
    from .task import Task

    text = read_prompt(prompt, given["image"])
    arguments = session_arguments(given)
    if given["output"] is not None:
        arguments["output"] = _read_schema(given["output"])
    stall = given["stall"] or STALL
    arguments["patience"] = StallTimeouts(first_token=stall, next_token=stall, action="interrupt")
    arguments["include_partial_messages"] = True
    options = Options(**arguments)
    attended = form == "text" and not given["no_input"] and _has_person()
    view: Any
    if form == "text":
        from .terminal_view import TextView

        view = TextView(structured=given["output"] is not None)
    else:
        from .reports import DataView

        view = DataView(form)
    task = Task(
        text,
        options,
        view,
        ask=partial(_asking, view) if attended else None,
        connect=connect_for(given["record"], options),
        timeout=given["timeout"],
        denied_ok=given["denied"] == "ok",
    )
    done = anyio.run(task.run)
    if form in ("text", "quiet"):
        _explain(done, attended=attended)
    return done.exit_code


def _form_of(given: dict[str, Any]) -> Form:
    forms = [it for it in _FORMS if given[it.replace("-", "_")]]
    if len(forms) > 1:
        words = " and ".join(f"--{form}" for form in forms)
        raise CommandError(f"{words} exclude each other", advice="Give one of them.")
    return cast("Form", forms[0] if forms else "text")


def _asking(view: TextView, interrupt: Interrupt) -> Any:
    """Make the approver that asks the person at the terminal."""
    from ..approvals import Terminal
    from .terminal_view import ViewIO

    return Terminal(io=ViewIO(view, interrupt))


def _has_person() -> bool:
    """Return whether a person can read a question on stderr and type an answer."""
    from .console import is_rich

    if not is_rich(sys.stderr):
        return False
    if sys.stdin.isatty():
        return True
    try:  # at the terminal behind stdin
        os.close(os.open(os.ctermid(), os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _explain(done: RunReport, *, attended: bool) -> None:
    """Report on stderr why a task failed, and the remedy."""
    if done.error is not None:
        report([*done.error.message.splitlines(), done.error.advice])
    elif done.exit_code == Exit.STALLED:
        report(["Timed out: the task took longer than --timeout."])
    elif done.exit_code in (Exit.DENIED, Exit.NEEDS_PERSON) and not attended:
        tools = sorted({it.tool for it in done.decisions if it.by == "no terminal"})
        if tools:
            words = f"Denied, because no person can be asked here: {', '.join(tools)}."
            advice = "Allow it with --allow RULE, or run this in a terminal to be asked."
        else:
            words, advice = "A rule denied a tool.", "If that is fine, add --denied ok."
        report([words, advice])


def read_prompt(words: tuple[str, ...], images: tuple[str, ...] = ()) -> Prompt:
    """Return the prompt: the words, with stdin in place of a dash."""
    if not words and sys.stdin.isatty():
        raise CommandError(
            "There is no prompt.",
            advice='Write one: claudewire run "Summarise README.md"; or - to read it from stdin.',
        )
    text = " ".join(_input() if word == "-" else word for word in words or ("-",)).strip()
    if not text:
        raise CommandError("The prompt is empty.")
    if not images:
        return text
    from ..content import image

    return [text, *map(image, images)]


def _input() -> str:
    text = sys.stdin.read(LONGEST_INPUT + 1)
    if len(text) > LONGEST_INPUT:
        raise CommandError(f"stdin has more than {LONGEST_INPUT:,} characters.")
    return text


def _read_schema(given: str) -> dict[str, Any]:
    """Read a JSON Schema: from a file, or the schema itself."""
    is_inline = given.lstrip().startswith("{")
    try:
        found = json.loads(given if is_inline else Path(given).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(f"--output {given}: {error.strerror}") from error
    except ValueError as error:
        raise CommandError(f"--output is not a JSON Schema: {error}") from error
    if not isinstance(found, dict):
        raise CommandError("--output is not a JSON Schema: it must be an object")
    return found
