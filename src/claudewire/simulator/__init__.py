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
    from . import faults as faults
    from .chat import Chat as Chat
    from .chat import Scenario as Scenario
    from .chat import ToolCall as ToolCall
    from .chat import ToolOutcome as ToolOutcome
    from .demo import demo_agent as demo_agent
    from .engine import SCENARIO_FAILED as SCENARIO_FAILED
    from .engine import Engine as Engine
    from .in_memory import ARGV as ARGV
    from .in_memory import SimulatedCLI as SimulatedCLI
    from .personas import LATEST as LATEST
    from .personas import PERSONAS as PERSONAS
    from .personas import Persona as Persona
    from .scenario import Script as Script
    from .scenario import ScriptError as ScriptError
    from .scenario import load_scenario as load_scenario
    from .scenario import script_from_toml as script_from_toml
    from .simulation import Simulation as Simulation
    from .simulation import write_program as write_program
    from .subagents import SimulatedTask as SimulatedTask
else:  # or type checkers would accept any name
    _HOMES = {
        ".chat": "Chat Scenario ToolCall ToolOutcome",
        ".demo": "demo_agent",
        ".engine": "SCENARIO_FAILED Engine",
        ".faults": "",
        ".in_memory": "ARGV SimulatedCLI",
        ".personas": "LATEST PERSONAS Persona",
        ".scenario": "Script ScriptError load_scenario script_from_toml",
        ".simulation": "Simulation write_program",
        ".subagents": "SimulatedTask",
    }
    __all__ = ["faults", *" ".join(_HOMES.values()).split()]
    __getattr__, __dir__ = lazy_exports(__name__, _HOMES)
