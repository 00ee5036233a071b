"""Answering the CLI's requests: permissions, hooks, tools, elicitation, dialogs.

A request that no handler is registered for is refused, and so is one whose handler fails: for
whatever a person would have to allow, the answer is then no.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Any

from ..launch import initialize_request
from ..options import Options, check_agents, given_options
from ..wire import (
    Answer,
    CanUseTool,
    DialogCancelled,
    Elicitation,
    ElicitationResult,
    Failure,
    HookCallback,
    Initialize,
    InitializeResult,
    McpMessage,
    McpResponse,
    PermissionResultDeny,
    Request,
    RequestUserDialog,
)
from .link import name_of
from .log import log
from .mcp_servers import Servers

if TYPE_CHECKING:
    from ..approvals import ApprovalRouter, Approvers, Inbox
    from ..hooks import Hooks
    from .core import Core
    from .session import Session

NOT_SERVED = "The application could not answer this request, so the answer is no."

_numbers = count(1)


class RequestHandlers:
    """The application's handlers, hooks and tools, which answer the requests of the CLI."""

    def __init__(self, core: Core, session: Callable[[], Session | None]) -> None:
        options = core.options
        _check_reachable(options)
        self.name: str = options.name or f"session-{next(_numbers)}"
        self.is_named: bool = options.name is not None
        """Whether the application has given the session this name."""
        self.servers: Servers = Servers(core, session)
        self._core = core
        self._session = session
        self._hooks: Hooks | None = None
        if options.hooks:
            from ..hooks import Hooks

            self._hooks = Hooks.of(options.hooks)

    # The packages `approvals` and `hooks` are loaded when a session has a use for them: most of the
    # time that it takes to open one is spent on importing.

    @cached_property
    def inbox(self) -> Inbox:
        """The pending requests of this session, perhaps with those of others."""
        from ..approvals import Inbox

        return self._core.options.inbox or Inbox()

    @cached_property
    def _router(self) -> ApprovalRouter:
        from ..approvals import ApprovalRouter

        core = self._core
        return ApprovalRouter(
            approvers_of(core.options, self.inbox),
            session=self.name,
            conversation=lambda: core.session_id,
            cwd=None if core.options.cwd is None else str(core.options.cwd),
            # Not methods: the router must not refer to the handlers, which refer to it.
            capabilities=lambda: tuple(
                (core.init_message and core.init_message.capabilities) or ()
            ),
            form=lambda: core.options.answer_form or "joined",
        )

    def rename(self, name: str) -> None:
        """Give the session another name."""
        self.name = name
        if "_router" in vars(self):
            self._router.session = name
        self.is_named = True
        if self._core.link is not None:
            self._core.link.rename(name)

    # --- opening ---------------------------------------------------------------------------------

    def open(self, options: Options) -> Initialize:
        """Connect to the CLI; return the request that opens the conversation."""
        # The router of a CLI before this one may belong to another event loop.
        vars(self).pop("_router", None)
        names = self.servers.open()
        hooks = {} if self._hooks is None else self._hooks.config()
        return initialize_request(options, hooks=hooks, sdk_mcp_servers=names)

    def check(self, info: InitializeResult) -> None:
        """Check that the CLI has taken the hooks and agents."""
        if self._hooks is not None:
            self._hooks.check(info)
        if self._core.options.agents:
            check_agents(self._core.options.agents, info)

    # --- serving ---------------------------------------------------------------------------------

    def at_once(self, request: Request) -> Any:
        """Return the answer of the policy to a request, or a refusal; None to call `answer`."""
        body = request.body
        if isinstance(body, CanUseTool):
            return self._router.policy_answer(request)
        if isinstance(body, Elicitation | RequestUserDialog):
            return None
        if isinstance(body, McpMessage) or (isinstance(body, HookCallback) and self._hooks):
            return None
        log.warning("No handler is registered for %s; it is refused", name_of(body))
        return refusal(request)

    async def answer(self, request: Request, early: Callable[[Any], object]) -> Any:
        """Return the answer to a request, or its body."""
        if isinstance(request.body, HookCallback) and self._hooks is not None:
            return await self._hooks.serve(request.body, self._session())
        if isinstance(request.body, McpMessage):
            return await self.servers.serve(request)
        return await self._router.decide(request, early)

    def withdrawn(self, id: str) -> None:
        """Note that no answer to a request is needed any longer."""
        if "_router" in vars(self):
            self._router.withdraw(id)

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Refuse a request; with a reason, only if it is not decided yet."""
        if reason is None:
            return refusal(request)
        decided = self._router.withdraw(request.id, reason)
        return refusal(request, reason) if decided is None else Answer(request.id, decided)


_SHADOWING = frozenset(
    {
        *("policy", "allow", "ask", "deny", "allowed_tools", "disallowed_tools", "builtin_tools"),
        *("permission_mode", "permission_prompts", "settings", "managed_settings"),
    }
)
"""Options that may keep the CLI from asking, or decide before a handler is called."""


def _check_reachable(options: Options) -> None:
    deciders = (options.policy, options.on_permission, options.on_question, options.on_plan)
    if options.accept_shadowed or all(it is None for it in deciders):
        return
    if _SHADOWING.isdisjoint(name for name, _ in given_options(options)):
        return
    from .reachability import check_reachable  # it loads the grammar of rules

    check_reachable(options)


def would_not_ask(options: Options, mode: str | None) -> bool:
    """Whether the CLI has taken a mode by itself in which it allows tools and asks nobody.

    It takes it from its settings files; 2.1.287 starts in `auto` where they name none.
    """
    if mode not in ("auto", "bypassPermissions") or options.accept_shadowed:
        return False
    if options.permission_prompts == "none":
        return False
    from .reachability import mode_of

    return mode_of(options) is None


def approvers_of(options: Options, inbox: Inbox) -> Approvers:
    """Return who decides, as the options say."""
    from ..approvals import Approvers

    return Approvers(
        on_permission=options.on_permission,
        on_question=options.on_question,
        on_plan=options.on_plan,
        on_elicitation=options.on_elicitation,
        on_dialog=options.on_dialog,
        approver=options.approver,
        policy=options.policy,
        inbox=inbox,
        deadline=options.decide_within,
        tell_errors=options.tell_errors,
        audit=options.audit,
        audit_contents=options.audit_contents,
    )


def refusal(request: Request, reason: str = NOT_SERVED) -> Answer | Failure:
    """Refuse a request, in the way that its kind demands."""
    body = request.body
    if isinstance(body, CanUseTool):
        return Answer(request.id, PermissionResultDeny(message=reason))
    if isinstance(body, Elicitation):
        return Answer(request.id, ElicitationResult("decline"))
    if isinstance(body, RequestUserDialog):
        return Answer(request.id, DialogCancelled())
    if isinstance(body, McpMessage) and "id" in body.message:
        error = {"code": -32603, "message": reason}
        response = {"jsonrpc": "2.0", "id": body.message["id"], "error": error}
        return Answer(request.id, McpResponse(response))
    return Failure(request.id, f"{name_of(request.body)} is not supported by this host")
