"""The names of the top level. A name is added or removed here on purpose, or not at all."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any

import anyio
import msgspec
import pytest

import claudewire
from claudewire import launch, people, transport, wire
from claudewire.wire import types

NAMES = (
    "open run Session Sessions Pool SessionState Turn TurnState Reply Text Image Document",
    "Options Timeouts Unread Patience Budget SharedBudget Price Agent BackgroundTask Transport",
    "PermissionRequest PermissionResult PermissionResultAllow PermissionResultDeny",
    "QuestionRequest PlanRequest ElicitationRequest DialogRequest Inbox Terminal",
    "deny_everything allow_everything_dangerously Policy Rule",
    "tool Tool ToolAnnotations ToolContext ToolError ToolResult ToolServer",
    "Hooks Hook HookContext HookResult",
    "Error OptionsError CLIError CLINotFoundError Cause Evidence SessionClosed",
    "RequestError UnsupportedRequest RequestTimeout AnswerError",
    "TurnError TurnCancelled TurnStalled BudgetExceeded OutputError",
    "Event Message AssistantMessage UserMessage SystemMessage ResultMessage InitMessage",
    "StreamEvent RateLimitEvent UnknownMessage",
    "TextBlock ThinkingBlock ToolUseBlock ToolResultBlock ImageBlock",
    "__version__",
)
PUBLIC = [name for names in NAMES for name in names.split()]


def test_the_top_level_has_these_names_and_no_others() -> None:
    assert sorted(claudewire.__all__) == sorted(PUBLIC)
    assert len(PUBLIC) < 80


def test_the_wire_exports_all_its_types() -> None:
    for found in pkgutil.iter_modules(types.__path__, f"{types.__name__}."):
        module = importlib.import_module(found.name)
        assert set(module.__all__) <= set(wire.__all__), found.name
        for name in module.__all__:
            assert getattr(wire, name) is getattr(module, name)


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(inspect.getsource(claudewire))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported.keys() == set(PUBLIC) - {"__version__"}
    for name, module in imported.items():
        package = typing.cast("Any", __import__(f"claudewire.{module}", fromlist=[name]))
        assert getattr(claudewire, name) is getattr(package, name)


@pytest.mark.parametrize(
    "named",
    [
        lambda: launch.Connect,
        lambda: transport.Launch,
        lambda: people.Pending,
        lambda: people.PermissionHandler,
        lambda: people.Person,
    ],
)
def test_what_annotations_need_is_public_in_its_package(named: Callable[[], object]) -> None:
    assert named() is not None


def classes() -> Iterator[type[Any]]:
    """Yield every class of the library."""
    for found in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if found.name.endswith("__main__"):
            continue  # importing it would run it
        for kind in vars(importlib.import_module(found.name)).values():
            if inspect.isclass(kind) and kind.__module__ == found.name:
                yield kind


def packages() -> Iterator[ModuleType]:
    yield claudewire
    for found in pkgutil.walk_packages(claudewire.__path__, "claudewire."):
        if found.ispkg:
            yield importlib.import_module(found.name)


@pytest.mark.parametrize("package", [*packages()], ids=lambda it: it.__name__)
def test_a_package_has_every_name_that_it_exports_and_no_other(package: ModuleType) -> None:
    # Most names are loaded when they are used for the first time.
    exported = getattr(package, "__all__", ())
    assert [name for name in exported if not hasattr(package, name)] == []
    assert set(exported) <= set(dir(package))
    with pytest.raises(AttributeError, match=f"'{package.__name__}' has no attribute 'nothing'"):
        _ = package.nothing


@pytest.mark.parametrize("package", [*packages()], ids=lambda it: it.__name__)
def test_no_exported_name_is_also_that_of_a_module(package: ModuleType) -> None:
    # Importing the module would put it in the place of what is exported.
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    same = [name for name in getattr(package, "__all__", ()) if name in modules]
    assert all(isinstance(getattr(package, name), ModuleType) for name in same), same


def values() -> Iterator[tuple[str, bool]]:
    """Yield the name of each class that only holds values, and whether they are fixed."""
    for kind in classes():
        name = f"{kind.__module__}.{kind.__qualname__}".removeprefix("claudewire.")
        if issubclass(kind, msgspec.Struct):
            yield name, kind.__struct_config__.frozen
        elif dataclasses.is_dataclass(kind):
            yield name, vars(kind)["__dataclass_params__"].frozen


def test_values_cannot_be_changed_by_one_of_those_who_have_them() -> None:
    changing = {name for name, frozen in values() if not frozen and "._" not in name}
    assert changing == {
        "hooks.hook.HookContext",
        "schemas.docstrings.Docstring",
        "schemas.fields.Field",
        "testing.api.replies.APIStatus",
        "tracking.blocks.LiveBlock",
    }


def test_a_state_is_shown_by_its_name() -> None:
    states = [it for kind in classes() if issubclass(kind, Enum) for it in kind]
    other = {type(it).__name__ for it in states if it.value != it.name.lower().replace("_", " ")}
    assert {type(it).__name__ for it in states} - other == {
        "Cause",
        "PendingState",
        "Role",
        "SessionState",
        "State",
        "TurnState",
        "_Default",
    }


def closed_by_blocks() -> list[type[Any]]:
    found = [it for it in classes() if hasattr(it, "close")]
    return [it for it in found if hasattr(it, "__exit__") or hasattr(it, "__aexit__")]


@pytest.mark.parametrize("kind", closed_by_blocks(), ids=lambda it: it.__qualname__)
def test_the_end_of_a_block_closes_what_it_was_opened_for(kind: type[Any]) -> None:
    closed = []

    def close(self: object, **_: object) -> None:
        closed.append(self)

    async def aclose(self: object, **_: object) -> None:
        closed.append(self)

    is_async = hasattr(kind, "__aexit__")
    replaced = {"close": aclose if is_async else close, "__del__": lambda self: None}
    opened: Any = object.__new__(type(kind.__name__, (kind,), replaced))
    if is_async:
        anyio.run(opened.__aexit__, None, None, None)
    else:
        opened.__exit__(None, None, None)
    assert closed == [opened]
