"""What messages have used, in a table of the index, each message once for each file.

A long file has more messages than should be in memory at once. So they are put into the database
while it is read, a line that says more of a message than those before changes its row, and SQLite
adds them up.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from ..tracking import Totals
from .facts import Call
from .texts import well_formed

__all__ = ["INDEX", "TABLE", "Used", "add_calls", "forget_calls", "used_in_file", "used_in_files"]

TABLE = """
CREATE TABLE IF NOT EXISTS calls (
    file INTEGER, id INTEGER, model TEXT, input INTEGER, output INTEGER, read INTEGER,
    created INTEGER, cost REAL, complete INTEGER, PRIMARY KEY (file, id)) WITHOUT ROWID;
"""
INDEX = "CREATE INDEX IF NOT EXISTS calls_by_id ON calls (id)"
"""To find the other files with a message. After all files are read, it is made in less time."""

MOST = 2**62
"""Tokens of one message that can be kept."""

_ADD = """
INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (file, id) DO UPDATE SET
    model = CASE model WHEN '' THEN excluded.model ELSE model END,
    input = max(input, excluded.input), output = max(output, excluded.output),
    read = max(read, excluded.read), created = max(created, excluded.created),
    cost = coalesce(cost, excluded.cost), complete = max(complete, excluded.complete)
"""
_ONCE = """
SELECT max(model) AS model, max(input) AS input, max(output) AS output, max(read) AS read,
    max(created) AS created, max(cost) AS cost, max(complete) AS complete
FROM calls WHERE file IN ({}) GROUP BY id
"""
# Unlike sum(), total() does not fail if the numbers are too large.
_TOTAL = """
SELECT model, total(input), total(output), total(read), total(created), sum(cost), count(*),
    min(complete)
FROM ({}) GROUP BY model, cost IS NULL
"""
_OF_FILE = _TOTAL.format("SELECT * FROM calls WHERE file = ?")


def add_calls(database: sqlite3.Connection, file: int, calls: Iterable[Call]) -> None:
    """Add what lines of a file say that messages have used."""
    try:
        database.executemany(_ADD, ((file, *it) for it in calls))
    except (OverflowError, UnicodeEncodeError):  # a line can say anything
        database.executemany(_ADD, ((file, *_storable(it)) for it in calls))


def _storable(call: Call) -> Iterator[object]:
    yield call.id
    yield well_formed(call.model)
    yield from (max(-MOST, min(count, MOST)) for count in call[2:6])
    yield from call[6:]


def forget_calls(database: sqlite3.Connection, file: int) -> None:
    """Remove the messages of a file."""
    database.execute("DELETE FROM calls WHERE file = ?", (file,))


Used = list[tuple[str, Totals]]
"""Models, and what their messages have used: those whose cost is known, and the others."""


def used_in_file(database: sqlite3.Connection, file: int) -> Used:
    """Add up what the messages in a file have used."""
    return _used(database.execute(_OF_FILE, (file,)))


def used_in_files(database: sqlite3.Connection, files: str, value: str) -> Used:
    """Add up what the messages in several files have used, each message once.

    Args:
        database: the index.
        files: a query that gives the numbers of the files.
        value: what is to be put into the query.
    """
    return _used(database.execute(_TOTAL.format(_ONCE.format(files)), (value,)))


def _used(rows: Iterable[tuple[Any, ...]]) -> Used:
    return [(model, _totals(*rest)) for model, *rest in rows]


def _totals(
    input: float,
    output: float,
    read: float,
    created: float,
    cost: float | None,
    calls: int,
    complete: int,
) -> Totals:
    return Totals(
        int(input),
        int(output),
        int(read),
        int(created),
        cost,
        calls=calls,
        estimated=not complete,
    )
