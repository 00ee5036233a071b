"""From options to a running CLI: found, given its arguments, started and connected.

Here options become a command line, an environment and the `initialize` request. It uses `options`,
`transport`, `simulator` and what is below them. Start with `connect`.
"""

from __future__ import annotations

from .cli_path import CLI_VARIABLE, find_cli
from .connect import (
    Connect,
    Connected,
    check_connect,
    check_restart,
    check_transport,
    launch_of,
    open_transport,
)
from .initialize import initialize_request
from .session_lock import Claim, SessionLock, claim_for, lock_holders, place_of

__all__ = [
    "CLI_VARIABLE",
    "Claim",
    "Connect",
    "Connected",
    "SessionLock",
    "check_connect",
    "check_restart",
    "check_transport",
    "claim_for",
    "find_cli",
    "initialize_request",
    "launch_of",
    "lock_holders",
    "open_transport",
    "place_of",
]
