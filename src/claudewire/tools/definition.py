"""Python functions as tools of the model.

    @claudewire.tool
    def add(a: float, b: float) -> float:
        \"\"\"Add two numbers.\"\"\"
        return a + b

Name, description and JSON Schema come from the function's name, docstring and type hints. The
arguments that the model sends are checked and converted; what the function returns is written in
the format of MCP.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Generic,
    NewType,
    ParamSpec,
    TypedDict,
    TypeVar,
    cast,
    get_origin,
    overload,
)

import anyio

from ..concurrency import (
    FunctionExited,
    TookTooLong,
    call_in_thread,
    call_within,
    ends_the_caller,
    function_name,
    is_async_function,
)
from ..errors import words_of
from ..schemas import Arguments, SchemaMismatch, TypeAdapter
from .context import ToolContext
from .results import ToolError, error_result, to_result

if TYPE_CHECKING:
    from typing import Unpack

__all__ = ["AnyTool", "Tool", "ToolAnnotations", "ToolSettings", "tool"]

P = ParamSpec("P")
R = TypeVar("R")

log: logging.Logger = logging.getLogger("claudewire.tools")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
"""What the API accepts as the name of a tool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """Hints about what a tool does, for deciding whether it may run.

    Attributes:
        title: its name, for people.
        read_only: whether it changes nothing. The CLI may then run several at once.
        destructive: whether it may destroy something.
        idempotent: whether a second call with the same arguments changes nothing more.
        open_world: whether it deals with things outside, such as the web.
    """

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Return them in the format of MCP."""
        fields = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        return {key: value for key, value in fields.items() if value is not None}


class ToolSettings(TypedDict, total=False):
    """The keyword arguments of `tool`, which explains them."""

    name: str | None
    description: str | None
    schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | bool
    annotations: ToolAnnotations | None
    timeout: float | None
    inline: bool
    show_error: bool
    max_result_chars: int | None
    always_load: bool
    meta: Mapping[str, Any] | None


class Tool(Generic[P, R]):
    """A function that the model can call. Calling it calls the function, with nothing checked.

    Make it with `tool`.

    Attributes:
        name: the name that the model calls it by.
        description: what the model is told about it.
        function: the function itself.
        input_schema: the JSON Schema of its arguments.
        output_schema: the JSON Schema of what it returns, if the model is told.
        settings: the keyword arguments that it was made with.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        names: Mapping[str, Any] | None = None,
        **settings: Unpack[ToolSettings],
    ) -> None:
        unknown = settings.keys() - ToolSettings.__annotations__.keys()
        if unknown:
            raise TypeError(f"A tool has no setting {', '.join(map(repr, sorted(unknown)))}")
        self._is_static = isinstance(function, staticmethod)
        plain = _plain_function(function)
        functools.update_wrapper(cast("Any", self), plain, updated=())
        self.settings: ToolSettings = settings
        self.function: Callable[P, R] = plain
        self._names = names
        self._is_method = False
        self._is_async = is_async_function(plain)
        self.name: str = _check_name(settings.get("name") or _name_of(plain))
        self._read_signature()

    def _read_signature(self) -> None:
        schema = self.settings.get("schema")
        self._arguments = Arguments(
            self.function,
            self._names,
            injected=ToolContext,
            lenient=schema is not None,
            skip_first=self._is_method,
        )
        described = self.settings.get("description")
        self.description: str = self._arguments.description if described is None else described
        self.input_schema: dict[str, Any] = self._arguments.schema if schema is None else {**schema}
        self.output_schema: dict[str, Any] | None
        self.output_schema, self._wraps = self._read_output()

    def _read_output(self) -> tuple[dict[str, Any] | None, bool]:
        """Return the schema of the output, and whether the value is a field of it."""
        wanted = self.settings.get("output_schema")
        if isinstance(wanted, Mapping):
            return dict(wanted), False
        if not wanted:
            return None, False
        adapter: TypeAdapter[Any] = TypeAdapter(self._arguments.returns, names=self._names)
        schema = adapter.schema
        if schema.get("type") == "object":
            return schema, False
        definitions = schema.pop("$defs", None)
        wrapped = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        return wrapped | ({"$defs": definitions} if definitions else {}), True

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, with nothing checked."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

    def __set_name__(self, owner: type, name: str) -> None:
        # The function turns out to be a method: the model does not give `self`.
        written_in = getattr(self.function, "__qualname__", "").rpartition(".")[0]
        if written_in == owner.__qualname__ and not self._is_static:
            self._is_method = True
            self._read_signature()

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Return the tool of one object, if it was made of a method."""
        if instance is None or not self._is_method:
            return self
        bound = copy.copy(self)
        bound.function = cast("Any", self.function).__get__(instance, owner)
        return bound

    def definition(self, *, always_load: bool = False) -> dict[str, Any]:
        """Return the description of the tool in the format of MCP.

        Args:
            always_load: whether the model sees the tool from the start, whatever its settings say.
        """
        settings = self.settings
        meta = dict(settings.get("meta") or {})
        if settings.get("max_result_chars") is not None:
            meta["anthropic/maxResultSizeChars"] = settings["max_result_chars"]
        if settings.get("always_load") or always_load:
            meta["anthropic/alwaysLoad"] = True
        hints = (settings.get("annotations") or ToolAnnotations()).to_wire()
        fields = {
            "name": self.name,
            "title": hints.get("title"),
            "description": self.description,
            "inputSchema": self.input_schema,
            "outputSchema": self.output_schema,
            "annotations": hints,
            "_meta": meta,
        }
        return {key: value for key, value in fields.items() if value}

    async def call(
        self,
        arguments: Mapping[str, Any],
        context: ToolContext | None = None,
        *,
        limiter: anyio.CapacityLimiter | None = None,
    ) -> dict[str, Any]:
        """Call the tool for the model. It does not raise: the result says what went wrong.

        Args:
            arguments: the arguments that the model sent.
            context: the context of the call; one without a session by default.
            limiter: limits how many plain functions run at once.
        """
        context = context or ToolContext(tool=self.name)
        try:
            call = self._prepare(arguments, context)
            return to_result(await self._run(call, context, limiter), wrap=self._wraps)
        except _InvalidArguments as error:
            return error_result(f"Invalid arguments for {self.name}:\n{error}")
        except ToolError as error:
            return to_result(error)
        except BaseException as error:
            if ends_the_caller(error):
                raise
            return self._failure(error)

    def _prepare(self, arguments: Mapping[str, Any], context: ToolContext) -> Callable[[], Any]:
        """Convert the arguments, and return the call with them."""
        try:
            by_position, by_name = self._arguments.convert(arguments)
        except SchemaMismatch as mismatch:
            raise _InvalidArguments("\n".join(map(str, mismatch.all))) from mismatch
        if self._arguments.injected is not None:
            by_name[self._arguments.injected] = context
        return functools.partial(self.function, *by_position, **by_name)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        log.error("The tool %s failed", self.name, exc_info=error)
        if isinstance(error, FunctionExited):
            error = error.__cause__ or error
        if not self.settings.get("show_error", True):
            return error_result("The tool failed.")
        return error_result(f"The tool failed: {words_of(error)}")

    async def _run(
        self, call: Callable[[], Any], context: ToolContext, limiter: anyio.CapacityLimiter | None
    ) -> Any:
        seconds = self.settings.get("timeout")
        try:
            wait = functools.partial(self._wait, call, context, limiter)
            return await (wait() if seconds is None else call_within(seconds, wait))
        except TookTooLong:
            context.cancel()
            log.warning("The tool %s took longer than %g s and was stopped", self.name, seconds)
            raise ToolError(f"The tool took longer than {seconds:g} s and was stopped.") from None
        except BaseException:
            context.cancel()  # its thread may still be running
            raise

    async def _wait(
        self, call: Callable[[], Any], context: ToolContext, limiter: anyio.CapacityLimiter | None
    ) -> Any:
        if self._is_async:
            return await call()
        if self.settings.get("inline"):
            value = call()
        else:
            context.in_thread = True
            value = await call_in_thread(call, limiter=limiter)
            context.in_thread = False
        return await value if inspect.isawaitable(value) else value


AnyTool = Tool[..., Any]
"""A tool, whatever its function takes and returns."""


class _InvalidArguments(Exception):
    """The arguments that the model sent do not fit; the message has all problems."""


def _check_name(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(
            f"{name!r} cannot be the name of a tool: a name has at most 128 characters, which are "
            "letters from a to z, digits, _ and -. Give another name with `name=`."
        )
    return name


def _plain_function(function: Any) -> Any:
    if isinstance(function, Tool | staticmethod):
        function = function.function if isinstance(function, Tool) else function.__func__
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"A tool is made of a function, not of {function!r}.")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"A tool returns its result; {_name_of(function)} yields.")
    return function


def _name_of(function: Any) -> str:
    return function_name(function).rpartition(".")[2]


def _types_among(names: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what type hints may name; anything else should not live as long as the tool."""
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, type | TypeVar | NewType) or get_origin(value) is not None
    }


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(**settings: Unpack[ToolSettings]) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **settings: Unpack[ToolSettings]) -> Any:
    """Make a tool of a function, plain or async.

    Use it as a decorator, with or without arguments, or call it with a function or a bound method.
    A parameter annotated with `ToolContext` receives the context of the call; the model does not
    see it.

    A plain function runs in a thread. If the call is cancelled, the thread is abandoned, and
    `ToolContext.cancelled` is True.

    Args:
        function: the function.
        settings: the keyword arguments below; all of them are optional.
        name: the name of the tool; by default that of the function.
        description: what the model is told; by default the docstring without the sections about
            arguments, results and exceptions.
        schema: the JSON Schema of the arguments, instead of the one from the type hints. Arguments
            are still converted by their hints, where these have a schema.
        output_schema: the JSON Schema of what is returned, or True for the one from the type hint.
        annotations: hints about what the tool does.
        timeout: how many seconds a call may take.
        inline: whether a plain function is called in the event loop, because it takes no time.
        show_error: whether the model is told the message of an exception; True by default.
        max_result_chars: how long a result may be before the CLI puts it into a file.
        always_load: whether the model sees the tool from the start. A new CLI may otherwise let it
            search for tools, to keep the prompt short.
        meta: more for the CLI, as `_meta`.

    Raises:
        TypeError: it is not a function, cannot be called by name, or has a type without a schema.
        ValueError: the API does not accept the name.
    """
    names = _types_among(sys._getframe(1).f_locals)
    if function is not None:
        return Tool(function, names=names, **settings)
    return functools.partial(Tool, names=names, **settings)
