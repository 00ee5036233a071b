"""Content blocks."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest
from tests.wire import samples
from tests.wire.roundtrip import assert_same_again, structs_of

from claudewire.wire import (
    UNKNOWN,
    Base64Source,
    Block,
    Content,
    ContentSource,
    FallbackBlock,
    ImageBlock,
    Source,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UnknownBlock,
    UnknownSource,
    text_of,
)
from claudewire.wire.types import blocks

CLASSES = sorted(structs_of(blocks), key=lambda kind: kind.__name__)

TAGS = """
    text thinking redacted_thinking tool_use tool_result image document search_result
    server_tool_use mcp_tool_use mcp_tool_result web_search_tool_result web_fetch_tool_result
    code_execution_tool_result bash_code_execution_tool_result
    text_editor_code_execution_tool_result tool_search_tool_result advisor_tool_result
    container_upload tool_reference compaction fallback
"""


@pytest.mark.parametrize("kind", CLASSES)
def test_a_block_is_written_as_it_was_read(kind: type[msgspec.Struct]) -> None:
    union = Source if kind in get_args(Source) else Block
    for example in (samples.minimal(kind), samples.full(kind)):
        assert_same_again(example)
        assert_same_again(example, into=union)


def test_every_block_has_a_place_in_a_union() -> None:
    assert {*get_args(Block), *get_args(Source)} == set(CLASSES)


def test_the_blocks_bear_the_names_that_the_api_gives_them() -> None:
    tags = {kind.__struct_config__.tag for kind in get_args(Block)}
    assert tags == {*TAGS.split(), UNKNOWN}


@pytest.mark.parametrize(
    ("line", "block"),
    [
        ('{"type":"text","text":"Hi","citations":null}', TextBlock("Hi")),
        ('{"type":"thinking","thinking":"hm"}', ThinkingBlock("hm")),
        (
            '{"type":"thinking","thinking":"","signature":"EqQB"}',
            ThinkingBlock("", signature="EqQB"),
        ),
        (
            '{"type":"tool_use","id":"toolu_1","name":"Read","input":{"file_path":"/path"}}',
            ToolUseBlock("toolu_1", "Read", {"file_path": "/path"}),
        ),
        (
            '{"type":"tool_result","content":"done","is_error":false,"tool_use_id":"toolu_1"}',
            ToolResultBlock("toolu_1", "done", is_error=False),
        ),
        (
            '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"QUJD"}}',
            ImageBlock(Base64Source("image/png", "QUJD")),
        ),
        (
            '{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}',
            FallbackBlock(from_={"model": "a"}, to={"model": "b"}),
        ),
    ],
)
def test_a_block_is_read(line: str, block: Any) -> None:
    assert msgspec.json.decode(line, type=Block) == block


def test_blocks_may_be_nested() -> None:
    line = b"""[{"type":"tool_result","tool_use_id":"t","content":[
        {"type":"tool_reference","tool_name":"Grep"},
        {"type":"document","source":{"type":"content","content":[{"type":"text","text":"in"}]}}]}]"""
    results: list[Any] = msgspec.json.decode(line, type=list[Block])
    assert results[0].content[1].source == ContentSource([TextBlock("in")])


def test_text_is_what_the_text_blocks_say_together() -> None:
    picture = ImageBlock(UnknownSource({"type": "hologram"}))
    content: Content = [TextBlock("a"), picture, UnknownBlock({"type": "x"}), TextBlock("b")]
    assert text_of(content) == "ab"
    assert text_of("as it is") == "as it is"
    assert ToolResultBlock("t", content).text == "ab"
    assert ToolResultBlock("t", "plain").text == "plain"
    assert ToolResultBlock("t").text == ""
