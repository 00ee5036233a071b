"""Who answers what the CLI asks: permissions, hooks, tools, elicitation, dialogs.

What nobody answers, and what whoever answers fails at, is refused: for whatever a person would have
to allow, the answer is then no.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, get_args

from ..errors import OptionsError
from ..hooks import Hooks
from ..launch import initialize_request
from ..options import Options, check_agents
from ..people import ASK_TOOL, PLAN_TOOL, AnswerForm, Decider, Inbox, People, form_for
from ..policy import Explanation, Policy, ToolFate, explain
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
    UnknownRequest,
)
from .link import Link
from .mcp_servers import Servers

if TYPE_CHECKING:
    from .session import Session

__all__ = ["Desk", "explain_options", "refusal"]

log: logging.Logger = logging.getLogger("claudewire.session")

NOT_SERVED = "The application could not answer this request, so the answer is no."

_numbers = count(1)


class Desk:
    """Answers the requests of one session.

    Args:
        options: who is to be asked.
        session: gives the session, as long as there is one.

    Raises:
        OptionsError: a handler is given that could never be called, or cannot be.
    """

    def __init__(self, options: Options, session: Callable[[], Session | None]) -> None:
        _check_reachable(options)
        _check_form(options.answer_form)
        self.inbox: Inbox = options.inbox or Inbox()
        self.name: str = f"session-{next(_numbers)}"
        self._options = options
        self._session = session
        self._hooks = Hooks.of(options.hooks or {})
        self._people = Decider(
            _people(options, self.inbox),
            session=self.name,
            conversation=self._conversation,
            cwd=None if options.cwd is None else str(options.cwd),
            capabilities=self._capabilities,
            form=self._form,
        )
        self._link: Link | None = None
        self.servers: Servers = Servers(options, session)
        self._services: dict[type[Any], Callable[[Request], Awaitable[Any]]] = {
            CanUseTool: self._people.decide,
            Elicitation: self._people.elicit,
            RequestUserDialog: self._people.dialog,
            HookCallback: self._serve_hook,
            McpMessage: self._serve_message,
        }

    def _conversation(self) -> str | None:
        session = self._session()
        return None if session is None else session.session_id

    def _capabilities(self) -> tuple[str, ...]:
        session = self._session()
        init = None if session is None else session.init_message
        return tuple(init.capabilities or ()) if init is not None else ()

    def _form(self) -> AnswerForm:
        """How answers to questions are written to this CLI."""
        wished, dialect = self._options.answer_form, self._options.dialect
        if dialect == AUTO:
            heard = MODERN if self._link is None else self._link.connection.their_dialect
            dialect = heard.name
        return wished or form_for(dialect)

    # --- opening ---------------------------------------------------------------------------------

    def open(self, options: Options, link: Link) -> Initialize:
        """Make ready to serve over a link; give the request that opens the conversation."""
        self._link = link
        names = self.servers.open(link)
        return initialize_request(options, hooks=self._hooks.config(), sdk_mcp_servers=names)

    async def restore(self) -> None:
        """Tell a CLI what another one before it was told while it ran."""
        await self.servers.restore()

    def check(self, info: InitializeResult | None) -> None:
        """See whether the CLI can do what was asked of it.

        Raises:
            CLIError: it cannot.
        """
        self._hooks.check(info)
        check_agents(self._options.agents, info)

    # --- serving ---------------------------------------------------------------------------------

    async def serve(self, request: Request) -> Any:
        """Give the answer to a request, or its body."""
        service = self._services.get(type(request.body))
        if service is None:
            log.warning("Nobody answers %s requests; this one is refused", _name(request))
            return refusal(request)
        return await service(request)

    async def _serve_hook(self, request: Request) -> Any:
        assert isinstance(request.body, HookCallback)
        return await self._hooks.serve(request.body, self._session())

    async def _serve_message(self, request: Request) -> Any:
        servers = self.servers
        return await servers.serve(request) if servers.is_hosting else refusal(request)

    def refusal(self, request: Request, reason: str | None = None) -> Answer | Failure:
        """Say no to a request; for a reason only if nobody has decided over it yet."""
        if reason is None:
            return refusal(request)
        decided = self._people.withdraw(request.id, reason)
        return refusal(request, reason) if decided is None else Answer(request.id, decided)


def _check_form(form: str | None) -> None:
    known = get_args(AnswerForm)
    if form is not None and form not in known:
        raise OptionsError(f"answer_form cannot be {form!r}; it is one of {', '.join(known)}")


# --- who can be reached --------------------------------------------------------------------------


def explain_options(options: Options) -> Explanation:
    """Say which tools can ever reach a person with these options, and what shadows what."""
    policy = options.policy if isinstance(options.policy, Policy) else None
    explanation = explain(policy, hooks=bool(options.hooks), **_rules(options))
    questions = {it.tool: it for it in _questions(options)}
    tools = tuple(questions.get(it.tool, it) for it in explanation.tools)
    return replace(explanation, tools=tools, notes=(*explanation.notes, *_notes(options)))


def _questions(options: Options) -> Iterator[ToolFate]:
    """Say what becomes of questions: of a policy, only rules that deny them count."""
    deny = options.policy.deny if isinstance(options.policy, Policy) else ()
    for fate in explain(Policy(deny=deny), **_rules(options)).tools:
        if fate.tool in (ASK_TOOL, PLAN_TOOL):
            yield fate


def _rules(options: Options) -> dict[str, Any]:
    """What the CLI decides by."""
    return {
        "allowed_tools": options.allowed_tools,
        "disallowed_tools": options.disallowed_tools,
        "permission_mode": options.permission_mode,
        "tools": options.builtin_tools if isinstance(options.builtin_tools, tuple) else None,
    }


def _has_servers(options: Options) -> bool:
    """Whether there are MCP servers, of which it is not known what they offer."""
    return bool(options.tools or options.mcp_servers or options.mcp_config)


def _notes(options: Options) -> Iterator[str]:
    if options.policy is not None and not isinstance(options.policy, Policy):
        yield "a policy that cannot be explained decides before a person is asked"
    if _has_servers(options):
        yield "about tools of MCP servers the CLI asks each time, unless a rule allows them"
    people = _people(options, Inbox())
    for kind in ("permission", "question", "plan"):
        if not people.can_decide(kind):
            yield f"no handler is registered for {kind}s, so the answer will be no"


def _check_reachable(options: Options) -> None:
    """Refuse a handler that would never be called: whoever gives one believes to be in control."""
    if options.accept_shadowed:
        return
    reasons = [_why_no_policy(options), _why_no_permission(options), *_why_no_question(options)]
    for reason in filter(None, reasons):
        raise OptionsError(f"{reason}. Say accept_shadowed=True if that is meant")


def _why_no_policy(options: Options) -> str | None:
    """Say why the policy would never be asked; None if it would, or if there is none."""
    if options.policy is None or options.on_permission is not None:
        return None
    given = "allow, ask and deny" if options.allow or options.ask or options.deny else "policy"
    if options.permission_prompts == "none":
        return f"{given} would never be asked: permission_prompts is none"
    if options.permission_mode in ("dontAsk", "bypassPermissions"):
        return (
            f"{given} would never be asked: in the mode {options.permission_mode} the CLI decides "
            "by its own rules, which are allowed_tools and disallowed_tools"
        )
    return None


def _why_no_permission(options: Options) -> str | None:
    if options.on_permission is None:
        return None
    if options.permission_prompts == "none":
        return "A permission handler would never be called: permission_prompts is none"
    policy = options.policy if isinstance(options.policy, Policy) else None
    rules = _rules(options)
    if _has_servers(options):
        rules["tools"] = None  # there may be something to ask about
    return explain(policy, **rules).unreachable


def _why_no_question(options: Options) -> Iterator[str]:
    fates = {it.tool: it for it in _questions(options)}
    for name, tool in (("on_question", ASK_TOOL), ("on_plan", PLAN_TOOL)):
        if getattr(options, name) is None:
            continue
        if tool not in fates:
            yield f"{name} would never be called: there is no {tool} among the tools"
        elif fates[tool].reaches == "never":
            yield f"{name} would never be called: {fates[tool].why}"


def _people(options: Options, inbox: Inbox) -> People:
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
    )


def refusal(request: Request, reason: str = NOT_SERVED) -> Answer | Failure:
    """Say no to a request, in the way that suits its kind."""
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
    return Failure(request.id, f"{_name(request)} is not supported by this host")


def _name(request: Request) -> str:
    body = request.body
    if isinstance(body, UnknownRequest):
        return str(body.raw.get("subtype"))
    return str(type(body).__struct_config__.tag)
