"""Lock scopes within this process, and a store's folder against other processes.

A scope has two locks. `writing` is held for a whole run by callers that wait for it, so that runs of a scope follow one
another. `committing` is held to read and commit as one, never while a model is asked, so that turns and events stay
whole when runs of a scope overlap. `writing` is never taken inside `committing` (docs/decisions/0005).
"""

import shutil
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from threading import Lock, RLock
from typing import Any
from weakref import WeakValueDictionary

from filelock import FileLock, Timeout

from langgraph_engram.errors import StoreLocked, StoreUnwritable
from langgraph_engram.schema import Scope


class ScopeLocks:
    """The reentrant scope locks of one store. A lock that nobody holds or waits for is dropped."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[tuple[str, str], RLock] = WeakValueDictionary()
        self._lock = Lock()

    def writing(self, scope: Scope) -> AbstractContextManager[Any]:
        """Hold off other runs of a scope; waits for the one under way."""
        return self._lock_of("writing", scope)

    def committing(self, scope: Scope) -> AbstractContextManager[Any]:
        """Hold off other commits to a scope that read before they write; waits for the one under way."""
        return self._lock_of("committing", scope)

    def _lock_of(self, kind: str, scope: Scope) -> RLock:
        with self._lock:
            return self._locks.setdefault((kind, scope.key), RLock())


_SERVER_LOCKS: WeakValueDictionary[str, ScopeLocks] = WeakValueDictionary()
_LOCK = Lock()


def server_locks(url: str) -> ScopeLocks:
    """Return the scope locks of a Chroma server, shared by all stores of this process there; they go with the last."""
    with _LOCK:
        return _SERVER_LOCKS.setdefault(url.rstrip("/"), ScopeLocks())


DATABASE = "chroma.sqlite3"
"""Chroma's database in a folder."""
COPY_IT = "Chroma writes to a store that it opens, also to read it: copy the folder to where it can, and open the copy"
"""What to do about a store that is read-only."""


def lock_folder(folder: Path) -> FileLock:
    """Take the exclusive lock of a folder among processes, at once or not at all."""
    lock = FileLock(folder / ".engram.lock", thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise StoreLocked(
            f"another process uses the store {str(folder)!r}: close it first; for several processes run "
            f"`chroma run --path {folder}` and set ENGRAM_STORE=http://localhost:8000"
        ) from error
    except OSError as error:
        raise unwritable(folder, error) from error
    return lock


def make_folder(folder: Path) -> list[Path]:
    """Make a folder where there is none, and return the folders that were made, innermost first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return missing


def remove_folders(made: list[Path]) -> None:
    """Remove the folders that `make_folder` made for a store in which nothing is stored."""
    if made:
        shutil.rmtree(made[0], ignore_errors=True)
    for folder in made[1:]:
        with suppress(OSError):  # somebody else uses it by now
            folder.rmdir()


def unwritable(folder: Path, error: OSError) -> StoreUnwritable:
    """Return the error of a store whose folder, or a file of it, cannot be written."""
    reason = "it is a file" if folder.is_file() else error.strerror or error
    advice = COPY_IT if (folder / DATABASE).exists() else "choose a folder that can"
    return StoreUnwritable(f"the store {str(folder)!r} cannot be written ({reason}): {advice}")
