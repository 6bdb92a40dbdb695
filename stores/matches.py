"""Say which items of a scope fulfil conditions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.filters import Condition
from langgraph_engram.schema import Boundary, Event, Synthesis
from langgraph_engram.stores.index import ScopeIndex


@dataclass(frozen=True, eq=False)
class Matches:
    """What of a scope fulfils conditions.

    Of an event its kind and status are asked, and of the rest that one of its turns fulfils it; of a synthesis, that
    all records and events that it covers do. A boundary is asked of the event that it leads to.
    """

    index: ScopeIndex
    conditions: Sequence[Condition]

    @cached_property
    def records(self) -> NDArray[np.bool_]:
        """Return which records fulfil them, of shape (n,)."""
        return self.index.records.matching(self.conditions)

    @cached_property
    def turns(self) -> NDArray[np.bool_]:
        """Return which turns fulfil them, of shape (n,)."""
        return self.index.turns.matching(self.conditions)

    def has(self, item: Event | Boundary | Synthesis) -> bool:
        """Return whether an item fulfils them."""
        if not self.conditions:
            return True
        if not all(condition.accepts(condition.text_of(item)) for condition in self.conditions if _is_own(condition)):
            return False
        if isinstance(item, Synthesis):
            covered = [self.index.records.find_position(record_id) for record_id in item.covered_record_ids]
            is_covered = all(position >= 0 and bool(self._members[1][position]) for position in covered)
            return is_covered and all(all(self._turns_of(event_id)) for event_id in item.seed_event_ids)
        return any(self._turns_of(item.to_event_id if isinstance(item, Boundary) else item.event_id))

    def _turns_of(self, event_id: str) -> Iterator[bool]:
        """Yield whether each turn of an event fulfils what is asked of members; a missing turn does not."""
        event, turns = self.index.events.get(event_id), self.index.turns
        for turn_id in event.turn_ids if event else ():
            position = turns.find_position(turn_id)
            yield position >= 0 and bool(self._members[0][position])

    @cached_property
    def _members(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Return which turns and records fulfil what is asked of members."""
        asked = [condition for condition in self.conditions if not _is_own(condition)]
        return self.index.turns.matching(asked), self.index.records.matching(asked)


def _is_own(condition: Condition) -> bool:
    """Return whether an event, a boundary or a synthesis is asked itself, and not its members."""
    return condition.key in ("kind", "status")
