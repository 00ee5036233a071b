"""The same verbs without async.

    from claudewire.sync import open, run

    print(run("Summarise README.md", allow=["Read"]).text)

    with open(model="sonnet") as claude:
        turn = claude.send("Make the failing test pass")
        for piece in turn.iter_text():
            print(piece, end="")
        reply = turn.reply(timeout=600)

Everything waits in the thread that calls, and happens in one thread in the background, which all
sessions share: it is started when it is needed, and closes what is open when the interpreter ends.
Ctrl-C breaks any wait; a `with` block then closes its session.
"""

from __future__ import annotations

from .entry import open, run
from .pool import Pool
from .session import Session
from .turn import InterruptReceipt, Reader, Subscription, Turn, TurnStarted

__all__ = [
    "InterruptReceipt",
    "Pool",
    "Reader",
    "Session",
    "Subscription",
    "Turn",
    "TurnStarted",
    "open",
    "run",
]
