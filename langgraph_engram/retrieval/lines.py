"""Show what was found as short lines, one of each turn: what needs the whole rests on many turns, no long one whole.

Summaries also show what an assistant replied: the points of each reply, its headings and what its lists set in bold,
without those that its other replies have as well ("Explanation", "Summary"), which tell nothing of this one.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import compress
from operator import not_

import numpy as np

from langgraph_engram.prompts.rendering import dated, plain, quote_turn, speaker_name
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
from langgraph_engram.schema import OUTLINE, Breadth, Evidence, Record, Turn
from langgraph_engram.stores.index import ScopeIndex

MAX_NARRATIVES = 2
"""Syntheses that a summary begins with, of those that a language model wrote."""
REPLY_CHARACTERS = 240
"""Characters of the line of an assistant's reply in a summary."""
MOST_SHARED = 2
"""Replies that have a point which still tells something of each."""
FENCED = re.compile(r"^\s*```.*?(?:^\s*```|\Z)", re.MULTILINE | re.DOTALL)
POINT = re.compile(
    r"^\s*(?:#{1,6}\s+|(?:[-*+]|\d+[.)])\s+(?=\*\*)|(?=\*\*))(?:\d+[.)]\s+)?\**(?P<point>[^*\n]{3,80})", re.MULTILINE
)


def lines_of(fusion: Fusion, breadth: Breadth, shown: Collection[int] = ()) -> Iterator[Candidate]:
    """Yield the best of each turn that was found and not shown, to be shown as a line, best first.

    The whole is about what people said: an assistant's turns come behind all others, unless they are asked for, in a
    timeline not at all, and in a summary after the turn that they reply to. A question that was asked is part of the
    whole, so it loses nothing. A summary begins with the syntheses that bear on it.
    """
    if breadth == "narrow":
        yield from (candidate for _, candidate in fusion.ranked_turns(shown))
        return
    index = fusion.index
    if breadth == "summary":
        yield from _narratives(fusion)
    found = list(replace(fusion, question_weight=0.0).ranked_turns(shown))
    if not fusion.intent.needs_assistant:
        is_assistant = [turn >= 0 and index.turns.items[turn].role == "assistant" for turn, _ in found]
        replied = compress(found, is_assistant) if breadth == "list" else ()
        found = [*compress(found, map(not_, is_assistant)), *replied]
    for turn, candidate in found:
        reply = reply_position(index, turn) if breadth == "summary" else -1
        routes = {**candidate.routes, OUTLINE: candidate.score}
        yield candidate._replace(routes=routes, replies=(reply,) if reply >= 0 else ())


def _narratives(fusion: Fusion) -> Iterator[Candidate]:
    """Yield the syntheses that a model wrote and that bear most on a query: what quotes its records adds nothing."""
    index = fusion.index
    written = index.syntheses.column("written", lambda synthesis: not synthesis.quoted, np.bool_)
    found = np.where(written, fusion.scores.syntheses, 0.0)
    for position in top_matching(fusion.matches, index.syntheses, found, MAX_NARRATIVES):
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


def points_of(text: str) -> list[str]:
    """Return the headings of a text and what begins its paragraphs and list items in bold, in order, each once."""
    found = (" ".join(point["point"].split()).strip(" :.") for point in POINT.finditer(FENCED.sub("", text)))
    return list(dict.fromkeys(filter(None, found)))


def _without_replies(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a synthesis as it is under its day, and a record or how a turn begins on one line."""
    if candidate.kind == "record":
        return format_record(index, candidate, _line_of)
    passage = format_passage(index, candidate._replace(replies=()))
    if candidate.kind == "synthesis":
        text, moment = passage.text, index.syntheses.items[candidate.position].window_start
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
