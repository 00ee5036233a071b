r"""The script of a scripted Messages API: which reply goes with which prompt.

In Python:

    script = APIScript(default="I do not know.")
    script.on("list", APIToolUse("Bash", {"command": "ls"}), "There are two files.")
    script.on(re.compile(r"retry \d"), APIStatus(429, retry_after=0, times=2), "At last.")

The same in a file, for other languages and for a separate process:

    default = "I do not know."

    [[rules]]
    contains = "list"
    replies = [{ tool = "Bash", input = { command = "ls" } }, "There are two files."]

    [[rules]]
    matches = "retry \\d"
    replies = [{ status = 429, retry_after = 0, times = 2 }, "At last."]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from .replies import (
    CHUNK,
    SIGNATURE,
    APIReply,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    LooseReply,
    Part,
    Step,
    as_step,
    structured_output,
)
from .requests import APIRequest

__all__ = ["APIScript", "Condition", "ScriptSource"]

Condition = str | re.Pattern[str] | Callable[[APIRequest], bool]
"""When a rule applies: the prompt contains a string, matches a pattern, or a function decides."""

_SHOWN = 200
"""Characters of a prompt that are quoted: enough to recognise it."""


class _Rule(NamedTuple):
    match: Condition
    replies: tuple[Step, ...]

    def holds(self, request: APIRequest) -> bool:
        if isinstance(self.match, str):
            return self.match in request.prompt
        if isinstance(self.match, re.Pattern):
            return self.match.search(request.prompt) is not None
        return self.match(request)

    def form(self) -> _RuleForm:
        replies: list[str | _ReplyForm] = [_ReplyForm.of_step(step) for step in self.replies]
        if isinstance(self.match, str):
            return _RuleForm(contains=self.match, replies=replies)
        if isinstance(self.match, re.Pattern):
            return _RuleForm(matches=_inline_flags(self.match), replies=replies)
        raise ValueError("A rule that is a function cannot be written to a file")


class _Cursor:
    """A position in a series of steps, each of which is repeated as often as it says."""

    def __init__(self, steps: Iterator[Step]) -> None:
        self._steps = steps
        self._step: Step | None = None
        self._given: int

    def next(self) -> Step | None:
        if self._step is None or self._given == self._step.times:
            # Clients try again, and a failure that comes last is permanent.
            last = self._step if self._step and self._step.fails else None
            self._step = next(self._steps, last)
            self._given = 0
        self._given += 1
        return self._step


class APIScript:
    """What the model says.

    A rule applies to a turn of the conversation: its first reply answers the prompt, and the
    others answer what follows (the results of tools, or the same request after an error). A prompt
    without a rule gets the next of the script's own replies; when there are none left, the default.
    A failure that comes last is repeated, because clients try again.

    Args:
        replies: the answers to prompts without a rule, in order.
        default: the answer when there is no other; None for a reply that says so.
    """

    def __init__(self, *replies: LooseReply, default: LooseReply | None = None) -> None:
        self._replies: list[Step] | None = [as_step(reply) for reply in replies]
        self._default = None if default is None else as_step(default)
        self._rules: list[_Rule] = []
        self._turns: dict[tuple[object, ...], _Cursor] = {}
        self._rest = _Cursor(iter(self._replies))
        self._call: Callable[[APIRequest], LooseReply | None] | None = None

    @classmethod
    def of(cls, source: ScriptSource) -> APIScript:
        """Make a script from what stands for one."""
        if isinstance(source, APIScript):
            return source
        if isinstance(source, str):
            return cls(source)
        if isinstance(source, Sequence):
            return cls(*source)
        script = cls()
        script._replies = None
        if callable(source):
            script._call = source
        else:
            script._rest = _Cursor(as_step(reply) for reply in source)
        return script

    def on(self, match: Condition, *replies: LooseReply) -> APIScript:
        """Add a rule: these replies for a turn like this. The first rule that matches applies."""
        self._rules.append(_Rule(match, tuple(as_step(reply) for reply in replies)))
        return self

    def answer(self, request: APIRequest) -> Step:
        """Choose the answer to a request, and remember that it was given."""
        if self._call is not None and (loose := self._call(request)) is not None:
            return as_step(loose)
        for index, rule in enumerate(self._rules):
            if rule.holds(request):
                return self._next_of_turn(index, rule, request)
        return self._rest.next() or self._default or _nothing("I have no script for", request)

    def _next_of_turn(self, index: int, rule: _Rule, request: APIRequest) -> Step:
        prompts = request.prompts
        turn = (index, request.conversation, *prompts[:1], *prompts[-1:], len(prompts))
        cursor = self._turns.setdefault(turn, _Cursor(iter(rule.replies)))
        return cursor.next() or _nothing("My script has ended for", request)

    @classmethod
    def load(cls, path: str | Path) -> APIScript:
        """Read a script from a TOML file, or a JSON file of the same form.

        Raises:
            ValueError: the file is not valid; the message says where.
        """
        path = Path(path)
        text = path.read_text(encoding="utf-8")
        try:
            parsed = msgspec.json.decode(text) if path.suffix == ".json" else tomllib.loads(text)
            return cls.from_data(parsed)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path} is not a valid script: {error}") from error

    @classmethod
    def from_data(cls, data: Any) -> APIScript:
        """Make a script from the contents of a file.

        Raises:
            ValueError: the data is not valid; the message says where.
        """
        form = msgspec.convert(data, _ScriptForm)
        default = None if form.default is None else _read(form.default)
        script = cls(*map(_read, form.replies), default=default)
        for rule in form.rules:
            script.on(rule.match(), *map(_read, rule.replies))
        return script

    def to_data(self) -> dict[str, Any]:
        """The script as the contents of a file.

        Raises:
            ValueError: a part of it is a function.
        """
        if self._replies is None:
            raise ValueError("Replies from a function or a generator cannot be written to a file")
        form = _ScriptForm(
            rules=[rule.form() for rule in self._rules],
            replies=[_ReplyForm.of_step(step) for step in self._replies],
            default=None if self._default is None else _ReplyForm.of_step(self._default),
        )
        data: dict[str, Any] = msgspec.to_builtins(form)
        return data


ScriptSource = APIScript | Callable[[APIRequest], LooseReply | None] | Iterable[LooseReply]
"""A script, or what stands for one: replies in their order, or a function that gives them."""


def _nothing(why: str, request: APIRequest) -> APIReply:
    return APIReply(f"{why}: {request.prompt[:_SHOWN]}")


def _read(form: str | _ReplyForm) -> Step:
    return APIReply(form) if isinstance(form, str) else form.read_step()


def _inline_flags(pattern: re.Pattern[str]) -> str:
    """Move the flags of a pattern, such as IGNORECASE, into the pattern itself."""
    letters = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "x": re.VERBOSE}
    missing = pattern.flags & ~re.compile(pattern.pattern).flags
    flags = "".join(letter for letter, flag in letters.items() if missing & flag)
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


# --- as a file -----------------------------------------------------------------------------------


class _PartForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One part of a reply, or several in the usual order: a thought, text, the use of a tool."""

    thinking: str | None = None
    signature: str = SIGNATURE
    text: str | None = None
    tool: str | None = None
    input: dict[str, Any] = {}
    id: str | None = None
    structured: dict[str, Any] | None = None

    @classmethod
    def of(cls, part: Part) -> _PartForm:
        """The form of a part."""
        if isinstance(part, str):
            return _PartForm(text=part)
        if isinstance(part, APIThinking):
            return _PartForm(thinking=part.thinking, signature=part.signature)
        return _PartForm(tool=part.name, input=part.input, id=part.id)

    def read(self) -> Iterator[Part]:
        """The parts that this stands for."""
        if self.thinking is not None:
            yield APIThinking(self.thinking, self.signature)
        if self.text is not None:
            yield self.text
        if self.tool is not None:
            yield APIToolUse(self.tool, self.input, self.id)
        if self.structured is not None:
            yield structured_output(self.structured)


class _ReplyForm(_PartForm, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A reply; or, with a status, an error."""

    parts: list[str | _PartForm] = []
    usage: APIUsage | None = None
    stop_reason: str | None = None
    chunk: int = CHUNK
    delay: float = 0
    stall_after: int | None = None
    cut_after: int | None = None
    end_after: int | None = None
    times: int = 1
    status: int | None = None
    error: str | None = None
    message: str = APIStatus.message
    retry_after: float | None = None

    @classmethod
    def of_step(cls, step: Step) -> _ReplyForm:
        """The form of a step."""
        fields = {
            name: getattr(step, name) for name in cls.__struct_fields__ if hasattr(step, name)
        }
        if isinstance(step, APIReply):
            fields["parts"] = [_PartForm.of(part) for part in step.parts]
        return cls(**fields)

    def read_step(self) -> Step:
        """The step that this stands for."""
        if self.status is not None:
            return APIStatus(
                self.status,
                error=self.error,
                message=self.message,
                retry_after=self.retry_after,
                times=self.times,
            )
        return APIReply(
            *self.read(),
            *self._read_parts(),
            usage=self.usage,
            stop_reason=self.stop_reason,
            chunk=self.chunk,
            delay=self.delay,
            stall_after=self.stall_after,
            cut_after=self.cut_after,
            end_after=self.end_after,
            times=self.times,
        )

    def _read_parts(self) -> Iterator[Part]:
        for part in self.parts:
            yield from [part] if isinstance(part, str) else part.read()


class _RuleForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Replies, and when they are given."""

    contains: str | None = None
    matches: str | None = None
    replies: list[str | _ReplyForm]

    def __post_init__(self) -> None:
        try:
            self.match()
        except re.error as error:
            raise ValueError(f"{self.matches!r} is not a pattern: {error}") from error

    def match(self) -> str | re.Pattern[str]:
        """When the rule applies; always, without a condition."""
        return re.compile(self.matches) if self.matches is not None else self.contains or ""


class _ScriptForm(msgspec.Struct, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A whole script."""

    rules: list[_RuleForm] = []
    replies: list[str | _ReplyForm] = []
    default: str | _ReplyForm | None = None
