"""Write the JSON Schemas of what the command prints with `--json`."""

from __future__ import annotations

import json
from pathlib import Path

from claudewire.cli.reports import SCHEMAS, schema_of

FOLDER = Path(__file__).resolve().parent.parent / "src" / "claudewire" / "cli" / "schemas"


def main() -> None:
    for name, printed in SCHEMAS.items():
        text = json.dumps(schema_of(printed), indent=2, ensure_ascii=False)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
