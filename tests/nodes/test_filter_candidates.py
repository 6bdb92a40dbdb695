"""Records that resemble one another are found by type, keywords and meaning, through the index."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.nodes.filter_candidates import FilterCandidates, jaccard, pairs_of
from langgraph_engram.schema import Record
from langgraph_engram.settings import UpdateSettings

WORDS = st.frozensets(st.sampled_from("abcdef"))


@given(WORDS, WORDS)
def test_jaccard_is_a_share(one, other):
    """It lies in [0, 1], is the same both ways, and is 1 for equal sets alone; nothing shares nothing."""
    share = jaccard(one, other)

    assert 0 <= share <= 1
    assert share == jaccard(other, one)
    assert (share == 1) == (one == other and bool(one))


RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["fact", "episodic", None]), st.lists(st.sampled_from("abcd"), max_size=3), st.integers(0, 3)
    ),
    max_size=8,
)


@given(RECORDS, st.integers(0, 8))
def test_pairs_are_those_of_all_against_all(drawn, known):
    """The index finds what comparing every new record with every other would find, and nothing more."""
    records = [
        Record(record_id=str(at), memory_type=kind, keywords=words, content="x", session_id="s", event_id="e", seq=0,
               source_turn_ids=[])
        for at, (kind, words, _) in enumerate(drawn)
    ]  # fmt: skip
    angles = np.array([direction * 0.5 for *_, direction in drawn])
    vectors = {str(at): np.array([np.cos(angle), np.sin(angle)]) for at, angle in enumerate(angles)}
    old, new = records[:known], records[known:]

    found = pairs_of(new, old, vectors, UpdateSettings())

    expected = {
        frozenset((one.record_id, other.record_id))
        for at, one in enumerate(records)
        for place, other in enumerate(records[:at])
        if at >= known
        and place < at
        and one.memory_type == other.memory_type
        and jaccard(frozenset(one.keywords), frozenset(other.keywords)) >= 0.3
        and float(np.dot(vectors[one.record_id], vectors[other.record_id])) >= 0.7
    }
    assert {frozenset((pair.older_id, pair.newer_id)) for pair in found} == expected
    assert len(found) == len(expected)


@pytest.fixture
def pair_up(store, to_remember):
    """Pair new records with what the store holds."""

    def find(*new, **settings):
        state = {"request": to_remember(), "records": list(new)}
        return FilterCandidates(store, UpdateSettings(**settings))(state)["pairs"]

    return find


def test_a_new_record_meets_its_like_of_an_earlier_call(keep, record, pair_up):
    """Same type, same keywords in any case, same meaning: the older one is named first."""
    keep(records=[record(0, "Runa lives in Oslo.", keywords=["Runa", "Oslo"])])

    (pair,) = pair_up(record(1, "Runa no longer lives in Oslo.", keywords=["OSLO", "runa"]))

    assert (pair.older_id, pair.newer_id, pair.jaccard) == ("r0", "r1", 1)
    assert pair.cosine >= 0.7


def test_older_records_are_not_paired_again(keep, record, pair_up):
    """Only what is new is compared, and never with itself when it is written twice."""
    twins = [record(one, "Runa lives in Oslo.", keywords=["Runa"]) for one in range(2)]
    keep(records=twins)

    assert pair_up(record(2, "Bees hum.", keywords=["bees"])) == []
    assert len(pair_up(twins[1])) == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"memory_type": "profile"},
        {"keywords": ["cats"]},
        {"keywords": []},
        {"content": "Bees hum in the garden."},
        {"status": "quarantined"},
        {"status": "superseded"},
    ],
)
def test_one_difference_keeps_records_apart(keep, record, pair_up, fields):
    """Another type, no shared keyword, another meaning, or a record that no longer stands: no pair."""
    keep(records=[record(0, "Runa lives in Oslo.", keywords=["Runa"])])

    assert pair_up(record(1, **{"content": "Runa lives in Oslo.", "keywords": ["Runa"], **fields})) == []


def test_nothing_is_paired_where_updates_are_off(keep, record, pair_up):
    """A preset without updates pairs nothing."""
    keep(records=[record(0, keywords=["lake"])])

    assert pair_up(record(1, keywords=["lake"]), enabled=False) == []
