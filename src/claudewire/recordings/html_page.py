"""A recording as one page: a sequence diagram with filters, latencies and the lines themselves.

The recording is in the page as data, and its script shows it as text, never as HTML.
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import msgspec

from ..html_page import html_page
from .timeline import Step, Timeline

LONGEST = 65536
"""Characters of a line that are on the page: most lines are whole, and no image makes it huge."""


def page(timeline: Timeline, title: str = "Recording") -> str:
    """Write a recording, with its name as the title, as an HTML page that needs nothing else."""
    title = title.encode("utf-8", "replace").decode()
    body = [
        "<noscript>This page needs JavaScript to show a recording. It loads nothing.</noscript>\n",
        f'<script type="application/json" id="recording">{_data(timeline, title)}</script>\n',
    ]
    return "".join(html_page(title, _asset("page.css"), body, _asset("page.js")))


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(timeline: Timeline, title: str) -> str:
    data = {
        "title": title,
        "header": dict(timeline.recording.header),
        "seconds": timeline.seconds,
        "steps": [_step(step) for step in timeline.steps],
        "exchanges": msgspec.to_builtins(timeline.exchanges),
        "latencies": msgspec.to_builtins(timeline.latencies()),
    }
    # Nothing in it can end the script, or become HTML.
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _step(step: Step) -> dict[str, Any]:
    text = step.entry.text
    return {
        "number": step.entry.number or step.index + 2,
        "t": step.t,
        "dir": step.dir,
        "kind": step.kind,
        "name": step.name,
        "summary": step.summary,
        "id": step.id,
        "line": None if step.entry.line is None else text[:LONGEST],
        "length": len(text),
        "findings": msgspec.to_builtins(step.findings),
    }
