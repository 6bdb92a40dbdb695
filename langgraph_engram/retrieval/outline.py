"""Outline what a broad query asks for: a line of each exchange, where a narrow query is shown a few whole passages.

Summaries and timelines rest on many exchanges, and whole passages fill the budget with a tenth of them
(docs/decisions/0018).
"""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE
from langgraph_engram.logistic import TextClassifier
from langgraph_engram.prompts.rendering import dated, plain, quote_turn, speaker_name
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.passages import (
    ELLIPSIS,
    LINE_CHARACTERS,
    format_passage,
    format_record,
    reply_position,
)
from langgraph_engram.retrieval.queries import first_person_query
from langgraph_engram.retrieval.scoring import top_matching
from langgraph_engram.schema import OUTLINE, Breadth, Evidence, Intent, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import blocks_of

WEIGHTS_FILE = "breadth_weights.json"
BROAD: tuple[Breadth, ...] = ("summary", "timeline")
"""The kinds of broad queries, each with a regression of its own."""
THRESHOLD = 0.7
"""The probability from which a query is of a kind: a narrow one that is taken for broad is shown too much."""

MAX_NARRATIVES = 2
"""Syntheses that a summary begins with, of those that a language model wrote."""
REPLY_CHARACTERS = 140
"""Characters of the line of an assistant's reply in a summary: its headings, or how it begins."""


@cache
def load_model() -> TextClassifier[Breadth]:
    """Return the shipped model, which the lab's `training/standing.py` fits."""
    return TextClassifier.load(dict.fromkeys(BROAD, THRESHOLD), "langgraph_engram.retrieval", WEIGHTS_FILE)


def breadth_of(intent: Intent, vector: Vectors, encoder_name: str) -> Breadth:
    """Return how broad a query is: as its parser says, else as the shipped model does, which knows MiniLM's vectors."""
    if intent.breadth or encoder_name != VECTOR_SPACE:
        return intent.breadth or "narrow"
    (kind,) = load_model().classify([first_person_query(intent)], vector[np.newaxis])
    return kind or "narrow"


def outline(fusion: Fusion, breadth: Breadth, shown: Collection[int] = ()) -> Iterator[Candidate]:
    """Yield the best of each turn that was found and not shown, to be shown as a line, best first.

    A broad query is about what people said: an assistant's turns have no line of their own, but one after the turn that
    they reply to, where a summary is asked for. A question that was asked is part of such a history, so it loses
    nothing. A summary begins with the syntheses that bear on it.
    """
    if breadth == "narrow":
        yield from (candidate for _, candidate in fusion.ranked_turns(shown))
        return
    index = fusion.index
    if breadth == "summary":
        yield from _narratives(fusion)
    for turn, candidate in replace(fusion, question_weight=0.0).ranked_turns(shown):
        if turn >= 0 and index.turns.items[turn].role == "assistant":
            continue
        reply = reply_position(index, turn) if breadth == "summary" else -1
        yield candidate._replace(
            routes={**candidate.routes, OUTLINE: candidate.score},
            replies=(reply,) if reply >= 0 else (),
        )


def format_line(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a candidate of an outline as a line with its day: what was said in its turn that bears most on the query.

    What has changed since or is in conflict is shown whole, with what it changed to or conflicts with.
    """
    passage = _without_replies(index, candidate)
    if passage.shows_others or not candidate.replies:
        return passage
    replies = [index.turns.items[position] for position in candidate.replies]
    lines = [passage.text, *(_cut(_reply_text(reply), REPLY_CHARACTERS) for reply in replies)]
    return passage.model_copy(update={"text": "\n".join(lines), "turns": [*passage.turns, *replies]})


def _without_replies(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a synthesis as it is under its day, and a record or how a turn begins on one line."""
    if candidate.kind == "record":
        return format_record(index, candidate, lambda records: _cut(plain(records[0].content), LINE_CHARACTERS))
    passage = format_passage(index, candidate._replace(replies=()))
    if candidate.kind == "synthesis":
        text, moment = passage.text, index.syntheses.items[candidate.position].window_start
    else:
        turn = index.turns.items[candidate.position]
        text, moment = _cut(quote_turn(turn), LINE_CHARACTERS), turn.said_at
    return passage.model_copy(update={"text": dated(text, moment)})


def _narratives(fusion: Fusion) -> Iterator[Candidate]:
    """Yield the syntheses that a model wrote and that bear most on a query.

    One that quotes its records says nothing that the lines of an outline do not say.
    """
    index = fusion.index
    written = index.syntheses.column("written", lambda synthesis: not synthesis.quoted, np.bool_)
    found = np.where(written, fusion.scores.syntheses, 0.0)
    for position in top_matching(fusion.matches, index.syntheses, found, MAX_NARRATIVES):
        score = float(found[position])
        yield Candidate("synthesis", position, score, {"synthesis": score, OUTLINE: score}, as_line=True)


def _reply_text(turn: Turn) -> str:
    """Return the headings of an assistant's reply, which tell more of it than how it begins; its words without any."""
    headings = [block.heading for block in blocks_of(turn.text) if block.heading]
    return f"{speaker_name(turn.speaker)}: {plain('; '.join(headings))}" if headings else quote_turn(turn)


def _cut(text: str, most: int) -> str:
    """Return a text of at most so many characters, cut between words."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]}{ELLIPSIS.rstrip()}"
