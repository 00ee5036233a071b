"""An exported page in a real browser: no error on the console, and no request leaves it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.helpers.real_clis import NEWEST
from tests.recordings.browser import chromium

from claudewire.store import BlockingSessions
from claudewire.testing.cage import Cage

from .made import MAIN, sample

PATIENCE = 120


LIGHT, DARK = 1, 0
"""The numbers that Chromium has for them."""


NOT_A_PAGE = "not an origin"
"""Who asks, according to Chromium, if the browser itself does."""


def visit(page: Path, scheme: int) -> tuple[str, list[str]]:
    """Open a page; give what is on the console, and what the page asked for."""
    if (program := chromium()) is None:
        pytest.skip("There is no Chromium here")
    if (reason := Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    log, shot = page.with_suffix(".json"), page.with_suffix(".png")
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--enable-logging=stderr",
        f"--log-net-log={log}",
        f"--screenshot={shot}",
        f"--blink-settings=preferredColorScheme={scheme}",
    ]
    with Cage() as cage:
        done = subprocess.run(
            cage.command([program, *flags, page.as_uri()]),
            capture_output=True,
            encoding="utf-8",
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    assert shot.stat().st_size > 1_000
    said = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return "\n".join(said), [url for url in requests(log) if not url.startswith("data:")]


def requests(log: Path) -> list[str]:
    """Return what a page asked for; what the browser itself asks for has another initiator."""
    text = log.read_text(encoding="utf-8")
    try:
        events = json.loads(text)["events"]
    except ValueError:  # a browser that ends quickly does not close its log
        events = json.loads(text.rstrip().rstrip(",") + "]}")["events"]
    found = (event.get("params", {}) for event in events)
    return [it["url"] for it in found if it.get("initiator", NOT_A_PAGE) != NOT_A_PAGE]


@pytest.mark.parametrize("scheme", [LIGHT, DARK])
def test_a_page_opens_without_an_error_or_a_request(tmp_path: Path, scheme: int) -> None:
    sessions = BlockingSessions(sample(NEWEST, tmp_path), index=tmp_path / "index.db")
    page = sessions.export(MAIN, tmp_path / "page.html")
    assert visit(page, scheme) == ("", [])


def test_a_page_with_an_error_and_a_request_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        "<script>console.error('wrong')</script><img src='http://127.0.0.1:1234/x.png'>",
        encoding="utf-8",
    )
    said, asked = visit(page, LIGHT)
    assert "wrong" in said
    assert "http://127.0.0.1:1234/x.png" in asked
