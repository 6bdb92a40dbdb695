"""Run the write graph: one run of a scope at a time, and what is pending done again.

Everybody in this process who shares the store waits for everybody else's runs of the same scope here. This module
does not know who asks, nor what the arguments of a call look like.
"""

import logging
from dataclasses import dataclass

from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.results import Receipt
from langgraph_engram.runs.apart import apart
from langgraph_engram.runs.receipts import add_receipts, receipt_of
from langgraph_engram.runs.requests import retry_request
from langgraph_engram.runs.run_threads import thread_of
from langgraph_engram.schema import Scope
from langgraph_engram.state import RememberRequest, WriteInput
from langgraph_engram.stores.store import Store

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class WriteRuns:
    """Runs of a checkpointed write graph over a store."""

    store: Store
    graph: WriteGraph

    def remember(self, request: RememberRequest) -> Receipt:
        """Run a request to its end, after the runs of its scope that are under way."""
        return self._run(request.scope, {"request": request}, request.run_id)

    def retry(self, scope: Scope) -> Receipt:
        """Do again what is pending in a scope: a run that was cut off goes on where it was.

        What is pending is read when no run of the scope is under way, so that a run that is alive is not taken for one
        that was cut off.
        """
        with self.store.writing(scope):
            runs = list(dict.fromkeys(one.run_id for one in self.store.pendings(scope)))
            waiting = {run_id for run_id in runs if self._waits_for_a_person(scope, run_id)}
            cut_off = [run_id for run_id in runs if run_id not in waiting and self._is_under_way(scope, run_id)]
            receipts = [self._run(scope, None, run_id) for run_id in cut_off]
            left: dict[str, list[str]] = {}
            pendings = self.store.pendings(scope)
            held = {turn_id for one in pendings if one.run_id in waiting for turn_id in one.turn_ids}
            for one in pendings:
                if one.run_id not in cut_off and held.isdisjoint(one.turn_ids):
                    left.setdefault(one.session_id, []).extend(one.turn_ids)
            receipts += [
                self.remember(retry_request(scope, session_id, turn_ids)) for session_id, turn_ids in left.items()
            ]
        return add_receipts(receipts)

    @apart
    def _run(self, scope: Scope, given: WriteInput | None, run_id: str) -> Receipt:
        with self.store.writing(scope):
            state = self.graph.invoke(given, thread_of(run_id, scope), durability="sync")
        receipt = receipt_of(state)
        if receipt.pending:
            LOG.warning("%d turns are stored but not finished: see status(), then retry()", receipt.pending)
        return receipt

    def _is_under_way(self, scope: Scope, run_id: str) -> bool:
        return bool(self.graph.get_state(thread_of(run_id, scope)).next)

    def _waits_for_a_person(self, scope: Scope, run_id: str) -> bool:
        return bool(self.graph.get_state(thread_of(run_id, scope)).interrupts)
