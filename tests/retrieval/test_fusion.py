"""The fusion ranks by all routes and by preferences, and shows together what was said together."""

from datetime import timedelta

import numpy as np
import pytest

from langgraph_engram.retrieval.fusion import Fusion, group_records
from langgraph_engram.retrieval.passages import as_passage
from langgraph_engram.retrieval.scoring import RouteScores


@pytest.fixture
def index(store, scope, keep, turn, record):
    """Five records of five turns; one record is superseded."""
    keep(
        turns=[turn(number) for number in range(5)],
        records=[
            record(0, "Ana swims."),
            record(1, "Ana skis."),
            record(2, "Ana sails."),
            record(3, "Ana sews.", status="superseded"),
            record(4, "Ana sings."),
        ],
    )
    return store.index(scope)


def scores_of(index, turns=(), **records):
    """Return route scores made from lists; without a list they are zeros."""
    return RouteScores(
        records={name: np.array(values, dtype=np.float64) for name, values in records.items()},
        turns=np.array(turns or np.zeros(len(index.turns)), dtype=np.float64),
        events=np.zeros(len(index.events)),
        syntheses=np.zeros(len(index.syntheses)),
    )


def ranked(index, intent, scores):
    """Return what was found, best first, as the initial of its kind and its position."""
    return [f"{candidate.kind[0]}{candidate.position}" for candidate in Fusion(index, intent, scores).ranked()]


def test_the_weighted_sum_ranks_by_all_routes(index, intent):
    """A record that two routes find is ranked above one that a single route finds."""
    scores = scores_of(index, lexical=[0.6, 1, 0, 1, 0], dense=[0.6, 0, 0, 1, 0.2], dimension=[0, 0, 0, 1, 0])

    found = [name for name in ranked(index, intent(), scores) if name.startswith("r")]

    assert found == ["r0", "r1", "r4"]


@pytest.mark.parametrize(
    ("query", "dense", "slot", "expected"),
    [
        ("Where does Ana live?", [1, 0.9], "", ["r1"]),
        ("Where did Ana live before?", [1, 0.9], "", ["r0", "r1"]),
        ("Who is Miso?", [1, 0.2], "", ["r0", "r1"]),
        ("Who is Miso?", [1, 0.2], "home city", ["r1"]),
        ("Where did Ana live before?", [1, 0.9], "home city", ["r0", "r1"]),
    ],
)
def test_what_is_superseded_is_found_for_what_it_alone_says(
    store, scope, keep, turn, record, intent, query, dense, slot, expected
):
    """A query that is as near to the successor finds that alone, unless it asks for what was so before."""
    keep(
        turns=[turn(0), turn(1)],
        records=[
            record(0, "I live in Rome with Miso.", status="superseded", superseded_by="r1"),
            record(1, "I live in Oslo.", slot=slot),
        ],
    )
    scores = scores_of(store.index(scope), first_person_dense=dense)

    assert ranked(store.index(scope), intent(query), scores) == expected


def test_what_is_superseded_is_shown_with_its_successor(store, scope, keep, turn, record, intent):
    """It may say other things that still hold; its text and its turns show the change, to the end of the chain."""
    keep(
        turns=[turn(0), turn(1), turn(2)],
        records=[
            record(0, "I live in Rome with Miso.", status="superseded", superseded_by="r1"),
            record(1, "I live in Oslo.", status="superseded", superseded_by="r2"),
            record(2, "I live in Kyiv."),
        ],
    )
    index = store.index(scope)

    (found,) = Fusion(index, intent(), scores_of(index, first_person_dense=[1, 0, 0])).ranked()
    passage = as_passage(index, found)

    assert passage.text.endswith("I live in Rome with Miso.\nChanged since: 8 May 2023, I live in Kyiv.")
    assert [turn.turn_id for turn in passage.turns] == ["t0", "t2"]


def test_people_asked_about_come_first(store, scope, keep, turn, record, intent):
    """Of two records found equally well, that of the person who is asked about stands first."""
    keep(turns=[turn(0), turn(1)], records=[record(0, "I ski.", speaker="Ben"), record(1, "I ski.", speaker="Ana")])
    index = store.index(scope)
    scores = scores_of(index, lexical=[1, 1])

    assert ranked(index, intent(speakers=["Ana"]), scores)[0] == "r1"
    assert ranked(index, intent(), scores)[0] == "r0"


def test_the_query_asked_before_comes_last(store, scope, keep, turn, record, intent):
    """It answers nothing, however near it is; a question that says more is ranked by its score."""
    texts = ("Where did we camp?", "Where did we camp in June, was it Bled?", "We camped at Bled.")
    keep(
        turns=[turn(number, text) for number, text in enumerate(texts)],
        records=[record(number, f"Ana: {text}") for number, text in enumerate(texts)],
    )
    index = store.index(scope)

    found = ranked(index, intent("Where did we camp?"), scores_of(index, lexical=[1, 0.9, 0.2], dense=[1, 0.9, 0.2]))

    assert [name for name in found if name.startswith("r")] == ["r1", "r2", "r0"]


def test_a_turn_that_no_record_cites_is_found_itself(store, scope, keep, turn, record, intent):
    """What extraction passed over stays searchable, in the words of its turn."""
    keep(turns=[turn(0), turn(1)], records=[record(0)])
    index = store.index(scope)

    found = ranked(index, intent(), scores_of(index, lexical=[0.1], turns=[0.1, 1.0]))

    assert found[0] == "t1"


@pytest.mark.parametrize(("asked", "first"), [(False, ["r0", "t2"]), (True, ["r1", "t3"])])
def test_the_assistants_words_come_first_only_where_they_are_asked_for(
    store, scope, keep, turn, record, intent, asked, first
):
    """The assistant's are a little nearer, and the user's own are better, unless the assistant's are asked for."""
    answers = {"role": "assistant", "speaker": "assistant"}
    keep(
        turns=[turn(0), turn(1, **answers), turn(2), turn(3, **answers)],
        records=[record(0, "Ana swims."), record(1, "Swim more")],
    )
    index = store.index(scope)

    found = ranked(index, intent(needs_assistant=asked), scores_of(index, turns=[0, 0, 0.9, 1], lexical=[0.9, 1]))

    assert [next(name for name in found if name[0] == kind) for kind in "rt"] == first


@pytest.mark.parametrize(("role", "first"), [("assistant", "r0"), ("user", "r1")])
def test_a_request_to_an_assistant_mentions_who_asks(store, scope, keep, turn, record, intent, role, first):
    """ "My new kayak" is as good as a statement; between people a question is only a question."""
    keep(
        turns=[turn(0), turn(1), turn(2, "Try the shop.", role=role)],
        records=[record(0, "Which paddle suits my new kayak?"), record(1, "Ana swims in the lake."), record(2, "Yes.")],
    )
    index = store.index(scope)

    found = ranked(index, intent(), scores_of(index, lexical=[1, 0.95, 0]))

    assert found[0] == first


def test_what_is_superseded_joins_no_other_record(store, scope, keep, turn, record, intent):
    """It is a passage of its own, and its turn is not shown bare beside it; without a successor the bare turn is."""
    keep(
        turns=[turn(0), turn(1), turn(2)],
        records=[
            record(0, "I live in Rome.", status="superseded", superseded_by="r1"),
            record(1, "I live in Oslo."),
            record(2, "I keep bees.", status="superseded", superseded_by="gone"),
            record(3, "My cat is Miso.", source_turn_ids=["t0"]),
        ],
    )
    index = store.index(scope)
    scores = scores_of(index, turns=[1, 1, 1], first_person_dense=[1, 0.9, 0.9, 1])

    found = list(Fusion(index, intent("Where did Ana live before?"), scores).ranked())

    assert {(candidate.kind, candidate.position, candidate.joined) for candidate in found} == {
        ("record", 0, ()), ("record", 1, ()), ("turn", 2, ()), ("record", 3, ()),
    }  # fmt: skip


@pytest.fixture
def groups_of(store, scope, keep, turn, record):
    """Return the groups of six records by their scores: five of a turn each, and another one of the first turn."""
    keep(
        turns=[turn(number) for number in range(5)],
        records=[
            *(record(number, f"Ana: Number {number}.") for number in range(5)),
            record(5, "Ana: More.", source_turn_ids=["t0"]),
        ],
    )
    index = store.index(scope)

    def group(scores, reach):
        total = np.array(scores, dtype=np.float32)
        ranked = np.argsort(-total)[: np.count_nonzero(total)]
        groups = group_records(index, ranked, total[ranked], reach)
        return [group.positions for group in groups]

    return group


@pytest.mark.parametrize(
    ("scores", "reach", "groups"),
    [
        ([1, 0, 0.9, 0, 0, 0], 2, [[0, 2]]),
        ([1, 0, 0, 0.9, 0, 0], 2, [[0], [3]]),
        ([1, 0, 0.5, 0, 0, 0], 2, [[0], [2]]),
        ([1, 0, 0.9, 0, 0, 0], 0, [[0], [2]]),
        ([1, 0.99, 0.98, 0.97, 0, 0], 2, [[0, 1, 2], [3]]),
        ([1, 0.8, 0, 0, 0, 0.8], 2, [[0, 1], [5]]),
        ([1, 0, 0, 0, 0, 0.95], 0, [[0, 5]]),
    ],
)
def test_sentences_of_one_exchange_are_one_passage(groups_of, scores, reach, groups):
    """Near, of nearly one score, and of three turns at most; a further one of a turn shown must score more."""
    assert groups_of(scores, reach) == groups


@pytest.mark.parametrize(
    ("days", "cited", "groups"), [(1, ["t1"], [[0], [1]]), (0, ["gone", "t1"], [[0, 1]])], ids=["a day", "a gap"]
)
def test_what_joins_a_passage(store, scope, keep, turn, record, days, cited, groups):
    """Nothing of another day; a record of a missing turn joins by another that it cites."""
    later = turn(0).said_at + timedelta(days=days)
    fine = record(1, "Ana: It is fine again.", mentioned_at=later, source_turn_ids=cited)
    keep(turns=[turn(0), turn(1, said_at=later)], records=[record(0, "Ana: I broke my arm."), fine])
    index = store.index(scope)

    found = group_records(index, np.arange(2), np.array([1, 0.9], dtype=np.float32), 2)

    assert [group.positions for group in found] == groups
