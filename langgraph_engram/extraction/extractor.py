"""Ask a model for records, and let one that cannot write them label sentences instead.

A small model lumps a conversation into one record, or leaves nearly all of it out. Where an answer is so poor, the same
turns are put to the model as sentences to label, and after a few such answers only so.

Several short events share a call, up to a size, also of sessions. Only what somebody said is extracted from: the output
of a tool and a system's instructions are left out. Of what is kept as chunks, code and tables are not read.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import TypeAlias

from langgraph_engram.extraction.records import DIMENSIONS, Draft, build_records
from langgraph_engram.llm.base import MOST_POOR, LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction, RecordDraft
from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabels
from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.results import UsageEntry, count_tokens
from langgraph_engram.schema import Event, Prompt, Record, RecordKind, Turn
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import chunks_of, without_code
from langgraph_engram.text.statements import type_of

LABELLED_SENTENCES = 25
MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Statements from which on an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the statements that a usable answer covers."""
Reading: TypeAlias = EventReading | Extraction | SourcedSentences
Answer: TypeAlias = Reading | SentenceLabels


@dataclass(frozen=True)
class TurnBatch:
    """The turns that share one call, and those that are read beside them."""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...]
    """Turns of the first one's session, just before it."""
    event_of: dict[str, str]
    """The event of each turn, by turn id."""
    small_talk: bool = False
    """Whether small talk has numbers as well."""
    in_chunks: frozenset[str] = frozenset()
    """The ids of the run's turns that are kept as chunks as well; here they stand without code and tables."""

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return the sentences of the turns, numbered as a model sees them."""
        return number_sentences(self.turns, self.context, small_talk=self.small_talk)

    @property
    def says_something(self) -> bool:
        """Return whether there is anything but small talk in it."""
        return any(sentence.number for sentence in self.sentences)

    @property
    def prompt(self) -> Prompt:
        """Return which turns are read."""
        ids, context = ([turn.turn_id for turn in turns] for turns in (self.turns, self.context))
        return Prompt(turn_ids=ids, context_turn_ids=context)

    @property
    def event_starts(self) -> tuple[int, ...]:
        """Return the positions of the turns at which another event begins or goes on."""
        owners = [self.event_of[turn.turn_id] for turn in self.turns]
        return tuple(at for at, owner in enumerate(owners) if at == 0 or owner != owners[at - 1])

    def parts(self, most: int) -> "list[TurnBatch]":
        """Return the batch in parts of at most `most` numbered sentences, or one turn; small talk alone is no part."""
        sizes = Counter(sentence.turn.turn_id for sentence in self.sentences if sentence.number)
        spans = buffers([sizes[turn.turn_id] for turn in self.turns], most)
        return [part for start, end in spans if (part := self._part(start, end)).says_something]

    @property
    def without_long_replies(self) -> "TurnBatch":
        """Return the batch without the turns of an assistant that are kept as chunks."""
        turns = (turn for turn in self.turns if turn.role != "assistant" or turn.turn_id not in self.in_chunks)
        return replace(self, turns=tuple(turns))

    @property
    def halves(self) -> "list[TurnBatch]":
        """Return the batch in about two halves, turns kept whole; one turn alone has none."""
        parts = self.parts(-(-len([sentence for sentence in self.sentences if sentence.number]) // 2))
        return parts if len(parts) > 1 else []

    def _part(self, start: int, end: int) -> "TurnBatch":
        session_id = self.turns[start].session_id
        earlier = tuple(turn for turn in (*self.context, *self.turns[:start]) if turn.session_id == session_id)
        return replace(self, turns=self.turns[start:end], context=earlier[-max(1, len(self.context)) :])


def batch_events(
    index: ScopeIndex, events: Sequence[Event], turns: Sequence[Turn], settings: ExtractSettings, context_turns: int
) -> list[TurnBatch]:
    """Batch the turns that are read of a run's events, in order; what holds nothing but small talk is left out."""
    new = {turn.turn_id: turn for turn in as_read(turns, settings)}
    in_chunks = frozenset(turn.turn_id for turn in turns if has_chunks(turn, settings))
    batches: list[TurnBatch] = []
    tokens = 0
    for event in events:
        core = tuple(new[turn_id] for turn_id in event.turn_ids if turn_id in new)
        if not core:
            continue
        size = sum(count_tokens(turn.indexed_text) for turn in core)
        fits = bool(batches) and tokens + size <= settings.call_tokens
        goes_on = fits and core[0].session_id == batches[-1].turns[-1].session_id
        context = () if goes_on else tuple(_before(index, turns, core[0], context_turns, settings))
        if not fits or context:
            batches.append(TurnBatch((), context, {}, in_chunks=in_chunks))
            tokens = 0
        tokens += size
        batch = batches[-1]
        event_of = batch.event_of | dict.fromkeys((turn.turn_id for turn in core), event.event_id)
        batches[-1] = replace(batch, turns=(*batch.turns, *core), event_of=event_of)
    return [batch for batch in batches if batch.says_something]


def has_chunks(turn: Turn, settings: ExtractSettings) -> bool:
    """Return whether a turn is kept as chunks."""
    return settings.passages and _is_read(turn, settings) and bool(chunks_of(turn.text, turn.role))


def as_read(turns: Iterable[Turn], settings: ExtractSettings) -> Iterator[Turn]:
    """Yield the turns that are read, those kept as chunks without code and tables; none that then says nothing."""
    for turn in turns:
        if not _is_read(turn, settings):
            continue
        text = without_code(turn.text) if has_chunks(turn, settings) else turn.text
        if text == turn.text:
            yield turn
        elif text or turn.captions:
            yield turn.model_copy(update={"text": text})


def _before(index: ScopeIndex, turns: Sequence[Turn], first: Turn, size: int, settings: ExtractSettings) -> list[Turn]:
    """Return the turns read in a session just before one of its turns, those of this run included."""
    if not size:
        return []
    own = (turn for turn in turns if turn.session_id == first.session_id)
    said = (*index.session_turns(first.session_id), *own)
    known = {turn.seq: turn for turn in said if turn.seq < first.seq and _is_read(turn, settings)}
    return list(as_read([known[seq] for seq in sorted(known)[-size:]], settings))


def _is_read(turn: Turn, settings: ExtractSettings) -> bool:
    return turn.is_spoken and (settings.assistant or turn.role != "assistant")


@dataclass(frozen=True)
class View:
    """What is asked of a batch of turns, and what its records are."""

    kind: RecordKind
    question: Callable[..., Question[Reading]]
    """A question about sentences (`AboutSentences`)."""
    dimensions: Collection[str] = ()
    """Those of `DIMENSIONS` that its records have."""
    may_label: bool = True
    """Whether sentences are labelled where the model cannot write; else small talk has numbers as well."""

    def ask(self, batch: TurnBatch) -> Question[Reading]:
        """Return the question about a batch."""
        return self.question(batch.turns, batch.context, batch.event_starts, in_chunks=batch.in_chunks)


EVENTS = View("dimensional", ExtractEvents, DIMENSIONS)
"""The records and relations of a batch, and what its events are about."""


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
        """Ask for labels, a part of the batch at a time; an assistant's long messages are found by their chunks."""
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
    notes: dict[str, EventNote] = {}
    if isinstance(answer, EventReading):
        drafts += [("relational", relation) for relation in answer.relations]
        notes = _notes(batch, answer.events)
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


def _notes(batch: TurnBatch, notes: Sequence[EventNote]) -> dict[str, EventNote]:
    """Return what is noted of a batch's events, by event id, without transitions from one session to another."""
    turns, starts = batch.turns, batch.event_starts
    noted: dict[str, EventNote] = {}
    for note in notes:
        if 1 <= note.event <= len(starts):
            start = starts[note.event - 1]
            opens = start > 0 and turns[start].session_id != turns[start - 1].session_id
            event_id = batch.event_of[turns[start].turn_id]
            noted[event_id] = note.model_copy(update={"transition": ""}) if opens else note
    return noted
