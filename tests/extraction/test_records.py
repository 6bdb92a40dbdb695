"""Candidates become records whose sources are checked and whose ids follow from event and content."""

import pytest

from langgraph_engram.extraction import records as records_module
from langgraph_engram.extraction.records import NO_SOURCE, build_records
from langgraph_engram.prompts.extract_facts import SourcedSentence
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.rendering import number_sentences
from tests.conftest import make_turn

EVENT_OF = {"t0": "e0", "t1": "e0", "t2": "e1"}


def build(*drafts):
    """Build records of candidates that cite three turns in two events."""
    said = number_sentences([make_turn(0), make_turn(1), make_turn(2, "We leave on 1 June.")])
    return build_records("scope", said, EVENT_OF, [("dimensional", draft) for draft in drafts])


@pytest.mark.parametrize(("sources", "cited"), [([0, 2, 99, -1, 2], ["t1"]), ([], []), ([0], []), ([-1, 99], [])])
def test_a_record_without_a_source_is_quarantined(sources, cited):
    """Numbers that no turn has are left out; what cites nothing else is kept, with the reason, and is not active."""
    (record,) = build(RecordDraft(sources=sources, content="Ana camped."))

    assert record.source_turn_ids == cited
    assert (record.status, record.reject_reason) == (("active", "") if cited else ("quarantined", NO_SOURCE))


def test_the_same_record_fifty_times_is_one():
    """A model that repeats itself adds sources, not records."""
    (record,) = build(*[RecordDraft(sources=[1 + number % 2], content="Ana  camped.\n") for number in range(50)])

    assert record.content == "Ana camped."
    assert record.source_turn_ids == ["t0", "t1"]


def test_a_relation_in_the_words_of_a_record_is_that_record(turn):
    """A model that was asked for both and repeats a sentence leaves it once."""
    said = number_sentences([turn(0), turn(1)])
    candidates = [
        ("dimensional", RecordDraft(sources=[1], content="Ana camped.", memory_type="episodic")),
        ("relational", SourcedSentence(sources=[2], content="Ana camped.")),
    ]

    (record,) = build_records("scope", said, EVENT_OF, candidates)

    assert (record.kind, record.memory_type, record.source_turn_ids) == ("dimensional", "episodic", ["t0", "t1"])


@pytest.mark.parametrize(("limit", "kept"), [(4, 4), (1, 3)])
def test_one_answer_gives_at_most_so_many_records(monkeypatch, limit, kept):
    """Beyond the limit of an answer drafts are ignored; a long text has as many records as sentences all the same."""
    monkeypatch.setattr(records_module, "MAX_RECORDS", limit)

    records = build(*[RecordDraft(sources=[1], content=f"Fact {number}.") for number in range(9)])

    assert [record.content for record in records] == [f"Fact {number}." for number in range(kept)]
    assert {record.part for record in records} == {0}


@pytest.mark.parametrize("content", ["", "   ", "\n\t", "..."])
def test_a_draft_without_words_leaves_nothing(content):
    """A record is a sentence of its own (DimMem 3.1); no sentence that was said stands in for it."""
    records = build(RecordDraft(sources=[1, 3], content=content), RecordDraft(sources=[3], content="Ana leaves."))

    assert [(record.content, record.source_turn_ids) for record in records] == [("Ana leaves.", ["t2"])]


@pytest.mark.parametrize(
    "content",
    ["I went camping by the lake.", "Ana went camping by the lake.", "I camped near my lake.", "We leave on 1 June."],
    ids=["a copy", "rephrased", "first person", "a copy of another sentence"],
)
def test_the_words_of_a_draft_stand(content):
    """They rest on what it cites, whatever they repeat; a number that our prompt put before a sentence is none."""
    (record,) = build(RecordDraft(sources=[1], content=f"[1] {content}"))

    assert (record.content, record.source_turn_ids) == (content, ["t0"])


def test_what_rules_keep_as_it_was_said_rests_on_its_question_too(turn):
    """A short reply stands behind the question that it answers, and on both turns."""
    said = number_sentences([turn(0, "Where did you camp?", speaker="Ben"), turn(1, "By the lake.")])
    drafts = [("key_sentence", SourcedSentence(sources=[2], content=said[1].as_said))]

    (record,) = build_records("scope", said, EVENT_OF, drafts)

    assert (record.content, record.speaker) == ("Ben: Where did you camp? Ana: By the lake.", "Ana")
    assert record.source_turn_ids == ["t0", "t1"]


@pytest.mark.parametrize(("noted", "day"), [("2023-06-01", "2023-06-01"), ("2023-07-09", "2023-07-09"), ("", None)])
def test_a_time_is_as_it_was_noted(noted, day):
    """The model normalises a time (DimMem 3.2), whatever rules read; when it was mentioned is another."""
    (record,) = build(RecordDraft(sources=[3], content="Ana leaves.", time=noted))

    happened, mentioned = (m and m.date().isoformat() for m in (record.event_start, record.mentioned_at))
    assert (happened, mentioned, record.time_text, record.event_id) == (day, "2023-05-08", noted, "e1")


def test_what_a_draft_does_not_name_is_read_off_its_words(turn):
    """Rules fill in time, place, reason and keywords of what they keep."""
    said = number_sentences([turn(0, "I moved to Oslo on 1 May because rents in Bergen had doubled.")])
    draft = RecordDraft(sources=[1], content=said[0].as_said)

    (record,) = build_records("scope", said, EVENT_OF, [("dimensional", draft)])

    assert (record.location, record.reason) == ("Oslo", "rents in Bergen had doubled")
    assert (record.event_start.date().isoformat(), record.time_text) == ("2023-05-01", "1 May")
    assert {"Oslo", "Bergen"} <= set(record.keywords)


@pytest.mark.parametrize(
    "time", ["9999", "9999-12-31", "9999-12-31/9999-12-31", "0001-01-01", "2023-02-30", "12345-01-01", "soon", "/"]
)
def test_odd_dates_are_read_or_left_open(time):
    """A date at the end of time, or none at all, never stops a write."""
    (record,) = build(RecordDraft(sources=[1], content="Ana camped.", time=time))

    assert (record.event_start is None) == (record.event_end is None)
    assert record.event_start is None or record.event_start <= record.event_end


def test_ids_follow_from_event_and_content():
    """The same answer gives the same ids; another case of letters is no other record, another event is."""
    first, second = (build(RecordDraft(sources=[1], content=text))[0] for text in ("Ana camped.", "ANA camped."))
    (elsewhere,) = build(RecordDraft(sources=[3], content="Ana camped."))

    assert first.record_id == second.record_id
    assert elsewhere.record_id != first.record_id


def test_what_a_model_notes_as_empty_stays_empty(turn):
    """Fields are empty where a model finds no ground for them (DimMem 3.1), whatever a rule would read."""
    said = number_sentences([turn(0, "I moved to Oslo because rents in Bergen had doubled.")])
    draft = RecordDraft(sources=[1], content="Ana moved.", location="", reason="", purpose="", keywords=[])

    (record,) = build_records("scope", said, EVENT_OF, [("dimensional", draft)])

    assert (record.location, record.reason, record.purpose, record.keywords) == ("", "", "", [])
