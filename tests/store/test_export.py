from __future__ import annotations

import json
import re
import tempfile
import zipfile
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.helpers.real_clis import VERSIONS

from claudewire.store import BlockingSessions, StoreError
from claudewire.store.html import _number
from claudewire.store.markup import markdown_to_html

from .made import MAIN, Writer, conversation, sample

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
SECRET = "sk-ant-api03-abcdefghijklmnop"

WHOLE = [Path(__file__).with_name(f"whole_export.{it}") for it in ("html", "md")]
"""What is exported. After a change on purpose, write it anew and read the difference:
    scripts/env python -m tests.store.test_export
"""

VOID = {"meta", "link", "br", "hr", "img"}


class Checked(HTMLParser):
    """Parses HTML, and checks that each element is closed, and nothing is loaded or run."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "iframe", "object", "form")
        for name, value in attrs:
            assert not name.startswith("on")
            if name == "src" or (name == "href" and tag == "link"):
                assert str(value).startswith("data:")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def parsed(html: str) -> str:
    parser = Checked()
    parser.feed(html)
    parser.close()
    assert parser.open == []
    return "".join(parser.text)


def picture(media_type: str, data: str) -> dict[str, object]:
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def write_rich(folder: Path) -> BlockingSessions:
    """Write a conversation with everything that can be in one."""
    config = folder / "config"
    writer = Writer(config)
    image = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": PIXEL},
    }
    strange = {"type": "image", "source": {"type": "base64", "media_type": "image/x", "data": "@"}}
    writer.line(type="system", subtype="informational", content="Careful!", level="warning")
    writer.user([{"type": "text", "text": "Look at <script>alert(1)</script>"}, image, strange])
    writer.model({"type": "thinking", "thinking": "Hm, *what* is it?"})
    writer.model("# A title\n\nSome **bold** text, `code <b>`, and a [link](https://example.org).")
    writer.model({"type": "redacted_thinking", "data": "x"})
    writer.call("Bash", id="t1", command=f"export KEY={SECRET}", description="Export")
    writer.result("", id="t1")
    writer.call("Edit", id="t2", file_path="/a.py", old_string="one\ntwo", new_string="one\nthree")
    writer.result("done", id="t2")
    writer.call("Write", id="t3", file_path="/b.py", content="x = 1\n")
    writer.user(
        [{"type": "tool_result", "tool_use_id": "t3", "content": [image], "is_error": True}]
    )
    writer.call("Read", id="t6", file_path="/project/inside.py")
    writer.call("mcp__x__y", id="t4", deep={"a": [1]}, n=5)
    writer.call("Agent", id="t5", prompt="Look around", description="Look")
    writer.result("```\nThe agent is back\n```", id="t5")
    writer.user("[Request interrupted by user]")
    writer.line(type="system", subtype="compact_boundary", content="Compacted")
    writer.user("What came before", isCompactSummary=True)
    writer.user("<task-notification>it is done</task-notification>")
    queued = {"type": "queued_command", "prompt": "And another thing"}
    writer.line(type="attachment", attachment=queued)
    writer.line(type="attachment", attachment={"type": "date"})
    writer.user("Second prompt\n\n" + "long " * 60)
    writer.model("Bye \ud800")
    agents = writer.path.with_suffix("") / "subagents"
    side = Writer(config, "agent-a")
    side.user("Look around", isSidechain=True, sessionId=MAIN)
    side.model("I looked around.", isSidechain=True, sessionId=MAIN)
    side.user("Look again", isSidechain=True, sessionId=MAIN)
    side.model("There is nothing else.", isSidechain=True, sessionId=MAIN)
    agents.mkdir(parents=True)
    side.path.rename(agents / "agent-a.jsonl")
    (agents / "agent-a.meta.json").write_text('{"toolUseId": "t5"}', encoding="utf-8")
    return BlockingSessions(config, index=folder / "index.db")


@pytest.fixture
def rich(tmp_path: Path) -> BlockingSessions:
    return write_rich(tmp_path)


@pytest.mark.parametrize("kept", WHOLE, ids=lambda path: path.suffix[1:])
def test_everything_is_exported_as_it_was(
    rich: BlockingSessions, tmp_path: Path, kept: Path
) -> None:
    written = rich.export(MAIN, tmp_path / kept.name)
    assert written.read_text(encoding="utf-8") == kept.read_text(encoding="utf-8")


def test_html_shows_everything_and_is_well_formed(rich: BlockingSessions, tmp_path: Path) -> None:
    html = rich.export(MAIN, tmp_path / "out.html").read_text(encoding="utf-8")
    text = parsed(html)
    for shown in (
        "Look at <script>alert(1)</script>",
        "Careful!",
        "Thinking",
        "code <b>",
        "Export",
        "No output",
        "three",
        "Read inside.py",
        "I looked around.",
        "The agent is back",
        "Interrupted by the user",
        "compacted here",
        "What came before",
        "A background task reported",
        "And another thing",
        "image/x",
        "Prompts",
    ):
        assert shown in text, shown
    assert "<strong>bold</strong>" in html
    assert '<a href="https://example.org" rel="noreferrer noopener">link</a>' in html
    assert "<ins>+three</ins>" in html
    assert f"data:image/png;base64,{PIXEL}" in html
    assert "Content-Security-Policy" in html
    assert SECRET not in html
    assert "<key-1>" in text


def test_what_is_exported_is_redacted_unless_told_otherwise(
    rich: BlockingSessions, tmp_path: Path
) -> None:
    for name in ("out.html", "out.md", "out.jsonl"):
        assert SECRET not in rich.export(MAIN, tmp_path / name).read_text(encoding="utf-8")
        open_one = rich.export(MAIN, tmp_path / f"open-{name}", redact=False)
        assert SECRET in open_one.read_text(encoding="utf-8")


def test_the_output_of_tools_can_be_left_out(rich: BlockingSessions, tmp_path: Path) -> None:
    for name in ("out.html", "out.md"):
        path = rich.export(MAIN, tmp_path / name, tool_output=False)
        assert "The agent is back" not in path.read_text(encoding="utf-8")
        assert "I looked around." in path.read_text(encoding="utf-8")


def test_markdown_shows_everything(rich: BlockingSessions, tmp_path: Path) -> None:
    text = rich.export(MAIN, tmp_path / "out.markdown").read_text(encoding="utf-8")
    assert text.startswith("# Look at <script>alert(1)</script>\n\n- **Session**: 0000")
    for shown in (
        "## Before the first prompt\n\n> *Careful!*",
        "> *Thinking*\n>\n> Hm, *what* is it?",
        "**Claude**\n\n# A title",
        '**Edit**\n\n```json\n{\n  "file_path": "/a.py"',
        "*[image/png, ",
        "### User\n\nLook around\n",
        "Result:\n\n````\n```\nThe agent is back\n```\n````",
        "> *Interrupted by the user*",
        "> *Summary of what came before*\n>\n> What came before",
    ):
        assert shown in text, shown


def test_a_branch_is_exported_by_one_of_its_lines(tmp_path: Path) -> None:
    config = tmp_path / "config"
    writer = conversation(config)
    writer.user("Other way", parentUuid="u2")
    writer.model("Here it is")
    sessions = BlockingSessions(config, index=tmp_path / "index.db")
    assert "dead letter" not in sessions.export(MAIN, tmp_path / "a.md").read_text(encoding="utf-8")
    assert "dead letter" in sessions.export(MAIN, tmp_path / "b.md", branch="u6").read_text(
        encoding="utf-8"
    )
    lines = (
        sessions.export(MAIN, tmp_path / "c.jsonl", branch="u8")
        .read_text(encoding="utf-8")
        .splitlines()
    )
    assert [json.loads(line)["uuid"] for line in lines] == ["u1", "u2", "u7", "u8"]


def test_a_format_comes_from_the_name_and_nothing_is_replaced(
    rich: BlockingSessions, tmp_path: Path
) -> None:
    rich.export(MAIN, tmp_path / "out", format="md")
    with pytest.raises(StoreError, match="exists already"):
        rich.export(MAIN, tmp_path / "out", format="md")
    rich.export(MAIN, tmp_path / "out.zip")
    with pytest.raises(StoreError, match="exists already"):
        rich.export(MAIN, tmp_path / "out.zip")
    with pytest.raises(StoreError, match=r"The name out\.pdf does not say") as caught:
        rich.export(MAIN, tmp_path / "out.pdf")
    assert caught.value.advice.startswith("End it with .html, .md, .jsonl or .zip")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("out.html", b"<!doctype html>"),
        ("out.HTM", b"<!doctype html>"),
        ("out.Md", b"# Look at"),
        ("out.markdown", b"# Look at"),
        ("out.JSONL", b'{"parentUuid"'),
        ("out.zip", b"PK"),
    ],
)
def test_the_end_of_a_name_says_the_format(
    rich: BlockingSessions, tmp_path: Path, name: str, begin: bytes
) -> None:
    assert rich.export(MAIN, tmp_path / name).read_bytes().startswith(begin)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_zip_is_the_whole_session_elsewhere(tmp_path: Path, version: str) -> None:
    here = BlockingSessions(sample(version, tmp_path), index=tmp_path / "here.db")
    path = here.export(MAIN, tmp_path / "out.zip", redact=False)
    there = BlockingSessions(tmp_path / "there", index=tmp_path / "there.db")
    info = there.import_(path)
    before, after = here.open(MAIN), there.open(MAIN)
    assert [it.line for it in after.entries()] == [it.line for it in before.entries()]
    assert [it.tool_use_id for it in after.agents()] == [it.tool_use_id for it in before.agents()]
    assert (info.totals, info.folder) == (here.info(MAIN).totals, "-project")
    with pytest.raises(StoreError, match="already"):
        there.import_(path)


def test_a_redacted_zip_can_be_imported_into_another_project(
    rich: BlockingSessions, tmp_path: Path
) -> None:
    path = rich.export(MAIN, tmp_path / "out.zip")
    there = BlockingSessions(tmp_path / "there", index=tmp_path / "there.db")
    info = there.import_(path, cwd=tmp_path)
    assert SECRET not in Path(info.path).read_text(encoding="utf-8")
    assert Path(info.path).parent.name == re.sub(r"[^a-zA-Z0-9]", "-", str(tmp_path))
    assert info.prompts == rich.info(MAIN).prompts
    assert info.agents == 1


def test_exported_lines_can_be_imported(tmp_path: Path) -> None:
    config = tmp_path / "config"
    conversation(config).raw(b"broken\n")
    here = BlockingSessions(config, index=tmp_path / "here.db")
    path = here.export(MAIN, tmp_path / "out.jsonl", redact=False)
    there = BlockingSessions(tmp_path / "there", index=tmp_path / "there.db")
    there.import_(path)
    good = [it.line for it in here.open(MAIN).entries()][:-1]
    assert [it.line for it in there.open(MAIN).entries()] == good


@pytest.mark.parametrize(
    "names",
    [
        {"other.txt": "x"},
        {"claudewire.json": "{}"},
        {"claudewire.json": '{"id": "a", "folder": "f"}'},
        {"claudewire.json": '{"id": "../a", "folder": "f"}', "session.jsonl": ""},
        {"claudewire.json": '{"id": "a", "folder": "f"}', "session.jsonl": "", "../x": ""},
        {
            "claudewire.json": '{"id": "a", "folder": "f"}',
            "session.jsonl": "",
            "subagents/../../agent-x.jsonl": "",
        },
    ],
)
def test_a_zip_that_is_something_else_is_refused(tmp_path: Path, names: dict[str, str]) -> None:
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    sessions = BlockingSessions(tmp_path / "config", index=tmp_path / "index.db")
    with pytest.raises(StoreError):
        sessions.import_(path)
    assert not (tmp_path / "config").exists()


def test_a_file_that_is_no_session_is_refused(tmp_path: Path) -> None:
    sessions = BlockingSessions(tmp_path / "config", index=tmp_path / "index.db")
    (tmp_path / "in.jsonl").write_text("nothing\n", encoding="utf-8")
    with pytest.raises(StoreError, match="does not say which session it is"):
        sessions.import_(tmp_path / "in.jsonl")
    with pytest.raises(StoreError, match="cannot be imported"):
        sessions.import_(tmp_path / "missing.zip")


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("One\ntwo\n\nthree", "<p>One<br>two</p>\n<p>three</p>\n"),
        ("## A *b* #", "<h4>A <em>b</em></h4>\n"),
        ("```py\na < b\n```\nx", '<pre data-language="py"><code>a &lt; b</code></pre>\n<p>x</p>\n'),
        ("~~~\nopen", "<pre><code>open</code></pre>\n"),
        (
            "- a\n- b\n  1. c\n  more\n- d",
            "<ul><li>a</li><li>b<ol><li>c<br>more</li></ol></li><li>d</li></ul>\n",
        ),
        ("> a\n> b\nc", "<blockquote><p>a<br>b<br>c</p>\n</blockquote>\n"),
        ("---\n***", "<hr>\n<hr>\n"),
        (
            "| a | b |\n|---|---|\n| 1 | `2` |",
            "<div class=wide><table><tr><th>a</th><th>b</th></tr>"
            "<tr><td>1</td><td><code>2</code></td></tr></table></div>\n",
        ),
        ("| no | table |", "<p>| no | table |</p>\n"),
        ("[x](javascript:alert(1)) <b>", "<p>[x](javascript:alert(1)) &lt;b&gt;</p>\n"),
        ("2 * 3 * 4 and **so** on", "<p>2 * 3 * 4 and <strong>so</strong> on</p>\n"),
    ],
)
def test_markdown_becomes_html(text: str, html: str) -> None:
    assert markdown_to_html(text) == html


@given(st.text(alphabet="ab *_`#->|[]()<&\n1.~\t:/", max_size=60))
def test_any_markdown_becomes_well_formed_html_without_losing_letters(text: str) -> None:
    made = markdown_to_html(text)
    # The target of a link and the language of a block are kept where they are not shown.
    hidden = re.findall('(?:href|data-language)="([^"]*)"', made)
    kept = parsed(made) + unescape("".join(hidden))
    assert [kept.count(letter) for letter in "ab"] == [text.count(letter) for letter in "ab"]


@pytest.mark.parametrize(
    ("count", "text"), [(999, "999"), (9_999, "9,999"), (12_345, "12.3k"), (2_000_000, "2M")]
)
def test_numbers_are_short(count: int, text: str) -> None:
    assert _number(count) == text


NASTY = (
    "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    ' [x](javascript:alert(1)) `" onclick=x` \u202egnp.exe\u2066 \x1b]0;title\x07'
    f" \x1b[31mred\x1b[0m zero\u200bwidth \x9b \x00 {SECRET} \n# forged"
)


def nasty(config: Path) -> None:
    """Write a conversation in which every field says something that it should not."""
    writer = Writer(config, cwd="/project")
    common: dict[str, Any] = {
        "cwd": f"/{NASTY}",
        "gitBranch": NASTY,
        "version": NASTY,
        "slug": NASTY,
    }
    image = picture(NASTY, NASTY)
    writer.raw({"type": "custom-title", "customTitle": NASTY, "sessionId": MAIN})
    writer.line(type="system", subtype="informational", content=NASTY, level="error", **common)
    writer.user([{"type": "text", "text": NASTY}, image], timestamp=NASTY, **common)
    writer.model({"type": "thinking", "thinking": NASTY}, NASTY, **common)
    block = {"type": "tool_use", "id": "t1", "name": NASTY, "input": {NASTY: NASTY, "url": NASTY}}
    message = {"id": "m", "role": "assistant", "model": NASTY, "content": [block], "usage": {}}
    writer.line(type="assistant", message=message, **common)
    result = [{"type": "text", "text": NASTY}, image]
    writer.user([{"type": "tool_result", "tool_use_id": "t1", "content": result}], **common)
    writer.call("Agent", id="t2", prompt=NASTY, description=NASTY)
    writer.call("Edit", id="t3", file_path=NASTY, old_string=NASTY, new_string=NASTY + "x")
    writer.call("Bash", id="t4", command=NASTY, description=NASTY)
    writer.user(NASTY, isCompactSummary=True)
    queued = {"type": "queued_command", "prompt": NASTY}
    writer.line(type="attachment", attachment=queued)
    writer.user("```" + NASTY + "\n" + NASTY + "\n| " + NASTY + " |\n|---|\n- " + NASTY)
    side = Writer(config, f"{MAIN}/subagents/agent-a")
    side.user(NASTY, sessionId=MAIN)
    meta = {"toolUseId": "t2", "agentType": NASTY, "description": NASTY}
    side.path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")


@pytest.mark.parametrize("format", ["html", "md"])
def test_no_field_of_a_conversation_breaks_out_of_its_place(tmp_path: Path, format: str) -> None:
    nasty(tmp_path / "config")
    sessions = BlockingSessions(tmp_path / "config", index=tmp_path / "index.db")
    path = sessions.export(MAIN, tmp_path / f"out.{format}")
    text = path.read_text(encoding="utf-8")
    assert SECRET not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", text)
    assert "[31m" not in text.replace(r"\u001b[31m", "")  # which is what JSON makes of it
    assert r"\u202egnp.exe" in text
    if format == "html":
        assert parsed(text).count("<script>") > 10
        assert "<script" not in text
        assert 'href="javascript' not in text
    else:
        assert text.splitlines()[0].endswith("# forged")  # the title is one line


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sessions = write_rich(Path(folder))
        for kept in WHOLE:
            kept.unlink(missing_ok=True)
            sessions.export(MAIN, kept)
