"""Find passages by the light routes: for one thing whole ones, then lines; for what needs the whole lines alone.

Counts, lists, orders and summaries rest on many turns, and whole passages fill the budget with a tenth of them
(docs/decisions/0018). Summaries also show the points of each reply of an assistant, its headings and what it sets in
bold, without those that its other replies have as well ("Explanation", "Summary").
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, compress, islice
from operator import not_

import numpy as np

from langgraph_engram.embeddings.base import Encoder
from langgraph_engram.prompts.list_items import is_outside, past_window
from langgraph_engram.prompts.parse_intent import SYSTEM
from langgraph_engram.prompts.rendering import clipped, dated, plain, quote_turn, speaker_name
from langgraph_engram.prompts.write_answer import AnswerForm
from langgraph_engram.retrieval.features import record_links
from langgraph_engram.retrieval.fusion import Fusion
from langgraph_engram.retrieval.messages import IDLE_NOTE, MessageRetriever
from langgraph_engram.retrieval.passages import (
    LINE_CHARACTERS,
    Candidate,
    approximate_tokens,
    as_passage,
    excerpted,
    format_record,
    join_contents,
    near_turns,
    reply_position,
    sentence_before,
    with_replies,
)
from langgraph_engram.retrieval.pool import fit_budget, passage_tokens
from langgraph_engram.retrieval.queries import idle_chance
from langgraph_engram.retrieval.relevance import Relevance, by_strength, truncate, with_relevance
from langgraph_engram.retrieval.scoring import score_routes, top_matching
from langgraph_engram.retrieval.search import Found, Ranking, Retriever, Search, cut, stop_of
from langgraph_engram.schema import IN_SET, OUTLINE, Breadth, Evidence, Intent, Turn
from langgraph_engram.settings import RetrieveSettings, Settings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds
from langgraph_engram.text.markdown import points_of
from langgraph_engram.text.questions import Told, answer_type, asks, newest_first
from langgraph_engram.text.statements import speaks_of_self
from langgraph_engram.text.words import content_stems

WHOLE_TOKENS = 500
"""Tokens of whole passages after which a narrow query is shown lines, of turns that none of them is from."""
COMPARED_TOKENS = 2 * WHOLE_TOKENS
"""Tokens of the passages that are compared with a narrow query."""
DOUBTFUL_TOKENS = 300
"""Tokens that a search shows where nothing found seems to answer; the best passage in any case."""
OUTLINE_STOP = 0.08
"""Strength at which an outline ends: what it is of is in many exchanges, the last much weaker than the first."""
MOST_LINES = 160
"""Lines that an answer that needs the whole is first written from, and that are read at once behind them."""
ADVICE_LINES = 80
"""Lines that advice is given from: what bears on it shares few words with what is asked."""
MOST_OUTSIDE = 40
"""Lines among them that tell of another time than the query asks about."""
BESIDE_SETS = 80
"""Lines that complete what stands in a set that the query names."""
LINES_BATCH = 80
"""Lines of one batch of those."""
SELECT_BATCH = 15
"""Candidates of one call of the deep selection."""
EXCHANGE_REACH = 2
"""Turns between sentences of one passage in a search; a recall has passages of one turn."""
MAX_NOTES = 24
"""Notes and narratives that a summary or a timeline begins with, of those that a language model wrote."""
REPLY_CHARACTERS = 240
"""Characters of the line of an assistant's reply in a summary."""
MOST_SHARED = 2
"""Replies that have a point which still tells something of each."""


@dataclass(frozen=True)
class LightRetriever:
    """Search by all routes at once."""

    encoder: Encoder
    settings: RetrieveSettings

    def retrieve(self, index: ScopeIndex, search: Search) -> Found:
        """Return the passages that bear most on a query, within the budget, and a note of each lack.

        An idle query that asks is a question after all where something found is likelier to answer it than it is idle.
        """
        intent = search.intent
        if intent.sort == "message" or (intent.sort == "idle" and not asks(intent.query)):
            return MessageRetriever(self.encoder, self.settings).retrieve(index, search)
        scores = score_routes(self.encoder, self.settings.routes, index, search.intent)
        fusion = Fusion(index, search.intent, scores, search.conditions)
        relevance = Relevance(index, search.intent, fusion.scores.query)
        breadth, most = _lines_wanted(search)
        more = 0
        if breadth == "narrow":
            budget = search.budget or self.settings.budget
            reach = EXCHANGE_REACH if search.mode == "search" else 0
            pool = _pool(index, fusion.ranked(reach), COMPARED_TOKENS)
            shown = self._answering(fusion, relevance, pool, search, budget)
            if intent.sort == "idle" and not shown:
                return Found([], [IDLE_NOTE])
            if search.mode == "search":
                shown = newest_first(search.intent.query, search.intent.time, shown, _told_by)
        else:
            pool = list(lines_of(fusion, breadth))
            in_sets = sum(IN_SET in candidate.routes for candidate in pool)
            most = min(most, in_sets + BESIDE_SETS) if in_sets else most
            budget = search.budget or self.settings.whole_budget * most // MOST_LINES
            found = _whole(relevance, pool, search)
            shown, more = found[:most], max(0, len(found) - most)
        ranking = Ranking(fusion.matches, fusion.scores.query, pool, fusion.scores.empty)
        return cut(search, ranking, shown, budget, self.settings.lasting_share)._replace(more=more)

    def _answering(
        self, fusion: Fusion, relevance: Relevance, pool: Sequence[Candidate], search: Search, budget: int
    ) -> list[Evidence]:
        """Return whole passages, then lines; little where nothing found seems to answer."""
        stop = stop_of(search, self.settings.stop)
        found = with_relevance(pool, relevance.features(pool))
        ended = [as_passage(relevance.index, candidate) for candidate in _ended(search, found, stop)]
        shown = [excerpted(passage, relevance.stem_weights) for passage in ended]
        surest = max((one.relevance for one in found), default=0.0)
        if stop and search.intent.sort == "idle" and surest < idle_chance(search.intent.query, self.encoder):
            return []
        if stop and surest < self.settings.relevance_threshold:
            return fit_budget(shown, DOUBTFUL_TOKENS) or shown[:1]
        whole = fit_budget(shown, WHOLE_TOKENS)
        if not whole or len(whole) == len(shown):
            return shown
        lines = _lines(fusion, relevance, whole, budget)
        ordered: list[Evidence | Candidate] = [*whole, *(lines if search.mode == "recall" else by_strength(lines))]
        kept = truncate(ordered, stop)
        kept_lines = [line for line in kept if isinstance(line, Candidate)]
        return [*whole[: len(kept)], *format_lines(relevance.index, kept_lines)]


def _lines_wanted(search: Search) -> tuple[Breadth, int]:
    """Return what is read for in lines, and how many of them at most; "narrow" for passages."""
    breadth = (search.intent.breadth if search.intent.sort == "question" else None) or "narrow"
    if breadth == "narrow" and search.mode == "recall" and answer_type(search.intent.query) == "advice":
        return "list", ADVICE_LINES
    return breadth, MOST_LINES


def _pool(index: ScopeIndex, candidates: Iterator[Candidate], budget: int) -> list[Candidate]:
    """Return the best candidates that take so many tokens together, or the best one if it takes more."""
    best = list(islice(candidates, 1))
    return fit_budget(chain(best, candidates), budget, size_of=approximate_tokens(index)) or best


def _ended(search: Search, found: Sequence[Candidate], stop: float) -> list[Candidate]:
    """Order what a search found by strength, and end it where that is low; a recall takes it as it is."""
    return list(found) if search.mode == "recall" else truncate(by_strength(found), stop)


def _whole(relevance: Relevance, pool: Sequence[Candidate], search: Search) -> list[Evidence]:
    """Return what was found as lines, of a recall those that were not read before."""
    found = with_relevance(pool, relevance.features(pool))
    ended, is_read = _ended(search, found, stop_of(search, OUTLINE_STOP)), search.mode == "recall"
    lines = format_lines(relevance.index, ended, readable=is_read)
    return _mostly_within(_unread(lines, search), search.intent) if is_read else lines


def _told_by(passage: Evidence) -> Told:
    record = passage.record
    if record is None:
        return "", 0.0, 0.0, False
    moment = epoch_seconds(record.mentioned_at, 0.0)
    return record.speaker, moment, passage.relevance, speaks_of_self(record.content)


def _unread(lines: Sequence[Evidence], search: Search) -> list[Evidence]:
    """Return lines that were not read before; where other words are looked for, those that hold one of them."""
    intent, fresh = search.intent, [line for line in lines if line.evidence_id not in search.read]
    further = set(content_stems(intent.anchor)).difference(content_stems(intent.query)) if search.read else set()
    return [line for line in fresh if not further.isdisjoint(content_stems(line.text))] if further else fresh


def _mostly_within(lines: Sequence[Evidence], intent: Intent) -> list[Evidence]:
    """Return lines without those that tell of another time than asked about, but for the best: a day may be misread."""
    window = past_window(intent.time, intent.asked_at)
    left_out = {line.evidence_id for line in [line for line in lines if is_outside(line, window)][MOST_OUTSIDE:]}
    return [line for line in lines if line.evidence_id not in left_out]


def _lines(fusion: Fusion, relevance: Relevance, whole: Sequence[Evidence], budget: int) -> list[Candidate]:
    """Return the turns that no passage is from, as lines that fit beside them."""
    index = relevance.index
    shown = {index.turns.position(turn.turn_id) for passage in whole for turn in passage.turns}
    left = budget - sum(map(passage_tokens, whole))
    found = (candidate for _, candidate in fusion.ranked_turns(shown))
    lines = fit_budget(found, left, size_of=approximate_tokens(index))
    return with_relevance(lines, relevance.features(lines))


@dataclass(frozen=True)
class ReadParts:
    """What a preset's read graph is made of."""

    retriever: Retriever
    form: AnswerForm = field(default_factory=AnswerForm)
    """How the reader of an answer is shown the evidence."""
    turns_around: Callable[[ScopeIndex, Evidence], Sequence[Turn]] = near_turns
    """Returns what deep retrieval shows of a selected passage."""
    select_batch: int = SELECT_BATCH
    """Candidates of one call of the deep selection."""
    reads_whole: bool = False
    """Whether what needs the whole is answered from lines of all that was found."""
    intent_rules: str = SYSTEM
    """What a model that parses queries is told."""


def default_parts(encoder: Encoder, settings: Settings) -> ReadParts:
    """Return the parts of the default preset."""
    retriever = LightRetriever(encoder, settings.retrieve)
    return ReadParts(retriever, AnswerForm().styled(settings.answer.style), reads_whole=settings.retrieve.whole)


def lines_of(fusion: Fusion, breadth: Breadth) -> Iterator[Candidate]:
    """Yield the best of each turn that was found, to be shown as a line of a list, a timeline or a summary, best first.

    The whole is about what people said: an assistant's turns come behind all others, unless they are asked for, in a
    timeline not at all, and in a summary after the turn that they reply to. A question that was asked is part of the
    whole, so it loses nothing. A summary and a timeline begin with the notes of sessions that bear on them, and a
    list with what stands in the sets that it names.
    """
    index = fusion.index
    in_sets = [*_in_sets(fusion)] if breadth != "summary" else []
    yield from in_sets
    if breadth != "list":
        yield from _notes(fusion)
    listed = record_links(index).turn[[candidate.position for candidate in in_sets]].tolist()
    found = list(replace(fusion, question_weight=0.0).ranked_turns(listed))
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
    """
    points = {at: points_of(index.turns.items[at].text) for found in candidates for at in found.replies}
    often = Counter(point.casefold() for own in points.values() for point in own)

    def reply_line(turn: Turn) -> str:
        own = [point for point in points[index.turns.position(turn.turn_id)] if often[point.casefold()] <= MOST_SHARED]
        said = f"{speaker_name(turn.speaker)}: {plain('; '.join(own))}" if own else quote_turn(turn)
        return clipped(said, REPLY_CHARACTERS)

    lines: list[Evidence] = []
    for found in candidates:
        if readable and found.kind == "record":
            found = found._replace(joined=sentence_before(index, found.position))
        passage = _without_replies(index, found)
        replies = [index.turns.items[at] for at in found.replies] if not passage.shows_others else []
        lines.append(with_replies(passage, replies, reply_line))
    return lines


def _without_replies(index: ScopeIndex, candidate: Candidate) -> Evidence:
    """Return a synthesis as it is under its day, and a record or how a turn begins on one line."""
    if candidate.kind == "record":
        return format_record(
            index, candidate, lambda records: clipped(plain(join_contents(records)), LINE_CHARACTERS * len(records))
        )
    passage = as_passage(index, candidate._replace(replies=()))
    if candidate.kind == "synthesis":
        text, moment = passage.text, index.syntheses.items[candidate.position].window_start
        passage = passage.model_copy(update={"noted_at": moment})
    else:
        turn = index.turns.items[candidate.position]
        text, moment = clipped(quote_turn(turn), LINE_CHARACTERS), turn.said_at
    return passage.model_copy(update={"text": dated(text, moment)})
