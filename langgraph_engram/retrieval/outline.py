"""Outline what a broad query asks for: a line of each exchange, where a narrow query is shown a few whole passages.

Query-focused summarization and timeline summarization rest on many exchanges, none of which is much more relevant than
the next. Passages as long as those of a narrow query fill the budget with a tenth of them (docs/decisions/0042).

How broad a query is, a language model says where it parses queries. Otherwise a logistic regression for each kind says
it, over the query's embedding and its frequent words (`training/breadth.py`).
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.embeddings.minilm_weights import VECTOR_SPACE
from langgraph_engram.logistic import TextClassifier
from langgraph_engram.prompts.rendering import plain, quote_turn, speaker_name
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.fusion import Fusion, top_matching
from langgraph_engram.retrieval.grouping import Candidate
from langgraph_engram.retrieval.passages import ELLIPSIS, dated, format_passage
from langgraph_engram.retrieval.routes import first_person_query
from langgraph_engram.schema import OUTLINE, Breadth, Evidence, Intent, Turn
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.markdown import blocks_of

WEIGHTS_FILE = "breadth_weights.json"
KINDS: tuple[Breadth, ...] = ("summary", "timeline")
"""The kinds of broad queries, each with a regression of its own."""
THRESHOLD = 0.7
"""The probability from which a query is of a kind: a narrow one that is taken for broad is shown too much."""


@cache
def load_model() -> TextClassifier[Breadth]:
    """Return the shipped model. A query is classified in the first person where it is about one person."""
    return TextClassifier.load(dict.fromkeys(KINDS, THRESHOLD), "langgraph_engram.retrieval", WEIGHTS_FILE)


def breadth_of(intent: Intent, vector: Vectors, encoder_name: str) -> Breadth:
    """Return how broad a query is: as its parser says, else as the shipped model does, which knows MiniLM's vectors."""
    if intent.breadth or encoder_name != VECTOR_SPACE:
        return intent.breadth or "narrow"
    (kind,) = load_model().classify([first_person_query(intent)], vector[np.newaxis])
    return kind or "narrow"


def outline(fusion: Fusion, breadth: Breadth) -> Iterator[Evidence]:
    """Yield a line of each turn that was found, with its day, best first.

    A line is what was said in the turn that bears most on the query. What has changed since or is in conflict is shown
    whole, with what it changed to or conflicts with. A broad query is about what people said: an assistant's turns have
    no line of their own, but one after the turn that they reply to, where a summary is asked for. A question that was
    asked is part of such a history, so it loses nothing. A summary begins with the syntheses that bear on it.

    Args:
        fusion: What was found; its settings have the length of lines.
        breadth: How broad the query is.
    """
    index, settings = fusion.index, fusion.settings
    if breadth == "summary":
        yield from _narratives(fusion, settings.outline_syntheses)
    links = record_links(index)
    if breadth != "narrow":
        fusion = replace(fusion, settings=settings.model_copy(update={"question_weight": 0.0}))
    best: dict[int, Candidate] = {}
    for candidate in fusion.ranked():
        turn = int(links.turn[candidate.position]) if candidate.kind == "record" else candidate.position
        best.setdefault(turn if turn >= 0 else ~candidate.position, candidate)
    for position, candidate in best.items():
        if breadth != "narrow" and position >= 0 and index.turns.items[position].role == "assistant":
            continue
        passage = format_passage(index, candidate)
        reply = _reply_position(index, position) if breadth == "summary" else -1
        lines = [_line(index, candidate, settings.outline_characters)]
        if reply >= 0:
            answered = index.turns.items[reply]
            lines.append(_cut(_reply_text(answered), settings.outline_reply_characters))
            passage = passage.model_copy(update={"turns": [*passage.turns, answered]})
        if not passage.shows_others:
            moment = passage.record.mentioned_at if passage.record else passage.turns[0].said_at
            passage = passage.model_copy(update={"text": dated("\n".join(lines), moment)})
        if breadth != "narrow":
            passage = passage.model_copy(update={"routes": {**passage.routes, OUTLINE: passage.score}})
        yield passage


def _narratives(fusion: Fusion, most: int) -> Iterator[Evidence]:
    """Yield the syntheses that a model wrote and that bear most on a query, each with its day.

    One that quotes its records says nothing that the lines of an outline do not say.
    """
    index = fusion.index
    written = index.syntheses.column("written", lambda synthesis: not synthesis.quoted, np.bool_)
    found = np.where(written, fusion.scores.syntheses, 0.0)
    for position in top_matching(fusion.matches, index.syntheses, found, most):
        score = float(found[position])
        routes = {"synthesis": score, OUTLINE: score}
        passage = format_passage(index, Candidate("synthesis", position, score, routes))
        moment = index.syntheses.items[position].window_start
        yield passage.model_copy(update={"text": dated(passage.text, moment)})


def _reply_position(index: ScopeIndex, position: int) -> int:
    """Return the position of the assistant's reply to a turn; -1 for none."""
    _, following = index.turns.neighbours()
    reply = int(following[position]) if position >= 0 else -1
    return reply if reply >= 0 and index.turns.items[reply].role == "assistant" else -1


def _line(index: ScopeIndex, found: Candidate, most: int) -> str:
    """Return a record, or how a turn begins, on one line of at most `most` characters, cut between words."""
    if found.kind == "record":
        text = plain(index.records.items[found.position].content)
    else:
        text = quote_turn(index.turns.items[found.position])
    return _cut(text, most)


def _reply_text(turn: Turn) -> str:
    """Return the headings of an assistant's reply, which tell more of it than how it begins; its words without any."""
    headings = [block.heading for block in blocks_of(turn.text) if block.heading]
    return f"{speaker_name(turn.speaker)}: {plain('; '.join(headings))}" if headings else quote_turn(turn)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]}{ELLIPSIS.rstrip()}"
