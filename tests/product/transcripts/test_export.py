"""Sessions as files: to read, without secrets; and whole, to take elsewhere."""

from __future__ import annotations

import json
import re
import zipfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.browser import Browser

from claudewire.transcripts import SessionInfo, StoreError, Transcripts, project_folder

from .made import MAIN, Writer, conversation

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)
SECRET = "sk-ant-api03-abcdefghijklmnop"

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


def opened(config: Path) -> Transcripts:
    return Transcripts(config, index=":memory:")


@pytest.fixture
def rich(tmp_path: Path) -> Transcripts:
    """A conversation with everything that can be in one."""
    config = tmp_path / "config"
    writer = Writer(config)
    image, strange = picture("image/png", PIXEL), picture("image/x", "@")
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
    side = Writer(config, f"{MAIN}/subagents/agent-a")
    side.user("Look around", isSidechain=True, sessionId=MAIN)
    side.model("I looked around.", isSidechain=True, sessionId=MAIN)
    side.path.with_suffix(".meta.json").write_text('{"toolUseId": "t5"}', encoding="utf-8")
    return opened(config)


# --- pages ---------------------------------------------------------------------------------------


def test_html_shows_everything_and_is_well_formed(rich: Transcripts, tmp_path: Path) -> None:
    html = rich.export(MAIN, tmp_path / "out.html").read_text(encoding="utf-8")
    text = parsed(html)
    for shown in (
        "Look at <script>alert(1)</script>",
        "Careful!",
        "Thinking",
        "code <b>",
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
    assert "<key-1>" in text


@pytest.mark.parametrize("dark", [False, True])
def test_page_opens_in_a_browser_without_a_request(
    rich: Transcripts, browser: Browser, tmp_path: Path, dark: bool
) -> None:
    page = rich.export(MAIN, tmp_path / "out.html").read_text(encoding="utf-8")
    browser.open(page, tmp_path, dark=dark)
    assert "Second prompt" in str(browser.run("return document.body.innerText"))
    browser.check()


def test_markdown_shows_everything(rich: Transcripts, tmp_path: Path) -> None:
    text = rich.export(MAIN, tmp_path / "out.markdown").read_text(encoding="utf-8")
    assert text.startswith("# Look at <script>alert(1)</script>\n\n- **Project**: /project")
    for shown in (
        "## Before the first prompt\n\n> *Careful!*",
        "> *Thinking*\n>\n> Hm, *what* is it?",
        "**Claude**\n\n# A title",
        '**Edit**\n\n```json\n{\n  "file_path": "/a.py"',
        "*[image/png, ",
        "### User\n\nLook around\n",
        "Result:\n\n````\n```\nThe agent is back\n```\n````",
        "> *Summary of the conversation before*\n>\n> What came before",
    ):
        assert shown in text, shown


def test_secrets_and_tool_output_can_be_kept_or_left_out(rich: Transcripts, tmp_path: Path) -> None:
    for name in ("out.html", "out.md", "out.jsonl"):
        short = rich.export(MAIN, tmp_path / name, tool_output=False).read_text(encoding="utf-8")
        whole = rich.export(MAIN, tmp_path / f"whole-{name}", redact=False)
        assert SECRET not in short
        assert SECRET in whole.read_text(encoding="utf-8")
        assert ("The agent is back" in short) is (name == "out.jsonl")


def test_branch_is_exported_by_one_of_its_lines(tmp_path: Path) -> None:
    writer = conversation(tmp_path / "config")
    writer.user("Other way", parentUuid="u2")
    writer.model("Here it is")
    sessions = opened(tmp_path / "config")
    current = sessions.export(MAIN, tmp_path / "a.md").read_text(encoding="utf-8")
    other = sessions.export(MAIN, tmp_path / "b.md", branch="u6").read_text(encoding="utf-8")
    assert ("dead letter" in current, "dead letter" in other) == (False, True)
    lines = sessions.export(MAIN, tmp_path / "c.jsonl", branch="u8").read_bytes().splitlines()
    assert [json.loads(line)["uuid"] for line in lines] == ["u1", "u2", "u7", "u8"]


def test_name_tells_the_format_and_no_file_is_replaced(rich: Transcripts, tmp_path: Path) -> None:
    rich.export(MAIN, tmp_path / "out", format="md")
    rich.export(MAIN, tmp_path / "out.zip")
    for name in ("out", "out.zip"):
        with pytest.raises(StoreError, match="exists already"):
            rich.export(MAIN, tmp_path / name, format="md" if name == "out" else None)
    with pytest.raises(StoreError, match=r"The name out\.pdf does not tell") as caught:
        rich.export(MAIN, tmp_path / "out.pdf")
    assert caught.value.advice.startswith("End it with .html, .md, .jsonl or .zip")
    assert [path for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600


NASTY = (
    "</title></style><script>alert(1)</script><img src=x onerror=alert(1)>"
    ' [x](javascript:alert(1)) `" onclick=x` \u202egnp.exe\u2066 \x1b]0;title\x07'
    f" \x1b[31mred\x1b[0m zero\u200bwidth \x9b \x00 {SECRET} \n# forged"
)


def nasty(config: Path) -> None:
    """Write a conversation in which every field is hostile."""
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
def test_no_field_breaks_out_of_its_place(tmp_path: Path, format: str) -> None:
    nasty(tmp_path / "config")
    sessions = opened(tmp_path / "config")
    path = sessions.export(MAIN, tmp_path / f"out.{format}")
    text = path.read_text(encoding="utf-8")
    assert SECRET not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2066-\u2069]", text)
    assert "[31m" not in text.replace(r"\u001b[31m", "")  # as JSON writes it
    assert r"\u202egnp.exe" in text
    if format == "html":
        assert parsed(text).count("<script>") > 10
        assert "<script" not in text
        assert 'href="javascript' not in text
    else:
        assert text.splitlines()[0].endswith("# forged")  # the title is one line


# --- elsewhere -----------------------------------------------------------------------------------

ID = MAIN.encode()
FILES = {
    "": b'{"type": "user",  "sessionId": "%b"}\nbroken \xff\n{"sessionId":"other"}\n'
    % MAIN.encode(),
    "subagents/agent-a.jsonl": b'{"sessionId": "%b",  "x": 1}\nnothing\n{}\n' % MAIN.encode(),
    "subagents/agent-a.meta.json": b'{ "agentType": "Explore" }',
    "tool-results/deep/long.txt": b"one\n\n\xff two\r\nno newline",
}


def written(config: Path) -> Transcripts:
    path = Writer(config).path
    for name, data in FILES.items():
        place = path.with_suffix("") / name if name else path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    return opened(config)


def files_of(info: SessionInfo) -> dict[str, bytes]:
    main = Path(info.path)
    beside = main.with_suffix("")
    found = {it.relative_to(beside).as_posix(): it for it in beside.rglob("*") if it.is_file()}
    return {"": main.read_bytes(), **{name: it.read_bytes() for name, it in found.items()}}


def test_imported_session_has_the_same_files(tmp_path: Path) -> None:
    here = written(tmp_path / "config")
    path = here.export(MAIN, tmp_path / "out.zip", redact=False)
    there = opened(tmp_path / "there")
    info = there.import_(path, cwd=tmp_path)
    assert files_of(info) == FILES
    assert info.folder == project_folder(tmp_path)
    with pytest.raises(StoreError, match=f"There is a session {MAIN} already"):
        there.import_(path)
    assert opened(tmp_path / "no-cwd").import_(path).folder == "imported"


def test_new_id_changes_only_the_lines_of_the_session(tmp_path: Path) -> None:
    sessions = written(tmp_path / "config")
    path = sessions.export(MAIN, tmp_path / "out.zip", redact=False)
    info = sessions.import_(path, new_id=True)
    new = info.id.encode()
    assert files_of(info) == {
        **FILES,
        "": b'{"type":"user","sessionId":"%b"}\nbroken \xff\n{"sessionId":"other"}\n' % new,
        "subagents/agent-a.jsonl": b'{"sessionId":"%b","x":1}\nnothing\n{}\n' % new,
    }


def test_redacted_zip_can_be_imported(rich: Transcripts, tmp_path: Path) -> None:
    path = rich.export(MAIN, tmp_path / "out.zip")
    info = opened(tmp_path / "there").import_(path, cwd=tmp_path)
    assert SECRET not in Path(info.path).read_text(encoding="utf-8")
    assert (info.prompts, info.agents) == (rich.info(MAIN).prompts, 1)


MANIFEST = {"claudewire.json": '{"id": "a"}', "session.jsonl": '{"type":"user"}\n'}


@pytest.mark.parametrize(
    "names",
    [
        {"other.txt": "x"},
        {"claudewire.json": "{}"},
        {"claudewire.json": '{"id": "a"}'},
        {**MANIFEST, "claudewire.json": '{"id": "../a"}'},
        {**MANIFEST, "../x": ""},
        {**MANIFEST, "subagents/../../agent-x.jsonl": ""},
        {**MANIFEST, "subagents/agent-x.jsonl": "", "subagents/agent-x.jsonl/agent-y.jsonl": ""},
    ],
)
def test_malformed_zip_leaves_nothing(tmp_path: Path, names: dict[str, str]) -> None:
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in names.items():
            archive.writestr(name, content)
    with pytest.raises(StoreError, match=r"cannot be imported"):
        opened(tmp_path / "config").import_(path)
    assert not (tmp_path / "config" / "projects").exists()


def test_damaged_zip_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "in.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in MANIFEST.items():
            archive.writestr(name, content)
    path.write_bytes(path.read_bytes().replace(b'"user"', b'"ruse"', 1))
    with pytest.raises(StoreError, match=r"in\.zip cannot be imported: Bad CRC-32"):
        opened(tmp_path / "config").import_(path)
    assert not (tmp_path / "config" / "projects").exists()
