r"""Searching: the query, the searchable texts of a line, and the snippet of a hit.

    retry "dead letter" role:user project:shop since:2026-11-01 tool:Bash

Words and phrases must all be there; `-word` must not; `word*` matches a prefix. Conditions: `role:`
(user, assistant, tool), `project:` (a part of the working directory), `since:` and `until:` (a
date, or `7d`, `12h`), `tool:` (the name of a called tool).
"""

from __future__ import annotations

import re
import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct

from ..wire import (
    McpToolUseBlock,
    ServerToolUseBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from .entries import AssistantEntry, Entry, UserEntry
from .facts import SessionInfo, well_formed
from .files import StoreError

LONGEST = 20_000
"""Characters of one text that are searched. Longer texts were not written to be read."""

GIVEN = 4_000
"""Characters of a tool's input that are searched."""

MOST_WORDS = 64
"""Words of a query: each is looked up in the whole index."""

AROUND = 80
"""Characters that are shown on each side of a hit."""

_COLUMNS = {None: "", "user": "{user} : ", "assistant": "{model} : ", "tool": "{tool} : "}
_QUERY = re.compile(
    r'(?P<minus>-?)(?:(?P<field>role|project|since|until|tool):)?(?:"(?P<phrase>[^"]*)"?|(?P<word>\S+))'
)
_AGO = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_WORD = re.compile(r"[^\W_]+")
_CALLS = (ToolUseBlock, ServerToolUseBlock, McpToolUseBlock)
_ENCODED = re.compile(r"[A-Za-z0-9+/=_-]{200,}")


# --- the query -----------------------------------------------------------------------------------


class Query(Struct, frozen=True):
    """A parsed search; `expression` is in the language of FTS5."""

    expression: str
    wanted: tuple[str, ...] = ()
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None


def parse_query(text: str) -> Query:
    """Parse a search."""
    if (count := len(_WORD.findall(text))) > MOST_WORDS:
        raise StoreError(f"The query has {count} words", advice=f"Give {MOST_WORDS} at most.")
    terms: list[str] = []
    excluded: list[str] = []
    wanted: list[str] = []
    conditions: dict[str, str] = {}
    # SQLite takes a NUL for the end of the query, and refuses halves of surrogate pairs.
    for found in _QUERY.finditer(re.sub("[\0\ud800-\udfff]", " ", text)):
        value = found["phrase"] if found["word"] is None else found["word"]
        if found["field"] is not None:
            _add_condition(conditions, found, value)
        elif any(char.isalnum() for char in value):
            is_prefix = found["word"] is not None and value.endswith("*")
            (excluded if found["minus"] else terms).append(_quoted(value.rstrip("*"), is_prefix))
            wanted += [] if found["minus"] else [value.rstrip("*")]
    role, tool = conditions.get("role"), conditions.get("tool")
    if role not in _COLUMNS:
        raise StoreError(
            f"role:{role} is not a role", advice="Use role:user, role:assistant or role:tool."
        )
    if not terms and tool is None:
        raise StoreError(
            f"There is nothing to search for in {text!r}",
            advice='Give at least one word, a "phrase", or tool:NAME.',
        )
    words = " AND ".join(f"{_COLUMNS[role]}{term}" for term in terms)
    words = " ".join([words, *(f"NOT {it}" for it in excluded)]) if words else ""
    called = "" if tool is None else "{called} : " + _quoted(tool)
    return Query(
        f"{called} AND ({words})" if called and words else called or words,
        wanted=tuple(wanted),
        project=conditions.get("project"),
        since=parse_time(conditions["since"]) if "since" in conditions else None,
        until=parse_time(conditions["until"]) if "until" in conditions else None,
    )


def _quoted(text: str, is_prefix: bool = False) -> str:
    """Quote a term for FTS5, so that it is no operator."""
    return '"' + text.replace('"', '""') + '"' + ("*" if is_prefix else "")


def _add_condition(conditions: dict[str, str], found: re.Match[str], value: str) -> None:
    if not value or found["minus"] or found["field"] in conditions:
        raise StoreError(
            f"{found[0]} is not possible: a condition needs a value, can be given only once, and"
            " cannot be excluded",
            advice="Write it without a space, as in role:user.",
        )
    conditions[found["field"]] = value


def parse_time(text: str) -> datetime:
    """Parse a date, a date and time, or a time ago (`7d`, `12h`, `2w`)."""
    try:
        ago = _AGO.fullmatch(text)
        if ago is not None:
            return datetime.now(UTC) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise StoreError(
            f"{text!r} is not a time", advice="Write 2026-11-17, 2026-11-17T09:30, 12h, 7d or 2w."
        ) from None


def fold(text: str) -> str:
    """Make texts comparable: without upper case and accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


# --- hits ----------------------------------------------------------------------------------------


class Hit(Struct, frozen=True):
    """A line that matches a search.

    Attributes:
        session: the session of the line.
        uuid: the line.
        role: the speaker: `user`, `assistant` or `tool`.
        time: the time of the line.
        snippet: the text around the first matching word.
        spans: the places of the matching words in the snippet.
        rank: the smaller, the better the match.
        agent: the id of the subagent that the line belongs to.
    """

    session: SessionInfo
    uuid: str | None
    role: str
    time: str | None
    snippet: str
    spans: tuple[tuple[int, int], ...] = ()
    rank: float = 0.0
    agent: str | None = None


# --- the texts of a line -------------------------------------------------------------------------


class Texts(Struct, frozen=True):
    """The searchable texts of a line."""

    role: str
    user: str = ""
    model: str = ""
    tool: str = ""
    called: str = ""


def texts_of(entry: Entry, *, tool_output: bool = False) -> Texts | None:
    """Return the texts of a line; None if there is nothing to search in it.

    The output of tools is most of a transcript and left out by default. Images and other encoded
    data are always left out.
    """
    if not isinstance(entry, UserEntry | AssistantEntry):
        return None
    if isinstance(entry, UserEntry) and entry.is_meta:
        return None
    is_user = isinstance(entry, UserEntry) and not entry.is_compact_summary
    texts = (it.text for it in entry.blocks if isinstance(it, TextBlock) and it.text)
    text = _cut(" ".join(texts), LONGEST)
    calls = [it for it in entry.blocks if isinstance(it, _CALLS)]
    tool = [_cut(_strings_in(it.input), GIVEN) for it in calls]
    if tool_output:
        results = (it for it in entry.blocks if isinstance(it, ToolResultBlock))
        tool += [_cut(it.text, LONGEST) for it in results]
    if not text and not any(tool) and not calls:
        return None
    return Texts(
        role="tool" if not text else "user" if is_user else "assistant",
        user=text if is_user else "",
        model="" if is_user else text,
        tool=" ".join(tool),
        called=well_formed(" ".join(it.name for it in calls)),
    )


def _strings_in(value: Any) -> str:
    """Join the strings in a value, at any depth, without those of images."""
    if isinstance(value, dict):
        value = list(value.values()) if value.get("type") not in ("image", "base64") else []
    if isinstance(value, list):
        return " ".join(filter(None, map(_strings_in, value)))
    return value if isinstance(value, str) else ""


def _cut(text: str, length: int) -> str:
    """Shorten a text, and leave out encoded data."""
    return well_formed(_ENCODED.sub(" ", text[: length * 2])[:length])


def snippet(text: str, query: Query) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Cut out the surroundings of the first hit, and return them with the spans of all words."""
    shown = " ".join(text.split())
    words = [word for term in query.wanted for word in _WORD.findall(fold(term))]
    found = [it for it in _WORD.finditer(shown) if _is_one_of(it[0], words)]
    start = max(0, found[0].start() - AROUND) if found else 0
    end = start + 3 * AROUND
    before, after = "…" if start else "", "…" if end < len(shown) else ""
    move = len(before) - start
    spans = [(it.start() + move, it.end() + move) for it in found if it.end() <= end]
    return before + shown[start:end] + after, tuple(spans)


def _is_one_of(word: str, words: list[str]) -> bool:
    folded = fold(word)
    return any(folded == it or (len(it) > 1 and folded.startswith(it)) for it in words)
