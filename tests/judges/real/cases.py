"""The conversations in which the real and the simulated CLI are compared.

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

from claudewire.simulator import Chat, Scenario, ToolCall
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
    HookOutput,
    HumanOrigin,
    Initialize,
    Interrupt,
    McpMessage,
    MessageParam,
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
"""A command that reports its start through a named pipe, and then sleeps."""

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
        hook: answers for the hooks.
    """

    replies: Sequence[LooseReply]
    drive: Drive = lambda host: host.turn("Go on.")
    flags: Sequence[str] = ()
    setup: Initialize = field(default_factory=Initialize)
    decide: Reaction = lambda asked: PermissionResultAllow(asked.input)
    serve: Reaction = serve_calculator
    hook: Reaction = lambda asked: HookOutput()

    def script(self) -> APIScript:
        """Return the replies of the Messages API to the real CLI."""
        script = APIScript.of(list(self.replies))
        return script.on(AGENT_PROMPT, *AGENT_REPLIES)

    def scenario(self) -> Scenario:
        """Return the scenario of the simulated CLI."""
        steps = [as_step(reply) for reply in self.replies]

        async def play(chat: Chat) -> None:
            while await _play(chat, steps.pop(0)):
                pass

        return play


async def _play(chat: Chat, step: Step) -> bool:
    """Let the simulated model answer once; tell whether it will be called again."""
    if isinstance(step, APIReply):
        if len(step.parts) > 1 and all(isinstance(part, APIToolUse) for part in step.parts):
            await chat.use_all(*(_call(part) for part in step.parts))
            return True
        return any([await _play_part(chat, part) for part in step.parts])
    if step.retry_after is None:
        await chat.fail(step.message, status=step.status)
    await chat.retry(status=step.status, message=step.message)
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
    elif part.name == "Agent":
        await _play_agent(chat, part)
    else:
        await chat.use_all(_call(part))
    return isinstance(part, APIToolUse) and part.name != "StructuredOutput"


def _call(part: Part) -> ToolCall:
    assert isinstance(part, APIToolUse)
    name, seconds = part.name, LONG if part.input.get("command") == SLOW else 0

    def run(given: dict[str, Any]) -> str:
        return RESULTS[given.get("command", name)]

    return ToolCall(name, part.input, None if name.startswith("mcp__") else run, seconds=seconds)


async def _play_agent(chat: Chat, part: APIToolUse) -> None:
    async def work(child: Chat) -> None:
        for reply in AGENT_REPLIES:
            await _play(child, as_step(reply))

    given = part.input
    await chat.subagent(
        given["subagent_type"], given["prompt"], work, description=given["description"]
    )


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


async def speak_again(host: Host, *prompts: str) -> None:
    for prompt in ("Hello.", *prompts):
        await host.turn(prompt)


def then(*prompts: str) -> Drive:
    return lambda host: speak_again(host, *prompts)


async def leave_a_note(host: Host) -> None:
    await host.send(UserMessage(message=MessageParam("user", "By the way."), should_query=False))
    await host.send(UserMessage(message=MessageParam("user", "Go on."), origin=HumanOrigin()))
    await host.until(lambda event: isinstance(event, ResultMessage) and bool(event.result))


def block_once(asked: Any) -> HookOutput:
    """Do not let the agent stop, the first time."""
    if getattr(asked.input, "stop_hook_active", True):
        return HookOutput()
    return HookOutput(decision="block", reason="One more thing.")


def deny_by_hook(asked: Any) -> HookOutput:
    return HookOutput(decision="block", reason="Not this.")


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
THREE = APIToolUse("Bash", {"command": "python3 -c 'print(3)'"})
NONSENSE = APIToolUse("Nonsense", {"a": 1})

AGENT_PROMPT = "Look around."
AGENT_REPLIES: list[LooseReply] = [["I look.", COMMAND], "I saw it."]
AGENT = APIToolUse(
    "Agent",
    {
        "description": "Look",
        "prompt": AGENT_PROMPT,
        "subagent_type": "general-purpose",
        "run_in_background": False,
    },
)

RESULTS = {
    "python3 -c 'print(1)'": "1",
    "python3 -c 'print(2)'": "2",
    "python3 -c 'print(3)'": "3",
    "touch made.txt": "",
    "echo hello": "hello",
    "Write": (
        "File created successfully at: notes.txt "
        "(file state is current in your context — no need to Read it back)"
    ),
}
"""The real results of tools, by command or name."""


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
    "structured output in one turn": Case([COUNTED], flags=(*SCHEMA, "--max-turns=1")),
    "budget spent by the last answer": Case([HELLO], flags=("--max-budget-usd=0.0001",)),
    "subagent": Case([AGENT, "Done."]),
    "subagent, text forwarded": Case([AGENT, "Done."], flags=("--forward-subagent-text",)),
    "two tools at once": Case([[COMMAND, THREE], "Both."]),
    "tool that does not exist": Case([NONSENSE, "Oh."]),
    "tool that is disallowed": Case([COMMAND, "Oh."], flags=("--disallowedTools=Bash",)),
    "tool that a rule allows": Case([COMMAND, "Done."], flags=("--allowedTools=Bash",)),
    "tool that is denied unasked": Case([COMMAND, "Oh."], flags=("--permission-mode=dontAsk",)),
    "tool that a hook denies": Case(
        [COMMAND, "Oh."], setup=with_hooks("PreToolUse"), hook=deny_by_hook
    ),
    "prompt that a hook blocks": Case(
        [HELLO], setup=with_hooks("UserPromptSubmit"), hook=deny_by_hook
    ),
    "end that a hook blocks": Case(["One.", "Two."], setup=with_hooks("Stop"), hook=block_once),
    "conversation cleared": Case(["One.", "Two."], then("/clear", "Again.")),
    "conversation compacted": Case(["One.", "In short."], then("/compact")),
    "cost asked for": Case(["One."], then("/cost")),
    "context asked for": Case(["One."], then("/context")),
    "command for a terminal": Case(["One."], then("/help me")),
    "command that does not exist": Case(["One.", "Two."], then("/nonsense now")),
    "note and a person's prompt": Case(["One."], leave_a_note),
    "three turns": Case(["One.", COMMAND, "Two.", THOUGHT], then("Again.", "Think.")),
}
