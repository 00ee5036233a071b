"""The model in the end-to-end tests and the examples of the official Python SDK.

Their prompts ask for it in words. Files are really written, below the working directory.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from claudewire.simulator import Chat, Script

script = Script()

OUTPUTS: dict[str, Any] = {
    "python files": {"file_count": 3, "has_tests": True},
    "analyze this text": {
        "analysis": {"word_count": 2, "character_count": 11},
        "words": ["Hello", "world"],
    },
    "test framework": {"test_framework": "pytest", "has_tests": True, "test_count": 7},
    "readme file. use tools": {"file_count": 4, "has_readme": True},
}
SUMS = {
    "15 + 27": [("add", {"a": 15, "b": 27})],
    "100 divided": [("divide", {"a": 100, "b": 7})],
    "square root": [("sqrt", {"n": 144})],
    "the power": [("power", {"base": 2, "exponent": 8})],
    "(12 + 8)": [("add", {"a": 12, "b": 8}), ("multiply", {"a": 20, "b": 3})],
}


def write(chat: Chat, given: dict[str, Any]) -> str:
    Path(chat.session.cwd, given["file_path"]).write_text(given["content"], encoding="utf-8")
    return f"File created successfully at: {given['file_path']}"


async def use_write(chat: Chat, path: str, content: str) -> None:
    given = {"file_path": path, "content": content}
    outcome = await chat.use("Write", given, run=lambda it: write(chat, it))
    await chat.say(f"I was told: {outcome.text}")


@script.on(re.compile("Use the Agent tool|Use the [a-z-]+ agent", re.IGNORECASE))
async def delegate(chat: Chat) -> None:
    async def greet(child: Chat) -> None:
        await child.say("Hello there, my friend!")

    named = re.search(r"subagent_type '(.*?)'|Use the ([a-z-]+) agent", chat.text)
    assert named is not None
    await chat.subagent(named[1] or named[2], "say hi", greet, description="Greet")
    await chat.say("DONE")


@script.on("first use the greet tool")
async def greet_then_echo(chat: Chat) -> None:
    await chat.call("test", "greet", {"name": "Alice"})
    await chat.call("test", "echo", {"text": "test"})
    await chat.say("Done.")


@script.on(re.compile("mcp__(test|multi|noperm)__echo", re.IGNORECASE))
async def call_tools(chat: Chat) -> None:
    for server, tool in re.findall(r"mcp__(\w+?)__(\w+)", chat.text):
        given = {"text": "test"} if tool == "echo" else {"name": "Bob"}
        await chat.call(server, tool, given)
    await chat.say("Done.")


@script.on(re.compile(r"please do the following:\n", re.IGNORECASE))
async def three_steps(chat: Chat) -> None:
    await chat.use("Bash", {"command": "ls"}, result="README.md")
    await use_write(chat, "hello.py", "print('Hello')\n")
    await chat.use("Bash", {"command": "python hello.py"}, result="Hello")
    await chat.say("It works.")


@script.on(re.compile("write|create a .*file|create the file", re.IGNORECASE))
async def create(chat: Chat) -> None:
    named = re.search(r"(?:at|called|file|named?) (\S+\.\w+)|(\S+\.txt)", chat.text)
    assert named is not None
    await use_write(chat, (named[1] or named[2]).strip("'\"."), "Hello, World!\n")


@script.on(re.compile("run|bash", re.IGNORECASE))
async def shell(chat: Chat) -> None:
    command = re.search(r"(?:command|Run): (.*)", chat.text)
    given = command[1] if command else "echo 'Hello from bash!'"
    outcome = await chat.use("Bash", {"command": given}, result=given.removeprefix("echo "))
    await chat.say(f"It said: {outcome.text}")


@script.on("slowly")
async def count(chat: Chat) -> None:
    for number in range(1, 101):
        await chat.say(f"{number}")
        await chat.sleep(60)


@script.on(re.compile("read the readme", re.IGNORECASE))
async def read(chat: Chat) -> None:
    await chat.use("Read", {"file_path": "README.md"}, result="# A project")
    await chat.say("It is a project.")


@script.on(re.compile("think|sequence", re.IGNORECASE))
async def think(chat: Chat) -> None:
    await chat.think("I have to think about it: 2 and 2 are four.")
    await chat.say("Four, that is no joke.")


@script.on("")
async def answer(chat: Chat) -> None:
    if "nonexistent" in chat.session.model:
        await chat.fail(f"model: {chat.session.model}", status=404)
    asked = chat.text.lower()
    for words, output in OUTPUTS.items():
        if words in asked:
            await chat.use("Bash", {"command": "ls"}, result="README.md")
            chat.output(output)
            return
    for words, calls in SUMS.items():
        if words in asked and "calc" in chat.session.mcp_tools:
            for tool, given in calls:
                await chat.call("calc", tool, given)
    await chat.say(f"You said: {chat.text}")
