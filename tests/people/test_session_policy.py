"""Policies of sessions: what they decide, what is written down, and who can ever be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.sessions import options
from tests.people.asking import COLOUR
from tests.people.spying import Played, make, play

import claudewire
from claudewire.errors import OptionsError
from claudewire.people import PermissionRequest
from claudewire.people.pending import Pending
from claudewire.policy import Decision, Explanation, JsonLinesAudit, Policy
from claudewire.session import Session
from claudewire.testing import Chat

pytestmark = pytest.mark.anyio

RULES: dict[str, Any] = {
    "allow": ["Bash(git status:*)", "Edit(src/**)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Bash(rm:*)", "Edit(src/secrets/**)"],
}

BYPASS = {"permissions": {"defaultMode": "bypassPermissions"}}


# --- deciding ------------------------------------------------------------------------------------


async def work(chat: Chat) -> None:
    """An agent that uses its tools in ways that are allowed, denied, to be asked and unheard of."""
    for command in ("git status -s", "git status && rm -rf /", "git push", "make"):
        await chat.use("Bash", {"command": command}, result=f"ran {command}")
    for path in ("src/app.py", "src/../src/secrets/key"):
        await chat.use("Write", {"file_path": path, "content": ""}, result=f"wrote {path}")
    await chat.ask([COLOUR])


async def person(request: Pending[Any]) -> Any:
    if isinstance(request, PermissionRequest):
        return request.allow() if "push" in request.title else request.deny("Not that")
    return request.answer("Red")  # type: ignore[attr-defined]


async def test_a_policy_decides_and_a_person_over_the_rest(tmp_path: Path) -> None:
    asked: list[str] = []

    async def remembers(request: Pending[Any]) -> Any:
        asked.append(request.title)
        return await person(request)

    log = tmp_path / "decisions.jsonl"
    with JsonLinesAudit(log) as audit:
        done = await play(
            work,
            {"cwd": tmp_path},
            policy=Policy(**RULES),
            person=remembers,
            audit=audit,
            cwd=tmp_path,
        )
    assert done.told[0] == "ran git status -s"
    assert "`Bash(rm:*)` denies it" in done.told[1]
    assert done.told[2:4] == ["ran git push", "Not that"]
    assert done.told[4] == "wrote src/app.py"
    assert "`Edit(src/secrets/**)` denies it" in done.told[5]
    assert "Red" in done.told[6]
    assert asked == ["Bash: git push", "Bash: make", "Which colour?"]
    check_log(log, done)


def check_log(log: Path, done: Played) -> None:
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    decider = "handler: test_a_policy_decides_and_a_person_over_the_rest.<locals>.remembers"
    assert [(it["tool"], it["answer"], it["decided_by"], it.get("rule")) for it in records] == [
        ("Bash", "allow", "rule", "Bash(git status:*)"),
        ("Bash", "deny", "rule", "Bash(rm:*)"),
        ("Bash", "allow", decider, "Bash(git push:*)"),
        ("Bash", "deny", decider, None),
        ("Write", "allow", "rule", "Edit(src/**)"),
        ("Write", "deny", "rule", "Edit(src/secrets/**)"),
        ("AskUserQuestion", "answered", decider, None),
    ]
    assert {it["session_id"] for it in records} == {done.session.session_id}
    assert all(it["latency"] >= 0 for it in records)
    assert all(it["request_id"].startswith(f"{done.session.name}.") for it in records)
    assert len({it["request_id"] for it in records}) == 7
    assert "input" not in records[0]


async def test_a_question_is_never_allowed_by_a_policy() -> None:
    async def ask(chat: Chat) -> None:
        outcome = await chat.ask([COLOUR])
        await chat.say(outcome.text)

    done = await play(ask, policy=Policy(default="allow"))
    assert done.text == "No handler is registered for questions, so they were not answered."


async def test_a_question_is_denied_by_a_rule_that_names_it() -> None:
    async def ask(chat: Chat) -> None:
        outcome = await chat.ask([COLOUR])
        await chat.say(outcome.text)

    done = await play(ask, policy=Policy(deny=["AskUserQuestion"]), person=person)
    assert done.text == "`AskUserQuestion` denies it"
    done = await play(ask, policy=Policy(default="deny"), person=person)
    assert '"Which colour?"="Red"' in done.text


async def test_a_policy_that_fails_denies(caplog: pytest.LogCaptureFixture) -> None:
    done = await play(make, policy=Broken(), person=person)
    assert "policy raised an exception" in done.text
    assert "the rules are gone" in caplog.text


async def test_an_audit_that_fails_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(record: object) -> None:
        raise OSError("the disk is full")

    done = await play(make, policy=Policy(allow=["Bash(make)"]), audit=fail)
    assert done.text == "I was told: made"
    assert "could not be recorded" in caplog.text
    assert "the disk is full" in caplog.text


class Broken:
    """A policy of one's own."""

    def decide(
        self, tool_name: str, input: dict[str, Any], /, *, cwd: str | None = None
    ) -> Decision:
        raise RuntimeError("the rules are gone")


# --- modes that the CLI takes by itself ----------------------------------------------------------


@pytest.fixture
def in_mode(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Make a CLI start in the mode that is in its own settings, as 2.1.287 does without any."""

    def made(mode: str) -> dict[str, Any]:
        settings = {"permissions": {"defaultMode": mode}}
        (tmp_path / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        return {"env": {"CLAUDE_CONFIG_DIR": str(tmp_path)}, "cwd": tmp_path}

    return made


InMode = Callable[[str], dict[str, Any]]


def modes_set(done: Played) -> list[str]:
    requests = [line["request"] for line in done.spy.wrote if "request" in line]
    return [it["mode"] for it in requests if it["subtype"] == "set_permission_mode"]


@pytest.mark.parametrize("mode", ["auto", "bypassPermissions"])
@pytest.mark.parametrize(
    ("decider", "says"),
    [
        ({"on_permission": person}, "Not that"),
        ({"person": person}, "Not that"),
        ({"policy": Policy(deny=["Bash(make:*)"])}, "denies it"),
        ({}, "No handler is registered"),
    ],
    ids=["handler", "person", "policy", "nothing"],
)
async def test_a_mode_that_the_cli_takes_by_itself_passes_over_nothing_that_decides(
    in_mode: InMode,
    mode: str,
    decider: dict[str, Any],
    says: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = await play(make, in_mode(mode), **decider)
    assert says in done.text
    assert modes_set(done) == ["default"]
    assert f"The CLI started in the mode {mode}, in which it asks nobody" in caplog.text


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("acceptEdits", {"person": person}),
        ("plan", {"person": person}),
        ("dontAsk", {"person": person}),
        ("bypassPermissions", {"permission_prompts": "none"}),
        ("bypassPermissions", {"person": person, "accept_shadowed": True}),
        ("auto", {"person": person, "permission_mode": "auto"}),
        ("auto", {"person": person, "settings": {"permissions": {"defaultMode": "auto"}}}),
    ],
)
async def test_any_other_mode_is_left_as_it_is(
    in_mode: InMode, mode: str, given: dict[str, Any]
) -> None:
    done = await play(make, in_mode(mode), **given)
    assert modes_set(done) == []


# --- handlers that could never be called ---------------------------------------------------------


def decide(request: Pending[Any]) -> Any:
    raise AssertionError("nobody was to be asked")


SHADOWED: list[tuple[dict[str, Any], str]] = [
    ({"permission_mode": "bypassPermissions"}, "bypassPermissions the CLI allows everything"),
    ({"permission_mode": "dontAsk"}, "in the mode dontAsk the CLI denies instead of asking"),
    ({"permission_prompts": "none"}, "permission_prompts is none"),
    ({"builtin_tools": ()}, "there are no tools"),
    ({"builtin_tools": ["Write"], "allowed_tools": ["Write"]}, "the CLI allows it by itself"),
    ({"builtin_tools": ["Write"], "disallowed_tools": ["Write"]}, "the CLI takes it away"),
    ({"policy": Policy(default="deny")}, "the policy will deny it"),
    (
        {"policy": Policy(default="allow"), "builtin_tools": ["WebFetch"]},
        "the policy will allow it",
    ),
]


@pytest.mark.parametrize(("changes", "why"), SHADOWED)
def test_a_handler_that_could_never_be_called_is_an_error(
    changes: dict[str, Any], why: str
) -> None:
    with pytest.raises(OptionsError, match="A permission handler would never be called") as error:
        claudewire.open(on_permission=decide, **changes)
    assert why in str(error.value)
    assert "accept_shadowed=True" in str(error.value)
    Session(options(on_permission=decide, accept_shadowed=True, **changes))
    Session(options(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"allowed_tools": ["Read", "Bash(git status:*)"]},
        {"permission_mode": "acceptEdits"},
        {"builtin_tools": (), "mcp_servers": {"crm": {"command": "serve"}}},
        {"policy": Policy(**RULES)},
        {"policy": Broken()},
    ],
)
def test_a_handler_that_may_be_called_is_none(changes: dict[str, Any]) -> None:
    Session(options(on_permission=decide, **changes))


@pytest.mark.parametrize(
    ("handler", "tool"), [("on_question", "AskUserQuestion"), ("on_plan", "ExitPlanMode")]
)
def test_questions_and_plans_that_can_never_come_are_an_error(handler: str, tool: str) -> None:
    shadows: list[tuple[dict[str, Any], str]] = [
        ({"builtin_tools": ["Read"]}, f"there is no {tool} among the tools"),
        ({"disallowed_tools": [tool]}, "the CLI takes it away"),
        ({"permission_mode": "dontAsk"}, "in the mode dontAsk"),
        ({"policy": Policy(deny=[tool])}, f"`{tool}` denies it"),
    ]
    fine: list[dict[str, Any]] = [
        {},
        {"permission_mode": "bypassPermissions"},
        {"policy": Policy(default="deny")},
    ]
    for changes, why in shadows:
        given: dict[str, Any] = {handler: decide, **changes}
        with pytest.raises(OptionsError, match=f"{handler} would never be called") as error:
            Session(options(**given))
        assert why in str(error.value)
        Session(options(accept_shadowed=True, **given))
    for changes in fine:
        Session(options(**{handler: decide, **changes}))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"permission_mode": "bypassPermissions"}, "in the mode bypassPermissions the CLI decides"),
        ({"permission_mode": "dontAsk"}, "in the mode dontAsk the CLI decides by its own rules"),
        ({"settings": BYPASS}, "in the mode bypassPermissions the CLI decides"),
        ({"settings": json.dumps(BYPASS)}, "in the mode bypassPermissions the CLI decides"),
        ({"permission_prompts": "none"}, "permission_prompts is none"),
    ],
)
def test_a_policy_that_could_never_be_asked_is_an_error(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(OptionsError, match=f"policy would never be asked: {why}"):
        Session(options(policy=Policy(**RULES), **changes))
    for name in ("allow", "ask", "deny"):
        given: dict[str, Any] = {name: ["Read"], **changes}
        with pytest.raises(OptionsError, match=f"allow, ask and deny would never be asked: {why}"):
            Session(options(**given))
    Session(options(allow=["Read"], accept_shadowed=True, **changes))


def test_settings_that_name_a_mode_in_which_nothing_is_asked_are_an_error(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(BYPASS), encoding="utf-8")
    for given in (BYPASS, json.dumps(BYPASS), file, str(file)):
        with pytest.raises(OptionsError, match="in the mode bypassPermissions the CLI allows"):
            Session(options(on_permission=decide, settings=given))
        with pytest.raises(OptionsError, match="policy would never be asked"):
            Session(options(policy=Policy(**RULES), settings=given))
        Session(options(on_permission=decide, settings=given, permission_mode="default"))
    # What is on another machine cannot be looked at.
    Session(options(on_permission=decide, settings=str(file), remote=True))


def test_a_tool_that_is_denied_but_not_asked_about_is_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Session(options(policy=Policy(deny=["Write", "Bash(rm:*)", "Read(~/.ssh/**)"])))
    Session(options(policy=Policy(deny=["Read"]), disallowed_tools=["Read"]))
    Session(options(deny=["Read"]))
    assert caplog.messages == []

    Session(options(policy=Policy(deny=["Read"])))
    assert caplog.messages == [
        "The policy denies Read, but can only deny what the CLI asks about, and the CLI asks only "
        "outside of its working directories. disallowed_tools=['Read'] denies every use"
    ]


def test_a_handler_that_cannot_be_called_is_an_error() -> None:
    def no_place_for_a_request() -> None: ...

    with pytest.raises(OptionsError, match="on_permission"):
        claudewire.open(on_permission=no_place_for_a_request)  # type: ignore[arg-type]


# --- explaining ----------------------------------------------------------------------------------


def explained(**changes: Any) -> Explanation:
    return Session(options(**changes)).explain_permissions()


def test_a_session_explains_whom_its_tools_reach() -> None:
    it = explained(
        policy=Policy(**RULES, default="deny"),
        allowed_tools=["Read", "WebFetch"],
        person="inbox",
        hooks={"PreToolUse": lambda event: None},
    )
    assert it.order[0].startswith("hooks")
    assert any("this policy: 2 rules that deny, 1 that ask, 2 that allow" in by for by in it.order)
    assert it.order[-1] == "a person"
    assert it.reaches("Bash") == "sometimes"
    assert (it.reaches("WebFetch"), it.reaches("WebSearch")) == ("never", "never")
    assert it.reaches("AskUserQuestion") == "always"
    assert it.notes == ()
    assert "the CLI allows it by itself (allowed_tools)" in str(it)


def test_a_session_without_a_policy_is_explained_too() -> None:
    it = explained()
    assert not any("policy" in by for by in it.order)
    assert it.reaches("Write") == "always"
    assert it.notes == (
        "no handler is registered for permissions, so the answer will be no",
        "no handler is registered for questions, so the answer will be no",
        "no handler is registered for plans, so the answer will be no",
    )


def test_only_the_tools_that_there_are_are_explained() -> None:
    it = explained(builtin_tools=["Read", "Bash"], person="inbox")
    assert [fate.tool for fate in it.tools] == ["Read", "Bash"]


def test_what_cannot_be_explained_is_said() -> None:
    servers = {"crm": {"command": "serve"}}
    it = explained(policy=Broken(), mcp_servers=servers, on_permission=decide, person="inbox")
    assert it.notes == (
        "a policy that cannot be explained decides before a person is asked",
        "about tools of MCP servers the CLI asks each time, unless a rule allows them",
    )
