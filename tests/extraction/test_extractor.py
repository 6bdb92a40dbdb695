"""What is asked of a model for records, and what becomes of a model that cannot write them."""

import pytest

from langgraph_engram.extraction import extractor
from langgraph_engram.extraction.batching import TurnBatch, batch_events
from langgraph_engram.extraction.extractor import Extractor, is_poor
from langgraph_engram.llm.base import MOST_POOR, Failure
from langgraph_engram.nodes.extract import Extract
from langgraph_engram.paper_settings import DimMemSettings
from langgraph_engram.papers.dimmem import records_view
from langgraph_engram.papers.structmem import FACTS, RELATIONS
from langgraph_engram.prompts.extract_facts import SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_records import DimMemDraft, Extraction
from langgraph_engram.prompts.label_sentences import SentenceLabel, SentenceLabels
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.testing import FakeModel

PLACES = ("Oslo", "Rome", "Lima", "Cairo", "Quito", "Delhi", "Tokyo", "Accra", "Paris", "Perth")


@pytest.fixture
def batch(turn):
    """Ten turns of one statement each."""
    turns = [turn(seq, f"I worked in {place} for a year.") for seq, place in enumerate(PLACES)]
    return TurnBatch(tuple(turns), (), {turn.turn_id: "e0" for turn in turns})


def lump():
    return Extraction(records=[DimMemDraft(sources=list(range(1, 11)), content="Ana is a traveller.")])


def labels(skipped=()):
    chosen = [SentenceLabel(number=number, label="skip" if number in skipped else "fact") for number in range(1, 11)]
    return SentenceLabels(labels=chosen)


def record_each():
    return Extraction(records=[DimMemDraft(sources=[number]) for number in range(1, 11)])


def asked(model):
    return [question.name for question in model.asked]


def test_structmem_asks_for_facts_and_for_relations(batch):
    """Two views, two questions; records of both kinds."""
    facts = SourcedSentences(sentences=[SourcedSentence(sources=[number]) for number in range(1, 11)])
    relations = SourcedSentences(sentences=[SourcedSentence(sources=[2], content="Ana helped Ben.")])
    model = FakeModel([facts, relations])

    found, spent = Extractor(model, ExtractSettings(), (FACTS, RELATIONS)).extract("scope", [batch])

    assert asked(model) == ["ExtractFacts", "ExtractRelations"]
    assert [{record.kind for record in view.records} for view in found] == [{"factual"}, {"relational"}]
    assert spent.calls == 2


def test_a_model_that_lumps_is_asked_to_label(batch):
    """What was said becomes the records; what the model skips does not."""
    model = FakeModel([lump(), labels(skipped=(3,))])

    (found,), spent = Extractor(model, ExtractSettings()).extract("scope", [batch])

    assert asked(model) == ["ExtractRecords", "LabelSentences"]
    assert [record.content for record in found.records] == [
        f"Ana: I worked in {place} for a year." for place in PLACES if place != "Lima"
    ]
    assert {record.source_turn_ids[0] for record in found.records} == {f"t{seq}" for seq in range(10) if seq != 2}
    assert spent.calls == 2


def test_a_model_that_never_writes_well_is_asked_to_label_only(batch):
    """After a few poor answers, the question it cannot answer is not paid for again."""
    model = FakeModel([*[lump(), labels()] * MOST_POOR, labels()])
    asking = Extractor(model, ExtractSettings())

    asking.extract("scope", [batch] * MOST_POOR)
    asking.extract("scope", [batch])

    assert asked(model) == ["ExtractRecords", "LabelSentences"] * MOST_POOR + ["LabelSentences"]


def test_a_model_is_tried_on_one_batch_before_the_rest_is_put_to_it(batch):
    """One that cannot write has wasted few calls, however many batches there are."""
    poor = FakeModel([*[lump(), labels()] * MOST_POOR, *[labels()] * 8])
    good = FakeModel([record_each()] * 10)

    Extractor(poor, ExtractSettings()).extract("scope", [batch] * 10)
    Extractor(good, ExtractSettings()).extract("scope", [batch] * 10)

    assert asked(poor).count("ExtractRecords") == MOST_POOR
    assert asked(good) == ["ExtractRecords"] * 10


def test_a_model_that_is_too_slow_to_write_is_not_waited_for_twice(batch):
    """Each time-out costs its whole length."""
    model = FakeModel([Failure("timeout", "nothing in 60 s"), labels(), labels()])

    Extractor(model, ExtractSettings()).extract("scope", [batch] * 2)

    assert asked(model) == ["ExtractRecords", "LabelSentences", "LabelSentences"]


def test_one_good_answer_shows_what_a_model_can(batch):
    """A model that has written well is not taken for one that cannot."""
    model = FakeModel([record_each(), lump(), labels(), lump(), labels(), record_each()])
    asking = Extractor(model, ExtractSettings())

    for _ in range(4):
        asking.extract("scope", [batch])

    assert asked(model)[-1] == "ExtractRecords"


def test_an_answer_that_is_cut_off_is_asked_for_in_two(batch):
    """No record is lost to a limit of tokens, and what was cut off is counted."""
    half = Extraction(records=[DimMemDraft(sources=[number]) for number in range(1, 6)])
    model = FakeModel([Failure("too_long", "cut off"), half, half])

    found, spent = Extractor(model, ExtractSettings()).extract("scope", [batch])

    assert [[turn.turn_id for turn in part.turns] for part in found] == [
        ["t0", "t1", "t2", "t3", "t4"],
        ["t5", "t6", "t7", "t8", "t9"],
    ]
    assert [len(part.records) for part in found] == [5, 5]
    assert (asked(model), spent.calls) == (["ExtractRecords"] * 3, 3)


def test_a_half_that_is_cut_off_as_well_is_tried_as_labels(batch):
    """A model that runs on and on is not asked for ever smaller parts; what the other half gave stays."""
    half = Extraction(records=[DimMemDraft(sources=[number]) for number in range(1, 6)])
    cut_off = Failure("too_long", "cut off")
    model = FakeModel([cut_off, half, cut_off, SentenceLabels(labels=labels().labels[:5])])

    found, _ = Extractor(model, ExtractSettings()).extract("scope", [batch])

    assert asked(model) == ["ExtractRecords"] * 3 + ["LabelSentences"]
    assert [len(part.records) for part in found] == [5, 5]


@pytest.mark.parametrize("kind", ["invalid", "timeout"])
def test_an_answer_without_form_or_end_is_tried_as_labels(batch, kind):
    """Broken JSON, or none in time, says that the question is too hard; labels are the easier one."""
    model = FakeModel([Failure(kind, "no JSON"), labels()])

    (found,), _ = Extractor(model, ExtractSettings()).extract("scope", [batch])

    assert (len(found.records), found.failure) == (10, "")


@pytest.mark.parametrize("kind", ["unreachable", "rate_limited", "refused"])
def test_a_model_that_cannot_be_reached_is_not_asked_something_easier(batch, kind):
    """The failure stands, and says nothing of what the model can do."""
    model = FakeModel([Failure(kind, "gone")])
    asking = Extractor(model, ExtractSettings())

    (found,), _ = asking.extract("scope", [batch])

    assert (found.records, found.failure, asked(model)) == ([], "gone", ["ExtractRecords"])
    assert not asking.model.capability.is_lacking


def test_labels_are_asked_for_a_few_sentences_at_a_time(batch, monkeypatch):
    """A slow model ends each answer in time, and every sentence has its label once."""
    parts = [SentenceLabels(labels=labels().labels[:size]) for size in (4, 4, 2)]
    model = FakeModel([lump(), *parts])

    monkeypatch.setattr(extractor, "LABELLED_SENTENCES", 4)

    found, _ = Extractor(model, ExtractSettings()).extract("scope", [batch])

    records = [record for part in found for record in part.records]
    assert [record.source_turn_ids for record in records] == [[f"t{seq}"] for seq in range(10)]
    assert [len(question.turns) for question in model.asked[1:]] == [4, 4, 2]


def test_labels_that_fail_leave_the_first_answer(batch):
    """Little is better than nothing."""
    model = FakeModel([lump(), Failure("invalid", "no JSON")])

    (found,), _ = Extractor(model, ExtractSettings()).extract("scope", [batch])

    assert [record.content for record in found.records] == ["Ana is a traveller."]


@pytest.mark.parametrize(("method", "question"), [("written", "ExtractRecords"), ("labelled", "LabelSentences")])
def test_settings_may_decide(batch, method, question):
    """Who knows the model need not wait until it has shown itself."""
    answer = Extraction(records=[]) if method == "written" else labels()
    model = FakeModel([answer])

    Extractor(model, ExtractSettings(method=method), (records_view(DimMemSettings()),)).extract("scope", [batch])

    assert asked(model) == [question]


@pytest.mark.parametrize(
    ("sources", "poor"),
    [
        ([[number] for number in range(1, 11)], False),
        ([[1], [4, 5]], False),
        ([list(range(1, 11))], True),
        ([[1]], True),
        ([], True),
        ([[99], [77]], True),
    ],
)
def test_an_answer_is_poor_that_lumps_or_leaves_nearly_all_out(batch, sources, poor):
    """A fifth of what was stated, a few turns a record: less is no memory of a conversation."""
    assert is_poor(batch, sources) is poor


@pytest.mark.parametrize(("places", "poor"), [((), False), (PLACES, True)])
def test_little_said_may_give_no_record(turn, places, poor):
    """A short exchange may hold nothing to keep; posters that ask something show it all the same."""
    said = turn(0, "I worked in Oslo.", captions=[f"a poster: ready for {place}?" for place in places])

    assert is_poor(TurnBatch((said,), (), {"t0": "e0"}), []) is poor


def test_the_turns_just_before_are_read_beside_an_event_that_goes_on(store, keep, scope, turn, event):
    """Not the turns before the event's beginning: a reply needs the question that was asked last."""
    keep(turns=[turn(seq, f"Turn {seq}.") for seq in range(6)], events=[event(0, 0, 1, 2, 3, 4, 5)])
    extended = event(0, 0, 1, 2, 3, 4, 5, 6)

    (batch,) = batch_events(store.index(scope), [extended], [turn(6, "Two cats.")], ExtractSettings(), 2)

    assert [turn.text for turn in batch.context] == ["Turn 4.", "Turn 5."]
    assert [turn.text for turn in batch.turns] == ["Two cats."]


def test_short_events_share_a_call_up_to_a_size(store, scope, turn, event):
    """What does not fit begins another call; under the papers' presets each event has its own."""
    turns = [turn(seq, "I planted a tree. " * 10) for seq in range(4)]
    events = [event(seq, seq) for seq in range(4)]
    index = store.index(scope)

    shared = batch_events(index, events, turns, ExtractSettings(call_tokens=100), 0)
    alone = batch_events(index, events, turns, ExtractSettings(call_tokens=0), 0)

    assert [len(batch.event_starts) for batch in shared] == [2, 2]
    assert shared[0].event_starts == (0, 1)
    assert [len(batch.event_starts) for batch in alone] == [1, 1, 1, 1]


def test_what_tools_and_systems_put_in_is_not_batched(store, scope, turn, event):
    """Records are extracted from what somebody said; read beside it is what somebody said before."""
    turns = [
        turn(0, "You are a polite assistant.", role="system", speaker="system"),
        turn(1, "Which hotel shall I take?"),
        turn(2, '{"hotel": "Alfama Inn"}', role="tool", speaker="search_hotels"),
        turn(3, "The one near the river.", role="assistant", speaker="assistant"),
    ]

    index, alone = store.index(scope), ExtractSettings(call_tokens=0)

    (whole,) = batch_events(index, [event(0, 0, 1, 2, 3)], turns, alone, 2)
    first, last = batch_events(index, [event(0, 0, 1, 2), event(1, 3)], turns, alone, 2)
    nobody = batch_events(index, [event(0, 0, 2)], [turns[0], turns[2]], alone, 2)

    assert [turn.turn_id for turn in whole.turns] == ["t1", "t3"]
    assert ([turn.turn_id for turn in first.turns], [turn.turn_id for turn in last.turns]) == (["t1"], ["t3"])
    assert [turn.turn_id for turn in last.context] == ["t1"]
    assert nobody == []


def test_later_steps_are_told_what_was_read_and_what_the_model_cannot(store, keep, turn, event, to_remember):
    """A run that is cut off and goes on elsewhere verifies and quotes as it would have here."""
    turns = [turn(seq, f"I worked in {place} for a year.") for seq, place in enumerate(PLACES)]
    keep(turns=turns[:2])
    model = FakeModel([Failure("timeout", "late"), labels()])
    state = {"request": to_remember(), "run_id": "run", "turns": turns[2:], "events": [event(0, *range(10))]}

    update = Extract(store, Extractor(model, ExtractSettings()), ExtractSettings(), 1)({**state, "boundaries": []})

    (prompt,) = update["prompts"]
    assert (prompt.turn_ids, prompt.context_turn_ids) == ([f"t{seq}" for seq in range(2, 10)], ["t1"])
    assert update["cannot_write"] is True
