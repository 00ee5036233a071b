"""A simulated `claude`: the CLI's end of the protocol with a scenario behind it.

It runs in memory, as the transport `SimulatedCLI`, and as the program `claudewire-sim`; faults can
be added to any scenario. It uses `transport`, `errors` and `wire`. Start with `engine`.

Each name is loaded when it is first used, because the program starts through here and needs few of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from .chat import Chat, ToolOutcome
    from .demo_agent import demo_agent
    from .engine import Engine, Scenario
    from .faults import (
        FAULTS,
        AtFrame,
        ClockJump,
        DuplicateAnswers,
        EOFWithoutExit,
        ExitWith,
        Fault,
        FromFrame,
        Garbage,
        Grandchild,
        HalfLine,
        IgnoreSIGTERM,
        KilledBy,
        LateAnswers,
        LongLine,
        MissingAnswers,
        NotReading,
        ResultWithoutTurn,
        Silence,
        SlowOutput,
        Split,
        SplitEveryByte,
        SplitUTF8,
        StderrFlood,
        UnknownAnswers,
        UnknownBlock,
        UnknownField,
        UnknownMessage,
        UnsolicitedTurn,
        WithdrawnRequest,
        parse_faults,
    )
    from .in_memory import SimulatedCLI
    from .personas import LATEST, PERSONAS, Persona
    from .scenario import Script, ScriptError, load_scenario, script_from_toml
    from .simulation import Simulation
    from .tasks import BackgroundTask

__all__ = [
    "FAULTS",
    "LATEST",
    "PERSONAS",
    "AtFrame",
    "BackgroundTask",
    "Chat",
    "ClockJump",
    "DuplicateAnswers",
    "EOFWithoutExit",
    "Engine",
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
    "Persona",
    "ResultWithoutTurn",
    "Scenario",
    "Script",
    "ScriptError",
    "Silence",
    "SimulatedCLI",
    "Simulation",
    "SlowOutput",
    "Split",
    "SplitEveryByte",
    "SplitUTF8",
    "StderrFlood",
    "ToolOutcome",
    "UnknownAnswers",
    "UnknownBlock",
    "UnknownField",
    "UnknownMessage",
    "UnsolicitedTurn",
    "WithdrawnRequest",
    "demo_agent",
    "load_scenario",
    "parse_faults",
    "script_from_toml",
]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__ = lazy_exports(
        __name__,
        {
            ".chat": ["Chat", "ToolOutcome"],
            ".demo_agent": ["demo_agent"],
            ".engine": ["Engine", "Scenario"],
            ".faults": [
                "AtFrame",
                "ClockJump",
                "DuplicateAnswers",
                "EOFWithoutExit",
                "ExitWith",
                "FAULTS",
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
            ],
            ".in_memory": ["SimulatedCLI"],
            ".personas": ["LATEST", "PERSONAS", "Persona"],
            ".scenario": ["Script", "ScriptError", "load_scenario", "script_from_toml"],
            ".simulation": ["Simulation"],
            ".tasks": ["BackgroundTask"],
        },
    )


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
