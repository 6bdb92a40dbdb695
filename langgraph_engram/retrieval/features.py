"""Compute what the fusion knows of each record and turn beside the routes, and what speaks for and against each."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import log1p

import numpy as np

from langgraph_engram.embeddings.base import opening_of
from langgraph_engram.retrieval.scoring import Flags, Positions, Scores, overlap
from langgraph_engram.schema import Event, Intent, Record
from langgraph_engram.stores.index import KindIndex, RecordIndex, ScopeIndex, TurnIndex
from langgraph_engram.stores.kind_index import ELSEWHERE
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.questions import AnswerType, answer_type
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.statements import mentions_speaker
from langgraph_engram.text.words import NUMBER, spelled_numbers, words

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
ASSISTANT_PENALTY = 0.8
"""Subtracted from an assistant's words, unless the query asks for them."""
MAX_CITED_TURNS = 3
"""Turns that a record may cite and still stand for each of them in a search."""
LENGTH_UNIT = 100
"""Characters of a text of which `log_length` is ln 2."""


@dataclass(frozen=True, eq=False)
class RecordLinks:
    """Columns over the records of one version of a scope and over its turns; a position is -1 for none."""

    records: RecordIndex
    turns: TurnIndex
    events: KindIndex[Event]

    @cached_property
    def turn(self) -> Positions:
        """Return the last source turn of each record."""
        find = self.turns.find_position
        return self._resolved("turn", lambda record: find(next(reversed(record.source_turn_ids), None)))

    @cached_property
    def event(self) -> Positions:
        """Return the event of each record."""
        return self._resolved("event", lambda record: self.events.find_position(record.event_id))

    @cached_property
    def is_question(self) -> Flags:
        """Return which records are questions, and not ones to an assistant that also mention who asks."""
        asks: Flags = self.records.column("asks", lambda record: ends_asking(record.content), np.bool_)
        if self.turns.from_assistant.any():
            label = "mentions_speaker"
            asks = asks & ~self.records.column(label, lambda record: mentions_speaker(record.content), np.bool_)
        return asks

    @cached_property
    def is_assistant(self) -> Flags:
        """Return of which records the last source turn is an assistant's."""
        return np.append(self.turns.from_assistant, False)[self.turn]

    @cached_property
    def answer_types(self) -> Mapping[AnswerType, Flags]:
        """Return which records hold each type of answer; names of speakers, in nearly every record, answer nothing."""
        people = frozenset(word for name in self.turns.speakers for word in words(name))
        named = self.records.column(
            "names_something",
            lambda record: any(not people.issuperset(words(name)) for name in proper_names(record.content)),
            np.bool_,
            given=people,
        )
        numbered = self.records.column("has_number", lambda record: _has_number(record.content), np.bool_)
        return {
            "time": ~np.isnan(self.records.event_start),
            "place": self.records.has_location,
            **dict.fromkeys(("duration", "number"), numbered),
            **dict.fromkeys(("person", "name", "content", "advice"), named),
        }

    @cached_property
    def successor(self) -> Positions:
        """Return the active record at the end of the chain of each superseded one."""
        found = np.full(len(self.records), -1, dtype=np.intp)
        for position in np.flatnonzero(self.records.superseded):
            successor = self.records.successor(self.records.items[position])
            found[position] = self.records.position(successor.record_id) if successor else -1
        return found

    @cached_property
    def sources(self) -> Positions:
        """Return the turns that each record cites, of shape (n, MAX_CITED_TURNS); -1 for each of too many."""

        def sources(record: Record) -> list[int]:
            cited = record.source_turn_ids if len(record.source_turn_ids) <= MAX_CITED_TURNS else ()
            positions = [self.turns.find_position(turn_id) for turn_id in cited]
            return positions + [-1] * (MAX_CITED_TURNS - len(cited))

        return self.records.column("cited_turns", sources, np.intp, ELSEWHERE).reshape(-1, MAX_CITED_TURNS)

    @cached_property
    def uncited(self) -> Positions:
        """Return the turns that no record which can be found cites among at most `MAX_CITED_TURNS`."""
        findable = self.records.active | (self.successor >= 0)
        cited = np.zeros(len(self.turns) + 1, dtype=np.bool_)  # the last is that of missing turns
        cited[self.sources if findable.all() else self.sources.take(np.flatnonzero(findable), axis=0)] = True
        return np.flatnonzero(~cited[:-1])

    @cached_property
    def turn_asks(self) -> Flags:
        """Return which turns end with a question."""
        return self.turns.column("asks", lambda turn: ends_asking(turn.text), np.bool_)

    def _resolved(self, label: str, position_of: Callable[[Record], int]) -> Positions:
        """Return the position of what each record names; what was missing at first is looked for again."""
        positions = self.records.column(label, position_of, np.intp, ELSEWHERE)
        missing = np.flatnonzero(positions < 0)
        if len(missing):
            positions = positions.copy()
            positions[missing] = [position_of(self.records.items[at]) for at in missing]
        return positions


def record_links(index: ScopeIndex) -> RecordLinks:
    """Return the links of a version of a scope, which keeps them; only those of new items are computed."""
    links: RecordLinks = index.derived.setdefault("links", RecordLinks(index.records, index.turns, index.events))
    return links


def preferences(links: RecordLinks, intent: Intent, question_weight: float) -> Scores:
    """Add up what speaks for and against each record beside its topic, as n scores on the scale of the fusion."""
    expected, time = answer_type(intent.query), intent.time
    flags = [(SPEAKER_WEIGHT, spoken_by(links.records, intent.speakers)), (-question_weight, links.is_question)]
    if (holds_answer := links.answer_types.get(expected)) is not None:
        flags.append((CONTENT_WEIGHT if expected in ("content", "advice") else ANSWER_WEIGHT, holds_answer))
    if not intent.needs_assistant:
        flags.append((-ASSISTANT_PENALTY, links.is_assistant))
    if time and time.start and time.end:  # one that is open on one side ("since May") prefers nothing
        mentioned = links.records.mentioned_local_time
        flags.append((MENTION_TIME_WEIGHT, overlap(mentioned, mentioned, time)))
    length: Scores = links.records.column("length", _length_of, np.float32)
    preference = LENGTH_WEIGHT * length
    for share, holds in flags:
        preference += np.float32(share) * holds
    return preference


def turn_preferences(links: RecordLinks, intent: Intent, question_weight: float) -> Scores:
    """Add up what speaks for and against each turn beside its topic, as n scores on the same scale."""
    return np.asarray(
        SPEAKER_WEIGHT * spoken_by(links.turns, intent.speakers)
        + LENGTH_WEIGHT * links.turns.column("length", lambda turn: log_length(turn.text), np.float32)
        - question_weight * links.turn_asks
        - ASSISTANT_PENALTY * (links.turns.from_assistant & (not intent.needs_assistant))
    )


def spoken_by(index: RecordIndex | TurnIndex, names: Iterable[str]) -> Flags:
    """Return which records or turns are of one of these speakers, of shape (n,)."""
    return np.isin(index.speaker, [index.code("speaker", name) for name in names])


def log_length(text: str) -> float:
    """Return how much a text says: ln(1 + characters / 100)."""
    return log1p(len(text) / LENGTH_UNIT)


def _length_of(record: Record) -> float:
    """Return the `log_length` of a record, of a chunk that of its opening: it is long whatever it says."""
    return log_length(opening_of(record.content) if record.is_chunk else record.content)


def _has_number(text: str) -> bool:
    """Return whether a text holds a number, in digits or in words; "one" alone is mostly a pronoun."""
    return bool(NUMBER.search(text)) or not {"1"}.issuperset(spelled_numbers(words(text)))
