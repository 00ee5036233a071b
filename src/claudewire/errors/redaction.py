"""Remove secrets from strings, so that wire data can be kept and shown.

Replaced are keys and tokens with a well-known prefix, values under a secret name (in JSON, in
variables, in headers and options), secrets in URLs, private keys, known values, e-mail addresses,
the home directory and the user's name. JSON stays the same JSON apart from these.

A secret that has neither form nor name is not recognised.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from .secrets import (
    EMAIL,
    END_OF_PRIVATE_KEY,
    OPEN_TOKEN,
    PATTERNS,
    PRIVATE_KEY,
    is_reference,
    is_secret,
    named_values,
    without_escapes,
)

Redact = Callable[[str], str]
"""Takes a string, usually a whole line, and returns it without its secrets."""

PLACEHOLDER = re.compile(r"<(key|email|secret)-\d+>")
"""Replaces a secret. The same secret has the same number."""

SHORTEST_KNOWN = 12
"""A secret variable is searched for everywhere from this length on; shorter ones may be words."""
SHORTEST_NUMBER = 4
"""Digits of a number under a secret name that is replaced."""
PIECE = 200_000
"""Characters that are searched at once."""
LONGEST_SECRET = 20_000
"""Characters of a secret that is found at the end of a piece."""
MOST_BLOCKS = 64
"""Blocks that are written at the same time, by the model and its subagents."""
MOST_REMEMBERED = 10_000
"""Secrets whose placeholders are remembered."""
MOST_KEY_LINES = 200
"""Lines of a private key."""

_COMMON_NAMES = frozenset(
    {"admin", "claude", "email", "home", "key", "node", "root", "runner", "secret", "user"}
)
"""User names that identify no one, and are common words."""
_SCHEME = re.compile(r"\s*+(?:(?:bearer|basic)\s+)?", re.IGNORECASE)
_MARKS = " \t\n\"'"
_SHORTEST_TAIL, _LONGEST_TAIL = 120, 8000
"""Characters of a piece that are remembered, in case that a secret was cut."""
_RUN = re.compile(r"[\w.+/=~%|$:@-]*")


class _Secret(NamedTuple):
    """A place in a text that is replaced: by a placeholder, or by a fixed word."""

    start: int
    end: int
    kind: str


class Redactor:
    """Removes the secrets from the strings of one recording.

    The same secret gets the same placeholder, so that related lines still match.

    Args:
        home: the home directory; by default that of this process.
        extra: further strings to remove.
        environment: variables with known secrets and the user's name; `os.environ` by default.
    """

    def __init__(
        self,
        *,
        home: str | os.PathLike[str] | None = None,
        extra: Iterable[str] = (),
        environment: Mapping[str, str] | None = None,
    ) -> None:
        variables = os.environ if environment is None else environment
        home = os.path.expanduser("~") if home is None else os.fspath(home)
        users = {os.path.basename(home), variables.get("USER", ""), variables.get("LOGNAME", "")}
        names = [name for name in users if len(name) > 2 and name.lower() not in _COMMON_NAMES]
        self._known = _known_secrets(variables, extra)
        self._fixed = {
            "secret": _any_of(self._known),
            "~": _any_of([home.rstrip("/")] if home.startswith("/") else [], r"\w"),
            "<user>": _any_of(names, "[A-Za-z0-9]"),
        }
        self._placeholders: dict[str, str] = {}
        self._count = {"key": 0, "email": 0, "secret": 0}

    def __call__(self, text: str) -> str:
        """Return the string without its secrets. JSON stays the same JSON, without its spaces."""
        value = _decoded(text)
        if value is None:
            return self._plain(text)
        shown = self._json("", value)
        return text if shown == value else _encoded(shown, text)

    def after(self, before: str, text: str) -> str:
        """Redact a text that continues another one, also a secret that was cut in two.

        Args:
            before: the end of the other text, as it was.
            text: the text.
        """
        whole, place = before + text, len(before)
        found = list(self._find(whole))
        if (cut := OPEN_TOKEN.search(without_escapes(before))) is not None:
            run = _RUN.match(text)
            found.append(_Secret(cut.start(), place + (run.end() if run else 0), "key"))
        return self._replace(whole, found, place)

    def value(self, value: Any) -> Any:
        """Return JSON types without their secrets; other objects as strings."""
        return self._json("", json.loads(json.dumps(value, default=str)))

    # --- JSON ------------------------------------------------------------------------------------

    def _json(self, name: str, value: Any) -> Any:
        """Redact a value with this key; items of a list have the key of the list."""
        if isinstance(value, dict):
            return {self._string("", key): self._json(key, it) for key, it in value.items()}
        if isinstance(value, list):
            return [self._json(name, it) for it in value]
        if isinstance(value, str):
            return self._string(name, value)
        if isinstance(value, bool) or value is None:
            return value
        number = json.dumps(value)
        is_short = sum(map(str.isdigit, number)) < SHORTEST_NUMBER
        return (
            value if is_short or not is_secret(name, number) else self._placeholder(number, "key")
        )

    def _string(self, name: str, value: str) -> str:
        if is_secret(name, value):
            scheme = _SCHEME.match(value)
            start = scheme.end() if scheme else 0
            return value[:start] + self._placeholder(value[start:], "key")
        # JSON inside JSON: the result of a tool, or its input in pieces.
        return self(value) if value[:1] in ("{", "[") else self._plain(value)

    # --- text ------------------------------------------------------------------------------------

    def _plain(self, text: str) -> str:
        # While a pattern goes through a text, no other thread runs: long texts are cut in pieces.
        found = (
            _Secret(start + secret.start, start + secret.end, secret.kind)
            for start in range(0, len(text), PIECE)
            for secret in self._find(text[start : start + PIECE + LONGEST_SECRET])
        )
        return self._replace(text, found)

    def _find(self, text: str) -> Iterator[_Secret]:
        """Find the places of secrets; they may overlap."""
        for kind, pattern in self._fixed.items():
            yield from (_Secret(*match.span(), kind) for match in pattern.finditer(text))
        yield from (_Secret(*match.span(), "email") for match in EMAIL.finditer(text))
        for read in {text, without_escapes(text)}:
            for pattern in PATTERNS:
                for match in pattern.finditer(read):
                    yield _Secret(*match.span(pattern.groups), "key")
            for start, end in named_values(read):
                yield _Secret(start, end, "key")

    def _replace(self, text: str, found: Iterable[_Secret], done: int = 0) -> str:
        """Replace secrets; leave out the text before `done`."""
        pieces = []
        for start, end, kind in _merged(found):
            if end > done:
                secret = text[start:end]
                pieces += [text[done:start], self._placeholder(secret, kind)]
                done = end
        return "".join([*pieces, text[done:]])

    def _placeholder(self, secret: str, kind: str) -> str:
        if kind not in self._count:
            return kind
        if not secret or PLACEHOLDER.fullmatch(secret):
            return secret
        secret = self._known.get(secret, secret)
        if secret not in self._placeholders:
            if len(self._placeholders) >= MOST_REMEMBERED:
                del self._placeholders[next(iter(self._placeholders))]
            self._count[kind] += 1
            self._placeholders[secret] = f"<{kind}-{self._count[kind]}>"
        return self._placeholders[secret]


class StreamRedactor:
    """Redacts the lines of one stream in their order, also a secret that is spread over several.

    A model writes in pieces, each in one line; a private key on stderr has many lines.

    Args:
        redactor: removes the secrets of single lines.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._key_lines = 0
        self._tails: dict[str, str] = {}

    def __call__(self, line: str) -> str:
        """Return the next line without its secrets."""
        is_json = line[:1] in ("{", "[")
        if self._key_lines and not is_json:
            self._key_lines = 0 if END_OF_PRIVATE_KEY.search(line) else self._key_lines - 1
            return self._redactor._placeholder(line, "key")
        self._key_lines = 0
        if '"content_block_delta"' in line and (shown := self._piece(line)) is not None:
            return shown
        begin = None if is_json else PRIVATE_KEY.search(line)
        if begin is not None and END_OF_PRIVATE_KEY.search(line, begin.start()) is None:
            self._key_lines = MOST_KEY_LINES
        return self._redactor(line)

    def _piece(self, line: str) -> str | None:
        """Redact a piece of a block that the model writes; None if the line is not one."""
        message = _decoded(line)
        try:
            event = message["event"]
            delta = event["delta"]
            field = next(it for it in ("text", "thinking", "partial_json") if it in delta)
            text, block = delta[field], f"{message.get('parent_tool_use_id')} {event.get('index')}"
            delta[field] = ""
            before = self._tails.pop(block, "")
            self._tails[block] = _tail(before + text)
        except (LookupError, TypeError, AttributeError, StopIteration):
            return None
        if len(self._tails) > MOST_BLOCKS:
            del self._tails[next(iter(self._tails))]
        shown = self._redactor._json("", message)
        shown["event"]["delta"][field] = self._redactor.after(before, text)
        return _encoded(shown, line)


def redact(
    text: str, *, home: str | os.PathLike[str] | None = None, extra: Iterable[str] = ()
) -> str:
    """Return one string without its secrets. Use a `Redactor` for several related ones."""
    return Redactor(home=home, extra=extra)(text)


def _known_secrets(variables: Mapping[str, str], extra: Iterable[str]) -> dict[str, str]:
    """Return strings to search for: plain, in JSON, in URLs and in base64, with their secrets."""
    named = [
        value
        for name, value in variables.items()
        if is_secret(name, value) and len(value) >= SHORTEST_KNOWN and not is_reference(value)
    ]
    known: dict[str, str] = {}
    for secret in filter(None, [*named, *extra]):
        encoded = base64.b64encode(secret.encode("utf-8", "surrogatepass")).decode().rstrip("=")
        forms = (secret, json.dumps(secret)[1:-1], quote(secret, "", errors="replace"), encoded)
        known |= dict.fromkeys(forms, secret)
    return known


def _decoded(text: str) -> Any:
    """Decode JSON; None if the text is no JSON, or has a key twice, of which one would be lost."""
    if text[:1] not in ("{", "[", '"', " "):
        return None
    try:
        return json.loads(text, strict=False, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is there twice")
    return found


def _encoded(value: Any, text: str) -> str:
    return json.dumps(value, ensure_ascii=text.isascii(), separators=(",", ":"))


def _merged(found: Iterable[_Secret]) -> Iterator[_Secret]:
    """Join places that overlap, so that no rest of a secret is left. The first kind counts."""
    last = _Secret(0, 0, "")
    for secret in sorted(found, key=lambda it: (it.start, it.kind == "email", -it.end)):
        if secret.start >= last.end:
            yield last
            last = secret
        elif secret.kind != "email":  # `password@host` in a URL looks like an address
            last = last._replace(end=max(last.end, secret.end))
    yield last


def _tail(text: str) -> str:
    """Return the end of a text, with the whole of a token that may go on."""
    start = max(map(text.rfind, _MARKS)) + 1
    return text[min(start, max(0, len(text) - _SHORTEST_TAIL)) :][-_LONGEST_TAIL:]


def _any_of(texts: Iterable[str], not_beside: str = "") -> re.Pattern[str]:
    """Match any of the strings, the longest of those with the same beginning."""
    options = "|".join(map(re.escape, sorted(texts, reverse=True)))
    if not options:
        return re.compile("(?!)")
    beside = (f"(?<!{not_beside})", f"(?!{not_beside})") if not_beside else ("", "")
    return re.compile(f"{beside[0]}(?:{options}){beside[1]}")
