"""Usage: tokens, money, context and quota."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Number, Record, nullable


class CacheCreation(Record):
    """Tokens written to the prompt cache, by how long they stay there."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUsage(Record):
    """Calls of the API's own tools."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class OutputTokensDetails(Record):
    """The kinds of output tokens."""

    thinking_tokens: int | None = None


class Usage(Record):
    """Usage of one message, or of one turn of the main loop."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation: CacheCreation | None = None
    server_tool_use: ServerToolUsage | None = None
    service_tier: str | None = None
    """`standard`, `priority` or `batch`."""
    inference_geo: str | None = None
    speed: str | None = None
    """`standard` or `fast`."""
    iterations: Any = None
    """One object for each time the API sampled the model."""
    output_tokens_details: OutputTokensDetails | None = None
    fallback_credit: Any = None


class ModelUsage(Record, rename="camel"):
    """Usage of one model since the CLI was started; the cost is an estimate."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    thinking_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_creation_ephemeral_5m_input_tokens: int | None = msgspec.field(
        name="cacheCreationEphemeral5mInputTokens", default=None
    )
    cache_creation_ephemeral_1h_input_tokens: int | None = msgspec.field(
        name="cacheCreationEphemeral1hInputTokens", default=None
    )
    web_search_requests: int | None = None
    cost_usd: float | None = msgspec.field(name="costUSD", default=None)
    context_window: int | None = None
    max_output_tokens: int | None = None
    canonical_model: str | None = None
    provider: str | None = None
    cost_basis: str | None = None
    """`list`, `managed` or `unknown`."""


class ContextUsage(Record):
    """The contents of the context window: the answer to `/context`."""

    model: str | None = None
    total_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: Number | None = None
    over_limit: dict[str, Any] | None = None
    categories: list[dict[str, Any]] | None = None
    mcp_tools: list[dict[str, Any]] | None = None
    memory_files: list[dict[str, Any]] | None = None
    agents: list[dict[str, Any]] | None = None
    skills: list[dict[str, Any]] | None = None


class SessionUsage(Record):
    """Usage of this session."""

    total_cost_usd: float | None = None
    total_api_duration_ms: Number | None = None
    total_duration_ms: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    model_usage: dict[str, ModelUsage] | None = None


class UsageReport(Record):
    """The answer to `/usage`. There are no limits for an account that pays by use."""

    session: SessionUsage | None = None
    rate_limits: dict[str, Any] | None = nullable()


class RateLimitInfo(Record, rename="camel"):
    """The distance of a subscription to its limit."""

    status: str
    """`allowed`, `allowed_warning` or `rejected`."""
    resets_at: Number | None = None
    """Seconds since 1970."""
    rate_limit_type: str | None = None
    """`five_hour`, `seven_day`, `seven_day_opus`, `seven_day_sonnet`, `overage`, …"""
    utilization: Number | None = None
    overage_status: str | None = None
    overage_resets_at: Number | None = None
    overage_disabled_reason: str | None = None
    is_using_overage: bool | None = None
    overage_in_use: bool | None = None
    overage_enabled: bool | None = None
    surpassed_threshold: Number | None = None
    limit_scope: str | None = None
    """`service`, `channel` or `group_pool`."""
    error_code: str | None = None
    can_user_purchase_credits: bool | None = None
    has_chargeable_saved_payment_method: bool | None = None
