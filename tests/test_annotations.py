"""What public signatures name can be imported from a public place."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import claudewire

ROOMS = [
    "claudewire",
    *(
        f"claudewire.{name}"
        for _, name, _ in pkgutil.iter_modules(claudewire.__path__)
        if not name.startswith("_")
    ),
    "claudewire.testing.api",
    "claudewire.testing.cage",
    "claudewire.wire.lint",
]
"""The packages, and what they export, are the public places."""

PUBLIC = {name for room in ROOMS for name in importlib.import_module(room).__all__}


def defined_here() -> set[str]:
    """The names of all classes and type aliases that the library defines in its modules."""
    names: set[str] = set()
    for found in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if found.name.endswith("__main__"):
            continue  # importing it would run it
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            is_class = inspect.isclass(value) and value.__module__.startswith("claudewire")
            is_alias = name[:1].isupper() and not name.isupper() and _is_alias(value)
            if not name.startswith("_") and (is_class or is_alias):
                names.add(name)
    return names


def _is_alias(value: object) -> bool:
    kinds = ("UnionType", "_UnionGenericAlias", "_LiteralGenericAlias", "_CallableGenericAlias")
    return type(value).__name__ in (*kinds, "_GenericAlias", "GenericAlias")


DEFINED = defined_here()

INSIDE = {
    *("Assembler", "Dialect", "Engine", "ServerHost", "Simulation", "TaskTracker"),
    *("CommandPattern", "SimulatedSession", "whole_number"),
}
"""What packages export for each other, and not for users."""

MADE_HERE = {"ProcessTransport", "Reader", "Session", "Subscription", "Turn", "TurnReader"}
"""Classes of which the library makes the objects: what they are made of is its own matter."""


def hints(thing: Any) -> Iterator[str]:
    """Yield the annotations of a function, or of a class and its public methods."""
    if inspect.isclass(thing):
        for name, annotation in vars(thing).get("__annotations__", {}).items():
            if not name.startswith("_"):
                yield str(annotation)
        for name, member in vars(thing).items():
            is_call = name == "__call__" or (name == "__init__" and thing.__name__ not in MADE_HERE)
            if not name.startswith("_") or is_call:
                yield from hints(_function(member))
    elif inspect.isfunction(thing):
        yield from map(str, thing.__annotations__.values())


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def named(annotation: str) -> set[str]:
    """The names in an annotation, of attributes the last one."""
    try:
        tree = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return set()
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    found |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    texts = [it.value for it in ast.walk(tree) if isinstance(it, ast.Constant)]
    return found | {name for text in texts if isinstance(text, str) for name in named(text)}


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_signature_names_is_exported_somewhere(room: str) -> None:
    module = importlib.import_module(room)
    missing = {
        f"{name}: {needed}"
        for name in module.__all__
        if name not in INSIDE
        for annotation in hints(getattr(module, name))
        for needed in named(annotation) & DEFINED - PUBLIC
    }
    assert sorted(missing) == []


def test_the_names_that_users_need_are_looked_at() -> None:
    assert {"Launch", "Connect", "Person", "Pending", "PermissionHandler", "Configurable"} <= PUBLIC
    assert {"Connect", "PermissionHandler", "Prompt", "Timeout"} <= DEFINED
