"""What is encoded ahead, how an answer streams word by word, and the sum of receipts."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessageChunk

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.embeddings.caching import CachedEncoder
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.prompts.write_answer import MORE, UNKNOWN
from langgraph_engram.results import Receipt
from langgraph_engram.runner import AnswerStream, _may_be_unknown, add_receipts, comparisons_of, prefetch_vectors
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


CHUNKS = st.lists(st.sampled_from(["I", " don't", " know", ".", "I don", " live", " in Oslo", " [1]"]), max_size=8)


@given(CHUNKS)
def test_every_word_of_a_light_answer_is_told_or_may_be_unknown(chunks):
    """However a text is cut, it is told whole, or held back whole because it says that nothing is known."""
    answer = AnswerStream()

    told = "".join(
        update.text
        for chunk in chunks
        for update in answer.add(AIMessageChunk(chunk), {"langgraph_node": "judge_sufficiency"})
    )

    text = "".join(chunks)
    assert told == ("" if _may_be_unknown(text) else text)


@given(CHUNKS)
def test_an_answer_is_told_as_it_comes(chunks):
    """That the evidence is absent is an answer at last."""
    answer = AnswerStream()

    told = [
        update.text
        for chunk in chunks
        for update in answer.add(AIMessageChunk(chunk), {"langgraph_node": "write_answer"})
    ]

    assert told == chunks


@given(st.lists(st.integers(1, 5), min_size=1, max_size=30))
def test_the_mark_for_more_is_told_to_nobody(sizes):
    """However it is cut into chunks, and beside citations and brackets of the answer's own."""
    text, answer, told, begin = f"Two lakes [1][2]{MORE}, a list[0] and [mo.", AnswerStream(), "", 0
    for size in [*sizes, len(text)]:
        chunk = AIMessageChunk(text[begin : begin + size])
        told += "".join(update.text for update in answer.add(chunk, {"langgraph_node": "write_answer"}))
        begin += size

    assert told == text.replace(MORE, "")


def test_words_of_other_steps_are_no_answer():
    """A question's JSON is nobody's to read."""
    assert not list(AnswerStream().add(AIMessageChunk(UNKNOWN), {"langgraph_node": "reflect"}))


COUNTS = st.tuples(st.integers(0, 1000), st.integers(0, 1000)).map(lambda one: (max(one), min(one)))


@given(st.lists(COUNTS, max_size=5))
def test_saved_comparisons_are_a_share_of_all(counts):
    """Run by run or at once: all pairs, those compared, and the share between 0 and 1 that was not."""
    receipts = [Receipt(run_id="r", pairs_possible=possible, pairs_compared=made) for possible, made in counts]

    told = comparisons_of(add_receipts(receipts))

    assert (told.all_pairs, told.made) == (sum(one for one, _ in counts), sum(made for _, made in counts))
    assert told.saved == (1 - told.made / told.all_pairs if told.all_pairs else 0)


def test_three_of_four_are_saved():
    """One comparison of four possible ones saves 75 %."""
    assert comparisons_of(Receipt(run_id="r", pairs_possible=4, pairs_compared=1)).saved == 0.75
