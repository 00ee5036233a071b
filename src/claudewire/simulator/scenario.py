"""Scenarios: what the simulated agent does, in Python or as a TOML file.

In Python a scenario is an async function that is handed a `Chat`, one turn at a time. `Script`
chooses one by the user's words. A TOML file says the same without Python:

    default = "Nothing is written for that."

    [[turn]]
    match = "weather"                  # in the user's words, whatever the case; or regex = "…"
    steps = [
        { think = "Where is the user?" },
        { use = "Bash", input = { command = "date" }, result = "Monday" },
        { say = "It is {result}, and sunny." },
    ]

A step has one verb and the fields of that verb. In a string, also in the input of a tool,
`{prompt}` stands for the user's words and `{result}` for the result of the last tool. A regex can
capture more: `{1}` is its first group, `{name}` its group of that name. A turn with `number = 2` is
played as the second turn, if its words match. `result_file` takes the result of a tool from a file,
relative to that of the scenario.
"""

from __future__ import annotations

import os
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any

from ..wire import Error, UnknownMessage
from .chat import Chat, Scenario

__all__ = ["Script", "ScriptError", "load_scenario", "script_from_toml"]

NOTHING = "This simulation has nothing to say to that: {prompt}"


class ScriptError(Error, ValueError):
    """A scenario file is invalid; the message says where, and what is allowed."""


class Script:
    """A scenario made of rules: the first whose pattern is in the user's words is played.

    Example:
        script = Script()

        @script.on("weather")
        async def _(chat):
            await chat.say("It is sunny.")
    """

    def __init__(self, default: str = NOTHING) -> None:
        self.default = default
        self._rules: list[tuple[re.Pattern[str], int | None, Scenario]] = []

    def on(
        self, words: str | re.Pattern[str], *, number: int | None = None
    ) -> Callable[[Scenario], Scenario]:
        """Add a rule, as a decorator. Plain words match in any case.

        Args:
            words: what the prompt has to contain. What a pattern captures is in `chat.captures`.
            number: which turn of the session it has to be, counted from 1; None for any.
        """
        pattern = re.compile(re.escape(words), re.IGNORECASE) if isinstance(words, str) else words

        def add(scenario: Scenario) -> Scenario:
            self._rules.append((pattern, number, scenario))
            return scenario

        return add

    async def __call__(self, chat: Chat) -> None:
        """Play the turn."""
        for pattern, number, scenario in self._rules:
            found = pattern.search(chat.text)
            if found is not None and number in (None, chat.session.turns):
                chat.captures = _captured(found)
                await scenario(chat)
                return
        await chat.say(filled(self.default, chat, ""))


def _captured(found: re.Match[str]) -> dict[str, str]:
    groups = enumerate(found.groups(default=""), 1)
    return {**{str(at): text for at, text in groups}, **found.groupdict(default="")}


def filled(text: str, chat: Chat, result: str) -> str:
    """Insert the user's words, what was captured of them, and the last tool's result."""
    known = {**chat.captures, "prompt": chat.text, "result": result}
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), text)


def load_scenario(where: str) -> Scenario:
    """Load a scenario: a TOML file, or `file.py:function`.

    Raises:
        ScriptError: it is not a valid scenario.
        OSError: it cannot be read.
    """
    if where.endswith(".toml"):
        with open(where, "rb") as file:
            data = file.read()
        try:
            return script_from_toml(data.decode(), where)
        except UnicodeDecodeError as error:
            raise ScriptError(f"{where}: {error}") from None
    path, _, name = where.rpartition(":")
    if not path.endswith(".py"):
        raise ScriptError(f"{where}: a scenario is a .toml file or file.py:function")
    import runpy

    scenario = runpy.run_path(path).get(name)
    if not callable(scenario):
        raise ScriptError(f"{path} has no function {name!r}")
    loaded: Scenario = scenario
    return loaded


def script_from_toml(text: str, where: str = "scenario") -> Script:
    """Make a script from the contents of a TOML file.

    Raises:
        ScriptError: it is not TOML, or a turn or step in it is invalid.
    """
    import tomllib

    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScriptError(f"{where}: {error}") from None
    _only(data, {"default", "turn"}, where)
    script = Script(_fits(data.get("default", NOTHING), TEXT, f"{where}: default"))
    turns = data.get("turn", [])
    if not isinstance(turns, list):
        raise ScriptError(f"{where}: turn must be {TABLES}")
    for number, turn in enumerate(turns, 1):
        place = f"{where}: turn {number}"
        _only(turn, {"match", "number", "regex", "steps"}, place)
        steps = _checked_steps(turn, f"{place}: steps", f"{place}, step ")
        nth = _fits(turn["number"], COUNT, f"{place}: number") if "number" in turn else None
        steps = [_with_file(step, where, place) for step in steps]
        script.on(_pattern(turn, place), number=nth)(_player(steps))
    return script


def _with_file(step: Mapping[str, Any], where: str, place: str) -> Mapping[str, Any]:
    """Take the result of a tool from the file that a step names."""
    if "result_file" not in step:
        return step
    if "result" in step or "error" in step:
        raise ScriptError(f"{place}: result_file, result and error exclude each other")
    path = os.path.join(os.path.dirname(where), step["result_file"])
    try:
        with open(path, encoding="utf-8") as file:
            return {**step, "result": file.read()}
    except (OSError, UnicodeDecodeError) as error:
        raise ScriptError(f"{place}: {path} cannot be read: {error}") from None


def _pattern(turn: Mapping[str, Any], place: str) -> str | re.Pattern[str]:
    if "regex" not in turn:
        return str(_fits(turn.get("match", ""), TEXT, f"{place}: match"))
    if "match" in turn:
        raise ScriptError(f"{place}: match and regex exclude each other")
    regex = turn["regex"]
    try:
        return re.compile(regex)
    except (re.error, TypeError) as error:
        raise ScriptError(f"{place}: {regex!r} is not a regular expression: {error}") from None


def _only(table: Mapping[str, Any], known: Collection[str], place: str) -> None:
    if not isinstance(table, dict):
        raise ScriptError(f"{place} must be {TABLE}")
    if unknown := set(table).difference(known):
        names = ", ".join(sorted(known))
        raise ScriptError(f"{place}: unknown {', '.join(sorted(unknown))}; there are {names}")


def _fits(value: Any, kind: str, place: str) -> Any:
    if not _KINDS[kind](value):
        raise ScriptError(f"{place} must be {kind}")
    return value


def _checked_steps(table: Mapping[str, Any], place: str, prefix: str) -> list[Mapping[str, Any]]:
    steps = table.get("steps", [])
    if not isinstance(steps, list):
        raise ScriptError(f"{place} must be {TABLES}")
    return [_checked(step, f"{prefix}{at}") for at, step in enumerate(steps, 1)]


def _checked(step: Any, place: str) -> Mapping[str, Any]:
    verbs = [key for key in step if key in _VERBS] if isinstance(step, dict) else []
    if len(verbs) != 1:
        raise ScriptError(f"{place} must have one of: {', '.join(_VERBS)}")
    _, needed, optional = _VERBS[verbs[0]]
    fields = {**needed, **optional}
    _only(step, fields, place)
    for name in needed:
        if name not in step:
            raise ScriptError(f"{place}: {name} is missing")
    for name, value in step.items():
        if name != "steps":
            _fits(value, fields[name], f"{place}: {name}")
    if "steps" in fields:
        _checked_steps(step, f"{place}: steps", f"{place}.")
    checked: Mapping[str, Any] = step
    return checked


def _player(steps: list[Mapping[str, Any]]) -> Scenario:
    async def play(chat: Chat) -> None:
        result = ""
        for step in steps:
            verb = next(key for key in step if key in _VERBS)
            outcome = await _VERBS[verb][0](chat, step, result)
            result = result if outcome is None else outcome

    return play


# --- one function for each verb; what it returns is `{result}` from then on -----------------------


async def _say(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.say(filled(step["say"], chat, result))


async def _think(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.think(filled(step["think"], chat, result))


async def _use(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    def fail(input: dict[str, Any]) -> None:
        raise RuntimeError(step["error"])

    outcome = await chat.use(
        step["use"],
        _filled_in(step.get("input", {}), chat, result),
        run=fail if "error" in step else None,
        result=step.get("result", "ok"),
        seconds=step.get("seconds", 0.0),
    )
    return outcome.text


async def _ask(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    return (await chat.ask(step["ask"])).text


async def _plan(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    return (await chat.plan(step["plan"])).text


async def _call(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    arguments = _filled_in(step.get("arguments", {}), chat, result)
    return (await chat.call(step["call"], step["tool"], arguments)).text


async def _hook(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    return (await chat.hook(step["hook"], **step.get("fields", {}))).context


async def _task(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    task = chat.start_task(step["task"])
    await chat.sleep(step.get("seconds", 0.0))
    if step.get("finish", True):
        task.finish(step.get("summary", "done"))


async def _subagent(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    work = _player(step.get("steps", []))
    prompt, apart = step.get("prompt", chat.text), step.get("background", False)
    return (await chat.subagent(step["subagent"], prompt, work, background=apart)).text


async def _compact(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.compact(trigger=step["compact"])


async def _elicit(chat: Chat, step: Mapping[str, Any], result: str) -> str:
    answer = await chat.elicit(step["elicit"], step["message"], step.get("schema", {}))
    return str(answer.content if answer.action == "accept" else answer.action)


async def _retry(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.retry(status=step["retry"], seconds=step.get("seconds", 0.0))


async def _fail(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.fail(step["fail"], status=step.get("status", 400))


async def _output(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    chat.output(_filled_in(step["output"], chat, result))


def _filled_in(value: Any, chat: Chat, result: str) -> Any:
    """Fill in all strings of a value."""
    if isinstance(value, dict):
        return {name: _filled_in(each, chat, result) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled_in(each, chat, result) for each in value]
    return filled(value, chat, result) if isinstance(value, str) else value


async def _stop(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    chat.reach_max_turns() if step["stop"] == "max_turns" else chat.exhaust_budget()


async def _sleep(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    await chat.sleep(step["sleep"])


async def _emit(chat: Chat, step: Mapping[str, Any], result: str) -> None:
    chat.emit(UnknownMessage(data=step["emit"]))


TEXT, NUMBER, FLAG, ANYTHING = "a string", "a number", "true or false", "anything"
TABLE, TABLES, LIMIT = "a table", "a list of tables", "max_turns or budget"
COUNT = "a number from 1 on"

_KINDS: dict[str, Callable[[Any], bool]] = {
    TEXT: lambda it: isinstance(it, str),
    NUMBER: lambda it: isinstance(it, int | float) and not isinstance(it, bool),
    FLAG: lambda it: isinstance(it, bool),
    TABLE: lambda it: isinstance(it, dict),
    TABLES: lambda it: isinstance(it, list) and all(isinstance(each, dict) for each in it),
    COUNT: lambda it: isinstance(it, int) and not isinstance(it, bool) and it > 0,
    LIMIT: lambda it: it in ("max_turns", "budget"),
    ANYTHING: lambda it: True,
}

_Play = Callable[[Chat, Mapping[str, Any], str], Awaitable[str | None]]

_Fields = dict[str, str]

_VERBS: dict[str, tuple[_Play, _Fields, _Fields]] = {
    "say": (_say, {"say": TEXT}, {}),
    "think": (_think, {"think": TEXT}, {}),
    "use": (
        _use,
        {"use": TEXT},
        {
            "input": TABLE,
            "result": ANYTHING,
            "result_file": TEXT,
            "error": TEXT,
            "seconds": NUMBER,
        },
    ),
    "ask": (_ask, {"ask": TABLES}, {}),
    "plan": (_plan, {"plan": TEXT}, {}),
    "call": (_call, {"call": TEXT, "tool": TEXT}, {"arguments": TABLE}),
    "hook": (_hook, {"hook": TEXT}, {"fields": TABLE}),
    "task": (_task, {"task": TEXT}, {"seconds": NUMBER, "finish": FLAG, "summary": TEXT}),
    "subagent": (
        _subagent,
        {"subagent": TEXT},
        {"prompt": TEXT, "steps": TABLES, "background": FLAG},
    ),
    "compact": (_compact, {"compact": TEXT}, {}),
    "elicit": (_elicit, {"elicit": TEXT, "message": TEXT}, {"schema": TABLE}),
    "retry": (_retry, {"retry": NUMBER}, {"seconds": NUMBER}),
    "fail": (_fail, {"fail": TEXT}, {"status": NUMBER}),
    "output": (_output, {"output": ANYTHING}, {}),
    "stop": (_stop, {"stop": LIMIT}, {}),
    "sleep": (_sleep, {"sleep": NUMBER}, {}),
    "emit": (_emit, {"emit": TABLE}, {}),
}
"""Every verb of a scenario file: its function, its required and its optional fields."""
