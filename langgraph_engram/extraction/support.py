"""Read what turns and their sentences are evidence for, once each, however many records cite them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache

from langgraph_engram.schema import DateOrder, Interval, Turn
from langgraph_engram.temporal.datetimes import wall_time
from langgraph_engram.temporal.find import find_times, resolve_times
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import affirmed, speaks_of_self
from langgraph_engram.text.tokens import content_stems, numbers_in, plain_number, spelled_numbers, stem, words

MAX_CACHED_TURNS = 2048
"""Turns whose support is cached in the process."""
LONG_TURN = 20_000
"""Characters from which on a turn is long."""
MAX_CACHED_LONG_TURNS = 16
"""Long turns whose support is cached: those that a run is at work on."""
YEAR_DIGITS = 4
NEGATING = frozenset(("no", "not", "never", "t"))
"""Words that negate by themselves; the last is what `words` makes of "won't"."""


@dataclass(frozen=True)
class TurnSupport:
    """What a turn is evidence for."""

    text: str
    """Speaker, words with times resolved, captions and day, case-folded."""
    stems: frozenset[str]
    """Stems of all words, and of what irregular forms come from."""
    numbers: frozenset[str]
    """Numbers in digits, those that are spelled out included."""
    times: tuple[Interval, ...]
    """The times it mentions."""
    said_at: datetime | None
    """When it was said, by the speaker's own clock."""

    def gives_numbers(self, numbers: Sequence[str]) -> bool:
        """Return whether it holds all these numbers, in digits or spelled out."""
        return not missing_number(numbers, self.numbers)

    def gives_name(self, word: str) -> bool:
        """Return whether it mentions a word of a name."""
        return word.casefold() in self.text or not self.stems.isdisjoint(stem(part) for part in words(word))

    def gives_time(self, time: Interval) -> bool:
        """Return whether it mentions a time that meets another."""
        return any(mentioned.start <= time.end and time.start <= mentioned.end for mentioned in self.times)

    def was_said_in(self, time: Interval) -> bool:
        """Return whether it was said on a day of that time."""
        return self.said_at is not None and time.start.date() <= self.said_at.date() <= time.end.date()


@dataclass(frozen=True)
class SentenceSupport:
    """What one sentence is evidence for."""

    words: frozenset[str]
    stems: frozenset[str]
    """Its content stems."""
    affirmed: frozenset[str]
    """Those of the clauses that are not negated."""
    denied: frozenset[str]
    """Those of negated clauses alone."""
    denies: bool
    """Whether it negates anything, were it only by "not"."""
    of_self: bool
    """Whether it speaks in the first person."""


def support_of(turn: Turn) -> TurnSupport:
    """Return what a turn is evidence for."""
    read = _support if len(turn.text) <= LONG_TURN else _long_support
    return read(turn.speaker, turn.text, tuple(turn.captions), wall_time(turn.said_at), turn.date_order)


def sentences_of(turns: Sequence[Turn]) -> list[SentenceSupport]:
    """Return what each sentence of some turns is evidence for, in order."""
    return [sentence for turn in turns for sentence in (*read_sentences(turn.text), *map(_image, turn.captions))]


@lru_cache(maxsize=MAX_CACHED_TURNS)
def read_sentences(text: str) -> tuple[SentenceSupport, ...]:
    """Return what each sentence of a text is evidence for."""
    return tuple(_sentence_support(sentence) for sentence in split_sentences(text))


def missing_number(numbers: Sequence[str], said: Collection[str]) -> str:
    """Return the first number that was never said, as it stands; empty if all were.

    Args:
        numbers: Numbers in digits.
        said: The numbers that were said, written plainly.
    """
    return next((number for number in numbers if not _is_said(plain_number(number), said)), "")


def _is_said(number: str, said: Collection[str]) -> bool:
    """Return whether a number was said: as it is, as the two digits of a year, or as a full hour on a clock."""
    of_year = number[2:] if len(number) == YEAR_DIGITS and number.isdigit() else number
    return number in said or of_year in said or (number.isdigit() and int(number) == 0)


@lru_cache(maxsize=MAX_CACHED_TURNS)
def _support(
    speaker: str, text: str, captions: tuple[str, ...], said_at: datetime | None, date_order: DateOrder | None
) -> TurnSupport:
    day = f"{said_at:%Y-%m-%d} {said_at.day} {said_at:%B %Y}" if said_at else ""
    said = " ".join([speaker, resolve_times(text, said_at, date_order), *captions, day])
    said_words = words(said)
    return TurnSupport(
        text=said.casefold(),
        stems=frozenset(stem(word) for word in said_words) | frozenset(content_stems(said)),
        numbers=frozenset((*numbers_in(said), *spelled_numbers(said_words))),
        times=tuple(mention.interval for mention in find_times(text, said_at, date_order)),
        said_at=said_at,
    )


_long_support = lru_cache(maxsize=MAX_CACHED_LONG_TURNS)(_support.__wrapped__)


def _image(caption: str) -> SentenceSupport:
    """Return what an image is evidence for: it is its speaker's."""
    return replace(_sentence_support(caption), of_self=True)


def _sentence_support(sentence: str) -> SentenceSupport:
    stems, stated = frozenset(content_stems(sentence)), frozenset(content_stems(affirmed(sentence)))
    return SentenceSupport(
        words=frozenset(words(sentence)),
        stems=stems,
        affirmed=stated,
        denied=stems - stated,
        denies=stems > stated or not NEGATING.isdisjoint(words(sentence)),
        of_self=speaks_of_self(sentence),
    )
