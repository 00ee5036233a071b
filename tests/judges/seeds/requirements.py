"""Which requirements (conformance/requirements.toml) each flow shows, by document and number."""

from __future__ import annotations

from collections.abc import Iterator

FLOWS = {
    "000": {
        "opening": "1-4 7 9 15 17-26 31 75 80 84",
        "turns": "27 32 76 77",
        "text": "59-60 70",
        "tool_use": "31 61 63-65",
        "permission_allow": "33-34 37-41 44 47 82",
        "permission_change": "45",
        "permission_remember": "42 43 46",
        "permission_deny": "48 49 51",
        "question_single": "52-57 83",
        "question_multi_lists": "58",
        "failed_max_turns": "71",
        "failed_execution": "72",
        "failed_max_budget": "73",
        "usage": "62 66-68",
        "flags": "5 6 8 10 11 79",
        "working_directory": "12",
        "permission_parallel": "36",
        "session_id": "28 84",
        "system_prompt": "16",
        "mcp_servers": "16",
        "resume": "13",
    },
    "001": {
        "opening": "2 6-8 15 18 23 33-40 55",
        "turns": "1 5 19 20 24 25 59",
        "text": "41-42",
        "unicode": "3",
        "debug_output": "4",
        "tool_result_only": "44 45",
        "permission_allow": "29 32 49 50 52 53 56 58",
        "permission_deny": "31",
        "permission_change": "30",
        "permission_remember": "30 51 63",
        "unknown_request": "53",
        "malformed_request": "53",
        "interrupt": "26-28 64",
        "failed_max_turns": "48",
        "failed_any": "61",
        "error_message": "54 65",
        "error_in_turn": "65",
        "request_refused": "65",
        "image": "21 22",
        "compact_boundary": "60",
        "usage": "43 46 47",
        "flags": "10-13",
        "working_directory": "9",
        "permission_parallel": "57",
        "session_id": "66",
        "system_prompt": "16 17",
        "mcp_servers": "16",
        "resume": "14 67",
    },
    "002": {
        "opening": "1-4 12 24 30",
        "turns": "22 59-63",
        "text": "14",
        "init_after_initialize": "18",
        "prompts_echoed": "15",
        "streaming": "19 20",
        "thinking": "13",
        "tool_use": "13 21",
        "permission_allow": "9 10 31-34 36",
        "permission_deny": "35 36",
        "control_type": "23",
        "hooks_registered": "25",
        "mcp_list": "28 44-50",
        "mcp_handshake": "46 67",
        "mcp_call": "29 37-42",
        "mcp_tool_error": "57 58",
        "unknown_request": "56",
        "malformed_request": "56",
        "error_message": "18",
        "usage": "16",
        "result_short": "17",
        "flags": "5 7 8 53-55",
        "system_prompt": "6",
        "shutdown": "64 65",
        "linger": "66",
    },
    "004": {
        "opening": "1-4 6 54",
        "text": "7-11 25-27 55",
        "turns": "49 55",
        "streaming": "28 29",
        "tool_use": "41-43",
        "permission_allow": "15 16 18 19 30 31 33 35",
        "permission_deny": "17 52",
        "permission_allow_flat": "36",
        "permission_hints": "34",
        "permission_sequence": "50 51",
        "example": "46",
        "question_single": "20-22 24 32 37 38",
        "question_two": "21 24",
        "question_multi": "23",
        "interrupt": "12-14",
        "error_message": "44 56",
        "error_in_turn": "56",
        "request_refused": "56",
        "text_short": "47",
        "echoes": "39",
        "big": "48",
        "flags": "5",
        "session_id": "57",
    },
}
"""Shown by a session, judged by the CLI of the document."""

CLIENTS = {
    "000": {
        "turns": "59-60 66-68",
        "tool_use": "31 61-63",
        "permission_allow": "35 37-40",
        "permission_remember": "42",
        "permission_deny": "50",
        "question_single": "52 54 55",
        "error": "71",
        "resume": "13",
    },
    "001": {
        "open": "33-36 39 40 55",
        "turns": "23 25 38 41 43 46 59",
        "tool_use": "44 45",
        "permission_allow": "49 50 52 56",
        "permission_remember": "51",
        "interrupt": "27 28",
        "error": "54",
        "resume": "14",
    },
    "002": {
        "open": "30",
        "turns": "2 14 16 22",
        "streaming": "19 20",
        "thinking": "13",
        "permission_allow": "31-33",
        "mcp": "37 38 44 45 48 49",
        "unknown_request": "56",
        "shutdown": "65",
    },
    "004": {
        "turns": "25 26 39 40 55",
        "streaming": "28 29",
        "tool_use": "41 42",
        "permission_allow": "30 31 33 35",
        "permission_deny": "52",
        "permission_remember": "34",
        "question_single": "32 37 38",
        "interrupt": "14",
        "malformed": "45",
        "error": "44",
    },
}
"""Shown by the simulated CLI, judged by the client of the document."""


def shown_by_flow(number: str, flow: str) -> list[str]:
    return [f"{number}-{it}" for it in _numbers(FLOWS[number].get(flow, ""))]


def shown_by_client(number: str, flow: str) -> list[str]:
    return [f"{number}-{it}" for it in _numbers(CLIENTS[number].get(flow, ""))]


def _numbers(text: str) -> Iterator[int]:
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)
