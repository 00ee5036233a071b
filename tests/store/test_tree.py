from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.store import BlockingSessions, StoreError
from claudewire.store.files import Line
from claudewire.store.tree import Node, Tree, read_nodes

from .made import MAIN, Writer


def node(uuid: str, parent: str | None, offset: int, kind: str = "assistant", **more: Any) -> Node:
    return Node(uuid, parent, offset, kind, **more)


def prompt(uuid: str, parent: str | None, offset: int, **more: Any) -> Node:
    return node(uuid, parent, offset, "user", is_prompt=True, **more)


def names(tree: Tree) -> list[list[str]]:
    return [[node.uuid for node in branch.nodes] for branch in tree.branches]


def test_a_chain_is_one_branch() -> None:
    tree = Tree([prompt("a", None, 0), node("b", "a", 1), prompt("c", "b", 2)])
    assert names(tree) == [["a", "b", "c"]]
    assert len(tree) == 3


def test_two_prompts_after_the_same_line_are_two_branches_and_the_last_is_current() -> None:
    tree = Tree(
        [
            prompt("a", None, 0),
            node("b", "a", 1),
            prompt("c", "b", 2),
            node("d", "c", 3),
            prompt("e", "b", 4),
            node("f", "e", 5),
        ]
    )
    assert names(tree) == [["a", "b", "e", "f"], ["a", "b", "c", "d"]]
    assert [it.uuid for it in tree.branch("d").nodes] == ["a", "b", "c", "d"]


def test_results_of_tools_that_ran_at_the_same_time_are_not_branches() -> None:
    tree = Tree(
        [
            prompt("a", None, 0),
            node("call1", "a", 1, calls_tool=True),
            node("call2", "call1", 2, calls_tool=True),
            node("result1", "call1", 3, "user"),
            node("result2", "call2", 4, "user"),
            node("b", "result2", 5),
        ]
    )
    assert names(tree) == [["a", "call1", "call2", "result1", "result2", "b"]]


def test_progress_between_a_call_and_the_next_prompt_hides_nothing() -> None:
    tree = Tree(
        [
            prompt("a", None, 0),
            node("call", "a", 1, calls_tool=True),
            node("result", "call", 2, "user"),
            node("answer", "result", 3),
            node("progress", "call", 4, "progress"),
            prompt("b", "progress", 5),
        ]
    )
    assert names(tree) == [["a", "call", "result", "answer", "progress", "b"]]


def test_what_was_taken_back_is_a_branch_of_its_own_also_without_a_prompt() -> None:
    tree = Tree([prompt("a", None, 0), node("b", "a", 1), node("c", "b", 2), prompt("d", "b", 3)])
    assert names(tree) == [["a", "b", "d"], ["a", "b", "c"]]


def test_a_parent_that_is_missing_is_named_and_the_line_before_takes_its_place() -> None:
    tree = Tree([prompt("a", None, 0), node("b", "a", 1), prompt("c", "gone", 2)])
    assert tree.missing == ["gone"]
    assert names(tree) == [["a", "b", "c"]]


def test_a_parent_may_come_later() -> None:
    tree = Tree([node("b", "a", 0), prompt("a", None, 1), node("c", "b", 2)])
    assert names(tree) == [["a", "b", "c"]]


def test_a_circle_ends() -> None:
    tree = Tree([node("a", "b", 0), node("b", "a", 1)])
    assert sorted(names(tree)[0]) == ["a", "b"]


def test_after_a_compaction_the_logical_parent_counts_if_it_came_before() -> None:
    before = [prompt("a", None, 0), node("b", "a", 1)]
    tree = Tree([*before, node("cut", "b", 2, "system", is_logical=True), prompt("c", "cut", 3)])
    assert names(tree) == [["a", "b", "cut", "c"]]
    forked = Tree(
        [
            node("cut", "kept", 0, "system", is_logical=True),
            node("summary", "cut", 1, "user"),
            node("kept", "summary", 2),
        ]
    )
    assert names(forked) == [["cut", "summary", "kept"]]
    assert forked.missing == []


def test_subagents_in_the_same_file_are_apart() -> None:
    side: dict[str, Any] = {"is_sidechain": True}
    tree = Tree(
        [
            prompt("a", None, 0),
            prompt("s1", None, 1, **side),
            node("s2", "s1", 2, **side),
            node("b", "a", 3),
            prompt("t1", "gone", 4, **side),
        ]
    )
    assert names(tree) == [["a", "b"]]
    assert [[it.uuid for it in branch.nodes] for branch in tree.sidechains] == [
        ["s1", "s2"],
        ["t1"],
    ]


def test_of_several_lines_with_one_uuid_the_first_counts() -> None:
    tree = Tree([prompt("a", None, 0), node("b", "a", 1), node("b", "elsewhere", 2)])
    assert [it.offset for it in tree.branches[0].nodes] == [0, 1]


NODES = st.lists(
    st.tuples(
        st.integers(0, 9),
        st.none() | st.integers(0, 11),
        st.sampled_from(["user", "assistant", "progress", "system"]),
        *[st.booleans()] * 4,
    ),
    max_size=14,
)


@given(NODES)
def test_every_line_is_in_some_branch_or_sidechain_whatever_the_parents_are(
    made: list[tuple[int, int | None, str, bool, bool, bool, bool]],
) -> None:
    nodes = [
        Node(
            f"u{uuid}",
            None if parent is None else f"u{parent}",
            offset,
            kind,
            is_prompt=is_prompt and kind == "user",
            is_sidechain=is_side,
            calls_tool=calls,
            is_logical=is_logical,
        )
        for offset, (uuid, parent, kind, is_prompt, is_side, calls, is_logical) in enumerate(made)
    ]
    tree = Tree(nodes)
    first = {it.uuid: it for it in reversed(nodes)}
    found = {it for branch in [*tree.branches, *tree.sidechains] for it in branch.nodes}
    assert found == set(first.values())
    for branch in tree.branches:
        given_out = [it.uuid for it in branch.nodes]
        assert len(given_out) == len(set(given_out))
        assert branch.leaf in given_out


def test_nodes_are_read_from_lines_of_any_form() -> None:
    lines: list[bytes] = [
        json.dumps(it).encode()
        for it in (
            {"type": "user", "uuid": "a", "message": {"role": "user", "content": "Hi"}},
            {
                "type": "user",
                "uuid": "b",
                "message": {"role": "user", "content": [{"type": "text", "text": "Yo"}]},
            },
            {"type": "user", "uuid": "c", "message": {"content": [{"type": "tool_result"}]}},
            {"type": "assistant", "uuid": "d", "message": {"content": [{"type": "tool_use"}]}},
            {"type": "user", "uuid": "e", "parentUuid": 5, "isSidechain": True},
            {"type": "mode"},
            {"type": 5, "uuid": "f"},
        )
    ]
    found = list(read_nodes(Line(offset, line) for offset, line in enumerate([*lines, b"{"])))
    assert [(it.uuid, it.is_prompt, it.calls_tool) for it in found] == [
        ("a", True, False),
        ("b", True, False),
        ("c", False, False),
        ("d", False, True),
        ("e", False, False),
    ]
    assert found[-1].is_sidechain


def test_a_line_that_comes_before_its_parent_is_read_after_it(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    writer.model("Second", uuid="b", parentUuid="a")
    writer.user("First", uuid="a", parentUuid=None)
    writer.model("Third", uuid="c", parentUuid="b")
    transcript = BlockingSessions(tmp_path, index=tmp_path / "i.db").open(MAIN)
    assert [it.uuid for it in transcript.conversation()] == ["a", "b", "c"]
    assert len(list(transcript.blocks())) == 3
    with pytest.raises(StoreError, match="has no line z"):
        list(transcript.conversation("z"))


def test_an_empty_transcript_has_no_conversation(tmp_path: Path) -> None:
    Writer(tmp_path).raw({"type": "mode", "mode": "normal"})
    transcript = BlockingSessions(tmp_path, index=tmp_path / "i.db").open(MAIN)
    assert list(transcript.conversation()) == []
    assert transcript.branches() == []
