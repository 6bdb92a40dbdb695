"""Gather the sentences of evidence, each with who said it, what it answers and what stands around it.

A piece is read as its record and as the turns under it. A sentence belongs to the best piece that shows it, else to the
first that holds its turn. This module does not know what is asked.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from langgraph_engram.schema import Evidence, Record, Turn
from langgraph_engram.temporal.resolve import resolve_times
from langgraph_engram.text.sentences import question_at_end, split_sentences
from langgraph_engram.text.statements import is_question, shows_image, speaks_of_self_alone
from langgraph_engram.text.tokens import words

AGREES = re.compile(
    r"\b(?:me\s+too|too|as\s+well|same\s+here|(?:so|neither)\s+(?:do|am|did|have|was)\s+I)\b", re.IGNORECASE
)
"""What makes what another said of themselves one's own."""
BEGINNING = 6
"""Words by which a sentence is looked for in what a piece shows."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One sentence of the evidence."""

    place: int
    """The piece it is read from, from 0."""
    speaker: str
    """Who said it; empty where that is not known."""
    text: str
    said_at: datetime | None = None
    answers: str = ""
    """The question that the turn replies to."""
    around: str = ""
    """The turn it stands in."""
    before: str = ""
    """The turn before that one."""
    position: int = 0
    """Its place in the turn, from 0."""
    shown: bool = True
    """Whether the piece shows it, and does not only hold its turn."""
    image: bool = False
    """Whether it describes an image."""
    record: Record | None = None
    """The record that tells it, where one does."""

    @property
    def asks(self) -> bool:
        """Say whether it is a question itself."""
        return is_question(self.text)

    @property
    def is_superseded(self) -> bool:
        """Say whether a newer record took the place of the one that tells it."""
        return self.record is not None and self.record.status == "superseded"

    @property
    def told_at(self) -> float:
        """Give the moment of telling as seconds; 0 where it is not known."""
        return self.said_at.timestamp() if self.said_at else 0.0


def gather(evidence: Sequence[Evidence]) -> list[Utterance]:
    """Give every sentence of the evidence once, in the order of the pieces."""
    turns = {(turn.session_id, turn.seq): turn for piece in evidence for turn in piece.turns}
    found: dict[tuple[str, str, int], Utterance] = {}
    for place, piece in enumerate(evidence):
        for one in _of_piece(place, piece, turns):
            key = (one.speaker, " ".join(words(one.text)), one.position if one.image else 0)
            known = found.get(key)
            if known is None or (one.shown and not known.shown):
                found[key] = one
    return sorted(found.values(), key=lambda one: one.place)


def _of_piece(place: int, piece: Evidence, turns: dict[tuple[str, int], Turn]) -> Iterator[Utterance]:
    told = " ".join(words(piece.text))
    said = [one for turn in piece.turns for one in _of_turn(place, piece, turn, told, turns)]
    yield from said
    if piece.record and not any(one.shown for one in said):
        yield from _of_record(place, piece.record)
    elif not said:
        yield from (Utterance(place, "", text) for text in split_sentences(piece.text))


def _of_turn(
    place: int, piece: Evidence, turn: Turn, told: str, turns: dict[tuple[str, int], Turn]
) -> Iterator[Utterance]:
    before = turns.get((turn.session_id, turn.seq - 1))
    asked = question_at_end(before.text) if before and before.speaker != turn.speaker else ""
    earlier = _told_to(turn, before) if before else ""
    for position, text in enumerate(split_sentences(turn.text)):
        shown = " ".join(words(resolve_times(text, turn.said_at))[:BEGINNING]) in told
        record = piece.record if shown and piece.record and turn.turn_id in piece.record.source_turn_ids else None
        yield Utterance(
            place, turn.speaker, text, turn.said_at, asked, turn.text, earlier, position, shown, record=record
        )
    for position, caption in enumerate(turn.captions):
        shown = " ".join(words(caption)) in told
        yield Utterance(place, turn.speaker, caption, turn.said_at, "", turn.text, earlier, position, shown, image=True)


def _told_to(turn: Turn, before: Turn) -> str:
    """Give what the turn before says that may be of whoever speaks now, too."""
    if before.speaker == turn.speaker or AGREES.search(turn.text):
        return before.text
    return " ".join(one for one in split_sentences(before.text) if not speaks_of_self_alone(one))


def _of_record(place: int, record: Record) -> Iterator[Utterance]:
    """Read a record in its own words; the question before a reply is what it answers."""
    opening = f"{record.speaker}: "
    before, mark, own = record.content.rpartition(opening)
    asked = question_at_end(before) if mark else ""
    text = own if mark else record.content
    image = shows_image(text)
    for position, sentence in enumerate(split_sentences(text)):
        yield Utterance(
            place,
            record.speaker,
            sentence,
            record.mentioned_at,
            asked,
            text,
            before,
            position,
            image=image,
            record=record,
        )
