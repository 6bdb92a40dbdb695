"""Read what a turn gives grounds for: its words, numbers and times, each turn once however many records cite it."""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from langgraph_engram.language.numbers import numbers_in, spelled_numbers
from langgraph_engram.language.sentences import question_at_end
from langgraph_engram.language.times import find_times, resolve_times
from langgraph_engram.language.tokens import content_stems, stem, words
from langgraph_engram.moments import on_clock
from langgraph_engram.schema import Interval, Turn

TURNS_KEPT = 2048
"""Turns whose grounds are kept in the process."""
LONGEST_KEPT = 20_000
"""Characters of the longest such turn."""
LONG_TURNS_KEPT = 16
"""Longer turns whose grounds are kept: those that a run is at work on."""


@dataclass(frozen=True)
class Grounds:
    """What a turn gives grounds for."""

    text: str
    """Speaker, words with times resolved, captions and day, case-folded."""
    stems: frozenset[str]
    """Stems of all words, and of what irregular forms come from."""
    numbers: frozenset[str]
    """Numbers in digits, those that are spelled out included."""
    spans: tuple[Interval, ...]
    """The times it mentions."""
    asks: str
    """The question it ends with; empty for none."""


def grounds_of(turn: Turn) -> Grounds:
    """Give what a turn gives grounds for. It is read once, however many records cite it."""
    read = _read if len(turn.text) <= LONGEST_KEPT else _read_long
    return read(turn.speaker, turn.text, tuple(turn.captions), on_clock(turn.said_at))


@lru_cache(maxsize=TURNS_KEPT)
def _read(speaker: str, text: str, captions: tuple[str, ...], said_at: datetime | None) -> Grounds:
    day = f"{said_at:%Y-%m-%d} {said_at.day} {said_at:%B %Y}" if said_at else ""
    said = " ".join([speaker, resolve_times(text, said_at), *captions, day])
    each = words(said)
    return Grounds(
        text=said.casefold(),
        stems=frozenset(stem(word) for word in each) | frozenset(content_stems(said)),
        numbers=frozenset(value for value in (*numbers_in(said), *spelled_numbers(each))),
        spans=tuple(mention.interval for mention in find_times(text, said_at)),
        asks=question_at_end(text),
    )


_read_long = lru_cache(maxsize=LONG_TURNS_KEPT)(_read.__wrapped__)
