"""The conversations that the real CLI and the simulated one are compared over.

A case says once what the model answers and what the host does. For the real CLI the answers become
a script of the Messages API, for the simulated one a scenario.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.to_thread

from claudewire.simulator import Chat, Scenario
from claudewire.testing.api import (
    APIReply,
    APIScript,
    APIStatus,
    APIThinking,
    APIToolUse,
    structured_output,
)
from claudewire.testing.api.replies import LooseReply, Part, Step, as_step
from claudewire.wire import (
    CanUseTool,
    Event,
    HookMatcher,
    Initialize,
    Interrupt,
    McpMessage,
    PermissionResultAllow,
    PermissionResultDeny,
    Request,
    ResultMessage,
    SetModel,
    SetPermissionMode,
    UserMessage,
)

from .host import Host, Reaction, serve_calculator

Drive = Callable[[Host], Awaitable[object]]

PIPE = "started"
SLOW = f'python3 -c \'open("{PIPE}", "w").close(); import time; time.sleep(60)\''
"""A command that tells through a named pipe that it runs, and then takes its time."""

LONG = 60.0
"""Seconds: longer than any of these conversations takes."""


@dataclass(frozen=True)
class Case:
    """One conversation.

    Attributes:
        replies: what the model answers, call by call.
        drive: what the host does between the opening and the end.
        flags: what the CLI is called with, besides what an SDK always says.
        setup: the opening.
        decide: answers permission requests.
        serve: answers for an MCP server in the host.
    """

    replies: Sequence[LooseReply]
    drive: Drive = lambda host: host.turn("Go on.")
    flags: Sequence[str] = ()
    setup: Initialize = field(default_factory=Initialize)
    decide: Reaction = lambda asked: PermissionResultAllow(asked.input)
    serve: Reaction = serve_calculator

    def script(self) -> APIScript:
        """What the Messages API says to the real CLI."""
        return APIScript.of(list(self.replies))

    def scenario(self) -> Scenario:
        """What the agent of the simulated CLI does."""
        steps = [as_step(reply) for reply in self.replies]

        async def play(chat: Chat) -> None:
            while await _play(chat, steps.pop(0)):
                pass

        return play


async def _play(chat: Chat, step: Step) -> bool:
    """Let the simulated model answer once; tell whether it will be called again."""
    if isinstance(step, APIReply):
        return any([await _play_part(chat, part) for part in step.parts])
    if step.retry_after is None:
        await chat.fail(step.message, status=step.status)
    await chat.retry(status=step.status)
    return True


async def _play_part(chat: Chat, part: Part) -> bool:
    if isinstance(part, str):
        await chat.say(part)
    elif isinstance(part, APIThinking):
        await chat.think(part.thinking)
    elif part.name == "StructuredOutput":
        chat.output(part.input)
    elif part.name == "AskUserQuestion":
        await chat.ask(part.input["questions"])
    else:
        seconds = LONG if part.input.get("command") == SLOW else 0
        await chat.use(part.name, part.input, result="done", seconds=seconds)
    return isinstance(part, APIToolUse) and part.name != "StructuredOutput"


# --- what hosts do -------------------------------------------------------------------------------


def change(asked: CanUseTool) -> PermissionResultAllow:
    return PermissionResultAllow({**asked.input, "command": "python3 -c 'print(2)'"})


def deny(asked: CanUseTool) -> PermissionResultDeny:
    return PermissionResultDeny(message="Not on my watch")


def deny_and_stop(asked: CanUseTool) -> PermissionResultDeny:
    return PermissionResultDeny(message="Not on my watch", interrupt=True)


def answer(asked: CanUseTool) -> PermissionResultAllow:
    return PermissionResultAllow({**asked.input, "answers": {"Which colour?": "Green"}})


def leave_open(asked: Any) -> None:
    """Do not answer."""


def serve_but_do_not_add(asked: McpMessage) -> Any:
    return None if asked.message["method"] == "tools/call" else serve_calculator(asked)


async def do_nothing(host: Host) -> None:
    """Only open the conversation, and close it."""


async def speak_twice(host: Host) -> None:
    await host.turn("First.", uuid="00000000-0000-4000-8000-000000000001")
    await host.turn("Second.", uuid="00000000-0000-4000-8000-000000000002")


async def change_model_and_mode(host: Host) -> None:
    await host.ask(SetModel("haiku"))
    await host.ask(SetPermissionMode("acceptEdits"))
    await host.turn("Go on.")
    await host.ask(SetPermissionMode("plan"))
    await host.ask(SetModel(None))


def is_permission(event: Event) -> bool:
    return isinstance(event, Request) and isinstance(event.body, CanUseTool)


def is_call(event: Event) -> bool:
    body = event.body if isinstance(event, Request) else None
    return isinstance(body, McpMessage) and body.message["method"] == "tools/call"


async def interrupt_while_asking(host: Host) -> None:
    await host.send(UserMessage.of("Go on."))
    await host.until(is_permission)
    await interrupt(host)


async def interrupt_call(host: Host) -> None:
    await host.send(UserMessage.of("Go on."))
    await host.until(is_call)
    await interrupt(host)


async def interrupt_command(host: Host) -> None:
    if host.folder is not None:
        os.mkfifo(host.folder / PIPE)
    await host.send(UserMessage.of("Go on."))
    await host.until(is_permission)
    if host.folder is not None:
        # Nobody writes to the pipe before the command runs.
        pipe = host.folder / PIPE
        await anyio.to_thread.run_sync(pipe.read_bytes, abandon_on_cancel=True)
    await interrupt(host)


async def interrupt(host: Host) -> None:
    await host.ask(Interrupt())
    if not any(isinstance(event, ResultMessage) for event in host.events):
        await host.until(lambda event: isinstance(event, ResultMessage))


def with_hooks(*events: str) -> Initialize:
    hooks = {event: [HookMatcher(hook_callback_ids=[f"hook-{event}"])] for event in events}
    return Initialize(hooks=hooks)


# --- the cases -----------------------------------------------------------------------------------

HELLO = "Hello, and welcome to this conversation."
THOUGHT: list[Part] = [APIThinking("Let me see."), "I see."]
COMMAND = APIToolUse("Bash", {"command": "python3 -c 'print(1)'", "description": "Print"})
ON_FILE = APIToolUse("Bash", {"command": "touch made.txt"})
HARMLESS = APIToolUse("Bash", {"command": "echo hello"})
WAIT = APIToolUse("Bash", {"command": SLOW})
WRITE = APIToolUse("Write", {"file_path": "notes.txt", "content": "A note.\n"})
ADD = APIToolUse("mcp__calc__add", {"a": 2, "b": 3})
OPTIONS = [{"label": "Red", "description": "warm"}, {"label": "Green", "description": "calm"}]
QUESTION = {"question": "Which colour?", "header": "Colour", "options": OPTIONS}
ASK = APIToolUse("AskUserQuestion", {"questions": [{**QUESTION, "multiSelect": False}]})
BAD = APIStatus(400, message="This is a bad request")
COUNTED = structured_output({"files": 2})

HOOKS = with_hooks("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
CALCULATOR = Initialize(sdk_mcp_servers=["calc"])
STREAMED = ("--include-partial-messages",)
REPLAYED = ("--replay-user-messages",)
MAY_ADD = ("--allowedTools=mcp__calc__add",)
SCHEMA = ('--json-schema={"type": "object", "properties": {"files": {"type": "integer"}}}',)
LOST = ("--resume=4f2a1b9c-0000-4000-8000-000000000000",)

CASES: dict[str, Case] = {
    "text": Case([HELLO]),
    "text, streamed": Case([HELLO], flags=STREAMED),
    "thinking": Case([THOUGHT]),
    "thinking, streamed": Case([THOUGHT], flags=STREAMED),
    "tool allowed with changed input": Case([["I shall.", COMMAND], "Done."], decide=change),
    "tool, streamed": Case([["I shall.", COMMAND], "Done."], flags=STREAMED),
    "tool denied": Case([COMMAND, "Then not."], decide=deny),
    "tool denied, turn stopped": Case([COMMAND, "Then not."], decide=deny_and_stop),
    "tool that writes a file": Case([WRITE, "Written."]),
    "command that works on a file": Case([ON_FILE, "Done."]),
    "command that only reads": Case([HARMLESS, "Done."]),
    "question answered": Case([ASK, "So be it."], decide=answer),
    "hooks": Case([COMMAND, "Done."], setup=HOOKS),
    "MCP tool": Case([ADD, "It is 5."], setup=CALCULATOR),
    "interrupt while asking": Case([COMMAND], interrupt_while_asking, decide=leave_open),
    "interrupt during a command": Case([WAIT], interrupt_command),
    "interrupt during an MCP tool": Case(
        [ADD], interrupt_call, MAY_ADD, CALCULATOR, serve=serve_but_do_not_add
    ),
    "model and mode": Case([HELLO], change_model_and_mode),
    "two turns": Case(["One.", "Two."], speak_twice),
    "two turns, streamed": Case(["One.", "Two."], speak_twice, STREAMED),
    "user messages replayed": Case([COMMAND, "One.", "Two."], speak_twice, REPLAYED),
    "too many turns": Case([COMMAND, "Done."], flags=("--max-turns=1",)),
    "API error": Case([BAD]),
    "API error, streamed": Case([BAD], flags=STREAMED),
    "API tried again": Case([APIStatus(429, retry_after=0), "At last."]),
    "structured output": Case([COUNTED], flags=SCHEMA, setup=HOOKS),
    "unknown session": Case([], do_nothing, LOST),
}
