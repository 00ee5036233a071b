"""Where a user message came from: a person, or something that speaks in the user's place."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import UNKNOWN, Number, Record, Unknown

__all__ = [
    "AutoContinuationOrigin",
    "ChannelOrigin",
    "CoordinatorOrigin",
    "HumanOrigin",
    "MessageOrigin",
    "ObserverActivityOrigin",
    "ObserverOrigin",
    "PeerOrigin",
    "TaskNotificationOrigin",
    "UnclassifiedOrigin",
    "UnknownOrigin",
]


class HumanOrigin(Record, tag="human", tag_field="kind"):
    """A person typed it."""


class ChannelOrigin(Record, tag="channel", tag_field="kind"):
    """It came in over a channel that an MCP server provides."""

    server: str


class PeerOrigin(Record, tag="peer", tag_field="kind", rename="camel"):
    """Another session sent it."""

    from_: str = msgspec.field(name="from")
    from_mode: str | None = None
    """`bypass` or `prompting`."""
    name: str | None = None
    from_session: str | None = None
    sender_task_id: str | None = None
    body: str | None = None
    verified_peer_pid: Number | None = None


class TaskNotificationOrigin(Record, tag="task-notification", tag_field="kind", rename="camel"):
    """A task ended, or something scheduled came due."""

    subkind: str | None = None
    """`scheduled-trigger`, `peer-send-message`, `projects-relay` or `session-inbox`."""
    fire_reason: str | None = None
    run_id: str | None = None


class CoordinatorOrigin(Record, tag="coordinator", tag_field="kind"):
    """The session that coordinates this one sent it."""


class UnclassifiedOrigin(Record, tag="unclassified", tag_field="kind"):
    """The CLI does not know."""


class ObserverOrigin(Record, tag="observer", tag_field="kind", rename="camel"):
    """An observer of the session said it."""

    from_: str = msgspec.field(name="from")
    sender_task_id: str | None = None


class AutoContinuationOrigin(Record, tag="auto-continuation", tag_field="kind"):
    """The CLI told the model to go on."""


class ObserverActivityOrigin(Record, tag="observer-activity", tag_field="kind"):
    """News for an observer of what the session does."""


class UnknownOrigin(Unknown, Record, tag=UNKNOWN, tag_field="kind"):
    """A kind of origin that this version does not know."""

    raw: dict[str, Any]


MessageOrigin = (
    HumanOrigin
    | ChannelOrigin
    | PeerOrigin
    | TaskNotificationOrigin
    | CoordinatorOrigin
    | UnclassifiedOrigin
    | ObserverOrigin
    | AutoContinuationOrigin
    | ObserverActivityOrigin
    | UnknownOrigin
)
