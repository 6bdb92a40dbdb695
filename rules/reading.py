"""Read an answer off evidence without a model: a date where a time is asked for, else the words that were said."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.language.times import name_span
from langgraph_engram.rules.coverage import coverage, covering_order, is_about, needed_stems, piece_text
from langgraph_engram.schema import Evidence, Intent

SEVERAL = re.compile(
    r"^\W*(?:what|which)\s+(?:are|were|do|does|did|has|have)?\s*(?:\w+\s){0,3}(?:\w+(?:ies|[^s]s))\b|\bhow many\b|"
    r"\bboth\b|\bin common\b",
    re.IGNORECASE,
)
"""Queries that ask for several things."""
MOST_PIECES = 3
CLOSE = 0.6
"""Share of the best piece's coverage from which a further piece joins a list."""


@dataclass(frozen=True)
class Reading:
    """An answer read off evidence, what it rests on, and how much of the query that covers."""

    answer: str
    cited: tuple[int, ...]
    """Numbers of the evidence, from 1."""
    coverage: float
    """Share of what the query names that the cited pieces mention, in [0, 1]."""
    about: bool
    """Whether the best piece is about a person the query names."""


def read(query: str, intent: Intent, evidence: Sequence[Evidence]) -> Reading:
    """Read the answer that the evidence supports best.

    Args:
        query: The question as it was put.
        intent: What it asks for.
        evidence: Pieces, best first; none gives an empty answer.
    """
    if not evidence:
        return Reading(answer="", cited=(), coverage=0.0, about=False)
    order = covering_order(query, intent, evidence)
    needed = needed_stems(query, intent)
    best = order[0]
    chosen = _several(order, needed, evidence) if SEVERAL.search(query) else [best]
    told = [f"{_tell(evidence[place], intent)} [{place + 1}]" for place in chosen]
    return Reading(
        answer=" ".join(told),
        cited=tuple(place + 1 for place in chosen),
        coverage=coverage(needed, [evidence[place] for place in chosen]),
        about=is_about(evidence[best], intent),
    )


def _several(order: Sequence[int], needed: set[str], evidence: Sequence[Evidence]) -> list[int]:
    least = CLOSE * coverage(needed, [evidence[order[0]]])
    close = [place for place in order if coverage(needed, [evidence[place]]) >= least]
    return close[:MOST_PIECES]


def _tell(piece: Evidence, intent: Intent) -> str:
    when = _when(piece) if intent.answer_dimension == "time" else ""
    return f"{when} ({piece_text(piece)})" if when else piece_text(piece)


def _when(piece: Evidence) -> str:
    record = piece.record
    if record is None:
        return ""
    if record.event_start and record.event_end:
        return name_span(record.event_start, record.event_end)
    return name_span(record.mentioned_at, record.mentioned_at) if record.mentioned_at else ""
