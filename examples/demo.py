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
from claudewire.testing import SimulatedCLI
from claudewire.wire import (
    DIALECTS,
    Answer,
    Connection,
    Event,
    Request,
    ResultMessage,
    Role,
    StreamEvent,
    ToolUseBlock,
    UserMessage,
)
from claudewire.wire.messages import AssistantMessage
from claudewire.wire.permissions import PermissionResultAllow
from claudewire.wire.questions import questions_of
from claudewire.wire.requests import CanUseTool

from .dialects import COLOR, show, show_dialects

PROMPTS = [
    "Look around.",
    "Write haiku.txt: an old silent pond",
    "Summarise it for me, please.",
]


class Application:
    """A program that drives the CLI: it prints what it hears and decides what it is asked."""

    def __init__(self, cli: SimulatedCLI, wire: bool) -> None:
        self.cli = cli
        self.wire = wire
        self.claude = Connection(Role.CLIENT)

    async def ask(self, text: str) -> None:
        """Send a prompt and serve the CLI until its result has come."""
        print(f"\n{bold('you')}  {text}\n{bold('cli')}  ", end="")
        await self.send(UserMessage.of(text))
        while self.claude.unanswered_prompts:
            data = await self.cli.receive()
            if self.wire:
                for line in data.splitlines():
                    show("\n<", "33", line)
            for event in self.claude.receive_data(data):
                await self.hear(event)

    async def send(self, event: Event) -> None:
        data = self.claude.send(event)
        if self.wire:
            show("\n>", "36", data)
        await self.cli.send(data)

    async def hear(self, event: Event) -> None:
        if isinstance(event, StreamEvent) and event.text:
            print(event.text.replace("\n", "\n     "), end="", flush=True)
        elif isinstance(event, AssistantMessage):
            for block in event.content:
                if isinstance(block, ToolUseBlock):
                    print(f"\n     [{block.name} {brief(block.input)}]\n     ", end="")
        elif isinstance(event, Request) and isinstance(event.body, CanUseTool):
            await self.send(Answer(event.id, self.decide(event.body)))
        elif isinstance(event, ResultMessage):
            print(f"\n     ({event.subtype}, {event.num_turns} model calls)")

    def decide(self, asked: CanUseTool) -> PermissionResultAllow:
        """Allow everything, and choose the first answer to every question."""
        questions = questions_of(asked.input)
        if not questions:
            print(f"{bold('you')}  allow {asked.tool_name}\n     ", end="")
            return PermissionResultAllow(asked.input, tool_use_id=asked.tool_use_id)
        answers = {it.question: it.options[0].label for it in questions if it.options}
        for question, answer in answers.items():
            print(f"{bold('you')}  {question} {answer}\n     ", end="")
        return PermissionResultAllow(
            {**asked.input, "answers": answers}, tool_use_id=asked.tool_use_id
        )


def brief(value: object) -> str:
    text = str(value)
    return text if len(text) <= 70 else f"{text[:69]}…"


def bold(text: str) -> str:
    return f"\033[1m{text}\033[0m" if COLOR else text


async def work(folder: str, wire: bool) -> None:
    """Let the agent work in a folder."""
    cli = SimulatedCLI(argv=["--include-partial-messages"], cwd=folder)
    application = Application(cli, wire)
    for prompt in PROMPTS:
        await application.ask(prompt)
    await cli.send_eof()
    print(f"\nThe CLI has exited with status {await cli.wait()}.")


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
