"""Wire the write graph: receive, segment, extract, verify, filter_candidates, consolidate, persist, synthesize.

What `consolidate` decides, `persist` carries out; between them a person may be asked. Where another run stored
near-duplicates or changed records meanwhile, `persist` writes nothing, and the run looks again. A retry goes the same
way: `receive` says what is left to do, and a step that has nothing to do does nothing. A preset that decides nothing
has no such boxes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph

from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.consolidation.resolution import ClusterResolver
from langgraph_engram.extraction.extractor import EVENTS, Extractor, View
from langgraph_engram.graphs.checkpoints import with_known_types
from langgraph_engram.graphs.instrumentation import EntryNode, InstrumentedGraph
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.approve_updates import ApproveUpdates
from langgraph_engram.nodes.consolidate import Consolidate
from langgraph_engram.nodes.extract import Extract
from langgraph_engram.nodes.filter_candidates import FilterCandidates
from langgraph_engram.nodes.persist import Persist
from langgraph_engram.nodes.receive import Receive
from langgraph_engram.nodes.report_run import ReportRun
from langgraph_engram.nodes.segment import Segment
from langgraph_engram.nodes.synthesize import Synthesize
from langgraph_engram.nodes.verify import Verify
from langgraph_engram.paper_settings import DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.papers.compression import Compressor
from langgraph_engram.papers.dimmem import EveryPairFinder, PairResolver, WindowSegmenter, records_view
from langgraph_engram.papers.esmem import AskingSegmenter
from langgraph_engram.papers.hymem import KEY_SENTENCES
from langgraph_engram.papers.structmem import FACTS, RELATIONS, BufferSegmenter, WindowScheduler
from langgraph_engram.segmentation.segmenter import LearnedSegmenter, Segmenter
from langgraph_engram.settings import Settings
from langgraph_engram.state import WriteInput, WriteOutput, WriteState
from langgraph_engram.stores.base import Store
from langgraph_engram.summarization.choosing import Chooser
from langgraph_engram.summarization.scheduling import Scheduler
from langgraph_engram.summarization.writing import NO_HISTORY, History

WriteGraph = CompiledStateGraph[WriteState, None, WriteInput, WriteOutput]
CLUSTERS = ClusterResolver()


@dataclass(frozen=True)
class WriteParts:
    """What the boxes of the write graph compute with."""

    segmenter: Segmenter
    finder: PairFinder
    scheduler: Scheduler
    views: Sequence[View] = (EVENTS,)
    """What is asked of the turns."""
    resolver: ClusterResolver = CLUSTERS
    history: History = NO_HISTORY
    """What a narrative goes back to."""
    chooser: Chooser | None = None
    """What reads sessions that ended with the model, where rules write all else."""


def write_parts(store: Store, model: Model, settings: Settings) -> WriteParts:
    """Return the parts that the settings ask for."""
    max_turns = settings.segment.max_turns
    chooser = Chooser.of(model, settings, store.encoder)
    parts = WriteParts(
        LearnedSegmenter(store.encoder, max_turns),
        PairFinder(store, settings.update),
        Scheduler(settings.synthesis, writes_new=chooser is not None and chooser.reads_ended),
        chooser=chooser,
    )
    match settings.paper:
        case DimMemSettings() as paper:
            return replace(
                parts,
                segmenter=WindowSegmenter(paper),
                views=(records_view(paper),),
                finder=EveryPairFinder(store, settings.update, paper.all_pairs),
                resolver=PairResolver(),
            )
        case EsMemSettings() as paper:
            return replace(parts, segmenter=AskingSegmenter(model, store.encoder, max_turns, paper), views=())
        case StructMemSettings() as paper:
            return replace(
                parts,
                segmenter=BufferSegmenter(paper),
                views=(FACTS, RELATIONS) if paper.relations else (FACTS,),
                scheduler=WindowScheduler(settings.synthesis),
                history=History(paper.seeds, store.encoder if paper.joined_query else None),
            )
        case HyMemSettings() as paper:
            segmenter = LearnedSegmenter(
                store.encoder, max_turns, has_boundaries=False, shares_turns=True, waits=paper.waits
            )
            return replace(parts, segmenter=segmenter, views=(KEY_SENTENCES,) if paper.level1 else ())
    return parts


def build_write_graph(
    store: Store,
    model: Model,
    rule_model: Model,
    settings: Settings,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    entry: EntryNode | None = None,
) -> WriteGraph:
    """Build the graph that remembers.

    Args:
        model: What writes as the preset's paper says, and for `engram` says what lasts of sessions that ended.
        rule_model: What writes all else of `engram`.
        checkpointer: None for a graph that another one embeds, or that a server runs.
        entry: The node before the first step, where the graph is served.
    """
    parts = write_parts(store, model, settings)
    writer = model if settings.paper else rule_model
    paper = settings.paper
    shorten = None
    if isinstance(paper, DimMemSettings | StructMemSettings) and paper.compression < 1:
        shorten = Compressor(paper)
    extractor = Extractor(writer, parts.views, shorten)
    graph = InstrumentedGraph("remember", WriteState, WriteInput, WriteOutput, entry)
    graph.add_node("receive", Receive(store, settings.extract.date_order, settings.receive))
    graph.add_node("segment", Segment(store, parts.segmenter))
    graph.add_node("extract", Extract(store, extractor, settings.extract, parts.segmenter))
    graph.add_node("verify", Verify(store, settings.verify, settings.extract))
    graph.add_node("filter_candidates", FilterCandidates(store, parts.finder))
    if settings.update.enabled:
        graph.add_node("consolidate", Consolidate(store, writer, settings.update, settings.verify, parts.resolver))
        graph.add_node("approve_updates", ApproveUpdates(store))
    graph.add_node("persist", Persist(store, parts.segmenter, parts.scheduler, parts.finder))
    synthesize = Synthesize(store, model, settings.synthesis, parts.scheduler, parts.history, parts.chooser)
    graph.add_node("synthesize", synthesize)
    graph.add_node("report_run", ReportRun(store))
    graph.begin_at("receive")
    graph.add_conditional_edges("receive", after_receive)
    graph.add_edge("segment", "extract")
    graph.add_edge("extract", "verify")
    graph.add_edge("verify", "filter_candidates")
    if settings.update.enabled:
        graph.add_conditional_edges("filter_candidates", after_filter)
        graph.add_conditional_edges("consolidate", after_consolidate)
        graph.add_edge("approve_updates", "persist")
        graph.add_conditional_edges("persist", after_persist)
    else:
        graph.add_edge("filter_candidates", "persist")
        graph.add_edge("persist", "synthesize")
    graph.add_edge("synthesize", "report_run")
    graph.add_edge("report_run", END)
    return graph.compile(checkpointer=with_known_types(checkpointer), name="remember")


def after_receive(state: WriteState) -> Literal["segment", "report_run"]:
    """Go on when there is something to do, or a session to close."""
    return "segment" if state["tasks"] or state["request"].close_session else "report_run"


def after_filter(state: WriteState) -> Literal["consolidate", "persist"]:
    """Decide only where records resemble one another."""
    return "consolidate" if state["pairs"] else "persist"


def after_consolidate(state: WriteState) -> Literal["approve_updates", "persist"]:
    """Ask a person where a decision waits for one."""
    return "approve_updates" if any(proposal.waits for proposal in state["proposals"]) else "persist"


def after_persist(state: WriteState) -> Literal["filter_candidates", "synthesize"]:
    """Look for near-duplicates again where another run changed or stored some meanwhile."""
    return "filter_candidates" if state["is_overtaken"] else "synthesize"
