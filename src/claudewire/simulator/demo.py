"""The demo agent: no model, but real files, real permissions, real questions.

It understands a few plain sentences and carries them out in its working directory. Applications get
it where no `claude` is installed, and it says that it is a simulation.
"""

from __future__ import annotations

import os
import re
from typing import Any

import msgspec

from .chat import Chat, ToolOutcome

HELP = (
    "I am a simulation inside claudewire: no model, no network. I can list files, read or "
    "summarise a file, write a file (“write notes.txt: some text”), edit one "
    '(“replace a with b in notes.txt”) and use a tool of yours (“use add {"a": 1, "b": 2}”).'
)

MOST_FILES = 200
MOST_BYTES = 200_000
HIDDEN = (".", "__pycache__", "node_modules")
UNCHANGED: Any = {"encoding": "utf-8", "errors": "surrogateescape", "newline": ""}
"""How to open a text file so that its other parts stay the same to the byte."""

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
_READ = re.compile(r"\b(?:read|show|open|print|cat|summari[sz]e|explain)\b(?P<rest>.*)$", re.I)
_LIST = re.compile(r"\b(?:list|ls|files|look around)\b", re.I)
_USE = re.compile(
    r"^\s*use (?P<tool>[\w-]+)(?: with)?\s*(?P<arguments>\{.*\})?\s*$", re.I | re.DOTALL
)
_NAME = re.compile(r"[\w./~-]*(?:/[\w.-]*\w|[\w-]\.\w+)|README|Makefile|LICENSE")


async def demo_agent(chat: Chat) -> None:
    """Carry out the prompt as far as a simulation can."""
    if not chat.text:
        await chat.say("(simulation) Something that ran in the background has ended.")
    elif (found := _USE.search(chat.text)) and (tool := _tool_called(chat, found["tool"])):
        await _use(chat, tool, found["arguments"] or "{}")
    elif found := _EDIT.search(chat.text):
        await _edit(chat, found)
    elif found := _WRITE.search(chat.text):
        await _write(chat, found)
    elif found := _READ.search(chat.text):
        await _read(chat, found["rest"])
    elif _LIST.search(chat.text):
        await _list(chat)
    else:
        await chat.say(f"(simulation) {HELP}")


def _tool_called(chat: Chat, name: str) -> str | None:
    """Find a tool of the application by its short name."""
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
        "Read", {"file_path": path}, run=lambda input: _contents(chat, input["file_path"])
    )
    if outcome.is_error:
        await chat.say(f"I could not read it: {outcome.text}")
        return
    lines = outcome.text.splitlines()
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    told = [line for line in lines if line.strip()][:5]
    await chat.say(f"{path} has {count}. It begins:\n{_bullets(told)}")


async def _which_file(chat: Chat) -> str | None:
    """Ask for the file if there are several to choose from."""
    names = list_files(chat.session.cwd)[:4]
    if not names:
        await chat.say("(simulation) There is no file here to read.")
    if len(names) < 2:
        return names[0] if names else None
    options = [{"label": name, "description": f"Read {name}"} for name in names]
    text = "Which file do you mean?"
    question = {"question": text, "header": "File", "options": options, "multiSelect": False}
    outcome = await chat.ask([question])
    chosen = outcome.input.get("answers", {}).get(text) if outcome.allowed else None
    if isinstance(chosen, str):
        return chosen
    await chat.say("Then I leave it.")
    return None


async def _write(chat: Chat, found: re.Match[str]) -> None:
    def write(input: dict[str, Any]) -> str:
        return _put(chat, input["file_path"], input["content"])

    content = (found["content"] or "").strip()
    input = {"file_path": found["path"], "content": f"{content}\n" if content else ""}
    await chat.say(f"(simulation) I'll write {found['path']}.")
    outcome = await chat.use("Write", input, run=write)
    await chat.say(_told(outcome, "It is written."))


async def _edit(chat: Chat, found: re.Match[str]) -> None:
    def edit(input: dict[str, Any]) -> str:
        old, path = input["old_string"], input["file_path"]
        with open(_inside(chat.session.cwd, path), **UNCHANGED) as file:
            text = file.read()
        if text.count(old) != 1:
            raise ValueError(f"{old!r} stands {text.count(old)} times in {path}, not once")
        return _put(chat, path, text.replace(old, input["new_string"]))

    input = {"file_path": found["path"], "old_string": found["old"], "new_string": found["new"]}
    await chat.say(f"(simulation) I'll edit {found['path']}.")
    outcome = await chat.use("Edit", input, run=edit)
    await chat.say(_told(outcome, "It is changed."))


def _told(outcome: ToolOutcome, success: str) -> str:
    if not outcome.allowed:
        return f"I was not allowed to: {outcome.text}"
    return f"It did not work: {outcome.text}" if outcome.is_error else success


def _bullets(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines[:20])


# --- files below the working directory ------------------------------------------------------------


def _inside(cwd: str, path: str) -> str:
    """Return the real path, which must be below the working directory."""
    root = os.path.realpath(cwd)
    full = os.path.realpath(os.path.join(root, path))
    if full != root and not full.startswith(root + os.sep):
        raise ValueError(f"{path} is outside of the working directory")
    return full


def list_files(cwd: str) -> list[str]:
    """List the files below a folder, without hidden ones."""
    found: list[str] = []
    for folder, folders, files in os.walk(cwd):
        folders[:] = sorted(name for name in folders if not name.startswith(HIDDEN))
        visible = (name for name in sorted(files) if not name.startswith("."))
        found += (os.path.relpath(os.path.join(folder, name), cwd) for name in visible)
        if len(found) >= MOST_FILES:
            break
    return found[:MOST_FILES]


def _contents(chat: Chat, path: str) -> str:
    with open(_inside(chat.session.cwd, path), encoding="utf-8", errors="replace") as file:
        return file.read(MOST_BYTES)


def _put(chat: Chat, path: str, content: str) -> str:
    full = _inside(chat.session.cwd, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    with open(full, "w", **UNCHANGED) as file:
        file.write(content)
    return f"File written: {path}"
