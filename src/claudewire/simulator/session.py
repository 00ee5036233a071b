"""The session on the CLI's side: its settings, its history, its costs, and where it is kept."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ..wire import AgentDefinition, BackgroundTask, Initialize, ModelUsage, UserMessage, prepared
from .configuration import Configuration
from .flags import Flags, is_uuid
from .personas import LATEST, Persona
from .stored import NotResumable, SessionStore, Stored, take_up

if TYPE_CHECKING:
    from .servers import ExternalServer

__all__ = [
    "MODELS",
    "STRUCTURED_OUTPUT",
    "WANT_A_PERSON",
    "ServerState",
    "SimulatedSession",
    "new_id",
    "new_uuid",
    "timestamp",
]

MODELS = {
    "default": "claude-opus-5-5",
    "opus": "claude-opus-5-5",
    "fable": "claude-fable-5-2",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}

TOOLS = (
    "Task",
    "Bash",
    "Glob",
    "Grep",
    "LS",
    "Read",
    "Edit",
    "Write",
    "NotebookEdit",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "AskUserQuestion",
    "ExitPlanMode",
)

STRUCTURED_OUTPUT = "StructuredOutput"
"""The tool with which the model returns structured output."""

WANT_A_PERSON = ("AskUserQuestion", "ExitPlanMode")
"""The tools that ask the user, and do not exist where there is no user to ask."""


def new_uuid() -> str:
    """A random UUID, without importing `uuid`, which is slow."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def new_id(prefix: str) -> str:
    """A random id as the API makes them, such as `toolu_…` or `msg_…`."""
    return f"{prefix}_{os.urandom(12).hex()}"


def timestamp() -> str:
    """The current time, as messages carry it."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03}Z"


class ServerState:
    """What the CLI knows of an MCP server.

    Attributes:
        source: `sdk` for one in the application, else where it is configured.
        config: how it is started or reached.
        status: `connected`, `failed` or `pending`.
        error: why it is not connected.
        about: what it says of itself.
        tools: its tools.
        server: the connection, if it is not in the application.
    """

    def __init__(self, source: str = "sdk", config: dict[str, Any] | None = None) -> None:
        self.source = source
        self.config = config
        self.status: str = "pending"
        self.error: str | None = None
        self.about: dict[str, Any] = {}
        self.tools: list[dict[str, Any]] = []
        self.server: ExternalServer | None = None

    def connected(self, tools: Any) -> None:
        """It works, and has these tools."""
        self.status, self.tools = "connected", tools if isinstance(tools, list) else []

    def failed(self, error: str) -> None:
        """It does not work."""
        self.status, self.error = "failed", error


class SimulatedSession:
    """Everything that the CLI keeps from one turn to the next.

    Args:
        flags: how the CLI was called.
        persona: which version it plays.
        cwd: its working directory.
        env: its environment.
        store: where conversations are kept.
        branch: the branch of the git repository in the working directory.
        configuration: what files and flags configure.
    """

    stored: Stored | None = None
    """What it takes up."""
    not_resumable: str | None = None
    """Why it cannot take up what it should."""

    def __init__(
        self,
        flags: Flags,
        *,
        persona: Persona = LATEST,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        store: SessionStore | None = None,
        branch: str = "HEAD",
        configuration: Configuration | None = None,
    ) -> None:
        self.flags = flags
        self.persona = persona
        self.cwd = cwd
        self.env: Mapping[str, str] = env or {}
        self.store = store
        self.branch = branch
        self.configuration: Configuration = configuration or Configuration()
        bypasses = flags.dangerously_skip_permissions
        configured = "bypassPermissions" if bypasses else self.configuration.mode
        self.mode: str = flags.permission_mode or configured or "default"
        self.model: str = self.resolve_model(flags.model or self.configuration.model)
        self.history: list[dict[str, Any]] = []
        self.resumed: bool = False
        self.taken: bool = False
        self.id: str = self._choose_id()
        self.setup: Initialize = Initialize()
        self._agents_of_flag = _agents(flags.agents)
        self.servers: dict[str, ServerState] = {}
        self.rules: list[tuple[str, str]] = []
        self.settings: dict[str, Any] = {}
        self.ignored: set[str] = set()
        self.tasks: dict[str, BackgroundTask] = {}
        self.effort: str = flags.effort or "medium"
        self.state: str = "idle"
        self.prompt_id: str = new_uuid()
        self.subagents: dict[str, int] = {}
        self.cost: float = 0.0
        self.spent: dict[str, ModelUsage] = {}
        self.unreported: dict[str, ModelUsage] = {}
        if self.stored is not None and self.stored.costs is not None:
            self._take_up_costs(self.stored.costs)
        self.results: int = 0
        self.announced: bool = False
        self.turns: int = 0
        self.exit_status: int = 0
        self.title: str | None = None
        self.notices: list[UserMessage] = []
        self.checkpoints: dict[str, dict[str, bytes | None]] = {}
        self.file_versions: dict[str, int] = {}
        self.in_background: int = 0
        self.stop_work: dict[str, Callable[[], None]] = {}

    @property
    def mcp_tools(self) -> dict[str, list[dict[str, Any]]]:
        """The tools of each server that is connected."""
        return {name: it.tools for name, it in self.servers.items() if it.status == "connected"}

    def resolve_model(self, name: str | None) -> str:
        """The full name of a model, given a short name or none."""
        return MODELS.get(name or "default", name or "")

    def _choose_id(self) -> str:
        """The id of the session that the flags ask for. Sets `resumed` if it was found."""
        wanted = self.flags.resume or None
        if self.flags.continue_ and self.store is not None:
            wanted = self.store.latest()
        if wanted is None:
            return self._new_id()
        if self.store is not None and not is_uuid(wanted):
            wanted = self.store.titled(wanted) or wanted
        if not self._take_up(wanted) or not self.flags.fork_session:
            return wanted
        if self.stored is not None:
            self.stored = self.stored._replace(to_copy=self.stored.branch)
        return self.flags.session_id or new_uuid()

    def _take_up(self, wanted: str) -> bool:
        """Go on with a session; False if there is none, or not at the requested message."""
        if self.store is None:
            # One that keeps no sessions takes up any, so that a session can be restarted with it.
            self.resumed = is_uuid(wanted)
            return self.resumed
        entries = self.store.load(wanted)
        if entries is None:
            return False
        flags = self.flags
        try:
            stored = take_up(entries, at=flags.resume_session_at, drops=flags.resume_drops_turn)
        except NotResumable as error:
            self.not_resumable = str(error)
            return False
        self.stored, self.history, self.resumed = stored, stored.history, True
        return True

    def _new_id(self) -> str:
        """The id for a new session. Sets `taken` if the requested one is in use."""
        wanted = self.flags.session_id
        if wanted and self.store is not None:
            self.taken = self.store.load(wanted) is not None
        return wanted or new_uuid()

    def _take_up_costs(self, costs: dict[str, Any]) -> None:
        """Restore the costs of a resumed session."""
        try:
            spent = msgspec.convert(costs["modelUsage"], prepared(dict[str, ModelUsage]))
            self.cost = msgspec.convert(costs["totalCostUSD"], float)
        except (KeyError, msgspec.ValidationError):
            return  # written by a CLI that notes it otherwise
        for name, usage in spent.items():
            taken, given = _tokens(usage)
            self.spent[name] = _model_usage(name, taken, given, usage.cost_usd or 0.0)

    @property
    def agents(self) -> Mapping[str, AgentDefinition]:
        """The agents that it was given: in `initialize` or, as all versions read, by a flag."""
        told = self.setup.agents if self.persona.reads_agents else None
        return {**self._agents_of_flag, **(told or {})}

    def stamp(self) -> dict[str, Any]:
        """The fields that every message of the CLI carries."""
        return {"uuid": new_uuid(), "session_id": self.id}

    @property
    def transcript(self) -> str:
        """The file in which the conversation is kept."""
        folder = self.store.folder if self.store is not None else self.cwd
        return f"{folder}/{self.id}.jsonl"

    @property
    def can_ask(self) -> bool:
        """Whether the SDK decides on permissions."""
        return self.flags.permission_prompt_tool is not None

    def circumstances(self) -> dict[str, Any]:
        """The fields with which every entry of a transcript ends."""
        return {
            "userType": "external",
            "entrypoint": self.env.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli",
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": self.persona.version,
            "gitBranch": self.branch,
        }

    def remember(self, role: str, text: str) -> None:
        """Keep what was said, for the scenario to read."""
        self.history.append({"type": role, "text": text})

    def forget(self) -> None:
        """Begin another conversation, under another id."""
        self.id, self.stored = new_uuid(), None
        self.history, self.cost = [], 0.0
        self.spent, self.unreported = {}, {}

    def replay_of(self, message: UserMessage, uuid: str | None = None) -> UserMessage:
        """The echo of a prompt; `uuid` is for one that came without."""
        return UserMessage(
            message=message.message,
            uuid=message.uuid or uuid or new_uuid(),
            session_id=self.id,
            timestamp=timestamp(),
            is_replay=True,
        )

    def tools(self) -> list[str]:
        """The names of the tools that the agent has."""
        chosen = self.flags.tools
        names = [tool for tool in TOOLS if chosen is None or tool in chosen or "default" in chosen]
        for tool in WANT_A_PERSON:
            known = tool != "AskUserQuestion" or self.persona.asks_questions
            if tool in names and not (self.can_ask and known):
                names.remove(tool)
        denied = self.denied()
        names = [tool for tool in names if tool not in denied]
        for server, tools in self.mcp_tools.items():
            names += [f"mcp__{server}__{tool.get('name')}" for tool in tools]
        return names

    def denied(self) -> list[str]:
        """The rules that deny, of the flags and the settings."""
        return [*self.flags.disallowed_tools, *self.configuration.rules("deny")]

    def spend(self, input_tokens: int, output_tokens: int, cost: float) -> None:
        """Add up what a model call has used. The figures are invented, their sums are correct."""
        self.cost = round(self.cost + cost, 6)
        for book in (self.spent, self.unreported):
            before = [book[self.model]] if self.model in book else []
            taken, given = _tokens(*before)
            total = round(cost + sum(it.cost_usd or 0 for it in before), 6)
            book[self.model] = _model_usage(
                self.model, taken + input_tokens, given + output_tokens, total
            )


def _tokens(*spent: ModelUsage) -> tuple[int, int]:
    return sum(it.input_tokens or 0 for it in spent), sum(it.output_tokens or 0 for it in spent)


def _model_usage(model: str, input_tokens: int, output_tokens: int, cost: float) -> ModelUsage:
    """What a model has used."""
    return ModelUsage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        thinking_tokens=0,
        cache_read_input_tokens=0,
        cache_creation_input_tokens=0,
        cache_creation_ephemeral_5m_input_tokens=0,
        cache_creation_ephemeral_1h_input_tokens=0,
        web_search_requests=0,
        cost_usd=cost,
        context_window=200_000,
        max_output_tokens=64_000,
        canonical_model=model,
        provider="firstParty",
        cost_basis="list",
    )


def _agents(text: str | None) -> dict[str, AgentDefinition]:
    """Read the agents of the command line; one that is not valid is ignored, with all others."""
    try:
        return msgspec.json.decode(text or "{}", type=prepared(dict[str, AgentDefinition]))
    except msgspec.MsgspecError:
        return {}
