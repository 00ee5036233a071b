"""How two recordings differ: in kinds of lines and their fields, in order, in values, in time.

Ids are compared by what they refer to: an id of one recording stands for an id of the other once
the two were found in the same place. Times are left out unless they are asked for.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from ..transport import Direction, Recording
from ..wire import load
from .timeline import Latency, Step, StepKind, Timeline

__all__ = [
    "Comparison",
    "FieldChange",
    "KindChange",
    "LatencyChange",
    "LineChange",
    "LineKind",
    "ValueChange",
    "compare",
]


class LineKind(NamedTuple):
    """What lines are compared by: which way they went, what they are, and their name."""

    dir: Direction | None
    kind: StepKind
    name: str

    def __str__(self) -> str:
        what = "" if self.kind == "message" else f"{self.kind} "
        return f"{self.dir or '='} {what}{self.name}"


class FieldChange(NamedTuple):
    """A field that lines of one kind have in one recording only, or with other JSON types.

    In `path`, `[]` stands for any item of a list, `[text]` for an item of this type, and `*` for
    any key that is data rather than a name. No types mean that the field is not there.
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


class LatencyChange(NamedTuple):
    """How long exchanges with one name took in both."""

    before: Latency | None
    after: Latency | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two recordings, `before` and `after`.

    Attributes:
        kinds: kinds of lines whose number or fields differ.
        lines: lines that only one of them has, and values that differ, in the order of the lines.
        latencies: how long exchanges took; these always differ, and count as no difference.
    """

    before: Timeline
    after: Timeline
    kinds: tuple[KindChange, ...]
    lines: tuple[LineChange, ...]
    latencies: tuple[LatencyChange, ...]

    @property
    def is_same(self) -> bool:
        """Whether nothing differs but ids and times."""
        return not self.kinds and not self.lines


def compare(
    before: Recording | Timeline, after: Recording | Timeline, *, times: bool = False
) -> Comparison:
    """Compare two recordings.

    Args:
        before: the older one.
        after: the newer one.
        times: whether values that are times, dates or durations count.
    """
    one, two = (it if isinstance(it, Timeline) else Timeline.of(it) for it in (before, after))
    lines = tuple(_lines(one.steps, two.steps, _Values(times)))
    return Comparison(one, two, tuple(_kinds(one, two)), lines, tuple(_latencies(one, two)))


# --- kinds of lines, and their fields ------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_Fields = dict[str, set[str]]


def _kind(step: Step) -> LineKind:
    # What is on stderr or is no protocol at all has no kinds of its own.
    return LineKind(step.dir, step.kind, "" if step.name == step.kind else step.name)


def _json(step: Step) -> Any:
    try:
        return load(step.entry.line or b"")
    except (ValueError, RecursionError):
        return step.entry.text if step.entry.line is not None else step.summary


def _kinds(one: Timeline, two: Timeline) -> Iterator[KindChange]:
    counts = [Counter(map(_kind, it.steps)) for it in (one, two)]
    fields = [_all_fields(it.steps) for it in (one, two)]
    for kind in dict.fromkeys([*counts[0], *counts[1]]):
        then, now = (it[kind] for it in counts)
        # Where there are no such lines at all, each of their fields would be one more difference.
        both = (it[kind] for it in fields)
        changes = tuple(_field_changes(*both)) if then and now else ()
        if then != now or changes:
            yield KindChange(kind, then, now, changes)


def _all_fields(steps: Iterable[Step]) -> defaultdict[LineKind, _Fields]:
    found: defaultdict[LineKind, _Fields] = defaultdict(lambda: defaultdict(set))
    for step in steps:
        if step.event is not None and step.kind != "bad line":
            for path, kind in _fields("$", _json(step)):
                found[_kind(step)][path].add(kind)
    return found


def _field_changes(then: _Fields, now: _Fields) -> Iterator[FieldChange]:
    for path in sorted({*then, *now}):
        before, after = (tuple(sorted(it.get(path, ()))) for it in (then, now))
        parent_is_new = not (_parent(path) in then and _parent(path) in now)
        if before != after and (path == "$" or not parent_is_new):
            yield FieldChange(path, before, after)


def _parent(path: str) -> str:
    """The field that a field is in: `$.a[text].b` is in `$.a[text]`, and that is in `$.a`."""
    cut = path.rfind("[") if path.endswith("]") else path.rfind(".")
    return path[:cut] if cut > 0 else "$"


def _fields(path: str, value: Any) -> Iterator[tuple[str, str]]:
    waiting = [(path, value)]
    while waiting:
        path, value = waiting.pop()
        yield path, _type(value)
        if isinstance(value, dict):
            waiting += [(f"{path}.{_part(name)}", inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(f"{path}[{_tag(item)}]", item) for item in value]


def _part(name: str) -> str:
    return name if _NAME.fullmatch(name) else "*"


def _tag(item: Any) -> str:
    tag = item.get("type") if isinstance(item, dict) else None
    return tag if isinstance(tag, str) and _NAME.fullmatch(tag) else ""


def _type(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "array"
    return "object"


# --- lines, in their order -----------------------------------------------------------------------


class _Run(NamedTuple):
    """Lines of one kind that follow each other."""

    kind: LineKind
    steps: tuple[Step, ...]


def _runs(steps: Iterable[Step]) -> list[_Run]:
    return [_Run(kind, tuple(run)) for kind, run in groupby(steps, _kind)]


def _lines(one: Iterable[Step], two: Iterable[Step], values: _Values) -> Iterator[LineChange]:
    before, after = _runs(one), _runs(two)
    then_kinds, now_kinds = ([run.kind for run in runs] for runs in (before, after))
    matcher = difflib.SequenceMatcher(None, then_kinds, now_kinds, autojunk=False)
    for operation, start, end, from_, to in matcher.get_opcodes():
        if operation == "equal":
            pairs: Iterable[tuple[_Run | None, _Run | None]]
            pairs = zip(before[start:end], after[from_:to], strict=True)
        else:
            pairs = [*((run, None) for run in before[start:end])]
            pairs += [*((None, run) for run in after[from_:to])]
        for then, now in pairs:
            yield from _run_changes(then, now, values)


def _run_changes(then: _Run | None, now: _Run | None, values: _Values) -> Iterator[LineChange]:
    steps: Sequence[Sequence[Step]] = [run.steps if run else () for run in (then, now)]
    for before, after in zip_longest(*steps):
        kind = _kind(before or after)
        if before is None or after is None:
            yield LineChange(kind, before, after)
        elif changes := tuple(values.changes(before, after)):
            yield LineChange(kind, before, after, changes)


# --- values --------------------------------------------------------------------------------------

_ID_NAME = re.compile(r"(?:^|_)(?:uuids?|ids?)$|(?:Uuid|Id|ID)s?$")
_ID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:toolu|msg|req|srvtoolu|client|hook|cli)[_-]\w+"
)
_TIME = re.compile(
    r"(?:^|_)(?:ms|timestamp|duration|elapsed|time)(?:_|$)|(?:Ms|At|_at)$|^duration|Seconds$"
)


class _Pair(NamedTuple):
    """Two values in the same place; `...` for one that is missing."""

    path: str
    name: str
    then: Any
    now: Any

    def parts(self) -> list[_Pair] | None:
        """Return what they are made of; None if they have to be compared as they are."""
        if isinstance(self.then, dict) and isinstance(self.now, dict):
            return self._keyed(self.then, self.now, ".{}")
        if not (isinstance(self.then, list) and isinstance(self.now, list)):
            return None
        if all(isinstance(item, str) for item in [*self.then, *self.now]):
            return self._listed(self.then, self.now)
        named = [_by_name(it) for it in (self.then, self.now)]
        if None not in named:
            return self._keyed(named[0] or {}, named[1] or {}, "[{}]")
        both = enumerate(zip_longest(self.then, self.now, fillvalue=...))
        return [_Pair(f"{self.path}[{index}]", self.name, *pair) for index, pair in both]

    def _keyed(self, then: dict[str, Any], now: dict[str, Any], place: str) -> list[_Pair]:
        keys = dict.fromkeys([*then, *now])
        paths = {key: self.path + place.format(key) for key in keys}
        return [_Pair(paths[key], key, then.get(key, ...), now.get(key, ...)) for key in keys]

    def _listed(self, then: list[str], now: list[str]) -> list[_Pair] | None:
        """Compare lists of words, such as those of tools: by what is on one of them only."""
        gone, new = Counter(then) - Counter(now), Counter(now) - Counter(then)
        if not gone and not new:
            return None  # they have to be equal, in this order
        if len(gone) == len(new) == len(then) == len(now):
            return [_Pair(f"{self.path}[]", self.name, *it) for it in zip(then, now, strict=True)]
        removed = [_Pair(f"{self.path}[]", self.name, item, ...) for item in gone.elements()]
        return removed + [_Pair(f"{self.path}[]", self.name, ..., item) for item in new.elements()]


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Return objects by their names, if all have one of their own. Blocks of content have not."""
    objects = [item if isinstance(item, dict) and "type" not in item else {} for item in items]
    named = {item["name"]: item for item in objects if isinstance(item.get("name"), str)}
    return named if len(named) == len(items) else None


class _Values:
    """Compares the values of lines, and remembers which id stands for which."""

    def __init__(self, times: bool) -> None:
        self._times = times
        self._then: dict[str, str] = {}
        self._now: dict[str, str] = {}

    def changes(self, before: Step, after: Step) -> Iterator[ValueChange]:
        """Give all values that differ between two lines."""
        waiting: list[_Pair] = [_Pair("$", "", _json(before), _json(after))]
        while waiting:
            pair = waiting.pop()
            if not self._times and _TIME.search(pair.name):
                continue
            inner = pair.parts()
            if inner is not None:
                waiting += reversed(inner)
            elif not self._same(pair.name, pair.then, pair.now):
                yield ValueChange(pair.path, _shown(pair.then), _shown(pair.now))

    def _same(self, name: str, then: Any, now: Any) -> bool:
        if not (isinstance(then, str) and isinstance(now, str)):
            return _type(then) == _type(now) and bool(then == now)
        if _ID_NAME.search(name) or (_ID.fullmatch(then) and _ID.fullmatch(now)):
            return self._is_pair(then, now)
        return then == now or _ID.sub(self._renamed, then) == now

    def _is_pair(self, then: str, now: str) -> bool:
        """Whether two ids stand for each other; they do from now on if neither was seen before."""
        return self._then.setdefault(then, now) == now and self._now.setdefault(now, then) == then

    def _renamed(self, match: re.Match[str]) -> str:
        return self._then.get(match[0], match[0])


def _shown(value: Any) -> str | None:
    return None if value is ... else json.dumps(value, ensure_ascii=False)


# --- time ----------------------------------------------------------------------------------------


def _latencies(one: Timeline, two: Timeline) -> Iterator[LatencyChange]:
    before, after = (
        {(it.kind, it.name, it.by): it for it in timeline.latencies()} for timeline in (one, two)
    )
    for key in dict.fromkeys([*before, *after]):
        yield LatencyChange(before.get(key), after.get(key))
