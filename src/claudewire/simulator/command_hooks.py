"""Hooks that settings configure: shell commands, which really run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ..wire import HookOutput, prepared

__all__ = ["Outcome", "output_of", "run_command"]

BLOCKS = 2
"""The exit status with which a command blocks what it was called for."""


class Outcome(NamedTuple):
    """How a command ended; status None if it took too long."""

    status: int | None
    stdout: str
    stderr: str


def run_command(
    command: str, given: bytes, env: Mapping[str, str], cwd: str, seconds: float
) -> Outcome:
    """Run a shell command. It blocks."""
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=given,
            capture_output=True,
            env={"PATH": os.defpath, **env},
            cwd=cwd,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Outcome(None, "", f"The hook did not end within {seconds:g} s")
    except (OSError, ValueError) as error:  # such as a command with a null byte
        return Outcome(1, "", str(error))
    texts = (data.decode("utf-8", "replace") for data in (done.stdout, done.stderr))
    return Outcome(done.returncode, *texts)


def output_of(event: str, outcome: Outcome) -> HookOutput | None:
    """What a command wants, by its exit status and what it has printed; None if nothing."""
    if outcome.status == BLOCKS:
        return HookOutput(decision="block", reason=outcome.stderr.strip() or "No stderr output")
    text = outcome.stdout.strip()
    if outcome.status != 0 or not text:
        return None
    wants: Any = None
    if text.startswith("{"):
        with suppress(msgspec.DecodeError):
            wants = msgspec.json.decode(text)
    elif event in ("UserPromptSubmit", "SessionStart"):  # then it is for the model to read
        wants = {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
    try:
        output: HookOutput = msgspec.convert(wants, prepared(HookOutput))
    except msgspec.ValidationError:
        return None
    return output
