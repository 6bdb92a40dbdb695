"""The part of a memory that forgets, for good, and says what it did.

It is the base of `Memory`, which says where things are kept and where runs are saved.
"""

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.erasure.erase import Eraser
from langgraph_engram.erasure.target import make_target
from langgraph_engram.results import ErasureReceipt
from langgraph_engram.runs.twins import in_thread
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings
from langgraph_engram.stores.store import Store


class Forgetting:
    """What a memory does when it is to forget."""

    store: Store
    settings: Settings
    _checkpointer: BaseCheckpointSaver[str] | None
    _forgettings = 0
    """How often something was forgotten: recalls that were under way then let go of what they saved."""

    def forget(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        turn_id: str | None = None,
        record_id: str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> ErasureReceipt:
        """Forget a session, a turn or a record; all of the user's memory where none is named. There is no way back.

        With turns go the vectors, events, boundaries, records, decisions and syntheses that rest on them or name them,
        what is pending of them, and the checkpoints of every run of this memory that holds them. The other turns of a
        record that goes are drawn from anew by `retry`, and a synthesis that goes is written anew by it. A record that
        is forgotten by itself leaves the turns that say it, and is not drawn from them again.

        What is forgotten is not barred: said again, it is remembered again. Memories of the user that another
        `agent_id` or `tenant` keeps are another scope's.

        Args:
            session_id: The session to forget; with `turn_id`, the one that holds the turn.
            turn_id: The turn to forget, by our id or by the one that it has in its source.
            record_id: The record to forget, with what it was merged of and what was merged of it.

        Returns:
            What is gone, by kind; what is left to do; and where anything is still to be found. A user of whom nothing
            is kept gives zeros.

        Raises:
            InvalidInput: The session, turn or record that is named is not kept here.
            StoreError: It could not be done, or only in part; asking again does the rest.
        """
        scope = self._scope(user_id, tenant, agent_id)
        target = make_target(session_id, turn_id, record_id)
        self._forgettings += 1
        return Eraser(self.store, self._checkpointer, self.settings.segment).forget(scope, target)

    def _scope(self, user_id: str, tenant: str, agent_id: str | None) -> Scope:
        """Say whose memory it is; the way into every method."""
        raise NotImplementedError

    aforget = in_thread(forget)
