"""Scenarios for the tests of the command: the first word of the prompt names one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from claudewire.testing import Chat

SCENES = f"{Path(__file__).resolve()}:scene"
"""The value of `CLAUDEWIRE_SIM_SCENARIO`."""

QUESTION = {
    "question": "Which sizes?",
    "header": "Sizes",
    "options": [
        {"label": "Small", "description": "fits a pocket"},
        {"label": "Medium", "description": "fits a bag"},
        {"label": "Large", "description": "fits a car"},
    ],
    "multiSelect": True,
}

FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name"},
        "age": {"type": "integer", "title": "Your age", "minimum": 0},
        "colour": {"type": "string", "enum": ["red", "green"], "title": "Colour"},
    },
    "required": ["name"],
}

MARKDOWN = """\
# A heading

Some **bold** words and `code`, in a paragraph that is long enough to be wrapped in a window
of any size.

- an item
- another

```python
print('hello')
```

| a | b |
|---|---|
| 1 | 2 |
"""


async def scene(chat: Chat) -> None:
    word, _, rest = chat.text.partition(" ")
    await _SCENES.get(word, _say)(chat, rest)


async def _say(chat: Chat, rest: str) -> None:
    await chat.say(f"You said: {chat.text}")


async def _shell(chat: Chat, command: str) -> None:
    await chat.say("I'll run it.")
    outcome = await chat.use("Bash", {"command": command}, run=lambda it: f"ran {it['command']}")
    await chat.say(f"Allowed: {outcome.allowed}. {outcome.text}.")


async def _twice(chat: Chat, command: str) -> None:
    await _shell(chat, command)
    await _shell(chat, command)


async def _edit(chat: Chat, rest: str) -> None:
    input = {"file_path": "notes.md", "old_string": "Frogs jump", "new_string": "Toads walk"}
    outcome = await chat.use("Edit", input)
    await chat.say(f"Allowed: {outcome.allowed}.")


async def _ask(chat: Chat, rest: str) -> None:
    outcome = await chat.ask([QUESTION])
    await chat.say(f"Answers: {outcome.input.get('answers')}")


async def _plan(chat: Chat, rest: str) -> None:
    outcome = await chat.plan("## The plan\n\n1. **Read** the code\n2. Change `it`\n")
    await chat.say(f"Plan: {outcome.allowed}. {outcome.text}")


async def _form(chat: Chat, rest: str) -> None:
    result = await chat.elicit("registry", "Who are you?", FORM)
    await chat.say(f"Form: {result.action} {result.content}")


async def _wait(chat: Chat, rest: str) -> None:
    await chat.say("Waiting now.")
    await chat.use("Read", {"file_path": "slow.txt"}, result="ok", seconds=600)


async def _agents(chat: Chat, rest: str) -> None:
    async def work(child: Chat) -> None:
        await child.use("Read", {"file_path": "inner.py"}, result="x = 1")
        await child.say("Found it.")

    await chat.subagent("Explore", "Look into it", work)
    await chat.say("The subagent is done.")


async def _markdown(chat: Chat, rest: str) -> None:
    await chat.say(MARKDOWN)


async def _fail(chat: Chat, status: str) -> None:
    messages = {"429": "You've hit your session limit · resets 3pm", "401": "Invalid API key"}
    text = messages.get(status, "The request is not valid")
    await chat.fail(text, status=int(status or 400))


async def _steps(chat: Chat, rest: str) -> None:
    await chat.say("Too much to do.")
    chat.reach_max_turns()


async def _money(chat: Chat, rest: str) -> None:
    await chat.say("Too expensive.")
    chat.exhaust_budget()


async def _silent(chat: Chat, rest: str) -> None:
    await chat.sleep(600)


async def _output(chat: Chat, rest: str) -> None:
    chat.output({"total": 3})


async def _busy(chat: Chat, rest: str) -> None:
    await chat.retry(529)
    await chat.compact()
    await chat.say("Done after a while.")


async def _background(chat: Chat, rest: str) -> None:
    if not chat.text:
        await chat.say("The build is done.")
        return
    task = chat.start_task("a long build")
    await chat.say("It is being built.")
    task.finish("built")


_SCENES: dict[str, Callable[[Chat, str], Awaitable[None]]] = {
    "": _background,
    "background": _background,
    "fail": _fail,
    "steps": _steps,
    "money": _money,
    "silent": _silent,
    "output": _output,
    "busy": _busy,
    "shell": _shell,
    "twice": _twice,
    "edit": _edit,
    "ask": _ask,
    "plan": _plan,
    "form": _form,
    "wait": _wait,
    "agents": _agents,
    "markdown": _markdown,
}
