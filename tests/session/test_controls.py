"""Each method of a session asks for what it says, and passes its timeout on."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest
from tests.helpers.peer import SOON
from tests.helpers.sessions import simulated

from claudewire.errors import UnsupportedRequest
from claudewire.session import DEFAULT, Timeout
from claudewire.session.controls import Controls
from claudewire.wire import RequestBody
from claudewire.wire.types import host_requests as wire


class Recorder(Controls):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, Timeout]] = []

    async def request(self, body: RequestBody[Any], *, timeout: Timeout = DEFAULT) -> Any:
        self.asked.append((body, timeout))


Call = Callable[..., Awaitable[Any]]

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], Any]] = [
    ("set_model", ("opus",), {}, wire.SetModel("opus")),
    ("set_model", (), {}, wire.SetModel(None)),
    ("set_permission_mode", ("plan",), {}, wire.SetPermissionMode("plan")),
    ("set_max_thinking_tokens", (), {}, wire.SetMaxThinkingTokens()),
    ("set_max_thinking_tokens", (None,), {}, wire.SetMaxThinkingTokens(None)),
    ("rename_session", ("title",), {}, wire.RenameSession("title")),
    ("generate_session_title", ("about",), {}, wire.GenerateSessionTitle("about")),
    (
        "generate_session_title",
        ("about",),
        {"persist": True},
        wire.GenerateSessionTitle("about", persist=True),
    ),
    ("set_color", ("red",), {}, wire.SetColor("red")),
    ("side_question", ("why?",), {}, wire.SideQuestion("why?")),
    ("cancel_message", ("uuid",), {}, wire.CancelAsyncMessage("uuid")),
    ("rewind_files", ("uuid",), {"dry_run": True}, wire.RewindFiles("uuid", dry_run=True)),
    ("end_session", ("done",), {}, wire.EndSession("done")),
    ("get_context_usage", ("full",), {}, wire.GetContextUsage("full")),
    ("get_session_cost", (), {}, wire.GetSessionCost()),
    ("get_usage", (), {"skip_behaviors": True}, wire.GetUsage(skip_behaviors=True)),
    ("list_models", (), {}, wire.ListModels()),
    ("get_binary_version", (), {}, wire.GetBinaryVersion()),
    ("get_settings", (), {}, wire.GetSettings()),
    ("get_hooks_listing", (), {}, wire.GetHooksListing()),
    ("list_permission_rules", (), {}, wire.ListPermissionRules()),
    ("apply_flag_settings", ({"a": 1},), {}, wire.ApplyFlagSettings({"a": 1})),
    ("update_settings", ("local", {"a": 1}), {}, wire.UpdateSettings("local", {"a": 1})),
    ("mcp_status", (), {"live_reply": True}, wire.McpStatus(live_reply=True)),
    ("mcp_reconnect", ("calc",), {}, wire.McpReconnect("calc")),
    ("mcp_toggle", ("calc", False), {}, wire.McpToggle("calc", False)),
    ("mcp_set_servers", ({"calc": {}},), {}, wire.McpSetServers({"calc": {}})),
    ("mcp_call", ("add",), {}, wire.McpCall("add")),
    (
        "mcp_call",
        ("add", {"a": 1}),
        {"check_permissions": True},
        wire.McpCall("add", {"a": 1}, check_permissions=True),
    ),
    ("mcp_read_resource", ("calc", "uri"), {}, wire.McpReadResource("calc", "uri")),
    (
        "read_file",
        ("a.txt",),
        {"max_bytes": 1, "encoding": "base64"},
        wire.ReadFile("a.txt", 1, "base64"),
    ),
    ("seed_read_state", ("a.txt", 1.5), {}, wire.SeedReadState("a.txt", 1.5)),
    ("file_suggestions", ("rea",), {}, wire.FileSuggestions("rea")),
    ("register_repo_root", ("/src",), {}, wire.RegisterRepoRoot("/src")),
    ("reload_plugins", (), {}, wire.ReloadPlugins()),
    ("reload_skills", (), {}, wire.ReloadSkills()),
    ("reload_output_styles", (), {}, wire.ReloadOutputStyles()),
    ("set_has_subscribers", (True,), {}, wire.SetHasSubscribers(True)),
    ("stop_task", ("t1",), {}, wire.StopTask("t1")),
    ("background_tasks", ("toolu_1",), {}, wire.BackgroundTasks("toolu_1")),
    ("get_task_output", ("t1",), {}, wire.GetTaskOutput("t1")),
]


@pytest.mark.parametrize(("name", "positional", "named", "body"), CALLS)
def test_a_method_asks_for_what_it_says(
    name: str, positional: tuple[Any, ...], named: dict[str, Any], body: Any
) -> None:
    recorder = Recorder()

    async def call() -> None:
        await getattr(recorder, name)(*positional, **named)
        await getattr(recorder, name)(*positional, **named, timeout=1.5)

    anyio.run(call)
    assert recorder.asked == [(body, DEFAULT), (body, 1.5)]


def test_each_method_is_tried() -> None:
    methods = {
        name
        for name, method in vars(Controls).items()
        if inspect.iscoroutinefunction(method) and name != "request"
    }
    assert methods == {name for name, *_ in CALLS}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio", "trio"])
async def test_what_an_old_cli_does_not_know_is_said_at_once() -> None:
    with anyio.fail_after(SOON):
        async with simulated(version="1.0.128") as session:
            with pytest.raises(UnsupportedRequest, match="get_settings") as caught:
                await session.get_settings()
            assert caught.value.request == "get_settings"
            await session.set_model("opus")
