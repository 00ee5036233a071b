"""What a person decides, and what a real CLI and its model make of it."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.real_clis import NEWEST, real_cli, why_not
from tests.people.asking import COLOUR, SIZES
from tests.people.driving import Host

from claudewire.people import (
    ElicitationRequest,
    Inbox,
    People,
    PermissionRequest,
    PlanRequest,
    QuestionAnswer,
    QuestionRequest,
)
from claudewire.people.pending import PendingState
from claudewire.simulator import ARGV
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.wire import ResultMessage

from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

VERSIONS = ["2.1.17", NEWEST]
TOUCH = APIToolUse("Bash", {"command": "touch made.txt"})
ASK = APIToolUse("AskUserQuestion", {"questions": [COLOUR, SIZES]})
PLAN = APIToolUse("ExitPlanMode", {"plan": "# Tidy up"})
WRITE = APIToolUse("Write", {"file_path": "made.txt", "content": "made\n"})


@asynccontextmanager
async def running(cage: Cage, version: str, people: People, *flags: str) -> AsyncIterator[Host]:
    async with started(cage.command([real_cli(version), *ARGV, *flags])) as process:
        host = Host(process, people)
        await host.open()
        yield host
        await host.end()


class Outcome:
    """What became of a turn: its result, what the model was told, and which files there are."""

    def __init__(self, cage: Cage, result: ResultMessage) -> None:
        self.result = result
        self.told = [str(it.get("content")) for turn in cage.turns for it in turn.tool_results]
        self.files = {path.name for path in cage.work.iterdir()}


async def outcome(
    version: str, replies: list[Any], *flags: str, interrupt: bool = False, **people: Any
) -> Outcome:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    with Cage(APIScript.of(replies)) as cage:
        async with running(cage, version, People(**people), *flags) as host:
            result = await host.turn(interrupt=interrupt)
        return Outcome(cage, result)


# --- permissions ---------------------------------------------------------------------------------


@pytest.mark.shows("000-44", "000-82")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_is_allowed(version: str) -> None:
    done = await outcome(version, [TOUCH, "Done."], on_permission=lambda request: request.allow())
    assert done.files == {"made.txt"}
    assert done.result.text == "Done."


@pytest.mark.shows("000-45")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_tool_runs_with_the_changed_input(version: str) -> None:
    async def change(request: PermissionRequest) -> Any:
        return request.allow(input={"command": "touch other.txt"})

    done = await outcome(version, [TOUCH, "Done."], on_permission=change)
    assert done.files == {"other.txt"}


@pytest.mark.shows("000-48", "000-49", "000-50", "000-69")
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_denial_is_told_to_the_model(version: str) -> None:
    async def deny(request: PermissionRequest) -> Any:
        return request.deny("Not in this folder")

    done = await outcome(version, [TOUCH, "Then not."], on_permission=deny)
    assert done.files == set()
    assert done.told == ["Not in this folder"]
    assert done.result.text == "Then not."
    assert [it.tool_name for it in done.result.permission_denials or ()] == ["Bash"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_denial_can_end_the_turn(version: str) -> None:
    async def stop(request: PermissionRequest) -> Any:
        return request.deny("Not in this folder", stop=True)

    done = await outcome(version, [TOUCH, "Then not."], on_permission=stop)
    assert (done.files, done.told) == (set(), [])
    assert not done.result.ok


def first_suggestion(request: PermissionRequest) -> Any:
    return request.allow(remember=request.suggestions[0])


def a_rule(request: PermissionRequest) -> Any:
    return request.allow(remember="Bash(python3 -c:*)")


@pytest.mark.shows("000-46")
@pytest.mark.parametrize("remember", [first_suggestion, a_rule])
@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_remembered_is_not_asked_again(version: str, remember: Any) -> None:
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Any:
        asked.append(request.input["command"])
        return remember(request)

    command = APIToolUse("Bash", {"command": "python3 -c 'print(1)'"})
    done = await outcome(version, [command, command, "Done."], on_permission=decide)
    assert asked == ["python3 -c 'print(1)'"]
    assert done.told == ["1", "1"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_allowed_once_is_asked_again(version: str) -> None:
    asked: list[str] = []

    def decide(request: PermissionRequest) -> Any:
        asked.append(request.id)
        return request.allow(scope="once")

    command = APIToolUse("Bash", {"command": "python3 -c 'print(1)'"})
    await outcome(version, [command, command, "Done."], on_permission=decide)
    assert len(asked) == 2


@pytest.mark.parametrize("version", VERSIONS)
async def test_with_nobody_there_the_tool_is_denied_and_the_turn_goes_on(version: str) -> None:
    done = await outcome(version, [TOUCH, "Then not."])
    assert done.files == set()
    assert done.told == ["No handler is registered for permissions, so the tool was denied."]
    assert done.result.text == "Then not."


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_handler_that_raises_denies_and_the_model_does_not_learn_why(
    version: str, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(request: PermissionRequest) -> Any:
        raise RuntimeError("the password is hunter2")

    done = await outcome(version, [TOUCH, "Then not."], on_permission=fail)
    assert done.told == ["The application's handler failed, so the answer is no."]
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("version", VERSIONS)
async def test_nobody_decides_in_time(version: str) -> None:
    done = await outcome(version, [TOUCH, "Then not."], person="inbox", deadline=0.05)
    assert done.told == ["no decision was made within 0.05 seconds"]
    assert done.result.text == "Then not."


@pytest.mark.parametrize("version", VERSIONS)
async def test_an_interrupt_takes_back_what_waits(version: str) -> None:
    inbox, ended = Inbox(), []
    inbox.on_change(lambda change: ended.append(change.request) if change.what != "added" else None)
    done = await outcome(version, [TOUCH, "No."], person="inbox", inbox=inbox, interrupt=True)
    assert [request.state for request in ended] == [PendingState.WITHDRAWN]
    assert not done.result.ok
    assert done.files == set()


# --- questions -----------------------------------------------------------------------------------


async def told_about(version: str, answer: Any) -> str:
    """What the model is told when the two questions are answered so."""

    async def on_question(request: QuestionRequest) -> Any:
        return answer(request)

    done = await outcome(version, [ASK, "So be it."], on_question=on_question)
    assert done.result.text == "So be it."
    (told,) = done.told
    return told


@pytest.mark.shows("000-52", "000-56", "000-57", "000-83")
@pytest.mark.parametrize("version", VERSIONS)
async def test_one_and_several_answers_arrive(version: str) -> None:
    told = await told_about(version, lambda it: it.answer({"Colour": "Green", "Sizes": ["S", "L"]}))
    assert '"Which colour?"="Green", "Which sizes?"="S, L"' in told


@pytest.mark.parametrize("version", VERSIONS)
async def test_words_of_ones_own_arrive(version: str) -> None:
    told = await told_about(
        version, lambda it: it.answer({0: QuestionAnswer(other="Mauve"), 1: "S"})
    )
    assert '"Which colour?"="Mauve", "Which sizes?"="S"' in told


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_note_arrives(version: str) -> None:
    told = await told_about(
        version, lambda it: it.answer({0: "Green", 1: "S"}, notes={0: "but light"})
    )
    assert '"Which colour?"="Green' in told
    assert "but light" in told


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_question_that_is_skipped_has_no_answer(version: str) -> None:
    told = await told_about(version, lambda it: it.answer({"Colour": "Green", "Sizes": None}))
    assert '"Which colour?"="Green"' in told
    assert "Which sizes?" not in told


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_model_is_told_that_all_were_skipped(version: str) -> None:
    told = await told_about(version, lambda it: it.skip())
    assert told == "The user did not answer the questions."


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_response_instead_of_answers_arrives(version: str) -> None:
    assert "Neither, thanks." in await told_about(
        version, lambda it: it.respond("Neither, thanks.")
    )


# --- plans ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "asked"), [("acceptEdits", []), ("default", ["Write"])])
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_is_approved_and_the_model_goes_on_in_a_mode(
    version: str, mode: str, asked: list[str]
) -> None:
    tools: list[str] = []

    def decide(request: PermissionRequest) -> Any:
        tools.append(request.tool_name)
        return request.allow()

    done = await outcome(
        version,
        [PLAN, WRITE, "Done."],
        "--permission-mode=plan",
        on_plan=lambda request: request.approve(mode=mode),
        on_permission=decide,
    )
    assert "User has approved" in done.told[0]
    assert tools == asked
    assert done.files == {"made.txt"}


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_is_revised(version: str) -> None:
    plans: list[str] = []

    def decide(request: PlanRequest) -> Any:
        plans.append(request.id)
        return request.revise("In two steps.") if len(plans) == 1 else request.approve()

    done = await outcome(version, [PLAN, PLAN, "Done."], "--permission-mode=plan", on_plan=decide)
    assert done.told[0].endswith("Revise it: In two steps.")
    assert "User has approved" in done.told[1]


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_is_rejected(version: str) -> None:
    done = await outcome(
        version,
        [PLAN, "Done."],
        "--permission-mode=plan",
        on_plan=lambda request: request.reject(),
    )
    assert not done.result.ok
    assert done.told == []


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_plan_comes_with_its_text(version: str) -> None:
    """The CLI has it in a file of its own, which it tells the model of."""
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    seen: list[PlanRequest] = []

    def decide(request: PlanRequest) -> Any:
        seen.append(request)
        changed = "# Tidy up\nCarefully.\n" if request.file else None
        return request.approve(plan=changed)

    replies: list[str | APIToolUse] = ["I am thinking.", APIToolUse("ExitPlanMode", {}), "Done."]
    with Cage(APIScript.of(replies)) as cage:
        people = People(on_plan=decide)
        async with running(cage, version, people, "--permission-mode=plan") as host:
            await host.turn()
            name = json.dumps(cage.turns[0].body).partition("/plans/")[2].partition(".md")[0]
            folder = cage.config / "plans"
            folder.mkdir(exist_ok=True)
            (folder / f"{name}.md").write_text("# Tidy up\n", encoding="utf-8")
            await host.turn()
        (told,) = cage.turns[-1].tool_results
        assert ("Carefully." in str(told)) is (seen[0].file is not None)
    assert [request.plan for request in seen] == ["# Tidy up\n"]
    assert (seen[0].file is not None) is (version == NEWEST)


# --- elicitation ---------------------------------------------------------------------------------

SERVER = """
import json, sys

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        facts = {"capabilities": {"tools": {}}, "serverInfo": {"name": "crm", "version": "1"}}
        say(id=id, result={"protocolVersion": version, **facts})
    elif method == "tools/list":
        say(id=id, result={"tools": [{"name": "greet", "inputSchema": {"type": "object"}}]})
    elif method == "tools/call":
        called = id
        asked = {"message": "Who?", "requestedSchema": schema}
        say(id=99, method="elicitation/create", params=asked)
    elif id == 99:
        text = json.dumps(message.get("result") or message.get("error"))
        say(id=called, result={"content": [{"type": "text", "text": text}]})
    elif id is not None:
        say(id=id, result={})
"""


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (lambda it: it.accept({"name": "Ada"}), {"action": "accept", "content": {"name": "Ada"}}),
        (lambda it: it.decline(), {"action": "decline"}),
        (lambda it: it.cancel(), {"action": "cancel"}),
    ],
)
async def test_an_mcp_server_is_answered(answer: Any, told: dict[str, Any], tmp_path: Path) -> None:
    asked: list[ElicitationRequest] = []

    def fill_in(request: ElicitationRequest) -> Any:
        asked.append(request)
        return answer(request)

    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    use = APIToolUse("mcp__crm__greet", {})
    with Cage(APIScript.of([use, "Done."])) as cage:
        script = cage.work / "server.py"
        script.write_text(SERVER, encoding="utf-8")
        config = {"mcpServers": {"crm": {"command": sys.executable, "args": [str(script)]}}}
        flags = (f"--mcp-config={json.dumps(config)}", "--allowedTools=mcp__crm__greet")
        async with running(cage, NEWEST, People(on_elicitation=fill_in), *flags) as host:
            await host.turn()
        (result,) = cage.turns[-1].tool_results
    (request,) = asked
    assert (request.server, request.message) == ("crm", "Who?")
    assert [(field.name, field.required) for field in request.form.fields] == [("name", True)]
    assert json.loads(result["content"][0]["text"]) == told
