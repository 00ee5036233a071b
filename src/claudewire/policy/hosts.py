"""Hosts of addresses on the web, read strictly to allow and loosely to forbid."""

from __future__ import annotations

import contextlib
import re
import unicodedata
from urllib.parse import unquote, urlsplit

__all__ = ["host_matches", "hosts_in", "plain_host"]

_PLAIN = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*)\.?(?::[0-9]{1,5})?(?:[/?#].*)?", re.I)
_LOOSE = re.compile(r"(?:^|[/\\@])([\w.*-]+\.[\w-]+|localhost|[0-9a-f.:\[\]]+)", re.I)


def plain_host(url: str) -> str | None:
    """Give the host of an address that can be read in one way only; None of any other."""
    if not url.isascii() or not url.isprintable() or re.search(r"[\\\s]", url):
        return None
    found = _PLAIN.fullmatch(url)
    return found[1].lower() if found else None


def hosts_in(url: str) -> set[str]:
    """Give every host that somebody might take for that of an address."""
    plain = unicodedata.normalize("NFKC", unquote(url)).strip()
    plain = re.sub(r"[\x00-\x20\x7f-\xa0\u200b-\u200f]", "", plain).replace("\\", "/")
    if "//" not in plain:
        plain = f"https://{plain}"
    found = {part[1] for part in _LOOSE.finditer(re.split(r"[?#]", plain, maxsplit=1)[0])}
    with contextlib.suppress(ValueError):  # For this reader there is no host in it.
        found.add(urlsplit(plain).hostname or "")
    return {host.lower().rstrip(".") for host in found if host}


def host_matches(pattern: str, host: str) -> bool:
    """Whether a host is meant: `*` is any, `*.a.org` any below, elsewhere `*` stays in one part."""
    pattern, host = pattern.lower().rstrip("."), host.lower().rstrip(".")
    if pattern == "*":
        return True
    start, inside = "", pattern
    if pattern.startswith("*."):
        start, inside = r".+\.", pattern[2:]
    return re.fullmatch(start + "[^.]*".join(map(re.escape, inside.split("*"))), host) is not None
