"""Choose and gather evidence over the rounds of one recall, without repeats."""

from collections.abc import Sequence

from langgraph_engram.nodes.retrieving.show_evidence import within
from langgraph_engram.schema import Evidence
from langgraph_engram.settings import DeepSettings
from langgraph_engram.usage import count_tokens

LEAST_SHOWN = 3
"""Pieces that are shown whatever they score."""


def light_pieces(evidence: Sequence[Evidence], settings: DeepSettings) -> Sequence[Evidence]:
    """Give the pieces that a light answer is written from: few where the best stand out, up to k where many are alike.

    Args:
        evidence: Best first.
        settings: k, and the least share of the best score (docs/decisions/0024).
    """
    least = settings.least_share * max((piece.score for piece in evidence), default=0.0)
    return [
        piece for place, piece in enumerate(evidence[: settings.light_k]) if place < LEAST_SHOWN or piece.score >= least
    ]


def joined(pool: Sequence[Evidence], found: Sequence[Evidence], budget: int | None = None) -> list[Evidence]:
    """Add to a pool what it does not hold yet, in order.

    Args:
        pool: What is held; all of it stays, since answers cite its pieces by their places.
        found: What may be added.
        budget: Tokens of the pool's texts together; what is too large for what is left is passed over.
    """
    held = {piece.evidence_id for piece in pool}
    fresh = list({piece.evidence_id: piece for piece in found if piece.evidence_id not in held}.values())
    if budget is not None:
        fresh = within(fresh, budget - sum(count_tokens(piece.text) for piece in pool))
    return [*pool, *fresh]
