"""Every node reports its start and its end, and a transient failure of the store does not fail a run."""

import asyncio
import json

import pytest

from langgraph_engram.errors import StoreError, StoreFailed, StoreUnreachable
from langgraph_engram.graphs.instrumentation import InstrumentedNode
from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.presets import preset
from langgraph_engram.rule_model.model import RuleModel
from tests.graphs.conftest import QUESTION, THREAD


def reports_and_updates(parts):
    """Split what was streamed into custom events and the names of the steps that gave an update."""
    events = [part for mode, part in parts if mode == "custom"]
    return events, [step for mode, part in parts if mode == "updates" for step in part]


async def gathered(stream):
    return [part async for part in stream]


@pytest.fixture(params=["stream", "astream"])
def follow(request):
    """Return a function that runs a graph, synchronously or not, and returns what it streams."""

    def run(graph, graph_input, **options):
        if request.param == "stream":
            return list(graph.stream(graph_input, **options))
        return asyncio.run(gathered(graph.astream(graph_input, **options)))

    return run


@pytest.fixture
def writing(empty):
    """The write graph over an empty store, without a checkpointer."""
    from langgraph_engram.graphs.write import build_write_graph

    return build_write_graph(empty.store, RuleModel(), RuleModel(), preset("engram"))


@pytest.fixture
def reading(cut_off):
    """The read graph where the first conversation is remembered, without a checkpointer."""
    return build_read_graph(cut_off.store, RuleModel(), RuleModel(), preset("engram"))


def require_reports(events, steps, graph):
    """Assert that each node reported its start, then its end, in the order in which they ran."""
    assert [(event["graph"], event["step"], event["status"]) for event in events] == [
        (graph, step, status) for step in steps for status in ("started", "done")
    ]
    assert all(("seconds" in event) == (event["status"] == "done") for event in events)


def test_each_step_of_a_write_reports_its_start_and_end(writing, first, follow):
    """With what it gave, as numbers; plain JSON without a word of what was said."""
    parts = follow(writing, {"request": first}, stream_mode=["custom", "updates"])

    events, steps = reports_and_updates(parts)
    done = {event["step"]: event for event in events if event["status"] == "done"}
    require_reports(events, steps, "remember")
    assert steps[0] == "receive"
    assert steps[-1] == "report_run"
    assert (done["receive"]["turns"], done["extract"]["calls"]) == (3, 0)
    assert done["extract"]["records"] >= 3
    assert "tokens" in done["extract"]
    reports = json.dumps(events)
    assert not [word for word in ("Runa", "Oslo", "bees", "camping", "ana") if word in reports]


def test_each_step_of_a_recall_reports_its_start_and_end(reading, follow):
    """In the same words, with the evidence that was found."""
    parts = follow(reading, {"request": QUESTION}, stream_mode=["custom", "updates"])

    events, steps = reports_and_updates(parts)
    require_reports(events, steps, "recall")
    assert next(event for event in events if event["step"] == "light_retrieve" and "seconds" in event)["evidence"] > 0


def test_a_step_that_fails_is_not_done():
    """It has begun, and that is all."""
    reports = []

    def action(_):
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        InstrumentedNode("graph", "step", action)({}, reports.append)

    assert reports == [{"graph": "graph", "step": "step", "status": "started"}]


class Faltering:
    """A store that fails at its calls, by a plan: how often, and before or after a commit is written."""

    def __init__(self, store, error, *, fails, late=False):
        self._store, self._error, self._late = store, error, late
        self._fails = fails
        self.calls = []

    def __getattr__(self, name):
        return getattr(self._store, name)

    def index(self, scope, revision=None):
        self._falter("index")
        return self._store.index(scope, revision)

    def commit(self, scope, changes):
        if not self._late:
            self._falter("commit")
        self._store.commit(scope, changes)
        if self._late:
            self._falter("commit")

    def _falter(self, name):
        self.calls.append(name)
        if self._fails(self.calls):
            raise self._error


def the_first(calls):
    return len(calls) == 1


def first_of_commits(calls):
    return calls[-1] == "commit" and calls.count("commit") % 2 == 1


@pytest.mark.parametrize("error", [StoreUnreachable("no answer"), StoreFailed("busy")])
@pytest.mark.parametrize(("fails", "late"), [(the_first, False), (first_of_commits, False), (first_of_commits, True)])
def test_a_transient_failure_is_retried(empty, copy_of, tmp_path, first, error, fails, late):
    """Each step is tried again, and what is kept in the end is what a run without trouble keeps."""
    store = Faltering(empty.store, error, fails=fails, late=late)

    state = empty.writing(RuleModel(), store=store).invoke({"request": first}, THREAD)

    undisturbed = copy_of(tmp_path / "undisturbed")
    assert state["receipt"].pending == 0
    assert state["receipt"].stored_turns == 3
    assert empty.contents() == undisturbed.contents()
    undisturbed.close()


def test_a_lasting_failure_is_raised(empty, first):
    """After three tries, with the store's own words; when it is over, the run goes on where it was."""
    store = Faltering(empty.store, StoreUnreachable("no answer"), fails=lambda _: True)

    with pytest.raises(StoreUnreachable, match="no answer"):
        empty.writing(RuleModel(), store=store).invoke({"request": first}, THREAD)

    assert store.calls == ["index"] * 3
    assert empty.writing(RuleModel()).invoke(None, THREAD)["receipt"].stored_turns == 3


def test_what_will_not_pass_is_not_tried_again(empty, first):
    """A store that cannot be read by this version cannot be read a second later either."""
    store = Faltering(empty.store, StoreError("of another version"), fails=lambda _: True)

    with pytest.raises(StoreError, match="another version"):
        empty.writing(RuleModel(), store=store).invoke({"request": first}, THREAD)

    assert store.calls == ["index"]
