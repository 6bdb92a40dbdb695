"""Encode the next session while one is written, so that both cores of a small machine have work.

Only what the store will ask for anyway is encoded: the turns that it does not hold yet. The store finds the vectors in
the encoder's memory (`CachedEncoder`). This module does not know what else is written.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from langgraph_engram.long_texts import texts_of_turn
from langgraph_engram.nodes.keeping.receive import name_session, new_turns
from langgraph_engram.state import RememberRequest
from langgraph_engram.stores.store import Store


def encoded_ahead(store: Store, requests: Sequence[RememberRequest]) -> Iterator[RememberRequest]:
    """Give requests in order, each when its turns are encoded, while those of the next one are.

    Args:
        store: Where the requests are written, each before the next one is asked for.
        requests: What is to be remembered.

    Raises:
        EncoderUnavailable: A request's turns cannot be encoded; it is not given.
    """
    if len(requests) < 2:
        yield from requests
        return
    with ThreadPoolExecutor(1, thread_name_prefix="encode-ahead") as pool:
        waiting: list[Future[object]] = []
        for place, request in enumerate(requests):
            if not waiting:
                waiting.append(pool.submit(_encode, store, request))
            waiting.pop().result()
            if place + 1 < len(requests):
                waiting.append(pool.submit(_encode, store, requests[place + 1]))
            yield request


def _encode(store: Store, request: RememberRequest) -> None:
    turns = new_turns(request, request.session_id or name_session(request), store.index(request.scope))
    texts = [text for turn in turns for text in texts_of_turn(turn)]
    if texts:
        store.encoder.encode(texts)
