r"""What a search asks for: words, phrases, and conditions.

    retry "dead letter" role:user project:shop since:2026-11-01 tool:Bash

Words and phrases must all be there; `-word` must not; `word*` is a beginning. Conditions: `role:`
(user, assistant, tool), `project:` (a part of the working directory), `since:` and `until:` (a
date, or `7d`, `12h`), `tool:` (the name of a tool that was called).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Literal

from msgspec import Struct

from .files import StoreError

__all__ = ["Query", "parse_query", "parse_time"]

Role = Literal["user", "assistant", "tool"]

_WORD = re.compile(
    r'(?P<minus>-?)(?:(?P<field>role|project|since|until|tool):)?(?:"(?P<phrase>[^"]*)"?|(?P<word>\S+))'
)
_EMPTY = ("role:", "project:", "since:", "until:", "tool:")
_AGO = re.compile(r"(\d+)([hdw])")
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}


class Term(Struct, frozen=True):
    """A word or a phrase."""

    text: str
    is_excluded: bool = False
    is_beginning: bool = False


class Query(Struct, frozen=True):
    """A search, taken apart."""

    terms: tuple[Term, ...] = ()
    role: Role | None = None
    project: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    tool: str | None = None

    @property
    def wanted(self) -> list[Term]:
        """The words and phrases that must be there."""
        return [term for term in self.terms if not term.is_excluded]


def parse_query(text: str, now: datetime | None = None) -> Query:
    """Take a search apart.

    Raises:
        StoreError: a condition is not valid, or nothing is asked for.
    """
    terms: list[Term] = []
    conditions: dict[str, str] = {}
    # SQLite takes a NUL for the end of the query, and no half of a surrogate pair.
    for found in _WORD.finditer(re.sub("[\0\ud800-\udfff]", " ", text)):
        value = found["phrase"] if found["word"] is None else found["word"]
        if found["field"] is not None or value in _EMPTY:
            _add_condition(conditions, found, value)
        elif _has_letters(value):
            is_beginning = found["word"] is not None and value.endswith("*")
            terms.append(Term(value.rstrip("*"), found["minus"] == "-", is_beginning))
    query = _with_conditions(tuple(terms), conditions, now)
    if not query.wanted and query.tool is None:
        raise StoreError(
            f"There is nothing to search for in {text!r}",
            advice='Give at least one word, a "phrase", or tool:NAME.',
        )
    return query


def _add_condition(conditions: dict[str, str], found: re.Match[str], value: str) -> None:
    name = found["field"]
    if name is None or not value:
        raise StoreError(
            f"{found[0]} has no value",
            advice='Write it without a space, as in role:user, or "role" to search for the word.',
        )
    if found["minus"]:
        raise StoreError(
            f"{found[0]} is not possible: only words and phrases can be excluded",
            advice="Leave out the minus, or the condition.",
        )
    if name in conditions:
        raise StoreError(f"{name}: is there twice", advice="Give each condition once.")
    conditions[name] = value


def _has_letters(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _with_conditions(
    terms: tuple[Term, ...], conditions: dict[str, str], now: datetime | None
) -> Query:
    role = conditions.get("role")
    if role not in (None, "user", "assistant", "tool"):
        raise StoreError(
            f"role:{role} is not a role", advice="Say role:user, role:assistant or role:tool."
        )
    return Query(
        terms,
        role,  # type: ignore[arg-type]  # it is one of them
        conditions.get("project"),
        _time_in(conditions, "since", now),
        _time_in(conditions, "until", now),
        conditions.get("tool"),
    )


def _time_in(conditions: dict[str, str], name: str, now: datetime | None) -> datetime | None:
    return parse_time(conditions[name], now) if name in conditions else None


def parse_time(text: str, now: datetime | None = None) -> datetime:
    """Read a time: a date, a date and time, or how long ago it was (`7d`, `12h`, `2w`).

    Raises:
        StoreError: it is none of these.
    """
    try:
        ago = _AGO.fullmatch(text)
        if ago is not None:
            past = timedelta(**{_UNITS[ago[2]]: int(ago[1])})
            return (now or datetime.now(UTC)) - past
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        raise StoreError(
            f"{text!r} is not a time", advice="Write 2026-11-17, 2026-11-17T09:30, 12h, 7d or 2w."
        ) from None


# --- matching without an index -------------------------------------------------------------------


def matcher(query: Query) -> Callable[[str], bool]:
    """Make a function that says whether a text has what is asked for, as FTS5 would."""
    wanted = [_pattern(term) for term in query.wanted]
    excluded = [_pattern(term) for term in query.terms if term.is_excluded]

    def matches(text: str) -> bool:
        folded = fold(text)
        return all(it.search(folded) for it in wanted) and not any(
            it.search(folded) for it in excluded
        )

    return matches


def fold(text: str) -> str:
    """Make texts comparable: without upper case and accents."""
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def _pattern(term: Term) -> re.Pattern[str]:
    words = re.findall(r"[^\W_]+", fold(term.text))
    end = "" if term.is_beginning else r"(?![^\W_])"
    return re.compile(r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, words)) + end)


def fts_expression(query: Query) -> str:
    """Write the words as FTS5 understands them; each is quoted, so none is an operator."""
    column = {"user": "user", "assistant": "model", "tool": "tool"}.get(query.role or "", "")
    scope = f"{{{column}}} : " if column else ""
    wanted = " AND ".join(f"{scope}{_quoted(term)}" for term in query.wanted)
    excluded = [f"NOT {_quoted(term)}" for term in query.terms if term.is_excluded]
    return " ".join([wanted, *excluded]) if wanted else ""


def _quoted(term: Term) -> str:
    return '"' + term.text.replace('"', '""') + '"' + ("*" if term.is_beginning else "")
