"""Options: what they may be, that they stay as they are, and where they come from."""

from __future__ import annotations

import copy
import inspect
import math
import os
import pickle
import re
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as each
from hypothesis import strategies as st
from msgspec.structs import asdict
from tests.options.every_option import AGENT, NAMES, SCHEMA, SESSION, alone, every_option

from claudewire.errors import Error, OptionsError
from claudewire.launch.argv import arguments
from claudewire.launch.private_files import PrivateFiles
from claudewire.options import (
    DECLARATIONS,
    Options,
    OptionsDict,
    OptionsWithoutOutput,
    Patience,
    Timeouts,
    Unread,
    configured_servers,
    hosted_servers,
    thaw,
)
from claudewire.options.frozen import EMPTY, FrozenMap, freeze
from claudewire.options.options import given_options
from claudewire.policy import Policy
from claudewire.simulator.flags import Flags, parse
from claudewire.tools import ToolServer
from claudewire.wire import AgentDefinition, McpHttpServerConfig, PluginConfig


def options(**given: Any) -> Options:
    return Options(**given)


def from_mapping(**given: Any) -> Options:
    return Options.from_mapping(given)


# --- the fields ----------------------------------------------------------------------------------


def test_the_usual_times_and_limits_are_those_that_users_rely_on() -> None:
    assert asdict(Options().timeouts) == {
        "start": 60.0,
        "request": 60.0,
        "interrupt": 30.0,
        "exit": 5.0,
        "terminate": 5.0,
        "kill": 5.0,
        "drain": 2.0,
    }
    assert asdict(Patience()) == {
        "first_token": 120.0,
        "next_token": 120.0,
        "tool": 900.0,
        "person": None,
        "answer": 120.0,
        "action": "warn",
        "grace": 0.0,
    }
    assert asdict(Unread()) == {"high_water": 10_000, "policy": "keep"}
    assert Options().timeouts == Timeouts()
    assert Options().unread == Unread()


def test_the_dict_for_keyword_arguments_mirrors_the_fields() -> None:
    hints = {name: hint.__forward_arg__ for name, hint in OptionsDict.__annotations__.items()}
    assert hints == Options.__annotations__
    names = [name for name in DECLARATIONS if name != "output"]
    assert list(OptionsWithoutOutput.__annotations__) == names
    assert OptionsDict.__required_keys__ == frozenset()


def test_every_option_is_documented() -> None:
    source = inspect.getsource(Options)
    documented = re.findall(r'^    (\w+): .*?\)\n    """', source, re.M | re.S)
    assert documented == list(DECLARATIONS)


def test_there_is_an_example_of_every_option(tmp_path: Path) -> None:
    assert list(every_option(tmp_path)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_option_is_taken_and_kept(name: str, tmp_path: Path) -> None:
    chosen = options(**alone(every_option(tmp_path), name))

    assert name in dict(given_options(chosen))
    assert chosen.replace() == chosen
    assert hash(chosen.replace()) == hash(chosen)
    assert chosen != Options()


@pytest.mark.parametrize("name", NAMES)
def test_options_can_be_copied_and_sent_to_another_process(name: str, tmp_path: Path) -> None:
    chosen = options(**alone(every_option(tmp_path), name))

    assert copy.deepcopy(chosen) == chosen
    assert pickle.loads(pickle.dumps(chosen)) == chosen


@pytest.mark.parametrize("name", NAMES)
def test_an_option_of_a_strange_type_is_refused_by_name(name: str, tmp_path: Path) -> None:
    example = every_option(tmp_path)
    with pytest.raises(OptionsError, match=re.escape(name)):
        options(**{**alone(example, name), name: object()})


def test_nothing_is_given_by_default() -> None:
    assert list(given_options(Options())) == []
    assert Options().system_prompt is None


# --- that they stay as they are ------------------------------------------------------------------


def test_a_field_cannot_be_set() -> None:
    with pytest.raises(AttributeError, match="Options cannot change; make a copy with replace"):
        Options().model = "opus"  # type: ignore[misc]
    with pytest.raises(AttributeError, match="Options cannot change; make a copy with replace"):
        del Options(model="opus").model
    assert Options(model="opus").model == "opus"


def test_what_the_caller_changes_later_changes_nothing() -> None:
    rules, variables, dirs = ["Read"], {"A": "1"}, ["."]
    servers: dict[str, Any] = {"files": {"command": "serve", "args": ["a"], "env": {"K": "v"}}}
    settings: dict[str, Any] = {"permissions": {"deny": ["Bash"]}}
    agents: dict[str, Any] = {"poet": {**AGENT, "tools": ["Read"]}}
    made = AgentDefinition("When to", "What to", tools=["Read"])
    agents["made"] = made
    chosen = options(
        allowed_tools=rules,
        env=variables,
        add_dirs=dirs,
        mcp_servers=servers,
        settings=settings,
        agents=agents,
    )
    before = copy.deepcopy(chosen)

    rules.append("Bash")
    variables["A"] = "2"
    dirs.clear()
    servers["files"]["args"].append("b")
    servers["files"]["env"]["K"] = "w"
    settings["permissions"]["deny"].clear()
    agents["poet"]["tools"].append("Bash")
    assert made.tools is not None
    made.tools.append("Bash")
    agents.clear()

    assert chosen == before
    assert chosen.allowed_tools == ("Read",)
    assert chosen.agents["made"].tools == ("Read",)  # type: ignore[union-attr]


def test_options_equal_only_options() -> None:
    assert Options() == Options()
    assert Options(model="a") != Options(model="b")
    assert Options() != 5
    assert Options().__eq__(5) is NotImplemented


def test_what_is_kept_cannot_be_changed() -> None:
    chosen = options(env={"A": "1"}, settings={"permissions": {"deny": ["Bash"]}})

    with pytest.raises(TypeError):
        chosen.env["A"] = "2"  # type: ignore[index]
    with pytest.raises(TypeError):
        chosen.settings["permissions"]["deny"] = ()  # type: ignore[index]


def test_the_current_directory_may_change_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = options(cwd="here", add_dirs=["~/there"], settings="s.json", system_prompt=Path("p"))

    assert chosen.cwd == str(tmp_path / "here")
    assert chosen.add_dirs == (str(Path.home() / "there"),)
    assert chosen.settings == str(tmp_path / "s.json")
    assert chosen.system_prompt == tmp_path / "p"


def test_paths_on_another_machine_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = options(remote=True, cwd="here", add_dirs=["~/there"], plugins=["p"])

    assert chosen.cwd == str(tmp_path / "here")
    assert chosen.add_dirs == ("~/there",)
    assert chosen.plugins == (PluginConfig("p"),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)  # fmt: skip


@each(JSON)
def test_whatever_json_can_hold_freezes_and_thaws(value: Any) -> None:
    frozen = freeze(value)

    assert thaw(frozen) == value
    assert freeze(frozen) == frozen
    hash(frozen)


def test_a_frozen_map_is_a_mapping() -> None:
    frozen = FrozenMap({"a": 1, "b": 2})

    assert frozen == {"a": 1, "b": 2}
    assert (len(frozen), list(frozen), frozen["a"]) == (2, ["a", "b"], 1)
    assert hash(frozen) == hash(FrozenMap({"b": 2, "a": 1})) == hash(frozen)
    assert repr(frozen) == "{'a': 1, 'b': 2}"
    assert EMPTY == {}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": {1, 2}}, r"\$\.a is a set"),
        ({"a": [b"x"]}, r"\$\.a\[0\] is a bytes"),
        ({1: "a"}, "in JSON a key is a string"),
        ([float("nan")], r"\$\[0\] is nan"),
        ("\ud800", r"half a character \(U\+D800\)"),
        ({"\udfff": 1}, r"half a character \(U\+DFFF\)"),
    ],
)
def test_what_json_has_no_form_for_is_named(value: Any, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        freeze(value)


def test_what_is_nested_too_deeply_is_refused_long_before_python_would() -> None:
    def nested(levels: int) -> list[Any]:
        return [nested(levels - 1)] if levels else []

    def mapped(levels: int) -> dict[str, Any]:
        return {"a": mapped(levels - 1)} if levels else {}

    def structured(levels: int) -> PluginConfig:
        return PluginConfig(structured(levels - 1) if levels else "")  # type: ignore[arg-type]

    for make, most in ((nested, 199), (mapped, 199), (structured, 198)):
        assert freeze(make(most))
        with pytest.raises(OptionsError, match="nested too deeply"):
            freeze(make(most + 1))


# --- what is refused -----------------------------------------------------------------------------

ITSELF: dict[str, Any] = {}
ITSELF["itself"] = ITSELF


class Bytes(os.PathLike[bytes]):
    def __fspath__(self) -> bytes:
        return b"x"


REFUSED: list[tuple[dict[str, Any], str]] = [
    # conversations
    (
        {"resume": SESSION, "continue_conversation": True},
        "resume and continue_conversation name two",
    ),
    ({"session_id": "my-session"}, "session_id must be a UUID such as .*not 'my-session'"),
    ({"session_id": SESSION.replace("-", "")}, "session_id must be a UUID"),
    ({"session_id": f"{{{SESSION}}}"}, "session_id must be a UUID"),
    ({"session_id": 7}, "session_id must be a string, not 7"),
    ({"session_id": SESSION, "resume": SESSION}, "session_id .* also needs fork_session=True"),
    ({"session_id": SESSION, "continue_conversation": True}, "needs fork_session=True"),
    ({"fork_session": True}, "fork_session needs a conversation"),
    ({"resume_session_at": SESSION}, "resume_session_at needs resume"),
    ({"resume_drops_turn": SESSION, "resume": SESSION}, "needs resume_session_at"),
    ({"resume": ""}, "resume is empty; leave it out"),
    ({"session_mirror": True, "persist_session": False}, "persist_session=False keeps nothing"),
    ({"session_mirror": True, "enable_file_checkpointing": True}, "does not work together"),
    # the model
    ({"model": "opus", "fallback_model": "opus"}, "fallback_model must be another .*'opus'"),
    ({"model": "opus", "fallback_model": "haiku,opus"}, "fallback_model must be another"),
    ({"model": "opus", "fallback_model": ["haiku", "opus"]}, "fallback_model must be another"),
    ({"fallback_model": ["a,b"]}, "fallback_model: 'a,b' has a space or a comma in it"),
    ({"model": 4}, "model must be a string, not 4"),
    ({"model": "a\0b"}, "model contains a NUL"),
    ({"model": "a\ud800"}, "model holds half a character"),
    ({"effort": "huge"}, "effort must be one of 'low', .*'max', not 'huge'"),
    ({"thinking": 0}, "thinking must be 1024 or more, not 0: .*'disabled' turns"),
    ({"thinking": -5}, "thinking must be 1024 or more"),
    ({"thinking": "enabled"}, "thinking must be one of 'adaptive', 'disabled'"),
    ({"thinking": {"type": "adaptive"}}, "thinking must be a whole number"),
    ({"thinking": "disabled", "thinking_display": "omitted"}, "thinking_display has nothing"),
    ({"max_turns": 0}, "max_turns must be 1 or more, not 0"),
    ({"max_turns": -1}, "max_turns must be 1 or more"),
    ({"max_turns": True}, r"max_turns must be a whole number \(1 or more\), not True"),
    ({"max_turns": 2.5}, "max_turns must be a whole number"),
    ({"max_turns": "3"}, "max_turns must be a whole number .*not '3'"),
    ({"max_budget_usd": 0}, "max_budget_usd must be more than 0"),
    ({"max_budget_usd": -0.5}, "max_budget_usd must be more than 0"),
    ({"max_budget_usd": float("inf")}, "max_budget_usd must be more than 0"),
    ({"max_budget_usd": "1"}, "max_budget_usd must be a number of dollars"),
    ({"task_budget": 0}, "task_budget must be 1 or more"),
    ({"autocompact": 50_000}, "autocompact must be 100000 to 1000000, not 50000"),
    ({"autocompact": "never"}, "autocompact must be one of 'auto'"),
    ({"betas": ["a b"]}, "betas: 'a b' has a space or a comma in it"),
    # prompts
    ({"system_prompt": {"type": "preset"}}, "system_prompt must be a string or a Path.*own prompt"),
    ({"system_prompt": {"file": 7}}, "system_prompt.file must be a path"),
    ({"system_prompt": 7}, "system_prompt must be a string"),
    ({"append_system_prompt": "a\0"}, "append_system_prompt contains a NUL"),
    (
        {"system_prompt": "x", "exclude_dynamic_sections": True},
        "exclude_dynamic_sections is about the CLI's own prompt",
    ),
    ({"json_schema": "{}"}, "json_schema must be a mapping"),
    ({"json_schema": {"enum": {1, 2}}}, "json_schema.enum is a set"),
    ({"json_schema": ITSELF}, "json_schema is nested too deeply, or holds itself"),
    ({"json_schema": {"const": math.inf}}, "json_schema.const is inf, which JSON cannot express"),
    ({"json_schema": {}, "output": int}, "output and json_schema both say what the output is"),
    # tools
    (
        {"allowed_tools": "Read"},
        r"allowed_tools must be a list; did you mean \['Read'\]",
    ),
    ({"allowed_tools": [""]}, r"allowed_tools\[0\] is empty"),
    ({"allowed_tools": b"Read"}, "allowed_tools must be a list"),
    ({"allowed_tools": [7]}, r"allowed_tools\[0\] must be a string"),
    ({"allowed_tools": ["Read,Edit"]}, "the rule 'Read,Edit' is not a tool's name"),
    ({"allowed_tools": ["Read Edit"]}, "the rule 'Read Edit' is not a tool's name"),
    ({"disallowed_tools": ["Bash("]}, "disallowed_tools: the rule .* is not"),
    ({"disallowed_tools": ["Bash(a)b"]}, "disallowed_tools: the rule .* is not"),
    (
        {"allowed_tools": ["Bash(echo (a) b)"]},
        r"would take the rule 'Bash\(echo \(a\) b\)' for several.*\{'allow': \[…\]\}",
    ),
    ({"disallowed_tools": ["Bash(rm 'x),y')"]}, r"for several rules.*\{'deny': \[…\]\}"),
    ({"builtin_tools": ["Bash(git:*)"]}, "'Bash.*' is not the name of a tool; rules belong into"),
    ({"builtin_tools": ["Read,Edit"]}, "'Read,Edit' is not the name of a tool$"),
    ({"builtin_tools": "Read"}, "builtin_tools must be a list; did you mean"),
    ({"permission_mode": "yolo"}, "permission_mode must be one of 'default'"),
    ({"permission_mode": "bypassPermissions", "restricted": True}, "restricted refuses"),
    ({"restricted": True, "allow_dangerously_skip_permissions": True}, "restricted refuses allow"),
    ({"tool_aliases": {"Bash": 1}}, r"tool_aliases\['Bash'\] must be a string"),
    ({"skills": ["a b"]}, "skills: 'a b' is not the name of a skill"),
    ({"skills": ["x),Bash(rm:*"]}, "is not the name of a skill"),
    ({"skills": ["--flag"]}, "is not the name of a skill"),
    ({"skills": "pdf"}, "skills must be a list"),
    ({"skills": ["pdf"], "disable_slash_commands": True}, "takes away all skills"),
    ({"skills": "all", "builtin_tools": ["Read"]}, "Skill, which builtin_tools does not name"),
    # servers, agents, plugins
    ({"mcp_servers": "servers.json"}, r"a file goes to mcp_config=\[…\]"),
    ({"mcp_servers": {"a": {}}}, r"mcp_servers\['a'\] needs a command .* or its url"),
    (
        {"mcp_servers": {"a": {"type": "sdk", "name": "a"}}},
        "give the server object",
    ),
    ({"mcp_servers": {"": {"command": "x"}}}, "the name '' in mcp_servers is empty"),
    ({"mcp_servers": {"a": ["x"]}}, r"mcp_servers\['a'\] must be a mapping"),
    ({"mcp_servers": ["x"]}, r"mcp_servers\[0\] is not a ToolServer"),
    ({"mcp_servers": {"a": {"url": "x", "headers": ["y"]}}}, "must be a mapping from strings"),
    ({"mcp_servers": {"a": McpHttpServerConfig("x", {1: "y"})}}, "in JSON a key is a string"),  # type: ignore[dict-item]
    ({"allowed_tools": {1, "Read"}}, "must be a string, not 1"),
    ({"mcp_config": "servers.json"}, "mcp_config must be a list; did you mean"),
    ({"mcp_config": 7}, "mcp_config must be a list, not 7"),
    ({"agents": {"a": {"prompt": "x"}}}, r"agents\['a'\] needs a description"),
    ({"agents": {"a": {**AGENT, "colour": "red"}}}, "has no 'colour'; it may have .*background"),
    ({"agents": {"a": {**AGENT, "tools": "Read"}}}, r"agents\['a'\] is wrong: Expected `array"),
    ({"agents": {"a": AgentDefinition("d", 7)}}, "agents.* is wrong: Expected `str"),  # type: ignore[arg-type]
    ({"agents": {"a": AgentDefinition("d", "p", tools={1})}}, "tools is a set"),  # type: ignore[arg-type]
    ({"agents": {"a": {**AGENT, "tools": {"Read"}}}}, "tools is a set"),
    ({"agents": {"a": "poet"}}, "must be an Agent or a mapping"),
    ({"agents": {7: AGENT}}, "the name 7 in agents must be a string"),
    ({"plugins": "dir"}, "plugins must be a list"),
    ({"plugins": [7]}, r"plugins\[0\] must be the path of a plugin"),
    ({"plugins": [{"type": "npm", "path": "x"}]}, "there are only local plugins, not 'npm'"),
    ({"plugin_delivery": "post"}, "plugin_delivery must be one of 'flags', 'initialize'"),
    # settings
    ({"setting_sources": ["managed"]}, r"setting_sources\[0\] must be one of 'user', 'project'"),
    ({"setting_sources": "user"}, "setting_sources must be a list"),
    ({"settings": '{"a": '}, "settings looks like JSON, but is not"),
    ({"settings": '{"\ud800": 1}'}, r"settings .*half a character"),
    ({"settings": ["x"]}, "settings must be a path"),
    ({"settings": {"sandbox": {}}, "sandbox": {}}, "the sandbox is described twice"),
    ({"settings": "s.json", "sandbox": {}, "remote": True}, "a file that is not here"),
    # the environment and the command line
    ({"env": {"A=B": "x"}}, "the name of a variable cannot hold '=': 'A=…'"),
    ({"env": {"": "x"}}, "the name '' in env is empty"),
    ({"env": {"A": 1}}, r"env\['A'\] must be a string, or None"),
    ({"env": {"A": "x\0"}}, r"env\['A'\] contains a NUL"),
    ({"env": ["A=B"]}, "env must be a mapping"),
    ({"cli": []}, "cli is an empty command"),
    ({"cli": 7}, "cli must be a list"),
    ({"cwd": ""}, "cwd must be a path, not ''"),
    ({"cwd": "a\0b"}, "cwd must be a path"),
    ({"cwd": "a\ud800"}, "cwd must be a path"),
    ({"env": {"A": "a\ud800"}}, r"env\['A'\] contains a NUL or half"),
    ({"cwd": b"x"}, "cwd must be a path, not b'x'"),
    ({"cwd": Bytes()}, "cwd must be a path as a string, not as bytes: b'x'"),
    (
        {"extra_args": {"--brief": None}},
        "'--brief' is not a flag; it is written without its dashes",
    ),
    ({"extra_args": {"brief=x": None}}, "is not a flag"),
    ({"extra_args": {"brief": True}}, r"extra_args\['brief'\] must be a string"),
    ({"extra_args": {"brief": {"a": 1}}}, r"extra_args\['brief'\] must be a string"),
    ({"extra_args": {"model": "opus"}}, "for --model there is the option model"),
    ({"extra_args": {"system-prompt": "x"}}, "there is the option system_prompt"),
    ({"extra_args": {"output-format": "text"}}, "--output-format is set by the session"),
    ({"extra_args": {"permission-prompt-tool": "x"}}, "is set by the session"),
    ({"include_partial_messages": 1}, "include_partial_messages must be True or False, not 1"),
    ({"persist_session": None}, "persist_session must be True or False, not None"),
    ({"debug": 2}, "debug must be True or False"),
]


@pytest.mark.parametrize(
    ("wrong", "words"), REFUSED, ids=lambda it: ", ".join(it) if isinstance(it, dict) else it[:60]
)
def test_what_makes_no_sense_is_refused_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionsError, match=words) as caught:
        options(**wrong)
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    "flag",
    [
        "await-claim",
        "help",
        "input-format",
        "output-format",
        "permission-prompt-tool",
        "print",
        "sdk-url",
        "verbose",
        "version",
    ],
)
def test_flags_that_decide_how_the_cli_talks_are_refused(flag: str) -> None:
    with pytest.raises(OptionsError, match=f"--{flag} is set by the session"):
        options(extra_args={flag: None})


@pytest.mark.parametrize(
    "secret",
    [
        {"env": {"KEY": ["hunter2-secret"]}},
        {"mcp_servers": {"a": {"url": "http://x", "headers": {"Key": ["hunter2-secret"]}}}},
        {"mcp_servers": {"a": {"command": "x", "env": {"K": ["hunter2-secret"]}}}},
        {"extra_args": {"x": {"k": "hunter2-secret"}}},
    ],
)
def test_a_refusal_does_not_quote_what_may_be_secret(secret: dict[str, Any]) -> None:
    with pytest.raises(OptionsError) as caught:
        options(**secret)
    assert "hunter2" not in str(caught.value)


JUNK = st.recursive(
    JSON | st.binary() | st.floats() | st.text() | st.sets(st.text() | st.integers()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)


@each(st.sampled_from(NAMES), JUNK)
def test_whatever_an_option_is_given_it_is_taken_or_refused_with_its_name(
    name: str, value: Any
) -> None:
    try:
        chosen = options(**{name: value})
    except OptionsError as error:
        refused = str(error)
        assert name in refused
    else:
        hash(chosen)
        repr(chosen)
        with PrivateFiles() as files, suppress(OptionsError):
            arguments(chosen, files)


def test_a_long_wrong_value_is_cut_short() -> None:
    with pytest.raises(OptionsError) as caught:
        options(effort="x" * 5000)
    assert len(str(caught.value)) < 300


# --- what is taken -------------------------------------------------------------------------------


def test_rules_with_commas_in_brackets_are_taken() -> None:
    rules = ("Bash(git log, all:*)", "mcp__x__y", "Bash(a))", "Read(/tmp/a b)", "Bash(x(y))")
    assert options(allowed_tools=rules).allowed_tools == rules


@each(st.text("Bash(), \tx:*'", max_size=20))
def test_a_rule_that_is_taken_is_one_rule_to_the_cli_too(rule: str) -> None:
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
        ("session_id", SESSION.upper(), SESSION.upper()),
        ("allowed_tools", {"Read", "Edit"}, ("Edit", "Read")),
        ("allowed_tools", [" Read "], ("Read",)),
        ("settings", '{"a": [1]}', {"a": (1,)}),
        ("plugins", [{"path": "/p", "skip_mcp_discovery": True}], (PluginConfig("/p", True),)),
        ("plugins", [{"path": "/p", "skipMcpDiscovery": True}], (PluginConfig("/p", True),)),
        ("system_prompt", "", ""),
        ("system_prompt", ["a", "b"], ("a", "b")),
        ("system_prompt", {"file": "/p.md"}, Path("/p.md")),
        ("append_system_prompt", Path("/p.md"), Path("/p.md")),
        ("thinking", 4096, 4096),
        ("autocompact", "auto", "auto"),
        ("skills", "all", "all"),
        ("builtin_tools", "default", "default"),
        ("builtin_tools", [], ()),
        ("setting_sources", [], ()),
        ("debug", True, True),
        ("worktree", True, True),
        ("cli", "simulated", "simulated"),
        ("cli", ["ssh", "host", "claude"], ("ssh", "host", "claude")),
        ("cli", Path("/bin/claude"), "/bin/claude"),
        ("extra_args", {"x": ""}, {"x": ""}),
        ("extra_args", {"x": ["a", "b"]}, {"x": ("a", "b")}),
        ("env", {"A": None, "B": "\udcff"}, {"A": None, "B": "\udcff"}),
        ("model", "-dash", "-dash"),
        (
            "mcp_servers",
            {"a": McpHttpServerConfig("http://x", {"Authorization": "b"})},
            {"a": {"type": "http", "url": "http://x", "headers": {"Authorization": "b"}}},
        ),
    ],
)
def test_other_forms_are_taken(field: str, given_as: Any, kept: Any) -> None:
    assert getattr(options(**{field: given_as}), field) == kept


def test_servers_inside_this_process_and_outside_share_one_option() -> None:
    calculator, clock = ToolServer("calculator"), ToolServer("clock")
    config = {"command": "serve"}

    chosen = options(mcp_servers={"sums": calculator, "files": config})

    assert hosted_servers(chosen) == {"sums": calculator}
    assert configured_servers(chosen) == {"files": config}
    assert hosted_servers(options(mcp_servers=[clock])) == {"clock": clock}
    with pytest.raises(OptionsError, match="two MCP servers called clock"):
        options(mcp_servers=[clock, ToolServer("clock")])


def test_an_agent_may_be_spelt_as_on_the_wire_or_as_in_python() -> None:
    wire = {**AGENT, "disallowedTools": ["Bash"], "maxTurns": 3}
    python = {**AGENT, "disallowed_tools": ["Bash"], "max_turns": 3}

    (agent,) = options(agents={"poet": wire}).agents.values()

    assert isinstance(agent, AgentDefinition)
    assert agent.max_turns == 3
    assert list(agent.disallowed_tools or ()) == ["Bash"]
    assert options(agents={"poet": python}) == options(agents={"poet": wire})


# --- how they are shown --------------------------------------------------------------------------


def test_repr_shows_what_was_given_and_no_secrets() -> None:
    shown = repr(
        options(
            model="opus",
            env={"ANTHROPIC_API_KEY": "hunter2-key"},
            mcp_servers={"web": {"url": "http://x", "headers": {"Authorization": "hunter2-token"}}},
            settings={"env": {"TOKEN": "hunter2-setting"}},
            managed_settings={"k": "hunter2-managed"},
            extra_args={"token": "hunter2-arg"},
            agents={"poet": {**AGENT, "mcpServers": [{"s": {"env": {"K": "hunter2-agent"}}}]}},
            cli=["docker", "run", "-e", "ANTHROPIC_API_KEY=hunter2-cli", "claude"],
            system_prompt="Long. " * 50,
        )
    )

    assert "hunter2" not in shown
    assert shown.startswith("Options(cli=('docker'")
    assert "model='opus'" in shown
    assert "env={'ANTHROPIC_API_KEY': …}" in shown
    assert "mcp_servers={'web': …}" in shown
    assert len(shown) < 500
    assert repr(Options()) == "Options()"


def test_the_home_directory_stays_readable_in_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    shown = repr(options(cwd="/home/ann", fallback_model="In /home/ann. " * 50))
    assert "cwd='/home/ann'" in shown
    assert "fallback_model='In /home/ann. In" in shown


VALUE = "hunter2-and-more"
HELD: list[dict[str, Any]] = [
    {"env": {"NAME": VALUE}},
    {"extra_args": {"name": VALUE}},
    {"mcp_servers": {"name": {"type": "http", "url": "http://x", "headers": {"X": VALUE}}}},
    {"mcp_servers": {"name": {"command": "x", "args": [VALUE], "env": {"X": VALUE}}}},
    {"settings": {"env": {"NAME": VALUE}}},
    {"managed_settings": {"env": {"NAME": VALUE}}},
    {"agents": {"name": {"description": "d", "prompt": VALUE}}},
    {"system_prompt": VALUE},
    {"system_prompt": [VALUE]},
    {"append_system_prompt": VALUE},
    {"append_subagent_system_prompt": VALUE},
]


@pytest.mark.parametrize("given", HELD, ids=lambda given: next(iter(given)))
def test_values_that_may_be_secret_are_not_shown(given: dict[str, Any]) -> None:
    shown = repr(options(**given))
    assert VALUE not in shown
    (name,) = given
    assert f"{name}=" in shown


MISTAKEN: list[dict[str, Any]] = [
    *({name: VALUE} for name in ("env", "extra_args", "mcp_servers", "managed_settings", "agents")),
    *({name: [VALUE]} for name in ("env", "extra_args", "mcp_servers", "settings", "agents")),
    *({name: {"a": [VALUE, object()]}} for name in ("env", "mcp_servers", "settings", "agents")),
    *({name: {"a": VALUE}} for name in ("mcp_servers", "agents", "system_prompt")),
    {"env": {f"A={VALUE}": "x"}},
    {"extra_args": {f"--flag={VALUE}": None}},
    {"extra_args": {"flag": {VALUE: VALUE}}},
    {"mcp_servers": {"a": {"type": "http", "url": [VALUE]}}},
    {"mcp_servers": {"a": {"type": VALUE}}},
    {"append_system_prompt": {VALUE: VALUE}},
    {"agents": {"a": {"description": "d", "prompt": [VALUE]}}},
]


@pytest.mark.parametrize("given", MISTAKEN, ids=lambda given: next(iter(given)))
def test_an_error_does_not_show_values_that_may_be_secret(given: dict[str, Any]) -> None:
    with pytest.raises(OptionsError) as caught:
        options(**given)
    assert VALUE not in str(caught.value)
    (name,) = given
    assert name in str(caught.value)


# --- changes, keyword arguments and files --------------------------------------------------------


def test_replace_gives_other_options_and_checks_them() -> None:
    first = options(model="opus", resume=SESSION)
    second = first.replace(resume=None, max_turns=3)

    assert (first.resume, first.max_turns) == (SESSION, None)
    assert (second.model, second.resume, second.max_turns) == ("opus", None, 3)
    with pytest.raises(OptionsError, match="fallback_model"):
        first.replace(fallback_model="opus")
    with pytest.raises(OptionsError, match="no option 'modle'; did you mean model"):
        first.replace(modle="x")  # type: ignore[call-arg]
    assert first.__replace__(max_turns=3) == first.replace(max_turns=3)  # as `copy.replace` does


def test_allow_ask_and_deny_make_a_policy() -> None:
    rules: dict[str, Any] = {"allow": ["Read"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]}

    chosen = options(**rules)

    assert chosen.policy == Policy(**rules)
    assert chosen.replace(allow=["Grep"]).policy == Policy(**{**rules, "allow": ["Grep"]})
    assert chosen.replace(allow=[], ask=[], deny=[]).policy is None
    assert repr(options(allow=["Read"])) == "Options(allow=('Read',))"
    assert (chosen.allowed_tools, chosen.disallowed_tools) == ((), ())


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"allow": ["Read"], "policy": Policy()}, "policy and allow, ask or deny both say"),
        ({"allow": "Read"}, r"allow must be a list; did you mean \['Read'\]"),
        ({"deny": [7]}, r"deny\[0\] must be a string"),
        ({"ask": None}, "ask must be a list"),
        ({"allow": ["Bash("]}, r"Bash\("),
    ],
)
def test_rules_that_make_no_policy_are_refused(rules: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        options(**rules)
    with pytest.raises(OptionsError, match=words):
        Options().replace(**rules)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sytem_prompt", "did you mean system_prompt or append_system_prompt"),
        ("cli_path", "no option 'cli_path'; here it is cli$"),
        ("output_format", "here it is output, a type or a JSON schema"),
        ("functions", "here it is tools$"),
        ("maxTurns", "no option 'maxTurns'; here it is max_turns$"),
        ("abort_controller", r"here it is session\.interrupt\(\)"),
        ("additionalDirectories", "here it is add_dirs$"),
        ("continue", "here it is continue_conversation$"),
        ("debug_stderr", "here it is on_stderr$"),
        ("executable", r"here it is cli=\['node', 'cli\.js'\]$"),
        ("executableArgs", r"here it is cli=\['node', …, 'cli\.js'\]$"),
        ("max_buffer_size", "here it is max_line$"),
        ("max_thinking_tokens", "here it is thinking$"),
        ("pathToClaudeCodeExecutable", "here it is cli$"),
        ("permission_prompt_tool_name", "here it is nothing"),
        ("prompt", "here it is the first argument of run"),
        ("servers", "here it is mcp_servers$"),
        ("spawnClaudeCodeProcess", "here it is transport"),
        ("stderr", "here it is on_stderr$"),
        ("timeout", "here it is timeouts=Timeouts"),
        ("user", r"here it is transport=functools\.partial"),
        ("workingDirectory", "here it is cwd$"),
        ("canUseTool", "here it is on_permission"),
        ("add-dirs", "here it is add_dirs$"),
        ("colour", "There is no option 'colour'$"),
    ],
)
@pytest.mark.parametrize(
    "make", [options, lambda **it: Options.from_mapping(it), Options().replace]
)
def test_an_unknown_option_is_refused_with_a_hint(make: Any, name: str, words: str) -> None:
    with pytest.raises(OptionsError, match=words):
        make(**{name: 1})


FILE = """
[tool.other]
model = "not this one"

[tool.claudewire]
model = "opus"
allow = ["Read", "Bash(git log:*)"]
max_turns = 5
system_prompt = { file = "/prompts/system.md" }
thinking = 2048

[tool.claudewire.env]
LANG = "C"

[tool.claudewire.agents.poet]
description = "Use it for rhymes"
prompt = "You are a poet."
disallowed_tools = ["Bash"]

[tool.claudewire.mcp_servers.files]
command = "serve"
args = ["--all"]
"""


def test_options_are_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_text(FILE, encoding="utf-8")

    read = Options.from_file(path, "tool.claudewire")

    assert read == options(
        model="opus",
        allow=["Read", "Bash(git log:*)"],
        max_turns=5,
        system_prompt=Path("/prompts/system.md"),
        thinking=2048,
        env={"LANG": "C"},
        agents={"poet": {**AGENT, "tools": None, "disallowed_tools": ["Bash"]}},
        mcp_servers={"files": {"command": "serve", "args": ["--all"]}},
    )


def test_a_whole_file_can_be_options(tmp_path: Path) -> None:
    path = tmp_path / "session.toml"
    path.write_text('model = "opus"', encoding="utf-8")
    assert Options.from_file(str(path)) == options(model="opus")


@pytest.mark.parametrize(
    ("text", "table", "words"),
    [
        ("model = ", "", "session.toml: cannot be read"),
        (f"model = {'[' * 100_000}", "", "session.toml: cannot be read"),
        ("model = 'opus'", "tool.claudewire", r"toml: there is no table \[tool.claudewire\]"),
        ("tool = 7", "tool.claudewire", "there is no table"),
        ("modell = 'opus'", "", "session.toml: There is no option 'modell'; did you mean model"),
        ("max_turns = '3'", "", "session.toml: max_turns must be a whole number"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(
    text: str, table: str, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "session.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(OptionsError, match=words):
        Options.from_file(path, table)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionsError, match=r"none\.toml: cannot be read"):
        Options.from_file(tmp_path / "none.toml")


def test_a_mapping_that_is_no_dict_will_do() -> None:
    class Table(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return {"model": "opus"}[key]

        def __iter__(self) -> Any:
            return iter(["model"])

        def __len__(self) -> int:
            return 1

    assert Options.from_mapping(Table()) == options(model="opus")
    assert options(json_schema=FrozenMap(SCHEMA)).json_schema == freeze(SCHEMA)


def test_a_set_is_taken_in_order() -> None:
    tools = {"Write", "Bash", "Read", "Edit", "Glob", "Grep"}
    assert options(deny=tools).deny == tuple(sorted(tools))
    assert options(deny=frozenset(tools)).deny == tuple(sorted(tools))
    with pytest.raises(OptionsError, match=r"deny\[1\] must be a string, not 5"):
        options(deny={5, "Read"})


def test_settings_that_are_nested_too_deeply_are_refused() -> None:
    with pytest.raises(OptionsError, match=r"settings looks like JSON, but is not: .*recursion"):
        options(settings='{"a":' * 100_000)
