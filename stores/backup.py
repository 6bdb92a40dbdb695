"""Copy an embedded store while it is in use, to a folder that opens as it stood at one moment.

Whoever writes to a folder's Chroma holds its file lock, in whatever process. Under that lock nothing is written:
SQLite's databases are copied by its online backup, the files of the vector indexes as they are. The database of
checkpoints may go on being written; a run that is under way is in the copy as it was, and its turns are pending there.
"""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from langgraph_engram.errors import InvalidInput, StoreLocked, StoreUnwritable
from langgraph_engram.results import BackupReceipt
from langgraph_engram.stores.locks import DATABASE, LOCK_FILE, WRITE_LOCK_FILE, write_lock

SQLITE_MAGIC = b"SQLite format 3\0"
LEFT_OUT = (LOCK_FILE, WRITE_LOCK_FILE)
OF_ANOTHER_FILE = ("-wal", "-shm", "-journal")
"""How the names of files end that belong to a database; the backup of that has what they hold."""


def back_up(folder: Path, target: Path) -> BackupReceipt:
    """Copy a store's folder. What fails leaves no folder that looks like a copy.

    Args:
        folder: The store's folder; any process may have it open.
        target: The folder to make; it must not be there, or be empty.

    Raises:
        InvalidInput: There is no store, or the target is taken or inside of the store.
        StoreLocked: Somebody keeps writing for a minute.
        StoreUnwritable: The target cannot be written.
    """
    folder, target = folder.expanduser().resolve(), target.expanduser().resolve()
    if not (folder / DATABASE).exists():
        raise InvalidInput(f"no store at {str(folder)!r}: name its folder")
    if target.is_relative_to(folder):
        raise InvalidInput(f"{str(target)!r} is inside of the store: choose a folder beside it")
    if target.is_file() or (target.exists() and any(target.iterdir())):
        raise InvalidInput(f"{str(target)!r} is there already: choose a folder that is not, or is empty")
    partial = target.with_name(f".{target.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        with write_lock(folder):
            copies = [_copy(path, partial / path.relative_to(folder)) for path in _files(folder)]
        if target.exists():
            target.rmdir()
        partial.rename(target)
    except StoreLocked:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    except (OSError, sqlite3.Error) as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise StoreUnwritable(
            f"no copy could be written to {str(target)!r} ({error}): choose another folder"
        ) from error
    return BackupReceipt(path=str(target), files=len(copies), bytes=sum(copies))


def _files(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and path.name not in LEFT_OUT and not path.name.endswith(OF_ANOTHER_FILE)
    )


def _copy(path: Path, copy: Path) -> int:
    """Copy a file, and return its size in bytes."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    with path.open("rb") as file:
        is_database = file.read(len(SQLITE_MAGIC)) == SQLITE_MAGIC
    if is_database:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as database:
            source.backup(database)
    else:
        shutil.copyfile(path, copy)
    return copy.stat().st_size
