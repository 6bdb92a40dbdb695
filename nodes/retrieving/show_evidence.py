"""Show what was found as a reader sees it: dated, its speaker named, within a budget of tokens."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from langgraph_engram.language.times import resolve_times
from langgraph_engram.nodes.retrieving.fusion import Candidate
from langgraph_engram.schema import Evidence, Record, Turn, make_id
from langgraph_engram.stores.scope_index import ScopeIndex
from langgraph_engram.usage import count_tokens

CHANGED = "\nChanged since: "
"""What stands between a superseded record and the one that took its place."""
MOST_PASSED_OVER = 20
"""Pieces too large for what is left of a budget after which no smaller one is looked for."""


def within(pieces: Iterable[Evidence], budget: int, most: int | None = None) -> list[Evidence]:
    """Keep the best pieces that fit in the budget together; a few that are too large for what is left are passed over.

    Args:
        pieces: Pieces, best first.
        budget: Tokens of their texts together.
        most: Pieces to keep at most; none for no limit.
    """
    kept: list[Evidence] = []
    left, passed_over = budget, 0
    for piece in pieces:
        if left <= 0 or passed_over >= MOST_PASSED_OVER or (most is not None and len(kept) >= most):
            break
        size = count_tokens(piece.text)
        if size <= left:
            kept.append(piece)
            left -= size
        elif kept:
            passed_over += 1
    return kept


def smallest(pieces: Iterable[Evidence]) -> int:
    """Give the tokens of the smallest piece; 0 for no piece."""
    return min((count_tokens(piece.text) for piece in pieces), default=0)


def show(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Show one candidate."""
    match candidate.kind:
        case "record":
            return _record(index, candidate)
        case "turn":
            turn = index.turns.items[candidate.place]
            return turn_piece([turn], candidate.score, candidate.routes)
    synthesis = index.syntheses.items[candidate.place]
    return Evidence(
        evidence_id=synthesis.synthesis_id,
        text=synthesis.text,
        synthesis_id=synthesis.synthesis_id,
        routes=candidate.routes,
        score=candidate.score,
    )


def turn_piece(turns: Sequence[Turn], score: float, routes: dict[str, float]) -> Evidence:
    """Show turns that follow one another as one piece, under their day, verbatim but for resolved times."""
    lines = [f"{turn.speaker}: {resolve_times(turn.text, turn.said_at)}{_captions(turn)}" for turn in turns]
    return Evidence(
        evidence_id=make_id("turns", *[turn.turn_id for turn in turns]),
        text=dated("\n".join(lines), turns[0].said_at),
        turns=list(turns),
        routes=routes,
        score=score,
    )


def told_together(records: Sequence[Record]) -> str:
    """Tell records of one exchange one after the other, each speaker's name where somebody else spoke before."""
    speakers = ["", *(record.speaker for record in records)]
    return " ".join(
        record.content.removeprefix(f"{before}: ") if record.speaker == before else record.content
        for before, record in zip(speakers, records, strict=False)
    )


def dated(text: str, moment: datetime | None) -> str:
    """Put the day before a text: "7 May 2023, ..."; nothing for no day."""
    return f"{moment.day} {moment:%b %Y}, {text}" if moment else text


def _record(index: ScopeIndex, candidate: Candidate) -> Evidence:
    record = index.records.items[candidate.place]
    shown = sorted(
        (index.records.items[place] for place in (candidate.place, *candidate.joined)),
        key=lambda one: (one.seq, one.part),
    )
    text = dated(told_together(shown), record.mentioned_at)
    successor = index.records.successor(record) if record.status == "superseded" else None
    if successor:
        shown.append(successor)
        text += CHANGED + dated(successor.content, successor.mentioned_at)
    sources = dict.fromkeys(turn_id for one in shown for turn_id in one.source_turn_ids)
    turns = [turn for turn_id in sources if (turn := index.turns.get(turn_id))]
    return Evidence(
        evidence_id=record.record_id,
        text=text,
        record=record,
        turns=turns,
        routes=candidate.routes,
        score=candidate.score,
    )


def _captions(turn: Turn) -> str:
    return "".join(f" (shares an image: {caption})" for caption in turn.captions)
