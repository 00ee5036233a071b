"""The factories behind the fixtures, without a test around them."""

from __future__ import annotations

import sys
from pathlib import Path
from shlex import quote
from typing import Any

import pytest

from claudewire.simulator import LATEST, Chat, SimulatedCLI
from claudewire.simulator.faults import ExitWith
from claudewire.testing import (
    CageFactory,
    NoRecording,
    RecordingFactory,
    ScenarioFailed,
    SimulatedCLIFactory,
    SimulatedProgramFactory,
    WireLog,
)
from claudewire.transport import Recording

pytestmark = pytest.mark.anyio

TOML = 'default = "You say {prompt}"'


async def play(chat: Chat) -> None:
    await chat.say("Hi.")


def clis(folder: Path) -> SimulatedCLIFactory:
    config = folder / "config"
    return SimulatedCLIFactory(WireLog(), base=folder / "base", cwd=folder / "cwd", config=config)


def programs(folder: Path) -> SimulatedProgramFactory:
    places = {"base": folder / "base", "folder": folder / "made", "config": folder / "config"}
    return SimulatedProgramFactory(WireLog(), **places)


# --- in this process ------------------------------------------------------------------------------


async def test_a_cli_has_what_the_test_gives_it(tmp_path: Path) -> None:
    made = clis(tmp_path)
    plain, given = (
        made(play).inner,
        made(
            play,
            argv=["--model", "haiku"],
            version="2.0.76",
            dialect="legacy",
            faults="exit(3)@4",
            cwd="/elsewhere",
            env={"A": "b"},
        ).inner,
    )
    for cli, version, dialect, cwd, env in (
        (plain, LATEST.version, "auto", str(tmp_path / "cwd"), {"CLAUDE_CONFIG_DIR": "config"}),
        (given, "2.0.76", "legacy", "/elsewhere", {"A": "b"}),
    ):
        engine = cli.engine
        assert engine is not None
        session = engine.session
        assert (session.persona.version, engine.dialect) == (version, dialect)
        named = {key: value.removeprefix(f"{tmp_path}/") for key, value in session.env.items()}
        assert (session.cwd, named) == (cwd, env)
        assert cli._simulation.scenario is play
    assert (plain._simulation.faults, len(given._simulation.faults)) == ((), 1)
    assert repr(given._simulation.faults[0]) == "ExitWith(at=4, status=3)"
    assert given.engine is not None
    assert given.engine.session.flags.model == "haiku"


async def test_faults_may_be_objects(tmp_path: Path) -> None:
    fault = ExitWith(3)
    assert clis(tmp_path)(play, faults=[fault]).inner._simulation.faults == [fault]


@pytest.mark.parametrize("as_path", [False, True])
def test_a_file_is_looked_for_beside_the_test(tmp_path: Path, as_path: bool) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "a=b.toml").write_text(TOML, encoding="utf-8")
    name: Any = Path("a=b.toml") if as_path else "a=b.toml"
    scenario: Any = clis(tmp_path)(name).inner._simulation.scenario
    assert scenario.default == "You say {prompt}"
    text: Any = clis(tmp_path)(TOML).inner._simulation.scenario
    assert text.default == "You say {prompt}"
    program = programs(tmp_path)(name)
    file = quote(f"{tmp_path}/base/a=b.toml")
    assert f"SCENARIO={file}\n" in program.read_text(encoding="utf-8")


async def test_what_a_scenario_raises_is_raised_if_it_was_not_meant_to(tmp_path: Path) -> None:
    def failed(made: SimulatedCLIFactory, **fields: Any) -> SimulatedCLI:
        cli = made(play, **fields).inner
        assert cli.engine is not None
        cli.engine.failures.append(ValueError("no"))
        return cli

    good, bad = clis(tmp_path), clis(tmp_path)
    failed(good, may_raise=True)
    good(play)
    good.finish(passed=True)
    failed(bad)
    bad.finish(passed=False)
    with pytest.raises(ValueError, match="no"):
        bad.finish(passed=True)


# --- as programs ----------------------------------------------------------------------------------


def test_a_program_is_a_script_that_says_what_is_simulated(tmp_path: Path) -> None:
    made = programs(tmp_path)
    first = made(TOML, version="2.0.76", dialect="legacy", faults="exit(3)", env={"A": "b c"})
    second = made()
    folder = tmp_path / "made"
    assert (first, second) == (folder / "sim-1" / "claude", folder / "sim-2" / "claude")
    for program, lines in (
        (
            first,
            [
                f"CLAUDEWIRE_SIM_SCENARIO={quote(f'{folder}/sim-1/scenario.toml')}",
                "CLAUDEWIRE_SIM_VERSION=2.0.76",
                "CLAUDEWIRE_SIM_DIALECT=legacy",
                "CLAUDEWIRE_SIM_FAULTS='exit(3)'",
                f"CLAUDEWIRE_SIM_LOG={quote(f'{folder}/sim-1/claude.log')}",
                f"CLAUDE_CONFIG_DIR={quote(f'{tmp_path}/config')}",
                "A='b c'",
            ],
        ),
        (
            second,
            [
                "CLAUDEWIRE_SIM_SCENARIO=''",
                f"CLAUDEWIRE_SIM_VERSION={LATEST.version}",
                "CLAUDEWIRE_SIM_DIALECT=auto",
                "CLAUDEWIRE_SIM_FAULTS=''",
                f"CLAUDEWIRE_SIM_LOG={quote(f'{folder}/sim-2/claude.log')}",
                f"CLAUDE_CONFIG_DIR={quote(f'{tmp_path}/config')}",
            ],
        ),
    ):
        exports = "".join(f"export {line}\n" for line in lines)
        command = f'exec {quote(sys.executable)} -P -m claudewire.simulator "$@"\n'
        assert program.read_text(encoding="utf-8") == f"#!/bin/sh\n{exports}{command}"
        assert program.stat().st_mode & 0o777 == 0o700
    assert (first.parent / "scenario.toml").read_text(encoding="utf-8") == TOML


@pytest.mark.parametrize(
    "given",
    [{"scenario": "none.toml"}, {"version": "0.1"}, {"dialect": "odd"}, {"faults": "odd"}],
)
def test_a_program_that_makes_no_sense_is_not_made(tmp_path: Path, given: dict[str, Any]) -> None:
    with pytest.raises((ValueError, OSError)):
        programs(tmp_path)(**given)


def logged(program: Path, direction: str, text: str) -> None:
    with (program.parent / "claude.log").open("a", encoding="ascii") as log:
        log.write(f"7 {direction} {text.encode().hex()}\n")


def test_what_the_scenario_of_a_program_raises_is_raised_if_it_was_not_meant_to(
    tmp_path: Path,
) -> None:
    made = programs(tmp_path)
    logged(made(may_raise=True), "!", "The scenario failed.\nfirst")
    program = made()
    logged(program, "!", "Something else.")
    logged(program, "<", "The scenario failed.\nsecond")
    made.finish(passed=True)
    logged(program, "!", "The scenario failed.\nthird")
    made.finish(passed=False)
    with pytest.raises(ScenarioFailed, match="third"):
        made.finish(passed=True)


# --- cages ----------------------------------------------------------------------------------------


def test_cages_have_what_the_test_gives_them_and_are_closed_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    class Noted:
        def __init__(self, script: Any, **fields: Any) -> None:
            seen.append((script, fields))

        def __enter__(self) -> Noted:
            seen.append("open")
            return self

        def __exit__(self, *error: object) -> None:
            seen.append("closed")

    monkeypatch.setattr("claudewire.testing.fixtures.Cage", Noted)
    cages = CageFactory()
    made: Any = cages(["x"], env={"A": "1"}, keep=["B"])
    assert isinstance(made, Noted)
    cages()
    cages.close()
    assert seen == [
        (["x"], {"env": {"A": "1"}, "keep": ["B"]}),
        "open",
        ((), {"env": None, "keep": ()}),
        "open",
        "closed",
        "closed",
    ]


# --- recordings -----------------------------------------------------------------------------------


def recordings(folder: Path, *, record: bool) -> RecordingFactory:
    (folder / "scratch").mkdir(exist_ok=True)
    path = folder / "recordings" / "it.jsonl"
    return RecordingFactory(WireLog(), path=path, scratch=folder / "scratch", record=record)


def names_in(folder: Path) -> list[str]:
    return sorted(it.name for it in folder.glob("*"))


async def test_recordings_are_kept_if_the_test_passes_and_are_numbered(tmp_path: Path) -> None:
    async def later() -> SimulatedCLI:
        return SimulatedCLI(play)

    for passed in (False, True):
        made = recordings(tmp_path, record=True)
        for live in (lambda: SimulatedCLI(play), later):
            transport = await made(live, header={"note": "mine"})
            await transport.send(b"no JSON\n")
            await transport.aclose()
        made.finish(passed=passed)
        kept = names_in(tmp_path / "recordings")
        assert kept == (["it-2.jsonl", "it.jsonl"] if passed else [])
    for name in kept:
        recording = Recording.load(tmp_path / "recordings" / name)
        assert recording.header["note"] == "mine"


@pytest.mark.parametrize(
    ("given", "replayed", "recorded"),
    [
        (
            {},
            {"speed": None, "match": "strict", "ids": None, "redactor": True},
            {"header": None, "redactor": True},
        ),
        (
            {"speed": 2.0, "match": "x", "ids": {"a": "b"}, "redactor": False, "header": {"c": 1}},
            {"speed": 2.0, "match": "x", "ids": {"a": "b"}, "redactor": False},
            {"header": {"c": 1}, "redactor": False},
        ),
    ],
)
async def test_a_recording_has_what_the_test_gives_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    replayed: dict[str, Any],
    recorded: dict[str, Any],
) -> None:
    made: list[Any] = []

    class Noted:
        def __init__(self, *_: object, **fields: Any) -> None:
            made.append(fields)

    for name in ("ReplayTransport", "RecordingTransport"):
        monkeypatch.setattr(f"claudewire.testing.fixtures.{name}", Noted)
    monkeypatch.setattr("claudewire.testing.fixtures._load_recording", lambda path: None)
    for record in (False, True):
        factory = recordings(tmp_path, record=record)
        await factory(lambda: SimulatedCLI(play), **given)
        factory.finish(passed=False)
    assert made == [replayed, recorded]


async def test_what_was_never_recorded_cannot_be_replayed(tmp_path: Path) -> None:
    with pytest.raises(NoRecording, match=r"There is no recording .*it\.jsonl") as raised:
        await recordings(tmp_path, record=False)(lambda: SimulatedCLI(play))
    assert raised.value.advice == "Run `pytest --wire-record` with this test to make it."


async def test_a_recording_that_cannot_be_read_is_no_missing_one(tmp_path: Path) -> None:
    (tmp_path / "recordings" / "it.jsonl").mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        await recordings(tmp_path, record=False)(lambda: SimulatedCLI(play))
