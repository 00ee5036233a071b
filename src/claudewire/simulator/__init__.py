"""A simulated `claude`: the CLI's end of the protocol with a scenario behind it.

It runs in memory, as the transport `SimulatedCLI`, and as the program `claudewire-sim`; what can go
wrong with it is in `faults`. It uses `transport`, `errors` and `wire`. Start with `simulation`.

Each name is loaded when it is first used, because the program starts through here and needs few of
them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from . import faults
    from .chat import Chat, Scenario, SimulatedTask, ToolOutcome
    from .demo_agent import demo_agent
    from .engine import SCENARIO_FAILED, Engine, Fault
    from .in_memory import ARGV, SimulatedCLI
    from .personas import LATEST, PERSONAS, Persona
    from .scenario import Script, ScriptError, load_scenario, script_from_toml
    from .simulation import Simulation

__all__ = [
    "ARGV",
    "LATEST",
    "PERSONAS",
    "SCENARIO_FAILED",
    "Chat",
    "Engine",
    "Fault",
    "Persona",
    "Scenario",
    "Script",
    "ScriptError",
    "SimulatedCLI",
    "SimulatedTask",
    "Simulation",
    "ToolOutcome",
    "demo_agent",
    "faults",
    "load_scenario",
    "script_from_toml",
]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".chat": "Chat Scenario SimulatedTask ToolOutcome",
            ".demo_agent": "demo_agent",
            ".engine": "SCENARIO_FAILED Engine Fault",
            ".faults": "",
            ".in_memory": "ARGV SimulatedCLI",
            ".personas": "LATEST PERSONAS Persona",
            ".scenario": "Script ScriptError load_scenario script_from_toml",
            ".simulation": "Simulation",
        },
    )
