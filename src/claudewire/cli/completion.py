"""`claudewire completion`: what to add to a shell so that it completes commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]

_HOW = {
    "bash": '# Add to ~/.bashrc:  eval "$(claudewire completion bash)"\n',
    "zsh": '# Add to ~/.zshrc, after compinit:  eval "$(claudewire completion zsh)"\n',
    "fish": "# Save as ~/.config/fish/completions/claudewire.fish\n",
}


HELP = """\
Print the completion script for a SHELL.

\b
bash:  eval "$(claudewire completion bash)"      in ~/.bashrc
zsh:   eval "$(claudewire completion zsh)"       in ~/.zshrc, after compinit
fish:  claudewire completion fish > ~/.config/fish/completions/claudewire.fish
"""


@click.command(help=HELP)
@click.argument("shell", type=click.Choice([*_HOW]))
@click.pass_context
def command(ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    group = ctx.find_root().command
    source = kind(group, {}, "claudewire", "_CLAUDEWIRE_COMPLETE").source()
    click.echo(_HOW[shell] + source)
