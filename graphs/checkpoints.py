"""Restore the types of the two states from checkpoints, whichever saver holds them.

LangGraph restores a type that it does not know with a warning, or with `LANGGRAPH_STRICT_MSGPACK` as a plain mapping,
and asks whoever compiles a graph to list its types. The builders here do so for a saver that they are given.
"""

import copy
from collections.abc import Iterable
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph.state import CompiledStateGraph
from pydantic import BaseModel

from langgraph_engram.state import ReadState, ServedRecallRequest, ServedRememberRequest, WriteState

Graph = TypeVar("Graph", bound=CompiledStateGraph[Any, Any, Any, Any])
Saver = TypeVar("Saver", bound=BaseCheckpointSaver[Any] | None)


def checkpoint_serializer(more: Iterable[type | tuple[str, str]] = ()) -> JsonPlusSerializer:
    """Return a serializer for the checkpointer of a graph of yours that holds these graphs, or what they return."""
    return JsonPlusSerializer(allowed_msgpack_modules=[*checkpointed_types(), *more])


def checkpointed(graph: Graph, saver: BaseCheckpointSaver[Any] | None) -> Graph:
    """Return a compiled graph as it is, but with its steps saved in `saver`; None for none."""
    return graph.copy({"checkpointer": with_known_types(saver)})


def with_known_types(saver: Saver) -> Saver:
    """Return a saver of the same checkpoints that restores these types; one with a serializer of its own as it is."""
    if saver is None or type(saver.serde) is not JsonPlusSerializer:
        return saver
    cloned = copy.copy(saver)
    cloned.serde = checkpoint_serializer()
    return cloned


@cache
def checkpointed_types() -> list[tuple[str, str]]:
    """Return module and name of the types that a checkpoint may hold: those of the two states, and of served inputs."""
    found: dict[type[BaseModel], None] = {}
    states = [annotation for state in (WriteState, ReadState) for annotation in get_type_hints(state).values()]
    for annotation in (*states, ServedRememberRequest, ServedRecallRequest):
        _collect(annotation, found)
    return [(model.__module__, model.__name__) for model in found]


def _collect(annotation: object, found: dict[type[BaseModel], None]) -> None:
    for inner in get_args(annotation):
        _collect(inner, found)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation not in found:
        found[annotation] = None
        for field in annotation.model_fields.values():
            _collect(field.annotation, found)
