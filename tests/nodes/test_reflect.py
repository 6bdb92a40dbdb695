"""The loop ends on a complete answer, a repeated query or a spent budget, and says what ran out."""

from time import time

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.reflect import ReflectStep
from langgraph_engram.prompts.reflect import Reflection
from langgraph_engram.prompts.write_answer import AnswerForm
from langgraph_engram.results import UsageEntry
from langgraph_engram.settings import DeepSettings
from langgraph_engram.testing import FakeModel

MORE = Reflection(complete=False, missing="the year", next_query="In which year did Ana camp?")


@pytest.fixture
def reflect(to_recall, intent, passage):
    """Reflect on the first round of a question; fields of the state and the settings may be given."""

    def run(said, settings=None, *, by_answers=False, **fields):
        state = {
            "request": to_recall(),
            "intent": intent(),
            "answer": "At the lake.",
            "pool": [passage("p0")],
            "asked_queries": ["Where did Ana camp?"],
            "round": 1,
            "started_at": time(),
        }
        form = AnswerForm(shows_earlier=by_answers)
        return ReflectStep(FakeModel([said]), settings or DeepSettings(), form)({**state, **fields})

    return run


def test_what_is_missing_is_looked_for(reflect):
    """A new query opens the next round, as long as the pool grows."""
    update, later = reflect(MORE), reflect(MORE, round=2, seen_passages=0)

    assert (update["done"], update["round"], update["query"]) == (False, 2, MORE.next_query)
    assert update["asked_queries"] == ["Where did Ana camp?", MORE.next_query]
    assert update["missing"] == ["the year"]
    assert (later["done"], later["seen_passages"]) == (False, 1)


def ask(query, *, complete=False):
    return Reflection(complete=complete, missing="the year", next_query=query)


@pytest.mark.parametrize(
    ("said", "fields", "missing", "notes"),
    [
        (ask("More?", complete=True), {}, [], []),
        (ask(" "), {}, ["the year"], []),
        (ask("where did ana camp? "), {}, ["the year"], []),
        (ask("Where was Ana camping?"), {}, ["the year"], []),
        (MORE, {"round": 3}, ["the year"], ["the budget of 3 rounds is spent"]),
        (MORE, {"round": 2, "seen_passages": 1}, ["the year"], ["searching further found nothing new"]),
        (Failure("timeout", "nothing in 60 s"), {}, [], ["nothing checked the answer: nothing in 60 s"]),
    ],
)
def test_the_loop_ends_and_says_why(reflect, said, fields, missing, notes):
    """Complete, nothing to ask, a query asked before, the last round, or a pool that has not grown since.

    A reflection that failed is not one that found the answer complete.
    """
    update = reflect(said, notes=["before"], **fields)

    assert (update["done"], update["missing"]) == (True, missing)
    assert update.get("notes", ["before"]) == ["before", *notes]


@pytest.mark.parametrize("now", ["At the lake [1].", "at the lake [2]."])
def test_looking_further_ends_when_it_changed_nothing(reflect, now):
    """The answer for which more was looked for stands: it is not doubted twice, and costs no further call."""
    update = reflect(lambda question: pytest.fail("asked"), round=2, doubted_answer="At the lake [1].", answer=now)

    assert (update["done"], update["notes"]) == (True, ["searching further did not change the answer"])
    assert update["missing"] == []


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"answer": "At the lake [1]."}, False),
        ({"answer": "At the lake."}, True),
        ({"answer": "I don't know."}, True),
        ({"answer": "At the lake [1].", "may_go_on": True}, True),
        ({"answer": "At the lake [1].", "quoted": True}, True),
    ],
)
def test_a_model_reflects_on_what_its_answer_leaves_open(reflect, fields, asked):
    """An answer that cites its evidence and says nothing of more is done without a call; a quote never is."""
    update = reflect(Reflection(complete=True), **fields)

    assert (update["done"], bool(update.get("usage"))) == (True, asked)


def test_the_paper_goes_on_until_an_answer_is_complete(reflect):
    """HyMem Algorithm 1: each answer is judged by itself, and no rule of ours ends the loop before T rounds."""

    def judged(question):
        assert (question.pool, "Found" in question.render()[-1].text) == (None, False)
        return MORE.model_copy(update={"next_query": "Where did Ana camp?"})

    same = {"answer": "At the lake [1].", "doubted_answer": "At the lake [1].", "seen_passages": 1, "round": 2}

    assert reflect(judged, by_answers=True, **same)["query"] == "Where did Ana camp?"
    assert reflect(judged, by_answers=True, **{**same, "round": 3})["done"] is True


@pytest.mark.parametrize(
    ("settings", "fields", "note"),
    [
        ({"max_calls": 2}, {"usage": [UsageEntry(node="a", calls=2)]}, "the budget of 2 calls is spent"),
        (
            {"max_tokens": 100},
            {"usage": [UsageEntry(node="a", prompt_tokens=100)]},
            "the budget of 100 tokens is spent",
        ),
        ({"max_seconds": 5}, {"started_at": time() - 9}, "the budget of 5.0 seconds is spent"),
    ],
)
def test_a_spent_budget_ends_it_without_asking(reflect, settings, fields, note):
    """Nothing is asked once the budget is spent, and the result says which."""
    update = reflect(lambda question: pytest.fail("asked"), DeepSettings(**settings), **fields)

    assert update["done"] is True
    assert update["notes"] == [note]
