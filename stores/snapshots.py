"""Keep the index of a scope in a file beside an embedded store: to read it takes a tenth of what to read its rows does.

A snapshot is never newer or older than the rows: it is written when the store is closed and removed before the next
commit to its scope. A stamp, written when everything is closed and removed when the database is opened, tells whether
anybody wrote to it since, or a process was killed: then all are removed (docs/decisions/0003).
"""

import json
import logging
import os
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zlib import error as ZlibError

import numpy as np
from numpy.typing import NDArray

from langgraph_engram.schema import Scope
from langgraph_engram.stores.bm25 import BM25Index
from langgraph_engram.stores.index import ScopeIndex
from langgraph_engram.stores.kind_index import Column, KindIndex
from langgraph_engram.stores.kinds import RECORDS, SEARCHABLE, TURNS, UNSEARCHED
from langgraph_engram.stores.locks import DATABASE, unwritable
from langgraph_engram.stores.rows import SCHEMA
from langgraph_engram.stores.versions import AppendOnlyArray

log = logging.getLogger(__name__)

FOLDER = "snapshots"
STAMP = "stamp"
PACKAGE = "langgraph-engram"
FORMAT = 9
"""The version of snapshots, beside that of the package; to be raised with any change of what an index derives."""
MIN_ITEMS = 500
"""Items of the smallest scope that has a snapshot beside the one used last; the rows of a smaller one are soon read."""
DAMAGED = (OSError, ValueError, LookupError, TypeError, EOFError, zipfile.BadZipFile, ZlibError)
"""What reading a damaged file raises; pydantic's errors are `ValueError`s."""


@dataclass(frozen=True)
class Snapshots:
    """The snapshots of the scopes of one folder, which one process has to itself."""

    folder: Path
    encoder_name: str

    def are_current(self) -> bool:
        """Return whether the database is as it was when this version wrote a snapshot with this encoder."""
        try:
            with _stamped(self.folder)[0].open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return bool(json.loads(arrays["head"].tobytes())["store"] == self._store)
        except DAMAGED:
            return False

    def read(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope under a revision; None without a sound snapshot of it."""
        path = self._path(scope)
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                head = json.loads(arrays["head"].tobytes())
                if (head["store"], head["scope"]) != (self._store, scope.key):
                    raise ValueError("it is of another version, encoder or scope")
                return _unpacked(head, arrays, revision)
        except DAMAGED as error:
            log.warning("the snapshot %s is removed, and the rows are read: %s", path, error)
            self.drop(scope)
            return None

    def write_missing(self, indexes: Iterable[tuple[Scope, ScopeIndex]], min_items: int | None = None) -> None:
        """Write the indexes of scopes with `min_items`, or `MIN_ITEMS`, of which no snapshot has all columns."""
        for scope, index in indexes:
            kinds: list[KindIndex[Any]] = [index.of_kind(kind) for kind in SEARCHABLE]
            has_more = any(not kind.current_columns().keys() <= kind.saved_columns for kind in kinds)
            is_large = sum(map(len, kinds)) >= (MIN_ITEMS if min_items is None else min_items)
            if is_large and (has_more or not self._path(scope).exists()):
                self._write(scope, index)

    def drop(self, scope: Scope) -> None:
        """Remove the snapshot of a scope, and overwrite what it held."""
        _erase(self._path(scope))

    def clear(self) -> None:
        """Remove all snapshots, and overwrite what they held."""
        for path in (self.folder / FOLDER).glob("*"):
            _erase(path)

    def _path(self, scope: Scope) -> Path:
        return self.folder / FOLDER / f"{scope.digest}.npz"

    @property
    def _store(self) -> list[Any]:
        return [version(PACKAGE), FORMAT, SCHEMA, self.encoder_name]

    def _write(self, scope: Scope, index: ScopeIndex) -> None:
        """Write the index of a scope; without space for it, what was written before stays."""
        path = self._path(scope)
        draft = path.with_suffix(".tmp")
        head, arrays = _packed(index)
        head |= {"store": self._store, "scope": scope.key}
        try:
            path.parent.mkdir(exist_ok=True)
            with draft.open("wb") as file:
                np.savez(file, allow_pickle=False, head=np.frombuffer(json.dumps(head).encode(), np.uint8), **arrays)
                file.flush()
                os.fsync(file.fileno())
            _erase(path)
            draft.replace(path)
        except OSError as error:
            log.warning("no snapshot could be written in %s: %s", path.parent, error)
            _erase(draft)


def discard_outdated(folder: Path) -> None:
    """Remove the snapshots of a folder that are not those of its database as it is. Call it before it is opened."""
    home = folder / FOLDER
    if not home.is_dir():
        return
    current = _stamped(folder)
    for path in home.iterdir():
        if path not in current and (path.name != STAMP or not current):
            _erase(path)


def withdraw_stamp(folder: Path) -> None:
    """Remove the stamp of a folder whose database is about to be opened; `StoreUnwritable` where it cannot be."""
    try:
        (folder / FOLDER / STAMP).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error


def confirm_current(folder: Path) -> None:
    """Write the stamp of a folder whose database is closed; where it cannot be, no snapshot is current."""
    home = folder / FOLDER
    if not home.is_dir():
        return
    try:
        (home / STAMP).write_text("\n".join(map(_stamp, (folder / DATABASE, *home.glob("*.npz")))))
    except OSError as error:
        log.warning("the rows of %s may be read when it is opened next, whatever snapshots it has: %s", folder, error)


def _stamped(folder: Path) -> list[Path]:
    """Return the snapshots that are as they were when the database was closed, if that is too."""
    home = folder / FOLDER
    if not (home / STAMP).exists():
        return []
    stamp = {*(home / STAMP).read_text(errors="replace").splitlines()}
    return [path for path in home.glob("*.npz") if {_stamp(folder / DATABASE), _stamp(path)} <= stamp]


def _stamp(path: Path) -> str:
    size, changed = (path.stat().st_size, path.stat().st_mtime_ns) if path.exists() else (0, 0)
    return f"{path.name} {size} {changed}"


def _erase(path: Path) -> None:
    """Overwrite a snapshot, if it is there, and remove it; `StoreUnwritable` where it cannot be."""
    try:
        with path.open("r+b") as file:
            left = path.stat().st_size
            while left > 0:
                left -= file.write(bytes(min(left, 1 << 20)))
        path.unlink()
    except FileNotFoundError:
        return
    except OSError as error:
        raise unwritable(path.parent.parent, error) from error


def _packed(index: ScopeIndex) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `_unpacked` makes an index from: plain JSON, and arrays by name."""
    head: dict[str, Any] = {}
    arrays: dict[str, NDArray[Any]] = {}
    for kind in UNSEARCHED:
        head[kind.name] = [item.model_dump(mode="json") for item in getattr(index, kind.name).values()]
    for kind in SEARCHABLE:
        of_kind: KindIndex[Any] = index.of_kind(kind)
        if kind in (TURNS, RECORDS):
            of_kind.lexical  # noqa: B018  # searches read it: it is brought up to date, to be among the columns
        items = of_kind.items.packed
        head[kind.name] = {"ids": of_kind.ids(), "names": of_kind.names, "columns": {}}
        parts: dict[str, NDArray[Any]] = {"vectors": of_kind.vectors, "order": of_kind.order()}
        parts |= {"items": np.frombuffer(b"".join(items), np.uint8), "sizes": np.array([*map(len, items)], np.int64)}
        for label, column in of_kind.current_columns().items():
            head[kind.name]["columns"][label], parts[f"column.{label}"] = _packed_column(column)
        arrays |= {f"{kind.name}.{name}": array for name, array in parts.items()}
    return head, arrays


def _unpacked(head: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], revision: str) -> ScopeIndex:
    index = ScopeIndex(revision)
    for kind in UNSEARCHED:
        index = index.with_unsearched(kind, map(kind.model.model_validate, head[kind.name]))
    for kind in SEARCHABLE:
        known, prefix = head[kind.name], f"{kind.name}."
        items, ends = arrays[prefix + "items"].tobytes(), np.cumsum(arrays[prefix + "sizes"]).tolist()
        packed = [items[start:end] for start, end in zip([0, *ends], ends, strict=False)]
        of_kind = index.of_kind(kind).restored(
            known["ids"], packed, arrays[prefix + "vectors"], arrays[prefix + "order"]
        )
        of_kind.columns = {
            label: _unpacked_column(column, arrays[f"{prefix}column.{label}"])
            for label, column in known["columns"].items()
        }
        of_kind.saved_columns, of_kind.names = frozenset(of_kind.columns), known["names"]
        index = index.with_parts(**{kind.name: of_kind})
    return index


def _packed_column(column: Column) -> tuple[dict[str, Any], NDArray[Any]]:
    if isinstance(column.values, BM25Index):
        return {"terms": column.values.names, "size": len(column.values)}, column.values.postings()
    return {"given": None if column.given is None else sorted(column.given)}, column.values.rows


def _unpacked_column(head: Mapping[str, Any], values: NDArray[Any]) -> Column:
    if "terms" in head:
        return Column(BM25Index.restored(head["terms"], values, head["size"]))
    return Column(AppendOnlyArray(values), None if head["given"] is None else frozenset(head["given"]))
