"""The versions of the CLI that can be played, and what differs between them on the wire."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from ..errors import OptionsError
from ..wire import KNOWN_REQUESTS, parse_version


class Persona(NamedTuple):
    """One version of the CLI. The defaults are those of the newest."""

    version: str
    supports: frozenset[str] | None = None
    """The control requests that it knows; None for all."""
    acknowledges: bool = True
    """Whether it answers unknown requests with an error, interrupts and mode changes with a
    receipt, and accepts cancellations; others are silent, and exit at a cancellation."""
    narrates: bool = True
    """Whether it reports the progress of API requests, thoughts and subagents."""
    notes: Literal["quiet", "result", "turn"] = "quiet"
    """What follows a message that asks for no answer: nothing, an empty result, or a whole turn."""
    lifecycle: bool = True
    """Whether it reports the progress of prompts, joins queued prompts of the same priority, and
    stops a turn for one with the priority `now`."""
    meets_servers_first: bool = True
    """Whether it connects to in-process MCP servers before it answers `initialize`."""
    names: Literal["all", "first", "none"] = "all"
    """Which of its prompts a result names; "first" is the last of those answered together."""
    introduces_itself: bool = True
    """Whether the answer to `initialize` has its version and its capabilities."""
    needs_updated_input: bool = False
    """Whether an allow without `updatedInput` is an error that denies the tool."""


def _before(newer: Persona, version: str, **differences: Any) -> Persona:
    return newer._replace(version=version, supports=KNOWN_REQUESTS[version], **differences)


LATEST = Persona("2.1.325")
_2_1_250 = _before(LATEST, "2.1.250", names="first", introduces_itself=False)
_2_1_197 = _before(
    _2_1_250,
    "2.1.197",
    notes="result",
    lifecycle=False,
    meets_servers_first=False,
    names="none",
    needs_updated_input=True,
)
_2_1_17 = _before(_2_1_197, "2.1.17", acknowledges=False, narrates=False, notes="turn")

PERSONAS = {it.version: it for it in (_2_1_17, _2_1_197, _2_1_250, LATEST)}


def persona(version: str) -> Persona:
    """Return the newest persona that is not later than a version, under that version.

    Raises:
        OptionsError: the version is older than all personas, or is not a version.
    """
    numbers = parse_version(version)
    older = [it for name, it in PERSONAS.items() if parse_version(name) <= numbers]
    if not older:
        known = ", ".join(PERSONAS)
        raise OptionsError(
            f"version must be {known}, or a version between or after them, not {version!r}"
        )
    return older[-1]._replace(version=version)
