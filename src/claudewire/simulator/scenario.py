"""Scenarios: the work of the simulated agent, in Python or as a TOML file.

In Python a scenario is an async function that gets a `Chat`, one turn at a time. `Script` chooses
one by the user's words. A TOML file does the same without Python:

    default = "Nothing is written for that."

    [[turn]]
    match = "weather"                  # in the user's words, in any case; or regex = "…"
    steps = [
        { think = "Where is the user?" },
        { use = "Bash", input = { command = "date" }, result = "Monday" },
        { say = "It is {result}, and sunny." },
    ]

docs/testing.md lists the verbs of a step.
"""

from __future__ import annotations

import os
import re
import runpy
import tomllib
from collections.abc import Callable
from inspect import isawaitable
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct

from ..wire import Error, UnknownMessage
from .chat import Chat, Scenario, ToolOutcome

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
            words: the prompt has to contain them. `chat.captures` has the groups of a pattern.
            number: the number of the turn in the session, counted from 1; None for any.
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
                groups = enumerate(found.groups(default=""), 1)
                named = found.groupdict(default="")
                chat.captures = {**{str(at): text for at, text in groups}, **named}
                await scenario(chat)
                return
        await chat.say(_filled(self.default, chat, ""))


def _filled(value: Any, chat: Chat, result: str) -> Any:
    """Fill in all strings of a value: the user's words, their captures, the last result."""
    if isinstance(value, dict):
        return {name: _filled(each, chat, result) for name, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, chat, result) for each in value]
    if not isinstance(value, str):
        return value
    known = {**chat.captures, "prompt": chat.text, "result": result}
    return re.sub(r"\{(\w+)\}", lambda found: known.get(found[1], found[0]), value)


# --- the steps of a file --------------------------------------------------------------------------

_Table = dict[str, Any]


async def _use(
    chat: Chat, tool: str, input: _Table, result: Any, file: str, error: str | None, seconds: float
) -> ToolOutcome:
    def fail(input: _Table) -> None:
        raise RuntimeError(error)

    run = None if error is None else fail
    return await chat.use(tool, input, run=run, result=result, seconds=seconds)


async def _hook(chat: Chat, event: str, fields: _Table) -> str:
    return (await chat.hook(event, **fields)).context


async def _task(chat: Chat, text: str, seconds: float, finish: bool, summary: str) -> None:
    task = chat.start_task(text)
    await chat.sleep(seconds)
    if finish:
        task.finish(summary)


async def _subagent(
    chat: Chat, kind: str, prompt: str, steps: list[_Table], background: bool
) -> ToolOutcome:
    return await chat.subagent(kind, prompt or chat.text, _player(steps), background=background)


async def _elicit(chat: Chat, server: str, message: str, schema: _Table) -> str:
    answer = await chat.elicit(server, message, schema)
    return str(answer.content if answer.action == "accept" else answer.action)


def _stop(chat: Chat, limit: str) -> None:
    chat.reach_max_turns() if limit == "max_turns" else chat.exhaust_budget()


def _emit(chat: Chat, message: _Table) -> None:
    chat.emit(UnknownMessage(data=message))


class Verb(NamedTuple):
    """A verb of a scenario file."""

    play: Callable[..., Any]
    fields: type[Struct]


def _verb(play: Callable[..., Any], **fields: Any) -> Verb:
    """Declare a verb: a field is a type, or a type with a default."""
    declared = [
        (name, *kind) if isinstance(kind, tuple) else (name, kind) for name, kind in fields.items()
    ]
    return Verb(play, msgspec.defstruct("Step", declared, forbid_unknown_fields=True))


_SECONDS = (float, 0.0)

VERBS: dict[str, Verb] = {
    "say": _verb(Chat.say, say=str),
    "think": _verb(Chat.think, think=str),
    "use": _verb(
        _use,
        use=str,
        input=(_Table, {}),
        result=(Any, "ok"),
        result_file=(str, ""),
        error=(str | None, None),
        seconds=_SECONDS,
    ),
    "ask": _verb(Chat.ask, ask=list[_Table]),
    "plan": _verb(Chat.plan, plan=str),
    "call": _verb(Chat.call, call=str, tool=str, arguments=(_Table, {})),
    "hook": _verb(_hook, hook=str, fields=(_Table, {})),
    "task": _verb(_task, task=str, seconds=_SECONDS, finish=(bool, True), summary=(str, "done")),
    "subagent": _verb(
        _subagent,
        subagent=str,
        prompt=(str, ""),
        steps=(list[_Table], []),
        background=(bool, False),
    ),
    "compact": _verb(Chat.compact, compact=str),
    "elicit": _verb(_elicit, elicit=str, message=str, schema=(_Table, {})),
    "retry": _verb(Chat.retry, retry=int, seconds=_SECONDS),
    "fail": _verb(Chat.fail, fail=str, status=(int, 400)),
    "output": _verb(Chat.output, output=Any),
    "stop": _verb(_stop, stop=Literal["max_turns", "budget"]),
    "sleep": _verb(Chat.sleep, sleep=float),
    "emit": _verb(_emit, emit=_Table),
}
"""Every verb of a scenario file."""


def _made(step: _Table, where: str, place: str) -> _Table:
    """Check a step, and read the file that it names.

    Raises:
        ScriptError: it is invalid.
    """
    verbs = [key for key in step if key in VERBS]
    if len(verbs) != 1:
        raise ScriptError(f"{place} must have one of: {', '.join(VERBS)}")
    if "use" in step and "result_file" in step:
        path = os.path.join(os.path.dirname(where), str(step["result_file"]))
        try:
            with open(path, encoding="utf-8") as file:
                step = {**step, "result": file.read()}
        except (OSError, UnicodeDecodeError) as error:
            raise ScriptError(f"{place}: {path} cannot be read: {error}") from None
    try:
        msgspec.convert(step, VERBS[verbs[0]].fields)
    except msgspec.ValidationError as error:
        raise ScriptError(f"{place}: {error}") from None
    if "steps" in step:
        inner = enumerate(step["steps"], 1)
        step = {**step, "steps": [_made(it, where, f"{place}.{at}") for at, it in inner]}
    return step


def _player(steps: list[_Table]) -> Scenario:
    async def play(chat: Chat) -> None:
        result = ""
        for step in steps:
            verb = VERBS[next(key for key in step if key in VERBS)]
            # The steps of a subagent are filled in when they are played.
            filled = {k: v if k == "steps" else _filled(v, chat, result) for k, v in step.items()}
            fields = msgspec.convert(filled, verb.fields)
            outcome = verb.play(chat, *msgspec.structs.astuple(fields))
            outcome = await outcome if isawaitable(outcome) else outcome
            if outcome is not None:
                result = outcome.text if isinstance(outcome, ToolOutcome) else outcome

    return play


# --- files ----------------------------------------------------------------------------------------


class _Turn(Struct, forbid_unknown_fields=True):
    match: str | None = None
    regex: str | None = None
    number: Annotated[int, Meta(ge=1)] | None = None
    steps: list[dict[str, Any]] = []


class _File(Struct, forbid_unknown_fields=True):
    default: str = NOTHING
    turn: list[_Turn] = []


def load_scenario(where: str) -> Scenario:
    """Load a scenario: a TOML file, or `file.py:function`.

    Raises:
        ScriptError: the scenario is invalid.
        OSError: the file cannot be read.
    """
    if where.endswith(".toml"):
        with open(where, "rb") as file:
            return script_from_toml(file.read().decode("utf-8", "replace"), where)
    path, _, name = where.rpartition(":")
    if not path.endswith(".py"):
        raise ScriptError(f"{where}: a scenario is a .toml file or file.py:function")
    scenario = runpy.run_path(path).get(name)
    if not callable(scenario):
        raise ScriptError(f"{path} has no function {name!r}")
    loaded: Scenario = scenario
    return loaded


def script_from_toml(text: str, where: str = "scenario") -> Script:
    """Make a script from the contents of a TOML file.

    Raises:
        ScriptError: the text is not TOML, or a turn or step in it is invalid.
    """
    try:
        file = msgspec.convert(tomllib.loads(text), _File)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise ScriptError(f"{where}: {error}") from None
    script = Script(file.default)
    for number, turn in enumerate(file.turn, 1):
        place = f"{where}: turn {number}"
        steps = [_made(it, where, f"{place}, step {at}") for at, it in enumerate(turn.steps, 1)]
        script.on(_pattern(turn, place), number=turn.number)(_player(steps))
    return script


def _pattern(turn: _Turn, place: str) -> str | re.Pattern[str]:
    if turn.regex is None:
        return turn.match or ""
    if turn.match is not None:
        raise ScriptError(f"{place}: match and regex exclude each other")
    try:
        return re.compile(turn.regex)
    except re.error as error:
        raise ScriptError(f"{place}: {turn.regex!r} is not a regular expression: {error}") from None
