"""`claudewire sessions`: the conversations that the CLI keeps on disk."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import click
import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..transcripts import Hit, SessionInfo, StoreError, Transcripts
from .console import clip, is_rich, markdown_lines, put, stdout
from .errors import CommandError, advice_of
from .reports import print_json
from .text import counted, one_line, safe

_FORMATS = click.Choice(["html", "md", "jsonl", "zip"])
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_LIMIT = ("-n", "--limit")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}


class SessionsReport(msgspec.Struct, frozen=True, kw_only=True):
    """A list of conversations."""

    version: Literal[1] = 1
    sessions: Sequence[SessionInfo]


class SearchReport(msgspec.Struct, frozen=True, kw_only=True):
    """The matches of a search, the best first."""

    version: Literal[1] = 1
    query: str
    hits: Sequence[Hit]


class TranscriptReport(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation with its lines, as the CLI wrote them."""

    version: Literal[1] = 1
    session: SessionInfo
    lines: list[dict[str, Any]]


def _time(text: str) -> datetime:
    """Read a time: a duration ago, or a date."""
    try:
        if ago := re.fullmatch(r"(\d+)([mhdw])", text):
            return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        advice = "write 90m, 2h, 3d, 2w, or a date such as 2026-11-17"
        raise click.BadParameter(f"{text!r} is not a time; {advice}") from None


class _Sessions(click.Group):
    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except StoreError as error:  # a query or a name that does not fit
            raise CommandError(error.message, advice=advice_of(error)) from error


@click.group(cls=_Sessions)
@click.option(
    "--config-dir",
    type=click.Path(exists=True, file_okay=False),
    metavar="DIR",
    help="The CLI's configuration; default: ~/.claude.",
)
@click.pass_context
def command(ctx: click.Context, /, config_dir: str | None) -> None:
    """List, read, search, export, resume and archive conversations.

    ID is the id of a conversation, or the beginning of its id.
    """
    ctx.obj = config_dir


def _store(ctx: click.Context) -> Transcripts:
    return ctx.with_resource(Transcripts(ctx.obj))


# --- reading -------------------------------------------------------------------------------------


@command.command("list", short_help="List conversations, the newest first.")
@click.argument("text", required=False)
@click.option("--project", metavar="DIR", help="Only conversations in this folder; . for this one.")
@click.option(
    "--since", type=_time, metavar="TIME", help="Only since this time: 2h, 3d, 2w, or 2026-11-17."
)
@click.option("--tag", help="Only conversations with this tag.")
@click.option("--running", is_flag=True, default=None, help="Only open conversations.")
@click.option(
    "--waiting", is_flag=True, default=None, help="Only conversations that wait for a person."
)
@click.option("--expiring", is_flag=True, help="Only conversations that the CLI will soon delete.")
@click.option("--archived", is_flag=True, help="Only archived conversations.")
@click.option(*_LIMIT, type=click.IntRange(min=1), default=30, show_default=True)
@_JSON
@click.pass_context
def list_sessions(
    ctx: click.Context, /, as_json: bool, expiring: bool, archived: bool, **given: Any
) -> None:
    """List conversations, the newest first; with TEXT, only those with TEXT in the title.

    A * marks an open conversation, a ? one that waits for a person.
    """
    store = _store(ctx)
    if archived or expiring:
        found = (store.archived() if archived else store.expiring())[: given["limit"]]
    else:
        found = store.list(**given)
    _print_list(found, as_json)
    if not found:
        click.echo("No conversations found.", err=True)


def _print_list(found: Sequence[SessionInfo], as_json: bool) -> None:
    if as_json:
        print_json(SessionsReport(sessions=found))
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="code", no_wrap=True)
    for _ in range(3):
        table.add_column(style="dim", justify="right", no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis")
    table.add_column(style="dim", no_wrap=True, overflow="ellipsis", max_width=30)
    for it in found:
        head = f"{_MARKS[it.status]} {safe(it.id[:8])}"
        cost = "" if it.cost_usd is None else f"${it.cost_usd:.2f}"
        title, place = one_line(it.title or "(no title)", 200), one_line(_place(it.cwd or ""), 200)
        table.add_row(
            head,
            f"{it.end.astimezone():%Y-%m-%d %H:%M}" if it.end else "",
            f"{it.prompts}p",
            cost,
            title,
            place,
        )
    stdout().print(table)


@command.command("show", short_help="Show a conversation.")
@click.argument("id")
@_JSON
@click.pass_context
def show_session(ctx: click.Context, /, id: str, as_json: bool) -> None:
    """Show the conversation ID: prompts, answers, tools and results."""
    store, console = _store(ctx), stdout()
    if as_json:
        transcript = store.open(id)
        lines = [entry.raw for entry in transcript.conversation()]
        print_json(TranscriptReport(session=transcript.info, lines=lines))
        return
    with TemporaryDirectory() as folder:
        path = store.export(id, Path(folder, "page.md"), redact=False)
        text = path.read_text(encoding="utf-8")
    if is_rich(sys.stdout):
        put(console, *markdown_lines(text, console.width))
    else:
        put(console, safe(text))


@command.command("search", short_help="Search all conversations.")
@click.argument("query", nargs=-1, required=True)
@click.option(*_LIMIT, type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--tools", is_flag=True, help="Search tool results, too.")
@_JSON
@click.pass_context
def search_sessions(
    ctx: click.Context, /, query: tuple[str, ...], limit: int, tools: bool, as_json: bool
) -> None:
    """Search all conversations for QUERY: words, "a phrase", role:user, project:NAME."""
    text, console = " ".join(query), stdout()
    if text.count('"') % 2:
        raise CommandError(f"A quotation mark is missing in {text}")
    with Transcripts(ctx.obj, tool_output=tools) as store:
        hits = store.search(text, limit=limit)
    if as_json:
        print_json(SearchReport(query=text, hits=hits))
        return
    for hit in hits:
        put(console, *_hit(console, hit))
    if not hits:
        click.echo("No matches.", err=True)


# --- changing ------------------------------------------------------------------------------------


@command.command("export", short_help="Write a conversation to a file.")
@click.argument("id")
@click.argument("file")
@click.option("--format", "format", type=_FORMATS, help="The format; default: by the name of FILE.")
@click.option("--keep-secrets", is_flag=True, help="Keep secrets, addresses and names.")
@click.option("--no-tool-output", is_flag=True, help="Leave tool results out.")
@click.pass_context
def export_session(
    ctx: click.Context,
    /,
    id: str,
    file: str,
    keep_secrets: bool,
    no_tool_output: bool,
    **given: Any,
) -> None:
    """Write the conversation ID to FILE: .html, .md, .jsonl, or .zip with everything."""
    redact, tool_output = not keep_secrets, not no_tool_output
    if not (folder := Path(file).absolute().parent).is_dir():
        raise CommandError(f"There is no folder {folder}")
    path = _store(ctx).export(id, file, redact=redact, tool_output=tool_output, **given)
    click.echo(f"Wrote {click.format_filename(path)}.", err=True)


@command.command("resume", short_help="Continue a conversation.")
@click.argument("id")
@click.option("--fork", is_flag=True, help="Continue in a copy; leave the original unchanged.")
@click.option("--cwd", metavar="DIR", help="The folder of the project, if it was moved.")
@click.option("--cli", metavar="PATH", help="The CLI to use.")
@click.pass_context
def resume_session(
    ctx: click.Context, /, id: str, fork: bool, cwd: str | None, cli: str | None
) -> Any:
    """Continue the conversation ID, as `chat` does, in its folder."""
    from .chat import command as chat

    options = _store(ctx).resume(id, fork=fork, cwd=cwd)
    words = ["--resume", str(options.resume), "--cwd", str(options.cwd)]
    words += ["--fork"] if fork else []
    words += [] if cli is None else ["--cli", cli]
    return chat.main(words, "claudewire chat", standalone_mode=False)


@command.command("archive", short_help="Archive conversations before the CLI deletes them.")
@click.option("--older-than", "days", type=float, default=20.0, metavar="DAYS", show_default=True)
@click.option("--restore", metavar="ID", help="Restore this conversation instead.")
@_JSON
@click.pass_context
def archive_sessions(
    ctx: click.Context, /, days: float, restore: str | None, as_json: bool
) -> None:
    """Archive conversations before the CLI deletes them, by default after 30 days.

    Conversations that have not changed for DAYS are linked or copied to another folder.
    """
    store = _store(ctx)
    if restore is not None:
        info = store.unarchive(restore)
        click.echo(f"Restored {safe(info.id)}.", err=True)
        return
    kept = store.archive(older_than=timedelta(days=days))
    if not as_json:
        click.echo(f"Archived {counted(len(kept), 'conversation')}.", err=True)
    _print_list(kept, as_json)


# --- lists ---------------------------------------------------------------------------------------

_MARKS = {"running": "*", "waiting": "?", "ended": " "}


def _place(cwd: str) -> str:
    """Shorten a folder by the home of the user."""
    home = str(Path.home())
    return f"~{cwd[len(home) :]}" if cwd == home or cwd.startswith(f"{home}/") else cwd


def _hit(console: Console, hit: Hit) -> Iterator[Text]:
    """Yield a match of a search: its conversation, then the text around it."""
    head = f"{hit.session.id[:8]}  {hit.role}  {hit.session.title or '(no title)'}"
    yield Text(one_line(head, console.width), "strong")
    around, last = Text("    "), 0
    for start, end in (*hit.spans, (len(hit.snippet), len(hit.snippet))):
        around.append(_flat(hit.snippet[last:start]))
        around.append(_flat(hit.snippet[start:end]), "heading")
        last = end
    yield clip(around, console.width)


def _flat(text: str) -> str:
    return safe(text.replace("\n", " ").replace("\t", " "))
