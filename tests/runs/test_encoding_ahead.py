"""What is encoded ahead is what the store asks for, and nothing besides."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.embeddings.caching import CachedEncoder
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.runner import prefetch_vectors
from langgraph_engram.state import Message, RememberRequest
from langgraph_engram.stores.folders import open_store

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


class Counting:
    """A hashing encoder that remembers every text it was asked for, and may be out of reach."""

    name = "counting"

    def __init__(self):
        self.asked = []
        self.fails_at = None

    def encode(self, texts):
        """Encode, and remember."""
        self.asked += texts
        if any(self.fails_at and self.fails_at in text for text in texts):
            raise EncoderUnavailable("no weights")
        return HashingEncoder().encode(texts)


@pytest.fixture
def inner():
    return Counting()


@pytest.fixture
def store(inner):
    opened = open_store("memory:", CachedEncoder(inner))
    yield opened
    opened.close()


def request(session, *said):
    """Ask to remember what was said in a session."""
    messages = [Message(speaker="Ana", text=text, said_at=NOON) for text in said]
    return RememberRequest(user_id="ana", session_id=session, run_id=session, messages=messages)


def test_requests_come_in_order_and_nothing_is_encoded_twice(store, inner):
    """The store finds every vector ready when it writes."""
    requests = [request("s1", "I swim."), request("s2", "I ski.", "I sew."), request("s3", "I sing.")]

    for prefetched in prefetch_vectors(store, requests):
        Receive(store)({"request": prefetched})

    assert sorted(inner.asked) == ["Ana: I sew.", "Ana: I sing.", "Ana: I ski.", "Ana: I swim."]
    assert [turn.session_id for turn in store.index(requests[0].scope).turns.items] == ["s1", "s2", "s2", "s3"]


def test_what_is_stored_already_is_not_encoded(store, inner):
    """Remembering a file again costs no vectors."""
    requests = [request("s1", "I swim."), request("s2", "I ski.")]
    for known in requests:
        Receive(store)({"request": known})
    inner.asked.clear()

    again = list(prefetch_vectors(store, requests))

    assert again == requests
    assert inner.asked == []


def test_what_stands_before_a_failure_is_kept(store, inner):
    """The error is the encoder's own, and comes when its session's turn has come."""
    inner.fails_at = "ski"
    requests = [request("s1", "I swim."), request("s2", "I ski.")]

    given = prefetch_vectors(store, requests)
    Receive(store)({"request": next(given)})

    with pytest.raises(EncoderUnavailable, match="no weights"):
        next(given)
    assert [turn.session_id for turn in store.index(requests[0].scope).turns.items] == ["s1"]
