"""Conversations on disk: found, read, searched, exported, archived, and continued.

Lines are read by the rules of the wire and kept in an index; writing loses no line. The package
uses `launch`, `options` and the packages below them. Start with `transcripts`, then `transcript`
and `index`.
"""

from __future__ import annotations

from .entries import (
    AssistantEntry,
    BadLine,
    Entry,
    OtherEntry,
    SystemEntry,
    UserEntry,
    read_entry,
)
from .export import ExportFormat
from .facts import SessionInfo, SessionStatus, TitleSource
from .files import StoreError, project_folder
from .search import Hit
from .stores import SessionStore, SqliteStore, StoredSession, StoreKey, store_mirrored
from .transcript import AgentInfo, BranchInfo, Transcript
from .transcripts import Transcripts

__all__ = [
    "AgentInfo",
    "AssistantEntry",
    "BadLine",
    "BranchInfo",
    "Entry",
    "ExportFormat",
    "Hit",
    "OtherEntry",
    "SessionInfo",
    "SessionStatus",
    "SessionStore",
    "SqliteStore",
    "StoreError",
    "StoreKey",
    "StoredSession",
    "SystemEntry",
    "TitleSource",
    "Transcript",
    "Transcripts",
    "UserEntry",
    "project_folder",
    "read_entry",
    "store_mirrored",
]
