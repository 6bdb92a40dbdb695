"""Gather ranked records into pieces: sentences of one turn, or of one exchange that cites up to three turns of a day.

A piece names its day and its speakers once, so that what was said together is shown in fewer tokens than what was not.
This module does not know how records are scored.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from langgraph_engram.moments import on_clock
from langgraph_engram.nodes.retrieving.record_links import MOST_CITED, RecordLinks
from langgraph_engram.nodes.retrieving.scoring import Scores
from langgraph_engram.settings import RetrieveSettings
from langgraph_engram.stores.scope_index import ScopeIndex


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


def gathered(
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
        cited, told = set(record.source_turn_ids), on_clock(record.mentioned_at)
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
