"""Gather pairs into clusters: what is linked by any chain of pairs is one cluster, whatever their order."""

from collections.abc import Sequence

from langgraph_engram.state import Pair


def clusters(pairs: Sequence[Pair]) -> list[list[str]]:
    """Give the connected sets of records (union-find).

    Returns:
        Lists of record ids, each sorted, in the order of their first id: the same for every order of pairs.
    """
    parent: dict[str, str] = {}

    def root(one: str) -> str:
        parent.setdefault(one, one)
        while parent[one] != one:
            parent[one] = parent[parent[one]]
            one = parent[one]
        return one

    for pair in pairs:
        first, second = sorted((root(pair.older_id), root(pair.newer_id)))
        parent[second] = first
    members: dict[str, list[str]] = {}
    for one in sorted(parent):
        members.setdefault(root(one), []).append(one)
    return [members[first] for first in sorted(members)]
