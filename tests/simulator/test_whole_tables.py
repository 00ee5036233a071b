"""What the simulated CLI decides, in tables of cases: see tests/helpers/kept.py."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.kept import Kept, compact
from tests.simulator.player import ID, Player
from tests.simulator.test_stored import said
from tests.simulator.test_whole_conversations import opening, parsed

from claudewire.simulator import Chat
from claudewire.simulator.hooks import HookCalls
from claudewire.simulator.permissions import Decision
from claudewire.simulator.stored import NotResumable, take_up
from claudewire.wire import (
    CanUseTool,
    FileSuggestions,
    HookCallback,
    HookMatcher,
    HookOutput,
    Initialize,
    PermissionResultDeny,
    PostToolUseHookSpecificOutput,
    PreToolUseHookSpecificOutput,
    ReadFile,
    RewindFiles,
)


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    """The folder in which a CLI works; its own is beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


# --- permissions ----------------------------------------------------------------------------------

USES: list[tuple[str, dict[str, Any]]] = [
    ("Bash", {"command": "make"}),
    ("Bash", {"command": "make all"}),
    ("Bash", {"command": "maker"}),
    ("Bash", {"command": "make (all)"}),
    ("Bash", {}),
    ("Edit", {"file_path": "src/a.py"}),
    ("Write", {"path": "b.py", "file_path": ""}),
    ("WebFetch", {"url": "x"}),
    ("mcp__calc__add", {"a": 1}),
    ("mcp__calc__sub", {"path": "make"}),
    ("Skill", {}),
    ("Read", {"file_path": "a"}),
    ("Nothing", {}),
]
RULES = """
Bash(make (all))
Bash
Bash()
Bash(make)
Bash(make:*)
Bash(make *)
Bash(ma*)
Bash(*)
Ba
Ba*
*
Edit(src/*)
Edit(*.py)
Write(b.py)
mcp__calc
mcp__calc__add
mcp__calc__*
mcp__calc__*(make)
mcp__*
mcp__*__add
mcp__cal
Web*
Skill
Read
""".strip().splitlines()


def decisions(cwd: Path, argv: list[str], **options: Any) -> dict[str, list[str]]:
    """Return what becomes of each use of a tool."""
    found: dict[str, list[str]] = {}

    async def use(chat: Chat) -> None:
        for name, given in USES:
            outcome = await chat.use(name, given)
            how = "allowed" if outcome.allowed else outcome.text[:60]
            found.setdefault(how, []).append(f"{name} {' '.join(map(str, given.values()))}")

    player = Player(use, cwd, argv=argv, serve={CanUseTool: deny}, **options)
    player.ask(opening())
    player.turn("Go.")
    player.end()
    return found


def deny(body: CanUseTool) -> PermissionResultDeny:
    return PermissionResultDeny("asked")


def test_what_each_rule_allows_or_denies_is_as_it_was(kept: Kept, cwd: Path) -> None:
    lines = []
    for flag, rule in product(("--allowedTools", "--disallowedTools"), RULES):
        lines.append(f"{flag} {rule}\n")
        found = decisions(cwd, [f"{flag}={rule}"])
        lines += [f"    {how}: {', '.join(uses)}\n" for how, uses in found.items()]
    kept("rules.txt", "".join(lines))


def test_what_is_told_of_each_decision_is_as_it_was(kept: Kept) -> None:
    sources = ("config", "hook", "user_temporary", "user_reject")
    reasons = (None, "rule", "mode", "hook", "other")
    found: dict[str, list[str]] = {}
    for allowed, source, reason in product((True, False), sources, reasons):
        it = Decision(allowed, {}, source=source, reason=reason)
        for tool in ("Bash", "Edit"):
            told = compact([it.meta, it.kept(tool)])
            found.setdefault(told, []).append(f"{allowed} {source} {reason} {tool}")
    unknown = Decision(False, {}, known=False)
    lines = [f"{' | '.join(names)}\n    {told}\n" for told, names in found.items()]
    kept("decisions.txt", "".join(lines) + f"{unknown!r} {unknown.meta}\n")


# --- hooks ----------------------------------------------------------------------------------------

MATCHERS = (None, "", "*", "Bash", "Bash|Edit", "Ba", "Ba.*", "^Edit$", "mcp__calc", "a.d", "Bäsh")
PRE, POST = PreToolUseHookSpecificOutput, PostToolUseHookSpecificOutput
OUTPUTS: list[HookOutput] = [
    HookOutput(),
    HookOutput(decision="approve", reason="x"),
    HookOutput(decision="block"),
    HookOutput(decision="block", reason="not so"),
    HookOutput(continue_=True),
    HookOutput(continue_=False),
    HookOutput(hook_specific_output=PRE(permission_decision="deny")),
    HookOutput(
        hook_specific_output=PRE(permission_decision="deny", permission_decision_reason="y")
    ),
    HookOutput(hook_specific_output=PRE(permission_decision="allow", updated_input={"a": 1})),
    HookOutput(hook_specific_output=PRE(updated_input={})),
    HookOutput(hook_specific_output=PRE(additional_context="one")),
    HookOutput(hook_specific_output=POST(additional_context="two")),
]


def test_what_several_outputs_of_hooks_come_to_is_as_it_was(kept: Kept) -> None:
    lines = []
    for one, other in product([None, *OUTPUTS], OUTPUTS):
        calls = HookCalls()
        calls.outputs = [it for it in (one, other) if it is not None]
        told = (calls.blocked, calls.approved, calls.updated_input, calls.context, calls.stopped)
        lines.append(f"{told} {len(calls.specific)}\n")
    calls.outputs, calls.failed = [], "failed"
    kept("hook-calls.txt", "".join(lines) + f"{calls.blocked}\n")


def test_which_hooks_are_called_for_a_tool_is_as_it_was(kept: Kept, cwd: Path) -> None:
    called: list[str] = []

    def answer(body: HookCallback) -> HookOutput:
        called.append(f"{body.callback_id}: {getattr(body.input, 'tool_name', '')}\n")
        return HookOutput()

    async def use(chat: Chat) -> None:
        for name in ("Bash", "Edit", "mcp__calc__add"):
            await chat.use(name, {})

    matchers = [HookMatcher([f"{it!r}", "also"], matcher=it) for it in MATCHERS]
    player = Player(use, cwd, serve={HookCallback: answer})
    player.ask(Initialize(hooks={"PreToolUse": matchers}, sdk_mcp_servers=["calc"]))
    player.turn("Go.")
    kept("hook-matchers.txt", "".join(called))


@pytest.mark.parametrize(("given", "seconds"), [(None, 60.0), (0, 60.0), (2.5, 2.5)])
def test_a_hook_that_is_silent_has_its_time(cwd: Path, given: float | None, seconds: float) -> None:
    async def use(chat: Chat) -> None:
        await chat.use("Bash", {})

    player = Player(use, cwd, serve={HookCallback: lambda body: NotImplemented})
    player.ask(Initialize(hooks={"PreToolUse": [HookMatcher(["it"], timeout=given)]}))
    player.turn("Go.")
    assert player.engine.clock() == seconds
    assert "The hook did not respond before its timeout" in player.text


# --- files ----------------------------------------------------------------------------------------


def answers(player: Player) -> list[Any]:
    """Return what the last requests were answered."""
    found = [parsed(line) for line in player.lines]
    return [it["response"] for it in found if it.get("type") == "control_response"]


@pytest.mark.parametrize(
    ("size", "kept", "truncated"),
    [(None, "one\ntwo\n", None), (0, "", True), (7, "one\ntwo", True), (8, "one\ntwo\n", None)],
)
def test_a_file_is_read_up_to_a_size(
    cwd: Path, size: int | None, kept: str, truncated: bool | None
) -> None:
    (cwd / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    player = Player(None, cwd)
    player.ask(ReadFile("a.txt", max_bytes=size))
    told = answers(player)[-1]["response"]
    assert (told["contents"], told.get("truncated")) == (kept, truncated)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("none.txt", "No such file or directory"),
        (".", "Is a directory"),
        ("a\0b", "embedded null byte"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_the_reason(
    cwd: Path, path: str, reason: str
) -> None:
    player = Player(None, cwd)
    player.ask(ReadFile(path))
    assert answers(player)[-1]["error"] == f"Cannot read {path}: {reason}"


def test_a_file_that_cannot_be_there_is_not_kept(cwd: Path) -> None:
    outcomes = []

    async def edit(chat: Chat) -> None:
        for path in ("a\0b", "."):
            outcomes.append((await chat.use("Edit", {"file_path": path})).text)

    player = Player(edit, cwd, env={ENABLED: "1"})
    player.turn("Go.", uuid=ID)
    assert outcomes == ["ok", "ok"]
    assert [*player.engine.session.checkpoints[ID].values()] == [None, None]


@pytest.mark.parametrize("count", [19, 20, 21])
def test_only_so_many_files_are_suggested(cwd: Path, count: int) -> None:
    for number in range(count):
        (cwd / f"File-{number:02}.TXT").touch()
    (cwd / "other").touch()
    player = Player(None, cwd)
    player.ask(FileSuggestions("file-"), FileSuggestions("E-0"), FileSuggestions("none"))
    found = [it["response"]["suggestions"] for it in answers(player)[-3:]]
    every, some, none = ([it["path"] for it in suggested] for suggested in found)
    assert every == [f"File-{number:02}.TXT" for number in range(count)][:20]
    assert some == [f"File-0{number}.TXT" for number in range(10)]
    assert none == []


# --- checkpoints ----------------------------------------------------------------------------------

ENABLED = "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"


@pytest.mark.parametrize(
    ("value", "enabled"),
    [("1", True), ("true", True), ("YES", True), ("on", True), ("0", False), ("", False)],
)
def test_what_enables_checkpoints(cwd: Path, value: str, enabled: bool) -> None:
    player = Player(None, cwd, env={ENABLED: value})
    player.turn("hello", uuid=ID)
    assert ("file-history-snapshot" in player.text) == enabled
    player.ask(RewindFiles(ID))
    assert (answers(player)[-1]["subtype"] == "success") == enabled


EDITS: list[tuple[str, dict[str, Any]]] = [
    ("Write", {"file_path": "new.txt"}),
    ("Edit", {"file_path": "old.txt"}),
    ("Edit", {"file_path": "old.txt"}),
    ("NotebookEdit", {"notebook_path": "sub/a.ipynb"}),
    ("NotebookEdit", {"file_path": "no.txt"}),
    ("Write", {"file_path": 5}),
    ("Edit", {}),
    ("Bash", {"file_path": "no.txt"}),
    ("Write", {"file_path": "OUTSIDE"}),
]


def test_what_is_kept_of_edited_files_is_as_it_was(kept: Kept, cwd: Path) -> None:
    outside = cwd.parent / "other.txt"
    (cwd / "old.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (cwd / "sub").mkdir()
    turns: dict[str, list[tuple[str, dict[str, Any]]]] = {
        "first": EDITS,
        "second": EDITS[1:2],
        "third": [],
        "fourth": EDITS[:2],
    }

    async def edit(chat: Chat) -> None:
        for name, given in turns[chat.text]:
            path = given.get("file_path", given.get("notebook_path"))
            path = outside if path == "OUTSIDE" else path
            files = {"file_path": str(path)} if path is outside else given
            await chat.use(name, files, run=partial(change, path))

    def change(path: Any, given: dict[str, Any]) -> str:
        if isinstance(path, str | Path):
            with (cwd / path).open("a", encoding="utf-8") as file:
                file.write("more\n")
        return "done"

    player = Player(edit, cwd, env={ENABLED: "1"})
    player.ask(opening())
    uuids = {name: ID[:-1] + str(at) for at, name in enumerate(turns, 2)}
    for name, uuid in uuids.items():
        player.turn(name, uuid=uuid)
    for uuid in (*uuids.values(), ID):
        player.ask(RewindFiles(uuid, dry_run=True))
    lines = [it for it in player.text.splitlines(True) if "file-history" in it]
    lines += [f"{it}\n" for it in map(compact, answers(player)[-5:])]
    for uuid in reversed(uuids.values()):
        player.ask(RewindFiles(uuid))
        found = {it.name: it.read_text(encoding="utf-8") for it in sorted(cwd.rglob("*.*"))}
        lines.append(f"{compact(answers(player)[-1])}\n{compact(found)}\n")
    text = "".join(lines)
    for path in (cwd / "new.txt", cwd / "old.txt", cwd / "sub/a.ipynb", outside):
        text = text.replace(sha256(str(path).encode()).hexdigest()[:16], f"<{path.name}>")
    kept("checkpoints.txt", text.replace(str(cwd), "<cwd>").replace(str(cwd.parent), "<above>"))


# --- conversations that are taken up --------------------------------------------------------------

TEXT = [
    {"type": "text", "text": "a"},
    {"type": "image"},
    5,
    {"type": "text"},
    {"type": "text", "text": 5},
    {"type": "other", "text": "other"},
    {"type": "text", "text": "b"},
]
ENTRIES: list[dict[str, Any]] = [
    said("1", None, "user", "prompt"),
    said("1", None, "user", TEXT),
    said("1", None, "user", ""),
    said("1", None, "user", 5),
    said("1", None, "user", "meta", isMeta=True),
    said("1", None, "user", "not meta", isMeta=False),
    said("1", None, "user", "result", toolUseResult=""),
    said("1", None, "user", "no result", toolUseResult=None),
    said("1", None, "user", "aside", isSidechain=True),
    said("1", None, "user", "not aside", isSidechain=False),
    *(
        said("1", None, "user", f"{start}x")
        for start in ("<command-", "<local-command-", "<task-notification", "[Request interr", "<x")
    ),
    said("1", None, "assistant", "answer"),
    said("1", None, "system", "words"),
    {"type": "user", "uuid": "1", "parentUuid": None, "message": "text"},
    {"type": "user", "uuid": "1", "message": {"content": "without a parent"}},
    {"type": "user", "uuid": 1, "parentUuid": None, "message": {"content": "no uuid"}},
    *(
        {**said("1", None, "user", "x"), "turnPosition": place}
        for place in ({"promptIndex": 2, "turnIndex": 3}, {"promptIndex": 2}, {}, 5)
    ),
]


def entry_lines() -> Iterator[str]:
    for entry in ENTRIES:
        stored = take_up([entry])
        shown = [f"{it['type']}: {it['text']}" for it in stored.history]
        yield f"{compact(entry)}\n    {stored.leaf} {shown} {stored.position}\n"
    talk = [
        said("u1", None, "user", "One?"),
        said("a1", "u1", "assistant", "One."),
        said("a2", "a1", "assistant", "And."),
        said("u2", "a2", "user", "Two?"),
        said("a3", "u2", "assistant", "Two."),
        said("u3", "a3", "user", "Three?"),
    ]
    for at, drops in product((None, "u1", "a2", "a3", "u3", "none"), (None, "u1", "u2", "u3")):
        try:
            stored = take_up(talk, at=at, drops=drops)
            told = f"{stored.leaf} {[it['text'] for it in stored.history]}"
        except NotResumable as error:
            told = str(error)
        yield f"at {at} drops {drops}\n    {told}\n"


def test_what_is_taken_up_of_entries_is_as_it_was(kept: Kept) -> None:
    kept("entries.txt", "".join(entry_lines()))
