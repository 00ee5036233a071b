"""Test the diagnosis of failures by the last output of CLIs and of programs that start them."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from claudewire.errors import Cause, Evidence, diagnose, diagnose_result
from claudewire.errors.diagnosis import Diagnosis
from claudewire.errors.failure_signs import SIGNS
from claudewire.wire import ResultMessage

ID = "11111111-1111-4111-8111-111111111111"
NODE_TRACE = """file:///app/cli.js:3749
`);throw new Error(`Invalid MCP configuration:
         ^

Error: Invalid MCP configuration:
MCP config file not found: /nope.json
    at g_0.<anonymous> (file:///app/cli.js:3749:10)
Node.js v20.20.2
"""
FORK = "--session-id can only be used with --continue or --resume if --fork-session is also"
OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

# Each as a CLI has written it, or as its source has it.
STDERR = {
    Cause.BAD_FLAG: [
        ("error: unknown option '--cwd=/x'", "does not know the option --cwd:"),
        ("error: option '--permission-mode <mode>' argument 'nope' is invalid.", "mode <mode>"),
        ("error: option '--model <model>' argument missing", "--model"),
        (f"Error: {FORK} specified.", "--fork-session"),
        ("Error: --resume-session-at requires --resume", "requires --resume"),
        ("Error: Invalid session ID. Must be a valid UUID.", "UUID"),
        (NODE_TRACE, "Error: Invalid MCP configuration:"),
    ],
    Cause.SESSION_NOT_FOUND: [
        (f"No conversation found with session ID: {ID}", ID),
        ("No conversation found to continue", "No session has this id"),
        ("Error: --resume requires a valid session ID or session title.", "No session has this"),
    ],
    Cause.SESSION_IN_USE: [
        (f"Error: Session ID {ID} is already in use.\n", f"session {ID} already")
    ],
    Cause.WRONG_VERSION: [
        ("A newer version (1.0.24 or higher) is required to continue.", "too old"),
        ("Error: Claude Code requires Node.js version 22 or higher.", "needs Node.js 22 or newer"),
    ],
    Cause.REFUSED: [
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges", "root"),
        ("Error: Claude Code cannot be launched inside another Claude Code session.", "inside"),
        ("Error parsing streaming input line (type=unknown, 5 chars)", "could not read a line"),
        ("claude: libc.so.6: version `GLIBC_2.38' not found", "not a program for this system"),
        ("bash: /app/claude: cannot execute binary file: Exec format error", "system"),
        ("ssh: Could not resolve hostname nowhere: Name or service not known", "ssh"),
        ("Error response from daemon: No such container: box", "Docker"),
    ],
    Cause.OUT_OF_MEMORY: [
        (
            "\nFATAL ERROR: Reached heap limit Allocation failed\n----- Native -----",
            "out of memory",
        ),
        ("sh: fork: Cannot allocate memory", "out of memory"),
    ],
    Cause.NOT_FOUND: [
        ("bash: line 1: claude: command not found", "could not find"),
        ("/usr/bin/env: 'node': No such file or directory", "Node.js"),
    ],
}
RESULTS = {
    Cause.NOT_LOGGED_IN: [
        ("Not logged in · Please run /login", "not logged in"),
        ("Invalid API key · Fix external API key", "does not accept the key"),
        ("Failed to authenticate. API Error: 401 OAuth token has expired.", "no longer valid"),
        ("Your ANTHROPIC_API_KEY belongs to a disabled organization", "not allowed to use the CLI"),
    ],
    Cause.LIMIT_REACHED: [
        ("Credit balance is too low", "no credit left"),
        ("You've hit your weekly limit · resets 3pm", "resets 3pm"),
    ],
    Cause.RATE_LIMITED: [
        ("API Error: Request rejected (429) · This would exceed your limit.", "too many requests")
    ],
    Cause.INVALID_REQUEST: [
        ("Prompt is too long", "too long"),
        ("Image was too large. Try resizing the image", "does not take"),
    ],
    Cause.REFUSED: [
        ("There's an issue with the selected model (claude-x).", "not know the model claude-x"),
        ("API Error: Unable to connect to API: SSL certificate verification", "certificate"),
    ],
    Cause.OVERLOADED: [(f"API Error: {OVERLOADED}", "overloaded")],
    Cause.CONNECTION_LOST: [
        ("API Error: terminated", "was lost"),
        ("Request timed out", "was lost"),
        ("API Error: Can't reach the API server — check your internet or DNS", "was lost"),
    ],
}


def examples(table: dict[Cause, list[tuple[str, str]]]) -> list[tuple[Cause, str, str]]:
    return [(cause, words, said) for cause, rows in table.items() for words, said in rows]


API_FAILURES = [
    json.loads(line)
    for line in (Path(__file__).parent / "api_failures.jsonl").read_text("utf-8").splitlines()
]
"""Results of real CLIs when the API failed; the `case` is the status, or the event."""

CAUSES = {
    "400": Cause.INVALID_REQUEST,
    "400 too long": Cause.INVALID_REQUEST,
    "404": Cause.REFUSED,
    "408": Cause.CONNECTION_LOST,
    "409": Cause.SERVER_ERROR,
    "413": Cause.INVALID_REQUEST,
    "422": Cause.INVALID_REQUEST,
    "429": Cause.RATE_LIMITED,
    "500": Cause.SERVER_ERROR,
    "502": Cause.SERVER_ERROR,
    "503": Cause.SERVER_ERROR,
    "504": Cause.SERVER_ERROR,
    "529": Cause.OVERLOADED,
    "cut at the start": Cause.CONNECTION_LOST,
    "cut in the middle": Cause.CONNECTION_LOST,
    "connection refused": Cause.CONNECTION_LOST,
}


def failed(text: str | None = None, subtype: str = "success", **fields: Any) -> ResultMessage:
    return ResultMessage(subtype=subtype, is_error=True, result=text, **fields)


# --- words ----------------------------------------------------------------------------------------


def diagnosed(evidence: Evidence, result: ResultMessage | None = None) -> Diagnosis:
    error = diagnose(evidence, result)
    return Diagnosis(error.cause, error.message, error.advice)


@pytest.mark.parametrize(("cause", "words", "said"), examples(STDERR))
def test_stderr_shows_the_cause(cause: Cause, words: str, said: str) -> None:
    found = diagnosed(Evidence(exit_code=1, stderr=f"Debugger listening\n{words}\n"))
    assert found.cause is cause
    assert said in found.message
    assert found.advice


@pytest.mark.parametrize(("cause", "words", "said"), examples(RESULTS))
def test_result_shows_the_cause(cause: Cause, words: str, said: str) -> None:
    found = diagnose_result(failed(words))
    assert found.cause is cause
    assert said in found.message
    assert found.advice
    assert diagnosed(Evidence(exit_code=1), failed(words)) == found
    assert diagnosed(Evidence(exit_code=1, stderr=words)) == found


@pytest.mark.parametrize(
    "failure", API_FAILURES, ids=lambda it: f"{it['case']}, {it['seen'][-1]}".replace(" ", "_")
)
def test_failure_of_the_api_has_its_cause_with_every_cli(failure: dict[str, Any]) -> None:
    result = ResultMessage(**failure["result"])
    found = diagnose_result(result)
    assert found.cause is CAUSES[failure["case"]]
    permanent = {Cause.INVALID_REQUEST, Cause.REFUSED}
    assert found.cause.retryable is (found.cause not in permanent)
    assert found.advice
    assert result.result
    assert result.result[:400] in found.message


def test_every_sign_has_an_example() -> None:
    texts = [words for _, words, _ in (*examples(STDERR), *examples(RESULTS))]
    for sign in SIGNS:
        assert any(re.search(sign.pattern, text, re.M) for text in texts), sign.pattern


def test_errors_of_a_failed_resume_count() -> None:
    errors = [f"No conversation found with session ID: {ID}"]
    result = ResultMessage(subtype="error_during_execution", is_error=True, errors=errors)
    assert diagnose_result(result).cause is Cause.SESSION_NOT_FOUND


def test_plain_text_on_stdout_counts_but_not_the_model() -> None:
    evidence = Evidence(exit_code=1, received=("bash: claude: command not found",))
    assert diagnosed(evidence).cause is Cause.NOT_FOUND
    line = '{"type":"assistant","text":"Not logged in · Please run /login"}'
    result = ResultMessage(subtype="success", is_error=False, result="Please run /login")
    found = diagnosed(Evidence(exit_code=1, received=(line,)), result)
    assert found == Diagnosis(
        Cause.EXITED,
        "The CLI has exited with status 1",
        "Try its --version: is it the claude CLI?",
    )


def test_message_has_the_line_with_the_sign_and_no_more() -> None:
    found = diagnosed(Evidence(stderr="\nerror: unknown option '-z'\nmore"))
    assert found.message == "The CLI does not know the option -z: error: unknown option '-z'"
    found = diagnose_result(failed("Credit balance is too low " + "x" * 10_000))
    assert len(found.message) < 600


# --- fields of a result ---------------------------------------------------------------------------


def test_reason_for_a_failed_start_shows_the_cause() -> None:
    found = diagnose_result(failed(startup_failure_reason="cli_version_too_old"))
    assert found.cause is Cause.WRONG_VERSION
    assert found.advice
    found = diagnose_result(failed("The proxy is bad", startup_failure_reason="proxy_invalid"))
    assert found == Diagnosis(Cause.REFUSED, "The CLI refuses to start: The proxy is bad")
    found = diagnose_result(failed(startup_failure_reason="initialize_fields_not_delivered"))
    assert "handshake" in found.advice


@pytest.mark.parametrize(
    ("status", "cause"),
    [
        (200, Cause.UNKNOWN),
        (401, Cause.NOT_LOGGED_IN),
        (402, Cause.LIMIT_REACHED),
        (418, Cause.INVALID_REQUEST),
        (599, Cause.SERVER_ERROR),
    ],
)
def test_status_of_the_api_shows_the_cause(status: int, cause: Cause) -> None:
    found = diagnose_result(failed("Oh no", api_error_status=status))
    assert found.cause is cause
    assert found.message.endswith(": Oh no")
    assert diagnose_result(failed(api_error_status=status)).message


def test_subtype_is_the_message_without_other_signs() -> None:
    found = diagnose_result(failed(subtype="error_max_turns"))
    assert found.cause is Cause.UNKNOWN
    assert "max_turns" in found.message
    assert diagnose_result(failed("Oh no", "new")).message == "The turn failed: Oh no"


def test_silent_turn_was_cut_off_by_the_api() -> None:
    silent = failed(subtype="error_during_execution")
    assert diagnose_result(silent, was_silent=True).cause is Cause.CONNECTION_LOST
    assert diagnosed(Evidence(exit_code=1), silent).cause is Cause.EXITED


def test_stopped_turn_does_not_fail_with_its_text() -> None:
    stopped = ResultMessage(subtype="success", result="Half a", terminal_reason="aborted_streaming")
    assert diagnose_result(stopped).message == "The turn was stopped before its end"


# --- the exit -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "cause", "said"),
    [
        ({"signal": 9}, Cause.KILLED, "was killed by SIGKILL"),
        ({"signal": 11}, Cause.KILLED, "has crashed with SIGSEGV"),
        ({"exit_code": 137}, Cause.OUT_OF_MEMORY, "most likely for lack of memory"),
        ({"exit_code": 143}, Cause.KILLED, "was killed by SIGTERM"),
        ({"exit_code": 126}, Cause.REFUSED, "cannot run the CLI"),
        ({"exit_code": 127}, Cause.NOT_FOUND, "could not find the CLI"),
        ({"exit_code": 0}, Cause.EXITED, "has exited"),
        ({}, Cause.UNKNOWN, "can no longer be used"),
    ],
)
def test_exit_shows_the_cause_without_output(
    ended: dict[str, Any], cause: Cause, said: str
) -> None:
    found = diagnosed(Evidence(**ended))
    assert found.cause is cause
    assert said in found.message


def test_sigkill_may_mean_lack_of_memory() -> None:
    assert "dmesg" in diagnosed(Evidence(signal=signal.SIGKILL)).advice
    log = "Out of memory: Killed process 4711 (claude)"
    found = diagnosed(Evidence(signal=signal.SIGKILL, stderr=log))
    assert found.cause is Cause.OUT_OF_MEMORY
