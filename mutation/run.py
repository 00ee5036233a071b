"""Change the library at random and see whether a test fails. See CONTRIBUTING.md.

scripts/mutate --map
scripts/mutate --count 200 --seed 1
scripts/mutate --seed 1 --again --tests tests/people/test_inbox.py
scripts/mutate --only people/inbox.py:120-160

Each result is kept at once. The same command goes on where the last one was interrupted.
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
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Literal, NamedTuple, get_args

from mutation import KEPT, ROOT, SOURCE, judged
from mutation.coverage_map import IGNORED, CoverageMap, file_of, make_map
from mutation.mutations import Identity, Mutation, at_place, mutations, package_of, packages, sample
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

WIDE = 100.0
"""What survives that is tried with all tests of the line, up to so many measured seconds."""

BOUND = 300.0
"""Seconds for a mutation. What is not decided then is neither killed nor a survivor."""

HANG = 30.0
"""Seconds for one test, unless it is known to take long: it hangs."""

Status = Literal["killed", "timeout", "survived", "no test", "undecided"]
STATUSES: tuple[Status, ...] = get_args(Status)

Run = Callable[[Sequence[str]], tuple[Status, str]]
"""Runs tests, and says what became of the change, and which test was begun last."""


class Result(NamedTuple):
    """What became of a mutation."""

    identity: Identity
    line: int
    status: Status
    tests: int
    """How many the last run had, which for a survivor is the widest."""
    possible: int
    """How many run the line, or what is near it."""
    by: str
    """The test that failed, or was begun last."""

    @property
    def killed(self) -> bool:
        return self.status in ("killed", "timeout")

    @property
    def package(self) -> str:
        return package_of(self.identity.file)

    def __str__(self) -> str:
        it = self.identity
        return (
            f"{it.file}:{self.line} {it.function} [{it.operator}]\n"
            f"    - {it.before}\n    + {it.after}"
        )


# --- one mutation --------------------------------------------------------------------------------


class Trial:
    """Tries mutations in a sandbox of its own."""

    def __init__(
        self,
        sandbox: Sandbox,
        tests: CoverageMap,
        extra: Sequence[str] = (),
        wide: float = WIDE,
        bound: float = BOUND,
    ) -> None:
        self._sandbox = sandbox
        self._tests = tests
        self._extra = extra
        self._wide = Stage(math.inf, wide)
        self._bound = bound
        self._end = 0.0
        self._list = sandbox.folder.parent / "tests"
        self._running = sandbox.folder.parent / "running"
        self._server = Server(sandbox, *self._common(), *IGNORED, HYPOTHESIS_PROFILE="fast")
        tests.adapt(self._server.collected)
        self._green: dict[str, bool] = {}

    def close(self) -> None:
        self._server.close()

    def result(self, mutation: Mutation) -> Result:
        """Try a mutation. Only a test that passes without it can notice it."""
        self._end = time.monotonic() + self._bound
        while True:
            result = self._result(mutation)
            if not result.killed or self._is_green(result.by):
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
        near, wide = self._tests.near(mutation), self._tests.wide(mutation)
        first = self._first(near, NEAR if is_swappable(mutation) else NEAR_ANEW)
        rest = [it for it in self._first(wide, self._wide) if it not in set(first)]
        run = partial(self._run, mutation)
        stages: list[tuple[Sequence[str], Run]] = [(self._extra, run), (first, run), (rest, run)]
        if is_swappable(mutation) and self._tests.at_import(mutation):
            # A value that was kept at import is that of the library without the change.
            stages.append((first, self._run_anew))
        begun: set[str] = set()
        status: Status = "survived"
        with self._sandbox.changed(mutation):
            for tests, run_them in stages:
                status, by = self._verdict(tests, run_them)
                if status != "survived":
                    begun.update(tests[: tests.index(by) + 1] if by in tests else [by])
                    break
                begun.update(tests)
        if status == "survived" and not near:
            status = "no test"
        return Result(mutation.identity, mutation.line, status, len(begun), len(wide), by)

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
            if status == "undecided" or by not in left:
                return status, by
            status, _ = run([by])
            if status != "survived":
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
        return hang, max(2 * hang, self._end - time.monotonic())

    def _judged(self, done: Finished) -> tuple[Status, str]:
        status = _status(done.code, done.output)
        begun = status != "survived" and self._running.exists()
        return status, self._running.read_text(encoding="utf-8") if begun else ""


def _status(code: int | None, output: str) -> Status:
    if code == 0:
        return "survived"
    if code == NO_TESTS:
        raise RuntimeError(f"No test was found; is the map up to date?\n{output}")
    if code is None:
        return "undecided"
    return "timeout" if "+ Timeout +" in output else "killed"


# --- many ----------------------------------------------------------------------------------------


def tried(
    chosen: list[Mutation], jobs: int, extra: Sequence[str], wide: float, bound: float
) -> Iterator[Result]:
    """Yield the results as they come."""
    with ExitStack() as stack:
        free: SimpleQueue[Trial] = SimpleQueue()
        for _ in range(jobs):
            sandbox = stack.enter_context(Sandbox.open())
            trial = Trial(sandbox, CoverageMap(), extra, wide, bound)
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
        for future in as_completed([pool.submit(try_one, it) for it in chosen]):
            yield future.result()


# --- what is kept --------------------------------------------------------------------------------


class Kept:
    """The results for a seed in a file, each added as it comes: of several, the last one holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.results: dict[Identity, Result] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = json.loads(line)
                result = Result(**entry | {"identity": Identity(*entry["identity"])})
                self.results[result.identity] = result

    def add(self, result: Result) -> None:
        self.results[result.identity] = result
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(result._asdict()) + "\n")

    def not_killed(self, source: Path) -> list[Mutation]:
        """Return what was not killed and still exists."""
        wanted = {it.identity for it in self.results.values() if not it.killed}
        files = sorted({source / it.file for it in wanted})
        everything = (it for file in files if file.exists() for it in mutations(file, source))
        return list({it.identity: it for it in everything if it.identity in wanted}.values())


# --- report --------------------------------------------------------------------------------------


def report(results: list[Result], reasons: dict[Identity, str]) -> str:
    """Return the survivors that nobody judged equivalent, and a table."""
    left = [it for it in results if not it.killed and it.identity not in reasons]
    undecided = [it for it in left if it.status == "undecided"]
    real = [it for it in left if it.status != "undecided"]
    timeouts = [f"{it}\n    hangs: {it.by}" for it in results if it.status == "timeout"]
    rate = 100 * len(real) / (len(results) or 1)
    return "\n".join(
        [
            *(["", "A test hung, which counts as killed:", *timeouts] if timeouts else []),
            *(["", "Not decided in time, which counts as neither:"] if undecided else []),
            *map(_with_tests, undecided),
            *(["", "Survivors:"] if real else []),
            *map(_with_tests, real),
            *("", *_table(results, reasons), ""),
            f"{len(real)} of {len(results)} mutations survive and are not judged: {rate:.1f} %"
            + (f"; {len(undecided)} were not decided" if undecided else ""),
        ]
    )


def _with_tests(result: Result) -> str:
    return f"{result}\n    {result.status}: {result.tests} of {result.possible} tests were run"


def _table(results: list[Result], reasons: dict[Identity, str]) -> Iterator[str]:
    columns = ("mutations", *STATUSES, "equivalent", "real")
    yield f"{'package':12}" + "".join(f"{name:>11}" for name in columns)
    names = sorted({it.package for it in results})
    for name in [*names, "all"]:
        group = [it for it in results if name in (it.package, "all")]
        counts = Counter(it.status for it in group)
        equivalent = [it for it in group if not it.killed and it.identity in reasons]
        real = sum(it.status in ("survived", "no test") for it in group if it not in equivalent)
        row = (len(group), *(counts[it] for it in STATUSES), len(equivalent), real)
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
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="FILE[:LINES]",
        help="every change of these files of the library, or of these lines: wire/codec.py:12-40",
    )
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument(
        "--wide", type=float, default=WIDE, help="seconds of tests for a survivor, as measured"
    )
    parser.add_argument(
        "--bound", type=float, default=BOUND, help="seconds for a mutation, then it is not decided"
    )
    parser.add_argument("--new", action="store_true", help="forget the results of this seed")
    parser.add_argument(
        "--again", action="store_true", help="try what is not killed for this seed again"
    )
    parser.add_argument("--tests", nargs="+", default=[], help="files of tests to run each time")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # without it, the copies would stay
    reasons = judged.read(judged.JUDGED.read_text(encoding="utf-8"))
    if options.map:
        print(make_map(options.jobs))
        return 0
    path = KEPT / f"results-{options.seed}.jsonl"
    if options.new:
        path.unlink(missing_ok=True)
    kept = Kept(path)
    if options.again:
        chosen = left = kept.not_killed(ROOT / SOURCE)
    else:
        chosen = _chosen(options)
        left = [it for it in chosen if it.identity not in kept.results]
    if left:
        results = tried(left, options.jobs, options.tests, options.wide, options.bound)
        _tell(results, len(left), kept)
    print(report([kept.results[it.identity] for it in chosen], reasons))
    return 0


def _chosen(options: argparse.Namespace) -> list[Mutation]:
    source = ROOT / SOURCE
    if options.only:
        return [it for place in options.only for it in at_place(place, source)]
    return sample(source, options.count, Random(options.seed), options.package, options.operator)


def _tell(results: Iterable[Result], count: int, kept: Kept) -> None:
    """Say how far it is, and keep each result at once."""
    start = time.monotonic()
    for number, result in enumerate(results, 1):
        kept.add(result)
        minutes = (time.monotonic() - start) / 60
        place = f"{result.identity.file}:{result.line}"
        print(f"{number:4} of {count} {minutes:5.1f} min {result.status:9} {place}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
