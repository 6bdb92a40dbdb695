"""Compute what the weighted fusion knows of each record beside the routes.

`record_links` are columns over the records of a scope, computed once for each of its revisions: the turns and events
that they come from, and what can be seen in them. `preferences` adds up what speaks for and against each for a query.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import chain
from math import log1p
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.embeddings.base import opening_of
from langgraph_engram.retrieval.scoring import Positions, Scores, is_one_of
from langgraph_engram.schema import Intent, Record, Synthesis
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import KindIndex, RecordIndex, ScopeIndex, TurnIndex
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
    """Columns over the records of a scope, in the order of their index, and over its turns."""

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
    """Which records hold each type of answer that can be seen in a record."""
    successor: Positions
    """The position of the record that superseded a superseded one; -1 for the others."""
    sources: Positions
    """The positions of the source turns of each record, of shape (n, MAX_CITED_TURNS); -1 for none."""
    is_plain: Flags
    """Whether `sources` are all turns that a passage of the record shows: it quotes no other record beside it."""
    uncited: Positions
    """The positions of turns that no record stands for: none cites them among at most `MAX_CITED_TURNS`."""
    turn_asks: Flags
    """Whether each turn ends with a question."""
    turn_length: Scores
    """The `log_length` of each turn."""
    narrated: Positions
    """The positions of records that syntheses cover, those of the first synthesis first."""
    narrated_by: Positions
    """The position of the synthesis that covers each of `narrated`."""


def record_links(index: ScopeIndex) -> RecordLinks:
    """Return the links of a scope at its revision, cached; only those of new items are computed."""
    cached = _cache.get(index)
    if cached is None or cached[0] != index.revision:
        _cache[index] = cached = (index.revision, _link(index))
    return cached[1]


def answer_type_features(records: RecordIndex, speakers: Collection[str]) -> Mapping[AnswerType, Flags]:
    """Return, for each type of answer that can be seen in a record, which records hold one.

    Args:
        records: n records.
        speakers: The participants: their names are in nearly every record and answer nothing.

    Returns:
        Arrays of shape (n,). Records that name something hold `content` and `advice`.
    """
    people = frozenset(word for name in speakers for word in words(name))
    named = records.column(
        "names_something",
        lambda record: any(not people.issuperset(words(name)) for name in _names(record.content)),
        np.bool_,
        given=people,
    )
    numbered = records.column("has_number", lambda record: _has_number(record.content), np.bool_)
    return {
        "time": ~np.isnan(records.event_start),
        "duration": numbered,
        "number": numbered,
        "place": records.has_location,
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
    flags = [
        (settings.speaker_weight, spoken_by(records, intent.speakers)),
        (-settings.question_weight, links.is_question),
        (-settings.image_weight, links.is_image),
    ]
    if (holds_answer := links.answer_types.get(expected)) is not None:
        flags.append((weight, holds_answer))
    if not intent.needs_assistant:
        flags.append((-settings.assistant_penalty, links.is_assistant))
    if intent.time and intent.time.start and intent.time.end:
        flags.append((settings.mention_time_weight, _mentioned_within(records, intent.time.start, intent.time.end)))
    preference = settings.length_weight * links.length
    for share, holds in flags:
        preference += np.float32(share) * holds
    return preference


def spoken_by(index: RecordIndex | TurnIndex, names: Iterable[str]) -> Flags:
    """Return which records or turns are of one of these speakers, of shape (n,)."""
    return is_one_of(index.speaker, [index.code("speaker", name) for name in names])


def log_length(text: str) -> float:
    """Return how much a text says: ln(1 + characters / 100)."""
    return log1p(len(text) / LENGTH_UNIT)


_cache: WeakKeyDictionary[ScopeIndex, tuple[str, RecordLinks]] = WeakKeyDictionary()
"""The links of each index, with the revision that they were computed at."""


_narrated_cache: WeakKeyDictionary[KindIndex[Synthesis], tuple[Positions, Positions]] = WeakKeyDictionary()
"""What the syntheses cover, for each version of their index."""


def _link(index: ScopeIndex) -> RecordLinks:
    records, turns, events = index.records, index.turns, index.events
    turn = _resolved(records, "turn", lambda record: turns.find_position(next(reversed(record.source_turn_ids), None)))
    event = _resolved(records, "event", lambda record: events.find_position(record.event_id))
    asks = records.column("asks", lambda record: ends_asking(record.content), np.bool_)
    if (to_assistant := turns.from_assistant).any():
        asks &= ~records.column("mentions_speaker", lambda record: mentions_speaker(record.content), np.bool_)
    successor = _successors(records)
    sources, is_whole = _sources(index)
    narrated, narrated_by = covered_by_syntheses(index)
    return RecordLinks(
        turn=turn,
        event=event,
        is_question=asks,
        is_image=records.column("is_image", lambda record: IMAGE_MARKER in record.content, np.bool_),
        is_assistant=(turn >= 0) & to_assistant[turn] if len(turns) else np.zeros(len(records), dtype=np.bool_),
        length=records.column("length", _length, np.float32),
        answer_types=answer_type_features(records, index.speakers),
        successor=successor,
        sources=sources,
        is_plain=(successor < 0) & ~records.has_conflicts & is_whole,
        uncited=_uncited(len(turns), sources, records.active | (successor >= 0)),
        turn_asks=turns.column("asks", lambda turn: ends_asking(turn.text), np.bool_),
        turn_length=turns.column("length", lambda turn: log_length(turn.text), np.float32),
        narrated=narrated,
        narrated_by=narrated_by,
    )


def _resolved(records: RecordIndex, label: str, position_of: Callable[[Record], int]) -> Positions:
    """Return the position of what each record names; what was missing at first is looked for again."""
    positions = records.column(label, position_of, np.intp)
    missing = np.flatnonzero(positions < 0)
    if not len(missing):
        return positions
    positions = positions.copy()
    positions[missing] = [position_of(records.items[at]) for at in missing]
    return positions


def _successors(records: RecordIndex) -> Positions:
    """Return the positions of the active records at the ends of the chains of superseded ones; -1 for the others."""
    found = np.full(len(records), -1, dtype=np.intp)
    for position in np.flatnonzero(records.superseded):
        successor = records.successor(records.items[position])
        found[position] = records.position(successor.record_id) if successor else -1
    return found


def _sources(index: ScopeIndex) -> tuple[Positions, Flags]:
    """Return the positions of the turns that each record cites, and whether those are all.

    The positions are of shape (n, MAX_CITED_TURNS): -1 for none, for what is missing, and for each of too many.
    """

    def sources(record: Record) -> tuple[int, ...]:
        cited = record.source_turn_ids if len(record.source_turn_ids) <= MAX_CITED_TURNS else ()
        positions = tuple(index.turns.find_position(turn_id) for turn_id in cited)
        is_whole = len(cited) == len(record.source_turn_ids) and -1 not in positions
        return *positions, *(-1,) * (MAX_CITED_TURNS - len(cited)), is_whole

    columns = index.records.column("sources", sources, np.intp).reshape(-1, MAX_CITED_TURNS + 1)
    return columns[:, :-1], columns[:, -1] > 0


def _uncited(turns: int, sources: Positions, standing: Flags) -> Positions:
    """Return the positions of the turns that no standing record cites."""
    cited = np.zeros(turns + 1, dtype=np.bool_)  # the last is that of missing turns
    cited[sources if standing.all() else sources.take(np.flatnonzero(standing), axis=0)] = True
    return np.flatnonzero(~cited[:-1])


def covered_by_syntheses(index: ScopeIndex) -> tuple[Positions, Positions]:
    """Return the positions of covered records and of the syntheses that cover them, as long as no synthesis changes."""
    cached = _narrated_cache.get(index.syntheses)
    if cached is None:
        covered = [
            [position for key in synthesis.covered_record_ids if (position := index.records.find_position(key)) >= 0]
            for synthesis in index.syntheses.items
        ]
        by = np.repeat(np.arange(len(covered)), [len(positions) for positions in covered])
        cached = np.array(list(chain.from_iterable(covered)), dtype=np.intp), by
        _narrated_cache[index.syntheses] = cached
    return cached


def _length(record: Record) -> float:
    return log_length(opening_of(record.content) if record.is_passage else record.content)


def _mentioned_within(records: RecordIndex, start: datetime, end: datetime) -> Flags:
    """Return which records were mentioned within a time; one that is open on one side ("since May") prefers nothing."""
    with np.errstate(invalid="ignore"):
        after = records.mentioned_local_time >= start.timestamp()
        before = records.mentioned_local_time <= end.timestamp()
    return np.asarray(after & before)


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _names(text: str) -> tuple[str, ...]:
    return tuple(proper_names(text))


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def _has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))
