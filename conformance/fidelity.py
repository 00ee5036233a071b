"""Known differences between the simulated CLI and the real one, as data and as a page."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance import FOLDER

SOURCE = FOLDER / "fidelity.toml"
SIDES = ("real", "simulated", "both")
LEFT_OUT = frozenset(tomllib.loads(SOURCE.read_text(encoding="utf-8"))["left_out"])
"""The keys that the simulated CLI leaves out, with all below them."""

HEAD = """\
# Fidelity

The simulated CLI and the real one, version {version}, are driven through the same conversations,
the real one in a cage and with a scripted API. The same lines have to come in the same order, each
with the same keys as far as our types declare them, and both have to exit with the same status.
What is still different is listed here, and a difference that is not fails the comparison. Values
are not compared: the simulated CLI invents its models, prices, commands and times. Older versions
are compared with recordings, line by line.

The transcripts that both leave below `CLAUDE_CONFIG_DIR` are compared as well, with the values,
after ids, times, figures and places were made alike; here they are the lines `transcript/…`.
"""


@dataclass(frozen=True)
class Difference:
    """Something that only one of the two does: write a line, or these keys in it."""

    case: str
    line: str
    only: str
    reason: str
    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, entry: dict[str, Any]) -> Difference:
        difference = cls(**{**entry, "keys": tuple(entry.get("keys", ()))})
        if difference.only not in SIDES:
            raise ValueError(f"{difference.case}: `only` is {' or '.join(SIDES)}")
        return difference


def read() -> dict[str, Any]:
    """Read the file, the differences as such."""
    data = tomllib.loads(SOURCE.read_text(encoding="utf-8"))
    data["difference"] = [Difference.of(entry) for entry in data["difference"]]
    return data


def is_left_out(difference: tuple[str, str, str]) -> bool:
    """Return whether a difference is a key that the simulated CLI omits on purpose."""
    _, side, key = difference
    parts = key.replace("[]", "").split(".")
    return side == "real" and not LEFT_OUT.isdisjoint(parts)


def known(case: str) -> set[tuple[str, str, str]]:
    """The line, the side and the key of each difference in a case; no key for a whole line."""
    return {
        (difference.line, difference.only, key)
        for difference in read()["difference"]
        if difference.case == case
        for key in difference.keys or ("",)
    }


def render(data: dict[str, Any]) -> str:
    """Write the document."""
    head = HEAD.format(version=data["version"])
    parts = (
        _differences(data["difference"]),
        _not_compared(data["not_compared"]),
        _clients(data["client"]),
    )
    return "\n".join([head, *("\n".join([*part, ""]) for part in parts)])


def _differences(differences: Sequence[Difference]) -> Iterator[str]:
    yield "| conversation | line | difference | reason |"
    yield "|---|---|---|---|"
    for each in differences:
        keys = ", ".join(f"`{key.removeprefix('request.')}`" for key in each.keys)
        what = f"only the {each.only} one has {keys or 'it'}"
        if each.only == "both":
            what = f"another value of {keys}"
        yield f"| {each.case} | `{each.line}` | {what} | {each.reason} |"


def _clients(entries: Sequence[dict[str, Any]]) -> Iterator[str]:
    yield "## Clients that were tried"
    yield ""
    yield "Others wrote them. Each runs in a cage, with the simulated CLI in place of the real one."
    yield ""
    yield "| client | usage | works |"
    yield "|---|---|---|"
    for each in entries:
        works = f"yes: `{each['test'].partition('::')[2]}`" if "test" in each else each["why_not"]
        for usage in each.get("works") or [each["usage"]]:
            yield f"| {each['name']} | {usage} | {works} |"


def _not_compared(entries: Sequence[dict[str, str]]) -> Iterator[str]:
    yield "Not compared:"
    yield ""
    for entry in entries:
        yield f"- {entry['what']}. {entry['reason']}"
