"""The scenario of the simulated CLI for the official SDKs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claudewire.simulator import Chat, Script

script = Script()

QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "as a tomato"},
        {"label": "Green", "description": "as grass"},
    ],
    "multiSelect": False,
}


def shell(input: dict[str, Any]) -> str:
    return f"ran: {input['command']}"


@script.on("think")
async def think(chat: Chat) -> None:
    await chat.think("Let me see.")
    await chat.say("I have thought about it for a while.")


@script.on("shell")
async def use_shell(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "rm -rf build"}, run=shell)
    await chat.say(f"The tool said: {outcome.text}")


@script.on("slow")
async def use_slow_tool(chat: Chat) -> None:
    await chat.use("Bash", {"command": "make all"}, seconds=60)
    await chat.say("Nobody has stopped me.")


@script.on("write")
async def write(chat: Chat) -> None:
    outcome = await chat.use("Write", {"file_path": "a.txt", "content": "a"}, result="Written.")
    await chat.say(f"{outcome.text} I am {chat.session.model}.")


@script.on("colour")
async def ask(chat: Chat) -> None:
    outcome = await chat.ask([QUESTION])
    await chat.say(f"I was told: {outcome.text}")


@script.on("add")
async def add(chat: Chat) -> None:
    outcome = await chat.call("calc", "add", {"a": 2, "b": 3})
    await chat.say(f"The sum is {outcome.text}.")


@script.on("what did i say")
async def recall(chat: Chat) -> None:
    said = [entry["text"] for entry in chat.session.history if entry["type"] == "user"]
    await chat.say(" | ".join(said))


@script.on("delegate")
async def delegate(chat: Chat) -> None:
    apart = "apart" in chat.text
    await chat.subagent("Explore", "Look around.", greet, description="Look", background=apart)
    await chat.say("I have asked somebody else.")


@script.on("put")
async def put(chat: Chat) -> None:
    def write(given: dict[str, Any]) -> str:
        path = Path(chat.session.cwd, given["file_path"])
        path.write_text(given["content"], encoding="utf-8")
        return "Written."

    await chat.use("Write", {"file_path": "put.txt", "content": chat.text}, run=write)
    await chat.say("It is there.")


@script.on("echo")
async def call_echo(chat: Chat) -> None:
    outcome = await chat.call("ext", "echo", {"text": "from outside"})
    await chat.say(f"It said: {outcome.text}")


@script.on("break down")
async def fail(chat: Chat) -> None:
    await chat.fail("Overloaded", status=529)


@script.on("count it")
async def structured(chat: Chat) -> None:
    chat.output({"files": 2})


@script.on("repeat")
async def repeat(chat: Chat) -> None:
    await chat.say(chat.text)


@script.on("")
async def greet(chat: Chat) -> None:
    await chat.say("Hello to you.")
