"""Messages of the CLI, and of programs that start it, with their causes and advice."""

from __future__ import annotations

from typing import NamedTuple

from .exceptions import Cause


class Sign(NamedTuple):
    """A message of a CLI; `{0}` in `message` is the first group of the pattern."""

    cause: Cause
    pattern: str
    message: str
    advice: str


_LOG_IN = "Log in with `claude` and /login, or set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN."

SIGNS: tuple[Sign, ...] = (
    # The account and the API. Mostly in a result, also in stderr.
    Sign(
        Cause.LIMIT_REACHED,
        r"^Credit balance is too low|[Uu]sage limit reached"
        r"|You've (?:hit|reached) your .*(?:limit|budget)",
        "The account has no credit left, or has reached a limit",
        "Add credit, wait until the limit is reset, or use another account or model.",
    ),
    Sign(
        Cause.RATE_LIMITED,
        r"^API Error: (?:Request rejected \()?429\b",
        "The API refuses because there were too many requests",
        "Wait, or send less at once.",
    ),
    Sign(
        Cause.INVALID_REQUEST,
        r"^Prompt is too long|^Request too large|^PDF too large|^Image was too large"
        r"|^The PDF (?:specified is password protected|file was not valid)",
        "The prompt is too long, or has a file that the API does not take",
        "Send less: start a new session, or leave out large files.",
    ),
    Sign(
        Cause.REFUSED,
        r"^There's an issue with the selected model \(([^)]*)\)",
        "The API does not know the model {0}",
        "Choose another model.",
    ),
    Sign(
        Cause.OVERLOADED,
        r"^API Error: (?!\d{3}\b).*[Oo]verloaded|Repeated 529 Overloaded|is experiencing high load",
        "The API is overloaded",
        "Try again later, or use another model.",
    ),
    Sign(
        Cause.REFUSED,
        r"Unable to connect to API: (?:SSL|Self-signed) ",
        "The API's certificate is not accepted",
        "Set NODE_EXTRA_CA_CERTS to the certificate of the proxy or gateway.",
    ),
    Sign(
        Cause.CONNECTION_LOST,
        r"^API Error: (?:terminated|Connection |Can't reach the API server|The socket connection "
        r"was closed|API returned an empty or malformed response)"
        r"|^(?:API Error: )?Request timed out|Unable to connect to API",
        "The connection to the API was lost, or could not be made",
        "Try again. If this continues, check the network, the proxy and ANTHROPIC_BASE_URL.",
    ),
    Sign(
        Cause.NOT_LOGGED_IN,
        r"Please run /login|^Not logged in|^Authentication required|^Failed to authenticate"
        r"|OAuth token (?:has )?(?:been )?(?:expired|revoked)",
        "The CLI is not logged in, or its login is no longer valid",
        _LOG_IN,
    ),
    Sign(
        Cause.NOT_LOGGED_IN,
        r"^Invalid API key|^Invalid auth token|^Invalid ANTHROPIC_CUSTOM_HEADERS",
        "The API does not accept the key",
        "Set another ANTHROPIC_API_KEY, or remove it and log in with /login.",
    ),
    Sign(
        Cause.NOT_LOGGED_IN,
        r"does not have access to Claude Code|belongs to a disabled organization"
        r"|has disabled API key authentication",
        "The account is not allowed to use the CLI",
        "Log in with another account, or remove the key from the environment.",
    ),
    Sign(
        Cause.SESSION_NOT_FOUND,
        r"^No conversation found (?:with session ID:|to continue)"
        r"|^Error: --resume requires a valid session ID",
        "No session has this id or title",
        "Check the id, the working directory and CLAUDE_CONFIG_DIR: sessions belong to both.",
    ),
    # The start of the CLI. In stderr.
    Sign(
        Cause.BAD_FLAG,
        r"^error: unknown option '(--?[\w-]+)",
        "The CLI does not know the option {0}",
        "Leave it out, or use a CLI that has it.",
    ),
    Sign(
        Cause.BAD_FLAG,
        r"^error: option '--?[\w-]+.*' argument (?:missing|'.*' is invalid)"
        r"|^Error: (?:When using --print, .* requires --verbose|--session-id can(?:not| only) be"
        r"|Invalid session ID\.|Settings file not found|Invalid MCP config|--json-schema is not"
        r"|--[\w-]+ requires --)",
        "The CLI does not accept its options, or not together",
        "Its stderr gives the reason.",
    ),
    Sign(
        Cause.SESSION_IN_USE,
        r"^Error: Session ID (\S+) is already in use",
        "There is a session {0} already",
        "Take another session id, or resume that session.",
    ),
    Sign(
        Cause.WRONG_VERSION,
        r"\) needs an update\.|^A newer version \((\S+) or higher\) is required",
        "The CLI is too old to be used",
        "Update it: claude update, or npm install -g @anthropic-ai/claude-code.",
    ),
    Sign(
        Cause.WRONG_VERSION,
        r"^Error: Claude Code requires Node\.js version (\d+)",
        "The CLI needs Node.js {0} or newer",
        "Put a newer Node.js into PATH, or install the CLI that needs none.",
    ),
    Sign(
        Cause.REFUSED,
        r"cannot be used with root/sudo privileges",
        "The CLI does not skip permissions for root",
        "Run as another user or, in a container, set IS_SANDBOX=1.",
    ),
    Sign(
        Cause.REFUSED,
        r"cannot be launched inside another Claude Code session",
        "The CLI refuses to run inside another one",
        "Remove CLAUDECODE from its environment.",
    ),
    Sign(
        Cause.REFUSED,
        r"^Error parsing streaming input line",
        "The CLI could not read a line that it was sent",
        "See the last sent lines. If they are JSON, please report this as a defect.",
    ),
    # The programs that start it, and the system.
    Sign(
        Cause.OUT_OF_MEMORY,
        r"JavaScript heap out of memory|FATAL ERROR: .*Allocation failed|^Out of memory"
        r"|Cannot allocate memory|oom-kill|std::bad_alloc",
        "The CLI ran out of memory",
        "Give it more memory, or run fewer at once.",
    ),
    Sign(
        Cause.REFUSED,
        r"version `GLIBC|error while loading shared libraries|Error relocating"
        r"|Error loading shared library|cannot execute binary file|Exec format error",
        "The CLI is not a program for this system",
        "Install the CLI that was built for this processor and C library.",
    ),
    Sign(
        Cause.NOT_FOUND,
        r"command not found|executable file not found in \$PATH"
        r"|^(?:/usr/bin/)?env: .*(?:node|claude).*: No such file",
        "The command could not find the CLI, or its Node.js",
        "Give its whole path in the command: the PATH of ssh and of containers is often short.",
    ),
    Sign(
        Cause.REFUSED,
        r"^ssh: |^Permission denied \(|^Host key verification failed"
        r"|^Error response from daemon|^Cannot connect to the Docker daemon",
        "ssh or Docker could not run the command",
        "Try the same command in a terminal; it must not ask for anything.",
    ),
)

STARTUP_FAILURES: dict[str, tuple[Cause, str]] = {
    "cli_version_too_old": (Cause.WRONG_VERSION, "Update the CLI."),
    "session_held_by_background": (Cause.SESSION_IN_USE, "End the process that has it open."),
    "gateway_signin_required": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "gateway_access_denied": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "org_verify_failed": (Cause.NOT_LOGGED_IN, _LOG_IN),
    "org_pin_mismatch": (Cause.NOT_LOGGED_IN, "Log in with an account of the organization."),
    **dict.fromkeys(
        ("initialize_fields_not_delivered", "managed_settings_not_delivered"),
        (Cause.REFUSED, "Leave out handshake=False: `initialize` brings them to the CLI."),
    ),
    "bypass_root": (Cause.REFUSED, "Run as another user or, in a container, set IS_SANDBOX=1."),
}
"""Reasons of a result for a failed start. All others mean `Cause.REFUSED`."""

_LATER = "Try again later."

STATUSES: dict[int, tuple[Cause, str, str]] = {
    401: (Cause.NOT_LOGGED_IN, "The API does not accept the credentials", _LOG_IN),
    402: (Cause.LIMIT_REACHED, "The account has no credit left", "Add credit to the account."),
    403: (Cause.NOT_LOGGED_IN, "The API does not permit this to the account", _LOG_IN),
    404: (Cause.REFUSED, "The API does not know the model", "Choose another model."),
    408: (Cause.CONNECTION_LOST, "The API did not get the request in time", _LATER),
    409: (Cause.SERVER_ERROR, "The API could not do it at the moment", _LATER),
    429: (Cause.RATE_LIMITED, "The API refuses because there were too many requests", "Wait."),
    529: (Cause.OVERLOADED, "The API is overloaded", _LATER),
}
"""The meaning of an HTTP status of the API, if no message is known."""

STATUS_CLASSES: dict[int, tuple[Cause, str, str]] = {
    4: (
        Cause.INVALID_REQUEST,
        "The API does not accept the request",
        "Change the prompt or the options; the message gives the reason.",
    ),
    5: (Cause.SERVER_ERROR, "The API has failed", _LATER),
}
"""The meaning of all other statuses, by their first digit."""

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
"""The HTTP status of each kind of error of the API."""
