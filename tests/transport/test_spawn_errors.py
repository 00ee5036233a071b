"""A program that cannot be started: the error says why, and nothing is left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import anyio
import pytest
from tests.helpers.kept import Kept, normal
from tests.helpers.processes import ENV, PATIENCE, descriptors, running, shell

from claudewire.errors import Cause, CLIError, CLINotFoundError, OptionsError
from claudewire.transport import Launch, spawn
from claudewire.transport.spawn_errors import explained

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


async def test_no_such_program(tmp_path: Path) -> None:
    error = await refused(Launch((str(tmp_path / "claude"), "-p"), ENV))
    assert isinstance(error, CLINotFoundError)
    assert str(tmp_path / "claude") in str(error)


async def test_no_such_working_directory(tmp_path: Path) -> None:
    error = await refused(Launch(shell("exit"), ENV, tmp_path / "missing"))
    assert isinstance(error, OptionsError)
    assert f"working directory {tmp_path / 'missing'} does not exist" in str(error)


async def test_a_working_directory_that_is_a_file(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert isinstance(await refused(Launch(shell("exit"), ENV, file)), OptionsError)


async def test_a_file_that_is_not_executable(tmp_path: Path) -> None:
    error = await refused(Launch((program(tmp_path, "#!/bin/sh\n", 0o644),), ENV))
    assert isinstance(error, CLIError)
    assert error.cause is Cause.REFUSED
    assert "chmod +x" in error.advice


async def test_a_script_whose_interpreter_is_missing(tmp_path: Path) -> None:
    path = program(tmp_path, "#!/no/such/node\n")
    error = await refused(Launch((path, "--token", "sk-ant-api03-" + "x" * 40), ENV))
    assert isinstance(error, CLIError)
    assert not isinstance(error, CLINotFoundError)
    assert error.cause is Cause.REFUSED
    assert "Node.js" in error.advice
    assert error.evidence.argv[0].endswith("claude")
    assert "sk-ant" not in str(error.evidence)


async def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    error = await refused(Launch((program(tmp_path, "\x7fELF but not really"),), ENV))
    assert isinstance(error, CLIError)
    assert error.cause is Cause.REFUSED
    assert "not a program for this machine" in str(error)


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("--print", "--append-system-prompt=" + "x" * 2_000_000), "--append-system-prompt"),
        (("--append-system-prompt", "x" * 2_000_000), "--append-system-prompt"),
        (("ask", "x" * 2_000_000), "number 2"),
    ],
)
async def test_what_is_too_long_is_named(argv: tuple[str, ...], named: str) -> None:
    error = await refused(Launch(("/bin/sh", *argv), ENV))
    assert isinstance(error, CLIError)
    assert error.cause is Cause.TOO_LONG
    assert f"the longest argument, {named}, has 20000" in error.message
    assert len(str(error)) < 1000


@pytest.mark.parametrize("argv", [("/bin/sh", "a\0b"), ("/bin/sh", "\ud800")])
async def test_an_argument_that_no_program_can_be_given(argv: tuple[str, ...]) -> None:
    assert isinstance(await refused(Launch(argv, ENV)), OptionsError)


async def test_a_user_that_does_not_exist() -> None:
    error = await refused(Launch(shell("exit"), ENV), user="customer-42")
    assert isinstance(error, OptionsError)
    assert "customer-42" in str(error)


async def test_what_was_prepared_is_removed_also_if_nothing_was_started(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    await refused(Launch(("/no/such/program",), ENV, cleanup=(secret.unlink,)))
    assert not secret.exists()


async def test_what_ends_the_program_is_not_held_up_by_what_is_removed() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await spawn(Launch(("/no/such/program",), ENV, cleanup=(interrupted,)))


async def test_what_was_prepared_is_removed_also_if_it_is_cancelled(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.touch()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await spawn(Launch(shell("exit"), ENV, cleanup=(secret.unlink,)))
    assert scope.cancelled_caught
    assert not secret.exists()


@pytest.mark.parametrize(
    ("number", "cause", "word"),
    [
        (errno.ENOMEM, Cause.OUT_OF_MEMORY, "memory"),
        (errno.EAGAIN, Cause.REFUSED, "ulimit -u"),
        (errno.EMFILE, Cause.REFUSED, "ulimit -n"),
        (errno.ENFILE, Cause.REFUSED, "open files"),
        (errno.EPERM, Cause.REFUSED, "another user"),
        (errno.EIO, Cause.UNKNOWN, os.strerror(errno.EIO)),
    ],
)
async def test_what_the_system_says_is_put_in_words(number: int, cause: Cause, word: str) -> None:
    error = explained(OSError(number, os.strerror(number)), ("/bin/claude",), ENV, None)
    assert isinstance(error, CLIError)
    assert error.cause is cause
    assert word in str(error)


async def test_a_launch_does_not_show_its_environment() -> None:
    launch = Launch(("claude",), {"ANTHROPIC_API_KEY": "secret"})
    assert "secret" not in repr(launch)


async def test_what_is_said_of_a_program_that_cannot_be_started_is_as_it_was(
    kept: Kept, tmp_path: Path
) -> None:
    # No folder of this user's, whose name evidence does not show.
    there, nowhere = "/bin/sh", "/no/such/claude"
    numbers = (
        "EACCES",
        "EPERM",
        "ENOEXEC",
        "ENOMEM",
        "EAGAIN",
        "EMFILE",
        "ENFILE",
        "EIO",
        "ENOENT",
    )
    argv = (there, "-p", "--token", "sk-ant-api03-" + "x" * 40)
    cases: list[tuple[Exception, tuple[str, ...], Path | None]] = [
        *((OSError(getattr(errno, it), it), argv, tmp_path) for it in numbers),
        (OSError(errno.ENOENT, "no"), (nowhere, "-p"), None),
        (OSError("without a number"), argv, None),
        (ValueError("a NUL"), argv, None),
        (OSError(errno.EIO, "no"), argv, tmp_path / "none"),
        (OSError(errno.EIO, "no"), argv, Path(there)),
        *(
            (OSError(errno.E2BIG, "no"), (nowhere, *words), None)
            for words in (
                ("--flag=" + "é" * 300, "x"),
                ("--flag", "x" * 300),
                ("word", "x" * 300),
                ("--token", "sk-ant-api03-" + "x" * 300),
            )
        ),
    ]
    lines = []
    for given, words, cwd in cases:
        error = explained(given, words, {"É": "é", "A": ""}, cwd)
        shown = f"{getattr(error, 'cause', '')} {error.evidence.argv}"
        lines.append(f"--- {given.args[-1]}\n{type(error).__name__}: {error}\n{shown}\n")
    kept("spawn-errors.txt", normal("".join(lines), folder=tmp_path))
