"""Exceptions of application code: no turn and no session waits without limit.

`PLACES` has every place where a session calls code that is not its own. At each of them every kind
of exception is raised, on asyncio, on trio and in a blocking session. Then the session goes on, or
it fails with an error whose cause is that exception; and it closes.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, NamedTuple

import annotated_types
import anyio
import anyio.lowlevel
import pytest
from msgspec import structs
from tests.helpers.peer import SOON, Through
from tests.helpers.sessions import QUICK

from claudewire import Error, Hook, Price, Session, Tool, sync
from claudewire.approvals import PermissionRequest, PermissionResult
from claudewire.errors import SessionFailed, TurnError
from claudewire.options import Options, OptionsWithoutOutput
from claudewire.policy import Decision
from claudewire.sync.portal import portal
from claudewire.testing import Chat, SimulatedCLI
from claudewire.transport import Transport
from claudewire.wire import RequestUserDialog

FORM = {"type": "object", "properties": {"name": {"type": "string"}}}
QUESTION = {"question": "Which?", "header": "Which", "options": [{"label": "this"}], "id": "1"}


async def take_part(chat: Chat) -> None:
    """Let the application take part in the way that the prompt names."""
    await chat.say("I begin.")
    chat.engine.warn("a warning")
    match chat.text:
        case "on_question":
            await chat.ask([QUESTION])
        case "on_plan":
            await chat.plan("Do it.")
        case "on_elicitation":
            await chat.elicit("server", "Who are you?", FORM)
        case "on_dialog":
            await chat.engine.ask(RequestUserDialog("trust", {}))
        case "tools":
            await chat.call("claudewire", "work", {"what": {"name": "x"}})
        case _:
            await chat.use("Bash", {"command": "make"})
    chat.output({"name": "x"})


# --- what is raised -------------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this can be said")


class OfItsOwnKind(BaseException):
    pass


KINDS: tuple[type[BaseException], ...] = (
    ValueError,
    Unspeakable,
    SystemExit,
    KeyboardInterrupt,
    GeneratorExit,
    asyncio.CancelledError,
    OfItsOwnKind,
)


class Boom:
    """Raises, whenever it is called."""

    def __init__(self) -> None:
        self.kind: type[BaseException] = ValueError
        self.raised: list[BaseException] = []

    def __call__(self, *_: object, **__: object) -> Any:
        self.raised.append(self.kind("enough"))
        raise self.raised[-1]

    async def later(self, *_: object) -> Any:
        await anyio.lowlevel.checkpoint()
        self()

    def caused(self, error: BaseException) -> bool:
        """Return whether an error is one that this object raised, or was caused by one."""
        links: list[BaseException] = [error]
        while links[-1].__cause__ is not None:
            links.append(links[-1].__cause__)
        return any(it in self.raised for it in links)


# --- where it is raised ---------------------------------------------------------------------------


class Case(NamedTuple):
    """The options and the transport of a session in which something raises."""

    options: dict[str, Any] = {}
    wrap: Callable[[Transport], Transport] = lambda transport: transport


@dataclass(frozen=True)
class Place:
    """A place where the application raises.

    `ends` is what fails there: nothing, the turn, the session, its start, or the session `later`,
    after the reply.
    """

    name: str
    make: Callable[[Boom], Case]
    ends: str = "nothing"

    @property
    def option(self) -> str:
        return self.name.partition(",")[0]


def option(name: str, value: Callable[[Boom], Any], ends: str = "nothing", form: str = "") -> Place:
    label = f"{name}, {form}" if form else name
    return Place(label, lambda boom: Case({name: value(boom)}), ends)


def handlers() -> Iterator[Place]:
    for name in ("permission", "question", "plan", "elicitation", "dialog"):
        yield option(f"on_{name}", lambda boom: boom.later, form="async")
        yield option(f"on_{name}", lambda boom: lambda request: boom(), form="plain")
    yield option("approver", lambda boom: boom.later, form="async")
    yield option("approver", lambda boom: lambda request: _Awaitable(boom), form="awaitable")


class _Awaitable:
    def __init__(self, boom: Boom) -> None:
        self._boom = boom

    def __await__(self) -> Iterator[Any]:
        return iter(self._boom())


def hooks() -> Iterator[Place]:
    for event in ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"):
        yield option("hooks", partial(hook_at, event), form=event)
    yield option("hooks", lambda boom: {"PreToolUse": lambda event: boom()}, form="plain")
    yield option("hooks", lambda boom: {"PreToolUse": lambda event: _Bad(boom)}, form="result")
    yield option("hooks", blocking_hook, form="blocking")


def hook_at(event: str, boom: Boom) -> dict[str, Any]:
    return {event: boom.later}


def blocking_hook(boom: Boom) -> dict[str, Any]:
    return {"PreToolUse": Hook(boom.later, on_failure="block_here", show_error=True)}


class _Bad:
    """Something that cannot even be looked at."""

    def __init__(self, boom: Boom) -> None:
        self._boom = boom

    def __repr__(self) -> str:
        return str(self._boom())

    def __getattr__(self, name: str) -> Any:
        self._boom()


def made(boom: Boom) -> type:
    @dataclass
    class Made:
        name: str

        def __post_init__(self) -> None:
            boom()

    return Made


def checked(boom: Boom) -> type:
    kind = Annotated[str, annotated_types.Predicate(boom)]
    return dataclasses.make_dataclass("Checked", [("name", kind)])


Make = Callable[[Boom], Callable[..., Any]]


def tool(make: Make, form: str, **settings: Any) -> Place:
    return option("tools", lambda boom: [Tool(make(boom), name="work", **settings)], form=form)


def plain_tool(boom: Boom) -> Callable[..., Any]:
    def work(what: dict[str, str]) -> str:
        return str(boom())

    return work


def async_tool(boom: Boom) -> Callable[..., Any]:
    async def work(what: dict[str, str]) -> str:
        return str(await boom.later())

    return work


def converting_tool(boom: Boom) -> Callable[..., Any]:
    return tool_for(made(boom))


def checking_tool(boom: Boom) -> Callable[..., Any]:
    return tool_for(Annotated[dict[str, str], annotated_types.Predicate(boom)])


def tool_for(kind: Any) -> Callable[..., Any]:
    def work(what: Any) -> str:
        raise AssertionError

    work.__annotations__["what"] = kind
    return work


def returning_tool(boom: Boom) -> Callable[..., Any]:
    def work(what: dict[str, str]) -> Any:
        return _Bad(boom)

    return work


TOOLS = (
    tool(plain_tool, "plain"),
    tool(async_tool, "async"),
    tool(async_tool, "with a timeout", timeout=SOON),
    tool(converting_tool, "arguments"),
    tool(checking_tool, "checks"),
    tool(returning_tool, "result"),
)


class Judge:
    def __init__(self, boom: Boom) -> None:
        self._boom = boom

    def decide(self, tool_name: str, input: dict[str, Any], /, *, cwd: Any = None) -> Decision:
        self._boom()
        raise AssertionError


def dear(boom: Boom) -> dict[str, Price]:
    class Dear(Price, frozen=True):
        def of(self, totals: object) -> float:
            return float(boom())

    return {"claude": Dear(1, 1, 1, 1)}


OUTPUTS = (
    option("output", made, "turn", "class"),
    option("output", checked, "turn", "check"),
)


def methods(protocol: type) -> list[str]:
    return [name for name, it in vars(protocol).items() if callable(it) and name[0] != "_"]


class Breaking(Through):
    """A transport of which one method raises: at once, or when the model has said something."""

    def __init__(self, inner: Transport, boom: Boom, method: str) -> None:
        super().__init__(inner)
        self._boom = boom
        self._in_a_turn = method == "receive in a turn"
        if not self._in_a_turn:
            setattr(self, method, boom.later)

    async def receive(self) -> bytes:
        data = await self.inner.receive()
        if self._in_a_turn and b"I begin." in data:
            self._boom()
        return data


def transports() -> Iterator[Place]:
    ends = {"send_eof": "nothing", "aclose": "nothing"}
    for method in (*methods(Transport), "receive in a turn"):
        yield Place(f"transport, {method}", partial(broken, method), ends.get(method, "session"))


def broken(method: str, boom: Boom) -> Case:
    return Case({}, lambda inner: Breaking(inner, boom, method))


PLACES: tuple[Place, ...] = (
    *handlers(),
    *hooks(),
    *TOOLS,
    *OUTPUTS,
    *transports(),
    option("policy", Judge),
    option("audit", lambda boom: boom),
    option("on_stderr", lambda boom: boom),
    option("prices", dear, "later"),
)


# --- the table is complete ------------------------------------------------------------------------


APPLICATION = re.compile("Approver|Callable|Handler|Policy|Hooks|Price")
"""Matches types of options that hold code of the application."""


def test_table_has_every_option_with_application_code() -> None:
    types = OptionsWithoutOutput.__annotations__.items()
    names = {name for name, kind in types if APPLICATION.search(str(kind))} | {"output"}
    assert names == {place.option for place in PLACES} - {"transport"}


# --- the session goes on, or fails ----------------------------------------------------------------


Seen = list[BaseException | None]
"""The error of each prompt, or of the start."""


class Play(NamedTuple):
    """A session in which each of these kinds is raised in turn."""

    place: Place
    boom: Boom
    kinds: Sequence[type[BaseException]]

    def session(self) -> tuple[Options, Transport]:
        self.boom.kind = self.kinds[0]
        case = self.place.make(self.boom)
        allowed = "--allowedTools=mcp__claudewire__work"
        cli = case.wrap(SimulatedCLI(take_part, argv=[allowed]))
        return Options(timeouts=QUICK, accept_shadowed=True, **case.options), cli

    def prompts(self) -> Iterator[str]:
        for kind in self.kinds:
            self.boom.kind = kind
            yield self.place.option


async def play(it: Play) -> Seen:
    options, cli = it.session()
    session = Session(options, transport=cli)
    seen: Seen = []
    with anyio.fail_after(SOON):
        try:
            await session.start()
        except BaseException as error:
            seen.append(error)
        else:
            for prompt in it.prompts():
                seen.append(await error_of(session.ask(prompt)))
        await session.close()
    failed = it.place.ends in ("start", "session", "later")
    assert session.state == ("failed" if failed else "closed")
    return seen


async def error_of(reply: Awaitable[object]) -> Error | None:
    try:
        await reply
    except Error as error:
        return error
    return None


def play_blocking(it: Play) -> Seen:
    before = portal()
    options, cli = it.session()
    seen: Seen = []
    try:
        claude = sync.open(options, transport=cli)
    except BaseException as error:
        seen.append(error)
    else:
        with claude:
            for prompt in it.prompts():
                try:
                    claude.ask(prompt, timeout=SOON)
                    seen.append(None)
                except Error as error:
                    seen.append(error)
    assert portal() is before, "the event loop of all blocking sessions has ended"
    return seen


def run(backend: str, it: Play) -> Seen:
    return play_blocking(it) if backend == "sync" else anyio.run(play, it, backend=backend)


TOLD_TO_THE_MODEL = ("tools, arguments", "tools, checks", "tools, result")
"""Where an exception is the answer to a call of the model, and need not be in the log."""


@pytest.mark.parametrize("backend", ["asyncio", "trio", "sync"])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_exception_of_the_application_blocks_nothing(
    place: Place, backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    goes_on = place.ends in ("nothing", "later")
    # A server that has failed is not called again.
    is_called_in_turns = place.ends == "nothing" and place.option != "transport"
    for kinds in [KINDS] if is_called_in_turns else [(kind,) for kind in KINDS]:
        boom = Boom()
        seen = run(backend, Play(place, boom, kinds))
        assert {type(it) for it in boom.raised} == {*kinds}
        assert len(seen) == len(kinds)
        for error in seen:
            assert goes_on == (error is None), repr(error)
            if error is not None:
                assert boom.caused(error), repr(error)
                assert isinstance(error, FAILS[place.ends])
        if goes_on and place.name not in TOLD_TO_THE_MODEL:
            logged = [it for it in caplog.records if it.levelno >= logging.WARNING]
            shown = " ".join(f"{it.getMessage()} {it.exc_info}" for it in logged)
            assert ValueError not in kinds or "ValueError" in shown or "enough" in shown


FAILS: dict[str, type[BaseException]] = {
    "start": BaseException,  # the caller gets what was raised
    "turn": TurnError,
    "session": SessionFailed,
}


# --- what nobody expects to fail ------------------------------------------------------------------


class NeverClosed(Through):
    async def aclose(self) -> None:
        await self.inner.aclose()
        await anyio.sleep_forever()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_transport_that_never_closes_is_abandoned(
    backend: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        timeouts = structs.replace(QUICK, terminate=0.01, kill=0.01)
        session = Session(Options(timeouts=timeouts), transport=NeverClosed(SimulatedCLI()))
        await session.start()
        await session.close()
        assert session.state == "closed"

    anyio.run(main, backend=backend)
    assert "The transport did not close within 0.08 s" in caplog.text


class BrokenLog(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        raise ValueError("no space is left")


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_raising_log_handler_ends_no_other_session(backend: str) -> None:
    def fail(request: PermissionRequest) -> PermissionResult:
        raise ValueError

    async def main() -> None:
        with anyio.fail_after(SOON):
            first = Session(Options(on_permission=fail), transport=SimulatedCLI(take_part))
            other = Session(Options(), transport=SimulatedCLI())
            async with first, other:
                with broken_log(), pytest.raises(SessionFailed, match="no space is left"):
                    await first.ask("on_permission")
                assert (await other.ask("x")).ok

    anyio.run(main, backend=backend)


@contextmanager
def broken_log() -> Iterator[None]:
    handler = BrokenLog(logging.ERROR)
    logging.getLogger("claudewire").addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger("claudewire").removeHandler(handler)
