"""Fit a JSON object into its declared type, keeping as much of it as fits.

A new CLI writes things that this version has not heard of, and sometimes changes the type of a
field. Losing a whole message for that would be wrong, and so would be hiding it. So the object is
converted; where it does not fit, the smallest part that is to blame is put aside, and it is tried
again:

* a member of a union with an unknown tag becomes the union's `Unknown…` member;
* a field of the wrong type is left out, and noted as a problem;
* an object that thereby lacks a field it needs is itself put aside, and so on upwards.

What is put aside is still in the message's `raw`. Only when it comes to the whole line is there
nothing left to save.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from .types.base import UNKNOWN, Unknown, prepared

__all__ = ["UNFIT", "explain", "fit"]

Before = dict[int, tuple[Any, Any]]
"""By the `id` of a list or object that was changed: itself, and a copy from before."""

UNFIT = (msgspec.ValidationError, RecursionError)
"""What `fit` may raise: nothing fits, or it is nested deeper than Python's stack."""

MOST_REPAIRS = 100
"""A line with more faults than this was not written by anything we know."""

_TAGS = ("type", "subtype", "behavior", "hook_event_name", "hookEventName", "kind")
# They are compiled when they are first used: most lines fit.
_STEP = r"\.([^.\[]+)|\[(\d+|\.\.\.)\]"
_MISSING = r"Object missing required field `(\w+)`"


def explain(error: Exception) -> tuple[str, str]:
    """Split an error of the decoder into its reason and its path."""
    reason, at, path = str(error).rpartition(" - at `")
    return (reason, path.rstrip("`")) if at else (str(error), "$")


def fit(obj: Any, into: Any) -> tuple[Any, tuple[str, ...]]:
    """Convert `obj`, which is taken apart in the process; give the result and what did not fit.

    If nothing fits, `obj` is put together again.

    Raises:
        msgspec.ValidationError: nothing is left that would fit. It tells the first problem.
        RecursionError: it is nested too deeply to be taken apart.
    """
    problems: list[str] = []
    first: msgspec.ValidationError | None = None
    before: Before = {}
    holder = [obj]  # so that the whole can be wrapped like any of its parts
    for _ in range(MOST_REPAIRS):
        try:
            made = msgspec.convert(holder[0], prepared(into))
        except msgspec.ValidationError as error:
            first = first or error
            _repair(holder, *explain(error), problems, before)
        except UnicodeEncodeError as error:  # half of a surrogate pair, and not in a text
            first = first or msgspec.ValidationError(str(error))
            holder[0] = _escaped(holder[0], error.object)
        else:
            if first is None or isinstance(made, Unknown) or not _is_wrapped(holder[0]):
                return made, tuple(problems)
            break  # nothing fits but the wrapping itself
        if not holder:
            break
    _undo(before)
    raise cast("Exception", first)  # the others only followed from it


def _escaped(value: Any, text: str) -> Any:
    """Write what UTF-8 cannot express as escapes, wherever that text is."""
    if isinstance(value, dict):
        return {_escaped(key, text): _escaped(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [_escaped(item, text) for item in value]
    return text.encode("utf-8", "backslashreplace").decode() if value == text else value


def _repair(holder: list[Any], reason: str, path: str, problems: list[str], before: Before) -> None:
    """Put aside what is to blame."""
    trail = [(holder, 0), *_walk(holder[0], path)]
    unknown = trail[-1][1] in _TAGS and reason.startswith("Invalid value")
    # Not the tag is wrong, but the object that bears it unknown.
    told = trail.pop()[1] if unknown else _missing_tag(reason)
    parent, key = trail[-1]
    before.setdefault(id(parent), (parent, parent.copy()))
    wrapped = _is_wrapped(parent[key])
    # Where no object is wanted, a wrapped one is not either.
    tag = None if reason.endswith("got `object`") else _tag_of(parent[key], told)
    if tag is None:
        _drop(parent, key)
    elif wrapped:  # under the wrong tag: the object has several of them
        parent[key] = {tag: UNKNOWN, "raw": parent[key]["raw"]}
    elif unknown and isinstance(parent, list):
        _wrap_all(parent, tag, parent[key][tag], before)
    else:
        parent[key] = {tag: UNKNOWN, "raw": _original(parent[key], before)}
    if not unknown and not wrapped:
        problems.append(f"{path}: {reason}")


def _drop(parent: Any, key: Any) -> None:
    """Leave out what does not fit; of a list, all that must fail like it: there may be many."""
    if isinstance(parent, list):
        bad = _outline(parent[key])
        parent[:] = [item for item in parent if _outline(item) != bad]
    else:
        del parent[key]


def _outline(value: Any) -> Any:
    """What decides whether a value fits, once its own fields do: its type, an object's keys."""
    return frozenset(value) if isinstance(value, dict) else type(value)


def _walk(root: Any, path: str) -> list[tuple[Any, Any]]:
    """The containers and keys on the way to `path`, as far as it is told."""
    trail: list[tuple[Any, Any]] = []
    here = root
    for name, index in re.findall(_STEP, path):
        key = name or (int(index) if index.isdigit() else None)
        try:
            below = here[key]
        except (KeyError, IndexError, TypeError):
            break  # a key that the path does not name: the whole mapping is to blame
        trail.append((here, key))
        here = below
    return trail


def _missing_tag(reason: str) -> str | None:
    missing = re.match(_MISSING, reason)
    return missing[1] if missing and missing[1] in _TAGS else None


def _is_wrapped(value: Any) -> bool:
    return isinstance(value, dict) and "raw" in value and UNKNOWN in value.values()


def _tag_of(value: Any, told: str | None) -> str | None:
    """The field that tells what an object is: the one that the error names, or a likely one."""
    if not isinstance(value, dict):
        return None
    if _is_wrapped(value):
        return None if told in value else told
    return told or next((tag for tag in _TAGS if tag in value), None)


def _wrap_all(items: list[Any], tag: str, kind: Any, before: Before) -> None:
    """Wrap all objects of an unknown kind at once: they would fail one by one."""
    for index, item in enumerate(items):
        if isinstance(item, dict) and item.get(tag) == kind:
            items[index] = {tag: UNKNOWN, "raw": _original(item, before)}


def _undo(before: Before) -> None:
    for changed, copy in before.values():
        changed.clear()
        if isinstance(changed, dict):
            changed.update(copy)
        else:
            changed.extend(copy)


def _original(value: Any, before: Before) -> Any:
    """The value as it came, whatever has been put aside in it since."""
    _, value = before.get(id(value), (None, value))
    if isinstance(value, dict):
        return {key: _original(item, before) for key, item in value.items()}
    if isinstance(value, list):
        return [_original(item, before) for item in value]
    return value
