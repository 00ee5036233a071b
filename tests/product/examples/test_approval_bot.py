"""The approval bot: what an agent may do is decided in the room."""

from __future__ import annotations

import inspect
import io
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import anyio
import pytest
from examples import approval_bot
from examples.approval_bot import OPTIONS, Line, Terminal, action_of, work

from claudewire import ElicitationRequest, PermissionRequest, PlanRequest, QuestionRequest

pytestmark = pytest.mark.anyio

SOON = 60
REQUESTS = (PermissionRequest, PlanRequest, QuestionRequest, ElicitationRequest)


class Script:
    """A room in which people say certain lines after certain posts."""

    def __init__(self, **said: str) -> None:
        self.said = said
        self.posts: list[str] = []
        self.to_bot, self.from_people = anyio.create_memory_object_stream[Line](100)

    async def post(self, text: str) -> None:
        self.posts.append(text)
        approver, line = self.said.popitem() if self.said else ("", "")
        if approver:
            await self.to_bot.send(Line(approver, line))

    async def lines(self) -> AsyncIterator[Line]:
        async for line in self.from_people:
            yield line


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # as the program itself


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def room() -> Iterator[Script]:
    script = Script()
    with script.to_bot, script.from_people:
        yield script


async def ask(prompt: str, room: Script, within: float = 600) -> str:
    with anyio.fail_after(SOON):
        return await work(prompt, room, OPTIONS.replace(cli="simulated", decide_within=within))


def read(name: str) -> str | None:
    return Path(name).read_text(encoding="utf-8") if Path(name).exists() else None


def write(*names: str) -> None:
    for name in names:
        Path(name).write_text("milk\n", encoding="utf-8")


def decisions() -> list[tuple[str, str]]:
    lines = Path("decisions.jsonl").read_text(encoding="utf-8").splitlines()
    return [(it["answer"], it["decided_by"]) for it in map(json.loads, lines)]


async def test_person_in_the_room_allows_a_tool(room: Script) -> None:
    room.said = {"ada": "yes 1"}
    assert await ask("Write notes.txt: milk", room) == "It is written."
    assert read("notes.txt") == "milk\n"
    assert room.posts[0] == "#1 Write: notes.txt: yes or no?"
    assert "+milk" in room.posts[1]
    assert decisions() == [("allow", "ada")]


async def test_person_in_the_room_denies_a_tool_with_a_reason(room: Script) -> None:
    room.said = {"bob": "No #1 we have milk"}
    assert await ask("Write notes.txt: milk", room) == "I was not allowed to: we have milk"
    assert read("notes.txt") is None


async def test_other_lines_and_numbers_decide_nothing(room: Script) -> None:
    room.said = {"ada": "yes 1", "bob": "yes 7", "eve": "yes, why not"}
    assert await ask("Write notes.txt: milk", room) == "It is written."
    assert "#7 is not waiting for an answer" in room.posts


async def test_question_gets_the_words_after_yes(room: Script) -> None:
    write("a.txt", "b.txt")
    room.said = {"ada": "yes 1 none of them"}
    assert await ask("Summarise it", room) == "Then I leave it."
    assert room.posts == ["#1 Question: Which file do you mean?: yes or no?"]


@pytest.mark.parametrize("kind", ["permission", "plan", "question", "elicitation"])
@pytest.mark.parametrize("yes", [True, False])
def test_every_kind_has_an_action_for_yes_and_no(kind: str, yes: bool) -> None:
    (request,) = [it for it in REQUESTS if it.kind == kind]
    action, arguments = action_of(kind, yes, "")
    assert action in request.actions
    inspect.signature(getattr(request, action)).bind(None, **arguments)


async def test_request_without_an_answer_is_denied(room: Script) -> None:
    assert "no decision was made" in await ask("Write notes.txt: milk", room, within=0.1)
    assert room.posts[-1] == "#1 expired"


async def test_terminal_is_a_room(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("ada: yes 1\nbob: no 2 too late\n"))
    terminal = Terminal()
    await terminal.post("#1 Write: notes.txt: yes or no?")
    assert [line async for line in terminal.lines()] == [("ada", "yes 1"), ("bob", "no 2 too late")]
    assert capsys.readouterr().out == "#1 Write: notes.txt: yes or no?\n"


def test_error_ends_the_program_with_its_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_PATH", "/nowhere/claude")
    monkeypatch.setattr("sys.argv", ["approval_bot.py", "Hello"])
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert "no file /nowhere/claude" in str(approval_bot.main())
