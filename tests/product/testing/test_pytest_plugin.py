"""The pytest plugin: every fixture in a test, and the report of a test that fails."""

from __future__ import annotations

import importlib
import pkgutil
import sys
import textwrap
from pathlib import Path

import pytest

import claudewire.testing
from claudewire.testing.fixtures import recording_path

# An inner run forgets the modules that it loads first. Loaded again, they would have other classes.
_OURS = pkgutil.iter_modules(claudewire.testing.__path__, "claudewire.testing.")
for _name in [*(each.name for each in _OURS), "anyio._backends._asyncio", "anyio._backends._trio"]:
    importlib.import_module(_name)

pytest_plugins = ["pytester"]

CONFTEST = """
    import anyio, pytest
    from claudewire.wire import AssistantMessage, Connection, Role, UserMessage

    @pytest.fixture(params=["asyncio", "trio"])
    def anyio_backend(request):
        return request.param

    async def _talk(transport, prompt):
        connection, said = Connection(Role.CLIENT), []
        with anyio.fail_after(60):
            await transport.send(connection.send(UserMessage.of(prompt)))
            while connection.unanswered_prompts:
                for event in connection.receive_data(await transport.receive()):
                    if isinstance(event, AssistantMessage):
                        said.append(event.text)
        return said

    @pytest.fixture
    def talk():
        return _talk
"""

SCENARIO = """
[[turn]]
match = ""
steps = [{ say = "From a file." }]
"""

HEAD = r"""
    import subprocess
    import pytest
    pytestmark = pytest.mark.anyio

    FLAGS = ["-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"]
    PROMPT = '{"type":"user","message":{"role":"user","content":"x"}}\n'

    def start(program, *flags, env=None):
        return subprocess.run(
            [program, *(flags or FLAGS)], input=PROMPT, env=env, capture_output=True,
            encoding="utf-8", timeout=60,
        )

    async def hi(chat):
        await chat.say("Hi!")
"""


@pytest.fixture(autouse=True)
def _inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two tests with the same length and time, the compiled one of the first would run.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    pytester.makeconftest(CONFTEST)
    pytester.makefile(".toml", scenario=SCENARIO)


def run(pytester: pytest.Pytester, body: str, *options: str) -> pytest.RunResult:
    path = pytester.makepyfile(test_it=f"{HEAD}{body}")
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options, path)


# --- simulated CLIs ------------------------------------------------------------------------------


def test_simulated_cli_plays_a_function_a_file_and_a_text(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_function(simulated_cli, talk):
        assert await talk(simulated_cli(hi), "x") == ["Hi!"]

    async def test_file(simulated_cli, talk, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        assert await talk(simulated_cli("scenario.toml"), "x") == ["From a file."]

    async def test_text(simulated_cli, talk):
        assert await talk(simulated_cli('default = "{prompt}!"'), "x") == ["x!"]

    async def test_demo(simulated_cli, talk, tmp_path):
        (tmp_path / "only.txt").write_text("one\\ntwo\\n", encoding="utf-8")
        cli = simulated_cli(argv=["--permission-mode=bypassPermissions"])
        assert (await talk(cli, "List the files"))[-1].endswith("only.txt")

    async def test_the_rest(simulated_cli, talk):
        cli = simulated_cli(
            hi, version="2.1.17", dialect="legacy", faults="exit(3)@4", env={}, cwd="/"
        )
        assert await talk(cli, "x") == ["Hi!"]
        assert await cli.wait() == 3
        await cli.aclose()
        assert cli.inner.engine.session.cwd == "/"

    def test_invalid(simulated_cli, claudewire_sim):
        for make in (simulated_cli, claudewire_sim):
            with pytest.raises(ValueError, match="unknown field .defualt."):
                make('defualt = "x"')
            with pytest.raises(FileNotFoundError):
                make("a=b.toml")
""",
    )
    done.assert_outcomes(passed=11)


def test_session_is_found_again_in_the_same_test(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_resume(simulated_cli, talk):
        first = simulated_cli(hi)
        await talk(first, "x")
        await first.send_eof()
        assert await first.wait() == 0
        again = simulated_cli(hi, argv=["--resume", first.inner.engine.session.id])
        assert await talk(again, "y") == ["Hi!"]
""",
    )
    done.assert_outcomes(passed=2)


FAILING = """
    async def wrong(chat):
        assert chat.text == "expected", "the prompt is another"
        await chat.say("Hi!")

    async def wrong_in_a_tool(chat):
        def check(input):
            assert input == {"a": 1}, "the input is another"
        await chat.use("TodoWrite", {}, run=check)

"""


def test_assertion_of_a_scenario_fails_the_test(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        f"""{FAILING}
    @pytest.fixture(params=["asyncio"])
    def anyio_backend(request):
        return request.param

    @pytest.mark.parametrize("scenario", [wrong, wrong_in_a_tool])
    async def test_green(simulated_cli, talk, scenario):
        await talk(simulated_cli(hi), "x")
        await talk(simulated_cli(scenario), "x")

    async def test_red(simulated_cli, talk):
        await talk(simulated_cli(wrong), "x")
        assert False, "reported once"

    async def test_may_raise(simulated_cli, talk):
        cli = simulated_cli(wrong, may_raise=True)
        await talk(cli, "x")
        (error,) = cli.inner.failures
        assert str(error).startswith("the prompt is another")
""",
    )
    done.assert_outcomes(passed=3, failed=1, errors=2)
    done.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_green*wrong*",
            '>*assert chat.text == "expected", "the prompt is another"*',
            "*- wire: SimulatedCLI -*",
            "E *AssertionError: the input is another*",
        ]
    )
    done.stdout.fnmatch_lines(["E *reported once*"])


def test_assertion_of_a_scenario_in_a_program_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(scenario=textwrap.dedent(FAILING))
    done = run(
        pytester,
        """
    def test_green(claudewire_sim):
        start(claudewire_sim("scenario.py:wrong"))

    def test_may_raise(claudewire_sim):
        start(claudewire_sim("scenario.py:wrong", may_raise=True))
""",
    )
    done.assert_outcomes(passed=2, errors=1)
    done.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_green*",
            "E *ScenarioFailed: The scenario failed.*",
            "E *AssertionError: the prompt is another*",
        ]
    )


def test_program_stands_for_claude(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        r"""
    def test_version(claudewire_sim):
        program = claudewire_sim(version="2.1.17")
        assert program.name == "claude"
        # whatever the environment of its caller
        done = start(program, "--version", env={"CLAUDEWIRE_SIM_VERSION": "no such"})
        assert done.stdout == "2.1.17 (Claude Code)\n"

    def test_file_and_text(claudewire_sim):
        file, text = claudewire_sim("scenario.toml"), claudewire_sim('default = "Text."')
        assert "From a file." in start(file).stdout
        assert "Text." in start(text).stdout

    def test_invalid(claudewire_sim):
        with pytest.raises(ValueError, match="Unknown fault"):
            claudewire_sim(faults="nonsense")

    def test_that_fails(claudewire_sim):
        program = claudewire_sim("scenario.toml", faults="kill(11)@2")
        assert start(program).returncode == -11
        start(program)
        assert False
""",
    )
    done.assert_outcomes(passed=3, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*- wire: claude, process *-",
            '> {*"type":"user"*',
            '< {*"type":"system"*',
            "*- wire: claude, process *-",
        ]
    )


# --- the wire log --------------------------------------------------------------------------------


def test_failing_test_shows_its_wire_without_secrets(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_it(simulated_cli, talk):
        cli = simulated_cli(hi)
        await talk(cli, "My key is sk-ant-api03-abcdefgh, keep it")
        await cli.send_eof()
        await cli.wait()
        assert False

    async def test_that_passes(simulated_cli, talk):
        await talk(simulated_cli(hi), "x")
""",
    )
    done.assert_outcomes(failed=2, passed=2)
    done.stdout.fnmatch_lines(
        [
            "*- wire: SimulatedCLI -*",
            '> {*"My key is <key-1>, keep*',
            '< {*"type":"system"*',
            "< {*Hi!*",
            '< {*"type":"result"*',
            "= end of input",
            "= exit 0",
        ]
    )
    assert str(done.stdout).count("- wire: ") == 2


def test_plugin_loads_nothing_for_tests_without_its_fixtures(pytester: pytest.Pytester) -> None:
    loaded = 'import sys; assert not {"anyio.abc", "claudewire.wire"} & set(sys.modules)'
    pytester.makeconftest("")
    path = pytester.makepyfile(f"def test_it():\n    {loaded}\n    raise ValueError")
    done = pytester.runpytest_subprocess("-p", "no:anyio", path)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E   *ValueError"])
    done.stdout.no_fnmatch_line("*wire:*")


# --- recordings ----------------------------------------------------------------------------------

RECORDED = """
    async def test_it(wire_recording, simulated_cli, talk):
        async def live():
            print("started")
            return simulated_cli(hi)

        transport = await wire_recording(live)
        assert await talk(transport, SAID) == ["Hi!"]
"""


def test_recording_is_made_replayed_and_compared(pytester: pytest.Pytester) -> None:
    missing = run(pytester, f"    SAID = 'x'\n{RECORDED}")
    missing.assert_outcomes(failed=2)
    missing.stdout.fnmatch_lines(
        ["E *NoRecording: There is no recording */recordings/test_it/test_it-asyncio.jsonl"]
    )

    record = run(pytester, f"    SAID = 'x'\n{RECORDED}", "--wire-record", "-s")
    record.assert_outcomes(passed=2)
    assert str(record.stdout).count("started") == 2
    made = pytester.path / "recordings" / "test_it" / "test_it-trio.jsonl"
    first = made.read_bytes()

    failing = f"    SAID = 'y'\n{RECORDED}        assert False\n"
    run(pytester, failing, "--wire-record").assert_outcomes(failed=2)
    assert made.read_bytes() == first  # a test that fails keeps its old recording

    replay = run(pytester, f"    SAID = 'x'\n{RECORDED}", "-s")
    replay.assert_outcomes(passed=2)
    replay.stdout.no_fnmatch_line("started")

    other = run(pytester, f"    SAID = 'y'\n{RECORDED}")
    other.assert_outcomes(failed=2)
    other.stdout.fnmatch_lines(["E *ReplayMismatch: *", "*- wire: ReplayTransport -*"])


def test_unfinished_replay_is_an_error(pytester: pytest.Pytester) -> None:
    body = """
    async def test_it(wire_recording, simulated_cli, talk):
        transport = await wire_recording(lambda: simulated_cli(hi))
        for prompt in PROMPTS:
            assert await talk(transport, prompt) == ["Hi!"]
"""
    run(pytester, f"    PROMPTS = 'ab'\n{body}", "--wire-record").assert_outcomes(passed=2)
    done = run(pytester, f"    PROMPTS = 'a'\n{body}")
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["E *ReplayUnfinished: *"])


def test_test_may_have_several_recordings(pytester: pytest.Pytester) -> None:
    body = """
    @pytest.mark.parametrize("a", ["x/y", "x y"])
    class TestIt:
        async def test_it(self, wire_recording, simulated_cli, talk, a):
            for answer in "one", "two":
                live = lambda: simulated_cli(f'default = "{answer} {a}"')
                assert await talk(await wire_recording(live), "x") == [f"{answer} {a}"]
"""
    run(pytester, body, "--wire-record").assert_outcomes(passed=4)
    run(pytester, body).assert_outcomes(passed=4)
    made = [*(pytester.path / "recordings" / "test_it").iterdir()]
    assert len(made) == 8
    assert {path.name.partition("-")[0] for path in made} == {"TestIt.test_it"}


def test_recording_has_a_valid_file_name() -> None:
    def name(test: str) -> str:
        return str(recording_path(Path("/a/test_b.py"), test))

    assert name("T::test_c[1-x]") == "/a/recordings/test_b/T.test_c-1-x.jsonl"
    assert name("test_c[x/y]").startswith("/a/recordings/test_b/test_c-x_y-")
    assert len(Path(name("test_" + "c" * 1000)).name) < 150


# --- the API and the cage ------------------------------------------------------------------------


def test_scripted_api_is_served(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    import httpx

    async def test_it(scripted_api):
        async with scripted_api(["Hello"]) as api, httpx.AsyncClient(trust_env=False) as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}
            response = await client.post(f"{api.url}/v1/messages", json=body)
            assert response.json()["content"] == [{"type": "text", "text": "Hello"}]
""",
    )
    done.assert_outcomes(passed=2)


CAGED = """
    def test_it(cage):
        inside = cage(["Hello"], env={"SEEN": "1"})
        command = inside.command(["sh", "-c", "echo $SEEN $HOME"])
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout == f"1 {inside.home}\\n"
        print(f"folder: {inside.folder}.")
"""


def test_cage_is_opened_and_closed(pytester: pytest.Pytester) -> None:
    if (reason := claudewire.testing.Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    done = run(pytester, CAGED, "-s")
    done.assert_outcomes(passed=1)
    folder = str(done.stdout).partition("folder: ")[2].partition(".\n")[0]
    assert folder
    assert not Path(folder).exists()


def test_impossible_cage_skips_the_test(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claudewire.testing.Cage, "unavailable", lambda: "not on this moon")
    done = run(pytester, CAGED, "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED *No cage: not on this moon"])
