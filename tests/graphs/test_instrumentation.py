"""Every node reports its start and its end, and a transient failure of the store does not fail a run."""

import asyncio
import json

import pytest

from langgraph_engram.errors import StoreError, StoreFailed, StoreUnreachable
from langgraph_engram.graphs.instrumentation import InstrumentedNode
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.presets import preset
from langgraph_engram.rule_model.model import RuleModel
from tests.graphs.conftest import THREAD


async def gathered(stream):
    return [part async for part in stream]


@pytest.mark.parametrize("is_async", [False, True])
def test_each_step_of_a_write_reports_its_start_and_end(empty, first, is_async):
    """With what it gave, as numbers; plain JSON without a word of what was said."""
    graph = build_write_graph(empty.store, RuleModel(), RuleModel(), preset("engram"))
    follow = {"input": {"request": first}, "stream_mode": ["custom", "updates"]}

    parts = asyncio.run(gathered(graph.astream(**follow))) if is_async else list(graph.stream(**follow))

    events = [part for mode, part in parts if mode == "custom"]
    steps = [step for mode, part in parts if mode == "updates" for step in part]
    done = {event["step"]: event for event in events if event["status"] == "done"}
    assert [(event["graph"], event["step"], event["status"]) for event in events] == [
        ("remember", step, status) for step in steps for status in ("started", "done")
    ]
    assert all(("seconds" in event) == (event["status"] == "done") for event in events)
    assert steps[0] == "receive"
    assert steps[-1] == "report_run"
    assert (done["receive"]["turns"], done["extract"]["calls"]) == (3, 0)
    assert done["extract"]["records"] >= 3
    assert "tokens" in done["extract"]
    reports = json.dumps(events)
    assert not [word for word in ("Runa", "Oslo", "bees", "camping", "ana") if word in reports]


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

    def index(self, scope, revision=None, moment=None):
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


@pytest.mark.parametrize(("error", "tries"), [(StoreUnreachable, 3), (StoreError, 1)])
def test_a_lasting_failure_is_raised(empty, first, error, tries):
    """In the store's own words, after three tries where it might have passed; then the run goes on where it was."""
    store = Faltering(empty.store, error("no answer"), fails=lambda _: True)

    with pytest.raises(error, match="no answer"):
        empty.writing(RuleModel(), store=store).invoke({"request": first}, THREAD)

    assert store.calls == ["index"] * tries
    assert empty.writing(RuleModel()).invoke(None, THREAD)["receipt"].stored_turns == 3
