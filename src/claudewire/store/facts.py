"""What is known about a session: read in one pass, and later only from where it has grown.

A message of the model is several lines, which repeat the same usage; a fork, and a continued
session, copies lines of the one before; and a message that survived a compaction is written again,
without its usage. So tokens are counted once for each message id, over all files of a session, and
with the largest numbers that any of its lines has. That is done in the index (see `usage`): while a
file is read, only some of its messages are in memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from ..tracking import Price, PriceTable, Totals
from ..wire import APIMessage, ModelUsage, prepared, text_of
from .entries import AssistantEntry, BadLine, UserEntry, read_entry
from .files import Line

__all__ = [
    "Call",
    "FactsReader",
    "FileFacts",
    "Noted",
    "SessionInfo",
    "SessionStatus",
    "TitleSource",
    "as_time",
    "checksum",
    "combine",
]

TITLE = 200
"""Characters of a prompt that are kept as a title."""

PROMPT = 2_000
"""Characters of the first prompt that are kept."""

SYNTHETIC = "<synthetic>"
"""The model of what the CLI says in the model's place."""

TitleSource = Literal["custom", "ai", "summary", "prompt"]
"""Who gave a session its title: a person, the CLI (two forms of it), or its first prompt."""

SessionStatus = Literal["running", "waiting", "ended"]
"""Whether a process has the session open, and waits for a person."""


class Call(NamedTuple):
    """What a line says that a message of the model has used."""

    id: int
    """A checksum of the message's id."""
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_creation_tokens: int
    cost_usd: float | None
    complete: bool
    """Whether the API had finished counting; otherwise the output is a placeholder."""


class Noted(NamedTuple):
    """What was found in some lines of a file that is kept for each line, by checksums of ids."""

    calls: list[Call]
    boundaries: list[int]
    """The lines at which the conversation was compacted."""
    ends: list[int]
    """The lines to which a title may belong that a CLI up to 2.0 has written into another file."""
    titles: list[tuple[int, str]]
    """Such titles, with the line at which the conversation ended then."""


class FileFacts(Struct, frozen=True, gc=False, omit_defaults=True):
    """What one file says about its session."""

    bad_lines: int = 0
    begin: str | None = None
    end: str | None = None
    session_id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    prompts: int = 0
    compactions: int = 0
    sidechains: int = 0
    """Subagents in the same file, as CLIs of 1.0 write them."""
    first_prompt: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    tag: str | None = None
    forked_from: str | None = None
    first_key: str | None = None
    """The first message or compaction, by which a fork is recognised."""
    model_usage: dict[str, Totals] = {}


NOTHING = FileFacts()


class SessionInfo(Struct, frozen=True, gc=False, omit_defaults=True):
    """What is known about a session without reading it.

    Attributes:
        id: its id.
        folder: the name of its folder below `projects`.
        path: its transcript.
        title: its title.
        title_source: who gave the title: a person (`custom`), the CLI (`ai`, `summary`), or nobody,
            and it is the first prompt.
        first_prompt: the first prompt, shortened.
        tag: the tag that a person gave it.
        cwd: the directory that it worked in last.
        branch: the git branch that it worked on last.
        version: the version of the CLI that wrote it last.
        models: the models that spoke.
        parent: the session that it is a fork of.
        begin: when it began.
        end: when something was last written.
        prompts: how many prompts there were.
        replies: how many messages of the model there were, subagents included.
        agents: how many subagents it has.
        compactions: how often it was compacted.
        size: bytes on disk, subagents included.
        modified: when its file was last changed, in seconds since 1970.
        totals: what it has used, each message counted once. `estimated` says that the CLI has not
            written how much output there was: the newest do, many before them write a placeholder.
        usage: the same for each model.
        bad_lines: how many lines cannot be read.
        status: whether a process has it open now.
        pid: that process.
    """

    id: str
    folder: str
    path: str
    title: str | None = None
    title_source: TitleSource | None = None
    first_prompt: str | None = None
    tag: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    models: tuple[str, ...] = ()
    parent: str | None = None
    begin: datetime | None = None
    end: datetime | None = None
    prompts: int = 0
    replies: int = 0
    agents: int = 0
    compactions: int = 0
    size: int = 0
    modified: float = 0.0
    totals: Totals = Totals()
    usage: dict[str, Totals] = {}
    bad_lines: int = 0
    status: SessionStatus = "ended"
    pid: int | None = None

    @property
    def cost_usd(self) -> float | None:
        """What it has cost, by estimate; None if no price is known."""
        return self.totals.cost_usd


# --- one file ------------------------------------------------------------------------------------


class _Usage(Struct, gc=False):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


_NO_USAGE = _Usage()


class _Message(Struct, gc=False):
    id: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None
    content: Raw = Raw()


class _Scanned(Struct, gc=False, rename="camel"):
    """The few fields of a line that facts come from; the rest is skipped."""

    type: str
    uuid: str | None = None
    parent_uuid: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    subtype: str | None = None
    message: _Message | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    tag: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None
    cost_usd: float | None = msgspec.field(name="costUSD", default=None)
    model_usage: dict[str, ModelUsage] | None = None
    forked_from: Any = None


_scan = msgspec.json.Decoder(prepared(_Scanned)).decode
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


class FactsReader:
    """Collects facts from the lines of one file.

    Args:
        facts: what is known from the lines before.
    """

    def __init__(self, facts: FileFacts = NOTHING) -> None:
        self._known: dict[str, Any] = msgspec.structs.asdict(facts)
        self._noted = Noted([], [], [], [])
        self._last: tuple[str, int] = ("", 0)

    @property
    def facts(self) -> FileFacts:
        """What is known so far."""
        return FileFacts(**self._known)

    def take(self) -> Noted:
        """Return what was noted since the last time; from then on, it is not kept here."""
        noted, self._noted = self._noted, Noted([], [], [], [])
        return noted

    def feed(self, found: Line) -> None:
        """Take the next line."""
        try:
            line = _scan(found.line)  # type: ignore[arg-type]  # an oversize line is refused
        except (*_REFUSED, TypeError):
            self._feed_slowly(found)
            return
        self._note_origin(line)
        handler = _HANDLERS.get(line.type)
        if handler is not None:
            handler(self, line)

    def _feed_slowly(self, found: Line) -> None:
        """Take a line that has something unexpected in it."""
        entry = found.read()
        if isinstance(entry, BadLine):
            self._known["bad_lines"] += 1
        elif isinstance(entry, AssistantEntry | UserEntry):
            rest = msgspec.convert(msgspec.to_builtins(entry), prepared(_Origin), strict=False)
            self._note_origin(rest)
            if isinstance(entry, AssistantEntry) and entry.message.usage is not None:
                self._count(entry.message, entry.uuid, entry.cost_usd)
            elif isinstance(entry, UserEntry) and entry.is_prompt and not entry.is_sidechain:
                self._note_prompt(entry.text)

    def _note_origin(self, line: Any) -> None:
        known = self._known
        time = line.timestamp
        if time is not None:
            if known["begin"] is None:
                known["begin"] = time
            if known["end"] is None or time > known["end"]:
                known["end"] = time
        if line.cwd is not None:
            known["cwd"], known["branch"] = line.cwd, line.git_branch or None
            known["version"] = line.version or known["version"]
        if line.session_id is not None:
            known["session_id"] = line.session_id
        if line.forked_from is not None and known["forked_from"] is None:
            known["forked_from"] = _parent_in(line.forked_from)

    # --- kinds of lines ---------------------------------------------------------------------------

    def _assistant(self, line: _Scanned) -> None:
        message = line.message
        if message is not None and message.model != SYNTHETIC:
            self._count(message, line.uuid, line.cost_usd)
            self._note_end(line)

    def _count(self, message: _Message | APIMessage, uuid: str | None, cost: float | None) -> None:
        id = message.id or uuid
        if id is None or message.model == SYNTHETIC:
            return
        if self._known["first_key"] is None:
            self._known["first_key"] = id
        if id != self._last[0]:
            self._last = (id, checksum(id))
        usage = message.usage or _NO_USAGE
        call = Call(
            self._last[1],
            message.model or "",
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            cost,
            message.stop_reason is not None,
        )
        calls = self._noted.calls
        if not calls or calls[-1] != call:  # most lines say what the one before has said
            calls.append(call)

    def _note_end(self, line: _Scanned) -> None:
        if line.uuid is not None and (line.version or "").startswith(("1.", "2.0.")):
            self._noted.ends.append(checksum(line.uuid))

    def _user(self, line: _Scanned) -> None:
        if line.is_sidechain and line.parent_uuid is None:
            self._known["sidechains"] += 1
        if line.message is None or line.is_meta or line.is_compact_summary or line.is_sidechain:
            return
        content = bytes(line.message.content)
        if b'"tool_result"' in content:
            return
        self._note_end(line)
        if self._known["first_prompt"] is not None and content[:2] not in (b'"<', b'"[', b"[{"):
            self._known["prompts"] += 1  # its text is not needed any more
            return
        entry = read_entry(b'{"type":"user","message":{"role":"user","content":%b}}' % content)
        if isinstance(entry, UserEntry) and entry.is_prompt:
            self._note_prompt(text_of(entry.content))

    def _note_prompt(self, text: str) -> None:
        self._known["prompts"] += 1
        if self._known["first_prompt"] is None and text.strip():
            self._known["first_prompt"] = text.strip()[:PROMPT]

    def _system(self, line: _Scanned) -> None:
        if line.subtype == "compact_boundary" and line.uuid is not None:
            self._known["compactions"] += 1
            self._noted.boundaries.append(checksum(line.uuid))
            self._known["first_key"] = self._known["first_key"] or line.uuid

    def _custom_title(self, line: _Scanned) -> None:
        self._known["custom_title"] = (line.custom_title or "").strip() or None

    def _ai_title(self, line: _Scanned) -> None:
        self._known["ai_title"] = (line.ai_title or "").strip() or None

    def _tag(self, line: _Scanned) -> None:
        self._known["tag"] = (line.tag or "").strip() or None

    def _summary(self, line: _Scanned) -> None:
        if line.leaf_uuid and line.summary:
            self._noted.titles.append((checksum(line.leaf_uuid), line.summary))

    def _cost(self, line: _Scanned) -> None:
        usage = (line.model_usage or {}).items()
        self._known["model_usage"] = {model: Totals.of_model(used) for model, used in usage}


_HANDLERS = {
    "assistant": FactsReader._assistant,
    "user": FactsReader._user,
    "system": FactsReader._system,
    "custom-title": FactsReader._custom_title,
    "ai-title": FactsReader._ai_title,
    "tag": FactsReader._tag,
    "summary": FactsReader._summary,
    "cost-state": FactsReader._cost,
}


class _Origin(Struct, rename="camel"):
    """The fields that every line has."""

    timestamp: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    version: str | None = None
    session_id: str | None = None
    forked_from: Any = None


def checksum(uuid: str) -> int:
    """Return a number that stands for an id, to keep many of them in little space."""
    return (
        int.from_bytes(
            hashlib.blake2b(uuid.encode("utf-8", "replace"), digest_size=8).digest(), "big"
        )
        >> 1
    )


def _parent_in(forked_from: Any) -> str | None:
    """Read the id of the parent, in the forms in which it is written."""
    if isinstance(forked_from, dict):
        forked_from = forked_from.get("sessionId")
    return forked_from if isinstance(forked_from, str) else None


# --- one session ---------------------------------------------------------------------------------


def totals_of(
    used: Iterable[tuple[str, Totals]], prices: PriceTable, reported: Mapping[str, Totals] = {}
) -> dict[str, Totals]:
    """Add up what messages have used, by model.

    Args:
        used: models, and what some of their messages have used together.
        prices: what tokens cost, where the CLI has not written it.
        reported: what the CLI itself has counted; it includes what is in no transcript, such as
            the calls that compact a conversation.
    """
    sums: dict[str, Totals] = {}
    for model, totals in used:
        if totals.cost_usd is None:
            totals = msgspec.structs.replace(totals, cost_usd=prices.cost(model, totals))
        sums[model] = sums.get(model, Totals()) + totals
    for model, used_there in reported.items():
        name = model.partition("[")[0] if model not in sums else model
        known = sums.get(name, Totals())
        if used_there.covers(known):
            # A message that was broken off is not in it.
            sums[name] = msgspec.structs.replace(
                used_there, calls=known.calls, estimated=known.estimated
            )
    return sums


def combine(
    id: str,
    folder: str,
    main: FileFacts,
    agents: Sequence[FileFacts],
    used: Sequence[tuple[str, Totals]],
    prices: Mapping[str, Price] | None = None,
) -> SessionInfo:
    """Put together what the files of a session say. What is on disk is added by the caller."""
    table = PriceTable(prices)
    for model, totals in main.model_usage.items():
        table.learn(model, totals)
    reported = {} if prices else main.model_usage
    usage = totals_of(used, table, reported)
    title, source = title_of(main)
    return SessionInfo(
        id=id,
        folder=folder,
        path="",
        title=title,
        title_source=source,
        first_prompt=main.first_prompt,
        tag=main.tag,
        cwd=main.cwd,
        branch=main.branch,
        version=main.version,
        models=tuple(sorted(model for model in usage if model)),
        parent=main.forked_from,
        begin=as_time(main.begin),
        end=as_time(max((it.end for it in [main, *agents] if it.end), default=None)),
        prompts=main.prompts,
        replies=sum(totals.calls for _, totals in used),
        agents=len(agents) + main.sidechains,
        compactions=main.compactions,
        totals=sum(usage.values(), Totals()),
        usage=usage,
        bad_lines=main.bad_lines + sum(it.bad_lines for it in agents),
    )


def title_of(facts: FileFacts) -> tuple[str | None, TitleSource | None]:
    """Return the title of a session, and who gave it."""
    if facts.custom_title:
        return facts.custom_title, "custom"
    if facts.ai_title:
        return facts.ai_title, "ai"
    if facts.first_prompt:
        return " ".join(facts.first_prompt.split())[:TITLE], "prompt"
    return None, None


def as_time(text: str | None) -> datetime | None:
    """Read a time as the CLI writes it; None if it is none."""
    if text is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.astimezone()
