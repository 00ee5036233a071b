"""What is read from lines of every kind, and from searches: see tests/helpers/kept.py."""

from __future__ import annotations

import inspect
import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.helpers.kept import Kept, normal

from claudewire.errors import CLIError, Redactor
from claudewire.store import (
    BlockingSessions,
    SqliteStore,
    StoreError,
    StoreKey,
    project_folder,
)
from claudewire.store.blocking import _one_line, _snippet
from claudewire.store.entries import ENTRIES, AttachmentEntry, BadLine, UserEntry, read_entry
from claudewire.store.facts import FactsReader, as_time, combine, title_of
from claudewire.store.files import Line, check_inside, config_folder, open_inside
from claudewire.store.mirroring import Mirror, fetch_session, key_of, push_session
from claudewire.store.query import fts_expression, matcher, parse_query
from claudewire.store.texts import shown_text, texts_of
from claudewire.store.tree import Tree, read_nodes
from claudewire.store.writing import add_line

from .made import MAIN, PLAIN, Writer, conversation
from .test_export import SECRET, write_rich

BASE = {
    "uuid": "u1",
    "parentUuid": None,
    "sessionId": MAIN,
    "timestamp": "2026-11-17T10:00:00.000Z",
    "cwd": "/project",
    "gitBranch": "main",
    "version": "2.1.325",
}


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {**BASE, "type": "user", "message": {"role": "user", "content": content}, **more}


def model(*blocks: Any, **more: Any) -> dict[str, Any]:
    message = {
        "id": "m1",
        "role": "assistant",
        "type": "message",
        "model": "claude-opus-5-5",
        "stop_reason": "end_turn",
        "usage": {
            "input_tokens": 1,
            "output_tokens": 2,
            "cache_read_input_tokens": 3,
            "cache_creation_input_tokens": 4,
        },
        "content": list(blocks),
        **more.pop("of_message", {}),
    }
    return {**BASE, "type": "assistant", "message": message, **more}


TEXT = {"type": "text", "text": "hello"}
CALL = {
    "type": "tool_use",
    "id": "t",
    "name": "Bash",
    "input": {"command": "ls", "deep": [{"x": "y"}]},
}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": "output"}
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
ENCODED = "A" * 200

LINES: list[Any] = [
    said("hello"),
    said(""),
    said("  spaced\n text "),
    said("x" * 2001),
    said("<local-command-stdout>x"),
    said(" <command-name>x"),
    said("[Request interrupted by user]"),
    said("<task-notification>x"),
    said("<b>bold</b>"),
    said("[1] first"),
    said([TEXT]),
    said([TEXT, IMAGE, RESULT]),
    said([RESULT]),
    said([{**RESULT, "content": [TEXT, IMAGE, {"type": "base64", "x": "no"}, 7]}]),
    said("meta", isMeta=True),
    said("summary", isCompactSummary=True),
    said("side", isSidechain=True),
    said("side", isSidechain=True, parentUuid="u0"),
    said("old", version="1.0.128"),
    said("old", version="2.0.14"),
    said("no version", version=None, gitBranch="", cwd=None),
    said("agent", agentId="a1", forkedFrom={"sessionId": "parent", "messageUuid": "x"}),
    said("forked", forkedFrom="parent"),
    said("forked", forkedFrom=7),
    said(7),
    said("half \ud800"),
    said("word " + ENCODED + " word"),
    said("word " + ENCODED[1:] + " word"),
    said("x" * 199 + " "),
    said("wrong", isMeta="yes", timestamp=5),
    said("wrong and meta", isMeta=True, timestamp=5),
    said(["text"]),
    {"type": "user", "message": {"content": "no role"}},
    {"type": "user"},
    {"type": "user", "message": None},
    model(TEXT),
    model(TEXT, CALL),
    model(CALL),
    model({**CALL, "input": "text"}),
    model({**CALL, "input": {"content": "y" * 5000}}),
    model({"type": "thinking", "thinking": "hm"}),
    model(TEXT, of_message={"model": "<synthetic>"}),
    model(TEXT, of_message={"id": None}),
    model(TEXT, of_message={"id": None}, uuid=None),
    model(TEXT, of_message={"usage": None, "stop_reason": None}),
    model(TEXT, of_message={"model": None, "usage": {}}, costUSD=0.5),
    model(TEXT, of_message={"usage": {"input_tokens": "wrong", "output_tokens": 5}}),
    model(TEXT, timestamp=5, costUSD=0.25),
    model(TEXT, version="1.0.5"),
    model(TEXT, version="2.0.5", uuid=None),
    model(TEXT, of_message={"content": "a string"}),
    {**BASE, "type": "system", "subtype": "compact_boundary", "logicalParentUuid": "u0"},
    {**BASE, "type": "system", "subtype": "compact_boundary", "uuid": None},
    {
        **BASE,
        "type": "system",
        "subtype": "compact_boundary",
        "compactMetadata": {"trigger": "auto"},
    },
    {**BASE, "type": "system", "subtype": "informational", "content": "the user", "level": "info"},
    {"type": "summary", "summary": "A title", "leafUuid": "u1"},
    {"type": "summary", "summary": "A title"},
    {"type": "summary", "leafUuid": "u1"},
    {"type": "custom-title", "customTitle": " Mine "},
    {"type": "custom-title", "customTitle": " "},
    {"type": "ai-title", "aiTitle": " Its "},
    {"type": "ai-title"},
    {"type": "tag", "tag": " a "},
    {"type": "tag", "tag": ""},
    {"type": "cost-state", "totalCostUSD": 1.5, "modelUsage": {"m": {"inputTokens": 5}}},
    {"type": "cost-state"},
    {**BASE, "type": "attachment", "attachment": {"type": "date"}},
    {**BASE, "type": "attachment", "attachment": {"type": 5}},
    {**BASE, "type": "attachment", "attachment": "x"},
    {**BASE, "type": "progress", "data": {}, "toolUseID": "t", "parentToolUseID": "p"},
    {"type": "agent-name", "agentName": "n", "sessionId": MAIN},
    {"type": "agent-color", "agentColor": "red"},
    {"type": "agent-setting", "agentSetting": "s"},
    {"type": "mode", "mode": "plan"},
    {"type": "permission-mode", "permissionMode": "plan"},
    {"type": "last-prompt", "lastPrompt": "x", "leafUuid": "u1", "explicit": True},
    {"type": "queue-operation", "operation": "enqueue", "content": "x"},
    {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}, "isSnapshotUpdate": False},
    {"type": "content-replacement", "replacements": []},
    {"type": "worktree-state", "worktreeSession": {}},
    {"type": "tools-used", "tools": ["a"]},
    {"type": "atis-latch", "atis": 1},
    {"type": "api-request", "id": "r", "querySource": "q", "shapeHash": "s", "keep": 1},
    {"type": "api-request-blob", "hash": "h", "message": {}},
    {"type": "api-request-shape", "shapeHash": "h", "shape": {}},
    {**BASE, "type": "hologram", "isSidechain": True, "agentId": "a", "x": 1},
    {**BASE, "type": "hologram", "isSidechain": False, "uuid": 5, "cwd": 5},
    {"type": 5, "uuid": "u9"},
    {"uuid": "u9"},
    {"type": "user", "uuid": "u9", "parentUuid": 5, "logicalParentUuid": "u0", "isSidechain": True},
    [],
    "text",
    7,
    None,
    b"{ broken",
    b"",
    b'{"type":"user" "assistant"',
    b"\xff\xfe",
    b"[" * 2000,
]


def encoded(line: Any) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line).encode()


def of_line(line: bytes) -> Iterator[str]:
    entry = read_entry(line)
    yield f"{type(entry).__name__} {entry.problems}"
    if not isinstance(entry, BadLine):
        yield f"    {entry!r}"[:600]
    else:
        yield f"    {entry.length} {entry.head!r} {entry.reason.partition(':')[0]}"
    if isinstance(entry, UserEntry):
        yield f"    prompt {entry.is_prompt}, result {entry.is_tool_result}, {entry.text[:50]!r}"
    if isinstance(entry, AttachmentEntry):
        yield f"    {entry.kind}"
    reader = FactsReader()
    reader.feed(Line(0, line))
    yield f"    {reader.facts!r} {reader.take()} {reader.take()}".replace("x" * 2000, "LONG")
    for node in read_nodes([Line(7, line)]):
        yield f"    {node}"
    for tool_output in (False, True):
        texts = texts_of(line, tool_output=tool_output)
        if texts is not None:
            shown = f"    {texts!r} {shown_text(texts)!r}"
            for char, many in (("x", 2001), ("y", 4000), ("x", 199)):
                shown = shown.replace(char * many, f"{many} {char}")
            yield shown


def test_what_is_read_from_each_line_is_as_it_was(kept: Kept) -> None:
    rows = [f"{row}\n" for line in LINES for row in of_line(encoded(line))]
    kept("lines.txt", "".join(rows))


def test_what_is_known_after_each_line_is_as_it_was(kept: Kept) -> None:
    """The facts of one file that has all the lines, after each of them."""
    reader = FactsReader()
    rows = []
    for line in LINES:
        reader.feed(Line(0, encoded(line)))
        known = repr(reader.facts).replace("x" * 2000, "LONG")
        rows.append(f"{known} {title_of(reader.facts)} {reader.take()}\n")
    info = combine("id", "folder", reader.facts, [reader.facts], [], None)
    kept("facts.txt", "".join([*rows, f"{info!r}\n".replace("x" * 2000, "LONG")]))


TREES = {
    "a chain": "a- b-a c-b",
    "two ways": "a- b-a c-b p:d-b e-d",
    "results beside": "a- t:b-a c-b d-b e-c",
    "a prompt after a call": "a- t:b-a p:c-b d-b",
    "missing": "a- b-x c-b",
    "logical": "a- l:b-a c-b l:d-x l:e-f f-",
    "a circle": "a-b b-a c-b",
    "sidechains": "a- s:b- s:c-b s:d-x e-a s:f-a",
    "notes": "a- b-a n:c-b n:d-a",
    "out of order": "c-b b-a a-",
    "twice": "a- b-a b-c c-b",
}


def lines_of_tree(text: str) -> Iterator[Line]:
    for offset, part in enumerate(text.split()):
        flag, _, link = part.rpartition(":")
        uuid, _, parent = link.partition("-")
        content: Any = [CALL] if flag == "t" else [RESULT] if flag == "" else "prompt"
        line = {
            "type": "assistant" if flag == "t" else "system" if flag in ("n", "l") else "user",
            "uuid": uuid,
            "logicalParentUuid" if flag == "l" else "parentUuid": parent or None,
            "isSidechain": flag == "s",
            "message": {"content": content},
        }
        yield Line(offset, json.dumps(line).encode())


def test_the_ways_through_a_conversation_are_as_they_were(kept: Kept) -> None:
    rows = []
    for name, text in TREES.items():
        tree = Tree(read_nodes(lines_of_tree(text)))
        rows.append(f"{name}: {text} ({len(tree)}), missing {tree.missing}")
        for kind, found in (("branch", tree.branches), ("sidechain", tree.sidechains)):
            rows += [f"    {kind} {it.leaf}: {[node.uuid for node in it.nodes]}" for it in found]
    kept("trees.txt", "".join(f"{row}\n" for row in rows))


QUERIES = r"""
retry
retry "dead letter" -x
-x
"open phrase
a* b** *
role:user x
role:tool tool:Bash
role:boss x
role: x
role:"" x
-role:user x
role:user role:user x
project:shop since:2026-11-01T02:00+01:00 until:12h x
since:7d until:2w x
since:1h tool:x
since:soon x
since:99999999999w x
tool:Bash
tool:"My Tool"
project:x
_ - "--" x
Café CAFE
a_b a-b
x"y z
"""
NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
TEXTS = [
    "retry",
    "Retrying the dead-letter",
    "dead letter retry",
    "dead letter retry x",
    "cafe\u0301",
    "a_b",
    "ab",
    "x y",
    "",
    "open  phrase",
]


def test_what_a_search_asks_for_is_as_it_was(kept: Kept) -> None:
    rows = []
    for text in [*QUERIES.strip().splitlines(), "", "x\0y", "\ud800"]:
        try:
            query = parse_query(text, NOW)
        except StoreError as error:
            rows.append(f"{text!r}: {error} | {error.advice}")
            continue
        matches = matcher(query)
        rows.append(f"{text!r}: {query!r} {fts_expression(query)}")
        rows.append(f"    {[it for it in TEXTS if matches(it)]}")
        long = "word " * 40 + "retry here, dead letter, x " + "word " * 60
        rows += [f"    {_snippet(it, query)}" for it in (long, "x  retry\n end")]
    kept("queries.txt", "".join(f"{row}\n" for row in rows))


def test_a_title_is_one_line_of_what_can_be_seen() -> None:
    assert _one_line(" a\n\tb\u200b c\x00 ") == "a b c"
    assert _one_line("x" * 1000) == "x" * 1000
    assert _one_line("x" * 1001) == "x" * 1000


@pytest.mark.parametrize("text", [None, "", "soon", "2026-13-01"])
def test_what_is_no_time_is_none(text: str | None) -> None:
    assert as_time(text) is None


def test_a_time_without_a_zone_is_that_of_this_machine() -> None:
    assert as_time("2026-11-17T10:00:00Z") == datetime(2026, 11, 17, 10, tzinfo=UTC)
    assert as_time("2026-11-17T10:00:00") == datetime(2026, 11, 17, 10).astimezone()


@pytest.mark.parametrize("kind", ENTRIES)
def test_the_fields_of_an_entry_are_given_by_their_names(kind: Callable[..., Any]) -> None:
    kinds = {it.kind for it in inspect.signature(kind).parameters.values()}
    assert kinds == {inspect.Parameter.KEYWORD_ONLY}


# --- bundles --------------------------------------------------------------------------------------


def test_each_line_in_a_zip_is_redacted_by_itself(tmp_path: Path) -> None:
    with write_rich(tmp_path) as sessions:
        path = sessions.open(MAIN).path
        with path.open("ab") as file:
            file.write(b'{"type":"note","password":["two words","more words"]}\n\n{"type":"end"}')
        written = sessions.export(MAIN, tmp_path / "out.zip")
    with zipfile.ZipFile(written) as archive:
        found = archive.read("session.jsonl")
    redactor = Redactor()
    lines = [line.decode("utf-8", "surrogateescape") for line in path.read_bytes().split(b"\n")]
    expected = "".join(f"{redactor(line)}\n" for line in lines if line)
    assert found.decode("utf-8", "surrogateescape") == expected
    assert b'["<key-' in found
    assert SECRET.encode() not in found


# --- what is said if something is not possible ----------------------------------------------------


def refused(kept: list[str], name: str, do: Callable[[], object]) -> None:
    try:
        done = do()
    except (StoreError, CLIError, ValueError, OSError) as error:
        cause = getattr(error, "cause", None)
        advice = getattr(error, "advice", None)
        kept.append(f"{name}: {type(error).__name__} {cause}: {error} | {advice}")
    else:
        kept.append(f"{name}: {type(done).__name__}")


def test_what_is_said_of_what_the_store_cannot_do_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    config = tmp_path / "config"
    conversation(config)
    Writer(config, MAIN.replace("4000", "4001")).user("Another one")
    Writer(config, PLAIN).user("Third")
    (tmp_path / "notes.txt").write_text("{}", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    with zipfile.ZipFile(tmp_path / "no.zip", "w") as archive:
        archive.writestr("claudewire.json", "{}")
    bad_names = {"../x": "up", "subagents/../agent-1.jsonl": "inner", "x.txt": "other"}
    for name, short in bad_names.items():
        with zipfile.ZipFile(tmp_path / f"{short}.zip", "w") as archive:
            archive.writestr("claudewire.json", json.dumps({"id": PLAIN, "folder": "-x"}))
            archive.writestr("session.jsonl", "")
            archive.writestr(name, "")
    for short, manifest in {
        "folder": {"id": PLAIN, "folder": "../x"},
        "dot": {"id": PLAIN, "folder": ".x"},
        "id": {"id": "../x", "folder": "-x"},
        "agent": {"id": "agent-1", "folder": "-x"},
        "known": {"id": PLAIN, "folder": "-x"},
    }.items():
        with zipfile.ZipFile(tmp_path / f"{short}.zip", "w") as archive:
            archive.writestr("claudewire.json", json.dumps(manifest))
            archive.writestr("session.jsonl", "")
    rows: list[str] = []
    with BlockingSessions(config, index=tmp_path / "index.db") as sessions:
        sessions.export(MAIN, tmp_path / "out.zip")
        for name, do in {
            "info": lambda: sessions.info("ffff"),
            "nothing": lambda: sessions.info(""),
            "several": lambda: sessions.info("0000"),
            "a beginning": lambda: sessions.info("00000000-0000-4001"),
            "open": lambda: sessions.open("../x"),
            "rename": lambda: sessions.rename(MAIN, " \n"),
            "restore": lambda: sessions.restore(MAIN),
            "unarchive": lambda: sessions.unarchive(MAIN),
            "fork": lambda: sessions.fork(MAIN, at="nowhere"),
            "branch": lambda: [*sessions.open(MAIN).conversation("nowhere")],
            "agent": lambda: [*sessions.open(MAIN).entries(agent="nobody")],
            "resume elsewhere": lambda: sessions.resume(MAIN, cwd=tmp_path / "missing"),
            "resume": lambda: sessions.resume(MAIN),
            "search": lambda: sessions.search(" "),
            "export exists": lambda: sessions.export(MAIN, tmp_path / "out.zip"),
            "export format": lambda: sessions.export(MAIN, tmp_path / "a.pdf"),
            "export branch": lambda: sessions.export(MAIN, tmp_path / "a.zip", branch="u1"),
            "export nowhere": lambda: sessions.export(MAIN, tmp_path / "b.md", branch="nowhere"),
            "export no name": lambda: sessions.export(MAIN, tmp_path / "folder"),
            "import a folder": lambda: sessions.import_(tmp_path / "folder"),
            "import nothing": lambda: sessions.import_(tmp_path / "missing.zip"),
            "import text": lambda: sessions.import_(tmp_path / "notes.txt"),
            "import again": lambda: sessions.import_(tmp_path / "out.zip"),
            **{
                f"import {it}": lambda it=it: sessions.import_(tmp_path / f"{it}.zip")  # type: ignore[misc]
                for it in ("no", *bad_names.values(), "folder", "dot", "id", "agent", "known")
            },
        }.items():
            refused(rows, name, do)
    text = normal("".join(f"{row}\n" for row in rows), folder=tmp_path)
    kept("refused.txt", text)


def test_what_is_said_of_what_a_disk_or_a_store_refuses_is_as_it_was(
    kept: Kept, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config, outside = tmp_path / "config", tmp_path / "outside"
    writer = conversation(config, cwd=str(tmp_path))
    key: StoreKey = {"project_key": project_folder(tmp_path), "session_id": MAIN}
    opened_by = config / "sessions" / f"{os.getpid()}.json"
    opened_by.parent.mkdir()
    store = SqliteStore(":memory:")
    closed = SqliteStore(":memory:")
    closed.close()
    rows: list[str] = []
    with BlockingSessions(config, index=tmp_path / "index.db") as sessions:

        def run(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
            return anyio.run(partial(call, *args, **options))

        def short_write(file: int, data: bytes) -> int:
            return write(file, data[:5])

        def undeletable(path: Path) -> None:
            raise OSError(30, "Read-only file system", str(path))

        def read_nothing() -> None:
            with open_inside(config / "x", config):
                pass

        def open_by_a_cli() -> None:
            opened_by.write_text(json.dumps({"pid": os.getpid(), "sessionId": MAIN}), "utf-8")
            sessions.resume(MAIN)

        write = os.write
        run(store.append, key, [{"type": "other"}])
        for name, do in {
            "open in a cli": open_by_a_cli,
            "delete": lambda: sessions.delete(MAIN),
            "no more": opened_by.unlink,
            "leads out": lambda: check_inside(outside / "x", config),
            "unreadable": read_nothing,
            "export": lambda: sessions.export(MAIN, tmp_path / f"{'n' * 300}.zip"),
            "pdf": lambda: sessions.export(MAIN, tmp_path / "x", format="pdf"),  # type: ignore[arg-type]
            "store": lambda: run(closed.load, key),
            "key": lambda: run(store.load, {"project_key": "", "session_id": "s"}),
            "push": lambda: run(push_session, sessions, MAIN, store),
            "pull": lambda: run(fetch_session, sessions, store, MAIN, cwd=tmp_path),
            "pull nothing": lambda: run(fetch_session, sessions, store, PLAIN, cwd=tmp_path),
            "pull no id": lambda: run(fetch_session, sessions, store, "../x", cwd=tmp_path),
            "mirror no id": lambda: Mirror(sessions, "../x", store),
            "no transcript": lambda: key_of(tmp_path / "x", tmp_path / "projects"),
            "home": lambda: config_folder({"HOME": "~nobody-has-this-name"}),
            "trash": lambda: sessions.delete(MAIN),
            "back": lambda: conversation(config, cwd=str(tmp_path)),
            "restore": lambda: sessions.restore(MAIN),
        }.items():
            refused(rows, name, do)
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", short_write)
            refused(rows, "room", lambda: add_line(writer.path, config, b'{"type":"tag"}\n'))
            patch.setattr(shutil, "rmtree", undeletable)
            refused(rows, "empty", sessions.empty_trash)
        monkeypatch.setenv("XDG_CACHE_HOME", "~nobody-has-this-name")
        refused(rows, "lock", lambda: sessions.rename(MAIN, "x"))
    places = {"project": project_folder(tmp_path), "folder": tmp_path, "long": "n" * 300}
    text = normal("".join(f"{row}\n" for row in rows), **places)
    text = text.replace(f"process {os.getpid()}", "process <pid>")
    kept("refused-by-disk.txt", re.sub(r"\d{16}-", "<new>-", text))
