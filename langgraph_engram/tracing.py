"""Trace the calls of a memory, as LangChain traces anything: below the run around them, to its handlers.

A call is a run named "search", "recall" or "remember". Its metadata have the preset and a hash of the scope, its output
the verdict and counts of evidence, calls and tokens: no text. Where `trace.text` allows it, the runs of the graph are
below it, and in them retrieval as a run of the type retriever with its documents, and what the model was asked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import Context
from dataclasses import dataclass, field
from typing import Any

from langchain_core.callbacks import BaseCallbackManager, CallbackManager, Callbacks
from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import set_config_context, var_child_runnable_config
from langsmith import tracing_context

from langgraph_engram.asynchronous import Arguments, Result
from langgraph_engram.filters import join_metadata
from langgraph_engram.results import Recollection, Usage
from langgraph_engram.schema import Evidence, Scope

TAG = "engram"
SCOPE_KEY = "engram_scope"
"""The key in the metadata of a run or a checkpoint that holds the hash of its scope."""
STREAMS = "langgraph."
"""How the modules of LangGraph's own handlers begin: they feed the streams of the run around, and ours stay out."""


@dataclass
class TracedCall:
    """A call that is traced."""

    context: Context
    """Where the graph is run: below this call, and apart from the graph around it."""
    shows_text: bool
    outputs: dict[str, Any] = field(default_factory=dict)

    def run(
        self, function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
    ) -> Result:
        """Call a function in the context of the call."""

        def apart() -> Result:
            with nullcontext() if self.shows_text else tracing_context(enabled=False):
                return function(*arguments, **named)

        return self.context.run(apart)

    def add(self, usage: Usage, **outputs: Any) -> None:
        """Say what came of the call, and what it cost."""
        self.outputs = {**outputs, "calls": usage.calls, "tokens": usage.tokens}


@dataclass(frozen=True)
class Tracer:
    """Trace the calls of a memory."""

    preset: str = ""
    shows_text: bool = True

    @contextmanager
    def call(self, name: str, scope: Scope) -> Iterator[TracedCall]:
        """Trace a call for a scope, to its end or its error."""
        manager = CallbackManager.configure(
            inheritable_callbacks=handlers_around(),
            inheritable_tags=[TAG],
            inheritable_metadata={"engram_preset": self.preset, SCOPE_KEY: scope.digest},
        )
        run = manager.on_chain_start(None, {}, name=name)
        try:
            with set_config_context({"callbacks": run.get_child() if self.shows_text else []}) as context:
                traced = TracedCall(context, self.shows_text)
                yield traced
        except GeneratorExit:
            run.on_chain_end({"ended": "by the reader"})
            raise
        except BaseException as error:
            run.on_chain_error(error if self.shows_text else RuntimeError(type(error).__name__))
            raise
        run.on_chain_end(traced.outputs)


@contextmanager
def retrieval(query: str) -> Iterator[list[Evidence]]:
    """Trace a retrieval below the node that runs; the caller puts what was found into the list."""
    manager = CallbackManager.configure(inheritable_callbacks=_callbacks_around())
    run = manager.on_retriever_start(None, query, name="retrieve")
    found: list[Evidence] = []
    try:
        yield found
    except BaseException as error:
        run.on_retriever_error(error)
        raise
    run.on_retriever_end([document_of(evidence) for evidence in found] if run.handlers else [])


def document_of(evidence: Evidence) -> Document:
    """Return evidence as a document, under its own id.

    Its metadata are JSON: what is below, and what it was written with, under its own keys where they are none of these.
    """
    moments = [turn.said_at for turn in evidence.turns if turn.said_at]
    written = evidence.record.metadata if evidence.record else join_metadata(turn.metadata for turn in evidence.turns)
    metadata = {
        **written,
        "record_id": evidence.record.record_id if evidence.record else None,
        "synthesis_id": evidence.synthesis_id,
        "turn_ids": [turn.turn_id for turn in evidence.turns],
        "session_ids": list(dict.fromkeys(turn.session_id for turn in evidence.turns)),
        "said_at": min(moments).isoformat() if moments else None,
        "score": evidence.score,
        "relevance": evidence.relevance,
        "routes": evidence.routes,
    }
    return Document(id=evidence.evidence_id, page_content=evidence.text, metadata=metadata)


def trace_recollection(call: TracedCall, found: Recollection) -> Recollection:
    """Say in a trace what a search or a recall found, and return it."""
    call.add(found.usage, verdict=found.verdict, evidence=len(found.evidence), rounds=found.rounds)
    return found


def _callbacks_around() -> Callbacks:
    return (var_child_runnable_config.get() or RunnableConfig()).get("callbacks")


def handlers_around() -> Callbacks:
    """Return the handlers of the run around, as its child has them, without those that feed LangGraph's streams."""
    callbacks = _callbacks_around()
    if not isinstance(callbacks, BaseCallbackManager):
        return [handler for handler in callbacks or () if not type(handler).__module__.startswith(STREAMS)]
    manager = callbacks.copy()
    for handler in callbacks.handlers:
        if type(handler).__module__.startswith(STREAMS):
            manager.remove_handler(handler)
    return manager
