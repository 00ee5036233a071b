"""JSON Schemas of Python types, and JSON converted to values of these types.

pydantic does both. Importing this module imports pydantic, so it happens only for a tool or a typed
output. An object has no other fields than the declared ones, so that the model notices a misspelt
name. A `msgspec.Struct` is converted by msgspec, as its class says.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, Final, get_args, get_origin

import msgspec
from pydantic import ConfigDict, PlainValidator, PydanticUserError, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind
from pydantic_core import ErrorDetails, PydanticCustomError

from .errors import describe
from .wire import Error

Schema = dict[str, Any]

_CONFIG: Final = ConfigDict(
    extra="forbid", val_json_bytes="base64", ser_json_bytes="base64", defer_build=True
)
_MOST_PROBLEMS: Final = 20
"""Problems reported at once: a long list may have one in each item."""


class UnsupportedType(Error, TypeError):
    """There is no JSON Schema for this type."""


class SchemaMismatch(Error, ValueError):
    """A value does not fit its type. The message has one line for each problem."""


class _Generator(GenerateJsonSchema):
    """Makes schemas without a title for each field, and without defaults that JSON lacks."""

    ignored_warning_kinds: set[JsonSchemaWarningKind] = {
        "skipped-choice",
        "non-serializable-default",
    }

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


class Parameters:
    """Typed parameters whose values come as one JSON object.

    Forward references in the types may use `names`, besides those of their modules. `descriptions`
    are for parameters whose type has none.
    """

    def __init__(
        self,
        parameters: Iterable[inspect.Parameter],
        names: Mapping[str, Any] | None = None,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        parameters = list(parameters)
        structs = {it.name: it.annotation for it in parameters if _has_struct(it.annotation)}
        try:
            self._adapter: TypeAdapter[dict[str, Any]]
            self._adapter = TypeAdapter(_with_signature(parameters), config=_CONFIG)
            self._adapter.rebuild(force=True, _types_namespace=dict(names or {}))
            self.schema: Schema = self._adapter.json_schema(schema_generator=_Generator)
        except Exception as error:  # pydantic raises many kinds, and so does the code of types
            raise UnsupportedType(_advice(error)) from error
        for definition in self.schema.get("$defs", {}).values():
            _explain(definition, *parse_docstring(definition.pop("description", None)))
        _explain(self.schema, "", descriptions or {})
        for name, hint in structs.items():
            (own,), definitions = msgspec.json.schema_components([hint], ref_template=_REFERENCE)
            self.schema["properties"][name] |= own
            self.schema["$defs"] = {**self.schema.get("$defs", {}), **definitions}

    def convert(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Convert decoded JSON to the values of all parameters; defaults replace missing ones."""
        try:
            return self._adapter.validate_json(msgspec.json.encode(given), strict=True)
        except ValidationError as error:
            problems = error.errors(include_url=False)[:_MOST_PROBLEMS]
            cause = problems[0].get("ctx", {}).get("error", error)  # of the code of a type
            raise SchemaMismatch("\n".join(map(_problem, problems))) from cause
        except Exception as error:
            raise SchemaMismatch(f"$: {describe(error)}") from error


class Value(Parameters):
    """One value of a type, as a JSON object: itself, or else in the only field of one."""

    def __init__(self, kind: Any, field: str, names: Mapping[str, Any] | None = None) -> None:
        only = inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, annotation=kind)
        super().__init__([only], names)
        self._field = field
        inner, definitions = self.schema["properties"][field], self.schema.pop("$defs", {})
        inner = definitions.get(str(inner.get("$ref")).rpartition("/")[2], inner)
        self.is_wrapped: bool = inner.get("type") != "object"
        schema = self.schema if self.is_wrapped else inner
        text = msgspec.json.encode([schema, definitions]).decode()
        used = {name: it for name, it in definitions.items() if f'"#/$defs/{name}"' in text}
        self.schema: Schema = {**schema, "$defs": used} if used else schema

    def convert_value(self, value: Any) -> Any:
        """Convert decoded JSON, without the field. Paths in errors keep it if it is wrapped."""
        try:
            return self.convert({self._field: value})[self._field]
        except SchemaMismatch as mismatch:
            if self.is_wrapped:
                raise
            raise SchemaMismatch(str(mismatch).replace(f"$.{self._field}", "$")) from mismatch


def _with_signature(parameters: Iterable[inspect.Parameter]) -> Any:
    """Return a function that returns its named arguments, for pydantic to call."""

    def collect(**given: Any) -> dict[str, Any]:
        return given

    named = [
        it.replace(
            kind=max(it.kind, it.KEYWORD_ONLY), annotation=_converted_by_msgspec(it.annotation)
        )
        for it in parameters
    ]
    named.sort(key=lambda it: it.kind)
    collect.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    collect.__annotations__ = {it.name: it.annotation for it in named}
    return collect


def _advice(error: Exception) -> str:
    if isinstance(error, NameError):
        return (
            f"A type hint names {error.name!r}, which is not defined: define it in the module of "
            "the type, and not only `if TYPE_CHECKING`."
        )
    if not isinstance(error, PydanticUserError):
        return f"There is no JSON Schema for it: {describe(error)}."
    if error.code == "typed-dict-version":
        return str(error.message)
    problem = error.message.partition(". ")[0].partition("\n")[0].replace("pydantic-core", "JSON")
    return (
        f"{problem}. Use a dataclass, a TypedDict, a msgspec.Struct or a pydantic model, "
        "or give the schema yourself."
    )


def _problem(error: ErrorDetails) -> str:
    """Describe a problem to the model: the place, the expectation, and the value."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in error["loc"])
    path = "$" + "".join(steps)
    if error["type"].startswith("missing"):
        return f"{path}: Required, but missing"
    if error["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{path}: There is no such field"
    value = repr(error["input"])
    return f"{path}: {error['msg']}, got {value if len(value) <= 60 else f'{value[:59]}…'}"


# --- msgspec ------------------------------------------------------------------------------------

_REFERENCE: Final = "#/$defs/{name}"


def _has_struct(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return True
    return any(map(_has_struct, (*filter(None, [get_origin(hint)]), *get_args(hint))))


def _converted_by_msgspec(hint: Any) -> Any:
    """Return the type for pydantic; msgspec converts a type that contains a Struct."""
    if not _has_struct(hint):
        return hint
    return Annotated[Any, PlainValidator(partial(_convert_by_msgspec, hint))]


def _convert_by_msgspec(hint: Any, value: Any) -> Any:
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        raise PydanticCustomError("msgspec", "{problem}", {"problem": str(error)}) from error


# --- docstrings ---------------------------------------------------------------------------------

_ARGUMENTS = "args|arguments|attributes|keyword args|keyword arguments|parameters"
_OTHERS = "raises|returns|yields"
"""Sections without use for the model, which cannot see the code."""
_FLAGS = re.MULTILINE | re.IGNORECASE
_SECTION = re.compile(
    rf"^(?:(?P<arguments>{_ARGUMENTS})|{_OTHERS}):\n(?P<body>(?:[ \t].*\n|\n)*)", _FLAGS
)
_ITEM = re.compile(
    r"^\*{0,2}(\w+)[ \t]*(?:\([^)\n]*\))?[ \t]*:[ \t]*(.*(?:\n[ \t]+.*)*)", re.MULTILINE
)


def parse_docstring(docstring: str | None) -> tuple[str, dict[str, str]]:
    """Split a docstring in Google style into text and descriptions; other styles stay whole."""
    text, described = inspect.cleandoc(docstring or "") + "\n", dict[str, str]()
    if re.match(rf"(?:{_ARGUMENTS}|{_OTHERS}):\n\S", text, _FLAGS):
        # Of a docstring that begins with a title, `cleandoc` removed the indentation below it.
        text = text.replace("\n", "\n    ")
    for section in _SECTION.finditer(text):
        if section["arguments"]:
            for name, words in _ITEM.findall(inspect.cleandoc(section["body"])):
                described[name] = " ".join(words.split())
    return re.sub(r"\n{3,}", "\n\n", _SECTION.sub("", text)).strip(), described


def _explain(schema: Schema, text: str, described: Mapping[str, str]) -> None:
    """Add descriptions to the schema of an object and its properties."""
    if text:
        schema["description"] = text
    for name, inner in schema.get("properties", {}).items():
        if described.get(name):
            inner.setdefault("description", described[name])
