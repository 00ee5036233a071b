"""Runs the snippets of a page one after the other, as if they were typed into `python -m asyncio`.

They come as a list in JSON on stdin. What each has printed goes to stdout, as a list; the first
that fails ends it all.
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
    # What is logged is for people; the snippets are about what is printed.
    logging.getLogger("claudewire").addHandler(logging.NullHandler())
    json.dump([*printed(json.load(sys.stdin))], sys.stdout)
