"""Runs programs one after the other, and prints what each has printed, as a list in JSON.

    python run_programs.py CLI PROGRAM...

The CLI takes the place of the one that the official SDK bundles, where that is installed.
"""

from __future__ import annotations

import io
import json
import runpy
import sys
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def printed(program: str) -> str:
    with redirect_stdout(io.StringIO()) as out:
        runpy.run_path(program, run_name="__main__")
    return out.getvalue()


def use_cli(path: str) -> None:
    module: Any = import_module("claude_agent_sdk._internal.transport.subprocess_cli")
    module.SubprocessCLITransport._find_cli = lambda self: path


if __name__ == "__main__":
    if find_spec("claude_agent_sdk"):
        use_cli(sys.argv[1])
    json.dump([printed(program) for program in sys.argv[2:]], sys.stdout)
