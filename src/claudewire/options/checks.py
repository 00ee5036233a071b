"""Checks of options: each takes the name of an option and a value, and returns what is kept.

They raise an `OptionsError` that names the option, the value and what is allowed. A value that may
be secret is not quoted.
"""

from __future__ import annotations

import math
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from ..errors import OptionsError
from ..wire import PluginConfig, prepared
from .frozen import EMPTY, FrozenMap, freeze, thaw

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "Check",
    "absolute",
    "agents",
    "answer_form",
    "autocompact",
    "boolean",
    "budgets",
    "builtin_tools",
    "choice",
    "command",
    "described",
    "dollars",
    "either",
    "encodable",
    "environment",
    "extra_arguments",
    "function",
    "handler",
    "hidden_values",
    "hooks",
    "inbox",
    "instance",
    "items",
    "json_object",
    "json_schema",
    "label",
    "list_of",
    "literal",
    "mapping",
    "mapping_of",
    "mcp_servers",
    "name_or_names",
    "names",
    "optional",
    "output",
    "path",
    "paths",
    "person",
    "plugin",
    "policy",
    "prices",
    "prompt",
    "prompt_blocks",
    "quoted",
    "rules",
    "seconds",
    "session_uuid",
    "settings",
    "skills",
    "string",
    "string_or_boolean",
    "strings",
    "struct",
    "thinking",
    "tools",
    "whole_number",
]

Check = Callable[[str, Any], Any]

# They are compiled when they are first used: most sessions need none.
_RULE = r"(?s)[^\s,()]+(\(.*\))?"
_NAME = r"[^\s,]+"
_TOOL = r"[^\s,()]+"
_SKILL = r"(?a)[A-Za-z0-9][\w.:-]*"
_FLAG = r"[A-Za-z0-9][A-Za-z0-9-]*"

_QUOTED = 80
"""Characters of a wrong value that are quoted: enough to find it."""


_hides: ContextVar[bool] = ContextVar("_hides", default=False)


@contextmanager
def hidden_values() -> Iterator[None]:
    """While this lasts, errors say of what type a value is, and do not quote it."""
    token = _hides.set(True)
    try:
        yield
    finally:
        _hides.reset(token)


def described(value: object) -> str:
    """Say what a value is, without showing it."""
    if isinstance(value, str | bytes):
        return f"{type(value).__name__} of length {len(value)}"
    return type(value).__name__


def _name(key: object) -> str:
    """Return a name without a value that was given with it by mistake."""
    name, equals, value = str(key).partition("=")
    return f"{name}=…" if value else name + equals


def quoted(value: object) -> str:
    """Quote a value in an error, cut short if it is long; or only describe it, see above."""
    if _hides.get():
        return f"<{described(value)}, which is not shown>"
    words = repr(value)
    return words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"


# --- strings, numbers and flags ------------------------------------------------------------------


def string(name: str, value: Any) -> str:
    """Take a string that is not empty and can be passed to a program."""
    if not isinstance(value, str):
        raise OptionsError(f"{name} must be a string, not {quoted(value)}")
    if not value.strip():
        raise OptionsError(f"{name} is empty; leave it out if there is nothing to say")
    if "\0" in value:
        raise OptionsError(f"{name} contains a NUL character, which no program can be passed")
    return str(freeze(value, name))


def label(name: str, value: Any) -> str:
    """Take a name that can be shown on one line."""
    checked = string(name, value)
    if not checked.isprintable():
        raise OptionsError(f"{name} must be one line that can be shown, not {quoted(value)}")
    return checked


def items(name: str, value: Any) -> Sequence[Any]:
    """Take a list, a tuple or a set; not a string, which Python takes for a list of letters."""
    if isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    if not isinstance(value, Sequence | set | frozenset) or isinstance(value, bytes):
        raise OptionsError(f"{name} must be a list, not {quoted(value)}")
    return value if isinstance(value, Sequence) else sorted(value, key=repr)


def list_of(check: Check) -> Check:
    """Make a check for a list of what another check takes."""

    def check_all(name: str, value: Any) -> tuple[Any, ...]:
        return tuple(check(f"{name}[{i}]", each) for i, each in enumerate(items(name, value)))

    return check_all


strings: Check = list_of(string)


def boolean(name: str, value: Any) -> bool:
    """Take True or False, and nothing that is merely truthy."""
    if not isinstance(value, bool):
        raise OptionsError(f"{name} must be True or False, not {quoted(value)}")
    return value


def whole_number(least: int, most: int | None = None, why: str = "") -> Check:
    """Make a check for a whole number in a range."""
    allowed = f"{least} or more" if most is None else f"{least} to {most}"

    def check(name: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise OptionsError(f"{name} must be a whole number ({allowed}), not {quoted(value)}")
        if value < least or (most is not None and value > most):
            raise OptionsError(f"{name} must be {allowed}, not {value}{why and f': {why}'}")
        return value

    return check


def dollars(name: str, value: Any) -> float:
    """Take an amount of money."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionsError(f"{name} must be a number of dollars, not {quoted(value)}")
    if not math.isfinite(value) or value <= 0:
        raise OptionsError(f"{name} must be more than 0, not {value}")
    return value


def seconds(name: str, value: Any) -> float:
    """Take a time, which may be infinite."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise OptionsError(f"{name} must be a number of seconds, not {quoted(value)}")
    if math.isnan(value) or value <= 0:
        raise OptionsError(f"{name} must be more than 0 seconds, not {value}")
    return value


def choice(*allowed: str) -> Check:
    """Make a check for one of several words."""

    def check(name: str, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            words = ", ".join(map(repr, allowed))
            hint = _meant(value, allowed)
            raise OptionsError(f"{name} must be one of {words}, not {quoted(value)}{hint}")
        return value

    return check


def _meant(value: object, words: Sequence[str]) -> str:
    """Say which of the words may have been meant, whatever its case and its hyphens."""
    if not isinstance(value, str):
        return ""
    plain = {_plain(word): word for word in words}
    from difflib import get_close_matches  # in an error only: loading it takes a while

    close = get_close_matches(_plain(value), plain, n=1)
    return f"; did you mean {plain[close[0]]!r}?" if close else ""


def _plain(word: str) -> str:
    return re.sub(r"[^a-z0-9]", "", word.lower())


def literal(kind: Any) -> Check:
    """Make a check for one of the words of a `Literal`."""
    return choice(*get_args(kind))


def either(kind: type[Any], first: Check, otherwise: Check) -> Check:
    """Make a check that takes values of a type in one way, and all others in another."""

    def check(name: str, value: Any) -> Any:
        return (first if isinstance(value, kind) else otherwise)(name, value)

    return check


string_or_boolean: Check = either(str, string, boolean)


def session_uuid(name: str, value: Any) -> str:
    """Take a UUID in the form in which the CLI takes it."""
    if isinstance(value, uuid.UUID):
        return str(value)
    written = string(name, value)
    try:
        if str(uuid.UUID(written)) == written.lower():
            return written
    except ValueError:
        pass
    example = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
    raise OptionsError(f"{name} must be a UUID such as {example}, not {quoted(value)}")


# --- paths ---------------------------------------------------------------------------------------


def path(name: str, value: Any) -> str:
    """Take a path. Whether something is there is checked before the CLI is started."""
    if not isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a path, not {quoted(value)}")
    place = os.fspath(value)
    if not isinstance(place, str):
        raise OptionsError(f"{name} must be a path as a string, not as bytes: {quoted(place)}")
    if not place or "\0" in place or not encodable(place):
        raise OptionsError(f"{name} must be a path, not {quoted(place)}")
    return place


paths: Check = list_of(path)


def encodable(value: str) -> bool:
    """Tell whether a string can be passed to the system; it may hold bytes that are not UTF-8."""
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def absolute(value: Any) -> Any:
    """Make paths independent of later changes of the current directory."""
    if isinstance(value, tuple):
        return tuple(map(absolute, value))
    if isinstance(value, PluginConfig):
        return msgspec.structs.replace(value, path=absolute(value.path))
    return os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) else value


def prompt(name: str, value: Any) -> str | Path:
    """Take a string, which may be empty, or a `Path` to it (in a TOML file: `{file = …}`)."""
    if isinstance(value, Mapping):
        if list(value) != ["file"]:
            advice = "the CLI's own prompt is kept if you give append_system_prompt alone"
            raise OptionsError(f"{name} must be a string or a Path, not {quoted(value)}; {advice}")
        return _file(f"{name}.file", value["file"])
    if isinstance(value, os.PathLike):
        return _file(name, value)
    is_blank = isinstance(value, str) and not value.strip()
    return value if is_blank else string(name, value)


def _file(name: str, value: Any) -> Path:
    from pathlib import Path  # it takes 2 ms to load

    return Path(absolute(path(name, value)))


# --- objects -------------------------------------------------------------------------------------


def instance(kind: type[Any]) -> Check:
    """Make a check for an object of a class."""

    def check(name: str, value: Any) -> Any:
        if not isinstance(value, kind):
            raise OptionsError(f"{name} must be {kind.__name__}(…), not {quoted(value)}")
        return value

    return check


def optional(check: Check) -> Check:
    """Make a check that also takes None, where None is not the default."""

    def check_given(name: str, value: Any) -> Any:
        return None if value is None else check(name, value)

    return check_given


def function(name: str, value: Any) -> Any:
    """Take something that can be called."""
    if not callable(value):
        raise OptionsError(f"{name} must be a function, not {quoted(value)}")
    return value


def mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Take a mapping as it is."""
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be a mapping, not {quoted(value)}")
    return value


def json_object(name: str, value: Any) -> FrozenMap[str, Any]:
    """Take a JSON object."""
    frozen: FrozenMap[str, Any] = freeze(mapping(name, value), name)
    return frozen


def mapping_of(check: Check) -> Check:
    """Make a check for a mapping from names to what another check takes."""

    def check_all(name: str, value: Any) -> FrozenMap[str, Any]:
        given = mapping(name, value)
        keys = {key: string(f"the name {key!r} in {name}", key) for key in given}
        return FrozenMap({keys[key]: check(f"{name}[{key!r}]", given[key]) for key in given})

    return check_all


def struct(name: str, value: Mapping[str, Any], kind: type[msgspec.Struct]) -> Any:
    """Make a struct from a mapping whose keys are spelled as in Python or as on the wire."""
    value = thaw(freeze(value, name))
    spellings = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    known = set(kind.__struct_fields__)
    given = {spellings.get(key, key): item for key, item in value.items()}
    if unknown := sorted(set(given) - known):
        raise OptionsError(f"{name} has no {unknown[0]!r}; it may have {', '.join(sorted(known))}")
    wire = {old: given[new] for old, new in spellings.items() if new in given}
    try:
        return msgspec.convert(wire, prepared(kind))
    except msgspec.ValidationError as error:
        raise OptionsError(f"{name} is wrong: {error}") from None


# --- the model -----------------------------------------------------------------------------------

thinking: Check = either(
    str,
    choice("adaptive", "disabled"),
    whole_number(1024, why="the API refuses less; 'disabled' turns thinking off"),
)
autocompact: Check = either(str, choice("auto"), whole_number(100_000, 1_000_000))


# --- rules and names -----------------------------------------------------------------------------


def rules(name: str, value: Any) -> tuple[str, ...]:
    """Take rules that go onto the command line of the CLI."""
    return tuple(_rule(name, rule.strip()) for rule in strings(name, value))


def _rule(name: str, rule: str) -> str:
    """Refuse a rule that the CLI would not read as it is written.

    On a command line it takes a comma or a space for the end of a rule, unless it stands between
    an opening bracket and the *first* closing one. What is left of the rule then allows something
    else than was meant.
    """
    if not re.fullmatch(_RULE, rule):
        form = "a tool's name, or a name and brackets such as Bash(git status:*)"
        raise OptionsError(f"{name}: the rule {quoted(rule)} is not {form}")
    inside = False
    for character in rule:
        inside = character == "(" or (inside and character != ")")
        if not inside and character in ", \t\n":
            key = "allow" if name == "allowed_tools" else "deny"
            raise OptionsError(
                f"{name}: the CLI would take the rule {quoted(rule)} for several rules, because "
                "of a comma or space behind a closing bracket. "
                f"Give it in settings={{'permissions': {{{key!r}: […]}}}} instead"
            )
    return rule


def builtin_tools(name: str, value: Any) -> Any:
    """Take the names of built-in tools, or `default` for all of them."""
    advice = "; rules belong into allowed_tools or disallowed_tools" if "(" in repr(value) else ""
    check = _matching(_TOOL, f"is not the name of a tool{advice}")
    return value if isinstance(value, str) and value == "default" else check(name, value)


def skills(name: str, value: Any) -> Any:
    """Take the names of skills, or `all`."""
    form = "letters, digits, and any of . : _ - behind the first"
    check = _matching(_SKILL, f"is not the name of a skill ({form})")
    return value if isinstance(value, str) and value == "all" else check(name, value)


def _matching(pattern: str, problem: str) -> Check:
    def check(name: str, value: Any) -> Any:
        found = strings(name, value)
        for each in found:
            if not re.fullmatch(pattern, each):
                raise OptionsError(f"{name}: {quoted(each)} {problem}")
        return found

    return check


names: Check = _matching(_NAME, "has a space or a comma in it")
name_or_names: Check = either(str, string, names)


# --- the CLI, its arguments and its environment --------------------------------------------------


def command(name: str, value: Any) -> Any:
    """Take a program, or a command of several words."""
    if isinstance(value, str | os.PathLike):
        return path(name, value)
    words = strings(name, value)
    if not words:
        raise OptionsError(f"{name} is an empty command; leave it out to have the CLI looked for")
    return words


def environment(name: str, value: Any) -> Any:
    """Take environment variables. Their values are never quoted."""
    variables = mapping_of(lambda _, item: item)(name, value)
    for key, item in variables.items():
        if "=" in key:
            raise OptionsError(f"{name}: the name of a variable cannot hold '=': {_name(key)!r}")
        if item is not None and not isinstance(item, str):
            raise OptionsError(f"{name}[{key!r}] must be a string, or None to remove it")
        if item is not None and ("\0" in item or not encodable(item)):
            raise OptionsError(f"{name}[{key!r}] contains a NUL or half a character")
    return variables


def extra_arguments(name: str, value: Any) -> Any:
    """Take flags without their dashes, and their values."""
    extra = mapping_of(_extra_value)(name, value)
    for key in extra:
        if not re.fullmatch(_FLAG, key):
            form = "written without its dashes and without a value: {'flag': 'value'}"
            raise OptionsError(f"{name}: {_name(key)!r} is not a flag; it is {form}")
    return extra


def _extra_value(name: str, value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return "" if value == "" else string(name, value)
    if isinstance(value, bool | int | float | Mapping):
        raise OptionsError(f"{name} must be a string, a list of strings, or None for no value")
    return strings(name, value)


def settings(name: str, value: Any) -> Any:
    """Take an object, a path, or JSON, which begins with a brace."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return (json_object if isinstance(value, Mapping) else path)(name, value)
    try:
        return json_object(name, msgspec.json.decode(string(name, value)))
    except (msgspec.DecodeError, RecursionError) as error:
        raise OptionsError(f"{name} looks like JSON, but is not: {error}") from None


def prompt_blocks(name: str, value: Any) -> Any:
    """Take one prompt, or several blocks."""
    one = isinstance(value, str | os.PathLike | Mapping | bool | int | float | bytes)
    return (prompt if one else strings)(name, value)


# --- servers and plugins -------------------------------------------------------------------------


def mcp_servers(name: str, value: Any) -> Any:
    """Take MCP servers by name: configurations, and servers inside this process."""
    if isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a mapping; a file goes to mcp_config=[…]")
    if isinstance(value, list | tuple):
        value = _by_name(name, value)
    return mapping_of(_server)(name, value)


def _by_name(name: str, servers: Sequence[Any]) -> dict[str, Any]:
    """Take servers inside this process by the names that they have."""
    found: dict[str, Any] = {}
    for index, server in enumerate(servers):
        called = None if isinstance(server, Mapping) else getattr(server, "name", None)
        if not isinstance(called, str):
            raise OptionsError(
                f"{name}[{index}] is not a ToolServer or a server of the `mcp` package: "
                f"{quoted(server)}. Other servers need a name: {name}={{'name': …}}"
            )
        if called in found:
            raise OptionsError(f"There are two MCP servers called {called}")
        found[called] = server
    return found


def _server(name: str, value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(thaw(freeze(value, name)))
    if not isinstance(value, Mapping) and isinstance(getattr(value, "name", None), str):
        return value  # a server inside this process; the session connects to it
    if isinstance(value, Mapping) and value.get("type") == "sdk":
        raise OptionsError(f"{name} is inside this process: give the server object itself")
    server = json_object(name, value)
    if not isinstance(server.get("command", server.get("url")), str):
        raise OptionsError(f"{name} needs a command that starts the server, or its url")
    for key in ("env", "headers"):
        pairs = server.get(key, EMPTY)
        if not isinstance(pairs, Mapping) or not all(isinstance(it, str) for it in pairs.values()):
            raise OptionsError(f"{name}[{key!r}] must be a mapping from strings to strings")
    return server


def plugin(name: str, value: Any) -> PluginConfig:
    """Take a plugin, which is a path in most cases."""
    if isinstance(value, str | os.PathLike):
        return PluginConfig(path(name, value))
    config = struct(name, value, PluginConfig) if isinstance(value, Mapping) else value
    if not isinstance(config, PluginConfig):
        raise OptionsError(f"{name} must be the path of a plugin, not {quoted(value)}")
    if config.type != "local":
        raise OptionsError(f"{name}: there are only local plugins, not {quoted(config.type)}")
    path(name, config.path)
    return config


def agents(name: str, value: Any) -> FrozenMap[str, Any]:
    """Take subagents by name, in any of their forms."""
    from .agents import agent_definition

    return mapping_of(agent_definition)(name, value)  # type: ignore[no-any-return]


# --- what the CLI never sees ---------------------------------------------------------------------


def tools(name: str, value: Any) -> tuple[Any, ...]:
    """Take functions, tools and tool servers. The session refuses what cannot be a tool."""
    if callable(value) or hasattr(value, "tools"):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    found = tuple(items(name, [value] if isinstance(value, str) else value))
    for each in found:
        if isinstance(each, str):
            raise OptionsError(
                f"{name} are functions of this program, not {quoted(each)}; "
                "names of built-in tools go into builtin_tools"
            )
        if not callable(each) and not hasattr(each, "tools"):
            raise OptionsError(
                f"{name}: a tool is made of a function, not of {quoted(each)}; MCP servers go into "
                "mcp_servers"
            )
    return found


def budgets(name: str, value: Any) -> tuple[Any, ...]:
    """Take a list of budgets."""
    from ..tracking import Budget

    if isinstance(value, Budget):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    return tuple(list_of(instance(Budget))(name, value))


def prices(name: str, value: Any) -> Any:
    """Take prices by model."""
    from ..tracking import Price, check_amount

    table = mapping_of(instance(Price))(name, value)
    for model, price in table.items():
        for field in price.__struct_fields__:
            check_amount(f"{name}[{model!r}].{field}", getattr(price, field))
    return table


def answer_form(name: str, value: Any) -> Any:
    """Take the name of a form of answers."""
    from ..people import AnswerForm

    return literal(AnswerForm)(name, value)


def handler(name: str, value: Any) -> Any:
    """Take a function that is called with a request."""
    from ..people import check_handler

    check_handler(value, name)
    return value


def person(name: str, value: Any) -> Any:
    """Take a function that is called with any request, or `inbox`."""
    from ..people import Inbox

    if isinstance(value, Inbox) or value is Inbox:
        raise OptionsError(f"{name} must be 'inbox'; the Inbox() itself goes into inbox=…")
    if isinstance(value, str) and value != "inbox":
        raise OptionsError(
            f"{name} must be a function, Terminal() or 'inbox', not {quoted(value)}"
            f"{_meant(value, ['inbox'])}"
        )
    return value if isinstance(value, str) else handler(name, value)


def hooks(name: str, value: Any) -> Any:
    """Take hooks, or a mapping from events to functions."""
    from ..hooks import Hooks

    try:
        Hooks.of(value)
    except OptionsError as error:
        raise OptionsError(f"{name}: {error}") from None
    return value


def output(name: str, value: Any) -> Any:
    """Take a type, or a JSON Schema."""
    from ..schemas import OutputSpec  # it takes a while to import

    OutputSpec.of(json_object(name, value) if isinstance(value, Mapping) else value)
    return value


def json_schema(name: str, value: Any) -> Any:
    """Take a JSON Schema."""
    from ..schemas import check_schema

    schema = json_object(name, value)
    check_schema(schema, name)
    return schema


def policy(name: str, value: Any) -> Any:
    """Take anything that decides as a `Policy` does."""
    if not callable(getattr(value, "decide", None)) or isinstance(value, type):
        raise OptionsError(
            f"{name} must be a Policy, such as Policy(allow=['Read']), not {quoted(value)}"
        )
    return value


def inbox(name: str, value: Any) -> Any:
    """Take an inbox."""
    from ..people import Inbox

    return instance(Inbox)(name, value)
