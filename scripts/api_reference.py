"""Makes docs/api.md out of the docstrings of the public names.

Signatures are taken from the source, as they are written there, and not from the running objects.
"""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

import claudewire

HEAD = """\
# API reference

Every public name, made of the docstrings by `scripts/docs --write`. What is public in a submodule
stands below what can be had as `claudewire.…`. Guides: [sessions](sessions.md),
[turns](turns.md), [limits](limits.md), [errors](errors.md), [people](people.md),
[tools](tools.md), [hooks](hooks.md), [agents](agents.md), [testing](testing.md).
"""

GROUPS = {
    "Ways in": "open run Session Pool session.PoolStats",
    "Turns": "Turn TurnState Reply tracking.LiveBlock Text Image Document",
    "Options": "Options Timeouts Unread Patience Budget Price session.Escalation",
    "What a session tells": "SessionState session.SessionEvent session.StateChanged "
    "session.TurnStarted session.UnreadLimitReached session.BudgetAlert tracking.Alert "
    "session.Stall session.StderrOutput session.Waiting options.WaitingFor session.Subscription "
    "session.InterruptReceipt BackgroundTask tracking.TaskTable tracking.Ledger tracking.Totals "
    "Transport",
    "People": "PermissionRequest PermissionResult PermissionResultAllow PermissionResultDeny "
    "QuestionRequest PlanRequest ElicitationRequest DialogRequest Inbox Terminal people.Remote "
    "deny_everything people.policy_then allow_everything_dangerously Policy Rule "
    "policy.JsonLinesAudit",
    "Tools, hooks, agents": "tool Tool ToolContext ToolResult ToolError tools.ToolFile "
    "tools.ResourceLink ToolServer Hooks Hook HookContext Agent",
    "Errors": "Error OptionsError CLIError CLINotFoundError Cause Evidence SessionClosed "
    "RequestError UnsupportedRequest RequestTimeout TurnError TurnCancelled BudgetExceeded "
    "TurnStalled OutputError TransportClosed errors.LocalProtocolError",
}
"""Names by topic, in the order in which they are best read. The others follow."""

MESSAGES = "What the CLI says; [protocol-reference.md](protocol-reference.md) has their fields."

MODULES = {
    "claudewire.sync": "The same verbs without async.",
    "claudewire.session": "Events of a session, and the types of what its methods take and return.",
    "claudewire.people": "Requests to a person, and who answers them; see [people.md](people.md).",
    "claudewire.tools": "Tools out of functions; see [tools.md](tools.md).",
    "claudewire.tracking": "Tokens, money, budgets and background tasks.",
    "claudewire.errors": "Every error, and the evidence that it carries.",
    "claudewire.launch": "How the CLI is found and started.",
    "claudewire.transport": "The seam that carries bytes.",
    "claudewire.hooks": "What hooks return; [hooks.md](hooks.md) says where each fits.",
    "claudewire.policy": "Policies, their explanations and records.",
    "claudewire.options": "Subagents.",
    "claudewire.testing": "Doubles for tests; [testing.md](testing.md) shows them at work.",
    "claudewire.simulator.faults": "The `faults` of `claudewire.testing`.",
    "claudewire.wire": "The protocol without I/O.",
}
"""Submodules whose public names are listed, each with a sentence."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Example):$", re.MULTILINE)
WIDTH = 96


class Member(NamedTuple):
    name: str
    node: Function
    inherited: bool


def reference() -> str:
    """Give the whole page."""
    public = [name for name in claudewire.__all__ if name != "__version__"]
    parts = [HEAD]
    grouped: set[str] = set()
    for title, names in GROUPS.items():
        grouped |= {*names.split()}
        parts += [f"## {title}\n", *map(entry, names.split())]
    rest = [name for name in public if name not in grouped]
    parts += ["## Messages\n", f"{MESSAGES}\n", listed(claudewire, rest)]
    for module, sentence in MODULES.items():
        loaded = importlib.import_module(module)
        parts += [f"## {module}\n", f"{sentence}\n", listed(loaded, loaded.__all__)]
    return "\n".join(parts)


def listed(module: Any, names: Iterable[str]) -> str:
    rows = ["| name | |", "|---|---|"]
    rows += [f"| `{name}` | {first_sentence(getattr(module, name))} |" for name in names]
    return "\n".join(rows) + "\n"


def first_sentence(thing: Any) -> str:
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        return ""
    paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def entry(name: str) -> str:
    """Describe one public name, of the top level or of a package: `session.Subscription`."""
    package, _, last = name.rpartition(".")
    thing = getattr(importlib.import_module(f"claudewire.{package}".rstrip(".")), last)
    if inspect.isclass(thing):
        return class_entry(name, thing)
    if inspect.isfunction(thing):
        node = source_of(thing)
        assert isinstance(node, Function)
        return f"### {name}\n\n{signature(node)}\n\n{prose(ast.get_docstring(node))}\n"
    return (
        f"### {name}\n\n`{name} = {thing}`".replace("claudewire.wire.types.permissions.", "") + "\n"
    )


def class_entry(name: str, thing: type[Any]) -> str:
    parts = [f"### {name}\n"]
    if "Args:" in (thing.__doc__ or "") and (constructor := made_by(thing)):
        parts.append(f"{constructor}\n")
    parts.append(f"{prose(inspect.getdoc(thing))}\n")
    if issubclass(thing, enum.Enum):
        parts.append(values(thing))
    elif is_dataclass(thing) and "Attributes:" not in (thing.__doc__ or ""):
        parts.append(described_fields(thing))
    found = [*members(thing)]
    parts += [method(member) for member in found if not member.inherited]
    if inherited := [member for member in found if member.inherited]:
        parts.append("Also:\n")
        parts.append("\n".join(f"- {brief(member)}" for member in inherited) + "\n")
    return "\n".join(part for part in parts if part.strip())


# --- classes --------------------------------------------------------------------------------------


def source_of(thing: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def class_node(thing: type[Any]) -> ast.ClassDef:
    node = source_of(thing)
    assert isinstance(node, ast.ClassDef)
    return node


def made_by(thing: type[Any]) -> str:
    """Say how one is made, if its own source says it."""
    for base in ours(thing):
        for node in class_node(base).body:
            if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                return signature(node, called=thing.__name__)
    return ""


def ours(thing: type[Any]) -> list[type[Any]]:
    return [base for base in thing.__mro__ if base.__module__.startswith("claudewire.")]


def members(thing: type[Any]) -> Iterator[Member]:
    """Yield the public methods and properties, those of the class itself first."""
    seen: set[str] = set()
    for base in ours(thing):
        for node in class_node(base).body:
            if not isinstance(node, Function):
                continue
            if node.name.startswith("_") or node.name in seen or not ast.get_docstring(node):
                continue
            seen.add(node.name)
            yield Member(node.name, node, base is not thing and base in shared_bases())


@cache
def shared_bases() -> set[type[Any]]:
    """Find what several public classes derive from; what only one does is as good as its own."""
    public = [getattr(claudewire, name) for name in claudewire.__all__]
    bases = Counter(base for it in public if inspect.isclass(it) for base in ours(it)[1:])
    return {base for base, times in bases.items() if times > 1}


def is_property(node: Function) -> bool:
    return any(isinstance(it, ast.Name) and it.id == "property" for it in node.decorator_list)


def method(member: Member) -> str:
    doc = ast.get_docstring(member.node) or ""
    if is_property(member.node):
        return f"`{member.name}: {returned(member.node)}`: {prose(doc)}\n"
    if "\n\n" not in doc:
        call = f"{head_of(member.node)}({', '.join(arguments(member.node.args))})"
        return f"`{call.replace('def ', '')} -> {returned(member.node)}`: {prose(doc)}\n"
    return f"#### {member.name}\n\n{signature(member.node)}\n\n{prose(doc)}\n"


def brief(member: Member) -> str:
    sentence = " ".join((ast.get_docstring(member.node) or "").partition("\n\n")[0].split())
    call = "" if is_property(member.node) else "()"
    return f"`{member.name}{call}`: {sentence}"


def values(thing: type[enum.Enum]) -> str:
    told = dict(described(class_node(thing)))
    rows = [
        f"- `{name}`: “{member.value}”{'. ' + told[name] if told.get(name) else ''}"
        for name, member in thing.__members__.items()
    ]
    return "\n".join(rows) + "\n"


def described(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Yield what stands in a text right after a field."""
    for field, after in pairwise([*node.body, ast.Pass()]):
        target = getattr(field, "target", None) or next(iter(getattr(field, "targets", [])), None)
        text = after.value.value if isinstance(after, ast.Expr) else ""  # type: ignore[attr-defined]
        if isinstance(target, ast.Name):
            yield target.id, " ".join(inspect.cleandoc(str(text)).split())


def described_fields(thing: type[Any]) -> str:
    """Make tables of the fields of a class and its bases, with the headings of its source."""
    rows: list[str] = []
    for base in reversed(ours(thing)):
        lines = textwrap.dedent(inspect.getsource(base)).splitlines()
        told = dict(described(class_node(base)))
        for node in class_node(base).body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                above = lines[node.lineno - 3] if node.lineno > 2 else ""
                if heading := re.match(r"\s*# --- (.*?) -+$", above):
                    rows += [
                        "",
                        f"**{heading[1][0].upper()}{heading[1][1:]}**",
                        "",
                        "| | | |",
                        "|---|---|---|",
                    ]
                rows.append(field_row(node, told[node.target.id]))
    table = rows if rows and not rows[0].startswith("|") else ["| | | |", "|---|---|---|", *rows]
    return "\n".join(table).strip() + "\n" if rows else ""


def field_row(node: ast.AnnAssign, told: str) -> str:
    kind = ast.unparse(node.annotation).replace("|", "\\|")
    assert isinstance(node.target, ast.Name)
    return f"| `{node.target.id}` | `{kind}` | {told.replace('|', chr(92) + '|')} |"


# --- functions ------------------------------------------------------------------------------------


def signature(node: Function, called: str = "") -> str:
    """Write a function as in its source, without its body."""
    words = [*arguments(node.args)]
    head, tail = called or head_of(node), "" if called else f" -> {returned(node)}: ..."
    line = f"{head}({', '.join(words)}){tail}"
    if len(line) > WIDTH:
        line = f"{head}(\n" + "".join(f"    {word},\n" for word in words) + f"){tail}"
    return f"```{'text' if called else 'python'}\n{line}\n```"


def head_of(node: Function) -> str:
    return f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {node.name}"


def arguments(given: ast.arguments) -> Iterator[str]:
    """Yield each argument as it is written, without `self`."""
    positional = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        if index or argument.arg not in ("self", "cls"):
            yield written(argument, default)
    if given.vararg:
        yield f"*{written(given.vararg)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield written(argument, default)
    if given.kwarg:
        yield f"**{written(given.kwarg)}"


def written(argument: ast.arg, default: ast.expr | None = None) -> str:
    hint = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
    return f"{argument.arg}{hint}" + ("" if default is None else f" = {ast.unparse(default)}")


def returned(node: Function) -> str:
    return ast.unparse(node.returns) if node.returns else "None"


# --- docstrings -----------------------------------------------------------------------------------


def prose(text: str | None) -> str:
    """Make Markdown of a docstring in Google's style."""
    pieces = SECTION.split(inspect.cleandoc(text or ""))
    parts = [pieces[0].strip()]
    for title, body in zip(pieces[1::2], pieces[2::2], strict=True):
        parts.append(section(title, textwrap.dedent(body).strip("\n")))
    return "\n\n".join(part for part in parts if part)


def section(title: str, body: str) -> str:
    if title in ("Returns", "Yields"):
        return f"Gives {body[0].lower()}{' '.join(body[1:].split())}"
    if title == "Example":
        return textwrap.indent(body, "    ")
    items = re.split(r"\n(?=\S)", body)
    entries = [" ".join(item.split()).partition(": ") for item in items]
    lines = [f"- `{name}`: {told}" if told else f"- {name}" for name, _, told in entries]
    return {"Args": "", "Attributes": "", "Raises": "Raises:\n\n"}[title] + "\n".join(lines)
