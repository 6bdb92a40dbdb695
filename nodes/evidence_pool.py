"""Gather evidence over the rounds of one recall, without repeats."""

from collections.abc import Sequence

from langgraph_engram.schema import Evidence


def joined(pool: Sequence[Evidence], found: Sequence[Evidence]) -> list[Evidence]:
    """Add to a pool what it does not hold yet, in order."""
    held = {piece.evidence_id for piece in pool}
    fresh = {piece.evidence_id: piece for piece in found if piece.evidence_id not in held}
    return [*pool, *fresh.values()]
