"""Test doubles for applications that drive the `claude` CLI.

There is a simulated CLI, in memory or as a program, with faults; a scripted Messages API, and a
cage in which a real CLI runs against it; and recordings. All of them are also pytest fixtures:
start with `fixtures`. It uses every package below it.

Each name is loaded when it is first used, because pytest loads the plugin in every run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from ..simulator import (
        LATEST,
        PERSONAS,
        Chat,
        Engine,
        Persona,
        Scenario,
        Script,
        ScriptError,
        SimulatedCLI,
        SimulatedTask,
        Simulation,
        ToolOutcome,
        demo_agent,
        faults,
        load_scenario,
        script_from_toml,
    )
    from .api import (
        APIReply,
        APIRequest,
        APIScript,
        APIStatus,
        APIThinking,
        APIToolUse,
        APIUsage,
        ScriptedAPI,
        structured_output,
    )
    from .cage import Cage, CageError
    from .fixtures import (
        CageFactory,
        NoRecording,
        RecordingFactory,
        ScenarioFailed,
        SimulatedCLIFactory,
        SimulatedProgramFactory,
    )
    from .wirelog import Watched, WireLog

__all__ = [
    "LATEST",
    "PERSONAS",
    "APIReply",
    "APIRequest",
    "APIScript",
    "APIStatus",
    "APIThinking",
    "APIToolUse",
    "APIUsage",
    "Cage",
    "CageError",
    "CageFactory",
    "Chat",
    "Engine",
    "NoRecording",
    "Persona",
    "RecordingFactory",
    "Scenario",
    "ScenarioFailed",
    "Script",
    "ScriptError",
    "ScriptedAPI",
    "SimulatedCLI",
    "SimulatedCLIFactory",
    "SimulatedProgramFactory",
    "SimulatedTask",
    "Simulation",
    "ToolOutcome",
    "Watched",
    "WireLog",
    "demo_agent",
    "faults",
    "load_scenario",
    "script_from_toml",
    "structured_output",
]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            "..simulator": """
                LATEST PERSONAS Chat Engine Persona Scenario Script ScriptError SimulatedCLI
                SimulatedTask Simulation ToolOutcome demo_agent load_scenario script_from_toml
                """,
            "..simulator.faults": "",
            ".api": """
                APIReply APIRequest APIScript APIStatus APIThinking APIToolUse APIUsage ScriptedAPI
                structured_output
                """,
            ".cage": "Cage CageError",
            ".fixtures": """
                CageFactory NoRecording RecordingFactory ScenarioFailed SimulatedCLIFactory
                SimulatedProgramFactory
                """,
            ".wirelog": "Watched WireLog",
        },
    )
