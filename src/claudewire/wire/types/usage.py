"""What was used: tokens, money, context and quota."""

from __future__ import annotations

from typing import Any

import msgspec

from .base import Number, Record, nullable

__all__ = [
    "CacheCreation",
    "ContextOverLimit",
    "ContextUsage",
    "ContextUsageAgent",
    "ContextUsageCategory",
    "ContextUsageMcpTool",
    "ContextUsageMemoryFile",
    "ContextUsageSkill",
    "ExtraUsage",
    "ModelUsage",
    "OutputTokensDetails",
    "RateLimitInfo",
    "ServerToolUsage",
    "SessionUsage",
    "Usage",
    "UsageLimit",
    "UsageLimits",
    "UsageReport",
]


class CacheCreation(Record):
    """Tokens written to the prompt cache, by how long they stay there."""

    ephemeral_5m_input_tokens: int | None = None
    ephemeral_1h_input_tokens: int | None = None


class ServerToolUsage(Record):
    """How often the API ran its own tools."""

    web_search_requests: int | None = None
    web_fetch_requests: int | None = None


class OutputTokensDetails(Record):
    """How the output tokens divide."""

    thinking_tokens: int | None = None


class Usage(Record):
    """What the API counted for one message, or the CLI for one turn of the main loop."""

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
    """What one model has used since the CLI was started; the cost is an estimate."""

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


class ContextOverLimit(Record):
    """By how much the context is too long, and for what."""

    tokens_over: int
    kind: str | None = None
    """`hard_limit` or `compaction_window`."""


class ContextUsageCategory(Record):
    """One share of the context window."""

    name: str
    tokens: int
    kind: str | None = None
    """`used`, `free`, `buffer` or `deferred`."""


class ContextUsageMcpTool(Record):
    """What the description of one MCP tool takes."""

    name: str
    server_name: str | None = None
    tokens: int | None = None


class ContextUsageMemoryFile(Record):
    """What one memory file takes."""

    path: str
    kind: str | None = msgspec.field(name="type", default=None)
    tokens: int | None = None


class ContextUsageAgent(Record):
    """What the description of one agent takes."""

    agent_type: str
    source: str | None = None
    tokens: int | None = None


class ContextUsageSkill(Record):
    """What the description of one skill takes."""

    name: str
    source: str | None = None
    plugin_name: str | None = None
    tokens: int | None = None


class ContextUsage(Record):
    """How full the context window is, and with what: the answer to `/context`."""

    model: str | None = None
    total_tokens: int | None = None
    raw_max_tokens: int | None = None
    percentage: Number | None = None
    over_limit: ContextOverLimit | None = None
    categories: list[ContextUsageCategory] | None = None
    mcp_tools: list[ContextUsageMcpTool] | None = None
    memory_files: list[ContextUsageMemoryFile] | None = None
    agents: list[ContextUsageAgent] | None = None
    skills: list[ContextUsageSkill] | None = None


class SessionUsage(Record):
    """What this session has used."""

    total_cost_usd: float | None = None
    total_api_duration_ms: Number | None = None
    total_duration_ms: Number | None = None
    total_lines_added: int | None = None
    total_lines_removed: int | None = None
    model_usage: dict[str, ModelUsage] | None = None


class UsageLimit(Record):
    """How much of one quota is used."""

    kind: str | None = None
    group: str | None = None
    percent: Number | None = None
    resets_at: str | None = nullable()
    scope: Any = None
    """The model or the surface that the quota is for, if it is for one only."""
    severity: str | None = None
    is_active: bool | None = None


class ExtraUsage(Record):
    """What may be spent beyond the quota."""

    is_enabled: bool | None = None
    monthly_limit: Number | None = nullable()
    used_credits: Number | None = nullable()
    utilization: Number | None = nullable()
    currency: str | None = None


class UsageLimits(Record):
    """The quotas of the account. `limits` is null if they could not be read."""

    limits: list[UsageLimit] | None = nullable()
    extra_usage: ExtraUsage | None = None


class UsageReport(Record):
    """The answer to `/usage`. There are no limits for an account that pays by use."""

    session: SessionUsage | None = None
    rate_limits: UsageLimits | None = nullable()


class RateLimitInfo(Record, rename="camel"):
    """How close a subscription is to its limit."""

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
