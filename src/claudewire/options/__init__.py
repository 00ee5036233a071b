"""What a session can be asked for, checked before anything starts.

`Options` holds every option, frozen; a wrong value raises `OptionsError`. It uses `people`,
`hooks`, `tools` and what is below them. Start with `options`, then `cli` for what reaches the CLI.
"""

from __future__ import annotations

from .agents import Agent, check_agents, define_agents
from .cli import CLIOptions, configured_servers, hosted_servers
from .conflicts import check_files
from .frozen import thaw
from .limits import Patience, Timeouts, Unread, WaitingFor
from .options import Options, OptionsDict, OptionsWithoutOutput
from .versions import option_of

__all__ = [
    "Agent",
    "CLIOptions",
    "Options",
    "OptionsDict",
    "OptionsWithoutOutput",
    "Patience",
    "Timeouts",
    "Unread",
    "WaitingFor",
    "check_agents",
    "check_files",
    "configured_servers",
    "define_agents",
    "hosted_servers",
    "option_of",
    "thaw",
]
