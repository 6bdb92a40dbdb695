"""Define the `Reranker` port, its adapter for cross-encoders, and how evidence is reranked."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from itertools import chain, islice
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from langgraph_engram.embeddings.minilm_torch import torch_threads
from langgraph_engram.errors import RerankerUnavailable
from langgraph_engram.schema import Evidence

if TYPE_CHECKING:
    from sentence_transformers import CrossEncoder as Network


BATCH = 32


class Reranker(Protocol):
    """Score how well each of a few texts answers a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts for a query.

        Returns:
            One score for each text, in order; higher is better, and only their order counts.

        Raises:
            RerankerUnavailable: The first call found no weights or lacks a package.
        """


class CrossEncoder:
    """Score with a cross-encoder of the hub or of a folder. The first `score` loads it."""

    def __init__(self, model: str, *, device: str | None = None, threads: int | None = 1) -> None:
        """Create a reranker; nothing is loaded yet.

        Args:
            model: Its name on the hub, such as "cross-encoder/ms-marco-MiniLM-L6-v2", or a folder.
            device: "cpu", "cuda", ...; None for CUDA where there is one.
            threads: Threads that torch may use inside an operator on a CPU; None for its own default.
        """
        self._model = model
        self._device = device
        self._threads = threads
        self._network: Network | None = None
        self._lock = Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts for a query. Calls from many threads take turns.

        Raises:
            RerankerUnavailable: The first call found no weights, no torch, or a model that gives no single score.
        """
        if not texts:
            return []
        with self._lock:
            if self._network is None:
                self._network = _load_network(self._model, self._device)
            with torch_threads(self._threads) if self._threads else nullcontext():
                scores = self._network.predict(
                    [(query, text) for text in texts], batch_size=BATCH, show_progress_bar=False
                )
        return [float(score) for score in scores]


def rerank(reranker: Reranker, query: str, evidence: Iterable[Evidence], limit: int) -> Iterator[Evidence]:
    """Return evidence with the first of it in a better order.

    Args:
        reranker: Scores the texts.
        query: The question.
        evidence: Evidence, best first.
        limit: How many of the first are scored; the rest follows as it was.

    Returns:
        The same evidence. What was scored carries its score among the routes, beside those of retrieval.
    """
    rest = iter(evidence)
    head = list(islice(rest, limit))
    scores = reranker.score(query, [item.text for item in head])
    order = sorted(range(len(head)), key=lambda index: (-scores[index], index))
    best = (
        head[index].model_copy(update={"routes": {**head[index].routes, "rerank": scores[index]}}) for index in order
    )
    return chain(best, rest)


def _load_network(model: str, device: str | None) -> "Network":
    """Load a cross-encoder with a single score.

    Raises:
        RerankerUnavailable: There are no weights or no torch, or it has several scores.
    """
    try:
        from sentence_transformers import CrossEncoder as Network

        network: Network = Network(model, device=device)
    except (ImportError, OSError, ValueError) as error:
        raise RerankerUnavailable(
            f"the reranker {model!r} cannot be loaded ({_first_line(error)}): name a cross-encoder on the hub or a "
            f"folder, install torch, or leave retrieve.rerank_model out"
        ) from error
    if network.num_labels != 1:
        raise RerankerUnavailable(
            f"the reranker {model!r} gives {network.num_labels} scores a text, not one: name a cross-encoder "
            "that was trained to rank"
        )
    return network


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
