"""Follow the links between records: what they were made of, and what took their place."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from langgraph_engram.schema import Record


def reached(starts: Iterable[str], links_of: Callable[[str], Iterable[str]]) -> list[str]:
    """Return ids with all that links lead to from them, directly or not, the nearest first; a circle ends."""
    found = list(dict.fromkeys(starts))
    known = set(found)
    for record_id in found:
        fresh = [linked for linked in dict.fromkeys(links_of(record_id)) if linked not in known]
        known.update(fresh)
        found += fresh
    return found


def merged_from(records: Iterable[Record]) -> Mapping[str, list[str]]:
    """Return the ids of the records that each record, by its id, was merged into."""
    merged: defaultdict[str, list[str]] = defaultdict(list)
    for record in records:
        for part in record.derived_from:
            merged[part].append(record.record_id)
    return merged
