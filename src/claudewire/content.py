"""The content of a prompt: text, images and documents, from files, bytes or URLs.

    await claude.send(["What is wrong here?", image("screen.png"), document("spec.pdf")])

Files are read at once and whole.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
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

__all__ = ["Bytes", "Part", "Prompt", "StrPath", "document", "image", "to_content"]

MOST_BYTES = 32 * 1000 * 1000
"""The Messages API accepts no larger request. Most CLIs shrink large images (2.1.17 refuses those
above 5 MB), but a larger file than this cannot arrive."""

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The kinds of images that the model can see."""

PDF = "application/pdf"

Bytes = bytes | bytearray | memoryview
"""The content of a file."""
StrPath = str | os.PathLike[str]
"""A path."""


def image(source: StrPath | Bytes) -> ImageBlock:
    """Make an image for the model to see.

    Args:
        source: a path, the bytes of an image, a `data:` URL, or an `https:` URL that the API can
            reach.

    Raises:
        OptionsError: there is no such file, or it is not an image that the model can see.
    """
    if _is_url(source):
        return ImageBlock(URLSource(str(source)))
    data, name = _read(source)
    found = _media_type(data)
    if found not in IMAGES:
        raise OptionsError(
            f"{name} must be a PNG, JPEG, GIF or WebP image; it is {found or 'something else'}"
        )
    return ImageBlock(Base64Source(found, _encoded(data, name)))


def document(
    source: StrPath | Bytes,
    *,
    title: str | None = None,
    context: str | None = None,
    citations: bool = False,
) -> DocumentBlock:
    """Make a document for the model to read.

    Args:
        source: a path, the bytes of a PDF or of text in UTF-8, a `data:` URL, or the `https:` URL
            of a PDF that the API can reach.
        title: its title; by default the name of the file.
        context: more about it for the model.
        citations: whether the model should cite the passages it relies on.

    Raises:
        OptionsError: there is no such file, or it is neither a PDF nor text.
    """
    cited = {"enabled": True} if citations else None
    if _is_url(source):
        return DocumentBlock(URLSource(str(source)), title, context, cited)
    data, name = _read(source)
    if title is None and not isinstance(source, Bytes) and name != _DATA_URL:
        title = os.path.basename(os.fspath(source))
    found = _media_type(data)
    if found == PDF:
        return DocumentBlock(Base64Source(PDF, _encoded(data, name)), title, context, cited)
    if found is not None:
        raise OptionsError(
            f"{name} must be a PDF or plain text; it is {found}", advice="Use image() for an image."
        )
    return DocumentBlock(TextSource("text/plain", _decoded(data, name)), title, context, cited)


Part = str | Block | Mapping[str, Any]
"""A part of a prompt: text, `image(…)`, `document(…)`, or any content block of the Messages API."""

Prompt = Part | Sequence[Part]
"""A prompt: one part, or several."""


def to_content(prompt: Prompt) -> Content:
    """Return the content of a user message."""
    if isinstance(prompt, str):
        return _checked(prompt)  # a single string needs no block
    parts: object = prompt
    if not isinstance(parts, Sequence) or isinstance(parts, Bytes):
        return [_block(parts)]
    if not parts:
        raise OptionsError("The prompt is empty")
    return [_block(part) for part in parts]


def _block(part: object) -> Block:
    if isinstance(part, str):
        return TextBlock(_checked(part))
    if isinstance(part, Block):
        return part
    if isinstance(part, Mapping) and isinstance(part.get("type"), str):
        return UnknownBlock(deepcopy(dict(part)))  # sent with all its fields
    is_file = isinstance(part, os.PathLike | Bytes)
    raise OptionsError(
        f"A prompt is made of text, images and documents, not {type(part).__name__}",
        advice="Use image() or document() for a file." if is_file else "",
    )


def _checked(text: str) -> str:
    if not text.strip():
        raise OptionsError("Text in a prompt must not be empty or blank: the API refuses it")
    return text


# --- files, bytes, URLs --------------------------------------------------------------------------

_DATA_URL = "The data: URL"

_STARTS = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
    b"%PDF-": PDF,
}


def _is_url(source: StrPath | Bytes) -> bool:
    return isinstance(source, str) and source.lower().startswith(("https://", "http://"))


def _read(source: StrPath | Bytes) -> tuple[bytes, str]:
    """Return the bytes, and their name for an error."""
    if isinstance(source, Bytes):
        data, name = bytes(source), "The data"
    elif isinstance(source, str) and source.startswith("data:"):
        data, name = _decoded_url(source), _DATA_URL
    elif isinstance(source, str | os.PathLike):
        name = repr(os.fspath(source))
        try:
            path = Path(source).expanduser()
            size = path.stat().st_size
            data = path.read_bytes() if size <= MOST_BYTES else b""
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise OptionsError(f"{name} cannot be read: {reason}") from error
        _check_size(size, name)
    else:
        raise OptionsError(f"Expected a path, bytes or a URL, not {type(source).__name__}")
    if not data:
        raise OptionsError(f"{name} is empty")
    return data, name


def _decoded_url(url: str) -> bytes:
    head, _, body = url.partition(",")
    try:
        if body and head.endswith(";base64"):
            return base64.b64decode(body, validate=True)
    except binascii.Error:
        pass
    raise OptionsError("A data: URL must have the form data:image/png;base64,…")


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise OptionsError(
            f"{name} is too large: {size / 1e6:.1f} MB in a request to the API, "
            f"which accepts {MOST_BYTES / 1e6:.0f} MB"
        )


def _encoded(data: bytes, name: str) -> str:
    encoded = base64.b64encode(data).decode("ascii")
    _check_size(len(encoded), name)
    return encoded


def _decoded(data: bytes, name: str) -> str:
    _check_size(len(data), name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OptionsError(f"{name} is neither a PDF nor text in UTF-8: {error}") from None
    if "\0" in text:
        raise OptionsError(f"{name} is neither a PDF nor text: it contains NUL characters")
    return text


def _media_type(data: bytes) -> str | None:
    """Recognise data by its first bytes."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS.items() if data.startswith(start)), None)
