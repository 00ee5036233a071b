"""The reply of a turn."""

from __future__ import annotations

from typing import Any

import pytest
from tests.helpers import messages as saying

from claudewire.errors import Cause, TurnError
from claudewire.session import Reply
from claudewire.tracking import Totals
from claudewire.wire import PermissionDenial


def test_text_is_the_result_or_the_last_message() -> None:
    said = (
        saying.text("first"),
        saying.text("last"),
        saying.text("a subagent", parent_tool_use_id="toolu_1"),
        saying.tool_use(),
    )
    assert Reply[Any](saying.result("the result"), said).text == "the result"
    assert Reply[Any](saying.result(None), said).text == "last"
    assert Reply[Any](saying.result(None)).text == ""


def test_superseded_message_has_no_blocks() -> None:
    wrong = saying.text("wrong")
    right = saying.text("right", supersedes=[wrong.uuid])
    reply: Reply[Any] = Reply(saying.result(None), (wrong, right))
    assert [block.text for block in reply.blocks] == ["right"]  # type: ignore[union-attr]


def test_reply_has_cost_duration_and_denials() -> None:
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


def test_raise_for_error_has_the_result() -> None:
    result = saying.result(None, subtype="error_max_turns", is_error=True, errors=["too many"])
    reply: Reply[Any] = Reply(result)
    assert not reply.ok
    with pytest.raises(TurnError) as caught:
        reply.raise_for_error()
    assert caught.value.result is result
    assert not reply.retryable


def test_error_of_a_reply_has_its_cause_and_retryable() -> None:
    busy: Reply[Any] = Reply(saying.result("Oh no", is_error=True, api_error_status=529))
    assert busy.error is not None
    assert busy.error.cause is Cause.OVERLOADED
    assert busy.retryable
    well: Reply[Any] = Reply(saying.result())
    assert well.error is None
    assert not well.retryable


def test_silent_failure_is_a_lost_connection() -> None:
    """2.1.17 ends a turn this way if the API closes the connection before the first block."""
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
def test_other_failures_have_an_unknown_cause(said: list[Any], errors: list[str]) -> None:
    result = saying.result(None, subtype="error_during_execution", errors=errors)
    failed: Reply[Any] = Reply(result, (saying.init(), *said, result))
    assert failed.error is not None
    assert failed.error.cause is Cause.UNKNOWN
    assert not failed.retryable
