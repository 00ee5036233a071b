"""The public names: exported by packages, found by type checkers, and usable in annotations."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import claudewire


def packages() -> Iterator[ModuleType]:
    yield claudewire
    for found in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if found.ispkg:
            yield importlib.import_module(found.name)


PACKAGES = [*packages()]
PUBLIC = {name for package in PACKAGES for name in getattr(package, "__all__", ())}


def test_top_level_is_small() -> None:
    assert len(vars(claudewire)["__all__"]) < 80


def test_type_checkers_see_the_top_level() -> None:
    tree = ast.parse(inspect.getsource(claudewire))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported.keys() == {*vars(claudewire)["__all__"]} - {"__version__"}
    for name, module in imported.items():
        package = importlib.import_module(f"claudewire.{module}")
        assert getattr(claudewire, name) is getattr(package, name)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda it: it.__name__)
def test_package_has_the_names_it_exports(package: ModuleType) -> None:
    exported = getattr(package, "__all__", ())
    assert [name for name in exported if not hasattr(package, name)] == []
    assert set(exported) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("package", PACKAGES, ids=lambda it: it.__name__)
def test_exported_name_is_not_also_a_module(package: ModuleType) -> None:
    # Importing the module would replace the exported name.
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    same = [name for name in getattr(package, "__all__", ()) if name in modules]
    assert all(isinstance(getattr(package, name), ModuleType) for name in same), same


# --- annotations ---------------------------------------------------------------------------------


def hints_of(thing: Any) -> Iterator[str]:
    """Yield the annotations of a function, or of the public methods of a class."""
    if inspect.isclass(thing):
        for name, member in vars(thing).items():
            if not name.startswith("_"):
                yield from hints_of(_function(member))
    elif inspect.isfunction(thing):
        yield from map(str, thing.__annotations__.values())


def _function(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return member.__func__ if isinstance(member, classmethod | staticmethod) else member


def named(annotation: str) -> set[str]:
    try:
        tree = ast.parse(annotation, mode="eval")
    except SyntaxError:
        return set()
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def defined() -> set[str]:
    """Return the names of all public classes that modules of the library define."""
    names = set()
    for found in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if not found.name.endswith("__main__"):  # importing it would run it
            module = importlib.import_module(found.name)
            names |= {
                name
                for name, kind in vars(module).items()
                if inspect.isclass(kind) and kind.__module__.startswith("claudewire.")
            }
    return {name for name in names if not name.startswith("_")}


def test_signatures_of_the_top_level_name_public_classes() -> None:
    private = defined() - PUBLIC
    missing = {
        f"{name}: {needed}"
        for name in vars(claudewire)["__all__"]
        for annotation in hints_of(getattr(claudewire, name))
        for needed in named(annotation) & private
    }
    assert sorted(missing) == []
