"""A record of every decision: who or which rule decided what, about what, and how fast."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

from ..errors import Redact, redact

__all__ = ["Audit", "DecisionRecord", "JsonLinesAudit", "digest"]


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One decision about the use of a tool.

    Attributes:
        when: when it was made, in seconds since 1970; given by whoever makes the record.
        request_id: the request of the CLI that it answers.
        tool: the tool.
        input_digest: tells the same input from another one without showing it.
        answer: `allow`, `deny`, or what else was answered.
        decided_by: who or what decided: `rule`, `default`, `person`, `handler`, `deadline` …
        reason: why, in words.
        rule: the rule that decided, if one did.
        latency: seconds from the request to the answer.
        session_id: the session.
        agent_id: the agent that wanted to use the tool, if it was not the main one.
        input: the input without secrets, if it is to be kept at all.
    """

    when: float
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
    input: Mapping[str, Any] | None = None

    @classmethod
    def of(
        cls,
        input: Mapping[str, Any],
        *,
        when: float,
        request_id: str,
        tool: str,
        answer: str,
        decided_by: str,
        reason: str = "",
        rule: object | None = None,
        latency: float | None = None,
        session_id: str | None = None,
        agent_id: str | None = None,
        keep_input: bool = False,
        redact: Redact = redact,
    ) -> DecisionRecord:
        """Make a record of a decision about an input.

        Args:
            input: what the tool would be given.
            when: when it was decided.
            request_id: the request of the CLI.
            tool: the tool.
            answer: what was answered.
            decided_by: who or what decided.
            reason: why.
            rule: the rule that decided.
            latency: seconds from the request to the answer.
            session_id: the session.
            agent_id: the agent.
            keep_input: whether to keep the input too, and not only its digest.
            redact: takes secrets out of texts.
        """
        kept = json.loads(redact(_written(input))) if keep_input else None
        return cls(
            when=when,
            request_id=request_id,
            tool=tool,
            input_digest=digest(input),
            answer=answer,
            decided_by=decided_by,
            reason=redact(reason),
            rule=None if rule is None else str(rule),
            latency=latency,
            session_id=session_id,
            agent_id=agent_id,
            input=kept,
        )

    def to_json(self) -> str:
        """Write it as one line of JSON, without what is not known."""
        known = {name: value for name, value in asdict(self).items() if value is not None}
        return json.dumps(known, ensure_ascii=False, default=str)


Audit = Callable[[DecisionRecord], object]
"""Takes each record. What it returns does not matter; it should be quick, and not raise."""


def digest(input: Mapping[str, Any]) -> str:
    """Give a short text that is the same for the same input, whatever the order of its fields."""
    return hashlib.sha256(_written(input).encode("utf-8", "surrogatepass")).hexdigest()


def _written(input: Mapping[str, Any]) -> str:
    return json.dumps(
        dict(input), ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str
    )


class JsonLinesAudit:
    """Appends each record to a file, one line each, at once. Any thread may use it.

    Args:
        path: the file; it is made if there is none, for this user only.
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
                raise ValueError("The audit is closed, and takes no more records")
            while line:
                line = line[os.write(self._file, line) :]

    def close(self) -> None:
        """Close the file. To do it again changes nothing."""
        with self._lock:
            if self._file is not None:
                os.close(self._file)
                self._file = None

    def __enter__(self) -> JsonLinesAudit:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
