"""The table of behaviours and versions, as it was measured."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from tests.helpers.real_clis import ROOT

from .behaviour import TABLE, VERSIONS, Behaviour
from .runner import SUBJECTS, Outcome, Verdict

DOCUMENT = ROOT / "docs" / "build" / "compatibility.md"

Results = dict[str, dict[str, Outcome]]
"""The outcome of each behaviour, by version and name."""

SIGNS = {Verdict.HOLDS: "✓", Verdict.LACKS: "✗", Verdict.DEVIATES: "~"}

HEAD = """\
# Compatibility

{behaviours} behaviours of claudewire with real CLIs of {versions} versions, each through the public
API, in a cage without a network, against a scripted Messages API. After each behaviour, `/proc` was
searched for orphans. `scripts/matrix --write` builds this page; the behaviours are in
`tests/judges/real/matrix`. `scripts/test` runs the oldest and the newest CLI.

- **✓** The behaviour holds.
- **✗** This version does not have it. The note shows the library's error.
- **~** The CLI does something wrong that no SDK can mend. The note says what.

`scripts/matrix --version X.Y.Z` tries any other version: it installs it privately, plays
everything, prints the changes on its wire, and says what to do.
"""


class Notes:
    """Numbers the notes below the table, each text once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers) + 1)

    def lines(self) -> Iterator[str]:
        for text, number in self._numbers.items():
            yield f"{number}. {_escaped(text)}"


def render(results: Results) -> str:
    """Write the page."""
    notes = Notes()
    parts = [HEAD.format(versions=len(VERSIONS), behaviours=len(TABLE)), *_totals(results)]
    for subject in SUBJECTS:
        rows = [it for it in TABLE.values() if it.subject == subject]
        parts += ["", f"## {subject.capitalize()}", "", *_head(subject)]
        parts += [_row(it, results, notes) for it in rows]
    parts += ["", "## Notes", "", *notes.lines()]
    return "\n".join(parts) + "\n"


def _totals(results: Results) -> Iterator[str]:
    yield from _head("")
    for verdict in SIGNS:
        found = [sum(it.verdict is verdict for it in results[v].values()) for v in VERSIONS]
        yield f"| {verdict} | {' | '.join(map(str, found))} |"


def _head(title: str) -> Iterator[str]:
    yield f"| {title} | {' | '.join(VERSIONS)} |"
    yield f"|---|{'---|' * len(VERSIONS)}"


def _row(behaviour: Behaviour, results: Results, notes: Notes) -> str:
    cells = [_cell(results[version][behaviour.name], notes) for version in VERSIONS]
    return f"| {_escaped(behaviour.title)} | {' | '.join(cells)} |"


def _cell(outcome: Outcome, notes: Notes) -> str:
    sign = SIGNS[outcome.verdict]
    return f"{sign} {notes.number(outcome.evidence)}" if outcome.evidence else sign


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


def counts(outcomes: Mapping[str, Outcome]) -> str:
    """Say how many cells of each kind there are."""
    found = Counter(it.verdict for it in outcomes.values())
    return ", ".join(f"{found[verdict]} {verdict}" for verdict in Verdict if found[verdict])
