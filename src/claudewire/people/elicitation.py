"""What an MCP server asks the user for, and dialogs that the CLI wants to be shown.

    async def on_elicitation(request: ElicitationRequest) -> ElicitationResult:
        return request.accept({"name": "Ada"})

A server describes what it wants as a JSON Schema, which is read as a form of single fields here.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, ClassVar, Literal

import msgspec

from ..wire import (
    DialogCancelled,
    DialogCompleted,
    DialogResult,
    Elicitation,
    ElicitationResult,
    Request,
    RequestUserDialog,
)
from .pending import AnswerError, Clock, Pending, PendingKind

__all__ = [
    "Choice",
    "DialogHandler",
    "DialogRequest",
    "ElicitationHandler",
    "ElicitationRequest",
    "Field",
    "FieldType",
    "Form",
]


class ElicitationRequest(Pending[ElicitationResult]):
    """An MCP server asks the user to fill in a form, or to visit a page.

    Attributes:
        body: the request as it came.
        server: the name of the server.
        message: what it says.
        form: the fields to fill in; none if there is a page to visit instead.
        url: the page; None for a form.
    """

    kind: ClassVar[PendingKind] = "elicitation"
    actions: ClassVar[tuple[str, ...]] = ("accept", "decline", "cancel")

    def __init__(self, request: Request, *, session: str = "", clock: Clock | None = None) -> None:
        body = request.body
        if not isinstance(body, Elicitation):
            raise TypeError(f"{type(body).__name__} is not an elicitation")
        title = body.title or f"{body.mcp_server_name}: {body.message}"
        super().__init__(request.id, title=title, session=session, clock=clock)
        self.body = body
        self.server: str = body.mcp_server_name
        self.message: str = body.message
        self.url: str | None = body.url
        self.form: Form = Form(body.requested_schema, body.property_order)

    def accept(self, content: Mapping[str, Any] | None = None) -> ElicitationResult:
        """Answer with values for the form.

        Args:
            content: a value for each field, by its name; what is left out has its default.

        Raises:
            AnswerError: it does not fit the form; the request still waits.
        """
        if content is not None and not isinstance(content, Mapping):
            raise AnswerError(f"The answer to a form must be an object, not {content!r}")
        whole = self.form.check(content or {})
        filled = whole if whole or self.url is None else None
        return self._give(ElicitationResult("accept", filled))

    def decline(self) -> ElicitationResult:
        """Decline: the server is told no."""
        return self._give(ElicitationResult("decline"))

    def cancel(self) -> ElicitationResult:
        """Say neither yes nor no: the form was closed."""
        return self._give(ElicitationResult("cancel"))

    def _denial(self, reason: str) -> ElicitationResult:
        return ElicitationResult("decline")

    def _fitted(self, answer: object) -> ElicitationResult:
        if not isinstance(answer, ElicitationResult):
            raise TypeError(f"{answer!r} is not an answer to an elicitation")
        if answer.action == "accept":
            self.form.check(answer.content or {})
        return answer

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types."""
        return super().describe() | {
            "server": self.server,
            "message": self.message,
            "url": self.url,
            "fields": [field.describe() for field in self.form.fields],
        }


class DialogRequest(Pending[DialogResult]):
    """The CLI asks to show the user a dialog, of a kind that the host says it knows.

    Attributes:
        body: the request as it came.
        dialog_kind: what kind of dialog.
        payload: what it is about.
    """

    kind: ClassVar[PendingKind] = "dialog"
    actions: ClassVar[tuple[str, ...]] = ("complete", "dismiss")

    def __init__(self, request: Request, *, session: str = "", clock: Clock | None = None) -> None:
        body = request.body
        if not isinstance(body, RequestUserDialog):
            raise TypeError(f"{type(body).__name__} is not a dialog")
        title = f"Dialog: {body.dialog_kind}"
        super().__init__(request.id, title=title, session=session, clock=clock)
        self.body = body
        self.dialog_kind: str = body.dialog_kind
        self.payload: dict[str, Any] = body.payload or {}

    def complete(self, result: object = None) -> DialogResult:
        """Return what the user did in the dialog.

        Raises:
            AnswerError: it cannot be written as JSON; the request still waits.
        """
        try:
            plain = msgspec.to_builtins(result)
            msgspec.json.encode(plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise AnswerError(f"This result cannot be written as JSON: {error}") from None
        return self._give(DialogCompleted(plain))

    def dismiss(self) -> DialogResult:
        """Say that the user closed the dialog."""
        return self._give(DialogCancelled())

    def _denial(self, reason: str) -> DialogResult:
        return DialogCancelled()

    def _fitted(self, answer: object) -> DialogResult:
        if not isinstance(answer, DialogCompleted | DialogCancelled):
            raise TypeError(f"{answer!r} is not an answer to a dialog")
        return answer

    def describe(self) -> dict[str, Any]:
        """Everything there is to show about it, as JSON types."""
        return super().describe() | {"dialog_kind": self.dialog_kind, "payload": self.payload}


ElicitationHandler = Callable[
    [ElicitationRequest], ElicitationResult | Awaitable[ElicitationResult | None] | None
]
"""Answers for the user: a function or a coroutine function. A plain function runs in a thread."""

DialogHandler = Callable[[DialogRequest], DialogResult | Awaitable[DialogResult | None] | None]
"""Shows dialogs: a function or a coroutine function. A plain function runs in a thread."""


# --- forms ---------------------------------------------------------------------------------------

FieldType = Literal["string", "number", "integer", "boolean", "choice", "choices", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values that a field can have, and what to show for it."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a form.

    Attributes:
        name: the key of the value in the answer.
        type: what the value is. `choice` is one of `choices`, `choices` a list of them, and
            `other` anything: the schema describes something that forms do not have.
        title: what to call it.
        description: what it is about.
        required: whether it must have a value.
        choices: the values to choose from.
        default: its value if it is left out.
        schema: the field as the server describes it.
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
        """Say what is wrong with a value; None if nothing is."""
        is_one, words = _TYPES[self.type]
        if not is_one(value):
            return f"{value!r} {words}"
        return self._unknown_choice(value) or _bad_format(self, value) or _limit(self, value)

    def parse(self, typed: str) -> object:
        """Read what a person typed: text, `y` or `n`, numbers of choices, or JSON.

        What makes no sense is returned as it was typed, and `problem` says what is wrong with it.
        """
        if self.type == "string":
            return typed
        if self.type == "boolean":
            return {"y": True, "yes": True, "n": False, "no": False}.get(typed.lower(), typed)
        if self.type in ("choice", "choices"):
            chosen = [self._chosen(it) for it in typed.replace(",", " ").split()]
            return chosen[0] if self.type == "choice" and len(chosen) == 1 else chosen
        try:
            return json.loads(typed)
        except ValueError:
            return typed

    def _chosen(self, number: str) -> str:
        if number.isdecimal() and 1 <= int(number) <= len(self.choices):
            return self.choices[int(number) - 1].value
        return number

    def _unknown_choice(self, value: Any) -> str | None:
        values = [it.value for it in self.choices]
        chosen = [value] if self.type == "choice" else value if self.type == "choices" else ()
        unknown = [it for it in chosen if it not in values]
        known = ", ".join(map(repr, values))
        return f"{unknown[0]!r} is none of {known}" if unknown else None

    def describe(self) -> dict[str, Any]:
        """The field as JSON types."""
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
    """The fields that an MCP server asks for at once.

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
        """Fill in the defaults, and check the values.

        Raises:
            AnswerError: some do not fit; the message names every problem.
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
            raise AnswerError(f"The form is not filled in correctly: {'; '.join(problems)}")
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
    """Read both ways in which servers list values: a plain list, and one with titles."""
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


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value)


_TYPES: dict[FieldType, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda it: isinstance(it, str), "is not a string"),
    "number": (_is_number, "is not a number"),
    "integer": (lambda it: _is_number(it) and it == int(it), "is not a whole number"),
    "boolean": (lambda it: isinstance(it, bool), "is neither true nor false"),
    "choice": (lambda it: True, ""),
    "choices": (lambda it: isinstance(it, list | tuple), "is not a list"),
    "other": (lambda it: True, ""),
}

_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minLength", lambda it, bound: len(it) >= bound, "it must have at least {} characters"),
    ("maxLength", lambda it, bound: len(it) <= bound, "it can have at most {} characters"),
    ("minItems", lambda it, bound: len(it) >= bound, "at least {} must be chosen"),
    ("maxItems", lambda it, bound: len(it) <= bound, "at most {} can be chosen"),
    ("minimum", lambda it, bound: bool(it >= bound), "it must be at least {}"),
    ("maximum", lambda it, bound: bool(it <= bound), "it can be at most {}"),
)


def _limit(field: Field, value: object) -> str | None:
    """Say which limit of the schema a value exceeds."""
    for key, holds, words in _BOUNDS:
        bound = field.schema.get(key)
        if isinstance(bound, int | float):
            try:
                fits = holds(value, bound)
            except TypeError:  # a bound for another type says nothing about this one
                continue
            if not fits:
                return words.format(bound)
    return None


def _bad_format(field: Field, value: Any) -> str | None:
    """Say which format of the schema a string does not have."""
    format = field.schema.get("format")
    if field.type != "string" or not isinstance(format, str) or format not in _FORMATS:
        return None
    try:
        fits = _FORMATS[format](value)
    except ValueError:
        fits = False
    return None if fits else f"{value!r} is not a valid {format}"


_FORMATS: dict[str, Callable[[str], object]] = {
    "email": re.compile(r"[^@\s]+@[^@\s]+").fullmatch,
    "uri": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+").fullmatch,
    "date": date.fromisoformat,
    "date-time": lambda text: "T" in text.upper() and datetime.fromisoformat(text),
}
