"""Compute what the fusion knows of each record and turn beside the routes, and what speaks for and against each."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from math import log1p

import numpy as np

from langgraph_engram.embeddings.base import opening_of
from langgraph_engram.retrieval.scoring import Flags, Positions, Scores, is_one_of
from langgraph_engram.schema import Intent, Record
from langgraph_engram.stores.index import RecordIndex, ScopeIndex, TurnIndex
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.questions import AnswerType, answer_type
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.statements import mentions_speaker
from langgraph_engram.text.tokens import NUMBER, spelled_numbers, words

SPEAKER_WEIGHT = 0.5
"""Added to memories of a person whom the query names."""
MENTION_TIME_WEIGHT = 0.65
"""Added to records mentioned within the time that the query is about."""
ANSWER_WEIGHT = 0.45
"""Added to records that hold the type of answer that the query expects: a time, a place, a name, a number."""
CONTENT_WEIGHT = 0.25
"""Added to records that name something, where the query expects no such type."""
LENGTH_WEIGHT = 0.25
"""Added to memories for each factor of e in their length, from 100 characters on."""
QUESTION_WEIGHT = 0.5
"""Subtracted from questions."""
IMAGE_WEIGHT = 0.15
"""Subtracted from records of what an image shows."""
ASSISTANT_PENALTY = 0.8
"""Subtracted from an assistant's words, unless the query asks for them."""
LINKS, COVERED = "links", "covered"
"""Names of what is computed once of each version of an index."""
MAX_CITED_TURNS = 3
"""Turns that a record may cite and still stand for each of them in a search."""
IMAGE_MARKER = " shares an image: "
"""Follows the speaker's name in a record of what an image shows."""
LENGTH_UNIT = 100
"""Characters of a text of which `log_length` is ln 2."""


@dataclass(frozen=True)
class RecordLinks:
    """Columns over the records of a scope and over its turns; a position is -1 for none."""

    turn: Positions
    """The last source turn."""
    event: Positions
    is_question: Flags
    """Whether the record is a question, and not one to an assistant that also mentions who asks."""
    is_image: Flags
    is_assistant: Flags
    """Whether the last source turn is an assistant's."""
    length: Scores
    """The `log_length` of the content, of a passage that of its opening: it is long whatever it says."""
    answer_types: Mapping[AnswerType, Flags]
    successor: Positions
    """The active record that superseded a superseded one."""
    sources: Positions
    """The source turns of each record, of shape (n, MAX_CITED_TURNS)."""
    uncited: Positions
    """The positions of turns that no record stands for: none cites them among at most `MAX_CITED_TURNS`."""
    turn_asks: Flags
    """Whether each turn ends with a question."""
    turn_length: Scores
    narrated: Positions
    """The records that syntheses cover."""
    narrated_by: Positions
    """The synthesis that covers each of `narrated`."""


def record_links(index: ScopeIndex) -> RecordLinks:
    """Return the links of a version of a scope; only those of new items are computed."""
    if LINKS not in index.derived:
        index.derived[LINKS] = _link(index)
    links: RecordLinks = index.derived[LINKS]
    return links


def answer_type_features(records: RecordIndex, speakers: Collection[str]) -> Mapping[AnswerType, Flags]:
    """Return which records hold each type of answer; the names of speakers, in nearly every record, answer nothing."""
    people = frozenset(word for name in speakers for word in words(name))
    named = records.column(
        "names_something",
        lambda record: any(not people.issuperset(words(name)) for name in proper_names(record.content)),
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


def preferences(records: RecordIndex, links: RecordLinks, intent: Intent, question_weight: float) -> Scores:
    """Add up what speaks for and against each record beside its topic, as n scores on the scale of the fusion."""
    expected = answer_type(intent.query)
    weight = CONTENT_WEIGHT if expected in ("content", "advice") else ANSWER_WEIGHT
    flags = [
        (SPEAKER_WEIGHT, spoken_by(records, intent.speakers)),
        (-question_weight, links.is_question),
        (-IMAGE_WEIGHT, links.is_image),
    ]
    if (holds_answer := links.answer_types.get(expected)) is not None:
        flags.append((weight, holds_answer))
    if not intent.needs_assistant:
        flags.append((-ASSISTANT_PENALTY, links.is_assistant))
    if intent.time and intent.time.start and intent.time.end:
        flags.append((MENTION_TIME_WEIGHT, _mentioned_within(records, intent.time.start, intent.time.end)))
    preference = LENGTH_WEIGHT * links.length
    for share, holds in flags:
        preference += np.float32(share) * holds
    return preference


def turn_preferences(turns: TurnIndex, links: RecordLinks, intent: Intent, question_weight: float) -> Scores:
    """Add up what speaks for and against each turn beside its topic, as n scores on the same scale."""
    return np.asarray(
        SPEAKER_WEIGHT * spoken_by(turns, intent.speakers)
        + LENGTH_WEIGHT * links.turn_length
        - question_weight * links.turn_asks
        - ASSISTANT_PENALTY * (turns.from_assistant & (not intent.needs_assistant))
    )


def spoken_by(index: RecordIndex | TurnIndex, names: Iterable[str]) -> Flags:
    """Return which records or turns are of one of these speakers, of shape (n,)."""
    return is_one_of(index.speaker, [index.code("speaker", name) for name in names])


def log_length(text: str) -> float:
    """Return how much a text says: ln(1 + characters / 100)."""
    return log1p(len(text) / LENGTH_UNIT)


def _link(index: ScopeIndex) -> RecordLinks:
    records, turns, events = index.records, index.turns, index.events
    turn = _resolved(records, "turn", lambda record: turns.find_position(next(reversed(record.source_turn_ids), None)))
    event = _resolved(records, "event", lambda record: events.find_position(record.event_id))
    asks = records.column("asks", lambda record: ends_asking(record.content), np.bool_)
    if (to_assistant := turns.from_assistant).any():
        asks = asks & ~records.column("mentions_speaker", lambda record: mentions_speaker(record.content), np.bool_)
    successor = _successors(records)
    sources = _sources(index)
    narrated, narrated_by = covered_by_syntheses(index)
    return RecordLinks(
        turn=turn,
        event=event,
        is_question=asks,
        is_image=records.column("is_image", lambda record: IMAGE_MARKER in record.content, np.bool_),
        is_assistant=(turn >= 0) & to_assistant[turn] if len(turns) else np.zeros(len(records), dtype=np.bool_),
        length=records.column(
            "length",
            lambda record: log_length(opening_of(record.content) if record.is_passage else record.content),
            np.float32,
        ),
        answer_types=answer_type_features(records, index.speakers),
        successor=successor,
        sources=sources,
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


def _sources(index: ScopeIndex) -> Positions:
    """Return the turns that each record cites; -1 for what is missing, and for each of too many."""

    def sources(record: Record) -> list[int]:
        cited = record.source_turn_ids if len(record.source_turn_ids) <= MAX_CITED_TURNS else ()
        positions = [index.turns.find_position(turn_id) for turn_id in cited]
        return positions + [-1] * (MAX_CITED_TURNS - len(cited))

    return index.records.column("cited_turns", sources, np.intp).reshape(-1, MAX_CITED_TURNS)


def _uncited(turns: int, sources: Positions, findable: Flags) -> Positions:
    """Return the positions of the turns that no record which can be found cites."""
    cited = np.zeros(turns + 1, dtype=np.bool_)  # the last is that of missing turns
    cited[sources if findable.all() else sources.take(np.flatnonzero(findable), axis=0)] = True
    return np.flatnonzero(~cited[:-1])


def covered_by_syntheses(index: ScopeIndex) -> tuple[Positions, Positions]:
    """Return the positions of covered records and of the syntheses that cover them, the first synthesis first."""
    if COVERED not in index.syntheses.derived:
        pairs = [
            (position, number)
            for number, synthesis in enumerate(index.syntheses.items)
            for key in synthesis.covered_record_ids
            if (position := index.records.find_position(key)) >= 0
        ]
        covered, by = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
        index.syntheses.derived[COVERED] = covered, by
    found: tuple[Positions, Positions] = index.syntheses.derived[COVERED]
    return found


def _mentioned_within(records: RecordIndex, start: datetime, end: datetime) -> Flags:
    """Return which records were mentioned within a time; one that is open on one side ("since May") prefers nothing."""
    with np.errstate(invalid="ignore"):
        after = records.mentioned_local_time >= start.timestamp()
        before = records.mentioned_local_time <= end.timestamp()
    return np.asarray(after & before)


def _has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))
