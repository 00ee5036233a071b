"""The message forms of document 000, as data, with a small checker (used by cli.py and client.py).

A form is a function that looks at a value and appends what is wrong to a list.
Every rule cites lines of document 000. A field that the document shows in a full form counts as
required, unless the text calls it optional or another complete form leaves it out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Findings = list[tuple[str, str]]
"""Sentences that say what is wrong, each with its rule."""

Form = Callable[[Any, str, Findings], None]


def check(form: Form, value: Any) -> Findings:
    found: Findings = []
    form(value, "", found)
    return found


def _typed(kind: str, test: Callable[[Any], bool], rule: str) -> Form:
    def form(value: Any, path: str, found: Findings) -> None:
        if not test(value):
            found.append((f"{path} is not {kind}", rule))

    return form


def text(rule: str, *allowed: str) -> Form:
    def form(value: Any, path: str, found: Findings) -> None:
        if not isinstance(value, str):
            found.append((f"{path} is not a string", rule))
        elif allowed and value not in allowed:
            found.append((f"{path} is {value!r}, not one of {list(allowed)}", rule))

    return form


def whole(rule: str) -> Form:
    return _typed("a whole number", lambda v: isinstance(v, int) and not isinstance(v, bool), rule)


def number(rule: str) -> Form:
    return _typed(
        "a number", lambda v: isinstance(v, (int, float)) and not isinstance(v, bool), rule
    )


def flag(rule: str) -> Form:
    return _typed("true or false", lambda v: isinstance(v, bool), rule)


def any_object(rule: str) -> Form:
    return _typed("an object", lambda v: isinstance(v, dict), rule)


def any_list(rule: str) -> Form:
    return _typed("a list", lambda v: isinstance(v, list), rule)


def null_or(form: Form) -> Form:
    def wrapped(value: Any, path: str, found: Findings) -> None:
        if value is not None:
            form(value, path, found)

    return wrapped


def list_of(rule: str, item: Form) -> Form:
    def form(value: Any, path: str, found: Findings) -> None:
        if not isinstance(value, list):
            found.append((f"{path} is not a list", rule))
            return
        for index, entry in enumerate(value):
            item(entry, f"{path}[{index}]", found)

    return form


def map_of(rule: str, item: Form) -> Form:
    def form(value: Any, path: str, found: Findings) -> None:
        if not isinstance(value, dict):
            found.append((f"{path} is not an object", rule))
            return
        for key, entry in value.items():
            item(entry, f"{path}.{key}", found)

    return form


def record(rule: str, required: dict[str, Form], optional: dict[str, Form] | None = None) -> Form:
    """An object with known fields; it may have others."""
    known = {**required, **(optional or {})}

    def form(value: Any, path: str, found: Findings) -> None:
        if not isinstance(value, dict):
            found.append((f"{path or 'line'} is not an object", rule))
            return
        prefix = f"{path}." if path else ""
        for name in required:
            if name not in value:
                found.append((f"{prefix}{name} is missing", rule))
        for name, entry in value.items():
            if name in known:
                known[name](entry, prefix + name, found)

    return form


def by_field(rule: str, name: str, forms: dict[str, Form]) -> Form:
    """An object whose form is chosen by the value of one field."""

    def form(value: Any, path: str, found: Findings) -> None:
        if not isinstance(value, dict):
            found.append((f"{path or 'line'} is not an object", rule))
            return
        chosen = value.get(name)
        if isinstance(chosen, str) and chosen in forms:
            forms[chosen](value, path, found)
        else:
            where = f"{path}.{name}" if path else name
            found.append((f"{where} is {chosen!r}, not one of {sorted(forms)}", rule))

    return form


# ---- what the host sends -------------------------------------------------------------------

# Lines 57-67 show all four settings; line 443 is a complete initialize without any of them.
INITIALIZE = record(
    "lines 58-59: initialize has request_id, type, request",
    {
        "type": text("line 59: control_request", "control_request"),
        "request_id": text('line 58: "request_id": "unique-id"'),
        "request": record(
            "line 61: subtype initialize",
            {"subtype": text("line 61: initialize", "initialize")},
            {
                "systemPrompt": text('line 62: "systemPrompt": ""'),
                "mcpServers": any_object('line 63: "mcpServers": {}'),
                "agents": any_object('line 64: "agents": {}'),
                "hooks": any_object('line 65: "hooks": {}'),
            },
        ),
    },
)

PROMPT = record(
    "lines 128-136: user message has type, message, parent_tool_use_id, session_id",
    {
        "type": text("line 129: user", "user"),
        "message": record(
            "lines 130-133: message has role and content",
            {
                "role": text('line 131: "role": "user"', "user"),
                "content": text('line 132: "content": "Your message here"'),
            },
        ),
        "parent_tool_use_id": null_or(text('line 134: "parent_tool_use_id": null')),
        "session_id": text("line 498: User messages include session_id"),
    },
)

ALLOW = record(
    "lines 232-240: allow has behavior and toolUseID",
    {
        "behavior": text('line 247: "allow" to permit the tool', "allow"),
        "toolUseID": text("line 250: toolUseID must match the tool_use_id"),
    },
    {
        # Line 248 calls updatedInput optional; lines 317-325 leave updatedPermissions out.
        "updatedInput": any_object("line 248: Modified tool input (optional)"),
        "updatedPermissions": any_list("line 249: Permission rules to add (from suggestions)"),
    },
)

DENY = record(
    "lines 260-264: deny has behavior, message, toolUseID",
    {
        "behavior": text('line 271: "deny" to reject the tool', "deny"),
        "message": text("line 272: Reason for denial (shown to Claude)"),
        "toolUseID": text("line 273: toolUseID must match the tool_use_id"),
    },
)

DECISION = by_field(
    'lines 247, 271: behavior is "allow" or "deny"', "behavior", {"allow": ALLOW, "deny": DENY}
)


def control_response(inner: Form) -> Form:
    """The envelope of lines 73-76, 228-232, 256-260 and 313-317 around an answer."""
    return record(
        "lines 228-232: control_response has type and response",
        {
            "type": text("line 228: control_response", "control_response"),
            "response": record(
                "lines 229-232: response has subtype, request_id, response",
                {
                    "subtype": text('line 230: "subtype": "success"', "success"),
                    "request_id": text('line 231: "request_id": "matching-uuid"'),
                    "response": inner,
                },
            ),
        },
    )


SUGGESTION = record(
    "lines 202-209: a suggestion has type, rules, behavior, destination",
    {
        "type": text("line 203: addRules"),
        "rules": list_of(
            "line 204: rules",
            record(
                "line 205: a rule has toolName and ruleContent",
                {"toolName": text("line 205: toolName")},
                {"ruleContent": text("line 205: ruleContent")},
            ),
        ),
        "behavior": text("line 207: behavior"),
        "destination": text("line 208: destination"),
    },
)

# ---- what the CLI sends --------------------------------------------------------------------

INITIALIZED = control_response(
    record(
        "lines 77-94: the answer to initialize",
        {
            "commands": list_of(
                "line 78: commands",
                record(
                    "line 79: a command",
                    {n: text("line 79") for n in ("name", "description", "argumentHint")},
                ),
            ),
            "output_style": text("line 82: output_style"),
            "available_output_styles": list_of("line 83", text("line 83")),
            "models": list_of(
                "line 84: models",
                record(
                    "line 85: a model",
                    {n: text("line 85") for n in ("value", "displayName", "description")},
                ),
            ),
            "account": record(
                "lines 89-93: account",
                {n: text("lines 90-92") for n in ("email", "organization", "subscriptionType")},
            ),
        },
    )
)

SYSTEM_INIT = record(
    "lines 104-121: system init",
    {
        "type": text("line 105", "system"),
        "subtype": text("line 106", "init"),
        "uuid": text("line 107"),
        "session_id": text("line 108"),
        "cwd": text("line 109"),
        "tools": list_of("line 110", text("line 110")),
        "mcp_servers": list_of(
            "line 111",
            record("line 111", {"name": text("line 111"), "status": text("line 111")}),
        ),
        "model": text("line 112"),
        "permissionMode": text("line 113"),
        "slash_commands": list_of("line 114", text("line 114")),
        "apiKeySource": text("line 115"),
        "claude_code_version": text("line 116"),
        "output_style": text("line 117"),
        "agents": list_of("line 118", text("line 118")),
        "skills": any_list("line 119"),
        "plugins": any_list("line 120"),
    },
)

QUESTIONS = record(
    "line 291: questions",
    {
        "questions": list_of(
            "line 291: questions",
            record(
                "lines 292-301: a question",
                {
                    "question": text("line 293"),
                    "header": text("line 294"),
                    "multiSelect": flag("line 295"),
                    "options": list_of(
                        "line 296",
                        record(
                            "line 297: an option",
                            {"label": text("line 297"), "description": text("line 297")},
                        ),
                    ),
                },
            ),
        )
    },
)


def _tool_input(value: Any, path: str, found: Findings) -> None:
    any_object("line 219: Tool input parameters")(value, path, found)


def _can_use_tool(value: Any, path: str, found: Findings) -> None:
    asks = isinstance(value, dict) and value.get("tool_name") == "AskUserQuestion"
    record(
        "lines 193-212: can_use_tool",
        {
            "subtype": text("line 194", "can_use_tool"),
            "tool_name": text("line 218"),
            "input": QUESTIONS if asks else _tool_input,
            "tool_use_id": text("line 220"),
        },
        {
            "permission_suggestions": list_of("line 221 (optional)", SUGGESTION),
            "blocked_path": text("line 222 (optional)"),
        },
    )(value, path, found)


CAN_USE_TOOL = record(
    "lines 190-213: control_request of the CLI",
    {
        "type": text("line 191", "control_request"),
        "request_id": text("line 192"),
        "request": by_field("line 187", "subtype", {"can_use_tool": _can_use_tool}),
    },
)

USAGE = record(
    "lines 356-361: usage",
    {
        name: whole(f"line {357 + index}")
        for index, name in enumerate(
            (
                "input_tokens",
                "output_tokens",
                "cache_creation_input_tokens",
                "cache_read_input_tokens",
            )
        )
    },
)

ASSISTANT = record(
    "lines 341-363: assistant message",
    {
        "type": text("line 342", "assistant"),
        "uuid": text("line 343"),
        "session_id": text("line 344"),
        "parent_tool_use_id": null_or(text("line 345")),
        "message": record(
            "lines 346-362: message of the assistant",
            {
                "model": text("line 347"),
                "id": text("line 348"),
                "type": text("line 349", "message"),
                "role": text("line 350", "assistant"),
                "content": list_of(
                    "line 351",
                    by_field(
                        "lines 352-353: text or tool_use",
                        "type",
                        {
                            "text": record(
                                "line 352", {"type": text("line 352"), "text": text("line 352")}
                            ),
                            "tool_use": record(
                                "line 353",
                                {
                                    "type": text("line 353"),
                                    "id": text("line 353"),
                                    "name": text("line 353"),
                                    "input": any_object("line 353"),
                                },
                            ),
                        },
                    ),
                ),
                "stop_reason": null_or(text("line 355")),
                "usage": USAGE,
            },
        ),
    },
)

TOOL_RESULTS = record(
    "lines 369-390: user message with tool results",
    {
        "type": text("line 370", "user"),
        "uuid": text("line 371"),
        "session_id": text("line 372"),
        "parent_tool_use_id": null_or(text("line 373")),
        "message": record(
            "lines 374-384",
            {
                "role": text("line 375", "user"),
                "content": list_of(
                    "line 376",
                    record(
                        "lines 377-382: tool_result",
                        {
                            "type": text("line 378", "tool_result"),
                            "tool_use_id": text("line 379"),
                            "content": text("line 380"),
                            "is_error": flag("line 381"),
                        },
                    ),
                ),
            },
        ),
        "tool_use_result": record(
            "lines 385-389: tool_use_result",
            {
                "stdout": text("line 386"),
                "stderr": text("line 387"),
                "interrupted": flag("line 388"),
            },
        ),
    },
)

FAILURES = {
    "error_max_turns": "Hit max turns limit",
    "error_during_execution": "Error during execution",
    "error_max_budget_usd": "Hit budget limit",
}

_RESULT: dict[str, Form] = {
    "type": text("line 397", "result"),
    "subtype": text("lines 427-431: Result subtypes", "success", *FAILURES),
    "uuid": text("line 399"),
    "session_id": text("line 400"),
    "is_error": flag("line 401"),
    "duration_ms": number("line 402"),
    "duration_api_ms": number("line 403"),
    "num_turns": whole("line 404"),
    "total_cost_usd": number("line 406"),
    "usage": USAGE,
    "modelUsage": map_of(
        "line 413: modelUsage",
        record(
            "lines 414-421: usage of one model",
            {
                "inputTokens": whole("line 415"),
                "outputTokens": whole("line 416"),
                "cacheReadInputTokens": whole("line 417"),
                "cacheCreationInputTokens": whole("line 418"),
                "costUSD": number("line 419"),
                "contextWindow": whole("line 420"),
            },
        ),
    ),
    "permission_denials": any_list("line 423"),
}

_SUCCESS = record("lines 396-424: result", {**_RESULT, "result": text("line 405")})
# The document shows only a successful result in full; a failed one may lack the final text.
_FAILED = record("lines 396-424: result", _RESULT, {"result": null_or(text("line 405"))})
RESULT = by_field(
    "lines 427-431: Result subtypes",
    "subtype",
    {"success": _SUCCESS, **dict.fromkeys(FAILURES, _FAILED)},
)
