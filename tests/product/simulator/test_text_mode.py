"""Text mode: one prompt on the command line or stdin, its answer on stdout."""

from __future__ import annotations

import json

import pytest
from tests.helpers.text_mode import Outcome, run_text

from claudewire.simulator import Chat
from claudewire.simulator.faults import ExitWith

STREAM = ("--output-format=stream-json", "--verbose")


async def play(chat: Chat) -> None:
    if "run" in chat.text:
        await chat.use("Bash", {"command": "make"}, result="made")
    elif "fail" in chat.text:
        await chat.fail("broken", 500)
    elif "raise" in chat.text:
        raise ValueError("x")
    await chat.say(f"Said: {chat.text}")


@pytest.mark.parametrize(
    ("argv", "stdin", "prompt"),
    [
        (["-p", "hello"], b"", "hello"),
        (["-p"], "hellö".encode(), "hellö"),
        (["-p", "hello"], b"and more", "hello\nand more"),
    ],
)
def test_prompt_comes_from_words_and_stdin(argv: list[str], stdin: bytes, prompt: str) -> None:
    assert run_text(play, *argv, stdin=stdin) == Outcome(0, f"Said: {prompt}\n")


def test_open_stdin_is_waited_for_with_a_limit() -> None:
    done = run_text(play, "-p", "hello", stdin=None)
    assert done.stdout == "Said: hello\n"
    assert done.stderr.startswith("Warning: no stdin data received in 3s")


@pytest.mark.parametrize("stdin", [b"", b" \n"])
def test_missing_prompt_is_an_error(stdin: bytes) -> None:
    done = run_text(play, "-p", stdin=stdin)
    assert (done.status, done.stdout) == (1, "")
    assert "Input must be provided" in done.stderr


@pytest.mark.parametrize(
    ("prompt", "argv", "status", "stdout"),
    [
        ("run", ["--max-turns=1"], 1, "Error: Reached max turns (1)"),
        ("hi", ["--max-budget-usd=0.0001"], 1, "Error: Exceeded USD budget (0.0001)"),
        ("raise", [], 1, "Execution error"),
        ("fail", [], 1, "API Error: 500 broken\n"),
        ("/help", [], 0, "/help isn't available in this environment.\n"),
        ("/init", ["--strict"], 1, ""),
        ("/mcp__calc__sum", ["--strict"], 1, ""),
    ],
)
def test_end_of_the_turn_is_printed(prompt: str, argv: list[str], status: int, stdout: str) -> None:
    done = run_text(play, "-p", prompt, *argv)
    assert (done.status, done.stdout) == (status, stdout)


def test_result_is_printed_as_json() -> None:
    done = run_text(play, "-p", "run", "--output-format=json")
    result = json.loads(done.stdout)
    assert (result["type"], result["result"]) == ("result", "Said: run")
    assert [it["tool_name"] for it in result["permission_denials"]] == ["Bash"]


@pytest.mark.parametrize("form", [("--output-format=json", "--verbose"), STREAM])
def test_all_messages_are_printed(form: tuple[str, ...]) -> None:
    printed = run_text(play, "-p", "hi", *form).stdout
    lines = json.loads(printed) if printed[0] == "[" else map(json.loads, printed.splitlines())
    assert [it["type"] for it in lines] == ["system", "assistant", "result"]


@pytest.mark.parametrize("form", [(), STREAM])
def test_missing_session_cannot_be_resumed(form: tuple[str, ...]) -> None:
    id = "11111111-1111-4111-8111-111111111111"
    env = {"CLAUDE_CONFIG_DIR": "/nowhere"}
    done = run_text(play, "-p", "hi", "--resume", id, *form, env=env)
    error = f"No conversation found with session ID: {id}"
    assert (done.status, done.stderr) == (1, f"{error}\n")
    assert ([error] == json.loads(done.stdout)["errors"]) if form else done.stdout == ""


def test_results_of_several_turns_are_printed_in_order() -> None:
    async def background(chat: Chat) -> None:
        if chat.text:
            chat.start_task("x").finish()
        await chat.say("One." if chat.text else "Two.")

    assert run_text(background, "-p", "go").stdout == "One.\n\nTwo.\n"


def test_faults_apply_to_text_mode() -> None:
    assert run_text(play, "-p", "hi", faults=[ExitWith(3)]) == Outcome(3)


@pytest.mark.parametrize(
    ("argv", "status", "stdout"),
    [
        (["mcp", "list"], 0, "No MCP servers configured. Use `claude mcp add` to add a server.\n"),
        (["plugin", "list", "--json"], 0, "[]\n"),
        (["agents", "--json"], 0, "[]\n"),
        (["doctor"], 0, "Claude Code doctor\n\nRunning: simulated (2.1.325)\n"),
        (["setup-token"], 1, ""),
    ],
)
def test_subcommand_is_answered_or_refused(argv: list[str], status: int, stdout: str) -> None:
    done = run_text(play, *argv, env={"CLAUDE_CONFIG_DIR": "/nowhere"})
    assert (done.status, done.stdout) == (status, stdout)
    assert ("is not simulated" in done.stderr) is (status == 1)


@pytest.mark.parametrize(("key", "status"), [("sk-x", 0), ("", 1)])
def test_login_is_reported_by_the_key(key: str, status: int) -> None:
    done = run_text(play, "auth", "status", env={"ANTHROPIC_API_KEY": key})
    assert done.status == status
    assert json.loads(done.stdout)["loggedIn"] is bool(key)
