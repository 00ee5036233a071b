"""What a turn came to."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers import messages as saying

from claudewire.errors import Cause, TurnError
from claudewire.session import Reply
from claudewire.tracking import Totals
from claudewire.wire import PermissionDenial


def test_the_text_is_the_result_else_the_last_thing_that_was_said() -> None:
    said = (
        saying.text("first"),
        saying.text("last"),
        saying.text("a subagent", parent_tool_use_id="toolu_1"),
        saying.tool_use(),
    )
    assert Reply[Any](saying.result("the result"), said).text == "the result"
    assert Reply[Any](saying.result(None), said).text == "last"
    assert Reply[Any](saying.result(None)).text == ""


def test_what_was_replaced_was_not_said() -> None:
    wrong = saying.text("wrong")
    right = saying.text("right", supersedes=[wrong.uuid])
    reply: Reply[Any] = Reply(saying.result(None), (wrong, right))
    assert [block.text for block in reply.blocks] == ["right"]  # type: ignore[union-attr]


def test_what_the_cli_did_not_say_is_none_or_empty() -> None:
    reply: Reply[Any] = Reply(saying.result())
    nothing = (reply.usage, reply.session_cost_usd, reply.duration, reply.session_id)
    assert nothing == (None, None, None, None)
    assert reply.model_usage == {}
    assert reply.denials == []
    assert reply.output is None


def test_what_the_cli_said_is_passed_on() -> None:
    denial = PermissionDenial("Bash")
    result = saying.result(
        "x" * 100,
        total_cost_usd=1.5,
        duration_ms=2500,
        permission_denials=[denial],
        session_id="s",
    )
    reply: Reply[Any] = Reply(result)
    assert (reply.session_cost_usd, reply.duration, reply.session_id) == (1.5, 2.5, "s")
    reply.totals = Totals(cost_usd=0.5)
    assert reply.cost_usd == 0.5
    assert reply.denials == [denial]
    assert repr(reply) == f"<Reply success '{'x' * 60}…'>"


def test_a_turn_that_failed_raises_if_asked_to() -> None:
    result = saying.result(None, subtype="error_max_turns", is_error=True, errors=["too many"])
    reply: Reply[Any] = Reply(result)
    assert not reply.ok
    with pytest.raises(TurnError) as caught:
        reply.raise_for_error()
    assert caught.value.result is result
    assert not reply.retryable


def test_a_reply_says_why_the_turn_failed_and_whether_a_retry_makes_sense() -> None:
    busy: Reply[Any] = Reply(saying.result("Oh no", is_error=True, api_error_status=529))
    assert busy.error is not None
    assert busy.error.cause is Cause.OVERLOADED
    assert busy.retryable
    well: Reply[Any] = Reply(saying.result())
    assert well.error is None
    assert not well.retryable


def test_a_turn_that_failed_without_a_word_lost_the_reply_of_the_api() -> None:
    """As 1.0.128 to 2.1.17 end a turn when the API ends its reply before the first block."""
    result = saying.result(None, subtype="error_during_execution", errors=[])
    broken_off: Reply[Any] = Reply(result, (saying.init(), result))
    assert broken_off.error is not None
    assert broken_off.error.cause is Cause.CONNECTION_LOST
    assert broken_off.retryable


@pytest.mark.parametrize(
    ("said", "errors"),
    [
        ([saying.prompt("[Request interrupted by user]")], []),
        ([saying.text()], []),
        ([], ["Something else"]),
    ],
    ids=["interrupted", "spoken", "an error"],
)
def test_a_turn_that_failed_otherwise_has_an_unknown_cause(
    said: list[Any], errors: list[str]
) -> None:
    result = saying.result(None, subtype="error_during_execution", errors=errors)
    failed: Reply[Any] = Reply(result, (saying.init(), *said, result))
    assert failed.error is not None
    assert failed.error.cause is Cause.UNKNOWN
    assert not failed.retryable
