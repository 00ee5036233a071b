"""What the checks find, as types. `--json` prints them; the schema follows from them."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

__all__ = ["Check", "DoctorReport", "Status"]

Status = Literal["ok", "info", "warning", "problem", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    Attributes:
        name: what was looked at.
        status: `problem` if a session cannot work, `warning` if it may not do what one expects.
        message: what was found, in plain words.
        advice: what to do about it.
        details: more of what was found, line by line.
        seconds: how long the check took, or what it measured.
        facts: what was found, for programs.
    """

    name: str
    status: Status
    message: str
    advice: str = ""
    details: list[str] = []
    seconds: float | None = None
    facts: dict[str, Any] = {}


class DoctorReport(msgspec.Struct, frozen=True, kw_only=True):
    """All checks.

    Attributes:
        version: of this format.
        ok: whether there is no problem.
        checks: what was looked at, in this order.
    """

    version: Literal[1] = 1
    ok: bool
    checks: list[Check]
