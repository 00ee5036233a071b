"""What is said of every value of every option: see tests/helpers/kept.py."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, normal
from tests.options.every_option import NAMES, alone, every_option

from claudewire.errors import OptionsError
from claudewire.options import DECLARATIONS, Agent, Options
from claudewire.options.conflicts import FIXED_FLAGS
from claudewire.options.declaration import Declaration
from claudewire.options.hints import _CALLED_OTHERWISE, unknown_option
from claudewire.options.versions import MEASURED, may_ignore, unsupported
from claudewire.wire import AgentDefinition, McpStdioServerConfig, PluginConfig

VALUES: dict[str, Any] = {
    "none": None,
    "true": True,
    "zero": 0,
    "negative": -1,
    "fraction": 1.5,
    "infinite": float("inf"),
    "empty": "",
    "word": "word",
    "with-a-zero": "a\0b",
    "not-UTF-8": "\udcff",
    "dash": "--x",
    "bytes": b"a",
    "list": ["a", 1],
    "words": ["a", "b c", "d,e"],
    "mapping": {"a": 1},
    "nested": {"a": {"type": "odd"}},
    "number-as-key": {1: "a"},
    "object": object,
}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_said_of_a_value_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    told: dict[str, list[str]] = defaultdict(list)
    for option in DECLARATIONS:
        try:
            text = repr(getattr(Options(**{option: VALUES[name]}), option))
        except OptionsError as error:
            text = f"{error} | {error.advice}"
        except TypeError as error:
            text = f"TypeError: {error}"
        told[re.sub(rf"\b{option}\b", "NAME", text)].append(option)
    lines = [f"{text}\n    {' '.join(options)}\n" for text, options in told.items()]
    text = f"{VALUES[name]!r}\n{''.join(lines)}"
    kept(f"{name}.txt", normal(text, folder=tmp_path))


UUID = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
LONG = "x" * 77


class Named:
    """A server inside this process, as far as options know it."""

    name = "clock"

    def __repr__(self) -> str:
        return "Named()"


class Nameless(Named):
    name = 5  # type: ignore[assignment]


class Decides:
    """What decides as a policy does."""

    def decide(self) -> None: ...

    def __repr__(self) -> str:
        return "Decides()"


NOTHING: Any = {}
NO_LIST: Any = []

GIVEN: list[dict[str, Any]] = [
    # strings
    *({"model": it} for it in (" a ", "  ", "a\n", "\0", "é", LONG * 2)),
    *({"name": it} for it in ("a b", "a\nb", "a\x7f", "\u2028")),
    *({"effort": it} for it in (LONG, LONG + "x", LONG + "xx", LONG + "xxx", "HIGH", "m-ax")),
    *({"permission_mode": it} for it in ("dont-ask", "edits", "q", ["plan"], b"plan")),
    # lists
    *({"supported_dialog_kinds": it} for it in (("a",), {"a"}, b"a", bytearray(b"a"), "a")),
    {"supported_dialog_kinds": Path("a")},
    {"supported_dialog_kinds": {"a": 1}},
    {"supported_dialog_kinds": range(2)},
    # numbers
    *({"max_turns": it} for it in (1, 0, True, 1.0)),
    *({"thinking": it} for it in (1023, 1024, "disabled", "Disabled", 1024.0, True)),
    *({"autocompact": it} for it in (99_999, 100_000, 1_000_000, 1_000_001, "auto", "Auto", True)),
    *({"max_budget_usd": it} for it in (0, 0.01, -0.01, 1, float("nan"), float("inf"), True)),
    *({"decide_within": it} for it in (0, 0.01, -1, 1, float("nan"), float("inf"), True, "1")),
    *({"repairs": it} for it in (0, 1, -1)),
    *({"max_line": it} for it in (0, 1)),
    # ids and paths
    *({"session_id": it} for it in (UUID, UUID.upper(), UUID[:-1], UUID.replace("-", ""), " ")),
    *({"cwd": it} for it in ("", "/a", "/a\0", "/\ud800", "/\udcff", b"/a", Path("/a"), 5)),
    *({"add_dirs": it} for it in (["/a", ""], [Path("/a")], "/a", [b"/a"])),
    # prompts
    *(
        {"system_prompt": it}
        for it in ("", " ", "\0", ["a", ""], [], b"a", 5, 1.5, True, Path("/a"))
    ),
    *(
        {"system_prompt": it}
        for it in (NOTHING, {"file": "/a"}, {"file": 5}, {"file": "/a", "b": 1})
    ),
    *({"append_system_prompt": it} for it in ("", "\0", ["a"], Path("/a"), {"file": "/a"}, 5)),
    # rules and names
    *({"allowed_tools": [it]} for it in ("Read", " Read ", "Read()", "R(a)", "R(a, b)", "R(a)(b)")),
    *({"allowed_tools": [it]} for it in ("R(a) ", "R(a) b)", "R(a),b)", "R(a)\tb)", "R(a)\nb)")),
    *({"allowed_tools": [it]} for it in ("R(a)b)", "R(a(b) c)", "(a)", "R(", "R)", "R(\n)", "a b")),
    *({"disallowed_tools": [it]} for it in ("R(a) b)", "a,b")),
    *(
        {"builtin_tools": it}
        for it in ("default", "Default", ["default"], ["a b"], ["a("], [], ["a,b"])
    ),
    *({"skills": it} for it in ("all", "All", ["all"], ["a.b:c_d-e"], ["-a"], ["é"], ["a b"], [])),
    *({"betas": it} for it in (["a"], ["a b"], ["a,b"], ["a\nb"])),
    *({"fallback_model": it} for it in ("a b", ["a"], ["a b"], "")),
    # commands, variables and arguments
    *({"cli": it} for it in ("claude", Path("/claude"), ["a", "b"], [], "", ["a", 1])),
    *({"env": it} for it in ({"A": "b"}, {"A": None}, {"A": 1}, {"A=b": "c"}, {"A=": "c"})),
    *(
        {"env": it}
        for it in ({"A": "\0"}, {"A": "\ud800"}, {"A": "\udcff"}, {"": "a"}, {1: "a"}, NO_LIST)
    ),
    *(
        {"extra_args": {it: None}}
        for it in ("a", "a-b", "A1", "1a", "-a", "a b", "a=b", "a_b", "é")
    ),
    *(
        {"extra_args": {"a": it}}
        for it in ("", " ", "b", ["b"], NO_LIST, ["b", ""], True, 1, 1.5, NOTHING, b"b")
    ),
    *(
        {"settings": it}
        for it in ({"a": 1}, "/a", ' {"a": 1}', "{", '{"a": NaN}', "[1]", 5, Path("/a"))
    ),
    *(
        {"tool_aliases": it}
        for it in ({"a": "b"}, {"a": 1}, {"": "b"}, {1: "b"}, NO_LIST, {"a": ""})
    ),
    # servers
    *({"mcp_servers": it} for it in ("a", Path("a"), [], [Named()], [Nameless()], [{"name": "a"}])),
    *(
        {"mcp_servers": it}
        for it in ([Named(), Named()], {"a": Named()}, {"a": Nameless()}, {"a": 5})
    ),
    *(
        {"mcp_servers": {"a": it}}
        for it in (
            {"command": "x"},
            {"url": "x"},
            {"command": 5},
            {"command": 5, "url": "x"},
            {"type": "sdk"},
            {"type": "sdk", "command": "x", "name": "b"},
            {"command": "x", "env": {"A": "b"}, "headers": {"A": "b"}},
            {"command": "x", "env": {"A": 1}},
            {"command": "x", "env": ["A"]},
            {"command": "x", "headers": {"A": None}},
            {"command": "x", "headers": "A"},
            {"command": "x", "args": {1, 2}},
            PluginConfig("/a"),
            McpStdioServerConfig("x", ["a"], {"A": "b"}),
            McpStdioServerConfig("x", env={"A": {1}}),  # type: ignore[dict-item]
        )
    ),
    *(
        {"plugins": [it]}
        for it in (
            "/a",
            Path("/a"),
            "",
            {"path": "/a"},
            {"path": ""},
            {"path": "/a\0"},
            {"path": 5},
            {"type": "remote", "path": "/a"},
            {"path": "/a", "b": 1},
            {"path": "/a", "skip_mcp_discovery": True},
            {"path": "/a", "skipMcpDiscovery": True},
            PluginConfig("/a", True),
            PluginConfig(""),
            McpStdioServerConfig("x"),
            5,
        )
    ),
    *(
        {"agents": {"a": it}}
        for it in (
            {"description": "d", "prompt": "p"},
            {"description": "", "prompt": "p"},
            {"description": "d", "prompt": ""},
            {"description": "d", "prompt": "p", "maxTurns": 1, "disallowed_tools": ["b"]},
            {"description": "d", "prompt": "p", "max_turns": "1"},
            {"description": "d", "prompt": "p", "turns": 1, "also": 2},
            {"description": "d"},
            AgentDefinition("d", "p", tools=["b"]),
            AgentDefinition("d", "p", tools=[{1}]),  # type: ignore[list-item]
            AgentDefinition("d", ["p"]),  # type: ignore[arg-type]
            Agent(description="d", prompt="p", tools=["b"]),
            5,
        )
    ),
    # what the CLI never sees
    *({"tools": it} for it in (len, [len], "len", ["len"], [5], Named(), [Named()], 5, {"a": 1})),
    *({"person": it} for it in ("inbox", "Inbox", "terminal", len, 5)),
    *({"policy": it} for it in (Decides(), Decides, 5, None)),
    *({"on_stderr": it} for it in (len, "len", None)),
    *({"patience": it} for it in (None, 5)),
    *({"timeouts": it} for it in (None, 5)),
    *({"dialect": it} for it in ("auto", "modern", "Auto", 5)),
    *({"hooks": it} for it in (NOTHING, 5)),
    *({"budgets": it} for it in ([], [5], 5)),
    *({"prices": it} for it in ({}, {"a": 5}, 5)),
    # together
    {"resume": UUID, "session_id": UUID, "fork_session": True},
    {"continue_conversation": True, "fork_session": True},
    {"resume": UUID, "resume_session_at": UUID, "resume_drops_turn": UUID},
    {"continue_conversation": True, "resume_session_at": UUID},
    {"resume": UUID, "resume_drops_turn": UUID},
    {"session_mirror": True},
    {"persist_session": False},
    {"persist_session": False, "enable_file_checkpointing": True},
    {"model": "a", "fallback_model": "b,c"},
    {"model": "a", "fallback_model": "b,a"},
    {"model": "a", "fallback_model": ["ab"]},
    {"fallback_model": "a"},
    {"thinking": "adaptive", "thinking_display": "omitted"},
    {"thinking": 1024, "thinking_display": "omitted"},
    {"thinking_display": "omitted"},
    {"exclude_dynamic_sections": True, "append_system_prompt": "a"},
    {"exclude_dynamic_sections": True, "system_prompt": ""},
    {"skills": ["a"], "builtin_tools": ["Skill"]},
    {"skills": ["a"], "builtin_tools": "default"},
    {"skills": ["a"], "builtin_tools": []},
    {"skills": [], "builtin_tools": ["Read"]},
    {"skills": [], "disable_slash_commands": True},
    {"restricted": True, "permission_mode": "plan"},
    {"permission_mode": "bypassPermissions", "allow_dangerously_skip_permissions": True},
    {"sandbox": {}, "settings": {"sandbox": {}}},
    {"sandbox": {}, "settings": {"a": 1}},
    {"sandbox": {}, "settings": "/a"},
    {"sandbox": {}, "settings": "/a", "remote": True},
    {"settings": {"sandbox": {}}, "remote": True},
    *({"extra_args": {flag[2:]: None}} for flag in sorted(FIXED_FLAGS)),
    *({"extra_args": {it: None}} for it in ("model", "dangerously-skip-permissions", "tools")),
    {"deny": ["Read"], "policy": Decides()},
]


def test_what_is_said_of_chosen_values_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = []
    for given in GIVEN:
        try:
            options = Options(**given)
            text = ", ".join(repr(getattr(options, name)) for name in given)
        except OptionsError as error:
            text = f"! {error}"
        lines.append(f"{given!r}\n    {text}\n")
    kept("chosen.txt", normal("".join(lines), folder=tmp_path))


def test_what_is_said_of_names_that_options_do_not_have_is_as_it_was(kept: Kept) -> None:
    names = [
        *_CALLED_OTHERWISE,
        "modle",
        "tool",
        "x",
        "maxTurns",
        "add-dirs",
        "a_model",
        "HTTPProxy",
    ]
    kept("unknown.txt", "".join(f"{unknown_option(it, DECLARATIONS)}\n" for it in names))


@pytest.mark.parametrize("field", Agent.__dataclass_fields__)
def test_what_is_said_of_a_field_of_an_agent_is_as_it_was(kept: Kept, field: str) -> None:
    lines = []
    for name, value in VALUES.items():
        try:
            text = repr(Agent(**{"description": "d", "prompt": "p", field: value}))
        except OptionsError as error:
            text = f"{error} | {error.advice}"
        lines.append(f"{name}: {text}\n")
    kept(f"agent-{field}.txt", "".join(lines))


def test_how_options_are_shown_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    examples = every_option(tmp_path)
    lines = [repr(Options())]
    for name in NAMES:
        options = Options(**alone(examples, name))
        is_path = str(tmp_path) in repr(examples[name])  # which is cut
        lines.append(f"{name}: {'…' if is_path else options!r}")
        for version in MEASURED:
            old, ignored = unsupported(options, version), may_ignore(options, version)
            if old or ignored:
                lines.append(f"    {version}: {old} ignored: {ignored}")
    kept("shown.txt", normal("".join(f"{line}\n" for line in lines), folder=tmp_path))


def test_how_options_are_declared_is_as_it_was(kept: Kept) -> None:
    lines = []
    for name, it in DECLARATIONS.items():
        names = (key for key in Declaration.__struct_fields__ if key != "check")
        fields = {key: getattr(it, key) for key in sorted(names)}
        lines.append(f"{name}: {fields}\n")
    kept("declared.txt", "".join(lines))
