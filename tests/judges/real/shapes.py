"""The shape of a CLI's output: kinds of lines, their order, their declared keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import msgspec

from claudewire.wire import (
    Answer,
    Event,
    Failure,
    HookCallback,
    McpMessage,
    Request,
    StreamEvent,
    Unknown,
)

REPEATED = "stream_event/content_block_delta"
"""The number of pieces of a text varies."""


Difference = tuple[str, str, str]
"""The kind of a line, the side that has it, and the key in it; no key for the whole line."""


class Line(NamedTuple):
    """One line: its kind, and the paths of its keys, declared ones and others."""

    kind: str
    keys: frozenset[str]
    undeclared: frozenset[str]


def shape(events: Iterable[Event]) -> list[Line]:
    """Describe all lines, several deltas in a row as one."""
    lines: list[Line] = []
    for event in events:
        line = _line(event) if event.line else None
        if line is None:
            continue
        if lines and lines[-1].kind == line.kind == REPEATED:
            line = _together(lines.pop(), line)
        lines.append(line)
    return lines


def _together(one: Line, other: Line) -> Line:
    return Line(one.kind, one.keys | other.keys, one.undeclared | other.undeclared)


def _line(event: Event) -> Line:
    if isinstance(event, Answer):
        name = _tag(event.request.body) if event.request is not None else "?"
        return _described(f"answer/{name}", event.body, event.raw["response"].get("response"))
    if isinstance(event, Failure):
        return _described("failure", None, event.raw["response"])
    return _described(_kind(event), event, event.raw)


def _described(kind: str, typed: Any, raw: Any) -> Line:
    found = list(_walk(typed, raw))
    return Line(
        kind,
        frozenset(path for path, declared in found if declared),
        frozenset(path for path, declared in found if not declared),
    )


def _kind(event: Event) -> str:
    kind = str(event.raw["type"])
    if isinstance(event, Request):
        return "/".join([kind, *_asked(event)])
    if isinstance(event, StreamEvent):
        return f"{kind}/{_tag(event.event)}"
    subtype = event.raw.get("subtype") or event.raw.get("state")
    return f"{kind}/{subtype}" if subtype else kind


def _asked(request: Request) -> Iterator[str]:
    body = request.body
    yield _tag(body)
    if isinstance(body, HookCallback):
        yield _tag(body.input)
    elif isinstance(body, McpMessage):
        yield body.message["method"]


def _tag(struct: msgspec.Struct) -> str:
    return str(struct.__struct_config__.tag)


def _walk(typed: Any, raw: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the path of every key, and whether the type declares it."""
    if isinstance(typed, list) and isinstance(raw, list):
        for one, its_raw in zip(typed, raw, strict=True):
            yield from _walk(one, its_raw, f"{path}[]")
    elif isinstance(typed, dict) and isinstance(raw, dict):
        for key, one in typed.items():
            if isinstance(one, msgspec.Struct):
                yield from _walk(one, raw[key], f"{path}.*")
    elif isinstance(typed, msgspec.Struct) and isinstance(raw, dict):
        yield from _walk_struct(typed, raw, path)


def _walk_struct(typed: msgspec.Struct, raw: dict[str, Any], path: str) -> Iterator[Any]:
    if isinstance(typed, Unknown):
        return
    names = dict(zip(typed.__struct_encode_fields__, typed.__struct_fields__, strict=True))
    for key, value in raw.items():
        where = f"{path}.{key}".lstrip(".")
        declared = key in names or key == typed.__struct_config__.tag_field
        yield where, declared
        if key in names:
            yield from _walk(getattr(typed, names[key]), value, where)


# --- comparing -----------------------------------------------------------------------------------


def differences(real: list[Line], simulated: list[Line]) -> set[Difference]:
    """Report lines and keys that only one of two conversations has.

    What is streamed and all else are two sequences, because they race; the messages of the model
    belong to both.
    """
    return {
        difference
        for part in (_is_streamed, _is_said)
        for difference in _compare(list(filter(part, real)), list(filter(part, simulated)))
    }


def _is_streamed(line: Line) -> bool:
    return line.kind.startswith("stream_event") or line.kind == "assistant"


def _is_said(line: Line) -> bool:
    return not line.kind.startswith("stream_event")


def _compare(real: list[Line], simulated: list[Line]) -> Iterator[Difference]:
    kinds = [line.kind for line in real], [line.kind for line in simulated]
    for tag, at, to, from_, until in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
        if tag == "equal":
            for one, other in zip(real[at:to], simulated[from_:until], strict=True):
                yield from ((one.kind, "real", key) for key in one.keys - other.keys)
                yield from ((one.kind, "simulated", key) for key in other.keys - one.keys)
        else:
            yield from ((line.kind, "real", "") for line in real[at:to])
            yield from ((line.kind, "simulated", "") for line in simulated[from_:until])
