"""Broken input for the wire: `wire` throws it, `mutate` makes it out of `corpus`."""
