"""The read graph does what its drawing says, goes as deep as it must, and can be resumed at every step."""

import pytest

from langgraph_engram.graphs.read import Routing, build_read_graph
from langgraph_engram.llm.base import Failure
from langgraph_engram.presets import PRESETS, preset
from langgraph_engram.prompts.answer_light import AnswerLight
from langgraph_engram.prompts.reflect import Reflect, Reflection
from langgraph_engram.prompts.select_records import Selection, SelectRecords
from langgraph_engram.prompts.write_answer import UNKNOWN, WriteAnswer
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.schema import Evidence, Intent
from langgraph_engram.settings import DeepSettings
from langgraph_engram.testing import FakeModel
from tests.graphs.conftest import QUESTION, counts

NODES = [
    "parse_intent", "light_retrieve", "judge_sufficiency", "deep_select", "backtrack",
    "write_answer", "reflect", "conclude",
]  # fmt: skip
NEXT = "What does Runa teach?"


def two_rounds(question):
    """Go deep in the first round, look further, and answer from evidence in the second, which needs no reflection."""
    match question:
        case AnswerLight():
            return "She teaches music in Oslo [1]." if question.intent.query == NEXT else UNKNOWN
        case SelectRecords():
            return Selection(numbers=[1])
        case WriteAnswer():
            return "Somewhere abroad."
        case Reflect(asked=(_,)):
            return Reflection(complete=False, missing="what she teaches", next_query=NEXT)
        case Reflect():
            return Reflection(complete=True)
    raise AssertionError(question)


@pytest.fixture
def deep():
    """Make a model that needs two rounds."""
    return lambda: FakeModel([two_rounds] * 20)


@pytest.fixture(scope="module")
def deployment(copy_of, tmp_path_factory):
    """A deployment to read from: reading changes nothing but checkpoints."""
    opened = copy_of(tmp_path_factory.mktemp("reading") / "store")
    yield opened
    opened.close()


@pytest.fixture
def whole(deployment, deep, request):
    """An uninterrupted recall: what it asked, and its recollection."""
    model = deep()
    state = deployment.reading(model).invoke({"request": QUESTION}, {"configurable": {"thread_id": request.node.name}})
    return model.asked, state["recollection"]


def test_what_does_not_suffice_is_selected_from_in_batches():
    """Each batch of candidates is a branch of its own, and all of them run side by side."""
    found = [Evidence(evidence_id=f"p{number}", text="Ana skis.") for number in range(5)]
    intent = Intent(query="Where?", anchor="Where?")
    state = {"request": QUESTION, "query": "Where?", "intent": intent, "sufficient": False, "evidence": found}

    sent = Routing(DeepSettings(), select_batch=3).after_judge(state)

    assert [(send.node, send.arg["start"], len(send.arg["batch"])) for send in sent] == [
        ("deep_select", 0, 3),
        ("deep_select", 3, 2),
    ]


def test_a_question_may_need_a_second_round(whole):
    """What the first round lacks is asked for in the second (HyMem Figure 4)."""
    asked, recollection = whole

    names = [question.name for question in asked]
    assert names[:4] == ["AnswerLight", "SelectRecords", "WriteAnswer", "Reflect"]
    assert names[-1] == "AnswerLight"
    assert (recollection.rounds, recollection.went_deep) == (2, True)
    assert (recollection.verdict, recollection.missing) == ("sufficient", [])
    assert recollection.usage.calls == len(asked)


@pytest.mark.parametrize("node", NODES)
def test_a_recall_stopped_after_any_step_is_resumed(deployment, whole, deep, node):
    """Stopped at a step and resumed by another graph: the same result, and no question asked twice."""
    asked, recollection = whole
    before, after = deep(), deep()
    thread = {"configurable": {"thread_id": f"stop-{node}"}}
    deployment.reading(before).invoke({"request": QUESTION}, thread, durability="sync", interrupt_after=[node])

    graph = deployment.reading(after)
    if graph.get_state(thread).next:
        graph.invoke(None, thread, durability="sync")

    assert counts(graph.get_state(thread).values["recollection"]) == counts(recollection)
    assert [*before.asked, *after.asked] == asked


@pytest.mark.parametrize("name", PRESETS)
def test_a_search_asks_no_model_under_any_preset(deployment, name):
    """A search costs no call; its evidence stays within its budget."""
    model = FakeModel([Failure("refused", "no")] * 9)
    graph = build_read_graph(deployment.store, model, RuleModel(), preset(name))

    found = graph.invoke({"request": QUESTION.model_copy(update={"mode": "search", "budget": 60})})["recollection"]

    assert (model.asked, found.usage.calls, found.answer) == ([], 0, None)
    assert sum(-(-len(passage.text) // 4) for passage in found.evidence) <= 60


def test_an_empty_memory_is_absent_and_not_an_error(deployment):
    """Nothing remembered: no question is asked, and the result says why."""
    model = FakeModel()
    graph = build_read_graph(deployment.store, model, RuleModel(), preset("engram"))

    recollection = graph.invoke({"request": QUESTION.model_copy(update={"user_id": "nobody"})})["recollection"]

    assert (recollection.verdict, recollection.evidence, model.asked) == ("absent", [], [])
    assert "nothing is remembered yet for user nobody" in recollection.notes


@pytest.mark.parametrize(
    ("name", "way"),
    [
        ("dimmem", ["parse_intent", "light_retrieve", "write_answer", "conclude"]),
        ("esmem", ["parse_intent", "light_retrieve", "write_answer", "conclude"]),
        ("structmem", ["parse_intent", "light_retrieve", "write_answer", "conclude"]),
        ("hymem", NODES),
        ("engram", NODES),
    ],
)
def test_a_preset_draws_what_it_does_alone(store, name, way):
    """A box that a preset never enters is not in its graph, and every box can be reached."""
    drawn = build_read_graph(store, RuleModel(), RuleModel(), preset(name)).get_graph()
    reached = {edge.target for edge in drawn.edges} | {"__start__"}

    assert [node for node in drawn.nodes if not node.startswith("__")] == way
    assert set(drawn.nodes) == reached
