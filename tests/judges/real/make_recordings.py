"""Make tests/product/recordings anew: `python -m tests.judges.real.make_recordings`.

They come from real CLIs and are what our types are held to. Nothing in them tells about the
machine, and what CLIs say at length about themselves is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from tests.helpers.real_clis import NEWEST, real_cli

from claudewire.errors import Redactor
from claudewire.recordings import RecordingTransport
from claudewire.simulator import ARGV
from claudewire.testing.cage import Cage
from claudewire.wire import CanUseTool, PermissionResultAllow, SetModel, SetPermissionMode

from .cases import ADD, ASK, BAD, CALCULATOR, CASES, COMMAND, HOOKS, STREAMED, THOUGHT, Case
from .host import Host
from .process import started

FOLDER = Path(__file__).resolve().parents[2] / "product" / "recordings"

TEXTS = ("description", "argumentHint")
LONG = 20
"""A text about a command or an agent that is longer than this is left out."""


def answer(asked: CanUseTool) -> PermissionResultAllow:
    answers = {"answers": {"Which colour?": "Green"}} if "questions" in asked.input else {}
    return PermissionResultAllow({**asked.input, **answers})


async def talk(host: Host) -> None:
    await host.turn("Think.", uuid="00000000-0000-4000-8000-000000000001")
    await host.turn("Do it.", uuid="00000000-0000-4000-8000-000000000002")


async def work(host: Host) -> None:
    await host.turn("Ask.")
    await host.ask(SetModel("haiku"))
    await host.ask(SetPermissionMode("acceptEdits"))
    await host.turn("Add.")
    await host.turn("Fail.")


TALK = Case([THOUGHT, ["I shall.", COMMAND], "Done."], talk, STREAMED, HOOKS, answer)
WORK = Case([ASK, "Green it is.", ADD, "It is 5.", BAD], work, (), CALCULATOR, answer)

RECORDINGS: dict[str, tuple[str, Case]] = {
    f"{NEWEST}-talk": (NEWEST, TALK),
    f"{NEWEST}-work": (NEWEST, WORK),
    f"{NEWEST}-interrupt": (NEWEST, CASES["interrupt while asking"]),
    "2.1.17-work": ("2.1.17", WORK),
}


def without_the_machine(cage: Cage) -> Callable[[str], str]:
    """Remove traces of this machine and long descriptions from a line."""
    redactor = Redactor(home=cage.home)
    places = {str(cage.work): "/project", str(cage.folder): "/cage"}
    # The CLI makes names of folders out of paths.
    places |= {re.sub(r"\W|_", "-", old): new.replace("/", "-") for old, new in places.items()}

    def change(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: change(key, it) for key, it in value.items()}
        if isinstance(value, list):
            return [change(name, it) for it in value]
        if not isinstance(value, str):
            return value
        if name in TEXTS and len(value) > LONG:
            return "…"
        for place, new in places.items():
            value = value.replace(place, new)
        return value

    def clean(line: str) -> str:
        try:
            shown = change("", json.loads(redactor(line)))
        except ValueError:  # stderr
            return str(change("", redactor(line)))
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))

    return clean


async def record_case(version: str, case: Case, path: Path) -> None:
    """Record a conversation with a CLI."""
    flags = [*ARGV, *case.flags]
    with Cage(case.script()) as cage:
        async with started(cage.command([real_cli(version), *flags])) as process:
            transport = RecordingTransport(
                process,
                path,
                header={"cli_version": version, "argv": ["claude", *flags]},
                redactor=without_the_machine(cage),
            )
            host = Host(transport, case.decide, case.serve, cage.work)
            with anyio.fail_after(60):
                await host.start(case.setup)
                await case.drive(host)
                await host.end()
            await transport.aclose()


async def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in RECORDINGS:
        await record_case(*RECORDINGS[name], FOLDER / f"{name}.jsonl")


if __name__ == "__main__":
    anyio.run(main)
