"""How the script of a scripted Messages API is written in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from .replies import (
    CHUNK,
    SIGNATURE,
    Part,
    Reply,
    Status,
    Step,
    Text,
    Thinking,
    ToolUse,
    Usage,
    structured,
)

__all__ = ["PartForm", "ReplyForm", "RuleForm", "ScriptForm"]


class PartForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One part of a reply, or the usual ones together: a thought, a text, the use of a tool."""

    thinking: str | None = None
    signature: str = SIGNATURE
    text: str | None = None
    tool: str | None = None
    input: dict[str, Any] = {}
    id: str | None = None
    structured: dict[str, Any] | None = None

    @classmethod
    def of(cls, part: Part) -> PartForm:
        """Write down a part."""
        if isinstance(part, Text):
            return PartForm(text=part.text)
        if isinstance(part, Thinking):
            return PartForm(thinking=part.thinking, signature=part.signature)
        return PartForm(tool=part.name, input=part.input, id=part.id)

    def read(self) -> Iterator[Part]:
        """Give the parts that this stands for."""
        if self.thinking is not None:
            yield Thinking(self.thinking, self.signature)
        if self.text is not None:
            yield Text(self.text)
        if self.tool is not None:
            yield ToolUse(self.tool, self.input, self.id)
        if self.structured is not None:
            yield structured(self.structured)


class ReplyForm(PartForm, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A reply; or, with a status, a refusal."""

    parts: list[str | PartForm] = []
    usage: Usage | None = None
    stop_reason: str | None = None
    chunk: int = CHUNK
    delay: float = 0
    stall_after: int | None = None
    cut_after: int | None = None
    times: int = 1
    status: int | None = None
    error: str | None = None
    message: str = Status.message
    retry_after: float | None = None

    @classmethod
    def of_step(cls, step: Step) -> ReplyForm:
        """Write down a step."""
        fields = {
            name: getattr(step, name) for name in cls.__struct_fields__ if hasattr(step, name)
        }
        if isinstance(step, Reply):
            fields["parts"] = [PartForm.of(part) for part in step.parts]
        return cls(**fields)

    def read_step(self) -> Step:
        """Give the step that this stands for."""
        if self.status is not None:
            return Status(
                self.status,
                error=self.error,
                message=self.message,
                retry_after=self.retry_after,
                times=self.times,
            )
        return Reply(
            *self.read(),
            *self._read_parts(),
            usage=self.usage,
            stop_reason=self.stop_reason,
            chunk=self.chunk,
            delay=self.delay,
            stall_after=self.stall_after,
            cut_after=self.cut_after,
            times=self.times,
        )

    def _read_parts(self) -> Iterator[Part]:
        for part in self.parts:
            yield from PartForm(text=part).read() if isinstance(part, str) else part.read()


class RuleForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Replies, and when they are given."""

    contains: str | None = None
    matches: str | None = None
    replies: list[str | ReplyForm]

    def __post_init__(self) -> None:
        try:
            self.match()
        except re.error as error:
            raise ValueError(f"{self.matches!r} is no pattern: {error}") from error

    def match(self) -> str | re.Pattern[str]:
        """Say when the rule holds; without a condition always."""
        return re.compile(self.matches) if self.matches is not None else self.contains or ""


class ScriptForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A whole script."""

    rules: list[RuleForm] = []
    replies: list[str | ReplyForm] = []
    default: str | ReplyForm | None = None
