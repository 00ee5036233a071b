"""Scenarios for the tests of the command: what the simulated agent does, by the prompt."""

from __future__ import annotations

from pathlib import Path

from tests.cli.hostile import HOSTILE

from claudewire.testing import Chat

__all__ = ["SCENES", "scene"]

SCENES = f"{Path(__file__).resolve()}:scene"
"""What `CLAUDEWIRE_SIM_SCENARIO` has to be."""

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


async def scene(chat: Chat) -> None:
    """Do what the first word of the prompt names."""
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
    input = {"file_path": "notes.md", "old_string": "old words", "new_string": "new words"}
    outcome = await chat.use("Edit", input)
    await chat.say(f"Allowed: {outcome.allowed}.")


async def _ask(chat: Chat, rest: str) -> None:
    outcome = await chat.ask([QUESTION])
    await chat.say(f"Answers: {outcome.input.get('answers')}")


async def _plan(chat: Chat, rest: str) -> None:
    outcome = await chat.plan("## The plan\n\n1. **Read** the code\n2. Change `it`\n")
    await chat.say(f"Plan: {outcome.allowed}. {outcome.text}")


async def _form(chat: Chat, rest: str) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Your name"},
            "age": {"type": "integer", "title": "Your age", "minimum": 0},
            "colour": {"type": "string", "enum": ["red", "green"], "title": "Colour"},
        },
        "required": ["name"],
    }
    result = await chat.elicit("registry", "Who are you?", schema)
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
    await chat.say(
        "# A heading\n\nSome **bold** words and `code`, in a paragraph that is long enough to be "
        "wrapped in a window of any size.\n\n- an item\n- another\n\n"
        "```python\nprint('hello')\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    )


async def _fail(chat: Chat, rest: str) -> None:
    await chat.fail("The request is not valid", status=400)


async def _limit(chat: Chat, rest: str) -> None:
    await chat.fail("You've hit your session limit · resets 3pm", status=429)


async def _turns(chat: Chat, rest: str) -> None:
    await chat.say("Too much to do.")
    chat.reach_max_turns()


async def _budget(chat: Chat, rest: str) -> None:
    await chat.say("Too expensive.")
    chat.exhaust_budget()


async def _silent(chat: Chat, rest: str) -> None:
    await chat.sleep(600)


async def _output(chat: Chat, rest: str) -> None:
    chat.output({"total": 3})


async def _busy(chat: Chat, rest: str) -> None:
    await chat.retry(attempt=2, status=529)
    await chat.compact()
    await chat.say("Done after a while.")


async def _hostile(chat: Chat, rest: str) -> None:
    await _everywhere(chat, HOSTILE)


async def _harmless(chat: Chat, rest: str) -> None:
    await _everywhere(chat, tuple(f"word {number}" for number in range(len(HOSTILE))))


async def _everywhere(chat: Chat, texts: tuple[str, ...]) -> None:
    """Put the texts wherever a command shows something from elsewhere."""
    texts = tuple(text.encode("utf-8", "replace").decode() for text in texts)
    for text in texts:
        await chat.say(f"# {text}\n- {text}\n")
    await chat.say("```python\n" + "\n".join(texts) + "\n```\n")
    command = "\n".join(texts)
    await chat.use("Bash", {"command": command, "description": texts[0]}, result=command)
    options = [{"label": text[:40], "description": text} for text in texts[:40]]
    question = {"question": command, "header": "H", "options": options, "multiSelect": False}
    await chat.ask([question])
    await chat.plan(command)
    properties = {
        f"field {command}": {"type": "string", "title": command, "description": command},
    }
    await chat.elicit(f"server {texts[0]}", command, {"type": "object", "properties": properties})


async def _background(chat: Chat, rest: str) -> None:
    if not chat.text:
        await chat.say("The build is done.")
        return
    task = chat.start_task("a long build")
    await chat.say("It is being built.")
    task.finish("built")


_SCENES = {
    "background": _background,
    "": _background,
    "hostile": _hostile,
    "harmless": _harmless,
    "fail": _fail,
    "limit": _limit,
    "turns": _turns,
    "budget": _budget,
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
