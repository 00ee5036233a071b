"""The errors of this ring. What a peer does is never one: that comes as an event."""

from __future__ import annotations

__all__ = ["Error", "LocalProtocolError"]


class Error(Exception):
    """The base of every exception that claudewire raises."""


class LocalProtocolError(Error):
    """We tried to say something that may not be said now. Nothing was sent, nothing changed."""
