"""Parts of the store by themselves, with what few transcripts have."""

from __future__ import annotations

import importlib
import pkgutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.helpers.kept import Kept

from claudewire import store
from claudewire.store import BlockingSessions
from claudewire.store.entries import read_entry
from claudewire.store.facts import FactsReader, as_time, checksum
from claudewire.store.files import Line, find_sessions
from claudewire.store.html import _number, _span
from claudewire.store.index import _encode, default_index
from claudewire.store.texts import texts_of
from claudewire.store.transcript import _findings_in

from .made import MAIN, PLAIN, Writer

MORNING = datetime(2026, 11, 17, 9, 30, tzinfo=UTC)
EVENING = datetime(2026, 11, 17, 21, 0, tzinfo=UTC)
NEXT_DAY = datetime(2026, 11, 18, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("begin", "end", "words"),
    [
        (None, None, ""),
        (MORNING, None, "2026-11-17 09:30 UTC"),
        (MORNING, MORNING, "2026-11-17 09:30 UTC"),
        (MORNING, EVENING, "2026-11-17 09:30 to 21:00 UTC"),
        (MORNING, NEXT_DAY, "2026-11-17 09:30 to 2026-11-18 09:30 UTC"),
    ],
)
def test_a_time_span_names_a_day_once(
    begin: datetime | None, end: datetime | None, words: str
) -> None:
    assert _span(begin, end) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (999, "999"),
        (9_999, "9,999"),
        (10_000, "10k"),
        (12_345, "12.3k"),
        (999_999, "1000k"),
        (1_000_000, "1M"),
        (2_500_000, "2.5M"),
    ],
)
def test_large_numbers_are_short(count: int, words: str) -> None:
    assert _number(count) == words


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"system","content":"the user"}',
        b'{"type":"note","about":"user"}',
        b'{"type":"user"}',
        b'{"type":"user","message":{"role":"user","content":""}}',
        b'{"broken "user"',
        b'{"type":"user","isMeta":true,"message":{"role":"user","content":[{"type":1}]}}',
    ],
)
def test_a_line_without_text_is_not_searched(line: bytes) -> None:
    assert texts_of(line) is None


def test_pictures_are_not_searched_but_what_stands_beside_them_is() -> None:
    line = (
        b'{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":'
        b'"t","content":[{"type":"text","text":"beside"},{"type":"image","source":"AAAA"},7]}]}}'
    )
    found = texts_of(line, tool_output=True)
    assert found is not None
    assert "beside" in found.tool
    assert "AAAA" not in found.tool
    assert texts_of(line) is None


def test_so_much_of_a_text_is_searched_without_what_is_encoded_in_it() -> None:
    def found(text: str) -> str:
        message = {"role": "user", "content": text}
        texts = texts_of(msgspec.json.encode({"type": "user", "message": message}))
        return "" if texts is None else texts.user

    assert found("word " * 4000) == "word " * 4000
    assert found("word " * 4001) == "word " * 4000
    assert found("A" * 15_000 + " " + "word " * 4000) == "  " + ("word " * 4000)[:-2]


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        (b"{ broken", ["bad line"]),
        (b'{"type":"hologram"}', ["unknown type"]),
        (b'{"type":"user","message":{"role":"user","content":7}}', ["unknown form"]),
        (b'{"type":"user","message":{"role":"user","content":"hi"}}', []),
    ],
)
def test_what_is_odd_about_a_line_is_told(line: bytes, kinds: list[str]) -> None:
    findings = [*_findings_in(read_entry(line), "a.jsonl", 7)]
    assert [it.kind for it in findings] == kinds
    assert all((it.path, it.offset) == ("a.jsonl", 7) for it in findings)


def test_lines_that_say_the_same_of_a_message_are_kept_once() -> None:
    def line(id: str, tokens: int) -> Line:
        message = {"id": id, "role": "assistant", "usage": {"input_tokens": tokens}}
        return Line(0, msgspec.json.encode({"type": "assistant", "message": message}))

    reader = FactsReader()
    for id, tokens in (("a", 1), ("a", 1), ("a", 2), ("b", 2), ("a", 2)):
        reader.feed(line(id, tokens))
    calls = [(it.id, it.input_tokens) for it in reader.take().calls]
    a, b = checksum("a"), checksum("b")
    assert calls == [(a, 1), (a, 2), (b, 2), (a, 2)]
    assert (a, b) == (2340832890917691671, 4771952420932724666)


COUNTED = {"input_tokens": 100, "output_tokens": 50}


@pytest.mark.parametrize(
    ("reported", "known"),
    [
        ({}, {"opus": (100, 50, None, 1)}),
        ({"opus": (100, 60, 2.0)}, {"opus": (100, 60, 2.0, 1)}),
        ({"opus[1m]": (100, 60, 2.0)}, {"opus": (100, 60, 2.0, 1)}),
        ({"opus": (100, 40, 2.0)}, {"opus": (100, 50, 2.0 * 350 / 300, 1)}),
        (
            {"haiku[1m]": (5, 6, 0.5)},
            {"opus": (100, 50, None, 1), "haiku": (5, 6, 0.5, 0)},
        ),
    ],
)
def test_what_the_cli_has_counted_holds_if_it_is_not_less(
    tmp_path: Path, reported: dict[str, Any], known: dict[str, Any]
) -> None:
    writer = Writer(tmp_path)
    message = {"id": "m", "role": "assistant", "model": "opus", "content": [], "usage": COUNTED}
    writer.line(type="assistant", message=message)
    names = ("inputTokens", "outputTokens", "costUSD")
    usage = {model: dict(zip(names, it, strict=True)) for model, it in reported.items()}
    writer.raw({"type": "cost-state", "totalCostUSD": 1.0, "modelUsage": usage})
    with BlockingSessions(tmp_path, index=":memory:") as sessions:
        found = sessions.info(MAIN).usage
    assert {
        model: (it.input_tokens, it.output_tokens, it.cost_usd, it.calls)
        for model, it in found.items()
    } == known


def test_a_session_ended_with_the_last_line_of_any_of_its_files(tmp_path: Path) -> None:
    writer = Writer(tmp_path)
    times = [f"2026-11-17T10:00:0{second}Z" for second in range(10)]
    for second in (3, 5, 4):
        writer.user("Hi", timestamp=times[second])
    with BlockingSessions(tmp_path, index=":memory:") as sessions:
        info = sessions.info(MAIN)
        assert (info.begin, info.end) == (as_time(times[3]), as_time(times[5]))
        agent = Writer(tmp_path, f"{MAIN}/subagents/agent-a")
        for second in (1, 9, 7):
            agent.user("Look", timestamp=times[second])
        info = sessions.info(MAIN)
        assert (info.begin, info.end) == (as_time(times[3]), as_time(times[9]))
        Writer(tmp_path, PLAIN).raw({"type": "mode"})
        info = sessions.info(PLAIN)
        assert (info.begin, info.end) == (None, None)


CONFIG = ("frozen", "gc", "omit_defaults", "tag", "tag_field")


def test_what_msgspec_is_told_about_the_classes_of_the_store_is_as_it_was(kept: Kept) -> None:
    """Their fields and defaults are in tests/whole."""
    rows = []
    for found in pkgutil.iter_modules(store.__path__):
        module = importlib.import_module(f"{store.__name__}.{found.name}")
        for kind in vars(module).values():
            if isinstance(kind, type) and kind.__module__ == module.__name__:
                config = getattr(kind, "__struct_config__", None)
                told = {it: getattr(config, it) for it in CONFIG if getattr(config, it, None)}
                rows += [f"{found.name}.{kind.__name__} {told}\n"] if config else []
    kept("classes.txt", "".join(rows))


def test_only_files_that_are_named_as_sessions_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "-project"
    folder.mkdir()
    for name in (f"{MAIN}.jsonl", "agent-1.jsonl", "a b.jsonl", "notes.txt"):
        (folder / name).touch()
    (folder / "dangling.jsonl").symlink_to(folder / "missing")
    (folder / "folder.jsonl").mkdir()
    sessions, loose = find_sessions(tmp_path)
    assert [it.id for it in sessions] == [MAIN]
    assert [Path(it.path).name for it in loose] == ["agent-1.jsonl"]
    assert find_sessions(tmp_path / "missing") == ([], [])


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"a": "\ud800", "\udc00": 1}, {"a": "?", "?": 1}),
        (["\ud800", True, None, 1.5, ["x\ud800"]], ["?", True, None, 1.5, ["x?"]]),
        (
            [2**63 - 1, 2**64, -(2**63) + 1, -(2**64)],
            [2**63 - 1, 2**63 - 1, -(2**63) + 1, -(2**63) + 1],
        ),
        ({"a": [{"b": 2**70}]}, {"a": [{"b": 2**63 - 1}]}),
        ({"a": "plain", "n": 5}, {"a": "plain", "n": 5}),
    ],
)
def test_what_a_database_cannot_keep_is_replaced(value: Any, kept: Any) -> None:
    assert msgspec.msgpack.decode(_encode(value)) == kept


def test_the_index_is_in_the_cache_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")
    places = [default_index(Path(it)) for it in ("/config", "/config", "/other")]
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    at_home = default_index(Path("/config"))
    assert places[0] == places[1] != places[2]
    assert at_home is not None
    assert places[0] is not None
    assert at_home.is_relative_to("/home/me/.cache")
    assert at_home.relative_to("/home/me/.cache") == places[0].relative_to("/cache")
