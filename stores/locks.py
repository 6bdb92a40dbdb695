"""Let one writer at a time into a scope, among all who share a store within this process.

Two rights are given, and never the second before the first. `writing` is held for a whole run by those who run one
and wait for it: runs of a scope then follow one another. `committing` is held for reading and committing as one,
and never while a model is asked: it alone keeps turns and events whole when runs of a scope overlap. Both go with the
block that took them, whatever ends it. This module does not know other processes.
"""

import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, RLock
from typing import Literal
from weakref import WeakValueDictionary

from filelock import FileLock, Timeout

from langgraph_engram.errors import StoreLocked, StoreUnwritable
from langgraph_engram.schema import Scope

Right = Literal["writing", "committing"]


@dataclass
class Counted:
    """A lock, and how many hold it or wait for it. A thread that holds it may take it again."""

    lock: RLock = field(default_factory=RLock)
    users: int = 0


class ScopeLocks:
    """The locks of a store. One that nobody holds or waits for is gone."""

    def __init__(self) -> None:
        """Start with none."""
        self._counted: dict[tuple[Right, str], Counted] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        """Give how many locks are held or waited for."""
        return len(self._counted)

    def writing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other runs of a scope; waits for the one under way."""
        return self._hold("writing", scope)

    def committing(self, scope: Scope) -> AbstractContextManager[None]:
        """Hold off other commits to a scope that read before they write; waits for the one under way."""
        return self._hold("committing", scope)

    @contextmanager
    def _hold(self, right: Right, scope: Scope) -> Iterator[None]:
        key = (right, scope.key)
        with self._lock:
            counted = self._counted.setdefault(key, Counted())
            counted.users += 1
        try:
            with counted.lock:
                yield
        finally:
            with self._lock:
                counted.users -= 1
                if not counted.users:
                    del self._counted[key]


class ServerLocks:
    """The locks of the servers that this process uses, by URL: all who open one share them."""

    def __init__(self) -> None:
        """Start with none."""
        self._by_url: WeakValueDictionary[str, ScopeLocks] = WeakValueDictionary()
        self._lock = Lock()

    def of(self, url: str) -> ScopeLocks:
        """Give the locks of a server; they go with the last store that has them."""
        with self._lock:
            return self._by_url.setdefault(url.rstrip("/"), ScopeLocks())


SERVER_LOCKS = ServerLocks()
"""All of this process."""

LOCK_FILE = ".engram.lock"


class DirectoryLock:
    """The right to use one folder."""

    def __init__(self, folder: Path) -> None:
        """Take the lock, at once or not at all.

        Raises:
            StoreLocked: Another process has it.
            StoreUnwritable: The folder cannot be written.
        """
        self._lock = FileLock(folder / LOCK_FILE, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout as error:
            raise StoreLocked(
                f"another process uses the store {str(folder)!r}: close it first; for several processes run "
                f"`chroma run --path {folder}` and set ENGRAM_STORE=http://localhost:8000"
            ) from error
        except OSError as error:
            raise unwritable(folder, error) from error

    def release(self) -> None:
        """Let go. Letting go twice is harmless."""
        self._lock.release()


def make_folder(folder: Path) -> list[Path]:
    """Make a folder where there is none, and give the folders that were made for it, innermost first.

    Raises:
        StoreUnwritable: It cannot be made, or is a file.
    """
    missing = [one for one in (folder, *folder.parents) if not one.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    return missing


def take_away(made: list[Path]) -> None:
    """Remove folders that were made for a store which could not be opened, innermost first."""
    if made:
        shutil.rmtree(made[0], ignore_errors=True)
    for folder in made[1:]:
        with suppress(OSError):  # somebody else uses it by now
            folder.rmdir()


def unwritable(folder: Path, error: OSError) -> StoreUnwritable:
    """Say that `folder` cannot be written, and why."""
    reason = "it is a file" if folder.is_file() else error.strerror or error
    return StoreUnwritable(f"the store {str(folder)!r} cannot be written ({reason}): choose a folder that can")
