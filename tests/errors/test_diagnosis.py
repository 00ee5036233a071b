"""Last words of CLIs and of those that start them, and what is made of them."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claudewire.errors import Cause, CLIError, Evidence, diagnose, diagnose_result
from claudewire.errors.diagnosis import Diagnosis, diagnose_evidence
from claudewire.errors.failure_signs import RESULT_SIGNS, SIGNS
from claudewire.wire import ResultMessage

ID = "11111111-1111-4111-8111-111111111111"
SESSION_ID_ONLY = "--session-id can only be used with --continue or --resume if --fork-session is"
OLD_API_ERROR = (
    'API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"OAuth token '
    'has expired. Please obtain a new token or refresh your existing token."}} · Please run /login'
)
HEAP = """
<--- Last few GCs --->
[5862:0x2be58d50]      399 ms: Mark-Compact 25.4 (26.2) -> 24.8 (27.2) MB allocation failure

FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory
----- Native stack trace -----
"""
NODE_TRACE = """file:///app/cli.js:3749
`);throw new Error(`Invalid MCP configuration:
         ^

Error: Invalid MCP configuration:
MCP config file not found: /nope.json
    at g_0.<anonymous> (file:///app/cli.js:3749:10)
Node.js v20.20.2
"""
NESTED = (
    "Error: Claude Code cannot be launched inside another Claude Code session.\n"
    "Nested sessions share runtime resources and will crash all active sessions.\n"
)

# Each as a CLI has written it, or as its source has it.
STDERR = [
    ("error: unknown option '--cwd=/x'", Cause.BAD_FLAG, "does not know the option --cwd:"),
    ("error: unknown option '-z'\n", Cause.BAD_FLAG, "does not know the option -z:"),
    (
        "error: option '--permission-mode <mode>' argument 'nope' is invalid. Allowed choices are",
        Cause.BAD_FLAG,
        "this value for --permission-mode:",
    ),
    (
        "error: option '--model <model>' argument missing",
        Cause.BAD_FLAG,
        "this value for --model:",
    ),
    (
        "Error: When using --print, --output-format=stream-json requires --verbose",
        Cause.BAD_FLAG,
        "requires --verbose",
    ),
    (f"Error: {SESSION_ID_ONLY} also specified.", Cause.BAD_FLAG, "--fork-session"),
    (
        "Error: --session-id cannot be used with --continue or --resume.",
        Cause.BAD_FLAG,
        "--continue",
    ),
    ("Error: Invalid session ID. Must be a valid UUID.", Cause.BAD_FLAG, "UUID"),
    ("Error: Settings file not found: /nope.json", Cause.BAD_FLAG, "/nope.json"),
    (NODE_TRACE, Cause.BAD_FLAG, "Error: Invalid MCP configuration:"),
    (
        "Error: --json-schema is not valid JSON: JSON Parse error: Unable to parse JSON string",
        Cause.BAD_FLAG,
        "--json-schema",
    ),
    (f"No conversation found with session ID: {ID}", Cause.SESSION_NOT_FOUND, ID),
    ("No conversation found to continue", Cause.SESSION_NOT_FOUND, "no such session"),
    (
        "Error: --resume requires a valid session ID or session title when used with --print.",
        Cause.SESSION_NOT_FOUND,
        "neither the id nor the title",
    ),
    (f"Error: Session ID {ID} is already in use.\n", Cause.SESSION_IN_USE, f"session {ID} already"),
    (
        "It looks like your version of Claude Code (1.0.1) needs an update.\n"
        "A newer version (1.0.24 or higher) is required to continue.",
        Cause.WRONG_VERSION,
        "too old",
    ),
    (
        "Error: Claude Code requires Node.js version 22 or higher.",
        Cause.WRONG_VERSION,
        "needs Node.js 22 or newer",
    ),
    (
        "--dangerously-skip-permissions cannot be used with root/sudo privileges for security",
        Cause.REFUSED,
        "root",
    ),
    (NESTED, Cause.REFUSED, "inside another"),
    (
        "Error parsing streaming input line (type=unknown, 5 chars): SyntaxError",
        Cause.REFUSED,
        "could not read a line",
    ),
    (HEAP, Cause.OUT_OF_MEMORY, "out of memory"),
    ("sh: fork: Cannot allocate memory", Cause.OUT_OF_MEMORY, "out of memory"),
    (
        "claude: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.38' not found",
        Cause.REFUSED,
        "not a program for this system",
    ),
    (
        "Error relocating /usr/bin/claude: __vsnprintf_chk: symbol not found",
        Cause.REFUSED,
        "not a program for this system",
    ),
    ("bash: /app/claude: cannot execute binary file: Exec format error", Cause.REFUSED, "system"),
    ("bash: line 1: claude: command not found", Cause.NOT_FOUND, "could not find"),
    ("/usr/bin/env: 'node': No such file or directory", Cause.NOT_FOUND, "Node.js"),
    (
        'OCI runtime exec failed: exec failed: "claude": executable file not found in $PATH',
        Cause.NOT_FOUND,
        "could not find",
    ),
    ("ssh: Could not resolve hostname nowhere: Name or service not known", Cause.REFUSED, "ssh"),
    ("Permission denied (publickey,password).", Cause.REFUSED, "ssh could not connect"),
    ("Error response from daemon: No such container: box", Cause.REFUSED, "Docker"),
]
RESULTS = [
    ("Not logged in · Please run /login", Cause.NOT_LOGGED_IN, "not logged in"),
    ("Invalid API key · Please run /login", Cause.NOT_LOGGED_IN, "not logged in"),
    ("Invalid API key · Fix external API key", Cause.NOT_LOGGED_IN, "does not accept the key"),
    ("OAuth token revoked · Please run /login", Cause.NOT_LOGGED_IN, "OAuth token revoked"),
    (
        "Failed to authenticate. API Error: 401 OAuth token has expired. Please obtain a new token",
        Cause.NOT_LOGGED_IN,
        "no longer valid",
    ),
    (
        "Failed to authenticate: OAuth token revoked. Please log in again or contact your",
        Cause.NOT_LOGGED_IN,
        "no longer valid",
    ),
    (OLD_API_ERROR, Cause.NOT_LOGGED_IN, "not logged in"),
    ("Authentication required · Sign in again to continue", Cause.NOT_LOGGED_IN, "Sign in"),
    (
        "Your ANTHROPIC_API_KEY belongs to a disabled organization · Update or unset the",
        Cause.NOT_LOGGED_IN,
        "not allowed to use the CLI",
    ),
    ("Credit balance is too low", Cause.LIMIT_REACHED, "no credit left"),
    (
        "Claude AI usage limit reached|1760000000",
        Cause.LIMIT_REACHED,
        "(until 2025-10-09 08:53 UTC)",
    ),
    ("Claude AI usage limit reached", Cause.LIMIT_REACHED, "usage limit"),
    ("You've hit your weekly limit · resets 3pm", Cause.LIMIT_REACHED, "resets 3pm"),
    ("You've hit your team's shared budget. /model to switch", Cause.LIMIT_REACHED, "limit of the"),
    ("Opus weekly limit reached ∙ resets 9pm", Cause.LIMIT_REACHED, "limit of the account"),
    ("Spending cap reached", Cause.LIMIT_REACHED, "limit of the account"),
    (
        'API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}',
        Cause.RATE_LIMITED,
        "too many requests",
    ),
    (
        "API Error: Request rejected (429) · This request would exceed your account's rate limit.",
        Cause.RATE_LIMITED,
        "too many requests",
    ),
    ("Prompt is too long", Cause.INVALID_REQUEST, "too long"),
    ("Image was too large. Try resizing the image", Cause.INVALID_REQUEST, "does not take"),
    (
        "There's an issue with the selected model (claude-x). It may not exist or you may not",
        Cause.REFUSED,
        "does not know the model claude-x",
    ),
    ("API Error: Repeated 529 Overloaded errors", Cause.OVERLOADED, "overloaded"),
    (
        'API Error: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        Cause.OVERLOADED,
        "overloaded",
    ),
    (
        "API Error: Unable to connect to API: SSL certificate verification failed (X)",
        Cause.REFUSED,
        "certificate",
    ),
    ("API Error: terminated", Cause.CONNECTION_LOST, "was lost"),
    ("API Error: Request timed out.", Cause.CONNECTION_LOST, "was lost"),
    ("Request timed out", Cause.CONNECTION_LOST, "was lost"),
    (
        "API Error: Can't reach the API server — check your internet or DNS (EAI_AGAIN)",
        Cause.CONNECTION_LOST,
        "was lost",
    ),
    (
        "API Error: API returned an empty or malformed response (HTTP 200) — check for a proxy",
        Cause.CONNECTION_LOST,
        "was lost",
    ),
]

API_FAILURES = [
    json.loads(line)
    for line in (Path(__file__).parent / "api_failures.jsonl").read_text("utf-8").splitlines()
]
"""Results of real CLIs when the API failed; the `case` is the status, or what happened."""

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
PERMANENT = {Cause.INVALID_REQUEST, Cause.REFUSED}


def failed(text: str | None = None, subtype: str = "success", **fields: Any) -> ResultMessage:
    return ResultMessage(subtype=subtype, is_error=True, result=text, **fields)


# --- words ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "cause", "said"), STDERR)
def test_last_words_in_stderr(words: str, cause: Cause, said: str) -> None:
    evidence = Evidence(exit_code=1, stderr=f"Debugger listening\n{words}\n")
    found = diagnose_evidence(evidence)
    assert found.cause is cause
    assert said in found.message
    assert found.advice


@pytest.mark.parametrize(("words", "cause", "said"), RESULTS)
def test_last_words_in_a_result(words: str, cause: Cause, said: str) -> None:
    found = diagnose_result(failed(words))
    assert found.cause is cause
    assert said in found.message
    assert found.advice
    assert diagnose_evidence(Evidence(exit_code=1), failed(words)) == found


@pytest.mark.parametrize(("words", "cause", "said"), RESULTS)
def test_the_same_words_in_stderr(words: str, cause: Cause, said: str) -> None:
    found = diagnose_evidence(Evidence(exit_code=1, stderr=words))
    assert found.cause is cause
    assert said in found.message


@pytest.mark.parametrize(
    "failure", API_FAILURES, ids=lambda it: f"{it['case']}, {it['seen'][-1]}".replace(" ", "_")
)
def test_a_failure_of_the_api_has_its_cause_with_every_cli(failure: dict[str, Any]) -> None:
    result = ResultMessage(**failure["result"])
    found = diagnose_result(result)
    assert found.cause is CAUSES[failure["case"]]
    assert found.cause.retryable is (found.cause not in PERMANENT)
    assert found.advice
    assert result.result
    assert result.result[:400] in found.message


def test_each_of_these_failures_was_seen_with_each_cli() -> None:
    seen = sorted(
        (failure["case"], version) for failure in API_FAILURES for version in failure["seen"]
    )
    versions = {version for _, version in seen}
    assert len(versions) == 8
    assert seen == sorted((case, version) for case in CAUSES for version in versions)


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("api_error", Cause.SERVER_ERROR),
        ("invalid_request_error", Cause.INVALID_REQUEST),
        ("an_error_of_the_future", Cause.UNKNOWN),
    ],
)
def test_an_error_in_the_middle_of_a_reply_has_no_status_but_a_kind(
    kind: str, cause: Cause
) -> None:
    body = {"type": "error", "error": {"type": kind, "message": "Oh no"}}
    text = f"API Error: {json.dumps(body, separators=(',', ':'))}"
    assert diagnose_result(failed(text)).cause is cause


def test_every_row_has_been_seen_in_the_examples_above() -> None:
    texts = [words for words, *_ in (*STDERR, *RESULTS)]
    unseen = [
        sign.pattern.pattern
        for sign in (*SIGNS, *RESULT_SIGNS)
        if not any(sign.pattern.search(text) for text in texts)
    ]
    assert unseen == []


def test_every_row_says_where_it_is_from_and_what_to_do() -> None:
    for sign in (*SIGNS, *RESULT_SIGNS):
        assert sign.seen
        assert sign.advice.endswith((".", "?"))
        assert not sign.message.endswith(".")
        assert "{0}" not in sign.message or sign.pattern.groups


def test_errors_of_a_failed_resume_count_as_well() -> None:
    result = ResultMessage(
        subtype="error_during_execution",
        is_error=True,
        errors=[f"No conversation found with session ID: {ID}"],
    )
    assert diagnose_result(result).cause is Cause.SESSION_NOT_FOUND


def test_what_a_wrapper_writes_to_stdout_counts_as_well() -> None:
    evidence = Evidence(exit_code=1, received=("bash: claude: command not found",))
    assert diagnose_evidence(evidence).cause is Cause.NOT_FOUND


def test_what_the_model_has_said_does_not_count() -> None:
    line = '{"type":"assistant","text":"Not logged in · Please run /login"}'
    result = ResultMessage(subtype="success", is_error=False, result="Please run /login")
    found = diagnose_evidence(Evidence(exit_code=1, received=(line,)), result)
    assert found == Diagnosis(Cause.EXITED, "The CLI has exited")


def test_long_words_are_shortened() -> None:
    found = diagnose_result(failed("Credit balance is too low " + "x" * 10_000))
    assert len(found.message) < 600


def test_words_of_exactly_the_longest_length_are_not_shortened() -> None:
    begin = "Credit balance is too low "
    for count, shown in ((500, "x" * (500 - len(begin))), (501, "x" * (500 - len(begin)) + "…")):
        found = diagnose_result(failed(begin + "x" * (count - len(begin))))
        assert found.message == f"The account has no credit left: {begin}{shown}"


def test_the_line_with_the_words_is_shown_also_behind_an_empty_one() -> None:
    found = diagnose_evidence(Evidence(stderr="\nerror: unknown option '-z'\nmore"))
    assert found.message == "The CLI does not know the option -z: error: unknown option '-z'"


# --- fields of a result ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "cause", "advice"),
    [
        ("cli_version_too_old", Cause.WRONG_VERSION, "Update the CLI."),
        ("session_held_by_background", Cause.SESSION_IN_USE, "End the process that has it open."),
        ("gateway_signin_required", Cause.NOT_LOGGED_IN, "Log in"),
        ("gateway_access_denied", Cause.NOT_LOGGED_IN, "Log in"),
        ("org_verify_failed", Cause.NOT_LOGGED_IN, "Log in"),
        ("org_pin_mismatch", Cause.NOT_LOGGED_IN, "Log in with an account of the organization."),
        ("bypass_root", Cause.REFUSED, "Run as another user or"),
    ],
)
def test_a_reason_for_a_failed_start_is_understood(reason: str, cause: Cause, advice: str) -> None:
    found = diagnose_result(failed(startup_failure_reason=reason))
    assert found.cause is cause
    assert found.advice.startswith(advice)
    assert reason in found.message


def test_any_other_reason_for_a_failed_start_is_a_refusal() -> None:
    found = diagnose_result(failed("The proxy is bad", startup_failure_reason="proxy_invalid"))
    assert found == Diagnosis(Cause.REFUSED, "The CLI refuses to start: The proxy is bad")


@pytest.mark.parametrize(
    ("status", "cause", "meaning", "advice"),
    [
        (401, Cause.NOT_LOGGED_IN, "does not accept the credentials", "Log in"),
        (402, Cause.LIMIT_REACHED, "has no credit left", "Add credit to the account."),
        (403, Cause.NOT_LOGGED_IN, "does not permit this to the account", "Log in"),
        (404, Cause.REFUSED, "does not know the model", "Choose another model."),
        (400, Cause.INVALID_REQUEST, "does not accept the request", "Change the prompt"),
        (408, Cause.CONNECTION_LOST, "did not get the request in time", "Try again later."),
        (418, Cause.INVALID_REQUEST, "does not accept the request", "Change the prompt"),
        (429, Cause.RATE_LIMITED, "too many requests", "Wait."),
        (500, Cause.SERVER_ERROR, "has failed", "Try again later."),
        (529, Cause.OVERLOADED, "is overloaded", "Try again later."),
        (599, Cause.SERVER_ERROR, "has failed", "Try again later."),
    ],
)
def test_if_the_words_say_nothing_the_status_of_the_api_does(
    status: int, cause: Cause, meaning: str, advice: str
) -> None:
    found = diagnose_result(failed("Oh no", api_error_status=status))
    assert found.cause is cause
    assert found.message.endswith(f"{meaning}: Oh no")
    assert found.advice.startswith(advice)
    assert diagnose_result(failed(api_error_status=status)).message.endswith(meaning)


@pytest.mark.parametrize(
    ("subtype", "said"),
    [
        ("error_max_turns", "max_turns"),
        ("error_max_budget_usd", "max_budget_usd"),
        ("error_max_structured_output_retries", "required form"),
        ("error_during_execution", "failed, or was interrupted"),
        ("error_of_the_future", "The turn failed"),
    ],
)
def test_otherwise_its_subtype_does(subtype: str, said: str) -> None:
    found = diagnose_result(failed(subtype=subtype))
    assert found.cause is Cause.UNKNOWN
    assert said in found.message
    assert diagnose_result(failed("Oh no", subtype)).message == f"{found.message}: Oh no"


def test_a_status_that_is_no_error_says_nothing() -> None:
    assert diagnose_result(failed("Oh no", api_error_status=200)).cause is Cause.UNKNOWN


def test_a_failed_turn_does_not_explain_an_exit() -> None:
    found = diagnose_evidence(Evidence(exit_code=1), failed(subtype="error_during_execution"))
    assert found.cause is Cause.EXITED


# --- how it ended ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ended", "cause", "said"),
    [
        ({"signal": 9}, Cause.KILLED, "was killed by SIGKILL"),
        ({"signal": 15}, Cause.KILLED, "was killed by SIGTERM"),
        ({"signal": 11}, Cause.KILLED, "has crashed with SIGSEGV"),
        ({"signal": 4}, Cause.KILLED, "has crashed with SIGILL"),
        ({"signal": signal.SIGBUS}, Cause.KILLED, "has crashed with SIGBUS"),
        ({"signal": signal.SIGFPE}, Cause.KILLED, "has crashed with SIGFPE"),
        ({"signal": signal.SIGTRAP}, Cause.KILLED, "has crashed with SIGTRAP"),
        ({"signal": 63}, Cause.KILLED, "was killed by signal 63"),
        ({"exit_code": 137}, Cause.OUT_OF_MEMORY, "most likely for lack of memory"),
        ({"exit_code": 143}, Cause.KILLED, "was killed by SIGTERM"),
        ({"exit_code": 134}, Cause.KILLED, "has crashed with SIGABRT"),
        ({"exit_code": 128}, Cause.EXITED, "has exited"),
        ({"exit_code": 129}, Cause.KILLED, "was killed by SIGHUP"),
        ({"exit_code": 127 + signal.NSIG}, Cause.KILLED, "was killed by SIG"),
        ({"exit_code": 128 + signal.NSIG}, Cause.EXITED, "has exited"),
        ({"exit_code": 126}, Cause.REFUSED, "cannot run the CLI"),
        ({"exit_code": 127}, Cause.NOT_FOUND, "could not find the CLI"),
        ({"exit_code": 0}, Cause.EXITED, "has exited"),
        ({"exit_code": 1}, Cause.EXITED, "has exited"),
        ({"exit_code": 255}, Cause.EXITED, "has exited"),
        ({}, Cause.UNKNOWN, "can no longer be used"),
    ],
)
def test_without_words_its_end_tells(ended: dict[str, Any], cause: Cause, said: str) -> None:
    found = diagnose_evidence(Evidence(**ended))
    assert found.cause is cause
    assert said in found.message


def test_a_sigkill_may_have_been_for_lack_of_memory() -> None:
    assert "dmesg" in diagnose_evidence(Evidence(signal=signal.SIGKILL)).advice
    log = "Out of memory: Killed process 4711 (claude)"
    found = diagnose_evidence(Evidence(signal=signal.SIGKILL, stderr=log))
    assert found.cause is Cause.OUT_OF_MEMORY


def test_what_it_was_doing_is_said() -> None:
    found = diagnose_evidence(Evidence(exit_code=3), phase="starting")
    assert found.message == "The CLI has exited while starting"


def test_the_error_has_it_all() -> None:
    evidence = Evidence(exit_code=1, stderr="error: unknown option '--cwd=/x'\n")
    error = diagnose(evidence, phase="starting")
    assert isinstance(error, CLIError)
    assert error.cause is Cause.BAD_FLAG
    assert error.evidence is evidence
    text = str(error)
    assert "does not know the option --cwd" in text
    assert "exit code 1" in text
    assert "Leave it out" in text


@given(
    st.builds(
        Evidence,
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | st.integers(1, 64),
        stderr=st.text() | st.sampled_from([words for words, *_ in STDERR]),
        received=st.lists(st.text(), max_size=3).map(tuple),
    ),
    st.none() | st.builds(failed, st.none() | st.text(), st.text()),
)
def test_nothing_that_a_cli_says_is_too_strange(
    evidence: Evidence, result: ResultMessage | None
) -> None:
    found = diagnose_evidence(evidence, result)
    assert found.message
    assert not re.search(r"\{\d\}|None", found.message.partition(":")[0])


def test_a_turn_that_was_stopped_is_not_said_to_have_failed_with_its_text() -> None:
    stopped = ResultMessage(subtype="success", result="Half a", terminal_reason="aborted_streaming")
    assert diagnose_result(stopped).message == "The turn was stopped before its end"
