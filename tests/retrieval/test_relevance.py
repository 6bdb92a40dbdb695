"""The relevance of a passage is a probability: high where it holds what is asked for, low for what was never said."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.logistic import LogisticModel
from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.relevance import (
    ANSWERED,
    ANSWERED_FEATURES,
    DOUBTFUL_TOKENS,
    FEATURES,
    Relevance,
    answered_features,
    load_answered_model,
    load_model,
    stem_weights,
    with_relevance,
)
from langgraph_engram.schema import Synthesis
from langgraph_engram.settings import RetrieveSettings

STEMS = st.sampled_from(["lake", "camp", "dog", "piano"])


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
        return LightRetrieve(store, RetrieveSettings())(state)["evidence"]

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

    assert 0 < of_ben <= DOUBTFUL_TOKENS
    assert min(of_ana, everything) > 2 * DOUBTFUL_TOKENS


def test_a_result_is_doubted_by_its_relevance_and_by_whom_it_is_about():
    """Only the passages of the best scores count, and what is near because of somebody else."""
    names = ("cosine", "own_cosine", "share")
    near = [dict(zip(names, (0.7, 0.7, share), strict=True)) for share in (1.0, 0.9, 0.8, 0.7, 0.6)]
    far = [{**row, "own_cosine": 0.2} for row in near]
    weak = [{"cosine": 0.9, "own_cosine": 0.0, "share": 0.1}]

    def probability(rows, relevance):
        features = np.array([[row.get(name, 0.0) for name in FEATURES] for row in rows])
        return float(load_answered_model().probability(answered_features(features, relevance)[np.newaxis])[0])

    assert probability(near, [0.5]) == probability([*weak, *near], [0.1, 0.5]) > ANSWERED > probability(far, [0.5])
    assert probability(near, [0.5]) > probability(near, [0.01])
    assert set(load_answered_model().weights) == set(ANSWERED_FEATURES)


def test_words_to_a_listener_are_not_about_their_speaker(keep, turn, features_of):
    """Ben asks Ana of her camping: that is about Ana, and when Ben's camping is asked for, a reason for doubt."""
    asked = turn(0, "Did you enjoy camping by the lake?", speaker="Ben")
    keep(turns=[asked])

    (of_ben,) = features_of("Did Ben enjoy camping by the lake?", 1.0, speakers=["Ben"])
    (of_ana,) = features_of("Did Ana enjoy camping by the lake?", 1.0, speakers=["Ana"])
    (of_nobody,) = features_of("Did anybody enjoy camping by the lake?", 1.0)

    assert (of_ben["own_coverage"], of_ben["own_cosine"]) == (0, 0)
    assert of_ben["rival_lead"] == of_ana["own_coverage"] > 0.9
    assert of_ana["rival_lead"] == of_nobody["rival_lead"] == 0


def test_who_is_named_is_spoken_of_by_anybody(keep, turn, features_of):
    """What Ana says of Ben by his name is about Ben."""
    mention = turn(0, "Ben went camping by the lake.")
    keep(turns=[mention])

    (found,) = features_of("Did Ben go camping?", 1.0, speakers=["Ben"])

    assert found["own_coverage"] == 1
    assert found["own_cosine"] == found["cosine"] > 0
    assert found["rival_lead"] == 0


def test_an_assistant_is_no_rival(keep, turn, features_of):
    """What an assistant explains fits many a question about somebody; it says nothing of anybody else."""
    said = turn(0, "Camping by a lake needs a tent.", speaker="Assistant", role="assistant")
    keep(turns=[said])

    (found,) = features_of("Did Ana go camping by a lake?", 1.0, speakers=["Ana"])

    assert (found["own_coverage"], found["rival_lead"]) == (0, 0)


def test_a_rare_word_weighs_more_and_an_unknown_one_most(keep, turn, features_of):
    """Coverage is weighted by rarity in the scope: what nobody ever said is rarest."""
    turns = [turn(0, "A dog and a piano."), *(turn(number, "A dog.") for number in range(1, 9))]
    keep(turns=turns)

    first, second = features_of("dog piano", 1.0, 0.5)
    _, third = features_of("dog trumpet", 1.0, 0.5)

    assert first["own_coverage"] == pytest.approx(1)
    assert third["own_coverage"] < second["own_coverage"] < 0.5
    assert (first["share"], second["share"]) == (1, 0.5)


def test_more_words_of_a_longer_query_are_more(keep, turn, features_of):
    """Half of two words may be chance; half of four is less so."""
    said = turn(0, "A dog by the lake.")
    keep(turns=[said])

    (short,) = features_of("dog trumpet", 1.0)
    (long,) = features_of("dog lake trumpet violin", 1.0)

    assert short["own_coverage"] == pytest.approx(long["own_coverage"])
    assert short["breadth"] < long["breadth"]


def test_a_narrative_and_a_query_without_content_are_judged_too(store, scope, keep, turn, intent):
    """Nothing is divided by nothing: no stems, no scores, no passages."""
    keep(turns=[turn(0)], syntheses=[Synthesis(synthesis_id="p", text="The lake.", covered_record_ids=[])])
    index, vector = store.index(scope), store.encoder.encode(["What?"])[0]

    relevance, found = Relevance(index, intent("What?"), vector), [Candidate("synthesis", 0, 0.0)]
    shown = with_relevance(found, relevance.features(found))

    assert 0 <= shown[0].relevance < RetrieveSettings().relevance_threshold
    assert with_relevance([], relevance.features([])) == []


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=len(FEATURES), max_size=len(FEATURES)), max_size=5))
def test_relevance_is_a_probability(rows):
    """Whatever the numbers are, without overflow."""
    found = load_model().probability(np.array(rows, dtype=np.float64).reshape(-1, len(FEATURES)))

    assert found.shape == (len(rows),)
    assert ((found >= 0) & (found <= 1)).all()


@given(st.dictionaries(STEMS, st.floats(0.01, 10)))
def test_the_weights_of_stems_are_shares(rarity):
    """In proportion to their rarity, all together 1."""
    weights = stem_weights(rarity)

    assert sum(weights.values()) == pytest.approx(1.0 if rarity else 0.0)
    assert {stem: weight * sum(rarity.values()) for stem, weight in weights.items()} == pytest.approx(rarity)


def test_the_shipped_weights_point_the_right_way():
    """What fits speaks for a passage; what fits others better, against it."""
    weights = load_model().weights

    assert set(weights) == set(FEATURES)
    assert {name for name, weight in weights.items() if weight < 0} == {"rival_lead"}


def test_a_feature_without_a_weight_counts_nothing():
    """So that weights can be learned for features that the shipped ones do not know."""
    rows = np.eye(len(FEATURES))

    found = LogisticModel(FEATURES, 0.0, {"cosine": 1.0}).probability(rows)

    assert found.tolist() == pytest.approx([0.7311, *[0.5] * (len(FEATURES) - 1)], abs=1e-4)


def test_the_name_before_a_turn_is_nothing_that_it_says(keep, turn, features_of):
    """A turn is indexed with its speaker's name; a query that holds the name as a word finds nothing in it by that."""
    keep(turns=[turn(0, "The lake froze over.", speaker="Rose"), turn(1, "A rose grows there.", speaker="Rose")])

    lake, rose = features_of("rose", 1.0, 1.0)

    assert lake["own_coverage"] == 0
    assert rose["own_coverage"] == 1
