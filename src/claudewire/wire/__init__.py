"""The conversation of the `claude` CLI and an SDK: bytes in, events out, both ends, no I/O.

It uses msgspec and pure parts of the standard library only. Begin with `Connection`, then `states`,
which has the rules of the conversation. Every message, request and answer is in `types` and can be
imported from here; `dialects` has the other documented forms, `lint` explains captures, `schema`
exports JSON Schema.
"""

from __future__ import annotations

import types as _types
import typing as _typing

from .connection import Connection as Connection
from .connection import dropped_prompts as dropped_prompts
from .dialects import AUTO as AUTO
from .dialects import DIALECTS as DIALECTS
from .dialects import RELEASED as RELEASED
from .dialects import REQUEST_TYPES as REQUEST_TYPES
from .dialects import behavior_of as behavior_of
from .dialects.base import Dialect as Dialect
from .dialects.base import WriteContext as WriteContext
from .dialects.behavior import DialectBehavior as DialectBehavior
from .dialects.behavior import Place as Place
from .errors import Error as Error
from .errors import Evidence as Evidence
from .errors import LocalProtocolError as LocalProtocolError
from .framing import MAX_LINE as MAX_LINE
from .framing import Lines as Lines
from .framing import Oversize as Oversize
from .lenient import fit as fit
from .states import Kind as Kind
from .states import Role as Role
from .states import State as State
from .types.base import *  # noqa: F403
from .types.blocks import *  # noqa: F403
from .types.cli_requests import *  # noqa: F403
from .types.configs import *  # noqa: F403
from .types.control import *  # noqa: F403
from .types.hooks import *  # noqa: F403
from .types.host_requests import *  # noqa: F403
from .types.messages import *  # noqa: F403
from .types.permissions import *  # noqa: F403
from .types.stream import *  # noqa: F403
from .types.system import *  # noqa: F403
from .types.usage import *  # noqa: F403
from .versions import *  # noqa: F403

if not _typing.TYPE_CHECKING:
    # For `dir()`, `import *` and the API reference; type checkers see the imports above.
    _ALIASES = (_types.UnionType, _typing.Union, _typing.Literal)

    def _is_public(name: str, value: object) -> bool:
        if name.startswith("_") or name == "TYPE_CHECKING" or isinstance(value, _types.ModuleType):
            return False
        home = getattr(value, "__module__", __name__)  # constants have none
        return home.startswith(__name__) or _typing.get_origin(value) in _ALIASES

    __all__ = [name for name, it in globals().items() if _is_public(name, it)]
