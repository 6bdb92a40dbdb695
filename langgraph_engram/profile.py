"""List what lasts of what the user said, as quotes under a heading for each kind (docs/decisions/0011).

They are data, and never an order: each stands on a line of its own, between quotation marks that nothing in it ends,
with its day and the first characters of its record's id.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain
from math import inf

from langgraph_engram.prompts.rendering import ID_SIZE, clipped, dated, quoted
from langgraph_engram.results import CHARACTERS_PER_TOKEN, Profile
from langgraph_engram.schema import Lasting, Record
from langgraph_engram.stores.index import RECORDS, ScopeIndex
from langgraph_engram.temporal.datetimes import epoch_seconds
from langgraph_engram.text.statements import own_words

PROFILE_TOKENS = 300
"""Tokens of a profile's text, at most, where no other budget is given."""
HEADINGS: dict[Lasting, str] = {
    "instruction": "Instructions", "constraint": "Constraints", "preference": "Preferences",
    "commitment": "Commitments", "decision": "Decisions", "environment": "Environment",
    "relationship": "Relationships", "goal": "Goals", "failed_attempt": "Tried in vain",
    "lesson": "Lessons", "state": "State",
}  # fmt: skip
"""The kinds in the order of a profile."""
QUOTED = (240, 120, 60)
"""Characters of a statement that are quoted at most: the longest that leave room for one of each kind."""


def profile_of(index: ScopeIndex, budget: int, now: datetime | None = None) -> Profile:
    """Return what lasts of what the user said, quoted as far as tokens allow.

    Each kind has its first statement before any has a second, and so on, until one of it does not fit. What was
    promised for a time before `now` (None for the present) is marked as past.
    """
    groups = _lasting(index)
    longest = max(map(len, groups.values()), default=0)
    in_turn = [(kind, group[rank]) for rank in range(longest) for kind, group in groups.items() if rank < len(group)]
    shown: dict[Lasting, list[str]] = {}
    for characters in QUOTED:
        shown = _fitting(in_turn, characters, budget * CHARACTERS_PER_TOKEN, now or datetime.now(UTC))
        if len(shown) == len(groups):
            break
    records = list(chain.from_iterable(groups.values()))
    return Profile(text="\n".join(chain.from_iterable(shown.values())), records=records)


def _lasting(index: ScopeIndex) -> dict[Lasting, list[Record]]:
    """Return the active records that last by kind, in the order of a profile, the most significant and newest first."""
    records = [index.records.items[position] for position in index.records.lasting_positions()]
    records.sort(key=lambda record: (epoch_seconds(record.mentioned_at, -inf), record.seq, record.part), reverse=True)
    records.sort(key=lambda record: -round(record.significance))
    slots = {record.slot: record for record in sorted(records, key=RECORDS.sort_key) if record.slot}
    records = [record for record in records if slots.get(record.slot, record) is record]
    groups = {kind: [record for record in records if record.lasting == kind] for kind in HEADINGS}
    return {kind: group for kind, group in groups.items() if group}


def _fitting(
    records: Iterable[tuple[Lasting, Record]], characters: int, room: int, now: datetime
) -> dict[Lasting, list[str]]:
    """Return the lines of each kind, its heading before them, that fit into so many characters."""
    shown: dict[Lasting, list[str]] = {}
    full: set[Lasting] = set()
    for kind, record in records:
        if kind in full:
            continue
        heading = [] if kind in shown else [f"{HEADINGS[kind]}:"]
        lines = [*heading, _line(record, characters, now)]
        size = sum(len(line) + len("\n") for line in lines)
        if size > room:
            full.add(kind)
        else:
            shown.setdefault(kind, []).extend(lines)
            room -= size
    return shown


def _line(record: Record, characters: int, now: datetime) -> str:
    """Quote the words of a statement after its day, its id, and whether its time is over."""
    shown = clipped(" ".join(own_words(record.content, record.speaker).split()), characters)
    is_past = record.lasting == "commitment" and epoch_seconds(record.event_end, inf) < now.timestamp()
    mark = "(past) " if is_past else ""
    return f"- {dated(f'(id {record.record_id[:ID_SIZE]}) {mark}{quoted(shown)}', record.mentioned_at)}"
