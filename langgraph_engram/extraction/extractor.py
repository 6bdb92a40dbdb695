"""Ask for records: of the rules, or of a model where a paper has it so."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from langgraph_engram.extraction.batching import TurnBatch
from langgraph_engram.extraction.records import DIMENSIONS, Draft, build_records
from langgraph_engram.llm.base import LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Record, RecordKind, Turn
from langgraph_engram.segmentation.events import EventNote, notes_by_words
from langgraph_engram.settings import ExtractSettings

Reading: TypeAlias = Extraction | SourcedSentences


@dataclass(frozen=True)
class View:
    """What is asked of a batch of turns, and what its records are."""

    kind: RecordKind
    question: Callable[..., Question[Reading]]
    """A question about sentences (`AboutSentences`)."""
    dimensions: Collection[str] = ()
    """Those of `DIMENSIONS` that its records have."""
    notes_events: bool = False
    """Whether events are named by the words of the batch."""
    small_talk: bool = False
    """Whether small talk has numbers as well."""

    def ask(self, batch: TurnBatch) -> Question[Reading]:
        """Return the question about a batch."""
        return self.question(batch.turns, batch.context, in_passages=batch.in_passages)


EVENTS = View("dimensional", ExtractRecords, DIMENSIONS, notes_events=True)
"""The records of a batch, and what its events are about."""


@dataclass(frozen=True)
class Extracted:
    """What one question about a batch came to, of the turns of one session."""

    turns: list[Turn]
    records: list[Record]
    notes: dict[str, EventNote]
    """What was noted of the events, by event id."""
    failure: str
    """Why there is no answer; empty if there is one."""


@dataclass(frozen=True)
class _Answered:
    """A batch and an answer about it."""

    batch: TurnBatch
    result: LLMResult[Reading]
    counts: bool = True
    """Whether records are made of it; else another answer stands in its place."""


@dataclass(frozen=True)
class Extractor:
    """Extract records."""

    model: Model
    settings: ExtractSettings
    views: Sequence[View] = (EVENTS,)
    """What is asked of each batch; nothing where no records are kept."""

    def extract(self, scope_key: str, batches: Sequence[TurnBatch]) -> tuple[list[Extracted], UsageEntry]:
        """Return the records of each view, batch and session, in order, and what it cost to ask for them."""
        answered = [(view, answer) for view in self.views for answer in self._write(view, batches)]
        found = [part for view, answer in answered if answer.counts for part in _extracted(scope_key, view, answer)]
        return found, entry_of("extract", [answer.result for _, answer in answered])

    def _write(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Let the model write; what does not fit into one answer is asked for in two, once (docs/decisions/0002)."""
        answers: list[_Answered] = []
        for answer in self._put(view, [replace(batch, small_talk=view.small_talk) for batch in batches]):
            is_cut_off = answer.result.failure is not None and answer.result.failure.kind == "too_long"
            halves = answer.batch.halves if is_cut_off else []
            answers += [replace(answer, counts=not halves), *self._put(view, halves)]
        return answers

    def _put(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        results = self.model.ask_all([view.ask(batch) for batch in batches])
        return [_Answered(batch, result) for batch, result in zip(batches, results, strict=True)]


def _extracted(scope_key: str, view: View, answered: _Answered) -> list[Extracted]:
    """Return what an answer says of each session of its batch: drafts count where they cite, or else in the first."""
    batch, result, answer = answered.batch, answered.result, answered.result.answer
    noted = answer.drafts if answer else ()
    drafts: list[tuple[RecordKind, Draft]] = [(view.kind, draft) for draft in noted]
    notes = _notes(batch) if view.notes_events else {}
    session_of = {sentence.number: sentence.turn.session_id for sentence in batch.sentences if sentence.number}
    cited_in: dict[str, list[tuple[RecordKind, Draft]]] = {}
    for kind, draft in drafts:
        known = dict.fromkeys(session_of[number] for number in draft.sources if number in session_of)
        for session_id in known or [batch.turns[0].session_id]:
            cited_in.setdefault(session_id, []).append((kind, draft))
    failure = result.failure.reason if result.failure else ""
    parts: list[Extracted] = []
    for session_id, turns in groupby(batch.turns, lambda turn: turn.session_id):
        sentences = [sentence for sentence in batch.sentences if sentence.turn.session_id == session_id]
        records = build_records(scope_key, sentences, batch.event_of, cited_in.get(session_id, []), view.dimensions)
        parts.append(Extracted([*turns], records, notes, failure))
    return parts


def _notes(batch: TurnBatch) -> dict[str, EventNote]:
    """Return what is noted of a batch's events, by event id, without transitions from one session to another."""
    turns, starts = batch.turns, batch.event_starts
    noted: dict[str, EventNote] = {}
    for start, note in zip(starts, notes_by_words(turns, starts), strict=True):
        opens = start > 0 and turns[start].session_id != turns[start - 1].session_id
        noted[batch.event_of[turns[start].turn_id]] = note._replace(transition="") if opens else note
    return noted
