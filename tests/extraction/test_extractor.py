"""What is asked of a model for records, and what becomes of its answers."""

import pytest

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.extraction.extractor import Extractor, TurnBatch, batch_events
from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.extract import Extract
from langgraph_engram.papers.structmem import FACTS, RELATIONS
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction, RecordDraft
from langgraph_engram.segmentation.segmenter import LearnedSegmenter
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.testing import FakeModel

AROUND = LearnedSegmenter(HashingEncoder(), 40)
"""Two turns before an event are read with it."""
PLACES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Delhi", "Tokyo", "Accra", "Paris", "Perth")


@pytest.fixture
def batch(turn):
    """Ten turns of one statement each."""
    turns = [turn(seq, f"I worked in {place} for a year.") for seq, place in enumerate(PLACES)]
    return TurnBatch(tuple(turns), (), {turn.turn_id: "e0" for turn in turns})


def asked(model):
    return [question.name for question in model.asked]


def test_structmem_asks_for_facts_and_for_relations(batch):
    """Two views, two questions; records of both kinds."""
    facts = SourcedSentences(sentences=[SourcedSentence(sources=[n], content=f"Fact {n}.") for n in range(1, 11)])
    relations = SourcedSentences(sentences=[SourcedSentence(sources=[2], content="Ana helped Ben.")])
    model = FakeModel([facts, relations])

    found, spent = Extractor(model, (FACTS, RELATIONS)).extract("scope", [batch])

    assert asked(model) == ["ExtractFacts", "ExtractRelations"]
    assert [{record.kind for record in view.records} for view in found] == [{"factual"}, {"relational"}]
    assert spent.calls == 2


def test_an_answer_that_is_cut_off_is_asked_for_in_two(batch):
    """No record is lost to a limit of tokens, and what was cut off is counted."""
    half = Extraction(records=[RecordDraft(sources=[number], content=f"Fact {number}.") for number in range(1, 6)])
    model = FakeModel([Failure("too_long", "cut off"), half, half])

    found, spent = Extractor(model).extract("scope", [batch])

    assert [[turn.turn_id for turn in part.turns] for part in found] == [
        ["t0", "t1", "t2", "t3", "t4"],
        ["t5", "t6", "t7", "t8", "t9"],
    ]
    assert [len(part.records) for part in found] == [5, 5]
    assert (asked(model), spent.calls) == (["ExtractRecords"] * 3, 3)


@pytest.mark.parametrize("kind", ["unreachable", "rate_limited", "refused"])
def test_a_model_that_cannot_be_reached_leaves_its_reason(batch, kind):
    """The failure stands, and says nothing of what the model can do."""
    model = FakeModel([Failure(kind, "gone")])
    asking = Extractor(model)

    (found,), _ = asking.extract("scope", [batch])

    assert (found.records, found.failure, asked(model)) == ([], "gone", ["ExtractRecords"])
    assert not asking.model.capability.is_lacking


def test_the_turns_just_before_are_read_beside_an_event_that_goes_on(store, keep, scope, turn, event):
    """Not the turns before the event's beginning: a reply needs the question that was asked last."""
    keep(turns=[turn(seq, f"Turn {seq}.") for seq in range(6)], events=[event(0, 0, 1, 2, 3, 4, 5)])
    extended = event(0, 0, 1, 2, 3, 4, 5, 6)

    (batch,) = batch_events(store.index(scope), [extended], [turn(6, "Two cats.")], ExtractSettings(), AROUND)

    assert [turn.text for turn in batch.context] == ["Turn 4.", "Turn 5."]
    assert [turn.text for turn in batch.turns] == ["Two cats."]


def test_what_tools_and_systems_put_in_is_not_batched(store, scope, turn, event):
    """Records are extracted from what somebody said; read beside it is what somebody said before."""
    turns = [
        turn(0, "You are a polite assistant.", role="system", speaker="system"),
        turn(1, "Which hotel shall I take?"),
        turn(2, '{"hotel": "Alfama Inn"}', role="tool", speaker="search_hotels"),
        turn(3, "The one near the river.", role="assistant", speaker="assistant"),
    ]

    index, alone = store.index(scope), ExtractSettings()

    (whole,) = batch_events(index, [event(0, 0, 1, 2, 3)], turns, alone, AROUND)
    first, last = batch_events(index, [event(0, 0, 1, 2), event(1, 3)], turns, alone, AROUND)
    nobody = batch_events(index, [event(0, 0, 2)], [turns[0], turns[2]], alone, AROUND)

    assert [turn.turn_id for turn in whole.turns] == ["t1", "t3"]
    assert ([turn.turn_id for turn in first.turns], [turn.turn_id for turn in last.turns]) == (["t1"], ["t3"])
    assert [turn.turn_id for turn in last.context] == ["t1"]
    assert nobody == []


def test_later_steps_are_told_what_was_read(store, keep, turn, event, to_remember):
    """A run that is cut off and goes on elsewhere verifies as it would have here."""
    turns = [turn(seq, f"I worked in {place} for a year.") for seq, place in enumerate(PLACES)]
    keep(turns=turns[:2])
    model = FakeModel([Failure("timeout", "late")])
    state = {"request": to_remember(), "run_id": "run", "turns": turns[2:], "events": [event(0, *range(10))]}

    update = Extract(store, Extractor(model), ExtractSettings(), AROUND)({**state, "boundaries": []})

    (prompt,) = update["prompts"]
    assert (prompt.turn_ids, prompt.context_turn_ids) == ([f"t{seq}" for seq in range(2, 10)], ["t0", "t1"])
