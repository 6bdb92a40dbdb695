"""Examine the memories of one scope: what names what is not there, what is there twice, what nothing supports.

Each check finds what is wrong, and mends it in a draft of the scope. Raw turns are never changed: what rests on
something that is gone goes too, and what can be made anew from the turns that are left is pending for `retry`.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from langgraph_engram.consolidation.merging import MAX_CONFLICTS, as_active, in_conflict, without_conflicts
from langgraph_engram.doctor.draft import Draft
from langgraph_engram.erasure.erase import without_turns
from langgraph_engram.extraction.evidence import recycled_reason, verify_record
from langgraph_engram.lineage import reached
from langgraph_engram.pending import FORGET, UNFINISHED, is_unreceived, stored_turns
from langgraph_engram.results import Finding
from langgraph_engram.schema import Decision, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.segmentation.boundaries import previous_event, relink_boundary
from langgraph_engram.settings import VerifySettings
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.index import BOUNDARIES, DECISIONS, EVENTS, RECORDS, SYNTHESES, ScopeIndex
from langgraph_engram.text.tokens import content_stems

NEAR = 20
"""Positions around a source within which a turn counts as evidence: about what one prompt holds."""
MOST_LINKS = MAX_CONFLICTS // 2
"""Conflicts of a record from which a missing link is no defect: it may have had so many that the oldest ones went."""
DEFECTS = {
    "two turns at one position": ("two processes wrote to one session at once; their order is not known", ""),
    "turn in two events": ("its records may be stored twice", ""),
    "turn without event": ("nothing was extracted from it, and nothing is pending", "`retry` does its steps"),
    "event of missing turns": ("turns that it names are not stored, or it has none", "leaves them out"),
    "boundary of a missing event": ("an event that it names is not stored", "removes or relinks it"),
    "record of missing turns": ("turns that it rests on are not stored", "removes it, and extracts anew"),
    "record of a missing event": ("the event that it came from is not stored", "relinks it, or extracts anew"),
    "lineage of missing records": ("records that it was made of are not stored", "leaves them out"),
    "missing successor": (
        "it is replaced, and no record stored took its place: no search finds either",
        "makes it active again",
    ),
    "active and replaced": ("it is active and names a successor", "leaves it active"),
    "circle of successors": (
        "each was replaced by another of them: no search finds any",
        "makes the newest active",
    ),
    "conflict with missing records": ("records that it contradicts are not stored", "unlinks them"),
    "one-sided conflict": ("the record that contradicts it is not linked from it", "links the other side"),
    "unverified record": ("neither its turns nor those around them support it", "quarantines it"),
    "recycled record": ("an assistant only repeated what was stored", "quarantines it"),
    "duplicate record": ("another active record says the same of the same turns", "merges it into the first"),
    "synthesis of missing memories": (
        "records or events that it tells of are not stored",
        "removes it, and writes anew",
    ),
    "stale synthesis": ("what it tells has changed, and nothing is pending", "`retry` writes it anew"),
    "outdated synthesis": ("what it tells has changed, and it does not say so", "`retry` writes it anew"),
    "decision on missing records": ("records that it names are not stored", "removes it"),
    "words in another checkpoint": (
        "what was said is not stored; `status` says where it is: retry there, or send it",
        "",
    ),
    "task for missing turns": ("turns that it is about are not stored", "keeps it for the rest"),
    "approval without a run": (
        "it waits for a person, and the checkpoints of its run are gone",
        "`retry` does its steps",
    ),
}
"""What is wrong, and what mends it, by check; nothing mends what only a person can judge."""


@dataclass
class ScopeExamination:
    """What is stored of one scope, and the checks on it."""

    index: ScopeIndex
    decisions: Sequence[Decision]
    tasks: Sequence[PendingTask]
    is_saved: Callable[[str], bool]
    """Whether the run of this id has checkpoints here."""
    verify: VerifySettings
    _found: dict[str, list[str]] = field(default_factory=dict)
    """The ids of what is wrong, by check."""

    def __post_init__(self) -> None:
        """Start a draft of the scope as it is."""
        self._draft = Draft(self.index, self.decisions)

    def run(self, scope: Scope) -> tuple[list[Finding], Changes]:
        """Return what is wrong, one finding for each check, and the changes that mend what can be mended."""
        self._check_turns()
        self._check_events()
        self._check_boundaries()
        for record in self.index.records.items:
            self._check_sources(record)
            self._check_successor(record)
            self._check_conflicts(record)
        self._check_evidence()
        self._check_repeats()
        self._check_syntheses()
        self._check_decisions()
        self._check_tasks()
        findings = []
        for check, ids in self._found.items():
            detail, fix = DEFECTS[check]
            findings.append(Finding(check=check, detail=detail, scope=scope, ids=list(dict.fromkeys(ids)), fix=fix))
        return findings, self._draft.changes()

    def _note(self, check: str, item_id: str) -> None:
        self._found.setdefault(check, []).append(item_id)

    def _check_turns(self) -> None:
        """A turn is at a position of its own, and in one event, unless a task for it is pending."""
        places = Counter((turn.session_id, turn.seq) for turn in self.index.turns.items)
        owners = Counter(turn_id for event in self.index.events.items for turn_id in event.turn_ids)
        waiting = {turn_id for task in self.tasks for turn_id in task.turn_ids}
        for turn in self.index.turns.items:
            if places[turn.session_id, turn.seq] > 1:
                self._note("two turns at one position", turn.turn_id)
            if owners[turn.turn_id] > 1:
                self._note("turn in two events", turn.turn_id)
            if turn.is_spoken and not owners[turn.turn_id] and turn.turn_id not in waiting:
                self._note("turn without event", turn.turn_id)
                self._draft.enqueue("segment", [turn.turn_id], UNFINISHED)

    def _check_events(self) -> None:
        """An event has turns, and all that it names are stored."""
        for event in self.index.events.items:
            named = [*event.turn_ids, *event.context_turn_ids]
            if not event.turn_ids or any(turn_id not in self.index.turns for turn_id in named):
                self._note("event of missing turns", event.event_id)
                shorter = without_turns(self.index, event, {key for key in named if key not in self.index.turns})
                if shorter.turn_ids:
                    self._draft.put(EVENTS, shorter)
                else:
                    self._draft.remove(EVENTS, event.event_id)

    def _check_boundaries(self) -> None:
        """A boundary lies between events that are stored."""
        for boundary in self.index.boundaries.items:
            later = self.index.events.get(boundary.to_event_id)
            if later is None:
                self._note("boundary of a missing event", boundary.boundary_id)
                self._draft.remove(BOUNDARIES, boundary.boundary_id)
            elif boundary.from_event_id and boundary.from_event_id not in self.index.events:
                self._note("boundary of a missing event", boundary.boundary_id)
                first = stored_turns(self.index, later.turn_ids)[:1]
                relinked = relink_boundary(boundary, previous_event(self.index, [later]), later, first)
                self._draft.put(BOUNDARIES, relinked)

    def _check_sources(self, record: Record) -> None:
        """A record names turns, an event and records that are stored."""
        key, sources = record.record_id, record.source_turn_ids
        if not sources or any(turn not in self.index.turns for turn in sources):
            self._note("record of missing turns", key)
            self._draft.extract_anew(record)
        elif record.event_id not in self.index.events:
            self._note("record of a missing event", key)
            self._link_to_event(record)
        parts = [part for part in record.derived_from if part in self.index.records]
        if len(parts) < len(record.derived_from):
            self._note("lineage of missing records", key)
            self._draft.update(key, derived_from=parts)

    def _link_to_event(self, record: Record) -> None:
        sources = set(record.source_turn_ids)
        event = next((event for event in self.index.events.items if not sources.isdisjoint(event.turn_ids)), None)
        if event:
            self._draft.update(record.record_id, event_id=event.event_id)
        else:
            self._draft.extract_anew(record)

    def _check_successor(self, record: Record) -> None:
        """A record's status agrees with its successor."""
        check = self._defect_of_successor(record)
        if check:
            self._note(check, record.record_id)
            active = as_active(record).model_dump(include={"status", "superseded_by", "valid_to"})
            self._draft.update(record.record_id, **active)

    def _defect_of_successor(self, record: Record) -> str:
        is_replaced, successor = record.status in ("superseded", "merged"), record.superseded_by
        if (is_replaced and not successor) or (successor and successor not in self.index.records):
            return "missing successor"
        if record.status == "active" and successor:
            return "active and replaced"
        return "circle of successors" if is_replaced and self._is_newest_of_circle(record) else ""

    def _is_newest_of_circle(self, record: Record) -> bool:
        """Return whether a record is its own successor by way of others, and the newest of them."""
        circle, after = [record], self.index.records.get(record.superseded_by or "")
        while after and after not in circle:
            circle.append(after)
            after = self.index.records.get(after.superseded_by or "")
        return after == record and max(circle, key=RECORDS.sort_key) == record

    def _check_conflicts(self, record: Record) -> None:
        """A conflict is linked from both sides, or to what the other side was merged of, and both are stored."""
        lost = [key for key in record.conflicts_with if key not in self.index.records]
        if lost:
            self._note("conflict with missing records", record.record_id)
            if kept := self._draft.record(record.record_id):
                self._draft.put(RECORDS, without_conflicts(kept, lost))
        for other in filter(None, map(self.index.records.get, record.conflicts_with)):
            if not self._is_linked(other, record) and len(other.conflicts_with) < MOST_LINKS:
                self._note("one-sided conflict", other.record_id)
                if kept := self._draft.record(other.record_id):
                    self._draft.put(RECORDS, in_conflict(kept, [record.record_id]))

    def _is_linked(self, record: Record, other: Record) -> bool:
        """Return whether a record is linked to another one, or to what that was merged of, however often."""
        parts = reached([other.record_id], lambda key: getattr(self.index.records.get(key), "derived_from", ()))
        return not set(parts).isdisjoint(record.conflicts_with)

    def _check_evidence(self) -> None:
        """An active record says what its session supports, and nothing that an assistant only repeated."""
        for record in self.index.records.items if self.verify.enabled else ():
            sources = [turn for turn in map(self.index.turns.get, record.source_turn_ids) if turn]
            if record.status != "active" or record.is_passage or record.derived_from or not sources:
                continue
            verified = verify_record(record, sources, self._around(sources))
            if verified.status == "quarantined":
                self._quarantine("unverified record", record, verified.reject_reason)
            elif reason := self._recycled_reason(record, sources):
                self._quarantine("recycled record", record, reason)

    def _quarantine(self, check: str, record: Record, reason: str) -> None:
        self._note(check, record.record_id)
        self._draft.update(record.record_id, status="quarantined", reject_reason=reason)

    def _recycled_reason(self, record: Record, sources: Sequence[Turn]) -> str:
        """Return why a record only repeats an earlier one; empty if it does not."""
        reason = recycled_reason(record, sources, self.index)
        stored = self.index.records.get(reason.rpartition(" ")[2]) if reason else None
        return reason if stored and RECORDS.sort_key(stored) < RECORDS.sort_key(record) else ""

    def _around(self, sources: Sequence[Turn]) -> list[Turn]:
        """Return the turns that may have been in a prompt with sources."""
        near: dict[str, Turn] = {}
        for session_id in dict.fromkeys(turn.session_id for turn in sources):
            places = [turn.seq for turn in sources if turn.session_id == session_id]
            for turn in self.index.session_turns(session_id):
                if min(places) - NEAR <= turn.seq <= max(places) + NEAR:
                    near[turn.turn_id] = turn
        return list(near.values())

    def _check_repeats(self) -> None:
        """No two active records say the same of the same turns."""
        first: dict[tuple[object, ...], Record] = {}
        for record in self.index.records.items:
            if record.status != "active":
                continue
            said = (record.kind, record.content.casefold(), tuple(sorted(record.source_turn_ids)))
            if (kept := first.setdefault(said, record)) is not record:
                self._note("duplicate record", record.record_id)
                self._draft.update(record.record_id, status="merged", superseded_by=kept.record_id)

    def _check_syntheses(self) -> None:
        """A synthesis covers what is stored and still so; a stale one is pending."""
        again = {turn for task in self.tasks if task.step == "synthesize" for turn in task.turn_ids}
        for synthesis in self.index.syntheses.items:
            covered = list(self._covered(synthesis))
            turns = {turn for record in covered for turn in record.source_turn_ids}
            check = self._defect_of_synthesis(synthesis, covered, is_pending=not again.isdisjoint(turns))
            if not check:
                continue
            self._note(check, synthesis.synthesis_id)
            self._draft.enqueue("synthesize", turns)
            if check == "synthesis of missing memories":
                self._draft.remove(SYNTHESES, synthesis.synthesis_id)
            elif check == "outdated synthesis":
                self._draft.put(SYNTHESES, synthesis.model_copy(update={"status": "stale"}))

    def _covered(self, synthesis: Synthesis) -> Iterator[Record]:
        return filter(None, map(self.index.records.get, synthesis.covered_record_ids))

    def _defect_of_synthesis(self, synthesis: Synthesis, covered: Sequence[Record], *, is_pending: bool) -> str:
        are_events_stored = all(event in self.index.events for event in synthesis.seed_event_ids)
        if len(covered) < len(synthesis.covered_record_ids) or not are_events_stored:
            return "synthesis of missing memories"
        if synthesis.status == "stale":
            return "" if is_pending else "stale synthesis"
        return "outdated synthesis" if synthesis.status == "active" and self._is_outdated(synthesis, covered) else ""

    def _is_outdated(self, synthesis: Synthesis, covered: Sequence[Record]) -> bool:
        """Return whether a narrative tells all of a record that is no longer so, and covers nothing in its place."""
        narrated = set(content_stems(synthesis.text))
        still_so = {stem for record in covered if record.status == "active" for stem in content_stems(record.content)}
        for record in covered:
            stems = set(content_stems(record.content))
            if record.status in ("active", "merged") or not stems <= narrated or stems <= still_so:
                continue
            successor = self.index.records.successor(record)
            if successor is None or successor.record_id not in synthesis.covered_record_ids:
                return True
        return False

    def _check_decisions(self) -> None:
        """The audit trail names records that are stored."""
        for decision in self.decisions:
            named = [*decision.pair, *filter(None, [decision.result_id])]
            if any(record_id not in self.index.records for record_id in named):
                self._note("decision on missing records", decision.decision_id)
                self._draft.remove(DECISIONS, decision.decision_id)

    def _check_tasks(self) -> None:
        """A pending task is about turns that are stored, and a run that is to go on has its checkpoints."""
        for task in self.tasks:
            left = [turn_id for turn_id in task.turn_ids if turn_id in self.index.turns]
            if task.step == FORGET:
                continue
            if is_unreceived(task, self.index):
                if not self.is_saved(task.run_id):
                    self._note("words in another checkpoint", task.pending_id)
            elif len(left) < len(task.turn_ids):
                self._note("task for missing turns", task.pending_id)
                self._draft.replace_task(task, task.step, left, task.reason)
            elif task.awaits_approval and not self.is_saved(task.run_id):
                self._note("approval without a run", task.pending_id)
                self._draft.replace_task(task, "segment", task.turn_ids, UNFINISHED)
