"""Conversations on disk: found, read, searched, exported, archived, and continued.

Transcripts are read by the rules of the wire, in pieces, and kept in an index; what is written is
written so that no line is lost. It uses `launch`, `options` and what is below them. Start with
`sessions`, then `entries` and `facts`. Its names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports

if TYPE_CHECKING:
    from .blocking import BlockingSessions, Hit
    from .entries import (
        AssistantEntry,
        AttachmentEntry,
        BadLine,
        Entry,
        SystemEntry,
        UnknownEntry,
        UserEntry,
        read_entry,
    )
    from .export import ExportFormat
    from .facts import SessionInfo, SessionStatus, TitleSource
    from .files import StoreError, project_folder
    from .mirroring import fetch_session, push_session, store_mirrored
    from .sessions import Sessions, Transcript
    from .stores import (
        DirectoryStore,
        FoldSummary,
        SessionStore,
        SqliteStore,
        StoredSession,
        StoreKey,
    )
    from .transcript import AgentInfo, BlockingTranscript, BranchInfo, Finding
    from .trash import Trashed

__all__ = [
    "AgentInfo",
    "AssistantEntry",
    "AttachmentEntry",
    "BadLine",
    "BlockingSessions",
    "BlockingTranscript",
    "BranchInfo",
    "DirectoryStore",
    "Entry",
    "ExportFormat",
    "Finding",
    "FoldSummary",
    "Hit",
    "SessionInfo",
    "SessionStatus",
    "SessionStore",
    "Sessions",
    "SqliteStore",
    "StoreError",
    "StoreKey",
    "StoredSession",
    "SystemEntry",
    "TitleSource",
    "Transcript",
    "Trashed",
    "UnknownEntry",
    "UserEntry",
    "fetch_session",
    "project_folder",
    "push_session",
    "read_entry",
    "store_mirrored",
]

if not TYPE_CHECKING:  # or type checkers would take any name for one of ours
    __getattr__, __dir__ = lazy_exports(
        __name__,
        {
            ".blocking": "BlockingSessions Hit",
            ".entries": """
                AssistantEntry AttachmentEntry BadLine Entry SystemEntry UnknownEntry UserEntry
                read_entry
                """,
            ".export": "ExportFormat",
            ".facts": "SessionInfo SessionStatus TitleSource",
            ".files": "StoreError project_folder",
            ".mirroring": "fetch_session push_session store_mirrored",
            ".sessions": "Sessions Transcript",
            ".stores": """
                DirectoryStore FoldSummary SessionStore SqliteStore StoreKey StoredSession
                """,
            ".transcript": "AgentInfo BlockingTranscript BranchInfo Finding",
            ".trash": "Trashed",
        },
    )
