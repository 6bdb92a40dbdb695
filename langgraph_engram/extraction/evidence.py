"""Verify records against what their extraction was shown: numbers, names, dates, words, speakers, denials.

What the cited turns say is evidence, and so is what another turn of the same prompt and session says of the same thing:
who reads them together names the concert of one sentence by the day that the sentence before gave it. Such a turn joins
the sources. A record that goes beyond what was shown is quarantined with the reason; a dimension that nobody near its
sources said is left out. What an assistant says that a stored record holds already is recycled memory, and no new
record.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from langgraph_engram.extraction.batching import TurnBatch
from langgraph_engram.extraction.support import (
    SentenceSupport,
    TurnSupport,
    read_sentences,
    sentences_of,
    support_of,
)
from langgraph_engram.filters import join_metadata
from langgraph_engram.schema import Event, Interval, Record, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import TimeMention, find_times
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.tokens import NUMBER, content_stems, words

MIN_SAID = 0.5
"""Share of a record's content stems that must have been said in its event."""
RECYCLED_SHARE = 0.9
"""Share of an assistant's words in a stored record from which they are recycled memory."""
HALF = 0.5
"""Least share of the words of a reason, a purpose or a keyword that were said."""
NEAR = 2
"""Turns before a source whose names its pronouns may stand for, whatever else they say."""
ADDRESSING = frozenset(("you", "your", "yours"))
"""Words by which a sentence speaks of its listener."""


@dataclass(frozen=True)
class Verifier:
    """Verify the records of a run."""

    index: ScopeIndex
    turns: Sequence[Turn]
    """The run's turns."""
    events: Sequence[Event]
    """The run's events."""
    batches: Sequence[TurnBatch] = ()
    """What the run's records were extracted from."""

    def verify(self, record: Record) -> Record:
        """Return a record verified, with all turns that it rests on, or quarantined with the first reason found."""
        sources = self._turns(record.source_turn_ids)
        batch = self._batch_of.get(record.event_id)
        core, context = (batch.turns, batch.context) if batch else ((), ())
        read = [turn for turn in (*context, *core) if turn.session_id == record.session_id]
        shown = [*read, *self._turns(self._nearby.get(record.event_id, []))]
        verified = verify_record(record, sources, shown, {turn.turn_id for turn in core})
        reason = recycled_reason(verified, sources, self.index) if verified.status == "active" else ""
        return _quarantined(verified, reason) if reason else verified

    @cached_property
    def _own(self) -> dict[str, Turn]:
        return {turn.turn_id: turn for turn in self.turns}

    @cached_property
    def _batch_of(self) -> dict[str, TurnBatch]:
        return {event_id: batch for batch in self.batches for event_id in batch.event_ids}

    @cached_property
    def _nearby(self) -> dict[str, list[str]]:
        return {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in self.events}

    def _turns(self, turn_ids: Sequence[str]) -> list[Turn]:
        found = (self._own.get(turn_id) or self.index.turns.get(turn_id) for turn_id in turn_ids)
        return [turn for turn in found if turn]


def verify_record(
    record: Record, sources: Sequence[Turn], shown: Sequence[Turn], citable: Collection[str] = ()
) -> Record:
    """Return the record with the dimensions that have evidence, or quarantined with the first reason found.

    Args:
        record: The record to verify.
        sources: The turns it cites.
        shown: The turns that were read when it was written. One that gives a number, a name or a date of it and speaks
            of the same is evidence; for names, so are the last turns before a source, whose pronouns they may explain.
        citable: The ids of the turns that join its sources where they are such evidence: the core turns.
    """
    if record.status != "active":
        return record
    cited = {turn.turn_id for turn in sources}
    others = {turn.turn_id: turn for turn in shown if turn.turn_id not in cited}
    claim = _Claim(record, tuple(sources), tuple(others.values()))
    rests_on: list[str] = []
    for detail in claim.details():
        turn_ids = claim.evidence_for(detail)
        if turn_ids is None:
            return _quarantined(record, detail.reason)
        rests_on += turn_ids
    nearby = [*sources, *claim.others]
    reason = _unsupported_words(record, nearby) or claim.misattribution() or claim.contradiction()
    if reason:
        return _quarantined(record, reason)
    happened = claim.happened()
    dated = claim.evidence_for(happened) if happened else []
    verified = _with_supported_dimensions(record if dated is not None else _without_time(record), nearby)
    joining = [turn_id for turn_id in dict.fromkeys([*rests_on, *(dated or [])]) if turn_id in citable]
    if not joining:
        return verified
    metadata = join_metadata([*(others[turn_id].metadata for turn_id in joining if turn_id in others), record.metadata])
    return verified.model_copy(update={"source_turn_ids": [*joining, *record.source_turn_ids], "metadata": metadata})


@dataclass(frozen=True)
class _Detail:
    """A number, a name or a date of a record."""

    kind: str
    text: str
    about: frozenset[str]
    """Stems of which another turn that gives it holds one, where it speaks of the same."""
    is_said_by: Callable[[TurnSupport], bool]
    """Whether a turn says it."""
    is_implied_by: Callable[[TurnSupport], bool] | None = None
    """Whether a source implies it."""

    def is_in_source(self, support: TurnSupport) -> bool:
        """Return whether a source says or implies it."""
        return self.is_said_by(support) or (self.is_implied_by is not None and self.is_implied_by(support))

    @property
    def reason(self) -> str:
        """Return why the record is quarantined where nobody says it."""
        return f"the {self.kind} {self.text!r} was not said, or not of this"


@dataclass(frozen=True)
class _Claim:
    """A record, the turns it cites, and those that were read beside them."""

    record: Record
    sources: tuple[Turn, ...]
    others: tuple[Turn, ...]

    def details(self) -> Iterator[_Detail]:
        """Yield the numbers, names and dates of the content. A number speaks of the words beside it."""
        text = self._undated
        for match in NUMBER.finditer(text):
            beside = (*content_stems(text[: match.start()])[-1:], *content_stems(text[match.end() :])[:1])
            yield _number(match.group(), self._stems.intersection(beside))
        for name in proper_names(text):
            if not self._speakers.issuperset(content_stems(name)):
                yield from (_name(part, self._stems.difference(content_stems(name))) for part in _name_parts(name))
        yield from (_date(date.text, date.interval, self._stems) for date in self._dates)

    def happened(self) -> _Detail | None:
        """Return when it happened, as a detail; None where it does not say."""
        if self.record.event_start is None or self.record.event_end is None:
            return None
        time = Interval(start=self.record.event_start, end=self.record.event_end)
        return _date(time.start.date().isoformat(), time, self._stems)

    def evidence_for(self, detail: _Detail) -> list[str] | None:
        """Return the ids of the turns that a detail rests on beside the sources, often none; None if nobody says it."""
        if any(detail.is_in_source(support_of(turn)) for turn in self.sources):
            return []
        return next(([turn.turn_id] for turn in self._nearest if self._gives(turn, detail)), None)

    def misattribution(self) -> str:
        """Return whom the record is about by mistake: it says of one speaker what another said of themselves.

        It names a participant who spoke no source, and nobody who did, while the sentence that it is closest to is in
        the first person, and neither mentions nor addresses that participant.
        """
        named = {*words(self.record.content)}
        speakers = dict.fromkeys(turn.speaker for turn in self.sources)
        if self._is_quote or any(_is_named(name, named) for name in speakers):
            return ""
        others = dict.fromkeys(turn.speaker for turn in self.others if turn.speaker not in speakers)
        about = [name for name in others if _is_named(name, named)]
        closest = self._closest if about else None
        if not closest or not closest.of_self or closest.words & {*ADDRESSING, *words(" ".join(about))}:
            return ""
        return f"it says of {about[0]} what {self.sources[-1].speaker} said"

    def contradiction(self) -> str:
        """Return what it denies and its sources do not, or states and they deny; empty for nothing."""
        if self._is_quote:
            return ""
        own, said = read_sentences(self.record.content), sentences_of(self.sources)
        if any(sentence.denies for sentence in own):
            return "" if any(sentence.denies for sentence in said) else "it denies what nobody denied"
        stated = frozenset().union(*(sentence.affirmed for sentence in own)) - self._speakers
        upheld = frozenset().union(*(sentence.affirmed for sentence in said))
        for sentence in said:
            if len(stated & sentence.denied - upheld) > HALF * len(stated):
                return f"it was denied: {', '.join(sorted(stated & sentence.denied)[:3])}"
        return ""

    @cached_property
    def _is_quote(self) -> bool:
        """Return whether it holds what a speaker said, after their name."""
        return any(f"{turn.speaker}: " in self.record.content for turn in self.sources)

    @cached_property
    def _speakers(self) -> frozenset[str]:
        return frozenset(name for turn in (*self.sources, *self.others) for name in content_stems(turn.speaker))

    @cached_property
    def _dates(self) -> list[TimeMention]:
        """Return the dates that it writes out."""
        return find_times(self.record.content, None)

    @cached_property
    def _undated(self) -> str:
        """Return its content without the dates."""
        text = self.record.content
        for date in self._dates:
            text = text[: date.start_char] + " " * (date.end_char - date.start_char) + text[date.end_char :]
        return text

    @cached_property
    def _stems(self) -> frozenset[str]:
        """Return the stems of what it speaks of: no names of speakers, no dates, no numbers."""
        return frozenset(word for word in content_stems(self._undated) if not word.isdigit()) - self._speakers

    @cached_property
    def _closest(self) -> SentenceSupport | None:
        """Return the sentence of the sources that has most in common with it."""
        return max(sentences_of(self.sources), key=lambda said: len(said.stems & self._stems), default=None)

    @cached_property
    def _nearest(self) -> list[Turn]:
        """Return the other turns, those nearest to its last source first."""
        last = self.sources[-1].seq if self.sources else self.record.seq
        return sorted(self.others, key=lambda turn: (abs(turn.seq - last), turn.seq))

    def _gives(self, turn: Turn, detail: _Detail) -> bool:
        support = support_of(turn)
        if not detail.is_said_by(support):
            return False
        is_just_before = any(0 < source.seq - turn.seq <= NEAR for source in self.sources)
        return (detail.kind == "name" and is_just_before) or not detail.about.isdisjoint(support.stems)


def _number(number: str, about: frozenset[str]) -> _Detail:
    return _Detail("number", number, about, lambda said: said.gives_numbers([number]))


def _name(part: str, about: frozenset[str]) -> _Detail:
    return _Detail("name", part, about, lambda said: said.gives_name(part))


def _date(text: str, time: Interval, about: frozenset[str]) -> _Detail:
    def is_implied_by(source: TurnSupport) -> bool:
        names = {word for word in content_stems(text) if not word.isdigit()}
        is_spelled_out = source.gives_numbers(NUMBER.findall(text)) and names <= source.stems
        return is_spelled_out or source.was_said_in(time)

    return _Detail("date", text, about, lambda said: said.gives_time(time), is_implied_by)


def _name_parts(name: str) -> list[str]:
    """Return the words of a name that each must have been said; the whole name where it has none of its own."""
    return [part for part in name.split() if content_stems(part)] or [name]


def _is_named(name: str, said: Collection[str]) -> bool:
    parts = words(name)
    return bool(parts) and all(part in said for part in parts)


def _unsupported_words(record: Record, nearby: Sequence[Turn]) -> str:
    """Return why the content has no evidence: too few of its stems were said near its sources."""
    stems = set(content_stems(record.content))
    missing = _unsaid(stems, nearby)
    if len(stems) - len(missing) >= MIN_SAID * len(stems):
        return ""
    return f"most of its words were not said: {', '.join(sorted(missing)[:3])}"


def _unsaid(stems: Collection[str], nearby: Sequence[Turn]) -> set[str]:
    """Return the stems that none of the turns holds. Those that hold most are best given first."""
    left = set(stems)
    for turn in nearby:
        if not left:
            break
        left -= support_of(turn).stems
    return left


def _without_time(record: Record) -> Record:
    return record.model_copy(update={"event_start": None, "event_end": None, "time_text": ""})


def _with_supported_dimensions(record: Record, nearby: Sequence[Turn]) -> Record:
    """Return a record without the place, reason, purpose and keywords that nobody near its sources said."""

    def supported(text: str, least: float) -> str:
        stems = set(content_stems(text))
        return text if stems and len(stems) - len(_unsaid(stems, nearby)) >= least * len(stems) else ""

    update: dict[str, object] = {
        "location": supported(record.location, 1.0),
        "reason": supported(record.reason, HALF),
        "purpose": supported(record.purpose, HALF),
        "keywords": [word for word in record.keywords if supported(word, HALF)],
    }
    return record.model_copy(update=update)


def recycled_reason(record: Record, sources: Sequence[Turn], index: ScopeIndex) -> str:
    """Return which stored record this one recycles; empty if it says anything of its own.

    What an assistant says that a stored record holds already, nearly word for word, comes from memory. What a user says
    is never recycled.

    Args:
        record: The record to verify.
        sources: The turns it cites.
        index: What is stored of the scope.
    """
    if not sources or any(turn.role == "user" for turn in sources) or not len(index.records):
        return ""
    speakers = {name for turn in sources for name in content_stems(turn.speaker)}
    stems = set(content_stems(record.content)) - speakers
    if not stems:
        return ""
    least = RECYCLED_SHARE * len(stems)
    held_by = index.records.lexical.count_matches(stems)
    for position in np.flatnonzero(held_by >= least):  # by content or by keywords
        stored = index.records.items[position]
        if stored.status != "active" or set(stored.source_turn_ids) & set(record.source_turn_ids):
            continue
        if len(stems.intersection(content_stems(stored.content))) >= least:
            return f"it recycles the record {stored.record_id}"
    return ""


def _quarantined(record: Record, reason: str) -> Record:
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason})
