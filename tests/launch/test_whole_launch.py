"""How the CLI is started for every option: see tests/helpers/kept.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
from tests.helpers.kept import Kept, compact, normal
from tests.options.every_option import NAMES, alone, every_option

from claudewire import __version__
from claudewire.launch import initialize_request
from claudewire.launch.argv import FIXED, OLDER, arguments
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


OTHERS: dict[str, dict[str, Any]] = {
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


def test_how_the_cli_is_started_for_other_values_is_as_it_was(kept: Kept) -> None:
    lines = []
    for name, given in OTHERS.items():
        try:
            lines += [name, *launched(Options(**given))]
        except ValueError as error:
            lines += [name, f"    {type(error).__name__}: {error}"]
    kept("other-values.txt", "".join(f"{it}\n" for it in lines))
