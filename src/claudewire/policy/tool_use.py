"""One use of a tool, compared with the rules of a policy.

`ToolUse.match()` is for rules that deny or ask, and errs towards yes; `ToolUse.allowed()` is for
rules that allow, and errs towards no. `file_use` compares files, `command_use` shells.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from .command_use import CommandUse
from .file_use import NO_MATCH, FileUse, Finding, UseContext, Verdict, scoped
from .rules import Rule, path_of, wildcard
from .shell.parser import LONGEST
from .shell.patterns import Match, joined_by_wildcards
from .tools import ToolFacts, facts

_OPEN_END = re.compile(r"(:| )\*$")


class ToolUse:
    """One use of a tool."""

    def __init__(self, tool: str, given: Mapping[str, Any], context: UseContext) -> None:
        self.tool = tool
        self.given = given
        self.facts: ToolFacts = facts(tool)
        value = given.get(self.facts.content)
        if value is None and self.facts.kind == "skill":
            value = given.get("command")
        self.is_odd: bool = value is not None and not isinstance(value, str)
        self.content: str = value if isinstance(value, str) else ""
        self.commands: CommandUse | None = None
        self.paths: FileUse | None = None
        if self.facts.kind == "command":
            text = value if isinstance(value, str) else None
            self.commands = CommandUse(tool, text, context)
        elif self.facts.kind in ("read", "edit"):
            self.paths = FileUse(tool, given, context)

    # --- rules that deny or ask ----------------------------------------------------------------

    def match(self, rule: Rule, behavior: str) -> Finding:
        """Whether a rule that denies or asks matches this."""
        named = rule.names(self.tool)
        if named and rule.for_every_use:
            return Finding(Match.YES)
        if named and rule.matches_parameter(self.given):
            return Finding(Match.YES, str(rule.content))
        if path_of(rule) is not None:
            if self.paths is not None:
                return self.paths.match_path(rule, behavior)
            return self.commands.match_path(rule) if self.commands else NO_MATCH
        if not named:
            return NO_MATCH
        return self.commands.match(rule) if self.commands else self._match_text(rule)

    def _match_text(self, rule: Rule) -> Finding:
        """Whether a rule matches a host, an agent or a skill."""
        text, kind, pattern = self.content, self.facts.kind, rule.content or ""
        if len(text) > LONGEST or self.is_odd:
            return Finding(Match.MAYBE, text)
        if kind == "fetch" and rule.domain is not None:
            if any(host_matches(rule.domain, host) for host in _hosts_in(text)):
                return Finding(Match.YES, text)
            return NO_MATCH if _plain_host(text) else Finding(Match.MAYBE, text)
        caught = None
        if kind == "agent":
            text = text or "general-purpose"
            caught = wildcard(pattern).fullmatch(text)
        elif kind == "skill":
            text = self._skill_name()
            caught = wildcard(_OPEN_END.sub("", pattern)).fullmatch(text)
            caught = caught or wildcard(pattern).fullmatch(self._skill_text())
        return Finding(Match.YES, text) if caught else NO_MATCH

    # --- rules that allow ------------------------------------------------------------------------

    def allowed(self, rules: Sequence[Rule]) -> Verdict:
        """Find the rule that allows this."""
        whole = (it for it in rules if it.for_every_use and it.surely_names(self.tool))
        looked_at = self.paths or self.commands
        if (rule := next(whole, None)) is not None:
            verdict = Verdict(rule, "every use of the tool is allowed")
        else:
            verdict = looked_at.allowed(rules) if looked_at else self._allowed_text(rules)
        if verdict.rule is not None and (why_not := self.why_always_ask()):
            return Verdict(None, why_not)
        return verdict

    def is_spelled_out(self, rule: Rule) -> bool:
        """Whether a rule that allows this has every word of it."""
        return self.commands is not None and self.commands.is_spelled_out(rule)

    def why_always_ask(self) -> str:
        """Return why neither a rule nor a default can allow this; empty if they can."""
        looked_at = self.paths or self.commands
        return "" if looked_at is None else looked_at.why_always_ask()

    def _allowed_text(self, rules: Sequence[Rule]) -> Verdict:
        """Find the rule that allows a host, an agent or a skill."""
        kind = self.facts.kind
        host = _plain_host(self.content) if kind == "fetch" else ""
        if host is None:
            return Verdict(None, "it is not clear which host the URL leads to")
        if len(self.content) > LONGEST:
            return Verdict(None, "it is too long")
        for rule in scoped(rules, self.tool):
            if kind == "fetch" and rule.domain is not None and host_matches(rule.domain, host):
                return Verdict(rule, f"the host {host} is allowed")
            if kind == "agent" and rule.content == self.content:
                return Verdict(rule, "exactly this one is allowed")
            if kind == "skill" and self._is_skill(rule.content or ""):
                return Verdict(rule, "this skill is allowed")
        return Verdict(None, f"no rule allows the host {host}" if host else "no rule allows it")

    def _is_skill(self, pattern: str) -> bool:
        text, start = self._skill_text(), _OPEN_END.sub("", pattern)
        is_open = start != pattern and (text == start or text.startswith(f"{start} "))
        return text == pattern or is_open

    def _skill_name(self) -> str:
        """Return the name as the CLI looks it up: without blanks around it, and without a slash."""
        return self.content.strip().removeprefix("/").strip()

    def _skill_text(self) -> str:
        name = self._skill_name()
        arguments = self.given.get("args")
        return f"{name} {arguments}".strip() if isinstance(arguments, str) else name


# --- hosts: read strictly to allow, loosely to deny --------------------------------------------

_PLAIN_URL = re.compile(
    r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*)\.?(?::[0-9]{1,5})?(?:[/?#].*)?", re.I
)
_LOOSE_HOST = re.compile(r"(?:^|[/@])([\w.*-]+\.[\w-]+|localhost|[0-9a-f.:\[\]]+)", re.IGNORECASE)


def _plain_host(url: str) -> str | None:
    """Return the host of a URL that can be read in one way only; None for any other."""
    if not url.isascii() or not url.isprintable() or re.search(r"[\\\s]", url):
        return None
    found = _PLAIN_URL.fullmatch(url)
    if found is None:
        return None
    host = found[1].lower()
    return host if _number(host) in (None, host) else None


def _hosts_in(url: str) -> set[str]:
    """Return every host that some parser might read from a URL."""
    plain = unicodedata.normalize("NFKC", unquote(url)).strip().replace("\u3002", ".")
    plain = re.sub(r"[\x00-\x20\x7f-\xa0\u200b-\u200f]", "", plain).replace("\\", "/")
    if "//" not in plain:
        plain = f"https://{plain}"
    found = {part[1] for part in _LOOSE_HOST.finditer(re.split(r"[?#]", plain)[0])}
    with contextlib.suppress(ValueError):  # this parser finds no host in it
        found.add(urlsplit(plain).hostname or "")
    hosts = {host.lower().strip(".[]") for host in found if host}
    return hosts | {number for host in hosts if (number := _number(host)) is not None}


def _number(host: str) -> str | None:
    """Return the address of a number, as `127.1` or `[::ffff:7f00:1]`; None for a name."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        if isinstance(address, ipaddress.IPv6Address):
            address = address.ipv4_mapped or address.sixtofour or address
        return str(address)
    try:
        *parts, last = (_integer(part) for part in host.split("."))
    except ValueError:
        return None
    if len(parts) > 3 or any(part > 255 for part in parts) or last >= 256 ** (4 - len(parts)):
        return None
    return str(ipaddress.IPv4Address(int.from_bytes(bytes(parts).ljust(4, b"\0"), "big") + last))


def _integer(text: str) -> int:
    """Read a number in the notations of C; raise ValueError for another text."""
    if len(text) > 40:
        raise ValueError("no address is that long")
    if not re.fullmatch(r"0[xX][0-9A-Fa-f]+|[0-9]+", text):  # no sign, no underscore
        raise ValueError("it is a name")
    if re.fullmatch(r"0[0-7]*", text):
        return int(text, 8)
    return int(text, 16 if text[:2] in ("0x", "0X") else 10)


def host_matches(pattern: str, host: str) -> bool:
    """Whether a host matches: `*` is any, `*.a.org` any below, elsewhere `*` stays in one part."""
    pattern, host = pattern.lower().rstrip("."), host.lower().rstrip(".")
    pattern = _number(pattern) or pattern
    if pattern == "*":
        return True
    start, inside = "", pattern
    if pattern.startswith("*."):
        start, inside = r".+\.", pattern[2:]
    return re.fullmatch(start + joined_by_wildcards(inside.split("*"), "[^.]"), host) is not None
