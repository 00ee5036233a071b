"""Faults: what can go wrong with a CLI, for any scenario and in any combination.

    SimulatedCLI(scenario, faults=[SplitEveryByte(), KilledBy(9, at=5)])

An executable takes them from its environment, in the little language of `parse_faults`:

    CLAUDEWIRE_SIM_FAULTS="split-every-byte, kill(9)@5"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from .base import AtFrame, Fault, FromFrame
from .output import (
    Garbage,
    HalfLine,
    LongLine,
    Silence,
    SlowOutput,
    Split,
    SplitEveryByte,
    SplitUTF8,
    StderrFlood,
    UnknownField,
)
from .process import (
    ClockJump,
    EOFWithoutExit,
    ExitWith,
    Grandchild,
    IgnoreSIGTERM,
    KilledBy,
    NotReading,
)
from .protocol import (
    DuplicateAnswers,
    LateAnswers,
    MissingAnswers,
    ResultWithoutTurn,
    UnknownAnswers,
    UnknownBlock,
    UnknownMessage,
    UnsolicitedTurn,
    WithdrawnRequest,
)

__all__ = [
    "FAULTS",
    "AtFrame",
    "ClockJump",
    "DuplicateAnswers",
    "EOFWithoutExit",
    "ExitWith",
    "Fault",
    "FromFrame",
    "Garbage",
    "Grandchild",
    "HalfLine",
    "IgnoreSIGTERM",
    "KilledBy",
    "LateAnswers",
    "LongLine",
    "MissingAnswers",
    "NotReading",
    "ResultWithoutTurn",
    "Silence",
    "SlowOutput",
    "Split",
    "SplitEveryByte",
    "SplitUTF8",
    "StderrFlood",
    "UnknownAnswers",
    "UnknownBlock",
    "UnknownField",
    "UnknownMessage",
    "UnsolicitedTurn",
    "WithdrawnRequest",
    "parse_faults",
]

FAULTS: dict[str, type[Fault]] = {
    "clock-jump": ClockJump,
    "duplicate-answers": DuplicateAnswers,
    "eof-without-exit": EOFWithoutExit,
    "exit": ExitWith,
    "garbage": Garbage,
    "grandchild": Grandchild,
    "half-line": HalfLine,
    "ignore-sigterm": IgnoreSIGTERM,
    "kill": KilledBy,
    "late-answers": LateAnswers,
    "long-line": LongLine,
    "missing-answers": MissingAnswers,
    "not-reading": NotReading,
    "result-without-turn": ResultWithoutTurn,
    "silence": Silence,
    "slow": SlowOutput,
    "split": Split,
    "split-every-byte": SplitEveryByte,
    "split-utf8": SplitUTF8,
    "stderr-flood": StderrFlood,
    "unknown-answers": UnknownAnswers,
    "unknown-block": UnknownBlock,
    "unknown-field": UnknownField,
    "unknown-message": UnknownMessage,
    "unsolicited-turn": UnsolicitedTurn,
    "withdrawn-request": WithdrawnRequest,
}
"""All faults, by their names in the little language."""

_ITEM = re.compile(r"\s*(?P<name>[\w-]+)\s*(?:\((?P<given>[^()]*)\))?\s*(?:@\s*(?P<at>\d+))?\s*")


def parse_faults(text: str) -> tuple[Fault, ...]:
    """Read a list of faults: `name`, `name(argument)`, `name(key=argument)@frame`.

    Names are those of `FAULTS`, arguments are numbers, in the order in which the class takes them.

    Raises:
        ValueError: it cannot be read; the text says where and what there is.
    """
    return tuple(_make(item) for item in _items(text.strip()))


def _items(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while at < len(text):
        item = _ITEM.match(text, at)
        if item is None or text[item.end() : item.end() + 1] not in ("", ","):
            raise ValueError(
                f"Cannot read the faults {text!r} from {text[at:]!r} on: "
                "they look like 'name, name(1)@2, name(key=1)'"
            )
        yield item
        at = item.end() + 1


def _make(item: re.Match[str]) -> Fault:
    name = item["name"]
    if name not in FAULTS:
        raise ValueError(f"There is no fault {name!r}; there are {', '.join(FAULTS)}")
    positional: list[Any] = []
    named: dict[str, Any] = {} if item["at"] is None else {"at": int(item["at"])}
    try:
        for given in filter(None, map(str.strip, (item["given"] or "").split(","))):
            key, equals, value = given.partition("=")
            if equals:
                named[key.strip()] = _number(value)
            else:
                positional.append(_number(given))
        return FAULTS[name](*positional, **named)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The fault {item[0].strip()!r} makes no sense: {error}") from None


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)
