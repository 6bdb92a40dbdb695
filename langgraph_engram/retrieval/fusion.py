"""Fuse the routes into one ranking: by the weighted fusion of `engram`, or by those of the papers."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import islice

import numpy as np

from langgraph_engram.filters import Condition
from langgraph_engram.retrieval.features import Flags, RecordLinks, preferences, record_links, spoken_by
from langgraph_engram.retrieval.grouping import Candidate, group_records
from langgraph_engram.retrieval.routes import RouteScores
from langgraph_engram.retrieval.scoring import Positions, Scores, top_positions, unscored
from langgraph_engram.schema import Event, Intent, Synthesis
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import KindIndex, Matches, ScopeIndex
from langgraph_engram.text.questions import asks_for_earlier_state
from langgraph_engram.text.tokens import content_stems

MAX_RANKED = 400
"""Candidates that a fusion ranks."""
MIN_SCORE = 1e-6
"""The score of the last of them under the weighted fusion: it was found."""
REPEATED_QUESTION_SCORE = MIN_SCORE / 2
"""The score of what only repeats the query."""


@dataclass(frozen=True, eq=False)
class Fusion:
    """What the routes found, in one ranking, by the fusion that the settings name."""

    index: ScopeIndex
    intent: Intent
    scores: RouteScores
    settings: RetrieveSettings
    conditions: Sequence[Condition] = ()
    """What is found fulfils them; what is shown with it may not."""

    @cached_property
    def matches(self) -> Matches:
        """Return what fulfils the conditions."""
        return Matches(self.index, self.conditions)

    def ranked(self, reach: int = 0) -> Iterator[Candidate]:
        """Yield what was found, best first.

        Args:
            reach: Under the weighted fusion, how many turns apart sentences of one passage may be.
        """
        match self.settings.fusion:
            case "weighted":
                return self._grouped(reach)
            case "reciprocal_rank":
                return _reciprocal_rank(self.matches, self.scores, self.settings)
            case "ordered_dedup":
                return _ordered_dedup(self.matches, self.scores, self.settings)
            case "event_score" | "event_text":
                return _by_event(self.matches, self.scores, self.settings)
        return _concatenate(self.matches, self.scores, self.settings)

    def ranked_turns(self, shown: Collection[int] = ()) -> Iterator[tuple[int, Candidate]]:
        """Yield the position of each turn that was found, and the best of it alone as a line, best first.

        What is of no turn comes with a negative number of its own.

        Args:
            shown: Positions of turns that are left out.
        """
        turn_of = record_links(self.index).turn
        seen = set(shown)
        alone = self._alone() if self.settings.fusion == "weighted" else map(_as_line, self.ranked())
        for candidate in alone:
            turn = int(turn_of[candidate.position]) if candidate.kind == "record" else candidate.position
            turn = turn if turn >= 0 else ~candidate.position
            if turn not in seen:
                seen.add(turn)
                yield turn, candidate

    @cached_property
    def _totals(self) -> "_Totals":
        return _weighted(self.matches, self.intent, self.scores, self.settings)

    def _grouped(self, reach: int) -> Iterator[Candidate]:
        """Yield passages and turns by their total; in one query both are added up once, whatever the reach."""
        totals = self._totals
        ranked = np.array([*totals.records], dtype=np.intp)
        groups = group_records(self.index, ranked, totals.record_scores, totals.links, self.settings, reach)
        return self._by_score((group.score, group.positions) for group in groups)

    def _alone(self) -> Iterator[Candidate]:
        """Yield records and turns by their total."""
        totals = self._totals
        best = totals.record_scores.tolist()
        alone = ((score, [position]) for score, position in zip(best, totals.records, strict=True))
        return self._by_score(alone, as_line=True)

    def _by_score(self, groups: Iterable[tuple[float, list[int]]], *, as_line: bool = False) -> Iterator[Candidate]:
        """Yield groups of records, best first, and the turns that were found, by score."""
        totals = self._totals
        records = ((score, positions, True) for score, positions in groups)
        turns = ((score, [position], False) for position, score in totals.turns.items())
        for score, (position, *joined), is_record in merge(records, turns, key=lambda found: -found[0]):
            if is_record:
                routes = dict(zip(totals.parts, totals.records[position], strict=True))
                yield Candidate("record", position, score, routes, tuple(joined), as_line=as_line)
            else:
                routes = {"turn": float(self.scores.turns[position])}
                yield Candidate("turn", position, score, routes, as_line=as_line)


def interleave(rankings: Iterable[Iterator[Candidate]]) -> Iterator[Candidate]:
    """Yield the candidates of several rankings in turns, best first, each once."""
    running = list(rankings)
    if len(running) == 1:
        yield from running.pop()
    seen: set[tuple[str, int]] = set()
    while running:
        for ranking in list(running):
            found = next((candidate for candidate in ranking if (candidate.kind, candidate.position) not in seen), None)
            if found is None:
                running.remove(ranking)
                continue
            seen.update((found.kind, position) for position in (found.position, *found.joined))
            yield found


@dataclass(frozen=True, eq=False)
class _Totals:
    """What the weighted fusion adds up, on one scale; best first."""

    links: RecordLinks
    parts: tuple[str, ...]
    """The names of what is added up."""
    records: Mapping[int, Sequence[float]]
    """The positions of the records that were found, with their parts."""
    record_scores: Scores
    """Their totals."""
    turns: Mapping[int, float]
    """The positions of the turns that were found, with their totals."""


def _weighted(matches: Matches, intent: Intent, scores: RouteScores, settings: RetrieveSettings) -> _Totals:
    """Add up the routes on one scale, and the preferences beside them (docs/decisions/0013)."""
    index = matches.index
    links = record_links(index)
    parts = _record_parts(index, links, scores)
    weights = _route_weights(settings)
    topical = unscored(len(index.records))
    for name, part in parts.items():
        topical += weights[name] * part
    parts["preference"] = preferences(index.records, links, intent, settings)
    eligible = index.records.active | _eligible_superseded(topical, intent, links, settings)
    eligible &= matches.records & (topical > 0)
    records, turns = _best(
        np.where(eligible, topical + parts["preference"], -np.inf),
        np.where(matches.turns, _uncited_turns(index, intent, scores, links, settings), -np.inf),
    )
    known = frozenset(content_stems(" ".join([intent.query, *index.speakers])))
    records.demote_questions(known, links.is_question, lambda position: index.records.items[position].content)
    turns.demote_questions(known, links.turn_asks, lambda position: index.turns.items[position].text)
    records, turns = records.ranked(), turns.ranked()
    by_record = np.stack([part[records.positions] for part in parts.values()], axis=1).tolist()
    return _Totals(
        links,
        tuple(parts),
        dict(zip(records.positions.tolist(), by_record, strict=True)),
        records.totals,
        dict(zip(turns.positions.tolist(), turns.totals.tolist(), strict=True)),
    )


def _eligible_superseded(topical: Scores, intent: Intent, links: RecordLinks, settings: RetrieveSettings) -> Flags:
    """Return which superseded records are found, since not all that they say has changed (docs/decisions/0025).

    A query for the past finds all of them; any other those that score higher than their successors by a margin.
    """
    eligible = links.successor >= 0
    if not asks_for_earlier_state(intent.query):
        superseded = np.flatnonzero(eligible)
        least = topical[links.successor[superseded]] + settings.superseded_margin
        eligible[superseded] = topical[superseded] > least
    return eligible


def _uncited_turns(
    index: ScopeIndex, intent: Intent, scores: RouteScores, links: RecordLinks, settings: RetrieveSettings
) -> Scores:
    """Score the turns that no record stands for, on the scale of the records; -inf for the others."""
    total = np.full(len(index.turns), -np.inf, dtype=np.float32)
    positions = links.uncited
    if not len(positions) or not len(scores.turns):
        return total
    weight = settings.lexical_weight + settings.dense_weight + settings.first_person_dense_weight + settings.turn_weight
    preferred = (
        settings.speaker_weight * spoken_by(index.turns, intent.speakers)[positions]
        + settings.length_weight * links.turn_length[positions]
        - settings.question_weight * links.turn_asks[positions]
        - settings.assistant_penalty * (index.turns.from_assistant[positions] & (not intent.needs_assistant))
    )
    found = scores.turns[positions]
    total[positions] = np.where(found > 0, weight * found + preferred, -np.inf)
    return total


@dataclass(frozen=True)
class _Best:
    """Records, or turns, of the highest totals."""

    positions: Positions
    totals: Scores

    def demote_questions(self, known: frozenset[str], asks: Flags, text_of: Callable[[int], str]) -> None:
        """Put questions that hold no more than the query last, in place: asked before, they answer nothing."""
        for number in np.flatnonzero(asks[self.positions]):
            if known.issuperset(content_stems(text_of(int(self.positions[number])))):
                self.totals[number] = REPEATED_QUESTION_SCORE

    def ranked(self) -> "_Best":
        """Return them best first."""
        order = top_positions(self.totals, MAX_RANKED)
        return _Best(self.positions[order], self.totals[order])


def _best(*totals: Scores) -> list[_Best]:
    """Return the highest of several totals together, scaled to [0, 1] from the last of them to the best; not -inf."""
    together = np.concatenate(totals)
    limit = min(MAX_RANKED, len(together))
    lowest = np.partition(together, -limit)[-limit] if limit else -np.inf
    known = [np.flatnonzero((total >= lowest) & np.isfinite(total)) for total in totals]
    found = [total[positions] for total, positions in zip(totals, known, strict=True)]
    low = min((total.min() for total in found if len(total)), default=0.0)
    span = max((total.max() for total in found if len(total)), default=1.0) - low or 1.0
    scaled = (np.maximum((total - low) / span, MIN_SCORE) for total in found)
    return [_Best(positions, total) for positions, total in zip(known, scaled, strict=True)]


def _record_parts(index: ScopeIndex, links: RecordLinks, scores: RouteScores) -> dict[str, Scores]:
    """Return the scores of the records by route, those of their turns, events and syntheses included."""
    parts = dict(scores.records)
    parts["turn"] = _scores_at(scores.turns, links.turn)
    parts["boundary"] = _scores_at(scores.events, links.event)
    parts["synthesis"] = unscored(len(index.records))
    np.maximum.at(parts["synthesis"], links.narrated, scores.syntheses[links.narrated_by])
    return parts


def _route_weights(settings: RetrieveSettings) -> dict[str, float]:
    return {
        "lexical": settings.lexical_weight,
        "dense": settings.dense_weight,
        "first_person_dense": settings.first_person_dense_weight,
        "turn": settings.turn_weight,
        "dimension": settings.dimension_weight,
        "boundary": settings.event_weight,
        "synthesis": settings.synthesis_weight,
    }


def _reciprocal_rank(matches: Matches, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Add up 1 / (k + rank) over the routes of records (Cormack et al. 2009)."""
    total: Counter[int] = Counter()
    for part in scores.records.values():
        for rank, position in enumerate(_top_active(matches, part, MAX_RANKED), start=1):
            total[position] += 1 / (settings.rrf_k + rank)  # type: ignore[assignment]  # Counter adds floats as well
    for position, score in total.most_common():
        yield Candidate("record", position, float(score), _routes_of(scores, position))


def _ordered_dedup(matches: Matches, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Yield the best k records of each route, route after route, without repeated content (DimMem's code)."""
    seen: set[str] = set()
    for part in scores.records.values():
        for position in _top_active(matches, part, settings.top_k):
            content = " ".join(matches.index.records.items[position].content.casefold().split())
            if content not in seen:
                seen.add(content)
                yield Candidate("record", position, float(part[position]), _routes_of(scores, position))


def _concatenate(matches: Matches, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Yield the best k records of each route, then the best syntheses (StructMem section 3.4)."""
    seen: set[int] = set()
    for part in scores.records.values():
        for position in _top_active(matches, part, settings.top_k):
            if position not in seen:
                seen.add(position)
                yield Candidate("record", position, float(part[position]), _routes_of(scores, position))
    for position in top_matching(matches, matches.index.syntheses, scores.syntheses, settings.synthesis_k):
        score = float(scores.syntheses[position])
        yield Candidate("synthesis", position, score, {"synthesis": score})


def _by_event(matches: Matches, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Yield the best K events (ES-Mem section 3.3)."""
    route = "turn" if settings.fusion == "event_text" else "boundary"
    for position in top_matching(matches, matches.index.events, scores.events, settings.top_k):
        score = float(scores.events[position])
        yield Candidate("event", position, score, {route: score})


def top_matching(
    matches: Matches, kind: KindIndex[Event] | KindIndex[Synthesis], scores: Scores, limit: int
) -> Iterator[int]:
    """Yield the positions of the events or syntheses that match and score highest above 0, best first."""
    ranked = top_positions(scores, len(scores) if matches.conditions else limit)
    found = (position for position in ranked if scores[position] > 0 and matches.has(kind.items[position]))
    return islice(found, limit)


def _top_active(matches: Matches, part: Scores, limit: int) -> list[int]:
    if not len(part):
        return []
    active = np.flatnonzero(matches.index.records.active & matches.records & np.isfinite(part))
    best: list[int] = active[top_positions(part[active], limit)].tolist()
    return best


def _as_line(candidate: Candidate) -> Candidate:
    return candidate._replace(as_line=True)


def _routes_of(scores: RouteScores, position: int) -> dict[str, float]:
    return {name: float(part[position]) for name, part in scores.records.items()}


def _scores_at(scores: Scores, positions: Positions) -> Scores:
    """Return the scores at some positions; 0 at -1."""
    return np.append(scores, np.float32(0))[positions] if len(scores) else unscored(len(positions))
