"""Verify records against what their extraction was shown: numbers, names, dates, words, speakers, denials.

What the cited turns say is evidence, and so is what another turn of the same prompt says of the same thing;
such a turn joins the sources. A record that goes beyond what was shown is quarantined with the reason; a dimension that
nobody near its sources said is left out. What an assistant says that a stored record holds already is no new record.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, lru_cache

import numpy as np

from langgraph_engram.extraction.extractor import as_read
from langgraph_engram.filters import join_metadata
from langgraph_engram.schema import DateOrder, Event, Interval, Prompt, Record, Turn
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import wall_time
from langgraph_engram.temporal.find import TimeMention, find_times, resolve_times
from langgraph_engram.text.keywords import proper_names
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import affirmed, speaks_of_self
from langgraph_engram.text.words import NUMBER, content_stems, numbers_in, plain_number, spelled_numbers, stem, words

MIN_SAID = 0.5
"""Share of a record's content stems that must have been said in its event."""
RECYCLED_SHARE = 0.9
"""Share of an assistant's words in a stored record from which they are recycled memory."""
HALF = 0.5
"""Least share of the words of a reason, a purpose or a keyword that were said."""
BESIDE = 200
"""Characters beside a number that are read for the words that it speaks of."""
NEAR = 2
"""Turns before a source whose names its pronouns may stand for, whatever else they say."""
NEGATING = frozenset(("no", "not", "never", "t"))
"""Words that negate by themselves; the last is what `words` makes of "won't"."""
YEAR_DIGITS = 4
CACHE_SIZE = 256
"""Turns that are read once, however many records cite them: more than a prompt and its events hold."""


def verify_records(
    records: Sequence[Record],
    index: ScopeIndex,
    events: Sequence[Event],
    prompts: Sequence[Prompt],
    settings: ExtractSettings,
) -> list[Record]:
    """Return the records of a run verified, with all turns that they rest on, or quarantined with the first reason.

    What was read together when they were extracted is evidence. Passages are what was said, and need none.
    """
    event_of = {turn_id: event.event_id for event in events for turn_id in event.turn_ids}
    nearby = {event.event_id: [*event.context_turn_ids, *event.turn_ids] for event in events}
    read_with: dict[str, tuple[list[str], list[Turn]]] = {}
    for prompt in prompts:
        read = list(as_read(_turns(index, [*prompt.context_turn_ids, *prompt.turn_ids]), settings))
        read_with |= {event_of[turn_id]: (prompt.turn_ids, read) for turn_id in prompt.turn_ids}
    verified: list[Record] = []
    for record in records:
        if record.is_chunk:
            verified.append(record)
            continue
        core, read = read_with.get(record.event_id, ([], []))
        shown = [*read, *_turns(index, nearby.get(record.event_id, []))]
        sources = _turns(index, record.source_turn_ids)
        found = verify_record(record, sources, shown, core)
        reason = recycled_reason(found, sources, index) if found.status == "active" else ""
        verified.append(_quarantined(found, reason) if reason else found)
    return verified


def _turns(index: ScopeIndex, turn_ids: Sequence[str]) -> list[Turn]:
    return [turn for turn_id in turn_ids if (turn := index.turns.get(turn_id))]


def verify_record(
    record: Record, sources: Sequence[Turn], shown: Sequence[Turn], citable: Collection[str] = ()
) -> Record:
    """Return the record with the dimensions that have evidence, or quarantined with the first reason found.

    Beside the `sources`, a turn that was `shown` when it was written is evidence if it gives a number, a name or a date
    of it and speaks of the same; for names, so are the last turns before a source, whose pronouns they may explain.
    Such turns join its sources where they are `citable`: the ids of the core turns.
    """
    if record.status != "active":
        return record
    cited = {turn.turn_id for turn in sources}
    others = {turn.turn_id: turn for turn in shown if turn.turn_id not in cited}
    claim = _Claim(record, tuple(sources), tuple(others.values()))
    rests_on: list[Turn] = []
    for detail in claim.details():
        evidence = claim.evidence_for(detail)
        if evidence is None:
            return _quarantined(record, f"the {detail.kind} {detail.text!r} was not said, or not of this")
        rests_on += evidence
    if reason := claim.unsupported_words() or claim.misattribution() or claim.contradiction():
        return _quarantined(record, reason)
    update = claim.supported_dimensions()
    happened = claim.happened()
    evidence = claim.evidence_for(happened) if happened else []
    if evidence is None:
        update |= {"event_start": None, "event_end": None, "time_text": ""}
    if joining := {turn.turn_id: turn for turn in [*rests_on, *(evidence or [])] if turn.turn_id in citable}:
        metadata = join_metadata([*(turn.metadata for turn in joining.values()), record.metadata])
        update |= {"source_turn_ids": [*joining, *record.source_turn_ids], "metadata": metadata}
    return record.model_copy(update=update)


@dataclass(frozen=True)
class _Detail:
    """A number, a name or a date of a record."""

    kind: str
    text: str
    about: frozenset[str]
    """Stems of which another turn that gives it holds one, where it speaks of the same."""
    is_said_by: Callable[["TurnSupport"], bool]
    is_implied_by: Callable[["TurnSupport"], bool] = lambda _: False


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
            start, end = match.span()
            before, after = text[max(0, start - BESIDE) : start], text[end : end + BESIDE]
            beside = (*content_stems(before)[-1:], *content_stems(after)[:1])
            yield _number(match.group(), self._stems.intersection(beside))
        for name in proper_names(text):
            stems = content_stems(name)
            if not self._speakers.issuperset(stems):
                parts = [part for part in name.split() if content_stems(part)] or [name]
                yield from (_name(part, self._stems.difference(stems)) for part in parts)
        yield from (_date(date.text, date.interval, self._stems) for date in self._dates)

    def happened(self) -> _Detail | None:
        """Return when it happened, as a detail; None where it does not say."""
        start, end = self.record.event_start, self.record.event_end
        if start is None or end is None:
            return None
        return _date(start.date().isoformat(), Interval(start=start, end=end), self._stems)

    def evidence_for(self, detail: _Detail) -> list[Turn] | None:
        """Return the turns that a detail rests on beside the sources, often none; None if nobody says it."""
        supports = [support_of(turn) for turn in self.sources]
        if any(detail.is_said_by(support) or detail.is_implied_by(support) for support in supports):
            return []
        return next(([turn] for turn in self._nearest if self._gives(turn, detail)), None)

    def unsupported_words(self) -> str:
        """Return why the content has no evidence: too few of its stems were said near its sources."""
        stems = set(content_stems(self.record.content))
        missing = self._unsaid(stems)
        if len(stems) - len(missing) >= MIN_SAID * len(stems):
            return ""
        return f"most of its words were not said: {', '.join(sorted(missing)[:3])}"

    def misattribution(self) -> str:
        """Return whom the record is about by mistake: it says of one speaker what another said of themselves.

        It names nobody who spoke a source, and the sentence closest to it is in the first person and does not mention
        or address whom it names.
        """
        named = {*words(self.record.content)}
        speakers = dict.fromkeys(turn.speaker for turn in self.sources)
        if self._is_quote or any(_is_named(name, named) for name in speakers):
            return ""
        others = dict.fromkeys(turn.speaker for turn in self.others if turn.speaker not in speakers)
        about = [name for name in others if _is_named(name, named)]
        said = sentences_of(self.sources) if about else []
        closest = max(said, key=lambda sentence: len(sentence.stems & self._stems), default=None)
        if not closest or not closest.of_self or closest.words & {"you", "your", "yours", *words(" ".join(about))}:
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
            denied = stated & sentence.stems - sentence.affirmed
            if len(denied - upheld) > HALF * len(stated):
                return f"it was denied: {', '.join(sorted(denied)[:3])}"
        return ""

    def supported_dimensions(self) -> dict[str, object]:
        """Return the place, reason, purpose and keywords, as far as somebody near the sources said them."""
        record = self.record
        noted = {"location": (record.location, 1.0), "reason": (record.reason, HALF), "purpose": (record.purpose, HALF)}
        said = {name: text if self._is_said(text, least) else "" for name, (text, least) in noted.items()}
        return {**said, "keywords": [word for word in record.keywords if self._is_said(word, HALF)]}

    def _is_said(self, text: str, least: float) -> bool:
        stems = set(content_stems(text))
        return bool(stems) and len(stems) - len(self._unsaid(stems)) >= least * len(stems)

    def _unsaid(self, stems: Collection[str]) -> set[str]:
        """Return the stems that no turn holds; the sources, which hold most, come first."""
        left = set(stems)
        for turn in (*self.sources, *self.others):
            if not left:
                break
            left -= support_of(turn).stems
        return left

    @cached_property
    def _is_quote(self) -> bool:
        """Return whether it holds what a speaker said, after their name."""
        return any(f"{turn.speaker}: " in self.record.content for turn in self.sources)

    @cached_property
    def _speakers(self) -> frozenset[str]:
        return frozenset(name for turn in (*self.sources, *self.others) for name in content_stems(turn.speaker))

    @cached_property
    def _dates(self) -> list[TimeMention]:
        return find_times(self.record.content, None)

    @cached_property
    def _undated(self) -> str:
        text = list(self.record.content)
        for date in self._dates:
            text[date.start_char : date.end_char] = " " * len(date.text)
        return "".join(text)

    @cached_property
    def _stems(self) -> frozenset[str]:
        """Return the stems of what it speaks of: no names of speakers, no dates, no numbers."""
        return frozenset(word for word in content_stems(self._undated) if not word.isdigit()) - self._speakers

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
    return _Detail("number", number, about, lambda said: not missing_number([number], said.numbers))


def _name(part: str, about: frozenset[str]) -> _Detail:
    stems = {*map(stem, words(part))}
    return _Detail("name", part, about, lambda said: not said.stems.isdisjoint(stems) or part.casefold() in said.text)


def _date(text: str, time: Interval, about: frozenset[str]) -> _Detail:
    names = {word for word in content_stems(text) if not word.isdigit()}

    def is_implied_by(source: TurnSupport) -> bool:
        is_spelled_out = not missing_number(NUMBER.findall(text), source.numbers) and names <= source.stems
        said_on = source.said_at.date() if source.said_at else None
        return is_spelled_out or (said_on is not None and time.start.date() <= said_on <= time.end.date())

    return _Detail(
        "date", text, about, lambda said: any(time.meets(mentioned) for mentioned in said.times), is_implied_by
    )


def _is_named(name: str, said: Collection[str]) -> bool:
    parts = words(name)
    return bool(parts) and set(parts).issubset(said)


def recycled_reason(record: Record, sources: Sequence[Turn], index: ScopeIndex) -> str:
    """Return which stored record an assistant repeats, nearly word for word; empty if none, or if a user spoke."""
    speakers = {name for turn in sources for name in content_stems(turn.speaker)}
    stems = set(content_stems(record.content)) - speakers
    if not (stems and sources and len(index.records)) or any(turn.role == "user" for turn in sources):
        return ""
    least = RECYCLED_SHARE * len(stems)
    held_by = index.records.lexical.count_matches(stems)
    for position in np.flatnonzero(held_by >= least):  # by content or by keywords
        stored = index.records.items[position]
        is_other = stored.status == "active" and set(stored.source_turn_ids).isdisjoint(record.source_turn_ids)
        if is_other and len(stems.intersection(content_stems(stored.content))) >= least:
            return f"it recycles the record {stored.record_id}"
    return ""


def _quarantined(record: Record, reason: str) -> Record:
    return record.model_copy(update={"status": "quarantined", "reject_reason": reason})


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
    said_at: datetime | None
    """When it was said, by the speaker's own clock."""


@dataclass(frozen=True)
class SentenceSupport:
    """What one sentence is evidence for."""

    words: frozenset[str]
    stems: frozenset[str]
    affirmed: frozenset[str]
    """Those of the clauses that are not negated; the others are denied."""
    denies: bool
    """Whether it negates anything, were it only by "not"."""
    of_self: bool


def support_of(turn: Turn) -> TurnSupport:
    """Return what a turn is evidence for."""
    return _support(turn.speaker, turn.text, tuple(turn.captions), wall_time(turn.said_at), turn.date_order)


@lru_cache(maxsize=CACHE_SIZE)
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


def missing_number(numbers: Sequence[str], said: Collection[str]) -> str:
    """Return the first of `numbers`, in digits, that is not among those said, written plainly; empty if all are."""
    for number in numbers:  # a year may be said by its last two digits, and a full hour has no minutes
        plain = plain_number(number)
        of_year = plain[2:] if len(plain) == YEAR_DIGITS and plain.isdigit() else plain
        if plain.strip("0") and plain not in said and of_year not in said:
            return number
    return ""


def sentences_of(turns: Sequence[Turn]) -> list[SentenceSupport]:
    """Return what each sentence of some turns is evidence for, in order; an image is its speaker's."""
    found: list[SentenceSupport] = []
    for turn in turns:
        found += read_sentences(turn.text)
        found += [replace(_sentence_support(caption), of_self=True) for caption in turn.captions]
    return found


@lru_cache(maxsize=CACHE_SIZE)
def read_sentences(text: str) -> tuple[SentenceSupport, ...]:
    """Return what each sentence of a text is evidence for."""
    return tuple(map(_sentence_support, split_sentences(text)))


def _sentence_support(sentence: str) -> SentenceSupport:
    stems, stated = frozenset(content_stems(sentence)), frozenset(content_stems(affirmed(sentence)))
    said = frozenset(words(sentence))
    denies = stems > stated or not NEGATING.isdisjoint(said)
    return SentenceSupport(said, stems, stated, denies, speaks_of_self(sentence))
