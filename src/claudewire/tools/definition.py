"""Python functions as tools of the model.

    @claudewire.tool
    def add(a: float, b: float) -> float:
        \"\"\"Add two numbers.\"\"\"
        return a + b

Name, description and JSON Schema come from the function's name, docstring and type hints. Arguments
are checked and converted before the call; the returned value is written in the format of MCP.
"""

from __future__ import annotations

import copy
import functools
import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypedDict, TypeVar, cast, overload

import msgspec

from ..concurrency import TookTooLong, call_function, call_within, check_function, function_name
from ..errors import words_of
from .context import ToolContext
from .results import ToolError, error_result, to_result

if TYPE_CHECKING:
    from typing import Unpack

P = ParamSpec("P")
R = TypeVar("R")

log: logging.Logger = logging.getLogger("claudewire.tools")

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""The names of tools that the API accepts."""


class ToolAnnotations(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={
        "read_only": "readOnlyHint",
        "destructive": "destructiveHint",
        "idempotent": "idempotentHint",
        "open_world": "openWorldHint",
    },
):
    """Hints about the effects of a tool, for deciding whether it may run.

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


class ToolSettings(TypedDict, total=False):
    """The keyword arguments of `tool`, which explains them."""

    name: str | None
    description: str | None
    schema: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | bool
    annotations: ToolAnnotations | None
    timeout: float | None
    show_error: bool
    max_result_chars: int | None
    always_load: bool
    meta: Mapping[str, Any] | None


class Tool(Generic[P, R]):
    """A function that the model can call. Calling the tool calls the function, unchecked.

    Make it with `tool`.

    Attributes:
        name: the name by which the model calls it.
        description: its description for the model.
        function: the function itself.
        input_schema: the JSON Schema of its arguments.
        output_schema: the JSON Schema of its result, if the model gets one.
        settings: the keyword arguments that it was made with.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        scope: Mapping[str, Any] | None = None,
        **settings: Unpack[ToolSettings],
    ) -> None:
        unknown = settings.keys() - ToolSettings.__annotations__.keys()
        if unknown:
            raise TypeError(f"A tool has no setting {', '.join(map(repr, sorted(unknown)))}")
        plain: Any = function.function if isinstance(function, Tool) else function
        plain = plain.__func__ if isinstance(plain, staticmethod) else plain
        try:
            signature = check_function(plain)
        except TypeError as error:
            raise TypeError(
                f"A tool is made of a function that returns its result: {error}"
            ) from None
        functools.update_wrapper(cast("Any", self), plain, updated=())
        self.settings: ToolSettings = settings
        self.function: Callable[P, R] = plain
        self.name: str = settings.get("name") or function_name(plain).rpartition(".")[2]
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"{self.name!r} cannot be the name of a tool: a name has at most 128 characters, "
                "which are letters from a to z, digits, _ and -. Give another name with `name=`."
            )
        self._is_method = signature is not None and [*signature.parameters][:1] == ["self"]
        from .arguments import Arguments  # imports pydantic

        schema, described = settings.get("schema"), settings.get("description")
        schema = None if schema is None else {**schema}
        self._arguments = Arguments(plain, scope or {}, schema)
        self.description: str = self._arguments.description if described is None else described
        self.input_schema: dict[str, Any] = self._arguments.schema
        self.output_schema: dict[str, Any] | None = None
        self._wraps = False
        wanted = settings.get("output_schema")
        if isinstance(wanted, Mapping):
            self.output_schema = {**wanted}
        elif wanted:
            value = self._arguments.output()
            self.output_schema, self._wraps = value.schema, value.is_wrapped

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function itself, unchecked."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<Tool {self.name}>"

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
            always_load: show the tool to the model from the start, whatever its settings say.
        """
        settings = self.settings
        meta = dict(settings.get("meta") or {})
        if settings.get("max_result_chars") is not None:
            meta["anthropic/maxResultSizeChars"] = settings["max_result_chars"]
        if settings.get("always_load") or always_load:
            meta["anthropic/alwaysLoad"] = True
        hints = msgspec.to_builtins(settings.get("annotations") or {})
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
        self, arguments: Mapping[str, Any], context: ToolContext | None = None
    ) -> dict[str, Any]:
        """Call the tool for the model. It does not raise: the result reports a failure.

        Args:
            arguments: the arguments that the model sent.
            context: the context of the call; one without a session by default.
        """
        context = context or ToolContext(tool=self.name)
        seconds = self.settings.get("timeout")
        try:
            by_position, by_name = self._arguments.convert(arguments, context)
            function = functools.partial(self.function, *by_position, **by_name)
            call = functools.partial(call_function, function)
            returned = await (call() if seconds is None else call_within(seconds, call))
            return to_result(returned, wrap=self._wraps)
        except ToolError as error:
            return to_result(error)
        except TookTooLong:
            log.warning("The tool %s took longer than %g s and was stopped", self.name, seconds)
            return error_result(
                f"The tool took longer than {self.settings['timeout']:g} s and was stopped."
            )
        except Exception as error:
            log.error("The tool %s failed", self.name, exc_info=error)
            shown = self.settings.get("show_error", True)
            return error_result(f"The tool failed{f': {words_of(error)}' if shown else '.'}")
        finally:
            context.cancelled = True  # its thread may still be running


AnyTool = Tool[..., Any]
"""A tool, whatever its function takes and returns."""


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
        description: its description for the model; by default the docstring without the sections
            about arguments, results and exceptions.
        schema: the JSON Schema of the arguments, instead of the one from the type hints. The
            function then gets them as they came, unchecked.
        output_schema: the JSON Schema of the result, or True for the one from the type hint.
        annotations: hints about the effects of the tool.
        timeout: how many seconds a call may take.
        show_error: whether the model gets the message of an exception; True by default.
        max_result_chars: how long a result may be before the CLI puts it into a file.
        always_load: whether the model sees the tool from the start. A new CLI may otherwise let it
            search for tools, to keep the prompt short.
        meta: more for the CLI, as `_meta`.

    Raises:
        TypeError: it is not a function, cannot be called by name, or has a type without a schema.
        ValueError: the API does not accept the name.
    """
    scope = dict(sys._getframe(1).f_locals)  # for hints that name types of a function's scope
    if function is not None:
        return Tool(function, scope=scope, **settings)
    return functools.partial(Tool, scope=scope, **settings)
