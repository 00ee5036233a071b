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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import timedelta
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar, get_overloads

import claudewire
from claudewire.wire import Record

HEAD = """\
# API reference

Every public name, generated from the docstrings by `scripts/docs --write`. The first sections have
what can be imported from `claudewire` itself; then come the packages, each with what else it
exports. The guides explain how these work together: [sessions](sessions.md), [turns](turns.md),
[limits](limits.md), [errors](errors.md), [people](people.md), [policies](policies.md),
[inbox](inbox.md), [tools](tools.md), [hooks](hooks.md), [agents](agents.md), [testing](testing.md).
"""

GROUPS = {
    "Entry points": "open run Session Pool Sessions",
    "Turns": "Turn TurnState Reply tracking.LiveBlock Text Image Document",
    "Options": "Options Timeouts Unread Patience Budget Price session.Escalation",
    "State and events of a session": "SessionState session.SessionEvent session.StateChanged "
    "session.TurnStarted session.UnreadLimitReached session.BudgetAlert tracking.Alert "
    "session.Stall session.StderrOutput session.Waiting options.WaitingFor session.Subscription "
    "session.InterruptReceipt BackgroundTask tracking.TaskTable tracking.Ledger tracking.Totals "
    "Transport",
    "People": "PermissionRequest PermissionResult PermissionResultAllow PermissionResultDeny "
    "QuestionRequest PlanRequest ElicitationRequest DialogRequest Inbox Terminal people.Remote "
    "deny_everything people.policy_then allow_everything_dangerously Policy Rule "
    "policy.JsonLinesAudit",
    "Tools, hooks, agents": "tool Tool ToolContext ToolResult ToolError tools.ToolFile "
    "tools.ResourceLink ToolServer Hooks Hook HookContext hooks.HookResult Agent",
    "Errors": "Error OptionsError CLIError CLINotFoundError Cause Evidence SessionClosed "
    "errors.SessionFailed RequestError UnsupportedRequest RequestTimeout TurnError TurnCancelled "
    "BudgetExceeded TurnStalled OutputError AnswerError hooks.HookResultError "
    "errors.TransportClosed errors.LocalProtocolError",
}
"""Names by topic, in the order in which they are best read. The others follow.

A name with a dot is imported from that package, the others from `claudewire`.
"""

MESSAGES = (
    "Messages, content blocks and other events; [protocol-reference.md](protocol-reference.md) has "
    "their fields."
)


class Package(NamedTuple):
    """A package: what to say about it, and which of its names are described in full."""

    sentence: str
    in_full: str = ""


PACKAGES = {
    "sync": Package(
        "The same API without async; see [sessions.md](sessions.md#without-async).",
        "open run Session Turn Pool Reader Subscription Sessions",
    ),
    "session": Package(
        "Sessions and pools.", "PooledSession PoolStats TasksAtEnd Priority Queued Timeout"
    ),
    "store": Package(
        "Conversations on disk, and stores elsewhere; see [conversations.md](conversations.md).",
        "Transcript SessionInfo Hit AgentInfo BranchInfo Finding Trashed Entry UserEntry "
        "AssistantEntry SessionStore SqliteStore DirectoryStore store_mirrored",
    ),
    "people": Package(
        "Requests for a person, and the types of handlers.",
        "PermissionHandler QuestionHandler PlanHandler ElicitationHandler DialogHandler Person "
        "Pending PendingKind PendingState Change Changes Suggestion Form Field Choice AnswerForm",
    ),
    "policy": Package(
        "Policies, their explanations, and the records of decisions.",
        "Decision DecisionRecord Audit Explanation ToolReach Shadow",
    ),
    "hooks": Package(
        "The results of hooks; [hooks.md](hooks.md#results) says which event takes which.",
        "HookEvent OnFailure",
    ),
    "tools": Package("Tools and their servers."),
    "options": Package("Options, and how they are declared."),
    "launch": Package("From options to a running CLI.", "Connect launch_of"),
    "transport": Package(
        "What carries bytes to a CLI and back: for CLIs elsewhere, and for recordings.",
        "Launch spawn MemoryTransport memory_pair Recording RecordingTransport ReplayTransport",
    ),
    "recordings": Package(
        "Recordings for people: as a timeline, as a page, and compared with each other.",
        "Timeline Step Exchange Latency Comparison read compare page",
    ),
    "tracking": Package("What is counted.", "ContextWindow RateLimit Retry"),
    "errors": Package("Evidence, diagnosis and redaction."),
    "schemas": Package("Python types as JSON Schema."),
    "testing": Package(
        "Doubles for tests; [testing.md](testing.md) shows how to use them.",
        "SimulatedCLI Chat ToolOutcome Script SimulatedCLIFactory SimulatedProgramFactory "
        "RecordingFactory CageFactory Cage ScriptedAPI WireLog",
    ),
    "simulator.faults": Package("The `faults` of `claudewire.testing`."),
    "wire": Package("The protocol without I/O.", "Connection"),
}
"""The packages whose names are listed, in the order of the page."""

Function = ast.FunctionDef | ast.AsyncFunctionDef

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields|Example):$", re.MULTILINE)
WIDTH = 96
MANY_FIELDS = 20
PLAIN = {"EMPTY": "{}", "MAX_LINE": "256 * 2**20"}
"""Constants that are defaults, as users would write them where their value alone would not do."""
CONSTANT = re.compile(r"[A-Z][A-Z_]+(\.\w+)?")
FIELDS_HEAD = ["| | type | default | |", "|---|---|---|---|"]


Names = Mapping[str, Any]
"""What the names in a module stand for."""


class Member(NamedTuple):
    name: str
    node: Function
    inherited: bool
    names: Names


def reference() -> str:
    """Return the whole page."""
    parts = [HEAD]
    grouped = [name for names in GROUPS.values() for name in names.split()]
    for title, names in GROUPS.items():
        parts += [f"## {title}\n", *(entry(name) for name in names.split())]
    rest = [name for name in claudewire.__all__ if name not in {*grouped, "__version__"}]
    parts += ["## Messages\n", f"{MESSAGES}\n", listed(rest)]
    for name, package in PACKAGES.items():
        parts += package_section(name, package, {*grouped, *claudewire.__all__})
    return "\n".join(parts)


def package_section(name: str, package: Package, told: set[str]) -> Iterator[str]:
    """Yield what there is in a package: some names in full, the others in a table."""
    module = importlib.import_module(f"claudewire.{name}")
    yield f"## {module.__name__}\n"
    yield f"{package.sentence}\n"
    in_full = [f"{name}.{it}" for it in package.in_full.split()]
    yield from map(entry, in_full)
    names = [f"{name}.{it}" for it in module.__all__ if is_news(module, it)]
    if rest := [it for it in names if it not in {*in_full, *told}]:
        yield from (["Also:\n"] if in_full else [])
        yield listed(rest)


def is_news(module: ModuleType, name: str) -> bool:
    """Whether a name stands for something that is not described as `claudewire.…` already."""
    thing = getattr(module, name)
    return getattr(claudewire, name, None) is not thing and not isinstance(thing, TypeVar)


def home_of(path: str) -> tuple[ModuleType, str]:
    """Find the package of a name. One that it does not export is a mistake in the lists above."""
    package, _, name = path.rpartition(".")
    module = importlib.import_module(f"claudewire.{package}" if package else "claudewire")
    if name not in module.__all__:
        raise SystemExit(f"{module.__name__} does not export {name}; see {__file__}")
    return module, name


def listed(paths: Iterable[str]) -> str:
    rows = ["| name | |", "|---|---|"]
    rows += [f"| `{path.rpartition('.')[2]}` | {first_sentence(path)} |" for path in paths]
    return "\n".join(rows) + "\n"


def first_sentence(path: str) -> str:
    module, name = home_of(path)
    thing = getattr(module, name)
    if inspect.isclass(thing) or inspect.isroutine(thing):
        paragraph = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    elif inspect.ismodule(thing):
        paragraph = (thing.__doc__ or "").partition("\n\n")[0]
    else:
        code, told = definition(module, name)
        paragraph = (
            told or f"`{textwrap.shorten(code.partition(' = ')[2], WIDTH, placeholder=' …')}`"
        )
    return " ".join(paragraph.split()).replace("|", "\\|")


def entry(path: str) -> str:
    """Describe one public name in full."""
    module, name = home_of(path)
    thing = getattr(module, name)
    if inspect.isclass(thing):
        return class_entry(path, thing)
    if inspect.isfunction(thing):
        node = source_of(thing)
        assert isinstance(node, Function)
        return f"### {path}\n\n{signatures(thing)}\n\n{prose(ast.get_docstring(node))}\n"
    code, told = definition(module, name)
    return f"### {path}\n\n```python\n{code}\n```\n\n{told}".strip() + "\n"


def definition(module: ModuleType, name: str) -> tuple[str, str]:
    """Find how a name that is neither a class nor a function is defined, and what is said of it."""
    folder = Path(module.__file__ or "").parent
    everywhere = Path(claudewire.__file__).parent
    for path in chain(_files(folder), _files(everywhere)):
        for node, after in pairwise([*_body(path), ast.Pass()]):
            if name in [ast.unparse(target) for target in targets(node)]:
                told = after.value.value if is_string(after) else ""  # type: ignore[attr-defined]
                return ast.unparse(node), " ".join(inspect.cleandoc(told).split())
    raise SystemExit(f"{module.__name__}.{name} is defined nowhere")


@cache
def _files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


@cache
def _body(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text(encoding="utf-8")).body


def targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def is_string(node: ast.stmt) -> bool:
    value = getattr(node, "value", None)
    return isinstance(node, ast.Expr) and isinstance(getattr(value, "value", None), str)


def class_entry(name: str, thing: type[Any]) -> str:
    parts = [f"### {name}\n"]
    doc = inspect.getdoc(thing) or ""
    if is_called(thing):
        doc = doc.partition("\n\nArgs:")[0]
    elif constructor := made_by(thing):
        parts.append(f"{constructor}\n")
    parts.append(f"{prose(doc)}\n")
    if issubclass(thing, enum.Enum):
        parts.append(values(thing))
    elif fields_of(thing) and not re.search("(Args|Attributes):", thing.__doc__ or ""):
        parts.append(described_fields(thing))
    found = [*members(thing)]
    parts += [method(member) for member in found if not member.inherited]
    if inherited := [member for member in found if member.inherited]:
        parts.append("Also:\n")
        parts.append("\n".join(f"- {brief(member)}" for member in inherited) + "\n")
    return "\n".join(part for part in parts if part.strip())


# --- classes --------------------------------------------------------------------------------------


def source_of(thing: Any) -> ast.stmt:
    return _source_of(thing)


@cache
def _source_of(thing: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(thing))).body[0]


def class_node(thing: type[Any]) -> ast.ClassDef:
    node = source_of(thing)
    assert isinstance(node, ast.ClassDef)
    return node


def made_by(thing: type[Any]) -> str:
    """Say how one is made, if users make such objects: its docstring has the arguments then."""
    if re.search(r"Args:|^Arguments\b", inspect.getdoc(thing) or "", re.MULTILINE):
        for base in ours(thing):
            for node in class_node(base).body:
                if isinstance(node, ast.FunctionDef) and node.name == "__init__":
                    return signature(node, names_of(base), called=thing.__name__)
    return dataclass_call(thing) if fields_of(thing) and not is_long(thing) else ""


def fields_of(thing: type[Any]) -> tuple[str, ...]:
    """The fields of a class that the page shows; docs/protocol.md has those of records."""
    if is_dataclass(thing):
        return tuple(field.name for field in fields(thing))
    if issubclass(thing, Record):
        return ()
    names: Any = getattr(thing, "_fields", None) or getattr(thing, "__struct_fields__", ())
    return tuple(getattr(thing, "_declarations", names))


def is_called(thing: type[Any]) -> bool:
    """Whether users call objects of this class, which they get from a fixture, and make none."""
    return bool(getattr(thing.__call__, "__doc__", None)) and thing.__name__.endswith("Factory")


def is_long(thing: type[Any]) -> bool:
    """Whether a class has a table of its fields, with their defaults."""
    return len(fields_of(thing)) > MANY_FIELDS


def dataclass_call(thing: type[Any]) -> str:
    words = [
        f"{node.target.id}: {ast.unparse(node.annotation)}{' = ' + default if default else ''}"
        for base in reversed(ours(thing))
        for node in class_node(base).body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
        for default in [default_of(node, names_of(base))]
        if not node.target.id.startswith("_") and "ClassVar" not in ast.unparse(node.annotation)
    ]
    return call(thing.__name__, words, "", "text") if words else ""


def names_of(thing: Any) -> Names:
    return vars(importlib.import_module(thing.__module__))


def default_of(node: ast.AnnAssign, names: Names) -> str:
    """The default of a field as it is written, without what declares the field around it."""
    value = node.value
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("option", "field"):
        for keyword in value.keywords:
            if keyword.arg == "default":
                return plain(keyword.value, names)
            if keyword.arg in ("factory", "default_factory"):
                made = ast.unparse(keyword.value)
                return f"{made}()" if made.isidentifier() else made.removeprefix("lambda: ")
        return plain(value.args[0], names) if value.args else ""
    return "" if value is None else plain(value, names)


def plain(default: ast.expr, names: Names) -> str:
    """Write a default as a user would: a private constant as its value."""
    text = ast.unparse(default)
    if text in PLAIN or not CONSTANT.fullmatch(text):
        return PLAIN.get(text, text)
    value = eval(text, dict(names))
    known = type(value) in (str, int, float, timedelta)
    return repr(value).removeprefix("datetime.") if known else text


def ours(thing: type[Any]) -> list[type[Any]]:
    return [base for base in thing.__mro__ if base.__module__.startswith("claudewire.")]


def members(thing: type[Any]) -> Iterator[Member]:
    """Yield the public methods and properties, those of the class itself first."""
    seen: set[str] = set()
    for base in ours(thing):
        for node in class_node(base).body:
            if not isinstance(node, Function):
                continue
            is_private = node.name.startswith("_") and node.name != "__call__"
            if is_private or node.name in seen or not ast.get_docstring(node):
                continue
            seen.add(node.name)
            inherited = base is not thing and base in shared_bases()
            yield Member(node.name, node, inherited, names_of(base))


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
        call = f"{head_of(member.node)}({', '.join(arguments(member.node.args, member.names))})"
        return f"`{call.replace('def ', '')} -> {returned(member.node)}`: {prose(doc)}\n"
    title = "calling it" if member.name == "__call__" else member.name
    return f"#### {title}\n\n{signature(member.node, member.names)}\n\n{prose(doc)}\n"


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
    names = fields_of(thing)
    for base in reversed(ours(thing)):
        lines = textwrap.dedent(inspect.getsource(base)).splitlines()
        told = dict(described(class_node(base)))
        for node in class_node(base).body:
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) in names:
                above = lines[node.lineno - 3] if node.lineno > 2 else ""
                if heading := re.match(r"\s*# --- (.*?) -+$", above):
                    rows += [
                        "",
                        f"**{heading[1][0].upper()}{heading[1][1:]}**",
                        "",
                        *FIELDS_HEAD,
                    ]
                rows.append(field_row(node, told[ast.unparse(node.target)], names_of(base)))
    table = rows if rows and not rows[0].startswith("|") else [*FIELDS_HEAD, *rows]
    return "\n".join(table).strip() + "\n" if rows else ""


def field_row(node: ast.AnnAssign, told: str, names: Names) -> str:
    assert isinstance(node.target, ast.Name)
    kind, default = f"`{ast.unparse(node.annotation)}`", default_of(node, names)
    cells = [f"`{node.target.id}`", kind, f"`{default}`" if default else "", told]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


# --- functions ------------------------------------------------------------------------------------


def signatures(function: Any) -> str:
    """Write a function, or each of its overloads, as in its source, without its body."""
    nodes = [source_of(it) for it in get_overloads(function) or [function]]
    names = names_of(function)
    return "\n\n".join(signature(node, names) for node in nodes if isinstance(node, Function))


def signature(node: Function, names: Names, called: str = "") -> str:
    """Write a function as in its source, without its body."""
    words = [*arguments(node.args, names)]
    if called:
        return call(called, words, "", "text")
    return call(head_of(node), words, f" -> {returned(node)}: ...", "python")


def call(head: str, words: list[str], tail: str, language: str) -> str:
    line = f"{head}({', '.join(words)}){tail}"
    if len(line) > WIDTH:
        line = f"{head}(\n" + "".join(f"    {word},\n" for word in words) + f"){tail}"
    return f"```{language}\n{line}\n```"


def head_of(node: Function) -> str:
    return f"{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}def {node.name}"


def arguments(given: ast.arguments, names: Names) -> Iterator[str]:
    """Yield each argument as it is written, without `self`."""
    positional = [*given.posonlyargs, *given.args]
    defaults = [*[None] * (len(positional) - len(given.defaults)), *given.defaults]
    for index, (argument, default) in enumerate(zip(positional, defaults, strict=True)):
        if index or argument.arg not in ("self", "cls"):
            yield written(argument, names, default)
    if given.vararg:
        yield f"*{written(given.vararg, names)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield written(argument, names, default)
    if given.kwarg:
        yield f"**{written(given.kwarg, names)}"


def written(argument: ast.arg, names: Names, default: ast.expr | None = None) -> str:
    hint = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
    return f"{argument.arg}{hint}" + ("" if default is None else f" = {plain(default, names)}")


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
        return f"Returns {body[0].lower()}{body[1:]}"
    if title == "Example":
        return textwrap.indent(body, "    ")
    items = re.split(r"\n(?=\S)", body)
    entries = [" ".join(item.split()).partition(": ") for item in items]
    lines = [f"- `{name}`: {told}" if told else f"- {name}" for name, _, told in entries]
    return {"Args": "", "Attributes": "", "Raises": "Raises:\n\n"}[title] + "\n".join(lines)
