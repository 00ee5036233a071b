"""The schemas of what commands print with `--json`, made of their types.

`python -m tests.cli.wire.printed` writes them.
"""

from __future__ import annotations

import json
from pathlib import Path

from claudewire.cli.doctor.report import DoctorReport
from claudewire.cli.reports import schema_of
from claudewire.cli.sessions.report import SearchReport, SessionsReport, TranscriptReport
from claudewire.cli.wire.reports import DiffReport, LintReport, ShowReport

SCHEMAS = Path(__file__).resolve().parents[3] / "src" / "claudewire" / "cli" / "schemas"

PRINTED = {
    "show": ShowReport,
    "diff": DiffReport,
    "lint": LintReport,
    "doctor": DoctorReport,
    "sessions-list": SessionsReport,
    "sessions-search": SearchReport,
    "sessions-show": TranscriptReport,
}
"""What each of them prints. `sessions archive` prints what `sessions list` does."""


def text_of(name: str) -> str:
    """Make the schema of what a command prints."""
    return json.dumps(schema_of(PRINTED[name]), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMAS.mkdir(exist_ok=True)
    for name in PRINTED:
        (SCHEMAS / f"{name}.json").write_text(text_of(name), encoding="utf-8")
