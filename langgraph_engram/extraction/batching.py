"""Batch the new turns of events for extraction: several short events share a call, up to a size, also of sessions.

Only what somebody said is extracted from: the output of a tool and a system's instructions are left out. Of what is
kept as passages, code and tables are not read.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Event, Prompt, Turn
from langgraph_engram.segmentation.events import buffers
from langgraph_engram.settings import ExtractSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import passages_of, without_code


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
    in_passages: frozenset[str] = frozenset()
    """The ids of the run's turns that are kept as passages as well; here they stand without code and tables."""

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
    in_passages = frozenset(turn.turn_id for turn in turns if has_passages(turn, settings))
    batches: list[TurnBatch] = []
    held = 0
    for event in events:
        core = tuple(new[turn_id] for turn_id in event.turn_ids if turn_id in new)
        if not core:
            continue
        size = sum(count_tokens(turn.indexed_text) for turn in core)
        fits = bool(batches) and held + size <= settings.call_tokens
        goes_on = fits and core[0].session_id == batches[-1].turns[-1].session_id
        context = () if goes_on else tuple(_before(index, turns, core[0], context_turns, settings))
        if not fits or context:
            batches.append(TurnBatch((), context, {}, in_passages=in_passages))
            held = 0
        held += size
        batch = batches[-1]
        event_of = batch.event_of | dict.fromkeys((turn.turn_id for turn in core), event.event_id)
        batches[-1] = replace(batch, turns=(*batch.turns, *core), event_of=event_of)
    return [batch for batch in batches if batch.says_something]


def has_passages(turn: Turn, settings: ExtractSettings) -> bool:
    """Return whether a turn is kept as passages."""
    return settings.passages and _is_read(turn, settings) and bool(passages_of(turn.text, turn.role))


def as_read(turns: Iterable[Turn], settings: ExtractSettings) -> Iterator[Turn]:
    """Yield the turns that are read, those kept as passages without code and tables; none that then says nothing."""
    for turn in turns:
        if not _is_read(turn, settings):
            continue
        text = without_code(turn.text) if has_passages(turn, settings) else turn.text
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
