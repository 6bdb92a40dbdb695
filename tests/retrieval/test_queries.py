"""A query is truncated, and becomes constraints."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.retrieval.queries import MAX_CHARACTERS, MAX_WORD, asking_speakers, make_intent, truncated

NOW = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked_for", "time", "location"), [("content", True, "Oslo"), ("time", False, "Oslo"), ("location", True, "")]
)
def test_what_is_asked_for_is_no_filter(asked_for, time, location):
    """A question for a date has no time, a question for a location has no location."""
    parsed = ParsedIntent(anchor="x", time="in May 2023", location="Oslo", answer_dimension=asked_for)

    intent = make_intent("q", parsed, NOW)

    assert (intent.time is not None, intent.location) == (time, location)


@pytest.mark.parametrize("time", ["2022", "between 2022-01-01 and 2022-12-31"])
def test_a_model_may_give_a_year(time):
    """As a number alone too; other words for no time constrain nothing."""
    whole, other = (make_intent("q", ParsedIntent(anchor="x", time=said), NOW).time for said in (time, "some day"))

    assert [moment.isoformat()[:10] for moment in (whole.start, whole.end)] == ["2022-01-01", "2022-12-31"]
    assert other is None


def test_a_query_that_cannot_be_read_is_searched_by_its_words():
    """No answer: no constraints, the query itself is the anchor."""
    intent = make_intent("Where?", None, NOW)

    assert (intent.anchor, intent.keywords, intent.time) == ("Where?", [], None)


@pytest.mark.parametrize(
    ("people", "askers"),
    [
        (["Ben", "Ana"], ["Ana"]),
        (["Ben", "user"], ["user"]),
        (["Ana", "Ben", "user"], ["Ana", "user"]),
        (["Ben", "Cem"], []),
        (["Ana", "user"], []),
        (["Ana"], []),
        ([], []),
    ],
)
def test_who_asks_is_known_by_the_user_s_id_or_role(people, askers):
    """By both, where one person has both names; nobody is preferred to nobody."""
    assert asking_speakers(people, "ana") == askers


@pytest.mark.parametrize(
    ("query", "speakers"),
    [
        ("Where did I park?", ["Ana"]),
        ("What should I pack for my trip?", ["Ana"]),
        ("Which CI image do we use?", []),
        ("Which image should I use for the CI?", []),
        ("Could I park here?", []),
    ],
)
def test_what_we_do_and_what_i_should_do_anybody_may_have_said(query, speakers):
    """Only what is of the asker alone is looked for in the asker's words first."""
    assert make_intent(query, ParsedIntent(anchor=query), NOW, ["Ana"]).speakers == speakers


@given(st.text(alphabet="ab \n", min_size=201, max_size=400))
def test_little_is_left_out(end):
    """It is where the query begins, and no more is left out than one word and the white space before it."""
    query = "why " * ((MAX_CHARACTERS - 200) // 4) + end

    read, _ = truncated(query)

    assert query.startswith(read)
    assert len(query[len(read) : MAX_CHARACTERS].split()) <= 1
    assert len(query[len(read) : MAX_CHARACTERS].strip()) <= MAX_WORD


def test_only_a_truncation_is_noted():
    """A query that is read whole has no note."""
    note = "only the first 19,999 of the question's 40,000 characters were read"

    assert truncated("Where?") == ("Where?", [])
    assert truncated("a b " * 10_000)[1] == [note]
