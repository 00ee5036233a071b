"""The command `doctor`: runs the checks, and shows them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import anyio
import click

from ..exits import Exit
from ..styles import Paint
from ..text import safe
from ..wire.lines import counted, put, width_of, wrapped
from ..wire.reports import print_json
from .leftovers import leftovers
from .probe import probe, real_turn
from .report import Check, DoctorReport
from .surroundings import Surroundings

__all__ = ["command"]

_MARKS = {"ok": "✓", "info": "·", "warning": "!", "problem": "✗", "skipped": "-"}
_ASCII = {"ok": "+", "info": "-", "warning": "!", "problem": "x", "skipped": "-"}
_STYLES = {"ok": "ok", "info": "dim", "warning": "ask", "problem": "bad", "skipped": "dim"}
_SHOWN = {"warning", "problem"}
"""Whose details are always shown."""
_INDENT = 22
"""Columns before what is found: for a mark and a name."""


@click.command()
@click.option("--cli", metavar="PATH", help='The CLI to look at; "simulated" for the built-in one.')
@click.option("--cwd", type=click.Path(file_okay=False, exists=True), help="The folder to look at.")
@click.option("--no-start", is_flag=True, help="Look at files only; start nothing but --version.")
@click.option("--real-turn", "spends", is_flag=True, help="Also ask the model for one word.")
@click.option("-v", "--verbose", is_flag=True, help="Show details of what is fine, too.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(
    cli: str | None, cwd: str | None, no_start: bool, spends: bool, verbose: bool, as_json: bool
) -> int:
    """Find out whether sessions work here, and if not, why.

    The CLI is started with a configuration of its own and a scripted model on this machine: nothing
    is spent, and nothing in your configuration is used or changed. Only --real-turn calls the
    model, with your login. Exit status: 0 if there is no problem, 1 if there is one, 7 without CLI.
    """
    surroundings = Surroundings(os.environ, Path(cwd or ".").absolute(), cli)
    checks = []
    view = None if as_json else _View(verbose)
    for check in _checks(surroundings, starts=not no_start, spends=spends):
        checks.append(check)
        if view is not None:
            view.show(check)
    report = DoctorReport(ok=all(it.status != "problem" for it in checks), checks=checks)
    if view is None:
        print_json(report)
    else:
        view.end(report)
    return _status(report)


def _checks(surroundings: Surroundings, *, starts: bool, spends: bool) -> Iterator[Check]:
    missing = False
    for check in surroundings.checks():
        missing |= check.name in ("cli", "version") and check.status == "problem"
        yield check
    yield leftovers()
    if starts and not missing:
        yield from anyio.run(probe, surroundings)
    if spends and not missing:
        yield anyio.run(real_turn, surroundings)


def _status(report: DoctorReport) -> Exit:
    if any(it.name == "cli" and it.status == "problem" for it in report.checks):
        return Exit.NO_CLI
    return Exit.DONE if report.ok else Exit.FAILED


class _View:
    """Shows checks on stdout as they are made.

    Args:
        verbose: whether the details of everything are shown.
    """

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self._paint = Paint.for_stream(sys.stdout)
        self._width = width_of()
        self._marks = _MARKS if self._paint.mark("dot") == "·" else _ASCII

    def show(self, check: Check) -> None:
        """Show one check."""
        mark = self._paint(_STYLES[check.status], self._marks[check.status])
        name = self._paint("strong", f"{check.name:<18}")
        first, *more = self._folded(check.message)
        put(f" {mark} {name} {first}".rstrip(), *self._indented(more))
        if check.status in _SHOWN or self._verbose:
            for detail in check.details:
                put(*self._indented(self._folded(detail), "dim"))
        if check.advice:
            put(*self._indented(self._folded(check.advice), "code"))

    def _folded(self, text: str) -> list[str]:
        room = max(self._width - _INDENT - 1, 20)
        return [part for line in safe(text).split("\n") for part in wrapped(line, room)]

    def _indented(self, lines: Iterable[str], style: str = "") -> Iterator[str]:
        for line in lines:
            yield (" " * _INDENT + self._paint(style, line)).rstrip()

    def end(self, report: DoctorReport) -> None:
        """Say how it is, all in all."""
        problems = sum(it.status == "problem" for it in report.checks)
        warnings = sum(it.status == "warning" for it in report.checks)
        words = f"{counted(problems, 'problem')}, {counted(warnings, 'warning')}"
        if report.ok:
            words = "Sessions work here" + (f"; {counted(warnings, 'warning')}" * bool(warnings))
        if not any(it.name == "handshake" and it.status == "ok" for it in report.checks):
            words = words.replace("Sessions work here", "No problem was found")
        put("", self._paint("ok" if report.ok else "bad", words))
