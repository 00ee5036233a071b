"""What the package exports: each name is loaded when it is first used."""

from __future__ import annotations

import claudewire.simulator
from claudewire.simulator import faults
from claudewire.simulator.session import SimulatedSession


def test_every_name_can_be_loaded_and_is_listed() -> None:
    names = claudewire.simulator.__all__
    loaded = {name: getattr(claudewire.simulator, name) for name in names}
    assert loaded["SimulatedSession"] is SimulatedSession
    assert loaded["faults"] is faults
    assert set(names) <= set(dir(claudewire.simulator))
