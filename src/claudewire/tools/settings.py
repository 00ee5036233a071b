"""How a tool is shown and run, where its function does not say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ToolAnnotations", "ToolSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAnnotations:
    """What a tool does, as a hint for whoever decides whether it may.

    Attributes:
        title: its name, for people.
        read_only: whether it changes nothing. The CLI may then run several at once.
        destructive: whether it may destroy something.
        idempotent: whether doing it twice is the same as doing it once.
        open_world: whether it deals with things outside, as the web.
    """

    title: str | None = None
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    open_world: bool | None = None

    def to_wire(self) -> dict[str, Any]:
        """Write them as MCP does."""
        fields = {
            "title": self.title,
            "readOnlyHint": self.read_only,
            "destructiveHint": self.destructive,
            "idempotentHint": self.idempotent,
            "openWorldHint": self.open_world,
        }
        return {key: value for key, value in fields.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    """What `tool` was told, as it explains it.

    Attributes:
        name: instead of the function's.
        description: instead of the docstring's.
        schema: of the arguments, instead of the one from the hints.
        output_schema: of what is returned, or True for the one from the hint.
        annotations: what it does.
        timeout: how many seconds it may take.
        inline: whether a plain function is called in the event loop.
        show_error: whether the model is told the message of an exception.
        max_result_chars: how long a result may be before the CLI puts it into a file.
        always_load: whether the model is shown it from the start.
        meta: more for the CLI, as `_meta`.
    """

    name: str | None = None
    description: str | None = None
    schema: Mapping[str, Any] | None = None
    output_schema: Mapping[str, Any] | bool = False
    annotations: ToolAnnotations | None = None
    timeout: float | None = None
    inline: bool = False
    show_error: bool = True
    max_result_chars: int | None = None
    always_load: bool = False
    meta: Mapping[str, Any] | None = None
