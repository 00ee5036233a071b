"""An exception of a signal handler ends the program, wherever in the library the signal comes."""

from __future__ import annotations

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = dedent(
    """
    import gc
    import logging
    import signal
    import sys
    import warnings

    import anyio

    import claudewire
    from claudewire import sync
    from claudewire.testing import SimulatedCLI

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    PARTS = tuple(f"/claudewire/{part}/" for part in ("session", "sync", "concurrency", "wire"))


    class Terminated(SystemExit):
        pass


    def terminate(*_):
        raise Terminated


    class Signal:
        '''Sends the signal at the given call of a function of the library in the main thread.'''

        def __init__(self, number, moment):
            self.number, self.left = number, moment

        def __call__(self, frame, event, _):
            if event == "call" and any(part in frame.f_code.co_filename for part in PARTS):
                self.left -= 1
                if self.left == 0:
                    sys.setprofile(None)
                    signal.raise_signal(self.number)


    async def session():
        async with claudewire.open(transport=SimulatedCLI()) as claude:
            while True:
                await claude.send("hello")


    async def pool():
        async with claudewire.Pool(size=2, transport=lambda _: SimulatedCLI(), cli="x") as clis:
            while True:
                async with clis.open() as claude:
                    await claude.send("hello")


    def sync_session():
        with sync.open(transport=SimulatedCLI()) as claude:
            while True:
                claude.ask("hello")


    def sync_pool():
        with sync.Pool(size=1, transport=lambda _: SimulatedCLI(), cli="x") as clis:
            while True:
                with clis.open() as claude:
                    claude.ask("hello")


    backend, name, number, first, step, last = sys.argv[1:]
    number = int(number)
    raised = KeyboardInterrupt if number == signal.SIGINT else Terminated
    signal.signal(signal.SIGTERM, terminate)
    for moment in range(int(first), int(last), int(step)):
        sys.setprofile(Signal(number, moment))
        try:
            if backend == "sync":
                globals()[name]()
            else:
                anyio.run(globals()[name], backend=backend)
        except raised:
            pass
        finally:
            sys.setprofile(None)
        gc.collect()
    print("done")
    """
)

SIGINT, SIGTERM = 2, 15

CASES = [
    ("asyncio", "session", SIGTERM),
    ("trio", "session", SIGINT),
    ("trio", "pool", SIGINT),
    ("sync", "sync_session", SIGINT),
    ("sync", "sync_session", SIGTERM),
    ("sync", "sync_pool", SIGINT),
]


@pytest.mark.parametrize(("backend", "program", "number"), CASES)
def test_signal_at_any_moment_ends_the_program(backend: str, program: str, number: int) -> None:
    step, last = (3, 50) if backend == "sync" else (13, 1200)
    command = [PROGRAM, backend, program, str(number), "1", str(step), str(last)]
    ended = subprocess.run(
        [sys.executable, "-c", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        encoding="utf-8",
        check=False,
    )
    assert ended.stdout.splitlines()[-1:] == ["done"], ended.stdout
