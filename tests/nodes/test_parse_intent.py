"""The query of a round is parsed by the model or the rules, and starts the state of a run."""

import pytest

from langgraph_engram.llm.base import Failure
from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.nodes.parse_intent import ParseIntentStep
from langgraph_engram.papers import read_parts
from langgraph_engram.presets import preset
from langgraph_engram.prompts.parse_intent import ParsedIntent
from langgraph_engram.retrieval.light import default_parts
from langgraph_engram.retrieval.queries import UNPARSED_NOTE
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.settings import RetrieveSettings, Settings
from langgraph_engram.testing import FakeModel


@pytest.mark.parametrize(
    ("reader", "mode", "calls"), [("rules", "recall", 0), ("model", "recall", 1), ("model", "search", 0)]
)
def test_who_reads_the_query(store, to_recall, reader, mode, calls):
    """The model reads it where the preset says so, and never in a search."""
    model = FakeModel([ParsedIntent(anchor="x")])

    ParseIntentStep(store, model, RuleModel(), RetrieveSettings(intent=reader))({"request": to_recall(mode=mode)})

    assert len(model.asked) == calls


def test_dimmem_has_rules_of_its_own(store, to_recall):
    """The user stands for "I", and cues tell that the assistant is meant (DimMem Figure 8); the default has neither."""
    model = FakeModel([ParsedIntent(anchor="x")] * 2)
    parts = read_parts(store.encoder, preset("dimmem")), read_parts(store.encoder, preset("engram"))

    for rules in (part.intent_rules for part in parts):
        step = ParseIntentStep(store, model, RuleModel(), RetrieveSettings(intent="model"), rules=rules)
        step({"request": to_recall()})

    own, default = (question.render()[0].text for question in model.asked)
    assert 'says "the user" for "I", "me" and "my"' in own
    assert '"we talked about"' in own
    assert "the user" not in default


def test_a_failure_is_noted_once_a_round(store, to_recall):
    """The result notes that the query was not analysed."""
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


def test_who_asks_in_the_first_person_asks_of_themselves(store, keep, turn, to_recall):
    """Of several people the one whose memory it is; who is named comes first, and so does what an assistant said."""
    step = ParseIntentStep(store, RuleModel(), RuleModel(), RetrieveSettings())
    queries = ("What am I allergic to?", "What did Ben lend me?", "What did you tell me?", "Who is allergic?")
    keep(turns=[turn(0, speaker="user"), turn(1, "I am allergic to cats.", speaker="Ben")])

    asked = [step({"request": to_recall(query)})["intent"].speakers for query in queries]

    assert asked == [["user"], ["Ben"], [], []]


def test_a_run_reads_what_it_began_on(store, keep, turn, to_recall):
    """What is committed meanwhile is found by the next run, and not by a later step of this one."""
    parse, retrieve = (
        ParseIntentStep(store, RuleModel(), RuleModel(), RetrieveSettings()),
        LightRetrieve(store, default_parts(store.encoder, Settings()).retriever),
    )
    keep(turns=[turn(0, "We camp by the lake.")])
    state = parse({"request": to_recall()})
    keep(turns=[turn(1, "We camp in the hills.")])

    began, after = (retrieve(parsed) for parsed in (state, parse({"request": to_recall()})))

    assert [len(found["evidence"]) for found in (began, after)] == [1, 2]
