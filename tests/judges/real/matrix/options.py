"""Other options, and that they have their effect."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from typing import Any

from claudewire.testing.api import APIStatus, structured_output

from .behaviour import alone, shared
from .common import bash
from .stage import Stage


@dataclass
class Count:
    """The type of the structured output."""

    files: int
    unit: str = "files"


@alone(
    "The output is of the type that was asked for",
    [structured_output({"files": 2}), "Done."],
)
async def output(stage: Stage) -> None:
    async with stage.open(output=Count):
        reply = await stage.ask()
        assert reply.output == Count(2)


@alone(
    "Output of the wrong type is told to the model, which tries again",
    [structured_output({"files": "two"}), structured_output({"files": 2}), "Done."],
)
async def output_repaired(stage: Stage) -> None:
    async with stage.open(output=Count):
        reply = await stage.ask()
        assert reply.output == Count(2)
        assert "files" in stage.told[0]


@alone(
    "`max_budget_usd` ends a turn that costs more",
    [bash("touch cheap"), bash("touch dear"), "Done."],
)
async def max_budget(stage: Stage) -> None:
    async with stage.open(max_budget_usd=0.000001, allowed_tools=["Bash"]):
        reply = await stage.ask()
        assert not reply.ok
        assert len(stage.turns) == 1


@alone(
    "Several fallback models are tried in turn",
    [APIStatus(529, message="Overloaded", retry_after=0, times=6), "At last."],
    since="2.1.197",
)
async def fallback_models(stage: Stage) -> None:
    first, *others = "claude-opus-4-5", "claude-haiku-4-5", "claude-sonnet-4-5"
    async with stage.open(model=first, fallback_model=others):
        assert (await stage.ask()).text == "At last."
        if {turn.model for turn in stage.turns} != {first, *others}:
            stage.lacks("it does not try each of them")


@alone("`setting_sources` says which settings files are read")
async def setting_sources(stage: Stage) -> None:
    settings = json.dumps({"permissions": {"deny": ["Write"]}})
    (stage.cage.config / "settings.json").write_text(settings, encoding="utf-8")
    for sources in (["user"], []):
        async with stage.open(setting_sources=sources):
            await stage.ask()
    assert ["Write" in turn.tools for turn in stage.cage.turns] == [False, True]


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that some of these behaviours share."""
    folder = stage.cage.work / "inner"
    folder.mkdir(exist_ok=True)
    return {
        "cwd": folder,
        "add_dirs": [stage.cage.folder],
        "allowed_tools": ["Bash"],
        "env": {"MATRIX_MARK": "MARK-ENV"},
        "extra_args": {"ide": None},
    }


@shared("`cwd` is where tools work, and `add_dirs` are where they may", [bash("pwd"), "Done."])
async def cwd(stage: Stage) -> None:
    folder = str(stage.cage.work / "inner")
    await stage.ask()
    assert stage.told == [folder]
    assert stage.session.init_message is not None
    assert stage.session.init_message.cwd == folder


@shared(
    "`env` reaches the tools",
    [bash("python3 -c \"import os; print(os.environ['MATRIX_MARK'])\""), "Done."],
)
async def env(stage: Stage) -> None:
    await stage.ask()
    assert stage.told == ["MARK-ENV"]


@shared("`extra_args` are passed on")
async def extra_args(stage: Stage) -> None:
    assert (await stage.ask()).ok


@alone("`thinking` limits how much the model may think")
async def thinking_limit(stage: Stage) -> None:
    async with stage.open(thinking=2048, model="claude-sonnet-4-5"):
        assert (await stage.ask()).ok
        assert stage.turns[0].body.get("thinking")


@alone("`effort` reaches the API", since="2.1.197")
async def effort(stage: Stage) -> None:
    async with stage.open(effort="low"):
        await stage.ask()
        assert stage.turns[0].body["output_config"]["effort"] == "low"


@alone("A title is kept with the conversation", since="2.1.197")
async def title(stage: Stage) -> None:
    async with stage.open(title="MARK-TITLE"):
        await stage.ask()
    kept = [path.read_text(encoding="utf-8") for path in stage.cage.config.rglob("*.jsonl")]
    if not any("MARK-TITLE" in text for text in kept):
        stage.lacks("it ignores the title in `initialize`")


@alone("Nothing is kept on disk without `persist_session`")
async def not_persisted(stage: Stage) -> None:
    async with stage.open(persist_session=False):
        await stage.ask()
    assert [path for path in stage.cage.config.rglob("*.jsonl") if "projects" in str(path)] == []


@alone("A plugin's commands are there")
async def plugin(stage: Stage) -> None:
    folder = stage.cage.folder / "plugin"
    (folder / ".claude-plugin").mkdir(parents=True)
    (folder / "commands").mkdir()
    manifest = json.dumps({"name": "matrix", "version": "1.0.0", "description": "A plugin"})
    (folder / ".claude-plugin" / "plugin.json").write_text(manifest, encoding="utf-8")
    (folder / "commands" / "greet.md").write_text("Greet everyone.\n", encoding="utf-8")
    async with stage.open(plugins=[folder]) as session:
        await stage.ask()
        assert session.init_message is not None
        assert any("greet" in it for it in session.init_message.slash_commands or ())


@alone("A worktree is made to work in", since="2.1.197")
async def worktree(stage: Stage) -> None:
    import os

    import anyio

    assert shutil.which("git") is not None
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": os.devnull}
    who = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "x"]):
        await anyio.run_process(["git", *who, *words], cwd=stage.cage.work, env=env)
    async with stage.open(worktree="side") as session:
        await stage.ask()
        assert session.init_message is not None
        assert (session.init_message.cwd or "").endswith("side")
