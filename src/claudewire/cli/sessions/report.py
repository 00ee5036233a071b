"""What `sessions` prints with `--json`, as types. The schemas in `../schemas` follow from them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from ...store import Hit, SessionInfo

__all__ = [
    "HitItem",
    "SearchReport",
    "SessionItem",
    "SessionsReport",
    "TranscriptReport",
    "hit_item",
    "session_item",
]


class SessionItem(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation.

    Attributes:
        id: its id, by which it can be resumed.
        title: what it is called; its first prompt, if nobody gave it a title.
        cwd: the folder that it worked in last.
        branch: the git branch that it worked on last.
        tag: the tag that a person gave it.
        models: the models that spoke.
        begin: when it began.
        end: when something was last said.
        prompts: how many prompts there were.
        replies: how many messages of the model there were.
        agents: how many subagents it has.
        tokens: all tokens that were used.
        cost_usd: what it has cost, by estimate; null if that is not known.
        status: whether a process has it open now, and waits for a person.
        parent: the conversation that it is a fork of.
        path: its file.
        size: bytes on disk.
    """

    id: str
    title: str | None
    cwd: str | None
    branch: str | None
    tag: str | None
    models: list[str]
    begin: datetime | None
    end: datetime | None
    prompts: int
    replies: int
    agents: int
    tokens: int
    cost_usd: float | None
    status: Literal["running", "waiting", "ended"]
    parent: str | None
    path: str
    size: int


class SessionsReport(msgspec.Struct, frozen=True, kw_only=True):
    """A list of conversations."""

    version: Literal[1] = 1
    sessions: list[SessionItem]


class HitItem(msgspec.Struct, frozen=True, kw_only=True):
    """A place that a search has found.

    Attributes:
        session: the id of the conversation.
        title: what it is called.
        uuid: the line.
        role: who said it: user, assistant or tool.
        time: when.
        snippet: the text around what was found.
        spans: where it is in the snippet.
    """

    session: str
    title: str | None
    uuid: str | None
    role: str
    time: str | None
    snippet: str
    spans: list[tuple[int, int]]


class SearchReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a search has found, the best first."""

    version: Literal[1] = 1
    query: str
    hits: list[HitItem]


class TranscriptReport(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation with its lines, as the CLI has written them."""

    version: Literal[1] = 1
    session: SessionItem
    lines: list[dict[str, Any]]


def session_item(info: SessionInfo) -> SessionItem:
    """Make what is printed of a session."""
    same = ("id", "title", "cwd", "branch", "tag", "begin", "end", "prompts", "replies", "agents")
    more = ("cost_usd", "status", "parent", "path", "size")
    fields = {name: getattr(info, name) for name in (*same, *more)}
    return SessionItem(**fields, models=[*info.models], tokens=info.totals.tokens)


def hit_item(hit: Hit) -> HitItem:
    """Make what is printed of something that was found."""
    return HitItem(
        session=hit.session.id,
        title=hit.session.title,
        uuid=hit.uuid,
        role=hit.role,
        time=hit.time,
        snippet=hit.snippet,
        spans=[*hit.spans],
    )
