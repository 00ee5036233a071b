"""Docstrings in Google, NumPy and reST style: the description, and that of each argument."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, field

__all__ = ["Docstring"]

_ABOUT_ARGUMENTS = (
    "args|arguments|attributes|keyword args|keyword arguments|other parameters|parameters|params"
)
_ABOUT_OTHERS = "raises|return|returns|warns|yield|yields"
"""Sections that a caller who cannot see the code has no use for."""

_TITLE = rf"^(?:(?P<arguments>{_ABOUT_ARGUMENTS})|{_ABOUT_OTHERS})"
_LINES_INDENTED = r"(?P<body>(?:[ \t].*\n|\n)*)"
_LINES_TO_NEXT_TITLE = r"(?P<body>(?:(?!.+\n-{3,}\n).*\n)*)"
_FLAGS = re.MULTILINE | re.IGNORECASE

_GOOGLE = re.compile(rf"{_TITLE}:\n{_LINES_INDENTED}", _FLAGS)
_GOOGLE_ITEM = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)\Z")
_NUMPY = re.compile(rf"{_TITLE}\n-{{3,}}\n{_LINES_TO_NEXT_TITLE}", _FLAGS)
_NUMPY_ITEM = re.compile(r"(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?\Z")

_REST_ARGUMENT = "arg|argument|cvar|ivar|key|keyword|param|parameter|var"
_REST_OTHERS = "raise|raises|return|returns|rtype|type|vartype|yield|yields"
_REST = re.compile(
    rf"^:(?:(?P<arguments>{_REST_ARGUMENT})|{_REST_OTHERS})\b[ \t]*(?P<names>[^:\n]*):"
    r"(?P<body>.*\n(?:[ \t]+.*\n)*)",
    re.MULTILINE,
)


@dataclass(slots=True)
class Docstring:
    """The parts of a docstring.

    Attributes:
        text: everything but the sections about arguments, results and exceptions.
        arguments: the description of each argument or attribute.
    """

    text: str = ""
    arguments: dict[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, docstring: str | None) -> Docstring:
        """Parse a docstring of any of the three styles."""
        found = cls(_clean(docstring or ""))
        found._take_sections(_GOOGLE, _GOOGLE_ITEM)
        found._take_sections(_NUMPY, _NUMPY_ITEM)
        found.text = _REST.sub(found._take_field, found.text)
        found.text = re.sub(r"\n{3,}", "\n\n", found.text).strip()
        return found

    def _take_sections(self, section: re.Pattern[str], item: re.Pattern[str]) -> None:
        for match in section.finditer(self.text):
            if match["arguments"]:
                self.arguments |= _items(inspect.cleandoc(match["body"]).splitlines(), item)
        self.text = section.sub("", self.text)

    def _take_field(self, match: re.Match[str]) -> str:
        name, words = match["names"].split()[-1:], match["body"].split()
        if match["arguments"] and name and words:
            self.arguments[name[0]] = " ".join(words)
        return ""


def _clean(docstring: str) -> str:
    text = inspect.cleandoc(docstring) + "\n"
    if re.match(rf"{_TITLE}:\n\S", text, _FLAGS):
        # The first line is a title, and the indentation below it seemed to be that of the code.
        text = text.replace("\n", "\n    ")
    return text


def _items(lines: list[str], item: re.Pattern[str]) -> dict[str, str]:
    """Read the descriptions in a section, each of one name or several."""
    about: dict[str, list[str]] = {}
    names: list[str] = []
    for line in lines:
        match = None if line.startswith(" ") else item.match(line)
        if match:
            names = [name.strip().lstrip("*") for name in match[1].split(",")]
            about.update({name: list(match.groups()[1:]) for name in names})
        else:
            for name in names:
                about[name].append(line.strip())
    return {name: " ".join(filter(None, words)) for name, words in about.items() if any(words)}
