"""How long the library waits by itself, and how much it keeps. A limit is changed on purpose.

Tests of what happens at a limit use its name, and would pass with any other value.
"""

from __future__ import annotations

from importlib import import_module

import pytest

SECONDS = {
    "session.ending.AFTER_STOP": 0.1,
    "session.ending.AFTER_ERROR": 1.0,
    "session.ending.AFTER_INTERRUPT": 2.0,
    "session.ending.AFTER_REQUEST": 60.0,
    "session.ending.AFTER_LATE_RESULT": 1.0,
    "session.ending.AFTER_IDLE": 5.0,
    "session.ending.AFTER_MERGING": 60.0,
    "session.ending.UNSOLICITED": 60.0,
    "session.ending.UNANNOUNCED": 5.0,
    "session.core.TURN_FOLLOWS_WITHIN": 1.0,
    "session.entry.TASKS_MAY_TAKE": 600.0,
    "session.link.CANCELLED_WITHIN": 1.0,
    "session.link.REST_FOLLOWS_WITHIN": 1.0,
    "session.watchdog.MAY_STOP": 5.0,
    "simulator.hooks.DEFAULT_TIMEOUT": 60.0,
    "simulator.mcp.PATIENCE": 60.0,
    "simulator.servers.ENDING": 1.0,
    "simulator.servers.PATIENCE": 60.0,
    "simulator.servers.STARTING": 30.0,
    "simulator.text_mode.PATIENCE": 3.0,
    "sync.portal.CLOSE_TIMEOUT": 30.0,
}

COUNTS = {
    "content.MOST_BYTES": 32_000_000,
    "errors.evidence.LINES": 20,
    "errors.evidence.LINE": 2000,
    "errors.evidence.STDERR": 64 * 1024,
    "people.decisions.MAX_THREADS": 64,
    "people.diffs.BIGGEST": 4 * 1024 * 1024,
    "policy.paths.LONGEST_PATH": 4096,
    "policy.shell.grammar.LONGEST": 10_000,
    "policy.shell.reader.DEEPEST": 30,
    "policy.shell.reader.MOST_WORDS": 1000,
    "session.core.NOTICES": 1000,
    "session.events.UNREAD_EVENTS": 10_000,
    "session.pool.MAX_SUB_POOLS": 8,
    "session.wire_logger.LINE": 10_000,
    "simulator.demo.MOST_BYTES": 200_000,
    "simulator.demo.MOST_FILES": 200,
    "simulator.in_memory.PIPE": 64 * 1024,
    "simulator.model_output.PIECE": 12,
    "simulator.text_mode.MOST": 10 * 1024 * 1024,
    "tracking.ledger.KEPT": 1000,
    "tracking.tasks.KEPT": 200,
    "tracking.tasks.CALLS": 1000,
    "transport.pipes.MOST_KEPT": 64 * 1024 * 1024,
    "wire.connection.REMEMBERED": 1024,
    "wire.fitting.MOST_REPAIRS": 100,
    "wire.framing.HEAD": 1024,
    "wire.framing.MAX_LINE": 256 * 1024 * 1024,
    "wire.lint.findings.QUOTED": 60,
    "wire.lint.findings.SHOWN": 500,
}


@pytest.mark.parametrize(("place", "value"), [*SECONDS.items(), *COUNTS.items()])
def test_a_limit_is_as_it_was(place: str, value: float) -> None:
    module, _, name = place.rpartition(".")
    assert getattr(import_module(f"claudewire.{module}"), name) == value
