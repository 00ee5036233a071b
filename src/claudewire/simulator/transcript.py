"""The transcript of a conversation: the lines that the CLI keeps of it, in the real CLI's form.

It makes entries and chains them; the engine has them written. Entries that hold what the real CLI
tells its model besides the conversation (its system prompt, lists of tools and skills, the requests
to the API) do not exist here: the simulated model is told nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from ..wire import (
    APIMessage,
    AssistantMessage,
    MessageParam,
    ToolUseBlock,
    Usage,
    UserMessage,
)
from .session import SimulatedSession, new_uuid, timestamp

__all__ = ["ABOUT_AGENT", "AgentRun", "Entry", "Transcript"]

Entry = dict[str, Any]
Write = Callable[[str, list[Entry]], None]

ABOUT_AGENT = ".meta.json"
"""With this ends the name of the file that describes a subagent."""

_OLD_KEYS = """
parentUuid isSidechain userType cwd sessionId version gitBranch type message uuid timestamp
permissionMode toolUseResult isApiErrorMessage agentId
"""
_OLD = frozenset(_OLD_KEYS.split())
"""What older CLIs keep of an entry. They keep neither totals nor a queue."""


class AgentRun(NamedTuple):
    """One run of a subagent, whose transcript is a file beside that of the session."""

    id: str
    kind: str
    description: str
    tool_use_id: str
    in_background: bool = False


class Transcript:
    """What is kept of the main conversation, or of a subagent's.

    Args:
        session: the session.
        write: takes entries for a file.
        agent: the subagent; None for the main conversation.
    """

    def __init__(
        self, session: SimulatedSession, write: Write, agent: AgentRun | None = None
    ) -> None:
        self.session = session
        self.agent = agent
        self._write = write
        self._leaf: str | None = None
        self._message: list[Entry] = []
        self._tool_uses: dict[str, str] = {}
        self._tools: list[str] = []
        self._main: Transcript | None = None
        self._aside: Entry = {} if agent is None else {"attributionAgent": agent.kind}
        self._last_prompt: Entry | None = None
        self._started = time.time()
        self._restart()

    def _restart(self) -> None:
        stored = self.session.stored if self.agent is None else None
        self._leaf = None if stored is None else stored.leaf
        self._copied: list[Entry] = [] if stored is None else stored.to_copy
        self._position = (0, 0) if stored is None else stored.position

    @property
    def path(self) -> str:
        """The file."""
        main = self.session.transcript
        if self.agent is None:
            return main
        return f"{main.removesuffix('.jsonl')}/subagents/agent-{self.agent.id}.jsonl"

    def of_agent(self, agent: AgentRun) -> Transcript:
        """Begin the transcript of a subagent, and describe it in a file of its own."""
        child = Transcript(self.session, self._write, agent)
        child._main = self
        about = {
            "agentType": agent.kind,
            "isBuiltIn": agent.kind not in self.session.agents,
            **({"launchedWithDefaults": True} if agent.in_background else {}),
            "description": agent.description,
            "toolUseId": agent.tool_use_id,
            "spawnDepth": 1,
            "requestShape": "background" if agent.in_background else "foreground",
            "requestNonInteractive": True,
            "pickedEffortModel": self.session.model,
        }
        self._write(child.path.replace(".jsonl", ABOUT_AGENT), [{**about, "finished": True}])
        return child

    # --- the user's side -------------------------------------------------------------------------

    def queue(self, operation: str, message: UserMessage | None = None) -> None:
        """Note that a prompt has come, or is taken up."""
        content = message.message.content if message is not None else None
        fields = {"content": content} if isinstance(content, str) else {}
        line = {"type": "queue-operation", "operation": operation, "timestamp": timestamp()}
        self._line({**line, "sessionId": self.session.id, **fields})

    def prompt(
        self,
        message: UserMessage,
        *,
        is_note: bool = False,
        called: tuple[str, str] | None = None,
        text: str = "",
        uuid: str | None = None,
    ) -> None:
        """Keep a prompt.

        Args:
            message: the prompt.
            is_note: whether it asks for no answer.
            called: the command that it calls, and its arguments.
            text: what the command says.
            uuid: its uuid, if it came without one.
        """
        uuid = message.uuid or uuid or new_uuid()
        if called is not None:
            self._called(message, uuid, *called, text)
            return
        origin = msgspec.to_builtins(message.origin) if message.origin is not None else None
        kind = origin["kind"] if isinstance(origin, dict) else "sdk"
        fields: Entry = {"permissionMode": self.session.mode}
        if origin is not None:
            fields["origin"] = origin
        fields["promptSource"] = "sdk" if kind in ("sdk", "human") else "system"
        if is_note:
            fields["queueTranscriptOnly"] = True
        else:
            fields |= self._counted(kind)
        if message.uuid is not None:
            fields["turnAttributionKey"] = message.uuid
        if kind == "task-notification":
            fields["queueSkipAttachments"] = True
        else:
            self._last_prompt = {"lastPrompt": message.text}
        self._copy()
        self._user(_as_sent(message), uuid, **fields)

    def _called(
        self, message: UserMessage, uuid: str, name: str, arguments: str, text: str
    ) -> None:
        self._last_prompt = {"lastPrompt": message.text}
        self._copy()
        call = f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>"
        if arguments:
            call += f"\n<command-args>{arguments}</command-args>"
        whole = {"role": "user", "content": call}
        self._user(whole, uuid, **self._counted("sdk"))
        body = {"role": "user", "content": [{"type": "text", "text": text}]}
        self._user(body, new_uuid(), isMeta=True, turnCompanion=True)
        self.attach("command_permissions", allowedTools=[])

    def refuse(self, uuid: str, text: str, reason: str) -> None:
        """Keep that a hook has blocked a prompt, and not the prompt."""
        self._last_prompt = {}
        ending = {"kind": "blocked_by_hook", "reason": reason}
        self.system(
            "informational",
            uuid,
            content=text,
            isMeta=False,
            level="warning",
            preventContinuation=True,
            promptSubmitEnding={"promptKept": False, "ending": ending},
        )

    def _counted(self, kind: str) -> Entry:
        prompts, turns = self._position
        self._position = (prompts + 1, 1) if kind == "human" else (prompts, turns + 1)
        return {"turnOrigin": kind.replace("-", "_"), "turnPosition": self._where}

    @property
    def _where(self) -> Entry:
        prompts, turns = self._position
        return {"promptIndex": prompts, "turnIndex": turns}

    def told(self, message: UserMessage, tool_use_id: str | None = None, **fields: Any) -> None:
        """Keep what the model is told in the user's place, such as the result of a tool."""
        source = self._tool_uses.get(tool_use_id or "")
        if source is not None:
            self._leaf = source
            permission = {k: fields.pop(k) for k in ("permissionDecision",) if k in fields}
            fields |= {"sourceToolAssistantUUID": source, **permission}
        if fields.get("isCompactSummary"):
            fields["turnPosition"] = self._where
        if message.tool_use_result is not None and self.agent is None:
            fields = {"toolUseResult": message.tool_use_result, **fields}
        self._user(_plain(message.message), message.uuid or new_uuid(), **fields)

    def _user(self, message: Any, uuid: str, **fields: Any) -> None:
        head = {"promptId": self.session.prompt_id, **self._of_agent()}
        self._chain({**head, "type": "user", "message": message}, uuid, fields)

    # --- the model's side ------------------------------------------------------------------------

    def said(self, message: AssistantMessage, **fields: Any) -> None:
        """Keep a part of what the model says; it is written when the message is complete."""
        blocks = message.message.content
        for block in blocks if isinstance(blocks, list) else ():
            if isinstance(block, ToolUseBlock):
                self._tool_uses[block.id] = message.uuid or ""
                fields["toolInputStreamMs"] = 0
        if message.thinking_duration_ms is not None:
            fields |= {"thinkingDurationMs": message.thinking_duration_ms}
            fields |= {"thinkingDisplay": message.thinking_display}
        fields |= {"apiBlockIndex": len(self._message), **self._asked()}
        kept = {**self._of_agent(), "message": _plain(message.message), **fields}
        self._message.append({**kept, "type": "assistant", "uuid": message.uuid})

    def _asked(self) -> Entry:
        return {"requestedModel": self.session.model, "promptCacheRequested": "5m", **self._aside}

    def complete(self, stop_reason: str, usage: Usage) -> None:
        """Write the message: all its parts say why it ended, and what it cost altogether."""
        parts, self._message = self._message, []
        self._note_tools(parts)
        whole = {"stop_reason": stop_reason, "usage": msgspec.to_builtins(usage)}
        for part in parts:
            message = {**part.pop("message"), **whole, "stop_details": None}
            message.pop("context_management", None)
            effort = {"effort": self.session.effort, "perTurnEffort": self.session.effort}
            part = {**part, "message": message}
            self._chain(part, part.pop("uuid"), {**effort, "madeBy": "model"})
        if self.agent is None:
            self._aside = {}

    def failed(self, message: AssistantMessage) -> None:
        """Keep an error of the API in place of a message."""
        kept = {"message": _plain(message.message), "requestId": message.request_id}
        fields = {
            "perTurnEffort": self.session.effort,
            "madeBy": "model",
            "error": message.error,
            "isApiErrorMessage": True,
            "apiErrorStatus": message.api_error_status,
            "apiErrorType": message.api_error_type,
            "failedResponseHadNoToolCall": True,
        }
        self._chain({"type": "assistant", **kept}, message.uuid or new_uuid(), fields)

    def used_server(self, server: str, tool: str) -> None:
        """Note on what the model says next that it is about a result of an MCP server."""
        self._aside = {**self._aside, "attributionMcpServer": server, "attributionMcpTool": tool}

    def _note_tools(self, parts: Iterable[Entry]) -> None:
        blocks = [block for part in parts for block in part["message"]["content"]]
        used = [block["name"] for block in blocks if block.get("type") == "tool_use"]
        known = ("Agent", "StructuredOutput", *self.session.tools())
        (self._main or self)._add_tools([name for name in used if name in known])

    def _add_tools(self, used: list[str]) -> None:
        """Note which tools the session has used, with those of its subagents."""
        known, self._tools = self._tools, list(dict.fromkeys([*self._tools, *used]))
        if len(known) < len(self._tools):
            self._line({"type": "tools-used", "tools": self._tools, **self._id})

    # --- what else happens -----------------------------------------------------------------------

    def system(self, subtype: str, uuid: str | None = None, **fields: Any) -> None:
        """Keep a message of the CLI itself."""
        self._chain({"type": "system", "subtype": subtype, **fields}, uuid or new_uuid(), {})

    def attach(self, kind: str, *, told: str | None = None, **fields: Any) -> None:
        """Keep something that belongs to the message before; `told` is what the model reads."""
        text = f"<system-reminder>\n{told}\n</system-reminder>"
        more = {"rendered": [{"content": text}], "renderedRole": "system"} if told else {}
        attachment = {"attachment": {"type": kind, **fields}, "type": "attachment"}
        self._chain(attachment, new_uuid(), more)

    def command(self, name: str, arguments: str, *, is_new: bool = False) -> None:
        """Keep that a command of the CLI itself was called."""
        head = {} if is_new else {"promptId": self.session.prompt_id}
        spaces = "\n" + " " * 12
        called = (
            f"<command-name>/{name}</command-name>{spaces}<command-message>{name}"
            f"</command-message>{spaces}<command-args>{arguments}</command-args>"
        )
        for text, fields in ((CAVEAT, {"isMeta": True}), (called, {})):
            message = {"role": "user", "content": text}
            self._chain({**head, "type": "user", "message": message, **fields}, new_uuid(), {})

    def forget(self) -> None:
        """Begin the transcript of a new conversation."""
        self._leaf, self._copied, self._position = None, [], (0, 0)
        self._last_prompt, self._tools = None, []
        self.note("mode", mode="normal")

    def compact(self, uuid: str, metadata: Entry) -> str | None:
        """Keep that all before was replaced by a summary; return the last entry before."""
        logical, self._leaf = self._leaf, None
        self._chain(
            {
                "logicalParentUuid": logical,
                "type": "system",
                "subtype": "compact_boundary",
                "content": "Conversation compacted",
                "isMeta": False,
                "level": "info",
                "compactMetadata": metadata,
            },
            uuid,
            {},
        )
        return logical

    def rename(self, title: str) -> None:
        """Keep the title that the session was given, also in a file of its own."""
        self.note("custom-title", customTitle=title)
        folder = self.path.removesuffix(".jsonl")
        self._write(f"{folder}/custom-title.json", [{"customTitle": title}])

    def loose(self, kind: str, **fields: Any) -> None:
        """Keep a line that does not name the session."""
        self._line({"type": kind, **fields})

    def note(self, kind: str, **fields: Any) -> None:
        """Keep a line that is no part of the conversation."""
        self._line({"type": kind, **fields, **self._id})

    def close(self) -> None:
        """Keep the title, the last prompt, and what was spent."""
        if self.session.title is not None:
            self.note("agent-name", agentName=self.session.title)
        if self._last_prompt is not None:
            self.note("last-prompt", **self._last_prompt, leafUuid=self._leaf)
            self._line({"type": "cost-state", **self._id, **self._costs()})

    def _costs(self) -> Entry:
        durations = ("totalAPIDuration", "totalAPIDurationWithoutRetries", "totalToolDuration")
        session = self.session
        return {
            "totalCostUSD": session.cost,
            **dict.fromkeys(durations, 0),
            "totalLinesAdded": 0,
            "totalLinesRemoved": 0,
            "totalDuration": int((time.time() - self._started) * 1000),
            "startTime": int(self._started * 1000),
            "modelUsage": {name: _spent(usage) for name, usage in session.spent.items()},
            "hasUnknownModelCost": False,
        }

    # --- entries ---------------------------------------------------------------------------------

    @property
    def _id(self) -> Entry:
        return {"sessionId": self.session.id}

    def _of_agent(self) -> Entry:
        return {} if self.agent is None else {"agentId": self.agent.id}

    def _copy(self) -> None:
        """Write the entries of a fork, before its first own one."""
        copied, self._copied = self._copied, []
        if copied:
            self._write(self.path, [{**entry, **self._id} for entry in copied])

    def _chain(self, entry: Entry, uuid: str, fields: Entry) -> None:
        whole = {
            "parentUuid": self._leaf,
            "isSidechain": self.agent is not None,
            **entry,
            "uuid": uuid,
            "timestamp": timestamp(),
            **fields,
            **self.session.circumstances(),
        }
        self._leaf = uuid
        if self.session.persona.keeps == "some":
            whole = {key: value for key, value in whole.items() if key in _OLD}
        self._write(self.path, [whole])

    def _line(self, entry: Entry) -> None:
        if self.session.persona.keeps == "all":
            self._write(self.path, [entry])


CAVEAT = (
    "<local-command-caveat>The command below was run directly in Claude Code, not sent to you as a "
    "request, and its output goes straight to the user. It's recorded here as context for later "
    "messages.</local-command-caveat>"
)


def _plain(message: APIMessage | MessageParam) -> Any:
    return msgspec.to_builtins(message)


def _as_sent(prompt: UserMessage) -> Any:
    """A prompt as it came: with what our types do not know in it."""
    sent = prompt.raw.get("message") if prompt.line else None
    return sent if isinstance(sent, dict) else _plain(prompt.message)


def _spent(usage: Any) -> Entry:
    """What a model has used, without what is known of the model."""
    spent: Entry = msgspec.to_builtins(usage)
    about = ("contextWindow", "maxOutputTokens", "canonicalModel", "provider", "costBasis")
    return {key: value for key, value in spent.items() if key not in about}
