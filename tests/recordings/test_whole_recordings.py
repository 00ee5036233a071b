"""What a recording says, as a page has it and compared with another: see tests/helpers/kept.py."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, compact
from tests.recordings.test_html_page import talk
from tests.recordings.written import Line, asked, prompt, result, said, text, used, written

from claudewire.recordings import Timeline, compare
from claudewire.recordings.html_page import _data, page
from claudewire.transport import Recording

HERE = Path(__file__).parent


def lines_of(data: dict[str, Any]) -> list[str]:
    """Return the parts of a page's data, a line for each item."""
    lines = []
    for key, value in data.items():
        items = value if isinstance(value, list) else [value]
        lines += [f"{key}: {compact(it)}" for it in items]
    return lines


def test_the_data_of_a_page_are_as_they_were(kept: Kept) -> None:
    lines = lines_of(_data(Timeline.of(talk()), "A title"))
    kept("page-data.txt", "".join(f"{line}\n" for line in lines))


def test_the_page_around_its_data_is_as_it_was(kept: Kept) -> None:
    whole = page(Timeline.of(Recording()), "A <title>")
    head, _, rest = whole.partition("<style>")
    kept("page.txt", f"{head}…\n{rest.partition('</style>')[2].partition('<script>')[0]}")


@pytest.mark.parametrize("name", ["1.0.128-work", "2.1.17-work", "2.1.325-work"])
def test_what_is_told_of_each_line_is_as_it_was(kept: Kept, name: str) -> None:
    timeline = Timeline.of(Recording.load((HERE / f"{name}.jsonl").read_bytes()))
    lines = [f"{it.dir} {it.kind} {it.name} {it.summary} {it.id}" for it in timeline.steps]
    lines += [str(it) for it in timeline.exchanges] + [str(it) for it in timeline.latencies()]
    kept(f"{name}.txt", "".join(f"{line[:300]}\n" for line in lines))


BEFORE: list[Line] = [
    (0.0, ">", asked("1", "initialize", hooks={})),
    (0.5, ">", prompt("Go.", uuid="a")),
    (1.0, "<", said(text("I begin."), used("t", "Bash", command="ls"))),
    (1.5, "<", asked("2", "can_use_tool", tool_name="Bash", input={"command": "ls"})),
    (2.0, "<", result(num_turns=2)),
    (2.5, "!", "a warning"),
]
AFTER: list[Line] = [
    (0.0, ">", asked("1", "initialize", hooks={"Stop": []}, title="new")),
    (0.7, ">", prompt("Go on.", uuid="b", priority="now")),
    (1.2, "<", said(text("I begin."), used("t", "Bash", command=["ls"]))),
    (2.0, "<", result(num_turns="two", errors=[])),
    (2.2, "<", {"type": "new_thing", "value": {"deep": [1, None]}}),
    (2.5, "!", "another warning"),
    (2.6, "<", "no JSON"),
]


def test_how_two_recordings_differ_is_as_it_was(kept: Kept) -> None:
    found = compare(written(*BEFORE, exit=0), written(*AFTER, exit=1))
    lines = [*map(repr, found.kinds), *map(repr, found.lines)]
    lines += [repr(it) for it in found.latencies]
    lines.append(f"{found.is_same} {[it.name for it in dataclasses.fields(found)]}")
    kept("compared.txt", "".join(f"{it}\n" for it in lines))
