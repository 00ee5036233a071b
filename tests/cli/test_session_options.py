"""What the options of `run` and `chat` become: arguments of a session, a task, a transport."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import anyio
import click
import pytest

from claudewire.cli import run as running
from claudewire.cli import session_options
from claudewire.cli.errors import CommandError
from claudewire.cli.session_options import session_arguments, transport_for
from claudewire.cli.task import Nobody
from claudewire.cli.views import JsonView, PlainView
from claudewire.options import Options, Patience
from claudewire.simulator import SimulatedCLI
from claudewire.tracking import Budget
from claudewire.transport import Launch, Recording


def given(*words: str) -> dict[str, Any]:
    """Return what `run` is given with these words on the command line."""
    return running.command.make_context("run", [*words]).params


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        ("", {}),
        ("--cli c --cwd / --dialect modern", {"cli": "c", "cwd": "/", "dialect": "modern"}),
        ("--model m --mode plan", {"model": "m", "permission_mode": "plan"}),
        ("--max-turns 3", {"max_turns": 3}),
        ("--resume id", {"resume": "id"}),
        ("--resume id --fork", {"resume": "id", "fork_session": True}),
        ("--continue", {"continue_conversation": True}),
        ("--continue --fork", {"continue_conversation": True, "fork_session": True}),
        ("--budget $2.5", {"budgets": [Budget(cost_usd=2.5)]}),
        ("--allow a --allow b", {"allow": ("a", "b")}),
        ("--ask a --deny b", {"ask": ("a",), "deny": ("b",)}),
    ],
)
def test_each_option_is_one_of_the_session(words: str, arguments: dict[str, Any]) -> None:
    assert session_arguments(given(*words.split())) == arguments


POLICY = """
default = "deny"
allow = ["Read"]
ask = ["Edit"]
deny = ["Bash"]
directories = ["/d"]
mode = "plan"
case_sensitive = false
protect = false
"""


def test_rules_are_added_to_those_of_a_policy(tmp_path: Path) -> None:
    (tmp_path / "p.toml").write_text(POLICY, encoding="utf-8")
    words = f"--policy {tmp_path / 'p.toml'} --allow Glob --ask Grep --deny Write"
    made: Any = session_arguments(given(*words.split()))
    assert made.keys() == {"policy", "disallowed_tools"}
    assert made["disallowed_tools"] == ("Write",)
    policy = made["policy"]
    rules = [[str(it) for it in each] for each in (policy.allow, policy.ask, policy.deny)]
    assert rules == [["Read", "Glob"], ["Edit", "Grep"], ["Bash", "Write"]]
    assert (policy.default, policy.mode) == ("deny", "plan")
    assert [str(it) for it in policy.directories] == ["/d"]
    assert (policy.case_sensitive, policy.protect) == (False, False)


@pytest.mark.parametrize(
    ("words", "stall", "timeout", "denied_ok", "output"),
    [
        ("", 300.0, None, False, None),
        ("--stall 90s --timeout 30m", 90.0, 1800.0, False, None),
        ("--denied ok", 300.0, None, True, None),
        ("--denied fail", 300.0, None, False, None),
        ('--output {"type":"object"}', 300.0, None, False, {"type": "object"}),
    ],
)
def test_a_task_is_made_of_what_was_given(
    words: str,
    stall: float,
    timeout: float | None,
    denied_ok: bool,
    output: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, io.StringIO())
    made = running.prepare(("do", "it"), None, given(*words.split()))
    task, options = made.task, made.task.options
    assert (task.prompt, task.timeout, task.denied_ok) == ("do it", timeout, denied_ok)
    assert options.patience == Patience(stall, stall, action="interrupt")
    assert options.include_partial_messages
    assert options.output == output
    assert isinstance(made.view, PlainView)
    assert made.view._structured is (output is not None)
    assert isinstance(made.nobody, Nobody)
    assert options.person is made.nobody
    assert task.transport is None


def test_nobody_knows_the_rules_that_decide_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("what stdin says"))
    made = running.prepare((), "json", given("--ask", "Bash"))
    assert made.task.prompt == "what stdin says"
    assert isinstance(made.view, JsonView)
    assert made.nobody is not None
    assert made.nobody._policy == made.task.options.policy is not None


def test_with_a_person_nobody_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "has_person", lambda *_: True)
    made = running.prepare(("x",), None, given())
    assert made.nobody is None
    assert made.task.options.person is None


# --- recording -----------------------------------------------------------------------------------


def test_what_is_not_recorded_needs_no_transport() -> None:
    assert transport_for(None, Options()) is None


def test_a_recording_needs_a_file_that_can_be_written_and_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert transport_for(str(path), Options()) is not None
    assert path.read_bytes() == b""
    assert transport_for(str(path), Options()) is not None
    path.write_text("x", encoding="utf-8")
    with pytest.raises(CommandError) as error:
        transport_for(str(path), Options())
    assert error.value.message == f"--record {path}: there is such a file already."
    assert error.value.advice == "Name another file, or remove this one first."
    with pytest.raises(CommandError) as error:
        transport_for(str(tmp_path), Options())
    assert error.value.message == f"--record {tmp_path}: Is a directory"


@pytest.mark.parametrize(("dialect", "played"), [("auto", "modern"), ("legacy", "legacy")])
def test_a_simulated_cli_is_recorded_in_its_dialect(
    tmp_path: Path, dialect: Any, played: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Any] = []

    class Noted(SimulatedCLI):
        def __init__(self, **how: Any) -> None:
            super().__init__(**how)
            made.append(how)

        def configure(self, launch: Launch) -> None:
            made.append(launch)

    monkeypatch.setattr("claudewire.simulator.SimulatedCLI", Noted)
    launch = Launch(("claude", "-p"), {})

    async def record() -> None:
        options = Options(cli="simulated", dialect=dialect)
        connect: Any = transport_for(str(tmp_path / "a.jsonl"), options)
        for _ in range(2):
            transport = await connect(launch)
            await transport.aclose()

    anyio.run(record)
    assert made == [{"dialect": played}, launch] * 2
    for name in ("a.jsonl", "a-2.jsonl"):
        assert Recording.load(tmp_path / name).header["argv"] == ["claude", "-p"]


def test_a_process_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Launch] = []

    async def start(launch: Launch) -> SimulatedCLI:
        started.append(launch)
        return SimulatedCLI()

    monkeypatch.setattr("claudewire.transport.spawn", start)
    launch = Launch(("claude", "-p"), {})

    async def record() -> None:
        connect: Any = transport_for(str(tmp_path / "a.jsonl"), Options(cli="/bin/claude"))
        await (await connect(launch)).aclose()

    anyio.run(record)
    assert started == [launch]
    assert Recording.load(tmp_path / "a.jsonl").header["argv"] == ["claude", "-p"]


@pytest.mark.parametrize("text", ["inf", "-1", "0", "nan", "$", "2€"])
def test_what_is_no_amount_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(click.BadParameter) as error:
        session_options.Dollars().convert(text, None, None)
    assert error.value.message == f"{text!r} is not an amount; write 2 or $2.50"
