"""The session on the CLI's side: its settings, its history, its costs, and its place on disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec

from .. import wire
from .configuration import Configuration
from .flags import Flags, is_uuid
from .personas import Persona
from .servers import ServerState
from .stored import NotResumable, SessionStore, Stored, take_up

MODELS = {
    "default": "claude-opus-5-5",
    "opus": "claude-opus-5-5",
    "fable": "claude-fable-5-2",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}

_TOOLS = """
Task Bash Glob Grep LS Read Edit Write NotebookEdit WebFetch WebSearch TodoWrite AskUserQuestion
ExitPlanMode
"""
TOOLS = tuple(_TOOLS.split())

AGENTS = ("general-purpose", "Explore", "Plan")
"""The built-in types of subagents."""

STRUCTURED_OUTPUT = "StructuredOutput"
"""The tool with which the model returns structured output."""

WANT_A_PERSON = ("AskUserQuestion", "ExitPlanMode")
"""The tools that ask the user; they do not exist without one."""


def new_uuid() -> str:
    """Return a random UUID."""
    return str(uuid4())


def new_id(prefix: str) -> str:
    """Return a random id in the form of the API, such as `toolu_…` or `msg_…`."""
    return f"{prefix}_{uuid4().hex[:24]}"


def timestamp() -> str:
    """Return the current time as messages carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class SimulatedSession:
    """Everything that the CLI keeps from one turn to the next."""

    def __init__(
        self,
        flags: Flags,
        *,
        persona: Persona,
        cwd: str,
        env: Mapping[str, str],
        store: SessionStore | None,
        branch: str,
        configuration: Configuration,
    ) -> None:
        self.flags = flags
        self.persona = persona
        self.cwd = cwd
        self.env = env
        self.store = store
        self.branch = branch
        self.configuration = configuration
        bypasses = "bypassPermissions" if flags.dangerously_skip_permissions else None
        configured = configuration.settings.permissions.default_mode
        mode = flags.permission_mode or bypasses or configured
        self.mode: str = "default" if mode in (None, "manual") else mode
        wanted = flags.model or env.get("ANTHROPIC_MODEL") or configuration.settings.model
        self.model: str = self.resolve_model(wanted)
        self.effort: str = flags.effort or "medium"
        self.state: str = "idle"
        self.prompt_id: str = new_uuid()
        self.setup: wire.Initialize = wire.Initialize()
        self._agents_of_flag: dict[str, wire.AgentDefinition] = {}
        with suppress(msgspec.MsgspecError):  # if one is invalid, all are ignored
            kind = wire.prepared(dict[str, wire.AgentDefinition])
            self._agents_of_flag = msgspec.json.decode(flags.agents or "{}", type=kind)
        self.servers: dict[str, ServerState] = {}
        self.added_rules: dict[str, list[str]] = {"allow": [], "ask": [], "deny": []}
        self.added_folders: list[str] = []
        self.ignored: set[str] = set()
        self.tasks: dict[str, wire.BackgroundTask] = {}
        self.stop_work: dict[str, Callable[[], None]] = {}
        self.notices: list[wire.UserMessage] = []
        self.checkpoints: dict[str, dict[Path, bytes | None]] = {}
        self.announced: bool = False
        self.turns: int = 0
        self.results: int = 0
        self.exit_status: int = 0
        self.history: list[dict[str, Any]] = []
        self.cost: float = 0.0
        self.spent: dict[str, wire.ModelUsage] = {}
        self.unreported: dict[str, wire.ModelUsage] = {}
        self.stored: Stored | None = None
        self.resumed: bool = False
        self.not_resumable: str | None = None
        """Why the requested session cannot be resumed."""
        self.taken: bool = False
        """Whether the requested id is in use."""
        self.id: str = self._choose_id()

    def _choose_id(self) -> str:
        """Return the id that the flags ask for, and resume its session."""
        flags = self.flags
        wanted = flags.resume or None
        if flags.continue_ and self.store is not None:
            wanted = self.store.latest()
        if wanted is None:
            if flags.session_id and self.store is not None:
                self.taken = self.store.load(flags.session_id) is not None
            return flags.session_id or new_uuid()
        if self.store is not None and not is_uuid(wanted):
            wanted = self.store.titled(wanted) or wanted
        self._take_up(wanted)
        forks = self.resumed and flags.fork_session
        return (flags.session_id or new_uuid()) if forks else wanted

    def _take_up(self, wanted: str) -> None:
        """Go on with a session, if it exists and has the requested message."""
        if self.store is None:
            # Without a store any session can be resumed, so that tests can restart sessions.
            self.resumed = is_uuid(wanted)
            return
        entries = self.store.load(wanted)
        if entries is None:
            return
        try:
            flags = self.flags
            stored = take_up(entries, at=flags.resume_session_at, drops=flags.resume_drops_turn)
        except NotResumable as error:
            self.not_resumable = str(error)
            return
        self.stored, self.history, self.resumed = stored, stored.history, True
        if stored.costs is not None:
            self._take_up_costs(stored.costs)

    def _take_up_costs(self, costs: dict[str, Any]) -> None:
        """Restore the costs of a resumed session, unless another CLI noted them differently."""
        try:
            self.spent = msgspec.convert(
                costs["modelUsage"], wire.prepared(dict[str, wire.ModelUsage])
            )
            self.cost = msgspec.convert(costs["totalCostUSD"], float)
        except (KeyError, msgspec.ValidationError):
            return

    def forget(self) -> None:
        """Begin another conversation, under another id."""
        self.id, self.stored = new_uuid(), None
        self.history, self.cost = [], 0.0
        self.spent, self.unreported = {}, {}

    @property
    def agents(self) -> Mapping[str, wire.AgentDefinition]:
        """The agents of `initialize` and of the command line."""
        return {**self._agents_of_flag, **(self.setup.agents or {})}

    @property
    def agent_tools(self) -> dict[str, list[str] | None]:
        """Every type of subagent with the tools that it is limited to; None for all tools."""
        tools = {name: it.tools for name, it in self.configuration.agents.items()}
        tools |= {name: it.tools for name, it in self.agents.items()}
        return {**dict.fromkeys(AGENTS), **tools}

    def stamp(self) -> dict[str, Any]:
        """Return the fields that every message of the CLI carries."""
        return {"uuid": new_uuid(), "session_id": self.id}

    @property
    def transcript(self) -> str:
        """The file of the conversation."""
        folder = self.store.folder if self.store is not None else self.cwd
        return f"{folder}/{self.id}.jsonl"

    @property
    def can_ask(self) -> bool:
        """Whether the SDK decides on permissions."""
        return self.flags.permission_prompt_tool is not None

    def remember(self, role: str, text: str) -> None:
        """Add to the history, which scenarios can read."""
        self.history.append({"type": role, "text": text})

    def replay_of(self, message: wire.UserMessage, uuid: str | None = None) -> wire.UserMessage:
        """Return the echo of a prompt; `uuid` is for a prompt that has none."""
        return wire.UserMessage(
            message=message.message,
            uuid=message.uuid or uuid or new_uuid(),
            session_id=self.id,
            timestamp=timestamp(),
            is_replay=True,
        )

    # --- models and tools ------------------------------------------------------------------------

    def resolve_model(self, name: str | None) -> str:
        """Return the full name of a model, given a short name or none."""
        return MODELS.get(name or "default", name or "")

    @property
    def mcp_tools(self) -> dict[str, list[dict[str, Any]]]:
        """The tools of each server that is connected."""
        return {name: it.tools for name, it in self.servers.items() if it.status == "connected"}

    def tools(self) -> list[str]:
        """Return the names of the tools that the agent has."""
        chosen = self.flags.tools
        names = [tool for tool in TOOLS if chosen is None or tool in chosen or "default" in chosen]
        for server, tools in self.mcp_tools.items():
            names += [f"mcp__{server}__{tool.get('name')}" for tool in tools]
        asking = () if self.can_ask else WANT_A_PERSON
        return [name for name in names if name not in asking and not self.is_removed(name)]

    def is_removed(self, tool: str) -> bool:
        """Whether a rule denies every use of a tool, so that the model does not have it."""
        rules = [rule for rule, _, _ in self.rules("deny")]
        server = tool.rpartition("__")[0]
        return server in rules or any(fnmatchcase(tool, rule) for rule in rules)

    def rules(self, behavior: str) -> list[tuple[str, str | None, str]]:
        """Return the permission rules of flags, settings and answers, each with root and source."""
        flags = {"allow": self.flags.allowed_tools, "deny": self.flags.disallowed_tools}
        return [
            *((rule, None, "cliArg") for rule in flags.get(behavior, ())),
            *self.configuration.rules(behavior),
            *((rule, None, "session") for rule in self.added_rules[behavior]),
        ]

    # --- costs -----------------------------------------------------------------------------------

    def spend(self, input_tokens: int, output_tokens: int) -> None:
        """Add the use of a model call. The prices are invented, their sums are correct."""
        cost = (input_tokens * 3 + output_tokens * 15) / 1_000_000
        self.cost = round(self.cost + cost, 6)
        for book in (self.spent, self.unreported):
            before = book.get(self.model, wire.ModelUsage())
            book[self.model] = wire.ModelUsage(
                input_tokens=(before.input_tokens or 0) + input_tokens,
                output_tokens=(before.output_tokens or 0) + output_tokens,
                cache_read_input_tokens=0,
                cache_creation_input_tokens=0,
                web_search_requests=0,
                cost_usd=round((before.cost_usd or 0) + cost, 6),
                context_window=200_000,
                max_output_tokens=64_000,
            )
