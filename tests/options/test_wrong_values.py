"""Whatever an option is given, it is taken or refused by name, before anything is started."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

import claudewire
from claudewire import Options, OptionsError, Timeouts, Transport, sync
from claudewire.options import DECLARATIONS
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Launch

untyped: Any = claudewire
blocking: Any = sync
run_async: Any = anyio.run
"""Without their types, which would not let the mistakes here pass."""

ITSELF: list[Any] = []
ITSELF.append(ITSELF)
ITS_OWN_VALUE: dict[str, Any] = {}
ITS_OWN_VALUE["a"] = ITS_OWN_VALUE


class Hostile:
    """Something that is equal to nothing, and not even true or false."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("it cannot be compared")

    def __bool__(self) -> bool:
        raise RuntimeError("it is neither true nor false")


def strange_values() -> Iterator[Any]:
    yield from (object(), Hostile(), ValueError("x"), print, int, Options, Options())
    yield from (True, False, 0, 5, -1, 10**30, 1.5, -0.5, math.nan, math.inf)
    yield from ("", " ", "nonsense", "a\0b", "\ud800", b"bytes", Path("no/such/file"))
    yield from ([], [object()], [5], [""], ["nonsense"], [None], ITSELF, (), {"a"}, {5}, iter([]))
    yield from ({}, {5: 5}, {"a": object()}, {"a": 5}, {"": ""}, {"nonsense": "x"}, ITS_OWN_VALUE)
    yield from (lambda: None, lambda a, b, c: None, strange_values, echo)


async def echo(chat: Chat) -> None:
    await chat.say(chat.text)


RAW = re.compile(r"object has no attribute|object is not|unhashable|unexpected keyword|takes \d")
"""What Python says, and not this library."""


def check_message(error: OptionsError, name: str) -> None:
    assert name in error.message, error.message
    assert not RAW.search(error.message)
    assert error.advice == ""
    assert error.evidence == claudewire.Evidence()


async def started(options: Options) -> None:
    """Start a session: what its options do not allow is noticed before its CLI is started."""
    launches: list[Launch] = []

    def connect(launch: Launch) -> Transport:
        launches.append(launch)
        return SimulatedCLI(echo)

    session = claudewire.open(options, transport=connect)
    try:
        await session.start()
    except OptionsError:
        assert not launches
    except claudewire.Error:
        pass  # the CLI itself has refused it
    finally:
        await session.close()


@pytest.mark.parametrize("name", DECLARATIONS)
def test_an_option_is_taken_or_refused_by_name(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = {} if name == "timeouts" else {"timeouts": Timeouts(start=1)}
    taken: list[Options] = []
    for value in strange_values():
        try:
            options = Options(**{**quick, name: value})
            claudewire.open(options)
            taken.append(options)
        except OptionsError as error:
            check_message(error, name)
    if name != "max_line":  # a CLI of whose lines none is read is waited for in vain
        anyio.run(all_started, taken)


async def all_started(taken: list[Options]) -> None:
    for options in taken:
        await started(options)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"effort": "hihg"}, "effort must be one of 'low', .*; did you mean 'high'?"),
    ({"permission_mode": "accept-edits"}, "did you mean 'acceptEdits'?"),
    ({"permission_mode": "AcceptEdits"}, "did you mean 'acceptEdits'?"),
    ({"dialect": "Modern"}, "did you mean 'modern'?"),
    ({"thinking": "adaptiv"}, "did you mean 'adaptive'?"),
    ({"setting_sources": ["proyect"]}, "setting_sources[0] must be .*; did you mean 'project'?"),
    ({"person": "Inbox"}, "'inbox', not 'Inbox'; did you mean 'inbox'?"),
    ({"modle": "opus"}, "There is no option 'modle'; did you mean model"),
    ({"can_use_tool": print}, "here it is on_permission, a function of one argument"),
    ({"permissionMode": "plan"}, "here it is permission_mode"),
    ({"output": {"type": "objekt"}}, "output.type must be one of .*; did you mean 'object'?"),
    ({"output": 5}, "`output` cannot be of this type"),
    ({"output": {"properties": []}}, "output.properties must be an object, not ()"),
    ({"output": {"properties": {"a": 5}}}, "output.properties.a must be a JSON Schema"),
    ({"output": {"items": {"type": ["string", "nul"]}}}, "output.items[0].type must be .*'null'?"),
    ({"output": {"anyOf": {}}}, "output.anyOf must be a list of schemas"),
    ({"output": {"anyOf": [5]}}, "output.anyOf[0] must be a JSON Schema"),
    ({"output": {"required": "a"}}, "output.required must be a list of names, not 'a'"),
    ({"output": {"enum": "a"}}, "output.enum must be a list of values, not 'a'"),
    ({"output": {"minLength": "1"}}, "output.minLength must be a number, not '1'"),
    ({"output": {"exclusiveMinimum": True}}, "output.exclusiveMinimum must be a number, not True"),
    ({"output": {"multipleOf": 0}}, "output.multipleOf must be more than 0, not 0"),
    ({"output": {"pattern": 5}}, "output.pattern must be a string, not 5"),
    ({"json_schema": {"type": "strnig"}}, "json_schema.type must be .*; did you mean 'string'?"),
    ({"hooks": []}, "hooks: Hooks must be a mapping of events to functions"),
    ({"hooks": {"PreToolUze": print}}, "hooks: .*; did you mean PreToolUse?"),
    ({"hooks": {"PreToolUse": {"matcher": "Bash"}}}, "PreToolUse needs a function, a Hook"),
    ({"hooks": {"PreToolUse": lambda a, b, c: None}}, "which has the tool_use_id, too; "),
    ({"on_permission": lambda a, b, c: None}, "on_permission is called with one argument"),
    ({"on_question": 5}, "on_question must be a function"),
    ({"allow": ["Bsh"]}, "is about the tool Bsh, which is not known; did you mean Bash?"),
    ({"deny": ["read(~/.ssh/**)"]}, "the tool read, which is not known; did you mean Read?"),
    ({"allow": [5]}, "allow[0] must be a string, not 5"),
    ({"prices": {"m": untyped.Price("3", 1, 1, 1)}}, "prices['m'].input must be a number"),
    ({"prices": {"m": claudewire.Price(1, -1, 1, 1)}}, "prices['m'].output must be 0 or more"),
]


@pytest.mark.parametrize(("wrong", "words"), WRONG, ids=[words for _, words in WRONG])
@pytest.mark.parametrize("make", [Options, claudewire.open, sync.open, claudewire.Pool, sync.Pool])
def test_it_says_what_is_wrong_and_what_was_probably_meant(
    wrong: dict[str, Any], words: str, make: Callable[..., Any]
) -> None:
    expected = ".*".join(map(re.escape, words.split(".*")))
    with pytest.raises(OptionsError, match=expected) as caught:
        make(**wrong)
    assert not RAW.search(caught.value.message)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: untyped.open(5), "options must be Options(…), not int"),
        (lambda: blocking.open("opus"), "options must be Options(…), not str"),
        (lambda: untyped.Pool({}), "options must be Options(…), not dict"),
        (lambda: blocking.Pool({}), "options must be Options(…), not dict"),
        (lambda: untyped.Session(5), "options must be Options(…), not int"),
        (lambda: untyped.open(transport=5), "transport must be a Transport, or a function"),
        (lambda: untyped.Pool(transport=5), "A pool needs a function that makes transports"),
        (lambda: untyped.Pool(transport=SimulatedCLI()), "A pool needs a function that makes"),
        (lambda: untyped.Pool(transport=SimulatedCLI), "A pool needs a function that makes"),
        (lambda: untyped.Pool(size="2"), "size must be a whole number (0 or more), not '2'"),
        (lambda: untyped.Pool(size=True), "size must be a whole number (0 or more), not True"),
        (lambda: untyped.Pool(size=-1), "size must be 0 or more, not -1"),
        (lambda: untyped.Pool(max_starting=0), "max_starting must be 1 or more, not 0"),
        (lambda: untyped.Pool(max_starting=1.5), "max_starting must be a whole number"),
        (lambda: untyped.Pool(idle_timeout="5"), "idle_timeout must be a number of seconds"),
        (lambda: untyped.Pool(idle_timeout=0), "idle_timeout must be more than 0 seconds"),
        (lambda: blocking.run("x", timeout="5"), "timeout must be a number of seconds, not '5'"),
        (lambda: blocking.run("x", timeout=-1), "timeout must be more than 0 seconds, not -1"),
        (
            lambda: blocking.run("x", tasks="kill"),
            "tasks is one of wait, ignore, cancel, not",
        ),
        (lambda: blocking.run("x", tasks=[]), "tasks is one of wait, ignore, cancel, not []"),
        (lambda: blocking.run(5), "prompt"),
        (lambda: blocking.run(None), "prompt"),
        (lambda: blocking.run(""), "prompt"),
        (lambda: blocking.run([]), "prompt"),
        (lambda: blocking.run([5]), "A prompt is made of text, images and documents, not int"),
        (lambda: run_async(untyped.run, 5), "prompt"),
        (lambda: untyped.Patience(first_token="x"), "patience.first_token must be a number"),
        (lambda: untyped.Patience(grace="x"), "patience.grace must be a number of seconds"),
        (lambda: untyped.Patience(grace=-1), "patience.grace must be more than 0 seconds"),
        (lambda: untyped.Patience(grace=True), "patience.grace must be a number of seconds"),
        (lambda: untyped.Unread(high_water="x"), "unread.high_water must be a whole number"),
        (lambda: untyped.Timeouts(start="x"), "timeouts.start must be a number of seconds"),
        (lambda: untyped.Budget(cost_usd="1"), "limit cost_usd of a budget must be a number"),
        (lambda: untyped.Budget(turns=True), "limit turns of a budget must be a number"),
        (lambda: untyped.Budget(turns=1, warn_at=0.5), "warn_at must be a list such as (0.8,)"),
        (lambda: untyped.Budget(turns=1, warn_at=["x"]), "Each of warn_at must be a number"),
        (lambda: untyped.Budget(turns=1, hard="no"), "hard must be True or False, not 'no'"),
        (lambda: untyped.ToolServer("my server"), "; did you mean 'my-server'?"),
        (lambda: untyped.ToolServer(""), "'' cannot be the name of a ToolServer"),
        (lambda: untyped.ToolServer(5), "5 cannot be the name of a ToolServer"),
        (lambda: untyped.ToolServer("s", "add"), "The tools of a ToolServer must be a list"),
        (lambda: untyped.ToolServer("s", 5), "The tools of a ToolServer must be a list, not 5"),
        (lambda: untyped.Policy(allow=5), "allow must be a list, not 5"),
        (lambda: untyped.Policy(deny=[5]), "A rule is a string such as 'Bash(git status:*)'"),
        (lambda: untyped.Policy(allow={"Read": 1}), "allow must be a list, not {'Read': 1}"),
        (lambda: untyped.Policy(ask=["Wirte"]), "tool Wirte, .*; did you mean Write? If there"),
        (lambda: untyped.Policy(mode="accept"), "mode cannot be 'accept'"),
        (lambda: untyped.Policy(mode="acceptedits"), "; did you mean 'acceptEdits'?"),
        (lambda: untyped.Policy(default=[]), "default cannot be []; it is one of allow, ask"),
        (lambda: untyped.Policy(cwd=5), "cwd must be a path, not 5"),
        (lambda: untyped.Policy(home=b"x"), "home must be a path, not b'x'"),
        (lambda: untyped.Policy(directories="x"), "directories must be a list, not the string"),
        (lambda: untyped.Policy(directories=[5]), "directories must be a path, not 5"),
        (lambda: untyped.Policy(protect="no"), "protect cannot be 'no'; it is one of True"),
        (lambda: untyped.Policy(case_sensitive=1), "case_sensitive cannot be 1; it is one of"),
        (lambda: untyped.Policy(realpath="x"), "realpath must be a function, not 'x'"),
    ],
)
def test_an_argument_that_makes_no_sense_is_refused(make: Callable[[], object], words: str) -> None:
    expected = ".*".join(map(re.escape, words.split(".*")))
    with pytest.raises(OptionsError, match=expected) as caught:
        make()
    assert not RAW.search(caught.value.message)


def test_a_schema_is_taken_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": True, "b": {"type": ["string", "null"]}}}
    assert Options(output=schema).output == schema


def test_what_a_policy_in_a_file_misspells() -> None:
    with pytest.raises(OptionsError, match="did you mean Bash"):
        claudewire.Policy.from_toml('allow = ["Bsh"]')


def test_what_a_policy_takes() -> None:
    odd = claudewire.Rule.parse("Bsh")
    policy = claudewire.Policy(allow=["mcp__bsh__run", "Task", odd], deny=["*"], mode="manual")
    assert policy.allow[-1] is odd
    assert policy.mode == "manual"
