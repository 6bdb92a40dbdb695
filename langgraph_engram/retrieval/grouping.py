"""Group ranked records into passages, and spread candidates over sessions.

A passage holds sentences of one turn, or of one exchange of up to three turns on one day. It names its day and its
speakers once, so that what was said together takes fewer tokens than what was not.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from langgraph_engram.retrieval.features import MAX_CITED_TURNS, RecordLinks
from langgraph_engram.retrieval.scoring import Scores
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex


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
    cited: frozenset[str] = frozenset()
    """The ids of all turns that the records cite, once there is more than one record."""


def group_records(
    index: ScopeIndex, ranked: Sequence[int], scores: Scores, links: RecordLinks, settings: RetrieveSettings, reach: int
) -> list[RecordGroup]:
    """Group ranked records: what scores nearly as high as the best of a group joins it.

    Each further record of one turn scores less, since the turn is shown already. A superseded record is a group of its
    own, because it is shown with its successor, and so is a passage.

    Args:
        index: The memories of a scope.
        ranked: Positions of records, best first.
        scores: The score of every record.
        links: The turn of every record.
        settings: The shares from which records join, and how much a repeated turn loses.
        reach: Turns between a record and the nearest one of its group at most; 0 for groups of one turn.
    """
    at = np.array(ranked, dtype=np.intp)
    turns = links.turn[at]
    alone = (links.successor[at] >= 0) | (turns < 0) | index.records.is_passage[at]
    kept = 1 - np.where(index.records.is_passage[at], settings.passage_repeat_factor, settings.repeat_factor)
    places = (index.turns.session[turns], index.records.mentioned_day[at]) if len(index.turns) else (turns, turns)
    columns = (turns, scores[at], kept, alone, *places, index.turns.seq[turns] if len(index.turns) else turns)
    repeated: Counter[int] = Counter()
    numbers_at: dict[tuple[int, int, int], list[int]] = {}
    """The numbers of the groups that hold a record of a turn, by its session, day and place."""
    groups: list[RecordGroup] = []
    for position, turn, score, share, is_alone, session, day, seq in zip(
        ranked, *(column.tolist() for column in columns), strict=True
    ):
        lowered = score * share ** repeated[turn]
        repeated[turn] += 1
        if is_alone:
            groups.append(RecordGroup([position], lowered, set()))
            continue
        near: list[int] = []
        for place in range(seq - reach, seq + reach + 1):
            near += numbers_at.get((session, day, place), ())
        for number in sorted(set(near)) if len(near) > 1 else near:
            group = groups[number]
            if not _joins(group, turn, lowered, settings):
                continue
            cited = _cited_together(index, group, position)
            if len(cited) <= MAX_CITED_TURNS:
                group.positions.append(position)
                group.cited = cited
                break
        else:
            number, group = len(groups), RecordGroup([position], lowered, set())
            groups.append(group)
        if turn not in group.turns:
            group.turns.add(turn)
            numbers_at.setdefault((session, day, seq), []).append(number)
    return groups


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


def _joins(group: RecordGroup, turn: int, score: float, settings: RetrieveSettings) -> bool:
    """Return whether a record of a turn near to a group scores nearly as high as its best."""
    factor = settings.join_factor if turn in group.turns else settings.exchange_factor
    return score >= factor * group.score


def _cited_together(index: ScopeIndex, group: RecordGroup, position: int) -> frozenset[str]:
    """Return the ids of the turns that a group cites with one more record; a passage of too many stands for none."""
    items = index.records.items
    cited = group.cited or items[group.positions[0]].source_turn_ids
    return frozenset([*cited, *items[position].source_turn_ids])


def _session(index: ScopeIndex, candidate: Candidate) -> str:
    match candidate.kind:
        case "record":
            return index.records.items[candidate.position].session_id
        case "turn":
            return index.turns.items[candidate.position].session_id
        case "event":
            return index.events.items[candidate.position].session_id
    return ""
