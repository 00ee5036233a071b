"""The audit record of each decision."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import anyio
import pytest
from tests.session.approvals.asking import COLOUR, MAKE, Rules, ask, decide, dialog, form, plan, use

from claudewire.approvals import (
    Inbox,
    PermissionRequest,
    PermissionResultAllow,
)
from claudewire.policy import DecisionRecord, digest
from claudewire.wire import Request

pytestmark = pytest.mark.anyio

KEY = "sk-ant-api03-abcdefghijklmnop"


async def allow(request: PermissionRequest) -> Any:
    return request.allow()


async def recorded(request: Request = MAKE, **options: Any) -> DecisionRecord:
    records: list[DecisionRecord] = []
    await decide(request, audit=records.append, **options)
    (record,) = records
    return record


async def test_record_of_a_policy_names_the_rule() -> None:
    before = datetime.now(UTC)
    record = await recorded(policy=Rules("deny", "Bash(make:*)", "No making"))
    assert before <= record.when <= datetime.now(UTC)
    assert record.latency is not None
    assert record == DecisionRecord(
        when=record.when,
        request_id="one.1",
        tool="Bash",
        input_digest=digest({"command": "make"}),
        answer="deny",
        decided_by="rule",
        reason="No making",
        rule="Bash(make:*)",
        latency=record.latency,
        session_id="one",
    )
    record = await recorded(policy=Rules("allow", None, "by default"))
    assert (record.answer, record.decided_by, record.reason) == ("allow", "default", "by default")


async def hang(request: PermissionRequest) -> Any:
    await anyio.sleep_forever()


def fail(request: PermissionRequest) -> Any:
    raise RuntimeError("it broke")


@pytest.mark.parametrize(
    ("options", "answer", "by", "reason"),
    [
        ({"on_permission": allow}, "allow", "handler: allow", "answered by handler: allow"),
        (
            {"on_permission": fail},
            *("deny", "handler: fail, which failed"),
            "The application's handler failed, so the answer is no.",
        ),
        (
            {},
            *("deny", "no handler"),
            "No handler is registered for permissions, so the tool was denied.",
        ),
        (
            {"on_permission": hang, "deadline": 0.01},
            *("deny", "deadline"),
            "no decision was made within 0.01 seconds",
        ),
        (
            {"policy": Rules("ask", "Bash", "It may do harm"), "on_permission": allow},
            *("allow", "handler: allow", "It may do harm"),
        ),
    ],
)
async def test_record_says_who_decided(
    options: dict[str, Any], answer: str, by: str, reason: str
) -> None:
    record = await recorded(use("Bash", {"command": "make"}, agent_id="sub-1"), **options)
    assert (record.answer, record.decided_by, record.reason) == (answer, by, reason)
    assert record.agent_id == "sub-1"


async def deny_next(inbox: Inbox, by: str) -> None:
    with inbox.changes() as changes:
        inbox.act((await anext(changes)).request.id, "deny", by=by)


async def test_record_names_who_answered_through_the_inbox() -> None:
    for by, name in (("person: Ada", "person: Ada"), ("", "approver")):
        inbox = Inbox()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(deny_next, inbox, by)
            record = await recorded(approver="inbox", inbox=inbox)
        assert record.decided_by == name


@pytest.mark.parametrize(
    ("request_", "handler", "kind", "answer"),
    [
        (ask(COLOUR), lambda it: it.answer("Red"), "question", "answered"),
        (ask(COLOUR), lambda it: PermissionResultAllow({"answers": {}}), "question", "skipped"),
        (
            ask(COLOUR),
            lambda it: PermissionResultAllow({"answers": {}, "response": "Neither"}),
            *("question", "answered"),
        ),
        (plan({"plan": "x"}), lambda it: it.approve(), "plan", "approve"),
        (plan({"plan": "x"}), lambda it: it.reject("no"), "plan", "deny"),
        (form(), lambda it: it.cancel(), "elicitation", "cancel"),
        (dialog(), lambda it: it.dismiss(), "dialog", "cancelled"),
    ],
)
async def test_each_kind_of_answer_has_its_word(
    request_: Request, handler: Any, kind: str, answer: str
) -> None:
    record = await recorded(request_, approver=handler)
    assert (record.kind, record.answer) == (kind, answer)


async def test_records_keep_contents_only_on_request() -> None:
    plain = await recorded(on_permission=allow)
    assert (plain.asked, plain.answered) == (None, None)
    assert "make" not in plain.to_json()

    whole = await recorded(on_permission=allow, audit_contents=True)
    assert (whole.asked, whole.answered) == ({"command": "make"}, {"behavior": "allow"})

    schema = {"properties": {"name": {"type": "string"}}}
    elicited = await recorded(form(schema), audit_contents=True)
    assert elicited.tool == "elicitation: crm"
    assert elicited.input_digest == digest({"message": "Who is it?"})
    assert elicited.asked is not None
    assert (elicited.asked["message"], elicited.asked["url"]) == ("Who is it?", None)
    assert [it["name"] for it in elicited.asked["fields"]] == ["name"]
    assert elicited.answered == {"action": "decline"}

    shown = await recorded(dialog("trust", {"folder": "/a"}), audit_contents=True)
    assert (shown.tool, shown.asked) == ("Dialog: trust", {"folder": "/a"})


async def test_records_hold_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada.l")

    def change(request: PermissionRequest) -> Any:
        return request.allow(input={"command": f"curl {KEY}"}, remember=f"Bash(curl {KEY})")

    asked = use("Bash", {"command": f"curl -H {KEY}", "password": "hunter2", "path": "/home/ada.l"})
    record = await recorded(asked, on_permission=change, audit_contents=True)
    # Paths stay: the tool was asked to work on them.
    assert record.asked == {
        "command": "curl -H <key-1>",
        "password": "<key-2>",
        "path": "/home/ada.l",
    }
    assert record.answered is not None
    assert record.answered["updatedInput"] == {"command": "curl <key-1>"}
    assert KEY not in record.to_json()
    policy = Rules("deny", "Bash", f"No {KEY} in /home/ada.l")
    assert (await recorded(policy=policy)).reason == "No <key-1> in ~"


async def test_failing_audit_changes_no_answer(caplog: pytest.LogCaptureFixture) -> None:
    def fail(record: DecisionRecord) -> None:
        raise OSError("the disk is full")

    assert isinstance(await decide(on_permission=allow, audit=fail), PermissionResultAllow)
    assert "The decision about one.1 could not be recorded" in caplog.text
