"""Failures outside: the API, flags, keys."""

from __future__ import annotations

from typing import Any

from tests.helpers.real_clis import real_cli

from claudewire.errors import Cause, CLIError
from claudewire.testing.api import APIReply, APIStatus

from .behaviour import Behaviour, alone, shared
from .common import bash
from .stage import Stage


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    return {**stage.handlers, "env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}


def _fails(name: str, failure: APIStatus | APIReply, cause: Cause, *, retryable: bool) -> Behaviour:
    async def play(stage: Stage) -> None:
        reply = await stage.ask("a")
        assert reply.error is not None
        assert reply.error.cause is cause, reply.error.cause
        assert reply.retryable is retryable
        assert (await stage.ask("b")).text == "Done."

    play.__name__ = f"api_{name}"
    again = "can" if retryable else "cannot"
    title = f"The API fails with {failure_name(failure)}: {cause}, which {again} be tried again"
    return shared(title, {"a": [failure], "b": ["Done."]})(play)


def failure_name(failure: APIStatus | APIReply) -> str:
    if isinstance(failure, APIStatus):
        return f"status {failure.status}"
    return "a cut stream" if failure.end_after is None else "a stream that ends too early"


_fails("400", APIStatus(400, message="messages.3 is wrong"), Cause.INVALID_REQUEST, retryable=False)
_fails("401", APIStatus(401, message="invalid x-api-key"), Cause.NOT_LOGGED_IN, retryable=False)
_fails("429", APIStatus(429), Cause.RATE_LIMITED, retryable=True)
_fails("500", APIStatus(500), Cause.SERVER_ERROR, retryable=True)
_fails("529", APIStatus(529, message="Overloaded"), Cause.OVERLOADED, retryable=True)
_fails(
    "cut", APIReply("A reply that breaks off.", cut_after=3), Cause.CONNECTION_LOST, retryable=True
)
_fails(
    "ends", APIReply("A reply that breaks off.", end_after=3), Cause.CONNECTION_LOST, retryable=True
)


@shared(
    "A stream that ends too early after the use of a tool is no success",
    [bash("echo hello"), APIReply("A reply that breaks off.", end_after=3)],
    deviates=frozenset({"2.1.17"}),
)
async def api_ends_after_tool(stage: Stage) -> None:
    reply = await stage.ask()
    if reply.ok:
        assert not reply.text
        stage.deviates("it reports a success, with an empty text")
    assert reply.error is not None
    assert reply.error.cause is Cause.CONNECTION_LOST


@shared(
    "A credit that is used up is a limit that was reached",
    [APIStatus(400, message="Your credit balance is too low")],
)
async def no_credit(stage: Stage) -> None:
    reply = await stage.ask()
    assert reply.error is not None
    assert reply.error.cause is Cause.LIMIT_REACHED


@alone(
    "The CLI tries again by itself, and the turn succeeds",
    [APIStatus(429, retry_after=0, times=2), "At last."],
)
async def retried(stage: Stage) -> None:
    async with stage.open():
        assert (await stage.ask()).text == "At last."
        assert len(stage.turns) == 3


@alone(
    "A stream that breaks off is asked for again", [APIReply("Half a sen", cut_after=2), "Whole."]
)
async def cut_and_retried(stage: Stage) -> None:
    async with stage.open():
        assert (await stage.ask()).text == "Whole."


async def cause_of(stage: Stage, **options: Any) -> CLIError:
    """The error with which a session cannot be opened."""
    try:
        async with stage.open(**options):
            await stage.ask()
    except CLIError as error:
        return error
    raise AssertionError("It was opened")


@alone("A flag that the CLI does not know is named in the error")
async def unknown_flag(stage: Stage) -> None:
    error = await cause_of(stage, extra_args={"no-such-flag": None})
    assert error.cause is Cause.BAD_FLAG
    assert "--no-such-flag" in str(error)


@alone("An API whose host has no address is a lost connection")
async def no_address(stage: Stage) -> None:
    nowhere = "ANTHROPIC_BASE_URL=http://no-such-host.invalid"
    command = stage.cage.command(["env", nowhere, str(real_cli(stage.version))])
    given: dict[str, Any] = {"cli": command, "env": {"CLAUDE_CODE_MAX_RETRIES": "0"}}
    async with stage.open(**given):
        reply = await stage.ask()
        assert reply.error is not None
        assert reply.error.cause is Cause.CONNECTION_LOST, reply.error
        assert reply.retryable


@alone("Without a key, the error says that one has to log in")
async def no_key(stage: Stage) -> None:
    command = ["env", "-u", "ANTHROPIC_API_KEY", str(real_cli(stage.version))]
    async with stage.open(cli=stage.cage.command(command)):
        reply = await stage.ask()
        assert reply.error is not None
        assert reply.error.cause is Cause.NOT_LOGGED_IN
