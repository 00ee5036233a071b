"""How two recordings differ: in kinds of lines and their fields, in order, in values.

Ids may differ if they refer to the same things. Times do not count.
"""

from __future__ import annotations

import difflib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Any, NamedTuple

from .recording import Direction, Recording
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
    """Compare an older recording with a newer one."""
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
            yield LineChange(_kind(before), before, after, tuple(found))


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


# --- JSON with other ids -------------------------------------------------------------------------

_ID_NAME = re.compile(r"(?:^|_)(?:uuids?|ids?)$|(?:Uuid|Id|ID)s?$")
_ID = re.compile(
    r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?:toolu|msg|req|srvtoolu|client|hook|cli)[_-]\w+"
)
_WORD = re.compile(r'(?<=")[\w-]+(?=")|[\w-]{16,}', re.ASCII)
"""A string of JSON that is one word, or a word so long that it may be an id inside of a text."""

Same = Callable[[str, Any, Any], bool]
"""Says whether two values with a name are the same; one may be `MISSING`."""

MISSING: Any = ...


class Leaf(NamedTuple):
    """A value in JSON that has no others in it, and the name of its field."""

    path: str
    name: str
    value: Any


def leaves(
    value: Any,
    label: Callable[[int, Any], object] = lambda index, item: index,
    *,
    lengths: bool = False,
    path: str = "$",
    name: str = "",
) -> Iterator[Leaf]:
    """Yield the leaf values of JSON; `label` names the items of lists."""
    inner: list[tuple[str, str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{path}.{key}", key, it) for key, it in value.items()]
    elif isinstance(value, list):
        inner = [(f"{path}[{label(at, it)}]", name, it) for at, it in enumerate(value)]
        if lengths and value:
            yield Leaf(f"{path}.length", "length", len(value))
    for below, field, it in inner:
        yield from leaves(it, label, lengths=lengths, path=below, name=field)
    if not inner:
        yield Leaf(path, name, value)


def differences(before: Iterable[Leaf], after: Iterable[Leaf], same: Same) -> list[ValueChange]:
    """Compare the values at the same paths."""
    then, now = ({leaf.path: leaf for leaf in it} for it in (before, after))
    found = []
    for path, leaf in {**then, **now}.items():
        one, two = (it[path].value if path in it else MISSING for it in (then, now))
        if not same(leaf.name, one, two):
            found.append(ValueChange(path, _json(one), _json(two)))
    return found


def load_line(text: str) -> Any:
    """Read a line; one that is no JSON is a string."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return text


class Ids:
    """Which id stands for which, in two conversations; `fixed` ones are the same in both."""

    def __init__(self, pairs: dict[str, str] | None = None, fixed: Iterable[str] = ()) -> None:
        self._now = dict(pairs or {})
        self._then = {now: then for then, now in self._now.items()}
        self._fixed = {*fixed}

    def copy(self) -> Ids:
        """Return a copy, to try something out."""
        return Ids(self._now, self._fixed)

    def same(self, name: str, then: Any, now: Any) -> bool:
        """Compare two values. Two new ids stand for each other from then on."""
        if not (isinstance(then, str) and isinstance(now, str)):
            # True is 1 in Python, but not in JSON.
            return isinstance(then, bool) == isinstance(now, bool) and bool(then == now)
        if _ID_NAME.search(name) or (is_id(then) and is_id(now)):
            return self._is_pair(then, now)
        return then == now or self.current(then) == now

    def _is_pair(self, then: str, now: str) -> bool:
        is_known = then in self._now or then in self._fixed
        if is_known or now in self._then or now in self._fixed or not (then and now):
            return now == self._now.get(then, then)
        self._now[then], self._then[now] = now, then
        return True

    def current(self, text: str) -> str:
        """Put the ids of the other conversation into a text or a line of one."""
        return _WORD.sub(lambda found: self._now.get(found[0], found[0]), text)


def is_id(text: str) -> bool:
    """Whether a text has the form of an id, whatever the name of its field."""
    return _ID.fullmatch(text) is not None


def ids_in(value: Any) -> set[str]:
    """Find the ids in JSON."""
    return {
        it.value for it in leaves(value) if isinstance(it.value, str) and _ID_NAME.search(it.name)
    }
