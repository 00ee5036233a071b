"""What a session can be asked for, checked before anything starts.

`Options` declares every option once and is frozen; a wrong value raises `OptionsError`. It uses
`people`, `hooks`, `tools` and what is below them. Start with `options`, then `declaration`.
"""

from __future__ import annotations

from .agents import Agent, check_agents
from .checks import seconds, whole_number
from .frozen import thaw
from .limits import Patience, Timeouts, Unread, WaitingFor
from .options import (
    DECLARATIONS,
    TOOLS_SERVER,
    Options,
    OptionsDict,
    OptionsWithoutOutput,
    check_options,
    configured_servers,
    given_options,
    hosted_servers,
    option_of,
)
from .versions import may_ignore, unsupported

__all__ = [
    "DECLARATIONS",
    "TOOLS_SERVER",
    "Agent",
    "Options",
    "OptionsDict",
    "OptionsWithoutOutput",
    "Patience",
    "Timeouts",
    "Unread",
    "WaitingFor",
    "check_agents",
    "check_options",
    "configured_servers",
    "given_options",
    "hosted_servers",
    "may_ignore",
    "option_of",
    "seconds",
    "thaw",
    "unsupported",
    "whole_number",
]
