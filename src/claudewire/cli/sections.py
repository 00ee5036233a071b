"""A click command whose help shows its options under headings."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["SectionedCommand", "SectionedOption"]


class SectionedOption(click.Option):
    """An option with a place in the help.

    Args:
        section: the heading that it is shown under.
    """

    def __init__(self, *arguments: Any, section: str = "Options", **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help shows its options under their headings, in the order of declaration."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, SectionedOption):
                sections.setdefault(parameter.section, []).append(record)
        for heading, records in sections.items():
            with formatter.section(heading):
                formatter.write_dl(records, col_max=24)
