"""All that is known of a session with subagents of every kind: see tests/helpers/kept.py."""

from __future__ import annotations

import json
import os
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.helpers.kept import Kept, normal

from claudewire.store import BlockingSessions

from .made import MAIN, PLAIN, Writer

TEXT = {"type": "text", "text": "before"}


def agent(config: Path, place: str, meta: dict[str, Any] | None = None) -> Writer:
    """Begin the file of a subagent in a folder of the session."""
    writer = Writer(config, MAIN)
    folder = writer.path.with_suffix("") / "subagents"
    writer.path = folder / f"{place}.jsonl"
    writer.path.parent.mkdir(parents=True, exist_ok=True)
    writer.id = MAIN
    if meta is not None:
        writer.path.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    return writer


def write_family(config: Path) -> None:
    main = Writer(config)
    main.user("Start them")
    main.call("Agent", id="t1", prompt="First")
    main.call("Agent", id="t2", prompt="Second")
    main.user([TEXT, {"type": "tool_result", "tool_use_id": "t2", "content": "ok"}],
              toolUseResult={"agentId": "two"})  # fmt: skip
    main.user([TEXT], toolUseResult={"agentId": "three"})
    main.user([TEXT], toolUseResult={"agentId": 5})
    main.user([TEXT], toolUseResult="text")
    main.call("Task", id="t5", prompt="Side work")
    side = main.last
    main.last = None
    main.user("Side work", isSidechain=True)
    main.model("Side answer", isSidechain=True)
    main.last = side
    main.line(type="progress", data={})
    main.raw(b"broken\n")
    main.raw({"type": "hologram", "uuid": "h"})
    main.user("Lost", parentUuid="gone")
    main.model("Found")
    one = agent(
        config, "agent-one", {"toolUseId": "t1", "agentType": "Explore", "description": "D"}
    )
    one.user("First", isSidechain=True, agentId="one")
    one.call("Agent", id="t3", prompt="Deeper")
    one.user([{"type": "tool_result", "tool_use_id": "t3", "content": "x"}],
             toolUseResult={"agentId": "deep"})  # fmt: skip
    agent(config, "agent-two").user("Second", isSidechain=True)
    agent(config, "agent-three", {"toolUseId": 5}).user("Third", isSidechain=True)
    deep = agent(config, "more/agent-deep")
    deep.user("Deeper", isSidechain=True)
    deep.user([TEXT], toolUseResult={"agentId": "deep"})
    agent(config, "notes").user("No agent")
    loose = Writer(config, "agent-loose")
    loose.user("Loose", sessionId=MAIN, isSidechain=True)
    Writer(config, "agent-other").user("Not ours", sessionId=PLAIN)
    results = main.path.with_suffix("") / "tool-results"
    results.mkdir()
    (results / "long.txt").write_text("token=abcdefgh1234", encoding="utf-8")
    (results / ".hidden").touch()


def test_what_is_known_of_subagents_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    config = tmp_path / "config"
    write_family(config)
    rows: list[str] = []
    with BlockingSessions(config, index=tmp_path / "index.db") as sessions:
        transcript = sessions.open(MAIN)
        rows += map(repr, transcript.agents())
        for it in transcript.agents():
            uuids = [entry.uuid for entry in transcript.entries(agent=it.id)]
            rows.append(f"{it.id}: {uuids} at {transcript.place_of(it)}")
        rows += map(repr, transcript.branches())
        rows.append(f"{[entry.uuid for entry in transcript.conversation()]}")
        rows.append(f"{[entry.uuid for entry in transcript.conversation('u4')]}")
        rows += map(repr, transcript.findings())
        rows += [f"{type(it).__name__}" for it in transcript.blocks()]
        for at in (None, "u2", "u4"):
            fork = sessions.fork(MAIN, at=at, title=" A  fork ")
            made = [Path(fork.path), *sorted(Path(fork.path).with_suffix("").rglob("*.*"))]
            rows.append(f"fork at {at}: {fork.title} {fork.agents} {fork.parent} {fork.prompts}")
            for path in made:
                lines = path.read_bytes().splitlines()
                found = [json.loads(line).get("uuid") for line in lines]
                rows.append(f"    {path.relative_to(Path(fork.path).parent)} {found}")
        for redact in (True, False):
            written = sessions.export(MAIN, tmp_path / f"{redact}.zip", redact=redact)
            with zipfile.ZipFile(written) as archive:
                rows.append(f"{sorted(archive.namelist())}")
                rows.append(archive.read("claudewire.json").decode())
                rows.append(archive.read("tool-results/long.txt").decode())
        for name in ("a.md", "a.html"):
            text = sessions.export(MAIN, tmp_path / name).read_text(encoding="utf-8")
            rows.append(text.rpartition("</style>")[2])
    kept("agents.txt", normal("".join(f"{row}\n" for row in rows), folder=tmp_path))


def test_which_sessions_are_listed_is_as_it_was(kept: Kept, tmp_path: Path) -> None:
    config = tmp_path / "config"
    places = ["/srv/shop", "/srv/shop/deep", "/srv/shopping", "/srv"]
    for number, cwd in enumerate(places):
        writer = Writer(config, MAIN.replace("0001", f"00{number}1"), cwd)
        day = f"2026-11-{10 + number:02}T10:00:00.000Z"
        writer.user(f"Prompt {number}" if number else "Café au lait", timestamp=day)
        writer.model("Yes", timestamp=day.replace("T10", "T12"))
        writer.raw({"type": "tag", "tag": f"tag{number % 2}"})
        writer.raw({"type": "custom-title", "customTitle": f"Title {number}"})
        os.utime(writer.path, (1_000_000_000 + number, 1_000_000_000 + number))
    rows = []
    when = datetime(2026, 11, 11, 12, tzinfo=UTC)
    begin = datetime(2026, 11, 11, 10, tzinfo=UTC)
    questions: list[dict[str, Any]] = [
        {},
        *({"project": it} for it in (*places, "/srv/", "/nowhere")),
        *({"since": it} for it in (when, begin)),
        *({"until": it} for it in (when, begin)),
        *({"text": it} for it in ("cafe", "TITLE 1", "prompt", "nothing", "")),
        *({"tag": it} for it in ("tag0", "tag1", "tag9")),
        *({"limit": it} for it in (0, 1, 2, 9)),
        {"project": "/srv/shop", "limit": 1, "text": "title"},
    ]
    with BlockingSessions(config, index=tmp_path / "index.db") as sessions:
        for asked in questions:
            found = [f"{it.title} {it.cwd}" for it in sessions.list(**asked)]
            rows.append(f"{asked}: {found}\n")
        for query in ("yes", "yes project:shop", "yes since:2026-11-11T12:00+00:00", "prompt*",
                      "yes until:2026-11-11T12:00+00:00", "prompt role:assistant"):  # fmt: skip
            hits = sessions.search(query)
            rows.append(f"{query}: {len(hits)}\n")
    kept("listed.txt", "".join(rows))
