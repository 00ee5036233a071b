"""The ways of options to the CLI: its command line, its environment and the `initialize` request.

The declarations in `options` name the flag, the variable or the field of most options; the others
are here. A value is one word with its flag, `--flag=value`, so that the CLI cannot read it as a
flag. Large and secret values go through `initialize`, or into a file that only this user can read.

Measured on CLIs from 2.1.17 on, and the reason for the code here:

* Several betas, tools or rules need a repeated flag. The CLI reads betas joined with commas as one
  strange name, and a rule may itself contain a comma.
* A prompt in a file (`--system-prompt-file`) is preferred to `initialize`: a CLI that does not know
  the flag refuses to start, while it would silently ignore a field. Only `initialize` takes several
  blocks, from 2.1.197 on.
* `--mcp-config` and `--settings` take a file, `--managed-settings` and `--json-schema` do not; the
  former silently ignores one.
* Where a flag and a field of `initialize` have the same effect, the flag is used: an older CLI
  refuses it, and would silently ignore the field.

A dialect that is named explicitly comes with a document, whose CLIs read prompts and MCP servers
elsewhere: the behavior of the dialect names the places.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from typing import Any, Self

import msgspec

from .._package import __version__
from ..errors import CLIError, OptionsError
from ..options import DECLARATIONS, Options, configured_servers, given_options
from ..transport import forget_folder, watch_folder
from ..wire import HookMatcher, Initialize, Place, PluginConfig, behavior_of

# --- the command line ----------------------------------------------------------------------------

FIXED = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
"""The flags of every session."""


def arguments(options: Options, files: PrivateFiles) -> tuple[str, ...]:
    """Return the arguments of the CLI, without its own name.

    Large and secret values go to `files`, which must stay until the CLI has exited.
    """
    words = [*FIXED]
    for name, value in given_options(options):
        _check_paths(name, value, remote=options.remote)
        words += DECLARATIONS[name].arguments(value)
    words += _prompts(options, files)
    words += _servers(options, files)
    words += _settings(options, files)
    if behavior_of(options.dialect).takes_folder and not options.remote:
        words.append(f"--cwd={options.cwd or os.getcwd()}")
    return tuple(words)


def _prompts(options: Options, files: PrivateFiles) -> Iterator[str]:
    where = _prompt_places(options)
    for name, prompt in given_options(options):
        declared = DECLARATIONS[name]
        if declared.place != "prompt" or not isinstance(prompt, str | os.PathLike):
            continue  # there is none, or it has several blocks
        in_file, in_words = declared.flags
        if "file" in where:
            place = files.write(f"{name}.txt", prompt) if isinstance(prompt, str) else prompt
            yield f"{in_file}={place}"
        elif "argument" in where or name == "append_subagent_system_prompt":
            # `initialize` has no field for the prompt of subagents.
            yield f"{in_words}={_text_of(prompt)}"


def _servers(options: Options, files: PrivateFiles) -> Iterator[str]:
    servers = configured_servers(options)
    if servers and "file" in behavior_of(options.dialect).server_places:
        place = _in_file("mcp-servers.json", {"mcpServers": servers}, options, files)
        yield f"--mcp-config={place}"


def _settings(options: Options, files: PrivateFiles) -> Iterator[str]:
    settings: Any = options.settings
    if options.sandbox is not None:
        loaded = _load(settings) if isinstance(settings, str) else settings or {}
        if "sandbox" in loaded:
            raise OptionsError(f"the sandbox is described twice: in sandbox and in {settings!r}")
        # Without `failIfUnavailable` the CLI would go on without the sandbox.
        required = {"failIfUnavailable": True} if options.sandbox.get("enabled") else {}
        settings = {**loaded, "sandbox": {**required, **options.sandbox}}
    if isinstance(settings, Mapping):
        settings = _in_file("settings.json", {**settings}, options, files)
    if settings is not None:
        yield from ("--settings", settings)


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise OptionsError(f"settings: {path!r} is not a file of settings: {error}") from error


def _in_file(name: str, value: Any, options: Options, files: PrivateFiles) -> str:
    """Write JSON to a private file and return its path, or the JSON itself for a remote CLI."""
    text = msgspec.json.encode(value).decode()
    return text if options.remote else files.write(name, text)


def _check_paths(option: str, value: Any, *, remote: bool) -> None:
    """Check that files and directories exist; the CLI would silently ignore some that do not."""
    kind = DECLARATIONS[option].place
    if kind is None or (remote and kind != "prompt" and option != "cwd"):
        return
    for each in value if isinstance(value, tuple) else [value]:
        if isinstance(each, str if kind == "prompt" else Mapping):
            continue  # no path
        place = str(each.path if isinstance(each, PluginConfig) else each)
        if kind == "new file":
            place = os.path.dirname(place)
        if not os.path.exists(place):
            raise OptionsError(f"{option}: there is no {place!r}")
        is_directory = os.path.isdir(place)
        if is_directory and kind in ("file", "prompt"):
            raise OptionsError(f"{option}: {place!r} is a directory, not a file")
        if not is_directory and kind in ("directory", "new file"):
            raise OptionsError(f"{option}: {place!r} is not a directory")


# --- the `initialize` request --------------------------------------------------------------------


def initialize_request(
    options: Options,
    *,
    hooks: dict[str, list[HookMatcher]] | None = None,
    sdk_mcp_servers: list[str] | None = None,
) -> Initialize:
    """Make the request that opens a session. CLIs silently ignore fields that they do not know.

    Args:
        options: the options of the session.
        hooks: the hooks of the application, by event.
        sdk_mcp_servers: the names of MCP servers inside this process.
    """
    fields: dict[str, Any] = {
        name: _plain(value)
        for name, value in given_options(options)
        if DECLARATIONS[name].initialize
    }
    fields |= {"hooks": hooks, "sdk_mcp_servers": sdk_mcp_servers}
    if options.skills != "all":
        fields["skills"] = list(options.skills or ())
    if "initialize" in behavior_of(options.dialect).server_places:
        fields["mcp_servers"] = configured_servers(options)
    # An empty system prompt has a meaning; an empty list of hooks does not.
    given = {name: it for name, it in fields.items() if it}
    return Initialize(**given, **_prompt_fields(options))


def _plain(value: Any) -> Any:
    """Return lists and dicts, which encoders of JSON take."""
    return {**value} if isinstance(value, Mapping) else [*value] if type(value) is tuple else value


def _prompt_fields(options: Options) -> dict[str, Any]:
    """Return the prompts that the CLI expects here, and those with no other place."""
    prompts: dict[str, Any] = {}
    where = _prompt_places(options)
    if isinstance(options.system_prompt, tuple):
        prompts["system_prompt"] = list(options.system_prompt)
    if "initialize" in where and isinstance(options.system_prompt, str | os.PathLike):
        prompts["system_prompt"] = _text_of(options.system_prompt)
    # Not in two places, or it would be added twice.
    if where == {"initialize"} and isinstance(options.append_system_prompt, str | os.PathLike):
        prompts["append_system_prompt"] = _text_of(options.append_system_prompt)
    return prompts


def _prompt_places(options: Options) -> frozenset[Place]:
    """Return the places where the CLI looks for the system prompt."""
    places = behavior_of(options.dialect).prompt_places
    return frozenset({"initialize"}) if options.remote and "file" in places else places


def _text_of(prompt: str | os.PathLike[str]) -> str:
    if isinstance(prompt, str):
        return prompt
    try:
        with open(prompt, encoding="utf-8") as file:
            return file.read()
    except (OSError, ValueError) as error:
        message = f"The system prompt in {str(prompt)!r} cannot be read: {error}"
        raise OptionsError(message) from error


# --- the environment -----------------------------------------------------------------------------

NEEDED = (
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
)
"""Variables for other programs, the user's files and the language."""

NOT_INHERITED = (
    # Set by a CLI (up to 2.1.325) for the commands that it runs.
    "AI_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_PID",
    # Set by an SDK for the CLI that it starts.
    "CLAUDE_AGENT_SDK_DERIVED_CLIENT_APP",
    "CLAUDE_AGENT_SDK_VERSION",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
    "CLAUDE_CODE_SDK_READS_STARTUP_MARKS",
    # Meant for other programs: these make Node attach a debugger, or write to stdout.
    "DEBUG",
    "NODE_OPTIONS",
)
"""Variables that are not inherited. `env` can set them."""


def environment(options: Options) -> dict[str, str]:
    """Return the environment for the CLI, in four steps. None of it is ever logged.

    1. The variables of this process, or with `clean_env` only those every program needs (`NEEDED`).
    2. Without the variables that a CLI, or an SDK, has set for its own programs (`NOT_INHERITED`):
       this process may be one of them, and a CLI that finds these takes itself for a part of the
       other.
    3. With variables that name the SDK, and those of some options.
    4. With `env`, which wins: a string sets a variable, None removes it.

    So `CLAUDE_CONFIG_DIR`, `ANTHROPIC_API_KEY` and all other variables that configure the CLI are
    inherited, with `clean_env` only if they are in `env`.
    """
    variables: dict[str, str | None] = {
        name: value
        for name, value in os.environ.items()
        if (name in NEEDED if options.clean_env else name not in NOT_INHERITED)
    }
    variables |= {
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_AGENT_SDK_VERSION": __version__,
        # Makes the CLI report when it is idle; nothing else tells when its input may be closed.
        "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1",
    }
    if options.cwd is not None:
        variables["PWD"] = str(options.cwd)
    for name, value in given_options(options):
        variable = DECLARATIONS[name].variable
        if variable is not None and value:
            variables[variable] = "true" if value is True else str(value)
    variables |= options.env
    return {name: value for name, value in variables.items() if value is not None}


# --- private files -------------------------------------------------------------------------------


class PrivateFiles:
    """A private directory (0700) with private files (0600), made when first needed.

    The files must stay until the CLI has exited. The rest is deleted with this object, or when the
    interpreter exits; and by the guardian if this process is killed.
    """

    def __init__(self) -> None:
        self.folder: str | None = None
        self._delete: weakref.finalize[..., PrivateFiles] | None = None

    def write(self, name: str, text: str) -> str:
        """Write a new file, and return its path."""
        try:
            if self.folder is None:
                self.folder = os.path.abspath(tempfile.mkdtemp(prefix="claudewire-"))
                self._delete = weakref.finalize(self, _delete, self.folder, os.getpid())
                watch_folder(self.folder)
            path = os.path.join(self.folder, name)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        except OSError as error:
            raise CLIError(
                f"The file {name} for the CLI could not be written: {error}",
                advice="Check that the directory for temporary files has space, and is yours.",
            ) from error
        return path

    def delete(self) -> None:
        """Delete all the files. It is safe to call twice."""
        if self._delete is not None:
            self._delete()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.delete()


def _delete(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # a fork leaves the files of its parent alone
        shutil.rmtree(folder, ignore_errors=True)
        forget_folder(folder)
