"""Link the records of a scope to their turns and events by place, once for each state of the scope."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.retrieval.scoring import Scores
from langgraph_engram.schema import Intent, Record
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import RecordIndex, ScopeIndex
from langgraph_engram.text.names import proper_names
from langgraph_engram.text.numbers import NUMBER, spelled_numbers
from langgraph_engram.text.questions import AnswerType, answer_type
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.statements import mentions_speaker
from langgraph_engram.text.tokens import words

Flags = NDArray[np.bool_]
Holders = Mapping[AnswerType, Flags]

TEXTS_KEPT = 65_536
"""Texts whose names and numbers are kept in the process: a scope is read anew after each commit."""


def answer_type_features(records: Sequence[Record], speakers: Collection[str]) -> Holders:
    """Give, for each type of answer that can be seen in a record, which records hold it.

    Args:
        records: n records.
        speakers: Who takes part: their names are in nearly every record and answer nothing.

    Returns:
        Arrays of shape (n,). `content` and `advice` are held by what names something.
    """
    people = frozenset(word for name in speakers for word in words(name))
    named = _flags(any(not people.issuperset(words(name)) for name in names_in(one.content)) for one in records)
    numbered = _flags(has_number(one.content) for one in records)
    return {
        "time": _flags(one.event_start is not None for one in records),
        "duration": numbered,
        "number": numbered,
        "place": _flags(bool(one.location) for one in records),
        "person": named,
        "name": named,
        "content": named,
        "advice": named,
    }


@lru_cache(maxsize=TEXTS_KEPT)
def names_in(text: str) -> tuple[str, ...]:
    """Give the proper names in a text."""
    return tuple(proper_names(text))


@lru_cache(maxsize=TEXTS_KEPT)
def has_number(text: str) -> bool:
    """Say whether a text tells a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)


MANY_CHARACTERS = 100
SHOWS = " shares an image: "
"""How a record begins that tells what an image shows, after the name of who shares it."""
MOST_CITED = 3
"""Turns that a record may cite and still stand for each of them in a search."""


@dataclass(frozen=True)
class RecordLinks:
    """Columns over the records of a scope, in the order of their shelf."""

    turn: NDArray[np.intp]
    """The place of the last source turn; -1 for none."""
    event: NDArray[np.intp]
    """The place of the event; -1 for none."""
    asks: NDArray[np.bool_]
    """Whether the record is a question, and not one to an assistant that tells of whoever asks."""
    shows: NDArray[np.bool_]
    """Whether the record is what an image shows."""
    assistant: NDArray[np.bool_]
    """Whether the record's last source is an assistant's turn."""
    length: NDArray[np.float64]
    """How much the record says: ln(1 + characters / 100)."""
    holds: Holders
    """Which records hold what an answer of each type is made of."""
    speaker: NDArray[np.object_]
    successor: NDArray[np.intp]
    """For a superseded record, the place of the one that stands in its place; -1 for the others."""
    uncited: tuple[int, ...]
    """The places of turns that no record stands for in a search: none cites them among at most three turns."""
    covered_by: tuple[tuple[int, ...], ...]
    """For each synthesis, the places of the records it covers."""


CACHE: WeakKeyDictionary[ScopeIndex, tuple[str, RecordLinks]] = WeakKeyDictionary()
"""The links last made for each index, with the revision they were made at."""


def record_links(index: ScopeIndex) -> RecordLinks:
    """Give the links of a scope as it stands now."""
    held = CACHE.get(index)
    if held is None or held[0] != index.revision:
        CACHE[index] = held = (index.revision, _link(index))
    return held[1]


def length_of(text: str) -> float:
    """Measure how much a text says: ln(1 + characters / 100)."""
    return log1p(len(text) / MANY_CHARACTERS)


def _link(index: ScopeIndex) -> RecordLinks:
    turn_place = {turn.turn_id: place for place, turn in enumerate(index.turns.items)}
    event_place = {event.event_id: place for place, event in enumerate(index.events.items)}
    record_place = {record.record_id: place for place, record in enumerate(index.records.items)}
    records = index.records.items
    successor = np.array([_place_after(index, one) for one in records], dtype=np.intp)
    told = (one for one, by in zip(records, successor, strict=True) if one.status == "active" or by >= 0)
    close = (one for one in told if len(one.source_turn_ids) <= MOST_CITED)
    cited = {turn_id for record in close for turn_id in record.source_turn_ids}
    turn = np.array(
        [turn_place.get(one.source_turn_ids[-1], -1) if one.source_turn_ids else -1 for one in records], dtype=np.intp
    )
    answers = np.array([one.role == "assistant" for one in index.turns.items], dtype=np.bool_)
    to_assistant = bool(answers.any())
    return RecordLinks(
        turn=turn,
        event=np.array([event_place.get(one.event_id, -1) for one in records], dtype=np.intp),
        asks=np.array(
            [ends_asking(one.content) and not (to_assistant and mentions_speaker(one.content)) for one in records],
            dtype=np.bool_,
        ),
        shows=np.array([SHOWS in one.content for one in records], dtype=np.bool_),
        assistant=(turn >= 0) & answers[turn] if len(answers) else np.zeros(len(records), dtype=np.bool_),
        length=np.array([length_of(one.content) for one in records]),
        holds=answer_type_features(records, index.speakers),
        speaker=np.array([one.speaker for one in records], dtype=np.object_),
        successor=successor,
        uncited=tuple(place for turn_id, place in turn_place.items() if turn_id not in cited),
        covered_by=tuple(
            tuple(record_place[one] for one in synthesis.covered_record_ids if one in record_place)
            for synthesis in index.syntheses.items
        ),
    )


def _place_after(index: ScopeIndex, record: Record) -> int:
    by = index.records.successor(record) if record.status == "superseded" else None
    return index.records.position(by.record_id) if by else -1


def preferences(shelf: RecordIndex, links: RecordLinks, intent: Intent, settings: RetrieveSettings) -> Scores:
    """Add up what speaks for and against each record beside what it is about.

    Returns:
        n scores on the scale of the weighted fusion; below 0 for records that rather ask or show than tell.
    """
    expected = answer_type(intent.query)
    weight = settings.content_weight if expected in ("content", "advice") else settings.answer_weight
    holds = links.holds.get(expected)
    return np.asarray(
        settings.speaker_weight * np.isin(links.speaker, intent.speakers)
        + settings.mention_time_weight * mention_time_matches(shelf, intent)
        + (weight * holds if holds is not None else 0.0)
        + settings.length_weight * links.length
        - settings.question_weight * links.asks
        - settings.image_weight * links.shows
        - settings.assistant_penalty * (links.assistant & (not intent.needs_assistant))
    )


def mention_time_matches(shelf: RecordIndex, intent: Intent) -> Scores:
    """Give 1 to records that were told within the time that a query is about, 0 to the others.

    A time that is open on one side, as in "since May", prefers nothing.
    """
    if not intent.time or not intent.time.start or not intent.time.end:
        return np.zeros(len(shelf))
    with np.errstate(invalid="ignore"):
        after = shelf.mentioned_local_time >= intent.time.start.timestamp()
        before = shelf.mentioned_local_time <= intent.time.end.timestamp()
    return (after & before).astype(np.float64)
