"""Gather the pool of passages that an answer rests on, within a budget."""

from collections.abc import Callable, Iterable, Sequence, Set
from typing import Any, TypeVar

from langgraph_engram.results import count_tokens
from langgraph_engram.schema import LASTING, OUTLINE, Evidence
from langgraph_engram.settings import DeepSettings

P = TypeVar("P")

MAX_SKIPPED = 20
"""Passages too large for the rest of a budget after which no smaller one is looked for."""
MIN_LIGHT_PASSAGES = 3
"""Passages that a light answer is written from whatever they score."""


def passage_tokens(passage: Evidence) -> int:
    """Return the tokens of a passage's text."""
    return count_tokens(passage.text)


def fit_budget(passages: Iterable[P], budget: int, *, size_of: Callable[[Any], int] = passage_tokens) -> list[P]:
    """Return the best passages that fit in a budget of tokens, skipping a few that are too large for the rest of it."""
    fitting: list[P] = []
    left, skipped = budget, 0
    for passage in passages:
        if left <= 0 or skipped >= MAX_SKIPPED:
            break
        size = size_of(passage)
        if size <= left:
            fitting.append(passage)
            left -= size
        elif fitting:
            skipped += 1
    return fitting


def light_passages(evidence: Sequence[Evidence], settings: DeepSettings) -> Sequence[Evidence]:
    """Return the passages of a light answer: few where the best stand out, else up to k (docs/decisions/0019).

    What lasts and bears on the query is always among them, and so are the lines of an outline.
    """
    least = settings.min_share * max((passage.score for passage in evidence), default=0.0)
    return [
        passage
        for position, passage in enumerate(evidence)
        if not {LASTING, OUTLINE}.isdisjoint(passage.routes)
        or (position < settings.light_k and (position < MIN_LIGHT_PASSAGES or passage.score >= least))
    ]


def merge_pools(pool: Sequence[Evidence], found: Sequence[Evidence], budget: int | None = None) -> list[Evidence]:
    """Append to a pool the passages that it does not hold yet and that fit its budget.

    All of the pool stays where it is, since answers cite its passages by number.
    """
    known = {passage.evidence_id for passage in pool}
    fresh = list({passage.evidence_id: passage for passage in found if passage.evidence_id not in known}.values())
    if budget is not None:
        fresh = fit_budget(fresh, budget - sum(map(passage_tokens, pool)))
    return [*pool, *fresh]


def stands_alone(passage: Evidence) -> bool:
    """Return whether no turns can replace it: a narrative, a line, a part of a turn, or a changed record."""
    is_part = OUTLINE in passage.routes or (passage.record is not None and passage.record.is_chunk)
    return bool(passage.synthesis_id) or passage.shows_others or is_part


def repeats(passage: Evidence, shown: Set[str]) -> bool:
    """Return whether turns that are shown whole, by their ids, say all that a passage does."""
    if passage.synthesis_id or passage.shows_others or not passage.turns:
        return False
    return {turn.turn_id for turn in passage.turns} <= shown
