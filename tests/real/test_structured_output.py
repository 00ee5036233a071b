"""What real CLIs make of the schemas that we make of types."""

from __future__ import annotations

import json
from typing import Any, TypedDict

import pytest
from tests.helpers.real_clis import NEWEST
from tests.real.test_real_cli import open_cage, result, running
from tests.schemas.schema_table import TABLE

from claudewire.schemas import OutputSpec
from claudewire.testing.api import APIScript, structured_output

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FIELDS = {f"f{at}": kind for at, (_, kind, _) in enumerate(TABLE)}
Everything = TypedDict("Everything", FIELDS, total=False)  # type: ignore[misc]


@pytest.mark.parametrize("version", ["2.1.17", NEWEST])
async def test_a_schema_of_all_types_is_understood(version: str) -> None:
    spec: OutputSpec[Any] = OutputSpec.of(Everything)
    script = APIScript().on(
        "go", structured_output({"f0": 1}), structured_output({"f0": "a"}), "Done."
    )
    with open_cage(script) as cage:
        async with running(
            cage, f"--json-schema={json.dumps(spec.schema)}", version=version
        ) as host:
            found = result(await host.turn("go"))

    assert found.structured_output == {"f0": "a"}
    assert spec.read(found) == {"f0": "a"}
