"""Ask a model for candidate records, and let one that cannot write them label sentences instead.

What a strategy asks is one question for everything, or the questions of its paper. Where the answer is too poor, the
same turns are put to the model as sentences to label, and after a few such answers only so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TypeAlias

from langgraph_engram.compression import Compressor
from langgraph_engram.extraction.batching import Batch, compressed
from langgraph_engram.extraction.capability import ExtractionCapability, is_too_hard
from langgraph_engram.extraction.records import Candidate
from langgraph_engram.llm.base import LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabels
from langgraph_engram.prompts.rendering import Sentence
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import MemoryType, RecordKind, Turn
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.text.statements import type_of

KINDS: dict[str, tuple[RecordKind, ...]] = {
    "dimensional_relational": ("dimensional",),
    "dimensional": ("dimensional",),
    "dual": ("factual", "relational"),
    "factual": ("factual",),
    "key_sentence": ("key_sentence",),
    "none": (),
}
"""The kinds of record that each strategy asks for, one question a kind; relations come beside the first one's."""

Answer: TypeAlias = EventReading | Extraction | SourcedSentences | SentenceLabels
_Asked: TypeAlias = tuple[Batch, LLMResult[Answer]]
"""A batch and what was answered of it."""


@dataclass(frozen=True)
class Extracted:
    """What one question about a batch came to, of the turns of one session."""

    turns: list[Turn]
    sentences: list[Sentence]
    """The sentences of the turns, under the numbers that the model saw."""
    event_of: dict[str, str]
    """The event of each turn, by turn id."""
    candidates: list[tuple[RecordKind, Candidate]]
    notes: dict[str, EventNote]
    """What was noted of the events, by event id."""
    failure: str
    """Why there is no answer; empty if there is one."""


@dataclass(frozen=True)
class Extractor:
    """Extract candidates."""

    model: Model
    settings: ExtractSettings
    capability: ExtractionCapability = field(default_factory=ExtractionCapability)
    compressor: Compressor | None = None
    """What shortens the sentences that the model reads; None to let it read what was said."""

    def extract(self, batches: Sequence[Batch]) -> tuple[list[Extracted], UsageEntry]:
        """Ask about each batch. Candidates cite what was said, whatever the model reads of it.

        Returns:
            The candidates of each kind, batch and session, in order, and what all of it cost.
        """
        if self.compressor:
            batches = [compressed(batch, self.compressor) for batch in batches]
        found: list[Extracted] = []
        results: list[LLMResult[Answer]] = []
        for kind in KINDS[self.settings.strategy]:
            answers, asked = self._ask(kind, batches)
            found += [extracted for batch, answer in answers for extracted in _extracted(kind, batch, answer)]
            results += asked
        return found, entry_of("extract", results)

    def _ask(self, kind: RecordKind, batches: Sequence[Batch]) -> tuple[list[_Asked], list[LLMResult[Answer]]]:
        """Return the answers that count, and all answers that cost something.

        Until the model has shown that it can write, it is asked about one batch at a time: one that cannot costs
        little.
        """
        if kind == "relational":
            return self._write(kind, [replace(batch, small_talk=True) for batch in batches])
        if self.settings.method == "written":
            return self._write(kind, batches)
        answers: list[_Asked] = []
        results: list[LLMResult[Answer]] = []
        waiting = list(batches)
        while waiting:
            size = len(waiting) if self._only_labels or self.capability.is_shown else 1
            ahead, waiting = waiting[:size], waiting[size:]
            if self._only_labels:
                labelled = [asked for batch in ahead for asked in self._label(batch)]
                answers += labelled
                results += [result for _, result in labelled]
            else:
                counting, asked = self._write_or_label(kind, ahead)
                answers += counting
                results += asked
        return answers, results

    @property
    def _only_labels(self) -> bool:
        """Return whether the model is asked to label, and no longer to write."""
        return self.settings.method == "labelled" or self.capability.is_lacking

    def _write_or_label(
        self, kind: RecordKind, batches: Sequence[Batch]
    ) -> tuple[list[_Asked], list[LLMResult[Answer]]]:
        """Let the model write, and label where that was too hard; labels that fail leave what was written."""
        written, results = self._write(kind, batches)
        answers: list[_Asked] = []
        for batch, result in written:
            labelled = self._label(batch) if is_too_hard(batch, result) else []
            results += [label for _, label in labelled]
            is_better = bool(labelled) and all(label.answer for _, label in labelled)
            answers += labelled if is_better else [(batch, result)]
            if is_better or not labelled:
                self.capability.note(batch, result)
        return answers, results

    def _write(self, kind: RecordKind, batches: Sequence[Batch]) -> tuple[list[_Asked], list[LLMResult[Answer]]]:
        """Let the model write; what does not fit into one answer is asked for in two, once (docs/decisions/0034)."""
        written = self._put(kind, batches)
        answers: list[_Asked] = []
        results = [*written]
        for batch, result in zip(batches, written, strict=True):
            halves = batch.halves if result.failure and result.failure.kind == "too_long" else []
            halved = self._put(kind, halves)
            answers += zip(halves, halved, strict=True) if halves else [(batch, result)]
            results += halved
        return answers, results

    def _put(self, kind: RecordKind, batches: Sequence[Batch]) -> list[LLMResult[Answer]]:
        return list(self.model.ask_all([self._question(kind, batch) for batch in batches]))

    def _label(self, batch: Batch) -> list[_Asked]:
        """Ask for labels, a part of the batch at a time; an assistant's long messages are found by their passages."""
        parts = batch.without_long_replies.parts(self.settings.label_sentences)
        results = self.model.ask_all([LabelSentences(part.turns, part.context, part.shown) for part in parts])
        return list(zip(parts, results, strict=True))

    def _question(self, kind: RecordKind, batch: Batch) -> Question[Answer]:
        if kind == "dimensional" and self.settings.strategy == "dimensional_relational":
            return ExtractEvents(batch.turns, batch.context, batch.event_starts, batch.shown, batch.in_passages)
        match kind:
            case "dimensional":
                return ExtractRecords(batch.turns, batch.context, batch.shown, batch.in_passages)
            case "factual":
                return ExtractFacts(batch.turns, batch.context, batch.shown)
            case "relational":
                return ExtractRelations(batch.turns, batch.context, batch.shown)
        return ExtractKeySentences(batch.turns, batch.context, batch.shown)


def _extracted(kind: RecordKind, batch: Batch, result: LLMResult[Answer]) -> list[Extracted]:
    """Return what an answer says of each session of a batch."""
    candidates: list[tuple[RecordKind, Candidate]] = []
    notes: dict[str, EventNote] = {}
    match result.answer:
        case EventReading() as answer:
            candidates = [(kind, record) for record in answer.records]
            candidates += [("relational", relation) for relation in answer.relations]
            notes = _notes(batch, answer.events)
        case Extraction() as answer:
            candidates = [(kind, record) for record in answer.records]
        case SourcedSentences() as answer:
            candidates = [(kind, sentence) for sentence in answer.sentences]
        case SentenceLabels() as answer:
            candidates = [(kind, candidate) for candidate in _labelled(kind, batch, answer)]
    cited_in = _by_session(batch, candidates)
    reason = result.failure.reason if result.failure else ""
    return [
        Extracted(
            [*turns],
            [sentence for sentence in batch.sentences if sentence.turn.session_id == session_id],
            batch.event_of,
            cited_in.get(session_id, []),
            notes,
            reason,
        )
        for session_id, turns in groupby(batch.turns, lambda turn: turn.session_id)
    ]


def _by_session(
    batch: Batch, candidates: Sequence[tuple[RecordKind, Candidate]]
) -> dict[str, list[tuple[RecordKind, Candidate]]]:
    """Return the candidates that cite a sentence of each session; what cites nothing is of the first.

    One that cites two sessions is of both, and rests in each on what was said there alone.
    """
    session_of = {sentence.number: sentence.turn.session_id for sentence in batch.sentences if sentence.number}
    cited_in: dict[str, list[tuple[RecordKind, Candidate]]] = {}
    for kind, candidate in candidates:
        known = dict.fromkeys(session_of[number] for number in candidate.sources if number in session_of)
        for session_id in known or [batch.turns[0].session_id]:
            cited_in.setdefault(session_id, []).append((kind, candidate))
    return cited_in


def _labelled(kind: RecordKind, batch: Batch, answer: SentenceLabels) -> list[Candidate]:
    """Return a candidate without words of its own for each sentence that the model keeps, but for questions.

    Its type is read off its words: the model's label is too rough for more than whether to keep it.
    """
    kept = {label.number for label in answer.labels if label.label != "skip"}
    sentences = [
        sentence for sentence in batch.sentences if sentence.number in kept and sentence.number and not sentence.asks
    ]
    if kind != "dimensional":
        return [SourcedSentence(sources=[sentence.number]) for sentence in sentences]
    return [RecordDraft(sources=[sentence.number], memory_type=_type(sentence)) for sentence in sentences]


def _type(sentence: Sentence) -> MemoryType:
    return "fact" if sentence.image else type_of(sentence.text, sentence.turn.said_at)


def _notes(batch: Batch, notes: Sequence[EventNote]) -> dict[str, EventNote]:
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
