"""Forms of MCP servers, and dialogs of the CLI.

    async def on_elicitation(request: ElicitationRequest) -> ElicitationResult:
        return request.accept({"name": "Ada"})

A server describes its form as a JSON Schema of single fields.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
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
from .request import AnswerError, ApprovalKind, ApprovalRequest, HandlerOf, require_json, word


class ElicitationRequest(ApprovalRequest[ElicitationResult]):
    """A form of an MCP server to fill in, or a page to visit.

    Attributes:
        server: the name of the server.
        message: the text of the server.
        form: the fields to fill in; none if there is a page to visit.
        url: the page to visit; None for a form.
    """

    kind: ClassVar[ApprovalKind] = "elicitation"
    actions: ClassVar[tuple[str, ...]] = ("accept", "decline", "cancel")
    _answers = (ElicitationResult,)
    _shown = ("server", "message", "url")
    body: Elicitation

    def __init__(self, request: Request, *, session: str = "", cwd: str | None = None) -> None:
        super().__init__(request, session=session, cwd=cwd)
        self.server: str = self.body.mcp_server_name
        self.message: str = self.body.message
        self.url: str | None = self.body.url
        self.form: Form = Form(self.body.requested_schema, self.body.property_order)

    @property
    def _heading(self) -> str:
        return word(self.server, "A server")

    @property
    def _subject(self) -> str:
        return self.body.title or self.message

    def accept(self, content: Mapping[str, Any] | None = None) -> ElicitationResult:
        """Fill in the form.

        Args:
            content: a value for each field, by its name; other fields get their default.

        Raises:
            AnswerError: it does not fit the form; the request stays pending.
        """
        if content is not None and not isinstance(content, Mapping):
            raise AnswerError(f"The content of a form must be a mapping, got {content!r}")
        whole = self.form.check(content or {})
        return ElicitationResult("accept", whole if whole or self.url is None else None)

    def decline(self) -> ElicitationResult:
        """Say no."""
        return ElicitationResult("decline")

    def cancel(self) -> ElicitationResult:
        """Close the form without an answer."""
        return ElicitationResult("cancel")

    def refusal(self, reason: str) -> ElicitationResult:
        """Decline; a server gets no reason."""
        return ElicitationResult("decline")

    def check(self, answer: object) -> ElicitationResult:
        """Check an answer.

        Raises:
            TypeError: it does not answer an elicitation.
            AnswerError: it does not fit the form.
        """
        checked = super().check(answer)
        if checked.action == "accept":
            self.form.check(checked.content or {})
        return checked

    def describe(self) -> dict[str, Any]:
        """Return all facts that a user interface shows, as JSON types."""
        return super().describe() | {"fields": [it.describe() for it in self.form.fields]}


class DialogRequest(ApprovalRequest[DialogResult]):
    """A dialog of the CLI, of a kind that the host claims to know.

    Attributes:
        dialog_kind: the kind of dialog.
        payload: the data of the dialog.
    """

    kind: ClassVar[ApprovalKind] = "dialog"
    actions: ClassVar[tuple[str, ...]] = ("complete", "dismiss")
    _answers = (DialogCompleted, DialogCancelled)
    _shown = ("dialog_kind", "payload")
    body: RequestUserDialog

    def __init__(self, request: Request, *, session: str = "", cwd: str | None = None) -> None:
        super().__init__(request, session=session, cwd=cwd)
        self.dialog_kind: str = self.body.dialog_kind
        self.payload: dict[str, Any] = self.body.payload or {}

    _heading = "Dialog"

    @property
    def _subject(self) -> str:
        return self.dialog_kind

    def complete(self, result: object = None) -> DialogResult:
        """Return the result of the dialog.

        Raises:
            AnswerError: it cannot be written as JSON; the request stays pending.
        """
        return DialogCompleted(require_json("The result", result))

    def dismiss(self) -> DialogResult:
        """Close the dialog without a result."""
        return DialogCancelled()

    def refusal(self, reason: str) -> DialogResult:
        """Dismiss the dialog, which has no reason."""
        return DialogCancelled()


ElicitationHandler = HandlerOf[ElicitationRequest, ElicitationResult]
"""Answers an MCP server for the user."""

DialogHandler = HandlerOf[DialogRequest, DialogResult]
"""Shows dialogs."""


# --- forms ---------------------------------------------------------------------------------------

FieldType = Literal["string", "number", "integer", "boolean", "choice", "choices", "other"]


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a field can have, and its title."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form.

    Attributes:
        name: the key of the value in the answer.
        type: the type of the value. `choice` is one of `choices`, `choices` a list of them, and
            `other` any value: the schema is beyond forms.
        title: a label.
        description: an explanation.
        required: whether it must have a value.
        choices: the values to choose from.
        default: the value if none is given.
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

    def problem(self, value: Any) -> str | None:
        """Describe why a value does not fit; None if it does."""
        fits, words = _TYPES.get(self.type, (None, ""))
        if fits is not None and not fits(value):
            return f"{value!r} {words}"
        known = [it.value for it in self.choices]
        for chosen in {"choice": [value], "choices": value}.get(self.type, []):
            if chosen not in known:
                return f"{chosen!r} is none of {', '.join(map(repr, known))}"
        return _limit(self, value)

    def parse(self, typed: str) -> object:
        """Read typed text: a string, `y` or `n`, numbers of choices, or JSON.

        Text that cannot be read is returned unchanged; `problem` then explains it.
        """
        if self.type == "string":
            return typed
        if self.type == "boolean":
            return {"y": True, "yes": True, "n": False, "no": False}.get(typed.lower(), typed)
        if self.type in ("choice", "choices"):
            numbered = {str(number): it.value for number, it in enumerate(self.choices, 1)}
            chosen = [numbered.get(it, it) for it in typed.replace(",", " ").split()]
            return chosen[0] if self.type == "choice" and len(chosen) == 1 else chosen
        try:
            return json.loads(typed)
        except ValueError:
            return typed

    def describe(self) -> dict[str, Any]:
        """Return the field as JSON types."""
        plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self))
        return {key: it for key, it in plain.items() if key != "schema"}


class Form:
    """The fields that an MCP server asks for at once.

    Attributes:
        fields: the fields, in the order to show them.
    """

    def __init__(
        self, schema: Mapping[str, Any] | None, order: Sequence[str] | None = None
    ) -> None:
        found, required = (schema or {}).get("properties"), (schema or {}).get("required")
        properties = found if isinstance(found, dict) else {}
        needed = required if isinstance(required, list) else []
        names = dict.fromkeys([*(it for it in order or () if it in properties), *properties])
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
        whole = {key: value for key, value in content.items() if value is not None}
        for field in self.fields:
            if field.default is not None:
                whole.setdefault(field.name, field.default)
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
    title, description = (
        it if isinstance(it := schema.get(key), str) else "" for key in ("title", "description")
    )
    type, choices = _type(schema)
    default = schema.get("default")
    return Field(name, type, title or name, description, required, choices, default, schema)


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
    values, titles = schema.get("enum"), schema.get("enumNames")
    if isinstance(values, list):
        if not isinstance(titles, list) or len(titles) != len(values):
            titles = values
        return tuple(Choice(str(it), str(title)) for it, title in zip(values, titles, strict=True))
    listed = schema.get("oneOf", schema.get("anyOf"))
    if isinstance(listed, list) and all(isinstance(it, dict) and "const" in it for it in listed):
        return tuple(Choice(str(it["const"]), str(it.get("title", it["const"]))) for it in listed)
    return ()


# --- checking a value ----------------------------------------------------------------------------


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


_TYPES: dict[FieldType, tuple[Callable[[Any], bool], str]] = {
    "string": (lambda it: isinstance(it, str), "is not a string"),
    "number": (_is_number, "is not a number"),
    "integer": (lambda it: _is_number(it) and it == int(it), "is not a whole number"),
    "boolean": (lambda it: isinstance(it, bool), "is neither true nor false"),
    "choices": (lambda it: isinstance(it, list | tuple), "is not a list"),
}

_NUMBERS = ("number", "integer")
_LIMITS: tuple[tuple[str, tuple[str, ...], Callable[[Any, Any], bool], str], ...] = (
    ("minLength", ("string",), lambda it, n: len(it) >= n, "it must have at least {} characters"),
    ("maxLength", ("string",), lambda it, n: len(it) <= n, "it can have at most {} characters"),
    ("minItems", ("choices",), lambda it, n: len(it) >= n, "at least {} must be chosen"),
    ("maxItems", ("choices",), lambda it, n: len(it) <= n, "at most {} can be chosen"),
    ("minimum", _NUMBERS, lambda it, n: bool(it >= n), "it must be at least {}"),
    ("maximum", _NUMBERS, lambda it, n: bool(it <= n), "it can be at most {}"),
)


def _limit(field: Field, value: Any) -> str | None:
    """Name the limit of the schema that a value exceeds."""
    for key, types, fits, words in _LIMITS:
        bound = field.schema.get(key)
        if field.type in types and _is_number(bound) and not fits(value, bound):
            return words.format(bound)
    return None
