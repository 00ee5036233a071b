"""What each option may be that the CLI never sees: who is asked, limits, bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..errors import OptionsError
from .limits import Patience, Timeouts, Unread
from .values import Check, flag, quoted, texts, whole_number

if TYPE_CHECKING:
    from .options import Options

__all__ = ["check_behaviour"]


def check_behaviour(options: Options) -> None:
    """Check every option of a session by itself; what is not said needs no check.

    Raises:
        OptionsError: one is not of its type.
    """
    for name, check in _CHECKS.items():
        value = getattr(options, name)
        if value is not None or name in _NEEDED:
            check(name, value)


def _instance(kind: type[Any]) -> Check:
    def check(name: str, value: Any) -> None:
        if not isinstance(value, kind):
            raise OptionsError(f"{name} must be {kind.__name__}(…), not {quoted(value)}")

    return check


def _list(name: str, value: Any) -> None:
    if not isinstance(value, list | tuple | set | frozenset):
        raise OptionsError(f"{name} must be a list, not {quoted(value)}")


def _budgets(name: str, value: Any) -> None:
    from ..tracking import Budget

    if isinstance(value, Budget):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    _list(name, value)
    for index, each in enumerate(value):
        _instance(Budget)(f"{name}[{index}]", each)


def _tools(name: str, value: Any) -> None:
    if callable(value) or hasattr(value, "tools"):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    if isinstance(value, str):
        value = [value]
    _list(name, value)
    for each in value:
        if isinstance(each, str):
            raise OptionsError(
                f"{name} are functions of this program, not {quoted(each)}; "
                "names of built-in tools go into builtin_tools"
            )


def _rules(name: str, value: Any) -> None:
    texts(name, value)


def _mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be a mapping, not {quoted(value)}")


def _function(name: str, value: Any) -> None:
    if not callable(value):
        raise OptionsError(f"{name} has to be a function, and not {quoted(value)}")


def _policy(name: str, value: Any) -> None:
    if not callable(getattr(value, "decide", None)) or isinstance(value, type):
        raise OptionsError(
            f"{name} must be a Policy, such as Policy(allow=['Read']), not {quoted(value)}"
        )


def _inbox(name: str, value: Any) -> None:
    from ..people import Inbox

    _instance(Inbox)(name, value)


def _seconds(name: str, value: Any) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionsError(f"{name} must be a number of seconds, not {quoted(value)}")
    if math.isnan(value) or value <= 0:
        raise OptionsError(f"{name} has to be more than 0 seconds, not {value}")


_CHECKS: dict[str, Check] = {
    "tools": _tools,
    "allow": _rules,
    "ask": _rules,
    "deny": _rules,
    "policy": _policy,
    "inbox": _inbox,
    "decide_within": _seconds,
    "tell_errors": flag,
    "audit": _function,
    "accept_shadowed": flag,
    "repairs": whole_number(0),
    "budgets": _budgets,
    "prices": _mapping,
    "patience": _instance(Patience),
    "timeouts": _instance(Timeouts),
    "unread": _instance(Unread),
    "on_stderr": _function,
    "shared": flag,
    "handshake": flag,
    "max_line": whole_number(1),
}
_NEEDED = frozenset(
    {"tools", "allow", "ask", "deny", "budgets", "prices", "timeouts", "unread", "max_line"}
)
"""Those that cannot be None."""
