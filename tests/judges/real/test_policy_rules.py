"""A policy reads rules as a real CLI in a cage does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from tests.helpers.real_clis import NEWEST, real_cli, why_not

from claudewire.policy import Policy
from claudewire.testing.api import APIScript, APIToolUse
from claudewire.testing.cage import Cage
from claudewire.wire import (
    CanUseTool,
    Initialize,
    PermissionResultDeny,
    ToolResultBlock,
    UserMessage,
)

from .host import Host, serve_calculator
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

FLAGS = (
    "--output-format=stream-json",
    "--input-format=stream-json",
    "--verbose",
    "--permission-prompt-tool=stdio",
)
AT_ONCE = 12
Use = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Table:
    """Rules, and uses of tools with their outcomes."""

    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]
    uses: Sequence[tuple[Use, str]]

    def settings(self) -> str:
        rules = {"allow": self.allow, "ask": self.ask, "deny": self.deny}
        return json.dumps({"permissions": rules})


def bash(behavior: str, *commands: str) -> list[tuple[Use, str]]:
    return [(("Bash", {"command": command}), behavior) for command in commands]


def write(behavior: str, *paths: str) -> list[tuple[Use, str]]:
    return [(("Write", {"file_path": path, "content": "x"}), behavior) for path in paths]


def read(behavior: str, *paths: str) -> list[tuple[Use, str]]:
    return [(("Read", {"file_path": path}), behavior) for path in paths]


def fetch(behavior: str, *urls: str) -> list[tuple[Use, str]]:
    return [(("WebFetch", {"url": url, "prompt": "x"}), behavior) for url in urls]


# These programs do not exist: an allowed command fails without an effect.
TABLES = {
    "commands that are allowed": Table(
        [
            "Bash(zork bar:*)",
            "Bash(zork baz *)",
            "Bash(zork exact)",
            "Bash(zork * main)",
            "Bash(zork wild*)",
            "Bash(zork '\\(a\\)')",
        ],
        [],
        [],
        [
            *bash("allow", "zork bar", "zork bar x", "zork  bar", "zork bar > /dev/null"),
            *bash("allow", "zork bar 2>&1", "zork bar && zork bar y", "zork bar | zork bar y"),
            *bash("allow", "zork bar\nzork bar y", "LANG=C zork bar", "timeout 5 zork bar"),
            *bash("allow", "nohup zork bar", "time zork bar", "command zork bar"),
            *bash("allow", "'zork' bar", "zork bar $HOME", "zork bar *.txt", "zork bar # x"),
            *bash("allow", "! zork bar", "zork bar \\\n x", "zork bar;"),
            *bash("allow", "zork baz", "zork baz x", "zork exact", "zork exact > /dev/null"),
            *bash("allow", "zork x y main", "zork wild", "zork wilder x", "zork '(a)'"),
            *bash("ask", "zork", "zork barx", "zork bar && zap", "zork bar\nzap", "zork bar; zap"),
            *bash("ask", "zork bar > out.txt", "FOO=1 zork bar", "env zork bar", "./zork bar"),
            *bash("ask", "zork bar $(zap)", "zork bar `zap`", "zork bar <(zap)", "(zork bar; zap)"),
            *bash("ask", "bash -c 'zork bar'", "zork bazx", "zork exact x", "zork main"),
            *bash("ask", "zork x main y", "zork bar <<EOF\n$(zap)\nEOF", "/usr/bin/zork bar"),
        ],
    ),
    "commands that are denied": Table(
        # Beside a rule that denies, our bare `Bash` allows only known programs.
        ["Bash", *(f"Bash({it}:*)" for it in ("zork", "zapper"))],
        ["Bash(ping:*)", "Bash(zing * x)"],
        ["Bash(zap:*)", "Bash(exactly this)"],
        [
            *bash("deny", "zap", "zap x", "FOO=1 zap x", "env zap", "sudo zap", "timeout 3 zap"),
            *bash(
                "deny", "zork $(zap x)", "zork `zap x`", "zork && zap x", "(zap x)", "{ zap x; }"
            ),
            *bash("deny", "/usr/bin/zap x", "'zap' x", "z\\ap x", "xargs zap", "command zap"),
            *bash("deny", "zork <<EOF\n$(zap x)\nEOF", "zork <(zap x)", "if true; then zap x; fi"),
            *bash("deny", "! zap x", "f() { zap x; }; f", "exec zap", "exactly this"),
            *bash("deny", "zork; exactly this"),
            *bash("ask", "ping x", "FOO=1 ping x", "zork && ping x", "zork $(ping x)", "zing a x"),
            *bash("allow", "zapper", "echo zap", "zork | zork"),
        ],
    ),
    "files": Table(
        ["Edit(src/**)", "Edit(**/deep/**)", "Edit(*.ts)", "Edit(named)"],
        ["Edit(src/asked/**)"],
        ["Read(secrets/**)", "Read(.env)", "Edit(src/locked)"],
        [
            *write("allow", "src/a", "src/b/c", "src/../src/d", "x/deep/y", "a/b.ts", "q/named"),
            *write("ask", "top", "vendor/src/a", "docs/a", "src/../top", "src/asked/a"),
            *write("deny", "secrets/new", "a/secrets/new", "src/locked", "SRC/LOCKED"),
            *read("deny", ".env", "a/.env", "secrets/key", "a/secrets/key"),
        ],
    ),
    "the web and questions": Table(
        ["WebFetch(domain:example.com)", "WebFetch(domain:*.test.org)", "AskUserQuestion"],
        [],
        ["WebFetch(domain:evil.org)"],
        [
            *fetch(
                "allow", "https://example.com/a", "https://EXAMPLE.com/", "https://a.b.test.org/"
            ),
            *fetch(
                "ask", "https://sub.example.com/", "https://test.org/", "https://example.com.x/"
            ),
            *fetch("ask", "https://x.org/?example.com"),
            *fetch("deny", "https://evil.org/x"),
            (
                (
                    "AskUserQuestion",
                    {
                        "questions": [
                            {
                                "question": "Which?",
                                "header": "Which",
                                "multiSelect": False,
                                "options": [
                                    {"label": "A", "description": "a"},
                                    {"label": "B", "description": "b"},
                                ],
                            }
                        ]
                    },
                ),
                "ask",
            ),
        ],
    ),
}


class Witness:
    """Notes the requests of the CLI, and denies them."""

    def __init__(self) -> None:
        self.asked: set[str | None] = set()

    def __call__(self, asked: CanUseTool) -> PermissionResultDeny:
        self.asked.add(asked.tool_use_id)
        return PermissionResultDeny(message="Not now.")


def results(host: Host) -> dict[str, str]:
    messages = [event for event in host.events if isinstance(event, UserMessage)]
    return {
        block.tool_use_id: str(block.content)
        for message in messages
        if isinstance(message.message.content, list)
        for block in message.message.content
        if isinstance(block, ToolResultBlock)
    }


async def ask_cli(table: Table) -> list[str]:
    """Let the model of a real CLI use the tools, and return the outcomes."""
    uses = [
        APIToolUse(tool, given, id=f"toolu_{n}") for n, ((tool, given), _) in enumerate(table.uses)
    ]
    batches = [uses[start : start + AT_ONCE] for start in range(0, len(uses), AT_ONCE)]
    script = APIScript()
    for number, batch in enumerate(batches):
        script.on(f"batch {number}.", batch, "Done.")
    witness = Witness()
    with Cage(script) as cage:
        for name in (".env", "a/.env", "secrets/key", "a/secrets/key"):
            (cage.work / name).parent.mkdir(parents=True, exist_ok=True)
            (cage.work / name).write_text("x", encoding="utf-8")
        command = cage.command([real_cli(NEWEST), *FLAGS, "--settings", table.settings()])
        with anyio.fail_after(120):
            async with started(command) as transport:
                host = Host(transport, witness, serve_calculator)
                await host.start(Initialize())
                for number in range(len(batches)):
                    await host.turn(f"Do batch {number}.")
                await host.end()
    found = results(host)
    return [verdict(f"toolu_{n}", witness, found) for n in range(len(uses))]


def verdict(id: str, witness: Witness, found: dict[str, str]) -> str:
    if id in witness.asked:
        return "ask"
    return "deny" if "denied" in found[id] or "deny rule" in found[id] else "allow"


@pytest.mark.parametrize("name", TABLES)
async def test_rule_means_to_us_what_it_means_to_the_cli(name: str) -> None:
    if (reason := why_not(NEWEST)) is not None:
        pytest.skip(reason)
    table = TABLES[name]
    said = await ask_cli(table)
    policy = Policy(table.allow, table.ask, table.deny, cwd="/nowhere", home="/home/nobody")
    for (use, behavior), theirs in zip(table.uses, said, strict=True):
        ours = policy.decide(*use)
        assert (behavior, theirs) == (behavior, behavior), use
        assert ours.behavior == behavior, (use, ours.reason)
