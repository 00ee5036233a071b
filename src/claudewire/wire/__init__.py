"""How the `claude` CLI and an SDK talk: bytes in, events out, both ends, no I/O.

It uses msgspec and pure parts of the standard library only. Start with `Connection`, then `states`,
which says who may say what and when. Every message, request and answer is in `types` and can be
imported from here; `dialects` has the other documented forms, `lint` explains captures, `schema`
exports JSON Schema.
"""

from __future__ import annotations

from .answers import dropped_prompts
from .connection import Connection
from .dialects import (
    AUTO,
    DIALECTS,
    ENVELOPE,
    LEGACY,
    MODERN,
    SESSION,
    Dialect,
    Rules,
    WriteContext,
)
from .errors import Error, Evidence, LocalProtocolError
from .fitting import fit
from .framing import MAX_LINE, Lines, Oversize
from .states import Kind, Role, State
from .types import (
    base,
    blocks,
    cli_requests,
    configs,
    control,
    hook_outputs,
    hooks,
    host_requests,
    messages,
    permissions,
    questions,
    requests,
    results,
    stream,
    system,
    usage,
)
from .types.base import *  # noqa: F403
from .types.blocks import *  # noqa: F403
from .types.cli_requests import *  # noqa: F403
from .types.configs import *  # noqa: F403
from .types.control import *  # noqa: F403
from .types.hook_outputs import *  # noqa: F403
from .types.hooks import *  # noqa: F403
from .types.host_requests import *  # noqa: F403
from .types.messages import *  # noqa: F403
from .types.permissions import *  # noqa: F403
from .types.questions import *  # noqa: F403
from .types.requests import *  # noqa: F403
from .types.results import *  # noqa: F403
from .types.stream import *  # noqa: F403
from .types.system import *  # noqa: F403
from .types.usage import *  # noqa: F403
from .versions import (
    EARLIEST,
    EARLY_TOOLS,
    KNOWN_REQUESTS,
    LAST_SILENT,
    MODES,
    NAMES_PROMPTS,
    READS_BLOCKS,
    READS_PROMPTS,
    TAKES_CANCEL,
    TAKES_NOTES,
    lacks_request,
    parse_version,
)

__all__ = [
    "AUTO",
    "DIALECTS",
    "EARLIEST",
    "EARLY_TOOLS",
    "ENVELOPE",
    "KNOWN_REQUESTS",
    "LAST_SILENT",
    "LEGACY",
    "MAX_LINE",
    "MODERN",
    "MODES",
    "NAMES_PROMPTS",
    "READS_BLOCKS",
    "READS_PROMPTS",
    "SESSION",
    "TAKES_CANCEL",
    "TAKES_NOTES",
    "Connection",
    "Dialect",
    "Error",
    "Evidence",
    "Kind",
    "Lines",
    "LocalProtocolError",
    "Oversize",
    "Role",
    "Rules",
    "State",
    "WriteContext",
    "dropped_prompts",
    "fit",
    "lacks_request",
    "parse_version",
]
__all__ += base.__all__
__all__ += blocks.__all__
__all__ += cli_requests.__all__
__all__ += configs.__all__
__all__ += control.__all__
__all__ += hook_outputs.__all__
__all__ += hooks.__all__
__all__ += host_requests.__all__
__all__ += messages.__all__
__all__ += permissions.__all__
__all__ += questions.__all__
__all__ += requests.__all__
__all__ += results.__all__
__all__ += stream.__all__
__all__ += system.__all__
__all__ += usage.__all__
