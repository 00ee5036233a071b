"""Removing secrets from strings, so that what went over the wire can be kept and shown.

What is replaced: keys and tokens that are recognised by their form, values under a name such as
`apiKey` or `password`, e-mail addresses, the home directory and the user's name. JSON stays the
same JSON apart from the strings that held a secret, and numbers under a secret name. What secrets
look like is in `secret_forms`.

A secret that has neither form nor name is not recognised, nor is one that a model spells out in
pieces of its own.
"""

from __future__ import annotations

import json
import os
import re
import string
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Any, NamedTuple

import msgspec

from .json_text import rewrite, rewrite_values
from .secret_forms import (
    AFTER_NAME,
    ARGUMENT,
    CANDIDATE,
    COMMANDS,
    IN_NETRC,
    IN_URLS,
    NAME,
    NETRC_VALUE,
    OPEN_END,
    OPTION,
    REST_OF_LINE,
    SHORT_NAMES,
    TOKEN,
    URLS,
    is_description,
    is_reference,
    is_secret_name,
)
from .secret_services import MENTIONED, OPAQUE, find_value, is_of_service

__all__ = ["PLACEHOLDER", "Redact", "Redactor", "StreamRedactor", "redact", "rewrite"]

Redact = Callable[[str], str]
"""Takes a string, usually a whole line, and returns it without its secrets."""

PLACEHOLDER = re.compile(r"<(key|email|secret)-\d+>")
"""What replaces a secret. The same secret has the same number."""

SHORTEST_OPAQUE = 12
"""A secret that was found by its name is looked for everywhere else if it is this long and has a
digit; otherwise it may be an ordinary word."""

MOST_LEARNED = 10_000
"""How many secrets that were found by their names are looked for elsewhere."""
MOST_BLOCKS = 64
"""How many blocks can be written at the same time: by the model and by its subagents."""
MOST_BLOCK_LINES = 200
"""Lines of a private key."""
MOST_PLACEHOLDERS = 100_000
"""How many secrets have a number of their own. Then all numbers are given anew."""

COMMON_NAMES = frozenset(
    [
        "admin",
        "claude",
        "email",
        "home",
        "key",
        "node",
        "root",
        "runner",
        "secret",
        "ubuntu",
        "user",
    ]
)
"""User names that identify no one, and are common words."""

PIECE = 32 * 1024
"""Characters that are looked through in one go. This may run in a thread beside an event loop,
which has to wait for each search in the text."""
_LONGEST = 8 * 1024
"""Characters before the end of a piece in which a place is looked for that is in no secret."""
_LARGE = 256 * 1024
"""Characters from which on it is found out in a quicker way whether a text is JSON."""
_SEPARATED = re.compile(r"[=:>,|][\"'\\\s]{0,6}\Z")
_LONGEST_NAMED = 300
"""Characters of what may be the key of a service, with its name."""
_BEFORE_VALUE = 60
"""Characters before a value in which its name is looked for."""
_SHORTEST_NUMBER = 4
"""Digits of a number that is taken for a secret, if its name says so."""

_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_END_OF_BLOCK = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_RUN = re.compile(r"[^\s\"'\\,;&(){}\[\]<>]{12,}")
"""What a secret that is looked for everywhere consists of."""
_HEAD = re.compile(r"(\s*)([^\s\"'\\,;&(){}\[\]<>]+)")
"""The beginning of a text, up to where a secret would end that began before."""
_LAST_RUN = re.compile(r"[\w.~+/=:$@|%-]+\Z")
TAIL = 120
"""Characters of a text that are remembered, in case that a secret was cut."""
_CUTS = tuple(map(re.compile, (r"(?<=[^\s:=>,])\n(?=\S)", r"(?<=[.;!?])\s", r"\s", r"[^\w-]")))
"""Where a text can be cut, the best place first: a secret has none of these in it."""
_AT_A_HOST = re.compile(r"@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}")
_LOCAL_PART = re.compile(r"[\w.%+-]+")
LONGEST_LOCAL_PART = 256
"""Characters before the @ of an address; RFC 5321 allows 64 bytes."""
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_VALUE = re.compile(r"\s*+(?:(?:bearer|basic)\s+)?(.*)", re.IGNORECASE | re.DOTALL)


class Redactor:
    """Removes the secrets from the strings of one recording.

    The same secret gets the same placeholder, so that what belongs together still matches.

    Args:
        home: the home directory; that of this process unless given.
        extra: further strings to remove.
        environment: variables in which secrets are found by their names, and users; `os.environ`
            unless given.
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
        self._home = _any_of([home.rstrip("/")] if home.startswith("/") else [], r"\w")
        users = {os.path.basename(home), variables.get("USER", ""), variables.get("LOGNAME", "")}
        names = [name for name in users if len(name) > 2 and name.lower() not in COMMON_NAMES]
        self._users = _any_of(names, "[A-Za-z0-9]")
        self._known = _known_secrets(variables, extra)
        self._find_known = _any_of(self._known)
        self._forget()

    def _forget(self) -> None:
        self._placeholders: dict[str, str] = {}
        self._count = {"key": 0, "email": 0, "secret": 0}
        self._learned: dict[str, set[str]] = {}
        """Secrets that were found by their names, by how they begin."""

    def _fresh(self) -> Redactor:
        """Return one like this when it was new, without reading the environment again."""
        other = copy(self)
        other._forget()
        return other

    def __call__(self, text: str) -> str:
        """Return the string without its secrets. JSON stays JSON."""
        if _is_json(text):
            return rewrite_values(text, self._string, self._number, _inherited)
        return self._plain(text)

    def after(self, before: str, text: str) -> str:
        """Redact a text that goes on where another one, which is written already, has ended.

        If a secret was cut in two, its second piece is replaced.

        Args:
            before: the end of the other text, as it was.
            text: the text.
        """
        before = _tail(before)
        head = _HEAD.match(text)
        if head is None or not _may_be_cut(before, head[0]):
            return self(text)
        is_cut = OPEN_END.search(before) is not None and bool(head[2])
        if not is_cut and self(before + head[0]) == self(before) + self(head[0]):
            return self(text)
        secret = [*before.split()[-1:], head[2]]
        return head[1] + self._key("".join(secret)) + self(text[head.end() :])

    def value(self, value: Any, name: str = "") -> Any:
        """Return JSON types without their secrets; other objects as strings.

        Args:
            value: what `json.loads` returns.
            name: the name that it is under.
        """
        if isinstance(value, Mapping):
            items = ((str(key), it) for key, it in value.items())
            return {self._plain(key): self.value(it, _inherited(name, key)) for key, it in items}
        if isinstance(value, list | tuple):
            return [self.value(it, name) for it in value]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            is_secret = self._number(name, repr(value)) != repr(value)
            return self._key(repr(value)) if is_secret else value
        return self._string(name, value if isinstance(value, str) else str(value))

    # --- JSON ------------------------------------------------------------------------------------

    def _string(self, name: str, value: str) -> str:
        if is_secret_name(name) or (OPAQUE.search(value[:200]) and is_of_service(name, value)):
            return _VALUE.sub(lambda match: _replaced(match, self._named), value, count=1)
        # JSON inside JSON: what a tool returned, or its input in pieces.
        return self(value) if value[:1] in ("{", "[") else self._plain(value)

    def _number(self, name: str, number: str) -> str:
        digits = sum(map(str.isdigit, number))
        if digits < _SHORTEST_NUMBER or not is_secret_name(name):
            return number
        return f'"{self._key(number)}"'

    # --- text ------------------------------------------------------------------------------------

    def _plain(self, text: str) -> str:
        if "PRIVATE KEY" in text:
            text = self._without_blocks(text)
        if len(text) <= PIECE:
            return self._piece(text)
        return "".join(map(self._piece, _pieces_of(text)))

    def _without_blocks(self, text: str) -> str:
        """Replace private keys in their usual form; one that does not end, up to the end."""
        pieces, done = [], 0
        while (begin := _BLOCK.search(text, done)) is not None:
            end = _END_OF_BLOCK.search(text, begin.end())
            stop = len(text) if end is None else end.end()
            pieces += [text[done : begin.start()], self._key(text[begin.start() : stop])]
            done = stop
        return "".join([*pieces, text[done:]])

    def _piece(self, text: str) -> str:
        if self._known:
            text = self._find_known.sub(self._secret, text)
        if self._learned:
            text = _RUN.sub(self._without_learned, text)
        if len(text) >= SHORTEST_OPAQUE:
            text = CANDIDATE.sub(self._without_tokens, text)
            text = self._without_named(text)
        if "@" in text:
            text = self._without_addresses(text)
        text = self._home.sub("~", text)
        return self._users.sub("<user>", text)

    def _without_tokens(self, candidate: re.Match[str]) -> str:
        text = TOKEN.sub(lambda match: self._key(match[0]), candidate[0])
        if len(text) > _LONGEST_NAMED or not OPAQUE.search(text):
            return text
        before = candidate.string[max(0, candidate.start() - _BEFORE_VALUE) : candidate.start()]
        if not (_SEPARATED.search(before) or re.search("[=:|]", text)):
            return text
        return (
            self._without_value_of_service(before, text)
            if MENTIONED.search(before + text)
            else text
        )

    def _without_value_of_service(self, before: str, text: str) -> str:
        place = find_value(before + text)
        if place is None or place[0] < len(before):
            return text
        start, end = place[0] - len(before), place[1] - len(before)
        return text[:start] + self._named(text[start:end]) + text[end:]

    def _without_named(self, text: str) -> str:
        lower = _lower(text)
        patterns = [pattern for hint, pattern in COMMANDS if hint in lower]
        if any(hint in text for hint in IN_URLS):
            patterns += URLS
        for pattern in patterns:
            text = pattern.sub(self._replace_named, text)
        return self._without_values(text, _lower(text) if patterns else lower)

    def _replace_named(self, match: re.Match[str]) -> str:
        return match[0] if is_reference(match[1]) else _replaced(match, self._named)

    def _without_values(self, text: str, lower: str) -> str:
        """Replace what stands behind a secret name."""
        pieces, done = [], 0
        for name in NAME.finditer(lower):
            value = _value_of(name, text) if name.start() >= done else None
            if value is not None and not is_reference(value[1]):
                pieces += [text[done : value.start(1)], self._named(value[1])]
                done = value.end(1)
        return "".join([*pieces, text[done:]]) if pieces else text

    def _without_learned(self, run: re.Match[str]) -> str:
        text, place, pieces, done = run[0], 0, [], 0
        while place <= len(text) - SHORTEST_OPAQUE:
            found = self._learned.get(text[place : place + SHORTEST_OPAQUE], ())
            secret = max((it for it in found if text.startswith(it, place)), key=len, default="")
            if secret:
                pieces += [text[done:place], self._key(secret)]
                done = place = place + len(secret)
            else:
                place += 1
        return "".join([*pieces, text[done:]])

    def _without_addresses(self, text: str) -> str:
        # Searched backwards from the @: forwards, each letter of a long string could begin one.
        pieces, done = [], 0
        for match in _AT_A_HOST.finditer(text):
            before = text[max(done, match.start() - LONGEST_LOCAL_PART) : match.start()]
            local = _LOCAL_PART.match(before[::-1])
            if local is not None:
                start = match.start() - local.end()
                address = text[start : match.end()]
                pieces += [text[done:start], self._placeholder(address, "email")]
                done = match.end()
        return "".join([*pieces, text[done:]])

    # --- placeholders ----------------------------------------------------------------------------

    def _secret(self, match: re.Match[str]) -> str:
        return self._placeholder(self._known[match[0]], "secret")

    def _key(self, secret: str) -> str:
        return self._placeholder(secret, "key")

    def _named(self, secret: str) -> str:
        if not secret or PLACEHOLDER.fullmatch(secret):
            return secret
        self._learn(secret)
        return self._key(secret)

    def _learn(self, secret: str) -> None:
        """Look for this secret from now on, wherever it is."""
        if not any(map(str.isdigit, secret)) or not _RUN.fullmatch(secret):
            return
        if len(self._learned) < MOST_LEARNED:
            self._learned.setdefault(secret[:SHORTEST_OPAQUE], set()).add(secret)

    def _placeholder(self, secret: str, kind: str) -> str:
        if secret not in self._placeholders:
            if len(self._placeholders) >= MOST_PLACEHOLDERS:
                self._placeholders.clear()
            self._count[kind] += 1
            self._placeholders[secret] = f"<{kind}-{self._count[kind]}>"
        return self._placeholders[secret]


class StreamRedactor:
    """Redacts the lines of one stream in their order, also a secret that is spread over several.

    What a model writes arrives in pieces, each in a line of its own; and a private key on stderr
    has many lines.

    Args:
        redactor: removes the secrets of single lines.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._block_lines = 0
        self._tails: dict[str, str] = {}

    def __call__(self, line: str) -> str:
        """Return the next line without its secrets."""
        if self._block_lines:
            return self._in_block(line)
        if '"content_block_delta"' in line and (piece := _Piece.of(line)) is not None:
            return self._next_piece(line, piece)
        if "PRIVATE KEY" in line and (begin := _BLOCK.search(line)) and line[:1] not in ("{", "["):
            is_open = _END_OF_BLOCK.search(line, begin.end()) is None
            self._block_lines = MOST_BLOCK_LINES if is_open else 0
        return self._redactor(line)

    def _in_block(self, line: str) -> str:
        is_end = _END_OF_BLOCK.search(line) is not None
        self._block_lines = 0 if is_end or line[:1] == "{" else self._block_lines - 1
        return self._redactor(line) if line[:1] == "{" else self._redactor._key(line)

    def _next_piece(self, line: str, piece: _Piece) -> str:
        before = self._tails.pop(piece.block, "")
        shown = self._redactor.after(before, piece.text)
        self._tails[piece.block] = _tail(before + piece.text)
        if len(self._tails) > MOST_BLOCKS:
            del self._tails[next(iter(self._tails))]

        def change(name: str, value: str) -> str:
            is_piece = name == piece.field and value == piece.text
            return shown if is_piece else self._redactor._string(name, value)

        return rewrite(line, change)


class _Piece(NamedTuple):
    """A piece of a block that is being written: which block it is, and the field with the text."""

    block: str
    field: str
    text: str

    @classmethod
    def of(cls, line: str) -> _Piece | None:
        try:
            message = json.loads(line)
            event = message["event"]
            for field in ("text", "thinking", "partial_json"):
                if isinstance(text := event["delta"].get(field), str):
                    block = f"{message.get('parent_tool_use_id')} {event.get('index')}"
                    return cls(block, field, text)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            pass
        return None


def redact(
    text: str, *, home: str | os.PathLike[str] | None = None, extra: Iterable[str] = ()
) -> str:
    """Return one string without its secrets. Use a `Redactor` for several that belong together."""
    return Redactor(home=home, extra=extra)(text)


def _known_secrets(variables: Mapping[str, str], extra: Iterable[str]) -> dict[str, str]:
    """Return strings to look for, with the secrets that they stand for: also in their JSON form."""
    named = [
        value
        for name, value in variables.items()
        if is_secret_name(name) and len(value) >= SHORTEST_OPAQUE and not is_reference(value)
    ]
    known: dict[str, str] = {}
    for secret in filter(None, [*named, *extra]):
        known |= {secret: secret, json.dumps(secret)[1:-1]: secret}
    return known


def _inherited(outer: str, own: str) -> str:
    """Say under which name a value is that is in an object under another name."""
    return outer if is_secret_name(outer) and not is_description(own) else own


def _tail(text: str) -> str:
    """Return the end of a text, with the whole of what may be a long token."""
    run = _LAST_RUN.search(text, max(0, len(text) - _LONGEST))
    return text[-TAIL:] if run is None else text[min(run.start(), max(0, len(text) - TAIL)) :]


def _may_be_cut(before: str, head: str) -> bool:
    """Whether a secret may begin in one text and end in the next; if not, much work is saved."""
    run = _LAST_RUN.search(before + head)
    if run is not None and run.end() - run.start() >= SHORTEST_OPAQUE:
        return bool(before) and run.start() < len(before)
    lower = _lower(before)
    return "@" in before or "://" in before or NAME.search(lower) is not None or "bearer" in lower


def _is_json(text: str) -> bool:
    if len(text) > _LARGE:
        try:
            msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=msgspec.Raw)
        except (msgspec.DecodeError, RecursionError):
            return False
        return True
    try:
        json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return False
    return True


def _pieces_of(text: str) -> Iterable[str]:
    """Cut a long text where no secret is cut in two."""
    start = 0
    while len(text) - start > PIECE:
        cut = _cut(text, start + PIECE)
        yield text[start:cut]
        start = cut
    yield text[start:]


def _cut(text: str, end: int) -> int:
    window = text[end - _LONGEST : end]
    for pattern in _CUTS:
        places = [match.start() for match in pattern.finditer(window)]
        if places:
            return end - _LONGEST + max(places[-1], 1)
    return end


def _lower(text: str) -> str:
    """Return the text in lower case, with each letter in its place."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_LOWER)


def _value_of(name: re.Match[str], text: str) -> re.Match[str] | None:
    """Find the value that stands behind a name; None if there is none."""
    start, end = name.span()
    if name[0] in SHORT_NAMES and not _is_word(text, start):
        return None
    if name[0] == "pwd" and re.match(r"\W{1,3}[/~]", text[end : end + 5]):
        return None  # a directory
    if name[0] in ("authorization", "cookie") and (rest := REST_OF_LINE.match(text, end)):
        return rest
    for pattern in AFTER_NAME:
        if (value := pattern.match(text, end)) is not None:
            return value
    if OPTION.search(text, max(0, start - 50), start):
        return ARGUMENT.match(text, end)
    if name[0] == "password" and IN_NETRC.search(text, max(0, start - 500), start):
        return NETRC_VALUE.match(text, end)
    return None


def _is_word(text: str, start: int) -> bool:
    """Whether a word begins here, and not only a part of one: `DB_PASS`, `dbPass`."""
    before = text[start - 1 : start]
    return not before.isalpha() or (before.islower() and text[start].isupper())


def _any_of(texts: Iterable[str], not_beside: str = "") -> re.Pattern[str]:
    """Match any of the strings, of those that begin alike the longest; nothing if none is given."""
    options = "|".join(map(re.escape, sorted(texts, reverse=True)))
    if not options:
        return re.compile("(?!)")
    if not not_beside:
        return re.compile(options)
    return re.compile(f"(?<!{not_beside})(?:{options})(?!{not_beside})")


def _replaced(match: re.Match[str], change: Redact) -> str:
    """Change the group of a match and keep the rest of it."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + change(match[1]) + match[0][end:]
