"""The part of a memory that looks back at what update decisions did, takes them back, and lets people approve them.

It is the base of `Memory`, which says where things are kept and which graph writes.
"""

from collections.abc import Mapping
from threading import Lock

from langgraph_engram.approving import approvals, approve
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.lineage import history, undo
from langgraph_engram.requests import make_scope
from langgraph_engram.results import Approval, Receipt, RecordHistory, UndoReceipt
from langgraph_engram.stores.store import Store
from langgraph_engram.twins import in_thread


class Revising:
    """What a memory does with decisions that are made."""

    store: Store
    _writing: WriteGraph
    _locks: Mapping[str, Lock]

    def undo(self, run_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None) -> UndoReceipt:
        """Take back what a run merged and superseded. Nothing is deleted, and undoing twice changes nothing.

        Args:
            run_id: The run, as its receipt or a decision names it.

        Raises:
            InvalidInput: No such run changed anything here, or a later run builds on what this one did.
        """
        scope = make_scope(user_id, tenant, agent_id)
        with self._locks[scope.key]:
            return undo(self.store, scope, run_id)

    def history(
        self, record_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None
    ) -> RecordHistory:
        """Give what a record was made of, itself, and what took its place, with the decisions between them.

        Raises:
            InvalidInput: No such record is kept here.
        """
        return history(self.store, make_scope(user_id, tenant, agent_id), record_id)

    def approvals(self, user_id: str, *, tenant: str = "default", agent_id: str | None = None) -> list[Approval]:
        """Give the runs that wait for a person's approval, with what they would do."""
        return approvals(self.store, self._writing, make_scope(user_id, tenant, agent_id))

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
        scope = make_scope(user_id, tenant, agent_id)
        with self._locks[scope.key]:
            return approve(self.store, self._writing, scope, run_id, answer)

    aundo = in_thread(undo)
    ahistory = in_thread(history)
    aapprovals = in_thread(approvals)
    aapprove = in_thread(approve)
