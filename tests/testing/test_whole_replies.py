"""What the scripted API sends, and how scripts are written: see tests/helpers/kept.py."""

from __future__ import annotations

import re

from tests.helpers.kept import Kept, compact, normal

from claudewire.testing.api import (
    APIReply,
    APIScript,
    APIStatus,
    APIThinking,
    APIToolUse,
    APIUsage,
    structured_output,
)
from claudewire.testing.api.replies import error_body, message_body, message_events

USAGE = APIUsage(input_tokens=1, output_tokens=2, cache_read_input_tokens=3)
REPLIES = [
    APIReply("Hello there."),
    APIReply("A long text, which comes in several pieces.", chunk=9, usage=USAGE),
    APIReply(APIThinking("Hm, let me think."), "So.", APIToolUse("Bash", {"command": "ls"})),
    APIReply(APIToolUse("Read", {}, id="toolu_mine"), stop_reason="pause_turn"),
    APIReply(structured_output({"a": 1})),
    APIReply(),
]
STATUSES = [APIStatus(it) for it in (400, 401, 403, 404, 413, 418, 429, 500, 502, 504, 529)]
STATUSES.append(APIStatus(400, error="odd", message="So.", retry_after=2.5, times=3))


def test_what_is_sent_for_each_reply_is_as_it_was(kept: Kept) -> None:
    lines = []
    for reply in REPLIES:
        lines.append(compact(message_body(reply, "a-model")))
        lines += [f"    {compact(it)}" for it in message_events(reply, "a-model")]
    lines += [f"{it.status} {compact(error_body(it))}" for it in STATUSES]
    kept("replies.txt", IDS.sub(r"<\1>", normal("".join(f"{it}\n" for it in lines))))


IDS = re.compile(r"\b(msg|req|toolu)_(?!mine)\w+")


def test_how_a_script_is_written_and_read_is_as_it_was(kept: Kept) -> None:
    script = APIScript(
        "Hi.",
        APIReply("Slow.", delay=0.5, stall_after=2, times=2, usage=USAGE, chunk=3),
        APIReply("Cut.", cut_after=1, stop_reason="max_tokens"),
        APIReply("Ended.", end_after=3),
        STATUSES[-1],
        ["Several.", APIThinking("Hm."), APIToolUse("Bash", {"command": "ls"}, id="toolu_mine")],
        default=APIStatus(529, times=0),
    )
    script.on("weather", "Sunny.", STATUSES[0])
    script.on(re.compile("a.b", re.IGNORECASE | re.DOTALL), APIReply("By a pattern.", times=0))
    data = script.to_data()
    again = APIScript.from_data(data).to_data()
    assert again == data
    kept("script.txt", "".join(f"{key}: {compact(value)}\n" for key, value in data.items()))


WRONG = [
    {"odd": 1},
    {"replies": [1]},
    {"replies": [{"text": "a", "status": 400}]},
    {"replies": [{}]},
    {"replies": [{"status": "x"}]},
    {"rules": [{"replies": ["a"]}]},
    {"rules": [{"contains": "a", "matches": "b", "replies": ["a"]}]},
    {"rules": [{"matches": "(", "replies": ["a"]}]},
    [1],
]


def test_what_is_said_of_a_wrong_script_is_as_it_was(kept: Kept) -> None:
    lines = []
    for data in WRONG:
        try:
            told = compact(APIScript.from_data(data).to_data())
        except ValueError as error:
            told = f"{type(error).__name__}: {error}"
        lines.append(f"{compact(data)}\n    {told}\n")
    kept("wrong-scripts.txt", "".join(lines))
