"""Read the rows of schema 2, to migrate them: each field under a key of its own.

Moments are milliseconds since 1970, with those that milliseconds cannot hold under `EXACT`; lists are JSON.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeVar, get_args, get_origin

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

OLDEST = 2
"""The version of these rows, the oldest that can be migrated."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
EXACT = "exact"


def flat_keys(model: type[BaseModel]) -> list[str]:
    """Return the keys of the rows of a model, their scope aside."""
    return [*model.model_fields, EXACT]


def decode_flat(model: type[M], metadata: Mapping[str, Any]) -> M:
    """Read a model back.

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


def _moment(milliseconds: int) -> datetime:
    return EPOCH + milliseconds * MILLISECOND


@lru_cache
def _fields_holding(model: type[BaseModel], *types: type) -> frozenset[str]:
    """Return the fields that hold a value of one of `types`, or None."""
    return frozenset(
        name
        for name, field in model.model_fields.items()
        if any((get_origin(part) or part) in types for part in (field.annotation, *get_args(field.annotation)))
    )
