"""Options: values that are accepted and refused, copies, and files."""

from __future__ import annotations

import inspect
import math
import re
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given as each
from hypothesis import strategies as st
from tests.helpers.every_option import AGENT, NAMES, SESSION, alone, every_option

import claudewire
from claudewire import sync
from claudewire.errors import OptionsError
from claudewire.options import (
    DECLARATIONS,
    Options,
    OptionsDict,
    OptionsWithoutOutput,
    configured_servers,
    given_options,
    hosted_servers,
)
from claudewire.policy import Policy
from claudewire.simulator.flags import Flags, parse
from claudewire.testing import SimulatedCLI
from claudewire.tools import ToolServer
from claudewire.wire import McpHttpServerConfig, PluginConfig

untyped: Any = claudewire
blocking: Any = sync
run_async: Any = anyio.run
"""Without their types, which would not let the mistakes here pass."""


def options(**given: Any) -> Options:
    return Options(**given)


# --- the table -----------------------------------------------------------------------------------


def test_keyword_types_agree_with_the_fields() -> None:
    hints = {name: hint.__forward_arg__ for name, hint in OptionsDict.__annotations__.items()}
    assert hints == Options.__annotations__
    names = [name for name in DECLARATIONS if name != "output"]
    assert list(OptionsWithoutOutput.__annotations__) == names


def test_every_option_is_documented() -> None:
    source = inspect.getsource(Options)
    documented = re.findall(r'^    (\w+): .*?\)\n    """', source, re.M | re.S)
    assert documented == list(DECLARATIONS)


@pytest.mark.parametrize("name", NAMES)
def test_example_is_accepted_and_another_type_refused(name: str, tmp_path: Path) -> None:
    example = alone(every_option(tmp_path), name)
    chosen = options(**example)
    assert name in dict(given_options(chosen))
    assert chosen.replace() == chosen != Options()
    with pytest.raises(OptionsError, match=re.escape(name)):
        options(**{**example, name: object()})


# --- copies --------------------------------------------------------------------------------------


def test_options_cannot_be_changed() -> None:
    rules, variables = ["Read"], {"A": "1"}
    settings: dict[str, Any] = {"permissions": {"deny": ["Bash"]}}
    chosen = options(allowed_tools=rules, env=variables, settings=settings)
    rules.append("Bash")
    variables["A"] = "2"
    settings["permissions"]["deny"].clear()
    assert (chosen.allowed_tools, chosen.env) == (("Read",), {"A": "1"})
    assert chosen.settings == {"permissions": {"deny": ["Bash"]}}
    with pytest.raises(AttributeError, match="Options cannot change; make a copy with replace"):
        chosen.model = "haiku"
    with pytest.raises(TypeError):
        chosen.env["A"] = "2"  # type: ignore[index]


def test_replace_returns_a_checked_copy() -> None:
    first = options(model="opus", resume=SESSION)
    second = first.replace(resume=None, max_turns=3)
    assert (first.resume, first.max_turns) == (SESSION, None)
    assert (second.model, second.resume, second.max_turns) == ("opus", None, 3)
    with pytest.raises(OptionsError, match="exclude each other"):
        first.replace(continue_conversation=True)


def test_paths_are_made_absolute_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = options(cwd="here", add_dirs=["~/there"], settings="s.json", system_prompt=Path("p"))
    assert chosen.cwd == str(tmp_path / "here")
    assert chosen.add_dirs == (str(Path.home() / "there"),)
    assert chosen.settings == str(tmp_path / "s.json")
    assert chosen.system_prompt == tmp_path / "p"
    remote = options(remote=True, cwd="here", add_dirs=["~/there"], plugins=["p"])
    assert remote.cwd == str(tmp_path / "here")
    assert (remote.add_dirs, remote.plugins) == (("~/there",), (PluginConfig("p"),))


def test_allow_ask_and_deny_make_a_policy() -> None:
    rules: dict[str, Any] = {"allow": ["Read"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]}
    chosen = options(**rules)
    assert chosen.policy == Policy(**rules)
    assert chosen.replace(allow=["Grep"]).policy == Policy(**{**rules, "allow": ["Grep"]})
    assert chosen.replace(allow=[], ask=[], deny=[]).policy is None
    assert repr(options(allow=["Read"])) == "Options(allow=('Read',))"
    assert (chosen.allowed_tools, chosen.disallowed_tools) == ((), ())


# --- refused values ------------------------------------------------------------------------------

REFUSED: list[tuple[dict[str, Any], str]] = [
    # types
    ({"model": 4}, "model must be a string, got 4"),
    ({"model": ""}, "model is empty; leave it out"),
    ({"max_turns": 0}, "max_turns must be 1 or more, got 0"),
    ({"max_turns": True}, "max_turns must be a whole number, got True"),
    ({"max_budget_usd": math.nan}, "max_budget_usd must be more than 0"),
    ({"autocompact": 50_000}, "autocompact must be 100000 or more, got 50000"),
    ({"persist_session": None}, "persist_session must be True or False, got None"),
    ({"tool_aliases": {"Bash": 1}}, r"tool_aliases\['Bash'\] must be a string"),
    ({"json_schema": {"enum": [object()]}}, "json_schema cannot be written as JSON: .* object"),
    ({"deny": {5, "Read"}}, r"deny\[1\] must be a string, got 5"),
    # the probable meaning
    ({"effort": "hihg"}, "effort must be one of 'low', .*'max', got 'hihg'; did you mean 'high'"),
    ({"setting_sources": ["proyect"]}, r"setting_sources\[0\] must be .*; did you mean 'project'"),
    ({"approver": "Inbox"}, "got 'Inbox'; did you mean 'inbox'"),
    ({"allowed_tools": "Read"}, r"allowed_tools must be a list, .*; did you mean \['Read'\]"),
    ({"builtin_tools": "Read"}, "builtin_tools must be a list or 'default', .*did you mean"),
    ({"builtin_tools": ["Bash(git:*)"]}, "'Bash.*' is not the name of a tool; rules belong into"),
    ({"mcp_servers": "servers.json"}, r"a file belongs into mcp_config=\[…\]"),
    ({"mcp_servers": {"a": {"type": "sdk", "name": "a"}}}, "give the server object"),
    ({"mcp_servers": ["x"]}, r"Other servers need a name: mcp_servers=\{'name': …\}"),
    ({"system_prompt": {"type": "preset"}}, "system_prompt must be a string or a Path.*own prompt"),
    ({"settings": '{"a": '}, "settings looks like JSON, but is not"),
    ({"session_id": "my-session"}, "session_id must be a UUID such as .*got 'my-session'"),
    ({"hooks": {"PreToolUze": print}}, "hooks: .*; did you mean PreToolUse"),
    ({"on_permission": lambda a, b, c: None}, "on_permission must be a function of one argument"),
    ({"allow": ["Bsh"]}, "is about the tool Bsh, which is not known; did you mean Bash"),
    # rules and names that the CLI would read differently
    ({"allowed_tools": ["Read,Edit"]}, "must be a tool's name, or .*, got 'Read,Edit'"),
    ({"disallowed_tools": ["Bash(a)b"]}, "disallowed_tools: a rule must be"),
    (
        {"allowed_tools": ["Bash(echo (a) b)"]},
        r"would read 'Bash\(echo \(a\) b\)' as several.*\{'allow': \[…\]\}",
    ),
    ({"disallowed_tools": ["Bash(rm 'x),y')"]}, r"as several rules.*\{'deny': \[…\]\}"),
    ({"skills": ["x),Bash(rm:*"]}, "is not the name of a skill"),
    # servers and plugins
    ({"mcp_servers": {"a": {}}}, r"mcp_servers\['a'\] needs a command .* or its url"),
    ({"plugins": [{"type": "npm", "path": "x"}]}, "only local plugins exist, got 'npm'"),
    # conflicts
    ({"resume": SESSION, "continue_conversation": True}, "exclude each other"),
    ({"fork_session": True}, "fork_session needs resume or continue_conversation"),
    ({"resume_drops_turn": SESSION, "resume": SESSION}, "needs resume_session_at"),
    ({"session_mirror": True, "persist_session": False}, "persist_session=False keeps none"),
    ({"json_schema": {}, "output": int}, "output and json_schema exclude each other"),
    ({"skills": "all", "builtin_tools": ["Read"]}, "Skill, which builtin_tools does not name"),
    ({"settings": {"sandbox": {}}, "sandbox": {"enabled": True}}, "sandbox is described twice"),
    ({"settings": "s.json", "sandbox": {}, "remote": True}, "a file on another machine"),
    ({"allow": ["Read"], "policy": Policy()}, "policy and allow exclude each other"),
    # the command line
    ({"extra_args": {"--brief": None}}, "extra_args must be flags without dashes"),
    ({"extra_args": {"model": "opus"}}, "for --model there is the option model"),
    ({"extra_args": {"output-format": "text"}}, "the session itself sets --output-format"),
]


@pytest.mark.parametrize(
    ("wrong", "words"), REFUSED, ids=lambda it: ", ".join(it) if isinstance(it, dict) else it[:60]
)
def test_invalid_option_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        options(**wrong)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sytem_prompt", "did you mean system_prompt or append_system_prompt"),
        ("cli_path", "no option 'cli_path'; here it is cli$"),
        ("can_use_tool", "here it is on_permission, a function of one argument"),
        ("maxTurns", "no option 'maxTurns'; here it is max_turns$"),
        ("spawnClaudeCodeProcess", "here it is transport"),
        ("colour", "There is no option 'colour'$"),
    ],
)
@pytest.mark.parametrize("make", [Options, claudewire.open, sync.open, claudewire.Pool, sync.Pool])
def test_unknown_option_is_refused_with_a_hint(
    make: Callable[..., Any], name: str, words: str
) -> None:
    with pytest.raises(OptionsError, match=words):
        make(**{name: 1})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: untyped.open(5), "options must be Options(…), got int"),
        (lambda: untyped.open(transport=5), "transport must be a Transport, or a function"),
        (lambda: untyped.Pool(transport=SimulatedCLI()), "A pool needs a function that makes"),
        (lambda: untyped.Pool(size=-1), "size must be 0 or more, got -1"),
        (lambda: blocking.run("x", timeout="5"), "timeout must be a number, got '5'"),
        (lambda: blocking.run("x", tasks="kill"), "tasks is one of wait, ignore, cancel, not"),
        (lambda: run_async(untyped.run, 5), "prompt"),
        (lambda: untyped.StallTimeouts(grace=-1), "patience.grace must be 0 or more"),
        (lambda: untyped.UnreadLimit(high_water=0), "unread.high_water must be 1 or more"),
        (lambda: untyped.Price("3", 1, 1, 1), "Price.input must be a number"),
    ],
)
def test_invalid_argument_is_refused(make: Callable[[], object], words: str) -> None:
    with pytest.raises(OptionsError, match=re.escape(words)):
        make()


# --- accepted values -----------------------------------------------------------------------------


@each(st.text("Bash(), \tx:*'", max_size=20))
def test_accepted_rule_is_one_rule_to_the_cli_too(rule: str) -> None:
    try:
        (kept,) = options(allowed_tools=[rule]).allowed_tools
    except OptionsError:
        return
    flags = parse(["--output-format=stream-json", "--verbose", f"--allowedTools={kept}"])
    assert isinstance(flags, Flags)
    assert flags.allowed_tools == (kept,)


@pytest.mark.parametrize(
    ("field", "given_as", "kept"),
    [
        ("session_id", uuid.UUID(SESSION), SESSION),
        ("allowed_tools", {"Read", "Edit"}, ("Edit", "Read")),
        ("allowed_tools", [" Read ", "Bash(git log, all:*)", "Bash(x(y))"],
         ("Read", "Bash(git log, all:*)", "Bash(x(y))")),
        ("settings", '{"a": [1]}', {"a": [1]}),
        ("plugins", [{"path": "/p", "skipMcpDiscovery": True}], (PluginConfig("/p", True),)),
        ("system_prompt", "", ""),
        ("system_prompt", ["a", "b"], ("a", "b")),
        ("system_prompt", {"file": "/p.md"}, Path("/p.md")),
        ("builtin_tools", [], ()),
        ("cli", ["ssh", "host", "claude"], ("ssh", "host", "claude")),
        ("cli", Path("/bin/claude"), "/bin/claude"),
        ("extra_args", {"x": "", "y": ["a", "b"]}, {"x": "", "y": ("a", "b")}),
        ("env", {"A": None, "B": ""}, {"A": None, "B": ""}),
        ("patience", None, None),
        (
            "mcp_servers",
            {"a": McpHttpServerConfig("http://x", {"Authorization": "b"})},
            {"a": {"type": "http", "url": "http://x", "headers": {"Authorization": "b"}}},
        ),
    ],
)  # fmt: skip
def test_other_forms_are_accepted(field: str, given_as: Any, kept: Any) -> None:
    assert getattr(options(**{field: given_as}), field) == kept


def test_servers_inside_and_outside_share_one_option() -> None:
    calculator, clock = ToolServer("calculator"), ToolServer("clock")
    config = {"command": "serve"}
    chosen = options(mcp_servers={"sums": calculator, "files": config})
    assert hosted_servers(chosen) == {"sums": calculator}
    assert configured_servers(chosen) == {"files": config}
    assert hosted_servers(options(mcp_servers=[clock])) == {"clock": clock}
    with pytest.raises(OptionsError, match="two servers are called clock"):
        options(mcp_servers=[clock, ToolServer("clock")])


# --- secrets -------------------------------------------------------------------------------------

VALUE = "hunter2-and-more"
SECRET: list[dict[str, Any]] = [
    {"env": {"NAME": VALUE}},
    {"extra_args": {"name": VALUE}},
    {"mcp_servers": {"name": {"type": "http", "url": "http://x", "headers": {"X": VALUE}}}},
    {"settings": {"env": {"NAME": VALUE}}},
    {"agents": {"name": {"description": "d", "prompt": VALUE}}},
    {"append_subagent_system_prompt": VALUE},
    {"cli": ["docker", "run", "-e", f"ANTHROPIC_API_KEY={VALUE}", "claude"]},
]


@pytest.mark.parametrize("given", SECRET, ids=lambda given: next(iter(given)))
def test_repr_hides_secrets(given: dict[str, Any]) -> None:
    (name,) = given
    shown = repr(options(**given))
    assert VALUE not in shown
    assert f"{name}=" in shown


MISTAKEN: list[dict[str, Any]] = [
    *({name: VALUE} for name in ("env", "extra_args", "mcp_servers", "managed_settings", "agents")),
    *({name: {"a": [VALUE, object()]}} for name in ("env", "mcp_servers", "settings", "agents")),
    {"extra_args": {f"--flag={VALUE}": None}},
    {"mcp_servers": {"a": {"type": VALUE}}},
    {"append_system_prompt": {VALUE: VALUE}},
    {"agents": {"a": {"description": "d", "prompt": [VALUE]}}},
]


@pytest.mark.parametrize("given", MISTAKEN, ids=lambda given: next(iter(given)))
def test_error_hides_secrets(given: dict[str, Any]) -> None:
    (name,) = given
    with pytest.raises(OptionsError, match=name) as caught:
        options(**given)
    assert VALUE not in str(caught.value)


# --- files ---------------------------------------------------------------------------------------

FILE = """
[tool.other]
model = "not this one"

[tool.claudewire]
model = "opus"
allow = ["Read", "Bash(git log:*)"]
system_prompt = { file = "/prompts/system.md" }

[tool.claudewire.env]
LANG = "C"

[tool.claudewire.agents.poet]
description = "Use it for rhymes"
prompt = "You are a poet."
tools = ["Read"]
"""


def test_options_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(FILE, encoding="utf-8")
    assert Options.from_file(path, "tool.claudewire") == options(
        model="opus",
        allow=["Read", "Bash(git log:*)"],
        system_prompt=Path("/prompts/system.md"),
        env={"LANG": "C"},
        agents={"poet": AGENT},
    )
    path.write_text('model = "opus"', encoding="utf-8")
    assert Options.from_file(str(path)) == options(model="opus")


@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        ("model = ", "", "session.toml: cannot be read"),
        ("tool = 7", "tool.claudewire", "there is no table"),
        ("modell = 'opus'", "", "session.toml: There is no option 'modell'; did you mean model"),
    ],
)
def test_wrong_file_is_refused_by_its_name(
    text: str, table: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "session.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionsError, match=words):
        Options.from_file(path, table)
    with pytest.raises(OptionsError, match=r"none\.toml: cannot be read"):
        Options.from_file(tmp_path / "none.toml")
