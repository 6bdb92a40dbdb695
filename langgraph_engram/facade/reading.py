"""The part of a memory that reads: search, recall, and recall as it happens.

It is the base of `Memory`, which says where things are kept and which graph reads.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.erasure.traces import delete_threads
from langgraph_engram.graphs.read import ReadGraph
from langgraph_engram.results import RecallUpdate, Recollection
from langgraph_engram.runs.apart import apart
from langgraph_engram.runs.recall_updates import tell
from langgraph_engram.runs.requests import recall_request
from langgraph_engram.runs.run_threads import thread_of
from langgraph_engram.runs.twins import in_thread, iterated_in_thread
from langgraph_engram.schema import Scope


class Reading:
    """What a memory does with questions."""

    read_graph: ReadGraph
    _reading: ReadGraph
    """The same with a checkpointer."""
    _checkpointer: BaseCheckpointSaver[str] | None
    _forgettings: int
    """How often something was forgotten."""

    @apart
    def search(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Recollection:
        """Find evidence without asking a model.

        Args:
            query: What is looked for.
            budget: Tokens of evidence in the result.
            now: The moment from which "last week" counts, a datetime or ISO 8601 text; `as_of`, or the newest turn's
                time, unless told otherwise. Without an offset it is UTC.
            as_of: The moment as of which memory is read, in the same forms; of a day alone, its end. What was said
                later, or superseded only later, does not count.

        Returns:
            Evidence, best first, within the budget; no answer.
        """
        request = recall_request(query, self._scope(user_id, tenant, agent_id), "search", budget, now, as_of)
        found: Recollection = self.read_graph.invoke({"request": request})["recollection"]
        return found

    @apart
    def recall(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Recollection:
        """Answer from memory, as deep as it takes. Arguments as for `search`.

        Returns:
            An answer with [n] citing the n-th piece of evidence, a verdict, and what it cost.

        Raises:
            ModelUnavailable: The model gave no answer; nothing was found to be absent.
        """
        request = recall_request(query, self._scope(user_id, tenant, agent_id), "recall", budget, now, as_of)
        thread = thread_of(request.run_id, request.scope)
        with self._unless_forgotten(request.run_id):
            state = self._reading.invoke({"request": request}, thread, durability="async")
        told: Recollection = state["recollection"]
        return told

    def stream(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Iterator[RecallUpdate]:
        """Answer from memory and tell of it as it happens. Arguments and errors as for `recall`.

        Yields:
            An update for each step that is done, one for each piece of an answer's text while it is written, and as
            the last one the whole recollection. Text after another step takes the place of what was written before. An
            answer that no model streams comes whole, just before the last update.
        """
        request = recall_request(query, self._scope(user_id, tenant, agent_id), "recall", budget, now, as_of)
        parts = self._reading.stream(
            {"request": request},
            thread_of(request.run_id, request.scope),
            stream_mode=["updates", "messages"],
            durability="async",
        )
        with self._unless_forgotten(request.run_id):
            yield from tell(parts)

    @contextmanager
    def _unless_forgotten(self, run_id: str) -> Iterator[None]:
        """Let go of a run's checkpoints if something was forgotten meanwhile: it may have read that before."""
        before = self._forgettings
        try:
            yield
        finally:
            if self._checkpointer and self._forgettings != before:
                delete_threads(self._checkpointer, [run_id])

    def _scope(self, user_id: str, tenant: str, agent_id: str | None) -> Scope:
        """Say whose memory it is; the way into every method."""
        raise NotImplementedError

    asearch = in_thread(search)
    arecall = in_thread(recall)
    astream = iterated_in_thread(stream)
