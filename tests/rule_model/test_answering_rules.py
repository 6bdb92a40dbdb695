"""Questions about memories are answered as a careful person would, on plain examples."""

from datetime import UTC, datetime, timedelta

import pytest

from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.decide_update import DecideUpdate
from langgraph_engram.prompts.reflect import Reflect
from langgraph_engram.prompts.select_records import SelectRecords
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.prompts.write_synthesis import MOST_WORDS, WriteSynthesis
from langgraph_engram.rules.answer_light import answer_light
from langgraph_engram.rules.decide_update import decide_update
from langgraph_engram.rules.reflect import reflect
from langgraph_engram.rules.select_records import select_records
from langgraph_engram.rules.write_answer import write_answer
from langgraph_engram.rules.write_synthesis import write_synthesis

MAY = datetime(2023, 5, 7, tzinfo=UTC)
QUERY = "Where does Ana's sister teach music?"


@pytest.mark.parametrize(
    ("older", "newer", "action"),
    [
        ("Ana: I work at the Starbucks in Oslo.", "Ana: I no longer work at the Starbucks in Oslo.", "SUPERSEDE"),
        ("Ana: I keep bees in the garden.", "Ana: I keep bees in the garden!", "MERGE"),
        ("Ana: I like tea.", "Ana: I like coffee.", "KEEP_BOTH"),
    ],
)
def test_look_alikes_are_decided_on_with_care(record, older, newer, action):
    """A stated change supersedes, a repeat merges, anything else stays (DimMem Table 10)."""
    (verdict,) = decide_update(DecideUpdate(((record(older), record(newer, 1)),))).verdicts

    assert verdict.action == action
    assert bool(verdict.content) is (action == "MERGE")


def test_two_days_are_two_events(record):
    """The same words of another day are another event."""
    camped = record("Ana: I went camping.", memory_type="episodic", event_start=MAY, event_end=MAY)
    again = camped.model_copy(update={"record_id": "x", "event_start": MAY.replace(day=1)})

    (verdict,) = decide_update(DecideUpdate(((camped, again),))).verdicts
    assert verdict.action == "KEEP_BOTH"


def test_another_person_s_words_are_no_repeat(record):
    """What Ben says of himself says nothing of Ana."""
    bees = (record("I keep bees."), record("I keep bees.", 1, speaker="Ben"))

    (verdict,) = decide_update(DecideUpdate((bees,))).verdicts

    assert verdict.action == "KEEP_BOTH"


def test_a_light_answer_cites_what_it_rests_on(pieces, intent):
    """What covers the query suffices; the answer is what was said, with its number."""
    found = pieces("Ben: I keep bees.", "Ana: My sister teaches music in Oslo.")

    told = answer_light(AnswerLight(QUERY, intent(QUERY, speakers=["Ana"]), found))

    assert "Oslo" in told
    assert told.endswith("[2]")


def test_what_does_not_cover_the_query_does_not_suffice(pieces, intent):
    """A shared word is not an answer; neither is nothing."""
    asked = intent("Where did Ana buy the silver trumpet?", speakers=["Ana"])

    unlike = answer_light(AnswerLight(asked.query, asked, pieces("Ana: I keep bees.")))
    nothing = answer_light(AnswerLight(asked.query, asked, ()))

    assert (unlike, nothing) == (UNKNOWN, UNKNOWN)


def test_another_person_s_memory_is_no_answer(pieces, intent):
    """What is asked of Ana is not answered by Ben's words."""
    query = "What instrument does Ana play?"
    asked = intent(query, speakers=["Ana"])

    assert write_answer(WriteAnswer(query, asked, pieces("Ben: I play an instrument, the trumpet."))) == UNKNOWN


def test_a_question_of_time_is_answered_with_a_time(pieces, intent):
    """When: the day of the event, not that of its telling."""
    query = "When did Ana go camping?"
    found = pieces("Ana: I went camping by the lake.", event_start=MAY, event_end=MAY)

    told = write_answer(WriteAnswer(query, intent(query, speakers=["Ana"], answer_dimension="time"), found))

    assert "7 May 2023" in told
    assert told.endswith("[1]")


def test_of_two_that_answer_the_newest_holds(pieces, intent):
    """What was said last is what is so."""
    query = "Where does Ana live?"
    found = pieces("Ana: I live in Bergen.", "Ana: I live in Oslo.")
    equal = tuple(piece.model_copy(update={"score": 1.0}) for piece in found)

    assert "Oslo" in write_answer(WriteAnswer(query, intent(query, speakers=["Ana"]), equal))


def test_memories_that_matter_are_chosen(pieces, intent):
    """What mentions something the query names, the best first; nothing else."""
    found = pieces("Ben: I keep bees.", "Ana: My sister teaches music.", "Ana: It rained.")

    assert select_records(SelectRecords(QUERY, intent(QUERY, speakers=["Ana"]), found)).numbers == [2]
    assert select_records(SelectRecords(QUERY, intent(QUERY), ())).numbers == []


def test_a_covered_answer_is_complete(pieces, intent):
    """Everything the query names is mentioned: there is nothing more to ask."""
    found = pieces("Ana: My sister teaches music in Oslo.")

    thought = reflect(Reflect(QUERY, intent(QUERY, speakers=["Ana"]), "In Oslo [1].", found, (QUERY,)))

    assert (thought.complete, thought.missing) == (True, "")


def test_an_answer_that_rests_on_little_is_told_with_what_is_missing(pieces, intent):
    """The pieces it cites count, not all that was found; nothing more is looked for."""
    asked = intent(QUERY, speakers=["Ana"])
    found = pieces("Ana: My brother teaches music.", "Ana: My aunt moved to Oslo.")

    thought = reflect(Reflect(QUERY, asked, "Oslo [2]", found, (QUERY,)))

    assert (thought.complete, thought.next_query) == (False, "")
    assert "music" in thought.missing


@pytest.mark.parametrize(
    ("told", "complete"),
    [("Ana: I spent $40 on a lamp.", False), ("Ana: I spent $90 in total on lamps.", True)],
)
def test_one_amount_is_no_total(told, complete, pieces, intent):
    """Without a model nothing is added up, and one of several amounts is not told as all of them."""
    query = "How much did Ana spend on lamps in total?"

    thought = reflect(Reflect(query, intent(query, speakers=["Ana"]), "$40 [1]", pieces(told), (query,)))

    assert (thought.complete, bool(thought.missing)) == (complete, not complete)


def test_what_is_known_is_no_advice(pieces, intent):
    """It is told, and that it is not what was asked for."""
    query = "Can you recommend a guitar?"
    pool = pieces("Ana: I play a light guitar.")

    thought = reflect(Reflect(query, intent(query), "They play a light guitar [1]", pool, (query,)))

    assert (thought.complete, thought.missing, thought.next_query) == (False, "what to advise", "")


def test_what_is_missing_is_asked_for_once(pieces, intent):
    """Without an answer, the words that nothing mentions are looked for; not a second time."""
    asked = intent(QUERY, speakers=["Ana"])
    found = pieces("Ana: My sister sings.")

    thought = reflect(Reflect(QUERY, asked, UNKNOWN, found, (QUERY,)))
    again = reflect(Reflect(QUERY, asked, UNKNOWN, found, (QUERY, thought.next_query)))

    assert not thought.complete
    assert "music" in thought.missing
    assert "Ana" in thought.next_query
    assert again.next_query == ""


def test_a_synthesis_is_told_in_order_of_time(record):
    """Earlier events first, each under its day, within the words allowed; questions are left out."""
    history = (record("Ana: I planted apple trees.", 0),)
    buffer = (record("Ana: The apple trees bloom.", 5), record("Ana: Do you like apples?", 6))

    told = write_synthesis(WriteSynthesis(buffer, history))

    assert told.index("planted") < told.index("bloom")
    assert told.startswith("Mon 8 May 2023: ")
    assert "?" not in told


def test_a_synthesis_of_questions_is_not_empty(record):
    """Agents are asked more than they are told; a conversation of questions alone is no failure."""
    buffer = (record("Ana: Where did I camp?", 0), record("Ana: " + "Where else and when " * 200 + "?", 1))

    told = [write_synthesis(WriteSynthesis(one)) for one in (buffer, buffer[1:])]

    assert "Where did I camp?" in told[0]
    assert 0 < len(told[1].split()) <= MOST_WORDS


def test_a_synthesis_has_a_length(record):
    """However much there is to tell, and on however many days: headings are words too."""
    buffer = tuple(
        record(f"Ana: I planted {number} apple trees in the garden behind the house.", number) for number in range(99)
    )
    days = tuple(
        one.model_copy(update={"mentioned_at": MAY + timedelta(days=place)}) for place, one in enumerate(buffer)
    )

    told = [write_synthesis(WriteSynthesis(one, other)) for one in (buffer, days) for other in ((), buffer, days)]
    short = write_synthesis(WriteSynthesis(buffer, days, most_words=60))

    assert all(100 < len(text.split()) <= MOST_WORDS for text in told)
    assert 20 < len(short.split()) <= 60
