"""Read an answer off evidence without a model: a date where a time is asked for, else the words that were said."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langgraph_engram.language.sentences import ends_asking, split_sentences
from langgraph_engram.language.times import find_times, name_span, resolve_times
from langgraph_engram.language.tokens import content_stems
from langgraph_engram.rules.coverage import coverage, covering_order, is_about, needed_stems
from langgraph_engram.schema import Evidence, Intent

SEVERAL = re.compile(
    r"^\W*(?:what|which)\s+(?:are|were)\b|\bhow many\b|\bboth\b|\bin common\b|"
    r"^\W*(?:what|which)\s+(?:(?!is\b|was\b|did\b|does\b|has\b|had\b)\w+\s+){0,2}\w+(?:ies|[^su\W]s)\s+"
    r"(?:are|were|do|does|did|has|have|had|can)\b",
    re.IGNORECASE,
)
"""Queries that ask for several things."""
MOST_PIECES = 3
NEAR = 0.75
"""Share of the best piece's score from which a newer piece that covers as much takes its place."""
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
    best = newest_equal(order, needed, evidence)
    chosen = _several(order, needed, evidence) if SEVERAL.search(query) else [best]
    told = [f"{_tell(evidence[place], intent, needed)} [{place + 1}]" for place in chosen]
    return Reading(
        answer=" ".join(told),
        cited=tuple(place + 1 for place in chosen),
        coverage=coverage(needed, [evidence[place] for place in chosen]),
        about=is_about(evidence[best], intent),
    )


def newest_equal(order: Sequence[int], needed: set[str], evidence: Sequence[Evidence]) -> int:
    """Give the newest of the pieces that were found nearly as well as the best and cover as much: newest wins.

    Args:
        order: Places of evidence, best first; at least one.
        needed: What the query names.
        evidence: The pieces.
    """
    best = evidence[order[0]]
    covers = coverage(needed, [best])
    near = [
        place
        for place in order
        if evidence[place].score >= NEAR * best.score and coverage(needed, [evidence[place]]) >= covers
    ]
    return max(near, key=lambda place: (_mentioned(evidence[place]), -order.index(place)))


def _mentioned(piece: Evidence) -> float:
    moments = [piece.record.mentioned_at] if piece.record else [turn.said_at for turn in piece.turns]
    return max((moment.timestamp() for moment in moments if moment), default=0.0)


def _several(order: Sequence[int], needed: set[str], evidence: Sequence[Evidence]) -> list[int]:
    least = CLOSE * coverage(needed, [evidence[order[0]]])
    close = [place for place in order if coverage(needed, [evidence[place]]) >= least]
    return close[:MOST_PIECES]


def _tell(piece: Evidence, intent: Intent, needed: set[str]) -> str:
    said = piece.record.content if piece.record else _said(piece, needed)
    return (_when(piece, said) if intent.answer_dimension == "time" else "") or said


def _said(piece: Evidence, needed: set[str]) -> str:
    """Give the sentence of a piece's turns that covers most of what the query names, under its speaker's name."""
    sentences = [
        f"{turn.speaker}: {resolve_times(sentence, turn.said_at)}"
        for turn in piece.turns
        for sentence in split_sentences(turn.text)
    ]
    told = [sentence for sentence in sentences if not ends_asking(sentence)] or sentences
    return max(told, key=lambda sentence: len(needed & set(content_stems(sentence))), default=piece.text)


def _when(piece: Evidence, said: str) -> str:
    """Name the time that a piece gives: the event's, else one that is said, else what was said and on which day."""
    record = piece.record
    if record and record.event_start and record.event_end:
        return name_span(record.event_start, record.event_end)
    spoken = record.mentioned_at if record else next((turn.said_at for turn in piece.turns if turn.said_at), None)
    mentions = find_times(said, spoken)
    if mentions:
        return name_span(mentions[0].interval.start, mentions[0].interval.end)
    return f"{said} (said on {name_span(spoken, spoken)})" if spoken else ""
