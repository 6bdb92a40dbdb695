"""Judge, select, go back to the turns: each step of deep retrieval holds its budget and survives bad answers."""

import pytest

from langgraph_engram.errors import ModelUnavailable
from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.backtrack import Backtrack
from langgraph_engram.nodes.deep_select import DeepSelect, batches
from langgraph_engram.nodes.judge_sufficiency import JudgeSufficiency
from langgraph_engram.nodes.write_answer import WriteAnswerStep
from langgraph_engram.papers.hymem import unit_turns
from langgraph_engram.prompts.select_records import Selection
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.passages import consecutive_runs, near_turns
from langgraph_engram.settings import DeepSettings
from langgraph_engram.state import BatchSelection
from langgraph_engram.testing import FakeModel


@pytest.fixture
def state(to_recall, intent, passage):
    """A round of reading that found five passages."""
    found = [passage(f"p{number}") for number in range(5)]
    return {"request": to_recall(), "query": "Where?", "intent": intent(), "evidence": found, "pool": []}


@pytest.mark.parametrize(
    ("said", "sufficient", "answer"),
    [
        (" At the lake [1]. ", True, "At the lake [1]."),
        (UNKNOWN, False, ""),
        ("I don't know, but [1] is about a lake.", False, ""),
        ("  ", False, ""),
        ("What a lovely day that was!", False, ""),
        ("In Atlantis [9].", False, ""),
        (Failure("timeout", "nothing in 60 s"), False, ""),
    ],
)
def test_anything_but_a_clear_answer_goes_deep(state, said, sufficient, answer):
    """No reply, an empty one, a plain no and words that rest on no passage are all insufficient."""
    update = JudgeSufficiency(FakeModel([said]), DeepSettings())(state)

    assert (update["sufficient"], update["answer"]) == (sufficient, answer)


def test_the_judge_sees_the_best_passages_and_the_pool(state, passage):
    """k passages of this round are shown, after those of earlier rounds; an answer outlives a round without one."""
    model = FakeModel([UNKNOWN])
    earlier = {"pool": [passage("old")], "answer": "At the lake [1]."}

    update = JudgeSufficiency(model, DeepSettings(light_k=2))({**state, **earlier})

    assert update["answer"] == "At the lake [1]."
    assert [passage.evidence_id for passage in model.asked[0].evidence] == ["old", "p0", "p1"]
    assert [passage.evidence_id for passage in update["pool"]] == ["old", "p0", "p1"]


def test_nothing_found_is_not_asked_about(state):
    """Without evidence there is nothing to judge, and nothing to pay for."""
    model = FakeModel()

    update = JudgeSufficiency(model, DeepSettings())({**state, "evidence": []})

    assert (update["sufficient"], model.asked) == (False, [])


@pytest.fixture
def select(store, state):
    """Select in batches, as the graph does: each batch by itself, in any order, then what they selected together."""

    def run(model, light_k=13):
        parts = [DeepSelect(model)(batch)["selections"] for batch in batches(state, 30, 3)]
        selections = [selection for part in reversed(parts) for selection in part]
        return Backtrack(store, DeepSettings(light_k=light_k))({**state, "selections": selections})

    return run


def test_selected_numbers_lead_to_their_batch(select):
    """Numbers count within each batch; unknown ones are ignored; selections are in the order of the batches."""
    model = FakeModel([Selection(numbers=[3, 0, 1, 9, -1, 3]), Selection(numbers=[2, 3])])

    update = select(model)

    assert update["selected_ids"] == ["p2", "p0", "p4"]
    assert update["went_deep"] is True
    assert [len(question.candidates) for question in model.asked] == [3, 2]


@pytest.mark.parametrize("said", [Selection(numbers=[]), Selection(numbers=[77]), Failure("timeout", "late")])
def test_an_empty_selection_falls_back_to_the_best(select, said):
    """When nothing is named, the best passages of the light routes are taken."""
    update = select(FakeModel([said, said]), light_k=2)

    assert update["selected_ids"] == ["p0", "p1"]


def test_runs_follow_one_another_in_one_session(turn):
    """A gap, or another session, begins a new run."""
    turns = [turn(0), turn(1), turn(3), turn(4, session_id="s2"), turn(5, session_id="s2")]

    assert [[found.seq for found in run] for run in consecutive_runs(turns)] == [[0, 1], [3], [4, 5]]
    assert consecutive_runs([]) == []


def selection_of(found):
    return BatchSelection(start=0, evidence_ids=[passage.evidence_id for passage in found])


@pytest.fixture
def back(store, keep, turn, event, state, passage):
    """Go back from passages that cite these turns, of ten turns in two events."""
    keep(
        turns=[turn(number, f"Line {number}.") for number in range(10)],
        events=[event(0, 0, 1, 2, 3), event(1, *range(4, 10))],
    )

    def go(*cited, around=near_turns, **settings):
        found = [passage(f"p{number}", turns=[turn(number)], score=1.0, relevance=0.7) for number in cited]
        step = Backtrack(store, DeepSettings(**settings), around)
        return step({**state, "evidence": found, "pool": found, "selections": [selection_of(found)]})

    return go


def test_sources_come_with_their_neighbours(back):
    """A turn on each side; consecutive turns are one passage of the same relevance; no turn is shown twice."""
    update = back(2, 8, 3)

    assert {found.relevance for found in update["pool"]} == {0.7}
    assert [[turn.seq for turn in found.turns] for found in update["pool"]] == [[1, 2, 3], [7, 8, 9], [4]]
    assert "Ana: Line 1.\nAna: Line 2.\nAna: Line 3." in update["pool"][0].text


@pytest.mark.parametrize("fields", [{"status": "superseded", "superseded_by": "r5"}, {"conflicts_with": ["r5"]}])
def test_what_is_superseded_or_in_conflict_stays_as_it_was_shown(store, keep, turn, record, state, passage, fields):
    """Its turns alone would not show that it has changed, or is contradicted."""
    keep(turns=[turn(number, f"Line {number}.") for number in range(6)])
    old = record(1, "Line 1.", **fields)
    found = [passage("old", record=old, turns=[turn(1), turn(5)], score=1.0), passage("p3", turns=[turn(3)], score=0.9)]

    update = Backtrack(store, DeepSettings())(
        {**state, "evidence": found, "pool": found, "selections": [selection_of(found)]}
    )

    assert [[turn.seq for turn in found.turns] for found in update["pool"]] == [[2, 3, 4], [1, 5]]
    assert update["pool"][1].record == old


def test_a_key_sentence_leads_back_to_the_unit_that_it_was_drawn_from(store, scope, keep, turn, event, record, passage):
    """Whatever it rests on: units overlap (HyMem 3.1 and 3.3)."""
    keep(
        turns=[turn(number, f"Line {number}.") for number in range(4)],
        events=[event(0, 0, 1), event(1, 2, 3, context_turn_ids=["t1"])],
    )
    index = store.index(scope)
    found = passage("r1", record=record(1, event_id="e1"), turns=[turn(1)])

    assert [shown.seq for shown in unit_turns(index, found)] == [1, 2, 3]


def test_the_budget_holds_and_what_does_not_fit_stays_light(back):
    """Pieces beyond the budget are left out; the memories that led to them stay in the pool."""
    update = back(2, 8, level2_tokens=20)

    deep = [found for found in update["pool"] if len(found.turns) > 1]
    assert sum(count_tokens(found.text) for found in deep) <= 50
    assert {2, 8} <= {turn.seq for found in update["pool"] for turn in found.turns}


@pytest.mark.parametrize("failure", [Failure("unreachable", "no route"), Failure("too_long", "no route")])
def test_the_model_must_answer_or_fail_loudly(state, failure):
    """A failure is an error, also of one passage that is too long; an empty result is an answer."""
    step = WriteAnswerStep(FakeModel([failure] * 3), DeepSettings())

    with pytest.raises(ModelUnavailable, match="no route"):
        step(state)
    assert step({**state, "evidence": []})["answer"] == UNKNOWN


def test_a_pool_that_is_too_long_is_halved_until_it_fits(state):
    """The answer rests on the first passages, cites no other, and says how many were read; every call is counted."""
    pool = state["evidence"]
    model = FakeModel([Failure("too_long", "4096 tokens at most"), Failure("too_long", "again"), "At the lake [1][3]."])

    update = WriteAnswerStep(model, DeepSettings())({**state, "pool": pool})

    assert [len(question.evidence) for question in model.asked] == [5, 2, 1]
    assert (update["answer"], update["pool"]) == ("At the lake [1].", pool)
    assert update["notes"] == ["the model's context held 1 of 5 passages: the answer rests on these"]
    assert update["usage"][0].calls == 3
