"""The relevance of a passage is a probability: high where it holds what is asked for, low for what was never said."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.light import DOUBTFUL_TOKENS, default_parts
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.relevance import FEATURES, Relevance, by_strength, truncate, with_relevance
from langgraph_engram.schema import Evidence, Synthesis
from langgraph_engram.settings import RetrieveSettings, Settings
from tests.conftest import NOON

SHARES = st.floats(0, 1)
FOUND = st.lists(st.tuples(SHARES, SHARES), max_size=8)


@pytest.fixture
def features_of(store, scope, intent):
    """Return the features of turns by name, each found alone with its score, for a query over the scope."""

    def measure(query, *scores, **fields):
        index = store.index(scope)
        vector = store.encoder.encode([query])[0]
        found = [Candidate("turn", position, score) for position, score in enumerate(scores)]
        rows = Relevance(index, intent(query, **fields), vector).features(found)
        return [dict(zip(FEATURES, row, strict=True)) for row in rows.tolist()]

    return measure


@pytest.fixture
def retrieve(store, scope, to_recall, intent):
    """Search the scope as a search does."""

    def search(query, stop=None, **fields):
        request = to_recall(query, mode="search", stop=stop)
        state = {"request": request, "query": query, "intent": intent(query, **fields)}
        return LightRetrieve(store, default_parts(store.encoder, Settings()).retriever)(state)["evidence"]

    return search


def test_what_holds_the_answer_is_more_relevant_than_what_does_not(keep, turn, record, retrieve):
    """Every passage of a search carries its relevance."""
    texts = ["I went camping by the lake.", "My dog eats too much.", "It rained all day in town."]
    keep(
        turns=[turn(number, text) for number, text in enumerate(texts)],
        records=[record(number, f"Ana: {text}") for number, text in enumerate(texts)],
    )

    found = {passage.record.record_id: passage.relevance for passage in retrieve("Where did Ana go camping?")}

    assert found["r0"] == max(found.values())
    assert all(0 < relevance < 1 for relevance in found.values())


def test_what_nobody_spoke_of_is_found_with_little_relevance(keep, turn, record, retrieve):
    """A search shows the nearest passages all the same; their relevance shows that nothing was found."""
    keep(turns=[turn(0)], records=[record(0, "Ana: I went camping by the lake.")])

    known = max(passage.relevance for passage in retrieve("Did I go camping by the lake?"))
    unknown = max((passage.relevance for passage in retrieve("Which university did I study at?")), default=0.0)

    assert unknown < RetrieveSettings().relevance_threshold <= known


def test_little_is_shown_of_what_somebody_else_said(keep, turn, record, retrieve):
    """Ana camps, Ben says little of it: less is shown of Ben than of Ana, unless the search has no end."""
    said = [("Ana", f"I went camping by the lake with {number} friends, for {number} nights.") for number in range(20)]
    said.append(("Ben", "I went home when the others were camping."))
    keep(
        turns=[turn(number, text, speaker=speaker) for number, (speaker, text) in enumerate(said)],
        records=[record(number, f"{speaker}: {text}", speaker=speaker) for number, (speaker, text) in enumerate(said)],
    )

    of_ben, of_ana, everything = (
        sum(count_tokens(passage.text) for passage in retrieve(f"Where did {name} go camping?", stop, speakers=[name]))
        for name, stop in (("Ben", None), ("Ana", None), ("Ben", 0))
    )

    assert 0 < of_ben <= DOUBTFUL_TOKENS < min(of_ana, everything)


SAID = {"text": "I enjoyed camping by the lake.", "speaker": "Ben"}
TOLD = {"text": "Ben went camping by the lake.", "speaker": "Ana"}
EXPLAINED = {"text": "Enjoy camping by the lake.", "speaker": "Assistant", "role": "assistant"}


@pytest.mark.parametrize(
    ("said", "person", "is_own", "is_rival"),
    [
        (SAID, "Ben", True, False),
        (SAID, "Ana", False, True),
        (SAID, "anybody", True, False),
        (TOLD, "Ben", True, False),
        (EXPLAINED, "Ana", False, False),
    ],
)
def test_what_is_said_of_somebody_counts_for_them(keep, turn, features_of, said, person, is_own, is_rival):
    """What somebody says is about them, a name is spoken of by anybody, and an assistant is no rival.

    What is said of another where somebody's camping is asked for is a reason for doubt.
    """
    keep(turns=[turn(0, **said)])
    query, speakers = f"Did {person} enjoy camping by the lake?", [person] if person in ("Ana", "Ben") else []

    (found,) = features_of(query, 1.0, speakers=speakers)

    assert [found[name] > 0.3 for name in ("own_coverage", "own_cosine", "rival_lead")] == [is_own, is_own, is_rival]


def test_a_rare_word_weighs_more_and_an_unknown_one_most(keep, turn, features_of):
    """Coverage is weighted by rarity in the scope: what nobody ever said is rarest."""
    turns = [turn(0, "A dog and a piano."), *(turn(number, "A dog.") for number in range(1, 9))]
    keep(turns=turns)

    first, second = features_of("dog piano", 1.0, 0.5)
    _, third = features_of("dog trumpet", 1.0, 0.5)

    assert first["own_coverage"] == pytest.approx(1)
    assert third["own_coverage"] < second["own_coverage"] < 0.5
    assert (first["share"], second["share"]) == (1, 0.5)


def test_a_narrative_and_a_query_without_content_are_judged_too(store, scope, keep, turn, intent):
    """Nothing is divided by nothing: no stems, no scores, no passages."""
    keep(turns=[turn(0)], syntheses=[Synthesis(synthesis_id="p", text="The lake.", covered_record_ids=[])])
    index, vector = store.index(scope), store.encoder.encode(["What?"])[0]

    relevance, found = Relevance(index, intent("What?"), vector), [Candidate("synthesis", 0, 0.0)]
    shown = with_relevance(found, relevance.features(found))

    assert 0 <= shown[0].relevance < RetrieveSettings().relevance_threshold
    assert with_relevance([], relevance.features([])) == []


def test_the_name_before_a_turn_is_nothing_that_it_says(keep, turn, features_of):
    """A turn is indexed with its speaker's name; a query that holds the name as a word finds nothing in it by that."""
    keep(turns=[turn(0, "The lake froze over.", speaker="Rose"), turn(1, "A rose grows there.", speaker="Rose")])

    lake, rose = features_of("rose", 1.0, 1.0)

    assert lake["own_coverage"] == 0
    assert rose["own_coverage"] == 1


def passages(*pairs):
    """Return a passage for each score and relevance, named by its position."""
    return [
        Evidence(evidence_id=str(number), text="said", score=score, relevance=relevance)
        for number, (score, relevance) in enumerate(pairs)
    ]


def test_the_list_ends_at_the_first_weak_passage():
    """What scores a tenth of the best ends it; with no stop, or with one that all reach, everything is shown."""
    found = passages((1.0, 0.6), (0.8, 0.4), (0.1, 0.02))

    assert truncate(found, 0.3) == found[:2]
    assert truncate(found, 0.0) == found
    assert truncate(found, 0.01) == found
    assert len(truncate(passages((1e-6, 0.4)), 0.16)) == 1


@given(FOUND, SHARES, SHARES)
def test_what_is_shown_begins_the_list_and_a_higher_stop_never_shows_more(pairs, low, high):
    """The list is cut, never thinned."""
    found = by_strength(passages(*pairs))

    longer, shorter = (truncate(found, stop) for stop in sorted((low, high)))

    assert found[: len(longer)] == longer
    assert longer[: len(shorter)] == shorter


def test_the_newest_value_of_one_s_own_comes_first(keep, turn, record, retrieve):
    """Of what somebody says of themselves the latest stands first, though an earlier sentence is nearer in words."""
    said = ["My shoe size is 41.", "I take shoes in size 43 now.", "I fixed the garden gate today."]
    times = [NOON + timedelta(days=day) for day in range(len(said))]
    keep(
        turns=[turn(number, text, said_at=times[number]) for number, text in enumerate(said)],
        records=[record(number, f"Ana: {text}", mentioned_at=times[number]) for number, text in enumerate(said)],
    )

    now, before = (retrieve(query)[0].text for query in ("What is my shoe size?", "What did my shoe size use to be?"))

    assert "43" in now
    assert "41" in before
