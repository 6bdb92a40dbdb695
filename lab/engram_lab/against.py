"""Compare with other memories on the same texts (`engram bench speed --against`): what they cost, and what they find.

Each is given the same made-up statements of one user and the same encoder, without a language model, and asked for some
of them again. Ours does more as it stores: it segments, extracts, verifies and compares, where the others store a text.
"""

import os
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.util import find_spec
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from langchain_core.embeddings import Embeddings
from langgraph.store.base import ensure_embeddings

from engram_lab.harness import Figures, Progress
from engram_lab.speed import Clock, Writer
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import InvalidInput, MissingExtra
from langgraph_engram.memory import Memory

OURS = "engram"
USER = "ana"
SESSION_TEXTS = 20
FOUND_AMONG = 5
QUESTIONS = 60


class Contender(NamedTuple):
    """A memory that is compared."""

    add: Callable[[Sequence[str]], object]
    """Stores statements of one user, a session of them."""
    search: Callable[[str], list[str]]
    """Returns the texts that are found first, at most `FOUND_AMONG`."""


def _engram(memory: Memory) -> Contender:
    """Our own: both graphs, by rules."""
    sessions = count(1)

    def add(texts: Sequence[str]) -> None:
        said = [{"role": "user", "content": text} for text in texts]
        memory.remember(said, user_id=USER, session_id=f"session-{next(sessions)}")

    return Contender(
        add, lambda query: [found.text for found in memory.search(query, user_id=USER).evidence[:FOUND_AMONG]]
    )


def _langmem(encoder: Encoder, _: str) -> Contender:
    """Langmem's tools on LangGraph's store in memory."""
    from langgraph.store.memory import InMemoryStore
    from langmem import create_manage_memory_tool, create_search_memory_tool

    dims, namespace = encoder.encode(["dimensions"]).shape[1], ("memories", USER)
    store = InMemoryStore(index={"embed": _embeddings(encoder), "dims": dims, "fields": ["content"]})
    manage = create_manage_memory_tool(namespace=namespace, store=store)
    find = create_search_memory_tool(namespace=namespace, store=store, response_format="content_and_artifact")

    def add(texts: Sequence[str]) -> None:
        for text in texts:
            manage.invoke({"content": text, "action": "create"})

    def search(query: str) -> list[str]:
        call = {"args": {"query": query, "limit": FOUND_AMONG}, "id": "1", "name": find.name, "type": "tool_call"}
        return [item.value["content"] for item in find.invoke(call).artifact]

    return Contender(add, search)


def _mem0(encoder: Encoder, folder: str) -> Contender:
    """mem0 over Chroma, storing texts as they are (`infer=False`)."""
    os.environ.setdefault("MEM0_TELEMETRY", "false")
    os.environ.setdefault("MEM0_DIR", folder)
    import mem0

    memory = mem0.Memory.from_config(
        {
            "vector_store": {"provider": "chroma", "config": {"collection_name": "memories", "path": folder}},
            "embedder": {"provider": "langchain", "config": {"model": _embeddings(encoder)}},
            "llm": {"provider": "openai", "config": {"api_key": "not-used"}},
            "history_db_path": str(Path(folder, "history.db")),
        }
    )

    def search(query: str) -> list[str]:
        found = memory.search(query, filters={"user_id": USER}, top_k=FOUND_AMONG)
        return [item["memory"] for item in found["results"]]

    return Contender(
        lambda texts: memory.add([{"role": "user", "content": text} for text in texts], user_id=USER, infer=False),
        search,
    )


def _chroma(encoder: Encoder, folder: str) -> Contender:
    """A collection of Chroma in a folder."""
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
    collection, ids = client.create_collection("memories", embedding_function=None), map(str, count())

    def search(query: str) -> list[str]:
        found = collection.query(query_embeddings=encoder.encode([query]), n_results=FOUND_AMONG)
        return (found["documents"] or [[]])[0]

    return Contender(
        lambda texts: collection.add(
            list(islice(ids, len(texts))), documents=list(texts), embeddings=encoder.encode(texts)
        ),
        search,
    )


def _rank_bm25(_: Encoder, __: str) -> Contender:
    """Words alone: rank-bm25, whose index is made anew once something was added."""
    from rank_bm25 import BM25Okapi

    texts: list[str] = []
    made: dict[int, Any] = {}

    def search(query: str) -> list[str]:
        if len(texts) not in made:
            made[len(texts)] = BM25Okapi([text.casefold().split() for text in texts])
        return list(made[len(texts)].get_top_n(query.casefold().split(), texts, FOUND_AMONG))

    return Contender(texts.extend, search)


OTHERS: dict[str, tuple[Callable[[Encoder, str], Contender], str, str]] = {
    "langmem": (_langmem, "langmem", "langmem"),
    "mem0": (_mem0, "mem0", "mem0ai"),
    "chroma": (_chroma, "chromadb", "chromadb"),
    "rank-bm25": (_rank_bm25, "rank_bm25", "rank-bm25"),
}
"""What can be compared with: how it is opened, its module, and the package that brings it."""


def run_against(
    open_memory: Callable[[str, Encoder], AbstractContextManager[Memory]],
    open_encoder: Callable[[], Encoder],
    names: Sequence[str],
    *,
    texts: int,
    progress: Progress = None,
) -> Figures:
    """Store the same texts in each memory, and ask each for the same ones.

    Returns:
        Figures as plain JSON by memory: CPU and wall of storing a session of twenty statements and of a search, in
        milliseconds, and `found`, the share of questions whose statement is among the first five that are found.
    """
    for name in names:
        if name not in OTHERS:
            raise InvalidInput(f"nothing is known of {name!r}: compare with some of {', '.join(OTHERS)}")
        _, module, package = OTHERS[name]
        if find_spec(module) is None:
            raise MissingExtra(f"{name} is not installed: pip install {package}")
    draw = random.Random(0)
    writer = Writer(draw)
    said = [writer.sentence() for _ in range(texts)]
    asked = [(text, _question(text)) for text in draw.sample(said, min(QUESTIONS, texts))]
    figures: Figures = {"texts": texts, "questions": len(asked)}
    for position, name in enumerate([OURS, *names]):
        if progress:
            progress(f"storing and asking {name}", position, len(names) + 1)
        encoder = open_encoder()
        encoder.encode(["Loads the weights."])
        figures["encoder"] = encoder.name
        with TemporaryDirectory(prefix="engram-against-", ignore_cleanup_errors=True) as folder:
            if name != OURS:
                figures[name] = _measure(OTHERS[name][0](encoder, folder), said, asked)
                continue
            with open_memory(folder, encoder) as memory:
                figures[name] = _measure(_engram(memory), said, asked)
    return figures


def _measure(contender: Contender, said: Sequence[str], asked: Sequence[tuple[str, str]]) -> Figures:
    store, search, found = Clock(), Clock(), 0
    for start in range(0, len(said), SESSION_TEXTS):
        store.measure(partial(contender.add, said[start : start + SESSION_TEXTS]))
    contender.search(asked[0][1])
    for text, question in asked:
        search.measure(partial(contender.search, question))
        found += any(text.rstrip(".") in result for result in contender.search(question))
    return {"store": store.figures(), "search": search.figures(), "found": round(found / len(asked), 3)}


def _embeddings(encoder: Encoder) -> Embeddings:
    return ensure_embeddings(lambda texts: encoder.encode(list(texts)).tolist())


def _question(text: str) -> str:
    """Ask about the thing and the city of a made-up statement."""
    words = text.split()
    return f"What happened with the {words[3]} {words[4]} in {words[6]}?"
