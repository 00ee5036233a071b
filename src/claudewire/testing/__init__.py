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
    from ..simulator import LATEST as LATEST
    from ..simulator import PERSONAS as PERSONAS
    from ..simulator import Chat as Chat
    from ..simulator import Scenario as Scenario
    from ..simulator import Script as Script
    from ..simulator import ScriptError as ScriptError
    from ..simulator import SimulatedCLI as SimulatedCLI
    from ..simulator import SimulatedTask as SimulatedTask
    from ..simulator import ToolOutcome as ToolOutcome
    from ..simulator import demo_agent as demo_agent
    from ..simulator import faults as faults
    from ..simulator import load_scenario as load_scenario
    from ..simulator import script_from_toml as script_from_toml
    from .api import APIReply as APIReply
    from .api import APIRequest as APIRequest
    from .api import APIScript as APIScript
    from .api import APIStatus as APIStatus
    from .api import APIThinking as APIThinking
    from .api import APIToolUse as APIToolUse
    from .api import APIUsage as APIUsage
    from .api import ScriptedAPI as ScriptedAPI
    from .api import structured_output as structured_output
    from .cage import Cage as Cage
    from .cage import CageError as CageError
    from .fixtures import CageFactory as CageFactory
    from .fixtures import NoRecording as NoRecording
    from .fixtures import RecordingFactory as RecordingFactory
    from .fixtures import ScenarioFailed as ScenarioFailed
    from .fixtures import SimulatedCLIFactory as SimulatedCLIFactory
    from .fixtures import SimulatedProgramFactory as SimulatedProgramFactory
    from .fixtures import Watched as Watched
    from .fixtures import WireLog as WireLog
else:  # or type checkers would accept any name
    _HOMES = {
        "..simulator": """
            LATEST PERSONAS Chat Scenario Script ScriptError SimulatedCLI SimulatedTask ToolOutcome
            demo_agent load_scenario script_from_toml
        """,
        "..simulator.faults": "",
        ".api": """
            APIReply APIRequest APIScript APIStatus APIThinking APIToolUse APIUsage ScriptedAPI
            structured_output
        """,
        ".cage": "Cage CageError",
        ".fixtures": """
            CageFactory NoRecording RecordingFactory ScenarioFailed SimulatedCLIFactory
            SimulatedProgramFactory Watched WireLog
        """,
    }
    __all__ = ["faults", *" ".join(_HOMES.values()).split()]
    __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
