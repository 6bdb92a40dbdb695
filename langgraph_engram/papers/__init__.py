"""What one paper alone needs, under that paper's name: its fusion, its segmenter, its prompts' order.

A reader of the default path meets none of it: the graphs put these parts in where a preset names a paper.
"""

from dataclasses import replace

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.paper_settings import DimMemSettings, EsMemSettings, HyMemSettings, StructMemSettings
from langgraph_engram.papers import dimmem, esmem, hymem, structmem
from langgraph_engram.papers.search import PaperRetriever, Ranker, RecordRanker, as_found
from langgraph_engram.prompts.write_answer import SHORTEST, SOURCE, AnswerForm
from langgraph_engram.retrieval.light import ReadParts, default_parts
from langgraph_engram.settings import Settings


def read_parts(encoder: Encoder, settings: Settings) -> ReadParts:
    """Return the parts of the preset's paper; those of the default preset where it follows none."""
    if settings.paper is None:
        return default_parts(encoder, settings)
    search, routes = settings.retrieve, settings.retrieve.routes
    form = AnswerForm(layout=as_found, source=SOURCE)
    match settings.paper:
        case DimMemSettings() as paper:
            ranker: Ranker = dimmem.DimMemRanker(routes, paper.top_k, paper)
            layout = dimmem.with_dimensions if paper.shows_dimensions else as_found
            form = replace(form, wording=dimmem.REASONED, layout=layout)
            parts = ReadParts(PaperRetriever(encoder, ranker, search, routes), form, intent_rules=dimmem.INTENT_RULES)
        case EsMemSettings() as paper:
            lacking = ["boundary"] if paper.boundary_k else []
            ranker = esmem.EsMemRanker(paper)
            form = replace(form, wording=SHORTEST)
            parts = ReadParts(PaperRetriever(encoder, ranker, search, lacking, paper.event_passages), form)
        case StructMemSettings() as paper:
            ranker = structmem.StructMemRanker(routes, paper.top_k, paper.synthesis_k)
            form = replace(form, wording=SHORTEST, layout=structmem.by_speaker)
            parts = ReadParts(PaperRetriever(encoder, ranker, search, routes), form)
        case HyMemSettings() as paper:
            ranker = RecordRanker(routes, paper.top_k) if paper.level1 else hymem.UnitRanker(paper.top_k, encoder)
            wording = hymem.LIGHT if settings.deep.sufficiency == "always" else hymem.EXHAUSTIVE
            parts = ReadParts(
                PaperRetriever(encoder, ranker, search, routes if paper.level1 else (), event_turns=hymem.shown_turns),
                replace(form, wording=wording, shows_earlier=True),
                turns_around=hymem.unit_turns,
                select_batch=paper.select_batch,
            )
    style = settings.answer.style
    return parts if style == "auto" else replace(parts, form=parts.form.styled(style))
