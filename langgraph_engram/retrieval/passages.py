"""Show what was found as a reader sees it: dated, its speaker named, within a budget of tokens."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from langgraph_engram.results import count_tokens
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.schema import Evidence, Record, Turn, make_id
from langgraph_engram.settings import DeepSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.resolve import resolve_times
from langgraph_engram.text.statements import own_words, shows_image

CHANGED = "\nChanged since: "
"""What stands between a superseded record and the one that took its place."""
MOST_PASSED_OVER = 20
"""Pieces too large for what is left of a budget after which no smaller one is looked for."""


def fit_budget(pieces: Iterable[Evidence], budget: int, most: int | None = None) -> list[Evidence]:
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


def smallest_size(pieces: Iterable[Evidence]) -> int:
    """Give the tokens of the smallest piece; 0 for no piece."""
    return min((count_tokens(piece.text) for piece in pieces), default=0)


def format_passage(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Show one candidate."""
    match candidate.kind:
        case "record":
            return _record(index, candidate)
        case "turn":
            turn = index.turns.items[candidate.place]
            return turn_passage([turn], candidate.score, candidate.routes)
    synthesis = index.syntheses.items[candidate.place]
    return Evidence(
        evidence_id=synthesis.synthesis_id,
        text=synthesis.text,
        synthesis_id=synthesis.synthesis_id,
        routes=candidate.routes,
        score=candidate.score,
    )


def turn_passage(turns: Sequence[Turn], score: float, routes: dict[str, float], relevance: float = 0.0) -> Evidence:
    """Show turns that follow one another as one piece, under their day, verbatim but for resolved times."""
    lines = [
        f"{turn.speaker}: {resolve_times(turn.text, turn.said_at, turn.date_order)}{_captions(turn)}" for turn in turns
    ]
    return Evidence(
        evidence_id=make_id("turns", *[turn.turn_id for turn in turns]),
        text=dated("\n".join(lines), turns[0].said_at),
        turns=list(turns),
        routes=routes,
        score=score,
        relevance=relevance,
    )


def join_contents(records: Sequence[Record]) -> str:
    """Render records of one exchange one after the other, each name where somebody else spoke before.

    A reply comes with the question that it answers, which is left out where it stands there already.
    """
    shown: list[str] = []
    asked: list[str] = []
    speaker = ""
    for record in records:
        question = next((text for text in asked if record.content.startswith(f"{text} ")), "")
        text = record.content.removeprefix(question).lstrip()
        image = text.removeprefix(f"{record.speaker} ")
        if record.speaker == speaker:
            text = f"({image})" if shows_image(text) and image != text else text.removeprefix(f"{speaker}: ")
        shown.append(text)
        asked.append(f"{record.speaker}: {own_words(record.content, record.speaker)}")
        speaker = record.speaker
    return " ".join(dict.fromkeys(shown))


def dated(text: str, moment: datetime | None) -> str:
    """Put the day before a text: "7 May 2023, ..."; nothing for no day."""
    return f"{moment.day} {moment:%b %Y}, {text}" if moment else text


def _record(index: ScopeIndex, candidate: Candidate) -> Evidence:
    record = index.records.items[candidate.place]
    shown = sorted(
        (index.records.items[place] for place in (candidate.place, *candidate.joined)),
        key=lambda one: (one.seq, one.part),
    )
    text = dated(join_contents(shown), record.mentioned_at)
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


LEAST_SHOWN = 3
"""Pieces that are shown whatever they score."""


def light_passages(evidence: Sequence[Evidence], settings: DeepSettings) -> Sequence[Evidence]:
    """Give the pieces that a light answer is written from: few where the best stand out, up to k where many are alike.

    Args:
        evidence: Best first.
        settings: k, and the least share of the best score (docs/decisions/0024).
    """
    least = settings.least_share * max((piece.score for piece in evidence), default=0.0)
    return [
        piece for place, piece in enumerate(evidence[: settings.light_k]) if place < LEAST_SHOWN or piece.score >= least
    ]


def merge_pools(pool: Sequence[Evidence], found: Sequence[Evidence], budget: int | None = None) -> list[Evidence]:
    """Add to a pool what it does not hold yet, in order.

    Args:
        pool: What is held; all of it stays, since answers cite its pieces by their places.
        found: What may be added.
        budget: Tokens of the pool's texts together; what is too large for what is left is passed over.
    """
    held = {piece.evidence_id for piece in pool}
    fresh = list({piece.evidence_id: piece for piece in found if piece.evidence_id not in held}.values())
    if budget is not None:
        fresh = fit_budget(fresh, budget - sum(count_tokens(piece.text) for piece in pool))
    return [*pool, *fresh]


def stands_alone(piece: Evidence) -> bool:
    """Say whether turns cannot take a piece's place: a narrative, or what is shown with the record that changed it."""
    return bool(piece.synthesis_id) or (piece.record is not None and piece.record.status == "superseded")


def runs(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Split turns in order of time into runs that follow one another in one session."""
    found: list[list[Turn]] = []
    for turn in turns:
        last = found[-1][-1] if found else None
        if last and last.session_id == turn.session_id and last.seq + 1 == turn.seq:
            found[-1].append(turn)
        else:
            found.append([turn])
    return found


def event_turns(index: ScopeIndex, source: Turn, session: Sequence[Turn]) -> list[Turn]:
    """Return the turns of the event that a turn belongs to; the turn alone without one."""
    for event in index.session_events(source.session_id):
        if source.turn_id in event.turn_ids:
            members = set(event.turn_ids)
            return [turn for turn in session if turn.turn_id in members]
    return [source]
