"""What the CLI reports at the end of a turn, and what of it is new.

Reports are of all that was used since the process was started. So a turn's part is the difference
between two of them, which the newest CLIs also give.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ..wire import ModelUsage, ResultMessage
from .totals import NOTHING, Totals

__all__ = ["Models", "Reports", "convert"]

Models = dict[str, Totals]
"""What was used, by model."""


class Reports:
    """What the CLI reported last, to find out what is new in the next report."""

    def __init__(self) -> None:
        self.models: Models = {}
        self.cost: float = 0.0
        self.is_of_another_process: bool = False

    def read(
        self, message: ResultMessage, main: Totals | None
    ) -> tuple[Models | None, float | None]:
        """Give what each model has used since the last report, and what is in no model's cost.

        None instead of the models: nothing was reported.
        """
        since = convert(message.model_usage_since_last_result, dict[str, ModelUsage])
        now = {model: Totals.of_model(it) for model, it in (message.model_usage or {}).items()}
        if self.is_of_another_process and message.model_usage is not None:
            self.is_of_another_process = False
            if not self._goes_on(now, main):
                self.models, self.cost = {}, 0.0
        models = {model: _since(used, self.models.get(model)) for model, used in now.items()}
        cost = message.total_cost_usd
        new_cost = None if cost is None else cost - (self.cost if cost >= self.cost else 0.0)
        if message.model_usage is not None:
            self.models = now
        self.cost = self.cost if cost is None else cost
        if since is not None:
            rest = None if cost is None else 0.0
            return {model: Totals.of_model(used) for model, used in since.items()}, rest
        if message.model_usage is None:
            return None, new_cost
        return models, _rest(new_cost, models)

    def _goes_on(self, now: Models, main: Totals | None) -> bool:
        """Whether the first report of a process includes what the last one reported."""
        if not all(model in now and now[model].covers(used) for model, used in self.models.items()):
            return False
        new = sum(now.values(), NOTHING) - sum(self.models.values(), NOTHING)
        return main is None or new.covers(main)


def _since(now: Totals, before: Totals | None) -> Totals:
    # Less than before: somebody has begun to count anew, and did not say so.
    return now if before is None or not now.covers(before) else now - before


def _rest(cost: float | None, models: Models) -> float | None:
    """Give the cost that is in no model's."""
    if cost is None:
        return None
    rest = cost - sum(used.cost_usd or 0.0 for used in models.values())
    # Less than that is what floats leave behind.
    return rest if abs(rest) > 1e-9 else 0.0


def convert(value: Any, kind: Any) -> Any:
    """Read what has no declared type; None if it is not what it should be."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
