"""What the newest CLI writes in full: with `null` where there is nothing to say."""

from __future__ import annotations

from typing import Any

from ..wire import (
    APIMessage,
    CacheCreation,
    ModelUsage,
    OutputTokensDetails,
    ResultMessage,
    ServerToolUsage,
    Usage,
    nullable,
)

__all__ = [
    "FullMessage",
    "FullUsage",
    "SuccessfulResult",
    "SyntheticMessage",
    "api_usage",
    "model_usage",
    "no_subagents",
    "nothing_used",
    "turn_usage",
]


class FullUsage(Usage):
    """A usage report of the CLI itself."""

    output_tokens_details: OutputTokensDetails | None = nullable()
    service_tier: str | None = nullable()
    inference_geo: str | None = nullable()
    iterations: Any = nullable()
    speed: str | None = nullable()
    fallback_credit: Any = nullable()


class FullMessage(APIMessage):
    """A message of the model, as the CLI passes it on."""

    context_management: Any = nullable()


class SyntheticMessage(FullMessage):
    """A message of the CLI in the place of one of the model."""

    stop_details: Any = nullable()
    container: Any = nullable()
    diagnostics: Any = nullable()


class SuccessfulResult(ResultMessage, tag="result", kw_only=True):
    """The result of a turn that has come to its end."""

    api_error_status: int | None = nullable()


def api_usage(input_tokens: int, output_tokens: int) -> Usage:
    """What the API says that a message has used."""
    return Usage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        service_tier="standard",
    )


def nothing_used() -> Usage:
    """What a message has used that the API has not given."""
    return FullUsage(
        input_tokens=0,
        output_tokens=0,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        cache_creation=CacheCreation(0, 0),
        server_tool_use=ServerToolUsage(0, 0),
    )


def turn_usage(input_tokens: int, output_tokens: int) -> Usage:
    """What a turn has used."""
    return FullUsage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cache_creation_input_tokens=0,
        cache_read_input_tokens=0,
        cache_creation=CacheCreation(0, 0),
        server_tool_use=ServerToolUsage(0, 0),
        output_tokens_details=OutputTokensDetails(0),
        service_tier="standard",
        inference_geo="",
        iterations=[],
        speed="standard",
    )


def model_usage(model: str, input_tokens: int, output_tokens: int, cost: float) -> ModelUsage:
    """What a model has used."""
    return ModelUsage(
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        thinking_tokens=0,
        cache_read_input_tokens=0,
        cache_creation_input_tokens=0,
        cache_creation_ephemeral_5m_input_tokens=0,
        cache_creation_ephemeral_1h_input_tokens=0,
        web_search_requests=0,
        cost_usd=cost,
        context_window=200_000,
        max_output_tokens=64_000,
        canonical_model=model,
        provider="firstParty",
        cost_basis="list",
    )


def no_subagents() -> dict[str, Any]:
    """What a result says of subagents if there were none."""
    return {
        "spawned": 0,
        "requested": {"background": 0, "foreground": 0, "unset": 0},
        "started_in_background": 0,
        "max_depth": 0,
        "spawned_by_subagents": 0,
        "completed": 0,
        "failed": 0,
        "killed": {"parent": 0, "user": 0, "system": 0},
        "refused": {"depth_limit": 0, "concurrency_limit": 0, "budget": 0},
        "by_type": {},
    }
