"""What can be seen of a session at any time, without asking the CLI."""

from __future__ import annotations

from ..errors import Error
from ..people import Inbox
from ..tracking import Ledger, TaskTable
from ..wire import Event, InitializeResult, InitMessage
from .core import Core
from .events import SessionState
from .requests import Desk
from .startup import Beginner
from .turn import AnyTurn
from .watchdog import Waiting

__all__ = ["Facts"]


class Facts:
    """The facts of a session."""

    _core: Core
    _desk: Desk
    _beginner: Beginner

    @property
    def state(self) -> SessionState:
        """What the session is doing."""
        return self._core.state

    @property
    def failure(self) -> Error | None:
        """Why the session is over; every call raises the same."""
        return self._core.failure

    @property
    def session_id(self) -> str | None:
        """The conversation's id, as the CLI says it: known when the first turn has begun."""
        return self._core.session_id

    @property
    def cli_info(self) -> InitializeResult | None:
        """What the CLI said of itself when it was opened: commands, models, agents, account."""
        return self._beginner.info

    @property
    def init_message(self) -> InitMessage | None:
        """What the CLI said at the beginning of the last turn: tools, servers, mode, version."""
        return self._core.init

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return None if self._core.link is None else self._core.link.pid

    @property
    def waiting(self) -> Waiting | None:
        """What the session waits for, and since when on the event loop's clock."""
        watchdog = self._beginner.watchdog
        return None if watchdog is None else watchdog.waiting

    @property
    def inbox(self) -> Inbox:
        """What waits for a person."""
        return self._desk.inbox

    @property
    def name(self) -> str:
        """What the session is called in its inbox, as the `session` of what waits there."""
        return self._desk.name

    @property
    def tasks(self) -> TaskTable:
        """What runs in the background."""
        return self._core.tasks

    @property
    def ledger(self) -> Ledger:
        """What has been used and what it cost."""
        return self._core.ledger

    @property
    def turns(self) -> tuple[AnyTurn, ...]:
        """The turns that are not over: those that the CLI has, then those that wait here."""
        return tuple(self._core.conversation)

    @property
    def unread(self) -> int:
        """How many messages nobody has read yet, over all turns."""
        return self._core.unread.count

    @property
    def notices(self) -> tuple[Event, ...]:
        """The last events that belong to no turn: bad lines, news between turns."""
        return tuple(self._core.notices)
