"""Put the best of what the routes found in the order in which a reranker prefers it."""

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from langgraph_engram.reranker import Reranker
from langgraph_engram.schema import Evidence


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
