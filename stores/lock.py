"""Let one process at a time use an embedded store: two at once corrupt it without a word.

The lock is the operating system's, so that a process that dies lets go of it. This module does not know Chroma.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from filelock import FileLock, Timeout

from langgraph_engram.errors import StoreLocked, StoreUnwritable

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
