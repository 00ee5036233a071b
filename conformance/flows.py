"""The flows of the documents, as the tests in tests/judges/seeds declare them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.judges.seeds.documents import CANNOT, DECIDED, DOCUMENTS
from tests.judges.seeds.flows import FLOWS
from tests.judges.seeds.test_clients import DECIDED as DECIDED_BY_SIMULATOR
from tests.judges.seeds.test_clients import FLOWS as CLIENT_FLOWS
from tests.judges.seeds.test_flows import HOW

INTRODUCTION = """
## Flows

For each document a CLI and a client were written by people who had only the text of that document:
standard library, nothing of ours. Sessions drive the CLIs, on asyncio and trio, with the
dialect named and with `auto`; the clients drive the simulated CLI. These programs judge
every line that they receive. A dash: the document has no such flow.
""".splitlines()


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _state(number: str, flow: str) -> str:
    if number not in FLOWS[flow].documents:
        return "-"
    return " / ".join("cannot" if (number, flow, how) in CANNOT else "✓" for how in HOW)


def flow_lines() -> Iterator[str]:
    """Yield the section about flows."""
    yield from (*INTRODUCTION, "")
    yield _row(("flow", *(f"{it.number} {it.dialect}" for it in DOCUMENTS.values())))
    yield "|---" * (len(DOCUMENTS) + 1) + "|"
    for flow in FLOWS:
        yield _row((flow, *(_state(number, flow) for number in DOCUMENTS)))
    yield from ("", "The flows of the clients, with the simulated CLI:", "")
    yield from (f"- {number}: {flows}" for number, flows in CLIENT_FLOWS.items())
    yield from ("", "| document | flow | the document says | reason |", "|---|---|---|---|")
    for (number, flow, how), (sentence, reason) in CANNOT.items():
        yield _row((number, f"{flow}, {how}", sentence, reason))
    for row in DECIDED:
        yield _row((row.document, f"{row.flow} {row.how}", row.sentence, row.reason))
    for entry in DECIDED_BY_SIMULATOR:
        yield _row((entry.document, "simulated CLI", entry.sentence, entry.reason))
