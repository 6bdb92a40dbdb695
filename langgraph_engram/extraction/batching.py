"""Batch the new turns of events for extraction: several short events share a call, up to a size, also of sessions.

Only what somebody said is extracted from: the output of a tool and a system's instructions are left out. Of what is
kept as passages, code and tables are not read.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from langgraph_engram.compression import Compressor
from langgraph_engram.prompts.rendering import Sentence, number_sentences
from langgraph_engram.results import count_tokens
from langgraph_engram.schema import Event, Turn
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
    shown: tuple[str, ...] = ()
    """What a model reads in place of each of `sentences`; empty where it reads what was said."""
    small_talk: bool = False
    """Whether small talk has numbers as well."""
    in_passages: frozenset[str] = frozenset()
    """The ids of the turns that are kept as passages as well; the turns here are without their code and tables."""

    @cached_property
    def sentences(self) -> list[Sentence]:
        """Return the sentences of the turns, numbered as a model sees them."""
        return number_sentences(self.turns, self.context, small_talk=self.small_talk)

    @property
    def says_something(self) -> bool:
        """Return whether there is anything but small talk in it."""
        return any(sentence.number for sentence in self.sentences)

    @property
    def event_ids(self) -> list[str]:
        """Return the ids of the events, in the order in which their turns come."""
        return list(dict.fromkeys(self.event_of[turn.turn_id] for turn in self.turns))

    @property
    def event_starts(self) -> tuple[int, ...]:
        """Return the positions of the turns at which another event begins or goes on."""
        owners = [self.event_of[turn.turn_id] for turn in self.turns]
        return tuple(
            position for position, owner in enumerate(owners) if position == 0 or owner != owners[position - 1]
        )

    def parts(self, most: int) -> "list[TurnBatch]":
        """Return the batch in parts of at most `most` numbered sentences, or one turn; small talk alone is no part."""
        sizes = Counter(sentence.turn.turn_id for sentence in self.sentences if sentence.number)
        starts = [start for start, _ in buffers([sizes[turn.turn_id] for turn in self.turns], most)]
        spans = [(start, end) for start, end in pairwise([*starts, len(self.turns)])]
        return [part for start, end in spans if (part := self._part(start, end)).says_something]

    @property
    def without_long_replies(self) -> "TurnBatch":
        """Return the batch without the turns of an assistant that are kept as passages."""
        turns = [turn for turn in self.turns if turn.role != "assistant" or turn.turn_id not in self.in_passages]
        return self if len(turns) == len(self.turns) else self._with_turns(turns, self.context)

    @property
    def halves(self) -> "list[TurnBatch]":
        """Return the batch in about two halves, turns kept whole; one turn alone has none."""
        parts = self.parts(-(-len([sentence for sentence in self.sentences if sentence.number]) // 2))
        return parts if len(parts) > 1 else []

    def _part(self, start: int, end: int) -> "TurnBatch":
        session_id = self.turns[start].session_id
        earlier = [turn for turn in (*self.context, *self.turns[:start]) if turn.session_id == session_id]
        return self._with_turns(self.turns[start:end], earlier[-max(1, len(self.context)) :])

    def _with_turns(self, turns: Sequence[Turn], context: Sequence[Turn]) -> "TurnBatch":
        ids = {turn.turn_id for turn in turns}
        shown = (
            text for text, sentence in zip(self.shown, self.sentences, strict=False) if sentence.turn.turn_id in ids
        )
        return replace(self, turns=tuple(turns), context=tuple(context), shown=tuple(shown))


def batch_events(
    index: ScopeIndex, events: Sequence[Event], turns: Sequence[Turn], settings: ExtractSettings, context_turns: int
) -> list[TurnBatch]:
    """Batch the turns of events that are to be extracted from.

    Args:
        index: What is stored of the scope.
        events: The run's events, in order.
        turns: The turns to extract from; those that nobody spoke are left out.
        settings: How much shares a call, and whether an assistant's turns are read.
        context_turns: Turns of the session just before a batch that are read beside it.
    """
    new = {turn.turn_id: turn for turn in _as_read(turns, settings)}
    in_passages = {turn.turn_id for turn in turns if has_passages(turn, settings)}
    groups: list[list[tuple[Event, list[Turn]]]] = []
    held = 0
    for event in events:
        core = [new[turn_id] for turn_id in event.turn_ids if turn_id in new]
        size = sum(count_tokens(turn.indexed_text) for turn in core)
        if not core:
            continue
        shares = bool(groups) and held + size <= settings.call_tokens
        if shares and core[0].session_id != groups[-1][-1][1][0].session_id:
            shares = not _before(index, turns, core[0], context_turns, settings)
        if not shares:
            groups.append([])
            held = 0
        groups[-1].append((event, core))
        held += size
    return [
        _batch(group, _before(index, turns, group[0][1][0], context_turns, settings), in_passages) for group in groups
    ]


def has_passages(turn: Turn, settings: ExtractSettings) -> bool:
    """Return whether a turn is kept as passages."""
    return settings.passages and _is_read(turn, settings) and bool(passages_of(turn.text, turn.role))


def compressed(batch: TurnBatch, compressor: Compressor) -> TurnBatch:
    """Return a batch of which a model reads shorter sentences. What images show is short, and stays as it is.

    Args:
        batch: What is asked about; its turns and the numbers of its sentences stay as they are.
        compressor: What leaves words out (DimMem compresses each message; numbers here stand at sentences).
    """
    texts = [sentence.resolved for sentence in batch.sentences]
    positions = [position for position, sentence in enumerate(batch.sentences) if not sentence.image]
    shorter = compressor.compress([texts[position] for position in positions])
    short = dict(zip(positions, shorter, strict=True))
    return replace(batch, shown=tuple(short.get(position, text) for position, text in enumerate(texts)))


def _batch(
    group: Sequence[tuple[Event, list[Turn]]], context: Sequence[Turn], in_passages: Collection[str]
) -> TurnBatch:
    turns = tuple(turn for _, core in group for turn in core)
    return TurnBatch(
        turns=turns,
        in_passages=frozenset(turn.turn_id for turn in turns if turn.turn_id in in_passages),
        context=tuple(context),
        event_of={turn.turn_id: event.event_id for event, core in group for turn in core},
    )


def _before(index: ScopeIndex, turns: Sequence[Turn], first: Turn, size: int, settings: ExtractSettings) -> list[Turn]:
    """Return the turns read in a session just before one of its turns, those of this run included."""
    if not size:
        return []
    own = (turn for turn in turns if turn.session_id == first.session_id)
    said = (*index.session_turns(first.session_id), *own)
    known = {turn.seq: turn for turn in said if turn.seq < first.seq and _is_read(turn, settings)}
    return list(_as_read([known[seq] for seq in sorted(known)[-size:]], settings))


def _as_read(turns: Iterable[Turn], settings: ExtractSettings) -> Iterator[Turn]:
    """Yield the turns that are read, those kept as passages without code and tables; none that then says nothing."""
    for turn in turns:
        if not _is_read(turn, settings):
            continue
        text = without_code(turn.text) if has_passages(turn, settings) else turn.text
        if text == turn.text:
            yield turn
        elif text or turn.captions:
            yield turn.model_copy(update={"text": text})


def _is_read(turn: Turn, settings: ExtractSettings) -> bool:
    return turn.is_spoken and (settings.assistant or turn.role != "assistant")
