"""How a task ended: its status, its report, and what was decided in it."""

from __future__ import annotations

import io
import signal
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import pytest
from tests.cli.scenes import scene
from tests.people.asking import COLOUR, SOON, ask, use

from claudewire.cli.exits import Exit
from claudewire.cli.reports import Decided, ErrorReport, RunReport, TextPiece
from claudewire.cli.task import LAST_CALL, Nobody, Task, TaskRun, decided_of, error_report
from claudewire.cli.views import PlainView
from claudewire.errors import BudgetExceeded, Cause, CLIError, OptionsError, TurnError
from claudewire.options import Options
from claudewire.people import PermissionRequest, QuestionRequest
from claudewire.policy import DecisionRecord, Policy
from claudewire.simulator import SimulatedCLI
from claudewire.testing import Chat


def task(nobody: Nobody | None = None, **fields: Any) -> TaskRun:
    return TaskRun(Task("x", Options(), **fields), PlainView(io.StringIO(), io.StringIO()), nobody)


def reply(**fields: Any) -> Any:
    usual: dict[str, Any] = {
        "ok": True,
        "error": None,
        "denials": [],
        "text": "Done.",
        "output": None,
        "model_usage": {},
        "result": SimpleNamespace(num_turns=None),
        "totals": SimpleNamespace(tokens=0),
        "cost_usd": None,
    }
    return SimpleNamespace(**{**usual, **fields})


def decision(answer: str) -> Decided:
    return Decided(kind="permission", tool="Bash", answer=answer, by="rule")


FAILED = CLIError("It failed.")
DENIED = reply(denials=["Bash"])


@pytest.mark.parametrize(
    ("fields", "exit"),
    [
        ({}, Exit.DONE),
        ({"_reply": reply()}, Exit.DONE),
        ({"_reply": reply(ok=False, error=FAILED)}, Exit.NO_CLI),
        ({"_reply": reply(ok=False, error=FAILED), "_error": OptionsError("x")}, Exit.USAGE),
        ({"_reply": reply(error=FAILED)}, Exit.DONE),
        ({"_error": FAILED, "_exit": Exit.STALLED}, Exit.STALLED),
        ({"_error": FAILED}, Exit.NO_CLI),
        ({"_reply": DENIED}, Exit.DENIED),
        ({"_reply": DENIED, "denied_ok": True}, Exit.DONE),
        ({"_reply": reply(), "_decisions": [decision("allow"), decision("deny")]}, Exit.DENIED),
        *(
            ({"_decisions": [decision(it)]}, Exit.DENIED)
            for it in ("deny", "decline", "cancel", "skipped", "cancelled")
        ),
        *(({"_decisions": [decision(it)]}, Exit.DONE) for it in ("allow", "accept", "answered")),
        ({"_decisions": [decision("deny")], "denied_ok": True}, Exit.DONE),
        ({"needed": True}, Exit.NEEDS_PERSON),
        ({"needed": True, "denied_ok": True, "_reply": DENIED}, Exit.NEEDS_PERSON),
        ({"needed": False, "_reply": DENIED}, Exit.DENIED),
    ],
)
def test_the_status_says_how_a_task_ended(fields: dict[str, Any], exit: Exit) -> None:
    nobody = None
    if "needed" in fields:
        nobody = Nobody()
        nobody.needed = fields["needed"]
    work = task(nobody, denied_ok=fields.get("denied_ok", False))
    for name, value in fields.items():
        if name.startswith("_"):
            setattr(work, name, value)
    assert work._outcome() is exit


def test_a_report_without_a_reply_says_why_there_is_none() -> None:
    work = task()
    assert work._report(1.23456) == RunReport(outcome="done", exit_code=0, seconds=1.235)
    work._session = SimpleNamespace(session_id="s1")  # type: ignore[assignment]
    work._error = CLIError("It failed.", advice="Give cli=….")
    work._decisions = [decision("deny")]
    assert work._report(2.0) == RunReport(
        outcome="no_cli",
        exit_code=7,
        seconds=2.0,
        session_id="s1",
        decisions=[decision("deny")],
        error=ErrorReport(message="It failed.", cause="unknown", advice="Give --cli PATH."),
    )


@pytest.mark.parametrize(
    ("fields", "reported"),
    [
        ({}, {"turns": 1}),
        ({"result": SimpleNamespace(num_turns=3)}, {"turns": 3}),
        ({"model_usage": {"opus": 1, "haiku": 2}}, {"turns": 1, "model": "opus"}),
        (
            {"output": {"a": 1}, "cost_usd": 0.5, "totals": SimpleNamespace(tokens=7)},
            {"turns": 1, "output": {"a": 1}, "cost_usd": 0.5, "tokens": 7},
        ),
    ],
)
def test_a_report_has_what_the_reply_says(fields: dict[str, Any], reported: dict[str, Any]) -> None:
    work = task()
    work._reply = reply(**fields)
    wanted = RunReport(outcome="done", exit_code=0, text="Done.", seconds=1.0, **reported)
    assert work._report(1.0) == wanted


def test_an_error_is_reported_with_its_cause_and_whether_it_may_pass() -> None:
    assert error_report(OptionsError("cli is wrong")) == ErrorReport(message="--cli is wrong")
    busy = TurnError("It is busy.", cause=Cause.OVERLOADED)
    assert busy.retryable
    assert error_report(busy) == ErrorReport(
        message="It is busy.", cause=str(Cause.OVERLOADED), retryable=True
    )


def record(**fields: Any) -> DecisionRecord:
    usual: dict[str, Any] = {"kind": "permission", "tool": "Bash", "answer": "deny"}
    usual |= {"decided_by": "rule", "reason": "Because.", "latency": None}
    return SimpleNamespace(**{**usual, **fields})  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("rule", "rule"),
        ("handler Nobody", "no terminal"),
        ("handler AskPerson", "person"),
        ("the handler Nobody", "the handler Nobody"),
    ],
)
@pytest.mark.parametrize(("latency", "seconds"), [(None, None), (1.23456, 1.235)])
def test_who_has_decided_is_said_in_a_word(
    by: str, told: str, latency: float | None, seconds: float | None
) -> None:
    made = decided_of(record(decided_by=by, latency=latency))
    wanted = Decided(kind="permission", tool="Bash", answer="deny", by=told, reason="Because.")
    assert made == msgspec.structs.replace(wanted, seconds=seconds)


@pytest.mark.parametrize(
    ("rules", "request_", "needed"),
    [
        (None, lambda: PermissionRequest(use("Bash", {"command": "ls"})), False),
        ({}, lambda: PermissionRequest(use("Bash", {"command": "ls"})), False),
        ({"ask": ["Bash"]}, lambda: PermissionRequest(use("Bash", {"command": "ls"})), True),
        ({"ask": ["Read"]}, lambda: PermissionRequest(use("Bash", {"command": "ls"})), False),
        (None, lambda: QuestionRequest(ask(COLOUR)), True),
    ],
)
def test_a_person_is_needed_for_a_question_or_if_a_rule_says_so(
    rules: dict[str, Any] | None, request_: Any, needed: bool
) -> None:
    nobody = Nobody(None if rules is None else Policy(**rules))
    answer: Any = anyio.run(nobody, request_())
    assert nobody.needed is needed
    assert answer.message == "No person can be asked here."


def test_a_rule_is_asked_with_the_folder_of_the_request() -> None:
    asked: list[Any] = []

    class Noted:
        def decide(self, *given: Any, **named: Any) -> Any:
            asked.append((given, named))
            return SimpleNamespace(rule=None)

    request = PermissionRequest(use("Bash", {"command": "ls"}))
    noted: Any = Noted()
    anyio.run(Nobody(noted), request)
    assert asked == [(("Bash", {"command": "ls"}), {"cwd": request.cwd})]


@pytest.mark.parametrize(
    ("levels", "is_over"), [([], False), (["soft"], False), (["soft", "hard"], True)]
)
def test_a_budget_that_the_last_call_has_used_up_is_an_error(
    levels: list[str], is_over: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Spent(SimpleNamespace):
        def __str__(self) -> str:
            return "All is spent."

    class Watch:
        def __init__(self, budgets: Any) -> None:
            assert budgets == work.task.options.budgets

        def check(self, ledger: Any) -> list[Any]:
            assert ledger == "the ledger"
            return [Spent(level=it) for it in levels]

    monkeypatch.setattr("claudewire.tracking.BudgetWatch", Watch)
    work = task()
    session: Any = SimpleNamespace(ledger="the ledger")
    work._check_budget(session)
    assert isinstance(work._error, BudgetExceeded) is is_over
    if work._error is not None:
        assert (work._error.message, work._error.advice) == ("All is spent.", LAST_CALL)


def test_what_cannot_be_shown_interrupts_the_turn_and_is_raised() -> None:
    class Full(PlainView):
        def show(self, activity: Any, depth: int = 0) -> None:
            raise OSError(28, "No space left on device")

    err = io.StringIO()
    work = TaskRun(Task("x", Options(cli="simulated")), Full(io.StringIO(), err), Nobody())

    async def run() -> None:
        with anyio.fail_after(SOON), pytest.raises(OSError, match="No space left"):
            await work.run()

    anyio.run(run)
    assert err.getvalue().startswith("The turn ")


@pytest.mark.parametrize(
    ("waiting", "words"),
    [(None, "Starting"), ("FIRST_TOKEN", "Thinking"), ("something new", "Working")],
)
def test_it_says_what_the_session_is_doing(waiting: str | None, words: str) -> None:
    work = task()
    assert work._doing() == "Starting"
    found = waiting and SimpleNamespace(what=SimpleNamespace(name=waiting))
    work._session = SimpleNamespace(waiting=found)  # type: ignore[assignment]
    assert work._doing() == words


def test_a_view_runs_as_long_as_the_task_and_knows_what_it_does() -> None:
    seen: list[str] = []

    class Noted(PlainView):
        async def run(self) -> None:
            try:
                await anyio.sleep_forever()
            finally:
                seen.append(self.doing())

    work = TaskRun(
        Task("x", Options(cli="simulated")), Noted(io.StringIO(), io.StringIO()), Nobody()
    )

    async def run() -> None:
        with anyio.fail_after(SOON):
            await work.run()

    anyio.run(run)
    assert len(seen) == 1
    assert seen[0] != ""


def test_a_signal_interrupts_a_task() -> None:
    class Pressed(PlainView):
        def show(self, activity: Any, depth: int = 0) -> None:
            signal.raise_signal(signal.SIGTERM)

    async def wait(chat: Chat) -> None:
        await chat.say("I wait.")
        await chat.sleep(100_000)

    err = io.StringIO()
    options = Options(include_partial_messages=True)
    waiting = Task("x", options, transport=SimulatedCLI(wait))
    work = TaskRun(waiting, Pressed(io.StringIO(), err), Nobody())

    async def run() -> RunReport:
        with anyio.fail_after(SOON):
            return await work.run()

    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert anyio.run(run).outcome == "interrupted"
    finally:
        signal.signal(signal.SIGTERM, before)
    assert err.getvalue().startswith("Interrupting. Press Ctrl-C again to end the CLI.\n")


def done(prompt: str, work: list[TaskRun] | None = None) -> tuple[RunReport, str, str]:
    """Do a task with a scene of the simulated CLI; return what it says where."""
    out, err = io.StringIO(), io.StringIO()
    options = Options(include_partial_messages=True)
    given = Task(prompt, options, transport=SimulatedCLI(scene))
    made = TaskRun(given, PlainView(out, err), Nobody())
    for it in work or ():
        made._check_budget = it._check_budget  # type: ignore[method-assign]

    async def run() -> RunReport:
        with anyio.fail_after(SOON):
            return await made.run()

    return anyio.run(run), out.getvalue(), err.getvalue()


def test_what_happens_beside_the_answer_is_shown() -> None:
    _, out, err = done("busy")
    assert out == "Done after a while.\n"
    assert err.splitlines()[:2] == [
        "The API did not answer (529); asked again, attempt 2 of 10.",
        "The conversation was summarised to make room for more.",
    ]
    _, out, _ = done("background")
    assert out == "It is being built.\n\nThe build is done.\n"
    _, _, err = done("agents")
    assert [line for line in err.splitlines() if line.startswith("  ")] == [
        line for line in err.splitlines() if "inner.py" in line
    ]


def test_blocks_of_different_turns_have_different_names() -> None:
    class Turn:
        async def iter_blocks(self) -> Any:
            yield SimpleNamespace(kind="text", added="Words", id="block-1", agent=None)

    async def unsolicited() -> Any:
        yield Turn()
        yield Turn()

    shown: list[Any] = []
    work = task()
    work.view.show = lambda activity, depth: shown.append((activity, depth))  # type: ignore[assignment, method-assign, misc]
    session: Any = SimpleNamespace(unsolicited=unsolicited())
    anyio.run(work._show_unsolicited, session)
    names = ["turn-2-block-1", "turn-3-block-1"]
    assert shown == [(TextPiece(text="Words", block=name), 0) for name in names]


def test_a_budget_is_only_checked_after_a_turn_that_succeeded() -> None:
    checked: list[Any] = []
    noting: Any = SimpleNamespace(_check_budget=checked.append)
    done("fail", [noting])
    assert checked == []
    done("say", [noting])
    assert len(checked) == 1


def test_a_defect_is_raised_and_not_reported() -> None:
    class Broken(PlainView):
        def show(self, activity: Any, depth: int = 0) -> None:
            raise KeyError("a defect")

    given = Task("say", Options(), transport=SimulatedCLI(scene))

    async def run() -> None:
        with anyio.fail_after(SOON):
            await TaskRun(given, Broken(io.StringIO(), io.StringIO()), Nobody()).run()

    with pytest.raises(ExceptionGroup) as raised:
        anyio.run(run)
    assert raised.group_contains(KeyError)


def test_a_decision_is_shown_noted_and_kept() -> None:
    shown: list[Any] = []
    work = task()
    work.view.show = shown.append  # type: ignore[assignment, method-assign]
    work._log.decided = shown.append  # type: ignore[assignment, method-assign]
    work._decided(record(decided_by="handler Nobody", latency=0.5))
    made = Decided(
        kind="permission",
        tool="Bash",
        answer="deny",
        by="no terminal",
        reason="Because.",
        seconds=0.5,
    )
    assert shown == [made, made]
    assert work._decisions == [made]


def test_a_turn_is_stopped_also_while_the_task_is_cancelled() -> None:
    asked: list[Any] = []

    async def interrupt(**given: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        asked.append(given)
        if len(asked) == 2:
            raise CLIError("No answer.")
        return SimpleNamespace(outcome="stopped", cancelled=[], still_queued=[])

    err = io.StringIO()
    work = TaskRun(Task("x", Options()), PlainView(io.StringIO(), err))
    session: Any = SimpleNamespace(interrupt=interrupt)

    async def stop() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await work._stop(session)

    anyio.run(stop)
    anyio.run(stop)
    assert asked == [{"queued": "cancel", "timeout": 10.0}] * 2
    assert err.getvalue().splitlines() == [
        "The turn was stopped.",
        "The turn could not be interrupted: No answer.",
    ]
