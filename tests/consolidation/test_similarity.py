"""The keywords of a scope are read once, and the index is extended as if it were made anew."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.consolidation.pairing import keyword_index
from langgraph_engram.schema import Record
from langgraph_engram.stores.index import RECORDS, RecordIndex

WORDS = st.lists(st.sampled_from("abc"), max_size=3)


def make(position, words, content="Ana: I live in Oslo."):
    return Record(record_id=str(position), memory_type="fact", keywords=words, content=content, speaker="Ana",
                  session_id="s", event_id="e", seq=0, source_turn_ids=[])  # fmt: skip


def index_of(records, known=None):
    """Put records into an index, behind those of another that is known."""
    return (known or RecordIndex(RECORDS)).with_items(records, np.zeros((len(records), 2), dtype=np.float32))


@given(st.lists(WORDS, max_size=6), st.integers(0, 6), st.data())
def test_extending_gives_what_starting_anew_gives(drawn, known, data):
    """Some records first, then all, some of them changed: the same postings; the first index stays as it was."""
    first = [make(position, words) for position, words in enumerate(drawn[:known])]
    changed = [
        make(position, data.draw(WORDS), data.draw(st.sampled_from(["Ana: Why?", "Ana: I ski."])))
        for position in range(len(first))
    ]
    everything = [*changed, *(make(position, words) for position, words in enumerate(drawn[known:], start=len(first)))]
    stored = index_of(first)
    before = keyword_index(stored)

    after, anew = keyword_index(index_of(everything, stored)), keyword_index(index_of(everything))

    for word in "abc":
        assert after.keywords.positions(f"fact: {word}").tolist() == anew.keywords.positions(f"fact: {word}").tolist()
        assert before.keywords.positions(f"fact: {word}").tolist() == [
            position for position, record in enumerate(first) if word in record.keywords
        ]
    assert after.slots.positions("ana: home").tolist() == anew.slots.positions("ana: home").tolist()
    assert after.states.tolist() == anew.states.tolist()
    assert after.keywords.lengths.tolist() == [len(set(record.keywords)) for record in everything]


def test_what_a_commit_adds_is_read_and_nothing_else(store, scope, keep, record, monkeypatch):
    """The second time, only the new record is read; new ones that are only compared are not cached."""
    read = []
    monkeypatch.setattr(
        "langgraph_engram.consolidation.pairing._keyword_terms", lambda record: read.append(record.record_id) or []
    )
    keep(records=[record(0), record(1)])
    keyword_index(store.index(scope).records)
    keep(records=[record(2)])

    index = keyword_index(store.index(scope).records, [record(3)])

    assert read == ["r0", "r1", "r2", "r3"]
    assert len(index.records) == 4
    assert len(keyword_index(store.index(scope).records).records) == 3
