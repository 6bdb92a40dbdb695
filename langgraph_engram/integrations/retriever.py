"""Let LangChain chains search memory: `EngramRetriever` gives evidence as documents.

docs = EngramRetriever(memory=memory, user_id="ana", k=3).invoke("Where did I camp?")

No model is asked. Where no user is default, the run says whose memory it is (see `identity`).
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from pydantic import Field

from langgraph_engram.errors import InvalidInput
from langgraph_engram.integrations.identity import ScopeOverrides, resolve_scope
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Evidence, Scope


class EngramRetriever(BaseRetriever):
    """Search a memory for what was said; the best documents first."""

    memory: Memory
    """Where things are kept."""
    k: int = Field(default=4, ge=1)
    """Documents at most; `invoke(..., k=...)` overrides it."""
    budget: int | None = Field(default=None, ge=1)
    """Tokens of evidence in all; those of the preset unless told otherwise."""
    user_id: str | None = None
    """The user, where there is one alone. A user whom a server has authenticated comes before."""
    tenant: str | None = None
    """The organisation, where it is the same in all runs."""
    agent_id: str | None = None
    """The agent, where memories of a user are kept apart by agent."""

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Search the memory of whom the run is about.

        Args:
            input: What is looked for.
            config: May name the user in its `configurable`.
            kwargs: `k`, documents at most.

        Raises:
            MissingUser: Nobody said whose memory it is.
        """
        return super().invoke(input, config, whose=self._whose(config), **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Search the memory of whom the run is about, in a thread. Arguments and errors as for `invoke`."""
        return await super().ainvoke(input, config, whose=self._whose(config), **kwargs)

    def _whose(self, config: RunnableConfig | None) -> Scope:
        default = ScopeOverrides(user_id=self.user_id, tenant=self.tenant, agent_id=self.agent_id)
        return resolve_scope(config=config, default=default)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,  # noqa: ARG002 - LangChain hands it over
        whose: Scope | None = None,
        k: int | None = None,
    ) -> list[Document]:
        most = self.k if k is None else k
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise InvalidInput(f"k is {most!r}: give a whole number of documents, at least 1")
        scope = whose or self._whose(None)
        found = self.memory.search(query, budget=self.budget, now=datetime.now(UTC), **scope.model_dump())
        return [to_document(piece) for piece in found.evidence[:most]]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **named: Any
    ) -> list[Document]:
        sync = run_manager.get_sync()
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=sync, **named)


def to_document(piece: Evidence) -> Document:
    """Give a piece of evidence as a document, under its own id.

    Its metadata, which is JSON: `record_id` and `synthesis_id` where it is one; `turn_ids` and `session_ids` of what it
    rests on; `said_at`, ISO 8601, of the first of these; `score`, and `routes`, the score that each route gave it.
    """
    moments = [turn.said_at for turn in piece.turns if turn.said_at]
    about = {
        "record_id": piece.record.record_id if piece.record else None,
        "synthesis_id": piece.synthesis_id,
        "turn_ids": [turn.turn_id for turn in piece.turns],
        "session_ids": list(dict.fromkeys(turn.session_id for turn in piece.turns)),
        "said_at": min(moments).isoformat() if moments else None,
        "score": piece.score,
        "routes": piece.routes,
    }
    return Document(id=piece.evidence_id, page_content=piece.text, metadata=about)
