"""Answering the CLI's requests: permissions, hooks, tools, elicitation, dialogs.

A request that no handler is registered for is refused, and so is one whose handler fails: for
whatever a person would have to allow, the answer is then no.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property, partial
from itertools import count
from typing import TYPE_CHECKING, Any

from ..launch import initialize_request
from ..options import Options, given_options
from ..wire import (
    AUTO,
    MODERN,
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
from .log import log
from .mcp_servers import Servers
from .pending_request import name_of

if TYPE_CHECKING:
    from ..hooks import Hooks
    from ..people import AnswerForm, Decider, Inbox, People
    from .core import Core
    from .session import Session

__all__ = ["RequestHandlers", "people_of", "refusal", "would_not_ask"]

NOT_SERVED = "The application could not answer this request, so the answer is no."

_FOR_PEOPLE = frozenset({CanUseTool, Elicitation, RequestUserDialog})

_numbers = count(1)


class RequestHandlers:
    """The application's handlers, hooks and tools, which answer the requests of one CLI.

    Args:
        core: the session's state, with the options.
        session: returns the session, as long as there is one.

    Raises:
        OptionsError: a handler is given that could never be called, or cannot be.
    """

    def __init__(self, core: Core, session: Callable[[], Session | None]) -> None:
        options = core.options
        _check_reachable(options)
        self.name: str = options.name or f"session-{next(_numbers)}"
        self.is_named: bool = options.name is not None
        """Whether the application has given it this name."""
        self.servers: Servers = Servers(core, session)
        self._core = core
        self._session = session
        self._hooks = _hooks_of(options)

    # The packages `people` and `hooks` are loaded when a session has a use for them: most of the
    # time that it takes to open one is spent on importing.

    @cached_property
    def inbox(self) -> Inbox:
        """Where the requests of this session wait."""
        from ..people import Inbox

        return self._core.options.inbox or Inbox()

    @cached_property
    def _people(self) -> Decider:
        from ..people import Decider

        core = self._core
        return Decider(
            people_of(core.options, self.inbox),
            session=self.name,
            conversation=lambda: core.session_id,
            cwd=None if core.options.cwd is None else str(core.options.cwd),
            capabilities=partial(_capabilities, core),
            form=partial(_form, core),
            reply=partial(_reply, core),
        )

    def rename(self, name: str) -> None:
        """Give the session another name."""
        self.name = name
        if "_people" in vars(self):
            self._people.session = name
        self.is_named = True
        if self._core.link is not None:
            self._core.link.rename(name)

    # --- opening ---------------------------------------------------------------------------------

    def open(self, options: Options, older: Collection[str] = ()) -> Initialize:
        """Connect to the CLI; return the request that opens the conversation.

        Args:
            options: what the CLI is asked for.
            older: the options that it reads from the command line instead.
        """
        # The decider of a CLI before this one may belong to another event loop.
        vars(self).pop("_people", None)
        names = self.servers.open()
        hooks = {} if self._hooks is None else self._hooks.config()
        return initialize_request(options, hooks=hooks, sdk_mcp_servers=names, older=older)

    def check(self, info: InitializeResult) -> None:
        """Check that the CLI has taken the hooks and agents.

        Raises:
            CLIError: it has not.
        """
        if self._hooks is not None:
            self._hooks.check(info)
        if self._core.options.agents:
            from ..options import check_agents

            check_agents(self._core.options.agents, info)

    # --- serving ---------------------------------------------------------------------------------

    def serve(self, request: Request) -> Any:
        """Return the answer to a request, or its body; or a coroutine function that returns it."""
        kind = type(request.body)
        if kind in _FOR_PEOPLE:
            return self._people.begin(request)
        if isinstance(request.body, HookCallback) and self._hooks is not None:
            return partial(self._hooks.serve, request.body, self._session())
        if kind is McpMessage and self.servers.is_hosting:
            return partial(self.servers.serve, request)
        log.warning("No handler is registered for %s; it is refused", name_of(request.body))
        return refusal(request)

    def withdrawn(self, id: str) -> None:
        """Note that the CLI no longer wants the answer to a request."""
        if "_people" in vars(self):
            self._people.forget(id)

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Refuse a request; with a reason, only if it is not decided yet."""
        if reason is None:
            return refusal(request)
        decided = self._people.withdraw(request.id, reason)
        return refusal(request, reason) if decided is None else Answer(request.id, decided)


# Functions, and not methods: the handlers have the decider, which is not to have them, so that they
# are freed with the session, and not by Python's garbage collector.


def _reply(core: Core, request: Request, answer: Any) -> None:
    if core.link is not None:
        core.link.reply(request, answer)


def _capabilities(core: Core) -> tuple[str, ...]:
    init = core.init_message
    return tuple(init.capabilities or ()) if init is not None else ()


def _form(core: Core) -> AnswerForm:
    """How answers to questions are written to this CLI."""
    from ..people import form_for

    options, link = core.options, core.link
    dialect = options.dialect
    if dialect == AUTO:
        dialect = (MODERN if link is None else link.connection.their_dialect).name
    return options.answer_form or form_for(dialect)


_DECIDERS = frozenset({"policy", "allow", "ask", "deny", "on_permission", "on_question", "on_plan"})
"""Options that decide about what the CLI asks."""
_SHADOWING = frozenset(
    {
        *("policy", "allow", "ask", "deny", "allowed_tools", "disallowed_tools", "builtin_tools"),
        *("permission_mode", "permission_prompts", "settings", "managed_settings"),
    }
)
"""Options that may keep the CLI from asking, or decide before a handler is called."""


def _check_reachable(options: Options) -> None:
    given = {name for name, _ in given_options(options)}
    if options.accept_shadowed or not (given & _DECIDERS and given & _SHADOWING):
        return
    # Not before it is needed: it loads the grammar of rules.
    from .reachability import check_reachable

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


def _hooks_of(options: Options) -> Hooks | None:
    if not options.hooks:
        return None
    from ..hooks import Hooks

    return Hooks.of(options.hooks)


def people_of(options: Options, inbox: Inbox) -> People:
    """Return who decides, as the options say."""
    from ..people import People

    return People(
        on_permission=options.on_permission,
        on_question=options.on_question,
        on_plan=options.on_plan,
        on_elicitation=options.on_elicitation,
        on_dialog=options.on_dialog,
        person=options.person,
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
