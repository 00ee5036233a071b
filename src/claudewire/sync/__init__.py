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
`with` block closes its session. It uses `claudewire.session` and adds nothing to it: start reading
with `session`, and then `portal`, which runs the event loop.
"""

from __future__ import annotations

from .pool import Pool
from .session import Session, open, run
from .turn import InterruptReceipt, Reader, Subscription, Turn, TurnReader, TurnStarted

__all__ = [
    "InterruptReceipt",
    "Pool",
    "Reader",
    "Session",
    "Subscription",
    "Turn",
    "TurnReader",
    "TurnStarted",
    "open",
    "run",
]
