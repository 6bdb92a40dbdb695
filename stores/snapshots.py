"""Keep the index of a scope in a file beside an embedded store, so that a large scope opens without reading its rows.

A snapshot is never newer or older than the rows: it is written when the store is closed and removed before the next
commit to its scope, as it is when something is forgotten. A stamp of the database and the snapshots, written when
everything is closed and removed when the database is opened, tells whether anybody wrote to it since, or a process was
killed: then all snapshots are removed, and else those that are not as the stamp says. One that is damaged, of another
encoder or of another version is ignored (docs/decisions/0044).
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
from pydantic import TypeAdapter

from langgraph_engram.schema import Scope
from langgraph_engram.stores.arrays import Allocate
from langgraph_engram.stores.collections import SCHEMA, scope_hash
from langgraph_engram.stores.index import SEARCHABLE, UNSEARCHED, KindIndex, ScopeIndex
from langgraph_engram.stores.locks import unwritable
from langgraph_engram.stores.secure_delete import DATABASE

log = logging.getLogger(__name__)

FOLDER = "snapshots"
STAMP = "stamp"
PACKAGE = "langgraph-engram"
FORMAT = 5
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
    allocate: Allocate = np.empty
    """Returns the arrays that hold the vectors of an index that is read."""

    def are_current(self) -> bool:
        """Return whether the database is as it was when this version wrote a snapshot with this encoder."""
        try:
            path = next(iter(_stamped(self.folder)), None)
            if path is None:
                return False
            with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
                written: list[Any] = json.loads(parts["head"].tobytes())
        except DAMAGED:
            return False
        return written[:-1] == self._store

    def read(self, scope: Scope, revision: str) -> ScopeIndex | None:
        """Return the index of a scope under a revision; None without a sound snapshot of it."""
        path = self._path(scope)
        if not path.exists():
            return None
        try:
            with path.open("rb") as file, np.load(file, allow_pickle=False) as parts:
                return self._index(scope, revision, parts)
        except DAMAGED as error:
            log.warning("the snapshot %s is removed, and the rows are read: %s", path, error)
            self.drop(scope)
            return None

    def write(self, scope: Scope, index: ScopeIndex, min_items: int) -> None:
        """Write the index of a scope, if it has so many items; without space for it, what was written before stays."""
        if sum(len(index.of_kind(kind)) for kind in SEARCHABLE) < min_items:
            return
        path = self._path(scope)
        draft, replaced = path.with_suffix(".tmp"), path.with_suffix(".old")
        try:
            path.parent.mkdir(exist_ok=True)
            with draft.open("wb") as file:
                np.savez(file, allow_pickle=False, **self._parts(scope, index))
                file.flush()
                os.fsync(file.fileno())
            if path.exists():
                path.replace(replaced)
            draft.replace(path)
            _erase(replaced)
        except OSError as error:
            log.warning("no snapshot could be written in %s: %s", path.parent, error)
            _erase(draft)

    def write_missing(self, indexes: Iterable[tuple[Scope, ScopeIndex]], min_items: int | None = None) -> None:
        """Write the indexes of scopes with `min_items`, by default `MIN_ITEMS`, of which a snapshot lacks something."""
        for scope, index in indexes:
            kinds: list[KindIndex[Any]] = [index.of_kind(kind) for kind in SEARCHABLE]
            has_more = any(kind.has_new_columns() for kind in kinds)
            if has_more or not self._path(scope).exists():
                self.write(scope, index, MIN_ITEMS if min_items is None else min_items)

    def drop(self, scope: Scope) -> None:
        """Remove the snapshot of a scope, and overwrite what it held."""
        _erase(self._path(scope))

    def clear(self) -> None:
        """Remove all snapshots, and overwrite what they held."""
        for path in (self.folder / FOLDER).glob("*"):
            _erase(path)

    def _path(self, scope: Scope) -> Path:
        return self.folder / FOLDER / f"{scope_hash(scope)}.npz"

    @property
    def _store(self) -> list[Any]:
        return [version(PACKAGE), FORMAT, SCHEMA, self.encoder_name]

    def _head(self, scope: Scope) -> list[Any]:
        return [*self._store, scope.key]

    def _parts(self, scope: Scope, index: ScopeIndex) -> dict[str, NDArray[Any]]:
        parts = {"head": _packed(json.dumps(self._head(scope)).encode())}
        for kind in UNSEARCHED:
            parts[kind.name] = _packed(_adapter(kind.model).dump_json(list(getattr(index, kind.name).values())))
        for kind in SEARCHABLE:
            state, arrays = index.of_kind(kind).state()
            parts[f"{kind.name}.state"] = _packed(json.dumps(state).encode())
            parts |= {f"{kind.name}.arrays.{name}": array for name, array in arrays.items()}
        return parts

    def _index(self, scope: Scope, revision: str, parts: Mapping[str, NDArray[Any]]) -> ScopeIndex:
        if json.loads(parts["head"].tobytes()) != self._head(scope):
            raise ValueError("it is of another version, encoder or scope")
        index = ScopeIndex(revision, self.allocate)
        for kind in SEARCHABLE:
            of_kind: KindIndex[Any] = index.of_kind(kind)
            prefix = f"{kind.name}.arrays."
            of_kind.restore(
                json.loads(parts[f"{kind.name}.state"].tobytes()),
                {name.removeprefix(prefix): parts[name] for name in parts if name.startswith(prefix)},
            )
        for kind in UNSEARCHED:
            index = index.with_unsearched(kind, _adapter(kind.model).validate_json(parts[kind.name].tobytes()))
        return index


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
    """Remove the stamp of a folder whose database is about to be opened.

    Raises:
        StoreUnwritable: It cannot be removed.
    """
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
    """Overwrite a snapshot and remove it; one that is missing is left at that.

    Raises:
        StoreUnwritable: It cannot be removed.
    """
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


def _adapter(model: type[Any]) -> TypeAdapter[list[Any]]:
    return TypeAdapter(list[model])  # type: ignore[valid-type]  # it is a class


def _packed(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(content, dtype=np.uint8)
