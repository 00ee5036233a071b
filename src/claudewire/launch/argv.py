"""The command line of the CLI.

A value is one word with its flag, `--flag=value`, so that it cannot be taken for a flag. What is
large or secret is not there: it goes through `initialize`, or into a file that only this user can
read. How most options are written is declared with them, in `options`; the others are here.

Measured, and the reason for what is done here:

* 1.0.128 ignores `--settings=…` and `--setting-sources=…` as one word, without a message. All
  versions understand two words.
* Several betas, tools or rules are given by repeating the flag. Betas joined with commas count as
  one with a strange name, and a rule may itself hold a comma.
* `--system-prompt-file` is known to all; `initialize` can bring the system prompt since 2.0.76, and
  as several blocks since 2.1.197: older ones then fall back to their own prompt, file or not. What
  is appended can come in a file, or through `initialize`, since 2.0.76. The file is preferred, for
  an older CLI then refuses to start rather than ignore it.
* Agents and the schema of the output need no flag besides `initialize`, since 2.0.76. 1.0.128 and
  2.0.14 read agents from `--agents`, and refuse `--append-system-prompt-file` and `--tools`: see
  `older`.
* `--mcp-config` and `--settings` take a file everywhere, `--managed-settings` and `--json-schema`
  nowhere; the former ignores it without a message.
* Where there is a flag and a field of `initialize` for the same small thing, they do the same, and
  the flag is used: an older CLI refuses it, and would ignore the field.

A dialect that is asked for by name comes with a document, and its CLIs read what that says: see
`initialize`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ..errors import OptionsError
from ..options import (
    DECLARATIONS,
    Options,
    configured_servers,
    given_options,
    option_of,
    thaw,
)
from ..wire import EARLY_TOOLS, SESSION, PluginConfig
from .initialize import Place, places, text_of_prompt
from .private_files import PrivateFiles

__all__ = ["FIXED", "OLDER", "arguments", "check_length"]

FIXED = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
"""How a session talks to the CLI, whatever the options are."""

OLDER = frozenset({"agents", "append_system_prompt", "builtin_tools", "system_prompt"})
"""The options that can be written in another way, for older CLIs."""

LINUX_WORD = 128 * 1024 - 1
"""Bytes in one argument or variable: 32 pages, of which one byte is for the end."""

_SEPARATE = 9
"""What each word takes besides its bytes: a pointer, and the end of the string."""
_LONGEST_CHARACTER = 4
_HEADROOM = 2048
"""What POSIX advises to leave free for changes that a program makes."""

_ADVICE = "What is long can be given in settings, or in files"


def arguments(
    options: Options, files: PrivateFiles, *, older: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the arguments of the CLI, without its own name.

    Args:
        options: what the CLI is asked for.
        files: takes what is large or secret. They must stay until the CLI has exited.
        older: the options that are written as older CLIs read them; those that are in `OLDER`
            can be.

    Raises:
        OptionsError: a file that options name does not exist, or something is too long.
        CLIError: a file cannot be written.
    """
    _check_places(options)
    words = [
        *FIXED,
        *_simple(options),
        *_about_the_model(options),
        *_about_tools(options, older),
        *_about_plugins(options),
        *_prompts(options, files, older),
        *_agents(options, older),
        *_servers(options, files),
        *_settings(options, files),
        *_others(options),
        *_extra(options),
    ]
    check_length(words)
    return tuple(words)


def _simple(options: Options) -> Iterator[str]:
    """Write the options that are a flag, or a flag and its value."""
    for name, value in given_options(options):
        flag = DECLARATIONS[name].flag
        if flag is None or value is None or value is False:
            continue
        if value is True:
            yield flag
        else:
            values = value if isinstance(value, tuple) else [value]
            yield from (f"{flag}={each}" for each in values)


def _about_the_model(options: Options) -> Iterator[str]:
    if (thinking := options.thinking) is not None:
        flag = "--thinking" if isinstance(thinking, str) else "--max-thinking-tokens"
        yield f"{flag}={thinking}"
    if (fallback := options.fallback_model) is not None:
        yield f"--fallback-model={fallback if isinstance(fallback, str) else ','.join(fallback)}"


def _about_tools(options: Options, older: Collection[str]) -> Iterator[str]:
    tools = options.builtin_tools
    if tools is not None and "builtin_tools" in older:
        # These CLIs cannot be told what there is, only what there is not.
        left_out = () if isinstance(tools, str) else [it for it in EARLY_TOOLS if it not in tools]
        yield from (f"--disallowedTools={name}" for name in left_out)
    elif tools is not None:
        names = [tools] if isinstance(tools, str) else tools or [""]
        yield from (f"--tools={name}" for name in names)
    yield from (f"--allowedTools={rule}" for rule in [*options.allowed_tools, *_skills(options)])
    # Also to the CLI: the policy decides only what it is asked about.
    yield from (f"--disallowedTools={rule}" for rule in options.deny)
    if (mode := options.permission_mode) is not None:
        # The newest CLI has a new word for the old mode, and still takes the old one.
        yield f"--permission-mode={'default' if mode == 'manual' else mode}"


def _skills(options: Options) -> list[str]:
    if options.skills == "all":
        return ["Skill"]
    return [f"Skill({name})" for name in options.skills or ()]


def _about_plugins(options: Options) -> Iterator[str]:
    if options.plugin_delivery == "initialize" or options.managed_settings is not None:
        yield "--await-initialize"
    if options.managed_settings is not None:
        yield "--managed-settings-in-initialize"
    if options.plugin_delivery == "flags":
        for plugin in options.plugins:
            assert isinstance(plugin, PluginConfig)  # the check has made it one
            flag = "--plugin-dir-no-mcp" if plugin.skip_mcp_discovery else "--plugin-dir"
            yield f"{flag}={plugin.path}"


# --- what is large or secret ---------------------------------------------------------------------


def _agents(options: Options, older: Collection[str]) -> Iterator[str]:
    if "agents" in older and options.agents:
        yield f"--agents={_json(thaw(options.agents))}"


def _prompts(options: Options, files: PrivateFiles, older: Collection[str]) -> Iterator[str]:
    for name, prompt in given_options(options):
        declared = DECLARATIONS[name]
        if declared.place == "prompt" and isinstance(prompt, tuple) and name in older:
            prompt = "\n\n".join(prompt)
        if declared.place != "prompt" or not isinstance(prompt, str | os.PathLike):
            continue  # there is none, or it has several blocks
        in_file, in_words = declared.flags
        where = _places_of(options, name, older)
        if Place.FILE in where:
            place = files.write(f"{name}.txt", prompt) if isinstance(prompt, str) else prompt
            yield f"{in_file}={place}"
        elif Place.WORDS in where or name == "append_subagent_system_prompt":
            # `initialize` has no field for the prompt of subagents.
            yield f"{in_words}={text_of_prompt(prompt)}"


def _places_of(options: Options, name: str, older: Collection[str]) -> frozenset[Place]:
    """Where the CLI looks for a prompt."""
    where = places(options)
    if name in older and (Place.FILE not in where or name == "append_system_prompt"):
        return frozenset({Place.WORDS})
    return where


def _servers(options: Options, files: PrivateFiles) -> Iterator[str]:
    if options.dialect == SESSION.name:
        return  # they are in `initialize`
    if servers := configured_servers(options):
        text = _json({"mcpServers": servers})
        yield f"--mcp-config={text if options.remote else files.write('mcp-servers.json', text)}"


def _settings(options: Options, files: PrivateFiles) -> Iterator[str]:
    if options.setting_sources is not None:
        yield from ("--setting-sources", ",".join(options.setting_sources))
    settings = _with_sandbox(options)
    if isinstance(settings, str):
        yield from ("--settings", settings)
    elif settings is not None:
        text = _json(settings)
        yield from ("--settings", text if options.remote else files.write("settings.json", text))


def _with_sandbox(options: Options) -> str | dict[str, Any] | None:
    """Return the settings, as a path if they can stay in their file."""
    settings = options.settings
    if options.sandbox is None:
        return settings if isinstance(settings, str) else thaw(settings)
    loaded = _load(settings) if isinstance(settings, str) else thaw(settings or {})
    if "sandbox" in loaded:
        raise OptionsError(f"the sandbox is described twice: in sandbox and in {settings!r}")
    sandbox = thaw(options.sandbox)
    if sandbox.get("enabled"):
        # By itself the CLI would go on without the sandbox that was asked for.
        sandbox.setdefault("failIfUnavailable", True)
    return {**loaded, "sandbox": sandbox}


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError, RecursionError) as error:
        raise OptionsError(f"settings: {path!r} is not a file of settings: {error}") from error


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# --- the rest ------------------------------------------------------------------------------------


def _others(options: Options) -> Iterator[str]:
    if options.dialect == SESSION.name and not options.remote:
        yield f"--cwd={options.cwd or os.getcwd()}"  # required there; real CLIs do not know it
    if options.system_prompt_snapshot is not None:
        yield f"--system-prompt-snapshot={'on' if options.system_prompt_snapshot else 'off'}"
    if not options.persist_session:
        yield "--no-session-persistence"


def _extra(options: Options) -> Iterator[str]:
    for name, value in options.extra_args.items():
        if value is None:
            yield f"--{name}"
        else:
            values = [value] if isinstance(value, str) else value
            yield from (f"--{name}={each}" for each in values)


# --- places that options name --------------------------------------------------------------------


def _check_places(options: Options) -> None:
    """Check that the files and directories exist that options name.

    If they do not, the CLI ignores some of them without a word, and exits because of others.
    """
    for name, value in given_options(options):
        declared = DECLARATIONS[name]
        is_here = name == "cwd" or declared.place == "prompt" or not options.remote
        if declared.place is not None and is_here:
            for place in _places(value, declared.place):
                _check_place(name, place, declared.place)


def _places(value: Any, kind: str) -> Iterator[str]:
    """Return the paths that an option holds."""
    for each in value if isinstance(value, tuple) else [value]:
        if isinstance(each, os.PathLike | PluginConfig):
            yield str(each.path if isinstance(each, PluginConfig) else each)
        elif isinstance(each, str) and kind != "prompt":
            yield os.path.dirname(each) if kind == "new file" else each


def _check_place(option: str, place: str, kind: str) -> None:
    if not os.path.exists(place):
        raise OptionsError(f"{option}: there is no {place!r}")
    if kind in ("directory", "new file") and not os.path.isdir(place):
        raise OptionsError(f"{option}: {place!r} is not a directory")
    if kind in ("file", "prompt") and os.path.isdir(place):
        raise OptionsError(f"{option}: {place!r} is a directory, not a file")
    if kind in ("file", "prompt") and not os.access(place, os.R_OK):
        raise OptionsError(f"{option}: {place!r} cannot be read")


# --- length --------------------------------------------------------------------------------------


def check_length(
    argv: Sequence[str],
    env: Mapping[str, str] | None = None,
    *,
    platform: str = sys.platform,
    total: int | None = None,
) -> None:
    """Check that a command is short enough for the system to start it.

    Args:
        argv: the command, or the part of it that is known.
        env: its environment, which takes the same space.
        platform: the system.
        total: how many bytes there are for both; what the system says unless given.

    Raises:
        OptionsError: it is too long; the message says what takes the space.
    """
    env, total = env or {}, _system_total() if total is None else total
    if _is_surely_short([*argv, *env, *env.values()], min(total, LINUX_WORD)):
        return
    sizes = [(_name(word), len(os.fsencode(word))) for word in argv]
    for name, value in env.items():
        sizes.append((f"env[{name!r}]", len(os.fsencode(f"{name}={value}"))))
    if platform == "linux":
        _check_words(sizes)
    _check_total(sizes, total)


def _is_surely_short(words: Sequence[str], limit: int) -> bool:
    """Whether a command keeps to a limit however it is encoded: nearly all do."""
    return _LONGEST_CHARACTER * sum(map(len, words)) + len(words) * _SEPARATE + _HEADROOM <= limit


def _check_words(sizes: Sequence[tuple[str, int]]) -> None:
    for name, size in sizes:
        if size > LINUX_WORD:
            raise OptionsError(
                f"{name} is too long for a command line: it has {size:,} bytes, and on Linux one "
                f"argument or variable may have {LINUX_WORD:,}. {_ADVICE}"
            )


def _check_total(sizes: Sequence[tuple[str, int]], total: int) -> None:
    needed = sum(size + _SEPARATE for _, size in sizes) + _HEADROOM
    if needed > total:
        raise OptionsError(
            f"The command line and the environment are too long: {needed:,} bytes, and the system "
            f"takes {total:,}. Most of it is {_largest(sizes)}. {_ADVICE}"
        )


def _system_total() -> int:
    limit = os.sysconf("SC_ARG_MAX")
    return limit if limit > 0 else sys.maxsize


def _name(word: str) -> str:
    """Name an argument, by its option if it has one."""
    flag = word.partition("=")[0]
    if not flag.startswith("--"):
        return f"{word[:20]!r}…" if len(word) > 20 else repr(word)
    option = option_of(flag)
    return flag if option is None else f"{option} ({flag})"


def _largest(sizes: Sequence[tuple[str, int]]) -> str:
    """Name what takes most of the space; what is given several times counts together."""
    sums: dict[str, int] = {}
    for name, size in sizes:
        sums[name] = sums.get(name, 0) + size
    first = sorted(sums, key=lambda name: sums[name], reverse=True)[:3]
    return ", ".join(f"{name} with {sums[name]:,}" for name in first)
