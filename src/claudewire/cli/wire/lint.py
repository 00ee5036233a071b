"""`claudewire lint`: what is wrong, outdated or suspicious in a recording."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import click

from ...wire.lint import Finding, lint
from ..errors import CommandError
from ..exits import Exit
from ..styles import Paint
from .lines import counted, put
from .reports import FindingItem, LintReport, print_json

__all__ = ["command"]

_STYLES = {"error": "bad", "outdated": "ask", "suspicious": "ask", "info": "dim"}


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--strict", is_flag=True, help="Fail also for what is outdated or suspicious.")
@click.option("--to-cli", "direction", flag_value=">", help="All lines were sent to the CLI.")
@click.option("--from-cli", "direction", flag_value="<", help="All lines were written by the CLI.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(file: str, strict: bool, direction: str | None, as_json: bool) -> int:
    """Say what is wrong, outdated or suspicious in FILE, line by line; - for stdin.

    FILE is a recording, or lines of the protocol, of one direction or of both. Exit status: 0 if
    nothing is wrong, 1 if something is.
    """
    findings = lint(_content(file), direction=direction)
    if as_json:
        _print_json(file, findings)
    else:
        _print(findings)
    bad = {"error"} | ({"outdated", "suspicious"} if strict else set())
    return Exit.FAILED if any(it.severity in bad for it in findings) else Exit.DONE


def _content(file: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror or error}") from error


def _print(findings: list[Finding]) -> None:
    paint = Paint.for_stream(sys.stdout)
    for finding in findings:
        # It escapes what it quotes.
        place, _, rest = str(finding).partition(f" {finding.severity}:")
        mark = paint(_STYLES[finding.severity], f"{finding.severity}:")
        put(f"{paint('strong', place)} {mark}{rest}")
    counts = Counter(it.severity for it in findings)
    words = ", ".join(_counted(count, severity) for severity, count in counts.items())
    click.echo(words or "Nothing to complain about.", err=True)


def _counted(count: int, severity: str) -> str:
    # The others are no nouns.
    return counted(count, severity) if severity == "error" else f"{count} {severity}"


def _print_json(file: str, findings: list[Finding]) -> None:
    fields = ("line", "severity", "code", "message", "advice", "path", "dialect")
    items = [FindingItem(**{name: getattr(it, name) for name in fields}) for it in findings]
    print_json(LintReport(file=file, findings=items))
