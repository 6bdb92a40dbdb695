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


@pytest.mark.parametrize("content", ["", "   ", "\n\t"])
def test_a_candidate_without_words_keeps_what_was_said(content):
    """Each sentence it points at stands after its speaker's name; one that points at nothing leaves nothing."""
    records = build(RecordDraft(sources=[1, 3], content=content), RecordDraft(sources=[], content=content))

    assert [(record.content, record.source_turn_ids) for record in records] == [
        ("Ana: I went camping by the lake.", ["t0"]),
        ("Ana: We leave on 1 June (1 June 2023).", ["t2"]),
    ]
    assert [record.part for record in records] == [0, 2]


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ("I went camping by the lake.", "Ana: I went camping by the lake."),
        ("Ana went camping by the lake.", "Ana went camping by the lake."),
        ("I camped near my lake.", "Ana: I camped near my lake."),
    ],
    ids=["a copy", "rephrased", "first person"],
)
def test_words_that_speak_as_i_have_an_owner(content, kept):
    """A copy, or a record in the first person, would be anybody's; who names "I" makes no copy."""
    (record,) = build(RecordDraft(sources=[1], content=content))

    assert record.content == kept


@pytest.mark.parametrize("sources", [[1], [1, 2], []])
def test_a_copy_rests_on_the_sentence_it_is_copied_from(sources):
    """Small models put a neighbour's number beside the words of a sentence, or none."""
    (record,) = build(RecordDraft(sources=sources, content="We leave on 1 June."))

    assert record.content.startswith("Ana: We leave on 1 June")
    assert (record.source_turn_ids, record.event_id, record.status) == (["t2"], "e1", "active")


def test_a_copied_turn_rests_on_its_own_sentences_whatever_it_cites(turn):
    """Small models copy a turn whole, put another's name before it, and cite the turn before."""
    first = turn(0, "Wow, that race in Oslo sounds like a lot of fun!").model_copy(update={"speaker": "Ben"})
    second = turn(1, "My sister Runa ran the whole way with me. It was wonderful to see how everybody cheered for us!")
    copy = "Ben: My sister Runa ran the whole way with me. [2] I was wonderful to see how everybody cheered for us!"

    records = build_records(
        "scope",
        number_sentences([first, second]),
        EVENT_OF,
        [("key_sentence", SourcedSentence(sources=[1], content=copy))],
    )

    assert [(record.content, record.speaker, record.source_turn_ids) for record in records] == [
        ("Ana: My sister Runa ran the whole way with me.", "Ana", ["t1"]),
        ("Ana: It was wonderful to see how everybody cheered for us!", "Ana", ["t1"]),
    ]


@pytest.mark.parametrize("noted", ["2023-06-01", "2023-07-09"])
def test_a_time_that_is_said_precedes_one_that_is_noted(noted):
    """The clock of the turn decides what its words mean, whatever a model noted; when it was mentioned is another."""
    (record,) = build(RecordDraft(sources=[3], content="Ana leaves.", time=noted))

    days = [moment.date().isoformat() for moment in (record.event_start, record.mentioned_at)]
    assert (days, record.time_text, record.event_id) == (["2023-06-01", "2023-05-08"], "1 June", "e1")


def test_what_a_candidate_leaves_open_is_read_off_its_words(turn):
    """Rules fill in place, reason and keywords."""
    said = number_sentences([turn(0, "I moved to Oslo because rents in Bergen had doubled.")])

    (record,) = build_records("scope", said, EVENT_OF, [("dimensional", RecordDraft(sources=[1]))])

    assert (record.location, record.reason) == ("Oslo", "rents in Bergen had doubled")
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
    draft = RecordDraft(sources=[1], location="", reason="", purpose="", keywords=[])

    (record,) = build_records("scope", said, EVENT_OF, [("dimensional", draft)])

    assert (record.location, record.reason, record.purpose, record.keywords) == ("", "", "", [])
