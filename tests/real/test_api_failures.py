"""A real CLI whose API fails: the reply says why, and whether a retry makes sense."""

from __future__ import annotations

import pytest
from tests.helpers.real_clis import VERSIONS
from tests.real.sessions import real_session

from claudewire.errors import Cause
from claudewire.testing.api import APIReply, APIScript, APIStatus

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FAILURES: dict[str, tuple[APIStatus | APIReply, Cause]] = {
    "bad": (APIStatus(400, message="messages.3 is wrong"), Cause.INVALID_REQUEST),
    "broken": (APIStatus(500), Cause.SERVER_ERROR),
    "busy": (APIStatus(529, message="Overloaded"), Cause.OVERLOADED),
    "cut": (APIReply("A reply that breaks off.", cut_after=3), Cause.CONNECTION_LOST),
}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_failure_of_the_api_has_its_cause_and_the_session_goes_on(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "0")
    script = APIScript(default="Done.")
    for prompt, (failure, _) in FAILURES.items():
        script.on(prompt, failure)
    async with real_session(version, script) as (claude, _):
        for prompt, (_, cause) in FAILURES.items():
            reply = await claude.send(prompt)
            assert reply.error is not None, prompt
            assert reply.error.cause is cause
            assert reply.retryable is (cause is not Cause.INVALID_REQUEST)
        assert (await claude.send("hello")).text == "Done."
