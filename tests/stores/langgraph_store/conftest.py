"""Fixtures: our store and LangGraph's `InMemoryStore`, which has to pass the same tests."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.integrations.store import EngramStore

DIMENSIONS = 64
Make = Callable[..., Any]
Embed = Callable[[Sequence[str]], list[list[float]]]


def hashed_words(texts: Sequence[str]) -> list[list[float]]:
    """Embed by hashed words: texts are near when they share some."""
    vectors: list[list[float]] = HashingEncoder(DIMENSIONS).encode(texts).tolist()
    return vectors


@pytest.fixture
def embeddings() -> Embed:
    return hashed_words


@pytest.fixture(params=["memory", "folder", "reference"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Open an empty store by an `index`, without vectors unless there is one."""
    with ExitStack() as stores:
        yield lambda index=None: _opened(request.param, tmp_path, stores, index)


@pytest.fixture(params=["memory", "folder"])
def make_ours(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Open an empty store of ours, for what LangGraph's own in memory leaves out."""
    with ExitStack() as stores:
        yield lambda index=None, **named: _opened(request.param, tmp_path, stores, index, **named)


@pytest.fixture
def store(make: Make) -> BaseStore:
    """An empty store of each sort."""
    return make()


@pytest.fixture
def ours(make_ours: Make) -> EngramStore:
    """An empty store of ours."""
    return make_ours()


@pytest.fixture
def searchable(make: Make, embeddings: Embed) -> BaseStore:
    """An empty store of each sort with semantic search."""
    return make({"dims": DIMENSIONS, "embed": embeddings})


def _opened(sort: str, tmp_path: Path, stores: ExitStack, index: Any, **named: Any) -> BaseStore:
    if sort == "reference":
        return InMemoryStore(index=index)
    location = "memory:" if sort == "memory" else tmp_path / "store"
    return stores.enter_context(EngramStore(location, index=index or False, **named))
