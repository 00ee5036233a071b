"""How two recordings differ: in kinds of lines and their fields, in order, in values.

Ids may differ if they refer to the same things. Times do not count.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from .recording import Direction, Recording
from .same_json import MISSING, Ids, differences, is_id, leaves, load_line
from .timeline import Step, StepKind, Timeline

LONGEST_WORD = 60
"""Characters of a word that names an item of a list."""


class LineKind(NamedTuple):
    """The direction, kind and name by which lines are compared."""

    dir: Direction | None
    kind: StepKind
    name: str

    def __str__(self) -> str:
        kind = "" if self.kind == "message" else f"{self.kind} "
        return f"{self.dir or '='} {kind}{self.name}"


class FieldChange(NamedTuple):
    """A field that lines of one kind have in one recording only, or with other JSON types.

    In `path`, `[]` stands for any item of a list, `[text]` for an item of this type, and `*` for
    any key that is data rather than a name. No types mean that the field is missing.
    """

    path: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class KindChange(NamedTuple):
    """A kind of line of which there are more or fewer, or whose fields differ."""

    kind: LineKind
    before: int
    after: int
    fields: tuple[FieldChange, ...]


class ValueChange(NamedTuple):
    """A value that differs between two lines; None if the field is missing, else JSON."""

    path: str
    before: str | None
    after: str | None


class LineChange(NamedTuple):
    """A line that only one recording has, or that has other values in the other."""

    kind: LineKind
    before: Step | None
    after: Step | None
    values: tuple[ValueChange, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between two recordings, `before` and `after`.

    Attributes:
        kinds: kinds of lines whose number or fields differ.
        lines: lines that only one of them has, and values that differ, in the order of the lines.
    """

    kinds: tuple[KindChange, ...]
    lines: tuple[LineChange, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs except ids and times."""
        return not self.kinds and not self.lines


def compare(before: Recording, after: Recording) -> Comparison:
    """Compare two recordings.

    Args:
        before: the older one.
        after: the newer one.
    """
    one, two = Timeline.of(before).steps, Timeline.of(after).steps
    return Comparison(tuple(_kinds(one, two)), tuple(_lines(one, two)))


def _kind(step: Step) -> LineKind:
    return LineKind(step.dir, step.kind, "" if step.name == step.kind else step.name)


def _value(step: Step) -> Any:
    return step.summary if step.entry.line is None else load_line(step.entry.text)


# --- kinds of lines, and their fields ------------------------------------------------------------

_Fields = defaultdict[str, set[str]]
_TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}


def _kinds(one: Sequence[Step], two: Sequence[Step]) -> Iterator[KindChange]:
    counts = [Counter(map(_kind, steps)) for steps in (one, two)]
    fields = [_fields_by_kind(steps) for steps in (one, two)]
    for kind in {**counts[0], **counts[1]}:
        then, now = (it[kind] for it in counts)
        # Without any such lines, each of their fields would be one more difference.
        changes = tuple(_field_changes(fields[0][kind], fields[1][kind])) if then and now else ()
        if then != now or changes:
            yield KindChange(kind, then, now, changes)


def _fields_by_kind(steps: Sequence[Step]) -> defaultdict[LineKind, _Fields]:
    found: defaultdict[LineKind, _Fields] = defaultdict(lambda: defaultdict(set))
    for step in steps:
        if step.event is not None and step.kind != "bad line":
            for path, kind in _fields(_value(step)):
                found[_kind(step)][path].add(kind)
    return found


def _fields(value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    yield path, _TYPES.get(type(value), "number")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _fields(inner, f"{path}.{key if key.isidentifier() else '*'}")
    elif isinstance(value, list):
        for inner in value:
            kind = inner.get("type") if isinstance(inner, dict) else None
            yield from _fields(inner, f"{path}[{kind if isinstance(kind, str) else ''}]")


def _field_changes(then: _Fields, now: _Fields) -> Iterator[FieldChange]:
    for path in sorted({**then, **now}):
        before, after = (tuple(sorted(it.get(path, ()))) for it in (then, now))
        parent = re.sub(r"(\.[^.\[]*|\[[^\[]*\])$", "", path)
        if before != after and (path == parent or (parent in then and parent in now)):
            yield FieldChange(path, before, after)


# --- lines, in their order -----------------------------------------------------------------------

_TIME = re.compile(
    r"(?:^|_)(?:ms|timestamp|duration|elapsed|time)(?:_|$)|(?:Ms|At|_at)$|^duration|Seconds$"
)


def _lines(one: Sequence[Step], two: Sequence[Step]) -> Iterator[LineChange]:
    ids = Ids()

    def same(name: str, then: Any, now: Any) -> bool:
        return _TIME.search(name) is not None or ids.same(name, then, now)

    for before, after in _pairs(one, two):
        if before is None or after is None:
            yield LineChange(_kind(before or after), before, after)
            continue
        found = differences(leaves(_value(before), _label), leaves(_value(after), _label), same)
        if found:
            values = (ValueChange(it.path, _json(it.before), _json(it.after)) for it in found)
            yield LineChange(_kind(before), before, after, tuple(values))


def _pairs(one: Sequence[Step], two: Sequence[Step]) -> Iterator[tuple[Any, Any]]:
    """Align the lines by their kinds; lines of only one recording have no partner."""
    runs = [[[*run] for _, run in groupby(steps, _kind)] for steps in (one, two)]
    kinds = [[_kind(run[0]) for run in it] for it in runs]
    matcher = difflib.SequenceMatcher(None, kinds[0], kinds[1], autojunk=False)
    for operation, start, end, from_, to in matcher.get_opcodes():
        before, after = runs[0][start:end], runs[1][from_:to]
        if operation == "equal":
            for then, now in zip(before, after, strict=True):
                yield from zip_longest(then, now)
        else:
            yield from ((step, None) for run in before for step in run)
            yield from ((None, step) for run in after for step in run)


def _label(index: int, item: Any) -> object:
    """Name items of lists by their words or names: the order of tools does not matter."""
    name = item.get("name") if isinstance(item, dict) and "type" not in item else item
    is_word = isinstance(name, str) and len(name) < LONGEST_WORD and not is_id(name)
    return name if is_word else index


def _json(value: Any) -> str | None:
    return None if value is MISSING else json.dumps(value, ensure_ascii=False)
