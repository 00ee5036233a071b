"""Pages of HTML that need nothing else: they load nothing, and run only their own script."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator
from html import escape

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def html_page(title: str, style: str, body: Iterable[str], script: str = "") -> Iterator[str]:
    """Yield the pieces of a page, whose policy forbids every request and every other script."""
    allowed = f" script-src '{_hash(script)}';" if script else ""
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}';{allowed} img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    yield _HEAD.format(policy=policy, title=escape(title), style=style)
    yield from body
    yield f"<script>{script}</script>\n</body>\n</html>\n" if script else "</body>\n</html>\n"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
