"""Show what was found as short lines, one of each turn: what needs the whole rests on many turns, no long one whole.

Summaries also show what an assistant replied: the points of each reply, its headings and what its lists set in bold,
without those that its other replies have as well ("Explanation", "Summary"), which tell nothing of this one.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from operator import not_

import numpy as np

from langgraph_engram.prompts.rendering import dated, plain, quote_turn, speaker_name
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.passages import (
    ELLIPSIS,
    LINE_CHARACTERS,
    Candidate,
    format_passage,
    format_record,
    join_contents,
    reply_position,
    sentence_before,
    with_lines,
)
from langgraph_engram.retrieval.scoring import top_matching
from langgraph_engram.schema import IN_SET, OUTLINE, Breadth, Evidence, Record, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import points_of
from langgraph_engram.text.tokens import content_stems

MAX_NOTES = 24
"""Notes and narratives that a summary or a timeline begins with, of those that a language model wrote."""
REPLY_CHARACTERS = 240
"""Characters of the line of an assistant's reply in a summary."""
MOST_SHARED = 2
"""Replies that have a point which still tells something of each."""


def lines_of(fusion: Fusion, breadth: Breadth, shown: Collection[int] = ()) -> Iterator[Candidate]:
    """Yield the best of each turn that was found and not shown, to be shown as a line, best first.

    The whole is about what people said: an assistant's turns come behind all others, unless they are asked for, in a
    timeline not at all, and in a summary after the turn that they reply to. A question that was asked is part of the
    whole, so it loses nothing. A summary and a timeline begin with the notes of sessions that bear on them, and a
    list with what stands in the sets that it names.
    """
    if breadth == "narrow":
        yield from (candidate for _, candidate in fusion.ranked_turns(shown))
        return
    index = fusion.index
    in_sets = [*_in_sets(fusion)] if breadth != "summary" else []
    yield from in_sets
    if breadth != "list":
        yield from _notes(fusion)
    listed = record_links(index).turn[[candidate.position for candidate in in_sets]].tolist()
    found = list(replace(fusion, question_weight=0.0).ranked_turns([*shown, *listed]))
    if not fusion.intent.needs_assistant:
        is_assistant = [turn >= 0 and index.turns.items[turn].role == "assistant" for turn, _ in found]
        replied = compress(found, is_assistant) if breadth == "list" else ()
        found = [*compress(found, map(not_, is_assistant)), *replied]
    for turn, candidate in found:
        reply = reply_position(index, turn) if breadth == "summary" else -1
        routes = {**candidate.routes, OUTLINE: candidate.score}
        yield candidate._replace(routes=routes, replies=(reply,) if reply >= 0 else ())


def _in_sets(fusion: Fusion) -> Iterator[Candidate]:
    """Yield what stands in the sets whose names are among the words of a query."""
    records, asked = fusion.index.records, frozenset(content_stems(fusion.intent.query))

    def is_named(names: str) -> bool:
        return any(asked.issuperset(stems) for name in names.splitlines() if (stems := content_stems(name)))

    named = records.accepted("sets", lambda record: "\n".join(record.sets), is_named)
    for position in np.flatnonzero(named & records.active & fusion.matches.records).tolist():
        yield Candidate("record", position, 1.0, {IN_SET: 1.0, OUTLINE: 1.0}, as_line=True)


def _notes(fusion: Fusion) -> Iterator[Candidate]:
    """Yield the notes and narratives that a model wrote and that bear most on a query: quotes add nothing to it."""
    index = fusion.index
    written = index.syntheses.column("written", lambda synthesis: not synthesis.quoted, np.bool_)
    found = np.where(written, fusion.scores.syntheses, 0.0)
    for position in top_matching(fusion.matches, index.syntheses, found, MAX_NOTES):
        score = float(found[position])
        yield Candidate("synthesis", position, score, {"synthesis": score, OUTLINE: score}, as_line=True)


def format_lines(index: ScopeIndex, candidates: Sequence[Candidate], *, readable: bool = False) -> list[Evidence]:
    """Return candidates as lines with their day: what was said in their turns that bears most on the query.

    To be `readable`, what points back is shown with the sentence before it; for a search that costs more than it shows.
    What has changed since or is in conflict is shown whole, with what it changed to or conflicts with.
    """
    points = {at: points_of(index.turns.items[at].text) for found in candidates for at in found.replies}
    often = Counter(point.casefold() for own in points.values() for point in own)

    def reply_line(turn: Turn) -> str:
        own = [point for point in points[index.turns.position(turn.turn_id)] if often[point.casefold()] <= MOST_SHARED]
        said = f"{speaker_name(turn.speaker)}: {plain('; '.join(own))}" if own else quote_turn(turn)
        return _cut(said, REPLY_CHARACTERS)

    lines: list[Evidence] = []
    for found in candidates:
        if readable and found.kind == "record":
            found = found._replace(joined=sentence_before(index, found.position))
        passage = _without_replies(index, found)
        replies = [index.turns.items[at] for at in found.replies] if not passage.shows_others else []
        lines.append(with_lines(passage, replies, reply_line))
    return lines


def _without_replies(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a synthesis as it is under its day, and a record or how a turn begins on one line."""
    if candidate.kind == "record":
        return format_record(index, candidate, _line_of)
    passage = format_passage(index, candidate._replace(replies=()))
    if candidate.kind == "synthesis":
        text, moment = passage.text, index.syntheses.items[candidate.position].window_start
        passage = passage.model_copy(update={"noted_at": moment})
    else:
        turn = index.turns.items[candidate.position]
        text, moment = _cut(quote_turn(turn), LINE_CHARACTERS), turn.said_at
    return passage.model_copy(update={"text": dated(text, moment)})


def _line_of(records: Sequence[Record]) -> str:
    """Return a record on one line, behind the one before it where it cannot be read without."""
    return _cut(plain(join_contents(records)), LINE_CHARACTERS * len(records))


def _cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut between words."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]}{ELLIPSIS.rstrip()}"
