"""A pytest in the sandbox that has imported and collected everything, and forks to run tests.

Most of the time for a mutation would be spent on imports. A change inside a function needs none:
in the fork, the function gets the changed code. What a test starts as a program of its own reads
the changed file. Whatever runs at import needs a new process: `is_swappable`.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import NoReturn

import pytest

from mutation import SOURCE
from mutation.mutations import Mutation
from mutation.sandbox import Finished, Sandbox

__all__ = ["NOT_SWAPPED", "NO_TESTS", "Server", "chosen", "is_swappable", "serve", "swap"]

NO_TESTS = 5
"""The exit code of pytest for it."""

NOT_SWAPPED = 70
"""The exit code if no function could be changed."""


def is_swappable(mutation: Mutation) -> bool:
    """Say whether the change is inside a function; a default is made when it is defined."""
    return not mutation.imported and mutation.identity.operator != "default"


class Server:
    """The side that asks.

    Attributes:
        collected: every test, and whether it is measured.
    """

    def __init__(self, sandbox: Sandbox, *arguments: str, **variables: str) -> None:
        self._log = (sandbox.folder.parent / "server.log").open("w+b")
        self._socket, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            command = ("python", "-m", "pytest", "-p", "mutation.plugin", *arguments)
            self._process = sandbox.start(
                [*command, f"--mutation-server={number}"], self._log, variables, pass_fds=[number]
            )
        self._stream = self._socket.makefile("rw", encoding="utf-8")
        sandbox.spared.add(self._process.pid)
        try:
            # Nothing may be changed before everything is imported.
            self.collected: dict[str, bool] = json.loads(self._answer(0))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._stream.close()
        self._socket.close()
        self._log.close()

    def run(self, tests: Sequence[str], file: str | None, hang: float, bound: float) -> Finished:
        """Run tests until one fails, with the functions of this file as they are now on disk."""
        start = self._log.seek(0, os.SEEK_END)
        with suppress(ConnectionError):  # it has ended: its output says why
            print(json.dumps([file, list(tests), hang, bound]), file=self._stream, flush=True)
        answer = self._answer(start)
        return Finished(json.loads(answer), self._output(start))

    def _answer(self, start: int) -> str:
        answer = ""
        with suppress(ConnectionError):
            answer = self._stream.readline()
        if not answer:
            raise RuntimeError(f"The pytest that runs the tests has ended:\n{self._output(start)}")
        return answer

    def _output(self, start: int) -> str:
        self._log.seek(start)
        return self._log.read().decode(errors="replace")


# --- the side that runs tests --------------------------------------------------------------------


def serve(session: pytest.Session, descriptor: int) -> None:
    """Answer requests until the other side is gone."""
    library = _Library()
    gc.freeze()  # the forks share these objects, and need not look at them
    with (
        socket.socket(fileno=descriptor) as connection,
        connection.makefile("rw", encoding="utf-8") as stream,
    ):
        measured = {it.nodeid: not it.get_closest_marker("unmeasured") for it in session.items}
        print(json.dumps(measured), file=stream, flush=True)
        for line in stream:
            file, tests, hang, bound = json.loads(line)
            items = chosen(session.items, tests)
            code: int | None = NO_TESTS
            if items:
                pid = os.fork()
                if not pid:
                    _run(session, items, hang, library, file)
                os.setpgid(pid, pid)  # whichever of the two is first
                code = _code(pid, bound)
            print(json.dumps(code), file=stream, flush=True)


def _code(pid: int, bound: float) -> int | None:
    descriptor = os.pidfd_open(pid)
    try:
        ended, _, _ = select.select([descriptor], [], [], bound)
    finally:
        os.close(descriptor)
    os.killpg(pid, signal.SIGKILL)  # also what its tests have left
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if ended else None


def chosen(items: list[pytest.Item], tests: list[str]) -> list[pytest.Item]:
    """Return tests in the order of these ids, which may also be files of tests."""
    found = defaultdict(list)
    for item in items:
        found[item.nodeid].append(item)
        found[item.nodeid.partition("::")[0]].append(item)
    return [item for test in tests for item in found[test]]


def _run(
    session: pytest.Session,
    items: list[pytest.Item],
    hang: float,
    library: _Library,
    file: str | None,
) -> NoReturn:
    """Run tests in a process of their own."""
    code = NOT_SWAPPED
    try:
        os.setpgid(0, 0)  # a broken library may send a signal to its own group
        if file is not None and not library.change(file):
            os._exit(NOT_SWAPPED)
        code = 1
        for item, following in zip(items, [*items[1:], None], strict=True):
            item.add_marker(pytest.mark.timeout(hang, method="thread"))
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.testsfailed:
                os._exit(1)
        code = 0
    finally:
        os._exit(code)


class _Library:
    """The functions of each file, and its source, before anything is changed."""

    def __init__(self) -> None:
        prefix = f"{SOURCE.resolve()}/"
        self._functions = defaultdict(list)
        gc.unfreeze()  # what the test run has frozen would not be found
        for it in gc.get_objects():
            if type(it) is FunctionType and it.__code__.co_filename.startswith(prefix):
                self._functions[it.__code__.co_filename.removeprefix(prefix)].append(it)
        self._sources = {it: Path(SOURCE, it).read_bytes() for it in self._functions}

    def change(self, file: str) -> bool:
        """Give the functions of a file the code that it has now, if that is possible."""
        functions = self._functions[file]
        return bool(functions) and swap(
            functions, self._sources[file], Path(SOURCE, file).read_bytes()
        )


def swap(functions: list[FunctionType], before: bytes, after: bytes) -> bool:
    """Give functions of one source the code that they have in another, if that is possible."""
    file = functions[0].__code__.co_filename
    names = {code: name for name, code in _codes(before, file).items()}
    changed = _codes(after, file)
    try:
        for function in functions:
            function.__code__ = changed[names[function.__code__]]
    except (KeyError, ValueError):  # a function is gone, or has other variables around it
        return False
    return True


def _codes(source: bytes, file: str) -> dict[tuple[str, int], CodeType]:
    """Return all code of a source by its name and number: several lambdas have the same name."""
    found: dict[tuple[str, int], CodeType] = {}
    numbers: Counter[str] = Counter()
    left = [compile(source, file, "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        numbers[code.co_qualname] += 1
        found[code.co_qualname, numbers[code.co_qualname]] = code
        left += [it for it in code.co_consts if isinstance(it, CodeType)]
    return found
