"""The demo agent: no model, but real files, real permissions, real questions.

It understands a few plain sentences and does what they say in its working directory. Applications
get it where no `claude` is installed, and it says that it is a simulation.
"""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec

from .chat import Chat, ToolOutcome

__all__ = ["demo_agent", "list_files"]

HELP = (
    "I am a simulation inside claudewire: no model, no network. I can list files, read or "
    "summarise a file, search for a word, write a file (“write notes.txt: some text”), edit one "
    '(“replace a with b in notes.txt”) and use a tool of yours (“use add {"a": 1, "b": 2}”).'
)

_QUOTED = r"[\"'“`]?(?P<{0}>[^\"'”`]+?)[\"'”`]?"
_PATH = r"[\"'“`]?(?P<path>[\w./~-]+)[\"'”`]?"
_WRITE = re.compile(
    r"\b(?:write|create)\b(?: a)?(?: file)?(?: called| named)? "
    rf"{_PATH}(?:\s*(?::|with|containing|saying)\s*(?P<content>.*))?$",
    re.IGNORECASE | re.DOTALL,
)
_EDIT = re.compile(
    rf"\b(?:replace|change)\b {_QUOTED.format('old')} (?:with|to|by) "
    rf"{_QUOTED.format('new')} in {_PATH}\s*$",
    re.IGNORECASE,
)
_SEARCH = re.compile(
    rf"\b(?:search|grep|find|look for)\b(?: for)? {_QUOTED.format('words')}"
    rf"(?: in {_PATH})?[.?!]?\s*$",
    re.IGNORECASE,
)
_READ = re.compile(r"\b(?:read|show|open|print|cat|summari[sz]e|explain)\b(?P<rest>.*)$", re.I)
_LIST = re.compile(r"\b(?:list|ls|files|look around)\b", re.I)
_USE = re.compile(
    r"^\s*use (?P<tool>[\w-]+)(?: with)?\s*(?P<arguments>\{.*\})?\s*$", re.I | re.DOTALL
)
_NAME = re.compile(r"[\w./~-]*(?:/[\w.-]*\w|[\w-]\.\w+)|README|Makefile|LICENSE")


async def demo_agent(chat: Chat) -> None:
    """Do what the prompt says, as far as a simulation can."""
    if not chat.text:
        await chat.say("(simulation) Something that ran in the background has ended.")
    elif (found := _USE.search(chat.text)) and (tool := _tool_called(chat, found["tool"])):
        await _use(chat, tool, found["arguments"] or "{}")
    elif found := _EDIT.search(chat.text):
        await _edit(chat, found)
    elif found := _WRITE.search(chat.text):
        await _write(chat, found)
    elif found := _SEARCH.search(chat.text):
        await _search(chat, found)
    elif found := _READ.search(chat.text):
        await _read(chat, found["rest"])
    elif _LIST.search(chat.text):
        await _list(chat)
    else:
        await chat.say(f"(simulation) {HELP}")


def _tool_called(chat: Chat, name: str) -> str | None:
    """Find a tool of the host by its short name."""
    names = (tool for tool in chat.session.tools() if tool.startswith("mcp__"))
    return next((tool for tool in names if tool.split("__", 2)[2] == name), None)


async def _use(chat: Chat, tool: str, arguments: str) -> None:
    try:
        input = msgspec.json.decode(arguments, type=dict[str, Any])
    except msgspec.DecodeError as error:
        await chat.say(f"(simulation) I do not understand the arguments: {error}")
        return
    await chat.say(f"(simulation) I'll use {tool}.")
    outcome = await chat.use(tool, input)
    await chat.say(_told(outcome, outcome.text))


async def _list(chat: Chat) -> None:
    await chat.say("(simulation) I'll look at the files.")
    outcome = await chat.use(
        "Glob", {"pattern": "**/*"}, run=lambda input: "\n".join(list_files(chat.session.cwd))
    )
    names = outcome.text.splitlines()
    found = "is 1 file" if len(names) == 1 else f"are {len(names)} files"
    await chat.say(f"There {found} here:\n{_bullets(names)}")


async def _read(chat: Chat, rest: str) -> None:
    named = _NAME.search(rest)
    path = named[0] if named else await _which_file(chat)
    if path is None:
        return
    await chat.say(f"(simulation) I'll read {path}.")
    outcome = await chat.use(
        "Read",
        {"file_path": path},
        run=lambda input: read_file(chat.session.cwd, input["file_path"]),
    )
    if outcome.is_error:
        await chat.say(f"I could not read it: {outcome.text}")
        return
    lines = outcome.text.splitlines()
    told = [line for line in lines if line.strip()][:5]
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    await chat.say(f"{path} has {count}. It begins:\n{_bullets(told)}")


async def _which_file(chat: Chat) -> str | None:
    """Ask which file is meant, if there is more than one to choose from."""
    names = list_files(chat.session.cwd)[:4]
    if len(names) < 2:
        if not names:
            await chat.say("(simulation) There is no file here to read.")
        return names[0] if names else None
    options = [{"label": name, "description": f"Read {name}"} for name in names]
    question = {
        "question": "Which file do you mean?",
        "header": "File",
        "options": options,
        "multiSelect": False,
    }
    outcome = await chat.ask([question])
    chosen = outcome.input.get("answers", {}).get(question["question"]) if outcome.allowed else None
    if not isinstance(chosen, str):
        await chat.say("Then I leave it.")
        return None
    return chosen


async def _search(chat: Chat, found: re.Match[str]) -> None:
    words, path = found["words"], found["path"] or "."
    await chat.say(f"(simulation) I'll search for “{words}”.")
    outcome = await chat.use(
        "Grep",
        {"pattern": words, "path": path},
        run=lambda input: "\n".join(search(chat.session.cwd, words, path)),
    )
    hits = outcome.text.splitlines()
    await chat.say(f"Found {len(hits)} lines.\n{_bullets(hits)}" if hits else "Found nothing.")


async def _write(chat: Chat, found: re.Match[str]) -> None:
    content = (found["content"] or "").strip()
    await chat.say(f"(simulation) I'll write {found['path']}.")
    input = {"file_path": found["path"], "content": f"{content}\n" if content else ""}
    outcome = await chat.use("Write", input, run=lambda given: write_file(chat.session.cwd, given))
    await chat.say(_told(outcome, "It is written."))


async def _edit(chat: Chat, found: re.Match[str]) -> None:
    await chat.say(f"(simulation) I'll edit {found['path']}.")
    input = {"file_path": found["path"], "old_string": found["old"], "new_string": found["new"]}
    outcome = await chat.use("Edit", input, run=lambda given: edit_file(chat.session.cwd, given))
    await chat.say(_told(outcome, "It is changed."))


def _told(outcome: ToolOutcome, success: str) -> str:
    if not outcome.allowed:
        return f"I was not allowed to: {outcome.text}"
    return f"It did not work: {outcome.text}" if outcome.is_error else success


def _bullets(lines: list[Any]) -> str:
    return "\n".join(f"- {line}" for line in lines[:20])


# --- its tools: they really work, and only below the working directory ----------------------------

MOST_FILES = 200
MOST_BYTES = 200_000
HIDDEN = (".", "__pycache__", "node_modules")
AS_IT_IS: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
"""How to open a text file so that unchanged parts stay the same to the byte."""


def _inside(cwd: str, path: str) -> str:
    """The real path, which must be below the working directory."""
    root = os.path.realpath(cwd)
    full = os.path.realpath(os.path.join(root, path))
    if full != root and not full.startswith(root + os.sep):
        raise ValueError(f"{path} is outside of the working directory")
    return full


def list_files(cwd: str, path: str = ".") -> list[str]:
    """The files below a folder, relative to the working directory, without hidden ones."""
    found: list[str] = []
    for folder, folders, files in os.walk(_inside(cwd, path)):
        folders[:] = sorted(name for name in folders if not name.startswith(HIDDEN))
        for name in sorted(files):
            if not name.startswith("."):
                found.append(os.path.relpath(os.path.join(folder, name), os.path.realpath(cwd)))
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def read_file(cwd: str, path: str) -> str:
    """The contents of a file, or its beginning if it is long."""
    with open(_inside(cwd, path), encoding="utf-8", errors="replace") as file:
        return file.read(MOST_BYTES)


def search(cwd: str, words: str, path: str = ".") -> list[str]:
    """The lines that contain `words`, as `file:line: text`."""
    hits: list[str] = []
    for name in list_files(cwd, path):
        try:
            lines = read_file(cwd, name).splitlines()
        except (OSError, ValueError):
            continue  # a broken link, or one that leads outside
        hits += [
            f"{name}:{number}: {line.strip()}"
            for number, line in enumerate(lines, 1)
            if words.lower() in line.lower()
        ]
    return hits[:MOST_FILES]


def write_file(cwd: str, input: dict[str, Any]) -> str:
    """Write a whole file."""
    full = _inside(cwd, input["file_path"])
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", **AS_IT_IS) as file:
        file.write(input["content"])
    return f"File written: {input['file_path']}"


def edit_file(cwd: str, input: dict[str, Any]) -> str:
    """Replace a string that occurs in a file once."""
    old, path = input["old_string"], input["file_path"]
    with open(_inside(cwd, path), **AS_IT_IS) as file:
        text = file.read()
    if text.count(old) != 1:
        raise ValueError(f"{old!r} stands {text.count(old)} times in {path}, not once")
    write_file(cwd, {"file_path": path, "content": text.replace(old, input["new_string"])})
    return f"File edited: {path}"
