"""Conversations on disk: where they are, and how one is taken up again.

Transcripts of real CLIs are read as well as our own. Reading happens before the engine runs; what
it writes later is appended by its host.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ..wire import load

__all__ = ["NotResumable", "SessionStore", "Stored", "append_entries", "branch_of", "take_up"]

Entry = dict[str, Any]

_SUFFIX = ".jsonl"

# File names have at most 255 bytes; a checksum tells longer folders apart.
_LONGEST_FOLDER = 200


class SessionStore:
    """Where the sessions of one working directory are kept.

    The layout is that of the real CLI: a folder for each working directory, in it a file of JSON
    Lines for each session.

    Args:
        config_dir: the CLI's own folder. Nothing outside it is touched.
        cwd: the working directory.
        enabled: whether anything is written. Reading works in any case.
    """

    def __init__(self, config_dir: str, cwd: str, enabled: bool) -> None:
        self.enabled = enabled
        self.folder: str = os.path.join(config_dir, "projects", _folder_name(cwd))

    def path(self, session_id: str) -> str:
        """The file of a session.

        Raises:
            ValueError: the id cannot be the name of a file.
        """
        if not _is_id(session_id):
            raise ValueError(f"{session_id!r} cannot be the id of a session")
        return os.path.join(self.folder, session_id + _SUFFIX)

    def load(self, session_id: str) -> list[Entry] | None:
        """Read the entries of a session; None if there is none. Broken lines are skipped."""
        if not _is_id(session_id):
            return None
        try:
            with open(self.path(session_id), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return None
        return [entry for line in lines if (entry := _entry(line)) is not None]

    def titled(self, title: str) -> str | None:
        """Find the newest session that a person has given this title."""
        for _, session_id in sorted(self._sessions(), reverse=True):
            titles = [it["customTitle"] for it in self.load(session_id) or () if _is_title(it)]
            if titles and titles[-1] == title:
                return session_id
        return None

    def latest(self) -> str | None:
        """Find the session that was last written to."""
        return max(self._sessions(), default=(0, None))[1]

    def _sessions(self) -> Iterator[tuple[int, str]]:
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    if file.name.endswith(_SUFFIX):
                        yield file.stat().st_mtime_ns, file.name.removesuffix(_SUFFIX)
        except FileNotFoundError:
            return


def _is_title(entry: Entry) -> bool:
    return entry.get("type") == "custom-title" and isinstance(entry.get("customTitle"), str)


def append_entries(path: str, entries: Iterable[Entry]) -> None:
    """Add entries to a file, which is created if need be; one without lines is written anew."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    data = b"".join(_line(entry) for entry in entries)
    anew = 0 if path.endswith(_SUFFIX) else os.O_TRUNC
    with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | anew, 0o600), "ab") as file:
        file.write(data)
        file.flush()
        # The file system's own clock may be too coarse to tell which session is the newest.
        now = time.time_ns()
        os.utime(file.fileno(), ns=(now, now))


def _is_id(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum() and len(text) <= 128


def _folder_name(cwd: str) -> str:
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
    return name if len(name) <= _LONGEST_FOLDER else f"{name[:_LONGEST_FOLDER]}-{_checksum(cwd)}"


def _checksum(text: str) -> str:
    """The checksum of the real CLI: 32 bits, written to the base of 36."""
    number = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        number = (number * 31 + unit) & 0xFFFFFFFF
    number = abs(number - 2**32 if number >= 2**31 else number)
    digits = ""
    while number or not digits:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


def _line(entry: Entry) -> bytes:
    return (
        json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode(
            "utf-8", "backslashreplace"
        )
        + b"\n"
    )


def _entry(line: bytes) -> Entry | None:
    try:
        entry = load(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


# --- taking one up --------------------------------------------------------------------------------


class NotResumable(Exception):
    """The conversation cannot be taken up where that was asked for; the message says why."""


class Stored(NamedTuple):
    """A conversation as far as it goes on.

    Attributes:
        leaf: the last entry, to which the next is attached.
        branch: the entries that lead to it.
        history: what was said, by whom.
        costs: what was spent, as the CLI last noted it; None if it did not.
        position: how many prompts a person has written, and how many turns followed the last.
        to_copy: entries that another file, that of a fork, begins with.
    """

    leaf: str | None
    branch: list[Entry]
    history: list[Entry]
    costs: Entry | None
    position: tuple[int, int]
    to_copy: list[Entry] = []


def take_up(entries: Sequence[Entry], *, at: str | None = None, drops: str | None = None) -> Stored:
    """Find out where a conversation goes on.

    Args:
        entries: all that was kept of it.
        at: the message after which it goes on; None for the last.
        drops: the only prompt that may be lost by that, with what followed it.

    Raises:
        NotResumable: there is no such message, or more than that prompt would be lost.
    """
    whole = branch_of(entries)
    branch = whole
    if at is not None:
        places = [n for n, it in enumerate(whole) if it.get("uuid") == at]
        if not places:
            raise NotResumable(f"No message found with message.uuid of: {at}")
        branch = whole[: places[-1] + 1]
        _check_loss(whole[places[-1] + 1 :], at, drops)
    costs = [it for it in entries if it.get("type") == "cost-state"]
    return Stored(
        branch[-1].get("uuid") if branch else None,
        branch,
        list(_said(branch)),
        costs[-1] if costs else None,
        _position(branch),
    )


def branch_of(entries: Sequence[Entry]) -> list[Entry]:
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


def _check_loss(lost: Sequence[Entry], at: str, drops: str | None) -> None:
    if drops is None or not lost:
        return
    prompts = [it for it in lost if _is_prompt(it)]
    if prompts and prompts[0] is lost[0] and prompts[0].get("uuid") == drops and not prompts[1:]:
        return
    wrong = next((it for it in prompts if it.get("uuid") != drops), lost[0])
    raise NotResumable(
        f"Resume rejected by --resume-drops-turn: resuming at {at} would discard entries not "
        f"attributable to turn {drops}: range does not start with the declared turn prompt; first "
        f"discarded entry 0 [type={wrong.get('type')}, uuid={wrong.get('uuid')}]"
    )


def _said(branch: Iterable[Entry]) -> Iterator[Entry]:
    """The prompts, and the last words of the model after each."""
    answer: Entry | None = None
    for entry in branch:
        if _is_prompt(entry):
            if answer is not None:
                yield answer
            answer = None
            yield {"type": "user", "text": _text(entry), "uuid": entry["uuid"]}
        elif entry.get("type") == "assistant" and _text(entry):
            answer = {"type": "assistant", "text": _text(entry), "uuid": entry["uuid"]}
    if answer is not None:
        yield answer


_NO_PROMPTS = ("<command-", "<local-command-", "<task-notification", "[Request interr")
"""With this begins what the CLI itself has written in the user's place."""


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


def _position(branch: Iterable[Entry]) -> tuple[int, int]:
    for entry in reversed(list(branch)):
        place = entry.get("turnPosition")
        if isinstance(place, dict):
            return int(place.get("promptIndex", 0)), int(place.get("turnIndex", 0))
    return 0, 0
