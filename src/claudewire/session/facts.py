"""The facts of a session, for the async and the blocking API."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import Error
from ..options import Options
from ..tracking import Ledger, TaskTable
from ..wire import Event, InitializeResult, InitMessage
from .events import SessionState

if TYPE_CHECKING:
    from ..approvals import Inbox
    from ..policy import Explanation
    from .core import Core


class SessionFacts:
    """The facts of a session that can be read in any thread."""

    _core: Core

    def __repr__(self) -> str:
        name = f"{self.name!r} " if self._core.handlers.is_named else ""
        return f"<Session {name}{self.session_id or 'without an id'} {self.state} pid={self.pid}>"

    @property
    def options(self) -> Options:
        """The options of the session."""
        return self._core.options

    @property
    def state(self) -> SessionState:
        """The phase of the session's life."""
        return self._core.state

    @property
    def failure(self) -> Error | None:
        """The reason why the session is over. Every call raises it."""
        return self._core.failure

    @property
    def session_id(self) -> str | None:
        """The id of the conversation, from the first turn on."""
        return self._core.session_id

    @property
    def cli_info(self) -> InitializeResult | None:
        """The CLI's answer to `initialize`: commands, models, agents, account."""
        return self._core.cli_info

    @property
    def init_message(self) -> InitMessage | None:
        """The CLI's description of the last turn: tools, servers, mode, version."""
        return self._core.init_message

    @property
    def pid(self) -> int | None:
        """The CLI's process id, if it is a process."""
        return None if self._core.link is None else self._core.link.pid

    @property
    def inbox(self) -> Inbox:
        """The pending requests for a person."""
        return self._core.handlers.inbox

    @property
    def name(self) -> str:
        """The name of the session in its inbox and in logs: the option `name`, or a number."""
        return self._core.handlers.name

    @property
    def tasks(self) -> TaskTable:
        """The background tasks."""
        return self._core.tasks

    @property
    def ledger(self) -> Ledger:
        """The used tokens and their cost."""
        return self._core.ledger

    @property
    def notices(self) -> tuple[Event, ...]:
        """The last events without a turn: bad lines, messages between turns."""
        return tuple(self._core.notices)

    def explain_permissions(self) -> Explanation:
        """Explain which tools can ever reach a person with these options, and what shadows what."""
        from .reachability import explain_options  # it loads the grammar of rules

        return explain_options(self.options)
