"""Without a language model an answer is quotes: whole sentences as they were said, with speaker, day and citation."""

from datetime import timedelta

import pytest

from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.prompts.write_synthesis import MOST_WORDS, WriteSynthesis
from langgraph_engram.retrieval.passages import turn_passage
from langgraph_engram.rule_model.consolidation import extractive_narrative
from langgraph_engram.rule_model.quoting import quote
from langgraph_engram.schema import Evidence, Intent
from tests.rule_model.conftest import dated, heard, make_passages, make_turns


def ask(query, evidence, *speakers):
    """Quote what answers a query, each quote a line."""
    return quote(
        WriteAnswer(query, Intent(query=query, anchor=query, speakers=list(speakers)), tuple(evidence))
    ).splitlines()


def test_a_quote_says_who_when_and_where_it_stands():
    """The whole sentence as it was said, not as a record retells it."""
    found = heard("Ben: I keep bees.", "Ana: So happy! I dont eat meat since 2019, not even fish.")

    assert ask("Does Ana eat meat?", found, "Ana")[0] == (
        'Ana, 8 May 2023: "I dont eat meat since 2019, not even fish." [2]'
    )


def test_there_are_three_quotes_at_most_and_no_sentence_stands_twice():
    """Each from the first passage that shows it."""
    lines = [f"{name}: I planted {tree} trees." for tree in ("apple", "pear", "plum", "fig") for name in ("Ana", "Ben")]
    found = heard(*lines, lines[0])

    quotes = ask("What trees did Ana plant?", found, "Ana")

    assert len(quotes) == len(set(quotes)) == 3
    assert sum('Ana, 8 May 2023: "I planted apple trees."' in line for line in quotes) == 1


def test_questions_and_small_talk_are_not_quoted():
    """Where something else answers; a question alone is better than nothing."""
    found = heard("Ana: Where is my trumpet?", "Ana: Thanks, that sounds great!", "Ana: The trumpet is in the attic.")

    assert ask("Where is the trumpet?", found, "Ana") == ['Ana, 8 May 2023: "The trumpet is in the attic." [3]']
    assert ask("Where is the trumpet?", found[:1], "Ana") == ['Ana, 8 May 2023: "Where is my trumpet?" [1]']
    assert ask("Where is the trumpet?", found[1:2], "Ana") == [UNKNOWN]


def test_a_short_reply_is_quoted_with_its_question():
    """A number means nothing alone."""
    said = make_turns("Ben: How many cats do you have?", "Ana: Two, both black.")
    found = Evidence(evidence_id="e", text="Ben: How many cats do you have? Ana: Two, both black.", turns=list(said))

    assert ask("How many cats does Ana have?", [found], "Ana") == [
        'Ana, 8 May 2023, asked "How many cats do you have?": "Two, both black." [1]'
    ]


def test_what_was_superseded_is_quoted_behind_what_took_its_place():
    """An outdated statement never stands alone, not in another passage either."""
    said = make_turns("Ana: I live in Lisbon, near the sea.", "Ana: I moved to Porto.")
    outdated = dated("Ana: I live in Lisbon, near the sea.", status="superseded", superseded_by="new")
    text = "8 May 2023, Ana: I live in Lisbon, near the sea.\nChanged since: 8 May 2023, Ana: I moved to Porto."
    changed = Evidence(evidence_id="old", text=text, record=outdated, turns=list(said), score=0.5)
    whole = Evidence(evidence_id="turn", text="Ana: I live in Lisbon, near the sea.", turns=[said[0]], score=1.0)

    assert ask("Where does Ana live?", [whole, changed], "Ana") == [
        'Ana, 8 May 2023: "I moved to Porto." Before, 8 May 2023: "I live in Lisbon, near the sea." [2]'
    ]
    assert ask("Where does Ana live?", [changed.model_copy(update={"text": text.split(chr(10))[0]})]) == [UNKNOWN]


def test_a_correction_stands_in_place_of_what_was_said():
    """Marked as such, with the other sentences of its turn, and where it took another's place."""
    said = make_turns("Ana: I lived in Lisbon.", "Ana: I live in Porto. My balcony is small.")
    edited = dated("Ana: I live in Braga.", day=1, derived_from=["porto"])
    alone = Evidence(evidence_id="new", text="I live in Braga. My balcony is small.", record=edited, turns=[said[1]])
    outdated = dated("Ana: I lived in Lisbon.", status="superseded", superseded_by="porto")
    text = "8 May 2023, Ana: I lived in Lisbon.\nChanged since: 9 May 2023, Ana: I live in Braga."
    changed = Evidence(evidence_id="old", text=text, record=outdated, turns=list(said))

    corrected = 'Ana, 9 May 2023, as corrected: "I live in Braga."'
    assert ask("Where does Ana live?", [alone], "Ana") == [f"{corrected} [1]"]
    assert ask("How large is Ana's balcony?", [alone], "Ana") == ['Ana, 8 May 2023: "My balcony is small." [1]']
    assert ask("Where does Ana live?", [changed, alone], "Ana")[0] == (
        f'{corrected} Before, 8 May 2023: "I lived in Lisbon." [2][1]'
    )


def test_a_conflict_is_quoted_with_every_side():
    """Once, though each side is found by itself too."""
    said = make_turns(
        "Ana: My cat was born in the barn of Runa in May.", "Ben: Ah, no.", "Ana: My cat was born in June."
    )
    texts = [f"8 May 2023, {turn.speaker}: {turn.text}" for turn in said]
    found = [
        Evidence(
            evidence_id=turn.turn_id,
            text=f"{text}\nBut also: {other}",
            record=dated(f"Ana: {turn.text}", source_turn_ids=[turn.turn_id], conflicts_with=["other"]),
            turns=[turn, against],
            score=1.0,
        )
        for turn, text, against, other in (
            (said[0], texts[0], said[2], texts[2]),
            (said[2], texts[2], said[0], texts[0]),
        )
    ]

    assert ask("When was Ana's cat born?", found, "Ana") == [
        'Ana, 8 May 2023: "My cat was born in the barn of Runa in May." '
        'But also, Ana, 8 May 2023: "My cat was born in June." [1]'
    ]


def test_a_quote_holds_what_its_speaker_says_close_by():
    """What is told in one turn is often explained in the next: both, in the order in which they were said."""
    said = make_turns("Ana: I got promoted at work!", "Ben: Congratulations! To what?", "Ana: To assistant manager.")
    found = [
        Evidence(evidence_id=turn.turn_id, text=f"Ana: {turn.text}", turns=[turn], score=1.0) for turn in said[::2]
    ]

    assert ask("What did Ana get promoted to?", found, "Ana") == [
        'Ana, 8 May 2023: "I got promoted at work!" … "To assistant manager." [1][2]'
    ]
    assert ask("What did Ana get promoted to?", found[::-1], "Ana") == [
        'Ana, 8 May 2023: "I got promoted at work!" … "To assistant manager." [2][1]'
    ]


@pytest.mark.parametrize(
    ("query", "newest_first"),
    [
        ("What is my phone number?", True),
        ("What was my phone number originally?", False),
        ("In which order did I have these phone numbers?", False),
        ("What is Ana's phone number?", False),
    ],
)
@pytest.mark.parametrize(
    ("later", "relevance", "is_own"),
    [
        ("My phone number is 33, at last.", 0.4, True),
        ("My phone number is 33, at last.", 0.2, False),
        ("Tom's phone number is 44.", 0.4, False),
    ],
)
def test_of_what_people_say_of_themselves_the_newest_comes_first(query, newest_first, later, relevance, is_own):
    """Where it is nearly as relevant, unless something earlier or an order is asked for."""
    earlier = "My phone number is 11."
    first, second = make_turns(f"Ana: {earlier}", f"Ana: {later}")
    second = second.model_copy(update={"said_at": first.said_at + timedelta(days=60)})
    found = [turn_passage([first], 1.0, {}, 0.6), turn_passage([second], 0.9, {}, relevance)]

    quoted = [line.split('"')[1] for line in ask(query, found)]

    assert quoted == ([later, earlier] if newest_first and is_own else [earlier, later])


def test_an_image_is_quoted_by_what_it_shows():
    """A caption is what somebody shared."""
    (said,) = make_turns("Ana: Look!")
    shown = said.model_copy(update={"captions": ["a red tent under pines"]})
    found = Evidence(evidence_id="e", text="Ana shares an image: a red tent under pines", turns=[shown])

    assert ask("What colour is the tent?", [found]) == [
        'Ana, 8 May 2023, shares an image: "a red tent under pines" [1]'
    ]


def test_a_record_without_its_turns_is_quoted_in_its_own_words():
    """Turns may have been forgotten; a number in brackets is nobody's citation."""
    assert ask("Where is the key?", make_passages("Ana: The key is under stone [7].")) == [
        'Ana, 8 May 2023: "The key is under stone (7)." [1]'
    ]


def test_a_synthesis_is_told_in_order_of_time():
    """Earlier events first, each under its day, within the words allowed; questions are left out."""
    history = (dated("Ana: I planted apple trees.", 0),)
    buffer = (dated("Ana: The apple trees bloom.", 5), dated("Ana: Do you like apples?", 6))

    told = extractive_narrative(WriteSynthesis(buffer, history))

    assert told.index("planted") < told.index("bloom")
    assert told.startswith("Mon 8 May 2023: ")
    assert "?" not in told


@pytest.mark.parametrize(("most", "least"), [(MOST_WORDS, 100), (60, 20)])
def test_a_synthesis_has_a_length(most, least):
    """However much there is to tell, and on however many days: headings are words too."""
    days = tuple(dated(f"Ana: I planted {day} apple trees in the garden behind the house.", day) for day in range(99))

    told = [extractive_narrative(WriteSynthesis(days, history, most_words=most)) for history in ((), days)]

    assert all(least < len(text.split()) <= most for text in told)
