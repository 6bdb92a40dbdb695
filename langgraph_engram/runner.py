"""Run the two graphs: each run on a thread of its own, after earlier runs of its scope, whole, streamed or async.

Runs that wait for a person's approval are listed here, and go on with the answer. What a read graph streams is turned
into updates: its steps, and the text of its answer as it is written.
"""

import logging
import os
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from socket import gethostname
from typing import Any, Literal, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command, StateSnapshot, StreamMode

from langgraph_engram.alignment import join_requests, requests_by_session, share_runs, turns_of_run
from langgraph_engram.branches import followed_turns, tips_of
from langgraph_engram.consolidation.approval import problem_of
from langgraph_engram.errors import EncoderUnavailable, EngramError, InvalidInput, StoreError
from langgraph_engram.formats.messages import Session, to_messages
from langgraph_engram.graphs.checkpoints import checkpointed
from langgraph_engram.graphs.read import ReadGraph
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.nodes.report_run import receipt_of
from langgraph_engram.pending import (
    CHOOSE,
    RECEIVE,
    UNFINISHED,
    is_unreceived,
    pending_tasks_by_session,
    pending_tasks_for,
    tasks_to_do,
)
from langgraph_engram.prompts.list_items import ANSWER
from langgraph_engram.prompts.write_answer import MORE, UNKNOWN, is_unknown
from langgraph_engram.requests import check_name, errors_of_sessions, remember_request, retry_request, to_sessions
from langgraph_engram.results import Approval, RecallUpdate, Receipt, Recollection, sums_of, total
from langgraph_engram.schema import Decision, Metadata, PendingTask, Scope
from langgraph_engram.screening import screen
from langgraph_engram.settings import ReceiveSettings
from langgraph_engram.state import RecallRequest, RememberRequest, WriteInput, WriteOutput, WriteState, needs_whole
from langgraph_engram.stores.base import Changes, Store
from langgraph_engram.summarization.choosing import Chooser
from langgraph_engram.tracing import SCOPE_KEY, TracedCall, Tracer, trace_recollection

LOG = logging.getLogger(__name__)
GRAPH_RUN: RunnableConfig = {"run_name": "read graph"}
"""How the runs of the read graph are called in a trace, below the call that they are made for."""

Approves = Literal["approve", "reject"] | bool
Answer = Approves | Mapping[str, Approves]
"""For all decisions, or for each by its id; True approves."""
Progress = Callable[[str, int, int], None]
"""Called with the current step, how many sessions are done, and how many there are."""
LIGHT_ANSWER = "judge_sufficiency"
"""The step whose text is the answer, unless it says that light memory does not suffice."""
DEEP_ANSWER = "write_answer"


def thread_of(run_id: str, scope: Scope) -> RunnableConfig:
    """Return the config of a run's checkpointed thread, marked with its scope."""
    return {"configurable": {"thread_id": run_id}, "metadata": {SCOPE_KEY: scope.digest}}


def threads_of(checkpointer: BaseCheckpointSaver[str], scope: Scope) -> list[str]:
    """Return the ids of the threads that `thread_of` named for a scope, newest first."""
    checkpoints = checkpointer.list(None, filter={SCOPE_KEY: scope.digest})
    return list(dict.fromkeys(str(checkpoint.config["configurable"]["thread_id"]) for checkpoint in checkpoints))


def delete_threads(checkpointer: BaseCheckpointSaver[str], threads: Sequence[str]) -> int:
    """Delete threads; with SQLite also from its write-ahead log."""
    try:
        for thread in threads:
            checkpointer.delete_thread(thread)
    except NotImplementedError:
        return 0
    if isinstance(checkpointer, SqliteSaver):
        with checkpointer.cursor(transaction=False) as cursor:
            checkpointer.conn.commit()
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return len(threads)


@dataclass(frozen=True)
class WriteRunner:
    """Runs of a checkpointed write graph: one run of a scope at a time, among all who share the store in a process."""

    store: Store
    graph: WriteGraph
    settings: ReceiveSettings = field(default_factory=ReceiveSettings)
    """Requests are screened before they are saved in a checkpoint."""
    tracer: Tracer = field(default_factory=Tracer)
    scratch: BaseCheckpointSaver[str] | None = None
    """The graph's checkpointer, if a run's checkpoints are deleted from it once the run is finished."""
    chooser: Chooser | None = None
    """What reads sessions that ended; short ones share a run then, so that they share its calls."""

    def remember(self, request: RememberRequest) -> Receipt:
        """Run a request to its end, after the runs of its scope that are under way; a thread as it was needs no run."""
        request = screen(request, self.settings)
        if request.thread and not request.messages and not request.close_session:
            session_id, index = request.session_id or "", self.store.index(request.scope)
            tips = tips_of(index, session_id, request.thread)
            if not followed_turns(index, session_id, (), request.thread, tips):
                return Receipt(run_id=request.run_id)
        return self.run(request.scope, {"request": request}, request.run_id)

    def remember_sessions(
        self,
        scope: Scope,
        sessions: Sequence[Session],
        progress: Progress | None = None,
        metadata: Metadata | None = None,
    ) -> Receipt:
        """Remember whole conversations, each closed, and return the sum of their receipts. Short ones share a run."""
        requests: list[RememberRequest] = []
        for position, session in enumerate(to_sessions(sessions)):
            with errors_of_sessions([session], position):
                messages = to_messages(session.messages)
                request = remember_request(scope, messages, session.session_id, close_session=True, metadata=metadata)
                requests.append(screen(request, self.settings))
        show = progress or (lambda *_: None)
        receipts, done = list[Receipt](), 0
        for group in share_runs(requests, 2 * self.chooser.settings.read_tokens if self.chooser else 0):
            request = join_requests(group)
            show(f"remembering {request.session_id or done + 1}", done, len(sessions))
            with errors_of_sessions(sessions[done : done + len(group)], done):
                receipts.append(self.remember(request))
            done += len(group)
        show("remembered", len(sessions), len(sessions))
        return add_receipts(receipts)

    def retry(self, scope: Scope, *, skip: bool = False) -> Receipt:
        """Run the pending tasks of a scope; a run that was interrupted continues where it was.

        The tasks are read while no run of the scope is under way, so that a live run is not taken for an interrupted
        one. Runs that wait for a person's approval keep waiting, and so do words that only another's checkpoint holds.
        With `skip`, tasks run one by one, those that were set aside before too, and what meets a fault is set aside.
        """
        with self.store.writing(scope):
            tasks = tasks_to_do(self.store.pending_tasks(scope))
            aside = {task.run_id for task in tasks if task.set_aside}
            states = {run_id: self._state(scope, run_id) for run_id in dict.fromkeys(task.run_id for task in tasks)}
            waiting = {run_id for run_id, state in states.items() if state.interrupts}
            interrupted = [run_id for run_id, state in states.items() if state.next and run_id not in waiting | aside]
            receipts = [self._run_again(scope, None, run_id, skip=skip) for run_id in interrupted]
            tasks, index = tasks_to_do(self.store.pending_tasks(scope)), self.store.index(scope)
            elsewhere = [task for task in tasks if is_unreceived(task, index)]
            awaited = {turn_id for task in tasks if task.run_id in waiting for turn_id in task.turn_ids}
            turns: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
            for task in tasks:
                is_left = task in elsewhere or (not skip if task.set_aside else task.run_id in interrupted)
                if not is_left and awaited.isdisjoint(task.turn_ids):
                    turns[task.session_id, task.pending_id if skip else ""] += task.turn_ids
            requests = [retry_request(scope, session_id, turn_ids) for (session_id, _), turn_ids in turns.items()]
            receipts += [self._run_again(scope, request, request.run_id, skip=skip) for request in requests]
            self._discard_finished(scope)
            left = [task for task in self.store.pending_tasks(scope) if task.set_aside]
        return add_receipts([_receipt_of_left([*elsewhere, *left]), *receipts])

    def improve(self, scope: Scope, budget: int) -> Receipt:
        """Have a model read what was written without one, what is worth most first, while a budget of tokens lasts.

        What it has read is noted, so that the next call goes on where this one ends, also where it was cut off.
        """
        if not (chooser := self.chooser):
            raise InvalidInput("to improve takes a language model and the preset engram: open the memory with model=")
        receipts = list[Receipt]()
        self.store.keep_recalled(scope)
        while (left := budget - sum(receipt.usage.tokens for receipt in receipts)) > 0:
            with self.store.writing(scope):
                parts = chooser.worth_most(self.store.index(scope).as_of(None), left)
                if not parts or chooser.model.capability.is_lacking:
                    break
                turns = [turn for part in parts for turn in part.turns]
                request = retry_request(scope, parts[0].session_id, [turn.turn_id for turn in turns])
                tasks = pending_tasks_by_session(request.run_id, turns, CHOOSE, UNFINISHED)
                with self.store.committing(scope):
                    self.store.commit(scope, Changes(pending_tasks=tasks))
                receipts.append(self.run(scope, {"request": request}, request.run_id))
            if receipts[-1].pending:
                break
        return add_receipts(receipts)

    def _run_again(self, scope: Scope, request: RememberRequest | None, run_id: str, *, skip: bool) -> Receipt:
        """Run pending tasks; with `skip`, set them aside where they meet a fault of this package."""
        try:
            return self.run(scope, {"request": request} if request else None, run_id)
        except (EngramError, OSError):
            raise
        except Exception as error:  # a fault of ours has no name
            if not skip:
                error.add_note("retry(skip=True), or engram retry --skip, does what else is pending")
                raise
            turn_ids = set(request.retry_turn_ids if request else ())
            noted = {"set_aside": True, "reason": f"set aside: {type(error).__name__}: {error}"}
            with self.store.committing(scope):
                tasks = tasks_to_do(self.store.pending_tasks(scope))
                met = [task for task in tasks if task.run_id == run_id or turn_ids.issuperset(task.turn_ids)]
                self.store.commit(scope, Changes(pending_tasks=[task.model_copy(update=noted) for task in met]))
            return Receipt(run_id=run_id)

    def approvals(self, scope: Scope) -> list[Approval]:
        """Return the runs of a scope that wait for approval, oldest first."""
        return [Approval.model_validate(state.interrupts[0].value) for state in self._interrupted(scope)]

    def waiting_decisions(self, scope: Scope) -> list[Decision]:
        """Return the decisions that wait for approval."""
        return [proposal.decision for state in self._interrupted(scope) for proposal in state.values["proposals"]]

    def approve(self, scope: Scope, run_id: str, answer: Answer) -> Receipt:
        """Resume a run with a person's answer; no model is asked again what it was asked before."""
        with self.store.writing(scope):
            waiting = {approval.run_id: approval for approval in self.approvals(scope)}
            if check_name("run_id", run_id, "name a run") not in waiting:
                raise InvalidInput(
                    f"run {run_id!r} waits for no approval here",
                    command="approvals(), or engram approve, lists those that do",
                )
            if problem := problem_of(answer, [decision.decision_id for decision in waiting[run_id].decisions]):
                raise InvalidInput(problem)
            resumed: Command[str] = Command(resume=dict(answer) if isinstance(answer, Mapping) else answer)
            return self.run(scope, resumed, run_id)

    def run(self, scope: Scope, update: WriteInput | Command[str] | None, run_id: str) -> Receipt:
        """Begin a run, or go on with one that was interrupted, after the runs of its scope that are under way."""
        with self.store.writing(scope), self.tracer.call("remember", scope) as call:
            try:
                receipt = call.run(self._receipt_of_run, update, thread_of(run_id, scope))
            except EncoderUnavailable as error:
                self._note_unreceived(scope, run_id, error)
                raise
            counts = receipt.model_dump(include={"stored_turns", "records", "quarantined", "pending"})
            call.add(receipt.usage, **counts)
        if receipt.pending and self._state(scope, run_id).interrupts:
            LOG.info("%d turns are stored, and wait for approval: see approvals(), then approve()", receipt.pending)
        elif receipt.pending:
            notes = "; ".join(receipt.notes)
            LOG.warning("%d turns are stored but not finished (%s): see status(), then retry()", receipt.pending, notes)
        return receipt

    def _receipt_of_run(self, update: WriteInput | Command[str] | None, config: RunnableConfig) -> Receipt:
        """Run the graph, and return the receipt; of a run that waits for approval, all turns are pending."""
        done = self.graph.invoke(update, {**config, "run_name": "write graph"}, durability="sync")
        if "__interrupt__" not in done:
            self._discard([config["configurable"]["thread_id"]])
            return cast(WriteOutput, done)["receipt"]
        left = cast(WriteState, self.graph.get_state(config).values)
        turn_ids = {turn_id for task in left["tasks"] for turn_id in task.turn_ids}
        return receipt_of(left).model_copy(update={"pending": len(turn_ids)})

    def _note_unreceived(self, scope: Scope, run_id: str, error: EncoderUnavailable) -> None:
        """Leave tasks for what only a run's checkpoint has, unless the store has no vector yet and can hold no row."""
        state = self._state(scope, run_id)
        if state.next != (RECEIVE,):
            return
        saver = self.graph.checkpointer
        place = f"thread {run_id} of {getattr(saver, 'path', None) or f'a {type(saver).__name__}'}"
        reason = f"{error}; what was said is in {place} (process {os.getpid()} on {gethostname()}) alone: retry there, "
        sessions = requests_by_session(state.values["request"])
        with self.store.committing(scope), suppress(EncoderUnavailable):
            index, pending = self.store.index(scope), self.store.pending_tasks(scope)
            _, received = turns_of_run(run_id, sessions, index, pending)
            unstored = [(turns, f"{reason}or send it again") for turns in received]
            self.store.commit(scope, Changes(pending_tasks=pending_tasks_for(run_id, RECEIVE, unstored)))

    def _discard_finished(self, scope: Scope) -> None:
        """Delete the checkpoints of runs that ended as a process died, and of those that failed and left no task."""
        if threads := threads_of(self.scratch, scope) if self.scratch else []:
            pending = {task.run_id for task in self.store.pending_tasks(scope)}
            states = {run_id: self._state(scope, run_id) for run_id in threads}
            failed = {run_id for run_id, state in states.items() if any(task.error for task in state.tasks)}
            self._discard([run_id for run_id in threads if not states[run_id].next or run_id in failed - pending])

    def _discard(self, runs: Sequence[str]) -> None:
        """Delete the checkpoints of runs that are finished, unless they are to be kept. What cannot be, stays."""
        if self.scratch is None:
            return
        for run_id in runs:
            try:
                self.scratch.delete_thread(run_id)
            except StoreError as error:
                LOG.warning("the checkpoints of run %s are left, until retry(): %s", run_id, error)

    def _interrupted(self, scope: Scope) -> list[StateSnapshot]:
        """Return the states of the runs that wait for approval, oldest first."""
        runs = dict.fromkeys(task.run_id for task in self.store.pending_tasks(scope) if task.awaits_approval)
        return [state for run_id in runs if (state := self._state(scope, run_id)).interrupts]

    def _state(self, scope: Scope, run_id: str) -> StateSnapshot:
        return self.graph.get_state(thread_of(run_id, scope))


class ReadRunner:
    """Runs of the read graph: searches without checkpoints, recalls with them where somebody keeps them."""

    def __init__(
        self, graph: ReadGraph, checkpointer: BaseCheckpointSaver[str] | None = None, tracer: Tracer | None = None
    ) -> None:
        self._tracer = tracer or Tracer()
        self._search_graph = graph
        self._recall_graph = checkpointed(graph, checkpointer)
        self._checkpointer = checkpointer
        self._erasures = 0

    def search(self, request: RecallRequest) -> Recollection:
        """Run a search."""
        with self._tracer.call("search", request.scope) as call:
            found = call.run(lambda: self._search_graph.invoke({"request": request}, GRAPH_RUN)["recollection"])
            return trace_recollection(call, found)

    def recall(self, request: RecallRequest) -> Recollection:
        """Run a recall to its end, and time its steps."""
        state: dict[str, Any] = {}
        seconds: Counter[str] = Counter()
        with self._tracer.call("recall", request.scope) as call:
            for mode, content in self._parts(call, request, "values", "custom"):
                if mode == "values":
                    state = content
                elif content.get("status") == "done":
                    seconds[content["step"]] += content["seconds"]
            return trace_recollection(call, state["recollection"].model_copy(update={"step_seconds": dict(seconds)}))

    def stream(self, request: RecallRequest) -> Iterator[RecallUpdate]:
        """Run a recall and yield its updates."""
        with (
            self._tracer.call("recall", request.scope) as call,
            closing(self._parts(call, request, "updates", "messages")) as parts,
        ):
            for update in stream_updates(parts):
                if update.recollection:
                    trace_recollection(call, update.recollection)
                yield update

    def _parts(
        self, call: TracedCall, request: RecallRequest, *modes: StreamMode
    ) -> Generator[tuple[str, Any], None, None]:
        """Stream a run, each part made in the context of a call, which a generator does not keep by itself."""
        parts = self._recall_graph.stream(
            {"request": request},
            {**thread_of(request.run_id, request.scope), **GRAPH_RUN},
            stream_mode=list(modes),
            durability="async" if self._checkpointer else None,
        )
        with self._discarded_if_erased(request.run_id):
            while (part := call.run(next, parts, None)) is not None:
                yield cast(tuple[str, Any], part)

    def discard_running(self) -> None:
        """Make the recalls that are under way delete their checkpoints when they end: something is erased now."""
        self._erasures += 1

    @contextmanager
    def _discarded_if_erased(self, run_id: str) -> Iterator[None]:
        """Delete a run's checkpoints if something was erased meanwhile: the run may have read it before."""
        before = self._erasures
        try:
            yield
        finally:
            if self._checkpointer and self._erasures != before:
                delete_threads(self._checkpointer, [run_id])


def _receipt_of_left(tasks: Sequence[PendingTask]) -> Receipt:
    """Return a receipt of tasks that no run does, and warn of them: only others have their words, or they failed."""
    turns = {turn_id for task in tasks for turn_id in task.turn_ids}
    notes = list(dict.fromkeys(f"{task.step}: {task.reason}" for task in tasks))
    if tasks:
        LOG.warning("%d turns stay pending: %s", len(turns), "; ".join(notes))
    return Receipt(run_id="", pending=len(turns), notes=notes)


def add_receipts(receipts: Sequence[Receipt]) -> Receipt:
    """Return the sum of receipts, with the run id of the last one; an empty receipt for none."""
    notes = list(dict.fromkeys(note for receipt in receipts for note in receipt.notes))
    usage = total(entry for receipt in receipts for entry in receipt.usage.by_node)
    run_id = receipts[-1].run_id if receipts else ""
    return Receipt(run_id=run_id, notes=notes, usage=usage, **sums_of(receipts, Receipt))


def stream_updates(parts: Iterable[tuple[str, Any]]) -> Iterator[RecallUpdate]:
    """Yield an update for each step and each chunk of the answer; one that no model wrote in chunks comes whole."""
    answer, streamed, whole = AnswerStream(), False, False
    for mode, content in parts:
        if mode == "messages":
            for update in answer.add(*content):
                streamed = True
                yield update
            continue
        for step, state in content.items():
            whole = needs_whole(state) if state and "intent" in state else whole
            recollection: Recollection | None = (state or {}).get("recollection")
            if recollection and recollection.answer and not streamed:
                yield RecallUpdate(step=step, text=recollection.answer)
            yield RecallUpdate(step=step, recollection=recollection)
        answer = AnswerStream(is_listed=whole)


class AnswerStream:
    """The text of one answer.

    What may be the "I don't know" of light memory is held back, and so is the list before an answer of the whole.
    """

    def __init__(self, *, is_listed: bool = False) -> None:
        self._held = ""
        self._is_answer, self._is_listed = False, is_listed

    def add(self, message: BaseMessage, metadata: Mapping[str, Any]) -> Iterator[RecallUpdate]:
        """Add the text of `message`, and yield all text that certainly belongs to the answer."""
        step = metadata.get("langgraph_node")
        if step not in (LIGHT_ANSWER, DEEP_ANSWER) or not message.text:
            return
        self._held += str(message.text)
        if self._is_listed and step == DEEP_ANSWER:
            if ANSWER not in self._held:
                return
            self._held, self._is_listed = self._held.rpartition(ANSWER)[2].lstrip(), False
        self._is_answer = self._is_answer or step == DEEP_ANSWER or not _may_be_unknown(self._held)
        if self._is_answer:
            text, self._held = _split_before_mark(self._held)
            if text:
                yield RecallUpdate(step=step, text=text)


def _split_before_mark(text: str) -> tuple[str, str]:
    """Return text without `MORE`, and apart from it an end that may turn out to begin another."""
    text = text.replace(MORE, "")
    begun = next((size for size in range(len(MORE) - 1, 0, -1) if text.endswith(MORE[:size])), 0)
    return text[: len(text) - begun], text[len(text) - begun :]


def _may_be_unknown(prefix: str) -> bool:
    """Return whether the beginning of an answer says that it is unknown, or may continue to say so."""
    text = prefix.strip().casefold()
    return UNKNOWN.casefold().startswith(text) or is_unknown(text)
