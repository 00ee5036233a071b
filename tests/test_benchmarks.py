"""The benchmarks run: nothing is measured here, and nothing depends on speed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from benchmarks import floods
from benchmarks.page import plot, section
from benchmarks.results import Measured, Spread, demanded, shown
from benchmarks.table import FLOODS, GROUPS, Figure, Group, Row

ROOT = Path(__file__).resolve().parent.parent
SOON = 240


def test_everything_that_is_measured_runs() -> None:
    command = [sys.executable, "-m", "benchmarks", "--quick"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", timeout=SOON)
    assert done.returncode == 0, done.stderr
    assert "ours: " in done.stdout
    assert "floods: " in done.stdout


def measured(*rounds: tuple[float, float], limit: float | None = 0.5) -> tuple[Measured, Row]:
    row = Row("a turn", Figure("ours", "turn"), Figure("theirs", "turn"), "theirs", limit)
    found = Measured(Group("turns", "Turns", "", len(rounds), {}, [row]))
    for ours, theirs in rounds:
        found.note("ours", {"turn": ours})
        found.note("theirs", {"turn": theirs})
    return found, row


def test_a_ratio_is_taken_in_each_round() -> None:
    found, row = measured((1, 2), (30, 100), (1, 10))
    ratio = found.ratio(row)
    assert ratio is not None
    assert ratio.middle == pytest.approx(0.3)
    assert (ratio.low, ratio.high) == pytest.approx((0.14, 0.46))


@pytest.mark.parametrize(
    ("limit", "verdict", "holds"),
    [(0.5, "holds", True), (0.4, "MISSED", False), (None, "shown only", True)],
)
def test_the_median_ratio_is_judged(limit: float | None, verdict: str, holds: bool) -> None:
    found, row = measured((1, 2), limit=limit)
    assert (found.verdict(row), found.holds) == (verdict, holds)
    assert found.data()["ratios"][0]["verdict"] == verdict


def test_what_could_not_be_measured_is_not_judged() -> None:
    found, row = measured()
    assert (found.verdict(row), found.holds, found.ratio(row)) == ("not measured", True, None)


def test_a_round_with_too_little_time_to_be_counted_has_no_ratio() -> None:
    found, row = measured((1, 0), (1, 2))
    assert found.ratio(row) == Spread.of([0.5])
    found, row = measured((1, 0))
    assert found.ratio(row) is None


def test_a_run_that_failed_in_one_round_is_left_out_of_all() -> None:
    found, row = measured((1, 2), (1, 2))
    found.forget("theirs")
    assert found.ratio(row) is None
    assert found.absolute(row.ours) is not None


def test_at_the_end_each_bound_is_shown_with_what_was_reached() -> None:
    good, _ = measured((1, 4))
    bad, _ = measured((1, 1))
    unknown, _ = measured()
    free, _ = measured((1, 1), limit=None)
    lines = demanded([good, bad, unknown, free]).splitlines()[1:]
    assert [line.split()[4:] for line in lines] == [
        ["0.25", "0.5", "ok"],
        ["1", "0.5", "not", "reached"],
        ["-", "0.5", "not", "measured"],
    ]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0000123, "s", "12.3 µs"),
        (0.25, "s", "250 ms"),
        (61_440, "B", "61.4 KB"),
        (0, "s", "0 µs"),
    ],
)
def test_a_figure_is_shown_in_a_readable_unit(value: float, unit: str, text: str) -> None:
    assert shown(value, unit) == text


def test_the_page_has_the_table_and_the_plot_has_a_bar_for_each_figure() -> None:
    found, _row = measured((1, 2), (2, 4))
    assert "| a turn | 1.5 s | theirs | 3 s | 0.5 (0.5 to 0.5) | 0.5 | holds |" in section(found)
    assert ElementTree.fromstring(plot(found)).findall("{*}rect")[1].get("width") is not None


def test_one_round_has_no_spread() -> None:
    assert Spread.of([2.0]) == (2, 2, 2)


def test_the_table_has_every_flood() -> None:
    assert {*FLOODS} == {*floods.FLOODS}


def test_every_row_compares_figures_of_runs_that_its_group_has() -> None:
    for group in GROUPS:
        for row in group.rows:
            assert {row.ours.run, row.against.run} <= {*group.runs}, (group.name, row.what)
