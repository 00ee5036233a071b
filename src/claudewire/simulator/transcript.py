"""The transcript of a conversation: the lines that the CLI keeps of it, in the real CLI's form.

Real CLIs also keep their requests to the API, the instructions of their model, and notes about
their own work. The simulated model has no instructions, and nothing reads those notes.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from .. import wire
from .session import SimulatedSession, new_uuid, timestamp
from .stored import Entry

if TYPE_CHECKING:
    from .subagents import Subagent

ABOUT_AGENT = ".meta.json"
"""The end of the name of the file that describes a subagent."""

CAVEAT = (
    "<local-command-caveat>The command below was run directly in Claude Code, not sent to you as a "
    "request, and its output goes straight to the user. It's recorded here as context for later "
    "messages.</local-command-caveat>"
)


class Transcript:
    """The transcript of the main conversation, or of a subagent."""

    def __init__(
        self,
        session: SimulatedSession,
        write: Callable[[str, list[Entry]], None],
        agent: Subagent | None = None,
    ) -> None:
        self.session = session
        self.agent = agent
        self._write = write
        self._parts: list[Entry] = []
        self._tool_uses: dict[str, str] = {}
        self._last_prompt: Entry | None = None
        self._started = time.time()
        stored = session.stored if agent is None else None
        self._leaf: str | None = None if stored is None else stored.leaf
        forks = session.flags.fork_session
        self._copied: list[Entry] = stored.branch if stored is not None and forks else []

    @property
    def path(self) -> str:
        """The file."""
        main = self.session.transcript
        if self.agent is None:
            return main
        return f"{main.removesuffix('.jsonl')}/subagents/agent-{self.agent.id}.jsonl"

    def of_agent(self, agent: Subagent) -> Transcript:
        """Begin the transcript of a subagent, and describe the subagent in a separate file."""
        child = Transcript(self.session, self._write, agent)
        about = {
            "agentType": agent.kind,
            "description": agent.description,
            "toolUseId": agent.tool_use_id,
        }
        self._write(child.path.replace(".jsonl", ABOUT_AGENT), [about])
        return child

    # --- the user's side -------------------------------------------------------------------------

    def prompt(
        self,
        message: wire.UserMessage,
        *,
        called: tuple[str, str, str] | None = None,
        uuid: str = "",
    ) -> None:
        """Keep a prompt."""
        uuid = message.uuid or uuid or new_uuid()
        self._copy()
        if not message.text.startswith("<task-notification"):
            self._last_prompt = {"lastPrompt": message.text}
        if called is None:
            sent = message.raw.get("message") if message.line else None
            content = sent if isinstance(sent, dict) else to_builtins(message.message)
            origin = {} if message.origin is None else {"origin": to_builtins(message.origin)}
            self._user(content, uuid, permissionMode=self.session.mode, **origin)
            return
        name, arguments, text = called
        call = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
        if arguments:
            call += f"\n<command-args>{arguments}</command-args>"
        self._user({"role": "user", "content": call}, uuid)
        self._user({"role": "user", "content": [{"type": "text", "text": text}]}, isMeta=True)

    def told(self, message: wire.UserMessage, tool_use_id: str = "", **fields: Any) -> None:
        """Keep what the model reads in the user's place, such as the result of a tool."""
        source = self._tool_uses.get(tool_use_id)
        if source is not None:
            self._leaf = source
            fields |= {"sourceToolAssistantUUID": source}
        if message.tool_use_result is not None and self.agent is None:
            fields = {"toolUseResult": message.tool_use_result, **fields}
        self._user(to_builtins(message.message), message.uuid, **fields)

    def command(self, name: str, arguments: str, *, is_new: bool = False) -> None:
        """Record a call of one of the CLI's own commands."""
        spaces = "\n" + " " * 12
        called = (
            f"<command-name>/{name}</command-name>{spaces}<command-message>{name}"
            f"</command-message>{spaces}<command-args>{arguments}</command-args>"
        )
        head = {"type": "user"} if is_new else {"type": "user", "promptId": self.session.prompt_id}
        self._chain({**head, "message": {"role": "user", "content": CAVEAT}, "isMeta": True})
        self._chain({**head, "message": {"role": "user", "content": called}})

    def refuse(self, uuid: str, text: str) -> None:
        """Keep that a hook blocked a prompt, and not the prompt."""
        self._last_prompt = {}
        fields = {"isMeta": False, "level": "warning", "preventContinuation": True}
        self.system("informational", uuid, content=text, **fields)

    # --- the model's side ------------------------------------------------------------------------

    def said(self, message: wire.AssistantMessage) -> None:
        """Keep a part of the model's message; it is written when the message is complete."""
        blocks = message.message.content
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, wire.ToolUseBlock):
                self._tool_uses[block.id] = message.uuid or ""
        self._parts.append({"message": to_builtins(message.message), "uuid": message.uuid})

    def complete(self, stop_reason: str, usage: wire.Usage) -> None:
        """Write the message: each part has the reason of its end, and its whole use of tokens."""
        parts, self._parts = self._parts, []
        whole = {"stop_reason": stop_reason, "usage": to_builtins(usage), "stop_details": None}
        for part in parts:
            message = {**part["message"], **whole}
            message.pop("context_management", None)
            self._chain({"type": "assistant", "message": message}, part["uuid"])

    def failed(self, message: wire.AssistantMessage) -> None:
        """Keep an error of the API in place of a message."""
        fields = {
            "requestId": message.request_id,
            "error": message.error,
            "isApiErrorMessage": True,
            "apiErrorStatus": message.api_error_status,
            "apiErrorType": message.api_error_type,
        }
        entry = {"type": "assistant", "message": to_builtins(message.message), **fields}
        self._chain(entry, message.uuid)

    # --- other lines -----------------------------------------------------------------------------

    def system(self, subtype: str, uuid: str | None = None, **fields: Any) -> None:
        """Keep a message of the CLI itself."""
        self._chain({"type": "system", "subtype": subtype, **fields}, uuid)

    def compact(self, uuid: str, metadata: Entry) -> str | None:
        """Keep that a summary replaces everything so far; return the last entry before it."""
        logical, self._leaf = self._leaf, None
        self.system(
            "compact_boundary",
            uuid,
            logicalParentUuid=logical,
            content="Conversation compacted",
            isMeta=False,
            level="info",
            compactMetadata=metadata,
        )
        return logical

    def rename(self, title: str) -> None:
        """Keep the title of the session."""
        self._line("custom-title", customTitle=title)

    def forget(self) -> None:
        """Begin the transcript of a new conversation."""
        self._leaf, self._copied, self._last_prompt = None, [], None

    def close(self) -> None:
        """Keep the last prompt and the costs."""
        session = self.session
        if self._last_prompt is None:
            return
        self._line("last-prompt", **self._last_prompt, leafUuid=self._leaf)
        self._line(
            "cost-state",
            totalCostUSD=session.cost,
            totalDuration=int((time.time() - self._started) * 1000),
            startTime=int(self._started * 1000),
            modelUsage={name: to_builtins(usage) for name, usage in session.spent.items()},
        )

    # --- entries ---------------------------------------------------------------------------------

    def _copy(self) -> None:
        """Write the entries of a fork before its first own one."""
        copied, self._copied = self._copied, []
        if copied:
            self._write(self.path, [{**it, "sessionId": self.session.id} for it in copied])

    def _user(self, message: Any, uuid: str | None = None, **fields: Any) -> None:
        entry = {"promptId": self.session.prompt_id, "type": "user", "message": message}
        self._chain({**entry, **fields}, uuid)

    def _chain(self, entry: Entry, uuid: str | None = None) -> None:
        session, agent = self.session, self.agent
        uuid = uuid or new_uuid()
        whole = {
            "parentUuid": self._leaf,
            "isSidechain": agent is not None,
            **({} if agent is None else {"agentId": agent.id}),
            **entry,
            "uuid": uuid,
            "timestamp": timestamp(),
            "userType": "external",
            "entrypoint": session.env.get("CLAUDE_CODE_ENTRYPOINT") or "sdk-cli",
            "cwd": session.cwd,
            "sessionId": session.id,
            "version": session.persona.version,
            "gitBranch": session.branch,
        }
        self._leaf = uuid
        self._write(self.path, [whole])

    def _line(self, kind: str, **fields: Any) -> None:
        self._write(self.path, [{"type": kind, **fields, "sessionId": self.session.id}])
