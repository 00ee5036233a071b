"""Lines of transcripts: typed, kept whole, and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.transcripts import (
    AssistantEntry,
    BadLine,
    Entry,
    OtherEntry,
    SystemEntry,
    UserEntry,
    read_entry,
)
from claudewire.wire import TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock


def read(**fields: Any) -> Entry:
    return read_entry(json.dumps(fields).encode())


def user(content: Any, **fields: Any) -> UserEntry:
    entry = read(type="user", message={"role": "user", "content": content}, **fields)
    assert isinstance(entry, UserEntry)
    return entry


def test_entry_is_typed_and_keeps_unknown_fields() -> None:
    entry = user("Hello", uuid="u1", parentUuid="u0", gitBranch="main", newField={"a": 1})
    assert (entry.uuid, entry.parent_uuid, entry.git_branch) == ("u1", "u0", "main")
    assert entry.text == "Hello"
    assert entry.raw["newField"] == {"a": 1}
    assert json.loads(entry.line)["newField"] == {"a": 1}


def test_messages_have_the_blocks_of_live_turns() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    message = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}
    entry = read(type="assistant", message=message)
    assert isinstance(entry, AssistantEntry)
    assert entry.blocks == [TextBlock("I look."), ToolUseBlock("t1", "Bash", {"command": "ls"})]
    result = user([{"type": "tool_result", "tool_use_id": "t1", "content": "a\nb"}])
    assert result.blocks == [ToolResultBlock("t1", "a\nb")]
    assert user("Hi").blocks == [TextBlock("Hi")]
    (block,) = user([{"type": "hologram", "size": 3}]).blocks
    assert isinstance(block, UnknownBlock)


def test_unknown_type_keeps_its_place_in_the_conversation() -> None:
    entry = read(type="hologram", uuid="u1", parentUuid="u0", isSidechain=True, shape=[1])
    assert isinstance(entry, OtherEntry)
    assert (entry.kind, entry.uuid, entry.parent_uuid) == ("hologram", "u1", "u0")
    assert entry.is_sidechain
    assert entry.data["shape"] == [1]


def test_field_of_the_wrong_type_is_left_out_and_named() -> None:
    entry = user("Hello", cwd=5, uuid="u1")
    assert (entry.cwd, entry.uuid) == (None, "u1")
    assert entry.raw["cwd"] == 5
    assert entry.problems == ("$.cwd: Expected `str | null`, got `int`",)
    broken = read(type="user", message=5, uuid="u1")
    assert isinstance(broken, OtherEntry)
    assert (broken.kind, broken.uuid) == ("user", "u1")
    assert broken.problems


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type":"user","mess', "not JSON"),
        (b"[1, 2]", "not a JSON object but list"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_unreadable_line_tells_the_reason(line: bytes, reason: str) -> None:
    entry = read_entry(line)
    assert isinstance(entry, BadLine)
    assert reason in entry.reason
    assert (entry.line, entry.length) == (line, len(line))


@given(st.binary(max_size=300))
def test_no_bytes_raise_or_get_lost(line: bytes) -> None:
    assert read_entry(line).line == line


@pytest.mark.parametrize(
    ("text", "fields", "is_prompt"),
    [
        ("Do it", {}, True),
        ("<b>bold</b> question", {}, True),
        ("Do it", {"isMeta": True}, False),
        ("This session is continued", {"isCompactSummary": True}, False),
        ("<command-name>/compact</command-name>", {}, False),
        ("[Request interrupted by user]", {}, False),
        ("<task-notification>", {}, False),
    ],
)
def test_prompt_is_told_from_texts_of_the_cli(
    text: str, fields: dict[str, Any], is_prompt: bool
) -> None:
    assert user(text, **fields).is_prompt is is_prompt
    assert user([{"type": "text", "text": text}], **fields).is_prompt is is_prompt


def test_notes_of_the_cli_have_their_kind() -> None:
    boundary = read(type="system", subtype="compact_boundary")
    assert isinstance(boundary, SystemEntry)
    assert boundary.is_compaction
