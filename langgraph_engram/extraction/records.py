"""Make records of drafts: sources checked, words completed, times resolved, ids derived from content.

A draft cites numbered sentences, and its words stand; rules draft a sentence as it was said, after its speaker's name.
What a draft does not name of a sentence's dimensions is read off its words; what it names stays so, empty or not.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

from langgraph_engram.filters import join_metadata
from langgraph_engram.prompts.extract_facts import SourcedSentence
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.rendering import CITATION, Sentence
from langgraph_engram.schema import Interval, Record, RecordKind, Turn, make_id
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.find import find_times, parse_time
from langgraph_engram.text.keywords import keywords_of
from langgraph_engram.text.markdown import chunks_of
from langgraph_engram.text.statements import location_of, purpose_of, reason_of
from langgraph_engram.text.words import words

MAX_RECORDS = 400
"""Records taken from one answer, or as many as it has sentences: a long text loses none, and repeating is limited."""
DIMENSIONS = "memory_type time_text event_start event_end location reason purpose keywords".split()
NO_SOURCE = "it cites no sentence that it was extracted from"
Draft: TypeAlias = RecordDraft | SourcedSentence
"""What is noted of a record: numbers of sentences, and words."""


def build_records(
    scope_key: str,
    sentences: Sequence[Sentence],
    event_of: Mapping[str, str],
    drafts: Sequence[tuple[RecordKind, Draft]],
    dimensions: Collection[str] = DIMENSIONS,
) -> list[Record]:
    """Return the records of one answer's drafts, which cite the sentences of core turns by number.

    What is said twice of one event is one record with both sources. A draft that cites no sentence is quarantined with
    its reason; one without words leaves nothing. Of the dimensions, a dimensional record has those named.
    """
    numbered = {sentence.number: sentence for sentence in sentences if sentence.number}
    places = {sentence.number: place for place, sentence in enumerate(sentences)}
    made: list[Record] = []
    for kind, draft in drafts[: max(MAX_RECORDS, len(numbered))]:
        cited = [numbered[number] for number in dict.fromkeys(draft.sources) if number in numbered]
        said = [sentence for sentence in cited if sentence.as_said == draft.content]
        content = draft.content if said else " ".join(CITATION.sub(" ", draft.content).split())
        if not (said or words(content)):
            continue
        sources = [turn for turn in _turns_of(cited, said) if turn.turn_id in event_of]
        last = sources[-1] if sources else sentences[0].turn
        event_id = event_of[last.turn_id]
        record_id = make_id(scope_key, event_id, kind, content.casefold())
        part = places[cited[0].number] if cited else 0
        record = _record(record_id, kind, content, event_id, last, sources, part)
        if isinstance(draft, RecordDraft):
            found = _dimensions(draft, content, cited)
            record = record.model_copy(update={name: found[name] for name in dimensions})
        made.append(record)
    return join_repeats(made)


def chunk_records(scope_key: str, turns: Sequence[Turn], event_of: Mapping[str, str]) -> list[Record]:
    """Return the chunks of turns of events as records, as they were written, each after its speaker's name."""
    found: list[Record] = []
    for turn in (turn for turn in turns if turn.turn_id in event_of):
        event_id = event_of[turn.turn_id]
        for part, text in enumerate(chunks_of(turn.text, turn.role)):
            record_id = make_id(scope_key, event_id, "passage", turn.turn_id, part, text)
            found.append(_record(record_id, "passage", f"{turn.speaker}: {text}", event_id, turn, [turn], part))
    return found


def _record(
    record_id: str, kind: RecordKind, content: str, event_id: str, last: Turn, sources: Sequence[Turn], part: int
) -> Record:
    """Return a record of the moment and the speaker of one turn; quarantined without any source."""
    return Record(
        record_id=record_id,
        kind=kind,
        content=content,
        mentioned_at=last.said_at,
        speaker=last.speaker,
        session_id=last.session_id,
        event_id=event_id,
        seq=last.seq,
        part=part,
        source_turn_ids=[turn.turn_id for turn in sources],
        status="active" if sources else "quarantined",
        reject_reason="" if sources else NO_SOURCE,
        valid_from=last.said_at,
        metadata=join_metadata(turn.metadata for turn in sources),
    )


def join_repeats(records: Sequence[Record]) -> list[Record]:
    """Join records of one event with the same words, whatever their kind: the first one's, with the sources of all."""
    joined: dict[tuple[str, str], Record] = {}
    for record in records:
        key = (record.event_id, record.content.casefold())
        joined[key] = _with_sources(joined[key], record) if key in joined else record
    return list(joined.values())


def _with_sources(record: Record, repeat: Record) -> Record:
    """Return a record with its repeat's sources beside its own, as new as the later; without sources, its repeat."""
    if not record.source_turn_ids:
        return repeat
    sources = list(dict.fromkeys([*record.source_turn_ids, *repeat.source_turn_ids]))
    latest = max(record, repeat, key=lambda said: (said.mentioned_at is not None, said.mentioned_at, said.seq))
    position = {name: getattr(latest, name) for name in ("mentioned_at", "seq", "part")}
    older = repeat if latest is record else record
    metadata = join_metadata((older.metadata, latest.metadata))
    return record.model_copy(update={"source_turn_ids": sources, "metadata": metadata, **position})


def join_stored(records: Sequence[Record], index: ScopeIndex) -> list[Record]:
    """Join records with what is stored under their ids, where it still stands.

    What was quarantined is verified again with all its sources; what was merged or superseded and is said again is a
    record of its own, as new as its words.
    """
    return [_join_stored(record, index.records.get(record.record_id)) for record in records]


def _join_stored(record: Record, stored: Record | None) -> Record:
    if stored is None:
        return record
    joined = _with_sources(stored, record)
    if stored.status == "active":
        return joined
    if stored.status == "quarantined":
        return record.model_copy(update={"source_turn_ids": joined.source_turn_ids, "metadata": joined.metadata})
    if set(record.source_turn_ids) <= set(stored.source_turn_ids):
        return stored
    return record.model_copy(update={"record_id": make_id(record.record_id, *record.source_turn_ids)})


def without_known_kinds(records: Sequence[Record], asked: AbstractSet[str], index: ScopeIndex) -> list[Record]:
    """Return what was extracted, without kinds of records that turns which were asked about before gave then.

    Of two questions asked about a turn one may have been answered; another form of that answer is no new record.
    """
    stored = (record for record in index.records.items if not asked.isdisjoint(record.source_turn_ids))
    keys = {(record.event_id, record.kind, key) for record in stored for key in record.source_turn_ids}
    known = {key for key in keys if key[-1] in asked}
    return [
        record
        for record in records
        if known.isdisjoint((record.event_id, record.kind, key) for key in record.source_turn_ids)
    ]


def _turns_of(cited: Sequence[Sentence], said: Sequence[Sentence]) -> list[Turn]:
    """Return the turns of sentences, in order, and of the questions that those kept as they were said answer."""
    asked = [sentence.answers for sentence in said if sentence.answers]
    found = {turn.turn_id: turn for turn in (*asked, *(sentence.turn for sentence in cited))}
    return sorted(found.values(), key=lambda turn: turn.seq)


def _dimensions(draft: RecordDraft, content: str, cited: Sequence[Sentence]) -> dict[str, object]:
    """Return the dimensions of a record by name."""
    said = " ".join(sentence.text for sentence in cited) or content

    def named(name: str, read: Callable[[str], object]) -> Any:
        return getattr(draft, name) if name in draft.model_fields_set else read(said)

    happened, time_text = _event_time(draft, cited)
    return {
        "memory_type": draft.memory_type,
        "time_text": time_text,
        "event_start": happened.start if happened else None,
        "event_end": happened.end if happened else None,
        "location": named("location", location_of),
        "reason": named("reason", reason_of),
        "purpose": named("purpose", purpose_of),
        "keywords": list(dict.fromkeys(named("keywords", keywords_of))),
    }


def _event_time(draft: RecordDraft, cited: Sequence[Sentence]) -> tuple[Interval | None, str]:
    """Return when it happened, and the words that say so: as it was noted, or else the first time that was said."""
    if "time" in draft.model_fields_set:
        return parse_time(draft.time, cited[-1].turn.said_at if cited else None), draft.time
    spoken = (sentence for sentence in cited if not sentence.image)
    times = (
        mention
        for sentence in spoken
        for mention in find_times(sentence.text, sentence.turn.said_at, sentence.turn.date_order)
    )
    first = next(times, None)
    return (first.interval, first.text) if first else (None, "")
