"""What a prompt is made of: text, images and documents, from files, bytes or URLs.

    await claude.send(["What is wrong here?", Image.of("screen.png"), Document.of("spec.pdf")])

Files are read when an object is made, at once and whole.
"""

from __future__ import annotations

import base64
import binascii
import copy
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import OptionsError
from .wire import (
    Base64Source,
    Block,
    Content,
    DocumentBlock,
    ImageBlock,
    TextBlock,
    TextSource,
    UnknownBlock,
    URLSource,
)

__all__ = ["Bytes", "Document", "Image", "Part", "Prompt", "StrPath", "Text", "to_content"]

MOST_BYTES = 32 * 1000 * 1000
"""The Messages API accepts no larger request. Most CLIs shrink large images (2.1.17 does not, and
refuses them above 5 MB), but what is larger than this cannot arrive."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds of images that the model can see."""

PDF = "application/pdf"
PLAIN = "text/plain"

Bytes = bytes | bytearray | memoryview
"""The content of a file."""
StrPath = str | os.PathLike[str]
"""A path."""


@dataclass(frozen=True, slots=True)
class Text:
    """Some text."""

    text: str

    def block(self) -> TextBlock:
        """Return it as it goes over the wire.

        Raises:
            OptionsError: it is empty or blank, which the API refuses.
        """
        if not self.text.strip():
            raise OptionsError("Text in a prompt must not be empty or blank: the API refuses it")
        return TextBlock(self.text)


@dataclass(frozen=True, slots=True)
class Image:
    """An image for the model to see. `Image.of` makes one."""

    source: Base64Source | URLSource

    @classmethod
    def of(cls, what: StrPath | Bytes, *, media_type: str | None = None) -> Image:
        """Make an image from a file, from bytes, or from a URL that the API can reach.

        Args:
            what: a path, the bytes of an image, an `https:` URL, or a `data:` URL.
            media_type: what kind of image it is; taken from its first bytes if not given.

        Raises:
            OptionsError: there is no such file, or it is not an image that the model can see.
        """
        if (url := _url(what)) is not None:
            return cls(URLSource(url))
        data, name = _bytes(what)
        found = _kind(data)
        if found not in IMAGES or media_type not in (None, found):
            shown = _found(found, media_type)
            raise OptionsError(f"{name} must be a PNG, JPEG, GIF or WebP image; it is {shown}")
        return cls(Base64Source(found, _encoded(data, name)))

    def block(self) -> ImageBlock:
        """Return it as it goes over the wire."""
        return ImageBlock(self.source)

    def __repr__(self) -> str:
        return f"Image({_described(self.source)})"


@dataclass(frozen=True, slots=True)
class Document:
    """A document for the model to read. `Document.of` makes one from a file.

    Attributes:
        source: what is in it.
        title: what it is called.
        context: what else the model should know about it.
        citations: whether the model should cite the passages it relies on.
    """

    source: Base64Source | TextSource | URLSource
    title: str | None = None
    context: str | None = None
    citations: bool = False

    @classmethod
    def of(
        cls,
        what: StrPath | Bytes,
        *,
        title: str | None = None,
        context: str | None = None,
        citations: bool = False,
        media_type: str | None = None,
    ) -> Document:
        """Make a document from a file, from bytes, or from the URL of a PDF that the API can reach.

        Args:
            what: a path, the bytes of a PDF or of text in UTF-8, an `https:` URL, or a `data:` URL.
            title: what it is called; the name of the file if not given.
            context: what else the model should know about it.
            citations: whether the model should cite the passages it relies on.
            media_type: `application/pdf` or `text/plain`; taken from its first bytes if not given.

        Raises:
            OptionsError: there is no such file, or it is neither a PDF nor text.
        """
        if (url := _url(what)) is not None:
            return cls(URLSource(url), title, context, citations)
        data, name = _bytes(what)
        if title is None and not isinstance(what, Bytes) and name != _DATA_URL:
            title = os.path.basename(os.fspath(what))
        source = _document_source(data, name, media_type)
        return cls(source, title, context, citations)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        title: str | None = None,
        context: str | None = None,
        citations: bool = False,
    ) -> Document:
        """Make a document from a string."""
        return cls(TextSource(PLAIN, text), title, context, citations)

    def block(self) -> DocumentBlock:
        """Return it as it goes over the wire."""
        cited = {"enabled": True} if self.citations else None
        return DocumentBlock(self.source, self.title, self.context, cited)

    def __repr__(self) -> str:
        title = f", title={self.title!r}" if self.title is not None else ""
        return f"Document({_described(self.source)}{title})"


Part = str | Text | Image | Document | Block | Mapping[str, Any]
"""A part of a prompt. A mapping is a content block as the Messages API has it."""

Prompt = Part | Sequence[Part]
"""What can be sent: text, an image, a document, or several of them."""


def to_content(prompt: Prompt) -> Content:
    """Return a prompt as it goes over the wire.

    Raises:
        OptionsError: it is empty, or a part of it cannot be sent.
    """
    if isinstance(prompt, str):
        Text(prompt).block()  # checks it; a single string needs no block
        return prompt
    parts: object = prompt
    if not isinstance(parts, Sequence) or isinstance(parts, Bytes):
        return [_block(parts)]
    if not parts:
        raise OptionsError("The prompt is empty")
    return [_block(part) for part in parts]


def _block(part: object) -> Block:
    if isinstance(part, str):
        return Text(part).block()
    if isinstance(part, Text | Image | Document):
        return part.block()
    if isinstance(part, Block):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return UnknownBlock(copy.deepcopy(dict(part)))  # written as it is, with all its fields
    is_file = isinstance(part, os.PathLike | Bytes)
    raise OptionsError(
        f"A prompt is made of text, images and documents, not {type(part).__name__}",
        advice="Use Image.of or Document.of for a file." if is_file else "",
    )


# --- files, bytes, URLs --------------------------------------------------------------------------

_DATA_URL = "The data: URL"


def _url(what: StrPath | Bytes) -> str | None:
    is_url = isinstance(what, str) and what.lower().startswith(("https://", "http://"))
    return str(what) if is_url else None


def _bytes(what: StrPath | Bytes) -> tuple[bytes, str]:
    """Return the bytes, and what to call them in an error."""
    if isinstance(what, Bytes):
        data, name = bytes(what), "The data"
    elif isinstance(what, str) and what.startswith("data:"):
        data, name = _decoded_url(what), _DATA_URL
    elif isinstance(what, str | os.PathLike):
        data, name = _read(Path(what).expanduser()), repr(os.fspath(what))
    else:
        raise OptionsError(f"Expected a path, bytes or a URL, not {type(what).__name__}")
    if not data:
        raise OptionsError(f"{name} is empty")
    return data, name


def _decoded_url(url: str) -> bytes:
    head, comma, body = url.partition(",")
    try:
        if comma and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
    except binascii.Error:
        pass
    raise OptionsError("A data: URL must have the form data:image/png;base64,…")


def _read(path: Path) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise OptionsError(_too_large(repr(str(path)), path.stat().st_size))
        return path.read_bytes()
    except FileNotFoundError:
        raise OptionsError(f"There is no file {str(path)!r}") from None
    except IsADirectoryError:
        raise OptionsError(f"{str(path)!r} is a directory, not a file") from None
    except (OSError, ValueError) as error:
        raise OptionsError(f"{str(path)!r} cannot be read: {error}") from error


def _encoded(data: bytes, name: str) -> str:
    encoded = base64.b64encode(data).decode("ascii")
    if len(encoded) > MOST_BYTES:
        raise OptionsError(_too_large(name, len(encoded)))
    return encoded


def _too_large(name: str, size: int) -> str:
    return (
        f"{name} is too large: {size / 1e6:.1f} MB in a request to the API, "
        f"which accepts {MOST_BYTES / 1e6:.0f} MB"
    )


def _document_source(data: bytes, name: str, media_type: str | None) -> Base64Source | TextSource:
    found = _kind(data)
    kind = media_type or found or PLAIN
    if kind == PDF and found == PDF:
        return Base64Source(PDF, _encoded(data, name))
    if kind.startswith("text/") and found is None:
        return TextSource(PLAIN, _decoded(data, name))
    advice = "Use Image.of for an image." if found in IMAGES else ""
    shown = _found(found, media_type)
    raise OptionsError(f"{name} must be a PDF or plain text; it is {shown}", advice=advice)


def _found(kind: str | None, media_type: str | None) -> str:
    """Say what data is, and what it is not."""
    return f"{kind or 'something else'}{f', not {media_type}' if media_type else ''}"


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise OptionsError(_too_large(name, len(data)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OptionsError(f"{name} is neither a PDF nor text in UTF-8: {error}") from None
    if "\0" in text:
        raise OptionsError(f"{name} is neither a PDF nor text: it contains NUL characters")
    return text


def _kind(data: bytes) -> str | None:
    """Recognise data by its first bytes."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    for start, kind in _STARTS.items():
        if data.startswith(start):
            return kind
    return None


_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": PDF,
}


def _described(source: Base64Source | TextSource | URLSource) -> str:
    if isinstance(source, URLSource):
        return repr(source.url)
    if isinstance(source, TextSource):
        return f"{source.media_type}, {len(source.data):,} characters"
    size = len(source.data) * 3 // 4 - source.data[-2:].count("=")
    return f"{source.media_type}, {size:,} bytes"
