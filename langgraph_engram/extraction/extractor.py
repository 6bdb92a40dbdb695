"""Ask for records: of the rules, or of a model where a paper has it so.

Only what somebody said is extracted from: the output of a tool and a system's instructions are left out. Of what is
kept as chunks, code and tables are not read, and of a person's document its beginning and its end.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeAlias

from langgraph_engram.extraction.records import DIMENSIONS, Draft, build_records
from langgraph_engram.llm.base import LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_facts import SourcedSentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords
from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import Event, Prompt, Record, RecordKind, Turn
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.segmentation.segmenter import Segmenter
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import chunks_of, ends_of, is_cut_whole, without_code

Reading: TypeAlias = Extraction | SourcedSentences


@dataclass(frozen=True)
class TurnBatch:
    """The turns of an event that are read in one call, and those that are read beside them."""

    turns: tuple[Turn, ...]
    context: tuple[Turn, ...]
    """Turns of the first one's session, just before it."""
    event_of: dict[str, str]
    """The event of each turn, by turn id."""
    in_chunks: frozenset[str] = frozenset()
    """The ids of the run's turns that are kept as chunks as well; here they stand without code and tables."""
    shared: tuple[Turn, ...] = ()
    """Turns of the event before that are a source of this one, too (HyMem section 3.1)."""
    shortened: Mapping[str, Turn] = field(default_factory=dict)
    """What a model reads in place of turns, by turn id."""

    @property
    def cited(self) -> tuple[Turn, ...]:
        """Return the turns whose sentences have numbers."""
        return (*self.shared, *self.turns)

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return the sentences of the turns, numbered as a model sees them."""
        return number_sentences(self.cited, self.context, small_talk=True)

    @property
    def prompt(self) -> Prompt:
        """Return which turns are read."""
        ids, context = ([turn.turn_id for turn in turns] for turns in (self.turns, self.context))
        return Prompt(turn_ids=ids, context_turn_ids=context)

    @property
    def halves(self) -> "list[TurnBatch]":
        """Return the batch in about two halves, turns kept whole; one turn alone has none."""
        sizes = Counter(sentence.turn.turn_id for sentence in self.sentences if sentence.number)
        spans = buffers([sizes[turn.turn_id] for turn in self.turns], -(-sizes.total() // 2))
        parts = [part for start, end in spans if (part := self._part(start, end)).sentences]
        return parts if len(parts) > 1 else []

    def _part(self, start: int, end: int) -> "TurnBatch":
        if not start:
            return replace(self, turns=self.turns[:end])
        earlier = (*self.context, *self.shared, *self.turns[:start])
        size = max(1, len(self.context) + len(self.shared))
        return replace(self, turns=self.turns[start:end], context=earlier[-size:], shared=())


def batch_events(
    index: ScopeIndex, events: Sequence[Event], turns: Sequence[Turn], settings: ExtractSettings, segmenter: Segmenter
) -> list[TurnBatch]:
    """Batch the turns that are read of each event, in order; one without a sentence is left out."""
    new = {turn.turn_id: turn for turn in as_read(turns, settings)}
    in_chunks = frozenset(turn.turn_id for turn in turns if has_chunks(turn, settings))
    batches: list[TurnBatch] = []
    for event in events:
        if core := tuple(new[turn_id] for turn_id in event.turn_ids if turn_id in new):
            before = tuple(_before(index, turns, core[0], segmenter.context_turns, settings))
            shared = before if segmenter.shares_turns and event.turn_ids[0] in new else ()
            event_of = dict.fromkeys((turn.turn_id for turn in (*shared, *core)), event.event_id)
            batches.append(TurnBatch(core, () if shared else before, event_of, in_chunks, shared))
    return [batch for batch in batches if batch.sentences]


def has_chunks(turn: Turn, settings: ExtractSettings) -> bool:
    """Return whether a turn is kept as chunks."""
    return settings.passages and _is_read(turn, settings) and bool(chunks_of(turn.text, turn.role))


def as_read(turns: Iterable[Turn], settings: ExtractSettings) -> Iterator[Turn]:
    """Yield the turns that are read, those kept as chunks without code and tables; of a person's document the ends."""
    for turn in turns:
        text = turn.text
        if has_chunks(turn, settings):
            text = without_code(text)
            if turn.role != "assistant" and is_cut_whole(turn.text, turn.role):
                text = ends_of(text)
        if _is_read(turn, settings) and (text or turn.captions):
            yield turn if text == turn.text else turn.model_copy(update={"text": text})


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

    def ask(self, batch: TurnBatch) -> Question[Reading]:
        """Return the question about a batch."""
        parts = ([batch.shortened.get(turn.turn_id, turn) for turn in part] for part in (batch.cited, batch.context))
        return self.question(*map(tuple, parts), in_chunks=batch.in_chunks)


EVENTS = View("dimensional", ExtractRecords, DIMENSIONS)
"""The records of a batch."""


@dataclass(frozen=True)
class Extracted:
    """What one question about a batch came to."""

    turns: list[Turn]
    records: list[Record]
    failure: str
    """Why there is no answer; empty if there is one."""


@dataclass(frozen=True)
class Extractor:
    """Extract records."""

    model: Model
    views: Sequence[View] = (EVENTS,)
    """What is asked of each batch; nothing where no records are kept."""
    shorten: Callable[[Sequence[Turn]], Mapping[str, Turn]] | None = None
    """What returns turns by id in fewer words, for the model alone."""

    def extract(self, scope_key: str, batches: Sequence[TurnBatch]) -> tuple[list[Extracted], UsageEntry]:
        """Return the records of each view and batch, in order, and what it cost to ask for them.

        What does not fit into one answer is asked for in two, once (docs/decisions/0002).
        """
        if self.shorten:
            batches = [replace(batch, shortened=self.shorten([*batch.context, *batch.cited])) for batch in batches]
        found: list[Extracted] = []
        results: list[LLMResult[Reading]] = []
        for view in self.views:
            for batch, result in self._put(view, batches):
                is_cut_off = result.failure is not None and result.failure.kind == "too_long"
                halves = self._put(view, batch.halves) if is_cut_off else []
                results += [result, *(half for _, half in halves)]
                found += [_extracted(scope_key, view, *answered) for answered in halves or [(batch, result)]]
        return found, entry_of("extract", results)

    def _put(self, view: View, batches: Sequence[TurnBatch]) -> list[tuple[TurnBatch, LLMResult[Reading]]]:
        results = self.model.ask_all([view.ask(batch) for batch in batches])
        return list(zip(batches, results, strict=True))


def _extracted(scope_key: str, view: View, batch: TurnBatch, result: LLMResult[Reading]) -> Extracted:
    """Return what an answer says of its batch."""
    answer, failure = result.answer, result.failure
    drafts: list[tuple[RecordKind, Draft]] = [(view.kind, draft) for draft in (answer.drafts if answer else ())]
    records = build_records(scope_key, batch.sentences, batch.event_of, drafts, view.dimensions)
    return Extracted([*batch.turns], records, failure.reason if failure else "")
