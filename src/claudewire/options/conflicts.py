"""What options may not be together, and what must be there before the CLI is started."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import OptionsError
from ..wire import PluginConfig
from .values import quoted
from .versions import FIXED_FLAGS, option_of

if TYPE_CHECKING:
    from .cli import CLIOptions

__all__ = ["check_files", "check_together"]


def check_together(options: CLIOptions) -> None:
    """Check options that are right one by one.

    Raises:
        OptionsError: some of them do not go together.
    """
    for topic in _TOPICS:
        for complaint in topic(options):
            raise OptionsError(complaint)


def _about_conversation(options: CLIOptions) -> Iterator[str]:
    goes_on = options.resume is not None or options.continue_conversation
    if options.resume is not None and options.continue_conversation:
        yield "resume and continue_conversation name two conversations; give one of them"
    if options.fork_session and not goes_on:
        yield "fork_session needs a conversation to begin from: resume or continue_conversation"
    if options.session_id is not None and goes_on and not options.fork_session:
        yield (
            "session_id is the id of a new conversation; with resume or continue_conversation "
            "it also needs fork_session=True"
        )
    if options.resume_session_at is not None and options.resume is None:
        yield "resume_session_at needs resume: the id of the conversation that it is a part of"
    if options.resume_drops_turn is not None and options.resume_session_at is None:
        yield "resume_drops_turn needs resume_session_at: the message to go on from"


def _about_keeping(options: CLIOptions) -> Iterator[str]:
    if options.session_mirror and not options.persist_session:
        yield "session_mirror reports what is kept, and persist_session=False keeps nothing"
    if options.session_mirror and options.enable_file_checkpointing:
        yield "enable_file_checkpointing does not work together with session_mirror"


def _about_models(options: CLIOptions) -> Iterator[str]:
    fallback = options.fallback_model or ()
    names = fallback.split(",") if isinstance(fallback, str) else fallback
    if options.model is not None and options.model in names:
        yield f"fallback_model must be another model than model, which is {quoted(options.model)}"
    if options.thinking == "disabled" and options.thinking_display is not None:
        yield "thinking_display has nothing to show: thinking is 'disabled'"


def _about_prompts(options: CLIOptions) -> Iterator[str]:
    if options.exclude_dynamic_sections and options.system_prompt is not None:
        yield (
            "exclude_dynamic_sections is about the CLI's own prompt, which system_prompt replaces; "
            "give append_system_prompt instead"
        )


def _about_tools(options: CLIOptions) -> Iterator[str]:
    chosen = options.builtin_tools
    if options.skills and options.disable_slash_commands:
        yield "disable_slash_commands takes away all skills, those in skills as well"
    if options.skills and chosen is not None and "Skill" not in chosen and chosen != "default":
        yield "skills are used through the tool Skill, which builtin_tools does not name"
    if options.restricted and options.permission_mode == "bypassPermissions":
        yield "restricted refuses permission_mode='bypassPermissions'"
    if options.restricted and options.allow_dangerously_skip_permissions:
        yield "restricted refuses allow_dangerously_skip_permissions"


def _about_settings(options: CLIOptions) -> Iterator[str]:
    if options.sandbox is None:
        return
    if isinstance(options.settings, Mapping) and "sandbox" in options.settings:
        yield "the sandbox is described twice: in sandbox and in settings['sandbox']"
    if isinstance(options.settings, str) and options.remote:
        yield "sandbox cannot be added to settings in a file that is not here (remote=True)"


def _about_flags(options: CLIOptions) -> Iterator[str]:
    for name in options.extra_args:
        if f"--{name}" in FIXED_FLAGS:
            yield f"extra_args: --{name} is how we talk to the CLI, and not for others to set"
        if (option := option_of(f"--{name}")) is not None:
            yield f"extra_args: for --{name} there is the option {option}"


_TOPICS = (
    _about_conversation,
    _about_keeping,
    _about_models,
    _about_prompts,
    _about_tools,
    _about_settings,
    _about_flags,
)


def check_files(options: CLIOptions) -> None:
    """Look whether the files and directories are there that options name.

    The CLI ignores some of them in silence if they are not, and dies of others.

    Raises:
        OptionsError: one is not.
    """
    if options.cwd is not None:
        _check_directory("cwd", options.cwd)
    for name in ("system_prompt", "append_system_prompt", "append_subagent_system_prompt"):
        if isinstance(place := getattr(options, name), Path):
            _check_file(name, place)
    if not options.remote:
        _check_places(options)


def _check_places(options: CLIOptions) -> None:
    if options.project_config_root is not None:
        _check_directory("project_config_root", options.project_config_root)
    for place in options.add_dirs:
        _check_directory("add_dirs", place)
    for place in options.mcp_config:
        _check_file("mcp_config", place)
    for plugin in options.plugins:
        assert isinstance(plugin, PluginConfig)  # it has become one when it was checked
        _check_exists("plugins", plugin.path)
    if isinstance(options.settings, str):
        _check_file("settings", options.settings)
    if options.debug_file is not None:
        _check_directory("debug_file", os.path.dirname(options.debug_file))


def _check_exists(option: str, place: str | os.PathLike[str]) -> None:
    if not os.path.exists(place):
        raise OptionsError(f"{option}: there is no {quoted(os.fspath(place))}")


def _check_directory(option: str, place: str | os.PathLike[str]) -> None:
    _check_exists(option, place)
    if not os.path.isdir(place):
        raise OptionsError(f"{option}: {quoted(os.fspath(place))} is not a directory")


def _check_file(option: str, place: str | os.PathLike[str]) -> None:
    _check_exists(option, place)
    if os.path.isdir(place):
        raise OptionsError(f"{option}: {quoted(os.fspath(place))} is a directory, not a file")
    if not os.access(place, os.R_OK):
        raise OptionsError(f"{option}: {quoted(os.fspath(place))} cannot be read")
