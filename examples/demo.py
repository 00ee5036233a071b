"""Show what the library does, on any machine: no network, no account, nothing left behind.

First an application gives a small agent three things to do in a folder of its own. The agent is the
simulation that comes with claudewire: it really reads and writes files, asks for permission and
asks back. Then the same short conversation is shown on the wire in each documented dialect.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import anyio

import claudewire
from claudewire import PermissionRequest, PermissionResult, QuestionRequest, Session
from claudewire.testing import SimulatedCLI
from claudewire.tracking import LiveBlock
from claudewire.wire import DIALECTS

from .dialects import COLOR, show, show_dialects

PROMPTS = [
    "Look around.",
    "Write haiku.txt: an old silent pond",
    "Summarise it for me, please.",
]


async def converse(claude: Session) -> None:
    """Give the agent one thing to do after the other, and print what it says meanwhile."""
    for prompt in PROMPTS:
        print(f"\n{bold('you')}  {prompt}\n{bold('cli')}  ", end="")
        turn = claude.send(prompt)
        async for block in turn.iter_blocks():
            print_block(block)
        reply = await turn
        print(f"\n     ({reply.result.num_turns} model calls, {reply.totals.tokens} tokens)")


def print_block(block: LiveBlock) -> None:
    if block.kind == "text":
        print(block.added.replace("\n", "\n     "), end="", flush=True)
    elif block.change == "completed":
        print(f"\n     [{block.name} {brief(block.input)}]\n     ", end="")


async def allow(request: PermissionRequest) -> PermissionResult:
    """Allow everything."""
    print(f"{bold('you')}  allow {request.tool_name}\n     ", end="")
    return request.allow()


async def choose_the_first(request: QuestionRequest) -> PermissionResult:
    """Choose the first answer to every question."""
    for question in request.questions:
        print(f"{bold('you')}  {question.question} {question.options[0].label}\n     ", end="")
    return request.answer(dict.fromkeys(range(len(request.questions)), 0))


class Window:
    """A transport that shows what passes."""

    def __init__(self, cli: SimulatedCLI) -> None:
        self._cli = cli
        self.send_eof, self.receive_stderr = cli.send_eof, cli.receive_stderr
        self.wait, self.aclose = cli.wait, cli.aclose

    async def send(self, data: bytes) -> None:
        show("\n>", "36", data)
        await self._cli.send(data)

    async def receive(self) -> bytes:
        data = await self._cli.receive()
        for line in data.splitlines():
            show("\n<", "33", line)
        return data


def brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 70 else f"{text[:69]}…"


def bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if COLOR else text


async def work(folder: str, wire: bool) -> None:
    """Let the agent work in a folder."""
    cli = SimulatedCLI(argv=["--include-partial-messages"], cwd=folder)
    async with claudewire.open(
        on_permission=allow,
        on_question=choose_the_first,
        transport=Window(cli) if wire else cli,
    ) as claude:
        await converse(claude)
    used = claude.ledger.session
    print(f"\nThat was {used.turns} turns and {used.tokens} tokens, had it been a model.")
    print(f"The CLI has exited with status {await cli.wait()}.")


def work_somewhere(wire: bool) -> None:
    """Let the agent work in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes.md").write_text("# Notes\n\nFrogs jump.\n", encoding="utf-8")
        Path(folder, "poem.txt").write_text("A frog jumps into the pond\n", encoding="utf-8")
        anyio.run(work, folder, wire)


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(
        prog="scripts/demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--wire", action="store_true", help="show every line of the conversation")
    parser.add_argument("dialect", nargs="*", help=f"only show these: {', '.join(DIALECTS)}")
    options = parser.parse_args()
    if unknown := set(options.dialect) - set(DIALECTS):
        parser.error(f"no such dialect: {', '.join(sorted(unknown))}")
    print(f"claudewire {claudewire.__version__}, with the simulated CLI that comes with it.")
    if not options.dialect:
        work_somewhere(options.wire)
        print("\nThe same conversation in each dialect; > is the application, < the CLI.")
    show_dialects(options.dialect or ["modern", "session", "legacy", "envelope"])


if __name__ == "__main__":
    main()
