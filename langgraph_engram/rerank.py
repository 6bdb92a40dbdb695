"""Define the port through which what the routes found is read closely and put in a better order."""

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


class Reranker(Protocol):
    """Say how well each of a few texts answers a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts for a query.

        Returns:
            One score for each text, in order; a higher one is better, and only their order counts.

        Raises:
            RerankerUnavailable: The first call found no weights or lacks a package.
        """


BATCH = 32


class CrossEncoder:
    """Score by a cross-encoder of the hub, or of a folder. Building one is free; the first `score` loads it."""

    def __init__(self, model: str, *, device: str | None = None, threads: int | None = 1) -> None:
        """Remember what to load.

        Args:
            model: Its name on the hub, such as "cross-encoder/ms-marco-MiniLM-L6-v2", or a folder.
            device: "cpu", "cuda", ...; None for CUDA where there is one.
            threads: Threads that torch may use inside an operator on a CPU; None for its own default.
        """
        self._model = model
        self._device = device
        self._threads = threads
        self._network: Network | None = None
        self._busy = Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Score texts for a query. Calls from many threads take turns.

        Raises:
            RerankerUnavailable: The first call found no weights, no torch, or a model that gives no single score.
        """
        if not texts:
            return []
        with self._busy:
            if self._network is None:
                self._network = load_network(self._model, self._device)
            with torch_threads(self._threads) if self._threads else nullcontext():
                scores = self._network.predict(
                    [(query, text) for text in texts], batch_size=BATCH, show_progress_bar=False
                )
        return [float(one) for one in scores]


def load_network(model: str, device: str | None) -> "Network":
    """Load a cross-encoder that gives one score.

    Raises:
        RerankerUnavailable: There are no weights or no torch, or it is a model of another kind.
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


def reranked(reranker: Reranker, query: str, pieces: Iterable[Evidence], most: int) -> Iterator[Evidence]:
    """Give pieces in a better order.

    Args:
        reranker: Who scores them.
        query: What is asked.
        pieces: Pieces, best first.
        most: How many of the first are read closely; the rest follow as they were.

    Returns:
        The same pieces. Those that were read carry their score among the routes; what the routes gave stays.
    """
    rest = iter(pieces)
    read = list(islice(rest, most))
    scores = reranker.score(query, [piece.text for piece in read])
    order = sorted(range(len(read)), key=lambda place: (-scores[place], place))
    best = (
        read[place].model_copy(update={"routes": {**read[place].routes, "rerank": scores[place]}}) for place in order
    )
    return chain(best, rest)
