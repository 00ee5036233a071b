"""The flows of the documents, as the tests in tests/seeds declare them, for docs/conformance.md."""

from __future__ import annotations

from collections.abc import Iterator

from tests.seeds.documents import ABSENT, CANNOT, DECIDED, DOCUMENTS
from tests.seeds.flows import FLOWS
from tests.seeds.test_clients import DECIDED as DECIDED_BY_SIMULATOR
from tests.seeds.test_clients import FLOWS as CLIENT_FLOWS
from tests.seeds.test_clients import OPEN as OPEN_CLIENTS
from tests.seeds.test_flows import HOW, defects, flows_of

__all__ = ["flow_lines"]

INTRODUCTION = """
## Flows

For each document a CLI and a client were written by people who had only the text of that document:
standard library, nothing of ours. Sessions drive the CLIs, on asyncio, trio and the blocking API,
with the dialect named and with `auto`; the clients drive the simulated CLI. These programs judge
every line that they receive. `✓` holds, `✗` does not yet, a number is a remark below; a flow that
belongs to one document alone has a dash in the others.
""".splitlines()


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


class _Remarks:
    """Numbered remarks, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def number(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return str(self.texts.index(text) + 1)


def _mark(number: str, flow: str, how: str, remarks: _Remarks) -> str:
    if (number, flow, how) in CANNOT:
        sentence, reason = CANNOT[number, flow, how]
        return "cannot " + remarks.number(f"{number} has, in {sentence}: {reason}.")
    (*_, mark) = [None, *defects(number, flow, how)]
    if mark is None:
        return "✓"
    return "✗ " + remarks.number(f"Not yet: {mark.kwargs['reason']}.")


def _state(number: str, flow: str, remarks: _Remarks) -> str:
    if number in FLOWS[flow].documents:
        named, auto = (_mark(number, flow, how, remarks) for how in HOW)
        return f"{named} / {auto}"
    why = ABSENT.get(flow, {}).get(number)
    if why is None:
        return "-"
    return "absent " + remarks.number(f"Not in {number}: {why}.")


def _counts() -> str:
    cells = [
        defects(number, flow, how)
        for number in DOCUMENTS
        for how in HOW
        for flow in flows_of(number, how)
    ]
    missing = sum(bool(it) for it in cells)
    absent = sum(len(it) for it in ABSENT.values())
    return (
        f"{len(FLOWS)} flows, {len(cells)} cells (flow, document, named or auto): "
        f"{len(cells) - missing} hold, {missing} do not yet, {len(CANNOT)} more "
        f"cannot. In {absent} places a document lacks a flow."
    )


def _clients() -> Iterator[str]:
    flows = list(dict.fromkeys(flow for it in CLIENT_FLOWS.values() for flow in it.split()))
    yield f"| client's flow | {' | '.join(DOCUMENTS)} |"
    yield "|---" * (len(DOCUMENTS) + 1) + "|"
    for flow in flows:
        states = [_client_state(number, flow) for number in DOCUMENTS]
        yield f"| {flow} | {' | '.join(states)} |"


def _client_state(number: str, flow: str) -> str:
    if flow not in CLIENT_FLOWS[number].split():
        return "-"
    return "✗" if (number, flow) in OPEN_CLIENTS else "✓"


def flow_lines() -> Iterator[str]:
    """Yield the section about flows."""
    remarks = _Remarks()
    yield from INTRODUCTION
    yield ""
    yield _counts()
    yield ""
    titles = (f"{it.number} {it.dialect}" for it in DOCUMENTS.values())
    yield f"| flow | {' | '.join(titles)} |"
    yield "|---" * (len(DOCUMENTS) + 1) + "|"
    for flow in FLOWS:
        states = [_state(number, flow, remarks) for number in DOCUMENTS]
        yield f"| {flow} | {' | '.join(states)} |"
    yield ""
    for number, text in enumerate(remarks.texts, 1):
        yield f"{number}. {text}"
    yield from ("", "The other way round, the simulated CLI and the clients:", "")
    yield from _clients()
    yield from ("", "Where we deviate from a document on purpose:", "")
    yield "| document | in | the document says | reason |"
    yield "|---|---|---|---|"
    for row in DECIDED:
        how = f"{row.flow}, {row.how or 'named and auto'}"
        yield f"| {row.document} | {how} | {_cell(row.sentence)} | {_cell(row.reason)} |"
    for entry in DECIDED_BY_SIMULATOR:
        yield f"| {entry.document} | simulated CLI | {entry.sentence} | {_cell(entry.reason)} |"
