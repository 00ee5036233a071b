"""Drives a CLI with the official Python SDK and prints what the SDK delivers, as JSON Lines.

    python drive_python.py CLI CASE...

It runs in an environment of its own, which has the SDK and nothing of this project.
"""

from __future__ import annotations

import asyncio
import json
import sys
import traceback
from typing import Any

from claude_agent_sdk import (  # type: ignore[import-not-found]
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
    create_sdk_mcp_server,
    query,
    tool,
)

CLI = sys.argv[1]
PATIENCE = 60
"""Seconds that a case may take; it takes less than one."""


def tell(kind: str, **facts: Any) -> None:
    print(json.dumps({"kind": kind, **facts}), flush=True)


# --- what the SDK delivers -----------------------------------------------------------------------


def block(it: Any) -> dict[str, Any]:
    if isinstance(it, TextBlock):
        return {"text": it.text}
    if isinstance(it, ThinkingBlock):
        return {"thinking": it.thinking}
    if isinstance(it, ToolUseBlock):
        return {"tool": it.name, "input": it.input}
    assert isinstance(it, ToolResultBlock)
    return {"result": it.content, "failed": bool(it.is_error)}


def tell_message(message: Any) -> None:
    if isinstance(message, AssistantMessage):
        tell("assistant", model=message.model, blocks=[block(it) for it in message.content])
    elif isinstance(message, UserMessage):
        content = message.content
        blocks = [TextBlock(content)] if isinstance(content, str) else content
        tell("user", blocks=[block(it) for it in blocks])
    elif isinstance(message, StreamEvent):
        tell("stream", event=message.event)
    elif isinstance(message, ResultMessage):
        tell_result(message)
    else:
        assert isinstance(message, SystemMessage)
        tell("system", **{key: message.data.get(key) for key in SYSTEM})


SYSTEM = ("subtype", "model", "permissionMode", "session_id", "mcp_servers", "tools", "status")


def tell_result(message: Any) -> None:
    tell(
        "result",
        subtype=message.subtype,
        is_error=message.is_error,
        result=message.result,
        terminal_reason=message.terminal_reason,
        permission_denials=message.permission_denials,
        session_id=message.session_id,
        num_turns=message.num_turns,
        total_cost_usd=message.total_cost_usd,
    )


# --- what the SDK calls --------------------------------------------------------------------------


def asked(name: str, input: dict[str, Any], context: Any) -> None:
    suggestions = [it.to_dict() for it in context.suggestions]
    named = context.tool_use_id is not None
    tell("permission", tool=name, input=input, suggestions=suggestions, named=named)


async def allow(name: str, input: dict[str, Any], context: Any) -> Any:
    asked(name, input, context)
    if name == "AskUserQuestion":
        return PermissionResultAllow(updated_input={**input, "answers": {"Which colour?": "Green"}})
    if name == "Bash":
        return PermissionResultAllow(updated_input={"command": "ls build"})
    return PermissionResultAllow()


async def deny(name: str, input: dict[str, Any], context: Any) -> Any:
    asked(name, input, context)
    return PermissionResultDeny(message="That is too dangerous.")


async def see(input: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
    tell("hook", input=input, named=tool_use_id is not None)
    return {}


async def add(arguments: dict[str, Any]) -> dict[str, Any]:
    tell("call", arguments=arguments)
    return {"content": [{"type": "text", "text": str(arguments["a"] + arguments["b"])}]}


# --- the cases -----------------------------------------------------------------------------------


def connected(**options: Any) -> Any:
    return ClaudeSDKClient(ClaudeAgentOptions(cli_path=CLI, **options))


async def turn(client: Any, prompt: str) -> Any:
    await client.query(prompt, session_id=prompt)
    async for message in client.receive_response():
        tell_message(message)
    return message


async def one_turn(prompt: str, **options: Any) -> Any:
    async with connected(**options) as client:
        return await turn(client, prompt)


async def one_shot() -> None:
    async for message in query(prompt="hello", options=ClaudeAgentOptions(cli_path=CLI)):
        tell_message(message)


async def turns() -> None:
    async with connected() as client:
        for prompt in ("hello 1", "hello 2", "hello 3"):
            await turn(client, prompt)


async def hooks() -> None:
    matchers = {
        "PreToolUse": [HookMatcher("Bash", [see]), HookMatcher("Write", [see])],
        "PostToolUse": [HookMatcher(hooks=[see])],
        "Stop": [HookMatcher(hooks=[see])],
    }
    await one_turn("shell", hooks=matchers, allowed_tools=["Bash"])


async def kept_going() -> None:
    async def once(input: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        tell("hook", input=input, named=tool_use_id is not None)
        return {} if input["stop_hook_active"] else {"decision": "block", "reason": "Think again."}

    await one_turn("hello", hooks={"Stop": [HookMatcher(hooks=[once])]})


async def mcp() -> None:
    add_tool = tool("add", "Add two numbers", {"a": float, "b": float})(add)
    servers = {"calc": create_sdk_mcp_server("calc", tools=[add_tool])}
    await one_turn("add", mcp_servers=servers, allowed_tools=["mcp__calc__add"])


async def interrupt() -> None:
    async with connected(allowed_tools=["Bash"]) as client:
        await client.query("slow")
        async for message in client.receive_response():
            tell_message(message)
            if isinstance(message, AssistantMessage):
                await client.interrupt()
        await turn(client, "hello")


async def withdrawn() -> None:
    async def interrupting(name: str, input: dict[str, Any], context: Any) -> Any:
        asked(name, input, context)
        running.append(asyncio.create_task(client.interrupt()))
        try:
            await asyncio.sleep(PATIENCE)
        except asyncio.CancelledError:
            tell("withdrawn")
            raise

    running: list[asyncio.Task[None]] = []
    async with connected(can_use_tool=interrupting) as client:
        await turn(client, "shell")
        await turn(client, "hello")


async def settings() -> None:
    async with connected(can_use_tool=allow) as client:
        await turn(client, "write")
        await client.set_model("haiku")
        await client.set_permission_mode("acceptEdits")
        await turn(client, "write")


async def resume() -> None:
    result = await one_turn("hello, I like pears")
    await one_turn("what did I say?", resume=result.session_id)
    await one_turn("what did I say?", resume=result.session_id, fork_session=True)


CASES = {
    "one_shot": one_shot,
    "turns": turns,
    "partial": lambda: one_turn("think", include_partial_messages=True),
    "allow": lambda: one_turn("shell", can_use_tool=allow),
    "deny": lambda: one_turn("shell", can_use_tool=deny),
    "question": lambda: one_turn("colour", can_use_tool=allow),
    "hooks": hooks,
    "kept_going": kept_going,
    "mcp": mcp,
    "interrupt": interrupt,
    "withdrawn": withdrawn,
    "settings": settings,
    "resume": resume,
}


async def main(cases: list[str]) -> None:
    for case in cases:
        tell("case", name=case)
        try:
            async with asyncio.timeout(PATIENCE):
                await CASES[case]()
        except Exception:
            tell("error", text=traceback.format_exc())


asyncio.run(main(sys.argv[2:]))
