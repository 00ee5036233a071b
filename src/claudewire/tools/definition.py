"""Python functions as tools of the model.

    @claudewire.tool
    def add(a: float, b: float) -> float:
        \"\"\"Add two numbers.\"\"\"
        return a + b

Name, description and JSON Schema come from the function's name, docstring and hints. What the
model sends is checked and converted; what the function returns is written as MCP does it.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import (
    Any,
    Final,
    Generic,
    NewType,
    ParamSpec,
    TypeVar,
    cast,
    get_origin,
    overload,
)

import anyio

from ..concurrency import call_in_thread, is_async_function
from ..schemas import Arguments, SchemaMismatch, TypeAdapter
from .contents import ResourceLink, ToolError, ToolFile, ToolResult
from .context import ToolContext
from .results import error_result, to_result
from .settings import ToolAnnotations, ToolSettings

__all__ = [
    "ResourceLink",
    "Tool",
    "ToolAnnotations",
    "ToolContext",
    "ToolError",
    "ToolFile",
    "ToolResult",
    "ToolSettings",
    "tool",
]

P = ParamSpec("P")
R = TypeVar("R")

Call = Callable[[], Any]

log: logging.Logger = logging.getLogger("claudewire.tools")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")
"""What the API accepts as the name of a tool."""


class Tool(Generic[P, R]):
    """A function that the model can call. It can still be called as the function that it is.

    Make it with `tool`.

    Attributes:
        name: what it is called.
        description: what the model is told about it.
        input_schema: the JSON Schema of its arguments.
        output_schema: the JSON Schema of what it returns, if that is told.
        settings: what it was made with.
    """

    def __init__(
        self,
        function: Callable[P, R],
        settings: ToolSettings | None = None,
        *,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        self._is_static = isinstance(function, staticmethod)
        plain = _plain_function(function)
        functools.update_wrapper(cast("Any", self), plain, updated=())
        self.settings: ToolSettings = settings or ToolSettings()
        self.function: Callable[P, R] = plain
        self._names = names
        self._is_method = False
        self._is_async = _is_async(plain)
        self.name: str = _check_name(self.settings.name or _name_of(plain))
        self._read_signature()

    def _read_signature(self) -> None:
        given = self.settings.schema
        self._arguments = Arguments(
            self.function,
            self._names,
            injected=ToolContext,
            lenient=given is not None,
            skip_first=self._is_method,
        )
        told = self.settings.description
        self.description: str = self._arguments.description if told is None else told
        self.input_schema: dict[str, Any] = self._arguments.schema if given is None else dict(given)
        self.output_schema: dict[str, Any] | None
        self.output_schema, self._wraps = self._read_output()

    def _read_output(self) -> tuple[dict[str, Any] | None, bool]:
        """Give the schema of the output, and whether the value is a field of it."""
        wanted = self.settings.output_schema
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
        # The function turns out to be a method: whoever calls it does not give `self`.
        written_in = getattr(self.function, "__qualname__", "").rpartition(".")[0]
        if written_in == owner.__qualname__ and not self._is_static:
            self._is_method = True
            self._read_signature()

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Give the tool of one object, when it was made of a method."""
        if instance is None or not self._is_method:
            return self
        bound = copy.copy(self)
        bound.function = cast("Any", self.function).__get__(instance, owner)
        return bound

    def definition(self, *, always_load: bool = False) -> dict[str, Any]:
        """Describe it, as MCP does.

        Args:
            always_load: whether the model is shown it from the start, whatever it says itself.
        """
        settings = self.settings
        meta = dict(settings.meta or {})
        if settings.max_result_chars is not None:
            meta["anthropic/maxResultSizeChars"] = settings.max_result_chars
        if settings.always_load or always_load:
            meta["anthropic/alwaysLoad"] = True
        hints = (settings.annotations or ToolAnnotations()).to_wire()
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
        """Call it for the model. It does not raise: what goes wrong is in the result.

        Args:
            arguments: as the model gave them.
            context: the call; one without a session by default.
            limiter: how many plain functions may run at once.
        """
        context = context or ToolContext(tool=self.name)
        try:
            by_position, by_name = self._arguments.convert(arguments)
        except SchemaMismatch as mismatch:
            problems = "\n".join(str(problem) for problem in mismatch.all)
            return error_result(f"Invalid arguments for {self.name}:\n{problems}")
        if self._arguments.injected is not None:
            by_name[self._arguments.injected] = context
        call = functools.partial(self.function, *by_position, **by_name)
        try:
            return to_result(await self._run(call, context, limiter), wrap=self._wraps)
        except ToolError as error:
            return to_result(error)
        except (Exception, SystemExit) as error:
            return self._failure(error)

    def _failure(self, error: BaseException) -> dict[str, Any]:
        log.error("The tool %s failed", self.name, exc_info=error)
        if not self.settings.show_error:
            return error_result("The tool failed.")
        return error_result(f"The tool failed: {str(error) or type(error).__name__}")

    async def _run(
        self, call: Call, context: ToolContext, limiter: anyio.CapacityLimiter | None
    ) -> Any:
        seconds = self.settings.timeout
        done = False
        try:
            if seconds is None:
                value = await self._wait(call, context, limiter)
                done = True
                return value
            with anyio.move_on_after(seconds):
                value = await self._wait(call, context, limiter)
                done = True
                return value
        finally:
            if not done:  # cancelled, too late, or failed: a thread may still be at it
                context.cancel()
        log.warning("The tool %s took longer than %g s and was stopped", self.name, seconds)
        raise ToolError(f"The tool took longer than {seconds:g} s and was stopped.")

    async def _wait(
        self, call: Call, context: ToolContext, limiter: anyio.CapacityLimiter | None
    ) -> Any:
        if self._is_async:
            return await call()
        if self.settings.inline:
            value = call()
        else:
            context.in_thread = True
            value = await call_in_thread(call, limiter=limiter)
            context.in_thread = False
        return await value if inspect.isawaitable(value) else value


def _check_name(name: str) -> str:
    if not _NAME.match(name):
        raise ValueError(
            f"{name!r} cannot be the name of a tool: at most 128 of the letters a-z and A-Z, "
            "digits, _ and - are possible. Give another with `name=`."
        )
    return name


def _plain_function(function: Any) -> Any:
    if isinstance(function, Tool | staticmethod):
        function = function.function if isinstance(function, Tool) else function.__func__
    if isinstance(function, type) or not callable(function):
        raise TypeError(f"A tool is made of a function, not of {function!r}.")
    return function


def _name_of(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", None) or type(function).__name__)


def _is_async(function: Any) -> bool:
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise TypeError(f"A tool returns its result; {_name_of(function)} yields.")
    return is_async_function(function)


def _types_among(names: Mapping[str, Any]) -> dict[str, Any]:
    """Keep what hints may name; anything else should not live as long as the tool."""
    return {
        name: value
        for name, value in names.items()
        if isinstance(value, type | TypeVar | NewType) or get_origin(value) is not None
    }


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | bool = False,
    annotations: ToolAnnotations | None = None,
    timeout: float | None = None,
    inline: bool = False,
    show_error: bool = True,
    max_result_chars: int | None = None,
    always_load: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    schema: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | bool = False,
    annotations: ToolAnnotations | None = None,
    timeout: float | None = None,
    inline: bool = False,
    show_error: bool = True,
    max_result_chars: int | None = None,
    always_load: bool = False,
    meta: Mapping[str, Any] | None = None,
) -> Any:
    """Make a tool of a function, plain or async.

    It can be used as a decorator, with or without arguments, and called with a function or a bound
    method. A parameter annotated with `ToolContext` gets the context of the call; the model does
    not see it.

    A plain function runs in a thread. When nobody wants its result any more, its thread is left
    alone, and `ToolContext.cancelled` says so.

    Args:
        function: the function.
        name: what the tool is called; by default as the function.
        description: what the model is told; by default the docstring without the sections about
            arguments, results and exceptions.
        schema: the JSON Schema of the arguments, instead of the one from the hints. Arguments are
            still converted by the hints, where these have a schema.
        output_schema: the JSON Schema of what is returned, or True for the one from the hint.
        annotations: what it does, as a hint.
        timeout: how many seconds it may take.
        inline: whether a plain function is called in the event loop. For those that take no time.
        show_error: whether the model is told the message of an exception.
        max_result_chars: how long a result may be before the CLI puts it into a file.
        always_load: whether the model is shown the tool from the start. A new CLI may otherwise
            let it search for tools, to keep the prompt short.
        meta: more for the CLI, as `_meta`.

    Raises:
        TypeError: it is no function, cannot be called by name, or has a type without a schema.
        ValueError: the name is not possible.
    """
    settings = ToolSettings(
        name=name,
        description=description,
        schema=schema,
        output_schema=output_schema,
        annotations=annotations,
        timeout=timeout,
        inline=inline,
        show_error=show_error,
        max_result_chars=max_result_chars,
        always_load=always_load,
        meta=meta,
    )
    names = _types_among(sys._getframe(1).f_locals)
    if function is not None:
        return Tool(function, settings, names=names)
    return functools.partial(Tool, settings=settings, names=names)
