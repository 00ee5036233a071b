"""Every flow of the four documents, against CLIs that share nothing with the library."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.judges.seeds.documents import CANNOT, DECIDED, DOCUMENTS
from tests.judges.seeds.flows import FLOWS
from tests.judges.seeds.hosts import BACKENDS, Host, Hosts, Json
from tests.judges.seeds.requirements import shown_by_flow

HOW = ("named", "auto")


def flows_of(number: str, how: str) -> list[str]:
    there = [name for name, spec in FLOWS.items() if number in spec.documents]
    return [name for name in there if (number, name, how) not in CANNOT]


def shows(number: str, flow: str) -> list[Any]:
    ids = shown_by_flow(number, flow)
    return [pytest.mark.shows(*ids)] if ids else []


def cells() -> Iterator[Any]:
    for number in DOCUMENTS:
        for how in HOW:
            group = pytest.mark.xdist_group(f"seeds-{number}-{how}")
            for flow in flows_of(number, how):
                marks = [group, *shows(number, flow)]
                yield pytest.param(number, how, flow, marks=marks, id=f"{number}-{how}-{flow}")


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with Hosts(tmp_path_factory.mktemp("logs")) as hosts:
        yield hosts


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(("number", "how", "flow"), [*cells()])
def test_flow(hosts: Hosts, number: str, how: str, flow: str, backend: str) -> None:
    spec, document = FLOWS[flow], DOCUMENTS[number]
    make = hosts.new if spec.fresh else hosts.shared
    host = make(document, how, backend)
    try:
        hosts.play(host, spec.play, spec.plan())
    finally:
        if spec.fresh:
            hosts.discard(host)
    check_deviations(host, number, how, flow, fresh=spec.fresh)


def check_deviations(host: Host, number: str, how: str, flow: str, *, fresh: bool) -> None:
    """The CLI of the document has found nothing that it should not, and all that is decided."""
    found = [line for line in host.heard() if line["kind"] == "deviation"]
    places = (flow, "opening") if fresh else (flow,)
    wanted = {
        row.what
        for row in DECIDED
        if row.document == number and row.how in (how, "") and row.flow in places
    }
    assert [line for line in found if not is_decided(line, wanted)] == []
    assert {
        what for what in wanted if not any(it["what"].startswith(what) for it in found)
    } == set()


def is_decided(line: Json, wanted: set[str]) -> bool:
    return any(line["what"].startswith(what) for what in wanted)
