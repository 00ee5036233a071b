"""An agent works, and people in a chat room approve its actions.

    python approval_bot.py "Write notes.txt: milk"

Here the room is the terminal, and people type `ada: yes 1` or `bob: no 2 too dangerous`. For Slack,
Discord or Matrix, write another `Room`. A request without an answer for ten minutes is denied, and
every decision is written to decisions.jsonl.
"""

import re
import sys
from collections.abc import AsyncIterator
from typing import NamedTuple, Protocol

import anyio
import anyio.to_thread

import claudewire
from claudewire.policy import JsonLinesAudit

OPTIONS = claudewire.Options(allow=["Read", "Glob", "Grep"], approver="inbox", decide_within=600)
ANSWER = re.compile(r"(?P<word>yes|no) #?(?P<number>\d+)(?P<text>.*)", re.IGNORECASE)


class Line(NamedTuple):
    approver: str
    text: str


class Room(Protocol):
    async def post(self, text: str) -> None: ...

    def lines(self) -> AsyncIterator[Line]: ...


class Bot:
    """Posts what waits in an inbox, and answers it as people say."""

    def __init__(self, inbox: claudewire.Inbox, room: Room) -> None:
        self.inbox = inbox
        self.room = room
        self.numbers: dict[str, int] = {}

    async def run(self) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.announce)
            tasks.start_soon(self.listen)

    async def announce(self) -> None:
        with self.inbox.changes() as changes:
            async for change in changes:
                request = change.request
                if change.what == "added":
                    number = self.numbers[request.id] = len(self.numbers) + 1
                    await self.room.post(f"#{number} {request.title}: yes or no?")
                    if isinstance(request, claudewire.PermissionRequest) and request.diff():
                        await self.room.post(f"{request.diff()}")
                elif change.what in ("withdrawn", "expired"):
                    await self.room.post(f"#{self.numbers[request.id]} {change.what}")

    async def listen(self) -> None:
        async for line in self.room.lines():
            if answer := ANSWER.match(line.text):
                await self.answer(answer, line.approver)

    async def answer(self, answer: re.Match[str], approver: str) -> None:
        number, text = int(answer["number"]), answer["text"].strip()
        waiting = [it for it in self.inbox.pending if self.numbers.get(it.id) == number]
        if not waiting:
            await self.room.post(f"#{number} is not waiting for an answer")
            return
        action, arguments = action_of(waiting[0].kind, answer["word"].lower() == "yes", text)
        try:
            self.inbox.act(waiting[0].id, action, arguments, by=approver)
        except claudewire.AnswerError as error:
            await self.room.post(f"#{number} {error.message}")


def action_of(kind: str, yes: bool, text: str) -> tuple[str, dict[str, str]]:
    """What a yes or a no means for each kind of request: an action and its arguments."""
    match kind, yes:
        case "permission", True:
            return "allow", {}
        case "permission", False:
            return "deny", {"reason": text or "No."}
        case "plan", True:
            return "approve", {}
        case "plan", False:
            return "revise", {"feedback": text or "Try something else."}
        case "question", True:
            return "respond", {"text": text or "Yes."}
        case "question", False:
            return "skip", {}
        case _:  # a form of an MCP server: more than a line of text can fill in
            return "decline", {}


class Terminal:
    """A room with everybody at one keyboard."""

    async def post(self, text: str) -> None:
        print(text)

    async def lines(self) -> AsyncIterator[Line]:
        while text := await anyio.to_thread.run_sync(sys.stdin.readline, abandon_on_cancel=True):
            approver, _, said = text.rstrip("\n").partition(": ")
            yield Line(approver, said)


async def work(prompt: str, room: Room, options: claudewire.Options = OPTIONS) -> str:
    inbox = claudewire.Inbox()
    with JsonLinesAudit("decisions.jsonl") as audit:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(Bot(inbox, room).run)
            reply = await claudewire.run(prompt, options, inbox=inbox, audit=audit)
            tasks.cancel_scope.cancel()
    return reply.raise_for_error().text


def main() -> str | None:
    problem = None
    try:
        print(anyio.run(work, sys.argv[1], Terminal()))
    except* claudewire.Error as group:  # errors leave a task group in a group
        problem = "\n".join(map(str, group.exceptions))
    return problem


if __name__ == "__main__":
    sys.exit(main())
