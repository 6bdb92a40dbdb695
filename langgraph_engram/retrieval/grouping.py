"""Group ranked records of one turn, or of one exchange on one day, into passages, and spread them over sessions."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Literal, NamedTuple

from langgraph_engram.retrieval.features import MAX_CITED_TURNS, RecordLinks
from langgraph_engram.retrieval.scoring import Positions, Scores
from langgraph_engram.stores.index import ScopeIndex

REPEAT_FACTOR = 0.06
"""Share of its score that each further record of one turn loses: distinct evidence first."""
PASSAGE_REPEAT_FACTOR = 0.3
"""The same for each further passage of one message: they are long, and rarely more than one is asked for."""
JOIN_FACTOR = 0.85
"""Share of a passage's score from which a further record of its turns joins it."""
EXCHANGE_FACTOR = 0.65
"""Share of a passage's score from which a record of another turn of the exchange joins it."""
SESSION_FACTOR = 0.1
"""Share of its score that each further passage of a session loses, where the query asks for what adds up."""
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
    """Of the best one."""
    turns: set[int]
    """Those that the records come from."""
    cited: frozenset[int]
    """All that the records cite."""


def group_records(
    index: ScopeIndex, ranked: Positions, scores: Scores, links: RecordLinks, reach: int
) -> Iterator[RecordGroup]:
    """Yield groups of ranked records, best first: what scores nearly as high as the best of a group joins it.

    Each further record of one turn scores less, since the turn is shown already. A superseded record is a group of its
    own, because it is shown with its successor, and so is a passage, and what cites too many turns. A group is yielded
    once no further record can join it, since few are read.

    Args:
        index: The memories of a scope.
        ranked: Positions of records, best first.
        scores: Their scores, in the same order.
        links: Of the index.
        reach: Turns between a record and the nearest one of its group at most; 0 for groups of one turn.
    """
    repeated: Counter[int] = Counter()
    groups: list[RecordGroup] = []
    groups_at: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    """The numbers of the groups that hold a record of a session, a day and a place in the session."""
    waiting: list[tuple[float, int]] = []
    """The scores, negated, and numbers of the groups that are not yielded yet, as a heap."""
    turns, passages, days = links.turn[ranked], index.records.is_passage[ranked], index.records.mentioned_day[ranked]
    sessions, seqs = (column[turns] if len(column) else turns for column in (index.turns.session, index.turns.seq))
    columns = (ranked, scores, turns, passages, links.sources[ranked], links.successor[ranked], sessions, days, seqs)
    for position, score, turn, is_passage, sources, successor, session, day, seq in zip(
        *(column.tolist() for column in columns), strict=True
    ):
        while waiting and score < EXCHANGE_FACTOR * -waiting[0][0]:
            yield groups[heappop(waiting)[1]]
        cited = frozenset(sources) - MISSING
        lowered = score * (1 - (PASSAGE_REPEAT_FACTOR if is_passage else REPEAT_FACTOR)) ** repeated[turn]
        repeated[turn] += 1
        if successor >= 0 or turn < 0 or is_passage or not cited:
            heappush(waiting, (-lowered, len(groups)))
            groups.append(RecordGroup([position], lowered, set(), cited))
            continue
        near = {number for place in range(seq - reach, seq + reach + 1) for number in groups_at[session, day, place]}
        joined = next((number for number in sorted(near) if _joins(groups[number], turn, lowered, cited)), None)
        number = len(groups) if joined is None else joined
        if joined is None:
            heappush(waiting, (-lowered, number))
            groups.append(RecordGroup([position], lowered, set(), cited))
        else:
            groups[number].positions.append(position)
            groups[number].cited |= cited
        if turn not in groups[number].turns:
            groups[number].turns.add(turn)
            groups_at[session, day, seq].append(number)
    while waiting:
        yield groups[heappop(waiting)[1]]


def diversify_sessions(index: ScopeIndex, candidates: Iterable[Candidate]) -> list[Candidate]:
    """Rank records and turns again, best first, each lowered by every better one of its session."""
    better: Counter[str] = Counter()
    lowered: list[Candidate] = []
    for candidate in candidates:
        items = index.records.items if candidate.kind == "record" else index.turns.items
        session = items[candidate.position].session_id
        lowered.append(candidate._replace(score=candidate.score * (1 - SESSION_FACTOR) ** better[session]))
        better[session] += 1
    return sorted(lowered, key=lambda candidate: -candidate.score)


def _joins(group: RecordGroup, turn: int, score: float, cited: frozenset[int]) -> bool:
    """Return whether a record of a turn near to a group scores nearly as high as its best, and cites few turns more."""
    factor = JOIN_FACTOR if turn in group.turns else EXCHANGE_FACTOR
    return score >= factor * group.score and len(group.cited | cited) <= MAX_CITED_TURNS
