"""Compute what the weighted fusion knows of each record beside the routes.

`record_links` are columns over the records of a scope, computed once for each of its revisions: the turns and events
that they come from, and what can be seen in them. `preferences` adds up what speaks for and against each for a query.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log1p
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import opening_of
from langgraph_engram.retrieval.scoring import Positions, Scores
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

MAX_CITED_TURNS = 3
"""Turns that a record may cite and still stand for each of them in a search."""
IMAGE_MARKER = " shares an image: "
"""Follows the speaker's name in a record of what an image shows."""
LENGTH_UNIT = 100
"""Characters of a text of which `log_length` is ln 2."""
MAX_CACHED_TEXTS = 65_536
"""Texts whose names and numbers are cached in the process: a scope is read again after each commit."""


@dataclass(frozen=True)
class RecordLinks:
    """Columns over the records of a scope, in the order of their index."""

    turn: Positions
    """The position of the last source turn; -1 for none."""
    event: Positions
    """The position of the event; -1 for none."""
    is_question: Flags
    """Whether the record is a question, and not one to an assistant that also mentions who asks."""
    is_image: Flags
    """Whether the record is what an image shows."""
    is_assistant: Flags
    """Whether the last source turn is an assistant's."""
    length: Scores
    """The `log_length` of the content, of a passage that of its opening: it is long whatever it says."""
    answer_types: Mapping[AnswerType, Flags]
    """The `answer_type_features` of the records."""
    speaker: NDArray[np.object_]
    successor: Positions
    """The position of the record that superseded a superseded one; -1 for the others."""
    uncited: tuple[int, ...]
    """The positions of turns that no record stands for: none cites them among at most `MAX_CITED_TURNS`."""
    covered: tuple[tuple[int, ...], ...]
    """The positions of the records that each synthesis covers."""


def record_links(index: ScopeIndex) -> RecordLinks:
    """Return the links of a scope at its revision, cached."""
    cached = _cache.get(index)
    if cached is None or cached[0] != index.revision:
        _cache[index] = cached = (index.revision, _link(index))
    return cached[1]


def answer_type_features(records: Sequence[Record], speakers: Collection[str]) -> Mapping[AnswerType, Flags]:
    """Return, for each type of answer that can be seen in a record, which records hold one.

    Args:
        records: n records.
        speakers: The participants: their names are in nearly every record and answer nothing.

    Returns:
        Arrays of shape (n,). Records that name something hold `content` and `advice`.
    """
    people = frozenset(word for name in speakers for word in words(name))
    named = _flags(any(not people.issuperset(words(name)) for name in _names(record.content)) for record in records)
    numbered = _flags(_has_number(record.content) for record in records)
    return {
        "time": _flags(record.event_start is not None for record in records),
        "duration": numbered,
        "number": numbered,
        "place": _flags(bool(record.location) for record in records),
        "person": named,
        "name": named,
        "content": named,
        "advice": named,
    }


def preferences(records: RecordIndex, links: RecordLinks, intent: Intent, settings: RetrieveSettings) -> Scores:
    """Add up what speaks for and against each record beside its topic.

    Returns:
        n scores on the scale of the weighted fusion; below 0 for records that rather ask or show than state.
    """
    expected = answer_type(intent.query)
    weight = settings.content_weight if expected in ("content", "advice") else settings.answer_weight
    holds_answer = links.answer_types.get(expected)
    return np.asarray(
        settings.speaker_weight * np.isin(links.speaker, intent.speakers)
        + settings.mention_time_weight * _mention_time_matches(records, intent)
        + (weight * holds_answer if holds_answer is not None else 0.0)
        + settings.length_weight * links.length
        - settings.question_weight * links.is_question
        - settings.image_weight * links.is_image
        - settings.assistant_penalty * (links.is_assistant & (not intent.needs_assistant))
    )


def log_length(text: str) -> float:
    """Return how much a text says: ln(1 + characters / 100)."""
    return log1p(len(text) / LENGTH_UNIT)


_cache: WeakKeyDictionary[ScopeIndex, tuple[str, RecordLinks]] = WeakKeyDictionary()
"""The links of each index, with the revision that they were computed at."""


def _link(index: ScopeIndex) -> RecordLinks:
    records = index.records.items
    turn_positions = {turn.turn_id: position for position, turn in enumerate(index.turns.items)}
    event_positions = {event.event_id: position for position, event in enumerate(index.events.items)}
    record_positions = {record.record_id: position for position, record in enumerate(records)}
    last_turn = np.array(
        [turn_positions.get(record.source_turn_ids[-1], -1) if record.source_turn_ids else -1 for record in records],
        dtype=np.intp,
    )
    successor = np.array([_successor_position(index, record) for record in records], dtype=np.intp)
    cited = {
        turn_id
        for record, superseded_by in zip(records, successor, strict=True)
        if (record.status == "active" or superseded_by >= 0) and len(record.source_turn_ids) <= MAX_CITED_TURNS
        for turn_id in record.source_turn_ids
    }
    by_assistant = _flags(turn.role == "assistant" for turn in index.turns.items)
    to_assistant = bool(by_assistant.any())
    return RecordLinks(
        turn=last_turn,
        event=np.array([event_positions.get(record.event_id, -1) for record in records], dtype=np.intp),
        is_question=_flags(
            ends_asking(record.content) and not (to_assistant and mentions_speaker(record.content))
            for record in records
        ),
        is_image=_flags(IMAGE_MARKER in record.content for record in records),
        is_assistant=(last_turn >= 0) & by_assistant[last_turn]
        if len(by_assistant)
        else np.zeros(len(records), dtype=np.bool_),
        length=np.array([_length(record) for record in records]),
        answer_types=answer_type_features(records, index.speakers),
        speaker=np.array([record.speaker for record in records], dtype=np.object_),
        successor=successor,
        uncited=tuple(position for turn_id, position in turn_positions.items() if turn_id not in cited),
        covered=tuple(
            tuple(record_positions[key] for key in synthesis.covered_record_ids if key in record_positions)
            for synthesis in index.syntheses.items
        ),
    )


def _length(record: Record) -> float:
    return log_length(opening_of(record.content) if record.is_passage else record.content)


def _successor_position(index: ScopeIndex, record: Record) -> int:
    successor = index.records.successor(record) if record.status == "superseded" else None
    return index.records.position(successor.record_id) if successor else -1


def _mention_time_matches(records: RecordIndex, intent: Intent) -> Scores:
    """Return 1 for records that were mentioned within the time that a query is about, 0 for the others.

    A time that is open on one side, as in "since May", prefers nothing.
    """
    if not intent.time or not intent.time.start or not intent.time.end:
        return np.zeros(len(records))
    with np.errstate(invalid="ignore"):
        after = records.mentioned_local_time >= intent.time.start.timestamp()
        before = records.mentioned_local_time <= intent.time.end.timestamp()
    return (after & before).astype(np.float64)


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _names(text: str) -> tuple[str, ...]:
    return tuple(proper_names(text))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))


def _flags(values: Iterable[bool]) -> Flags:
    return np.fromiter(values, dtype=np.bool_)
