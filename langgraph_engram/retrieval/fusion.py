"""Fuse the routes into one ranking of passages: a weighted sum on one scale, and preferences (docs/decisions/0015).

Ranked records of one turn, or of one exchange on one day, are grouped into passages.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from heapq import heappop, heappush, merge

import numpy as np

from langgraph_engram.filters import Condition
from langgraph_engram.retrieval.features import (
    MAX_CITED_TURNS,
    QUESTION_WEIGHT,
    RecordLinks,
    preferences,
    record_links,
    turn_preferences,
)
from langgraph_engram.retrieval.passages import Candidate
from langgraph_engram.retrieval.scoring import Flags, Positions, RouteScores, Scores, top_positions, unscored
from langgraph_engram.schema import Intent
from langgraph_engram.stores.index import Matches, ScopeIndex
from langgraph_engram.text.questions import asks_for_earlier_state
from langgraph_engram.text.words import content_stems

ROUTE_WEIGHTS: Mapping[str, float] = {
    "lexical": 0.4,
    "dense": 0.3,
    "first_person_dense": 0.5,
    "turn": 0.75,
    "dimension": 0.25,
    "boundary": 0.1,
}
"""Weights of the routes; "first_person_dense" is the dense route without neighbours."""
TURN_TOTAL = sum(ROUTE_WEIGHTS[name] for name in ("lexical", "dense", "first_person_dense", "turn"))
"""Weight of the turn route for a turn that no record stands for, so that it is on the scale of the records."""
SUPERSEDED_MARGIN = 0.25
"""Margin by which a superseded record must score above its successor, unless the query asks for the past."""
MAX_RANKED = 400
"""Candidates that the fusion ranks."""
MIN_SCORE = 1e-6
"""The score of the last of them: it was found."""
REPEATED_QUESTION_SCORE = MIN_SCORE / 2
"""The score of what only repeats the query."""
REPEAT_FACTOR = 0.06
"""Share of its score that each further record of one turn loses: distinct evidence first."""
CHUNK_REPEAT_FACTOR = 0.3
"""The same for each further chunk of one message: they are long, and rarely more than one is asked for."""
JOIN_FACTOR = 0.85
"""Share of a passage's score from which a further record of its turns joins it."""
EXCHANGE_FACTOR = 0.65
"""Share of a passage's score from which a record of another turn of the exchange joins it."""
MISSING = frozenset([-1])
"""The position of a turn that is not there."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """What the routes found, in one ranking."""

    index: ScopeIndex
    intent: Intent
    scores: RouteScores
    conditions: Sequence[Condition] = ()
    question_weight: float = QUESTION_WEIGHT

    @cached_property
    def matches(self) -> Matches:
        """Return what fulfils the conditions."""
        return Matches(self.index, self.conditions)

    def ranked(self, reach: int = 0) -> Iterator[Candidate]:
        """Yield turns, and passages of records up to `reach` turns apart, best first."""
        places, scores = self._found
        of_records = places < len(self.index.records)
        groups = group_records(self.index, places[of_records], scores[of_records], reach)
        passages = (self._candidate(group.positions[0], group.score, group.positions[1:]) for group in groups)
        alone = zip(places[~of_records].tolist(), scores[~of_records].tolist(), strict=True)
        turns = (self._candidate(at, score) for at, score in alone)
        return merge(passages, turns, key=lambda found: -found.score)

    def ranked_turns(self, shown: Collection[int] = ()) -> Iterator[tuple[int, Candidate]]:
        """Yield each turn that was found, a negative number for none, and the best of it as a line, best first.

        Code stands for its turn only where nothing else of it was found, and then behind all others.
        """
        places, scores = self._found
        is_code = self.index.records.column(
            "is_code", lambda record: record.is_chunk and "```" in record.content, np.bool_
        )
        order = np.argsort(np.append(is_code, False)[np.minimum(places, len(is_code))], kind="stable")
        places, scores = places[order], scores[order]
        turn_of, records = record_links(self.index).turn, len(self.index.records)
        seen = set(shown)
        for at, score in zip(places.tolist(), scores.tolist(), strict=True):
            turn = int(turn_of[at]) if at < records else at - records
            turn = turn if turn >= 0 else ~at
            if turn not in seen:
                seen.add(turn)
                yield turn, self._candidate(at, score)._replace(as_line=True)

    @cached_property
    def _found(self) -> tuple[Positions, Scores]:
        """Add up the routes and the preferences on one scale; return places and scores, best first.

        The place of a turn is behind those of all records.
        """
        links = record_links(self.index)
        topical = unscored(len(self.index.records))
        for name, part in self._routes.items():
            topical += ROUTE_WEIGHTS[name] * part
        eligible = self.index.records.active | _eligible_superseded(topical, self.intent, links)
        eligible &= self.matches.records & (topical > 0)
        of_records = np.where(eligible, topical + self._preference, -np.inf)
        of_turns = np.where(self.matches.turns, self._uncited_turns(), -np.inf)
        best, scores = _best(np.concatenate([of_records, of_turns]))
        asks = np.concatenate([links.is_question, links.turn_asks])
        known = frozenset(content_stems(" ".join([self.intent.query, *self.index.turns.speakers])))
        repeats = [asks[at] and known.issuperset(content_stems(self._text_at(at))) for at in best]
        scores[repeats] = REPEATED_QUESTION_SCORE  # asked before, it answers nothing
        order = top_positions(scores, MAX_RANKED)
        return best[order], scores[order]

    @cached_property
    def _routes(self) -> dict[str, Scores]:
        """Return the scores of the records by route, those of their turns and events included."""
        links = record_links(self.index)
        return {
            **self.scores.records,
            "turn": _scores_at(self.scores.turns, links.turn),
            "boundary": _scores_at(self.scores.events, links.event),
        }

    @cached_property
    def _preference(self) -> Scores:
        return preferences(record_links(self.index), self.intent, self.question_weight)

    def _candidate(self, at: int, score: float, joined: Sequence[int] = ()) -> Candidate:
        """Return the record, or the turn, at a place."""
        turn = at - len(self.index.records)
        if turn >= 0:
            return Candidate("turn", turn, score, {"turn": float(self.scores.turns[turn])})
        parts = {**self._routes, "preference": self._preference}
        routes = {name: float(part[at]) for name, part in parts.items()}
        return Candidate("record", at, score, routes, tuple(joined))

    def _text_at(self, at: int) -> str:
        turn = at - len(self.index.records)
        return self.index.turns.items[turn].text if turn >= 0 else self.index.records.items[at].content

    def _uncited_turns(self) -> Scores:
        """Score the turns that no record stands for, on the scale of the records; -inf for the others."""
        links = record_links(self.index)
        positions = links.uncited
        total = np.full(len(self.index.turns), -np.inf, dtype=np.float32)
        preferred = turn_preferences(links, self.intent, self.question_weight)[positions]
        found = self.scores.turns[positions]
        total[positions] = np.where(found > 0, TURN_TOTAL * found + preferred, -np.inf)
        return total


@dataclass(slots=True)
class RecordGroup:
    """Records that are shown as one passage."""

    score: float
    """Of the best one."""
    positions: list[int] = field(default_factory=list)
    """Best first."""
    turns: set[int] = field(default_factory=set)
    """Those that the records come from."""
    cited: frozenset[int] = frozenset()
    """All that the records cite."""

    def takes(self, turn: int, score: float, cited: frozenset[int]) -> bool:
        """Return whether a record of a turn near by scores nearly as high as the best, and cites few turns more."""
        factor = JOIN_FACTOR if turn in self.turns else EXCHANGE_FACTOR
        return score >= factor * self.score and len(self.cited | cited) <= MAX_CITED_TURNS


def group_records(index: ScopeIndex, ranked: Positions, scores: Scores, reach: int) -> Iterator[RecordGroup]:
    """Yield groups of ranked records, best first: what scores nearly as high as the best of a group joins it.

    A group reaches as many turns from one record to the next; with a reach of 0 it is of one turn. Each further record
    of one turn scores less. A superseded record, a chunk and what cites too many turns are groups of their own. A group
    is yielded once no further record can join it, since few are read.
    """
    repeated: Counter[int] = Counter()
    groups: list[RecordGroup] = []
    groups_at: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    """The numbers of the groups that hold a record of a session, a day and a place in the session."""
    waiting: list[tuple[float, int]] = []
    """The scores, negated, and numbers of the groups that are not yielded yet, as a heap."""
    links, records = record_links(index), index.records
    turns, chunks, days = links.turn[ranked], records.is_chunk[ranked], records.mentioned_day[ranked]
    sessions, seqs = (column[turns] if len(column) else turns for column in (index.turns.session, index.turns.seq))
    columns = (ranked, scores, turns, chunks, links.sources[ranked], links.successor[ranked], sessions, days, seqs)
    for position, score, turn, is_chunk, sources, successor, session, day, seq in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        while waiting and score < EXCHANGE_FACTOR * -waiting[0][0]:
            yield groups[heappop(waiting)[1]]
        cited = frozenset(sources) - MISSING
        lowered = score * (1 - (CHUNK_REPEAT_FACTOR if is_chunk else REPEAT_FACTOR)) ** repeated[turn]
        repeated[turn] += 1
        is_alone = successor >= 0 or turn < 0 or is_chunk or not cited
        places = () if is_alone else range(seq - reach, seq + reach + 1)
        near = sorted({number for place in places for number in groups_at.get((session, day, place), ())})
        number = next((number for number in near if groups[number].takes(turn, lowered, cited)), len(groups))
        if number == len(groups):
            heappush(waiting, (-lowered, number))
            groups.append(RecordGroup(lowered))
        group = groups[number]
        group.positions.append(position)
        group.cited |= cited
        if not is_alone and turn not in group.turns:
            group.turns.add(turn)
            groups_at[session, day, seq].append(number)
    while waiting:
        yield groups[heappop(waiting)[1]]


def _eligible_superseded(topical: Scores, intent: Intent, links: RecordLinks) -> Flags:
    """Return which superseded records are found, since not all that they say has changed (docs/decisions/0013).

    A query for the past finds all of them; any other those that score higher than their successors by a margin, but no
    earlier value of a slot.
    """
    eligible = links.successor >= 0
    if not asks_for_earlier_state(intent.query):
        superseded = np.flatnonzero(eligible)
        successor = links.successor[superseded]
        stands_out = topical[superseded] > topical[successor] + SUPERSEDED_MARGIN
        eligible[superseded] = stands_out & ~links.records.has_slot[successor]
    return eligible


def _best(totals: Scores) -> tuple[Positions, Scores]:
    """Return the positions of the highest totals that are not -inf, and these totals, scaled to [0, 1]."""
    limit = min(MAX_RANKED, len(totals))
    lowest = np.partition(totals, -limit)[-limit] if limit else -np.inf
    positions = np.flatnonzero((totals >= lowest) & np.isfinite(totals))
    found = totals[positions]
    low, high = found.min(initial=np.inf), found.max(initial=-np.inf)
    return positions, np.maximum((found - low) / (high - low or 1.0), MIN_SCORE)


def _scores_at(scores: Scores, positions: Positions) -> Scores:
    """Return the scores at some positions; 0 at -1."""
    return np.append(scores, np.float32(0))[positions] if len(scores) else unscored(len(positions))
