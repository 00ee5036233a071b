"""The session on the CLI's side: its settings, its history, its costs, and where it is kept."""

from __future__ import annotations

import json
import os
import time
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec

from ..wire import AgentDefinition, BackgroundTask, Initialize, ModelUsage, UserMessage, load
from .flags import Flags, is_uuid
from .personas import LATEST, Persona

__all__ = [
    "MODELS",
    "STRUCTURED_OUTPUT",
    "WANT_A_PERSON",
    "SessionStore",
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


class SimulatedSession:
    """Everything that the CLI keeps from one turn to the next.

    Args:
        flags: how the CLI was called.
        persona: which version it plays.
        cwd: its working directory.
        env: its environment.
        store: where conversations are kept.
    """

    def __init__(
        self,
        flags: Flags,
        *,
        persona: Persona = LATEST,
        cwd: str = ".",
        env: Mapping[str, str] | None = None,
        store: SessionStore | None = None,
    ) -> None:
        self.flags = flags
        self.persona = persona
        self.cwd = cwd
        self.env: Mapping[str, str] = env or {}
        self.store = store
        self.mode: str = "bypassPermissions" if flags.dangerously_skip_permissions else "default"
        if flags.permission_mode:
            self.mode = flags.permission_mode
        self.model: str = self.resolve_model(flags.model)
        self.history: list[dict[str, Any]] = []
        self.resumed: bool = False
        self.taken: bool = False
        self.id: str = self._choose_id()
        self.setup: Initialize = Initialize()
        self._agents_of_flag = _agents(flags.agents)
        self.mcp_tools: dict[str, list[dict[str, Any]]] = {}
        self.rules: list[tuple[str, str]] = []
        self.settings: dict[str, Any] = {}
        self.ignored: set[str] = set()
        self.tasks: dict[str, BackgroundTask] = {}
        self.effort: str = flags.effort or "medium"
        self.state: str = "idle"
        self.prompt_id: str = new_uuid()
        self.cost: float = 0.0
        self.spent: dict[str, ModelUsage] = {}
        self.unreported: dict[str, ModelUsage] = {}
        if self.history:
            self._take_up_costs()
        self.results: int = 0
        self.announced: bool = False
        self.turns: int = 0
        self.exit_status: int = 0

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
        found = self._find(wanted)
        if found is None:
            return wanted
        self.history, self.resumed = found, True
        if not self.flags.fork_session:
            return wanted
        fork = self.flags.session_id or new_uuid()
        if self.store is not None:
            self.store.fork(wanted, fork)
        return fork

    def _find(self, wanted: str) -> list[dict[str, Any]] | None:
        """What was said in a session; None if there is no such session."""
        if self.store is not None:
            return self.store.load(wanted)
        # One that keeps no sessions takes up any, so that a session can be restarted with it.
        return [] if is_uuid(wanted) else None

    def _new_id(self) -> str:
        """The id for a new session. Sets `taken` if the requested one is in use."""
        wanted = self.flags.session_id
        if wanted and self.store is not None:
            self.taken = self.store.load(wanted) is not None
        return wanted or new_uuid()

    def _take_up_costs(self) -> None:
        """Restore the costs of a resumed session."""
        for entry in reversed(self.history):
            if "spent" in entry:
                taken, given, cost = entry["spent"]
                self.spend(taken, given, cost)
                self.unreported.clear()
                return

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
        return self.flags.permission_prompt_tool == "stdio"

    def remember(self, role: str, text: str) -> None:
        """Store a message, so that a later process can resume."""
        last = self.history[-1] if self.history else {}
        before, now = last.get("spent", (0, 0, 0.0)), [*_tokens(*self.spent.values()), self.cost]
        entry = {
            "parentUuid": last.get("uuid"),
            "isSidechain": False,
            "type": role,
            "message": self._message(role, text, now[0] - before[0], now[1] - before[1]),
            **({"costUSD": round(now[2] - before[2], 6)} if role == "assistant" else {}),
            "text": text,
            "spent": now,
            **self.stamp(),
            "sessionId": self.id,
            "timestamp": timestamp(),
            "cwd": self.cwd,
            "version": self.persona.version,
        }
        self.history.append(entry)
        if self.store is not None:
            self.store.append(self.id, entry)

    def _message(self, role: str, text: str, taken: int, given: int) -> dict[str, Any]:
        """A message as real CLIs keep it."""
        if role != "assistant":
            return {"role": role, "content": text}
        return {
            "id": new_id("msg"),
            "type": "message",
            "role": role,
            "model": self.model,
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": taken, "output_tokens": given},
        }

    def replay_of(self, message: UserMessage) -> UserMessage:
        """The echo of a prompt."""
        return UserMessage(
            message=message.message,
            uuid=message.uuid or new_uuid(),
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
        names = [tool for tool in names if tool not in self.flags.disallowed_tools]
        for server, tools in self.mcp_tools.items():
            names += [f"mcp__{server}__{tool.get('name')}" for tool in tools]
        return names

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


# --- on disk --------------------------------------------------------------------------------------

# File names have at most 255 bytes; a checksum tells longer folders apart.
_LONGEST_FOLDER = 200

_SUFFIX = ".jsonl"


def _agents(text: str | None) -> dict[str, AgentDefinition]:
    """Read the agents of the command line; one that is not valid is ignored, with all others."""
    try:
        return msgspec.json.decode(text or "{}", type=dict[str, AgentDefinition])
    except msgspec.MsgspecError:
        return {}


class SessionStore:
    """Keeps the sessions of one working directory, so that another process can go on with them.

    The layout is that of the real CLI: a folder for each working directory, in it a file of JSON
    Lines for each session.

    Args:
        config_dir: the CLI's own folder. Nothing outside it is touched.
        cwd: the working directory.
        enabled: whether anything is written. Reading works in any case.
    """

    def __init__(self, config_dir: str, cwd: str, enabled: bool) -> None:
        self.enabled = enabled
        self.folder: str = os.path.join(config_dir, "projects", _folder_name(cwd))

    def append(self, session_id: str, entry: dict[str, Any]) -> None:
        """Add an entry to a session, creating the session if needed.

        Raises:
            ValueError: the id cannot be the name of a file.
        """
        path = self._path(session_id)
        if self.enabled:
            self._write(path, "ab", _line(entry))

    def load(self, session_id: str) -> list[dict[str, Any]] | None:
        """Read the entries of a session; None if there is none. Broken lines are skipped."""
        if not _is_id(session_id):
            return None
        try:
            with open(self._path(session_id), "rb") as file:
                lines = file.read().split(b"\n")
        except FileNotFoundError:
            return None
        return [entry for line in lines if (entry := _entry(line)) is not None]

    def latest(self) -> str | None:
        """Find the session that was last written to."""
        try:
            with os.scandir(self.folder) as files:
                found = [
                    (file.stat().st_mtime_ns, file.name.removesuffix(_SUFFIX))
                    for file in files
                    if file.name.endswith(_SUFFIX)
                ]
        except FileNotFoundError:
            return None
        return max(found)[1] if found else None

    def fork(self, old: str, new: str) -> None:
        """Copy a session, if it exists, under another id, which its entries then carry.

        Raises:
            FileExistsError: there is a session with the new id.
            ValueError: an id cannot be the name of a file.
        """
        path = self._path(new)
        self._path(old)
        entries = self.load(old)
        if self.enabled and entries is not None:
            lines = (_line(_renamed(entry, old, new)) for entry in entries)
            self._write(path, "xb", b"".join(lines))

    def _path(self, session_id: str) -> str:
        if not _is_id(session_id):
            raise ValueError(f"{session_id!r} cannot be the id of a session")
        return os.path.join(self.folder, session_id + _SUFFIX)

    def _write(self, path: str, mode: str, data: bytes) -> None:
        os.makedirs(self.folder, exist_ok=True)
        with open(path, mode) as file:
            file.write(data)
            file.flush()
            # The file system's own clock may be too coarse to tell which session is the newest.
            now = time.time_ns()
            os.utime(file.fileno(), ns=(now, now))


def _is_id(text: str) -> bool:
    return text.isascii() and text.replace("-", "").replace("_", "").isalnum() and len(text) <= 128


def _folder_name(cwd: str) -> str:
    name = "".join(char if char.isascii() and char.isalnum() else "-" for char in cwd)
    if len(name) <= _LONGEST_FOLDER:
        return name
    checksum = zlib.crc32(os.fsencode(cwd))
    return f"{name[:_LONGEST_FOLDER]}-{checksum:08x}"


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def _entry(line: bytes) -> dict[str, Any] | None:
    try:
        entry = load(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def _renamed(entry: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """Replace the session's id, in the real CLI's spelling or in that of the wire."""
    names = {key: new for key in ("session_id", "sessionId") if entry.get(key) == old}
    return {**entry, **names}
