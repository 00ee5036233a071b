"""Sums of usage, in tokens and money, and the prices of tokens."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..errors import OptionsError
from ..wire import ModelUsage, Usage

SYNTHETIC = "<synthetic>"
"""The model that the CLI names for messages it writes itself, which cost nothing."""


class Totals(Struct, frozen=True, gc=False):
    """Usage. Two of them can be added and subtracted.

    Attributes:
        input_tokens: new tokens read, without the two kinds of cached tokens.
        output_tokens: tokens written.
        cache_read_tokens: tokens read from the cache.
        cache_creation_tokens: tokens read and put into the cache.
        cost_usd: the cost: an estimate, by the CLI's list prices or by a table of the user's, and
            never a bill; None if unknown.
        turns: turns that have ended.
        calls: model calls.
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
        """All tokens, of every kind."""
        return sum(_kinds(self))

    @property
    def prompt_tokens(self) -> int:
        """All tokens that the model has read, cached or not."""
        return self.input_tokens + self.cache_read_tokens + self.cache_creation_tokens

    def __add__(self, other: Totals) -> Totals:
        return self._with(other, operator.add)

    def __sub__(self, other: Totals) -> Totals:
        return self._with(other, operator.sub)

    def _with(self, other: Totals, do: Callable[[Any, Any], Any]) -> Totals:
        new, written, read, made = map(do, _kinds(self), _kinds(other))
        costs = self.cost_usd, other.cost_usd
        return Totals(
            new,
            written,
            read,
            made,
            None if costs == (None, None) else do(costs[0] or 0.0, costs[1] or 0.0),
            do(self.turns, other.turns),
            do(self.calls, other.calls),
            self.estimated or other.estimated,
        )

    def covers(self, other: Totals) -> bool:
        """Return whether there are at least as many tokens of each kind."""
        return all(map(operator.ge, _kinds(self), _kinds(other)))

    def at_least(self, other: Totals) -> Totals:
        """Return the larger number of tokens of each kind, and nothing else."""
        new, written, read, made = map(max, _kinds(self), _kinds(other))
        return Totals(new, written, read, made)

    @classmethod
    def of(cls, usage: Usage | ModelUsage) -> Totals:
        """Return the usage that the API counted for a message, or the CLI for a turn or model."""
        return cls(
            usage.input_tokens or 0,
            usage.output_tokens or 0,
            usage.cache_read_input_tokens or 0,
            usage.cache_creation_input_tokens or 0,
            usage.cost_usd if isinstance(usage, ModelUsage) else None,
        )


def _kinds(totals: Totals) -> tuple[int, int, int, int]:
    return (
        totals.input_tokens,
        totals.output_tokens,
        totals.cache_read_tokens,
        totals.cache_creation_tokens,
    )


NOTHING = Totals()


def check_amount(name: str, value: object, *, least: str = "0 or more") -> None:
    """Check that a value is an amount.

    Raises:
        OptionsError: it is not a number, or too small.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionsError(f"{name} must be a number, got {value!r}")
    if not (0 < value < math.inf or (value == 0 and least == "0 or more")):
        raise OptionsError(f"{name} must be {least}, got {value!r}")


class Price(Struct, frozen=True, gc=False):
    """The price of a million tokens of a model, in dollars.

    Attributes:
        input: tokens that the model reads for the first time.
        output: tokens that it writes.
        cache_read: tokens that are read from the cache.
        cache_creation: tokens that are written to the cache.

    Raises:
        OptionsError: a price is not a number of 0 or more.
    """

    input: float
    output: float
    cache_read: float
    cache_creation: float

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            check_amount(f"Price.{name}", getattr(self, name))

    def of(self, totals: Totals) -> float:
        """Return the cost of these tokens."""
        prices = (self.input, self.output, self.cache_read, self.cache_creation)
        return sum(n * price for n, price in zip(_kinds(totals), prices, strict=True)) / 1_000_000


_PROPORTIONS = Price(1, 5, 0.1, 1.25)
"""So far the prices of all models have stood in about these proportions to each other."""


class PriceTable:
    """Prices by model: the user's, else those learnt from the CLI's own costs."""

    def __init__(self, prices: Mapping[str, Price] | None = None) -> None:
        self._given = dict(prices or {})
        self._learnt: dict[str, float] = {}
        """The price of a model's input, in relation to `_PROPORTIONS`."""

    def given(self, model: str) -> Price | None:
        """Return the user's price for a model, by its name or the longest prefix of it."""
        names = [name for name in self._given if model.startswith(name)]
        return self._given[max(names, key=len)] if names else None

    def apply(self, model: str, totals: Totals) -> Totals:
        """Return usage with the cost by the user's price, if there is one."""
        price = self.given(model)
        return totals if price is None else replace(totals, cost_usd=price.of(totals))

    def learn(self, model: str, totals: Totals) -> None:
        """Learn the price of a model from tokens and their cost."""
        if totals.cost_usd and totals.tokens:
            self._learnt[model] = totals.cost_usd / _PROPORTIONS.of(totals)

    def cost(self, model: str, totals: Totals) -> float | None:
        """Estimate the cost of tokens; None if no price is known."""
        if (price := self.given(model)) is not None:
            return price.of(totals)
        times = self._learnt.get(model)
        return None if times is None else times * _PROPORTIONS.of(totals)
