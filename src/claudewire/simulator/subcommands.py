"""The commands beside the conversation that applications call, such as `claude mcp list`.

They answer in the form of the real CLI, and `mcp` really changes its configuration file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .flags import EarlyExit

__all__ = ["SIMULATED", "run_subcommand"]

Settings = dict[str, Any]

SCOPES = {
    "local": "Local config (private to you in this project)",
    "user": "User config (available in all your projects)",
}


class _Place:
    """Where the command runs: its folders, its environment, its version."""

    def __init__(self, cwd: str, config_dir: str | None, env: Mapping[str, str], version: str):
        self.cwd = cwd
        self.config_dir = config_dir or cwd
        self.env = env
        self.version = version
        self.file = os.path.join(self.config_dir, ".claude.json")

    def read(self) -> Settings:
        try:
            with open(self.file, encoding="utf-8") as file:
                kept = json.load(file)
        except (OSError, ValueError):
            return {}
        return kept if isinstance(kept, dict) else {}

    def write(self, kept: Settings) -> None:
        os.makedirs(self.config_dir, exist_ok=True)
        with open(self.file, "w", encoding="utf-8") as file:
            json.dump(kept, file, indent=2)

    def servers(self, kept: Settings, scope: str) -> Settings:
        """The servers of a scope, to be changed."""
        owner = kept
        if scope == "local":
            owner = kept.setdefault("projects", {}).setdefault(self.cwd, {})
        servers: Settings = owner.setdefault("mcpServers", {})
        return servers

    def modified(self, scope: str) -> str:
        project = f" [project: {self.cwd}]" if scope == "local" else ""
        return f"File modified: {self.file}{project}\n"


def run_subcommand(
    argv: Sequence[str],
    *,
    cwd: str,
    config_dir: str | None,
    env: Mapping[str, str],
    version: str,
) -> EarlyExit | None:
    """Carry out a command; None if it is not simulated.

    Args:
        argv: the words after the program's name.
        cwd: the working directory.
        config_dir: the CLI's own folder.
        env: the environment.
        version: the version of the CLI that is played.
    """
    command = SIMULATED.get(tuple(argv[:2])) or SIMULATED.get(tuple(argv[:1]))
    if command is None:
        return None
    return command(_Place(cwd, config_dir, env, version), list(argv[2:]))


# --- mcp ------------------------------------------------------------------------------------------


def _options(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Tell options and their values from the rest; what follows `--` is no option."""
    names = {"-s": "scope", "-t": "transport", "-e": "env", "-H": "header"}
    options: dict[str, list[str]] = {}
    rest: list[str] = []
    while words:
        word = words.pop(0)
        if word == "--":
            return options, rest + words
        if word.startswith("-") and words and len(rest) < 2:
            name, equals, value = word.partition("=")
            options.setdefault(names.get(name, name.removeprefix("--")), []).append(
                value if equals else words.pop(0)
            )
        else:
            rest.append(word)
    return options, rest


def _add(place: _Place, words: list[str]) -> EarlyExit:
    options, rest = _options(words)
    if len(rest) < 2:
        missing = "commandOrUrl" if rest else "name"
        return EarlyExit(1, stderr=f"error: missing required argument '{missing}'\n")
    name, target, *more = rest
    scope = options.get("scope", ["local"])[-1]
    kind = options.get("transport", ["stdio"])[-1]
    pairs = [pair.partition("=") for pair in options.get("env", [])]
    if kind == "stdio":
        env = {key: value for key, _, value in pairs}
        config: Settings = {"type": "stdio", "command": target, "args": more, "env": env}
        shown = f"stdio MCP server {name} with command: {' '.join([target, *more])}"
    else:
        headers = (header.partition(":") for header in options.get("header", []))
        config = {"type": kind, "url": target}
        config |= {"headers": {key.strip(): value.strip() for key, _, value in headers}}
        shown = f"{kind.upper()} MCP server {name} with URL: {target}"
    return _put(place, name, scope, config, f"Added {shown} to {scope} config\n", told=True)


def _add_json(place: _Place, words: list[str]) -> EarlyExit:
    options, rest = _options(words)
    scope = options.get("scope", ["local"])[-1]
    try:
        name, text = rest
        config = json.loads(text)
    except ValueError:
        name, config = "", None
    if not isinstance(config, dict):
        return EarlyExit(1, stderr="Invalid configuration: Invalid input\n")
    kind = config.get("type", "stdio")
    shown = f"Added {kind} MCP server {name} to {scope} config\n"
    return _put(place, name, scope, {"type": kind, **config}, shown)


def _put(
    place: _Place, name: str, scope: str, config: Settings, shown: str, *, told: bool = False
) -> EarlyExit:
    if scope not in SCOPES:
        return EarlyExit(1, stderr=f"Invalid scope: {scope}. Must be one of: local, user\n")
    kept = place.read()
    servers = place.servers(kept, scope)
    if name in servers:
        return EarlyExit(1, stderr=f"MCP server {name} already exists in {scope} config\n")
    servers[name] = config
    place.write(kept)
    return EarlyExit(0, shown + (place.modified(scope) if told else ""))


def _known(place: _Place) -> dict[str, tuple[str, Settings]]:
    """All servers by name, each with its scope."""
    kept = place.read()
    return {
        name: (scope, config)
        for scope in ("user", "local")
        for name, config in place.servers(kept, scope).items()
    }


def _nothing(place: _Place, name: str) -> EarlyExit:
    names = ", ".join(_known(place))
    known = f" Configured servers: {names}" if names else " No MCP servers are configured."
    return EarlyExit(1, stderr=f'No MCP server named "{name}".{known}\n')


def _remove(place: _Place, words: list[str]) -> EarlyExit:
    options, rest = _options(words)
    name = rest[0] if rest else ""
    found = _known(place).get(name)
    if found is None:
        return _nothing(place, name)
    scope = options.get("scope", [found[0]])[-1]
    kept = place.read()
    place.servers(kept, scope).pop(name, None)
    place.write(kept)
    text = f'Removed MCP server "{name}" from {scope} config\n'
    return EarlyExit(0, text + place.modified(scope))


def _health(place: _Place, config: Settings) -> str:
    from .servers import ServerError, connect_external

    client = {"protocolVersion": "2025-11-25", "capabilities": {}}
    client["clientInfo"] = {"name": "claude-code", "version": place.version}
    env = {"PATH": os.defpath, **place.env}
    try:
        server, _, _ = connect_external(config, client, env, place.cwd)
    except ServerError:
        return "✗ Failed to connect"
    server.close()
    return "✔ Connected"


def _target(config: Settings) -> str:
    if "url" in config:
        return f"{config['url']} ({str(config.get('type', 'http')).upper()})"
    return " ".join([str(config.get("command")), *map(str, config.get("args") or ())])


def _list(place: _Place, words: list[str]) -> EarlyExit:
    known = _known(place)
    if not known:
        text = "No MCP servers configured. Use `claude mcp add` to add a server.\n"
        return EarlyExit(0, text)
    lines = [f"{name}: {_target(it)} - {_health(place, it)}\n" for name, (_, it) in known.items()]
    return EarlyExit(0, "Checking MCP server health…\n\n" + "".join(lines))


def _get(place: _Place, words: list[str]) -> EarlyExit:
    name = words[0] if words else ""
    found = _known(place).get(name)
    if found is None:
        return _nothing(place, name)
    scope, config = found
    lines = [f"Scope: {SCOPES[scope]}", f"Status: {_health(place, config)}"]
    lines.append(f"Type: {config.get('type', 'stdio')}")
    if "url" in config:
        lines.append(f"URL: {config['url']}")
    else:
        lines += [f"Command: {config.get('command')}"]
        lines += [f"Args: {' '.join(map(str, config.get('args') or ()))}", "Environment:"]
        lines += [f"  {key}={value}" for key, value in (config.get("env") or {}).items()]
    text = "".join(f"  {line}\n" for line in lines)
    end = f"\nTo remove this server, run: claude mcp remove {name} -s {scope}\n"
    return EarlyExit(0, f"{name}:\n{text}{end}")


# --- others ---------------------------------------------------------------------------------------


def _auth(place: _Place, words: list[str]) -> EarlyExit:
    key = "ANTHROPIC_API_KEY" if place.env.get("ANTHROPIC_API_KEY") else None
    if "--text" in words:
        return EarlyExit(0 if key else 1, f"API key: {key}\n" if key else "Not logged in\n")
    status: Settings = {
        "loggedIn": key is not None,
        "authMethod": "api_key" if key else "none",
        "apiProvider": "firstParty",
        "analyticsDisabled": True,
        "projectsDirectory": os.path.join(place.config_dir, "projects"),
        "configDirectory": place.config_dir,
        "loginExpiresAt": None,
    }
    if key:
        status["apiKeySource"] = key
    return EarlyExit(0 if key else 1, json.dumps(status, indent=2) + "\n")


def _doctor(place: _Place, words: list[str]) -> EarlyExit:
    return EarlyExit(
        0,
        f"Claude Code doctor\n\nRunning: simulated ({place.version})\nPlatform: simulated\n"
        "Auto-updates: disabled\n\nNo warnings found\n",
    )


def _plugins(place: _Place, words: list[str]) -> EarlyExit:
    if "--json" in words:
        return EarlyExit(0, "[]\n")
    return EarlyExit(0, "No plugins installed. Use `claude plugin install` to install a plugin.\n")


def _agents(place: _Place, words: list[str]) -> EarlyExit:
    return EarlyExit(0, "[]\n")


SIMULATED: dict[tuple[str, ...], Callable[[_Place, list[str]], EarlyExit]] = {
    ("mcp", "add"): _add,
    ("mcp", "add-json"): _add_json,
    ("mcp", "get"): _get,
    ("mcp", "list"): _list,
    ("mcp", "remove"): _remove,
    ("auth", "status"): _auth,
    ("doctor",): _doctor,
    ("plugin", "list"): _plugins,
    ("plugins", "list"): _plugins,
    ("agents", "--json"): _agents,
}
"""What carries out each command, by its first words."""
