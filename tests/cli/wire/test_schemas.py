"""The committed schemas are those of what the commands print."""

from __future__ import annotations

import inspect
import json
from types import ModuleType

import jsonschema  # type: ignore[import-untyped]
import msgspec
import pytest
from tests.cli.wire.printed import PRINTED, SCHEMAS, text_of

from claudewire.cli import reports as of_tasks
from claudewire.cli.doctor import report as of_doctor
from claudewire.cli.doctor.surroundings import Settings, Surroundings
from claudewire.cli.sessions import report as of_sessions
from claudewire.cli.task import Task
from claudewire.cli.terminal_view import _Running
from claudewire.cli.wire import reports as of_recordings


@pytest.mark.parametrize("name", PRINTED)
def test_the_committed_schema_is_up_to_date(name: str) -> None:
    committed = (SCHEMAS / f"{name}.json").read_text(encoding="utf-8")
    assert committed == text_of(name), "Run: python -m tests.cli.wire.printed"
    jsonschema.Draft202012Validator.check_schema(json.loads(committed))


@pytest.mark.parametrize("module", [of_tasks, of_doctor, of_sessions, of_recordings])
def test_what_is_printed_cannot_be_changed_and_is_made_with_the_names_of_its_fields(
    module: ModuleType,
) -> None:
    kinds = [it for it in vars(module).values() if getattr(it, "__module__", "") == module.__name__]
    structs = [it for it in kinds if isinstance(it, type) and issubclass(it, msgspec.Struct)]
    assert structs
    for kind in structs:
        assert kind.__struct_config__.frozen, kind
        fields = inspect.signature(kind).parameters.values()
        assert {it.kind for it in fields} <= {inspect.Parameter.KEYWORD_ONLY}, kind


@pytest.mark.parametrize("kind", [Settings, Surroundings, Task, _Running])
def test_what_is_given_on_cannot_be_changed(kind: type) -> None:
    parameters = kind.__dataclass_params__  # type: ignore[attr-defined]
    assert parameters.frozen
