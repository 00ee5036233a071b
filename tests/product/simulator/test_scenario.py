"""Scenario files and scripts: each verb, each mistake."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.clock import simulated_time
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    calculator,
    hook_inputs,
    hooks_say,
    only,
    said,
    told,
)

from claudewire import wire
from claudewire.simulator import (
    Chat,
    Script,
    ScriptError,
    SimulatedCLI,
    load_scenario,
    script_from_toml,
)

pytestmark = pytest.mark.anyio


async def play(steps: str, serve: dict[type, Any] | None = None, *argv: str) -> list[Any]:
    """Play one turn with these steps, which answers the prompt `hello`."""
    text = f"[[turn]]\nmatch = 'hello'\nsteps = [{steps}]"
    cli = SimulatedCLI(script_from_toml(text), argv=argv)
    talk = Talk(
        cli, {wire.CanUseTool: allow, wire.McpMessage: calculator, **(serve or {})}, patience=3600
    )
    return await talk.turn("hello")


# --- choosing a turn ------------------------------------------------------------------------------


async def test_first_turn_that_matches_is_played() -> None:
    script = script_from_toml("""
        default = "You said {prompt}"
        [[turn]]
        match = "WEATHER"
        steps = [{ say = "Sunny." }]
        [[turn]]
        regex = "add (?P<a>\\\\d) and (\\\\d)"
        steps = [{ say = "{a} + {2} {other}" }]
        [[turn]]
        match = "again"
        number = 4
        steps = [{ say = "The fourth." }]
    """)
    talk = Talk(SimulatedCLI(script))
    prompts = ("The weather?", "add 2 and 3", "again", "again", "again")
    answers = [said(await talk.turn(prompt))[0] for prompt in prompts]
    assert answers == ["Sunny.", "2 + 3 {other}", "You said again", "The fourth.", "You said again"]


async def test_script_chooses_a_function_by_the_prompt() -> None:
    script = Script("Nothing for {prompt}.")

    @script.on(re.compile("say (.*)"))
    async def repeat(chat: Chat) -> None:
        await chat.say(chat.captures["1"])

    talk = Talk(SimulatedCLI(script))
    assert said(await talk.turn("say it")) == ["it"]
    assert said(await talk.turn("Hello")) == ["Nothing for Hello."]


async def test_captures_fill_every_string_of_a_step() -> None:
    script = script_from_toml("""
        [[turn]]
        regex = "read (?P<file>\\\\S+)"
        steps = [
            { use = "Read", input = { file_path = "{file}", more = ["{1}"] }, result = "R {file}" },
            { output = { found = ["{result}"] } },
        ]
    """)
    turn = await Talk(SimulatedCLI(script), {wire.CanUseTool: allow}).turn("read a.txt")
    assert told(turn)[0] == "R a.txt"
    assert turn[-1].structured_output == {"found": ["R a.txt"]}


# --- verbs ----------------------------------------------------------------------------------------


async def test_say_and_think() -> None:
    turn = await play('{ think = "Hm, {prompt}" }, { say = "Hi." }')
    assert said(turn) == ["Hi."]
    (thought,) = [it.content[0] for it in turn if getattr(it, "content", None) and not it.text]
    assert isinstance(thought, wire.ThinkingBlock)
    assert thought.thinking == "Hm, hello"


async def test_use_gives_its_result_or_error() -> None:
    steps = """
        { use = "Bash", input = { command = "date" }, result = "Monday" }, { say = "{result}!" },
        { use = "Bash", input = { command = "x" }, error = "no such file" }, { say = "{result}" }
    """
    turn = await play(steps)
    assert [it.input["command"] for it in bodies(turn, wire.CanUseTool)] == ["date", "x"]
    assert said(turn) == ["Monday!", "Error: no such file"]


async def test_use_reads_its_result_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("from a file", encoding="utf-8")
    path = tmp_path / "scenario.toml"
    path.write_text('[[turn]]\nsteps = [{ use = "TodoWrite", result_file = "out.txt" }]', "utf-8")
    turn = await Talk(SimulatedCLI(load_scenario(str(path)))).turn("go")
    assert told(turn) == ["from a file"]


async def test_ask_and_plan_reach_the_person() -> None:
    options = '[{ label = "Red" }, { label = "Blue" }]'
    steps = f"""
        {{ ask = [{{ question = "Which?", options = {options} }}] }}, {{ plan = "Paint." }},
        {{ say = "{{result}}" }}
    """
    turn = await play(steps)
    assert [it.tool_name for it in bodies(turn, wire.CanUseTool)] == [
        "AskUserQuestion",
        "ExitPlanMode",
    ]
    assert "approved your plan" in said(turn)[0]


async def test_call_uses_a_tool_of_the_application() -> None:
    steps = '{ call = "calc", tool = "add", arguments = { a = 1, b = 2 } }, { say = "{result}" }'
    assert said(await play(steps)) == ["3"]


async def test_hook_calls_the_hooks_of_an_event() -> None:
    cli = SimulatedCLI(
        script_from_toml(
            '[[turn]]\nsteps = [{ hook = "Notification", fields = { message = "Look" } }]'
        )
    )
    talk = Talk(cli, hooks_say(a=wire.HookOutput()))
    await talk.initialize(hooks={"Notification": [wire.HookMatcher(["a"])]})
    turn = await talk.turn("go")
    assert [it.message for it in hook_inputs(turn)] == ["Look"]
    assert len(bodies(turn, wire.HookCallback)) == 1


async def test_task_ends_with_its_summary() -> None:
    turn = await play('{ task = "Build", summary = "green" }, { task = "Other", finish = false }')
    (ended,) = only(turn, wire.TaskNotificationMessage)
    assert ended.summary == "green"


@pytest.mark.parametrize("background", ["false", "true"])
async def test_subagent_plays_its_steps(background: str) -> None:
    steps = f"""
        {{ subagent = "Explore", background = {background}, steps = [{{ say = "{{prompt}}" }}] }},
        {{ say = "{{result}}" }}
    """
    turn = await play(steps)
    expected = "hello" if background == "false" else "Async agent launched"
    assert any(words.startswith(expected) for words in said(turn))


async def test_compact_elicit_and_emit() -> None:
    steps = """
        { compact = "manual" },
        { elicit = "forms", message = "Name?", schema = { type = "object" } },
        { say = "{result}" }, { emit = { type = "new", n = 1 } }
    """
    accept: dict[type, Any] = {
        wire.Elicitation: lambda body: wire.ElicitationResult("accept", {"name": "Ann"})
    }
    turn = await play(steps, accept)
    assert len(only(turn, wire.CompactBoundaryMessage)) == 1
    assert said(turn) == ["{'name': 'Ann'}"]
    assert only(turn, wire.UnknownMessage)[0].data == {"type": "new", "n": 1}


@simulated_time
async def test_seconds_pass_where_a_step_says_so() -> None:
    steps = """
        { sleep = 1 }, { retry = 529, seconds = 2 }, { task = "x", seconds = 3 },
        { use = "TodoWrite", seconds = 4 }
    """
    turn = await play(steps)
    assert only(turn, wire.APIRetryMessage)[0].retry_delay_ms == 2000
    assert turn[-1].duration_ms == pytest.approx(10_000, abs=1)


@pytest.mark.parametrize(
    ("step", "subtype", "status"),
    [
        ('{ fail = "broken", status = 500 }', "success", 500),
        ('{ stop = "max_turns" }', "error_max_turns", None),
        ('{ stop = "budget" }', "error_max_budget_usd", None),
    ],
)
async def test_fail_and_stop_end_the_turn(step: str, subtype: str, status: int | None) -> None:
    result = (await play(step + ', { say = "Never." }'))[-1]
    assert (result.subtype, result.is_error) == (subtype, True)
    assert result.api_error_status == status


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "scenario: "),
        ("defualt = 'x'", "scenario: Object contains unknown field `defualt`"),
        ("default = 5", "Expected `str`, got `int` - at `$.default`"),
        ("[[turn]]\nsteps = 5", "Expected `array`, got `int` - at `$.turn[0].steps`"),
        ("[[turn]]\nnumber = 0", "Expected `int` >= 1"),
        ("[[turn]]\nregex = '('", "turn 1: '(' is not a regular expression"),
        ("[[turn]]\nregex = 'a'\nmatch = 'b'", "turn 1: match and regex exclude each other"),
        ("[[turn]]\nsteps = [{ sing = 'x' }]", "turn 1, step 1 must have one of: say, think"),
        ("[[turn]]\nsteps = [{ say = 'x', think = 'y' }]", "step 1 must have one of"),
        ("[[turn]]\nsteps = [{ say = 5 }]", "step 1: Expected `str`, got `int` - at `$.say`"),
        ("[[turn]]\nsteps = [{ call = 'x' }]", "missing required field `tool`"),
        ("[[turn]]\nsteps = [{ stop = 'now' }]", "Invalid enum value 'now'"),
        ("[[turn]]\nsteps = [{ subagent = 'x', steps = [{ sing = 'x' }] }]", "step 1.1 must have"),
        ("[[turn]]\nsteps = [{ use = 'x', result_file = 'no' }]", "no cannot be read"),
    ],
)
def test_mistake_in_a_file_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ScriptError, match=re.escape(message)):
        script_from_toml(text)


def test_scenario_is_a_toml_file_or_a_function(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("async def play(chat): ...\nother = 5\n", "utf-8")
    assert callable(load_scenario(f"{tmp_path}/mine.py:play"))
    with pytest.raises(ScriptError, match="has no function 'other'"):
        load_scenario(f"{tmp_path}/mine.py:other")
    with pytest.raises(ScriptError, match=r"a scenario is a \.toml file or file\.py:function"):
        load_scenario("scenario.yaml")
    with pytest.raises(OSError, match="No such file"):
        load_scenario(f"{tmp_path}/none.toml")
