"""Make tests/product/transcripts/samples anew: `python -m tests.judges.real.make_transcripts`.

Each real CLI holds the same conversations in a cage, and what it has written to disk afterwards is
kept, without the machine in it. `expected.json` says what the scripted API was told to report, so
that totals can be compared with it.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from tests.helpers.real_clis import VERSIONS

from claudewire.session import Session
from claudewire.testing.api import (
    APIReply,
    APIRequest,
    APIScript,
    APIThinking,
    APIToolUse,
    APIUsage,
)
from claudewire.testing.cage import Cage
from claudewire.wire import AssistantMessage, ToolUseBlock

from .make_recordings import without_the_machine
from .sessions import OURS, caged

FOLDER = Path(__file__).resolve().parents[2] / "product" / "transcripts" / "samples"

MAIN = "00000000-0000-4000-8000-000000000001"
PLAIN = "00000000-0000-4000-8000-000000000002"

LONGEST = 160
"""Characters of a text: more of it is left out. Nothing that is said here is longer."""

ABOUT_ITSELF = ("attachment", "api-request", "api-request-blob", "api-request-shape")
"""Lines in which the CLI writes down its own prompts and settings."""

MOST, DEEPEST = 2, 4
"""Of these, how much of a list is kept, and how deep objects are."""

UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

PRINT = "python3 -c 'print(1)'"
SLOW = 'python3 -c \'open("started", "w"); import time; time.sleep(60)\''


def reply(number: int, *parts: Any) -> APIReply:
    """A reply with a unique usage."""
    return APIReply(
        *parts,
        usage=APIUsage(
            input_tokens=1000 + number,
            output_tokens=200 + number,
            cache_read_input_tokens=30 * number,
            cache_creation_input_tokens=7 * number,
        ),
    )


def bash(command: str, **more: Any) -> APIToolUse:
    return APIToolUse("Bash", {"command": command, "description": "Run it", **more})


def task(description: str, prompt: str) -> APIToolUse:
    # In the background it would report at any time, and each sample would be another.
    given = {"description": description, "prompt": prompt, "subagent_type": "general-purpose"}
    return APIToolUse("Task", {**given, "run_in_background": False})


REPLIES: dict[str, list[APIReply]] = {
    "Count the files": [
        reply(1, APIThinking("Two commands will do."), "I look.", bash("ls"), bash(PRINT)),
        reply(2, "There is **one** file:\n\n```\nnotes.txt\n```"),
    ],
    "Ask an agent": [
        reply(3, "I hand it over.", task("Look around", "Look around, please.")),
        reply(4, "The agent says that all is well."),
    ],
    "Look around, please": [reply(5, bash("ls -a")), reply(6, "All is well here.")],
    "Run it behind": [
        reply(7, bash(PRINT, run_in_background=True)),
        reply(8, "It runs in the background."),
    ],
    "Take your time": [reply(9, "This takes a while.", bash(SLOW))],
    "Your task is to create a detailed summary": [
        reply(10, "<summary>Files were counted.</summary>")
    ],
    "CRITICAL: Respond with TEXT ONLY": [reply(10, "<summary>Files were counted.</summary>")],
    "What was that": [reply(11, "Files were counted.")],
    "In another direction": [reply(12, "Turned.")],
    "From the middle": [reply(13, "Back in the middle.")],
    "Say hello": [reply(14, "Hello!")],
}


def script() -> APIScript:
    made = APIScript(default=reply(0, "Very well."))
    for prompt, replies in REPLIES.items():
        made.on(prompt, *replies)
    return made


class Maker:
    """Holds the conversations with one CLI."""

    def __init__(self, version: str, cage: Cage) -> None:
        self.version = version
        self.cage = cage

    @asynccontextmanager
    async def session(self, **options: Any) -> AsyncIterator[Session]:
        given = caged(self.cage, self.version, permission_mode="bypassPermissions", **options)
        async with Session(given) as session:
            yield session

    async def say(self, session: Session, prompt: str) -> None:
        await session.send(prompt)

    async def make(self) -> None:
        (self.cage.work / "notes.txt").write_text("A note.\n")
        async with self.session(session_id=MAIN) as session:
            await self.say(session, "Count the files.")
            await self.say(session, "Ask an agent.")
            await self.say(session, "Run it behind.")
            await self.interrupted(session)
            await self.say(session, "/compact")
            await self.say(session, "What was that?")
        async with self.session(resume=MAIN, fork_session=True) as session:
            await self.say(session, "In another direction.")
        async with self.session(session_id=PLAIN) as session:
            await self.say(session, "Say hello.")
        at = self.last_assistant(PLAIN)
        async with self.session(resume=PLAIN) as session:
            await self.say(session, "In another direction.")
        async with self.session(resume=PLAIN, resume_session_at=at) as session:
            await self.say(session, "From the middle.")

    async def interrupted(self, session: Session) -> None:
        turn = session.send("Take your time.")
        async for event in turn:
            if isinstance(event, AssistantMessage) and any(
                isinstance(block, ToolUseBlock) for block in event.content
            ):
                while not (self.cage.work / "started").exists():  # noqa: ASYNC110 - another process
                    await anyio.sleep(0.05)
                await session.interrupt()

    def last_assistant(self, id: str) -> str:
        (path,) = self.cage.config.glob(f"projects/*/{id}.jsonl")
        said = [json.loads(line) for line in path.read_text().splitlines()]
        return str([entry["uuid"] for entry in said if entry["type"] == "assistant"][-1])


async def make(version: str) -> None:
    folder = FOLDER / version
    with Cage(script(), keep=OURS) as cage, anyio.fail_after(180):
        await Maker(version, cage).make()
        shutil.rmtree(folder, ignore_errors=True)
        keep(cage, folder)
        (folder / "expected.json").write_text(json.dumps(told(cage.turns), indent=1) + "\n")


def told(requests: list[APIRequest]) -> dict[str, list[int]]:
    """For each session, the numbers of the replies that it was given."""
    given: dict[str, list[int]] = {}
    asked: Counter[tuple[str, str]] = Counter()
    for request in requests:
        session = UUID.findall(request.conversation)[-1]
        prompt = next((it for it in REPLIES if it in request.prompt), None)
        if prompt is None:
            number = 0
        else:
            place = asked[session, prompt]
            asked[session, prompt] += 1
            number = REPLIES[prompt][place].usage.input_tokens - 1000
        given.setdefault(session, []).append(number)
    return given


def keep(cage: Cage, folder: Path) -> None:
    clean = without_the_machine(cage)
    root = cage.config / "projects"
    for path in sorted(root.rglob("*.json*")):
        relative = path.relative_to(root)
        made = folder / "projects" / "-project" / Path(*relative.parts[1:])
        made.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
        made.write_text("".join(shortened(clean(line)) + "\n" for line in lines))


def shortened(line: str) -> str:
    """Leave out long texts of the CLI: prompts, tools, skills."""
    entry = json.loads(line)
    lists = MOST if entry.get("type") in ABOUT_ITSELF else len(line)
    return json.dumps(_shortened(entry, lists, 0), ensure_ascii=False, separators=(",", ":"))


def _shortened(value: Any, most: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= LONGEST else value[:LONGEST] + "…"
    if isinstance(value, list):
        return [_shortened(item, most, depth + 1) for item in value[:most]]
    if isinstance(value, dict):
        if depth > DEEPEST and most == MOST:
            return {}
        return {key: _shortened(item, most, depth + 1) for key, item in value.items()}
    return value


async def main() -> None:
    for version in sys.argv[1:] or VERSIONS:
        await make(version)


if __name__ == "__main__":
    anyio.run(main)
