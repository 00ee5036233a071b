"""The logger of sessions: each line begins with the name of the session that it is about."""

from __future__ import annotations

import logging
from collections.abc import Callable, MutableMapping
from contextvars import ContextVar
from typing import Any

__all__ = ["log", "session_name"]

session_name: ContextVar[Callable[[], str] | None] = ContextVar("session_name", default=None)
"""Returns the name of the session that the running task belongs to. Each link sets it for its own
tasks, and so for the handlers, hooks and tools that it calls."""


class _SessionLogger(logging.LoggerAdapter[logging.Logger]):
    """Adds the name to the message, and to the record as `session`."""

    def process(
        self, msg: object, kwargs: MutableMapping[str, Any]
    ) -> tuple[object, MutableMapping[str, Any]]:
        get_name = session_name.get()
        if get_name is None:
            return msg, kwargs
        name = get_name()
        kwargs["extra"] = {"session": name}
        return f"{name.replace('%', '%%')}: {msg}", kwargs


log: logging.LoggerAdapter[logging.Logger] = _SessionLogger(logging.getLogger("claudewire.session"))
