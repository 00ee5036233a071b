"""Forms: what an MCP server wants to know, field by field, and whether an answer fits."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Literal

from .pending import AnswerError

__all__ = ["Choice", "Field", "FieldType", "Form"]

FieldType = Literal["string", "number", "integer", "boolean", "choice", "choices", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a field can have, and what to show for it."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """One thing that is asked.

    Attributes:
        name: the key of the answer.
        type: what the answer is. `choice` is one of `choices`, `choices` a list of them, and
            `other` anything: the schema says something that forms do not have.
        title: what to call it.
        description: what it is about.
        required: whether it may be left out.
        choices: the values to choose from.
        default: what is answered if nothing is.
        schema: the field as the server has described it.
    """

    name: str
    type: FieldType
    title: str
    description: str
    required: bool
    choices: tuple[Choice, ...]
    default: Any
    schema: Mapping[str, Any]

    def problem(self, value: object) -> str | None:
        """Say what is wrong with a value; None if it fits."""
        if (wrong := _CHECKS[self.type](self, value)) is not None:
            return wrong
        return _limits(self.schema, value)

    def describe(self) -> dict[str, Any]:
        """The field as JSON has it."""
        return {
            "name": self.name,
            "type": self.type,
            "title": self.title,
            "description": self.description,
            "required": self.required,
            "choices": [{"value": it.value, "title": it.title} for it in self.choices],
            "default": self.default,
        }


class Form:
    """Everything that is asked at once.

    Attributes:
        fields: the fields, in the order in which to show them.
    """

    def __init__(
        self, schema: Mapping[str, Any] | None, order: Sequence[str] | None = None
    ) -> None:
        found = (schema or {}).get("properties")
        properties = found if isinstance(found, Mapping) else {}
        names = [name for name in dict.fromkeys(order or ()) if name in properties]
        names += [name for name in properties if name not in names]
        required = (schema or {}).get("required")
        needed = required if isinstance(required, list) else []
        self.fields: tuple[Field, ...] = tuple(
            _field(name, properties[name], name in needed) for name in names
        )

    def check(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Complete an answer with defaults, and check it.

        Raises:
            AnswerError: it does not fit; the message names every problem.
        """
        known = {field.name for field in self.fields}
        problems = [f"there is no field {key!r}" for key in content if key not in known]
        whole = dict(content)
        for field in self.fields:
            if whole.get(field.name) is None:
                whole.pop(field.name, None)
                if field.default is not None:
                    whole[field.name] = field.default
            if field.name in whole:
                problem = field.problem(whole[field.name])
            else:
                problem = "it is required" if field.required else None
            if problem is not None:
                problems.append(f"{field.name}: {problem}")
        if problems:
            raise AnswerError(f"The form is not filled in as it should be: {'; '.join(problems)}")
        return whole


# --- reading a schema ----------------------------------------------------------------------------


def _field(name: str, schema: Any, required: bool) -> Field:
    schema = schema if isinstance(schema, Mapping) else {}
    type, choices = _type(schema)
    return Field(
        name=name,
        type=type,
        title=_text(schema, "title") or name,
        description=_text(schema, "description"),
        required=required,
        choices=choices,
        default=schema.get("default"),
        schema=schema,
    )


def _text(schema: Mapping[str, Any], key: str) -> str:
    value = schema.get(key)
    return value if isinstance(value, str) else ""


def _type(schema: Mapping[str, Any]) -> tuple[FieldType, tuple[Choice, ...]]:
    if choices := _choices(schema):
        return "choice", choices
    type, items = schema.get("type"), schema.get("items")
    if type == "array" and isinstance(items, Mapping) and (choices := _choices(items)):
        return "choices", choices
    for known in ("string", "number", "integer", "boolean"):
        if type == known:
            return known, ()
    return "other", ()


def _choices(schema: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Both ways in which servers list values: a plain list, and one with titles."""
    values, names = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        titles = names if isinstance(names, list) and len(names) == len(values) else values
        return tuple(Choice(str(it), str(title)) for it, title in zip(values, titles, strict=True))
    for key in ("oneOf", "anyOf"):
        listed = schema.get(key)
        if isinstance(listed, list) and all(
            isinstance(it, Mapping) and "const" in it for it in listed
        ):
            return tuple(
                Choice(str(it["const"]), str(it.get("title", it["const"]))) for it in listed
            )
    return ()


# --- checking a value ----------------------------------------------------------------------------


def _is_string(field: Field, value: object) -> str | None:
    if not isinstance(value, str):
        return f"{value!r} is no text"
    format = field.schema.get("format")
    test = _FORMATS.get(format) if isinstance(format, str) else None
    return None if test is None or test(value) else f"{value!r} is no {format}"


def _is_number(field: Field, value: object) -> str | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return f"{value!r} is no number"
    return None


def _is_integer(field: Field, value: object) -> str | None:
    if (wrong := _is_number(field, value)) is not None:
        return wrong
    return None if value == int(value) else f"{value!r} is no whole number"  # type: ignore[call-overload]


def _is_boolean(field: Field, value: object) -> str | None:
    return None if isinstance(value, bool) else f"{value!r} is neither true nor false"


def _is_choice(field: Field, value: object) -> str | None:
    values = [it.value for it in field.choices]
    return None if value in values else f"{value!r} is none of {', '.join(map(repr, values))}"


def _is_choices(field: Field, value: object) -> str | None:
    if not isinstance(value, list | tuple):
        return f"{value!r} is no list"
    wrong = [problem for it in value if (problem := _is_choice(field, it)) is not None]
    return wrong[0] if wrong else None


def _is_anything(field: Field, value: object) -> str | None:
    return None


_CHECKS: dict[str, Callable[[Field, object], str | None]] = {
    "string": _is_string,
    "number": _is_number,
    "integer": _is_integer,
    "boolean": _is_boolean,
    "choice": _is_choice,
    "choices": _is_choices,
    "other": _is_anything,
}

_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minLength", lambda it, bound: len(it) >= bound, "it has to have at least {} characters"),
    ("maxLength", lambda it, bound: len(it) <= bound, "it can have at most {} characters"),
    ("minItems", lambda it, bound: len(it) >= bound, "at least {} have to be chosen"),
    ("maxItems", lambda it, bound: len(it) <= bound, "at most {} can be chosen"),
    ("minimum", lambda it, bound: bool(it >= bound), "it has to be at least {}"),
    ("maximum", lambda it, bound: bool(it <= bound), "it can be at most {}"),
)


def _limits(schema: Mapping[str, Any], value: object) -> str | None:
    for key, holds, words in _BOUNDS:
        bound = schema.get(key)
        if isinstance(bound, int | float):
            try:
                fits = holds(value, bound)
            except TypeError:  # a bound for another type says nothing about this one
                continue
            if not fits:
                return words.format(bound)
    return None


def _is_date(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _is_moment(text: str) -> bool:
    try:
        return "T" in text.upper() and bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def _matches(pattern: str) -> Callable[[str], bool]:
    return lambda text: re.fullmatch(pattern, text) is not None


_FORMATS: dict[str, Callable[[str], bool]] = {
    "email": _matches(r"[^@\s]+@[^@\s]+"),
    "uri": _matches(r"[A-Za-z][A-Za-z0-9+.-]*:\S+"),
    "date": _is_date,
    "date-time": _is_moment,
}
