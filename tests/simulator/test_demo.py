"""The demo agent: no model, but real files, real permissions and real questions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import (
    Talk,
    allow,
    bodies,
    calculator,
    only,
    program,
    said,
    told,
    tool_results,
)

from claudewire.simulator import ARGV, SimulatedCLI
from claudewire.simulator.demo import edit_file, list_files, read_file, search, write_file
from claudewire.wire import (
    CanUseTool,
    McpMessage,
    McpResponse,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
)

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with something in it, and something beside it."""
    (tmp_path / "secret.txt").write_text("beside\n", encoding="utf-8")
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    (work / ".git").mkdir()
    (work / ".git" / "config").write_text("hidden\n", encoding="utf-8")
    (work / ".env").write_text("hidden\n", encoding="utf-8")
    (work / "README.md").write_text("# Tea\n\nHow to make tea.\n", encoding="utf-8")
    (work / "src" / "tea.py").write_text("def tea():\n    return 'Tea'\n", encoding="utf-8")
    return work


async def ask(folder: Path, prompt: str, decide: Any = allow) -> list[Any]:
    talk = Talk(SimulatedCLI(cwd=folder), {CanUseTool: decide})
    turn = await talk.turn(prompt)
    assert await talk.end() == 0
    return turn


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def deny(body: CanUseTool) -> PermissionResultDeny:
    return PermissionResultDeny("hands off")


# --- what it does ---------------------------------------------------------------------------------


async def test_it_says_that_it_is_a_simulation_and_what_it_can_do(folder: Path) -> None:
    (words,) = said(await ask(folder, "hello"))
    assert "I am a simulation" in words
    assert "no model, no network" in words
    assert "list files" in words


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ('use add {"a": 2, "b": 3}', "5"),
        ('Use add with\n{"a": 2, "b": 3}', "5"),
        ('use add {"a": 2, b}', "(simulation) I do not understand the arguments"),
        ("use sub", "(simulation) I am a simulation"),
    ],
)
async def test_it_uses_a_tool_of_the_host(folder: Path, prompt: str, answer: str) -> None:
    talk = Talk(SimulatedCLI(cwd=folder), {CanUseTool: allow, McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    *_, words = said(await talk.turn(prompt))
    assert words.startswith(answer)
    assert await talk.end() == 0


async def test_the_name_of_a_tool_may_have_what_divides_names(folder: Path) -> None:
    def serve(body: McpMessage) -> McpResponse:
        content = [{"type": "text", "text": body.message.get("params", {}).get("name", "")}]
        return McpResponse({"result": {"tools": [{"name": "add__two"}], "content": content}})

    talk = Talk(SimulatedCLI(cwd=folder), {CanUseTool: allow, McpMessage: serve})
    await talk.initialize(sdk_mcp_servers=["calc"])
    assert said(await talk.turn("use add__two"))[-1] == "add__two"
    assert "I am a simulation" in said(await talk.turn("use two"))[-1]


@pytest.mark.parametrize(
    "prompt",
    [
        "list the files",
        "read README.md",
        "search for tea",
        "write a.txt: hello",
        "replace tea with coffee in README.md",
        "what is the meaning of life?",
    ],
)
async def test_it_never_pretends_to_be_more(folder: Path, prompt: str) -> None:
    assert said(await ask(folder, prompt))[0].startswith("(simulation)")


async def test_it_lists_files_and_leaves_out_hidden_ones(folder: Path) -> None:
    turn = await ask(folder, "Please list the files here.")
    assert told(turn) == ["README.md\nsrc/tea.py"]
    assert said(turn)[-1] == "There are 2 files here:\n- README.md\n- src/tea.py"
    (folder / "README.md").unlink()
    turn = await ask(folder, "Please list the files here.")
    assert said(turn)[-1] == "There is 1 file here:\n- src/tea.py"
    assert bodies(turn, CanUseTool) == []


@pytest.mark.parametrize(
    "prompt", ["Read README.md", "summarise README.md please", "Explain `README.md`!"]
)
async def test_it_reads_a_file(folder: Path, prompt: str) -> None:
    turn = await ask(folder, prompt)
    assert told(turn) == ["# Tea\n\nHow to make tea.\n"]
    assert said(turn)[-1].startswith("README.md has 3 lines. It begins:\n- # Tea")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("one", "a.txt has 1 line. It begins:\n- one"),
        ("", "a.txt has 0 lines. It begins:\n"),
        (
            "1\n2\n\n3\n \n4\n5\n6\n",
            "a.txt has 8 lines. It begins:\n- 1\n- 2\n- 3\n- 4\n- 5",
        ),
    ],
)
async def test_it_says_how_a_file_begins(folder: Path, text: str, answer: str) -> None:
    (folder / "a.txt").write_text(text, encoding="utf-8")
    assert said(await ask(folder, "read a.txt"))[-1] == answer


async def test_a_file_that_is_not_there_is_an_error_that_it_reports(folder: Path) -> None:
    turn = await ask(folder, "read missing.txt")
    assert tool_results(turn)[0].is_error
    assert "I could not read it" in said(turn)[-1]
    assert "missing.txt" in said(turn)[-1]
    assert only(turn, ResultMessage)[0].ok


async def test_it_searches(folder: Path) -> None:
    turn = await ask(folder, "search for 'TEA'")
    assert said(turn)[-1].startswith("Found 4 lines.\n- README.md:1: # Tea\n")
    assert said(await ask(folder, "find coffee"))[-1] == "Found nothing."
    assert "Found 2 lines" in said(await ask(folder, "grep tea in src"))[-1]


async def test_it_writes_a_file_with_permission(folder: Path) -> None:
    turn = await ask(folder, "Write notes/a.txt: Buy more tea.")
    (asked,) = bodies(turn, CanUseTool)
    assert asked.tool_name == "Write"
    assert asked.input == {"file_path": "notes/a.txt", "content": "Buy more tea.\n"}
    assert (folder / "notes" / "a.txt").read_text(encoding="utf-8") == "Buy more tea.\n"
    assert said(turn)[-1] == "It is written."
    await ask(folder, "create a file called empty.txt")
    assert (folder / "empty.txt").read_bytes() == b""


async def test_it_writes_what_was_allowed_and_not_what_was_asked_for(folder: Path) -> None:
    def change(body: CanUseTool) -> PermissionResultAllow:
        return PermissionResultAllow({**body.input, "content": "changed\n"})

    await ask(folder, "write a.txt: hello", change)
    assert (folder / "a.txt").read_text(encoding="utf-8") == "changed\n"


async def test_it_edits_a_file_with_permission(folder: Path) -> None:
    turn = await ask(folder, "replace 'make tea' with 'brew coffee' in README.md")
    assert [it.tool_name for it in bodies(turn, CanUseTool)] == ["Edit"]
    assert "brew coffee" in (folder / "README.md").read_text(encoding="utf-8")
    assert said(turn)[-1] == "It is changed."


async def test_an_edit_that_is_not_clear_fails(folder: Path) -> None:
    turn = await ask(folder, "replace xyz with abc in README.md")
    assert tool_results(turn)[0].is_error
    assert "'xyz' stands 0 times in README.md, not once" in said(turn)[-1]


@pytest.mark.parametrize("prompt", ["write a.txt: hello", "replace Tea with Coffee in README.md"])
async def test_what_is_denied_is_not_done(folder: Path, prompt: str) -> None:
    before = contents(folder)
    turn = await ask(folder, prompt, deny)
    assert said(turn)[-1] == "I was not allowed to: hands off"
    assert contents(folder) == before


@pytest.mark.parametrize(
    "prompt",
    [
        "read ../secret.txt",
        "search for beside in ..",
        "write ../new.txt: x",
        "replace beside with x in ../secret.txt",
    ],
)
async def test_it_stays_in_its_working_directory(folder: Path, prompt: str) -> None:
    before = contents(folder.parent)
    turn = await ask(folder, prompt)
    assert tool_results(turn)[0].is_error
    assert "outside of the working directory" in told(turn)[0]
    assert "outside of the working directory" in said(turn)[-1]
    assert contents(folder.parent) == before


# --- what it asks ---------------------------------------------------------------------------------


def choose(name: str) -> Any:
    def answer(body: CanUseTool) -> PermissionResultAllow:
        (question,) = body.input["questions"]
        return PermissionResultAllow({**body.input, "answers": {question["question"]: name}})

    return answer


async def test_it_asks_which_file_is_meant(folder: Path) -> None:
    turn = await ask(folder, "read a file", choose("src/tea.py"))
    (asked,) = bodies(turn, CanUseTool)
    assert asked.tool_name == "AskUserQuestion"
    (question,) = asked.input["questions"]
    assert [it["label"] for it in question["options"]] == ["README.md", "src/tea.py"]
    assert "src/tea.py has 2 lines" in said(turn)[-1]


async def test_it_offers_four_files_at_most(folder: Path) -> None:
    for name in "abc":
        (folder / name).touch()
    (asked,) = bodies(await ask(folder, "read a file"), CanUseTool)
    assert asked.input["questions"] == [
        {
            "question": "Which file do you mean?",
            "header": "File",
            "options": [
                {"label": name, "description": f"Read {name}"}
                for name in ("README.md", "a", "b", "c")
            ],
            "multiSelect": False,
        }
    ]


async def test_it_leaves_it_when_nobody_answers(folder: Path) -> None:
    for decide in (deny, allow):
        turn = await ask(folder, "read a file", decide)
        assert said(turn)[-1].endswith("Then I leave it.")


async def test_it_does_not_ask_when_there_is_nothing_to_choose(folder: Path) -> None:
    (folder / "README.md").unlink()
    turn = await ask(folder, "read a file")
    assert bodies(turn, CanUseTool) == []
    assert "src/tea.py has 2 lines" in said(turn)[-1]
    (folder / "src" / "tea.py").unlink()
    assert "no file here to read" in said(await ask(folder, "read a file"))[-1]


async def test_it_answers_for_what_ran_in_the_background(folder: Path) -> None:
    cli = SimulatedCLI(cwd=folder)
    talk = Talk(cli)
    await talk.turn("hello")
    assert cli.engine is not None
    cli.engine.wake_up(None)
    assert "has ended" in said(await talk.until_result())[0]


async def test_it_streams_and_is_there_as_a_program(folder: Path) -> None:
    async with program(*ARGV, "--include-partial-messages", cwd=folder) as process:
        talk = Talk(process, {CanUseTool: allow})
        turn = await talk.turn("write a.txt: hello")
        assert "".join(it.text for it in only(turn, StreamEvent)) == "".join(said(turn))
        assert (folder / "a.txt").read_text(encoding="utf-8") == "hello\n"
        assert await talk.end() == 0


# --- its tools ------------------------------------------------------------------------------------


def test_a_link_does_not_lead_outside(folder: Path) -> None:
    os.symlink(folder.parent / "secret.txt", folder / "link.txt")
    with pytest.raises(ValueError, match="outside of the working directory"):
        read_file(str(folder), "link.txt")
    with pytest.raises(ValueError, match="outside of the working directory"):
        write_file(str(folder), {"file_path": "link.txt", "content": "x"})
    assert search(str(folder), "beside") == []


def test_a_link_within_is_followed(folder: Path) -> None:
    os.symlink(folder / "README.md", folder / "link.md")
    assert read_file(str(folder), "link.md").startswith("# Tea")


def test_the_working_directory_may_be_a_link(folder: Path) -> None:
    os.symlink(folder, folder.parent / "link")
    cwd = str(folder.parent / "link")
    assert list_files(cwd) == ["README.md", "src/tea.py"]
    assert search(cwd, "make") == ["README.md:3: How to make tea."]
    assert read_file(cwd, str(folder / "src/tea.py")).startswith("def tea")


def test_absolute_paths_within_are_fine(folder: Path) -> None:
    path = str(folder / "README.md")
    assert edit_file(
        str(folder), {"file_path": path, "old_string": "# Tea", "new_string": "# T"}
    ).endswith("README.md")
    assert read_file(str(folder), path).startswith("# T\n")


def test_what_is_not_text_does_no_harm(folder: Path) -> None:
    (folder / "bytes.bin").write_bytes(b"\xff\xfetea\n")
    assert "bytes.bin:1: \ufffd\ufffdtea" in search(str(folder), "tea")


def test_a_long_list_of_files_is_cut(folder: Path) -> None:
    for number in range(250):
        (folder / f"{number:03}.txt").touch()
    assert len(list_files(str(folder))) == 200


def test_an_edit_of_a_long_file_keeps_its_end(folder: Path) -> None:
    path = folder / "long.txt"
    path.write_text("start\n" + "x" * 300_000 + "\nend\n", encoding="utf-8")
    edit = {"file_path": "long.txt", "old_string": "start", "new_string": "begin"}
    edit_file(str(folder), edit)
    text = path.read_text(encoding="utf-8")
    assert text.startswith("begin\n")
    assert text.endswith("\nend\n")


def test_an_edit_changes_nothing_else(folder: Path) -> None:
    path = folder / "odd.txt"
    path.write_bytes(b"one\r\ntwo\r\ncaf\xc3\xa9 \xff\n")
    edit_file(str(folder), {"file_path": "odd.txt", "old_string": "two", "new_string": "2"})
    assert path.read_bytes() == b"one\r\n2\r\ncaf\xc3\xa9 \xff\n"


# --- its tools ------------------------------------------------------------------------------------


def test_files_are_listed_by_name_however_the_system_orders_them(tmp_path: Path) -> None:
    names = [f"{letter}{number}" for number in (2, 0, 3, 1) for letter in "dbfaec"]
    for name in (*names, ".git", "__pycache__", "node_modules"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "it").touch()
        (tmp_path / f"{name}.txt").touch()
        (tmp_path / name / ".hidden").touch()
    listed = list_files(str(tmp_path))
    own = sorted([*(f"{name}.txt" for name in names), "__pycache__.txt", "node_modules.txt"])
    assert listed == [*own, *(f"{name}/it" for name in sorted(names))]
    assert list_files(str(tmp_path), "a0") == ["a0/it"]


@pytest.mark.parametrize("count", [199, 200, 201])
def test_only_so_many_files_are_listed_and_lines_found(tmp_path: Path, count: int) -> None:
    lines = [f"Line {number}" for number in range(count)]
    (tmp_path / "z.txt").write_text("\n".join(lines), encoding="utf-8")
    assert search(str(tmp_path), "LINE") == [
        f"z.txt:{number}: {line}" for number, line in enumerate(lines[:200], 1)
    ]
    for number in range(count):
        (tmp_path / f"{number:03}").touch()
    assert list_files(str(tmp_path)) == [*(f"{it:03}" for it in range(count)), "z.txt"][:200]


def test_what_cannot_be_read_is_not_searched(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret").write_text("word", encoding="utf-8")
    (inside / "a").symlink_to(tmp_path / "secret")
    (inside / "b").symlink_to("nowhere")
    (inside / "c").write_bytes(b"\xff a  word \n")
    assert search(str(inside), "word") == ["c:1: \ufffd a  word"]


def test_a_long_file_is_read_in_part(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x" * 200_001, encoding="utf-8")
    assert len(read_file(str(tmp_path), "a")) == 200_000


@pytest.mark.parametrize("path", ["..", "../inside-too/a", "/", "sub/../.."])
def test_what_is_outside_is_refused(tmp_path: Path, path: str) -> None:
    for name in ("inside", "inside-too"):
        (tmp_path / name / "sub").mkdir(parents=True)
    for work in (list_files, read_file):
        with pytest.raises(ValueError, match="is outside of the working directory"):
            work(str(tmp_path / "inside"), path)
    assert list_files(str(tmp_path / "inside"), "sub/..") == []


def test_what_is_not_changed_stays_the_same_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\r\n\xff two\n")
    given = {"file_path": "a", "old_string": "two", "new_string": "2\r"}
    assert edit_file(str(tmp_path), given) == "File edited: a"
    assert (tmp_path / "a").read_bytes() == b"one\r\n\xff 2\r\n"
    for old, times in (("two", 0), ("\n", 2)):
        with pytest.raises(ValueError, match=f"stands {times} times in a, not once"):
            edit_file(str(tmp_path), {**given, "old_string": old})
    told = write_file(str(tmp_path), {"file_path": "x/y/z", "content": "1\r\n"})
    assert told == "File written: x/y/z"
    assert (tmp_path / "x/y/z").read_bytes() == b"1\r\n"
