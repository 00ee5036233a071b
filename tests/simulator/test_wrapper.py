from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from claudewire.simulator import LATEST
from claudewire.simulator.__main__ import VERSION
from claudewire.simulator.wrapper import make_wrapper

SIM = [sys.executable, "-m", "claudewire.simulator"]
SCENARIO = """
[[turn]]
steps = [{ say = "From the wrapper: {prompt}" }]
"""
PATIENCE = 30


def run(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=env, capture_output=True, encoding="utf-8", input="", timeout=PATIENCE
    )


def test_a_wrapper_plays_its_scenario_in_an_empty_environment(tmp_path: Path) -> None:
    scenario, wrapper = tmp_path / "it's.toml", tmp_path / "claude"
    scenario.write_text(SCENARIO, encoding="utf-8")
    for _ in range(2):  # it can be made again
        assert run(*SIM, "--make-wrapper", str(scenario), str(wrapper)).returncode == 0
    assert run(str(wrapper), "-p", "hi").stdout == "From the wrapper: hi\n"


@pytest.mark.parametrize(
    "words", [[], ["a.toml"], ["missing.toml", "claude"], ["{here}", "{here}"]]
)
def test_a_wrapper_that_cannot_be_made_is_refused(tmp_path: Path, words: list[str]) -> None:
    scenario = tmp_path / "s.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    done = run(*SIM, "--make-wrapper", *(word.format(here=scenario) for word in words))
    assert done.returncode == 2
    assert done.stderr
    assert scenario.read_text(encoding="utf-8") == SCENARIO


@pytest.mark.parametrize(
    ("scenario", "named"),
    [("it's.toml", "it's.toml"), ("./p.py:play", "p.py:play"), ("a:b/s.toml", "a:b/s.toml")],
)
def test_a_wrapper_is_a_script_that_names_its_scenario(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scenario: str, named: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a:b").mkdir()
    for name in ("it's.toml", "a:b/s.toml"):
        (tmp_path / name).write_text(SCENARIO, encoding="utf-8")
    (tmp_path / "p.py").write_text("async def play(chat): pass", encoding="utf-8")
    make_wrapper(scenario, "claude")
    make_wrapper(scenario, str(tmp_path / "claude"))
    assert (tmp_path / "claude").read_text(encoding="utf-8") == (
        "#!/bin/sh\n# Made by claudewire-sim --make-wrapper.\n"
        f"export CLAUDEWIRE_SIM_SCENARIO={shlex.quote(f'{tmp_path}/{named}')}\n"
        f'exec {shlex.quote(sys.executable)} -P -m claudewire.simulator "$@"\n'
    )
    assert (tmp_path / "claude").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize(("size", "is_ours"), [(200, True), (201, False)])
def test_only_what_begins_like_a_wrapper_is_replaced(
    tmp_path: Path, size: int, is_ours: bool
) -> None:
    scenario, path = tmp_path / "s.toml", tmp_path / "claude"
    scenario.write_text(SCENARIO, encoding="utf-8")
    mark = "# Made by claudewire-sim --make-wrapper."
    path.write_text(mark.rjust(size, "x"), encoding="utf-8")
    if is_ours:
        make_wrapper(str(scenario), str(path))
    else:
        with pytest.raises(FileExistsError, match="is no wrapper that can be replaced"):
            make_wrapper(str(scenario), str(path))
    assert path.read_text(encoding="utf-8").startswith("#!" if is_ours else "x")


def test_a_scenario_in_the_folder_of_the_cli_is_played(tmp_path: Path) -> None:
    (tmp_path / "claudewire-sim.toml").write_text(SCENARIO, encoding="utf-8")
    done = run(*SIM, "-p", "hi", CLAUDE_CONFIG_DIR=str(tmp_path))
    assert done.stdout == "From the wrapper: hi\n"


def test_what_a_scenario_leaves_behind_is_collected_but_not_what_was_imported() -> None:
    script = (
        "import gc, sys; sys.argv = ['claude', '--no-such-option']\n"
        "from claudewire.simulator.__main__ import main\n"
        "try: main()\n"
        "finally: print(gc.isenabled(), gc.get_freeze_count() > 10_000)"
    )
    assert run(sys.executable, "-c", script).stdout == "True True\n"


def test_the_version_is_said_without_anything_being_loaded() -> None:
    script = (
        "import sys; sys.argv = ['claude', '--version']; "
        "from claudewire.simulator.__main__ import main; main(); "
        "print(*{'claudewire.wire', 'msgspec', 'typing'} & {*sys.modules})"
    )
    done = run(sys.executable, "-c", script)
    assert done.stdout == f"{LATEST.version} (Claude Code)\n\n"
    assert LATEST.version == VERSION
    assert run(*SIM, "-v", CLAUDEWIRE_SIM_VERSION="2.1.17").stdout == "2.1.17 (Claude Code)\n"


FIRST_ANSWER = """
import sys
from time import monotonic
from claudewire.simulator.__main__ import _import_msgspec
_import_msgspec()
from claudewire.simulator.process import Simulation
from claudewire.wire import codec
flags = ["-p", "--input-format=stream-json", "--output-format=stream-json", "--verbose"]
engine = Simulation().engine(flags, cwd="/", env={}, clock=monotonic)
engine.start()
engine.feed(b'{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}\\n')
assert b"control_response" in engine.take()[0].data
slow = {"anyio", "asyncio", "dataclasses", "inspect", "subprocess", "typing_extensions"}
late = {f"claudewire.simulator.{it}" for it in ("chat", "turns", "requests", "permissions")}
print(sorted((slow | late) & {*sys.modules}), "first_pass" in vars(codec))
"""


def test_the_first_answer_waits_for_nothing_that_it_does_not_need() -> None:
    assert run(sys.executable, "-c", FIRST_ANSWER).stdout == "[] False\n"


def test_streams_that_the_parent_has_closed_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "claudewire-sim.toml").write_text(SCENARIO, encoding="utf-8")
    config = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    sim = shlex.join(SIM)
    no_input = run("sh", "-c", f"{sim} -p hi <&-", **config)
    assert (no_input.returncode, no_input.stdout) == (0, "From the wrapper: hi\n")
    no_output = run("sh", "-c", f"{sim} -p hi >&- 2>&-", **config)
    assert (no_output.returncode, no_output.stdout, no_output.stderr) == (0, "", "")


def test_a_folder_that_is_gone_is_said(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = run("sh", "-c", f'cd "$1"; rmdir "$1"; {shlex.join(SIM)} -p hi', "sh", str(gone))
    assert done.returncode == 1
    assert done.stderr.startswith("The current directory no longer exists")


def test_a_scenario_can_import_what_the_program_does_without(tmp_path: Path) -> None:
    play = "from typing_extensions import NamedTuple\nasync def play(chat): await chat.say('ok')\n"
    (tmp_path / "play.py").write_text(play, encoding="utf-8")
    where = f"{tmp_path}/play.py:play"
    assert run(*SIM, "-p", "hi", CLAUDEWIRE_SIM_SCENARIO=where).stdout == "ok\n"


def test_a_wrapper_replaces_nothing_but_a_wrapper(tmp_path: Path) -> None:
    scenario, other = tmp_path / "s.toml", tmp_path / "claude"
    scenario.write_text(SCENARIO, encoding="utf-8")
    other.write_text("#!/bin/sh\n", encoding="utf-8")
    with pytest.raises(FileExistsError, match="no wrapper that can be replaced"):
        make_wrapper(str(scenario), str(other))
    assert other.read_text(encoding="utf-8") == "#!/bin/sh\n"
