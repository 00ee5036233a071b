"""The number of examples of a property, in proportion to the profile."""

from __future__ import annotations

from hypothesis import settings

__all__ = ["examples"]


def examples(times: float) -> settings:
    """Give a property so many times the usual number.

    Fewer where it is tried with every row of a table, which is what varies most; more where the
    space is large. A number would hold in every profile: also when there should be few, or many.
    """
    usual = settings().max_examples
    return settings(max_examples=max(1, round(usual * times)))
