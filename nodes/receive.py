"""Store the turns of a call that are new, before any model is asked.

From here nothing said can be lost: the run stands in the store as pending until its results are written. What is
stored is read and added to under one lock, so that two runs in one session at once give each turn a position of its
own. A retry is told here what is left to do, and goes the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from langgraph.runtime import get_runtime
from langgraph.types import Overwrite

from langgraph_engram.alignment import requests_by_session, turns_of_run
from langgraph_engram.pending import RECEIVE, UNFINISHED, pending_tasks_for, retried_tasks, taken_over, turns_to_extract
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import DateOrder, FilterCounts, PendingTask, Scope, make_id
from langgraph_engram.screening import screen
from langgraph_engram.settings import ReceiveSettings
from langgraph_engram.state import RememberRequest, WriteState
from langgraph_engram.stores.base import Changes, Store


@dataclass(frozen=True, slots=True)
class Receive:
    """Store the raw turns. Reads `request`, JSON included; sets what `state.py` says."""

    store: Store
    date_order: DateOrder | None = None
    """How the user writes the numbers of a date, where that is known."""
    settings: ReceiveSettings = field(default_factory=ReceiveSettings)

    def __call__(self, state: WriteState) -> WriteState:
        """Return the tasks of this run and the turns to work on, each with its id and position."""
        request = screen(RememberRequest.model_validate(state["request"]), self.settings)
        run_id = request.run_id or _id_of_this_run()
        sessions = requests_by_session(request)
        if request.retry_turn_ids:
            received = self._left_to_do(request, *sessions)
        else:
            received = self._new(request.scope, run_id, sessions)
        return {**_empty_state(), "request": request, "run_id": run_id, "session_ids": [*sessions], **received}

    def _new(self, scope: Scope, run_id: str, sessions: Mapping[str, RememberRequest]) -> WriteState:
        """Store the turns that are new; those that this run stored before it was cut off are its own, too."""
        with self.store.committing(scope):
            index, pending = self.store.index(scope), self.store.pending_tasks(scope)
            followed, received = turns_of_run(run_id, sessions, index, pending)
            tasks = pending_tasks_for(run_id, "segment", [(own, UNFINISHED) for own in received])
            turns = [
                turn if turn.turn_id in index.turns else turn.model_copy(update={"date_order": self.date_order})
                for own in received
                for turn in own
            ]
            fresh = [turn for turn in turns if turn.turn_id not in index.turns]
            left, completed = taken_over(pending, run_id, fresh)
            completed += [task.pending_id for task in pending if (task.run_id, task.step) == (run_id, RECEIVE)]
            if turns or completed or followed:
                changes = Changes(turns=[*followed, *turns], pending_tasks=[*tasks, *left], completed=completed)
                self.store.commit(scope, changes)
        sent = sum(len(request.messages) for request in sessions.values())
        known = max(0, sent - len(turns))
        return {"tasks": tasks, "turns": turns, "stored_turns": len(turns), "known_turns": known, "followed": followed}

    def _left_to_do(self, request: RememberRequest, session_id: str) -> WriteState:
        """Return the tasks about stored turns, and those turns of a session that were not extracted from."""
        scope, wanted = request.scope, set(request.retry_turn_ids)
        index = self.store.index(scope)
        if any(turn_id not in index.turns for turn_id in wanted):
            self.store.drop_index(scope)  # a process killed in a commit may have stored them under no new revision
            index = self.store.index(scope)
        tasks = retried_tasks(self.store.pending_tasks(scope), wanted, index)
        turns = [turn for turn in turns_to_extract(tasks, index) if turn.session_id == session_id]
        return {"tasks": tasks, "turns": turns, "stored_turns": 0, "known_turns": 0, "followed": []}


def _id_of_this_run() -> str:
    """Return an id for a run that was given none: LangGraph's name of the task, which stays when a run is resumed."""
    info = get_runtime().execution_info
    return make_id("run", info.checkpoint_ns if info else "")


def _empty_state() -> WriteState:
    """Return what a run starts with: nothing of a run before it on the same thread, which may be another user's."""
    return {
        "events": [],
        "boundaries": [],
        "records": [],
        "pairs": [],
        "filtered": FilterCounts(),
        "attempts": 0,
        "proposals": [],
        "is_overtaken": False,
        "decisions": [],
        "synthesis_ids": [],
        "failures": cast(list[PendingTask], Overwrite([])),
        "usage": cast(list[UsageEntry], Overwrite([])),
    }
