"""Prompts and their replies."""

from __future__ import annotations

import os
from typing import Any

import anyio
import anyio.to_thread
import pytest

import claudewire
import claudewire.sync
from claudewire import document, image
from claudewire.errors import TurnCancelled
from claudewire.session import Session, TurnState
from claudewire.testing.api import APIReply, APIThinking, APIUsage
from claudewire.wire import AssistantMessage, InvalidLine, Malformed, ThinkingBlock, Unknown

from .behaviour import alone, shared
from .common import ENDLESS, PNG, WAIT, bash, read_pipe, touch
from .stage import Stage

LONG_TEXT = "All work and no play makes a dull text. " * 40


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    return {**stage.handlers, "include_partial_messages": True}


@shared("A prompt has its reply", ["Hello yourself."])
async def text(stage: Stage) -> None:
    reply = await stage.ask()
    assert reply.ok
    assert reply.text == "Hello yourself."


@shared("A streamed text arrives in pieces, which make up the reply", [LONG_TEXT])
async def streamed(stage: Stage) -> None:
    turn = stage.send()
    pieces = [piece async for piece in turn.iter_text()]
    assert len(pieces) > 5
    assert "".join(pieces) == (await turn).text == LONG_TEXT


@shared("Without iterating, an unread turn delays nothing", {"a": [LONG_TEXT], "b": ["Second."]})
async def unread(stage: Stage) -> None:
    first, second = stage.send("a"), stage.send("b")
    assert (await second).text == "Second."
    assert (await first).text == LONG_TEXT


@shared(
    "Leaving the iteration early leaves the turn as it is", {"a": [LONG_TEXT], "b": ["Second."]}
)
async def left_early(stage: Stage) -> None:
    turn = stage.send("a")
    async for _ in turn:
        break
    assert (await stage.ask("b")).text == "Second."
    assert (await turn).text == LONG_TEXT


@shared("A turn can be read again from its beginning", [LONG_TEXT])
async def read_again(stage: Stage) -> None:
    turn = stage.send()
    await turn
    for _ in range(2):
        assert "".join([piece async for piece in turn.reader().iter_text()]) == LONG_TEXT


@shared("Thinking is a block of its own", [[APIThinking("Because of this."), "Because."]])
async def thinking(stage: Stage) -> None:
    reply = await stage.ask()
    thoughts = [it.thinking for it in reply.blocks if isinstance(it, ThinkingBlock)]
    assert thoughts == ["Because of this."]
    assert reply.text == "Because."


@shared(
    "Prompts that are sent together each have their own reply, in order",
    {key: [f"Reply {key}."] for key in "abcd"},
)
async def queued(stage: Stage) -> None:
    turns = [stage.send(key) for key in "abcd"]
    assert [(await turn).text for turn in turns] == [f"Reply {key}." for key in "abcd"]


@shared(
    "A queued prompt that is withdrawn never reaches the model",
    {"a": [ENDLESS, "First."], "b": ["Never."], "c": ["Third."]},
)
async def withdrawn(stage: Stage) -> None:
    first, second, third = (stage.send(key) for key in "abc")
    async for _ in first.iter_text():
        break
    assert await second.cancel()
    await first.interrupt()
    assert (await third).text == "Third."
    assert second.state is TurnState.CANCELLED
    assert not any(stage.prompt("b") in turn.prompt for turn in stage.turns)


@shared(
    "Tokens and costs are those of the reply", [APIReply("Hi.", usage=APIUsage(input_tokens=1234))]
)
async def usage(stage: Stage) -> None:
    reply = await stage.ask()
    assert reply.usage is not None
    assert reply.usage.input_tokens == 1234
    assert reply.cost_usd is not None
    assert reply.duration is not None


@shared("All turns of a session have its id", ["One.", "Two."])
async def session_id(stage: Stage) -> None:
    first, second = await stage.ask(), await stage.ask()
    assert first.session_id == second.session_id == stage.session.session_id is not None


@shared("Images and documents reach the model")
async def pictures(stage: Stage) -> None:
    notes = document(b"Some notes", title="Notes")
    reply = await stage.session.send([f"{stage.prompt()} Look", image(PNG), notes])
    assert reply.ok
    content = stage.turns[0].messages
    kinds = [
        block["type"]
        for message in content
        if isinstance(message["content"], list)
        for block in message["content"]
    ]
    assert {"image", "document"} <= {*kinds}


@shared("A prompt of 100,000 characters arrives whole", ["That was long."])
async def long_prompt(stage: Stage) -> None:
    words = "0123456789abcde " * 6_250
    assert (await stage.session.send(f"{words}{stage.prompt()}")).text == "That was long."
    assert any(words in prompt for prompt in stage.turns[-1].prompts)


@shared("Any text arrives unchanged", ["Understood."])
async def strange_prompt(stage: Stage) -> None:
    strange = 'Zoë\u2028\u2029\x85 “日本語” 👩‍👩‍👧 \\n "quoted" \t {json} </system>'
    reply = await stage.session.send(f"{stage.prompt()} {strange} end")
    assert reply.text == "Understood."
    assert strange in stage.turns[-1].prompt


@shared("A long reply without streaming arrives whole", [LONG_TEXT * 50])
async def long_reply(stage: Stage) -> None:
    assert (await stage.ask()).text == LONG_TEXT * 50


@shared("Uses of tools and their results are in the turn", [["I shall.", touch("used")], "Done."])
async def tool_use(stage: Stage) -> None:
    turn = stage.send()
    reply = await turn
    assert [it.name for it in reply.tool_uses] == ["Bash"]
    assert any(isinstance(it, AssistantMessage) for it in turn.messages)
    assert stage.has("used")


@shared("Two tools in one message both run", [[touch("one"), touch("two")], "Both."])
async def two_tools(stage: Stage) -> None:
    assert (await stage.ask()).text == "Both."
    assert stage.has("one")
    assert stage.has("two")
    assert len(stage.results) == 2


@shared("Several tools, one after the other, are one turn", [touch("s1"), touch("s2"), "Done."])
async def steps(stage: Stage) -> None:
    assert (await stage.ask()).text == "Done."
    assert stage.has("s2")
    assert len(stage.turns) == 3


@shared("The output of a command reaches the model", [bash("python3 -c 'print(6*7)'"), "Done."])
async def command_output(stage: Stage) -> None:
    await stage.ask()
    assert stage.told == ["42"]


@shared("A failing command is an error for the model alone", [bash("python3 -c 'exit(3)'"), "Oh."])
async def command_fails(stage: Stage) -> None:
    reply = await stage.ask()
    assert reply.ok
    assert stage.results[0]["is_error"] is True


@shared("The session knows the model, the folder and the tools of the CLI", ["Done."])
async def described(stage: Stage) -> None:
    await stage.ask()
    init = stage.session.init_message
    assert init is not None
    assert init.cwd == str(stage.cage.work)
    assert init.model
    assert "Bash" in (init.tools or ())


@shared("The answer to `initialize` lists commands and output styles")
async def info(stage: Stage) -> None:
    info = stage.session.cli_info
    assert info is not None
    assert info.commands
    assert info.available_output_styles


@shared("Everything that the CLI writes is understood", [touch("seen"), "Done."])
async def understood(stage: Stage) -> None:
    with stage.session.events() as events:
        await stage.ask()
        seen = events.take()
    assert seen
    assert not [it for it in seen if isinstance(it, Malformed | InvalidLine | Unknown)]
    assert not [
        it for it in stage.session.notices if isinstance(it, Malformed | InvalidLine | Unknown)
    ]


@shared(
    "What was told is known to the next prompt, which has its own reply",
    {"a": ["First."], "b": ["Second."]},
    tags=frozenset({"merge"}),
)
async def told_before(stage: Stage) -> None:
    for told, key, reply in (("It rains", "a", "First."), ("It snows", "b", "Second.")):
        stage.session.add_context(told)
        assert (await stage.ask(key)).text == reply
        assert told in str(stage.turns[-1].messages)
    assert len(stage.turns) == 2


@shared("What was told several times before one prompt is all there", ["All of it."])
async def told_thrice(stage: Stage) -> None:
    for word in ("It rains", "It pours", "It drips"):
        stage.session.add_context(word)
    assert (await stage.ask()).text == "All of it."
    seen = str(stage.turns[-1].messages)
    assert all(word in seen for word in ("It rains", "It pours", "It drips"))


@shared("What was told is no command, though it begins like one", {"a": ["One."], "b": ["Two."]})
async def told_commands(stage: Stage) -> None:
    await stage.ask("a")
    told = ("/clear", "/tmp/build.log has the errors", "Really")
    for words in told:
        stage.session.add_context(words)
    assert (await stage.ask("b")).text == "Two."
    seen = str(stage.turns[-1].messages)
    assert all(words in seen for words in (*told, stage.prompt("a")))


@shared(
    "What was told is known although an interrupt drops the prompts behind it",
    {"a": [WAIT], "b": ["Dropped."], "c": ["Three."]},
)
async def told_and_interrupted(stage: Stage) -> None:
    running = stage.send("a")
    await stage.shell()
    stage.session.add_context("It hails")
    dropped = stage.send("b")
    await stage.session.interrupt(queued="cancel")
    assert not (await running).ok
    with pytest.raises(TurnCancelled):
        await dropped
    assert (await stage.ask("c")).text == "Three."
    assert "It hails" in str(stage.turns[-1].messages)


@shared(
    "A prompt with a priority that the CLI takes into the running turn ends with it",
    {"a": [read_pipe("pipe-merged"), "One."], "b": ["Two."], "c": ["Three."]},
    tags=frozenset({"merge"}),
)
async def merged(stage: Stage) -> None:
    pipe = stage.cage.work / "pipe-merged"
    if not pipe.exists():
        os.mkfifo(pipe)
    first = stage.send("a")
    await stage.shell()
    second = stage.send("b", priority="next")
    await anyio.to_thread.run_sync(pipe.write_text, "go\n", "utf-8")
    assert (await first).ok
    assert (await second).ok
    assert (await stage.ask("c")).text == "Three."


@shared(
    "Prompts with a priority that the CLI takes up together, after an interrupt, all end",
    {"a": [WAIT], "b": ["Two."], "c": ["Three."], "d": ["Four."]},
    tags=frozenset({"merge"}),
)
async def taken_together(stage: Stage) -> None:
    first = stage.send("a")
    await stage.shell()
    others = [stage.send(key, priority="next") for key in ("b", "c")]
    await stage.session.interrupt()
    assert not (await first).ok
    for turn in others:
        assert (await turn).text in ("Two.", "Three.")
    assert (await stage.ask("d")).text == "Four."


@shared(
    "A turn that a prompt with the priority `now` stops is not a success",
    {"a": [APIReply(LONG_TEXT, delay=0.05)], "b": ["Two."]},
    tags=frozenset({"merge"}),
)
async def stopped_by_another(stage: Stage) -> None:
    first = stage.send("a")
    await first.started.wait()
    second = stage.send("b", priority="now")
    reply = await first
    assert reply.ok is (reply.text == LONG_TEXT)
    assert (await second).text == "Two."


@shared(
    "A prompt with the priority `later` has its own reply",
    {"a": [LONG_TEXT], "b": ["Second."]},
    tags=frozenset({"merge"}),
)
async def later(stage: Stage) -> None:
    first, second = stage.send("a"), stage.send("b", priority="later")
    assert (await first).text == LONG_TEXT
    assert (await second).text == "Second."


@shared("`/compact` summarises the conversation, which goes on", ["Goes on."], deviates=frozenset())
async def compact(stage: Stage) -> None:
    reply = await stage.session.send("/compact")
    assert reply.ok
    assert (await stage.ask()).text == "Goes on."


@alone("`run` gives the reply of a single prompt, and leaves nothing", ["Just this."])
async def run_once(stage: Stage) -> None:
    reply = await claudewire.run(f"{stage.prompt()} Go on.", stage.options())
    assert reply.text == "Just this."


@alone("The same without async", ["Just this."])
async def run_sync(stage: Stage) -> None:
    def work() -> str:
        with claudewire.sync.open(stage.options()) as claude:
            return claude.ask(f"{stage.prompt()} Go on.").text

    assert await anyio.to_thread.run_sync(work) == "Just this."


@alone("A prompt that is sent before the CLI has started is its first", ["Early."])
async def early(stage: Stage) -> None:
    async with Session(stage.options()) as session:
        assert (await session.send(f"{stage.prompt()} Go on.")).text == "Early."


@alone(
    "`max_turns` ends a turn that calls the model too often",
    [touch("many"), touch("more"), touch("most"), "Done."],
)
async def max_turns(stage: Stage) -> None:
    async with stage.open(max_turns=2, allowed_tools=["Bash"]):
        reply = await stage.ask()
        assert not reply.ok
        assert reply.error is not None
        assert not stage.has("most")
        assert (await stage.session.send("Hello")).ok


@alone("Prompts are reported when they have been taken up", ["Done."])
async def replayed(stage: Stage) -> None:
    async with stage.open(replay_user_messages=True) as session:
        with session.events() as events:
            assert (await stage.ask()).ok
            assert any(getattr(event, "is_replay", None) for event in events.take())
