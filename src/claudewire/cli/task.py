"""One task from its prompt to its report: the work of `run`, in any form of output."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

import anyio

from ..approvals import PermissionRequest, deny_everything
from ..errors import BudgetExceeded, Error
from ..session import Session
from ..tracking import BudgetWatch
from .activity import Progress, doing_of, receipt_words
from .errors import Exit, advice_of, exit_for, message_of
from .reports import ErrorReport, RunReport

if TYPE_CHECKING:
    from ..approvals import ApprovalRequest, PolicyLike
    from ..content import Prompt
    from ..launch import Connect
    from ..options import Options
    from ..session import Reply, Turn
    from .reports import Outcome
    from .views import View

MAY_STOP = 10.0
"""Seconds that a turn has to stop after an interrupt, before the CLI is ended."""

TASKS_MAY_TAKE = 600.0
"""Seconds that background tasks have to end after the answer, before they are stopped."""

_LAST_CALL = "The answer is complete: its last model call reached the limit."


@dataclass(frozen=True)
class Task:
    """A task.

    Attributes:
        prompt: the prompt.
        options: of the session.
        connect: replaces the process of the CLI.
        timeout: seconds that the task may take.
        removed: tools that the CLI does not have because a rule denies them.
        denied_ok: whether denied tools leave the exit status 0.
    """

    prompt: Prompt
    options: Options
    connect: Connect | None = None
    timeout: float | None = None
    removed: Collection[str] = ()
    denied_ok: bool = False


@dataclass(frozen=True)
class _Ending:
    """The end of a task: a reply, an error, or an exit status without either."""

    reply: Reply[Any] | None = None
    error: Exception | None = None
    exit: Exit | None = None


class NoPerson:
    """Denies every request: no person can be asked.

    Args:
        policy: decides before a person is asked.

    Attributes:
        needed: whether a request needed a person: a question, a plan, a form, or a rule that asks.
    """

    def __init__(self, policy: PolicyLike | None = None) -> None:
        self.needed: bool = False
        self._policy = policy

    async def __call__(self, request: ApprovalRequest[Any]) -> Any:
        """Deny."""
        self.needed |= not isinstance(request, PermissionRequest) or self._rule_asks(request)
        return await deny_everything("No person can be asked here.")(request)

    def _rule_asks(self, request: PermissionRequest) -> bool:
        if self._policy is None:
            return False
        decided = self._policy.decide(request.tool_name, request.input, cwd=request.cwd)
        return decided.rule is not None


class Interrupts:
    """Ctrl-C: interrupts the turn; the second time, ends the CLI; the third time, kills it.

    Args:
        note: shows a remark.

    Attributes:
        session: the session.
        presses: how often it was pressed.
        scope: cancelled when the turn has stopped.
    """

    session: Session[Any]

    def __init__(self, note: Callable[[str], None]) -> None:
        self.presses: int = 0
        self.scope: anyio.CancelScope = anyio.CancelScope()
        self._note = note

    async def watch(self) -> None:
        """Take signals until cancelled."""
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with anyio.create_task_group() as tasks:
                async for _ in signals:
                    tasks.start_soon(self.press)

    async def press(self) -> None:
        """Take the next step."""
        self.presses += 1
        if self.presses == 1:
            self._note("Interrupting. Press Ctrl-C again to end the CLI.")
            await self.stop()
            self.scope.cancel()
        elif self.presses == 2:
            self._note("Ending the CLI. Press Ctrl-C again to kill it.")
            await self.session.close()
        else:
            await self.session.close(now=True)

    async def stop(self) -> None:
        """Interrupt the turn, and describe the effect."""
        with anyio.CancelScope(shield=True):
            try:
                receipt = await self.session.interrupt(queued="cancel", timeout=MAY_STOP)
            except Error as error:
                self._note(f"Interrupting the turn failed: {error}")
            else:
                if receipt.outcome not in ("was_over", "nothing_running"):
                    self._note(receipt_words(receipt))


async def run_task(
    task: Task, view: View, ask: Callable[[Interrupts], Any] | None = None
) -> RunReport:
    """Run a task, show it, and report its end.

    Args:
        task: the task.
        view: shows it.
        ask: makes the approver; without it all requests are denied.

    Raises:
        OSError: the output cannot be written; the turn was interrupted.
    """
    started, interrupts = monotonic(), Interrupts(view.note)
    progress = Progress(view, task.removed)
    approver = NoPerson(task.options.policy) if ask is None else ask(interrupts)
    options = task.options.replace(approver=approver, audit=progress.decided)
    session: Session[Any] = Session(options, transport=task.connect)
    interrupts.session = session
    view.doing = lambda: doing_of(session)
    ending = _Ending()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(interrupts.watch)
        tasks.start_soon(view.run)
        with interrupts.scope:
            ending = await _work(session, task, progress, interrupts)
        tasks.cancel_scope.cancel()
    if isinstance(ending.error, OSError):
        raise ending.error
    exit = Exit.INTERRUPTED if interrupts.presses else _exit(task, ending, progress, approver)
    report = _report(ending, exit, progress, session.session_id, monotonic() - started)
    view.finish(report)
    return report


async def _work(
    session: Session[Any], task: Task, progress: Progress, interrupts: Interrupts
) -> _Ending:
    ending = _Ending(exit=Exit.STALLED)
    try:
        async with session:
            with anyio.move_on_after(task.timeout) as limit:
                ending = await _converse(session, task, progress)
            if limit.cancelled_caught or isinstance(ending.error, OSError):
                await interrupts.stop()
    except Error as error:
        return _Ending(error=error)
    return ending


async def _converse(session: Session[Any], task: Task, progress: Progress) -> _Ending:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(progress.show_notices, session)
        tasks.start_soon(_show_unsolicited, session, progress)
        try:
            ending = await _turn(session, task, progress)
        except (Error, OSError) as error:
            ending = _Ending(error=error)
        tasks.cancel_scope.cancel()
    return ending


async def _turn(session: Session[Any], task: Task, progress: Progress) -> _Ending:
    turn: Turn[Any] = session.send(task.prompt)
    await progress.show(turn)
    reply = await turn
    with suppress(TimeoutError):  # closing the session stops the background tasks
        await session.wait_idle(tasks="wait", timeout=TASKS_MAY_TAKE)
    return _Ending(reply, _spent(session) if reply.ok else reply.error)


async def _show_unsolicited(session: Session[Any], progress: Progress) -> None:
    async for turn in session.unsolicited:
        await progress.show(turn)


def _spent(session: Session[Any]) -> Error | None:
    """Return an error if the last model call used up a budget: no turn was left to interrupt."""
    alerts = BudgetWatch(session.options.budgets).check(session.ledger)
    hard = [BudgetExceeded(str(it), advice=_LAST_CALL) for it in alerts if it.level == "hard"]
    return hard[-1] if hard else None


def _exit(task: Task, ending: _Ending, progress: Progress, approver: Any) -> Exit:
    if isinstance(ending.error, Error):
        return exit_for(ending.error)
    if ending.exit is not None:
        return ending.exit
    if isinstance(approver, NoPerson) and approver.needed:
        return Exit.NEEDS_PERSON
    denied = progress.denied or bool(ending.reply and ending.reply.denials)
    return Exit.DENIED if denied and not task.denied_ok else Exit.DONE


def _report(
    ending: _Ending, exit: Exit, progress: Progress, session_id: str | None, seconds: float
) -> RunReport:
    fields: dict[str, Any] = {}
    if isinstance(error := ending.error, Error):
        cause = getattr(error, "cause", None)
        fields["error"] = ErrorReport(
            message=message_of(error),
            cause=None if cause is None else str(cause),
            advice=advice_of(error),
            retryable=error.retryable,
        )
    if (reply := ending.reply) is not None:
        fields |= {
            "text": reply.text,
            "output": reply.output,
            "model": next(iter(reply.model_usage), None),
            "model_calls": reply.result.num_turns or 1,
            "tokens": reply.totals.tokens,
            "cost_usd": reply.cost_usd,
        }
    return RunReport(
        outcome=cast("Outcome", exit.name.lower()),
        exit_code=int(exit),
        seconds=round(seconds, 3),
        decisions=progress.decisions,
        session_id=session_id,
        **fields,
    )
