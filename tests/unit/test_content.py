"""Prompts of text, images and documents, and files that cannot be sent."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from claudewire import content
from claudewire.content import Prompt, document, image, to_content
from claudewire.errors import OptionsError
from claudewire.wire import (
    Base64Source,
    Connection,
    DocumentBlock,
    ImageBlock,
    Role,
    TextBlock,
    TextSource,
    URLSource,
    UserMessage,
)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def on_the_wire(prompt: Prompt) -> Any:
    line = Connection(Role.CLIENT).send(UserMessage.of(to_content(prompt)))
    return json.loads(line)["message"]["content"]


# --- images --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0" + bytes(20), "image/jpeg"),
        (b"GIF89a" + bytes(20), "image/gif"),
        (b"RIFF\x24\0\0\0WEBPVP8 " + bytes(20), "image/webp"),
    ],
)
def test_an_image_is_recognised_by_its_first_bytes(data: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.dat"  # its name says nothing
    path.write_bytes(data)
    expected = ImageBlock(Base64Source(kind, encoded(data)))
    assert image(data) == image(path) == image(str(path)) == expected
    assert image(f"data:{kind};base64,{encoded(data)}") == expected


def test_a_path_may_begin_with_the_home_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "a.png").write_bytes(PNG)
    assert image("~/a.png") == image(PNG)


@pytest.mark.parametrize("url", ["https://example.org/a.png", "HTTP://A/B.PNG"])
def test_an_image_at_a_url_is_left_to_the_api(url: str) -> None:
    assert image(url).source == URLSource(url)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("none.png", "'none.png' cannot be read: No such file or directory"),
        (b"", "The data is empty"),
        (b"BM bitmap", "The data must be a PNG, JPEG, GIF or WebP image; it is something else"),
        (PDF, "must be a PNG, .*; it is application/pdf$"),
        ("data:image/png;base64,a", "A data: URL must have the form data:image/png;base64,"),
        (7, "Expected a path, bytes or a URL, not int"),
    ],
)
def test_an_unsuitable_image_is_refused_with_the_reason(what: Any, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        image(what)


def test_a_file_that_the_api_refuses_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content, "MOST_BYTES", 100)
    path = tmp_path / "large.png"
    path.write_bytes(PNG + bytes(100))
    with pytest.raises(OptionsError, match=r"large\.png' is too large: 0\.0 MB .* accepts 0 MB"):
        image(path)
    image(PNG.ljust(75))  # 100 bytes in base64, which goes to the API
    with pytest.raises(OptionsError, match="The data is too large"):
        image(PNG.ljust(76))
    with pytest.raises(OptionsError, match="The data is too large"):
        document(b"x" * 101)


# --- documents -----------------------------------------------------------------------------------


def test_a_pdf_is_sent_as_a_document(tmp_path: Path) -> None:
    path = tmp_path / "spec.pdf"
    path.write_bytes(PDF)
    source = Base64Source("application/pdf", encoded(PDF))
    assert document(path) == document(str(path)) == DocumentBlock(source, "spec.pdf")
    assert document(PDF) == document(memoryview(PDF)) == DocumentBlock(source)
    assert document(f"data:application/pdf;base64,{encoded(PDF)}") == DocumentBlock(source)
    url = "https://example.org/a.pdf"
    for given, found in ((path, source), (PDF, source), (url, URLSource(url))):
        made = document(given, title="T", context="C", citations=True)
        assert made == DocumentBlock(found, "T", "C", {"enabled": True})


def test_text_is_sent_as_a_document(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(b"\xef\xbb\xbfNotes: \xc3\xa4\n")
    assert document(path) == DocumentBlock(TextSource("text/plain", "Notes: ä\n"), "notes.md")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (PNG, r"must be a PDF or plain text; it is image/png\nUse image\(\) for an image"),
        (b"\xff\xfe\x00", "The data is neither a PDF nor text in UTF-8"),
        (b"a\0b", "it contains NUL characters"),
    ],
)
def test_an_unsuitable_document_is_refused_with_the_reason(what: bytes, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        document(what)


# --- prompts -------------------------------------------------------------------------------------


def test_parts_become_blocks_of_the_api() -> None:
    assert on_the_wire("Hello") == "Hello"
    block: dict[str, Any] = {"type": "hologram", "new_field": {"a": [1]}}
    text = document(b"Notes", title="N", citations=True)
    sent = to_content(("See", TextBlock("here"), image(PNG), text, block))
    block["new_field"]["a"].clear()
    assert on_the_wire(sent) == [
        {"type": "text", "text": "See"},
        {"type": "text", "text": "here"},
        {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": encoded(PNG)},
        },
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "Notes"},
            "title": "N",
            "citations": {"enabled": True},
        },
        {"type": "hologram", "new_field": {"a": [1]}},
    ]
    assert to_content(TextBlock("x")) == [TextBlock("x")]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        (" \n", "must not be empty or blank"),
        (["Hi", ""], "must not be empty or blank"),
        ([], "The prompt is empty"),
        ([Path("a.png")], r"not \w*Path\nUse image\(\) or document\(\)"),
        ([None], "not NoneType$"),
    ],
)
def test_an_unsuitable_prompt_is_refused_with_the_reason(prompt: Any, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        to_content(prompt)
