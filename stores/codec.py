"""Write our models as flat metadata and read them back, field for field.

Scalars stay as they are. A moment is an integer, milliseconds since 1970, so that a store can compare it; where that
loses something (microseconds, a time zone, or that there is none) it is also kept as ISO 8601 under `EXACT`. Lists and
mappings are JSON. What is unknown or empty is absent: `None` tells Chroma to remove the key. This module does not know
which models there are.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)
Scalar: TypeAlias = str | int | float | bool
Metadata: TypeAlias = dict[str, Scalar | None]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"
"""The key under which moments stand that milliseconds cannot hold; no model may have a field of this name."""


def encode(item: BaseModel) -> Metadata:
    """Write a model as flat metadata.

    Raises:
        UnicodeEncodeError: A text holds half a character (a lone surrogate).
    """
    values = {name: getattr(item, name) for name in type(item).model_fields}
    moments = {name: value for name, value in values.items() if isinstance(value, datetime)}
    exact = {name: value.isoformat() for name, value in moments.items() if value.isoformat() != _reread(value)}
    metadata = {name: _flat(value, type(item).model_fields[name].default) for name, value in values.items()}
    return metadata | {EXACT: json.dumps(exact) if exact else None}


def decode(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back. Keys that are none of its fields are passed over.

    Raises:
        pydantic.ValidationError: A field is missing, or is not what it should be.
    """
    values = {name: metadata[name] for name in model.model_fields if metadata.get(name) is not None}
    exact: dict[str, str] = json.loads(metadata.get(EXACT) or "{}")
    for name in _fields_holding(model, datetime) & values.keys():
        values[name] = datetime.fromisoformat(exact[name]) if name in exact else _moment(values[name])
    for name in _fields_holding(model, list, dict) & values.keys():
        values[name] = json.loads(values[name])
    return model.model_validate(values)


def _flat(value: object, default: object) -> Scalar | None:
    if isinstance(value, datetime):
        return _milliseconds(value)
    if value is None or (value == default and value in ("", [], {})):
        return None
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text.encode()  # Chroma's own complaint about half a character names no text
    return text


def _milliseconds(moment: datetime) -> int:
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // MILLISECOND


def _moment(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MILLISECOND


def _reread(moment: datetime) -> str:
    return _moment(_milliseconds(moment)).isoformat()


@lru_cache
def _fields_holding(model: type[BaseModel], *types: type) -> frozenset[str]:
    """Name the fields that hold a value of one of `types`, or none."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if any((get_origin(one) or one) in types for one in (field.annotation, *get_args(field.annotation)))
    )
