"""Decisions of a policy, and records of all decisions: who decided what, and how fast.

Sessions without rules need only this module: it does not load the grammar of rules.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .rules import Rule

__all__ = ["Audit", "Behavior", "Decision", "DecisionRecord", "JsonLinesAudit", "digest"]

Behavior = Literal["allow", "ask", "deny"]


@dataclass(frozen=True, slots=True)
class Decision:
    """What a policy says about one use of a tool.

    Attributes:
        behavior: whether the use is allowed, denied, or a person has to be asked.
        reason: why, in words for a person.
        rule: the rule that decided; None if it was the default, a mode, or a doubt.
        tool: the tool.
        part: the part of the input that the rule is about: one command of several, a path.
    """

    behavior: Behavior
    reason: str
    rule: Rule | None = None
    tool: str = ""
    part: str = ""

    @property
    def allows(self) -> bool:
        """Whether the tool may be used without asking."""
        return self.behavior == "allow"

    def __str__(self) -> str:
        return f"{self.behavior}: {self.reason}"


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision: about the use of a tool, a question, a plan, a form or a dialog.

    Attributes:
        when: when it was made, in UTC.
        request_id: the request of the CLI that it answers.
        tool: the tool.
        input_digest: tells the same input from another one without showing it.
        answer: of a permission `allow` or `deny`; of a question `answered`, `skipped` or `deny`; of
            a plan `approve` or `deny`; of a form `accept`, `decline` or `cancel`; of a dialog
            `completed` or `cancelled`.
        decided_by: who or what decided: `rule`, `default`, `person`, `handler: name`, `deadline` …
        reason: why, in words, with secrets redacted.
        rule: the rule that decided, if one did.
        latency: seconds from the request to the answer.
        session_id: the session.
        agent_id: the agent that wanted to use the tool, if it was not the main one.
        kind: what was asked for: `permission`, `question`, `plan`, `elicitation` or `dialog`.
        asked: what the decision was about, such as the input of the tool; only with
            `audit_contents`, and with secrets redacted.
        answered: what was answered: the input if it was changed, rules to remember, the answers to
            questions, the reason of a denial; only with `audit_contents`, and redacted.
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
        """Write it as one line of JSON, without the fields that are None; `when` as ISO 8601."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        known["when"] = self.when.isoformat(timespec="milliseconds")
        return json.dumps(known, ensure_ascii=False, default=str)


Audit = Callable[[DecisionRecord], object]
"""Called with each record. Its return value is ignored; it should be quick, and not raise."""


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)


def digest(input: Mapping[str, Any]) -> str:
    """Return a string that is the same for the same input, in whatever order its fields are."""
    hashed = hashlib.sha256()
    # In pieces: of a long input this may be done beside an event loop.
    for piece in _ENCODER.iterencode(dict(input)):
        hashed.update(piece.encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


class JsonLinesAudit:
    """Appends each record to a file at once, as one line of JSON. Any thread may use it.

    Args:
        path: the file; if it does not exist, it is created for this user only.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._lock = threading.Lock()
        # Appending in one write keeps lines whole, also where several processes write.
        self._file: int | None = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def __call__(self, record: DecisionRecord) -> None:
        """Write a record.

        Raises:
            ValueError: it is closed.
        """
        line = record.to_json().encode("utf-8", "backslashreplace") + b"\n"
        with self._lock:
            if self._file is None:
                raise ValueError("The audit is closed and accepts no more records")
            while line:
                line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Close the file. Closing it again does nothing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> JsonLinesAudit:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
