from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.store import AssistantEntry, BadLine, Entry, UnknownEntry, UserEntry, read_entry
from claudewire.store.entries import AttachmentEntry, SystemEntry
from claudewire.wire import TextBlock, ToolResultBlock, ToolUseBlock, UnknownBlock


def read(**fields: Any) -> Entry:
    return read_entry(json.dumps(fields).encode())


def user(content: Any, **fields: Any) -> UserEntry:
    entry = read(type="user", message={"role": "user", "content": content}, **fields)
    assert isinstance(entry, UserEntry)
    return entry


def test_an_entry_is_typed_and_keeps_its_raw_form_with_everything_unknown() -> None:
    entry = user("Hello", uuid="u1", parentUuid="u0", gitBranch="main", newField={"a": 1})
    assert (entry.uuid, entry.parent_uuid, entry.git_branch) == ("u1", "u0", "main")
    assert entry.text == "Hello"
    assert entry.raw["newField"] == {"a": 1}
    assert entry.extra == {"newField": {"a": 1}}
    assert json.loads(entry.line)["newField"] == {"a": 1}


def test_messages_consist_of_the_blocks_of_live_turns() -> None:
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}
    entry = read(type="assistant", message=said)
    assert isinstance(entry, AssistantEntry)
    assert entry.blocks == [TextBlock("I look."), ToolUseBlock("t1", "Bash", {"command": "ls"})]
    assert entry.text == "I look."
    result = user([{"type": "tool_result", "tool_use_id": "t1", "content": "a\nb"}])
    assert result.blocks == [ToolResultBlock("t1", "a\nb")]
    assert user("Hi").blocks == [TextBlock("Hi")]


def test_what_the_model_said_may_be_a_string() -> None:
    entry = read(type="assistant", message={"role": "assistant", "content": "Hi"})
    assert isinstance(entry, AssistantEntry)
    assert entry.blocks == [TextBlock("Hi")]


def test_an_unknown_type_arrives_as_such_with_its_place_in_the_conversation() -> None:
    entry = read(type="hologram", uuid="u1", parentUuid="u0", isSidechain=True, shape=[1])
    assert isinstance(entry, UnknownEntry)
    assert (entry.kind, entry.uuid, entry.parent_uuid) == ("hologram", "u1", "u0")
    assert entry.is_sidechain
    assert entry.data["shape"] == [1]
    assert isinstance(read(kind="none"), UnknownEntry)


def test_an_unknown_block_is_kept() -> None:
    entry = user([{"type": "hologram", "size": 3}])
    (block,) = entry.blocks
    assert isinstance(block, UnknownBlock)
    assert block.raw == {"type": "hologram", "size": 3}


def test_a_field_of_the_wrong_type_is_left_out_and_named() -> None:
    entry = user("Hello", cwd=5, uuid="u1")
    assert (entry.cwd, entry.uuid) == (None, "u1")
    assert entry.raw["cwd"] == 5
    assert entry.problems == ("$.cwd: Expected `str | null`, got `int`",)


def test_a_message_without_its_parts_is_kept_as_unknown_with_the_problem() -> None:
    entry = read(type="user", message=5, uuid="u1")
    assert isinstance(entry, UnknownEntry)
    assert (entry.kind, entry.uuid) == ("user", "u1")
    assert entry.problems


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"type":"user","mess', "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"[1, 2]", "not a JSON object but list"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_line_that_cannot_be_read_is_an_entry_that_says_why(line: bytes, reason: str) -> None:
    entry = read_entry(line)
    assert isinstance(entry, BadLine)
    assert reason in entry.reason
    assert (entry.line, entry.length) == (line, len(line))
    assert entry.head == line[:200].decode("utf-8", "replace")


@given(st.binary(max_size=300))
def test_no_bytes_raise_or_get_lost(line: bytes) -> None:
    assert read_entry(line).line == line


@given(
    st.dictionaries(
        st.sampled_from(["type", "uuid", "message", "subtype", "timestamp", "attachment", "x"]),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.text(max_size=8)
            | st.sampled_from(["user", "assistant", "system", "attachment", "summary"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(st.sampled_from(["role", "content", "type", "text"]), inner)
            ),
            max_leaves=8,
        ),
    )
)
def test_no_object_raises_and_raw_has_all_of_it(fields: dict[str, Any]) -> None:
    assert read(**fields).raw == fields


@pytest.mark.parametrize(
    ("text", "fields", "is_prompt"),
    [
        ("Do it", {}, True),
        ("Do it", {"isMeta": True}, False),
        ("This session is continued", {"isCompactSummary": True}, False),
        ("<command-name>/compact</command-name>", {}, False),
        ("<local-command-stdout>Done</local-command-stdout>", {}, False),
        ("[Request interrupted by user]", {}, False),
        ("<task-notification>", {}, False),
        ("<b>bold</b> question", {}, True),
    ],
)
def test_a_prompt_is_what_was_said_to_the_model(
    text: str, fields: dict[str, Any], is_prompt: bool
) -> None:
    assert user(text, **fields).is_prompt is is_prompt
    assert user([{"type": "text", "text": text}], **fields).is_prompt is is_prompt


def test_a_result_of_a_tool_is_no_prompt() -> None:
    entry = user([{"type": "tool_result", "tool_use_id": "t1", "content": "x"}])
    assert (entry.is_tool_result, entry.is_prompt) == (True, False)


def test_other_entries_say_what_they_are() -> None:
    boundary = read(type="system", subtype="compact_boundary", compactMetadata={"preTokens": 9})
    assert isinstance(boundary, SystemEntry)
    assert boundary.is_compaction
    assert boundary.compact_metadata is not None
    assert boundary.compact_metadata.pre_tokens == 9
    date = read(type="attachment", attachment={"type": "date"})
    assert isinstance(date, AttachmentEntry)
    assert date.kind == "date"
    odd = read(type="attachment", attachment=[1])
    assert isinstance(odd, AttachmentEntry)
    assert odd.kind is None
