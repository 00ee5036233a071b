"""What every result says at every event: see tests/helpers/kept.py."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from tests.helpers.kept import Kept, compact
from tests.hooks.hook_table import RESULTS
from tests.hooks.test_hooks import answered, saying

from claudewire.hooks import HookResult
from claudewire.wire import HOOK_EVENTS

pytestmark = pytest.mark.anyio

OTHERS: dict[str, Callable[[], Any]] = {
    "nothing": lambda: None,
    "an empty result": lambda: HookResult(),
    "text": lambda: "deny",
    "a dict": lambda: {"permissionDecision": "deny"},
    "an odd dict": lambda: {"odd": 1},
    "several": lambda: RESULTS["deny"]() & RESULTS["add_context"]() & RESULTS["tell_user"](),
    "true": lambda: True,
}


@pytest.mark.parametrize("anyio_backend", ["asyncio"])
@pytest.mark.parametrize("name", [*RESULTS, *OTHERS])
async def test_what_a_result_says_at_each_event_is_as_it_was(
    kept: Kept, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    result = {**RESULTS, **OTHERS}[name]()
    told: dict[str, list[str]] = defaultdict(list)
    for event in HOOK_EVENTS:
        caplog.clear()
        output = await answered(saying(event, result), event)
        logged = [f"{it.getMessage()}: {it.exc_info and it.exc_info[1]}" for it in caplog.records]
        told[f"{compact(output)} {logged}".replace(event, "EVENT")].append(event)
    lines = [f"{text}\n    {' '.join(events)}\n" for text, events in told.items()]
    kept(f"{name.replace(' ', '-')}.txt", "".join(lines))
