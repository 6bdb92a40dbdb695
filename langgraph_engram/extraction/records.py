"""Make records of what a model or a rule noted: sources checked, words completed, times read, ids derived from content.

A draft points at numbered sentences. Where it brings no words of its own, or only copies, each sentence is kept as it
was said, after its speaker's name. What a draft leaves open of a sentence's dimensions is read off its words.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.rendering import CITATION, Sentence
from langgraph_engram.schema import Interval, Record, RecordKind, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import TimeMention, find_times
from langgraph_engram.temporal.parse import parse_time
from langgraph_engram.text.keywords import keywords_of
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import location_of, purpose_of, reason_of
from langgraph_engram.text.tokens import words

FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b")
LEAST_COPIED = 3
"""Words from which a copy says which sentence it is of."""
LEAST_REPEATED = 8
"""Words from which a sentence is known by most of them."""
REPEATED = 0.85
"""Share of the words of the longer that a part of a draft and a sentence have in common where one repeats the other."""
QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")


@dataclass(frozen=True)
class Wording:
    """The words of one record and the sentences they come from."""

    content: str
    sentences: tuple[Sentence, ...]
    as_said: bool
    """Whether the words are those that were said."""

    @property
    def turns(self) -> list[Turn]:
        """Give the turns it rests on, in order: those of its sentences, and of a question that is told with them."""
        asked = [one.answers for one in self.sentences if self.as_said and one.answers]
        found = {turn.turn_id: turn for turn in (*asked, *(one.turn for one in self.sentences))}
        return sorted(found.values(), key=lambda turn: turn.seq)


def wordings(content: str, cited: Sequence[Sentence], sentences: Sequence[Sentence] = ()) -> list[Wording]:
    """Give the words that a draft stands for.

    Args:
        content: The draft's own words; may be empty.
        cited: The sentences it cites, in its order; may be none.
        sentences: All that it was shown: what it copies from them rests on those, whatever it cites.

    Returns:
        One wording; or one for each sentence where the draft has no words of its own; or none where it has nothing.
    """
    plain = " ".join(CITATION.sub(" ", content).split()) if words(content) else ""  # a copy may hold its numbers
    if cited and (not plain or is_copy(plain, cited)):
        return [Wording(one.as_said, (one,), as_said=True) for one in cited]
    if not plain:
        return []
    copied = copied_from(plain, sentences)
    if any(one not in cited for one in copied):
        return [Wording(one.as_said, (one,), as_said=True) for one in copied if one.number]
    return [Wording(_owned(plain, cited), tuple(cited), as_said=False)]


def copied_from(content: str, sentences: Sequence[Sentence]) -> list[Sentence]:
    """Give the sentences that a draft's words are copied from, in its order; none where a part of it is no copy.

    Small models copy a sentence or a whole turn, with a word changed or another speaker's name, and put the number of
    its neighbour beside it.
    """
    speakers = "|".join(re.escape(name) for name in {one.turn.speaker for one in sentences})
    parts = split_sentences(re.sub(rf"(?:^|(?<=\s))(?:{speakers}):\s+", "", content))
    told = [part for part in parts if len(words(part)) >= LEAST_COPIED]
    found = [next((one for one in sentences if _repeats(part, one)), None) for part in told]
    copied = [one for one in found if one]
    return copied if len(copied) == len(found) else []


def is_copy(content: str, cited: Sequence[Sentence]) -> bool:
    """Say whether words are but a stretch of what the sentences say."""
    said = " ".join(words(" ".join(sentence.as_said for sentence in cited)))
    return f" {' '.join(words(content))} " in f" {said} "


def _repeats(part: str, sentence: Sentence) -> bool:
    """Say whether a part of a draft is a stretch of a sentence, or all of it but a word or two of many."""
    if is_copy(part, [sentence]):
        return True
    told, said = Counter(words(part)), Counter(words(sentence.resolved))
    longest = max(told.total(), said.total())
    return longest >= LEAST_REPEATED and (told & said).total() >= REPEATED * longest


def _owned(content: str, cited: Sequence[Sentence]) -> str:
    """Put the speaker's name before words that still speak as "I"."""
    speakers = list(dict.fromkeys(sentence.turn.speaker for sentence in cited))
    if len(speakers) == 1 and FIRST_PERSON.search(QUOTED.sub("", content)) and speakers[0] not in content:
        return f"{speakers[0]}: {content}"
    return content


def with_dimensions(record: Record, draft: RecordDraft, wording: Wording, *, alone: bool) -> Record:
    """Give a record its type, time, place, reason, purpose and keywords.

    Args:
        record: The record, worded.
        draft: What a model noted.
        wording: The record's words and sentences.
        alone: Whether the draft became this record alone, so that its dimensions are this record's.
    """
    said = " ".join(sentence.text for sentence in wording.sentences) or record.content
    mentions = _mentions(wording.sentences)
    happened, time_text = _time(draft.time if alone else "", mentions, wording)
    noted = draft if alone else RecordDraft(sources=[])
    return record.model_copy(
        update={
            "memory_type": draft.memory_type,
            "time_text": time_text,
            "event_start": happened.start if happened else None,
            "event_end": happened.end if happened else None,
            "location": noted.location or location_of(said),
            "reason": noted.reason or reason_of(said),
            "purpose": noted.purpose or purpose_of(said),
            "keywords": list(dict.fromkeys(noted.keywords)) or keywords_of(said),
        }
    )


def _time(noted: str, mentions: Sequence[TimeMention], wording: Wording) -> tuple[Interval | None, str]:
    """Give when it happened, and the words that say so: a time that is said goes before one that is only noted."""
    clock = wording.sentences[-1].turn.said_at if wording.sentences else None
    happened = parse_time(noted, clock)
    near = next((one for one in mentions if happened and _meet(one.interval, happened)), None)
    if happened and (near or not mentions):
        return happened, near.text if near else noted
    return (mentions[0].interval, mentions[0].text) if mentions else (None, noted)


def _mentions(sentences: Sequence[Sentence]) -> list[TimeMention]:
    return [
        mention
        for sentence in sentences
        if not sentence.image
        for mention in find_times(sentence.text, sentence.turn.said_at, sentence.turn.date_order)
    ]


def _meet(one: Interval, other: Interval) -> bool:
    return one.start <= other.end and other.start <= one.end


NO_SOURCE = "it cites no sentence that it was drawn from"


class Sourced(Protocol):
    """What every draft has: numbers of sentences, and words."""

    @property
    def sources(self) -> list[int]:
        """Give the numbers of the sentences it comes from, from 1."""

    @property
    def content(self) -> str:
        """Give the words; empty to keep the sentences as they were said."""


@dataclass(frozen=True)
class RecordBuilder:
    """Make the records of one scope."""

    scope_key: str
    most: int
    """Records taken from one answer, or as many as it has sentences to draw from: a long text loses none of them."""
    causal: bool = True
    """Whether records carry reason and purpose."""

    def build(
        self, sentences: Sequence[Sentence], event_of: Mapping[str, str], drafts: Sequence[tuple[RecordKind, Sourced]]
    ) -> list[Record]:
        """Make records of one answer's drafts.

        Args:
            sentences: The sentences of the core turns, at least one; drafts cite them by number.
            event_of: The event of each core turn, by turn id.
            drafts: Kinds and drafts, in the order of the answer.

        Returns:
            Records without repeats: what is said twice of one event is one record with both sources. A draft with
            words that cites no sentence is quarantined with its reason; one with neither leaves nothing.
        """
        numbered = {sentence.number: sentence for sentence in sentences if sentence.number}
        first = sentences[0].turn
        made: list[Record] = []
        for kind, draft in drafts[: max(self.most, len(numbered))]:
            cited = [numbered[number] for number in dict.fromkeys(draft.sources) if number in numbered]
            worded = wordings(draft.content, cited, sentences)
            for wording in worded:
                record = self._record(kind, wording, event_of, first, len(made))
                if isinstance(draft, RecordDraft):
                    record = with_dimensions(record, draft, wording, alone=len(worded) == 1)
                    record = record if self.causal else record.model_copy(update={"reason": "", "purpose": ""})
                made.append(record)
        return join_repeats(made)

    def _record(
        self, kind: RecordKind, wording: Wording, event_of: Mapping[str, str], first: Turn, part: int
    ) -> Record:
        sources = [turn for turn in wording.turns if turn.turn_id in event_of]
        source = sources[-1] if sources else first
        event_id = event_of[source.turn_id]
        return Record(
            record_id=make_id(self.scope_key, event_id, kind, wording.content.casefold()),
            kind=kind,
            content=wording.content,
            mentioned_at=source.said_at,
            speaker=source.speaker,
            session_id=source.session_id,
            event_id=event_id,
            seq=source.seq,
            part=part,
            source_turn_ids=[turn.turn_id for turn in sources],
            status="active" if sources else "quarantined",
            reject_reason="" if sources else NO_SOURCE,
            valid_from=source.said_at,
        )


def join_repeats(records: Sequence[Record]) -> list[Record]:
    """Join records of one event that say the same, whatever their kind: the first one's words, the sources of all."""
    joined: dict[tuple[str, str], Record] = {}
    for record in records:
        said = (record.event_id, record.content.casefold())
        twin = joined.get(said)
        joined[said] = with_sources(twin, record) if twin else record
    return list(joined.values())


def with_sources(record: Record, twin: Record) -> Record:
    """Give a record with its twin's sources beside its own, as new as the later of the two.

    One without any source gives way to its twin.
    """
    if not record.source_turn_ids:
        return twin
    sources = list(dict.fromkeys([*record.source_turn_ids, *twin.source_turn_ids]))
    latest = max(record, twin, key=lambda one: (one.mentioned_at is not None, one.mentioned_at, one.seq))
    place = {name: getattr(latest, name) for name in ("mentioned_at", "seq", "part")}
    return record.model_copy(update={"source_turn_ids": sources, **place})


def beside_stored(records: Sequence[Record], index: ScopeIndex) -> list[Record]:
    """Join records with what is stored under their ids, where it still stands.

    What was kept out is judged again with all its sources; what was merged or superseded and is said again is a record
    of its own, as new as its words.
    """
    return [_beside(record, index.records.get(record.record_id)) for record in records]


def _beside(record: Record, stored: Record | None) -> Record:
    match stored:
        case None:
            return record
        case Record(status="active"):
            return with_sources(stored, record)
        case Record(status="quarantined"):
            sources = with_sources(stored, record).source_turn_ids
            return record.model_copy(update={"source_turn_ids": sources})
    if set(record.source_turn_ids) <= set(stored.source_turn_ids):
        return stored
    return record.model_copy(update={"record_id": make_id(record.record_id, *record.source_turn_ids)})
