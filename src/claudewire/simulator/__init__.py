"""A simulated `claude`: the CLI's end of the protocol with a scenario behind it.

It runs in memory, as the transport `SimulatedCLI`, and as the program `claudewire-sim`; what can go
wrong with it is in `faults`. It uses `transport`, `errors` and `wire`. Start with `simulation`.

Each name is loaded when it is first used, because the program starts through here and needs few of
them.
"""

from __future__ import annotations

from .._package import lazy_exports

TYPE_CHECKING = False  # type checkers take it for true; to import `typing` for it would be slow
if TYPE_CHECKING:
    from . import faults
    from .actions import Action
    from .chat import Chat, Run, Scenario, SimulatedTask, ToolCall, ToolOutcome
    from .demo import demo_agent
    from .engine import SCENARIO_FAILED, Engine, Fault
    from .hooks import HookCalls
    from .in_memory import ARGV, SimulatedCLI
    from .personas import LATEST, PERSONAS, Persona
    from .scenario import Script, ScriptError, load_scenario, script_from_toml
    from .session import SimulatedSession
    from .simulation import Simulation

__all__ = [
    "ARGV",
    "LATEST",
    "PERSONAS",
    "SCENARIO_FAILED",
    "Action",
    "Chat",
    "Engine",
    "Fault",
    "HookCalls",
    "Persona",
    "Run",
    "Scenario",
    "Script",
    "ScriptError",
    "SimulatedCLI",
    "SimulatedSession",
    "SimulatedTask",
    "Simulation",
    "ToolCall",
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
            ".actions": "Action",
            ".chat": "Chat Run Scenario SimulatedTask ToolCall ToolOutcome",
            ".demo": "demo_agent",
            ".engine": "SCENARIO_FAILED Engine Fault",
            ".faults": "",
            ".hooks": "HookCalls",
            ".in_memory": "ARGV SimulatedCLI",
            ".personas": "LATEST PERSONAS Persona",
            ".scenario": "Script ScriptError load_scenario script_from_toml",
            ".session": "SimulatedSession",
            ".simulation": "Simulation",
        },
    )
