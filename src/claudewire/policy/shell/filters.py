"""The small languages of `sed` and `awk`, as far as a script runs and writes nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .script import Word

_SED_FLAGS = re.compile(
    r"-[nErsuz]+|-[nErsuz]*i[.\w]*|--(?:quiet|silent|in-place|regexp-extended|null-data|separate)"
)
_ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/I?)"
_TO = r"(?:(?!\1)[^\\\n]|\\.)*\1"
_SED_COMMAND = re.compile(
    rf"[\s;}}]*(?:{_ADDRESS}(?:,[+~]?{_ADDRESS})?\s*!?\s*)?"
    rf"(?:\{{|[aic](?![\w\\])[^\n\\]*|[pdqnNgGhHxPDl=]\s*|s([^\w\s\\]){_TO}{_TO}[gpiIm0-9]*\s*|"
    r"y/(?:[^/\\\n]|\\.)*/(?:[^/\\\n]|\\.)*/\s*|(?=\Z))"
)


def is_readable_sed(arguments: Sequence[Word]) -> list[Word] | None:
    """Return the files that `sed` edits; None if its script may run or open something else."""
    scripts: list[Word] = []
    operands: list[Word] = []
    given = iter(arguments)
    for word in given:
        if re.fullmatch(r"-[nErsuz]*e|--expression", word.text):
            scripts.append(next(given, word))
        elif not word.text.startswith("-") or not word.static:
            operands.append(word)
        elif not _SED_FLAGS.fullmatch(word.text):
            return None
    if not scripts:
        # On BSD an empty word behind `-i` belongs to it, and the next one is the script.
        count = 2 if operands and not operands[0].text else 1
        scripts, operands = operands[:count], operands[1:]
    is_known = all(word.static and _is_readable(word.text) for word in scripts)
    return operands if scripts and is_known else None


def _is_readable(text: str) -> bool:
    pos = 0
    while pos < len(text):
        found = _SED_COMMAND.match(text, pos)
        if found is None or (found.end() == pos and pos < len(text)):
            return False
        pos = found.end()
        if text[pos : pos + 1] not in ("", ";", "\n", "}") and text[pos - 1] != "{":
            return False
    return True


_AWK_TOKEN = re.compile(
    r'"(?:[^"\\\n]|\\.)*"|(?:^|(?<=[~(,!{};&|\n]))\s*/(?:[^/\\\n\[]|\\.)*/', re.DOTALL
)
_AWK_DIVIDES = re.compile(
    r"\b(?!(?:print|printf|return|in|do|else|exit|delete|case)\b)\w+/(?=[\w$])"
)
_AWK_NAMES = re.compile(r"system|getline|ARGV|@")
# A slash or quote that is left may have hidden the text up to the next one.
_AWK_RUNS = re.compile(r"[/\"]|(?<!\|)\|(?!\|)|\bprintf?\b[^;}\n]*>")


def is_readable_awk(program: Word) -> bool:
    """Whether a program of `awk` runs no other, and opens no file but those behind it."""
    plain = _AWK_DIVIDES.sub("+", _AWK_TOKEN.sub(" 0 ", program.text))
    return program.static and not (_AWK_NAMES.search(program.text) or _AWK_RUNS.search(plain))
