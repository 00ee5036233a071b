"""Which options exclude each other, or need each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ..errors import OptionsError
from .checks import quoted

if TYPE_CHECKING:
    from .options import Options

__all__ = ["FIXED_FLAGS", "check_together"]

FIXED_FLAGS = frozenset(
    {
        "--await-claim",
        "--help",
        "--input-format",
        "--output-format",
        "--permission-prompt-tool",
        "--print",
        "--sdk-url",
        "--verbose",
        "--version",
    }
)
"""Flags that decide how the CLI talks, or whether it does."""


def check_together(options: Options) -> None:
    """Check options that are right one by one.

    Raises:
        OptionsError: some of them do not go together.
    """
    for topic in _TOPICS:
        for complaint in topic(options):
            raise OptionsError(complaint)


def _about_conversation(options: Options) -> Iterator[str]:
    continues = options.resume is not None or options.continue_conversation
    if options.resume is not None and options.continue_conversation:
        yield "resume and continue_conversation name two conversations; give one of them"
    if options.fork_session and not continues:
        yield "fork_session needs a conversation to begin from: resume or continue_conversation"
    if options.session_id is not None and continues and not options.fork_session:
        yield (
            "session_id is the id of a new conversation; with resume or continue_conversation "
            "it also needs fork_session=True"
        )
    if options.resume_session_at is not None and options.resume is None:
        yield "resume_session_at needs resume: the id of the conversation that it is a part of"
    if options.resume_drops_turn is not None and options.resume_session_at is None:
        yield "resume_drops_turn needs resume_session_at: the message to go on from"


def _about_keeping(options: Options) -> Iterator[str]:
    if options.session_mirror and not options.persist_session:
        yield "session_mirror reports what is kept, and persist_session=False keeps nothing"
    if options.session_mirror and options.enable_file_checkpointing:
        yield "enable_file_checkpointing does not work together with session_mirror"


def _about_models(options: Options) -> Iterator[str]:
    fallback = options.fallback_model or ()
    names = fallback.split(",") if isinstance(fallback, str) else fallback
    if options.model is not None and options.model in names:
        yield f"fallback_model must be another model than model, which is {quoted(options.model)}"
    if options.thinking == "disabled" and options.thinking_display is not None:
        yield "thinking_display has nothing to show: thinking is 'disabled'"


def _about_prompts(options: Options) -> Iterator[str]:
    if options.exclude_dynamic_sections and options.system_prompt is not None:
        yield (
            "exclude_dynamic_sections is about the CLI's own prompt, which system_prompt replaces; "
            "give append_system_prompt instead"
        )


def _about_tools(options: Options) -> Iterator[str]:
    chosen = options.builtin_tools
    if options.skills and options.disable_slash_commands:
        yield "disable_slash_commands takes away all skills, those in skills as well"
    if options.skills and chosen is not None and "Skill" not in chosen and chosen != "default":
        yield "skills are used through the tool Skill, which builtin_tools does not name"
    if options.restricted and options.permission_mode == "bypassPermissions":
        yield "restricted refuses permission_mode='bypassPermissions'"
    if options.restricted and options.allow_dangerously_skip_permissions:
        yield "restricted refuses allow_dangerously_skip_permissions"


def _about_output(options: Options) -> Iterator[str]:
    if options.output is not None and options.json_schema is not None:
        yield "output and json_schema both say what the output is; give one"


def _about_settings(options: Options) -> Iterator[str]:
    if options.sandbox is None:
        return
    if isinstance(options.settings, Mapping) and "sandbox" in options.settings:
        yield "the sandbox is described twice: in sandbox and in settings['sandbox']"
    if isinstance(options.settings, str) and options.remote:
        yield "sandbox cannot be added to settings in a file that is not here (remote=True)"


def _about_flags(options: Options) -> Iterator[str]:
    from .options import option_of  # which imports this module

    for name in options.extra_args:
        if f"--{name}" in FIXED_FLAGS:
            yield f"extra_args: --{name} is set by the session, which talks to the CLI that way"
        if (option := option_of(f"--{name}")) is not None:
            yield f"extra_args: for --{name} there is the option {option}"


_TOPICS = (
    _about_conversation,
    _about_keeping,
    _about_models,
    _about_prompts,
    _about_tools,
    _about_output,
    _about_settings,
    _about_flags,
)
