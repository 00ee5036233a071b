"""The base of all exceptions."""

from __future__ import annotations

import copy

from claudewire.wire import Error, Evidence


class Strict(Error):
    def __init__(self, *, name: str) -> None:
        super().__init__(f"{name} failed", advice="Try again.", evidence=Evidence(pid=7))
        self.name = name


def test_error_reads_as_message_and_advice() -> None:
    error = Strict(name="It")
    assert str(error) == "It failed\nTry again."
    assert str(Error("Alone")) == "Alone"
    assert (error.retryable, Error().evidence) == (False, Evidence())


def test_error_can_be_copied_whatever_its_arguments_are() -> None:
    again = copy.copy(Strict(name="It"))
    assert (type(again), str(again), again.name) == (Strict, "It failed\nTry again.", "It")
    assert again.evidence.pid == 7
