"""Examine a store from its rows to its memories, without a model and without a network, and mend what can be mended.

The rows of all scopes come first, then each scope by itself, then what crosses scopes: a search in one must return
nothing of another. A repair may bring to light what hung on it, so that a scope is examined until nothing is left.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
from langgraph.checkpoint.base import BaseCheckpointSaver

from langgraph_engram.doctor.scope import ScopeExamination
from langgraph_engram.embeddings.base import Vectors
from langgraph_engram.erasure.checkpoints import damaged_files, turns_of
from langgraph_engram.errors import EncoderUnavailable, EngramError
from langgraph_engram.requests import recall_request
from langgraph_engram.results import Diagnosis, Finding, Recollection
from langgraph_engram.runner import delete_threads, thread_of, threads_of
from langgraph_engram.schema import Scope
from langgraph_engram.settings import Settings
from langgraph_engram.state import RecallRequest
from langgraph_engram.stores.chroma import ChromaStore
from langgraph_engram.stores.index import RECORDS, SEARCHABLE, TURNS, Kind


@dataclass(frozen=True)
class AbsentEncoder:
    """The encoder that a store was written with, known by its name alone."""

    name: str

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Encode nothing."""
        if not texts:
            return np.zeros((0, 0), dtype=np.float32)
        raise EncoderUnavailable(f"the store was written with the encoder {self.name!r}: name it (ENGRAM_ENCODER)")


MAX_ROUNDS = 5
"""How often a scope is examined again after repairs."""
PROBED = 20
"""Scopes that are searched for what others said."""
PROBES = 5
"""Turns of another scope that each is searched for, and records."""

Search = Callable[[RecallRequest], Recollection]


@dataclass
class Doctor:
    """One examination of a store."""

    store: ChromaStore
    checkpointer: BaseCheckpointSaver[str] | None
    settings: Settings
    search: Search
    """Searches a scope without asking a model."""
    fix: bool = False
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _mends_links: bool = False

    def run(self) -> Diagnosis:
        """Examine everything."""
        examination = self.store.examine(fix=self.fix)
        self.findings += examination.findings
        self.notes += examination.notes
        self._mends_links = self.fix and all(finding.fixed for finding in self.findings)
        if self.fix and not self._mends_links:
            self.notes.append("links between memories were not mended: rows that only a person can judge come first")
        self._files()
        readable = all(finding.check not in ("row without a scope", "row without a kind") for finding in self.findings)
        scopes = self.store.scopes() if readable else []
        for scope in scopes:
            try:
                self._examine(scope)
            except EngramError as error:
                self.notes.append(f"the memories of {scope.key} could not be examined: {error}")
        self._probe(scopes)
        return Diagnosis(
            store=self.store.location,
            encoder=self.store.encoder.name,
            scopes=len(scopes),
            rows=examination.rows,
            findings=self.findings,
            notes=self.notes,
        )

    def _examine(self, scope: Scope) -> None:
        self._cached_index(scope)
        self._checkpoints(scope)
        with self.store.writing(scope):
            for _ in range(MAX_ROUNDS if self._mends_links else 1):
                findings, changes = self._of_scope(scope).run(scope)
                for finding in findings:
                    self.findings.append(finding.model_copy(update={"fixed": self._mends_links and bool(finding.fix)}))
                if not self._mends_links or not any(finding.fix for finding in findings):
                    return
                with self.store.committing(scope):
                    self.store.commit(scope, changes)
                if changes.removed:
                    self.store.secure_delete(scope)

    def _of_scope(self, scope: Scope) -> ScopeExamination:
        return ScopeExamination(
            self.store.index(scope),
            self.store.decisions(scope),
            self.store.pending_tasks(scope),
            lambda run_id: self._is_saved(scope, run_id),
            self.settings.verify,
        )

    def _is_saved(self, scope: Scope, run_id: str) -> bool:
        return self.checkpointer is not None and self.checkpointer.get_tuple(thread_of(run_id, scope)) is not None

    def _cached_index(self, scope: Scope) -> None:
        """Compare the index that searches are served from with what is stored."""
        index = self.store.index(scope)
        ids = [
            key
            for kind in SEARCHABLE
            for stored in [{kind.id_of(item): item for item in self.store.items(scope, kind)}]
            for key in {*stored, *(kind.id_of(item) for item in index.of_kind(kind).items)}
            if stored.get(key) != index.of_kind(kind).get(key)
        ]
        if ids:
            detail = "searches are served from an index that is not what is stored: somebody wrote past the store"
            self._add("outdated index", detail, scope, ids, "reads it again")
            if self.fix:
                self.store.drop_index(scope)

    def _checkpoints(self, scope: Scope) -> None:
        """Find runs whose checkpoints hold turns that are not stored: they were forgotten."""
        if self.checkpointer is None:
            return
        turns = self.store.index(scope).turns
        threads = [
            thread
            for thread in threads_of(self.checkpointer, scope)
            if any(turn_id not in turns for turn_id in turns_of(self.checkpointer, thread))
        ]
        if threads:
            detail = "checkpoints hold turns that are not stored: what was forgotten, or never was"
            self._add("residue in checkpoints", detail, scope, threads, "deletes them")
            if self.fix:
                delete_threads(self.checkpointer, threads)

    def _probe(self, scopes: list[Scope]) -> None:
        """Search each scope for what another one's turns say: all that is found must be stored under its own id."""
        for scope, other in zip(scopes[:PROBED], [*scopes[1:PROBED], *scopes[:1]], strict=False):
            try:
                foreign = {item_id for text in self._said(other) for item_id in self._foreign(text, scope)}
            except EngramError as error:
                self.notes.append(f"no search was tried across scopes: {error}")
                return
            if foreign:
                detail = "a search returns what is not stored under this scope"
                self._add("search across scopes", detail, scope, sorted(foreign))

    def _foreign(self, text: str, scope: Scope) -> set[str]:
        """Search a scope for a text, and return the ids of what is found and is not stored in it."""
        evidence = self.search(recall_request(text, scope, "search")).evidence
        turns = {turn.turn_id for passage in evidence for turn in passage.turns}
        records = {passage.record.record_id for passage in evidence if passage.record}
        return (turns - self.store.stored(scope, TURNS, [*turns]).keys()) | (
            records - self.store.stored(scope, RECORDS, [*records]).keys()
        )

    def _said(self, scope: Scope) -> Iterator[str]:
        kinds: tuple[Kind[Any], ...] = (TURNS, RECORDS)
        for kind in kinds:
            yield from (kind.text_of(item) for item in islice(self.store.items(scope, kind), PROBES))

    def _files(self) -> None:
        damage = damaged_files(self.checkpointer) if self.checkpointer else []
        if damage:
            self.checkpointer = None
            detail = "the database of checkpoints is damaged: restore a backup, or remove it; no memory is in it alone"
            self._add("damaged database", detail, None, damage)

    def _add(self, check: str, detail: str, scope: Scope | None, ids: list[str], fix: str = "") -> None:
        fixed = bool(fix) and self.fix
        self.findings.append(Finding(check=check, detail=detail, scope=scope, ids=ids, fix=fix, fixed=fixed))
