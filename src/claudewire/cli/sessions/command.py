"""The commands `sessions list`, `show`, `search`, `export`, `tail`, `resume` and `archive`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import click

from ...store import BlockingSessions, SessionInfo, Sessions
from ..errors import CommandError
from ..session_options import DURATION
from ..styles import Paint
from ..text import safe
from ..wire.lines import counted, put, width_of
from ..wire.reports import print_json
from .report import SearchReport, SessionsReport, TranscriptReport, hit_item, session_item
from .view import SessionView

__all__ = ["command"]

_FORMATS = click.Choice(["html", "md", "jsonl", "zip"])
_JSON = click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")


@click.group()
@click.option("--config-dir", metavar="DIR", help="The folder of the CLI; default: ~/.claude.")
@click.pass_context
def command(ctx: click.Context, /, config_dir: str | None) -> None:
    """List, read, search, export, follow, resume and archive conversations.

    A session is named by its id or the beginning of it.
    """
    ctx.obj = config_dir


def _store(ctx: click.Context) -> BlockingSessions:
    return ctx.with_resource(BlockingSessions(ctx.obj))


def _view() -> SessionView:
    return SessionView(Paint.for_stream(sys.stdout), width_of())


# --- looking -------------------------------------------------------------------------------------


@command.command("list", short_help="List conversations, the newest first.")
@click.argument("text", required=False)
@click.option("--project", metavar="DIR", help="Only those of this folder; . for this one.")
@click.option("--since", metavar="TIME", help="Only since then: 2h, 3d, 2w, or 2026-11-17.")
@click.option("--tag", help="Only those with this tag.")
@click.option("--running", is_flag=True, default=None, help="Only those that are open now.")
@click.option("--waiting", is_flag=True, default=None, help="Only those that wait for a person.")
@click.option("--expiring", is_flag=True, help="Only those that the CLI will soon delete.")
@click.option("--archived", is_flag=True, help="Those that `archive` has kept.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=30, show_default=True)
@_JSON
@click.pass_context
def list_sessions(
    ctx: click.Context, /, as_json: bool, expiring: bool, archived: bool, **given: Any
) -> None:
    """List conversations, the newest first; only those with TEXT in their title, if it is given.

    * marks one that is open in a process now, ? one that waits for a person.
    """
    store = _store(ctx)
    if archived:
        infos = store.archived()[: given["limit"]]
    elif expiring:
        infos = store.expiring()[: given["limit"]]
    else:
        infos = store.list(**{**given, "since": _moment(given["since"])})
    _print_list(infos, as_json)


def _print_list(infos: Iterable[SessionInfo], as_json: bool, none: str = "No session.") -> None:
    found = [*infos]
    if as_json:
        print_json(SessionsReport(sessions=[session_item(it) for it in found]))
        return
    view = _view()
    put(*view.rows(found))
    if not found and none:
        click.echo(none, err=True)


def _moment(text: str | None) -> datetime | None:
    """Read a time: so long ago, or a date."""
    if text is None:
        return None
    try:
        if text[-1:] in ("d", "w"):
            days = float(text[:-1]) * (7 if text.endswith("w") else 1)
            return datetime.now(UTC) - timedelta(days=days)
        if text[-1:] in ("h", "m", "s"):
            return datetime.now(UTC) - timedelta(seconds=DURATION.convert(text, None, None))
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, click.BadParameter) as error:
        advice = "Write 90m, 2h, 3d, 2w, or a date such as 2026-11-17."
        raise CommandError(f"--since {text}: this is not a time.", advice=advice) from error


@command.command("show", short_help="Show a conversation.")
@click.argument("id")
@click.option("--branch", metavar="UUID", help="A line on the branch to show.")
@_JSON
@click.pass_context
def show_session(ctx: click.Context, /, id: str, branch: str | None, as_json: bool) -> None:
    """Show the conversation ID: prompts, answers, tools and their results."""
    transcript = _store(ctx).open(id)
    entries = transcript.conversation(branch)
    if as_json:
        lines = [entry.raw for entry in entries]
        print_json(TranscriptReport(session=session_item(transcript.info), lines=lines))
        return
    view = _view()
    put(*view.head(transcript.info))
    for entry in entries:
        put(*view.entry(entry))


@command.command("search", short_help="Search all conversations.")
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--tools", is_flag=True, help="Search what tools returned, too.")
@_JSON
@click.pass_context
def search_sessions(
    ctx: click.Context, /, query: tuple[str, ...], limit: int, tools: bool, as_json: bool
) -> None:
    """Search all conversations for QUERY: words, "a phrase", role:user, project:NAME."""
    text = " ".join(query)
    with BlockingSessions(ctx.obj, tool_output=tools) as store:
        hits = store.search(text, limit=limit)
    if as_json:
        print_json(SearchReport(query=text, hits=[hit_item(it) for it in hits]))
        return
    view = _view()
    for hit in hits:
        put(*view.hit(hit))
    if not hits:
        click.echo("Nothing was found.", err=True)


@command.command("tail", short_help="Follow a conversation that goes on elsewhere.")
@click.argument("id")
@click.option("--from-start", is_flag=True, help="Show what was said before, too.")
@click.pass_context
def tail_session(ctx: click.Context, /, id: str, from_start: bool) -> None:
    """Follow the conversation ID while another process goes on with it. Ctrl-C ends it."""
    anyio.run(_tail, ctx.obj, id, from_start)


async def _tail(config_dir: str | None, id: str, from_start: bool) -> None:
    view = _view()
    async with Sessions(config_dir) as store:
        transcript = await store.open(id)
        put(*view.head(transcript.info))
        async for entry in transcript.tail(from_start=from_start):
            put(*view.entry(entry))


# --- doing ---------------------------------------------------------------------------------------


@command.command("export", short_help="Write a conversation to a file.")
@click.argument("id")
@click.argument("file")
@click.option("--format", "format", type=_FORMATS, help="If the name of FILE does not say it.")
@click.option("--keep-secrets", is_flag=True, help="Do not remove secrets, addresses and names.")
@click.option("--no-tool-output", is_flag=True, help="Leave out what tools returned.")
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
    path = _store(ctx).export(id, file, redact=redact, tool_output=tool_output, **given)
    click.echo(f"Wrote {click.format_filename(path)}.", err=True)


@command.command("resume", short_help="Go on with a conversation.")
@click.argument("id")
@click.option("--fork", is_flag=True, help="Go on in a new conversation, and leave this one.")
@click.option("--cwd", metavar="DIR", help="Where the project is now, if it was moved.")
@click.option("--cli", metavar="PATH", help="The CLI to use.")
@click.pass_context
def resume_session(
    ctx: click.Context, /, id: str, fork: bool, cwd: str | None, cli: str | None
) -> Any:
    """Go on with the conversation ID, as `chat` does, in the folder that it worked in."""
    from ..chat import command as chat

    options = _store(ctx).resume(id, fork=fork, cwd=cwd)
    words = ["--resume", str(options.resume), "--cwd", str(options.cwd)]
    words += ["--fork"] if fork else []
    words += [] if cli is None else ["--cli", cli]
    return chat.main(words, "claudewire chat", standalone_mode=False)


@command.command("archive", short_help="Keep conversations before the CLI deletes them.")
@click.option("--older-than", "days", type=float, default=20.0, metavar="DAYS", show_default=True)
@click.option("--restore", metavar="ID", help="Bring one back instead.")
@_JSON
@click.pass_context
def archive_sessions(
    ctx: click.Context, /, days: float, restore: str | None, as_json: bool
) -> None:
    """Keep conversations before the CLI deletes them, which it does after 30 days.

    What has not changed for so many days is linked or copied to a folder that the CLI leaves alone.
    """
    store = _store(ctx)
    if restore is not None:
        info = store.unarchive(restore)
        click.echo(f"{safe(info.id)} is back.", err=True)
        return
    kept = store.archive(older_than=timedelta(days=days))
    if not as_json:
        click.echo(f"{counted(len(kept), 'conversation')} newly kept.", err=True)
    _print_list(kept, as_json, none="")
