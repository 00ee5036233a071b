from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.simulator.flags import Flags
from claudewire.simulator.session import SimulatedSession
from claudewire.simulator.stored import (
    NotResumable,
    SessionStore,
    append_entries,
    branch_of,
    take_up,
)

ONE = "11111111-1111-4111-8111-111111111111"
TWO = "22222222-2222-4222-8222-222222222222"


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(str(tmp_path), "/home/me/my project", True)


def append(store: SessionStore, id: str, *entries: dict[str, Any]) -> None:
    append_entries(store.path(id), entries)


def entry(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "text": text, **more}


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_what_was_appended_is_loaded_by_another_store(tmp_path: Path, store: SessionStore) -> None:
    append(store, ONE, entry("a"))
    append(store, ONE, entry("b"))
    again = SessionStore(str(tmp_path), "/home/me/my project", True)
    assert again.load(ONE) == [entry("a"), entry("b")]


def test_the_layout_is_that_of_the_real_cli(tmp_path: Path, store: SessionStore) -> None:
    append(store, ONE, entry("a"))
    assert files(tmp_path) == [f"projects/-home-me-my-project/{ONE}.jsonl"]


@pytest.mark.parametrize(
    "text", ["", "two\nlines", "\u2028", "é\U0001f600", "lone \ud800", "\0", "x" * 300_000]
)
def test_any_text_comes_back_from_one_line(store: SessionStore, text: str) -> None:
    append(store, ONE, entry(text))
    append(store, ONE, entry("next"))
    assert store.load(ONE) == [entry(text), entry("next")]
    assert Path(store.folder, f"{ONE}.jsonl").read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("torn", [b'{"type":"us', b"\xff\xfe", b"[1]", b"", b"[" * 100_000])
def test_a_line_that_is_no_entry_is_left_out(store: SessionStore, torn: bytes) -> None:
    append(store, ONE, entry("a"))
    with Path(store.folder, f"{ONE}.jsonl").open("ab") as file:
        file.write(torn + b"\n")
    append(store, ONE, entry("b"))
    assert store.load(ONE) == [entry("a"), entry("b")]


def test_a_session_that_cannot_be_read_is_an_error(store: SessionStore) -> None:
    (Path(store.folder) / f"{ONE}.jsonl").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        store.load(ONE)


def test_a_session_that_is_not_there_is_none(store: SessionStore) -> None:
    assert store.load(ONE) is None
    append(store, TWO, entry("a"))
    assert store.load(ONE) is None


HOSTILE = [
    "",
    "-",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc/passwd",
    "a\\b",
    "a\0",
    "a\n",
    "x.jsonl",
    "é",
    "a" * 129,
]


@pytest.mark.parametrize("id", HOSTILE)
def test_an_id_that_is_no_file_name_is_refused(
    tmp_path: Path, store: SessionStore, id: str
) -> None:
    append(store, ONE, entry("a"))
    before = files(tmp_path)
    assert store.load(id) is None
    with pytest.raises(ValueError, match="cannot be the id"):
        store.path(id)
    assert files(tmp_path) == before


def test_an_id_may_be_long(store: SessionStore) -> None:
    append(store, "a-b_" * 32, entry("a"))
    assert store.load("a-b_" * 32) == [entry("a")]


def test_only_the_user_may_read_what_is_kept(tmp_path: Path, store: SessionStore) -> None:
    append(store, ONE, entry("a"))
    assert Path(store.path(ONE)).stat().st_mode & 0o777 == 0o600
    assert Path(store.folder).stat().st_mode & 0o777 == 0o700


def test_a_file_that_has_no_lines_is_written_anew(tmp_path: Path) -> None:
    for name, texts in (("a.meta.json", "b"), ("a.jsonl", "ab")):
        for text in "ab":
            append_entries(str(tmp_path / name), [entry(text)])
        lines = [f'{{"type":"user","text":"{text}"}}\n' for text in texts]
        assert (tmp_path / name).read_text(encoding="utf-8") == "".join(lines)


def test_of_two_sessions_with_a_title_the_newer_is_found(store: SessionStore) -> None:
    for id in (TWO, ONE, TWO):
        append(store, id, {"type": "custom-title", "customTitle": "same"})
        assert store.titled("same") == id


@pytest.mark.parametrize(("length", "is_cut"), [(200, False), (201, True)])
def test_a_folder_is_named_like_the_working_directory_if_that_is_short_enough(
    length: int, is_cut: bool
) -> None:
    name = SessionStore("/config", "/" + "x" * (length - 1), True).folder.rpartition("/")[2]
    assert name[:200] == "-" + "x" * 199
    assert bool(name[200:]) == is_cut


def test_the_latest_session_is_the_one_last_written_to(store: SessionStore) -> None:
    assert store.latest() is None
    for id in (TWO, ONE, TWO, ONE, ONE, TWO):
        append(store, id, entry("a"))
        assert store.latest() == id


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path, store: SessionStore) -> None:
    assert store.latest() is None
    Path(store.folder).parent.mkdir(parents=True)
    Path(store.folder).touch()
    with pytest.raises(NotADirectoryError):
        store.latest()


def test_only_sessions_count_as_the_latest(store: SessionStore) -> None:
    os.makedirs(store.folder)
    assert store.latest() is None
    Path(store.folder, "notes.txt").touch()
    assert store.latest() is None


def test_each_working_directory_has_its_own_sessions(tmp_path: Path) -> None:
    here, there = (SessionStore(str(tmp_path), cwd, True) for cwd in ("/here", "/there"))
    append(here, ONE, entry("a"))
    assert there.latest() is None
    assert there.load(ONE) is None


def test_long_working_directories_are_told_apart(tmp_path: Path) -> None:
    long = "/" + "x" * 300
    one, other = (SessionStore(str(tmp_path), long + end, True) for end in "ab")
    append(one, ONE, entry("a"))
    append(other, ONE, entry("b"))
    assert one.load(ONE) == [entry("a")]


@pytest.mark.parametrize("cwd", ["..", "../..", "/../..", "", "/é/\udcff"])
def test_no_working_directory_leads_out_of_the_folder(tmp_path: Path, cwd: str) -> None:
    config = tmp_path / "config"
    append(SessionStore(str(config), cwd, True), ONE, entry("a"))
    assert all(name.startswith("config/projects/") for name in files(tmp_path))
    assert SessionStore(str(config), cwd, True).load(ONE) == [entry("a")]


def test_a_long_working_directory_has_the_name_that_the_real_cli_gives_it() -> None:
    cwd = "/tmp/claudewire-cage-g7zhgyv6/work/" + "long-" * 50
    name = SessionStore("/config", cwd, True).folder.removeprefix("/config/projects/")
    assert name == "-tmp-claudewire-cage-g7zhgyv6-work-" + "long-" * 33 + "-ewjzoz"


def test_a_session_is_found_by_the_last_title_that_a_person_gave_it(store: SessionStore) -> None:
    def title(text: object) -> dict[str, Any]:
        return {"type": "custom-title", "customTitle": text}

    append(store, ONE, entry("a"), title("first"), title(7))
    append(store, TWO, title("first"), title("second"))
    assert store.titled("first") == ONE
    assert store.titled("second") == TWO
    assert store.titled("third") is None


# --- taking one up --------------------------------------------------------------------------------


def said(uuid: str, parent: str | None, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content}
    return {"type": kind, "uuid": uuid, "parentUuid": parent, "message": message, **more}


TALK = [
    {"type": "queue-operation", "operation": "enqueue"},
    said("u1", None, "user", "One?"),
    {"type": "attachment", "uuid": "x", "parentUuid": "u1", "attachment": {"type": "date"}},
    said("a1", "x", "assistant", [{"type": "text", "text": "I shall."}]),
    said("a2", "a1", "assistant", [{"type": "tool_use", "id": "t", "name": "Bash"}]),
    said("r1", "a2", "user", [{"type": "tool_result", "tool_use_id": "t"}], toolUseResult="1"),
    said("s1", None, "user", "For a subagent.", isSidechain=True),
    said("a3", "r1", "assistant", [{"type": "text", "text": "Done."}]),
    {"type": "cost-state", "totalCostUSD": 0.5},
    said("u2", "a3", "user", [{"type": "text", "text": "Two?"}]),
    said("a4", "u2", "assistant", "Two."),
    said("m1", "a4", "user", "<command-name>/cost</command-name>"),
    said("m2", "m1", "user", "Be careful.", isMeta=True),
]


def words(history: list[dict[str, Any]]) -> list[str]:
    return [f"{it['type']}: {it['text']}" for it in history]


def test_what_was_said_is_found_on_the_way_to_the_last_entry() -> None:
    stored = take_up(TALK)
    assert words(stored.history) == [
        "user: One?",
        "assistant: Done.",
        "user: Two?",
        "assistant: Two.",
    ]
    assert take_up([*TALK, {"type": "custom-title", "uuid": "t1"}]).leaf == stored.leaf == "m2"
    assert stored.costs == {"type": "cost-state", "totalCostUSD": 0.5}


def test_prompts_and_turns_are_counted_on_from_the_last_one_that_was_counted() -> None:
    assert take_up(TALK).position == (0, 0)
    counted = [
        {**said("u3", "m2", "user", "Three?"), "turnPosition": {"promptIndex": 3, "turnIndex": 1}},
        {**said("u4", "u3", "user", "And?"), "turnPosition": {"promptIndex": 4, "turnIndex": 2}},
        said("a5", "u4", "assistant", "Four."),
    ]
    assert take_up([*TALK, *counted]).position == (4, 2)


def test_a_branch_that_was_left_is_no_part_of_the_conversation() -> None:
    other = [*TALK, said("u3", "a3", "user", "Three?"), said("a5", "u3", "assistant", "Three.")]
    assert words(take_up(other).history)[2:] == ["user: Three?", "assistant: Three."]


def test_a_conversation_goes_on_at_a_message() -> None:
    stored = take_up(TALK, at="a3")
    assert stored.leaf == "a3"
    assert words(stored.history) == ["user: One?", "assistant: Done."]
    with pytest.raises(NotResumable, match=r"^No message found with message\.uuid of: nowhere$"):
        take_up(TALK, at="nowhere")
    with pytest.raises(NotResumable):
        take_up(TALK, at="s1")


def test_only_the_turn_that_may_be_lost_is_lost() -> None:
    assert take_up(TALK, at="a3", drops="u2").leaf == "a3"
    assert take_up(TALK, at="m2", drops="u2").leaf == "m2"
    for at, drops in (("a3", "u1"), ("x", "u2"), ("a2", "u2")):
        with pytest.raises(NotResumable, match=f"resuming at {at} would discard entries"):
            take_up(TALK, at=at, drops=drops)


@pytest.mark.parametrize(
    ("costs", "cost", "spent"),
    [
        ({"modelUsage": {"m": {"inputTokens": 3}}, "totalCostUSD": 5}, 5.0, [("m", 3, 0, 0.0)]),
        (
            {"modelUsage": {"m": {"outputTokens": 4, "costUSD": 0.5}}, "totalCostUSD": 0.5},
            0.5,
            [("m", 0, 4, 0.5)],
        ),
        ({"modelUsage": {}, "totalCostUSD": "5"}, 0.0, []),
        ({"modelUsage": 5, "totalCostUSD": 5}, 0.0, []),
        ({"modelUsage": {}}, 0.0, []),
        ({"totalCostUSD": 5}, 0.0, []),
    ],
)
def test_costs_are_taken_up_if_they_are_noted_as_this_cli_does(
    store: SessionStore, costs: dict[str, Any], cost: float, spent: list[Any]
) -> None:
    append(store, ONE, entry("hello"), {"type": "cost-state", **costs})
    session = SimulatedSession(Flags(resume=ONE), store=store)
    assert (session.resumed, session.cost) == (True, cost)
    assert [
        (name, it.input_tokens, it.output_tokens, it.cost_usd) for name, it in session.spent.items()
    ] == spent


def test_parents_that_lead_in_a_circle_end_the_branch() -> None:
    circle = [said("a", "b", "user", "A?"), said("b", "a", "assistant", "B.")]
    assert [it["uuid"] for it in branch_of(circle)] == ["a", "b"]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=5,
)
KEYS = ["type", "uuid", "parentUuid", "message", "isMeta", "turnPosition", "customTitle"]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(KEYS),
            ANYTHING
            | st.sampled_from(["user", "assistant", "a", "b", {"content": "x"}, {"content": [{}]}]),
        )
    )
)
def test_no_entries_are_too_odd_to_be_taken_up(entries: list[dict[str, Any]]) -> None:
    stored = take_up(entries)
    assert len(stored.history) <= len(entries)
