"""Define what a reader is shown: ranked pieces, and how many of them fit a budget of tokens.

This module does not know what the pieces are compared with.
"""

from collections.abc import Sequence

from langgraph_engram.schema import Evidence, Frozen
from langgraph_engram.usage import count_tokens

BUDGETS = (500, 1000, 2000, 4000)
"""Tokens; evidence is measured at each."""


class Piece(Frozen):
    """One piece of evidence as it is shown, and the turns it cites."""

    text: str
    turn_ids: list[str]
    """The data set's own ids; a turn that has none is cited by ours."""
    synthesis: bool = False


def to_piece(evidence: Evidence) -> Piece:
    """Take what is measured of one piece of evidence. Sources that come without their turn are cited all the same."""
    shown = {turn.turn_id: turn.external_id or turn.turn_id for turn in evidence.turns}
    sources = evidence.record.source_turn_ids if evidence.record else []
    cited = shown | {turn_id: turn_id for turn_id in sources if turn_id not in shown}
    return Piece(
        text=evidence.text, turn_ids=list(dict.fromkeys(cited.values())), synthesis=evidence.synthesis_id is not None
    )


def fit(pieces: Sequence[Piece], budget: int) -> list[Piece]:
    """Give the longest ranked prefix whose texts together fit.

    Args:
        pieces: Best first.
        budget: Tokens; each piece counts a token for four characters, rounded up.
    """
    left = budget
    fitting: list[Piece] = []
    for piece in pieces:
        left -= count_tokens(piece.text)
        if left < 0:
            break
        fitting.append(piece)
    return fitting


def fit_budgets(pieces: Sequence[Piece]) -> dict[str, list[Piece]]:
    """Give the prefix for each budget, under the budget's name."""
    return {str(budget): fit(pieces, budget) for budget in BUDGETS}
