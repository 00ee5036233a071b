"""The same API without async.

    from claudewire import sync

    print(sync.run("Summarise README.md", allow=["Read"]).text)

    with sync.open(model="sonnet") as claude:
        turn = claude.send("Make the failing test pass")
        for piece in turn.iter_text():
            print(piece, end="")
        reply = turn.reply(timeout=600)

Calls block the calling thread while the work happens in one background thread, which all sessions
share. Any thread may call, also one that runs an event loop. Ctrl-C interrupts any wait; leaving a
`with` block closes its session. It uses `claudewire.session` and `claudewire.transcripts` and adds
nothing to them: start reading with `session`, and then `portal`, which runs the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .session import Pool, Session, open, run
from .turn import Reader, Subscription, Turn, TurnReader

if TYPE_CHECKING:
    from ..transcripts import Transcripts

__all__ = [
    "Pool",
    "Reader",
    "Session",
    "Subscription",
    "Transcripts",
    "Turn",
    "TurnReader",
    "open",
    "run",
]

if not TYPE_CHECKING:  # a program that talks to a CLI need not load what reads transcripts
    __getattr__, __dir__ = lazy_exports(__name__, {"..transcripts": "Transcripts"})
