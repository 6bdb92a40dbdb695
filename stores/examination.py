"""Examine what lies in Chroma below the memories: rows, vectors, terms and the log.

A row must be readable, belong to the scope that its id says, and be found by the words and by a vector of its text.
What is wrong with a row that can be read is mended by writing it again.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from langgraph_engram.embeddings.base import Encoder, Vectors, encode_items
from langgraph_engram.embeddings.factory import LangChainEncoder
from langgraph_engram.errors import EncoderUnavailable
from langgraph_engram.schema import Scope
from langgraph_engram.stores.chroma_files import secure_delete
from langgraph_engram.stores.kinds import PENDING_TASKS, SEARCHABLE, Kind, KindItems
from langgraph_engram.stores.locks import DATABASE
from langgraph_engram.stores.rows import KIND_OF_NAME, Rows, decode, row_id, scope_of

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

    key: str
    scope: Scope
    kind: Kind[Any]
    item: Any


@dataclass
class Examination:
    """One examination of a store's collections. No write may be under way."""

    collections: Rows
    encoder: Encoder
    folder: Path | None
    fix: bool
    found: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """The ids of what is wrong, by check."""
    notes: list[str] = field(default_factory=list)
    rows: int = 0
    """How many rows there are."""

    def run(self) -> None:
        """Examine everything, and mend what can be mended if asked to."""
        self.rows = self.collections.memories.count()  # which takes the log in that the database is examined for
        self.found["missing words"] = self._examine_database(self.folder) if self.folder else []
        for page in self.collections.pages(["metadatas", "documents"]):
            self._examine_page(page)

    def _examine_page(self, page: Mapping[str, Any]) -> None:
        by_kind: defaultdict[str, list[_Row]] = defaultdict(list)
        damaged = set(self.found["missing words"])
        for key, metadata, document in zip(page["ids"], page["metadatas"], page["documents"], strict=True):
            row = _read_row(key, metadata)
            if isinstance(row, str):
                self.found[row].append(key)
                continue
            by_kind[row.kind.name].append(row)
            if (document or "") != row.kind.text_of(row.item):
                self.found["outdated text"].append(key)
                damaged.add(key)
        for name, rows in by_kind.items():
            damaged.update(self._check_vectors(KIND_OF_NAME[name], rows))
            if self.fix:
                self._rewrite(KIND_OF_NAME[name], [row for row in rows if row.key in damaged])

    def _check_vectors(self, kind: Kind[Any], rows: Sequence[_Row]) -> list[str]:
        """Return the ids of the rows whose vectors are not those of their texts; all where that is most of a sample."""
        vectors = self.collections.vectors([row.key for row in rows])
        if kind in SEARCHABLE:
            vectors = {key: vector for key, vector in vectors.items() if abs(float(np.linalg.norm(vector)) - 1) < UNIT}
        wrong = [row.key for row in rows if row.key not in vectors]
        sample = [row for row in rows if row.key in vectors][:SAMPLED] if kind in SEARCHABLE else []
        others = [
            row.key
            for row, vector in zip(sample, self._encoded(kind, sample), strict=False)
            if vector.shape != vectors[row.key].shape or float(vector @ vectors[row.key]) < LEAST_COSINE
        ]
        is_other_encoder = len(others) > max(len(sample) // 2, 1)
        self.found["wrong vector"] += wrong
        self.found["encoder fingerprint" if is_other_encoder else "wrong vector"] += others
        return [row.key for row in rows] if is_other_encoder else [*wrong, *others]

    def _encoded(self, kind: Kind[Any], rows: Sequence[_Row]) -> Sequence[Vectors]:
        """Encode the texts of rows; none of them where that would send them to a service."""
        try:
            if isinstance(getattr(self.encoder, "inner", self.encoder), LangChainEncoder):
                raise EncoderUnavailable("the encoder is not on this machine")
            return [*encode_items(self.encoder, [kind.texts_of(row.item) for row in rows])]
        except EncoderUnavailable as error:
            if rows and (note := f"vectors were not compared with their texts: {error}") not in self.notes:
                self.notes.append(note)
            return []

    def _rewrite(self, kind: Kind[Any], rows: Sequence[_Row]) -> None:
        """Write rows again, each with its text, its words and its vector."""
        by_scope: defaultdict[Scope, list[Any]] = defaultdict(list)
        for row in rows:
            by_scope[row.scope].append(row.item)
        for scope, items in by_scope.items():
            texts = [kind.texts_of(item) for item in items] if kind in SEARCHABLE else []
            vectors = encode_items(self.encoder, texts)
            self.collections.write(scope, [KindItems(kind, items, vectors if texts else None)], vectors.shape[1])

    def _examine_database(self, folder: Path) -> list[str]:
        """Check the database, overwrite what its log holds of removed rows, and return the rows without words."""
        topic, tasks = f"%/{self.collections.memories.id}", f"%:{PENDING_TASKS.name}:%"
        without: list[str] = []
        try:
            with closing(sqlite3.connect(folder / DATABASE)) as database:
                damage = _column(database, "PRAGMA quick_check")
                if damage == ["ok"]:
                    without = _column(database, WITHOUT_TERMS)
                    damage, self.found["residue in the log"] = [], _column(database, LOGGED, topic, tasks)
        except sqlite3.OperationalError as error:
            self.notes.append(f"the database was not examined: {error}")
            return []
        except sqlite3.DatabaseError as error:
            damage = [str(error)]
        if damage:
            self.found["damaged database"].append(DATABASE)
            self.notes.append(f"of {DATABASE} no more was examined: {'; '.join(damage)[:200]}")
        for scope in {key.partition(":")[0] for key in self.found["residue in the log"]} if self.fix else ():
            secure_delete(folder, f"{scope}:")
        return without


def _column(database: sqlite3.Connection, query: str, *parameters: str) -> list[str]:
    return sorted({str(row[0]) for row in database.execute(query, parameters)})


def _read_row(key: str, metadata: Mapping[str, Any]) -> _Row | str:
    """Return a row that can be read and is where it belongs, or the check that it fails."""
    kind = KIND_OF_NAME.get(str(metadata.get("kind")))
    if kind is None:
        return "row without a kind"
    try:
        scope = scope_of(str(metadata.get("scope")))
    except (ValueError, TypeError):
        return "row without a scope"
    try:
        item = decode(kind.model, metadata)
    except (ValidationError, ValueError):
        return "unreadable row"
    return _Row(key, scope, kind, item) if key == row_id(scope, kind, kind.id_of(item)) else "row under another id"
