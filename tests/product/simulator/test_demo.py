"""The demo agent works on real files, with real permissions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, bodies, calculator, said

from claudewire import wire
from claudewire.simulator import SimulatedCLI

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("# Tea\n\nTea is hot.\n", "utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/main.py").write_text("print('hi')\n", "utf-8")
    (tmp_path / ".secret").write_text("x", "utf-8")
    return tmp_path


async def asked(folder: Path, prompt: str, serve: Any = allow) -> tuple[list[str], Talk]:
    talk = Talk(SimulatedCLI(cwd=folder), {wire.CanUseTool: serve, wire.McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    return said(await talk.turn(prompt)), talk


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("Hello", "I am a simulation inside claudewire"),
        ("Look around", "There are 2 files here:\n- README.md\n- src/main.py"),
        ("Read README.md", "README.md has 3 lines. It begins:\n- # Tea\n- Tea is hot."),
        ("Summarise src/main.py", "src/main.py has 1 line. It begins:\n- print('hi')"),
        ("Read none.txt", "I could not read it: Error: [Errno 2] No such file"),
        ('use add {"a": 2, "b": 3}', "5"),
        ("use add {", "I am a simulation"),
        ("Read ../../etc/passwd", "is outside of the working directory"),
    ],
)
async def test_sentence_is_understood(folder: Path, prompt: str, answer: str) -> None:
    words, _ = await asked(folder, prompt)
    assert answer in words[-1]


async def test_file_is_written_and_edited(folder: Path) -> None:
    words, talk = await asked(folder, "Write todo.txt: buy milk")
    assert words == ["(simulation) I'll write todo.txt.", "It is written."]
    assert (folder / "todo.txt").read_text("utf-8") == "buy milk\n"
    assert said(await talk.turn('Replace "milk" with "tea" in todo.txt'))[-1] == "It is changed."
    assert (folder / "todo.txt").read_text("utf-8") == "buy tea\n"
    words = said(await talk.turn("Replace x with y in todo.txt"))
    assert "'x' stands 0 times in todo.txt, not once" in words[-1]


async def test_denied_write_changes_nothing(folder: Path) -> None:
    no = wire.PermissionResultDeny("not now")
    words, _ = await asked(folder, "Write todo.txt: x", lambda body: no)
    assert words[-1] == "I was not allowed to: not now"
    assert not (folder / "todo.txt").exists()


async def test_changed_input_is_written(folder: Path) -> None:
    def change(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        return wire.PermissionResultAllow({**body.input, "content": "another text"})

    await asked(folder, "Write todo.txt: x", change)
    assert (folder / "todo.txt").read_text("utf-8") == "another text"


async def test_unclear_file_is_asked_for(folder: Path) -> None:
    def answer(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        if body.tool_name != "AskUserQuestion":
            return wire.PermissionResultAllow(body.input)
        given = {"Which file do you mean?": "README.md"}
        return wire.PermissionResultAllow({**body.input, "answers": given})

    words, talk = await asked(folder, "Read it to me", answer)
    (question,) = bodies(talk.heard, wire.CanUseTool)[0].input["questions"]
    assert [it["label"] for it in question["options"]] == ["README.md", "src/main.py"]
    assert words[-1].startswith("README.md has 3 lines.")
