"""How the `claude` CLI and an SDK talk: bytes in, events out, both ends, no I/O.

Start with `Connection`. The messages are in `messages` and `system`, their content in `blocks`
and `stream`; what the two ends ask each other is in `requests`, and the answers in `results`,
`permissions` and `hook_outputs`. Who may say what and when stands in `states`.
"""

from __future__ import annotations

from . import blocks, messages, system, tasks
from .base import Event, Message, Record, Unknown
from .blocks import *  # noqa: F403
from .connection import Connection
from .control import Answer, Cancel, Failure, Request
from .dialects import AUTO, DIALECTS, ENVELOPE, LEGACY, MODERN, SESSION, Dialect
from .errors import Error, LocalProtocolError
from .events import EndOfStream, Malformed, Noise, Oversize, Stray
from .framing import Lines
from .messages import *  # noqa: F403
from .requests import RequestBody
from .states import Kind, Role, State
from .system import *  # noqa: F403
from .tasks import *  # noqa: F403

__all__ = [
    "AUTO",
    "DIALECTS",
    "ENVELOPE",
    "LEGACY",
    "MODERN",
    "SESSION",
    "Answer",
    "Cancel",
    "Connection",
    "Dialect",
    "EndOfStream",
    "Error",
    "Event",
    "Failure",
    "Kind",
    "Lines",
    "LocalProtocolError",
    "Malformed",
    "Message",
    "Noise",
    "Oversize",
    "Record",
    "Request",
    "RequestBody",
    "Role",
    "State",
    "Stray",
    "Unknown",
]
__all__ += blocks.__all__
__all__ += messages.__all__
__all__ += system.__all__
__all__ += tasks.__all__
