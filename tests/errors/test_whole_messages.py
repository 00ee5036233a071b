"""What is said of every failure, in whole sentences: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from tests.errors.secret_cases import NAMED, TOKENS, opaque
from tests.errors.test_diagnosis import STDERR
from tests.helpers.kept import Kept

from claudewire import errors
from claudewire.errors import CLIError, Error, Evidence, redact, secret_forms
from claudewire.errors.diagnosis import diagnose, diagnose_result, diagnose_status
from claudewire.errors.failure_signs import KINDS, STARTUP_FAILURES, STATUSES
from claudewire.wire import ResultMessage

FAILURES = Path(__file__).with_name("api_failures.jsonl")
EVIDENCE = Evidence(
    argv=("claude", "-p"), session="mine", pid=7, exit_code=1, stderr="It broke.\n", sent=("a",)
)


def result(**fields: Any) -> ResultMessage:
    needed = {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "duration_ms": 1,
        "duration_api_ms": 1,
        "num_turns": 1,
        "session_id": "s",
    }
    return msgspec.convert({**needed, **fields}, ResultMessage)


def of_results() -> Iterator[str]:
    for line in FAILURES.read_text(encoding="utf-8").splitlines():
        given = json.loads(line)
        yield f"{given['case']} {given['seen'][0]}: {diagnose_result(result(**given['result']))}"
    for reason in (*STARTUP_FAILURES, "unheard"):
        given = {"startup_failure_reason": reason, "subtype": "error_during_execution"}
        yield f"{reason}: {diagnose_result(result(**given))}"
    for subtype in ("error_max_turns", "error_max_budget_usd", "error_during_execution", "odd"):
        for silent in (True, False):
            yield f"{subtype}: {diagnose_result(result(subtype=subtype), was_silent=silent)}"
    yield str(diagnose_result(result(terminal_reason="aborted_tools", is_error=False)))
    aborted = result(subtype="error_during_execution", terminal_reason="aborted_tools")
    yield str(diagnose_result(aborted))
    yield str(diagnose_result(result(result="x" * 600)))


def of_statuses() -> Iterator[str]:
    for status in sorted({*STATUSES, *KINDS.values(), 200, 302, 418, 502, 599}):
        yield f"{status}: {diagnose_status(status, 'said')}"
    for kind in (*KINDS, "odd", None):
        yield f"{kind}: {errors.status_of(kind)}"


def of_ends() -> Iterator[str]:
    codes = [0, 1, 2, 126, 127, 128, 137, 139, 143, 255]
    ends = [Evidence(exit_code=it) for it in codes]
    ends += [Evidence(signal=it.value) for it in sorted(signal.Signals) if it.value < 32]
    ends += [Evidence(), Evidence(signal=99), EVIDENCE]
    ends += [Evidence(stderr=text) for text, *_ in STDERR]
    for it in ends:
        error = diagnose(it, phase="it was tested")
        yield f"{it.exit_code} {it.signal}: {error.cause.name} {error.retryable}: {error}"


def of_classes() -> Iterator[str]:
    more: dict[str, dict[str, Any]] = {
        "RequestError": {"request": "set_model", "code": "odd"},
        "UnsupportedRequest": {"request": "set_model"},
        "RequestTimeout": {"request": "set_model"},
    }
    for name in sorted(errors.__all__):
        kind = getattr(errors, name)
        if isinstance(kind, type) and issubclass(kind, Error):
            made = kind("It failed.", **more.get(name, {}))
            made.evidence, made.advice = EVIDENCE, "Try again."
            yield f"{name}: {made!r} {str(made)!r} {made.retryable}"
            yield f"    {sorted((k, v) for k, v in vars(made).items() if k != 'evidence')}"
    for cause in errors.Cause:
        yield f"{cause!r} {CLIError('x', cause=cause).retryable}"


def shortest(token: str) -> int:
    """Return how many characters of a secret are enough for it to be recognised."""
    return next((n for n in range(1, len(token) + 1) if redact(token[:n]) != token[:n]), 0)


def test_what_is_recognised_of_each_secret_is_as_it_was(kept: Kept) -> None:
    tokens = [
        f"{name}: {shortest(token)} of {len(token)}: "
        f"{redact(f'a {token}, b')} {redact(f'{token}.tail')}"
        for name, token in TOKENS.items()
    ]
    named = [redact(text, home="/home/samuel") for text in NAMED]
    kept("secrets.txt", "".join(f"{line}\n" for line in (*tokens, *named)))


def test_which_names_are_those_of_secrets_is_as_it_was(kept: Kept) -> None:
    tables = (
        secret_forms._LONG_NAMES,
        secret_forms._PLURALS,
        sorted(secret_forms._NOT_SECRET),
        sorted(secret_forms._DESCRIPTIONS),
        sorted(secret_forms.SHORT_NAMES),
    )
    lines = []
    for name in [name for table in tables for name in table]:
        spellings = [name, name.replace(" ", "_").upper(), f"my{name.title().replace(' ', '')}"]
        texts = [f'{{"{it}": "opaque-value"}}' for it in spellings]
        texts += [f"{it}=opaque-value" for it in spellings]
        texts += [f"--{name.replace(' ', '-')} opaque-value"]
        texts += [
            f'{{"secret": {{"{name}": "value"}}}}',
        ]
        lines.append(" | ".join(redact(text, home="/home/samuel") for text in texts))
    kept("names.txt", "".join(f"{line}\n" for line in lines))


def test_a_token_is_taken_out_up_to_its_longest() -> None:
    for begin in ("sk-ant-", "sk-", "ghp_"):
        token = begin + opaque(4000)
        assert redact(f"a {token} b") == "a <key-1> b"
        assert redact(f"a {token}x b") == "a <key-1>x b"


def test_a_name_can_be_so_long() -> None:
    for count, shown in ((200, "<key-1>"), (201, "opaque value")):
        name = "a" * (count - 5) + "token"
        assert redact(json.dumps({name: "opaque value"})) == json.dumps({name: shown})


def test_what_is_said_of_every_failure_is_as_it_was(kept: Kept) -> None:
    parts = (of_results(), of_statuses(), of_ends(), of_classes())
    kept("failures.txt", "".join(f"{line}\n" for part in parts for line in part))
