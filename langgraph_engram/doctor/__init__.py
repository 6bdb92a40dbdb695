"""Examine a store from its rows to its memories, without a model and without a network, and mend what can be mended.

The rows of all scopes come first, then each scope by itself. A repair may bring to light what hung on it, so that a
scope is examined until nothing is left.
"""

from dataclasses import dataclass, field

from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.doctor.scope import ScopeExamination
from langgraph_engram.erasure.erase import damaged_files, turns_of
from langgraph_engram.errors import EngramError
from langgraph_engram.formats.export import unfinished_exports
from langgraph_engram.results import Diagnosis, Finding
from langgraph_engram.runner import delete_threads, thread_of, threads_of
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.kinds import SEARCHABLE

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
    "unfinished export": ("a file was being written when its process ended: export it again", "removes it"),
    "two turns at one position": ("two processes wrote to one session at once; their order is not known", ""),
    "turn in two events": ("its records may be stored twice", ""),
    "turn without event": ("nothing was extracted from it, and nothing is pending", "`retry` does its steps"),
    "event of missing turns": ("turns that it names are not stored, or it has none", "leaves them out"),
    "boundary of a missing event": ("an event that it names is not stored", "removes it"),
    "record of missing sources": ("its event or its turns are not stored", "removes it, and extracts anew"),
    "link to missing records": ("it was made of, or contradicts, records that are not stored", "leaves them out"),
    "wrong successor": ("it is active and replaced, or by nothing that a search finds", "makes it active again"),
    "one-sided conflict": ("the record that contradicts it is not linked from it", "links the other side"),
    "unsupported record": ("nothing that was said supports it, or an assistant only repeated it", "quarantines it"),
    "duplicate record": ("another active record says the same of the same turns", "merges it into the first"),
    "synthesis of missing memories": ("what it tells of is not stored", "removes it, and writes anew"),
    "outdated synthesis": ("what it tells has changed, and nothing is pending", "`retry` writes it anew"),
    "decision on missing records": ("records that it names are not stored", "removes it"),
    "words in another checkpoint": ("what was said is not stored: retry where `status` says it is, or send it", ""),
    "task for missing turns": ("turns that it is about are not stored", "keeps it for the rest"),
    "approval without a run": ("the checkpoints of the run that waits are gone", "`retry` does its steps"),
}
"""What is wrong, and what mends it, by check; nothing mends what only a person can judge."""
UNREADABLE = frozenset({"row without a scope", "row without a kind"})
"""What keeps a store from naming its scopes."""
MAX_ROUNDS = 5
"""How often a scope is examined again after repairs."""


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
        for note, left in unfinished_exports(self.store.location).items():
            self._add("unfinished export", [str(left)], is_mended=self.fix)
            if self.fix:
                left.unlink()
                note.unlink()
        if self.checkpointer and (damaged := damaged_files(self.checkpointer)):
            self.checkpointer = None
            self._add("damaged database", damaged)
        scopes = [] if any(finding.check in UNREADABLE for finding in self.findings) else self.store.scopes()
        for scope in scopes:
            try:
                self._examine(scope, mends_links)
            except EngramError as error:
                self.notes.append(f"the memories of {scope.key} could not be examined: {error}")
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
        with self.store.writing(scope):
            for _ in range(MAX_ROUNDS if mends_links else 1):
                found, changes = ScopeExamination(
                    self.store.index(scope),
                    self.store.pending_tasks(scope),
                    lambda run_id: self._is_saved(scope, run_id),
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

    def _is_saved(self, scope: Scope, run_id: str) -> bool:
        return self.checkpointer is not None and self.checkpointer.get_tuple(thread_of(run_id, scope)) is not None

    def _check_index(self, scope: Scope) -> None:
        """Compare the index that searches are served from with what is stored."""
        index, ids = self.store.index(scope), []
        for kind in SEARCHABLE:
            stored = {kind.id_of(item): item for item in self.store.items(scope, kind)}
            held = {kind.id_of(item): item for item in index.of_kind(kind).items}
            ids += [key for key in stored | held if stored.get(key) != held.get(key)]
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
