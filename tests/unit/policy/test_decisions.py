"""Records of decisions, and where they are written."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.helpers.cancellation import open_files

from claudewire.policy import DecisionRecord, JsonLinesAudit, digest

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


def test_digest_ignores_the_order_of_fields() -> None:
    assert record().input_digest == digest({"command": "rm x"})
    assert record({"a": 1, "b": [2]}).input_digest == digest({"b": [2], "a": 1})
    assert record({"a": 1}).input_digest != digest({"a": 2})


def test_line_has_the_known_fields() -> None:
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


def test_records_are_appended_at_once(tmp_path: Path) -> None:
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


def test_closed_audit_takes_no_records(tmp_path: Path) -> None:
    audit = JsonLinesAudit(tmp_path / "audit.jsonl")
    assert any(it.endswith("audit.jsonl") for it in open_files())
    audit.close()
    audit.close()
    assert not any(it.endswith("audit.jsonl") for it in open_files())
    with pytest.raises(ValueError, match="closed"):
        audit(record())


def test_invalid_unicode_is_recorded(tmp_path: Path) -> None:
    with JsonLinesAudit(tmp_path / "audit.jsonl") as audit:
        audit(record({"command": "\ud800"}, reason="\ud800"))
    assert json.loads((tmp_path / "audit.jsonl").read_text(encoding="utf-8"))["tool"] == "Bash"


def test_threads_write_whole_lines(tmp_path: Path) -> None:
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
