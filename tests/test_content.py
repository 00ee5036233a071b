"""What a prompt is made of."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as each
from hypothesis import strategies as st

from claudewire import content
from claudewire.content import Document, Image, Part, Prompt, Text, to_content
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
JPEG = b"\xff\xd8\xff\xe0" + bytes(20)
GIF = b"GIF89a" + bytes(20)
WEBP = b"RIFF\x24\0\0\0WEBPVP8 " + bytes(20)
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
        (JPEG, "image/jpeg"),
        (GIF, "image/gif"),
        (b"GIF87a" + bytes(9), "image/gif"),
        (WEBP, "image/webp"),
    ],
)
def test_a_image_is_known_by_its_first_bytes(data: bytes, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.dat"  # its name says nothing
    path.write_bytes(data)
    expected = Image(Base64Source(kind, encoded(data)))

    assert Image.of(data) == Image.of(path) == Image.of(str(path)) == expected
    assert Image.of(bytearray(data), media_type=kind) == expected
    assert Image.of(f"data:{kind};base64,{encoded(data)}") == expected


def test_a_image_in_the_home_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    (tmp_path / "a.png").write_bytes(PNG)
    assert Image.of("~/a.png") == Image.of(PNG)


@pytest.mark.parametrize("url", ["https://example.org/a.png", "http://a/b", "HTTPS://A/B.PNG"])
def test_a_image_at_an_address_is_fetched_by_the_api(url: str) -> None:
    assert Image.of(url).source == URLSource(url)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("none.png", "There is no file 'none.png'"),
        (".", "'.' is a directory, not a file"),
        ("empty.png", "'empty.png' is empty"),
        (b"", "The data is empty"),
        (b"BM bitmap", "The data must be a PNG, JPEG, GIF or WebP image; it is something else"),
        (PDF, "must be a PNG, .*; it is application/pdf$"),
        (b"RIFF\x24\0\0\0WAVEfmt ", "image; it is something else$"),
        (b"XXXX\x24\0\0\0WEBPVP8 ", "image; it is something else$"),
        ("file.txt/a.png", "'file.txt/a.png' cannot be read: .*Not a directory"),
        ("data:image/png;base64", "A data: URL must have the form"),
        ("data:image/png,abc", "A data: URL must have the form data:image/png;base64,"),
        ("data:image/png;base64,a", "A data: URL must have the form"),
        ("nul\0.png", "cannot be read"),
        (7, "Expected a path, bytes or a URL, not int"),
    ],
)
def test_what_is_no_image_is_refused_in_words(
    what: Any, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.png").touch()
    (tmp_path / "file.txt").touch()
    with pytest.raises(OptionsError, match=words):
        Image.of(what)


def test_a_image_that_is_not_what_it_is_said_to_be_is_refused() -> None:
    with pytest.raises(OptionsError, match="it is image/png, not image/jpeg"):
        Image.of(PNG, media_type="image/jpeg")


def test_what_cannot_arrive_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content, "MOST_BYTES", 100)
    path = tmp_path / "large.png"
    path.write_bytes(PNG + bytes(100))
    with pytest.raises(OptionsError, match=r"large\.png' is too large: 0\.0 MB .* accepts 0 MB"):
        Image.of(path)
    with pytest.raises(OptionsError, match="The data is too large"):
        Image.of(PNG + bytes(60))  # it is the encoded form that goes to the API
    with pytest.raises(OptionsError, match="The data is too large"):
        Document.of(b"x" * 101)


def test_so_much_can_arrive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    most = 24_000_000  # bytes, of which three become four
    assert len(Image.of(PNG.ljust(most)).block().source.data) == 32_000_000  # type: ignore[union-attr]
    with pytest.raises(OptionsError) as caught:
        Image.of(PNG.ljust(most + 1))
    assert str(caught.value) == (
        "The data is too large: 32.0 MB in a request to the API, which accepts 32 MB"
    )
    monkeypatch.setattr(content, "MOST_BYTES", 100)
    path = tmp_path / "notes"
    path.write_bytes(b"x" * 100)
    assert Document.of(path).source == Document.of(b"x" * 100).source
    path.write_bytes(b"x" * 101)
    for what in (path, b"x" * 101):
        with pytest.raises(OptionsError, match="is too large"):
            Document.of(what)


# --- documents -----------------------------------------------------------------------------------


def test_a_pdf(tmp_path: Path) -> None:
    path = tmp_path / "spec.pdf"
    path.write_bytes(PDF)
    source = Base64Source("application/pdf", encoded(PDF))

    assert Document.of(path) == Document(source, "spec.pdf")
    assert Document.of(str(path), title="The spec") == Document(source, "The spec")
    assert Document.of(PDF) == Document.of(memoryview(PDF)) == Document(source)
    assert Document.of(f"data:application/pdf;base64,{encoded(PDF)}") == Document(source)
    assert Document.of("https://example.org/a.pdf") == Document(
        URLSource("https://example.org/a.pdf")
    )
    given: dict[str, Any] = {"title": "T", "context": "C", "citations": True}
    for made in (Document.of(path, **given), Document.of(PDF, **given)):
        assert made == Document(source, "T", "C", True)
    assert Document.of("http://a/b", **given) == Document(URLSource("http://a/b"), "T", "C", True)
    assert Document.of(PDF, media_type="application/pdf") == Document(source)


def test_a_text_is_a_document(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(b"\xef\xbb\xbfNotes: \xc3\xa4\n")

    assert Document.of(path) == Document(TextSource("text/plain", "Notes: ä\n"), "notes.md")
    assert Document.of(b"Notes", media_type="text/markdown").source == TextSource(
        "text/plain", "Notes"
    )
    assert Document.from_text("Notes") == Document(TextSource("text/plain", "Notes"))
    assert Document.from_text("Notes", title="N", context="C", citations=True).block() == (
        DocumentBlock(TextSource("text/plain", "Notes"), "N", "C", {"enabled": True})
    )


@pytest.mark.parametrize(
    ("what", "given", "words"),
    [
        (PNG, {}, r"must be a PDF or plain text; it is image/png\nUse Image.of for an image"),
        (b"\xff\xfe\x00", {}, "The data is neither a PDF nor text in UTF-8"),
        (b"a\0b", {}, "it contains NUL characters"),
        (b"text", {"media_type": "application/pdf"}, "it is something else, not application/pdf$"),
        (b"text", {"media_type": "image/png"}, "it is something else, not image/png$"),
        (PNG, {"media_type": "text/plain"}, "image/png, not text/plain\nUse Image.of for an image"),
        (PNG, {"media_type": "application/pdf"}, "it is image/png, not application/pdf\nUse"),
        (PDF, {"media_type": "text/plain"}, "it is application/pdf, not text/plain"),
        (b"", {}, "The data is empty"),
        ("none.txt", {}, "There is no file"),
    ],
)
def test_what_is_no_document_is_refused_in_words(
    what: Any, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(OptionsError, match=words):
        Document.of(what, **given)


# --- prompts -------------------------------------------------------------------------------------


def test_a_text_stays_a_text() -> None:
    assert to_content("Hello") == "Hello"
    assert on_the_wire("Hello") == "Hello"


def test_parts_become_blocks() -> None:
    picture, document = Image.of(PNG), Document.of(b"Notes", title="N")
    prompt: list[Part] = ["Look:", Text("here"), picture, document, TextBlock("there")]

    assert to_content(prompt) == [
        TextBlock("Look:"),
        TextBlock("here"),
        ImageBlock(picture.source),
        DocumentBlock(document.source, "N"),
        TextBlock("there"),
    ]
    assert to_content(tuple(prompt)) == to_content(prompt)
    assert to_content(picture) == [picture.block()]
    assert to_content(TextBlock("x")) == [TextBlock("x")]


def test_on_the_wire_it_is_what_the_api_takes() -> None:
    document = Document.of(b"Notes", title="N", citations=True)
    assert on_the_wire(["See", Image.of(PNG), document]) == [
        {"type": "text", "text": "See"},
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
    ]


def test_a_block_as_the_api_has_it_goes_as_it_is() -> None:
    block: dict[str, Any] = {"type": "text", "text": "Hi", "new_field": {"a": [1]}}
    made = to_content([block])
    block["new_field"]["a"].clear()
    assert on_the_wire(made) == [{"type": "text", "text": "Hi", "new_field": {"a": [1]}}]
    assert on_the_wire({"type": "hologram", "x": 1}) == [{"type": "hologram", "x": 1}]


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", "must not be empty or blank"),
        (" \n", "must not be empty or blank"),
        (["Hi", ""], "must not be empty or blank"),
        ([], "The prompt is empty"),
        ([Path("a.png")], r"not \w*Path\nUse Image.of or Document.of"),
        (Path("a.png"), r"not \w*Path\nUse Image.of"),
        (PNG, "not bytes\nUse Image.of"),
        (bytearray(PNG), "not bytearray\nUse Image.of"),
        (memoryview(PNG), "not memoryview\nUse Image.of"),
        ([{"type": 5}], "not dict$"),
        ([None], "not NoneType$"),
        ([{"text": "x"}], "not dict$"),
        (7, "documents, not int$"),
    ],
)
def test_what_cannot_be_said_is_refused_in_words(prompt: Any, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        to_content(prompt)


@each(st.text(min_size=1).filter(str.strip))
def test_every_text_can_be_said(text: str) -> None:
    assert to_content(text) == text
    assert to_content([text]) == [TextBlock(text)]


def test_repr_is_short() -> None:
    for size in (28, 29, 30, 12_345):
        assert repr(Image.of(PNG.ljust(size))) == f"Image(image/png, {size:,} bytes)"
    assert repr(Image.of("https://x/a.png")) == "Image('https://x/a.png')"
    assert repr(Document.of(b"Notes")) == "Document(text/plain, 5 characters)"
    assert repr(Document.of(PDF, title="N")) == (
        f"Document(application/pdf, {len(PDF)} bytes, title='N')"
    )
