"""Removing secrets from strings, so that what went over the wire can be kept and shown.

What is replaced: keys and tokens that are recognised by their form, values under a name such as
`apiKey` or `password`, e-mail addresses, the home directory and the user's name. JSON stays the
same JSON apart from the strings that held a secret.

A secret that has neither form nor name is not recognised, nor is one that a model spells out in
pieces.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping

__all__ = ["PLACEHOLDER", "Redact", "Redactor", "redact", "rewrite"]

Redact = Callable[[str], str]
"""Takes a string, usually a whole line, and returns it without its secrets."""

PLACEHOLDER = re.compile(r"<(key|email|secret)-\d+>")
"""What replaces a secret. The same secret has the same number."""

SHORTEST_OPAQUE = 12
"""A secret that was found by its name is looked for everywhere else if it is this long and has a
digit; otherwise it may be an ordinary word."""

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

_SECRET_NAMES = (
    "api key",
    "access key",
    "private key",
    "secret key",
    "signing key",
    "encryption key",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "credential",
    "credentials",
    "authorization",
    "cookie",
)
"""How the names of secrets end, in any spelling."""
_NOT_SECRET = {"progresstoken"}
_ENDINGS = tuple(name.replace(" ", "") for name in _SECRET_NAMES)

_NAME = f"(?:{'|'.join(name.replace(' ', '[_-]?') for name in _SECRET_NAMES)})"
_WORD = r"([^\s\"'\\,;&(){}\[\]<>]{6,})"
_SCHEME = r"(?:(?:bearer|basic)\s+)?+"
_PLACEHOLDER = rf"(?!{PLACEHOLDER.pattern.replace('(', '(?:')})"

# Each finds secrets as its last group. All are linear: runs are bounded or cannot be
# entered in their middle. Behind a quote a value goes on to the next one, else to the next space.
_SECRETS = [
    re.compile(
        r"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?"
        r"(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z))",
        re.DOTALL,
    ),
    re.compile(r"(sk-ant-[\w-]{4,})", re.ASCII),
    re.compile(
        r"(?<![A-Za-z0-9])(sk-[\w-]{20,}|gh[oprsu]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
        r"|(?:xox[a-z]|xapp)-[\w-]{10,}|A[KS]IA[0-9A-Z]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}"
        r"|[rs]k_(?:live|test)_\w{16,}|npm_\w{30,}|hf_\w{30,}"
        r"|eyJ[\w-]{8,2000}\.[\w-]{8,2000}(?:\.[\w-]{0,2000})?)",
        re.ASCII,
    ),
]
_NAMED_SECRETS = [
    re.compile(
        rf"{_NAME}\\*[\"']?\s*[:=]\s*\\*[\"']{_SCHEME}{_PLACEHOLDER}([^\"'\\]+)",
        re.IGNORECASE,
    ),
    re.compile(rf"{_NAME}\\*[\"']?\s*[:=]\s*{_SCHEME}{_WORD}", re.IGNORECASE),
    re.compile(
        rf"(?<![\w-])--[\w-]{{0,40}}?{_NAME}\s+\\*[\"']?{_SCHEME}(?!-){_WORD}", re.IGNORECASE
    ),
    re.compile(r"\bbearer\s+([\w.~+/=-]{8,})", re.IGNORECASE | re.ASCII),
    re.compile(r"://[^\s/:@\"']{0,100}:([^\s/@\"'<>]{1,200})@"),
]
_AT_A_HOST = re.compile(r"@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,63}")
_LOCAL_PART = re.compile(r"[\w.%+-]+")
LONGEST_LOCAL_PART = 256
"""Characters before the @ of an address; RFC 5321 allows 64 bytes."""
_VALUE = re.compile(rf"\s*+{_SCHEME}(.*)", re.IGNORECASE | re.DOTALL)


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
        self._placeholders: dict[str, str] = {}
        self._count = {"key": 0, "email": 0, "secret": 0}
        self._known: dict[str, str] = {}
        self._find_known = _any_of([])
        for name, value in variables.items():
            if _is_secret_name(name) and len(value) >= SHORTEST_OPAQUE:
                self._remember(value)
        for secret in extra:
            self._remember(secret)

    def __call__(self, text: str) -> str:
        """Return the string without its secrets. JSON stays JSON."""
        try:
            json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return self._plain(text)
        return rewrite(text, self._string)

    def _string(self, name: str, value: str) -> str:
        if _is_secret_name(name):
            return _VALUE.sub(lambda match: _replaced(match, self._named), value, count=1)
        # JSON inside JSON: what a tool returned, or its input in pieces.
        return self(value) if value[:1] in ("{", "[") else self._plain(value)

    def _plain(self, text: str) -> str:
        text = self._find_known.sub(self._secret, text)
        for pattern in _SECRETS:
            text = pattern.sub(lambda match: _replaced(match, self._key), text)
        for pattern in _NAMED_SECRETS:
            text = pattern.sub(lambda match: _replaced(match, self._named), text)
        if "@" in text:
            text = self._without_addresses(text)
        text = self._home.sub("~", text)
        return self._users.sub("<user>", text)

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

    def _secret(self, match: re.Match[str]) -> str:
        return self._placeholder(self._known[match[0]], "secret")

    def _key(self, secret: str) -> str:
        return self._placeholder(secret, "key")

    def _named(self, secret: str) -> str:
        if not secret or PLACEHOLDER.fullmatch(secret):
            return secret
        if len(secret) >= SHORTEST_OPAQUE and any(map(str.isdigit, secret)):
            self._remember(secret)
        return self._key(secret)

    def _remember(self, secret: str) -> None:
        """Look for this secret from now on, also in its JSON form."""
        if secret and secret not in self._known:
            self._known |= {secret: secret, json.dumps(secret)[1:-1]: secret}
            self._find_known = _any_of(self._known)

    def _placeholder(self, secret: str, kind: str) -> str:
        if secret not in self._placeholders:
            self._count[kind] += 1
            self._placeholders[secret] = f"<{kind}-{self._count[kind]}>"
        return self._placeholders[secret]


def redact(
    text: str, *, home: str | os.PathLike[str] | None = None, extra: Iterable[str] = ()
) -> str:
    """Return one string without its secrets. Use a `Redactor` for several that belong together."""
    return Redactor(home=home, extra=extra)(text)


def _is_secret_name(name: str) -> bool:
    letters = re.sub("[^a-z]", "", name.lower())
    return letters.endswith(_ENDINGS) and letters not in _NOT_SECRET


def _any_of(texts: Iterable[str], not_beside: str = "") -> re.Pattern[str]:
    """Match any of the strings, the longest first; match nothing if there are none."""
    options = "|".join(map(re.escape, sorted(texts, key=len, reverse=True)))
    if not options:
        return re.compile("(?!)")
    if not not_beside:
        return re.compile(options)
    return re.compile(f"(?<!{not_beside})(?:{options})(?!{not_beside})")


def _replaced(match: re.Match[str], change: Redact) -> str:
    """Change the group of a match and keep the rest of it."""
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    return match[0][:start] + change(match[1]) + match[0][end:]


# --- strings in JSON -----------------------------------------------------------------------------

_STRING = re.compile(r'("(?:[^"\\]++|\\.)*+")(\s*+:)?', re.DOTALL)
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def rewrite(line: str, change: Callable[[str, str], str]) -> str:
    """Change strings in JSON and leave everything else as it was written.

    Args:
        line: the JSON.
        change: takes the key of a string and the string, and returns the new one. A key of an
            object is itself a string under the key "".
    """
    name = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal name
        token, colon = match.groups(default="")
        value = _value(token)
        new = change("" if colon else name, value)
        if colon:
            name = value
        if new == value:
            return match[0]
        # A lone surrogate is either an escape, or represents a byte that is not UTF-8.
        return json.dumps(new, ensure_ascii=bool(_ESCAPED_SURROGATE.search(token))) + colon

    return _STRING.sub(replace, line)


def _value(token: str) -> str:
    try:
        return str(json.loads(token, strict=False)) if "\\" in token else token[1:-1]
    except ValueError:  # an escape that JSON does not have
        return token[1:-1]
