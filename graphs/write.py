"""Wire the write graph: receive, segment, extract, verify, filter_candidates, consolidate, persist, synthesize.

What `consolidate` decides, `apply_updates` carries out; between them a person may be asked. Where another run stored
near-duplicates or changed records meanwhile, `persist` writes nothing, and the run looks again. A retry goes the same
way, and each step does what is pending of it; `describe_events` and `reload_records` are there for a retry alone. A
preset that decides nothing, or describes nothing, has no such boxes.
"""

from typing import Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph

from langgraph_engram.compression import Compressor
from langgraph_engram.extraction.extractor import Extractor
from langgraph_engram.graphs.checkpoints import with_known_types
from langgraph_engram.graphs.instrumentation import EntryNode, InstrumentedGraph, add_entry
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.apply_updates import ApplyUpdates
from langgraph_engram.nodes.approve_updates import ApproveUpdates
from langgraph_engram.nodes.consolidate import Consolidate
from langgraph_engram.nodes.describe_events import DescribeEvents
from langgraph_engram.nodes.extract import Extract
from langgraph_engram.nodes.filter_candidates import FilterCandidates
from langgraph_engram.nodes.persist import Persist
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.nodes.reload_records import ReloadRecords
from langgraph_engram.nodes.report_run import report_run
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.nodes.synthesize import Synthesize
from langgraph_engram.nodes.verify import Verify
from langgraph_engram.pending import turns_to_describe
from langgraph_engram.settings import Settings, SynthesisSettings
from langgraph_engram.state import WriteInput, WriteOutput, WriteState
from langgraph_engram.stores.base import Store

WriteGraph = CompiledStateGraph[WriteState, None, WriteInput, WriteOutput]


def build_write_graph(
    store: Store,
    model: Model,
    settings: Settings,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    compressor: Compressor | None = None,
    entry: EntryNode | None = None,
) -> WriteGraph:
    """Build the graph that remembers.

    Args:
        store: Where memories are kept.
        model: What answers the graph's questions.
        settings: A preset, or one with changes.
        checkpointer: Where each step is saved; None for a graph that another one embeds, or that a server runs.
        compressor: What shortens the sentences that `extract` asks about; None to ask about what was said.
        entry: The node before the first step, where the graph is served.
    """
    extractor = Extractor(model, settings.extract, compressor=compressor)
    graph = InstrumentedGraph(
        "remember",
        WriteState,
        entry.context_schema if entry else None,
        input_schema=entry.input_schema if entry else WriteInput,
        output_schema=WriteOutput,
    )
    synthesis = _synthesis_settings(settings.synthesis, model)
    decides, describes = settings.update.enabled, settings.segment.describe != "none"
    graph.add_node("receive", Receive(store, settings.extract.date_order, compressor, settings.receive))
    graph.add_node("segment", Segment(store, model, settings.segment))
    if describes:
        graph.add_node("describe_events", DescribeEvents(store, model, settings.segment))
    graph.add_node("extract", Extract(store, extractor, settings.extract, settings.segment))
    graph.add_node("verify", Verify(store, settings.verify, settings.extract, settings.segment))
    if decides:
        graph.add_node("reload_records", ReloadRecords(store))
    graph.add_node("filter_candidates", FilterCandidates(store, settings.update))
    if decides:
        graph.add_node("consolidate", Consolidate(store, model, settings.update, settings.verify))
        graph.add_node("approve_updates", ApproveUpdates(store))
        graph.add_node("apply_updates", ApplyUpdates(store))
    graph.add_node("persist", Persist(store, settings.segment, synthesis, settings.update))
    graph.add_node("synthesize", Synthesize(store, model, synthesis, extractor.capability, settings.verify.enabled))
    graph.add_node("report_run", report_run)
    add_entry(graph, entry, "receive")
    graph.add_conditional_edges("receive", after_receive)
    if describes:
        graph.add_conditional_edges("segment", after_segment)
        graph.add_edge("describe_events", "extract")
    else:
        graph.add_edge("segment", "extract")
    graph.add_edge("extract", "verify")
    if decides:
        graph.add_conditional_edges("verify", after_verify)
        graph.add_edge("reload_records", "filter_candidates")
        graph.add_conditional_edges("filter_candidates", after_filter)
        graph.add_conditional_edges("consolidate", after_consolidate)
        graph.add_edge("approve_updates", "apply_updates")
        graph.add_edge("apply_updates", "persist")
        graph.add_conditional_edges("persist", after_persist)
    else:
        graph.add_edge("verify", "filter_candidates")
        graph.add_edge("filter_candidates", "persist")
        graph.add_edge("persist", "synthesize")
    graph.add_edge("synthesize", "report_run")
    graph.add_edge("report_run", END)
    return cast(WriteGraph, graph.compile(checkpointer=with_known_types(checkpointer), name="remember"))


def _synthesis_settings(settings: SynthesisSettings, model: Model) -> SynthesisSettings:
    """Return the settings without new syntheses where those are a language model's work, and rules stand for one."""
    is_silent = settings.new_by == "models" and model.name == "rules"
    return settings.model_copy(update={"new_by": "none"}) if is_silent else settings


def after_receive(state: WriteState) -> Literal["segment", "report_run"]:
    """Go on when there is something new to keep, something to retry, or a session to close."""
    return "segment" if state["turns"] or state.get("retried", []) or state["request"].close_session else "report_run"


def after_segment(state: WriteState) -> Literal["describe_events", "extract"]:
    """Describe stored events again where a retry is to."""
    return "describe_events" if turns_to_describe(state.get("retried", [])) else "extract"


def after_verify(state: WriteState) -> Literal["reload_records", "filter_candidates"]:
    """Reload stored records where a retry is to decide on them."""
    is_retried = any(task.step == "consolidate" for task in state.get("retried", []))
    return "reload_records" if is_retried else "filter_candidates"


def after_filter(state: WriteState) -> Literal["consolidate", "persist"]:
    """Decide only where records resemble one another."""
    return "consolidate" if state["pairs"] else "persist"


def after_consolidate(state: WriteState) -> Literal["approve_updates", "apply_updates"]:
    """Ask a person where a decision waits for one."""
    return "approve_updates" if any(proposal.waits for proposal in state["proposals"]) else "apply_updates"


def after_persist(state: WriteState) -> Literal["filter_candidates", "synthesize"]:
    """Look for near-duplicates again where another run changed or stored some meanwhile."""
    return "filter_candidates" if state.get("recheck") else "synthesize"
