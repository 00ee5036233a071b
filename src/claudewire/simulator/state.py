"""What a simulated CLI knows: its flags, its session, what it has spent, what it may do."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Any

from ..wire import Initialize, ModelUsage, SessionCreatedMessage, UserMessage
from .full_messages import model_usage
from .personas import LATEST, Persona

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .flags import Flags
    from .store import SessionStore

__all__ = ["Session", "new_uuid", "timestamp"]

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
"""The tool by which the model gives what a JSON Schema has asked for."""

WANT_A_PERSON = ("AskUserQuestion", "ExitPlanMode")
"""The tools that are questions to the user: no use where nobody can be asked."""


def new_uuid() -> str:
    """A random UUID, without loading the module that is made for it."""
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-8{text[17:20]}-{text[20:]}"


def timestamp() -> str:
    """The time of day, as messages carry it."""
    now = time.time()
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now * 1000) % 1000:03}Z"


class Session:
    """Everything that outlasts a turn.

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
        self.mcp_tools: dict[str, list[dict[str, Any]]] = {}
        self.rules: list[tuple[str, str]] = []
        self.settings: dict[str, Any] = {}
        self.tasks: dict[str, dict[str, Any]] = {}
        self.effort: str = flags.effort or "medium"
        self.state: str = "idle"
        self.prompt_id: str = new_uuid()
        self.cost: float = 0.0
        self.spent: dict[str, ModelUsage] = {}
        self.unreported: dict[str, ModelUsage] = {}
        if self.history:
            self._take_up_costs()
        self.results: int = 0
        self.turns: int = 0
        self.exit_status: int = 0

    def resolve_model(self, name: str | None) -> str:
        """The full name of a model that was named shortly, or not at all."""
        return MODELS.get(name or "default", name or "")

    def _choose_id(self) -> str:
        """The session that the flags ask for. `resumed` tells whether it was there."""
        wanted = self.flags.resume or None
        if self.flags.continue_ and self.store is not None:
            wanted = self.store.latest()
        if wanted is None:
            return self._new_id()
        found = self.store.load(wanted) if self.store is not None else None
        if found is None:
            return wanted
        self.history, self.resumed = found, True
        if not self.flags.fork_session:
            return wanted
        fork = self.flags.session_id or new_uuid()
        if self.store is not None:
            self.store.fork(wanted, fork)
        return fork

    def _new_id(self) -> str:
        """The id for a new session. `taken` tells whether the one that was asked for is in use."""
        wanted = self.flags.session_id
        if wanted and self.store is not None:
            self.taken = self.store.load(wanted) is not None
        return wanted or new_uuid()

    def _take_up_costs(self) -> None:
        """Go on counting where the session that is resumed has stopped."""
        for entry in reversed(self.history):
            if "spent" in entry:
                taken, given, cost = entry["spent"]
                self.spend(taken, given, cost)
                self.unreported.clear()
                return

    @property
    def transcript(self) -> str:
        """The file in which the conversation is kept."""
        folder = self.store.folder if self.store is not None else self.cwd
        return f"{folder}/{self.id}.jsonl"

    @property
    def can_ask(self) -> bool:
        """Whether there is somebody at the other end who decides on permissions."""
        return self.flags.permission_prompt_tool == "stdio"

    def remember(self, role: str, text: str) -> None:
        """Keep what was said, so that a later process can resume."""
        entry = {
            "type": role,
            "text": text,
            "spent": [*_tokens(*self.spent.values()), self.cost],
            "session_id": self.id,
            "uuid": new_uuid(),
        }
        self.history.append(entry)
        if self.store is not None:
            self.store.append(self.id, entry)

    def replay_of(self, message: UserMessage) -> UserMessage:
        """The echo of a prompt."""
        return UserMessage(
            message=message.message,
            uuid=message.uuid or new_uuid(),
            session_id=self.id,
            timestamp=timestamp(),
            is_replay=True,
        )

    def created(self) -> SessionCreatedMessage:
        """The confirmation that one dialect expects."""
        return SessionCreatedMessage(session_id=self.id)

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
        """Add up what a model call has used. The figures are invented, their sums are right."""
        self.cost = round(self.cost + cost, 6)
        for book in (self.spent, self.unreported):
            before = [book[self.model]] if self.model in book else []
            taken, given = _tokens(*before)
            total = round(cost + sum(it.cost_usd or 0 for it in before), 6)
            book[self.model] = model_usage(
                self.model, taken + input_tokens, given + output_tokens, total
            )


def _tokens(*spent: ModelUsage) -> tuple[int, int]:
    return sum(it.input_tokens or 0 for it in spent), sum(it.output_tokens or 0 for it in spent)
