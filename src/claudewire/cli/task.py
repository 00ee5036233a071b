"""One task from its prompt to its report: the work of `run`, in any form of output."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio

from ..approvals import PermissionRequest, deny_everything
from ..errors import BudgetExceeded, Error
from ..session import Session
from ..tracking import BudgetWatch
from .activity import Progress, doing_of, receipt_words
from .errors import Exit, exit_for
from .reports import ErrorReport, RunReport, outcome_of

if TYPE_CHECKING:
    from ..approvals import ApprovalRequest, PolicyLike
    from ..content import Prompt
    from ..launch import Connect
    from ..options import Options
    from ..session import Reply, Turn
    from .reports import View
    from .terminal_view import Interrupt

MAY_STOP = 10.0
"""Seconds that a turn has to stop after an interrupt, before the CLI is ended."""

TASKS_MAY_TAKE = 600.0
"""Seconds that background tasks have to end after the answer, before they are stopped."""

_LAST_CALL = "The answer is complete: its last model call reached the limit."


class NoPerson:
    """Denies every request; `needed` is True after one that needed a person."""

    def __init__(self, policy: PolicyLike | None = None) -> None:
        self.needed: bool = False
        self._policy = policy

    async def __call__(self, request: ApprovalRequest[Any]) -> Any:
        """Deny, and note whether a person would have decided."""
        self.needed |= not isinstance(request, PermissionRequest) or self._rule_asks(request)
        return await deny_everything("No person can be asked here.")(request)

    def _rule_asks(self, request: PermissionRequest) -> bool:
        if self._policy is None:
            return False
        decided = self._policy.decide(request.tool_name, request.input, cwd=request.cwd)
        return decided.rule is not None


class Task:
    """A task, shown in a view.

    Ctrl-C interrupts the turn; the second time, it ends the CLI; the third time, it kills it.
    `ask` makes the approver from a function to call for Ctrl-C; without `ask`, nobody is asked.
    """

    def __init__(
        self,
        prompt: Prompt,
        options: Options,
        view: View,
        *,
        ask: Callable[[Interrupt], Any] | None = None,
        connect: Connect | None = None,
        timeout: float | None = None,
        denied_ok: bool = False,
    ) -> None:
        self._prompt = prompt
        self._view = view
        self._timeout = timeout
        self._denied_ok = denied_ok
        self._progress = Progress(view, options.policy)
        self._approver: Any = NoPerson(options.policy) if ask is None else ask(self._press)
        options = options.replace(approver=self._approver, audit=self._progress.decided)
        self._session: Session[Any] = Session(options, transport=connect)
        view.doing = lambda: doing_of(self._session)
        self._presses = 0
        self._timed_out = False
        self._reply: Reply[Any] | None = None
        self._error: Exception | None = None

    async def run(self) -> RunReport:
        """Run the task, show it, and report its end. An OSError of the output interrupts it."""
        started = monotonic()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch_signals)
            tasks.start_soon(self._view.run)
            with anyio.CancelScope() as self._scope:
                await self._work()
            tasks.cancel_scope.cancel()
        if isinstance(self._error, OSError):
            raise self._error
        report = self._report(monotonic() - started)
        self._view.finish(report)
        return report

    async def _work(self) -> None:
        try:
            async with self._session:
                with anyio.move_on_after(self._timeout) as limit:
                    await self._converse()
                self._timed_out = limit.cancelled_caught
                if self._timed_out or isinstance(self._error, OSError):
                    await self._stop()
        except Error as error:
            self._reply, self._error = None, error

    async def _converse(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._progress.show_notices, self._session)
            tasks.start_soon(self._show_unsolicited)
            try:
                await self._turn()
            except (Error, OSError) as error:
                self._error = error
            tasks.cancel_scope.cancel()

    async def _turn(self) -> None:
        turn: Turn[Any] = self._session.send(self._prompt)
        await self._progress.show(turn)
        reply = await turn
        with suppress(TimeoutError):  # closing the session stops the background tasks
            await self._session.wait_idle(tasks="wait", timeout=TASKS_MAY_TAKE)
        self._reply, self._error = reply, self._spent() if reply.ok else reply.error

    async def _show_unsolicited(self) -> None:
        async for turn in self._session.unsolicited:
            await self._progress.show(turn)

    # --- Ctrl-C ----------------------------------------------------------------------------------

    async def _watch_signals(self) -> None:
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            async with anyio.create_task_group() as tasks:
                async for _ in signals:
                    tasks.start_soon(self._press)

    async def _press(self) -> None:
        self._presses += 1
        if self._presses == 1:
            self._view.note("Interrupting. Press Ctrl-C again to end the CLI.")
            await self._stop()
            self._scope.cancel()
        elif self._presses == 2:
            self._view.note("Ending the CLI. Press Ctrl-C again to kill it.")
            await self._session.close()
        else:
            await self._session.close(now=True)

    async def _stop(self) -> None:
        """Interrupt the turn, and describe the effect."""
        with anyio.CancelScope(shield=True):
            try:
                receipt = await self._session.interrupt(queued="cancel", timeout=MAY_STOP)
            except Error as error:
                self._view.note(f"Interrupting the turn failed: {error}")
            else:
                if receipt.outcome not in ("was_over", "nothing_running"):
                    self._view.note(receipt_words(receipt))

    # --- the end ---------------------------------------------------------------------------------

    def _spent(self) -> Error | None:
        """Return an error if the last model call used up a budget, with no turn to interrupt."""
        alerts = BudgetWatch(self._session.options.budgets).check(self._session.ledger)
        hard = [BudgetExceeded(str(it), advice=_LAST_CALL) for it in alerts if it.level == "hard"]
        return hard[-1] if hard else None

    def _exit(self) -> Exit:
        if self._presses:
            return Exit.INTERRUPTED
        if isinstance(self._error, Error):
            return exit_for(self._error)
        if self._timed_out:
            return Exit.STALLED
        if isinstance(self._approver, NoPerson) and self._approver.needed:
            return Exit.NEEDS_PERSON
        denied = self._progress.denied or bool(self._reply and self._reply.denials)
        return Exit.DENIED if denied and not self._denied_ok else Exit.DONE

    def _report(self, seconds: float) -> RunReport:
        fields: dict[str, Any] = {}
        if isinstance(self._error, Error):
            fields["error"] = ErrorReport.of(self._error)
        if (reply := self._reply) is not None:
            fields |= {
                "text": reply.text,
                "output": reply.output,
                "model": next(iter(reply.model_usage), None),
                "model_calls": reply.result.num_turns or 1,
                "tokens": reply.totals.tokens,
                "cost_usd": reply.cost_usd,
            }
        exit = self._exit()
        return RunReport(
            outcome=outcome_of(exit),
            exit_code=int(exit),
            seconds=round(seconds, 3),
            decisions=self._progress.decisions,
            session_id=self._session.session_id,
            **fields,
        )
