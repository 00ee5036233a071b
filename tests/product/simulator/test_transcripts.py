"""Conversations on disk: their form, and resuming them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, only, said

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI
from claudewire.simulator.stored import SessionStore, append_entries

pytestmark = pytest.mark.anyio

Entry = dict[str, Any]
SESSION = "11111111-1111-4111-8111-111111111111"
ONE = "00000000-0000-4000-8000-000000000001"


async def recall(chat: Chat) -> None:
    if "make" in chat.text:
        await chat.use("Bash", {"command": "make"}, result="made")
    if "delegate" in chat.text:
        await chat.subagent("Explore", "look", recall, description="Look")
    asked = [it["text"] for it in chat.session.history if it["type"] == "user"]
    await chat.say(" | ".join(asked))


def cli(folder: Path, *argv: str, **more: Any) -> Talk:
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config"), **more}
    return Talk(SimulatedCLI(recall, argv=argv, env=env, cwd=folder), {wire.CanUseTool: allow})


async def held(folder: Path, *prompts: str, argv: tuple[str, ...] = ()) -> Talk:
    talk = cli(folder, *argv)
    for prompt in prompts:
        await talk.turn(prompt)
    await talk.end()
    return talk


def entries(folder: Path, session: str = "*", below: str = "") -> list[Entry]:
    (file,) = (folder / "config/projects").glob(f"*/{session}{below}.jsonl")
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def chained(folder: Path, session: str = "*") -> list[Entry]:
    return [it for it in entries(folder, session) if "uuid" in it]


# --- the form -------------------------------------------------------------------------------------


async def test_entries_are_linked_and_have_the_uuids_of_the_wire(tmp_path: Path) -> None:
    talk = await held(tmp_path, "make it", "again")
    kept = chained(tmp_path)
    assert [it["type"] for it in kept] == ["user", "assistant"] * 3
    assert [it["parentUuid"] for it in kept] == [None, *(it["uuid"] for it in kept[:-1])]
    messages = only(talk.heard, wire.AssistantMessage)
    assert [it["uuid"] for it in kept if it["type"] == "assistant"] == [it.uuid for it in messages]
    first, call, result = kept[:3]
    assert first["message"] == {"role": "user", "content": "make it"}
    assert (first["cwd"], first["version"]) == (str(tmp_path), "2.1.325")
    assert call["message"]["stop_reason"] == "tool_use"
    assert result["sourceToolAssistantUUID"] == call["uuid"]
    assert result["toolUseResult"]["stdout"] == "made"
    costs = entries(tmp_path)[-1]
    (reported,) = only(talk.heard, wire.ResultMessage)[-1:]
    assert costs["totalCostUSD"] == reported.total_cost_usd


async def test_subagent_has_a_separate_transcript(tmp_path: Path) -> None:
    await held(tmp_path, "delegate it")
    inner = entries(tmp_path, below="/subagents/agent-*")
    assert [it["type"] for it in inner] == ["user", "assistant"]
    assert all(it["isSidechain"] and it["agentId"] == inner[0]["agentId"] for it in inner)
    (about,) = (tmp_path / "config/projects").glob("*/*/subagents/*.meta.json")
    described = json.loads(about.read_text("utf-8"))
    assert (described["agentType"], described["description"]) == ("Explore", "Look")


async def test_branch_origin_and_unknown_content_are_kept(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/topic/x\n", "utf-8")
    talk = cli(tmp_path)
    await talk.write(
        b'{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"},'
        b'{"type":"new"}]},"origin":{"kind":"task-notification"}}'
    )
    (result,) = only(await talk.until_result(), wire.ResultMessage)
    assert isinstance(result.origin, wire.TaskNotificationOrigin)
    prompt = chained(tmp_path)[0]
    assert prompt["gitBranch"] == "topic/x"
    assert prompt["message"]["content"][1] == {"type": "new"}
    assert prompt["origin"] == {"kind": "task-notification"}


async def test_transcript_is_mirrored_on_request(tmp_path: Path) -> None:
    talk = await held(tmp_path, "delegate", argv=("--session-mirror",))
    mirrored = [
        (it.file_path, entry)
        for it in only(talk.heard, wire.TranscriptMirrorMessage)
        for entry in it.entries or ()
    ]
    main = [entry for path, entry in mirrored if "subagents" not in (path or "")]
    assert main == entries(tmp_path, "*")
    assert "agent_metadata" in [entry["type"] for _, entry in mirrored]


async def test_nothing_is_kept_if_that_is_not_wanted(tmp_path: Path) -> None:
    await held(tmp_path, "hi", argv=("--no-session-persistence",))
    assert not (tmp_path / "config").exists()
    talk = Talk(SimulatedCLI(recall, env={"HOME": str(tmp_path)}, cwd=tmp_path))
    await talk.turn("hi")
    assert len(list((tmp_path / ".claude/projects").glob("*/*.jsonl"))) == 1


async def test_cleared_conversation_goes_on_in_another_file(tmp_path: Path) -> None:
    talk = await held(tmp_path, "one", "/clear", "two")
    assert len(only(talk.heard, wire.ConversationResetMessage)) == 1
    before, _, after = [it.session_id for it in only(talk.heard, wire.ResultMessage)]
    assert before != after
    assert said(talk.heard) == ["one", "two"]
    assert chained(tmp_path, str(before))[0]["message"]["content"] == "one"
    assert chained(tmp_path, str(after))[-2]["message"]["content"] == "two"


async def test_compacted_conversation_is_resumed_from_its_summary(tmp_path: Path) -> None:
    await held(tmp_path, "one", "/compact", argv=("--session-id", SESSION))
    talk = await held(tmp_path, "two", argv=("--resume", SESSION))
    first, second = said(talk.heard)[0].split(" | ")
    assert "(simulation) The user has said:\n- one" in first
    assert second == "two"


async def test_compaction_counts_as_a_call_of_the_model(tmp_path: Path) -> None:
    talk = await held(tmp_path, "one", "/compact", argv=("--model", "haiku"))
    used = only(talk.heard, wire.ResultMessage)[-1].model_usage_since_last_result
    assert used is not None
    assert list(used) == ["claude-haiku-5-5"]


@pytest.mark.parametrize(("command", "words"), [("/cost", "Total cost"), ("/context", "Usage")])
async def test_costs_and_context_are_printed(command: str, words: str, tmp_path: Path) -> None:
    talk = await held(tmp_path, "one", command)
    result = only(talk.heard, wire.ResultMessage)[-1]
    assert words in (result.result or "")
    assert result.num_turns == 0
    assert said(talk.heard)[-1] == result.result
    assert words in chained(tmp_path)[-1]["content"]


# --- resuming -------------------------------------------------------------------------------------


async def test_session_is_resumed_with_its_costs(tmp_path: Path) -> None:
    first = await held(tmp_path, "one", "make", argv=("--session-id", SESSION))
    talk = await held(tmp_path, "two", argv=("--resume", SESSION))
    assert said(talk.heard) == ["one | make | two"]
    before, after = (only(it.heard, wire.ResultMessage)[-1] for it in (first, talk))
    assert (after.total_cost_usd or 0) > (before.total_cost_usd or 0)
    assert after.session_id == SESSION
    assert len({it["uuid"] for it in chained(tmp_path)}) == len(chained(tmp_path))


async def test_latest_session_is_continued(tmp_path: Path) -> None:
    for id in (SESSION, ONE):
        await held(tmp_path, f"in {id}", argv=("--session-id", id))
    assert said((await held(tmp_path, "two", argv=("-c",))).heard) == [f"in {ONE} | two"]


async def test_fork_begins_with_its_origin_and_leaves_it_alone(tmp_path: Path) -> None:
    await held(tmp_path, "one", argv=("--session-id", SESSION))
    before = entries(tmp_path, SESSION)
    talk = await held(tmp_path, "two", argv=("--resume", SESSION, "--fork-session"))
    assert said(talk.heard) == ["one | two"]
    fork = str(only(talk.heard, wire.ResultMessage)[0].session_id)
    assert entries(tmp_path, SESSION) == before
    assert {it["sessionId"] for it in chained(tmp_path, fork)} == {fork}
    assert len(chained(tmp_path, fork)) == 4


async def test_session_is_resumed_at_a_message(tmp_path: Path) -> None:
    await held(tmp_path, "one", "two", argv=("--session-id", SESSION))
    at = chained(tmp_path)[1]["uuid"]
    talk = await held(tmp_path, "three", argv=("--resume", SESSION, f"--resume-session-at={at}"))
    assert said(talk.heard) == ["one | three"]
    refused = cli(tmp_path, "--resume", SESSION, "--resume-session-at=no")
    assert await refused.rest() == 1
    assert await refused.stderr() == "No message found with message.uuid of: no\n"


async def test_resuming_drops_only_the_declared_turn(tmp_path: Path) -> None:
    await held(tmp_path, "one", "two", argv=("--session-id", SESSION))
    _, at, dropped, _ = (it["uuid"] for it in chained(tmp_path))
    resume = ("--resume", SESSION, f"--resume-session-at={at}")
    refused = cli(tmp_path, *resume, f"--resume-drops-turn={at}")
    assert await refused.rest() == 1
    assert "Resume rejected by --resume-drops-turn: resuming at" in await refused.stderr()
    talk = await held(tmp_path, "three", argv=(*resume, f"--resume-drops-turn={dropped}"))
    assert said(talk.heard) == ["one | three"]


async def test_used_or_missing_id_ends_the_cli(tmp_path: Path) -> None:
    await held(tmp_path, "one", argv=("--session-id", SESSION))
    used = cli(tmp_path, "--session-id", SESSION)
    assert await used.rest() == 1
    assert await used.stderr() == f"Error: Session ID {SESSION} is already in use.\n"
    missing = cli(tmp_path, "--resume", ONE)
    assert await missing.rest() == 1
    (result,) = only(missing.heard, wire.ResultMessage)
    assert result.errors == [f"No conversation found with session ID: {ONE}"]


async def test_session_is_resumed_by_its_title(tmp_path: Path) -> None:
    talk = cli(tmp_path, "--session-id", SESSION)
    await talk.ask(wire.RenameSession("My title"))
    await talk.turn("one")
    await talk.end()
    assert said((await held(tmp_path, "two", argv=("-r", "My title"))).heard) == ["one | two"]


async def test_any_session_is_resumed_without_a_folder() -> None:
    talk = Talk(SimulatedCLI(recall, argv=["--resume", SESSION]))
    assert (await talk.turn("hi"))[-1].session_id == SESSION


def test_left_branch_and_odd_lines_are_no_part_of_a_session(tmp_path: Path) -> None:
    store = SessionStore(str(tmp_path), "/work", enabled=True)
    lines = [("a", None, "one"), ("b", "a", "left"), ("c", "a", "two")]
    path = os.path.join(store.folder, f"{SESSION}.jsonl")
    for id, parent, text in lines:
        message = {"role": "user", "content": text}
        append_entries(
            path, [{"type": "user", "uuid": id, "parentUuid": parent, "message": message}]
        )
    with open(path, "ab") as file:
        file.write(b'{"type":"us\n[1]\n')
    loaded = store.load(SESSION)
    assert [it["uuid"] for it in loaded or ()] == ["a", "b", "c"]
    assert store.load("../../x") is None
    assert os.stat(path).st_mode & 0o077 == 0


def test_folder_has_the_name_that_the_real_cli_gives_it(tmp_path: Path) -> None:
    # As 2.1.325 named them.
    assert SessionStore("", "/a/b.c", enabled=True).folder == "projects/-a-b-c"
    long = SessionStore("", "/" + "x" * 250, enabled=True).folder
    assert long.startswith("projects/-xxx")
    assert len(long) < 220


# --- checkpoints ----------------------------------------------------------------------------------


async def test_files_are_rewound_to_a_prompt(tmp_path: Path) -> None:
    def put(given: dict[str, Any]) -> None:
        Path(given["file_path"]).write_text(given["content"], "utf-8")

    async def write(chat: Chat) -> None:
        for name in ("old.txt", "new.txt"):
            given = {"file_path": str(tmp_path / name), "content": chat.text}
            await chat.use("Write", given, run=put)

    (tmp_path / "old.txt").write_text("before", "utf-8")
    env = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
    argv = ["--permission-mode=acceptEdits"]
    talk = Talk(SimulatedCLI(write, env=env, argv=argv, cwd=tmp_path))
    await talk.say(wire.UserMessage.of("one\ntwo", uuid=ONE))
    await talk.until_result()
    answer: Any = await talk.ask(wire.RewindFiles(ONE, dry_run=True))
    names = [Path(it).name for it in answer.body.files_changed]
    assert names == ["old.txt", "new.txt"]
    assert (answer.body.insertions, answer.body.deletions) == (1, 4)
    answer = await talk.ask(wire.RewindFiles(ONE))
    assert answer.body.can_rewind
    assert (tmp_path / "old.txt").read_text("utf-8") == "before"
    assert not (tmp_path / "new.txt").exists()
    answer = await talk.ask(wire.RewindFiles("unknown"))
    assert not answer.body.can_rewind
