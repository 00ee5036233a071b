"""`claudewire record`, `show`, `replay`, `diff` and `lint`: recordings for people and SDKs."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import anyio
import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..recordings import (
    Comparison,
    KindChange,
    LineChange,
    Recording,
    RecordingTransport,
    ReplayMismatch,
    ReplayTransport,
    ReplayUnfinished,
    Step,
    Timeline,
    compare,
    page,
    read,
)
from ..transport import Launch, relay, spawn
from ..wire.lint import Finding, lint
from .console import clip, put, stdout
from .errors import CommandError, Exit
from .reports import print_json
from .session_options import unused
from .text import counted, duration, one_line, safe

_KINDS = ("message", "request", "answer", "failure", "cancel", "bad line", "stderr", "end", "exit")
_ARROWS = {">": ("→", "code"), "<": ("←", "ok"), "!": ("!", "bad")}
_FILE = click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))


# --- record --------------------------------------------------------------------------------------

_PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

_RECORD = """\
Run CMD, a claude CLI, and record its traffic with the program that started this command.

\b
Everything passes through unchanged, including signals and the exit status:
  claudewire record -o talk.jsonl -- claude -p --output-format stream-json ...
For an SDK that takes the path of its CLI, write a wrapper program:
  claudewire record -o talks/ --script ./claude-recorded -- claude

Existing files are never overwritten: the next recording gets a number.
"""


@click.command(
    help=_RECORD,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    options_metavar="[OPTIONS] --",
)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="CMD...")
@click.option("-o", "--output", metavar="PATH", help="A file, or a folder for a new file per run.")
@click.option("--keep-secrets", is_flag=True, help="Keep keys and tokens.")
@click.option("--script", metavar="PATH", help="Write a program that records; run nothing.")
def record(
    words: tuple[str, ...], output: str | None, keep_secrets: bool, script: str | None
) -> int:
    """Record an SDK and its CLI."""
    argv = _found(words)
    if script is not None:
        keep = ["--keep-secrets"] if keep_secrets else []
        place = [] if output is None else ["-o", _absolute(output)]
        _write_script(script, ["record", *place, *keep, "--", *argv])
        return Exit.DONE
    file = _create(output)
    status, is_complete = anyio.run(_record, argv, file, not keep_secrets)
    with suppress(OSError):  # the disk is full
        file.close()
    if is_complete and sys.stderr.isatty():
        shown = click.format_filename(file.name)
        click.echo(f"Recorded {shown}. Look at it: claudewire show {shown}", err=True)
    return _die_as(status)


async def _record(argv: Sequence[str], file: BinaryIO, redacted: bool) -> tuple[int | None, bool]:
    process = await spawn(Launch(tuple(argv), dict(os.environ)))

    async def pass_signals_on() -> None:
        with anyio.open_signal_receiver(*_PASSED_ON) as signals:
            async for number in signals:
                process.send_signal(number)

    tapped = RecordingTransport(process, file, header={"argv": [*argv]}, redactor=redacted)
    try:
        status = await relay(tapped, signals=pass_signals_on)
    finally:
        await tapped.aclose()
    return status, tapped.failure is None


def _found(words: Sequence[str]) -> list[str]:
    program = shutil.which(words[0])
    if program is None:
        raise CommandError(
            f"There is no program {words[0]!r}.",
            advice="Name the CLI after --, as in: claudewire record -o talk.jsonl -- claude",
        )
    return [str(Path(program).absolute()), *words[1:]]


def _absolute(output: str) -> str:
    # A slash at the end means a folder.
    return str(Path(output).absolute()) + ("/" if output.endswith("/") else "")


def _create(output: str | None) -> BinaryIO:
    """Create the file of a recording, which only its owner can read."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    wanted = Path(output or f"recording-{stamp}.jsonl")
    if os.path.isdir(wanted) or (output or "").endswith("/"):
        wanted = wanted / f"{stamp}-{os.getpid()}.jsonl"
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        return open(unused(wanted), "xb", opener=partial(os.open, mode=0o600))
    except OSError as error:
        raise CommandError(
            f"{wanted} cannot be written: {error.strerror}",
            advice="Name a file or a folder that you may write, with -o.",
        ) from error


def _die_as(status: int | None) -> int:
    """Return an exit status, or die by the signal that killed the CLI."""
    if status is not None and status < 0:
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return 1 if status is None else status


def _write_script(path: str, words: Sequence[str]) -> None:
    """Write a program that runs this command, for SDKs that take a path and no arguments."""
    sign = "# Made by claudewire."
    target = Path(path)
    run = shlex.join([sys.executable, "-m", "claudewire", *words])
    try:
        if os.path.exists(target) and sign not in target.read_text("utf-8", "replace"):
            raise CommandError(
                f"{path} exists, and this command did not write it.",
                advice="Name a file that does not exist.",
            )
        target.write_text(f'#!/bin/sh\n{sign}\nexec {run} "$@"\n', encoding="utf-8")
        target.chmod(0o755)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    shown = click.format_filename(target.absolute())
    click.echo(f"Wrote {shown}. Give this path to an SDK as its CLI.", err=True)


# --- show ----------------------------------------------------------------------------------------


@click.command()
@_FILE
@click.option("--html", metavar="OUT", help="Write one HTML page that needs no other file.")
@click.option(
    "--only",
    type=click.Choice(_KINDS),
    multiple=True,
    metavar="KIND",
    help="Only lines of this kind: message, request, answer, failure, cancel, bad line, stderr…",
)
@click.option("--raw", is_flag=True, help="Print the unchanged lines, too.")
def show(file: str, html: str | None, **given: Any) -> None:
    """Show the recording FILE as a timeline of both directions.

    → marks what the application sent, ← what the CLI wrote, ! its stderr. A line ends with the time
    that its answer took, and with !1 if the linter has one finding in it. FILE can also be the
    output of `claude -p --output-format stream-json`.
    """
    timeline = Timeline.of(read(file))
    if html == "-":
        sys.stdout.write(page(timeline, Path(file).name))
    elif html is not None:
        with open(html, "x", encoding="utf-8") as out:
            out.write(page(timeline, Path(file).name))
        click.echo(f"Wrote {click.format_filename(html)}: open it in a browser.", err=True)
    else:
        _print(timeline, file, **given)


def _print(timeline: Timeline, file: str, *, only: Sequence[str], raw: bool) -> None:
    console = stdout()
    version = timeline.recording.header.get("cli_version")
    facts = [f"CLI {version}" if version else "", counted(len(timeline.steps), "line")]
    facts.append(duration(timeline.seconds))
    put(console, Text(safe(file), "heading"), safe(" · ".join(filter(None, facts))), "")
    for step, line in _lines(timeline, console):
        if only and step.kind not in only:
            continue
        console.print(line)
        if raw and step.entry.line is not None:
            put(console, Text(f"         {safe(step.entry.text)}", "dim"))
    if timeline.findings:
        words = f"{counted(len(timeline.findings), 'finding')}: claudewire lint {safe(file)}"
        put(console, "", words)


def _lines(timeline: Timeline, console: Console) -> Iterator[tuple[Step, Table]]:
    """Write each step as one line: time, direction, name and content, and how long it took."""
    endings, start = timeline.endings(), timeline.recording.entries[0].t if timeline.steps else 0.0
    width = min(28, max(8, console.width // 3))
    room = console.width if console.is_terminal else 2000
    for step in timeline.steps:
        took = [duration(it.seconds or 0) for it in endings.get(step.index, [])[:1]]
        took += [f"!{len(step.findings)}"] if step.findings else []
        end = " ".join(took)
        title = f"{step.kind} {step.name}" if step.kind in ("answer", "failure") else step.name
        bad = step.kind in ("bad line", "failure")
        line = Table.grid(padding=(0, 1), expand=console.is_terminal)
        line.add_column(style="dim", width=8)
        line.add_column(width=1)
        line.add_column(style="bad" if bad else "strong", width=width, no_wrap=True)
        line.add_column(style="bad" if step.dir == "!" else "", ratio=1, no_wrap=True)
        line.add_column(style="dim", no_wrap=True)
        line.add_row(
            f"{step.t - start:8.3f}",
            Text(*_ARROWS.get(step.dir or "", ("=", "dim"))),
            one_line(title, width),
            one_line(step.summary, room),
            end if console.is_terminal or not end else f"({end})",
        )
        yield step, line


# --- replay --------------------------------------------------------------------------------------


@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@_FILE
@click.option(
    "--match",
    type=click.Choice(["strict", "loose", "none"]),
    default="loose",
    help="How to compare the SDK's lines.",
)
@click.option("--script", metavar="PATH", help="Write a program that replays, for an SDK.")
@click.pass_context
def replay(ctx: click.Context, /, file: str, match: str, script: str | None) -> int:
    """Act as a CLI that repeats the recording FILE over stdin and stdout, for an SDK.

    The command writes each recorded line as soon as the SDK has sent the recorded lines before it,
    compares the SDK's lines with the recording (--match), and accepts the flags that an SDK gives
    its CLI. `claudewire show` prints a recording.
    """
    recording = read(file)
    if script is None:
        return _play(recording, ctx.args, match)
    path = click.format_filename(Path(file).absolute())
    _write_script(script, ["replay", path, "--match", match])
    return Exit.DONE


def _play(recording: Recording, flags: Sequence[str], match: Any) -> int:
    if {"-v", "--version"} & {*flags}:
        version = recording.header.get("cli_version", "0.0.0")
        sys.stdout.write(f"{version} (Claude Code)\n")
        return Exit.DONE
    # The SDK may give the session another id than the recorded one.
    then, now = map(_session_id, (recording.header.get("argv") or [], flags))
    ids = {then: now} if then and now else {}
    transport = ReplayTransport(recording, match=match, ids=ids)
    try:
        status = anyio.run(_serve, transport)
    except (ReplayMismatch, ReplayUnfinished) as error:
        raise CommandError(
            safe(str(error)),
            advice="Compare less with --match loose or --match none, or record it again.",
            exit=Exit.FAILED,
        ) from error
    return status if status is not None and status >= 0 else 1


async def _serve(transport: ReplayTransport) -> int | None:
    status = await relay(transport)
    transport.finish()
    return status


def _session_id(words: Sequence[str]) -> str:
    found = re.search(r"--session-id[ =](\S+)", " ".join(words))
    return found[1] if found else ""


# --- diff ----------------------------------------------------------------------------------------


@click.command()
@click.argument("before", type=click.Path(dir_okay=False))
@click.argument("after", type=click.Path(dir_okay=False))
@click.option("--values", is_flag=True, help="Show every value that differs, line by line.")
def diff(before: str, after: str, values: bool) -> int:
    """Compare the recordings BEFORE and AFTER.

    The command compares the kinds of lines and their fields, their order, and their values. Ids may
    differ if they refer to the same things. Exit status: 0 if they are the same, 1 if they differ.
    """
    comparison, console = compare(read(before), read(after)), stdout()
    lines = _differences(comparison, values=values)
    put(console, *(clip(line, console.width) for line in lines))
    return Exit.DONE if comparison.is_same else Exit.FAILED


def _differences(comparison: Comparison, *, values: bool) -> Iterator[Text]:
    if comparison.is_same:
        yield Text("No differences except ids and times.")
    if comparison.kinds:
        yield Text("Kinds of lines, and their fields", "heading")
        for kind in comparison.kinds:
            yield from _kind(kind)
    alone = [it for it in comparison.lines if it.before is None or it.after is None]
    if alone:
        yield from (Text(), Text("Lines in only one of them", "heading"))
        yield from map(_alone, alone)
    changed = [it for it in comparison.lines if it.values]
    if changed:
        count = sum(len(it.values) for it in changed)
        words = f"{counted(count, 'other value')} in {counted(len(changed), 'line')}"
        yield from (Text(), Text(words, "heading"))
        yield from _changed(changed) if values else [Text("Add --values to see them.")]


def _kind(change: KindChange) -> Iterator[Text]:
    same = change.before == change.after
    counts = f"{change.before} in both" if same else f"{change.before} -> {change.after}"
    sign = "+" if not change.before else "-" if not change.after else " "
    yield Text(f"{sign} {safe(str(change.kind))}  {counts}")
    for field in change.fields:
        before, after = "|".join(field.before), "|".join(field.after)
        sign, style, types = "~", "hunk", f"{before} -> {after}"
        if not before or not after:
            sign, style, types = ("-", "removed", before) if before else ("+", "added", after)
        yield Text(safe(f"    {sign} {field.path}  {types}"), style)


def _alone(change: LineChange) -> Text:
    step: Any = change.before or change.after
    style, sign = ("removed", "-") if change.after is None else ("added", "+")
    return Text(safe(f"{sign} line {step.entry.number}: {change.kind}  {step.summary}"), style)


def _changed(changed: Iterable[LineChange]) -> Iterator[Text]:
    for line in changed:
        numbers = [it.entry.number for it in (line.before, line.after) if it is not None]
        yield Text(safe(f"{line.kind} (line {numbers[0]}, line {numbers[-1]})"))
        for value in line.values:
            yield Text(safe(f"    {value.path}"), "hunk")
            if value.before is not None:
                yield Text(safe(f"      - {value.before}"), "removed")
            if value.after is not None:
                yield Text(safe(f"      + {value.after}"), "added")


# --- lint ----------------------------------------------------------------------------------------


class LintReport(msgspec.Struct, frozen=True, kw_only=True):
    """All findings of the linter in a file."""

    version: Literal[1] = 1
    file: str
    findings: list[Finding]


@click.command("lint")
@_FILE
@click.option("--strict", is_flag=True, help="Also fail on outdated and suspicious lines.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(file: str, strict: bool, as_json: bool) -> int:
    """Check FILE line by line for errors, outdated and suspicious lines; - reads stdin.

    FILE is a recording, or lines that the CLI wrote. Exit status: 0 if there is no error, 1 if
    there is one.
    """
    content = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    findings = lint(content)
    if as_json:
        print_json(LintReport(file=file, findings=findings))
    else:
        _print_findings(findings)
    bad = {"error"} | ({"outdated", "suspicious"} if strict else set())
    return Exit.FAILED if any(it.severity in bad for it in findings) else Exit.DONE


def _print_findings(findings: Sequence[Finding]) -> None:
    styles = {"error": "bad", "outdated": "ask", "suspicious": "ask", "info": "dim"}
    console = stdout()
    for finding in findings:
        place, severity, rest = str(finding).partition(f"{finding.severity}:")  # which escapes
        put(console, Text.assemble((place, "strong"), (severity, styles[finding.severity]), rest))
    counts = Counter(it.severity for it in findings)
    words = [counted(n, it) if it == "error" else f"{n} {it}" for it, n in counts.items()]
    click.echo(", ".join(words) or "No problems found.", err=True)
