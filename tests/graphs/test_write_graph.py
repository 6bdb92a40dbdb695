"""The write graph does what its drawing says, and a run that is cut off anywhere ends as if it had not been."""

from itertools import groupby

import pytest

from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.presets import preset
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.testing import FakeModel
from tests.graphs.conftest import THREAD, answering, counts

NODES = [
    "receive", "segment", "extract", "verify", "filter_candidates", "consolidate", "approve_updates",
    "persist", "synthesize", "report_run",
]  # fmt: skip
SELDOM = {"approve_updates"}
"""Where a person is asked."""
ASKING = ["ExtractRecords", "DecideUpdate", "WriteSynthesis"]
WRITERS = ["receive", "persist", "synthesize"]


class PowerCut(BaseException):
    """The process ends here."""


@pytest.fixture(scope="module")
def whole(copy_of, tmp_path_factory, second):
    """An uninterrupted run of the second conversation: what it asked, what is kept after it, and its receipt."""
    deployment, model = copy_of(tmp_path_factory.mktemp("whole") / "store"), answering()
    state = deployment.writing(model).invoke({"request": second}, THREAD, durability="sync")
    yield model.asked, deployment.contents(), state["receipt"]
    deployment.close()


def test_a_run_passes_every_step(whole):
    """The second conversation changes what the first said: every node has work to do."""
    asked, kept, receipt = whole
    totals = counts(receipt)

    assert {question.name for question in asked} == set(ASKING)
    assert (totals["stored_turns"], totals["known_turns"], totals["pending"], totals["quarantined"]) == (2, 0, 0, 0)
    assert totals["records"] > 0
    assert (totals["decisions"], totals["syntheses"]) == (1, 2)
    assert [record["status"] for record in kept["records"]].count("superseded") == 1
    assert kept["pending_tasks"] == []


@pytest.mark.parametrize("node", [name for name in NODES if name not in SELDOM])
def test_a_run_stopped_after_any_step_is_resumed_elsewhere(whole, cut_off, second, node):
    """Stopped, let go of, opened again and resumed: the same memory, the same receipt, no question asked twice."""
    asked, kept, receipt = whole
    before, after = answering(), answering()
    cut_off.writing(before).invoke({"request": second}, THREAD, durability="sync", interrupt_after=[node])
    cut_off.reopen()

    state = cut_off.writing(after).invoke(None, THREAD, durability="sync")

    assert cut_off.contents() == kept
    assert counts(state["receipt"]) == counts(receipt)
    assert [*before.asked, *after.asked] == asked


@pytest.mark.parametrize("name", ASKING)
def test_a_run_that_dies_over_a_question_asks_it_again_and_no_other(whole, cut_off, second, name):
    """A crash while a model answers costs that step alone: what was asked before is not paid twice."""
    asked, kept, receipt = whole
    names = [question.name for question in asked]
    dying = FakeModel([*answering().answers[: names.index(name)], die])
    with pytest.raises(PowerCut):
        cut_off.writing(dying).invoke({"request": second}, THREAD, durability="sync")
    cut_off.reopen()
    model = answering()

    state = cut_off.writing(model).invoke(None, THREAD, durability="sync")

    assert cut_off.contents() == kept
    assert counts(state["receipt"]) == counts(receipt)
    assert model.asked == asked[names.index(name) :]


@pytest.mark.parametrize("writer", range(len(WRITERS)), ids=WRITERS)
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_run_that_dies_over_a_commit_commits_once(whole, cut_off, second, writer, late):
    """A crash just before or just after a commit: doing it again changes nothing."""
    _, kept, receipt = whole
    store = DyingStore(cut_off.store, writer, late=late)
    with pytest.raises(PowerCut):
        cut_off.writing(answering(), store=store).invoke({"request": second}, THREAD, durability="sync")
    cut_off.reopen()

    state = cut_off.writing(answering()).invoke(None, THREAD, durability="sync")

    assert cut_off.contents() == kept
    assert counts(state["receipt"])["records"] == counts(receipt)["records"]


def test_what_a_checkpoint_gives_back_is_what_was_saved(cut_off, second):
    """After every step, the state that is read from disk equals the one that was there, types included."""
    graph = cut_off.writing(RuleModel())
    lived = list(graph.stream({"request": second}, THREAD, stream_mode="values", durability="sync"))
    cut_off.reopen()

    history = list(cut_off.writing(RuleModel()).get_state_history(THREAD))
    saved = [snapshot.values for snapshot in reversed(history) if "request" in snapshot.values]

    assert [state for state, _ in groupby(saved)] == [state for state, _ in groupby(lived)]
    assert types_of(saved[-1]) == types_of(lived[-1])
    assert saved[-1].keys() >= {"request", "turns", "events", "records", "pairs", "decisions", "usage", "receipt"}


def die(question):
    raise PowerCut


def types_of(value):
    """Return the types inside a value, at any depth."""
    if isinstance(value, dict):
        return {key: types_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [types_of(item) for item in value]
    fields = {name: types_of(getattr(value, name)) for name in getattr(type(value), "model_fields", ())}
    return type(value), fields


class DyingStore:
    """A store whose process dies at its n-th commit, before or after it is written."""

    def __init__(self, store, commits, *, late):
        self._store = store
        self._left = commits
        self._late = late

    def __getattr__(self, name):
        return getattr(self._store, name)

    def commit(self, scope, changes):
        dies = self._left == 0
        self._left -= 1
        if dies and not self._late:
            raise PowerCut
        self._store.commit(scope, changes)
        if dies:
            raise PowerCut


DECIDING = {"consolidate", "approve_updates"}


@pytest.mark.parametrize(
    ("name", "left_out"), [("engram", set()), ("dimmem", set()), ("esmem", DECIDING), ("structmem", DECIDING)]
)
def test_a_preset_draws_what_it_does_alone(store, name, left_out):
    """A preset that decides nothing about near-duplicates has no boxes for it."""
    drawn = build_write_graph(store, RuleModel(), RuleModel(), preset(name)).get_graph()
    nodes = {node for node in drawn.nodes if not node.startswith("__")}

    assert set(NODES) - nodes == left_out
    assert {edge.target for edge in drawn.edges} == {*nodes, "__end__"}
