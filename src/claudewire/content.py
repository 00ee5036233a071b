"""What a prompt is made of: text, pictures and documents, from files, bytes or addresses.

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

__all__ = ["Document", "Image", "Part", "Prompt", "Text", "to_content"]

MOST_BYTES = 32 * 1000 * 1000
"""The Messages API takes no larger request. A CLI makes large pictures smaller on the way (2.1.17
does not, and refuses them above 5 MB), but what is larger than this cannot arrive."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The pictures that the model can see."""

PDF = "application/pdf"
PLAIN = "text/plain"

Bytes = bytes | bytearray | memoryview
StrPath = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class Text:
    """Some text."""

    text: str

    def block(self) -> TextBlock:
        """Give it as it goes over the wire.

        Raises:
            OptionsError: there is nothing in it, which the API does not take.
        """
        if not self.text.strip():
            raise OptionsError("A text in a prompt must not be empty or blank: the API refuses it")
        return TextBlock(self.text)


@dataclass(frozen=True, slots=True, repr=False)
class Image:
    """A picture for the model to see. `Image.of` makes one."""

    source: Base64Source | URLSource

    @classmethod
    def of(cls, what: StrPath | Bytes, *, media_type: str | None = None) -> Image:
        """Make a picture of a file, of bytes, or of an address that the API can reach.

        Args:
            what: a path, the bytes of a picture, an `https:` address, or a `data:` URL.
            media_type: what kind of picture it is; seen from its first bytes if not given.

        Raises:
            OptionsError: there is no such file, or it is no picture that the model can see.
        """
        if (url := _address(what)) is not None:
            return cls(URLSource(url))
        data, name = _bytes(what)
        found = _kind(data)
        if found not in IMAGES or media_type not in (None, found):
            shown = f"is {found or 'something else'}" + (
                f", not {media_type}" if media_type else ""
            )
            raise OptionsError(f"{name} must be a PNG, JPEG, GIF or WebP picture; it {shown}")
        return cls(Base64Source(found, _encoded(data, name)))

    def block(self) -> ImageBlock:
        """Give it as it goes over the wire."""
        return ImageBlock(self.source)

    def __repr__(self) -> str:
        return f"Image({_described(self.source)})"


@dataclass(frozen=True, slots=True, repr=False)
class Document:
    """A document for the model to read. `Document.of` makes one of a file.

    Attributes:
        source: what is in it.
        title: what it is called.
        context: what else the model is to know about it.
        citations: whether the model is to say which passages it relies on.
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
        """Make a document of a file, of bytes, or of a PDF at an address that the API can reach.

        Args:
            what: a path, the bytes of a PDF or of a text in UTF-8, an `https:` address, or a
                `data:` URL.
            title: what it is called; the name of the file if not given.
            context: what else the model is to know about it.
            citations: whether the model is to say which passages it relies on.
            media_type: `application/pdf` or `text/plain`; seen from its first bytes if not given.

        Raises:
            OptionsError: there is no such file, or it is neither a PDF nor a text.
        """
        if (url := _address(what)) is not None:
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
        """Make a document of a text."""
        return cls(TextSource(PLAIN, text), title, context, citations)

    def block(self) -> DocumentBlock:
        """Give it as it goes over the wire."""
        cited = {"enabled": True} if self.citations else None
        return DocumentBlock(self.source, self.title, self.context, cited)

    def __repr__(self) -> str:
        title = f", title={self.title!r}" if self.title is not None else ""
        return f"Document({_described(self.source)}{title})"


Part = str | Text | Image | Document | Block | Mapping[str, Any]
"""A part of a prompt. A mapping is a content block as the Messages API has it."""

Prompt = Part | Sequence[Part]
"""What can be said: a text, a picture, a document, or several of them."""


def to_content(prompt: Prompt) -> Content:
    """Give a prompt as it goes over the wire.

    Raises:
        OptionsError: it is empty, or something in it cannot be said.
    """
    if isinstance(prompt, str):
        Text(prompt).block()  # to have it checked; a single text needs no block
        return prompt
    parts: object = prompt
    if not isinstance(parts, Sequence) or isinstance(parts, Bytes):
        return [_block(parts)]
    if not parts:
        raise OptionsError("The prompt is empty: there is nothing to say")
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
    advice = "; Image.of(path) and Document.of(path) read files"
    advice = advice if isinstance(part, os.PathLike | Bytes) else ""
    kind = type(part).__name__
    raise OptionsError(
        f"A prompt is made of texts, pictures and documents, not of a {kind}{advice}"
    )


# --- files, bytes, addresses ---------------------------------------------------------------------

_DATA_URL = "The data: URL"


def _address(what: StrPath | Bytes) -> str | None:
    is_address = isinstance(what, str) and what.lower().startswith(("https://", "http://"))
    return str(what) if is_address else None


def _bytes(what: StrPath | Bytes) -> tuple[bytes, str]:
    """Give what is to be sent, and what to call it in an error."""
    if isinstance(what, Bytes):
        data, name = bytes(what), "The data"
    elif isinstance(what, str) and what.startswith("data:"):
        data, name = _unpacked(what), _DATA_URL
    elif isinstance(what, str | os.PathLike):
        data, name = _read(Path(what).expanduser()), repr(os.fspath(what))
    else:
        raise OptionsError(f"A path, bytes or an address is needed, not a {type(what).__name__}")
    if not data:
        raise OptionsError(f"{name} is empty")
    return data, name


def _unpacked(url: str) -> bytes:
    head, comma, body = url.partition(",")
    try:
        if comma and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
    except binascii.Error:
        pass
    raise OptionsError("A data: URL must be like data:image/png;base64,… to be understood")


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
        f"{name} is too large: {size / 1e6:.1f} MB on the way to the API, "
        f"which takes {MOST_BYTES / 1e6:.0f} MB"
    )


def _document_source(data: bytes, name: str, media_type: str | None) -> Base64Source | TextSource:
    found = _kind(data)
    kind = media_type or found or PLAIN
    if kind == PDF and found == PDF:
        return Base64Source(PDF, _encoded(data, name))
    if kind.startswith("text/") and found is None:
        return TextSource(PLAIN, _decoded(data, name))
    advice = "; for a picture there is Image.of" if found in IMAGES else ""
    shown = f"is {found or 'something else'}" + (f", not {media_type}" if media_type else "")
    raise OptionsError(f"{name} must be a PDF or a text; it {shown}{advice}")


def _decoded(data: bytes, name: str) -> str:
    if len(data) > MOST_BYTES:
        raise OptionsError(_too_large(name, len(data)))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OptionsError(f"{name} is neither a PDF nor a text in UTF-8: {error}") from None
    if "\0" in text:
        raise OptionsError(f"{name} is neither a PDF nor a text: there are NUL characters in it")
    return text


def _kind(data: bytes) -> str | None:
    """Tell a file by its first bytes."""
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
