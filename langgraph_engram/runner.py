"""Run the write graph: one run of a scope at a time, and what is pending done again.

Everybody in this process who shares the store waits for everybody else's runs of the same scope here. This module
does not know who asks, nor what the arguments of a call look like.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, ParamSpec, TypeVar, cast

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.alignment import name_session, new_turns
from langgraph_engram.embeddings.base import texts_of_turn
from langgraph_engram.formats.requests import retry_request
from langgraph_engram.graphs.write import WriteGraph
from langgraph_engram.nodes.report_run import report_run
from langgraph_engram.prompts.write_answer import UNKNOWN
from langgraph_engram.results import Comparisons, RecallUpdate, Receipt, total
from langgraph_engram.retrieval.citations import is_unknown
from langgraph_engram.schema import Scope
from langgraph_engram.state import RememberRequest, WriteInput, WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.stores.collections import scope_hash

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def detached(method: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Give the same call, out of the run around it. Other context variables, such as those of tracing, stay."""

    @wraps(method)
    def alone(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        with set_config_context({}) as context:
            return context.run(method, *given, **named)

    return alone


def add_receipts(receipts: Sequence[Receipt]) -> Receipt:
    """Add up receipts; the run named is the last one. None gives an empty receipt."""
    counts = Receipt.model_fields.keys() - {"run_id", "usage"}
    sums = {name: sum(getattr(receipt, name) for receipt in receipts) for name in counts}
    entries = [entry for receipt in receipts for entry in receipt.usage.by_node]
    return Receipt(run_id=receipts[-1].run_id if receipts else "", usage=total(entries), **sums)


def receipt_of(state: dict[str, Any]) -> Receipt:
    """Give the receipt of a run as its graph left it; of one that waits for a person, all turns are pending."""
    left = cast(WriteState, state)
    if "receipt" in left:
        return left["receipt"]
    return report_run(left)["receipt"].model_copy(update={"pending": len(left["turns"])})


def comparisons_of(receipt: Receipt) -> Comparisons:
    """Say how many comparisons of vectors the filter saved: the receipts of a whole scope, added up, give its figure.

    DimMem reports 59 % saved on LoCoMo and 75 % on LongMemEval.
    """
    possible, made = receipt.pairs_possible, receipt.pairs_compared
    return Comparisons(all_pairs=possible, made=made, saved=1 - made / possible if possible else 0.0)


MARK = "engram_scope"
"""The key under which a checkpoint's metadata say whose it is."""


def thread_of(run_id: str, scope: Scope) -> RunnableConfig:
    """Name the checkpointed thread of a run, and mark it with whose it is."""
    return {"configurable": {"thread_id": run_id}, "metadata": {MARK: scope_hash(scope)}}


def threads_of(checkpointer: BaseCheckpointSaver[str], scope: Scope) -> list[str]:
    """Give the threads of a scope's runs, newest first: those that were named by `thread_of`."""
    found = checkpointer.list(None, filter={MARK: scope_hash(scope)})
    return list(dict.fromkeys(str(one.config["configurable"]["thread_id"]) for one in found))


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
            runs = list(dict.fromkeys(one.run_id for one in self.store.pending_tasks(scope)))
            waiting = {run_id for run_id in runs if self._awaits_approval(scope, run_id)}
            cut_off = [run_id for run_id in runs if run_id not in waiting and self._is_under_way(scope, run_id)]
            receipts = [self._run(scope, None, run_id) for run_id in cut_off]
            left: dict[str, list[str]] = {}
            pending_tasks = self.store.pending_tasks(scope)
            held = {turn_id for one in pending_tasks if one.run_id in waiting for turn_id in one.turn_ids}
            for one in pending_tasks:
                if one.run_id not in cut_off and held.isdisjoint(one.turn_ids):
                    left.setdefault(one.session_id, []).extend(one.turn_ids)
            receipts += [
                self.remember(retry_request(scope, session_id, turn_ids)) for session_id, turn_ids in left.items()
            ]
        return add_receipts(receipts)

    @detached
    def _run(self, scope: Scope, given: WriteInput | None, run_id: str) -> Receipt:
        with self.store.writing(scope):
            state = self.graph.invoke(given, thread_of(run_id, scope), durability="sync")
        receipt = receipt_of(state)
        if receipt.pending:
            LOG.warning("%d turns are stored but not finished: see status(), then retry()", receipt.pending)
        return receipt

    def _is_under_way(self, scope: Scope, run_id: str) -> bool:
        return bool(self.graph.get_state(thread_of(run_id, scope)).next)

    def _awaits_approval(self, scope: Scope, run_id: str) -> bool:
        return bool(self.graph.get_state(thread_of(run_id, scope)).interrupts)


def in_thread(
    method: Callable[Arguments, Result],
) -> Callable[Arguments, Coroutine[Any, Any, Result]]:
    """Give the twin of `method`, with its name, arguments, errors and docstring."""

    @wraps(method)
    async def twin(*given: Arguments.args, **named: Arguments.kwargs) -> Result:
        return await asyncio.to_thread(method, *given, **named)

    return twin


def iterated_in_thread(
    method: Callable[Arguments, Iterator[Result]],
) -> Callable[Arguments, AsyncGenerator[Result, None]]:
    """Give the twin of a method that yields: all of it runs in one thread, and ends there when nobody listens."""

    @wraps(method)
    async def twin(*given: Arguments.args, **named: Arguments.kwargs) -> AsyncGenerator[Result, None]:
        loop, context, results = asyncio.get_running_loop(), copy_context(), method(*given, **named)
        thread = ThreadPoolExecutor(max_workers=1)
        try:
            while found := await loop.run_in_executor(thread, context.run, _next, results):
                yield found[0]
        finally:
            if isinstance(results, Generator):
                thread.submit(context.run, results.close)  # behind the step that runs: no loop waits for that
            thread.shutdown(wait=False)

    return twin


def _next(results: Iterator[Result]) -> list[Result]:
    """Give the next result alone in a list; an empty one at the end, for StopIteration cannot leave a coroutine."""
    return list(islice(results, 1))


def prefetch_vectors(store: Store, requests: Sequence[RememberRequest]) -> Iterator[RememberRequest]:
    """Give requests in order, each when its turns are encoded, while those of the next one are.

    Args:
        store: Where the requests are written, each before the next one is asked for.
        requests: What is to be remembered.

    Raises:
        EncoderUnavailable: A request's turns cannot be encoded; it is not given.
    """
    if len(requests) < 2:
        yield from requests
        return
    with ThreadPoolExecutor(1, thread_name_prefix="encode-ahead") as pool:
        waiting: list[Future[object]] = []
        for place, request in enumerate(requests):
            if not waiting:
                waiting.append(pool.submit(_encode, store, request))
            waiting.pop().result()
            if place + 1 < len(requests):
                waiting.append(pool.submit(_encode, store, requests[place + 1]))
            yield request


def _encode(store: Store, request: RememberRequest) -> None:
    turns = new_turns(request, request.session_id or name_session(request), store.index(request.scope))
    texts = [text for turn in turns for text in texts_of_turn(turn)]
    if texts:
        store.encoder.encode(texts)


TRYING = "judge_sufficiency"
"""The step whose words are the answer unless they say that light memory does not suffice."""
ANSWERING = "write_answer"
"""The step whose words are the answer."""


def stream_updates(parts: Iterable[Any]) -> Iterator[RecallUpdate]:
    """Tell of the updates and messages that a read graph streams, in order.

    An answer that no model wrote word by word is told whole, just before the result.
    """
    words, written = AnswerStream(), False
    for part in parts:
        mode, update = cast(tuple[str, Any], part)
        if mode == "messages":
            for piece in words.tell(*update):
                written = True
                yield piece
            continue
        words = AnswerStream()
        for done in _steps(update):
            if done.recollection and done.recollection.answer and not written:
                yield RecallUpdate(step=done.step, text=done.recollection.answer)
            yield done


class AnswerStream:
    """The words of one answer. Those that may yet say "I don't know" of light memory are held back."""

    def __init__(self) -> None:
        """Begin with none."""
        self._held = ""
        self._certain = False

    def tell(self, message: BaseMessage, about: Mapping[str, Any]) -> Iterator[RecallUpdate]:
        """Give the words that are certain to be of an answer."""
        step = about.get("langgraph_node")
        if step not in (TRYING, ANSWERING) or not message.text:
            return
        self._held += str(message.text)
        self._certain = self._certain or step == ANSWERING or not may_be_unknown(self._held)
        if self._certain:
            yield RecallUpdate(step=step, text=self._held)
            self._held = ""


def may_be_unknown(begun: str) -> bool:
    """Say whether a text, as far as it is written, says that something is unknown, or may go on to."""
    said = begun.strip().casefold()
    return UNKNOWN.casefold().startswith(said) or is_unknown(said)


def _steps(part: Mapping[str, Mapping[str, Any]]) -> Iterator[RecallUpdate]:
    for step, update in part.items():
        yield RecallUpdate(step=step, recollection=(update or {}).get("recollection"))
