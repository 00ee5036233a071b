"""`claudewire diff`: how two recordings differ."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from ...recordings import Comparison, KindChange, LineChange, compare, read
from ..exits import Exit
from ..styles import Paint
from ..text import clip, safe
from . import reports
from .lines import counted, duration, put, width_of

__all__ = ["command"]


@click.command()
@click.argument("before", type=click.Path(dir_okay=False))
@click.argument("after", type=click.Path(dir_okay=False))
@click.option("--values", is_flag=True, help="Show every value that differs, line by line.")
@click.option("--times", is_flag=True, help="Count times and durations as values, too.")
@click.option("--latencies", is_flag=True, help="Show how long things took in both.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def command(
    before: str, after: str, values: bool, times: bool, latencies: bool, as_json: bool
) -> int:
    """Say how the recordings BEFORE and AFTER differ.

    Compared are the kinds of lines and the fields that they have, their order, and their values.
    Ids may differ as long as they refer to the same things. Exit status: 0 if nothing differs, 1 if
    something does.
    """
    comparison = compare(read(before), read(after), times=times)
    if as_json:
        reports.print_json(_report(comparison, before, after))
    else:
        _print(comparison, values=values, latencies=latencies)
    return Exit.DONE if comparison.is_same else Exit.FAILED


# --- as text -------------------------------------------------------------------------------------


def _print(comparison: Comparison, *, values: bool, latencies: bool) -> None:
    paint, width = Paint.for_stream(sys.stdout), width_of()
    lines = [*_sections(comparison, paint, width, values)]
    if comparison.is_same:
        lines = ["Nothing differs but ids and times."]
    if latencies:
        lines += ["", *_latencies(comparison, paint)]
    put(*lines)


def _sections(comparison: Comparison, paint: Paint, width: int, values: bool) -> Iterator[str]:
    if comparison.kinds:
        yield paint("heading", "Kinds of lines, and their fields")
        for kind in comparison.kinds:
            yield from _kind(kind, paint, width)
    alone = [it for it in comparison.lines if it.before is None or it.after is None]
    changed = [it for it in comparison.lines if it.values]
    if alone:
        yield ""
        yield paint("heading", "Lines that only one of them has")
        for line in alone:
            yield _alone(line, paint, width)
    if changed:
        yield ""
        count = sum(len(it.values) for it in changed)
        words = f"{counted(count, 'other value')} in {counted(len(changed), 'line')}"
        yield paint("heading", words)
        if not values:
            yield "Add --values to see them."
        for line in changed if values else ():
            yield from _values(line, paint, width)


def _kind(change: KindChange, paint: Paint, width: int) -> Iterator[str]:
    counts = f"{change.before}" + (
        f" -> {change.after}" if change.before != change.after else " in both"
    )
    mark = "+" if not change.before else "-" if not change.after else " "
    yield clip(f"{mark} {safe(str(change.kind))}", width - len(counts) - 2) + f"  {counts}"
    for field in change.fields:
        style = "added" if not field.before else "removed" if not field.after else "hunk"
        mark = {"added": "+", "removed": "-", "hunk": "~"}[style]
        types = "|".join(field.after or field.before)
        types = f"{'|'.join(field.before)} -> {types}" if style == "hunk" else types
        yield paint(style, clip(f"    {mark} {safe(field.path)}  {types}", width))


def _alone(change: LineChange, paint: Paint, width: int) -> str:
    step = change.before or change.after
    assert step is not None
    style, mark = ("removed", "-") if change.after is None else ("added", "+")
    text = f"{mark} line {step.entry.number}: {change.kind}  {step.summary}"
    return paint(style, clip(safe(text), width))


def _values(change: LineChange, paint: Paint, width: int) -> Iterator[str]:
    assert change.before is not None
    assert change.after is not None
    numbers = f"line {change.before.entry.number}, line {change.after.entry.number}"
    yield f"{safe(str(change.kind))} ({numbers})"
    for value in change.values:
        yield paint("hunk", clip(f"    {safe(value.path)}", width))
        if value.before is not None:
            yield paint("removed", clip(f"      - {safe(value.before)}", width))
        if value.after is not None:
            yield paint("added", clip(f"      + {safe(value.after)}", width))


def _latencies(comparison: Comparison, paint: Paint) -> Iterator[str]:
    yield paint("heading", "How long things took, by the median")
    for change in comparison.latencies:
        some = change.before or change.after
        assert some is not None
        times = ["-" if it is None else duration(it.median) for it in (change.before, change.after)]
        yield f"  {some.kind} {safe(some.name)}: {times[0]} -> {times[1]}"


# --- as JSON -------------------------------------------------------------------------------------


def _report(comparison: Comparison, before: str, after: str) -> reports.DiffReport:
    kinds = [
        reports.KindDifference(
            direction=it.kind.dir,
            kind=it.kind.kind,
            name=it.kind.name,
            before=it.before,
            after=it.after,
            fields=[
                reports.FieldDifference(path=f.path, before=[*f.before], after=[*f.after])
                for f in it.fields
            ],
        )
        for it in comparison.kinds
    ]
    return reports.DiffReport(
        before=before,
        after=after,
        same=comparison.is_same,
        kinds=kinds,
        lines=[_line_report(it) for it in comparison.lines],
        latencies=[*_latency_reports(comparison)],
    )


def _line_report(change: LineChange) -> reports.LineDifference:
    step = change.before or change.after
    assert step is not None
    values = [
        reports.ValueDifference(path=it.path, before=it.before, after=it.after)
        for it in change.values
    ]
    return reports.LineDifference(
        direction=change.kind.dir,
        kind=change.kind.kind,
        name=change.kind.name,
        before=change.before.entry.number if change.before else None,
        after=change.after.entry.number if change.after else None,
        summary=step.summary,
        values=values,
    )


def _latency_reports(comparison: Comparison) -> Iterator[reports.LatencyDifference]:
    for change in comparison.latencies:
        some = change.before or change.after
        assert some is not None
        yield reports.LatencyDifference(
            kind=some.kind,
            name=some.name,
            by=some.by,
            before=change.before.median if change.before else None,
            after=change.after.median if change.after else None,
        )
