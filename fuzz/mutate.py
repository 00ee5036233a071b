"""Break a line as a bad cable, a foreign program or a new version would."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzz.corpus import Line

ENOUGH = 0.75
"""The chance that a line is not broken once more."""

_BYTES = [
    b"\n", b"\r", b"\0", b"\x1b[31m", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xe2\x80\xa8",
    b"\xef\xbb\xbf", b"\\", b'"', b"{", b"}", b"[", b"]", b",", b":", b"null", b"NaN", b"1e999",
    b"-", b"9" * 5000, b'"\\ud800"', b"\\u0000", b"[" * 2000, b'{"a":' * 500,
]  # fmt: skip

# Nearly as deep as Python's stack, which the encoder of the standard library cannot write.
_DEEP = b"[" * 900 + b"]" * 900

_VALUES: list[Any] = [
    "<deep>", None, True, False, 0, -1, 2**63, 2**64, 10**30, 0.5, -0.0, 1e300, "", "x", "\0",
    "\u2028", "\ud800", "😀", "\0unknown", [], {}, [[]], [None], {"": None}, {"type": None},
    {"type": "news"}, {"type": "\0unknown"}, {"type": "\0unknown", "raw": 1},
    {"subtype": "\0unknown", "raw": {}}, {"subtype": "news"}, {"behavior": "news"},
    {"kind": "news"},
]  # fmt: skip


def mutated(random: Random, lines: list[Line]) -> bytes:
    """Take a line and break it, perhaps more than once. Some stay whole by chance."""
    line = random.choice(lines)
    if random.random() < 0.5:
        broken = line.object
        while True:
            broken = _other_object(random, broken, lines)
            if random.random() < ENOUGH:
                return json.dumps(broken).encode().replace(b'"<deep>"', _DEEP)
    data = line.data
    while True:
        data = _other_bytes(random, data, lines)
        if random.random() < ENOUGH:
            return data


# --- bytes ---------------------------------------------------------------------------------------


def _other_bytes(random: Random, data: bytes, lines: list[Line]) -> bytes:
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((1, 1, 2, 8, 64)))
    match random.randrange(7):
        case 0:
            return data[:start] + data[end:]
        case 1:
            return data[:start] + random.choice(_BYTES) + data[start:]
        case 2:
            return data[:start] + random.choice(_BYTES) + data[end:]
        case 3:
            return data[:end] + data[start:]
        case 4:
            return (
                data[:start]
                + bytes(byte ^ 1 << random.randrange(8) for byte in data[start:end])
                + data[end:]
            )
        case 5:
            return data[:start]
    other = random.choice(lines).data
    return data[:start] + other[random.randint(0, len(other)) :]


# --- JSON ----------------------------------------------------------------------------------------


def _other_object(random: Random, value: Any, lines: list[Line]) -> Any:
    """Copy an object with one thing, however deep, changed."""
    if isinstance(value, dict) and value and random.random() < 0.9:
        key = _key(random, value)
        copy = dict(value)
        if random.random() < 0.2:
            del copy[key]
        else:
            copy[key] = _other_object(random, value[key], lines)
        return copy
    if isinstance(value, list) and value and random.random() < 0.9:
        index = random.randrange(len(value))
        copies = random.choice((0, 1, 1, 2))
        item = _other_object(random, value[index], lines)
        return value[:index] + [item] * copies + value[index + 1 :]
    return _other_value(random, value, lines)


def _key(random: Random, value: dict[str, Any]) -> str:
    """Prefer deep keys, and keys that do not change the kind of the whole line."""
    keys = list(value)
    chance = random.random()
    if chance < 0.5:
        keys = [key for key in keys if isinstance(value[key], dict | list)] or keys
    elif chance < 0.9:
        keys = [key for key in keys if key not in ("type", "subtype", "request_id")] or keys
    return random.choice(keys)


def _other_value(random: Random, value: Any, lines: list[Line]) -> Any:
    match random.randrange(6):
        case 0:
            return [value]
        case 1:
            return {random.choice(("type", "raw", "x", "message", "response")): value}
        case 2:
            other = random.choice(lines).object
            return other[random.choice(list(other))]
    return random.choice(_VALUES)
