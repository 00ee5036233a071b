"""Test that all exceptions of the library are handled alike."""

from __future__ import annotations

import copy
import importlib
import pickle
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import claudewire
from claudewire.errors import (
    Cause,
    CLIError,
    Evidence,
    OutputError,
    RequestError,
    RequestTimeout,
    TurnError,
    TurnStalled,
    describe,
    words_of,
)
from claudewire.recordings import RecordingEntry, RecordingError, ReplayMismatch, ReplayUnfinished

ARGUMENTS: dict[type[claudewire.Error], tuple[Any, ...]] = {
    RecordingError: (3, "no JSON"),
    ReplayMismatch: (3, "something else", "$", '{"a": 1}', '{"a": 2}'),
    ReplayUnfinished: ((RecordingEntry(dir=">", line=b"{}", number=3),),),
}
"""Arguments of errors that make their message themselves."""


def import_everything() -> None:
    for module in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)


def subclasses(kind: type[claudewire.Error]) -> Iterator[type[claudewire.Error]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def every_kind() -> list[type[claudewire.Error]]:
    import_everything()
    found: set[type[claudewire.Error]] = set(subclasses(claudewire.Error))
    ours = {kind for kind in found if kind.__module__.startswith("claudewire.")}
    return sorted(ours, key=lambda kind: kind.__name__)


def make(kind: type[claudewire.Error], **more: Any) -> claudewire.Error:
    if issubclass(kind, RequestError):
        more["request"] = "set_model"
    return kind(*ARGUMENTS.get(kind, ("It failed",)), **more)


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_error_has_message_advice_and_evidence_and_pickles(kind: type[claudewire.Error]) -> None:
    error = make(kind)
    assert error.message in str(error)
    assert error.message
    assert (error.advice, error.evidence) == ("", Evidence())
    assert error.retryable is (kind in {OutputError, RequestTimeout, TurnStalled})
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert vars(other) == vars(error)
        assert (str(other), other.args) == (str(error), error.args)


@pytest.mark.parametrize("cause", Cause)
def test_cause_decides_whether_a_retry_may_help(cause: Cause) -> None:
    permanent = (
        "bad flag, invalid request, limit reached, not found, not logged in, other session, "
        "refused, session in use, session not found, too long, unknown, wrong version"
    )
    assert cause.retryable is (cause not in permanent.split(", "))
    assert CLIError("It failed", cause=cause).retryable is cause.retryable
    assert TurnError("It failed", cause=cause).retryable is cause.retryable


class _Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it has no words")


@pytest.mark.parametrize(
    ("error", "words", "described"),
    [
        (ValueError("it broke"), "it broke", "ValueError: it broke"),
        (ValueError(), "ValueError", "ValueError"),
        (_Unspeakable(), "_Unspeakable", "_Unspeakable"),
    ],
)
def test_any_exception_can_be_described(error: Exception, words: str, described: str) -> None:
    assert words_of(error) == words
    assert describe(error) == described
