"""Read sessions that ended with a model: which, as much as fits in a call, and what its answers come to.

What of a session no note covers is what is left to read, so that there is no counter to lose. An answer that chooses
everything, nothing or the same thing again and again tells nothing: then the session stays as rules wrote it.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.embeddings.minilm import VECTOR_SPACE
from langgraph_engram.extraction.extractor import as_read
from langgraph_engram.extraction.lasting import THRESHOLD
from langgraph_engram.llm.base import MOST_POOR, LLMResult, Model, entry_of
from langgraph_engram.prompts.choose_statements import OUTLINE_CHARACTERS, Choice, ChooseStatements, read_choices
from langgraph_engram.results import UsageEntry, count_tokens
from langgraph_engram.schema import MOST_SIGNIFICANT, Record, Spent, Turn
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.settings import ExtractSettings, Settings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.summarization.scheduling import active_in, by_mention, is_closed

LOG = logging.getLogger(__name__)
FEWEST_TOKENS = 900
"""Tokens from which sessions that are over are read; fewer wait for the next."""
MOST_WAITING = 20
"""Sessions that wait, at most."""
TURN_TOKENS = 6
"""Tokens of what stands around a turn: its speaker, and the numbers of its sentences."""
TOKENS_A_CHOICE = 130
"""Tokens of what was said in which one statement is chosen at most; of a short session two, of one statement that."""
FEWEST_CHOICES = 4
"""Statements that may be chosen of however little."""
MOST_CHOSEN = 0.6
"""Share of the statements that may be chosen of many."""
MANY = 12
COST = 1.4
"""Tokens that are paid for a token that is shown: the rules before it, and the answer."""
MOST_OF_SLOT = 3
"""Statements of one answer that may set one slot."""
MOST_KNOWN = 30
"""Names of slots, and of sets, that the model is told of."""
IMPROVE_TOKENS = 20_000
"""Tokens that are spent on what was written without a model, where no other budget is given."""


@dataclass(frozen=True)
class SessionPart:
    """Turns of a session that no note covers."""

    session_id: str
    turns: tuple[Turn, ...]
    records: tuple[Record, ...]
    """What rules wrote of them."""


@dataclass(frozen=True)
class Reading:
    """What a model said of the sessions that it read in one call."""

    parts: Sequence[SessionPart]
    question: ChooseStatements
    choices: Sequence[Choice]
    notes: dict[int, str]
    """By the number of the session in the call, from 1."""
    spent: Spent
    failure: str = ""
    """Why there is no answer; then it is pending."""
    is_poor: bool = False
    """Whether the answer tells nothing; then the sessions stay as they are."""


@dataclass(frozen=True)
class Chooser:
    """Have a model choose what lasts."""

    model: Model
    settings: ExtractSettings
    encoder: Encoder
    reads_all: bool = True
    """Whether sessions are read in which rules find nothing that lasts."""
    reads_ended: bool = True
    """Whether sessions are read as they end; else those alone that are asked for."""
    may_supersede: bool = True
    """Whether a later statement of a slot takes the place of an earlier one, without a person's approval."""

    @classmethod
    def of(cls, model: Model, settings: Settings, encoder: Encoder) -> Self | None:
        """Return the chooser that the settings ask for; None without a language model, or where a paper has its own.

        Rules know the vectors of MiniLM alone: by other encoders all is read.
        """
        writer = settings.extract.writer
        may_supersede = settings.update.enabled and "SUPERSEDE" not in settings.update.approve
        reads_all = writer == "model" or encoder.name != VECTOR_SPACE
        if settings.paper or model.by_rules or not settings.synthesis.enabled:
            return None
        return cls(model, settings.extract, encoder, reads_all, writer != "rules", may_supersede)

    def due(self, index: ScopeIndex, session_ids: Iterable[str], asked: Collection[str] = ()) -> list[SessionPart]:
        """Return what is to be read: of sessions that are over or long, and of those `asked` for, in order of time.

        As long as all of it is little it waits for more, so that it shares a call.
        """
        parts = [part for session_id in session_ids if (part := self.unread(index, session_id))]
        ready = [part for part in parts if part.session_id in asked]
        if not ready and self.reads_ended:
            ready = [part for part in parts if is_closed(index, part.session_id)]
            ready += [part for part in parts if part not in ready and self.tokens(part) >= self.settings.read_tokens]
            ready = [*self._waiting(index, {part.session_id for part in ready}), *ready] if ready else []
            ready = ready if sum(map(self.tokens, ready)) >= FEWEST_TOKENS else []
        return sorted(ready, key=lambda part: by_mention(part.records[0]))

    def worth_most(self, index: ScopeIndex, budget: int) -> list[SessionPart]:
        """Return what to read next of a scope, as much as a call holds and a budget of tokens pays for.

        What was recalled most comes first, then what matters most, then the newest.
        """
        session_ids = dict.fromkeys(event.session_id for event in reversed(index.events.items))
        parts = [part for session_id in session_ids if (part := self.unread(index, session_id))]

        def worth(part: SessionPart) -> tuple[float, float]:
            recalled = sum(event.recalled for event in index.events.in_session(part.session_id))
            return recalled, sum(record.significance for record in part.records)

        parts.sort(key=worth, reverse=True)
        left, chosen = min(budget / COST, self.settings.read_tokens), list[SessionPart]()
        for part in parts:
            if (size := self.tokens(part)) <= left:
                chosen.append(part)
                left -= size
        return chosen or next(([part] for part in parts if self.tokens(part) <= budget / COST), [])

    def unread(self, index: ScopeIndex, session_id: str) -> SessionPart | None:
        """Return the part of a session that is worth reading and no note covers; None where there is none."""
        covered = {key for note in index.syntheses.in_session(session_id) for key in note.covered_record_ids}
        known = [record for key in covered if (record := index.records.get(key))]
        read = max((record.seq for record in known if record.session_id == session_id), default=-1)
        records = [record for record in active_in(index, session_id) if record.seq > read]
        least = THRESHOLD * MOST_SIGNIFICANT  # from which a record may last, as far as rules can tell
        if not records or not (self.reads_all or any(r.lasting or r.significance >= least for r in records)):
            return None
        turns = tuple(as_read((turn for turn in index.session_turns(session_id) if turn.seq > read), self.settings))
        return SessionPart(session_id, turns, tuple(records)) if turns else None

    def tokens(self, part: SessionPart) -> int:
        """Estimate the tokens of a part as it is shown: an assistant's replies by their outlines."""
        shown = (turn.said[:OUTLINE_CHARACTERS] if turn.role == "assistant" else turn.said for turn in part.turns)
        return sum(count_tokens(text) + TURN_TOKENS for text in shown)

    def read(self, index: ScopeIndex, parts: Sequence[SessionPart]) -> tuple[list[Reading], list[UsageEntry]]:
        """Return what the model says of the parts, a call for as much as fits, each told of the names before it."""
        readings: list[Reading] = []
        results: list[LLMResult[str]] = []
        cut = [piece for part in parts for piece in self._cut(part)]
        spans = buffers(list(map(self.tokens, cut)), self.settings.read_tokens)
        waiting = [cut[start:end] for start, end in spans]
        while waiting and not self.model.capability.is_lacking:
            batch = waiting.pop(0)
            question = self._question(index, readings, batch)
            result = self.model.ask(question)
            results.append(result)
            if result.failure and result.failure.kind == "too_long" and len(batch) > 1:
                waiting = [[part] for part in batch] + waiting
            else:
                readings.append(self._reading(batch, question, result))
        return readings, [entry_of("choose", results)] if results else []

    def _waiting(self, index: ScopeIndex, known: Collection[str]) -> Iterator[SessionPart]:
        """Yield what is left to read of the last sessions that are over."""
        newest_first = dict.fromkeys(event.session_id for event in reversed(index.events.items))
        for session_id in islice(newest_first, MOST_WAITING):
            if session_id not in known and is_closed(index, session_id) and (part := self.unread(index, session_id)):
                yield part

    def _cut(self, part: SessionPart) -> Iterator[SessionPart]:
        """Yield a part, or what one that is too long for a call is cut into, between turns."""
        sizes = [self.tokens(SessionPart(part.session_id, (turn,), ())) for turn in part.turns]
        for start, end in buffers(sizes, self.settings.read_tokens):
            turns = part.turns[start:end]
            last = turns[-1].seq if end < len(part.turns) else part.records[-1].seq
            own = [record for record in part.records if turns[0].seq <= record.seq <= last]
            yield SessionPart(part.session_id, turns, tuple(own))

    def _question(
        self, index: ScopeIndex, readings: Sequence[Reading], batch: Sequence[SessionPart]
    ) -> ChooseStatements:
        said = sum(count_tokens(turn.text) for part in batch for turn in part.turns)
        chosen = [choice for reading in readings for choice in reading.choices]
        named: list[Record | Choice] = [*index.records.in_slots_and_sets(), *chosen]
        shown = sum(len(part.records) for part in batch)
        return ChooseStatements(
            tuple(part.turns for part in batch),
            max(FEWEST_CHOICES, min(max(said // TOKENS_A_CHOICE, 2 * len(batch)), max(shown // 2, len(batch)))),
            _newest([statement.slot for statement in named]),
            _newest([name for statement in named for name in statement.sets]),
        )

    def _reading(self, batch: Sequence[SessionPart], question: ChooseStatements, result: LLMResult[str]) -> Reading:
        usage = result.usage
        spent = Spent(calls=usage.calls, prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens)
        if result.failure and result.failure.kind != "too_long":
            self.model.capability.note(poor=MOST_POOR if result.failure.kind == "timeout" else 0)
            return Reading(batch, question, [], {}, spent, failure=result.failure.reason)
        choices, notes = read_choices(result.answer or "")
        if fault := fault_of(question, choices, notes):
            LOG.info("of %d sessions nothing was chosen, since %s", len(batch), fault)
            self.model.capability.note(poor=1)
            return Reading(batch, question, [], {}, spent, is_poor=True)
        self.model.capability.note(good=1)
        choices.sort(key=lambda choice: -choice.significance)
        return Reading(batch, question, choices[: question.most], notes, spent)


def fault_of(question: ChooseStatements, choices: Sequence[Choice], notes: dict[int, str]) -> str:
    """Return why an answer tells nothing; empty where it does."""
    if not choices and not notes:
        return "the answer holds neither a note nor a statement"
    numbers = {number for choice in choices for number in choice.numbers}
    offered = sum(bool(sentence.number) for session in question.statements for sentence in session)
    if len(choices) > 2 * question.most or (offered >= MANY and len(numbers) > MOST_CHOSEN * offered):
        return "the answer chooses nearly everything"
    most = max(Counter(choice.slot for choice in choices if choice.slot).values(), default=0)
    return "the answer lets many statements set one slot" if most > MOST_OF_SLOT else ""


def _newest(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names that were given last, each once."""
    return tuple(islice(dict.fromkeys(filter(None, reversed(names))), MOST_KNOWN))
