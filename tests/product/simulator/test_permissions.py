"""Rules, modes and folders decide as with the real CLI; everything else is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, bodies, only, told
from tests.helpers.text_mode import run_text

from claudewire import wire
from claudewire.simulator import Chat, SimulatedCLI

pytestmark = pytest.mark.anyio

Input = dict[str, Any]


async def tried(tool: str, input: Input, *argv: str, cwd: Path | str = ".") -> str:
    """Return `allowed`, `asked` or `denied` for one use of a tool."""

    async def play(chat: Chat) -> None:
        await chat.use(tool, input, result="ran")

    talk = Talk(SimulatedCLI(play, argv=argv, cwd=cwd))
    talk.serve[wire.CanUseTool] = lambda body: wire.PermissionResultAllow(body.input)
    turn = await talk.turn("go")
    if bodies(turn, wire.CanUseTool):
        return "asked"
    return "allowed" if told(turn) == ["ran"] else "denied"


@pytest.mark.parametrize(
    ("command", "argv", "decision"),
    [
        ("git log", ["--allowedTools", "Bash(git log:*)"], "allowed"),
        ("git log && rm -rf x", ["--allowedTools", "Bash(git log:*)"], "asked"),
        ("git log | tee z", ["--allowedTools", "Bash(git log:*)"], "asked"),
        ("touch z && sudo rm z", ["--allowedTools=Bash", "--disallowedTools=Bash(rm:*)"], "denied"),
        ("make", ["--permission-mode", "bypassPermissions"], "allowed"),
        ("make", ["--dangerously-skip-permissions"], "allowed"),
        ("make", ["--permission-mode", "dontAsk"], "denied"),
        ("make", ["--permission-mode", "acceptEdits"], "asked"),
        ("make", ["--allowedTools", "Bash(", "not a rule"], "asked"),
    ],
)
async def test_command_is_decided_by_rules_and_mode(
    command: str, argv: list[str], decision: str
) -> None:
    assert await tried("Bash", {"command": command}, *argv) == decision


@pytest.mark.parametrize(
    ("tool", "path", "argv", "decision"),
    [
        ("Read", "a.txt", [], "allowed"),
        ("Read", "/etc/passwd", [], "asked"),
        ("Read", "/etc/passwd", ["--add-dir", "/etc"], "allowed"),
        ("Read", "secret.txt", ["--disallowedTools", "Read(./secret.txt)"], "denied"),
        ("Write", "a.txt", [], "asked"),
        ("Write", "a.txt", ["--permission-mode", "acceptEdits"], "allowed"),
        ("Write", "/tmp/a.txt", ["--permission-mode", "acceptEdits"], "asked"),
        ("Write", "docs/a.md", ["--allowedTools", "Edit(docs/**)"], "allowed"),
        ("Write", ".git/config", ["--permission-mode", "acceptEdits"], "asked"),
    ],
)
async def test_file_is_decided_by_rules_mode_and_folder(
    tool: str, path: str, argv: list[str], decision: str, tmp_path: Path
) -> None:
    given = {"file_path": str(tmp_path / path), "content": ""}
    (tmp_path / "docs").mkdir()
    assert await tried(tool, given, *argv, cwd=tmp_path) == decision


@pytest.mark.parametrize(
    ("argv", "decision"),
    [
        (["--allowedTools", "mcp__calc"], "allowed"),
        (["--allowedTools", "mcp__calc__*"], "allowed"),
        (["--allowedTools", "mcp__other__*"], "asked"),
        (["--allowedTools", "*"], "asked"),
        (["--allowedTools", "mcp__calc", "--disallowedTools", "mcp__*"], "denied"),
    ],
)
async def test_tool_of_a_server_is_decided_by_rules(argv: list[str], decision: str) -> None:
    async def play(chat: Chat) -> None:
        await chat.use("mcp__calc__add", {}, run=lambda _: "ran")

    talk = Talk(SimulatedCLI(play, argv=argv))
    talk.serve[wire.CanUseTool] = lambda body: wire.PermissionResultAllow(body.input)
    turn = await talk.turn("go")
    asked = bool(bodies(turn, wire.CanUseTool))
    assert ("asked" if asked else "allowed" if told(turn) == ["ran"] else "denied") == decision


async def test_rules_of_settings_count_and_an_ask_rule_wins(tmp_path: Path) -> None:
    permissions = {"allow": ["Bash"], "ask": ["Bash(git push:*)"], "deny": ["Bash(rm:*)"]}
    settings = json.dumps({"permissions": permissions})
    decisions = [
        await tried("Bash", {"command": it}, "--settings", settings)
        for it in ("make", "git push", "rm -r x")
    ]
    assert decisions == ["allowed", "asked", "denied"]


async def test_rules_of_an_answer_hold_until_they_are_removed() -> None:
    rule = wire.PermissionRule("Bash", "make:*")
    updates: list[wire.PermissionUpdate] = [wire.AddRules([rule], "allow", "session")]

    def remember(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        return wire.PermissionResultAllow(body.input, updates)

    async def play(chat: Chat) -> None:
        for command in ("make", "make test", "makefile", "make it"):
            await chat.use("Bash", {"command": command})
            if command == "make test":
                updates[:] = [wire.RemoveRules([rule], "allow", "session")]

    turn = await Talk(SimulatedCLI(play), {wire.CanUseTool: remember}).turn("go")
    asked = [it.input["command"] for it in bodies(turn, wire.CanUseTool)]
    assert asked == ["make", "makefile", "make it"]


async def test_suggested_update_allows_the_same_use_again() -> None:
    async def play(chat: Chat) -> None:
        for name, input in (("Bash", {"command": "make (all)"}), ("Write", {"file_path": "a"})):
            await chat.use(name, input)
            await chat.use(name, input)

    def as_suggested(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        return wire.PermissionResultAllow(body.input, body.permission_suggestions)

    turn = await Talk(SimulatedCLI(play), {wire.CanUseTool: as_suggested}).turn("go")
    assert [it.tool_name for it in bodies(turn, wire.CanUseTool)] == ["Bash", "Write"]


async def test_answer_changes_mode_and_folders() -> None:
    updates: list[wire.PermissionUpdate] = [
        wire.AddDirectories(["/srv"]),
        wire.SetMode("acceptEdits"),
    ]

    async def play(chat: Chat) -> None:
        for path in ("a", "b", "/srv/c"):
            await chat.use("Write", {"file_path": path})

    def accept(body: wire.CanUseTool) -> wire.PermissionResultAllow:
        return wire.PermissionResultAllow(body.input, updates)

    turn = await Talk(SimulatedCLI(play), {wire.CanUseTool: accept}).turn("go")
    assert [it.input["file_path"] for it in bodies(turn, wire.CanUseTool)] == ["a"]
    assert [it.permission_mode for it in only(turn, wire.StatusMessage)] == ["acceptEdits"]


async def test_dont_ask_mode_denies_with_a_message() -> None:
    async def play(chat: Chat) -> None:
        await chat.use("Bash", {"command": "make"})

    cli = SimulatedCLI(play, argv=["--permission-mode=dontAsk"])
    turn = await Talk(cli).turn("go")
    (denied,) = only(turn, wire.PermissionDeniedMessage)
    assert (denied.tool_name, denied.decision_reason_type) == ("Bash", "mode")
    assert "don't ask mode" in told(turn)[0]


def test_nobody_is_asked_in_text_mode(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        outcome = await chat.use("Write", {"file_path": "a.txt", "content": ""})
        await chat.say(outcome.text)

    done = run_text(play, "-p", "go", cwd=tmp_path)
    assert done.stdout == (
        f"Claude requested permissions to write to {tmp_path}/a.txt, but you haven't granted it "
        "yet.\n"
    )


@pytest.mark.parametrize("argv", [["--tools", "Read"], ["--disallowedTools", "Bash"]])
async def test_removed_tool_is_not_available(argv: list[str]) -> None:
    async def play(chat: Chat) -> None:
        assert "Bash" not in chat.session.tools()
        await chat.use("Bash", {"command": "make"})

    turn = await Talk(SimulatedCLI(play, argv=argv)).turn("go")
    assert "No such tool available: Bash" in told(turn)[0]
    assert turn[-1].permission_denials == []
