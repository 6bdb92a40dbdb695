"""Show a record in the conversation that it comes from: the turns around its sources, its sentences marked."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from langgraph_engram.schema import Event, Record, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.tokens import content_stems

AROUND = 2
"""Turns shown before and after each source."""
MARKED_SHARE = 0.5
"""How much of the best sentence's overlap with the record another sentence needs to be marked too."""
PAGE_TURNS = 100
"""Turns of a conversation on one page."""


@dataclass(frozen=True)
class Span:
    """A part of a turn's text."""

    text: str
    marked: bool = False


@dataclass(frozen=True)
class TurnView:
    """A turn as a page shows it."""

    turn: Turn
    spans: Sequence[Span]
    is_source: bool = False
    after_gap: bool = False
    """Whether turns before it are left out."""
    opens: Event | None = None
    """The event that begins with it."""


def sources_of(record: Record, index: ScopeIndex) -> list[TurnView]:
    """Return the source turns of a record with those around them, in the order of each session."""
    sources = [turn for turn_id in record.source_turn_ids if (turn := index.turns.get(turn_id))]
    marked = _mark(sources, record)
    views: list[TurnView] = []
    for session_id in dict.fromkeys(turn.session_id for turn in sources):
        turns = index.session_turns(session_id)
        cited = [position for position, turn in enumerate(turns) if turn.turn_id in marked]
        near = sorted(
            {near for source in cited for near in range(source - AROUND, source + AROUND + 1) if 0 <= near < len(turns)}
        )
        for place, position in enumerate(near):
            turn = turns[position]
            views.append(
                TurnView(
                    turn=turn,
                    spans=marked.get(turn.turn_id) or [Span(turn.text)],
                    is_source=turn.turn_id in marked,
                    after_gap=position > 0 and (place == 0 or near[place - 1] != position - 1),
                )
            )
    return views


@dataclass(frozen=True)
class Conversation:
    """A page of the turns of one session."""

    session_id: str
    turns: Sequence[TurnView]
    number: int
    pages: int
    length: int


def conversation_of(session_id: str, index: ScopeIndex, number: int, position: int | None = None) -> Conversation:
    """Return a page of a session by its number from 1, or by the position of a turn; the last where there is none."""
    turns = index.session_turns(session_id)
    opening = {event.turn_ids[0]: event for event in index.session_events(session_id) if event.turn_ids}
    pages = max(1, -(-len(turns) // PAGE_TURNS))
    if position is not None:
        number = 1 + sum(turn.seq < position for turn in turns) // PAGE_TURNS
    number = min(max(number, 1), pages)
    shown = turns[(number - 1) * PAGE_TURNS : number * PAGE_TURNS]
    views = [TurnView(turn, [Span(turn.text)], opens=opening.get(turn.turn_id)) for turn in shown]
    return Conversation(session_id, views, number, pages, len(turns))


def _mark(turns: Sequence[Turn], record: Record) -> dict[str, list[Span]]:
    """Return the text of each turn in parts, those marked that hold what the record says.

    Of a passage, that are the sentences it quotes. Of any other record, those that share the most words with it.
    """
    wanted = frozenset(content_stems(record.content))
    scored = {
        turn.turn_id: [
            (text, _overlap(text, record, wanted) if is_sentence else 0.0) for text, is_sentence in _parts(turn.text)
        ]
        for turn in turns
    }
    best = max((score for parts in scored.values() for _, score in parts), default=0.0)
    return {
        turn_id: [Span(text, marked=score > 0 and score >= MARKED_SHARE * best) for text, score in parts]
        for turn_id, parts in scored.items()
    }


def _overlap(sentence: str, record: Record, wanted: frozenset[str]) -> float:
    """Return how far a sentence and a record say the same, in [0, 1]: the F1 of their content stems."""
    if record.is_passage:
        return float(" ".join(sentence.split()) in " ".join(record.content.split()))
    stems = frozenset(content_stems(sentence))
    shared = len(stems & wanted)
    return 2 * shared / (len(stems) + len(wanted)) if shared else 0.0


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text in order, no character lost, each with whether it is a sentence."""
    end = 0
    for sentence in split_sentences(text):
        found = re.compile(r"\s+".join(map(re.escape, sentence.split()))).search(text, end)
        if found is None:
            continue
        if found.start() > end:
            yield text[end : found.start()], False
        yield found.group(), True
        end = found.end()
    if end < len(text):
        yield text[end:], False
