"""A program that cannot be started: the error tells why, and nothing is left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import anyio
import pytest
from tests.helpers.processes import ENV, PATIENCE, descriptors, running, shell

from claudewire.errors import Cause, CLIError, CLINotFoundError, OptionsError
from claudewire.transport import Launch, spawn

pytestmark = pytest.mark.anyio


async def refused(launch: Launch, user: str | None = None) -> Exception:
    """Start something that cannot be started."""
    async with running(shell("exit")):
        pass  # the guardian has been started
    before = descriptors()
    with anyio.fail_after(PATIENCE), pytest.raises((CLIError, OptionsError)) as caught:
        await spawn(launch, user=user)
    assert descriptors() == before
    return caught.value


def program(folder: Path, content: str, mode: int = 0o755) -> str:
    path = folder / "claude"
    path.write_text(content, encoding="utf-8")
    path.chmod(mode)
    return str(path)


async def test_missing_program_is_an_error_of_its_kind(tmp_path: Path) -> None:
    error = await refused(Launch((str(tmp_path / "claude"), "-p"), ENV))
    assert isinstance(error, CLINotFoundError)
    assert str(tmp_path / "claude") in str(error)


@pytest.mark.parametrize("name", ["missing", "file"])
async def test_impossible_working_directory_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    error = await refused(Launch(shell("exit"), ENV, tmp_path / name))
    assert isinstance(error, OptionsError)
    assert f"working directory {tmp_path / name} does not exist" in str(error)


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        ("#!/bin/sh\n", 0o644, "chmod +x"),
        ("#!/no/such/node\n", 0o755, "Node.js"),
        ("\x7fELF but not really", 0o755, "built for this system"),
    ],
)
async def test_file_that_cannot_run_is_refused_with_advice(
    tmp_path: Path, content: str, mode: int, words: str
) -> None:
    path = program(tmp_path, content, mode)
    error = await refused(Launch((path, "--token", "sk-ant-api03-" + "x" * 40), ENV))
    assert isinstance(error, CLIError)
    assert error.cause is Cause.REFUSED
    assert words in f"{error} {error.advice}"
    assert "sk-ant" not in str(error.evidence)


async def test_command_line_that_is_too_long_is_refused() -> None:
    error = await refused(Launch(("/bin/sh", "ask", "x" * 2_000_000), ENV))
    assert isinstance(error, CLIError)
    assert error.cause is Cause.TOO_LONG
    assert len(str(error)) < 1000


async def test_impossible_argument_or_user_is_an_options_error() -> None:
    assert isinstance(await refused(Launch(("/bin/sh", "a\0b"), ENV)), OptionsError)
    error = await refused(Launch(shell("exit"), ENV), user="customer-42")
    assert isinstance(error, OptionsError)
    assert "customer-42" in str(error)


@pytest.mark.parametrize(
    ("number", "cause", "words"),
    [
        (errno.EMFILE, Cause.REFUSED, "ulimit -n"),
        (errno.ENOMEM, Cause.OUT_OF_MEMORY, "memory"),
        (errno.EIO, Cause.UNKNOWN, os.strerror(errno.EIO)),
    ],
)
async def test_error_of_the_system_has_a_cause_and_advice(
    monkeypatch: pytest.MonkeyPatch, number: int, cause: Cause, words: str
) -> None:
    def fail(*args: object, **options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("subprocess.Popen", fail)
    with pytest.raises(CLIError) as caught:
        await spawn(Launch(("/bin/claude",), ENV))
    assert caught.value.cause is cause
    assert words in f"{caught.value} {caught.value.advice}"


async def test_cleanup_is_done_if_nothing_was_started(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    await refused(Launch(("/no/such/program",), ENV, cleanup=(secret.unlink,)))
    assert not secret.exists()
    secret.touch()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await spawn(Launch(shell("exit"), ENV, cleanup=(secret.unlink,)))
    assert scope.cancelled_caught
    assert not secret.exists()


async def test_launch_does_not_show_its_environment() -> None:
    assert "secret" not in repr(Launch(("claude",), {"ANTHROPIC_API_KEY": "secret"}))
