"""Make records of what a model or a rule worded: sources checked, times read, ids derived from place and content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from langgraph_engram.language.times import find_times, parse_time
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.schema import Interval, Record, RecordKind, Turn, make_id

NO_SOURCE = "it cites no turn that it was drawn from"


class Sourced(Protocol):
    """What every draft has: numbers of turns, and words."""

    @property
    def sources(self) -> list[int]:
        """Give the numbers of the core turns it comes from, from 1."""

    @property
    def content(self) -> str:
        """Give the words."""


@dataclass(frozen=True)
class RecordBuilder:
    """Make the records of one scope."""

    scope_key: str
    most: int
    """Records taken from one answer."""

    def build(
        self, turns: Sequence[Turn], event_of: Mapping[str, str], drafts: Sequence[tuple[RecordKind, Sourced]]
    ) -> list[Record]:
        """Make records of one answer's drafts.

        Args:
            turns: The core turns of the question; drafts cite them by number, from 1.
            event_of: The event of each of them, by turn id.
            drafts: Kinds and drafts, in the order of the answer; those without words are left out.

        Returns:
            Records without repeats: what is said twice of one event is one record with both sources. A draft that
            cites no core turn is quarantined with its reason.
        """
        made: dict[str, Record] = {}
        for kind, draft in drafts[: self.most]:
            content = " ".join(draft.content.split())
            if not content:
                continue
            record = self._record(kind, draft, content, turns, event_of, len(made))
            twin = made.get(record.record_id)
            made[record.record_id] = _with_sources(twin, record) if twin else record
        return list(made.values())

    def _record(
        self,
        kind: RecordKind,
        draft: Sourced,
        content: str,
        turns: Sequence[Turn],
        event_of: Mapping[str, str],
        part: int,
    ) -> Record:
        cited = [turns[number - 1] for number in dict.fromkeys(draft.sources) if 1 <= number <= len(turns)]
        source = cited[-1] if cited else turns[0]
        event_id = event_of[source.turn_id]
        plain = Record(
            record_id=make_id(self.scope_key, event_id, kind, content.casefold()),
            kind=kind,
            content=content,
            mentioned_at=source.said_at,
            speaker=source.speaker,
            session_id=source.session_id,
            event_id=event_id,
            seq=source.seq,
            part=part,
            source_turn_ids=[turn.turn_id for turn in cited],
            status="active" if cited else "quarantined",
            reject_reason="" if cited else NO_SOURCE,
            valid_from=source.said_at,
        )
        return _with_dimensions(plain, draft, source) if isinstance(draft, RecordDraft) else plain


def _with_dimensions(record: Record, draft: RecordDraft, source: Turn) -> Record:
    happened: Interval | None = parse_time(draft.time, source.said_at)
    return record.model_copy(
        update={
            "memory_type": draft.memory_type,
            "time_text": said_time(source, happened) or draft.time,
            "event_start": happened.start if happened else None,
            "event_end": happened.end if happened else None,
            "location": draft.location,
            "reason": draft.reason,
            "purpose": draft.purpose,
            "keywords": list(dict.fromkeys(draft.keywords)),
            "speaker": draft.speaker or source.speaker,
        }
    )


def said_time(source: Turn, happened: Interval | None) -> str:
    """Give the words by which a turn says when something happened; empty where it does not say it."""
    if happened is None:
        return ""
    mentions = find_times(source.text, source.said_at)
    near = (one for one in mentions if one.interval.start <= happened.end and happened.start <= one.interval.end)
    return next((one.text for one in near), "")


def _with_sources(record: Record, twin: Record) -> Record:
    if not record.source_turn_ids:
        return twin
    sources = list(dict.fromkeys([*record.source_turn_ids, *twin.source_turn_ids]))
    return record.model_copy(update={"source_turn_ids": sources})
