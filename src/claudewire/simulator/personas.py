"""How released CLIs differ on the wire, as far as that was measured."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LATEST", "PERSONAS", "Persona", "persona"]

_EARLY = frozenset({"initialize", "interrupt", "set_permission_mode", "set_model"})
_MIDDLE = _EARLY | {
    "set_max_thinking_tokens",
    "mcp_status",
    "mcp_message",
    "mcp_set_servers",
    "mcp_reconnect",
    "mcp_toggle",
    "rewind_files",
    "apply_flag_settings",
    "stop_task",
}


class Persona(NamedTuple):
    """One version of the CLI."""

    version: str
    supports: frozenset[str] | None = None
    """The control requests it knows; None for all that are declared."""
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
    """Whether it reports the progress of prompts, API requests and thoughts."""
    capabilities: tuple[str, ...] = ()
    """What it says it can do, as far as it is simulated."""


# These versions say little about what they do.
_QUIET = Persona(
    "2.0.76",
    supports=_MIDDLE,
    passes_answers_on=True,
    needs_updated_input=True,
    receipts=False,
    meets_servers_first=False,
    narrates=False,
)

PERSONAS = {
    each.version: each
    for each in (
        _QUIET._replace(
            version="1.0.128",
            supports=_EARLY,
            tool_use_id=False,
            asks_questions=False,
            passes_answers_on=False,
            mcp_protocol="2025-06-18",
        ),
        _QUIET,
        _QUIET._replace(version="2.1.17"),
        Persona("2.1.197", needs_updated_input=True),
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
