"""Rule out near-duplicates that need no decision.

What is no statement cannot be updated: a question, praise of the listener, an image. Two sentences of one turn are two
things, and so are what two people say, unless the later says that something has changed, and two episodes at times that
do not meet (DimMem section 3.4). What remains must share words that say something in its scope, or say that something
has changed.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from langgraph_engram.schema import Record
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.text.statements import (
    Slot,
    is_question,
    own_words,
    shows_image,
    signals_change,
    slot_of,
    speaks_of_self,
    speaks_to_listener,
)
from langgraph_engram.text.tokens import content_stems

ONE_TURN = "said in one turn"
TWO_TIMES = "two times"
TWO_SPEAKERS = "two speakers, and no change"
LITTLE_SHARED = "little shared that says something"
COMMON_SHARE = 0.01
"""Share of a scope's records from which a word that they hold is not informative."""
COMMON_FLOOR = 10
"""Records of a scope that may hold an informative word, however small the scope."""
MIN_SHARED_WORDS = 2
"""Informative words that the contents of a pair must share."""


@dataclass(frozen=True)
class InformativeStems:
    """Which stems say something in a scope: those that few of its records hold, names of speakers aside."""

    stored: BM25Index
    new: Sequence[Record]
    names: Collection[str]

    @cached_property
    def _named(self) -> frozenset[str]:
        return frozenset(content_stems(" ".join(self.names)))

    @cached_property
    def _counts(self) -> Counter[str]:
        return Counter(stem for record in self.new for stem in set(content_stems(record.content)))

    def of(self, record: Record) -> frozenset[str]:
        """Return the stems of a record's own words that say something."""
        most = common_from(len(self.stored) + len(self.new))
        stems = frozenset(content_stems(own_words(record.content, record.speaker))) - self._named
        return frozenset(stem for stem in stems if self.stored.document_frequency(stem) + self._counts[stem] <= most)


def ruled_out_reason(older: Record, newer: Record, informative: InformativeStems) -> str:
    """Return the reason why a record and one that came later, or with it, are two things; empty where to decide."""
    if not set(older.source_turn_ids).isdisjoint(newer.source_turn_ids):
        return ONE_TURN
    if are_apart_in_time(older, newer):
        return TWO_TIMES
    if (before := slot_in(older)) and (after := slot_in(newer)) and before.key == after.key:
        return ""
    first, second = (own_words(record.content, record.speaker) for record in (older, newer))
    changes = states_change(newer)
    if older.speaker != newer.speaker and (not changes or speaks_of_self(first) or speaks_of_self(second)):
        return TWO_SPEAKERS
    if older.standing and older.standing == newer.standing:
        return ""
    if changes or len(informative.of(older) & informative.of(newer)) >= MIN_SHARED_WORDS:
        return ""
    return LITTLE_SHARED


def common_from(records: int) -> float:
    """Return how many of a scope's records may hold a word before it says nothing about any single one of them."""
    return max(float(COMMON_FLOOR), COMMON_SHARE * records)


def states_something(record: Record) -> bool:
    """Return whether a record may change: it is standing, or no question, no image, and more than praise."""
    if record.standing:
        return True
    said = own_words(record.content, record.speaker)
    return not (is_question(said) or shows_image(record.content) or speaks_to_listener(said))


def states_change(record: Record) -> bool:
    """Return whether a record says that something is no longer as it was."""
    return signals_change(own_words(record.content, record.speaker))


def slot_in(record: Record) -> Slot | None:
    """Return the slot that a record sets; None if it sets none."""
    return slot_of(own_words(record.content, record.speaker), record.speaker)


def are_apart_in_time(first: Record, second: Record) -> bool:
    """Return whether two records are episodes at known times that do not meet: two events, however alike."""
    if not (first.memory_type == second.memory_type == "episodic"):
        return False
    if not (first.event_start and first.event_end and second.event_start and second.event_end):
        return False
    return first.event_end < second.event_start or second.event_end < first.event_start
