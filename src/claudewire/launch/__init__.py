"""From options to a running CLI: found, given its arguments, started and connected.

Here options become a command line, an environment and the `initialize` request. It uses `options`,
`transport`, `simulator` and lower packages. Start with `connect`.
"""

from __future__ import annotations

from .cli_path import CLI_VARIABLE, find_cli
from .connect import (
    Connect,
    Connected,
    check_connect,
    check_transport,
    launch_of,
    open_transport,
)
from .delivery import initialize_request
from .session_lock import ConversationLock, conversation_lock, lock_holders

__all__ = [
    "CLI_VARIABLE",
    "Connect",
    "Connected",
    "ConversationLock",
    "check_connect",
    "check_transport",
    "conversation_lock",
    "find_cli",
    "initialize_request",
    "launch_of",
    "lock_holders",
    "open_transport",
]
