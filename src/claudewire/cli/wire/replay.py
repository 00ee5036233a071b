"""`claudewire replay`: a recording again, for a person or for an SDK."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import click

from ...recordings import Timeline, read
from ...transport import (
    Recording,
    ReplayMismatch,
    ReplayTransport,
    ReplayUnfinished,
    relay,
)
from ..errors import CommandError
from ..exits import Exit
from ..styles import Paint
from ..text import safe
from .lines import LineView, put, width_of
from .show import selected
from .tap import write_script

__all__ = ["command"]

_SETTINGS = {"ignore_unknown_options": True, "allow_extra_args": True}
_MATCHES = click.Choice(["strict", "loose", "none"])


@click.command(context_settings=_SETTINGS)
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--speed", type=click.FloatRange(min=0), help="1 is the recorded pace; 0 at once.")
@click.option("--step", is_flag=True, help="Wait for Enter before each line; q ends it.")
@click.option("--longest-wait", type=float, default=3.0, show_default=True, metavar="SECONDS")
@click.option("--grep", metavar="TEXT", help="Only lines that contain this.")
@click.option("--as-cli", is_flag=True, help="Play the CLI for an SDK, over stdin and stdout.")
@click.option("--match", type=_MATCHES, default="loose", help="How what it sends is compared.")
@click.option("--script", metavar="PATH", help="Write a program that plays it, for an SDK.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    file: str,
    speed: float | None,
    as_cli: bool,
    match: str,
    script: str | None,
    **given: Any,
) -> int:
    """Play the recording FILE: line by line on the terminal, at its own pace.

    With --as-cli it is the CLI of an SDK instead: what the CLI wrote comes as soon as the SDK has
    sent what it had sent before. What it sends is compared with what was recorded (--match). The
    flags that an SDK gives its CLI are accepted.
    """
    if ctx.args and not (as_cli or script):
        raise click.UsageError(f"No such option or argument: {ctx.args[0]}", ctx)
    recording = read(file)
    if script is not None:
        pace = [] if speed is None else ["--speed", f"{speed:g}"]
        words = ["replay", click.format_filename(_absolute(file)), "--as-cli", "--match", match]
        write_script(script, [*words, *pace])
        return Exit.DONE
    if as_cli:
        return _play(recording, ctx.args, speed, match)
    _show(recording, 1.0 if speed is None else speed, given)
    return Exit.DONE


def _absolute(file: str) -> str:
    from pathlib import Path

    return str(Path(file).absolute())


# --- for a person --------------------------------------------------------------------------------


def _show(
    recording: Recording,
    speed: float,
    given: dict[str, Any],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    timeline = Timeline.of(recording)
    view = LineView(timeline, Paint.for_stream(sys.stdout), width_of())
    before: float | None = None
    for step in selected(timeline, given):
        if given["step"]:
            if not _goes_on():
                return
        elif speed and before is not None:
            sleep(min(max(0.0, step.t - before) / speed, given["longest_wait"]))
        before = step.t
        put(view.line(step))


def _goes_on() -> bool:
    """Wait for Enter; False for a q, and at the end of the input."""
    line = sys.stdin.readline()
    return bool(line) and line.strip().lower() != "q"


# --- for an SDK ----------------------------------------------------------------------------------


def _play(recording: Recording, flags: Sequence[str], speed: float | None, match: Any) -> int:
    if {"-v", "--version"} & {*flags}:
        version = recording.header.get("cli_version", "0.0.0")
        sys.stdout.write(f"{version} (Claude Code)\n")
        return Exit.DONE
    ids = _session_ids(recording, flags)
    transport = ReplayTransport(recording, speed=speed or None, match=match, ids=ids)
    try:
        status = anyio.run(_serve, transport)
    except (ReplayMismatch, ReplayUnfinished) as error:
        raise CommandError(
            safe(str(error)),
            advice="--match loose or --match none compare less. Or record it again.",
            exit=Exit.FAILED,
        ) from error
    return status if status is not None and status >= 0 else 1


async def _serve(transport: ReplayTransport) -> int | None:
    status = await relay(transport)
    transport.finish()
    return status


def _session_ids(recording: Recording, flags: Sequence[str]) -> dict[str, str]:
    """Which session id of the recording is which one that the SDK gives now."""
    recorded = recording.header.get("argv")
    then = _value(recorded if isinstance(recorded, list) else [], "--session-id")
    now = _value(flags, "--session-id")
    return {then: now} if then and now else {}


def _value(words: Sequence[str], flag: str) -> str | None:
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word == flag:
            return following
        if word.startswith(f"{flag}="):
            return word.partition("=")[2]
    return None
