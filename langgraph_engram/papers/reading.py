"""Choose the parts of the read graph that a preset's paper replaces."""

from dataclasses import replace

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.paper_settings import DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.papers.dimmem.reading import DimMemRanker
from langgraph_engram.papers.dimmem.reading import answer_form as dimmem_form
from langgraph_engram.papers.esmem.reading import EsMemRanker
from langgraph_engram.papers.hymem.reading import EXHAUSTIVE, UnitRanker, unit_turns
from langgraph_engram.papers.search import PaperRetriever, Ranker, RecordRanker, as_found
from langgraph_engram.papers.structmem.reading import StructMemRanker, by_speaker
from langgraph_engram.prompts.answer_form import SOURCE, AnswerForm
from langgraph_engram.rerank import Reranker
from langgraph_engram.retrieval.light import ReadParts, default_parts
from langgraph_engram.retrieval.search import ListEnd
from langgraph_engram.settings import Settings


def read_parts(encoder: Encoder, settings: Settings, reranker: Reranker | None = None) -> ReadParts:
    """Return the parts of the preset's paper; those of the default preset where it follows none."""
    if settings.paper is None:
        return default_parts(encoder, settings, reranker)
    routes, end = settings.retrieve.routes, ListEnd(settings.retrieve, reranker)
    form = AnswerForm(layout=as_found, source=SOURCE)
    match settings.paper:
        case DimMemSettings() as numbers:
            retriever = PaperRetriever(encoder, DimMemRanker(routes, numbers.top_k, numbers), end, routes)
            parts = ReadParts(retriever, dimmem_form(numbers))
        case EsMemSettings() as numbers:
            lacking = ["boundary"] if numbers.boundary_k else []
            retriever = PaperRetriever(encoder, EsMemRanker(numbers), end, lacking, numbers.event_passages)
            parts = ReadParts(retriever, form)
        case StructMemSettings() as numbers:
            structmem = StructMemRanker(routes, numbers.top_k, numbers.synthesis_k)
            parts = ReadParts(PaperRetriever(encoder, structmem, end, routes), replace(form, layout=by_speaker))
        case HyMemSettings() as numbers:
            ranker: Ranker = RecordRanker(routes, numbers.top_k) if numbers.level1 else UnitRanker(numbers.top_k)
            parts = ReadParts(
                PaperRetriever(encoder, ranker, end, routes if numbers.level1 else ()),
                replace(form, wording=EXHAUSTIVE, shows_earlier=True),
                turns_around=unit_turns,
                select_batch=numbers.select_batch,
                reflects_on_all=True,
            )
    style = settings.answer.style
    return parts if style == "auto" else replace(parts, form=parts.form.styled(style))
