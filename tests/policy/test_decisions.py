"""Records of decisions, and where they are written."""

from __future__ import annotations

import dataclasses
import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.cancellation import open_files

from claudewire.policy import Audit, Decision, DecisionRecord, JsonLinesAudit, Policy, digest

WHEN = datetime.fromtimestamp(12.5, UTC)


def record(given: dict[str, Any] | None = None, **more: Any) -> DecisionRecord:
    facts: dict[str, Any] = {
        "when": WHEN,
        "request_id": "r1",
        "tool": "Bash",
        "answer": "deny",
        "decided_by": "rule",
        **more,
    }
    return DecisionRecord(
        input_digest=digest(given if given is not None else {"command": "rm x"}), **facts
    )


def test_a_record_holds_what_was_decided_and_never_changes() -> None:
    decision = Policy(deny=["Bash(rm:*)"]).decide("Bash", {"command": "rm x"})
    made = record(rule=str(decision.rule), reason=decision.reason, latency=0.25, agent_id="a1")
    assert made.rule == "Bash(rm:*)"
    assert made.reason == "`Bash(rm:*)` denies it: `rm x`"
    assert (made.when, made.latency, made.agent_id, made.session_id) == (WHEN, 0.25, "a1", None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.answer = "allow"  # type: ignore[misc]


def test_the_input_is_a_digest() -> None:
    assert record().input_digest == digest({"command": "rm x"})
    assert record({"a": 1, "b": [2]}).input_digest == digest({"b": [2], "a": 1})
    assert record({"a": 1}).input_digest != digest({"a": 2})


def test_a_line_has_what_is_known() -> None:
    assert json.loads(record(rule="Bash(rm:*)").to_json()) == {
        "when": "1970-01-01T00:00:12.500+00:00",
        "request_id": "r1",
        "tool": "Bash",
        "input_digest": digest({"command": "rm x"}),
        "answer": "deny",
        "decided_by": "rule",
        "reason": "",
        "rule": "Bash(rm:*)",
        "kind": "permission",
    }


def test_what_json_does_not_know_is_written_as_text() -> None:
    assert digest({"path": Path("/x")}) == digest({"path": "/x"})
    assert "\n" not in record(reason="a\nb\u2028").to_json()


def test_what_was_asked_is_written_as_it_is_and_the_rest_as_text() -> None:
    line = record(asked={"path": Path("/é"), "at": WHEN}).to_json()
    assert line.endswith('"asked": {"path": "/é", "at": "1970-01-01 00:00:12.500000+00:00"}}')


def test_a_decision_is_told_by_its_parts() -> None:
    decision = Decision("ask", "a person knows")
    assert decision == Decision("ask", "a person knows", rule=None, tool="", part="")
    assert (decision.allows, Decision("allow", "").allows) == (False, True)
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.behavior = "allow"  # type: ignore[misc]


def test_any_function_is_an_audit() -> None:
    kept: list[DecisionRecord] = []
    audit: Audit = kept.append
    audit(record())
    assert kept == [record()]


def test_records_are_appended_to_a_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for number in range(2):
        with JsonLinesAudit(path) as audit:
            audit(record(request_id=f"r{number}"))
            lines = path.read_text(encoding="utf-8").splitlines()
            assert json.loads(lines[-1])["request_id"] == f"r{number}"
    assert path.read_text(encoding="utf-8") == "".join(
        f"{record(request_id=f'r{number}').to_json()}\n" for number in range(2)
    )
    assert path.stat().st_mode & 0o077 == 0


def test_a_closed_audit_takes_no_records_and_keeps_no_file_open(tmp_path: Path) -> None:
    audit = JsonLinesAudit(tmp_path / "audit.jsonl")
    assert any(it.endswith("audit.jsonl") for it in open_files())
    audit.close()
    audit.close()
    assert not any(it.endswith("audit.jsonl") for it in open_files())
    with pytest.raises(ValueError, match="closed"):
        audit(record())


def test_a_text_that_is_no_unicode_does_not_stop_it(tmp_path: Path) -> None:
    with JsonLinesAudit(tmp_path / "audit.jsonl") as audit:
        audit(record({"command": "\ud800"}, reason="\ud800"))
    assert json.loads((tmp_path / "audit.jsonl").read_text(encoding="utf-8"))["tool"] == "Bash"


def test_many_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with JsonLinesAudit(path) as audit:

        def write(thread: int) -> None:
            for number in range(50):
                audit(record(request_id=f"{thread}-{number}", reason="x " * 500))

        threads = [threading.Thread(target=write, args=(thread,)) for thread in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    ids = [json.loads(line)["request_id"] for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(ids) == len(set(ids)) == 400
