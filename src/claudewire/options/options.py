"""Options of a session: made in code, from keyword arguments, or from a file."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict

from ..errors import OptionsError
from ..wire import AUTO, MAX_LINE
from .cli import CLIOptions, default_of
from .frozen import EMPTY
from .limits import Patience, Timeouts, Unread
from .session_checks import check_behaviour
from .types import CLIOptionsDict

if TYPE_CHECKING:
    from typing import Unpack

    from ..hooks import Hooks
    from ..people import (
        AnswerForm,
        DialogHandler,
        ElicitationHandler,
        Inbox,
        PermissionHandler,
        Person,
        PlanHandler,
        PolicyLike,
        QuestionHandler,
    )
    from ..policy import DecisionRecord
    from ..tools import AnyTool, ToolServer
    from ..tracking import Budget, Price

__all__ = ["Options", "OptionsDict", "OptionsWithoutOutput", "SessionOptionsDict"]

_CALLED_OTHERWISE = {
    "additional_directories": "add_dirs",
    "functions": "tools",
    "servers": "mcp_servers",
    "can_use_tool": "on_permission, a function of one argument, the request",
    "cli_path": "cli",
    "continue": "continue_conversation",
    "max_buffer_size": "max_line",
    "max_thinking_tokens": "thinking",
    "output_format": "json_schema",
    "path_to_claude_code_executable": "cli",
    "permission_prompt_tool_name": "nothing: the session itself is asked",
    "stderr": "on_stderr",
    "timeout": "timeouts=Timeouts(…), or asyncio.timeout(…) around the call",
    "user": "cli=['sudo', '-u', USER, 'claude']",
    "working_directory": "cwd",
}
"""What other programs call what has another name here."""


class SessionOptionsDict(TypedDict, total=False):
    """The fields that `Options` has beyond those of `CLIOptions`."""

    tools: Sequence[AnyTool | Callable[..., Any] | ToolServer]
    hooks: Hooks | Mapping[str, Any] | None
    allow: Sequence[str]
    ask: Sequence[str]
    deny: Sequence[str]
    on_permission: PermissionHandler | None
    on_question: QuestionHandler | None
    on_plan: PlanHandler | None
    on_elicitation: ElicitationHandler | None
    on_dialog: DialogHandler | None
    person: Person | Literal["inbox"] | None
    policy: PolicyLike | None
    inbox: Inbox | None
    decide_within: float | None
    tell_errors: bool
    answer_form: AnswerForm | None
    audit: Callable[[DecisionRecord], object] | None
    accept_shadowed: bool
    repairs: int
    budgets: Sequence[Budget]
    prices: Mapping[str, Price]
    patience: Patience | None
    timeouts: Timeouts
    unread: Unread
    on_stderr: Callable[[str], object] | None
    shared: bool
    dialect: str
    handshake: bool
    max_line: int


class OptionsWithoutOutput(CLIOptionsDict, SessionOptionsDict, total=False):
    """The fields of `Options` but for `output`."""


class OptionsDict(OptionsWithoutOutput, total=False):
    """The fields of `Options`, for `**options: Unpack[OptionsDict]`."""

    output: Any


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Options(CLIOptions):
    """What a session can be asked for. `CLIOptions` has what goes to the CLI."""

    # --- what the CLI may ask of us --------------------------------------------------------------

    tools: Sequence[AnyTool | Callable[..., Any] | ToolServer] = ()
    """Python functions that the model may call as tools, and servers that group some."""
    hooks: Hooks | Mapping[str, Any] | None = None
    """What is to be called when something happens in the CLI."""
    allow: Sequence[str] = ()
    """Rules for tools that may be used without asking a person: `Read`, `Bash(git status:*)`.
    `allow`, `ask` and `deny` are short for `policy=Policy(allow=…, ask=…, deny=…)`."""
    ask: Sequence[str] = ()
    """Rules for tools that a person is asked about each time."""
    deny: Sequence[str] = ()
    """Rules for tools that must not be used. A policy decides what the CLI asks about;
    `disallowed_tools` also covers what it never asks about, such as reading the project."""
    on_permission: PermissionHandler | None = None
    """Decides whether a tool may run. If nobody decides, it may not."""
    on_question: QuestionHandler | None = None
    """Answers questions of the model."""
    on_plan: PlanHandler | None = None
    """Decides over plans."""
    on_elicitation: ElicitationHandler | None = None
    """Answers MCP servers that want to know something."""
    on_dialog: DialogHandler | None = None
    """Shows dialogs."""
    person: Person | Literal["inbox"] | None = None
    """Answers everything that has no handler of its own; `"inbox"`: somebody looks there."""
    policy: PolicyLike | None = None
    """Decides about tools before a person is asked. With `allow`, `ask` or `deny` it is theirs."""
    inbox: Inbox | None = None
    """Where everything waits that a person has to decide; one can serve several sessions."""
    decide_within: float | None = None
    """After how many seconds without a decision the answer is no; None to wait for ever."""
    tell_errors: bool = False
    """Whether the model is told what a handler has raised."""
    answer_form: AnswerForm | None = None
    """How answers to questions are written: see `AnswerForm`; None to suit the dialect."""
    audit: Callable[[DecisionRecord], object] | None = None
    """Called with a record of each decision."""
    accept_shadowed: bool = False
    """Do not mind that a handler is given which the CLI can never ask."""

    # --- the answer ------------------------------------------------------------------------------

    output: Any = None
    """The type of the output: a dataclass, TypedDict, msgspec or pydantic type, or a schema."""
    repairs: int = 0
    """How often `ask` and `run` ask again for output that does not fit."""

    # --- limits and bounds -----------------------------------------------------------------------

    budgets: Sequence[Budget] = ()
    """Limits of our own on what may be used."""
    prices: Mapping[str, Price] = EMPTY
    """What tokens cost, by model, instead of what the CLI says."""
    patience: Patience | None = field(default_factory=Patience)
    """How long each kind of silence may last, and what is done then; None not to watch."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    """How long everything else may take."""
    unread: Unread = field(default_factory=Unread)
    """What happens to messages that nobody reads."""

    # --- the wire --------------------------------------------------------------------------------

    on_stderr: Callable[[str], object] | None = None
    """Is given what the CLI writes to stderr. Its end is kept for errors in any case."""
    shared: bool = False
    """Open a conversation although another session of ours has it open."""
    dialect: str = AUTO
    """How to write; `auto` to write as the CLI does."""
    handshake: bool = True
    """Begin with `initialize`. Without it there are no hooks and no functions."""
    max_line: int = MAX_LINE
    """Lines of more bytes are not kept: each becomes an `Oversize` event."""

    def __init__(self, **options: Unpack[OptionsDict]) -> None:
        given = self._known(options)
        for each in fields(self):
            value = given[each.name] if each.name in given else default_of(each)
            object.__setattr__(self, each.name, value)
        if self.output is not None and self.json_schema is not None:
            raise OptionsError("output and json_schema both say what the output is; give one")
        check_behaviour(self)
        for name in ("tools", "allow", "ask", "deny", "budgets"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        CLIOptions.__post_init__(self)
        if self._has_rules:
            object.__setattr__(self, "policy", self._policy_of_rules())

    def _given(self) -> Iterator[tuple[str, Any]]:
        for name, value in CLIOptions._given(self):
            if name != "policy" or not self._has_rules:
                yield name, value

    @property
    def _has_rules(self) -> bool:
        return bool(self.allow or self.ask or self.deny)

    def _policy_of_rules(self) -> PolicyLike:
        if self.policy is not None:
            raise OptionsError(
                "policy and allow, ask or deny both say which tools may be used; "
                "give one: the rules can stand in policy=Policy(allow=…, ask=…, deny=…)"
            )
        # Only when it is asked for: it takes a while to import.
        from ..policy import Policy

        return Policy(allow=self.allow, ask=self.ask, deny=self.deny)

    def replace(self, **changes: Unpack[OptionsDict]) -> Self:
        """Give the same options but for some.

        Raises:
            OptionsError: there is no such option, or the result makes no sense.
        """
        same: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(self)}
        if self._has_rules:
            del same["policy"]  # it was made of them
        return type(self)(**{**same, **changes})

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Make options of keyword arguments, or of what a file holds.

        Raises:
            OptionsError: there is no such option, or the options make no sense.
        """
        return cls(**mapping)

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], table: str = "") -> Self:
        """Read options from a TOML file.

        Args:
            path: the file.
            table: the table that holds them, such as `tool.claudewire`; the whole file if empty.

        Raises:
            OptionsError: the file cannot be read, has no such table, or the options make no sense.
        """
        try:
            return cls.from_mapping(_load(Path(path), table))
        except OptionsError as error:
            raise OptionsError(f"{os.fspath(path)}: {error}") from error

    @classmethod
    def _known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse unknown names."""
        names = {each.name for each in fields(cls)}
        for key in given:
            if key not in names:
                raise OptionsError(_unknown(key, sorted(names)))
        return dict(given)


def _unknown(key: str, names: Sequence[str]) -> str:
    if (other := _CALLED_OTHERWISE.get(key)) is not None:
        return f"There is no option {key!r}; here it is {other}"
    similar = difflib.get_close_matches(key, names, n=3)
    hint = f"; did you mean {' or '.join(similar)}?" if similar else ""
    return f"There is no option {key!r}{hint}"


def _load(path: Path, table: str) -> Mapping[str, Any]:
    import tomllib

    try:
        found: Any = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise OptionsError(f"cannot be read: {error}") from error
    for part in table.split(".") if table else ():
        found = found.get(part) if isinstance(found, dict) else None
        if not isinstance(found, dict):
            raise OptionsError(f"there is no table [{table}]")
    return found  # type: ignore[no-any-return]
