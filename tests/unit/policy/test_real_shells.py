"""Commands that a policy allows, run in real shells: none runs the forbidden program."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fuzz.shell import POLICIES, Scratch, fuzz, shells

from .evasions import lines

TRICKS = [
    *lines(r"""
    "zap" ‖ z"a"p ‖ $'zap' ‖ $'\172ap' ‖ ${X:-zap} ‖ "z"a'p' ‖ $0 ‖ zork;zap ‖ eval 'za''p'
    env -i zap ‖ timeout -k 1 5 zap ‖ nice -n 1 zap ‖ nohup zap ‖ bash -c 'zork; zap' ‖ sh -c zap
    X=zap; $X ‖ trap 'zap' EXIT; zork ‖ alias zork=zap; zork ‖ function zork { zap; }; zork
    [ -v 'a[$(zap)]' ] ‖ export X=$(zap) ‖ compgen -C zap ‖ source <(echo zap) ‖ zork=zap; ${zork}
    zork `zap` ‖ zork "$(zap)" ‖ zork ${X:-$(zap)} ‖ zork "${X:-$(zap)}" ‖ zork ${X:-`zap`}
    zork ${x:$(zap)} ‖ zork < <(zap) ‖ zork > >(zap) ‖ zork <<'EOF'⏎$(zap)⏎EOF
    zork <<EOF $(zap)⏎x⏎EOF ‖ zork "$\⏎(zap)" ‖ zork a\⏎;zap ‖ zork # x; zap ‖ zork a#b; zap
    zork \# ; zap ‖ zork \; zap ‖ zork '; zap' ‖ zork "; zap" ‖ zork "';zap;'" ‖ zork '"';zap;'"'
    zork $'\'';zap;'' ‖ zork $'a';zap ‖ zork $"a";zap ‖ zork⇥zap ‖ zork⏎zap ‖ zork&&zap ‖ zork||zap
    zork|zap ‖ zork &>/dev/null zap ‖ zork 2>&1 zap ‖ zork >> out ‖ zork >& out ‖ > out zork
    zork 2> out ‖ (zork) > out ‖ while zap; do break; done ‖ until zork; do zap; done
    for i in $(zap); do zork; done ‖ time -p zap ‖ LANG=$(zap) zork ‖ LANG=C zork ‖ LANG=C zap
    PATH=x zork ‖ zork=1 zap
    """),
    "zork\rzap",
    "zork\r\nzap",
    "zork\x0bzap",
    "zork\xa0zap",
    "zork\u2028zap",
]
"""Ways to run `zap`, some of which only seem to; beside those of the fuzzer."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A directory that other users may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def test_judge_sees_programs_and_files(folder: Path) -> None:
    scratch = Scratch(folder)
    for shell in shells().values():
        assert {*scratch.run(shell, "zork; zap > out")} == {"zork", "zap", "file out"}
        assert scratch.run(shell, "zork 'zap'") == ("zork",)
        assert scratch.run(shell, ":") == ()


def test_no_allowed_trick_runs_the_forbidden_program(folder: Path) -> None:
    scratch = Scratch(folder)
    for command in TRICKS:
        for name, policy in POLICIES.items():
            if policy.decide("Bash", {"command": command}).allows:
                for shell, start in shells().items():
                    ran = {*scratch.run(start, command)}
                    assert "zap" not in ran, (shell, name, command)
                    assert name != "rules that allow" or ran <= {"zork"}, (shell, command)


@pytest.mark.unmeasured
def test_no_random_command_runs_the_forbidden_program(folder: Path) -> None:
    report = fuzz(60, seed=3, seconds=600, folder=folder)
    assert report.ran.total() >= 60
    assert report.escapes == []
