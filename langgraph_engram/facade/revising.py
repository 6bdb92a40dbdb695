"""The part of a memory that looks back at what update decisions did, takes them back, and lets people approve them.

It is the base of `Memory`, which says where things are kept and which graph writes.
"""

from collections.abc import Mapping

from langgraph_engram.facade.approving import approvals, approve, waiting_decisions
from langgraph_engram.facade.lineage import history, undo
from langgraph_engram.results import Approval, Receipt, RecordHistory, UndoReceipt
from langgraph_engram.runs.twins import in_thread
from langgraph_engram.runs.write_runs import WriteRuns
from langgraph_engram.schema import Scope
from langgraph_engram.stores.store import Store


class Revising:
    """What a memory does with decisions that are made."""

    store: Store
    _runs: WriteRuns

    def undo(self, run_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None) -> UndoReceipt:
        """Take back what a run merged and superseded. Nothing is deleted, and undoing twice changes nothing.

        Syntheses of what is taken back are pending until `retry` writes them anew.

        Args:
            run_id: The run, as its receipt or a decision names it.

        Raises:
            InvalidInput: No such run changed anything here, or a later run builds on what this one did, or waits for
                approval to.
        """
        scope = self._scope(user_id, tenant, agent_id)
        with self.store.writing(scope):
            return undo(self.store, scope, run_id, waiting_decisions(self.store, self._runs.graph, scope))

    def history(
        self, record_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None
    ) -> RecordHistory:
        """Give what a record was made of, itself, and what took its place, with the decisions between them.

        Raises:
            InvalidInput: No such record is kept here.
        """
        return history(self.store, self._scope(user_id, tenant, agent_id), record_id)

    def approvals(self, user_id: str, *, tenant: str = "default", agent_id: str | None = None) -> list[Approval]:
        """Give the runs that wait for a person's approval, with what they would do."""
        return approvals(self.store, self._runs.graph, self._scope(user_id, tenant, agent_id))

    def approve(
        self,
        run_id: str,
        answer: str | Mapping[str, str],
        *,
        user_id: str,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Receipt:
        """Let a run that waits go on: "approve" or "reject" for all of it, or for each decision by its id.

        Raises:
            InvalidInput: No such run waits here, or the answer does not fit what it waits for.
        """
        scope = self._scope(user_id, tenant, agent_id)
        with self.store.writing(scope):
            return approve(self.store, self._runs.graph, scope, run_id, answer)

    def _scope(self, user_id: str, tenant: str, agent_id: str | None) -> Scope:
        """Say whose memory it is; the way into every method."""
        raise NotImplementedError

    aundo = in_thread(undo)
    ahistory = in_thread(history)
    aapprovals = in_thread(approvals)
    aapprove = in_thread(approve)
