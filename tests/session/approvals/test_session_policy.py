"""Policies of sessions: their decisions, records, and the handlers that the CLI can ever call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.sessions import options
from tests.session.approvals.asking import COLOUR, BrokenPolicy
from tests.session.approvals.spying import Played, make, play

from claudewire.approvals import ApprovalRequest, PermissionRequest
from claudewire.errors import OptionsError
from claudewire.policy import JsonLinesAudit, Policy, ToolReach
from claudewire.session import Session
from claudewire.testing import Chat

pytestmark = pytest.mark.anyio

RULES: dict[str, Any] = {
    "allow": ["Bash(git status:*)", "Edit(src/**)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Bash(rm:*)", "Edit(src/secrets/**)"],
}
BYPASS = {"permissions": {"defaultMode": "bypassPermissions"}}


async def work(chat: Chat) -> None:
    """A model whose uses of tools are allowed, denied, asked about and unknown."""
    for command in ("git status -s", "git status && rm -rf /", "git push", "make"):
        await chat.use("Bash", {"command": command}, result=f"ran {command}")
    for path in ("src/app.py", "src/../src/secrets/key"):
        await chat.use("Write", {"file_path": path, "content": ""}, result=f"wrote {path}")
    await chat.ask([COLOUR])


async def approver(request: ApprovalRequest[Any]) -> Any:
    if isinstance(request, PermissionRequest):
        return request.allow() if "push" in request.title else request.deny("Not that")
    return request.act("answer", {"answers": "Red"})


async def test_policy_and_a_person_decide_and_all_is_recorded(tmp_path: Path) -> None:
    log = tmp_path / "decisions.jsonl"
    with JsonLinesAudit(log) as audit:
        policy = Policy(**RULES)
        done = await play(
            work, {"cwd": tmp_path}, policy=policy, approver=approver, audit=audit, cwd=tmp_path
        )
    assert "`Bash(rm:*)` denies it" in done.told[1]
    assert "`Edit(src/secrets/**)` denies it" in done.told[5]
    assert [done.told[index] for index in (0, 2, 3, 4)] == [
        *("ran git status -s", "ran git push", "Not that", "wrote src/app.py")
    ]
    assert "Red" in done.told[6]
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    by = "handler: approver"
    assert [(it["tool"], it["answer"], it["decided_by"], it.get("rule")) for it in records] == [
        ("Bash", "allow", "rule", "Bash(git status:*)"),
        ("Bash", "deny", "rule", "Bash(rm:*)"),
        ("Bash", "allow", by, "Bash(git push:*)"),
        ("Bash", "deny", by, None),
        ("Write", "allow", "rule", "Edit(src/**)"),
        ("Write", "deny", "rule", "Edit(src/secrets/**)"),
        ("AskUserQuestion", "answered", by, None),
    ]
    assert {it["session_id"] for it in records} == {done.session.session_id}
    assert len({it["request_id"] for it in records}) == 7


# --- modes of the CLI's own choice ---------------------------------------------------------------

InMode = Callable[[str], dict[str, Any]]


@pytest.fixture
def in_mode(tmp_path: Path) -> InMode:
    """Make a CLI start in the mode of its own settings, as 2.1.287 does without any."""

    def made(mode: str) -> dict[str, Any]:
        settings = {"permissions": {"defaultMode": mode}}
        (tmp_path / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
        return {"env": {"CLAUDE_CONFIG_DIR": str(tmp_path)}, "cwd": tmp_path}

    return made


def modes_set(done: Played) -> list[str]:
    requests = [line["request"] for line in done.spy.wrote if "request" in line]
    return [it["mode"] for it in requests if it["subtype"] == "set_permission_mode"]


@pytest.mark.parametrize("mode", ["auto", "bypassPermissions"])
@pytest.mark.parametrize(
    ("decider", "words"),
    [
        ({"on_permission": approver}, "Not that"),
        ({"policy": Policy(deny=["Bash(make:*)"])}, "denies it"),
        ({}, "No handler is registered"),
    ],
    ids=["handler", "policy", "nothing"],
)
async def test_mode_of_the_clis_choice_bypasses_no_decision(
    in_mode: InMode,
    mode: str,
    decider: dict[str, Any],
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    done = await play(make, in_mode(mode), **decider)
    assert words in done.text
    assert modes_set(done) == ["default"]
    assert f"mode {mode}" in caplog.text


@pytest.mark.parametrize(
    ("mode", "given"),
    [
        ("acceptEdits", {"approver": approver}),
        ("dontAsk", {"approver": approver}),
        ("bypassPermissions", {"permission_prompts": "none"}),
        ("bypassPermissions", {"approver": approver, "accept_shadowed": True}),
        ("auto", {"approver": approver, "permission_mode": "auto"}),
        ("auto", {"approver": approver, "settings": {"permissions": {"defaultMode": "auto"}}}),
    ],
)
async def test_any_other_mode_is_left_alone(
    in_mode: InMode, mode: str, given: dict[str, Any]
) -> None:
    done = await play(make, in_mode(mode), **given)
    assert modes_set(done) == []


# --- handlers that the CLI would never call ------------------------------------------------------


def decide(request: ApprovalRequest[Any]) -> Any:
    raise AssertionError("no person was to be asked")


def refused(words: str, **given: Any) -> None:
    """Check that options are refused, unless the shadowing is accepted."""
    with pytest.raises(OptionsError) as raised:
        Session(options(**given))
    assert words in str(raised.value)
    assert "Pass accept_shadowed=True" in str(raised.value)
    Session(options(**given, accept_shadowed=True))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"permission_mode": "bypassPermissions"}, "bypassPermissions the CLI allows everything"),
        ({"permission_mode": "dontAsk"}, "in the mode dontAsk the CLI denies instead of asking"),
        ({"permission_prompts": "none"}, "permission_prompts is none"),
        ({"builtin_tools": ()}, "there are no tools"),
        ({"builtin_tools": ["Write"], "allowed_tools": ["Write"]}, "the CLI allows it by itself"),
        ({"builtin_tools": ["Write"], "disallowed_tools": ["Write"]}, "the CLI takes it away"),
        (
            {
                "builtin_tools": ["Bash", "WebFetch"],
                "allowed_tools": ["Bash"],
                "disallowed_tools": ["W*"],
            },
            "the CLI allows it by itself (allowed_tools); the CLI takes it away (disallowed_tools)",
        ),
        ({"policy": Policy(default="deny")}, "the policy will deny it"),
        (
            {"policy": Policy(default="allow"), "builtin_tools": ["WebFetch"]},
            "the policy will allow it",
        ),
    ],
)
def test_handler_that_would_never_be_called_is_an_error(changes: dict[str, Any], why: str) -> None:
    refused("A permission handler would never be called", on_permission=decide, **changes)
    refused(why, on_permission=decide, **changes)
    Session(options(**changes))


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"allowed_tools": ["Read", "Bash(git status:*)"]},
        {"permission_mode": "acceptEdits"},
        {"builtin_tools": (), "mcp_servers": {"crm": {"command": "serve"}}},
        {"policy": Policy(**RULES)},
        {"policy": BrokenPolicy()},
    ],
)
def test_handler_that_may_be_called_is_accepted(changes: dict[str, Any]) -> None:
    Session(options(on_permission=decide, **changes))


@pytest.mark.parametrize(
    ("handler", "tool"), [("on_question", "AskUserQuestion"), ("on_plan", "ExitPlanMode")]
)
def test_handler_for_questions_that_cannot_come_is_an_error(handler: str, tool: str) -> None:
    given: dict[str, Any] = {handler: decide}
    words = f"{handler} would never be called: "
    refused(f"{words}there is no {tool} among the tools", **given, builtin_tools=["Read"])
    refused(f"{words}the CLI takes it away", **given, disallowed_tools=[tool])
    refused(f"{words}in the mode dontAsk", **given, permission_mode="dontAsk")
    refused(f"{words}`{tool}` denies it", **given, policy=Policy(deny=[tool]))
    for fine in ({"permission_mode": "bypassPermissions"}, {"policy": Policy(default="deny")}):
        Session(options(**given, **fine))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"permission_mode": "dontAsk"}, "in the mode dontAsk the CLI decides by its own rules"),
        ({"settings": BYPASS}, "in the mode bypassPermissions the CLI decides"),
        ({"permission_prompts": "none"}, "permission_prompts is none"),
    ],
)
def test_policy_that_would_never_be_asked_is_an_error(changes: dict[str, Any], why: str) -> None:
    refused(f"policy would never be asked: {why}", policy=Policy(**RULES), **changes)
    for name in ("allow", "ask", "deny"):
        given: dict[str, Any] = {name: ["Read"], **changes}
        refused(f"allow, ask and deny would never be asked: {why}", **given)


def test_mode_is_found_in_settings_of_any_form(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps(BYPASS), encoding="utf-8")
    for given in (BYPASS, json.dumps(BYPASS), file, str(file)):
        refused("in the mode bypassPermissions", on_permission=decide, settings=given)
        Session(options(on_permission=decide, settings=given, permission_mode="default"))
    # Files on another machine cannot be read.
    Session(options(on_permission=decide, settings=str(file), remote=True))


def test_denied_tool_that_the_cli_does_not_ask_about_is_warned_of(
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


# --- explaining ----------------------------------------------------------------------------------


def explained(**changes: Any) -> dict[str, ToolReach]:
    return Session(options(**changes)).explain_permissions()


def test_session_explains_which_tools_reach_a_person() -> None:
    policy = Policy(**RULES, default="deny")
    it = explained(policy=policy, allowed_tools=["Read", "WebFetch"], approver="inbox")
    assert it["Bash"].reaches == "sometimes"
    assert (it["WebFetch"].reaches, it["WebSearch"].reaches) == ("never", "never")
    assert it["AskUserQuestion"].reaches == "always"
    assert it["WebFetch"].why == "the CLI allows it by itself (allowed_tools)"
    it = explained(builtin_tools=["Read", "Bash"], approver="inbox")
    assert [*it] == ["Read", "Bash"]
