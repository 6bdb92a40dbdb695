"""Lay over the records of sessions what a model chose of them: marks, further records, closed slots, and notes.

What rules wrote stays as it is: a mark says what a record is good for, and what the model passed over lasts no longer.
A later statement of a slot takes the place of an earlier one by the same speaker, as a decision that can be undone.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from langgraph_engram.consolidation.merging import as_superseded, decided
from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.extraction.evidence import verify_records
from langgraph_engram.extraction.lasting import mark_lasting
from langgraph_engram.extraction.records import build_records
from langgraph_engram.prompts.choose_statements import Choice
from langgraph_engram.prompts.extract_records import RecordDraft
from langgraph_engram.prompts.rendering import CITATION, Sentence
from langgraph_engram.prompts.write_synthesis import WriteSynthesis
from langgraph_engram.rule_model.consolidation import extractive_narrative
from langgraph_engram.schema import Decision, Prompt, Record, Scope, Spent, Synthesis, make_id
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.choosing import Chooser, Reading, SessionPart
from langgraph_engram.summarization.scheduling import by_mention
from langgraph_engram.summarization.writing import holds_numbers, shorten
from langgraph_engram.temporal.datetimes import format_day
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.statements import own_words
from langgraph_engram.text.words import content_stems, words

FIRST_PERSON = re.compile(r"\b(?:I|I'm|I've|I'd|I'll|[Mm]y|[Mm]e|[Mm]ine|[Mm]yself)\b")
QUOTED = re.compile(r"[\"“][^\"“”]*[\"”]")
NOTE_WORDS = 90
"""Words of a note at most."""
PASSED_OVER = 0.9
"""The highest significance of what a model passed over."""
SURELY = (0.0, 2.0, 2.8, 2.95)
"""The least significance of what a model chose, by its grade: on the scale of rules, which tell how surely it lasts."""
MOST_REPLACED = 3
"""Days whose statements one may take the place of at once."""
MOST_TOLD = 10
"""Content stems of a statement up to which it tells a slot's value and little else, so that a later one replaces it."""
ALIKE = 0.35
"""Cosine from which two values of a slot are about one thing: of twenty chains of values all, of wrong pairs half."""


@dataclass
class Overlay:
    """What is written over the records of some sessions."""

    index: ScopeIndex
    scope: Scope
    run_id: str
    chooser: Chooser
    records: dict[str, Record] = field(default_factory=dict)
    """Marked ones, and new ones, by id."""
    notes: list[Synthesis] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)

    def lay(self, reading: Reading) -> None:
        """Lay over what one reading says."""
        for number, part in enumerate(reading.parts, start=1):
            spent = reading.spent if number == 1 else Spent()
            if part.records:
                self.notes.append(self._note(part, reading.notes.get(number, ""), spent))
            if not reading.is_poor:
                self._mark(part, reading.question.statements[number - 1], reading.choices)

    def close_slots(self) -> None:
        """Let the latest statement of each slot that was set take the place of the others."""
        set_now = (record for record in self.records.values() if record.slot and record.status == "active")
        keys = dict.fromkeys((record.speaker, _key(record.slot)) for record in set_now)
        holders: defaultdict[tuple[str, frozenset[str]], list[Record]] = defaultdict(list)
        named = self.index.as_of(None).records.in_slots_and_sets()
        stored = {record.record_id: self._current(record) for record in named}
        for record in (stored | self.records).values():
            if record.slot and record.status == "active":
                holders[record.speaker, _key(record.slot)].append(record)
        undone = [frozenset(decision.pair) for decision in self.index.decisions.values() if decision.undone_at]
        for key in keys:
            values = sorted(holders[key], key=lambda r: (*by_mention(r)[:3], r.significance))
            newest, changed = values[-1], _changed(values, self.chooser.encoder)
            told = [r for r in changed if len(content_stems(own_words(r.content, r.speaker))) <= MOST_TOLD]
            older = [r for r in told if not any({r.record_id, newest.record_id} <= pair for pair in undone)]
            days = {format_day(record.mentioned_at) for record in older}
            if self.chooser.may_supersede and 0 < len(days) <= MOST_REPLACED:
                self.records |= {record.record_id: record for record in as_superseded(older, newest)}
                reason = f"a later statement of the same: {newest.slot}"
                self.decisions.append(decided(self.run_id, [*older, newest], "SUPERSEDE", reason, newest.record_id))

    def _mark(self, part: SessionPart, sentences: Sequence[Sentence], choices: Iterable[Choice]) -> None:
        numbered = {sentence.number: sentence for sentence in sentences if sentence.number}
        before = [self._current(record) for record in part.records]
        by_rules = {record.record_id: record.significance for record in before}
        for record in before:
            passed_over = {"lasting": None, "significance": min(record.significance, PASSED_OVER)}
            if record.status == "active" and not record.slot and not record.sets:
                self.records[record.record_id] = record.model_copy(update=passed_over)
        chosen: dict[str, Record] = {}
        for choice in choices:
            cited = [numbered[number] for number in choice.numbers if number in numbered]
            is_new = choice.content and cited
            told = self._written(part, cited, choice.content) if is_new else self._said(part, cited)
            for position, record in enumerate(map(self._current, told)):
                named = {"slot": choice.slot, "sets": list(choice.sets)} if not position else {"slot": "", "sets": []}
                significance = max(SURELY[choice.significance], by_rules.get(record.record_id, 0.0))
                marks = {"lasting": choice.lasting, "significance": significance, **named}
                if record.status == "active":
                    chosen[record.record_id] = self.records[record.record_id] = record.model_copy(update=marks)
            for record in map(self._current, self._said(part, cited if choice.content and choice.slot else ())):
                if record.status == "active" and not record.slot:  # an old value goes with what was said of it
                    self.records[record.record_id] = record.model_copy(update={"slot": choice.slot})
        self.records |= self._in_own_voice(part, chosen)

    def _in_own_voice(self, part: SessionPart, chosen: dict[str, Record]) -> dict[str, Record]:
        """Return chosen records whose kinds are held to whose wish they are, as those of an extraction are."""
        said = {record.record_id: record for record in part.records} | chosen
        held = mark_lasting([*said.values()], self.index, part.turns, self.scope.user_id, self.chooser.encoder)
        lasting = {record.record_id: record.lasting for record in held}
        return {key: record.model_copy(update={"lasting": lasting[key]}) for key, record in chosen.items()}

    def _said(self, part: SessionPart, cited: Iterable[Sentence]) -> Iterator[Record]:
        """Yield the records that rules wrote of some sentences."""
        for sentence in cited:
            said = sentence.resolved.casefold()
            held = (record for record in part.records if sentence.turn.turn_id in record.source_turn_ids)
            yield from islice((record for record in held if said in record.content.casefold()), 1)

    def _written(self, part: SessionPart, cited: Sequence[Sentence], content: str) -> list[Record]:
        """Return a record of these words, verified against what was said."""
        events = self.index.session_events(part.session_id)
        event_of = {turn_id: event.event_id for event in events for turn_id in event.turn_ids}
        is_reply = cited[-1].turn.role == "assistant"
        sentences = [replace(cited[-1], text=content)] if is_reply else list(cited)
        drafts = [RecordDraft(sources=[sentence.number], content=sentence.as_said) for sentence in sentences]
        if not is_reply and not _is_copy(CITATION.sub(" ", content), cited):
            drafts = [RecordDraft(sources=[said.number for said in cited], content=_with_speaker(content, cited))]
        made = build_records(self.scope.key, sentences, event_of, [("dimensional", draft) for draft in drafts])
        prompt = Prompt(turn_ids=[turn.turn_id for turn in part.turns if turn.turn_id in event_of])
        return verify_records(made, self.index, events, [prompt], self.chooser.settings)

    def _current(self, record: Record) -> Record:
        """Return a record as it stands now, or what it was merged into."""
        stored = self.index.records.get(record.record_id) or record
        if stored.status == "merged":
            stored = self.index.records.successor(stored) or stored
        return self.records.get(stored.record_id, stored)

    def _note(self, part: SessionPart, said: str, spent: Spent) -> Synthesis:
        """Return the note of a session, without sentences of numbers that nobody said; quotes where nothing is left."""
        turns = {turn.turn_id for turn in part.turns}
        told = [r for r in self.index.records.in_session(part.session_id) if not turns.isdisjoint(r.source_turn_ids)]
        sentences = split_sentences(shorten(said, NOTE_WORDS))
        text = " ".join(sentence for sentence in sentences if holds_numbers(sentence, told))
        quoted = not text
        if quoted:
            text = extractive_narrative(WriteSynthesis(part.records, (), NOTE_WORDS))
        ids = [record.record_id for record in part.records]
        times = [turn.said_at for turn in part.turns if turn.said_at]
        return Synthesis(
            synthesis_id=make_id(self.scope.key, "note", part.session_id, *ids),
            text=text,
            session_id=part.session_id,
            spent=spent,
            quoted=quoted,
            window_start=min(times, default=None),
            window_end=max(times, default=None),
            covered_record_ids=ids,
        )


def laid_over(index: ScopeIndex, scope: Scope, run_id: str, readings: Iterable[Reading], chooser: Chooser) -> Changes:
    """Return what readings come to, without those of which anything was forgotten, withdrawn or noted meanwhile."""
    held = index.as_of(None)
    overlay = Overlay(index, scope, run_id, chooser)
    for reading in readings:
        ids = {record.record_id for part in reading.parts for record in part.records}
        notes = [note for part in reading.parts for note in held.syntheses.in_session(part.session_id)]
        is_noted = any(not ids.isdisjoint(note.covered_record_ids) for note in notes)
        if not is_noted and all(record_id in held.records for record_id in ids):
            overlay.lay(reading)
    overlay.close_slots()
    return Changes(records=[*overlay.records.values()], syntheses=overlay.notes, decisions=overlay.decisions)


def _changed(values: Sequence[Record], encoder: Encoder) -> list[Record]:
    """Return the values of a slot that a later one changes: on another day, of no other kind, and alike.

    On one day the same is said again, or the opposite; and a name that fits two things makes them no value of one.
    """
    vectors = encoder.encode([value.content for value in values])
    days = [format_day(value.mentioned_at) for value in values]

    def is_changed(one: int, later: int) -> bool:
        kinds = {values[one].lasting, values[later].lasting} - {None}
        return days[one] != days[later] and len(kinds) <= 1 and float(vectors[one] @ vectors[later]) >= ALIKE

    return [v for at, v in enumerate(values) if any(is_changed(at, later) for later in range(at + 1, len(values)))]


def _is_copy(content: str, cited: Sequence[Sentence]) -> bool:
    """Return whether words are but a stretch of what the sentences say."""
    said = " ".join(words(" ".join(sentence.as_said for sentence in cited)))
    return f" {' '.join(words(content))} " in f" {said} "


def _with_speaker(content: str, cited: Sequence[Sentence]) -> str:
    """Put the speaker's name before words that still speak as "I"."""
    speakers = list(dict.fromkeys(sentence.turn.speaker for sentence in cited))
    if len(speakers) == 1 and FIRST_PERSON.search(QUOTED.sub("", content)) and speakers[0] not in content:
        return f"{speakers[0]}: {content}"
    return content


def _key(slot: str) -> frozenset[str]:
    return frozenset(content_stems(slot)) or frozenset([slot])
