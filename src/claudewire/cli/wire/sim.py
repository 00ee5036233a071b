"""`claudewire sim`: the simulated CLI, as `claudewire-sim` runs it."""

from __future__ import annotations

import sys

import click

__all__ = ["command"]

_SETTINGS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}


@click.command(context_settings=_SETTINGS, options_metavar="[FLAGS OF CLAUDE]")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[ARGUMENTS]...")
def command(arguments: tuple[str, ...]) -> None:
    """Be a simulated claude: no network, no account, no model.

    It takes the flags of the real one, and speaks the same protocol: `claudewire sim -p "Hello"`,
    or `--input-format stream-json --output-format stream-json` for programs. The environment
    variables CLAUDEWIRE_SIM_* choose a scenario, a version and faults. The program claudewire-sim
    is the same, and starts faster.
    """
    from ...simulator import __main__ as simulator

    sys.argv = ["claudewire-sim", *arguments]
    simulator.main()
