"""Ask a model for drafts of records, and let one that cannot write label sentences instead (DESIGN, step 3).

What a strategy asks is one question for everything, or the questions of its paper. A small model lumps a conversation
into one record or leaves nearly all of it out; then the same turns are put to it as sentences to label, and after a few
such answers only so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

from langgraph_engram.compression.base import Compressor
from langgraph_engram.extraction.batching import Batch, compressed
from langgraph_engram.extraction.records import Sourced
from langgraph_engram.llm.base import LLMResult, Model, Question, entry_of
from langgraph_engram.prompts.extract_events import EventNote, EventReading, ExtractEvents
from langgraph_engram.prompts.extract_facts import ExtractFacts, SourcedSentence, SourcedSentences
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences
from langgraph_engram.prompts.extract_records import Extraction, ExtractRecords, RecordDraft
from langgraph_engram.prompts.extract_relations import ExtractRelations
from langgraph_engram.prompts.label_sentences import LabelSentences, SentenceLabels
from langgraph_engram.prompts.rendering import Sentence
from langgraph_engram.results import UsageEntry
from langgraph_engram.schema import MemoryType, RecordKind
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.text.statements import type_of

MOST_TURNS = 3
"""Turns that one record may rest on and still be about one thing."""
LEAST_SENTENCES = 8
"""Stating sentences from which an answer that leaves nearly all of them out is poor."""
LEAST_COVERED = 0.2
"""Share of the stating sentences that a usable answer covers."""
MOST_POOR = 2
"""Poor answers, without a good one, after which a model is asked to label only; one that never came counts as many."""


class ExtractionCapability:
    """What one model has shown so far. Safe to share between threads."""

    def __init__(self) -> None:
        """Begin with trust."""
        self._good = self._poor = 0
        self._lock = Lock()

    @property
    def is_earned(self) -> bool:
        """Say whether the model has written well."""
        return self._good > 0

    @property
    def is_lost(self) -> bool:
        """Say whether the model has only shown that it cannot write records."""
        return self._poor >= MOST_POOR and not self._good

    def note(self, pack: Batch, asked: LLMResult[object]) -> None:
        """Remember how an answer was, where it shows anything.

        A time-out loses the trust at once: a model too slow for one pack is too slow for the next, and each costs the
        whole time-out again.
        """
        if is_too_hard(pack, asked):
            late = asked.failure is not None and asked.failure.kind == "timeout"
            with self._lock:
                self._poor += MOST_POOR if late else 1
        elif asked.answer is not None and len(stating(pack)) >= LEAST_SENTENCES:
            with self._lock:
                self._good += 1


def is_too_hard(pack: Batch, asked: LLMResult[object]) -> bool:
    """Say whether a question was too much for its model: the answer is poor or has no form, or did not come in time.

    A model that could not be reached, or refused, has shown nothing.
    """
    if asked.failure:
        return asked.failure.kind in ("invalid", "timeout", "too_long")
    return is_poor(pack, sources_of(asked.answer))


def is_poor(pack: Batch, sources: list[list[int]]) -> bool:
    """Say whether drafts lump sentences together, or leave nearly all of a pack out.

    Args:
        pack: What was asked about.
        sources: The sentences that each draft cites, by number.
    """
    turn_of = {one.number: one.turn.turn_id for one in pack.sentences if one.number}
    stated = stating(pack)
    if len(stated) < LEAST_SENTENCES:
        return False
    usable = [cited for cited in sources if 1 <= len({turn_of[one] for one in cited if one in turn_of}) <= MOST_TURNS]
    covered = stated & {one for cited in usable for one in cited}
    return 2 * len(usable) < len(sources) or len(covered) < LEAST_COVERED * len(stated)


def stating(pack: Batch) -> set[int]:
    """Give the numbers of the sentences that state something."""
    return {one.number for one in pack.sentences if one.number and not one.asks}


def sources_of(answer: object) -> list[list[int]]:
    """Give the sentences that each draft of an answer cites."""
    match answer:
        case EventReading() | Extraction():
            return [draft.sources for draft in answer.records]
        case SourcedSentences():
            return [draft.sources for draft in answer.sentences]
    return []


Answer = EventReading | Extraction | SourcedSentences | SentenceLabels
Judged = tuple[Batch, LLMResult[Answer]]
"""An answer that counts, with what it is about."""
VIEWS: dict[str, tuple[RecordKind, ...]] = {
    "dimensional_relational": ("dimensional",),
    "dimensional": ("dimensional",),
    "dual": ("factual", "relational"),
    "key_sentence": ("key_sentence",),
    "none": (),
}
"""The kinds of record that each strategy asks for, one question a kind; relations come beside the first one's."""


@dataclass(frozen=True)
class Candidates:
    """What one question about a pack came to."""

    pack: Batch
    drafts: list[tuple[RecordKind, Sourced]]
    notes: dict[str, EventNote]
    """What was noted of the pack's events, by event id."""
    failure: str
    """Why there is no answer; empty if there is one."""


@dataclass(frozen=True)
class Extractor:
    """Ask for drafts."""

    model: Model
    settings: ExtractSettings
    trust: ExtractionCapability = field(default_factory=ExtractionCapability)
    compressor: Compressor | None = None
    """What shortens the sentences that the model reads; none to let it read what was said."""

    def draw(self, packs: Sequence[Batch]) -> tuple[list[Candidates], UsageEntry]:
        """Ask about each pack. Drafts point at what was said, whatever the model reads of it.

        Returns:
            The drafts of each kind and pack, in order, and what all of it cost.
        """
        if self.compressor:
            packs = [compressed(pack, self.compressor) for pack in packs]
        found: list[Candidates] = []
        spent: list[LLMResult[Answer]] = []
        for kind in VIEWS[self.settings.strategy]:
            answers, asked = self._ask(kind, packs)
            found += [_candidates(kind, pack, one) for pack, one in answers]
            spent += asked
        return found, entry_of("extract", spent)

    def _ask(self, kind: RecordKind, packs: Sequence[Batch]) -> tuple[list[Judged], list[LLMResult[Answer]]]:
        """Give the answers that count, each with what it is about, and all answers that cost something.

        Until the model has shown that it can write, it is asked about one pack at a time: one that cannot costs little.
        """
        if kind == "relational" or self.settings.drafting == "written":
            asked = self._written(kind, packs)
            return list(zip(packs, asked, strict=True)), asked
        answers: list[Judged] = []
        spent: list[LLMResult[Answer]] = []
        waiting = list(packs)
        while waiting:
            size = len(waiting) if self._labels or self.trust.is_earned else 1
            ahead, waiting = waiting[:size], waiting[size:]
            counting, cost = self._label_all(ahead) if self._labels else self._write_or_label(kind, ahead)
            answers += counting
            spent += cost
        return answers, spent

    @property
    def _labels(self) -> bool:
        """Say whether the model is asked to label, and no longer to write."""
        return self.settings.drafting == "labelled" or self.trust.is_lost

    def _label_all(self, packs: Sequence[Batch]) -> tuple[list[Judged], list[LLMResult[Answer]]]:
        labelled = [one for pack in packs for one in self._labelled(pack)]
        return labelled, [one for _, one in labelled]

    def _write_or_label(self, kind: RecordKind, packs: Sequence[Batch]) -> tuple[list[Judged], list[LLMResult[Answer]]]:
        """Let the model write, and label where that was too hard; labels that fail leave what was written."""
        asked = self._written(kind, packs)
        answers: list[Judged] = []
        spent = [*asked]
        for pack, one in zip(packs, asked, strict=True):
            labelled = self._labelled(pack) if is_too_hard(pack, one) else []
            spent += [label for _, label in labelled]
            better = bool(labelled) and all(label.answer for _, label in labelled)
            answers += labelled if better else [(pack, one)]
            if better or not labelled:
                self.trust.note(pack, one)
        return answers, spent

    def _written(self, kind: RecordKind, packs: Sequence[Batch]) -> list[LLMResult[Answer]]:
        return list(self.model.ask_all([self._question(kind, pack) for pack in packs]))

    def _labelled(self, pack: Batch) -> list[Judged]:
        """Ask for labels, a part of the pack at a time."""
        parts = pack.parts(self.settings.label_sentences)
        asked = self.model.ask_all([LabelSentences(one.turns, one.context, one.shown) for one in parts])
        return list(zip(parts, asked, strict=True))

    def _question(self, kind: RecordKind, pack: Batch) -> Question[Answer]:
        if kind == "dimensional" and self.settings.strategy == "dimensional_relational":
            return ExtractEvents(pack.turns, pack.context, pack.event_starts, pack.shown)
        match kind:
            case "dimensional":
                return ExtractRecords(pack.turns, pack.context, pack.shown)
            case "factual":
                return ExtractFacts(pack.turns, pack.context, pack.shown)
            case "relational":
                return ExtractRelations(pack.turns, pack.context, pack.shown)
        return ExtractKeySentences(pack.turns, pack.context, pack.shown)


def _candidates(kind: RecordKind, pack: Batch, asked: LLMResult[Answer]) -> Candidates:
    reason = asked.failure.reason if asked.failure else ""
    drafts: list[tuple[RecordKind, Sourced]] = []
    notes: dict[str, EventNote] = {}
    match asked.answer:
        case EventReading() as answer:
            drafts = [*((kind, one) for one in answer.records), *(("relational", one) for one in answer.relations)]
            notes = _notes(pack, answer.events)
        case Extraction() as answer:
            drafts = [(kind, one) for one in answer.records]
        case SourcedSentences() as answer:
            drafts = [(kind, one) for one in answer.sentences]
        case SentenceLabels() as answer:
            drafts = [(kind, one) for one in chosen(kind, pack, answer)]
    return Candidates(pack, drafts, notes, reason)


def chosen(kind: RecordKind, pack: Batch, answer: SentenceLabels) -> list[Sourced]:
    """Give a draft without words of its own for each sentence that the model keeps, but for questions.

    Its type is read off its words: the model's label is too rough for more than whether to keep it.
    """
    kept = {one.number for one in answer.labels if one.label != "skip"}
    sentences = [one for one in pack.sentences if one.number in kept and one.number and not one.asks]
    if kind != "dimensional":
        return [SourcedSentence(sources=[one.number]) for one in sentences]
    return [RecordDraft(sources=[one.number], memory_type=_type(one)) for one in sentences]


def _type(sentence: Sentence) -> MemoryType:
    return "fact" if sentence.image else type_of(sentence.text, sentence.turn.said_at)


def _notes(pack: Batch, notes: Sequence[EventNote]) -> dict[str, EventNote]:
    """Give what is noted of a pack's events, by event id; numbers that no event has are left out."""
    owners = [pack.event_of[pack.turns[place].turn_id] for place in pack.event_starts]
    return {owners[note.event - 1]: note for note in notes if 1 <= note.event <= len(owners)}
