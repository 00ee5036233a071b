"""What CLIs, and the programs that start them, write when they fail; and what that means.

One row for each message. `seen` says where it is from, so that a row can be checked and, when no
CLI writes it any more, be removed: "1.0.128" means that this CLI was seen to write it, "text of
2.1.325" that it is in the source of that CLI.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .exceptions import Cause

__all__ = [
    "KINDS",
    "RESULT_SIGNS",
    "SIGNS",
    "STARTUP_FAILURES",
    "STATUSES",
    "STATUS_CLASSES",
    "Sign",
]


class Sign(NamedTuple):
    """A message of a CLI, and what it means.

    Attributes:
        pattern: matches in one line, or in several.
        cause: the kind of failure.
        message: what it means; `{0}` is the first group of the pattern.
        advice: what to do.
        seen: where the message is from.
    """

    pattern: re.Pattern[str]
    cause: Cause
    message: str
    advice: str
    seen: str


def _sign(pattern: str, cause: Cause, message: str, advice: str, seen: str) -> Sign:
    return Sign(re.compile(pattern, re.MULTILINE), cause, message, advice, seen)


_LOG_IN = "Log in with `claude` and /login, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN."
_OTHER_CLI = "Install the CLI that was built for this system: its processor and its C library."
_BINARY = "The CLI is not a program for this system"

RESULT_SIGNS: tuple[Sign, ...] = (
    # About the account. Also in stderr, but mostly in a result.
    _sign(
        r"^Credit balance is too low",
        Cause.LIMIT_REACHED,
        "The account has no credit left",
        "Add credit to the account, or use another one.",
        "1.0.128, 2.1.17, 2.1.325, when the API refuses for that reason",
    ),
    _sign(
        r"[Uu]sage limit reached(?:\|(\d{10}))?",
        Cause.LIMIT_REACHED,
        "The usage limit of the account is reached",
        "Wait until it is reset, or use another account.",
        "text of 1.0.128 (`Claude AI usage limit reached|1760000000`) and of 2.1.325",
    ),
    _sign(
        r"You've (?:hit|reached) your .*(?:limit|budget)",
        Cause.LIMIT_REACHED,
        "A limit of the account is reached",
        "Wait until it is reset, or use another account or model.",
        "text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"^(?:\w+ )?(?:[Ww]eekly|[Ss]ession|\d-hour) limit reached|^Spending cap reached",
        Cause.LIMIT_REACHED,
        "A limit of the account is reached",
        "Wait until it is reset, or use another account or model.",
        "text of 1.0.128",
    ),
    _sign(
        r"^API Error: (?:Request rejected \()?429\b",
        Cause.RATE_LIMITED,
        "The API refuses because there were too many requests",
        "Wait, or send less at once.",
        "1.0.128, 2.1.17, 2.1.325, when the API answers with 429",
    ),
    _sign(
        r"^Prompt is too long|^Request too large|^PDF too large|^Image was too large"
        r"|^The PDF (?:specified is password protected|file was not valid)",
        Cause.INVALID_REQUEST,
        "The prompt is too long, or has a file that the API does not take",
        "Send less: start a new session, or leave out what is too large.",
        "the first two: 1.0.128 to 2.1.325, when the API answers with 400 and this reason, or with "
        "413; the others are text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"^There's an issue with the selected model \(([^)]*)\)",
        Cause.REFUSED,
        "The API does not know the model {0}",
        "Choose another model.",
        "2.1.100, 2.1.197, 2.1.250, 2.1.325, when the API answers with 404",
    ),
    _sign(
        r"^API Error: (?!\d{3}\b).*[Oo]verloaded|Repeated 529 Overloaded|is experiencing high load",
        Cause.OVERLOADED,
        "The API is overloaded",
        "Try again later, or use another model.",
        "text of 1.0.128, 2.1.17 and 2.1.325, for an error in the middle of a reply",
    ),
    _sign(
        r"Unable to connect to API: (?:SSL|Self-signed) ",
        Cause.REFUSED,
        "The API's certificate is not accepted",
        "Set NODE_EXTRA_CA_CERTS to the certificate of the proxy or gateway.",
        "text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"^API Error: (?:terminated|Connection |Can't reach the API server|The socket connection "
        r"was closed|API returned an empty or malformed response)"
        r"|^(?:API Error: )?Request timed out|Unable to connect to API",
        Cause.CONNECTION_LOST,
        "The connection to the API was lost, or could not be made",
        "Try again; if it stays so, check the network, the proxy and ANTHROPIC_BASE_URL.",
        "`terminated` (1.0.128 to 2.1.100) and `Connection to the API was lost` (2.1.197 to "
        "2.1.325), when a reply breaks off; `Connection …` and `Unable to connect` (1.0.128 to "
        "2.1.325), when nothing listens; `Request timed out` (2.1.250) and `Can't reach` (2.1.325) "
        "when the host has no address; `API returned …` (2.1.250, 2.1.325), when a proxy answers "
        "with a page; the other is text of 2.1.325",
    ),
    _sign(
        r"Please run /login|^Not logged in|^Authentication required",
        Cause.NOT_LOGGED_IN,
        "The CLI is not logged in",
        _LOG_IN,
        "1.0.128, 2.1.17, 2.1.325, without a key",
    ),
    _sign(
        r"^Invalid API key|^Invalid auth token|^Invalid ANTHROPIC_CUSTOM_HEADERS",
        Cause.NOT_LOGGED_IN,
        "The API does not accept the key",
        "Set another ANTHROPIC_API_KEY, or remove it and log in with /login.",
        "1.0.128, 2.1.17, 2.1.325, when the API answers with 401",
    ),
    _sign(
        r"^Failed to authenticate|OAuth token (?:has )?(?:been )?(?:expired|revoked)",
        Cause.NOT_LOGGED_IN,
        "The login is no longer valid",
        _LOG_IN,
        "1.0.128, 2.1.17, 2.1.325, with a token that the API calls expired or revoked",
    ),
    _sign(
        r"does not have access to Claude Code|belongs to a disabled organization"
        r"|has disabled API key authentication",
        Cause.NOT_LOGGED_IN,
        "The account is not allowed to use the CLI",
        "Log in with another account, or remove the key from the environment.",
        "text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"^No conversation found (?:with session ID: (\S+)|to continue)",
        Cause.SESSION_NOT_FOUND,
        "There is no such session to resume",
        "Check the working directory and CLAUDE_CONFIG_DIR: sessions belong to both.",
        "1.0.128, 2.1.17, 2.1.325, with --resume",
    ),
    _sign(
        r"^Error: --resume requires a valid session ID",
        Cause.SESSION_NOT_FOUND,
        "The session to resume is named by neither the id nor the title of a session",
        "Resume with the session's id, a UUID.",
        "1.0.128, 2.1.17, 2.1.325, with --resume=nope",
    ),
)
"""What the CLI writes when a turn fails, or before it exits."""

SIGNS: tuple[Sign, ...] = (
    _sign(
        r"^error: unknown option '(--?[\w-]+)",
        Cause.BAD_FLAG,
        "The CLI does not know the option {0}",
        "Leave it out, or use a CLI that has it.",
        "1.0.128, 2.1.17, 2.1.325, with --cwd",
    ),
    _sign(
        r"^error: option '(--?[\w-]+).*' argument (?:missing|'.*' is invalid)",
        Cause.BAD_FLAG,
        "The CLI does not accept this value for {0}",
        "Its stderr says which values it takes.",
        "1.0.128, 2.1.17, 2.1.325, with --permission-mode=nope",
    ),
    _sign(
        r"^Error: (?:When using --print, .* requires --verbose|--session-id can(?:not| only) be"
        r"|Invalid session ID\.|Settings file not found|Invalid MCP config|--json-schema is not)",
        Cause.BAD_FLAG,
        "The CLI does not accept its options, or not together",
        "Its stderr says why.",
        "1.0.128, 2.1.17, 2.1.325, each with such options",
    ),
    _sign(
        r"^Error: Session ID (\S+) is already in use",
        Cause.SESSION_IN_USE,
        "There is a session {0} already",
        "Take another session id, or resume that session.",
        "1.0.128, 2.1.17, 2.1.325, with the same --session-id twice",
    ),
    _sign(
        r"\) needs an update\.|^A newer version \((\S+) or higher\) is required",
        Cause.WRONG_VERSION,
        "The CLI is too old to be used",
        "Update it: claude update, or npm install -g @anthropic-ai/claude-code.",
        "text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"^Error: Claude Code requires Node\.js version (\d+)",
        Cause.WRONG_VERSION,
        "The CLI needs Node.js {0} or newer",
        "Put a newer Node.js into PATH, or install the CLI that needs none.",
        "text of 2.1.17 and 2.1.325",
    ),
    _sign(
        r"cannot be used with root/sudo privileges",
        Cause.REFUSED,
        "The CLI does not skip permissions for root",
        "Run as another user or, in a container, set IS_SANDBOX=1.",
        "1.0.128, 2.1.17, 2.1.325, as root with --dangerously-skip-permissions",
    ),
    _sign(
        r"cannot be launched inside another Claude Code session",
        Cause.REFUSED,
        "The CLI refuses to run inside another one",
        "Remove CLAUDECODE from its environment.",
        "reported for CLIs between 2.1.17 and 2.1.325, with CLAUDECODE set",
    ),
    _sign(
        r"^Error parsing streaming input line",
        Cause.REFUSED,
        "The CLI could not read a line that it was sent",
        "See the last lines that were sent; if they are JSON, this is a defect: please report it.",
        "1.0.128, 2.1.17, 2.1.325, with a line that is not JSON",
    ),
    _sign(
        r"JavaScript heap out of memory|FATAL ERROR: .*Allocation failed|^Out of memory"
        r"|Cannot allocate memory|oom-kill|std::bad_alloc",
        Cause.OUT_OF_MEMORY,
        "The CLI ran out of memory",
        "Give it more memory, or run fewer at once.",
        "2.1.17 on Node.js 20 with a small heap; the others are texts of Linux and C++",
    ),
    _sign(
        r"version `GLIBC|error while loading shared libraries|Error relocating"
        r"|Error loading shared library|cannot execute binary file|Exec format error",
        Cause.REFUSED,
        _BINARY,
        _OTHER_CLI,
        "texts of glibc, musl, bash and the kernel",
    ),
    _sign(
        r"command not found|executable file not found in \$PATH"
        r"|^(?:/usr/bin/)?env: .*(?:node|claude).*: No such file",
        Cause.NOT_FOUND,
        "The command could not find the CLI, or its Node.js",
        "Give its whole path in the command: the PATH of ssh and of containers is often short.",
        "texts of bash, Docker and env",
    ),
    _sign(
        r"^ssh: |^Permission denied \(|^Host key verification failed",
        Cause.REFUSED,
        "ssh could not connect",
        "Try the same command in a terminal; it must not ask for anything.",
        "texts of OpenSSH",
    ),
    _sign(
        r"^Error response from daemon|^Cannot connect to the Docker daemon",
        Cause.REFUSED,
        "Docker could not run the command",
        "Check that the container is running.",
        "texts of Docker",
    ),
)
"""What stderr says when the CLI, or the program that should start it, fails."""

STARTUP_FAILURES: dict[str, tuple[Cause, str]] = {
    "cli_version_too_old": (Cause.WRONG_VERSION, "Update the CLI."),
    "session_held_by_background": (Cause.SESSION_IN_USE, "End the process that has it open."),
    "gateway_signin_required": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "gateway_access_denied": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "org_verify_failed": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "org_pin_mismatch": (Cause.NOT_LOGGED_IN, "Log in with an account of the organization."),
    "bypass_root": (Cause.REFUSED, "Run as another user or, in a container, set IS_SANDBOX=1."),
}
"""Reasons that a result gives for a failed start. All others mean `Cause.REFUSED`."""

_WRONG = "The API does not accept the request"
_MEND = "Change the prompt or the options: the message says what is wrong."
_LATER = "Try again later."

STATUSES: dict[int, tuple[Cause, str, str]] = {
    401: (Cause.NOT_LOGGED_IN, "The API does not accept the credentials", _LOG_IN),
    402: (Cause.LIMIT_REACHED, "The account has no credit left", "Add credit to the account."),
    403: (Cause.NOT_LOGGED_IN, "The API does not permit this to the account", _LOG_IN),
    404: (
        Cause.REFUSED,
        "The API does not know the model",
        "Choose another model.",
    ),
    408: (Cause.CONNECTION_LOST, "The API did not get the request in time", _LATER),
    409: (Cause.SERVER_ERROR, "The API could not do it at the moment", _LATER),
    429: (Cause.RATE_LIMITED, "The API refuses because there were too many requests", "Wait."),
    529: (Cause.OVERLOADED, "The API is overloaded", _LATER),
}
"""What an HTTP status of the API means, if no message is known."""

STATUS_CLASSES: dict[int, tuple[Cause, str, str]] = {
    4: (Cause.INVALID_REQUEST, _WRONG, _MEND),
    5: (Cause.SERVER_ERROR, "The API has failed", _LATER),
}
"""What all other statuses mean, by their first digit."""

KINDS: dict[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that the API gives with each kind of error."""
