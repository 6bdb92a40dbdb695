"""Examine the memories of one scope: what names what is not there, what is there twice, what nothing supports.

Each check yields what it found with a repair, a change of a draft of the scope. Raw turns are never changed: what rests
on something that is gone goes too, and what can be made anew from the turns that are left is pending for `retry`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias
from uuid import uuid4

from langgraph_engram.consolidation.merging import MAX_CONFLICTS, as_active, in_conflict, without_conflicts
from langgraph_engram.extraction.evidence import recycled_reason, verify_record
from langgraph_engram.pending import FORGET, UNFINISHED, is_unreceived, pending_task, stored_turns
from langgraph_engram.results import Finding
from langgraph_engram.schema import Event, Frozen, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.segmentation.boundaries import previous_event, relink_boundary
from langgraph_engram.segmentation.titles import EventNamer
from langgraph_engram.settings import SegmentSettings, VerifySettings
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
from langgraph_engram.text.tokens import content_stems

REPAIRED: tuple[Kind[Any], ...] = (RECORDS, EVENTS, BOUNDARIES, SYNTHESES, DECISIONS)
"""The kinds that a repair may change or remove, in the order in which they go."""
REASON = "engram doctor found its results damaged"
NEAR = 20
"""Positions around a source within which a turn counts as evidence: about what one prompt holds."""
MOST_LINKS = MAX_CONFLICTS // 2
"""Conflicts of a record from which a missing link is no defect: it may have had so many that the oldest ones went."""

Repair: TypeAlias = Callable[["Draft"], None]
Found: TypeAlias = tuple[str, str, str, Repair | None]
"""The check, the id of what is wrong, what the repair does, and the repair where there is one."""


class Draft:
    """A scope as it will be after repairs."""

    def __init__(self, index: ScopeIndex, decisions: Sequence[Frozen]) -> None:
        """Start with everything as it is."""
        self.index = index
        self.items: dict[str, dict[str, Any]] = {}
        for kind in REPAIRED:
            items = decisions if kind is DECISIONS else index.of_kind(kind).items
            self.items[kind.name] = {kind.id_of(item): item for item in items}
        self._before = {name: dict(items) for name, items in self.items.items()}
        self._steps: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._completed: list[str] = []

    def put(self, kind: Kind[Any], item: Frozen) -> None:
        """Change an item."""
        self.items[kind.name][kind.id_of(item)] = item

    def remove(self, kind: Kind[Any], item_id: str) -> None:
        """Remove an item."""
        self.items[kind.name].pop(item_id, None)

    def enqueue(self, step: str, turn_ids: Iterable[str], reason: str = REASON) -> None:
        """Note a step to be done again for turns, as far as they are stored."""
        self._steps[step, reason].update(turn_id for turn_id in turn_ids if turn_id in self.index.turns)

    def complete(self, pending_id: str) -> None:
        """Drop a pending task."""
        self._completed.append(pending_id)

    def changes(self) -> Changes:
        """Return what differs from how it was."""
        changed: dict[str, Any] = {
            name: [item for key, item in items.items() if self._before[name].get(key) is not item]
            for name, items in self.items.items()
        }
        removed = {name: [key for key in self._before[name] if key not in items] for name, items in self.items.items()}
        return Changes(
            **changed,
            pending_tasks=list(self._tasks()),
            completed=self._completed,
            removed={name: ids for name, ids in removed.items() if ids},
        )

    def _tasks(self) -> Iterator[PendingTask]:
        run_id = str(uuid4())
        for (step, reason), turn_ids in self._steps.items():
            by_session: dict[str, list[Turn]] = {}
            for turn in stored_turns(self.index, list(turn_ids)):
                by_session.setdefault(turn.session_id, []).append(turn)
            yield from (pending_task(run_id, turns, step, reason) for turns in by_session.values())


@dataclass(frozen=True)
class ScopeExamination:
    """What is stored of one scope, and the checks on it."""

    scope: Scope
    index: ScopeIndex
    decisions: Sequence[Any]
    tasks: Sequence[PendingTask]
    is_saved: Callable[[str], bool]
    """Whether the run of this id has checkpoints here."""
    segment: SegmentSettings = field(default_factory=SegmentSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)

    def run(self) -> tuple[list[Finding], Changes]:
        """Return what is wrong, one finding for each check, and the changes that mend what can be mended."""
        draft = Draft(self.index, self.decisions)
        found: dict[str, list[Found]] = {}
        checks = (
            *(self._turns, self._events, self._boundaries, self._links, self._conflicts),
            *(self._evidence, self._repeats, self._syntheses, self._decisions, self._pending),
        )
        for check in checks:
            for each in check():
                found.setdefault(each[0], []).append(each)
        findings = []
        for name, of_check in found.items():
            for _, _, _, repair in of_check:
                if repair:
                    repair(draft)
            ids = list(dict.fromkeys(item_id for _, item_id, _, _ in of_check))
            fix = next((fix for _, _, fix, repair in of_check if repair), "")
            findings.append(Finding(check=name, detail=DETAILS[name], scope=self.scope, ids=ids, fix=fix))
        return findings, draft.changes()

    def _turns(self) -> Iterator[Found]:
        """A turn is at a position of its own, and in one event, unless a task for it is pending."""
        places = Counter((turn.session_id, turn.seq) for turn in self.index.turns.items)
        owners = Counter(turn_id for event in self.index.events.items for turn_id in event.turn_ids)
        waiting = {turn_id for task in self.tasks for turn_id in task.turn_ids}
        for turn in self.index.turns.items:
            if places[turn.session_id, turn.seq] > 1:
                yield "two turns at one position", turn.turn_id, "", None
            if owners[turn.turn_id] > 1:
                yield "turn in two events", turn.turn_id, "", None
            if turn.is_spoken and not owners[turn.turn_id] and turn.turn_id not in waiting:
                yield (
                    "turn without event",
                    turn.turn_id,
                    "`retry` does its steps",
                    _enqueued("segment", [turn.turn_id], UNFINISHED),
                )

    def _events(self) -> Iterator[Found]:
        """An event has turns, and all that it names are stored."""
        for event in self.index.events.items:
            named = [*event.turn_ids, *event.context_turn_ids]
            if not event.turn_ids or any(turn_id not in self.index.turns for turn_id in named):
                yield "event of missing turns", event.event_id, "leaves them out", self._without_lost_turns(event)

    def _without_lost_turns(self, event: Event) -> Repair:
        def repair(draft: Draft) -> None:
            turns = stored_turns(self.index, event.turn_ids)
            if not turns:
                draft.remove(EVENTS, event.event_id)
                return
            update = {
                "turn_ids": [turn.turn_id for turn in turns],
                "context_turn_ids": [key for key in event.context_turn_ids if key in self.index.turns],
                "started_at": turns[0].said_at,
                "ended_at": turns[-1].said_at,
            }
            session = self.index.session_turns(event.session_id)
            draft.put(EVENTS, EventNamer(session, self.segment).named(event.model_copy(update=update)))

        return repair

    def _boundaries(self) -> Iterator[Found]:
        """A boundary lies between events that are stored."""
        for boundary in self.index.boundaries.items:
            later = self.index.events.get(boundary.to_event_id)
            if later is None:
                yield (
                    "boundary of a missing event",
                    boundary.boundary_id,
                    "removes or relinks it",
                    _removed(BOUNDARIES, boundary.boundary_id),
                )
            elif boundary.from_event_id and boundary.from_event_id not in self.index.events:
                first = stored_turns(self.index, later.turn_ids)[: self.segment.boundary_side]
                relinked = relink_boundary(boundary, previous_event(self.index, [later]), later, first)
                yield (
                    "boundary of a missing event",
                    boundary.boundary_id,
                    "removes or relinks it",
                    _put(BOUNDARIES, relinked),
                )

    def _links(self) -> Iterator[Found]:
        """A record names turns, an event and records that are stored, and its status agrees with its successor."""
        records = self.index.records
        for record in records.items:
            key = record.record_id
            if not record.source_turn_ids or any(turn not in self.index.turns for turn in record.source_turn_ids):
                yield "record of missing turns", key, "removes it, and extracts anew", _without_record(record)
            elif record.event_id not in self.index.events:
                yield "record of a missing event", key, "relinks it, or extracts anew", self._with_event(record)
            if any(part not in records for part in record.derived_from):
                parts = [part for part in record.derived_from if part in records]
                yield "lineage of missing records", key, "leaves them out", _updated(key, derived_from=parts)
            replaced = record.status in ("superseded", "merged")
            if (replaced and not record.superseded_by) or (
                record.superseded_by and record.superseded_by not in records
            ):
                yield "missing successor", key, "makes it active again", _active(record)
            elif record.status == "active" and record.superseded_by:
                yield "active and replaced", key, "leaves it active", _active(record)
            elif replaced and self._newest_of_circle(record):
                yield "circle of successors", key, "makes the newest active", _active(record)

    def _newest_of_circle(self, record: Record) -> bool:
        """Return whether a record is its own successor by way of others, and the newest of them."""
        circle, after = [record], self.index.records.get(record.superseded_by or "")
        while after and after not in circle:
            circle.append(after)
            after = self.index.records.get(after.superseded_by or "")
        return after == record and max(circle, key=RECORDS.sort_key) == record

    def _with_event(self, record: Record) -> Repair:
        sources = set(record.source_turn_ids)
        event = next((event for event in self.index.events.items if not sources.isdisjoint(event.turn_ids)), None)
        return _updated(record.record_id, event_id=event.event_id) if event else _without_record(record)

    def _conflicts(self) -> Iterator[Found]:
        """A conflict is linked from both sides, or to what the other side was merged of, and both are stored."""
        for record in self.index.records.items:
            lost = [key for key in record.conflicts_with if key not in self.index.records]
            if lost:
                yield "conflict with missing records", record.record_id, "unlinks them", _unlinked(record, lost)
            for other in filter(None, map(self.index.records.get, record.conflicts_with)):
                if not self._is_linked(other, record) and len(other.conflicts_with) < MOST_LINKS:
                    yield "one-sided conflict", other.record_id, "links the other side", _linked(other, record)

    def _is_linked(self, record: Record, other: Record) -> bool:
        """Return whether a record is linked to another one, or to what that was merged of, however often."""
        parts, left = {other.record_id}, [*other.derived_from]
        while left:
            part = left.pop()
            if part not in parts:
                parts.add(part)
                left += getattr(self.index.records.get(part), "derived_from", [])
        return not parts.isdisjoint(record.conflicts_with)

    def _evidence(self) -> Iterator[Found]:
        """An active record says what its session supports, and nothing that an assistant only repeated."""
        if not self.verify.enabled:
            return
        for record in self.index.records.items:
            sources = [turn for turn in map(self.index.turns.get, record.source_turn_ids) if turn]
            if record.status != "active" or record.is_passage or record.derived_from or not sources:
                continue
            verified = verify_record(record, sources, self._around(sources), self.verify)
            if verified.status == "quarantined":
                yield "unverified record", record.record_id, "quarantines it", _quarantined(verified)
                continue
            reason = recycled_reason(record, sources, self.index, self.verify)
            stored = self.index.records.get(reason.rpartition(" ")[2]) if reason else None
            if stored and RECORDS.sort_key(stored) < RECORDS.sort_key(record):
                made = record.model_copy(update={"status": "quarantined", "reject_reason": reason})
                yield "recycled record", record.record_id, "quarantines it", _quarantined(made)

    def _around(self, sources: Sequence[Turn]) -> list[Turn]:
        """Return the turns that may have been in a prompt with sources."""
        near: dict[str, Turn] = {}
        for session_id in dict.fromkeys(turn.session_id for turn in sources):
            places = [turn.seq for turn in sources if turn.session_id == session_id]
            for turn in self.index.session_turns(session_id):
                if min(places) - NEAR <= turn.seq <= max(places) + NEAR:
                    near[turn.turn_id] = turn
        return list(near.values())

    def _repeats(self) -> Iterator[Found]:
        """No two active records say the same of the same turns."""
        first: dict[tuple[object, ...], Record] = {}
        for record in self.index.records.items:
            if record.status != "active":
                continue
            said = (record.kind, record.content.casefold(), tuple(sorted(record.source_turn_ids)))
            if (kept := first.setdefault(said, record)) is not record:
                merged = _updated(record.record_id, status="merged", superseded_by=kept.record_id)
                yield "duplicate record", record.record_id, "merges it into the first", merged

    def _syntheses(self) -> Iterator[Found]:
        """A synthesis covers what is stored and still so; a stale one is pending."""
        again = {turn for task in self.tasks if task.step == "synthesize" for turn in task.turn_ids}
        for synthesis in self.index.syntheses.items:
            key, covered = synthesis.synthesis_id, list(map(self.index.records.get, synthesis.covered_record_ids))
            if None in covered or any(event not in self.index.events for event in synthesis.seed_event_ids):
                yield "synthesis of missing memories", key, "removes it, and writes anew", self._rewritten(synthesis)
                continue
            records = [record for record in covered if record]
            turns = {turn for record in records for turn in record.source_turn_ids}
            if synthesis.status == "stale" and again.isdisjoint(turns):
                yield "stale synthesis", key, "`retry` writes it anew", _enqueued("synthesize", turns)
            elif synthesis.status == "active" and self._is_outdated(synthesis, records):
                stale = synthesis.model_copy(update={"status": "stale"})
                yield "outdated synthesis", key, "`retry` writes it anew", _stale(stale, turns)

    def _is_outdated(self, synthesis: Synthesis, covered: Sequence[Record]) -> bool:
        """Return whether a narrative tells all of a record that is no longer so, and covers nothing in its place."""
        told = set(content_stems(synthesis.text))
        holding = {stem for record in covered if record.status == "active" for stem in content_stems(record.content)}
        for record in covered:
            stems = set(content_stems(record.content))
            if record.status in ("active", "merged") or not stems <= told or stems <= holding:
                continue
            successor = self.index.records.successor(record)
            if successor is None or successor.record_id not in synthesis.covered_record_ids:
                return True
        return False

    def _rewritten(self, synthesis: Synthesis) -> Repair:
        records = [record for record in map(self.index.records.get, synthesis.covered_record_ids) if record]
        turns = {turn for record in records for turn in record.source_turn_ids}

        def repair(draft: Draft) -> None:
            draft.remove(SYNTHESES, synthesis.synthesis_id)
            draft.enqueue("synthesize", turns)

        return repair

    def _decisions(self) -> Iterator[Found]:
        """The audit trail names records that are stored."""
        for decision in self.decisions:
            named = [*decision.pair, *filter(None, [decision.result_id])]
            if any(record_id not in self.index.records for record_id in named):
                yield (
                    "decision on missing records",
                    decision.decision_id,
                    "removes it",
                    _removed(DECISIONS, decision.decision_id),
                )

    def _pending(self) -> Iterator[Found]:
        """A pending task is about turns that are stored, and a run that is to go on has its checkpoints."""
        for task in self.tasks:
            if task.step == FORGET:
                continue
            left = [turn_id for turn_id in task.turn_ids if turn_id in self.index.turns]
            if is_unreceived(task, self.index):
                if not self.is_saved(task.run_id):
                    yield "words in another checkpoint", task.pending_id, "", None
            elif len(left) < len(task.turn_ids):
                yield "task for missing turns", task.pending_id, "keeps it for the rest", _narrowed(task, left)
            elif task.awaits_approval and not self.is_saved(task.run_id):
                yield "approval without a run", task.pending_id, "`retry` does its steps", _restarted(task)


DETAILS = {
    "two turns at one position": "two processes wrote to one session at once; their order is not known",
    "turn in two events": "its records may be stored twice",
    "turn without event": "nothing was extracted from it, and nothing is pending",
    "event of missing turns": "turns that it names are not stored, or it has none",
    "boundary of a missing event": "an event that it names is not stored",
    "record of missing turns": "turns that it rests on are not stored",
    "record of a missing event": "the event that it came from is not stored",
    "lineage of missing records": "records that it was made of are not stored",
    "missing successor": "it is replaced, and no record stored took its place: no search finds either",
    "active and replaced": "it is active and names a successor",
    "circle of successors": "each was replaced by another of them: no search finds any",
    "conflict with missing records": "records that it contradicts are not stored",
    "one-sided conflict": "the record that contradicts it is not linked from it",
    "unverified record": "neither its turns nor those around them support it",
    "recycled record": "an assistant only repeated what was stored",
    "duplicate record": "another active record says the same of the same turns",
    "synthesis of missing memories": "records or events that it tells of are not stored",
    "stale synthesis": "what it tells has changed, and nothing is pending",
    "outdated synthesis": "what it tells has changed, and it does not say so",
    "decision on missing records": "records that it names are not stored",
    "words in another checkpoint": "what was said is not stored; `status` says where it is: retry there, or send it",
    "task for missing turns": "turns that it is about are not stored",
    "approval without a run": "it waits for a person, and the checkpoints of its run are gone",
}
"""What is wrong, by check."""


def _updated(record_id: str, **update: object) -> Repair:
    def repair(draft: Draft) -> None:
        record = draft.items[RECORDS.name].get(record_id)
        if record:
            draft.put(RECORDS, record.model_copy(update=update))

    return repair


def _active(record: Record) -> Repair:
    return _updated(record.record_id, **as_active(record).model_dump(include={"status", "superseded_by", "valid_to"}))


def _quarantined(record: Record) -> Repair:
    return _updated(record.record_id, status=record.status, reject_reason=record.reject_reason)


def _without_record(record: Record) -> Repair:
    def repair(draft: Draft) -> None:
        draft.remove(RECORDS, record.record_id)
        if not record.derived_from:  # what a merge was made of is active again, and says the same
            draft.enqueue("extract", record.source_turn_ids)

    return repair


def _unlinked(record: Record, lost: Sequence[str]) -> Repair:
    def repair(draft: Draft) -> None:
        kept = draft.items[RECORDS.name].get(record.record_id)
        if kept:
            draft.put(RECORDS, without_conflicts(kept, lost))

    return repair


def _linked(record: Record, other: Record) -> Repair:
    def repair(draft: Draft) -> None:
        kept = draft.items[RECORDS.name].get(record.record_id)
        if kept:
            draft.put(RECORDS, in_conflict(kept, [other.record_id]))

    return repair


def _enqueued(step: str, turns: Iterable[str], reason: str = REASON) -> Repair:
    return lambda draft: draft.enqueue(step, turns, reason)


def _removed(kind: Kind[Any], item_id: str) -> Repair:
    return lambda draft: draft.remove(kind, item_id)


def _put(kind: Kind[Any], item: Frozen) -> Repair:
    return lambda draft: draft.put(kind, item)


def _stale(synthesis: Synthesis, turns: Iterable[str]) -> Repair:
    def repair(draft: Draft) -> None:
        draft.put(SYNTHESES, synthesis)
        draft.enqueue("synthesize", turns)

    return repair


def _narrowed(task: PendingTask, left: Sequence[str]) -> Repair:
    def repair(draft: Draft) -> None:
        draft.complete(task.pending_id)
        draft.enqueue(task.step, left, task.reason)

    return repair


def _restarted(task: PendingTask) -> Repair:
    def repair(draft: Draft) -> None:
        draft.complete(task.pending_id)
        draft.enqueue("segment", task.turn_ids, UNFINISHED)

    return repair
