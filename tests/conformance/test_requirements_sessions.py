"""What the documents demand of whoever starts the CLI, as sessions show it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from tests.conformance.starting import UNHURRIED, Stage, Start
from tests.helpers import programs
from tests.helpers.processes import PATIENCE
from tests.helpers.real_clis import NEWEST, real_cli
from tests.real.sessions import LONG, caged, open_cage

import claudewire
from claudewire import Cause, CLIError, PermissionRequest, PermissionResult, SessionState, Timeouts
from claudewire.testing import SimulatedProgramFactory
from claudewire.testing.cage.cage import FAKE_KEY

pytestmark = pytest.mark.anyio

Test = TypeVar("Test", bound=Callable[..., object])


def real(test: Test) -> Test:
    """Mark a test of a real CLI: what is tested is the CLI, and one event loop is enough."""
    marked: Test = pytest.mark.real_cli(test)
    once: Test = pytest.mark.parametrize("anyio_backend", ["asyncio"])(marked)
    return once


DIALECTS = ["modern", "session", "legacy", "envelope"]
MODELS = ["sonnet", "opus", "haiku"]
ID = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def stage(claudewire_sim: SimulatedProgramFactory, tmp_path: Path) -> Stage:
    return Stage(claudewire_sim, tmp_path)


def transcripts(folder: Path) -> list[Path]:
    """The conversations that a CLI has kept."""
    return list(folder.glob("**/*.jsonl"))


# --- the streams ----------------------------------------------------------------------------------


@pytest.mark.shows("000-1", "001-2")
@pytest.mark.parametrize("dialect", ["modern", "session"])
async def test_the_conversation_is_json_lines_in_both_directions(
    stage: Stage, dialect: str
) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect=dialect, start=start) as session:
            reply = await session.send("Grüße,\nin two lines")
    assert reply.ok
    for stream in (start.sent, start.received):
        assert stream.endswith(b"\n")
        assert all(isinstance(json.loads(line), dict) for line in stream.splitlines())
    assert any("Grüße,\\nin two lines" in line for line in start.sent.decode().splitlines())
    assert b'"result"' in start.received


@pytest.mark.shows("002-62")
async def test_each_message_reaches_the_cli_before_there_is_another(stage: Stage) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect="legacy", start=start) as session:
            for number in range(3):
                before = len(start.wrote)
                assert (await session.send(f"hello {number}")).ok
                assert len(start.wrote) == before + 1


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.shows(
    *("000-79", "000-9"),
    *("001-6", "001-7", "001-8", "001-13"),
    *("004-1", "004-2", "004-3", "004-4"),
)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_host_starts_the_cli_with_the_right_arguments(stage: Stage, dialect: str) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect=dialect, start=start) as session:
            assert (await session.send("hello")).ok
    assert start.words == (
        "--output-format=stream-json",
        "--input-format=stream-json",
        "--verbose",
        "--permission-prompt-tool=stdio",
        *([f"--cwd={os.getcwd()}"] if dialect == "session" else []),
    )


@pytest.mark.shows("000-3", "002-1")
@real
async def test_with_its_flag_the_cli_writes_json_lines_instead_of_text() -> None:
    with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
        command = cage.command([str(real_cli(NEWEST)), "--print", "hello"])
        text = (await anyio.run_process(command)).stdout
        start = Start()
        async with claudewire.open(caged(cage, NEWEST), transport=start) as session:
            assert (await session.send("hello")).text == "Done."
    assert text == b"Done.\n"
    assert "--output-format=stream-json" in start.words
    lines = [json.loads(line) for line in start.received.splitlines()]
    assert [line["result"] for line in lines if line["type"] == "result"] == ["Done."]


@pytest.mark.shows("000-4", "002-3")
@real
async def test_with_its_flag_the_cli_takes_json_messages_on_stdin() -> None:
    start = Start(without="--input-format")
    with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
        async with claudewire.open(caged(cage, NEWEST)) as session:
            assert (await session.send("hello")).ok
        # Without it all that comes is the text of one prompt, which has not ended.
        timeouts = Timeouts(start=5, exit=0.5, drain=0.5)
        deaf = claudewire.open(caged(cage, NEWEST, timeouts=timeouts), transport=start)
        with pytest.raises(CLIError) as caught:
            await deaf.start()
    assert caught.value.cause is Cause.NO_ANSWER
    # Once its input has ended, it may begin with what it takes for a prompt.
    assert b"control_response" not in start.received


@pytest.mark.shows("002-4", "000-9")
@pytest.mark.parametrize("dialect", ["legacy", "modern"])
async def test_without_verbose_the_cli_refuses_to_start(stage: Stage, dialect: str) -> None:
    start = Start(without="--verbose")
    with anyio.fail_after(PATIENCE), pytest.raises(CLIError, match="requires --verbose") as caught:
        await stage.open(dialect=dialect, start=start).start()
    assert caught.value.evidence.exit_code == 1


@pytest.mark.shows("000-7", "002-9")
@pytest.mark.parametrize("dialect", ["modern", "legacy"])
async def test_with_its_flag_the_cli_asks_the_host_for_permission(
    stage: Stage, dialect: str
) -> None:
    scenario = """
        outcome = await chat.use("Bash", {"command": "make"}, result="made")
        await chat.say(outcome.text)
    """
    said, asked = [], []

    async def decide(request: PermissionRequest) -> PermissionResult:
        asked.append(request.tool_name)
        return request.allow()

    for start in (Start(), Start(without="--permission-prompt-tool")):
        with anyio.fail_after(PATIENCE):
            async with stage.open(scenario, dialect, start=start, on_permission=decide) as session:
                said.append((await session.send("go")).text)
        assert asked == ["Bash"]
    assert said[0] == "made"
    assert "requires approval" in said[1]


@pytest.mark.shows("000-5", "001-10", "002-5", "004-5")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dialect", DIALECTS)
async def test_the_model_is_the_one_that_was_chosen(stage: Stage, dialect: str, model: str) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect=dialect, start=start, model=model) as session:
            await session.send("hello")
    assert model.encode() in start.received
    assert f"--model={model}" in start.words


@pytest.mark.shows("000-6", "001-11", "002-7")
@pytest.mark.parametrize(
    ("mode", "asked"),
    [
        ("default", ["Write", "Bash"]),
        ("acceptEdits", ["Bash"]),
        ("bypassPermissions", []),
        ("plan", ["Write", "Bash"]),
    ],
)
@pytest.mark.parametrize("dialect", ["modern", "session", "legacy"])
async def test_the_permission_mode_is_the_one_that_was_chosen(
    stage: Stage, dialect: str, mode: str, asked: list[str]
) -> None:
    scenario = """
        await chat.use("Write", {"file_path": "a.txt", "content": "a"})
        await chat.use("Bash", {"command": "make"})
    """
    seen: list[str] = []

    async def decide(request: PermissionRequest) -> PermissionResult:
        seen.append(request.tool_name)
        return request.allow()

    start = Start()
    options = {"permission_mode": mode, "on_permission": decide, "accept_shadowed": True}
    with anyio.fail_after(PATIENCE):
        async with stage.open(scenario, dialect, start=start, **options) as session:
            await session.send("go")
            assert session.init_message is not None
            assert session.init_message.permission_mode == mode
    assert f"--permission-mode={mode}" in start.words
    assert seen == asked


@pytest.mark.shows("000-8")
@pytest.mark.parametrize("sources", [["user", "project", "local"], ["project"], []])
async def test_the_sources_of_settings_are_a_choice_that_may_be_empty(
    stage: Stage, sources: list[str]
) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(start=start, setting_sources=sources) as session:
            assert (await session.send("hello")).ok
    place = start.words.index("--setting-sources")
    assert start.words[place + 1] == ",".join(sources)


@pytest.mark.shows("002-11")
@real
async def test_each_source_of_settings_has_a_file_of_its_own() -> None:
    """Each file forbids another tool."""
    files = {"user": "settings.json", "project": "settings.json", "local": "settings.local.json"}
    tools = {"user": "Write", "project": "Edit", "local": "Read"}
    with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
        for source, name in files.items():
            folder = cage.config if source == "user" else cage.work / ".claude"
            folder.mkdir(exist_ok=True)
            rules = {"permissions": {"deny": [tools[source]]}}
            (folder / name).write_text(json.dumps(rules), encoding="utf-8")
        for sources in ([], ["user"], ["project"], ["local"], ["user", "local"]):
            options = caged(cage, NEWEST, setting_sources=sources)
            async with claudewire.open(options) as session:
                assert (await session.send("hello")).ok
        missing = [{it for it in tools.values() if it not in turn.tools} for turn in cage.turns]
    assert missing == [set(), {"Write"}, {"Edit"}, {"Read"}, {"Write", "Read"}]


@pytest.mark.shows("000-10", "001-12")
@pytest.mark.parametrize("dialect", ["modern", "session"])
async def test_the_number_of_turns_is_limited(stage: Stage, dialect: str) -> None:
    scenario = """
        for number in range(5):
            await chat.use("Read", {"file_path": "a.txt"}, result="a")
    """
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(scenario, dialect, start=start, max_turns=2) as session:
            reply = await session.send("go")
    assert "--max-turns=2" in start.words
    assert reply.result.subtype == "error_max_turns"
    assert len(reply.tool_uses) == 2


@pytest.mark.shows("000-11")
async def test_the_cost_is_limited(stage: Stage) -> None:
    scenario = """
        for number in range(100):
            await chat.use("Read", {"file_path": "a.txt"}, result="a")
    """
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(scenario, start=start, max_budget_usd=0.0001) as session:
            reply = await session.send("go")
    assert "--max-budget-usd=0.0001" in start.words
    assert reply.result.subtype == "error_max_budget_usd"
    assert len(reply.tool_uses) < 100


@pytest.mark.shows("000-12")
async def test_the_working_directory_is_the_one_that_was_chosen(
    stage: Stage, tmp_path: Path
) -> None:
    """It is the process's own. A peer that wants the flag can be given it; a CLI refuses it."""
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect="modern", start=start, cwd=tmp_path) as session:
            await session.send("hello")
            assert session.init_message is not None
            assert session.init_message.cwd == str(tmp_path)
        assert not any(word.startswith("--cwd") for word in start.words)

        flag = {"cwd": str(tmp_path)}
        with pytest.raises(CLIError) as caught:
            await stage.open(dialect="modern", start=start, extra_args=flag).start()
    assert f"--cwd={tmp_path}" in start.words
    assert caught.value.cause is Cause.BAD_FLAG


@pytest.mark.shows("001-9")
async def test_the_working_directory_is_on_the_command_line(stage: Stage, tmp_path: Path) -> None:
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(dialect="session", start=start, cwd=tmp_path) as session:
            await session.send("hello")
            assert session.init_message is not None
            assert session.init_message.cwd == str(tmp_path)
    assert f"--cwd={tmp_path}" in start.words


@pytest.mark.shows("000-13", "001-14")
@pytest.mark.parametrize("dialect", ["modern", "session"])
async def test_an_earlier_session_is_continued(stage: Stage, dialect: str) -> None:
    scenario = """
        users = [it["text"] for it in chat.session.history if it["type"] == "user"]
        await chat.say(" | ".join(users))
    """
    start = Start()
    with anyio.fail_after(PATIENCE):
        async with stage.open(scenario, dialect, start=start) as session:
            first = await session.send("one")
        async with stage.open(scenario, dialect, start=start, resume=first.session_id) as session:
            second = await session.send("two")
    assert f"--resume={first.session_id}" in start.words
    assert second.session_id == first.session_id
    assert second.text == "one | two"


@pytest.mark.shows("002-6")
@real
async def test_the_system_prompt_is_the_one_that_was_given() -> None:
    """It is handed over in a private file: a command line can be read by everybody."""
    start = Start()
    with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
        options = caged(cage, NEWEST, system_prompt="You are a lighthouse.")
        async with claudewire.open(options, transport=start) as session:
            await session.send("hello")
        flag = "--system-prompt=You are a buoy."
        async with claudewire.open(cli=cage.command([real_cli(NEWEST), flag])) as session:
            await session.send("hello")
        systems = [json.dumps(turn.body["system"]) for turn in cage.turns]
    assert "You are a lighthouse." in systems[0]
    assert "You are a buoy." in systems[1]
    assert not any("lighthouse" in word for word in start.words)


@pytest.mark.shows("002-8")
@pytest.mark.parametrize("kept", [True, False])
async def test_a_session_is_kept_off_the_disk_if_that_is_wanted(
    stage: Stage, tmp_path: Path, kept: bool
) -> None:
    program = stage.program(dialect="legacy", env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")})
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(
            cli=program, dialect="legacy", timeouts=UNHURRIED, persist_session=kept
        ) as session:
            await session.send("hello")
    assert bool(transcripts(tmp_path / "config")) is kept


# --- the environment ------------------------------------------------------------------------------


@pytest.mark.shows("000-14")
@pytest.mark.parametrize("is_named", [True, False])
async def test_the_executable_may_be_named_by_the_environment(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_named: bool
) -> None:
    on_path = tmp_path / "bin" / "claude"
    on_path.parent.mkdir()
    on_path.symlink_to(stage.program("""await chat.say("the one on the PATH")"""))
    named = stage.program("""await chat.say("the one that is named")""")
    monkeypatch.setenv("PATH", f"{on_path.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("CLAUDE_CODE_PATH", raising=False)
    if is_named:
        monkeypatch.setenv("CLAUDE_CODE_PATH", str(named))
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(timeouts=UNHURRIED) as session:
            reply = await session.send("hello")
    assert reply.text == ("the one that is named" if is_named else "the one on the PATH")


TELLS_ITS_ENVIRONMENT = programs.cli(
    """
    for prompt in prompts():
        result(json.dumps(dict(os.environ)))
    """
)


async def environment_of(**options: Any) -> dict[str, str]:
    """The environment that a CLI has."""
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(
            cli=TELLS_ITS_ENVIRONMENT, timeouts=UNHURRIED, **options
        ) as session:
            told: dict[str, str] = json.loads((await session.send("go")).text)
            return told


@pytest.mark.shows("002-51", "002-52", "002-53")
@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"]
)
async def test_what_the_cli_wants_to_know_is_passed_on(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "inherited")
    assert (await environment_of())[name] == "inherited"
    assert (await environment_of(env={name: "given"}))[name] == "given"
    assert name not in await environment_of(env={name: None})


@pytest.mark.shows("002-51", "002-52")
@real
async def test_the_cli_uses_a_key_or_a_token_and_one_of_them_is_needed() -> None:
    """All of them are made up, and nothing leaves the machine."""
    headers: list[dict[str, str]] = []
    failures: list[str] = []
    given: list[dict[str, str | None]] = [
        {"ANTHROPIC_API_KEY": FAKE_KEY},
        {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "made-up"},
        {"ANTHROPIC_API_KEY": ""},
    ]
    for env in given:
        with anyio.fail_after(LONG), open_cage(NEWEST) as cage:
            words = [f"{name}={value}" for name, value in env.items()]
            command = cage.command(["/usr/bin/env", *words, str(real_cli(NEWEST))])
            async with claudewire.open(cli=command) as session:
                reply = await session.send("hello")
            headers += [turn.headers for turn in cage.turns[:1]]
            failures += [] if reply.ok else [reply.text]
    with_key, with_token = headers
    assert "x-api-key" in with_key
    assert "authorization" not in with_key
    assert "authorization" in with_token
    assert "x-api-key" not in with_token
    assert len(failures) == 1
    assert "login" in failures[0]


@pytest.mark.shows("002-53")
async def test_the_configuration_directory_is_the_one_that_was_chosen(
    stage: Stage, tmp_path: Path
) -> None:
    own = [sys.executable, "-P", "-m", "claudewire.simulator"]
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(
            cli=own, timeouts=UNHURRIED, env={"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
        ) as session:
            reply = await session.send("hello")
    assert [file.stem for file in transcripts(tmp_path / "config")] == [reply.session_id]


@pytest.mark.shows("002-54", "002-55")
async def test_the_host_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_ENTRYPOINT", "left behind by another")
    told = await environment_of()
    assert told["CLAUDE_CODE_ENTRYPOINT"] == "sdk-py"
    assert told["CLAUDE_AGENT_SDK_VERSION"] == claudewire.__version__


# --- sessions and processes -----------------------------------------------------------------------


@pytest.mark.shows("000-77")
async def test_a_session_is_made_by_arguments_together_with_initialize(stage: Stage) -> None:
    start = Start()
    hooked: list[str] = []

    async def hook(event: Any) -> None:
        hooked.append(event.prompt)

    options: dict[str, Any] = {"model": "haiku", "hooks": {"UserPromptSubmit": hook}}
    with anyio.fail_after(PATIENCE):
        async with stage.open(start=start, **options) as session:
            await session.send("hello")
            assert session.init_message is not None
            assert "haiku" in str(session.init_message.model)
    first = start.wrote[0]
    assert first["type"] == "control_request"
    assert first["request"]["subtype"] == "initialize"
    assert "UserPromptSubmit" in first["request"]["hooks"]
    assert hooked == ["hello"]


@pytest.mark.shows("000-78", "000-85")
async def test_several_sessions_are_several_processes(stage: Stage) -> None:
    scenario = """
        users = [it["text"] for it in chat.session.history if it["type"] == "user"]
        await chat.say(" | ".join(users))
    """
    with anyio.fail_after(PATIENCE):
        async with (
            stage.open(scenario, start=Start()) as one,
            stage.open(scenario, start=Start()) as other,
        ):
            turns = [one.send("a"), other.send("b"), one.send("c"), other.send("d")]
            replies = [await turn for turn in turns]
            assert one.pid is not None
            assert other.pid is not None
            assert len({one.pid, other.pid, os.getpid()}) == 3
    assert [reply.text for reply in replies] == ["a", "b", "a | c", "b | d"]
    assert len({reply.session_id for reply in replies}) == 2


KEEPS_A_DIARY = """
    def note(what):
        with open(os.environ["DIARY"], "a") as diary:
            diary.write(what + " ")

    def term(*_):
        note("SIGTERM")
        os._exit(1)

    # A SIGTERM has to wait until the end of the input was noted, however slow that is.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    signal.signal(signal.SIGTERM, term)
    for prompt in prompts():
        result("ok")
    note("EOF")
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    while os.environ["STAYS"]:
        signal.pause()
    note("gone")
"""


@pytest.mark.shows("002-64", "002-66")
@pytest.mark.parametrize(
    ("stays", "diary"), [("", "EOF gone "), ("and stays", "EOF SIGTERM ")], ids=["goes", "stays"]
)
async def test_a_session_is_ended_by_closing_stdin_and_then_with_sigterm(
    tmp_path: Path, stays: str, diary: str
) -> None:
    file = tmp_path / "diary"
    timeouts = Timeouts(start=PATIENCE, exit=0.5 if stays else PATIENCE, terminate=PATIENCE)
    with anyio.fail_after(PATIENCE):
        async with claudewire.open(
            cli=programs.cli(KEEPS_A_DIARY),
            env={"DIARY": str(file), "STAYS": stays},
            timeouts=timeouts,
        ) as session:
            assert (await session.send("hello")).ok
    assert session.state is SessionState.CLOSED
    assert file.read_text(encoding="utf-8") == diary
