"""Makes a program `claude` that plays a scenario, for tools that filter the environment."""

from __future__ import annotations

import os
import shlex
import sys

from .scenario import load_scenario

__all__ = ["make_wrapper"]

MARK = "# Made by claudewire-sim --make-wrapper."


def make_wrapper(scenario: str, path: str) -> None:
    """Write a shell script that runs the simulated CLI with a scenario.

    Args:
        scenario: the scenario, as in `CLAUDEWIRE_SIM_SCENARIO`.
        path: the script. One that was made this way before is replaced.

    Raises:
        ValueError: the scenario is not valid.
        FileExistsError: there is something else.
        OSError: it cannot be read or written.
    """
    load_scenario(scenario)
    if os.path.exists(path) and not _is_ours(path):
        raise FileExistsError(f"{path} exists, and is no wrapper that can be replaced")
    file, colon, function = scenario.rpartition(":") if ".py:" in scenario else (scenario, "", "")
    where = os.path.abspath(file) + colon + function
    text = (
        f"#!/bin/sh\n{MARK}\nexport CLAUDEWIRE_SIM_SCENARIO={shlex.quote(where)}\n"
        f'exec {shlex.quote(sys.executable)} -P -m claudewire.simulator "$@"\n'
    )
    with open(path, "w", encoding="utf-8") as script:
        script.write(text)
    os.chmod(path, 0o755)


def _is_ours(path: str) -> bool:
    with open(path, "rb") as file:
        return MARK.encode() in file.read(200)
