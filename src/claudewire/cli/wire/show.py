"""`claudewire show`: a recording as a timeline, on the terminal or as a page."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ...recordings import Step, Timeline, page, read
from ..errors import CommandError
from ..styles import Paint
from ..text import safe
from .lines import LineView, counted, duration, latency_table, put, width_of
from .reports import LatencyItem, LineItem, ShowReport, print_json

__all__ = ["command", "selected"]

_KINDS = ("message", "request", "answer", "failure", "cancel", "bad line", "stderr", "end", "exit")


@click.command()
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--html", metavar="OUT", help="Write one HTML page that needs nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.option("--only", type=click.Choice(_KINDS), multiple=True, help="Only lines of this kind.")
@click.option("--grep", metavar="TEXT", help="Only lines that contain this.")
@click.option("--findings", is_flag=True, help="Only lines that the linter comments on.")
@click.option("--raw", is_flag=True, help="Show the lines themselves below what they say.")
@click.option("--no-latencies", is_flag=True, help="Leave out how long things took.")
def command(file: str, html: str | None, as_json: bool, **given: Any) -> None:
    """Show the recording FILE as a timeline of both directions.

    → is what the application sent, ← what the CLI wrote, ! its stderr. At the end of a line is how
    long it took to get this answer, and !1 if the linter has something to say about the line.
    FILE can also be what `claude -p --output-format stream-json` has written.
    """
    timeline = Timeline.of(read(file))
    if html is not None:
        write_page(timeline, file, html)
    elif as_json:
        print_json(report(timeline, file, [*selected(timeline, given)]))
    else:
        show(timeline, file, [*selected(timeline, given)], given)


def selected(timeline: Timeline, given: dict[str, Any]) -> list[Step]:
    """Return the steps that the options ask for."""
    text = (given.get("grep") or "").lower()
    return [
        step
        for step in timeline.steps
        if (not given.get("only") or step.kind in given["only"])
        if not text or text in f"{step.name} {step.entry.text or step.summary}".lower()
        if not given.get("findings") or step.findings
    ]


def write_page(timeline: Timeline, file: str, out: str) -> None:
    """Write the page to a file, or to stdout for a dash.

    Raises:
        CommandError: it cannot be written.
    """
    text = page(timeline, Path(file).name)
    if out == "-":
        sys.stdout.write(text)
        return
    try:
        Path(out).write_text(text, encoding="utf-8")
    except OSError as error:
        advice = "Name a file in a folder that exists, or - for stdout."
        raise CommandError(f"{out} cannot be written: {error.strerror}", advice=advice) from error
    click.echo(f"Wrote {click.format_filename(out)}: open it in a browser.", err=True)


def show(timeline: Timeline, file: str, steps: list[Step], given: dict[str, Any]) -> None:
    """Print the timeline."""
    paint, width = Paint.for_stream(sys.stdout), width_of()
    view = LineView(timeline, paint, width)
    version = timeline.recording.header.get("cli_version")
    facts = [f"CLI {version}" if version else "", counted(len(timeline.steps), "line")]
    facts += [duration(timeline.seconds)]
    put(paint("heading", safe(file)), safe(" · ".join(filter(None, facts))), "")
    for step in steps:
        put(view.line(step))
        if given["raw"] and step.entry.line is not None:
            put(paint("dim", f"         {safe(step.entry.text)}"))
    if timeline.exchanges and not given["no_latencies"]:
        put("", *latency_table(timeline.latencies(), paint, width))
    if timeline.findings:
        put("", f"{counted(len(timeline.findings), 'finding')}: claudewire lint {safe(file)}")


def report(timeline: Timeline, file: str, steps: list[Step]) -> ShowReport:
    """Make what `--json` prints."""
    endings, start = timeline.endings(), timeline.steps[0].t if timeline.steps else 0.0
    items = []
    for step in steps:
        # The first of them has begun first, so it took the longest.
        ended = next(iter(endings.get(step.index, ())), None)
        items.append(
            LineItem(
                line=step.entry.number,
                seconds=round(step.t - start, 6),
                direction=step.dir,
                kind=step.kind,
                name=step.name,
                summary=step.summary,
                id=step.id,
                answers=timeline.steps[ended.start].entry.number if ended else None,
                took=ended.seconds if ended else None,
                text=None if step.entry.line is None else step.entry.text,
                findings=[finding.code for finding in step.findings],
            )
        )
    return ShowReport(
        file=file,
        header=dict(timeline.recording.header),
        seconds=timeline.seconds,
        lines=items,
        latencies=[LatencyItem(**asdict(it)) for it in timeline.latencies()],
    )
