"""What needs the whole is listed from many lines, and read on as long as that brings something."""

from datetime import timedelta

import pytest

from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.write_answer import UNLISTED, WriteAnswerStep
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.list_items import ListItems
from langgraph_engram.prompts.parse_intent import ParsedIntent, ParseIntent
from langgraph_engram.prompts.select_records import Selection, SelectRecords
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.retrieval import light
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import DeepSettings, RetrieveSettings, Settings
from langgraph_engram.testing import FakeModel
from tests.conftest import NOON

KITES = 30
QUERY = "How many kites did Ana fly?"


@pytest.fixture
def reading(store, keep, turn, record, to_recall, monkeypatch):
    """Recall with a model that answers as `replies` says, from thirty turns of which six are read at once."""
    monkeypatch.setattr(light, "MOST_LINES", 6)
    turns = [
        turn(number, text=f"I flew kite number {number} today.", said_at=NOON + timedelta(days=number))
        for number in range(KITES)
    ]
    records = [
        record(number, f"Ana: {said.text}", source_turn_ids=[said.turn_id], mentioned_at=said.said_at)
        for number, said in enumerate(turns)
    ]
    keep(turns=turns, records=records)

    def run(replies, breadth="list", sufficiency="judged", time="", **settings):
        def answer(question):
            if isinstance(question, ParseIntent):
                return ParsedIntent(anchor=question.query, breadth=breadth, time=time)
            return replies[type(question)](question)

        model = FakeModel([answer] * 40)
        retrieve, deep = RetrieveSettings(intent="model", **settings), DeepSettings(sufficiency=sufficiency)
        chosen = Settings(retrieve=retrieve, deep=deep)
        graph = build_read_graph(store, model, RuleModel(), chosen)
        return graph.invoke({"request": to_recall(QUERY)})["recollection"], model.asked

    return run


def listing(*numbers, look_for=""):
    """Make a reply that lists the lines of some numbers."""
    items = [f"- kite [{number}]" for number in numbers]
    return "\n".join([*items, *([f"LOOK FOR: {look_for}"] if look_for else []), f"ANSWER: {len(items)} kites"])


def test_one_call_where_the_last_lines_bring_nothing(reading):
    """The best lines hold all of it: the list ends by itself, and the answer is sufficient."""
    recollection, asked = reading({ListItems: lambda _: listing(1, 2)})

    assert [question.name for question in asked] == ["ParseIntent", "ListItems"]
    assert (recollection.answer, recollection.verdict) == ("2 kites [1][2]", "sufficient")
    assert [item.counts for item in recollection.items] == [True, True]
    assert len(recollection.evidence) == 2


def test_it_is_read_on_where_the_last_lines_count(reading):
    """Of what is read next, side by side, what was selected joins what counted; nothing new ends it."""
    lists = iter([listing(1, 6), listing(1, 2, 3)])
    selected = iter([Selection(numbers=[2]), Selection(numbers=[])])
    recollection, asked = reading({ListItems: lambda _: next(lists), SelectRecords: lambda _: next(selected)})

    assert [question.name for question in asked if not isinstance(question, ParseIntent)] == [
        "ListItems", "SelectRecords", "ListItems",
    ]  # fmt: skip
    read = [passage.evidence_id for question in asked[1:] for passage in getattr(question, "candidates", ())]
    first = [passage.evidence_id for passage in asked[1].evidence]
    assert len(read) == 6
    assert not set(read) & set(first)
    assert len(asked[-1].evidence) == 3
    assert (recollection.verdict, recollection.went_deep) == ("sufficient", True)


def test_words_that_the_list_names_are_looked_for(reading):
    """They are searched in the place of the question, which what is found is still selected for."""
    recollection, asked = reading(
        {ListItems: lambda _: listing(1, look_for="29 gliders"), SelectRecords: lambda _: Selection(numbers=[])}
    )

    names = [question.name for question in asked]
    assert names == ["ParseIntent", "ListItems", "ParseIntent", "SelectRecords"]
    assert asked[2].query == "29 gliders"
    assert asked[3].query == QUERY
    assert ["number 29" in passage.text for passage in asked[3].candidates] == [True]
    assert recollection.verdict == "sufficient"


def test_a_part_that_fails_leaves_the_rest(reading):
    """What could not be read is said, and the answer is partial."""
    recollection, _ = reading({ListItems: lambda _: listing(1, 6), SelectRecords: lambda _: Failure("timeout", "late")})

    assert (recollection.answer, recollection.verdict) == ("2 kites [1][2]", "partial")
    assert recollection.missing == ["lines that could not be read: late"]


def test_a_spent_budget_is_said(reading):
    """As long as the last lines count it is read on, up to the rounds that are allowed."""

    def everything(question):
        return listing(*range(1, len(question.evidence) + 1))

    def select(question):
        return Selection(numbers=list(range(1, len(question.candidates) + 1)))

    recollection, asked = reading({ListItems: everything, SelectRecords: select})

    assert sum(isinstance(question, ListItems) for question in asked) == 3
    assert recollection.verdict == "partial"
    assert recollection.missing == ["up to 12 further lines that were found, and not read"]
    assert len(recollection.items) == 3 * 6


@pytest.mark.parametrize(
    ("listed", "answer", "verdict", "missing", "items"),
    [
        ("- kite [1]\n- a glider\nANSWER: 2", "2 [1]", "partial", ["no line holds what was listed as a glider"],
         [("kite", True)]),
        ("x kite [1]: only planned\nANSWER: No kite is told to be flown.", "No kite is told to be flown.", "absent", [],
         [("kite: only planned", False)]),
        ("ANSWER: 0", UNKNOWN, "absent", [], []),
    ],
    ids=["no evidence", "why nothing counts", "nothing counts"],
)  # fmt: skip
def test_a_list_bounds_what_is_claimed(reading, listed, answer, verdict, missing, items):
    """What no line holds is named, and its number no longer stands; what was never told is not claimed to be none."""
    recollection, _ = reading({ListItems: lambda _: listed})

    assert (recollection.answer, recollection.verdict, recollection.missing) == (answer, verdict, missing)
    assert [(item.text, item.counts) for item in recollection.items] == items


@pytest.mark.parametrize(
    ("again", "answer"),
    [("Two kites [2]", "Two kites [2]"), (Failure("unavailable", "down"), "Ana flew kite number 0 today.")],
)
def test_a_model_that_copies_lines_in_place_of_a_list_answers_from_the_best(reading, again, answer):
    """Small ones do; that nothing was listed is said, and a failure of the second call leaves what the first said."""
    copied = "- Ana flew kite number 0 today."
    recollection, asked = reading({ListItems: lambda _: copied, WriteAnswer: lambda _: again})

    assert [question.name for question in asked] == ["ParseIntent", "ListItems", "WriteAnswer"]
    assert answer in recollection.answer
    assert recollection.verdict == "partial"
    assert recollection.missing == [UNLISTED]


def test_an_answer_that_is_not_whole_leads_to_the_whole(reading):
    """Whatever the query's words: a light answer that memory may hold more of is read for as a whole."""
    recollection, asked = reading(
        {AnswerLight: lambda _: "One [1]. [more]", ListItems: lambda _: listing(1, 2)}, breadth="narrow"
    )

    names = [question.name for question in asked if not isinstance(question, ParseIntent)]
    assert names == ["AnswerLight", "ListItems"]
    assert (recollection.answer, recollection.verdict) == ("2 kites [1][2]", "sufficient")


@pytest.mark.parametrize(("sufficiency", "asks"), [("judged", AnswerLight), ("always", WriteAnswer)])
def test_it_can_be_switched_off(reading, sufficiency, asks):
    """Without it, as in the papers' presets, a count is answered from the passages of any other question."""
    _, asked = reading({asks: lambda _: "One [1]."}, sufficiency=sufficiency, whole=False)

    assert [question.name for question in asked] == ["ParseIntent", asks.__name__]


def test_lines_are_read_once_where_nothing_goes_deep(reading):
    """With light memory always taken, the list is made from the first lines, and what was left is said."""
    recollection, asked = reading({ListItems: lambda _: listing(1, 6)}, sufficiency="always")

    assert [question.name for question in asked] == ["ParseIntent", "ListItems"]
    assert (recollection.answer, recollection.verdict) == ("2 kites [1][2]", "partial")
    assert recollection.missing == ["up to 24 further lines that were found, and not read"]


def test_lines_outside_of_the_time_asked_about_are_marked(passage, turn, record, intent):
    """A model reckons with no dates: each line says whether it counts; of a time to come nothing can be told.

    What was said within the time is not marked, though it tells of another ("last week I joined a gym").
    """
    query = "How many kites did I fly last week?"
    asked = intent(query=query, time={"text": "last week", "start": NOON, "end": NOON + timedelta(days=6)})
    lines = [
        passage(
            f"p{days}",
            text="A kite.",
            record=record(days + 3, "A kite.", mentioned_at=NOON + timedelta(days=days), event_start=event),
        )
        for days, event in (
            (-3, None),
            (2, None),
            (3, NOON - timedelta(days=9)),
            (9, NOON),
            (10, NOON + timedelta(days=9)),
        )
    ]

    shown = str(ListItems(query, asked, tuple(lines), NOON + timedelta(days=7)).render()[1].content)

    assert "[1] A kite. (another time)" in shown
    assert all(f"[{number}] A kite.\n" in shown for number in (2, 3, 4))
    assert "[5] A kite. (another time)" in shown
    assert '"last week" is from Mon 8 May 2023 to Sun 14 May 2023' in shown
    assert "another time" not in str(ListItems(query, asked, tuple(lines), NOON).render()[1].content)


def test_few_lines_of_another_time_are_read(reading, monkeypatch):
    """A day may be misread, so that the best of them stay; the rest are not counted as left to read."""
    monkeypatch.setattr(light, "MOST_LINES", KITES)
    monkeypatch.setattr(light, "MOST_OUTSIDE", 2)

    recollection, (_, asked) = reading({ListItems: lambda _: listing(1)}, time="June 2023")

    assert sum(passage.record.mentioned_at.month == 6 for passage in asked.evidence) == 6
    assert len(asked.evidence) == 6 + 2
    assert recollection.verdict == "sufficient"


def test_too_long_a_list_is_halved(to_recall, intent, passage):
    """A model whose context holds half of the lines answers from the best half, and that is said."""
    model = FakeModel([Failure("too_long", "no"), "- a kite [1]\nANSWER: 1"])
    found = [passage(f"p{number}", text="A kite.", routes={"outline": 1.0}) for number in range(4)]
    state = {
        "request": to_recall(QUERY), "query": QUERY, "intent": intent(breadth="list"), "evidence": found, "pool": [],
        "read_ids": [], "more": 0,
    }  # fmt: skip

    update = WriteAnswerStep(model, Settings().deep)(state)

    assert len(model.asked[1].evidence) == 2
    assert update["notes"] == ["the model's context held 2 of 4 passages: the answer rests on these"]
