"""Take what a caller sends, keep the turns that are new, and store them before any model is asked (DESIGN, step 1).

From here nothing said can be lost: the run stands in the store as pending until its results are written. What is
stored is read and added to as one, so that two runs in one session at once give each turn a place of its own.
"""

from dataclasses import dataclass
from typing import cast
from uuid import uuid4

from langgraph.types import Overwrite

from langgraph_engram.alignment import name_session, new_turns
from langgraph_engram.pending import UNFINISHED, is_cut_off, pending_task, stored_turns
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import DateOrder, FilterCounts, PendingTask, Scope
from langgraph_engram.state import RememberRequest, WriteState
from langgraph_engram.stores.base import Changes, Store


@dataclass(frozen=True, slots=True)
class Receive:
    """Store the raw turns. Reads `request`, JSON included; sets `run_id`, `session_id`, `turns`, `known_turns`."""

    store: Store
    date_order: DateOrder | None = None
    """How the user writes the numbers of a date, where that is known."""

    def __call__(self, state: WriteState) -> WriteState:
        """Return the turns of this run that were not known, each with its id and its place; or those of a retry."""
        request = RememberRequest.model_validate(state["request"])
        run_id = request.run_id or str(uuid4())
        session_id = request.session_id or name_session(request)
        taken: WriteState = (
            self._retry(request, session_id) if request.retry_turn_ids else self._new(request, run_id, session_id)
        )
        return {**clean_slate(), "request": request, "run_id": run_id, "session_id": session_id, **taken}

    def _new(self, request: RememberRequest, run_id: str, session_id: str) -> WriteState:
        with self.store.committing(request.scope):
            index = self.store.index(request.scope)
            begun = stored_turns(index, self._begun(request.scope, run_id, session_id))
            new = new_turns(request, session_id, index, begun)
            turns = [*begun, *(turn.model_copy(update={"date_order": self.date_order}) for turn in new)]
            if turns:
                pending = pending_task(run_id, turns, "segment", UNFINISHED)
                self.store.commit(request.scope, Changes(turns=turns, pending_tasks=[pending]))
        return {"turns": turns, "known_turns": len(request.messages) - len(turns)}

    def _retry(self, request: RememberRequest, session_id: str) -> WriteState:
        """Take up stored turns of a session, and what is pending of them. They stand until they are done."""
        wanted = set(request.retry_turn_ids)
        pending_tasks = [one for one in self.store.pending_tasks(request.scope) if wanted.issuperset(one.turn_ids)]
        found = stored_turns(self.store.index(request.scope), request.retry_turn_ids)
        turns = [turn for turn in found if turn.session_id == session_id]
        return {"turns": turns, "known_turns": 0, "retried": pending_tasks}

    def _begun(self, scope: Scope, run_id: str, session_id: str) -> list[str]:
        """Give the turns that this run has stored already: it was cut off just after, and goes on."""
        mine = [one for one in self.store.pending_tasks(scope) if (one.run_id, one.session_id) == (run_id, session_id)]
        return [turn_id for one in mine if is_cut_off(one) for turn_id in one.turn_ids]


def clean_slate() -> WriteState:
    """Give what a run starts with: nothing of a run before it on the same thread, which may be another user's."""
    return {
        "events": [],
        "boundaries": [],
        "records": [],
        "retried": [],
        "reloaded": [],
        "pairs": [],
        "filtered": FilterCounts(),
        "rechecks": 0,
        "recheck": False,
        "proposals": [],
        "changed": [],
        "decisions": [],
        "synthesis_ids": [],
        "failures": cast(list[PendingTask], Overwrite([])),
        "usage": cast(list[UsageEntry], Overwrite([])),
    }
