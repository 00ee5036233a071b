from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest

from claudewire.errors import Cause, CLIError
from claudewire.launch import SessionLock
from claudewire.store import (
    AssistantEntry,
    BadLine,
    BlockingSessions,
    Sessions,
    StoreError,
    UserEntry,
    files,
    project_folder,
)
from claudewire.store import index as index_module
from claudewire.store.files import SessionNotFound
from claudewire.tracking import Price

from .made import MAIN, PLAIN, Writer, conversation

pytestmark = pytest.mark.anyio

OLD = timedelta(days=25)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def blocking(config: Path) -> BlockingSessions:
    return BlockingSessions(config)


@pytest.fixture
async def sessions(config: Path) -> AsyncIterator[Sessions]:
    async with Sessions(config) as sessions:
        yield sessions


def age(writer: Writer, past: timedelta) -> None:
    then = time.time() - past.total_seconds()
    os.utime(writer.path, (then, then))


# --- finding -------------------------------------------------------------------------------------


async def test_sessions_are_listed_the_last_changed_first(config: Path, sessions: Sessions) -> None:
    age(conversation(config), timedelta(hours=1))
    conversation(config, PLAIN)
    assert [info.id for info in await sessions.list()] == [PLAIN, MAIN]
    assert [info.id for info in await sessions.list(limit=1)] == [PLAIN]
    assert sessions.config_dir == config


async def test_without_a_folder_there_are_no_sessions(sessions: Sessions) -> None:
    assert await sessions.list() == []
    assert await sessions.search("anything") == []


def test_the_folder_comes_from_the_environment(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    assert [info.id for info in BlockingSessions().list()] == [MAIN]
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    monkeypatch.setenv("HOME", str(config.parent))
    assert BlockingSessions().config_dir == config.parent / ".claude"


def test_a_list_can_be_narrowed(config: Path, blocking: BlockingSessions) -> None:
    conversation(config)
    other = Writer(config, PLAIN, "/elsewhere/deep")
    other.user("Écris un poème", timestamp="2026-01-01T00:00:00Z")
    other.raw({"type": "tag", "tag": "poetry", "sessionId": PLAIN})

    def ids(**wanted: object) -> list[str]:
        return [info.id for info in blocking.list(**wanted)]  # type: ignore[arg-type]

    new_year = datetime(2026, 2, 1, tzinfo=UTC)
    assert ids(project="/elsewhere") == [PLAIN]
    assert ids(project="/else") == []
    assert ids(text="ecris UN") == [PLAIN]
    assert ids(tag="poetry") == [PLAIN]
    assert ids(since=new_year) == [MAIN]
    assert ids(until=new_year) == [PLAIN]
    assert ids(running=True) == ids(waiting=True) == []
    assert sorted(ids(running=False, waiting=False)) == [MAIN, PLAIN]


def test_sessions_of_git_worktrees_belong_to_the_project(
    tmp_path: Path, config: Path, blocking: BlockingSessions
) -> None:
    project, tree = tmp_path / "project", tmp_path / "tree"
    (project / ".git" / "worktrees" / "tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {project}/.git/worktrees/tree\n", encoding="utf-8")
    (project / ".git" / "worktrees" / "tree" / "gitdir").write_text(
        f"{tree}/.git\n", encoding="utf-8"
    )
    conversation(config, cwd=str(tree))
    for place in (project, tree):
        assert [info.id for info in blocking.list(project=place)] == [MAIN]
    (tree / ".git").write_text("nonsense", encoding="utf-8")
    assert blocking.list(project=project)


def test_files_of_git_that_are_not_text_name_no_worktrees(
    tmp_path: Path, config: Path, blocking: BlockingSessions
) -> None:
    project, tree = tmp_path / "project", tmp_path / "tree"
    for place in (project / ".git" / "worktrees" / "tree", tree):
        place.mkdir(parents=True)
    (project / ".git" / "worktrees" / "tree" / "gitdir").write_bytes(b"/\xff/.git\n")
    (tree / ".git").write_bytes(b"gitdir: /\xff\n")
    conversation(config, cwd=str(tree))
    assert blocking.list(project=project) == []
    assert [info.id for info in blocking.list(project=tree)] == [MAIN]


def test_a_session_without_a_directory_is_found_by_its_folder(
    config: Path, blocking: BlockingSessions
) -> None:
    Writer(config).raw({"type": "user", "message": {"role": "user", "content": "Hi"}})
    assert [info.id for info in blocking.list(project="/project")] == [MAIN]


def test_a_session_is_opened_by_the_beginning_of_its_id(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    assert blocking.open("0000").id == MAIN
    conversation(config, PLAIN)
    with pytest.raises(StoreError, match="Several sessions begin with '0000'"):
        blocking.open("0000")
    with pytest.raises(StoreError, match="There is no session 'x'"):
        blocking.open("x")
    with pytest.raises(StoreError, match="There is no session ''"):
        blocking.open("")
    assert blocking.open(MAIN).path == conversation(config).path


def test_an_id_is_found_although_others_begin_with_it(
    config: Path, blocking: BlockingSessions
) -> None:
    ids = [f"abc{end}" for end in ("", 1, 2, 3, 4, 5)]
    for id in ids:
        conversation(config, id)
    assert [blocking.info(id).id for id in ids] == ids
    with pytest.raises(SessionNotFound) as caught:
        blocking.info("ab")
    assert str(caught.value) == (
        f"Several sessions begin with 'ab' in {config}/projects: abc, abc1, abc2, abc3, abc4"
        "\nSay more of it."
    )
    with pytest.raises(SessionNotFound, match=f"There is no session 'abcd' in {config}/projects"):
        blocking.info("abcd")


def test_a_session_with_nothing_but_replies_is_listed(
    config: Path, blocking: BlockingSessions
) -> None:
    Writer(config).model("Hello")
    Writer(config, PLAIN).raw({"type": "mode"})
    assert [(info.id, info.prompts, info.replies) for info in blocking.list()] == [(MAIN, 0, 1)]


async def test_a_transcript_gives_entries_blocks_branches_and_agents(
    config: Path, sessions: Sessions
) -> None:
    writer = conversation(config)
    writer.raw(b'{"type": "user", "mess\n')
    transcript = await sessions.open(MAIN)
    entries = [entry async for entry in transcript.entries()]
    assert [type(entry) for entry in entries[:2]] == [UserEntry, AssistantEntry]
    assert isinstance(entries[-1], BadLine)
    assert len([entry async for entry in transcript.conversation()]) == 6
    assert len([block async for block in transcript.blocks()]) == 6
    assert len(await transcript.branches()) == 1
    assert await transcript.agents() == []
    (finding,) = await transcript.findings()
    assert (finding.kind, finding.offset) == ("bad line", writer.path.stat().st_size - 23)
    assert (transcript.id, transcript.path) == (MAIN, writer.path)
    assert transcript.info.bad_lines == 1


async def test_reading_can_be_broken_off(config: Path, sessions: Sessions) -> None:
    conversation(config)
    transcript = await sessions.open(MAIN)
    entries = transcript.entries()
    async for entry in entries:
        assert entry.uuid == "u1"
        break
    await entries.aclose()


def test_subagents_are_found_at_any_depth_with_those_who_started_them(
    config: Path, blocking: BlockingSessions
) -> None:
    main = Writer(config)
    main.user("Go")
    main.call("Agent", id="call-a", prompt="Look")

    def agent(id: str, place: str, call: str | None = None, **meta: str) -> None:
        folder = main.path.with_suffix("") / "subagents" / place
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"agent-{id}.jsonl"
        lines = [
            {
                "type": "user",
                "sessionId": MAIN,
                "agentId": id,
                "uuid": f"{id}1",
                "isSidechain": True,
                "message": {"role": "user", "content": "Look"},
            }
        ]
        if call:
            use = {"type": "tool_use", "id": call, "name": "Agent", "input": {}}
            lines.append(
                {
                    "type": "assistant",
                    "uuid": f"{id}2",
                    "agentId": id,
                    "isSidechain": True,
                    "message": {"id": f"m{id}", "role": "assistant", "content": [use]},
                }
            )
        path.write_text("".join(json.dumps(it) + "\n" for it in lines), encoding="utf-8")
        path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")

    agent("a", "", "call-b", toolUseId="call-a", agentType="Explore", description="Look around")
    agent("b", "", "call-c", toolUseId="call-b")
    agent("c", "deeper/down", None, toolUseId="call-c")
    found = {it.id: (it.parent, it.depth) for it in blocking.open(MAIN).agents()}
    assert found == {"a": (None, 1), "b": ("a", 2), "c": ("b", 3)}
    first = blocking.open(MAIN).agents()[0]
    assert (first.type, first.description) == ("Explore", "Look around")
    assert blocking.info(MAIN).agents == 3
    assert len(list(blocking.open(MAIN).entries(agent="b"))) == 2
    with pytest.raises(StoreError, match="has no subagent z"):
        list(blocking.open(MAIN).entries(agent="z"))
    forked = blocking.open(blocking.fork(MAIN).id).agents()
    assert {it.id: (it.parent, it.depth) for it in forked} == found


def test_subagents_have_the_order_of_their_paths(config: Path, blocking: BlockingSessions) -> None:
    Writer(config).user("Go")
    for name in ("z/agent-b", "agent-m", "a/agent-x", "z/agent-a", "agent-c"):
        Writer(config, f"{MAIN}/subagents/{name}").user("Look")
    Writer(config, "agent-a0").user("Look", sessionId=MAIN)
    assert [it.id for it in blocking.open(MAIN).agents()] == ["x", "c", "m", "a", "b", "a0"]


def test_subagents_that_have_started_each_other_have_a_depth(
    config: Path, blocking: BlockingSessions
) -> None:
    Writer(config).user("Go")
    for id, calls in (("a", []), ("b", ["call-a", "call-c"]), ("c", ["call-b"])):
        writer = Writer(config, f"{MAIN}/subagents/agent-{id}")
        writer.user("Look")
        for call in calls:
            writer.call("Agent", id=call)
        meta = json.dumps({"toolUseId": f"call-{id}"})
        writer.path.with_suffix(".meta.json").write_text(meta, encoding="utf-8")
    found = {it.id: (it.parent, it.depth) for it in blocking.open(MAIN).agents()}
    assert found == {"a": ("b", 3), "b": ("c", 2), "c": ("b", 2)}


def test_subagents_of_older_clis_lie_beside_their_session(
    config: Path, blocking: BlockingSessions
) -> None:
    main = conversation(config)
    call: dict[str, Any] = {"isSidechain": True, "agentId": "x", "sessionId": MAIN}
    side = Writer(config, "agent-x")
    side.user("Look", **call)
    side.model("Seen", **call)
    Writer(config, "agent-y").user("Other", sessionId=PLAIN)
    main.result("done", toolUseResult={"agentId": "x"})
    assert [info.id for info in blocking.list()] == [MAIN]
    info = blocking.info(MAIN)
    assert (info.agents, info.replies) == (1, 4)
    (agent,) = blocking.open(MAIN).agents()
    assert (agent.id, agent.tool_use_id) == ("x", "toolu_1")

    (forked,) = blocking.open(blocking.fork(MAIN).id).agents()
    assert (forked.id, forked.tool_use_id) == ("x", "toolu_1")
    assert blocking.archive(older_than=timedelta(0))
    blocking.delete(MAIN)
    assert not side.path.exists()
    assert (config / "projects" / "-project" / "agent-y.jsonl").exists()
    blocking.restore(MAIN)
    assert blocking.info(MAIN).agents == 1
    blocking.delete(MAIN)
    assert blocking.unarchive(MAIN).agents == 1
    assert blocking.totals()["claude-opus-5-5"].calls == 4


def test_a_subagent_of_which_nobody_says_who_started_it_is_in_a_fork_from_its_time_on(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    side = Writer(config, "agent-compact")
    side.user("Sum it up", sessionId=MAIN, timestamp="2026-11-17T10:00:04.000Z")
    found = [blocking.fork(MAIN, at=f"u{number}").agents for number in range(1, 7)]
    assert found == [0, 0, 0, 1, 1, 1]
    assert blocking.fork(MAIN).agents == 1


def test_a_subagent_that_a_later_line_starts_is_in_no_fork_before_it(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config)
    writer.call("Agent", id="call-late")
    early = {"timestamp": "2026-11-17T09:00:00.000Z"}
    for id, call, inner in (("late", "call-late", "call-inner"), ("inner", "call-inner", "x")):
        agent = Writer(config, f"{MAIN}/subagents/agent-{id}")
        agent.user("Look", **early)
        agent.call("Agent", id=inner)
        meta = json.dumps({"toolUseId": call})
        agent.path.with_suffix(".meta.json").write_text(meta, encoding="utf-8")
    Writer(config, f"{MAIN}/subagents/agent-empty").path.write_bytes(b"")
    Writer(config, f"{MAIN}/subagents/agent-timeless").user("Look", timestamp=None)

    def agents(at: str | None) -> list[str]:
        return sorted(it.id for it in blocking.open(blocking.fork(MAIN, at=at).id).agents())

    assert agents("u6") == ["empty", "timeless"]
    assert agents("u7") == agents(None) == ["empty", "inner", "late", "timeless"]


def test_a_subagent_that_is_removed_counts_no_longer(
    config: Path, blocking: BlockingSessions
) -> None:
    main = conversation(config)
    side = Writer(config, f"{MAIN}/subagents/agent-x")
    side.model("Seen", usage={"input_tokens": 1000})
    assert blocking.totals()["claude-opus-5-5"].input_tokens == 1030
    side.path.unlink()
    main.user("More")
    assert blocking.info(MAIN).totals.input_tokens == 30
    assert blocking.totals()["claude-opus-5-5"].input_tokens == 30


# --- facts ---------------------------------------------------------------------------------------


def test_a_title_comes_from_a_person_before_the_cli_before_the_first_prompt(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.user("  First\n prompt ")
    assert blocking.info(MAIN).title == "First prompt"
    assert blocking.info(MAIN).title_source == "prompt"
    writer.raw({"type": "ai-title", "aiTitle": "By the CLI", "sessionId": MAIN})
    assert blocking.info(MAIN).title == "By the CLI"
    blocking.rename(MAIN, "Mine")
    writer.raw({"type": "ai-title", "aiTitle": "Again", "sessionId": MAIN})
    assert (blocking.info(MAIN).title, blocking.info(MAIN).title_source) == ("Mine", "custom")


def test_of_a_long_prompt_the_beginning_is_kept(config: Path, blocking: BlockingSessions) -> None:
    for id, length in ((MAIN, 200), (PLAIN, 2000), ("abc", 2001)):
        Writer(config, id).user("x" * length)
    infos = [blocking.info(id) for id in (MAIN, PLAIN, "abc")]
    assert [len(info.first_prompt or "") for info in infos] == [200, 2000, 2000]
    assert [len(info.title or "") for info in infos] == [200, 200, 200]


def test_what_a_tool_was_given_is_never_a_title(config: Path, blocking: BlockingSessions) -> None:
    writer = conversation(config)
    fake = '{"type":"custom-title","customTitle":"Spoofed"}'
    writer.call("Write", content=fake, customTitle="Spoofed")
    writer.result(fake, toolUseResult={"type": "custom-title", "customTitle": "Spoofed"})
    assert blocking.info(MAIN).title == "How do retries work?"


def test_lines_of_one_message_are_counted_once_with_the_largest_numbers(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.user("Go")
    for output in (1, 40, 7):
        writer.model("piece", id="m1", usage={"input_tokens": 100, "output_tokens": output})
    writer.model("copy", id="m1", usage={"input_tokens": 0, "output_tokens": 0})
    totals = blocking.info(MAIN).totals
    assert (totals.input_tokens, totals.output_tokens, totals.calls) == (100, 40, 1)


def test_what_the_cli_says_in_the_models_place_costs_nothing(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config)
    before = blocking.info(MAIN).totals
    said = {"role": "assistant", "model": "<synthetic>", "id": "x", "content": [], "usage": {}}
    writer.line(type="assistant", message=said)
    writer.line(type="assistant", message=None)
    assert blocking.info(MAIN).totals == before


def test_a_cost_follows_from_prices_or_from_what_the_cli_wrote(config: Path) -> None:
    writer = Writer(config)
    writer.user("Go")
    writer.model("Done", usage={"input_tokens": 1_000_000, "output_tokens": 0})
    assert BlockingSessions(config).info(MAIN).cost_usd is None
    price = {"claude-opus": Price(4, 20, 0.4, 5)}
    priced = BlockingSessions(config, prices=price, index=config / "priced.db")
    assert priced.info(MAIN).cost_usd == 4
    usage = {"claude-opus-5-5": {"inputTokens": 1_000_000, "outputTokens": 0, "costUSD": 3.0}}
    writer.raw({"type": "cost-state", "totalCostUSD": 3.0, "modelUsage": usage})
    assert BlockingSessions(config).info(MAIN).cost_usd == 3
    assert sum(it.cost_usd or 0 for it in BlockingSessions(config).totals().values()) == 3


def test_totals_follow_from_the_prices_or_from_what_another_session_has_cost(
    config: Path,
) -> None:
    used = {"input_tokens": 1_000_000}
    for id in (MAIN, PLAIN):
        Writer(config, id).model("Done", usage=used)
    assert BlockingSessions(config).totals()["claude-opus-5-5"].cost_usd is None
    usage = {"claude-opus-5-5": {"inputTokens": 1_000_000, "outputTokens": 0, "costUSD": 3.0}}
    Writer(config).raw({"type": "cost-state", "totalCostUSD": 3.0, "modelUsage": usage})
    sessions = BlockingSessions(config)
    assert [sessions.info(id).cost_usd for id in (MAIN, PLAIN)] == [3, None]
    assert sessions.totals()["claude-opus-5-5"].cost_usd == 6
    priced = BlockingSessions(
        config, prices={"claude-opus": Price(4, 20, 0.4, 5)}, index=config / "priced.db"
    )
    assert [priced.info(id).cost_usd for id in (MAIN, PLAIN)] == [4, 4]
    assert priced.totals()["claude-opus-5-5"].cost_usd == 8
    (info,) = [it for it in priced.list() if it.id == PLAIN]
    assert priced.totals([info])["claude-opus-5-5"].cost_usd == 4


def test_costs_that_older_clis_wrote_into_each_line_are_added_up(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.model("One", id="a", costUSD=0.25)
    writer.model("Two", id="b")
    writer.model("Two", id="b", costUSD=0.5, usage={"input_tokens": 11, "output_tokens": 5})
    assert blocking.info(MAIN).cost_usd == 0.75


def test_lines_with_something_unexpected_still_count(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.user("First", gitBranch=5)
    writer.user("Second", cwd=["x"])
    writer.user("Aside", cwd=["x"], isSidechain=True)
    writer.model("Third", version=7)
    writer.line(type="assistant", version=7, message={"role": "assistant", "content": []})
    writer.line(type="mode", version=7)
    writer.raw(b"\xff\n")
    info = blocking.info(MAIN)
    assert (info.prompts, info.replies, info.bad_lines) == (2, 1, 1)
    assert info.first_prompt == "First"
    assert info.totals.input_tokens == 10


def test_an_odd_time_is_no_time(config: Path, blocking: BlockingSessions) -> None:
    Writer(config).user("Hi", timestamp="yesterday")
    assert blocking.info(MAIN).begin is None
    Writer(config, PLAIN).user("Hi", timestamp="2026-11-17T10:00:00")
    begin = blocking.info(PLAIN).begin
    assert begin is not None
    assert begin.tzinfo is not None


# --- running -------------------------------------------------------------------------------------


def register(config: Path, **fields: object) -> None:
    folder = config / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    pid = fields.get("pid", os.getpid())
    (folder / f"{pid}.json").write_text(
        json.dumps({"pid": pid, "sessionId": MAIN, **fields}), encoding="utf-8"
    )


def test_a_session_runs_if_its_process_says_so_and_is_there(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    started = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    register(config, status="busy", procStart=started)
    assert (blocking.info(MAIN).status, blocking.info(MAIN).pid) == ("running", os.getpid())
    assert [info.id for info in blocking.list(running=True)] == [MAIN]
    register(config, status="waiting", waitingFor="permission")
    assert [info.id for info in blocking.list(waiting=True)] == [MAIN]
    register(config, procStart="1")  # another process that has the same number now
    assert blocking.info(MAIN).status == "ended"
    (config / "sessions" / f"{os.getpid()}.json").write_text("{", encoding="utf-8")
    assert blocking.info(MAIN).status == "ended"


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "running"),
        ({"status": "busy"}, "running"),
        ({"status": "waiting"}, "waiting"),
        ({"waitingFor": "permission"}, "waiting"),
        ({"status": "busy", "waitingFor": ""}, "waiting"),
        ({"pid": str(os.getpid())}, "running"),
        ({"pid": 2**63}, "ended"),
        ({"sessionId": PLAIN}, "ended"),
        ({"sessionId": None}, "ended"),
    ],
)
def test_what_a_process_says_about_itself_tells_whether_it_waits(
    config: Path, blocking: BlockingSessions, fields: dict[str, Any], status: str
) -> None:
    conversation(config)
    register(config, **fields)
    (config / "sessions" / "notes.txt").write_text(
        json.dumps({"pid": os.getpid(), "sessionId": MAIN, "status": "waiting"}), encoding="utf-8"
    )
    info = blocking.info(MAIN)
    assert (info.status, info.pid) == (status, None if status == "ended" else os.getpid())


def test_a_process_that_has_ended_runs_nothing(config: Path, blocking: BlockingSessions) -> None:
    conversation(config)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    register(config, pid=process.pid)
    assert blocking.info(MAIN).status == "ended"


def test_without_a_list_of_processes_they_are_asked_for_by_a_signal(
    config: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    answers = [None, PermissionError(), ProcessLookupError(), OverflowError()]

    def kill(pid: int, signal: int) -> None:
        answer = answers.pop(0)
        if answer is not None:
            raise answer

    register(config, pid=2**22 + 1)
    monkeypatch.setattr(os, "kill", kill)
    monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc/self")
    found = [blocking.info(MAIN).status for _ in range(4)]
    assert found == ["running", "running", "ended", "ended"]


def test_a_session_of_this_library_is_seen_by_its_lock(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    lock = SessionLock(MAIN, os.path.realpath(config))
    assert blocking.info(MAIN).status == "running"
    with pytest.raises(CLIError, match="is open already, in process") as caught:
        blocking.resume(MAIN)
    assert caught.value.cause is Cause.SESSION_IN_USE
    lock.release()
    assert blocking.info(MAIN).status == "ended"


# --- the index -----------------------------------------------------------------------------------


def test_only_what_is_new_is_read(
    config: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    conversation(config, PLAIN)
    blocking.list()
    starts: list[tuple[str, int]] = []
    lines_of = files.lines_of

    def noting(file: object, start: int = 0) -> object:
        starts.append((Path(file.name).name if isinstance(file.name, str) else "", start))  # type: ignore[attr-defined]
        return lines_of(file, start)  # type: ignore[arg-type]

    monkeypatch.setattr(index_module, "lines_of", noting)
    blocking.list()
    assert starts == []
    size = writer.path.stat().st_size
    writer.user("One more")
    assert blocking.info(MAIN).prompts == 3
    assert [start for _, start in starts] == [size]


def test_a_line_without_its_end_counts_once_it_is_complete(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config)
    line = json.dumps({"type": "user", "message": {"role": "user", "content": "Late"}}).encode()
    writer.raw(line[:20])
    assert blocking.info(MAIN).prompts == 2
    writer.raw(line[20:])
    assert blocking.info(MAIN).prompts == 3
    writer.raw(b"\n")
    writer.user("Next")
    assert blocking.info(MAIN).prompts == 4


def test_a_file_that_was_rewritten_is_read_anew(config: Path, blocking: BlockingSessions) -> None:
    writer = conversation(config)
    assert blocking.search("letter")
    writer.path.write_bytes(b"")
    for number in range(9):
        writer.user(f"Something else entirely, number {number}")
    assert blocking.info(MAIN).prompts == 9
    assert blocking.search("letter") == []
    assert len(blocking.search("entirely")) == 9


def test_what_was_removed_is_forgotten(config: Path, blocking: BlockingSessions) -> None:
    writer = conversation(config)
    assert blocking.search("zebra")
    writer.path.unlink()
    assert blocking.list() == []
    assert blocking.search("zebra") == []
    id = MAIN.replace("0", "1")
    other = Writer(config, id)  # in the index it may have the number of the one before
    other.user("Seen?")
    other.model("A giraffe", usage={"input_tokens": 7})
    assert blocking.info(id).totals.input_tokens == 7
    assert [hit.session.id for hit in blocking.search("giraffe")] == [id]
    assert blocking.search("zebra") == []


def test_a_search_bears_with_files_that_have_just_changed(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config)
    assert blocking.search("zebra")
    content = writer.path.read_bytes()
    writer.path.write_bytes(content.replace(b"zebra", b"\xff{}[]"))
    assert blocking.search("zebra") == []
    writer.path.unlink()
    assert blocking.search("retries") == []


@pytest.mark.parametrize("damage", [b"not a database", b""])
def test_a_damaged_index_is_made_anew(config: Path, tmp_path: Path, damage: bytes) -> None:
    conversation(config)
    path = tmp_path / "deep" / "index.db"
    with BlockingSessions(config, index=path) as before:
        assert before.search("zebra")
    path.write_bytes(damage or path.read_bytes()[:5000] + b"\0" * 5000)
    after = BlockingSessions(config, index=path)
    assert [info.id for info in after.list()] == [MAIN]
    assert after.search("zebra")


def test_an_index_of_another_version_is_made_anew(config: Path, tmp_path: Path) -> None:
    conversation(config)
    path = tmp_path / "index.db"
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 99")
        database.execute("CREATE TABLE files (other)")
    database.close()
    assert BlockingSessions(config, index=path).list()


def test_an_index_that_cannot_be_kept_is_kept_in_memory(
    config: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    conversation(config)
    (tmp_path / "file").write_text("", encoding="utf-8")
    sessions = BlockingSessions(config, index=tmp_path / "file" / "index.db")
    assert [info.id for info in sessions.list()] == [MAIN]
    assert "cannot be kept" in caplog.text
    (tmp_path / "folder").mkdir()
    assert BlockingSessions(config, index=tmp_path / "folder").list()


def test_an_index_that_another_process_holds_is_an_error(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    monkeypatch.setattr(index_module, "BUSY", 0.01)
    path = tmp_path / "index.db"
    sessions = BlockingSessions(config, index=path)
    sessions.list()
    conversation(config, PLAIN)
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another process"):
            sessions.list()
        other.execute("ROLLBACK")
    other.close()
    assert len(sessions.list()) == 2


def test_an_error_while_reading_leaves_the_index_as_it_was(
    config: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    with monkeypatch.context() as patch:
        patch.setattr(index_module, "combine", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            blocking.list()
    assert [info.id for info in blocking.list()] == [MAIN]


def test_what_another_process_has_indexed_meanwhile_is_not_indexed_again(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    one, other = (BlockingSessions(config, index=tmp_path / "index.db") for _ in range(2))
    one.list()
    other.list()
    meanwhile = iter([other])

    def between() -> None:
        for sessions in meanwhile:
            sessions.search("retries")

    monkeypatch.setattr(index_module, "check_cancelled", between)
    assert len(one.search("retries")) == 1
    one.close()
    other.close()


async def test_a_cancelled_search_ends_soon_and_the_next_goes_on(
    config: Path, sessions: Sessions
) -> None:
    for number in range(70):
        conversation(config, f"0000-{number}")
    with anyio.CancelScope() as scope:
        scope.cancel()
        await sessions.search("zebra")
    assert scope.cancelled_caught
    assert len(await sessions.list()) == 70


# --- search --------------------------------------------------------------------------------------


WITHOUT_FTS = "CREATE VIRTUAL TABLE texts USING fts5_is_not_there (x);"


@pytest.fixture(params=["FTS5", "scanning"])
def searched(
    config: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> BlockingSessions:
    if request.param == "scanning":
        monkeypatch.setattr(index_module, "_TEXTS", WITHOUT_FTS)
    conversation(config)
    other = Writer(config, PLAIN, "/shop")
    other.user("The queue has a dead spot, no letter", timestamp="2026-01-05T00:00:00")
    other.call("mcp__store__query", sql="select zebra")
    Writer(config, "nowhere", "/some/place").user("Is it here?", cwd=None)
    return BlockingSessions(config)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("retries", {"u1"}),
        ("RETRIES work", {"u1"}),
        ("show ME", {"u3"}),
        ('"dead letter"', {"u3"}),
        ("dead letter", {"u3", "u1 shop"}),
        ("dead -queue", set()),
        ("dead -spot", {"u3"}),
        ("retr*", {"u1"}),
        ("retr", set()),
        ("zebra", {"u4", "u2 shop"}),
        ("zebrafish", set()),
        ("queue role:user", {"u3", "u1 shop"}),
        ("queue role:assistant", {"u6"}),
        ("zebra role:tool", {"u4", "u2 shop"}),
        ("zebra project:SHOP", {"u2 shop"}),
        ("dead since:2026-11-01", {"u3"}),
        ("dead until:2026-11-01", {"u1 shop"}),
        ("dead until:300w", set()),
        ("dead since:2026-01-05T00:00+00:00", {"u3", "u1 shop"}),
        ("dead since:2026-01-05T00:00:01+00:00", {"u3"}),
        ("dead until:2026-01-05T00:00+00:00", set()),
        ("dead until:2026-01-05T00:00:01+00:00", {"u1 shop"}),
        ("here project:-place", {"u1 nowhere"}),
        ("zebra tool:BASH", {"u4"}),
        ("zebra tool:Bash", {"u4"}),
        ("tool:mcp__store__query", {"u2 shop"}),
        ("queue.py", {"u6"}),
        ('AND OR NOT "', set()),
    ],
)
def test_a_search_finds(searched: BlockingSessions, query: str, found: set[str]) -> None:
    hits = searched.search(query)
    shop = {MAIN: "", PLAIN: " shop", "nowhere": " nowhere"}
    assert {f"{hit.uuid}{shop[hit.session.id]}" for hit in hits} == found


def test_a_hit_shows_where_the_words_are(searched: BlockingSessions) -> None:
    (hit,) = searched.search('"dead letter"')
    assert hit.snippet == "Show me the dead letter queue"
    assert [hit.snippet[slice(*span)] for span in hit.spans] == ["dead", "letter"]
    assert (hit.role, hit.session.id) == ("user", MAIN)
    assert len(searched.search("queue", limit=1)) == 1


def test_a_hit_in_a_subagent_names_it_and_there_are_20_hits_unless_told_otherwise(
    searched: BlockingSessions, config: Path
) -> None:
    side = Writer(config, f"{MAIN}/subagents/agent-a")
    for _ in range(21):
        side.user("A walrus", agentId="a")
    assert [(hit.agent, hit.session.id) for hit in searched.search("walrus")] == [("a", MAIN)] * 20
    assert len(searched.search("walrus", limit=21)) == 21
    (hit,) = searched.search("retries")
    assert hit.agent is None


def test_what_a_person_said_comes_first(config: Path, blocking: BlockingSessions) -> None:
    writer = Writer(config)
    writer.call("Bash", command="walrus")
    writer.model("A walrus")
    writer.user("A walrus")
    assert [hit.role for hit in blocking.search("walrus")] == ["user", "assistant", "tool"]


@pytest.mark.parametrize("scanning", [False, True])
def test_the_output_of_tools_is_searched_if_asked_for(
    config: Path, scanning: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if scanning:
        monkeypatch.setattr(index_module, "_TEXTS", WITHOUT_FTS)
    conversation(config)
    assert BlockingSessions(config).search("zebrafish") == []
    (hit,) = BlockingSessions(config, tool_output=True).search("zebrafish")
    assert "zebrafish" in hit.snippet


def test_encoded_bytes_and_notes_of_the_cli_are_not_searched(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.user("before " + "QUJD" * 100 + " after")
    writer.user("A caveat", isMeta=True)
    writer.user("A strange one", cwd=5)
    writer.user("A hidden one", cwd=5, isMeta=True)
    writer.user([{"type": "image", "source": {"type": "base64", "data": "QUJD"}}])
    assert blocking.search("QUJD*") == []
    (hit,) = blocking.search("after")
    assert (hit.uuid, hit.snippet.split()) == ("u1", ["before", "after"])
    assert blocking.search("caveat") == blocking.search("hidden") == []
    assert blocking.search("strange")


def test_a_long_text_is_shown_around_the_word(config: Path, blocking: BlockingSessions) -> None:
    Writer(config).user("many " * 100 + "walrus " + "words " * 100)
    (hit,) = blocking.search("walrus")
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert [hit.snippet[slice(*span)] for span in hit.spans] == ["walrus"]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "nothing to search for"),
        ("-word", "nothing to search for"),
        ("... !", "nothing to search for"),
        ("x role:king", "role:king is not a role"),
        ("x since:never", "'never' is not a time"),
        ("x -role:user", "-role:user is not possible"),
        ("x role:user role:tool", "role: is there twice"),
        ("x since: 7d", "since: has no value"),
        ('x tool:""', 'tool:"" has no value'),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    blocking: BlockingSessions, query: str, message: str
) -> None:
    with pytest.raises(StoreError, match=message):
        blocking.search(query)


# --- changing ------------------------------------------------------------------------------------


async def test_a_session_is_renamed_and_tagged_by_one_line_each(
    config: Path, sessions: Sessions
) -> None:
    writer = conversation(config)
    before = writer.path.read_bytes()
    await sessions.rename(MAIN, "A new\x00\nname ")
    await sessions.tag(MAIN, "good")
    info = await sessions.info(MAIN)
    assert (info.title, info.tag) == ("A new name", "good")
    await sessions.tag(MAIN, None)
    assert (await sessions.info(MAIN)).tag is None
    after = writer.path.read_bytes()
    assert after.startswith(before)
    assert len(after[len(before) :].splitlines()) == 3
    with pytest.raises(StoreError, match="must not be empty"):
        await sessions.rename(MAIN, " \n")


async def test_what_was_deleted_is_in_the_trash_and_can_be_restored(
    config: Path, sessions: Sessions
) -> None:
    writer = conversation(config)
    agents = writer.path.with_suffix("") / "subagents"
    agents.mkdir(parents=True)
    (agents / "agent-a.jsonl").write_text('{"type":"user"}\n', encoding="utf-8")
    content = writer.path.read_bytes()
    trashed = await sessions.delete(MAIN)
    assert await sessions.list() == []
    assert not writer.path.with_suffix("").exists()
    assert await sessions.trash() == [trashed]
    assert (await sessions.restore(MAIN)).agents == 1
    assert writer.path.read_bytes() == content
    assert await sessions.trash() == []
    with pytest.raises(StoreError, match="in the trash"):
        await sessions.restore(MAIN)


async def test_a_trash_is_emptied(
    config: Path, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    writer = conversation(config)
    await sessions.delete(MAIN)
    assert await sessions.empty_trash(older_than=timedelta(days=1)) == 0
    conversation(config)
    with pytest.raises(StoreError, match="again"):
        await sessions.restore(MAIN)
    (config / "claudewire" / "trash" / "odd").mkdir()
    (config / "claudewire" / "trash" / "odd" / "session.json").write_text("{", encoding="utf-8")
    assert await sessions.empty_trash() == 1
    assert "cannot be read" in caplog.text
    assert writer.path.exists()


def test_a_session_that_runs_is_not_deleted(config: Path, blocking: BlockingSessions) -> None:
    conversation(config)
    register(config)
    with pytest.raises(StoreError, match="cannot be deleted: process") as caught:
        blocking.delete(MAIN)
    assert caught.value.advice == "End that process first, or work with a fork."


async def test_a_fork_has_the_conversation_up_to_a_line(config: Path, sessions: Sessions) -> None:
    conversation(config)
    fork = await sessions.fork(MAIN, at="u2", title="Other way")
    assert (fork.parent, fork.title, fork.prompts) == (MAIN, "Other way", 1)
    entries = [entry async for entry in (await sessions.open(fork.id)).conversation()]
    assert [entry.uuid for entry in entries] == ["u1", "u2"]
    assert {entry.session_id for entry in entries} == {fork.id}
    whole = await sessions.fork(MAIN)
    assert whole.prompts == 2
    with pytest.raises(StoreError, match="has no line zz"):
        await sessions.fork(MAIN, at="zz")
    assert len(await sessions.list()) == 3


def test_each_line_of_a_fork_says_where_it_comes_from(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config).raw(b"broken\n")
    agent = Writer(config, f"{MAIN}/subagents/agent-a")
    agent.user("Look", timestamp=None)
    agent.raw(b"broken \xff\n")
    fork = blocking.fork(MAIN, title=" My  fork ")
    title, *lines = map(json.loads, Path(fork.path).read_bytes().splitlines())
    assert title == {"type": "custom-title", "customTitle": "My fork", "sessionId": fork.id}
    assert [(it["uuid"], it["sessionId"], it["forkedFrom"]) for it in lines] == [
        (f"u{n}", fork.id, {"sessionId": MAIN, "messageUuid": f"u{n}"}) for n in range(1, 7)
    ]
    copy = Path(fork.path).with_suffix("") / "subagents" / "agent-a.jsonl"
    first, broken = copy.read_bytes().splitlines()
    assert json.loads(first)["forkedFrom"] == {"sessionId": MAIN, "messageUuid": "u1"}
    assert broken == b"broken \xff"


@pytest.mark.parametrize("title", [None, "", " \n"])
def test_a_fork_without_a_title_has_no_line_for_it(
    config: Path, blocking: BlockingSessions, title: str | None
) -> None:
    conversation(config)
    fork = blocking.fork(MAIN, at="u1", title=title)
    (line,) = Path(fork.path).read_bytes().splitlines()
    assert json.loads(line)["uuid"] == "u1"


async def test_everything_works_without_blocking_the_event_loop(
    config: Path, sessions: Sessions, tmp_path: Path
) -> None:
    conversation(config)
    path = await sessions.export(MAIN, tmp_path / "out.zip")
    await sessions.delete(MAIN)
    assert (await sessions.import_(path, cwd="/project")).id == MAIN
    (totals,) = (await sessions.totals()).values()
    assert totals.calls == 3
    assert (await sessions.totals(await sessions.list(limit=0))) == {}


async def test_resuming_gives_options(config: Path, sessions: Sessions, tmp_path: Path) -> None:
    writer = conversation(config, cwd=str(tmp_path))
    options = await sessions.resume(MAIN)
    assert (options.resume, options.cwd, options.fork_session) == (MAIN, str(tmp_path), False)
    assert options.env == {"CLAUDE_CONFIG_DIR": str(config)}
    register(config)
    with pytest.raises(CLIError, match="is open already"):
        await sessions.resume(MAIN)
    assert (await sessions.resume(MAIN, fork=True)).fork_session
    assert writer.path.exists()


def test_a_session_of_the_default_folder_needs_no_variable(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config, cwd=str(tmp_path))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(config))
    assert BlockingSessions().resume(MAIN).env == {}


def test_a_moved_project_is_resumed_where_it_is_now(
    config: Path, tmp_path: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config, cwd=str(tmp_path / "gone"))
    with pytest.raises(StoreError, match="is not there"):
        blocking.resume(MAIN)
    now = tmp_path / "now"
    now.mkdir()
    for _ in range(2):
        assert blocking.resume(MAIN, cwd=now).cwd == str(now)
    copy = config / "projects" / project_folder(now) / f"{MAIN}.jsonl"
    assert copy.read_bytes() == writer.path.read_bytes()
    assert blocking.info(MAIN).path == str(copy)


def test_a_session_without_a_directory_is_resumed_where_one_says(
    config: Path, tmp_path: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    Writer(config).user("Hi", cwd=None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match=f"The directory of the session {MAIN}"):
        blocking.resume(MAIN)
    assert blocking.resume(MAIN, cwd=tmp_path).cwd == str(tmp_path)


def test_a_moved_session_is_completed_by_what_is_not_there_yet(
    config: Path, tmp_path: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    for name in ("agent-a", "agent-b"):
        Writer(config, f"{MAIN}/subagents/{name}").user(name)
    there = config / "projects" / project_folder(tmp_path) / MAIN / "subagents" / "agent-a.jsonl"
    there.parent.mkdir(parents=True)
    there.write_bytes(b"")
    blocking.resume(MAIN, cwd=tmp_path)
    assert there.read_bytes() == b""
    assert there.with_name("agent-b.jsonl").stat().st_size > 0
    there.with_name("agent-b.jsonl").unlink()
    blocking.resume(MAIN, cwd=tmp_path)  # it is there, and as it is now
    assert not there.with_name("agent-b.jsonl").exists()


# --- the sweep -----------------------------------------------------------------------------------


async def test_old_sessions_are_archived_before_the_cli_deletes_them(
    config: Path, sessions: Sessions, caplog: pytest.LogCaptureFixture
) -> None:
    old = conversation(config)
    conversation(config, PLAIN)
    age(old, OLD)
    with caplog.at_level(logging.WARNING, "claudewire.store"):
        await sessions.list()
        await sessions.list()
    assert caplog.text.count("archive() keeps them") == 1
    assert [info.id for info in await sessions.expiring()] == [MAIN]
    assert [info.id for info in await sessions.archive()] == [MAIN]
    assert await sessions.archive() == []
    assert await sessions.expiring() == []
    content = old.path.read_bytes()
    old.path.unlink()
    assert [info.id for info in await sessions.archived()] == [MAIN]
    assert (await sessions.unarchive(MAIN)).id == MAIN
    assert old.path.read_bytes() == content
    assert await sessions.expiring() == []
    with pytest.raises(StoreError, match="already"):
        await sessions.unarchive(MAIN)
    with pytest.raises(StoreError, match="in the archive"):
        await sessions.unarchive(PLAIN)


def refuse_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no transcript be linked."""
    link = os.link

    def refuse(source: object, target: object) -> None:
        if str(source).endswith(".jsonl"):
            raise OSError
        link(source, target)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "link", refuse)


def test_where_links_are_not_possible_the_archive_has_copies(
    config: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    age(writer, OLD)
    refuse_links(monkeypatch)
    blocking.archive()
    (info,) = blocking.archived()
    assert Path(info.path).stat().st_ino != writer.path.stat().st_ino
    assert Path(info.path).read_bytes() == writer.path.read_bytes()


def test_an_archived_copy_is_renewed_once_its_session_has_grown(
    config: Path, blocking: BlockingSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = conversation(config)
    age(writer, OLD)
    refuse_links(monkeypatch)
    blocking.archive()
    (before,) = blocking.archived()
    writer.user("One more thing")
    age(writer, OLD)
    assert [info.id for info in blocking.expiring()] == [MAIN]
    assert [info.id for info in blocking.archive()] == [MAIN]
    assert blocking.archive() == []
    (after,) = blocking.archived()
    assert (before.prompts, after.prompts) == (2, 3)
    assert [path.name for path in Path(after.path).parent.iterdir()] == [writer.path.name]


def test_a_subagent_that_came_after_the_archive_is_archived_too(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = conversation(config)
    age(writer, OLD)
    blocking.archive()
    folder = writer.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    line = writer.path.read_bytes().splitlines(keepends=True)[0]
    (folder / "agent-x.jsonl").write_bytes(line)
    os.utime(folder / "agent-x.jsonl", (0, 0))
    assert [info.id for info in blocking.archive()] == [MAIN]
    assert [info.agents for info in blocking.archived()] == [1]
    assert blocking.archive() == []


def test_what_is_in_the_trash_or_the_archive_is_named_by_the_beginning_of_its_id(
    config: Path, blocking: BlockingSessions
) -> None:
    conversation(config)
    conversation(config, PLAIN)
    blocking.archive(older_than=timedelta(0))
    for id in (MAIN, PLAIN):
        blocking.delete(id)
    common = MAIN[:-1]
    for bring_back, place in ((blocking.restore, "trash"), (blocking.unarchive, "archive")):
        with pytest.raises(SessionNotFound, match=f"Several sessions begin with .* in the {place}"):
            bring_back(common)
        with pytest.raises(SessionNotFound, match=f"no session 'x' in the {place}") as error:
            bring_back("x")
        assert "gives those that there are" in str(error.value)
    (config / "claudewire" / "archive" / "projects" / "-project" / f"{PLAIN}.jsonl").unlink()
    assert blocking.unarchive(common).id == MAIN
    blocking.delete(MAIN)
    blocking.empty_trash()
    with pytest.raises(SessionNotFound):
        blocking.restore(MAIN)


def test_a_title_in_another_file_belongs_to_the_session_that_ends_there(
    config: Path, blocking: BlockingSessions
) -> None:
    writer = Writer(config)
    writer.user("Hello", version="2.0.14")
    writer.model("Hi", version="2.0.14")
    other = Writer(config, PLAIN)
    other.raw({"type": "summary", "summary": "A greeting", "leafUuid": writer.last})
    info = blocking.info(MAIN)
    assert (info.title, info.title_source) == ("A greeting", "summary")


def test_deleting_a_session_of_a_moved_project_leaves_no_copy(
    config: Path, blocking: BlockingSessions, tmp_path: Path
) -> None:
    conversation(config)
    blocking.resume(MAIN, cwd=tmp_path)
    blocking.rename(MAIN, "The newest")
    assert len(blocking.list()) == 2
    blocking.delete(MAIN)
    assert blocking.list() == []
    assert len(blocking.trash()) == 2
    assert blocking.restore(MAIN).title == "The newest"
    assert len(blocking.list()) == 1


def test_a_limit_below_zero_gives_nothing(config: Path, blocking: BlockingSessions) -> None:
    conversation(config)
    conversation(config, PLAIN)
    assert blocking.list(limit=-1) == []
    assert blocking.search("retries", limit=-1) == []


@pytest.mark.parametrize(("settings", "days"), [('{"cleanupPeriodDays": 90}', 90), ("{", 30)])
def test_the_settings_say_when_the_cli_deletes(config: Path, settings: str, days: int) -> None:
    config.mkdir()
    (config / "settings.json").write_text(settings, encoding="utf-8")
    assert Sessions(config).swept_after == timedelta(days=days)
