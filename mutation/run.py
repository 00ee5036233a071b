"""Change the library at random and see whether a test fails. See CONTRIBUTING.md.

scripts/mutate --map
scripts/mutate --count 200 --seed 1
scripts/mutate --seed 1 --again --tests tests/people/test_inbox.py
"""

from __future__ import annotations

import argparse
import json
import math
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Literal, NamedTuple, get_args

from mutation import KEPT, ROOT, SOURCE, judged
from mutation.coverage_map import IGNORED, CoverageMap, file_of, make_map
from mutation.mutations import Identity, Mutation, mutations, packages, sample
from mutation.operators import OPERATORS
from mutation.sandbox import Finished, Sandbox
from mutation.server import NO_TESTS, NOT_SWAPPED, Server, is_swappable

__all__ = ["Result", "main"]


class Stage(NamedTuple):
    """How many of the tests are run: as long as each limit holds."""

    tests: float
    seconds: float


NEAR = Stage(100, 10.0)
"""What is tried first: most mutations are noticed by a test that is near, and it is quick."""

NEAR_ANEW = Stage(25, 10.0)
"""The same where a new process is needed, which has to import the files of these tests."""

WIDE = 300.0
"""What survives that is tried with all tests of the line, up to so many measured seconds."""

HANG = 30.0
"""Seconds for one test, unless it is known to take long: it hangs."""

Status = Literal["killed", "timeout", "survived", "no test"]
STATUSES: tuple[Status, ...] = get_args(Status)

Run = Callable[[Sequence[str]], tuple[Status, str]]
"""Runs tests, and says what became of the change, and by which test."""


class Result(NamedTuple):
    """What became of a mutation."""

    mutation: Mutation
    status: Status
    tests: int
    """How many the last run had, which for a survivor is the widest."""
    possible: int
    """How many run the line, or what is near it."""
    by: str
    """The test that failed."""

    @property
    def survived(self) -> bool:
        return self.status in ("survived", "no test")


# --- one mutation --------------------------------------------------------------------------------


class Trial:
    """Tries mutations in a sandbox of its own."""

    def __init__(
        self, sandbox: Sandbox, tests: CoverageMap, extra: Sequence[str] = (), wide: float = WIDE
    ) -> None:
        self._sandbox = sandbox
        self._tests = tests
        self._extra = extra
        self._wide = Stage(math.inf, wide)
        self._list = sandbox.folder.parent / "tests"
        self._running = sandbox.folder.parent / "running"
        self._server = Server(sandbox, *self._common(), *IGNORED, HYPOTHESIS_PROFILE="fast")
        tests.adapt(self._server.collected)
        self._green: dict[str, bool] = {}

    def close(self) -> None:
        self._server.close()

    def result(self, mutation: Mutation) -> Result:
        """Try a mutation. Only a test that passes without it can notice it."""
        while True:
            result = self._result(mutation)
            if result.survived or self._is_green(result.by):
                return result

    def _is_green(self, test: str) -> bool:
        """Say whether a test passes without a change; without a test, whether any would begin."""
        if not test and not self._begins:
            raise RuntimeError("No test can be run in the copy, also without a change")
        if test and test not in self._green:
            self._green[test] = self._run_in_fork([test], None) == ("survived", "")
        return self._green.get(test, True)

    @cached_property
    def _begins(self) -> bool:
        quickest = min(self._tests.durations, key=self._tests.durations.__getitem__)
        return self._run_anew([quickest]) == ("survived", "")

    def _result(self, mutation: Mutation) -> Result:
        near = self._tests.near(mutation)
        first = self._first(near, NEAR if is_swappable(mutation) else NEAR_ANEW)
        run = partial(self._run, mutation)
        with self._sandbox.changed(mutation):
            for batch in (self._extra, first):
                status, by = self._verdict(batch, run)
                if status != "survived":
                    return Result(mutation, status, len(batch), len(near), by)
            wide = self._tests.wide(mutation)
            rest = [it for it in self._first(wide, self._wide) if it not in set(first)]
            status, by = self._verdict(rest, run)
            if status == "survived" and is_swappable(mutation) and self._tests.at_import(mutation):
                # A value that was kept at import is that of the library without the change.
                status, by = self._verdict(first, self._run_anew)
        if status == "survived" and not near:
            status = "no test"
        return Result(mutation, status, len(first) + len(rest), len(wide), by)

    def _first(self, tests: list[str], stage: Stage) -> list[str]:
        """Take tests from the front, at least one, and none that fails anyway."""
        chosen: list[str] = []
        seconds = 0.0
        for test in tests:
            seconds += self._tests.durations[test]
            if chosen and (len(chosen) >= stage.tests or seconds > stage.seconds):
                break
            if self._green.get(test, True):
                chosen.append(test)
        return chosen

    def _verdict(self, tests: Sequence[str], run: Run) -> tuple[Status, str]:
        """Run tests. One that fails, but not when it runs alone, has failed by chance."""
        left = list(tests)
        while True:
            status, by = run(left)
            if by not in left or run([by])[0] != "survived":
                return status, by
            left.remove(by)

    def _run(self, mutation: Mutation, tests: Sequence[str]) -> tuple[Status, str]:
        found = None
        if is_swappable(mutation):
            found = self._run_in_fork(tests, mutation.identity.file)
        return found or self._run_anew(tests)

    def _run_in_fork(self, tests: Sequence[str], file: str | None) -> tuple[Status, str] | None:
        """Run tests, if the change can be made in the process that has imported everything."""
        if not tests:
            return "survived", ""
        self._running.unlink(missing_ok=True)
        done = self._server.run(tests, file, *self._bounds(tests))
        return None if done.code == NOT_SWAPPED else self._judged(done)

    def _run_anew(self, tests: Sequence[str]) -> tuple[Status, str]:
        """Run tests in a new process."""
        if not tests:
            return "survived", ""
        self._list.write_text("\n".join(tests), encoding="utf-8")
        self._running.unlink(missing_ok=True)
        hang, bound = self._bounds(tests)
        done = self._sandbox.run(
            *("python", "-m", "pytest", "-x", "-p", "mutation.plugin", *self._common()),
            # A thread ends all of it: a test that hangs may well catch an exception.
            *(f"--timeout={hang}", "--timeout-method=thread"),
            *(f"--mutation-tests={self._list}", *dict.fromkeys(map(file_of, tests))),
            bound=bound,
            HYPOTHESIS_PROFILE="fast",
        )
        return self._judged(done)

    def _common(self) -> list[str]:
        return ["-q", "-p", "no:cacheprovider", f"--mutation-running={self._running}"]

    def _bounds(self, tests: Sequence[str]) -> tuple[float, float]:
        durations = [self._tests.durations.get(it, HANG / 5) for it in tests]
        hang = max(HANG, 5 * max(durations))
        return hang, 120 + hang + 4 * sum(durations)

    def _judged(self, done: Finished) -> tuple[Status, str]:
        status = _status(done.code, done.output)
        begun = status != "survived" and self._running.exists()
        return status, self._running.read_text(encoding="utf-8") if begun else ""


def _status(code: int | None, output: str) -> Status:
    if code == 0:
        return "survived"
    if code == NO_TESTS:
        raise RuntimeError(f"No test was found; is the map up to date?\n{output}")
    return "timeout" if code is None or "+ Timeout +" in output else "killed"


# --- many ----------------------------------------------------------------------------------------


def tried(chosen: list[Mutation], jobs: int, extra: Sequence[str], wide: float) -> Iterator[Result]:
    """Yield the results in the order of the mutations."""
    with ExitStack() as stack:
        free: SimpleQueue[Trial] = SimpleQueue()
        for _ in range(jobs):
            sandbox = stack.enter_context(Sandbox.open())
            trial = Trial(sandbox, CoverageMap(), extra, wide)
            stack.callback(trial.close)
            free.put(trial)

        def try_one(mutation: Mutation) -> Result:
            trial = free.get()
            try:
                return trial.result(mutation)
            finally:
                free.put(trial)

        pool = stack.enter_context(ThreadPoolExecutor(jobs))
        stack.callback(pool.shutdown, cancel_futures=True)
        yield from pool.map(try_one, chosen)


def again(seed: int) -> list[Mutation]:
    """Return what survived in the last run with this seed and still exists."""
    entries = map(json.loads, _results(seed).read_text(encoding="utf-8").splitlines())
    wanted = {
        Identity(*it["mutation"]) for it in entries if it["status"] in ("survived", "no test")
    }
    source = ROOT / SOURCE
    files = sorted({source / it.file for it in wanted})
    everything = (it for file in files if file.exists() for it in mutations(file, source))
    return list({it.identity: it for it in everything if it.identity in wanted}.values())


def _results(seed: int) -> Path:
    return KEPT / f"results-{seed}.jsonl"


def _entry(result: Result) -> str:
    mutation = result.mutation
    return json.dumps(
        {
            "mutation": mutation.identity,
            "line": mutation.line,
            "status": result.status,
            "tests": result.tests,
            "possible": result.possible,
            "by": result.by,
        }
    )


# --- report --------------------------------------------------------------------------------------


def report(results: list[Result], reasons: dict[Identity, str]) -> str:
    """Return the survivors that nobody judged equivalent, and a table."""
    open = [it for it in results if it.survived and it.mutation.identity not in reasons]
    lines = [
        f"{it.mutation}\n    {it.status}: {it.tests} of {it.possible} tests were run" for it in open
    ]
    timeouts = [f"{it.mutation}\n    hangs: {it.by}" for it in results if it.status == "timeout"]
    rate = 100 * len(open) / (len(results) or 1)
    return "\n".join(
        [
            *(["", "A test hung, which counts as killed:", *timeouts] if timeouts else []),
            *(["", "Survivors:", *lines] if lines else []),
            *("", *_table(results, reasons), ""),
            f"{len(open)} of {len(results)} mutations survive and are not judged: {rate:.1f} %",
        ]
    )


def _table(results: list[Result], reasons: dict[Identity, str]) -> Iterator[str]:
    columns = ("mutations", *STATUSES, "equivalent", "real")
    yield f"{'package':12}" + "".join(f"{name:>11}" for name in columns)
    names = sorted({it.mutation.package for it in results})
    for name in [*names, "all"]:
        group = [it for it in results if name in (it.mutation.package, "all")]
        counts = Counter(it.status for it in group)
        equivalent = sum(it.survived and it.mutation.identity in reasons for it in group)
        real = counts["survived"] + counts["no test"] - equivalent
        row = (len(group), *(counts[it] for it in STATUSES), equivalent, real)
        yield f"{name:12}" + "".join(f"{number:>11}" for number in row)


# --- the command ---------------------------------------------------------------------------------


def _options(arguments: list[str] | None) -> argparse.Namespace:
    names = [it.__name__ for it in OPERATORS]
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__.split("\n")[0])
    parser.add_argument(
        "--map", action="store_true", help="only measure which tests run which line"
    )
    parser.add_argument("--count", type=int, default=100, help="how many mutations")
    parser.add_argument("--seed", type=int, default=1, help="which ones")
    parser.add_argument(
        "--package", choices=sorted(packages(ROOT / SOURCE)), help="only in this one"
    )
    parser.add_argument("--operator", choices=names, help="only changes of this kind")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument(
        "--wide", type=float, default=WIDE, help="seconds of tests for a survivor, as measured"
    )
    parser.add_argument("--again", action="store_true", help="try the survivors of this seed again")
    parser.add_argument("--tests", nargs="+", default=[], help="files of tests to run each time")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # without it, the copies would stay
    reasons = judged.read(judged.JUDGED.read_text(encoding="utf-8"))
    if options.map:
        print(make_map(options.jobs))
        return 0
    if options.again:
        chosen = again(options.seed)
    else:
        random = Random(options.seed)
        chosen = sample(ROOT / SOURCE, options.count, random, options.package, options.operator)
    if not chosen:
        return 0
    results = tried(chosen, options.jobs, options.tests, options.wide)
    told = _tell(results, len(chosen), options.seed)
    print(report(told, reasons))
    return 0


def _tell(results: Iterable[Result], count: int, seed: int) -> list[Result]:
    """Say how far it is, and keep each result at once."""
    start = time.monotonic()
    told = []
    KEPT.mkdir(exist_ok=True)
    with _results(seed).open("w", encoding="utf-8") as file:
        for number, result in enumerate(results, 1):
            print(_entry(result), file=file, flush=True)
            minutes = (time.monotonic() - start) / 60
            place = f"{result.mutation.identity.file}:{result.mutation.line}"
            print(f"{number:4} of {count} {minutes:5.1f} min {result.status:9} {place}", flush=True)
            told.append(result)
    return told


if __name__ == "__main__":
    sys.exit(main())
