"""The words of a line that can be searched: who said what, and which tools were called with what.

The output of tools is most of a transcript and is left out unless asked for, and images and other
encoded bytes always are.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec
from msgspec import Struct

from ..wire import Oversize
from .entries import UserEntry, read_entry

__all__ = ["ROLES", "Texts", "shown_text", "texts_of", "well_formed"]

ROLES = ("user", "assistant", "tool")

LONGEST = 20_000
"""Characters of one text that are searched. What is longer was not written to be read."""

GIVEN = 4_000
"""Characters of what a tool was given."""

_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{200,}")


class _Block(Struct, gc=False):
    type: str
    text: str | None = None
    name: str | None = None
    input: Any = None
    content: Any = None


class _Message(Struct, gc=False):
    content: str | list[_Block] = ""


class _Said(Struct, gc=False, rename="camel"):
    type: str
    timestamp: str | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    message: _Message | None = None


class Texts(Struct, frozen=True):
    """What can be searched in a line."""

    role: int
    time: str
    user: str = ""
    model: str = ""
    tool: str = ""
    called: str = ""


_decode = msgspec.json.Decoder(_Said).decode


def texts_of(line: bytes | Oversize, *, tool_output: bool = False) -> Texts | None:
    """Return the texts of a line; None if there is nothing to search in it."""
    # Most lines are told apart without decoding them.
    if isinstance(line, Oversize) or (b'"user"' not in line and b'"assistant"' not in line):
        return None
    said = _said(line)
    if said is None or said.type not in ("user", "assistant") or said.message is None:
        return None
    if said.is_meta:
        return None
    content = said.message.content
    blocks = [_Block("text", content)] if isinstance(content, str) else content
    text = _cut(" ".join(it.text for it in blocks if it.type == "text" and it.text), LONGEST)
    tool = [_given(it) for it in blocks if it.name is not None]
    if tool_output:
        tool += [_cut(_plain(it.content), LONGEST) for it in blocks if it.type == "tool_result"]
    called = " ".join(it.name for it in blocks if it.name is not None)
    if not text and not any(tool) and not called:
        return None
    is_user = said.type == "user" and not said.is_compact_summary
    return Texts(
        role=ROLES.index("tool" if not text else "user" if is_user else "assistant"),
        time=well_formed(said.timestamp or ""),
        user=text if is_user else "",
        model="" if is_user else text,
        tool=" ".join(tool),
        called=well_formed(called),
    )


def _said(line: bytes) -> _Said | None:
    try:
        return _decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        entry = read_entry(line)
        if not isinstance(entry, UserEntry) or entry.is_meta:
            return None
        return _Said("user", entry.timestamp, message=_Message(entry.text))


def _given(block: _Block) -> str:
    return _cut(_plain(block.input), GIVEN)


def _plain(value: Any) -> str:
    """Join the strings in a value, however deep they are."""
    found, waiting = [], [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            value = list(value.values()) if value.get("type") not in ("image", "base64") else []
        if isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, str) and value:
            found.append(value)
    return " ".join(found)


def _cut(text: str, length: int) -> str:
    """Shorten a text, and leave out what is encoded."""
    text = text[: length * 2]
    if len(text) >= 200:
        text = _ENCODED.sub(" ", text)
    return well_formed(text[:length])


def well_formed(text: str) -> str:
    """Replace halves of surrogate pairs: they can be in a transcript, and not in a database."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def shown_text(texts: Texts) -> str:
    """Return the text in which the words of a search are shown."""
    return "\n".join(filter(None, (texts.user, texts.model, texts.tool)))
