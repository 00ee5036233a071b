"""Compaction: what was said is replaced by a summary of it."""

from __future__ import annotations

from ..wire import CompactBoundaryMessage, CompactMetadata, MessageParam, UserMessage
from .engine import Engine
from .session import timestamp

__all__ = ["put_boundary"]

CONTINUED = (
    "This session is being continued from a previous conversation that ran out of context. The "
    "summary below covers the earlier portion of the conversation.\n\n{summary}\n\nIf you need "
    "specific details from before compaction (like exact code snippets, error messages, or content "
    "you generated), read the full transcript at: {path}\nContinue the conversation from where it "
    "left off without asking the user any further questions. Resume directly — do not acknowledge "
    'the summary, do not recap what was happening, do not preface with "I\'ll continue" or '
    "similar. Pick up the last task as if the break never happened."
)


def put_boundary(engine: Engine, trigger: str, tokens: int, summary: str | None = None) -> None:
    """Say, and keep, that what was said before is replaced by a summary, if there is one."""
    session, after = engine.session, len(summary or "") // 4
    metadata = CompactMetadata(
        trigger=trigger,
        pre_tokens=tokens,
        post_tokens=after,
        duration_ms=0,
    )
    kept = {"trigger": trigger, "preTokens": tokens, "durationMs": 0, "postTokens": after}
    stamp = session.stamp()
    parent = engine.transcript.compact(stamp["uuid"], {**kept, "cumulativeDroppedTokens": 0})
    engine.send(
        CompactBoundaryMessage(compact_metadata=metadata, logical_parent_uuid=parent, **stamp)
    )
    if summary is None:
        return
    text = CONTINUED.format(summary=summary, path=session.transcript)
    told = UserMessage(
        message=MessageParam("user", text),
        is_replay=False,
        is_synthetic=True,
        timestamp=timestamp(),
        **session.stamp(),
    )
    engine.transcript.told(told, isVisibleInTranscriptOnly=True, isCompactSummary=True)
    engine.send(told)
