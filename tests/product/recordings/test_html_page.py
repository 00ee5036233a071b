"""The page of a recording: whole, harmless, and usable in a browser."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.browser import Browser
from tests.product.recordings.written import (
    answered,
    asked,
    prompt,
    result,
    returned,
    said,
    text,
    used,
    written,
)

from claudewire.recordings import Recording, Timeline, page
from claudewire.recordings.html_page import LONGEST

FOLDER = Path(__file__).resolve().parent

HOSTILE = [
    "<script>document.title='broken'</script>",
    "</script><img src=x onerror=\"document.title='broken'\">",
    "<!--<script>",
    "<!--<script ",
    "</script x",
    "</script/",
    "javascript:document.title='broken'",
    "\x1b]0;broken\x07\x1b[2J",
    "\u202egnp.exe\u2066",
    "\x00\x7f\x9b\u2028\u2029\ufeff",
    "{{constructor.constructor('document.title=1')()}}",
    "&lt;b&gt;\u200b",
]


class Parsed(HTMLParser):
    """What a page consists of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self._in_data = False
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_data = dict(attrs).get("id") == "recording"

    def handle_data(self, data: str) -> None:
        if self._in_data:
            self.data += data

    def handle_endtag(self, tag: str) -> None:
        self._in_data = False


def hostile() -> Recording:
    lines: list[Any] = [(0.0, ">", asked("1", "initialize")), (0.5, "<", answered("1"))]
    for number, words in enumerate(HOSTILE):
        lines.append((1.0 + number, "<", said(text(words), used(words, words, path=words))))
        lines.append((1.5 + number, "!", words.replace("\n", " ")))
        lines.append((1.6 + number, "<", words))
    return written(*lines, exit=0)


def talk() -> Recording:
    return written(
        (0.0, ">", asked("1", "initialize")),
        (0.25, "<", answered("1", commands=[])),
        (0.3, ">", prompt("Go", uuid="u1")),
        (1.0, "<", said(used("t1", "Bash", command="ls"))),
        (1.1, "<", asked("2", "can_use_tool", tool_name="Bash", input={"command": "ls"})),
        (3.1, ">", answered("2", behavior="allow", updatedInput={"command": "ls"})),
        (3.2, "<", returned("t1", "a.txt")),
        (3.25, "!", "a warning"),
        (3.3, "<", "Debugger attached."),
        (3.5, "<", said(text("One file."))),
        (3.6, "<", result("One file.")),
        exit=0,
    )


@pytest.mark.parametrize(
    "recording", [hostile(), talk(), Recording()], ids=["hostile", "talk", "none"]
)
def test_page_has_the_recording_only_as_data(recording: Recording) -> None:
    parsed = Parsed(page(Timeline.of(recording), "<b>a title</b>"))
    assert [tag for tag, _ in parsed.tags] == [
        *("html", "head", *["meta"] * 5, "link", "title", "style"),
        *("body", "noscript", "script", "script"),
    ]
    assert [
        attrs.get("src", attrs.get("href"))
        for _, attrs in parsed.tags
        if {"src", "href"} & attrs.keys()
    ] == ["data:,"]
    data = json.loads(parsed.data)
    assert [step["line"] for step in data["steps"]] == [
        None if entry.line is None else entry.text for entry in recording
    ]


def test_long_line_is_shortened() -> None:
    recording = written((0.0, "<", said(text("x" * 10 * LONGEST))))
    data = json.loads(Parsed(page(Timeline.of(recording))).data)
    (step,) = data["steps"]
    assert len(step["line"]) == LONGEST
    assert step["length"] > 10 * LONGEST


# --- in a browser --------------------------------------------------------------------------------


def shown(browser: Browser) -> list[str]:
    rows = "document.querySelectorAll('#steps > li:not([hidden]) .name')"
    return [str(name) for name in browser.run(f"return [...{rows}].map(it => it.textContent)")]


def type_in(browser: Browser, words: str) -> None:
    browser.run(
        f"const box = document.querySelector('input'); box.value = {json.dumps(words)};"
        "box.dispatchEvent(new Event('input'))"
    )


def press(browser: Browser, label: str) -> None:
    """Press a chip whose label begins so."""
    browser.run(
        "const chip = [...document.querySelectorAll('.chip')]"
        f".find(it => it.textContent.startsWith({json.dumps(label)})); chip.click()"
    )


def test_filters_latencies_and_details_work(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(Timeline.of(talk()), "talk.jsonl"), tmp_path)
    everything = shown(browser)
    assert everything == [
        *("initialize", "answer initialize", "user", "assistant", "can_use_tool"),
        *(
            "answer can_use_tool",
            "user",
            "stderr",
            "not JSON",
            "assistant",
            "result/success",
            "exit",
        ),
    ]
    assert browser.run("return document.querySelector('.count').textContent") == "12 lines"

    press(browser, "to the CLI")
    assert shown(browser) == [it for n, it in enumerate(everything) if n not in (0, 2, 5)]
    press(browser, "to the CLI")
    press(browser, "only with findings")
    assert "not JSON" in shown(browser)
    assert len(shown(browser)) < 5
    press(browser, "only with findings")

    type_in(browser, "UPDATEDINPUT")
    assert shown(browser) == ["answer can_use_tool"]
    type_in(browser, "nothing has this")
    assert shown(browser) == []
    assert browser.run("return document.querySelector('.none').hidden") is False
    type_in(browser, "")
    assert shown(browser) == everything

    table = browser.run("return [...document.querySelectorAll('tbody tr')].map(it => it.innerText)")
    assert any(
        row.split() == ["request", "can_use_tool", "CLI", "1", "2.00", "s", "2.00", "s"]
        for row in table
    )

    browser.run("document.querySelectorAll('#steps summary')[4].click()")
    inside = "return document.querySelector('#steps li:nth-child(5) .inside').innerText"
    browser.wait_for("document.querySelector('#steps li:nth-child(5) .inside')")
    assert '"command": "ls"' in browser.run(inside)
    assert "ended by line 7 after 2.00 s" in browser.run(inside)
    browser.run("document.querySelector('#steps li:nth-child(5) .inside p button').click()")
    assert (
        browser.run("return document.querySelector('.linked .name').textContent")
        == "answer can_use_tool"
    )
    browser.check()


def test_long_recording_is_shown_in_parts(browser: Browser, tmp_path: Path) -> None:
    lines: list[Any] = [(0.0, ">", asked("1", "initialize"))]
    lines += [(number / 100, "<", said(text(f"word {number}"))) for number in range(1, 3000)]
    browser.open(page(Timeline.of(written(*lines, (40.0, "<", answered("1"))))), tmp_path)
    assert len(shown(browser)) < 1000
    browser.run("document.querySelector('.more:not([hidden])').click()")
    assert 400 < len(shown(browser)) < 1500
    type_in(browser, "word 2999")
    assert shown(browser) == ["assistant"]
    browser.run("document.querySelector('.bar').click()")  # a line that does not pass the filter
    assert shown(browser)[0] == "initialize"
    browser.check()


def test_hostile_text_is_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(Timeline.of(hostile()), HOSTILE[1] + HOSTILE[5]), tmp_path)
    browser.run("for (const it of document.querySelectorAll('#steps summary')) it.click()")
    rows = "document.querySelectorAll('#steps > li').length"
    browser.wait_for(f"document.querySelectorAll('.inside').length === {rows}")
    title = str(browser.run("return document.title"))
    assert title.startswith("</script><img src=x")
    strange = "img, a, iframe, object, script:not([type])"
    assert browser.run(f"return document.querySelectorAll('{strange}').length") == 1
    body = str(browser.run("return document.body.innerText"))
    assert not re.search(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", body)
    assert r"\u202egnp.exe\u2066" in body
    assert r"\x1b]0;broken\x07\x1b[2J" in body
    assert "<script>document.title='broken'</script>" in body
    browser.check()
