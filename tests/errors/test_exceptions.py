"""Every exception of the library can be handled alike: by its message, advice and evidence."""

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
from claudewire.transport import RecordingEntry, RecordingError, ReplayMismatch, ReplayUnfinished

ARGUMENTS: dict[type[claudewire.Error], tuple[Any, ...]] = {
    RecordingError: (3, "no JSON"),
    ReplayMismatch: (3, "something else", "$", '{"a": 1}', '{"a": 2}'),
    ReplayUnfinished: ((RecordingEntry(dir=">", line=b"{}", number=3),),),
}
"""Of those that make their message themselves."""


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
def test_every_error_has_a_message_an_advice_and_evidence(kind: type[claudewire.Error]) -> None:
    error = make(kind)
    assert error.message
    assert error.advice == ""
    assert error.evidence == Evidence()
    assert error.message in str(error)


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_can_be_pickled_and_copied(kind: type[claudewire.Error]) -> None:
    error = make(kind)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is kind
        assert vars(other) == vars(error)
        assert (str(other), other.args) == (str(error), error.args)


def test_what_an_error_carries_besides_survives_pickling() -> None:
    late = RequestTimeout("Too late", request="set_model", evidence=Evidence(pid=7), advice="Wait.")
    again = pickle.loads(pickle.dumps(late))
    assert (again.request, again.evidence.pid, again.advice) == ("set_model", 7, "Wait.")
    wrong = copy.deepcopy(OutputError("No number", text="seven", value="7", problem="a string"))
    assert (wrong.text, wrong.value, wrong.problem) == ("seven", "7", "a string")


def test_the_advice_follows_the_message() -> None:
    error = claudewire.OptionsError("The model is empty.", advice="Name one.")
    assert str(error) == "The model is empty.\nName one."


# --- is a retry worthwhile? -----------------------------------------------------------------------

ALWAYS = {OutputError, RequestTimeout, TurnStalled}
BY_CAUSE = (CLIError, TurnError)
LATER = {
    Cause.CONNECTION_LOST,
    Cause.EXITED,
    Cause.KILLED,
    Cause.NO_ANSWER,
    Cause.OUT_OF_MEMORY,
    Cause.OVERLOADED,
    Cause.RATE_LIMITED,
    Cause.SERVER_ERROR,
    Cause.STOPPED_LISTENING,
    Cause.STOPPED_TALKING,
}
NEVER = {
    Cause.BAD_FLAG,
    Cause.INVALID_REQUEST,
    Cause.LIMIT_REACHED,
    Cause.NOT_FOUND,
    Cause.NOT_LOGGED_IN,
    Cause.OTHER_SESSION,
    Cause.REFUSED,
    Cause.SESSION_IN_USE,
    Cause.SESSION_NOT_FOUND,
    Cause.TOO_LONG,
    Cause.UNKNOWN,
    Cause.WRONG_VERSION,
}


@pytest.mark.parametrize("kind", every_kind(), ids=lambda kind: kind.__name__)
def test_every_error_says_whether_a_retry_makes_sense(kind: type[claudewire.Error]) -> None:
    assert make(kind).retryable is (kind in ALWAYS)


def test_the_base_of_all_errors_says_no() -> None:
    assert claudewire.Error("It failed").retryable is False


@pytest.mark.parametrize("cause", Cause)
def test_with_a_cause_it_depends_on_the_cause(cause: Cause) -> None:
    assert (cause in LATER) is not (cause in NEVER)
    for kind in BY_CAUSE:
        assert kind("It failed", cause=cause).retryable is (cause in LATER)


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
def test_an_exception_is_told_in_words_whatever_it_says(
    error: Exception, words: str, described: str
) -> None:
    assert words_of(error) == words
    assert describe(error) == described
