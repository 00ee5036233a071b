"""A recording as one page: a sequence diagram with filters, latencies and the lines themselves.

The page is one file that works from a disk. It loads nothing and sends nothing: its policy forbids
every request, and allows only the script and the style that are in it. What was recorded is in it
as data, and is put on the page as text, never as HTML.
"""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import Any

from .timeline import Step, Timeline

__all__ = ["page"]

LONGEST = 65536
"""Characters of a line that are on the page: most lines are whole, and no image makes it huge."""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page shows a recording, and needs JavaScript to do so. It loads nothing.</noscript>
<script type="application/json" id="recording">{data}</script>
<script>{script}</script>
</body>
</html>
"""


def page(timeline: Timeline, title: str = "Recording") -> str:
    """Write a recording as an HTML page that needs nothing else.

    Args:
        timeline: the recording.
        title: what it is called, such as the name of its file.
    """
    script, style = _asset("page.js"), _asset("page.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    data = _embedded(_data(timeline, title))
    shown = escape(title.encode("utf-8", "replace").decode())
    return _PAGE.format(policy=policy, title=shown, style=style, data=data, script=script)


def _asset(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _embedded(data: Any) -> str:
    """Write JSON that nothing in it can end early, or turn into HTML."""
    text = json.dumps(data, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(timeline: Timeline, title: str) -> dict[str, Any]:
    return {
        "title": title,
        "header": dict(timeline.recording.header),
        "seconds": timeline.seconds,
        "steps": [_step(step) for step in timeline.steps],
        "exchanges": [asdict(exchange) for exchange in timeline.exchanges],
        "latencies": [asdict(latency) for latency in timeline.latencies()],
    }


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
        "findings": [
            {"severity": it.severity, "code": it.code, "message": it.message, "advice": it.advice}
            for it in step.findings
        ],
    }
