"""Ready-made approvers, and an inbox that is served over a channel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest
from tests.session.approvals.asking import (
    COLOUR,
    MAKE,
    SOON,
    ask,
    decide,
    dialog,
    form,
    permission,
    plan,
)

from claudewire.approvals import (
    ApprovalRequest,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    QuestionRequest,
    Remote,
    allow_everything_dangerously,
    deny_everything,
)
from claudewire.wire import DialogCancelled, ElicitationResult, Request

pytestmark = pytest.mark.anyio


async def all_kinds(approver: Any) -> list[Any]:
    requests = (MAKE, ask(COLOUR), plan({"plan": "# Tidy up"}), form(), dialog())
    return [await decide(it, approver=approver) for it in requests]


async def test_allowing_everything_answers_nothing_for_a_person() -> None:
    tool, question, plan, form, dialog = await all_kinds(allow_everything_dangerously())
    assert tool.updated_input == {"command": "make"}
    assert question.message == "The user did not answer the questions."
    assert isinstance(plan, PermissionResultAllow)
    assert (form, dialog) == (ElicitationResult("decline"), DialogCancelled())


async def test_everything_is_denied_with_a_reason() -> None:
    *tools, form, dialog = await all_kinds(deny_everything("Not today."))
    assert [it.message for it in tools] == ["Not today."] * 3
    assert (form, dialog) == (ElicitationResult("decline"), DialogCancelled())


# --- remote --------------------------------------------------------------------------------------


class Channel:
    """A person far away: sees the messages of a remote, and answers."""

    def __init__(self, inbox: Inbox, **options: Any) -> None:
        self._far, self._received = anyio.create_memory_object_stream[Any](100)
        self._sent, self._near = anyio.create_memory_object_stream[dict[str, Any]](1000)
        self.remote = Remote(inbox, self._sent.send, self._messages(), **options)

    async def _messages(self) -> AsyncIterator[Any]:
        async with self._received:
            async for message in self._received:
                yield message

    async def answer(self, message: Any) -> None:
        await self._far.send(message)

    async def next(self) -> dict[str, Any]:
        with anyio.fail_after(SOON):
            message = await self._near.receive()
        json.dumps(message)
        return message

    async def close(self) -> None:
        self._far.close()
        await anyio.wait_all_tasks_blocked()
        for stream in (self._received, self._sent, self._near):
            stream.close()


def added(request: ApprovalRequest[Any]) -> Inbox:
    inbox = Inbox()
    inbox.add(request)
    return inbox


async def test_remote_person_sees_and_answers_requests() -> None:
    request = permission("make", session="one")
    channel = Channel(added(request), name="phone")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.remote.run)
        shown = await channel.next()
        assert (shown["type"], shown["id"], shown["tool_name"]) == ("request", "one.1", "Bash")
        await channel.answer(json.dumps({"id": "one.1", "action": "deny", "reason": "no"}))
        assert await channel.next() == {
            "type": "ended",
            "id": "one.1",
            "state": "answered",
            "how": "answered by approver: phone",
        }
        await channel.close()
    assert request.result == PermissionResultDeny("no", tool_use_id="toolu_1")
    assert request.by == "approver: phone"


async def test_requests_outlive_the_channel() -> None:
    request = permission()
    inbox = added(request)
    async with anyio.create_task_group() as tasks:
        for _ in range(2):
            channel = Channel(inbox)
            tasks.start_soon(channel.remote.run)
            assert (await channel.next())["id"] == "1"
            await channel.close()
            assert request.is_waiting


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"no json", "An answer must be a JSON object"),
        ("[1]", "An answer must be a JSON object"),
        (b'{"id": "\xff"}', "An answer must be a JSON object"),
        (5, "'int' object is not iterable"),
        ({"action": "allow"}, "needs the `id` of its request"),
        ({"id": 5, "action": "allow"}, "needs the `id` of its request"),
        ({"id": "1"}, "and an `action`"),
        ({"id": "1", "action": "resolve"}, "only allow, deny"),
        ({"id": "1", "action": "allow", "self": 5}, "does not take these arguments"),
        ({"id": "1", "action": "allow", "input": "ls"}, "The input of a tool must be a mapping"),
        ({"id": "1", "action": "allow", "remember": 3}, "There is no suggestion 3"),
        ({"id": "1", "action": "deny", "reason": ["no"]}, "`reason` must be a string"),
        ({"id": "2", "action": "allow"}, "This request is no longer pending"),
    ],
)
async def test_answer_that_does_not_fit_is_refused(message: Any, words: str) -> None:
    request = permission()
    channel = Channel(added(request))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.remote.run)
        await channel.next()
        await channel.answer(message)
        refused = await channel.next()
        assert request.is_waiting
        await channel.close()
    id = message.get("id") if isinstance(message, dict) else None
    assert refused == {"type": "refused", "id": id, "error": refused["error"]}
    assert words in refused["error"]


@pytest.mark.parametrize(
    ("kind", "asked", "answer"),
    [
        (
            PermissionRequest,
            MAKE,
            {"action": "allow", "input": {"command": "ls"}, "remember": ["Bash(ls)"]},
        ),
        (
            QuestionRequest,
            ask(COLOUR),
            {"action": "answer", "answers": {"0": {"other": "Mauve", "notes": "or so"}}},
        ),
        (
            ElicitationRequest,
            form({"properties": {"name": {"type": "string"}}}),
            {"action": "accept", "content": {"name": "Ada"}},
        ),
        (DialogRequest, dialog(), {"action": "complete", "result": {"ok": True}}),
    ],
)
async def test_every_kind_is_answered_in_json(
    kind: type[ApprovalRequest[Any]], asked: Request, answer: dict[str, Any]
) -> None:
    request = kind(asked)
    channel = Channel(added(request))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(channel.remote.run)
        assert answer["action"] in (await channel.next())["actions"]
        await channel.answer({"id": "1", **answer})
        assert (await channel.next())["type"] == "ended"
        await channel.close()
    assert (request.state, request.by) == ("answered", "approver: remote")
