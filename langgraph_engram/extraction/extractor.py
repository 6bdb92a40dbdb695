"""Ask a model for records, and let one that cannot write them label sentences instead.

A small model lumps a conversation into one record, or leaves nearly all of it out. Where an answer is so poor, the same
turns are put to the model as sentences to label, and after a few such answers only so.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeAlias

from langgraph_engram.extraction.batching import TurnBatch
from langgraph_engram.extraction.records import DIMENSIONS, Draft, build_records
from langgraph_engram.llm.base import MOST_POOR, LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabels
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Record, RecordKind, Turn
from langgraph_engram.segmentation.events import EventNote, notes_by_words
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.text.statements import type_of

LABELLED_SENTENCES = 25
MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Statements from which on an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the statements that a usable answer covers."""
Reading: TypeAlias = Extraction | SourcedSentences
Answer: TypeAlias = Reading | SentenceLabels


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
    may_label: bool = True
    """Whether sentences are labelled where the model cannot write; else small talk has numbers as well."""

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
    result: LLMResult[Answer]
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
        answered = [(view, answer) for view in self.views for answer in self._ask(view, batches)]
        found = [part for view, answer in answered if answer.counts for part in _extracted(scope_key, view, answer)]
        return found, entry_of("extract", [answer.result for _, answer in answered])

    def _ask(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Return the answers; until the model has shown that it can write, it is asked about one batch at a time."""
        if not view.may_label:
            return self._write(view, [replace(batch, small_talk=True) for batch in batches])
        if self.settings.method == "written":
            return self._write(view, batches)
        answers: list[_Answered] = []
        waiting = list(batches)
        while waiting and self.settings.method == "auto" and not self.model.capability.is_lacking:
            size = len(waiting) if self.model.capability.is_shown else 1
            ahead, waiting = waiting[:size], waiting[size:]
            answers += [answer for written in self._write(view, ahead) for answer in self._improved(written)]
        return [*answers, *(answer for batch in waiting for answer in self._label(batch))]

    def _write(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        """Let the model write; what does not fit into one answer is asked for in two, once (docs/decisions/0002)."""
        answers: list[_Answered] = []
        for answer in self._put(view, batches):
            is_cut_off = answer.result.failure is not None and answer.result.failure.kind == "too_long"
            halves = answer.batch.halves if is_cut_off else []
            answers += [replace(answer, counts=not halves), *self._put(view, halves)]
        return answers

    def _put(self, view: View, batches: Sequence[TurnBatch]) -> list[_Answered]:
        results = self.model.ask_all([view.ask(batch) for batch in batches])
        return [_Answered(batch, result) for batch, result in zip(batches, results, strict=True)]

    def _improved(self, written: _Answered) -> list[_Answered]:
        """Let the model label where writing was too hard; labels that fail leave what was written."""
        if not written.counts:
            return [written]
        is_hard = is_too_hard(written.batch, written.result)
        labelled = self._label(written.batch) if is_hard else []
        failed = any(label.result.failure for label in labelled)
        if not failed:
            self._note(written, is_hard=is_hard)
        is_better = bool(labelled) and not failed
        return [replace(written, counts=not is_better), *(replace(label, counts=is_better) for label in labelled)]

    def _label(self, batch: TurnBatch) -> list[_Answered]:
        """Ask for labels, a part of the batch at a time; an assistant's long messages are found by their passages."""
        parts = batch.without_long_replies.parts(LABELLED_SENTENCES)
        results = self.model.ask_all([LabelSentences(part.turns, part.context) for part in parts])
        return [_Answered(part, result) for part, result in zip(parts, results, strict=True)]

    def _note(self, written: _Answered, *, is_hard: bool) -> None:
        """Note how an answer was; a time-out counts as `MOST_POOR`, for each costs the whole time-out again."""
        failure = written.result.failure
        if is_hard:
            self.model.capability.note(poor=MOST_POOR if failure and failure.kind == "timeout" else 1)
        elif not failure and len(_statements(written.batch)) >= LEAST_SENTENCES:
            self.model.capability.note(good=1)


def is_too_hard(batch: TurnBatch, result: LLMResult[Answer]) -> bool:
    """Return whether an answer is poor, malformed or late; a model out of reach, or one that refuses, shows nothing."""
    if result.failure:
        return result.failure.kind in ("invalid", "timeout", "too_long")
    if result.answer is None or isinstance(result.answer, SentenceLabels):
        return False
    return is_poor(batch, [draft.sources for draft in result.answer.drafts])


def is_poor(batch: TurnBatch, cited: Sequence[Sequence[int]]) -> bool:
    """Return whether drafts that cite these sentences, by number, lump them together or leave nearly all out."""
    statements = _statements(batch)
    if len(statements) < LEAST_SENTENCES:
        return False
    turn_of = {sentence.number: sentence.turn.turn_id for sentence in batch.sentences if sentence.number}
    turns = [{turn_of[number] for number in numbers if number in turn_of} for numbers in cited]
    usable = [numbers for numbers, held in zip(cited, turns, strict=True) if 1 <= len(held) <= MOST_TURNS]
    covered = statements & {number for numbers in usable for number in numbers}
    return 2 * len(usable) < len(cited) or len(covered) < LEAST_COVERED * len(statements)


def _statements(batch: TurnBatch) -> set[int]:
    """Return the numbers of the sentences that state something, without an assistant's long messages."""
    expected = batch.without_long_replies.turns
    stating = (sentence for sentence in batch.sentences if sentence.number and not sentence.asks)
    return {sentence.number for sentence in stating if sentence.turn in expected}


def _extracted(scope_key: str, view: View, answered: _Answered) -> list[Extracted]:
    """Return what an answer says of each session of its batch: drafts count where they cite, or else in the first."""
    batch, result, answer = answered.batch, answered.result, answered.result.answer
    noted = _labelled(batch, answer) if isinstance(answer, SentenceLabels) else answer.drafts if answer else ()
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


def _labelled(batch: TurnBatch, answer: SentenceLabels) -> list[RecordDraft]:
    """Return a draft for each statement that the model keeps; labels are too rough to tell more of it."""
    kept = {label.number for label in answer.labels if label.label != "skip"} - {0}
    return [
        RecordDraft(
            sources=[sentence.number],
            memory_type="fact" if sentence.image else type_of(sentence.text, sentence.turn.said_at),
        )
        for sentence in batch.sentences
        if sentence.number in kept and not sentence.asks
    ]


def _notes(batch: TurnBatch) -> dict[str, EventNote]:
    """Return what is noted of a batch's events, by event id, without transitions from one session to another."""
    turns, starts = batch.turns, batch.event_starts
    noted: dict[str, EventNote] = {}
    for start, note in zip(starts, notes_by_words(turns, starts), strict=True):
        opens = start > 0 and turns[start].session_id != turns[start - 1].session_id
        noted[batch.event_of[turns[start].turn_id]] = note._replace(transition="") if opens else note
    return noted
