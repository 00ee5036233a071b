"""Conversations on disk: their layout, and resuming one.

Transcripts of real CLIs can be resumed, too. Reading happens before the engine runs.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..wire import load

Entry = dict[str, Any]

_SUFFIX = ".jsonl"

_LONGEST_FOLDER = 200
"""File names have at most 255 bytes; a checksum distinguishes longer folders."""

_NO_PROMPTS = ("<command-", "<local-command-", "<task-notification", "[Request interr")
"""The beginnings of texts that the CLI itself writes in the user's place."""


class SessionStore:
    """The conversations of one working directory.

    The layout is that of the real CLI: a folder for each working directory, in it a file of JSON
    Lines for each session.
    """

    def __init__(self, config_dir: str, cwd: str, enabled: bool) -> None:
        self.enabled = enabled
        self.folder: str = os.path.join(config_dir, "projects", _folder_name(cwd))

    def load(self, session_id: str) -> list[Entry] | None:
        """Read the entries of a session, except broken lines; None if it does not exist."""
        path = Path(self.folder, session_id + _SUFFIX)
        if os.sep in session_id or not path.is_file():
            return None
        entries = map(_entry, path.read_bytes().split(b"\n"))
        return [entry for entry in entries if entry is not None]

    def titled(self, title: str) -> str | None:
        """Find the newest session with this title."""
        for session_id in self._newest_first():
            entries = self.load(session_id) or ()
            titles = [it.get("customTitle") for it in entries if it.get("type") == "custom-title"]
            if titles[-1:] == [title]:
                return session_id
        return None

    def latest(self) -> str | None:
        """Find the session that was last written to."""
        return next(iter(self._newest_first()), None)

    def _newest_first(self) -> list[str]:
        files = sorted(Path(self.folder).glob(f"*{_SUFFIX}"), key=lambda it: it.stat().st_mtime_ns)
        return [file.stem for file in reversed(files)]


def append_entries(path: str, entries: Iterable[Entry]) -> None:
    """Add entries to a file; replace the contents of a file that has no lines."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    data = b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)
    anew = 0 if path.endswith(_SUFFIX) else os.O_TRUNC
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | anew, 0o600), "ab") as file:
        file.write(data)
        file.flush()
        # The clock of the file system may be too coarse to find the newest session.
        now = time.time_ns()
        os.utime(file.fileno(), ns=(now, now))


def _folder_name(cwd: str) -> str:
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
    return name if len(name) <= _LONGEST_FOLDER else f"{name[:_LONGEST_FOLDER]}-{_checksum(cwd)}"


def _checksum(text: str) -> str:
    """The checksum of the real CLI: 32 bits, to the base of 36."""
    number = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (number * 31 + unit) & 0xFFFFFFFF
    number = abs(number - 2**32 if number >= 2**31 else number)
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _entry(line: bytes) -> Entry | None:
    try:
        entry = load(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


# --- resuming -------------------------------------------------------------------------------------


class NotResumable(Exception):
    """The conversation cannot go on at the requested message; the message says why."""


class Stored(NamedTuple):
    """The part of a conversation that goes on, up to `leaf`."""

    leaf: str | None
    branch: list[Entry]
    history: list[Entry]
    costs: Entry | None


def take_up(entries: Sequence[Entry], *, at: str | None = None, drops: str | None = None) -> Stored:
    """Find out where a conversation goes on.

    Args:
        entries: the conversation.
        at: the message after which it goes on; None for the last.
        drops: the prompt of the only turn that this may discard; None for any turns.

    Raises:
        NotResumable: there is no such message, or another turn would be discarded.
    """
    branch = _branch_of(entries)
    if at is not None:
        places = [number for number, it in enumerate(branch, 1) if it.get("uuid") == at]
        if not places:
            raise NotResumable(f"No message found with message.uuid of: {at}")
        branch, dropped = branch[: places[-1]], branch[places[-1] :]
        prompts = [it["uuid"] for it in dropped if _is_prompt(it)]
        if drops is not None and dropped and (prompts != [drops] or dropped[0]["uuid"] != drops):
            raise NotResumable(
                f"Resume rejected by --resume-drops-turn: resuming at {at} would discard entries "
                f"not attributable to turn {drops}: range does not start with the declared turn "
                f"prompt; first discarded entry 0 [type={dropped[0].get('type')}, "
                f"uuid={dropped[0]['uuid']}]"
            )
    costs = [it for it in entries if it.get("type") == "cost-state"]
    leaf = branch[-1].get("uuid") if branch else None
    return Stored(leaf, branch, list(_said(branch)), costs[-1] if costs else None)


def _branch_of(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of the main conversation that lead to the last one, from the first."""
    known = {it["uuid"]: it for it in entries if _is_linked(it)}
    last = next((it for it in reversed(entries) if _is_linked(it)), None)
    branch: list[Entry] = []
    seen: set[str] = set()
    while last is not None and last["uuid"] not in seen:
        seen.add(last["uuid"])
        branch.append(last)
        last = known.get(str(last.get("parentUuid")))
    return branch[::-1]


def _is_linked(entry: Entry) -> bool:
    """Whether it is a part of the conversation; a title may have a uuid, too."""
    has_place = isinstance(entry.get("uuid"), str) and "parentUuid" in entry
    return has_place and not entry.get("isSidechain")


def _said(branch: Iterable[Entry]) -> Iterator[Entry]:
    """The prompts, and the last words of the model after each."""
    answer: list[Entry] = []
    for entry in branch:
        said = {"type": entry.get("type"), "text": _text(entry), "uuid": entry["uuid"]}
        if _is_prompt(entry):
            yield from answer
            yield said
            answer = []
        elif said["type"] == "assistant" and said["text"]:
            answer = [said]
    yield from answer


def _is_prompt(entry: Entry) -> bool:
    if entry.get("type") != "user" or entry.get("isMeta") or entry.get("toolUseResult") is not None:
        return False
    text = _text(entry)
    return bool(text) and not text.startswith(_NO_PROMPTS)


def _text(entry: Entry) -> str:
    message = entry.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = [it.get("text") for it in blocks if isinstance(it, dict) and it.get("type") == "text"]
    return "\n".join(text for text in texts if isinstance(text, str))
