"""The scenario of `benchmarks.soak`: ten different turns in rotation."""

from __future__ import annotations

from claudewire.testing import Chat

QUESTION = {
    "question": "Tabs or spaces?",
    "header": "Indent",
    "options": [{"label": "Tabs", "description": "wide"}, {"label": "Spaces", "description": ""}],
    "multiSelect": False,
}


MANY = 12
"""Enough to fill every buffer of a thousand entries within a thousand turns."""


async def work(chat: Chat) -> None:
    """Do what the last digit of the prompt says."""
    action = ACTIONS.get(chat.text[-1:])
    if action is not None:
        await action(chat)
    await chat.say(f"You said {chat.text}.")


async def think(chat: Chat) -> None:
    await chat.think("Let me see. " * 20)


async def use_tools(chat: Chat) -> None:
    for number in range(3):
        await chat.use("Bash", {"command": f"make step-{number}"}, result="ok\n" * 20)


async def call_the_host(chat: Chat) -> None:
    await chat.call("claudewire", "double", {"number": 21})


async def ask(chat: Chat) -> None:
    await chat.ask([QUESTION])


async def delegate(chat: Chat) -> None:
    async def help_out(helper: Chat) -> None:
        await helper.use("Read", {"file_path": "README.md"}, result="text")
        await helper.say("I have read it.")

    for number in range(MANY):
        await chat.subagent("Explore", f"Read part {number} of the README.", help_out)


async def leave_a_task(chat: Chat) -> None:
    for number in range(MANY):
        chat.start_task(f"build {number}").finish(status="stopped")
    chat.start_task("a build").finish()


async def go_on_and_on(chat: Chat) -> None:
    await chat.sleep(1_000_000)


async def fail(chat: Chat) -> None:
    await chat.fail("The API is not well.")


ACTIONS = {
    "1": think,
    "2": use_tools,
    "3": call_the_host,
    "4": ask,
    "5": delegate,
    "6": leave_a_task,
    "7": go_on_and_on,
    "8": fail,
}
