"""Examine a store from its rows to its memories, without a model and without a network, and mend what can be mended.

The rows of all scopes come first, then each scope by itself. A repair may bring to light what hung on it, so that a
scope is examined until nothing is left. Raw turns are never changed: what rests on something that is gone goes too, and
what can be made anew from the turns that are left is pending for `retry`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.consolidation.merging import as_active, without_conflicts
from langgraph_engram.erasure.erase import damaged_files, turns_of
from langgraph_engram.erasure.selection import without_turns
from langgraph_engram.errors import EngramError
from langgraph_engram.extraction.evidence import verify_record
from langgraph_engram.formats.export import unfinished_exports
from langgraph_engram.pending import FORGET, LOAD, UNFINISHED, is_unreceived, pending_tasks_by_session, stored_turns
from langgraph_engram.results import Diagnosis, Finding
from langgraph_engram.runner import delete_threads, thread_of, threads_of
from langgraph_engram.schema import Event, Frozen, PendingTask, Record, Scope, Synthesis, Turn
from langgraph_engram.settings import Settings, VerifySettings
from langgraph_engram.stores.base import Changes
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.index import KindIndex, ScopeIndex
from langgraph_engram.stores.kinds import BOUNDARIES, DECISIONS, EVENTS, RECORDS, SEARCHABLE, SYNTHESES, Kind

REWRITE = "writes the row again"
DEFECTS = {
    "row without a kind": ("nobody's search finds it", ""),
    "row without a scope": ("nobody's search finds it", ""),
    "unreadable row": ("a field is missing or wrong, and its scope cannot be loaded", ""),
    "row under another id": ("its id is that of another user, or of another item", ""),
    "outdated text": ("the row holds another text than its item", REWRITE),
    "wrong vector": ("it has none, one whose length is not 1, or another than the encoder gives", REWRITE),
    "encoder fingerprint": ("the encoder gives other vectors than when it wrote them", "encodes all of them anew"),
    "missing words": ("no search of Chroma by words finds it", REWRITE),
    "residue in the log": ("removed rows are still in Chroma's log", "overwrites them"),
    "damaged database": ("SQLite finds it damaged: restore a backup, or remove the one of checkpoints", ""),
    "outdated index": ("searches find what is not stored: somebody wrote past the store", "reads it again"),
    "residue in checkpoints": ("they hold turns that were forgotten, or never stored", "deletes them"),
    "unfinished load": ("files are loaded in part: load them again; no more of that user is examined before", ""),
    "unfinished export": ("a process died as it wrote these files: export again, or remove them", ""),
    "two turns at one position": ("two processes wrote to one session at once; their order is not known", ""),
    "turn in two events": ("its records may be stored twice", ""),
    "turn without event": ("nothing was extracted from it, and nothing is pending", "`retry` does its steps"),
    "event of missing turns": ("turns that it names are not stored, or it has none", "leaves them out"),
    "boundary of a missing event": ("an event that it names is not stored", "removes it"),
    "record of missing sources": ("its event or its turns are not stored", "removes it, and extracts anew"),
    "link to missing records": ("it was made of, or contradicts, records that are not stored", "leaves them out"),
    "wrong successor": ("it is active and replaced, or by nothing that a search finds", "makes it active again"),
    "unsupported record": ("nothing that was said supports it", "quarantines it"),
    "synthesis of missing memories": ("what it tells of is not stored", "removes it, and writes anew"),
    "outdated synthesis": ("it is stale, and nothing is pending", "`retry` writes it anew"),
    "decision on missing records": ("records that it names are not stored", "removes it"),
    "words in another checkpoint": ("what was said is not stored: retry where `status` says it is, or send it", ""),
    "task for missing turns": ("turns that it is about are not stored", "keeps it for the rest"),
    "approval without a run": ("the checkpoints of the run that waits are gone", "`retry` does its steps"),
}
"""What is wrong, and what mends it, by check; nothing mends what only a person can judge."""
MAX_ROUNDS = 5
"""How often a scope is examined again after repairs."""
NEAR = 20
"""Positions around a source within which a turn counts as evidence: about what one prompt holds."""


@dataclass
class Doctor:
    """One examination of a store."""

    store: ChromaStore
    checkpointer: BaseCheckpointSaver[str] | None
    settings: Settings
    fix: bool = False
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def run(self) -> Diagnosis:
        """Examine everything."""
        examination = self.store.examine(fix=self.fix)
        self.notes += examination.notes
        for check, ids in examination.found.items():
            self._add(check, ids, is_mended=self.fix)
        mends_links = self.fix and all(finding.fixed for finding in self.findings)
        if self.fix and not mends_links:
            self.notes.append("links between memories were not mended: rows that only a person can judge come first")
        if self.checkpointer and (damaged := damaged_files(self.checkpointer)):
            self.checkpointer = None
            self._add("damaged database", damaged)
        nameless = {"row without a scope", "row without a kind"} & {finding.check for finding in self.findings}
        scopes = [] if nameless else self.store.scopes()
        for scope in scopes:
            try:
                self._examine(scope, mends_links)
            except EngramError as error:
                self.notes.append(f"the memories of {scope.key} could not be examined: {error}")
        self._add("unfinished export", unfinished_exports(self.store.folder))
        return Diagnosis(
            store=self.store.location,
            encoder=self.store.encoder.name,
            scopes=len(scopes),
            rows=examination.rows,
            findings=self.findings,
            notes=self.notes,
        )

    def _examine(self, scope: Scope, mends_links: bool) -> None:
        self._check_index(scope)
        self._check_checkpoints(scope)
        saver = self.checkpointer
        with self.store.writing(scope):
            for _ in range(MAX_ROUNDS if mends_links else 1):
                found, changes = ScopeExamination(
                    self.store.index(scope),
                    self.store.pending_tasks(scope),
                    lambda run_id: saver is not None and saver.get_tuple(thread_of(run_id, scope)) is not None,
                    self.settings.verify,
                ).run()
                for check, ids in found.items():
                    self._add(check, ids, scope, mends_links)
                if not mends_links or not any(DEFECTS[check][1] for check in found):
                    return
                with self.store.committing(scope):
                    self.store.commit(scope, changes)
                if changes.removed:
                    self.store.secure_delete(scope)

    def _check_index(self, scope: Scope) -> None:
        """Compare the index that searches are served from with what is stored."""
        index, ids = self.store.index(scope), []
        for kind in SEARCHABLE:
            stored = {kind.id_of(item): item for item in self.store.items(scope, kind)}
            indexed = {kind.id_of(item): item for item in index.of_kind(kind).items}
            ids += [key for key in stored | indexed if stored.get(key) != indexed.get(key)]
        self._add("outdated index", ids, scope, self.fix)
        if ids and self.fix:
            self.store.drop_index(scope)

    def _check_checkpoints(self, scope: Scope) -> None:
        """Find runs whose checkpoints hold turns that are not stored: they were forgotten."""
        if (saver := self.checkpointer) is None:
            return
        turns, threads = self.store.index(scope).turns, threads_of(saver, scope)
        residue = [thread for thread in threads if any(turn not in turns for turn in turns_of(saver, thread))]
        self._add("residue in checkpoints", residue, scope, self.fix)
        if residue and self.fix:
            delete_threads(saver, residue)

    def _add(self, check: str, ids: list[str], scope: Scope | None = None, is_mended: bool = False) -> None:
        detail, fix = DEFECTS[check]
        fixed = is_mended and bool(fix)
        if ids:
            self.findings.append(Finding(check=check, detail=detail, scope=scope, ids=ids, fix=fix, fixed=fixed))


class Draft:
    """What mends a scope: changes and removals of what was derived, and steps to be done again."""

    def __init__(self, index: ScopeIndex) -> None:
        self._index = index
        self._changed: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self._removed: defaultdict[str, set[str]] = defaultdict(set)
        self._steps: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        self._completed: list[str] = []

    def put(self, kind: Kind[Any], item: Frozen) -> None:
        """Change an item, unless it goes."""
        self._changed[kind.name][kind.id_of(item)] = item

    def record(self, record: Record) -> Record:
        """Return a record as it will be."""
        changed: Record = self._changed[RECORDS.name].get(record.record_id, record)
        return changed

    def update(self, record: Record, **update: object) -> None:
        """Change fields of a record."""
        self.put(RECORDS, self.record(record).model_copy(update=update))

    def remove(self, kind: Kind[Any], item: Frozen) -> None:
        """Remove an item."""
        self._removed[kind.name].add(kind.id_of(item))

    def enqueue(
        self, step: str, turn_ids: Iterable[str], explanation: str = "engram doctor found its results damaged"
    ) -> None:
        """Note a step to be done again for turns, as far as they are stored."""
        self._steps[step, explanation].update(turn_id for turn_id in turn_ids if turn_id in self._index.turns)

    def replace_task(self, task: PendingTask, step: str, explanation: str) -> None:
        """Note a step to be done again for the turns of a pending task, in its place."""
        self._completed.append(task.pending_id)
        self.enqueue(step, task.turn_ids, explanation)

    def changes(self) -> Changes:
        """Return all of it, as one commit."""
        changed: dict[str, Any] = {
            name: [item for key, item in items.items() if key not in self._removed[name]]
            for name, items in self._changed.items()
        }
        run_id = str(uuid4())
        tasks = [
            task
            for (step, explanation), turn_ids in self._steps.items()
            for task in pending_tasks_by_session(run_id, stored_turns(self._index, [*turn_ids]), step, explanation)
        ]
        removed = {name: sorted(ids) for name, ids in self._removed.items() if ids}
        return Changes(**changed, pending_tasks=tasks, completed=self._completed, removed=removed)


@dataclass
class ScopeExamination:
    """What is stored of one scope, and the checks on it."""

    index: ScopeIndex
    tasks: Sequence[PendingTask]
    is_saved: Callable[[str], bool]
    """Whether the run of this id has checkpoints here."""
    verify: VerifySettings
    _found: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        self._draft = Draft(self.index)

    def run(self) -> tuple[dict[str, list[str]], Changes]:
        """Return the ids of what is wrong by check, and the changes that mend what can be mended."""
        if loads := [task.run_id for task in self.tasks if task.step == LOAD]:
            return {"unfinished load": loads}, Changes()
        self._check_turns()
        for event in self.index.events.items:
            self._check_event(event)
        for boundary in self.index.boundaries.items:
            ends = [boundary.from_event_id, boundary.to_event_id]
            self._check_named("boundary of a missing event", BOUNDARIES, boundary, ends, self.index.events)
        for record in self.index.records.items:
            self._check_sources(record)
            self._check_successor(record)
            self._check_links(record)
            self._check_evidence(record)
        for synthesis in self.index.syntheses.items:
            self._check_synthesis(synthesis)
        for decision in self.index.decisions.values():
            named = [*decision.pair, decision.result_id]
            self._check_named("decision on missing records", DECISIONS, decision, named, self.index.records)
        for task in self.tasks:
            self._check_task(task)
        return {check: [*dict.fromkeys(ids)] for check, ids in self._found.items()}, self._draft.changes()

    def _check_turns(self) -> None:
        """A turn is at a position of its own, and in one event, unless a task for it is pending."""
        places = Counter((turn.session_id, turn.seq) for turn in self.index.turns.items)
        owners = Counter(turn_id for event in self.index.events.items for turn_id in event.turn_ids)
        waiting = {turn_id for task in self.tasks for turn_id in task.turn_ids}
        for turn in self.index.turns.items:
            if places[turn.session_id, turn.seq] > 1:
                self._found["two turns at one position"].append(turn.turn_id)
            if owners[turn.turn_id] > 1:
                self._found["turn in two events"].append(turn.turn_id)
            if turn.is_spoken and not owners[turn.turn_id] and turn.turn_id not in waiting:
                self._found["turn without event"].append(turn.turn_id)
                self._draft.enqueue("segment", [turn.turn_id], UNFINISHED)

    def _check_event(self, event: Event) -> None:
        """An event has turns, and all that it names are stored."""
        gone = {key for key in (*event.turn_ids, *event.context_turn_ids) if key not in self.index.turns}
        if gone or not event.turn_ids:
            self._found["event of missing turns"].append(event.event_id)
            shorter = without_turns(self.index, event, gone)
            if shorter.turn_ids:
                self._draft.put(EVENTS, shorter)
            else:
                self._draft.remove(EVENTS, event)

    def _check_named(
        self, check: str, kind: Kind[Any], item: Frozen, named: Iterable[str | None], stored: KindIndex[Any]
    ) -> None:
        """A boundary, or a decision, names what is stored."""
        if not all(name in stored for name in named if name):
            self._found[check].append(kind.id_of(item))
            self._draft.remove(kind, item)

    def _check_sources(self, record: Record) -> None:
        """A record names turns and an event that are stored."""
        sources = record.source_turn_ids
        are_stored = bool(sources) and all(turn in self.index.turns for turn in sources)
        if not are_stored or record.event_id not in self.index.events:
            self._found["record of missing sources"].append(record.record_id)
            self._draft.remove(RECORDS, record)
            if not record.derived_from:  # what it was merged from is active again
                self._draft.enqueue("extract", sources)

    def _check_successor(self, record: Record) -> None:
        """A record is replaced by another that is stored, or it is active."""
        successor = record.superseded_by
        is_missing = successor not in self.index.records if successor else record.status in ("superseded", "merged")
        if is_missing or (record.status == "active" and successor):
            self._found["wrong successor"].append(record.record_id)
            self._draft.update(record, **as_active(record).model_dump(include={"status", "superseded_by", "valid_to"}))

    def _check_links(self, record: Record) -> None:
        """Linked records are stored."""
        lost = [key for key in (*record.derived_from, *record.conflicts_with) if key not in self.index.records]
        if lost:
            self._found["link to missing records"].append(record.record_id)
            self._draft.put(RECORDS, without_conflicts(self._draft.record(record), lost))
            self._draft.update(record, derived_from=[part for part in record.derived_from if part not in lost])

    def _check_evidence(self, record: Record) -> None:
        """An active record says what its session supports."""
        sources = [*filter(None, map(self.index.turns.get, record.source_turn_ids))]
        if not self.verify.enabled or record.status != "active" or record.is_chunk or record.derived_from:
            return
        verified = verify_record(record, sources, self._around(sources)) if sources else record
        if verified.status == "quarantined":
            self._found["unsupported record"].append(record.record_id)
            self._draft.update(record, status="quarantined", reject_reason=verified.reject_reason)

    def _around(self, sources: Sequence[Turn]) -> list[Turn]:
        """Return the turns that may have been in a prompt with sources."""
        near: list[Turn] = []
        for session_id in dict.fromkeys(turn.session_id for turn in sources):
            places = [turn.seq for turn in sources if turn.session_id == session_id]
            reach = range(min(places) - NEAR, max(places) + NEAR + 1)
            near += [turn for turn in self.index.session_turns(session_id) if turn.seq in reach]
        return near

    def _check_synthesis(self, synthesis: Synthesis) -> None:
        """A synthesis covers what is stored and still so; a stale one is pending."""
        covered = [*filter(None, map(self.index.records.get, synthesis.covered_record_ids))]
        turns = {turn for record in covered for turn in record.source_turn_ids}
        is_pending = any(not turns.isdisjoint(task.turn_ids) for task in self.tasks if task.step == "synthesize")
        are_events_stored = all(event in self.index.events for event in synthesis.seed_event_ids)
        if len(covered) < len(synthesis.covered_record_ids) or not are_events_stored:
            self._found["synthesis of missing memories"].append(synthesis.synthesis_id)
            self._draft.remove(SYNTHESES, synthesis)
        elif synthesis.status == "stale" and not is_pending:
            self._found["outdated synthesis"].append(synthesis.synthesis_id)
        else:
            return
        self._draft.enqueue("synthesize", turns)

    def _check_task(self, task: PendingTask) -> None:
        """A pending task is about turns that are stored, and a run that is to go on has its checkpoints."""
        if task.step == FORGET:
            return
        if is_unreceived(task, self.index):
            if not self.is_saved(task.run_id):
                self._found["words in another checkpoint"].append(task.pending_id)
        elif any(turn_id not in self.index.turns for turn_id in task.turn_ids):
            self._found["task for missing turns"].append(task.pending_id)
            self._draft.replace_task(task, task.step, task.reason)
        elif task.awaits_approval and not self.is_saved(task.run_id):
            self._found["approval without a run"].append(task.pending_id)
            self._draft.replace_task(task, "segment", UNFINISHED)
