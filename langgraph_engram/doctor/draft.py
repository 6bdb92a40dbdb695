"""Draft what mends a scope: changes and removals of what was derived, and steps to be done again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from langgraph_engram.pending import pending_tasks_by_session, stored_turns
from langgraph_engram.schema import Frozen, PendingTask, Record
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.index import (
    BOUNDARIES,
    DECISIONS,
    EVENTS,
    RECORDS,
    SYNTHESES,
    Kind,
    ScopeIndex,
)

REPAIRED: tuple[Kind[Any], ...] = (RECORDS, EVENTS, BOUNDARIES, SYNTHESES, DECISIONS)
"""The kinds that a repair may change or remove."""
REASON = "engram doctor found its results damaged"


class Draft:
    """A scope as it will be after repairs."""

    def __init__(self, index: ScopeIndex, decisions: Sequence[Frozen]) -> None:
        """Start with everything as it is."""
        self._index = index
        self._items: dict[str, dict[str, Any]] = {}
        for kind in REPAIRED:
            items = decisions if kind is DECISIONS else index.of_kind(kind).items
            self._items[kind.name] = {kind.id_of(item): item for item in items}
        self._before = {name: dict(items) for name, items in self._items.items()}
        self._steps: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._completed: list[str] = []

    def record(self, record_id: str) -> Record | None:
        """Return a record as it will be, or None if it goes."""
        return self._items[RECORDS.name].get(record_id)

    def put(self, kind: Kind[Any], item: Frozen) -> None:
        """Change an item."""
        self._items[kind.name][kind.id_of(item)] = item

    def update(self, record_id: str, **update: object) -> None:
        """Change fields of a record, unless it goes."""
        if record := self.record(record_id):
            self.put(RECORDS, record.model_copy(update=update))

    def remove(self, kind: Kind[Any], item_id: str) -> None:
        """Remove an item."""
        self._items[kind.name].pop(item_id, None)

    def extract_anew(self, record: Record) -> None:
        """Remove a record and extract from its turns again, unless it was merged: its parts are active again."""
        self.remove(RECORDS, record.record_id)
        if not record.derived_from:
            self.enqueue("extract", record.source_turn_ids)

    def enqueue(self, step: str, turn_ids: Iterable[str], reason: str = REASON) -> None:
        """Note a step to be done again for turns, as far as they are stored."""
        self._steps[step, reason].update(turn_id for turn_id in turn_ids if turn_id in self._index.turns)

    def replace_task(self, task: PendingTask, step: str, turn_ids: Iterable[str], reason: str) -> None:
        """Note a step to be done again in place of a pending task."""
        self._completed.append(task.pending_id)
        self.enqueue(step, turn_ids, reason)

    def changes(self) -> Changes:
        """Return what differs from how it was."""
        changed: dict[str, Any] = {
            name: [item for key, item in items.items() if self._before[name].get(key) is not item]
            for name, items in self._items.items()
        }
        removed = {name: [key for key in self._before[name] if key not in items] for name, items in self._items.items()}
        return Changes(
            **changed,
            pending_tasks=list(self._tasks()),
            completed=self._completed,
            removed={name: ids for name, ids in removed.items() if ids},
        )

    def _tasks(self) -> Iterator[PendingTask]:
        run_id = str(uuid4())
        for (step, reason), turn_ids in self._steps.items():
            turns = stored_turns(self._index, list(turn_ids))
            yield from pending_tasks_by_session(run_id, turns, step, reason)
