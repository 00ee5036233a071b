"""How released CLIs differ on the wire, as far as that was measured."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ..wire import KNOWN_REQUESTS

__all__ = ["LATEST", "PERSONAS", "Persona", "persona"]


class Persona(NamedTuple):
    """One version of the CLI."""

    version: str
    supports: frozenset[str] | None = None
    """The control requests it knows; None for all that are declared."""
    answers_unknown: bool = True
    """Whether a request that it does not know gets an error rather than silence."""
    takes_cancel: bool = True
    """Whether a request can be withdrawn; older versions exit when the host tries to."""
    notes: Literal["quiet", "result", "turn"] = "quiet"
    """What follows a message that asks for no answer: nothing, an empty result, or a whole turn."""
    names: Literal["all", "first", "none"] = "all"
    """Which of the prompts that it answers a result names: of those that were taken up together,
    "first" stands for the last."""
    tells_of_stopped: bool = True
    """Whether the end of a task is told that it was asked to stop."""
    welcome: Literal["full", "state", "agents", "bare"] = "full"
    """How much it says of itself when it is started: everything; all but its version and what it
    can do; its agents and its process id; or not even these."""
    tells_version: bool = True
    """Whether it says its version at the beginning of a turn."""
    reads_agents: bool = True
    """Whether it reads agents from `initialize`, and not from the command line only."""
    tool_use_id: bool = True
    """Whether a permission request names the tool use."""
    asks_questions: bool = True
    """Whether it has AskUserQuestion at all."""
    passes_answers_on: bool = False
    """Whether the answers to a question are handed to the model unchecked."""
    needs_updated_input: bool = False
    """Whether an allow without `updatedInput` is an error that denies the tool."""
    mcp_protocol: str = "2025-11-25"
    answers_nested_initialize: bool = False
    """Whether `initialize` with its id inside gets an error (without an id) rather than silence."""
    receipts: bool = True
    """Whether interrupts and mode changes are answered with what they did."""
    meets_servers_first: bool = True
    """Whether it connects to in-process MCP servers before it answers `initialize`."""
    narrates: bool = True
    """Whether it reports the progress of API requests and thoughts."""
    lifecycle: bool = True
    """Whether it reports the progress of prompts. One that does so takes those up together that
    wait with the same priority, and stops its turn for one with the priority `now`."""
    describes: Literal["all", "socket", "privacy", "nothing"] = "all"
    """How much newer fields say of the session when a turn begins: the effort, too; where it takes
    messages; what it does not report; or nothing."""
    keeps: Literal["all", "some"] = "all"
    """How much of a conversation is in its transcript: older versions note fewer things."""
    capabilities: tuple[str, ...] = ()
    """What it says it can do, as far as it is simulated."""


# These versions say little about what they do, and nothing about what they do not know.
_QUIET = Persona(
    "2.0.76",
    supports=KNOWN_REQUESTS["2.0.76"],
    answers_unknown=False,
    takes_cancel=False,
    notes="turn",
    names="none",
    welcome="bare",
    describes="nothing",
    keeps="some",
    passes_answers_on=True,
    needs_updated_input=True,
    receipts=False,
    meets_servers_first=False,
    narrates=False,
    lifecycle=False,
)
_EARLY = _QUIET._replace(
    version="2.0.14",
    supports=KNOWN_REQUESTS["2.0.14"],
    tells_version=False,
    reads_agents=False,
    asks_questions=False,
    passes_answers_on=False,
    mcp_protocol="2025-06-18",
    tool_use_id=False,
)
_LATE = Persona(
    "2.1.197",
    supports=KNOWN_REQUESTS["2.1.197"],
    notes="result",
    names="none",
    welcome="agents",
    describes="privacy",
    needs_updated_input=True,
    meets_servers_first=False,
    lifecycle=False,
)

PERSONAS = {
    each.version: each
    for each in (
        _EARLY._replace(version="1.0.128"),
        _EARLY,
        _QUIET,
        _QUIET._replace(version="2.1.17", supports=KNOWN_REQUESTS["2.1.17"]),
        _LATE._replace(
            version="2.1.100",
            supports=KNOWN_REQUESTS["2.1.100"],
            notes="turn",
            describes="nothing",
            tells_of_stopped=False,
        ),
        _LATE,
        Persona(
            "2.1.250",
            supports=KNOWN_REQUESTS["2.1.250"],
            names="first",
            welcome="state",
            describes="socket",
        ),
        Persona(
            "2.1.325",
            answers_nested_initialize=True,
            capabilities=("ask_user_question_unanswered_v1",),
        ),
    )
}

LATEST = PERSONAS["2.1.325"]


def persona(version: str) -> Persona:
    """Find a persona by its version.

    Raises:
        OptionsError: that version was never measured.
    """
    try:
        return PERSONAS[version]
    except (KeyError, TypeError):  # something else than a string may have no hash
        from ..errors import OptionsError  # not before it is needed: the program starts fast

        known = ", ".join(PERSONAS)
        raise OptionsError(f"No persona for CLI {version!r}; the versions are {known}") from None
