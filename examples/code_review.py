"""Review files, and fail if one of them has a problem: a step for a CI job.

    python code_review.py FILE...

It is an ordinary program: it chooses its own options and takes no CLI or transport as an argument.
"""

import sys
from dataclasses import dataclass
from enum import StrEnum

import claudewire
from claudewire import sync

OPTIONS = claudewire.Options(
    model="sonnet",
    allow=["Read", "Grep"],
    deny=["Bash", "Write", "Edit"],
    max_turns=20,
    budgets=[claudewire.Budget(cost_usd=1.0)],
)


class Severity(StrEnum):
    NOTE = "note"
    PROBLEM = "problem"


@dataclass
class Finding:
    line: int
    severity: Severity
    text: str


@dataclass
class Review:
    findings: list[Finding]


def review(path: str) -> Review:
    reply = sync.run(f"Review {path}", OPTIONS, output=Review, repairs=1, timeout=600)
    return reply.raise_for_error().output


def main(paths: list[str]) -> int:
    problems = 0
    for path in paths:
        try:
            findings = review(path).findings
        except (claudewire.Error, TimeoutError) as error:
            print(f"{path}: no review: {error}", file=sys.stderr)
            return 2
        for finding in findings:
            print(f"{path}:{finding.line}: {finding.severity}: {finding.text}")
            problems += finding.severity is Severity.PROBLEM
    return min(problems, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
