"""The facade: long-term memory in a handful of calls, over the two graphs.

memory = Memory(store="./engram-data")
memory.remember(messages, user_id="ana", session_id="s1")
memory.recall("Where did I camp?", user_id="ana").answer
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from langgraph_engram.configuration import (
    choose,
    choose_chat,
    choose_compressor,
    choose_model,
    choose_reranker,
    open_checkpointer,
)
from langgraph_engram.encoder import Encoder
from langgraph_engram.encoders.opening import open_encoder
from langgraph_engram.errors import StoreError
from langgraph_engram.facade.forgetting import Forgetting
from langgraph_engram.facade.inspection import Kind, show, status
from langgraph_engram.facade.reading import Reading
from langgraph_engram.facade.revising import Revising
from langgraph_engram.formats.conversation import Session
from langgraph_engram.formats.messages import to_messages
from langgraph_engram.graphs.read import ReadGraph, build_read_graph
from langgraph_engram.graphs.write import WriteGraph, build_write_graph
from langgraph_engram.model import Model
from langgraph_engram.results import Receipt, Status
from langgraph_engram.rules.model import RuleModel
from langgraph_engram.runs.encoding_ahead import encoded_ahead
from langgraph_engram.runs.receipts import add_receipts
from langgraph_engram.runs.requests import make_scope, remember_request, to_sessions
from langgraph_engram.runs.twins import in_thread
from langgraph_engram.runs.write_runs import WriteRuns
from langgraph_engram.schema import Scope
from langgraph_engram.settings import ChatSettings, Settings
from langgraph_engram.stores.opening import open_store

Progress = Callable[[str, int, int], None]


class Memory(Reading, Revising, Forgetting):
    """Long-term memory of many users.

    Every method takes whose memory it is: `user_id`, without a default; `tenant`, the organisation of the user; and
    `agent_id`, where agents' memories of a user are kept apart.
    """

    def __init__(
        self,
        store: str | Path | None = None,
        model: str | BaseChatModel | Model | None = None,
        preset: str | None = None,
        *,
        encoder: str | Encoder | Embeddings | None = None,
        settings: Settings | None = None,
        chat: ChatSettings | None = None,
        checkpointer: BaseCheckpointSaver[str] | None = None,
    ) -> None:
        """Open a memory.

        Args:
            store: A folder, the `http(s)://` URL of a Chroma server, or "memory:". Else `ENGRAM_STORE`.
            model: "rules", "openai:NAME", any chat model or `Model`. Else `ENGRAM_MODEL`, else "rules".
            preset: "engram", "dimmem", "esmem", "structmem" or "hymem". Else `ENGRAM_PRESET`.
            encoder: What makes vectors; MiniLM unless told otherwise.
            settings: Settings of one's own, in place of a preset's.
            chat: How a chat model is talked to. Else `ENGRAM_CHAT`.
            checkpointer: Where steps are saved; a SQLite file beside the store unless told otherwise.

        Raises:
            InvalidInput: A name that means nothing.
            StoreError: The store cannot be opened.
            ModelUnavailable: The model needs a key that is not there.
        """
        choice = choose(store, model, preset, encoder)
        self.settings = settings or choice.settings
        self.model = choose_model(choice.model, choose_chat(chat))
        self.location = choice.store
        self.store = open_store(choice.store, open_encoder(choice.encoder))
        self._owned = None if checkpointer else open_checkpointer(choice.store)
        self._checkpointer = checkpointer or self._owned
        quick, compressor = RuleModel(), choose_compressor(self.settings.extract)
        reranker = choose_reranker(self.settings.retrieve)
        self.write_graph: WriteGraph = build_write_graph(self.store, self.model, self.settings, compressor=compressor)
        self.read_graph: ReadGraph = build_read_graph(self.store, self.model, quick, self.settings, reranker=reranker)
        writing = build_write_graph(self.store, self.model, self.settings, self._checkpointer, compressor)
        self._runs = WriteRuns(self.store, writing)
        self._reading = build_read_graph(self.store, self.model, quick, self.settings, self._checkpointer, reranker)
        self._closed = False

    def remember(
        self,
        messages: object,
        *,
        user_id: str,
        session_id: str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
        close_session: bool = False,
    ) -> Receipt:
        """Remember messages. What is known already is not stored again.

        A whole history of the session may be sent, or only its newest messages: they are laid over the stored end of
        the session as far as both agree, and what follows is new. So a word that was said before is another turn
        ("ok" after "ok", "fine"), unless it is the last thing stored: then the call counts as sent again. Messages with
        an `external_id`, or a moment of their own, are known wherever they stand, and so is what a system asks.

        Args:
            messages: LangChain messages, role and content mappings, or speaker and text mappings; oldest first.
            session_id: The conversation they belong to; without one, each call is a conversation of its own.
            close_session: Whether the conversation ends here.

        Returns:
            What was stored, known, quarantined, left pending, and what it cost.

        Raises:
            InvalidInput: Nothing is stored.
            StoreError: The store cannot write.
            CompressorUnavailable: Sentences are to be compressed, and nothing can. The turns are stored; see `retry`.
        """
        scope = self._scope(user_id, tenant, agent_id)
        return self._runs.remember(
            remember_request(scope, to_messages(messages), session_id, close_session=close_session)
        )

    def remember_sessions(
        self,
        sessions: Sequence[Session],
        *,
        user_id: str,
        tenant: str = "default",
        agent_id: str | None = None,
        progress: Progress | None = None,
    ) -> Receipt:
        """Remember whole conversations, such as those of a file; each is closed.

        Args:
            sessions: The conversations, oldest first.
            progress: Called with what is done now, how many sessions are done, and how many there are.

        Returns:
            The sum of the sessions' receipts.
        """
        scope = self._scope(user_id, tenant, agent_id)
        requests = [
            remember_request(scope, session.messages, session.session_id, close_session=True)
            for session in to_sessions(sessions)
        ]
        receipts: list[Receipt] = []
        for place, request in enumerate(encoded_ahead(self.store, requests)):
            if progress:
                progress(f"remembering {request.session_id or place + 1}", place, len(sessions))
            receipts.append(self._runs.remember(request))
        if progress:
            progress("remembered", len(sessions), len(sessions))
        return add_receipts(receipts)

    def retry(self, *, user_id: str, tenant: str = "default", agent_id: str | None = None) -> Receipt:
        """Do again what is pending, and only that: a run that was cut off goes on where it was."""
        return self._runs.retry(self._scope(user_id, tenant, agent_id))

    def status(self, user_id: str, *, tenant: str = "default", agent_id: str | None = None) -> Status:
        """Count what is kept for a user, and list what is left to do."""
        scope = self._scope(user_id, tenant, agent_id)
        return status(self.store, scope, self.location, self.settings.preset, self.model.name)

    def show(
        self, kind: Kind, user_id: str, *, tenant: str = "default", agent_id: str | None = None
    ) -> Sequence[BaseModel]:
        """Give everything of one kind that is kept for a user, in order of time."""
        return show(self.store, self._scope(user_id, tenant, agent_id), kind)

    aremember = in_thread(remember)
    aremember_sessions = in_thread(remember_sessions)
    aretry = in_thread(retry)
    astatus = in_thread(status)
    ashow = in_thread(show)

    def close(self) -> None:
        """Let go of the store and the checkpoints. Closing twice is harmless."""
        self._closed = True
        self.store.close()
        if isinstance(self._owned, SqliteSaver):
            self._owned.conn.close()

    def __enter__(self) -> Self:
        """Give the memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    def _scope(self, user_id: str, tenant: str, agent_id: str | None) -> Scope:
        """Say whose memory it is; the way into every method, and shut once the memory is closed."""
        scope = make_scope(user_id, tenant, agent_id)
        if self._closed:
            raise StoreError(f"the memory at {self.location!r} is closed: open it again")
        return scope
