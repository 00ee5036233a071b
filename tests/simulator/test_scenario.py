"""Scenarios made of rules, and scenarios in files: every verb, and every mistake with its place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    calculator,
    hook_inputs,
    hooks_say,
    kinds,
    only,
    said,
    told,
)
from trio.testing import MockClock

from claudewire.simulator import (
    Chat,
    Script,
    ScriptError,
    SimulatedCLI,
    load_scenario,
    script_from_toml,
)
from claudewire.wire import (
    APIRetryMessage,
    AssistantMessage,
    CanUseTool,
    CompactBoundaryMessage,
    Elicitation,
    ElicitationResult,
    HookMatcher,
    HookOutput,
    McpMessage,
    NotificationHookSpecificOutput,
    PermissionResultAllow,
    ResultMessage,
    TaskNotificationMessage,
    TaskStartedMessage,
    ThinkingBlock,
    ToolUseBlock,
    UnknownMessage,
)

pytestmark = pytest.mark.anyio


REPORT = ', { say = "{result}" }'
SERVE: dict[type, Any] = {CanUseTool: allow, McpMessage: calculator}


async def turn(steps: str, prompt: str = "go", serve: Any = None, **fields: Any) -> list[Any]:
    """Play the steps of a file."""
    script = script_from_toml(f"[[turn]]\nsteps = [{steps}]")
    talk = Talk(SimulatedCLI(script), {**SERVE, **(serve or {})}, **fields)
    return await talk.turn(prompt)


# --- rules ----------------------------------------------------------------------------------------


async def test_the_first_rule_that_matches_is_played() -> None:
    script = Script(default="Nothing about {prompt}.")

    @script.on("weather")
    async def _(chat: Chat) -> None:
        await chat.say("It is sunny.")

    @script.on(re.compile(r"^\d+$"))
    async def _(chat: Chat) -> None:
        await chat.say(f"Twice that is {2 * int(chat.text)}.")

    @script.on("the weather in Rome")
    async def _(chat: Chat) -> None:
        await chat.say("This is never said.")

    talk = Talk(SimulatedCLI(script))
    assert said(await talk.turn("How is THE WEATHER in Rome?")) == ["It is sunny."]
    assert said(await talk.turn("21")) == ["Twice that is 42."]
    assert said(await talk.turn("21 times")) == ["Nothing about 21 times."]


async def test_plain_words_are_no_pattern() -> None:
    script = Script()

    @script.on("a.c")
    async def abc(chat: Chat) -> None:
        await chat.say("found")

    talk = Talk(SimulatedCLI(script))
    assert said(await talk.turn("A.C")) == ["found"]
    assert said(await talk.turn("abc")) == ["This simulation has nothing to say to that: abc"]
    assert await script_name(abc) == "abc"


async def script_name(scenario: Any) -> str:
    """The decorator gives the function back."""
    return str(scenario.__name__)


# --- files ----------------------------------------------------------------------------------------

WEATHER = """
default = "Nothing is written for {prompt}."

[[turn]]
match = "weather"
steps = [
    { think = "Where is the user?" },
    { use = "Bash", input = { command = "date" }, result = "Monday" },
    { say = "It is {result}, and sunny." },
]

[[turn]]
regex = '^\\d+$'
steps = [{ say = "A number." }]
"""


async def test_a_file_is_a_script(tmp_path: Path) -> None:
    (tmp_path / "weather.toml").write_text(WEATHER, encoding="utf-8")
    talk = Talk(SimulatedCLI(load_scenario(str(tmp_path / "weather.toml"))), SERVE)
    assert said(await talk.turn("The Weather?")) == ["It is Monday, and sunny."]
    assert said(await talk.turn("12")) == ["A number."]
    assert said(await talk.turn("cake")) == ["Nothing is written for cake."]


async def test_a_turn_without_a_pattern_matches_everything() -> None:
    talk = Talk(SimulatedCLI(script_from_toml('[[turn]]\nsteps = [{ say = "Yes: {prompt}" }]')))
    assert said(await talk.turn("anything")) == ["Yes: anything"]


async def test_a_function_in_a_python_file_is_a_scenario(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("async def play(chat):\n    await chat.say('Hi.')\n\nx = 1\n", encoding="utf-8")
    assert said(await Talk(SimulatedCLI(load_scenario(f"{path}:play"))).turn("go")) == ["Hi."]
    for name in ("nothing", "x"):
        with pytest.raises(ScriptError, match=f"has no function '{name}'"):
            load_scenario(f"{path}:{name}")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes(b'default = "\xff"')
    with pytest.raises(ScriptError, match=r"latin\.toml: 'utf-8' codec"):
        load_scenario(str(path))


@pytest.mark.parametrize("where", ["scenario.yaml", "scenario.py", "play", ""])
def test_what_is_no_scenario_is_refused(where: str) -> None:
    with pytest.raises(ScriptError, match=r"a scenario is a \.toml file or file\.py:function"):
        load_scenario(where)


def test_a_file_that_is_not_there_is_an_os_error() -> None:
    with pytest.raises(OSError, match=r"missing\.toml"):
        load_scenario("missing.toml")


# --- the verbs, one by one ------------------------------------------------------------------------


async def test_say_and_think() -> None:
    events = await turn('{ think = "About {prompt}." }, { say = "Done with {prompt}." }', "tea")
    thought, _ = only(events, AssistantMessage)
    (block,) = thought.content
    assert isinstance(block, ThinkingBlock)
    assert block.thinking == "About tea."
    assert said(events) == ["Done with tea."]


async def test_use() -> None:
    events = await turn('{ use = "Bash", input = { command = "ls" }, result = "a b" }')
    (asked,) = bodies(events, CanUseTool)
    assert asked.input == {"command": "ls"}
    assert told(events) == ["a b"]
    assert told(await turn('{ use = "Monitor" }')) == ["ok"]
    assert told(await turn('{ use = "Monitor", error = "no network" }')) == ["Error: no network"]


async def test_ask() -> None:
    def answer(body: CanUseTool) -> PermissionResultAllow:
        (question,) = body.input["questions"]
        return PermissionResultAllow({**body.input, "answers": {question["question"]: "Tea"}})

    question = '{ question = "What?", header = "Drink", options = [{ label = "Tea" }] }'
    steps = f'{{ ask = [{question}] }}, {{ say = "{{result}}" }}'
    events = await turn(steps, serve={CanUseTool: answer})
    assert '"What?"="Tea"' in said(events)[0]


async def test_plan() -> None:
    events = await turn('{ plan = "First tea." }, { say = "{result}" }')
    assert bodies(events, CanUseTool)[0].input["plan"] == "First tea."
    assert "approved" in said(events)[0]


async def test_call() -> None:
    script = script_from_toml(
        '[[turn]]\nsteps = [{ call = "calc", tool = "add", arguments = { a = 1, b = 2 } },'
        ' { say = "{result}" }]'
    )
    talk = Talk(SimulatedCLI(script), SERVE)
    await talk.initialize(sdk_mcp_servers=["calc"])
    assert said(await talk.turn("go")) == ["3"]


async def test_hook() -> None:
    script = script_from_toml(
        '[[turn]]\nsteps = [{ hook = "Notification", fields = { message = "hey" } },'
        ' { say = "{result}" }]'
    )
    context = NotificationHookSpecificOutput(additional_context="noted")
    talk = Talk(SimulatedCLI(script), hooks_say(a=HookOutput(hook_specific_output=context)))
    await talk.initialize(hooks={"Notification": [HookMatcher(["a"])]})
    events = await talk.turn("go")
    assert hook_inputs(events)[0].message == "hey"
    assert said(events) == ["noted"]


async def test_task() -> None:
    steps = '{ task = "a build", summary = "all green" }, { say = "x" }'
    script = script_from_toml(f'[[turn]]\nmatch = "go"\nsteps = [{steps}]')
    talk = Talk(SimulatedCLI(script))
    events = await talk.turn("go")
    assert only(events, TaskStartedMessage)[0].description == "a build"
    assert only(events, TaskNotificationMessage)[0].summary == "all green"
    await talk.until_result()
    events = await turn('{ task = "a build" }, { say = "x" }')
    assert only(events, TaskNotificationMessage)[0].summary == "done"
    events = await turn('{ task = "a server", finish = false }')
    assert only(events, TaskNotificationMessage) == []


async def test_subagent() -> None:
    inner = '{ say = "Found {prompt}." }'
    step = f'{{ subagent = "Explore", prompt = "the key", steps = [{inner}] }}'
    events = await turn(step + REPORT)
    (outer,) = [it for it in only(events, AssistantMessage) if it.text]
    assert outer.text == "Found the key."
    assert outer.parent_tool_use_id is None
    (handed_back,) = told(await turn('{ subagent = "Explore" }'))
    assert "The report follows:\n  \nagentId: " in handed_back


async def test_subagent_in_the_background() -> None:
    (launched,) = told(await turn('{ subagent = "Explore", background = true }'))
    assert launched.startswith("Async agent launched")


async def test_compact() -> None:
    (boundary,) = only(await turn('{ compact = "manual" }'), CompactBoundaryMessage)
    assert boundary.compact_metadata is not None
    assert boundary.compact_metadata.trigger == "manual"


async def test_elicit() -> None:
    step = '{ elicit = "forms", message = "Who?", schema = { type = "object" } }'
    for answer, words in (
        (ElicitationResult("accept", {"name": "Ann"}), "{'name': 'Ann'}"),
        (ElicitationResult("decline"), "decline"),
    ):
        events = await turn(step + REPORT, serve={Elicitation: lambda body, answer=answer: answer})
        assert bodies(events, Elicitation)[0].requested_schema == {"type": "object"}
        assert said(events) == [words]


async def test_retry() -> None:
    (retry,) = only(await turn("{ retry = 429 }"), APIRetryMessage)
    assert retry.error_status == 429


async def test_fail() -> None:
    result = (await turn('{ fail = "overloaded", status = 529 }, { say = "never" }'))[-1]
    assert result.api_error_status == 529
    assert "overloaded" in result.result
    assert (await turn('{ fail = "bad request" }'))[-1].api_error_status == 400


async def test_output() -> None:
    assert (await turn("{ output = { n = 1 } }"))[-1].structured_output == {"n": 1}


async def test_strings_in_output_are_filled_in_however_deep() -> None:
    use = '{ use = "Read", input = {}, result = "milk" }, '
    got = await turn(use + '{ output = { notes = [{ text = "{prompt}: {result}", line = 1 }] } }')
    assert got[-1].structured_output == {"notes": [{"text": "go: milk", "line": 1}]}


@pytest.mark.parametrize(
    ("limit", "subtype"), [("max_turns", "error_max_turns"), ("budget", "error_max_budget_usd")]
)
async def test_stop(limit: str, subtype: str) -> None:
    assert (await turn(f'{{ stop = "{limit}" }}'))[-1].subtype == subtype


@pytest.mark.parametrize(
    "anyio_backend", [("trio", {"clock": MockClock(autojump_threshold=0)})], ids=["jumping"]
)
async def test_sleep_and_everything_else_that_takes_time() -> None:
    steps = (
        '{ sleep = 60 }, { use = "Read", seconds = 30 }, { retry = 529, seconds = 9 }, '
        '{ task = "x", seconds = 1, finish = false }'
    )
    result = (await turn(steps, patience=3600))[-1]
    assert result.duration_ms == pytest.approx(100_000, abs=2)


async def test_emit() -> None:
    (message,) = only(await turn('{ emit = { type = "brand_new", n = 1 } }'), UnknownMessage)
    assert message.data == {"type": "brand_new", "n": 1}


async def test_no_steps_are_an_empty_turn() -> None:
    events = await turn("")
    assert kinds(events) == ["system/init", "result/success"]
    assert isinstance(events[-1], ResultMessage)


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("not toml", "my.toml: Expected"),
        ("color = 1", "my.toml: unknown color; there are default, turn"),
        ("default = 1", "my.toml: default must be a string"),
        ("turn = 1", "my.toml: turn must be a list of tables"),
        ("turn = [1]", "my.toml: turn 1 must be a table"),
        (
            "[[turn]]\nmach = 'x'",
            "my.toml: turn 1: unknown mach; there are match, number, regex, steps",
        ),
        ("[[turn]]\nmatch = 1", "my.toml: turn 1: match must be a string"),
        ("[[turn]]\nmatch = 'x'\nregex = 'x'", "my.toml: turn 1: match and regex exclude"),
        ("[[turn]]\n[[turn]]\nregex = '('", "my.toml: turn 2: '(' is not a regular expression"),
        ("[[turn]]\nregex = 1", "my.toml: turn 1: 1 is not a regular expression"),
        ("[[turn]]\nsteps = 'say'", "my.toml: turn 1: steps must be a list of tables"),
        ("[[turn]]\nsteps = [1]", "my.toml: turn 1, step 1 must have one of: say, think"),
        ("[[turn]]\nsteps = [{}]", "my.toml: turn 1, step 1 must have one of: say, think"),
        (
            "[[turn]]\nsteps = [{ say = 'a' }, { say = 'a', think = 'b' }]",
            "my.toml: turn 1, step 2 must have one of: say, think",
        ),
        (
            "[[turn]]\nsteps = [{ say = 'a', loud = true }]",
            "my.toml: turn 1, step 1: unknown loud; there are say",
        ),
        ("[[turn]]\nsteps = [{ say = 1 }]", "my.toml: turn 1, step 1: say must be a string"),
        ("[[turn]]\nsteps = [{ sleep = 'x' }]", "my.toml: turn 1, step 1: sleep must be a number"),
        (
            "[[turn]]\nsteps = [{ use = 'Bash', input = 'ls' }]",
            "my.toml: turn 1, step 1: input must be a table",
        ),
        (
            "[[turn]]\nsteps = [{ ask = 'What?' }]",
            "my.toml: turn 1, step 1: ask must be a list of tables",
        ),
        ("[[turn]]\nsteps = [{ call = 'calc' }]", "my.toml: turn 1, step 1: tool is missing"),
        ("[[turn]]\nsteps = [{ elicit = 'x' }]", "my.toml: turn 1, step 1: message is missing"),
        (
            "[[turn]]\nsteps = [{ stop = 'now' }]",
            "my.toml: turn 1, step 1: stop must be max_turns or budget",
        ),
        (
            "[[turn]]\nsteps = [{ subagent = 'x', steps = [{ say = 'a' }, { fly = 1 }] }]",
            "my.toml: turn 1, step 1.2 must have one of: say",
        ),
        (
            "[[turn]]\nsteps = [{ subagent = 'x', steps = 'y' }]",
            "my.toml: turn 1, step 1: steps must be a list of tables",
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)):
        script_from_toml(text, "my.toml")


# --- captures, numbers, files ---------------------------------------------------------------------


async def test_what_a_regex_captures_is_inserted_everywhere() -> None:
    script = script_from_toml(
        """
        [[turn]]
        regex = "(?i)read (?P<file>\\\\S+)( twice)?"
        steps = [
            { use = "Read", input = { file_path = "/a/{file}", note = ["{1}", "{prompt}"] } },
            { say = "{file}{2}{other}" },
        ]
        """
    )
    talk = Talk(SimulatedCLI(script))
    events = await talk.turn("read b.txt")
    (use,) = only(events, AssistantMessage)[0].content
    assert isinstance(use, ToolUseBlock)
    assert use.input == {"file_path": "/a/b.txt", "note": ["b.txt", "read b.txt"]}
    assert said(events) == ["b.txt{other}"]


async def test_a_turn_can_be_chosen_by_its_number() -> None:
    turns = 'turn = [{ number = 2, steps = [{ say = "Second." }] }, { steps = [{ say = "Any." }] }]'
    talk = Talk(SimulatedCLI(script_from_toml(turns)))
    assert [said(await talk.turn("go")) for _ in range(3)] == [["Any."], ["Second."], ["Any."]]


async def test_the_result_of_a_tool_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("from a file", encoding="utf-8")
    text = 'turn = [{ steps = [{ use = "Bash", result_file = "out.txt" }] }]'
    script = script_from_toml(text, str(tmp_path / "scenario.toml"))
    talk = Talk(SimulatedCLI(script), {CanUseTool: allow})
    assert told(await talk.turn("go")) == ["from a file"]


@pytest.mark.parametrize(
    ("turn", "wrong"),
    [
        ('steps = [{ use = "Bash", result_file = "gone.txt" }]', "gone.txt cannot be read"),
        ('steps = [{ use = "Bash", result_file = "x", result = "y" }]', "exclude each other"),
        ("number = 0\nsteps = []", "number must be a number from 1 on"),
    ],
)
def test_turns_with_such_mistakes_are_refused(turn: str, wrong: str) -> None:
    with pytest.raises(ScriptError, match=wrong):
        script_from_toml(f"[[turn]]\n{turn}")
