"""Checks of options. The annotation of an option gives its type, the functions here the rest.

A check takes the name of an option and a value, and returns the value to keep. It raises an
`OptionsError` that names the option, the value and the allowed values.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from ..errors import OptionsError
from ..output import OutputSpec
from ..wire import PluginConfig

Check = Callable[[str, Any], Any]
JSONObject = Mapping[str, Any]

_QUOTED = 80
"""Maximum characters of a wrong value in an error."""

_hides: ContextVar[bool] = ContextVar("_hides", default=False)


@contextmanager
def hidden_values() -> Iterator[None]:
    """Within this block, errors name the type of a value instead of quoting it."""
    token = _hides.set(True)
    try:
        yield
    finally:
        _hides.reset(token)


def described(value: object) -> str:
    """Describe a value without showing it."""
    if isinstance(value, str | bytes):
        return f"{type(value).__name__} of length {len(value)}"
    return type(value).__name__


def quoted(value: object) -> str:
    """Quote a value in an error, at most 80 characters of it."""
    if _hides.get():
        return f"<{described(value)}, hidden>"
    words = repr(value)
    return words if len(words) <= _QUOTED else f"{words[:_QUOTED]}…"


def similar(word: str, words: Sequence[str], most: int = 1) -> list[str]:
    """Return the words with nearly the same spelling, regardless of case and hyphens."""
    plain = {re.sub(r"[^a-z0-9]", "", it.lower()): it for it in words}
    close = get_close_matches(re.sub(r"[^a-z0-9]", "", word.lower()), plain, most, cutoff=0.7)
    return [plain[it] for it in close]


# --- types ---------------------------------------------------------------------------------------

_NAMES: dict[Any, str] = {
    str: "a string",
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    os.PathLike: "a path",
    Sequence: "a list",
    Mapping: "a mapping",
    Callable: "a function",
}


def checked(name: str, value: Any, kind: Any, *, least: int | None = None) -> Any:
    """Check a value against a type annotation, and return a copy that cannot change.

    Strings must not be empty, except as values of a mapping. Floats must be more than 0. A string
    in a union with `os.PathLike` is a path. Sets become sorted tuples.

    Args:
        name: the name of the option, for the error.
        value: the value.
        kind: the type.
        least: the lowest number.

    Raises:
        OptionsError: the value has another type, or is out of range.
    """
    arms = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
    arm = next((arm for arm in arms if _fits(value, arm)), None)
    if arm is None:
        raise OptionsError(
            f"{name} must be {_expected(arms)}, got {quoted(value)}{_hint(value, arms)}"
        )
    origin = get_origin(arm) or arm
    if origin in (str, os.PathLike):
        return _string(name, value)
    if origin in (int, float):
        return _number(name, value, origin, least)
    if origin is Sequence:
        items = value if isinstance(value, Sequence) else sorted(value, key=repr)
        (each,) = get_args(arm)
        return tuple(checked(f"{name}[{at}]", it, each) for at, it in enumerate(items))
    if origin is Mapping:
        each = get_args(arm)[1]
        return json_object(name, value) if each is Any else _mapping(name, value, each)
    return value


def _fits(value: Any, arm: Any) -> bool:
    """Return whether a value has a type, without checking its parts."""
    origin = get_origin(arm) or arm
    if origin is Literal:
        return isinstance(value, str) and value in get_args(arm)
    if origin in (int, float):
        return isinstance(value, int | origin) and not isinstance(value, bool)
    if origin is Sequence:
        is_text = isinstance(value, str | bytes | os.PathLike)
        return isinstance(value, Sequence | AbstractSet) and not is_text
    return origin is Any or isinstance(value, origin)


def _expected(arms: Sequence[Any]) -> str:
    found = []
    for arm in arms:
        origin = get_origin(arm) or arm
        if origin is Literal:
            words = ", ".join(map(repr, get_args(arm)))
            found.append(f"one of {words}" if len(get_args(arm)) > 1 else words)
        elif origin is not NoneType:
            found.append(_NAMES.get(origin, f"{origin.__name__}(…)"))
    return " or ".join(found)


def _hint(value: Any, arms: Sequence[Any]) -> str:
    """Guess the intended value: a similarly spelt word, or the value in a list."""
    if not isinstance(value, str):
        return ""
    words = [word for arm in arms if get_origin(arm) is Literal for word in get_args(arm)]
    if found := similar(value, words):
        return f"; did you mean {found[0]!r}?"
    is_list = any(get_origin(arm) is Sequence for arm in arms)
    return f"; did you mean [{quoted(value)}]?" if is_list else ""


def _string(name: str, value: str | os.PathLike[str]) -> str:
    words = os.fspath(value)
    if not words.strip():
        raise OptionsError(f"{name} is empty; leave it out instead")
    return words


def _number(name: str, value: float, kind: type, least: int | None) -> float:
    if least is None and kind is float and not value > 0:
        raise OptionsError(f"{name} must be more than 0, got {value}")
    if least is not None and not value >= least:
        raise OptionsError(f"{name} must be {least} or more, got {value}")
    return value


def _mapping(name: str, value: Mapping[Any, Any], each: Any) -> Mapping[str, Any]:
    return mapping_of(name, value, lambda name, it: it if it == "" else checked(name, it, each))


def mapping_of(name: str, value: Any, check: Check) -> Mapping[str, Any]:
    """Check a mapping from names to values, each with another check."""
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be a mapping, got {quoted(value)}")
    for key in value:
        checked(f"the name {key!r} in {name}", key, str)
    return MappingProxyType({key: check(f"{name}[{key!r}]", it) for key, it in value.items()})


def json_object(name: str, value: Any) -> Mapping[str, Any]:
    """Take a JSON object, and copy it."""
    if not isinstance(value, Mapping):
        raise OptionsError(f"{name} must be a mapping, got {quoted(value)}")
    try:
        return MappingProxyType(msgspec.to_builtins({**value}, enc_hook=_encoded))
    except (TypeError, RecursionError) as error:
        raise OptionsError(f"{name} cannot be written as JSON: {error}") from None


def _encoded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {**value}
    raise TypeError(f"it contains a {type(value).__name__}")


def check_fields(value: Any, prefix: str, **least: int) -> None:
    """Check the fields of an object against their annotations; some have a lowest number."""
    for name, kind in get_type_hints(value.__class__).items():
        checked(f"{prefix}.{name}", getattr(value, name), kind, least=least.get(name))


def absolute(value: Any) -> Any:
    """Make paths independent of later changes of the current directory."""
    if isinstance(value, tuple):
        return tuple(map(absolute, value))
    if isinstance(value, PluginConfig):
        return msgspec.structs.replace(value, path=absolute(value.path))
    return os.path.abspath(os.path.expanduser(value)) if isinstance(value, str) else value


# --- strings -------------------------------------------------------------------------------------

_RULE = re.compile(r"(?s)[^\s,()]+(\(.*\))?")


def rules(name: str, value: Any) -> tuple[str, ...]:
    """Refuse a rule that the CLI would read differently on its command line.

    There, a comma or a space ends a rule, unless it stands between an opening bracket and the
    *first* closing one. The rest of the rule would then allow something else.
    """
    found = tuple(rule.strip() for rule in checked(name, value, Sequence[str]))
    for rule in found:
        if not _RULE.fullmatch(rule):
            form = "a tool's name, or a name and brackets such as Bash(git status:*)"
            raise OptionsError(f"{name}: a rule must be {form}, got {quoted(rule)}")
        if re.search(r"[, \t\n]", re.sub(r"\([^)]*\)?", "", rule)):
            key = "allow" if name == "allowed_tools" else "deny"
            raise OptionsError(
                f"{name}: the CLI would read {quoted(rule)} as several rules, because of a comma "
                "or space after a closing bracket. Write the rule in "
                f"settings={{'permissions': {{{key!r}: […]}}}} instead"
            )
    return found


def names(pattern: str, what: str, word: str) -> Check:
    """Make a check for a list of names that match a pattern, or one word."""

    def check(name: str, value: Any) -> Any:
        found = checked(name, value, Sequence[str] | Literal[word])
        for each in found if isinstance(found, tuple) else ():
            if not re.fullmatch(pattern, each):
                place = "; rules belong into allowed_tools or disallowed_tools" * ("(" in each)
                raise OptionsError(f"{name}: {quoted(each)} is not the name of a {what}{place}")
        return found

    return check


tool_names: Check = names(r"[^\s,()]+", "tool", "default")
skill_names: Check = names(r"(?a)[A-Za-z0-9][\w.:-]*", "skill", "all")  # they become parts of rules


def session_uuid(name: str, value: Any) -> str:
    """Take a UUID, as a string or an object."""
    try:
        return str(uuid.UUID(str(value)))
    except ValueError:
        example = "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
        raise OptionsError(
            f"{name} must be a UUID such as {example}, got {quoted(value)}"
        ) from None


def prompt(name: str, value: Any) -> str | Path | tuple[str, ...]:
    """Take a string, a `Path` (in a TOML file: `{file = …}`), or several blocks."""
    if isinstance(value, Mapping) and list(value) == ["file"]:
        value = Path(checked(f"{name}.file", value["file"], os.PathLike[str] | str))
    if isinstance(value, os.PathLike):
        return Path(absolute(os.fspath(value)))
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and name == "system_prompt":
        blocks: tuple[str, ...] = checked(name, value, Sequence[str])
        return blocks
    advice = "; append_system_prompt alone keeps the CLI's own prompt" * isinstance(value, Mapping)
    raise OptionsError(f"{name} must be a string or a Path, got {quoted(value)}{advice}")


# --- mappings and lists --------------------------------------------------------------------------


def extra_arguments(name: str, value: Any) -> Any:
    """Take flags without their dashes, and their values."""
    extra = checked(name, value, Mapping[str, str | Sequence[str] | None])
    for key in extra:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", key):
            raise OptionsError(f"{name} must be flags without dashes, {{'flag': 'value'}}")
    return extra


def settings(name: str, value: Any) -> Any:
    """Take an object, a path, or JSON, which begins with a brace."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError) as error:
            raise OptionsError(f"{name} looks like JSON, but is not: {error}") from None
    return checked(name, value, JSONObject | str | os.PathLike[str])


def mcp_servers(name: str, value: Any) -> Any:
    """Take MCP servers by name: configurations, and servers inside this process."""
    if isinstance(value, str | os.PathLike):
        raise OptionsError(f"{name} must be a mapping; a file belongs into mcp_config=[…]")
    if isinstance(value, list | tuple):
        value = _by_name(name, value)
    return mapping_of(name, value, _server)


def _by_name(name: str, servers: Sequence[Any]) -> dict[str, Any]:
    """Take servers inside this process by their own names."""
    found: dict[str, Any] = {}
    for server in servers:
        called = None if isinstance(server, Mapping) else getattr(server, "name", None)
        if not isinstance(called, str):
            raise OptionsError(
                f"{name} must be a mapping, or a list of ToolServers or servers of the `mcp` "
                f"package, got {quoted(server)}. Other servers need a name: {name}={{'name': …}}"
            )
        if called in found:
            raise OptionsError(f"{name}: two servers are called {called}")
        found[called] = server
    return found


def _server(name: str, value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    if not isinstance(value, Mapping) and isinstance(getattr(value, "name", None), str):
        return value  # a server inside this process
    server = json_object(name, value)
    if server.get("type") == "sdk":
        raise OptionsError(f"{name} is inside this process: give the server object itself")
    if not isinstance(server.get("command", server.get("url")), str):
        raise OptionsError(f"{name} needs a command that starts the server, or its url")
    return server


def plugins(name: str, value: Any) -> tuple[PluginConfig, ...]:
    """Take plugins: paths, configurations, or mappings with the fields of one."""
    found = checked(name, value, Sequence[PluginConfig | str | os.PathLike[str] | JSONObject])
    return tuple(_plugin(f"{name}[{at}]", it) for at, it in enumerate(found))


def _plugin(name: str, value: str | PluginConfig | JSONObject) -> PluginConfig:
    if isinstance(value, str):
        return PluginConfig(value)
    if isinstance(value, Mapping):
        value = PluginConfig(**{"path": "", **fields_of(name, value, PluginConfig)})
    if value.type != "local":
        raise OptionsError(f"{name}: only local plugins exist, got {quoted(value.type)}")
    checked(f"{name}.path", value.path, str)
    return value


def fields_of(name: str, value: Mapping[str, Any], kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return the fields of a mapping, which are spelled as in Python or as on the wire."""
    spellings = dict(zip(kind.__struct_encode_fields__, kind.__struct_fields__, strict=True))
    fields = {spellings.get(key, key): it for key, it in value.items()}
    if unknown := fields.keys() - {*kind.__struct_fields__}:
        known = ", ".join(sorted(kind.__struct_fields__))
        raise OptionsError(f"{name} has no {min(unknown, key=str)!r}; it may have {known}")
    return fields


# --- options of the session itself ---------------------------------------------------------------


def tools(name: str, value: Any) -> tuple[Any, ...]:
    """Take functions, tools and tool servers. The session refuses functions that fit no tool."""
    if callable(value) or hasattr(value, "tools"):
        raise OptionsError(f"{name} must be a list; did you mean [{quoted(value)}]?")
    found = checked(name, [value] if isinstance(value, str) else value, Sequence[object])
    for each in found:
        if not callable(each) and not hasattr(each, "tools"):
            place = "names of built-in tools belong into builtin_tools"
            place = place if isinstance(each, str) else "MCP servers belong into mcp_servers"
            raise OptionsError(f"{name} must be functions, got {quoted(each)}; {place}")
    return tuple(found)


def handler(name: str, value: Any) -> Any:
    """Take a function that is called with a request."""
    from ..approvals import check_handler  # slow to import

    check_handler(value, name)
    return value


def approver(name: str, value: Any) -> Any:
    """Take a function that is called with any request, or `inbox`."""
    from ..approvals import Inbox  # slow to import

    if isinstance(value, Inbox) or value is Inbox:
        raise OptionsError(f"{name} must be 'inbox'; the Inbox() itself belongs into inbox=…")
    if isinstance(value, str):
        return checked(name, value, Literal["inbox"] | Callable)
    return handler(name, value)


def hooks(name: str, value: Any) -> Any:
    """Take hooks, or a mapping from events to functions."""
    from ..hooks import Hooks  # slow to import

    try:
        Hooks.of(value)
    except OptionsError as error:
        raise OptionsError(f"{name}: {error}") from None
    return value


def output(name: str, value: Any) -> Any:
    """Take a type, or a JSON Schema."""
    OutputSpec(json_object(name, value) if isinstance(value, Mapping) else value)
    return value


def policy(name: str, value: Any) -> Any:
    """Take an object that decides as a `Policy` does."""
    if not callable(getattr(value, "decide", None)) or isinstance(value, type):
        raise OptionsError(
            f"{name} must be a Policy, such as Policy(allow=['Read']), got {quoted(value)}"
        )
    return value
