"""A browser, where there is one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.helpers.browser import Browser, chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("There is no Chromium")
    browser = Browser(program, tmp_path_factory.mktemp("browser"))
    yield browser
    browser.close()
