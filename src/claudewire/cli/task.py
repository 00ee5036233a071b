"""One task from its prompt to its outcome: what `run` does, whatever it looks like."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio

from ..errors import Error
from .activity import ActivityLog, notice_of
from .errors import as_options, exit_for, message_of
from .exits import Exit
from .reports import Decided, ErrorReport, RunReport

if TYPE_CHECKING:
    from ..content import Prompt
    from ..launch import Connect
    from ..options import Options
    from ..people import Pending, Person, PolicyLike
    from ..policy import DecisionRecord
    from ..session import AnyTurn, InterruptReceipt, Reply, Session
    from ..transport import Transport
    from .reports import Outcome
    from .views import View

__all__ = ["DOING", "Nobody", "Task", "TaskRun", "decided_of", "receipt_words"]

MAY_STOP = 10.0
"""Seconds that a turn has to stop after an interrupt, before the CLI is ended."""

TASKS_MAY_TAKE = 600.0
"""Seconds that background tasks have to end after the answer, before they are stopped."""

LAST_CALL = "The answer is complete: the limit was reached at its end."

DOING = {
    "START": "Starting",
    "FIRST_TOKEN": "Thinking",
    "NEXT_TOKEN": "Writing",
    "TOOL": "Using a tool",
    "PERSON": "Waiting for you",
}

DENIALS = frozenset({"deny", "decline", "cancel", "skipped", "cancelled"})


@dataclass(frozen=True)
class Task:
    """What is to be done.

    Attributes:
        prompt: what the model is told.
        options: how the session is opened.
        transport: what to talk over instead of a process of the CLI.
        timeout: how many seconds it may take.
        denied_ok: whether it is fine if something was denied.
    """

    prompt: Prompt
    options: Options
    transport: Transport | Connect | None = None
    timeout: float | None = None
    denied_ok: bool = False


class Nobody:
    """Says no to everything, because no person can be asked, and remembers what was asked.

    Args:
        policy: what decides before a person is asked.

    Attributes:
        needed: a person was needed: for a question, a plan or a form, or because a rule says so.
    """

    REASON = "No person can be asked here."

    def __init__(self, policy: PolicyLike | None = None) -> None:
        self.needed: bool = False
        self._policy = policy

    async def __call__(self, request: Pending[Any]) -> Any:
        """Deny."""
        from ..people import PermissionRequest, deny_everything

        if not isinstance(request, PermissionRequest) or self._rule_asks(request):
            self.needed = True
        return await deny_everything(self.REASON)(request)

    def _rule_asks(self, request: Any) -> bool:
        if self._policy is None:
            return False
        decided = self._policy.decide(request.tool_name, request.input, cwd=request.cwd)
        return decided.rule is not None


class TaskRun:
    """A task that is being worked on.

    Args:
        task: what is to be done.
        view: shows it.
        nobody: is asked instead of a person, if there is none.
    """

    def __init__(self, task: Task, view: View, nobody: Nobody | None = None) -> None:
        self.task = task
        self.view = view
        self.nobody = nobody
        self._log = ActivityLog()
        self._decisions: list[Decided] = []
        self._reply: Reply[Any] | None = None
        self._error: Error | None = None
        self._exit: Exit | None = None
        self._not_written: OSError | None = None
        self._interrupts = 0
        self._session: Session[Any] | None = None
        self._scope: anyio.CancelScope | None = None

    async def run(self) -> RunReport:
        """Do it, show it, and return how it ended.

        Raises:
            OSError: what happens cannot be shown; the turn was interrupted.
        """
        started = monotonic()
        self._scope = anyio.CancelScope()
        self.view.doing = self._doing
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_signals)
            tasks.start_soon(self.view.run)
            with self._scope:
                await self._work()
            tasks.cancel_scope.cancel()
        if self._not_written is not None:
            raise self._not_written
        report = self._report(monotonic() - started)
        self.view.finish(report)
        return report

    async def _work(self) -> None:
        from ..session import Session

        try:
            options = self.task.options.replace(audit=self._decided)
            if self.nobody is None:
                options = options.replace(person=self._person())
            session: Session[Any] = Session(options, transport=self.task.transport)
            async with session:
                self._session = session
                with anyio.move_on_after(self.task.timeout) as limit:
                    await self._converse(session)
                if limit.cancelled_caught:
                    self._exit = self._exit or Exit.STALLED
                    await self._stop(session, in_time=False)
        except Error as error:
            self._error = error

    def _person(self) -> Person:
        from .asking import AskPerson
        from .terminal_view import TerminalView
        from .typing_in import TerminalDialog

        assert isinstance(self.view, TerminalView)
        return AskPerson(TerminalDialog(self.view, self.interrupt))

    def _doing(self) -> str:
        """Say what the session is doing, in a word."""
        waiting = None if self._session is None else self._session.waiting
        return "Starting" if waiting is None else DOING.get(waiting.what.name, "Working")

    async def _converse(self, session: Session[Any]) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._show_notices, session)
            tasks.start_soon(self._show_unsolicited, session)
            turn = session.send(self.task.prompt)
            try:
                await self._show(turn)
                self._reply = await turn
                await session.finish_tasks("wait", TASKS_MAY_TAKE)
                if self._reply.ok:
                    self._check_budget(session)
            except OSError as error:
                self._not_written = error
                await self._stop(session)
            except Error as error:
                self._error = error
            tasks.cancel_scope.cancel()

    def _check_budget(self, session: Session[Any]) -> None:
        """Note a budget that the last call has used up: there was nothing left to interrupt."""
        from ..errors import BudgetExceeded
        from ..tracking import BudgetWatch

        for alert in BudgetWatch(self.task.options.budgets).check(session.ledger):
            if alert.level == "hard":
                self._error = BudgetExceeded(str(alert), advice=LAST_CALL)

    async def _show(self, turn: AnyTurn, name: str = "") -> None:
        async for block in turn.iter_blocks():
            for activity in self._log.note(block, name):
                self.view.show(activity, self._log.depth(block.agent))

    async def _show_unsolicited(self, session: Session[Any]) -> None:
        numbers = count(2)
        async for turn in session.unsolicited:
            await self._show(turn, f"turn-{next(numbers)}-")

    async def _show_notices(self, session: Session[Any]) -> None:
        with session.events() as events:
            async for event in events:
                if (notice := notice_of(event)) is not None:
                    self.view.show(notice)

    def _decided(self, record: DecisionRecord) -> None:
        made = decided_of(record)
        self._decisions.append(made)
        self._log.decided(made)
        self.view.show(made)

    # --- the end ---------------------------------------------------------------------------------

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with anyio.create_task_group() as tasks:
                async for _ in signals:
                    tasks.start_soon(self.interrupt)

    async def interrupt(self) -> None:
        """Interrupt the turn; the second time, end the CLI; the third time, kill it."""
        self._interrupts += 1
        self._exit = Exit.INTERRUPTED
        session = self._session
        assert self._scope is not None
        if session is None:
            self._scope.cancel()
        elif self._interrupts == 1:
            self.view.note("Interrupting. Press Ctrl-C again to end the CLI.")
            await self._stop(session)
            self._scope.cancel()
        elif self._interrupts == 2:
            self.view.note("Ending the CLI. Press Ctrl-C again to kill it.")
            await session.close()
        else:
            await session.close(now=True)

    async def _stop(self, session: Session[Any], *, in_time: bool = True) -> None:
        """Interrupt the turn, and say what that did; that it did nothing, only if in time."""
        with anyio.CancelScope(shield=True):
            try:
                receipt = await session.interrupt(queued="cancel", timeout=MAY_STOP)
            except Error as error:
                self.view.note(f"The turn could not be interrupted: {error}")
            else:
                if in_time or receipt.outcome not in ("was_over", "nothing_running"):
                    self.view.note(receipt_words(receipt))

    def _report(self, seconds: float) -> RunReport:
        exit = self._outcome()
        reply, error = self._reply, self._error
        report = partial(
            RunReport,
            outcome=cast("Outcome", exit.name.lower()),
            exit_code=int(exit),
            seconds=round(seconds, 3),
            decisions=self._decisions,
            session_id=None if self._session is None else self._session.session_id,
            error=None if error is None else error_report(error),
        )
        if reply is None:
            return report()
        return report(
            text=reply.text,
            output=reply.output,
            model=next(iter(reply.model_usage), None),
            turns=reply.result.num_turns or 1,
            tokens=reply.totals.tokens,
            cost_usd=reply.cost_usd,
        )

    def _outcome(self) -> Exit:
        if self._exit is not None:
            return self._exit
        if self._reply is not None and not self._reply.ok:
            self._error = self._error or self._reply.error
        if self._error is not None:
            return exit_for(self._error)
        if self.nobody is not None and self.nobody.needed:
            return Exit.NEEDS_PERSON
        denied = self._reply is not None and bool(self._reply.denials)
        denied = denied or any(it.answer in DENIALS for it in self._decisions)
        return Exit.DENIED if denied and not self.task.denied_ok else Exit.DONE


def decided_of(record: DecisionRecord) -> Decided:
    """Turn the library's record of a decision into what is shown of it."""
    by = record.decided_by
    if by.startswith("handler"):
        by = "no terminal" if "Nobody" in by else "person"
    return Decided(
        kind=record.kind,
        tool=record.tool,
        answer=record.answer,
        by=by,
        reason=record.reason,
        seconds=None if record.latency is None else round(record.latency, 3),
    )


def receipt_words(receipt: InterruptReceipt) -> str:
    """Say what an interrupt did."""
    words = {
        "stopped": "The turn was stopped.",
        "withdrawn": "The prompt was taken back before it began.",
        "was_over": "The turn had ended already.",
        "not_stopped": "The turn has not stopped.",
        "nothing_running": "No turn was running.",
    }[receipt.outcome]
    if receipt.cancelled:
        words += f" Dropped from the queue: {len(receipt.cancelled)}."
    if receipt.still_queued:
        words += f" Still queued: {len(receipt.still_queued)}."
    return words


def error_report(error: Error) -> ErrorReport:
    """Describe an error as JSON types."""
    cause = getattr(error, "cause", None)
    return ErrorReport(
        message=message_of(error),
        cause=None if cause is None else str(cause),
        advice=as_options(error.advice),
        retryable=error.retryable,
    )
