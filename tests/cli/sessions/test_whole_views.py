"""How conversations and recordings are shown, in windows of many widths."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.helpers.kept import Kept
from tests.recordings.test_html_page import talk

from claudewire.cli.sessions import view
from claudewire.cli.sessions.view import SessionView, when
from claudewire.cli.styles import Paint
from claudewire.cli.wire.lines import UNLIMITED, LineView, duration, latency_table, wrapped
from claudewire.recordings import Timeline
from claudewire.store import Hit, SessionInfo
from claudewire.store.entries import read_entry
from claudewire.tracking import Totals

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
WIDTHS = [12, 24, 40, 63, 100, UNLIMITED]
LONG = "one two three four five six seven eight nine ten eleven twelve"


class Fixed(datetime):
    @classmethod
    def now(cls, tz: Any = None) -> Fixed:
        return cls(2026, 11, 17, 12, tzinfo=tz)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "just now"),
        (59.9, "just now"),
        (60, "1 min ago"),
        (3599, "59 min ago"),
        (3600, "1 h ago"),
        (86_399, "23 h ago"),
        (86_400, "1 day ago"),
        (2 * 86_400, "2 days ago"),
        (11 * 86_400, "11 days ago"),
        (14 * 86_400 - 1, "13 days ago"),
        (14 * 86_400, "2026-11-03"),
    ],
)
def test_when_something_was(seconds: float, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "datetime", Fixed)
    assert when(NOW - timedelta(seconds=seconds), NOW) == words
    assert when(NOW - timedelta(seconds=seconds)) == words
    assert when(None) == ""


def info(id: str, **fields: Any) -> SessionInfo:
    return SessionInfo(id=id, folder="f", path="p", **fields)


INFOS = [
    info("0123456789abcdef", title="A title", cwd="/home/me", end=NOW, prompts=3),
    info("0123456789abXXXX", title=LONG, cwd="/home/me/a/b", end=NOW - timedelta(days=3)),
    info("fedc", cwd="/elsewhere/with/a/name/that/is/rather/long", prompts=1234, status="waiting"),
    info(
        "fedcba98",
        title="日本\x1b",
        totals=Totals(cost_usd=0.126),
        models=("a", "b"),
        branch="main",
        status="running",
        pid=77,
    ),
]
HITS = [
    Hit(INFOS[0], "u", "user", None, f"some\twords\nhere {LONG}", ((5, 10), (11, 15))),
    Hit(INFOS[2], None, "tool", None, "x\x1by", ((1, 2),)),
    Hit(INFOS[3], None, "user", None, "a\x1bb c\nd e\x1bf\tg", ((4, 7),)),
]
CONTENT: list[Any] = [
    "A prompt\nof two lines",
    LONG,
    "<command-name>/help</command-name>",
    "X\nY X\n",
    "<system-reminder>x",
    "<local-command-stdout>x",
    "<task-notification>x",
    [{"type": "text", "text": "a block"}, {"type": "image", "source": {}}],
    [{"type": "tool_result", "tool_use_id": "t", "content": "1\n2\n3\n4\n5"}],
    [{"type": "tool_result", "tool_use_id": "t", "content": "1\n2\n3\n4\n5\n6", "is_error": True}],
]
SAID: list[Any] = [
    {"type": "text", "text": f"\n{LONG}\n\tindented\n"},
    {"type": "text", "text": " \n"},
    {"type": "thinking", "thinking": "Hm.", "signature": "s"},
    {"type": "thinking", "thinking": " ", "signature": "s"},
    {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": f"ä {LONG}"}},
]


def lines() -> list[bytes]:
    users = [{"type": "user", "message": {"role": "user", "content": it}} for it in CONTENT]
    hidden = [{**users[0], "isMeta": True}, {**users[0], "isCompactSummary": True}]
    message = {"role": "assistant", "type": "message", "model": "m", "content": SAID}
    entries = [*users, *hidden, {"type": "assistant", "message": message}, {"type": "other"}]
    return [b"{ broken", *(json.dumps(it).encode() for it in entries)]


@pytest.mark.parametrize("width", WIDTHS)
def test_what_is_shown_of_conversations_is_as_it_was(
    kept: Kept, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "datetime", Fixed)
    monkeypatch.setenv("HOME", "/home/me")
    shown = SessionView(Paint(unicode=width > 40), width)
    text = [*shown.rows(INFOS), *shown.rows(INFOS[:1]), *shown.rows([])]
    for it in INFOS:
        text += shown.head(it)
    for hit in HITS:
        text += shown.hit(hit)
    for line in lines():
        text += [f"# {line[:60]!r}", *shown.entry(read_entry(line))]
    text += [
        LineView(Timeline.of(talk()), Paint(), width).line(it) for it in Timeline.of(talk()).steps
    ]
    text += latency_table(Timeline.of(talk()).latencies(), Paint(), width)
    kept(f"shown-{width}.txt", "".join(f"{line!r}\n" for line in text))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "never"),
        (0.0, "0.0 ms"),
        (0.00994, "9.9 ms"),
        (0.00995, "10 ms"),
        (0.0994, "99 ms"),
        (0.0995, "0.10 s"),
        (9.99, "9.99 s"),
        (10, "10.0 s"),
        (59.9, "59.9 s"),
        (60, "1 min 0 s"),
        (125.7, "2 min 5 s"),
    ],
)
def test_a_duration_has_a_few_characters(seconds: float | None, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("line", "width", "parts"),
    [
        ("", 5, [""]),
        ("ab cd", 5, ["ab cd"]),
        ("ab cde", 5, ["ab", "cde"]),
        ("abcdefg hi", 5, ["abcde", "fg hi"]),
        ("a abcdefg", 5, ["a", "abcde", "fg"]),
        ("  ab", 5, ["  ab"]),
        ("     abc", 5, ["abc"]),
        ("日本 語", 5, ["日本", "語"]),
    ],
)
def test_a_line_is_broken_between_words(line: str, width: int, parts: list[str]) -> None:
    assert [*wrapped(line, width)] == parts
