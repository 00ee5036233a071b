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
`with` block closes its session. It uses `claudewire.session` and `claudewire.store` and adds
nothing to them: start reading with `session`, and then `portal`, which runs the event loop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._package import lazy_exports
from .pool import Pool
from .session import Session, open, run
from .turn import InterruptReceipt, Reader, Subscription, Turn, TurnReader, TurnStarted

if TYPE_CHECKING:
    from .sessions import Sessions, Transcript

__all__ = [
    "InterruptReceipt",
    "Pool",
    "Reader",
    "Session",
    "Sessions",
    "Subscription",
    "Transcript",
    "Turn",
    "TurnReader",
    "TurnStarted",
    "open",
    "run",
]

if not TYPE_CHECKING:  # a program that talks to a CLI need not load what reads transcripts
    __getattr__, __dir__ = lazy_exports(__name__, {".sessions": "Sessions Transcript"})
