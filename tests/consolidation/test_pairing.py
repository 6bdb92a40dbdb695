"""Near-duplicate records are found by type, keywords and meaning, through the index."""

from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from langgraph_engram.consolidation.pairing import (
    BEHIND_OTHERS,
    BY_ASSISTANT,
    DECIDED,
    LITTLE_SHARED,
    MAX_PARTNERS,
    ONE_TURN,
    TWO_SPEAKERS,
    TWO_TIMES,
    PairFinder,
)
from langgraph_engram.papers.dimmem import EveryPairFinder
from langgraph_engram.schema import Decision, Record, Scope
from langgraph_engram.settings import UpdateSettings
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.folders import open_store

NOON = datetime(2023, 5, 8, 12, tzinfo=UTC)


def jaccard(first, second):
    """DimMem section 3.4, on the sets themselves."""
    return len(first & second) / len(first | second) if first and second else 0


RECORDS = st.lists(
    st.tuples(
        st.sampled_from(["fact", "episodic", None]), st.lists(st.sampled_from("abcd"), max_size=3), st.integers(0, 3)
    ),
    max_size=8,
)


def drawn_records(drawn):
    """Make records of their types, keywords and directions."""
    return [
        Record(record_id=str(number), memory_type=kind, keywords=words, content=f"It points {direction}",
               session_id="s", event_id="e", seq=0, source_turn_ids=[str(number)])
        for number, (kind, words, direction) in enumerate(drawn)
    ]  # fmt: skip


class Compass:
    """An encoder for tests: the number that a text names is a direction, half a radian each."""

    name = "compass"
    dimension = 2

    def encode(self, texts):
        angles = [int(text.split()[-1]) * 0.5 for text in texts]
        return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32).reshape(-1, 2)


@pytest.fixture(scope="module")
def compass():
    opened = open_store("memory:", Compass())
    yield opened
    opened.close()


@given(RECORDS, st.integers(0, 8))
@settings(max_examples=40)
def test_pairs_are_those_of_all_against_all(compass, drawn, known):
    """The index finds what comparing every new record with every other would find, and nothing more."""
    scope, records = Scope(user_id=uuid4().hex), drawn_records(drawn)
    compass.commit(scope, Changes(records=records[:known]))

    found = EveryPairFinder(compass, UpdateSettings()).find(scope, records[known:])

    cosines = np.cos(np.subtract.outer(*[[0.5 * direction for *_, direction in drawn]] * 2))
    expected = {
        frozenset((newer.record_id, older.record_id)): jaccard(frozenset(newer.keywords), frozenset(older.keywords))
        for number, newer in enumerate(records)
        for position, older in enumerate(records[:number])
        if number >= known
        and newer.memory_type == older.memory_type
        and jaccard(frozenset(newer.keywords), frozenset(older.keywords)) >= 0.3
        and cosines[number, position] >= UpdateSettings().cosine
    }
    assert {frozenset((pair.older_id, pair.newer_id)): pair.jaccard for pair in found.pairs} == expected
    assert len(found.pairs) == len(expected) == found.counts.alike
    assert len(expected) <= found.counts.compared <= found.counts.possible


@pytest.fixture
def find_pairs(store, scope):
    """Return the ids of the pairs of new records with what the store holds, and the counts."""

    def run(*new, **fields):
        found = PairFinder(store, UpdateSettings(**fields)).find(scope, new)
        return [(pair.older_id, pair.newer_id) for pair in found.pairs], found.counts

    return run


@pytest.fixture
def pair_up(find_pairs):
    return lambda *new, **fields: find_pairs(*new, **fields)[0]


def test_a_near_duplicate_of_an_earlier_call_is_found(keep, record, pair_up):
    """Same type, same keywords in any case, same meaning: the older one is named first."""
    keep(records=[record(0, "Runa lives in Oslo.", keywords=["Runa", "Oslo"])])

    assert pair_up(record(1, "Runa no longer lives in Oslo.", keywords=["OSLO", "runa"])) == [("r0", "r1")]


def test_wishes_of_one_kind_are_compared_by_meaning(keep, record, pair_up):
    """A later wish on the same matter shares no keyword with the earlier; a wish about something else is no pair."""
    wish = {"lasting": "instruction"}
    keep(records=[record(0, "Ana: Always answer my letters in English.", **wish)])

    assert pair_up(record(1, "Ana: You should answer my letters in German.", **wish)) == [("r0", "r1")]
    assert pair_up(record(2, "Ana: Use metric units.", **wish)) == []
    assert pair_up(record(3, "Ana: You should answer my letters in German.")) == []


def test_older_records_are_not_paired_again(keep, record, pair_up):
    """Only what is new is compared, and never with itself when it is written twice."""
    repeats = [record(seq, "Runa lives in Oslo.", keywords=["Runa"]) for seq in range(2)]
    keep(records=repeats)

    assert pair_up(record(2, "Bees hum.", keywords=["bees"])) == []
    assert len(pair_up(repeats[1])) == 1


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


OSLO = {"keywords": ["Oslo", "music"]}


@pytest.mark.parametrize(
    ("older", "newer", "reason"),
    [
        ({}, {"source_turn_ids": ["t0"]}, ONE_TURN),
        ({}, {"content": "Ben: I teach music in Oslo.", "speaker": "Ben"}, TWO_SPEAKERS),
        (
            {"content": "Ana loves to teach music in Oslo."},
            {"content": "Ben thinks that Ana loves to teach music in Oslo.", "speaker": "Ben"},
            TWO_SPEAKERS,
        ),
        (
            {"memory_type": "episodic", "event_start": NOON, "event_end": NOON},
            {"memory_type": "episodic", "event_start": NOON.replace(year=2024), "event_end": NOON.replace(year=2024)},
            TWO_TIMES,
        ),
    ],
)
def test_what_is_ruled_out_is_counted_and_not_asked(keep, record, find_pairs, older, newer, reason):
    """One turn, two people, two times: no question, and the reason is in the counts."""
    keep(records=[record(0, **{"content": "Ana: I teach music in Oslo.", **OSLO, **older})])

    pairs, counts = find_pairs(record(1, **{"content": "Ana: I teach music in Oslo!", **OSLO, **newer}))

    assert pairs == []
    assert (counts.alike, counts.ruled_out) == (1, {reason: 1})


def test_a_change_that_another_reports_is_asked_about(keep, record, find_pairs):
    """What one says may be out of date by what another says of the same."""
    keep(records=[record(0, "The music class in Oslo is on Monday.", **OSLO)])

    changed = record(1, "The music class in Oslo is no longer on Monday.", speaker="Ben", **OSLO)

    assert find_pairs(changed)[0] == [("r0", "r1")]


@pytest.mark.parametrize(
    "content", ["Ana: Do I teach music in Oslo?", "Ana: You teach music in Oslo!", "Ana shares an image: music in Oslo"]
)
def test_what_states_nothing_is_not_compared(keep, record, find_pairs, content):
    """A question, praise and an image are no facts: no vector is compared."""
    keep(records=[record(0, "Ana: I teach music in Oslo.", **OSLO)])

    pairs, counts = find_pairs(record(1, content, **OSLO))

    assert (pairs, counts.compared, counts.possible) == ([], 0, 1)


def test_common_words_say_nothing(keep, record, find_pairs):
    """What more than a few records of a scope hold says nothing of any record, in keywords and in contents."""
    keep(records=[record(seq, "Ana: I can't wait!", keywords=["wait"]) for seq in range(20)])

    pairs, counts = find_pairs(record(20, "Ana: I can't wait!", keywords=["wait"]))

    assert (pairs, counts.compared, counts.possible) == ([], 0, 20)


def test_little_shared_is_not_asked(keep, record, find_pairs):
    """One informative word in common is not enough, unless the newer one says that something has changed."""
    keep(records=[record(0, "Ana: Wow, what a ride!", keywords=["ride"])])

    texts = ("Ana: A ride!", "Ana: A ride, no longer!")

    asked = [find_pairs(record(1, text, keywords=["ride"]), cosine=0.4) for text in texts]

    assert [pairs for pairs, _ in asked] == [[], [("r0", "r1")]]
    assert asked[0][1].ruled_out == {LITTLE_SHARED: 1}


def test_a_slot_set_anew_is_found_without_a_shared_word(keep, record, find_pairs):
    """Lisbon and Porto share no keyword, and the types differ: what they set is the same."""
    keep(records=[record(0, "Ana: I live in Lisbon.", keywords=["Lisbon"])])

    moved = record(1, "Ana: I moved to Porto.", keywords=["Porto"], memory_type="episodic")
    same = record(2, "Ana: I live in Lisbon.", keywords=["home"])

    assert find_pairs(moved)[0] == [("r0", "r1")]
    assert find_pairs(same)[0] == []


def test_what_was_decided_is_not_asked_again(keep, record, find_pairs):
    """A pair in the audit trail stands decided, whatever was decided, undone or not."""
    decided = Decision(decision_id="d", run_id="run", pair=["r1", "r0"], jaccard=1, cosine=1, action="KEEP_BOTH")
    keep(records=[record(0, "Ana: I teach music in Oslo.", **OSLO)], decisions=[decided])

    pairs, counts = find_pairs(record(1, "Ana: I teach music in Oslo now.", **OSLO))

    assert (pairs, counts.ruled_out) == ([], {DECIDED: 1})


def test_advice_is_no_fact_that_changes(keep, record, turn, find_pairs):
    """Advice that an assistant gives twice is left alone; what a user says of it is not."""
    keep(
        turns=[turn(seq, role="assistant", speaker="Bot") for seq in range(2)],
        records=[record(0, "Take the tram to Oslo.", **OSLO)],
    )

    again, user = (find_pairs(record(seq, "Take the tram to Oslo!", **OSLO)) for seq in (1, 2))

    assert (again[0], again[1].ruled_out) == ([], {BY_ASSISTANT: 1})
    assert user[0] == [("r0", "r2")]


def test_of_many_alike_the_nearest_are_decided_on(keep, record, find_pairs):
    """Forty budgets of one day are forty values of one slot: a further one is no rival of all; none goes uncounted."""
    keep(records=[record(seq, f"Ana: Our budget is {seq + 100} euros.", speaker="Ana") for seq in range(40)])

    pairs, counts = find_pairs(record(40, "Ana: Our budget is 90 euros.", speaker="Ana"))

    assert (len(pairs), counts.alike, counts.ruled_out) == (MAX_PARTNERS, 40, {BEHIND_OTHERS: 40 - MAX_PARTNERS})


class Slant:
    """An encoder for tests: what says "no longer" stands at a cosine of .797 to what does not."""

    name = "slant"
    dimension = 2

    def encode(self, texts):
        rows = [[0.797, (1 - 0.797**2) ** 0.5] if "no longer" in text else [1.0, 0.0] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 2)


@pytest.mark.parametrize("finder", [PairFinder, EveryPairFinder])
@pytest.mark.parametrize(("cosine", "found"), [(0.7, 1), (0.85, 0)])
def test_the_change_of_jobs_is_found(record, scope, finder, cosine, found):
    """DimMem Table 10: one type, keyword Jaccard above .3, cosine .797; a threshold of .85 would miss it."""
    old = record(0, "Ana works at Starbucks in Oslo.", memory_type="profile", keywords=["Starbucks", "Oslo", "work"])
    new = record(1, "Ana no longer works at Starbucks.", memory_type="profile", keywords=["Starbucks", "work"])
    opened = open_store("memory:", Slant())
    opened.commit(scope, Changes(records=[old]))

    pairs = finder(opened, UpdateSettings(cosine=cosine)).find(scope, [new]).pairs

    opened.close()
    assert len(pairs) == found
    assert all(abs(pair.cosine - 0.797) < 1e-6 and pair.jaccard > 0.3 for pair in pairs)


def test_the_embedding_filter_compares_everything(compass):
    """The baseline of DimMem Table 5: whatever the type and the keywords, all earlier records are compared."""
    scope = Scope(user_id=uuid4().hex)
    records = drawn_records([("fact", ["a"], 0), ("episodic", ["b"], 0), (None, [], 3), ("fact", ["a"], 0)])

    by_dimension, by_meaning = (
        EveryPairFinder(compass, UpdateSettings(cosine=0.85), all_pairs).find(scope, records)
        for all_pairs in (False, True)
    )

    assert (by_dimension.counts.compared, by_meaning.counts.compared) == (1, 6)
    assert [(pair.older_id, pair.newer_id) for pair in by_dimension.pairs] == [("0", "3")]
    assert [(pair.older_id, pair.newer_id) for pair in by_meaning.pairs] == [("0", "1"), ("0", "3"), ("1", "3")]
