"""Rerank evidence by a cross-encoder of sentence-transformers."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from threading import Lock
from typing import Any, Protocol

from langgraph_engram.errors import RerankerUnavailable
from langgraph_engram.schema import Evidence


class Reranker(Protocol):
    """Score how well each of a few texts answers a query."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score for each text, higher is better; raise `RerankerUnavailable` where there can be none."""


class CrossEncoderReranker:
    """Score with a cross-encoder of the hub or of a folder. The first `score` loads it; calls take turns."""

    def __init__(self, model: str) -> None:
        self._model, self._lock = model, Lock()
        self._network: Any = None

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the cross-encoder's scores of texts for a query."""
        with self._lock:
            self._network = self._network or _load(self._model)
            return [float(score) for score in self._network.predict([(query, text) for text in texts])]


def rerank(reranker: Reranker, query: str, evidence: Iterable[Evidence], limit: int) -> Iterator[Evidence]:
    """Return evidence with the first `limit` of it ordered by their scores, which join those of the routes."""
    rest = iter(evidence)
    head = list(islice(rest, limit))
    scores = reranker.score(query, [item.text for item in head]) if head else []
    routes = [{**item.routes, "rerank": score} for item, score in zip(head, scores, strict=True)]
    scored = [item.model_copy(update={"routes": own}) for item, own in zip(head, routes, strict=True)]
    return chain(sorted(scored, key=lambda item: -item.routes["rerank"]), rest)


def _load(model: str) -> Any:
    from sentence_transformers import CrossEncoder

    try:
        network = CrossEncoder(model)
    except (OSError, ValueError) as error:
        hint = "name a cross-encoder on the hub or a folder, or leave retrieve.rerank_model out"
        raise RerankerUnavailable(f"the reranker {model!r} cannot be loaded ({error}): {hint}") from error
    if network.num_labels != 1:
        raise RerankerUnavailable(f"the reranker {model!r} gives {network.num_labels} scores a text, not one")
    return network
