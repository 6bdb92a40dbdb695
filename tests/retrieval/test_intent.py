"""A query becomes constraints; the dimension that is asked for constrains nothing."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.parse_intent import ParseIntentStep
from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.retrieval.queries import UNPARSED_NOTE, make_intent
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.testing import FakeModel

NOW = datetime(2023, 5, 8, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked_for", "time", "location"), [("content", True, "Oslo"), ("time", False, "Oslo"), ("location", True, "")]
)
def test_what_is_asked_for_is_no_filter(asked_for, time, location):
    """A question for a date has no time, a question for a place has no location."""
    parsed = ParsedIntent(anchor="x", time="in May 2023", location="Oslo", answer_dimension=asked_for)

    intent = make_intent("q", parsed, NOW)

    assert (intent.time is not None, intent.location) == (time, location)


def test_a_time_is_counted_from_now():
    """A week ago is an interval that ends before now."""
    intent = make_intent("q", ParsedIntent(anchor="x", time="last week"), NOW)

    assert intent.time.start < intent.time.end < NOW


def test_a_query_that_cannot_be_read_is_searched_by_its_words():
    """No answer: no constraints, the query itself is the anchor."""
    intent = make_intent("Where?", None, NOW)

    assert (intent.anchor, intent.keywords, intent.time) == ("Where?", [], None)


@pytest.mark.parametrize(
    ("reader", "mode", "calls"), [("rules", "recall", 0), ("model", "recall", 1), ("model", "search", 0)]
)
def test_who_reads_the_query(store, to_recall, reader, mode, calls):
    """The model reads it where the preset says so, and never in a search."""
    model = FakeModel([ParsedIntent(anchor="x")])

    ParseIntentStep(store, model, RuleModel(), RetrieveSettings(intent=reader))({"request": to_recall(mode=mode)})

    assert len(model.asked) == calls


def test_a_failure_is_noted_once_a_round(store, to_recall):
    """The reader of the result is told that the query was not analysed."""
    step = ParseIntentStep(store, FakeModel([Failure("timeout", "x")]), RuleModel(), RetrieveSettings(intent="model"))

    update = step({"request": to_recall()})

    assert update["notes"] == [UNPARSED_NOTE]
    assert update["intent"].anchor == to_recall().query


def test_the_first_round_begins_and_later_ones_go_on(store, to_recall):
    """A later round looks for its own query, and starts nothing anew."""
    step = ParseIntentStep(store, RuleModel(), RuleModel(), RetrieveSettings())
    begun = step({"request": to_recall()})

    later = step({"request": to_recall(), **begun, "query": "What did she eat?", "round": 2})

    assert (begun["round"], begun["pool"], begun["asked_queries"]) == (1, [], ["Where did Ana camp?"])
    assert later["intent"].query == "What did she eat?"
    assert "round" not in later
    assert "started_at" not in later
