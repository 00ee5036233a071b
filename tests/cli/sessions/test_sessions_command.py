"""`sessions`: conversations on disk, for a person at a terminal."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import jsonschema  # type: ignore[import-untyped]
import pytest
from tests.cli.running import Done, Runner
from tests.cli.wire.printed import SCHEMAS
from tests.cli.wire.test_show import STEERS
from tests.recordings.test_html_page import HOSTILE
from tests.store.made import MAIN, PLAIN, Writer, conversation, sample

from claudewire.cli.chat import command as chat
from claudewire.cli.sessions import command as sessions_command
from claudewire.cli.sessions.view import SessionView, when
from claudewire.cli.styles import Paint
from claudewire.store import BlockingSessions, Entry, SessionInfo, Transcript
from claudewire.tracking import Totals

SOON = 60
Call = Callable[..., Done]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
def sessions(run: Runner, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def call(*arguments: str) -> Done:
        return run("sessions", "--config-dir", str(config), *arguments)

    return call


def checked(out: str, name: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(out)
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(report)
    return report


# --- list ----------------------------------------------------------------------------------------


def test_list_shows_a_line_for_each_with_ids_that_can_be_told_apart(
    sessions: Call, config: Path
) -> None:
    conversation(config, MAIN)
    conversation(config, PLAIN, cwd=str(Path.home() / "other"))
    done = sessions("list")
    assert done.status == 0
    ids = [line.split()[0] for line in done.out.splitlines()]
    assert sorted(ids) == [MAIN, PLAIN]
    assert all("How do retries work?" in line for line in done.out.splitlines())
    assert "~/other" in done.out


def test_list_can_be_narrowed_and_printed_as_json(sessions: Call, config: Path) -> None:
    conversation(config, MAIN)
    Writer(config, PLAIN).user("Something else")
    report = checked(sessions("list", "retries", "--json").out, "sessions-list")
    (item,) = report["sessions"]
    assert (item["id"], item["prompts"], item["status"]) == (MAIN, 2, "ended")
    assert sessions("list", "--since", "2026-01-01").out.count("\n") == 2
    assert sessions("list", "--since", "2999-01-01T00:00:00+00:00").err == "No session.\n"
    assert sessions("list", "-n", "1").out.count("\n") == 1
    assert sessions("list", "--waiting").out == ""


ALL: dict[str, Any] = {
    **dict.fromkeys(("text", "project", "since", "tag", "running", "waiting")),
    "limit": 30,
}


@pytest.mark.parametrize(
    ("words", "narrowed"),
    [
        ([], {}),
        (["--running", "-n", "5"], {"running": True, "limit": 5}),
        (["--waiting", "--limit", "1"], {"waiting": True, "limit": 1}),
        (["a", "--project", ".", "--tag", "t"], {"text": "a", "project": ".", "tag": "t"}),
    ],
)
def test_list_asks_for_all_that_nothing_is_said_about(
    sessions: Call, words: list[str], narrowed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def listed(store: BlockingSessions, **given: Any) -> list[SessionInfo]:
        asked.append(given)
        return []

    monkeypatch.setattr(BlockingSessions, "list", listed)
    assert sessions("list", *words).status == 0
    assert asked == [ALL | narrowed]


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("2w", timedelta(days=14)),
        ("2d", timedelta(days=2)),
        ("3h", timedelta(hours=3)),
        ("90m", timedelta(minutes=90)),
        ("9s", timedelta(seconds=9)),
        ("1.5d", timedelta(hours=36)),
    ],
)
def test_a_time_can_be_so_long_ago(text: str, ago: timedelta) -> None:
    before = datetime.now(UTC)
    moment = sessions_command._moment(text)
    assert moment is not None
    assert before <= moment + ago <= datetime.now(UTC)


def test_a_time_can_be_a_date_here_or_elsewhere() -> None:
    assert sessions_command._moment("2026-11-17") == datetime(2026, 11, 17).astimezone()
    there = "2026-11-17T10:00:00+02:00"
    assert sessions_command._moment(there) == datetime.fromisoformat(there)
    assert sessions_command._moment(None) is None


@pytest.mark.parametrize("text", ["soon", "bogus", "months", "xd", "99999999999d", ""])
def test_what_is_no_time_is_an_error_with_advice(sessions: Call, text: str) -> None:
    done = sessions("list", "--since", text)
    assert done.status == 2
    assert f"--since {text}: this is not a time." in done.err
    assert "Write 90m" in done.err


@pytest.mark.parametrize(
    ("ago", "words"),
    [
        (timedelta(seconds=3), "just now"),
        (timedelta(minutes=5), "5 min ago"),
        (timedelta(hours=23), "23 h ago"),
        (timedelta(days=1), "1 day ago"),
        (timedelta(days=13), "13 days ago"),
    ],
)
def test_when_it_was_is_said_briefly(ago: timedelta, words: str) -> None:
    now = datetime(2026, 11, 17, tzinfo=UTC)
    assert when(now - ago, now) == words
    assert re.fullmatch(r"2026-0\d-\d\d", when(now - timedelta(days=100), now))
    assert when(None) == ""


# --- show, search, tail --------------------------------------------------------------------------


def test_show_is_the_conversation_as_a_person_reads_it(sessions: Call, config: Path) -> None:
    writer = conversation(config)
    writer.model({"type": "thinking", "thinking": "Hm.", "signature": "s"})
    writer.user([{"type": "text", "text": "Again"}])
    writer.call("Read", id="t9")
    writer.result("\n".join(f"line {number}" for number in range(9)), id="t9")
    writer.user("<command-name>/cost</command-name>")
    writer.user("nobody reads this", isMeta=True)
    writer.user("A summary", isCompactSummary=True)
    for nothing in ({"type": "text", "text": " "}, {"type": "something_new"}):
        writer.model(nothing)
    writer.raw(b"not JSON\n")
    out = sessions("show", MAIN[:12]).out
    lines = out.splitlines()
    assert lines[0] == "How do retries work?"
    assert MAIN in lines[1]
    assert "> How do retries work?" in lines
    assert "  They wait longer each time." in lines
    assert any(it.startswith('  > Bash {"command": "grep -rn zebra src"') for it in lines)
    assert "    src/queue.py: zebrafish" in lines
    assert "  Hm." in lines
    assert "    … 4 more lines" in lines
    assert "  <command-name>/cost</command-name>" in lines
    assert "nobody reads this" not in out
    assert lines[-1] == "(what came before was summed up for the model)"


def test_show_json_has_the_lines_of_the_file(sessions: Call, config: Path) -> None:
    conversation(config)
    report = checked(sessions("show", MAIN, "--json").out, "sessions-show")
    assert [it["type"] for it in report["lines"]][:2] == ["user", "assistant"]


@pytest.mark.parametrize(
    "words", [["show", "zzz"], ["export", "zzz", "a.md"], ["tail", "zzz"], ["resume", "zzz"]]
)
def test_a_session_that_is_not_there_is_an_error_with_advice(
    sessions: Call, words: list[str]
) -> None:
    done = sessions(*words)
    assert done.status == 2
    assert done.err.startswith("error: There is no session 'zzz'")
    assert len(done.err.splitlines()) > 1


def test_search_finds_words_and_marks_them(sessions: Call, config: Path) -> None:
    conversation(config)
    out = sessions("search", "retries").out
    assert out.splitlines() == ["00000000 user How do retries work?", "    How do retries work?"]
    report = checked(sessions("search", "retries", "--json").out, "sessions-search")
    (hit,) = report["hits"]
    start, end = hit["spans"][0]
    assert hit["snippet"][start:end] == "retries"
    assert sessions("search", "nothing like that").err == "Nothing was found.\n"
    assert sessions("search", "zebrafish").out == ""
    assert "zebrafish" in sessions("search", "--tools", "zebrafish").out


def test_what_was_found_stands_out_on_a_terminal(config: Path) -> None:
    conversation(config)
    with BlockingSessions(config, index=config / "index.db") as store:
        (hit,) = store.search("retries")
    view = SessionView(Paint(), 80)
    assert "\x1b[1;36mretries\x1b[0m" in "\n".join(view.hit(hit))


def test_tail_shows_what_is_added(
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    writer = conversation(config)

    async def follow() -> None:
        with anyio.fail_after(SOON):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(sessions_command._tail, str(config), MAIN, True)
                shown = ""
                while "It is in `queue.py`." not in shown:
                    await anyio.sleep(0.01)
                    shown += capsys.readouterr().out
                writer.user("One more thing")
                while "One more thing" not in shown:
                    await anyio.sleep(0.01)
                    shown += capsys.readouterr().out
                tasks.cancel_scope.cancel()

    anyio.run(follow)


# --- export, resume, archive ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.html", "x.md", "x.jsonl", "x.zip"])
def test_export_writes_a_file_and_never_over_another(
    sessions: Call, config: Path, tmp_path: Path, name: str
) -> None:
    conversation(config)
    done = sessions("export", MAIN, name)
    assert (done.status, done.err) == (0, f"Wrote {name}.\n")
    assert (tmp_path / name).stat().st_size > 100
    again = sessions("export", MAIN, name)
    assert again.status != 0
    assert f"{name} exists already" in again.err


def test_resume_goes_on_in_a_chat_in_the_folder_of_the_session(
    sessions: Call, config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config, cwd=str(tmp_path))
    called: list[list[str]] = []

    def main(words: list[str], *names: str, standalone_mode: bool) -> int:
        called.append(words)
        return 0

    monkeypatch.setattr(chat, "main", main)
    assert sessions("resume", MAIN[:30], "--fork", "--cli", "simulated").status == 0
    assert sessions("resume", MAIN).status == 0
    first, second = called
    assert first == ["--resume", MAIN, "--cwd", str(tmp_path), "--fork", "--cli", "simulated"]
    assert second == ["--resume", MAIN, "--cwd", str(tmp_path)]


def test_a_session_whose_folder_is_gone_is_an_error_with_advice(
    sessions: Call, config: Path
) -> None:
    conversation(config, cwd="/no/such/folder")
    done = sessions("resume", MAIN)
    assert done.status != 0
    assert "is not there" in done.err


def test_archive_keeps_what_is_old_and_brings_it_back(sessions: Call, config: Path) -> None:
    old = conversation(config, MAIN)
    conversation(config, PLAIN)
    then = time.time() - 25 * 86400
    os.utime(old.path, (then, then))
    assert "How do retries" in sessions("list", "--expiring").out
    done = sessions("archive", "--json")
    (item,) = checked(done.out, "sessions-list")["sessions"]
    assert item["id"] == MAIN
    assert sessions("archive").err == "0 conversations newly kept.\n"
    old.path.unlink()
    assert MAIN in sessions("list", "--archived", "--json").out
    assert sessions("archive", "--restore", MAIN[:-1]).err == f"{MAIN} is back.\n"
    assert old.path.exists()


FOUND = SessionInfo(id=MAIN, folder="-p", path="/x")
ANSWERS: dict[str, Any] = {
    "export": Path("x.md"),
    "archive": [],
    "unarchive": FOUND,
    "resume": SimpleNamespace(resume=MAIN, cwd="/p"),
    "search": [],
    "archived": [FOUND, FOUND, FOUND],
    "expiring": [FOUND, FOUND, FOUND],
}
KEPT: dict[str, Any] = {"redact": True, "tool_output": True, "format": None}


@pytest.mark.parametrize(
    ("words", "call"),
    [
        ("export a x", ("export", ("a", "x"), KEPT)),
        ("export a x --keep-secrets", ("export", ("a", "x"), {**KEPT, "redact": False})),
        ("export a x --no-tool-output", ("export", ("a", "x"), {**KEPT, "tool_output": False})),
        ("export a x --format md", ("export", ("a", "x"), {**KEPT, "format": "md"})),
        ("archive", ("archive", (), {"older_than": timedelta(days=20)})),
        ("archive --older-than 1.5", ("archive", (), {"older_than": timedelta(hours=36)})),
        ("archive --restore a", ("unarchive", ("a",), {})),
        ("resume a", ("resume", ("a",), {"fork": False, "cwd": None})),
        ("resume a --fork --cwd /x", ("resume", ("a",), {"fork": True, "cwd": "/x"})),
        ("search a b", ("search", ("a b",), {"limit": 20})),
        ("search a -n 3", ("search", ("a",), {"limit": 3})),
    ],
)
def test_what_is_asked_for_is_passed_on(
    sessions: Call, words: str, call: tuple[Any, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []
    for name, answer in ANSWERS.items():

        def note(
            store: Any, *given: Any, name: str = name, answer: Any = answer, **named: Any
        ) -> Any:
            calls.append((name, given, named))
            return answer

        monkeypatch.setattr(BlockingSessions, name, note)
    monkeypatch.setattr(chat, "main", lambda *_, **__: 0)
    assert sessions(*words.split()).status == 0
    assert calls == [call]


@pytest.mark.parametrize("which", ["archived", "expiring"])
def test_no_more_are_listed_than_asked_for(
    sessions: Call, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BlockingSessions, which, lambda _: [FOUND] * 31)
    assert sessions("list", f"--{which}").out.count("\n") == 30
    assert sessions("list", f"--{which}", "-n", "2").out.count("\n") == 2


def test_the_chat_that_goes_on_is_named_and_its_status_returned(
    sessions: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def main(*given: Any, **named: Any) -> int:
        assert given == (["--resume", MAIN, "--cwd", "/p"], "claudewire chat")
        assert named == {"standalone_mode": False}
        return 130

    monkeypatch.setattr(BlockingSessions, "resume", lambda *_, **__: ANSWERS["resume"])
    monkeypatch.setattr(chat, "main", main)
    assert sessions("resume", MAIN).status == 130


@pytest.mark.parametrize(("words", "from_start"), [([], False), (["--from-start"], True)])
def test_tail_begins_where_it_is_told_to(
    sessions: Call,
    config: Path,
    words: list[str],
    from_start: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followed: list[tuple[Any, ...]] = []

    async def follow(*given: Any) -> None:
        followed.append(given)

    monkeypatch.setattr(sessions_command, "_tail", follow)
    assert sessions("tail", "a", *words).status == 0
    assert followed == [(str(config), "a", from_start)]


@pytest.mark.parametrize("from_start", [False, True])
def test_tail_shows_the_head_and_then_what_comes(
    config: Path, from_start: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    shown: list[str] = []
    given: list[dict[str, Any]] = []

    async def tail(transcript: Transcript, **named: Any) -> AsyncIterator[Entry]:
        given.append(named)
        async for entry in transcript.conversation():
            yield entry
            break

    monkeypatch.setattr(Transcript, "tail", tail)
    monkeypatch.setattr(sessions_command, "put", lambda *lines: shown.extend(lines))
    anyio.run(sessions_command._tail, str(config), MAIN, from_start)
    assert given == [{"from_start": from_start}]
    head, facts, prompt = filter(None, shown)
    assert head == prompt[2:] == "How do retries work?"
    assert facts.startswith(MAIN)


def test_the_index_is_closed_in_the_end(
    sessions: Call, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation(config)
    closed: list[BlockingSessions] = []
    monkeypatch.setattr(BlockingSessions, "close", lambda store: closed.append(store))
    for command in (["list"], ["show", MAIN], ["search", "x"]):
        assert sessions(*command).status == 0
    assert len(closed) == 3


# --- whatever is in them -------------------------------------------------------------------------


def test_hostile_text_is_shown_and_steers_nothing(sessions: Call, config: Path) -> None:
    writer = Writer(config, cwd="/p\x1b]0;x\x07\u202e")
    for words in HOSTILE:
        writer.user(f"find me {words}")
        writer.model(words, {"type": "tool_use", "id": words, "name": words, "input": {"x": words}})
        writer.result(words, id=words)
    for command in (["list"], ["show", MAIN], ["search", "find"]):
        out = sessions(*command).out
        assert out
        assert not STEERS.search(out), command
    assert r"\u202egnp.exe\u2066" in sessions("show", MAIN).out


@pytest.mark.parametrize("version", ["1.0.128", "2.1.17", "2.1.325"])
def test_what_real_clis_wrote_can_be_listed_and_shown(
    sessions: Call, tmp_path: Path, version: str
) -> None:
    sample(version, tmp_path)
    report = checked(sessions("list", "--json").out, "sessions-list")
    assert report["sessions"]
    for item in report["sessions"]:
        assert len(sessions("show", item["id"]).out.splitlines()) > 3


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (
            90,
            "  00000000   2020-11-17   12p   $1.50  "
            "Why do the retri…  /home/ann/shop/backend/servic…",
        ),
        (70, "  00000000   2020-11-17   12p   $1.50  Why do th…  /home/ann/shop/b…"),
        (50, "  00000000   2020-11-17  Why do th…  /home/ann/…"),
        (30, "  00000000   2020-11-17  Why …"),
    ],
)
def test_a_row_has_what_there_is_room_for(width: int, row: str) -> None:
    info = SessionInfo(
        id=MAIN,
        folder="-home-ann-shop",
        path="/x",
        title="Why do the retries fail in the shop?",
        cwd="/home/ann/shop/backend/services",
        end=datetime(2020, 11, 17, 12, tzinfo=UTC),
        totals=Totals(cost_usd=1.5),
        prompts=12,
    )
    assert [*SessionView(Paint(attributes=False), width).rows([info])] == [row]


@pytest.mark.parametrize("width", [20, 40, 80])
def test_nothing_is_wider_than_the_terminal(config: Path, width: int) -> None:
    conversation(config, cwd="/a/very/long/folder/that/does/not/fit/anywhere/at/all")
    view = SessionView(Paint(attributes=False), width)
    with BlockingSessions(config, index=config / "index.db") as store:
        transcript = store.open(MAIN)
        lines = [*view.head(transcript.info), *view.rows(store.list())]
        lines += [line for hit in store.search("retries") for line in view.hit(hit)]
        for entry in transcript.conversation():
            lines += view.entry(entry)
    assert all(len(line) <= max(width, 24) for line in lines), lines


def test_an_archived_session_that_is_not_there_is_a_wrong_command_line(sessions: Call) -> None:
    done = sessions("archive", "--restore", "zzz")
    assert done.status == 2
    assert done.err.startswith("error: There is no session 'zzz' in the archive\n")
    assert "`claudewire sessions list --archived` shows those that there are." in done.err


def test_the_help_describes_each_command_in_a_whole_line(sessions: Call) -> None:
    assert "..." not in sessions("--help").out.partition("Commands:")[2]
