"""Ready-made deciders, and an inbox that is served over a channel."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.abc
import pytest
from tests.people.asking import COLOUR, SOON, ask, dialog, form, permission, plan, use
from tests.people.test_decisions import Broken, Rules, never

from claudewire.errors import OptionsError
from claudewire.people import (
    Decider,
    DialogRequest,
    ElicitationRequest,
    Inbox,
    People,
    PermissionRequest,
    PermissionResultAllow,
    PermissionResultDeny,
    QuestionRequest,
    Remote,
    allow_everything_dangerously,
    deny_everything,
    policy_then,
)
from claudewire.people.pending import Pending
from claudewire.wire import DialogCancelled, ElicitationResult, Request

pytestmark = pytest.mark.anyio


async def all_kinds(person: Any) -> list[Any]:
    decider = Decider(People(person=person))
    with anyio.fail_after(SOON):
        return [
            await decider.decide(use("Bash", {"command": "make"})),
            await decider.decide(ask(COLOUR)),
            await decider.decide(plan({"plan": "# Tidy up"})),
            await decider.elicit(form()),
            await decider.dialog(dialog()),
        ]


async def test_everything_is_allowed_but_what_only_a_person_can_know() -> None:
    tool, question, plan, form, dialog = await all_kinds(allow_everything_dangerously())
    assert tool.updated_input == {"command": "make"}
    assert question.message == "The user did not answer the questions."
    assert isinstance(plan, PermissionResultAllow)
    assert form == ElicitationResult("decline")
    assert dialog == DialogCancelled()


async def test_everything_is_denied_with_a_reason() -> None:
    tool, question, plan, form, dialog = await all_kinds(deny_everything("Not today."))
    assert [it.message for it in (tool, question, plan)] == ["Not today."] * 3
    assert form == ElicitationResult("decline")
    assert dialog == DialogCancelled()


async def test_a_policy_decides_and_then_a_person() -> None:
    async def decided(behavior: str, person: Any) -> Any:
        decider = Decider(
            People(person=policy_then(Rules(behavior, reason="A rule"), person)), cwd="/w"
        )
        with anyio.fail_after(SOON):
            return await decider.decide(use("Bash", {"command": "make"}))

    assert isinstance(await decided("allow", never), PermissionResultAllow)
    assert (await decided("deny", never)).message == "A rule"
    assert (await decided("ask", lambda request: request.deny("I"))).message == "I"
    assert (await decided("ask", deny_everything("You"))).message == "You"


async def test_a_policy_has_no_say_in_what_only_a_person_can_know() -> None:
    tool, question, *_ = await all_kinds(policy_then(Rules("allow"), deny_everything("no")))
    assert isinstance(tool, PermissionResultAllow)
    assert question.message == "no"
    asked = use("Survey", {}, requires_user_interaction=True)
    decider = Decider(People(person=policy_then(Rules("allow"), deny_everything("no"))))
    with anyio.fail_after(SOON):
        assert isinstance(await decider.decide(asked), PermissionResultDeny)


async def test_a_rule_may_deny_a_question_but_not_the_want_of_one() -> None:
    for rule, told in (("AskUserQuestion", "A rule"), (None, "You")):
        policy = Rules("deny", rule, "A rule")
        _, question, *_ = await all_kinds(policy_then(policy, deny_everything("You")))
        assert question.message == told


async def test_a_policy_that_fails_in_front_of_a_person_denies() -> None:
    tool, *_ = await all_kinds(policy_then(Broken(), never))
    assert isinstance(tool, PermissionResultDeny)
    with pytest.raises(OptionsError):
        policy_then(Rules("ask"), lambda: None)  # type: ignore[arg-type, misc]


# --- remote --------------------------------------------------------------------------------------


class Channel:
    """Somebody far away: what was sent there, and a way to answer."""

    def __init__(self, inbox: Inbox, **options: Any) -> None:
        self._far, self._received = anyio.create_memory_object_stream[Any](100)
        self._sent, self._near = anyio.create_memory_object_stream[dict[str, Any]](1000)
        self.remote = Remote(inbox, self._sent.send, self._messages(), **options)

    async def _messages(self) -> AsyncIterator[Any]:
        async for message in self._received:
            yield message

    async def answer(self, message: Any) -> None:
        await self._far.send(message)

    async def next(self) -> dict[str, Any]:
        message = await self._near.receive()
        json.dumps(message)
        return message

    def hang_up(self) -> None:
        self._far.close()

    def close(self) -> None:
        for stream in (self._far, self._received, self._sent, self._near):
            stream.close()


async def test_somebody_far_away_is_shown_what_waits_and_answers() -> None:
    inbox, request = Inbox(), permission("make", session="one")
    channel = Channel(inbox, name="phone")
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.remote.run)
            tasks.start_soon(inbox.ask, request)
            shown = await channel.next()
            assert shown["type"] == "request"
            assert (shown["id"], shown["tool_name"]) == ("one.1", "Bash")
            await channel.answer(json.dumps({"id": "one.1", "action": "deny", "reason": "no"}))
            assert await channel.next() == {
                "type": "ended",
                "id": "one.1",
                "state": "answered",
                "how": "answered by person: phone",
            }
            channel.hang_up()
    channel.close()
    assert request.result == PermissionResultDeny("no", tool_use_id="toolu_1")
    assert request.by == "person: phone"


async def test_what_waits_outlives_the_channel() -> None:
    inbox, request = Inbox(), permission()
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(inbox.ask, request)
            for _ in range(2):
                channel = Channel(inbox)
                tasks.start_soon(channel.remote.run)
                assert (await channel.next())["id"] == "1"
                channel.hang_up()
                await anyio.wait_all_tasks_blocked()
                assert request.is_waiting
                channel.close()
            request.allow()


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"no json", "An answer must be a JSON object"),
        ("[1]", "An answer must be a JSON object"),
        (b'{"id": "\xff"}', "An answer must be a JSON object: 'utf-8' codec can't decode"),
        ('{"id": "\ud800"}', "An answer must be a JSON object: 'utf-8' codec can't encode"),
        (b'{"id":' + b"[" * 100_000, "An answer must be a JSON object: maximum recursion"),
        (5, "'int' object is not iterable"),
        ({"action": "allow"}, "which `id` it is for"),
        ({"id": 5, "action": "allow"}, "which `id` it is for"),
        ({"id": "1"}, "has to name its `action`"),
        ({"id": "1", "action": "expire"}, "it takes allow, deny"),
        ({"id": "1", "action": "__init__"}, "it takes allow, deny"),
        ({"id": "1", "action": "allow", "self": 5}, "does not take these arguments"),
        ({"id": "1", "action": "allow", "input": "ls"}, "The input of a tool must be a mapping"),
        ({"id": "1", "action": "allow", "remember": {}}, "cannot be remembered"),
        ({"id": "1", "action": "allow", "remember": 3}, "There is no suggestion 3"),
        ({"id": "1", "action": "deny", "reason": ["no"]}, "The reason must be a string"),
        ({"id": "2", "action": "allow"}, "This request no longer waits for an answer"),
    ],
)
async def test_an_answer_that_does_not_fit_is_refused_and_the_request_waits(
    message: Any, words: str
) -> None:
    inbox, request = Inbox(), permission()
    channel = Channel(inbox)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.remote.run)
            tasks.start_soon(inbox.ask, request)
            await channel.next()
            await channel.answer(message)
            refused = await channel.next()
            assert request.is_waiting
            await channel.answer({"id": "1", "action": "allow"})
            await channel.next()
            channel.hang_up()
    channel.close()
    told = message if isinstance(message, dict) else {}
    assert refused == {"type": "refused", "id": told.get("id"), "error": refused["error"]}
    assert words in refused["error"]
    assert isinstance(request.result, PermissionResultAllow)


REQUESTS: list[tuple[Pending[Any], dict[str, Any]]] = [
    (
        PermissionRequest(use("Bash", {"command": "make"})),
        {"action": "allow", "input": {"command": "ls"}, "remember": ["Bash(ls)"], "scope": "user"},
    ),
    (
        QuestionRequest(ask(COLOUR)),
        {"action": "answer", "answers": {"0": {"other": "Mauve", "notes": "or so"}}},
    ),
    (QuestionRequest(ask(COLOUR)), {"action": "respond", "text": "Neither."}),
    (
        ElicitationRequest(form({"properties": {"name": {"type": "string"}}})),
        {"action": "accept", "content": {"name": "Ada"}},
    ),
    (DialogRequest(dialog()), {"action": "complete", "result": {"ok": True}}),
    (DialogRequest(dialog()), {"action": "dismiss"}),
]


@pytest.mark.parametrize(("request_", "answer"), REQUESTS)
async def test_every_kind_can_be_answered_in_json(
    request_: Pending[Any], answer: dict[str, Any]
) -> None:
    waiting = type(request_)(Request(id="1", body=request_.body))  # type: ignore[attr-defined, arg-type]
    inbox = Inbox()
    channel = Channel(inbox)
    with anyio.fail_after(SOON):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(channel.remote.run)
            tasks.start_soon(inbox.ask, waiting)
            shown = await channel.next()
            assert answer["action"] in shown["actions"]
            await channel.answer({"id": "1", **answer})
            assert (await channel.next())["type"] == "ended"
            channel.hang_up()
    channel.close()
    assert (waiting.state, waiting.by) == ("answered", "person: remote")
