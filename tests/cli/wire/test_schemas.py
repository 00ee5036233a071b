"""The committed schemas are those of what the commands print."""

from __future__ import annotations

import json

import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.cli.wire.printed import PRINTED, SCHEMAS, text_of


@pytest.mark.parametrize("name", PRINTED)
def test_the_committed_schema_is_up_to_date(name: str) -> None:
    committed = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert committed == text_of(name), "Run: python -m tests.cli.wire.printed"
    jsonschema.Draft202012Validator.check_schema(json.loads(committed))
