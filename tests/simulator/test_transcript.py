from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.talk import Talk, allow, calculator, hooks_say, only, said

from claudewire.simulator import Chat, Scenario, SimulatedCLI, ToolCall
from claudewire.wire import (
    Answer,
    AssistantMessage,
    CanUseTool,
    ConversationResetMessage,
    HookMatcher,
    HookOutput,
    HumanOrigin,
    InitMessage,
    McpMessage,
    MessageParam,
    RenameSession,
    ResultMessage,
    TranscriptMirrorMessage,
    UserMessage,
)

pytestmark = pytest.mark.anyio

ONE = "11111111-1111-4111-8111-111111111111"
PROMPT = "00000000-0000-4000-8000-000000000001"


async def count(chat: Chat) -> None:
    asked = [it["text"] for it in chat.session.history if it["type"] == "user"]
    await chat.say(" ".join(asked))


async def work(chat: Chat) -> None:
    await chat.say("I shall.")
    await chat.use("Bash", {"command": "make"}, result="made")
    await chat.say("Done.")


async def talked(
    folder: Path, *prompts: str, argv: Sequence[str] = (), play: Scenario = count, **more: Any
) -> list[Any]:
    env = {"CLAUDE_CONFIG_DIR": str(folder / "config")}
    talk = Talk(SimulatedCLI(play, argv=argv, env=env, cwd=folder, **more), {CanUseTool: allow})
    for prompt in prompts:
        await talk.turn(prompt)
    await talk.end()
    return talk.heard


def files(folder: Path) -> list[Path]:
    return sorted((folder / "config" / "projects").glob("*/*.jsonl"))


def entries(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def linked(file: Path) -> list[dict[str, Any]]:
    return [entry for entry in entries(file) if "uuid" in entry]


async def test_a_transcript_has_the_uuids_that_were_on_the_wire(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "go", play=work)
    (file,) = files(tmp_path)
    kept = linked(file)
    on_wire = [it.uuid for it in heard if isinstance(it, AssistantMessage | UserMessage)]
    assert [it["uuid"] for it in kept][1:] == on_wire
    assert file.stem == only(heard, InitMessage)[0].session_id


async def test_each_entry_is_linked_to_the_one_before(tmp_path: Path) -> None:
    await talked(tmp_path, "go", "again", play=work)
    kept = linked(files(tmp_path)[0])
    assert [it["parentUuid"] for it in kept] == [None, *(it["uuid"] for it in kept[:-1])]
    assert {it["version"] for it in kept} == {"2.1.325"}
    assert {it["cwd"] for it in kept} == {str(tmp_path)}


async def test_the_results_of_tools_that_were_called_together_follow_their_calls(
    tmp_path: Path,
) -> None:
    async def play(chat: Chat) -> None:
        await chat.use_all(ToolCall("Bash", {"command": "a"}), ToolCall("Bash", {"command": "b"}))

    await talked(tmp_path, "go", play=play)
    _, one, two, first, second = linked(files(tmp_path)[0])
    assert one["message"]["id"] == two["message"]["id"]
    assert (first["parentUuid"], second["parentUuid"]) == (one["uuid"], two["uuid"])
    assert first["sourceToolAssistantUUID"] == one["uuid"]


async def test_all_parts_of_a_message_have_what_it_cost_altogether(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        await chat.think("Hm. " * 10)
        await chat.say("So.")

    (result,) = only(await talked(tmp_path, "go", play=play), ResultMessage)
    assert result.usage is not None
    kept = [it["message"] for it in linked(files(tmp_path)[0]) if it["type"] == "assistant"]
    assert {it["usage"]["output_tokens"] for it in kept} == {result.usage.output_tokens}
    assert {it["stop_reason"] for it in kept} == {"end_turn"}
    assert len({it["id"] for it in kept}) == 1


@pytest.mark.parametrize("head", ["ref: refs/heads/topic/x", "0123abcd"])
async def test_a_transcript_names_the_branch(tmp_path: Path, head: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text(head + "\n", encoding="utf-8")
    (tmp_path / "inside").mkdir()
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    await Talk(SimulatedCLI(count, env=env, cwd=tmp_path / "inside")).turn("go")
    expected = "topic/x" if head.startswith("ref") else "HEAD"
    assert linked(files(tmp_path)[0])[0]["gitBranch"] == expected


async def test_a_prompt_is_kept_as_it_came(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env))
    message = {"role": "user", "content": [{"type": "riddle", "x": 1}, {"type": "text"}]}
    line = {"type": "user", "message": message, "uuid": PROMPT}
    await talk.write(json.dumps(line).encode())
    await talk.until_result()
    kept = linked(files(tmp_path)[0])[0]
    assert (kept["message"], kept["uuid"]) == (message, PROMPT)


async def test_a_session_is_resumed_and_its_costs_go_on(tmp_path: Path) -> None:
    first = only(await talked(tmp_path, "a", argv=["--session-id", ONE]), ResultMessage)
    heard = await talked(tmp_path, "b", argv=["--resume", ONE])
    assert said(heard) == ["a b"]
    assert first[0].total_cost_usd
    assert (only(heard, ResultMessage)[0].total_cost_usd or 0) > first[0].total_cost_usd
    kept = linked(files(tmp_path)[0])
    assert [it["parentUuid"] for it in kept] == [None, *(it["uuid"] for it in kept[:-1])]


@pytest.mark.parametrize(
    "change",
    [{"totalCostUSD": None}, {"totalCostUSD": "much"}, {"modelUsage": None}, {"modelUsage": [1]}],
)
async def test_costs_that_are_noted_in_another_way_begin_anew(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    await talked(tmp_path, "a", argv=["--session-id", ONE])
    (file,) = files(tmp_path)
    changed = []
    for entry in entries(file):
        if entry["type"] == "cost-state":
            entry |= change
            entry = {key: value for key, value in entry.items() if value is not None}
        changed.append(json.dumps(entry) + "\n")
    file.write_text("".join(changed), encoding="utf-8")
    (result,) = only(await talked(tmp_path, "/cost", argv=["--resume", ONE]), ResultMessage)
    assert (result.total_cost_usd, result.model_usage) == (0.0, {})


async def test_a_fork_begins_with_what_it_was_forked_from(tmp_path: Path) -> None:
    await talked(tmp_path, "a", argv=["--session-id", ONE])
    original = files(tmp_path)[0].read_bytes()
    heard = await talked(tmp_path, "b", argv=["--resume", ONE, "--fork-session"])
    assert said(heard) == ["a b"]
    old, new = sorted(files(tmp_path), key=lambda it: it.stem != ONE)
    assert old.read_bytes() == original
    assert [it["uuid"] for it in linked(new)][:2] == [it["uuid"] for it in linked(old)]
    assert {it["sessionId"] for it in entries(new)} == {new.stem}


async def test_a_session_is_resumed_at_a_message(tmp_path: Path) -> None:
    await talked(tmp_path, "a", "b", argv=["--session-id", ONE])
    kept = linked(files(tmp_path)[0])
    at, lost = kept[1]["uuid"], kept[2]["uuid"]
    resume = ["--resume", ONE, "--resume-session-at", at, "--resume-drops-turn", lost]
    assert said(await talked(tmp_path, "c", argv=resume)) == ["a c"]
    assert linked(files(tmp_path)[0])[4]["parentUuid"] == at
    assert said(await talked(tmp_path, "d", argv=["--resume", ONE])) == ["a c d"]


async def test_a_session_that_cannot_be_resumed_at_a_message_is_not_resumed(
    tmp_path: Path,
) -> None:
    await talked(tmp_path, "a", argv=["--session-id", ONE])
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    argv = ["--resume", ONE, "--resume-session-at", PROMPT]
    cli = SimulatedCLI(count, argv=argv, env=env, cwd=tmp_path)
    talk = Talk(cli)
    (result,) = only(await talk.until_result(), ResultMessage)
    assert result.errors == [f"No message found with message.uuid of: {PROMPT}"]
    assert await talk.end() == 1


async def test_what_is_kept_is_mirrored(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "go", argv=["--session-mirror"], play=work)
    (file,) = files(tmp_path)
    mirrored = only(heard, TranscriptMirrorMessage)
    assert {it.file_path for it in mirrored} == {str(file)}
    assert [entry for it in mirrored for entry in it.entries or ()] == entries(file)


async def test_nothing_is_kept_where_that_is_not_wanted(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "go", argv=["--no-session-persistence", "--session-mirror"])
    assert files(tmp_path) == []
    assert only(heard, TranscriptMirrorMessage) == []


async def test_a_subagent_has_a_transcript_of_its_own(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        await chat.subagent("Explore", "Look around.", work, description="Look")

    await talked(tmp_path, "go", play=play)
    (main,) = files(tmp_path)
    about, agent = sorted(main.with_suffix("").glob("subagents/*"), key=lambda it: it.suffix)
    assert json.loads(about.read_text(encoding="utf-8"))["description"] == "Look"
    kept = linked(agent)
    assert kept[0]["message"]["content"] == "Look around."
    assert all(it["isSidechain"] and f"agent-{it['agentId']}" == agent.stem for it in kept)
    assert not any(it["isSidechain"] for it in linked(main))


async def test_what_is_said_of_a_result_names_the_server_and_the_subagent(tmp_path: Path) -> None:
    async def calls(chat: Chat) -> None:
        await chat.call("calc", "add", {"a": 1, "b": 2})
        await chat.use("Read", {"file_path": "a"})
        await chat.say("Done.")

    async def play(chat: Chat) -> None:
        await chat.subagent("Explore", "Look.", calls)
        await calls(chat)

    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    cli = SimulatedCLI(play, env=env, cwd=tmp_path)
    talk = Talk(cli, {CanUseTool: allow, McpMessage: calculator})
    await talk.initialize(sdk_mcp_servers=["calc"])
    await talk.turn("go")
    await talk.end()
    (main,) = files(tmp_path)
    (agent,) = main.with_suffix("").glob("subagents/*.jsonl")
    names = ("attributionAgent", "attributionMcpServer", "attributionMcpTool")
    kept = [
        [tuple(it.get(name) for name in names) for it in linked(file) if it["type"] == "assistant"]
        for file in (main, agent)
    ]
    none, server = (None, None, None), (None, "calc", "add")
    assert kept[0] == [none, none, server, none]
    assert kept[1] == [("Explore", None, None), *[("Explore", "calc", "add")] * 2]


async def test_what_a_subagent_in_the_background_reports_is_kept(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        if chat.prompt is not None:
            await chat.subagent("Explore", "Look.", work, description="Look", background=True)

    await talked(tmp_path, "go", play=play)
    (main,) = files(tmp_path)
    (about,) = main.with_suffix("").glob("subagents/*.meta.json")
    assert json.loads(about.read_text(encoding="utf-8"))["requestShape"] == "background"
    notice = next(it for it in linked(main) if it.get("turnOrigin") == "task_notification")
    assert '<summary>Agent "Look" finished</summary>' in notice["message"]["content"]
    assert notice["promptSource"] == "system"
    (last,) = [it for it in entries(main) if it["type"] == "last-prompt"]
    assert last["lastPrompt"] == "go"


async def test_a_mirror_tells_of_the_subagent(tmp_path: Path) -> None:
    async def play(chat: Chat) -> None:
        await chat.subagent("Explore", "Look.", work, description="Look")

    heard = await talked(tmp_path, "go", play=play, argv=["--session-mirror"])
    mirrored = only(heard, TranscriptMirrorMessage)
    (about,) = [it for it in mirrored if (it.entries or [{}])[0].get("type") == "agent_metadata"]
    assert about.entries is not None
    assert about.entries[0]["description"] == "Look"
    assert about.file_path is not None
    assert about.file_path.endswith(".jsonl")


async def test_a_title_is_told_and_kept_and_can_be_resumed(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env, cwd=tmp_path))
    await talk.turn("a")
    for title in ("First title", "A title"):
        assert isinstance(await talk.ask(RenameSession(title)), Answer)
    await talk.end()
    told_of = [it for it in talk.heard if getattr(it, "subtype", "") == "session_title_changed"]
    assert [it.raw["title"] for it in told_of] == ["First title", "A title"]
    (main,) = files(tmp_path)
    titles = [it["customTitle"] for it in entries(main) if it["type"] == "custom-title"]
    assert titles == ["First title", "A title"]
    assert [it["agentName"] for it in entries(main) if it["type"] == "agent-name"] == ["A title"]
    beside = main.with_suffix("") / "custom-title.json"
    assert json.loads(beside.read_text(encoding="utf-8")) == {"customTitle": "A title"}


async def test_a_name_of_the_command_line_is_the_title(tmp_path: Path) -> None:
    await talked(tmp_path, "a", argv=["--name", "My name"])
    (main,) = files(tmp_path)
    kept = {it["type"]: it for it in entries(main)}
    assert kept["custom-title"]["customTitle"] == kept["agent-name"]["agentName"] == "My name"


async def test_initialize_gives_a_title(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env, cwd=tmp_path))
    await talk.initialize(title="First")
    assert [it.raw.get("title") for it in talk.heard][:1] == ["First"]


async def test_an_old_version_keeps_less(tmp_path: Path) -> None:
    await talked(tmp_path, "go", play=work, version="1.0.128")
    kept = entries(files(tmp_path)[0])
    assert {it["type"] for it in kept} == {"user", "assistant"}
    assert "promptId" not in kept[0]


async def test_a_cleared_conversation_goes_on_in_another_file(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "a", "/clear", "b")
    assert said(heard) == ["a", "b"]
    assert only(heard, ConversationResetMessage)[0].trigger == "clear"
    results = only(heard, ResultMessage)
    assert results[1].local_command == "clear"
    assert results[0].session_id != results[1].session_id == results[2].session_id
    assert {it.stem for it in files(tmp_path)} == {it.session_id for it in results}


async def test_a_compacted_conversation_is_resumed_from_its_summary(tmp_path: Path) -> None:
    await talked(tmp_path, "a", "/compact", argv=["--session-id", ONE])
    (answer,) = said(await talked(tmp_path, "b", argv=["--resume", ONE]))
    assert answer.startswith("This session is being continued")
    assert "- a" in answer
    assert answer.endswith(" b")


async def test_a_stop_hook_is_in_the_transcript(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env), hooks_say(h=HookOutput()))
    await talk.initialize(hooks={"Stop": [HookMatcher(["h"])]})
    await talk.turn("go")
    assert linked(files(tmp_path)[0])[-1]["subtype"] == "stop_hook_summary"


async def test_costs_and_context_are_printed_and_kept(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "/cost", "a", "/cost", "/context")
    before, _, cost, context = only(heard, ResultMessage)
    assert "Usage by model" not in (before.result or "")
    assert "claude-opus-5-5:  100 input" in (cost.result or "")
    assert (cost.local_command, cost.num_turns) == ("cost", 0)
    assert (context.result or "").startswith("## Context Usage")
    kept = [it for it in linked(files(tmp_path)[0]) if it.get("subtype") == "local_command"]
    assert [it["commandRun"]["command"] for it in kept] == ["usage", "usage", "context"]


async def test_a_command_for_a_terminal_is_not_available(tmp_path: Path) -> None:
    heard = await talked(tmp_path, "/help me")
    (result,) = only(heard, ResultMessage)
    assert result.result == "/help isn't available in this environment."
    assert (result.ok, result.local_command, result.num_turns) == (True, None, 0)
    typed, printed = linked(files(tmp_path)[0])
    assert typed["content"] == "/help me"
    assert printed["commandOutcome"] == {"kind": "unavailable_headless"}


async def test_a_prompt_that_a_hook_blocks_is_not_kept(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    no = HookOutput(decision="block", reason="No.")
    talk = Talk(SimulatedCLI(count, env=env), hooks_say(h=no))
    await talk.initialize(hooks={"UserPromptSubmit": [HookMatcher(["h"])]})
    await talk.turn("go")
    await talk.end()
    (kept,) = linked(files(tmp_path)[0])
    assert kept["promptSubmitEnding"]["ending"] == {"kind": "blocked_by_hook", "reason": "No."}


async def test_the_origin_of_a_prompt_is_kept_and_echoed(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env))
    turn = await talk.turn("go", origin=HumanOrigin())
    assert turn[-1].origin == HumanOrigin()
    kept = linked(files(tmp_path)[0])[0]
    assert (kept["turnOrigin"], kept["turnPosition"]["promptIndex"]) == ("human", 1)


async def test_a_note_is_kept_as_one(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    talk = Talk(SimulatedCLI(count, env=env))
    await talk.say(UserMessage(message=MessageParam("user", "By the way."), should_query=False))
    await talk.turn("go")
    assert linked(files(tmp_path)[0])[0]["queueTranscriptOnly"]


@pytest.mark.parametrize(("tool", "is_decided"), [("Bash", True), ("Nonexistent", False)])
async def test_only_the_use_of_a_tool_that_exists_is_decided_about(
    tmp_path: Path, tool: str, is_decided: bool
) -> None:
    async def play(chat: Chat) -> None:
        await chat.use(tool, {"command": "ls"}, result="")

    await talked(tmp_path, "go", play=play)
    (file,) = files(tmp_path)
    (result,) = (it for it in linked(file) if "toolUseResult" in it)
    assert ("permissionDecision" in result) is is_decided
