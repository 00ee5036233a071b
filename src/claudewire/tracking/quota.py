"""What can stop the model: a full context window, a used-up quota, an API that fails."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct, field

from ..wire import APIRetryMessage, RateLimitInfo

__all__ = ["ContextWindow", "RateLimit", "Retry"]


class ContextWindow(Struct, frozen=True):
    """How full the context window of the main conversation is.

    Attributes:
        tokens: how many are in it; None if that is not known.
        window: how many fit in; None if that is not known, as in the first turn.
        source: who says so: the last `message`, the CLI's own `report`, or a `compaction`.
    """

    tokens: int | None = None
    window: int | None = None
    source: Literal["message", "report", "compaction"] | None = None

    @property
    def fill(self) -> float | None:
        """How much of the window is used, 1 being all of it; None if that is not known."""
        if self.tokens is None or not self.window:
            return None
        return self.tokens / self.window


class RateLimit(Struct, frozen=True):
    """How a subscription stands with its quotas.

    Attributes:
        info: what the CLI said last.
        kinds: what it said last about each quota: five_hour, seven_day, …
    """

    info: RateLimitInfo
    kinds: dict[str, RateLimitInfo] = field(default_factory=dict)

    @property
    def limited(self) -> bool:
        """Whether the last request was refused, and nothing is paid for beyond the quota."""
        info = self.info
        beyond = info.is_using_overage or info.overage_in_use
        return info.status == "rejected" and not beyond

    @property
    def until(self) -> float | None:
        """When the limit is lifted, in seconds since 1970; None if there is none, or not known."""
        return self.info.resets_at if self.limited else None

    @property
    def utilization(self) -> float | None:
        """How much of the quota is used, as the CLI says."""
        return self.info.utilization

    def with_info(self, info: RateLimitInfo) -> RateLimit:
        """Add what the CLI says next."""
        return RateLimit(info, {**self.kinds, info.rate_limit_type or "": info})


class Retry(Struct, frozen=True):
    """The CLI asks the API again, after it failed.

    Attributes:
        attempt: which time this is.
        of: how often it will try.
        delay: the seconds that it waits before.
        status: the HTTP status of the failure; None if there was no answer.
        error: what kind of failure it was.
    """

    attempt: int | None
    of: int | None
    delay: float | None
    status: int | None
    error: str | None

    @classmethod
    def said_by(cls, message: APIRetryMessage) -> Retry:
        """Read what the CLI says about it."""
        delay = message.retry_delay_ms
        return cls(
            message.attempt,
            message.max_retries,
            None if delay is None else delay / 1000,
            message.error_status,
            message.error,
        )
