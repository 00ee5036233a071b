"""Requests of the application to the CLI."""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest

from claudewire.errors import RequestError, UnsupportedRequest
from claudewire.testing.api import APIToolUse
from claudewire.wire import (
    GetBinaryVersion,
    GetHooksListing,
    GetSessionCost,
    GetSettings,
    GetUsage,
    ListModels,
    ListPermissionRules,
    ReadFile,
    RenameSession,
    SetColor,
    SetMaxThinkingTokens,
    SetPermissionMode,
)

from .behaviour import alone, shared
from .stage import Stage

WRITE = APIToolUse("Write", {"file_path": "rewound.txt", "content": "x"})


def options(stage: Stage) -> dict[str, Any]:
    """The options of the session that these behaviours share."""
    return stage.handlers


@shared(
    "A request that no CLI knows is refused at once, and the session goes on",
    ["Next."],
)
async def unknown(stage: Stage) -> None:
    with pytest.raises(UnsupportedRequest):
        await stage.session.request(SetColor("blue"), timeout=20)
    assert (await stage.ask()).text == "Next."


@shared("The model is changed while the session runs", {"a": ["One."], "b": ["Two."]})
async def set_model(stage: Stage) -> None:
    await stage.session.set_model("claude-3-5-haiku-20241022")
    try:
        await stage.ask("a")
    finally:
        await stage.session.set_model(None)
    assert "haiku" in stage.turns[0].model
    await stage.ask("b")
    assert "haiku" not in stage.turns[-1].model


@shared("A mode that does not exist leaves the session as it is", ["Next."])
async def wrong_mode(stage: Stage) -> None:
    with suppress(RequestError):  # some accept it
        await stage.session.request(SetPermissionMode("nonsense"))
    await stage.session.set_permission_mode("default")
    assert (await stage.ask()).text == "Next."


@shared("The use of the context is reported", ["Done."], since="2.1.197")
async def context_usage(stage: Stage) -> None:
    await stage.ask()
    usage = await stage.session.get_context_usage()
    assert usage.categories is not None


@shared("How much the model may think is changed", ["Done."])
async def thinking_tokens(stage: Stage) -> None:
    await stage.session.request(SetMaxThinkingTokens(2048))
    assert (await stage.ask()).ok


@shared("The settings in force are read", since="2.1.197")
async def settings(stage: Stage) -> None:
    await stage.session.request(GetSettings())


@shared("A file is read through the CLI", since="2.1.197")
async def read_file(stage: Stage) -> None:
    (stage.cage.work / "read.txt").write_text("words\n", encoding="utf-8")
    await stage.session.request(ReadFile(str(stage.cage.work / "read.txt")))


@shared("The cost of the session is reported", ["Done."], since="2.1.197")
async def session_cost(stage: Stage) -> None:
    await stage.session.request(GetSessionCost())


@shared("The use of the account is reported, or refused without an account", since="2.1.197")
async def account_usage(stage: Stage) -> None:
    try:
        await stage.session.request(GetUsage())
    except RequestError as error:
        if isinstance(error, UnsupportedRequest):
            raise


@shared(
    "The CLI tells which version it is, at the latest with its first turn",
    ["Done."],
)
async def version(stage: Stage) -> None:
    await stage.ask()
    init = stage.session.init_message
    assert init is not None
    assert init.claude_code_version == stage.version


@shared("The CLI tells which version it is when it is asked", since="2.1.197")
async def binary_version(stage: Stage) -> None:
    await stage.session.request(GetBinaryVersion())


@shared("A session is renamed", ["Done."], since="2.1.197")
async def renamed(stage: Stage) -> None:
    await stage.ask()
    await stage.session.request(RenameSession("A title"))


@shared("The models are listed", since="2.1.250")
async def models(stage: Stage) -> None:
    await stage.session.request(ListModels())


@shared("The rules for permissions are listed", since="2.1.325")
async def permission_rules(stage: Stage) -> None:
    await stage.session.request(ListPermissionRules())


@shared("The hooks are listed", since="2.1.325")
async def hooks_listing(stage: Stage) -> None:
    await stage.session.request(GetHooksListing())


@alone("Changes to files are taken back", [WRITE, "Done."])
async def rewound(stage: Stage) -> None:
    async with stage.open(enable_file_checkpointing=True, **stage.handlers) as session:
        id = str(uuid4())
        assert (await stage.send(uuid=id)).ok
        assert stage.has("rewound.txt")
        await session.rewind_files(id)
        assert not stage.has("rewound.txt")
