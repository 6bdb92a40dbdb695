"""Group ranked records into passages, and spread candidates over sessions.

A passage holds sentences of one turn, or of one exchange of up to three turns on one day. It names its day and its
speakers once, so that what was said together takes fewer tokens than what was not.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

import numpy as np

from langgraph_engram.retrieval.features import MAX_CITED_TURNS, RecordLinks
from langgraph_engram.retrieval.scoring import Positions, Scores
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex

MISSING = frozenset([-1])
"""The position of a turn that is not there."""


class Candidate(NamedTuple):
    """Something found: its kind, its position in the index of that kind, its score and each route's share of it."""

    kind: Literal["record", "turn", "event", "synthesis"]
    position: int
    score: float
    routes: dict[str, float] = {}
    joined: tuple[int, ...] = ()
    """For a record: the positions of further records of its turn or exchange that are shown in the same passage."""
    replies: tuple[int, ...] = ()
    """The positions of an assistant's turns that are shown behind it."""
    as_line: bool = False
    """Whether it is shown as one line of an outline, and not whole."""
    relevance: float = 0.0
    """The probability that it holds what is asked for."""


@dataclass(slots=True)
class RecordGroup:
    """Records that are shown as one passage."""

    positions: list[int]
    """Best first."""
    score: float
    """The score of the best one."""
    turns: set[int]
    """The positions of the turns that the records come from."""
    cited: frozenset[int]
    """The positions of all turns that the records cite."""


def group_records(
    index: ScopeIndex, ranked: Positions, scores: Scores, links: RecordLinks, settings: RetrieveSettings, reach: int
) -> Iterator[RecordGroup]:
    """Yield groups of ranked records, best first: what scores nearly as high as the best of a group joins it.

    Each further record of one turn scores less, since the turn is shown already. A superseded record is a group of its
    own, because it is shown with its successor, and so is a passage, and what cites too many turns. A group is yielded
    once no further record can join it.

    Args:
        index: The memories of a scope.
        ranked: Positions of records, best first.
        scores: Their scores.
        links: The turn of every record.
        settings: The shares from which records join, and how much a repeated turn loses.
        reach: Turns between a record and the nearest one of its group at most; 0 for groups of one turn.
    """
    turns, is_passage = links.turn[ranked], index.records.is_passage[ranked]
    alone = (links.successor[ranked] >= 0) | (turns < 0) | is_passage | (links.sources[ranked] < 0).all(axis=1)
    kept = 1 - np.where(is_passage, settings.passage_repeat_factor, settings.repeat_factor)
    columns = (ranked, turns, scores, kept, alone, _places(index, ranked, turns, reach), links.sources[ranked])
    least = min(settings.join_factor, settings.exchange_factor)
    repeated: defaultdict[int, int] = defaultdict(int)
    groups: list[RecordGroup] = []
    groups_at: defaultdict[int, list[int]] = defaultdict(list)
    """The numbers of the groups that hold a record of a place."""
    open_groups: list[tuple[float, int]] = []
    """The scores, negated, and numbers of the groups that further records may join, as a heap."""
    for position, turn, score, share, is_alone, place, sources in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        while open_groups and score < least * -open_groups[0][0]:
            yield groups[heappop(open_groups)[1]]
        lowered = score * share ** repeated[turn]
        repeated[turn] += 1
        places = () if is_alone else range(place - reach, place + reach + 1)
        for number in sorted({number for near in places if near in groups_at for number in groups_at[near]}):
            group = groups[number]
            if not _joins(group, turn, lowered, settings):
                continue
            cited = group.cited.union(sources) - MISSING
            if len(cited) <= MAX_CITED_TURNS:
                group.positions.append(position)
                group.cited = cited
                break
        else:
            number, group = len(groups), RecordGroup([position], lowered, set(), frozenset(sources) - MISSING)
            groups.append(group)
            heappush(open_groups, (-lowered, number))
        if not is_alone and turn not in group.turns:
            group.turns.add(turn)
            groups_at[place].append(number)
    while open_groups:
        yield groups[heappop(open_groups)[1]]


def diversify_sessions(index: ScopeIndex, candidates: Iterable[Candidate], factor: float) -> list[Candidate]:
    """Rank candidates again, each lowered by every better one of its session.

    Args:
        index: The memories of the scope that they were found in.
        candidates: Records, turns, events and syntheses, best first.
        factor: Share of its score that a candidate loses for each better one of its session, in [0, 1].

    Returns:
        The same candidates with lowered scores, best first; a synthesis loses nothing.
    """
    better: Counter[str] = Counter()
    lowered: list[Candidate] = []
    for candidate in candidates:
        session = _session(index, candidate)
        score = candidate.score * (1 - factor) ** better[session]
        lowered.append(candidate._replace(score=score) if session else candidate)
        better[session] += 1
    return sorted(lowered, key=lambda candidate: -candidate.score)


def _places(index: ScopeIndex, records: Positions, turns: Positions, reach: int) -> Positions:
    """Return where records were said: a number that is near to that of others of the session and day, and to no other.

    Args:
        index: The memories of a scope.
        records: Positions of records.
        turns: The positions of their turns.
        reach: How far numbers may be apart and still be near.
    """
    if not len(records) or not len(index.turns):
        return turns
    days, places = index.records.mentioned_day[records], index.turns.seq[turns]
    first = days.min()
    together = index.turns.session[turns] * (days.max() - first + 1) + days - first
    return np.asarray(together * (places.max() + 2 * reach + 1) + places)


def _joins(group: RecordGroup, turn: int, score: float, settings: RetrieveSettings) -> bool:
    """Return whether a record of a turn near to a group scores nearly as high as its best."""
    factor = settings.join_factor if turn in group.turns else settings.exchange_factor
    return score >= factor * group.score


def _session(index: ScopeIndex, candidate: Candidate) -> str:
    match candidate.kind:
        case "record":
            return index.records.items[candidate.position].session_id
        case "turn":
            return index.turns.items[candidate.position].session_id
        case "event":
            return index.events.items[candidate.position].session_id
    return ""
