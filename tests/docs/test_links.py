"""Links lead somewhere, snippets are Python, and files that a page shows are as they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.docs import ROOT, documents, problems_of


@pytest.mark.parametrize("path", documents(), ids=lambda it: it.relative_to(ROOT).as_posix())
def test_a_document_has_no_problem(path: Path) -> None:
    assert problems_of(path) == []
