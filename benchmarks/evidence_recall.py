"""Measure what pieces of evidence hold: the turns that support an answer, and the words of the answer.

A piece holds a turn when it cites it, cites at most three turns, is no synthesis, and contains at least half of the
content stems of at least one sentence or caption of it. This module does not know how pieces were found.
"""

from collections.abc import Mapping, Sequence

from langgraph_engram.benchmarks.content import content_stems
from langgraph_engram.benchmarks.pieces import Piece

MOST_CITED = 3
LEAST_SHARE = 0.5

Turns = Mapping[str, Sequence[str]]
"""What turns state, by their ids in the data set: the sentences and captions of each."""


def holds(piece: Piece, turn_id: str, statements: Sequence[str]) -> bool:
    """Tell whether a piece holds a turn.

    Args:
        piece: What was shown.
        turn_id: The turn, as the data set calls it.
        statements: The turn's sentences and captions. A turn that states nothing is held wherever it is cited.
    """
    if piece.synthesis or turn_id not in piece.turn_ids or len(piece.turn_ids) > MOST_CITED:
        return False
    contained = content_stems(piece.text)
    stated = [stems for stems in map(content_stems, statements) if stems]
    return not stated or any(len(stems & contained) >= LEAST_SHARE * len(stems) for stems in stated)


def evidence_recall(pieces: Sequence[Piece], evidence: Turns) -> float | None:
    """Give the share of the evidence turns that some piece holds, in [0, 1]; None for a question without evidence."""
    if not evidence:
        return None
    held = [any(holds(piece, turn_id, stated) for piece in pieces) for turn_id, stated in evidence.items()]
    return sum(held) / len(held)


def all_evidence_recall(pieces: Sequence[Piece], evidence: Turns) -> float | None:
    """Give 1 where every evidence turn is held, else 0; None for a question without evidence."""
    recall = evidence_recall(pieces, evidence)
    return None if recall is None else float(recall == 1)


def session_recall(pieces: Sequence[Piece], evidence: Mapping[str, Turns]) -> float | None:
    """Give the share of the evidence sessions of which some piece holds a turn, in [0, 1]; None without any.

    Args:
        pieces: What was shown.
        evidence: What the turns of each evidence session state, by session and turn id.
    """
    if not evidence:
        return None
    held = [
        any(holds(piece, turn_id, turns[turn_id]) for piece in pieces for turn_id in piece.turn_ids if turn_id in turns)
        for turns in evidence.values()
    ]
    return sum(held) / len(held)


def answer_token_recall(pieces: Sequence[Piece], gold: str) -> float | None:
    """Give the share of the gold answer's distinct content stems that occur in the pieces; None where it has none."""
    wanted = content_stems(gold)
    if not wanted:
        return None
    shown = frozenset().union(*(content_stems(piece.text) for piece in pieces))
    return len(wanted & shown) / len(wanted)
