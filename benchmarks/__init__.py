"""Benchmarks beside the official SDK and bare loops; `scripts/bench` runs them.

`table.py` says what is measured and what is demanded. `ours.py`, `official.py` and `bare.py` do it,
each in processes of its own, with `fake_cli.py` at the other end. `__main__.py` lets them take
turns and prints the ratios; `page.py` puts them into docs/performance.md.
"""
