"""Long-term memory in a handful of calls, over the two graphs.

memory = Memory(store="./engram-data")
memory.remember(messages, user_id="ana", session_id="s1")
memory.recall("Where did I camp?", user_id="ana").answer
"""

from collections.abc import Iterator, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from pydantic import BaseModel

from langgraph_engram.asynchronous import in_thread, iterated_in_thread
from langgraph_engram.config import open_store_and_checkpointer, resolve, resolve_chat, resolve_model, with_writer
from langgraph_engram.doctor import Doctor
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.erasure.erase import Eraser
from langgraph_engram.erasure.selection import make_target
from langgraph_engram.errors import InvalidInput, StoreError
from langgraph_engram.filters import Filters
from langgraph_engram.formats.export import export_file, load_file
from langgraph_engram.formats.messages import Messages, Session, to_messages, to_thread
from langgraph_engram.graphs.checkpoints import checkpointed
from langgraph_engram.graphs.read import build_read_graph
from langgraph_engram.graphs.write import build_write_graph
from langgraph_engram.history import ItemKind, get, history, show, status, undo, update
from langgraph_engram.llm.base import Model
from langgraph_engram.llm.chat import ChatSettings
from langgraph_engram.profile import PROFILE_TOKENS, profile_of
from langgraph_engram.requests import check_budget, make_scope, recall_request, remember_request
from langgraph_engram.results import (
    Approval,
    Diagnosis,
    ErasureReceipt,
    ExportReceipt,
    LoadReceipt,
    Profile,
    RecallUpdate,
    Receipt,
    Recollection,
    RecordHistory,
    Status,
    UndoReceipt,
    UpdateReceipt,
)
from langgraph_engram.rule_model.model import RuleModel
from langgraph_engram.runner import Answer, Progress, ReadRunner, WriteRunner
from langgraph_engram.schema import Branches, Metadata, Record, Scope
from langgraph_engram.settings import AnswerStyle, Settings, Writer
from langgraph_engram.state import Thread
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.summarization.choosing import IMPROVE_TOKENS, Chooser
from langgraph_engram.tracing import Tracer


class Memory(AbstractContextManager["Memory", None], AbstractAsyncContextManager["Memory", None]):
    """Long-term memory of many users.

    Every method takes the scope by its names: `user_id`, without a default; `tenant`, the organisation of the user; and
    `agent_id`, for agents that have memories of a user of their own. `aremember` and so on are asynchronous twins. An
    argument that does not fit, or an id that is not in the scope, is an `InvalidInput`, and then nothing is written.
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
        selector: str | BaseChatModel | Model | None = None,
        writer: Writer | None = None,
    ) -> None:
        """Open a memory.

        Args:
            store: A folder, the `http(s)://` URL of a Chroma server, or "memory:". Else `ENGRAM_STORE`.
            model: "rules", "openai:NAME", any chat model or `Model`. Else `ENGRAM_MODEL`, else "rules".
            preset: "engram", "dimmem", "esmem", "structmem" or "hymem". Else `ENGRAM_PRESET`.
            encoder: Embeds text; all-MiniLM-L6-v2 by default.
            settings: Your own settings, in place of a preset's.
            chat: How a chat model is called. Else `ENGRAM_CHAT`.
            selector: What selects what bears on a message, such as a cheaper model; else `model` does.
            writer: Which sessions that end the model reads: "model" all, "auto" what lasts, "rules" none.
            checkpointer: Keeps the steps of all runs; by default a SQLite file keeps those of unfinished ones.

        Raises:
            StoreError: The store cannot be opened.
            ModelUnavailable: The model needs a key that is not set.
        """
        choice = resolve(store, model, preset, encoder, settings=settings)
        self.settings = with_writer(choice.settings, writer)
        self.model = resolve_model(choice.model, resolve_chat(chat))
        self.location = choice.store
        self.store, self._owned = open_store_and_checkpointer(choice, self.settings.storage, checkpointer)
        self._checkpointer = checkpointer or self._owned
        self.selector = resolve_model(selector, resolve_chat(chat)) if selector else self.model
        self.write_graph = build_write_graph(self.store, self.model, RuleModel(), self.settings)
        self.read_graph = build_read_graph(self.store, self.model, RuleModel(), self.settings, selector=self.selector)
        tracer = Tracer(self.settings.preset, self.settings.trace.text)
        graph = checkpointed(self.write_graph, self._checkpointer)
        chooser = Chooser.of(self.model, self.settings, self.store.encoder)
        self._writes = WriteRunner(self.store, graph, self.settings.receive, tracer, self._owned, chooser)
        self._reads = ReadRunner(self.read_graph, checkpointer, tracer)
        self._eraser = Eraser(self.store, self._checkpointer)
        self._closed = False

    def remember(
        self,
        messages: Messages,
        *,
        user_id: str,
        session_id: str | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
        close_session: bool = False,
        metadata: Metadata | None = None,
        thread: Messages | Thread | None = None,
    ) -> Receipt:
        """Remember messages. Messages that are known are not stored again.

        A whole history of the session may be sent, or only its newest messages: they are aligned with the stored end of
        the session, and what follows is new. A text that was said before is another turn ("ok" after "ok", "fine"),
        unless it is the last turn stored: then the call counts as sent again. Messages with an `external_id` or a time
        of their own are recognised at any position, and so are system messages. A known `external_id` with another text
        is an edit: from then on what was said before is recalled no more.

        Args:
            messages: LangChain messages, or mappings with role and content or with speaker and text; oldest first.
            session_id: The conversation they belong to; by default, each call is a new conversation.
            close_session: Whether the conversation ends here.
            metadata: A flat dict that `filters` can ask for, kept with the turns that are new and their records.
            thread: The whole thread of a graph as its checkpointed state holds it, such as `state["messages"]`: what is
                stored of the session and the thread no longer holds, removed or on a branch that it left, is recalled
                no more, until the thread holds it again (docs/explanation/threads.md). Messages keep their ids.

        Returns:
            Counts of what was stored, known, quarantined and left pending, and the usage.

        Raises:
            StoreError: The store cannot write.
            EncoderUnavailable: The turns have no vectors yet, and wait in the run's checkpoint; see `retry`. In a store
                that never held a vector nothing waits: send it again.
        """
        scope = self._scope(user_id, tenant, agent_id)
        followed = None if thread is None else to_thread(thread)
        said = to_messages(messages, with_ids=thread is not None)
        options: dict[str, Any] = {"close_session": close_session, "metadata": metadata, "thread": followed}
        return self._writes.remember(remember_request(scope, said, session_id, **options))

    def remember_sessions(
        self,
        sessions: Sequence[Session],
        *,
        user_id: str,
        tenant: str = "default",
        agent_id: str | None = None,
        progress: Progress | None = None,
        metadata: Metadata | None = None,
    ) -> Receipt:
        """Remember whole conversations, such as those of a file, each closed; return the sum of their receipts.

        Args:
            sessions: The conversations, oldest first.
            progress: Called with the current step, how many sessions are done, and how many there are.
            metadata: As for `remember`, of all of them.

        Raises:
            EngramError: Sessions, which it names, could not be remembered. Invalid messages fail before any write.
        """
        return self._writes.remember_sessions(self._scope(user_id, tenant, agent_id), sessions, progress, metadata)

    def retry(
        self, *, user_id: str, tenant: str = "default", agent_id: str | None = None, skip: bool = False
    ) -> Receipt:
        """Run the pending tasks of a user, and nothing else; what was interrupted continues where it was.

        With `skip`, what meets a fault of this package is set aside, as `status` says, until a retry with `skip`.
        """
        scope = self._scope(user_id, tenant, agent_id)
        self._eraser.finish(scope)
        return self._writes.retry(scope, skip=skip)

    def improve(
        self, user_id: str, *, budget: int = IMPROVE_TOKENS, tenant: str = "default", agent_id: str | None = None
    ) -> Receipt:
        """Have the model read what was written without one, for so many tokens (docs/decisions/0027)."""
        return self._writes.improve(self._scope(user_id, tenant, agent_id), check_budget(budget))

    def search(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        stop: float | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        filters: Filters | None = None,
        limit: int | None = None,
        select: bool = False,
        thread: Sequence[Any] = (),
        branches: Branches = "current",
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Recollection:
        """Find evidence: what answers a question, or what bears on a request, a plan or a remark.

        Args:
            budget: Tokens of evidence in the result at most.
            stop: How weak a passage ends the list, in [0, 1] of the best; 0 to fill the budget. Else `retrieve.stop`.
            now: The time from which "last week" counts, a datetime or ISO 8601 text, UTC without an offset; by default
                `as_of`, else the newest turn's time.
            as_of: The time as of which memory is read; a date stands for the end of its day. What was said or
                superseded later does not count.
            filters: What is found fulfils them, such as {"session": "s1"} or {"metadata.project": {"$in": ["atlas"]}}
                (docs/guides/filters.md).
            limit: Passages at most.
            select: Whether the model selects what bears on a message, in one call over short lines; a question, and a
                message on which nothing bears, costs no call. Without, no model is asked.
            thread: Messages before the query, or their texts, oldest first: "and for Friday?" is read with them.
            branches: "all" to find as well what was said on branches that their threads abandoned.

        Returns:
            Evidence, best first, as far as it is relevant and fits the budget; no answer. For "thanks" there is none.

        Raises:
            InvalidInput: A selection is asked for, and there is no language model.
        """
        scope = self._scope(user_id, tenant, agent_id)
        if select:
            self.require_selector("select=True")
        asked: dict[str, Any] = {"now": now, "as_of": as_of, "filters": filters, "select": select, "thread": thread}
        options: dict[str, Any] = {"stop": stop, "limit": limit, "branches": branches}
        return self._reads.search(recall_request(query, scope, "search", budget, **asked, **options))

    @property
    def selects(self) -> bool:
        """Whether a language model can select what bears on a message (`search(select=True)`)."""
        return self.settings.retrieve.messages and not self.selector.by_rules

    def require_selector(self, asked: str) -> None:
        """Raise `InvalidInput` where no language model can select, naming what asked for it."""
        if not self.selects:
            raise InvalidInput(f"{asked} needs a language model: open the memory with model= or selector=")

    def recall(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        filters: Filters | None = None,
        branches: Branches = "current",
        tenant: str = "default",
        agent_id: str | None = None,
        answer_style: AnswerStyle | None = None,
    ) -> Recollection:
        """Answer from memory, as deep as it takes. Arguments as for `search`.

        Args:
            answer_style: "auto" for as long as the question asks for, "short" for the fewest words, "full" for full
                sentences; by default the preset's.

        Returns:
            An answer with [n] citing the n-th passage of evidence, a verdict, and the usage.

        Raises:
            ModelUnavailable: The model gave no answer; this says nothing about what is stored.
        """
        asked: dict[str, Any] = {"as_of": as_of, "branches": branches, "answer_style": answer_style}
        scope = self._scope(user_id, tenant, agent_id)
        return self._reads.recall(recall_request(query, scope, "recall", budget, now=now, filters=filters, **asked))

    def stream(
        self,
        query: str,
        *,
        user_id: str,
        budget: int | None = None,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        filters: Filters | None = None,
        branches: Branches = "current",
        tenant: str = "default",
        agent_id: str | None = None,
        answer_style: AnswerStyle | None = None,
    ) -> Iterator[RecallUpdate]:
        """Answer from memory, and stream the steps and the answer's text. Arguments and errors as for `recall`.

        Yields:
            An update for each step that is done, one for each chunk of the answer's text, and last the recollection.
            Text after another step replaces what was streamed before; an answer that no model streams comes whole.
        """
        asked: dict[str, Any] = {"as_of": as_of, "branches": branches, "answer_style": answer_style}
        scope = self._scope(user_id, tenant, agent_id)
        yield from self._reads.stream(recall_request(query, scope, "recall", budget, now=now, filters=filters, **asked))

    def profile(
        self, user_id: str, *, budget: int = PROFILE_TOKENS, tenant: str = "default", agent_id: str | None = None
    ) -> Profile:
        """Return what lasts of what the user said: instructions, constraints, preferences, commitments and so on.

        The text quotes it within the budget of tokens under a heading for each kind, one statement a line with its day
        and the beginning of its id, the most significant and newest of each kind first.
        """
        index = self.store.index(self._scope(user_id, tenant, agent_id)).as_of(None)
        return profile_of(index, check_budget(budget))

    def get(self, record_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None) -> Record:
        """Return a record, whatever its status, by its id or the first characters of it, at least four."""
        return get(self.store, self._scope(user_id, tenant, agent_id), record_id)

    def update(
        self, record_id: str, content: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None
    ) -> UpdateReceipt:
        """Correct what a record says. The old one is kept as part of its history, and never found.

        The sources stay, and of place, reason, purpose, keywords and time what the new text still says. The turns are
        not changed: to erase what was said, see `forget`. Syntheses over it are pending until `retry`.

        Args:
            content: The whole text of the record from now on.

        Raises:
            InvalidInput: The record is not active, or a passage of a message; or the text is empty.
        """
        scope = self._scope(user_id, tenant, agent_id)
        with self.store.writing(scope):
            return update(self.store, scope, record_id, content, self.settings.receive)

    def undo(self, run_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None) -> UndoReceipt:
        """Take back what a run merged and superseded. Nothing is deleted, and undoing twice changes nothing.

        Syntheses of what is taken back are pending until `retry` rewrites them.

        Args:
            run_id: The run, by its id in a receipt or a decision.

        Raises:
            InvalidInput: A later run builds on what it did, or waits for approval to.
        """
        scope = self._scope(user_id, tenant, agent_id)
        with self.store.writing(scope):
            return undo(self.store, scope, run_id, self._writes.waiting_decisions(scope))

    def history(
        self, record_id: str, *, user_id: str, tenant: str = "default", agent_id: str | None = None
    ) -> RecordHistory:
        """Return the lineage of a record: its sources, itself and its successors, with the decisions between them."""
        return history(self.store, self._scope(user_id, tenant, agent_id), record_id)

    def approvals(self, user_id: str, *, tenant: str = "default", agent_id: str | None = None) -> list[Approval]:
        """Return the runs that wait for a person's approval, with their decisions."""
        return self._writes.approvals(self._scope(user_id, tenant, agent_id))

    def approve(
        self, run_id: str, answer: Answer, *, user_id: str, tenant: str = "default", agent_id: str | None = None
    ) -> Receipt:
        """Resume a run that waits: "approve" or True, "reject" or False, for all of it or each decision by its id."""
        return self._writes.approve(self._scope(user_id, tenant, agent_id), run_id, answer)

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

        With turns goes all that rests on them or names them, and the checkpoints of every run of this memory that holds
        them. `retry` extracts anew from the other turns of a record that goes, and rewrites a synthesis that goes. A
        record that is forgotten by itself leaves its source turns, and is not extracted from them again. What is
        forgotten is not blocked: said again, it is remembered again.

        Args:
            session_id: The session to forget; with `turn_id`, the one that holds the turn.
            turn_id: The turn to forget, by its id here or in its source.
            record_id: The record to forget, with the records it was merged from and into.

        Returns:
            Counts of what was erased, by kind; what is pending; and the residue, where anything is still found.

        Raises:
            StoreError: It failed, or was done only in part; the same call again, or `retry`, does the rest.
        """
        self._reads.discard_running()
        return self._eraser.forget(self._scope(user_id, tenant, agent_id), make_target(session_id, turn_id, record_id))

    def status(self, user_id: str, *, tenant: str = "default", agent_id: str | None = None) -> Status:
        """Count what is stored for a user, and list the pending tasks."""
        scope = self._scope(user_id, tenant, agent_id)
        return status(self.store, scope, store=self.location, preset=self.settings.preset, model=self.model.name)

    def show(
        self,
        kind: ItemKind,
        user_id: str,
        *,
        filters: Filters | None = None,
        limit: int | None = None,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> Sequence[BaseModel]:
        """Return what is stored of one kind for a user, in order of time; of "profile", as `profile` does.

        Args:
            filters: As for `search`.
            limit: The newest items of that number only; of a profile, the first.
        """
        return show(self.store, self._scope(user_id, tenant, agent_id), kind, filters, limit)

    def export(
        self,
        path: str | Path,
        *,
        user_id: str | None = None,
        everyone: bool = False,
        tenant: str = "default",
        agent_id: str | None = None,
    ) -> ExportReceipt:
        """Write what is stored of a user, or of everyone, to JSON lines, .gz or not (docs/guides/export.md)."""
        scope = None if user_id is None else self._scope(user_id, tenant, agent_id)
        return export_file(self._store(), Path(path), scope, everyone=everyone)

    def load(
        self, path: str | Path, *, user_id: str | None = None, tenant: str = "default", agent_id: str | None = None
    ) -> LoadReceipt:
        """Load a file of `export`. Loading twice adds nothing; no model is asked.

        Args:
            user_id: Whose memory it becomes; by default everybody keeps their own.
        """
        return load_file(self._store(), Path(path), None if user_id is None else self._scope(user_id, tenant, agent_id))

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """Examine the whole store without a model, and mend what its turns can rebuild (docs/guides/export.md)."""
        return Doctor(self._store(), self._checkpointer, self.settings, fix).run()

    aremember = in_thread(remember)
    aremember_sessions = in_thread(remember_sessions)
    aretry = in_thread(retry)
    aimprove = in_thread(improve)
    asearch = in_thread(search)
    arecall = in_thread(recall)
    astream = iterated_in_thread(stream)
    aprofile = in_thread(profile)
    aget = in_thread(get)
    aupdate = in_thread(update)
    aundo = in_thread(undo)
    ahistory = in_thread(history)
    aapprovals = in_thread(approvals)
    aapprove = in_thread(approve)
    aforget = in_thread(forget)
    astatus = in_thread(status)
    ashow = in_thread(show)
    aexport = in_thread(export)
    aload = in_thread(load)
    adoctor = in_thread(doctor)

    def close(self) -> None:
        """Close the store and the checkpoints, if they are open."""
        self._closed = True
        self.store.close()
        if isinstance(self._owned, SqliteSaver):
            self._owned.conn.close()

    aclose = in_thread(close)

    def __exit__(self, *raised: object) -> None:
        self.close()

    async def __aexit__(self, *raised: object) -> None:
        await self.aclose()

    def _scope(self, user_id: str, tenant: str, agent_id: str | None) -> Scope:
        """Return the scope of a call; an error where no user is named, a name is empty, or the memory is closed."""
        self._store()
        return make_scope(user_id, tenant, agent_id)

    def _store(self) -> ChromaStore:
        if self._closed:
            raise StoreError(f"the memory at {self.location!r} is closed: open it again")
        return self.store
