"""Hold each record against the turns it cites: numbers, names and dates must be there (DESIGN, step 4). No model.

Speakers, captions, and dates that rules resolve from a turn's clock count as grounds. What fails is quarantined with
its reason; it is kept and shown, and no search finds it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from langgraph_engram.language.names import proper_names
from langgraph_engram.language.times import find_times, resolve_times
from langgraph_engram.language.tokens import stem, words
from langgraph_engram.schema import Interval, Record, Turn
from langgraph_engram.settings import GroundSettings
from langgraph_engram.state import WriteState
from langgraph_engram.stores.store import Store

TURNS_KEPT = 2048
"""Turns whose grounds are kept in the process."""
LONGEST_KEPT = 20_000
"""Characters of the longest such turn."""
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        (
            "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
            "seventeen eighteen nineteen twenty"
        ).split()
    )
}


@dataclass(frozen=True)
class Ground:
    """Quarantine what its sources do not say. Reads `request`, `turns`, `events`, `records`; changes `records`."""

    store: Store
    settings: GroundSettings

    def __call__(self, state: WriteState) -> WriteState:
        """Return the records, those without grounds quarantined."""
        if not self.settings.enabled:
            return {}
        index = self.store.index(state["request"].scope)
        new = {turn.turn_id: turn for turn in state["turns"]}
        context = {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in state["events"]}

        def turns_of(ids: Sequence[str]) -> list[Turn]:
            return [turn for one in ids if (turn := new.get(one) or index.turns.get(one))]

        judged = [
            judge(record, turns_of(record.source_turn_ids), turns_of(context.get(record.event_id, [])))
            for record in state["records"]
        ]
        return {"records": judged}


def judge(record: Record, sources: Sequence[Turn], around: Sequence[Turn]) -> Record:
    """Give the record as it is, or quarantined with the first reason found.

    Args:
        record: The record to judge.
        sources: The turns it cites.
        around: The turns of its event, whose names may stand for pronouns.
    """
    if record.status != "active":
        return record
    reason = ungrounded_number(record, sources) or ungrounded_name(record, around) or ungrounded_date(record, sources)
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason}) if reason else record


def ungrounded_number(record: Record, sources: Sequence[Turn]) -> str:
    """Say which number of the content no source holds; empty if all are held."""
    held = {number for turn in sources for number in grounds_of(turn).numbers}
    missing = [number for number in NUMBER.findall(record.content) if number not in held]
    return f"the number {missing[0]!r} is in none of its sources" if missing else ""


def ungrounded_name(record: Record, around: Sequence[Turn]) -> str:
    """Say which name of the content nobody near it mentions; empty if all are mentioned."""
    grounds = [grounds_of(turn) for turn in around]
    for name in proper_names(record.content):
        stems = {stem(word) for word in words(name)}
        if not any(name.casefold() in one.text or stems & one.stems for one in grounds):
            return f"the name {name!r} is not mentioned near its sources"
    return ""


def ungrounded_date(record: Record, sources: Sequence[Turn]) -> str:
    """Say that the event's date follows from no source; empty if it follows, or if there is none."""
    if record.event_start is None or record.event_end is None:
        return ""
    for turn in sources:
        spans = grounds_of(turn).spans
        if any(span.start <= record.event_end and record.event_start <= span.end for span in spans):
            return ""
        if turn.said_at and record.event_start.date() <= turn.said_at.date() <= record.event_end.date():
            return ""
    return f"the date {record.event_start.date().isoformat()} follows from none of its sources"


@dataclass(frozen=True)
class Grounds:
    """What a turn gives grounds for."""

    text: str
    """Speaker, words with times resolved, captions and day, case-folded."""
    stems: frozenset[str]
    numbers: frozenset[str]
    """Numbers in digits, those that are spelled out included."""
    spans: tuple[Interval, ...]
    """The times it mentions."""


def grounds_of(turn: Turn) -> Grounds:
    """Give what a turn gives grounds for. It is read once, however many records cite it."""
    read = _read if len(turn.text) <= LONGEST_KEPT else _read.__wrapped__
    return read(turn.speaker, turn.text, tuple(turn.captions), turn.said_at)


@lru_cache(maxsize=TURNS_KEPT)
def _read(speaker: str, text: str, captions: tuple[str, ...], said_at: datetime | None) -> Grounds:
    day = f"{said_at:%Y-%m-%d} {said_at.day} {said_at:%B %Y}" if said_at else ""
    said = " ".join([speaker, resolve_times(text, said_at), *captions, day])
    each = words(said)
    return Grounds(
        text=said.casefold(),
        stems=frozenset(stem(word) for word in each),
        numbers=frozenset(NUMBER.findall(said)) | {NUMBER_WORDS[word] for word in each if word in NUMBER_WORDS},
        spans=tuple(mention.interval for mention in find_times(text, said_at)),
    )
