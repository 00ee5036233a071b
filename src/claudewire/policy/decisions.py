"""Decisions of a policy, and the records of all decisions."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial
from io import FileIO
from typing import Any

from .rules import Behavior, Rule


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision of a policy about one use of a tool.

    Attributes:
        behavior: allow, deny, or ask a person.
        reason: the reason, for a person.
        rule: the rule that decided; None for the default, a mode or a doubt.
        tool: the tool.
        part: the part of the input that the rule matches: one command of several, a path.
    """

    behavior: Behavior
    reason: str
    rule: Rule | None = None
    tool: str = ""
    part: str = ""

    @property
    def allows(self) -> bool:
        """Whether the tool may run without asking."""
        return self.behavior == "allow"

    def __str__(self) -> str:
        return f"{self.behavior}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """A decision about a use of a tool, a question, a plan, a form or a dialog.

    Attributes:
        when: the time of the decision, in UTC.
        request_id: the request of the CLI.
        tool: the tool.
        input_digest: a digest of the input, to compare inputs without showing them.
        answer: of a permission `allow` or `deny`; of a question `answered`, `skipped` or `deny`; of
            a plan `approve` or `deny`; of a form `accept`, `decline` or `cancel`; of a dialog
            `completed` or `cancelled`.
        decided_by: `rule`, `default`, `approver`, `handler: name`, `deadline` …
        reason: the reason, with secrets redacted.
        rule: the rule that decided, if one did.
        latency: seconds from the request to the answer.
        session_id: the session.
        agent_id: the asking subagent.
        kind: `permission`, `question`, `plan`, `elicitation` or `dialog`.
        asked: the subject, such as the input of the tool; only with `audit_contents`, redacted.
        answered: the answer: a changed input, rules to remember, answers to questions, the reason
            of a denial; only with `audit_contents`, redacted.
    """

    when: datetime
    request_id: str
    tool: str
    input_digest: str
    answer: str
    decided_by: str
    reason: str = ""
    rule: str | None = None
    latency: float | None = None
    session_id: str | None = None
    agent_id: str | None = None
    kind: str = "permission"
    asked: Mapping[str, Any] | None = None
    answered: Mapping[str, Any] | None = None

    def to_json(self) -> str:
        """Return one line of JSON without the fields that are None; `when` as ISO 8601."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        known["when"] = self.when.isoformat(timespec="milliseconds")
        return json.dumps(known, ensure_ascii=False, default=str)


Audit = Callable[[DecisionRecord], object]
"""Takes each record, quickly. Its return value is ignored."""


def digest(input: Mapping[str, Any]) -> str:
    """Return a digest of an input, whatever the order of its fields."""
    text = json.dumps(
        dict(input), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class JsonLinesAudit:
    """Appends each record to a file at once, as one line of JSON. Any thread may use it.

    Args:
        path: the file; if it does not exist, it is created for this user only.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Appending in one write keeps lines whole, also where several processes write.
        self._file = FileIO(os.fspath(path), "a", opener=partial(os.open, mode=0o600))

    def __call__(self, record: DecisionRecord) -> None:
        """Write a record.

        Raises:
            ValueError: the audit is closed.
        """
        self._file.write(record.to_json().encode("utf-8", "backslashreplace") + b"\n")

    def close(self) -> None:
        """Close the file. Closing it again does nothing."""
        self._file.close()

    def __enter__(self) -> JsonLinesAudit:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
