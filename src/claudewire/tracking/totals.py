"""Usage that can be added up, in tokens and money, and the prices of tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from ..errors import OptionsError
from ..wire import ModelUsage, Usage

__all__ = ["NOTHING", "SYNTHETIC", "Price", "PriceTable", "Totals", "check_amount"]

MILLION = 1_000_000

SYNTHETIC = "<synthetic>"
"""The model that the CLI names for messages it writes itself, which cost nothing."""


class Totals(Struct, frozen=True, gc=False):
    """What was used. Two of them can be added and subtracted.

    Attributes:
        input_tokens: what was read anew, without the two kinds of cached tokens.
        output_tokens: what was written.
        cache_read_tokens: what was read from the cache.
        cache_creation_tokens: what was read and put into the cache.
        cost_usd: what it cost. Always an estimate, by the CLI's list prices or by a table of the
            user's, and never a bill; None if it is not known.
        turns: how many turns have ended.
        calls: how many messages of the model were seen.
        estimated: some of it was added up from messages rather than reported by the CLI at the end
            of a turn. A newer CLI reports the output of a message only in partial messages: without
            them it is too low until the turn ends.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost_usd: float | None = None
    turns: int = 0
    calls: int = 0
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """All tokens, of whatever kind."""
        return self.prompt_tokens + self.output_tokens

    @property
    def prompt_tokens(self) -> int:
        """All that the model has read, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_creation_tokens + other.cache_creation_tokens,
            _add(self.cost_usd, other.cost_usd),
            self.turns + other.turns,
            self.calls + other.calls,
            self.estimated or other.estimated,
        )

    def __sub__(self, other: Totals) -> Totals:
        return Totals(
            self.input_tokens - other.input_tokens,
            self.output_tokens - other.output_tokens,
            self.cache_read_tokens - other.cache_read_tokens,
            self.cache_creation_tokens - other.cache_creation_tokens,
            _add(self.cost_usd, None if other.cost_usd is None else -other.cost_usd),
            self.turns - other.turns,
            self.calls - other.calls,
            self.estimated or other.estimated,
        )

    def covers(self, other: Totals) -> bool:
        """Whether there are at least as many tokens of each kind."""
        return (
            self.input_tokens >= other.input_tokens
            and self.output_tokens >= other.output_tokens
            and self.cache_read_tokens >= other.cache_read_tokens
            and self.cache_creation_tokens >= other.cache_creation_tokens
        )

    def at_least(self, other: Totals) -> Totals:
        """Take the larger number of tokens of each kind."""
        return replace(
            self,
            input_tokens=max(self.input_tokens, other.input_tokens),
            output_tokens=max(self.output_tokens, other.output_tokens),
            cache_read_tokens=max(self.cache_read_tokens, other.cache_read_tokens),
            cache_creation_tokens=max(self.cache_creation_tokens, other.cache_creation_tokens),
        )

    @classmethod
    def of(cls, usage: Usage | ModelUsage) -> Totals:
        """Count the tokens that the API counted for a message, or the CLI for a turn or a model."""
        return cls(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
        )

    @classmethod
    def of_model(cls, usage: ModelUsage) -> Totals:
        """Count what the CLI counted for a model, with what it cost."""
        return replace(cls.of(usage), cost_usd=usage.cost_usd)


def _add(one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else one + other


NOTHING = Totals()


def check_amount(name: str, value: object, *, least: str = "0 or more") -> None:
    """Check that something is an amount.

    Raises:
        OptionsError: it is not a number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionsError(f"{name} must be a number, not {value!r}")
    if not (0 < value < math.inf or (value == 0 and least == "0 or more")):
        raise OptionsError(f"{name} must be {least}, not {value!r}")


class Price(Struct, frozen=True, gc=False):
    """What a million tokens of a model cost, in dollars.

    Attributes:
        input: tokens that the model reads for the first time.
        output: tokens that it writes.
        cache_read: tokens that are read from the cache.
        cache_creation: tokens that are written to the cache.
    """

    input: float
    output: float
    cache_read: float
    cache_creation: float

    def of(self, totals: Totals) -> float:
        """Return what so many tokens cost."""
        return (
            totals.input_tokens * self.input
            + totals.output_tokens * self.output
            + totals.cache_read_tokens * self.cache_read
            + totals.cache_creation_tokens * self.cache_creation
        ) / MILLION

    @classmethod
    def like(cls, totals: Totals) -> Price | None:
        """Guess the prices from what some tokens have cost; None if they have cost nothing.

        So far the prices of all models have stood in about these proportions to each other.
        """
        usual = cls(input=1, output=5, cache_read=0.1, cache_creation=1.25)
        base = usual.of(totals)
        if not base or not totals.cost_usd:
            return None
        times = totals.cost_usd / base
        return cls(times, 5 * times, 0.1 * times, 1.25 * times)


class PriceTable:
    """Prices by model: those that the user gave, else what was learnt from the CLI's own costs."""

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._given = dict(prices or {})
        self._learnt: dict[str, Price] = {}

    def given(self, model: str) -> Price | None:
        """Find the user's price for a model: by its name, or by the longest beginning of it."""
        if not self._given:
            return None
        names = [name for name in self._given if model.startswith(name)]
        return self._given[max(names, key=len)] if names else None

    def learn(self, model: str, totals: Totals) -> None:
        """Notice what some tokens of a model have cost."""
        price = Price.like(totals)
        if price is not None:
            self._learnt[model] = price

    def cost(self, model: str, totals: Totals) -> float | None:
        """Estimate what so many tokens cost; None if no price is known."""
        price = self.given(model) or self._learnt.get(model)
        return None if price is None else price.of(totals)
