"""A simulated `claude`: the CLI's end of the protocol with a scenario behind it.

It runs in memory, as the transport `SimulatedCLI`, and as the program `claudewire-sim`; `faults`
has the failures of a CLI. It uses `transport`, `policy`, `errors` and `wire`. Start with
`simulation`, then `cli`.

Each name is loaded on first use because the program needs few of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from . import faults
    from .chat import Chat, Scenario, ToolCall, ToolOutcome
    from .demo import demo_agent
    from .engine import SCENARIO_FAILED, Engine
    from .in_memory import ARGV, SimulatedCLI
    from .personas import LATEST, PERSONAS, Persona
    from .scenario import Script, ScriptError, load_scenario, script_from_toml
    from .simulation import Simulation, write_program
    from .subagents import SimulatedTask

__all__ = [
    "ARGV",
    "LATEST",
    "PERSONAS",
    "SCENARIO_FAILED",
    "Chat",
    "Engine",
    "Persona",
    "Scenario",
    "Script",
    "ScriptError",
    "SimulatedCLI",
    "SimulatedTask",
    "Simulation",
    "ToolCall",
    "ToolOutcome",
    "demo_agent",
    "faults",
    "load_scenario",
    "script_from_toml",
    "write_program",
]

if not TYPE_CHECKING:  # or type checkers would accept any name
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".chat": "Chat Scenario ToolCall ToolOutcome",
            ".demo": "demo_agent",
            ".engine": "SCENARIO_FAILED Engine",
            ".faults": "",
            ".in_memory": "ARGV SimulatedCLI",
            ".personas": "LATEST PERSONAS Persona",
            ".scenario": "Script ScriptError load_scenario script_from_toml",
            ".simulation": "Simulation write_program",
            ".subagents": "SimulatedTask",
        },
    )
