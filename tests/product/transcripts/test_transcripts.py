"""All conversations: listed, described, searched, and kept in an index."""

from __future__ import annotations

import errno
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import pytest

from claudewire.launch import ConversationLock
from claudewire.tracking import Price
from claudewire.transcripts import StoreError, Transcripts, files, project_folder

from .made import MAIN, PLAIN, Writer, conversation


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def transcripts(config: Path) -> Iterator[Transcripts]:
    with Transcripts(config) as transcripts:
        yield transcripts


# --- listing -------------------------------------------------------------------------------------


def test_sessions_are_listed_the_last_changed_first(config: Path, transcripts: Transcripts) -> None:
    assert transcripts.list() == []
    assert transcripts.search("anything") == []
    then = time.time() - 3600
    os.utime(conversation(config).path, (then, then))
    conversation(config, PLAIN)
    assert [info.id for info in transcripts.list()] == [PLAIN, MAIN]
    assert [info.id for info in transcripts.list(limit=1)] == [PLAIN]


def test_list_can_be_narrowed(config: Path, transcripts: Transcripts) -> None:
    conversation(config)
    other = Writer(config, PLAIN, "/elsewhere/deep")
    other.user("Écris un poème", timestamp="2026-01-01T00:00:00Z")
    other.raw({"type": "tag", "tag": "poetry", "sessionId": PLAIN})

    def ids(**wanted: Any) -> list[str]:
        return [info.id for info in transcripts.list(**wanted)]

    new_year = datetime(2026, 2, 1, tzinfo=UTC)
    assert ids(project="/elsewhere") == [PLAIN]
    assert ids(project="/else") == []
    assert ids(text="ecris UN") == [PLAIN]
    assert ids(tag="poetry") == [PLAIN]
    assert ids(since=new_year) == [MAIN]
    assert ids(until=new_year) == [PLAIN]
    assert ids(running=True) == ids(waiting=True) == []
    assert sorted(ids(running=False, waiting=False)) == [MAIN, PLAIN]


def test_sessions_of_worktrees_belong_to_the_project(
    tmp_path: Path, config: Path, transcripts: Transcripts
) -> None:
    project, tree = tmp_path / "project", tmp_path / "tree"
    (project / ".git" / "worktrees" / "tree").mkdir(parents=True)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {project}/.git/worktrees/tree\n", encoding="utf-8")
    back = project / ".git" / "worktrees" / "tree" / "gitdir"
    back.write_text(f"{tree}/.git\n", encoding="utf-8")
    conversation(config, cwd=str(tree))
    for place in (project, tree):
        assert [info.id for info in transcripts.list(project=place)] == [MAIN]


def test_session_is_found_by_the_beginning_of_its_id(
    config: Path, transcripts: Transcripts
) -> None:
    conversation(config)
    assert transcripts.open("0000").id == MAIN
    conversation(config, PLAIN)
    with pytest.raises(StoreError, match="Several sessions begin with '0000'"):
        transcripts.open("0000")
    for id in ("x", ""):
        with pytest.raises(StoreError, match=f"There is no session '{id}'"):
            transcripts.open(id)


@pytest.mark.parametrize(
    ("variable", "folder"),
    [("~/c", "/home/me/c"), ("", "/home/me/.claude"), ("/variable", "/variable")],
)
def test_folder_of_the_cli_follows_from_its_environment(
    variable: str, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", variable)
    assert Transcripts().config_dir == Path(folder)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/work/my_app.v2", "-work-my-app-v2"),
        ("/ä/😀", "-----"),
        # The ends are from JavaScript, with the CLI's own function.
        ("/" + "x" * 200, "-" + "x" * 199 + "-d0i18x"),
        ("/" + "y" * 250, "-" + "y" * 199 + "-hj261b"),
        ("/ä/😀/" + "z" * 200, "------" + "z" * 194 + "-it9s9a"),
    ],
)
def test_projects_are_named_as_the_cli_names_them(path: str, name: str) -> None:
    assert project_folder(path) == project_folder(Path(path)) == name


# --- facts ---------------------------------------------------------------------------------------


def test_title_of_a_person_wins_over_the_cli_and_the_prompt(
    config: Path, transcripts: Transcripts
) -> None:
    def title() -> tuple[str | None, str | None]:
        info = transcripts.info(MAIN)
        return info.title, info.title_source

    writer = Writer(config)
    writer.user("  First\n prompt ")
    assert title() == ("First prompt", "prompt")
    writer.raw({"type": "ai-title", "aiTitle": "By the CLI", "sessionId": MAIN})
    assert title() == ("By the CLI", "ai")
    transcripts.rename(MAIN, "Mine")
    writer.raw({"type": "ai-title", "aiTitle": "Again", "sessionId": MAIN})
    assert title() == ("Mine", "custom")


def test_lines_of_one_message_are_counted_once(config: Path, transcripts: Transcripts) -> None:
    writer = Writer(config)
    writer.user("Go")
    for output in (1, 40, 7):
        writer.model("piece", id="m1", usage={"input_tokens": 100, "output_tokens": output})
    synthetic = {"role": "assistant", "model": "<synthetic>", "id": "x", "content": []}
    writer.line(type="assistant", message=synthetic)
    totals = transcripts.info(MAIN).totals
    assert (totals.input_tokens, totals.output_tokens, totals.calls) == (100, 40, 1)
    copy = conversation(config, PLAIN)
    copy.model("piece", id="m1", usage={"input_tokens": 100, "output_tokens": 40})
    assert transcripts.totals()["claude-opus-5-5"].input_tokens == 100 + 30


def test_cost_comes_from_prices_or_from_the_cli(config: Path) -> None:
    writer = Writer(config)
    writer.user("Go")
    writer.model("Done", usage={"input_tokens": 1_000_000, "output_tokens": 0})
    assert Transcripts(config).info(MAIN).cost_usd is None
    prices = {"claude-opus": Price(4, 20, 0.4, 5)}
    assert Transcripts(config, prices=prices, index=":memory:").info(MAIN).cost_usd == 4
    usage = {"claude-opus-5-5": {"inputTokens": 1_000_000, "outputTokens": 0, "costUSD": 3.0}}
    writer.raw({"type": "cost-state", "totalCostUSD": 3.0, "modelUsage": usage})
    assert Transcripts(config).info(MAIN).cost_usd == 3
    assert sum(it.cost_usd or 0 for it in Transcripts(config).totals().values()) == 3


def test_session_ends_with_the_last_line_of_its_files(
    config: Path, transcripts: Transcripts
) -> None:
    times = [f"2026-11-17T10:00:0{second}Z" for second in range(10)]
    main, side = Writer(config), Writer(config, f"{MAIN}/subagents/agent-a")
    for second in (3, 5, 4):
        main.user("Hi", timestamp=times[second])
    for second in (1, 9, 7):
        side.user("Look", timestamp=times[second])
    info = transcripts.info(MAIN)
    assert (info.begin, info.end) == tuple(datetime.fromisoformat(times[it]) for it in (3, 9))


# --- running -------------------------------------------------------------------------------------


def register(config: Path, **fields: object) -> None:
    """Write the file in which a CLI describes its own process."""
    folder = config / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"pid": os.getpid(), "sessionId": MAIN, **fields})
    (folder / "1.json").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": "busy"}, "running"),
        ({"status": "waiting"}, "waiting"),
        ({"waitingFor": "permission"}, "waiting"),
        ({"procStart": "1"}, "ended"),  # another process has the same number now
        ({"pid": 2**63}, "ended"),
        ({"sessionId": PLAIN}, "ended"),
        ({"sessionId": None}, "ended"),
    ],
)
def test_file_of_a_process_tells_whether_a_session_runs(
    config: Path, transcripts: Transcripts, fields: dict[str, Any], status: str
) -> None:
    conversation(config)
    register(config, **fields)
    info = transcripts.info(MAIN)
    assert (info.status, info.pid) == (status, None if status == "ended" else os.getpid())
    assert len(transcripts.list(running=True)) == (status != "ended")
    assert len(transcripts.list(waiting=True)) == (status == "waiting")


def test_session_of_this_library_is_seen_by_its_lock(
    config: Path, transcripts: Transcripts
) -> None:
    conversation(config)
    lock = ConversationLock(os.path.realpath(config))
    lock.take(MAIN)
    assert transcripts.info(MAIN).status == "running"
    lock.release()
    assert transcripts.info(MAIN).status == "ended"


# --- the index -----------------------------------------------------------------------------------


def replaced(path: Path, content: bytes) -> None:
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize("how", [replaced, Path.write_bytes])
def test_changed_files_are_read_anew(
    config: Path, transcripts: Transcripts, how: Callable[[Path, bytes], object]
) -> None:
    writer = conversation(config)
    assert transcripts.search("letter")
    writer.user("One more")
    assert transcripts.info(MAIN).prompts == 3
    how(writer.path, b"")
    for number in range(9):
        writer.user(f"Something else entirely, number {number}")
    assert transcripts.info(MAIN).prompts == 9
    assert transcripts.search("letter") == []
    assert len(transcripts.search("entirely")) == 9


def test_removed_files_are_forgotten(config: Path, transcripts: Transcripts) -> None:
    main, other = conversation(config), conversation(config, PLAIN)
    side = Writer(config, f"{MAIN}/subagents/agent-x")
    side.model("Seen", usage={"input_tokens": 1000})
    assert transcripts.totals()["claude-opus-5-5"].input_tokens == 1060
    side.path.unlink()
    other.path.unlink()
    assert transcripts.totals()["claude-opus-5-5"].input_tokens == 30
    assert [hit.session.id for hit in transcripts.search("retries")] == [MAIN]
    before, main_at = transcripts.info(MAIN), main.path.stat()
    main.path.rename(config / "away")
    assert transcripts.list() == []
    (config / "away").rename(main.path)
    os.utime(main.path, ns=(main_at.st_atime_ns, main_at.st_mtime_ns))
    assert transcripts.info(MAIN) == before
    assert transcripts.search("retries")


@pytest.mark.parametrize("damage", ["file", "page", "value"])
def test_damaged_index_is_rebuilt(config: Path, tmp_path: Path, damage: str) -> None:
    conversation(config)
    path = tmp_path / "deep" / "index.db"
    with Transcripts(config, index=path) as before:
        assert before.search("zebra")
    if damage == "value":
        with sqlite3.connect(path) as database:
            database.execute("UPDATE sessions SET info = x'c1'")
        database.close()
    else:
        page = path.read_bytes()[:5000] + b"\0" * 5000
        path.write_bytes(b"not a database" if damage == "file" else page)
    with Transcripts(config, index=path) as after:
        assert [info.id for info in after.list()] == [MAIN]
        assert after.search("zebra")


def test_index_on_a_full_disk_is_kept(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, connect = tmp_path / "index.db", sqlite3.connect
    with Transcripts(config, index=path) as transcripts:
        transcripts.list()
    inode = path.stat().st_ino

    def on_a_full_disk(*args: Any, **options: Any) -> sqlite3.Connection:
        database: sqlite3.Connection = connect(*args, **options)
        if args != (":memory:",):
            database.execute("PRAGMA max_page_count = 1")  # it is as large as that already
        return database

    for number in range(9):
        Writer(config, f"s{number}").user("walrus " * 500)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", on_a_full_disk)
        with (
            Transcripts(config, index=path) as transcripts,
            pytest.raises(StoreError, match="disk is full"),
        ):
            transcripts.list()
        with Transcripts(config, index=tmp_path / "new.db") as transcripts:
            assert len(transcripts.list()) == 9  # kept in memory
    assert path.stat().st_ino == inode
    with Transcripts(config, index=path) as transcripts:
        assert len(transcripts.search("walrus")) == 9


def test_index_in_use_is_kept(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claudewire.transcripts.writing.BUSY", 0.01)
    path = tmp_path / "index.db"
    with Transcripts(config, index=path) as transcripts:
        transcripts.list()
        inode = path.stat().st_ino
        conversation(config)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=r"index\.db cannot be used: database is locked"):
            transcripts.list()
        other.close()
        assert [info.id for info in transcripts.list()] == [MAIN]
        assert path.stat().st_ino == inode


def test_locks_and_the_index_are_readable_by_this_user_only(config: Path, tmp_path: Path) -> None:
    conversation(config)
    lock, before = ConversationLock(os.path.realpath(config)), os.umask(0)
    try:
        lock.take(MAIN)
        with Transcripts(config) as transcripts:
            transcripts.list()
            found = {it for it in (tmp_path / "cache").rglob("*") if it.exists()}
            assert {it.suffix for it in found} == {"", ".db", ".db-wal", ".db-shm"}
            for it in found:
                assert it.stat().st_mode & 0o777 == (0o700 if it.is_dir() else 0o600), it
    finally:
        os.umask(before)
        lock.release()


@pytest.mark.parametrize("how", ["deleted", "swept by the CLI", "rewritten"])
def test_words_of_a_deleted_session_leave_the_disk(
    config: Path, tmp_path: Path, transcripts: Transcripts, how: str
) -> None:
    def kept() -> bool:
        return any(b"xylophon" in it.read_bytes() for it in (tmp_path / "cache").rglob("*.db*"))

    conversation(config, PLAIN)
    writer = Writer(config)
    writer.user("A secret xylophone")
    assert transcripts.search("xylophone")
    assert kept()
    if how == "deleted":
        transcripts.delete(MAIN)
    elif how == "rewritten":
        writer.path.write_bytes(b"")
        writer.user("Nothing")
    else:
        writer.path.unlink()
    if how != "deleted":
        assert transcripts.search("retries")
    assert not kept()


def test_unreadable_project_is_left_out_with_a_warning(
    config: Path,
    transcripts: Transcripts,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    unreadable, listdir = "-other", os.listdir

    def refuse(path: Any) -> Any:  # permissions do not hold for the superuser
        if os.path.basename(path) == unreadable:
            raise PermissionError(errno.EACCES, "Permission denied", os.fspath(path))
        return listdir(path)

    conversation(config)
    conversation(config, PLAIN, cwd="/other")
    monkeypatch.setattr(os, "listdir", refuse)
    assert [info.id for info in transcripts.list()] == [MAIN]
    assert "-other are left out: Permission denied" in caplog.text
    unreadable = "projects"
    with pytest.raises(StoreError, match="projects cannot be read: Permission denied"):
        transcripts.list()


_HALF = b"\\ud800"


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"user","uuid":"x","message":{"role":"user","content":"cut ' + _HALF + b'"}}',
        b'{"type":"custom-title","customTitle":"' + _HALF + b'"}',
        b'{"type":"assistant","message":{"id":"m","model":"m","role":"assistant","content":[],'
        b'"usage":{"input_tokens":' + b"9" * 40 + b"}}}",
    ],
    ids=["text", "title", "number"],
)
def test_no_value_keeps_a_session_from_being_listed(
    config: Path, transcripts: Transcripts, line: bytes
) -> None:
    conversation(config).raw(line + b"\n")
    assert [info.id for info in transcripts.list()] == [MAIN]
    assert transcripts.search("retries")
    transcripts.export(MAIN, config / "out.html")


@pytest.mark.anyio
@pytest.mark.parametrize("call", ["list", "export"])
async def test_cancelled_call_ends_soon_and_leaves_nothing(
    config: Path, transcripts: Transcripts, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = Writer(config)
    for _ in range(60):
        writer.user("How do retries work?" + " x" * 200)
    monkeypatch.setattr(files, "CHUNK", 1000)
    work: dict[str, Callable[[], object]] = {
        "list": transcripts.list,
        "export": lambda: transcripts.export(MAIN, config / "out.html"),
    }
    if call == "export":
        transcripts.list()
    look, looks = files.check_cancelled, 0
    with anyio.fail_after(60), anyio.CancelScope() as scope:

        def counted() -> None:
            nonlocal looks
            looks += 1
            if looks == 5:
                anyio.from_thread.run_sync(scope.cancel)
            look()

        with monkeypatch.context() as patch:
            patch.setattr(files, "check_cancelled", counted)
            await anyio.to_thread.run_sync(work[call])
    assert scope.cancelled_caught
    assert looks == 5
    assert [it for it in os.listdir(config) if "." in it] == []
    assert work[call]()


# --- search --------------------------------------------------------------------------------------


@pytest.fixture
def searched(config: Path) -> Transcripts:
    conversation(config)
    other = Writer(config, PLAIN, "/shop")
    other.user("The queue has a dead spot, no letter", timestamp="2026-01-05T00:00:00")
    other.call("mcp__store__query", sql="select zebra")
    return Transcripts(config)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("RETRIES work", {"u1"}),
        ('"dead letter"', {"u3"}),
        ("dead letter", {"u3", "u1 shop"}),
        ("dead -queue", set()),
        ("dead -spot", {"u3"}),
        ("retr*", {"u1"}),
        ("retr", set()),
        ("zebra", {"u4", "u2 shop"}),
        ("zebrafish", set()),
        ("queue role:assistant", {"u6"}),
        ("zebra role:tool", {"u4", "u2 shop"}),
        ("zebra project:SHOP", {"u2 shop"}),
        ("dead since:2026-11-01", {"u3"}),
        ("dead until:2026-11-01", {"u1 shop"}),
        ("dead until:300w", set()),
        ("dead since:2026-01-05T00:00:01+00:00", {"u3"}),
        ("zebra tool:BASH", {"u4"}),
        ("tool:mcp__store__query", {"u2 shop"}),
        ('AND OR NOT "', set()),
    ],
)
def test_search_finds(searched: Transcripts, query: str, found: set[str]) -> None:
    shop = {MAIN: "", PLAIN: " shop"}
    assert {f"{hit.uuid}{shop[hit.session.id]}" for hit in searched.search(query)} == found


def test_hit_shows_the_words_in_their_surroundings(config: Path, searched: Transcripts) -> None:
    (hit,) = searched.search('"dead letter"')
    assert hit.snippet == "Show me the dead letter queue"
    assert [hit.snippet[slice(*span)] for span in hit.spans] == ["dead", "letter"]
    assert (hit.role, hit.session.id) == ("user", MAIN)
    assert len(searched.search("queue", limit=1)) == 1
    Writer(config, "other").user("many " * 100 + "walrus " + "words " * 100)
    (hit,) = searched.search("walrus")
    assert (hit.snippet[0], hit.snippet[-1]) == ("…", "…")
    assert [hit.snippet[slice(*span)] for span in hit.spans] == ["walrus"]


def test_words_of_a_person_come_first(config: Path, transcripts: Transcripts) -> None:
    writer = Writer(config)
    writer.call("Bash", command="walrus")
    writer.model("A walrus")
    writer.user("A walrus")
    assert [hit.role for hit in transcripts.search("walrus")] == ["user", "assistant", "tool"]


def test_output_of_tools_is_searched_if_asked_for(config: Path) -> None:
    conversation(config)
    assert Transcripts(config).search("zebrafish") == []
    (hit,) = Transcripts(config, tool_output=True).search("zebrafish")
    assert "zebrafish" in hit.snippet


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("-word", "nothing to search for"),
        ("x role:king", "role:king is not a role"),
        ("a* -b " * 3000, "The query has 6000 words"),
        ('"' + "a." * 3000, "The query has 3000 words"),
        ("x since:never", "'never' is not a time"),
        ("x -role:user", "-role:user is not possible"),
        ("x role:user role:tool", "role:tool is not possible"),
    ],
)
def test_invalid_query_is_refused(transcripts: Transcripts, query: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        transcripts.search(query)


def test_settings_tell_when_the_cli_deletes(config: Path) -> None:
    config.mkdir()
    assert Transcripts(config).swept_after == timedelta(days=30)
    (config / "settings.json").write_text('{"cleanupPeriodDays": 90}', encoding="utf-8")
    assert Transcripts(config).swept_after == timedelta(days=90)
