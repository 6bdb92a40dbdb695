"""Compare with other memories on the same texts (`engram bench speed --against`): what they cost, and what they find.

Each is given the same made-up statements of one user and the same encoder, without a language model, and asked for some
of them again. Ours does more as it stores: it segments, extracts, verifies and compares, where the others store a text.
"""

import os
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from langchain_core.embeddings import Embeddings

from langgraph_engram.benchmarks.harness import Progress
from langgraph_engram.benchmarks.speed import Clock, Writer
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.errors import InvalidInput, MissingExtra
from langgraph_engram.memory import Memory

OURS = "engram"
USER = "ana"
SESSION_TEXTS = 20
FOUND_AMONG = 5
QUESTIONS = 60


class Contender(Protocol):
    """A memory that is compared."""

    def add(self, texts: Sequence[str]) -> None:
        """Store statements of one user, a session of them."""

    def search(self, query: str) -> list[str]:
        """Return the texts that are found first, at most `FOUND_AMONG`."""


class Engram:
    """Our own: both graphs, by rules."""

    def __init__(self, memory: Memory) -> None:
        """Compare an open memory."""
        self._memory = memory
        self._sessions = 0

    def add(self, texts: Sequence[str]) -> None:
        """Remember a session."""
        self._sessions += 1
        said = [{"role": "user", "content": text} for text in texts]
        self._memory.remember(said, user_id=USER, session_id=f"session-{self._sessions}")

    def search(self, query: str) -> list[str]:
        """Search without a model."""
        return [evidence.text for evidence in self._memory.search(query, user_id=USER).evidence[:FOUND_AMONG]]


class LangMem:
    """langmem's tools on LangGraph's store in memory."""

    def __init__(self, encoder: Encoder) -> None:
        """Open an empty store."""
        from langgraph.store.memory import InMemoryStore
        from langmem import create_manage_memory_tool, create_search_memory_tool

        dims = encoder.encode(["dimensions"]).shape[1]
        store = InMemoryStore(index={"embed": _Embeddings(encoder), "dims": dims, "fields": ["content"]})
        self._manage = create_manage_memory_tool(namespace=("memories", USER), store=store)
        self._search = create_search_memory_tool(
            namespace=("memories", USER), store=store, response_format="content_and_artifact"
        )

    def add(self, texts: Sequence[str]) -> None:
        """Create a memory of each."""
        for text in texts:
            self._manage.invoke({"content": text, "action": "create"})

    def search(self, query: str) -> list[str]:
        """Search by meaning."""
        call = {
            "args": {"query": query, "limit": FOUND_AMONG},
            "id": "1",
            "name": self._search.name,
            "type": "tool_call",
        }
        return [item.value["content"] for item in self._search.invoke(call).artifact]


class Mem0:
    """mem0 over Chroma, storing texts as they are (`infer=False`)."""

    def __init__(self, encoder: Encoder, folder: str) -> None:
        """Open an empty memory in a folder."""
        os.environ.setdefault("MEM0_TELEMETRY", "false")
        os.environ.setdefault("MEM0_DIR", folder)
        import mem0

        config: dict[str, Any] = {
            "vector_store": {"provider": "chroma", "config": {"collection_name": "memories", "path": folder}},
            "embedder": {"provider": "langchain", "config": {"model": _Embeddings(encoder)}},
            "llm": {"provider": "openai", "config": {"api_key": "not-used"}},
            "history_db_path": str(Path(folder, "history.db")),
        }
        self._memory = mem0.Memory.from_config(config)

    def add(self, texts: Sequence[str]) -> None:
        """Add them as they are."""
        self._memory.add([{"role": "user", "content": text} for text in texts], user_id=USER, infer=False)

    def search(self, query: str) -> list[str]:
        """Search by meaning."""
        found = self._memory.search(query, filters={"user_id": USER}, top_k=FOUND_AMONG)
        return [item["memory"] for item in found["results"]]


class Chroma:
    """A collection of Chroma in a folder."""

    def __init__(self, encoder: Encoder, folder: str) -> None:
        """Open an empty collection."""
        import chromadb
        from chromadb.config import Settings

        settings = Settings(anonymized_telemetry=False)
        self._collection = chromadb.PersistentClient(folder, settings).create_collection(
            "memories", embedding_function=None
        )
        self._encoder = encoder

    def add(self, texts: Sequence[str]) -> None:
        """Add them with their vectors."""
        first = self._collection.count()
        ids = [str(first + position) for position in range(len(texts))]
        self._collection.add(ids, documents=list(texts), embeddings=self._encoder.encode(texts))

    def search(self, query: str) -> list[str]:
        """Search by meaning."""
        found = self._collection.query(query_embeddings=self._encoder.encode([query]), n_results=FOUND_AMONG)
        return (found["documents"] or [[]])[0]


class RankBM25:
    """Words alone: rank-bm25, whose index is made anew once something was added."""

    def __init__(self) -> None:
        """Start empty."""
        self._texts: list[str] = []
        self._index: Any = None

    def add(self, texts: Sequence[str]) -> None:
        """Keep them."""
        self._texts += texts
        self._index = None

    def search(self, query: str) -> list[str]:
        """Search by words."""
        from rank_bm25 import BM25Okapi

        self._index = self._index or BM25Okapi([text.casefold().split() for text in self._texts])
        return list(self._index.get_top_n(query.casefold().split(), self._texts, FOUND_AMONG))


PACKAGES = {"langmem": "langmem", "mem0": "mem0ai", "chroma": "chromadb", "rank-bm25": "rank-bm25"}
"""What can be compared with, and the package that brings it."""
MODULES = {"chroma": "chromadb", "rank-bm25": "rank_bm25"}


def run_against(
    open_memory: Callable[[str, Encoder], AbstractContextManager[Memory]],
    open_encoder: Callable[[], Encoder],
    names: Sequence[str],
    *,
    texts: int,
    progress: Progress | None = None,
) -> dict[str, object]:
    """Store the same texts in each memory, and ask each for the same ones.

    Args:
        open_memory: Opens ours in a folder, with an encoder and without a chat model.
        open_encoder: Opens the encoder of all, for each anew: what one has encoded another is not spared.
        names: Keys of `PACKAGES`.
        texts: How many statements are stored, in sessions of twenty.
        progress: Called with each step.

    Returns:
        Figures as plain JSON by memory: CPU and wall of storing a session of twenty statements and of a search, in
        milliseconds, and `found`, the share of questions whose statement is among the first five that are found.

    Raises:
        InvalidInput: There is no such memory to compare with.
        MissingExtra: A package is not installed.
    """
    if unknown := [name for name in names if name not in PACKAGES]:
        raise InvalidInput(f"nothing is known of {unknown[0]!r}: compare with some of {', '.join(PACKAGES)}")
    if missing := [name for name in names if find_spec(MODULES.get(name, name)) is None]:
        raise MissingExtra(f"{missing[0]} is not installed: pip install {PACKAGES[missing[0]]}")
    draw = random.Random(0)
    writer = Writer(draw)
    said = [writer.sentence() for _ in range(texts)]
    asked = [(text, _question(text)) for text in draw.sample(said, min(QUESTIONS, texts))]
    figures: dict[str, object] = {"texts": texts, "questions": len(asked)}
    for position, name in enumerate([OURS, *names]):
        if progress:
            progress(f"storing and asking {name}", position, len(names) + 1)
        with ExitStack() as stack:
            folder = stack.enter_context(TemporaryDirectory(prefix="engram-against-", ignore_cleanup_errors=True))
            encoder = open_encoder()
            encoder.encode(["Loads the weights."])
            memory = stack.enter_context(open_memory(folder, encoder)) if name == OURS else None
            figures["encoder"] = encoder.name
            figures[name] = _measure(_open(name, memory, encoder, folder), said, asked)
    return figures


def draw_against(figures: dict[str, object], path: Path) -> None:
    """Draw what a search and the storing of a session take, by memory, as a picture.

    Raises:
        MissingExtra: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        raise MissingExtra("matplotlib is not installed: pip install 'langgraph-engram[bench]'")
    from matplotlib.figure import Figure

    by_name: dict[str, dict[str, Any]] = {name: value for name, value in figures.items() if isinstance(value, dict)}
    drawn = Figure(figsize=(8, 3.2), layout="constrained")
    panels = {"a search, ms of CPU": "search", "storing 20 statements, ms of CPU": "store", "found among five": "found"}
    for axes, (title, key) in zip(drawn.subplots(1, 3, sharey=True), panels.items(), strict=True):
        values = [float(value[key] if key == "found" else value[key]["cpu_p50_ms"]) for value in by_name.values()]
        bars = axes.barh([*by_name], values, color="#5e35b1")
        axes.bar_label(bars, fmt="%.2f" if key == "found" else "%.1f", padding=3)
        axes.set(title=title, xlim=(0, 1.25 * max(values)))
        axes.title.set_fontsize(10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.invert_yaxis()
    drawn.savefig(path)


def _open(name: str, memory: Memory | None, encoder: Encoder, folder: str) -> Contender:
    if memory:
        return Engram(memory)
    match name:
        case "langmem":
            return LangMem(encoder)
        case "mem0":
            return Mem0(encoder, folder)
        case "chroma":
            return Chroma(encoder, folder)
        case _:
            return RankBM25()


def _measure(contender: Contender, said: Sequence[str], asked: Sequence[tuple[str, str]]) -> dict[str, object]:
    store, search, found = Clock(), Clock(), 0
    for start in range(0, len(said), SESSION_TEXTS):
        store.measure(partial(contender.add, said[start : start + SESSION_TEXTS]))
    contender.search(asked[0][1])
    for text, question in asked:
        search.measure(partial(contender.search, question))
        found += any(text.rstrip(".") in result for result in contender.search(question))
    return {"store": store.figures(), "search": search.figures(), "found": round(found / len(asked), 3)}


def _question(text: str) -> str:
    """Ask about the thing and the city of a made-up statement."""
    words = text.split()
    return f"What happened with the {words[3]} {words[4]} in {words[6]}?"


class _Embeddings(Embeddings):
    """An encoder, as LangChain's embeddings."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Encode texts."""
        return [[float(value) for value in row] for row in self._encoder.encode(texts)]

    def embed_query(self, text: str) -> list[float]:
        """Encode a query."""
        return self.embed_documents([text])[0]
