"""Questions about turns are answered as a person would, on plain examples."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.prompts.describe_boundary import DescribeBoundary
from langgraph_engram.prompts.extract_facts import ExtractFacts
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import ExtractRecords
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.judge_boundary import JudgeBoundary
from langgraph_engram.prompts.parse_intent import ParseIntent
from langgraph_engram.prompts.rendering import number_sentences
from langgraph_engram.rule_model.recall import parse_intent
from langgraph_engram.rule_model.turns import (
    describe_boundary,
    extract_facts,
    extract_key_sentences,
    extract_records,
    extract_relations,
    judge_boundary,
)
from tests.rule_model.conftest import make_turns

NOW = datetime(2023, 5, 8, 12, tzinfo=UTC)


def sourced(turns, candidates):
    """Return the sentences that candidates without words of their own point at."""
    numbered = {sentence.number: sentence for sentence in number_sentences(turns, small_talk=True)}
    return [" ".join(numbered[number].as_said for number in candidate.sources) for candidate in candidates]


def test_what_is_worth_keeping_becomes_records():
    """A sentence a record, with its speaker; greetings and thanks leave nothing.

    A time is read from the turn's own clock: yesterday, said on 8 May, is 7 May, in the words and as an interval.
    """
    said = make_turns("Ana: Hi Ben! My sister Runa moved to Oslo.", "Ben: Great! Thanks! I went camping yesterday.")

    moved, camped = extract_records(ExtractRecords(said)).records

    assert sourced(said, [moved, camped]) == [
        "Ana: My sister Runa moved to Oslo.",
        "Ben: I went camping yesterday (7 May 2023).",
    ]
    assert camped.memory_type == "episodic"


def test_what_papers_draw_from_turns_is_told_apart():
    """Facts ask nothing, though the words on a poster may; key sentences are rich; relations name both people."""
    asked, poster, thanks = make_turns(
        "Ana: Did it rain?", "Ana: Look at this.", "Ana: Thank you for moving the old boats!"
    )
    poster = poster.model_copy(update={"captions": ["a poster: ready for the marathon?"]})
    said = (asked, poster, thanks)

    facts, keys, relations = (
        extract_facts(ExtractFacts(said)).sentences,
        extract_key_sentences(ExtractKeySentences(said)).sentences,
        extract_relations(ExtractRelations(said, (asked.model_copy(update={"speaker": "Ben"}),))).sentences,
    )

    assert "Ana shares an image: a poster: ready for the marathon?" in sourced(said, facts)
    assert "Ana: Did it rain?" not in sourced(said, facts)
    assert sourced(said, keys)[-1] == "Ana: Thank you for moving the old boats!"
    assert "Ana: Did it rain?" not in sourced(said, keys)
    assert [relation.content for relation in relations] == ["Ana to Ben: Thank you for moving the old boats!"]


@pytest.mark.parametrize(
    ("before", "after", "label"),
    [
        ("Ana: I keep bees.", "Ben: By the way, I bought a car.", "topic_shift"),
        ("Ana: Where do you live?", "Ben: In Oslo.", "direct_resp"),
        ("Ana: I keep bees in the garden.", "Ana: The bees gave honey.", "detail_elaborate"),
    ],
)
def test_a_turn_is_labelled_by_how_it_follows(before, after, label):
    """A cue opens a subject, an answer follows a question, a shared word stays with it."""
    first, second = make_turns(before, after)

    verdict = judge_boundary(JudgeBoundary((first,), (second,)))

    assert verdict.likeliest.label == label
    assert verdict.likeliest.probability > verdict.least_likely.probability


@pytest.mark.parametrize(
    ("kind", "gap", "words"),
    [("opening", "", ["opens"]), ("topic", "", ["cats"]), ("session_break", "3 days", ["3 days", "cats"])],
)
def test_a_boundary_says_what_ended_and_what_began(kind, gap, words):
    """One sentence with both subjects, who turned to the new one, and the time between."""
    description = describe_boundary(DescribeBoundary(kind, "cats", "bees", (), make_turns("Ana: I keep bees."), gap))

    assert all(word in description for word in ("Ana", "bees", *words))


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("When did Ana go camping?", {"answer_dimension": "time", "speakers": ["Ana"]}),
        ("Where does Ben live?", {"answer_dimension": "location", "location": "", "speakers": ["Ben"]}),
        ("What did Ana do in May 2023?", {"time": "in May 2023", "answer_dimension": "content"}),
        ("What did Ana see in Oslo?", {"location": "Oslo"}),
        ("What did you recommend to me?", {"needs_assistant": True}),
        ("What did Ana recommend?", {"needs_assistant": False}),
    ],
)
def test_a_query_is_read_by_its_words(query, fields):
    """Question words name the dimension asked for; what is stated constrains."""
    parsed = parse_intent(ParseIntent(query, NOW, ("Ana", "Ben"))).model_dump()

    assert {name: parsed[name] for name in fields} == fields
