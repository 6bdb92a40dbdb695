"""Show what a count, a sum or an order is made of: pieces of several sessions before more of one.

Who is asked how many weddings they went to told of each in a session of its own, and the session that says most of
weddings would crowd out the others (docs/decisions/0027). This module does not know how pieces are scored.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from langgraph_engram.nodes.retrieving.fusion import Candidate
from langgraph_engram.stores.scope_index import ScopeIndex


def spread(index: ScopeIndex, candidates: Iterable[Candidate], factor: float) -> list[Candidate]:
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
