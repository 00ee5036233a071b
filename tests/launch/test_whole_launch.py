"""How the CLI is started for every option: see tests/helpers/kept.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.helpers.kept import Kept, compact, normal
from tests.options.every_option import NAMES, alone, every_option

from claudewire import __version__
from claudewire.errors import Error, OptionsError
from claudewire.launch import cli_path, find_cli, initialize_request
from claudewire.launch.argv import FIXED, OLDER, arguments, check_length
from claudewire.launch.environment import NEEDED, NOT_INHERITED, environment
from claudewire.launch.private_files import PrivateFiles
from claudewire.options import Options


def launched(options: Options, older: Any = ()) -> list[str]:
    """Return the words, the contents of private files, the variables and the first request."""
    lines = []
    with PrivateFiles() as files:
        said = arguments(options, files, older=older)
        words = [*said[len(FIXED) :]]
        if files.folder is not None:
            for path in sorted(Path(files.folder).iterdir()):
                words = [it.replace(str(path), f"<{path.name}>") for it in words]
                lines.append(f"    {path.name}: {path.read_text(encoding='utf-8')}")
    base = {"PATH": "/bin", "HOME": "/home", "CLAUDECODE": "1", "NODE_OPTIONS": "x", "OTHER": "y"}
    opening = json.loads(msgspec.json.encode(initialize_request(options, older=older)))
    variables = compact(environment(options, base)).replace(__version__, "<version>")
    return [f"    {words}", *lines, f"    {variables}", f"    {compact(opening)}"]


def test_how_the_cli_is_started_for_each_option_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    examples = every_option(tmp_path)
    usual = launched(Options())
    lines = ["nothing", *usual]
    for name in NAMES:
        given = alone(examples, name)
        now = launched(Options(**given))
        lines += [name, *(it for it in now if it not in usual)]
        if name in OLDER:
            lines += [
                f"{name}, older",
                *(it for it in launched(Options(**given), [name]) if it not in usual),
            ]
    kept("each-option.txt", normal("".join(f"{it}\n" for it in lines), folder=tmp_path))


def test_what_is_inherited_is_as_it_was(kept: Kept) -> None:
    names = ("ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR", "EDITOR", *NEEDED, *NOT_INHERITED)
    base = {name: name.lower() for name in names}
    lines = []
    for clean in (True, False):
        passed = environment(Options(clean_env=clean), base)
        lines += [f"{clean}: {name}" for name in passed if passed[name] == base.get(name)]
    kept("inherited.txt", "".join(f"{it}\n" for it in lines))


SERVER = {"a": {"command": "serve"}}
PROMPTS = {"system_prompt": "system", "append_system_prompt": "more"}
BLOCKS = {**PROMPTS, "system_prompt": ["one", "two"]}
DIALECTS = ("auto", "session", "legacy", "envelope", "modern")

OLDER_VALUES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "blocks": (BLOCKS, ("system_prompt",)),
    "blocks and more": (BLOCKS, ("system_prompt", "append_system_prompt")),
    "remote prompts": ({**PROMPTS, "remote": True}, ("system_prompt", "append_system_prompt")),
    "remote blocks": ({**BLOCKS, "remote": True}, ("system_prompt",)),
    "remote, appended": ({**PROMPTS, "remote": True}, ("append_system_prompt",)),
    "all tools": ({"builtin_tools": "default"}, ("builtin_tools",)),
    "no tools": ({"builtin_tools": []}, ("builtin_tools",)),
    "one tool": ({"builtin_tools": ["Read"], "deny": ["Bash"]}, ("builtin_tools",)),
    "no agents": ({}, ("agents",)),
    **{f"blocks, {it}": ({**BLOCKS, "dialect": it}, ("system_prompt",)) for it in DIALECTS},
    **{f"prompts, {it}": ({**PROMPTS, "dialect": it}, ("system_prompt",)) for it in DIALECTS},
}


def test_how_an_older_cli_is_started_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = []
    for name, (given, older) in OLDER_VALUES.items():
        lines += [name, *launched(Options(**given), older)]
    kept("older.txt", normal("".join(f"{it}\n" for it in lines), folder=tmp_path))


OTHERS: dict[str, dict[str, Any]] = {
    **{f"prompts, {it}": {**PROMPTS, "dialect": it} for it in DIALECTS},
    **{f"remote prompts, {it}": {**PROMPTS, "remote": True, "dialect": it} for it in DIALECTS},
    **{f"blocks, {it}": {**BLOCKS, "dialect": it} for it in DIALECTS},
    **{f"servers, {it}": {"mcp_servers": SERVER, "dialect": it, "cwd": "/"} for it in DIALECTS},
    "remote, with files": {"remote": True, "mcp_servers": SERVER, "settings": {"a": 1}},
    "remote, with a path": {"remote": True, "settings": "/there"},
    "remote, for subagents": {"remote": True, "append_subagent_system_prompt": "subagents"},
    "a session, remote": {"dialect": "session", "remote": True},
    "rules": {"allowed_tools": ["Read"], "skills": ["a"], "deny": ["Bash"]},
    "plugins": {"plugins": ["/", {"path": "/", "skip_mcp_discovery": True}]},
    "plugins in initialize": {"plugins": ["/"], "plugin_delivery": "initialize"},
    "managed settings": {"managed_settings": {}, "plugins": ["/"]},
    "a sandbox": {"sandbox": {"enabled": False}},
    "a sandbox that may fail": {"sandbox": {"enabled": True, "failIfUnavailable": False}},
    "another mode": {"permission_mode": "manual"},
    "a snapshot": {"system_prompt_snapshot": True},
    "not kept": {"persist_session": False},
    "extra": {"extra_args": {"a": None, "b": "", "c": ["d", "e"]}},
    "checkpoints": {"enable_file_checkpointing": True},
    "thinking off": {"thinking": "disabled"},
    "thinking tokens": {"thinking": 2000},
    "no tools": {"builtin_tools": []},
    "all skills": {"skills": "all"},
    "no skills": {"skills": []},
    "settings and a sandbox": {"settings": {"a": 1}, "sandbox": {"enabled": True}},
    "settings as text": {"settings": '{"a": 1}'},
    "no sources": {"setting_sources": []},
    "an empty prompt": {"system_prompt": ""},
    "a prompt of blocks": {"system_prompt": ["one", "two"]},
    "resume": {"resume": True},
    "debug": {"debug": True},
    "worktree": {"worktree": True},
    "a variable left out": {"env": {"OTHER": None, "MORE": "1"}},
    "several models": {"fallback_model": ["haiku", "sonnet"]},
    "plugins by flag": {"plugin_delivery": "flag"},
}


def test_how_the_cli_is_started_for_other_values_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = []
    for name, given in OTHERS.items():
        try:
            lines += [name, *launched(Options(**given))]
        except ValueError as error:
            lines += [name, f"    {type(error).__name__}: {error}"]
    kept("other-values.txt", normal("".join(f"{it}\n" for it in lines), folder=tmp_path))


def test_what_is_said_of_a_cli_that_is_looked_for_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli_path, "_SYSTEM", ("/usr/local/bin", "/snap/bin"))
    monkeypatch.chdir(tmp_path)
    for name in ("bin/tool", "bin/cli.js", "bin/CLI.MJS", "other/node", "home/tool", "x y"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.touch(mode=0o755 if "." not in name else 0o644)
    (tmp_path / "bin" / "plain").touch(mode=0o644)
    (tmp_path / "home" / ".nvm" / "versions" / "node" / "v9.0.0").mkdir(parents=True)
    there = {"PATH": f"{tmp_path}/bin::other", "HOME": f"{tmp_path}/home"}
    prefixes = {"NPM_CONFIG_PREFIX": "/npm", "npm_config_prefix": "/other"}
    variable = [{"CLAUDE_CODE_PATH": it} for it in ("", "tool", "none", "/none", "bin", "~/tool")]
    cases: list[tuple[Any, dict[str, str]]] = [
        (None, {}),
        (None, there),
        (None, {**there, **prefixes}),
        *((None, {**there, **it}) for it in variable),
        *((it, there) for it in ("tool", "none", "x y", "", "node", "cli.js", "plain", "~", ".")),
        *(
            (it, there)
            for it in ("bin/tool", "./bin/tool", "./none", "bin", "bin/plain", "~none/x")
        ),
        *((it, there) for it in ("bin/cli.js", "bin/CLI.MJS", "~/tool", "~/none")),
        *((it, there) for it in (Path("bin/tool"), Path("tool"), Path("bin"))),
        *((it, there) for it in ([], [""], ["tool", "x"], ["none", "x"], ["bin/cli.js", "x"])),
        *((it, {}) for it in ("tool", "bin/cli.js", "~/there/is/none")),
    ]
    monkeypatch.setenv("HOME", "/ours")
    lines = []
    for cli, env in cases:
        try:
            text = repr(find_cli(cli, env))
        except Error as error:
            text = f"{type(error).__name__}: {error}"
        lines.append(f"--- {cli!r} {env}\n{text}\n")
    kept("found.txt", normal("".join(lines), folder=tmp_path))


LENGTHS: dict[str, tuple[list[str], dict[str, str], int]] = {
    "room for all": (["a" * 20, "b"], {"C": "d"}, 2048 + 3 * 9 + 24),
    "a byte too much": (["a" * 20, "b"], {"C": "d"}, 2048 + 3 * 9 + 23),
    "a longer name": (["a" * 21, "b"], {"C": "d"}, 100),
    "of an option": (["claude", "--model=x", "--brief", "--model=yy", "-v"], {}, 100),
    "other letters": (["é" * 30], {"É": "é"}, 2048 + 2 * 9 + 60 + 4),
}


def test_what_is_said_of_a_command_line_that_is_too_long_is_as_it_was(kept: Kept) -> None:
    lines = []
    for name, (argv, env, total) in LENGTHS.items():
        try:
            check_length(argv, env, total=total)
            lines.append(f"{name}: taken\n")
        except OptionsError as error:
            lines.append(f"{name}: {error}\n")
    kept("lengths.txt", "".join(lines))


def test_a_system_may_have_no_limit_for_command_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in (-1, 0):
        monkeypatch.setattr("os.sysconf", lambda name, limit=limit: limit)
        check_length(["x" * 100_000] * 100, platform="linux")
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    with pytest.raises(OptionsError, match="and the system takes 1\\."):
        check_length(["x"])
