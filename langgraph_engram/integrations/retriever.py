"""Search memory from LangChain chains: `EngramRetriever` returns evidence as documents.

docs = EngramRetriever(memory=memory, user_id="ana", k=3).invoke("Where did I camp?")

No model is called. Without a `user_id`, the scope comes from the run (see `identity`).
"""

import asyncio
from datetime import UTC, datetime
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from pydantic import Field

from langgraph_engram.filters import Filters, both
from langgraph_engram.integrations.identity import ScopeOverrides, resolve_scope
from langgraph_engram.memory import Memory
from langgraph_engram.schema import Scope
from langgraph_engram.tracing import document_of


class EngramRetriever(BaseRetriever):
    """Search a memory; the best documents first."""

    memory: Memory
    k: int = Field(default=4, ge=1)
    """Documents at most; `invoke(..., k=...)` overrides it. As LangChain has it, k are returned, however weak."""
    budget: int | None = Field(default=None, ge=1)
    """Tokens of evidence in all; None for the preset's."""
    filters: Filters | None = None
    """What documents fulfil, see `Memory.search`; `invoke(..., filters=...)` adds to them."""
    user_id: str | None = None
    """The default user, with the tenant and the agent. An authenticated user of a server overrides it."""
    tenant: str | None = None
    agent_id: str | None = None

    def invoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Search the memory of the run's user.

        Args:
            config: May name the user in its `configurable`.
            kwargs: `k`, documents at most; `filters`.

        Raises:
            MissingUser: No source names the user.
        """
        return super().invoke(input, config, scope=self._scope(config), **kwargs)

    async def ainvoke(self, input: str, config: RunnableConfig | None = None, **kwargs: Any) -> list[Document]:
        """Search the memory of the run's user, in a thread. Arguments and errors as for `invoke`."""
        return await super().ainvoke(input, config, scope=self._scope(config), **kwargs)

    def _scope(self, config: RunnableConfig | None) -> Scope:
        default = ScopeOverrides(user_id=self.user_id, tenant=self.tenant, agent_id=self.agent_id)
        return resolve_scope(None, config, default)

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        scope: Scope | None = None,
        k: int | None = None,
        filters: Filters | None = None,
    ) -> list[Document]:
        scope, limit = scope or self._scope(None), self.k if k is None else k
        asked: dict[str, Any] = {"filters": both(self.filters, filters), "limit": limit, **dict(scope)}
        with set_config_context({"callbacks": run_manager.get_child()}) as context:
            found = context.run(self.memory.search, query, budget=self.budget, stop=0, now=datetime.now(UTC), **asked)
        return [document_of(evidence) for evidence in found.evidence]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **kwargs: Any
    ) -> list[Document]:
        sync = run_manager.get_sync()
        return await asyncio.to_thread(self._get_relevant_documents, query, run_manager=sync, **kwargs)
