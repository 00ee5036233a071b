"""Runs the snippets of a page one after the other, as `python -m asyncio` would.

They are a list in JSON on stdin. Their outputs go to stdout as a list; the first failure ends it.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import io
import json
import logging
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from typing import Any

SOON = 60.0


def printed(snippets: list[str]) -> Iterator[str]:
    names: dict[str, Any] = {"__name__": "__main__"}
    with asyncio.Runner() as runner:
        for code in snippets:
            compiled = compile(code, "snippet", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            with redirect_stdout(io.StringIO()) as out:
                done = eval(compiled, names)
                if inspect.iscoroutine(done):
                    runner.run(asyncio.wait_for(done, SOON))
            yield out.getvalue()


if __name__ == "__main__":
    # Logs are for people; the pages show the output.
    logging.getLogger("claudewire").addHandler(logging.NullHandler())
    json.dump([*printed(json.load(sys.stdin))], sys.stdout)
