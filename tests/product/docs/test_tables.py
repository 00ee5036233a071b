"""The tables of the guides are complete."""

from __future__ import annotations

import inspect
import pkgutil
import re
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.product.docs.pages import fences, first_names, names, prose, table, text_of
from tests.session.approvals.asking import ask, dialog, form, plan, use
from tests.session.hooks.hook_table import RESULTS, expected

import claudewire
from claudewire import (
    Cause,
    DialogRequest,
    ElicitationRequest,
    PermissionRequest,
    PlanRequest,
    QuestionRequest,
    StallTimeouts,
    simulator,
)
from claudewire.approvals import ApprovalRequest
from claudewire.cli import Exit
from claudewire.cli.chat import COMMANDS
from claudewire.cli.run import command as run
from claudewire.hooks.events import EVENTS
from claudewire.options import DECLARATIONS, Agent
from claudewire.session import TasksAtEnd
from claudewire.simulator.faults import FAULTS, Fault
from claudewire.simulator.scenario import VERBS
from claudewire.testing import PERSONAS, pytest_plugin
from claudewire.tools import ToolContext, ToolSettings

SOURCE = Path(claudewire.__file__).parent

# --- errors, sessions, turns, limits -------------------------------------------------------------


def test_table_of_errors_is_complete() -> None:
    listed = {*first_names("errors.md", "| error | when |")}
    public = {name: getattr(claudewire, name) for name in vars(claudewire)["__all__"]}
    assert {name for name in listed if "." not in name} == {
        name
        for name, it in public.items()
        if inspect.isclass(it) and issubclass(it, claudewire.Error) and it is not claudewire.Error
    }
    elsewhere = [pkgutil.resolve_name(f"claudewire.{name}") for name in listed if "." in name]
    assert all(issubclass(it, claudewire.Error) for it in elsewhere)


def test_table_of_causes_is_complete() -> None:
    rows = table("errors.md", "| cause | meaning | remedy |")
    marks = {True: " ↻", False: ""}
    assert [row[0] for row in rows] == [f"*{it.value}*{marks[it.retryable]}" for it in Cause]


def test_table_of_stall_timeouts_has_the_defaults() -> None:
    rows = table("limits.md", "| `StallTimeouts` | seconds | limits the time |")
    limits = {names(name)[0]: seconds for name, seconds, _ in rows}
    usual = StallTimeouts()
    assert limits == {
        name: "no limit" if getattr(usual, name) is None else f"{getattr(usual, name):g}"
        for name in ("first_token", "next_token", "tool", "approver", "answer")
    }


def test_table_of_ends_has_every_choice() -> None:
    listed = first_names("turns.md", "| `run(…, tasks=…)` | after the reply |")
    assert {name.strip('"') for name in listed} == {*get_args(TasksAtEnd)}


def test_table_of_options_has_only_options() -> None:
    assert {*first_names("sessions.md", "| option | |", "=")} <= {*DECLARATIONS}


def test_table_of_loggers_is_complete() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py"))
    listed = {*first_names("deployment.md", "| logger | content |")}
    # The parent of all of them logs nothing itself.
    assert listed == {*re.findall(r'getLogger\("([\w.]+)"\)', source)} - {"claudewire"}


# --- approvals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "kinds"),
    [
        ("| answer | effect | the model gets |", (PermissionRequest, PlanRequest)),
        ("| answer | the model gets |", (QuestionRequest,)),
    ],
)
def test_tables_of_answers_are_complete(
    header: str, kinds: tuple[type[ApprovalRequest[Any]], ...]
) -> None:
    listed = {*first_names("approvals.md", header, "(")}
    assert listed == {action for kind in kinds for action in kind.actions}


def call_of(kind: type[Any], action: str) -> str:
    _, *parameters = inspect.signature(getattr(kind, action)).parameters
    return f"{action}({', '.join(parameters)})"


def test_table_for_user_interfaces_has_every_field_and_argument() -> None:
    rows = table("inbox.md", "| kind | also described | actions, with their arguments |")
    listed = {names(kind)[0]: (names(described), names(calls)) for kind, described, calls in rows}
    requests: list[ApprovalRequest[Any]] = [
        PermissionRequest(use("Bash", {})),
        QuestionRequest(ask()),
        PlanRequest(plan({})),
        ElicitationRequest(form()),
        DialogRequest(dialog()),
    ]
    common = set.intersection(*({*it.describe()} for it in requests))
    assert listed == {
        it.kind: (
            [name for name in it.describe() if name not in common],
            [call_of(type(it), action) for action in it.actions],
        )
        for it in requests
    }


# --- tools, hooks, agents ------------------------------------------------------------------------


def test_tables_of_tools_are_complete() -> None:
    public = {name for name in dir(ToolContext()) if not name.startswith("_")}
    assert {*first_names("tools.md", "| `tool(…)` | |", "=")} == {*ToolSettings.__annotations__}
    assert {*first_names("tools.md", "| `ToolContext` | |", "(")} == public


def test_table_of_agents_has_every_field() -> None:
    listed = first_names("agents.md", "| field | meaning |")
    assert sorted(listed) == sorted(field.name for field in fields(Agent))


def test_table_of_hook_events_has_matchers_and_answers() -> None:
    rows = table("hooks.md", "| event | matched by | blocked | context | called by |")
    listed = {event: (matched, blocked, context) for event, matched, blocked, context, _ in rows}
    assert listed == {
        name: (
            kind.matched or "",
            "yes" if "block" in expected(name) else "",
            "yes" if "context" in expected(name) else "",
        )
        for name, kind in EVENTS.items()
    }


def test_table_of_hook_results_has_their_events() -> None:
    rows = table("hooks.md", "| `HookResult(…)` | events | effect |")
    listed = {re.findall(r"\w+", cell)[0]: events for cell, events, _ in rows}
    assert {*listed} == {*RESULTS, "session_title"}
    for result, events in listed.items():
        named = {event for event in EVENTS if f" {event}," in f" {events},".replace(" with", ",")}
        if named:
            assert named >= {event for event in EVENTS if result in expected(event)}
            assert {event for event in named if result not in expected(event)} <= (
                {"PermissionRequest"} if result == "updated_input" else set()
            )


# --- the command ---------------------------------------------------------------------------------


def test_tables_of_the_command_are_complete() -> None:
    rows = table("command.md", "| status | outcome | |")
    statuses = {int(status): names(word)[0] for status, word, _ in rows}
    assert statuses == {int(it): it.name.lower() for it in Exit}
    assert first_names("command.md", "| command | |") == [*COMMANDS]
    options = [it for parameter in run.params for it in parameter.opts if it.startswith("--")]
    assert [it for it in options if it not in text_of("command.md")] == []


# --- testing -------------------------------------------------------------------------------------


def call_of_fault(fault: type[Fault]) -> str:
    """Return the call that makes a fault, with its defaults."""
    arguments = [
        f"*{name}" if parameter.kind is parameter.VAR_POSITIONAL else f"{name}={parameter.default}"
        for name, parameter in inspect.signature(fault).parameters.items()
        if name != "at"
    ]
    # Nobody would read the lines in a table.
    return f"{fault.__name__}({'lines' if 'lines=' in str(arguments) else ', '.join(arguments)})"


def test_table_of_faults_is_complete() -> None:
    assert table("testing.md", "| name | class | what happens |") == [
        [
            f"`{name}`",
            f"`{call_of_fault(fault)}`",
            inspect.cleandoc(fault.__doc__ or "").split("\n")[0],
        ]
        for name, fault in FAULTS.items()
    ]


def test_table_of_versions_is_complete() -> None:
    def cell(value: Any) -> str:
        if isinstance(value, frozenset | tuple):
            return str(len(value))
        words: dict[Any, str] = {True: "yes", False: "no", None: "all"}
        return words.get(value, str(value))

    rows = table("testing.md", f"| | {' | '.join(PERSONAS)} |")
    plays = [*PERSONAS.values()]
    assert {names(row[0])[0]: row[1:] for row in rows} == {
        name: [cell(getattr(each, name)) for each in plays]
        for name in plays[0]._fields
        if name != "version"
    }


def test_table_of_verbs_is_complete() -> None:
    rows = table("testing.md", "| verb | effect | other keys |")
    assert {names(verb)[0]: (*names(beside),) for verb, _, beside in rows} == {
        verb: tuple(field for field in kind.fields.__struct_fields__ if field != verb)
        for verb, kind in VERBS.items()
    }


def test_tables_of_fixtures_and_variables_are_complete() -> None:
    plugin = inspect.getsource(pytest_plugin)
    fixtures = {*re.findall(r"@pytest.fixture\ndef ([a-z]\w+)", plugin)}
    assert {*first_names("testing.md", "| fixture | gives |")} == fixtures
    folder = Path(inspect.getfile(simulator)).parent
    code = "".join((folder / f"{name}.py").read_text("utf-8") for name in ("process", "simulation"))
    variables = {*re.findall(r'"(CLAUDEWIRE_SIM_\w+)"', code)}
    assert {*first_names("testing.md", "| variable | |")} == variables


# --- the architecture ----------------------------------------------------------------------------


def project() -> dict[str, Any]:
    text = (SOURCE.parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def test_picture_of_the_architecture_is_the_contract() -> None:
    (drawn,) = [it.code for it in fences("architecture.md") if it.code.startswith("cli\n")]
    contract = project()["tool"]["importlinter"]["contracts"][0]
    assert drawn.splitlines() == contract["layers"]
    rows = table("architecture.md", "| package | purpose | begin with |")
    packages = [name for row in drawn.splitlines() for name in row.split(" | ")]
    assert sorted(names(row[0])[0] for row in rows) == sorted(packages)


def test_files_named_by_the_architecture_exist() -> None:
    pattern = r"[\w/]+\.py|[a-z]+/[a-z]+"
    named = {name for name in names(prose("architecture.md")) if re.fullmatch(pattern, name)}
    roots = (SOURCE, SOURCE.parents[1])
    assert [name for name in sorted(named) if not any((it / name).exists() for it in roots)] == []


def test_every_dependency_has_its_reason() -> None:
    page = prose("architecture.md").partition("## Why each")[2]
    meta = project()["project"]
    wanted = [*meta["dependencies"], *project()["build-system"]["requires"]]
    for extra in meta["optional-dependencies"].values():
        wanted += extra
    listed = {*re.findall(r"\*\*([\w-]+)\*\*", page)}
    assert listed == {re.split(r"[^\w-]", it)[0] for it in wanted}
