"""Plays behaviours with a version of the CLI, and reports the outcome of each."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from itertools import groupby
from typing import Any

import anyio
import anyio.to_thread

from claudewire.errors import Cause, CLIError, Error, UnsupportedRequest

from .behaviour import TABLE, VERSIONS, Behaviour, Deviation, Lacking
from .stage import Stage

SUBJECTS = (
    "turns",
    "permissions",
    "hooks",
    "tools",
    "interrupts",
    "tasks",
    "requests",
    "prompts",
    "options",
    "conversations",
    "failures",
    "processes",
)
"""The modules of behaviours, in the order of the table."""

for _subject in SUBJECTS:
    import_module(f"tests.judges.real.matrix.{_subject}")

LONG = 60.0
"""Seconds that one behaviour may take. Most take one."""


class Verdict(StrEnum):
    """The outcome of a behaviour."""

    HOLDS = "holds"
    LACKS = "not in this version"
    DEVIATES = "deviation of the CLI"
    FAILS = "fails"


@dataclass(frozen=True)
class Outcome:
    """One cell of the table: its outcome and the evidence."""

    verdict: Verdict
    evidence: str = ""


Group = tuple[Behaviour, ...]
"""The behaviours of one session, or a single one."""

Report = Callable[[str, Behaviour, Outcome], object]


def groups(behaviours: Sequence[Behaviour]) -> Iterator[Group]:
    """Group the behaviours that can share a session: one subject, with the same options."""

    def place(it: Behaviour) -> tuple[str, str]:
        return it.subject, it.options

    yield from ((it,) for it in behaviours if it.alone)
    sharing = sorted((it for it in behaviours if not it.alone), key=place)
    yield from (tuple(together) for _, together in groupby(sharing, place))


def shared_options(stage: Stage, group: Group) -> dict[str, Any]:
    """Return the options of a session for behaviours of one or more subjects."""
    merged: dict[str, Any] = {}
    for module, options in dict.fromkeys((it.play.__module__, it.options) for it in group):
        for name, value in getattr(import_module(module), options)(stage).items():
            if isinstance(value, list):
                had = merged.get(name, [])
                merged[name] = [*had, *(it for it in value if it not in had)]
            elif isinstance(value, dict):
                merged[name] = {**merged.get(name, {}), **value}
            else:
                merged[name] = value
    return merged


async def play(version: str, group: Group, report: Report, repeat: int = 1) -> None:
    """Play a group with one version repeatedly, each time with a new CLI."""
    for _ in range(repeat):
        if group[0].alone:
            report(version, group[0], await _play_alone(version, group[0]))
        else:
            await _play_together(version, group, report)


async def _play_alone(version: str, behaviour: Behaviour) -> Outcome:
    stage = Stage(version, [behaviour])
    await _in_thread(stage.cage.__enter__)
    try:
        stage.begin(behaviour)
        return await _judge(stage, behaviour)
    finally:
        with anyio.CancelScope(shield=True):
            await _in_thread(stage.cage.close)


async def _play_together(version: str, group: Group, report: Report) -> None:
    while group:
        group = group[await _play_shared(version, group, report) :]


async def _play_shared(version: str, group: Group, report: Report) -> int:
    """Play until something fails; return how many were played."""
    stage = Stage(version, group)
    await _in_thread(stage.cage.__enter__)
    try:
        async with AsyncExitStack() as stack:
            try:
                await stack.enter_async_context(stage.open(**shared_options(stage, group)))
            except Exception as error:
                report(version, group[0], Outcome(Verdict.FAILS, _failure(error)))
                return 1
            for count, behaviour in enumerate(group, 1):
                before = stage.commands()
                stage.begin(behaviour)
                outcome = await _judge(stage, behaviour, before)
                report(version, behaviour, outcome)
                if outcome.verdict is Verdict.FAILS or stage.session.failure is not None:
                    return count
    except Exception as error:  # when the session was closed
        report(version, group[-1], Outcome(Verdict.FAILS, f"when closed: {_failure(error)}"))
    finally:
        with anyio.CancelScope(shield=True):
            await _in_thread(stage.cage.close)
    return len(group)


async def _judge(stage: Stage, behaviour: Behaviour, before: Counter[str] | None = None) -> Outcome:
    return expected(behaviour, stage.version, await _attempt(stage, behaviour, before))


async def _attempt(stage: Stage, behaviour: Behaviour, before: Counter[str] | None) -> Outcome:
    try:
        with anyio.fail_after(LONG):
            await behaviour.play(stage)
            if before is not None:
                await stage.session.wait_idle(tasks="cancel")
                await stage.until_gone(before)
    except Lacking as lacking:
        return Outcome(Verdict.LACKS, str(lacking))
    except Deviation as deviation:
        return Outcome(Verdict.DEVIATES, str(deviation))
    except Exception as error:
        if evidence := _says_unsupported(error):
            # The name of the cage is another each time.
            return Outcome(Verdict.LACKS, evidence.replace(str(stage.cage.folder), "…"))
        return Outcome(Verdict.FAILS, _failure(error))
    return Outcome(Verdict.HOLDS)


def _says_unsupported(error: Exception) -> str:
    """The words with which the library says that a version does not have something."""
    too_old = isinstance(error, CLIError) and error.cause in (
        Cause.BAD_FLAG,
        Cause.WRONG_VERSION,
    )
    if isinstance(error, UnsupportedRequest) or too_old:
        assert isinstance(error, Error)
        return f"`{type(error).__name__}`: {error.message.splitlines()[0]}"
    return ""


def expected(behaviour: Behaviour, version: str, outcome: Outcome) -> Outcome:
    """Accept only known gaps and mistakes of a version.

    With versions that are no column of the table, what was seen counts.
    """
    wrong = ""
    if outcome.verdict is Verdict.LACKS and not behaviour.may_lack(version):
        wrong = f"said not to be in this version: {outcome.evidence}"
    elif outcome.verdict is Verdict.HOLDS and behaviour.must_lack(version):
        wrong = f"holds, and is said to be there since {behaviour.since} only"
    elif version in VERSIONS and outcome.verdict in (Verdict.HOLDS, Verdict.DEVIATES):
        is_known = version in behaviour.deviates
        if is_known is not (outcome.verdict is Verdict.DEVIATES):
            wrong = f"{outcome.verdict} {outcome.evidence}, known deviations: {behaviour.deviates}"
    return Outcome(Verdict.FAILS, wrong) if wrong else outcome


def _failure(error: BaseException) -> str:
    """Describe a failure, and its place in the behaviour, in a few lines."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, TimeoutError) and error.__context__ is not None:
        error = error.__context__  # where it was cancelled says more
    places = [
        it for it in traceback.extract_tb(error.__traceback__) if "/real/matrix/" in it.filename
    ]
    where = f" (line {places[-1].lineno}: {places[-1].line})" if places else ""
    text = str(error).strip().partition("\n")[0][:300]
    return f"{type(error).__name__}: {text}{where}"


async def _in_thread(function: Callable[[], Any]) -> None:
    await anyio.to_thread.run_sync(function)


async def run(
    cells: Mapping[str, Sequence[Behaviour]],
    report: Report,
    *,
    lanes: int = 3,
    repeat: int = 1,
) -> None:
    """Play behaviours with several versions, some at the same time.

    Args:
        cells: what to play with each version.
        report: is told what came of each.
        lanes: how many CLIs work at the same time.
        repeat: how often each is played.
    """
    work = [(version, group) for version, found in cells.items() for group in groups(found)]
    # The shared ones take longest, so they come first.
    work.sort(key=lambda it: (it[1][0].alone, it[1][0].name))
    limiter = anyio.CapacityLimiter(lanes)

    async def take(version: str, group: Group) -> None:
        async with limiter:
            await play(version, group, report, repeat)

    async with anyio.create_task_group() as tasks:
        for version, group in work:
            tasks.start_soon(take, version, group)


def chosen(only: Sequence[str]) -> list[Behaviour]:
    """Return the behaviours with one of these names, tags or subjects; all if there are none."""
    return [it for it in TABLE.values() if not only or {it.name, it.subject, *it.tags} & {*only}]
