"""Ask many things, several at a time, until the money is spent; run it again to go on.

    python batch.py prompts.jsonl answers.jsonl --at-once 4 --most-usd 5

Each line of the first file is a job: {"id": "…", "prompt": "…"}. Answers are appended to the
second file as they come. Jobs that have an answer are skipped, so after Ctrl-C, a crash, or with
more money, the same command does the rest.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import anyio

import claudewire

OPTIONS = claudewire.Options(allow=["Read", "Glob", "Grep"], max_turns=20)


class Job(NamedTuple):
    id: str
    prompt: str


class Batch:
    """Runs jobs and keeps their answers in a file of JSON Lines.

    A job gets some tries, with a pause before the second one that doubles each time.
    """

    def __init__(
        self, file: Path, options: claudewire.Options, *, tries: int = 3, pause: float = 5.0
    ) -> None:
        self.file = file
        self.options = options
        self.tries = tries
        self.pause = pause
        self.failed = 0
        self.out_of_budget = False

    async def run(self, jobs: Iterable[Job], at_once: int) -> None:
        answered = self.answered()
        left = (job for job in jobs if job.id not in answered)
        async with anyio.create_task_group() as workers:
            for _ in range(at_once):
                workers.start_soon(self.work, left)

    async def work(self, jobs: Iterator[Job]) -> None:
        for job in jobs:  # the workers share the iterator, so each job is done once
            try:
                reply = await self.attempt(job)
            except claudewire.BudgetExceeded:
                self.out_of_budget = True
                return
            except claudewire.Error as error:
                self.failed += 1
                print(f"{job.id}: {error}", file=sys.stderr)
            else:
                self.keep({"id": job.id, "text": reply.text, "cost_usd": reply.cost_usd})

    async def attempt(self, job: Job) -> claudewire.Reply[None]:
        for number in range(1, self.tries):
            try:
                return await self.once(job)
            except claudewire.Error as error:
                if not error.retryable:
                    raise
            await anyio.sleep(self.pause * 2 ** (number - 1))
        return await self.once(job)

    async def once(self, job: Job) -> claudewire.Reply[None]:
        return (await claudewire.run(job.prompt, self.options)).raise_for_error()

    def answered(self) -> set[str]:
        data = self.file.read_bytes() if self.file.exists() else b""
        cut_off = data.rpartition(b"\n")[2]
        if cut_off:  # the program was killed while it wrote: this job is done again
            data = data.removesuffix(cut_off)
            os.truncate(self.file, len(data))
        return {json.loads(line)["id"] for line in data.splitlines()}

    def keep(self, answer: dict[str, object]) -> None:
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(answer) + "\n")


def read_jobs(file: Path) -> list[Job]:
    return [Job(**json.loads(line)) for line in file.read_bytes().splitlines() if line.strip()]


def main() -> str | int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("prompts", type=Path)
    parser.add_argument("answers", type=Path)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--most-usd", type=float, default=5.0)
    given = parser.parse_args()
    budget = claudewire.SharedBudget(cost_usd=given.most_usd)
    batch = Batch(given.answers, OPTIONS.replace(budgets=[budget]))
    try:
        anyio.run(batch.run, read_jobs(given.prompts), given.at_once)
    except KeyboardInterrupt:
        return "Interrupted. Run the same command again to go on."
    if batch.out_of_budget:
        return "The budget is used up. Run the same command again to go on."
    return min(batch.failed, 1)


if __name__ == "__main__":
    sys.exit(main())
