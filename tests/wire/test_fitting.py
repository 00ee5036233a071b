"""Keeping as much of an object as fits."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from claudewire.wire import (
    AssistantMessage,
    Block,
    CanUseTool,
    ElicitationResult,
    HookCallback,
    InitMessage,
    PermissionResult,
    Request,
    ResultMessage,
    TextBlock,
    UnknownBlock,
    UnknownHookInput,
    UnknownPermissionResult,
    UnknownRequest,
)
from claudewire.wire.fitting import MOST_REPAIRS, explain, fit


def assistant(*content: Any, **fields: Any) -> dict[str, Any]:
    return {
        "type": "assistant",
        "message": {"role": "assistant", "content": list(content)},
        **fields,
    }


def test_an_object_that_fits_has_no_problems() -> None:
    message, problems = fit(assistant({"type": "text", "text": "hi"}, uuid="u"), AssistantMessage)
    assert message.content == [TextBlock("hi")]
    assert problems == ()


def test_unknown_blocks_become_unknown_and_their_neighbours_stay() -> None:
    hologram = {"type": "hologram", "beam": [1]}
    text = {"type": "text", "text": "hi"}
    message, problems = fit(assistant(hologram, text, hologram, {"type": "x"}), AssistantMessage)
    assert message.content == [
        UnknownBlock(hologram),
        TextBlock("hi"),
        UnknownBlock(hologram),
        UnknownBlock({"type": "x"}),
    ]
    assert problems == ()  # new is not wrong


def test_a_thousand_unknown_blocks_are_dealt_with_at_once() -> None:
    message, _ = fit(assistant(*[{"type": "new"}] * (10 * MOST_REPAIRS)), AssistantMessage)
    assert len(message.content) == 10 * MOST_REPAIRS


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        ({"text": "no type"}, "$.message.content[0]: Object missing required field `type`"),
        ({"type": "text"}, "$.message.content[0]: Object missing required field `text`"),
    ],
)
def test_a_block_that_lacks_what_it_needs_is_kept_as_unknown(block: Any, problem: str) -> None:
    message, problems = fit(assistant(block, {"type": "text", "text": "hi"}), AssistantMessage)
    assert message.content == [UnknownBlock(block), TextBlock("hi")]
    assert problems == (problem,)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": None},
        {"type": "tool_use", "id": "t", "name": "Bash", "input": "ls"},
        {"type": "tool_result", "content": [{"type": "new"}, 5, {"type": "text", "text": 3}]},
    ],
)
def test_what_is_put_aside_is_kept_as_it_came(block: Any) -> None:
    message, problems = fit(assistant(deepcopy(block)), AssistantMessage)
    assert message.content == [UnknownBlock(block)]
    assert problems


def test_what_does_not_fit_at_all_is_left_as_it_was() -> None:
    payload = {"action": 5, "content": {"a": 1}}
    with pytest.raises(msgspec.ValidationError):
        fit(payload, ElicitationResult)
    assert payload == {"action": 5, "content": {"a": 1}}


def test_lists_and_objects_inside_are_left_as_they_were_if_nothing_fits() -> None:
    class Wanted(msgspec.Struct):
        names: list[str]
        inner: dict[str, list[int]]
        needed: int

    obj = {"names": ["a", 5, "b"], "inner": {"x": [1, "y"], "z": 7}, "other": None}
    before = deepcopy(obj)
    with pytest.raises(msgspec.ValidationError, match="Expected `str`, got `int`"):
        fit(obj, Wanted)
    assert obj == before


def test_a_field_of_the_wrong_type_is_left_out_and_noted() -> None:
    message, problems = fit(
        {"type": "result", "subtype": "success", "num_turns": "three", "duration_ms": 5},
        ResultMessage,
    )
    assert (message.num_turns, message.duration_ms) == (None, 5)
    assert problems == ("$.num_turns: Expected `int | null`, got `str`",)


def test_an_item_that_cannot_be_one_is_left_out() -> None:
    message, problems = fit(assistant("loose", {"type": "text", "text": "hi"}), AssistantMessage)
    assert message.content == [TextBlock("hi")]
    assert problems == ("$.message.content[0]: Expected `object`, got `str`",)


@pytest.mark.parametrize("item", [7, {"name": "x"}, {"type": "x", "name": "x"}])
def test_a_thousand_items_that_cannot_be_ones_are_left_out_at_once(item: Any) -> None:
    commands = ["good", *[item] * (10 * MOST_REPAIRS), "good"]
    init, (problem,) = fit({"subtype": "init", "cwd": "/", "slash_commands": commands}, InitMessage)
    assert (init.cwd, init.slash_commands) == ("/", ["good", "good"])
    assert problem.startswith("$.slash_commands[1]: Expected `str`, got ")


def test_a_thousand_objects_that_lack_what_they_need_are_left_out_at_once() -> None:
    servers = [{"name": "a"}, *[{"title": "b"}] * (10 * MOST_REPAIRS)]
    init, _ = fit({"subtype": "init", "mcp_servers": servers}, InitMessage)
    assert [server.name for server in init.mcp_servers] == ["a"]


@pytest.mark.parametrize("name", ["type", "subtype", "kind"])
def test_an_object_that_lacks_what_it_needs_is_left_out_whatever_it_calls_its_kind(
    name: str,
) -> None:
    servers = [{"name": "a"}, {name: "b"}, {name: "c", "name": "d"}]
    init, problems = fit({"subtype": "init", "mcp_servers": servers}, InitMessage)
    assert [server.name for server in init.mcp_servers] == ["a", "d"]
    assert problems == ("$.mcp_servers[1]: Object missing required field `name`",)


def test_a_mapping_with_a_value_that_does_not_fit_is_left_out() -> None:
    obj = {"type": "result", "subtype": "success", "modelUsage": {"opus": {"costUSD": "much"}}}
    message, problems = fit(obj, ResultMessage)
    assert message.model_usage is None
    assert len(problems) == 1


def test_a_mapping_with_a_member_of_an_unknown_kind_is_left_out_and_nothing_else() -> None:
    class Wanted(msgspec.Struct):
        blocks: dict[str, Block] | None = None
        name: str = ""

    made, problems = fit({"blocks": {"a": {"type": "hologram"}}, "name": "x"}, Wanted)
    assert made == Wanted(None, "x")
    assert problems == ("$.blocks[...].type: Invalid value 'hologram'",)


def test_an_object_with_a_tag_where_a_text_belongs_is_left_out() -> None:
    obj = {"type": "result", "subtype": "success", "result": {"type": "text", "text": "hi"}}
    message, problems = fit(obj, ResultMessage)
    assert message.result is None
    assert problems == ("$.result: Expected `str | null`, got `object`",)


def test_an_unknown_request_and_an_unknown_hook_are_kept() -> None:
    frame = {"type": "control_request", "request_id": "1"}
    request, _ = fit({**frame, "request": {"subtype": "dance"}}, Request)
    assert request.body == UnknownRequest({"subtype": "dance"})

    hook = {"hook_event_name": "FullMoon", "phase": 1}
    body = {"subtype": "hook_callback", "callback_id": "h", "input": hook}
    request, _ = fit({**frame, "request": body}, Request)
    assert isinstance(request.body, HookCallback)
    assert request.body.input == UnknownHookInput(hook)


def test_a_known_request_that_lacks_what_it_needs_is_kept_as_unknown() -> None:
    body = {"subtype": "can_use_tool", "input": {}}
    request, problems = fit(
        {"type": "control_request", "request_id": "1", "request": body}, Request
    )
    assert request.body == UnknownRequest(body)
    assert problems == ("$.request: Object missing required field `tool_name`",)
    assert not isinstance(request.body, CanUseTool)


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({"type": "assistant"}, "$"),
        ({"type": "assistant", "message": {"role": "assistant"}}, "$.message"),
        (assistant("x") | {"message": 5}, "$.message"),
        ({"type": "user"}, "$.type"),
        ([], "$"),
    ],
)
def test_when_nothing_is_left_the_first_problem_is_told(obj: Any, path: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        fit(obj, AssistantMessage)
    assert explain(caught.value)[1] == path


def test_the_whole_may_be_of_an_unknown_kind() -> None:
    answer, problems = fit({"behavior": "perhaps"}, PermissionResult)
    assert answer == UnknownPermissionResult({"behavior": "perhaps"})
    assert problems == ()


def test_there_is_an_end_to_mending() -> None:
    blocks = [{"type": f"kind {number}"} for number in range(MOST_REPAIRS)]
    assert fit(blocks[1:], list[Block])[0] == [
        UnknownBlock({"type": it["type"]}) for it in blocks[1:]
    ]
    with pytest.raises(msgspec.ValidationError):
        fit(blocks, list[Block])


@pytest.mark.parametrize("body", [{"subtype": "favour"}, {"subtype": "can_use_tool"}])
def test_an_unknown_object_may_have_several_of_the_fields_that_tell_kinds_apart(
    body: dict[str, str],
) -> None:
    body |= {"type": "question", "kind": "open"}
    frame = {"type": "control_request", "request_id": "1", "request": dict(body)}
    request, problems = fit(frame, Request)
    assert request.body == UnknownRequest(body)
    assert len(problems) == (body["subtype"] == "can_use_tool")


def test_what_marks_the_unknown_is_never_taken_for_a_value() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `str`, got `int`"):
        fit({"type": "result", "subtype": 5}, ResultMessage)


def test_half_a_pair_of_surrogates_may_stand_anywhere() -> None:
    half = "\ud800"
    block = {"type": half, half: [half]}
    obj = assistant(
        block, {"type": "text", "text": "b" + half}, uuid=half + "u", aborted=half + "a"
    )
    obj[half + "name"] = 1
    message, problems = fit(obj, AssistantMessage)
    # Where it cannot be kept, it is written as the escape that it came as.
    escape = "\\ud800"
    assert message.content == [
        UnknownBlock({"type": escape, escape: [escape]}),
        TextBlock("b" + half),
    ]
    assert message.uuid == half + "u"
    assert len(problems) == 1
