"""Doubles for tests of applications that drive the `claude` CLI.

A simulated CLI, in this process or as a program; what can go wrong with one; a Messages API that
follows a script, and a cage to run a real CLI with it; recordings. As a plugin of pytest all of it
comes as fixtures: see `pytest_plugin`.

Each name is loaded when it is first used, because the simulated CLI starts through here and needs
few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from claudewire.recording import Recording, RecordingError, RecordingTransport
    from claudewire.replay import ReplayMismatch, ReplayTransport, ReplayUnfinished

    from .agent import demo_agent
    from .api import ScriptedAPI
    from .api_replies import Reply, Status, Text, Thinking, ToolUse, Usage, structured
    from .api_requests import APIRequest
    from .api_script import Script as APIScript
    from .cage import Cage, CageError
    from .chat import Chat, ToolOutcome
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
    )
    from .faults import parse as parse_faults
    from .fixtures import Cages, Executables, SimulatedCLIs
    from .personas import LATEST, PERSONAS, Persona
    from .recordings import NoRecording, WireRecordings
    from .scenario import Script, ScriptError, script_from_toml
    from .scenario import load as load_scenario
    from .simulated import SimulatedCLI
    from .simulation import Simulation
    from .tasks import BackgroundTask
    from .wirelog import Watched, WireLog

__all__ = [
    "FAULTS",
    "LATEST",
    "PERSONAS",
    "APIRequest",
    "APIScript",
    "AtFrame",
    "BackgroundTask",
    "Cage",
    "CageError",
    "Cages",
    "Chat",
    "ClockJump",
    "DuplicateAnswers",
    "EOFWithoutExit",
    "Engine",
    "Executables",
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
    "NoRecording",
    "NotReading",
    "Persona",
    "Recording",
    "RecordingError",
    "RecordingTransport",
    "ReplayMismatch",
    "ReplayTransport",
    "ReplayUnfinished",
    "Reply",
    "ResultWithoutTurn",
    "Scenario",
    "Script",
    "ScriptError",
    "ScriptedAPI",
    "Silence",
    "SimulatedCLI",
    "SimulatedCLIs",
    "Simulation",
    "SlowOutput",
    "Split",
    "SplitEveryByte",
    "SplitUTF8",
    "Status",
    "StderrFlood",
    "Text",
    "Thinking",
    "ToolOutcome",
    "ToolUse",
    "UnknownAnswers",
    "UnknownBlock",
    "UnknownField",
    "UnknownMessage",
    "UnsolicitedTurn",
    "Usage",
    "Watched",
    "WireLog",
    "WireRecordings",
    "WithdrawnRequest",
    "demo_agent",
    "load_scenario",
    "parse_faults",
    "script_from_toml",
    "structured",
]

_HOMES = {
    "APIRequest": "api_requests",
    "APIScript": "api_script",
    "BackgroundTask": "tasks",
    "Cage": "cage",
    "CageError": "cage",
    "Cages": "fixtures",
    "Chat": "chat",
    "Engine": "engine",
    "Executables": "fixtures",
    "LATEST": "personas",
    "PERSONAS": "personas",
    "NoRecording": "recordings",
    "Persona": "personas",
    "Recording": "recording",
    "RecordingError": "recording",
    "RecordingTransport": "recording",
    "ReplayMismatch": "replay",
    "ReplayTransport": "replay",
    "ReplayUnfinished": "replay",
    "Reply": "api_replies",
    "Scenario": "engine",
    "Script": "scenario",
    "ScriptError": "scenario",
    "ScriptedAPI": "api",
    "SimulatedCLI": "simulated",
    "SimulatedCLIs": "fixtures",
    "Simulation": "simulation",
    "Status": "api_replies",
    "Text": "api_replies",
    "Thinking": "api_replies",
    "ToolOutcome": "chat",
    "ToolUse": "api_replies",
    "Usage": "api_replies",
    "Watched": "wirelog",
    "WireLog": "wirelog",
    "WireRecordings": "recordings",
    "demo_agent": "agent",
    "load_scenario": "scenario",
    "script_from_toml": "scenario",
    "structured": "api_replies",
}
"""The module of each name; what is not here is in `faults`."""

_SHARED = {"recording": "claudewire.recording", "replay": "claudewire.replay"}
_RENAMED = {"APIScript": "Script", "load_scenario": "load", "parse_faults": "parse"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = _HOMES.get(name, "faults")
    module = import_module(_SHARED.get(home, f"{__name__}.{home}"))
    value = globals()[name] = getattr(module, _RENAMED.get(name, name))
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
