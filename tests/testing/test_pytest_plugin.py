"""The plugin: every fixture in a test of its own, and what is told when such a test fails."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import textwrap
from pathlib import Path

import pytest

import claudewire.testing
from claudewire.testing.fixtures import recording_path

# An inner run forgets the modules that it was the first to load. Loaded once more they would be
# others, for those who still have the first ones.
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

HI = """
    import pytest
    pytestmark = pytest.mark.anyio

    async def hi(chat):
        await chat.say("Hi!")
"""


@pytest.fixture(autouse=True)
def _inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of two tests of the same length, written in the same second, the compiled first would be run.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    pytester.makeconftest(CONFTEST)
    pytester.makefile(".toml", scenario=SCENARIO)


def run(
    pytester: pytest.Pytester, body: str, *options: str, name: str = "test_it"
) -> pytest.RunResult:
    path = pytester.makepyfile(**{name: f"{HI}{body}"})
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", *options, path)


# --- simulated_cli -------------------------------------------------------------------------------


def test_a_simulated_cli_plays_a_function_a_file_and_a_text(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_function(simulated_cli, talk):
        assert await talk(simulated_cli(hi), "x") == ["Hi!"]

    async def test_file(simulated_cli, talk, monkeypatch, tmp_path):
        monkeypatch.chdir(tmp_path)
        assert await talk(simulated_cli("scenario.toml"), "x") == ["From a file."]

    async def test_text(simulated_cli, talk):
        assert await talk(simulated_cli('default = "{prompt}!"\\n'), "x") == ["x!"]

    async def test_demo(simulated_cli, talk, tmp_path):
        (tmp_path / "only.txt").write_text("one\\ntwo\\n", encoding="utf-8")
        cli = simulated_cli(argv=["--permission-mode=bypassPermissions"])
        assert (await talk(cli, "List the files"))[-1].endswith("only.txt")

    async def test_the_rest(simulated_cli, talk):
        cli = simulated_cli(
            hi, version="2.0.76", dialect="legacy", faults="exit(3)@4", env={}, cwd="/"
        )
        assert await talk(cli, "x") == ["Hi!"]
        assert await cli.wait() == 3
        assert await cli.receive_stderr() == b""
        await cli.aclose()
        assert cli.inner.engine.session.cwd == "/"
""",
    )
    done.assert_outcomes(passed=10)


def test_sessions_are_found_again_in_the_same_test(pytester: pytest.Pytester) -> None:
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
        await chat.use("Read", {}, run=check)

    async def open_tool(chat):
        await chat.use("Read", {}, run=lambda input: 1 / 0)

"""


def test_what_a_scenario_asserts_is_asserted_for_the_test(pytester: pytest.Pytester) -> None:
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
        assert False, "it is told once"

    async def test_meant_to_raise(simulated_cli, talk):
        cli = simulated_cli(wrong, may_raise=True)
        await talk(cli, "x")
        assert [str(error).partition("\\n")[0] for error in cli.inner.failures] == [
            "the prompt is another"
        ]

    async def test_a_tool_may_fail(simulated_cli, talk):
        await talk(simulated_cli(open_tool), "x")

    async def test_right(simulated_cli, talk):
        await talk(simulated_cli(wrong), "expected")
""",
    )
    done.assert_outcomes(passed=5, failed=1, errors=2)
    done.stdout.fnmatch_lines(
        [
            "*ERROR at teardown of test_green*wrong*",
            '>*assert chat.text == "expected", "the prompt is another"*',
            "E *AssertionError: the prompt is another*",
            "*- wire: SimulatedCLI -*",
            '>*assert input == {"a": 1}, "the input is another"*',
            "E *AssertionError: the input is another*",
        ]
    )
    done.stdout.fnmatch_lines(["E *it is told once*"])


def test_what_a_scenario_asserts_in_a_program_is_asserted_for_the_test(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(scenario=textwrap.dedent(FAILING))
    done = run(
        pytester,
        r"""
    import subprocess

    FLAGS = ["-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"]
    PROMPT = '{"type":"user","message":{"role":"user","content":"x"}}\n'

    def start(program):
        subprocess.run([program, *FLAGS], input=PROMPT.encode(), timeout=60, capture_output=True)

    def test_green(claudewire_sim):
        start(claudewire_sim("scenario.py:wrong"))

    def test_meant_to_raise(claudewire_sim):
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


NEVER_BEGUN = """
    import pytest

    class Failed:
        failures = [ValueError("from the scenario")]

        def finish(self):
            raise ValueError("from the recording")

    @pytest.fixture
    def broken(simulated_cli, claudewire_sim, wire_recording):
        log = claudewire_sim().parent / "claude.log"
        log.write_text(f"7 ! {b'The scenario failed.'.hex()}\\n", encoding="ascii")
        simulated_cli._made.append(Failed())
        wire_recording._replays.append(Failed())
        raise RuntimeError("in the setup")

    def test_it(broken): ...
"""


def test_of_a_test_that_never_began_only_the_reason_is_told(pytester: pytest.Pytester) -> None:
    done = run(pytester, NEVER_BEGUN)
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*RuntimeError: in the setup*"])


def test_the_contents_of_a_toml_file_may_be_one_line(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_text(simulated_cli, claudewire_sim, talk):
        assert await talk(simulated_cli('default = "{prompt}!"'), "x") == ["x!"]
        assert claudewire_sim('default = "x"').exists()

    def test_nonsense(simulated_cli, claudewire_sim):
        for make in (simulated_cli, claudewire_sim):
            with pytest.raises(ValueError, match="unknown defualt; there are default"):
                make('defualt = "x"')
            with pytest.raises(FileNotFoundError):
                make("a=b.toml")
""",
    )
    done.assert_outcomes(passed=3)


# --- claudewire_sim ------------------------------------------------------------------------------


@pytest.mark.unmeasured
def test_a_program_is_made_that_can_stand_for_claude(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        r"""
    import subprocess

    FLAGS = ["-p", "--verbose", "--input-format=stream-json", "--output-format=stream-json"]
    PROMPT = '{"type":"user","message":{"role":"user","content":"x"}}\n'

    def start(program, *flags, env=None):
        return subprocess.run(
            [program, *flags],
            input=PROMPT,
            env=env,
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    def test_version(claudewire_sim):
        program = claudewire_sim(version="2.0.76")
        assert program.name == "claude"
        # whatever the environment of whoever starts it
        done = start(program, "--version", env={"CLAUDEWIRE_SIM_VERSION": "no such"})
        assert done.stdout == "2.0.76 (Claude Code)\n"

    def test_file_and_text(claudewire_sim):
        file, text = claudewire_sim("scenario.toml"), claudewire_sim('default = "Text."\n')
        assert "From a file." in start(file, *FLAGS).stdout
        assert "Text." in start(text, *FLAGS).stdout

    def test_faults(claudewire_sim):
        done = start(claudewire_sim("scenario.toml", faults="kill(11)@2"), *FLAGS)
        assert done.returncode == -11

    def test_nonsense(claudewire_sim):
        with pytest.raises(ValueError, match="Unknown fault"):
            claudewire_sim(faults="nonsense")

    def test_that_fails(claudewire_sim):
        program = claudewire_sim("scenario.toml", faults="exit(4)@2")
        start(program, *FLAGS)
        start(program, *FLAGS)
        assert False
""",
    )
    done.assert_outcomes(passed=4, failed=1)
    done.stdout.fnmatch_lines(
        [
            "*- wire: claude, process *-",
            '> {"type":"user",*',
            '< {"type":"system",*',
            "= exit 4",
            "*- wire: claude, process *-",
            "= exit 4",
        ]
    )


# --- the log -------------------------------------------------------------------------------------


def test_a_test_that_fails_shows_the_wire(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    async def test_it(simulated_cli, talk, anyio_backend):
        cli = simulated_cli(hi, argv=["--model", "x", "--betas", "y"], faults="exit(5)@4")
        await talk(cli, "My key is sk-ant-api03-abcdefgh, and the password is in it")
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
            '> {"type":"user",*"My key is <key-1>, and*',
            '< {"type":"system",*',
            '< {"type":"assistant",*Hi!*',
            '< {"type":"result",*',
            "= end of input",
            "= exit 0",
        ]
    )
    assert str(done.stdout).count("- wire: ") == 2


def test_the_log_is_bounded_and_can_be_read(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        r"""
    from claudewire.transport import memory_pair

    @pytest.fixture(params=["asyncio"])
    def anyio_backend(request):
        return request.param

    async def test_it(wire_log):
        app, cli = memory_pair()
        watched = wire_log.watch(app, "mine")
        unused = wire_log.watch(app)
        for number in range(300):
            await watched.send(b"line %d\n" % number)
        await cli.send(b"\x1b[31m\xff\nlong " + b"x" * 1000)
        await watched.receive()
        await cli.send(b"x" * 100_000)
        await watched.receive()
        cli.send_stderr(b"oh!\nhalf")
        await watched.receive_stderr()
        await watched.aclose()
        assert await watched.wait() is None
        assert False
""",
    )
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(
        [
            "*- wire: mine -*",
            "(105 earlier lines are left out)",
            "> line 105",
            "> line 299",
            r"< \x1b[[]31m\xff",
            "< long xxx*xxx… (101005 bytes) (no newline yet)",
            "! oh!",
            "! half (no newline yet)",
            "= exit None",
        ]
    )
    done.stdout.no_fnmatch_line("> line 104")
    done.stdout.no_fnmatch_line("*wire: MemoryTransport*")
    assert max(map(len, done.outlines)) < 500


@pytest.mark.unmeasured
def test_nothing_is_added_where_nothing_was_asked_for(pytester: pytest.Pytester) -> None:
    loaded = 'import sys; assert not {"anyio.abc", "claudewire.wire"} & set(sys.modules)'
    pytester.makeconftest("")
    path = pytester.makepyfile(f"def test_it():\n    {loaded}\n    raise ValueError")
    done = pytester.runpytest_subprocess("-p", "no:anyio", path)
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["E   *ValueError"])
    done.stdout.no_fnmatch_line("*wire:*")


# --- wire_recording ------------------------------------------------------------------------------

RECORDED = """
    async def test_it(wire_recording, simulated_cli, talk):
        async def live():
            print("started")
            return simulated_cli(hi)

        transport = await wire_recording(live, header={"cli_version": "1.2.3"})
        assert await talk(transport, PROMPT) == ["Hi!"]
"""


def test_a_test_is_recorded_and_replayed(pytester: pytest.Pytester) -> None:
    missing = run(pytester, f"    PROMPT = 'x'\n{RECORDED}")
    missing.assert_outcomes(failed=2)
    missing.stdout.fnmatch_lines(
        ["E *NoRecording: There is no recording */recordings/test_it/test_it-asyncio.jsonl"]
    )

    record = run(pytester, f"    PROMPT = 'x'\n{RECORDED}", "--wire-record", "-s")
    record.assert_outcomes(passed=2)
    assert str(record.stdout).count("started") == 2
    made = pytester.path / "recordings" / "test_it" / "test_it-trio.jsonl"
    first = made.read_bytes()
    assert json.loads(first.split(b"\n")[0])["cli_version"] == "1.2.3"

    replay = run(pytester, f"    PROMPT = 'x'\n{RECORDED}", "-s")
    replay.assert_outcomes(passed=2)
    replay.stdout.no_fnmatch_line("started")
    assert made.read_bytes() == first

    other = run(pytester, f"    PROMPT = 'y'\n{RECORDED}")
    other.assert_outcomes(failed=2)
    other.stdout.fnmatch_lines(
        ['E *ReplayMismatch: *"x" was recorded, "y" was sent*', "*- wire: ReplayTransport -*"]
    )

    refresh = run(pytester, f"    PROMPT = 'y'\n{RECORDED}", "--wire-record")
    refresh.assert_outcomes(passed=2)
    assert made.read_bytes() != first


@pytest.mark.unmeasured
def test_a_test_that_fails_leaves_its_recording_alone(pytester: pytest.Pytester) -> None:
    run(pytester, f"    PROMPT = 'x'\n{RECORDED}", "--wire-record").assert_outcomes(passed=2)
    made = pytester.path / "recordings" / "test_it" / "test_it-trio.jsonl"
    first = made.read_bytes()
    failing = f"    PROMPT = 'y'\n{RECORDED}        assert False\n"
    run(pytester, failing, "--wire-record").assert_outcomes(failed=2)
    assert made.read_bytes() == first
    assert len(list(made.parent.iterdir())) == 2


def test_what_was_sent_and_is_not_any_more_is_an_error(pytester: pytest.Pytester) -> None:
    body = """
    async def test_it(wire_recording, simulated_cli, talk):
        transport = await wire_recording(lambda: simulated_cli(hi))
        for prompt in PROMPTS:
            assert await talk(transport, prompt) == ["Hi!"]
"""
    run(pytester, f"    PROMPTS = 'ab'\n{body}", "--wire-record").assert_outcomes(passed=2)
    done = run(pytester, f"    PROMPTS = 'a'\n{body}")
    done.assert_outcomes(passed=2, errors=2)
    done.stdout.fnmatch_lines(["E *ReplayUnfinished: 1 recorded lines were not sent*"])


def test_a_test_may_have_several_recordings(pytester: pytest.Pytester) -> None:
    body = """
    @pytest.mark.parametrize("a", ["x/y", "x y"])
    class TestIt:
        async def test_it(self, wire_recording, simulated_cli, talk, a):
            for answer in "one", "two":
                live = lambda: simulated_cli(f'default = "{answer} {a}"\\n')
                assert await talk(await wire_recording(live), "x") == [f"{answer} {a}"]
"""
    run(pytester, body, "--wire-record").assert_outcomes(passed=4)
    run(pytester, body).assert_outcomes(passed=4)
    made = list((pytester.path / "recordings" / "test_it").iterdir())
    assert len(made) == 8
    assert {path.name.partition("-")[0] for path in made} == {"TestIt.test_it"}


def test_the_name_of_a_recording_is_a_good_name_for_a_file() -> None:
    def name(test: str) -> str:
        return str(recording_path(Path("/a/test_b.py"), test))

    assert name("test_c") == "/a/recordings/test_b/test_c.jsonl"
    assert name("T::test_c[1-x]") == "/a/recordings/test_b/T.test_c-1-x.jsonl"
    assert name("test_c[x/y]").startswith("/a/recordings/test_b/test_c-x_y-")
    assert len(Path(name("test_" + "c" * 1000)).name) < 150


# --- the API and the cage ------------------------------------------------------------------------


def test_an_api_is_served(pytester: pytest.Pytester) -> None:
    done = run(
        pytester,
        """
    import json, urllib.request, anyio.to_thread

    async def test_it(scripted_api):
        async with scripted_api(["Hello"]) as api:
            def ask():
                body = {"model": "m", "messages": [{"role": "user", "content": "x"}], "tools": [{}]}
                request = urllib.request.Request(
                    f"{api.url}/v1/messages", json.dumps(body).encode(), method="POST"
                )
                with urllib.request.urlopen(request, timeout=60) as response:
                    return json.load(response)["content"]

            assert await anyio.to_thread.run_sync(ask) == [{"type": "text", "text": "Hello"}]
""",
    )
    done.assert_outcomes(passed=2)


def test_who_has_no_http_library_is_told_which_extra_it_takes(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "h11", None)
    for module in [name for name in sys.modules if name.startswith("claudewire.testing.api")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.delitem(vars(claudewire.testing), "ScriptedAPI", raising=False)
    done = run(pytester, "    def test_it(scripted_api): ...")
    done.stdout.fnmatch_lines(["*needs `pip install claudewire[[]api]`*"])
    done.stdout.no_fnmatch_line("*def scripted_api*")  # that is enough to know


CAGED = """
    import subprocess

    def test_it(cage):
        inside = cage(["Hello"], env={"SEEN": "1"})
        command = inside.command(["sh", "-c", "echo $SEEN $HOME"])
        done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
        assert done.stdout == f"1 {inside.home}\\n"
        print(f"folder: {inside.folder}.")
"""


def test_a_cage_is_opened_and_closed(pytester: pytest.Pytester) -> None:
    if (reason := claudewire.testing.Cage.unavailable()) is not None:
        pytest.skip(f"No cage: {reason}")
    done = run(pytester, CAGED, "-s")
    done.assert_outcomes(passed=1)
    folder = str(done.stdout).partition("folder: ")[2].partition(".\n")[0]
    assert folder
    assert not Path(folder).exists()


def test_where_there_can_be_no_cage_the_test_is_skipped(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claudewire.testing.Cage, "unavailable", lambda: "not on this moon")
    done = run(pytester, CAGED, "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["SKIPPED *No cage: not on this moon"])
