"""Runs the scripted Messages API as a program."""

from __future__ import annotations

from .server import main

__all__: list[str] = []

main()
