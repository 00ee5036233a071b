"""Real CLIs take every flag that options become, and options have their effect."""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.abc
import pytest
from tests.helpers.real_clis import NEWEST, VERSIONS, real_cli, why_not
from tests.options.every_option import AGENT, SCHEMA, alone, every_option

from claudewire.content import Document, Image, Prompt, to_content
from claudewire.errors import OptionsError
from claudewire.launch import initialize_request
from claudewire.launch.argv import OLDER, arguments
from claudewire.launch.environment import environment
from claudewire.launch.private_files import PrivateFiles
from claudewire.options import Options, unsupported
from claudewire.testing.api import APIRequest, APIScript, structured_output
from claudewire.testing.cage import Cage
from claudewire.wire import (
    Answer,
    Event,
    InitMessage,
    ListPermissionRules,
    PermissionResultAllow,
    ResultMessage,
    UserMessage,
)

from .host import Host, serve_calculator
from .process import started

pytestmark = [pytest.mark.anyio, pytest.mark.real]

OURS = [
    "CLAUDE_AGENT_SDK_*",
    "CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT",
    "CLAUDE_CODE_SDK_READS_SESSION_STATE",
]
"""Variables that options become; a cage lets others in only if it is told."""

PNG = (
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x06\0\0\0\x1f\x15\xc4\x89\0\0\0\rIDAT"
    b"x\x9cc\xf8\xff\xff?\0\x05\xfe\x02\xfe\r\xefF\xb8\0\0\0\0IEND\xaeB`\x82"
)
PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]"
    b"/Count 1>>endobj\n3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)


class Run(Host):
    """A conversation with a CLI that was started as options say."""

    status: int | None = None
    complaints: str = ""

    async def say(self, prompt: Prompt) -> ResultMessage:
        await self.send(UserMessage.of(to_content(prompt)))
        result = await self.until(lambda event: isinstance(event, ResultMessage))
        assert isinstance(result, ResultMessage)
        return result

    def init(self) -> InitMessage:
        (found, *_) = (event for event in self.events if isinstance(event, InitMessage))
        return found


def open_cage(script: Any = (), version: str = NEWEST) -> Cage:
    if (reason := why_not(version)) is not None:
        pytest.skip(reason)
    return Cage(script or APIScript(default="Very well."), keep=OURS)


@asynccontextmanager
async def running(cage: Cage, options: Options, version: str = NEWEST) -> AsyncIterator[Run]:
    with anyio.fail_after(60), PrivateFiles() as files:
        older = OLDER if version in ("1.0.128", "2.0.14") else ()
        command = cage.command([real_cli(version), *arguments(options, files, older=older)])
        where = cage.work if options.cwd is None else options.cwd
        async with started(command, env=environment(options), cwd=where) as transport:
            run = Run(transport, lambda it: PermissionResultAllow(it.input), serve_calculator)
            await run.start(initialize_request(options))
            yield run
            run.status = await run.end()
            while more := await transport.receive_stderr():
                run.complaints += more.decode()


def answered(events: Sequence[Event]) -> bool:
    return any(isinstance(event, Answer) for event in events)


def system_of(request: APIRequest) -> str:
    """The system prompt, in which each block is a paragraph."""
    system = request.body["system"]
    return system if isinstance(system, str) else "\n\n".join(it["text"] for it in system)


# --- every flag is taken -------------------------------------------------------------------------

APART = {"cli", "remote", "resume", "continue_conversation", "worktree", "extra_args"}
"""Not about flags, or in need of something that is not there; they have tests of their own."""


def groups(examples: dict[str, Any], version: str) -> list[dict[str, Any]]:
    """Put the options that a version knows together, as far as they go together."""
    found: list[dict[str, Any]] = []
    for name in examples:
        given = alone(examples, name)
        if APART & set(given) or unsupported(Options(**given), version):
            continue
        for group in found:
            try:
                Options(**group, **given)
            except OptionsError:
                continue
            group |= given
            break
        else:
            found.append(dict(given))
    return found


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_cli_takes_every_flag_that_it_is_said_to_know(version: str) -> None:
    with open_cage(version=version) as cage:
        folder = cage.work / "files"
        folder.mkdir()
        taken: set[str] = set()
        for group in groups(every_option(folder), version):
            async with running(cage, Options(**group), version) as run:
                pass
            assert answered(run.events), run.complaints
            assert "unknown option" not in run.complaints
            assert run.status == 0
            taken |= set(group)
    assert {"system_prompt", "mcp_servers", "settings", "setting_sources"} <= taken
    assert len(taken) >= {"1.0.128": 20, "2.1.17": 30, NEWEST: 60}[version]


@pytest.mark.parametrize(
    ("version", "given"),
    [
        ("1.0.128", {"max_budget_usd": 1.0}),
        ("1.0.128", {"permission_mode": "dontAsk"}),
        ("2.1.17", {"thinking": "adaptive"}),
        ("2.1.17", {"forward_subagent_text": True}),
        ("2.1.17", {"permission_mode": "auto"}),
        ("2.1.17", {"managed_settings": {}}),
    ],
)
async def test_an_older_cli_refuses_what_it_does_not_know(
    version: str, given: dict[str, Any]
) -> None:
    options = Options(**given)
    with open_cage(version=version) as cage:
        async with running(cage, options, version) as run:
            pass
    assert not answered(run.events)
    assert run.status == 1
    assert "unknown option" in run.complaints or "is invalid" in run.complaints
    assert set(unsupported(options, version)) == set(given)


# --- options have their effect -------------------------------------------------------------------


def rich(version: str) -> Options:
    """As much as this version knows of what is large or secret."""
    options = Options(
        system_prompt="Be a bot. MARK-SYSTEM",
        settings={"model": "haiku" if version > "2" else "claude-3-5-haiku-20241022"},
        mcp_servers={"lost": {"command": "/there/is/no/such/server"}},
        disallowed_tools=["Read", "Bash(git log, all:*)", "Edit"],
    )
    if version == "1.0.128":
        return options
    return options.replace(
        append_system_prompt="Be brief. MARK-APPENDED",
        agents={"poet": {**AGENT, "description": "MARK-AGENT"}},
        json_schema=SCHEMA,
    )


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_is_large_or_secret_reaches_the_cli(version: str) -> None:
    options = rich(version)
    script = APIScript().on("count", structured_output({"files": 2}), "Counted.", "Counted.")
    with open_cage(script, version) as cage:
        async with running(cage, options, version) as run:
            result = await run.say("count the files")
    request = cage.turns[0]

    assert "MARK-SYSTEM" in system_of(request)
    assert "interactive" not in system_of(request)  # nothing is left of the CLI's own prompt
    assert "haiku" in request.model
    assert "Write" in request.tools
    assert {"Read", "Edit"}.isdisjoint(request.tools)
    assert [server.name for server in run.init().mcp_servers or ()] == ["lost"]
    if version != "1.0.128":
        assert "MARK-APPENDED" in system_of(request)
        assert "MARK-AGENT" in json.dumps(request.body)
        assert result.structured_output == {"files": 2}


async def test_several_betas_are_several() -> None:
    betas = ["context-1m-2025-08-07", "nothing-2020-01-01"]
    with open_cage() as cage:
        async with running(cage, Options(betas=betas)) as run:
            assert (await run.say("hello")).ok
    assert "context-1m-2025-08-07" in cage.turns[0].headers["anthropic-beta"].split(",")
    assert "'nothing-2020-01-01' is not allowed" in run.complaints


async def test_rules_are_read_as_they_are_written() -> None:
    rules = ["Bash(git log, all:*)", "Read(/tmp/a b/**)", "mcp__calc__add"]
    with open_cage() as cage:
        options = Options(allowed_tools=rules, skills=["pdf"])
        async with running(cage, options) as run:
            answer = await run.ask(ListPermissionRules())
    assert isinstance(answer, Answer)
    listed = [rule["rule"] for rule in answer.raw["response"]["response"]["state"]["rules"]]
    assert sorted(listed) == sorted([*rules, "Skill(pdf)"])


async def test_managed_settings_restrict() -> None:
    options = Options(managed_settings={"permissions": {"deny": ["Bash"]}})
    with open_cage() as cage:
        async with running(cage, options) as run:
            assert (await run.say("hello")).ok
    assert "Bash" not in cage.turns[0].tools
    assert "Write" in cage.turns[0].tools


@pytest.mark.skipif(shutil.which("bwrap") is not None, reason="there can be a sandbox here")
async def test_without_the_sandbox_that_was_asked_for_nothing_starts() -> None:
    with open_cage() as cage:
        async with running(cage, Options(sandbox={"enabled": True})) as run:
            pass
    assert run.status == 1
    assert "sandbox required but unavailable" in run.complaints


async def test_the_environment_says_who_we_are() -> None:
    with open_cage() as cage:
        async with running(cage, Options(client_app="example/1.0")) as run:
            assert (await run.say("hello")).ok
    agent = cage.turns[0].headers["user-agent"]
    assert "sdk-py" in agent
    assert "client-app/example/1.0" in agent
    states = [event.raw.get("state") for event in run.events if "state" in event.raw]
    assert states[-1] == "idle"


async def test_small_options_have_their_effect() -> None:
    options = Options(
        effort="low",
        task_budget=20_000,
        title="MARK-TITLE",
        permission_mode="plan",
        plan_mode_instructions="MARK-PLAN",
        builtin_tools=["Write", "Bash"],
        exclude_dynamic_sections=True,
    )
    with open_cage() as cage:
        async with running(cage, options) as run:
            assert (await run.say("hello")).ok
        kept = [path.read_text(encoding="utf-8") for path in cage.config.rglob("*.jsonl")]
        work = str(cage.work)
    (request, *_) = cage.turns

    assert request.body["output_config"]["effort"] == "low"
    assert request.body["output_config"]["task_budget"]["total"] == 20_000
    assert any("MARK-TITLE" in text for text in kept)
    assert "MARK-PLAN" in json.dumps(request.messages)
    assert "Write" in request.tools
    assert "Edit" not in request.tools
    assert work not in system_of(request)


# --- which conversation --------------------------------------------------------------------------


# --- prompts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
async def test_pictures_and_documents_reach_the_model(version: str) -> None:
    parts: Prompt = [
        "Look at these",
        Image.of(PNG),
        Document.of(PDF, title="A PDF"),
        Document.from_text("Some notes", title="Notes", citations=True),
        Image.of("https://example.invalid/picture.png"),
    ]
    with open_cage(version=version) as cage:
        async with running(cage, Options(), version) as run:
            assert (await run.say(parts)).ok
    said = [
        block
        for message in cage.turns[0].messages
        if message["role"] == "user" and isinstance(message["content"], list)
        for block in message["content"]
        if block["type"] != "text"
    ]
    assert [(block["type"], block["source"]["type"]) for block in said] == [
        ("image", "base64"),
        ("document", "base64"),
        ("document", "text"),
        ("image", "url"),
    ]
    assert [block.get("title") for block in said] == [None, "A PDF", "Notes", None]
