"""Facts about a conversation: read in one pass, and later only from where a file has grown.

A message of the model is several lines, which repeat the same usage; a fork and a resumed session
copy lines of the session before. So tokens are counted once for each message id, over all files,
with the largest numbers of any line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..tracking import Price, PriceTable, Totals
from ..wire import ModelUsage
from .entries import (
    AssistantEntry,
    BadLine,
    Entry,
    OtherEntry,
    SystemEntry,
    UserEntry,
)

SYNTHETIC = "<synthetic>"
"""The model of messages that the CLI wrote in the model's place."""

TITLE = 200
"""Characters of a prompt that are kept as a title."""

PROMPT = 2_000
"""Characters of the first prompt that are kept."""

LARGEST = 2**63 - 1
"""The largest number that is kept."""

TitleSource = Literal["custom", "ai", "prompt"]
"""The author of a title: a person, the CLI, or the first prompt."""

SessionStatus = Literal["running", "waiting", "ended"]
"""Whether a process has the session open, and waits for a person."""


class Call(Struct, frozen=True, gc=False, array_like=True):
    """The usage of a message of the model: the largest numbers of its lines."""

    model: str
    totals: Totals

    def merged(self, other: Call) -> Call:
        """Return the larger numbers of two reports on the same message."""
        one, two = self.totals, other.totals
        totals = replace(
            one.at_least(two),
            calls=1,
            cost_usd=one.cost_usd if two.cost_usd is None else two.cost_usd,
            estimated=one.estimated and two.estimated,
        )
        return Call(self.model or other.model, totals)


Calls = dict[str, Call]
"""The usage of messages, by their ids."""


def add_calls(calls: Calls, more: Mapping[str, Call]) -> None:
    """Add the usage of messages to that of others, each message once."""
    for id, call in more.items():
        calls[id] = calls[id].merged(call) if id in calls else call


class FileFacts(Struct, gc=False, omit_defaults=True):
    """The facts in one file."""

    bad_lines: int = 0
    begin: str | None = None
    end: str | None = None
    cwd: str | None = None
    branch: str | None = None
    version: str | None = None
    prompts: int = 0
    compactions: int = 0
    first_prompt: str | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    tag: str | None = None
    forked_from: str | None = None
    reported: dict[str, Totals] = {}
    """The totals that the CLI itself recorded, by model."""
    calls: Calls = {}

    def read(self, entry: Entry) -> None:
        """Take in the next line of the file."""
        self._note_origin(entry)
        match entry:
            case BadLine():
                self.bad_lines += 1
            case AssistantEntry():
                add_calls(self.calls, _calls_in(entry))
            case UserEntry() if entry.is_prompt and not entry.is_sidechain:
                self.prompts += 1
                self.first_prompt = self.first_prompt or entry.text.strip()[:PROMPT] or None
            case SystemEntry():
                self.compactions += entry.is_compaction
            case OtherEntry():
                self._note_metadata(entry.kind, entry.data)

    def _note_origin(self, entry: Entry) -> None:
        if entry.timestamp is not None:
            self.begin = self.begin or entry.timestamp
            self.end = max(self.end or "", entry.timestamp)
        if entry.cwd is not None:
            self.cwd, self.branch = entry.cwd, entry.git_branch or None
            self.version = entry.version or self.version
        parent = entry.forked_from
        parent = parent.get("sessionId") if isinstance(parent, dict) else parent
        if self.forked_from is None and isinstance(parent, str):
            self.forked_from = parent

    def _note_metadata(self, kind: str | None, data: dict[str, Any]) -> None:
        match kind:
            case "custom-title":
                self.custom_title = _text(data.get("customTitle"))
            case "ai-title":
                self.ai_title = _text(data.get("aiTitle"))
            case "tag":
                self.tag = _text(data.get("tag"))
            case "cost-state":
                self.reported = _reported(data.get("modelUsage"))


def _calls_in(entry: AssistantEntry) -> Calls:
    message = entry.message
    id = message.id or entry.uuid
    if message.model == SYNTHETIC or id is None:
        return {}
    totals = Totals() if message.usage is None else Totals.of(message.usage)
    # Until the API has finished counting, the output is a placeholder.
    is_estimate = message.stop_reason is None
    totals = replace(totals, cost_usd=entry.cost_usd, calls=1, estimated=is_estimate)
    return {id: Call(message.model or "", totals)}


def _reported(usage: Any) -> dict[str, Totals]:
    try:
        found = msgspec.convert(usage or {}, dict[str, ModelUsage])
    except msgspec.ValidationError:
        return {}
    return {model: Totals.of(used) for model, used in found.items()}


def _text(value: Any) -> str | None:
    return (value.strip() or None) if isinstance(value, str) else None


# --- one session ---------------------------------------------------------------------------------


class SessionInfo(Struct, frozen=True, gc=False, omit_defaults=True):
    """The facts about a session, known without reading it.

    Attributes:
        id: its id.
        folder: the name of its folder below `projects`.
        path: its transcript.
        title: its title.
        title_source: the author of the title: a person (`custom`) or the CLI (`ai`); `prompt` if
            the title is the first prompt.
        first_prompt: the first prompt, shortened.
        tag: the tag that a person gave it.
        cwd: the last working directory.
        branch: the last git branch.
        version: the last version of the CLI.
        models: the models that spoke.
        parent: the session that it is a fork of.
        begin: the time of its first line.
        end: the time of its last line.
        prompts: the number of prompts.
        replies: the number of messages of the model, subagents included.
        agents: the number of subagents.
        compactions: the number of compactions.
        size: bytes on disk, subagents included.
        modified: the time of the last change of its files, in seconds since 1970.
        totals: the tokens and the cost, each message counted once. `estimated` says that the CLI
            did not record the output tokens: the newest CLIs do, many older ones write a
            placeholder.
        usage: the same for each model.
        bad_lines: the number of unreadable lines.
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
        """The estimated cost; None if no price is known."""
        return self.totals.cost_usd


def session_info(
    info: SessionInfo, files: Sequence[FileFacts], prices: Mapping[str, Price] | None
) -> SessionInfo:
    """Complete the info of a session by the facts in its files, the transcript itself first."""
    main, *agents = files
    table = PriceTable(prices)
    for model, totals in main.reported.items():
        table.learn(model, totals)
    calls: Calls = {}
    for file in files:
        add_calls(calls, file.calls)
    usage = usage_of(calls, table, {} if prices else main.reported)
    title, source = _title_of(main)
    same = ("first_prompt", "tag", "cwd", "branch", "version", "prompts", "compactions")
    return replace(
        info,
        **{name: getattr(main, name) for name in same},
        title=title,
        title_source=source,
        models=tuple(sorted(model for model in usage if model)),
        parent=main.forked_from,
        begin=as_time(main.begin),
        end=as_time(max((it.end for it in files if it.end), default=None)),
        replies=len(calls),
        agents=len(agents),
        totals=sum(usage.values(), Totals()),
        usage=usage,
        bad_lines=sum(it.bad_lines for it in files),
    )


def usage_of(
    calls: Calls, prices: PriceTable, reported: Mapping[str, Totals] = {}
) -> dict[str, Totals]:
    """Add up the usage of messages, by model.

    The totals that the CLI `reported` include calls that are in no transcript, such as the ones
    that compact a conversation.
    """
    sums: dict[str, Totals] = {}
    for call in calls.values():
        totals = call.totals
        if totals.cost_usd is None:
            totals = replace(totals, cost_usd=prices.cost(call.model, totals))
        sums[call.model] = sums.get(call.model, Totals()) + totals
    for model, total in reported.items():
        name = model if model in sums else model.partition("[")[0]
        known = sums.get(name, Totals())
        if total.covers(known):  # an aborted message is not in it
            sums[name] = replace(total, calls=known.calls, estimated=known.estimated)
    return sums


def _title_of(facts: FileFacts) -> tuple[str | None, TitleSource | None]:
    if facts.custom_title:
        return facts.custom_title, "custom"
    if facts.ai_title:
        return facts.ai_title, "ai"
    if facts.first_prompt:
        return " ".join(facts.first_prompt.split())[:TITLE], "prompt"
    return None, None


def as_time(text: str | None) -> datetime | None:
    """Parse a time as the CLI writes it; None if the text is no time."""
    try:
        time = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return time if time.tzinfo is not None else time.astimezone()


# --- in the database -----------------------------------------------------------------------------

_packer = msgspec.msgpack.Encoder()


def packed(value: Any) -> bytes:
    """Encode facts for the database, which holds neither lone surrogates nor huge numbers."""
    try:
        return _packer.encode(value)
    except (UnicodeEncodeError, OverflowError):  # a line can contain anything
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False)
        data = text.encode("utf-8", "replace")
        return _packer.encode(json.loads(data, parse_int=_bounded))


def _bounded(digits: str) -> int:
    return max(-LARGEST, min(int(digits), LARGEST))


def well_formed(text: str) -> str:
    """Replace halves of surrogate pairs: JSON may have them, a database must not."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
