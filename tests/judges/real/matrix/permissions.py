"""Permissions, questions and plans: decisions of a person and their effects."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.to_thread
from tests.session.approvals.asking import COLOUR, SIZES

from claudewire.approvals import ApprovalState, Inbox, PermissionRequest, QuestionAnswer
from claudewire.policy import DecisionRecord, Policy
from claudewire.testing.api import APIToolUse

from .behaviour import alone, shared
from .common import bash, touch
from .stage import Stage

ASK = APIToolUse("AskUserQuestion", {"questions": [COLOUR, SIZES]})
PLAN = APIToolUse("ExitPlanMode", {"plan": "# Tidy up"})
AGAIN = bash("python3 -c 'print(1)'")


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    return stage.handlers


# --- permissions ---------------------------------------------------------------------------------


@shared("An allowed tool runs", [touch("allowed"), "Done."], shows=("000-44", "000-82"))
async def allowed(stage: Stage) -> None:
    assert (await stage.ask()).text == "Done."
    assert stage.has("allowed")


@shared(
    "A tool runs with the input that the handler changed", [touch("a"), "Done."], shows=("000-45",)
)
async def changed(stage: Stage) -> None:
    stage.on_permission = lambda request: request.allow(input={"command": "touch changed"})
    await stage.ask()
    assert stage.has("changed")
    assert not stage.has("a")


@shared(
    "A denied tool does not run, and the model is told why",
    [touch("denied"), "Then not."],
    shows=("000-48", "000-49", "000-50", "000-69"),
)
async def denied(stage: Stage) -> None:
    stage.on_permission = lambda request: request.deny("Not in this folder")
    reply = await stage.ask()
    assert reply.text == "Then not."
    assert stage.told == ["Not in this folder"]
    assert not stage.has("denied")
    assert [it.tool_name for it in reply.denials] == ["Bash"]


@shared("A denial can end the turn", {"a": [touch("stopped"), "Never."], "b": ["Next."]})
async def denied_and_stopped(stage: Stage) -> None:
    stage.on_permission = lambda request: request.deny("Not here", stop=True)
    assert not (await stage.ask("a")).ok
    assert stage.told == []
    assert (await stage.ask("b")).text == "Next."


@shared("A handler that raises denies, and the model does not learn why", [touch("raised"), "No."])
async def handler_raises(stage: Stage) -> None:
    def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the password is hunter2")

    stage.on_permission = fail
    assert (await stage.ask()).text == "No."
    assert stage.told == ["The application's handler failed, so the answer is no."]
    assert not stage.has("raised")


@shared("Two tools at once are asked about separately", [[touch("yes"), touch("no")], "Done."])
async def two_requests(stage: Stage) -> None:
    def decide(request: PermissionRequest) -> Any:
        return request.allow() if "yes" in request.input["command"] else request.deny("No")

    stage.on_permission = decide
    await stage.ask()
    assert stage.has("yes")
    assert not stage.has("no")


@shared("A slow decision keeps the turn waiting, and counts", [touch("slow"), "Done."])
async def slow_decision(stage: Stage) -> None:
    async def decide(request: PermissionRequest) -> Any:
        await anyio.sleep(0.3)
        return request.allow()

    stage.on_permission = decide
    assert (await stage.ask()).text == "Done."
    assert stage.has("slow")


@shared("What is allowed once is asked about again", [AGAIN, AGAIN, "Done."])
async def asked_again(stage: Stage) -> None:
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Any:
        asked.append(request.id)
        return request.allow(scope="once")

    stage.on_permission = decide
    await stage.ask()
    assert len(asked) == 2


@shared(
    "A rule that is remembered is not asked about again", [AGAIN, AGAIN, "Done."], shows=("000-46",)
)
async def remembered(stage: Stage) -> None:
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Any:
        asked.append(request.id)
        return request.allow(remember="Bash(python3 -c:*)")

    stage.on_permission = decide
    await stage.ask()
    assert len(asked) == 1
    assert stage.told == ["1", "1"]


@shared(
    "A suggestion of the CLI that is accepted is not asked about again",
    [bash("python3 -m this"), bash("python3 -m this"), "Done."],
    deviates=frozenset({"2.1.197"}),
)
async def suggested(stage: Stage) -> None:
    asked: list[int] = []

    def decide(request: PermissionRequest) -> Any:
        asked.append(len(request.suggestions))
        return (
            request.allow(remember=request.suggestions[0])
            if request.suggestions
            else request.allow()
        )

    stage.on_permission = decide
    await stage.ask()
    if len(asked) == 2:
        stage.deviates("it asks again: the rule that it suggested does not cover the same command")
    assert len(asked) == 1


@shared(
    "A changed mode takes effect at once",
    {"a": [APIToolUse("Write", {"file_path": "w.txt", "content": "x"}), "Done."], "b": ["Back."]},
)
async def mode(stage: Stage) -> None:
    asked = stage.note_permissions()
    await stage.session.set_permission_mode("acceptEdits")
    try:
        await stage.ask("a")
    finally:
        await stage.session.set_permission_mode("default")
    assert asked == []
    assert stage.has("w.txt")
    assert (await stage.ask("b")).ok


@alone("Without a handler a tool is denied, and the turn goes on", [touch("nobody"), "Then not."])
async def nobody(stage: Stage) -> None:
    async with stage.open():
        assert (await stage.ask()).text == "Then not."
        assert stage.told == ["No handler is registered for permissions, so the tool was denied."]
        assert not stage.has("nobody")


@alone("Without a decision in time the answer is no", [touch("late"), "Then not."])
async def too_late(stage: Stage) -> None:
    async with stage.open(approver="inbox", decide_within=0.2):
        assert (await stage.ask()).text == "Then not."
        assert stage.told == ["no decision was made within 0.2 seconds"]


@alone(
    "A policy allows, denies and asks; a person in another thread answers; all is recorded",
    [touch("by-rule"), touch("against-rule"), touch("asked"), "Done."],
)
async def policy(stage: Stage) -> None:
    inbox, records = Inbox(), list[DecisionRecord]()

    def answer_one() -> None:
        with inbox.changes() as changes:
            request = changes.get(timeout=30).request
        assert isinstance(request, PermissionRequest)
        request.resolve(request.allow(input={"command": "touch by-person"}))

    rules = Policy(allow=["Bash(touch by-rule)"], deny=["Bash(touch against-rule)"])
    async with stage.open(policy=rules, approver="inbox", inbox=inbox, audit=records.append):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.to_thread.run_sync, answer_one)
            assert (await stage.ask()).text == "Done."
        assert [stage.has(it) for it in ("by-rule", "against-rule", "asked", "by-person")] == [
            True,
            False,
            False,
            True,
        ]
    assert [(it.answer, it.decided_by) for it in records] == [
        ("allow", "rule"),
        ("deny", "rule"),
        ("allow", "approver"),
    ]


def without_handlers(stage: Stage) -> dict[str, Any]:
    """The options of another session: rules alone decide."""
    return {
        "allow": ["Bash(touch ok-1)"],
        "deny": ["Bash(touch bad-1)"],
        "allowed_tools": ["Bash(python3 -c:*)"],
        "disallowed_tools": ["Write"],
    }


@shared(
    "`allow` and `deny` need no handler",
    [touch("ok-1"), touch("bad-1"), "Done."],
    options="without_handlers",
)
async def rules(stage: Stage) -> None:
    assert (await stage.ask()).text == "Done."
    assert stage.has("ok-1")
    assert not stage.has("bad-1")


@shared(
    "What `allowed_tools` covers is not asked about", [AGAIN, "Done."], options="without_handlers"
)
async def allowed_tools(stage: Stage) -> None:
    assert (await stage.ask()).text == "Done."
    assert stage.told == ["1"]


@shared("What `disallowed_tools` covers is not there", ["Done."], options="without_handlers")
async def disallowed_tools(stage: Stage) -> None:
    await stage.ask()
    assert "Write" not in stage.turns[0].tools
    assert "Edit" in stage.turns[0].tools


@alone("With `bypassPermissions` nothing is asked about", [touch("bypassed"), "Done."])
async def bypass(stage: Stage) -> None:
    async with stage.open(permission_mode="bypassPermissions"):
        assert (await stage.ask()).text == "Done."
        assert stage.has("bypassed")


@alone("With `dontAsk` what no rule covers is denied", [touch("unasked"), "Then not."])
async def dont_ask(stage: Stage) -> None:
    async with stage.open(permission_mode="dontAsk"):
        assert (await stage.ask()).text == "Then not."
        assert not stage.has("unasked")


@shared(
    "The mode is changed to `dontAsk` while the session runs",
    [touch("not-asked"), "Then not."],
)
async def dont_ask_later(stage: Stage) -> None:
    try:
        await stage.session.set_permission_mode("dontAsk")
        assert (await stage.ask()).text == "Then not."
        assert not stage.has("not-asked")
    finally:
        await stage.session.set_permission_mode("default")


@shared(
    "A permission that an interrupt withdraws is no longer pending",
    [touch("gone"), "Never."],
    tags=frozenset({"interrupt"}),
)
async def withdrawn_permission(stage: Stage) -> None:
    seen: list[PermissionRequest] = []
    asked = anyio.Event()

    async def wait(request: PermissionRequest) -> None:
        seen.append(request)
        asked.set()
        await anyio.sleep_forever()

    stage.on_permission = wait
    turn = stage.send()
    await asked.wait()
    receipt = await stage.session.interrupt()
    assert receipt.turn is turn
    assert not (await turn).ok
    assert [it.state for it in seen] == [ApprovalState.WITHDRAWN]
    assert not stage.has("gone")


# --- questions -----------------------------------------------------------------------------------


async def _told_about(stage: Stage, answer: Any) -> str:
    """Return the text that the model gets for these answers to the two questions."""
    stage.on_question = answer
    assert (await stage.ask()).text == "So be it."
    return stage.told[-1]


@shared(
    "One and several answers to questions arrive",
    [ASK, "So be it."],
    shows=("000-52", "000-56", "000-57", "000-83"),
)
async def answered(stage: Stage) -> None:
    told = await _told_about(stage, lambda it: it.answer({"Colour": "Green", "Sizes": ["S", "L"]}))
    assert '"Which colour?"="Green", "Which sizes?"="S, L"' in told


@shared("An answer in own words arrives", [ASK, "So be it."])
async def own_words(stage: Stage) -> None:
    told = await _told_about(
        stage, lambda it: it.answer({0: QuestionAnswer(other="Mauve"), 1: "S"})
    )
    assert '"Which colour?"="Mauve", "Which sizes?"="S"' in told


@shared("A note to an answer arrives", [ASK, "So be it."])
async def note(stage: Stage) -> None:
    light = QuestionAnswer("Green", notes="but light")
    told = await _told_about(stage, lambda it: it.answer({0: light, 1: "S"}))
    assert "but light" in told


@shared("A question that is skipped has no answer", [ASK, "So be it."])
async def skipped(stage: Stage) -> None:
    told = await _told_about(stage, lambda it: it.answer({"Colour": "Green", "Sizes": None}))
    assert '"Which colour?"="Green"' in told
    assert "Which sizes?" not in told


@shared("The model is told when all questions were skipped", [ASK, "So be it."])
async def all_skipped(stage: Stage) -> None:
    told = await _told_about(stage, lambda it: it.skip())
    assert told == "The user did not answer the questions."


@shared("A response instead of answers arrives", [ASK, "So be it."])
async def responded(stage: Stage) -> None:
    assert "Neither, thanks." in await _told_about(stage, lambda it: it.respond("Neither, thanks."))


# --- plans ---------------------------------------------------------------------------------------


async def _plan(stage: Stage, key: str = "") -> Any:
    await stage.session.set_permission_mode("plan")
    try:
        return await stage.ask(key)
    finally:
        await stage.session.set_permission_mode("default")


@shared(
    "A plan is approved, and the model goes on in another mode",
    [PLAN, APIToolUse("Write", {"file_path": "planned.txt", "content": "x"}), "Done."],
)
async def plan_approved(stage: Stage) -> None:
    asked = stage.note_permissions()
    stage.on_plan = lambda request: request.approve(mode="acceptEdits")
    assert (await _plan(stage)).text == "Done."
    assert "User has approved" in stage.told[0]
    assert stage.has("planned.txt")
    assert asked == []


@shared("A plan is sent back, and comes again", [PLAN, PLAN, "Done."])
async def plan_revised(stage: Stage) -> None:
    plans: list[str] = []

    def decide(request: Any) -> Any:
        plans.append(request.plan)
        return request.revise("In two steps.") if len(plans) == 1 else request.approve()

    stage.on_plan = decide
    await _plan(stage)
    assert len(plans) == 2
    assert stage.told[0].endswith("Revise it: In two steps.")


@shared("A plan that is rejected ends the turn", [PLAN, "Never."])
async def plan_rejected(stage: Stage) -> None:
    stage.on_plan = lambda request: request.reject()
    assert not (await _plan(stage)).ok
    assert stage.told == []
