"""Fuse the routes into one ranking: our weighted one, and the fusions of the papers."""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from langgraph_engram.retrieval.features import Flags, RecordLinks, length_of, preferences, record_links
from langgraph_engram.retrieval.grouping import Candidate, group_records
from langgraph_engram.retrieval.routes import RouteScores
from langgraph_engram.retrieval.scoring import Scores, ranks
from langgraph_engram.schema import Intent
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.text.questions import asks_for_earlier_state
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import content_stems

MOST_RANKED = 400
"""Candidates that the weighted fusion looks at closely."""
LEAST_SCORE = 1e-6
"""Score of the last of them: it was found."""
LAST_SCORE = LEAST_SCORE / 2
"""Score of what only asks what the query asks."""


def fuse(
    index: ScopeIndex, intent: Intent, scores: RouteScores, settings: RetrieveSettings, reach: int = 0
) -> Iterator[Candidate]:
    """Give what was found, best first, by the fusion that the settings name.

    Args:
        index: What is searched.
        intent: What is asked for.
        scores: What the routes gave.
        settings: The fusion and its weights.
        reach: Under the weighted one, how many turns apart sentences may stand that are shown as one piece.
    """
    match settings.fusion:
        case "weighted":
            return weighted(index, intent, scores, settings, reach)
        case "reciprocal_rank":
            return reciprocal_rank(index, scores, settings)
        case "ordered_dedup":
            return ordered_dedup(index, scores, settings)
        case "event_score":
            return by_event(index, scores, settings)
    return concatenate(index, scores, settings)


def weighted(
    index: ScopeIndex, intent: Intent, scores: RouteScores, settings: RetrieveSettings, reach: int
) -> Iterator[Candidate]:
    """Add up the routes on one scale and what is preferred beside them; distinct turns come first."""
    links = record_links(index)
    parts = record_parts(index, links, scores)
    weights = route_weights(settings)
    about = np.asarray(sum((weights[name] * part for name, part in parts.items()), start=np.zeros(len(index.records))))
    parts["preference"] = preferences(index.records, links, intent, settings)
    told = index.records.active | mentioned_besides(about, intent, links, settings)
    records = np.where(told & (about > 0), about + parts["preference"], -np.inf)
    turns = uncited_turns(index, intent, scores, links, settings)
    records, turns = on_one_scale(records, turns)
    records, turns = without_echoes(index, intent, links, records, turns)
    groups = group_records(index, _finite(records), records, links, settings, reach)
    found = [(group.score, group.places, True) for group in groups]
    found += [(float(turns[one]), [one], False) for one in _finite(turns)]
    for score, (place, *joined), is_record in sorted(found, key=lambda one: -one[0]):
        if is_record:
            routes = {name: float(part[place]) for name, part in parts.items()}
            yield Candidate("record", place, score, routes, tuple(joined))
        else:
            yield Candidate("turn", place, score, {"turn": float(scores.turns[place])})


def without_echoes(
    index: ScopeIndex, intent: Intent, links: RecordLinks, records: Scores, turns: Scores
) -> tuple[Scores, Scores]:
    """Put last what only asks what the query asks: the same question asked before answers nothing."""
    known = frozenset(content_stems(" ".join([intent.query, *index.speakers])))
    asking = [place for place in _finite(records) if links.asks[place]]
    repeating = [place for place in asking if known.issuperset(content_stems(index.records.items[place].content))]
    records[repeating] = LAST_SCORE
    spoken = [place for place in _finite(turns) if ends_asking(index.turns.items[place].text)]
    turns[[place for place in spoken if known.issuperset(content_stems(index.turns.items[place].text))]] = LAST_SCORE
    return records, turns


def mentioned_besides(about: Scores, intent: Intent, links: RecordLinks, settings: RetrieveSettings) -> Flags:
    """Say which superseded records are found: what they say besides what has changed may still hold.

    A query for the past finds them all; any other those that are found better than what took their place.
    """
    replaced = links.successor >= 0
    if asks_for_earlier_state(intent.query) or not len(about):
        return replaced
    return np.asarray(replaced & (about > about[links.successor] + settings.superseded_margin))


def uncited_turns(
    index: ScopeIndex, intent: Intent, scores: RouteScores, links: RecordLinks, settings: RetrieveSettings
) -> Scores:
    """Score the turns that no record stands for, on the records' scale; -inf for the others."""
    total = np.full(len(index.turns), -np.inf)
    places = np.array(links.uncited, dtype=np.intp)
    if not len(places) or not len(scores.turns):
        return total
    weight = settings.lexical_weight + settings.dense_weight + settings.first_person_dense_weight + settings.turn_weight
    turns = [index.turns.items[place] for place in places]
    preferred = [
        settings.speaker_weight * (turn.speaker in intent.speakers)
        + settings.length_weight * length_of(turn.text)
        - settings.question_weight * ends_asking(turn.text)
        - settings.assistant_penalty * (turn.role == "assistant" and not intent.needs_assistant)
        for turn in turns
    ]
    found = scores.turns[places]
    total[places] = np.where(found > 0, weight * found + np.array(preferred), -np.inf)
    return total


def on_one_scale(*totals: Scores) -> list[Scores]:
    """Stretch totals together to [0, 1], from the last that is looked at closely to the best; -inf stays."""
    known = np.concatenate([total[np.isfinite(total)] for total in totals])
    if not len(known):
        return list(totals)
    best = np.sort(known)[::-1][:MOST_RANKED]
    low, span = best[-1], (best[0] - best[-1]) or 1.0
    return [np.where(total >= low, np.maximum((total - low) / span, LEAST_SCORE), -np.inf) for total in totals]


def record_parts(index: ScopeIndex, links: RecordLinks, scores: RouteScores) -> dict[str, Scores]:
    """Give each route's scores of the records, those lent by turns, events and syntheses included."""
    parts = dict(scores.records)
    parts["turn"] = _lend(scores.turns, links.turn)
    parts["boundary"] = _lend(scores.events, links.event)
    told = np.zeros(len(index.records))
    for synthesis, places in enumerate(links.covered_by):
        told[list(places)] = np.maximum(told[list(places)], scores.syntheses[synthesis])
    parts["synthesis"] = told
    return parts


def route_weights(settings: RetrieveSettings) -> dict[str, float]:
    """Give the weight of each route in the weighted fusion."""
    return {
        "lexical": settings.lexical_weight,
        "dense": settings.dense_weight,
        "own_dense": settings.first_person_dense_weight,
        "turn": settings.turn_weight,
        "dimension": settings.dimension_weight,
        "boundary": settings.event_weight,
        "synthesis": settings.synthesis_weight,
    }


def reciprocal_rank(index: ScopeIndex, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Add up 1 / (k + rank) over the routes of records (Cormack et al. 2009)."""
    total: Counter[int] = Counter()
    for part in scores.records.values():
        for rank, place in enumerate(_top(index, part, MOST_RANKED), start=1):
            total[place] += 1 / (settings.rrf_k + rank)  # type: ignore[assignment]  # Counter adds floats as well
    for place, score in total.most_common():
        yield Candidate("record", place, float(score), _given(scores, place))


def ordered_dedup(index: ScopeIndex, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Give each route's best k records, route after route, without repeats of content (DimMem's code)."""
    seen: set[str] = set()
    for part in scores.records.values():
        for place in _top(index, part, settings.top_k):
            content = " ".join(index.records.items[place].content.casefold().split())
            if content not in seen:
                seen.add(content)
                yield Candidate("record", place, float(part[place]), _given(scores, place))


def concatenate(index: ScopeIndex, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Give each route's best k records, then the best syntheses (StructMem section 3.4)."""
    seen: set[int] = set()
    for part in scores.records.values():
        for place in _top(index, part, settings.top_k):
            if place not in seen:
                seen.add(place)
                yield Candidate("record", place, float(part[place]), _given(scores, place))
    for place in ranks(scores.syntheses, settings.synthesis_k):
        if scores.syntheses[place] > 0:
            score = float(scores.syntheses[place])
            yield Candidate("synthesis", place, score, {"synthesis": score})


def by_event(index: ScopeIndex, scores: RouteScores, settings: RetrieveSettings) -> Iterator[Candidate]:
    """Give the turns of the best K events, event after event (ES-Mem section 3.3)."""
    for place in ranks(scores.events, settings.top_k):
        score = float(scores.events[place])
        for turn_id in index.events.items[place].turn_ids if score > 0 else ():
            if turn_id in index.turns:
                yield Candidate("turn", index.turns.position(turn_id), score, {"boundary": score})


def _top(index: ScopeIndex, part: Scores, most: int) -> list[int]:
    active = np.where(index.records.active, part, -np.inf) if len(part) else part
    return [place for place in ranks(active, most) if np.isfinite(active[place])]


def _given(scores: RouteScores, place: int) -> dict[str, float]:
    return {name: float(part[place]) for name, part in scores.records.items()}


def _lend(scores: Scores, places: np.ndarray) -> Scores:
    return np.where(places >= 0, scores[places], 0.0) if len(scores) else np.zeros(len(places))


def _finite(totals: Scores) -> list[int]:
    """Give the places of what was found, best first."""
    return [place for place in ranks(totals, MOST_RANKED) if np.isfinite(totals[place])]
