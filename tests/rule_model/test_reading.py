"""Short answers with citations are read off evidence."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.rules.answers import answers_of, newest_first
from langgraph_engram.rules.choose_sentence import Ranked
from langgraph_engram.rules.one_answer import Wanted
from langgraph_engram.rules.reading import NOTHING, read
from langgraph_engram.rules.utterances import Utterance
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.temporal.parse import parse_constraint
from langgraph_engram.text.tokens import content_stems


@pytest.mark.parametrize(
    ("query", "lines", "told"),
    [
        ("Where does Ana's sister live?", ["Ana: It rained.", "Ana: My sister lives in Oslo now."], "Oslo [2]"),
        ("What does Ana collect?", ["Ben: What do you collect?", "Ana: Mostly old tin boxes."], "Old tin boxes [2]"),
        ("How long has Ana sailed?", ["Ben: How long have you sailed?", "Ana: Nine years!"], "Nine years [2]"),
        (
            "Which cities has Ana visited?",
            ["Ana: I visited Lisbon with Runa.", "Ana: We visited Ghent too.", "Ana: I love tea."],
            "Lisbon [1], Ghent [2]",
        ),
        ("How many women does Ana lead?", ["Ana: I lead women, 9 of us.", "Ana: I lead 6 women."], "6 [2]"),
        ("How many prizes has Ana won?", ["Ana: I won a few prizes.", "Ana: I've won 4 prizes."], "4 [2]"),
        ("How many prizes has Ana won?", ["Ana: I won a few prizes."], "A few [1]"),
        ("What is Ana's cat called?", ["Ana: I live in Lisbon with my cat Miso."], "Miso [1]"),
        ("Where does Ana live?", ["Ana: I moved to Porto.", "Ana: I love the sea."], "Porto [1]"),
        ("Which hospital is Ana in?", ["Ana: I'm in hospital at St. Mary's, it's fine."], "St. Mary's [1]"),
        ("Would Ana like the sea?", ["Ana: I love the sea in winter."], "Winter [1]"),
    ],
)
def test_an_answer_is_short_and_cited(query, lines, told, heard, intent):
    """Not the sentence under its speaker's name, but what was asked for."""
    reading = read(query, intent(query, speakers=["Ana"]), heard(*lines))

    assert reading.answer == told
    assert reading.about


@pytest.mark.parametrize(
    ("query", "known"),
    [
        ("How long was Ana in Japan?", True),
        ("How long was Ana in Korea?", False),
        ("How often does Ana see Dr. Weaver?", True),
        ("How often does Ana see Dr. Johnson?", False),
        ("Which came first for Ana, Japan or Korea?", False),
        ('Was Ana "on the move" in Japan?', True),
        ("Is Ana's 3-week tour of Japan over?", True),
        ("Where is Ana's 30-gallon tank?", False),
        ("Is Ana's 2-day tour of Japan over?", True),
        ("How often does Ana clean her 20-gallon tank?", True),
        ("How often does Ana clean her 30-gallon tank?", False),
        ("Is Ana's 2-week tour of Japan over?", True),
        ("How many weeks was Ana in Japan and in Kobe?", True),
        ("How many plants did Ana grow for tomatoes and chili peppers?", False),
        ("How many weeks was Ana on tour in Japan and the day after?", True),
    ],
)
def test_a_name_that_nothing_mentions_leaves_a_question_unanswered(query, known, heard, intent):
    """Another country's weeks, or another doctor's, are no answer."""
    found = heard("Ana: I was on a 3-week tour in Japan, and two days in Kobe.", "Ana: I see Dr. Weaver every month.")
    found += heard("Ana: I clean my twenty gallon tank every month.", "Ana: I ran 30 miles.")

    assert read(query, intent(query, speakers=["Ana"]), found).about is known


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (
            "Any tips on what to look for in a new guitar?",
            "They play a light guitar [1]",
        ),
        ("My phone's battery is low lately. Any advice?", "Their phone's battery dies by noon since May [2]"),
        ("Should I take my pills at 8 am?", ""),
        ("Should I buy a boat?", ""),
    ],
)
def test_where_advice_is_asked_for_what_is_known_of_it_is_told(query, told, heard, intent):
    """Whole sentences: rules know what was said, and what to make of it they do not."""
    found = heard("Ana: I play a light guitar.", "Ana: My phone's battery dies by noon since May.", "Ana: It rained.")
    found += heard("Ana: Which guitar is light?")
    reading = read(query, intent(query), found)

    assert (reading.answer if reading.about else "") == told


def test_at_most_three_sentences_bear_on_advice(heard, intent):
    """However much is known of it."""
    found = heard(*(f"Ana: My guitar has a {part}." for part in ("strap", "case", "pick", "stand", "string")))
    alike = [piece.model_copy(update={"score": 1.0}) for piece in found]

    query = "Any tips for my guitar?"
    reading = read(query, intent(query), alike)
    assert (len(reading.cited), reading.coverage) == (3, 1.0)


@pytest.mark.parametrize("query", ["?", "\U0001f642", "Who are you?", "..."])
def test_a_query_that_names_nothing_has_no_answer(query, heard, intent):
    """Whatever stands first in memory is no answer to nothing."""
    assert read(query, intent(query), heard("Ana: I live in Porto.")) == NOTHING


def test_several_amounts_are_amounts(heard, intent):
    """High is no cost."""
    query = "What were the costs of moving?"

    assert read(query, intent(query), heard("Ana: The costs of moving were very high.")) == NOTHING
    assert read(query, intent(query), heard("Ana: The costs of moving were $90.")).answer == "$90 [1]"


@pytest.mark.parametrize("query", ["How many festivals did Ana visit in Oslo?", "How long was Ana in Oslo?"])
def test_nothing_else_will_do_for_an_amount(query, heard, intent):
    """A place is no number, and no span of time."""
    assert read(query, intent(query, speakers=["Ana"]), heard("Ana: I visited the festival in Oslo.")) == NOTHING


@pytest.mark.parametrize(
    ("month", "line", "told"),
    [
        (4, "Ana: I visited three museums.", "Three [1]"),
        (4, "Ana: I visited three museums in April.", "Three [1]"),
        (4, "Ana: I visited three museums in March.", ""),
        (4, "Ana: It rained in March. I visited three museums.", "Three [1]"),
        (3, "Ana: I visited three museums.", ""),
        (3, "Ana: It rained in March. I visited three museums.", "Three [1]"),
    ],
)
def test_an_amount_is_of_its_time(month, line, told, pieces, intent):
    """What was counted in another month is no answer; what names none is of lately, or of what its turn names."""
    name = f"in {datetime(2023, month, 1, tzinfo=UTC):%B}"
    time = {"text": name, "start": datetime(2023, month, 1, tzinfo=UTC), "end": datetime(2023, month, 30, tzinfo=UTC)}
    query = f"How many museums did Ana visit {name}?"

    assert read(query, intent(query, speakers=["Ana"], time=time), pieces(line)).answer == told


@pytest.mark.parametrize(
    ("query", "line", "told"),
    [
        ("How many hours does Ana work on Mondays?", "Ana: I work six hours on Mondays.", "Six hours"),
        ("How many kids does Ana have as of today?", "Ana: I have three kids.", "Three"),
        ("How many years did Ana live in Oslo until 2020?", "Ana: I lived in Oslo for six years.", "Six years"),
        ("How many museums did Ana visit in March?", "Ana: I'll visit three museums in June.", ""),
    ],
)
def test_what_goes_on_or_says_the_same_time_holds(query, line, told, pieces, intent):
    """A habit, what is so today, and what an open time holds are no amounts of another time."""
    now = datetime(2023, 9, 1, tzinfo=UTC)
    asked = intent(query, speakers=["Ana"], time=parse_constraint(query, now), asked_at=now)

    assert read(query, asked, pieces(line)).answer.removesuffix(" [1]") == told


def test_an_amount_that_nobody_dated_may_be_of_any_time(pieces, intent):
    """Nothing is known that speaks against it."""
    june = {"text": "in June 2022", "start": datetime(2022, 6, 1, tzinfo=UTC), "end": datetime(2022, 6, 30, tzinfo=UTC)}
    query = "How many museums did Ana visit in June 2022?"
    (piece,) = pieces("Ana: I visited three museums.")
    undated = piece.model_copy(update={"record": piece.record.model_copy(update={"mentioned_at": None})})

    assert read(query, intent(query, speakers=["Ana"], time=june), (undated,)).answer == "Three [1]"


def test_no_evidence_gives_no_answer(intent):
    """Nothing is read off nothing."""
    assert read("Where does Ana live?", intent("Where does Ana live?"), ()) == NOTHING


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("Where does Ana live?", "Oslo [2]"),
        ("Where did Ana live before?", "Bergen (no longer so) [1], Oslo [2]"),
        ("Where did Ana live previously?", "Bergen (no longer so) [1], Oslo [2]"),
    ],
)
def test_what_was_superseded_is_told_of_the_past_alone(query, told, pieces, intent):
    """The newest record answers, and what held before it only a query for that."""
    older, newer = pieces("Ana: I live in Bergen.", "Ana: I live in Oslo.")
    record = older.record.model_copy(update={"status": "superseded", "superseded_by": newer.record.record_id})

    reading = read(query, intent(query, speakers=["Ana"]), (older.model_copy(update={"record": record}), newer))

    assert reading.answer == told


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("What is the name of Ana's cat?", "Miso [1]"),
        ("Where does Ana live with her cat?", "Oslo [1]"),
        ("Who came along to Bergen?", "Miso [1]"),
    ],
)
def test_what_a_superseded_sentence_says_besides_is_told(query, told, pieces, intent):
    """What has changed is told as it is now; what the newer record does not tell still holds."""
    older, newer = pieces("Ana: I moved to Bergen, my cat Miso came along.", "Ana: I live in Oslo now.")
    record = older.record.model_copy(update={"status": "superseded", "superseded_by": newer.record.record_id})

    reading = read(query, intent(query, speakers=["Ana"]), (older.model_copy(update={"record": record}), newer))

    assert reading.answer == told


@pytest.mark.parametrize(("newer", "first"), [("I want roses at my wedding.", 0), ("It moved to 12 October.", 1)])
def test_a_newer_sentence_without_a_time_does_not_stand_in_for_one_that_has_it(newer, first):
    """What is planned may have moved; a wish for it says nothing of when it is."""
    wanted = Wanted("When is Ana's wedding now?", "time", frozenset({"wed"}))
    texts = ["The wedding is on 14 September.", newer]
    said = [Utterance(place, "Ana", text, datetime(2024, 5 + place, 1, tzinfo=UTC)) for place, text in enumerate(texts)]
    ranked = [Ranked(score, 1.0, one, 1.0) for score, one in zip((7.9, 7.5), said, strict=True)]

    assert newest_first(wanted, ranked)[0].said is said[first]


def test_a_list_keeps_to_the_kind_of_thing_that_its_best_sentence_names():
    """Where one book is called a book, a restaurant that was recommended too is none."""
    texts = ["I recommend the book The Salt Ledger.", "I recommend the Copper Ladle.", "The book Tin Orchard is good."]
    wanted = Wanted("Which books did Ben recommend?", "name", frozenset(content_stems("books Ben recommend")))
    said = [Utterance(place, "Ben", text, around=text) for place, text in enumerate(texts)]

    told = answers_of(wanted, [Ranked(8.0, own, one, 1.0) for own, one in zip((1.0, 0.5, 0.5), said, strict=True)])

    assert [one.text for one in told] == ["The Salt Ledger", "Tin Orchard"]


def test_a_later_event_does_not_move_an_earlier_one(heard, intent):
    """What happened has its own time."""
    query = "When did Ana run the harbour race?"
    found = heard("Ana: I ran the harbour race yesterday.", "Ana: I ran the race today.")

    assert read(query, intent(query, speakers=["Ana"]), found).answer == "7 May 2023 [1]"


@given(
    st.lists(st.text(max_size=80), max_size=4),
    st.sampled_from(["When did Ana go?", "Which boats has Ana?", "Why?", "How did Ana feel?", "", "Did Ana go?"]),
)
def test_any_evidence_can_be_read(texts, query):
    """Whatever was said and asked: an answer cites pieces that exist, and its coverage is a share."""
    found = [Evidence(evidence_id=str(place), text=text, score=1.0) for place, text in enumerate(texts)]

    reading = read(query, Intent(query=query, anchor=query, speakers=["Ana"]), found)

    assert set(reading.cited) <= set(range(1, len(found) + 1))
    assert 0 <= reading.coverage <= 1
