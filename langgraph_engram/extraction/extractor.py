"""Ask a model for drafts of records, and let one that cannot write them label sentences instead.

Where an answer is too poor, the same turns are put to the model as sentences to label, and after a few such answers
only so.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from langgraph_engram.compression import Compressor
from langgraph_engram.extraction.batching import TurnBatch, compressed
from langgraph_engram.extraction.capability import Reading, is_too_hard, note_answer
from langgraph_engram.extraction.records import DIMENSIONS, Draft
from langgraph_engram.llm.base import LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabels
from langgraph_engram.prompts.rendering import Sentence
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import MemoryType, RecordKind, Turn
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.text.statements import type_of

LABELLED_SENTENCES = 25
"""Sentences labelled in one call."""

Answer: TypeAlias = Reading | SentenceLabels


@dataclass(frozen=True)
class View:
    """What is asked of a batch of turns, and what its records are."""

    kind: RecordKind
    ask: Callable[[TurnBatch], Question[Reading]]
    """Makes the question."""
    dimensions: Collection[str] = ()
    """Those of `DIMENSIONS` that its records have."""
    may_label: bool = True
    """Whether sentences are labelled where the model cannot write; else small talk has numbers as well."""


def ask_events(batch: TurnBatch) -> Question[EventReading]:
    """Ask for the records and relations of a batch, and for what its events are about."""
    return ExtractEvents(batch.turns, batch.context, batch.event_starts, batch.shown, batch.in_passages)


EVENTS = View("dimensional", ask_events, DIMENSIONS)


@dataclass(frozen=True)
class Extracted:
    """What one question about a batch came to, of the turns of one session."""

    turns: list[Turn]
    sentences: list[Sentence]
    """The sentences of the turns, under the numbers that the model saw."""
    event_of: dict[str, str]
    """The event of each turn, by turn id."""
    drafts: list[tuple[RecordKind, Draft]]
    dimensions: Collection[str]
    """Those of `DIMENSIONS` that the records have."""
    notes: dict[str, EventNote]
    """What was noted of the events, by event id."""
    failure: str
    """Why there is no answer; empty if there is one."""


@dataclass(frozen=True)
class _Answered:
    """A batch, the answer that counts, and all those that cost something on the way to it."""

    batch: TurnBatch
    result: LLMResult[Answer]
    spent: tuple[LLMResult[Answer], ...]


@dataclass(frozen=True)
class Extractor:
    """Extract drafts of records."""

    model: Model
    settings: ExtractSettings
    views: Sequence[View] = (EVENTS,)
    """What is asked of each batch; nothing where no records are kept."""
    compressor: Compressor | None = None
    """What shortens the sentences that the model reads; None to let it read what was said."""

    def extract(self, batches: Sequence[TurnBatch]) -> tuple[list[Extracted], UsageEntry]:
        """Ask about each batch. Drafts cite what was said, whatever the model reads of it.

        Returns:
            The drafts of each view, batch and session, in order, and what all of it cost.
        """
        if self.compressor and self.views:
            batches = [compressed(batch, self.compressor) for batch in batches]
        answered = [(view, answer) for view in self.views for answer in self._ask(view, batches)]
        found = [extracted for view, answer in answered for extracted in _extracted(view, answer.batch, answer.result)]
        return found, entry_of("extract", [result for _, answer in answered for result in answer.spent])

    def _ask(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Return what counts of the answers.

        Until the model has shown that it can write, it is asked about one batch at a time: one that cannot costs
        little.
        """
        if not view.may_label:
            return self._write(view, [replace(batch, small_talk=True) for batch in batches])
        if self.settings.method == "written":
            return self._write(view, batches)
        answers: list[_Answered] = []
        waiting = list(batches)
        while waiting:
            size = len(waiting) if self._only_labels or self.model.capability.is_shown else 1
            ahead, waiting = waiting[:size], waiting[size:]
            if self._only_labels:
                answers += [answer for batch in ahead for answer in self._label(batch)]
            else:
                answers += self._write_or_label(view, ahead)
        return answers

    @property
    def _only_labels(self) -> bool:
        """Return whether the model is asked to label, and no longer to write."""
        return self.settings.method == "labelled" or self.model.capability.is_lacking

    def _write_or_label(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Let the model write, and label where that was too hard; labels that fail leave what was written."""
        answers: list[_Answered] = []
        for written in self._write(view, batches):
            labelled = self._label(written.batch) if is_too_hard(written.batch, written.result) else []
            is_better = bool(labelled) and all(label.result.answer for label in labelled)
            spent = (*written.spent, *(label.result for label in labelled))
            first = labelled[0] if is_better else written
            answers += [replace(first, spent=spent), *(replace(label, spent=()) for label in labelled[1:] if is_better)]
            if is_better or not labelled:
                note_answer(self.model.capability, written.batch, written.result)
        return answers

    def _write(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Let the model write; what does not fit into one answer is asked for in two, once (docs/decisions/0002)."""
        answers: list[_Answered] = []
        for batch, result in zip(batches, self._put(view, batches), strict=True):
            halves = batch.halves if result.failure and result.failure.kind == "too_long" else []
            if not halves:
                answers.append(_Answered(batch, result, (result,)))
                continue
            first, *others = zip(halves, self._put(view, halves), strict=True)
            answers.append(_Answered(*first, (result, first[1])))
            answers += [_Answered(half, halved, (halved,)) for half, halved in others]
        return answers

    def _put(self, view: View, batches: Sequence[TurnBatch]) -> list[LLMResult[Answer]]:
        return list(self.model.ask_all([view.ask(batch) for batch in batches]))

    def _label(self, batch: TurnBatch) -> list[_Answered]:
        """Ask for labels, a part of the batch at a time; an assistant's long messages are found by their passages."""
        parts = batch.without_long_replies.parts(LABELLED_SENTENCES)
        results = self.model.ask_all([LabelSentences(part.turns, part.context, shown=part.shown) for part in parts])
        return [_Answered(part, result, (result,)) for part, result in zip(parts, results, strict=True)]


def _extracted(view: View, batch: TurnBatch, result: LLMResult[Answer]) -> list[Extracted]:
    """Return what an answer says of each session of a batch."""
    notes: dict[str, EventNote] = {}
    drafts: list[tuple[RecordKind, Draft]] = []
    match result.answer:
        case SentenceLabels() as answer:
            drafts = [(view.kind, draft) for draft in _labelled(batch, answer)]
        case Reading() as answer:
            drafts = [(view.kind, draft) for draft in answer.drafts]
    if isinstance(result.answer, EventReading):
        drafts += [("relational", relation) for relation in result.answer.relations]
        notes = _notes(batch, result.answer.events)
    cited_in = _by_session(batch, drafts)
    reason = result.failure.reason if result.failure else ""
    return [
        Extracted(
            [*turns],
            [sentence for sentence in batch.sentences if sentence.turn.session_id == session_id],
            batch.event_of,
            cited_in.get(session_id, []),
            view.dimensions,
            notes,
            reason,
        )
        for session_id, turns in groupby(batch.turns, lambda turn: turn.session_id)
    ]


def _by_session(
    batch: TurnBatch, drafts: Sequence[tuple[RecordKind, Draft]]
) -> dict[str, list[tuple[RecordKind, Draft]]]:
    """Return the drafts that cite a sentence of each session; what cites nothing is of the first.

    One that cites two sessions is of both, and rests in each on what was said there alone.
    """
    session_of = {sentence.number: sentence.turn.session_id for sentence in batch.sentences if sentence.number}
    cited_in: dict[str, list[tuple[RecordKind, Draft]]] = {}
    for kind, draft in drafts:
        known = dict.fromkeys(session_of[number] for number in draft.sources if number in session_of)
        for session_id in known or [batch.turns[0].session_id]:
            cited_in.setdefault(session_id, []).append((kind, draft))
    return cited_in


def _labelled(batch: TurnBatch, answer: SentenceLabels) -> list[RecordDraft]:
    """Return a draft without words of its own for each sentence that the model keeps, but for questions.

    Its type is read off its words: the model's label is too rough for more than whether to keep it.
    """
    kept = {label.number for label in answer.labels if label.label != "skip"}
    return [
        RecordDraft(sources=[sentence.number], memory_type=_type(sentence))
        for sentence in batch.sentences
        if sentence.number in kept and sentence.number and not sentence.asks
    ]


def _type(sentence: Sentence) -> MemoryType:
    return "fact" if sentence.image else type_of(sentence.text, sentence.turn.said_at)


def _notes(batch: TurnBatch, notes: Sequence[EventNote]) -> dict[str, EventNote]:
    """Return what is noted of a batch's events, by event id; numbers that no event has are left out.

    Nothing is told of how an event came about that opens another session: what is above it did not end before it.
    """
    turns, starts = batch.turns, batch.event_starts
    noted: dict[str, EventNote] = {}
    for note in notes:
        if 1 <= note.event <= len(starts):
            start = starts[note.event - 1]
            opens = start > 0 and turns[start].session_id != turns[start - 1].session_id
            event_id = batch.event_of[turns[start].turn_id]
            noted[event_id] = note.model_copy(update={"transition": ""}) if opens else note
    return noted
