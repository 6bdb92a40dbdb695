"""Choose what the write graph computes with: the default parts, or those that a paper has in their place."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from langgraph_engram.consolidation.pairing import PairFinder
from langgraph_engram.consolidation.resolution import ClusterResolver
from langgraph_engram.extraction.extractor import EVENTS, View
from langgraph_engram.llm.base import Model
from langgraph_engram.paper_settings import UNLIMITED, DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.papers.dimmem import EveryPairFinder, PairResolver, WindowSegmenter, records_view
from langgraph_engram.papers.esmem import AskingSegmenter
from langgraph_engram.papers.hymem import KEY_SENTENCES
from langgraph_engram.papers.structmem import FACTS, RELATIONS, BufferSegmenter, WindowScheduler
from langgraph_engram.segmentation.segmenter import LearnedSegmenter, Segmenter
from langgraph_engram.settings import Settings
from langgraph_engram.stores.base import Store
from langgraph_engram.summarization.scheduling import Scheduler
from langgraph_engram.summarization.sources import LIMITS, SourceLimits

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
    sources: SourceLimits = LIMITS


def write_parts(store: Store, model: Model, settings: Settings) -> WriteParts:
    """Return the parts that the settings ask for."""
    max_turns = settings.segment.max_turns
    parts = WriteParts(
        LearnedSegmenter(store.encoder, max_turns),
        PairFinder(store, settings.update),
        Scheduler(settings.synthesis, writes_new=not model.by_rules),  # quotes of records add nothing to what is found
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
                sources=SourceLimits(paper.seeds, UNLIMITED, UNLIMITED),
            )
        case HyMemSettings() as paper:
            segmenter = LearnedSegmenter(store.encoder, max_turns, has_boundaries=False)
            return replace(parts, segmenter=segmenter, views=(KEY_SENTENCES,) if paper.level1 else ())
    return parts
