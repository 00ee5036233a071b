"""How an option is declared: its default, its check, and how it reaches the CLI.

Each option is declared once, as a field of `Options`. The checks, the command line, the environment
and the `initialize` request follow from the declarations.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, ClassVar, Literal, NoReturn, dataclass_transform

from msgspec import Struct

from .checks import Check, absolute, hidden_values

__all__ = ["Declaration", "Declared", "option"]


class Declaration(Struct, frozen=True):
    """What is known about one option.

    Attributes:
        default: its value if it is not given.
        check: takes its name and a value, and returns the value that is kept.
        flag: the flag of the CLI that is written: once with the value, once for each value of a
            list, or alone if the value is True.
        flags: other flags that mean this option, and are not written like that, or not at all.
        variable: the environment variable that is set to its value.
        initialize: whether it is the field of the same name of the `initialize` request.
        since: the oldest of the measured versions of the CLI in which the option has its effect:
            the program has the flag, the variable or the field, and up to 2.1.17, where it was
            tried, also reads it.
        place: what its paths lead to: a `directory`, a `file`, a `new file` or `any` of them, on
            the machine of the CLI but for `cwd`; or a `prompt`, which is a path only if it is a
            `Path`, to a file on this machine.
        is_secret: whether it may hold secrets, or prompts: `repr` and errors show no values then,
            only the keys of a mapping.
    """

    default: Any = None
    check: Check | None = None
    flag: str | None = None
    flags: tuple[str, ...] = ()
    variable: str | None = None
    initialize: bool = False
    since: str = "1.0.128"
    place: Literal["directory", "file", "new file", "any", "prompt"] | None = None
    is_secret: bool = False

    @property
    def all_flags(self) -> tuple[str, ...]:
        """All flags that mean this option."""
        return self.flags if self.flag is None else (self.flag, *self.flags)

    def kept(self, name: str, value: Any, *, remote: bool = False) -> Any:
        """Check a value, and return it as it is kept.

        Raises:
            OptionsError: the option cannot have this value.
        """
        if self.check is None or (value is None and self.default is None):
            return value
        with hidden_values() if self.is_secret else nullcontext():
            checked = self.check(name, value)
        has_path = self.place not in (None, "prompt")
        return absolute(checked) if has_path and (name == "cwd" or not remote) else checked


def option(default: Any, check: Check | None = None, flag: str | None = None, **how: Any) -> Any:
    """Declare an option: a field of `Options`. The keywords are those of `Declaration`."""
    return Declaration(default, check, flag, **how)


# A dataclass would do the same; to make one with so many fields takes 2 ms of every start.
@dataclass_transform(frozen_default=True, field_specifiers=(option,))
class Declared:
    """The base of a class whose fields are declared with `option`.

    Its objects cannot change. They are equal if all their fields are.
    """

    _declarations: ClassVar[dict[str, Declaration]]

    def __init_subclass__(cls) -> None:
        own = {name: it for name, it in vars(cls).items() if isinstance(it, Declaration)}
        cls._declarations = {**getattr(cls, "_declarations", {}), **own}
        for name, declared in own.items():
            setattr(cls, name, declared.default)  # so that an object holds only what was given

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self._declarations)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in self._declarations))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot change; make a copy with replace()")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} cannot change; make a copy with replace()")
