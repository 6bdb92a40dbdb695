"""Gather ranked records into pieces: sentences of one turn, or of one exchange that cites up to three turns of a day.

A piece names its day and its speakers once, so that what was said together is shown in fewer tokens than what was not.
This module does not know how records are scored.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Literal

from langgraph_engram.retrieval.features import MOST_CITED, RecordLinks
from langgraph_engram.retrieval.scoring import Scores
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.temporal.datetimes import wall_time


@dataclass(frozen=True)
class Candidate:
    """One thing found: what it is, its place on its shelf, its score and what each route gave it."""

    kind: Literal["record", "turn", "synthesis"]
    place: int
    score: float
    routes: dict[str, float] = field(default_factory=dict)
    joined: tuple[int, ...] = ()
    """For a record: the places of further records that are shown with it, of its turn or its exchange."""


@dataclass
class Group:
    """Records that are shown as one piece."""

    places: list[int]
    """The best one first."""
    score: float
    """That of the best one."""
    turns: dict[int, int]
    """The turns that the records come from, by their places: where each stands in its session."""
    cited: set[str]
    """The ids of all turns that they cite."""
    day: date | None
    """That on which all of them were told."""


def group_records(
    index: ScopeIndex, places: Sequence[int], total: Scores, links: RecordLinks, settings: RetrieveSettings, reach: int
) -> list[Group]:
    """Gather ranked records: what scores nearly as high as a piece's best joins it.

    A turn that is in the list already adds less by every further sentence, and by a piece of its own least of all. What
    is superseded stands for itself, since it is shown with what took its place.

    Args:
        index: What the places are of.
        places: Records, best first.
        total: The score of each.
        links: The turn of each.
        settings: What joins, and how much a repeated turn falls.
        reach: How many turns from one of the others a record of an exchange may stand; 0 for pieces of one turn.
    """
    repeated: Counter[int] = Counter()
    open_groups: defaultdict[str, list[Group]] = defaultdict(list)
    groups: list[Group] = []
    for place in places:
        turn = int(links.turn[place])
        score = float(total[place]) * (1 - settings.repeat_factor) ** repeated[turn]
        repeated[turn] += 1
        record = index.records.items[place]
        cited, told = set(record.source_turn_ids), wall_time(record.mentioned_at)
        day = told.date() if told else None
        if links.successor[place] >= 0 or turn < 0:
            groups.append(Group([place], score, {}, cited, day))
            continue
        said = index.turns.items[turn]
        for group in open_groups[said.session_id]:
            if day == group.day and _joins(group, turn, said.seq, score, cited, settings, reach):
                group.places.append(place)
                group.turns[turn] = said.seq
                group.cited |= cited
                break
        else:
            groups.append(Group([place], score, {turn: said.seq}, cited, day))
            open_groups[said.session_id].append(groups[-1])
    return groups


def _joins(
    group: Group, turn: int, seq: int, score: float, cited: set[str], settings: RetrieveSettings, reach: int
) -> bool:
    """Say whether a record joins a piece of its session; one that cites too many turns would stand for none of them."""
    if len(group.cited | cited) > MOST_CITED:
        return False
    if turn in group.turns:
        return score >= settings.join_factor * group.score
    near = any(abs(seq - other) <= reach for other in group.turns.values())
    return near and score >= settings.exchange_factor * group.score


def diversify_sessions(index: ScopeIndex, candidates: Iterable[Candidate], factor: float) -> list[Candidate]:
    """Order candidates anew, each the lower the more of its session stand before it.

    Args:
        index: The scope that they were found in.
        candidates: Records, turns and syntheses, best first.
        factor: Share of its score that a candidate loses for each of its session before it, in [0, 1].

    Returns:
        The same candidates with what is left of their scores, best first; a synthesis loses nothing.
    """
    before: Counter[str] = Counter()
    lowered: list[Candidate] = []
    for one in candidates:
        session = _session(index, one)
        lowered.append(replace(one, score=one.score * (1 - factor) ** before[session]) if session else one)
        before[session] += 1
    return sorted(lowered, key=lambda one: -one.score)


def _session(index: ScopeIndex, one: Candidate) -> str:
    match one.kind:
        case "record":
            return index.records.items[one.place].session_id
        case "turn":
            return index.turns.items[one.place].session_id
    return ""
