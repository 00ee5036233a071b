"""How every type of the library is made, and every default of a function: see helpers/kept.py.

What a type forbids, what its fields are called on the wire, and what stands for a value that was
not given is seldom asked by a test of its own.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import pytest
from tests.helpers.kept import Kept

import claudewire

PACKAGES = sorted(it.name for it in pkgutil.iter_modules(claudewire.__path__) if it.name[0] != "_")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def modules(package: str) -> Iterator[ModuleType]:
    """Import a package and all that is in it."""
    whole = import_module(f"claudewire.{package}")
    yield whole
    for it in pkgutil.walk_packages(getattr(whole, "__path__", []), f"{whole.__name__}."):
        if not it.name.endswith("__main__"):
            yield import_module(it.name)


def shown(value: Any) -> str:
    """Return a default as it is written, without what depends on the process."""
    if isinstance(value, FunctionType | type):
        return value.__qualname__
    return ADDRESS.sub("", repr(value))


def of_dataclass(kind: Any) -> Iterator[str]:
    made = kind.__dataclass_params__
    yield f"dataclass frozen={made.frozen} eq={made.eq} order={made.order}"
    for field in dataclasses.fields(kind):
        default = field.default if field.default is not dataclasses.MISSING else "…"
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory
        flags = (field.init, field.repr, field.compare, field.kw_only)
        yield f"    {field.name} = {shown(default)} {flags}"


def of_struct(kind: type[msgspec.Struct]) -> Iterator[str]:
    config = kind.__struct_config__
    names = ("frozen", "eq", "order", "array_like", "gc", "omit_defaults", "forbid_unknown_fields")
    told = [name for name in names if getattr(config, name)]
    yield f"Struct {' '.join(told)} tag={config.tag!r} in {config.tag_field!r}"
    own = kind.__annotations__
    for name, encoded, default in zip(
        kind.__struct_fields__, kind.__struct_encode_fields__, defaults_of(kind), strict=True
    ):
        if name in own:
            yield f"    {name} as {encoded} = {default}"


def defaults_of(kind: type[msgspec.Struct]) -> list[str]:
    """Return the defaults of all fields; those that have one are the last, or are keywords."""
    told = [_default(it) for it in kind.__struct_defaults__]
    return ["…"] * (len(kind.__struct_fields__) - len(told)) + told


def _default(it: Any) -> str:
    return "…" if it is msgspec.NODEFAULT else shown(getattr(it, "factory", it))


def of_class(kind: Any) -> Iterator[str]:
    if dataclasses.is_dataclass(kind):
        yield from of_dataclass(kind)
    elif issubclass(kind, msgspec.Struct):
        yield from of_struct(kind)
    elif issubclass(kind, enum.Enum):
        yield from (f"    {name} = {it.value!r}" for name, it in kind.__members__.items())
    elif issubclass(kind, tuple) and hasattr(kind, "_field_defaults"):
        yield f"NamedTuple {kind._fields} {shown(kind._field_defaults)}"
    for name, it in vars(kind).items():
        function = getattr(it, "fget", None) or getattr(it, "__func__", it)
        if isinstance(function, FunctionType) and function.__module__ == kind.__module__:
            yield from of_function(name, function)


def of_function(name: str, function: Callable[..., Any]) -> Iterator[str]:
    """Yield the defaults of a function, if it has any."""
    parameters = inspect.signature(function).parameters.values()
    given = [f"{it.name}={shown(it.default)}" for it in parameters if it.default is not it.empty]
    if given:
        yield f"    {name}({', '.join(given)})"


def lines(package: str) -> Iterator[str]:
    for module in modules(package):
        for name, it in vars(module).items():
            if getattr(it, "__module__", None) != module.__name__:
                continue
            if isinstance(it, type):
                told = [*of_class(it)]
                if told:
                    yield f"{module.__name__}.{name}"
                    yield from told
            elif isinstance(it, FunctionType):
                yield from (f"{module.__name__}{line}" for line in of_function(name, it))


@pytest.mark.parametrize("package", PACKAGES)
def test_types_and_defaults_are_as_they_were(kept: Kept, package: str) -> None:
    kept(f"{package}.txt", "".join(f"{line}\n" for line in lines(package)))
