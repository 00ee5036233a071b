"""All that the store says of a conversation with everything in it: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.helpers.kept import Kept, compact, normal
from tests.store.made import MAIN, PLAIN, Writer, sample
from tests.store.test_export import picture, write_rich

from claudewire.store import BlockingSessions
from claudewire.store.entries import read_entry
from claudewire.store.markup import markdown_to_html
from claudewire.store.texts import shown_text, texts_of

MODIFIED = re.compile(r"""\"?modified"?[:=] ?[\d.]+, """)

VERSIONS = ("1.0.128", "2.1.17", "2.1.325")


def facts(sessions: BlockingSessions) -> list[str]:
    lines = []
    for info in sorted(sessions.list(), key=lambda it: it.id):
        told = msgspec.to_builtins(info)
        lines += [f"{info.id} {info.title}", compact(told), str(sessions.totals([info]))]
        for entry in sessions.open(info.id).entries():
            lines.append(f"    {type(entry).__name__} {entry.uuid} {entry.problems}")
    return lines


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_known_of_a_real_conversation_is_as_it_was(
    kept: Kept, tmp_path: Path, version: str
) -> None:
    with BlockingSessions(sample(version, tmp_path), index=tmp_path / "index.db") as sessions:
        text = "".join(f"{line}\n" for line in facts(sessions))
    kept(f"facts-{version}.txt", MODIFIED.sub("", normal(text, folder=tmp_path)))


def test_what_is_known_of_a_rich_conversation_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    with write_rich(tmp_path) as sessions:
        lines = facts(sessions)
        path = sessions.open(MAIN).path
        for line in path.read_bytes().splitlines():
            entry, texts = read_entry(line), texts_of(line, tool_output=True)
            lines += [f"{type(entry).__name__} {texts!r}", *([shown_text(texts)] if texts else [])]
        for query in ("bold", "script", "look around", '"another thing"', "Export -x", "nothing"):
            lines += [f"? {query}", *(repr(it) for it in sessions.search(query))]
    text = normal("".join(f"{line}\n" for line in lines), folder=tmp_path)
    kept("facts-rich.txt", MODIFIED.sub("", text))


@pytest.mark.parametrize("name", ["all.jsonl", "plain.md"])
def test_what_is_exported_is_as_it_was(kept: Kept, tmp_path: Path, name: str) -> None:
    with write_rich(tmp_path) as sessions:
        written = sessions.export(MAIN, tmp_path / name, tool_output=name != "plain.md")
    kept(f"export-{name}", written.read_text(encoding="utf-8", errors="backslashreplace"))


MARKDOWN = """# One *em*
## Two
text with **bold**, `a < b`, [l](http://x), <b>no</b> and a
second line

* one
* two
  1. inner
  2. other

1) first

> quoted
> more

| a | b |
|---|---|
| 1 | `2|3` |

```py
x < 1
```
---
    indented
~~~
open
"""


def test_what_becomes_of_markdown_is_as_it_was(kept: Kept) -> None:
    kept("markdown.html", markdown_to_html(MARKDOWN) + "\n")


NAMES = ("file_path", "pattern", "query", "path", "url", "prompt")
LINES = "".join(f"{number}\n" for number in range(12))

CALLS: list[dict[str, Any]] = [
    {},
    {"n": 5},
    {"n": 5, "s": "text", "t": "other"},
    {"s": ""},
    *({name: "given", "command": 5, "description": ""} for name in reversed(NAMES)),
    *({name: "alone"} for name in (*NAMES, "command", "description", "s")),
    {"file_path": "/project/inside.py", "limit": 5},
    {"file_path": "/project", "limit": 5},
    {"file_path": "/projects/outside.py"},
    {"description": "d", **dict.fromkeys(reversed(NAMES), "x"), "command": "c"},
    {"command": "five <b>", "a": 1, "b": 2, "c": 3, "d": 4},
    {"command": "six <b>", "a": 1, "b": 2, "c": 3, "d": 4, "e": 5},
    {"s": "x" * 120},
    {"s": "x" * 121},
    {"s": "x" * 118 + "  y"},
    {"content": "no file"},
    {"content": "one\n", "file_path": "/a"},
    {"content": "one\n\n", "file_path": "/a"},
    {"content": "one", "file_path": "/a"},
    {"content": "", "file_path": "/a"},
    {"content": 5, "file_path": "/a"},
    {"old_string": "-- one\n++ two\nsame", "new_string": "@@ one\n-- two\nsame"},
    {"old_string": "a\n", "new_string": "b\n"},
    {"old_string": "a", "new_string": "b\n"},
    {"old_string": "a\n", "new_string": "b"},
    {"old_string": "", "new_string": "b\n"},
    {"old_string": "a\n", "new_string": ""},
    {"old_string": "same", "new_string": "same"},
    {"old_string": LINES, "new_string": LINES.replace("5", "five")},
    {"old_string": "a"},
    {"new_string": "b"},
]
RESULTS: list[dict[str, Any]] = [
    {"content": "plain"},
    {"content": "plain", "is_error": True},
    {"content": "plain", "is_error": False},
    {"content": " \n"},
    {"content": ""},
    {"content": "ends with space  \n\n"},
    {"content": "``` fence"},
    {"content": "```` and ``` fence"},
    {"content": [{"type": "text", "text": "a text"}, picture("image/png", "QUJD")]},
    {"content": [picture("image/gif", "QU JD\n"), picture("image/svg+xml", "QUJD")]},
    {"content": [{"type": "image", "source": {"type": "url", "url": "https://example.org"}}]},
    {"content": [{"type": "document", "source": picture("application/pdf", "QUJD")["source"]}]},
    {},
]


def write_corners(config: Path) -> None:
    """Write a conversation with what a writer of pages may do wrong."""
    writer = Writer(config)
    writer.line(type="system", subtype="x", content="An error", level="error")
    writer.line(type="system", subtype="x", content="For your information", level="info")
    writer.line(type="system", subtype="x", content=["no text"], level="error")
    for number, given in enumerate(CALLS):
        writer.call(f"Tool{number}", id=f"call{number}", **given)
    writer.user([picture("image/png", "QUJD")])
    for number, result in enumerate(RESULTS):
        writer.call("Read", id=f"result{number}")
        block = {"type": "tool_result", "tool_use_id": f"result{number}", **result}
        writer.user([block])
    writer.model(" \n")
    writer.model({"type": "thinking", "thinking": " \n"})
    writer.line(type="attachment", attachment={"type": "queued_command", "prompt": ["no text"]})
    writer.line(type="attachment", attachment={"type": "other", "prompt": "no command"})
    writer.user("p" * 90)
    writer.user("q" * 91, timestamp="never")
    writer.user("r" * 88 + "  \n r", timestamp="2026-11-17T23:30:00+02:00")


def page(path: Path) -> str:
    return path.read_text(encoding="utf-8").rpartition("</style>")[2]


@pytest.mark.parametrize("format", ["html", "md"])
def test_what_is_shown_of_every_call_and_its_result_is_as_it_was(
    kept: Kept, tmp_path: Path, format: str
) -> None:
    write_corners(tmp_path / "config")
    with BlockingSessions(tmp_path / "config", index=":memory:") as sessions:
        kept(f"corners.{format}", page(sessions.export(MAIN, tmp_path / f"out.{format}")))


@pytest.mark.parametrize("format", ["html", "md"])
def test_what_is_shown_of_a_conversation_of_which_little_is_known_is_as_it_was(
    kept: Kept, tmp_path: Path, format: str
) -> None:
    config = tmp_path / "config"
    nothing: dict[str, Any] = {"cwd": None, "gitBranch": None, "version": None}
    first = Writer(config)
    first.line(type="attachment", attachment={"type": "date"}, timestamp=None, **nothing)
    first.model("Hello", timestamp=None, usage={"input_tokens": 0}, **nothing)
    second = Writer(config, PLAIN)
    second.user("Only this", timestamp="2026-11-17T01:30:00+02:00")
    used = {"input_tokens": 12_345, "cache_read_input_tokens": 1, "output_tokens": 2_500_000}
    second.line(type="assistant", costUSD=0.126, message={
        "id": "m", "role": "assistant", "model": "opus", "content": [], "usage": used,
    })  # fmt: skip
    texts = []
    with BlockingSessions(config, index=":memory:") as sessions:
        for id in (MAIN, PLAIN):
            texts.append(page(sessions.export(id, tmp_path / f"{id}.{format}")))
    kept(f"little.{format}", "".join(texts))


@pytest.mark.parametrize("format", ["html", "md"])
def test_subagents_of_subagents_are_shown_down_to_the_eighth(tmp_path: Path, format: str) -> None:
    config = tmp_path / "config"
    main = Writer(config)
    main.user("prompt-0")
    main.call("Agent", id="call-1")
    for number in range(1, 11):
        agent = Writer(config, f"{MAIN}/subagents/agent-{number}")
        agent.user(f"prompt-{number}.")
        agent.call("Agent", id=f"call-{number + 1}")
        meta = {"toolUseId": f"call-{number}"}
        agent.path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    with BlockingSessions(config, index=":memory:") as sessions:
        text = page(sessions.export(MAIN, tmp_path / f"out.{format}"))
    assert [number for number in range(1, 11) if f"prompt-{number}." in text] == [*range(1, 9)]
    if format == "md":
        headings = [line.split()[0] for line in text.splitlines() if line.endswith("# User")]
        assert headings == ["##", "###", "####", "#####", *["######"] * 5]
