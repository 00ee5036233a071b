"""Conversations on disk, without async.

What `claudewire.store` does with files blocks by nature, so these are its own classes. Only stores
elsewhere are async, and called in the background thread of `portal`.
"""

from __future__ import annotations

import os

from ..store import (
    BlockingSessions,
    BlockingTranscript,
    SessionInfo,
    SessionStore,
    fetch_session,
    push_session,
)
from .portal import portal

__all__ = ["Sessions", "Transcript"]

Transcript = BlockingTranscript


class Sessions(BlockingSessions):
    """The conversations that the CLI keeps on disk.

        with claudewire.sync.Sessions() as sessions:
            for info in sessions.list(limit=10):
                print(info.title)

    Arguments and methods are those of `claudewire.store.Sessions`.
    """

    def push(self, id: str, store: SessionStore, *, project_key: str | None = None) -> int:
        """Copy a session with its subagents into a store; return how many entries were new.

        Raises:
            StoreError: there is no such session, or the store has another one with its id.
        """
        return portal().call(push_session, self, id, store, project_key=project_key)

    def pull(
        self,
        id: str,
        store: SessionStore,
        *,
        cwd: str | os.PathLike[str],
        project_key: str | None = None,
    ) -> SessionInfo:
        """Write a session that is in a store to this disk, so that it can be resumed here.

        Raises:
            StoreError: the store has no such session, or the one here has gone another way.
            CLIError: a process has the session open here.
        """
        return portal().call(fetch_session, self, store, id, cwd=cwd, project_key=project_key)
