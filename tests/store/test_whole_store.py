"""All that the store says of a conversation with everything in it: see tests/helpers/kept.py."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from tests.helpers.kept import Kept, compact, normal
from tests.store.made import MAIN, sample
from tests.store.test_export import write_rich

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
