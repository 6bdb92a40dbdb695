"""Examine what lies in Chroma below the memories: rows, vectors, terms, the log, and collections that nobody uses.

A row must be readable, belong to the scope that its id says, and be found by the words and by a vector of its text.
What is wrong with a row that can be read is mended by writing it again.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_items
from langgraph_engram.embeddings.langchain import LangChainEncoder
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.results import Finding
from langgraph_engram.schema import Scope
from langgraph_engram.stores.chroma_files import secure_delete
from langgraph_engram.stores.kinds import PENDING_TASKS, SEARCHABLE, Kind, KindItems
from langgraph_engram.stores.locks import DATABASE
from langgraph_engram.stores.rows import (
    KIND_OF_NAME,
    KINDS,
    Rows,
    decode,
    row_id,
    scope_hash,
    scope_of,
    unused_collections,
)

if TYPE_CHECKING:
    from chromadb import Collection

DETAILS = {
    "row without a scope": "nobody's search finds it",
    "unreadable row": "a field is missing or wrong, and its scope cannot be loaded",
    "row of another scope": "its id says that it is another user's than its scope",
    "row under another id": "it would be stored twice",
}
"""What is wrong with a row, by check."""
REWRITE = "writes the row again"
SAMPLED = 64
"""Rows of each page whose vectors are compared with what the encoder gives."""
LEAST_COSINE = 0.98
"""Below which two vectors of one text are of different encoders: one encoder on other hardware stays above."""
UNIT = 1e-3
"""How far the length of a vector may be from 1."""
LOGGED = """
    SELECT DISTINCT id FROM embeddings_queue WHERE operation != 3 AND topic LIKE ? AND id NOT LIKE ?
    AND id NOT IN (SELECT embedding_id FROM embeddings)
"""
"""Rows that Chroma's log still holds though they were removed, but for those of one kind."""
WITHOUT_TERMS = """
    SELECT e.embedding_id FROM embeddings e JOIN embedding_metadata m ON m.id = e.id
    WHERE m.key = 'chroma:document' AND e.id NOT IN (SELECT rowid FROM embedding_fulltext_search_content)
"""
"""Rows whose text the full-text index does not have; its table of contents counts rows as the index does."""


@dataclass(frozen=True)
class _Row:
    """One row that can be read."""

    scope: Scope
    item: Any


@dataclass
class Examination:
    """One examination of a store's collections. No write may be under way."""

    collections: Rows
    encoder: Encoder
    folder: Path | None
    fix: bool
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    """How many rows there are."""

    def run(self) -> None:
        """Examine everything, and mend what can be mended if asked to."""
        self._unused()
        for page in self.collections.pages(["metadatas", "documents"]):
            self.rows += len(page["ids"])
            known = {str(metadata.get("kind")) for metadata in page["metadatas"]} & KIND_OF_NAME.keys()
            for kind in (kind for kind in KINDS if kind.name in known):
                readable = self._readable(kind, page)
                if kind in SEARCHABLE:
                    self._texts(kind, page, readable)
                self._vectors(kind, readable)
            self._of_no_kind(page)
        if self.folder is not None:
            self._database(self.folder)

    def _unused(self) -> None:
        names = unused_collections(self.collections)
        self._add("unused collections", "a move to another encoder was cut off", names, "removes them")
        for name in names if self.fix else ():
            self.collections.client.delete_collection(name)

    def _of_no_kind(self, page: Any) -> None:
        rows = zip(page["ids"], page["metadatas"], strict=True)
        lost = [key for key, metadata in rows if metadata.get("kind") not in KIND_OF_NAME]
        self._add("row without a kind", "nobody's search finds it", lost)

    def _readable(self, kind: Kind[Any], page: Any) -> dict[str, _Row]:
        """Return the rows of one kind in a page that can be read and are where they belong, by id."""
        found: dict[str, _Row] = {}
        wrong: defaultdict[str, list[str]] = defaultdict(list)
        for key, metadata in zip(page["ids"], page["metadatas"], strict=True):
            if metadata.get("kind") == kind.name:
                row = _read_row(kind, key, metadata)
                if isinstance(row, str):
                    wrong[row].append(key)
                else:
                    found[key] = row
        for check, keys in wrong.items():
            self._add(check, f"{kind.name}: {DETAILS[check]}", keys)
        return found

    def _texts(self, kind: Kind[Any], page: Any, readable: dict[str, _Row]) -> None:
        documents = dict(zip(page["ids"], page["documents"], strict=True))
        outdated = [key for key, row in readable.items() if (documents[key] or "") != kind.text_of(row.item)]
        self._add("outdated text", f"{kind.name}: the row holds another text than its item", outdated, REWRITE)
        self._rewrite(kind, [readable[key] for key in outdated])

    def _vectors(self, kind: Kind[Any], readable: dict[str, _Row]) -> None:
        vectors = dict(_stored_vectors(self.collections.memories, list(readable)))
        missing = [key for key in readable if key not in vectors]
        lack = "no search by meaning finds them, and loading fails" if kind in SEARCHABLE else "loading fails"
        self._add("missing vector", f"{kind.name}: {lack}", missing, REWRITE)
        if kind not in SEARCHABLE:
            self._rewrite(kind, map(readable.__getitem__, missing))
            return
        invalid = [key for key, vector in vectors.items() if not abs(float(np.linalg.norm(vector)) - 1) < UNIT]
        other = self._of_another_text(kind, {key: readable[key] for key in vectors if key not in invalid}, vectors)
        self._add("invalid vector", f"{kind.name}: not of length 1", invalid, REWRITE)
        self._rewrite(kind, [readable[key] for key in (*missing, *invalid, *other)])

    def _of_another_text(
        self, kind: Kind[Any], readable: dict[str, _Row], vectors: dict[str, NDArray[np.float32]]
    ) -> list[str]:
        """Return the rows of a sample whose vectors the encoder does not give; all rows where that is most of them."""
        sample = list(readable)[:SAMPLED]
        if not sample:
            return []
        try:
            encoded = self._encoded([kind.texts_of(readable[key].item) for key in sample])
        except EncoderUnavailable as error:
            self._note(f"vectors were not compared with their texts: {error}")
            return []
        others = [
            key
            for key, vector in zip(sample, encoded, strict=True)
            if vector.shape != vectors[key].shape or float(vector @ vectors[key]) < LEAST_COSINE
        ]
        if len(others) > max(len(sample) // 2, 1):
            detail = (
                f"{kind.name}: the encoder {self.encoder.name!r} gives other vectors than it gave when it wrote them"
            )
            self._add("encoder fingerprint", detail, others, "encodes all of them anew")
            return list(readable)
        self._add("vector of another text", f"{kind.name}: the encoder gives another one", others, REWRITE)
        return others

    def _encoded(self, texts: Sequence[Sequence[str]]) -> Vectors:
        """Encode texts, unless that would send them to a service."""
        if isinstance(getattr(self.encoder, "inner", self.encoder), LangChainEncoder):
            raise EncoderUnavailable("the encoder is not on this machine")
        return encode_items(self.encoder, texts)

    def _database(self, folder: Path) -> None:
        try:
            damage, without, logged = self._queried(folder)
        except sqlite3.OperationalError as error:
            self._note(f"the database was not examined: {error}")
            return
        except sqlite3.DatabaseError as error:
            damage, without, logged = [str(error)], set(), set()
        self._add("damaged database", "; ".join(damage)[:200] + ": restore a backup", [DATABASE] if damage else [])
        self._add("missing words", "no search of Chroma by words finds them", sorted(without), REWRITE)
        for page in self.collections.pages(["metadatas", "documents"]) if self.fix and without else ():
            for kind in SEARCHABLE:
                self._rewrite(kind, [row for key, row in self._readable(kind, page).items() if key in without])
        scopes = sorted({key.partition(":")[0] for key in logged})
        self._add("residue in the log", "removed rows are still in Chroma's log", sorted(logged), "overwrites them")
        for scope in scopes if self.fix else ():
            secure_delete(folder, f"{scope}:")

    def _queried(self, folder: Path) -> tuple[list[str], set[str], set[str]]:
        """Return what is damaged; if nothing is, the rows without words, and the removed ones that are logged."""
        topic, tasks = f"%/{self.collections.memories.id}", f"%:{PENDING_TASKS.name}:%"
        with closing(sqlite3.connect(folder / DATABASE)) as database:
            damage = [str(row[0]) for row in database.execute("PRAGMA quick_check") if row[0] != "ok"]
            if damage:
                return damage, set(), set()
            without = {str(row[0]) for row in database.execute(WITHOUT_TERMS)}
            return [], without, {str(row[0]) for row in database.execute(LOGGED, (topic, tasks))}

    def _rewrite(self, kind: Kind[Any], rows: Iterable[_Row]) -> None:
        """Write rows again, each with its text, its words and its vector, where that is asked for."""
        by_scope: defaultdict[str, list[_Row]] = defaultdict(list)
        for row in rows if self.fix else ():
            by_scope[row.scope.key].append(row)
        for of_scope in by_scope.values():
            items = [row.item for row in of_scope]
            is_searched = kind in SEARCHABLE
            vectors = encode_items(self.encoder, [kind.texts_of(item) for item in items] if is_searched else [])
            batch = KindItems(kind, items, vectors if is_searched else None)
            self.collections.write(of_scope[0].scope, [batch], vectors.shape[1])

    def _add(self, check: str, detail: str, ids: list[str], fix: str = "") -> None:
        if ids:
            self.findings.append(Finding(check=check, detail=detail, ids=ids, fix=fix, fixed=bool(fix) and self.fix))

    def _note(self, note: str) -> None:
        if note not in self.notes:
            self.notes.append(note)


def _read_row(kind: Kind[Any], key: str, metadata: Mapping[str, Any]) -> _Row | str:
    """Return a row that can be read and is where it belongs, or the check that it fails."""
    try:
        scope = scope_of(str(metadata.get("scope")))
    except (ValueError, TypeError):
        return "row without a scope"
    try:
        item = decode(kind.model, metadata)
    except (ValidationError, ValueError):
        return "unreadable row"
    if key.partition(":")[0] != scope_hash(scope):
        return "row of another scope"
    return _Row(scope, item) if key == row_id(scope, kind, kind.id_of(item)) else "row under another id"


def _stored_vectors(collection: "Collection", keys: Sequence[str]) -> Iterator[tuple[str, Vectors]]:
    """Yield the ids and vectors of rows; those that Chroma has lost make it fail, and are found by halves."""
    from chromadb.errors import InternalError

    if not keys:
        return
    try:
        page = collection.get(ids=list(keys), include=["embeddings"])
    except InternalError:
        if len(keys) > 1:
            yield from _stored_vectors(collection, keys[: len(keys) // 2])
            yield from _stored_vectors(collection, keys[len(keys) // 2 :])
        return
    embeddings: Any = page["embeddings"]
    yield from zip(page["ids"], np.asarray(embeddings, dtype=np.float32), strict=True)
