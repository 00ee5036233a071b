"""The scenario for the clients of the documents: a prompt is `client:FLOW`."""

from __future__ import annotations

from claudewire.simulator import Chat, Script

script = Script()


@script.on("client:streaming")
async def stream(chat: Chat) -> None:
    await chat.say("Hello, streamed world, in several pieces.")


@script.on("client:thinking")
async def think(chat: Chat) -> None:
    await chat.think("Let me see.")
    await chat.say("I have thought about it.")


@script.on("client:tool_use")
async def use_tool(chat: Chat) -> None:
    await chat.use("Read", {"file_path": "a.txt"}, result="the contents")
    await chat.say("I have read it.")


async def ask(chat: Chat) -> None:
    outcome = await chat.use("Bash", {"command": "rm -r build"}, result="done")
    await chat.say(f"The tool said: {outcome.text}")


for _name in ("allow", "deny", "remember"):
    script.on(f"client:permission_{_name}")(ask)


async def question(chat: Chat, multi: bool) -> None:
    options = [{"label": name, "description": f"Choose {name}"} for name in ("Red", "Green")]
    asked = {"question": "Which colour?", "header": "Colour", "options": options}
    outcome = await chat.ask([{**asked, "multiSelect": multi}])
    await chat.say(outcome.text)


@script.on("client:question_single")
async def single(chat: Chat) -> None:
    await question(chat, False)


@script.on("client:question_multi")
async def several(chat: Chat) -> None:
    await question(chat, True)


@script.on("client:mcp")
async def call(chat: Chat) -> None:
    outcome = await chat.call("calc", "add", {"a": 2, "b": 3})
    await chat.say(f"The sum is {outcome.text}.")


@script.on("client:interrupt")
async def work(chat: Chat) -> None:
    await chat.say("working")
    await chat.sleep(3600)


@script.on("client:error")
async def fail(chat: Chat) -> None:
    if chat.session.env.get("CLAUDEWIRE_SIM_DIALECT") == "modern":
        chat.reach_max_turns()
    await chat.fail("it failed")


@script.on("")
async def say(chat: Chat) -> None:
    await chat.say(f"You said {chat.text}.")
