"""Files are put back to what they were when a prompt came, as the real CLI does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow

from claudewire.simulator import Chat, SimulatedCLI
from claudewire.wire import Answer, CanUseTool, Failure, RewindFiles, UserMessage

pytestmark = pytest.mark.anyio

ONE, TWO, OTHER = (f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
ENABLED = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "true"}


async def edit(chat: Chat) -> None:
    """Write what the prompt says: the name of a file, and its text."""
    name, _, text = chat.text.partition(" ")

    def write(given: dict[str, Any]) -> str:
        Path(chat.session.cwd, name).write_text(text, encoding="utf-8")
        return "Written."

    await chat.use("Write", {"file_path": name, "content": text}, run=write)


async def edited(folder: Path, env: dict[str, str]) -> Talk:
    (folder / "old.txt").write_text("old\nkept\n", encoding="utf-8")
    cli = SimulatedCLI(edit, cwd=folder, env={"CLAUDE_CONFIG_DIR": str(folder / "c"), **env})
    talk = Talk(cli, {CanUseTool: allow})
    await talk.initialize()
    for uuid, prompt in ((ONE, "new.txt A note."), (TWO, "old.txt new\nkept\n")):
        await talk.say(UserMessage.of(prompt, uuid=uuid))
        await talk.until_result()
    return talk


async def rewound(talk: Talk, uuid: str, *, dry_run: bool | None = None) -> Any:
    answer = await talk.ask(RewindFiles(uuid, dry_run=dry_run))
    assert isinstance(answer, Answer)
    return answer.body


async def test_it_is_said_what_a_rewind_would_change(tmp_path: Path) -> None:
    talk = await edited(tmp_path, ENABLED)
    both = await rewound(talk, ONE, dry_run=True)
    assert (both.can_rewind, both.insertions, both.deletions) == (True, 1, 2)
    assert [Path(it).name for it in both.files_changed] == ["new.txt", "old.txt"]
    one = await rewound(talk, TWO, dry_run=True)
    assert one.files_changed == [str(tmp_path / "old.txt")]
    assert (tmp_path / "old.txt").read_text(encoding="utf-8") == "new\nkept\n"


async def test_files_are_put_back_and_new_ones_removed(tmp_path: Path) -> None:
    talk = await edited(tmp_path, ENABLED)
    assert (await rewound(talk, TWO)).can_rewind
    assert (tmp_path / "old.txt").read_text(encoding="utf-8") == "old\nkept\n"
    assert (tmp_path / "new.txt").exists()
    for _ in range(2):
        assert (await rewound(talk, ONE)).can_rewind
        assert not (tmp_path / "new.txt").exists()
    unknown = await rewound(talk, OTHER)
    assert unknown.error == "No file checkpoint found for this message."


async def test_the_copies_are_noted_in_the_transcript(tmp_path: Path) -> None:
    await edited(tmp_path, ENABLED)
    (file,) = (tmp_path / "c").glob("projects/*/*.jsonl")
    entries = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    first, note, second, change = [it for it in entries if it["type"].startswith("file-history")]
    assert (first["messageId"], first["snapshot"]["trackedFileBackups"]) == (ONE, {})
    assert (note["trackingPath"], note["backup"]["backupFileName"]) == ("new.txt", None)
    assert second["snapshot"]["trackedFileBackups"]["new.txt"]["version"] == 2
    assert (change["snapshotMessageId"], change["backup"]["version"]) == (TWO, 1)


async def test_nothing_is_kept_unless_the_host_asks_for_it(tmp_path: Path) -> None:
    talk = await edited(tmp_path, {})
    answer = await talk.ask(RewindFiles(ONE))
    assert isinstance(answer, Failure)
    assert answer.error == "File rewinding is not enabled."
