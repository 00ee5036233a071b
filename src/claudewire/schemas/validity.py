"""Whether something is a JSON Schema, so that a misspelt one is refused before it is sent."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from ..errors import OptionsError
from .limits import LIMIT_KEYWORDS
from .portable import LISTS_OF_SCHEMAS, MAPS_OF_SCHEMAS, SCHEMAS

__all__ = ["check_schema"]

_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")


def check_schema(schema: object, path: str) -> None:
    """Check the parts of a JSON Schema that say what a value looks like.

    Args:
        schema: the schema, or a part of it.
        path: where it is, for the error.

    Raises:
        OptionsError: it is not a JSON Schema.
    """
    if isinstance(schema, bool):  # all values, or none
        return
    if not isinstance(schema, Mapping):
        raise OptionsError(f"{path} must be a JSON Schema, an object, not {schema!r}")
    for key, value in schema.items():
        _check(str(key), value, f"{path}.{key}")


def _check(key: str, value: Any, path: str) -> None:
    if key == "type":
        _check_type(value, path)
    elif key in LIMIT_KEYWORDS:
        _check_limit(key, value, path)
    elif key == "required" and not _is_list(value, str):
        raise OptionsError(f"{path} must be a list of names, not {value!r}")
    elif key == "enum" and not _is_list(value, object):
        raise OptionsError(f"{path} must be a list of values, not {value!r}")
    elif key in MAPS_OF_SCHEMAS:
        if not isinstance(value, Mapping):
            raise OptionsError(f"{path} must be an object, not {value!r}")
        _check_each({f"{path}.{name}": inner for name, inner in value.items()})
    elif key in LISTS_OF_SCHEMAS and not _is_list(value, object):
        raise OptionsError(f"{path} must be a list of schemas, not {value!r}")
    elif key in LISTS_OF_SCHEMAS | SCHEMAS:
        parts = value if isinstance(value, list | tuple) else [value]
        _check_each({f"{path}[{index}]": inner for index, inner in enumerate(parts)})


def _check_each(schemas: Mapping[str, Any]) -> None:
    for path, schema in schemas.items():
        check_schema(schema, path)


def _check_type(value: Any, path: str) -> None:
    for each in value if isinstance(value, list | tuple) else [value]:
        if not isinstance(each, str) or each not in _TYPES:
            close = get_close_matches(str(each), _TYPES)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise OptionsError(f"{path} must be one of {', '.join(_TYPES)}, not {each!r}{hint}")


def _check_limit(key: str, value: Any, path: str) -> None:
    if key == "pattern":
        if not isinstance(value, str):
            raise OptionsError(f"{path} must be a string, not {value!r}")
    elif isinstance(value, bool) or not isinstance(value, int | float):
        raise OptionsError(f"{path} must be a number, not {value!r}")
    elif key == "multipleOf" and not value > 0:
        raise OptionsError(f"{path} must be more than 0, not {value!r}")


def _is_list(value: Any, kind: type[Any]) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(it, kind) for it in value)
