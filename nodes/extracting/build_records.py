"""Make records of what a model or a rule noted: sources checked, words completed, times read, ids derived from content.

A draft points at numbered sentences. Where it brings no words of its own, or only copies, each sentence is kept as it
was said, after its speaker's name. What a draft leaves open of a sentence's dimensions is read off its words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from langgraph_engram.nodes.extracting.record_dimensions import with_dimensions
from langgraph_engram.nodes.extracting.wording import Wording, wordings
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.sentences import Sentence
from langgraph_engram.schema import Record, RecordKind, Turn, make_id

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
